"""The core against its peers: `make bench` prints medians and ratios of one run, on the same data, in one process.

Peers: SciPy's `minimize_scalar` over NumPy formulas (the fastest correct maximum likelihood), `scipy.stats.kendalltau`,
`pandas.DataFrame.corr`, pyvinecopulib, stein-thinning. Accuracy is measured against mpmath.
"""

import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import mpmath as mp
import numpy as np
import pandas as pd
from rich.console import Console
from scipy.optimize import minimize_scalar
from scipy.stats import kendalltau, rankdata

import copula_discrepancy as cd
from benchmarks import page, pairs
from benchmarks.report import Report, machine

Job = Callable[[], object]
Formula = Callable[[str, np.ndarray, np.ndarray], Callable[[float], float]]
BOUNDS = {"Gumbel": (1.0001, 30.0), "Clayton": (1e-3, 50.0)}  # the paper's


NOTE = """\
Clayton's likelihood is two exponentials and a logarithm per draw, which NumPy computes with vector instructions as fast as our
kernel does. What is left to win is the number of passes over the draws, two or three against some sixteen, less the fixed
cost of a fit; against a formula tuned by hand that is not eightfold.
"""


def medians(*jobs: Job, repeats: int = 9) -> list[float]:
    """Median seconds of each job; the jobs alternate, so that a slow moment of the machine hits all of them."""
    times: list[list[float]] = [[] for _ in jobs]
    for job in jobs:
        job()  # compile, load, touch
    for _ in range(repeats):
        for job, record in zip(jobs, times, strict=True):
            start = time.perf_counter()
            job()
            record.append(time.perf_counter() - start)
    return [float(np.median(record)) for record in times]


def negative_log_likelihood(name: str, u: np.ndarray, v: np.ndarray) -> Callable[[float], float]:
    """The log-space formula in NumPy, logs of the draws taken once: what a careful user would write."""
    x, y = -np.log(u), -np.log(v)
    if name == "Gumbel":
        log_sum = np.sum(x + y)
        log_x, log_y = np.log(x), np.log(y)

        def gumbel(theta: float) -> float:
            log_w = np.logaddexp(theta * log_x, theta * log_y) / theta
            w = np.exp(log_w)
            terms = -w + (theta - 1) * (log_x + log_y) + (1 - 2 * theta) * log_w + np.log(w + theta - 1)
            return -float(np.sum(terms) + log_sum)

        return gumbel

    def clayton(theta: float) -> float:
        joined = np.log1p(np.expm1(theta * x) + np.expm1(theta * y))
        return -float(np.sum(np.log1p(theta) + (1 + theta) * (x + y) - (2 + 1 / theta) * joined))

    return clayton


def textbook_likelihood(name: str, u: np.ndarray, v: np.ndarray) -> Callable[[float], float]:
    """The log density as textbooks write it, with powers of u and v: what most people run."""
    if name == "Gumbel":

        def gumbel(theta: float) -> float:
            x, y = -np.log(u), -np.log(v)
            s = x**theta + y**theta
            w = s ** (1 / theta)
            terms = -w - np.log(u * v) + (theta - 1) * np.log(x * y) + (1 / theta - 2) * np.log(s) + np.log(w + theta - 1)
            return -float(np.sum(terms))

        return gumbel

    def clayton(theta: float) -> float:
        joined = np.log(u**-theta + v**-theta - 1)
        return -float(np.sum(np.log1p(theta) - (1 + theta) * np.log(u * v) - (2 + 1 / theta) * joined))

    return clayton


def peer_mle(name: str, u: np.ndarray, v: np.ndarray, formula: Formula = negative_log_likelihood) -> float:
    # function values cannot place a maximum closer than 1e-8; the default, 1e-5, would be no answer to compare with
    options = {"xatol": 1e-8}
    found = minimize_scalar(formula(name, u, v), bounds=BOUNDS[name], method="bounded", options=options)
    return float(found.x)


def paper_value(draws: np.ndarray, target: cd.Copula, formula: Formula) -> float:
    """The bare discrepancy as the paper computes it: ranks, Kendall's tau, a likelihood maximised by SciPy."""
    n = len(draws)
    u, v = rankdata(draws[:, 0]) / (n + 1), rankdata(draws[:, 1]) / (n + 1)
    kendalltau(u, v)
    return peer_mle(target.name, u, v, formula)


def speed() -> Report:
    report = Report(
        "Speed: medians of one run on the same data; ratio = time of the peer / time of ours",
        ("job", "peer", "ours, ms", "peer, ms", "ratio", "asked"),
    )

    def row(job: str, peer: str, ours: float, theirs: float, asked: float) -> None:
        times = f"{ours * 1e3:.2f}", f"{theirs * 1e3:.2f}", f"{theirs / ours:.1f}x", f"{asked:g}x"
        report.rows.append((job, peer, *times))

    try:
        import pyvinecopulib as pv
    except ImportError:
        pv = None
    for target in (cd.Gumbel(2.5), cd.Clayton(3.0)):
        draws = target.sample(100_000, rng=1)
        u = cd.pseudo_observations(draws)
        jobs: list[Job] = [
            lambda u=u, t=target: cd.fit(u, t, margins="uniform"),
            lambda u=u, t=target: peer_mle(t.name, *u.T, textbook_likelihood),
            lambda u=u, t=target: peer_mle(t.name, *u.T.copy()),
        ]
        if pv is not None:
            family = getattr(pv.BicopFamily, target.name.lower())
            controls = pv.FitControlsBicop(family_set=[family], parametric_method="mle", allow_rotations=False)
            jobs.append(lambda u=u, c=controls: pv.Bicop.from_data(u, controls=c))
        ours, *theirs = medians(*jobs)
        job = f"MLE {target.name}, n = 1e5, from pseudo-observations"
        row(job, "minimize_scalar, textbook formula on array columns", ours, theirs[0], 8)
        row(job, "minimize_scalar, tuned by hand (contiguous, logs taken once)", ours, theirs[1], 8)
        if pv is not None:
            row(job, f"pyvinecopulib {version('pyvinecopulib')}", ours, theirs[2], 30)

        def values(draws: np.ndarray = draws, target: cd.Copula = target) -> tuple[float, float]:
            fitted = cd.fit(draws, target)
            return fitted.tau - target.tau, fitted.sample_tau - target.tau

        peer = "rankdata + kendalltau + minimize_scalar"
        ours, with_errors, theirs_whole = medians(
            values,
            lambda d=draws, t=target: cd.discrepancy(d, t),
            lambda d=draws, t=target: paper_value(d, t, textbook_likelihood),
        )
        row(f"level, shape, total of {target.name}, n = 1e5, from raw draws", peer, ours, theirs_whole, 5)
        row(
            f"discrepancy() {target.name}, the same with all standard errors, CKL, CED, tails, R-hat",
            peer,
            with_errors,
            theirs_whole,
            1,
        )
    for n in (10_000, 100_000, 1_000_000):
        x = np.random.default_rng(2).normal(size=n)
        y = x + np.random.default_rng(3).normal(size=n)
        ours, theirs_tau = medians(lambda x=x, y=y: cd.kendall_tau(x, y), lambda x=x, y=y: kendalltau(x, y), repeats=5)
        row(f"Kendall's tau, n = {n:.0e}", "scipy.stats.kendalltau", ours, theirs_tau, 3)
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(4000, 200)))
    ours, theirs_matrix = medians(lambda: cd.kendall_matrix(frame), lambda: frame.corr("kendall"), repeats=3)
    row("kendall_matrix, d = 200, n = 4000", "pandas corr('kendall')", ours, theirs_matrix, 30)
    if pv is not None:
        peer = pv.Bicop(family=pv.BicopFamily.gumbel, parameters=np.array([[2.5]]))
        simulate = getattr(peer, "sample", None) or peer.simulate  # the name has changed between versions
        ours, theirs_sample = medians(lambda: cd.Gumbel(2.5).sample(1_000_000, rng=5), lambda: simulate(1_000_000), repeats=3)
        row("sample 1e6 draws of Gumbel(2.5)", "pyvinecopulib simulate", ours, theirs_sample, 3)
    stein = stein_jobs(5000)
    if stein is not None:
        one, every, theirs_ksd = medians(*stein, repeats=5)
        peer = f"stein-thinning {version('stein-thinning')} ksd"
        row("ksd with its standard error, n = 5000, d = 2, one thread", peer, one, theirs_ksd, 30)
        row("ksd with its standard error, n = 5000, d = 2, all threads", peer, every, theirs_ksd, 30)
    return report


def stein_jobs(n: int) -> tuple[Job, Job, Job] | None:
    """The same kernel Stein discrepancy by us, on one thread and on all, and by stein-thinning; None where that is missing."""
    try:
        from stein_thinning.kernel import vfk0_imq
        from stein_thinning.stein import ksd
    except ImportError:
        return None
    x = np.random.default_rng(7).standard_normal((n, 2))

    def integrand(i: object, j: object) -> np.ndarray:
        a, b = x[i].reshape(-1, 2), x[j].reshape(-1, 2)
        return vfk0_imq(a, b, -a, -b, np.eye(2)).squeeze()

    theirs, ours = ksd(integrand, n)[-1], cd.ksd(x, np.negative, statistic="v").ksd
    if abs(ours / theirs - 1) > 1e-9:
        raise AssertionError(f"the peer's value is {theirs}, ours {ours}")
    return lambda: cd.ksd(x, np.negative, n_jobs=1), lambda: cd.ksd(x, np.negative), lambda: ksd(integrand, n)


def memory() -> Report:
    report = Report("Memory: peak above the data", ("job", "peak, MB", "asked"))
    x = np.random.default_rng(8).standard_normal((20_000, 2))
    cd.ksd(x[:100], np.negative)
    tracemalloc.start()
    cd.ksd(x, np.negative)
    report.rows.append(("ksd, n = 20000, d = 2", f"{tracemalloc.get_traced_memory()[1] / 1e6:.1f}", "100"))
    tracemalloc.stop()
    return report


def corner_error(name: str, thetas: tuple[float, ...]) -> tuple[float, int]:
    """Largest error of logpdf over max(1, |log c|) on the grid 1e-15 .. 1 - 1e-15, and the number of points."""
    grid = np.concatenate([np.logspace(-15, -1, 15), [0.3, 0.5, 0.7], 1 - np.logspace(-1, -15, 15)])
    u, v = (axis.ravel() for axis in np.meshgrid(grid, grid))
    worst = 0.0
    with mp.workdps(50):
        for theta in thetas:
            ours = cd.family(name)(theta).logpdf(u, v)
            for a, b, value in zip(u, v, ours, strict=True):
                truth = float(_reference(name, mp.mpf(theta), -mp.log(mp.mpf(a)), -mp.log(mp.mpf(b)))[0])
                worst = max(worst, abs(value - truth) / max(1.0, abs(truth))) if np.isfinite(value) else np.inf
    return worst, u.size * len(thetas)


def _reference(name: str, theta: mp.mpf, x: mp.mpf, y: mp.mpf) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """log c and its theta derivatives from the textbook formula, differentiated by hand."""
    if name == "Clayton":
        a, b = mp.exp(theta * x), mp.exp(theta * y)
        s, s1, s2 = a + b - 1, x * a + y * b, x * x * a + y * y * b
        g, g1 = mp.log(s), s1 / s
        g2 = s2 / s - g1**2
        k = 2 + 1 / theta
        value = mp.log(1 + theta) + (1 + theta) * (x + y) - k * g
        first = 1 / (1 + theta) + x + y - k * g1 + g / theta**2
        return value, first, -1 / (1 + theta) ** 2 - k * g2 + 2 * g1 / theta**2 - 2 * g / theta**3
    p, q = mp.log(x), mp.log(y)
    a, b = mp.exp(theta * p), mp.exp(theta * q)
    s, s1, s2 = a + b, p * a + q * b, p * p * a + q * q * b
    g, g1 = mp.log(s), s1 / s
    g2 = s2 / s - g1**2
    h, h1 = g / theta, g1 / theta - g / theta**2  # log w
    h2 = g2 / theta - 2 * g1 / theta**2 + 2 * g / theta**3
    w = mp.exp(h)
    w1, w2 = w * h1, w * (h2 + h1**2)
    outer = w + theta - 1
    value = -w + x + y + (theta - 1) * (p + q) + (1 - 2 * theta) * h + mp.log(outer)
    first = -w1 + p + q - 2 * h + (1 - 2 * theta) * h1 + (w1 + 1) / outer
    return value, first, -w2 - 4 * h1 + (1 - 2 * theta) * h2 + w2 / outer - ((w1 + 1) / outer) ** 2


def newton_distance(fitted: cd.Fit, draws: np.ndarray) -> float:
    """The step that a 30-digit Newton iteration would still take from our theta, relative to theta.

    Newton converges quadratically, so at a distance below 1e-6 its next step is that distance.
    """
    n = len(draws)
    ranks = rankdata(draws, axis=0).astype(int)
    with mp.workdps(30):
        table = [mp.mpf(0)] + [-mp.log(mp.mpf(k) / (n + 1)) for k in range(1, n + 1)]
        theta = mp.mpf(fitted.theta)
        first = second = mp.mpf(0)
        for i, j in ranks:
            _, slope, curvature = _reference(fitted.family, theta, table[i], table[j])
            first += slope
            second += curvature
        return abs(float(first / second / theta))


def accuracy(sizes: tuple[int, ...]) -> Report:
    report = Report("Accuracy: relative errors", ("quantity", "against", "largest error", "asked"))
    for name, thetas in (("Gumbel", (1.001, 1.1, 2.5, 10.0, 50.0)), ("Clayton", (1e-6, 1e-2, 1.0, 30.0, 80.0))):
        error, points = corner_error(name, thetas)
        quantity = f"logpdf of {name}, theta {thetas[0]:g} to {thetas[-1]:g}"
        report.rows.append((quantity, f"mpmath, {points} points", f"{error:.1e}", "1e-12"))
    for truth, family in ((cd.Gumbel(2.5), "Clayton"), (cd.Clayton(3.0), "Gumbel")):
        for n in sizes:
            draws = truth.sample(n, rng=6)
            error = newton_distance(cd.fit(draws, family), draws)
            quantity = f"theta of {family} fitted to {truth.name}, n = {n:.0e}"
            report.rows.append((quantity, "30-digit Newton", f"{error:.1e}", "1e-10"))
    return report


def main() -> None:
    import argparse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000, help="largest n of the 30-digit check (default: 1000000)")
    parser.add_argument("--write", type=Path, help="write the tables to this Markdown file too")
    options = parser.parse_args()
    console = Console(width=150)
    console.print(machine())
    reports = [
        speed(),
        pairs.speed(),
        pairs.many(),
        page.page(),
        memory(),
        accuracy(tuple(n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= options.largest)),
    ]
    for report in reports:
        report.show(console)
    if options.write:
        text = f"# The core against its peers\n\nWritten by `make bench`. {machine()}\n\n"
        text += "\n".join(report.markdown() for report in reports)
        options.write.write_text(f"{text}\n{NOTE}", encoding="utf-8")


if __name__ == "__main__":
    main()
