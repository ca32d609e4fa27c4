"""P-values of a Stein discrepancy: samples of the copula for independent draws, the wild bootstrap otherwise."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.ranks import RankedColumn, rank_column
from copula_discrepancy.estimate.uncertainty import long_run_variance, nearly_constant
from copula_discrepancy.families import Copula
from copula_discrepancy.studies.baselines.imq import Kernel, Points, SteinSums, statistic_of
from copula_discrepancy.studies.baselines.points import copula_points, normal_points

# Multipliers must be correlated for a few correlation times of the draws; otherwise part of their dependence is lost.
_LENGTHS = 4.0
_STEP = 1e-4  # of a finite difference: a relative error of 1e-4, and 1e-8 from rounding
_BYTES = 2**25  # multipliers held at once


def parametric_pvalue(
    pair: RankedPair, copula: Copula, space: str, kernel: Kernel, statistic: str, value: float, samples: int,
    source: np.random.Generator, where: SteinSums,
) -> float:  # fmt: skip
    """Share of independent samples of the copula, of the same size and ties, whose statistic reaches the value."""
    reached = 0
    for _ in range(samples):
        x, y = np.ascontiguousarray(copula.sample(pair.n, rng=source).T)
        if not pair.uniform and (pair.first.tied_pairs or pair.second.tied_pairs):
            x, y = _tied(x, pair.first), _tied(y, pair.second)
        points = copula_points(RankedPair(x, y, pair.uniform), copula, space)
        reached += statistic_of(where.row_sums(points, kernel), kernel.diagonal(points), statistic) >= value
    return (1.0 + reached) / (1.0 + samples)


def _tied(column: NDArray[np.float64], like: RankedColumn) -> NDArray[np.float64]:
    """A column with ties at the same ranks as in another."""
    return np.sort(like.rank)[rank_column(column).rank].astype(np.float64)


class Resampled(NamedTuple):
    """Points, and the map from multipliers of draws to weights of points: (draw, count) -> (point, count).

    If the margins of the draws are known, the weights are the multipliers.
    """

    points: Points
    spread: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda weights: weights


def rank_aware(pair: RankedPair, copula: Copula, points: Points) -> Resampled:
    """Normal scores and, for each, two points a small step away along either axis.

    A weight on the difference is a weight on the derivative, which estimated margins (ranks) add to the statistic.
    """
    moved = [normal_points(copula, *(points.x + _STEP * axis[:, None])) for axis in np.eye(2)]
    slopes = np.exp(-0.5 * points.x**2) / math.sqrt(2.0 * math.pi)

    def spread(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        margins = zip((pair.first, pair.second), slopes, strict=True)
        along = [_carried(column, slope, weights) / _STEP for column, slope in margins]
        return np.concatenate([weights - along[0] - along[1], *along])

    every = (points, *moved)
    return Resampled(Points(np.hstack([p.x for p in every]), np.hstack([p.score for p in every])), spread)


def _carried(column: RankedColumn, slope: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of the derivatives along one variable that follow from weights (draw, count) of the draws.

    The mean of a function J of ranks varies as the mean of J_i plus, for each margin, the mean over k of
    (1{u_i <= u_k} - u_k) dJ_k/du (Genest, Ghoudi and Rivest, 1995), with 1/2 for a tie; `slope` is du/dx of the variable.
    """
    n = weights.shape[0]
    below = np.concatenate([np.zeros((1, weights.shape[1])), np.cumsum(weights[column.order], axis=0)])
    # mid-ranks: draws before the first of a tie, and half of those up to its last
    middle = column.doubled_mid_ranks
    first = column.rank.astype(np.int64)
    shared = 0.5 * (below[first] + below[(middle - 1 - first).astype(np.int64)])
    u = (middle / (2.0 * (n + 1.0)))[:, None]
    return (shared - u * below[-1]) / (n * slope[:, None])


def wild_pvalue(
    resampled: Resampled, kernel: Kernel, total: float, n_chains: int, n_draws: int, time: float, samples: int,
    source: np.random.Generator, where: SteinSums,
) -> float:  # fmt: skip
    """Share of quadratic forms w' K w, w multipliers with mean 0 and variance 1, that reach `total`, the sum of all kernels.

    That is the test by the V-statistic. The U-statistic differs from it by the mean of the diagonal, which varies little.
    """
    together = max(min(samples, _BYTES // (8 * resampled.points.n)), 1)
    reached = 0
    for done in range(0, samples, together):
        weights = multipliers(min(together, samples - done), n_chains, n_draws, time, source)
        reached += int(np.sum(where.quadratic_forms(resampled.points, kernel, resampled.spread(weights)) >= total))
    return (1.0 + reached) / (1.0 + samples)


def slowest_time(scores: NDArray[np.float64], n_chains: int) -> float:
    """The longest correlation time of the scores (d, n), their squares and neighbours' products, in draws per effective draw.

    At least 1. Scores may alternate, as in antithetic chains, while their squares move slowly; a Stein kernel has both.
    """
    times = [1.0]
    for feature in (*scores, *scores**2, *(scores[1:] * scores[:-1])):
        if not nearly_constant(feature, float(np.max(np.abs(feature)))):
            found = long_run_variance(feature.reshape(n_chains, -1))
            times.append(found.n / found.n_eff)
    return max(times)


def multipliers(count: int, n_chains: int, n_draws: int, time: float, source: np.random.Generator) -> NDArray[np.float64]:
    """(draw, count) values with mean 0 and variance 1: signs for independent draws, otherwise Gaussian AR(1) chains.

    Leucht and Neumann (2013): correlation exp(-1/l) at lag 1, l growing with the draws' own correlation time.
    """
    if time <= 1.05:  # within the noise of an estimated correlation time
        return 2.0 * source.integers(2, size=(n_chains * n_draws, count)).astype(np.float64) - 1.0
    from scipy.signal import lfilter

    rho = math.exp(-1.0 / (_LENGTHS * max(time - 1.0, 1.0)))
    noise = source.standard_normal((n_chains, n_draws, count))
    noise[:, 1:] *= math.sqrt(1.0 - rho * rho)  # the first draw of a chain has its stationary law
    chains: NDArray[np.float64] = lfilter([1.0], [1.0, -rho], noise, axis=1)
    return chains.reshape(-1, count)
