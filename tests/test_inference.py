"""Long-run variances, intervals and tests against theory, ArviZ and closed forms."""

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

import copula_discrepancy as cd
from copula_discrepancy.inference import Estimate, Spread
from copula_discrepancy.shannon import fisher_information


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
    # the estimator's own deviation is about sqrt(2 * 4 tau / n) of itself, tau = (1+phi)/(1-phi); its mean has a sixth of that
    deviation = np.sqrt(8 * max((1 + phi) / (1 - phi), 1.0) / (4 * length)) + (0.03 if length > 500 else 0.0)
    assert abs(np.mean(found) - 1) < deviation
    assert np.std(found) < 2 * deviation


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
    assert np.isnan(Estimate.of(0.3, Spread.of(np.zeros((2, 100)), iid=False)).pvalue)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 3)) + np.arange(3.0), "at least 4 draws per chain, got 3"),
        ([[1.0, np.nan, 2.0, 3.0]], "finite"),
        (np.ones((2, 2, 2)), "shape"),
        ([["a", "b", "c", "d"]], "real numbers"),
    ],
)
def test_influence_values_that_cannot_be_used(values, message):
    with pytest.raises(cd.InputError, match=message):
        cd.long_run_variance(values)


def test_interval_and_pvalue_are_students():
    estimate = Estimate.of(0.3, Spread(0.1, 12.0, 50.0), bias=0.05, confidence=0.9)
    reach = stats.t.ppf(0.95, 12) * 0.1
    assert estimate.ci == pytest.approx((0.25 - reach, 0.25 + reach))
    assert estimate.pvalue == pytest.approx(2 * stats.t.sf(2.5, 12))
    assert float(estimate) == 0.3
    joined = Spread(0.3, 10.0, 80.0).plus(Spread(0.4, 30.0, 60.0))
    assert (joined.se, joined.n_eff) == (pytest.approx(0.5), 60.0)
    assert joined.df == pytest.approx(0.25**2 / (0.09**2 / 10 + 0.16**2 / 30))


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
    with pytest.raises(cd.InputError, match="alpha must lie strictly between 0 and 1, got 5"):
        result.level.paper_test(alpha=5)


@pytest.mark.parametrize("rho", [0.0, 0.5, -0.8])
def test_fisher_information_of_the_gaussian(rho):
    assert fisher_information(cd.Gaussian(rho)) == pytest.approx((1 + rho**2) / (1 - rho**2) ** 2, rel=1e-4)


@pytest.mark.parametrize("target", [cd.Clayton(2.0), cd.Gumbel(2.0), cd.Frank(5.0), cd.Gaussian(0.7)], ids=str)
def test_ckl_at_and_away_from_its_zero(target):
    near = cd.discrepancy(target.sample(2000, rng=7), target, iid=True)
    ckl, theta = near.estimates["ckl"], near.estimates["theta"]
    # second order: chi-square with one degree of freedom
    statistic = 2 * ckl.value / (fisher_information(target) * theta.se**2)
    assert ckl.pvalue == pytest.approx(stats.chi2.sf(statistic, 1), abs=2e-3)  # F(1, n-1) instead of its limit
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
    assert result.estimates["ced"].ci[0] == 0.0


def test_estimated_df_has_two_parameters_of_uncertainty():
    """30 samples: 2 CKL against the weighted chi-square, exact binomial 99.9% band around 5%; far df are seen."""
    target = cd.StudentT(0.5, 5.0)
    rng = np.random.default_rng(9)
    results = [cd.discrepancy(target.sample(400, rng=rng), target, estimate_df=True, iid=True) for _ in range(30)]
    pvalues = np.array([result.estimates["ckl"].pvalue for result in results])
    assert np.sum(pvalues < 0.05) <= stats.binom.ppf(0.999, 30, 0.05)
    assert 0.3 < np.mean(pvalues) < 0.7  # uniform: 0.5 with a deviation of 0.053
    far = cd.discrepancy(cd.StudentT(0.5, 2.0).sample(1500, rng=1), cd.StudentT(0.5, 30.0), estimate_df=True, iid=True)
    assert far.estimates["ckl"].pvalue < 0.001
    assert 0 < far.estimates["ckl"].ci[0] < far.ckl < far.estimates["ckl"].ci[1]
    assert far.fit.estimates["df"].ci[0] < 2.0 < far.fit.estimates["df"].ci[1]


def test_simulated_scores_carry_their_noise():
    draws = cd.Gumbel(2.2).sample(500, rng=6)
    exact = cd.discrepancy(draws, cd.Gumbel(2.5), iid=True)
    noisy = cd.discrepancy(draws, cd.Gumbel(2.5), iid=True, shannon="monte_carlo", m=500, rng=7)
    for name in ("ckl", "ced"):
        assert noisy.estimates[name].se > exact.estimates[name].se
        assert noisy.estimates[name].ci[1] > exact.estimates[name].ci[1]


TARGETS = [cd.Clayton.from_tau(0.3), cd.Gumbel.from_tau(0.6), cd.Frank.from_tau(0.3), cd.Gaussian.from_tau(0.3)]


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_size_on_independent_draws(target):
    """A fast part of benchmarks/inference.md: 200 samples of n = 300, exact binomial 99.9% band around 5%."""
    rng = np.random.default_rng(10)
    names = ("level", "shape", "total", "ckl", "ced", "lower_tail", "upper_tail")
    rejections = np.zeros(len(names))
    for _ in range(200):
        result = cd.discrepancy(target.sample(300, rng=rng), target, iid=True)
        rejections += [result.estimates[name].pvalue < 0.05 for name in names]
    assert np.max(rejections) <= stats.binom.ppf(0.999, 200, 0.05)
    assert np.min(rejections) >= 1  # P(none of 200) = 3.5e-5


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
    with pytest.raises(cd.InputError, match="confidence must lie strictly between 0 and 1, got 95"):
        cd.discrepancy(draws, cd.Gumbel(2.5), confidence=95)
