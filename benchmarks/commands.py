"""What a person waits for at the command line: help, a check of a file, the import, the paper's experiments."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import copula_discrepancy as cd
from benchmarks.report import LIMITS, Report, limit_row
from benchmarks.sizes import Sizes
from benchmarks.timing import measured, timed


def python(*arguments: str, inside: str | Path | None = None) -> None:
    """Run a new Python, to its end."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=inside)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")


def command(*arguments: str) -> None:
    """Run `copula-discrepancy`, to its end."""
    python("-m", "copula_discrepancy", *arguments)


def commands(sizes: Sizes) -> Report:
    """Wall-clock seconds, import and Python's own start included, with the compiled code in its cache."""
    report = Report("Command line: wall-clock seconds of a new process, kernels compiled before", LIMITS)
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
            limit_row("import copula_discrepancy", imported, "s", note="parts load when they are first used"),
            limit_row("import copula_discrepancy; discrepancy and pairwise loaded", loaded, "s"),
        ]
        what = f"{sizes.experiment} --replications {sizes.replications}"
        if sizes.experiment != "all":
            what += " --sizes 100"
        seconds = timed(lambda: command("reproduce", *what.split(), "--out", str(Path(folder) / "reproduction"))).seconds
        asked = 180.0 if sizes.experiment == "all" else None
        report.rows.append(limit_row(f"copula-discrepancy reproduce {what}", seconds, "s", asked, note="one run"))
    return report
