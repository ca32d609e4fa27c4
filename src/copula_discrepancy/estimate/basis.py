"""Orthonormal polynomials of ranks, the functions that form compares two samples by.

phi_j(u) = sqrt(2j + 1) P_j(2u - 1), with P_j Legendre's polynomial, is orthonormal on [0, 1]: phi_1 rises with a variable,
phi_2 is large at both of its ends, phi_3 and phi_4 turn twice and three times. A mean of phi_j(U) over draws is 0 for j > 0 if
U is uniform, and a mean of phi_j(U) phi_k(V) is 0 if U and V are independent.
"""

from functools import lru_cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from copula_discrepancy.estimate.ranks import RankedColumn

ORDER = 4  # the default: a fifth polynomial adds nine cells to every pair, and little that data show
HIGHEST_ORDER = 8


def centred_ranks(column: RankedColumn) -> NDArray[np.float64]:
    """(rank - 1/2)/n, with mid-ranks for ties: symmetric about 1/2, with mean 1/2."""
    return np.asarray((column.doubled_mid_ranks - 1.0) / (2.0 * column.n), np.float64)


def polynomials(u: NDArray[np.float64], order: int = ORDER) -> NDArray[np.float64]:
    """phi_1(u), ..., phi_order(u): one row each."""
    scales = np.sqrt(2.0 * np.arange(1, order + 1) + 1.0)
    found: NDArray[np.float64] = legendre.legvander(2.0 * u - 1.0, order)[:, 1:].T * scales[:, None]
    return found


def slopes(u: NDArray[np.float64], order: int = ORDER) -> NDArray[np.float64]:
    """The derivatives of `polynomials`: one row each."""
    rows = [legendre.legval(2.0 * u - 1.0, legendre.legder(np.eye(order + 1)[j])) for j in range(1, order + 1)]
    scales = 2.0 * np.sqrt(2.0 * np.arange(1, order + 1) + 1.0)
    return np.asarray(np.stack(rows) * scales[:, None], np.float64)


@lru_cache(maxsize=4)
def basis_table(n: int, order: int, doubled: bool) -> NDArray[np.float64]:
    """Polynomials and their derivatives at every rank of n draws, with ties at every mid-rank: (2, order, rank)."""
    u = (np.arange(2.0, 2.0 * n + 1.0, 1.0 if doubled else 2.0) - 1.0) / (2.0 * n)
    return np.ascontiguousarray(np.stack([polynomials(u, order), slopes(u, order)]))
