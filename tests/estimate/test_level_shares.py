"""The test of shares of levels without order: closed forms, exact symmetries, size and power, rare levels."""

import math

import numpy as np
import pytest
from scipy import stats

from copula_discrepancy.estimate.level_shares import REST, level_test
from copula_discrepancy.estimate.margins import margin_test

INDEPENDENT, CHAINS = (True, True), (False, False)


def uneven(levels):
    shares = 1.0 / np.arange(1, levels + 1) ** 1.2
    return shares / shares.sum()


def rows(rng, n, shares):
    return rng.choice(len(shares), size=(1, n), p=shares).astype(float)


def sticky(rng, shape, shares, stay):
    """Markov chains that keep their level with probability `stay` and otherwise draw one: autocorrelation stay^lag."""
    fresh, kept = rng.choice(len(shares), size=shape, p=shares), rng.random(shape) < stay
    kept[:, 0] = False
    latest = np.maximum.accumulate(np.where(kept, 0, np.arange(shape[1])), axis=1)
    return np.take_along_axis(fresh, latest, axis=1).astype(float)


def counted(*counts):
    return np.repeat(np.arange(len(counts)), counts).astype(float)[None]


def test_scores_and_components_of_independent_rows():
    x, y = counted(60, 30, 30), counted(100, 90, 10)
    test = level_test(x, y, iid=INDEPENDENT)
    assert test.order == 3
    assert (test.n_eff, test.n_eff_reference) == (120, 200)
    for level, value, se, (own, other) in zip(test.levels, test.values, test.ses, [(60, 100), (30, 90), (30, 10)], strict=True):
        common = (own + other) / 320
        assert (level.share, level.share_reference) == (own / 120, other / 200)
        assert value == pytest.approx((own / 120 - other / 200) / math.sqrt(common))
        assert se == pytest.approx(math.sqrt((1 - common) * (1 / 120 + 1 / 200)))
    # the squares of the components are Pearson's chi-square
    pearson = stats.chi2_contingency([[60, 30, 30], [100, 90, 10]], correction=False).statistic
    assert np.sum(np.square(test.values)) * 120 * 200 / 320 == pytest.approx(pearson)


def test_codes_are_names_only():
    rng = np.random.default_rng(1)
    x, y = rows(rng, 300, uneven(5)), rows(rng, 400, uneven(5)[::-1])
    codes = np.array([3.0, 0.0, 4.0, 1.0, 2.0])
    renamed = level_test(codes[x.astype(int)], codes[y.astype(int)], iid=INDEPENDENT)
    test = level_test(x, y, iid=INDEPENDENT)
    assert renamed.pvalue == pytest.approx(test.pvalue, rel=1e-9)
    assert [level[1:] for level in renamed.levels] == [level[1:] for level in test.levels]
    swapped = level_test(y, x, iid=INDEPENDENT)
    assert swapped.pvalue == pytest.approx(test.pvalue, rel=1e-9)
    np.testing.assert_allclose(swapped.values, -np.array(test.values))


def test_two_levels_have_one_component_that_agrees_with_that_of_a_flag():
    x, y = counted(400, 600), counted(450, 550)
    test, flag = level_test(x, y, iid=INDEPENDENT), margin_test(x, y, iid=INDEPENDENT)
    assert test.order == 1
    assert test.pvalue == pytest.approx(flag.pvalue, rel=0.01)  # of the common share, instead of those of each sample
    assert test.levels[0].score == -test.levels[1].score


def test_rare_levels_are_compared_together():
    x, y = counted(200, 4, 3, 2, 100), counted(200, 3, 4, 2, 100)
    test = level_test(x, y, iid=INDEPENDENT)
    assert [level.level for level in test.levels] == [0, 4, REST]
    assert test.levels[-1].share == 9 / 309
    # one rare level keeps its name, and is not tested
    test = level_test(counted(200, 100, 2), counted(200, 100, 3), iid=INDEPENDENT)
    assert [level.level for level in test.levels] == [0, 1, 2]
    assert test.order == 2
    assert math.isnan(test.levels[2].score)
    # the smaller sample decides: 25 expected rows of 1000, and 4 of 160
    test = level_test(counted(96, 60, 4), counted(600, 375, 25), iid=INDEPENDENT)
    assert math.isnan(test.levels[2].score)


def test_at_most_twelve_levels():
    x = counted(*range(10, 50))
    test = level_test(x, x, iid=INDEPENDENT)
    assert test.order == 12
    assert [level.level for level in test.levels] == [*range(39, 28, -1), REST]
    assert sum(level.share for level in test.levels) == pytest.approx(1.0)


def test_what_is_not_tested():
    assert level_test(counted(400, 3), counted(400, 2), iid=INDEPENDENT).untested == "rare-levels"
    many = np.arange(500.0)[None]
    for iid in (INDEPENDENT, CHAINS):
        test = level_test(many, many, iid=iid)
        assert test.untested == "rare-levels"
        assert math.isnan(test.pvalue)
    assert level_test(counted(8, 8), counted(80, 80), iid=INDEPENDENT).untested == "few-effective-draws"
    assert level_test(np.empty((1, 0)), counted(80, 80)).untested == "few-effective-draws"
    slow = np.repeat([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]], 200, axis=1)
    assert level_test(slow, counted(300, 300, 300), iid=(False, True)).untested == "few-effective-draws"


def test_a_constant_has_the_test_of_any_constant():
    one, two = np.zeros((4, 100)), np.ones((4, 100))
    assert level_test(one, two) == margin_test(one, two)
    assert level_test(one, one).pvalue == 1.0


@pytest.mark.parametrize("iid", [INDEPENDENT, CHAINS])
def test_a_level_that_only_one_sample_has(iid):
    rng = np.random.default_rng(2)
    x, y = rows(rng, 500, [0.6, 0.4, 0.0]), rows(rng, 500, [0.55, 0.35, 0.1])
    for pair, sign in (((x, y), -1), ((y, x), 1)):
        test = level_test(*pair, iid=iid)
        assert test.pvalue < 1e-6
        lost = next(level for level in test.levels if level.level == 2)
        assert sign * lost.score > 5


def within_band(pvalues):
    limits = stats.binom.ppf([0.0005, 0.9995], len(pvalues), 0.05)
    return limits[0] <= np.sum(np.array(pvalues) < 0.05) <= limits[1]


@pytest.mark.parametrize("levels", [3, 8, 30])
@pytest.mark.parametrize("sizes", [(500, 500), (150, 3000)])
def test_size_of_independent_rows(levels, sizes):
    rng, shares = np.random.default_rng(3), uneven(levels)
    found = [level_test(*(rows(rng, n, shares) for n in sizes), iid=INDEPENDENT).pvalue for _ in range(300)]
    assert within_band(found)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [3, 8, 30])
def test_size_on_chains(levels):
    rng, shares = np.random.default_rng(4), uneven(levels)
    both, one, naive = [], [], []
    for _ in range(300):
        x, y = (sticky(rng, (4, 500), shares, 0.8) for _ in range(2))
        both.append(level_test(x, y).pvalue)
        one.append(level_test(x, rows(rng, 2000, shares), iid=(False, True)).pvalue)
        naive.append(level_test(x, y, iid=INDEPENDENT).pvalue)
    assert within_band(both)
    assert within_band(one)
    assert np.mean(np.array(naive) < 0.05) > 0.5  # an error that ignored the autocorrelation would be seen


@pytest.mark.parametrize(("levels", "least"), [(3, 0.9), (8, 0.85), (30, 0.8)])
def test_power(levels, least):
    """A tenth of the rows moves from the most frequent level to the third."""
    rng, shares = np.random.default_rng(5), uneven(levels)
    moved = shares + 0.1 * (np.eye(levels)[2] - np.eye(levels)[0])
    found = [level_test(rows(rng, 500, moved), rows(rng, 500, shares), iid=INDEPENDENT) for _ in range(60)]
    assert np.mean([test.pvalue < 0.05 for test in found]) >= least
    chains = [level_test(sticky(rng, (4, 500), moved, 0.5), sticky(rng, (4, 500), shares, 0.5)) for _ in range(30)]
    assert np.mean([test.pvalue < 0.05 for test in chains]) >= least
