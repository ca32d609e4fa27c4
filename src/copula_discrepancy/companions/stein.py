"""The kernel Stein discrepancy with an inverse multiquadric kernel, against a copula or any score function."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from copula_discrepancy._arrays import real_array
from copula_discrepancy._parallel import checked_jobs
from copula_discrepancy.companions.imq import Kernel, Points, quadratic_forms, statistic_of
from copula_discrepancy.companions.resampling import Margin, multipliers, slowest_time
from copula_discrepancy.draws import Draws, as_draws
from copula_discrepancy.errors import InputError, one_of, true_or_false
from copula_discrepancy.families import Copula
from copula_discrepancy.families._checks import RandomSource, random_generator, real_number, whole_number
from copula_discrepancy.fitting import announce
from copula_discrepancy.inference import FEWEST_DRAWS, Spread, require_chain_length
from copula_discrepancy.pairs import RankedPair

SPACES = ("normal", "unit")
STATISTICS = ("u", "v")
Score: TypeAlias = Callable[[NDArray[np.float64]], Any]

_NOT_A_DISCREPANCY = (
    "on the unit square a copula's score does not vanish at the edge, so Stein's identity fails: this number is not a "
    "discrepancy, it does not go to 0 on draws from the target; use space='normal'"
)
_BOOTSTRAP_BYTES = 2**25  # multipliers held at once
_STEP = 1e-4  # of a derivative: an error of 1e-4 of it, and 1e-8 from rounding


@dataclass(frozen=True, repr=False)
class SteinDiscrepancy:
    """A kernel Stein discrepancy of draws from a target.

    Attributes
    ----------
    value : float
        The U- or the V-statistic: the mean Stein kernel over pairs of different draws, or over all pairs. Both estimate the
        squared discrepancy; the first has mean 0 on independent draws from the target (margins known), the second is never
        negative.
    se : float
        Standard error of the value for draws that are not from the target, from the long-run variance of its influence values;
        NaN against a copula with margins known by ranks only, whose part in it is not known.
    pvalue : float
        Of the draws coming from the target, NaN without a bootstrap.
    statistic, space, n, d
        "u" or "v"; "normal", "unit" or "given" (a score function); number of draws and of variables.
    bootstrap, method
        Number of bootstrap samples, and how they were made: "parametric" or "wild".
    is_discrepancy : bool
        False on the unit square, where the value does not go to 0 on draws from the target.
    """

    value: float
    se: float
    pvalue: float
    statistic: str
    space: str
    n: int
    d: int
    bootstrap: int
    method: str | None
    is_discrepancy: bool
    warnings: tuple[str, ...] = ()

    @property
    def ksd(self) -> float:
        """The discrepancy itself, the square root of the value; 0 where a U-statistic is negative."""
        return math.sqrt(max(self.value, 0.0))

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        where = {"normal": "normal scores", "unit": "the unit square", "given": "the draws' own scale"}[self.space]
        kind = f"{self.statistic.upper()}-statistic"
        told = f"Squared kernel Stein discrepancy {self.value:.6g} ({kind}, {self.n} draws, {where})"
        if math.isfinite(self.se):
            told += f", se {self.se:.3g}"
        if not self.is_discrepancy:
            told += "; not a discrepancy: not 0 on draws from the target"
        if self.method is None:
            return f"{told}; no p-value (bootstrap=500 gives one)"
        least = 1.0 / (self.bootstrap + 1.0)  # no sample reached the value
        told += f", p <= {least:.2g}" if self.pvalue <= least else f", p = {self.pvalue:.3f}"
        return f"{told} ({self.bootstrap} {self.method} bootstrap samples)"

    def to_dict(self) -> dict[str, Any]:
        """Every number."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"warnings": list(self.warnings)}


def ksd(
    draws: Any,
    target: Copula | Score,
    *,
    space: str = "normal",
    statistic: str = "u",
    margins: str = "rank",
    c: float = 1.0,
    beta: float = -0.5,
    iid: bool = False,
    bootstrap: int = 0,
    rng: RandomSource = None,
    n_jobs: int | None = -1,
) -> SteinDiscrepancy:
    """The squared kernel Stein discrepancy of draws from a copula, or from a density with a known score.

    The mean over pairs of draws of the Stein kernel of (c^2 + |x - y|^2)^beta (Gorham and Mackey, 2017; Liu, Lee and Jordan,
    2016). It sees any difference from the target, not only in the dependence, if the score is that of the draws' own scale.

    Parameters
    ----------
    draws : array (n, d) or (chain, draw, d), or anything `as_draws` takes
        Two variables where the target is a copula.
    target : Copula or callable
        A copula, or a function that gives the gradient of a log density, (n, d) -> (n, d), on the draws' own scale, such as the
        `gradient` of a sampler's target.
    space : {"normal", "unit"}
        With a copula: on normal scores z, where the target's density is c(Phi(z)) phi(z1) phi(z2), or on the unit square, as
        the paper has it. There the score does not vanish at the edge and the value is not a discrepancy: it is for comparison
        with published numbers, and says so in a DependenceWarning.
    statistic : {"u", "v"}
        Mean over pairs of different draws (unbiased, may be negative) or over all pairs (never negative).
    margins : {"rank", "uniform"}
        With a copula: ranks, or values that are uniform already.
    c, beta : float
        Of the kernel, c > 0 and -1 < beta < 0: that range controls convergence.
    iid : bool
        Take the draws as independent, in the standard error and the bootstrap.
    bootstrap : int
        Bootstrap samples for a p-value; 0 for none. Independent draws and a copula: samples of the copula, ranked alike, an
        exact test. Otherwise the wild bootstrap (Chwialkowski, Strathmann and Gretton, 2016): multipliers are correlated along
        a chain as the draws are, and what ranks add to the statistic is taken into account.
    rng
        Seed or source of the bootstrap's randomness.
    n_jobs : int, optional
        Threads, all cores by default; None takes what `joblib.parallel_config` says. The digits do not depend on it.

    Notes
    -----
    Time grows as n^2 d, memory as n d.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> draws = cd.Gumbel(2.5).sample(500, rng=1)
    >>> right = cd.ksd(draws, cd.Gumbel(2.5), iid=True, bootstrap=200, rng=1)
    >>> wrong = cd.ksd(draws, cd.Clayton(3.0), iid=True, bootstrap=200, rng=1)
    >>> right.pvalue > 0.05, wrong.pvalue < 0.01
    (True, True)
    >>> cd.ksd(draws - 0.5, lambda x: -x / 0.1).n  # a normal density with variance 0.1
    500
    """
    one_of(statistic, "statistic", STATISTICS)
    one_of(space, "space", SPACES)
    independent = true_or_false(iid, "iid")
    kernel = _checked_kernel(c, beta)
    samples = whole_number(bootstrap, "bootstrap", 0)
    jobs = checked_jobs(n_jobs)
    given = as_draws(draws)
    known = isinstance(target, Copula)
    if not known and (space, margins) != ("normal", "rank"):
        raise InputError("space and margins are for a copula target; a score function takes the draws as they are")
    pair = RankedPair.from_draws(given, margins) if isinstance(target, Copula) else None
    points = _copula_points(pair, target, space) if pair is not None else _scored_points(given, target)
    if samples and not independent:
        require_chain_length(given.n_draws)
    sums = kernel.row_sums(points, jobs)
    value = statistic_of(sums, kernel.diagonal(points), statistic)
    method = None
    pvalue = math.nan
    if samples:
        source = random_generator(rng)
        if isinstance(target, Copula) and independent:
            method = "parametric"
            null = _simulated(target, given, margins, space, kernel, statistic, samples, source, jobs)
            pvalue = (1.0 + int(np.sum(null >= value))) / (1.0 + samples)
        elif space == "unit":
            raise InputError("space='unit' has no Stein identity for the bootstrap of chains; use space='normal', or iid=True")
        else:
            method = "wild"
            resampled = _rank_aware(pair, target, points) if pair is not None and margins == "rank" else _plain(points)
            pvalue = _wild_pvalue(points, resampled, kernel, sums, given, independent, samples, source)
    notes = (_NOT_A_DISCREPANCY,) if known and space == "unit" else ()
    result = SteinDiscrepancy(
        value=value,
        se=_standard_error(sums, given, independent, statistic) if not known or margins == "uniform" else math.nan,
        pvalue=pvalue,
        statistic=statistic,
        space=space if known else "given",
        n=points.n,
        d=len(points.x),
        bootstrap=samples,
        method=method,
        is_discrepancy=not notes,
        warnings=notes,
    )
    announce(result.warnings)
    return result


def _checked_kernel(c: Any, beta: Any) -> Kernel:
    scale, power = real_number(c, "c"), real_number(beta, "beta")
    if not 0 < scale < math.inf:
        raise InputError(f"c must be positive and finite, got {scale:g}")
    if not -1 < power < 0:
        raise InputError(f"beta must lie strictly between -1 and 0, got {power:g}; the usual choice is -0.5")
    return Kernel(scale, power)


def _copula_points(pair: RankedPair, copula: Any, space: str) -> Points:
    """Normal scores or pseudo-observations, with the gradient of their log density."""
    parts = []
    for u, uc, v, vc in pair.units():
        if space == "unit":
            parts.append((np.stack([u, v]), np.stack(copula._unit_derivatives(copula.theta, u, uc, v, vc)[:2])))
            continue
        # each from the side that has its digits
        scores = [np.where(p < 0.5, ndtri(p), -ndtri(q)) for p, q in ((u, uc), (v, vc))]
        points = _normal_points(copula, *scores)
        parts.append((points.x, points.score))
    return Points(*(np.concatenate(part, axis=1) for part in zip(*parts, strict=True)))


def _normal_points(copula: Any, first: NDArray[np.float64], second: NDArray[np.float64]) -> Points:
    """Normal scores z with the gradient of log c(Phi(z)) phi(z1) phi(z2)."""
    x = np.stack([first, second])
    slopes = copula._unit_derivatives(copula.theta, ndtr(first), ndtr(-first), ndtr(second), ndtr(-second))[:2]
    return Points(x, np.stack(slopes) * _density(x) - x)


def _density(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard normal density."""
    return np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def _scored_points(given: Draws, score: Any) -> Points:
    if not callable(score):
        raise InputError(
            f"target must be a copula such as Gumbel(2.5) or a score function, (n, d) -> (n, d), got {score!r:.60}"
        )
    x = given.values.reshape(-1, given.n_variables)
    slopes = real_array(score(x.copy()), "the score")
    if slopes.shape != x.shape:
        raise InputError(f"the score of {x.shape} draws must have that shape, got {slopes.shape}; it is one gradient per draw")
    bad = ~np.isfinite(slopes).all(axis=1)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"the score is not finite at {int(bad.sum())} of {len(x)} draws, first at draw {first}, {x[first].tolist()!r:.80}"
        )
    return Points(np.ascontiguousarray(x.T), np.ascontiguousarray(slopes.T, dtype=np.float64))


def _standard_error(sums: NDArray[np.float64], given: Draws, independent: bool, statistic: str) -> float:
    """From the influence values 2 (mean over j of k_p(x_i, x_j) - value); the diagonal is of a lower order."""
    n = sums.size
    if given.n_draws < FEWEST_DRAWS and not independent:
        return math.nan
    means = sums / (n - 1.0 if statistic == "u" else n)
    return Spread.of(2.0 * (means - np.mean(means)).reshape(given.n_chains, -1), iid=independent).se


def _simulated(
    copula: Copula, given: Draws, margins: str, space: str, kernel: Kernel, statistic: str, samples: int,
    source: np.random.Generator, jobs: int | None,
) -> NDArray[np.float64]:  # fmt: skip
    """The statistic of independent samples of the copula, as many draws each and treated alike."""
    n = given.n_chains * given.n_draws
    null = np.empty(samples)
    for k in range(samples):
        points = _copula_points(RankedPair.from_draws(copula.sample(n, rng=source), margins), copula, space)
        null[k] = statistic_of(kernel.row_sums(points, jobs), kernel.diagonal(points), statistic)
    return null


@dataclass(frozen=True, eq=False)
class _Resampled:
    """Points that multipliers are put on, and how: weights (draw, count) -> weights (point, count)."""

    points: Points
    spread: Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _plain(points: Points) -> _Resampled:
    return _Resampled(points, lambda weights: weights)


def _rank_aware(pair: RankedPair, copula: Any, points: Points) -> _Resampled:
    """The points and, beside each, one a small step away along either axis.

    A weight on the difference is a weight on the derivative, which is what margins known by ranks add to the statistic.
    """
    moved = [_normal_points(copula, *(points.x + _STEP * axis[:, None])) for axis in np.eye(2)]
    margins = [Margin(column, _density(z)) for column, z in zip((pair.first, pair.second), points.x, strict=True)]

    def spread(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        along = [margin.carried(weights) / _STEP for margin in margins]
        return np.concatenate([weights - along[0] - along[1], *along])

    every = (points, *moved)
    return _Resampled(Points(np.hstack([p.x for p in every]), np.hstack([p.score for p in every])), spread)


def _wild_pvalue(
    points: Points, resampled: _Resampled, kernel: Kernel, sums: NDArray[np.float64], given: Draws, independent: bool,
    samples: int, source: np.random.Generator,
) -> float:  # fmt: skip
    """Share of quadratic forms w' K w, w multipliers with mean 0 and variance 1, that reach the sum of all kernels.

    U and V differ by the kernels on the diagonal, the same in every sample, and so have the same p-value.
    """
    time = 1.0 if independent else slowest_time(points.score, given.n_chains)
    together = max(min(samples, _BOOTSTRAP_BYTES // (8 * resampled.points.n)), 1)
    total = float(np.sum(sums)) + float(np.sum(kernel.diagonal(points)))
    reached = 0
    for done in range(0, samples, together):
        weights = multipliers(min(together, samples - done), given.n_chains, given.n_draws, time, source)
        reached += int(np.sum(quadratic_forms(resampled.points, kernel, resampled.spread(weights)) >= total))
    return (1.0 + reached) / (1.0 + samples)
