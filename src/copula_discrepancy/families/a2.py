"""The paper's family A2: both tails grow with theta."""

from dataclasses import dataclass

import numpy as np

from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy.families.hyperbolic import Hyperbolic
from copula_discrepancy.families.numerics import LOG_2
from copula_discrepancy.families.parameter import Parameter

_TAU_GAP = 6.0 - 8.0 * LOG_2


@dataclass(frozen=True)
class A2(Hyperbolic):
    """Family A2, generator ((1-t)^2/t)^theta, theta >= 1.

    Kendall's tau is 1 - (6 - 8 log 2)/theta, at least 0.5452: the family has no weak dependence. Lower tail dependence is
    2^(-1/theta), upper tail dependence 2 - 2^(1/(2 theta)). The name and the generator are the paper's (Aich and Aich, 2025).

    Parameters
    ----------
    theta : float
        At least 1 and finite; perfect dependence is the limit at infinity, independence is not a limit.

    See Also
    --------
    A1 : Equal to A2 at theta = 1, with the same lower tail for every theta.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> round(cd.A2(2.0).tau, 6)
    0.772589
    """

    name = "A2"
    parameter = Parameter(
        "theta", 1.0, np.inf, True, "A2 requires Kendall's tau of at least 0.545; use another family for weaker dependence"
    )

    def _width(self, theta: float) -> tuple[float, float]:
        return 1.0, 0.0

    def _tau(self, theta: float) -> float:
        return 1.0 - _TAU_GAP / theta

    def _tau_slope(self, theta: float) -> float:
        return _TAU_GAP / theta**2

    def _theta_from_tau(self, tau: float) -> float:
        return _TAU_GAP / (1.0 - tau)

    def _taus(self, thetas: FloatArray) -> FloatArray:
        return 1.0 - _TAU_GAP / thetas

    def _tau_slopes(self, thetas: FloatArray) -> FloatArray:
        return _TAU_GAP / thetas**2

    def _thetas_from_taus(self, taus: FloatArray) -> FloatArray:
        return _TAU_GAP / (1.0 - taus)

    @property
    def tail(self) -> tuple[float, float]:
        return 2.0 ** (-1.0 / self.theta), 2.0 - 2.0 ** (0.5 / self.theta)
