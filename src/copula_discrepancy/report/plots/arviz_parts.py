"""What plots by arviz-plots share: its modules, labels and sizes.

Arguments have ArviZ's names. Nothing is read or compared here, so there is no `group` and no `coords`: these were chosen when
the result was made. The backend may be matplotlib, plotly or bokeh, and visuals can be added afterwards.
"""

from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.report.plots.maps import beyond_chance

LONGEST = 28  # letters of a name: more would be too small to read
NUMBERS = ("level", "shape", "total", "form")  # that have a standard error
DOTS = 100.0  # per inch
_PLOTLY_MARGINS = (1.6, 1.8)  # inches that plotly takes off the width and the height of a figure, for axes and a title
_BACKENDS = ("matplotlib", "plotly", "bokeh", "none")


def backend_of(plot: Any) -> Any:
    """The backend of a plot, as a module with one function for each thing that is drawn."""
    return import_module(f"arviz_plots.backend.{plot.backend}")


def backend_in_use(backend: Any, into: Any = None) -> str:
    """The name of the backend: that of a plot to draw `into`, the chosen one, or that of ArviZ's settings."""
    from arviz_base import rcParams

    return str(into.backend if into is not None else backend or rcParams["plot.backend"])


def limits_of(plot: Any, target: Any) -> tuple[float, float] | None:
    """The ends of the horizontal axis of a panel; None if they were not set, or are not known before it is shown."""
    if plot.backend == "matplotlib":
        limits: Any = target.get_xlim()
    elif plot.backend == "plotly":
        limits = next(target.figure.select_xaxes(row=target.row, col=target.col)).range
    elif plot.backend == "bokeh":
        limits = target.x_range.start, target.x_range.end
    else:
        limits = next((part["lims"] for part in reversed(target) if part["function"] == "xlim"), None)
    known = limits is not None and all(isinstance(end, int | float) and np.isfinite(end) for end in limits)
    return (limits[0], limits[1]) if known else None


def labeller_of(**maps: Any) -> Any:
    """One of ArviZ's labellers, with other names for some."""
    from arviz_base.labels import MapLabeller

    return MapLabeller(**maps)


def shown_number(result: Pairwise, number: Any) -> Any:
    """The gap that is drawn by default: level, or shape where there is no target, and no level."""
    return number if number is not None else "shape" if result.kind == "nothing" else "level"


def significant_pairs(result: Pairwise, number: str) -> set[frozenset[int]]:
    """The pairs whose gap is significant by its own test."""
    rows = result.rows[beyond_chance(result, number)]
    return {frozenset(pair) for pair in rows[["first", "second"]].tolist()}


def arviz_plots_with(backend: Any, into: Any = None) -> Any:
    """arviz-plots, with a backend that it has and can use, or an error that says how to install it.

    A plot to draw `into` has its backend.
    """
    if backend is not None:
        one_of(backend, "backend", _BACKENDS)
    try:
        import arviz_plots
        import arviz_plots.visuals
    except (ImportError, AttributeError) as error:  # the second where matplotlib is too new for it, as on Python 3.11
        missing = isinstance(error, ModuleNotFoundError) and error.name == "arviz_plots"
        why = "" if missing else f", which cannot be loaded ({type(error).__name__}: {error})"
        raise InputError(
            f'this plot needs arviz-plots{why}: pip install "copula-discrepancy[arviz]"; without it, use result.plot() and '
            "plot_tau_forest, which draw with matplotlib",
            "dependency",
        ) from None
    if into is None:
        chosen = backend_in_use(backend)
        try:
            import_module(f"arviz_plots.backend.{chosen}")
        except ImportError as error:
            why = f"backend={chosen!r} cannot be loaded ({error})"
            way_out = f'pip install "arviz-plots[{chosen}]", or choose another backend'
            raise InputError(f"{why}: {way_out}", "dependency") from None
    return arviz_plots


def require_ranking(result: Any, function: str) -> None:
    """Raise unless a result is a ranking of pairs."""
    if not isinstance(result, Pairwise) or result.unit != "pair":
        raise InputError(
            f"{function} requires a Pairwise, got {type(result).__name__}; call cd.pairwise(draws, reference) first"
        )


def require_number(result: Pairwise, rows: NDArray[Any], numbers: Sequence[str]) -> None:
    """Raise if none of these pairs has these gaps with standard errors; the error names the gaps that some have."""
    known = {name: np.isfinite(rows[name]) & np.isfinite(rows[f"{name}_se"]) for name in NUMBERS}
    if np.all([known[name] for name in numbers], axis=0).any():
        return
    others = " or ".join(repr(name) for name in NUMBERS if known[name].any())
    which = "no pair" if len(rows) == len(result.rows) else "no pair of these variables"
    way_out = f"use number={others}" if others else "compare more draws"
    raise InputError(f"{which} has {' and '.join(numbers)} with a standard error; {way_out}", "shape")


def in_letters(text: str, backend: str) -> str:
    """A name as the backend takes it: plotly reads <b> as HTML."""
    return escape(text, quote=False) if backend == "plotly" else text


def figure_size(backend: str, width: float, height: float) -> dict[str, Any]:
    """A size in inches as the backend takes it, and margins that fit what is drawn."""
    if backend in ("matplotlib", "none"):
        fitting = {"layout": "constrained"} if backend == "matplotlib" else {}
        return {"figsize": (width, height), "figsize_units": "inches", **fitting}
    if backend == "plotly":
        width, height = width + _PLOTLY_MARGINS[0], height + _PLOTLY_MARGINS[1]
    return {"figsize": (DOTS * width, DOTS * height), "figsize_units": "dots"}  # the others warn of inches
