"""Speed compared with other libraries: the same data, results compared, medians of one run."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import copula_discrepancy as cd
from benchmarks import peers
from benchmarks.likelihoods import maximised, paper_value, textbook_likelihood, tuned_likelihood
from benchmarks.report import RATIOS, Report, error_in_a_line, failed_row, ratio_row
from benchmarks.sizes import Sizes
from benchmarks.timing import Job, Run, measured

CLAYTON = (
    "the likelihood of Clayton takes two exponentials and a logarithm per draw, which NumPy computes with vector instructions "
    "as fast as our kernel; the only gain is in the number of passes over the draws, two or three instead of about sixteen"
)
THIS = "this library"
GUMBEL, T = cd.Gumbel(2.5), cd.StudentT(0.6, df=4.0)


@dataclass
class Race:
    """One job of ours and of peers: `judge` describes how the result of a peer compares with ours."""

    job: str
    ours: Job
    judge: Callable[[Run, Run], str]
    repeats: int
    runners: list[tuple[str, Job, dict[str, Any]]] = field(default_factory=list)
    absent: list[tuple[str, str, float | None]] = field(default_factory=list)

    def against(self, label: str, make: Callable[[], Job], asked: float | None = None, **words: Any) -> None:
        """Enter a peer: `make` gives its job, or raises Missing."""
        try:
            self.runners.append((label, make(), {"asked": asked, **words}))
        except peers.Missing as missing:
            self.absent.append((label, str(missing), asked))

    def rows(self) -> list[tuple[str, ...]]:
        """The table's rows: the peers in the order in which they were entered, then those that could not start."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whatever a peer warns of; its answer is judged
            ours, *others = measured(self.ours, *(job for _, job, _ in self.runners), repeats=self.repeats)
        if ours.error is not None:
            raise ours.error
        rows = []
        for (label, _, words), run in zip(self.runners, others, strict=True):
            if run.error is not None:
                rows.append(failed_row(self.job, label, ours.seconds, error_in_a_line(run.error), asked=words["asked"]))
            else:
                rows.append(ratio_row(self.job, label, ours.seconds, run.seconds, answer=self.judge(ours, run), **words))
        return rows + [failed_row(self.job, label, ours.seconds, why, asked=asked) for label, why, asked in self.absent]


def numbers_agree(tolerance: float) -> Callable[[Run, Run], str]:
    """Judge numbers, or arrays of them: the largest difference over max(1, |ours|)."""

    def judge(ours: Run, theirs: Run) -> str:
        mine, other = np.asarray(ours.answer, dtype=float), np.asarray(theirs.answer, dtype=float)
        lost = int(np.sum(~np.isfinite(other)))
        if lost:
            return f"wrong: {lost} of {other.size} values are not finite"
        apart = float(np.max(np.abs(mine - other) / np.maximum(1.0, np.abs(mine))))
        return f"the same within {tolerance:g}" if apart <= tolerance else f"differs by {apart:.1e}"

    return judge


def draws_agree(copula: cd.Copula) -> Callable[[Run, Run], str]:
    """Judge draws by their Kendall's tau."""

    def judge(ours: Run, theirs: Run) -> str:
        level = cd.discrepancy(theirs.answer, copula, iid=True).level
        z = level.value / level.se
        return f"its tau is {z:+.1f} standard errors off" + ("" if abs(z) < 4.0 else ": wrong")

    return judge


def kendall(sizes: Sizes) -> list[tuple[str, ...]]:
    """One pair, and every pair."""
    rows = []
    for n in sizes.tau:
        x = np.random.default_rng(2).normal(size=n)
        y = x + np.random.default_rng(3).normal(size=n)
        job, ours = f"Kendall's tau, n = {n:,}", partial(cd.kendall_tau, x, y)
        race = Race(job, ours, numbers_agree(1e-12), min(sizes.repeats, 5))
        for peer in ("scipy", "pandas", "openturns", "pyvinecopulib"):
            race.against(peer, lambda p=peer, x=x, y=y: peers.kendall(p, x, y), asked=3.0 if peer == "scipy" else None)
        rows += race.rows()
    n, d = sizes.matrix
    values = np.random.default_rng(4).normal(size=(n, d))
    race = Race(
        f"matrix of tau, d = {d}, n = {n:,}", partial(cd.kendall_matrix, values), numbers_agree(1e-12), min(sizes.repeats, 5)
    )
    reason = f"{os.cpu_count()} cores here"
    race.against("pandas: corr", lambda: peers.kendall_matrix("pandas", values), 30.0, aim=60.0, reason=reason)
    race.against("openturns", lambda: peers.kendall_matrix("openturns", values))
    race.against("pyvinecopulib: a loop", lambda: peers.kendall_matrix("pyvinecopulib", values))
    race.against(f"{THIS}, one thread", lambda: partial(cd.kendall_matrix, values, n_jobs=1))
    return rows + race.rows()


def likelihood(sizes: Sizes) -> list[tuple[str, ...]]:
    """Maximum likelihood, and the whole discrepancy."""
    rows = []
    for target in (GUMBEL, cd.Clayton(3.0)):
        draws = target.sample(sizes.draws, rng=1)
        u = cd.pseudo_observations(draws)
        name, reason = target.name, CLAYTON if target.name == "Clayton" else ""
        # theta by function values alone is known to the root of their precision, 1e-8, times what the curvature makes of it
        race = Race(
            f"MLE of {name}, n = {sizes.draws:,}",
            lambda u=u, t=target: cd.fit(u, t, margins="uniform").theta,
            numbers_agree(1e-6),
            sizes.repeats,
        )
        race.against(
            "scipy: minimize_scalar, textbook formula",
            lambda u=u, n=name: lambda: maximised(n, *u.T, textbook_likelihood),
            asked=8.0,
            reason=reason,
        )
        race.against(
            "scipy: minimize_scalar, tuned by hand",
            lambda u=u, n=name: lambda: maximised(n, *u.T.copy(), tuned_likelihood),
            asked=8.0,
            reason=reason,
        )
        for peer, asked in (("pyvinecopulib", 30.0), ("openturns", None), ("copulae", None)):
            race.against(peer, lambda u=u, n=name, p=peer: peers.likelihood_fit(p, n, u), asked=asked)
        race.against("statsmodels: moment fit only", lambda u=u, n=name: peers.moment_fit(n, u))
        rows += race.rows()
        rows += discrepancies(target, draws, sizes)
    return rows


def discrepancies(target: cd.Copula, draws: np.ndarray, sizes: Sizes) -> list[tuple[str, ...]]:
    """From raw draws to the paper's number, and to all results of `discrepancy`."""

    def bare() -> float:
        fitted = cd.fit(draws, target)
        _ = fitted.tau - target.tau, fitted.sample_tau - target.tau
        return fitted.theta

    def everything() -> float:
        result = cd.discrepancy(draws, target)
        result.to_dict()  # whatever it has, computed
        return result.fit.theta

    rows = []
    for job, ours, asked in (
        (f"level, shape, total of {target.name}, n = {len(draws):,}", bare, 5.0),
        (f"discrepancy() of {target.name}, n = {len(draws):,}", everything, 1.0),
    ):
        race = Race(job, ours, numbers_agree(1e-6), sizes.repeats)
        peer = "scipy: rankdata, kendalltau, minimize_scalar"
        race.against(peer, lambda: partial(paper_value, draws, target, textbook_likelihood), asked=asked)
        rows += race.rows()
    return rows


def densities(sizes: Sizes) -> list[tuple[str, ...]]:
    """Log densities of three families."""
    rows = []
    for copula in (GUMBEL, cd.Clayton(3.0), T):
        for n in sizes.logpdf:
            u = copula.sample(n, rng=5)
            columns = [np.ascontiguousarray(column) for column in u.T]
            job, tolerance = f"logpdf of {copula.name}, n = {n:,}", numbers_agree(1e-10)
            race = Race(job, lambda c=copula, xy=columns: c.logpdf(*xy), tolerance, min(sizes.repeats, 5))
            for peer in ("statsmodels", "pyvinecopulib", "openturns", "copulae"):
                race.against(peer, lambda p=peer, c=copula, u=u: peers.logpdf(p, c, u))
            rows += race.rows()
    return rows


def samples(sizes: Sizes) -> list[tuple[str, ...]]:
    """Draws from a Gumbel copula."""
    job = f"sample {sizes.sample:,} draws of Gumbel(2.5)"
    race = Race(job, lambda: GUMBEL.sample(sizes.sample, rng=5), draws_agree(GUMBEL), min(sizes.repeats, 5))
    for peer, asked in (("pyvinecopulib", 3.0), ("statsmodels", None), ("openturns", None), ("copulae", None)):
        race.against(peer, lambda p=peer: peers.sampler(p, GUMBEL, sizes.sample), asked=asked)
    return race.rows()


def stein_peer(x: np.ndarray) -> Job:
    """stein-thinning's kernel Stein discrepancy of points with a standard normal target."""
    stein = peers.load("stein-thinning")
    from stein_thinning.kernel import vfk0_imq

    def integrand(i: object, j: object) -> np.ndarray:
        a, b = x[i].reshape(-1, 2), x[j].reshape(-1, 2)
        return vfk0_imq(a, b, -a, -b, np.eye(2)).squeeze()

    return lambda: float(stein.ksd(integrand, len(x))[-1])


def stein(sizes: Sizes) -> list[tuple[str, ...]]:
    """The kernel Stein discrepancy, ours with its standard error."""
    x = np.random.default_rng(7).standard_normal((sizes.stein, 2))
    value = cd.ksd(x, np.negative, statistic="v").ksd  # the peer's statistic; ours is as costly, and has a standard error
    rows = []
    for threads, n_jobs in (("", -1), (", one thread", 1)):
        race = Race(
            f"ksd, n = {sizes.stein:,}, d = 2{threads}",
            lambda n_jobs=n_jobs: cd.ksd(x, np.negative, n_jobs=n_jobs),
            lambda _, theirs: numbers_agree(1e-9)(Run(0.0, value), theirs),
            min(sizes.repeats, 5),
        )
        race.against("stein-thinning", lambda: stein_peer(x), asked=30.0)
        rows += race.rows()
    return rows


def speed(sizes: Sizes) -> Report:
    """Every race."""
    return Report(
        "Speed: medians of one run on the same data; ratio = the peer's time / ours",
        RATIOS,
        kendall(sizes) + likelihood(sizes) + densities(sizes) + samples(sizes) + stein(sizes),
        "MLE from pseudo-observations; level, shape, total and discrepancy() from raw draws, the latter with all standard "
        "errors, CKL, CED, tails and R-hat; ksd with its standard error. Our matrix of tau and ksd use all cores unless marked "
        "as one thread; all other jobs of ours use one. The result of each peer is compared with ours.",
    )
