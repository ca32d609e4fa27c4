"""Kendall's taus of all pairs at once, `screen(level=True)`: against `pairwise`, and its tests where nothing differs."""

import json

import numpy as np
import pytest
from scipy.stats import binom

import copula_discrepancy as cd
from copula_discrepancy.estimate.combination import cauchy
from tests.caveat_codes import warned
from tests.pairwise_data import CORRELATIONS, autoregressive, gaussian
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")  # few effective draws, and ties


def exchangeable(rho, d):
    """Correlations that are all the same."""
    return np.full((d, d), rho) + (1.0 - rho) * np.eye(d)


@pytest.fixture(scope="module")
def samples():
    """Chains whose dependence is weaker than that of the reference; some variables are rounded."""
    rng = np.random.default_rng(1)
    draws, reference = (autoregressive(rng, 4, 250, 0.5, exchangeable(rho, 5)) for rho in (0.3, 0.5))
    for sample in (draws, reference):
        sample[..., 3:] = np.round(sample[..., 3:], 1)
    return draws, reference


@pytest.fixture(scope="module")
def screened(samples):
    return cd.screen(*samples, level=True)


def test_taus_and_errors_are_those_of_pairwise(samples, screened):
    """Taus exactly; errors are of batch means there, and of autocovariances here."""
    table = screened.to_dataframe().set_index(["first", "second"])
    expected = cd.pairwise(*samples).to_dataframe().set_index(["first", "second"]).loc[table.index]
    assert len(table) == 10
    np.testing.assert_array_equal(table["tau"], expected["tau"])
    np.testing.assert_array_equal(table["tau_target"], expected["tau_target"])
    np.testing.assert_allclose(table["tau_se"], expected["level_se"], rtol=0.25)  # 50 degrees of freedom: 10%, and the largest
    assert abs(np.mean(table["tau_se"] / expected["level_se"]) - 1.0) < 0.08
    scores = (table["tau"] - table["tau_target"]) / table["tau_se"]
    assert np.corrcoef(np.abs(scores), -np.log(table["tau_pvalue"]))[0, 1] > 0.9


def test_errors_of_independent_draws():
    """Here both are those of influence values."""
    rng = np.random.default_rng(2)
    draws, reference = gaussian(rng, 2000), np.round(gaussian(rng, 3000), 1)
    table = cd.screen(draws, reference, level=True, iid=True).to_dataframe().set_index(["first", "second"])
    expected = cd.pairwise(draws, reference, iid=True).to_dataframe().set_index(["first", "second"]).loc[table.index]
    np.testing.assert_allclose(table["tau_se"], expected["level_se"], rtol=0.25)
    np.testing.assert_array_equal(table["tau_target"], expected["tau_target"])


def test_a_pair_combines_level_and_form(samples, screened):
    alone = cd.screen(*samples)
    assert alone.levels is None
    form = dict(zip(map(tuple, alone.places), alone.pvalue, strict=True))
    expected = [cauchy([form[tuple(pair)], level]) for pair, level in zip(screened.places, screened.levels.pvalue, strict=True)]
    np.testing.assert_allclose(screened.pvalue, expected, rtol=1e-12)
    np.testing.assert_allclose(screened.joint.pvalue, alone.joint.pvalue, rtol=1e-12)  # of form


@pytest.mark.parametrize("options", [{}, {"iid": True}], ids=["chains", "independent"])
def test_size(options):
    """Six samples of 300 pairs of unrelated variables at 5%: inside the exact binomial 99.9% band."""
    rng, rejected = np.random.default_rng(3), {"level": 0, "pair": 0}
    for _ in range(6):
        phi = 0.0 if options else 0.5
        result = cd.screen(*(autoregressive(rng, 4, 250, phi, np.eye(25)) for _ in range(2)), level=True, **options)
        rejected["level"] += int(np.sum(result.levels.pvalue < 0.05))
        rejected["pair"] += int(np.sum(result.pvalue < 0.05))
    low, high = binom.ppf([0.0005, 0.9995], 1800, 0.05)
    for count in rejected.values():
        assert low <= count <= high


def test_size_of_dependent_pairs():
    """Of equally correlated variables, pairs of which share what they are estimated from: 12 samples of 15 pairs."""
    rng, rejected = np.random.default_rng(4), []
    for _ in range(12):
        chains = (autoregressive(rng, 4, 250, 0.5, exchangeable(0.6, 6)) for _ in range(2))
        rejected.append(np.mean(cd.screen(*chains, level=True).levels.pvalue < 0.05))
    # 12 independent shares with a standard deviation below 0.1: 5% plus or minus three standard errors
    assert np.mean(rejected) < 0.14


def test_chains_taken_for_independent_raise_false_alarms():
    """Batches of ten draws take in some of the autocorrelation, but not that of a hundred draws."""
    rng = np.random.default_rng(5)
    chains = [autoregressive(rng, 4, 250, 0.97, np.eye(25)) for _ in range(2)]
    assert np.mean(cd.screen(*chains, level=True, iid=True).levels.pvalue < 0.05) > 0.25


def test_power(screened):
    """A correlation of 0.3 instead of 0.5, some four standard errors in every pair."""
    assert np.mean(screened.levels.pvalue < 0.01) >= 0.8
    assert screened.outcome == "gap"
    assert (screened.levels.own < screened.levels.other).all()


def test_perfect_dependence_has_no_error():
    rng = np.random.default_rng(6)
    x, y, z = rng.standard_normal((3, 200))
    same = cd.screen(np.stack([x, 2.0 * x, y], 1), np.stack([y, y**3, z], 1), level=True, iid=True)
    at = [tuple(pair) for pair in same.places].index((0, 1))
    assert (same.levels.own[at], same.levels.other[at]) == (1.0, 1.0)
    assert same.levels.pvalue[at] > 0.99
    opposite = cd.screen(np.stack([x, 2.0 * x, y], 1), np.stack([y, -y, z], 1), level=True, iid=True)
    at = [tuple(pair) for pair in opposite.places].index((0, 1))
    assert (opposite.levels.own[at], opposite.levels.other[at]) == (1.0, -1.0)
    assert opposite.levels.pvalue[at] < 1e-10


def test_threads_change_nothing(samples, screened):
    alone = cd.screen(*samples, level=True, n_jobs=1)
    for name in ("own", "other", "se", "pvalue"):
        np.testing.assert_array_equal(getattr(alone.levels, name), getattr(screened.levels, name))


def test_words_and_numbers(screened):
    table = screened.to_dataframe()
    assert table.columns.tolist()[-4:] == ["tau", "tau_target", "tau_se", "tau_pvalue"]
    np.testing.assert_array_equal(table["tau_pvalue"], screened.levels.pvalue)
    plain = json.loads(json.dumps(screened.to_dict()))
    assert plain["pairs"][0]["tau"] == screened.levels.own[0]
    assert "level" in screened.sentences()["Answer"]
    assert f"{screened.levels.own[0]:.2f} instead of {screened.levels.other[0]:.2f}" in screened.sentences()["Worst"]
    heading, first = screened.table_rows(1)
    assert heading[1:3] == ["tau", "reference"]
    assert first[1:3] == [f"{screened.levels.own[0]:.3f}", f"{screened.levels.other[0]:.3f}"]
    without = cd.screen(*screened.samples)
    assert "level" not in without.sentences()["Answer"]
    assert without.table_rows(1)[0][1] == "distance"


def test_variables_left_out_have_no_taus():
    rng = np.random.default_rng(7)
    draws, reference = (gaussian(rng, 300, CORRELATIONS) for _ in range(2))
    draws[:, 1] = draws[:, 1] > 0.0
    with warned("variables-left-out"):
        result = cd.screen(draws, reference, level=True, iid=True)
    assert result.names == ("x0", "x2", "x3")
    assert result.levels.own.shape == (3,)


def test_level_is_true_or_false():
    draws, reference = np.random.default_rng(8).standard_normal((2, 50, 3))
    with refused() as caught:
        cd.screen(draws, reference, level="yes")
    assert str(caught.value).startswith("level")
