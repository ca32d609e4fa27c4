"""Intervals of what is due to dependence, false alarms, repaired draws, and how long these take.

`make study` writes consequence.md. Every row has its own seeds, so it does not depend on what else is run, or on how many
processes.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri

import copula_discrepancy as cd
from benchmarks.honest import each, percent, reached
from benchmarks.report import Report
from benchmarks.study import run_study

Seed = np.random.SeedSequence
BURN_IN = 300  # steps of an autoregression before its draws are kept
MANY = 2_000_000  # draws that stand for the truth where there is no closed form
RESAMPLES = 200


class Question(NamedTuple):
    """A function of two variables a and b, and its summary."""

    function: str
    summary: str | None
    q: float | None
    required: tuple[float, float]


QUESTIONS = {
    "probability of a - b > 0.3": Question("a - b > 0.3", None, None, (93.0, 97.0)),
    "mean of a*b": Question("a * b", "mean", None, (93.0, 97.0)),
    "1% quantile of a + b": Question("a + b", None, 0.01, (92.0, 98.0)),
    "standard deviation of a - b": Question("a - b", "sd", None, (93.0, 97.0)),
    "5% shortfall of a + b": Question("a + b", "shortfall", 0.05, (93.0, 97.0)),
}


def normals(shape: tuple[int, ...], phi: float, rng: np.random.Generator) -> np.ndarray:
    """Standard normals (chain, draw, variable), independent or autoregressive along the draws."""
    if not phi:
        return rng.standard_normal(shape)
    chains, draws, width = shape
    noise = rng.standard_normal((chains, draws + BURN_IN, width))
    return lfilter([np.sqrt(1.0 - phi**2)], [1.0, -phi], noise, axis=1)[:, BURN_IN:]


class Side(NamedTuple):
    """A distribution of two variables: their dependence, as a function of two normals, and their margins, of probabilities."""

    dependence: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    margin: Callable[[np.ndarray], np.ndarray]


def gaussian(rho: float) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    return lambda a, b: (ndtr(a), ndtr(rho * a + np.sqrt(1.0 - rho**2) * b))


def clayton(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """theta 2, by the conditional distribution."""
    u = ndtr(a)
    return u, ((ndtr(b) ** (-2.0 / 3.0) - 1.0) * u**-2.0 + 1.0) ** -0.5


def bend(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The second variable is high at both ends of the first: Kendall's tau is 0."""
    z = (np.abs(a) - np.sqrt(2.0 / np.pi)) / np.sqrt(1.0 - 2.0 / np.pi)
    mixed = 0.9 * z + np.sqrt(1.0 - 0.9**2) * b
    order = np.argsort(np.argsort(mixed, axis=None, kind="stable"), kind="stable").reshape(mixed.shape)
    return ndtr(a), (order + 0.5) / mixed.size


def counts(u: np.ndarray) -> np.ndarray:
    """Poisson with mean 3: many ties."""
    edges = np.cumsum(np.exp(-3.0) * np.array([3.0**k for k in range(20)]) / np.cumprod([1.0, *range(1, 20)]))
    return np.searchsorted(edges, u).astype(float)


SIDES = {
    "normal, correlation 0.2 / 0.7, other spread": (
        Side(gaussian(0.2), ndtri),
        Side(gaussian(0.7), lambda u: 1.3 * ndtri(u)),
    ),
    "normal, the same in both": (Side(gaussian(0.5), ndtri), Side(gaussian(0.5), ndtri)),
    "lognormal, independent / Clayton": (
        Side(gaussian(0.0), lambda u: np.exp(0.5 * ndtri(u))),
        Side(clayton, lambda u: np.exp(0.6 * ndtri(u))),
    ),
    "normal, independent / bend": (Side(gaussian(0.0), ndtri), Side(bend, ndtri)),
    "counts, independent / Clayton": (Side(gaussian(0.0), counts), Side(clayton, counts)),
}
SAMPLES = {"independent, n = 1,000": (1, 1000, 0.0), "AR(1) 0.9, 4 x 1,000": (4, 1000, 0.9)}


def drawn(dependence: Side, margins: Side, shape: tuple[int, int], phi: float, rng: np.random.Generator) -> np.ndarray:
    """Draws (chain, draw, 2) with the dependence of one side and the margins of another."""
    z = normals((*shape, 2), phi, rng)
    u, v = dependence.dependence(z[..., 0], z[..., 1])
    return np.stack([margins.margin(u), margins.margin(v)], axis=-1)


def summarised(rows: np.ndarray, question: Question) -> float:
    """A question answered on rows (n, 2) by NumPy alone."""
    a, b = rows[:, 0], rows[:, 1]
    values = {"a - b > 0.3": lambda: a - b > 0.3, "a * b": lambda: a * b, "a + b": lambda: a + b, "a - b": lambda: a - b}
    found = np.asarray(values[question.function](), dtype=float)
    if question.summary == "sd":
        return float(found.std())
    if question.summary == "shortfall":
        return float(np.sort(found)[: int(question.q * found.size)].mean())
    return float(found.mean() if question.q is None else np.quantile(found, question.q))


def truth(own: Side, other: Side, split: str, rng: np.random.Generator) -> dict[str, float]:
    """What is due to dependence, from many draws of the four combinations."""

    def values(dependence: Side, margins: Side) -> np.ndarray:
        rows = drawn(dependence, margins, (1, MANY), 0.0, rng)[0]
        return np.array([summarised(rows, question) for question in QUESTIONS.values()])

    found = values(own, own) - values(other, own)
    if split == "average":
        found = 0.5 * (found + values(own, other) - values(other, other))
    return dict(zip(QUESTIONS, found.tolist(), strict=True))


def normal_truth(question: Question) -> float:
    """The same for the first pair of normals in closed form, with split="dependence"; only the correlation differs."""

    def value(rho: float) -> float:
        apart, together = np.sqrt(2.0 - 2.0 * rho), np.sqrt(2.0 + 2.0 * rho)
        if question.function == "a - b > 0.3":
            return float(ndtr(-0.3 / apart))
        if question.function == "a * b":
            return rho
        if question.function == "a - b":
            return float(apart)
        z = ndtri(question.q)
        tail = -np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) / question.q
        return float(together * (tail if question.summary == "shortfall" else z))

    return value(0.2) - value(0.7)


def asked(name: str) -> dict[str, Question]:
    """The questions about a pair of distributions: all of the first, three of others.

    Quantiles of counts are counts, and have no standard error.
    """
    some = dict(list(QUESTIONS.items())[: None if name == next(iter(SIDES)) else 3])
    return {label: question for label, question in some.items() if not ("quantile" in label and name.startswith("counts"))}


def coverage_run(name: str, sample: str, split: str, truths: dict[str, float], seed: Seed) -> dict[str, tuple[bool, float]]:
    """Whether the intervals cover the truth, and how many standard errors it is away."""
    rng = np.random.default_rng(seed)
    chains, length, phi = SAMPLES[sample]
    own, other = SIDES[name]
    draws, reference = (drawn(side, side, (chains, length), phi, rng) for side in (own, other))
    found = {}
    for label, question in asked(name).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.DependenceWarning)
            part = cd.consequence(
                {"a": draws[..., 0], "b": draws[..., 1]}, {"a": reference[..., 0], "b": reference[..., 1]}, question.function,
                summary=question.summary, q=question.q, split=split, iid=not phi, n_resamples=RESAMPLES, rng=rng, n_jobs=1,
                progress=False,
            ).dependence  # fmt: skip
        covered = part.ci[0] <= truths[label] <= part.ci[1]
        found[label] = covered, abs(part.value - truths[label]) / part.se
    return found


def coverage(runs: int, jobs: int, sides: Sequence[str] = tuple(SIDES), split: str = "dependence") -> list[Report]:
    """Coverage of 95% intervals of the part due to dependence."""
    title = "Coverage" if split == "dependence" else "Coverage with the average of both orders"
    if sides != tuple(SIDES)[:1]:
        title = "Coverage with other kinds of dependence"
    report = Report(
        f"{title}: 95% intervals of the part due to dependence, {runs:,} runs, {RESAMPLES} resamples; percentages",
        ("draws / reference", "samples", "question", "truth", "covered", "required", "met", "within 3 standard errors"),
        note=f'split="{split}". The truth is the closed form for normals with other correlations, and otherwise from '
        f"{MANY:,} draws of each combination. A coverage of 95% has a standard error of {100 * np.sqrt(0.0475 / runs):.1f}.",
    )
    for row, name in enumerate(sides):
        source = np.random.default_rng([row, 21])
        truths = truth(*SIDES[name], split, source)
        if split == "dependence" and name == next(iter(SIDES)):
            truths = {label: normal_truth(question) for label, question in QUESTIONS.items()}
        for column, sample in enumerate(SAMPLES):
            seeds = Seed([21, row, column]).spawn(runs)
            found = each(partial(coverage_run, name, sample, split, truths), seeds, jobs)
            for label, question in asked(name).items():
                covered, distances = zip(*(one[label] for one in found), strict=True)
                low, high = question.required
                report.rows.append((
                    name, sample, label, f"{truths[label]:.4f}", percent(covered), f"{low:g} to {high:g}",
                    reached(covered, least=low, most=high), percent([distance < 3.0 for distance in distances]),
                ))  # fmt: skip
    return [report]


def alarm_run(sample: str, seed: Seed) -> bool:
    """Whether anything is flagged between two samples of one distribution of five variables."""
    rng = np.random.default_rng(seed)
    chains, length, phi = SAMPLES[sample]
    mixing = np.array([[1, 0, 0, 0, 0], [0.8, 0.6, 0, 0, 0], [0.5, 0, 0.87, 0, 0], [0, 0.3, 0, 0.95, 0], [-0.6, 0, 0, 0, 0.8]])
    draws, reference = (normals((chains, length, 5), phi, rng) @ mixing.T for _ in range(2))
    draws[..., 4], reference[..., 4] = np.exp(draws[..., 4]), np.exp(reference[..., 4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        result = cd.worst_consequences(draws, reference, iid=not phi, n_resamples=RESAMPLES, rng=rng, n_jobs=1, progress=False)
    return result.n_flagged > 0


def alarms(runs: int, jobs: int) -> list[Report]:
    """False alarms of `worst_consequences`."""
    report = Report(
        f"False alarms of worst_consequences: two samples of one distribution, {runs:,} runs; percentages",
        ("samples", "runs with any of 100 effects flagged", "required", "met"),
        note="Five variables, ten pairs, ten effects each, adjusted by Benjamini and Hochberg at 5%.",
    )
    for column, sample in enumerate(SAMPLES):
        found = each(partial(alarm_run, sample), Seed([22, column]).spawn(runs), jobs)
        report.rows.append((sample, percent(found), "at most 7", reached(found, most=7.0)))
    return [report]


SHAPES = {
    "banana": lambda a, b: (a, a**2 + 0.3 * b),
    "funnel": lambda a, b: (a, np.exp(1.5 * a) * b),
    "Gaussian 0.8": lambda a, b: (a, 0.8 * a + 0.6 * b),
}


def repair_run(shape: str, sample: str, longer: int, seed: Seed) -> tuple[bool, bool, bool, bool]:
    """Whether draws without dependence are flagged before a repair and after it, and with which margins."""
    rng = np.random.default_rng(seed)
    chains, length, phi = SAMPLES[sample]

    def drawn_like(count: int) -> np.ndarray:
        z = normals((chains, count, 2), phi, rng)
        return np.stack(SHAPES[shape](z[..., 0], z[..., 1]), axis=-1)

    draws, reference, fresh = drawn_like(length), drawn_like(longer * length), drawn_like(length)
    draws[..., 1] = drawn_like(length)[..., 1]  # of other draws: the margin is right, the dependence is lost
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        repaired = cd.repair(draws, reference, rng=rng).draws
        same = np.array_equal(np.sort(draws.reshape(-1, 2), axis=0), np.sort(repaired.reshape(-1, 2), axis=0))
        before, after, against_used = (
            cd.pairwise(mine, other, iid=not phi, n_jobs=1, progress=False).n_flagged > 0
            for mine, other in ((draws, fresh), (repaired, fresh), (repaired, reference))
        )
    return before, after, against_used, same


def repairs(runs: int, jobs: int) -> list[Report]:
    """Draws that have lost all dependence, repaired, against a reference that the repair did not use."""
    report = Report(
        f"Repaired draws: pairs flagged by pairwise before and after, {runs:,} runs; percentages",
        (
            "dependence",
            "samples",
            "rows of the reference",
            "flagged before",
            "flagged after, fresh reference",
            "required",
            "met",
        )
        + ("flagged after, the reference used", "margins identical"),
        note="The second variable of the draws is from an independent run: its margin is right, and all dependence is lost. "
        "The fresh reference is as long as the draws. Serial order is not mended, so on chains the errors of repaired draws "
        "are too small if the reference is no longer than the draws: its autocorrelation is no longer seen.",
    )
    for row, (shape, sample, longer) in enumerate((s, n, k) for s in SHAPES for n in SAMPLES for k in (1, 4)):
        found = each(partial(repair_run, shape, sample, longer), Seed([24, row]).spawn(runs), jobs)
        before, after, used, same = zip(*found, strict=True)
        cells = percent(before), percent(after), "at most 8", reached(after, most=8.0), percent(used), percent(same)
        report.rows.append((shape, sample, "as many" if longer == 1 else f"{longer} times as many", *cells))
    return [report]


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def speed(runs: int, jobs: int) -> list[Report]:
    """Seconds for 100,000 rows of 20 variables; the median of some runs after a first one, which compiles."""
    rng = np.random.default_rng(23)
    draws, reference = rng.standard_normal((2, 100_000, 20))
    reference += rng.standard_normal((100_000, 1))
    weights = np.full(20, 0.05)
    jobs_of = {
        f"consequence: 1% quantile of a portfolio of 20, {RESAMPLES} resamples": (
            lambda: cd.consequence(draws, reference, weights, q=0.01, n_resamples=RESAMPLES, progress=False),
            10.0,
        ),
        "repair: 20 variables": (lambda: cd.repair(draws, reference), 2.0),
        f"worst_consequences: 190 pairs, {RESAMPLES} resamples": (
            lambda: cd.worst_consequences(draws, reference, n_resamples=RESAMPLES, progress=False),
            np.nan,
        ),
    }
    report = Report("Time: 100,000 rows", ("job", "seconds", "required, at most", "met"))
    for name, (call, most) in jobs_of.items():
        call()
        seconds = float(np.median([timed(call) for _ in range(runs)]))
        required = ("-", "-") if np.isnan(most) else (f"{most:g}", "yes" if seconds <= most else "no")
        report.rows.append((name, f"{seconds:.1f}", *required))
    return [report]


CASES: dict[str, tuple[Callable[[int, int], list[Report]], int]] = {
    "coverage": (lambda runs, jobs: coverage(runs, jobs, tuple(SIDES)[:1]), 1000),
    "average": (lambda runs, jobs: coverage(runs, jobs, tuple(SIDES)[:1], "average"), 300),
    "kinds": (lambda runs, jobs: coverage(runs, jobs, tuple(SIDES)[1:]), 300),
    "alarms": (alarms, 400),
    "repairs": (repairs, 200),
    "speed": (speed, 3),
}


def main(arguments: Sequence[str] | None = None) -> None:
    description = "intervals and false alarms of consequences, repaired draws, and times"
    run_study("Consequences of dependence: intervals, false alarms, repaired draws", description, CASES, arguments)


if __name__ == "__main__":
    from benchmarks import consequence

    consequence.main()  # by its name, so that workers can import what they are to run
