"""Three variables at a time, of rows that were counted: the coefficients of `triples` from sums of products and small tables.

E[phi_j(U) phi_k(V) phi_m(W)] has three parts. The polynomials are approximated by f = c_0 + c_1 w_1 + c_2 w_2, with functions
w of a bin whose products were added up, which gives the mean of f f f with no other error than that of the bins. The mean of
phi phi phi - f f f comes from a table of groups of bins: it is small, because w was made from the ranks of a pilot sample, and
extrapolated to groups of no width (see `grid`). What the bins themselves hide is a multiple of the variance of ranks in them:
the groups, which have more of it, show the multiple. Standard errors count what the second and the third part may be off by.
"""

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy._core.workers import blas_threads
from copula_discrepancy.estimate.basis import slopes
from copula_discrepancy.estimate.batches import SMALLEST, approximate_scores
from copula_discrepancy.estimate.form import CellSpread
from copula_discrepancy.estimate.grid import above, bin_means, extrapolated, extrapolated_with_error
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_reading import pair_counts
from copula_discrepancy.estimate.triple_counts import GROUPS, ORDER, SCALE, groups_of, weights_of
from copula_discrepancy.estimate.triples import CELLS, ODD, TripleForms, triple_pvalues

Array = NDArray[np.float64]

_PART = 64  # triples of a task: some twenty milliseconds


class _Groups(NamedTuple):
    """A variable in groups of bins.

    Attributes
    ----------
    phi, approximated : array (2, group)
        The means of the polynomials of ranks in each group, and of the functions that approximate them.
    slope : array (2, group)
        The means of the derivatives of the polynomials.
    hidden : float
        The variance of phi_1 within groups.
    """

    phi: Array
    approximated: Array
    slope: Array
    hidden: float


class _Variable:
    """One variable of a sample: its polynomials in every bin, and in groups of bins."""

    def __init__(self, sketch: DependenceSketch, column: int) -> None:
        bins, rows = sketch.plan_.columns[column], np.asarray(sketch.margins[column][:-1], np.float64)
        used = rows > 0
        self.shares = rows / rows.sum()
        edges = np.concatenate([[0.0], np.cumsum(self.shares[used])])
        phi = np.zeros((ORDER, rows.size))
        phi[:, used] = bin_means(edges, bins.single[used], ORDER)
        self._phi = phi - (phi @ self.shares)[:, None]  # mid-ranks of ties have means of their own
        self._middles = np.cumsum(self.shares) - 0.5 * self.shares
        self.hidden = float(np.sum(self.shares[~bins.single] ** 3))
        # the functions whose products were added up, and a constant, (3, bin)
        self.functions = np.concatenate([np.ones((1, rows.size)), weights_of(bins)[:-1].T / SCALE])
        root = np.sqrt(self.shares)
        self.weights: Array = np.linalg.lstsq((self.functions * root).T, (self._phi * root).T, rcond=None)[0].T
        self._groups = groups_of(bins)[:-1].astype(np.intp)

    @lazy
    def levels(self) -> tuple[_Groups, _Groups, _Groups]:
        """In 16, 8 and 4 groups."""
        return self._at(1), self._at(2), self._at(4)

    def _at(self, merged: int) -> _Groups:
        size = GROUPS // merged
        inside = np.zeros((size, self.shares.size))
        inside[self._groups // merged, np.arange(self.shares.size)] = self.shares
        shares = inside.sum(axis=1)
        means = np.divide(inside, shares[:, None], out=np.zeros_like(inside), where=shares[:, None] > 0.0).T
        phi = self._phi @ means
        hidden = self.hidden + float(self.shares @ self._phi[0] ** 2 - shares @ phi[0] ** 2)
        return _Groups(phi, self.weights @ self.functions @ means, slopes(self._middles @ means, ORDER), hidden)


class CountedTriples:
    """Some variables of a sample whose triples were counted.

    Parameters
    ----------
    sketch : DependenceSketch
        The sample.
    columns : sequence of int
        Its columns, by their number in the sketch; values of none of them are missing.
    """

    def __init__(self, sketch: DependenceSketch, columns: Sequence[int]) -> None:
        if sketch.triples is None:
            raise InputError(
                "the sketch has no counts of triples; make it with DependenceSketch.plan(..., triples=True)", "argument"
            )
        self.n = float(sketch.n)
        self._columns, self._counts = tuple(columns), sketch.triples
        self._variables = [_Variable(sketch, k) for k in columns]
        self._pairs: dict[tuple[int, int], Array] = {}
        for i, j in combinations(range(len(columns)), 2):
            table = pair_counts(sketch, columns[i], columns[j])[:-1, :-1].astype(np.float64)
            self._pairs[i, j] = self._variables[i].functions @ table @ self._variables[j].functions.T / self.n

    def triple(self, places: tuple[int, int, int]) -> tuple[Array, Array, Array]:
        """Coefficients, standard errors and their degrees of freedom, of eight cells each; see `triples.CELLS`."""
        x, y, z = places
        chosen = [self._variables[k] for k in places]
        table, sums = self._counts.of((self._columns[x], self._columns[y], self._columns[z]))
        moments = np.empty((ORDER + 1,) * 3)
        moments[:, :, 0], moments[:, 0], moments[0] = self._pairs[x, y], self._pairs[x, z], self._pairs[y, z]
        moments[1:, 1:, 1:] = sums / (self.n * SCALE**3)
        fitted = _product(moments, [one.weights.T for one in chosen])
        shares = [table / self.n, _merged(table) / self.n, _merged(_merged(table)) / self.n]
        levels = [[one.levels[k] for one in chosen] for k in range(3)]
        whole = [_product(p, [one.phi.T for one in level]) for p, level in zip(shares, levels, strict=True)]
        approximated = [_product(p, [one.approximated.T for one in level]) for p, level in zip(shares, levels, strict=True)]
        rest, rest_error = extrapolated_with_error(*(a - b for a, b in zip(whole, approximated, strict=True)))
        value = fitted + rest
        # the variance of ranks within bins, and within 16 and 8 groups: a coefficient falls in proportion to it
        inside = sum(one.hidden for one in chosen)
        fine, coarse = (sum(one.hidden for one in level) for level in levels[:2])
        by_bins = (value - whole[0]) * _ratio(inside, fine - inside)
        by_groups = (whole[0] - whole[1]) * _ratio(inside, coarse - fine)
        value = value + by_bins
        error = np.hypot(rest_error, by_bins - by_groups)
        spread = self._spread(shares, levels)
        se, df, _ = (part[0] for part in spread.without(np.zeros((1, len(CELLS))), int(self.n)))
        return value, np.hypot(se, error), df

    def _spread(self, shares: list[Array], levels: list[list[_Groups]]) -> CellSpread:
        """Variances of influence values, which groups make too small by a multiple of the squared width: extrapolated."""
        squares, fourths = [], np.empty(0)
        for p, level in zip(shares[:2], levels[:2], strict=True):
            values = _influence(p, level)
            squared = values * values
            squares.append(p.ravel() @ squared)
            if not fourths.size:
                fourths = p.ravel() @ (squared * squared)
        variance = np.maximum(extrapolated(squares[0], squares[1]), squares[0])
        fourths = fourths * (variance / np.maximum(squares[0], math.ulp(0.0))) ** 2
        n = int(self.n)
        return CellSpread.of_batches(variance[None] * n, fourths[None] * n, variance[None], n, n, iid=True)


def _product(table: Array, functions: Sequence[Array]) -> Array:
    """sum of table[a, b, c] f_j[a] g_k[b] h_m[c], one for each cell (j, k, m)."""
    found = table
    for one in functions:  # the first axis is replaced, and goes to the end
        found = np.tensordot(found, one, axes=(0, 0))
    return np.asarray(found).ravel()


def _merged(table: Array) -> Array:
    """Groups merged two and two."""
    a, b, c = (size // 2 for size in table.shape)
    found: Array = table.reshape(a, 2, b, 2, c, 2).sum(axis=(1, 3, 5))
    return found


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0


def _influence(shares: Array, level: Sequence[_Groups]) -> Array:
    """The influence of a row in each cell of a table on the coefficients, (cell, coefficient); see `Grid.form_influence`."""
    f, g, h = (one.phi for one in level)
    found = np.einsum("ja,kb,mc->abcjkm", f, g, h)
    # E[the other two; group], times the slope, summed over higher groups and half of the own one
    of_first = np.einsum("ja,abc,kb,mc->ajkm", level[0].slope, shares, g, h, optimize=_LEFT)
    of_second = np.einsum("kb,abc,ja,mc->bjkm", level[1].slope, shares, f, h, optimize=_LEFT)
    of_third = np.einsum("mc,abc,ja,kb->cjkm", level[2].slope, shares, f, g, optimize=_LEFT)
    found += above(of_first)[:, None, None]
    found += above(of_second)[None, :, None]
    found += above(of_third)[None, None]
    flat = found.reshape(shares.size, len(CELLS))
    flat -= shares.ravel() @ flat
    return flat


# the table with the polynomials of the other two variables, one after the other, and then with the slopes
_LEFT = ["einsum_path", (1, 3), (1, 2), (0, 1)]


def compare_counted_triples(
    own: CountedTriples,
    other: CountedTriples | None,
    count: int,
    *,
    n_jobs: int | None = -1,
    tick: Callable[[int], None] = lambda _: None,
) -> TripleForms:
    """Compare all triples of the same variables in two samples that were counted; see `triples.compare_triples`.

    Parameters
    ----------
    own, other : CountedTriples
        The draws, and the reference or None.
    count : int
        The number of variables.
    n_jobs : int, optional
        Threads.
    tick : callable
        Called with the number of triples finished.

    Returns
    -------
    TripleForms
        All triples (i, j, k), i < j < k; without products of batches, of which there are none.
    """
    places = list(combinations(range(count), 3))
    samples = [own] if other is None else [own, other]

    def fill(start: int) -> list[list[tuple[Array, Array, Array]]]:
        part = places[start : start + _PART]
        found = [[sample.triple(one) for one in part] for sample in samples]
        tick(len(part))
        return found

    parts = blas_threads(fill, range(0, len(places), _PART), n_jobs)
    numbers = [[np.stack([row[k] for part in parts for row in part[side]]) for k in range(3)] for side in range(len(samples))]
    (value, se, df), theirs = numbers[0], numbers[1] if other is not None else None
    aim, aim_se = (np.zeros_like(value), np.zeros_like(se)) if theirs is None else (theirs[0], theirs[1])
    total = se**2 + aim_se**2
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = se**4 / df + (0.0 if theirs is None else aim_se**4 / theirs[2])
        df = np.where(weight > 0.0, total**2 / weight, 1.0)
    total = np.maximum(total, SMALLEST / min(sample.n for sample in samples))
    t = (value - aim) / np.sqrt(total)
    tested = np.array([other is not None or k in ODD for k in range(len(CELLS))])
    scores = np.where(tested, np.copysign(approximate_scores(t, df), t), 0.0)
    return TripleForms(
        np.array(places, np.intp), value, aim, se, aim_se, scores, *triple_pvalues(scores, int(tested.sum())), np.zeros((0, 0))
    )
