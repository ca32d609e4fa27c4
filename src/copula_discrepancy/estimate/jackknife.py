"""Standard error and bias of shape from leaving out blocks of consecutive draws, for chains whose margins mix slowly.

Influence values are of first order. If the margins are known from few independent stretches, as in series with clustered
volatility or on slow chains, the second-order effect of their ranks is not small, and no window of autocovariances shows it,
because the influence values themselves are hardly autocorrelated. The block jackknife (Kunsch, 1989) captures both its standard
error and its bias.

Kunsch, H. R. (1989). The jackknife and the bootstrap for general stationary observations. Annals of Statistics 17, 1217-1241.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy._core.rowwise import Rowwise, plain
from copula_discrepancy.estimate.left_out import with_equal_blocks
from copula_discrepancy.estimate.likelihood import INSIDE
from copula_discrepancy.estimate.ranked_pairs import Places, RankedPairs
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.families import Copula


@dataclass(frozen=True)
class LeftOut(Rowwise):
    """Results of the block jackknife: errors of the fitted tau and of shape, bias of shape, degrees of freedom.

    Numbers, or arrays with one entry per pair; NaN if there is no such result.
    """

    tau_fitted_se: Any
    shape_se: Any
    bias: Any
    df: Any

    @classmethod
    def known(cls, numbers: Iterable[float]) -> "LeftOut | None":
        """An instance from its numbers; None if these are NaN."""
        left_out = cls(*map(float, numbers))
        return None if math.isnan(left_out.df) else left_out

    @classmethod
    def none(cls, count: int) -> "LeftOut":
        """No results for so many pairs."""
        return cls(*(np.full(count, math.nan) for _ in range(4)))

    @property
    def numbers(self) -> tuple[Any, Any, Any, Any]:
        """All of them."""
        return self.tau_fitted_se, self.shape_se, self.bias, self.df

    def widened(self, spread: StandardError, se: Any) -> StandardError:
        """The standard error from influence values or, if larger, from the blocks, each with its own degrees of freedom."""
        wider = StandardError(se, plain(np.minimum(spread.df, self.df)), spread.n_eff)
        return StandardError.where(np.isnan(self.df) | ~np.less(spread.se, se), spread, wider)

    def averaged(self, bias: Any) -> Any:
        """The rank bias of the fitted tau, averaged with that of the block jackknife where the margins mix slowly.

        The jackknife uses the draws, the rank bias only the family: the first estimate is noisy, the second too small if the
        family is wrong. Their mean keeps the size of the test of shape better than either.
        """
        return plain(np.where(np.isnan(self.df), bias, 0.5 * (bias + self.bias)))


def leave_out_blocks(
    pairs: RankedPairs,
    chosen: Places,
    template: Copula,
    thetas: FloatArray,
    tau_fitted: FloatArray,
    sizes: FloatArray,
    n_chains: int,
) -> LeftOut:
    """Refit a family to some pairs without each block; NaN if a fit without a block is not regular.

    Parameters
    ----------
    pairs : RankedPairs
        The pairs.
    chosen : array
        Those whose margins mix slowly, and whose fits are regular.
    template : Copula
        The family.
    thetas, tau_fitted : array
        Theta of each of them, and the tau it implies.
    sizes : array (pair,)
        The effective sample sizes of the margins of all pairs.
    n_chains : int
        The number of chains.
    """
    found = LeftOut.none(len(chosen))
    place = {k: at for at, k in enumerate(chosen.tolist())}
    for members, blocks in with_equal_blocks(sizes, chosen, pairs.table.n, n_chains):
        at = np.array([place[k] for k in members.tolist()], np.intp)
        g, usable = len(blocks), np.ones(members.size, bool)
        fitted, taus = np.full((2, g, members.size), math.nan)
        for b, block in enumerate(blocks):
            part = pairs.without_block(members, block)
            taus[b] = np.where(part.varies, part.taus, math.nan)
            usable &= np.abs(taus[b]) < 1.0
            some = np.flatnonzero(usable)
            maxima = part.maxima(some, template, thetas[at[some]])
            regular = (maxima.bounds == INSIDE) & maxima.converged
            usable[some] &= regular
            fitted[b, some[regular]] = template._taus(maxima.theta[regular])
        shapes = fitted - taus
        spreads = [np.sqrt((g - 1.0) / g * np.sum((x - np.mean(x, axis=0)) ** 2, axis=0)) for x in (fitted, shapes)]
        bias = (g - 1.0) * (np.mean(shapes, axis=0) - (tau_fitted[at] - pairs.taus[members]))
        for column, values in zip(found.numbers, (*spreads, bias, np.full(members.size, g - 1.0)), strict=True):
            column[at[usable]] = values[usable]
    return found
