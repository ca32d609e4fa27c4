"""The measurements of one replication in each experiment of the paper."""

import math
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import copula_discrepancy as cd
from copula_discrepancy.studies.paper.runner import BLOCK, Seed, Study
from copula_discrepancy.studies.paper.store import Row

GUMBEL, CLAYTON = cd.Gumbel(2.5), cd.Clayton(3.0)  # both have Kendall's tau 0.6
SIZES = tuple(int(n) for n in np.logspace(2, 4, 15))
OVERHEAD_SIZES = tuple(int(n) for n in np.logspace(2, 3.3, 10))
FURTHER_SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
KSD_LIMIT = 20_000  # its cost is quadratic: measured up to here, not extrapolated
PUBLISHED_STEPS = tuple(float(step) for step in np.logspace(-5, -1, 10))
FURTHER_STEPS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
# Numbers of simulated draws in a replication, as in the authors' scripts.
DRAWS_IN_1, DRAWS_IN_3, TARGET_DRAWS = 5_000, 20_000, 100_000
REFERENCES = 100  # Metropolis runs like the paper's reference
LEAST_THETA = 1.0001  # the authors' lower bound of a Gumbel's theta


def _judged(draws: NDArray[np.float64], target: cd.Copula, m: int, target_entropy: float, seed: Seed, arm: str) -> Row:
    """CD, CKL and CED of independent draws, exact and by the paper's Monte Carlo, and the gaps with their tests."""
    result = cd.discrepancy(draws, target, iid=True)
    fitted = result.fit.copula
    simulated = fitted.entropy(method="monte_carlo", m=m, rng=seed.generator(f"{arm} entropy"))
    return {
        "cd": result.cd,
        "ckl": result.ckl,
        "ced": result.ced,
        "ckl_mc": fitted.kl(target, method="monte_carlo", m=m, rng=seed.generator(f"{arm} kl")),
        "ced_mc": abs(simulated - target_entropy),
        "level_rejected": float(result.level.pvalue < 0.05),
        "shape": result.shape.value,
        "shape_pvalue": result.shape.pvalue,
        "shape_rejected": float(result.shape.pvalue < 0.05),
        "total_pvalue": result.total.pvalue,
    }


def simulated_entropy(target: cd.Copula, name: str, seed: int) -> dict[str, float]:
    """The target's entropy as in the paper: one simulated number for all replications, with its standard error."""
    batches = [
        target.entropy(method="monte_carlo", m=DRAWS_IN_1, rng=Seed(seed, name, 0.0, k).generator("target entropy"))
        for k in range(TARGET_DRAWS // DRAWS_IN_1)
    ]
    se = float(np.std(batches, ddof=1)) / math.sqrt(len(batches))
    shared = {f"shared_{column}": se for column in ("on_ced_mc", "off_ced_mc", "ced_mc")}
    return {"target_entropy_mc": float(np.mean(batches)), "target_entropy": target.entropy(), **shared}


def experiment1(n: float, seed: Seed, context: Mapping[str, float]) -> Row:
    """Gumbel draws (on target) and Clayton draws (off target) of the same tau against Gumbel(2.5)."""
    row: Row = {}
    entropy = context["target_entropy_mc"]
    for arm, truth in (("on", GUMBEL), ("off", CLAYTON)):
        draws = truth.sample(int(n), rng=seed.generator(arm))
        row |= {f"{arm}_{name}": value for name, value in _judged(draws, GUMBEL, DRAWS_IN_1, entropy, seed, arm).items()}
    return row


def modes_visited(values: NDArray[np.float64]) -> tuple[int, bool]:
    """How often chains (chain, draw, 2) cross between the two modes, and whether all draws lie in the same one."""
    upper = values.sum(axis=2) > 0
    return int(np.sum(upper[:, 1:] != upper[:, :-1])), bool(upper.all() or not upper.any())


def reference_taus(seed: int) -> dict[str, float]:
    """Kendall's tau of runs like the paper's reference: its quantiles, and its value in the first run stuck in one mode."""
    target = cd.BimodalMixture()
    start = np.outer((-1, 1), (target.centre, target.centre))
    taus: list[float] = []
    stuck: list[bool] = []
    crossings: list[int] = []
    stuck_se = math.nan
    while len(taus) < REFERENCES or not any(stuck):
        source = Seed(seed, "experiment2", 0.0, len(taus)).generator("reference")
        chains = cd.metropolis(target, start, scale=0.8, n_draws=25_000, burn_in=5_000, rng=source)
        x, y = chains.values.reshape(-1, 2).T
        taus.append(cd.kendall_tau(x, y))
        crossed, one_mode = modes_visited(chains.values)
        crossings.append(crossed)
        stuck.append(one_mode)
        if stuck[-1] and math.isnan(stuck_se):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cd.DependenceWarning)
                stuck_se = cd.discrepancy(chains, cd.Gaussian(0.0), method="moment").level.se
    stuck_tau = taus[stuck.index(True)]
    low, median, high = np.quantile(taus, [0.05, 0.5, 0.95])
    return {
        "tau_exact": target.tau, "tau_stuck": stuck_tau, "tau_stuck_se": stuck_se, **_shared_errors(stuck_tau, stuck_se),
        "references": float(len(taus)), "reference_crossings": float(np.mean(crossings)),
        "reference_stuck": float(np.mean(stuck)), "reference_low": float(low), "reference_median": float(median),
        "reference_high": float(high),
    }  # fmt: skip


def _bounded_gumbel(tau: float) -> cd.Copula:
    """The Gumbel copula of a tau, with theta above the authors' lower bound."""
    return cd.Gumbel(max(1.0 / (1.0 - tau), LEAST_THETA))


def _shared_errors(tau: float, se: float) -> dict[str, float]:
    """Change of the columns against the stuck reference when its tau changes by a standard error."""
    fitted = cd.Gumbel.from_tau(0.5)  # the estimate of nearly all runs
    low, high = (_bounded_gumbel(tau + shift) for shift in (-se, se))
    return {
        "shared_published_cd": se,
        "shared_published_ckl": 0.5 * abs(fitted.kl(high) - fitted.kl(low)),
        "shared_published_ced": 0.5 * abs(high.entropy() - low.entropy()),
    }


def bimodal_run(step: float, source: np.random.Generator) -> "cd.Chains":
    """SGLD on the mixture of experiment 2: two chains, one from near each mode, 500 steps of burn-in and 1000 kept."""
    target = cd.BimodalMixture()
    start = np.outer((-1, 1), (target.centre, target.centre)) + 0.1 * source.standard_normal((2, 2))
    return cd.sgld(target, start, step=step, n_draws=1000, burn_in=500, rng=source)


def experiment2(step: float, seed: Seed, context: Mapping[str, float]) -> Row:
    """One SGLD run at a step size, against the stuck reference of the paper and against the truth."""
    try:
        run = bimodal_run(step, seed.generator("sgld"))
    except cd.DivergenceError:
        return {"diverged": 1.0}
    right = cd.discrepancy(run, cd.Gumbel.from_tau(context["tau_exact"]), method="moment")
    row = {
        "diverged": 0.0,
        "tau": right.tau,
        "cd": right.cd,
        "cd_se": right.total.se,
        "cd_pvalue": right.total.pvalue,
        "cd_rejected": float(right.total.pvalue < 0.05),
        "ckl": right.ckl,
        "ced": right.ced,
        "published_cd": abs(right.tau - context["tau_stuck"]),
        "ess": min(cd.ess(run).values()),
        "paper_ess": min(cd.paper_ess(run).values()),
        "rhat": max(cd.rhat(run).values()),
    }
    if right.tau < 1.0:
        stuck, fitted = _bounded_gumbel(context["tau_stuck"]), _bounded_gumbel(right.tau)
        row |= {"published_ckl": fitted.kl(stuck), "published_ced": abs(fitted.entropy() - stuck.entropy())}
    return row


def experiment3(n: float, seed: Seed, context: Mapping[str, float]) -> Row:
    """Gumbel draws against Clayton(3) with the same tau: five diagnostics of the paper, the shape gap, the valid KSD."""
    samples = {
        "": GUMBEL.sample(int(n), rng=seed.generator("draws")),
        "on_target_": CLAYTON.sample(int(n), rng=seed.generator("right")),  # a valid discrepancy is near 0 there
    }
    row = _judged(samples[""], CLAYTON, DRAWS_IN_3, context["target_entropy_mc"], seed, "on")
    row["naive_tau"] = cd.naive_tau(samples[""], CLAYTON)
    for prefix, draws in samples.items():
        for suffix, space in (("_unit", "unit"), ("", "normal")):
            row[f"{prefix}ksd{suffix}"] = cd.ksd(draws, CLAYTON, space=space, iid=True, n_jobs=1).value
    return row


def overhead(n: float, seed: Seed, context: Mapping[str, float]) -> Row:
    """Seconds that each diagnostic takes on the same draws."""
    draws = CLAYTON.sample(int(n), rng=seed.generator("draws"))
    tasks: dict[str, Callable[[], Any]] = {
        "cd_moment": lambda: abs(cd.fit(draws, "clayton", method="moment", iid=True).tau - CLAYTON.tau),
        "cd_mle": lambda: abs(cd.fit(draws, "clayton", iid=True).tau - CLAYTON.tau),
        "discrepancy": lambda: cd.discrepancy(draws, CLAYTON, iid=True),
    }
    if n <= KSD_LIMIT:
        tasks["ksd"] = lambda: cd.ksd(draws, CLAYTON, space="unit", iid=True, n_jobs=1)
    row: Row = dict.fromkeys(("cd_moment", "cd_mle", "discrepancy", "ksd"), math.nan)
    for name, task in tasks.items():
        if seed.replication % BLOCK == 0:
            task()  # compiles kernels and touches memory, once per part
        start = time.perf_counter()
        task()
        row[name] = time.perf_counter() - start
    return row


def _cost1(n: float) -> float:
    return 7.0 + 5e-4 * n


def _cost2(step: float) -> float:
    return 17.0


def _cost3(n: float) -> float:
    return 12.0 + 2e-3 * n + 1.8e-6 * n * n


def _cost_overhead(n: float) -> float:
    return 6.0 + 5e-4 * n + (5e-7 * n * n if n <= KSD_LIMIT else 0.0)


def _most_timings(n: float) -> int:
    return 20 if n <= KSD_LIMIT else 5


def study(name: str, sizes: tuple[int, ...] | None, seed: int) -> Study:
    """An experiment by name, with the paper's sizes unless others are passed."""
    if name == "experiment1":
        return Study(name, "n", sizes or SIZES, experiment1, _cost1, simulated_entropy(GUMBEL, name, seed))
    if name == "experiment2":
        return Study(name, "step_size", PUBLISHED_STEPS + FURTHER_STEPS, experiment2, _cost2, reference_taus(seed))
    if name == "experiment3":
        return Study(name, "n", sizes or SIZES, experiment3, _cost3, simulated_entropy(CLAYTON, name, seed))
    return Study(
        name, "n", sizes or OVERHEAD_SIZES + FURTHER_SIZES, overhead, _cost_overhead, parallel=False, most=_most_timings
    )
