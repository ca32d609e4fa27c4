"""Counts of Dask collections and on the workers of a Dask cluster: the same as those of the rows, to the last bit."""

import os

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster

import copula_discrepancy as cd
from copula_discrepancy.data.streams.source import open_source
from copula_discrepancy.estimate import scanning_dask
from copula_discrepancy.estimate.scanning import ScanOptions, plan_source, scan
from copula_discrepancy.estimate.sketch import DependenceSketch

pytestmark = [
    pytest.mark.filterwarnings("ignore:Creating scratch directories is taking"),  # Dask's, on a busy machine
    pytest.mark.filterwarnings("ignore:Sending large graph"),
]
N = 30_000
OPTIONS = ScanOptions(2e9, n_jobs=1)


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as found:
        yield found


@pytest.fixture
def client(cluster):
    with Client(cluster) as found:
        yield found


@pytest.fixture(params=["threads", "workers"])
def engine(request):
    """Each test on the threaded scheduler, and on a cluster of two processes."""
    if request.param == "threads":
        with dask.config.set(scheduler="threads"):
            yield request.param
    else:
        request.getfixturevalue("client")
        yield request.param


def table(n=N):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["b"] += np.cumsum(rng.normal(size=n)) / 50  # consecutive blocks differ
    frame["level"] = rng.choice(["x", "y", "z"], n)
    frame.loc[::97, "c"] = np.nan
    return frame


def planned(given, **choices):
    source = open_source(given)
    return plan_source(source, **{"iid": False, "options": OPTIONS} | choices)


def assert_same(sketch, other):
    assert sketch.n == other.n
    assert sketch.counts.dtype == other.counts.dtype
    np.testing.assert_array_equal(sketch.counts, other.counts)
    for own, theirs in zip(sketch.margins, other.margins, strict=True):
        np.testing.assert_array_equal(own, theirs)
    assert (sketch.block_rows, sketch.chain_rows) == (other.block_rows, other.chain_rows)
    assert sketch.blocks.keys() == other.blocks.keys()
    for key in sketch.blocks:
        np.testing.assert_array_equal(sketch.blocks[key], other.blocks[key])


@pytest.mark.slow
@pytest.mark.parametrize("iid", [True, False])
@pytest.mark.parametrize("partitions", [1, 6, 23])
def test_partitions_of_a_frame(engine, partitions, iid):
    frame = table()
    plan, layout, source = planned(dd.from_pandas(frame, npartitions=partitions, sort=False), iid=iid)
    sketch = scan(source, plan, layout, OPTIONS)
    assert_same(sketch, DependenceSketch.empty(plan).update(frame))
    assert len(sketch.blocks) == (0 if iid else -(-N // sketch.block_rows))
    assert sketch.update(frame, start=0).n == 2 * N  # arrays of workers are read-only


@pytest.mark.slow
def test_uneven_and_empty_partitions(engine):
    frame = table()
    parts = [frame.iloc[:0], frame.iloc[:20_001], frame.iloc[20_001:20_001], frame.iloc[20_001:20_003], frame.iloc[20_003:]]
    given = dd.from_map(lambda k: parts[k], list(range(len(parts))), meta=frame.iloc[:0])
    plan, layout, source = planned(given)
    assert_same(scan(source, plan, layout, OPTIONS), DependenceSketch.empty(plan).update(frame))


def test_chunks_of_an_array(engine):
    chains = np.random.default_rng(1).normal(size=(3, 7000, 4)).cumsum(axis=1)
    plan, layout, source = planned(da.from_array(chains, chunks=(2, 1500, 3)))
    expected = DependenceSketch.empty(plan)
    for chain in (2, 0, 1):
        expected.update(chains[chain], chain=chain)
    assert_same(scan(source, plan, layout, OPTIONS), expected)


def test_chunks_of_unknown_length(engine):
    values = np.random.default_rng(1).normal(size=(9000, 3)).cumsum(axis=0)
    array = da.from_array(values, chunks=(1000, 3))
    plan, layout, source = planned(array[array[:, 0] > -np.inf])
    assert source.n_rows is None
    assert_same(scan(source, plan, layout, OPTIONS), DependenceSketch.empty(plan).update(values))


@pytest.mark.slow
@pytest.mark.parametrize("numbered", [True, False])
def test_chains_in_a_column(engine, numbered):
    """With a column of draws rows may be in any order; without one, those of a chain follow each other over partitions."""
    frame = table().fillna(0.0)
    frame["chain"] = np.random.default_rng(0).permutation(np.arange(N) % 3)
    if numbered:
        frame["draw"] = frame.groupby("chain").cumcount()
    chains = [frame[frame.chain == k] for k in range(3)]
    plan, layout, _ = planned(dd.from_pandas(frame, npartitions=2, sort=False))
    expected = DependenceSketch.empty(plan)
    for k, rows in enumerate(chains):
        expected.update(rows.drop(columns="chain"), chain=k)
    if numbered:
        frame = frame.sample(frac=1.0, random_state=1)
    source = open_source(dd.from_pandas(frame, npartitions=5, sort=False))
    assert_same(scan(source, plan, layout, OPTIONS), expected)


def test_a_partition_is_counted_in_blocks(monkeypatch):
    lengths = []
    update = DependenceSketch.update

    def noted(self, block, **choices):
        lengths.append(len(block))
        return update(self, block, **choices)

    frame = table(5000)
    plan, layout, source = planned(dd.from_pandas(frame, npartitions=2, sort=False))
    monkeypatch.setattr(scanning_dask, "block_rows", lambda plan, options: 1000)
    monkeypatch.setattr(DependenceSketch, "update", noted)
    with dask.config.set(scheduler="synchronous"):
        sketch = scan(source, plan, layout, OPTIONS)
    assert lengths
    assert max(lengths) == 1000
    monkeypatch.undo()
    assert_same(sketch, DependenceSketch.empty(plan).update(frame))


def test_tasks_count_blocks_of_the_final_length(monkeypatch):
    """Shorter blocks, as for the rows of one task alone, take several times as long to count."""
    lengths = set()
    count = scanning_dask._count_blocks

    def noted(*given):
        sketch = count(*given)
        lengths.add(sketch.block_rows)
        return sketch

    monkeypatch.setattr(scanning_dask, "_count_blocks", noted)
    monkeypatch.setattr(scanning_dask, "block_rows", lambda plan, options: 1000)
    plan, layout, source = planned(da.from_array(np.random.default_rng(1).normal(size=(2, 40_000, 2)), chunks=(1, 5000, 2)))
    with dask.config.set(scheduler="synchronous"):
        sketch = scan(source, plan, layout, OPTIONS)
    assert lengths == {sketch.block_rows}
    assert sketch.block_rows > 256


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_are_read_by_workers(client, tmp_path, suffix, monkeypatch):
    frame = table()
    for k, part in enumerate(np.array_split(np.arange(N), 5)):
        rows = frame.iloc[part]
        rows.to_parquet(tmp_path / f"{k}.parquet") if suffix == "parquet" else rows.to_csv(tmp_path / f"{k}.csv", index=False)
    plan, layout, source = planned(str(tmp_path))
    monkeypatch.setattr(scanning_dask, "scan_here", None)
    sketch = scan(source, plan, layout, OPTIONS)
    assert_same(sketch, DependenceSketch.empty(plan).update(frame))
    assert sketch.source == source.kind


def test_what_cannot_be_sent_is_counted_here(client):
    duckdb = pytest.importorskip("duckdb")
    frame = table(3000)
    assert DependenceSketch.of(iter([frame, frame]), progress=False).n == 6000
    connection = duckdb.connect()
    connection.register("rows", frame)
    plan, layout, source = planned(connection.sql("SELECT * FROM rows"))
    assert_same(scan(source, plan, layout, OPTIONS), DependenceSketch.empty(plan).update(frame))
    connection.close()


def test_inside_a_task(client, tmp_path):
    """A task that waited for other tasks of its own worker could wait forever."""
    for k in range(3):
        table(2000).to_parquet(tmp_path / f"{k}.parquet")
    assert client.submit(lambda path: cd.DependenceSketch.of(path).n, str(tmp_path)).result() == 6000


def test_a_worker_that_dies(client, tmp_path):
    armed, frame = tmp_path / "armed", table()

    def dying(part, number):
        if number == 3 and os.path.exists(armed):
            os.remove(armed)
            os._exit(1)
        return part

    parts = [frame.iloc[k : k + 3000] for k in range(0, N, 3000)]
    given = dd.from_map(lambda k: dying(parts[k], k), list(range(len(parts))), meta=frame.iloc[:0])
    plan, layout, source = planned(given)
    armed.touch()
    sketch = scan(source, plan, layout, OPTIONS)
    assert not armed.exists()
    assert_same(sketch, DependenceSketch.empty(plan).update(frame))


def text(part):
    return part.assign(b="many")


def infinite(part):
    return part.assign(b=np.inf)


def absent(part):
    return part.drop(columns="b")


def failing(part):
    raise ZeroDivisionError("of the user")


BAD = {text: "not-numeric", infinite: "not-finite", absent: None, failing: "argument"}


@pytest.mark.slow
@pytest.mark.parametrize("change", BAD)
def test_bad_data_name_their_partition(engine, change):
    frame = table(8000)
    parts = [frame.iloc[k : k + 1000] for k in range(0, 8000, 1000)]
    plan, layout, _ = planned(dd.from_pandas(frame, npartitions=4))
    spoilt = dask.delayed(change, pure=False)
    delayed = [spoilt(part) if k == 5 else dask.delayed(part) for k, part in enumerate(parts)]
    given = dd.from_delayed(delayed, meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(cd.InputError, match=r"^partition 5: ") as failure:
        scan(open_source(given), plan, layout, OPTIONS)
    assert BAD[change] in (None, failure.value.code)


def test_bad_data_cancel_other_tasks(client):
    frame = table(8000)
    plan, layout, _ = planned(dd.from_pandas(frame, npartitions=4), iid=True)
    parts = [dask.delayed(infinite if k == 0 else table)(frame.iloc[:1000] if k == 0 else 1000) for k in range(40)]
    with pytest.raises(cd.InputError, match=r"^partition 0: "):
        scan(open_source(dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)), plan, layout, OPTIONS)
    assert not client.futures


def test_a_file_that_workers_cannot_read(client, tmp_path):
    for k in range(3):
        table(2000).to_parquet(tmp_path / f"{k}.parquet")
    plan, layout, source = planned(str(tmp_path))
    os.remove(tmp_path / "1.parquet")
    with pytest.raises(cd.InputError, match=r"^1\.parquet: .*each worker") as failure:
        scan(source, plan, layout, OPTIONS)
    assert failure.value.code == "file"


@pytest.mark.slow
def test_comparison(engine):
    frame = table()
    given, reference = dd.from_pandas(frame.iloc[::2], npartitions=4, sort=False), frame.iloc[1::2]
    result = cd.pairwise(given, reference, iid=True, engine="counted", progress=False)
    sketch = cd.DependenceSketch.of(given, iid=True)
    assert result.worst.tau == cd.pairwise(sketch, reference, iid=True, progress=False).worst.tau
    assert not result.to_dataframe().flagged.any()
