"""Data read in pieces: all rows once and in order, bounded blocks, samples from their piece, and errors that name it."""

import gzip
import os
import pickle
import subprocess
import sys
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import xarray as xr

import copula_discrepancy as cd
from copula_discrepancy.compare import engine
from copula_discrepancy.data.streams import parquet
from copula_discrepancy.data.streams.blocks import length_of, names_in, spread, spread_over
from copula_discrepancy.data.streams.pilot import head_and_rest, pilot_blocks
from copula_discrepancy.data.streams.source import open_source
from tests.data.refusals import refusal

N = 1000
FRAME = pd.DataFrame({"a": np.arange(N, dtype=float), "b": np.arange(N) * 0.5 - 3, "c": np.arange(N) % 7})


def values(block):
    """The columns of any block as one array (row, column)."""
    if isinstance(block, dict):
        return np.column_stack([np.asarray(column, float) for column in block.values()])
    frame = block.to_pandas() if hasattr(block, "schema") else block
    return frame.to_numpy(float)


def rows_of(source, columns, rows=64, chain=None):
    """All rows of a source; checks every block on the way."""
    found = []
    for piece in source.pieces:
        if piece.chain != chain:
            continue
        blocks = list(piece.blocks(columns, rows))
        assert all(names_in(block) == tuple(columns) for block in blocks)
        assert all(0 < length_of(block) <= rows for block in blocks)
        count = sum(map(length_of, blocks))
        assert piece.n_rows in (None, count)
        assert piece.start in (None, sum(map(len, found)))
        found += [values(block) for block in blocks]
    return np.concatenate(found) if found else np.empty((0, len(columns)))


def check(source, frame=FRAME, order=("c", "a")):
    """A source that holds exactly this frame: rows, lengths, and samples of its pieces."""
    assert source.names == tuple(frame.columns)
    assert source.n_rows in (None, len(frame))
    expected = frame[list(order)].to_numpy(float)
    np.testing.assert_array_equal(rows_of(source, order), expected)
    if source.once:
        return source
    np.testing.assert_array_equal(rows_of(source, order, rows=10**6), expected)  # again, in large blocks
    for piece in source.pieces:
        own = [tuple(row) for block in piece.blocks(order, 100) for row in values(block)]
        block = piece.sample(order, 20, np.random.default_rng(1))
        if not own:
            assert block is None
            continue
        drawn = [tuple(row) for row in values(block)]
        assert names_in(block) == tuple(order)
        assert set(drawn) <= set(own)
        assert len(set(drawn)) == len(drawn)
        assert min(10, len(own)) <= len(drawn) <= 40
        everything = piece.sample(order, 10 * N, np.random.default_rng(1))
        assert sorted(map(tuple, values(everything))) == sorted(own)
    blocks = pilot_blocks(source, order, 200, np.random.default_rng(2))
    assert 150 <= sum(map(length_of, blocks)) <= 250
    again = pilot_blocks(source, order, 200, np.random.default_rng(2))
    for one, other in zip(blocks, again, strict=True):
        np.testing.assert_array_equal(values(one), values(other))
    return source


def parts(folder, frame=FRAME, sizes=(300, 0, 500, 200), names="part-{}.parquet", **choices):
    """The frame in files, the tenth after the second; their paths."""
    paths, begin = [], 0
    for number, size in zip((1, 2, 10, 11), sizes, strict=True):
        paths.append(folder / names.format(number))
        part = frame.iloc[begin : begin + size]
        if paths[-1].name.endswith(".parquet"):
            pq.write_table(pa.Table.from_pandas(part, preserve_index=False), paths[-1], **choices)
        else:
            part.to_csv(paths[-1], index=False)
        begin += size
    return paths


# Parquet


def test_parquet_file_is_split_by_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "PIECE_ROWS", 250)
    path = tmp_path / "draws.parquet"
    FRAME.to_parquet(path, row_group_size=100)
    source = check(open_source(path))
    assert (source.kind, source.n_rows, source.size, source.ordered) == ("Parquet, 1 file", N, N * 3 * 8, True)
    assert (source.engine, source.once, source.n_chains) == ("local", False, 1)
    assert [piece.n_rows for piece in source.pieces] == [200] * 5
    assert [piece.start for piece in source.pieces] == [0, 200, 400, 600, 800]
    assert source.pieces[1].label == "draws.parquet, row groups 2 to 3"
    monkeypatch.setattr(parquet, "PIECE_ROWS", 50)
    assert open_source(path).pieces[3].label == "draws.parquet, row group 3"


def test_folder_pattern_list_and_dataset_of_parquet(tmp_path):
    paths = parts(tmp_path)
    for name in ("_metadata", ".hidden.parquet", "_SUCCESS"):
        (tmp_path / name).write_bytes(b"")
    for given in (tmp_path, str(tmp_path / "part-*.parquet"), [str(path) for path in paths], pyarrow.dataset.dataset(tmp_path)):
        source = check(open_source(given))
        assert [piece.label for piece in source.pieces] == [path.name for path in paths]
        assert [piece.n_rows for piece in source.pieces] == [300, 0, 500, 200]
        assert [piece.start for piece in source.pieces] == [0, 300, 300, 800]
    assert open_source(tmp_path).kind == "Parquet, 4 files"


def test_folders_in_a_list_are_told_apart(tmp_path):
    for k, half in enumerate((FRAME[:400], FRAME[400:])):
        (tmp_path / f"run{k}").mkdir()
        half.to_parquet(tmp_path / f"run{k}" / "part.parquet")
    source = check(open_source([tmp_path / "run0", tmp_path / "run1"]))
    assert [piece.label for piece in source.pieces] == [os.path.join(f"run{k}", "part.parquet") for k in (0, 1)]


def test_dataset_with_partition_columns_and_filter(tmp_path):
    pq.write_to_dataset(pa.Table.from_pandas(FRAME, preserve_index=False), tmp_path, partition_cols=["c"])
    dataset = pyarrow.dataset.dataset(tmp_path, partitioning="hive")
    by_c = FRAME.sort_values("c", kind="stable")[["a", "b", "c"]]
    assert check(open_source(dataset), by_c).kind == "Arrow dataset, 7 files"
    few = open_source(dataset.filter(pyarrow.dataset.field("a") < 100))
    assert len(few.pieces) == 1
    np.testing.assert_array_equal(rows_of(few, ["a"])[:, 0], by_c.a[by_c.a < 100])


def test_dataset_of_another_format(tmp_path):
    parts(tmp_path, names="part-{}.csv")
    source = check(open_source(pyarrow.dataset.dataset(tmp_path, format="csv")))
    assert [piece.start for piece in source.pieces] == [0, None, None, None]
    assert (source.n_rows, source.size) == (None, None)
    in_memory = pyarrow.dataset.dataset(pa.Table.from_pandas(FRAME, preserve_index=False))
    assert len(check(open_source(in_memory)).pieces) == 1


def test_index_of_pandas_and_nested_columns(tmp_path):
    FRAME.rename_axis("number").to_parquet(tmp_path / "indexed.parquet")
    FRAME.set_index("c").to_parquet(tmp_path / "kept.parquet")
    assert open_source(tmp_path / "indexed.parquet").names == ("a", "b", "c")
    assert open_source(tmp_path / "kept.parquet").names == ("a", "b")
    pq.write_table(pa.table({"a": [1.0], "a.b": [2.0], "deep": [[1, 2]]}), tmp_path / "nested.parquet")
    assert "deep" in refusal("shape", open_source, tmp_path / "nested.parquet")
    dotted = open_source(tmp_path / "nested.parquet", var_names=["a.b", "a"])
    np.testing.assert_array_equal(rows_of(dotted, ["a"]), [[1.0]])  # pyarrow reads a.b as well
    np.testing.assert_array_equal(rows_of(dotted, dotted.names), [[2.0, 1.0]])


def test_selection_of_names(tmp_path):
    FRAME.to_parquet(tmp_path / "draws.parquet")
    assert open_source(tmp_path / "draws.parquet", var_names=["c", "a"]).names == ("c", "a")
    assert open_source(tmp_path / "draws.parquet", var_names="~b").names == ("a", "c")
    assert "available: a, b, c" in refusal("unknown-name", open_source, tmp_path / "draws.parquet", var_names=["d"])
    assert "no groups" in refusal("argument", open_source, tmp_path / "draws.parquet", group="prior")


def test_sample_of_parquet_does_not_decode_what_follows(tmp_path):
    """A sample of few rows comes from a window of one row group, wherever in the piece."""
    path = tmp_path / "draws.parquet"
    pd.DataFrame({"a": np.arange(100_000.0)}).to_parquet(path, row_group_size=20_000)
    (piece,) = open_source(path).pieces
    drawn = [piece.sample(["a"], 100, np.random.default_rng(seed)).column("a").to_numpy() for seed in range(40)]
    assert all(len(rows) == 100 and np.ptp(rows) < 16 * 100 for rows in drawn)
    assert {int(rows[0] // 20_000) for rows in drawn} == {0, 1, 2, 3, 4}


def test_pieces_are_read_by_other_processes(tmp_path):
    source = open_source(parts(tmp_path))
    piece = pickle.loads(pickle.dumps(source.pieces[2]))
    np.testing.assert_array_equal(values(next(piece.blocks(["a"], 10)))[:, 0], np.arange(300, 310))


def test_parquet_files_that_do_not_fit_together(tmp_path):
    paths = parts(tmp_path)
    second = pq.read_table(paths[2])
    pq.write_table(second.drop_columns("b"), paths[2])
    message = refusal("names-differ", open_source, tmp_path)
    assert message == "part-10.parquet has no column 'b'; the first file has a, b, c"
    assert open_source(tmp_path, var_names=["a", "c"]).names == ("a", "c")
    pq.write_table(second.append_column("d", second["a"]), paths[2])
    assert "part-10.parquet has a column 'd'" in refusal("names-differ", open_source, tmp_path)
    pq.write_table(second.set_column(1, "b", second["b"].cast(pa.string())), paths[2])
    message = refusal("names-differ", open_source, tmp_path)
    assert all(word in message for word in ("column b", "part-10.parquet", "string", "part-1.parquet", "double"))


def test_numbers_of_different_types_and_empty_columns_fit_together(tmp_path):
    paths = parts(tmp_path)
    table = pq.read_table(paths[2])
    pq.write_table(table.set_column(0, "a", table["a"].cast(pa.int64())), paths[2])
    pq.write_table(pa.table({"a": pa.nulls(0), "b": pa.nulls(0), "c": pa.nulls(0)}), paths[1])
    check(open_source(tmp_path))


def test_damaged_parquet_files_are_named(tmp_path):
    paths = parts(tmp_path)
    whole = paths[2].read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"not parquet at all"):
        paths[2].write_bytes(content)
        assert refusal("file-format", open_source, tmp_path).startswith("part-10.parquet: ")
    paths[2].write_bytes(whole)
    source = open_source(tmp_path)
    middle = len(whole) // 2
    paths[2].write_bytes(whole[:4] + b"\xff" * (middle - 4) + whole[middle:])  # the footer is intact
    with pytest.raises(cd.InputError, match=r"^part-10\.parquet: ") as caught:
        list(source.pieces[2].blocks(["a"], 100))
    assert caught.value.__cause__ is None
    os.remove(paths[2])
    with pytest.raises(cd.InputError, match=r"^part-10\.parquet: .*removed"):
        list(source.pieces[2].blocks(["a"], 100))
    FRAME[["a"]][:3].to_parquet(paths[2])
    with pytest.raises(cd.InputError, match=r"^part-10\.parquet: .*no column 'b'"):
        list(source.pieces[2].blocks(["b"], 100))


def test_files_that_may_not_be_read_are_named(tmp_path, monkeypatch):
    source = open_source(parts(tmp_path))

    def denied(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(parquet, "_opened", denied)
    assert "part-1.parquet: permission denied" in refusal("file", lambda: list(source.pieces[0].blocks(["a"], 10)))
    assert "part-1.parquet: permission denied" in refusal("file", open_source, tmp_path)


def test_folders_that_are_no_source(tmp_path):
    assert "empty directory" in refusal("file", open_source, tmp_path)
    parts(tmp_path)
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    assert "notes.csv" in refusal("file", open_source, tmp_path)
    assert "listed twice" in refusal("file", open_source, [tmp_path / "part-1.parquet"] * 2)
    assert "no file matches" in refusal("file", open_source, str(tmp_path / "*.npy"))
    assert open_source(tmp_path / "nothing.parquet") is None
    assert "there is no file" in refusal("file", open_source, tmp_path / "nothing.parquet", missing_ok=False)


# text


@pytest.mark.parametrize("name", ["part-{}.csv", "part-{}.csv.gz"])
def test_csv_files(tmp_path, name):
    paths = parts(tmp_path, names=name)
    source = check(open_source(tmp_path))
    assert [piece.label for piece in source.pieces] == [path.name for path in paths]
    assert source.kind == "text, 4 files"
    assert source.pieces[1].n_rows == 0
    assert N * 3 * 8 / 2 < source.size < N * 3 * 8 * 2  # an estimate
    check(open_source(str(tmp_path / name.format("*"))))


def test_csv_sample_is_spread_over_a_long_file(tmp_path):
    path = tmp_path / "long.csv"
    pd.DataFrame({"a": np.arange(50_000), "b": 1.5}).to_csv(path, index=False)
    (piece,) = open_source(path).pieces
    drawn = piece.sample(["a"], 320, np.random.default_rng(3))["a"].to_numpy()
    assert 300 <= len(drawn) <= 320
    assert len(set(drawn)) == len(drawn)
    assert (np.histogram(drawn, 10, (0, 50_000))[0] > 0).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1,5;2\n2,5;3\n", [[1.5, 2], [2.5, 3]]),
        ("a;b\n1.234,5;2\n2.000,25;3\n", [[1234.5, 2], [2000.25, 3]]),
        ("a\tb\n1.5\t2\n2.5\t3\n", [[1.5, 2], [2.5, 3]]),
        ("# a comment\na,b\n1.5,2\n\n2.5,3", [[1.5, 2], [2.5, 3]]),
        ("\ufeffa,b\r\n1.5,2\r\n2.5,\r\n", [[1.5, 2], [2.5, np.nan]]),
        (",a,b\n0,1.5,2\n1,2.5,3\n", [[1.5, 2], [2.5, 3]]),
        ('a,b,note\n1.5,2,"x,\ny"\n2.5,?,z\n', [[1.5, 2], [2.5, np.nan]]),
    ],
)
def test_formats_of_csv_are_those_of_as_draws(tmp_path, text, expected):
    path = tmp_path / "draws.csv"
    path.write_text(text, newline="")
    source = open_source(path)
    for rows in (1, 2, 1000):
        np.testing.assert_array_equal(rows_of(source, ["a", "b"], rows), expected)


def test_csv_without_header(tmp_path):
    path = tmp_path / "draws.csv"
    for mark in ("", "\ufeff"):
        path.write_text(f"{mark}1,2\n3,4\n")
        np.testing.assert_array_equal(rows_of(open_source(path), ["x0", "x1"], 1), [[1, 2], [3, 4]])


def test_csv_that_only_the_reader_in_memory_reads(tmp_path):
    path = tmp_path / "draws.csv"
    path.write_text("# stan_version_major = 2\nlp__,theta.1\n-1,2\n-2,3\n")
    assert open_source(path) is None
    path.write_text("a,b\n5 %,2\n6 %,3\n")
    assert open_source(path) is None
    path.write_text("a,b\n1,2\n", encoding="utf-16")
    assert open_source(path) is None
    path.write_text("a,b\n" + "5 %,2\n" * 100_000)
    assert "draws.csv: " in refusal("not-numeric", open_source, path)


def test_csv_errors_name_file_and_line(tmp_path):
    path = tmp_path / "draws.csv"
    rows = [f"{k},{k / 7}" for k in range(60_000)]
    begin = "a,b\n" + "\n".join(rows)

    def message(text, code):
        path.write_text(text)
        source = open_source(path)
        return refusal(code, lambda: [length_of(block) for block in source.pieces[0].blocks(["a", "b"], 1000)])

    assert message(begin + "\n1,2,3\n", "file-format").startswith("draws.csv: line 60002 has 3 values")
    assert message(begin + "\n1\n2,3\n", "file-format").startswith("draws.csv: line 60002 has 1 value")
    assert "incomplete" in message(begin + "\n1", "file-format")
    assert "column b begins with numbers but contains 'oops' near line 60002" in message(begin + "\n1,oops\n", "not-numeric")
    path.write_bytes(begin.encode() + b"\n1,\xff\xfe\n")
    assert refusal("file-format", lambda: list(open_source(path).pieces[0].blocks(["a", "b"], 1000))).startswith("draws.csv: ")
    source = open_source(path)
    os.remove(path)
    assert "removed" in refusal("file", lambda: list(source.pieces[0].blocks(["a"], 10)))
    assert refusal("file-format", open_source, written(path, "a b c\n1 2 3\n")).startswith("draws.csv: ")
    assert "no rows" in refusal("too-few-draws", open_source, written(path, "a,b\n"))
    assert "no rows" in refusal("too-few-draws", open_source, written(path, ""))


def written(path, text):
    path.write_text(text)
    return path


def test_csv_files_that_do_not_fit_together(tmp_path):
    parts(tmp_path, names="part-{}.csv")
    last = tmp_path / "part-11.csv"
    assert "part-11.csv has no column 'b'" in refusal("names-differ", open_source, written(last, "a,c\n1,2\n").parent)
    message = refusal("names-differ", open_source, written(last, "a,b,c\n1,high,2\n").parent)
    assert all(word in message for word in ("column b", "part-11.csv", "text", "part-1.csv", "number"))
    written(last, "# stan_version_major = 2\nlp__,a\n-1,2\n")
    assert "part-11.csv" in refusal("file-format", open_source, tmp_path)


def test_truncated_gzip_is_named(tmp_path):
    path = tmp_path / "draws.csv.gz"
    whole = gzip.compress(pd.DataFrame(np.random.default_rng(0).random((20_000, 2)), columns=["a", "b"]).to_csv().encode())
    path.write_bytes(whole[: len(whole) * 3 // 4])
    source = open_source(path, var_names=["a", "b"])
    assert "draws.csv.gz: the file is truncated" in refusal("file-format", lambda: list(source.pieces[0].blocks(["a"], 1000)))


# frames of other libraries


def test_dask_frame():
    frames = pytest.importorskip("dask.dataframe", reason="Dask frames need dask")
    frame = frames.from_pandas(FRAME, npartitions=4, sort=False)
    empty = frames.concat([frame, frame[frame.a < 0]])
    source = check(open_source(frame))
    assert (source.kind, source.engine, source.n_rows) == ("Dask dataframe, 4 partitions", "dask", None)
    assert [piece.start for piece in source.pieces] == [0, None, None, None]
    assert len(source.pieces[1].delayed(["b"]).compute().columns) == 1
    cloudpickle = pytest.importorskip("cloudpickle")
    piece = pickle.loads(cloudpickle.dumps(source.pieces[1]))
    assert length_of(next(piece.blocks(["a"], 10))) == 10
    assert len(open_source(empty).pieces) == 8
    np.testing.assert_array_equal(rows_of(open_source(empty), ["a"])[:, 0], FRAME.a)

    def broken(part):
        if len(part) and part.a.iloc[0] > 500:
            raise ZeroDivisionError("a mistake in a user's function")
        return part

    failing = open_source(frame.map_partitions(broken, meta=frame._meta))
    with pytest.raises(cd.InputError, match=r"^partition 3: .*ZeroDivisionError: a mistake"):
        list(failing.pieces[3].blocks(["a"], 10))
    with pytest.raises(cd.InputError, match=r"^partition 3: .*ZeroDivisionError"):
        pilot_blocks(failing, ["a"], 100, np.random.default_rng(0))


def test_dask_arrays():
    arrays = pytest.importorskip("dask.array", reason="Dask arrays need dask")
    numbers = np.arange(1200.0).reshape(400, 3)
    frame = pd.DataFrame(numbers, columns=["x0", "x1", "x2"])
    source = check(open_source(arrays.from_array(numbers, chunks=(150, 2))), frame, ("x2", "x0"))
    assert (source.kind, source.engine, source.n_rows, source.size) == ("Dask array, 3 chunks", "dask", 400, 9600)
    assert [(piece.label, piece.start) for piece in source.pieces][1] == ("rows 150 to 299", 150)
    chained = numbers.reshape(4, 100, 3)
    source = open_source(arrays.from_array(chained, chunks=(3, 60, 2)))
    assert (source.n_chains, source.n_rows, len(source.pieces)) == (4, 400, 8)
    assert source.pieces[3].label == "chain 1, draws 60 to 99"
    for chain in range(4):
        np.testing.assert_array_equal(rows_of(source, ["x1", "x0"], 64, chain), chained[chain][:, [1, 0]])
    unknown = arrays.from_array(numbers, chunks=(150, 3))
    unknown = unknown[unknown[:, 0] > 500]
    source = open_source(unknown)
    assert (source.n_rows, source.size) == (None, None)
    np.testing.assert_array_equal(rows_of(source, ["x0"]), numbers[numbers[:, 0] > 500][:, :1])
    assert open_source(arrays.zeros(5)) is None
    assert "type" in refusal("not-numeric", open_source, arrays.from_array(np.array([["u", "v"]]), chunks=1))


def test_polars_lazy_frame(monkeypatch):
    lazy = pl.from_pandas(FRAME).lazy()
    source = check(open_source(lazy))
    assert (source.kind, source.ordered, source.n_rows) == ("Polars LazyFrame", False, None)
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    np.testing.assert_array_equal(rows_of(source, ["a"])[:, 0], FRAME.a)
    failing = open_source(lazy.with_columns(a=pl.col("a").cast(pl.String).str.to_date("%Y")))
    with pytest.raises(cd.InputError, match=r"^the LazyFrame: "):
        list(failing.pieces[0].blocks(["a"], 10))
    with pytest.raises(cd.InputError, match=r"^the LazyFrame: "):
        open_source(lazy.select("nothing"))
    assert "nested" in refusal("shape", open_source, lazy.with_columns(d=pl.concat_list("a", "b")))


def test_duckdb_relation():
    duckdb = pytest.importorskip("duckdb", reason="relations need duckdb")
    table = pa.Table.from_pandas(FRAME.rename(columns={"b": 'b "x"'}), preserve_index=False)
    connection = duckdb.connect()
    relation = connection.from_arrow(table)
    frame = FRAME.rename(columns={"b": 'b "x"'})
    source = check(open_source(relation), frame, ('b "x"', "a"))
    assert (source.kind, source.ordered, source.n_rows, source.once) == ("DuckDB relation", False, None, False)
    begun = source.pieces[0].blocks(["a"], 10)
    next(begun)
    begun.close()
    np.testing.assert_array_equal(rows_of(source, ["a"])[:, 0], FRAME.a)  # the connection is free again
    failing = open_source(relation.project("a, cast(cast(a as varchar) || 'z' as double) as d"))
    with pytest.raises(cd.InputError, match=r"^the DuckDB relation: "):
        list(failing.pieces[0].blocks(["d"], 10))


# read once


class Streamed:
    """A lazy table of a library that has Arrow's protocol only."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def streams():
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    pieces = [FRAME[begin : begin + 300] for begin in range(0, N, 300)]
    yield pa.RecordBatchReader.from_batches(table.schema, table.to_batches(300))
    yield Streamed(table)
    yield iter(pieces)
    yield (pl.from_pandas(piece) for piece in pieces)
    yield ({name: piece[name].tolist() for name in piece} for piece in [*pieces[:2], pieces[0][:0], *pieces[2:]])


@pytest.mark.parametrize("kind", range(5))
def test_streams_are_read_once_and_their_head_is_not_lost(kind):
    source = check(open_source(list(streams())[kind]))
    assert (source.once, source.n_rows, len(source.pieces), source.ordered) == (True, None, 1, True)
    assert "only once" in refusal("read-once", lambda: list(source.pieces[0].blocks(["a"], 10)))
    source = open_source(list(streams())[kind])
    refusal("read-once", source.pieces[0].sample, ["a"], 10, np.random.default_rng(0))
    refusal("read-once", pilot_blocks, source, ["a"], 10, np.random.default_rng(0))
    head, rest = head_and_rest(source, ["b", "a"], 350)
    assert 350 <= sum(map(length_of, head)) <= N
    assert (rest.once, rest.names) == (True, ("b", "a"))
    np.testing.assert_array_equal(rows_of(rest, ["b", "a"]), FRAME[["b", "a"]])


def test_head_of_other_sources(tmp_path):
    source = open_source(parts(tmp_path))
    head, rest = head_and_rest(source, ["a"], 350)
    assert [length_of(block) for block in head] == [300, 350]
    assert rest is source


def test_iterators_that_are_no_tables():
    assert "got int" in refusal("argument", open_source, iter([1, 2, 3]))
    assert "no tables" in refusal("too-few-draws", open_source, iter([]))
    assert "one-dimensional" in refusal("shape", open_source, iter([{"a": np.zeros((2, 2))}]))
    assert "same length" in refusal("shape", open_source, iter([{"a": [1], "b": [1, 2]}]))
    source = open_source(iter([{"a": [1.0], "b": [2.0]}, {"a": [1.0]}]))
    message = refusal("names-differ", lambda: list(source.pieces[0].blocks(["a"], 10)))
    assert message.startswith("the iterator: block 1: it has no column 'b'")

    def failing():
        yield FRAME
        raise ZeroDivisionError("a mistake of the user")

    source = open_source(failing())
    with pytest.raises(cd.InputError, match=r"^the iterator: .*a mistake"):
        list(source.pieces[0].blocks(["a"], 10))


# arrays in files


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_file(tmp_path, order, monkeypatch):
    monkeypatch.setattr("copula_discrepancy.data.streams.arrays.PIECE_ROWS", 150)
    numbers = np.asarray(np.arange(1200.0).reshape(400, 3), order=order)
    np.save(tmp_path / "draws.npy", numbers)
    frame = pd.DataFrame(numbers, columns=["x0", "x1", "x2"])
    source = check(open_source(tmp_path / "draws.npy"), frame, ("x2", "x0"))
    assert (source.kind, source.n_rows, source.size, len(source.pieces)) == ("NumPy file", 400, 9600, 3)
    assert source.pieces[1].label == "draws.npy, rows 150 to 299"
    piece = pickle.loads(pickle.dumps(source.pieces[1]))
    assert len(pickle.dumps(piece)) < 1000  # where the values are, not the values
    np.testing.assert_array_equal(values(next(piece.blocks(["x0"], 9))), numbers[150:159, :1])
    chained = numbers.reshape(4, 100, 3)
    np.save(tmp_path / "chains.npy", chained)
    source = open_source(tmp_path / "chains.npy")
    assert (source.n_chains, source.n_rows) == (4, 400)
    np.testing.assert_array_equal(rows_of(source, ["x1"], 64, 2), chained[2][:, 1:2])


def test_memory_maps_and_their_slices(tmp_path):
    np.save(tmp_path / "draws.npy", np.arange(5000.0).reshape(1000, 5))
    mapped = np.load(tmp_path / "draws.npy", mmap_mode="r")
    for view in (mapped, mapped[100:900:3, ::-2], mapped[::-1]):
        names = tuple(f"x{k}" for k in range(view.shape[1]))
        np.testing.assert_array_equal(rows_of(open_source(view), names), view)
    assert open_source(mapped + 1) is None  # in memory
    assert open_source(np.load(tmp_path / "draws.npy", mmap_mode="c")) is None  # may have changes in memory
    assert open_source(mapped[:, 0]) is None


def test_npy_files_that_are_no_source(tmp_path):
    path = tmp_path / "draws.npy"
    np.save(path, np.zeros(5))
    assert open_source(path) is None
    np.save(path, np.array([["u", "v"]]))
    assert "draws.npy: " in refusal("not-numeric", open_source, path)
    np.save(path, np.zeros((50, 2)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    assert "draws.npy: " in refusal("file-format", open_source, path)
    path.write_bytes(whole)
    source = open_source(path)
    path.write_bytes(whole[:-100])
    with pytest.raises(cd.InputError, match=r"^draws\.npy, rows 0 to 49: "):
        list(source.pieces[0].blocks(["x0"], 10))


# labelled arrays


def dataset():
    theta = np.arange(2 * 100 * 3, dtype=float).reshape(2, 100, 3)
    coordinates = {"school": ["Choate", "Deerfield", "Exeter"]}
    return xr.Dataset(
        {"theta": (("chain", "draw", "school"), theta), "mu": (("draw", "chain"), -theta[:, :, 0].T)}, coords=coordinates
    )


def check_labelled(source, expected):
    assert source.names == expected.names
    assert (source.n_chains, source.n_rows, source.engine) == (2, 200, "dask")
    for chain in range(2):
        np.testing.assert_array_equal(rows_of(source, expected.names, 16, chain), expected.values[chain])
    block = source.pieces[0].sample(["mu"], 10, np.random.default_rng(0))
    assert set(block["mu"]) <= set(expected.values[0][:, expected.names.index("mu")])


def test_labelled_arrays_held_by_dask(monkeypatch):
    pytest.importorskip("dask.array", reason="chunks need dask")
    whole = dataset()
    lazy = whole.chunk({"draw": 40, "chain": 2})
    expected = cd.as_draws(whole)
    monkeypatch.setattr("copula_discrepancy.data.streams.labelled._PIECE_BYTES", 60 * 4 * 8)
    tree = xr.DataTree.from_dict({"posterior": lazy, "prior": lazy * 2})
    for given in (lazy, tree):
        source = open_source(given)
        check_labelled(source, expected)
        assert [piece.label for piece in source.pieces[:3]] == [
            "chain 0, draws 0 to 39",
            "chain 0, draws 40 to 99",
            "chain 1, draws 0 to 39",
        ]
    check_labelled(open_source(tree, group="prior"), cd.as_draws(whole * 2))
    assert open_source(lazy, var_names="theta").names == expected.names[:3]
    assert open_source(lazy, var_names="theta[Exeter]").names == ("theta[Exeter]",)
    assert open_source(whole) is None
    assert open_source(lazy.isel(chain=0, drop=True)).n_chains == 1
    assert open_source(lazy.isel(chain=0, drop=True)).pieces[0].chain is None
    assert "there is no group" in refusal("unknown-name", open_source, tree, group="nothing")
    assert "real numbers" in refusal("not-numeric", open_source, lazy.assign(s=lazy.mu.astype(str)))
    assert "dimension draw" in refusal("shape", open_source, lazy.rename(draw="sample"))


def test_inference_data_held_by_dask():
    pytest.importorskip("dask.array", reason="chunks need dask")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from ArviZ, about its next version
        arviz = pytest.importorskip("arviz", reason="InferenceData needs arviz < 1")
        data = arviz.InferenceData(posterior=dataset().chunk({"draw": 30}))
    check_labelled(open_source(data), cd.as_draws(dataset()))
    assert "there is no group" in refusal("unknown-name", open_source, data, group="prior")


def test_many_small_chunks_are_one_piece():
    pytest.importorskip("dask.array", reason="chunks need dask")
    assert len(open_source(dataset().chunk({"draw": 1})).pieces) == 2


def test_zarr_store(tmp_path):
    pytest.importorskip("zarr", reason="Zarr stores need zarr")
    pytest.importorskip("dask.array", reason="chunks need dask")
    path = tmp_path / "draws.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from zarr, about text in its third format
        xr.DataTree.from_dict({"posterior": dataset().chunk({"draw": 40})}).to_zarr(path)
        dataset().to_zarr(tmp_path / "plain.zarr")
    expected = cd.as_draws(dataset()[["mu", "theta"]])  # a store lists its arrays by name
    for store in (path, tmp_path / "plain.zarr"):
        source = open_source(store)
        check_labelled(source, expected)
        assert source.kind == "Zarr store"
    assert "draws.zarr: there is no group" in refusal("unknown-name", open_source, path, group="nothing")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "zarr.json").write_text("{")
    with pytest.raises(cd.InputError, match=r"^damaged: "):
        open_source(tmp_path / "damaged")


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")  # few draws
def test_a_small_zarr_store_is_compared_without_dask(tmp_path, monkeypatch):
    """What `watch` follows with zarr alone, `pairwise` compares."""
    pytest.importorskip("zarr", reason="Zarr stores need zarr")
    path = tmp_path / "draws.zarr"
    rng = np.random.default_rng(1)
    values = {name: (("chain", "draw"), rng.standard_normal((4, 100))) for name in "ab"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from zarr, about consolidated metadata
        xr.DataTree.from_dict({"posterior": xr.Dataset(values)}).to_zarr(path)
    expected = cd.pairwise({name: data for name, (_, data) in values.items()}, cd.Gaussian(0.0)).rows
    monkeypatch.setattr(engine, "find_spec", lambda name: None if name == "dask" else find_spec(name))
    monkeypatch.setitem(sys.modules, "dask.array", None)
    assert cd.pairwise(str(path), cd.Gaussian(0.0)).rows.tobytes() == expected.tobytes()
    monkeypatch.setattr(engine, "_COMPRESSED", 1e9)  # as if it did not fit
    refusal("dependency", cd.pairwise, str(path), cd.Gaussian(0.0))


@pytest.mark.parametrize("read", [open_source, cd.as_draws])
def test_zarr_store_with_a_zarr_that_xarray_cannot_use(tmp_path, monkeypatch, read):
    zarr = pytest.importorskip("zarr", reason="Zarr stores need zarr")
    pytest.importorskip("dask.array", reason="chunks need dask")
    (tmp_path / "zarr.json").write_text("{}")

    def fails(*_, **__):
        raise TypeError("open_group() got an unexpected keyword argument 'zarr_format'")

    monkeypatch.setattr(xr, "open_datatree", fails)
    monkeypatch.setattr(zarr, "__version__", "2.18.7")
    told = refusal("dependency", read, tmp_path)
    assert 'pip install "zarr>=3"' in told
    assert "zarr_format" in told
    monkeypatch.setattr(zarr, "__version__", "3.1.6")
    with pytest.raises(cd.InputError) as caught:
        read(tmp_path)
    assert "pip install" not in str(caught.value)


def test_folders_that_are_no_whole_zarr_store(tmp_path):
    pytest.importorskip("zarr", reason="Zarr stores need zarr")
    lost, empty = tmp_path / "lost.zarr", tmp_path / "empty.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from zarr, about text in its third format
        xr.DataTree.from_dict({"posterior": dataset()}).to_zarr(lost)
    for name in (".zgroup", ".zattrs", ".zmetadata", "zarr.json"):
        (lost / name).unlink(missing_ok=True)
    told = refusal("file-format", cd.as_draws, lost)
    assert f"Zarr group {lost / 'posterior'}" in told
    assert cd.as_draws(lost / "posterior").n_draws == cd.as_draws(dataset()).n_draws  # the way out
    empty.mkdir()
    assert "Zarr store" in refusal("file", cd.as_draws, empty)


def test_zarr_store_without_zarr(tmp_path, monkeypatch):
    (tmp_path / "zarr.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "zarr", None)
    assert "pip install zarr" in refusal("dependency", open_source, tmp_path)


# what is left to as_draws, and the parts


def test_what_is_in_memory_is_no_source(tmp_path):
    for given in (
        FRAME, FRAME.to_numpy(), pa.Table.from_pandas(FRAME), pl.from_pandas(FRAME), {"a": [1.0]}, [[1, 2], [3, 4]],
        [FRAME, FRAME], dataset(), None, 3, pa.RecordBatch.from_pandas(FRAME), pa.chunked_array([[1.0]]), pl.Series([1.0]),
    ):  # fmt: skip
        assert open_source(given) is None
    np.savez(tmp_path / "draws.npz", a=np.zeros(3))
    assert open_source(tmp_path / "draws.npz") is None
    with open(tmp_path / "draws.npz", "rb") as file:
        assert open_source(file) is None


def test_opening_imports_no_library_that_is_not_needed():
    code = (
        "import sys, numpy as np; from copula_discrepancy.data.streams.source import open_source;"
        "from copula_discrepancy.data.streams.pilot import pilot_blocks; open_source(np.zeros((3, 2)));"
        "assert not {'pyarrow', 'polars', 'duckdb', 'dask', 'xarray', 'zarr'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pilot_of_many_pieces_and_of_unequal_ones(tmp_path, monkeypatch):
    path = tmp_path / "draws.parquet"
    FRAME.to_parquet(path, row_group_size=5)
    monkeypatch.setattr(parquet, "PIECE_ROWS", 5)
    source = open_source(path)
    assert len(source.pieces) == 200
    blocks = pilot_blocks(source, ["a"], 128, np.random.default_rng(0))
    assert [length_of(block) for block in blocks] == [2] * 64
    begins = np.array([values(block)[0, 0] for block in blocks])
    assert np.diff(begins).max() < 30  # 64 of 200 pieces of 5 rows: every third or fourth
    (tmp_path / "parts").mkdir()
    monkeypatch.setattr(parquet, "PIECE_ROWS", 10**6)
    source = open_source(parts(tmp_path / "parts"))
    assert [length_of(block) for block in pilot_blocks(source, ["a"], 100, np.random.default_rng(0))] == [30, 50, 20]


def test_rows_must_be_positive(tmp_path):
    (piece,) = open_source(iter([FRAME])).pieces
    refusal("argument", lambda: list(piece.blocks(["a"], 0)))
    with pytest.raises(cd.InputError, match="not a Dask partition"):
        piece.delayed(["a"])


def test_spread_positions():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(spread(5, 5, rng), np.arange(5))
    counts = np.bincount(np.concatenate([spread(10, 3, rng) for _ in range(3000)]), minlength=10)
    # each position is drawn with probability 0.3: 900 +- 4 standard deviations of a binomial
    assert (np.abs(counts - 900) < 4 * np.sqrt(3000 * 0.3 * 0.7)).all()
    for length in (1, 7, 100, 1000):
        blocks = [{"a": np.arange(begin, min(begin + 13, length))} for begin in range(0, length, 13)]
        drawn = spread_over(blocks, 50, rng)["a"]
        assert len(drawn) == min(length, 50)
        assert (np.diff(drawn) > 0).all()
        assert drawn[0] <= 2 * length / 50 + 1
        assert drawn[-1] >= length - 1 - 2 * length / 50 - 1
    assert spread_over([], 50, rng) is None
