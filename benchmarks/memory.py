"""Peak memory of a job above its data: the resident set of a fresh process, so that compiled code counts as well."""

import ctypes
import gc
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import copula_discrepancy as cd
from benchmarks import pairs, peers
from benchmarks.report import LIMITS, Report, error_in_a_line, limit_row
from benchmarks.sizes import Sizes
from benchmarks.speed import stein_peer
from benchmarks.timing import Job


def _stein(n: int) -> Job:
    return partial(cd.ksd, np.random.default_rng(8).standard_normal((n, 2)), np.negative)


def _stein_thinning(n: int) -> Job:
    return stein_peer(np.random.default_rng(8).standard_normal((n, 2)))


def _columns(n: int) -> np.ndarray:
    x = np.random.default_rng(2).normal(size=(2, n))
    x[1] += x[0]
    return x


def _chains(d: int, seed: int) -> np.ndarray:
    return pairs.normal_chains(pairs.correlations(d, 1), 0.3, seed)


def _pairwise(d: int) -> Job:
    return partial(pairs.ours, _chains(d, 1), _chains(d, 2))


def _matrix(d: int) -> np.ndarray:
    return np.random.default_rng(4).normal(size=(4000, d))


def _csv(n: int) -> Job:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "draws.csv"
    np.savetxt(path, cd.Gumbel(2.5).sample(n, rng=1), delimiter=",", header="x,y", comments="")
    return lambda keep=folder: cd.as_draws(path)


def _page(d: int) -> Job:
    with pairs.quiet():
        result = cd.pairwise(_chains(d, 1), _chains(d, 2), family="gaussian", progress=False)
    folder = tempfile.TemporaryDirectory()
    return lambda keep=folder: result.to_html(Path(folder.name) / "page.html", force=True)


# the name of a job: what makes it for a size, and a size that loads and compiles all it needs
JOBS: dict[str, tuple[Callable[[int], Job], int]] = {
    "ksd": (_stein, 100),
    "stein-thinning ksd": (_stein_thinning, 100),
    "kendall_tau": (lambda n: partial(cd.kendall_tau, *_columns(n)), 100),
    "scipy kendalltau": (lambda n: peers.kendall("scipy", *_columns(n)), 100),
    "discrepancy": (lambda n: partial(cd.discrepancy, cd.Gumbel(2.5).sample(n, rng=1), cd.Gumbel(2.5)), 1000),
    "pairwise": (_pairwise, 3),
    "kendall_matrix": (lambda d: partial(cd.kendall_matrix, _matrix(d)), 3),
    "csv": (_csv, 100),
    "page": (_page, 3),
}


def _status(key: str) -> float:
    """A line of /proc/self/status, in MB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return float(lines[key].split()[0]) / 1e3


def peak(name: str, size: int) -> float:
    """The largest growth of this process in MB while the job ran, after loading the data and all modules."""
    make, small = JOBS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(small)()
        job = make(size)
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what is free goes back, or the job could use it unseen
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
        before = _status("VmRSS")
        job()
        return max(_status("VmHWM") - before, 0.0)


def in_fresh_process(name: str, size: int) -> float | str:
    """`peak` of a new Python, or why it could not be measured."""
    if not Path("/proc/self/clear_refs").exists():
        return "needs Linux"
    command = [sys.executable, "-m", "benchmarks.memory", name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1]
    return float(done.stdout.strip().splitlines()[-1])


def memory(sizes: Sizes) -> Report:
    """Memory-intensive jobs, some of them compared with a peer."""
    largest, d = max(sizes.tau), sizes.many
    report = Report("Memory: peak resident memory beyond the data, in a new process", LIMITS)
    for label, name, size, asked in (
        (f"ksd, n = {sizes.stein_memory:,}, d = 2", "ksd", sizes.stein_memory, 100.0),
        (f"the same by stein-thinning, n = {sizes.stein:,}", "stein-thinning ksd", sizes.stein, None),
        (f"kendall_tau, n = {largest:,}", "kendall_tau", largest, None),
        ("the same by scipy", "scipy kendalltau", largest, None),
        (f"discrepancy, n = {largest:,}", "discrepancy", largest, None),
        (f"kendall_matrix, d = {d}, n = 4,000", "kendall_matrix", d, None),
        (f"pairwise, d = {d}, 4 x 1000 draws, a reference sample", "pairwise", d, None),
        (f"as_draws of a CSV file, {sizes.draws:,} x 2", "csv", sizes.draws, None),
        (f"page of d = {d}", "page", d, None),
    ):
        found = in_fresh_process(name, size)
        if isinstance(found, str):
            report.rows.append((label, "-", "-" if asked is None else f"{asked:g} MB", "-", found))
        else:
            report.rows.append(limit_row(label, found, "MB", asked))
    return report


if __name__ == "__main__":
    try:
        print(peak(sys.argv[1], int(sys.argv[2])))
    except peers.Missing as missing:
        sys.exit(error_in_a_line(missing))
