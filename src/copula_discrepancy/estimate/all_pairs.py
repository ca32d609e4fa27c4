"""The form of all pairs of many variables: coefficients, errors and p-values as matrix products, in tiles of variables.

A pair by itself costs two sorts and an influence value per draw and coefficient. Here coefficients come from one matrix product
per tile, and their errors from batch means, whose terms for ranks are products of what is known per variable and per pair: half
a million pairs of 4,000 draws take less than a minute.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.workers import blas_threads
from copula_discrepancy.estimate.basis import HIGHEST_ORDER, ORDER
from copula_discrepancy.estimate.batches import BatchedRanks, Floats, batch_products, cell_tests
from copula_discrepancy.estimate.combination import cauchy, largest_pvalues, sum_pvalues

_TILE = 24  # variables: the batch sums of 576 pairs, 100 batches, are 4 MB, which caches hold


@dataclass(frozen=True, eq=False)
class Tile:
    """Some pairs of a sample: coefficients (pair, j, k) and their influence values summed over batches (pair, j * k, batch)."""

    coefficients: Floats
    sums: Floats


@dataclass(frozen=True, eq=False)
class PairForms:
    """The forms of pairs of variables compared, one entry per pair.

    Attributes
    ----------
    first, second : array (pair,)
        The variables, by their place among the columns compared.
    own, other : array (pair, j, k)
        Coefficients of the draws, and of the reference or the known ones.
    se, z : array (pair, j, k)
        Standard errors of their differences, and the differences as normal scores.
    noise : array (pair,)
        The variances of the reference's coefficients, added up.
    pvalue : array (pair,)
        P-values of there being no difference.
    gram : array (batch, batch)
        Products of batch sums in standard errors, added up over all pairs and cells: batches of the draws first, then those of
        the reference. Zero unless requested.
    inner, strength : array (batch,)
        What each of these batches adds to the error of <A, B> and of <B, B>/2, added up over all pairs.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    own: Floats
    other: Floats
    se: Floats
    z: Floats
    noise: NDArray[np.float64]
    pvalue: NDArray[np.float64]
    gram: NDArray[np.float64]
    inner: NDArray[np.float64]
    strength: NDArray[np.float64]

    @property
    def distance(self) -> NDArray[np.float64]:
        """Root mean square difference of the two densities, smoothed to this order; 1 is that of independence from itself."""
        excess = np.sum((self.own - self.other) ** 2.0 - self.se**2.0, axis=(1, 2), dtype=np.float64)
        return np.sqrt(np.maximum(excess, 0.0))

    @property
    def kept(self) -> NDArray[np.float64]:
        """The share of the reference's dependence that the draws keep: <A, B>/(<B, B> - noise); NaN if it has none."""
        inner = np.einsum("pjk,pjk->p", self.own, self.other, dtype=np.float64)
        strength = np.einsum("pjk,pjk->p", self.other, self.other, dtype=np.float64) - self.noise
        # twice the noise: the ratio of two numbers that are both about 0 says nothing
        return np.divide(inner, strength, out=np.full(inner.shape, np.nan), where=strength > 2.0 * self.noise)


def compare_all(
    own: BatchedRanks,
    other: BatchedRanks | None,
    *,
    order: int = ORDER,
    known: Floats | None = None,
    gram: bool = False,
    n_jobs: int | None = -1,
    tick: Callable[[int], None] = lambda _: None,
) -> PairForms:
    """Compare all pairs of the same variables in two samples, or in one with known coefficients.

    Parameters
    ----------
    own, other : BatchedRanks
        The draws, and the reference or None.
    order : int
        Polynomials of each variable, at most 8.
    known : array (pair, order, order), optional
        Coefficients to compare with, in the order of `numpy.triu_indices`, if there is no reference; by default 0,
        independence.
    gram : bool
        Also multiply the batch sums of all pairs with each other, for a joint test.
    n_jobs : int, optional
        Threads.
    tick : callable
        Called with the number of pairs finished.

    Returns
    -------
    PairForms
        All pairs (i, j), i < j, row by row.
    """
    d = len(own.ranks)
    first, second = np.triu_indices(d, 1)
    samples = [own] if other is None else [own, other]
    terms = [sample.batch_terms(order) for sample in samples]
    place = np.zeros((d, d), np.intp)
    place[first, second] = np.arange(first.size)
    g = sum(sample.count for sample in samples)
    own_values, other_values, se, z = (np.zeros((first.size, order, order), np.float32) for _ in range(4))
    numbers = np.zeros(first.size), np.ones(first.size)
    pooled = np.zeros((g, g)), np.zeros(g), np.zeros(g)
    result = PairForms(first, second, own_values, other_values, se, z, *numbers, *pooled)
    if known is not None:
        result.other[:] = known

    def fill(row: int) -> list[Floats]:
        """One row of tiles; their sums are added up in order, so that threads do not change the last digits."""
        parts = [np.zeros_like(values) for values in pooled]
        rows = slice(row, min(row + _TILE, d))
        for start in range(row, d, _TILE):
            columns = slice(start, min(start + _TILE, d))
            x, y = np.indices((rows.stop - rows.start, columns.stop - columns.start)).reshape(2, -1)
            chosen = np.flatnonzero(x + rows.start < y + columns.start)
            if not chosen.size:
                continue
            at = place[x[chosen] + rows.start, y[chosen] + columns.start]
            tiles = [_tile(sample, term, (rows, columns), chosen, order) for sample, term in zip(samples, terms, strict=True)]
            _judge(samples, tiles, result, at, order)
            if gram:
                _pool(tiles, result, at, parts)
            tick(chosen.size)
        return parts

    for parts in blas_threads(fill, range(0, d, _TILE), n_jobs):
        for total, part in zip(pooled, parts, strict=True):
            total += part
    return result


def _tile(sample: BatchedRanks, terms: Floats, part: tuple[slice, slice], chosen: NDArray[np.intp], order: int) -> Tile:
    """The chosen pairs of a tile: their coefficients, and the batch sums of influence values."""
    left, right = (sample.values(rows, HIGHEST_ORDER) for rows in part)
    m, w, n, g = left.shape[1], right.shape[1], sample.n, sample.count
    # every coefficient up to order 8, since a rank costs through coefficients of all orders: (x, j, y, k)
    every = (left.reshape(-1, n) @ right.reshape(-1, n).T / n).reshape(HIGHEST_ORDER, m, HIGHEST_ORDER, w)
    every = every.transpose(1, 3, 0, 2).reshape(m * w, HIGHEST_ORDER, HIGHEST_ORDER)[chosen]
    a, b = (np.ascontiguousarray(block[:order]).reshape(order * block.shape[1], n) for block in (left, right))
    sums = np.empty((g, order * m, order * w), sample.dtype)
    for t, (start, stop) in enumerate(zip(sample.edges[:-1], sample.edges[1:], strict=True)):
        np.matmul(a[:, start:stop], b[:, start:stop].T, out=sums[t])
    found = sums.reshape(g, order, m, order, w).transpose(2, 4, 1, 3, 0).reshape(m * w, order, order, g)[chosen]
    coefficients = np.ascontiguousarray(every[:, :order, :order])
    found -= coefficients[..., None] * sample.lengths.astype(sample.dtype)
    x, y = chosen // w, chosen % w
    # sum over l of a_lk B_jl(U): (k, l) @ (l, j * batch)
    of_left, of_right = (terms[rows, 1:].reshape(-1, HIGHEST_ORDER, order * g) for rows in part)
    of_x = np.matmul(every[:, :, :order].transpose(0, 2, 1), of_left[x]).reshape(-1, order, order, g)
    found += of_x.transpose(0, 2, 1, 3)
    found += np.matmul(every[:, :order], of_right[y]).reshape(-1, order, order, g)
    return Tile(coefficients, found.reshape(-1, order * order, g))


def _judge(samples: Sequence[BatchedRanks], tiles: Sequence[Tile], result: PairForms, at: NDArray[np.intp], order: int) -> None:
    """Fill in the rows of a result."""
    m = order * order
    if len(tiles) > 1:
        result.other[at] = tiles[1].coefficients
    differences = (tiles[0].coefficients - result.other[at]).reshape(-1, m)
    tests = cell_tests(samples, differences, [tile.sums for tile in tiles])
    if len(tiles) > 1:
        result.noise[at] = tests.variances[1].sum(axis=1)
    result.own[at] = tiles[0].coefficients
    result.se[at], result.z[at] = (values.reshape(-1, order, order) for values in (tests.se, tests.z))
    by_sum = sum_pvalues(np.sum(tests.z**2, axis=1), m, tests.trace, tests.third)
    result.pvalue[at] = cauchy([by_sum, largest_pvalues(np.abs(tests.z).max(axis=1), m)])


def _pool(tiles: Sequence[Tile], result: PairForms, at: NDArray[np.intp], pooled: Sequence[Floats]) -> None:
    """Add the batch sums of a tile to those of all pairs."""
    flat = [tile.sums.reshape(-1, tile.sums.shape[2]) for tile in tiles]
    own, other = (values[at].reshape(-1) for values in (result.own, result.other))
    g = flat[0].shape[1]
    pooled[1][:g] += other @ flat[0]
    if len(flat) > 1:
        pooled[1][g:] += own @ flat[1]
        pooled[2][g:] += other @ flat[1]
    pooled[0][:] += batch_products([tile.sums for tile in tiles], result.se[at])
