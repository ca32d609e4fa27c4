"""The total gap after the first draws, after more, and after all: are there enough?"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import whole_number
from copula_discrepancy.estimate.fit import Fit, fit_pair
from copula_discrepancy.estimate.gaps import gap_estimates, tested_level
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.uncertainty import FEWEST_DRAWS
from copula_discrepancy.report.plots.look import BLUE, ORANGE, canvas, ink, legend_above
from copula_discrepancy.report.plots.subjects import is_discrepancy, wrong_subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from copula_discrepancy.compare.one_result import Discrepancy

_FEWEST = 50  # draws to begin with: before, the intervals are wider than the picture


@dataclass(frozen=True)
class RunningGaps:
    """Gaps of the first draws of every chain, by their number; NaN where these draws have no answer.

    Attributes
    ----------
    draws : array of int
        How many draws, all chains together.
    total, se, low, high : array
        The total gap, its standard error and its interval, without the latter two where the fit ends on a bound.
    level : array
        The gap in Kendall's tau alone.
    """

    draws: NDArray[np.int64]
    total: NDArray[np.float64]
    se: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    level: NDArray[np.float64]

    def to_dict(self) -> dict[str, list[float]]:
        """Every number."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}


def running_gaps(result: "Discrepancy", sizes: int = 20) -> RunningGaps:
    """The gaps of the first k draws of every chain, for `sizes` values of k, from some 50 draws to all.

    Every part is ranked and fitted anew and has its own long-run standard error, as if the sampler had stopped there; the last
    one is `result` itself, before any bootstrap. A reference sample is taken whole.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> from copula_discrepancy.report.plots.traces import running_gaps
    >>> result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5))
    >>> found = running_gaps(result, sizes=3)
    >>> found.draws.tolist(), bool(found.total[-1] == result.total.value)
    ([50, 158, 500], True)
    """
    pair = result.fit.pair
    length = pair.n // pair.n_chains
    first = min(max(1 if result.iid else FEWEST_DRAWS, math.ceil(_FEWEST / pair.n_chains)), length)
    steps = np.unique(np.round(np.geomspace(first, length, whole_number(sizes, "sizes", 1))).astype(np.int64))
    steps[-1] = length
    fits = [_first_draws(result, int(k)) for k in steps[:-1]] + [result.fit]
    total, se, low, high, level = np.array([_gaps(result, fitted) for fitted in fits]).T
    return RunningGaps(steps * pair.n_chains, total, se, low, high, level)


def _gaps(result: "Discrepancy", fitted: Fit | None) -> tuple[float, ...]:
    """The total gap, its standard error and its interval, and the level."""
    if fitted is None:
        return (math.nan,) * 5
    tested = tested_level(fitted, result.tau_target, result.reference)
    found = gap_estimates(fitted, result.tau_target, result.reference, tested, result.total.confidence)
    total = found["total"]
    return total.value, total.se, *total.ci, found["level"].value


def _first_draws(result: "Discrepancy", k: int) -> Fit | None:
    """The fit to the first k draws of every chain; None where a variable does not vary in them."""
    pair = result.fit.pair
    x, y = (np.ascontiguousarray(pair.by_chain(column)[:, :k]).reshape(-1) for column in (pair.x, pair.y))
    part = RankedPair(x, y, pair.uniform, pair.n_chains, pair.names)
    if not (part.first.varies and part.second.varies):
        return None
    _ = part.concordance  # as in `discrepancy`: tau is their mean, to the last digit
    return fit_pair(part, result.target, method=result.method, estimate_df=result.fit.df_estimated, iid=result.iid)


def plot_trace(result: "Discrepancy", *, ax: Any = None, sizes: int = 20, running: RunningGaps | None = None) -> "Axes":
    """Draw the total gap with its interval over the number of draws: what the answer would have been, had the sampler stopped.

    The Copula Discrepancy is the size of this gap; with its sign, the interval tells whether 0 is inside. A band that has
    become narrow, around a line that has become level, says that there are enough draws; a line that still climbs says that
    there are not, however narrow the band.

    Parameters
    ----------
    result : Discrepancy
        What `discrepancy` gave.
    ax : Axes, optional
        Where to draw, in the look it has; by default a new figure.
    sizes : int
        At how many numbers of draws, evenly spaced on a logarithmic scale.
    running : RunningGaps, optional
        What `running_gaps` gave, where it is there already.

    Returns
    -------
    Axes
        What was drawn into.

    Raises
    ------
    InputError
        For anything but a Discrepancy.

    See Also
    --------
    plot_tau_forest : Chain by chain instead of draw by draw.

    Notes
    -----
    The first draws of every chain are ranked and fitted anew each time. Where they do not vary there is a gap in the line, and
    where they are perfectly dependent, or the fit ends on a bound of its family, a hollow mark without an interval.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import copula_discrepancy as cd
    >>> result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5))
    >>> ax = cd.plot_trace(result, ax=Figure().subplots())
    >>> ax.get_ylabel()
    'total gap (CD is its size)'
    """
    if not is_discrepancy(result):
        raise wrong_subject("plot_trace", "a Discrepancy", result)
    found = running_gaps(result, sizes) if running is None else running
    with canvas(ax, size=(5.2, 3.1)) as axes:
        known = np.isfinite(found.se)
        line = np.where(known, found.total, math.nan)
        axes.axhline(0.0, color=ink(), linewidth=0.8, zorder=1)
        handles: dict[str, Any] = {}
        if known.any():
            band = axes.fill_between(found.draws, found.low, found.high, color=BLUE, alpha=0.22, linewidth=0)
            (handles["total"],) = axes.plot(found.draws, line, "-o", color=BLUE, markersize=3.5)
            handles[f"{100 * result.total.confidence:g}% interval"] = band
        if not known.all():
            hollow: dict[str, Any] = {
                "linestyle": "none",
                "markerfacecolor": axes.get_facecolor(),
                "markersize": 3.5,
                "color": BLUE,
            }
            (handles["no interval"],) = axes.plot(found.draws[~known], found.total[~known], marker="o", **hollow)
        if result.method != "moment":  # by moments, total is level
            (handles["level"],) = axes.plot(found.draws, found.level, "--", color=ORANGE, linewidth=1.0)
        _scale(axes, found)
        whose = "draws of all chains" if result.fit.pair.n_chains > 1 else result.things
        axes.set_xlabel(f"{whose}\n{_last_words(found)}", fontsize="small")
        axes.set_ylabel("total gap (CD is its size)", fontsize="small")
        legend_above(axes, handles)
    return axes


def _last_words(found: RunningGaps) -> str:
    """The answer after all draws."""
    value = f"{found.total[-1]:+.3f}".replace("-", "\N{MINUS SIGN}")
    sure = f"se {found.se[-1]:.2g}" if math.isfinite(found.se[-1]) else "no standard error"
    return f"after all {found.draws[-1]:,}: {value}, {sure}"


def _scale(ax: "Axes", found: RunningGaps) -> None:
    """Numbers of draws on a logarithmic scale, a few round ones written out; heights that early intervals do not set."""
    from matplotlib.ticker import NullFormatter, NullLocator

    low, high = int(found.draws[0]), int(found.draws[-1])
    if high >= 4 * low:
        ax.set_xscale("log")
        ax.set_xlim(low / (high / low) ** 0.03, high * (high / low) ** 0.05)
        decades = math.log10(high / low)
        digits = (1,) if decades >= 2.5 else (1, 3) if decades >= 1.5 else (1, 2, 5)
        ticks = [digit * 10**power for power in range(13) for digit in digits if low <= digit * 10**power <= high]
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())
    late = found.draws >= math.sqrt(low * high)  # the later half of the picture
    heights = np.concatenate([found.total, found.level, found.low[late], found.high[late], [0.0]])
    heights = heights[np.isfinite(heights)]
    margin = 0.12 * (float(np.ptp(heights)) or 0.1)
    ax.set_ylim(float(heights.min()) - margin, float(heights.max()) + margin)
