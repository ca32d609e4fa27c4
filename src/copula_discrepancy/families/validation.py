"""Consistency checks for the formulas of any copula, at ordinary points: cheap enough to run at registration.

Each check computes one number in two ways and returns whether they agree. The test suite adds slower ones, such as for the
sampler, the entropy and the tails, and runs all of them for every family of the library.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.formulas import Formulas

GRID = np.array([0.03, 0.2, 0.45, 0.5, 0.7, 0.93])
U, V = (axis.ravel() for axis in np.meshgrid(GRID, GRID + 0.011))
UNIT = U, 1.0 - U, V, 1.0 - V
_STEP = 1e-5  # step of central differences


def close(actual: Any, expected: Any, tolerance: float) -> bool:
    """Whether numbers agree, relative to the expected ones if these are large; NaN agrees with nothing."""
    return bool(np.all(np.abs(actual - expected) <= tolerance * np.maximum(1.0, np.abs(expected))))


def uniform_margins(c: Copula) -> bool:
    """C(u, 1) = u, C(u, 0) = 0, and the conditional distribution averages to the margin."""
    middles = (np.arange(1000) + 0.5) / 1000.0
    means = np.mean(c.conditional_cdf(GRID[:, None], middles), axis=1)
    edges = np.array_equal(c.cdf(GRID, 1.0), GRID) and not np.any(c.cdf(0.0, GRID))
    return edges and close(means, GRID, 1e-4)  # an infinite slope at an end may cost a tenth of 1/1000


def conditional_is_cdf_slope(c: Copula) -> bool:
    """P(U <= u | V = v) = dC/dv."""
    slope = (c.cdf(U, V + _STEP) - c.cdf(U, V - _STEP)) / (2.0 * _STEP)
    return close(c.conditional_cdf(U, V), slope, 1e-7)  # step**2 times a third derivative of order 100


def density_is_conditional_slope(c: Copula) -> bool:
    """The density is the derivative in u of P(U <= u | V = v)."""
    slope = (c.conditional_cdf(U + _STEP, V) - c.conditional_cdf(U - _STEP, V)) / (2.0 * _STEP)
    return close(c.pdf(U, V), slope, 1e-5)  # step**2 times a third derivative of order 1e4 at a steep ridge


def conditional_inverse(c: Copula) -> bool:
    """`conditional_ppf` inverts `conditional_cdf`."""
    return close(c.conditional_cdf(c.conditional_ppf(U, V), V), U, 1e-11)


def exchangeable_or_turned(c: Copula) -> bool:
    """c(u, v) = c(v, u), or c(u, v) = c(1-v, 1-u) after a rotation by 90 or 270 degrees."""
    mirrored = c.logpdf(V, U) if getattr(c, "rotation", 180) == 180 else c.logpdf(1 - V, 1 - U)
    return close(c.logpdf(U, V), mirrored, 1e-11)  # 1 - u rounds


def tau_round_trip(c: Copula) -> bool:
    """The inverse of Kendall's tau returns theta."""
    return close(c._theta_from_tau(c.tau), c.theta, 1e-9)


def tau_slope_is_slope(c: Copula) -> bool:
    """The derivative of tau in theta agrees with that of a stencil."""
    return close(c._tau_slope(c.theta), Copula._tau_slope(c, c.theta), 1e-6)


def tails_are_shares(c: Copula) -> bool:
    """Both tail coefficients are between 0 and 1."""
    lower, upper = c.tail
    return 0.0 <= lower <= 1.0 and 0.0 <= upper <= 1.0


def information_is_integral(c: Copula) -> bool:
    """The mean log density is that of a quadrature."""
    x, y, weight = np.broadcast_arrays(*c._nodes(c.theta, 4))
    mean = np.sum(weight.ravel() * c._logpdf(c.theta, x.ravel(), y.ravel()))
    return close(c._information(c.theta).value, mean, 1e-6)


def tau_is_integral(c: Copula) -> bool:
    """tau = 4 E[C(U, V)] - 1 under the copula's own quadrature."""
    x, y, weight = np.broadcast_arrays(*c._nodes(c.theta, 3))
    return close(4.0 * np.sum(weight.ravel() * c._cdf(c.theta, x.ravel(), y.ravel())) - 1.0, c.tau, 1e-9)


def score_is_slope(c: Copula) -> bool:
    """The theta derivatives of the log density agree with those of a stencil."""
    default = Formulas._theta_derivatives(c, c.theta, *c._coordinates(*UNIT))
    return all(close(a, b, 1e-6) for a, b in zip((c.score(U, V), c.score_slope(U, V)), default, strict=True))  # 1e-8 at a bound


def likelihood_sums_are_sums(c: Copula) -> bool:
    """The sums that a fit maximises are those of the log density, with its derivatives."""
    sums = c._likelihood_sums(c.theta, *c._prepare([c._coordinates(*UNIT)], U.size))
    return all(close(a, b(U, V).sum(), 1e-10) for a, b in zip(sums, (c.logpdf, c.score, c.score_slope), strict=True))


CHECKS: tuple[Callable[[Copula], bool], ...] = (
    uniform_margins, conditional_is_cdf_slope, density_is_conditional_slope, conditional_inverse, exchangeable_or_turned,
    tau_round_trip, tau_slope_is_slope, tau_is_integral, tails_are_shares, information_is_integral, score_is_slope,
    likelihood_sums_are_sums,
)  # fmt: skip


def failed_checks(template: Copula) -> list[str]:
    """The checks that two or three members of a family fail; empty if all pass."""
    theta = template.theta
    members = [template, template.with_theta(theta + 0.5 * template._scale(theta))]
    if template.parameter.lower < -theta < 0.0:
        members.insert(0, template.with_theta(-theta))
    taus: FloatArray = np.array([member.tau for member in members])
    if not np.all(np.diff(taus) > 0.0):  # the inverse of tau, below, would not terminate
        return [f"tau_increases at {members}"]
    return [message for check in CHECKS for member in members if (message := _failure(check, member))]


def _failure(check: Callable[[Copula], bool], member: Copula) -> str:
    """Why a member fails a check: it disagrees, or its formulas raise an error; empty where it passes."""
    try:
        return "" if check(member) else f"{check.__name__} at {member!r}"
    except Exception as error:  # whatever the formulas of a user's class raise
        return f"{check.__name__} at {member!r} raises {type(error).__name__}: {error}"
