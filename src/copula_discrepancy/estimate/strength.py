"""The test of level, whether two Kendall's taus are equal, with rules for when the normal limit does not hold.

There are two such cases. Perfectly dependent draws have no standard error; the test then uses the probability of perfect
dependence by chance. If one value of a variable is frequent, as in a column of rare flags, a handful of draws carries all the
information: the test then has as few degrees of freedom, and is not made with fewer than `FEWEST_CARRIERS` such draws.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from copula_discrepancy.estimate.uncertainty import StandardError

FREQUENT = 0.5  # share of draws with one value above which the others carry the information
_HANDFUL = 20
FEWEST_CARRIERS = 5  # draws with another value below which nothing is tested


@dataclass(frozen=True)
class TauSide:
    """Kendall's tau of one sample, with the input of its test.

    Attributes
    ----------
    tau, spread, n
        Kendall's tau, its standard error, the number of draws.
    carriers : float
        Effective number of draws that do not have the most frequent value, for the variable with the fewest of them; infinite
        if no value is frequent.
    weight : float
        Number of draws that carry the variance of tau, (sum of squares)^2 / sum of fourth powers of the influence values;
        infinite if no value is frequent.
    rank_size : callable
        Function that returns the effective sample size of the first variable's ranks.
    """

    tau: float
    spread: StandardError
    n: int
    carriers: float
    weight: float
    rank_size: Callable[[], float]

    @classmethod
    def of(
        cls,
        tau: float,
        spread: StandardError,
        n: int,
        modes: tuple[int, int],
        moments: Callable[[], tuple[float, float]],
        rank_size: Callable[[], float],
    ) -> "TauSide":
        """From the draws that share each variable's most frequent value, and sums of powers of the influence values on tau.

        `moments` returns the sums of their squares and of their fourth powers.
        """
        if max(modes) <= FREQUENT * n:
            return cls(tau, spread, n, math.inf, math.inf, rank_size)
        share = min(spread.n_eff / n, 1.0) if math.isfinite(spread.n_eff) else min(rank_size() / n, 1.0)
        second, fourth = moments()
        weight = second**2 / fourth * share if fourth > 0.0 else 0.0
        return cls(tau, spread, n, (n - max(modes)) * share, weight, rank_size)

    @property
    def perfect(self) -> bool:
        """Whether the dependence is perfect, so that tau has no sampling error; with a handful of draws this may be chance."""
        return abs(self.tau) == 1.0 or (math.isnan(self.spread.se) and self.n >= _HANDFUL)

    def chance_of_perfection(self, tau: float) -> float:
        """Upper bound on the probability that draws of a copula with this tau are perfectly dependent.

        At least half as many pairs of draws as there are informative independent draws would all have to be concordant.
        """
        size = min(self.rank_size(), self.n, self.carriers)
        return float((0.5 * (1.0 + self.tau * tau)) ** (size // 2))


@dataclass(frozen=True)
class LevelTest:
    """The standard error of a level, its p-value, and whether too few draws carry information to test it."""

    spread: StandardError
    pvalue: float
    too_rare: bool = False


def level_test(own: TauSide, other: TauSide | None, tau_target: float) -> LevelTest:
    """Test own.tau against that of the other sample, or against the tau of a known copula."""
    level = own.tau - tau_target
    if min(own.carriers, math.inf if other is None else other.carriers) < FEWEST_CARRIERS:
        spread = own.spread if other is None else added(own.spread, other.spread, own.perfect, other.perfect)
        return LevelTest(spread, math.nan, too_rare=True)
    spread = _joint(own, other)
    pvalue = spread.pvalue(level)
    if abs(level) > 0.0:
        pvalue = _allowing_for_perfection(own, other, tau_target, spread, pvalue)
    return LevelTest(spread, pvalue)


def _joint(own: TauSide, other: TauSide | None) -> StandardError:
    """Standard error of the difference of two taus; with few carriers, as if both samples had the same variance.

    A sample in which the rare values never coincide has almost no variance of its own: if it is the smaller one, the variance
    of the other sample is used.
    """
    if other is None:
        found = _with_carriers(own.spread, own.weight)
        # rare values that never coincide have no variance of their own; under independence that of tau-b is 1/n
        return found if own.weight == math.inf or not found.se > 0.0 else replace(found, se=max(found.se, found.n_eff**-0.5))
    if min(own.weight, other.weight) == math.inf:
        return added(own.spread, other.spread, own.perfect, other.perfect)
    ratio = own.n / other.n
    mine = _with_carriers(own.spread, min(own.weight, other.weight * ratio))
    theirs = _with_carriers(other.spread, min(other.weight, own.weight / ratio))
    found = added(mine, theirs, own.perfect, other.perfect)
    if not (mine.se > 0.0 and theirs.se > 0.0):
        return found
    pooled = (mine.se**2 * own.n**2 + theirs.se**2 * other.n**2) / (own.n * other.n)
    return found if found.se**2 >= pooled else StandardError(math.sqrt(pooled), found.df, found.n_eff)


def _with_carriers(spread: StandardError, weight: float) -> StandardError:
    """A variance known from `weight` draws has about twice as many degrees of freedom; half of them allow for skewness."""
    return spread if weight == math.inf else StandardError(spread.se, max(min(spread.df, weight), 1.0), spread.n_eff)


def added(own: StandardError, other: StandardError, own_perfect: bool, other_perfect: bool) -> StandardError:
    """Standard error of the difference of two taus: variances add; perfect dependence contributes none."""
    if other_perfect and not math.isnan(own.se):
        return own
    if own_perfect and not math.isnan(other.se):
        return other
    return own.plus(other)


def _allowing_for_perfection(
    own: TauSide, other: TauSide | None, tau_target: float, spread: StandardError, pvalue: float
) -> float:
    """A few draws can be perfectly dependent by chance; the p-value is at least the probability of that."""
    sides = [(own, tau_target)] if other is None else [(own, tau_target), (other, own.tau)]
    perfect = [(side, aim) for side, aim in sides if abs(side.tau) == 1.0]
    if not perfect:
        return pvalue
    reach = 0.0 if math.isnan(spread.se) else 2.0 * spread.se
    chance = 1.0
    for side, aim in perfect:
        # the other side's tau within its error; if that is perfect too, its error is not known
        near = 0.0 if len(perfect) > 1 else min(max(aim + reach * side.tau, -1.0), 1.0)
        chance *= side.chance_of_perfection(near)
    return max(0.0 if math.isnan(pvalue) else pvalue, min(len(perfect) * chance, 1.0))
