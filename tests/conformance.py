"""One suite for every family: what a copula must satisfy, each by a route of its own.

`failures(copula)` returns the names of the checks that the copula does not pass; an empty list is a pass.
"""

import numpy as np
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.families.archimedean import Archimedean
from copula_discrepancy.families.base import Copula

GRID = np.array([0.03, 0.2, 0.45, 0.5, 0.7, 0.93])
U, V = (axis.ravel() for axis in np.meshgrid(GRID, GRID + 0.011))


def _close(actual, expected, tolerance):
    return bool(np.all(np.abs(actual - expected) <= tolerance * np.maximum(1.0, np.abs(expected))))


def uniform_margins(c):
    """C(u, 1) = u, C(u, 0) = 0, and the conditional distribution averages to the margin."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    v = 0.5 + 0.5 * nodes
    means = np.array([np.sum(0.5 * weights * c.conditional_cdf(u, v)) for u in GRID])
    edges = np.array_equal(c.cdf(GRID, 1.0), GRID) and not np.any(c.cdf(0.0, GRID))
    return edges and _close(means, GRID, 1e-4)  # Gauss nodes see a ridge of width 1/theta


def unit_mass(c):
    """The density integrates to C over a box away from the corners."""
    nodes, weights = np.polynomial.legendre.leggauss(60)  # the density is analytic there
    box = 0.04 * (weights @ c.pdf((0.4 + 0.2 * nodes)[:, None], (0.5 + 0.2 * nodes)[None, :]) @ weights)
    return abs(box - (c.cdf(0.6, 0.7) - c.cdf(0.2, 0.7) - c.cdf(0.6, 0.3) + c.cdf(0.2, 0.3))) < 1e-8


def conditional_is_cdf_slope(c):
    h = 1e-5
    slope = (c.cdf(U, V + h) - c.cdf(U, V - h)) / (2 * h)
    return _close(c.conditional_cdf(U, V), slope, 1e-7)  # h**2 times a third derivative of order 100


def density_is_conditional_slope(c):
    h = 1e-5
    slope = (c.conditional_cdf(U + h, V) - c.conditional_cdf(U - h, V)) / (2 * h)
    return _close(c.pdf(U, V), slope, 1e-5)  # h**2 times a third derivative of order 1e4 where the ridge is steep


def conditional_inverse(c):
    return _close(c.conditional_cdf(c.conditional_ppf(U, V), V), U, 1e-11)


def exchangeable_or_turned(c):
    """c(u, v) = c(v, u), or c(u, v) = c(1-v, 1-u) after a quarter turn."""
    turned = getattr(c, "rotation", 180) != 180
    mirrored = c.logpdf(1 - V, 1 - U) if turned else c.logpdf(V, U)
    return _close(c.logpdf(U, V), mirrored, 1e-11)  # 1 - u rounds


def tau_round_trip(c):
    fixed = {"df": c.df} if hasattr(c, "df") else {}
    family = type(c) if not isinstance(c, cd.Rotated) else cd.family(c.name)
    if isinstance(c, cd.Rotated) and hasattr(c.base, "df"):
        fixed = {"df": c.base.df}
    return _close(family.from_tau(c.tau, **fixed).theta, c.theta, 1e-9)


def tau_is_integral(c):
    """tau = 4 E[C(U, V)] - 1 under the copula's own quadrature."""
    x, y, weight = c._nodes(c.theta, 3)
    shape = np.broadcast_shapes(x.shape, weight.shape)
    values = c._cdf(c.theta, np.broadcast_to(x, shape).ravel(), np.broadcast_to(y, shape).ravel())
    return abs(4.0 * np.sum(weight.ravel() * values) - 1.0 - c.tau) < 1e-9


def sampler_follows_cdf(c):
    """Rosenblatt's transform of 20,000 draws is uniform in both coordinates and uncorrelated, and tau is right; 1e-4 each."""
    draws = c.sample(20_000, rng=20_260)
    p = c.conditional_cdf(draws[:, 0], draws[:, 1])
    tests = [stats.kstest(z, "uniform").pvalue for z in (draws[:, 0], draws[:, 1], p)]
    cross = abs(stats.kendalltau(p, draws[:, 1]).statistic) * np.sqrt(9 * 20_000 / 4)
    influence = 2.0 * cd.concordance(draws[:, 0], draws[:, 1])
    gap = abs(cd.kendall_tau(draws[:, 0], draws[:, 1]) - c.tau) / influence.std() * np.sqrt(20_000)
    return min(tests) > 1e-4 and cross < 3.9 and gap < 3.9


def score_is_slope(c):
    ours = c.score(U, V), c.score_slope(U, V)
    default = Copula._theta_derivatives(c, c.theta, *c._coordinates(U, 1 - U, V, 1 - V))
    return all(_close(a, b, 1e-6) for a, b in zip(ours, default, strict=True))  # stencils reach 1e-8 near a bound


def gradients_are_slopes(c):
    ours = (*c.gradient(U, V), *c.score_gradient(U, V))
    default = Copula._unit_derivatives(c, c.theta, U, 1 - U, V, 1 - V)
    return all(_close(a, b, 1e-5) for a, b in zip(ours, default, strict=True))  # a stencil of stencils


def tau_slope_is_slope(c):
    return _close(c._tau_slope(c.theta), Copula._tau_slope(c, c.theta), 1e-6)


def entropy_override_is_default(c):
    return _close(c.entropy(), -Copula._mutual_information(c, c.theta).value, 1e-8)


def entropy_near_monte_carlo(c):
    logs = c._simulated_logpdf(40_000, 7)[0]
    return abs(c.entropy() + logs.mean()) < 4.0 * logs.std() / np.sqrt(logs.size)


def divergence_is_positive_and_quadratic(c):
    """KL to a neighbour is positive and close to half the Fisher information times the squared step."""
    step = 1e-3 * c._scale(c.theta)
    x, y, weight = c._nodes(c.theta, 4)
    information = float(np.sum(weight * c._theta_derivatives(c.theta, x, y)[0] ** 2))
    # the next term is of the order of the step, here a thousandth of the scale, times ten at the most
    return _close(c.kl(c.with_theta(c.theta + step)) / (0.5 * information * step**2), 1.0, 0.02)


def generator_form_of_density(c):
    inner = c.base if isinstance(c, cd.Rotated) else c
    if not isinstance(inner, Archimedean) or inner.theta < 0:
        return True
    x, y = inner._coordinates(U, 1 - U, V, 1 - V)
    return _close(inner._logpdf(inner.theta, x, y), Archimedean._logpdf(inner, inner.theta, x, y), 1e-10)


def tails_are_limits(c):
    """P(U < q | V < q) tends to the lower coefficient, P(U > 1-q | V > 1-q) to the upper one, at q = 2**-20."""
    q = 2.0**-20  # 1 - q is exact, and C(1-q, 1-q) keeps ten digits of the survival probability
    lower = float(c.cdf(q, q)) / q
    upper = (2.0 * q - 1.0 + float(c.cdf(1.0 - q, 1.0 - q))) / q
    # The limits are reached like q^(2^(1/theta) - 1) for Gumbel(2.5), 0.012 here, and q^((1-rho)/(1+rho)) or q^(2/df) for
    # elliptical copulas; the other families are faster.
    elliptical = "Gaussian" in c.name or "StudentT" in c.name
    tolerance = 0.1 if elliptical else 0.02
    return abs(lower - c.tail[0]) < tolerance and abs(upper - c.tail[1]) < tolerance


def likelihood_sums_are_sums(c):
    x, y = c._coordinates(U, 1 - U, V, 1 - V)
    value, first, second = c._likelihood_sums(c.theta, *c._prepare([(x, y)], x.size))
    expected = c.logpdf(U, V).sum(), c.score(U, V).sum(), c.score_slope(U, V).sum()
    return all(_close(a, b, 1e-10) for a, b in zip((value, first, second), expected, strict=True))


CHECKS = (
    uniform_margins,
    unit_mass,
    conditional_is_cdf_slope,
    density_is_conditional_slope,
    conditional_inverse,
    exchangeable_or_turned,
    tau_round_trip,
    tau_is_integral,
    sampler_follows_cdf,
    score_is_slope,
    gradients_are_slopes,
    tau_slope_is_slope,
    entropy_override_is_default,
    entropy_near_monte_carlo,
    divergence_is_positive_and_quadratic,
    generator_form_of_density,
    tails_are_limits,
    likelihood_sums_are_sums,
)


def failures(copula):
    return [check.__name__ for check in CHECKS if not check(copula)]
