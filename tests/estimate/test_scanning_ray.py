"""Counts of Ray datasets, on a local cluster of two workers: the same as those of the rows, to the last bit."""

import os

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.estimate.scanning import ScanOptions, open_any, plan_source, scan
from copula_discrepancy.estimate.scanning_ray import sketch_of_ray
from copula_discrepancy.estimate.sketch import DependenceSketch
from tests.estimate.test_scanning_dask import assert_same, table

ray = pytest.importorskip("ray.data", reason="Ray is not installed")
# Ray's own: sockets and processes of its cluster that live until the end, and settings of its next version
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
]
N = 12_000
OPTIONS = ScanOptions(2e9, n_jobs=1)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def dataset(frame, blocks=6):
    return ray.from_pandas([frame.iloc[k] for k in np.array_split(np.arange(len(frame)), blocks)])


def planned(given):
    return plan_source(open_any(given, group="posterior"), iid=False, options=OPTIONS)


def test_counts_are_those_of_the_rows():
    frame = table(N)
    plan, layout, source = planned(dataset(frame))
    assert plan.n_pilot == N
    assert not plan.serial  # rows of a dataset have no order
    assert any("no order" in note for note in plan.notes)
    assert_same(scan(source, plan, layout, OPTIONS), DependenceSketch.empty(plan).update(frame))


def test_chains_and_draws_in_columns():
    frame = table(N).fillna(0.0)
    frame["chain"], frame["draw"] = np.arange(N) // 4000, np.arange(N) % 4000
    plan, layout, source = planned(dataset(frame.sample(frac=1.0, random_state=1)))
    expected = DependenceSketch.empty(plan)
    for chain, rows in frame.groupby("chain"):
        expected.update(rows.drop(columns=["chain", "draw"]), chain=chain)
    sketch = scan(source, plan, layout, OPTIONS)
    assert len(sketch.blocks) > 3
    assert_same(sketch, expected)


def test_a_pilot_of_many_rows_comes_from_several_blocks():
    frame = table(N)
    frame["a"] = np.repeat(np.arange(20.0), N // 20)
    source = open_any(dataset(frame, 20), group="posterior")
    block = source.pieces[0].sample(("a", "b"), 2000, np.random.default_rng(0))
    assert 1000 <= len(block) <= 2000
    assert len(set(block["a"].to_pylist())) >= 15


def test_a_worker_that_dies(tmp_path):
    armed, frame = tmp_path / "armed", table(N)

    def dying(batch):
        if os.path.exists(armed):
            os.remove(armed)
            os._exit(1)
        return batch

    given = dataset(frame).map_batches(dying, batch_size=None, batch_format="pandas")
    plan, layout, source = planned(given)
    armed.touch()
    sketch = scan(source, plan, layout, OPTIONS)
    assert not armed.exists()
    assert_same(sketch, DependenceSketch.empty(plan).update(frame))


def test_bad_data_name_their_task():
    frame = table(N)
    plan, layout, _ = planned(dataset(frame))
    for value, code in ((np.inf, "not-finite"), ("many", "not-numeric")):
        spoilt = [dataset(frame.iloc[:4000], 1), dataset(frame.iloc[4000:8000].assign(b=value), 1)]
        with pytest.raises(cd.InputError, match="task 1: ") as failure:
            scan(open_any(spoilt[0].union(spoilt[1]), group="posterior"), plan, layout, OPTIONS)
        assert failure.value.code == code


def test_comparison():
    frame = table(N)
    given, reference = dataset(frame.iloc[::2]), frame.iloc[1::2]
    result = cd.pairwise(given, reference, iid=True, progress=False)
    sketch, caveats = sketch_of_ray(given, iid=True, options=OPTIONS)
    assert not caveats
    assert cd.DependenceSketch.of(given, iid=True).n == sketch.n == N // 2
    assert result.worst.tau == cd.pairwise(sketch, reference, iid=True, progress=False).worst.tau


def test_counts_are_not_saved(tmp_path):
    with pytest.raises(cd.InputError, match="checkpoint"):
        cd.DependenceSketch.of(dataset(table(N)), checkpoint=tmp_path)
