"""Fits against 30-digit maximisation, another library, and known truths."""

import html

import mpmath as mp
import numpy as np
import pytest

import copula_discrepancy as cd
from tests import reference
from tests.caveat_codes import warned
from tests.refusals import refused

PROMISED = 1e-10  # relative error of theta


def exact_pseudo_observations(draws):
    """Mid-ranks over n + 1 as 30-digit numbers, from the doubled ranks."""
    n = len(draws)
    doubled = np.rint(cd.pseudo_observations(draws) * 2 * (n + 1)).astype(int)
    return [[mp.mpf(int(rank)) / (2 * (n + 1)) for rank in row] for row in doubled]


def newton_distance(copula, draws):
    """The size of a Newton step with 30 digits from theta, relative to theta."""
    with mp.workdps(30):
        theta, h = mp.mpf(copula.theta), mp.mpf(10) ** -9
        points = exact_pseudo_observations(draws)
        values = [sum(reference.logpdf(copula, u, v, theta + k * h) for u, v in points) for k in (-1, 0, 1)]
        slope = (values[2] - values[0]) / (2 * h)
        curvature = (values[2] - 2 * values[1] + values[0]) / h**2
        return abs(float(slope / curvature / theta))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "family"),
    [
        (cd.Gumbel(2.5), "clayton"), (cd.Clayton(3.0), "gumbel"), (cd.Gumbel(2.5), "gumbel"), (cd.Clayton(3.0), "clayton"),
        (cd.Clayton(0.3), "clayton"), (cd.Gumbel(1.05), "gumbel"), (cd.Gaussian(0.5), "frank"), (cd.Frank(-6.0), "frank"),
        (cd.Gumbel(2.0), "joe"), (cd.Gumbel(4.0), "a1"), (cd.Clayton(5.0), "a2"), (cd.Frank(5.0), "gaussian"),
        (cd.Rotated(cd.Clayton(2.0), 90), "clayton90"), (cd.Gumbel(2.0), "clayton180"),
    ],
    ids=str,
)  # fmt: skip
def test_mle_against_thirty_digits(truth, family):
    draws = truth.sample(300, rng=11)
    fitted = cd.fit(draws, family)
    assert fitted.converged
    assert fitted.on_bound is None
    assert newton_distance(fitted.copula, draws) < PROMISED


def test_mle_with_ties_against_thirty_digits():
    draws = np.round(cd.Gumbel(2.0).sample(300, rng=12), 1)
    assert newton_distance(cd.fit(draws, "gumbel").copula, draws) < PROMISED


def test_student_fit_with_fixed_df_against_thirty_digits():
    draws = cd.StudentT(0.6, 4.0).sample(40, rng=13)
    assert newton_distance(cd.fit(draws, cd.StudentT, df=4.0).copula, draws) < PROMISED


def test_student_df_is_the_top_of_the_profile():
    """Both partial derivatives vanish at 30 digits: rho by its own step, df by a central difference of quantiles."""
    draws = cd.StudentT(0.5, 3.0).sample(80, rng=16)
    fitted = cd.fit(draws, "studentt")
    with mp.workdps(30):
        points = exact_pseudo_observations(draws)
        rho, df, h = mp.mpf(fitted.theta), mp.mpf(fitted.df), mp.mpf(10) ** -8
        values = [sum(reference.student_logpdf(rho, df + k * h, u, v) for u, v in points) for k in (-1, 0, 1)]
        slope, curvature = (values[2] - values[0]) / (2 * h), (values[2] - 2 * values[1] + values[0]) / h**2
        assert abs(float(slope / curvature / df)) < 1e-9  # the partial step in df alone; theta below
    assert newton_distance(fitted.copula, draws) < PROMISED


@pytest.mark.parametrize("family", ["A1", "A2"])
@pytest.mark.parametrize("theta", [1.0, 1.2, 2.0, 5.0, 10.0, 20.0])
def test_a1_a2_likelihood_from_one_to_twenty(family, theta):
    """n = 3000; the asymptotic deviation of theta, from the information at the fit, bounds the error by five."""
    truth = cd.family(family)(theta)
    fitted = cd.fit(truth.sample(3000, rng=15), family)
    assert fitted.converged
    x, y, weight = truth._nodes(theta, 4)
    information = float(np.sum(weight * truth._theta_derivatives(theta, x, y)[0] ** 2))
    # five standard deviations of the estimator with known margins; ranks change its variance by less than half
    assert abs(fitted.theta - theta) < 5.0 * 1.5 / np.sqrt(3000 * information)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Clayton", "Gumbel", "Frank"])
def test_mle_against_openturns(name):
    openturns = pytest.importorskip("openturns")
    truth = {"Clayton": cd.Gumbel(2.0), "Gumbel": cd.Clayton(2.0), "Frank": cd.Gaussian(0.5)}[name]
    u = cd.pseudo_observations(truth.sample(100, rng=16))
    peer = getattr(openturns, f"{name}Copula")
    fitted = openturns.MaximumLikelihoodFactory(peer()).buildEstimator(openturns.Sample(u)).getDistribution()
    ours = cd.fit(u, name)
    assert abs(fitted.getParameter()[0] / ours.theta - 1.0) < 1e-4  # its optimiser stops at 1e-5
    likelihood = np.sum(np.log(np.asarray(fitted.computePDF(openturns.Sample(u)))))
    assert ours.log_likelihood >= likelihood - 1e-8


def test_known_misspecified_value():
    """Clayton fitted to the paper's Gumbel data has a shape gap far beyond 0.1, where a peer's search stops."""
    draws = cd.Gumbel(2.5).sample(10_000, rng=17)
    fitted = cd.fit(draws, "clayton")
    assert fitted.theta < 1.6
    assert fitted.sample_tau - fitted.tau > 0.15


@pytest.mark.parametrize("n", [17_000, 200_000])
def test_the_thinned_start_changes_nothing(n):
    """Beyond 16,384 draws a thinned sample gives the start; the maximum is that of the whole sample."""
    draws = cd.Clayton(2.0).sample(n, rng=18)
    for family in ("gumbel", "clayton", "frank"):
        fitted = cd.fit(draws, family)
        x, y = fitted.template._coordinates(*(z for u in cd.pseudo_observations(draws).T for z in (u, 1.0 - u)))
        first, second = fitted.template._theta_derivatives(fitted.theta, x, y)
        assert abs(first.sum() / second.sum() / fitted.theta) < PROMISED


@pytest.mark.parametrize("family", [*cd.FAMILIES, "clayton90", "gumbel180", "joe270"], ids=str)
@pytest.mark.parametrize("method", ["mle", "moment"])
def test_recovers_theta_from_its_own_draws(family, method):
    family = cd.family(family) if isinstance(family, str) else family
    fixed = {"df": 5.0} if family is cd.StudentT else {}
    sign = -1.0 if family.__name__.endswith(("90", "270")) else 1.0
    truth = family.from_tau(sign * 0.65, **fixed)
    fitted = cd.fit(truth.sample(20_000, rng=19), family, method=method, **fixed)
    # the sample tau has a standard error of about 0.5/sqrt(n)
    assert abs(fitted.tau - truth.tau) < 5 * 0.5 / np.sqrt(20_000)
    assert fitted.method == method
    assert fitted.n == 20_000


def test_df_is_estimated_fixed_or_taken_from_an_instance():
    draws = cd.StudentT(0.5, 4.0).sample(4000, rng=20)
    assert 3.0 < cd.fit(draws, "studentt").df < 5.5
    assert cd.fit(draws, cd.StudentT, df=7.0).df == 7.0
    assert cd.fit(draws, cd.StudentT(0.1, 9.0)).df == 9.0
    turned = np.column_stack([-draws[:, 0], draws[:, 1]])
    estimated = cd.fit(turned, "studentt90")
    assert abs(estimated.theta - cd.fit(draws, "studentt").theta) < 1e-9
    assert abs(estimated.df - cd.fit(draws, "studentt").df) < 1e-6
    with refused() as caught:
        cd.fit(draws, "gumbel", df=3.0)
    assert str(caught.value).startswith("df ")
    assert "StudentT" in str(caught.value)


def test_gaussian_draws_put_df_on_its_upper_end():
    with warned("df-bound"):
        fitted = cd.fit(cd.Gaussian(0.3).sample(300, rng=1), "studentt")
    assert fitted.df == 1000.0


def test_large_student_sample_uses_a_thinned_start():
    draws = cd.StudentT(0.5, 6.0).sample(70_000, rng=21)
    assert abs(cd.fit(draws, "studentt").df - 6.0) < 1.0


def test_rotated_fit_equals_fit_of_mirrored_draws():
    draws = cd.Gumbel(1.8).sample(2000, rng=22)
    mirrored = {90: [-1, 1], 180: [-1, -1], 270: [1, -1]}
    for rotation, signs in mirrored.items():
        turned = cd.fit(draws * np.array(signs), f"gumbel{rotation}")
        assert turned.theta == pytest.approx(cd.fit(draws, "gumbel").theta, rel=1e-13)


def test_invariance_under_increasing_transforms():
    draws = cd.Frank(4.0).sample(1000, rng=23)
    moved = np.column_stack([np.log(draws[:, 0]), 5.0 - 1.0 / draws[:, 1]])
    assert cd.fit(draws, "joe").theta == cd.fit(moved, "joe").theta


def test_family_may_be_name_class_or_instance():
    draws = cd.Gumbel(2.0).sample(200, rng=24)
    thetas = {cd.fit(draws, choice).theta for choice in ("Gumbel", " gumbel", cd.Gumbel, cd.Gumbel(7.0))}
    assert len(thetas) == 1


def test_known_uniform_margins_skip_the_ranks():
    """With margins='uniform' the likelihood is that of the values themselves; their ranks give another theta."""
    u = cd.Gumbel(2.0).sample(500, rng=25)
    known, ranked = cd.fit(u, "gumbel", margins="uniform"), cd.fit(u, "gumbel")
    assert known.theta != ranked.theta
    assert abs(np.sum(cd.Gumbel(known.theta).score(*u.T))) < 1e-6
    pseudo = cd.pseudo_observations(u)
    assert cd.fit(pseudo, "gumbel", margins="uniform").theta == pytest.approx(ranked.theta, rel=1e-13)


@pytest.mark.parametrize(("family", "lower"), [("clayton", 0.0), ("gumbel", 1.0), ("joe", 1.0), ("a1", 1.0), ("a2", 1.0)])
@pytest.mark.parametrize("method", ["mle", "moment"])
def test_tau_outside_the_range_puts_theta_on_its_bound_and_says_so(family, lower, method):
    draws = cd.Frank(-5.0).sample(400, rng=26)
    with warned("family-bound"):
        fitted = cd.fit(draws, family, method=method)
    assert fitted.theta == lower
    assert fitted.on_bound == "lower"
    assert fitted.sample_tau < -0.3
    assert len(fitted.warnings) == 1
    assert fitted.warnings[0] in repr(fitted)


LIMITS = [
    ("clayton", 1, np.inf), ("gumbel", 1, np.inf), ("frank", 1, np.inf), ("frank", -1, -np.inf), ("joe", 1, np.inf),
    ("a1", 1, np.inf), ("a2", 1, np.inf), ("gaussian", 1, 1.0), ("gaussian", -1, -1.0), ("studentt", -1, -1.0),
    ("clayton90", -1, np.inf), ("gumbel180", 1, np.inf), ("joe270", -1, np.inf),
]  # fmt: skip


@pytest.mark.parametrize(("family", "sign", "limit"), LIMITS)
@pytest.mark.parametrize("method", ["mle", "moment"])
def test_perfect_dependence_has_the_limit_as_its_theta(family, sign, limit, method):
    x = np.random.default_rng(27).normal(size=50)
    df = 4.0 if family == "studentt" else None
    with warned("perfect-dependence"):
        fitted = cd.fit(np.column_stack([x, sign * np.exp(x)]), family, method=method, df=df)
    assert fitted.theta == limit
    assert fitted.df == df
    assert fitted.tau == fitted.sample_tau == sign
    with pytest.raises(cd.InputError):
        _ = fitted.copula


def test_the_opposite_of_perfect_dependence_is_a_bound():
    x = np.arange(30.0)
    with pytest.warns(cd.DependenceWarning):
        assert cd.fit(np.column_stack([x, -x]), "gumbel").theta == 1.0


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
def test_tiny_samples(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        draws = rng.normal(size=(n, 2))
        for family in ("clayton", "gumbel", "frank", "gaussian"):
            fitted = cd.fit(draws, family)
            assert fitted.converged
            assert not np.isnan(fitted.theta)


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
def test_a_metropolis_chain_repeats_points():
    """Half of the draws are copies of their predecessor: heavy ties in both variables at once."""
    rng = np.random.default_rng(28)
    draws = cd.Clayton(2.0).sample(2000, rng=28)
    kept = np.maximum.accumulate(np.where(rng.uniform(size=2000) < 0.5, np.arange(2000), 0))
    fitted = cd.fit(draws[kept], "clayton")
    assert abs(fitted.theta - 2.0) < 0.5
    two_levels = rng.integers(0, 2, (200, 2))
    assert cd.fit(two_levels, "frank").converged


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("noise", [1e-2, 1e-4])
@pytest.mark.parametrize("family", ["gaussian", "frank"])
def test_almost_perfect_dependence_converges_alike_in_both_directions(family, sign, noise):
    rng = np.random.default_rng(30)
    x = rng.normal(size=1000)
    draws = np.column_stack([x, sign * (x + noise * rng.normal(size=1000))])
    fitted = cd.fit(draws, family)
    assert fitted.converged
    assert fitted.iterations < 30
    mirror = cd.fit(draws * [1.0, -1.0], family)
    assert fitted.theta == pytest.approx(-mirror.theta, rel=1e-10)


def test_one_swapped_pair_away_from_perfect_dependence():
    """The Gaussian likelihood penalises the pair and has a maximum; the t likelihood does not and is unbounded."""
    x = np.arange(2000.0)
    y = x.copy()
    y[[1000, 1001]] = y[[1001, 1000]]
    for sign in (1.0, -1.0):
        draws = np.column_stack([x, sign * y])
        fitted = cd.fit(draws, "gaussian")
        assert fitted.converged
        assert 0 < 1.0 - sign * fitted.theta < 1e-8
        with warned("perfect-dependence"):
            student = cd.fit(draws, cd.StudentT, df=4.0)
        assert student.theta == sign
        assert student.on_bound == ("upper" if sign > 0 else "lower")


def test_known_margins_on_the_diagonal_have_no_maximum():
    q = np.linspace(0.05, 0.95, 30)
    for family, limit in (("frank", -np.inf), ("studentt", -1.0), ("gaussian", -1.0)):
        with warned("perfect-dependence"):
            fitted = cd.fit(np.column_stack([q, 1.0 - q]), family, margins="uniform")
        assert fitted.theta == limit
        assert fitted.df is None


def test_a_stationary_minimum_is_not_taken_for_the_maximum():
    """Four draws with tau = 0 whose Gaussian likelihood has a minimum at rho = 0."""
    draws = np.array([[0, 1], [1, 3], [2, 0], [3, 2]])
    fitted = cd.fit(draws, "gaussian")
    assert fitted.converged
    assert abs(fitted.theta) > 0.3
    assert fitted.log_likelihood > 0


def test_a_student_fit_with_huge_df_is_the_gaussian_fit():
    draws = cd.Gaussian(0.6).sample(500, rng=31)
    gaussian = cd.fit(draws, "gaussian").theta
    for df, tolerance in ((1e8, 1e-7), (1e12, 1e-10), (1e16, 1e-10)):
        fitted = cd.fit(draws, cd.StudentT, df=df)
        assert fitted.converged
        assert fitted.theta == pytest.approx(gaussian, rel=tolerance)


def test_fit_prints_what_it_found():
    fitted = cd.fit(cd.Gumbel(2.0).sample(100, rng=29), "gumbel")
    text = repr(fitted)
    assert fitted._repr_html_() == f"<pre>{html.escape(text)}</pre>"
    assert "Gumbel" in text
    for value in (fitted.theta, fitted.tau, fitted.sample_tau, fitted.log_likelihood):
        assert f"{value:.6g}" in text


def test_estimated_df_next_to_perfect_dependence():
    """The t likelihood does not penalise one swapped pair, whatever df is, and is unbounded."""
    x = np.arange(200.0)
    y = x.copy()
    y[[100, 101]] = y[[101, 100]]
    for family, sign in (("studentt", 1.0), ("studentt90", -1.0)):
        with warned("perfect-dependence"):
            fitted = cd.fit(np.column_stack([x, sign * y]), family)
        assert fitted.theta == 1.0
        assert fitted.tau == sign
        assert fitted.df is None


@pytest.mark.parametrize("family", ["joe", "a1", "gumbel", "clayton", "a2", "frank", "gaussian"])
def test_moments_of_monotone_draws_with_known_margins(family):
    """(u, u**2) has tau = 1 but unequal probabilities: moments look at ranks, the likelihood has a maximum."""
    u = np.linspace(0.05, 0.95, 30)
    draws = np.column_stack([u, u**2])
    with warned("perfect-dependence"):
        fitted = cd.fit(draws, family, method="moment", margins="uniform")
    assert fitted.tau == 1.0
    if family in ("gumbel", "frank", "gaussian"):
        likely = cd.fit(draws, family, margins="uniform")
        assert likely.converged
        assert np.isfinite(likely.theta)


@pytest.mark.parametrize("family", ["gumbel90", "clayton270", "joe90"])
def test_tau_of_a_turned_family_at_infinity_is_minus_one(family):
    u = np.linspace(0.05, 0.95, 30)
    v = 1.0 - u + np.where(np.arange(30) % 2, 1e-14, -1e-14)
    with warned("perfect-dependence"):
        fitted = cd.fit(np.column_stack([u, v]), family, margins="uniform")
    assert fitted.theta == np.inf
    assert fitted.tau == -1.0


def test_fits_run_from_threads():
    """The scratch memory of a fit is local to its thread."""
    from concurrent.futures import ThreadPoolExecutor

    jobs = [
        (cd.Gumbel(1.5 + 0.1 * k).sample(3000 + 500 * k, rng=k), f) for k in range(8) for f in ("gumbel", "clayton", "frank")
    ]
    expected = [cd.fit(*job).theta for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda job: cd.fit(*job).theta, jobs)) == expected


def test_a_fit_does_not_change_with_the_users_array():
    draws = np.asfortranarray(cd.Gumbel(2.5).sample(20_000, rng=1))
    fitted = cd.fit(draws, "gumbel", margins="uniform")
    expected = cd.kendall_tau(draws[:, 0], draws[:, 1])
    draws[:, 0] = draws[::-1, 0].copy()
    assert fitted.sample_tau == expected


def test_warnings_name_the_callers_line_and_come_once():
    import warnings

    draws = cd.Frank(-5.0).sample(100, rng=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cd.fit(draws, "gumbel")
        cd.discrepancy(draws, cd.Gumbel(2.0))
    assert [warning.filename for warning in caught] == [__file__, __file__]


def test_tau_range_and_conversion_to_a_dictionary():
    assert cd.Gumbel(2.0).tau_range == (0.0, 1.0)
    assert cd.Frank(2.0).tau_range == (-1.0, 1.0)
    assert cd.Rotated(cd.Clayton(1.0), 90).tau_range == (-1.0, 0.0)
    assert cd.A2(1.0).tau_range[0] == pytest.approx(0.5451774)
    plain = cd.fit(cd.Gumbel(2.0).sample(100, rng=2), "gumbel").to_dict()
    assert plain["family"] == "Gumbel"
    assert plain["margins"] == "rank"
    assert plain["version"] == cd.__version__
    assert {"theta", "tau", "sample_tau", "iterations", "on_bound", "warnings", "df"} <= plain.keys()
