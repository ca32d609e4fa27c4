"""The test of margins: closed forms, exact symmetries, size and power, and what it says of the difference."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from copula_discrepancy.estimate.combination import cauchy, combined_pvalue, normal_scores, sum_pvalues, trace_of_squares
from copula_discrepancy.estimate.margins import FEWEST_EFFECTIVE, margin_difference, margin_test

INDEPENDENT = (True, True)


def normal(rng, n):
    return rng.standard_normal((1, n))


def autoregressive(rng, shape, coefficient):
    noise = rng.standard_normal((shape[0], shape[1] + 200))
    return lfilter([math.sqrt(1 - coefficient**2)], [1, -coefficient], noise, axis=1)[:, 200:]


def test_the_first_component_is_wilcoxons_statistic():
    rng = np.random.default_rng(1)
    x, y = np.round(normal(rng, 60), 1), np.round(normal(rng, 90), 1)  # with ties
    test = margin_test(x, y, iid=INDEPENDENT)
    share = np.mean(np.sign(x.reshape(-1, 1) - y.reshape(1, -1))) / 2  # P(X > Y) + P(X = Y)/2 - 1/2
    ranks = stats.rankdata(np.concatenate([x, y], axis=None))
    scale = np.std(ranks / 150)
    assert test.values[0] == pytest.approx(share / scale, rel=1e-12)


def test_the_components_without_ties_are_legendre_polynomials_of_pooled_ranks():
    rng = np.random.default_rng(2)
    x, y = normal(rng, 50), normal(rng, 70)
    u = (stats.rankdata(np.concatenate([x, y], axis=None)) - 0.5) / 120
    test = margin_test(x, y, iid=INDEPENDENT)
    for j, (value, se) in enumerate(zip(test.values, test.ses, strict=True), start=1):
        phi = math.sqrt(2 * j + 1) * np.polynomial.Legendre.basis(j)(2 * u - 1)
        assert value == pytest.approx(phi[:50].mean() - phi[50:].mean(), rel=1e-10)
        assert se**2 == pytest.approx(phi[:50].var(ddof=1) / 50 + phi[50:].var(ddof=1) / 70, rel=1e-10)


def test_exchanging_the_samples_changes_the_signs_only():
    rng = np.random.default_rng(3)
    x, y = rng.poisson(2.0, (1, 200)).astype(float), rng.poisson(2.3, (1, 300)).astype(float)
    one, other = margin_test(x, y, iid=INDEPENDENT), margin_test(y, x, iid=INDEPENDENT)
    assert one.pvalue == pytest.approx(other.pvalue, rel=1e-10)
    np.testing.assert_allclose(one.values, -np.array(other.values), rtol=1e-9)


def test_increasing_transforms_change_nothing():
    rng = np.random.default_rng(4)
    x, y = normal(rng, 100), normal(rng, 120)
    assert margin_test(np.exp(x), np.exp(y), iid=INDEPENDENT) == margin_test(x, y, iid=INDEPENDENT)


def test_a_binary_variable_is_a_comparison_of_two_shares():
    x, y = np.repeat([0.0, 1.0], [60, 40])[None], np.repeat([0.0, 1.0], [140, 60])[None]
    test = margin_test(x, y, iid=INDEPENDENT)
    assert test.order == 1
    t = (0.4 - 0.3) / math.sqrt(0.24 / 99 + 0.21 / 199)
    a, b = 0.24 / 99, 0.21 / 199
    df = (a + b) ** 2 / (a**2 / 99 + b**2 / 199)
    assert test.pvalue == pytest.approx(2 * stats.t.sf(t, df), rel=1e-9)  # one component: all parts of the test agree


@pytest.mark.parametrize(("values", "order"), [(2, 1), (3, 2), (4, 3), (5, 4), (9, 4)])
def test_a_variable_with_few_values_has_fewer_components(values, order):
    rng = np.random.default_rng(values)
    x, y = rng.integers(0, values, (2, 1, 300)).astype(float)
    test = margin_test(x, y, iid=INDEPENDENT)
    assert test.order == order
    assert test.few_values


def test_constants():
    two, three = np.full((4, 100), 2.0), np.full((4, 100), 3.0)
    varying = np.random.default_rng(5).standard_normal((4, 100))
    assert margin_test(two, two).pvalue == 1.0
    assert margin_test(two, three).pvalue == pytest.approx((1 / 401) ** 4)
    assert margin_test(two, varying).pvalue == margin_test(varying, two).pvalue == pytest.approx((1 / 401) ** 4)
    rare = np.zeros((1, 1000))
    rare[0, :2] = 1.0
    assert margin_test(np.zeros((1, 400)), rare, iid=INDEPENDENT).pvalue == pytest.approx((999 / 1001) ** 400)


def test_too_few_effective_draws_are_not_tested():
    rng = np.random.default_rng(6)
    slow = autoregressive(rng, (2, 400), 0.99)
    test = margin_test(slow, normal(rng, 500), iid=(False, True))
    assert test.n_eff < FEWEST_EFFECTIVE
    assert test.untested == "few-effective-draws"
    assert math.isnan(test.pvalue)
    few = margin_test(normal(rng, FEWEST_EFFECTIVE - 1), normal(rng, 500), iid=INDEPENDENT)
    assert few.untested == "few-effective-draws"


def test_a_handful_of_other_values_is_not_tested():
    x, y = np.zeros((2, 1, 500))
    x[0, :9] = 1.0
    y[0, :8] = 1.0
    assert margin_test(x, y, iid=INDEPENDENT).untested == "rare-values"


def rejections(sample, reference, iid, runs):
    return np.mean([margin_test(sample(), reference(), iid=iid).pvalue < 0.05 for _ in range(runs)])


def test_size_of_independent_samples_of_unequal_size():
    rng = np.random.default_rng(7)
    share = rejections(lambda: np.round(normal(rng, 200) * 2), lambda: np.round(normal(rng, 1500) * 2), INDEPENDENT, 400)
    assert stats.binom.ppf(0.0005, 400, 0.05) <= 400 * share <= stats.binom.ppf(0.9995, 400, 0.05)


def test_size_on_chains():
    rng = np.random.default_rng(8)
    draws = [autoregressive(rng, (4, 500), 0.9) for _ in range(300)]
    size = np.mean([margin_test(x, y).pvalue < 0.05 for x, y in zip(draws[::2], draws[1::2], strict=True)])
    assert size <= stats.binom.ppf(0.9995, 150, 0.05) / 150
    naive = np.mean([margin_test(x, y, iid=INDEPENDENT).pvalue < 0.05 for x, y in zip(draws[::2], draws[1::2], strict=True)])
    assert naive > 0.5  # an error that ignored the autocorrelation would be seen


@pytest.mark.parametrize(
    ("changed", "least", "part"),
    [
        (lambda x: x + 0.3, 0.9, "shift"),
        (lambda x: 1.3 * x, 0.9, "spread"),
        (lambda x: (stats.gamma(4).ppf(stats.norm.cdf(x)) - 4) / 2, 0.9, "right-skew"),  # mean 0 and sd 1, as the reference
        (lambda x: (4 - stats.gamma(4).ppf(stats.norm.cdf(x))) / 2, 0.9, "left-skew"),
        (lambda x: 0.9 * np.sign(x) + math.sqrt(0.19) * stats.norm.ppf(2 * stats.norm.cdf(np.abs(x)) - 1), 0.9, "shape"),
    ],
)
def test_power_and_the_name_of_the_difference(changed, least, part):
    rng, found, named = np.random.default_rng(9), [], []
    for _ in range(60):
        x, y = changed(normal(rng, 500)), normal(rng, 500)
        test = margin_test(x, y, iid=INDEPENDENT)
        found.append(test.pvalue < 0.05)
        if found[-1]:
            named.append(part in margin_difference(x, y, test, 0.05).parts)
    assert np.mean(found) >= least
    assert np.mean(named) >= 0.85


def test_a_shifted_skewed_variable_is_not_also_narrower():
    rng = np.random.default_rng(10)
    x, y = rng.exponential(size=(1, 4000)) + 0.3, rng.exponential(size=(1, 4000))
    difference = margin_difference(x, y, margin_test(x, y, iid=INDEPENDENT), 0.05)
    assert difference.parts == ("shift",)
    assert difference.shift == pytest.approx(0.3, abs=0.05)  # the sd of the reference is 1
    assert difference.ratio == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_sizes_of_the_difference_at_any_scale(scale):
    rng = np.random.default_rng(11)
    x, y = scale * (2.0 * normal(rng, 3000) + 0.5), scale * normal(rng, 3000)
    x[0, 0] = np.finfo(float).max  # an outlier
    difference = margin_difference(x, y, margin_test(x, y, iid=INDEPENDENT), 0.05)
    assert difference.shift == pytest.approx(0.5, abs=0.12)
    assert difference.ratio == pytest.approx(2.0, abs=0.12)


def test_cauchys_combination():
    assert cauchy((0.3,)) == pytest.approx(0.3)
    assert cauchy((0.01, 1.0)) > 0.01
    assert cauchy((0.0, 0.0)) < 1e-290
    assert cauchy((0.02, 0.02)) == pytest.approx(0.02)
    assert cauchy((1e-10, 1.0 - 1e-12), (1.0, 0.0)) == pytest.approx(1e-10)
    p, q = 0.01, 0.4
    mean = (math.tan((0.5 - p) * math.pi) + math.tan((0.5 - q) * math.pi)) / 2
    assert cauchy((p, q)) == pytest.approx(0.5 - math.atan(mean) / math.pi)


def test_combined_pvalue_of_independent_and_of_equal_scores():
    rng = np.random.default_rng(12)
    scores = rng.standard_normal((4000, 3))
    alone = combined_pvalue(scores, trace_of_squares(np.eye(3), math.inf))
    assert stats.binom.ppf(0.0005, 4000, 0.045) <= np.sum(alone < 0.05) <= stats.binom.ppf(0.9995, 4000, 0.055)
    # three times the same score: the sum of squares has one degree of freedom, not three
    same = combined_pvalue(np.full(3, 2.5), trace_of_squares(np.ones((3, 3)), math.inf))
    assert same == pytest.approx(cauchy((2 * stats.norm.sf(2.5), 1 - (1 - 2 * stats.norm.sf(2.5)) ** 3)))


def test_normal_scores_keep_sign_and_pvalue():
    ratios, df = np.array([-3.0, 0.0, 2.0, 1e10]), np.array([5.0, 7.0, 1e6, 3.0])
    scores = normal_scores(ratios, df)
    np.testing.assert_allclose(stats.norm.sf(np.abs(scores[:3])), stats.t.sf(np.abs(ratios[:3]), df[:3]), rtol=1e-10)
    assert scores[0] < 0 < scores[2] < scores[3] < math.inf


def test_the_tail_of_a_sum_is_that_of_its_largest_part():
    """P-values of sums of squares with unequal weights, at quantiles of 400,000 of them; two moments alone give far less."""
    weights = np.array([6.0, 3.0, 2.0, 1.0, 1.0, 1.0, 0.5, 0.5])
    total = np.random.default_rng(21).standard_normal((400_000, 8)) ** 2 @ weights
    moments = [float(np.sum(weights**k)) for k in (1, 2, 3)]
    for level, tolerance in ((0.05, 0.1), (0.001, 0.35), (1e-4, 0.6)):
        quantile = np.quantile(total, 1.0 - level)
        assert sum_pvalues(quantile, *moments) == pytest.approx(level, rel=tolerance)
    assert sum_pvalues(np.quantile(total, 1.0 - 1e-4), *moments[:2]) < 1e-4 / 5.0
