"""The coefficients of form of a known copula, by quadrature.

Integration by parts turns a_jk into the integral of phi_j'(u) phi_k'(v) (C(u, v) - uv), which is bounded whatever the density
does in the corners. Next to perfect dependence C has a crease along a diagonal; the integral of phi_j(u(p, v)) phi_k(v) over p
and v, with u the conditional quantile, is smooth there. Both agree to 1e-6 or better in between.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.basis import polynomials, slopes
from copula_discrepancy.estimate.likelihood import student_part
from copula_discrepancy.families import Copula

_STRONG = 0.7  # |tau| beyond which conditional quantiles are integrated
_NODES, _MANY_NODES = 48, 96  # many for Student t copulas of small df, whose mass is in the corners
_SMALL_DF = 1.5


@lru_cache(maxsize=2)
def _rule(size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gauss-Legendre nodes and weights on (0, 1), denser at both ends."""
    s, weights = np.polynomial.legendre.leggauss(size)
    s = 0.5 * (s + 1.0)
    return s * s * (3.0 - 2.0 * s), 3.0 * s * (1.0 - s) * weights


@lru_cache(maxsize=8)
def _weighted_slopes(size: int, order: int) -> NDArray[np.float64]:
    """The derivatives of the polynomials at the nodes, times their weights."""
    u, weights = _rule(size)
    return slopes(u, order) * weights


@lru_cache(maxsize=512)
def copula_coefficients(copula: Copula, order: int) -> NDArray[np.float64]:
    """E[phi_j(U) phi_k(V)] under a copula, one number per cell j * order + k."""
    inner = student_part(copula)
    u, weights = _rule(_MANY_NODES if inner is not None and inner.df < _SMALL_DF else _NODES)
    if abs(copula.tau) <= _STRONG:
        excess = copula.cdf(u[:, None], u[None, :]) - np.outer(u, u)
        steep = _weighted_slopes(u.size, order)
        found = steep @ excess @ steep.T
    else:
        size = u.size
        first = copula.conditional_ppf(np.repeat(u, size), np.tile(u, size))
        given = np.einsum("jpv,p->jv", polynomials(first, order).reshape(order, size, size), weights)
        found = (given * weights) @ polynomials(u, order).T
    found = found.ravel()
    found.flags.writeable = False  # shared by all callers
    return found
