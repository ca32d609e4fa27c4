"""Student's t distribution: density, distribution function, quantile, and the derivative of the quantile in df.

Accurate in both tails, in relative terms, for any df > 0, which SciPy's `t` does not guarantee.
"""

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln, erf, gammaln, ndtr, ndtri, psi, stdtr

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy.families.quadrature import unit_nodes

_LARGE_SQUARE = 1e150  # beyond it a square overflows
_DERIVATIVE_LEVEL = 3  # 61 nodes
_NEAR, _FAR = 0.05, 1e3  # below and above these the distribution function is a short series
_TABLED = 500  # number of quantiles above which a table is faster; it takes as long as 400 of them
_TABLED_DF = 2.0  # with fewer degrees of freedom the function is too steep for a table
_POLISHED = 5.0, 100.0  # between these degrees of freedom SciPy's inverse loses a digit or two
_PANELS, _NODES = 9, 14  # normal quantiles up to 9: probabilities down to 1e-19


def log1p_square(z: FloatArray) -> FloatArray:
    """log(1 + z^2), also if z^2 overflows."""
    large = np.abs(z) > _LARGE_SQUARE
    if not large.any():
        return np.log1p(z * z)
    return np.where(large, 2.0 * np.log(np.maximum(np.abs(z), 1.0)), np.log1p(np.where(large, 0.0, z) ** 2))


def half_step(s: float) -> float:
    """log Gamma(s + 1/2) - log Gamma(s); by its asymptotic series if the two are large and nearly equal."""
    if s < 20.0:
        return float(gammaln(s + 0.5) - gammaln(s))
    q = 1.0 / s
    return 0.5 * math.log(s) - q * (1 / 8 - q**2 * (1 / 192 - q**2 * (1 / 640 - q**2 * 17 / 14336)))


def t_logpdf(nu: float, x: FloatArray) -> FloatArray:
    """Log density of Student's t."""
    constant = half_step(0.5 * nu) - 0.5 * math.log(nu * math.pi)
    return constant - 0.5 * (nu + 1.0) * log1p_square(x / math.sqrt(nu))


def t_cdf(nu: float, x: FloatArray) -> Pair:
    """Student's distribution function and its complement, both with full relative accuracy in their tails."""
    size = np.abs(np.atleast_1d(x))
    # SciPy is as accurate, in every release, except next to the median, far out and for a large nu
    ordinary = (size > _NEAR) & (size < _FAR) & (nu < 1e4)
    tails = np.piecewise(size, [ordinary], [lambda s: 2.0 * stdtr(nu, -s), partial(_both_tails, nu)])
    tail = 0.5 * tails.reshape(np.shape(x))
    rest = 1.0 - tail
    return np.where(x < 0, tail, rest), np.where(x > 0, tail, rest)


def _both_tails(nu: float, size: FloatArray) -> FloatArray:
    """The probability beyond +-size, by a short series if there is one."""
    near, far = (size <= _NEAR) & (nu >= 1.0), (size >= _FAR) & (nu <= 100.0)
    forms: list[Any] = [lambda s: 1.0 - _inside_near(nu, s), partial(_both_far_tails, nu), partial(_both_tails_by_beta, nu)]
    with np.errstate(under="ignore"):  # later terms of the series, and tails that underflow
        return np.piecewise(size, [near, far], forms)


def _inside_near(nu: float, size: FloatArray) -> FloatArray:
    """P(|T| < size) for a small size: the binomial series of the density, integrated; the next term is below 1e-17."""
    z = size**2 / nu
    total, factor = np.ones_like(size), np.ones_like(size)
    for k in range(1, 6):
        factor *= -z * (0.5 * (nu + 1.0) + k - 1.0) / k
        total += factor / (2 * k + 1)
    return 2.0 * math.exp(half_step(0.5 * nu) - 0.5 * math.log(nu * math.pi)) * size * total


def _both_far_tails(nu: float, size: FloatArray) -> FloatArray:
    """The same far out: the incomplete beta function's series in w = nu/(nu + x^2) <= 1e-4; the next term is below 1e-20."""
    root, half = math.sqrt(nu) / np.hypot(size, math.sqrt(nu)), 0.5 * nu  # the root of w, which underflows later than w
    total, factor = np.ones_like(size), np.ones_like(size)
    for k in range(1, 5):
        factor *= root**2 * (k - 0.5) / k
        total += factor * half / (half + k)
    return root**nu * (total / (half * math.exp(betaln(half, 0.5))))


def _both_tails_by_beta(nu: float, size: FloatArray) -> FloatArray:
    """The same anywhere, through r = x^2/(nu + x^2) near the median and for large nu, far out through 1 - r."""
    root = np.hypot(size, math.sqrt(nu))
    r = (size / root) ** 2
    far = ~(r < 0.5)  # at infinity r is NaN
    tails = np.empty_like(r)
    tails[~far] = betaincc(0.5, 0.5 * nu, r[~far])
    tails[far] = betainc(0.5 * nu, 0.5, (math.sqrt(nu) / root[far]) ** 2)
    return tails


def t_quantile(nu: float, u: FloatArray, uc: FloatArray) -> FloatArray:
    """Student's quantile from the pair (u, 1-u)."""
    low = np.atleast_1d(np.minimum(u, uc))
    if nu >= _TABLED_DF and low.size >= _TABLED:
        size = kernels.student_from_normal(-ndtri(low).reshape(-1), _log_ratio(nu)).reshape(low.shape)
        beyond = np.isnan(size)
        if beyond.any():
            size[beyond] = _quantile_by_beta(nu, low[beyond], 1.0 - 2.0 * low[beyond])
    else:
        size = _quantile_by_beta(nu, low, 1.0 - 2.0 * low)
    return np.where(u < uc, -1.0, 1.0) * size.reshape(np.shape(u))


def _quantile_by_beta(nu: float, low: FloatArray, inside: FloatArray) -> FloatArray:
    """The size a with P(T > a) = `low` and P(|T| < a) = `inside`, each accurate where it matters.

    Through r = a^2/(nu + a^2): near the median from `inside`, in the tails from `low`, far out through 1 - r. If SciPy's
    inverse has an error of 1e-14, a Newton step follows.
    """
    half = 0.5 * nu
    far = 2.0 * low < betainc(half, 0.5, 0.5)  # r > 1/2
    central = (inside < 0.5) & ~far
    between = ~(far | central)
    size = np.empty_like(low)
    for part, r in ((central, betaincinv(0.5, half, inside[central])), (between, betainccinv(0.5, half, 2.0 * low[between]))):
        size[part] = np.sqrt(r / (1.0 - r))
    w = betaincinv(half, 0.5, 2.0 * low[far])
    with np.errstate(divide="ignore"):
        size[far] = np.sqrt((1.0 - w) / w)
    extreme = far.copy()
    extreme[far] = w < 1e-20  # there 2 low = w^(nu/2) / (nu/2 B(nu/2, 1/2)) to all digits, and w may underflow
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # half of the smallest float is 0: the result is NaN
        size[extreme] = np.exp(-(np.log(2.0 * low[extreme]) + np.log(half) + betaln(half, 0.5)) / nu)
    size *= math.sqrt(nu)
    if _POLISHED[0] < nu < _POLISHED[1]:
        outer = ~central & (low > 1e-300)  # not next to the median, where the difference of tails is inaccurate
        at, wanted = size[outer], low[outer]
        size[outer] += (t_cdf(nu, -at)[0] / wanted - 1.0) * np.exp(np.log(wanted) - t_logpdf(nu, at))
    return size


@lru_cache(maxsize=256)  # 0.3 MB
def _log_ratio(nu: float) -> FloatArray:
    """log(x/z) of the quantiles x of Student's and z of the normal distribution, as polynomials in 2(z - k) - 1 on [k, k+1).

    One row of coefficients for each k, from the constant up. The function is even and smooth; interpolated at Chebyshev nodes
    its error is below 3e-14 for two degrees of freedom and 5e-15 from ten on.
    """
    z, to_chebyshev, to_powers = _panels()
    x = _quantile_by_beta(nu, ndtr(-z), erf(z / math.sqrt(2.0)))
    # one product after the other: the large coefficients of powers cancel only if computed from the same Chebyshev ones
    return np.ascontiguousarray(np.log(x / z) @ to_chebyshev @ to_powers)


@lru_cache(maxsize=1)
def _panels() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Chebyshev nodes in each panel, and the matrices from values to Chebyshev coefficients and from these to powers."""
    angles = (np.arange(_NODES) + 0.5) * (math.pi / _NODES)
    nodes = np.arange(_PANELS)[:, np.newaxis] + 0.5 + 0.5 * np.cos(angles)
    to_chebyshev = np.cos(np.outer(angles, np.arange(_NODES))) * (2.0 / _NODES)
    to_chebyshev[:, 0] *= 0.5
    to_powers = np.zeros((_NODES, _NODES))
    for k, unit in enumerate(np.eye(_NODES)):
        powers = np.polynomial.chebyshev.cheb2poly(unit)
        to_powers[k, : powers.size] = powers
    return nodes, to_chebyshev, to_powers


def t_quantile_df_slope(nu: float, x: FloatArray) -> FloatArray:
    """Derivative of Student's quantile in df at a fixed probability: -(dF/d nu)/f, dF/d nu by quadrature."""
    size = np.abs(x)
    inner = size < min(math.sqrt(nu), 2.0)  # in a light tail the integral from 0 would be huge relative to the density
    return -np.sign(x) * np.piecewise(size, [inner], [partial(_inner_df_slope, nu), partial(_outer_df_slope, nu)])


@lru_cache(maxsize=1)
def _gauss_nodes() -> Pair:
    """24 Gauss-Legendre nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    return 0.5 + 0.5 * nodes, 0.5 * weights


def _inner_df_slope(nu: float, size: FloatArray) -> FloatArray:
    """Integral from 0 to |x| of df/d nu, over f(x): analytic there, so 24 Gauss nodes leave an error below 1e-15."""
    total = np.zeros_like(size)
    density = _DensityRate(nu, size)
    for p, weight in zip(*_gauss_nodes(), strict=True):
        total += weight * density.at(p * size, 0.0)
    return total * size


def _outer_df_slope(nu: float, size: FloatArray) -> FloatArray:
    """Minus the integral from |x| to infinity, over f(x); s = |x| p^(-1/power) removes the power tail."""
    power = min(nu, 4.0)
    total = np.zeros_like(size)
    density = _DensityRate(nu, size)
    room = math.log(1e300) - np.log(size)  # up to there the nodes are finite; the rest is negligible
    for p, weight in zip(*(unit_nodes(_DERIVATIVE_LEVEL)[i] for i in (0, 2)), strict=True):
        stretch = -math.log(p) / power
        reach = min(stretch, 300.0)  # beyond exp(300) the weight is below 1e-29
        short = np.maximum(reach - room, 0.0)
        total += weight / p * density.at(size * np.exp(reach - short), stretch - short)
    return -total * size / power


class _DensityRate:
    """Derivative in df of Student's density at s >= 0, over its density at |x|."""

    def __init__(self, nu: float, size: FloatArray) -> None:
        half = 0.5 * nu
        if half < 20.0:
            constant = float(psi(half + 0.5) - psi(half)) - 1.0 / nu
        else:  # the difference of two large, nearly equal numbers as a series
            q = 1.0 / half**2
            constant = q * (1 / 8 - q * (1 / 64 - q * (1 / 128 - q * 17 / 2048)))
        self.nu, self.constant, self.scale = nu, constant, math.sqrt(nu)
        self.log_size, _ = _log1p_square_and_share(size / self.scale)

    def at(self, s: FloatArray, more: float | FloatArray) -> FloatArray:
        """The quotient at s, times exp(more)."""
        log, share = _log1p_square_and_share(s / self.scale)
        log_density_rate = 0.5 * (self.constant - log + (self.nu + 1.0) / self.nu * share)
        return log_density_rate * np.exp(0.5 * (self.nu + 1.0) * (self.log_size - log) + more)


def _log1p_square_and_share(z: FloatArray) -> Pair:
    """log(1 + z^2) and z^2/(1 + z^2) for z >= 0, also if z^2 overflows."""
    if z.max(initial=0.0) > _LARGE_SQUARE:
        return log1p_square(z), (z / np.hypot(z, 1.0)) ** 2
    square = z * z
    return np.log1p(square), square / (1.0 + square)
