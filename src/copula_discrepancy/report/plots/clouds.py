"""A pair of variables as a cloud in the unit square, next to its target."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import RandomSource, random_generator, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.estimate.counted_pair import CountedPair
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.likelihood import student_part
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.ranks import TAIL_SHARE
from copula_discrepancy.estimate.tails import CORNERS, Corner, along, part_name, sample_shares
from copula_discrepancy.families import Copula
from copula_discrepancy.report.plots import look
from copula_discrepancy.report.plots.densities import misfit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Marks = NDArray[np.bool_] | None
MISFIT = "grey: the family does not fit"
_GRID = 121  # points per side: the ridge of a copula with tau 0.98 is still wider than one step
_EDGE = 0.004  # densities are infinite in corners; contours end this far from them
_STEPS = (1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)  # ratios of adjacent contours that are easy to read
_MOST_CONTOURS = 6
_LOWEST = 0.25  # densities below it are negligible and have no contour
_NARROW = 110.0  # points: two panels side by side in one column of a journal are narrower
_SIGN = 0.55  # width of a character, in font sizes
_INKED = 0.25  # share of a panel that all marks together may cover, without their overlap
_DIVERGENT_MARK = 14.0  # square points
_MANY_DIVERGENT = 0.25  # of the draws shown: as many large marks with edges hide the cloud
_LARGEST_MARK = 60.0  # square points: a point that many draws share, in a lattice of discrete values


@dataclass(frozen=True)
class Tail:
    """A corner of the unit square, the shares of both variables in its tails, and the joint share of the first one's."""

    corner: Corner
    u_share: float
    v_share: float
    joint: float


@dataclass(frozen=True)
class Tested:
    """What a comparison adds to a fit: the noun for observations, the size of a tail, the corners with a gap, and misfits.

    `misfits` tells whether the family fitted to the draws, and that fitted to the reference, clearly does not fit; `diverging`
    which draws of both diverged, (chain, draw), if that is known.
    """

    things: str = "draws"
    tail: float = TAIL_SHARE
    off_corners: tuple[str, ...] = ()
    misfits: tuple[bool, bool] = (False, False)
    diverging: tuple[Marks, Marks] = (None, None)

    @classmethod
    def of(cls, result: Discrepancy | Fit) -> "Tested":
        """The values of a comparison; for a fit alone, nothing was tested."""
        if isinstance(result, Fit):
            return cls()
        tests, form, other = result.tests, result.form, result.reference
        # against a known copula, a gap in shape or form is one of its family; a reference need not be of the family either
        off = other is None and (tests.beyond("shape") or tests.form_counts)
        own = off or misfit(form.coefficients, form.errors, _density_of(result.fit), tests.alpha)
        target = None if other is None else _density_of(other)
        theirs = misfit(form.target_coefficients, form.target_errors, target, tests.alpha)
        return cls(result.things, result.tail, tuple(tests.off_corners), (own, theirs), result.diverging)


@dataclass(frozen=True)
class Side:
    """One panel: points, the copula whose contours are drawn over them, and text."""

    whose: str
    tau: float
    copula: Copula | None
    described: str
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    counted: str
    tails: tuple[Tail, ...]
    tail: float = TAIL_SHARE
    fits: bool = True
    divergent: tuple[NDArray[np.float64], NDArray[np.float64]] = field(default_factory=lambda: (np.empty(0), np.empty(0)))


def plot_pair(
    result: Discrepancy | Fit, *, ax: Any = None, points: int = 2000, rng: RandomSource = 1
) -> "NDArray[Any] | Axes | Any":
    """Draw two variables as ranks in the unit square, the draws next to the target, the reference or the fitted copula.

    Lines are contours of the density of the family fitted to the draws, and of the target; both panels have the same levels.
    The squares at the two ends of the dependence, and in every corner with a gap, are the lowest and the highest tenth of both
    variables (or the `tail` of the comparison); the text next to them is the share of the draws in that part of the first
    variable that lie inside. These shares are computed from all draws, and for a known target exactly. Contours of a family
    that clearly does not fit its draws are grey, with a note. Draws that the sampler reports as divergent are all shown, on top
    of the others in a colour of their own, with small marks if they are many; see `Draws.diverging`.

    Parameters
    ----------
    result : Discrepancy or Fit
        A result of `discrepancy` or `fit`.
    ax : Axes or two Axes, optional
        Axes to draw into, with their current style; a single one shows the draws, with the target's contours dashed. By default
        a new figure with two panels.
    points : int
        Largest number of draws shown in each panel, evenly spaced among all.
    rng : int, Generator, SeedSequence or None
        Seed or source of randomness of the simulated cloud of a known target or a fitted copula.

    Returns
    -------
    array of two Axes
        The panels of the draws and of the target; or the `ax` that was passed.

    Raises
    ------
    InputError
        For anything but a Discrepancy or a Fit, or a wrong number of Axes.

    See Also
    --------
    Discrepancy.plot : Every gap with its interval.

    Notes
    -----
    Perfectly dependent draws have no density, so there are no contours; the size of a mark grows with the draws that share it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import copula_discrepancy as cd
    >>> result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5))
    >>> axes = Figure(figsize=(7, 4), layout="constrained").subplots(1, 2)
    >>> draws, target = cd.plot_pair(result, ax=axes)
    >>> print(target.get_title(loc="left"))
    target: tau 0.60
    Gumbel(2.5)
    """
    if not isinstance(result, Discrepancy | Fit):
        raise look.wrong_subject("plot_pair", "a Discrepancy or a Fit", result)
    return draw_pair(result, Tested.of(result), ax=ax, points=points, rng=rng)


def draw_pair(result: Discrepancy | Fit, tested: Tested, *, ax: Any, points: int = 2000, rng: RandomSource) -> Any:
    """Draw the panels of `plot_pair`."""
    shown = whole_number(points, "points", 1)
    source = random_generator(rng)
    panels = 2 if ax is None else len(look.as_axes(ax, 1, 2))
    fitted = result if isinstance(result, Fit) else result.fit
    own, other = _sides(result, tested, shown, source)
    sides = [replace(own, fits=not tested.misfits[0]), replace(other, fits=not tested.misfits[1])]
    densities = [_log_density(side.copula) for side in sides]
    levels = contour_levels([density for density in densities if density is not None])
    with look.canvas(ax, size=(6.4, 3.9), panels=panels) as axes:
        for panel, side, density, color in zip(np.atleast_1d(axes), sides, densities, (look.BLUE, look.ORANGE), strict=False):
            draw_side(panel, side, color, fitted.pair.names, ranked=not fitted.pair.uniform)
            drawn = _draw_contours(panel, density, levels, color=_line_colour(side))
            note = _contours_note(density, levels) if side.fits or not drawn else MISFIT
            look.note_below(panel, side.counted, note, key=_divergent_key(side))
        if panels == 1 and not isinstance(result, Fit):  # a fit has its contours already
            _overlay(axes, sides, densities, levels)
        elif panels == 2 and axes[0].figure is axes[1].figure:
            axes[1].set_ylabel("")  # the same as in the left panel
    return axes if ax is None else ax


def tail_shares(result: Discrepancy | Fit, tested: Tested) -> dict[str, dict[str, float]]:
    """The shares that `plot_pair` writes next to the corners, of the draws and of the panel next to them."""
    sides = _sides(result, tested, 1, random_generator(0))
    return {side.whose: {tail.corner.label: tail.joint for tail in side.tails} for side in sides}


# ---- panels --------------------------------------------------------------------------------------------------------


def _sides(result: Discrepancy | Fit, tested: Tested, points: int, source: np.random.Generator) -> list[Side]:
    """The draws, and their target."""
    fitted, aim = (result, 0.0) if isinstance(result, Fit) else (result.fit, result.tau_target)
    names = dict.fromkeys((*along(fitted.sample_tau, aim), *tested.off_corners))
    ends, things = [CORNERS[name] for name in names], tested.things
    return [
        _sample_side(things, fitted, ends, tested, points, tested.diverging[0]),
        _aim_side(result, ends, tested, points, source),
    ]


def _sample_side(whose: str, fitted: Fit, ends: Sequence[Corner], tested: Tested, points: int, diverging: Marks) -> Side:
    """Draws and the copula fitted to them."""
    tail, things = tested.tail, tested.things
    pair = fitted.pair
    u, v = _shown(pair, points)
    owned = things if whose == things else f"{whose} {things}"
    counted = f"{u.size:,} of {pair.n:,} {owned}" if u.size < pair.n else f"{pair.n:,} {owned}"
    copula = _density_of(fitted)
    described = f"fitted {_told(copula)}" if copula is not None else f"{fitted.family} has no density here"
    side = Side(whose, fitted.sample_tau, copula, described, u, v, counted, sample_tails(pair, ends, tail), tail)
    if diverging is None:
        return side
    marked = np.flatnonzero(diverging)
    u, v = (column[marked] for column in pseudo_values(pair))
    return replace(side, divergent=(u, v))


def _aim_side(
    result: Discrepancy | Fit, ends: Sequence[Corner], tested: Tested, points: int, source: np.random.Generator
) -> Side:
    """The target of the draws: the reference's draws, or as many simulated ones."""
    tail, things = tested.tail, tested.things
    if not isinstance(result, Fit) and result.reference is not None:
        return _sample_side("reference", result.reference, ends, tested, points, tested.diverging[1])
    fitted = result if isinstance(result, Fit) else result.fit
    copula = _density_of(result) if isinstance(result, Fit) else result.target
    whose = "fitted copula" if isinstance(result, Fit) else "target"
    if copula is None:
        nothing = np.empty(0)
        return Side(whose, fitted.tau, None, "perfect dependence", nothing, nothing, "nothing to simulate", ())
    size = min(fitted.n, points)
    u, v = copula.sample(size, rng=source).T
    tails = tuple(
        Tail(end.corner, end.u_share, end.v_share, end.corner.probability(copula, end.u_share, end.v_share) / end.u_share)
        for end in sample_tails(fitted.pair, ends, tail)
    )
    return Side(whose, copula.tau, copula, _told(copula), u, v, f"{size:,} simulated {things}", tails, tail)


def _shown(pair: RankedPair, points: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most `points` draws in the unit square; of rows that were counted, as many points in proportion to the counts."""
    if isinstance(pair, CountedPair):
        return pair.spread_points(points)
    chosen = evenly_spaced(pair.n, points)
    u, v = (column[chosen] for column in pseudo_values(pair))
    return u, v


def evenly_spaced(n: int, points: int) -> NDArray[np.int64]:
    """Positions of at most `points` of n draws."""
    size = min(n, points)
    return np.arange(size) * n // size


def pseudo_values(pair: RankedPair) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both variables in the unit square: mid-ranks over n + 1, or the values of known uniform margins."""
    if pair.uniform:
        return pair.x, pair.y
    size = 2.0 * (pair.n + 1)
    return pair.first.doubled_mid_ranks / size, pair.second.doubled_mid_ranks / size


def sample_tails(pair: RankedPair, ends: Sequence[Corner], tail: float) -> tuple[Tail, ...]:
    """The corners that contain draws of both variables; if values are few, a tail may be empty."""
    tails = []
    for corner in ends:
        u, v, joint = sample_shares(pair, corner, tail)
        if u > 0.0 and v > 0.0:
            tails.append(Tail(corner, u, v, joint / u))
    return tuple(tails)


def _density_of(fitted: Fit) -> Copula | None:
    try:
        return fitted.copula
    except InputError:  # perfect dependence
        return None


def _told(copula: Copula) -> str:
    """A copula as Python code: Gumbel(2.5), StudentT(0.53, 4)."""
    inner = student_part(copula)
    df = f", {inner.df:.3g}" if inner is not None else ""
    return f"{copula.name}({copula.theta:.3g}{df})"


# ---- contours ------------------------------------------------------------------------------------------------------


def _grid() -> NDArray[np.float64]:
    """Grid points from edge to edge, dense near the corners, where densities are steep."""
    return _EDGE + (1.0 - 2.0 * _EDGE) * np.sin(0.5 * math.pi * np.linspace(0.0, 1.0, _GRID)) ** 2


def _log_density(copula: Copula | None) -> NDArray[np.float64] | None:
    if copula is None:
        return None
    grid = _grid()
    return np.asarray(copula.logpdf(grid[None, :], grid[:, None]), dtype=np.float64)


def contour_levels(densities: Sequence[NDArray[np.float64]]) -> list[float]:
    """Densities to draw contours at, powers of one ratio around 1 (independence), the same for all panels.

    They range from a quarter, or the lowest that occurs, to the value that one in a hundred cells exceeds, beyond which there
    are only the corners; the ratio is the smallest that limits their number.
    """
    if not densities:
        return []
    low = max(min(float(density.min()) for density in densities), math.log(_LOWEST))
    high = max(float(np.quantile(density, 0.99)) for density in densities)
    for ratio in _STEPS:
        first, last = math.ceil(low / math.log(ratio)), math.floor(high / math.log(ratio))
        if last - first < _MOST_CONTOURS:
            return [ratio**k for k in range(first, last + 1)] or [1.0]
    return [1.0]


def _line_colour(side: Side) -> str:
    """Contours of a family that does not fit are pale."""
    return look.ink() if side.fits else look.PALE


def _draw_contours(
    ax: "Axes", density: NDArray[np.float64] | None, levels: Sequence[float], style: str = "solid", *, color: str
) -> bool:
    """Draw contours at the levels that occur; return whether there are any."""
    if density is None:
        return False
    inside = [math.log(level) for level in levels if density.min() < math.log(level) < density.max()]
    if inside:
        grid = _grid()
        ax.contour(grid, grid, density, levels=inside, colors=color, linewidths=0.7, linestyles=style, zorder=3)
    return bool(inside)


def _contours_note(density: NDArray[np.float64] | None, levels: Sequence[float]) -> str:
    """A description of the lines, short enough to fit below a small panel."""
    if density is None:
        return "no contours: perfect dependence"
    if density.max() - density.min() < 1e-9:
        return "no contours: independence"
    if len(levels) == 1:
        return f"density contour at {levels[0]:.2g}"
    return f"density contours {levels[0]:.2g} to {levels[-1]:.2g}, \N{MULTIPLICATION SIGN}{levels[1] / levels[0]:g}"


def _overlay(
    ax: "Axes", sides: Sequence[Side], densities: Sequence[NDArray[np.float64] | None], levels: Sequence[float]
) -> None:
    """The target's contours, dashed over those of the draws, with a legend."""
    from matplotlib.lines import Line2D

    colours = [_line_colour(side) for side in sides]
    _draw_contours(ax, densities[1], levels, "dashed", color=colours[1])
    look.title_above(ax, "")
    styles: tuple[Any, ...] = ("solid" if sides[0].copula is not None else "none", "dashed")
    lines = [Line2D([], [], color=c, linewidth=0.7, linestyle=style) for c, style in zip(colours, styles, strict=True)]
    names = [f"{side.whose}: tau {side.tau:.2f}, {side.described}" for side in sides]
    ax.legend(
        lines, names, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, borderpad=0.0, fontsize="small",
        frameon=False,
    )  # fmt: skip


# ---- a panel -------------------------------------------------------------------------------------------------------


def draw_side(ax: "Axes", side: Side, color: str, names: tuple[str, str], *, ranked: bool) -> None:
    """Points, tail squares and text, without contours."""
    _draw_points(ax, side.u, side.v, color)
    _draw_divergent(ax, side)
    for tail in side.tails:
        _draw_tail(ax, tail, part_name(side.tail), raised=_crowded(ax, tail, side))
    look.unit_square(ax, names, ranked=ranked)
    size = "small" if look.square_width(ax) > _NARROW else "x-small"
    look.title_above(ax, f"{side.whose}: tau {side.tau:.2f}\n{side.described}", size)


def _draw_points(ax: "Axes", u: NDArray[np.float64], v: NDArray[np.float64], color: str) -> None:
    """One mark per point, sized by the draws that share it; together they cover the same fraction of any panel."""
    if not u.size:
        return
    places, counts = np.unique(np.stack([u, v], axis=1), axis=0, return_counts=True)
    shared = float(np.quantile(counts, 0.9))  # a point with a stuck chain must not make all other marks tiny
    area = min(_mark_area(ax, u.size), _LARGEST_MARK / shared)
    opacity = min(0.85, max(0.5, 8.0 / math.sqrt(u.size)))
    sizes = np.minimum(area * counts, 2.0 * _LARGEST_MARK)
    ax.scatter(places[:, 0], places[:, 1], s=sizes, color=color, alpha=opacity, linewidths=0, rasterized=True, zorder=2)


def _mark_area(ax: "Axes", count: int) -> float:
    """Square points of one of so many marks."""
    return min(max(_INKED * look.square_width(ax) ** 2 / count, 1.2), 12.0)


def _draw_divergent(ax: "Axes", side: Side) -> None:
    """Divergent draws on top of the others: large, so that a few are seen among thousands, or as small as these if many."""
    count = side.divergent[0].size
    if not count:
        return
    if count <= _MANY_DIVERGENT * side.u.size:
        ax.scatter(*side.divergent, s=_DIVERGENT_MARK, color=look.PURPLE, edgecolors=look.ink(), linewidths=0.4, zorder=3.5)
        return
    area = _mark_area(ax, max(count, side.u.size))  # opaque: purple through which blue is seen is hardly another colour
    ax.scatter(*side.divergent, s=area, color=look.PURPLE, linewidths=0, rasterized=True, zorder=2.5)


def _divergent_key(side: Side) -> tuple[str, str] | None:
    """The colour of divergent draws and their number, for the text below a panel."""
    count = side.divergent[0].size
    return (look.PURPLE, f"{count:,} divergent") if count else None


def _crowded(ax: "Axes", tail: Tail, side: Side) -> bool:
    """Whether the text of a square on the right overlaps that of the square on the left at the same height."""
    if not tail.corner.u_high:
        return False
    beside = [other for other in side.tails if not other.corner.u_high and other.corner.v_high == tail.corner.v_high]
    signs = sum(len(_share_words(one, part_name(side.tail))) + 1 for one in (tail, *beside))
    room = look.square_width(ax) * (1.0 - tail.u_share - sum(other.u_share for other in beside) - 0.04)
    return bool(beside) and _SIGN * look.text_size(look.X_SMALL) * signs > room


def _share_words(tail: Tail, part: str) -> str:
    return f"{100 * tail.joint:.0f}% of {'highest' if tail.corner.u_high else 'lowest'} {part}"


def _draw_tail(ax: "Axes", tail: Tail, part: str, *, raised: bool) -> None:
    """The square with both tails, and the share of the first variable's tail inside: next to it, or above or below it."""
    from matplotlib.patches import Rectangle

    u_high, v_high = tail.corner.u_high, tail.corner.v_high
    corner = (1.0 - tail.u_share if u_high else 0.0, 1.0 - tail.v_share if v_high else 0.0)
    square = Rectangle(
        corner, tail.u_share, tail.v_share, facecolor="none", edgecolor=look.ink(), linewidth=1.2, zorder=4, clip_on=False
    )
    ax.add_patch(square)
    place = (1.0 - tail.u_share - 0.02 if u_high else tail.u_share + 0.02, 0.985 if v_high else 0.015)
    if raised:
        place = (0.985, 1.0 - tail.v_share - 0.02 if v_high else tail.v_share + 0.02)
    ax.text(
        *place, _share_words(tail, part), fontsize="x-small", ha="right" if u_high else "left",
        va="top" if v_high else "bottom", zorder=5,
        bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.7, "pad": 0.6}, **look.PLAIN,
    )  # fmt: skip
