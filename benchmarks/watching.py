"""What watching a run costs, and how old its answers are: `python -m benchmarks.watching`.

A process writes Stan's CSV files, a line of every chain at a time, as a sampler does. Shares are of processor time,
and the age of an answer is the time since it was of all draws that there were, until the next answer is there.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console

import copula_discrepancy as cd
from benchmarks.gpu import chains
from benchmarks.report import Report, machine
from copula_discrepancy.compare.incremental import KnownRows
from copula_discrepancy.compare.many import rank_pairs

SHARE, AGE, PART = 0.25, 5.0, 1.0 / 3.0  # required: of a core, in seconds, and of the time of all pairs
VARIABLES, PAUSE = 50, 0.02
_HEAD = "# stan_version_major = 2\n# model = m\n#     num_samples = {draws}\n#     save_warmup = 0\n# id = {chain}\n"
_END = "# \n#  Elapsed Time: 0.1 seconds (Warm-up)\n# \n"


def write(folder: Path, draws: int) -> None:
    """Write draws of four chains, one every 20 ms."""
    values = chains(VARIABLES, 1, n_draws=draws)
    files = [(folder / f"run_{k + 1}.csv").open("w") for k in range(4)]
    names = ",".join(f"theta.{k + 1}" for k in range(VARIABLES))
    for k, file in enumerate(files):
        file.write(f"{_HEAD.format(draws=draws, chain=k + 1)}lp__,accept_stat__,divergent__,{names}\n")
    start = time.monotonic()
    for t in range(draws):
        for file, chain in zip(files, values, strict=True):
            file.write("-7.25,0.9,0," + ",".join(f"{value:.6g}" for value in chain[t]) + "\n")
            file.flush()
        time.sleep(max(start + PAUSE * (t + 1) - time.monotonic(), 0.0))
    for file in files:
        file.write(_END)
        file.close()


def stolen() -> float:
    """Seconds of all cores that other virtual machines on the same host have taken from this one; NaN if nothing tells."""
    times = Path("/proc/stat")
    return int(times.read_text().split()[8]) / os.sysconf("SC_CLK_TCK") if times.exists() else math.nan


def followed(draws: int) -> Report:
    """A run followed from its first draw to its last."""
    report = Report(
        f"Following: 4 Stan files, {VARIABLES} variables, a draw each 20 ms", ("number", "measured", "required", "met")
    )
    reference = chains(VARIABLES, 2)
    names = [f"theta[{k + 1}]" for k in range(VARIABLES)]
    given = dict(zip(names, np.moveaxis(reference, 2, 0), strict=True))
    ages, spent, first, read = [0.0], [0.0, 0.0], math.nan, math.nan
    ending: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        writer = subprocess.Popen([sys.executable, "-m", "benchmarks.watching", "--writer", name, "--draws", str(draws)])
        cpu, clock, taken = time.process_time(), time.monotonic(), stolen()

        def update(state: cd.WatchUpdate) -> None:
            nonlocal first, read
            if state.result is None:
                return
            now = time.monotonic()
            if state.final or state.ending:
                ending.append(now)
                return
            first = now - clock if math.isnan(first) else first
            ages.append(0.0 if math.isnan(read) else now - read)  # of the answer that stood until now
            read = now - state.age
            spent[:] = time.process_time() - cpu, now - clock

        last = cd.watch(f"{name}/run_*.csv", given, on_update=update, progress=False)
        writer.wait()
        taken = (stolen() - taken) / (time.monotonic() - clock) / (os.cpu_count() or 1)
        exact = cd.pairwise([f"{name}/run_{k + 1}.csv" for k in range(4)], given)
    assert last.result is not None
    rows = last.result.rows, exact.rows
    same = all(np.array_equal(*(table[column] for table in rows), equal_nan=exact.rows[column].dtype.kind == "f")
               for column in exact.rows.dtype.names or ())  # fmt: skip
    share, oldest = spent[0] / spent[1], max(ages)
    for number, text, required, met in (
        ("share of a core, until the run ended", f"{share:.1%}", f"at most {SHARE:.0%}", share <= SHARE),
        ("oldest answer shown, until the run ended", f"{oldest:.1f} s", f"at most {AGE:g} s", oldest <= AGE),
        ("first answer after", f"{first:.1f} s", "-", True),
        ("time of the last answer, when the run is over", f"{ending[-1] - ending[0]:.1f} s", "-", True),
        ("last answer equal to that of pairwise, every digit", str(same), "True", same),
        ("taken from this machine by others on the same host", f"{taken:.1%}", "-", True),
    ):
        report.rows.append((number, text, required, "-" if required == "-" else "yes" if met else "no"))
    return report


def one_more_block(repeats: int = 3) -> Report:
    """A look at 1,000 draws more on 20,000, against all pairs computed anew."""
    report = Report(
        f"One more block: 1,000 draws on 20,000, {VARIABLES} variables",
        ("look", "processor time", "of all anew", "required", "met"),
    )
    draws, reference = (cd.as_draws(chains(VARIABLES, seed, n_draws=n)) for seed, n in ((1, 5250), (2, 1000)))
    before = cd.as_draws(draws.values[:, :5000])
    rank_pairs(cd.as_draws(draws.values[:, :200]), reference, n_jobs=1)  # compiles
    times: dict[str, list[float]] = {"all pairs anew": [], "within a quarter of a core": []}
    current = 0
    for _ in range(repeats):
        begin = time.process_time()
        rank_pairs(draws, reference, n_jobs=1, engine="exact")
        times["all pairs anew"].append(time.process_time() - begin)
        known = KnownRows(10)
        rank_pairs(before, reference, n_jobs=1, engine="exact", computed_by=known.rows)
        known.seconds = 0.6  # of a look every three seconds
        begin = time.process_time()
        rank_pairs(draws, reference, n_jobs=1, engine="exact", computed_by=known.rows)
        times["within a quarter of a core"].append(time.process_time() - begin)
        current = known.freshness.current
    medians = {name: float(np.median(values)) for name, values in times.items()}
    whole = medians["all pairs anew"]
    for name, seconds in medians.items():
        new = name == "all pairs anew"
        met = "-" if new else "yes" if seconds <= PART * whole else "no"
        report.rows.append((name, f"{seconds:.2f} s", f"{seconds / whole:.0%}", "-" if new else "at most a third", met))
    report.note = (
        f"The look within a quarter of a core computed {current:,} of {VARIABLES * (VARIABLES - 1) // 2:,} pairs anew."
    )
    return report


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writer", type=Path, help="write the files of a run into this folder, and measure nothing")
    parser.add_argument("--draws", type=int, default=2500, help="draws of each chain (default: 2500, 50 seconds)")
    parser.add_argument("--write", type=Path, help="the Markdown file to write")
    options = parser.parse_args()
    if options.writer:
        return write(options.writer, options.draws)
    warnings.simplefilter("ignore", cd.DependenceWarning)
    words = " ".join((__doc__ or "").split("`.")[1].split())
    parts = [f"# Watching a run\n\nWritten by `make bench-watch`. {machine()} {words}\n"]
    for report in (one_more_block(), followed(options.draws)):
        report.show(Console(width=140))
        parts.append(report.markdown())
    if options.write:
        options.write.write_text("\n".join(parts))
    return None


if __name__ == "__main__":
    main()
