"""What plots by arviz-plots share: its modules, labels, sizes, and the refusal of what would change nothing.

Arguments have ArviZ's names. Nothing is read or compared here, so there is no `group` and no `coords`: these were chosen when
the result was made. The backend may be matplotlib, plotly or bokeh, and visuals can be added afterwards.
"""

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from copula_discrepancy._core.checks import one_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.many import pairwise
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.report.plots.maps import beyond_chance

LONGEST = 28  # letters of a name: more would be too small to read
NUMBERS = ("level", "shape", "total", "form")  # that have a standard error
_DOTS = 100.0  # per inch
_CHOSEN_BEFORE = ("dt", "group", "coords", "sample_dims", "ci_prob", "ci_probs", "combined", "reference_values")
_BACKENDS = ("matplotlib", "plotly", "bokeh", "none")


def backend_of(plot: Any) -> Any:
    """The backend of a plot, as a module with one function for each thing that is drawn."""
    return import_module(f"arviz_plots.backend.{plot.backend}")


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


def refuse_unused(given: Mapping[str, Any], theirs: Any, function: str) -> None:
    """Raise for arguments of ArviZ's plot, or of the comparison, that would be swallowed and change nothing."""
    for name in given:
        if name in _CHOSEN_BEFORE:
            raise InputError(
                f"{function} has no argument {name!r}: it draws a result, whose draws and confidence were chosen in cd.pairwise"
            )
        if name in inspect.signature(theirs).parameters:
            raise InputError(f"{function} has no argument {name!r}, which {theirs.__name__} of arviz-plots has; omit it")
        if name in inspect.signature(pairwise).parameters:
            raise InputError(
                f"{name!r} is an option of the comparison: pass it to cd.pairwise, or as compare={{{name!r}: ...}} to the "
                "method of a dataset"
            )


def require_visuals(visuals: Any, known: tuple[str, ...] | None) -> None:
    """Raise unless visuals are mappings of keyword arguments, or True or False."""
    for name, options in (visuals or {}).items():
        if known is not None:
            one_of(name, "visuals", known)
        if not isinstance(options, Mapping | bool):
            raise InputError(f"visuals[{name!r}] must be a mapping of keyword arguments, or False, got {options!r:.60}")


def arviz_plots_with(backend: Any) -> Any:
    """arviz-plots, with a backend that it has, or an error that says how to install it."""
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
    return arviz_plots


def require_ranking(result: Any, function: str) -> None:
    """Raise unless a result is a ranking of pairs."""
    if not isinstance(result, Pairwise) or result.unit != "pair":
        raise InputError(
            f"{function} requires a Pairwise, got {type(result).__name__}; call cd.pairwise(draws, reference) first"
        )


def figure_size(backend: str, width: float, height: float) -> dict[str, Any]:
    """A size in inches as the backend takes it, and margins that fit what is drawn."""
    if backend in ("matplotlib", "none"):
        fitting = {"layout": "constrained"} if backend == "matplotlib" else {}
        return {"figsize": (width, height), "figsize_units": "inches", **fitting}
    return {"figsize": (_DOTS * width, _DOTS * height), "figsize_units": "dots"}  # the others warn of inches
