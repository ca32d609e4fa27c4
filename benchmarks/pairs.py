"""All pairs of d variables: speed compared with a loop of pyvinecopulib fits, false alarms and power.

`make bench` writes the first to results.md, `make study` the second to pairs.md.
"""

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import joblib
import numpy as np
from rich.console import Console

import copula_discrepancy as cd
from benchmarks import peers
from benchmarks.report import LIMITS, RATIOS, Report, failed_row, limit_row, machine, ratio_row
from benchmarks.sizes import Sizes
from benchmarks.timing import Run, timed

CHAINS, DRAWS = 4, 1000


def gumbel_table(d: int, theta: float, seed: int, n: int = CHAINS * DRAWS) -> np.ndarray:
    """Draws whose every pair has the Gumbel copula: a positive stable frailty (Marshall and Olkin, 1988)."""
    rng = np.random.default_rng(seed)
    alpha = 1.0 / theta
    angle, noise = rng.uniform(0.0, np.pi, (n, 1)), rng.standard_exponential((n, 1))
    # Chambers, Mallows and Stuck (1976), for a stable law on the positive half-line
    frailty = (np.sin((1 - alpha) * angle) / noise) ** ((1 - alpha) / alpha)
    frailty *= np.sin(alpha * angle) / np.sin(angle) ** (1 / alpha)
    values = np.exp(-((rng.standard_exponential((n, d)) / frailty) ** alpha))
    return values.reshape(-1, DRAWS, d) if n % DRAWS == 0 else values[None]


def correlations(d: int, seed: int) -> np.ndarray:
    """A correlation matrix with factors, of taus up to some 0.6."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d, 3))
    matrix = loadings @ loadings.T + np.diag(rng.uniform(1.0, 4.0, d))
    scale = np.sqrt(np.diag(matrix))
    return matrix / np.outer(scale, scale)


def normal_chains(matrix: np.ndarray, phi: float, seed: int, *, df: float | None = None) -> np.ndarray:
    """Chains (4, 1000, d) with these correlations and AR(1) coefficient phi; with `df`, of a Student t copula."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((CHAINS, DRAWS, len(matrix)))
    chains = noise.copy()
    for t in range(1, DRAWS):
        chains[:, t] = phi * chains[:, t - 1] + np.sqrt(1.0 - phi**2) * noise[:, t]
    chains = chains @ np.linalg.cholesky(matrix).T
    return chains if df is None else chains / np.sqrt(rng.chisquare(df, (CHAINS, DRAWS, 1)) / df)


def peer_fits(draws: np.ndarray, family: str | None) -> Run:
    """A loop of pyvinecopulib's maximum likelihood fits over all pairs; without a family, of its selection. Answer: thetas."""
    pv = peers.load("pyvinecopulib")
    start = time.perf_counter()
    thetas = {}
    d = draws.shape[-1]
    u = pv.to_pseudo_obs(draws.reshape(-1, d))
    names = ("indep", "gaussian", "student", "clayton", "gumbel", "frank", "joe") if family is None else (family,)
    choices = [getattr(pv.BicopFamily, name) for name in names]
    controls = pv.FitControlsBicop(family_set=choices, parametric_method="mle")
    for i, j in combinations(range(d), 2):
        pair = np.ascontiguousarray(u[:, [i, j]])
        if family is None:
            pv.Bicop().select(pair, controls)
        else:
            fitted = pv.Bicop(family=choices[0])
            fitted.fit(pair, controls)
            thetas[i, j] = fitted.parameters[0, 0]
    return Run(time.perf_counter() - start, thetas)


def ours(*arguments: object, **choices: object) -> Run:
    """`pairwise` of these arguments. Answer: the result."""
    with quiet():
        return timed(lambda: cd.pairwise(*arguments, progress=False, **choices))


@cache
def reference_seconds(d: int, df: float | None = None) -> float:
    """Seconds of `pairwise` against a reference sample, families chosen; normal data, or Student t with `df`."""
    seconds = 0.0
    for variables in (3, d):  # the first compiles, loads, touches
        matrix = correlations(variables, 1)
        seconds = ours(*(normal_chains(matrix, 0.3, seed, df=df) for seed in (1, 2))).seconds
    return seconds


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        yield


@dataclass
class Job:
    """A call of `pairwise`, and the smaller task of the peer: fits of a family, or selection of a family, for both samples."""

    against: str
    arguments: tuple[object, ...]
    choices: dict[str, str]
    samples: tuple[np.ndarray, ...]
    family: str | None

    def peer(self, part: int) -> Run:
        """The peer's work; its selection takes 200 ms and more per pair, and is run for `part` variables and scaled up."""
        if self.family is not None:
            runs = [peer_fits(sample, self.family) for sample in self.samples]
            return Run(sum(run.seconds for run in runs), runs[0].answer)
        d = self.samples[0].shape[-1]
        return Run(peer_fits(self.samples[0][..., :part], None).seconds * (d * (d - 1)) / (part * (part - 1)))

    def judge(self, mine: Run, theirs: Run) -> str:
        """How the peer's thetas compare with ours."""
        if self.family is None:
            return "chooses among other families"
        rows = mine.answer.rows
        places = zip(rows["first"], rows["second"], rows["theta"], strict=True)
        apart = max(abs(theta - theirs.answer[i, j]) for i, j, theta in places)
        return "the same within 1e-3" if apart <= 1e-3 else f"differs by {apart:.1e}"

    @property
    def peer_label(self) -> str:
        """What the peer does."""
        both = " of both samples" if len(self.samples) > 1 else ""
        return (
            f"pyvinecopulib: {self.family} fits{both}" if self.family else "pyvinecopulib: selection on one sample, scaled up"
        )


def jobs(d: int) -> list[Job]:
    matrix = correlations(d, 1)
    gumbel, other_gumbel = gumbel_table(d, 2.0, 1), gumbel_table(d, 2.0, 2)
    normal, other_normal = normal_chains(matrix, 0.3, 1), normal_chains(matrix, 0.3, 2)
    student, other_student = normal_chains(matrix, 0.3, 3, df=4.0), normal_chains(matrix, 0.3, 4, df=4.0)
    known = {pair: cd.Gumbel(2.0) for pair in combinations(range(d), 2)}
    reference = "a reference sample, family"
    return [
        Job("known copulas, Gumbel", (gumbel, known), {}, (gumbel,), "gumbel"),
        Job("a correlation matrix, Gaussian", (normal, matrix), {}, (normal,), "gaussian"),
        Job(f"{reference} Gumbel", (gumbel, other_gumbel), {"family": "gumbel"}, (gumbel, other_gumbel), "gumbel"),
        Job(f"{reference} Gaussian", (normal, other_normal), {"family": "gaussian"}, (normal, other_normal), "gaussian"),
        Job(f"{reference} chosen", (normal, other_normal), {}, (normal,), None),
        Job(f"{reference} chosen, t data", (student, other_student), {}, (student,), None),
    ]


def speed(sizes: Sizes) -> Report:
    """d variables with all standard errors, tests, tails, CKL and R-hat, against fits alone."""
    report = Report(
        f"All pairs: d = {sizes.pairs}, {CHAINS} x {DRAWS} draws, with standard errors, tests, tails, CKL, R-hat; "
        f"{os.cpu_count()} cores",
        RATIOS,
        note="Our computation uses all cores. The loop of the peer only fits theta, without its uncertainty.",
    )
    for job in jobs(sizes.pairs):
        name = f"pairwise, {job.against}"
        first = ours(*job.arguments, **job.choices)  # compile, load, touch
        try:
            runs = [
                (ours(*job.arguments, **job.choices).seconds, job.peer(sizes.selected))
                for _ in range(sizes.pairs_repeats if job.family else 1)
            ]
        except peers.Missing as missing:
            report.rows.append(failed_row(name, job.peer_label, first.seconds, str(missing), asked=5.0))
            continue
        mine, theirs = np.median([(seconds, run.seconds) for seconds, run in runs], axis=0)
        answer = job.judge(first, runs[0][1])
        report.rows.append(ratio_row(name, job.peer_label, mine, theirs, asked=5.0, answer=answer))
    return report


def many(sizes: Sizes) -> Report:
    """Timing with many pairs."""
    d = sizes.many
    report = Report(f"Many pairs: d = {d}, {d * (d - 1) // 2:,} pairs, {CHAINS} x {DRAWS} draws", LIMITS)
    for label, df in (("Gaussian data", None), ("t(4) data", 4.0)):
        job = f"pairwise, a reference sample, family chosen, {label}"
        report.rows.append(limit_row(job, reference_seconds(d, df), "s", 120.0, note="one run"))
    matrix = correlations(d, 1)
    run = ours(normal_chains(matrix, 0.3, 1), matrix)
    report.rows.append(limit_row("pairwise, a correlation matrix", run.seconds, "s", 120.0, note="one run"))
    return report


# ---- equal samples called different ------------------------------------------------------------------------------------

SIZE = 12  # variables: 66 pairs, 132 tests in a run


def split(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Two halves of one sample, and whether its draws are independent: 2 x 1000 rows, or 8 chains of 1000 draws as 4 and 4."""
    matrix = correlations(SIZE, 7)
    if kind.startswith("independent"):
        sample = {
            "independent, Gaussian": lambda: normal_chains(matrix, 0.0, seed),
            "independent, t(4)": lambda: normal_chains(matrix, 0.0, seed, df=4.0),
            "independent, Gumbel(1.5)": lambda: gumbel_table(SIZE, 1.5, seed),
        }[kind]()
        rows = sample.reshape(-1, SIZE)[:2000]
        return rows[:1000], rows[1000:], True
    phi = float(kind.split("AR(")[1].split(")")[0])
    df = 4.0 if "t(4)" in kind else None
    return normal_chains(matrix, phi, 2 * seed, df=df), normal_chains(matrix, phi, 2 * seed + 1, df=df), False


KINDS = (
    "independent, Gaussian", "independent, t(4)", "independent, Gumbel(1.5)",
    "chains, AR(0.5), Gaussian", "chains, AR(0.9), Gaussian", "chains, AR(0.9), t(4)",
)  # fmt: skip


def split_run(kind: str, seed: int) -> list[float]:
    first, second, iid = split(kind, seed)
    with quiet():
        result = cd.pairwise(first, second, iid=iid, n_jobs=1, progress=False)
    rows = result.rows
    found = [np.nanmean(rows[f"{gap}_pvalue"] < 0.05) for gap in ("level", "shape")]
    return [*found, float(np.mean(rows["flagged"])), float(result.n_flagged > 0)]


def power_run(kind: str, seed: int) -> list[float]:
    """One variable of the first sample is permuted: are its pairs detected, and no others?"""
    first, second, iid = split(kind, seed)
    broken = first.copy()
    flat = broken.reshape(-1, SIZE)
    lost = int(np.argmax(np.abs(correlations(SIZE, 7)).sum(axis=0)))  # the variable that depends most on the others
    flat[:, lost] = np.random.default_rng(seed).permutation(flat[:, lost])
    with quiet():
        result = cd.pairwise(broken, second, iid=iid, n_jobs=1, progress=False)
    strong = [pair for pair in result if f"x{lost}" in pair.names and abs(pair.tau_target) > 0.2]
    others = [pair for pair in result if f"x{lost}" not in pair.names]
    return [float(np.mean([pair.flagged for pair in strong])), float(np.mean([pair.flagged for pair in others]))]


def study(replications: int) -> list[Report]:
    """False alarms for equal samples, and power to detect lost dependence."""
    size = Report(
        f"A reference sample split in two: {SIZE} variables, {SIZE * (SIZE - 1) // 2} pairs, {replications} runs; percentages",
        ("sample", "level, p < 5%", "shape, p < 5%", "pairs flagged at FDR 5%", "required", "runs with any pair flagged"),
    )
    power = Report(
        f"One variable permuted, {max(replications // 4, 2)} runs; percentages",
        ("sample", "its pairs with |tau| > 0.2 flagged at FDR 5%", "pairs of the other variables flagged"),
    )
    for report, run, runs in ((size, split_run, replications), (power, power_run, max(replications // 4, 2))):
        for kind in KINDS:
            found = joblib.Parallel(n_jobs=-1)(joblib.delayed(run)(kind, seed) for seed in range(runs))
            means = 100.0 * np.mean(found, axis=0)
            errors = 100.0 * np.std(found, axis=0) / np.sqrt(runs)
            cells = [f"{mean:.1f} (se {error:.1f})" for mean, error in zip(means, errors, strict=True)]
            if report is size:
                cells.insert(3, "at most 5")
            report.rows.append((kind, *cells))
    return [size, power]


def main() -> None:
    parser = argparse.ArgumentParser(description="false alarms and power of pairwise")
    parser.add_argument("--replications", type=int, default=400)
    parser.add_argument("--write", type=Path, help="a Markdown file for the tables")
    options = parser.parse_args()
    console = Console(width=150)
    reports = study(options.replications)
    for report in reports:
        report.show(console)
    if options.write is not None:
        title = "# All pairs: false alarms and power\n\nWritten by `make study`."
        text = [f"{title} {machine()}\n", *(report.markdown() for report in reports)]
        options.write.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    from benchmarks import pairs

    pairs.main()  # by its name, so that workers can import what they are to run
