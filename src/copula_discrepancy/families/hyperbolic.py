"""Shared formulas of the families A1 and A2: generators that are powers of a hyperbolic sine.

phi(t) = (2 sinh z)^(2 theta) with z = -log(t)/(2 width). A1 has width = theta, A2 width = 1; at theta = 1 they are equal. The
paper's forms (t^(1/theta) + t^(-1/theta) - 2)^theta and ((1-t)^2/t)^theta overflow and cancel; logs of sinh, cosh and tanh do
neither.
"""

import abc
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.arrays import namespace
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy.families.archimedean import Archimedean
from copula_discrepancy.families.formulas import Slopes
from copula_discrepancy.families.numerics import log_2sinh, log_cosh

_SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Hyperbolic(Archimedean):
    """An Archimedean family with generator (2 sinh(-log(t)/(2 width)))^(2 theta)."""

    @abc.abstractmethod
    def _width(self, theta: float) -> tuple[float, float]:
        """The width and its theta derivative."""

    def _log_generator(self, theta: float, x: FloatArray) -> FloatArray:
        return 2.0 * theta * log_2sinh(x / (2.0 * self._width(theta)[0]))

    def _inverse_log_generator(self, theta: float, level: FloatArray) -> FloatArray:
        return 2.0 * self._width(theta)[0] * _inverse_log_2sinh(level / (2.0 * theta))

    def _log_slope(self, theta: float, x: FloatArray) -> FloatArray:
        width = self._width(theta)[0]
        z = x / (2.0 * width)
        return x + np.log(2.0 * theta / width) + (2.0 * theta - 1.0) * log_2sinh(z) + log_cosh(z)

    def _log_curvature(self, theta: float, x: FloatArray) -> FloatArray:
        width = self._width(theta)[0]
        z = x / (2.0 * width)
        r = np.tanh(z)
        powers = 2.0 * (x + log_cosh(z) - np.log(width)) + (2.0 * theta - 2.0) * log_2sinh(z)
        return powers + np.log(2.0 * theta) + np.log(2.0 * theta - 1.0 + r**2 + 2.0 * width * r)

    def _kendall_density(self, theta: float, x: FloatArray) -> FloatArray:
        width = self._width(theta)[0]
        r = np.tanh(x / (2.0 * width))
        return (2.0 * theta - 1.0 + r**2 + 2.0 * width * r) / (2.0 * theta)

    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        width, xp = self._width(theta)[0], namespace(x)
        a, b = _scaled(x, width), _scaled(y, width)
        gap, z = _joined(theta, a, b)[:2]
        r = xp.tanh(z)
        rest = xp.log1p(xp.exp(-2.0 * theta * gap)) / (2.0 * theta)
        # (2 theta - 1)(log g_u + log g_v) + (1 - 4 theta) log g_C without the terms that cancel
        powers = -xp.maximum(log_2sinh(a), log_2sinh(b)) - (2.0 * theta - 1.0) * gap + (1.0 - 4.0 * theta) * rest
        slopes = (x + y - 2.0 * width * z) + powers + (log_cosh(a) + log_cosh(b) - log_cosh(z))
        found: FloatArray = slopes - namespace(width).log(width) + xp.log(2.0 * theta - 1.0 + r**2 + 2.0 * width * r)
        return found

    def _theta_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        width, turn = self._width(theta)
        joint = _Joint(theta, x, y, width, turn)
        (_, fa1, fa2), (_, fb1, fb2) = (margin.level for margin in joint.margins)
        z, r, r1, g1, q, q1 = joint.z, joint.r, joint.r1, joint.g1, joint.q, joint.q1
        level2 = joint.share * fa2 + (1.0 - joint.share) * fb2 + joint.share1 * (fa1 - fb1)
        g2 = level2 / (2.0 * theta) - 2.0 * g1 / theta
        z1, z2 = r * g1, r1 * g1 + r * g2
        r2 = (1.0 - r**2) * z2 - 2.0 * r * r1 * z1
        q2 = 2.0 * r1**2 + 2.0 * (r + width) * r2 + 4.0 * turn * r1
        at_copula = q1 / q - turn / width - 2.0 * (turn * z + width * z1) - 4.0 * joint.g + (1.0 - 4.0 * theta) * g1 - r * z1
        bend2 = q2 / q - (q1 / q) ** 2 + (turn / width) ** 2
        at_copula2 = bend2 - 2.0 * (2.0 * turn * z1 + width * z2) - 8.0 * g1 + (1.0 - 4.0 * theta) * g2 - r1 * z1 - r * z2
        one, other = joint.margins
        return at_copula + one.first + other.first, at_copula2 + one.second + other.second

    def _margin_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Slopes:
        width, turn = self._width(theta)
        joint = _Joint(theta, x, y, width, turn)
        r, r1, q, q1 = joint.r, joint.r1, joint.q, joint.q1
        flat = 1.0 - r**2
        scale, scale1 = 0.5 / width, -0.5 * turn / width**2

        def along(s: FloatArray, share: FloatArray, share1: FloatArray) -> Pair:
            """Derivatives in one coordinate with scaled value s, then in (theta, coordinate)."""
            xp = namespace(s)
            coth, tanh = 1.0 / xp.tanh(s), xp.tanh(s)
            s1 = -turn * s / width
            coth1, tanh1 = -s1 / xp.sinh(xp.minimum(s, 350.0)) ** 2, s1 / xp.cosh(xp.minimum(s, 350.0)) ** 2
            gx = share * coth * scale  # log g of the copula in x
            gx1 = share1 * coth * scale + share * (coth1 * scale + coth * scale1)
            zx, zx1 = r * gx, r1 * gx + r * gx1
            rx, rx1 = flat * zx, flat * zx1 - 2.0 * r * r1 * zx
            qx = 2.0 * (r + width) * rx
            qx1 = 2.0 * (r1 + turn) * rx + 2.0 * (r + width) * rx1
            margin = (2.0 * theta - 1.0) * coth + tanh
            margin1 = ((2.0 * theta - 1.0) * coth1 + 2.0 * coth + tanh1) * scale + margin * scale1
            first = 1.0 - 2.0 * width * zx + (1.0 - 4.0 * theta) * gx + margin * scale - r * zx + qx / q
            # in this order: in the corners large terms cancel
            mixed = -2.0 * (turn * zx + width * zx1) - 4.0 * gx + (1.0 - 4.0 * theta) * gx1 + margin1
            return first, mixed - r1 * zx - r * zx1 + qx1 / q - qx * q1 / q**2

        in_x, mixed_x = along(joint.a, joint.share, joint.share1)
        in_y, mixed_y = along(joint.b, 1.0 - joint.share, -joint.share1)
        return in_x, in_y, mixed_x, mixed_y

    def _on_tensors(self, thetas: FloatArray) -> NDArray[np.bool_]:
        return np.ones(thetas.shape, bool)


class _Joint:
    """Terms shared by all derivatives: both margins, the scaled coordinate z of C(u, v), its log g, r = tanh z, the bend q.

    A name that ends in 1 is a theta derivative; `share` is phi(u)/(phi(u) + phi(v)).
    """

    def __init__(self, theta: float, x: FloatArray, y: FloatArray, width: float, turn: float) -> None:
        self.a, self.b = _scaled(x, width), _scaled(y, width)
        _, self.z, self.share = _joined(theta, self.a, self.b)
        self.margins = _margin_terms(theta, self.a, turn), _margin_terms(theta, self.b, turn)
        (fa, fa1, _), (fb, fb1, _) = (margin.level for margin in self.margins)
        self.share1 = self.share * (1.0 - self.share) * (fa1 - fb1)
        xp = namespace(x)
        self.g = xp.logaddexp(fa, fb) / (2.0 * theta)
        self.g1 = (self.share * fa1 + (1.0 - self.share) * fb1) / (2.0 * theta) - self.g / theta
        self.r = xp.tanh(self.z)
        self.r1 = (1.0 - self.r**2) * self.r * self.g1
        self.q = 2.0 * theta - 1.0 + self.r**2 + 2.0 * width * self.r
        self.q1 = 2.0 + 2.0 * (self.r + width) * self.r1 + 2.0 * turn * self.r


class _MarginTerms(NamedTuple):
    """One margin's log phi with two theta derivatives, and the theta derivatives of its share of the log density."""

    level: tuple[FloatArray, FloatArray, FloatArray]
    first: FloatArray
    second: FloatArray


def _scaled(x: FloatArray, width: float) -> FloatArray:
    """A margin's coordinate in units of the width; at least the smallest float whose inverse is finite."""
    found: FloatArray = namespace(x).maximum(x / (2.0 * width), _SMALLEST)
    return found


def _margin_terms(theta: float, s: FloatArray, turn: float) -> _MarginTerms:
    """Terms of a margin with scaled coordinate s; its theta derivatives are -s/theta, 2s/theta^2 (A1) or 0 (A2)."""
    log_g = log_2sinh(s)
    s1, s2 = -turn * s / theta, 2.0 * turn * s / theta**2
    xp = namespace(s)
    coth, tanh = 1.0 / xp.tanh(s), xp.tanh(s)
    # s/sinh(s) -> 1 at 0 and underflows to 0 from 350 on, where sinh would overflow
    csch, sech = 1.0 / xp.sinh(xp.minimum(s, 350.0)), 1.0 / xp.cosh(xp.minimum(s, 350.0))
    g1, g2 = coth * s1, coth * s2 - (csch * s1) ** 2
    level = 2.0 * theta * log_g, 2.0 * (log_g + theta * g1), 4.0 * g1 + 2.0 * theta * g2
    first = 2.0 * log_g + (2.0 * theta - 1.0) * g1 + tanh * s1
    second = 4.0 * g1 + (2.0 * theta - 1.0) * g2 + (sech * s1) ** 2 + tanh * s2
    return _MarginTerms(level, first, second)


def _joined(theta: float, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distance of log g between the margins, scaled coordinate of C(u, v), and the share phi(u)/(phi(u) + phi(v))."""
    xp = namespace(a)
    log_a, log_b = log_2sinh(a), log_2sinh(b)
    gap = xp.abs(log_a - log_b)
    e = xp.exp(-2.0 * theta * gap)
    z = _inverse_log_2sinh(xp.maximum(log_a, log_b) + xp.log1p(e) / (2.0 * theta))
    return gap, z, xp.where(log_a > log_b, 1.0, e) / (1.0 + e)


def _inverse_log_2sinh(level: FloatArray) -> FloatArray:
    """z with log(2 sinh z) = level."""
    # beyond 300 sinh z and exp(z)/2 agree to all digits
    xp = namespace(level)
    found: FloatArray = xp.where(level > 300.0, level, xp.arcsinh(0.5 * xp.exp(xp.minimum(level, 300.0))))
    return found
