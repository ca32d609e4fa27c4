"""Three variables at a time: how the dependence of two changes with the third.

a_jkm = E[phi_j(U) phi_k(V) phi_m(W)]. a_111 is the slope of a correlation along a third variable: it is 0 for every elliptical
copula, and not 0 for a hierarchical scale or an exclusive or, of which pairs show nothing. Where one of the three is squared
(phi_2), the ends of a variable are compared with its middle. All triples are matrix products, one variable at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from copula_discrepancy._core.arrays import namespace
from copula_discrepancy._core.workers import blas_threads
from copula_discrepancy.estimate.basis import HIGHEST_ORDER
from copula_discrepancy.estimate.batches import BatchedRanks, Floats, batch_products, cell_tests
from copula_discrepancy.estimate.combination import cauchy, largest_pvalues

MOST_VARIABLES = 100  # 161,700 triples
ORDER = 2
CELLS = ((1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 2), (2, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2))
# An elliptical copula looks the same from both ends, so coefficients of odd order are 0; the others are not.
ODD = tuple(k for k, cell in enumerate(CELLS) if sum(cell) % 2 == 1)


@dataclass(frozen=True, eq=False)
class TripleForms:
    """All triples of variables compared, one entry per triple.

    Attributes
    ----------
    places : array (triple, 3)
        The variables, by their place among the columns compared, in order.
    own, other : array (triple, cell)
        Coefficients of the draws, and of the reference; the cells are those of `CELLS`.
    own_se, other_se : array (triple, cell)
        Their standard errors; 0 for the reference if there is none.
    z : array (triple, cell)
        Differences as normal scores; 0 for cells that are not tested.
    pvalue : array (triple,)
        P-values: a_111 alone, combined with the largest of the other cells.
    cell : array (triple,)
        The cell that the smaller of these two p-values belongs to.
    gram : array (batch, batch)
        Products of batch sums, as in `PairForms`.
    """

    places: NDArray[np.intp]
    own: Floats
    other: Floats
    own_se: Floats
    other_se: Floats
    z: Floats
    pvalue: NDArray[np.float64]
    cell: NDArray[np.intp]
    gram: NDArray[np.float64]


_COLUMNS = tuple(name for name in TripleForms.__dataclass_fields__ if name != "gram")


def compare_triples(
    own: BatchedRanks,
    other: BatchedRanks | None,
    *,
    n_jobs: int | None = -1,
    tick: Callable[[int], None] = lambda _: None,
) -> TripleForms:
    """Compare all triples of the same variables in two samples; in one, test the cells that are 0 for an elliptical copula.

    Parameters
    ----------
    own, other : BatchedRanks
        The draws, and the reference or None.
    n_jobs : int, optional
        Threads.
    tick : callable
        Called with the number of triples finished.

    Returns
    -------
    TripleForms
        All triples (i, j, k), i < j < k.
    """
    samples = [own] if other is None else [own, other]
    with own.turn():
        terms = [sample.batch_terms(ORDER) for sample in samples]
    d = len(own.ranks)
    tested = np.array([len(samples) > 1 or k in ODD for k in range(len(CELLS))])

    def fill(x: int) -> TripleForms:
        y, z = np.triu_indices(d - x - 1, 1)
        home, there = own.home, own.there
        with own.turn():
            found = [_row(*sample, x, there(y), there(z)) for sample in zip(samples, terms, strict=True)]
            ours = found[0][0]
            theirs = found[1][0] if len(found) > 1 else 0.0 * ours
            tests = cell_tests(samples, ours - theirs, [sums for _, sums in found])
            gram = home(batch_products([sums for _, sums in found], tests.se))
            scores = np.where(tested, home(tests.z), 0.0)
            ses = [np.sqrt(home(variances)) for variances in tests.variances]
            coefficients = home(ours), home(theirs)
        places = np.stack([np.full(y.size, x), y + x + 1, z + x + 1], axis=1)
        tick(y.size)
        ses.append(np.zeros_like(ses[0]))
        judged = triple_pvalues(scores, int(tested.sum()))
        return TripleForms(places, *coefficients, ses[0], ses[1], scores, *judged, gram)

    parts = blas_threads(fill, range(d - 2), n_jobs)
    gram = np.sum([part.gram for part in parts], axis=0)
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
    return TripleForms(**columns, gram=gram)


def triple_pvalues(scores: Floats, tested: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Half of the weight is a_111's: as one of eight cells it would find less of what it is there to find."""
    sizes = np.abs(scores)
    slope = 2.0 * ndtr(-sizes[:, 0])
    rest = 1 + np.argmax(sizes[:, 1:], axis=1)
    others = largest_pvalues(sizes[np.arange(len(sizes)), rest], tested - 1)
    return cauchy([slope, others]), np.where(slope <= others, 0, rest)


def _row(sample: BatchedRanks, terms: Any, x: int, y: Any, z: Any) -> tuple[Any, Any]:
    """Coefficients (triple, cell) and batch sums (triple, cell, batch) of all triples that begin with variable x.

    The influence value of a draw is phi_j phi_k phi_m - a_jkm, and for each variable, such as the first, the cost of its ranks,
    sum over l of E[phi_l(U) phi_k(V) phi_m(W)] B_jl(u); with l = 0, B_j0 = -phi_j, times the coefficient of the other two.
    """
    n, g, r = sample.n, sample.count, len(sample.ranks) - x - 1
    rest = sample.values(slice(x + 1, None), HIGHEST_ORDER)
    f = namespace(rest)
    one = sample.there(np.ones((1, r, n), sample.dtype))
    first = f.concat([one[:, 0], sample.values(slice(x, x + 1), HIGHEST_ORDER)[:, 0]])
    pair = f.ascontiguousarray(rest[:ORDER]).reshape(ORDER * r, n)
    whole = f.concat([one, rest]).reshape(-1, n)
    # E[phi_l(x) phi_k(y) phi_m(z)], (l, y, z, k, m)
    of_x = f.stack([_moments(pair * row, pair, ORDER, ORDER) for row in first])[:, y, z]
    # E[phi_j(x) phi_l(a) phi_m(b)] for all a and b, (j, a, b, l, m)
    of_rest = f.stack([_moments(whole * row, pair, HIGHEST_ORDER + 1, ORDER) for row in first[1 : ORDER + 1]])
    coefficients = f.permute_dims(of_x[1 : ORDER + 1], (1, 0, 2, 3))
    sums = f.stack([sample.products(pair * row, pair) for row in first[1 : ORDER + 1]])
    # the triples move to the front, (triple, j, batch, k, m)
    found = f.permute_dims(sums.reshape(ORDER, g, ORDER, r, ORDER, r)[:, :, :, y, :, z], (0, 1, 3, 4, 2))
    found = found - coefficients[..., None] * sample.there(sample.lengths.astype(sample.dtype))
    # (l, j * batch) of every variable
    ranked = terms.reshape(len(terms), HIGHEST_ORDER + 1, ORDER * g)
    shape = (-1, ORDER, ORDER, ORDER, g)
    by_x = f.ascontiguousarray(f.permute_dims(of_x, (1, 2, 3, 0))).reshape(-1, HIGHEST_ORDER + 1) @ ranked[x]
    found += f.permute_dims(by_x.reshape(shape), (0, 3, 1, 2, 4))  # (triple, k, m, j)
    for a, b, axes in ((y, z, (0, 1, 3, 2, 4)), (z, y, (0, 1, 2, 3, 4))):  # (triple, j, m, k) and (triple, j, k, m)
        moments = f.permute_dims(of_rest[:, a, b], (1, 0, 3, 2)).reshape(-1, ORDER * ORDER, HIGHEST_ORDER + 1)
        found += f.permute_dims(f.matmul(moments, ranked[x + 1 + a]).reshape(shape), axes)
    return coefficients.reshape(-1, len(CELLS)), f.ascontiguousarray(found).reshape(-1, len(CELLS), g)


def _moments(left: Any, right: Any, rows: int, columns: int) -> Any:
    """Means of products, (a, b, l, m), of variables a with polynomials l and b with polynomials m."""
    products = left @ right.T / left.shape[1]
    shape = (rows, -1, columns, products.shape[1] // columns)
    return namespace(products).permute_dims(products.reshape(shape), (1, 3, 0, 2))
