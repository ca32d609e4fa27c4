"""Archimedean copulas: everything that follows from the generator.

With a generator phi, C(u, v) = phi^-1(phi(u) + phi(v)). For a draw (U, V), the share T = phi(U) / (phi(U) + phi(V)) is uniform
and independent of W = C(U, V), whose distribution is K(t) = t - phi(t)/phi'(t) (Genest and Rivest, 1993). Sampling, entropy
and divergence all use that pair (T, W).
"""

import abc
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_discrepancy._core.blocks import Unit
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.formulas import SMALL_DIVERGENCE, Nodes, PairTables, Slopes
from copula_discrepancy.families.numerics import exponential_pair, minus_log
from copula_discrepancy.families.quadrature import Integral, refine, unit_nodes


@dataclass(frozen=True)
class Archimedean(Copula):
    """A family defined by its generator; a subclass adds closed forms if they are more accurate or faster."""

    theta: float

    _mirror_images = 2  # (u, v) and (v, u)

    # ---- one margin: by default x = -log u -------------------------------------------------------------------------

    def _margin(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        return minus_log(u, uc)

    def _unmargin(self, x: FloatArray) -> Pair:
        return exponential_pair(x)

    def _margin_slope(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        """dx/du."""
        return -1.0 / u

    # ---- the generator, in logs, as a function of the coordinate ---------------------------------------------------

    @abc.abstractmethod
    def _log_generator(self, theta: float, x: FloatArray) -> FloatArray:
        """log phi(t)."""

    @abc.abstractmethod
    def _inverse_log_generator(self, theta: float, level: FloatArray) -> FloatArray:
        """The coordinate at which log phi equals `level`."""

    @abc.abstractmethod
    def _log_slope(self, theta: float, x: FloatArray) -> FloatArray:
        """log(-phi'(t)), the derivative with respect to t."""

    @abc.abstractmethod
    def _log_curvature(self, theta: float, x: FloatArray) -> FloatArray:
        """log phi''(t)."""

    # ---- derived formulas ------------------------------------------------------------------------------------------

    def _copula_coordinate(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        """The coordinate of C(u, v)."""
        return self._inverse_log_generator(theta, np.logaddexp(self._log_generator(theta, x), self._log_generator(theta, y)))

    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        c = self._copula_coordinate(theta, x, y)
        joint = self._log_curvature(theta, c) - 3.0 * self._log_slope(theta, c)
        return joint + self._log_slope(theta, x) + self._log_slope(theta, y)

    def _cdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        return self._unmargin(self._copula_coordinate(theta, x, y))[0]

    def _conditional(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        c = self._copula_coordinate(theta, x, y)
        # rounding may leave phi'(v)/phi'(C) a unit above one if C and v agree in all digits
        log_ratio = np.minimum(self._log_slope(theta, y) - self._log_slope(theta, c), 0.0)
        return np.exp(log_ratio), -np.expm1(log_ratio)

    def _margin_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Slopes | None:
        """Derivatives of the log density in x, y, (theta, x), (theta, y), if a family has them in closed form."""
        return None

    def _unit_derivatives(self, theta: float, *unit: *Unit) -> Slopes:
        closed = self._margin_derivatives(theta, *self._coordinates(*unit))
        if closed is None:
            return super()._unit_derivatives(theta, *unit)
        in_u, in_v = self._margin_slope(*unit[:2]), self._margin_slope(*unit[2:])
        return closed[0] * in_u, closed[1] * in_v, closed[2] * in_u, closed[3] * in_v

    def _mixed_derivatives(self, theta: float, x: FloatArray, y: FloatArray, *unit: *Unit) -> Pair:
        closed = self._margin_derivatives(theta, x, y)
        if closed is None:
            return super()._mixed_derivatives(theta, x, y, *unit)
        return closed[2] * self._margin_slope(*unit[:2]), closed[3] * self._margin_slope(*unit[2:])

    def _pair_tables(self, pair: Pair) -> PairTables | None:
        table, slopes = self._margin_tables(pair)[0], self._margin_slope(*pair)
        return PairTables(table, table, slopes, slopes)

    def _tensor_scores(self, theta: Any, x: Any, y: Any, slope_x: Any, slope_y: Any) -> tuple[Any, Any, Any, Any]:
        first, second = self._theta_derivatives(theta, x, y)
        closed = self._margin_derivatives(theta, x, y)
        assert closed is not None
        return first, second.sum(-1), closed[2] * slope_x, closed[3] * slope_y

    def _kendall_density(self, theta: float, x: FloatArray) -> FloatArray:
        """dK/dt = phi(t) phi''(t) / phi'(t)**2; a family's closed form is more accurate if theta is large."""
        return np.exp(self._log_generator(theta, x) + self._log_curvature(theta, x) - 2.0 * self._log_slope(theta, x))

    def _nodes(self, theta: float, level: int) -> Nodes:
        """T from 0 to 1/2 and mirrored, so that the diagonal U = V, the ridge of a strong copula, is an end point."""
        p, complement, weight = unit_nodes(level)
        at = self._margin(p, complement)
        generator = self._log_generator(theta, at)
        near = self._inverse_log_generator(theta, np.add.outer(np.log(0.5 * p), generator))
        far = self._inverse_log_generator(theta, np.add.outer(np.log1p(-0.5 * p), generator))
        share = np.multiply.outer(0.5 * weight, weight * self._kendall_density(theta, at))
        x, y = np.stack([near, far], axis=1), np.stack([far, near], axis=1)
        return x, y, np.broadcast_to(share[:, None], (p.size, 2, p.size))

    def _information_integral(self, theta: float, accept: float) -> Integral:
        """E[log c] as one-dimensional integrals over a margin and over K."""

        def terms(level: int) -> FloatArray:
            p, complement, weight = unit_nodes(level)
            at = self._margin(p, complement)
            slope = self._log_slope(theta, at)
            inner = self._log_curvature(theta, at) - 3.0 * slope
            return weight * (2.0 * slope + inner * self._kendall_density(theta, at))

        plain = refine(terms, floor=SMALL_DIVERGENCE, accept=accept)
        # near independence the terms cancel; the divergence from independence does not
        return plain if plain.value > SMALL_DIVERGENCE else super()._information_integral(theta, accept)

    def _sample(self, theta: float, n: int, rng: np.random.Generator) -> Pair:
        """Coordinates of n draws from (T, W), W by inverting K."""
        share, p = rng.uniform(size=n), rng.uniform(size=n)
        with np.errstate(divide="ignore"):  # log 0: a share of exactly 0 or 1 gives u = 1
            level = self._log_generator(theta, self._invert_kendall(theta, p))
            first, second = np.log(share) + level, np.log1p(-share) + level
            return self._inverse_log_generator(theta, first), self._inverse_log_generator(theta, second)

    def _invert_kendall(self, theta: float, p: FloatArray) -> FloatArray:
        """Coordinates of K^-1(p): a table on the logit scale gives four digits, Newton's method the rest."""
        from scipy.special import expit, logit

        def kendall(s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            t = expit(s)
            x = self._margin(t, expit(-s))
            ratio = np.exp(self._log_generator(theta, x) - self._log_slope(theta, x))
            return t + ratio, self._kendall_density(theta, x) * t * expit(-s), x

        grid = np.linspace(-45.0, 37.0, 4097)  # exp(-45) and 1 - exp(-37) are beyond all uniform draws
        with np.errstate(divide="ignore"):
            s = np.interp(logit(p), logit(np.minimum(kendall(grid)[0], 1.0)), grid)
        for _ in range(3):
            value, slope, _ = kendall(s)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = (p - value) / slope
            # a step longer than the table's spacing means that 1 - p has no accurate digits: keep the table's value
            s = s + np.where(np.abs(step) < 0.05, step, 0.0)
        return kendall(s)[2]
