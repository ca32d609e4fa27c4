"""Margins beside a verdict about dependence: what they say, where they stand, and that they leave the verdict alone."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare.gate import gate
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.margin_wording import naming_of
from copula_discrepancy.compare.margins import compare_margins
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.matching import matched


def samples(seed=1, n=800, d=3):
    return np.random.default_rng(seed).standard_normal((2, n, d))


def table(rng, n, **columns):
    """A mixed table; a sequence of shares is a column with so many levels."""
    found = {"x": rng.standard_normal(n)}
    for name, shares in columns.items():
        found[name] = rng.choice([f"{name[0]}{k}" for k in range(len(shares))], n, p=shares)
    return pd.DataFrame(found)


def margins_of(draws, reference, **choices):
    """The margins alone."""
    read = (cd.as_draws(sample, missing="pairs") for sample in (draws, reference))
    return compare_margins(matched(*read), **{"iid": (True, True), "confidence": 0.95, **choices})


def compared(draws, reference, **choices):
    return rank_pairs(draws, reference, **{"iid": True, "family": "gaussian", **choices})  # issues no warnings


def test_margins_stand_below_the_answer_and_leave_the_verdict_alone():
    draws, reference = samples()
    plain, moved = compared(draws, reference), compared(np.exp(draws) * 3.0, reference)
    assert plain.outcome == moved.outcome == "no gap"
    assert plain.verdict == moved.verdict
    np.testing.assert_array_equal(plain.rows["level_pvalue"], moved.rows["level_pvalue"])
    assert plain.margins.flagged == ()
    assert set(moved.margins.flagged) == {"x0", "x1", "x2"}
    assert [*moved.sentences()][:4] == ["Answer", "Tested", "Joint", "Margins"]
    for text in (repr(moved), moved._repr_html_(), json.dumps(moved.to_dict()["words"])):
        assert moved.margins.line.split("(")[0] in " ".join(text.split())
    assert moved.to_dict()["margins"]["n_flagged"] == 3
    assert gate(moved).code == "answered"


def test_an_increasing_transform_of_both_samples_changes_no_test():
    draws, reference = samples(2)
    one, other = compared(draws, reference).margins, compared(np.exp(draws), np.exp(reference)).margins
    assert one.names == other.names
    np.testing.assert_array_equal(one.rows["pvalue"], other.rows["pvalue"])


def test_words_and_numbers_of_each_difference():
    rng = np.random.default_rng(3)
    draws, reference = rng.standard_normal((2, 3000, 6))
    draws[:, 0] -= 0.5
    draws[:, 1] *= 0.7
    draws[:, 2] *= 3.0
    for sample, share in ((draws, 0.4), (reference, 0.3)):
        sample[:, 3] = rng.random(3000) < share
        sample[:, 4] = 2.0
    reference[:, 4] = 5.0
    margins = compared(draws, reference).margins
    table = margins.to_dataframe().set_index("variable")
    assert sorted(margins.flagged) == ["x0", "x1", "x2", "x3", "x4"]
    assert table.loc["x0", "shift"] == pytest.approx(-0.5, abs=0.08)
    assert table.loc["x0", "difference"].startswith("shifted down by 0.")
    assert table.loc["x1", "ratio"] == pytest.approx(0.7, abs=0.05)
    assert table.loc["x1", "difference"].startswith("narrower by ")
    assert table.loc["x2", "difference"].startswith("3 times as wide") or table.loc["x2", "difference"].startswith("3.")
    assert table.loc["x3", "difference"].startswith("equal to 1 in ")
    assert table.loc["x3", "order"] == 1
    assert table.loc["x4", "difference"] == "constant at 2 instead of 5"
    assert table.loc["x5", "difference"] == ""
    assert margins.rows["flagged"].tolist() == [True] * 5 + [False]  # worst first
    assert margins.line.startswith("5 of 6 variables differ (")
    assert "and 1 more" in margins.line
    assert json.loads(json.dumps(margins.to_dict()))["variables"][-1]["name"] == "x5"
    assert "x5" in repr(margins)


def test_equal_constants_do_not_differ_and_a_constant_of_one_sample_does():
    draws, reference = samples(4, d=4)
    draws[:, 0] = reference[:, 0] = 1.0
    draws[:, 1] = 7.0
    reference[:, 2] = 3.0
    draws = np.concatenate([draws, samples(9, d=1)[0]], axis=1)
    reference = np.concatenate([reference, samples(9, d=1)[1]], axis=1)
    result = compared(draws, reference)
    table = result.margins.to_dataframe().set_index("variable")
    assert set(result.margins.flagged) == {"x1", "x2"}
    assert (table.loc["x1", "difference"], table.loc["x2", "difference"]) == ("constant at 7", "not constant at 3")
    assert table.loc["x0", "pvalue"] == 1.0


def test_what_could_not_be_tested_is_told():
    draws, reference = samples(5, n=40, d=3)
    frame, other = pd.DataFrame(draws, columns=list("abc")), pd.DataFrame(reference, columns=list("abc"))
    frame.loc[15:, "c"] = np.nan
    margins = compared(frame, other).margins
    assert margins.n_tested == 2
    assert margins.line.startswith("no difference found in 2 of 3 variables")
    assert "1 not tested (c: fewer than 20 effective values)" in margins.line
    assert "with reservations" in margins.line  # 40 rows are few
    few = compared(draws[:15], reference).margins
    assert few.line == "not tested (fewer than 20 effective values)"


def test_missing_values_are_omitted_variable_by_variable():
    draws, reference = samples(6, n=500)
    holes = pd.DataFrame(draws, columns=list("abc"))
    holes.loc[::3, "a"] = np.nan
    result = compared(holes, pd.DataFrame(reference, columns=list("abc")))
    row = result.margins.to_dataframe().set_index("variable").loc["a"]
    kept = cd.as_draws({"a": draws[np.arange(500) % 3 != 0, 0]})
    alone = compare_margins((kept, cd.as_draws({"a": reference[:, 0]})), (True, True), confidence=0.95)
    assert row["n"] == np.sum(np.arange(500) % 3 != 0)
    assert row["pvalue"] == alone.rows["pvalue"][0]


def test_integers_that_became_ranks_are_not_compared():
    orders = [np.random.default_rng(k).permutation(200) for k in range(4)]
    draws, reference = ({"a": 2**60 + orders[k], "b": orders[k + 1]} for k in (0, 2))
    assert cd.as_draws(draws).ranked
    margins = compared(draws, reference).margins
    assert margins.n_tested == 0
    assert margins.line == "not tested (values too large for a float64 were replaced by their ranks)"


def test_copulas_have_no_margins():
    draws = cd.Gaussian(0.5).sample(300, rng=1)
    for target in (cd.Gaussian(0.5), np.array([[1.0, 0.7], [0.7, 1.0]]), None):
        result = cd.pairwise(draws, target, iid=True)
        assert result.margins is None
        assert "Margins" not in result.sentences()
        assert result.to_dict()["margins"] is None
    assert gate(cd.pairwise(draws, cd.Gaussian(0.5), iid=True), margins=True).undecided


def test_the_same_rows_say_nothing():
    draws = samples(7)[0]
    result = compared(draws, draws)
    assert result.void
    assert result.sentences()["Margins"].startswith("not tested")


def test_a_gate_on_margins():
    draws, reference = samples(8)
    fine, off = compared(draws, reference), compared(draws + [0.0, 0.0, 1.0], reference)
    assert gate(off, max_gap=0.3).code == "passed"
    outcome = gate(off, max_gap=0.3, margins=True)
    assert (outcome.code, outcome.failed) == ("margins", True)
    assert "x2" in outcome.sentence
    assert gate(off, margins=True).failed
    assert gate(fine, margins=True).code == "passed"
    assert "margins" in gate(fine, max_gap=0.3, margins=True).sentence
    assert gate(compared(draws[:15], reference), margins=True).code == "untested"


def test_one_pair_has_the_margins_of_a_ranking():
    draws, reference = samples(10, d=2)
    draws[:, 1] += 1.0
    one, many = cd.discrepancy(draws, reference, family="gaussian", iid=True), compared(draws, reference)
    np.testing.assert_array_equal(one.margin_gaps.rows["pvalue"], many.margins.rows["pvalue"])
    assert one.sentences()["Margins"] == many.sentences()["Margins"]
    assert one.to_dict()["margin_gaps"]["n_flagged"] == 1
    assert one.margins == "rank"
    assert cd.discrepancy(draws, cd.Gaussian(0.1), iid=True).margin_gaps is None
    square = cd.Gaussian(0.5).sample(300, rng=1), cd.Gaussian(0.5).sample(300, rng=2)
    assert cd.discrepancy(*square, margins="uniform", iid=True).margin_gaps is None


def test_the_choice_of_adjustment_applies():
    draws, reference = samples(11, d=10)
    none, bonferroni = (compared(draws, reference, adjust=adjust).margins for adjust in ("none", "bonferroni"))
    np.testing.assert_array_equal(none.rows["adjusted"], none.rows["pvalue"])
    np.testing.assert_allclose(bonferroni.rows["adjusted"], np.minimum(10 * bonferroni.rows["pvalue"], 1.0))


def test_honest_halves_are_seldom_flagged():
    rng, flagged = np.random.default_rng(12), 0
    for _ in range(60):
        draws, reference = (cd.as_draws(part) for part in rng.standard_normal((2, 200, 6)))
        flagged += bool(compare_margins((draws, reference), (True, True), confidence=0.95).flagged)
    assert flagged <= 9  # the 99.9% quantile of 60 at 5%


def test_a_missing_shift_is_not_a_number():
    draws, reference = samples(13, n=100, d=2)
    reference[:, 0] = 4.0
    draws, reference = (np.column_stack([part, samples(14, n=100, d=1)[k]]) for k, part in enumerate((draws, reference)))
    margins = compared(draws, reference).margins
    assert math.isnan(margins.to_dataframe().set_index("variable").loc["x0", "shift"])


def test_levels_without_order_are_compared_by_their_shares():
    rng = np.random.default_rng(21)
    draws = table(rng, 1500, species=[0.35, 0.15, 0.5], island=[0.5, 0.5], town=[0.4, 0.4, 0.2], sex=[0.6, 0.4], same=[0.2] * 5)
    reference = table(
        rng, 1200, species=[0.45, 0.2, 0.35], island=[0.45, 0.4, 0.15], town=[0.6, 0.4], sex=[0.5, 0.5], same=[0.2] * 5
    )
    margins = margins_of(draws, reference)
    rows = margins.to_dataframe().set_index("variable")
    assert set(margins.flagged) == {"species", "island", "town", "sex"}
    assert rows.loc["species", "difference"].startswith("s2 in ")
    assert rows.loc["species", "difference"].endswith(" and 2 more levels differ")
    assert rows.loc["island", "difference"].startswith("level i2 is missing: 0% instead of 1")
    assert rows.loc["town", "difference"].startswith("level t2 is new: ")
    assert rows.loc["sex", "difference"].split(" in ")[0] in {"s0", "s1"}
    assert "more" not in rows.loc["sex", "difference"]  # of two levels, one tells all
    nominal = rows.drop("x")
    assert nominal[["shift", "ratio", "component_1", "component_1_score"]].isna().all(axis=None)
    assert nominal["order"].to_dict() == {"species": 3, "island": 3, "town": 3, "sex": 1, "same": 5}
    assert set(nominal["kind"]) == {"nominal"}
    assert rows.loc["x", "kind"] == "numeric"
    levels = dict(zip(margins.names, margins.levels, strict=True))
    assert levels["x"] == ()
    label, share, share_reference, score = levels["island"][2]
    assert (label, share) == ("i2", 0.0)
    assert share_reference == (reference["island"] == "i2").mean()
    assert score < -10
    plain = json.loads(json.dumps(margins.to_dict()))["variables"]
    assert next(each for each in plain if each["name"] == "island")["levels"][2]["level"] == "i2"
    assert "levels without order are compared by their shares" in repr(margins)
    assert "order: variables with few values" not in repr(margins)


def test_the_order_of_the_labels_of_levels_without_order_changes_nothing():
    rng = np.random.default_rng(16)
    draws, reference = table(rng, 400, kind=[0.3, 0.4, 0.3]), table(rng, 400, kind=[0.4, 0.3, 0.3])
    names = {"k0": "z", "k1": "a", "k2": "m"}
    renamed = (part.assign(kind=part["kind"].map(names)) for part in (draws, reference))
    one, other = margins_of(draws, reference), margins_of(*renamed)
    assert one.rows["pvalue"][one.names.index("kind")] == pytest.approx(other.rows["pvalue"][other.names.index("kind")])


def test_rare_levels_are_told_together():
    rng = np.random.default_rng(17)
    draws, reference = table(rng, 500, town=[0.5] + [0.01] * 50), table(rng, 500, town=[0.7] + [0.006] * 50)
    draws.loc[0, "town"] = "other"
    margins = margins_of(draws, reference)
    levels = margins.levels[margins.names.index("town")]
    assert len(levels) <= 12
    assert levels[-1][0] == "other 2"  # another level has the name
    assert sum(level[1] for level in levels) == pytest.approx(1.0)
    assert margins.line.startswith("1 of 2 variables differs (town t0 in ")
    scarce = pd.DataFrame({"x": draws["x"], "code": [f"k{k % 100}" for k in range(500)]})  # 5 rows of each level
    told = margins_of(scarce[:300], scarce[300:])
    assert told.untested[told.names.index("code")] == "too few rows in all levels but one"


def test_labels_and_dates_in_words():
    rng = np.random.default_rng(18)
    n = 1000
    day, size = pd.Timestamp("2020-01-01"), ["S", "M"]
    both = []
    for share, late in ((0.4, 120), (0.3, 0)):
        both.append(
            pd.DataFrame(
                {
                    "smoker": rng.random(n) < share,
                    "size": pd.Categorical(np.array(size)[(rng.random(n) < share).astype(int)], categories=size, ordered=True),
                    "joined": day + pd.to_timedelta(rng.integers(0, 1000, n) + late, unit="D"),
                    "stay": pd.to_timedelta(rng.normal(10 + late / 60, 1, n), unit="h"),
                    "born": day + pd.to_timedelta(rng.normal(0, 5000, n) - 30 * late, unit="D"),
                }
            )
        )
    margins = margins_of(*both)
    said = dict(zip(margins.names, margins.differences, strict=True))
    assert said["smoker"].startswith("equal to True in ")
    assert said["size"].startswith("equal to M in ")
    assert said["joined"].startswith("later by 1")
    assert " days or 0." in said["joined"]
    assert said["stay"].startswith("longer by ")
    assert " hours or " in said["stay"]
    assert said["born"].startswith("earlier by ")
    assert " years or 0." in said["born"]
    still = [pd.DataFrame({"day": [day + pd.Timedelta(days=k)] * 50, "x": rng.random(50)}) for k in (1, 0)]
    fixed = margins_of(*(cd.as_draws(part, var_names=["day", "x"]) for part in still))
    assert fixed.differences[0] == "constant at 2020-01-02 instead of 2020-01-01"


def test_whether_a_value_is_missing_continues_the_name():
    rng = np.random.default_rng(19)
    name = "income is missing"

    def sample(share):
        values = (rng.random((1, 1000, 1)) < share).astype(float)
        return Draws(values, (name,), named=True, kinds=("missing",), levels=(("present", "missing"),))

    margins = compare_margins((sample(0.12), sample(0.03)), (True, True), confidence=0.95)
    assert margins.line.startswith("1 of 1 variable differs (income is missing in 1")
    none = compare_margins((sample(0.0), sample(0.3)), (True, True), confidence=0.95)
    assert none.differences[0].startswith("in 0% instead of ")


def test_how_values_are_written():
    assert naming_of("date", ())(18262.5) == "2020-01-01 12:00:00"
    assert naming_of("date", ())(1e9) == "day 1e+09"
    assert naming_of("duration", ())(0.5) == "12 hours"
    assert naming_of("duration", ())(0.0) == "0 days"
    assert naming_of("duration", ())(-800.0) == "-2.2 years"
    assert naming_of("numeric", ())(2.5) == "2.5"
    assert naming_of("nominal", ("a", "b"))(1.0) == "b"
    assert len(naming_of("nominal", ("long " * 30,))(0.0)) <= 30


def test_one_pair_with_levels_tells_its_margins():
    rng = np.random.default_rng(20)
    draws, reference = table(rng, 600, island=[0.5, 0.5]), table(rng, 600, island=[0.4, 0.4, 0.2])
    result = compared(draws, reference, family=None)
    assert result.sentences()["Margins"].startswith("1 of 2 variables differs (island level i2 is missing: 0% instead of ")
