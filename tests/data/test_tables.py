"""Tables of any library: columns are matched by name, dates and identifiers left out, rows in the order of their dates."""

import datetime
import sys
from collections import namedtuple

import arviz_base as az
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import copula_discrepancy as cd
from copula_discrepancy.data.readers.non_variables import is_identifier_name
from tests.data.refusals import refusal, refused

RNG = np.random.default_rng(1)
N = 400
COMMON = RNG.standard_normal(N)
REAL = pd.DataFrame(
    {"a": COMMON + 0.3 * RNG.standard_normal(N), "b": COMMON + 0.5 * RNG.standard_normal(N), "c": RNG.standard_normal(N)}
)
WHOLE = REAL.assign(k=RNG.integers(0, 50, N))


def dask_frame(frame, npartitions=3):
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=npartitions, sort=False)


def duckdb_relation(frame):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(pa.Table.from_pandas(frame))


class Interchanged:
    """A table of a library that has the older protocol only."""

    def __init__(self, frame):
        self.table = pa.Table.from_pandas(frame, preserve_index=False)

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.table.__dataframe__()


class Streamed:
    """A table of a library that has Arrow's protocol only."""

    def __init__(self, frame):
        self.table = pa.Table.from_pandas(frame, preserve_index=False)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Convertible:
    """A table of a library that has nothing but names and a way to pandas."""

    def __init__(self, frame):
        self.frame, self.columns = frame, list(frame.columns)

    def toPandas(self):
        return self.frame

    def __array__(self, dtype=None, copy=None):
        return self.frame.to_numpy()


def reader(frame):
    table = pa.Table.from_pandas(frame)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=50))


def rows(frame):
    row = namedtuple("row", frame.columns)
    return [row(*values) for values in frame.itertuples(index=False)]


TABLES = {
    "pyarrow.Table": pa.Table.from_pandas,
    "RecordBatch": lambda frame: pa.RecordBatch.from_pandas(frame),
    "RecordBatchReader": reader,
    "polars": pl.from_pandas,
    "dask": dask_frame,
    "duckdb": duckdb_relation,
    "__dataframe__": Interchanged,
    "__arrow_c_stream__": Streamed,
    "toPandas": Convertible,
    "structured": lambda frame: np.array(frame.to_records(index=False)),
    "recarray": lambda frame: frame.to_records(index=False),
    "named tuples": rows,
}


@pytest.mark.parametrize("kind", TABLES)
def test_columns_in_another_order_are_matched_by_name(kind):
    make = TABLES[kind]
    given = cd.as_draws(make(WHOLE))
    assert given.names == ("a", "b", "c", "k")
    assert given.named
    assert not given.chained
    np.testing.assert_array_equal(given.values[0], WHOLE.to_numpy())
    turned = WHOLE[["k", "c", "a", "b"]]
    fidelity = cd.DependenceFidelity.compute(WHOLE[:200], turned[200:])
    assert fidelity == cd.DependenceFidelity.compute(make(WHOLE[:200]), make(turned[200:])) > 0.7
    chosen = cd.as_draws(make(WHOLE), var_names=["k", "a"])
    assert chosen.names == ("k", "a")
    np.testing.assert_array_equal(chosen.values[0], WHOLE[["k", "a"]].to_numpy())
    assert cd.as_draws(make(WHOLE), var_names="~b").names == ("a", "c", "k")
    assert cd.as_draws(make(WHOLE), exclude=["b", "k"]).names == ("a", "c")
    refused("unknown-name", make(WHOLE), var_names="d")


@pytest.mark.parametrize("kind", [kind for kind in TABLES if kind != "named tuples"])
def test_a_chain_column_makes_chains_in_every_library(kind):
    chains = WHOLE.assign(chain=np.repeat([2, 1], 200), draw=np.tile(np.arange(200), 2)).sample(frac=1, random_state=1)
    given = cd.as_draws(TABLES[kind](chains.reset_index(drop=True)), var_names=["b", "a"])
    assert given.chain_column == "chain"
    np.testing.assert_array_equal(given.values[1], WHOLE[:200][["b", "a"]])
    np.testing.assert_array_equal(given.values[0], WHOLE[200:][["b", "a"]])


@pytest.mark.parametrize("kind", [kind for kind in TABLES if kind != "named tuples"])
def test_tables_in_a_list_are_chains_or_parts(kind):
    parts = [REAL[:200], REAL[200:][["c", "b", "a"]]]
    tables = [TABLES[kind](part.reset_index(drop=True)) for part in parts]
    given = cd.as_draws(tables)
    assert given.names == ("a", "b", "c")
    np.testing.assert_array_equal(given.values, REAL.to_numpy().reshape(2, 200, 3))
    whole = cd.as_draws([TABLES[kind](part.reset_index(drop=True)) for part in parts], parts="rows")
    assert not whole.chained
    np.testing.assert_array_equal(whole.values[0], REAL)


def test_arrays_in_a_list_may_be_parts_too():
    parts = [REAL.to_numpy()[:150], REAL.to_numpy()[150:]]
    np.testing.assert_array_equal(cd.as_draws(parts, parts="rows").values[0], REAL)
    refused("shape", parts)
    refused("argument", parts, parts="row")
    chains = REAL.assign(chain=np.arange(N) % 2)
    refused("shape", [chains, chains], parts="rows")
    refused("argument", [pa.Table.from_pandas(REAL), parts[0]])


def test_dask_keeps_the_order_of_partitions_with_and_without_divisions():
    dd = pytest.importorskip("dask.dataframe")
    parts = [REAL[:150], REAL[150:170], REAL[170:]]
    unknown = dd.from_map(lambda k: parts[k][::-1].reset_index(drop=True), range(3), meta=REAL.iloc[:0])
    assert not unknown.known_divisions
    expected = np.vstack([part.to_numpy()[::-1] for part in parts])
    assert cd.as_draws(unknown).names == ("a", "b", "c")
    np.testing.assert_array_equal(cd.as_draws(unknown).values[0], expected)
    assert cd.as_draws(unknown, chains=4).n_chains == 4


def test_dask_computes_only_the_selected_columns():
    def fail(column):
        raise AssertionError("computed")

    frame = dask_frame(REAL)
    frame = frame.assign(bad=frame["a"].map_partitions(fail, meta=("bad", float)))
    assert cd.as_draws(frame, var_names=["b", "a"]).names == ("b", "a")
    with pytest.raises(AssertionError, match="computed"):
        cd.as_draws(frame)


def test_duckdb_computes_only_what_is_asked_for():
    duckdb = pytest.importorskip("duckdb")
    # the second column cannot be computed at all: whoever reads it fails
    relation = duckdb.sql('select i::double as a, error(\'read\') as b, -i::double as "c ""d""" from range(10) t(i)')
    given = cd.as_draws(relation, var_names=['c "d"', "a"])
    np.testing.assert_array_equal(given.values[0], np.column_stack([-np.arange(10.0), np.arange(10.0)]))
    decimals = duckdb.sql("select * from (values (1.5, true), (2.25, null), (3.0, false)) t(a, b)")
    assert cd.as_draws(decimals, var_names="a").values[0, :, 0].tolist() == [1.5, 2.25, 3.0]
    assert cd.as_draws(decimals, missing="drop").values[0].tolist() == [[1.5, 1.0], [3.0, 0.0]]


def test_arrow_tables_that_cannot_be_used():
    numbers = pa.array([1.0, 2.0, 4.0])
    refused("argument", pa.Table.from_arrays([numbers, numbers], names=["a", "a"]))
    for nested, kind in ((pa.array([[1.0], [2.0], [3.0]]), "list<"), (pa.array([{"x": 1}] * 3), "struct<x: int64>")):
        table = pa.table({"a": numbers, "deep": nested, "b": numbers})
        assert kind in refused("shape", table)
        assert cd.as_draws(table, exclude="deep").names == ("a", "b")
    refused("not-numeric", pa.table({"a": numbers, "word": ["x", "y", "z"]}))
    refused("shape", Streamed.__new__(type("Bare", (), {"__arrow_c_stream__": numbers_stream})))
    refused("shape", pa.chunked_array([numbers]))
    refused("shape", pl.Series("a", [1.0, 2.0]))


def test_without_pyarrow(monkeypatch):
    streamed, relation = Streamed(REAL), duckdb_relation(REAL)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused("dependency", streamed)
    np.testing.assert_array_equal(cd.as_draws(relation, var_names=["c", "a"]).values[0], REAL[["c", "a"]])


def numbers_stream(self, requested_schema=None):
    return pa.chunked_array([[1.0, 2.0]]).__arrow_c_stream__()


def test_structured_arrays_that_cannot_be_used():
    deep = np.zeros(3, [("a", float), ("p", [("x", float), ("y", float)]), ("v", float, (2,))])
    refused("shape", deep)
    refused("shape", deep, exclude="p")
    assert cd.as_draws(deep, var_names="a").names == ("a",)
    chains = np.zeros((2, 5), [("a", float), ("b", float)])
    assert cd.as_draws(chains).values.shape == (2, 5, 2)


def test_arrays_in_a_tuple_with_names():
    state = namedtuple("state", ["mu", "tau"])(REAL["a"].to_numpy(), REAL["b"].to_numpy())
    given = cd.as_draws(state)
    assert given.names == ("mu", "tau")
    np.testing.assert_array_equal(given.values[0], REAL[["a", "b"]])


def test_many_rows_in_a_list_are_not_looked_at_one_by_one(monkeypatch):
    from copula_discrepancy.data.readers import dispatch

    asked = []
    monkeypatch.setattr(dispatch, "is_tabular", lambda item: asked.append(item) or False)
    assert cd.as_draws(REAL.to_numpy().tolist()).n_draws == N
    assert not asked


def test_a_number_of_variables_that_differs_by_what_was_left_out():
    refusal("names-differ", cd.pairwise, REAL.assign(id=np.arange(N)), np.ones((N, 4)), iid=True)


def test_nothing_with_names_is_read_without_them():
    class Unknown:
        """Names, an array, and no way to have both."""

        colnames = ("a", "b")

        def __array__(self, dtype=None, copy=None):
            return np.ones((5, 2))

    refused("argument", Unknown())
    refused("argument", [Unknown(), np.ones((5, 2))])
    refused("argument", {"x": REAL, "y": REAL})
    refused("argument", Broken())


class Broken:
    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        raise RuntimeError("no table today\nsecond line")


# dates and identifiers


DAYS = pd.date_range("2020-01-01", periods=N)


@pytest.mark.parametrize("make", [lambda frame: frame, pa.Table.from_pandas, pl.from_pandas], ids=["pandas", "arrow", "polars"])
@pytest.mark.parametrize(
    "column",
    [
        DAYS,
        DAYS.tz_localize("UTC"),
        DAYS - DAYS[0],
        pd.Series(DAYS.date),
        pd.Series([datetime.time(k // 60 % 24, k % 60) for k in range(N)]),
        pd.Series(DAYS.strftime("%Y-%m-%d")),
        pd.Series(DAYS.strftime("%Y-%m-%dT%H:%M:%SZ")).where(np.arange(N) > 3),
        pd.Series(DAYS.strftime("%d.%m.%Y %H:%M")),
        pd.Series(DAYS.strftime("%H:%M:%S")),
    ],
    ids=["datetime", "zoned", "timedelta", "date", "time", "text", "ISO with gaps", "german", "clock"],
)  # fmt: skip
def test_dates_are_left_out_and_told(make, column):
    table = make(REAL.assign(when=np.asarray(column) if isinstance(column, pd.DatetimeIndex) and column.tz is None else column))
    given = cd.as_draws(table)
    assert given.names == ("a", "b", "c")
    assert given.left_out == (("when", "dates"),)
    (note,) = given.notes
    assert note.endswith(" when (dates)")
    refused("not-numeric", table, var_names=["a", "when"])
    # again, and of a selection
    assert cd.as_draws(given, var_names="a").left_out == given.select(["b"]).left_out == given.left_out


def test_periods_are_dates_and_numbers_are_none():
    frame = REAL.assign(when=pd.period_range("1990-01", periods=N, freq="M"), month=np.tile([2020.12, 2020.11], N // 2))
    given = cd.as_draws(frame)
    assert given.left_out == (("when", "dates"),)
    assert "month" in given.names
    refused("not-numeric", REAL.assign(word=["2020-01-01"] * (N - 1) + ["later"]))
    refused("shape", frame[["when"]].assign(id=range(N)))


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("id", np.arange(N)[::-1], "identifier"),
        ("customer_id", RNG.permutation(10**6)[:N], "identifier"),
        ("CustomerID", RNG.permutation(10**6)[:N] + 2**60, "identifier"),
        ("key", [f"k{k}" for k in range(N)], "identifier"),
        ("uuid", [f"{k:032x}" for k in range(N)], "identifier"),
        ("user id", [f"u{k % 7}" for k in range(N)], "identifier"),  # text is no variable: it may repeat
        ("Row Number", np.arange(N) * 2, "identifier"),
        ("customer", np.arange(N) + 10_001, "row numbers"),
        ("n", np.arange(N), "row numbers"),
    ],
)
def test_identifiers_are_left_out_and_told(name, column, reason):
    table = REAL.assign(**{name: column})
    given = cd.as_draws(table)
    assert given.names == ("a", "b", "c")
    assert given.left_out == ((name, reason),)
    assert f" {name} ({reason})" in given.notes[0]
    if not isinstance(column, list):
        named = cd.as_draws(table, var_names=[name, "a"])
        assert named.names == (name, "a")
        assert named.left_out == ()
    # patterns name nothing
    assert cd.as_draws(table, var_names=".", filter_vars="regex").left_out == given.left_out
    assert cd.as_draws(table, var_names="~b").left_out == given.left_out


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("income", RNG.permutation(10**6)[:N]),  # all different, and measured
        ("id", np.arange(N) % 50),  # repeated: a code of something
        ("id", np.arange(N, dtype=float)),  # a float is no identifier
        ("id", np.arange(N) > 50),
        ("price_index", RNG.permutation(10**6)[:N]),
        ("acid", RNG.permutation(10**6)[:N]),
        ("year", np.arange(N) + 1600),
        ("Days since", np.arange(N)),
        ("t", np.arange(N)),
        ("n", np.arange(N)[::-1]),
        ("n", np.arange(N) * 2),
    ],
)
def test_honest_variables_stay(name, column):
    given = cd.as_draws(REAL.assign(**{name: column}))
    assert given.names == ("a", "b", "c", name)
    assert given.left_out == ()


def test_a_short_table_may_go_through_its_settings_in_order():
    for n, kept in ((99, True), (100, False)):
        assert ("dose" in cd.as_draws(REAL[:n].assign(dose=np.arange(n) + 1)).names) == kept


@pytest.mark.parametrize("name", ["id", "ID", "Id", "order_id", "orderId", "order.id", "GUID", "key", "fk_key", "row no"])
def test_names_of_identifiers(name):
    assert is_identifier_name(name)


@pytest.mark.parametrize("name", ["humid", "paid", "covid", "video", "mass index", "keys", "number", "width", "idle", "", "ö"])
def test_names_of_anything_else(name):
    assert not is_identifier_name(name)


def test_what_one_side_left_out_is_left_out_of_the_other():
    real = REAL.assign(id=np.arange(N))
    fake = (REAL + RNG.normal(scale=0.1, size=REAL.shape)).assign(id=RNG.integers(0, N, N))
    assert "id" in cd.as_draws(fake).names
    for draws, reference in ((fake, real), (real, fake)):
        result = cd.pairwise(draws, reference, iid=True)
        assert set(result.names) == {"a", "b", "c"}
        assert [dict(sample.left_out) for sample in result.samples] == [{"id": "identifier"}] * 2
        own, other = (note for note in result.notes if "id (identifier)" in note)
        assert other.startswith("reference: ")
        assert own != other.removeprefix("reference: ")  # in one of the two because of the other
    assert 0 <= cd.DependenceFidelity.compute(real, fake) <= 1
    pair = cd.discrepancy(real[["a", "b", "id"]], fake[["b", "a", "id"]], iid=True)
    assert np.isfinite(pair.level.value)
    named = cd.as_draws(fake[["id", "id"]].set_axis(["id", "key"], axis=1), var_names=["id", "key"])
    refusal("names-differ", cd.pairwise, named, real.assign(key=np.arange(N)), iid=True)


# rows in the order of their dates


@pytest.mark.parametrize("make", [lambda frame: frame, pa.Table.from_pandas, dask_frame], ids=["pandas", "arrow", "dask"])
def test_rows_are_put_in_the_order_of_an_index_of_dates(make):
    dated = REAL.set_axis(DAYS, axis=0)
    assert cd.as_draws(make(dated)).notes == ()
    given = cd.as_draws(make(dated.sample(frac=1, random_state=3)))
    np.testing.assert_array_equal(given.values[0], REAL)
    assert len(given.notes) == 1


def test_equal_dates_keep_their_order_and_missing_ones_come_last():
    twice = REAL.set_axis(DAYS[np.repeat(np.arange(N // 2), 2)][::-1], axis=0)
    pairs = REAL.to_numpy().reshape(N // 2, 2, 3)[::-1].reshape(N, 3)
    np.testing.assert_array_equal(cd.as_draws(twice).values[0], pairs)
    days = DAYS.to_series(index=range(N))
    days[0] = pd.NaT
    given = cd.as_draws(REAL.set_axis(pd.DatetimeIndex(days), axis=0))
    np.testing.assert_array_equal(given.values[0], np.roll(REAL.to_numpy(), -1, axis=0))
    assert " 1 undated" in given.notes[0]
    periods = REAL.set_axis(pd.period_range("1990-01", periods=N, freq="M")[::-1], axis=0)
    np.testing.assert_array_equal(cd.as_draws(periods).values[0], REAL.to_numpy()[::-1])


# selection


def test_exclude_is_part_of_the_selection():
    frame = pd.DataFrame({name: [1.0, 2.0] for name in ("mu", "theta[1]", "tau", "theta[2]", "log tau")})
    for source in (frame, cd.as_draws(frame), [frame, frame], dict(frame)):
        for choices, names in [
            ({"exclude": "tau"}, ["mu", "theta[1]", "theta[2]", "log tau"]),
            ({"exclude": ["theta", "mu"]}, ["tau", "log tau"]),
            ({"var_names": ["theta", "mu"], "exclude": "theta[1]"}, ["theta[2]", "mu"]),
            ({"var_names": ["theta", "mu"], "exclude": "tau"}, ["theta[1]", "theta[2]", "mu"]),
            ({"var_names": "~mu", "exclude": "tau"}, ["theta[1]", "theta[2]", "log tau"]),
            ({"exclude": "tau", "filter_vars": "like"}, ["mu", "theta[1]", "theta[2]"]),
            ({"var_names": "a", "exclude": r"\d", "filter_vars": "regex"}, ["tau", "log tau"]),
        ]:
            assert list(cd.as_draws(source, **choices).names) == names
    refused("unknown-name", frame, exclude="tua")
    refused("argument", frame, var_names="mu", exclude=["mu", "tau"])
    refused("argument", frame, exclude=3)
    refused("argument", frame, exclude="(", filter_vars="regex")
    assert cd.as_draws(np.ones((3, 4)) + np.arange(4), exclude="x2").names == ("x0", "x1", "x3")


def test_exclude_of_labelled_variables_and_of_what_is_gone():
    posterior = {"mu": RNG.normal(size=(2, 9)), "theta": RNG.normal(size=(2, 9, 3))}
    dataset = az.from_dict({"posterior": posterior})
    for source in (posterior, dataset, dataset["posterior"].to_dataset()):
        assert cd.as_draws(source, exclude="theta[1]").names == ("mu", "theta[0]", "theta[2]")
        assert cd.as_draws(source, var_names="mu", exclude="theta").names == ("mu",)
        refused("unknown-name", source, var_names="mu", exclude="tau")
    read = cd.as_draws(REAL.assign(id=range(N)))
    assert cd.as_draws(read, exclude=["id", "b"]).names == ("a", "c")


def test_a_wide_table_with_text_says_what_to_leave_out():
    wide = pd.DataFrame(RNG.normal(size=(5, 30))).rename(columns=str).assign(word="x", other="y")
    refused("not-numeric", wide)
    assert cd.as_draws(wide, exclude=["word", "other"]).n_variables == 30


def test_the_chain_column_of_the_draws_is_that_of_the_reference():
    draws = REAL.assign(path=np.repeat(np.arange(4), 100))
    reference = REAL.sample(frac=1, random_state=1).assign(path=np.repeat(np.arange(8), 50))
    with pytest.warns(cd.DependenceWarning):  # 400 rows make four short chains
        result = cd.pairwise(draws, reference, chains="path")
    assert result.names == ("a", "b", "c")
    assert result.samples[0].n_chains == 4
    assert result.samples[1].n_chains == 8
    with pytest.warns(cd.DependenceWarning):
        alone = cd.pairwise(draws, REAL[::-1], chains="path")
    assert alone.samples[1].n_chains == 1
    assert alone.samples[1].chain_column is None
    (note,) = (note for note in alone.notes if note.startswith("reference: "))
    assert "path" in note


def test_missing_values_of_pandas_outside_of_a_frame():
    """pandas' NA cannot be compared, which must not end in an error of pandas."""
    text = np.array(["u", pd.NA, "w"], dtype=object)
    refused("not-numeric", {"a": [1.0, 2.0, 3.0], "b": text})
    refused("nan", {"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 3.0], "chain": text})
