"""Growth: seconds at growing n and d, and the exponent of the power law through them, ours beside the peer's."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import copula_discrepancy as cd
from benchmarks import pairs, peers
from benchmarks.likelihoods import maximised, paper_value, textbook_likelihood, tuned_likelihood
from benchmarks.report import Report
from benchmarks.sizes import Sizes
from benchmarks.speed import stein_peer
from benchmarks.timing import Job, in_words, measured

GUMBEL = cd.Gumbel(2.5)
FITTED = 3  # the largest sizes: below them a call's fixed cost counts


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Slope of log seconds on log size by least squares, and its standard error (NaN from two points)."""
    x, y = np.log(sizes), np.log(seconds)
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    left = y - y.mean() - slope * x
    return slope, float(np.sqrt(left @ left / (len(x) - 2) / (x @ x))) if len(x) > 2 else float("nan")


@dataclass
class Curve:
    """A job of any size: `make` gives the job for a size, up to the largest that is sensible."""

    job: str
    who: str
    make: Callable[[int], Job]
    largest: int | None = None

    def row(self, sizes: Sequence[int], repeats: int) -> tuple[str, ...]:
        """A row of the table."""
        mine = [size for size in sizes if self.largest is None or size <= self.largest]
        seconds = []
        try:
            for size in mine:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    run = measured(self.make(size), repeats=repeats)[0]
                if run.error is not None:
                    raise run.error
                seconds.append(run.seconds)
        except peers.Missing as missing:
            return (self.job, self.who, *("-" for _ in sizes), str(missing))
        return growth_row(self.job, self.who, mine, seconds, len(sizes))


def growth_row(job: str, who: str, sizes: Sequence[int], seconds: Sequence[float], columns: int) -> tuple[str, ...]:
    """A row of the table: seconds, dashes where the job was not run, the exponent."""
    cells = [in_words(value) for value in seconds] + ["-"] * (columns - len(sizes))
    if len(sizes) < 2:
        return (job, who, *cells, "-")
    slope, error = exponent(sizes[-FITTED:], seconds[-FITTED:])
    return (job, who, *cells, f"{slope:.2f} (two sizes)" if np.isnan(error) else f"{slope:.2f} (se {error:.2f})")


def two_columns(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Dependent normal draws."""
    x = np.random.default_rng(2).normal(size=n)
    return x, x + np.random.default_rng(3).normal(size=n)


def in_n(sizes: Sizes) -> Report:
    """Growth with the number of draws."""

    def ranks(n: int) -> np.ndarray:
        return cd.pseudo_observations(GUMBEL.sample(n, rng=1))

    def columns(n: int) -> list[np.ndarray]:
        return [np.ascontiguousarray(column) for column in GUMBEL.sample(n, rng=1).T]

    def points(n: int) -> np.ndarray:
        return np.random.default_rng(7).standard_normal((n, 2))

    # each maker prepares its data before it gives the job, so that only the job is timed
    def ours_tau(n: int) -> Job:
        return partial(cd.kendall_tau, *two_columns(n))

    def ours_fit(n: int) -> Job:
        return partial(cd.fit, ranks(n), GUMBEL, margins="uniform")

    def ours_whole(n: int) -> Job:
        return partial(cd.discrepancy, GUMBEL.sample(n, rng=1), GUMBEL)

    def ours_logpdf(n: int) -> Job:
        return partial(GUMBEL.logpdf, *columns(n))

    def ours_stein(n: int) -> Job:
        return partial(cd.ksd, points(n), np.negative)

    curves = [
        Curve("kendall_tau", "ours", ours_tau),
        Curve("kendall_tau", "scipy", lambda n: peers.kendall("scipy", *two_columns(n))),
        Curve("fit, Gumbel by MLE", "ours", ours_fit),
        Curve("fit, Gumbel by MLE", "scipy", lambda n: partial(maximised, "Gumbel", *ranks(n).T.copy(), tuned_likelihood)),
        Curve("discrepancy", "ours", ours_whole),
        Curve("discrepancy", "scipy", lambda n: partial(paper_value, GUMBEL.sample(n, rng=1), GUMBEL, textbook_likelihood)),
        Curve("logpdf, Gumbel", "ours", ours_logpdf),
        Curve("logpdf, Gumbel", "statsmodels", lambda n: peers.logpdf("statsmodels", GUMBEL, GUMBEL.sample(n, rng=1))),
        Curve("sample, Gumbel", "ours", lambda n: lambda: GUMBEL.sample(n, rng=1)),
        Curve("sample, Gumbel", "pyvinecopulib", lambda n: peers.sampler("pyvinecopulib", GUMBEL, n)),
        Curve("ksd", "ours", ours_stein, sizes.growth_stein),
        Curve("ksd", "stein-thinning", lambda n: stein_peer(points(n)), sizes.growth_stein // 10),
    ]
    repeats = min(sizes.repeats, 5)
    report = Report("Growth with n: seconds", ("job", "who", *(f"n = {n:,}" for n in sizes.growth_n), "exponent"))
    report.rows = [curve.row(sizes.growth_n, repeats) for curve in curves]
    last = np.array(sizes.growth_n[-FITTED:], dtype=float)
    report.note = (
        f"The exponent is the least-squares slope of log seconds on log size over the {FITTED} largest sizes of a row, with "
        "its standard error; at smaller sizes the fixed cost of a call matters. For n log n it would be "
        f"{exponent(last, last * np.log(last))[0]:.2f}. ksd takes n^2 steps and stops at n = {sizes.growth_stein:,}."
    )
    return report


def in_d(sizes: Sizes) -> Report:
    """Growth with the number of variables."""
    n = sizes.matrix[0]

    def ours_matrix(d: int) -> Job:
        return partial(cd.kendall_matrix, np.random.default_rng(4).normal(size=(n, d)))

    def pandas_matrix(d: int) -> Job:
        return peers.kendall_matrix("pandas", np.random.default_rng(4).normal(size=(n, d)))

    def against_matrix(d: int) -> Job:
        matrix = pairs.correlations(d, 1)
        return partial(pairs.ours, pairs.normal_chains(matrix, 0.3, 1), matrix)

    curves = [
        Curve("kendall_matrix", "ours", ours_matrix),
        Curve("kendall_matrix", "pandas", pandas_matrix, sizes.growth_pandas),
        Curve("pairwise, a correlation matrix", "ours", against_matrix),
    ]
    columns = ("job", "who", *(f"d = {d:,}" for d in sizes.growth_d), "exponent")
    report = Report(f"Growth with d: seconds, {n:,} draws", columns)
    report.rows = [curve.row(sizes.growth_d, min(sizes.repeats, 3)) for curve in curves]
    seconds = [pairs.reference_seconds(d) for d in sizes.growth_d]
    report.rows.append(growth_row("pairwise, a reference sample", "ours", sizes.growth_d, seconds, len(seconds)))
    report.note = (
        "The number of pairs grows as d squared. pairwise: 4 x 1000 draws, with every standard error and test, on all cores."
    )
    return report
