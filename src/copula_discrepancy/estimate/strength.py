"""The test of level, whether two Kendall's taus are equal, with rules for when the normal limit does not hold.

There are two such cases. Perfectly dependent draws have no standard error; the test then uses the probability of perfect
dependence by chance. If one value of a variable is frequent, as in a column of rare flags, a handful of draws carries all the
information: the test then has as few degrees of freedom, and is not made with fewer than `FEWEST_CARRIERS` such draws.

Everything is elementwise: a number, or an array with one entry per pair of variables.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.rowwise import Rowwise, plain
from copula_discrepancy.estimate.standard_error import StandardError

FREQUENT = 0.5  # share of draws with one value above which the others carry the information
_HANDFUL = 20
FEWEST_CARRIERS = 5  # draws with another value below which nothing is tested

Places = NDArray[np.intp]


@dataclass(frozen=True)
class TauSide(Rowwise):
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
    rank_size : float
        The effective sample size of the first variable's ranks; NaN where nothing needs it.
    """

    tau: Any
    spread: StandardError
    n: Any
    carriers: Any
    weight: Any
    rank_size: Any

    @classmethod
    def of(
        cls,
        tau: NDArray[np.float64],
        spread: StandardError,
        n: NDArray[np.float64],
        modes: NDArray[np.integer],
        moments: Callable[[Places], tuple[NDArray[np.float64], NDArray[np.float64]]],
        rank_sizes: Callable[[Places], NDArray[np.float64]],
    ) -> "TauSide":
        """From the draws that share the most frequent value of a variable, the larger number of the two of each pair.

        `moments` returns sums of squares and of fourth powers of the influence values on some of the taus, `rank_sizes` the
        effective sample sizes of the ranks of their first variables.
        """
        sizes, carriers, weight = np.full(tau.shape, math.nan), np.full(tau.shape, math.inf), np.full(tau.shape, math.inf)
        frequent, unknown = modes > FREQUENT * n, ~np.isfinite(spread.n_eff)
        needed = np.flatnonzero(unknown)
        if needed.size:
            sizes[needed] = rank_sizes(needed)
        rare = np.flatnonzero(frequent)
        if rare.size:
            share = np.minimum(np.where(unknown, sizes, spread.n_eff)[rare] / n[rare], 1.0)
            second, fourth = moments(rare)
            carriers[rare] = (n - modes)[rare] * share
            with np.errstate(invalid="ignore", divide="ignore"):
                weight[rare] = np.where(fourth > 0.0, second**2 / fourth * share, 0.0)
        return cls(tau, spread, n, carriers, weight, sizes)

    @property
    def perfect(self) -> Any:
        """Whether the dependence is perfect, so that tau has no sampling error; with a handful of draws this may be chance."""
        return (np.abs(self.tau) == 1.0) | (np.isnan(self.spread.se) & (np.asarray(self.n) >= _HANDFUL))

    def chance_of_perfection(self, tau: Any) -> Any:
        """Upper bound on the probability that draws of a copula with this tau are perfectly dependent.

        At least half as many pairs of draws as there are informative independent draws would all have to be concordant.
        """
        size = np.minimum(np.minimum(self.rank_size, self.n), self.carriers)
        return (0.5 * (1.0 + self.tau * tau)) ** (size // 2)


@dataclass(frozen=True)
class LevelTest(Rowwise):
    """The standard error of a level, its p-value, and whether too few draws carry information to test it."""

    spread: StandardError
    pvalue: Any
    too_rare: Any


def level_test(own: TauSide, other: TauSide | None, tau_target: Any) -> LevelTest:
    """Test own.tau against that of the other sample, or against the tau of a known copula."""
    level = own.tau - tau_target
    too_rare = np.minimum(own.carriers, math.inf if other is None else other.carriers) < FEWEST_CARRIERS
    plainly = own.spread if other is None else added(own.spread, other.spread, own.perfect, other.perfect)
    spread = StandardError.where(too_rare, plainly, _joint(own, other))
    pvalue = spread.pvalue(level)
    pvalue = np.where(np.abs(level) > 0.0, _allowing_for_perfection(own, other, tau_target, spread, pvalue), pvalue)
    return LevelTest(spread, plain(np.where(too_rare, math.nan, pvalue)), plain(too_rare))


def _joint(own: TauSide, other: TauSide | None) -> StandardError:
    """Standard error of the difference of two taus; with few carriers, as if both samples had the same variance.

    A sample in which the rare values never coincide has almost no variance of its own: if it is the smaller one, the variance
    of the other sample is used.
    """
    if other is None:
        found = _with_carriers(own.spread, own.weight)
        # rare values that never coincide have no variance of their own; under independence that of tau-b is 1/n
        with np.errstate(invalid="ignore", divide="ignore"):
            least = StandardError(np.maximum(found.se, np.power(found.n_eff, -0.5)), found.df, found.n_eff)
        return StandardError.where(np.isinf(own.weight) | ~np.greater(found.se, 0.0), found, least)
    plainly = added(own.spread, other.spread, own.perfect, other.perfect)
    usual = np.isinf(own.weight) & np.isinf(other.weight)
    if np.all(usual):
        return plainly
    ratio = own.n / other.n
    mine = _with_carriers(own.spread, np.minimum(own.weight, other.weight * ratio))
    theirs = _with_carriers(other.spread, np.minimum(other.weight, own.weight / ratio))
    found = added(mine, theirs, own.perfect, other.perfect)
    with np.errstate(invalid="ignore"):
        variance = (np.square(mine.se) * np.square(own.n) + np.square(theirs.se) * np.square(other.n)) / (own.n * other.n)
        as_it_is = ~(np.greater(mine.se, 0.0) & np.greater(theirs.se, 0.0)) | (np.square(found.se) >= variance)
        pooled = StandardError(np.sqrt(variance), found.df, found.n_eff)
    return StandardError.where(usual, plainly, StandardError.where(as_it_is, found, pooled))


def _with_carriers(spread: StandardError, weight: Any) -> StandardError:
    """A variance known from `weight` draws has about twice as many degrees of freedom; half of them allow for skewness."""
    fewer = np.maximum(np.minimum(spread.df, weight), 1.0)
    return StandardError(spread.se, np.where(np.isinf(weight), spread.df, fewer), spread.n_eff)


def added(own: StandardError, other: StandardError, own_perfect: Any, other_perfect: Any) -> StandardError:
    """Standard error of the difference of two taus: variances add; perfect dependence contributes none."""
    both = own.plus(other)
    one = StandardError.where(own_perfect & ~np.isnan(other.se), other, both)
    return StandardError.where(other_perfect & ~np.isnan(own.se), own, one)


def _allowing_for_perfection(own: TauSide, other: TauSide | None, tau_target: Any, spread: StandardError, pvalue: Any) -> Any:
    """A few draws can be perfectly dependent by chance; the p-value is at least the probability of that."""
    sides = [(own, tau_target)] if other is None else [(own, tau_target), (other, own.tau)]
    perfect = [np.abs(side.tau) == 1.0 for side, _ in sides]
    count = sum((flag.astype(np.intp) for flag in map(np.asarray, perfect)), np.zeros((), np.intp))
    if not np.any(count):
        return pvalue
    reach, chance = np.where(np.isnan(spread.se), 0.0, 2.0 * np.asarray(spread.se)), np.ones(np.shape(pvalue))
    for (side, aim), flag in zip(sides, perfect, strict=True):
        # the other side's tau within its error; if that is perfect too, its error is not known
        near = np.where(count > 1, 0.0, np.minimum(np.maximum(aim + reach * side.tau, -1.0), 1.0))
        chance = np.where(flag, chance * side.chance_of_perfection(near), chance)
    least = np.maximum(np.where(np.isnan(pvalue), 0.0, pvalue), np.minimum(count * chance, 1.0))
    return np.where(count > 0, least, pvalue)
