"""The Clayton copula, with dependence in the lower tail."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.arrays import namespace
from copula_discrepancy._core.blocks import Unit, stack_blocks
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy.families.archimedean import Archimedean
from copula_discrepancy.families.excess import Excess
from copula_discrepancy.families.formulas import Pairs, PairSums, PairTables, ScoreRows, Slopes, Sums
from copula_discrepancy.families.numerics import log1mexp, one_sample
from copula_discrepancy.families.parameter import Parameter

# Below it powers of 1/theta in the derivatives lose digits, and the form around independence is used.
_SMALL_THETA = 0.1
# Below it the quadratic Taylor polynomial at independence is accurate to rounding.
_TINY_THETA = 1e-8
# Below it, derivatives on tensors, which have the general form only, have fewer than seven digits.
_LEAST_ON_TENSORS = 1e-2


@dataclass(frozen=True)
class Clayton(Archimedean):
    """Clayton copula, C(u, v) = (u^-theta + v^-theta - 1)^(-1/theta), theta >= 0; theta = 0 is independence.

    Kendall's tau is theta/(theta + 2), lower tail dependence 2^(-1/theta), upper tail dependence 0 (Clayton, 1978; Nelsen,
    2006, family 4.2.1).

    Parameters
    ----------
    theta : float
        At least 0 and finite; perfect dependence is the limit at infinity.

    See Also
    --------
    Rotated : The tail in another corner, or negative dependence.
    Gumbel : Dependence in the upper tail.

    References
    ----------
    Clayton, D. G. (1978). A model for association in bivariate life tables and its application in epidemiological studies of
    familial tendency in chronic disease incidence. Biometrika 65, 141-151.

    Nelsen, R. B. (2006). An Introduction to Copulas, 2nd edition. Springer.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.Clayton(3.0).tau
    0.6
    """

    name = "Clayton"
    parameter = Parameter(
        "theta", 0.0, np.inf, True, "for negative dependence use Frank, Gaussian or Rotated(Clayton(...), 90)"
    )

    def _log_generator(self, theta: float, x: FloatArray) -> FloatArray:
        return np.log(x) if theta == 0 else theta * x + log1mexp(theta * x) - np.log(theta)

    def _inverse_log_generator(self, theta: float, level: FloatArray) -> FloatArray:
        return np.exp(level) if theta == 0 else np.logaddexp(0.0, level + np.log(theta)) / theta

    def _log_slope(self, theta: float, x: FloatArray) -> FloatArray:
        return (1.0 + theta) * x

    def _log_curvature(self, theta: float, x: FloatArray) -> FloatArray:
        return np.log1p(theta) + (2.0 + theta) * x

    def _kendall_density(self, theta: float, x: FloatArray) -> FloatArray:
        return (1.0 + 1.0 / theta) * -np.expm1(-theta * x) if theta > 0 else x

    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        if theta < _TINY_THETA:
            return theta * (1.0 - x) * (1.0 - y) + theta**2 * (2.0 * x * y - 0.5 - 0.5 * x * y * (x + y))
        excess = Excess(theta, x, y)
        large = self._logpdf_large(theta, excess)
        # low - log(1+p)/theta cancels if theta is small: then use log((1+p)(1+q)/(1+p+q)), p = e^(theta x) - 1
        return np.where(theta * excess.low < 1.0, self._logpdf_small(theta, x, y), large)

    def _logpdf_large(self, theta: Any, excess: Excess) -> Any:
        xp = namespace(excess.p)
        # exp(theta x) overflows at u = 1e-12, theta = 28, so the larger coordinate is divided out
        return namespace(theta).log1p(theta) + excess.low - theta * excess.gap - (2.0 + 1.0 / theta) * xp.log1p(excess.p)

    def _logpdf_small(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        low, gap = np.minimum(theta * np.minimum(x, y), 1.0), theta * np.abs(x - y)
        p = np.expm1(low)
        # q/(1+p+q) with q = e^(low+gap) - 1, without the overflow of q
        share = -np.expm1(-(low + gap)) / (1.0 + p * np.exp(-(low + gap)))
        return np.log1p(theta) - (2.0 * low + gap) + (2.0 + 1.0 / theta) * np.log1p(p * share)

    def _theta_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        if theta < _TINY_THETA:
            second = 4.0 * x * y - 1.0 - x * y * (x + y)
            return (1.0 - x) * (1.0 - y) + theta * second, second
        if theta < _SMALL_THETA:
            return _derivatives_near_independence(theta, x, y)
        return self._derivatives_large(theta, Excess(theta, x, y))

    def _derivatives_large(self, theta: Any, excess: Excess) -> tuple[Any, Any]:
        g, g1, g2 = excess.log_derivatives()
        a = 2.0 + 1.0 / theta
        first = 1.0 / (1.0 + theta) - excess.gap - a * g1 + g / theta**2
        second = -1.0 / (1.0 + theta) ** 2 - a * g2 + 2.0 * g1 / theta**2 - 2.0 * g / theta**3
        return first, second

    def _tensor_sums(self, theta: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        excess = Excess(theta, x, y)
        first, second = self._derivatives_large(theta, excess)
        return self._logpdf_large(theta, excess).sum(-1), first.sum(-1), second.sum(-1)

    def _tensor_scores(self, theta: Any, x: Any, y: Any, slope_x: Any, slope_y: Any) -> tuple[Any, Any, Any, Any]:
        first, second = self._derivatives_large(theta, Excess(theta, x, y))
        _, _, in_x, in_y = self._margin_derivatives(theta, x, y)
        return first, second.sum(-1), in_x * slope_x, in_y * slope_y

    def _margin_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Slopes:
        excess = Excess(theta, x, y)
        p, p1, near, whole = excess.p, excess.p1, excess.near, 1.0 + excess.p
        odd = 2.0 * theta + 1.0
        in_top, in_low = odd * p / whole - theta, 1.0 + theta - odd * near / whole
        mixed_top = 2.0 * p / whole - 1.0 + odd * p1 / whole**2
        mixed_low = 1.0 - 2.0 * near / whole + odd * near * (excess.gap / whole + p1 / whole**2)
        return *excess.by_coordinate(in_top, in_low), *excess.by_coordinate(mixed_top, mixed_low)

    def _score_derivatives(self, theta: float, x: FloatArray, y: FloatArray, *unit: *Unit) -> Slopes:
        if theta < _SMALL_THETA or not one_sample(x, y):
            return super()._score_derivatives(theta, x, y, *unit)
        first, second, in_x, in_y = kernels.clayton_derivatives(theta, x, y)
        return first, second, -in_x / unit[0], -in_y / unit[2]

    def _float_coordinates(self, u: FloatArray, v: FloatArray) -> Pair:
        return -np.log(u), -np.log(v)

    def _prepare(self, coordinates: Iterable[Pair], n: int) -> tuple[Any, ...]:
        return stack_blocks(((np.maximum(x, y), np.abs(x - y)) for x, y in coordinates), n, reuse=True)

    def _likelihood_sums(self, theta: float, *prepared: Any) -> tuple[float, float, float]:
        top, gap = prepared
        if theta < _SMALL_THETA:
            return super()._likelihood_sums(theta, top, top - gap)
        sums: tuple[float, float, float] = kernels.clayton_sums(theta, top, gap)
        return sums

    @property
    def _pair_loops(self) -> bool:
        return True

    def _on_tensors(self, thetas: FloatArray) -> NDArray[np.bool_]:
        return thetas >= _LEAST_ON_TENSORS

    def _pair_sums(self, tables: PairTables, pairs: Pairs) -> PairSums:
        def sums(chosen: NDArray[np.intp], thetas: FloatArray) -> Sums:
            some = pairs.at(chosen)
            found = kernels.clayton_pair_sums(np.maximum(thetas, _SMALL_THETA), tables.x, tables.y, *some)
            for k in np.flatnonzero(thetas < _SMALL_THETA).tolist():
                x, y = tables.x[some.places[some.first[k]]], tables.y[some.places[some.second[k]]]
                found[k] = super(Clayton, self)._likelihood_sums(float(thetas[k]), x, y)
            return found[:, 0], found[:, 1], found[:, 2]

        return sums

    def _pair_scores(
        self, thetas: FloatArray, tables: PairTables, pairs: Pairs, rows: NDArray[np.intp], out: ScoreRows
    ) -> NDArray[np.bool_]:
        kernels.archimedean_pair_scores(
            False, np.maximum(thetas, _SMALL_THETA), tables.x, tables.y, *tables, *pairs, rows, *out
        )  # fmt: skip
        return thetas >= _SMALL_THETA

    def _tau(self, theta: float) -> float:
        return theta / (theta + 2.0)

    def _taus(self, thetas: FloatArray) -> FloatArray:
        return thetas / (thetas + 2.0)

    def _tau_slopes(self, thetas: FloatArray) -> FloatArray:
        return 2.0 / (thetas + 2.0) ** 2

    def _thetas_from_taus(self, taus: FloatArray) -> FloatArray:
        return 2.0 * taus / (1.0 - taus)

    def _tau_slope(self, theta: float) -> float:
        return 2.0 / (theta + 2.0) ** 2

    def _theta_from_tau(self, tau: float) -> float:
        return 2.0 * tau / (1.0 - tau)

    @property
    def tail(self) -> tuple[float, float]:
        return (2.0 ** (-1.0 / self.theta) if self.theta > 0 else 0.0), 0.0

    def _mutual_information(self, theta: float) -> float:
        if theta < 0.05:  # log(1+theta) - theta/(1+theta) as its alternating series: theta**12 is below 1e-15
            return float(sum((-1) ** k * theta**k * (k - 1) / k for k in range(2, 14)))
        return math.log1p(theta) - theta / (1.0 + theta)

    def _conditional_inverse(self, theta: float, p: FloatArray, v: FloatArray, vc: FloatArray) -> Pair:
        return self._unmargin(self._conditional_coordinate(theta, -np.log(p), self._margin(v, vc)))

    def _conditional_coordinate(self, theta: float, minus_log_p: FloatArray, y: FloatArray) -> FloatArray:
        if theta == 0:
            return minus_log_p
        z = theta / (1.0 + theta) * minus_log_p
        return np.logaddexp(0.0, theta * y + z + log1mexp(z)) / theta

    def _sample(self, theta: float, n: int, rng: np.random.Generator) -> Pair:
        y = rng.exponential(size=n)
        return self._conditional_coordinate(theta, rng.exponential(size=n), y), y


def _derivatives_near_independence(theta: float, x: FloatArray, y: FloatArray) -> Pair:
    """Theta derivatives of log(1+theta) - theta (x+y) + (2 + 1/theta) log(1 + r), r = pq/(1+p+q), p = e^(theta x) - 1."""
    p, q = np.expm1(theta * x), np.expm1(theta * y)
    whole = 1.0 + p + q
    r = p * q / whole
    p1, q1 = x * (1.0 + p), y * (1.0 + q)
    s1, s2 = p1 + q1, x * p1 + y * q1
    r1 = (p1 * q + p * q1 - r * s1) / whole  # no division by p or q, which are 0 next to u = 1
    r2 = (x * p1 * q + 2.0 * p1 * q1 + y * p * q1 - 2.0 * r1 * s1 - r * s2) / whole
    d, d1 = np.log1p(r), r1 / (1.0 + r)
    d2 = r2 / (1.0 + r) - d1**2
    first = 1.0 / (1.0 + theta) - (x + y) + (2.0 + 1.0 / theta) * d1 - d / theta**2
    second = -1.0 / (1.0 + theta) ** 2 + (2.0 + 1.0 / theta) * d2 - 2.0 * d1 / theta**2 + 2.0 * d / theta**3
    return first, second
