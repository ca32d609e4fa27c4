"""Form: the difference of two copulas in all polynomials of ranks up to an order, which sees every kind of dependence.

Level and shape look at two samples through Kendall's tau: a dependence that is not monotone, such as a funnel, a bend or a
ring, has tau 0 and is invisible to both. The coefficients a_jk = E[phi_j(U) phi_k(V)] (see `basis`) are those of the copula
density in polynomials of both ranks, 1 + sum a_jk phi_j(u) phi_k(v); the sum of their squared differences is the integrated
squared difference of the two smoothed densities. Each coefficient has influence values, as every other number has, and so a
standard error that holds on chains.

All numbers here are for a block of pairs at once: arrays have one row per pair, and a column per cell j * order + k.

Kallenberg, W. C. M. and Ledwina, T. (1999). Data-driven rank tests for independence. Journal of the American Statistical
Association 94, 285-301.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import is_whole
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.rowwise import Rowwise, plain
from copula_discrepancy.estimate.basis import HIGHEST_ORDER
from copula_discrepancy.estimate.combination import combined_pvalue, normal_scores
from copula_discrepancy.estimate.standard_error import StandardError

Array = NDArray[np.float64]

_DRAWS_PER_CELL = 6  # below it the normal limit of a pair's coefficients does not hold: at n = 50, order 4 rejects 5 to 12%
FEWEST_FOR_FORM = 4 * _DRAWS_PER_CELL  # draws below which not even order 2 is tested
# The largest of sixteen R-hats is larger by chance than one: with 1,000 effective draws of four chains, one in 1,000 pairs is
# above this limit.
FORM_RHAT_LIMIT = 1.02
# Integrated autocorrelation times of the margins in a batch from which on the variance of batch means is used: it is then too
# small by about a tenth of the autocorrelation that a coefficient, a product of polynomials, has left.
TIMES_PER_BATCH = 10.0
_BATCHES = 100  # of all chains together, for correlations between coefficients: their autocorrelations matter little
_MOST_ALIKE = 0.6  # share of draws with one value above which the others are too few; both values of a coin are below
_ROUNDING = 1e-20  # variance of influence values of order 1 that are rounding errors
# Effective draws of a coefficient below which no other one of the pair is taken to be better known: with a chain that stands
# still, the ranks of all draws depend on that chain's place, and influence values, which are linear in it, miss that by chance.
_FEWEST_EFFECTIVE = 20.0
_KNOWN_WELL = 3.0  # standard errors of the target's squared dependence, below which a share of it says nothing
_NOISE_SHARE = (
    0.6  # all of it would leave the errors of some cells a few percent too small, none those of strong dependence too large
)
_TINY = 1e-300


def checked_order(order: object) -> int:
    """The order of form as an int, between 1 and `HIGHEST_ORDER`."""
    if not is_whole(order) or not 1 <= int(order) <= HIGHEST_ORDER:  # type: ignore[call-overload]
        raise InputError(f"order must be a whole number from 1 to {HIGHEST_ORDER}, got {order!r}; 4 is the default", "argument")
    return int(order)  # type: ignore[call-overload]


def batches_per_chain(n: int, n_chains: int) -> int:
    """An even number of batches of each chain, of at least two draws if possible."""
    return max(2 * min(round(0.5 * _BATCHES / n_chains), n // n_chains // 4), 2)


def order_for(n: int, order: int) -> int:
    """The order that n draws allow: each cell needs a few of them."""
    return min(order, math.isqrt(n // _DRAWS_PER_CELL))


def can_be_tested(n: Any, perfect: Any, largest_group: Any) -> Any:
    """Whether form has a normal limit: enough draws, no perfect dependence, and no value that most draws share."""
    return (n >= FEWEST_FOR_FORM) & ~perfect & (largest_group <= _MOST_ALIKE * n)


def usable_cells(
    distinct: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64], n: int, order: int
) -> NDArray[np.bool_]:
    """Which cells a pair has: a variable of m values has m - 1 polynomials, and few draws allow few."""
    degree = np.arange(1, order + 1)
    most = np.minimum(distinct - 1, max(order_for(n, order), 1))
    inside = [degree <= np.maximum(most[places], 1)[:, None] for places in (first, second)]
    return (inside[0][:, :, None] & inside[1][:, None, :]).reshape(len(first), order * order)


class CellSpread(NamedTuple):
    """Long-run variances of the coefficients of a block, (pair, cell), their degrees of freedom and effective sample sizes."""

    variance: Array
    df: Array
    n_eff: Array

    @classmethod
    def of_batches(cls, squares: Array, fourths: Array, long_run: Array, n: int, n_batches: int, *, iid: bool) -> "CellSpread":
        """From sums of squares and of fourth powers of influence values and, for chains, from the variance of batch means.

        Products of polynomials have heavy tails: the variance of a variance is (kurtosis - 1)/n of its square, that of a normal
        sample with 2n/(kurtosis - 1) degrees of freedom. Means of batches are close to normal.
        """
        variance = squares / (n - 1.0)
        if iid:
            with np.errstate(invalid="ignore", divide="ignore"):
                df = np.minimum(n - 1.0, 2.0 * n / np.maximum(fourths * n / squares**2 - 1.0, 1.0))
            return cls(variance, df, np.full_like(variance, float(n)))
        with np.errstate(invalid="ignore", divide="ignore"):
            n_eff = np.minimum(n * variance / long_run, n * math.log10(n))
            return cls(variance * n / n_eff, np.full_like(variance, n_batches - 1.0), n_eff)

    def use_chains(self, k: int, influence: Array, n_chains: int) -> None:
        """Use all autocovariances of the influence values, (cell, draw), of a pair whose chains mix too slowly for batches."""
        for cell, column in enumerate(influence):
            _, self.variance[k, cell], self.n_eff[k, cell], df = kernels.long_run(column.reshape(n_chains, -1), False)
            kurtosis = float(np.mean(column**4)) / max(float(np.mean(column**2)) ** 2, _TINY)
            self.df[k, cell] = min(df, 2.0 * self.n_eff[k, cell] / max(kurtosis - 1.0, 1.0))

    def without(self, noise: Array, n: int) -> tuple[Array, Array, Array]:
        """Standard errors, their df and effective sizes, less most of the variance that chance adds to influence values.

        What is taken off leaves the error of the variance as it is, so that its degrees of freedom fall.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.maximum(1.0 - _NOISE_SHARE * noise / self.variance, 0.25)
        share = np.where(self.variance > 0.0, share, 1.0)  # perfect dependence has no error at all
        return np.sqrt(self.variance / n * share), np.maximum(self.df * share**2, 1.0), self.n_eff


@dataclass(frozen=True, eq=False)
class FormSide:
    """The coefficients of a block of pairs in one sample.

    Attributes
    ----------
    order : int
        The order of the polynomials.
    means, se, df, n_eff : array (pair, cell)
        Coefficients, their standard errors with degrees of freedom, and effective sample sizes.
    correlations : array (pair, cell, cell)
        Correlations of the coefficients.
    halves : array (pair, half chain, cell)
        Mean influence values in half chains.
    used : array of bool (pair, cell)
        The cells that a pair has.
    n : int
        Number of draws.
    n_batches : int
        Number of batches behind the correlations.
    """

    order: int
    means: Array
    se: Array
    df: Array
    n_eff: Array
    correlations: Array
    halves: Array
    used: NDArray[np.bool_]
    n: int
    n_batches: int

    def widen(self, k: int, left_out: Array) -> None:
        """Widen the standard errors of a pair by what a block jackknife shows; `left_out` is (block, cell).

        A few blocks determine the error of one coefficient badly, but the mean ratio over all of them well.
        """
        g, used = len(left_out), self.used[k]
        variances = (g - 1.0) / g * np.sum((left_out - left_out.mean(axis=0)) ** 2, axis=0)
        self.se[k] *= math.sqrt(max(float(np.mean(variances[used] / self.se[k][used] ** 2)), 1.0))

    @property
    def covariance(self) -> Array:
        """Covariances of the coefficients: correlations from batches, variances from each one's influence values."""
        se = np.where(self.used, self.se, 0.0)
        covariance: Array = self.correlations * (se[:, :, None] * se[:, None, :])
        return covariance

    @property
    def largest_rhats(self) -> tuple[Array, NDArray[np.str_]]:
        """The largest split R-hat over the coefficients of each pair, and the kind of dependence that one is about."""
        rhats = self.rhats
        kinds = np.array([kind_of_cell(*divmod(k, self.order)) for k in range(self.order**2)])
        return rhats.max(axis=1), kinds[rhats.argmax(axis=1)]

    @property
    def rhats(self) -> Array:
        """Split R-hat of each coefficient, from the means of half chains: (pair, cell)."""
        parts = self.halves.shape[1]
        length = self.n // parts
        variance, apart = self.se**2 * self.n_eff, np.var(self.halves, axis=1)
        within = np.maximum(variance - apart, _TINY) * length / (length - 1.0)
        between = length * apart * parts / (parts - 1.0)
        varies = self.used & (variance > _ROUNDING)  # of perfect dependence some coefficients do not vary, up to rounding
        return np.where(varies, np.sqrt((between / within + length - 1.0) / length), 1.0)


def kind_of_cell(j: int, k: int) -> str:
    """The kind of dependence that a coefficient is about, by the degrees of its two polynomials, less 1."""
    known = {(0, 0): "strength", (0, 1): "bends and spread", (1, 0): "bends and spread", (1, 1): "extremes"}
    return known.get((j, k), "finer patterns")


@dataclass(frozen=True, eq=False)
class FormGap(Rowwise):
    """The gap in form of one pair, or of many: then every number is an array with one entry per pair.

    Attributes
    ----------
    value : float
        Root mean square difference of the two smoothed copula densities, without the part that chance adds.
    spread : StandardError
        Its standard error.
    squared, squared_se : float
        The square of the difference, without the part that chance adds, which may be negative, and its standard error.
    pvalue : float
        P-value of all coefficients being equal; NaN if it was not tested.
    kept, kept_spread : float, StandardError
        The share of the target's dependence that the draws keep; NaN if the target has too little, or there is no target.
    own, target : array (cell)
        The coefficients of the draws and of the target; NaN in cells that a pair does not have.
    errors, own_errors, target_errors : array (cell)
        Standard errors of the differences, and of either side; 0 for a known target.
    """

    value: Any
    spread: StandardError
    squared: Any
    squared_se: Any
    pvalue: Any
    kept: Any
    kept_spread: StandardError
    own: Array
    target: Array
    errors: Array
    own_errors: Array
    target_errors: Array

    @property
    def dependence(self) -> tuple[Any, Any]:
        """The root mean square of each smoothed density about that of independence, without the part that chance adds."""
        sides = (self.own, self.own_errors), (self.target, self.target_errors)
        own, target = (np.nansum(a**2 - np.where(np.isfinite(a), se, 0.0) ** 2, axis=-1) for a, se in sides)
        return plain(np.sqrt(np.maximum(own, 0.0))), plain(np.sqrt(np.maximum(target, 0.0)))

    @property
    def dependence_errors(self) -> tuple[Any, Any]:
        """Standard errors of `dependence` of variables that are independent, or nearly so."""
        sizes = zip(self.dependence, (self.own_errors, self.target_errors), (self.own, self.target), strict=True)
        found = []
        for size, se, known in sizes:
            squared_se = np.sqrt(2.0 * np.sum(np.where(np.isfinite(known), se, 0.0) ** 4, axis=-1))
            found.append(plain(squared_se / (2.0 * np.maximum(np.maximum(size, np.sqrt(squared_se / 2.0)), _TINY))))
        return found[0], found[1]

    def interval(self, confidence: float) -> tuple[float, float]:
        """Confidence interval of the value of one pair: the root of that of its square, which is close to normal."""
        reach = StandardError(self.squared_se, self.spread.df, self.spread.n_eff).reach(confidence)
        low, high = (math.sqrt(max(self.squared + side * reach, 0.0)) for side in (-1.0, 1.0))
        return low, high


def form_gaps(
    own: FormSide,
    other: FormSide | None,
    targets: Array | None,
    tested: NDArray[np.bool_],
    *,
    fitted: bool = False,
    doubt: Array | None = None,
    fewest_cells: int = 2,
) -> FormGap:
    """The gaps in form of a block of pairs, from a reference sample or from known coefficients (NaN if there are none).

    Parameters
    ----------
    own, other : FormSide
        Draws and reference.
    targets : array (pair, cell), optional
        Coefficients of known copulas, or of those fitted to the draws, if there is no reference.
    tested : array of bool
        Whether each pair can be tested.
    fitted : bool
        Whether the targets are fits to the draws themselves, so that there is nothing to keep.
    doubt : array (pair, cell), optional
        A standard deviation of the targets, the same for all cells up to the sign and size: fits to tied draws are biased.
    fewest_cells : int
        Coefficients that a pair needs to be tested; a single one of two ordered columns is the strength that level tests.
    """
    aims = other.means if other is not None else targets
    assert aims is not None
    used = own.used if other is None else own.used & other.used
    covariances = [side.covariance for side in (own, other) if side is not None]
    total = covariances[0] if other is None else covariances[0] + covariances[1]
    if doubt is not None:
        total = total + doubt[:, :, None] * doubt[:, None, :]
    total = np.where(used[:, :, None] & used[:, None, :], total, 0.0)
    gaps, se = np.where(used, own.means - aims, 0.0), np.sqrt(np.diagonal(total, axis1=1, axis2=2))
    df, n_eff = _known_df(own, used), _smallest(own.n_eff, used)
    if other is not None:
        a, b = own.se**2, other.se**2
        with np.errstate(invalid="ignore", divide="ignore"):  # perfect dependence, which is not tested, has no error
            df = (a + b) ** 2 / (a**2 / df + b**2 / _known_df(other, used))
        n_eff = np.minimum(n_eff, _smallest(other.n_eff, used))
    with np.errstate(invalid="ignore", divide="ignore"):
        pvalues = _pvalues(gaps, se, df, used, total, own, other)
        noise = np.trace(total, axis1=1, axis2=2)
        squared = np.sum(gaps**2, axis=1)
        squared_se = np.sqrt(4.0 * _quadratic(gaps, total) + 2.0 * np.sum(total**2, axis=(1, 2)))
        values = np.sqrt(np.maximum(squared - noise, 0.0))
        # at 0 the root has no linear expansion; the error is then that of a difference as large as chance makes it
        value_se = squared_se / (2.0 * np.maximum(values, np.sqrt(squared_se / 2.0)))
        kept, kept_se = _kept(own, other, aims, used, covariances)
        kept = np.full_like(kept, math.nan) if fitted else kept
    testable = tested & (used.sum(axis=1) >= fewest_cells)
    least_df = _smallest(df, used)
    mine, theirs = (np.where(used, part, math.nan) for part in (own.means, aims))
    return FormGap(
        values,
        StandardError(value_se, least_df, n_eff),
        squared - noise,
        squared_se,
        np.where(testable, pvalues, math.nan),
        np.where(tested, kept, math.nan),
        StandardError(kept_se, least_df, n_eff),
        mine,
        theirs,
        se,
        own.se,
        np.zeros_like(own.se) if other is None else other.se,
    )


def _known_df(side: FormSide, used: NDArray[np.bool_]) -> Array:
    """The degrees of freedom of each coefficient; the fewest of all where a pair has hardly any effective draws."""
    slow = _smallest(side.n_eff, used) < _FEWEST_EFFECTIVE
    df: Array = np.where(slow[:, None], np.fmin(side.df, _smallest(side.df, used)[:, None]), side.df)
    return df


def _smallest(values: Array, used: NDArray[np.bool_]) -> Array:
    """The smallest value of each pair; NaN if none is known."""
    known = used & np.isfinite(values)
    return np.where(known.any(axis=1), np.min(np.where(known, values, np.inf), axis=1), np.nan)


def _quadratic(vectors: Array, matrices: Array) -> Array:
    """x' M x of each pair."""
    found: Array = np.einsum("pa,pab,pb->p", vectors, matrices, vectors)
    return found


def _pvalues(
    gaps: Array, se: Array, df: Array, used: NDArray[np.bool_], total: Array, own: FormSide, other: FormSide | None
) -> Array:
    """P-value of each pair; sums of squares of estimated correlations are reduced by the variance of the estimates."""
    scores = np.where(used, normal_scores(np.where(used, gaps / se, 0.0), np.where(used, df, 1.0)), 0.0)
    scale = se[:, :, None] * se[:, None, :]
    correlations = np.where(scale > 0.0, total / scale, 0.0)
    chance = np.zeros_like(correlations)
    for side in (own, other):
        if side is not None:
            side_se = np.where(used, side.se, 0.0)
            weight = np.where(scale > 0.0, side_se[:, :, None] * side_se[:, None, :] / scale, 0.0)
            chance += weight**2 / max(side.n_batches - 1, 1)
    inside = used[:, :, None] & used[:, None, :] & ~np.eye(used.shape[1], dtype=bool)
    by_chance = np.where(inside, chance * (1.0 - correlations**2) ** 2, 0.0).sum(axis=(1, 2))
    cells = used.sum(axis=1)
    known = np.where(used[:, :, None] & used[:, None, :], correlations, 0.0)
    squared = known @ known
    trace = np.maximum(np.trace(squared, axis1=1, axis2=2) - by_chance, cells)
    # every square of an estimated correlation is in three of the products of three; tr(R^3) is at least tr(R^2)^2 / m
    third = np.maximum(np.einsum("pab,pba->p", squared, known) - 3.0 * by_chance, trace**2 / np.maximum(cells, 1))
    return combined_pvalue(scores, trace, cells, third)


def _kept(
    own: FormSide, other: FormSide | None, aims: Array, used: NDArray[np.bool_], covariances: list[Array]
) -> tuple[Array, Array]:
    """The share <A, B>/<B, B> of the target's dependence in the draws, with its standard error by the delta method."""
    a, b = np.where(used, own.means, 0.0), np.where(used, aims, 0.0)
    inside = used[:, :, None] & used[:, None, :]
    covariance = [np.where(inside, part, 0.0) for part in covariances]
    base = np.sum(b**2, axis=1)
    base_se = np.zeros_like(base)
    if other is not None:
        base -= np.trace(covariance[1], axis1=1, axis2=2)
        base_se = np.sqrt(4.0 * _quadratic(b, covariance[1]) + 2.0 * np.sum(covariance[1] ** 2, axis=(1, 2)))
    share = np.sum(a * b, axis=1) / base
    variance = _quadratic(b / base[:, None], covariance[0])
    if other is not None:
        variance = variance + _quadratic((a - 2.0 * share[:, None] * b) / base[:, None], covariance[1])
    known = base > np.maximum(_KNOWN_WELL * base_se, 1e-8)
    return np.where(known, share, np.nan), np.where(known, np.sqrt(variance), np.nan)
