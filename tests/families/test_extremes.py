"""Parameters and probabilities at the edge of what floats hold."""

import mpmath as mp
import numpy as np
import pytest

import copula_discrepancy as cd
from tests import reference
from tests.caveat_codes import codes_of, warned


@pytest.mark.parametrize("theta", [690.0, 746.0, 1500.0, 1e4, 1e6])
def test_frank_beyond_the_range_of_exp(theta):
    """-H = log(theta) - 2 + o(1) for large theta: logistic noise of scale 1/theta around the diagonal, away from the edges."""
    copula = cd.Frank(theta)
    edge = 10.0 * np.log(theta) / theta
    assert abs(-copula.entropy() - (np.log(theta) - 2.0)) < edge
    assert copula.conditional_cdf(0.9, 0.9) == pytest.approx(0.5, abs=1e-12)
    assert copula.cdf(0.5, 0.5) == pytest.approx(0.5 - np.log(2.0) / theta, abs=1e-9)
    assert cd.Frank(-theta).cdf(0.3, 0.5) == pytest.approx(0.0, abs=1e-12)
    assert copula.kl(cd.Frank(theta * 1.001)) > 0


def test_frank_cdf_against_sixty_digits_at_large_theta():
    with mp.workdps(800):
        for u, v in [(0.5, 0.5), (0.999, 0.9995), (0.1, 0.7)]:
            truth = reference.archimedean_cdf("Frank", mp.mpf(746), mp.mpf(u), mp.mpf(v))
            assert cd.Frank(746.0).cdf(u, v) == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize("df", [400.0, 1000.0, 1e4])
def test_student_divergences_with_many_degrees_of_freedom(df):
    student = cd.StudentT(0.5, df)
    assert student.kl(cd.Gumbel(2.0)) == pytest.approx(cd.Gaussian(0.5).kl(cd.Gumbel(2.0)), rel=20.0 / df)
    assert 0 < student.kl(cd.Gaussian(0.5)) < 1.0 / df
    assert np.isfinite(student.kl(cd.StudentT(0.5, 4.0)))


def test_divergence_from_a_student_copula_with_few_degrees_of_freedom():
    assert 0 < cd.Frank(-6.0).kl(cd.StudentT(0.5, 0.3)) < 100


@pytest.mark.parametrize(
    "copula",
    [cd.Clayton(2.0), cd.Gumbel(2.0), cd.Frank(5.0), cd.Frank(-5.0), cd.Joe(2.0), cd.A1(2.0), cd.A2(2.0), cd.Gaussian(0.5),
     cd.StudentT(0.5, 4.0), cd.Rotated(cd.Clayton(2.0), 180)],
    ids=repr,
)  # fmt: skip
def test_smallest_probabilities(copula):
    tiny = np.array([1e-300, 1e-15, 0.3, np.nextafter(1.0, 0.0)])
    u, v = (axis.ravel() for axis in np.meshgrid(tiny, tiny))
    assert np.isfinite(copula.logpdf(u, v)).all()
    assert np.isfinite(copula.score(u, v)).all()
    for part in (*copula.gradient(u, v), *copula.score_gradient(u, v)):
        assert not np.isnan(part).any()
    p = copula.conditional_ppf(u, v)
    assert ((p >= 0) & (p <= 1)).all()
    inside = copula.cdf(u, v)
    assert (inside >= 0).all()
    assert (inside <= np.minimum(u, v)).all()


def test_turned_copulas_keep_their_lower_tail():
    """P(U <= 1e-20 | V = 0.3) of a survival Clayton copula is P(U > 1 - 1e-20 | ...) of its base, not 1 - 1."""
    value = cd.Rotated(cd.Clayton(2.0), 180).conditional_cdf(1e-20, 0.3)
    v = mp.mpf(0.7)
    density = mp.e ** reference.archimedean_logpdf("Clayton", mp.mpf(2), 1 - mp.mpf(10) ** -20, v)
    assert value == pytest.approx(float(density) * 1e-20, rel=1e-6)


@pytest.mark.parametrize("theta", [1e-12, 1e-9, 1e-4])
def test_frank_inverts_tiny_taus(theta):
    assert cd.Frank.from_tau(cd.Frank(theta).tau).theta == pytest.approx(theta, rel=1e-12)


@pytest.mark.parametrize("copula", [cd.Joe(3000.0), cd.Joe(1e6), cd.A1(1e4), cd.A2(1e6), cd.Frank(1e5)], ids=repr)
def test_entropy_of_very_strong_copulas(copula):
    """The quadrature at its usual and at its finest step agree to the promised accuracy."""
    from copula_discrepancy.families import quadrature

    usual = copula.entropy()
    first = quadrature.FIRST_LEVEL
    try:
        quadrature.FIRST_LEVEL = quadrature.LAST_LEVEL
        finest = copula.entropy()
    finally:
        quadrature.FIRST_LEVEL = first
    assert usual == pytest.approx(finest, rel=1e-8)


def test_quadrature_notes_reach_the_result(monkeypatch):
    """What a quadrature has to say is part of the discrepancy's warnings, and is issued once."""
    from copula_discrepancy.families import quadrature

    monkeypatch.setattr(quadrature, "LAST_LEVEL", 3)
    monkeypatch.setattr(quadrature, "_ROUNDING", 0.0)
    monkeypatch.setattr(quadrature, "_PROMISE", 0.0)
    for method in (cd.Frank._kl, cd.Frank._information):
        monkeypatch.setattr(method, "__defaults__", (0.0,))  # no two rules agree
    with warned("quadrature") as caught:
        result = cd.discrepancy(cd.Frank(3.0).sample(400, rng=1), cd.Frank(5.0))
    assert len(caught) == len(result.warnings)
    assert set(codes_of(result)) == {"quadrature"}
    for call in (lambda: cd.Frank(3.0).kl(cd.Frank(9.0)), cd.Frank(3.0).entropy):
        with warned("quadrature") as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]


def test_the_accuracy_of_an_integral_comes_back_with_it():
    """Asked for fewer digits, the rule stops earlier and says so to nobody else: the next call has all of them again."""
    copula, other = cd.Joe(30.0), cd.Gumbel(25.0)
    exact = copula._kl(other)
    rough = copula._kl(other, accept=0.5)
    assert rough.value != exact.value == copula._kl(other).value == copula.kl(other)
    assert rough.value == pytest.approx(exact.value, rel=0.5)
    extreme = cd.Joe(1e6)._kl(cd.Frank(-500.0))  # ridges across each other
    assert extreme.error > 1e-8
    assert len(extreme.notes) == 1


def test_random_frank_parameters_raise_no_stray_warning():
    for theta in np.random.default_rng(5).uniform(0.01, 5.0, 300):
        cd.Frank(theta).entropy()
        cd.Frank(theta).kl(cd.Frank(theta + 0.7))


INDEPENDENCE = [(cd.Clayton, 0.0), (cd.Gumbel, 1.0), (cd.Frank, 0.0), (cd.Joe, 1.0), (cd.Gaussian, 0.0)]


@pytest.mark.parametrize(("family", "theta"), INDEPENDENCE, ids=lambda value: getattr(value, "__name__", str(value)))
def test_independence_is_reached_without_a_jump(family, theta):
    """log c, the score, tau, entropy and the fit all approach independence in proportion to the distance."""
    u, v = (axis.ravel() for axis in np.meshgrid([0.01, 0.3, 0.6, 0.95], [0.02, 0.5, 0.9]))
    at = family(theta)
    np.testing.assert_allclose(at.logpdf(u, v), 0.0, atol=1e-15)
    np.testing.assert_allclose(at.cdf(u, v), u * v, atol=1e-15)
    np.testing.assert_allclose(at.conditional_cdf(u, v), u, rtol=1e-14)
    np.testing.assert_allclose(at.conditional_ppf(u, v), u, rtol=1e-12)
    assert at.tau == 0.0
    score = at.score(u, v)
    for exponent in np.arange(-14.0, -2.0, 0.5):
        near = family(theta + 10.0**exponent)
        distance = near.theta - theta  # what the float really holds
        # second derivatives are at most of order 100 on this grid
        np.testing.assert_allclose(near.logpdf(u, v) / distance, score, rtol=1e-9, atol=200.0 * distance)
        np.testing.assert_allclose(near.score(u, v), score, rtol=1e-9, atol=400.0 * distance)
        np.testing.assert_allclose(near.cdf(u, v), u * v, atol=5.0 * distance)
        assert near.tau / distance == pytest.approx(at._tau_slope(theta), rel=1e-9 + 5.0 * distance)
        assert 0.0 < -near.entropy() < 100.0 * distance**2  # theta^2 log(1/theta) at the most


@pytest.mark.parametrize(
    ("family", "switch"),
    [(cd.Clayton, 1e-8), (cd.Clayton, 0.05), (cd.Clayton, 0.1), (cd.Gumbel, 1.1), (cd.Gumbel, 1.5), (cd.Frank, 1.0),
     (cd.Frank, -1.0), (cd.Joe, 2.0), (cd.A1, 20.0)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)  # fmt: skip
def test_switching_between_formulas_leaves_no_step(family, switch):
    u, v = (axis.ravel() for axis in np.meshgrid([0.01, 0.3, 0.6, 0.95], [0.02, 0.5, 0.9]))
    step = 1e-11 * abs(switch)
    below, above = family(switch - step), family(switch + step)
    for quantity in ("logpdf", "score", "score_slope"):
        # at theta = 1e-8 the second derivative has lost digits to 1/theta; it only steers Newton's iteration there
        slack = 1e-6 if quantity == "score_slope" and abs(switch) < 1e-3 else 1e-9
        np.testing.assert_allclose(getattr(below, quantity)(u, v), getattr(above, quantity)(u, v), rtol=slack, atol=slack)
    assert below.tau == pytest.approx(above.tau, rel=1e-9)
    assert below.entropy() == pytest.approx(above.entropy(), rel=1e-9)


def test_equal_copulas_of_different_classes_are_no_distance_apart():
    """The divergence is 0 up to rounding, and says nothing about its accuracy relative to 0."""
    pairs = [
        (cd.Rotated(cd.Frank(3.0), 180), cd.Frank(3.0)),
        (cd.A1(1.0), cd.A2(1.0)),
        (cd.Gaussian(0.5), cd.Rotated(cd.Gaussian(-0.5), 90)),
        (cd.Rotated(cd.StudentT(0.5, 4.0), 180), cd.StudentT(0.5, 4.0)),
    ]
    for a, b in pairs:
        assert abs(a.kl(b)) < 1e-20


@pytest.mark.parametrize("step", [1e-8, 1e-5, 1e-3, 0.05])
def test_divergence_of_student_copulas_with_nearby_df(step):
    """Half the df information times the squared step; forth and back differ at third order only."""
    a, b = cd.StudentT(0.5, 4.0), cd.StudentT(0.5, 4.0 + step)
    forth, back = a.kl(b), b.kl(a)
    assert forth == pytest.approx(back, rel=step + 1e-6)
    half = cd.StudentT(0.5, 4.0 + step / 2)
    assert 4.0 * a.kl(half) / forth == pytest.approx(1.0, rel=step + 1e-6)


def test_the_other_conditional_of_a_turned_copula():
    """P(V <= v | U = u) is the slope of C in u, and its inverse finds v again."""
    h = 1e-6
    for copula in (cd.Rotated(cd.Clayton(2.0), 90), cd.Rotated(cd.Gumbel(2.0), 270), cd.Joe(2.0), cd.Rotated(cd.Joe(2.0), 180)):
        slope = (copula.cdf(0.3 + h, 0.6) - copula.cdf(0.3 - h, 0.6)) / (2 * h)
        value = copula.conditional_cdf(0.3, 0.6, given="u")
        assert value == pytest.approx(float(slope), abs=1e-8)
        assert copula.conditional_ppf(value, 0.3, given="u") == pytest.approx(0.6, rel=1e-10)
    with pytest.raises(cd.InputError, match=r"^given .* got 'w'$"):
        cd.Joe(2.0).conditional_cdf(0.3, 0.6, given="w")


@pytest.mark.parametrize("theta", [1.0, 1.0 + 1e-9, 1.001])
def test_gumbel_gradient_next_to_independence_in_the_upper_corner(theta):
    """w + theta - 1 loses w there unless theta - 1 is taken first; against 60 digits."""
    mp = pytest.importorskip("mpmath")
    with mp.workdps(60):

        def log_density(u, v):
            x, y, t = -mp.log(u), -mp.log(v), mp.mpf(theta)
            w = (x**t + y**t) ** (1 / t)
            return -w + x + y + (t - 1) * mp.log(x * y) + (1 - 2 * t) * mp.log(w) + mp.log(w + t - 1)

        for u, v in ((1 - 1.1e-16, 1 - 2.2e-16), (1 - 1e-9, 1 - 3e-9), (0.3, 0.7)):
            truth = mp.diff(lambda a, v=v: log_density(a, mp.mpf(v)), mp.mpf(u), h=mp.mpf(10) ** -30)
            assert float(cd.Gumbel(theta).gradient(u, v)[0]) == pytest.approx(float(truth), rel=1e-13, abs=1e-13)
