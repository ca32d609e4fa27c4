"""One suite for every family: what a copula must satisfy, each by a route of its own.

The checks of `families.validation` look at formulas; those here take longer, or look at what has a default.

`failures(copula)` returns the names of the checks that the copula does not pass; an empty list is a pass.
"""

import numpy as np
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.families import Archimedean, Copula, validation
from copula_discrepancy.families.quadrature import ACCEPT
from copula_discrepancy.families.validation import UNIT, U, V, close


def unit_mass(c):
    """The density integrates to C over a box away from the corners."""
    nodes, weights = np.polynomial.legendre.leggauss(60)  # the density is analytic there
    box = 0.04 * (weights @ c.pdf((0.4 + 0.2 * nodes)[:, None], (0.5 + 0.2 * nodes)[None, :]) @ weights)
    return abs(box - (c.cdf(0.6, 0.7) - c.cdf(0.2, 0.7) - c.cdf(0.6, 0.3) + c.cdf(0.2, 0.3))) < 1e-8


def sampler_follows_cdf(c):
    """Rosenblatt's transform of 20,000 draws is uniform in both coordinates and uncorrelated, and tau is right; 1e-4 each."""
    draws = c.sample(20_000, rng=20_260)
    p = c.conditional_cdf(draws[:, 0], draws[:, 1])
    tests = [stats.kstest(z, "uniform").pvalue for z in (draws[:, 0], draws[:, 1], p)]
    cross = abs(stats.kendalltau(p, draws[:, 1]).statistic) * np.sqrt(9 * 20_000 / 4)
    influence = 2.0 * cd.concordance(draws[:, 0], draws[:, 1])
    gap = abs(cd.kendall_tau(draws[:, 0], draws[:, 1]) - c.tau) / influence.std() * np.sqrt(20_000)
    return min(tests) > 1e-4 and cross < 3.9 and gap < 3.9


def gradients_are_slopes(c):
    ours = (*c.gradient(U, V), *c.score_gradient(U, V))
    default = Copula._unit_derivatives(c, c.theta, *UNIT)
    return all(close(a, b, 1e-5) for a, b in zip(ours, default, strict=True))  # a stencil of stencils


def entropy_override_is_default(c):
    return close(c.entropy(), -Copula._information_integral(c, c.theta, ACCEPT).value, 1e-8)


def entropy_near_monte_carlo(c):
    logs = c._simulated_logpdf(40_000, 7)[0]
    return abs(c.entropy() + logs.mean()) < 4.0 * logs.std() / np.sqrt(logs.size)


def divergence_is_positive_and_quadratic(c):
    """KL to a neighbour is positive and close to half the Fisher information times the squared step."""
    step = 1e-3 * c._scale(c.theta)
    x, y, weight = c._nodes(c.theta, 4)
    information = float(np.sum(weight * c._theta_derivatives(c.theta, x, y)[0] ** 2))
    # the next term is of the order of the step, here a thousandth of the scale, times ten at the most
    return close(c.kl(c.with_theta(c.theta + step)) / (0.5 * information * step**2), 1.0, 0.02)


def generator_form_of_density(c):
    inner = c.base if isinstance(c, cd.Rotated) else c
    if not isinstance(inner, Archimedean) or inner.theta < 0:
        return True
    x, y = inner._coordinates(*UNIT)
    return close(inner._logpdf(inner.theta, x, y), Archimedean._logpdf(inner, inner.theta, x, y), 1e-10)


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


CHECKS = (
    *validation.CHECKS,
    unit_mass,
    sampler_follows_cdf,
    gradients_are_slopes,
    entropy_override_is_default,
    entropy_near_monte_carlo,
    divergence_is_positive_and_quadratic,
    generator_form_of_density,
    tails_are_limits,
)


def failures(copula):
    return [check.__name__ for check in CHECKS if not check(copula)]
