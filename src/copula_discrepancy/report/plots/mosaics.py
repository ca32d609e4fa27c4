"""Two columns with few levels as a mosaic: areas are shares of rows, colours the departure from independence."""

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare.wording import per_hundred
from copula_discrepancy.data.kinds import is_ordered
from copula_discrepancy.report.plots import look
from copula_discrepancy.report.plots.columns import MOST_LEVELS, Sample, TwoColumns
from copula_discrepancy.report.plots.maps import colour_limit, signed_colours, white_reads_better

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 0.012  # between tiles, in sides of the square
_SIGN = 0.55  # width of a character, in font sizes
_LINE = 1.25  # height of a line, in font sizes
_FEWEST_SIGNS = 6  # a label shortened further says too little: it is turned instead
_BLACK = "#111111"  # on strong orange, also in dark figures and on dark pages, which change pure black
_TURNED = 16  # characters of a turned label


def draw_mosaics(axes: Sequence["Axes"], pair: TwoColumns) -> None:
    """Draw one mosaic per sample, with the same levels, order and colours."""
    for which, column in enumerate(pair.columns):
        shares = pair.shares(which)
        order = range(len(column.levels)) if is_ordered(column.kind) else np.argsort(-shares, kind="stable").tolist()
        pair = pair.arranged(which, [*order], MOST_LEVELS["mosaic"])
    tables = [cell_shares(pair, sample) for sample in pair.samples]
    residuals = [residuals_of(table) for table in tables]
    limit = colour_limit(np.concatenate([np.ravel(one) for one in residuals]))
    for ax, sample, table, residual in zip(axes, pair.samples, tables, residuals, strict=True):
        _draw_one(ax, pair, sample, table, residual, limit)


def cell_shares(pair: TwoColumns, sample: Sample) -> NDArray[np.float64]:
    """The share of a sample's rows in each cell: levels of the first column by those of the second."""
    first, second = (len(column.levels) for column in pair.columns)
    codes = sample.values[0].astype(np.int64) * second + sample.values[1].astype(np.int64)
    return np.bincount(codes, minlength=first * second).reshape(first, second) / max(sample.n, 1)


def residuals_of(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson's residuals from independence, over the root of the number of rows: (p_jk - p_j p_k) / sqrt(p_j p_k).

    Without the number of rows, tables of different length have the same scale, that of form: the root of their sum of squares
    is the size of all dependence. A level without rows has none, 0.
    """
    expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    return np.divide(shares - expected, np.sqrt(expected), out=np.zeros_like(shares), where=expected > 0.0)


def _draw_one(
    ax: "Axes",
    pair: TwoColumns,
    sample: Sample,
    shares: NDArray[np.float64],
    residuals: NDArray[np.float64],
    limit: float,
) -> None:
    from matplotlib.patches import Rectangle

    ax.set_aspect("equal", adjustable="box")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 1.0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    side, colours = look.square_width(ax), signed_colours()
    columns = _ends(shares.sum(axis=1))
    middles = np.linspace(1.0, 0.0, shares.shape[1])  # if there are no rows at all
    first = next((j for j, (left, right) in enumerate(columns) if right > left), 0)
    for j, (left, right) in enumerate(columns):
        if right <= left:
            continue
        # the first level at the top, as in a table
        cells = np.array([(1.0 - high, 1.0 - low) for low, high in _ends(shares[j] / shares[j].sum())])
        if j == first:
            middles = cells.mean(axis=1)
        for k, (low, high) in enumerate(cells):
            residual = residuals[j, k]
            tile = Rectangle(
                (left, low), right - left, high - low, facecolor=colours(0.5 + 0.5 * residual / limit),
                edgecolor=look.GREY, linewidth=0.5, zorder=2,
                clip_on=False,  # outer edges lie on the limits of the axes
            )  # fmt: skip
            ax.add_patch(tile)
            _write_share(ax, (left, right, low, high), shares[j, k] / shares[j].sum(), residual, limit, side)
    _label_columns(ax, pair.columns[0].levels, columns.mean(axis=1), columns[:, 1] - columns[:, 0], side)
    _label_rows(ax, pair.columns[1].levels, middles, side)
    ax.tick_params(length=0)
    # the key is part of the label, which every layout gives room below turned names
    key = "orange: more than if independent", f"blue: fewer; full colour at \N{PLUS-MINUS SIGN}{limit:g}"
    room = max(int(side / (_SIGN * look.text_size(look.X_SMALL))), 12)
    words = [look.plain(pair.columns[0].name), *(fill(line, room) for line in key)]
    ax.set_xlabel("\n".join(words), fontsize="x-small", **look.PLAIN)
    ax.set_ylabel(look.plain(pair.columns[1].name), fontsize="small", **look.PLAIN)
    look.title_above(ax, sample.title.replace(", ", "\n"), "small" if side > 130.0 else "x-small")


def _ends(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Both ends of each part of a side of length 1, with gaps between parts."""
    room = 1.0 - _GAP * (shares.size - 1)
    sizes = room * shares
    starts = np.cumsum(sizes) - sizes + _GAP * np.arange(shares.size)
    return np.stack([starts, starts + sizes], axis=1)


def _write_share(
    ax: "Axes", tile: tuple[float, float, float, float], share: float, residual: float, limit: float, side: float
) -> None:
    """The share of the column's rows in a tile, if there is room."""
    left, right, low, high = tile
    said, size = f"{per_hundred(share)}%", look.text_size(look.X_SMALL)
    if side * (right - left) < _SIGN * size * (len(said) + 1) or side * (high - low) < _LINE * size:
        return
    color = "white" if white_reads_better(residual, limit) else _BLACK if residual > 0.5 * limit else look.ink()
    ax.text(0.5 * (left + right), 0.5 * (low + high), said, ha="center", va="center", fontsize="x-small", color=color, zorder=3)


def _label_columns(
    ax: "Axes", labels: Sequence[str], middles: NDArray[np.float64], widths: NDArray[np.float64], side: float
) -> None:
    """Labels below the columns: level if each has room for a few characters, otherwise turned and kept apart."""
    size = look.text_size(look.X_SMALL)
    room = (side * widths / (_SIGN * size)).astype(int)
    if all(most >= min(len(label), _FEWEST_SIGNS) for label, most in zip(labels, room, strict=True)):
        words = [look.plain(label, int(most)) for label, most in zip(labels, room, strict=True)]
        ax.set_xticks(middles, words, fontsize="x-small", **look.PLAIN)
        return
    every, places = _spread(middles, _LINE * size / side)
    turned = [look.plain(label, _TURNED) for label in labels[::every]]
    ax.set_xticks(places, turned, rotation=90, fontsize="x-small", **look.PLAIN)


def _label_rows(ax: "Axes", labels: Sequence[str], middles: NDArray[np.float64], side: float) -> None:
    """Labels beside the cells of the first column, kept apart where cells are thin."""
    every, places = _spread(1.0 - middles, _LINE * look.text_size(look.X_SMALL) / side)
    ax.set_yticks(1.0 - places, [look.plain(label, _TURNED) for label in labels[::every]], fontsize="x-small", **look.PLAIN)


def _spread(middles: NDArray[np.float64], line: float) -> tuple[int, NDArray[np.float64]]:
    """How many labels to go on by, and where they stand: in a very small panel not all have room.

    A layout may make the panel a third smaller than it is now, for labels such as these.
    """
    least = 1.5 * line
    every = max(1, math.ceil(middles.size * least)) if middles.size * least > 1.2 else 1
    return every, apart(middles[::every], least)


def apart(places: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Increasing places between 0 and 1, moved as little as needed to be this far from each other."""
    if (places.size - 1) * least >= 1.0:  # no room: evenly spaced
        return np.linspace(0.0, 1.0, places.size)
    moved = places.astype(np.float64).copy()
    for k in range(1, moved.size):
        moved[k] = max(moved[k], moved[k - 1] + least)
    moved[-1] = min(moved[-1], 1.0)
    for k in range(moved.size - 2, -1, -1):
        moved[k] = min(moved[k], moved[k + 1] - least)
    return moved
