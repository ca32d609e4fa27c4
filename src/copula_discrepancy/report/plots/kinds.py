"""Two columns of two samples in the picture that suits their kinds: a cloud, numbers by level, or a mosaic."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy._core.checks import whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import DATE
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.ranks import TAIL_SHARE
from copula_discrepancy.estimate.tails import CORNERS, along
from copula_discrepancy.report.plots import look
from copula_discrepancy.report.plots.by_level import draw_levels
from copula_discrepancy.report.plots.clouds import Side, draw_side, evenly_spaced, pseudo_values, sample_tails
from copula_discrepancy.report.plots.columns import CLOUD, LEVELS, MOSAIC, WHOSE, Sample, TwoColumns, day
from copula_discrepancy.report.plots.mosaics import draw_mosaics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_SIZES = {CLOUD: (6.4, 3.7), LEVELS: (6.0, 3.6), MOSAIC: (6.8, 3.9)}  # inches of a new figure
_ROOM_FOR_DATES = 150.0  # points of a side with room for three dates, as layouts may make it smaller
_LEVEL = 0.34  # inches of each level beyond the first few, in a picture by level


def plot_columns(
    draws: Draws,
    reference: Draws | None,
    first: str,
    second: str,
    *,
    ax: Any = None,
    whose: tuple[str, str] = WHOSE,
    points: int = 2000,
) -> "NDArray[Any] | Axes | Any":
    """Draw two columns of the draws next to those of the reference, in the picture that suits their kinds.

    Columns with an order and more than eight values are drawn as ranks in the unit square, as in `plot_pair`. A column of
    numbers is drawn by the levels of a nominal column, or of one with at most eight values: densities of both samples in every
    level, or boxes for more than eight levels, with the share of each level. Two columns of levels are a mosaic: areas are
    shares of rows, and colours the residuals from independence, (p_jk - p_j p_k) / sqrt(p_j p_k), on one scale in both panels.

    Parameters
    ----------
    draws, reference : Draws, Draws or None
        The two samples; without a reference the draws are drawn alone.
    first, second : str
        The columns.
    ax : Axes or two Axes, optional
        Axes to draw into, with their current style: one for numbers by level, otherwise one per sample, the reference first. By
        default a new figure.
    whose : (str, str)
        What to call the reference and the draws.
    points : int
        Largest number of rows shown in each cloud, evenly spaced among all.

    Returns
    -------
    Axes or array of Axes
        The panels, the reference's first; or the `ax` that was passed.

    Raises
    ------
    InputError
        For unknown columns, anything but Draws, or a wrong number of Axes.

    Notes
    -----
    Rows with a missing value in either column are left out and counted. Levels without an order are sorted by the reference's
    median of the other column, in a mosaic by their frequency; with more than twelve (in a mosaic eight), the rarest are drawn
    as one level "other". Levels of both samples are matched by their labels.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import copula_discrepancy as cd
    >>> from copula_discrepancy.report.plots.kinds import plot_columns
    >>> values = np.random.default_rng(1).integers(0, 2, (1, 200, 2)).astype(float)
    >>> labels = (("crew", "first"), ("no", "yes"))
    >>> table = cd.Draws(values, ("class", "survived"), kinds=("nominal", "boolean"), levels=labels)
    >>> left, right = plot_columns(table, table, "class", "survived", ax=Figure(figsize=(7, 4)).subplots(1, 2))
    >>> sorted(label.get_text() for label in left.get_xticklabels())
    ['crew', 'first']
    """
    for sample, name in ((draws, "draws"), (reference, "reference")):
        if not isinstance(sample, Draws) and (sample is not None or name == "draws"):
            raise InputError(f"{name} must be Draws, got {type(sample).__name__}; read them with as_draws() first")
    return draw_columns(TwoColumns.of(draws, reference, first, second, whose), ax=ax, points=points)


def draw_columns(pair: TwoColumns, *, ax: Any = None, points: int = 2000) -> Any:
    """Draw prepared columns; see `plot_columns`."""
    shown, (width, height) = whole_number(points, "points", 1), _SIZES[pair.picture]
    if pair.picture == LEVELS:
        levels = max(len(column.levels) for column in pair.columns)
        height += _LEVEL * max(min(levels, 12) - 5, 0)
    elif pair.panels == 1:  # no reference beside it
        width *= 0.55
    with look.canvas(ax, size=(width, height), panels=pair.panels) as axes:
        panels = np.atleast_1d(axes)
        if pair.picture == LEVELS:
            draw_levels(panels[0], pair)
        elif pair.picture == MOSAIC:
            draw_mosaics([*panels], pair)
        else:
            for panel, sample in zip(panels, pair.samples, strict=True):
                _draw_cloud(panel, pair, sample, shown)
    return axes if ax is None else ax


def _draw_cloud(ax: "Axes", pair: TwoColumns, sample: Sample, points: int) -> None:
    """The ranks of two columns in the unit square, without a family's contours."""
    names = pair.columns[0].name, pair.columns[1].name
    ranked = RankedPair(*sample.values, names=names)
    varies = sample.n > 1 and all(np.ptp(values) > 0.0 for values in sample.values)
    tau = ranked.tau if varies else math.nan
    nothing = np.empty(0)
    side = Side(sample.whose, tau, None, sample.counted, nothing, nothing, sample.counted, ())
    if varies:
        chosen = evenly_spaced(sample.n, points)
        u, v = (column[chosen] for column in pseudo_values(ranked))
        tails = sample_tails(ranked, [CORNERS[name] for name in along(tau)], TAIL_SHARE)
        side = replace(side, u=u, v=v, tails=tails)
    draw_side(ax, side, sample.color, names, ranked=True)
    if not varies:
        look.title_above(ax, f"{sample.whose}: does not vary\n{sample.counted}")
    elif chosen.size < sample.n:
        look.note_below(ax, f"{chosen.size:,} of {sample.n:,} {sample.things} shown")
    for axis, column, values in zip((ax.xaxis, ax.yaxis), pair.columns, sample.values, strict=True):
        if column.kind == DATE and values.size:
            # ranks, as for every column, but a reader knows dates
            days = np.quantile(values, (0.0, 0.5, 1.0), method="lower")
            written = [day(one) for one in days]
            if look.square_width(ax) < _ROOM_FOR_DATES:
                written[1] = ""
            axis.set_ticks([0.0, 0.5, 1.0], written, fontsize="x-small")
            upright = axis is ax.yaxis
            for label, place in zip(axis.get_ticklabels(), ("left", "center", "right"), strict=True):
                if upright:  # beside the axis there is little room
                    label.set(rotation=90, va={"left": "bottom", "right": "top"}.get(place, place))
                else:
                    label.set(ha=place)
