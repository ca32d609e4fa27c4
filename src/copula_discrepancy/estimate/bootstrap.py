"""The bootstrap: gaps of simulated or resampled draws, as a cross-check of the standard errors from influence values."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.divergence import score_intervals
from copula_discrepancy.estimate.fit import fit_pair
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.uncertainty import Estimate
from copula_discrepancy.families import Copula

GAPS = ("tau", "theta", "tau_fitted", "level", "shape", "total")
_ATTEMPTS = 100


@dataclass(frozen=True)
class Replicates:
    """Deviations of tau, theta and fitted tau of bootstrap samples from the values they were generated with."""

    tau: NDArray[np.float64]
    theta: NDArray[np.float64]
    tau_fitted: NDArray[np.float64]

    def less(self, other: "Replicates") -> "Replicates":
        """Deviations of a difference of two independent samples."""
        return Replicates(self.tau - other.tau, self.theta - other.theta, self.tau_fitted - other.tau_fitted)

    def deviations(self) -> Mapping[str, NDArray[np.float64]]:
        """Deviations of every gap; shape is the fitted tau minus the draws' tau."""
        shape = self.tau_fitted - self.tau
        return {
            "tau": self.tau, "theta": self.theta, "tau_fitted": self.tau_fitted,
            "level": self.tau, "shape": shape, "total": self.tau_fitted,
        }  # fmt: skip


_WITHOUT_TIES = {"level": "tau", "shape": "shape", "total": "tau_fitted"}  # errors of the gaps, by those of the fit


def with_ties(
    deviations: Mapping[str, NDArray[np.float64]], fitted: Fit, estimates: Mapping[str, Estimate], rng: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Deviations from a copula that has no ties, with what those of the draws may do, as it is in the errors of the gaps.

    Samples of a copula have no ties, and resampled rows keep theirs: neither shows what ties do. The same normal numbers are
    added to all gaps, in proportion, since ties move them together.
    """
    doubts = {name: ties.beyond(estimates[name].se, fitted.spreads[of].se) for name, of in _WITHOUT_TIES.items()}
    doubts["theta"] = doubts["total"] * fitted.spreads["theta"].se / fitted.spreads["tau_fitted"].se if doubts["total"] else 0.0
    if not any(doubts.values()):
        return deviations
    noise = rng.standard_normal(deviations["tau"].size)
    return {name: values + doubts.get(name, 0.0) * noise for name, values in deviations.items()}


def replicates(
    fitted: Fit, n: int, rng: np.random.Generator, *, block: int | None, progress: bool | None, label: str = "bootstrap"
) -> Replicates:
    """Refit `n` bootstrap samples: simulated from the fitted copula for independent draws, moving blocks for chains.

    Blocks are drawn from all chains with equal probability, so chains that disagree widen the intervals.
    """
    samples = _parametric(fitted, rng) if fitted.iid else _moving_blocks(fitted.pair, block or block_length(fitted), rng)
    values = np.empty((n, 3))
    with progress_bar(progress, label, n) as tick:
        for k in range(n):
            again = _refit(fitted, samples)
            tau_fitted = again.sample_tau if fitted.method == "moment" else again.tau
            values[k] = again.sample_tau, again.theta, tau_fitted
            tick(k + 1)
    if not np.ptp(values[:, 0]) > 0:
        raise InputError(
            f"all {n} bootstrap samples have the same tau, so its error cannot be estimated; use more samples"
            + ("" if fitted.iid else " or shorter blocks")
        )
    if fitted.iid:
        values -= fitted.tau, fitted.theta, fitted.tau
    else:
        # equal draws in a resample lower the fitted tau slightly, so deviations are measured from the mean of the samples
        values -= np.mean(values, axis=0)
    return Replicates(*values.T)


def _refit(fitted: Fit, samples: Iterator[RankedPair]) -> Fit:
    """The fit to the next sample that is not perfectly dependent; perfect dependence has no theta."""
    for _ in range(_ATTEMPTS):
        again = fit_pair(next(samples), fitted.template, method=fitted.method, estimate_df=_free_df(fitted))
        if math.isfinite(again.theta) and abs(again.sample_tau) < 1.0:
            return again
    raise InputError(f"{_ATTEMPTS} bootstrap samples in a row are perfectly dependent; too few draws for the bootstrap")


def _free_df(fitted: Fit) -> bool:
    return fitted.df_estimated and fitted.df_on_bound is None


def require_resampling(fitted: Fit, whose: str) -> None:
    """Raise if bootstrap samples cannot represent the draws."""
    if abs(fitted.sample_tau) == 1.0:
        raise InputError(f"{whose} are perfectly dependent, and so is every bootstrap sample of them; there is no density")
    if fitted.iid and not fitted.regular:
        raise InputError(
            f"the fit of {fitted.family} to {whose} is at a parameter bound, so samples from it do not represent them; with "
            "iid=False blocks of the draws themselves are resampled"
        )


def block_length(fitted: Fit) -> int:
    """The optimal block length for the mean of an AR(1) process with the draws' n_eff.

    (3n/2)^(1/3) (2 rho / (1 - rho^2))^(2/3), rho the coefficient for which n/n_eff = (1 + rho)/(1 - rho) (Carlstein, 1986).
    """
    n_draws = fitted.n // fitted.pair.n_chains
    time = max(fitted.n / fitted.spreads["tau"].n_eff, 1.0)
    rho = (time - 1.0) / (time + 1.0)
    length = (1.5 * fitted.n) ** (1 / 3) * (2.0 * rho / (1.0 - rho**2)) ** (2 / 3)
    return int(min(max(math.ceil(length), 1), max(n_draws // 2, 1)))


def _parametric(fitted: Fit, rng: np.random.Generator) -> Iterator[RankedPair]:
    copula = fitted.copula
    while True:
        x, y = np.ascontiguousarray(copula.sample(fitted.n, rng=rng).T)
        yield RankedPair(x, y, fitted.pair.uniform)


def _moving_blocks(pair: RankedPair, block: int, rng: np.random.Generator) -> Iterator[RankedPair]:
    x, y = pair.by_chain(pair.x), pair.by_chain(pair.y)
    n_chains, n_draws = x.shape
    count = math.ceil(pair.n / block)
    while True:
        chain = rng.integers(n_chains, size=(count, 1))
        place = rng.integers(n_draws - block + 1, size=(count, 1)) + np.arange(block)
        a, b = (column[chain, place].reshape(-1)[: pair.n] for column in (x, y))
        if np.ptp(a) > 0 and np.ptp(b) > 0:  # a sample without variation has no tau
            yield RankedPair(a, b, pair.uniform)


def bootstrap_estimate(estimate: Estimate, deviations: NDArray[np.float64], *, tested: bool) -> Estimate:
    """The same number with the bootstrap's standard error, basic interval and corresponding p-value.

    Davison and Hinkley (1997): the interval is the value minus quantiles of the deviations; the p-value is twice the smaller
    share of deviations beyond the value, which is below 1 - confidence exactly if the interval does not contain 0.
    """
    tail = 0.5 * (1.0 - estimate.confidence)
    low, high = np.quantile(deviations, [tail, 1.0 - tail])
    return Estimate(
        value=estimate.value,
        se=float(np.std(deviations, ddof=1)),
        ci=(estimate.value - float(high), estimate.value - float(low)),
        pvalue=_two_sided(deviations, estimate.value) if tested else math.nan,
        n_eff=estimate.n_eff,
        bias=float(np.mean(deviations)),
        df=math.inf,
        confidence=estimate.confidence,
    )


def _two_sided(deviations: NDArray[np.float64], value: float) -> float:
    beyond = min(int(np.sum(deviations >= value)), int(np.sum(deviations <= value)))
    return min(2.0 * (1.0 + beyond) / (1.0 + deviations.size), 1.0)


def bootstrap_scores(
    ckl: Estimate, ced: Estimate, theta: Estimate, fitted: Copula, target: Copula, thetas: NDArray[np.float64]
) -> tuple[Estimate, Estimate]:
    """CKL and CED with the images of theta's basic interval; both are 0 if theta is the target's, and share its p-value.

    Their standard errors are proportional to theta's, as in the delta method.
    """
    tail = 0.5 * (1.0 - ckl.confidence)
    low, high = np.quantile(thetas, [tail, 1.0 - tail])
    ends = fitted.theta - float(high), fitted.theta - float(low)
    growth = float(np.std(thetas, ddof=1)) / theta.se
    pvalue = _two_sided(thetas, fitted.theta - target.theta)
    first, second = (
        replace(estimate, se=growth * estimate.se, ci=ci, pvalue=pvalue, df=math.inf)
        for estimate, ci in zip((ckl, ced), score_intervals(fitted, target, ends), strict=True)
    )
    return first, second
