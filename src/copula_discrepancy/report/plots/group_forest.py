"""A forest of groups: Kendall's tau of one pair within every group and over all rows, of both samples."""

import math
from typing import TYPE_CHECKING, Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.groups_result import GroupedPairwise
from copula_discrepancy.compare.groups_wording import ALL_ROWS
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.wording import pair_label
from copula_discrepancy.data.naming import unknown_name
from copula_discrepancy.report.plots import look
from copula_discrepancy.report.plots.forests import Row, draw_row, pair_taus, pairs_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART = 0.15  # of the two samples from the middle of their row
_ROW = 0.3  # inches of a group
_TALLEST = 9.0  # inches: fifty groups still fit a page


def plot_groups(result: GroupedPairwise, first: str | None, second: str | None, *, ax: Any) -> "Axes":
    """Draw the taus of a pair, by default the worst one, for all rows and for every group that has it."""
    names = _pair(result, first, second)
    rows = [(name, found) for name, found in _comparisons(result).items() if _has(found, names)]
    if not any(name != ALL_ROWS for name, _ in rows):
        raise InputError(f"the pair {names[0]!r}, {names[1]!r} was compared in no group", "unknown-name")
    with look.canvas(ax, size=(5.2, forest_height(len(rows)))) as axes:
        taus = [pair_taus(found, found[names]) for _, found in rows]
        for place, both in enumerate(taus):
            draw_row(axes, place - _APART, Row("", both.pooled, pooled=place == 0, of_draws=True))
            if both.aim is not None:
                draw_row(axes, place + _APART, Row("", both.aim, pooled=place == 0, of_draws=False))
        axes.axvline(0.0, color=look.GREY, linewidth=0.8, zorder=0.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        if rows[0][0] == ALL_ROWS:
            axes.axhline(0.5, color=look.GREY, linewidth=0.5)
        axes.set_yticks(range(len(rows)), [look.plain(name, 24) for name, _ in rows], fontsize="small", **look.PLAIN)
        axes.tick_params(axis="y", length=0, left=False)
        axes.grid(False, axis="y")
        axes.xaxis.set_major_locator(look.few_ticks(axes))
        words = pair_label(*(look.plain(name, 20) for name in names))
        axes.set_xlabel(f"Kendall's tau, {100 * result.confidence:g}% intervals\n{words}", fontsize="small", **look.PLAIN)
        pairs_legend(axes, taus, result.things, "reference")
    return axes


def forest_height(rows: int) -> float:
    """Inches of a forest with so many rows."""
    return min(1.0 + _ROW * rows, _TALLEST)


def _comparisons(result: GroupedPairwise) -> dict[str, Pairwise]:
    return {ALL_ROWS: result.overall} | {result.named[label]: group for label, group in result.groups.items()}


def _pair(result: GroupedPairwise, first: str | None, second: str | None) -> tuple[str, str]:
    """The names of the pair to draw."""
    if first is None and second is None:
        worst = worst_drawable(result)
        if worst is None:
            raise InputError("no pair has a Kendall's tau to draw: all of them have a variable without an order", "no-order")
        return worst
    if first is None or second is None:
        raise InputError("plot takes the names of two variables, or none for the worst pair, got one")
    known = dict.fromkeys(name for found in _comparisons(result).values() for name in found.names)
    for name in (first, second):
        if name not in known:
            raise InputError(unknown_name(str(name), [*known]), "unknown-name")
    return first, second


def worst_drawable(result: GroupedPairwise) -> tuple[str, str] | None:
    """The worst pair of the worst group that has a tau: one with a variable without order has none."""
    gaps = (gap for label in result.ranked for gap in result.groups[label])
    return next((gap.names for gap in gaps if math.isfinite(gap.tau)), None)


def _has(result: Pairwise, names: tuple[str, str]) -> bool:
    """Whether a comparison has the pair's tau: within a group a variable may be constant."""
    return {*names} <= {*result.names} and names[0] != names[1] and math.isfinite(result[names].tau)
