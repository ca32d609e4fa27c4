"""All pairs of variables: what they are compared with, how they are ranked and told, and how often that is a false alarm."""

import io
import json
import math
import pickle
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy._core import progress
from copula_discrepancy.compare import jobs
from copula_discrepancy.compare.wording import NO_GAP, WIDTH, answer_line
from tests.caveat_codes import codes_of, warned
from tests.compare.misuse import NAMES, PAIRWISE_CHOICES, PAIRWISE_TARGETS, refused_naming
from tests.compare.misuse import table as frame
from tests.compare.verdicts import (
    FAMILY_DOES_NOT_FIT,
    NO_FAMILY_FITS,
    TOO_STRONG,
    TOO_WEAK,
    WRONG_SHAPE,
    faults,
    too_thick,
    too_thin,
)
from tests.pairwise_data import CORRELATIONS, autoregressive, clayton, gaussian, gumbel_pair, student

careful = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")


@pytest.fixture(scope="module")
def spoilt():
    """Draws in which one variable lost its dependence, and a reference."""
    draws = frame(1)
    draws["sigma"] = np.random.default_rng(2).permutation(draws["sigma"])
    return draws, frame(3, 800)


@pytest.fixture(scope="module")
def result(spoilt):
    return cd.pairwise(*spoilt, iid=True)


def numbers(result):
    return result.to_dataframe().drop(columns=["verdict"]).sort_values(["first", "second"]).reset_index(drop=True)


# ---- ranking and tests -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.95, 0.5])
@pytest.mark.parametrize("adjust", ["bh", "by", "holm", "bonferroni", "none"])
def test_tests_of_level_shape_form_and_tails_are_adjusted_together(spoilt, adjust, confidence):
    result = cd.pairwise(*spoilt, iid=True, adjust=adjust, confidence=confidence)
    rows = result.rows
    tests = ("level", "shape", "tails", "form")
    raw = np.concatenate([rows[f"{name}_pvalue"] for name in tests])
    np.testing.assert_array_equal(np.concatenate([rows[f"{name}_adjusted"] for name in tests]), cd.adjust_pvalues(raw, adjust))
    for gap in result:
        assert gap.pvalue == min(gap.level_adjusted, gap.shape_adjusted, gap.tails_adjusted, gap.form_adjusted)
        assert gap.flagged == (gap.pvalue < 1.0 - confidence)
    assert result.n_flagged == sum(gap.flagged for gap in result)
    if confidence == 0.95:
        assert {gap.names for gap in result if gap.flagged} >= {("mu", "sigma"), ("sigma", "rho")}


def test_flagged_pairs_come_first_then_the_larger_gaps(result):
    flagged = [gap.flagged for gap in result]
    assert flagged == sorted(flagged, reverse=True)
    assert 0 < sum(flagged) < len(flagged)
    for part in (True, False):
        sizes = [max(abs(gap.level), abs(gap.shape)) for gap in result if gap.flagged == part]
        assert sizes == sorted(sizes, reverse=True)
    assert result.worst.names == ("mu", "sigma")
    assert result.worst.verdict == TOO_WEAK


@careful
def test_a_small_gap_beyond_chance_comes_before_a_larger_one_within_it():
    """A small gap beyond chance comes before a larger one of few draws; perfect dependence is beyond chance too."""
    rng = np.random.default_rng(4)
    draws = np.column_stack([gumbel_pair(rng, 3000, 0.8), rng.standard_normal((3000, 2))])
    draws = np.column_stack([draws, draws[:, 0]])
    targets = {(0, 1): cd.Gumbel.from_tau(0.77), (2, 3): cd.Gaussian(0.01), (0, 4): cd.Gaussian(0.5)}
    result = cd.pairwise(draws, targets, iid=True)
    assert [gap.names for gap in result] == [("x0", "x4"), ("x0", "x1"), ("x2", "x3")]
    assert result[0].verdict == TOO_STRONG  # x4 is x0
    assert result[1].flagged
    scarce = cd.pairwise(draws[:4], {(0, 4): cd.Gaussian.from_tau(0.9), (2, 3): cd.Gaussian(0.9)}, iid=True)["x0", "x4"]
    assert scarce.level_pvalue == pytest.approx(0.95**2)  # four draws are in order by chance


def test_untested_gaps_do_not_count_as_tests(spoilt):
    by_moments = cd.pairwise(*spoilt, method="moment", iid=True, adjust="bonferroni")
    assert np.isnan(by_moments.rows["shape_adjusted"]).all()
    for name in ("level", "tails", "form"):  # three tests in each of six pairs
        expected = np.minimum(18 * by_moments.rows[f"{name}_pvalue"], 1.0)
        np.testing.assert_array_equal(by_moments.rows[f"{name}_adjusted"], expected)


# ---- aggregates, matrices, rows --------------------------------------------------------------------------------------


def test_aggregates(spoilt, result):
    cds, weights = np.abs(result.rows["total"]), np.abs(result.rows["tau_target"])
    np.testing.assert_array_equal(result.cd, cds)
    assert result.max == cds.max()
    assert result.mean == pytest.approx(cds.mean(), rel=1e-15)
    assert result.weighted == pytest.approx(np.average(cds, weights=weights), rel=1e-14)
    levels = result.aggregate("level")
    assert levels["max"] == np.abs(result.rows["level"]).max()
    assert levels["weighted"] == pytest.approx(np.average(np.abs(result.rows["level"]), weights=weights), rel=1e-14)
    matrix = np.random.default_rng(5).random((4, 4))
    matrix += matrix.T
    given = cd.pairwise(*spoilt, iid=True, weights=matrix)
    assert given.weighted == pytest.approx(np.average(cds, weights=matrix[result.rows["first"], result.rows["second"]]))
    assert given.max == result.max
    chosen = cd.pairwise(*spoilt, iid=True, weights={("rho", "mu"): 3.0, ("nu", "sigma"): 1.0})
    expected = (3.0 * result["mu", "rho"].cd + result["sigma", "nu"].cd) / 4.0
    assert chosen.weighted == pytest.approx(expected, rel=1e-14)
    assert (chosen.own_weights, result.own_weights) == (True, False)
    assert f" {chosen.weighted:.3f}" in chosen.sentences()["Size"]


@careful
def test_aggregates_without_a_target_and_with_unknown_numbers():
    values = gaussian(np.random.default_rng(6), 500)
    values = np.column_stack([values, values[:, 0]])
    result = cd.pairwise(values, iid=True)
    shapes = np.abs(result.rows["shape"])
    known = np.isfinite(shapes)
    assert result.max == shapes[known].max()
    assert result.weighted == pytest.approx(np.average(shapes[known], weights=np.abs(result.rows["tau"])[known]))
    assert all(math.isnan(value) for value in result.aggregate("level").values())


def test_weights_next_to_the_largest_float_do_not_overflow(spoilt):
    weights = np.full((4, 4), 1e308)
    found = cd.pairwise(*spoilt, iid=True, weights=weights).aggregate()
    assert found["weighted"] == pytest.approx(found["mean"])


def test_matrices(spoilt, result):
    np.testing.assert_array_equal(np.isnan(result.matrix("tau")), np.eye(4, dtype=bool))
    taus = cd.kendall_matrix(spoilt[0].to_numpy())
    np.fill_diagonal(taus, np.nan)
    np.testing.assert_allclose(result.matrix("tau"), taus, rtol=1e-15)
    np.testing.assert_array_equal(result.matrix(), result.matrix("level"))
    for number in ("level", "shape_pvalue", "shape_adjusted", "cd", "ckl"):
        found = result.matrix(number)
        np.testing.assert_array_equal(found, found.T)
        for gap in result:
            i, j = (NAMES.index(name) for name in gap.names)
            assert found[i, j] == getattr(gap, number)
    with refused_naming("argument", "number", "'cd'", "'n'", "'family'"):
        result.matrix("family")
    with refused_naming("argument", "number", "'level'", "'levels'"):
        result.aggregate("levels")
    some = cd.pairwise(spoilt[0], {("mu", "nu"): cd.Gaussian(0.3), ("nu", "rho"): cd.Gaussian(0.1)}, iid=True)
    assert some.names == ("mu", "nu", "rho")
    assert np.isfinite(some.matrix()).sum() == 4


def test_rows_are_found_by_place_and_by_name(result):
    assert len(result) == len(list(result)) == 6
    assert result[0].names == next(iter(result)).names == result.worst.names
    assert result[-1].names == list(result)[-1].names
    np.testing.assert_equal(result["rho", "nu"].to_dict(), result["nu", "rho"].to_dict())
    np.testing.assert_equal(result[np.int64(1)].to_dict(), result[1].to_dict())
    np.testing.assert_equal(pickle.loads(pickle.dumps(result)).to_dict(), result.to_dict())
    assert result["mu", "sigma"].level == result.pair("sigma", "mu").level.value
    with pytest.raises(IndexError):
        result[6]
    with refused_naming("unknown-name", "'sigm'", "'sigma'"):
        result["mu", "sigm"]
    with refused_naming("unknown-name", "'mu', 'mu'"):
        result["mu", "mu"]
    for key in ("mu", 1.0, ("mu", "nu", "rho"), slice(2)):
        with refused_naming("argument", repr(key)):
            result[key]
    with pytest.raises(AttributeError, match=r"'levels'.*n_target.*level"):
        _ = result[0].levels


def test_frames_and_dictionaries_are_complete(result):
    table = result.to_dataframe()
    assert list(table.columns[:4]) == ["first", "second", "verdict", "pvalue"]
    assert set(table.columns) >= {
        "tau", "tau_target", "level", "level_se", "level_pvalue", "level_adjusted", "shape", "shape_se", "shape_pvalue",
        "shape_adjusted", "total", "total_se", "total_pvalue", "tails_pvalue", "tails_adjusted", "low_low",
        "low_low_se", "low_low_pvalue", "low_low_share", "low_low_share_target", "high_high", "low_high", "high_low", "n",
        "n_target", "tau_se", "tau_target_se", "ckl", "n_eff", "n_eff_target", "rhat", "rhat_target", "family", "theta",
        "theta_target", "df", "flagged", "form", "form_se", "form_pvalue", "form_adjusted", "kept", "kept_se", "form_rhat",
        "form_rhat_target", "pattern",
    }  # fmt: skip
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["n_pairs"] == len(plain["pairs"]) == 6
    assert plain["names"] == list(NAMES)
    assert plain["cd"] == {"max": result.max, "mean": result.mean, "weighted": result.weighted}
    assert plain["words"] == result.sentences()
    assert plain["reference"] == {"n_chains": 1, "n_draws": 800}
    for gap, told, (_, row) in zip(result, plain["pairs"], table.iterrows(), strict=True):
        for name in set(table.columns) - {"first", "second", "verdict", "family", "flagged", "pattern"}:
            np.testing.assert_equal(told[name], float(row[name]))
            np.testing.assert_equal(getattr(gap, name), float(row[name]))
        assert [told[name] for name in ("first", "second", "verdict", "family", "flagged", "pattern")] == [
            *gap.names, gap.verdict, gap.family, gap.flagged, gap.pattern,
        ]  # fmt: skip
        assert (row["first"], row["second"], row["verdict"], row["family"]) == (*gap.names, gap.verdict, gap.family)


@careful
def test_dictionaries_of_every_kind_are_json():
    draws = np.column_stack([frame(7).to_numpy(), frame(7).to_numpy()[:, 0]])
    for target in (None, cd.Gumbel(2.0), np.corrcoef(frame(8).assign(last=np.random.default_rng(9).random(600)).T)):
        json.dumps(cd.pairwise(draws, target, iid=True).to_dict())


# ---- words -----------------------------------------------------------------------------------------------------------


def test_words_say_what_is_off(result):
    lines, said = repr(result).splitlines(), result.sentences()
    assert lines[0].endswith(f": {result.verdict}")
    assert f"{result.n_flagged} of 6 " in result.verdict
    assert "5%" in said["Answer"]
    worst = result.worst
    for shown in ("mu ~ sigma", worst.verdict, f"{worst.tau:.2f}", f"{worst.tau_target:.2f}", f"{worst.level:+.3f}"):
        assert shown in said["Worst"]
    assert said["Rows"].startswith("600,")
    assert said["Reference"].startswith("800,")
    assert all(len(line) <= WIDTH for line in lines)
    assert lines[-6].split()[:3] == ["mu", "~", "sigma"]


def test_words_where_nothing_is_off():
    result = cd.pairwise(frame(10), CORRELATIONS, iid=True)
    assert result.outcome == "no gap"
    assert answer_line(result, capital=False) == result.verdict
    assert result.verdict.startswith(NO_GAP)
    assert result.sentences()["Answer"].startswith(result.verdict)
    assert "Worst" not in result.sentences()
    assert {gap.verdict for gap in result} == {NO_GAP}
    assert result.title in repr(result)
    fits = cd.pairwise(frame(10), iid=True)
    assert {gap.verdict for gap in fits} == {NO_GAP}
    assert fits.title != result.title  # a correlation matrix is not the best family of each pair


def test_long_tables_are_cut_and_say_so():
    values = np.random.default_rng(11).standard_normal((200, 7))
    result = cd.pairwise(values, np.eye(7), iid=True)
    assert len(result.table_rows(None)) == 22
    assert "11 more" in repr(result)
    assert result._repr_html_().count("<tr>") == 22


def test_html_escapes_names():
    draws = frame(12, names=("<script>alert(1)</script>", "a&b", '"c"', "d"))
    draws.iloc[:, 1] = np.random.default_rng(13).permutation(draws.iloc[:, 1])
    result = cd.pairwise(draws, CORRELATIONS, iid=True)
    page = result._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "a&amp;b" in page
    assert "<script>" in repr(result)


# ---- targets ---------------------------------------------------------------------------------------------------------


def test_copulas_in_either_order():
    """Rotations by 90 and 270 degrees are each other's mirror image."""
    rng = np.random.default_rng(14)
    draws = pd.DataFrame(cd.Rotated(cd.Clayton(2.0), 90).sample(1500, rng=rng), columns=["a", "b"]).assign(c=rng.random(1500))
    straight = cd.pairwise(draws, {("a", "b"): cd.Rotated(cd.Clayton(2.0), 90), ("b", "c"): cd.Gaussian(0.0)}, iid=True)
    turned = cd.pairwise(draws, {("c", "b"): cd.Gaussian(0.0), ("b", "a"): cd.Rotated(cd.Clayton(2.0), 270)}, iid=True)
    assert straight.kind == turned.kind == "copulas"
    pd.testing.assert_frame_equal(numbers(straight), numbers(turned))
    assert straight["b", "a"].family == "Clayton90"
    assert not straight.n_flagged
    wrong = cd.pairwise(draws, {("a", "b"): cd.Rotated(cd.Clayton(2.0), 270)}, iid=True)
    # the mass of the right one is where the first is low, of the wrong one where it is high
    assert faults(wrong["a", "b"].verdict) == [WRONG_SHAPE, too_thin("low_high"), too_thick("high_low")]
    by_place = cd.pairwise(draws.to_numpy(), {(0, 1): cd.Rotated(cd.Clayton(2.0), 90)}, iid=True)
    assert by_place["x0", "x1"].shape == straight["a", "b"].shape


def test_one_copula_for_all():
    result = cd.pairwise(frame(15), cd.Gaussian(0.3), iid=True)
    assert len(result) == 6
    assert set(result.rows["theta_target"]) == {0.3}
    assert result["mu", "nu"].flagged is False


def test_correlations_as_array_list_and_frame():
    draws = frame(16)
    result = cd.pairwise(draws, CORRELATIONS, iid=True)
    assert result.kind == "correlations"
    assert result["mu", "rho"].theta_target == -0.5
    order = ["rho", "mu", "nu", "sigma"]
    labelled = pd.DataFrame(CORRELATIONS, index=NAMES, columns=NAMES).loc[order, order]
    for target in (labelled, CORRELATIONS.tolist(), np.round(CORRELATIONS, 8)):
        pd.testing.assert_frame_equal(numbers(cd.pairwise(draws, target, iid=True)), numbers(result))
    single = cd.discrepancy(draws[["mu", "rho"]], cd.Gaussian(-0.5), iid=True)
    assert result["mu", "rho"].level == single.level.value


def test_references_are_matched_by_name(spoilt, result):
    draws, reference = spoilt
    turned = cd.pairwise(draws, reference[["rho", "nu", "sigma", "mu"]], iid=True)
    pd.testing.assert_frame_equal(numbers(turned), numbers(result))
    plain = cd.pairwise(draws.to_numpy(), reference.to_numpy(), iid=True)
    assert plain.names == ("x0", "x1", "x2", "x3")
    np.testing.assert_array_equal(plain.rows["level"], result.rows["level"])
    half_named = cd.pairwise(draws, reference.to_numpy(), iid=True)
    assert half_named.names == NAMES
    selected = cd.pairwise(draws, reference.assign(more=1.0), iid=True, var_names=["sigma", "mu"])
    assert selected.names == ("sigma", "mu")
    assert selected["mu", "sigma"].level == result["mu", "sigma"].level


def test_no_target_needs_the_draws_alone():
    result = cd.pairwise(frame(17), iid=True)
    assert result.kind == "nothing"
    assert np.isnan(result.rows["level"]).all()
    assert np.isnan(result.rows["tau_target"]).all()
    for gap in result:
        family = cd.fit(frame(17)[list(gap.names)], cd.family(gap.family), iid=True, **({"df": gap.df} if gap.df > 0 else {}))
        assert gap.shape == pytest.approx(family.tau - family.sample_tau, abs=1e-12)
    with pytest.raises(cd.InputError, match="select_family"):
        result.pair("mu", "nu")
    through = cd.pairwise(frame(17), family="gumbel180", iid=True, var_names=["mu", "sigma"])
    assert through.family == "Gumbel180"
    assert through[0].flagged
    assert through[0].verdict == FAMILY_DOES_NOT_FIT  # and no word about a target, of which there is none


def test_constant_variables_are_left_out():
    draws, reference = frame(18), frame(19)
    still, elsewhere = draws.assign(k=2.0), reference.assign(k=3.0)
    with warned("constant"):
        both = cd.pairwise(still, elsewhere, iid=True)
    pd.testing.assert_frame_equal(numbers(both), numbers(cd.pairwise(draws, reference, iid=True)))
    assert codes_of(both) == ["constant"]
    with warned("constant-in-draws"):
        cd.pairwise(still, reference.assign(k=np.arange(600.0)), iid=True)
    with warned("constant-in-reference"):
        cd.pairwise(draws.assign(k=np.arange(600.0)), elsewhere, iid=True)
    matrix = np.eye(5)
    matrix[:4, :4] = CORRELATIONS
    with warned("constant"):
        known = cd.pairwise(still[["k", *NAMES]], pd.DataFrame(matrix, [*NAMES, "k"], [*NAMES, "k"]), iid=True)
    assert known["mu", "sigma"].theta_target == 0.8
    with warned("constant"):
        some = cd.pairwise(still, {("k", "mu"): cd.Gaussian(0.1), ("nu", "mu"): cd.Gaussian(0.3)}, iid=True)
    assert [gap.names for gap in some] == [("mu", "nu")]
    with refused_naming("constant", "k"):
        cd.pairwise(still, {("k", "mu"): cd.Gaussian(0.1)})
    with refused_naming("constant", "got 1", "k"):
        cd.pairwise(still[["mu", "k"]])


@pytest.mark.parametrize("case", PAIRWISE_TARGETS)
def test_targets_that_cannot_be_used(case):
    PAIRWISE_TARGETS[case].check()


@pytest.mark.parametrize("case", PAIRWISE_CHOICES)
def test_choices_that_cannot_be_used(case):
    PAIRWISE_CHOICES[case].check()


def test_too_few_variables_and_draws():
    with refused_naming("shape", "got 1", "x0"):
        cd.pairwise(np.arange(50.0)[:, None])
    with refused_naming("too-few-draws", 4, "got 3"):
        cd.pairwise(gaussian(np.random.default_rng(24), 3), cd.Gaussian(0.5))
    with refused_naming("too-few-draws", 4, "got 3"):
        cd.pairwise(frame(24), gaussian(np.random.default_rng(24), 3))


# ---- cautions --------------------------------------------------------------------------------------------------------


def test_cautions_are_counted_over_pairs():
    rng = np.random.default_rng(25)
    stuck = gaussian(rng, (4, 200))
    stuck[0] += 4.0
    with pytest.warns(cd.DependenceWarning) as told:
        result = cd.pairwise(stuck, CORRELATIONS)
    assert {str(entry.message) for entry in told} == set(result.warnings)
    assert codes_of(result).count("chains-disagree") == 1
    (sentence,) = (caveat.sentence for caveat in result.caveats if caveat.code == "chains-disagree")
    worst = list(result)[np.argmax(result.rows["rhat"])]
    assert result.rows["rhat"].min() > 1.01
    for shown in ("6 of 6", worst.label, f"{worst.rhat:.3f}"):
        assert shown in sentence
    assert f"{worst.rhat:.3f}" in result.sentences()["Draws"]
    with warned("few-effective-draws"):
        cd.pairwise(gaussian(rng, 500), gaussian(rng, 60), iid=True, family="gaussian")
    with warned("rounded-values"):
        cd.pairwise(np.column_stack([np.round(gaussian(rng, 500)[:, 0]), rng.random((500, 2))]), cd.Gaussian(0.1), iid=True)
    with warned("rounded-values"):
        cd.pairwise(np.column_stack([np.round(gaussian(rng, 500)[:, 0], 1), rng.random((500, 2))]), cd.Gaussian(0.1), iid=True)
    same = gaussian(rng, 300)
    with warned("same-rows"):
        assert cd.pairwise(same, same, iid=True).max == 0.0


def binned(values, levels):
    """The first column in so many levels with equally many rows each."""
    places = np.argsort(np.argsort(values[:, 0]))
    return np.column_stack([places * levels // len(values), values[:, 1:]])


@careful
@pytest.mark.parametrize("levels", [5, 10, 25])
def test_few_values_are_no_misfit_of_the_family(levels):
    """Ties look like one where no reference has the same: form rejected 72% at 10 levels."""
    rng, copula = np.random.default_rng(33), cd.Gaussian(0.6)
    results = [cd.pairwise(binned(copula.sample(1000, rng=rng), levels), iid=True, family="gaussian") for _ in range(60)]
    assert all(np.isfinite(result.rows["form_pvalue"]).all() for result in results)
    assert all("rounded-values" in codes_of(result) for result in results)
    assert sum(result.n_flagged > 0 for result in results) <= stats.binom.ppf(0.999, 60, 0.05)
    other = cd.pairwise(binned(cd.Clayton(2.0).sample(1000, rng=rng), levels), iid=True, family="gaussian")
    assert other.n_flagged == 1
    with_reference = cd.pairwise(*(binned(copula.sample(1000, rng=rng), levels) for _ in range(2)), iid=True)
    assert np.isfinite(with_reference.rows["form_pvalue"]).all()


@careful
@pytest.mark.parametrize("method", ["mle", "moment"])
@pytest.mark.parametrize(("n", "levels"), [(40_000, 120), (2000, 10), (3000, 2)])
def test_few_values_have_a_reservation(n, levels, method):
    """However large the sample is, whose ties may be few, and matter all the same."""
    rows = binned(cd.Gaussian(0.5).sample(n, rng=1), levels)
    for target in (None, cd.Gaussian(0.5))[method == "moment" :]:
        family = "gaussian" if target is None else None
        result = cd.pairwise(rows, target, family=family, iid=True, method=method, engine="exact")
        assert {"few-values", "rounded-values"} & {*codes_of(result)}


@careful
def test_a_chain_that_stays_at_points_has_no_few_values():
    """Ties of whole points are no rounding, whatever their number."""
    states = np.random.default_rng(4).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 400)
    result = cd.pairwise(np.repeat(states, 10, axis=0)[None], family="gaussian")
    assert not {"few-values", "rounded-values"} & {*codes_of(result)}
    assert np.isfinite(result.rows["form_pvalue"]).all()


def test_rounded_alike_is_fair():
    rng = np.random.default_rng(26)
    flagged = 0
    for _ in range(30):
        result = cd.pairwise(np.round(gaussian(rng, 400)), np.round(gaussian(rng, 400)), iid=True)
        assert not result.warnings
        flagged += result.n_flagged > 0
    assert flagged <= stats.binom.ppf(0.999, 30, 0.05)


@careful
def test_a_bootstrap_of_rounded_values_is_not_rounded_otherwise():
    """Few of many rounded rows have other shares of ties, and the same values."""
    rng = np.random.default_rng(36)
    said = 0
    for _ in range(20):
        rounded = np.round(gaussian(rng, 100)[:, :2], 1)
        some = rounded[rng.integers(0, 100, 25)]
        for samples in ((some, rounded), (rounded, some)):
            assert "rounded-values" not in codes_of(cd.pairwise(*samples, iid=True))
            assert "rounded-values" not in codes_of(cd.discrepancy(*samples, family="gaussian", iid=True))
        mixed = cd.pairwise(np.round(gaussian(rng, 100)[:, :2]), gaussian(rng, 100)[:, :2], iid=True)
        said += "rounded-values" in codes_of(mixed)
    assert said == 20


# ---- workers and bars ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_workers_do_not_change_a_digit(monkeypatch):
    """Nine variables make 36 pairs, two tasks."""
    monkeypatch.setattr(jobs, "_PART", 32)
    rng = np.random.default_rng(27)
    draws, reference = rng.standard_normal((2, 150, 9)) + rng.standard_normal((2, 150, 1))
    found = [cd.pairwise(draws, reference, n_jobs=n_jobs, iid=True) for n_jobs in (1, 2, -1, None)]
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found.append(cd.pairwise(draws, reference, n_jobs=None, iid=True))
    assert len(found[0]) == 36
    for other in found[1:]:
        pd.testing.assert_frame_equal(found[0].to_dataframe(), other.to_dataframe(), check_exact=True)


def test_one_job_starts_no_thread(spoilt, monkeypatch):
    """Not for margins either: one core is one core, and a thread takes memory of its own."""
    monkeypatch.setattr("threading.Thread.start", lambda thread: pytest.fail(f"{thread.name} was started"))
    assert cd.pairwise(*spoilt, iid=True, n_jobs=1).margins is not None


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("show", "terminal", "patience", "drawn"),
    [
        (None, True, 0.0, True), (None, False, 0.0, False), (True, False, 0.0, True), (False, True, 0.0, False),
        (None, True, 100.0, False), (True, True, 100.0, False),
    ],
)  # fmt: skip
def test_bars_are_drawn_on_terminals_after_a_while(monkeypatch, show, terminal, patience, drawn):
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setattr(jobs, "_PART", 32)
    values = np.random.default_rng(28).standard_normal((60, 12))  # 66 pairs, three tasks: the bar has something to show
    with warned("few-effective-draws"):
        cd.pairwise(values, np.eye(12), iid=True, progress=show, n_jobs=1)
    assert bool(stream.getvalue()) == drawn
    assert ("pairs" in stream.getvalue()) == drawn


# ---- how often it is wrong -------------------------------------------------------------------------------------------

RUNS = 60
DECAY = 0.6 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6))) * np.outer([1, 1, -1, 1, -1, 1], [1, 1, -1, 1, -1, 1])


def mixed(rng, n):
    """Half the draws from a normal distribution, half from a Clayton copula: no family of ours."""
    other = stats.norm.ppf(clayton(rng, n, 6, 1.5, turned=(2, 4)))
    return np.where(rng.random((n, 1)) < 0.5, gaussian(rng, n, DECAY), other)


LAWS = {
    "normal": lambda rng: gaussian(rng, 500, DECAY),
    "t3.4": lambda rng: student(rng, 500, 3.4, DECAY),
    "clayton": lambda rng: clayton(rng, 500, 6, 1.5, turned=(2, 4)),
    "mixed": lambda rng: mixed(rng, 500),
    "chains": lambda rng: autoregressive(rng, 4, 500, 0.8, DECAY),
}


def assert_right_size(pvalues, flagged):
    """Runs are independent, the pairs within one are not: a t interval of the runs' shares, and binomial bands.

    99.9% each. The mean share may be off by one more percent: p-values have normal limits, at n = 500 to about a percent.
    """
    shares = np.mean(np.asarray(pvalues) < 0.05, axis=-1)  # (run, test)
    reach = stats.t.ppf(0.9995, RUNS - 1) * shares.std(axis=0, ddof=1) / math.sqrt(RUNS) + 0.01
    assert (np.abs(shares.mean(axis=0) - 0.05) <= reach).all(), (shares.mean(axis=0), reach)
    assert (reach < 0.06).all()  # so that a size of 11% would be seen
    by_pair = np.sum(np.asarray(pvalues) < 0.05, axis=0)
    assert by_pair.max() <= stats.binom.ppf(1.0 - 0.001 / by_pair.size, RUNS, 0.05)
    assert flagged <= stats.binom.ppf(0.999, RUNS, 0.05)


@pytest.mark.slow
@careful
@pytest.mark.parametrize("law", LAWS)
def test_a_reference_split_in_two_has_no_gaps(law):
    rng = np.random.default_rng(29)
    pvalues, flagged = [], 0
    for _ in range(RUNS):
        result = cd.pairwise(LAWS[law](rng), LAWS[law](rng), iid=law != "chains")
        order = np.lexsort((result.rows["second"], result.rows["first"]))
        pvalues.append([result.rows[f"{name}_pvalue"][order] for name in ("level", "shape")])
        flagged += result.n_flagged > 0
    assert np.isfinite(pvalues).all()
    assert_right_size(pvalues, flagged)


@careful
def test_chains_taken_as_independent_are_false_alarms():
    """The power of the test above: what long-run variances are for."""
    rng = np.random.default_rng(30)
    flagged = sum(cd.pairwise(LAWS["chains"](rng), LAWS["chains"](rng), iid=True).n_flagged > 0 for _ in range(20))
    assert flagged > 10


@careful
@pytest.mark.parametrize("law", LAWS)
def test_a_destroyed_pair_comes_first(law):
    """A shuffled variable that only one other depends on."""
    rng = np.random.default_rng(31)
    draws, reference = (np.reshape(LAWS[law](rng), (-1, 6)) for _ in range(2))
    result = cd.pairwise(np.column_stack([draws[:, :2], rng.permutation(draws[:, 2])]), reference[:, :3], iid=law != "chains")
    assert result.worst.flagged
    assert set(result.worst.names) in ({"x0", "x2"}, {"x1", "x2"})
    assert TOO_WEAK in faults(result.worst.verdict)
    assert not result["x0", "x1"].flagged
    one = cd.pairwise(
        {"a": draws[:, 0], "b": draws[:, 1], "c": rng.permutation(draws[:, 2])},
        {"a": reference[:, 0], "b": reference[:, 1], "c": rng.permutation(reference[:, 2])},
    )
    assert not one.n_flagged
    two = cd.pairwise(
        {"a": rng.permutation(draws[:, 0]), "b": draws[:, 1], "c": rng.permutation(draws[:, 2])},
        {"a": reference[:, 0], "b": reference[:, 1], "c": rng.permutation(reference[:, 2])},
    )
    assert two.worst.names == ("a", "b")
    assert faults(two.worst.verdict)[0] == TOO_WEAK
    assert two.n_flagged == 1


@careful
def test_the_right_tau_with_the_wrong_tails_is_found():
    """Clayton and Gumbel copulas of tau 1/2, in one of three pairs."""
    rng = np.random.default_rng(32)
    for _ in range(10):
        draws = np.column_stack([clayton(rng, 1000, 2, 2.0), rng.random((1000, 1))])
        reference = np.column_stack([gumbel_pair(rng, 1000, 0.5), rng.random((1000, 1))])
        result = cd.pairwise(draws, reference, iid=True)
        assert result.worst.names == ("x0", "x1")
        assert WRONG_SHAPE in faults(result.worst.verdict)
        assert result.worst.shape_adjusted < 0.001
        known = cd.pairwise(draws, {(0, 1): cd.Gumbel.from_tau(0.5), (1, 2): cd.Gaussian(0.0)}, iid=True)
        assert known.worst.names == ("x0", "x1")
        assert WRONG_SHAPE in faults(known.worst.verdict)


KNOWN = {
    "normal": lambda rng, n: gaussian(rng, n),
    "clayton": lambda rng, n: clayton(rng, n, 4, 1.5, turned=(2,)),
    "t8": lambda rng, n: student(rng, n, 8.0),
    "t3.4": lambda rng, n: student(rng, n, 3.4),
    "t1.2": lambda rng, n: student(rng, n, 1.2),
}


@pytest.mark.slow
@careful
@pytest.mark.parametrize(
    ("law", "n", "runs"),
    [
        ("normal", 1000, 25), ("clayton", 1000, 25), ("t8", 1000, 25), ("t8", 5000, 25), ("t3.4", 1000, 25), ("t1.2", 1000, 25),
        ("t3.4", 5000, 40),  # degrees of freedom of the grid alone would be found out
    ],
)  # fmt: skip
def test_without_a_target_a_known_family_fits(law, n, runs):
    """The family is chosen on the same draws, which makes the test a cautious one; never may it claim more than it should."""
    rng = np.random.default_rng(33)
    shares, flagged = [], 0
    for _ in range(runs):
        result = cd.pairwise(KNOWN[law](rng, n), iid=True)
        shares.append(float(np.mean(result.rows["shape_pvalue"] < 0.05)))
        flagged += result.n_flagged > 0
    reach = stats.t.ppf(0.999, runs - 1) * np.std(shares, ddof=1) / math.sqrt(runs) + 0.01
    assert np.mean(shares) <= 0.05 + reach
    assert flagged <= stats.binom.ppf(0.999, runs, 0.05)


@careful
def test_without_a_target_a_large_sample_of_a_known_family_fits():
    """Degrees of freedom between those of the grid, and draws enough to see it: still a Student t copula."""
    rng = np.random.default_rng(34)
    flagged = sum(cd.pairwise(student(rng, 20_000, 3.4), iid=True).n_flagged > 0 for _ in range(8))
    assert flagged <= stats.binom.ppf(0.999, 8, 0.05)


@careful
def test_without_a_target_what_no_family_has_is_found():
    """Half the draws go up and half go down, in different places: no family bends like that."""
    rng = np.random.default_rng(35)
    flagged = 0
    for _ in range(5):
        up, down = (gaussian(rng, 2000, np.array([[1.0, rho], [rho, 1.0]])) for rho in (0.95, -0.95))
        bent = np.where(rng.random((2000, 1)) < 0.5, up + 3.0, down)
        result = cd.pairwise(np.column_stack([bent, rng.random(2000)]), iid=True)
        assert result.worst.names == ("x0", "x1")
        assert faults(result.worst.verdict)[0].startswith(NO_FAMILY_FITS)
        flagged += result.n_flagged
    assert 5 <= flagged <= 7  # of ten honest pairs, one in twenty claims may be false
