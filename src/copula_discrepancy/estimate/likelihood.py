"""Maximum likelihood of a copula family in theta, and for the Student t family also in its degrees of freedom."""

import math
from dataclasses import dataclass

import numpy as np

from copula_discrepancy.estimate.grid import extrapolated, extrapolated_with_error
from copula_discrepancy.estimate.pair import Likelihood, RankedPair, sums_of
from copula_discrepancy.families import Copula, Rotated, StudentT
from copula_discrepancy.families.t_distribution import t_quantile_df_slope

# The iteration stops when the estimated error of theta, relative to the family's scale, is below this.
_LAST_ERROR = 1e-12
_ULPS = 4 * 2.0**-53  # a step of a few units in the last place counts as zero
_FOUND_AGAIN = 1e-6  # at a maximum a Newton step is rounding error; elsewhere it is of the order of a standard error
MAX_STEPS = 100
# A start from this many draws lies within a few percent of the maximum and costs a twentieth of a pass over 10**5 draws;
# df is harder to estimate and more expensive to evaluate, so its start uses more draws.
_START_DRAWS = 4096
_DF_START_DRAWS = 16_384
# Theta beyond this is perfect dependence in float64; a likelihood that still increases there has no maximum.
_THETA_CEILING = 1e12
# Search range of the degrees of freedom: below, quantiles of float probabilities overflow; above, a t copula cannot be
# distinguished from the Gaussian one with 10**5 draws (their Kullback-Leibler divergence is below 1e-6).
DF_RANGE = (0.1, 1000.0)


@dataclass(frozen=True)
class Maximum:
    """The maximum of a log-likelihood."""

    theta: float
    log_likelihood: float
    iterations: int
    converged: bool
    on_bound: str | None
    bend: float = 0.0  # half the third derivative over the second: the relative change of the curvature
    tau_error: float = 0.0  # how much the tau of theta may be off because rows were counted in a grid


def maximise(pair: RankedPair, template: Copula, start: float | None = None) -> Maximum:
    """Maximise the likelihood in theta; without a start, a large sample is thinned first to find one."""
    if pair.weights is not None:
        return _maximise_counted(pair, template, start)
    if start is not None:
        return _newton(template, pair.likelihood(template), start)
    small = pair.thinned(_START_DRAWS)
    if small is None:
        start, bend = _moment_start(template, pair.tau), 0.0
    else:
        tau = small.rough_tau() if pair.uniform else pair.tau  # with ranks tau is computed anyway
        # a table for all draws also serves a part of them
        of_some = pair.coordinates(template, pair.thinning(_START_DRAWS)) if pair.keeps_tables else small.coordinates(template)
        rough = _newton(template, sums_of(template, of_some, small.n), _moment_start(template, tau))
        inside = rough.converged and rough.on_bound is None
        start, bend = (rough.theta, rough.bend) if inside else (_moment_start(template, pair.tau), 0.0)
    return _newton(template, pair.likelihood(template), start, bend)


def _maximise_counted(pair: RankedPair, template: Copula, start: float | None) -> Maximum:
    """The maximum from counts in a grid, extrapolated to bins of no width; each grid starts where the coarser one ended."""
    theta, found = _moment_start(template, pair.tau) if start is None else start, []
    for grid in reversed(pair.grids()):
        found.append(_newton(template, grid.likelihood(template), theta))
        theta = found[-1].theta if found[-1].on_bound is None and found[-1].converged else theta
    coarser, coarse, fine = found
    if any(one.on_bound is not None or not one.converged for one in found):
        return fine
    best = extrapolated(fine.theta, coarse.theta)
    if not template.parameter.lower < best < template.parameter.upper:
        best = fine.theta
    _, error = extrapolated_with_error(*(template._tau(one.theta) for one in (fine, coarse, coarser)))
    steps = sum(one.iterations for one in found)
    return Maximum(best, fine.log_likelihood, steps, True, None, fine.bend, math.hypot(float(error), pair.hidden))


def at_maximum(pair: RankedPair, template: Copula, theta: float) -> Maximum:
    """A maximum found before, evaluated in one pass over the draws; not converged if theta is not a maximum."""
    value, slope, curvature = pair.likelihood(template)(theta)
    if pair.weights is not None:  # a maximum that was extrapolated to finer grids is none of this one
        return Maximum(theta, value, 0, True, None)
    converged = curvature < 0 and abs(slope / curvature) <= _FOUND_AGAIN * template._scale(theta)
    return Maximum(theta, value, 0, converged, None)


def _newton(template: Copula, likelihood: Likelihood, start: float, bend: float = 0.0) -> Maximum:
    """Newton's iteration, bracketed by points where the slope of the likelihood has opposite signs.

    Later steps use slope and curvature at two points, and the first one a `bend` known from a part of the draws: each saves a
    pass over all draws.
    """
    parameter = template.parameter
    low, high = parameter.lower, parameter.upper
    low_known = high_known = False  # whether the slope is known to be positive at low, negative at high
    theta = start
    value = math.nan
    last: _Point | None = None
    for iteration in range(1, MAX_STEPS + 1):
        value, slope, curvature = likelihood(theta)
        here = _Point(theta, slope, curvature)
        if slope > 0 or (slope == 0 and curvature >= 0):  # leave a stationary minimum upwards
            low, low_known = theta, True
        else:
            high, high_known = theta, True
        scale = template._scale(theta)
        if curvature < 0:
            step, gain, error, bend = here.step(last, bend, scale)
            if (error <= _LAST_ERROR or abs(step) <= _ULPS * abs(theta)) and low <= theta + step <= high:
                return Maximum(theta + step, value + gain, iteration, True, None, bend)
        else:
            step = _uphill(theta, slope, low, high, scale)
            if slope < 0 and not low_known and parameter.lower_included:
                step = low - theta  # evaluate at the bound itself, once
        target = theta + step
        if target <= low and not low_known and parameter.lower_included:
            edge_value, edge_slope, _ = likelihood(parameter.lower)
            if edge_slope <= 0:
                return Maximum(parameter.lower, edge_value, iteration, True, "lower")
            low_known = True
        if abs(theta) > _THETA_CEILING:
            end = "upper" if theta > 0 else "lower"
            return Maximum(parameter.upper if theta > 0 else parameter.lower, math.inf, iteration, True, end)
        last = here
        theta = _inside(target, theta, low, high, low_known and high_known)
        if theta >= parameter.upper or (theta <= parameter.lower and not parameter.lower_included):
            # no float lies between theta and the open bound: the likelihood increases up to it
            return Maximum(theta, math.inf, iteration, True, "upper" if theta >= parameter.upper else "lower")
    return Maximum(theta, value, MAX_STEPS, False, None)


@dataclass(frozen=True)
class _Point:
    """Slope and curvature of a log-likelihood at theta."""

    theta: float
    slope: float
    curvature: float

    def step(self, other: "_Point | None", bend: float, scale: float) -> tuple[float, float, float, float]:
        """(step to the maximum, gain in value, estimated error of the step relative to scale, bend).

        With a second point the slope is interpolated by the cubic through both, with an error of the order of
        (step * distance)**2; that of Newton's step is of the order of step**2, everything in units of `scale`.
        """
        newton = -self.slope / self.curvature
        c2, c3, error = self.curvature * bend, 0.0, (newton / scale) ** 2
        if other is not None and other.theta != self.theta:
            h = other.theta - self.theta
            a = (other.slope - self.slope - self.curvature * h) / h**2
            b = (other.curvature - self.curvature) / h
            c2, c3 = 3.0 * a - b, (b - 2.0 * a) / h
            error *= min((h / scale) ** 2, 1.0)
        step = newton
        for _ in range(3):
            value = self.slope + step * (self.curvature + step * (c2 + step * c3))
            slope = self.curvature + step * (2.0 * c2 + step * 3.0 * c3)
            if not slope < 0:  # the cubic turns before its root: the root is too far away
                return newton, 0.5 * self.slope * newton, (newton / scale) ** 2, 0.0
            step -= value / slope
        gain = step * (self.slope + step * (self.curvature / 2.0 + step * (c2 / 3.0 + step * c3 / 4.0)))
        return step, gain, error, c2 / self.curvature


def _uphill(theta: float, slope: float, low: float, high: float, scale: float) -> float:
    """A step along the slope where the likelihood is not concave: halfway to a finite bound, otherwise the scale."""
    if slope >= 0:
        return 0.5 * (high - theta) if math.isfinite(high) else scale
    return -0.5 * (theta - low) if math.isfinite(low) else -scale


def _inside(target: float, theta: float, low: float, high: float, bracketed: bool) -> float:
    """The Newton target if it lies inside (low, high) and not too far away, otherwise a point that does."""
    reach = 4.0 * (1.0 + abs(theta))
    if low < target < high and (bracketed or abs(target - theta) <= reach):
        return target
    if target >= high:
        return 0.5 * (theta + high) if math.isfinite(high) else theta + reach
    if target <= low:
        return 0.5 * (theta + low) if math.isfinite(low) else theta - reach
    return theta + math.copysign(reach, target - theta)


def _moment_start(template: Copula, tau: float) -> float:
    """The moment estimate, moved inside the domain if tau is out of range or at a bound."""
    low, high = template.tau_range
    # away from independence, where likelihoods are flat or singular, and from perfect dependence: at 1e-8 the sine of a
    # correlation rounds to 1
    low += 0.02 * (high - low) if low > -1.0 else 1e-7
    high -= 0.02 * (high - low) if high < 1.0 else 1e-7
    return template._theta_from_tau(min(max(tau, low), high))


def student_part(template: Copula) -> StudentT | None:
    """The Student t copula inside a template, rotated or not, if it is one."""
    inner = template.base if isinstance(template, Rotated) else template
    return inner if isinstance(inner, StudentT) else None


def with_df(template: Copula, df: float) -> Copula:
    """A Student t template, rotated or not, with new degrees of freedom."""
    changed = StudentT(template.theta, df)
    return Rotated(changed, template.rotation) if isinstance(template, Rotated) else changed


def estimate_degrees(pair: RankedPair, template: Copula) -> tuple[Copula, str | None]:
    """The template with the df of highest profile likelihood, and the end of the search range if it is at one.

    A large sample is thinned first for an approximate value.
    """
    small = pair.thinned(_DF_START_DRAWS)
    start = _moment_start(template, pair.tau)
    grid = tuple(df for df in _DF_GRID if df >= _smallest_df(pair))
    df, end = _profile_maximum(small or pair, template, grid, start)
    if small is not None:
        # at an end of the range there is no bracket, and the whole grid is searched again
        df, end = _profile_maximum(pair, template, tuple(df * factor for factor in _DF_NEIGHBOURS), start, grid)
    return with_df(template, df), end


def _smallest_df(pair: RankedPair) -> float:
    """A df whose quantiles are finite at every probability: they grow like probability**(-1/df)."""
    if not pair.uniform:
        return DF_RANGE[0]
    least = min(pair.x.min(), pair.y.min(), 1.0 - pair.x.max(), 1.0 - pair.y.max())
    return max(DF_RANGE[0], -math.log10(least) / 300.0)


_DF_GRID = tuple(float(df) for df in np.geomspace(*DF_RANGE, 13))
# The error of the thinned estimate of df is about ten percent; if the maximum lies outside, the whole grid is searched again.
_DF_NEIGHBOURS = (0.75, 1.33)


class NoMaximum(Exception):
    """The likelihood increases without bound; `outcome` is the bound that theta tends to."""

    def __init__(self, outcome: Maximum) -> None:
        super().__init__("the likelihood has no maximum")
        self.outcome = outcome


def _profile_maximum(
    pair: RankedPair, template: Copula, grid: tuple[float, ...], start: float, whole: tuple[float, ...] | None = None
) -> tuple[float, str | None]:
    """The df on the grid with the highest profile likelihood, refined to the nearby root of the profile's slope."""
    from scipy.optimize import brentq, minimize_scalar

    def top(df: float) -> Maximum:
        """The maximum over rho."""
        nonlocal start  # rho hardly changes with df: the last one is the best start
        candidate = with_df(template, df)
        outcome = _newton(candidate, pair.likelihood(candidate), start)
        if outcome.on_bound is not None:
            raise NoMaximum(outcome)
        start = outcome.theta
        return outcome

    def slope(df: float, theta: float) -> float:
        """The profile's slope at theta, the maximum over rho, where it equals the partial derivative."""
        candidate = with_df(template, df)
        x, y, x_slope, y_slope = pair.coordinates_and(candidate, lambda a: t_quantile_df_slope(df, a))
        found = StudentT(theta, df)._df_derivative(theta, x, y, x_slope, y_slope)
        return float(np.sum(found) if pair.weights is None else pair.weights @ found)

    # values locate the maximum on the grid; slopes, several times as expensive, are needed on both sides of it only
    tops = [top(df) for df in grid]
    best = int(np.argmax([outcome.log_likelihood for outcome in tops]))
    best_slope = slope(grid[best], tops[best].theta)
    other = best + 1 if best_slope > 0 else best - 1
    if not 0 <= other < len(grid):
        if whole is not None:
            return _profile_maximum(pair, template, whole, start)
        return grid[best], "lower" if other < 0 else "upper"
    start = tops[best].theta
    known = {math.log(grid[best]): best_slope, math.log(grid[other]): slope(grid[other], tops[other].theta)}
    low, high = sorted(known)
    if not known[low] * known[high] < 0:
        # the slopes do not bracket a root: perfect dependence up to rounding, where df is hardly identified
        found = minimize_scalar(lambda s: -top(math.exp(s)).log_likelihood, bounds=(low, high), method="bounded")
        return math.exp(found.x), None

    def slope_at(log_df: float) -> float:
        if log_df not in known:
            df = math.exp(log_df)
            known[log_df] = slope(df, top(df).theta)
        return known[log_df]

    return math.exp(brentq(slope_at, low, high, xtol=1e-13, rtol=1e-14)), None
