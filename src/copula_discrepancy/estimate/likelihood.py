"""Maximum likelihood of a copula family in theta, and for the Student t family also in its degrees of freedom."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy.estimate.grid import extrapolated, extrapolated_with_error
from copula_discrepancy.estimate.pair import Likelihood, RankedPair, sums_of
from copula_discrepancy.families import Copula, Rotated, StudentT
from copula_discrepancy.families.formulas import PairSums, Sums
from copula_discrepancy.families.t_distribution import t_quantile_df_slope

_FOUND_AGAIN = 1e-6  # at a maximum a Newton step is rounding error; elsewhere it is of the order of a standard error
MAX_STEPS = 100
LOWER, INSIDE, UPPER = -1, 0, 1  # where a theta is: at a bound of its domain, or inside
END = {LOWER: "lower", INSIDE: None, UPPER: "upper"}
# A start from this many draws lies within a few percent of the maximum and costs a twentieth of a pass over 10**5 draws;
# df is harder to estimate and more expensive to evaluate, so its start uses more draws.
_START_DRAWS = 4096
_DF_START_DRAWS = 16_384
# Search range of the degrees of freedom: below, quantiles of float probabilities overflow; above, a t copula cannot be
# distinguished from the Gaussian one with 10**5 draws (their Kullback-Leibler divergence is below 1e-6).
DF_RANGE = (0.1, 1000.0)
# The df at which Student t copulas are tabulated: any serves a comparison of two samples; without a reference df is refined
DEGREES = (0.35, 0.6, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 9.0, 13.0, 25.0)


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


@dataclass(frozen=True, eq=False)
class Maxima:
    """The maxima of many likelihoods: arrays of what a `Maximum` has; `bounds` are `LOWER`, `INSIDE` or `UPPER`."""

    theta: FloatArray
    log_likelihood: FloatArray
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    bounds: NDArray[np.int8]
    bend: FloatArray
    tau_error: FloatArray

    @classmethod
    def of(cls, maxima: Sequence[Maximum]) -> "Maxima":
        """Maxima that were found one by one."""
        codes = {None: INSIDE, "lower": LOWER, "upper": UPPER}
        return cls(
            np.array([one.theta for one in maxima], np.float64),
            np.array([one.log_likelihood for one in maxima], np.float64),
            np.array([one.iterations for one in maxima], np.int64),
            np.array([one.converged for one in maxima], bool),
            np.array([codes[one.on_bound] for one in maxima], np.int8),
            np.array([one.bend for one in maxima], np.float64),
            np.array([one.tau_error for one in maxima], np.float64),
        )

    def at(self, k: int) -> Maximum:
        """One of them."""
        numbers = float(self.theta[k]), float(self.log_likelihood[k]), int(self.iterations[k]), bool(self.converged[k])
        return Maximum(*numbers, END[int(self.bounds[k])], float(self.bend[k]), float(self.tau_error[k]))


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
    return Maximum(theta, value, 0, bool(converged), None)


def newton(template: Copula, sums: PairSums, starts: FloatArray, bends: FloatArray | float = 0.0) -> Maxima:
    """The maxima of many likelihoods, each from its own start, by the safeguarded iteration of `kernels.newton`.

    `sums` evaluates some of them, by their places; `bends` are those of the likelihoods of a part of the draws.
    """
    domain, rules = template.parameter, kernels.newton
    lower, upper, included = domain.lower, domain.upper, domain.lower_included
    states = np.zeros((len(starts), rules.COLUMNS))
    states[:, rules.THETA], states[:, rules.LOW], states[:, rules.HIGH] = starts, lower, upper
    states[:, rules.LAST_THETA], states[:, rules.BEND], states[:, rules.VALUE] = math.nan, bends, math.nan
    iterations = np.full(len(starts), MAX_STEPS)
    active = np.arange(len(starts))
    for iteration in range(1, MAX_STEPS + 1):
        thetas = states[active, rules.THETA]
        # of one order in memory, for which steps are compiled once
        found = map(np.ascontiguousarray, sums(active, thetas))
        rules.newton_step(states, active, *found, template._scale(thetas), lower, upper, included)
        at_bound = active[states[active, rules.STATUS] == rules.AT_BOUND]
        if at_bound.size:
            value, slope, _ = map(np.ascontiguousarray, sums(at_bound, np.full(at_bound.size, lower)))
            rules.newton_bound(states, at_bound, value, slope, lower, upper)
        searching = states[active, rules.STATUS] == rules.SEARCHING
        iterations[active[~searching]] = iteration
        active = active[searching]
        if not active.size:
            break
    status = states[:, rules.STATUS]
    bounds = np.where(status == rules.LOWER, LOWER, np.where(status == rules.UPPER, UPPER, INSIDE)).astype(np.int8)
    theta, value, bend = (states[:, column].copy() for column in (rules.THETA, rules.VALUE, rules.BEND))
    return Maxima(theta, value, iterations, status != rules.SEARCHING, bounds, bend, np.zeros(len(starts)))


def _newton(template: Copula, likelihood: Likelihood, start: float, bend: float = 0.0) -> Maximum:
    """The maximum of one likelihood."""

    def sums(chosen: NDArray[np.intp], thetas: FloatArray) -> Sums:
        value, slope, curvature = likelihood(float(thetas[0]))
        return np.array([value]), np.array([slope]), np.array([curvature])

    return newton(template, sums, np.array([start]), bend).at(0)


def _moment_start(template: Copula, tau: float) -> float:
    """The moment estimate, moved inside the domain if tau is out of range or at a bound."""
    low, high = _start_range(template)
    return template._theta_from_tau(min(max(tau, low), high))


def moment_starts(template: Copula, taus: FloatArray) -> FloatArray:
    """The same for many taus."""
    low, high = _start_range(template)
    return template._thetas_from_taus(np.minimum(np.maximum(taus, low), high))


def _start_range(template: Copula) -> tuple[float, float]:
    """Taus away from independence, where likelihoods are flat or singular, and from perfect dependence.

    At 1e-8 from it, the sine of a correlation rounds to 1.
    """
    low, high = template.tau_range
    low += 0.02 * (high - low) if low > -1.0 else 1e-7
    return low, high - (0.02 * (high - low) if high < 1.0 else 1e-7)


def perfect_bounds(template: Copula, signs: FloatArray) -> NDArray[np.int8]:
    """The bounds that thetas tend to if draws are perfectly dependent, by the signs of their taus; `INSIDE` where 0."""
    ends = [(template._tau_at(END[code]) == signs) & (signs != 0.0) for code in (UPPER, LOWER)]  # type: ignore[arg-type]
    return np.where(ends[0], UPPER, np.where(ends[1], LOWER, INSIDE)).astype(np.int8)


def moment_thetas(template: Copula, taus: FloatArray) -> tuple[FloatArray, NDArray[np.int8]]:
    """The thetas with these taus, or the nearest ones, and where they are."""
    low, high = template.tau_range
    domain = template.parameter
    # only a bound that the domain includes can be exceeded; at open bounds |tau| = 1
    thetas, bounds = np.full(taus.size, domain.lower), np.full(taus.size, LOWER, np.int8)
    inside = np.flatnonzero((low <= taus) & (taus <= high))
    found = template._thetas_from_taus(taus[inside])
    limit = ~((domain.lower <= found) & (found < domain.upper))
    limit[~limit] = np.abs(template._taus(found[~limit])) == 1.0
    thetas[inside], bounds[inside] = found, np.where(limit, np.where(found > 0.0, UPPER, LOWER), INSIDE)
    return thetas, bounds


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
