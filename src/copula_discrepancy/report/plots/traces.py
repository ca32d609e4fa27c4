"""Trace plots: the total gap as a function of the number of draws, to see whether there are enough."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.influence import theta_score
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.standard_error import FEWEST_DRAWS, StandardError
from copula_discrepancy.estimate.uncertainty import Estimate
from copula_discrepancy.report.plots.look import BLUE, ORANGE, canvas, ink, legend_above, wrong_subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_FEWEST = 50  # draws to start with: with fewer, the intervals are wider than the plot


@dataclass(frozen=True)
class RunningGaps:
    """Gaps of the first draws of every chain, by their number; NaN if they have no result.

    Attributes
    ----------
    draws : array of int
        Number of draws, all chains together.
    total, se, low, high : array
        The total gap, its standard error and its interval; the latter two are NaN if the fit is at a bound.
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
        """Every number by name."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}


def running_gaps(result: Discrepancy, sizes: int = 20) -> RunningGaps:
    """The gaps of the first k draws of every chain, for `sizes` values of k, from about 50 draws to all.

    Nothing is fitted again. The first draws are ranked among themselves, so their level is exact. Their fitted tau is one step
    of Fisher scoring from the fit to all draws, tau + (d tau / d theta) * (mean score / information), which agrees to first
    order with a separate fit (Le Cam, 1956); a step beyond the family's range of tau ends at its bound, without an interval.
    The last gap is `result.total`. A reference sample is always used in full.

    References
    ----------
    Le Cam, L. (1956). On the asymptotic theory of estimation and testing hypotheses. Proceedings of the Third Berkeley
    Symposium 1, 129-156.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> from copula_discrepancy.report.plots.traces import running_gaps
    >>> result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5))
    >>> running = running_gaps(result, sizes=3)
    >>> running.draws.tolist(), bool(running.total[-1] == result.total.value)
    ([50, 158, 500], True)
    """
    pair = result.fit.pair
    if pair.weights is not None:
        raise InputError("rows that were counted have no order, so there is no running gap; use rows in memory")
    length = pair.n // pair.n_chains
    first = min(max(1 if result.iid else FEWEST_DRAWS, math.ceil(_FEWEST / pair.n_chains)), length)
    steps = np.unique(np.round(np.geomspace(first, length, whole_number(sizes, "sizes", 1))).astype(np.int64))
    steps[-1] = length
    scoring = _Scoring.of(result.fit)
    gaps = [_first_draws(result, int(k), scoring) for k in steps[:-1]]
    gaps.append((result.total.value, result.total.se, *result.total.ci, result.level.value))
    return RunningGaps(steps * pair.n_chains, *np.array(gaps).T)


def _first_draws(result: Discrepancy, k: int, scoring: "_Scoring") -> tuple[float, ...]:
    """The total gap of the first k draws of every chain, its standard error and interval, and their level."""
    fitted, pair, total = result.fit, result.fit.pair, result.total
    x, y = (np.ascontiguousarray(pair.by_chain(column)[:, :k]).reshape(-1) for column in (pair.x, pair.y))
    part = RankedPair(x, y, pair.uniform, pair.n_chains, pair.names)
    if not (part.first.varies and part.second.varies):
        return (math.nan,) * 5
    theta, tau = scoring.step(part)
    level, value = part.tau - result.tau_target, total.value + tau - result.tau_fitted
    if math.isnan(theta) or math.isnan(total.se):
        return value, math.nan, math.nan, math.nan, level
    own = replace(fitted, pair=part, n=part.n, theta=theta, tau=tau, block=None)
    spread = StandardError.of(own.influence["tau_fitted"], iid=result.iid).times(scoring.widening)
    if result.reference is not None:
        spread = spread.plus(result.reference.spreads["tau_fitted"])
    else:
        spread = scoring.with_ties(spread, total.se)
    bias = total.bias + fitted.tau_bias * (fitted.n / part.n - 1.0)  # the bias of ranks is of order 1/n
    limits = (-1.0 - result.tau_target, 1.0 - result.tau_target) if result.reference is None else (-2.0, 2.0)
    gap = Estimate.of(value, spread, bias=bias, tested=False, limits=limits, confidence=total.confidence)
    return value, gap.se, *gap.ci, level


@dataclass(frozen=True)
class _Scoring:
    """One step of Fisher scoring from a fit to all draws; NaN if that is not at a maximum.

    `slope` is d tau / d theta; `widening` is the standard error of the fitted tau over that of its influence values alone; what
    ties may do is in the error of the result, and does not fall with the number of draws.
    """

    fitted: Fit
    information: float
    slope: float
    widening: float

    @classmethod
    def of(cls, fitted: Fit) -> "_Scoring":
        if fitted.method == "moment" or not fitted.regular:
            return cls(fitted, math.nan, math.nan, 1.0)
        *_, curvature = theta_score(fitted.pair, fitted.copula)
        theta, tau = fitted.influence["theta"], fitted.influence["tau_fitted"]  # proportional to each other
        widening = fitted.spreads["tau_fitted"].se / StandardError.of(tau, iid=fitted.iid).se
        return cls(fitted, -curvature / fitted.n, float(np.vdot(theta, tau) / np.vdot(theta, theta)), widening)

    def with_ties(self, spread: StandardError, se: float) -> StandardError:
        """The standard error of fewer draws with what that of all draws, `se`, has beyond the sampling error of the fit."""
        of_ties = ties.beyond(se, self.fitted.spreads["tau_fitted"].se)
        return spread.plus(StandardError(of_ties, math.inf, math.inf)) if of_ties else spread

    def step(self, part: RankedPair) -> tuple[float, float]:
        """Theta and tau of the family for some of the draws; theta is NaN if it has no normal limit."""
        fitted, perfect = self.fitted, abs(part.tau) == 1.0
        if fitted.method == "moment":
            return math.nan if perfect else fitted.theta, part.tau
        if math.isnan(self.information):
            return math.nan, fitted.tau  # at a bound, where no draw has an influence
        low, high = fitted.template.tau_range
        if perfect:
            return math.nan, min(max(part.tau, low), high)
        score, *_ = theta_score(part, fitted.copula)
        change, domain = float(np.mean(score)) / self.information, fitted.template.parameter
        theta, tau = fitted.theta + change, fitted.tau + self.slope * change
        inside = domain.lower < theta < domain.upper and low < tau < high
        return theta if inside else math.nan, min(max(tau, low), high)


def plot_trace(result: Discrepancy, *, ax: Any = None, sizes: int = 20, running: RunningGaps | None = None) -> "Axes":
    """Draw the total gap and its interval against the number of draws, as if the sampler had stopped earlier.

    The Copula Discrepancy is the absolute value of this gap. A narrow band around a line that has levelled off means that there
    are enough draws; a line that still changes means that there are not, even if the band is narrow.

    Parameters
    ----------
    result : Discrepancy
        A result of `discrepancy`.
    ax : Axes, optional
        Axes to draw into, with their current style; by default a new figure.
    sizes : int
        The number of points, evenly spaced on a logarithmic scale.
    running : RunningGaps, optional
        The result of `running_gaps`, if it is already computed.

    Returns
    -------
    Axes
        The axes drawn into.

    Raises
    ------
    InputError
        For anything but a Discrepancy.

    See Also
    --------
    plot_tau_forest : Chain by chain instead of draw by draw.

    Notes
    -----
    The first draws of every chain are ranked among themselves, and their fit is one scoring step from the fit to all draws; the
    last point is the result itself. If the first draws do not vary, the line is broken. If they are perfectly dependent, or the
    step ends at a bound of the family, the mark is hollow and has no interval.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import copula_discrepancy as cd
    >>> result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5))
    >>> ax = cd.plot_trace(result, ax=Figure().subplots())
    >>> ax.get_ylabel()
    'total gap (CD is its size)'
    """
    if not isinstance(result, Discrepancy):
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
        if result.method != "moment":  # with moments total equals level
            (handles["level"],) = axes.plot(found.draws, found.level, "--", color=ORANGE, linewidth=1.0)
        _scale(axes, found)
        whose = "draws of all chains" if result.fit.pair.n_chains > 1 else result.things
        axes.set_xlabel(f"{whose}\n{_last_words(found)}", fontsize="small")
        axes.set_ylabel("total gap (CD is its size)", fontsize="small")
        legend_above(axes, handles)
    return axes


def _last_words(running: RunningGaps) -> str:
    """The result after all draws."""
    value = f"{running.total[-1]:+.3f}".replace("-", "\N{MINUS SIGN}")
    sure = f"se {running.se[-1]:.2g}" if math.isfinite(running.se[-1]) else "no standard error"
    return f"after all {running.draws[-1]:,}: {value}, {sure}"


def _scale(ax: "Axes", running: RunningGaps) -> None:
    """Logarithmic scale of the number of draws with a few round labels; heights that early intervals do not determine."""
    from matplotlib.ticker import NullFormatter, NullLocator

    low, high = int(running.draws[0]), int(running.draws[-1])
    if high >= 4 * low:
        ax.set_xscale("log")
        ax.set_xlim(low / (high / low) ** 0.03, high * (high / low) ** 0.05)
        decades = math.log10(high / low)
        digits = (1,) if decades >= 2.5 else (1, 3) if decades >= 1.5 else (1, 2, 5)
        ticks = [digit * 10**power for power in range(13) for digit in digits if low <= digit * 10**power <= high]
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())
    late = running.draws >= math.sqrt(low * high)  # the right half of the plot
    heights = np.concatenate([running.total, running.level, running.low[late], running.high[late], [0.0]])
    heights = heights[np.isfinite(heights)]
    margin = 0.12 * (float(np.ptp(heights)) or 0.1)
    ax.set_ylim(float(heights.min()) - margin, float(heights.max()) + margin)
