"""Ranks as polynomials, summed over batches of consecutive draws: what the forms of many variables are computed from.

A mean of products of such polynomials, such as a_jk = E[phi_j(U) phi_k(V)], has influence values that are products of
polynomials of ranks too, so their sums over batches are matrix products, for all variables at once. The means of batches that
are several times as long as the autocorrelation are nearly independent, and their variance is the long-run variance.
"""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, ssyrk

from copula_discrepancy._core import kernels
from copula_discrepancy._core.arrays import in_double_precision, namespace
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate.basis import HIGHEST_ORDER
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.pair import TOO_DISCRETE
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import RankedColumn
from copula_discrepancy.estimate.uncertainty import split_rhat

BATCHES = 100  # at most: as many as give Student's t its normal shape; more cost time in proportion
_FEWEST = 12  # batches of all chains together, even if each is shorter than it should be
FEWEST_DRAWS = 20  # with fewer, batches would be too few to know a variance
# A batch has this many autocorrelation times. Shorter ones underestimate variances by about 1/2 divided by this number; longer
# ones are too few to know them.
TIMES = 5.0
# Least variance of a draw's influence: perfect dependence has none, and rounding errors are not differences.
SMALLEST = 1e-6
_TILE = 24  # variables: the batch sums of 576 pairs, 100 batches, are 4 MB, which caches hold

Floats = NDArray[Any]


@lru_cache(maxsize=8)
def rank_terms(order: int, highest: int = HIGHEST_ORDER) -> NDArray[np.float64]:
    """The cost of estimating a margin by ranks: B_jl as a sum of phi_r, (j = 1..order, l = 0..highest, r = 1..order + highest).

    B_jl(u) = int_u^1 phi_j' phi_l dt - int_0^1 t phi_j' phi_l dt. Its mean is 0, so phi_0 is not needed. A coefficient
    a = E[phi_j(U) h] has the influence value sum_l E[phi_l(U) h] B_jl(u) of U being a rank, because phi_j' = sum of phi_l.
    """
    size = order + highest
    found = np.zeros((order, highest + 1, size))
    scales = np.sqrt(2.0 * np.arange(size + 1) + 1.0)
    for j in range(1, order + 1):
        slope = 2.0 * scales[j] * legendre.legder(np.eye(j + 1)[j])  # with respect to u; x = 2u - 1
        for degree in range(highest + 1):
            product = legendre.legmul(slope, scales[degree] * np.eye(degree + 1)[degree])
            integral = -0.5 * legendre.legint(product)
            found[j - 1, degree, : integral.size - 1] = integral[1:] / scales[1 : integral.size]
    return found


def left_out_columns(tables: Sequence[RankedTable | CountedTable]) -> dict[int, str]:
    """The variables that polynomials of ranks cannot describe, with the reason: missing values, or too few different ones."""
    reasons: dict[int, str] = {}
    for table in tables:
        every = 0.5 * table.present * (table.present - 1.0)
        for k in np.flatnonzero(table.holes).tolist():
            reasons.setdefault(k, "missing values")
        for k in np.flatnonzero(table.ties >= every).tolist():
            reasons.setdefault(k, "constant")
        for k in np.flatnonzero(table.ties > TOO_DISCRETE * every).tolist():
            reasons.setdefault(k, "too few different values")
    return dict(sorted(reasons.items()))


@dataclass(frozen=True, eq=False)
class BatchedRanks:
    """Some variables of a sample as polynomials of their ranks, and the batches that its draws are divided into.

    Attributes
    ----------
    ranks : array (variable, draw)
        Doubled mid-ranks: without ties 2, 4, ..., 2n.
    edges : array (batch + 1,)
        Where each batch begins, and the end of the last; no batch crosses chains.
    n_chains : int
        Number of chains.
    times : array (variable,)
        The autocorrelation time of each variable; 1 for independent draws.
    dtype : type
        The precision of products; sums of float32 are accurate to 1e-5 standard errors, at half the time.
    columns : tuple of RankedColumn
        The variables one by one, for Kendall's tau.
    """

    ranks: NDArray[np.int32]
    edges: NDArray[np.intp]
    n_chains: int
    times: NDArray[np.float64]
    dtype: Any = np.float32
    columns: tuple[RankedColumn, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls, table: RankedTable, columns: Sequence[int], *, iid: bool, batches: int = BATCHES, dtype: Any = np.float32
    ) -> "BatchedRanks":
        """The polynomials of some variables without missing values; `iid` if draws are independent."""
        ranks = np.empty((len(columns), table.n), np.int32)
        for row, k in zip(ranks, columns, strict=True):
            row[:] = table.columns[k].doubled_mid_ranks
        n_chains = 1 if iid else table.n_chains
        times = np.array([1.0 if iid else rank_time(row, n_chains) for row in ranks])
        edges = batch_edges(table.n, n_chains, float(times.max()), batches)
        return cls(ranks, edges, n_chains, times, dtype, tuple(table.columns[k] for k in columns))

    @property
    def n(self) -> int:
        """Number of draws."""
        return self.ranks.shape[1]

    @property
    def time(self) -> float:
        """The longest autocorrelation time."""
        return float(self.times.max())

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Draws of each batch."""
        return np.diff(self.edges)

    @property
    def count(self) -> int:
        """Number of batches."""
        return self.edges.size - 1

    @property
    def df(self) -> float:
        """Degrees of freedom of a variance from the batches."""
        return self.count - 1.0

    @property
    def neighbours(self) -> NDArray[np.intp]:
        """The batches that are followed by another of the same chain."""
        last = np.arange(1, self.n_chains + 1) * (self.count // self.n_chains) - 1
        return np.setdiff1d(np.arange(self.count), last)

    # ---- where it is -------------------------------------------------------------------------------------------------

    def tile(self, order: int) -> tuple[int, int]:
        """How many variables are compared, with how many others, at a time."""
        return _TILE, _TILE

    @property
    def level_rows(self) -> int:
        """How many variables' taus with all later ones are computed at a time."""
        return _TILE

    def turn(self) -> AbstractContextManager[None]:
        """A context for a part of a computation."""
        return nullcontext()

    def there(self, array: NDArray[Any]) -> Any:
        """An array where this sample is."""
        return array

    def home(self, array: Any) -> NDArray[Any]:
        """An array from where this sample is, in the processor's memory."""
        return np.asarray(array)

    def rhats(self, n_chains: int) -> NDArray[np.float64]:
        """R-hat of the ranks of each variable, and of their distances from the middle: the larger one."""
        found = np.empty(len(self.ranks))
        for k, ranks in enumerate(self.ranks):
            u = ranks.reshape(n_chains, -1) / (2.0 * self.n) - 0.5
            found[k] = max(split_rhat(u), split_rhat(np.abs(u)))
        return found

    # ---- sums --------------------------------------------------------------------------------------------------------

    def levels(self, rows: slice, columns: slice, chosen: NDArray[np.intp]) -> tuple[Any, Any]:
        """Kendall's tau of pairs of a tile, (pair,), and its influence values summed over batches, (pair, batch).

        `chosen` are the places of the pairs in the tile, row by row.
        """
        own, other = self.columns[rows], self.columns[columns]
        taus, sums = np.empty(chosen.size), np.empty((chosen.size, self.count))
        for k, place in enumerate(chosen.tolist()):
            x, y = own[place // len(other)], other[place % len(other)]
            parts = (x.order, x.rank, x.tied_pairs, y.order, y.rank, y.tied_pairs)
            taus[k], _, influence = kernels.tau_and_influence(*parts)
            np.add.reduceat(influence, self.edges[:-1], out=sums[k])
        return taus, sums

    def products(self, left: Any, right: Any) -> Any:
        """Sums over batches of products of rows (row, draw) of two arrays, (batch, left, right)."""
        sums = np.empty((self.count, len(left), len(right)), self.dtype)
        for total, start, stop in zip(sums, self.edges[:-1], self.edges[1:], strict=True):
            np.matmul(left[:, start:stop], right[:, start:stop].T, out=total)
        return sums

    def values(self, rows: slice, order: int) -> Floats:
        """phi_1, ..., phi_order of some variables, (order, variable, draw), about their means."""
        found = np.take(self._polynomials[:order], self.ranks[rows], axis=1)
        if self._tied:
            found -= found.mean(axis=2, keepdims=True)
        return found

    def batch_terms(self, order: int) -> Floats:
        """Sums of B_jl over batches, (variable, l, j, batch), from those of the polynomials it consists of."""
        terms = rank_terms(order)
        sums = np.empty((len(self.ranks), terms.shape[2], self.count))
        for row, ranks in zip(sums, self.ranks, strict=True):
            np.add.reduceat(
                np.take(self._polynomials[: terms.shape[2]], ranks, axis=1), self.edges[:-1], axis=1, dtype=np.float64, out=row
            )
        found = np.einsum("jlr,xrt->xljt", terms, sums, optimize=True)
        return np.ascontiguousarray(found - found.mean(axis=3, keepdims=True), self.dtype)

    @lazy
    def _tied(self) -> bool:
        return bool((np.sort(self.ranks, axis=1) != 2 * np.arange(1, self.n + 1)).any())

    @lazy
    def _polynomials(self) -> Floats:
        """phi_r of every possible doubled mid-rank, (r, rank)."""
        size = 2 * HIGHEST_ORDER
        u = (np.arange(2 * self.n + 1) - 1.0) / (2.0 * self.n)
        rows = legendre.legvander(2.0 * u - 1.0, size)[:, 1:].T * np.sqrt(2.0 * np.arange(1, size + 1) + 1.0)[:, None]
        return np.ascontiguousarray(rows, self.dtype)


def rank_time(doubled: NDArray[Any], n_chains: int) -> float:
    """The longer autocorrelation time of phi_1 and phi_2 of a variable, from its doubled mid-ranks."""
    u = doubled.reshape(n_chains, -1) / (2.0 * doubled.size) - 0.5
    times = []
    for values in (u, u * u):
        variance, long_run, _, _ = kernels.long_run(values, False)
        times.append(long_run / variance if variance > 0 else 1.0)
    return max(*times, 1.0)


def batch_edges(n: int, n_chains: int, time: float, most: int) -> NDArray[np.intp]:
    """The bounds of batches: long against the autocorrelation, equally many in each chain, equally long up to one draw."""
    draws = n // n_chains
    independent = time <= 1.0 and n_chains == 1
    wanted = max(1, round(TIMES * time)) if not independent else 1
    fewest = -(-_FEWEST // n_chains)
    per_chain = min(max(min(draws // wanted, most // n_chains), fewest), max(draws // 2, 1))
    inside = np.linspace(0, draws, per_chain + 1).astype(np.intp)[:-1]
    starts = (np.arange(n_chains)[:, None] * draws + inside).ravel()
    return np.append(starts, n).astype(np.intp)


@dataclass(frozen=True, eq=False)
class CellTests:
    """Differences of coefficients, some cells of every row: a pair, or a triple, of variables.

    Attributes
    ----------
    z : array (row, cell)
        Differences as normal scores, with their signs.
    se : array (row, cell)
        Standard errors of the differences.
    variances : list of array (row, cell)
        Variances of the coefficients, for each sample.
    trace : array (row,)
        tr(R^2) of the scores of a row.
    third : array (row,)
        tr(R^3) of them.
    """

    z: NDArray[np.float64]
    se: NDArray[np.float64]
    variances: list[NDArray[np.float64]]
    trace: NDArray[np.float64]
    third: NDArray[np.float64]


def cell_tests(samples: Sequence[BatchedRanks], differences: Floats, sums: Sequence[Floats]) -> CellTests:
    """Test differences (row, cell), given the influence values of each sample summed over batches (row, cell, batch).

    The sums are scaled in place, so that their squares add up to variances. Arrays may be tensors, then the results are.
    """
    f, covariances = namespace(differences), []
    for sample, values in zip(samples, sums, strict=True):
        values *= 1.0 / (sample.n * math.sqrt(1.0 - 1.0 / sample.count))
        covariances.append(in_double_precision(values @ values.swapaxes(1, 2)))
    variances = [1.0 * covariance.diagonal(0, 1, 2) for covariance in covariances]
    total, df = welch(variances, [sample.df for sample in samples])
    total = f.maximum(total, SMALLEST / min(sample.n for sample in samples))
    t = differences / f.sqrt(total)
    z = f.copysign(approximate_scores(t, df), t)
    scale = 1.0 / (total[:, :, None] * total[:, None, :])
    m = z.shape[1]
    trace, chance = float(m), 0.0
    for sample, covariance, variance in zip(samples, covariances, variances, strict=True):
        shares = variance / total
        alone = (shares**2).sum(1)
        squares = (covariance**2 * scale).sum((1, 2)) - alone
        # products of estimated correlations exceed the true ones by chance, by (1 - rho^2)/df each
        by_chance = (shares.sum(1) ** 2 - alone) / sample.df
        trace = trace + f.maximum(squares - by_chance, 0.0) / (1.0 - 1.0 / sample.df)
        chance = chance + by_chance
    if len(samples) > 1:
        products = (covariances[0] * covariances[1] * scale).sum((1, 2))
        trace = trace + 2.0 * (products - (variances[0] * variances[1] / total**2).sum(1))
    trace = f.maximum(trace, float(m))
    correlations = sum(covariances[1:], covariances[0]) * f.sqrt(scale)
    cubes = ((correlations @ correlations) * correlations.swapaxes(1, 2)).sum((1, 2))
    # every square of an estimated correlation is in three of the products of three; tr(R^3) is at least tr(R^2)^2 / m
    return CellTests(z, f.sqrt(total), variances, trace, f.maximum(cubes - 3.0 * chance, trace**2 / m))


# ---- tests -----------------------------------------------------------------------------------------------------------


def approximate_scores(t: Any, df: Any) -> Any:
    """|t| of Student's t distribution as the normal quantile of the same probability, by Wallace's approximation.

    Within 0.5% for nine degrees of freedom and more, up to |t| = 8 (Wallace, 1959, Annals of Mathematical Statistics 30);
    unlike the exact one (`combination.normal_scores`) it neither underflows nor takes a microsecond.
    """
    f = namespace(t)
    return (8.0 * df + 1.0) / (8.0 * df + 3.0) * f.sqrt(df * f.log1p(t * t / df))


def batch_products(sums: Sequence[Floats], se: Floats) -> Any:
    """Products of the batches of all samples with each other, (batch, batch), added up over cells, in standard errors.

    `sums` are as `cell_tests` leaves them.
    """
    f = namespace(se)
    stacked = f.concat([values.reshape(-1, values.shape[2]) for values in sums], axis=1)
    if f is not np:
        stacked /= se.reshape(-1, 1)
        return stacked.T @ stacked
    stacked /= np.asarray(se, stacked.dtype).reshape(-1, 1)
    upper = (dsyrk if stacked.dtype == np.float64 else ssyrk)(1.0, stacked.T)  # half of a product
    return np.asarray(np.triu(upper) + np.triu(upper, 1).T, dtype=np.float64)


def welch(variances: Sequence[Any], dfs: Sequence[float]) -> tuple[Any, Any]:
    """The variance of a difference of independent estimates, and its degrees of freedom (Welch, 1947)."""
    total = sum(variances[1:], variances[0])
    weights = sum(v * v / df for v, df in zip(variances, dfs, strict=True))
    known = weights > 0
    f = namespace(total)
    return total, f.where(known, total * total / f.where(known, weights, 1.0), min(dfs))
