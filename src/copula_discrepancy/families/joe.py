"""The Joe copula, with strong dependence in the upper tail and weak dependence elsewhere."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import polygamma, psi

from copula_discrepancy._core.arrays import namespace
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy.families.archimedean import Archimedean
from copula_discrepancy.families.excess import Excess
from copula_discrepancy.families.formulas import Slopes
from copula_discrepancy.families.numerics import exponential_pair, log1mexp, log1p_quotient, minus_log
from copula_discrepancy.families.parameter import Parameter

_DIGAMMA_AT_3 = [float(polygamma(k, 3)) / math.factorial(k) for k in range(1, 8)]  # Taylor coefficients of psi except the first


@dataclass(frozen=True)
class Joe(Archimedean):
    """Joe copula, C(u, v) = 1 - s^(1/theta), s = a + b - ab, a = (1-u)^theta, b = (1-v)^theta, theta >= 1; 1 is independence.

    Kendall's tau is 1 + 2/(2-theta) (psi(2) - psi(2/theta + 1)), upper tail dependence 2 - 2^(1/theta), lower tail dependence
    0 (Joe, 1993; Nelsen, 2006, family 4.2.6).

    Parameters
    ----------
    theta : float
        At least 1 and finite; perfect dependence is the limit at infinity. At theta = 2 the formula of tau is its limit,
        2 - pi^2/6.

    See Also
    --------
    Rotated : The tail in another corner, or negative dependence.
    Gumbel : A lighter upper tail at the same tau.

    References
    ----------
    Joe, H. (1993). Parametric families of multivariate distributions with given margins. Journal of Multivariate Analysis 46,
    262-282.

    Nelsen, R. B. (2006). An Introduction to Copulas, 2nd edition. Springer.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> round(cd.Joe(2.0).tau, 6)
    0.355066
    """

    name = "Joe"
    parameter = Parameter("theta", 1.0, np.inf, True, "for negative dependence use Frank or Rotated(Joe(...), 90)")

    # the coordinate is x = -log(1 - u), accurate in the upper tail
    def _margin(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        return minus_log(uc, u)

    def _unmargin(self, x: FloatArray) -> Pair:
        return exponential_pair(x)[::-1]

    def _margin_slope(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        return 1.0 / uc

    def _log_generator(self, theta: float, x: FloatArray) -> FloatArray:
        z = theta * x
        with np.errstate(divide="ignore"):  # exp(-z) = 0 in the branch that is not taken
            return np.where(z > 30.0, -z + 0.5 * np.exp(-z), np.log(-log1mexp(z)))

    def _inverse_log_generator(self, theta: float, level: FloatArray) -> FloatArray:
        s = np.exp(level)
        with np.errstate(divide="ignore"):  # exp(level) = 0 in the branch that is not taken
            return np.where(level < -30.0, 0.5 * s - level, -log1mexp(s)) / theta

    def _log_slope(self, theta: float, x: FloatArray) -> FloatArray:
        return np.log(theta) - (theta - 1.0) * x - log1mexp(theta * x)

    def _log_curvature(self, theta: float, x: FloatArray) -> FloatArray:
        z = theta * x
        return np.log(theta) - (theta - 2.0) * x + np.log(theta - 1.0 + np.exp(-z)) - 2.0 * log1mexp(z)

    def _kendall_density(self, theta: float, x: FloatArray) -> FloatArray:
        z = theta * x
        p = np.exp(-z)
        # -log(1-p)/p, from z where p rounds to 1
        quotient = np.where(z > 1.0, log1p_quotient(p), -log1mexp(np.minimum(z, 1.0)) / np.maximum(p, 0.1))
        return quotient * (theta - 1.0 + p) / theta

    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        excess = Excess(theta, x, y)
        low, gap = excess.low, excess.gap
        xp = namespace(x)
        g = xp.log1p(excess.p)
        s = xp.exp(-theta * low) * (1.0 + excess.p)
        # two forms of one sum: the first is accurate if s is small, the second near independence
        with xp.errstate(divide="ignore", over="ignore"):
            tail = low - (theta - 1.0) * gap + (1.0 / theta - 2.0) * g + xp.log(theta - 1.0 + s)
            near = (1.0 / theta - 1.0) * g - (theta - 1.0) * (low + gap) + xp.log1p((theta - 1.0) / s)
        found: FloatArray = xp.where(s < theta - 1.0, tail, near)
        return found

    def _theta_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        excess = Excess(theta, x, y)
        low = excess.low
        g, g1, g2 = excess.log_derivatives()
        s = namespace(x).exp(-theta * low) * (1.0 + excess.p)
        s1, s2 = s * (g1 - low), s * ((g1 - low) ** 2 + g2)
        outer = theta - 1.0 + s
        slope = (1.0 + s1) / outer
        a = 1.0 / theta - 2.0
        first = slope - excess.gap + a * g1 - g / theta**2
        second = a * g2 - 2.0 * g1 / theta**2 + 2.0 * g / theta**3 + s2 / outer - slope**2
        return first, second

    def _margin_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Slopes:
        excess = Excess(theta, x, y)
        low, top, p, p1, near = excess.low, excess.top, excess.p, excess.p1, excess.near
        xp = namespace(x)
        e_low, whole = xp.exp(-theta * low), 1.0 + p
        s = e_low * whole
        outer = theta - 1.0 + s
        slope = (1.0 + s * (p1 / whole - low)) / outer
        odd = 2.0 * theta - 1.0
        # s in the larger coordinate, in the smaller one, and their theta derivatives
        s_top, s_low = -theta * e_low * p, theta * e_low * xp.expm1(-theta * top)
        s_top1 = -e_low * (p * (1.0 - theta * low) + theta * p1)
        s_low1 = e_low * ((1.0 - theta * low) * xp.expm1(-theta * top) - theta * top * excess.remote)
        in_top = 1.0 - theta + odd * p / whole + s_top / outer
        in_low = theta - odd * near / whole + s_low / outer
        mixed_top = 2.0 * p / whole - 1.0 + odd * p1 / whole**2 + (s_top1 - s_top * slope) / outer
        mixed_low = 1.0 - 2.0 * near / whole + odd * near * (excess.gap / whole + p1 / whole**2)
        mixed_low += (s_low1 - s_low * slope) / outer
        return *excess.by_coordinate(in_top, in_low), *excess.by_coordinate(mixed_top, mixed_low)

    def _on_tensors(self, thetas: FloatArray) -> NDArray[np.bool_]:
        return np.ones(thetas.shape, bool)

    def _tau(self, theta: float) -> float:
        if theta - 1.0 < 0.005:  # tau vanishes at theta = 1: the difference below would be rounding error
            e = -2.0 * (theta - 1.0) / theta  # 2/theta - 2
            slope = sum(c * e**k for k, c in enumerate(_DIGAMMA_AT_3))  # (psi(3+e) - psi(3))/e
            return float(e * (0.5 - (2.0 + e) * slope) / (1.0 + e))
        # psi(2) - psi(1 + z) over 2 - theta with z = 2/theta; 2 - theta = theta (z - 1)
        return 1.0 - 2.0 / theta * _digamma_quotient(2.0 / theta)

    def _tau_slope(self, theta: float) -> float:
        z, d = 2.0 / theta, 2.0 / theta - 1.0
        quotient = _digamma_quotient(z)
        if abs(d) < 1e-3:  # derivative of the Taylor polynomial below
            slope = polygamma(2, 2) / 2.0 + d * polygamma(3, 2) / 3.0 + d**2 * polygamma(4, 2) / 8.0
        else:
            slope = (polygamma(1, z + 1.0) - quotient) / d
        return float(2.0 / theta**2 * (quotient + z * slope))

    @property
    def tail(self) -> tuple[float, float]:
        return 0.0, 2.0 - 2.0 ** (1.0 / self.theta)


def _digamma_quotient(z: float) -> float:
    """(psi(1+z) - psi(2)) / (z - 1); Taylor at z = 1, where theta = 2 and both differences vanish."""
    d = z - 1.0
    if abs(d) < 1e-3:  # first omitted term: d^4 psi^(5)(2)/120 < 1e-12 * 1e-1
        return float(polygamma(1, 2) + d * polygamma(2, 2) / 2.0 + d**2 * polygamma(3, 2) / 6.0 + d**3 * polygamma(4, 2) / 24.0)
    return float((psi(1.0 + z) - psi(2.0)) / d)
