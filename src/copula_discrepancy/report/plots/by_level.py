"""A column of numbers in each level of another column: densities, or boxes, of both samples in every level."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare.wording import counted, per_hundred
from copula_discrepancy.data.kinds import DATE, DURATION, is_ordered
from copula_discrepancy.report.plots import look
from copula_discrepancy.report.plots.columns import MOST_LEVELS, Column, Sample, TwoColumns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RIDGES = 8  # levels with room for densities; more have boxes
_FEWEST = 20  # rows below which a density says more than they know: each row is a stroke instead
_HEIGHT = 0.42  # of a density, in rows: those of adjacent levels do not touch
_BOX = (0.08, 0.30)  # thinnest and thickest box, in rows
_NEAR = 0.05  # widths of the axis beyond its values at which the line of a density ends
_GRID = 240  # points of a density: finer than a picture's pixels need
_FAR = 1.6  # a range so many times that of the middle 98% squeezes them: the axis ends there, and says how many are beyond
_BARS = (1.02, 0.16)  # where the bars of shares begin and how long the longest is, in widths of the panel
_OUTER = 0.01  # quantile at which an axis of a long-tailed column ends


def draw_levels(ax: "Axes", pair: TwoColumns) -> None:
    """Draw the number of each row by the level of the other column, both samples next to each other in every level."""
    which = 0 if pair.columns[0].by_level else 1
    pair = pair.arranged(which, _order(pair, which), MOST_LEVELS["levels"])
    leveled, numbers = pair.columns[which], pair.columns[1 - which]
    low, high, beyond = _limits([sample.values[1 - which] for sample in pair.samples])
    ridges = len(leveled.levels) <= _RIDGES
    for k in range(len(leveled.levels)):
        inside = [sample.values[1 - which][sample.values[which] == k] for sample in pair.samples]
        if ridges:
            _draw_ridges(ax, -k, inside, pair.samples, (low, high))
        else:
            _draw_boxes(ax, -k, inside, pair.samples)
    _draw_shares(ax, pair, which)
    ax.set_xlim(low, high)
    ax.set_ylim(0.55 - len(leveled.levels), 0.55)
    ax.grid(False, axis="y")
    names = [look.plain(label, 20) for label in leveled.levels]
    ax.set_yticks(-np.arange(len(names)), names, fontsize="x-small" if len(names) > _RIDGES else "small", **look.PLAIN)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_ylabel(look.plain(leveled.name), fontsize="small", **look.PLAIN)
    label_axis(ax, numbers)
    _tell(ax, pair.samples, beyond)


def _order(pair: TwoColumns, which: int) -> list[int]:
    """The order of levels: their own or, if they have none, that of the reference's medians."""
    column = pair.columns[which]
    places = range(len(column.levels))
    if is_ordered(column.kind):
        return [*places]
    medians = {}
    for k in places:
        found = [sample.values[1 - which][sample.values[which] == k] for sample in pair.samples]
        medians[k] = next((float(np.median(values)) for values in found if values.size), math.inf)
    return sorted(places, key=lambda k: medians[k])


def _limits(samples: list[NDArray[np.float64]]) -> tuple[float, float, int]:
    """Ends of the axis of numbers, and how many rows are beyond them: with long tails the axis ends inside."""
    every = np.concatenate(samples)
    if not every.size:
        return 0.0, 1.0, 0
    low, high = float(every.min()), float(every.max())
    ends = [np.quantile(values, (_OUTER, 1.0 - _OUTER)) for values in samples if values.size]
    inner = float(min(end[0] for end in ends)), float(max(end[1] for end in ends))
    if high - low > _FAR * (inner[1] - inner[0]) > 0.0:
        low, high = inner
    margin = 0.03 * (high - low) or 0.5
    low, high = low - margin, high + margin
    return low, high, int(np.sum((every < low) | (every > high)))


# ---- densities and boxes -------------------------------------------------------------------------------------------


def _draw_ridges(
    ax: "Axes", place: float, inside: list[NDArray[np.float64]], samples: tuple[Sample, ...], limits: tuple[float, float]
) -> None:
    """The reference's density above a line, that of the draws below it, on one scale, with medians and middle halves."""
    grid = np.linspace(*limits, _GRID)
    densities = [_density(values, grid) if values.size >= _FEWEST else None for values in inside]
    highest = max((float(density.max()) for density in densities if density is not None), default=1.0)
    ax.axhline(place, color=look.PALE, linewidth=0.6, zorder=1)
    for values, density, sample, up in zip(inside, densities, samples, (1.0, -1.0), strict=False):
        if density is not None:
            edge = place + up * _HEIGHT * density / highest
            ax.fill_between(grid, place, edge, color=sample.color, alpha=0.45, linewidth=0, zorder=2)
            near = _NEAR * (limits[1] - limits[0])
            known = (grid >= values.min() - near) & (grid <= values.max() + near)
            ax.plot(grid[known], edge[known], color=sample.color, linewidth=0.9, zorder=3)
            low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
            ax.plot([low, high], [place + 0.055 * up] * 2, color=sample.color, linewidth=2.2, solid_capstyle="butt", zorder=4)
            ax.plot([middle] * 2, [place, place + 0.15 * up], color=look.ink(), linewidth=1.5, solid_capstyle="butt", zorder=5)
        elif values.size:
            ax.vlines(values, place + 0.02 * up, place + 0.2 * up, color=sample.color, linewidth=0.9, zorder=3)


def _density(values: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """A kernel density on a grid, with Silverman's bandwidth; rows beyond the grid are left out, and not reflected."""
    step = grid[1] - grid[0]
    spread = float(np.subtract(*np.quantile(values, (0.75, 0.25)))) / 1.349
    width = max(0.9 * min(spread or np.inf, float(values.std()) or np.inf) * values.size**-0.2, 1.2 * step)
    width = min(width, 0.2 * float(grid[-1] - grid[0]))  # all values equal: an infinite width would be none
    if not (spread or values.std()):
        width = 2.0 * step
    counts, _ = np.histogram(values, np.append(grid - 0.5 * step, grid[-1] + 0.5 * step))
    reach = np.arange(-math.ceil(4.0 * width / step), math.ceil(4.0 * width / step) + 1) * step / width
    kernel = np.exp(-0.5 * reach**2)
    smooth = np.convolve(counts, kernel / kernel.sum())[reach.size // 2 :][: grid.size]
    return np.asarray(smooth / (values.size * step), dtype=np.float64)


def _draw_boxes(ax: "Axes", place: float, inside: list[NDArray[np.float64]], samples: tuple[Sample, ...]) -> None:
    """Middle halves as boxes as thick as the level is frequent, middle 90% as whiskers, medians as strokes."""
    from matplotlib.patches import Rectangle

    aside = 0.19 if len(samples) > 1 else 0.0
    for values, sample, up in zip(inside, samples, (1.0, -1.0), strict=False):
        if not values.size:
            continue
        centre, thin = place + aside * up, _BOX[0]
        thick = thin + (_BOX[1] - thin) * math.sqrt(values.size / max(sample.n, 1))
        ends = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95))
        ax.plot(ends[[0, 4]], [centre] * 2, color=sample.color, linewidth=0.9, zorder=2)
        box = Rectangle(
            (ends[1], centre - 0.5 * thick), ends[3] - ends[1], thick, facecolor=sample.color, linewidth=0, zorder=3
        )
        ax.add_patch(box)
        ax.plot([ends[2]] * 2, [centre - 0.17, centre + 0.17], color=look.ink(), linewidth=1.5, zorder=4)


# ---- words ---------------------------------------------------------------------------------------------------------


def _draw_shares(ax: "Axes", pair: TwoColumns, which: int) -> None:
    """How frequent each level is in each sample, as bars and numbers to the right of the panel."""
    from matplotlib.patches import Rectangle

    counts = [pair.counts(which, sample) / max(sample.n, 1) for sample in pair.samples]
    largest = max(float(share.max()) for share in counts) or 1.0
    frame = ax.get_yaxis_transform()
    start, longest = _BARS
    aside = 0.16 if len(pair.samples) > 1 else 0.0
    for shares, sample, up in zip(counts, pair.samples, (1.0, -1.0), strict=False):
        for k, share in enumerate(shares):
            length, centre = longest * share / largest, -k + aside * up
            ax.add_patch(
                Rectangle(
                    (start, centre - 0.08), length, 0.16, facecolor=sample.color, linewidth=0, transform=frame, clip_on=False
                )
            )
            ax.text(
                start + length + 0.01, centre, f"{per_hundred(share)}%", transform=frame, ha="left", va="center",
                fontsize="xx-small" if len(shares) > _RIDGES else "x-small",
            )  # fmt: skip
    ax.annotate(
        "share", (start, 1.0), xycoords="axes fraction", xytext=(0.0, 2.0), textcoords="offset points", fontsize="x-small",
        color=look.GREY, ha="left", va="bottom",
    )  # fmt: skip


def label_axis(ax: "Axes", column: Column) -> None:
    """Name and ticks of the axis of numbers; dates are written as such."""
    unit = " (days)" if column.kind == DURATION else ""
    ax.set_xlabel(f"{look.plain(column.name)}{unit}", fontsize="small", **look.PLAIN)
    ax.tick_params(axis="x", labelsize="small")
    if column.kind != DATE:
        ax.xaxis.set_major_locator(look.few_ticks(ax))
        return
    from matplotlib.ticker import FixedLocator, FuncFormatter

    places, written = date_ticks(*ax.get_xlim(), most=max(2, int(1.3 * ax.get_window_extent().width / ax.figure.dpi)))
    ax.xaxis.set_major_locator(FixedLocator(places))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda place, _: written[places.index(place)] if place in places else ""))


_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600)  # between two dates of an axis; shorter spans have whole days


def date_ticks(low: float, high: float, most: int) -> tuple[list[float], list[str]]:
    """Days since 1970-01-01 at the starts of months or years, at most so many, as places and as text.

    Not matplotlib's own: the user may have set another epoch there.
    """
    epoch = np.datetime64("1970-01-01")
    first, last = (epoch + np.timedelta64(int(round_(end)), "D") for end, round_ in ((low, math.ceil), (high, math.floor)))
    for step in _MONTHS:
        start = (first.astype("datetime64[M]").astype(int) // step) * step
        months = np.arange(start, last.astype("datetime64[M]").astype(int) + 1, step).astype("datetime64[M]")
        days = months.astype("datetime64[D]")
        inside = days[(days >= first) & (days <= last)]
        if inside.size < 2:
            break
        if inside.size <= most:
            form = "datetime64[Y]" if step % 12 == 0 else "datetime64[M]"
            return [float(place) for place in (inside - epoch).astype(float)], [str(one) for one in inside.astype(form)]
    whole = np.unique(np.linspace(math.ceil(low), math.floor(high), max(most, 2)).round())
    return [float(place) for place in whole], [str(epoch + np.timedelta64(int(place), "D")) for place in whole]


def _tell(ax: "Axes", samples: tuple[Sample, ...], beyond: int) -> None:
    """A legend with the number of rows of each sample, and what the axis does not show."""
    from matplotlib.patches import Patch

    handles: dict[str, Any] = {sample.title: Patch(facecolor=sample.color, alpha=0.7, linewidth=0) for sample in samples}
    ax.legend(
        list(handles.values()), list(handles), loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="x-small",
        borderaxespad=0.2, borderpad=0.0, handlelength=1.2, handletextpad=0.5, frameon=False,
    )  # fmt: skip
    if beyond:
        look.note_below(ax, f"{counted(beyond, samples[0].things.removesuffix('s'))} beyond the axis")
