"""Standard error and bias of shape from leaving out blocks of consecutive draws, for chains whose margins mix slowly.

Influence values are of first order. If the margins are known from few independent stretches, as in series with clustered
volatility or on slow chains, the second-order effect of their ranks is not small, and no window of autocovariances shows it,
because the influence values themselves are hardly autocorrelated. The block jackknife (Kunsch, 1989) captures both its standard
error and its bias.

Kunsch, H. R. (1989). The jackknife and the bootstrap for general stationary observations. Annals of Statistics 17, 1217-1241.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from copula_discrepancy.estimate.left_out import is_slow, parts_without_blocks
from copula_discrepancy.estimate.likelihood import maximise
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.uncertainty import StandardError
from copula_discrepancy.families import Copula


class LeftOut(NamedTuple):
    """Results of the block jackknife: errors of the fitted tau and of shape, bias of shape, degrees of freedom."""

    tau_fitted_se: float
    shape_se: float
    bias: float
    df: float

    @classmethod
    def known(cls, numbers: Iterable[float]) -> "LeftOut | None":
        """An instance from its numbers; None if these are NaN."""
        left_out = cls(*map(float, numbers))
        return None if math.isnan(left_out.df) else left_out

    def widened(self, spread: StandardError, se: float) -> StandardError:
        """The standard error from influence values or, if larger, from the blocks, each with its own degrees of freedom."""
        return spread if spread.se >= se else StandardError(se, min(spread.df, self.df), spread.n_eff)


def leave_out_blocks(pair: RankedPair, template: Copula, theta: float, tau_fitted: float) -> LeftOut | None:
    """Refit a family without each block; None if margins are not slow, or if a fit without a block is not regular."""
    if not is_slow(pair):
        return None
    refits = []
    for part in parts_without_blocks(pair):
        if not (part.first.varies and part.second.varies):
            return None
        maximum = maximise(part, template, theta)
        if maximum.on_bound is not None or not maximum.converged or abs(part.tau) == 1.0:
            return None
        refits.append((template._tau(maximum.theta), part.tau))
    fitted, taus = np.array(refits).T
    shapes, g = fitted - taus, len(refits)
    fitted_se, shape_se = (math.sqrt((g - 1.0) / g * float(np.sum((x - np.mean(x)) ** 2))) for x in (fitted, shapes))
    bias = (g - 1.0) * (float(np.mean(shapes)) - (tau_fitted - pair.tau))
    return LeftOut(fitted_se, shape_se, bias, g - 1.0)
