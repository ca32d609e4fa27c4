"""What the families A1 and A2 share: generators that are powers of a hyperbolic sine.

phi(t) = (2 sinh z)^(2 theta) with z = -log(t)/(2 width). A1 has width = theta, A2 width = 1; at theta = 1 they meet. Written
as (t^(1/theta) + t^(-1/theta) - 2)^theta and ((1-t)^2/t)^theta, as the paper has them, both overflow and cancel; in logs of
sinh, cosh and tanh they do neither.
"""

import abc
from dataclasses import dataclass

import numpy as np

from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy.families.archimedean import Archimedean
from copula_discrepancy.families.formulas import Pair, Slopes
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
        return (
            2.0 * (x + log_cosh(z) - np.log(width))
            + np.log(2.0 * theta)
            + (2.0 * theta - 2.0) * log_2sinh(z)
            + np.log(2.0 * theta - 1.0 + r**2 + 2.0 * width * r)
        )

    def _kendall_density(self, theta: float, x: FloatArray) -> FloatArray:
        width = self._width(theta)[0]
        r = np.tanh(x / (2.0 * width))
        return (2.0 * theta - 1.0 + r**2 + 2.0 * width * r) / (2.0 * theta)

    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        width = self._width(theta)[0]
        a, b = _scaled(x, width), _scaled(y, width)
        gap, z = _joined(theta, a, b)[:2]
        r = np.tanh(z)
        rest = np.log1p(np.exp(-2.0 * theta * gap)) / (2.0 * theta)
        # (2 theta - 1)(log g_u + log g_v) + (1 - 4 theta) log g_C without the part that cancels
        powers = -np.maximum(log_2sinh(a), log_2sinh(b)) - (2.0 * theta - 1.0) * gap + (1.0 - 4.0 * theta) * rest
        return (
            (x + y - 2.0 * width * z)
            + powers
            + (log_cosh(a) + log_cosh(b) - log_cosh(z))
            - np.log(width)
            + np.log(2.0 * theta - 1.0 + r**2 + 2.0 * width * r)
        )

    def _theta_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        width, turn = self._width(theta)
        a, b = _scaled(x, width), _scaled(y, width)
        _, z, share_a = _joined(theta, a, b)
        share_b = 1.0 - share_a
        margin_a, margin_b = _margin_terms(theta, a, turn), _margin_terms(theta, b, turn)
        # log g of the copula: level/(2 theta), level = log(phi(u) + phi(v))
        (fa, fa1, fa2), (fb, fb1, fb2) = margin_a.level, margin_b.level
        level = np.logaddexp(fa, fb)
        level1 = share_a * fa1 + share_b * fb1
        level2 = share_a * fa2 + share_b * fb2 + share_a * share_b * (fa1 - fb1) ** 2
        half = 0.5 / theta
        g = level * half
        g1 = level1 * half - g / theta
        g2 = level2 * half - 2.0 * g1 / theta
        r = np.tanh(z)
        flat = 1.0 - r**2
        z1 = r * g1
        r1 = flat * z1
        z2 = r1 * g1 + r * g2
        r2 = flat * z2 - 2.0 * r * r1 * z1
        q = 2.0 * theta - 1.0 + r**2 + 2.0 * width * r
        q1 = 2.0 + 2.0 * (r + width) * r1 + 2.0 * turn * r
        q2 = 2.0 * r1**2 + 2.0 * (r + width) * r2 + 4.0 * turn * r1
        first = (
            q1 / q
            - turn / width
            - 2.0 * (turn * z + width * z1)
            - 4.0 * g
            + (1.0 - 4.0 * theta) * g1
            - r * z1
            + margin_a.first
            + margin_b.first
        )
        second = (
            q2 / q
            - (q1 / q) ** 2
            + (turn / width) ** 2
            - 2.0 * (2.0 * turn * z1 + width * z2)
            - 8.0 * g1
            + (1.0 - 4.0 * theta) * g2
            - r1 * z1
            - r * z2
            + margin_a.second
            + margin_b.second
        )
        return first, second

    def _margin_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Slopes:
        width, turn = self._width(theta)
        a, b = _scaled(x, width), _scaled(y, width)
        _, z, share_a = _joined(theta, a, b)
        (fa, fa1, _), (fb, fb1, _) = _margin_terms(theta, a, turn).level, _margin_terms(theta, b, turn).level
        g = np.logaddexp(fa, fb) / (2.0 * theta)
        g1 = (share_a * fa1 + (1.0 - share_a) * fb1) / (2.0 * theta) - g / theta
        r = np.tanh(z)
        flat = 1.0 - r**2
        r1 = flat * r * g1
        share1 = share_a * (1.0 - share_a) * (fa1 - fb1)
        q = 2.0 * theta - 1.0 + r**2 + 2.0 * width * r
        q1 = 2.0 + 2.0 * (r + width) * r1 + 2.0 * turn * r

        def along(s: FloatArray, share: FloatArray, share1: FloatArray) -> Pair:
            """Derivatives in one coordinate with scaled value s, then in (theta, coordinate)."""
            coth, tanh = 1.0 / np.tanh(s), np.tanh(s)
            s1 = -turn * s / width
            coth1, tanh1 = -s1 / np.sinh(np.minimum(s, 350.0)) ** 2, s1 / np.cosh(np.minimum(s, 350.0)) ** 2
            scale, scale1 = 0.5 / width, -0.5 * turn / width**2
            gx = share * coth * scale  # log g of the copula in x
            gx1 = share1 * coth * scale + share * (coth1 * scale + coth * scale1)
            zx, zx1 = r * gx, r1 * gx + r * gx1
            rx, rx1 = flat * zx, flat * zx1 - 2.0 * r * r1 * zx
            qx = 2.0 * (r + width) * rx
            qx1 = 2.0 * (r1 + turn) * rx + 2.0 * (r + width) * rx1
            margin = ((2.0 * theta - 1.0) * coth + tanh) * scale
            margin1 = ((2.0 * theta - 1.0) * coth1 + 2.0 * coth + tanh1) * scale
            margin1 = margin1 + ((2.0 * theta - 1.0) * coth + tanh) * scale1
            first = 1.0 - 2.0 * width * zx + (1.0 - 4.0 * theta) * gx + margin - r * zx + qx / q
            mixed = (
                -2.0 * (turn * zx + width * zx1)
                - 4.0 * gx
                + (1.0 - 4.0 * theta) * gx1
                + margin1
                - r1 * zx
                - r * zx1
                + qx1 / q
                - qx * q1 / q**2
            )
            return first, mixed

        in_x, mixed_x = along(a, share_a, share1)
        in_y, mixed_y = along(b, 1.0 - share_a, -share1)
        return in_x, in_y, mixed_x, mixed_y


@dataclass(frozen=True)
class _MarginTerms:
    """One margin's log phi with two theta derivatives, and the theta derivatives of its share of the log density."""

    level: tuple[FloatArray, FloatArray, FloatArray]
    first: FloatArray
    second: FloatArray


def _scaled(x: FloatArray, width: float) -> FloatArray:
    """A margin's coordinate in units of the width; one so small that its inverse is no float is taken for the smallest."""
    return np.maximum(x / (2.0 * width), _SMALLEST)


def _margin_terms(theta: float, s: FloatArray, turn: float) -> _MarginTerms:
    """Terms of a margin with scaled coordinate s; its theta derivatives are -s/theta, 2s/theta^2 (A1) or 0 (A2)."""
    log_g = log_2sinh(s)
    s1, s2 = -turn * s / theta, 2.0 * turn * s / theta**2
    coth, tanh = 1.0 / np.tanh(s), np.tanh(s)
    # s/sinh(s) -> 1 at 0 and underflows to 0 from 350 on, where sinh would overflow
    csch = 1.0 / np.sinh(np.minimum(s, 350.0))
    sech = 1.0 / np.cosh(np.minimum(s, 350.0))
    g1 = coth * s1
    g2 = coth * s2 - (csch * s1) ** 2
    level = 2.0 * theta * log_g, 2.0 * (log_g + theta * g1), 4.0 * g1 + 2.0 * theta * g2
    first = 2.0 * log_g + (2.0 * theta - 1.0) * g1 + tanh * s1
    second = 4.0 * g1 + (2.0 * theta - 1.0) * g2 + (sech * s1) ** 2 + tanh * s2
    return _MarginTerms(level, first, second)


def _joined(theta: float, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distance of log g between the margins, scaled coordinate of C(u, v), and the share phi(u)/(phi(u) + phi(v))."""
    log_a, log_b = log_2sinh(a), log_2sinh(b)
    gap = np.abs(log_a - log_b)
    e = np.exp(-2.0 * theta * gap)
    z = _inverse_log_2sinh(np.maximum(log_a, log_b) + np.log1p(e) / (2.0 * theta))
    return gap, z, np.where(log_a > log_b, 1.0, e) / (1.0 + e)


def _inverse_log_2sinh(level: FloatArray) -> FloatArray:
    """z with log(2 sinh z) = level."""
    # beyond 300 sinh z and exp(z)/2 agree to all digits
    return np.where(level > 300.0, level, np.arcsinh(0.5 * np.exp(np.minimum(level, 300.0))))
