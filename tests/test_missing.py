"""Missing values: an error, rows left out, or kept for whoever takes each pair by itself."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import copula_discrepancy as cd
from copula_discrepancy import cli

RNG = np.random.default_rng(1)
N = 1000
TABLE = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["age", "income", "spending"])
GAPS = TABLE.copy()
GAPS.iloc[:200, 0] = np.nan
GAPS.iloc[150:160, 2] = np.nan
NOTE = "missing values: 200 of 1,000 in age; 10 of 1,000 in spending"


def refused(message, draws, **choices):
    with pytest.raises(cd.InputError, match=message) as caught:
        cd.as_draws(draws, **choices)
    return str(caught.value)


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas, lambda frame: dict(frame.items())])
@pytest.mark.parametrize("missing", ["pairs", None])
def test_pairs_keeps_what_is_missing(make, missing):
    given = cd.as_draws(make(GAPS), missing=missing)
    assert given.incomplete
    assert given.notes == (NOTE,)
    np.testing.assert_array_equal(given.values[0], GAPS)
    assert not given.values.flags.writeable
    whole = cd.as_draws(make(TABLE), missing=missing)
    assert not whole.incomplete
    assert whole.notes == ()


def test_whoever_does_not_know_pairs_refuses_them():
    given = cd.as_draws(GAPS, missing="pairs")
    for function in (cd.as_draws, cd.pseudo_observations, cd.kendall_matrix, cd.summary):
        with pytest.raises(cd.InputError, match="values must be finite, got variable age: 200 NaN at row 0 first; var"):
            function(given)
    assert cd.as_draws(given, missing="pairs").incomplete
    assert cd.as_draws(given, missing=None).incomplete
    assert cd.as_draws(given, missing=None).notes == (NOTE,)  # told once
    dropped = cd.as_draws(given, missing="drop")
    np.testing.assert_array_equal(dropped.values[0], GAPS.dropna())
    assert not dropped.incomplete
    assert not dropped.values.flags.writeable
    assert dropped.notes == (NOTE, "rows with a missing value left out: 200 of 1000")
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
    table = {"a": TABLE["age"], "b": TABLE["income"], "empty": empty}
    table = (
        pa.table(table)
        if isinstance(empty, pa.Array)
        else pl.DataFrame(table)
        if isinstance(empty, pl.Series)
        else pd.DataFrame(table)
    )
    refused("empty has no values at all; leave it out", table, missing="pairs")
    refused("every one of 1000 rows has a missing value: empty has no values at all", table, missing="drop")
    assert cd.as_draws(table, exclude="empty").names == ("a", "b")


def test_what_pairs_cannot_keep():
    infinite = GAPS.copy()
    infinite.iloc[5, 1] = np.inf
    told = refused("variable income: 1 infinite at row 5 .of 1000 rows.; infinite: mend them", infinite, missing="pairs")
    assert "NaN" not in told
    refused("age has no values at all; leave it out .--exclude", GAPS.assign(age=np.nan), missing="pairs")
    chains = GAPS.assign(chain=np.repeat(np.arange(4), 250))
    for missing in ("pairs", None, "raise"):
        told = refused(
            r"variable age: 200 NaN in chain 0 at draw 0 first.*; find out why the sampler made them$", chains, missing=missing
        )
        assert "missing=" not in told
    refused("NaN in chain 0", GAPS, chains=4, missing="pairs")
    refused("NaN in chain 0", cd.as_draws(GAPS, missing="pairs"), chains=4, missing="pairs")
    refused("missing must be 'raise' or 'drop' or 'pairs', got 'ignore'", GAPS, missing="ignore")


def test_none_is_raise_where_there_are_no_names():
    array = GAPS.to_numpy()
    refused("variable x0: 200 NaN at draw 0 first", array, missing=None)
    assert cd.as_draws(array, missing="pairs").incomplete
    refused("NaN in chain 0", array.reshape(2, 500, 3), missing="pairs")


def test_rows_are_told_of_a_table_and_draws_of_a_sampler():
    told = refused(r"^values must be finite, got .*\(of 1000 rows\); NaN: leave those rows out .*--missing listwise", GAPS)
    assert "sampler" not in told
    assert "draw" not in told
    told = refused("^draws must be finite, got variable x0: .*of 1000 draws.*missing='drop'.*why the sampler", GAPS.to_numpy())
    refused("at least 2 rows", TABLE[:1])


def test_the_command_line_says_which(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    GAPS.to_csv("gaps.csv", index=False)
    seen = []

    def judged(options, draws, *given, **choices):
        seen.append(draws)
        raise cd.InputError("seen")

    monkeypatch.setattr("copula_discrepancy.commands._judge", judged)
    for arguments in ([], ["--missing", "pairs"], ["--drop-missing"], ["--missing", "listwise"]):
        assert cli.main(["check", "gaps.csv", "--iid", *arguments]) == 1
    assert [draws.incomplete for draws in seen] == [True, True, True, False]
    assert [draws.n_draws for draws in seen] == [1000, 1000, 1000, 800]
    capsys.readouterr()
    assert cli.main(["check", "gaps.csv", "--iid", "--missing", "raise"]) == 1
    assert "gaps.csv: values must be finite" in capsys.readouterr().err
    assert len(seen) == 4
    with pytest.raises(SystemExit):
        cli.main(["check", "gaps.csv", "--missing", "ignore"])
