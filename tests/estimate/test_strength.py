"""The test of level where the normal limit does not hold: rare values, perfect dependence."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.compare.wording import NOT_TESTED
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.strength import FEWEST_CARRIERS, TauSide, level_test
from tests.caveat_codes import warned
from tests.numerals import numerals


def flags(rng, n, rate, correlation, d=5):
    """Columns of 0 and 1 that are 1 together more often than by chance."""
    root = np.linalg.cholesky((1.0 - correlation) * np.eye(d) + correlation)
    return (rng.standard_normal((n, d)) @ root.T > stats.norm.isf(rate)).astype(float)


def quiet_pairwise(*samples, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.pairwise(*samples, **options)


def test_one_row_says_nothing():
    """One row with both flags against two rows with one each: tau 1 against 0, which used to give p = 4e-151."""
    together, apart = np.zeros((2, 1000, 2))
    together[5] = 1.0
    apart[3, 0] = apart[9, 1] = 1.0
    with warned("rare-values"):
        result = cd.pairwise(together, apart, iid=True)
    assert result[0].verdict == NOT_TESTED
    assert math.isnan(result[0].level_pvalue)
    assert result[0].level == pytest.approx(1.001, abs=1e-3)  # still told
    assert result.outcome == NOT_TESTED
    assert numerals(result.sentences()["Judged"]) == ["0", "1", "1"]  # judged, of all pairs; left out
    with pytest.warns(cd.DependenceWarning):
        single = cd.discrepancy(together, apart, family="gaussian", iid=True)
    assert single.outcome == NOT_TESTED
    assert single.too_rare in single.sentences()["Strength"]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.001, 0.002, 0.005, 0.01, 0.02])
def test_size_with_rare_flags(rate):
    """30 pairs of equal tables of dependent flags, 10 pairs of columns each: no extreme and few small p-values."""
    rng = np.random.default_rng(int(1e4 * rate))
    pvalues, runs, claims = [], 0, 0
    for _ in range(30):
        tables = flags(rng, 1000, rate, 0.7), flags(rng, 1000, rate, 0.7)
        if min(np.ptp(table, axis=0).min() for table in tables) == 0.0:
            continue  # a column without a flag
        result = quiet_pairwise(*tables, iid=True)
        pvalues += result.rows["level_pvalue"].tolist()
        runs, claims = runs + 1, claims + (result.n_flagged > 0)
    known = np.array(pvalues)[np.isfinite(pvalues)]
    assert claims <= stats.binom.ppf(0.999, max(runs, 1), 0.07)
    if known.size:
        assert known.min() > 1e-5
        assert np.mean(known < 0.001) <= 0.01
    else:
        assert rate <= 0.002  # one or two rows are flagged


def test_a_small_sample_beside_a_large_one():
    """If rare values do not coincide in a small sample, its own variance is uninformative."""
    rng = np.random.default_rng(2)
    smallest = 1.0
    for _ in range(10):
        found = quiet_pairwise(flags(rng, 1000, 0.01, 0.7), flags(rng, 30_000, 0.01, 0.7), iid=True)
        smallest = min(smallest, float(np.nanmin(found.rows["level_pvalue"])))
    assert smallest > 1e-4


def test_power_with_rare_flags():
    """Half of the flags of the two columns coincide in the reference and none in the draws: 20 of 1,000 rows matter."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(30):
        first = (rng.random(1000) < 0.03).astype(float)
        second = np.where(rng.random(1000) < 0.7, first, rng.random(1000) < 0.03)
        independent = (rng.random((1000, 2)) < 0.03).astype(float)
        found += quiet_pairwise(independent, np.column_stack([first, second]), iid=True).n_flagged
    assert found >= 27


def side(tau, se, n=1000, carriers=math.inf, weight=math.inf):
    return TauSide(tau, StandardError(se, n - 1.0, float(n)), n, carriers, weight, float(n))


def test_few_carriers_by_hand():
    plain = level_test(side(0.3, 0.03), side(0.2, 0.04), 0.2)
    assert plain.spread.se == pytest.approx(0.05)
    assert plain.pvalue == pytest.approx(2.0 * stats.t.sf(2.0, plain.spread.df))
    rare = level_test(side(0.3, 0.03, carriers=20.0, weight=4.0), side(0.2, 0.04, carriers=30.0, weight=10.0), 0.2)
    df = (0.03**2 + 0.04**2) ** 2 / (0.03**4 / 4.0 + 0.04**4 / 4.0)  # the smaller weight holds for both samples
    assert rare.pvalue == pytest.approx(2.0 * stats.t.sf(2.0, df))
    uneven = level_test(side(0.0, 0.001, 1000, 20.0, 5.0), side(0.1, 0.01, 10_000, 200.0, 50.0), 0.1)
    assert uneven.spread.se == pytest.approx(math.sqrt((1e-6 * 1000**2 + 1e-4 * 10_000**2) / (1000 * 10_000)))
    none = level_test(side(0.3, 0.03, carriers=FEWEST_CARRIERS - 0.5, weight=3.0), side(0.2, 0.04), 0.2)
    assert none.too_rare
    assert math.isnan(none.pvalue)


def test_perfect_flags_are_as_likely_as_their_carriers_make_them():
    """Twenty flags that all coincide are perfect dependence of twenty rows, not of a thousand."""
    perfect = level_test(side(1.0, math.nan, carriers=20.0, weight=0.0), None, 0.6)
    assert perfect.pvalue == pytest.approx(0.8**10)
    assert level_test(side(1.0, math.nan), None, 0.6).pvalue == pytest.approx(0.8**500)


def test_participation_and_carriers_are_counted():
    influence = np.zeros(1000)
    influence[:4] = (3.0, -3.0, 3.0, -3.0)

    def moments(chosen):
        return np.full(len(chosen), np.sum(influence**2)), np.full(len(chosen), np.sum(influence**4))

    n_eff, modes = np.array([1000.0, 500.0, 1000.0]), np.array([990, 990, 500])
    spread = StandardError(np.full(3, 0.1), np.full(3, 999.0), n_eff)
    found = TauSide.of(np.full(3, 0.5), spread, np.full(3, 1000.0), modes, moments, lambda chosen: 1.0 / 0.0)
    assert found.carriers.tolist() == [10.0, 5.0, math.inf]
    assert found.weight.tolist() == [pytest.approx(4.0), pytest.approx(2.0), math.inf]


def test_effective_ranks_stand_in_for_a_perfect_tau():
    """No draw influences a tau of 1, so that its share of independent draws comes from the ranks, and from those alone."""
    nothing = np.array([math.nan, 0.1])
    spread = StandardError(nothing, nothing, np.array([math.nan, 800.0]))
    asked = []

    def rank_sizes(chosen):
        asked.append(chosen.tolist())
        return np.array([250.0])

    taus, n = np.array([1.0, 0.5]), np.full(2, 1000.0)
    found = TauSide.of(taus, spread, n, np.array([960, 960]), lambda chosen: (np.ones(2), np.ones(2)), rank_sizes)
    assert asked == [[0]]
    assert found.carriers.tolist() == [10.0, 32.0]
    assert found.rank_size[0] == 250.0
    assert math.isnan(found.rank_size[1])


@pytest.mark.parametrize(("rate", "n"), [(0.02, 1000), (0.05, 500)])
def test_rare_flags_against_a_known_copula(rate, n):
    """Independent flags that never coincide have almost no variance: two thirds of such tables used to be flagged (p 1e-8)."""
    rng = np.random.default_rng(11)
    pvalues = [
        float(quiet_pairwise((rng.random((n, 2)) < rate).astype(float), cd.Gaussian(0.0), iid=True).rows["level_pvalue"][0])
        for _ in range(60)
    ]
    assert np.sum(np.array(pvalues) < 0.05) <= stats.binom.ppf(0.999, 60, 0.05)
    both = np.zeros((1000, 2))
    both[:20] = 1.0
    both[20:24, 0] = 1.0
    assert quiet_pairwise(both, cd.Gaussian(0.0), iid=True).rows["level_pvalue"][0] < 1e-3  # and flags that meet are found


def test_a_handful_of_rows_is_no_certainty():
    """Of four rows all concordances may be equal at a tau of 1/3: no standard error, and no perfect dependence either."""
    rng = np.random.default_rng(12)
    for n in (4, 6, 15):
        smallest = {"level": 1.0, "shape": 1.0}
        for _ in range(60):
            few, many = (cd.Gaussian(0.999).sample(size, rng=rng) for size in (n, 500))
            few[:, 1] = rng.random(n) if n < 15 else few[:, 1]
            many[:, 1] = rng.random(500) if n < 15 else many[:, 1]
            for samples in ((few, many), (many, few)):
                row = quiet_pairwise(*samples, iid=True).rows[0]
                smallest = {name: float(np.fmin(least, row[f"{name}_pvalue"])) for name, least in smallest.items()}
        assert smallest["level"] > 1e-4
        assert smallest["shape"] == 1.0  # not tested with so few


def test_dependence_too_strong_for_ranks_is_not_tested_in_shape():
    """At tau 0.98 the rank bias exceeds the standard error: shape used to be flagged in three quarters of correct samples."""
    target = cd.Gaussian.from_tau(0.98)
    with warned("strong-dependence"):
        result = cd.pairwise(target.sample(300, rng=1), target, iid=True)
    assert math.isnan(result[0].shape_pvalue)
    assert math.isfinite(result[0].level_pvalue)
    with warned("strong-dependence"):
        single = cd.discrepancy(target.sample(300, rng=1), target, iid=True)
    assert single.verdict == result[0].verdict
