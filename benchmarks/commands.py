"""Waiting times on the command line: help, a check of a file, the import, the paper's experiments."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import copula_discrepancy as cd
from benchmarks.report import LIMITS, Report, limit_row
from benchmarks.sizes import Sizes
from benchmarks.timing import measured, timed


def python(*arguments: str, inside: str | Path | None = None, **environment: str) -> None:
    """Run a new Python, to its end, with these variables added to its environment."""
    added = os.environ | environment
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=inside, env=added)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")


def command(*arguments: str) -> None:
    """Run `copula-discrepancy`, to its end."""
    python("-m", "copula_discrepancy", *arguments)


def first_comparison(iid: bool, folder: Path) -> float:
    """Seconds of a comparison of two tables in an environment where nothing has been compiled yet."""
    rng, root = np.random.default_rng(1), np.linalg.cholesky(0.5 * np.eye(5) + 0.5)
    files = [folder / f"{name}.csv" for name in ("candidate", "reference")]
    for path in files:
        np.savetxt(path, rng.standard_normal((1000, 5)) @ root.T, delimiter=",", header="a,b,c,d,e", comments="")
    arguments = ["-m", "copula_discrepancy", "compare", *map(str, files), *["--iid"][: int(iid)]]
    with tempfile.TemporaryDirectory() as cache:
        return timed(lambda: python(*arguments, NUMBA_CACHE_DIR=cache)).seconds


def commands(sizes: Sizes) -> Report:
    """Wall-clock seconds, import and Python's own start included, with the compiled code in its cache."""
    report = Report("Command line: wall-clock seconds of a new process, with cached compiled kernels", LIMITS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draws.csv"
        np.savetxt(path, cd.Gumbel(2.5).sample(sizes.draws, rng=1), delimiter=",", header="x,y", comments="")
        runs = measured(
            lambda: command("check", str(path), "--family", "gumbel", "--theta", "2.5"),
            lambda: command("check", str(path)),
            lambda: command("--help"),
            lambda: python("-c", "import copula_discrepancy"),
            lambda: python("-c", "import copula_discrepancy as cd; cd.discrepancy, cd.pairwise"),
            repeats=min(sizes.repeats, 5),
        )
        for run in runs:
            if run.error is not None:
                raise run.error
        check, alone, usage, imported, loaded = (run.seconds for run in runs)
        rows = f"{sizes.draws:,} x 2 numbers in a CSV file"
        report.rows = [
            limit_row("copula-discrepancy check, a Gumbel target", check, "s", 2.0, note=rows),
            limit_row("copula-discrepancy check, without a target", alone, "s", 2.0, note=rows),
            limit_row("copula-discrepancy --help", usage, "s", 0.3),
            limit_row("import copula_discrepancy", imported, "s", note="submodules are loaded on first use"),
            limit_row("import copula_discrepancy; discrepancy and pairwise loaded", loaded, "s"),
        ]
        for iid in (True, False) if sizes.repeats > 1 else ():  # quick runs show that all works, which tests do, too
            told = f"copula-discrepancy compare{' --iid' * iid}, nothing compiled before"
            seconds, note = first_comparison(iid, Path(folder)), "1,000 x 5 numbers in each of two CSV files; one run"
            reason = "numba compiles about twenty functions and as many of its own"
            report.rows.append(limit_row(told, seconds, "s", 10.0 if iid else None, reason=reason, note=note))
        what = f"{sizes.experiment} --replications {sizes.replications}"
        if sizes.experiment != "all":
            what += " --sizes 100"
        seconds = timed(lambda: command("reproduce", *what.split(), "--out", str(Path(folder) / "reproduction"))).seconds
        asked = 180.0 if sizes.experiment == "all" else None
        report.rows.append(limit_row(f"copula-discrepancy reproduce {what}", seconds, "s", asked, note="one run"))
    return report
