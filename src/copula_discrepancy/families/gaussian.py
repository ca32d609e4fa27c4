"""The Gaussian copula, determined by a correlation and without tail dependence."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.elliptical import Elliptical, log_spread, residual
from copula_discrepancy.families.formulas import Pairs, PairSums, PairTables, Slopes, Sums
from copula_discrepancy.families.quadrature import Integral

_HALF_LOG_2PI = 0.9189385332046727


@dataclass(frozen=True)
class Gaussian(Elliptical):
    """Gaussian copula with correlation theta (rho), -1 < theta < 1.

    Kendall's tau is (2/pi) asin(rho); there is no tail dependence. With a, b the normal quantiles of u, v, log c =
    -log(1-rho^2)/2 - (rho^2 (a^2+b^2) - 2 rho a b)/(2 (1-rho^2)) (Joe, 2014, chapter 4).

    Parameters
    ----------
    theta : float
        The correlation of the normal scores, strictly between -1 and 1; 0 is independence, either end the limit of perfect
        dependence.

    See Also
    --------
    StudentT : The same tau with tail dependence.

    References
    ----------
    Joe, H. (2014). Dependence Modeling with Copulas. Chapman & Hall/CRC.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> round(cd.Gaussian.from_tau(0.5).rho, 6)
    0.707107
    """

    name = "Gaussian"

    def _margin(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        return np.where(u < 0.5, ndtri(u), -ndtri(uc))

    def _unmargin(self, x: FloatArray) -> Pair:
        return ndtr(x), ndtr(-x)

    def _log_margin_density(self, a: FloatArray) -> FloatArray:
        return -0.5 * a**2 - _HALF_LOG_2PI

    def _radius(self, log_tail: FloatArray) -> FloatArray:
        return np.sqrt(-2.0 * log_tail)

    def _joint_kernel(self, q: FloatArray) -> FloatArray:
        return np.exp(-0.5 * q)

    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        spread = (1.0 - theta) * (1.0 + theta)
        # distances from the diagonal along rho: rho^2 (x^2+y^2) - 2 rho x y cancels there
        sign = 1.0 if theta >= 0 else -1.0
        apart = theta**2 * (x - sign * y) ** 2 / (2.0 * spread)
        return -0.5 * log_spread(theta) - apart + theta * x * y / (1.0 + sign * theta)

    def _quantile_scores(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        spread = (1.0 - theta) * (1.0 + theta)
        q = residual(theta, x, y) ** 2 / spread + y**2
        q1 = 2.0 * (theta * q - x * y) / spread
        q2 = (2.0 * q + 4.0 * theta * q1) / spread
        return theta / spread - 0.5 * q1, (1.0 + theta**2) / spread**2 - 0.5 * q2

    def _prepare(self, coordinates: Iterable[Pair], n: int) -> tuple[Any, ...]:
        """The likelihood depends on the draws through two sums only, which as sums of squares are accurate for tau near 1."""
        difference = total = 0.0
        for x, y in coordinates:
            sums = kernels.gaussian_sums(x, y)
            difference, total = difference + sums[0], total + sums[1]
        return n, difference, total

    def _pair_sums(self, tables: PairTables, pairs: Pairs) -> PairSums:
        found, n = kernels.gaussian_pair_sums(tables.x, tables.y, *pairs), pairs.places.shape[1]

        def sums(chosen: NDArray[np.intp], thetas: FloatArray) -> Sums:
            return self._likelihood_sums(thetas, n, *found[chosen].T)

        return sums

    def _tensor_sums(self, theta: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        difference, total = (x - y).square().sum(-1), (x + y).square().sum(-1)
        return self._likelihood_sums(theta[..., 0], x.shape[-1], difference, total)

    def _likelihood_sums(self, theta: Any, *prepared: Any) -> tuple[Any, Any, Any]:
        n, difference, total = prepared
        plus, minus = 1.0 + theta, 1.0 - theta
        # q = (x-y)^2/(2 (1-rho)) + (x+y)^2/(2 (1+rho)), and log c = -log(1-rho^2)/2 - q/2 + (x^2+y^2)/2
        value = -0.5 * n * log_spread(theta) - 0.25 * theta * (difference / minus - total / plus)
        first = n * theta / (plus * minus) - 0.25 * (difference / minus**2 - total / plus**2)
        second = n * (1.0 + theta**2) / (plus * minus) ** 2 - 0.5 * (difference / minus**3 + total / plus**3)
        return value, first, second

    def _quantile_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Slopes:
        spread = (1.0 - theta) * (1.0 + theta)

        def along(x: FloatArray, y: FloatArray) -> Pair:
            q_x = 2.0 * residual(theta, x, y) / spread
            return x - 0.5 * q_x, (y - theta * q_x) / spread

        slope_x, slope_y = np.exp(-self._log_margin_density(x)), np.exp(-self._log_margin_density(y))
        (in_x, mixed_x), (in_y, mixed_y) = along(x, y), along(y, x)
        return in_x * slope_x, in_y * slope_y, mixed_x * slope_x, mixed_y * slope_y

    def _conditional(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        return self._unmargin(residual(theta, x, y) / math.sqrt((1.0 - theta) * (1.0 + theta)))

    def _conditional_inverse(self, theta: float, p: FloatArray, v: FloatArray, vc: FloatArray) -> Pair:
        spread = math.sqrt((1.0 - theta) * (1.0 + theta))
        return self._unmargin(theta * self._margin(v, vc) + spread * self._margin(p, 1.0 - p))

    def _sample(self, theta: float, n: int, rng: np.random.Generator) -> Pair:
        x, z = rng.standard_normal(n), rng.standard_normal(n)
        return x, theta * x + math.sqrt((1.0 - theta) * (1.0 + theta)) * z

    @property
    def tail(self) -> tuple[float, float]:
        return 0.0, 0.0

    def _mutual_information(self, theta: float) -> float:
        return -0.5 * log_spread(theta)

    def _exact_kl(self, other: Copula, accept: float) -> Integral:
        if not isinstance(other, Gaussian):
            return super()._exact_kl(other, accept)
        return self._kls(np.array([self.theta]), np.array([other.theta])).at(0)

    def _kls(self, thetas: FloatArray, targets: FloatArray) -> Integral:
        step, spread = thetas - targets, (1.0 - targets) * (1.0 + targets)
        y = step * (thetas + targets) / spread
        # (step^2/spread + (-log(1-y) - y))/2: two terms that are never negative
        series = sum((y**k / k for k in range(3, 12)), y**2 / 2)
        rest = np.where(np.abs(y) < 0.02, series, -np.log1p(-y) - y)
        return Integral(0.5 * (step**2 / spread + rest), np.zeros(thetas.size))
