"""The Gumbel copula, with dependence in the upper tail."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import exp1

from copula_discrepancy._core import kernels
from copula_discrepancy._core.arrays import namespace
from copula_discrepancy._core.blocks import Unit, stack_blocks
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy.families.archimedean import Archimedean
from copula_discrepancy.families.formulas import Pairs, PairSums, PairTables, ScoreRows, Slopes, Sums
from copula_discrepancy.families.numerics import EULER_GAMMA, one_sample
from copula_discrepancy.families.parameter import Parameter


@dataclass(frozen=True)
class Gumbel(Archimedean):
    """Gumbel copula, C(u, v) = exp(-w), w = ((-log u)^theta + (-log v)^theta)^(1/theta), theta >= 1; 1 is independence.

    Kendall's tau is 1 - 1/theta, lower tail dependence 0, upper tail dependence 2 - 2^(1/theta) (Gumbel, 1960; Nelsen, 2006,
    family 4.2.4).

    Parameters
    ----------
    theta : float
        At least 1 and finite; perfect dependence is the limit at infinity.

    See Also
    --------
    Rotated : The tail in another corner, or negative dependence.
    Joe : A heavier upper tail at the same tau.

    References
    ----------
    Gumbel, E. J. (1960). Distributions des valeurs extremes en plusieurs dimensions. Publications de l'Institut de Statistique
    de l'Universite de Paris 9, 171-173.

    Nelsen, R. B. (2006). An Introduction to Copulas, 2nd edition. Springer.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.Gumbel(2.5).tau
    0.6
    """

    name = "Gumbel"
    parameter = Parameter("theta", 1.0, np.inf, True, "for negative dependence use Frank or Rotated(Gumbel(...), 90)")

    def _log_generator(self, theta: float, x: FloatArray) -> FloatArray:
        return theta * np.log(x)

    def _inverse_log_generator(self, theta: float, level: FloatArray) -> FloatArray:
        return np.exp(level / theta)

    def _log_slope(self, theta: float, x: FloatArray) -> FloatArray:
        return np.log(theta) + (theta - 1.0) * np.log(x) + x

    def _log_curvature(self, theta: float, x: FloatArray) -> FloatArray:
        return np.log(theta) + (theta - 2.0) * np.log(x) + np.log(theta - 1.0 + x) + 2.0 * x

    def _kendall_density(self, theta: float, x: FloatArray) -> FloatArray:
        return (theta - 1.0 + x) / theta

    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        # With M the larger of log x, log y and gap their distance, log w = M + q; the terms in M cancel only analytically
        xp = namespace(x)
        gap = xp.abs(xp.log(x) - xp.log(y))
        q = xp.log1p(xp.exp(-theta * gap)) / theta
        w = xp.maximum(x, y) * xp.exp(q)
        excess = theta - 1.0
        if isinstance(excess, float) and excess < 0.1:
            # x + y and w are equal at independence: their difference from log(w/(x+y)), which is of order excess
            t = np.exp(-gap)
            rest = -(x + y) * np.expm1(np.log1p(t * np.expm1(-excess * gap) / (1.0 + t)) - excess * q)
        else:
            rest = x + y - w
        found: FloatArray = rest - excess * (gap + 2.0 * q) + xp.log1p(excess / w)
        return found

    def _theta_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        distance, e, q, q1, w, outer = _joined(theta, x, y)
        gap = namespace(x).abs(distance)
        q2 = (gap**2 * e / (1.0 + e) ** 2 - 2.0 * q1) / theta
        w1, w2 = w * q1, w * (q2 + q1**2)
        slope = (w1 + 1.0) / outer
        odd = 1.0 - 2.0 * theta
        first = slope - w1 - gap - 2.0 * q + odd * q1
        second = w2 / outer - slope**2 - w2 - 4.0 * q1 + odd * q2
        return first, second

    def _margin_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Slopes:
        distance, e, _, q1, w, outer = _joined(theta, x, y)
        small, large = e / (1.0 + e), 1.0 / (1.0 + e)
        odd = 1.0 - 2.0 * theta
        slope = (w * q1 + 1.0) / outer

        def along(share: FloatArray, turn: FloatArray, z: FloatArray) -> Pair:
            """Derivatives in log z, then in (theta, log z); share is d log w / d log z, turn its theta derivative."""
            first = z + (theta - 1.0) - share * (w + (theta - 1.0) * (2.0 + 1.0 / outer))
            mixed = 1.0 - 2.0 * share + (w * q1 * share + w * turn) * (1.0 / outer - 1.0)
            return first, mixed + odd * turn - w * share / outer * slope

        turn = small * large * distance
        x_on_top = distance > 0
        where = namespace(x).where
        in_x, mixed_x = along(where(x_on_top, large, small), turn, x)
        in_y, mixed_y = along(where(x_on_top, small, large), -turn, y)
        return in_x / x, in_y / y, mixed_x / x, mixed_y / y

    def _score_derivatives(self, theta: float, x: FloatArray, y: FloatArray, *unit: *Unit) -> Slopes:
        if not one_sample(x, y):
            return super()._score_derivatives(theta, x, y, *unit)
        first, second, in_x, in_y = kernels.gumbel_derivatives(theta, x, y, np.log(x) - np.log(y))
        return first, second, -in_x / unit[0], -in_y / unit[2]

    def _float_coordinates(self, u: FloatArray, v: FloatArray) -> Pair:
        return -np.log(u), -np.log(v)

    def _prepare(self, coordinates: Iterable[Pair], n: int) -> tuple[Any, ...]:
        constant = 0.0  # the part of the log-likelihood that does not depend on theta

        def parts() -> Iterator[Pair]:
            nonlocal constant
            for x, y in coordinates:
                top = np.maximum(x, y)
                log_top = np.log(top)
                constant += float(np.sum(x + y - log_top))
                yield top, log_top - np.log(np.minimum(x, y))

        return *stack_blocks(parts(), n, reuse=True), constant

    def _likelihood_sums(self, theta: float, *prepared: Any) -> tuple[float, float, float]:
        top, gap, constant = prepared
        value, first, second = kernels.gumbel_sums(theta, top, gap)
        return value + constant, first, second

    @property
    def _pair_loops(self) -> bool:
        return True

    def _on_tensors(self, thetas: FloatArray) -> NDArray[np.bool_]:
        return np.ones(thetas.shape, bool)

    def _pair_sums(self, tables: PairTables, pairs: Pairs) -> PairSums:
        logs = np.log(tables.x), np.log(tables.y)

        def sums(chosen: NDArray[np.intp], thetas: FloatArray) -> Sums:
            found = kernels.gumbel_pair_sums(thetas, tables.x, tables.y, *logs, *pairs.at(chosen))
            return found[:, 0], found[:, 1], found[:, 2]

        return sums

    def _pair_scores(
        self, thetas: FloatArray, tables: PairTables, pairs: Pairs, rows: NDArray[np.intp], out: ScoreRows
    ) -> NDArray[np.bool_]:
        x, y, *slopes = tables
        kernels.archimedean_pair_scores(True, thetas, x, y, np.log(x), np.log(y), *slopes, *pairs, rows, *out)
        return np.ones(thetas.shape, bool)

    def _tau(self, theta: float) -> float:
        return (theta - 1.0) / theta

    def _taus(self, thetas: FloatArray) -> FloatArray:
        return (thetas - 1.0) / thetas

    def _tau_slopes(self, thetas: FloatArray) -> FloatArray:
        return 1.0 / thetas**2

    def _thetas_from_taus(self, taus: FloatArray) -> FloatArray:
        return 1.0 / (1.0 - taus)

    def _tau_slope(self, theta: float) -> float:
        return 1.0 / theta**2

    def _theta_from_tau(self, tau: float) -> float:
        return 1.0 / (1.0 - tau)

    @property
    def tail(self) -> tuple[float, float]:
        return 0.0, 2.0 - 2.0 ** (1.0 / self.theta)

    def _mutual_information(self, theta: float) -> float:
        """gamma - 1 + 1/theta + log(d) + exp(d) E1(d)/theta with d = theta - 1."""
        d = theta - 1.0
        if d == 0:
            return 0.0
        if d < 0.5:
            # sum of d^k/k! (H_k - gamma - log d) from k = 2 over theta: the terms of order d have been removed
            term, harmonic, total = d, 1.0, 0.0
            for k in range(2, 24):
                term *= d / k
                harmonic += 1.0 / k
                total += term * (harmonic - EULER_GAMMA - np.log(d))
            return float(total / theta)
        if d > 500.0:  # exp(d) overflows; d exp(d) E1(d) = 1 - 1/d + 2/d^2 - 6/d^3 + ..., six terms are exact here
            tail = sum((-1.0) ** k * np.prod(np.arange(1.0, k + 1)) / d**k for k in range(7)) / d
        else:
            tail = np.exp(d) * exp1(d)
        return float(EULER_GAMMA - 1.0 + 1.0 / theta + np.log(d) + tail / theta)

    def _sample(self, theta: float, n: int, rng: np.random.Generator) -> Pair:
        """-log C is Exp(1) with probability 1 - 1/theta and Gamma(2, 1) with probability 1/theta: no root finding."""
        w = rng.standard_exponential(n)
        both = rng.uniform(size=n) < 1.0 / theta
        w[both] += rng.standard_exponential(int(both.sum()))
        share = rng.uniform(size=n)
        return w * share ** (1.0 / theta), w * (1.0 - share) ** (1.0 / theta)


def _joined(theta: float, x: FloatArray, y: FloatArray) -> tuple[FloatArray, ...]:
    """log x - log y, e, q, dq/dtheta, w and w + theta - 1, the terms of all derivatives.

    e = exp(-theta |log x - log y|), q = log(1 + e)/theta and w = -log C. The last one is summed in this order because near
    theta = 1 in the upper corner only w is accurate.
    """
    xp = namespace(x)
    distance = xp.log(x) - xp.log(y)
    gap = xp.abs(distance)
    e = xp.exp(-theta * gap)
    q = xp.log1p(e) / theta
    q1 = -(gap * e / (1.0 + e) + q) / theta
    w = xp.maximum(x, y) * xp.exp(q)
    return distance, e, q, q1, w, w + (theta - 1.0)
