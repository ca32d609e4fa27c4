"""Compiled densities of elliptical copulas against fifty digits."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy._core import kernels

THETAS = (0.0, 0.5, -0.7, 0.999, -0.999, 1.0 - 1e-9, -1.0 + 1e-9)
DEGREES = (0.0, 0.3, 1.0, 3.4, 30.0, 100.0)  # 0 stands for the Gaussian copula


def member(theta, nu):
    return cd.StudentT(theta, nu) if nu else cd.Gaussian(theta)


def quantiles(theta, nu):
    """Where a sample lies: on and beside the diagonal that theta points along, in the middle and in the tails."""
    u = np.array([1e-6, 0.01, 0.2, 0.5, 0.7, 0.999])
    a = stats.t.ppf(u, nu) if nu else stats.norm.ppf(u)
    sign = 1.0 if theta >= 0 else -1.0
    off = math.sqrt((1.0 - theta) * (1.0 + theta))
    x = np.concatenate([a, a, a, [0.3, -2.0]])
    y = np.concatenate([sign * a, sign * a + off, sign * a - 2.0 * off * (1.0 + np.abs(a)), [1.5, 4.0]])
    return x, y


def exact_log_density(nu, rho, a, b):
    """mpmath's, from the textbook formula, with quantiles a, b; without the constant in front."""
    q = (a**2 - 2 * rho * a * b + b**2) / (1 - rho**2)
    half = mpmath.log(1 - rho**2) / 2
    if nu == 0:
        return -half - (q - a**2 - b**2) / 2
    inside = (nu + mpmath.mpf(1)) / 2 * (mpmath.log(1 + a**2 / nu) + mpmath.log(1 + b**2 / nu))
    return -half - (nu + mpmath.mpf(2)) / 2 * mpmath.log(1 + q / nu) + inside


@pytest.mark.parametrize("nu", DEGREES)
@pytest.mark.parametrize("theta", THETAS)
def test_elliptical_scores_against_fifty_digits(theta, nu):
    x, y = quantiles(theta, nu)
    first, second = kernels.elliptical_scores(theta, nu, x, y)
    spread = (1.0 - theta) * (1.0 + theta)
    with mpmath.workdps(60):
        rho = mpmath.mpf(theta)
        for k in range(x.size):
            a, b = mpmath.mpf(x[k]), mpmath.mpf(y[k])
            step = (1 - abs(rho)) * mpmath.mpf("1e-15")
            up, here, down = (exact_log_density(nu, rho + s * step, a, b) for s in (1, 0, -1))
            slope, bend = float((up - down) / (2 * step)), float((up - 2 * here + down) / step**2)
            # relative to the terms that cancel: 1/(1-rho^2) times the (scaled) squares that enter, 1 at least
            r, m = _magnitude(theta, nu, x[k], y[k])
            assert first[k] == pytest.approx(slope, abs=1e-13 * m * r / spread)
            assert second[k] == pytest.approx(bend, abs=1e-13 * m * r / spread**2)


def _magnitude(theta, nu, a, b):
    spread = (1.0 - theta) * (1.0 + theta)
    residual = (a - b) + (1.0 - theta) * b if theta > 0 else (a + b) - (1.0 + theta) * b
    q = residual**2 / spread + b**2
    # |a b| and q in units of nu + q for t copulas; the weight in front of them
    return (1.0 + (q + abs(a * b)) / (nu + q if nu else 1.0)), (1.0 + 0.5 * (nu + 2.0) if nu else 1.0)


@pytest.mark.parametrize("nu", DEGREES)
@pytest.mark.parametrize("theta", THETAS)
def test_elliptical_mixed_against_fifty_digits(theta, nu):
    """Derivatives of the score in u and v; u = F(a), so du = f(a) da."""
    x, y = quantiles(theta, nu)
    constant = float(member(theta, nu)._log_margin_density(np.zeros(1))[0])
    in_u, in_v = kernels.elliptical_mixed(theta, nu, x, y, constant)
    spread = (1.0 - theta) * (1.0 + theta)
    with mpmath.workdps(120):  # quantiles at df = 0.3 reach 1e18
        rho = mpmath.mpf(theta)
        step_rho = (1 - abs(rho)) * mpmath.mpf("1e-15")
        for k in range(x.size):
            a, b = mpmath.mpf(x[k]), mpmath.mpf(y[k])
            density = [stats.t.logpdf(z, nu) if nu else stats.norm.logpdf(z) for z in (x[k], y[k])]
            for found, log_density, (da, db) in ((in_u[k], density[0], (1, 0)), (in_v[k], density[1], (0, 1))):
                step = mpmath.mpf("1e-20") * mpmath.sqrt(1 - rho**2)
                corner = {
                    (s, t): exact_log_density(nu, rho + s * step_rho, a + t * da * step, b + t * db * step)
                    for s in (1, -1) for t in (1, -1)
                }  # fmt: skip
                mixed = (corner[1, 1] - corner[1, -1] - corner[-1, 1] + corner[-1, -1]) / (4 * step * step_rho)
                slope = math.exp(-log_density)
                # b and theta q_a, both over 1 - rho^2, cancel next to the diagonal; in units of nu + q for t copulas
                size, weight = _mixed_magnitude(theta, nu, x[k], y[k])
                assert found == pytest.approx(float(mixed) * slope, rel=1e-11, abs=1e-12 * weight * size / spread * slope)


def _mixed_magnitude(theta, nu, a, b):
    spread = (1.0 - theta) * (1.0 + theta)
    ra, rb = ((p - s * q) + (1.0 - abs(theta)) * s * q for p, q, s in ((a, b, 1), (b, a, 1))) if theta > 0 else (
        (p + q) - (1.0 + theta) * q for p, q in ((a, b), (b, a))
    )  # fmt: skip
    size = 1.0 + abs(a) + abs(b) + 2.0 * (abs(ra) + abs(rb)) / spread
    if not nu:
        return size, 1.0
    q = ra**2 / spread + b**2
    return size / (nu + q) * (1.0 + (q + abs(a * b)) / (nu + q)), 0.5 * (nu + 2.0) * 2.0


@pytest.mark.parametrize("nu", DEGREES)
@pytest.mark.parametrize("theta", [0.0, 0.5, -0.7, 0.999, -0.999])
def test_elliptical_kernels_are_the_formulas(theta, nu):
    """The same functions of a matrix of quantiles go through NumPy."""
    copula = member(theta, nu)
    u = np.ascontiguousarray(copula.sample(500, rng=1).T)
    x, y = (np.ascontiguousarray(part) for part in copula._coordinates(u[0], 1.0 - u[0], u[1], 1.0 - u[1]))
    compiled, plain = copula._theta_derivatives(theta, x, y), copula._theta_derivatives(theta, x[None], y[None])
    for k in (0, 1):
        scale = 1.0 / ((1.0 - theta) * (1.0 + theta)) ** (k + 1)
        np.testing.assert_allclose(compiled[k], plain[k][0], rtol=1e-9, atol=1e-11 * scale * (1.0 + nu))
    compiled = copula._mixed_derivatives(theta, x, y, u[0], 1.0 - u[0], u[1], 1.0 - u[1])
    plain = copula._mixed_derivatives(theta, x[None], y[None], u[0], 1.0 - u[0], u[1], 1.0 - u[1])
    for k in (0, 1):
        size = np.max(np.abs(plain[k]))
        np.testing.assert_allclose(compiled[k], plain[k][0], rtol=1e-8, atol=1e-12 * size)
    value, first, second = copula._likelihood_sums(theta, *copula._prepare([(x, y)], x.size))
    assert value == pytest.approx(float(np.sum(copula._logpdf(theta, x, y))), rel=1e-11, abs=1e-9)
    score = copula._theta_derivatives(theta, x[None], y[None])
    for found, terms in ((first, score[0]), (second, score[1])):
        assert found == pytest.approx(float(np.sum(terms)), rel=1e-10, abs=1e-10 * float(np.sum(np.abs(terms))))


def test_products_of_many_factors_do_not_overflow():
    x = np.full(5000, 1e40)
    logs, _, _ = kernels.student_sums(0.0, 0.3, x, x)
    assert logs == pytest.approx(5000 * math.log1p(2e80 / 0.3), rel=1e-12)
