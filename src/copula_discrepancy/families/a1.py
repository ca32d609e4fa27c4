"""The paper's family A1: a fixed lower tail, an upper tail that grows with theta."""

from dataclasses import dataclass

import numpy as np
from scipy.special import polygamma, psi

from copula_discrepancy.families.hyperbolic import Hyperbolic
from copula_discrepancy.families.parameter import Parameter

_LARGE_THETA = 20.0  # from here on the next term of the series is below 1e-15, while the digammas lose digits


@dataclass(frozen=True)
class A1(Hyperbolic):
    """Family A1, generator (t^(1/theta) + t^(-1/theta) - 2)^theta, theta >= 1.

    Kendall's tau is 3 - 4 theta (psi(theta + 1/2) - psi(theta)), at least 0.5452: the family has no weak dependence. Lower tail
    dependence is 1/2 for every theta, upper tail dependence 2 - 2^(1/(2 theta)). The name and the generator are the paper's
    (Aich and Aich, 2025); the closed form of tau is derived in this project from its integral.

    Parameters
    ----------
    theta : float
        At least 1 and finite; perfect dependence is the limit at infinity, independence is not a limit.

    See Also
    --------
    A2 : Equal to A1 at theta = 1, with a lower tail that grows with theta.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> round(cd.A1(1.0).tau, 6)
    0.545177
    """

    name = "A1"
    parameter = Parameter(
        "theta", 1.0, np.inf, True, "A1 requires Kendall's tau of at least 0.545; use another family for weaker dependence"
    )

    def _width(self, theta: float) -> tuple[float, float]:
        return theta, 1.0

    def _tau(self, theta: float) -> float:
        if theta > _LARGE_THETA:
            q = 1.0 / theta  # 4 theta (psi(theta+1/2) - psi(theta)) - 2 = q/2 - q^3/16 + q^5/32 - ...
            return 1.0 - q * (0.5 - q**2 * (1 / 16 - q**2 * (1 / 32 - q**2 * (17 / 512 - q**2 * 31 / 512))))
        return float(3.0 - 4.0 * theta * (psi(theta + 0.5) - psi(theta)))

    def _tau_slope(self, theta: float) -> float:
        if theta > _LARGE_THETA:
            q = 1.0 / theta
            return q**2 * (0.5 - q**2 * (3 / 16 - q**2 * (5 / 32 - q**2 * (119 / 512 - q**2 * 279 / 512))))
        difference = psi(theta + 0.5) - psi(theta)
        return float(-4.0 * (difference + theta * (polygamma(1, theta + 0.5) - polygamma(1, theta))))

    @property
    def tail(self) -> tuple[float, float]:
        return 0.5, 2.0 - 2.0 ** (0.5 / self.theta)
