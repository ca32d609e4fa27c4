"""Shared formulas of Clayton and Joe: the sum of two powers minus one, relative to the larger power.

With coordinates x, y >= 0, top the larger, low the smaller and gap their distance, both densities are functions of
p = exp(-theta gap) - exp(-theta top): for Clayton (u^-theta + v^-theta - 1) u_min^theta - 1, for Joe its mirror image.
"""

from copula_discrepancy._core.arrays import namespace
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy._core.lazy import lazy


class Excess:
    """p and the terms of its derivatives: low, top, gap, and near = exp(-theta gap)."""

    def __init__(self, theta: float, x: FloatArray, y: FloatArray) -> None:
        self.theta, self.x_on_top = theta, x > y
        self._xp = xp = namespace(x)
        self.low, self.top, self.gap = xp.minimum(x, y), xp.maximum(x, y), xp.abs(x - y)
        self.near = xp.exp(-theta * self.gap)
        self.p = -self.near * xp.expm1(-theta * self.low)  # near - remote, without cancellation

    @lazy
    def remote(self) -> FloatArray:
        """exp(-theta top)."""
        found: FloatArray = self._xp.exp(-self.theta * self.top)
        return found

    @lazy
    def p1(self) -> FloatArray:
        """Theta derivative of p."""
        return self.top * self.remote - self.gap * self.near

    def log_derivatives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log(1 + p) and its first two theta derivatives."""
        first = self.p1 / (1.0 + self.p)
        second = (self.gap**2 * self.near - self.top**2 * self.remote) / (1.0 + self.p) - first**2
        return self._xp.log1p(self.p), first, second

    def by_coordinate(self, in_top: FloatArray, in_low: FloatArray) -> Pair:
        """Derivatives in the larger and the smaller coordinate as derivatives in x and in y."""
        where = self._xp.where
        return where(self.x_on_top, in_top, in_low), where(self.x_on_top, in_low, in_top)
