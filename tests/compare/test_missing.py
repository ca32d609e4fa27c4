"""Missing values: an error, rows left out, or kept for whoever takes each pair by itself."""

import io
import json
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli import parser
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare.wording import NOT_TESTED
from tests.caveat_codes import warned
from tests.compare.misuse import refused_naming
from tests.data.refusals import refusal, refused

RNG = np.random.default_rng(1)
N = 1000
TABLE = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["age", "income", "spending"])
GAPS = TABLE.copy()
GAPS.iloc[:200, 0] = np.nan
GAPS.iloc[150:160, 2] = np.nan
COUNTS = ["age (200 of 1,000)", "spending (10 of 1,000)"]


def counted(note):
    """The columns that a note names with how many of their values are missing."""
    return re.findall(r"\w+ \([\d,]+ of [\d,]+\)", note)


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas, lambda frame: dict(frame.items())])
@pytest.mark.parametrize("missing", ["pairs", None])
def test_pairs_keeps_what_is_missing(make, missing):
    given = cd.as_draws(make(GAPS), missing=missing)
    assert given.incomplete
    assert [counted(note) for note in given.notes] == [COUNTS]
    np.testing.assert_array_equal(given.values[0], GAPS)
    assert not given.values.flags.writeable
    whole = cd.as_draws(make(TABLE), missing=missing)
    assert not whole.incomplete
    assert whole.notes == ()


def test_whoever_does_not_know_pairs_refuses_them():
    given = cd.as_draws(GAPS, missing="pairs")
    for function in (cd.as_draws, cd.pseudo_observations, cd.kendall_matrix):
        told = refusal("nan", function, given)
        for shown in ("age (200 of 1000", "row 0", "spending (10 of 1000", "row 150"):
            assert shown in told
    assert cd.as_draws(given, missing="pairs").incomplete
    assert cd.as_draws(given, missing=None).incomplete
    assert cd.as_draws(given, missing=None).notes == given.notes  # told once
    dropped = cd.as_draws(given, missing="drop")
    np.testing.assert_array_equal(dropped.values[0], GAPS.dropna())
    assert not dropped.incomplete
    assert not dropped.values.flags.writeable
    assert dropped.notes[:-1] == given.notes
    assert dropped.notes[-1].endswith(": 200 of 1000")
    np.testing.assert_array_equal(cd.as_draws(GAPS, missing="drop").values, dropped.values)


def test_a_selection_may_be_complete():
    given = cd.as_draws(GAPS, missing="pairs")
    assert not given.select(["income"]).incomplete
    assert given.select(["income", "age"]).incomplete
    assert not cd.as_draws(given, var_names="income").incomplete
    assert cd.as_draws(GAPS, var_names="income", missing=None).notes == ()


@pytest.mark.parametrize(
    "empty", [pd.Series([None] * N), pd.Series([pd.NA] * N, dtype="string"), pl.Series([None] * N), pa.nulls(N)]
)
def test_a_column_without_values_has_no_type(empty):
    table = {"a": TABLE["age"], "b": TABLE["income"], "e7": empty}
    table = (
        pa.table(table)
        if isinstance(empty, pa.Array)
        else pl.DataFrame(table)
        if isinstance(empty, pl.Series)
        else pd.DataFrame(table)
    )
    for missing in ("pairs", "drop"):
        assert "e7" in refused("nan", table, missing=missing)
    assert cd.as_draws(table, exclude="e7").names == ("a", "b")


def test_what_pairs_cannot_keep():
    infinite = GAPS.copy()
    infinite.iloc[5, 1] = np.inf
    told = refused("infinite", infinite, missing="pairs")
    assert "income (1 of 1000" in told
    assert "row 5)" in told
    assert "NaN" not in told
    assert "--exclude" in refused("nan", GAPS.assign(age=np.nan), missing="pairs")
    chains = GAPS.assign(chain=np.repeat(np.arange(4), 250))
    for missing in ("pairs", None, "raise"):
        told = refused("nan", chains, missing=missing)
        for shown in ("age (200 of 1000", "draw 0", "chain 0"):
            assert shown in told
        assert ("missing=" in told) == (missing == "pairs")  # which keeps no draws of chains
    for missing in ("listwise", "drop"):
        assert f"missing={missing!r}" in refused("nan", chains, missing=missing)
    assert "chain 0" in refused("nan", GAPS, chains=4, missing="pairs")
    assert "chain 0" in refused("nan", cd.as_draws(GAPS, missing="pairs"), chains=4, missing="pairs")
    refused("argument", GAPS, missing="ignore")


def test_none_is_raise_where_there_are_no_names():
    array = GAPS.to_numpy()
    told = refused("nan", array, missing=None)
    assert "x0 (200 of 1000" in told
    assert "draw 0)" in told
    assert cd.as_draws(array, missing="pairs").incomplete
    assert "chain 0" in refused("nan", array.reshape(2, 500, 3), missing="pairs")


def test_rows_are_told_of_a_table_and_draws_of_a_sampler():
    told = refused("nan", GAPS)
    assert "--missing listwise" in told
    assert "sampler" not in told
    assert "draw" not in told
    told = refused("nan", GAPS.to_numpy())
    assert "missing='listwise'" in told
    assert "sampler" in told
    assert "2 rows" in refused("too-few-draws", TABLE[:1])


def test_the_command_line_says_which(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    GAPS.to_csv("gaps.csv", index=False)
    seen = []

    def judged(options, draws, *given, **choices):
        seen.append(draws)
        raise cd.InputError("seen")

    monkeypatch.setattr("copula_discrepancy.cli.commands._judge", judged)
    for arguments in ([], ["--missing", "pairs"], ["--drop-missing"], ["--missing", "listwise"]):
        assert parser.main(["check", "gaps.csv", "--iid", *arguments]) == 1
    assert [draws.incomplete for draws in seen] == [True, True, True, False]
    assert [draws.n_draws for draws in seen] == [1000, 1000, 1000, 800]
    capsys.readouterr()
    assert parser.main(["check", "gaps.csv", "--iid", "--missing", "raise"]) == 1
    told = capsys.readouterr().err
    assert "gaps.csv: " in told
    assert "age (200 of 1000" in told
    assert len(seen) == 4
    with pytest.raises(SystemExit):
        parser.main(["check", "gaps.csv", "--missing", "ignore"])


# ---- pairs that use the rows complete in both -----------------------------------------------------------------------------


def gappy(seed, n=600, d=4, share=0.2):
    rng = np.random.default_rng(seed)
    values = rng.multivariate_normal(np.zeros(d), 0.5 * np.eye(d) + 0.5, n)
    values[rng.random((n, d)) < share] = np.nan
    return pd.DataFrame(values, columns=[f"c{k}" for k in range(d)])


def rows_of(result):
    """The rows of pairs of columns; indicators of missing values have tests of their own."""
    rows = (row for _, row in result.to_dataframe().iterrows())
    return {(row["first"], row["second"]): row for row in rows if "is missing" not in row["first"] + row["second"]}


@pytest.mark.filterwarnings("ignore:.*what missing values depend on:copula_discrepancy.DependenceWarning")
@pytest.mark.parametrize("target", ["reference", "complete", "correlations", "nothing"])
def test_every_pair_is_that_of_its_complete_rows(target):
    """To the last bit: what is missing elsewhere does not matter, and n says how many rows there were."""
    aims = {"reference": gappy(2), "complete": gappy(2, share=0.0), "correlations": 0.5 * np.eye(4) + 0.5, "nothing": None}
    draws, aim = gappy(1), aims[target]
    found = rows_of(cd.pairwise(draws, aim, iid=True, adjust="none"))
    assert len(found) == 6
    for (a, b), row in found.items():
        columns = [a, b]
        here = draws[columns].dropna()
        there = aim[columns].dropna() if isinstance(aim, pd.DataFrame) else aim if aim is None else aim[:2, :2]
        alone = cd.pairwise(here, there, iid=True, adjust="none").to_dataframe().iloc[0]
        pd.testing.assert_series_equal(row.drop("first"), alone.drop("first"), check_names=False, check_exact=True)
        assert row["n"] == len(here) < 500
        if isinstance(aim, pd.DataFrame):
            assert row["n_target"] == len(there)


def test_gaps_in_tables_with_an_order():
    """Without iid=True, standard errors know the order of rows, with rounded values too."""
    draws, reference = gappy(20).round(1), gappy(21)
    draws["c3"] = reference["c3"] = np.arange(600.0) % 7

    def judged(*samples):
        with warnings.catch_warnings():  # one is rounded, the other not
            warnings.simplefilter("ignore", cd.DependenceWarning)
            return cd.pairwise(*samples, adjust="none")

    for target in (reference, None):
        found = rows_of(judged(draws, target))
        for (a, b), row in found.items():
            here = draws[[a, b]].dropna()
            there = None if target is None else target[[a, b]].dropna()
            alone = judged(here, there).to_dataframe().iloc[0]
            assert row["level_pvalue"] == pytest.approx(alone["level_pvalue"], nan_ok=True)
            assert row["shape_se"] == pytest.approx(alone["shape_se"], nan_ok=True)
    assert np.isfinite(cd.summary(draws)["mcse"]).all()


@pytest.mark.slow
def test_nothing_is_lost_for_want_of_other_columns():
    """20 columns with 20% missing each: 994 of 1,000 rows were dropped, and "no gap found" was said of 6 draws."""
    draws, reference = gappy(3, 1000, 20), gappy(4, 1000, 20)
    result = cd.pairwise(draws, reference, iid=True, n_jobs=1)
    assert result.rows["n"].min() > 550
    assert result.n_flagged <= 1  # of 760 honest pairs at a false discovery rate of 5%
    assert result.sentences()["Rows"].startswith(f"{result.rows['n'].min():,.0f} to {result.rows['n'].max():,.0f} ")
    assert not result.warnings
    broken = draws.assign(c1=np.random.default_rng(5).permutation(draws["c1"]))
    found = cd.pairwise(broken, reference, iid=True, n_jobs=1)
    lost = [gap for gap in found if "c1" in gap.names and not any("missing" in name for name in gap.names)]
    assert len(lost) == 19
    assert all(gap.flagged for gap in lost)
    assert 19 <= found.n_flagged <= 28  # one in twenty claims may be false, and each lost pair makes up to four
    listwise = cd.pairwise(gappy(3, 4000, 4), gappy(4, 4000, 4), iid=True, missing="drop")
    assert set(listwise.rows["n"]) == {len(gappy(3, 4000, 4).dropna())}
    with refused_naming("nan", "c0"):
        cd.pairwise(draws, reference, iid=True, missing="raise")


def test_one_pair_of_a_ranking_with_gaps_is_whole():
    draws, reference = gappy(6), gappy(7)
    result = cd.pairwise(draws, reference, iid=True)
    for row in result:
        single = result.pair(*row.names)
        assert single.n == row.n
        assert single.level.value == row.level
        assert single.verdict == row.verdict
    chosen = ["c0", "c1"]
    direct = cd.discrepancy(draws[chosen], reference[chosen], family=result[*chosen].family, iid=True, missing="drop")
    assert direct.level.value == result["c0", "c1"].level
    with refused_naming("nan", "c0"):
        cd.discrepancy(draws[["c0", "c1"]], reference[["c0", "c1"]], iid=True)


def test_pairs_without_rows_in_common_are_not_tested():
    draws = gappy(8, share=0.0)
    draws.loc[:299, "c0"] = np.nan
    draws.loc[300:, "c1"] = np.nan
    draws.loc[5:, "c2"] = np.nan
    with warned("few-effective-draws"):
        result = cd.pairwise(draws, gappy(9), iid=True)
    assert result["c0", "c1"].verdict == NOT_TESTED
    assert result["c0", "c1"].n == 0
    assert result["c0", "c2"].n == 0
    assert result["c1", "c2"].n == 5
    assert re.findall(r"\d+", result.sentences()["Judged"]) == ["11", "18", "7"]
    # c0 is there where c1 is not: what is missing depends on what else is
    assert [gap.names for gap in result if gap.flagged] == [("c0 is missing", "c1 is missing")]
    json.dumps(result.to_dict())
    assert cd.summary(draws, iid=True).loc["c0 ~ c1"].isna().all()


def test_summary_and_score_take_gaps():
    draws = gappy(10)
    table = cd.summary(draws, iid=True)
    for label in ("c0 ~ c1", "c2 ~ c3"):
        alone = cd.summary(draws[label.split(" ~ ")].dropna(), iid=True)
        pd.testing.assert_series_equal(table.loc[label], alone.iloc[0], check_exact=True)
    assert cd.DependenceFidelity.compute(draws, gappy(11)) > 0.95
    assert cd.DependenceFidelity.compute(draws, gappy(11).apply(np.random.default_rng(1).permutation)) < 0.1
    constant = gappy(11).assign(c0=1.0)
    assert cd.DependenceFidelity.compute(draws, constant) < 0.7


def test_chains_with_gaps_are_an_alarm():
    chains = gappy(12).to_numpy().reshape(4, 150, 4)
    with refused_naming("nan"):
        cd.pairwise(chains)
    bare = gappy(12).to_numpy()
    with refused_naming("nan"):
        cd.pairwise(bare, iid=True)
    assert len(cd.pairwise(bare, iid=True, missing="pairs")) == 6


def test_checkpoints_know_what_is_missing(tmp_path):
    draws, reference = gappy(13), gappy(14)
    first = cd.pairwise(draws, reference, iid=True, checkpoint=tmp_path / "kept")
    again = cd.pairwise(draws, reference, iid=True, checkpoint=tmp_path / "kept")
    pd.testing.assert_frame_equal(first.to_dataframe(), again.to_dataframe(), check_exact=True)
    with refused_naming("file", "kept"):
        cd.pairwise(draws.fillna(0.0), reference, iid=True, checkpoint=tmp_path / "kept")


def test_a_page_of_a_table_with_gaps(tmp_path):
    result = cd.pairwise(gappy(15), gappy(16), iid=True)
    page = result.to_html(tmp_path / "page.html").read_text()
    assert result.sentences()["Rows"] in page
    assert result.sentences()["Reference"] in page
    assert "sampler" not in page
    assert "draws" not in page.partition("<main>")[2].partition('<section id="methods"')[0].replace("redraws", "")


def test_compare_takes_tables_with_gaps(tmp_path, capsys):
    for name, seed in (("a", 17), ("b", 18)):
        gappy(seed).to_csv(tmp_path / f"{name}.csv", index=False)
    assert main(["compare", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--iid", "--csv"]) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert table["n"].nunique() > 1
    assert main(["compare", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--iid", "--csv", "--missing", "listwise"]) == 0
    assert pd.read_csv(io.StringIO(capsys.readouterr().out))["n"].nunique() == 1
    assert main(["compare", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--missing", "raise"]) == 1
    assert "NaN" in capsys.readouterr().err
