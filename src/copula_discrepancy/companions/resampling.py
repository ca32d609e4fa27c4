"""Random multipliers for the wild bootstrap: correlated along a chain, and aware of margins that are known by ranks only."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.inference import long_run_variance, nearly_constant
from copula_discrepancy.ranks import RankedColumn

# A dependence that dies out within one correlation time needs multipliers which last a few times as long, or part of it is cut.
_LENGTHS = 4.0


def slowest_time(features: NDArray[np.float64], n_chains: int) -> float:
    """The longest correlation time of several features (feature, draw), in draws per effective draw, at least 1."""
    times = [1.0]
    for feature in features:
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


@dataclass(frozen=True, eq=False)
class Margin:
    """One variable's ranks and du/dx of its scale, for what its estimation adds to a statistic."""

    column: RankedColumn
    slope: NDArray[np.float64]

    def carried(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """What weights (draw, count) on draws put on the derivatives at the draws, along this variable's scale.

        The mean of a function J of ranks varies as the mean of J_i plus, for each margin, the mean over k of
        (1{u_i <= u_k} - u_k) dJ_k/du (Genest, Ghoudi and Rivest, 1995); half counts for a tie.
        """
        n = weights.shape[0]
        below = np.concatenate([np.zeros((1, weights.shape[1])), np.cumsum(weights[self.column.order], axis=0)])
        # mid-ranks: draws before the first of a tie, and half of those up to its last
        middle = self.column.doubled_mid_ranks
        first = self.column.rank.astype(np.int64)
        last = (middle - 1 - first).astype(np.int64)
        shared = 0.5 * (below[first] + below[last])
        u = (middle / (2.0 * (n + 1.0)))[:, None]
        return (shared - u * below[-1]) / (n * self.slope[:, None])
