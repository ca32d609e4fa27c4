"""The form of all pairs of many variables: coefficients, errors and p-values as matrix products, in tiles of variables.

A pair by itself costs two sorts and an influence value per draw and coefficient. Here coefficients come from one matrix product
per tile, and their errors from batch means, whose terms for ranks are products of what is known per variable and per pair: half
a million pairs of 4,000 draws take less than a minute.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from copula_discrepancy._core.arrays import in_double_precision, in_single_precision, namespace
from copula_discrepancy._core.workers import blas_threads
from copula_discrepancy.estimate.basis import HIGHEST_ORDER, ORDER
from copula_discrepancy.estimate.batches import BatchedRanks, Floats, batch_products, cell_tests
from copula_discrepancy.estimate.combination import cauchy, largest_pvalues, sum_pvalues


class Tile(NamedTuple):
    """Some pairs of a sample: coefficients (pair, cell), and their influence values summed over batches (pair, cell, batch)."""

    coefficients: Any
    sums: Any


class Levels(NamedTuple):
    """Kendall's tau of pairs of variables compared, one entry per pair.

    Those of the draws and of the reference, the standard error of their difference, and its p-value.
    """

    own: NDArray[np.float64]
    other: NDArray[np.float64]
    se: NDArray[np.float64]
    pvalue: NDArray[np.float64]


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
    excess : array (pair,)
        Squared differences of the coefficients, added up, less what chance contributes.
    common, squares : array (pair,)
        <A, B> and <B, B> of the coefficients A of the draws and B of the reference.
    noise : array (pair,)
        The variances of the reference's coefficients, added up.
    scores : array (pair,)
        Squared normal scores, added up.
    pvalue : array (pair,)
        P-values of there being no difference in form.
    gram : array (batch, batch)
        Products of batch sums in standard errors, added up over all pairs and cells: batches of the draws first, then those of
        the reference. Zero unless requested.
    inner, strength : array (batch,)
        What each of these batches adds to the error of <A, B> and of <B, B>/2, added up over all pairs.
    levels : Levels or None
        Kendall's taus, if requested.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    own: Floats
    other: Floats
    se: Floats
    z: Floats
    excess: NDArray[np.float64]
    common: NDArray[np.float64]
    squares: NDArray[np.float64]
    noise: NDArray[np.float64]
    scores: NDArray[np.float64]
    pvalue: NDArray[np.float64]
    gram: NDArray[np.float64]
    inner: NDArray[np.float64]
    strength: NDArray[np.float64]
    levels: Levels | None = None

    @property
    def distance(self) -> NDArray[np.float64]:
        """Root mean square difference of the two densities, smoothed to this order; 1 is that of independence from itself."""
        return np.sqrt(np.maximum(self.excess, 0.0))

    @property
    def kept(self) -> NDArray[np.float64]:
        """The share of the reference's dependence that the draws keep: <A, B>/(<B, B> - noise); NaN if it has none."""
        strength = self.squares - self.noise
        # twice the noise: the ratio of two numbers that are both about 0 says nothing
        return np.divide(self.common, strength, out=np.full(strength.shape, np.nan), where=strength > 2.0 * self.noise)


def compare_all(
    own: BatchedRanks,
    other: BatchedRanks | None,
    *,
    order: int = ORDER,
    known: Floats | None = None,
    gram: bool = False,
    level: bool = False,
    n_jobs: int | None = -1,
    tick: Callable[[int], None] = lambda _: None,
) -> PairForms:
    """Compare all pairs of the same variables in two samples, or in one with known coefficients.

    Parameters
    ----------
    own, other : BatchedRanks
        The draws, and the reference or None; here or on a device, both at the same place.
    order : int
        Polynomials of each variable, at most 8.
    known : array (pair, order, order), optional
        Coefficients to compare with, in the order of `numpy.triu_indices`, if there is no reference; by default 0,
        independence.
    gram : bool
        Also multiply the batch sums of all pairs with each other, for a joint test.
    level : bool
        Also compare Kendall's taus, with 0 if there is no reference.
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
    with own.turn():
        terms = [sample.batch_terms(order) for sample in samples]
    start_of_row = np.concatenate([[0], np.cumsum(np.arange(d - 1, 0, -1))]) if d > 1 else np.zeros(1, np.intp)
    g = sum(sample.count for sample in samples)
    cells: dict[str, Any] = {name: np.zeros((first.size, order, order), np.float32) for name in ("own", "other", "se", "z")}
    numbers = {name: np.zeros(first.size) for name in ("excess", "common", "squares", "noise", "scores", "pvalue")}
    pooled = np.zeros((g, g)), np.zeros(g), np.zeros(g)
    levels = Levels(*(np.zeros(first.size) for _ in range(4))) if level else None
    together = dict(zip(("gram", "inner", "strength"), pooled, strict=True))
    result = PairForms(first, second, **cells, **numbers, **together, levels=levels)
    if known is not None:
        result.other[:] = known
    height, width = own.tile(order)

    def fill(row: int) -> list[Floats]:
        """One row of tiles; their sums are added up in order, so that threads do not change the last digits."""
        parts = [np.zeros_like(values) for values in pooled]
        rows = slice(row, min(row + height, d))
        for start in range(row, d, width):
            columns = slice(start, min(start + width, d))
            chosen, at = _pairs(rows, columns, start_of_row, d)
            if not chosen.size:
                continue
            with own.turn():
                places = own.there(chosen)
                tiles = [_tile(*sample, (rows, columns), places, order) for sample in zip(samples, terms, strict=True)]
                scores, errors = _compare(samples, tiles, result, at, order)
                if gram:
                    _pool(own, tiles, result, at, errors, parts)
            result.pvalue[at] = _pvalues(scores, order * order)
            tick(chosen.size)
        return parts

    def fill_levels(row: int) -> None:
        assert levels is not None
        rows, columns = slice(row, min(row + own.level_rows, d)), slice(row, d)
        with own.turn():
            _compare_levels(samples, (rows, columns), *_pairs(rows, columns, start_of_row, d), levels)

    if levels is not None:
        blas_threads(fill_levels, range(0, d, own.level_rows), n_jobs)
    for parts in blas_threads(fill, range(0, d, height), n_jobs):
        for total, part in zip(pooled, parts, strict=True):
            total += part
    return result


def _pairs(rows: slice, columns: slice, starts: NDArray[np.intp], d: int) -> tuple[NDArray[np.intp], Any]:
    """The pairs (i, j), i < j, of a tile, by their places in it, row by row, and where they are among all pairs."""
    x, y = np.indices((rows.stop - rows.start, columns.stop - columns.start)).reshape(2, -1)
    i, j = x + rows.start, y + columns.start
    chosen = np.flatnonzero(i < j)
    if columns == slice(rows.start, d):  # all that begin with these variables: they are adjacent
        return chosen, slice(int(starts[rows.start]), int(starts[rows.start]) + chosen.size)
    return chosen, starts[i[chosen]] + j[chosen] - i[chosen] - 1


def _tile(sample: BatchedRanks, terms: Any, part: tuple[slice, slice], chosen: Any, order: int) -> Tile:
    """The chosen pairs of a tile: their coefficients, and the batch sums of influence values."""
    left, right = (sample.values(rows, HIGHEST_ORDER) for rows in part)
    f, m, w, n, g = namespace(left), left.shape[1], right.shape[1], sample.n, sample.count
    # every coefficient up to order 8, since a rank costs through coefficients of all orders: (j, x, k, y)
    every = (left.reshape(-1, n) @ right.reshape(-1, n).T / n).reshape(HIGHEST_ORDER, m, HIGHEST_ORDER, w)
    coefficients = f.permute_dims(every[:order, :, :order], (1, 3, 0, 2)).reshape(m * w, order * order)
    a, b = (f.ascontiguousarray(block[:order]).reshape(order * block.shape[1], n) for block in (left, right))
    sums = sample.products(a, b).reshape(g, order, m, order, w)
    found = f.ascontiguousarray(f.permute_dims(sums, (2, 4, 1, 3, 0)))  # (x, y, j, k, batch)
    found -= coefficients.reshape(m, w, order, order, 1) * sample.there(sample.lengths.astype(sample.dtype))
    # sum over l of a_lk B_jl(U), for every x: (y * k, l) @ (l, j * batch)
    of_left, of_right = (terms[rows, 1:].reshape(-1, HIGHEST_ORDER, order * g) for rows in part)
    of_x = f.permute_dims(every[:, :, :order], (1, 3, 2, 0)).reshape(m, w * order, HIGHEST_ORDER) @ of_left
    found += f.permute_dims(of_x.reshape(m, w, order, order, g), (0, 1, 3, 2, 4))
    # and sum over l of a_jl B_kl(V), for every y: (x * j, l) @ (l, k * batch)
    of_y = f.permute_dims(every[:order], (3, 1, 0, 2)).reshape(w, m * order, HIGHEST_ORDER) @ of_right
    found += f.permute_dims(of_y.reshape(w, m, order, order, g), (1, 0, 2, 3, 4))
    flat = found.reshape(m * w, order * order, g)
    return Tile(coefficients, flat) if len(chosen) == m * w else Tile(coefficients[chosen], flat[chosen])


def _compare(
    samples: Sequence[BatchedRanks], tiles: Sequence[Tile], result: PairForms, at: Any, order: int
) -> tuple[tuple[NDArray[np.float64], ...], Any]:
    """Fill in coefficients, scores and errors; returned are what p-values are made of, and the errors where they are."""
    home = samples[0].home
    shape = (-1, order, order)
    ours = tiles[0].coefficients
    theirs = tiles[1].coefficients if len(tiles) > 1 else samples[0].there(result.other[at].reshape(-1, order * order))
    tests = cell_tests(samples, ours - theirs, [tile.sums for tile in tiles])
    for array, values in ((result.own, ours), (result.other, theirs), (result.se, tests.se), (result.z, tests.z)):
        array[at] = home(in_single_precision(values)).reshape(shape)
    ours, theirs = in_double_precision(ours), in_double_precision(theirs)
    result.excess[at] = home(((ours - theirs) ** 2 - tests.se**2).sum(1))
    result.common[at], result.squares[at] = home((ours * theirs).sum(1)), home((theirs * theirs).sum(1))
    if len(tiles) > 1:
        result.noise[at] = home(tests.variances[1].sum(1))
    f = namespace(tests.z)
    scores = [home(values) for values in ((tests.z**2).sum(1), f.amax(f.abs(tests.z), 1), tests.trace, tests.third)]
    result.scores[at] = scores[0]
    return tuple(scores), tests.se


def _pvalues(scores: Sequence[Floats], cells: int) -> NDArray[np.float64]:
    """P-values of pairs from the sums of their squared scores, the largest of them, and tr(R^2) and tr(R^3)."""
    total, largest, trace, third = scores
    return cauchy([sum_pvalues(total, cells, trace, third), largest_pvalues(largest, cells)])


def _compare_levels(
    samples: Sequence[BatchedRanks], part: tuple[slice, slice], chosen: NDArray[np.intp], at: Any, levels: Levels
) -> None:
    """Fill in Kendall's taus, the errors of their differences, and p-values."""
    home, found = samples[0].home, [sample.levels(*part, chosen) for sample in samples]
    differences = found[0][0] - found[1][0] if len(found) > 1 else found[0][0]
    tests = cell_tests(samples, differences[:, None], [sums[:, None] for _, sums in found])
    for column, (taus, _) in zip((levels.own, levels.other), found, strict=False):
        column[at] = home(taus)
    levels.se[at] = home(tests.se)[:, 0]
    levels.pvalue[at] = 2.0 * ndtr(-np.abs(home(tests.z)[:, 0]))


def _pool(
    sample: BatchedRanks, tiles: Sequence[Tile], result: PairForms, at: Any, errors: Any, pooled: Sequence[Floats]
) -> None:
    """Add the batch sums of a tile to those of all pairs."""
    home, there = sample.home, sample.there
    flat = [tile.sums.reshape(-1, tile.sums.shape[2]) for tile in tiles]
    own = tiles[0].coefficients.reshape(-1)
    other = tiles[1].coefficients.reshape(-1) if len(tiles) > 1 else there(result.other[at]).reshape(-1)
    g = flat[0].shape[1]
    pooled[1][:g] += home(other @ flat[0])
    if len(flat) > 1:
        pooled[1][g:] += home(own @ flat[1])
        pooled[2][g:] += home(other @ flat[1])
    pooled[0][:] += home(batch_products([tile.sums for tile in tiles], errors))
