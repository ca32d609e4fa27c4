"""The standard error of an estimate, or of many at once, from the long-run variance of influence values."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from copula_discrepancy._core import kernels
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.rowwise import Rowwise, plain

FEWEST_DRAWS = 4  # per chain: two halves of two draws, the fewest that allow an estimate of autocorrelation


@dataclass(frozen=True)
class StandardError(Rowwise):
    """The standard error of an estimate, its degrees of freedom and its effective sample size.

    Fields are numbers, or arrays of those of many estimates; everything is elementwise.
    """

    se: Any
    df: Any
    n_eff: Any

    @classmethod
    def of(cls, influence: NDArray[np.float64], *, iid: bool) -> "StandardError":
        """Standard error of an estimate with these influence values, (chain, draw); NaN if they are NaN."""
        if math.isnan(influence.flat[0]):
            return cls(math.nan, math.nan, math.nan)
        if not iid:
            require_chain_length(influence.shape[1])
        _, long_run, n_eff, df = kernels.long_run(np.require(influence, requirements=("C", "W")), iid)
        return cls(math.sqrt(long_run / influence.size), df, n_eff)

    @classmethod
    def unknown(cls, count: int | None = None) -> "StandardError":
        """That of estimates without one; of a single estimate by default."""
        return cls(math.nan, math.nan, math.nan) if count is None else cls(*np.full((3, count), math.nan))

    @classmethod
    def where(cls, condition: Any, first: "StandardError", second: "StandardError") -> "StandardError":
        """The first where a condition holds, the second elsewhere."""
        pairs = zip((first.se, first.df, first.n_eff), (second.se, second.df, second.n_eff), strict=True)
        return cls(*(plain(np.where(condition, a, b)) for a, b in pairs))

    def plus(self, other: "StandardError | None") -> "StandardError":
        """Standard error of the difference of two independent estimates: variances add, degrees of freedom as in Welch (1947).

        The effective sample size is the smaller of the two.
        """
        if other is None:
            return self
        with np.errstate(invalid="ignore", divide="ignore"):
            a, b = np.square(self.se), np.square(other.se)
            total = a + b
            df = total**2 / (a**2 / self.df + b**2 / other.df)
        smaller = np.where(np.less(other.n_eff, self.n_eff), other.n_eff, self.n_eff)
        known, nothing = total > 0, math.nan
        return StandardError(*(plain(np.where(known, value, nothing)) for value in (np.sqrt(total), df, smaller)))

    def times(self, factor: Any) -> "StandardError":
        """Standard error of an estimate multiplied by a factor."""
        return StandardError(abs(factor) * self.se, self.df, self.n_eff)

    def reach(self, confidence: float) -> float:
        """Half the width of a confidence interval."""
        return float(stdtrit(self.df, 0.5 + 0.5 * confidence)) * self.se

    def pvalue(self, distance: Any) -> Any:
        """Two-sided p-value of an estimate that lies `distance` from its null value."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(np.greater(self.se, 0), -np.abs(distance) / self.se, math.nan)
        return plain(2.0 * stdtr(self.df, ratio))


def require_chain_length(n_draws: int) -> None:
    """Raise if chains are too short to estimate an autocorrelation."""
    if n_draws < FEWEST_DRAWS:
        raise InputError(
            f"standard errors of chains need at least {FEWEST_DRAWS} draws per chain, got {n_draws}; arrays must be (chain, "
            "draw, variable); for independent draws use iid=True",
            "too-few-draws",
        )
