"""The gaps of one pair with their intervals: those with a sign around zero, form, which has none, from zero on."""

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.compare.wording import chance, pair_label
from copula_discrepancy.estimate.tails import CORNERS, part_name
from copula_discrepancy.estimate.uncertainty import Estimate
from copula_discrepancy.report.plots import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SMALL, _SIGN = 0.833, 0.5  # size of a small title relative to the font size, and width of its characters relative to that
_LEAST = 0.02  # smallest end of an axis
GAPS = ("level", "shape", "total", "form", *CORNERS)


def plot_gaps(result: Discrepancy, *, ax: Any = None) -> "Axes":
    """Draw the gaps of one pair with their intervals around zero (see `Discrepancy.plot`)."""
    if not isinstance(result, Discrepancy):
        raise look.wrong_subject("plot_gaps", "a Discrepancy", result)
    with look.canvas(ax, size=(5.2, 2.8)) as axes:
        axes.axvline(0.0, color=look.ink(), linewidth=0.8, zorder=1)
        for line in (2.5, 3.5):  # taus above, shares below, and form, a density, between them
            axes.axhline(line, color=look.GREY, linewidth=0.5)
        tests = result.tests
        beyond = {name for name in ("level", "shape", "form") if tests.beyond(name)} | set(tests.off_corners)
        total = result.total
        beyond |= {"total"} if total.pvalue < 1.0 - total.confidence else set()  # total has a single test
        for place, name in enumerate(GAPS):
            _draw_gap(axes, place, result.estimates.get(name), beyond=name in beyond, signed=name != "form")
        axes.set_yticks(range(len(GAPS)), [name.replace("_", "-") for name in GAPS], fontsize="small")
        axes.tick_params(axis="y", length=0, left=False)
        axes.set_ylim(len(GAPS) - 0.5, -0.5)
        axes.grid(False, axis="y")
        reach = _reach([result.estimates.get(name) for name in GAPS if name != "form"])
        axes.set_xlim(-reach, max(reach, _reach([result.form])))  # zero is in the middle, unless form is larger than all others
        axes.xaxis.set_major_locator(look.few_ticks(axes))
        whose = "target" if result.reference is None else "reference"
        share = f"{100 * result.level.confidence:g}%"
        units = f"in tau; form: in densities; corners:\nin shares of a {part_name(result.tail)}"
        axes.set_xlabel(
            f"{result.things} minus {whose}, {share} intervals\n{units}\nfilled: significant", fontsize="small", **look.PLAIN
        )
        names = [look.plain(name, 20) for name in result.fit.pair.names]
        title = fill(result.verdict, _title_signs(axes), break_on_hyphens=False)
        look.title_above(axes, f"{pair_label(*names)}\n{title}")
    return axes


def _title_signs(ax: "Axes") -> int:
    """Number of characters of a small title that fit above the axes and the numbers next to them."""
    points = 72.0 * ax.get_window_extent().width / ax.figure.dpi
    return max(int(points / (_SIGN * look.text_size(_SMALL))), 20)


def _reach(gaps: Sequence[Estimate | None]) -> float:
    """The end of an axis that has room for these gaps and their intervals."""
    ends = [abs(end) for gap in gaps if gap is not None for end in (gap.value, *gap.ci) if math.isfinite(end)]
    return 1.1 * max([_LEAST, *ends])


def _number(value: float, signed: bool) -> str:
    text = f"{value:{'+' if signed else ''}.3f}"
    if not signed:
        return text
    return text if float(text) else text[1:]  # zero has no sign


def _draw_gap(ax: "Axes", place: int, gap: Estimate | None, *, beyond: bool, signed: bool = True) -> None:
    """A point with its interval, filled if it is significant, and its numbers to the right."""
    text = "not tested"
    if gap is not None and not math.isnan(gap.pvalue):
        fill = look.BLUE if beyond else ax.get_facecolor()
        ax.plot(gap.ci, (place, place), color=look.BLUE, linewidth=1.8, solid_capstyle="butt", zorder=2)
        ax.plot(gap.value, place, "o", color=look.BLUE, markerfacecolor=fill, markersize=6, markeredgewidth=1.3, zorder=3)
        text = f"{_number(gap.value, signed)}, {chance(gap.pvalue)}"
    elif gap is not None and gap.value != 0.0 and not math.isnan(gap.value):  # by moments shape is always 0
        ax.plot(gap.value, place, "x", color=look.BLUE, markersize=6, markeredgewidth=1.3, zorder=3)
        text = f"{_number(gap.value, signed)}, not tested"
    ax.annotate(
        text.replace("-", "\N{MINUS SIGN}"), (1.0, place), xytext=(4.0, 0.0), xycoords=("axes fraction", "data"),
        textcoords="offset points", va="center", fontsize="x-small",
    )  # fmt: skip
