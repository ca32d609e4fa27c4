"""What dependence does to a function of the variables, as users see it."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

import copula_discrepancy as cd
from tests.caveat_codes import codes_of, warned
from tests.compare.misuse import CONSEQUENCES, refused_naming
from tests.refusals import refused


def normal(rho, n, seed, scale=1.0, shift=0.0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    b = rho * a + np.sqrt(1 - rho**2) * rng.standard_normal(n)
    return pd.DataFrame({"a": scale * a + shift, "b": scale * b})


DRAWS, REFERENCE = normal(0.0, 2000, 1), normal(0.8, 2000, 2)


@pytest.fixture(scope="module")
def lost():
    """Independent draws of a reference with correlation 0.8: the difference is twice as wide as it should be."""
    return cd.consequence(DRAWS, REFERENCE, "a - b > 1", iid=True)


class TestNumbers:
    def test_only_dependence_differs(self, lost):
        wide, narrow = norm.sf(1 / np.sqrt(2)), norm.sf(1 / np.sqrt(0.4))
        for number, expected in ((lost.draws, wide), (lost.repaired, narrow), (lost.swapped, wide), (lost.reference, narrow)):
            assert abs(number.value - expected) < 4 * number.se
        assert lost.dependence.pvalue < 1e-6
        assert lost.margins.pvalue > 0.01
        assert lost.outcome == "gap"
        assert lost.dependence.value + lost.margins.value == pytest.approx(lost.difference.value, rel=1e-13)

    def test_and_margins_alone(self):
        result = cd.consequence(normal(0.5, 2000, 3, shift=0.5), normal(0.5, 2000, 4), "a > b", iid=True)
        assert result.dependence.pvalue > 0.01
        assert result.margins.pvalue < 1e-6
        assert result.outcome == "no gap"
        assert abs(result.margins.value - (norm.cdf(0.5) - 0.5)) < 4 * result.margins.se

    def test_a_repaired_sample_has_the_repaired_value(self):
        """Rows of equal number: the combination is a reordering of the draws, computed here with ranks alone."""
        draws, reference = normal(0.0, 400, 5), normal(0.9, 400, 6)
        result = cd.consequence(draws, reference, "a * b", iid=True, n_resamples=50)
        ranks = reference.rank().astype(int).to_numpy() - 1
        columns = [np.sort(draws[name])[ranks[:, k]] for k, name in enumerate("ab")]
        assert result.repaired.value == pytest.approx(np.mean(columns[0] * columns[1]), rel=1e-12)
        np.testing.assert_allclose(result.values[1], columns[0] * columns[1], rtol=1e-12)

    @pytest.mark.parametrize(
        "function",
        ["0.6*a + 0.4*b", {"a": 0.6, "b": 0.4}, [0.6, 0.4], lambda a, b: 0.6 * a + 0.4 * b, lambda rows: rows @ [0.6, 0.4]],
    )
    def test_one_function_in_several_forms(self, function):
        result = cd.consequence(DRAWS, REFERENCE, function, q=0.01, iid=True, n_resamples=50)
        expected = cd.consequence(DRAWS, REFERENCE, "0.6*a + 0.4*b", q=0.01, iid=True, n_resamples=50)
        assert result.dependence.value == pytest.approx(expected.dependence.value, rel=1e-9)
        assert result.dependence.se == pytest.approx(expected.dependence.se, rel=1e-9)

    def test_several_summaries(self):
        result = cd.consequence(
            DRAWS, REFERENCE, "a + b", summary=["sd", "quantile", "shortfall"], q=[0.01, 0.99], iid=True, n_resamples=100
        )
        assert [effect.label for effect in result.effects[:3]] == ["standard deviation", "1% quantile", "99% quantile"]
        assert len(result.effects) == 5
        assert all(effect.flagged for effect in result.effects)
        assert result.dependence is result.effects[0].dependence
        low, high = result.effects[3:]
        assert low.draws.value < result.effects[1].draws.value < 0 < result.effects[2].draws.value < high.draws.value

    def test_seeds(self):
        one, two, other = (
            cd.consequence(DRAWS, REFERENCE, "a - b > 1", iid=True, n_resamples=60, rng=seed).dependence for seed in (1, 1, 2)
        )
        assert one == two
        assert one.value == other.value
        assert one.se != other.se

    def test_other_lengths_chains_and_containers(self):
        chains = DRAWS.to_numpy().reshape(4, 500, 2)
        large = normal(0.8, 5000, 7)
        result = cd.consequence({"a": chains[..., 0], "b": chains[..., 1]}, large, "a - b > 1", iid="reference")
        assert result.things == "draws"
        assert result.blocks[0] > 1 == result.blocks[1]
        assert result.outcome == "gap"
        assert [len(values) for values in result.values] == [2000, 5000, 2000, 5000]

    def test_a_reference_of_another_length_gives_the_same_numbers(self):
        large, small = normal(0.8, 6000, 7), normal(0.8, 900, 8)
        for reference in (large, small):
            result = cd.consequence(DRAWS, reference, "a - b > 1", iid=True)
            assert abs(result.repaired.value - norm.sf(1 / np.sqrt(0.4))) < 4 * result.repaired.se

    def test_a_banana_has_a_price_that_no_correlation_shows(self):
        """b = a^2 + noise has no correlation with a, but a sum with it is rarely low."""
        rng = np.random.default_rng(8)
        a = rng.standard_normal((2, 4000))
        b = a**2 + 0.3 * rng.standard_normal((2, 4000))
        draws, reference = np.column_stack([a[0], rng.permutation(b[0])]), np.column_stack([a[1], b[1]])
        assert abs(np.corrcoef(reference.T)[0, 1]) < 0.1
        result = cd.consequence(draws, reference, "x0 + x1", q=0.01, iid=True)
        assert result.outcome == "gap"
        assert abs(result.repaired.value - np.quantile(reference.sum(axis=1), 0.01)) < 4 * result.repaired.se


class TestCoverage:
    """Seeded: 150 runs, whose coverage is inside the exact binomial band of 99.9% around 95%."""

    RUNS = 150

    def share(self, function, q, rho, seed, phi=0.0):
        shape = (1, 400) if not phi else (4, 500)
        truths = {"a * b": lambda r: r, "a + b": lambda r: norm.ppf(0.05) * np.sqrt(2 + 2 * r)}
        truth = truths[function](rho[0]) - truths[function](rho[1])
        covered = flagged = 0
        for run in range(self.RUNS):
            rng = np.random.default_rng([seed, run])
            samples = []
            for r in rho:
                z = rng.standard_normal((2, *shape))
                for t in range(1, shape[1]) if phi else ():
                    z[..., t] = phi * z[..., t - 1] + np.sqrt(1 - phi**2) * z[..., t]
                samples.append({"a": z[0], "b": r * z[0] + np.sqrt(1 - r**2) * z[1]})
            result = cd.consequence(*samples, function, q=q, iid=not phi, n_resamples=100, rng=rng, n_jobs=1, progress=False)
            covered += result.dependence.ci[0] <= truth <= result.dependence.ci[1]
            flagged += result.outcome == "gap"
        return covered, flagged

    @pytest.mark.slow
    @pytest.mark.parametrize(("function", "q", "phi"), [("a * b", None, 0.0), ("a + b", 0.05, 0.0), ("a * b", None, 0.7)])
    @pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
    def test_intervals_cover_and_find(self, function, q, phi):
        covered, flagged = self.share(function, q, (0.2, 0.7), 31, phi)
        low, high = binom.ppf([0.0005, 0.9995], self.RUNS, 0.95)
        assert low <= covered <= high
        assert flagged >= 0.7 * self.RUNS  # the power case: half of the correlation is missing

    @pytest.mark.slow
    @pytest.mark.parametrize("sizes", [(240, 300), (300, 240), (100, 700)])
    def test_dependence_plays_no_part_in_means_of_sums(self, sizes):
        """Whatever the two lengths; a bias of margins that is the same in every resample would be flagged in all runs."""
        flagged = 0
        for run in range(60):
            x, y = (np.random.default_rng([run, n]).standard_normal((n, 2)) for n in sizes)
            result = cd.consequence(x, y, "x0 + x1", iid=True, n_resamples=60, rng=run, n_jobs=1)
            flagged += result.outcome == "gap"
            assert (result.dependence.value, result.dependence.se) == (0.0, 0.0)
            assert "dependence plays no part in it" in result.sentences()["Answer"]
            nearly = cd.consequence(x, y, "x0 + x1 + 1e-6 * x0 * x1", iid=True, n_resamples=60, rng=run, n_jobs=1)
            flagged += nearly.outcome == "gap"
        assert flagged <= binom.ppf(0.9995, 60, 0.05)


def tied_by_a_sum(n, rng, noise):
    """Three variables whose sum varies a tenth as much as they do."""
    z = rng.standard_normal((n, 3))
    z[:, 2] = -z[:, 0] - z[:, 1] + noise * rng.standard_normal(n)
    return z


def switching(rng, stay=0.97):
    """Independent margins whose correlation changes its sign every 30 draws or so."""
    chains = []
    for _ in range(4):
        sign = np.where(np.cumsum(rng.random(500) > stay) % 2 == 0, 1.0, -1.0) * rng.choice([-1.0, 1.0])
        x = rng.standard_normal(500)
        chains.append(np.column_stack([x, 0.8 * sign * x + 0.6 * rng.standard_normal(500)]))
    return np.stack(chains)


def fractions(rng, n):
    first = rng.beta(2.0, 3.0, n)
    return np.column_stack([first, 1.0 - first])


# Two samples of one distribution that ranks resolve badly: how they are drawn, a function, its summary, and whether independent
HARD = {
    "a sum that hardly varies": (lambda rng: [tied_by_a_sum(500, rng, 0.1) for _ in "ab"], "x0 + x1 + x2", "sd", True),
    "a constant sum": (lambda rng: rng.dirichlet([2.0, 3.0, 4.0], (2, 500)), "x0 + x1 + x2 > 1.005", None, True),
    "a variable and what it lacks to 1": (lambda rng: [fractions(rng, n) for n in (300, 420)], "x0 + x1", "sd", True),
    "ties": (lambda rng: [np.round(normal(0.9, 500, rng)).to_numpy() for _ in "ab"], "x0 == x1", None, True),
    "strong dependence, other lengths": (
        lambda rng: [normal(0.998, n, rng).to_numpy() for n in (150, 600)],
        "x0 + x1",
        "sd",
        True,
    ),
    "far from zero": (lambda rng: [normal(0.5, 500, rng).to_numpy() + 6500.0 for _ in "ab"], "x0 * x1", None, True),
    "a dependence that changes slowly": (lambda rng: [switching(rng) for _ in "ab"], "x0 * x1", None, False),
}


class TestHardCases:
    @pytest.mark.slow
    @pytest.mark.parametrize("case", HARD)
    @pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
    def test_equal_samples_are_not_flagged(self, case):
        """Seeded: 60 runs, the exact binomial 99.9% limit above 5%; each was flagged in most runs when it was overlooked."""
        draw, function, summary, iid = HARD[case]
        flagged = 0
        for run in range(60):
            samples = draw(np.random.default_rng([17, run]))
            result = cd.consequence(*samples, function, summary=summary, iid=iid, n_resamples=60, n_jobs=1, rng=run)
            flagged += result.outcome == "gap"
        assert flagged <= binom.ppf(0.9995, 60, 0.05)

    def test_and_different_ones_are(self):
        """The power case: what protects from false alarms does not hide a lost constraint, nor an effect far from zero."""
        rng = np.random.default_rng(1)
        loose = rng.standard_normal((500, 3)) * [1.0, 1.0, np.sqrt(2.0)]
        assert cd.consequence(loose, tied_by_a_sum(500, rng, 0.1), "x0 + x1 + x2", summary="sd", iid=True).outcome == "gap"
        far = cd.consequence(DRAWS + 1e5, REFERENCE + 1e5, "a * b", iid=True)
        near = cd.consequence(DRAWS, REFERENCE, "a * b", iid=True)
        assert far.dependence.value == pytest.approx(near.dependence.value, rel=1e-4)
        assert far.dependence.se == pytest.approx(near.dependence.se, rel=0.2)
        assert far.outcome == "gap"

    def test_ties_of_other_frequencies_are_told(self):
        rng = np.random.default_rng(2)
        draws, reference = normal(0.5, 800, 3), normal(0.5, 800, 4)
        with warned("tied-values"):
            cd.consequence(draws, reference.round(), "a > b + 0.5", iid=True, n_resamples=50)
        assert "tied-values" not in codes_of(
            cd.consequence(draws.round(), reference.round(), "a > b", iid=True, n_resamples=50)
        )
        counts = rng.poisson(3.0, (2, 500, 2))
        with warned("tied-values"):
            cd.worst_consequences(counts[0], counts[1] + (rng.random((500, 2)) < 0.8), iid=True, n_resamples=50)

    def test_a_few_rows_that_decide_are_told(self):
        rng = np.random.default_rng(3)
        heavy = np.exp(1.5 * rng.standard_normal((2, 400, 2)))
        with warned("few-events"):
            cd.consequence(*heavy, "x0 * x1", iid=True, n_resamples=50)

    def test_what_cannot_be_tested_is_not_called_right(self):
        rng = np.random.default_rng(6)
        draws, reference = rng.integers(0, 4, (2, 400, 2))
        result = cd.consequence(draws, reference, "min(x0 + x1, 3)", q=0.5, iid=True, n_resamples=50)
        assert result.outcome == result.verdict == "not tested"
        assert "cannot be tested" in result.sentences()["Tested"]
        assert "error not known" in repr(result)


class TestInput:
    def test_other_columns_do_not_matter(self):
        draws = DRAWS.assign(city="x", c=1.0)
        reference = REFERENCE.assign(day=pd.Timestamp("2020-01-01"))[["b", "day", "a"]]
        for function in ("a - b > 1", {"a": 1.0, "b": -1.0}, lambda b, a: a - b > 1):
            result = cd.consequence(draws, reference, function, iid=True, n_resamples=50)
            expected = cd.consequence(DRAWS, REFERENCE, function, iid=True, n_resamples=50)
            assert result.dependence == expected.dependence

    def test_a_column_that_looks_like_row_numbers_can_be_named(self):
        draws, reference = DRAWS.assign(place=np.arange(2000)), REFERENCE.assign(place=np.arange(2000))
        result = cd.consequence(draws, reference, "place > 1000 * b", iid=True, n_resamples=50)
        assert result.names == ("place", "b")
        with refused("unknown-name"):
            cd.consequence(draws, reference, "place > 1000 * c", iid=True)

    def test_names_of_any_kind_in_a_table_with_text(self):
        names = {"a": "EUR/USD", "b": "Bund 10Y (%)"}
        draws, reference = DRAWS.rename(columns=names).assign(regime="calm"), REFERENCE.rename(columns=names).assign(regime="x")
        for function in ("EUR/USD - Bund 10Y (%) > 1", "`EUR/USD` - `Bund 10Y (%)` > 1"):
            result = cd.consequence(draws, reference, function, iid=True, n_resamples=50)
            assert result.names == ("EUR/USD", "Bund 10Y (%)")
        with refused("unknown-name") as caught:
            cd.consequence(draws, reference, "sin(EUR/USD) > Bund 10Y (%)")
        assert "position 1: there is no function 'sin'" in str(caught.value)
        with refused("not-numeric") as caught:
            cd.consequence(draws, reference, "EUR/USD > regime")
        assert "variable regime" in str(caught.value)

    def test_weights_with_labels_are_matched_by_name(self):
        weights = pd.Series({"b": 2.0, "a": 1.0})
        labelled = cd.consequence(DRAWS, REFERENCE, weights, summary="sd", iid=True, n_resamples=50)
        named = cd.consequence(DRAWS, REFERENCE, "a + 2*b", summary="sd", iid=True, n_resamples=50)
        assert labelled.draws.value == pytest.approx(named.draws.value, rel=1e-12)
        plain = cd.consequence(DRAWS, REFERENCE, pd.Series([1.0, 2.0]), summary="sd", iid=True, n_resamples=50)
        assert plain.draws.value == pytest.approx(named.draws.value, rel=1e-12)

    def test_rows_with_missing_values_are_left_out_and_counted(self):
        draws = DRAWS.copy()
        draws.loc[:99, "a"] = np.nan
        draws["c"] = np.nan  # not used
        draws.loc[0, "c"] = 1.0
        result = cd.consequence(draws, REFERENCE, "a - b > 1", iid=True, n_resamples=50)
        assert len(result.values[0]) == 1900
        assert any("100 of 2000" in note for note in result.notes)
        with refused("nan"):
            cd.consequence(draws, REFERENCE, "a - b > 1", iid=True, missing="raise")
        with refused("nan"):
            cd.consequence(DRAWS, draws.assign(c=1.0), "a - b > 1", iid=True, missing="raise")

    def test_by_position_without_names(self):
        result = cd.consequence(DRAWS.to_numpy(), REFERENCE, "a - b > 1", iid=True, n_resamples=50)
        assert any("by position" in note for note in result.notes)

    def test_ties_are_told(self):
        rng = np.random.default_rng(9)
        draws, reference = rng.poisson(3.0, (2, 500, 2))
        reference[:, 1] += reference[:, 0]
        with warned("tied-values"):
            result = cd.consequence(draws, reference, "x0 + x1 > 8", iid=True, n_resamples=100)
        assert any("ties in x0, x1" in note for note in result.notes)
        assert result.outcome == "gap"

    @pytest.mark.parametrize(
        ("draws", "reference", "function", "choices", "code"),
        [
            (DRAWS, REFERENCE, "a - c", {}, "unknown-name"),
            (DRAWS, REFERENCE.rename(columns={"b": "B"}), "a - b", {}, "unknown-name"),
            (DRAWS, REFERENCE, "a -", {}, "expression"),
            (DRAWS, REFERENCE, "__import__('os')", {}, "unknown-name"),
            (DRAWS, REFERENCE, "a.real", {}, "unknown-name"),
            (DRAWS, REFERENCE, "log(a - b)", {}, "nan"),
            (DRAWS, REFERENCE, lambda a, b: np.full(a.size, np.nan), {}, "nan"),
            (DRAWS, REFERENCE, lambda a, b: a[1:], {}, "shape"),
            (DRAWS, REFERENCE, "a > 0", {}, "one-variable"),
            (DRAWS.assign(b=1.0), REFERENCE, "a - b", {}, "constant"),
            (DRAWS, REFERENCE.assign(b=1.0), "a - b", {}, "constant"),
            (DRAWS, cd.Gumbel(2.0), "a - b", {}, "no-target"),
            (DRAWS, None, "a - b", {}, "no-target"),
            (DRAWS, "gumbel", "a - b", {}, "no-target"),
            (DRAWS, REFERENCE[:10], "a - b", {}, "too-few-draws"),
            (DRAWS[:19], REFERENCE, "a - b", {}, "too-few-draws"),
            (DRAWS.assign(a=2**60 + np.random.default_rng(1).permutation(2000)), REFERENCE, "a - b", {}, "argument"),
            (DRAWS.assign(a="x"), REFERENCE, "a - b", {}, "not-numeric"),
            (DRAWS.assign(c="x"), REFERENCE, lambda rows: rows[:, 0], {}, "not-numeric"),
            (DRAWS, REFERENCE, "a - b", {"n_resamples": 49}, "argument"),
            (DRAWS, REFERENCE, "a - b", {"n_resamples": 2.5}, "argument"),
            (DRAWS, REFERENCE, "a - b", {"split": "both"}, "argument"),
            (DRAWS, REFERENCE, "a - b", {"summary": "median"}, "argument"),
            (DRAWS, REFERENCE, "a - b", {"q": 1.5}, "argument"),
            (DRAWS, REFERENCE, "a - b", {"confidence": 1.0}, "argument"),
            (DRAWS, REFERENCE, "a - b", {"iid": "both"}, "argument"),
            (DRAWS, REFERENCE, "a - b", {"rng": -1}, "argument"),
            (DRAWS, REFERENCE, "a - b", {"n_jobs": 0}, "argument"),
        ],
    )
    def test_one_clear_error(self, draws, reference, function, choices, code):
        with np.errstate(all="ignore"), refused(code):
            cd.consequence(draws, reference, function, **choices)

    @pytest.mark.parametrize("case", CONSEQUENCES)
    def test_errors_name_what_is_wrong(self, case):
        call, code, names = CONSEQUENCES[case]
        with np.errstate(all="ignore"), refused_naming(code, *names):
            call()

    def test_errors_name_the_sample(self):
        with refused("constant") as caught:
            cd.consequence(DRAWS, REFERENCE.assign(b=1.0), "a - b")
        assert str(caught.value).startswith("reference: variable b is constant")
        # only the combination has such rows: a exceeds b in every row of both samples
        draws = pd.DataFrame({"a": DRAWS.a, "b": DRAWS.a - np.exp(DRAWS.b) - 1e-6})
        with refused("nan") as caught:
            cd.consequence(draws, REFERENCE.assign(a=lambda t: t.b + np.exp(t.a)), "log(a - b)", iid=True)
        assert "rows of the draws' margins with the reference's dependence" in str(caught.value)


class TestCaveats:
    def test_a_sample_against_itself_is_void(self):
        with warned("same-rows"):
            result = cd.consequence(DRAWS, DRAWS[::-1], "a - b > 1", iid=True, n_resamples=50)
        assert result.outcome == "void"
        assert "no test is valid" in result.sentences()["Answer"]

    def test_few_events(self):
        with warned("few-events"):
            result = cd.consequence(DRAWS[:300], REFERENCE, "a + b", q=0.01, iid=True, n_resamples=50)
        assert "few-events" in codes_of(result)

    def test_slow_chains_that_disagree(self):
        walks = np.cumsum(np.random.default_rng(1).standard_normal((4, 300, 2)), axis=1)
        with warned("few-effective-draws", "chains-disagree"):
            result = cd.consequence(walks, REFERENCE.to_numpy(), "x0 > x1", iid="reference", n_resamples=50)
        assert result.dependence.df < 30

    def test_a_slow_variable_that_hardly_matters_does_not_widen_intervals(self):
        """Blocks are made for the function, not for the slowest of its variables."""
        rng = np.random.default_rng(11)
        slow = np.cumsum(rng.standard_normal(2000))
        draws, reference = DRAWS.assign(c=slow), REFERENCE.assign(c=rng.permutation(slow))
        fast = cd.consequence(draws, reference, "a - b + 0.0001 * c > 1", iid="reference", n_resamples=100)
        assert fast.blocks[0] < 10
        with warned("few-effective-draws"):
            blocked = cd.consequence(draws, reference, "a - b + c > 1", iid="reference", n_resamples=100)
        assert blocked.blocks[0] == 2000 // 12

    def test_no_effect_says_what_was_tested(self):
        result = cd.consequence(normal(0.5, 1000, 3), normal(0.5, 1000, 4), "a > b", iid=True, n_resamples=50)
        assert result.outcome == "no gap"
        assert "this function only" in result.sentences()["Tested"]
        assert "Tested" not in cd.consequence(DRAWS, REFERENCE, "a - b > 1", iid=True, n_resamples=50).sentences()


class TestShown:
    def test_the_two_numbers_come_first(self, lost):
        said = lost.sentences()["Answer"]
        assert said.index(f"{lost.draws.value:.3f}") < said.index(f"{lost.repaired.value:.3f}")
        assert repr(lost).startswith("Dependence changes the result\na - b > 1: 2,000 rows against 2,000 of a reference\n")
        assert "due to dependence" in repr(lost)
        assert "due to dependence" in lost._repr_html_()

    def test_how_much_larger(self):
        result = cd.consequence(DRAWS, REFERENCE, "0.5*a + 0.5*b", q=0.01, iid=True, n_resamples=100)
        share = result.repaired.value / result.draws.value - 1
        assert f"{share:.0%} larger in absolute value" in result.sentences()["Answer"]

    def test_json_and_frame(self, lost):
        plain = json.loads(json.dumps(lost.to_dict()))
        assert plain["effects"][0]["dependence"]["value"] == lost.dependence.value
        assert plain["words"]["Answer"] == lost.sentences()["Answer"]
        frame = lost.to_dataframe().set_index("number")
        assert frame.loc["repaired", "value"] == lost.repaired.value
        assert frame.loc["dependence", "ci_low"] == lost.dependence.ci[0]
        assert math.isnan(frame.loc["draws", "pvalue"])
        assert len(frame) == 7

    def test_plots(self, lost):
        import matplotlib.pyplot as plt

        ax = lost.plot()
        assert ax.get_xlabel().startswith("probability")
        assert len(ax.get_yticklabels()) == 4
        quantity = cd.consequence(DRAWS, REFERENCE, "a + b", q=0.01, iid=True, n_resamples=50)
        other = quantity.plot()
        assert [text.get_text() for text in other.get_legend().get_texts()][-1] == "rows"
        assert len(other.patches) == 3
        figure, mine = plt.subplots()
        assert quantity.plot(ax=mine) is mine
        with refused("argument"):
            quantity.plot(ax=figure)
        plt.close("all")
