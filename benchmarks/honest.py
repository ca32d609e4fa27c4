"""False alarms and power on data from outside the library's models.

`make study` writes honest.md. Every row has its own seeds, so it does not depend on what else is run, or on how
many processes.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib
import numpy as np

import copula_discrepancy as cd
from benchmarks import honest_data as data
from benchmarks.report import Report
from benchmarks.study import run_study

Seed = np.random.SeedSequence
LEVEL = 0.05


def compared(draws: np.ndarray, reference: np.ndarray, *, iid: bool) -> cd.Pairwise:
    """`pairwise` in this process, without printing warnings; the result records them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.pairwise(draws, reference, iid=iid, n_jobs=1, progress=False)


def each(run: Callable[[Any], Any], parts: Iterable[Any], jobs: int) -> list[Any]:
    return list(joblib.Parallel(n_jobs=jobs)(joblib.delayed(run)(part) for part in parts))


def percent(shares: Sequence[float] | np.ndarray) -> str:
    """The mean over runs with its standard error, which is binomial for booleans."""
    values = np.asarray(shares, dtype=float)
    values = 100.0 * values[np.isfinite(values)]
    if values.size == 0:
        return "-"
    return f"{values.mean():.1f} (se {values.std() / np.sqrt(values.size):.1f})"


def reached(shares: Sequence[float], *, most: float = 100.0, least: float = 0.0) -> str:
    """Whether the percentage satisfies the requirement."""
    known = [share for share in shares if np.isfinite(share)]
    if not known:
        return "-"
    return "yes" if least - 1e-9 <= 100.0 * float(np.mean(known)) <= most + 1e-9 else "no"


def at_most(shares: Sequence[float], asked: float) -> tuple[str, str]:
    return f"at most {asked:g}", reached(shares, most=asked)


def at_least(shares: Sequence[float], asked: float) -> tuple[str, str]:
    return f"at least {asked:g}", reached(shares, least=asked)


def pvalues_of(result: cd.Pairwise) -> dict[str, np.ndarray]:
    """The unadjusted p-values of every test in the rows, without pairs that were not tested."""
    names = [name for name in result.rows.dtype.names or () if name.endswith("_pvalue")]
    return {name.removesuffix("_pvalue"): result.rows[name][np.isfinite(result.rows[name])] for name in names}


@dataclass(frozen=True)
class Outcome:
    """Summary of a result: whether a pair is flagged, whether there are warnings; rejection rate and smallest p by test."""

    flagged: bool
    warned: bool
    pairs: int
    n_eff: float
    rejected: dict[str, float]
    smallest: dict[str, float]

    @classmethod
    def of(cls, result: cd.Pairwise) -> "Outcome":
        """The outcome of an answer; a test that no pair had is not in it."""
        tested = {test: p for test, p in pvalues_of(result).items() if p.size}
        rejected = {test: float(np.mean(p < LEVEL)) for test, p in tested.items()}
        smallest = {test: float(p.min()) for test, p in tested.items()}
        n_eff = float(np.min(result.rows["n_eff"]))
        return cls(result.n_flagged > 0, bool(result.warnings), len(result.rows), n_eff, rejected, smallest)


def flagged(found: Sequence[Outcome]) -> list[float]:
    return [float(one.flagged) for one in found]


def warned(found: Sequence[Outcome]) -> str:
    return percent([one.warned for one in found])


def rejections(found: Sequence[Outcome], test: str) -> list[float]:
    return [one.rejected.get(test, np.nan) for one in found]


def smallest(found: Sequence[Outcome], test: str) -> str:
    values = [one.smallest[test] for one in found if test in one.smallest]
    return f"{min(values):.1e}" if values else "-"


def others(found: Sequence[Outcome], tell: Callable[[Sequence[Outcome], str], str]) -> str:
    """The same for every test other than level and shape."""
    tests = sorted({test for one in found for test in one.rejected} - {"level", "shape"})
    return ", ".join(f"{test} {tell(found, test)}" for test in tests) or "-"


REJECTIONS = ("level, p < 5%", "shape, p < 5%", "other tests, p < 5%")


def rejection_cells(found: Sequence[Outcome]) -> tuple[str, str, str]:
    """Cells of REJECTIONS."""
    level, shape = (percent(rejections(found, test)) for test in ("level", "shape"))
    return level, shape, others(found, lambda found, test: percent(rejections(found, test)))


# ---- a real table, cut in two ---------------------------------------------------------------------------------------------


def halves_run(name: str, seed: Seed) -> Outcome:
    return Outcome.of(compared(*data.halves(name, np.random.default_rng(seed)), iid=True))


def halves(runs: int, jobs: int, tables: Sequence[str] = data.SKLEARN + data.STATSMODELS) -> list[Report]:
    """Real tables split into random halves."""
    report = Report(
        f"Random halves of real tables: {runs} splits each, independent rows; percentages",
        ("table", "rows", "columns", "pairs", "splits with any pair flagged", "required", "met")
        + ("smallest p, level", "smallest p, shape", "smallest p, other tests"),
        note="The tables come with scikit-learn (the first five) and statsmodels; all numeric columns are used unchanged. Each "
        "split of randhie uses 2,000 of its 20,190 rows. ccard, cpunish and stackloss have fewer than 100 rows and are "
        "omitted. Two random halves of a table have the same distribution, whatever the order of its rows. Smallest p-values "
        "are unadjusted, over all pairs of all splits.",
    )
    for name in tables:
        try:
            rows, columns = data.real_table(name).shape
        except ImportError as error:
            report.rows.append((name, "-", "-", "-", "-", "-", f"not run: {error.name} is not installed", "-", "-", "-"))
            continue
        found = each(partial(halves_run, name), data.seeds(f"halves, {name}", runs), jobs)
        counts = f"{min(rows, data.MOST_ROWS.get(name, rows)):,}", f"{columns}", f"{max(one.pairs for one in found):,}"
        least = smallest(found, "level"), smallest(found, "shape"), others(found, smallest)
        report.rows.append((name, *counts, percent(flagged(found)), *at_most(flagged(found), 7.0), *least))
    return [report]


# ---- rare flags -----------------------------------------------------------------------------------------------------------

RATES: dict[str, tuple[float, ...]] = {
    "0.1 to 0.2%": (0.001, 0.00125, 0.0015, 0.00175, 0.002),
    **{f"{100 * rate:g}%": (rate,) * 5 for rate in (0.005, 0.01, 0.02, 0.05)},
}
THRESHOLDS = (0.05, 1e-3, 1e-6)


def flags_run(rates: tuple[float, ...], correlation: float, n: int, seed: Seed) -> tuple[bool, np.ndarray] | None:
    """Whether any pair is flagged, and the level's raw p-values; None where fewer than two columns vary in both samples."""
    rng = np.random.default_rng(seed)
    draws, reference = (data.rare_flags(rates, correlation, n, rng) for _ in range(2))
    vary = (np.ptp(draws, axis=0) > 0) & (np.ptp(reference, axis=0) > 0)
    if vary.sum() < 2:
        return None
    result = compared(draws, reference, iid=True)
    return result.n_flagged > 0, pvalues_of(result)["level"]


def flags(runs: int, jobs: int, n: int = 1000) -> list[Report]:
    """Two samples from the same distribution of rare flags."""
    report = Report(
        f"Rare flags: {n:,} rows of five columns of 0 and 1, twice, {runs} runs, independent rows; percentages",
        ("rates", "columns", "runs with any pair flagged", "required", "met", "level's p-values")
        + tuple(f"level, p < {threshold:g}" for threshold in THRESHOLDS)
        + ("smallest p, level", "runs without a pair"),
        note="Dependent columns come from normals with correlation 0.7. A run has no pairs if fewer than two columns vary in "
        "both samples.",
    )
    for correlation in (0.0, 0.7):
        for label, rates in RATES.items():
            columns = "dependent" if correlation else "independent"
            answers = each(partial(flags_run, rates, correlation, n), data.seeds(f"flags, {label}, {columns}", runs), jobs)
            found = [answer for answer in answers if answer is not None]
            alarms = [float(answer[0]) for answer in found]
            p = np.concatenate([np.empty(0), *(answer[1] for answer in found)])
            below = [f"{100 * np.mean(p < threshold):.3g}" if p.size else "-" for threshold in THRESHOLDS]
            least = f"{p.min():.1e}" if p.size else "-"
            asked = at_most(alarms, 7.0)
            report.rows.append((label, columns, percent(alarms), *asked, f"{p.size:,}", *below, least, f"{runs - len(found)}"))
    return [report]


# ---- clustered volatility -------------------------------------------------------------------------------------------------

PROCESSES: dict[str, tuple[bool, float | None]] = {
    "GARCH(1,1), normal innovations": (True, None),
    "GARCH(1,1), t(4) innovations": (True, 4.0),
    "independent days, t(4) copula": (False, 4.0),
}


def garch_run(clustered: bool, df: float | None, days: int, seed: Seed) -> tuple[Outcome, np.ndarray]:
    """The outcome, and the rows in a fixed order of the pairs."""
    rng = np.random.default_rng(seed)
    paths = data.garch_paths(days, df, rng) if clustered else np.swapaxes(data.innovations(days, df, rng, 2), 0, 1)
    result = compared(paths[0], paths[1], iid=False)
    return Outcome.of(result), np.sort(result.rows, order=("first", "second"))


def error_ratio(rows: np.ndarray, gap: str) -> str:
    """Mean of the standard error over the true standard deviation, both over runs, averaged over pairs."""
    if len(rows) < 2:
        return "-"
    errors, spreads = np.nanmean(rows[f"{gap}_se"], axis=0), np.nanstd(rows[gap], axis=0, ddof=1)
    return f"{np.mean(errors / spreads):.2f}"


def garch(runs: int, jobs: int, days: int = data.DAYS) -> list[Report]:
    """Two independent paths of the same process."""
    report = Report(
        f"Clustered volatility: {data.ASSETS} assets, {days:,} days, two paths of one process, {runs} runs; percentages",
        ("process", "runs with any pair flagged", "required", "met", *REJECTIONS)
        + ("level: se / true sd", "shape: se / true sd", "answers with warnings"),
        note=f"Compared with iid=False. omega {data.OMEGA}, alpha {data.ALPHA}, beta {data.BETA}, burn-in {data.BURN_IN} "
        f"days; innovations have variance 1 and correlations of {data.CORRELATION}. If se / true sd is below 1, standard "
        "errors are too small.",
    )
    for label, process in PROCESSES.items():
        answers = each(partial(garch_run, *process, days), data.seeds(f"garch, {label}", runs), jobs)
        found, rows = [answer[0] for answer in answers], np.stack([answer[1] for answer in answers])
        alarms = percent(flagged(found)), *at_most(flagged(found), 7.0)
        ratios = error_ratio(rows, "level"), error_ratio(rows, "shape")
        report.rows.append((label, *alarms, *rejection_cells(found), *ratios, warned(found)))
    return [report]


# ---- Metropolis on a banana -----------------------------------------------------------------------------------------------

# target, step, thinning, most raw rejections of shape, whether warnings are asked for; a pilot of other seeds chose the steps
BANANAS = (
    ("narrow", data.NARROW, 0.5, 1, 10.0, True),
    ("narrow", data.NARROW, 1.45, 1, 8.0, True),
    ("narrow", data.NARROW, 1.55, 3, 7.0, False),
    ("wide", data.WIDE, 0.29, 1, 10.0, True),
    ("wide", data.WIDE, 0.58, 1, 8.0, True),
    ("wide", data.WIDE, 2.1, 1, 7.0, False),
)


def banana_run(part: tuple[np.ndarray, np.ndarray]) -> Outcome:
    return Outcome.of(compared(*part, iid=False))


def banana(runs: int, jobs: int, shape: tuple[int, int] = (4, 1000)) -> list[Report]:
    """Short chains started in their target, compared with exact draws."""
    chains, draws = shape
    report = Report(
        f"Metropolis on a banana: {chains} x {draws:,} draws, exact starts, {chains} x {draws:,} exact draws as the reference, "
        f"{runs} runs; percentages",
        ("banana", "step", "n_eff, mean", *REJECTIONS, "required of shape", "met")
        + ("pair flagged", "answers with warnings", "required of warnings"),
        note="x ~ N(0, 1), y | x ~ N(b (x + s)^2, w^2) with (b, s, w) = "
        f"{tuple(data.NARROW)}, narrow, and {tuple(data.WIDE)}, wide; random-walk Metropolis with normal steps. The "
        "thinned chain was run longer: without thinning, no step size gives so many effective draws for the narrow target.",
    )
    for name, target, step, thin, most, warnings_asked in BANANAS:
        seeds = data.seeds(f"banana, {name}, {step}, {thin}", runs + 1)
        paths = data.metropolis(target, runs, shape, step, thin, np.random.default_rng(seeds[0]))
        references = (target.draws(shape, np.random.default_rng(seed)) for seed in seeds[1:])
        found = each(banana_run, zip(paths, references, strict=True), jobs)
        label = f"{step:g}" + (f", one draw in {thin} kept" if thin > 1 else "")
        n_eff = f"{np.mean([one.n_eff for one in found]):.0f}"
        cells = *rejection_cells(found), *at_most(rejections(found, "shape"), most), percent(flagged(found)), warned(found)
        report.rows.append((name, label, n_eff, *cells, "most" if warnings_asked else "-"))
    return [report]


# ---- joint crashes --------------------------------------------------------------------------------------------------------

MIRRORS = {"both fall": (1, 1), "both rise": (-1, -1), "the first falls, the second rises": (1, -1)}


def crash_result(signs: tuple[int, int], n: int, seed: Seed) -> cd.Pairwise:
    rng = np.random.default_rng(seed)
    history = data.crash_days(n, signs, rng)
    return compared(data.gaussian_days(n, data.crash_tau() * signs[0] * signs[1], rng), history, iid=False)


def crash_run(signs: tuple[int, int], n: int, seed: Seed) -> Outcome:
    return Outcome.of(crash_result(signs, n, seed))


def crashes(runs: int, jobs: int, sizes: Sequence[int] = (2500, 1000)) -> list[Report]:
    """Joint crashes, compared with a generator with the same tau."""
    largest = max(sizes)
    answer = crash_result((1, 1), largest, data.seeds(f"crashes, both fall, {largest}", 1)[0])
    report = Report(
        f"Joint crashes: a Gaussian generator with the same tau, {runs} runs; percentages",
        ("on crash days", "days", "pair flagged", "required", "met", *REJECTIONS),
        note=f"Compared with iid=False. {100 * (1 - data.CRASH_SHARE):g}% of days have correlation {data.CALM_CORRELATION}; on "
        f"the others both are N({data.CRASH_LEVEL}, {data.CRASH_WIDTH}^2), independent. tau is {data.crash_tau():.3f} in both "
        "samples. The other rows mirror one column, which changes the sign of tau, or both columns. The result of the first "
        f"run of the first row:\n\n```text\n{answer}\n```",
    )
    for n in sizes:
        for label, signs in MIRRORS.items():
            found = each(partial(crash_run, signs, n), data.seeds(f"crashes, {label}, {n}", runs), jobs)
            asked = at_least(flagged(found), 95.0) if n == largest else ("-", "-")
            report.rows.append((label, f"{n:,}", percent(flagged(found)), *asked, *rejection_cells(found)))
    return [report]


# ---- all of it ------------------------------------------------------------------------------------------------------------

CASES: dict[str, tuple[Callable[[int, int], list[Report]], int]] = {
    "halves": (halves, 200),
    "flags": (flags, 400),
    "garch": (garch, 400),
    "banana": (banana, 400),
    "crashes": (crashes, 200),
}


def main(arguments: Sequence[str] | None = None) -> None:
    description = "false alarms and power on data from outside the library's models"
    run_study("False alarms and power on data from outside the library's models", description, CASES, arguments)


if __name__ == "__main__":
    from benchmarks import honest

    honest.main()  # by its name, so that workers can import what they are to run
