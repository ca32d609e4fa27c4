"""Blocks of consecutive draws, resampled: the uncertainty of any function of a sample."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.basis import centred_ranks, polynomials
from copula_discrepancy.estimate.batches import TIMES, rank_time
from copula_discrepancy.estimate.ranks import rank_column

_FEWEST = 12  # blocks, even if each is shorter than it should be: resamples of fewer are hardly different from each other


def additive_part(values: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """What of values (draw,) is a sum of functions of one variable each (variable, draw): polynomials of their ranks.

    Through it the margins of a sample enter a function's mean, with the autocorrelation of those variables that matter to it.
    """
    design = np.concatenate([polynomials(centred_ranks(rank_column(column))) for column in columns])
    centred = values - values.mean()
    weights = np.linalg.lstsq(design @ design.T, design @ centred, rcond=None)[0]
    found: NDArray[np.float64] = weights @ design
    return found


def longest_time(columns: NDArray[np.float64], n_chains: int) -> float:
    """The longest autocorrelation time of several series (series, draw): of their ranks, or of the ranks' squares."""
    return max(rank_time(rank_column(column).doubled_mid_ranks, n_chains) for column in columns)


@dataclass(frozen=True)
class BlockResampling:
    """How the rows of a sample are resampled: blocks of consecutive draws, from all chains with equal probability.

    Blocks are circular (Politis and Romano, 1992): one that reaches the end of its chain goes on at its start, so that all
    draws are equally likely. Chains that disagree make resamples differ, which widens intervals.

    Attributes
    ----------
    n_chains, n_draws : int
        Chains, and draws of each.
    time : float
        The autocorrelation time that the blocks are made for.
    block : int
        Draws of a block; 1 if draws are independent.
    """

    n_chains: int
    n_draws: int
    time: float
    block: int

    @classmethod
    def of(cls, columns: NDArray[np.float64], n_chains: int, *, iid: bool) -> "BlockResampling":
        """Blocks for several series (series, draw); single draws if these are independent."""
        n = columns.shape[1]
        if iid:
            return cls(1, n, 1.0, 1)
        time, n_draws = longest_time(columns, n_chains), n // n_chains
        return cls(n_chains, n_draws, time, max(min(round(TIMES * time), n // _FEWEST, n_draws // 2), 1))

    @property
    def n(self) -> int:
        """Number of draws."""
        return self.n_chains * self.n_draws

    @property
    def n_eff(self) -> float:
        """Effective draws of the variable that mixes most slowly."""
        return self.n / self.time

    @property
    def df(self) -> float:
        """Degrees of freedom of a variance from as many blocks of the length they should have as the sample has."""
        return max(self.n / max(self.block, round(TIMES * self.time) if self.block > 1 else 1) - 1.0, 1.0)

    @property
    def inflation(self) -> float:
        """The factor by which the variance between resamples is too small.

        K independent blocks of length b vary about their own mean, which takes 1/K of the variance, and lose the covariances
        between blocks. An AR(1) process with coefficient rho, whose autocorrelation time is t = (1 + rho)/(1 - rho), keeps the
        share (1 + 2 sum_{k < b} (1 - k/b) rho^k) / t: about 1 - t/(2b) if b is several times t, and b/t if it is far less.
        """
        rho, b = (self.time - 1.0) / (self.time + 1.0), self.block
        within = rho / (1.0 - rho) - rho * (1.0 - rho**b) / (b * (1.0 - rho) ** 2)
        return (1.0 + 1.0 / self.df) * self.time / (1.0 + 2.0 * within)

    def rows(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """The rows of one resample, (n,), with repetitions."""
        if self.block == 1:
            return rng.integers(self.n, size=self.n)
        count = -(-self.n // self.block)
        chain = rng.integers(self.n_chains, size=(count, 1))
        place = (rng.integers(self.n_draws, size=(count, 1)) + np.arange(self.block)) % self.n_draws
        return (chain * self.n_draws + place).reshape(-1)[: self.n]
