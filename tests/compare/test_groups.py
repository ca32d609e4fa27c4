"""Comparisons within groups of rows: Simpson's reversals, joint adjustment, and what is left out."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import copula_discrepancy as cd
from copula_discrepancy._core.files import json_text
from copula_discrepancy.compare.gate import gate_groups
from copula_discrepancy.compare.group_samples import FEWEST_ROWS
from copula_discrepancy.compare.groups import rank_groups
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.rows import TESTED
from copula_discrepancy.data.row_groups import MOST_GROUPS
from tests.caveat_codes import codes_of, warned

TRUST = 0.999  # of the binomial bands below


def simpson(rng, slope, n=150, groups=3, shift=3.0):
    """A table in which x and y have the sign of `slope` within groups, and fall together over all rows; z is noise."""
    group = np.repeat(np.arange(groups), n)
    x, noise, z = rng.standard_normal((3, groups * n))
    table = {"species": group, "x": x + shift * group, "y": slope * x + noise - shift * group, "z": z}
    return pd.DataFrame(table).sample(frac=1, random_state=1).reset_index(drop=True)


def null(rng, n, groups, variables="xyz"):
    """A table in which nothing depends on anything."""
    table = pd.DataFrame(rng.standard_normal((n * groups, len(variables))), columns=list(variables))
    return table.assign(species=np.tile(np.arange(groups), n))


@pytest.fixture(scope="module")
def reversed_():
    rng = np.random.default_rng(1)
    return cd.pairwise(simpson(rng, -1.0), simpson(rng, 1.0), by="species", iid=True)


# ---- reversals -----------------------------------------------------------------------------------------------------


def test_a_reversal_is_named(reversed_):
    (found,) = reversed_.reversals
    assert (found.names, found.groups, found.sign, found.overall, found.simpson) == (("x", "y"), ("0", "1", "2"), 1, -1, True)
    assert found.sentence.startswith("Simpson's reversal: within species 0, species 1 and species 2, x and y rise together in")
    assert found.sentence in reversed_.sentences()["Reversals"]
    assert "Simpson's reversal in 1 pair" in reversed_.verdict
    assert reversed_.paradoxes == ()
    assert reversed_.flagged == reversed_.ranked
    assert set(reversed_.flagged) == {"0", "1", "2"}
    label, gap = reversed_.worst
    assert gap.names == ("x", "y")
    assert gap.verdict == "of the wrong sign"
    assert label == reversed_.flagged[0]
    assert reversed_.overall["x", "y"].tau < 0
    assert reversed_.outcome == "gap"


def test_the_other_sign_is_named_too():
    rng = np.random.default_rng(2)
    draws, reference = (simpson(rng, slope).assign(y=lambda t: -t["y"]) for slope in (-1.0, 1.0))
    (found,) = cd.pairwise(draws, reference, by="species", iid=True).reversals
    assert (found.sign, found.overall, found.simpson) == (-1, 1, True)
    assert "x falls as y rises in the reference; in the rows they rise together, as over all groups together" in found.sentence


def test_a_wrong_sign_without_a_paradox_is_reversed_only():
    rng = np.random.default_rng(3)
    draws, reference = simpson(rng, -1.0, shift=0.0), simpson(rng, 1.0, shift=0.0)  # the sign of all rows is that of groups
    (found,) = cd.pairwise(draws, reference, by="species", iid=True).reversals
    assert (found.overall, found.simpson) == (1, False)
    assert found.sentence.startswith("reversed: within")
    assert found.sentence.endswith("in the rows one falls as the other rises")


def test_a_paradox_that_is_kept_is_a_detail():
    rng = np.random.default_rng(4)
    result = cd.pairwise(simpson(rng, 1.0), simpson(rng, 1.0), by="species", iid=True)
    assert result.reversals == ()
    (kept,) = result.paradoxes
    assert (kept.names, kept.sign, kept.overall) == (("x", "y"), 1, -1)
    assert "Reversals" not in result.sentences()
    assert result.outcome == "no gap"
    assert "Tested" in result.sentences()
    assert result.to_dict()["paradoxes"][0]["groups"] == ["0", "1", "2"]


def test_lost_dependence_is_a_gap_but_no_reversal():
    rng = np.random.default_rng(5)
    result = cd.pairwise(simpson(rng, 0.0), simpson(rng, 1.0), by="species", iid=True)
    assert len(result.flagged) == 3
    assert result.reversals == ()


@pytest.mark.slow
def test_no_false_reversals():
    """40 replications without dependence and 40 of a kept paradox: a reversal needs three significant tests at once."""
    rng = np.random.default_rng(6)
    for make in (lambda: null(rng, 60, 3, "xy"), lambda: simpson(rng, 0.3, n=60).drop(columns="z")):
        found = [rank_groups(make(), make(), by="species", iid=True, n_jobs=1).reversals for _ in range(40)]
        assert sum(map(bool, found)) == 0


# ---- joint adjustment ----------------------------------------------------------------------------------------------


def test_all_tests_are_adjusted_together(reversed_):
    results = [reversed_.overall, *reversed_.groups.values()]
    raw = np.concatenate([np.stack([r.rows[f"{name}_pvalue"] for name in TESTED]) for r in results], axis=1)
    own = np.concatenate([np.stack([r.rows[f"{name}_adjusted"] for name in TESTED]) for r in results], axis=1)
    np.testing.assert_array_equal(own, cd.adjust_pvalues(raw, "bh"))
    for result in results:
        flagged = np.any([result.rows[f"{name}_adjusted"] < 0.05 for name in TESTED], axis=0)
        np.testing.assert_array_equal(result.rows["flagged"], flagged)
        assert not np.any(np.diff(result.rows["flagged"].astype(int)) > 0)  # flagged pairs first
        names = result.worst.names
        assert result.pair(*names).verdict == result.worst.verdict


def test_numbers_within_a_group_are_those_of_its_rows(reversed_):
    rng = np.random.default_rng(1)
    draws, reference = simpson(rng, -1.0), simpson(rng, 1.0)
    alone = rank_pairs(*(t[t["species"] == 1].drop(columns="species") for t in (draws, reference)), iid=True)
    inside = reversed_["1"]
    for pair in alone:
        assert inside[pair.names].level == pair.level
        assert inside[pair.names].form_pvalue == pair.form_pvalue
    assert reversed_.sizes("1") == (150, 150)


@pytest.mark.slow
def test_many_groups_do_not_multiply_false_alarms():
    """Ten groups without any gap: with Bonferroni, a false alarm in any of them has a probability of at most 5%.

    The band is exact for 60 replications; without the joint adjustment about 10 x 5% of them would have one.
    """
    rng = np.random.default_rng(7)
    results = [
        rank_groups(null(rng, 40, 10, "xy"), null(rng, 40, 10, "xy"), by="species", iid=True, adjust="bonferroni", n_jobs=1)
        for _ in range(60)
    ]
    alarms = sum(bool(result.flagged) or result.overall.n_flagged > 0 for result in results)
    assert alarms <= binom.ppf(TRUST, 60, 0.05)
    separate = 0
    for result in results:
        pvalues = [np.stack([g.rows[f"{name}_pvalue"] for name in TESTED]) for g in result.groups.values()]
        separate += any(np.nanmin(cd.adjust_pvalues(own, "bonferroni")) < 0.05 for own in pvalues)
    assert separate > binom.ppf(TRUST, 60, 0.05)  # the same tables, each group on its own: the test can fail


# ---- what is left out ----------------------------------------------------------------------------------------------


def test_small_and_one_sided_groups_and_missing_labels_are_told():
    rng = np.random.default_rng(8)
    draws, reference = null(rng, 60, 4), null(rng, 60, 4)
    draws = draws[(draws["species"] != 3) & ((draws["species"] != 2) | (draws.index < 4 * 20))].astype({"species": float})
    draws.loc[draws.index[:7], "species"] = np.nan
    reference["species"] = reference["species"].replace({1: 5})
    with warned("groups-left-out"):
        result = cd.pairwise(draws, reference, by="species", iid=True)
    assert list(result.groups) == ["0"]
    assert "only in the reference, 60 rows" in result.left_out["5"]
    assert "only in the draws" in result.left_out["1"]
    assert f"at least {FEWEST_ROWS} are needed" in result.left_out["2"]
    assert result.left_out["3"] == "only in the reference, 60 rows"
    assert result.left_out["(no group)"] == "7 rows, 0 in the reference"
    assert "7 rows" in result.sentences()["Left out"]
    assert result.overall.samples[0].n_draws == len(draws)  # they count among all rows
    assert result.to_dict()["left_out"] == dict(result.left_out)
    with pytest.raises(cd.InputError, match="'2' was left out"):
        result["2"]


def test_a_group_with_nothing_to_test_is_left_out():
    rng = np.random.default_rng(9)
    draws, reference = null(rng, 60, 3, "xy"), null(rng, 60, 3, "xy")
    draws.loc[draws["species"] == 1, "x"] = reference.loc[reference["species"] == 1, "x"] = 1.0
    same = draws["species"] == 2
    draws.loc[same, ["x", "y"]] = reference.loc[same, ["x", "y"]]
    result = rank_groups(draws, reference, by="species", iid=True)
    assert list(result.groups) == ["0"]
    assert result.left_out["1"] == "fewer than two variables vary"
    assert result.left_out["2"].startswith("the same rows")
    assert not result.void


def test_a_column_without_values_in_a_group_is_left_out_of_it():
    rng = np.random.default_rng(10)
    draws, reference = null(rng, 50, 2), null(rng, 50, 2)
    draws.loc[draws["species"] == 1, "z"] = np.nan
    result = rank_groups(draws, reference, by="species", iid=True)
    assert result["0"].names == ("x", "y", "z")
    assert result["1"].names == ("x", "y")
    listwise = rank_groups(draws, reference, by="species", iid=True, missing="listwise")
    assert list(listwise.groups) == ["0"]
    assert listwise.overall.samples[0].n_draws == 50


def test_a_variable_constant_within_a_group_of_the_draws_is_a_gap():
    rng = np.random.default_rng(11)
    draws, reference = null(rng, 60, 2), null(rng, 60, 2)
    draws.loc[draws["species"] == 1, "z"] = 0.0
    result = rank_groups(draws, reference, by="species", iid=True)
    assert result.flagged == ("1",)
    assert result["1"].stuck == ("z",)
    assert "constant-in-draws" in codes_of(result)
    assert "z constant" in result.sentences()["Answer"]


def test_a_caveat_of_several_groups_is_told_once():
    rng = np.random.default_rng(12)
    result = rank_groups(null(rng, 40, 3), null(rng, 40, 3), by="species", iid=True)
    assert codes_of(result).count("few-effective-draws") == 1
    assert "(and in 2 other groups)" in next(c.sentence for c in result.caveats if c.code == "few-effective-draws")


# ---- columns -------------------------------------------------------------------------------------------------------


def test_several_columns_make_combinations():
    rng = np.random.default_rng(13)
    draws, reference = (null(rng, 200, 2).assign(sex=lambda t: np.arange(len(t)) // 2 % 2) for _ in range(2))
    result = rank_groups(draws, reference, by=["species", "sex"], iid=True)
    assert list(result.groups) == ["0 / 0", "0 / 1", "1 / 0", "1 / 1"]
    assert result.by == ("species", "sex")
    assert result["0 / 1"].names == ("x", "y", "z")
    assert set(result.overall.names) == {"x", "y", "z", "species", "sex"}
    assert result.title.startswith("by species and sex: ")


def test_a_column_that_is_not_selected_still_defines_groups():
    rng = np.random.default_rng(14)
    draws, reference = null(rng, 60, 2), null(rng, 60, 2)
    for selection in (
        {"var_names": ["x", "y"]},
        {"exclude": ["species", "z"]},
        {"var_names": "^[xy]$", "filter_vars": "regex"},
    ):
        result = rank_groups(draws, reference, by="species", iid=True, **selection)
        assert result.overall.names == ("x", "y")
        assert list(result.groups) == ["0", "1"]
    weighted = rank_groups(draws, reference, by="species", iid=True, weights={("x", "y"): 2.0, ("x", "species"): 1.0})
    assert weighted["0"].own_weights
    assert np.sum(weighted["0"].weights) == 2.0


LABELS = {
    "text": np.array(["Gentoo", "Adelie"], dtype=object),
    "truth values": np.array([False, True]),
    "numbers": np.array([0.5, 2.0]),
    "ordered categories": pd.Categorical(["small", "large"], categories=["small", "large"], ordered=True),
}


@pytest.mark.parametrize("labels", LABELS)
def test_every_kind_of_label(labels):
    rng = np.random.default_rng(21)
    draws, reference = (null(rng, 60, 2) for _ in range(2))
    for table in (draws, reference):
        table["species"] = LABELS[labels][table["species"].to_numpy()]
    reference = reference.iloc[::-1]  # levels are matched by label, not by the order in which they occur
    result = rank_groups(draws, reference, by="species", iid=True)
    expected = {
        "text": ["Adelie", "Gentoo"],
        "truth values": ["False", "True"],
        "numbers": ["0.5", "2"],
        "ordered categories": ["small", "large"],
    }
    assert list(result.groups) == expected[labels]
    first = draws["species"].astype(str) == ("0.5" if labels == "numbers" else expected[labels][0])
    assert result[expected[labels][0]]["x", "y"].tau == cd.kendall_tau(draws["x"][first], draws["y"][first])
    assert "species" in result.overall.names  # text too: pairs with it have form


def test_labels_of_another_order_and_of_one_sample_only():
    rng = np.random.default_rng(22)
    names = np.array(["Chinstrap", "Adelie", "Gentoo"])
    draws, reference = null(rng, 60, 3), null(rng, 60, 2)
    draws["species"], reference["species"] = names[draws["species"]], names[[2, 0]][reference["species"]]
    result = rank_groups(draws, reference, by="species", iid=True)
    assert set(result.groups) == {"Chinstrap", "Gentoo"}
    assert result.left_out == {"Adelie": "only in the draws, 60 rows"}
    inside = draws[draws["species"] == "Gentoo"]
    assert result["Gentoo"]["x", "y"].tau == cd.kendall_tau(inside["x"], inside["y"])


def test_what_says_nothing_by_itself_is_named_with_its_column():
    rng = np.random.default_rng(23)
    tables = [null(rng, 40, 2).assign(smoker=np.arange(80) % 2 == 0) for _ in range(2)]
    assert rank_groups(*tables, by="smoker", iid=True).named == {"False": "smoker False", "True": "smoker True"}


@pytest.mark.parametrize("kind", ["dict", "array", "csv", "parquet", "polars", "arrow"])
def test_every_kind_of_table(kind, tmp_path):
    rng = np.random.default_rng(16)
    tables, by = [null(rng, 40, 2), null(rng, 40, 2)], "species"
    if kind != "array":
        tables = [t.assign(species=np.array(["a", "b"])[t["species"]]) for t in tables]
    if kind == "dict":
        tables = [{name: t[name].to_numpy() for name in t} for t in tables]
    elif kind == "array":
        tables, by = [t.to_numpy() for t in tables], "x3"
    elif kind == "polars":
        tables = [pytest.importorskip("polars").from_pandas(t) for t in tables]
    elif kind == "arrow":
        tables = [pytest.importorskip("pyarrow").Table.from_pandas(t) for t in tables]
    else:
        paths = [tmp_path / f"{k}.{kind}" for k in range(2)]
        for path, t in zip(paths, tables, strict=True):
            getattr(t, f"to_{kind}")(path, index=False)
        tables = paths
    result = rank_groups(*tables, by=by, iid=True)
    labels = ["0", "1"] if kind == "array" else ["a", "b"]
    assert list(result.groups) == labels
    assert result.sizes(labels[0]) == (40, 40)


@pytest.mark.parametrize(
    ("by", "code", "words"),
    [
        ("specis", "unknown-name", "did you mean 'species'"),
        ("x", "too-many-groups", "bins"),
        ("text", "too-many-groups", "bins"),
        ("day", "dates", "its year"),
        (["species", "many"], "too-many-groups", "combinations"),
        ([], "argument", "empty list"),
        (3, "argument", "name of a column"),
        (["species", "species"], "argument", "occurs twice"),
        ("many", "too-small", "no group of many can be compared"),
    ],
)
def test_columns_that_cannot_be_used(by, code, words):
    rng = np.random.default_rng(17)
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(160) % 40, unit="D")
    texts = [f"customer {k}" for k in range(160)]
    tables = [null(rng, 40, 4).assign(many=np.arange(160) % 37, text=texts, day=days) for _ in range(2)]
    with pytest.raises(cd.InputError, match=words) as caught:
        cd.pairwise(*tables, by=by, iid=True, exclude=["text", "day"])
    assert caught.value.code == code
    assert MOST_GROUPS == 50


def test_targets_and_chains_that_have_no_groups():
    rng = np.random.default_rng(18)
    table = null(rng, 40, 2)
    for target in (None, cd.Gaussian(0.3), np.eye(4), {("x", "y"): cd.Frank(2.0)}):
        with pytest.raises(cd.InputError, match="by needs a reference sample"):
            cd.pairwise(table, target, by="species")
    with pytest.raises(cd.InputError, match="tables without chains"):
        cd.pairwise(table, table, by="species", chains=2)
    with pytest.raises(cd.InputError, match="tables without chains"):
        cd.pairwise(table.assign(chain=np.arange(80) // 40), null(rng, 40, 2), by="species")
    with pytest.raises(cd.InputError, match="share no group"):
        cd.pairwise(table, table.assign(species=table["species"] + 7), by="species")


# ---- words, files and pictures -------------------------------------------------------------------------------------


def test_words_and_numbers(reversed_):
    text = repr(reversed_)
    assert text.index("Simpson's reversal in 1 pair") < text.index("Reversals:") < text.index("all rows   ")
    assert "Simpson" in reversed_._repr_html_()
    heading, *lines = reversed_.table_rows()
    assert [line[0] for line in lines] == ["all rows", *reversed_.ranked]
    assert heading[:4] == ["group", "rows", "reference", "gaps"]
    table = reversed_.to_dataframe()
    assert table["group"].value_counts().to_dict() == {"all rows": 6, "0": 3, "1": 3, "2": 3}
    plain = json.loads(json.dumps(reversed_.to_dict()))
    assert plain["worst"]["group"] == reversed_.worst[0]
    assert plain["reversals"][0]["groups"] == ["0", "1", "2"]
    assert plain["groups"]["1"]["pairs"][0]["first"] == "x"
    assert len(plain["overall"]["pairs"]) == 6
    assert list(reversed_) == ["0", "1", "2"]
    with pytest.raises(cd.InputError, match="there is no group '9'"):
        reversed_["9"]


def test_forest(reversed_):
    from matplotlib.figure import Figure

    ax = reversed_.plot(ax=Figure().subplots())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["all rows", "species 0", "species 1", "species 2"]
    marks = [line.get_xdata()[0] for line in ax.lines if len(np.atleast_1d(line.get_xdata())) == 1]
    assert marks[2] == pytest.approx(reversed_["0"]["x", "y"].tau)
    assert marks[3] == pytest.approx(reversed_["0"]["x", "y"].tau_target)
    named = reversed_.plot("z", "y", ax=Figure().subplots())
    assert "z ~ y" in named.get_xlabel()
    with pytest.raises(cd.InputError, match="'q'"):
        reversed_.plot("x", "q", ax=Figure().subplots())
    with pytest.raises(cd.InputError, match="two variables"):
        reversed_.plot("x", ax=Figure().subplots())
    with pytest.raises(cd.InputError, match="in no group"):
        reversed_.plot("x", "species", ax=Figure().subplots())


def test_page(reversed_, tmp_path):
    page = reversed_.to_html(tmp_path / "groups.html")
    text = page.read_text(encoding="utf-8")
    assert "All rows and 3 groups by species" in text
    assert text.index('id="groups"') < text.index('id="maps"')
    assert 'id="group-1-1"' in text
    assert 'href="#group-1-1"' in text
    assert "by=&#39;species&#39;" in text
    assert len(text) < 3_000_000
    numbers = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert numbers["flagged"] == list(reversed_.flagged)
    assert len(numbers["groups"]["0"]["pairs"]) == 3
    with pytest.raises(cd.InputError, match="already exist"):
        reversed_.to_html(page)


def test_checkpoint_per_group(tmp_path):
    rng = np.random.default_rng(19)
    draws, reference = null(rng, 40, 2), null(rng, 40, 2)
    first = rank_groups(draws, reference, by="species", iid=True, checkpoint=tmp_path / "kept")
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"all_rows", "group_1", "group_2"}
    again = rank_groups(draws, reference, by="species", iid=True, checkpoint=tmp_path / "kept")
    assert json_text(first.to_dict()) == json_text(again.to_dict())


def test_gate(reversed_):
    assert gate_groups(reversed_).code == "answered"
    failed = gate_groups(reversed_, max_gap=0.5)
    assert failed.failed
    assert "within species" in failed.sentence
    rng = np.random.default_rng(20)
    fine = rank_groups(null(rng, 100, 2), null(rng, 100, 2), by="species", iid=True)
    passed = gate_groups(fine, max_gap=0.9)
    assert passed.code == "passed"
    assert "the same within 2 groups" in passed.sentence
    assert gate_groups(fine, min_n_eff=150).code == "too-few-draws"
    assert gate_groups(fine, margins=True).code == "passed"
    table = null(rng, 60, 2)
    void = pytest.raises(cd.InputError, match="no group of species can be compared")
    with void:
        rank_groups(table, table, by="species", iid=True)
    assert math.isfinite(fine.worst[1].tau)
