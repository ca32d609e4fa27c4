"""Margins beside a verdict about dependence: what they say, where they stand, and that they leave the verdict alone."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare.gate import gate
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.margins import compare_margins


def samples(seed=1, n=800, d=3):
    return np.random.default_rng(seed).standard_normal((2, n, d))


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
