"""Summaries, and the four combinations of margins and dependence."""

import numpy as np
import pytest
from scipy.stats import norm

from copula_discrepancy.estimate.coupling import SortedSample
from copula_discrepancy.estimate.decomposition import SPLITS, combine, contradiction, estimates, few_events
from copula_discrepancy.estimate.resampling import BlockResampling
from copula_discrepancy.estimate.summaries import Summary, checked_summaries
from tests.refusals import refused

MEAN = Summary("mean")


def gaussian(rho, n, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n))
    return scale * np.stack([a, rho * a + np.sqrt(1 - rho**2) * b])


def run(x, y, function, summaries, *, n_resamples=100, n_jobs=1, seed=1, iid=True, n_chains=1, additive=False):
    rng = np.random.default_rng(seed)
    own, other = SortedSample.of(x, rng), SortedSample.of(y, rng)
    blocks = tuple(BlockResampling.of(columns, n_chains, iid=iid) for columns in (x, y))
    done = []
    found, used = combine(
        own, other, lambda columns, where: function(*columns), summaries, lambda values: blocks, n_resamples=n_resamples,
        additive=additive, rng=rng, n_jobs=n_jobs, tick=done.append,
    )  # fmt: skip
    assert used is blocks
    assert sum(done) == n_resamples
    return found, blocks


def parts(found, blocks, summary=MEAN, split="dependence"):
    return estimates(found.points[0], found.replicates[:, 0], summary, blocks, split=split, confidence=0.95)


class TestSummaries:
    def test_shortfalls_are_means_of_tails(self):
        values = np.random.default_rng(1).permutation(1000).astype(float)
        assert Summary("shortfall", 0.05)(values) == np.arange(50).mean()
        assert Summary("shortfall", 0.95)(values) == pytest.approx(np.arange(950, 1000).mean(), rel=1e-12)
        # of 15 rows, a tenth is one row and half of the next
        assert Summary("shortfall", 0.1)(np.arange(15.0)) == pytest.approx((0.0 + 0.5 * 1.0) / 1.5)
        assert Summary("shortfall", 0.001)(np.arange(15.0)) == 0.0

    def test_the_others_are_numpy_s(self):
        values = np.random.default_rng(2).standard_normal(101)
        assert Summary("mean")(values) == values.mean()
        assert Summary("sd")(values) == values.std()
        assert Summary("quantile", 0.25)(values) == np.quantile(values, 0.25)
        assert Summary("probability")(values > 0) == np.mean(values > 0)

    def test_what_is_asked_for(self):
        assert checked_summaries(None, None, True) == (Summary("probability"),)
        assert checked_summaries(None, None, False) == (Summary("mean"),)
        found = checked_summaries(["sd", "quantile"], [0.1, 0.9], False)
        assert [(each.kind, each.q) for each in found[1:]] == [("quantile", 0.1), ("quantile", 0.9)]
        assert found[0].kind == "sd"
        assert checked_summaries("mean", None, True)[0].kind == "probability"
        assert [each.label for each in found] == ["standard deviation", "10% quantile", "90% quantile"]
        assert Summary("shortfall", 0.99).label == "expected shortfall (mean of the highest 1%)"

    @pytest.mark.parametrize(
        ("summary", "q", "condition"),
        [
            ("median", None, False),
            ("quantile", None, False),
            ("mean", 0.1, False),
            ("quantile", 1.0, False),
            ("quantile", float("nan"), False),
            ("quantile", "0.1", False),
            ("sd", None, True),
            ("quantile", 0.1, True),
            ("probability", None, False),
            ([], None, False),
            (3, None, False),
            (["mean", None], None, False),
        ],
    )
    def test_what_does_not_suit_is_refused(self, summary, q, condition):
        with refused("argument"):
            checked_summaries(summary, q, condition)


class TestFourCombinations:
    def test_values_have_closed_forms(self):
        """Sum of two normals: its spread depends on margins and correlation, and each can be exchanged alone."""
        x, y = gaussian(0.2, 40_000, 1), gaussian(0.7, 40_000, 2, scale=1.5)
        found, blocks = run(x, y, np.add, (Summary("sd"), Summary("quantile", 0.01)))
        expected = [np.sqrt(2 + 2 * rho) * scale for scale, rho in ((1.0, 0.2), (1.0, 0.7), (1.5, 0.2), (1.5, 0.7))]
        # the standard error of a standard deviation is 0.35%, of a 1% quantile 0.7% of it
        np.testing.assert_allclose(found.points[0], expected, rtol=0.02)
        np.testing.assert_allclose(found.points[1], norm.ppf(0.01) * np.array(expected), rtol=0.035)
        numbers = parts(found, blocks, Summary("sd"))
        assert abs(numbers["dependence"].value - (expected[0] - expected[1])) < 4 * numbers["dependence"].se

    @pytest.mark.slow
    def test_standard_errors_are_those_of_repeated_samples(self):
        """The mean of a product, n = 400: the standard error of resamples against the spread over 300 samples."""
        values, errors = [], []
        for seed in range(300):
            x, y = gaussian(0.2, 400, [seed, 1]), gaussian(0.7, 400, [seed, 2])
            number = parts(*run(x, y, np.multiply, (MEAN,), n_resamples=60, seed=seed))["dependence"]
            values.append(number.value)
            errors.append(number.se)
        assert np.mean(values) == pytest.approx(-0.5, abs=4 * np.std(values) / np.sqrt(300))
        # the spread of 300 samples is known to 4%, and 60 resamples add little to that
        assert np.mean(errors) / np.std(values) == pytest.approx(1.0, abs=0.14)

    @pytest.mark.parametrize("split", SPLITS)
    def test_the_parts_add_up(self, split):
        found, blocks = run(gaussian(0.1, 300, 1), gaussian(0.8, 200, 2, 2.0), np.maximum, (MEAN,))
        numbers = parts(found, blocks, split=split)
        total = numbers["dependence"].value + numbers["margins"].value
        assert total == pytest.approx(numbers["difference"].value, rel=1e-14)
        own, repaired, swapped, other = found.points[0]
        expected = {"dependence": own - repaired, "margins": swapped - other}
        expected["average"] = 0.5 * (expected["dependence"] + expected["margins"])
        assert numbers["dependence"].value == pytest.approx(expected[split], rel=1e-12)

    def test_dependence_plays_no_part_in_the_mean_of_a_sum(self):
        x, y = gaussian(0.1, 250, 1), gaussian(0.8, 250, 2, 2.0)
        number = parts(*run(x, y, np.add, (MEAN,), additive=True))["dependence"]
        assert (number.value, number.se, number.pvalue, number.ci) == (0.0, 0.0, 1.0, (0.0, 0.0))

    def test_nor_do_threads(self):
        x, y = gaussian(0.1, 250, 1), gaussian(0.8, 300, 2)
        one, two = (run(x, y, np.multiply, (MEAN,), n_jobs=jobs)[0] for jobs in (1, 2))
        np.testing.assert_array_equal(one.replicates, two.replicates)

    def test_an_event_that_was_never_seen_is_not_impossible(self):
        probability = Summary("probability")
        x, y = gaussian(0.0, 500, 1), gaussian(0.0, 500, 2)
        found, blocks = run(x, y, lambda a, b: (np.minimum(a, b) > 9.0).astype(float), (probability,))
        numbers = parts(found, blocks, probability)
        assert numbers["draws"].value == 0.0
        assert numbers["draws"].ci == (0.0, pytest.approx(3 / 500, rel=0.05))  # the rule of three
        assert numbers["dependence"].pvalue == 1.0
        assert numbers["dependence"].ci[1] > 3 / 500
        assert few_events(found.points[0], probability, blocks) == 0.0

    def test_few_events_counts_the_tail(self):
        blocks = (BlockResampling(1, 1000, 2.0, 10), BlockResampling(1, 4000, 1.0, 5))
        assert few_events(np.zeros(4), Summary("quantile", 0.99), blocks) == pytest.approx(5.0)
        assert few_events(np.array([0.5, 0.1, 0.2, 0.999]), Summary("probability"), blocks) == pytest.approx(4.0)
        assert few_events(np.zeros(4), MEAN, blocks) == np.inf

    def test_what_all_resamples_agree_on_is_not_known(self):
        rng = np.random.default_rng(6)
        x, y = rng.integers(0, 4, (2, 2, 400)).astype(float)
        median = Summary("quantile", 0.5)
        found, blocks = run(x, y, lambda a, b: np.minimum(a + b, 3.0), (median,))
        assert np.ptp(found.replicates) == 0.0
        number = parts(found, blocks, median)["dependence"]
        assert np.isnan(number.se)
        assert np.isnan(number.pvalue)

    def test_contradictions_are_of_effects_with_opposite_signs_in_samples_that_agree(self):
        cases = {(0.0, 0.3, 0.3, 0.0): 0.3, (0.0, 0.3, -0.3, 0.0): 0.0, (0.0, 0.3, 0.9, 0.6): 0.0, (1.0, 1.0, 1.0, 1.0): 0.0}
        found = contradiction(np.array([*cases]))
        assert found.tolist() == pytest.approx([*cases.values()])

    def test_chains_have_wider_intervals_than_independent_draws(self):
        rng = np.random.default_rng(3)
        noise = rng.standard_normal((2, 2, 4, 1000))
        for t in range(1, 1000):
            noise[..., t] = 0.9 * noise[..., t - 1] + np.sqrt(0.19) * noise[..., t]
        x, y = noise[0].reshape(2, -1), noise[1].reshape(2, -1)
        free, bound = (
            parts(*run(x, y, np.multiply, (MEAN,), iid=iid, n_chains=4, n_resamples=200))["dependence"] for iid in (True, False)
        )
        # products of AR(1) 0.9 have the autocorrelation time (1 + 0.81)/(1 - 0.81) = 9.5
        assert 2.0 < bound.se / free.se < 4.5
        assert bound.df < 100 < free.df
