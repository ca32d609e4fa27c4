"""Influence values: the effect of each draw on Kendall's tau, a fitted theta, or the dependence in a corner.

Every function returns one value per draw, chain after chain, with mean 0; the estimate's error is their mean, up to terms of
order 1/n. The terms for margins estimated by ranks are included (Genest, Ghoudi and Rivest, 1995).
"""

from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

import numpy as np

from copula_discrepancy._core import kernels
from copula_discrepancy._core.blocks import BLOCK, blocks
from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy.estimate.likelihood import student_part, with_df
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.families import Copula

_DF_STEP = 1e-3  # relative: central differences in df are then exact to 1e-6, and rounding of log densities to 1e-9
_NOTHING = np.empty(0)
_BIAS_LEVEL = 2  # 33 x 33 nodes: the bias is a few tenths of a standard error, so two digits are enough


class Score(NamedTuple):
    """Each draw's score in a parameter, its derivatives in u and v (0 if margins are known), and their summed slope."""

    score: FloatArray
    in_u: FloatArray
    in_v: FloatArray
    curvature: float

    def influence(self, pair: RankedPair, slope: float = 1.0) -> FloatArray:
        """Influence of each draw on `slope` times the maximum likelihood estimate, J^-1 (l_theta + W_u + W_v).

        J, the information, is minus the mean of l_thetatheta; W_u(i) is the mean over j of
        (1{x_i < x_j} + 1{x_i = x_j}/2 - u_j) l_thetau(u_j, v_j): draw i shifts the rank of every larger draw by one, and that
        of an equal one by half.
        """
        found, ranks = np.empty(pair.n), (pair.first.order, pair.first.rank, pair.second.order, pair.second.rank)
        factor = slope / (-self.curvature / pair.n)
        kernels.score_influence(*ranks, self.score, self.in_u, self.in_v, factor, found)
        return found


def theta_score(pair: RankedPair, copula: Copula) -> Score:
    """The score in theta."""
    n, theta = pair.n, copula.theta
    if pair.weights is not None or (n <= BLOCK and not pair.uniform):  # a single block
        (coordinates,) = pair.coordinates(copula)
        unit = next(pair.units()) if copula._scores_need_units else (_NOTHING,) * 4
        score, second, in_u, in_v = copula._score_derivatives(theta, *coordinates, *unit)
        return Score(score, in_u, in_v, float(np.sum(second) if pair.weights is None else pair.weights @ second))
    score, in_u, in_v = np.empty(n), np.zeros(n), np.zeros(n)
    curvature = 0.0
    units = pair.units() if copula._scores_need_units else repeat((_NOTHING,) * 4)
    for block, coordinates, unit in zip(blocks(n), pair.coordinates(copula), units, strict=False):
        if pair.uniform:
            score[block], second = copula._theta_derivatives(theta, *coordinates)
        else:
            score[block], second, in_u[block], in_v[block] = copula._score_derivatives(theta, *coordinates, *unit)
        curvature += float(np.sum(second))
    return Score(score, in_u, in_v, curvature)


def student_scores(pair: RankedPair, copula: Copula) -> tuple[Score, Score]:
    """Scores in rho and in df of a Student t copula if both are estimated; derivatives in df are central differences.

    Each is a sum of both likelihood scores, weighted by the inverse of their information matrix, so that each can be used like
    the score of a problem with one parameter and an information of 1.
    """
    inner = student_part(copula)
    if inner is None:
        raise TypeError(f"only a Student t copula has a df, not {copula!r}")
    n, theta, step = pair.n, copula.theta, _DF_STEP * inner.df
    turned = [with_df(copula, inner.df + k * step) for k in (-1.0, 0.0, 1.0)]
    rho, df = (np.empty((3, n)) for _ in range(2))  # score, and its derivatives in u and v
    curvature = np.zeros((2, 2))
    for block, unit in zip(blocks(n), pair.units(), strict=True):
        log_density, score, second, units = [], [], [], []
        for member in turned:
            x, y = member._coordinates(*unit)
            log_density.append(member._logpdf(theta, x, y))
            first, slope = member._theta_derivatives(theta, x, y)
            score.append(first)
            second.append(slope)
            units.append(member._unit_derivatives(theta, *unit))
        rho[0, block], rho[1, block], rho[2, block] = score[1], units[1][2], units[1][3]
        df[0, block] = (log_density[2] - log_density[0]) / (2.0 * step)
        df[1, block], df[2, block] = ((units[2][k] - units[0][k]) / (2.0 * step) for k in (0, 1))
        mixed = float(np.sum(score[2] - score[0])) / (2.0 * step)
        in_df = float(np.sum(log_density[2] - 2.0 * log_density[1] + log_density[0])) / step**2
        curvature += np.array([[float(np.sum(second[1])), mixed], [mixed, in_df]])
    weights = np.linalg.inv(-curvature / n)
    if pair.uniform:
        rho[1:] = df[1:] = 0.0
    scores = [weight[0] * rho + weight[1] * df for weight in weights]
    return Score._make((*scores[0], -float(n))), Score._make((*scores[1], -float(n)))


@lru_cache(maxsize=64)  # used on the scale of theta and of tau
def rank_bias(copula: Copula, n: int, n_eff: float) -> float:
    """Mean bias of theta_MLE because n draws have only ranks: the mean score at the ranks over the information.

    The rank of a draw at (u, v) has mean 1 + (n-1) u, variance (n-1) u (1-u), and covariance (n-1) (C(u, v) - u v) with the
    other one; a four-point rule with these moments replaces the distribution of the ranks, and quadrature integrates over (u,
    v). In a chain, ranks vary as if there were `n_eff` draws, while mid-ranks of near-copies keep them half a step from the
    edge.
    """
    with np.errstate(all="ignore"):  # quantiles of a t copula with a tiny df overflow: the bias is then NaN
        weight, u, uc, v, vc, correlation, curvature = _rank_moments(copula)
        m = min(max(n_eff, 1.0), float(n))
        start, size = 0.5 * (1.0 + m / n), m * (1.0 + 1.0 / n)
        spread_u, spread_v = np.sqrt((m - 1.0) * u * uc), np.sqrt((m - 1.0) * v * vc)
        ends = [
            copula._coordinates(
                (start + (m - 1.0) * u + s * spread_u) / size,
                (start + (m - 1.0) * uc - s * spread_u) / size,
                (start + (m - 1.0) * v + s * spread_v) / size,
                (start + (m - 1.0) * vc - s * spread_v) / size,
            )
            for s in (1.0, -1.0)
        ]
        total = np.zeros_like(u)
        for s, (a, _) in zip((1.0, -1.0), ends, strict=True):
            for t, (_, b) in zip((1.0, -1.0), ends, strict=True):
                total += 0.25 * (1.0 + s * t * correlation) * copula._theta_derivatives(copula.theta, a, b)[0]
        return float(np.sum(weight * total) / -curvature)


@lru_cache(maxsize=32)  # 5 MB; tables need the same copulas for several numbers of draws
def _rank_moments(copula: Copula) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]:
    """The part of `rank_bias` that depends on the copula: nodes (weight, u, 1-u, v, 1-v), rank correlation, mean curvature."""
    theta, images = copula.theta, copula._mirror_images
    x, y, weight = (part[:, ::images] for part in copula._nodes(theta, _BIAS_LEVEL))
    u, uc, v, vc = copula._unit(x, y)
    covariance, scale = copula._rough_cdf(theta, x, y, u, uc, v, vc) - u * v, np.sqrt(u * uc * v * vc)
    # a node in a corner that underflows has scale 0 and no weight; next to the diagonal rounding may exceed 1 by a unit
    correlation = np.clip(np.divide(covariance, scale, out=np.zeros_like(u), where=scale > 0), -1.0, 1.0)
    _, curvature = copula._theta_derivatives(theta, x, y)
    return weight, u, uc, v, vc, correlation, float(np.sum(weight * curvature))
