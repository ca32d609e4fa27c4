"""Numerically stable versions of small functions.

A probability is passed as a pair (u, 1-u), both with full relative accuracy: a float near 1 does not determine its distance
from 1 accurately, and the upper tail matters as much as the lower one.
"""

from collections.abc import Callable

import numpy as np

from copula_discrepancy._core.arrays import namespace
from copula_discrepancy._core.checks import FloatArray, Pair

LOG_2 = 0.6931471805599453
EULER_GAMMA = 0.5772156649015329


def minus_log(u: FloatArray, complement: FloatArray) -> FloatArray:
    """-log(u), accurate near 0 and near 1."""
    # Above 1/2 the float u is 1 - complement up to a rounding residual, known exactly: -log(1 - complement) is -log(u) +
    # residual/u. Below, u itself is accurate. Usually the residual is zero.
    residual = complement - (1.0 - u)
    if not residual.any():
        return -np.log(u)
    return np.where(u > 0.5, residual / np.maximum(u, 0.5), 0.0) - np.log(u)


def exponential_pair(x: FloatArray) -> Pair:
    """(exp(-x), 1 - exp(-x))."""
    return np.exp(-x), -np.expm1(-x)


def log1mexp(z: FloatArray) -> FloatArray:
    """log(1 - exp(-z)) for z > 0."""
    xp = namespace(z)
    with xp.errstate(divide="ignore"):  # exp(-z) = 1 in the branch that is not taken
        found: FloatArray = xp.where(z < LOG_2, xp.log(-xp.expm1(-z)), xp.log1p(-xp.exp(-z)))
    return found


def log1p_quotient(p: FloatArray) -> FloatArray:
    """-log(1-p)/p for 0 <= p < 1, which is 1 at 0."""
    with np.errstate(divide="ignore", invalid="ignore"):  # p = 0 or 1 in the branch that is not taken
        return np.where(p < 1e-5, 1.0 + p * (0.5 + p / 3.0), -np.log1p(-p) / p)


def log_2sinh(z: FloatArray) -> FloatArray:
    """log(2 sinh z) for z > 0: from log(2z) at 0 to z at infinity."""
    return z + log1mexp(2.0 * z)


def log_cosh(z: FloatArray) -> FloatArray:
    """log cosh z for z >= 0."""
    xp = namespace(z)
    found: FloatArray = z + xp.log1p(xp.exp(-2.0 * z)) - LOG_2
    return found


def convex_remainder(r: FloatArray) -> FloatArray:
    """exp(-r) - 1 + r, never negative, accurate for small r."""
    series = r * r * (0.5 - r * (1 / 6 - r * (1 / 24 - r * (1 / 120 - r * (1 / 720 - r / 5040)))))
    with np.errstate(over="ignore"):
        return np.where(np.abs(r) < 0.01, series, np.expm1(-r) + r)


def stencil_derivatives(function: Callable[[float], FloatArray], at: float, lower: float, upper: float, step: float) -> Pair:
    """First and second derivative of `function` from nine equally spaced values inside [lower, upper].

    The error is of order step**8 plus rounding of 1e-15/step; near a bound the nine points move to one side.
    """
    start = min(max(at - 4 * step, lower), max(upper - 8 * step, lower))
    offsets = (start - at) / step + np.arange(9)
    moments = np.vander(offsets, increasing=True).T
    wanted = np.zeros((9, 2))
    wanted[1, 0], wanted[2, 1] = 1.0 / step, 2.0 / step**2
    weights = np.linalg.solve(moments, wanted)
    values = np.stack([function(float(at + step * offset)) for offset in offsets])
    return np.tensordot(weights[:, 0], values, 1), np.tensordot(weights[:, 1], values, 1)


def one_sample(x: FloatArray, y: FloatArray) -> bool:
    """Whether coordinates are plain vectors, which compiled loops accept."""
    return x.ndim == 1 and x.flags.c_contiguous and y.flags.c_contiguous and x.flags.writeable and y.flags.writeable
