"""Tables larger than memory: speed, memory, accuracy and growth of counted rows. `make bench-large` writes streaming.md.

Data are Parquet files, made in a temporary folder and removed. Every scan runs in a process of its own, whose peak of resident
memory counts everything: Python, Arrow's buffers, compiled code and both samples.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from rich.console import Console
from scipy.stats import kendalltau

import copula_discrepancy as cd
from benchmarks.report import Report, machine
from benchmarks.streaming_workers import timed
from copula_discrepancy.estimate.scanning import scan_here

_GROUP = 500_000  # rows of a row group
_PIECE = 1_000_000  # rows that SciPy gets at once
NUMBERS = Path(__file__).with_name("streaming.json")


def write(folder: Path, rows: int, columns: int, seed: int, *, changed: bool = False, files: int = 4) -> float:
    """Correlated columns, of a few factors, in several files; returns the gigabytes they take. Of `changed` ones, the first
    column's spread follows the second, and the third has lost its dependence."""
    folder.mkdir(parents=True)
    loadings = np.random.default_rng(0).normal(size=(columns, 3))
    names = [f"x{k}" for k in range(columns)]
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
    rng = np.random.default_rng(seed)
    for k in range(files):
        with pyarrow.parquet.ParquetWriter(
            folder / f"part-{k:03}.parquet", schema, compression=None, use_dictionary=False
        ) as file:
            left = rows // files
            while left:
                size = min(left, _GROUP)
                values = rng.standard_normal((size, 3)) @ loadings.T + 1.5 * rng.standard_normal((size, columns))
                if changed:
                    values[:, 0] *= np.exp(0.1 * values[:, 1])
                    values[:, 2] = rng.permutation(values[:, 2])
                file.write_table(pyarrow.table(dict(zip(names, values.T, strict=True)), schema=schema))
                left -= size
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e9


def job(draws: str, reference: str, memory: str) -> None:
    """Compare two folders in this process, and print seconds, peak memory and the answer as JSON."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = cd.pairwise(draws, reference, iid=True, memory=memory, engine="counted", progress=False)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    sketch = result.samples[0].sketch
    found = {"seconds": seconds, "peak": peak, "verdict": result.verdict, "bins": sketch.resolution, "counts": sketch.nbytes}
    print(json.dumps(found))


def scanned(draws: Path, reference: Path, memory: str = "2GB") -> dict[str, float]:
    """The same in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.streaming", "--job", str(draws), str(reference), memory]
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=os.environ | {"PYTHONWARNINGS": "ignore"})
    return json.loads(done.stdout.splitlines()[-1])


def scipy_rate(pairs: int, rows: int = _PIECE) -> float:
    """Rows per second of SciPy's kendalltau over so many pairs, in pieces that fit."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=rows)
    y = 0.5 * x + rng.normal(size=rows)
    start = time.perf_counter()
    kendalltau(x, y)
    return rows / (pairs * (time.perf_counter() - start))


def large(folder: Path, sizes: list[tuple[int, int]]) -> tuple[Report, dict[str, float]]:
    report = Report(
        "Scans: two folders of Parquet files, draws and reference, level, shape, form, tails and margins",
        ("rows x columns, each", "disk", "seconds", "rows per second", "peak memory", "bins", "answer", "SciPy's kendalltau"),
    )
    numbers: dict[str, float] = {}
    for rows, columns in sizes:
        other = max(rows // 10, 2_000_000) if rows >= 100_000_000 else rows
        disk = write(folder / "draws", rows, columns, 1, changed=True, files=8)
        disk += write(folder / "reference", other, columns, 2, files=8)
        found = scanned(folder / "draws", folder / "reference")
        for name in ("draws", "reference"):
            shutil.rmtree(folder / name)
        pairs = columns * (columns - 1) // 2
        rate, peer = (rows + other) / found["seconds"], scipy_rate(pairs)
        both = f"{rows:,} x {columns}" + ("" if other == rows else f" (reference {other:,})")
        report.rows.append((
            both, f"{disk:.1f} GB", f"{found['seconds']:.1f}", f"{rate:,.0f}", f"{found['peak']:.2f} GB",
            str(found["bins"]), str(found["verdict"]), f"{peer:,.0f} rows per second: {rate / peer:.0f}x",
        ))  # fmt: skip
        numbers[f"rows_per_second_{columns}"] = rate
        Console(stderr=True).print(report.rows[-1])
    report.note = (
        "Rows per second are those of both folders over the whole call, with the pilot samples, fits and tests. Peak memory is "
        "that of the process, for memory='2GB'. SciPy: the same pairs, tau alone, in pieces of a million rows, one thread."
    )
    return report, numbers


def agreement(rows: int, columns: int) -> Report:
    """Counted against ranked, on the same rows in memory."""
    loadings = np.random.default_rng(0).normal(size=(columns, 3))
    samples = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        values = rng.standard_normal((rows, 3)) @ loadings.T + rng.uniform(0.5, 2.0, columns) * rng.standard_normal(
            (rows, columns)
        )
        if seed == 1:  # a funnel, a lost variable, and heavy tails
            values[:, 0] *= np.exp(0.1 * values[:, 1])
            values[:, 2] = rng.permutation(values[:, 2])
            values[:, 3:6] /= np.sqrt(rng.chisquare(5, rows) / 5)[:, None]
        samples.append(values)
    tables, seconds = [], []
    for engine in ("exact", "counted"):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = cd.pairwise(*samples, iid=True, engine=engine, progress=False)
        seconds.append(time.perf_counter() - start)
        tables.append(result.to_dataframe().set_index(["first", "second"]))
    exact, counted = tables[0], tables[1].loc[tables[0].index]
    report = Report(
        f"Agreement: {rows:,} rows of {columns} columns in memory, counted against ranked, {len(exact)} pairs",
        ("number", "largest difference, standard errors", "95% of pairs below", "standard error over exact one"),
    )
    for name in ("level", "shape", "total", "form", "kept", "low_low", "high_high", "low_high", "high_low"):
        apart = (counted[name] - exact[name]).abs() / exact[f"{name}_se"]
        ratio = counted[f"{name}_se"] / exact[f"{name}_se"]
        report.rows.append((
            name, f"{apart.max():.3f}", f"{apart.quantile(0.95):.3f}", f"{ratio.min():.3f} to {ratio.max():.3f}",
        ))  # fmt: skip
    clear = exact["form"] > 3.0 * exact["form_se"]
    apart = ((counted["form"] - exact["form"]).abs() / exact["form_se"])[clear]
    ratio = (counted["form_se"] / exact["form_se"])[clear]
    report.rows.append((
        f"form, where it is above 3 standard errors ({int(clear.sum())} pairs)", f"{apart.max():.3f}",
        f"{apart.quantile(0.95):.3f}", f"{ratio.min():.3f} to {ratio.max():.3f}",
    ))  # fmt: skip
    same = int((exact["flagged"] == counted["flagged"]).sum())
    verdicts = int((exact["verdict"] == counted["verdict"]).sum())
    report.note = (
        f"{int(exact['flagged'].sum())} pairs are flagged, {same} of {len(exact)} in the same way, {verdicts} with the same "
        f"verdict. Counting took {seconds[1]:.1f} s, ranking {seconds[0]:.1f} s. A form near 0 is the root of a difference of "
        "two noisy numbers, which makes any difference there larger."
    )
    return report


def growth(folder: Path) -> tuple[Report, dict[str, float]]:
    """Seconds of one scan on one thread: rows, columns."""
    report = Report(
        "Growth: one scan, one thread, without fits", ("rows", "columns", "seconds", "rows per second", "ns per row and pair")
    )
    numbers: dict[str, float] = {}
    for rows, columns in (
        (1_000_000, 10),
        (2_000_000, 10),
        (4_000_000, 10),
        (8_000_000, 10),
        (2_000_000, 5),
        (2_000_000, 20),
        (2_000_000, 40),
    ):
        write(folder / "one", rows, columns, 1)
        seconds = min(timed(scan_here, folder / "one", iid=True)[0] for _ in range(3))
        shutil.rmtree(folder / "one")
        pairs = columns * (columns - 1) // 2
        report.rows.append((
            f"{rows:,}", str(columns), f"{seconds:.2f}", f"{rows / seconds:,.0f}", f"{seconds / rows / pairs * 1e9:.1f}",
        ))  # fmt: skip
        if (rows, columns) == (8_000_000, 10):
            numbers["scan_rows_per_second_per_core"] = rows / seconds
    return report, numbers


def sketches(folder: Path) -> tuple[Report, dict[str, float]]:
    """Files of sketches, and what merging costs."""
    report = Report(
        "Sketches: files and merging", ("columns", "rows", "bins", "order", "file", "in memory", "seconds to merge two")
    )
    numbers: dict[str, float] = {}
    for columns, rows, iid in ((10, 2_000_000, True), (50, 1_000_000, True), (50, 1_000_000, False), (50, 20_000_000, True)):
        write(folder / "one", rows, columns, 1)
        sketch = timed(scan_here, folder / "one", iid=iid)[1]
        shutil.rmtree(folder / "one")
        size = sketch.save(folder / "one.sketch", force=True).stat().st_size
        other = cd.DependenceSketch.load(folder / "one.sketch")
        start = time.perf_counter()
        other.merge(sketch)
        seconds = time.perf_counter() - start
        report.rows.append((
            str(columns), f"{rows:,}", str(sketch.resolution), "independent" if iid else f"{len(sketch.blocks)} blocks",
            f"{size / 1e6:.1f} MB", f"{sketch.nbytes / 1e6:.0f} MB", f"{seconds:.3f}",
        ))  # fmt: skip
        if columns == 10:
            numbers |= {"sketch_megabytes": sketch.nbytes / 1e6, "merge_seconds": seconds}
    return report, numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", nargs=3, metavar=("DRAWS", "REFERENCE", "MEMORY"), help="one comparison, as JSON")
    parser.add_argument("--only", choices=("large", "agreement", "growth", "sketches"), help="one table")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows, to see that it runs")
    parser.add_argument("--write", type=Path, help="the Markdown file to write; its numbers go to streaming.json")
    options = parser.parse_args()
    if options.job:
        job(*options.job)
        return
    part = 100 if options.quick else 1
    reports: list[Report] = []
    numbers: dict[str, float] = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for wanted, run in (
            ("large", lambda: large(folder, [(2_000_000 // part, 30), (20_000_000 // part, 10), (100_000_000 // part, 10)])),
            ("agreement", lambda: (agreement(1_000_000 // part, 20), {})),
            ("growth", lambda: growth(folder)),
            ("sketches", lambda: sketches(folder)),
        ):
            if options.only in (None, wanted):
                report, found = run()
                report.show(Console())
                reports.append(report)
                numbers |= found
    if options.write:
        text = [f"# Tables larger than memory\n\nWritten by `make bench-large`. {machine()}\n"]
        options.write.write_text("\n".join([*text, *(report.markdown() for report in reports)]))
        NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
