"""Tables of every kind: size and power of form, the score of synthetic tables, and the cost of a large table.

`make study` writes kinds.md. Every row has its own seeds, so it does not depend on what else is run, or on how many processes.
"""

import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise as steps
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom, chi2, ncx2

import copula_discrepancy as cd
from benchmarks import honest_data, kinds_data
from benchmarks.form import between
from benchmarks.honest import LEVEL, at_least, each, percent
from benchmarks.report import LIMITS, Report, limit_row
from benchmarks.study import run_study
from copula_discrepancy.estimate.coded_columns import coded
from copula_discrepancy.estimate.level_pairs import level_gap

Seed = np.random.SeedSequence
SIZES = (500, 5000)
POPULATIONS = ("simulated", "real")


def band(runs: int, probability: float = LEVEL) -> str:
    """The percentages within which 95% of studies with so many runs find a test of this size, by the binomial distribution."""
    low, high = (100.0 * binom.ppf(q, runs, probability) / runs for q in (0.025, 0.975))
    return f"{low:.1f} to {high:.1f}"


# ---- size -----------------------------------------------------------------------------------------------------------------


def form_pvalue(samples: Sequence[kinds_data.Pair]) -> float:
    """The p-value of form of one pair in two samples; NaN if it cannot be tested."""
    sides = [
        coded([pair[side].values for pair in samples], samples[0][side].labels, ordered=samples[0][side].ordered)
        for side in (0, 1)
    ]
    pairs = [(sides[0][k], sides[1][k]) for k in range(2)]
    gap = level_gap(pairs, order=kinds_data.ORDER, iid=(True, True), n_chains=(1, 1))
    return np.nan if isinstance(gap, str) else gap.form.pvalue


def two_samples(kind: int, population: str, dependent: bool, n: int, seed: Seed) -> list[kinds_data.Pair]:
    rng = np.random.default_rng(seed)
    return [kinds_data.sample(kinds_data.KINDS[kind], population, dependent, n, rng) for _ in range(2)]


def form_run(kind: int, population: str, dependent: bool, n: int, seed: Seed) -> float:
    pvalue = form_pvalue(two_samples(kind, population, dependent, n, seed))
    return float(pvalue < LEVEL) if np.isfinite(pvalue) else np.nan


def level_run(kind: int, population: str, dependent: bool, n: int, seed: Seed) -> tuple[float, float]:
    """Whether level and form of `pairwise` reject."""
    draws, reference = (
        pd.DataFrame({"a": first.series(), "b": second.series()})
        for first, second in two_samples(kind, population, dependent, n, seed)
    )
    (row,) = compared(draws, reference).rows
    return float(row["level_pvalue"] < LEVEL), float(row["form_pvalue"] < LEVEL)


def compared(draws: pd.DataFrame, reference: pd.DataFrame) -> cd.Pairwise:
    """`pairwise` of independent rows in this process, without printing warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.pairwise(draws, reference, iid=True, n_jobs=1, progress=False)


def cells(sizes: Sequence[int], kinds: Sequence[int]) -> list[tuple[int, str, bool, int]]:
    """Every combination: kind, population, dependent or not, n."""
    return [(k, part, tied, n) for k in kinds for part in POPULATIONS for tied in (False, True) for n in sizes]


def told(kind: int, population: str, dependent: bool, n: int) -> tuple[str, str, str, str]:
    found = kinds_data.KINDS[kind]
    where = f"real, {found.source}" if population == "real" else "simulated"
    return found.name, where, "dependent" if dependent else "independent", f"{n:,}"


def size(runs: int, jobs: int, sizes: Sequence[int] = SIZES) -> list[Report]:
    """Two samples of one population: how often form rejects."""
    report = Report(
        f"Size of form: two samples of one population, rejections at 5%, {runs:,} runs; percentages",
        ("kinds", "population", "columns", "n", "form, p < 5%", "required", "met", "not tested"),
        note="Independent rows, the p-value of a single pair. By chance alone, 95% of rows of a test with a size of exactly 5% "
        f"are within {band(runs)}. Real: rows of tables that come with statsmodels, drawn with replacement; for independent "
        "columns, each column by itself. Definitions are in benchmarks/kinds_data.py.",
    )
    everything: list[float] = []
    for cell in cells(sizes, range(len(kinds_data.KINDS))):
        label = told(*cell)
        found = each(partial(form_run, *cell), honest_data.seeds(f"kinds, size, {label}", runs), jobs)
        everything += found
        report.rows.append((*label, percent(found), *between(found, 3.5, 7.0), f"{np.isnan(found).sum()}"))
    report.rows.append(("all", "-", "-", "-", percent(everything), "-", "-", f"{np.isnan(everything).sum()}"))
    return [report]


def level(runs: int, jobs: int, sizes: Sequence[int] = SIZES[:1]) -> list[Report]:
    """The same for Kendall's tau of ordered columns with ties."""
    report = Report(
        f"Size of level: two samples of one population, rejections at 5%, {runs:,} runs; percentages",
        ("kinds", "population", "columns", "n", "level, p < 5%", "required", "met", "form, p < 5%"),
        note=f"pairwise() on a table of two ordered columns. The band of chance is {band(runs)}.",
    )
    ordered = [k for k, kind in enumerate(kinds_data.KINDS) if kind.leveled]
    for cell in cells(sizes, ordered):
        label = told(*cell)
        found = np.array(each(partial(level_run, *cell), honest_data.seeds(f"kinds, level, {label}", runs), jobs))
        required = between(found[:, 0].tolist(), 3.5, 7.0)
        report.rows.append((*label, percent(found[:, 0]), *required, percent(found[:, 1])))
    return [report]


# ---- power ----------------------------------------------------------------------------------------------------------------

STRENGTHS = (0.02, 0.03, 0.05, 0.1)
ROWS = 2000


class Found(NamedTuple):
    """What `pairwise` says of a table that lost the dependence of one pair."""

    flagged: float
    first: float
    form_flagged: float
    others: float
    tests: float


def lost_run(pair: tuple[str, str], phi2: float, n: int, seed: Seed) -> Found:
    rng = np.random.default_rng(seed)
    result = compared(kinds_data.mixed(n, rng), kinds_data.mixed(n, rng, pair, phi2))
    names = {frozenset((result.names[row["first"]], result.names[row["second"]])): k for k, row in enumerate(result.rows)}
    place = names[frozenset(pair)]
    row = result.rows[place]
    tests = sum(int(np.isfinite(result.rows[f"{name}_pvalue"]).sum()) for name in ("level", "shape", "tails", "form"))
    flags = result.rows["flagged"].astype(int)
    return Found(
        float(row["flagged"]), float(place == 0), float(row["form_adjusted"] < LEVEL), flags.sum() - flags[place], tests
    )


def oracle(phi2: float, n: int, df: int, tests: float) -> float:
    """Power at 5% / tests of a chi-square test of independence in one of two samples, whose covariance is known.

    Both samples have errors of 1 / sqrt(n) in every coefficient, so that the noncentrality is n phi^2 / 2.
    """
    return float(ncx2.sf(chi2.isf(LEVEL / tests, df), df, 0.5 * n * phi2))


def degrees(pair: tuple[str, str]) -> int:
    return kinds_data.COLUMNS[pair[0]].size * kinds_data.COLUMNS[pair[1]].size


def power(runs: int, jobs: int, n: int = ROWS, strengths: Sequence[float] = STRENGTHS) -> list[Report]:
    """One pair's dependence is lost, all others are kept."""
    columns = ("pair flagged", "required of flagged", "met", "first", "required of first", "met by first")
    report = Report(
        f"Power: one pair of {len(kinds_data.NAMES)} columns lost, {n:,} rows each, {runs} runs of each of "
        f"{len(kinds_data.LOST)} pairs; percentages",
        ("phi^2", *columns, "oracle, all df", "oracle, 1 df", "other pairs flagged, mean"),
        note="pairwise(iid=True) on the whole table. Flagged by any test, all adjusted by Benjamini and Hochberg; "
        "first in the ranking. Oracle: power at 5% / number of tests of a chi-square test that knows all covariances, with as "
        "many degrees of freedom as form has coefficients, and with one, if the direction of the difference were known. The "
        "noncentrality is n phi^2 / 2, so no test of all directions reaches 95% at the smallest phi^2.",
    )
    detail = Report(
        f"Power by pair: the same runs, {runs} of each; percentages",
        ("pair", "coefficients", "phi^2", "flagged", "form flagged", "first", "oracle, all df", "oracle, 1 df"),
        note="Form flagged: its adjusted p-value alone.",
    )
    for phi2 in strengths:
        every: list[Found] = []
        wide, narrow = [], []
        for pair in kinds_data.LOST:
            label = " x ".join(pair)
            found = each(partial(lost_run, pair, phi2, n), honest_data.seeds(f"kinds, power, {label}, {phi2}", runs), jobs)
            every += found
            tests = float(np.mean([one.tests for one in found]))
            limits = oracle(phi2, n, degrees(pair), tests), oracle(phi2, n, 1, tests)
            wide.append(limits[0])
            narrow.append(limits[1])
            shares = [percent([getattr(one, name) for one in found]) for name in ("flagged", "form_flagged", "first")]
            detail.rows.append((label, f"{degrees(pair)}", f"{phi2:g}", *shares, *(f"{100 * part:.1f}" for part in limits)))
        flagged, first = [one.flagged for one in every], [one.first for one in every]
        others = f"{np.mean([one.others for one in every]):.2f}"
        asked = percent(flagged), *at_least(flagged, 95.0), percent(first), *at_least(first, 90.0)
        report.rows.append((f"{phi2:g}", *asked, f"{100 * np.mean(wide):.1f}", f"{100 * np.mean(narrow):.1f}", others))
    return [report, detail]


# ---- the score of synthetic tables ------------------------------------------------------------------------------------------

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
MANY = 100_000  # rows of both tables whose score stands for the truth
HALF = 0.5


def scored(real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float, float]:
    """The score and its interval."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        found = cd.DependenceFidelity.compute_breakdown(real, synthetic, n_jobs=1, progress=False)
    return found["score"], *found["interval"]


def score_run(n: int, seed: Seed) -> np.ndarray:
    """Scores and intervals, (share, 3), of one synthetic table, more and more of it shuffled."""
    rng = np.random.default_rng(seed)
    real, copy = kinds_data.scored(n, rng), kinds_data.scored(n, rng)
    return np.array([scored(real, kinds_data.shuffled(copy, share, rng)) for share in SHARES])


def copy_run(n: int, seed: Seed) -> tuple[float, float, float]:
    """The score of an honest copy and its interval."""
    rng = np.random.default_rng(seed)
    return scored(kinds_data.scored(n, rng), kinds_data.scored(n, rng))


def copies(runs: int, jobs: int, sizes: Sequence[int] = (500, 2000)) -> list[Report]:
    """Scores of honest copies."""
    report = Report(
        f"Fidelity of honest copies: two samples of one population, 8 columns, {runs} runs; percentages",
        ("n", "score is 1", "1 in the interval", "required", "met", "smallest score", "lower end, mean"),
        note="Where a pair differs by chance, the score is below 1, and so is the upper end of the interval.",
    )
    for n in sizes:
        scores, low, high = np.array(each(partial(copy_run, n), honest_data.seeds(f"kinds, fidelity, {n}", runs), jobs)).T
        inside = (high >= 1.0).astype(float).tolist()
        least = f"{scores.min():.3f}", f"{np.mean(low):.3f}"
        report.rows.append((f"{n:,}", percent(scores == 1.0), percent(inside), *at_least(inside, 95.0), *least))
    return [report]


def fidelity(runs: int, jobs: int, sizes: Sequence[int] = (500, 2000)) -> list[Report]:
    """Scores of shuffled tables, and the coverage of the interval."""
    lost = Report(
        f"Fidelity of shuffled tables: mean score by the share of shuffled cells, {runs} runs",
        ("n", *(f"{100 * share:g}%" for share in SHARES), "runs without an increase, %"),
        note="Each cell of a column is shuffled with the given probability; the same copy in each run.",
    )
    covered = Report(
        f"Fidelity, coverage: 95% intervals of the score of a table with half of its cells shuffled, {runs} runs; percentages",
        ("n", "score at 100,000 rows", "score, mean", "score, sd", "interval, mean width", "covers", "required", "met"),
        note=f"The truth is the score of two tables of {MANY:,} rows.",
    )
    rng = np.random.default_rng(honest_data.seeds("kinds, fidelity, truth", 1)[0])
    truth = scored(kinds_data.scored(MANY, rng), kinds_data.shuffled(kinds_data.scored(MANY, rng), HALF, rng))[0]
    half = SHARES.index(HALF)
    for n in sizes:
        found = np.stack(each(partial(score_run, n), honest_data.seeds(f"kinds, fidelity, {n}", runs), jobs))
        scores, low, high = found[:, :, 0], found[:, :, 1], found[:, :, 2]
        falling = [all(b <= a + 1e-9 for a, b in steps(one)) for one in scores]
        lost.rows.append((f"{n:,}", *(f"{score:.3f}" for score in scores.mean(axis=0)), percent(falling)))
        holds = ((low[:, half] <= truth) & (truth <= high[:, half])).astype(float).tolist()
        width = f"{np.mean(high[:, half] - low[:, half]):.3f}"
        spread = f"{scores[:, half].mean():.3f}", f"{scores[:, half].std():.3f}", width
        covered.rows.append((f"{n:,}", f"{truth:.3f}", *spread, percent(holds), *at_least(holds, 93.0)))
    return [lost, covered]


# ---- cost -----------------------------------------------------------------------------------------------------------------

LARGE = 100_000


def cost(n: int) -> tuple[float, float, int]:
    """Seconds of `pairwise` on two large tables, the peak memory of this process in GB, data included, and the pairs."""
    rng = np.random.default_rng(1)
    draws, reference = kinds_data.large(n, rng), kinds_data.large(n, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        cd.pairwise(draws.head(300), reference.head(300), iid=True, progress=False)  # compiled, or loaded from the cache
        start = time.perf_counter()
        result = cd.pairwise(draws, reference, iid=True, progress=False)
        seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, len(result)


def speed(runs: int, jobs: int, n: int = LARGE) -> list[Report]:
    """A large mixed table in a fresh process; the fastest of the runs."""
    command = [sys.executable, "-c", f"from benchmarks import kinds; print(*kinds.cost({n}))"]
    found = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(runs)]
    seconds, memory = (min(float(one[part]) for one in found) for part in range(2))
    job = f"{n:,} rows x 50 columns, {int(found[0][2]):,} pairs"
    report = Report(
        f"Cost: pairwise(iid=True) on two mixed tables, all cores, the best of {runs}",
        LIMITS,
        note="Numbers, categories of 8 levels, flags, integers, numbers with missing values: ten columns of each; whether a "
        "value is missing makes ten more. Memory is the peak of the process, both tables included.",
    )
    report.rows.append(limit_row(job + ", time", seconds, "s", 60.0, reason="see the load of the machine"))
    report.rows.append(limit_row(job + ", peak memory", memory, "GB", 2.0, reason="see the load of the machine"))
    return [report]


# ---- all of it ------------------------------------------------------------------------------------------------------------

CASES: dict[str, tuple[Callable[[int, int], list[Report]], int]] = {
    "size": (size, 400),
    "level": (level, 200),
    "power": (power, 7),
    "copies": (copies, 100),
    "fidelity": (fidelity, 25),
    "speed": (speed, 1),
}


def main(arguments: Sequence[str] | None = None) -> None:
    description = "size, power, scores and cost on tables of every kind"
    run_study("Tables of every kind: size, power, scores, cost", description, CASES, arguments)


if __name__ == "__main__":
    from benchmarks import kinds

    kinds.main()  # by its name, so that workers can import what they are to run
