"""What a graphics processor saves, and how far its numbers are from the processor's: `python -m benchmarks.gpu`.

Times are medians of three calls, after one that compiles, or of one if it takes more than 5 s; draws begin and results end in
the processor's memory, so that transfers are included.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import copula_discrepancy as cd
from benchmarks.report import Report, machine
from benchmarks.timing import first_run, in_words, timed

REPEATS, PATIENCE = 3, 5.0
Array = NDArray[np.float64]


def chains(d: int, seed: int, *, degrees: float = np.inf, n_chains: int = 4, n_draws: int = 1000) -> Array:
    """Autocorrelated draws of d variables with factors in common, normal or Student t, (chain, draw, variable)."""
    loadings = np.random.default_rng(0)
    factors = loadings.standard_normal((d, max(3, d // 10))) * loadings.uniform(0.0, 1.2, (d, 1))
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n_chains, n_draws, factors.shape[1]))
    own = rng.standard_normal((n_chains, n_draws, d))
    for t in range(1, n_draws):
        for part in (common, own):
            part[:, t] = 0.3 * part[:, t - 1] + np.sqrt(1.0 - 0.09) * part[:, t]
    draws = common @ factors.T + own
    return draws if np.isinf(degrees) else draws / np.sqrt(rng.chisquare(degrees, (n_chains, n_draws, 1)) / degrees)


def _median(job: Callable[[], Any]) -> float:
    """The median time of a call, after a first one that compiles; that one alone if it took long."""
    first = timed(job).seconds
    return first if first > PATIENCE else float(np.median([timed(job).seconds for _ in range(REPEATS)]))


def _peak() -> str:
    import torch

    return f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GB"


def _reset() -> None:
    import torch

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def speed(part: int, on_cpu: bool) -> Report:
    """Each job on the device and, where that takes less than minutes, on the processor of the same machine."""
    report = Report("Speed: calls from arrays in the processor's memory", ("job", "device", "processor", "peak memory"))

    def add(name: str, job: Callable[[str], Any], *, compared: bool) -> None:
        _reset()
        seconds = _median(lambda: job("cuda"))
        processor = in_words(first_run(lambda: job("cpu")).seconds) if compared and on_cpu else "-"
        report.rows.append((name, in_words(seconds), processor, _peak()))
        Console().print(*report.rows[-1])

    d = 2000 // part
    wide = np.random.default_rng(1).standard_normal((4000, d))
    add(f"kendall_matrix, d = {d:,}, n = 4,000", lambda device: cd.kendall_matrix(wide, device=device), compared=False)
    for d in (1000 // part, 3000 // part):
        both = chains(d, 1), chains(d, 2)
        name = f"screen, level and form, d = {d:,} ({d * (d - 1) // 2:,} pairs), 4 x 1,000"
        add(name, lambda device, both=both: cd.screen(*both, level=True, device=device), compared=False)
    d = 100 // min(part, 10)
    three = chains(d, 1), chains(d, 2)
    name = f"interactions, d = {d} ({d * (d - 1) * (d - 2) // 6:,} triples), 4 x 1,000"
    add(name, lambda device: cd.interactions(*three, device=device), compared=True)
    for n, d in ((1_000_000 // part, 2), (100_000 // part, 100)):
        x = np.random.default_rng(1).standard_normal((n, d))
        add(
            f"ksd, n = {n:,}, d = {d}",
            lambda device, x=x: cd.ksd(x, lambda draws: -1.1 * draws, iid=True, device=device),
            compared=False,
        )
    for d in (30, 100, 300, 1000):
        pair = chains(max(d // part, 3), 1), chains(max(d // part, 3), 2)
        name = f"pairwise, everything, d = {d:,} ({d * (d - 1) // 2:,} pairs), 4 x 1,000"
        add(name, lambda device, pair=pair: cd.pairwise(*pair, device=device, progress=False), compared=d <= 300)
    return report


def agreement(part: int) -> Report:
    """Largest differences from the processor's numbers."""
    report = Report("Agreement: largest differences from the processor's numbers", ("number", "difference", "of"))

    def add(name: str, difference: Any, what: str) -> None:
        report.rows.append((name, f"{float(difference):.1e}", what))
        Console().print(*report.rows[-1])

    d = 60 // min(part, 10)
    for kind, degrees in (("normal", np.inf), ("t4", 4.0)):
        both = chains(d, 1, degrees=degrees), chains(d, 2, degrees=degrees)
        results = [cd.pairwise(*both, device=device, progress=False) for device in ("cpu", "cuda")]
        orders = [np.lexsort((result.rows["second"], result.rows["first"])) for result in results]
        own, other = (result.rows[order] for result, order in zip(results, orders, strict=True))
        verdicts = [np.array([gap.verdict for gap in result])[order] for result, order in zip(results, orders, strict=True)]
        for name in ("level", "shape", "form", "kept", "low_low", "high_high"):
            add(f"pairwise, {name}", np.nanmax(np.abs(own[name] - other[name])), f"{len(own):,} pairs, {kind}")
        differs = int(np.sum(verdicts[0] != verdicts[1]))
        add("pairwise, verdicts that differ", differs, f"{len(own):,} pairs, {kind}")
        screens = [cd.screen(*both, level=True, device=device) for device in ("cpu", "cuda")]
        frames = [screen.to_dataframe().sort_values(["first", "second"]) for screen in screens]
        for name in ("tau", "tau_se", "value", "se", "pvalue"):
            gap = np.max(np.abs(frames[0][name].to_numpy() - frames[1][name].to_numpy()))
            add(f"screen, {name}", gap, f"{len(frames[0]):,} pairs, {kind}")
    wide = np.random.default_rng(1).standard_normal((4000, 300 // part)).round(2)
    gap = np.max(np.abs(cd.kendall_matrix(wide) - cd.kendall_matrix(wide, device="cuda")))
    add("kendall_matrix, with ties", gap, f"{wide.shape[1]} variables")
    for n, d, what, slope, statistic in (
        (330_000, 2, "right", -1.0, "u"),
        (330_000, 2, "wrong", -1.1, "v"),
        (20_000, 100, "right", -1.0, "u"),
        (20_000, 100, "wrong", -1.1, "v"),
    ):
        x = np.random.default_rng(1).standard_normal((n // part, d))
        mine, theirs = (
            cd.ksd(x, lambda draws, slope=slope: slope * draws, statistic=statistic, iid=True, device=device)
            for device in ("cpu", "cuda")
        )
        name = f"ksd, {statistic.upper()}-statistic, {what} target, relative"
        add(name, abs(theirs.value / mine.value - 1.0), f"n = {len(x):,}, d = {d}, {theirs.precision} precision")
    return report


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("speed", "agreement"), help="one table")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--no-cpu", action="store_true", help="do not run the jobs on the processor as well")
    parser.add_argument("--write", type=Path, help="the Markdown file to write")
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        parser.exit(0, "no CUDA device was found, and nothing was measured\n")
    warnings.simplefilter("ignore", cd.DependenceWarning)
    part = 20 if options.quick else 1
    name, memory = torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory / 2**30
    where = f"{name}, {memory:.0f} GB, PyTorch {torch.__version__}. {machine()}"
    parts = [f"# On a graphics processor\n\nWritten by `make bench-gpu`. {where} {(__doc__ or '').split('`.')[1].strip()}\n"]
    for wanted, run in (("speed", lambda: speed(part, not options.no_cpu)), ("agreement", lambda: agreement(part))):
        if options.only in (None, wanted):
            report = run()
            report.show(Console(width=160))
            parts.append(report.markdown())
            if options.write:  # what there is, in case that the rest takes too long
                options.write.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
