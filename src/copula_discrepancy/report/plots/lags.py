"""Dependence of a variable on its own past against the lag, in the draws and in the reference."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.data.naming import unknown_name
from copula_discrepancy.report.plots import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# titles of the panels, and whether the column of now and that of the past are distances from the median
_PANELS = (
    ("own past", "{x} with {x} before", False, False),
    ("volatility clustering", "|{x}| with |{x}| before", True, True),
    ("leverage", "|{x}| with {x} before", True, False),
)
_LEAST = 0.05  # smallest end of the axis of tau


def plot_lags(result: Pairwise, name: str | None = None, *, ax: Any = None) -> "Any":
    """Draw Kendall's tau of a variable with its own past against the lag, with pointwise intervals.

    Three panels: its values with earlier values, its distances from the median with earlier distances (volatility clustering),
    and its distances with earlier values (leverage). Draws are blue, the reference is grey; a filled mark is a lag with a
    significant gap in tau.

    Parameters
    ----------
    result : Pairwise
        The result of `pairwise` with `lags`.
    name : str, optional
        The variable; by default that of the worst pair of a variable with its own past.
    ax : three Axes, optional
        Axes to draw into; one if the variable has no volatility. By default a new figure.

    Returns
    -------
    Axes or array of Axes
        The axes drawn into: one if there is one panel.

    Raises
    ------
    InputError
        For a result without lags, or an unknown variable.

    See Also
    --------
    Pairwise.by_lag : The numbers of gaps by kind and lag.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> result = cd.pairwise(rng.standard_normal((20, 100, 1)), rng.standard_normal((20, 100, 1)), lags=3)
    >>> axes = cd.plot_lags(result, "x0", ax=Figure(figsize=(9, 3)).subplots(1, 3))
    >>> axes[0].get_ylabel()
    "Kendall's tau"
    """
    if not isinstance(result, Pairwise) or result.lagging is None:
        given = "one without lags" if isinstance(result, Pairwise) else type(result).__name__
        raise InputError(f"plot_lags requires the result of pairwise with lags, got {given}; pass lags=5 to pairwise first")
    variables = result.lagging.variables
    variable = worst_variable(result) if name is None else name
    if not isinstance(variable, str) or variable not in variables:
        raise InputError(unknown_name(str(variable), variables), "unknown-name")
    panels = _panels(result, variable)
    with look.canvas(ax, size=(2.9 * len(panels) + 0.4, 2.7), panels=len(panels), sharey=True) as made:
        axes = [made] if len(panels) == 1 else [*made]
        reach = max([_LEAST, *(float(np.nanmax(np.abs(ends))) for *_, ends in panels if np.isfinite(ends).any())])
        for place, (one, (title, label, rows, _)) in enumerate(zip(axes, panels, strict=True)):
            _draw(one, result, rows)
            one.set_ylim(-1.1 * reach, 1.1 * reach)
            look.title_above(one, f"{title}\n{label.format(x=look.plain(variable, 14))}")
            one.set_xlabel("lag (steps)")
            if place == 0:
                one.set_ylabel("Kendall's tau")
                one.legend(fontsize="x-small", loc="best")
    return made


def panel_titles(result: Pairwise, variable: str) -> list[str]:
    """The kinds of dependence on its own past that a variable has a panel for."""
    return [title for title, *_ in _panels(result, variable)]


def worst_variable(result: Pairwise) -> str:
    """The variable of the first pair of the ranking that is about a variable's own past."""
    lagging = result.lagging
    assert lagging is not None
    for row in result.rows:
        now, past = (lagging.columns[int(row[end])] for end in ("first", "second"))
        if past.lag and now.variable == past.variable:
            return lagging.variables[now.variable]
    return lagging.variables[0]


def _panels(result: Pairwise, variable: str) -> list[tuple[str, str, list[Any], Any]]:
    """For each panel its title, label and rows by increasing lag, and the ends of all intervals."""
    lagging = result.lagging
    assert lagging is not None
    at = {(int(row["first"]), int(row["second"])): row for row in result.rows}
    panels = []
    for title, label, now, past in _PANELS:
        first = lagging.place(variable, absolute=now)
        pairs = [(first, lagging.place(variable, lag=lag, absolute=past)) for lag in lagging.lags]
        rows = [at[pair] for pair in pairs if pair in at]
        if rows:
            ends = [_ends(result, row, end) for row in rows for end in ("", "_target")]
            panels.append((title, label, rows, np.array(ends)))
    return panels


def _ends(result: Pairwise, row: Any, end: str) -> tuple[float, float]:
    """The pointwise interval of a tau."""
    tau, error = (row["tau"], row["tau_se"]) if not end else (row["tau_target"], row["tau_target_se"])
    reach = float(ndtri(0.5 + 0.5 * result.confidence)) * float(error)
    reach = reach if math.isfinite(reach) else 0.0
    return float(tau) - reach, float(tau) + reach


def _draw(ax: "Axes", result: Pairwise, rows: list[Any]) -> None:
    assert result.lagging is not None
    lags = [result.lagging.columns[int(row["second"])].lag for row in rows]
    ax.axhline(0.0, color=look.ink(), linewidth=0.8, zorder=1)
    share = f"{100 * result.confidence:g}%"
    for end, colour, label, line in (("_target", look.GREY, "reference", "--"), ("", look.BLUE, result.things, "-")):
        low, high = np.array([_ends(result, row, end) for row in rows]).T
        taus = [float(row["tau" + end]) for row in rows]
        look.band(ax, lags, taus, low, high, color=colour, label=f"{label}, {share}", marker="", line=line)
        flagged = [bool(row["level_adjusted"] < 1.0 - result.confidence) for row in rows]
        for lag, tau, gap in zip(lags, taus, flagged, strict=True):
            fill = colour if gap and not end else ax.get_facecolor()
            ax.plot(lag, tau, "o", color=colour, markerfacecolor=fill, markersize=4, zorder=3)
    ax.set_xlim(lags[0] - 0.5, lags[-1] + 0.5)
    ax.set_xticks(lags if len(lags) <= 8 else lags[:: math.ceil(len(lags) / 8)])
