"""Log densities and derivatives against 60-digit textbook formulas, from ordinary to cruel arguments."""

import mpmath as mp
import numpy as np
import pytest

import copula_discrepancy as cd
from tests import reference

# 1e-15 to 1 - 1e-15, as floats: the reference takes their exact binary values
CORNERS = np.array([1e-15, 1e-12, 1e-7, 1e-3, 0.08, 0.5, 0.9, 0.999, 1 - 1e-7, 1 - 1e-12, 1 - 1e-15])
U, V = (axis.ravel() for axis in np.meshgrid(CORNERS, CORNERS))
TOLERANCE = 1e-12  # of max(1, |log c|)


def relative_error(actual, copula, u=U, v=V):
    expected = np.array([float(reference.logpdf(copula, a, b)) for a, b in zip(u, v, strict=True)])
    assert np.all(np.isfinite(actual))
    return np.max(np.abs(actual - expected) / np.maximum(1.0, np.abs(expected)))


@pytest.mark.parametrize("theta", [1.001, 1.05, 1.5, 2.5, 6.0, 15.0, 30.0, 50.0])
def test_gumbel_logpdf_to_the_corners(theta):
    assert relative_error(cd.Gumbel(theta).logpdf(U, V), cd.Gumbel(theta)) < TOLERANCE


@pytest.mark.parametrize("theta", [1e-6, 1e-4, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 28.0, 30.0, 80.0])
def test_clayton_logpdf_to_the_corners(theta):
    assert relative_error(cd.Clayton(theta).logpdf(U, V), cd.Clayton(theta)) < TOLERANCE


@pytest.mark.parametrize(
    "copula",
    [
        cd.Frank(1e-5), cd.Frank(0.3), cd.Frank(1.01), cd.Frank(8.0), cd.Frank(-8.0), cd.Frank(60.0), cd.Frank(-0.7),
        cd.Joe(1.001), cd.Joe(1.3), cd.Joe(2.5), cd.Joe(12.0), cd.Joe(40.0),
        cd.A1(1.0), cd.A1(1.5), cd.A1(6.0), cd.A1(20.0), cd.A2(1.0), cd.A2(1.5), cd.A2(6.0), cd.A2(20.0),
        cd.Gaussian(0.01), cd.Gaussian(0.5), cd.Gaussian(-0.9), cd.Gaussian(0.99),
    ],
    ids=repr,
)  # fmt: skip
def test_logpdf_to_the_corners(copula):
    assert relative_error(copula.logpdf(U, V), copula) < TOLERANCE


@pytest.mark.parametrize("copula", [cd.StudentT(0.5, 4.0), cd.StudentT(-0.8, 2.5), cd.StudentT(0.3, 60.0)], ids=repr)
def test_student_logpdf_to_the_corners(copula):
    points = np.array([1e-15, 1e-4, 0.3, 0.8, 1 - 1e-7])
    u, v = (axis.ravel() for axis in np.meshgrid(points, points))
    assert relative_error(copula.logpdf(u, v), copula, u, v) < TOLERANCE


@pytest.mark.parametrize("rotation", [90, 180, 270])
@pytest.mark.parametrize("base", [cd.Gumbel(20.0), cd.Clayton(30.0), cd.Joe(8.0), cd.A1(4.0)], ids=repr)
def test_rotation_loses_no_digits(base, rotation):
    copula = cd.Rotated(base, rotation)
    assert relative_error(copula.logpdf(U, V), copula) < TOLERANCE


def test_beyond_float_resolution_of_one_minus_u():
    """The largest float below 1 is 1 - 1.1e-16; the upper tail still has its digits there."""
    u = np.nextafter(1.0, 0.0)
    for copula in (cd.Gumbel(5.0), cd.Joe(5.0), cd.Clayton(5.0), cd.A2(3.0)):
        assert relative_error(copula.logpdf([u], [u]), copula, [u], [u]) < TOLERANCE


DERIVATIVE_POINTS = [(0.3, 0.4), (0.02, 0.9), (0.97, 0.99), (1e-6, 1e-5), (0.5, 0.5001)]
DERIVATIVE_CASES = [
    cd.Clayton(1e-3), cd.Clayton(0.05), cd.Clayton(0.15), cd.Clayton(3.0), cd.Clayton(20.0),
    cd.Gumbel(1.01), cd.Gumbel(2.5), cd.Gumbel(20.0),
    cd.Frank(0.2), cd.Frank(-0.6), cd.Frank(4.0), cd.Frank(-15.0), cd.Joe(1.05), cd.Joe(2.5), cd.Joe(10.0),
    cd.A1(1.0), cd.A1(2.0), cd.A1(15.0), cd.A2(1.0), cd.A2(2.0), cd.A2(15.0),
    cd.Gaussian(0.5), cd.Gaussian(-0.95), cd.StudentT(0.5, 4.0), cd.Rotated(cd.Gumbel(3.0), 90), cd.Rotated(cd.Joe(3.0), 270),
]  # fmt: skip


@pytest.mark.parametrize("copula", DERIVATIVE_CASES, ids=repr)
def test_derivatives_against_sixty_digits(copula):
    """Score, its slope, both gradients: central differences of the 60-digit log density, whose error is 1e-24."""
    h = mp.mpf(10) ** -12
    points = DERIVATIVE_POINTS[:2] if "Student" in copula.name else DERIVATIVE_POINTS
    for u, v in points:
        theta, a, b = mp.mpf(copula.theta), mp.mpf(u), mp.mpf(v)

        def f(i, j, k, theta=theta, a=a, b=b):
            return reference.logpdf(copula, a * (1 + j * h), b * (1 + k * h), theta + i * h)

        expected = {
            "score": (f(1, 0, 0) - f(-1, 0, 0)) / (2 * h),
            "slope": (f(1, 0, 0) - 2 * f(0, 0, 0) + f(-1, 0, 0)) / h**2,
            "u": (f(0, 1, 0) - f(0, -1, 0)) / (2 * h * a),
            "v": (f(0, 0, 1) - f(0, 0, -1)) / (2 * h * b),
            "theta u": (f(1, 1, 0) - f(1, -1, 0) - f(-1, 1, 0) + f(-1, -1, 0)) / (4 * h**2 * a),
            "theta v": (f(1, 0, 1) - f(1, 0, -1) - f(-1, 0, 1) + f(-1, 0, -1)) / (4 * h**2 * b),
        }
        gradient, mixed = copula.gradient(u, v), copula.score_gradient(u, v)
        actual = copula.score(u, v), copula.score_slope(u, v), *gradient, *mixed
        for (name, truth), value in zip(expected.items(), actual, strict=True):
            # at Clayton(1e-3) the second derivative divides by theta**3: nine digits are left
            tolerance = 1e-9 if name == "slope" and abs(copula.theta) < 0.2 else 1e-10
            assert abs(float(value) - float(truth)) <= tolerance * max(1.0, abs(float(truth))), (name, u, v)


@pytest.mark.parametrize(
    "copula", [cd.Clayton(2.0), cd.Gumbel(3.0), cd.Frank(6.0), cd.Joe(2.0), cd.A1(2.0), cd.A2(2.0)], ids=repr
)
def test_cdf_against_sixty_digits(copula):
    points = [1e-12, 1e-3, 0.4, 0.97, 1 - 1e-9]
    for u in points:
        for v in points:
            truth = reference.archimedean_cdf(copula.name, mp.mpf(copula.theta), mp.mpf(u), mp.mpf(v))
            assert abs(float(copula.cdf(u, v)) / float(truth) - 1.0) < 1e-12


@pytest.mark.parametrize("rho", [-0.95, -0.3, 0.0, 0.4, 0.999])
def test_gaussian_cdf_against_quadrature(rho):
    """C(u, v) = integral of Phi((b - rho x)/sqrt(1-rho^2)) phi(x) over x < a, by mpmath."""
    copula = cd.Gaussian(rho)
    with mp.workdps(25):
        for u, v in [(0.1, 0.2), (0.5, 0.9), (0.97, 0.03), (1e-5, 1e-4)]:
            a, b = reference.normal_quantile(mp.mpf(u)), reference.normal_quantile(mp.mpf(v))
            s = mp.sqrt(1 - mp.mpf(rho) ** 2)
            turn = b / mp.mpf(rho) if rho else mp.mpf(0)
            breaks = sorted({mp.mpf(-12), min(max(turn, mp.mpf(-11)), a - mp.mpf("1e-9")), a})
            truth = mp.quad(lambda x, b=b, s=s: mp.ncdf((b - mp.mpf(rho) * x) / s) * mp.npdf(x), breaks)
            assert abs(float(copula.cdf(u, v)) - float(truth)) < 1e-13


def test_student_cdf_is_integral_of_conditional():
    copula = cd.StudentT(0.7, df=3.0)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    for u, v in [(0.3, 0.6), (0.9, 0.1), (0.05, 0.05)]:
        inner = v * (0.5 + 0.5 * nodes)
        integral = np.sum(0.5 * v * weights * copula.conditional_cdf(u, inner))
        assert abs(float(copula.cdf(u, v)) - integral) < 1e-7  # Gauss nodes against a singular corner


@pytest.mark.parametrize("theta", [1e-9, 0.3, 0.999, 1.0, 4.0, 30.0, 700.0])
def test_frank_tau_against_debye_integral(theta):
    t = mp.mpf(theta)
    debye = mp.quad(lambda x: x / mp.expm1(x), [0, min(t, mp.mpf(5)), t]) / t
    truth = 1 - 4 / t * (1 - debye)
    assert abs(cd.Frank(theta).tau / float(truth) - 1.0) < 1e-13
    assert cd.Frank(-theta).tau == -cd.Frank(theta).tau


@pytest.mark.parametrize("theta", [1.0, 1.3, 5.0, 19.9, 20.1, 300.0])
def test_a1_tau_against_its_integral(theta):
    t = mp.mpf(theta)
    truth = 1 - 4 * mp.quad(lambda s: s * mp.tanh(-mp.log(s) / (2 * t)), [0, 0.1, 1])
    assert abs(cd.A1(theta).tau - float(truth)) < 1e-13


@pytest.mark.parametrize("theta", [1.0, 1.2, 1.9999, 2.0, 2.0001, 7.0])
def test_joe_tau_against_its_integral(theta):
    """tau = 1 + 4 * integral of phi/phi'."""
    t = mp.mpf(theta)

    def ratio(s):
        value, slope, _ = reference.GENERATORS["Joe"](s, t)
        return value / slope

    truth = 1 + 4 * mp.quad(ratio, [0, 0.5, 1])
    assert abs(cd.Joe(theta).tau - float(truth)) < 1e-12
