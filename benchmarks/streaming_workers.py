"""Wall time of counting Parquet files on two Dask workers of one thread each, over that of one process with one thread.

`python -m benchmarks.streaming_workers` makes the files in a temporary folder, which it removes. Both ways run once on a few
rows before they are timed, so that kernels are compiled and loaded; the best of several runs counts, in turns.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from copula_discrepancy.data.streams.source import Source, open_source
from copula_discrepancy.estimate.scanning import ScanOptions, plan_source, scan, scan_here
from copula_discrepancy.estimate.sketch import DependenceSketch

WANTED = 1.6  # times as fast: two workers, less what scheduling and merging cost
OPTIONS = ScanOptions(memory=2e9, n_jobs=1, progress=False)


def write_files(folder: Path, files: int, rows: int, columns: int) -> None:
    folder.mkdir()
    loadings = np.random.default_rng(0).normal(size=(columns, columns)) / columns**0.5
    for k in range(files):
        values = np.random.default_rng(k + 1).standard_normal((rows, columns)) @ loadings
        table = pyarrow.table({f"x{j}": values[:, j] for j in range(columns)})
        pyarrow.parquet.write_table(table, folder / f"part-{k:03}.parquet", compression=None)


def source_of(folder: Path) -> Source:
    source = open_source(str(folder))
    assert source is not None
    return source


def timed(way: Callable[..., DependenceSketch], folder: Path, *, iid: bool) -> tuple[float, DependenceSketch]:
    """Seconds to count all rows, without the pilot sample, which is read in this process either way, and the counts."""
    plan, layout, source = plan_source(source_of(folder), iid=iid, options=OPTIONS)
    begin = time.perf_counter()
    sketch = way(source, plan, layout, OPTIONS)
    return time.perf_counter() - begin, sketch


def same(first: DependenceSketch, second: DependenceSketch) -> bool:
    blocks = first.blocks.keys() == second.blocks.keys()
    blocks = blocks and all(np.array_equal(first.blocks[key], second.blocks[key]) for key in first.blocks)
    return blocks and first.chain_rows == second.chain_rows and np.array_equal(first.counts, second.counts)


def main() -> None:
    from dask.distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=24)
    parser.add_argument("--rows", type=int, default=500_000, help="of each file")
    parser.add_argument("--columns", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--serial", action="store_true", help="count consecutive blocks of rows as well")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as parent:
        data, few = Path(parent) / "data", Path(parent) / "few"
        write_files(data, given.files, given.rows, given.columns)
        write_files(few, 4, 10_000, given.columns)
        one, two, used = [], [], []
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            for way in (scan_here, scan):
                timed(way, few, iid=not given.serial)
            for _ in range(given.repeats):
                begin = time.process_time()
                seconds, alone = timed(scan_here, data, iid=not given.serial)
                one.append(seconds)
                own = time.process_time() - begin
                before = client.run(time.process_time)
                seconds, shared = timed(scan, data, iid=not given.serial)
                two.append(seconds)
                theirs = [after - before[name] for name, after in client.run(time.process_time).items()]
                used.append((own, theirs))
        kind = "serial" if given.serial else "independent"
        print(f"{given.files} files of {given.rows:,} {kind} rows and {given.columns} columns")
        print(f"one process, one thread: {', '.join(f'{seconds:.2f}' for seconds in one)} s")
        print(f"two Dask workers:        {', '.join(f'{seconds:.2f}' for seconds in two)} s")
        for own, theirs in used:
            print(f"processor time: {own:.2f} s, and {' + '.join(f'{seconds:.2f}' for seconds in theirs)} s on the workers")
        ratios = [alone_s / shared_s for alone_s, shared_s in zip(one, two, strict=True)]
        print(f"ratios run by run: {', '.join(f'{ratio:.2f}' for ratio in ratios)}; median {np.median(ratios):.2f}")
        print(f"ratio {min(one) / min(two):.2f} (wanted {WANTED}), same counts: {same(alone, shared)}")


if __name__ == "__main__":
    main()
