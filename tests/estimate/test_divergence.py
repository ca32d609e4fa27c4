"""Entropies and divergences: closed forms, 30-digit integrals, symmetries and limits."""

import warnings

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.estimate.divergence import score_intervals
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.quadrature import ACCEPT
from tests import reference

PROMISED = 1e-8  # relative, for every entropy and divergence
MEASURED = 2e-10  # what the quadrature reaches on ordinary and strong copulas


def mutual_information(copula, *, digits=36, edge="1e-18"):
    """E[log c] by one-dimensional integrals of the textbook generator; what is left out is of the order of `edge`.

    At 1 - edge it loses the edge's 18 digits, and has as many left.
    """
    theta = mp.mpf(copula.theta)
    phi = reference.GENERATORS[copula.name]

    def terms(t):
        value, first, second = phi(t, theta)
        return 2 * mp.log(-first) + (mp.log(second) - 3 * mp.log(-first)) * value * second / first**2

    with mp.workdps(digits):
        ends = [mp.mpf(edge), mp.mpf("1e-6"), mp.mpf("0.01")]
        return mp.quad(terms, [*ends, mp.mpf("0.5"), *(1 - end for end in reversed(ends))])


@pytest.mark.parametrize(
    "copula",
    [cd.Frank(0.5), cd.Frank(5.0), cd.Joe(1.2), cd.Joe(3.0), cd.A1(1.0), cd.A1(4.0), cd.A2(1.0), cd.A2(4.0), cd.Gumbel(2.5),
     cd.Clayton(3.0)],
    ids=repr,
)  # fmt: skip
def test_entropy_against_high_precision(copula):
    assert abs(-copula.entropy() / float(mutual_information(copula)) - 1.0) < MEASURED


@pytest.mark.parametrize("theta", [1e-9, 1e-5, 0.01, 0.049, 0.051, 1.0, 50.0])
def test_clayton_entropy_closed_form(theta):
    t = mp.mpf(theta)
    assert abs(cd.Clayton(theta).entropy() / float(t / (1 + t) - mp.log(1 + t)) - 1.0) < 1e-12


@pytest.mark.parametrize("excess", [1e-12, 1e-6, 1e-3, 0.3, 0.499, 0.501, 1.5, 400.0, 499.0, 501.0, 3000.0])
def test_gumbel_entropy_closed_form(excess):
    theta = 1.0 + excess
    d = mp.mpf(theta) - 1
    truth = mp.euler - 1 + 1 / (1 + d) + mp.log(d) + mp.exp(d) * mp.e1(d) / (1 + d)
    assert abs(-cd.Gumbel(theta).entropy() / float(truth) - 1.0) < 1e-12


@pytest.mark.parametrize("df", [0.3, 1.0, 4.0, 30.0, 150.0, 299.0, 301.0, 5000.0, 1e6])
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_student_entropy_closed_form(rho, df):
    nu, r = mp.mpf(df), mp.mpf(rho)
    margin = (nu + 1) / 2 * (mp.psi(0, (nu + 1) / 2) - mp.psi(0, nu / 2)) + mp.log(mp.sqrt(nu) * mp.beta(nu / 2, mp.mpf(1) / 2))
    joint = mp.log(1 - r**2) / 2 + mp.log(2 * mp.pi) + 1 + 2 / nu
    assert abs(-cd.StudentT(rho, df).entropy() / float(2 * margin - joint) - 1.0) < PROMISED


@pytest.mark.parametrize(
    "copula",
    [cd.Clayton(1e-3), cd.Clayton(3.0), cd.Clayton(60.0), cd.Gumbel(1.001), cd.Gumbel(2.5), cd.Gumbel(40.0), cd.Gaussian(1e-3),
     cd.Gaussian(-0.6), cd.Gaussian(0.99), cd.StudentT(0.5, 2.5), cd.StudentT(0.9, 12.0)],
    ids=repr,
)  # fmt: skip
def test_closed_entropies_agree_with_the_general_quadrature(copula):
    assert abs(copula.entropy() / -Copula._information_integral(copula, copula.theta, ACCEPT).value - 1.0) < MEASURED


@pytest.mark.parametrize("near", [1e-2, 1e-4, 1e-6, 1e-9])
def test_entropy_near_independence(near):
    """Frank: -H = theta^2 I/2 with Fisher information I = E[(1-2U)^2 (1-2V)^2 / 4] = 1/36. Joe: by 48-digit integrals."""
    assert abs(-cd.Frank(near).entropy() / (near**2 / 72.0) - 1.0) < 0.1 * near**2 + PROMISED
    joe = cd.Joe(1.0 + near)
    assert abs(-joe.entropy() / float(mutual_information(joe, digits=48, edge="1e-32")) - 1.0) < PROMISED


def test_entropy_at_independence_is_zero():
    for copula in (cd.Clayton(0.0), cd.Gumbel(1.0), cd.Frank(0.0), cd.Joe(1.0), cd.Gaussian(0.0)):
        assert copula.entropy() == 0.0


@pytest.mark.parametrize("step", [1e-4, 1e-7, 1e-9])
def test_divergence_near_independence(step):
    """KL(Clayton(2h), Clayton(h)) = h^2 I/2 with I = E[(1-X)^2 (1-Y)^2] = 1 for standard exponential X, Y."""
    assert abs(cd.Clayton(2 * step).kl(cd.Clayton(step)) / (0.5 * step**2) - 1.0) < 20.0 * step + PROMISED
    assert abs(cd.Frank(2 * step).kl(cd.Frank(-step)) / (9 * step**2 / 72) - 1.0) < step + PROMISED


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (cd.Gumbel(2.0), cd.Clayton(1.5)), (cd.Clayton(1.0), cd.Gumbel(1.5)), (cd.Frank(4.0), cd.Gaussian(0.5)),
        (cd.Gaussian(0.4), cd.Frank(-2.0)), (cd.StudentT(0.3, 5.0), cd.Gaussian(0.3)), (cd.Joe(1.5), cd.A2(1.0)),
        (cd.Rotated(cd.Gumbel(1.5), 180), cd.Gumbel(1.5)), (cd.Rotated(cd.Clayton(1.0), 90), cd.Frank(-2.0)),
    ],
    ids=repr,
)  # fmt: skip
def test_divergence_between_families_against_panels_of_gauss_nodes(a, b):
    """Integral over normal scores, where the integrand is smooth and light-tailed; two rules agree far below the tolerance."""
    from scipy.special import ndtr

    def integral(panels):
        nodes, weights = np.polynomial.legendre.leggauss(10)
        half = 8.0 / panels
        middle = half * (2.0 * np.arange(panels) + 1.0) - 8.0
        z, weight = (middle[:, None] + half * nodes).ravel(), np.tile(half * weights, panels)
        u, density = ndtr(z), weight * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
        log_a, log_b = (copula.logpdf(u[:, None], u[None, :]) for copula in (a, b))
        return float(density @ (np.exp(log_a) * (log_a - log_b)) @ density)

    truth = integral(40)
    assert abs(integral(25) - truth) < 1e-9
    assert abs(a.kl(b) - truth) < 2e-8


@pytest.mark.parametrize(("rho", "other"), [(0.3, 0.6), (0.99, -0.5), (0.5, 0.5 + 1e-7), (-0.2, -0.2001)])
def test_gaussian_divergence_closed_form_against_quadrature(rho, other):
    a, b = cd.Gaussian(rho), cd.Gaussian(other)
    r, s = mp.mpf(rho), mp.mpf(other)
    truth = ((2 - 2 * r * s) / (1 - s**2) - 2 + mp.log((1 - s**2) / (1 - r**2))) / 2
    assert abs(a.kl(b) / float(truth) - 1.0) < 1e-8
    assert abs(Copula._exact_kl(a, b, ACCEPT).value / float(truth) - 1.0) < PROMISED


@pytest.mark.parametrize(
    "copula", [cd.Clayton(3.0), cd.Gumbel(2.5), cd.Frank(5.0), cd.Joe(2.0), cd.A1(2.0), cd.StudentT(0.5, 4.0)], ids=repr
)
@pytest.mark.parametrize("step", [1e-2, 1e-4, 3e-6, 1e-6, 1e-9])
def test_divergence_of_close_neighbours_has_no_jump(copula, step):
    """KL(theta, theta+h) and KL(theta+h, theta) differ at third order only, whichever form computes them."""
    other = copula.with_theta(copula.theta + step)
    forth, back = copula.kl(other), other.kl(copula)
    assert forth > 0
    assert abs(forth / back - 1.0) < 10.0 * step + 1e-6
    half = copula.with_theta(copula.theta + step / 2)
    assert abs(copula.kl(half) / forth * 4.0 - 1.0) < 10.0 * step + 1e-5


@pytest.mark.parametrize(
    "copula", [cd.Clayton(3.0), cd.Gumbel(2.5), cd.Frank(5.0), cd.A2(2.0), cd.StudentT(0.5, 4.0)], ids=repr
)
def test_divergence_of_the_closest_neighbours_is_half_the_information(copula):
    """At a distance of 1e-10 a difference of logs would keep six digits; the divergence keeps eight."""
    other = copula.with_theta(copula.theta + 1e-10)
    x, y, weight = copula._nodes(copula.theta, 5)
    information = float(np.sum(weight * copula._theta_derivatives(copula.theta, x, y)[0] ** 2))
    assert copula.kl(other) / (0.5 * information * (other.theta - copula.theta) ** 2) == pytest.approx(1.0, rel=PROMISED)


def test_divergence_of_a_copula_from_itself_is_zero():
    for family in cd.FAMILIES:
        fixed = {"df": 5.0} if family is cd.StudentT else {}
        copula = family.from_tau(0.6, **fixed)
        assert copula.kl(copula) == 0.0
        assert cd.Rotated(copula, 90).kl(cd.Rotated(copula, 90)) == 0.0


def test_rotating_both_copulas_changes_no_divergence():
    a, b = cd.Clayton(2.0), cd.Gumbel(2.0)
    for rotation in (90, 180, 270):
        turned = cd.Rotated(a, rotation).kl(cd.Rotated(b, rotation))
        assert abs(turned / a.kl(b) - 1.0) < 1e-10
    assert cd.Rotated(a, 90).entropy() == a.entropy()


def test_divergence_from_independence_is_minus_entropy():
    for copula in (cd.Clayton(2.0), cd.Frank(-3.0), cd.Joe(2.0), cd.A2(1.5), cd.StudentT(0.4, 3.0)):
        assert abs(copula.kl(cd.Gumbel(1.0)) / -copula.entropy() - 1.0) < PROMISED


def test_monte_carlo_estimates_are_seeded_and_near_the_exact_values():
    fitted, target = cd.Gumbel(2.2), cd.Gumbel(2.5)
    estimates = [fitted.kl(target, method="monte_carlo", m=100_000, rng=seed) for seed in range(20)]
    assert fitted.kl(target, method="monte_carlo", m=1000, rng=5) == fitted.kl(target, method="monte_carlo", m=1000, rng=5)
    error = np.std(estimates, ddof=1) / np.sqrt(20)
    assert abs(np.mean(estimates) - fitted.kl(target)) < 4.0 * error
    entropies = [target.entropy(method="monte_carlo", m=20_000, rng=seed) for seed in range(20)]
    assert abs(np.mean(entropies) - target.entropy()) < 4.0 * np.std(entropies, ddof=1) / np.sqrt(20)


def test_extreme_parameters_warn_or_are_right():
    """A ridge of width 1e-5 seen from independence: the value is found to eight digits, or the warning says otherwise."""
    weak, strong = cd.Clayton(0.5), cd.Clayton(80.0)
    with np.errstate(all="raise", under="ignore"):
        value = weak.kl(strong)
    simulated = [weak.kl(strong, method="monte_carlo", m=50_000, rng=seed) for seed in range(10)]
    assert abs(value - np.mean(simulated)) < 4.0 * np.std(simulated, ddof=1) / np.sqrt(10)


@pytest.mark.parametrize(
    ("copula", "target"),
    [
        (cd.Clayton(2.4), cd.Clayton(3.0)), (cd.Gumbel(2.0), cd.Gumbel(2.5)), (cd.Frank(36.0), cd.Frank(30.0)),
        (cd.Joe(3.0), cd.Joe(2.0)), (cd.StudentT(0.6, 4.0), cd.StudentT(0.5, 4.0)),
    ],
    ids=str,
)  # fmt: skip
def test_ends_of_intervals_are_worth_their_digits(copula, target):
    """They are integrated with a coarser rule than scores, but agree with them to seven digits."""
    ends = 0.98 * copula.theta, 1.02 * copula.theta
    ckl, ced = score_intervals(copula, target, ends)
    members = [copula.with_theta(theta) for theta in ends]
    assert ckl == pytest.approx(sorted(member.kl(target) for member in members), rel=1e-7)
    assert ced == pytest.approx(sorted(abs(member.entropy() - target.entropy()) for member in members), rel=1e-7)


def test_two_parameters_of_short_chains():
    """Three long-run variances may not define a covariance matrix: on chains of 18 draws it was sometimes singular."""
    target, pvalues = cd.StudentT(0.2, 4.0), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)  # so short
        for seed in range(40):
            draws = target.sample(36, rng=seed).reshape(2, 18, 2)
            pvalues.append(cd.discrepancy(draws, target, estimate_df=True).estimates["ckl"].pvalue)
        off = cd.StudentT(-0.6, 3.0).sample(200, rng=1).reshape(4, 50, 2)
        assert cd.discrepancy(off, target, estimate_df=True).estimates["ckl"].pvalue < 0.05
    known = [p for p in pvalues if np.isfinite(p)]
    assert len(known) > 20  # the others have a df on its bound
    assert stats.binom.cdf(sum(p < 0.05 for p in known) - 1, len(known), 0.05) < 0.999
    assert max(known) < 1.0
