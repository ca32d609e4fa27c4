"""What ties do to a comparison with a copula, which has none.

Rounded, discrete and censored samples have ties. A reference sample that has the same cancels what these do; a copula, known or
fitted, does not. Two things are done instead, for pairs whose ties are not those of repeated points.

The coefficients of form of the copula are taken as they are with these ties. Draws that share a value have one mid-rank, so
that phi_j of a uniform variable becomes a step function, and E[phi_j(mid(U)) phi_k(mid(V))] is a sum over the copula's
coefficients a_ab, times the integrals of phi_j(mid(u)) phi_a(u) and of phi_k(mid(v)) phi_b(v), which fall quickly with the
degree.

What a likelihood at mid-ranks makes of ties depends on family and strength, and has no such form: fitted taus, and with them
shape and corners, are biased by up to about the share of the largest group of draws with one value. `FITTED`, `LEVEL`, `CORNER`
times the sum of these shares, and the root of |tau|, are standard deviations that are added to standard errors, so that ties
alone are found in hardly any pair. Ties of independent variables do nothing.
"""

import math

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.basis import polynomials

Array = NDArray[np.float64]

# Degree of the copula's coefficients: those of a higher one add up to 0.001 at tau 0.5, 0.002 at 0.8 and 0.008 at 0.9, where
# 8 degrees would leave 0.06 out.
WIDE = 24
# Largest biases of five families at tau 0.1, 0.4 and 0.7, of 50,000 draws in thirteen patterns of ties of one variable or both,
# by the sum of the largest groups' shares and the root of tau: 1.12 of shape and 1.03 of the fitted tau, 0.38 of level, 0.31 of
# the share in a corner. For large groups at opposite ends of the dependence, as of two variables with many zeros and a negative
# tau, level is off by 0.40 with tau -0.9 and 60% zeros, which is 0.35. A bias of two standard deviations is hardly ever
# significant.
FITTED, LEVEL, CORNER = 0.6, 0.2, 0.2
NEGLIGIBLE = 1e-3  # weight below which nothing of this matters: it is less than the error of 100,000 draws
_ROUNDING = 1e-6  # share of a standard error that may be the rounding of a difference
_SMALLEST = 5e-4  # share of a group: smaller ones change polynomials by their squares
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(WIDE + 1)  # exact for products of two polynomials


def weights(largest: Array, tied: Array, discrete: Array) -> Array:
    """The weight of the ties of variables: the share of the largest group, less where ties are those of repeated points.

    `tied` are the pairs of draws that are tied, and `discrete` those that are so without being the same point.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(tied > 0.0, np.sqrt(np.clip(discrete / tied, 0.0, 1.0)), 0.0)
    return np.asarray(largest * part)


def strengths(weight: Array, tau: Array) -> Array:
    """What to multiply `FITTED`, `LEVEL` and `CORNER` by, for pairs with these weights and this tau of the copula."""
    root = np.sqrt(np.abs(np.where(np.isfinite(tau), tau, 1.0)))
    return np.where(weight > NEGLIGIBLE, weight * root, 0.0)


def beyond(se: float, sampling: float) -> float:
    """What ties have added to a standard error that is `sampling` without them; 0 up to rounding."""
    added = math.sqrt(max(se**2 - sampling**2, 0.0)) if se > sampling else 0.0
    return added if added > _ROUNDING * se else 0.0


def tie_map(low: Array, high: Array, order: int) -> Array:
    """The integrals of phi_j(mid(u)) phi_a(u), (j, a), j from 1 to `order`, a from 0 to `WIDE`.

    Groups of draws that share a value take up the parts of (0, 1) from `low` to `high`; elsewhere mid(u) is u.
    """
    found = np.eye(WIDE + 1)[1 : order + 1]
    large = high - low > _SMALLEST
    low, high = low[large], high[large]
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    inside = _with_constant((middle[:, None] + half[:, None] * _NODES).ravel(), WIDE)
    measure = (half[:, None] * _WEIGHTS).ravel()
    steps = np.repeat(polynomials(middle, order), _NODES.size, axis=1)
    return np.asarray(found + ((steps - inside[1 : order + 1]) * measure) @ inside.T)


def with_ties(coefficients: Array, first: Array, second: Array, *, constant: float = 1.0) -> Array:
    """Coefficients of form with ties, (pair, cell), from those of degree up to `WIDE` and the `tie_map` of both variables.

    `constant` is the coefficient of degree 0: 1 for a density, 0 for its derivative.
    """
    whole = np.zeros((len(coefficients), WIDE + 1, WIDE + 1))
    whole[:, 0, 0] = constant
    whole[:, 1:, 1:] = coefficients.reshape(-1, WIDE, WIDE)
    found = first @ whole @ second.transpose(0, 2, 1)
    return np.asarray(found.reshape(len(coefficients), -1))


def _with_constant(u: Array, order: int) -> Array:
    return np.concatenate([np.ones((1, u.size)), polynomials(u, order)])
