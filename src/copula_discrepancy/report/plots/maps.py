"""Heat maps: a number of all pairs as a coloured matrix, with significant pairs in the lower half."""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.estimate.tails import CORNERS, along
from copula_discrepancy.report.plots.columns import pair_is_ordered
from copula_discrepancy.report.plots.look import BLUE, GREY, ORANGE, PLAIN, X_SMALL, canvas, ink, plain, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SIGNED = ("level", "shape", "total", *CORNERS, "tau", "tau_target")
SIZES = ("cd", "ckl", "form")
KEPT = "kept"  # a share: 1 is right, whatever its sign; shown as a percentage
OLD_NAMES = ("lower_tail", "upper_tail")  # deprecated names of the two corners along the dependence
KEPT_LIMIT = 1.0  # its scale ends at 0, all dependence lost, and at 2, twice as much, whatever the pairs are
SMALLEST_LIMIT = 0.05  # smallest end of a colour scale: negligible gaps stay pale
_DARK = 0.9  # share of the scale above which white numbers are more readable than black ones on blue
_LABELS = ((5.0, 28), (0.0, 18))  # characters of a name next to a map wider than this many inches
_ROOM = 20.0  # smallest cell, in points, with room for its number
# what a map of levels shows of pairs without an order, and so without a level: without numbers in its cells, and with them
_UNORDERED = ("without an order: dependence lost", "in %: no order, dependence kept")
_LINE = 1.3  # height of a line of text, in font sizes


def gap_cells(result: Pairwise, number: str) -> NDArray[np.float64]:
    """A number of all pairs above the diagonal, and below it of those with a significant gap; NaN elsewhere.

    Level, shape, form and corners use their own test, and the share kept that of form; other numbers are significant if any of
    these is.
    """
    cells = result.matrix(number)
    within = result.rows[~beyond_chance(result, number)]
    cells[within["second"], within["first"]] = math.nan  # the first variable of a row has the smaller index
    return cells


def beyond_chance(result: Pairwise, number: str) -> NDArray[np.bool_]:
    """Whether each pair has a significant gap, as in its verdict."""
    alpha, rows = 1.0 - result.confidence, result.rows
    if number in OLD_NAMES:
        ends = np.array([along(*taus)[OLD_NAMES.index(number)] for taus in rows[["tau", "tau_target"]].tolist()], dtype=str)
        return np.asarray(sum((ends == name) & beyond_chance(result, name) for name in CORNERS), dtype=np.bool_)
    if number not in CORNERS:
        test = "form" if number == KEPT else number
        significant = rows[f"{test}_adjusted"] < alpha if test in ("level", "shape", "form") else rows["flagged"]
        return np.asarray(significant, dtype=np.bool_)
    # the test of all corners, and this corner's contribution
    known = sum(np.isfinite(rows[f"{name}_pvalue"]) for name in CORNERS)
    smallest = np.fmin.reduce([rows[f"{name}_pvalue"] for name in CORNERS])
    limit = np.fmax(alpha / np.maximum(known, 1), smallest)
    return np.asarray((rows["tails_adjusted"] < alpha) & (rows[f"{number}_pvalue"] <= limit), dtype=np.bool_)


def cells_with_unordered(result: Pairwise) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Levels as in `gap_cells`, filled where a pair has none because a column has no order; and the share such pairs keep.

    There the number is the target's dependence times the share of it that is lost, below zero as a lower level is; if the share
    is not known, the difference in the size of dependence. Their tests are those of form. The second matrix is NaN elsewhere.
    """
    cells, kept = gap_cells(result, "level"), np.full((len(result.names),) * 2, math.nan)
    unordered = np.array([not pair_is_ordered(result.samples[0], [name]) for name in result.names], dtype=np.bool_)
    rows = result.rows[unordered[result.rows["first"]] | unordered[result.rows["second"]]]
    lost = (rows["kept"] - 1.0) * rows["dependence_target"]
    lost = np.where(np.isnan(lost), rows["dependence"] - rows["dependence_target"], lost)
    first, second, found = rows["first"], rows["second"], rows["form_adjusted"] < 1.0 - result.confidence
    cells[first, second], kept[first, second] = lost, rows["kept"]
    cells[second[found], first[found]], kept[second[found], first[found]] = lost[found], rows["kept"][found]
    return cells, kept


def colour_limit(cells: NDArray[np.float64]) -> float:
    """The end of a colour scale, on both sides of zero: the largest absolute value, rounded up to one digit."""
    sizes = np.abs(cells[np.isfinite(cells)])
    largest = float(sizes.max()) if sizes.size else 0.0
    if largest <= SMALLEST_LIMIT:
        return SMALLEST_LIMIT
    step = 10.0 ** math.floor(math.log10(largest))
    return math.ceil(round(largest / step, 9)) * step


def coloured(cells: NDArray[np.float64], number: str) -> tuple[NDArray[np.float64], float]:
    """What the colours of a map show, as differences from the value that has none, and the end of their scale."""
    return (cells - 1.0, KEPT_LIMIT) if number == KEPT else (cells, colour_limit(cells))


def cell_colours(cells: NDArray[np.float64], limit: float) -> NDArray[np.uint8]:
    """Red, green, blue and opacity of every cell: blue below zero, orange above, the more opaque the further away.

    Zero is transparent, so that the map suits a light and a dark page. The two hues are distinguishable with colour vision
    deficiencies and in greyscale, where blue is darker.
    """
    from matplotlib.colors import to_rgb

    # only an infinite divergence, and a share kept that is negative or above 2, is beyond the limit; NaN has no colour
    shares = np.nan_to_num(np.clip(np.abs(cells) / limit, 0.0, 1.0), nan=0.0)
    colours = np.zeros((*cells.shape, 4))
    colours[..., :3] = np.where((cells < 0)[..., None], to_rgb(BLUE), to_rgb(ORANGE))
    colours[..., 3] = shares
    colours[~(shares > 0)] = 0.0
    return np.round(255.0 * colours).astype(np.uint8)


def plot_map(result: Pairwise, number: str = "level", *, ax: Any = None) -> "Axes":
    """Draw a number of all pairs as a matrix; return the Axes (see `Pairwise.plot`)."""
    if number not in OLD_NAMES:  # deprecated names still work, and warn
        one_of(number, "number", (*SIGNED, *SIZES, KEPT))
    cells, kept = cells_with_unordered(result) if number == "level" else (gap_cells(result, number), None)
    unordered = kept is not None and not all(pair_is_ordered(result.samples[0], [name]) for name in result.names)
    d = len(result.names)
    width = min(max(2.2 + 0.42 * d, 3.5), 7.0)
    with canvas(ax, size=(width, 0.86 * width)) as axes:
        shown, limit = coloured(cells, number)
        image = axes.imshow(shown, cmap=signed_colours(), vmin=-limit, vmax=limit, interpolation="nearest")
        axes.grid(False)
        axes.plot([-0.5, d - 0.5], [-0.5, d - 0.5], color=GREY, linewidth=0.6)
        most = next(signs for inches, signs in _LABELS if _inches(axes)[0] > inches)
        labels = [plain(name, most) for name in result.names]
        room = _cell_room(axes, labels)
        every = max(1, math.ceil(_LINE * text_size(X_SMALL) / room))  # labels that do not overlap
        places = np.arange(0, d, every)
        axes.set_xticks(places, labels[::every], rotation=90, fontsize="x-small", **PLAIN)
        axes.set_yticks(places, labels[::every], fontsize="x-small", **PLAIN)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        if room >= _ROOM:
            _write_numbers(axes, cells, number, "x-small" if room >= 1.3 * _ROOM else "xx-small", kept)
        bar = axes.figure.colorbar(image, ax=axes, shrink=0.7, pad=0.02)
        bar.ax.tick_params(labelsize="x-small")
        bar.outline.set_visible(False)
        if number in SIZES:
            bar.ax.set_ylim(0.0, limit)
        if number == KEPT:
            bar.set_ticks([-1.0, -0.5, 0.0, 0.5, 1.0], labels=["0% or less", "50%", "100%", "150%", "200% or more"])
        axes.set_title(CORNERS[number].label if number in CORNERS else number.replace("_", " "))
        told = f"above the diagonal: all {result.unit}s\nbelow: significant {result.unit}s"
        told += f"\n{_UNORDERED[room >= _ROOM]}" if unordered else ""
        axes.set_xlabel(told, fontsize="small")
    return axes


def signed_colours() -> Any:
    """From blue through transparent to orange, the same colours as `cell_colours`."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    ends = [(*to_rgb(BLUE), 1.0), (*to_rgb(BLUE), 0.0), (*to_rgb(ORANGE), 0.0), (*to_rgb(ORANGE), 1.0)]
    return LinearSegmentedColormap.from_list("gaps", list(zip((0.0, 0.5, 0.5, 1.0), ends, strict=True)), N=511)


def _cell_room(ax: "Axes", labels: Sequence[str]) -> float:
    """The approximate width of a cell in points, after subtracting names, colour bar and title."""
    position = ax.get_position()
    box = 72.0 * _inches(ax) * (position.width, position.height)
    names = 0.6 * text_size(X_SMALL) * max(map(len, labels))
    # a layout engine gives the axes their full share of the figure, which is 0.77 before it runs, and subtracts the text
    side = min(box.min(), (box / 0.77).min() - names - 5.0 * text_size(1.0))
    return max(float(side), 20.0) / len(labels)


def _inches(ax: "Axes") -> NDArray[np.float64]:
    """Width and height of the figure, or of the subfigure, that contains the axes."""
    return np.array([ax.figure.bbox.width, ax.figure.bbox.height]) / ax.figure.dpi


def _write_numbers(
    ax: "Axes", cells: NDArray[np.float64], number: str, fontsize: str, kept: NDArray[np.float64] | None
) -> None:
    """Write every number into its cell, so that the sign is visible without colours; where `kept` is known, that share."""
    shown, limit = coloured(cells, number)
    for i, j in zip(*np.nonzero(np.isfinite(cells)), strict=True):
        color = "white" if white_reads_better(shown[i, j], limit) else ink()
        share = kept is not None and np.isfinite(kept[i, j])
        said = cell_text(kept[i, j], KEPT) if kept is not None and share else cell_text(cells[i, j], number)
        ax.text(j, i, said, ha="center", va="center", fontsize=fontsize, color=color)


def white_reads_better(value: float, limit: float) -> bool:
    """Whether a cell is so dark a blue that its number is more readable in white."""
    return value < 0 and -value > _DARK * limit


def cell_text(value: float, number: str = "") -> str:
    """A number short enough for a cell: -.16; the share kept as 66%."""
    if number == KEPT:
        return percentage(value).replace("-", "\u2212")
    if abs(value) < 0.005:
        return "0"
    text = f"{value:+.2f}" if abs(value) < 0.995 else f"{value:+.1f}"
    text = text.lstrip("+") if number in SIZES else text  # a size has no sign
    return re.sub(r"^([+-]?)0\.", r"\1.", text).replace("-", "\u2212")


def percentage(share: float) -> str:
    """A share in per cent."""
    return f"{100.0 * share:.0f}%".replace("-0%", "0%")
