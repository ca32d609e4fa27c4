"""Shared formulas of the Gaussian and the Student t copula: a correlation, and quantiles as coordinates.

With a, b the quantiles of u, v and q = (a^2 - 2 rho a b + b^2)/(1 - rho^2), both log densities are functions of q and of the
margins alone, so their derivatives in rho differ in one weight only.
"""

import abc
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.arrays import namespace
from copula_discrepancy._core.blocks import Unit, odd_in_blocks
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.formulas import Nodes, Pairs, PairTables, ScoreRows, Slopes
from copula_discrepancy.families.numerics import minus_log, one_sample
from copula_discrepancy.families.parameter import Parameter
from copula_discrepancy.families.quadrature import unit_nodes

_CDF_LEVEL = 5  # 241 nodes; the integrand has one moving length scale, |a - b|
_ROUGH_CDF_LEVEL = 3  # 61 nodes: six digits
_FEW_POINTS = 64  # up to this many points are evaluated at all nodes at once; more would not fit into the cache


@dataclass(frozen=True)
class Elliptical(Copula):
    """A copula of an elliptical distribution; theta is its correlation rho, strictly between -1 and 1."""

    theta: float

    _scores_need_units = False  # a margin's density is a function of the quantile
    _mirror_images = 4  # (u, v), (v, u) and both rotated by 180 degrees
    parameter = Parameter("theta", -1.0, 1.0, False, "it is a correlation")

    @property
    def rho(self) -> float:
        """The correlation, another name for theta."""
        return self.theta

    @property
    def _compiled_df(self) -> float | None:
        """The degrees of freedom for compiled loops, 0 for normal margins; None if squares may overflow."""
        return 0.0

    @abc.abstractmethod
    def _log_margin_density(self, a: FloatArray) -> FloatArray:
        """Log density of the margin."""

    @abc.abstractmethod
    def _quantile_scores(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        """`_theta_derivatives` of coordinates of any shape and size."""

    @abc.abstractmethod
    def _quantile_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Slopes:
        """`_unit_derivatives` at known quantiles."""

    def _margin_tables(self, pair: Pair) -> Pair:
        table = odd_in_blocks(self._margin, *pair)  # the quantile of 1 - u is minus that of u
        return table, table

    def _pair_tables(self, pair: Pair) -> PairTables | None:
        if self._compiled_df is None:
            return None
        table, _ = self._margin_tables(pair)
        slopes = np.exp(-self._log_margin_density(table))
        return PairTables(table, table, slopes, slopes) if np.isfinite(slopes).all() else None

    @property
    def _pair_loops(self) -> bool:
        return self._compiled_df is not None

    def _on_tensors(self, thetas: FloatArray) -> NDArray[np.bool_]:
        return np.full(thetas.shape, self._compiled_df is not None)

    def _tensor_scores(self, theta: Any, x: Any, y: Any, slope_x: Any, slope_y: Any) -> tuple[Any, Any, Any, Any]:
        inverse = 1.0 / ((1.0 - theta) * (1.0 + theta))
        from_y, from_x = residual(theta, x, y), residual(theta, y, x)
        q = from_y * from_y * inverse + y * y
        size, weight = self._tensor_weight(q)
        share = q * size
        q1 = 2.0 * (theta * share - x * y * size) * inverse
        q2 = (2.0 * share + 4.0 * theta * q1) * inverse - (q1 * q1 if self._compiled_df else 0.0)
        n = x.shape[-1]
        score = theta * inverse - weight * q1
        curvature = (n * (1.0 + theta * theta) * inverse * inverse)[..., 0] - weight * q2.sum(-1)

        def mixed(residue: Any, other: Any, slope: Any) -> Any:
            q_x = 2.0 * residue * inverse
            bent = 2.0 * (theta * q_x - other) * inverse - (q_x * q1 if self._compiled_df else 0.0)
            return -weight * size * bent * slope

        return score, curvature, mixed(from_y, y, slope_x), mixed(from_x, x, slope_y)

    def _tensor_weight(self, q: Any) -> tuple[Any, float]:
        """1/(nu + q) and (nu + 2)/2; for normal margins 1 and 1/2."""
        return 1.0, 0.5

    def _pair_scores(
        self, thetas: FloatArray, tables: PairTables, pairs: Pairs, rows: NDArray[np.intp], out: ScoreRows
    ) -> NDArray[np.bool_]:
        assert self._compiled_df is not None
        kernels.elliptical_pair_scores(thetas, self._compiled_df, *tables, *pairs, rows, *out)
        return np.isfinite(out.curvature[rows])  # squares of a t copula's extreme quantiles may overflow

    @abc.abstractmethod
    def _radius(self, log_tail: FloatArray) -> FloatArray:
        """The r that the elliptical radius exceeds with probability exp(log_tail)."""

    @abc.abstractmethod
    def _joint_kernel(self, q: FloatArray) -> FloatArray:
        """The density generator without its constant, times the power required by Plackett's identity."""

    def _nodes(self, theta: float, level: int) -> Nodes:
        """Radius by its tail probability, angle by one rule for each eighth of the plane of quantiles.

        The eighths end on the diagonals, the ridge of strong copulas, and on the axes, where far out the margins' log densities
        bend sharply; the rules cluster their nodes at both.
        """
        p, complement, weight = unit_nodes(level)
        radius = self._radius(-minus_log(p, complement))
        arcs = []
        for sign, width in ((1.0, math.acos(-theta)), (-1.0, math.acos(theta))):  # quantiles of equal and of unlike sign
            near, far = np.sin(0.5 * width * p), np.sin(width * (1.0 - 0.5 * p))
            share = 0.5 * width / (2.0 * np.pi) * weight
            arcs += [(s * a, s * sign * b, share) for s in (1.0, -1.0) for a, b in ((near, far), (far, near))]
        x, y, share = (np.stack(part) for part in zip(*arcs, strict=True))
        return np.multiply.outer(radius, x), np.multiply.outer(radius, y), np.multiply.outer(weight, share)

    def _cdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        if theta < 0:
            return self._unmargin(x)[0] - self._cdf(-theta, x, -y)
        return self._unmargin(np.minimum(x, y))[0] - self._short_of_minimum(theta, x, y, _CDF_LEVEL)

    def _rough_cdf(self, theta: float, x: FloatArray, y: FloatArray, *unit: *Unit) -> FloatArray:
        u, uc, v, vc = unit
        if theta < 0:
            return u - self._rough_cdf(-theta, x, -y, u, uc, vc, v)
        return np.minimum(u, v) - self._short_of_minimum(theta, x, y, _ROUGH_CDF_LEVEL)

    def _short_of_minimum(self, theta: float, x: FloatArray, y: FloatArray, level: int) -> FloatArray:
        """min(u, v) - C: an integral over the correlations from rho >= 0 to 1 (Plackett, 1954; Genz, 2004)."""
        distance, product = (x - y) ** 2, x * y
        reach = math.acos(theta)  # correlation = cos(angle), angle from 0 to reach
        p, _, weight = unit_nodes(level)
        turn, spread = 4.0 * np.sin(0.5 * reach * p) ** 2, np.sin(reach * p) ** 2
        if distance.size <= _FEW_POINTS:
            total = self._joint_kernel((distance[..., None] + product[..., None] * turn) / spread) @ weight
        else:
            total = np.zeros_like(distance)
            for one_turn, one_spread, one_weight in zip(turn, spread, weight, strict=True):
                total += one_weight * self._joint_kernel((distance + product * one_turn) / one_spread)
        return reach / (2.0 * np.pi) * total

    def _theta_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        if self._compiled_df is not None and one_sample(x, y):
            first, second = kernels.elliptical_scores(theta, self._compiled_df, x, y)
            # normal scores are small; squares of a t copula's extreme quantiles may overflow
            if self._compiled_df == 0.0 or math.isfinite(float(np.sum(second))):
                return first, second
        return self._quantile_scores(theta, x, y)

    def _unit_derivatives(self, theta: float, *unit: *Unit) -> Slopes:
        return self._quantile_derivatives(theta, *self._coordinates(*unit))

    def _mixed_derivatives(self, theta: float, x: FloatArray, y: FloatArray, *unit: *Unit) -> Pair:
        if self._compiled_df is not None and one_sample(x, y):
            normal = self._compiled_df == 0.0
            at_zero = -0.5 * math.log(2.0 * math.pi) if normal else float(self._log_margin_density(np.zeros(1))[0])
            in_u, in_v = kernels.elliptical_mixed(theta, self._compiled_df, x, y, at_zero)
            if normal or math.isfinite(float(np.sum(in_u) + np.sum(in_v))):
                return in_u, in_v
        return self._quantile_derivatives(theta, x, y)[2:]

    def _tau(self, theta: float) -> float:
        return 2.0 / math.pi * math.asin(theta)

    def _tau_slope(self, theta: float) -> float:
        return 2.0 / (math.pi * math.sqrt((1.0 - theta) * (1.0 + theta)))

    def _theta_from_tau(self, tau: float) -> float:
        return math.sin(0.5 * math.pi * tau)

    def _taus(self, thetas: FloatArray) -> FloatArray:
        return 2.0 / math.pi * np.arcsin(thetas)

    def _tau_slopes(self, thetas: FloatArray) -> FloatArray:
        return 2.0 / (math.pi * np.sqrt((1.0 - thetas) * (1.0 + thetas)))

    def _thetas_from_taus(self, taus: FloatArray) -> FloatArray:
        return np.sin(0.5 * math.pi * taus)


def residual(theta: Any, x: FloatArray, y: FloatArray) -> FloatArray:
    """x - theta y, without cancellation when the correlation is close to 1 or -1; theta may be a tensor."""
    if isinstance(theta, float):
        return (x - y) + (1.0 - theta) * y if theta > 0 else (x + y) - (1.0 + theta) * y
    side = 2.0 * (theta > 0.0).to(theta.dtype) - 1.0
    found: FloatArray = (x - side * y) + (side - theta) * y
    return found


def log_spread(theta: Any) -> Any:
    """log(1 - theta^2), accurate near 0 and near 1, of one theta or of each of an array."""
    if isinstance(theta, float):
        return math.log1p(-(theta**2)) if abs(theta) < 0.5 else math.log((1.0 - theta) * (1.0 + theta))
    xp = namespace(theta)
    return xp.where(xp.abs(theta) < 0.5, xp.log1p(-(theta**2)), xp.log((1.0 - theta) * (1.0 + theta)))
