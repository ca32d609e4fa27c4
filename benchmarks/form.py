"""Form: size, power, coverage of the share of dependence kept, other tests on the same data, and what `pairwise` says.

`make study` writes form.md. Every row has its own seeds, so it does not depend on what else is run, or on how many processes.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from benchmarks import form_data, honest_data, inference, rivals
from benchmarks.honest import LEVEL, at_least, at_most, compared, each, percent, reached
from benchmarks.report import Report
from benchmarks.study import run_study
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.form import FormGap, FormSide, form_gaps
from copula_discrepancy.estimate.rank_table import RankedTable

Seed = np.random.SeedSequence
ORDER = 4  # the default of the library
N = 500
CHAINS = (4, 500)
KINDS = ("independence", "Gaussian 0.8", "funnel", "banana", "ring", "t(3)", "Clayton, tau 0.5", "Gumbel, tau 0.5")


def side(draws: np.ndarray, *, iid: bool) -> FormSide:
    """The coefficients of all pairs of variables in draws (chain, draw, variable)."""
    columns = [np.ascontiguousarray(draws[:, :, k]).ravel() for k in range(draws.shape[-1])]
    table = RankedTable.of_columns(columns, len(draws))
    return Block(table, list(combinations(range(len(columns)), 2)), compare=False, iid=iid, order=ORDER).finish().form


def gaps(draws: np.ndarray, reference: np.ndarray, *, iid: bool) -> FormGap:
    """The gaps in form of all pairs."""
    own = side(draws, iid=iid)
    return form_gaps(own, side(reference, iid=iid), None, np.ones(len(own.means), bool))


def rejected(draws: np.ndarray, reference: np.ndarray, *, iid: bool) -> float:
    """The share of pairs with a p-value below 5%."""
    return float(np.mean(gaps(draws, reference, iid=iid).pvalue < LEVEL))


def between(shares: Sequence[float], least: float, most: float) -> tuple[str, str]:
    return f"{least:g} to {most:g}", reached(shares, least=least, most=most)


def shown(name: str) -> str:
    """The name of a shape in a table, whose columns end at bars."""
    return name.replace("|z|", "abs(z)")


def in_words(size: tuple[int, int], phi: float) -> str:
    if size[0] == 1:
        return f"independent, n = {size[1]:,}"
    return f"{size[0]} x {size[1]:,}, " + (f"AR(1) {phi:g}" if phi else "independent")


# ---- size -----------------------------------------------------------------------------------------------------------------


def pair_run(name: str, other: str, size: tuple[int, int], phi: float, seed: Seed) -> float:
    rng = np.random.default_rng(seed)
    draws, reference = (form_data.draws(part, size, phi, rng) for part in (name, other))
    return rejected(draws, reference, iid=size[0] == 1)


def independent(runs: int, jobs: int, sizes: Sequence[int] = (N, 2000)) -> list[Report]:
    """Two samples of one distribution, independent draws."""
    report = Report(
        f"Size, independent draws: two samples of one distribution, rejections at 5%, {runs:,} runs; percentages",
        ("dependence", "n", "form, p < 5%", "required", "met"),
        note=f"Compared with iid=True. {runs:,} runs of a test with a size of 5% have a standard error of "
        f"{100 * np.sqrt(0.0475 / runs):.1f}. Definitions are in benchmarks/form_data.py.",
    )
    for n in sizes:
        for name in KINDS:
            found = each(partial(pair_run, name, name, (1, n), 0.0), honest_data.seeds(f"size, {name}, {n}", runs), jobs)
            report.rows.append((name, f"{n:,}", percent(found), *between(found, 3.5, 6.5)))
    return [report]


def chains(runs: int, jobs: int, size: tuple[int, int] = CHAINS) -> list[Report]:
    """Two samples of one distribution, autocorrelated."""
    report = Report(
        f"Size, chains: two samples of {size[0]} x {size[1]} draws, rejections at 5%, {runs} runs; percentages",
        ("dependence", "AR(1) coefficient", "form, p < 5%", "required", "met"),
        note="Compared with iid=False. The normals that a pair of variables is a function of are AR(1) sequences.",
    )
    for phi, most in ((0.5, 7.0), (0.9, 8.0)):
        for name in KINDS:
            found = each(partial(pair_run, name, name, size, phi), honest_data.seeds(f"size, {name}, AR {phi}", runs), jobs)
            report.rows.append((name, f"{phi:g}", percent(found), *at_most(found, most)))
    return [report]


def garch_run(df: float | None, days: int, seed: Seed) -> float:
    paths = honest_data.garch_paths(days, df, np.random.default_rng(seed))
    return rejected(paths[:1], paths[1:], iid=False)


def banana_run(part: tuple[np.ndarray, np.ndarray]) -> float:
    return rejected(*part, iid=False)


def outside(runs: int, jobs: int, days: int = honest_data.DAYS, shape: tuple[int, int] = (4, 1000)) -> list[Report]:
    """Clustered volatility, and Metropolis on a banana."""
    report = Report(
        f"Size, other processes: rejections at 5%, {runs} runs; percentages",
        ("process", "form, p < 5%", "required", "met"),
        note=f"The data of honest.md, compared with iid=False. GARCH: two paths of {days:,} days, the share of all pairs of "
        f"{honest_data.ASSETS} assets. Banana: {shape[0]} x {shape[1]:,} draws of random-walk Metropolis, step 1.45, on the "
        "narrow banana, worth some 195 independent ones for Kendall's tau, against as many exact draws.",
    )
    for label, df in (("normal", None), ("t(4)", 4.0)):
        found = each(partial(garch_run, df, days), honest_data.seeds(f"form, garch, {label}", runs), jobs)
        report.rows.append((f"GARCH(1,1), {label} innovations", percent(found), *at_most(found, 7.0)))
    target, seeds = honest_data.NARROW, honest_data.seeds("form, banana", runs + 1)
    paths = honest_data.metropolis(target, runs, shape, 1.45, 1, np.random.default_rng(seeds[0]))
    references = (target.draws(shape, np.random.default_rng(seed)) for seed in seeds[1:])
    found = each(banana_run, zip(paths, references, strict=True), jobs)
    report.rows.append(("Metropolis on a banana", percent(found), *at_most(found, 8.0)))
    return [report]


# ---- power and coverage ---------------------------------------------------------------------------------------------------

# draws, reference, least power
WEAK = (
    ("funnel exp(0.15 z)", "independence", 50.0),
    ("banana 0.2 z^2", "independence", 75.0),
    ("spread 1 + 0.3 |z|", "independence", 40.0),
    ("t(3)", "independence", 75.0),
    ("t(3), tau 0.4", "Gaussian, tau 0.4", 38.0),
)


def power(runs: int, jobs: int, n: int = N) -> list[Report]:
    """Weak dependence that Kendall's tau does not see."""
    report = Report(
        f"Power: n = {n} independent draws in each sample, rejections at 5%, {runs:,} runs; percentages",
        ("draws", "reference", "form, p < 5%", "required", "met"),
        note="Kendall's tau is the same in draws and reference: 0, or 0.4 in the last row.",
    )
    for name, other, least in WEAK:
        found = each(partial(pair_run, name, other, (1, n), 0.0), honest_data.seeds(f"power, {name}", runs), jobs)
        report.rows.append((shown(name), other, percent(found), *at_least(found, least)))
    return [report]


SETTINGS = (((1, 500), 0.0), ((1, 2000), 0.0), (CHAINS, 0.5))


def kept_run(name: str, share: float, size: tuple[int, int], phi: float, seed: Seed) -> tuple[float, float]:
    """The share kept, and whether its interval covers the truth."""
    rng = np.random.default_rng(seed)
    draws, reference = (form_data.draws(name, size, phi, rng, part) for part in (share, 1.0))
    gap = gaps(draws, reference, iid=size[0] == 1).at(0)
    return gap.kept, float(abs(gap.kept - share) <= gap.kept_spread.reach(0.95))


def kept(runs: int, jobs: int, settings: Sequence[tuple[tuple[int, int], float]] = SETTINGS) -> list[Report]:
    """Coverage of the interval of the share of dependence kept."""
    report = Report(
        f"Share of the dependence kept: coverage of 95% intervals, {runs:,} runs; percentages",
        ("dependence", "share", "draws", "kept, mean", "covers", "required", "met"),
        note="Each draw keeps the dependence with the probability given as share; otherwise its second value is independent.",
    )
    for size, phi in settings:
        for name in ("Gaussian 0.8", "funnel", "ring"):
            for share in (1.0, 0.5, 0.0):
                seeds = honest_data.seeds(f"kept, {name}, {share}, {size}, {phi}", runs)
                found = np.array(each(partial(kept_run, name, share, size, phi), seeds, jobs))
                cells = f"{np.mean(found[:, 0]):.3f}", percent(found[:, 1]), *between(found[:, 1].tolist(), 93.0, 97.0)
                report.rows.append((name, f"{share:g}", in_words(size, phi), *cells))
    return [report]


# ---- other tests on the same data -----------------------------------------------------------------------------------------

Source = Callable[[np.random.Generator], np.ndarray]
MARGIN = 3.0  # points of power that another test may have more than form
FEWER = 3  # times fewer runs of the pairs of families, of which most tests reject nearly all


def of_shape(name: str, n: int) -> Source:
    return lambda rng: form_data.draws(name, (1, n), 0.0, rng)


def of_family(family: inference.Family, n: int) -> Source:
    return lambda rng: family.make(inference.TAU).sample(n, rng=rng)[None]


def rival_run(own: Source, other: Source, seed: Seed) -> tuple[np.ndarray, np.ndarray]:
    """Whether form and each rival reject, and the processor time of each test; NaN if its package is not installed."""
    rng = np.random.default_rng(seed)
    draws, reference = own(rng), other(rng)
    a, b = rivals.ranks(draws), rivals.ranks(reference)
    start = time.process_time()
    rejections, seconds = [rejected(draws, reference, iid=True)], [time.process_time() - start]
    for test, _ in rivals.RIVALS.values():
        start = time.process_time()
        try:
            rejections.append(float(test(a, b, rng) <= LEVEL + 1e-9))
        except ImportError:
            rejections.append(np.nan)
        seconds.append(time.process_time() - start)
    return np.array(rejections), np.array(seconds)


def best_rival(rejections: np.ndarray) -> tuple[str, str, str]:
    """The rival that rejects most, its excess over form on the same data, and whether that is within MARGIN."""
    powers = rejections[:, 1:].mean(axis=0)
    if not np.isfinite(powers).any():
        return "-", "-", "-"
    best = int(np.nanargmax(powers))
    excess = rejections[:, 1 + best] - rejections[:, 0]
    return (
        f"{list(rivals.RIVALS)[best]}: {percent(excess)}",
        f"at most {MARGIN:g}",
        reached(excess.tolist(), least=-100.0, most=MARGIN),
    )


def rival_tests(runs: int, jobs: int, n: int = N) -> list[Report]:
    """Form and its rivals on the same samples."""
    names = ("form", *rivals.RIVALS)
    nulls: dict[str, tuple[Source, Source]] = {name: (of_shape(name, n),) * 2 for name in ("independence", "Gaussian, tau 0.4")}
    nulls |= {f"{family.name}, tau {inference.TAU}": (of_family(family, n),) * 2 for family in (inference.CLAYTON,)}
    weak = {f"{own} / {other}": (of_shape(own, n), of_shape(other, n)) for own, other, _ in WEAK}
    families = {f"{own.name} / {other.name}": (of_family(own, n), of_family(other, n)) for own, other in inference.POWER_CELLS}
    rows, columns, seconds = [], {}, []
    for label, sources in (nulls | weak | families).items():
        some = runs if label not in families else max(runs // FEWER, 1)
        found = each(partial(rival_run, *sources), honest_data.seeds(f"rivals, {label}", some), jobs)
        rejections, times = (np.stack([one[part] for one in found]) for part in range(2))
        seconds.append(times)
        if label in nulls:
            columns[label] = [percent(column) for column in rejections.T]
        else:
            rows.append((shown(label), f"{some}", *map(percent, rejections.T), *best_rival(rejections)))
    times = np.median(np.concatenate(seconds), axis=0)
    sizes = Report(
        f"Other tests: size at 5% and time, n = {n} in each sample, {runs} runs; percentages",
        ("test", "null distribution", *columns, "processor time, ms"),
        note=f"All tests use the ranks within each sample. Permutations: {rivals.PERMUTATIONS} of the rows between samples, "
        "ranked again within each after every one (Seo, 2021); with ranks of the pooled sample the null distribution would be "
        f"wrong. Simulated: {2 * rivals.PERMUTATIONS + 1} pairs of samples of independent variables. Multiplier bootstrap: "
        f"{rivals.PERMUTATIONS} replicates on a grid of {rivals.GRID} x {rivals.GRID} points. MMD has a Gaussian kernel, of "
        "bandwidth 0.5 or 0.125 in units of the range of the ranks. xi is the larger difference of both directions; "
        f"classifiers have {rivals.FOLDS} folds, and a null distribution that makes them too careful for strong dependence. "
        "The time is that of one process, compiled loops included.",
    )
    kinds = ("limit of the coefficients", *(null for _, null in rivals.RIVALS.values()))
    for k, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        sizes.rows.append((name, kind, *(column[k] for column in columns.values()), f"{1e3 * times[k]:.1f}"))
    powers = Report(
        f"Form and other tests: power at 5% on the same samples, n = {n}; percentages",
        ("draws / reference", "runs", *names, "largest of the others less form", "required", "met"),
        rows,
        note=f"Families have tau {inference.TAU}. The last difference has its standard error over the same runs; as the "
        f"largest of {len(rivals.RIVALS)} it is too large by chance.",
    )
    return [sizes, powers]


def wild_run(name: str, other: str, size: tuple[int, int], phi: float, seed: Seed) -> tuple[float, ...]:
    """Whether form and MMD with a wild bootstrap reject, with its kernel as it is and centred."""
    rng = np.random.default_rng(seed)
    draws, reference = (form_data.draws(part, size, phi, rng) for part in (name, other))
    a, b = rivals.ranks(draws), rivals.ranks(reference)
    pvalues = [rivals.wild_pvalue(a, b, size[0], rng, centred=centred) for centred in (False, True)]
    return rejected(draws, reference, iid=False), *(float(pvalue <= LEVEL + 1e-9) for pvalue in pvalues)


def wild(runs: int, jobs: int, size: tuple[int, int] = CHAINS) -> list[Report]:
    """Chains: form, and MMD with a wild bootstrap."""
    report = Report(
        f"Chains, other test: {size[0]} x {size[1]} draws, rejections at 5%, {runs} runs; percentages",
        ("draws", "reference", "AR(1) coefficient", "form", "MMD, wild bootstrap", "the same, centred kernel"),
        note=f"MMD on ranks, bandwidth 0.5, {rivals.PERMUTATIONS} replicates of the wild bootstrap of Chwialkowski, Sejdinovic "
        f"and Gretton (2014), which forgets in {rivals.MEMORY:g} draws. It is made for values whose margins count: its "
        "replicates have the variation of the margins, which ranks do not have; a kernel centred in both variables removes "
        "it. In the last two rows the draws differ from the reference.",
    )
    equal = [(name, name, phi) for phi in (0.5, 0.9) for name in ("independence", "Gaussian 0.8", "funnel")]
    for name, other, phi in (*equal, ("t(3)", "independence", 0.5), ("banana 0.2 z^2", "independence", 0.9)):
        seeds = honest_data.seeds(f"wild, {name}, {other}, {phi}", runs)
        found = np.array(each(partial(wild_run, name, other, size, phi), seeds, jobs))
        report.rows.append((name, other, f"{phi:g}", *map(percent, found.T)))
    return [report]


# ---- answers of pairwise --------------------------------------------------------------------------------------------------

LOST = {
    "banana": "bend second: lost",
    "X": "together: lost",
    "ring": "apart: lost",
    "funnel": "spread second: lost",
}


def lost_run(name: str, size: tuple[int, int], seed: Seed) -> tuple[bool, bool, bool]:
    """Whether the pair is flagged, whether its pattern is right, and whether level or shape have p < 5%."""
    rng = np.random.default_rng(seed)
    draws, reference = (form_data.draws(name, size, 0.0, rng, share) for share in (0.0, 1.0))
    result = compared(draws, reference, iid=False)
    row = result.rows[0]
    return result.n_flagged == 1, str(row["pattern"]) == LOST[name], min(row["level_pvalue"], row["shape_pvalue"]) < LEVEL


def lost(runs: int, jobs: int, size: tuple[int, int] = (4, 1000)) -> list[Report]:
    """Dependence that is lost entirely, with a tau of 0."""
    report = Report(
        f"Lost dependence: pairwise() on {size[0]} x {size[1]:,} draws without dependence, {runs} runs; runs",
        ("reference", "flagged", "required of flagged", "pattern", "pattern right", "required", "met")
        + ("level or shape, p < 5%",),
        note="The second variable of the draws is independent of the first, with the margin of the reference.",
    )
    for name, pattern in LOST.items():
        seeds = honest_data.seeds(f"lost, {name}", runs)
        flagged, right, others = np.sum(each(partial(lost_run, name, size), seeds, jobs), axis=0)
        met = flagged == runs and right >= 0.95 * runs
        cells = f"{flagged}", f"{runs}", pattern, f"{right}", f"at least {0.95 * runs:g}", "yes" if met else "no"
        report.rows.append((name, *cells, f"{others}"))
    return [report]


def neal_run(approximate: bool, size: tuple[int, int], d: int, seed: Seed) -> tuple[int, int]:
    """The pairs flagged with the first variable, and the others flagged."""
    rng = np.random.default_rng(seed)
    draws = (form_data.variational if approximate else form_data.neal)(size, rng, d)
    result = compared(draws, form_data.neal(size, rng, d), iid=False)
    flagged = result.rows[result.rows["flagged"]]
    first = int(np.sum((flagged["first"] == 0) | (flagged["second"] == 0)))
    return first, len(flagged) - first


def neal(runs: int, jobs: int, size: tuple[int, int] = (4, 1000), d: int = 10) -> list[Report]:
    """Neal's funnel: variational draws, and exact ones."""
    others = (d - 1) * (d - 2) // 2
    report = Report(
        f"Neal's funnel in {d} dimensions: {size[0]} x {size[1]:,} draws against as many exact draws, {runs} runs",
        ("draws", f"pairs with v flagged, mean of {d - 1}", f"other pairs flagged, mean of {others}")
        + ("runs with any pair flagged, %", "required", "met"),
        note="v ~ N(0, 3^2), the others N(0, exp(v)) given v. The mean-field Gaussian that maximises the evidence lower bound "
        "is known in closed form; it has no dependence, so that all pairs differ. The reference are exact draws, not a "
        "sampler's.",
    )
    for label, approximate in (("mean-field Gaussian", True), ("exact", False)):
        seeds = honest_data.seeds(f"neal, {label}", runs)
        found = np.array(each(partial(neal_run, approximate, size, d), seeds, jobs))
        any_pair = (found.sum(axis=1) > 0).astype(float).tolist()
        asked = at_least(any_pair, 100.0) if approximate else at_most(any_pair, 7.0)
        report.rows.append((label, *(f"{mean:.1f}" for mean in found.mean(axis=0)), percent(any_pair), *asked))
    return [report]


# ---- all of it ------------------------------------------------------------------------------------------------------------

CASES: dict[str, tuple[Callable[[int, int], list[Report]], int]] = {
    "independent": (independent, 4000),
    "chains": (chains, 400),
    "outside": (outside, 300),
    "power": (power, 1000),
    "kept": (kept, 1000),
    "lost": (lost, 200),
    "neal": (neal, 200),
    "wild": (wild, 200),
    "rivals": (rival_tests, 150),
}


def main(arguments: Sequence[str] | None = None) -> None:
    description = "size, power and coverage of form, and other tests on the same data"
    run_study("Form: size, power and coverage, beside other tests", description, CASES, arguments)


if __name__ == "__main__":
    from benchmarks import form

    form.main()  # by its name, so that workers can import what they are to run
