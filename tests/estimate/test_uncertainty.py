"""Long-run variances, intervals and tests against theory, ArviZ and closed forms."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

import copula_discrepancy as cd
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.uncertainty import Estimate
from tests.caveat_codes import codes_of, warned
from tests.numerals import numerals
from tests.refusals import refused


def ar1(phi, shape, seed):
    noise = np.random.default_rng(seed).standard_normal(shape)
    noise[..., 0] /= np.sqrt(1 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=-1)


def test_independent_draws_have_the_plain_variance():
    values = np.random.default_rng(1).normal(size=(3, 50))
    found = cd.long_run_variance(values, iid=True)
    assert found.long_run_variance == found.variance == pytest.approx(np.var(values, ddof=1))
    assert found.n_eff == found.n == 150
    assert found.se == pytest.approx(np.std(values, ddof=1) / np.sqrt(150))


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, -0.5])
@pytest.mark.parametrize("length", [500, 20_000])
def test_ar1_processes(phi, length):
    """The long-run variance of AR(1) with unit noise is 1/(1-phi)^2; 20,000 draws per chain go through batches."""
    found = [cd.long_run_variance(ar1(phi, (4, length), seed)).long_run_variance * (1 - phi) ** 2 for seed in range(40)]
    # the estimator's own deviation is about sqrt(2 * 4 tau / n) of itself, tau = (1+phi)/(1-phi), or batches instead of tau
    time = max((1 + phi) / (1 - phi), length // 4096, 1)
    deviation = np.sqrt(8 * time / (4 * length))
    # Geyer's sequence ends late on purpose: up to 4% too much on average; negative phi is bounded by the first lags
    assert abs(np.mean(found) - 1) < 3.3 * deviation / np.sqrt(40) + 0.04
    assert 0.4 * deviation < np.std(found) < 1.8 * deviation


def test_degrees_of_freedom_follow_the_effective_draws():
    found = cd.long_run_variance(ar1(0.8, (4, 1000), 1))
    assert found.df == pytest.approx(found.n_eff / 4)
    long = cd.long_run_variance(ar1(0.0, (1, 50_000), 2))
    assert long.df < 4096 / 3  # as many as batches allow, not as draws
    short = cd.long_run_variance(ar1(0.0, (30, 10), 3))
    assert short.df == 29
    assert short.long_run_variance == pytest.approx(10 * np.var(ar1(0.0, (30, 10), 3).mean(axis=1), ddof=1))


def test_it_is_arvizs_standard_error_of_the_mean():
    from arviz_stats.base import array_stats

    values = ar1(0.7, (4, 300), 3)
    found = cd.long_run_variance(values)
    assert found.n_eff == pytest.approx(float(array_stats.ess(values, method="mean")), rel=1e-12)
    assert found.se == pytest.approx(float(array_stats.mcse(values, method="mean")), rel=1e-12)


def test_chains_that_differ_widen_the_standard_error():
    values = np.random.default_rng(4).normal(size=(4, 500))
    apart = values + np.array([[-1.0], [1.0], [-1.0], [1.0]])
    assert cd.long_run_variance(apart).se > 10 * cd.long_run_variance(values).se


def test_nothing_varies():
    found = cd.long_run_variance(np.zeros((2, 100)))
    assert np.isnan(found.se)
    assert np.isnan(Estimate.of(0.3, StandardError.of(np.zeros((2, 100)), iid=False)).pvalue)


@pytest.mark.parametrize(
    ("values", "code", "shown"),
    [
        (np.zeros((2, 3)) + np.arange(3.0), "too-few-draws", ["4", "3"]),  # draws per chain: the fewest, and these
        ([[1.0, np.nan, 2.0, 3.0]], "argument", ["1", "4"]),  # the shape
        (np.ones((2, 2, 2)), "argument", ["2", "2", "2"]),
        ([["a", "b", "c", "d"]], "not-numeric", []),
    ],
)
def test_influence_values_that_cannot_be_used(values, code, shown):
    with refused(code) as caught:
        cd.long_run_variance(values)
    assert numerals(str(caught.value)) == shown


def test_interval_and_pvalue_are_students():
    estimate = Estimate.of(0.3, StandardError(0.1, 12.0, 50.0), bias=0.05, confidence=0.9)
    reach = stats.t.ppf(0.95, 12) * 0.1
    assert estimate.ci == pytest.approx((0.25 - reach, 0.25 + reach))
    assert estimate.pvalue == pytest.approx(2 * stats.t.sf(2.5, 12))
    assert float(estimate) == 0.3
    joined = StandardError(0.3, 10.0, 80.0).plus(StandardError(0.4, 30.0, 60.0))
    assert (joined.se, joined.n_eff) == (pytest.approx(0.5), 60.0)
    assert joined.df == pytest.approx(0.25**2 / (0.09**2 / 10 + 0.16**2 / 30))


def test_intervals_and_tests_take_the_bias_off():
    result = cd.discrepancy(cd.Gaussian(0.5).sample(300, rng=4), cd.Gaussian(0.5), iid=True)
    assert result.estimates["theta"].bias != 0.0
    assert result.estimates["theta"].ci == pytest.approx(np.sin(np.pi / 2 * np.array(result.estimates["tau_fitted"].ci)))
    for name in ("shape", "total", "tau_fitted"):
        estimate = result.estimates[name]
        assert estimate.bias != 0.0
        assert np.mean(estimate.ci) == pytest.approx(estimate.value - estimate.bias)
        if name in ("shape", "total"):
            assert estimate.pvalue == pytest.approx(2 * stats.t.sf(abs(estimate.value - estimate.bias) / estimate.se, 299))
    assert result.level.bias == 0.0


def test_the_papers_test_by_name():
    """T_n = sqrt(n) CD / sigma against z_{1-alpha/2}; with iid draws sigma is the deviation of the influence values."""
    result = cd.discrepancy(cd.Gumbel(2.2).sample(800, rng=5), cd.Gumbel(2.5), iid=True)
    for gap, cd_value in ((result.total, result.cd), (result.level, result.cd_moment)):
        test = gap.paper_test(alpha=0.1)
        name = "total" if gap is result.total else "level"
        sigma = np.std(result.influence[name], ddof=1)
        assert test.statistic == pytest.approx(np.sqrt(800) * cd_value / sigma)
        assert test.critical == pytest.approx(stats.norm.ppf(0.95))
        assert test.pvalue == pytest.approx(2 * stats.norm.sf(test.statistic))
        assert test.reject == (test.statistic > test.critical)
    with refused() as caught:
        result.level.paper_test(alpha=5)
    assert str(caught.value).startswith("alpha ")
    assert str(caught.value).endswith("got 5")


def fisher_information(copula):
    """E[score^2] from 200,000 draws: known to some 0.7%, which moves a p-value by less than 0.002."""
    return float(np.mean(copula.score(*copula.sample(200_000, rng=1).T) ** 2))


@pytest.mark.parametrize("target", [cd.Clayton(2.0), cd.Gumbel(2.0), cd.Frank(5.0), cd.Gaussian(0.7)], ids=str)
def test_ckl_at_and_away_from_its_zero(target):
    near = cd.discrepancy(target.sample(2000, rng=7), target, iid=True)
    ckl, theta = near.estimates["ckl"], near.estimates["theta"]
    # second order: 2 CKL / (I se^2) is chi-square with one degree of freedom; CKL at theta without its bias, as the test has it
    unbiased = target.with_theta(theta.value - theta.bias).kl(target)
    statistic = 2 * unbiased / (fisher_information(target) * theta.se**2)
    assert ckl.pvalue == pytest.approx(stats.chi2.sf(statistic, 1), abs=0.03)  # terms of third order, some se(theta)/theta
    assert ckl.pvalue == pytest.approx(near.total.pvalue, rel=1e-9)
    assert ckl.ci[0] == 0.0
    assert ckl.ci[1] > ckl.value
    far = cd.discrepancy(target.sample(200_000, rng=7), target.from_tau(target.tau + 0.15), iid=True)
    ckl = far.estimates["ckl"]
    # first order: the delta method, up to terms of order se^2
    delta = ckl.value - 1.96 * ckl.se, ckl.value + 1.96 * ckl.se
    assert ckl.ci == pytest.approx(delta, rel=0.01)
    assert ckl.pvalue < 1e-10


def test_ced_has_no_slope_at_independence_and_ckl_takes_over():
    result = cd.discrepancy(cd.Gaussian(0.05).sample(1000, rng=8), cd.Gaussian(0.0), iid=True)
    assert result.ced == pytest.approx(result.ckl, rel=0.1)
    assert result.estimates["ced"].pvalue == result.estimates["ckl"].pvalue
    assert result.estimates["ced"].ci == pytest.approx(result.estimates["ckl"].ci, rel=0.1)
    assert result.estimates["ced"].ci[0] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("target", [cd.Gaussian(0.05), cd.Clayton(0.1), cd.Gumbel(1.05), cd.Frank(0.3)], ids=str)
def test_scores_next_to_independence(target):
    """Where the entropy is nearly flat: 60 samples of n = 500, exact binomial 99.9% band; p-value and interval agree."""
    rng = np.random.default_rng(13)
    rejections = np.zeros(2)
    for _ in range(60):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.DependenceWarning)  # some fits sit on the bound, and are not tested
            result = cd.discrepancy(target.sample(500, rng=rng), target, iid=True)
        for k, name in enumerate(("ckl", "ced")):
            estimate = result.estimates[name]
            rejections[k] += estimate.pvalue < 0.05
            assert np.isnan(estimate.pvalue) or (estimate.pvalue < 0.05) == (estimate.ci[0] > 0.0)
    assert np.max(rejections) <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.parametrize("target", [cd.Gumbel(1.0), cd.Joe(1.0), cd.Rotated(cd.Gumbel(1.0), 180)], ids=str)
def test_targets_with_infinite_information(target):
    """At independence the Fisher information of Gumbel and Joe is infinite; a large gap is still detected."""
    result = cd.discrepancy(target.with_theta(1.3).sample(500, rng=1), target)
    assert result.estimates["ckl"].pvalue < 1e-3
    assert result.estimates["ckl"].pvalue == pytest.approx(result.total.pvalue, abs=1e-3)
    assert 0 < result.estimates["ckl"].ci[0] < result.ckl < result.estimates["ckl"].ci[1] < 1.0
    assert not result.warnings


def test_estimated_df_has_two_parameters_of_uncertainty():
    """24 samples: p-values are uniform, so that -2 times the sum of their logarithms is chi-square with 48 degrees of freedom.

    Of standard errors too small by a third, its 99.94% band sees 80%, of those half too large, half. Far df are seen.
    """
    target = cd.StudentT(0.5, 5.0)
    rng = np.random.default_rng(9)
    results = [cd.discrepancy(target.sample(400, rng=rng), target, estimate_df=True, iid=True) for _ in range(24)]
    pvalues = np.array([result.estimates["ckl"].pvalue for result in results])
    low, high = stats.chi2.ppf((3e-4, 1 - 3e-4), 48)
    assert low < -2 * np.sum(np.log(pvalues)) < high
    # Wald's test of (rho, 1/df), from the influence values themselves
    result = results[0]
    inverse = -result.fit.df_influence[0] / result.fit.df**2
    covariance = np.cov(result.fit.influence["theta"][0], inverse) / 400
    step = np.array([result.theta - result.fit.theta_bias - 0.5, 1 / result.fit.df - 0.2])
    statistic = step @ np.linalg.solve(covariance, step)
    assert pvalues[0] == pytest.approx(stats.f.sf(statistic / 2, 2, 399), rel=1e-6)
    far = cd.discrepancy(cd.StudentT(0.5, 2.0).sample(1500, rng=1), cd.StudentT(0.5, 30.0), estimate_df=True, iid=True)
    assert far.estimates["ckl"].pvalue < 0.001
    assert 0 < far.estimates["ckl"].ci[0] < far.ckl < far.estimates["ckl"].ci[1]
    assert far.fit.estimates["df"].ci[0] < 2.0 < far.fit.estimates["df"].ci[1]


def test_simulated_scores_carry_their_noise():
    draws = cd.Gumbel(2.2).sample(500, rng=6)
    exact = cd.discrepancy(draws, cd.Gumbel(2.5), iid=True)
    noisy = cd.discrepancy(draws, cd.Gumbel(2.5), iid=True, shannon="monte_carlo", m=500, rng=7)
    for name in ("ckl", "ced"):
        own, other = noisy.estimates[name], exact.estimates[name]
        assert own.ci[1] > other.ci[1]
        assert own.ci[0] <= own.value <= own.ci[1]
        assert own.pvalue == other.pvalue
    copula = exact.fit.copula
    draws = copula.sample(200_000, rng=8).T
    noise = np.std(copula.logpdf(*draws) - cd.Gumbel(2.5).logpdf(*draws)) / np.sqrt(500)
    assert noisy.estimates["ckl"].se == pytest.approx(np.hypot(exact.estimates["ckl"].se, noise), rel=0.1)
    with pytest.raises(cd.InputError, match="m must"):
        cd.discrepancy(cd.Gumbel(2.2).sample(500, rng=6), cd.Gumbel(2.5), shannon="monte_carlo", m=1)


TARGETS = [cd.Clayton.from_tau(0.3), cd.Gumbel.from_tau(0.6), cd.Gaussian.from_tau(0.3)]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_size_on_independent_draws(target):
    """A fast part of benchmarks/inference.md: 120 samples of n = 600.

    The 5% level is held within the exact binomial 99.9% band, p-values are 1/2 in the mean, and intervals of 80%, which tell
    more than those of 95%, miss as they should: of standard errors half too large or a third too small, 80% are seen.
    """
    rng = np.random.default_rng(10)
    names = ("level", "shape", "total", "ckl", "ced", "low_low", "high_high")
    truth = {"tau": target.tau, "theta": target.theta, "tau_fitted": target.tau}
    pvalues, misses = [], np.zeros(len(truth))
    tails = []
    for _ in range(120):
        result = cd.discrepancy(target.sample(600, rng=rng), target, iid=True, confidence=0.8)
        pvalues.append([result.estimates[name].pvalue for name in names])
        misses += [not result.estimates[name].ci[0] <= value <= result.estimates[name].ci[1] for name, value in truth.items()]
        tails.append([(gap.value, gap.se) for gap in (result.low_low, result.high_high)])
    assert np.max(np.sum(np.array(pvalues) < 0.05, axis=0)) <= stats.binom.ppf(0.999, 120, 0.05)
    deviations = 4 / np.sqrt(12 * 120)  # four
    means = np.mean(pvalues, axis=0)
    assert means[:5] == pytest.approx(np.full(5, 0.5), abs=deviations)
    # a corner in which fewer than 15 draws are expected is counted, as if the margins were not ranked: its p-values are larger
    assert (means[5:] > 0.5 - deviations).all()
    assert (means[5:] < 0.75).all()
    low, high = stats.binom.ppf((5e-5, 1 - 5e-5), 120, 0.2)
    assert low <= np.min(misses) <= np.max(misses) <= high
    values, errors = np.moveaxis(np.array(tails), -1, 0)
    # a deviation from 120 samples is known to 6.5%
    assert np.std(values, axis=0) == pytest.approx(np.mean(errors, axis=0), rel=3.3 * 0.065)


def test_tails_of_negative_dependence_have_the_right_error():
    target = cd.Rotated(cd.Gumbel.from_tau(0.5), 90)
    rng = np.random.default_rng(18)
    results = [cd.discrepancy(target.sample(600, rng=rng), target, iid=True) for _ in range(150)]
    for name in ("low_high", "high_low"):
        values, errors = np.array([(result.estimates[name].value, result.estimates[name].se) for result in results]).T
        assert np.std(values) == pytest.approx(np.mean(errors), rel=0.2)
        assert abs(np.mean(values)) < 3.3 * np.std(values) / np.sqrt(150) + 0.005  # a sample's tail has a bias of order 1/n


def test_the_tail_influence_pays_for_both_edges_and_for_tau():
    """By its formula, with the copula's own derivatives in place of difference quotients (n = 20,000)."""
    copula = cd.Gumbel(2.0)
    draws = copula.sample(20_000, rng=19)
    result = cd.discrepancy(draws, copula, iid=True)
    u, v = cd.pseudo_observations(draws).T
    q = 0.1
    edge_u, edge_v = (float(copula.conditional_cdf(q, q, given=given)) for given in ("u", "v"))
    step = 1e-4
    slope = (cd.Gumbel.from_tau(0.5 + step).cdf(q, q) - cd.Gumbel.from_tau(0.5 - step).cdf(q, q)) / (2 * step)
    expected = ((u <= q) & (v <= q)) - copula.cdf(q, q) - edge_u * ((u <= q) - q) - edge_v * ((v <= q) - q)
    expected = (expected - slope * result.influence["tau"][0]) / q
    found = result.influence["low_low"][0]
    assert np.corrcoef(found, expected)[0, 1] > 0.995  # without one edge, or without tau, it is below 0.94
    assert np.std(found) == pytest.approx(np.std(expected), rel=0.03)


def test_power_against_the_wrong_family():
    rng = np.random.default_rng(11)
    shape = total = 0
    for _ in range(60):
        result = cd.discrepancy(cd.Gaussian.from_tau(0.6).sample(500, rng=rng), cd.Gumbel.from_tau(0.6), iid=True)
        shape += result.shape.pvalue < 0.05
        total += result.total.pvalue < 0.05
    assert shape >= 50  # 94% and more in the study
    assert total < shape


def test_confidence_widens_intervals():
    draws = cd.Gumbel(2.5).sample(500, rng=12)
    narrow, wide = (cd.discrepancy(draws, cd.Gumbel(2.5), confidence=share) for share in (0.5, 0.99))
    for name in ("level", "shape", "total", "ckl", "ced", "tau", "theta"):
        inner, outer = narrow.estimates[name].ci, wide.estimates[name].ci
        assert outer[0] <= inner[0] <= inner[1] < outer[1]
    with refused() as caught:
        cd.discrepancy(draws, cd.Gumbel(2.5), confidence=95)
    assert str(caught.value).startswith("confidence ")
    assert str(caught.value).endswith("got 95")


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(100, 4), (100, 5), (20, 25)], ids=str)
def test_many_short_chains(shape):
    """Independent draws cut into short chains, the shortest, odd ones, and ones long enough for autocovariances of their own.

    60 runs, exact binomial 99.9% band.
    """
    target = cd.Clayton(3.0)
    rng = np.random.default_rng(14)
    rejections = np.zeros(3)
    for _ in range(60):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.DependenceWarning)  # R-hat of short chains
            result = cd.discrepancy(target.sample(np.prod(shape), rng=rng).reshape(*shape, 2), target)
        rejections += [result.estimates[name].pvalue < 0.05 for name in ("level", "shape", "total")]
    assert np.max(rejections) <= stats.binom.ppf(0.999, 60, 0.05)


def test_numbers_of_any_size_and_alternating_ones():
    values = np.random.default_rng(15).normal(size=(2, 300))
    plain = cd.long_run_variance(values)
    for factor in (1e200, 1e-140):
        scaled = cd.long_run_variance(factor * values)
        assert scaled.n_eff == pytest.approx(plain.n_eff, rel=1e-9)
    assert np.isnan(cd.long_run_variance(np.full(1000, 0.1)).se)
    alternating = cd.long_run_variance(np.tile([1.0, -1.0], 50_000))
    assert alternating.n_eff > 100_000


def test_intervals_stay_within_what_is_possible():
    with warned("few-effective-draws"):
        result = cd.discrepancy(np.random.default_rng(16).normal(size=(6, 2)), cd.Gaussian(0.5))
    for name, limits in (("tau", (-1, 1)), ("tau_fitted", (-1, 1)), ("level", (-1 - 1 / 3, 1 - 1 / 3))):
        low, high = result.estimates[name].ci
        assert limits[0] - 1e-12 <= low <= high <= limits[1] + 1e-12


def test_a_bias_larger_than_the_error_is_not_taken_off_but_told():
    x = np.random.default_rng(2).standard_normal(300)
    y = x + 0.002 * np.random.default_rng(3).standard_normal(300)
    with warned("strong-dependence"):
        result = cd.discrepancy(np.column_stack([x, y]), cd.Gaussian(0.999))
    assert result.shape.bias == result.total.bias == 0.0
    for name in ("shape", "total", "ced", "tau_fitted"):
        estimate = result.estimates[name]
        assert estimate.ci[0] <= estimate.value <= estimate.ci[1]


def test_rounded_values_are_told_and_repeated_points_are_not():
    draws = cd.Gaussian(0.6).sample(600, rng=17)
    from scipy.special import ndtri

    with warned("rounded-values"):
        cd.discrepancy(np.round(ndtri(draws), 1), cd.Gaussian(0.6), iid=True)
    repeated = np.repeat(draws, 3, axis=0)  # a Metropolis chain that stays
    result = cd.discrepancy(repeated, cd.Gaussian(0.6))
    assert "rounded-values" not in codes_of(result)
    assert result.level.n_eff < 800
    plain = cd.discrepancy(draws, cd.Gaussian(0.6))
    assert result.level.se == pytest.approx(plain.level.se, rel=0.15)


def test_perfect_dependence_with_ties_has_no_standard_error():
    x = np.round(np.random.default_rng(0).standard_normal((4, 100)) * 2)
    with warned("perfect-dependence"):
        result = cd.discrepancy(np.stack([x, x], -1), cd.Gumbel(2.5))
    assert np.isnan(result.level.se)
    assert 0.0 < result.level.pvalue < 1e-15  # how likely so many draws are all concordant
    assert result.rhat < 1.01


def test_a_df_on_its_bound_is_taken_as_known():
    normal = np.random.default_rng(5).multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=300)
    with warned("df-bound"):
        result = cd.discrepancy(normal, cd.StudentT(0.7, 4.0), estimate_df=True)
    assert result.fit.df_on_bound == "upper"
    assert np.isnan(result.estimates["ckl"].pvalue)
    assert result.ckl > 0
    assert np.isfinite(result.total.se)
    assert "df" not in result.fit.estimates


def test_copies_of_a_short_chain_are_no_proof_of_precision():
    chain = np.random.default_rng(1).standard_normal(12)
    copied = cd.long_run_variance(np.stack([chain, chain, chain]))
    assert 0.1 * copied.variance < copied.long_run_variance
    assert copied.n_eff <= 36
