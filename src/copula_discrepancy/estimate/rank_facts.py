"""What a block of pairs knows from the ranks of its variables and from its errors, wherever its influence values are."""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.form import TIMES_PER_BATCH, FormSide
from copula_discrepancy.estimate.left_out import is_slow, with_equal_blocks
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranked_pairs import Places
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.strength import TauSide
from copula_discrepancy.estimate.tails import CORNERS, HIGHS, CornerCount, is_tail

TAU, FITTED, SHAPE, FIRST_CORNER = range(4)  # of what there are errors


class RankFacts(ABC):
    """What `Block` and `DeviceBlock` share; they add what depends on where influence values are.

    Attributes
    ----------
    first, second : array (pair,)
        The variables of each pair.
    taus : array (pair,)
        Kendall's tau-b of every pair.
    iid : bool
        Whether draws are independent.
    chains : int or None
        The number of chains; None for independent draws.
    tail, order
        The fraction of a variable that counts as its tail, and the order of the polynomials of form.
    scored : array (pair,)
        Which pairs have a fit whose scores are known.
    wanted, expected, expected_slope, joint_shares : array (pair, corner)
        Which corners are evaluated, the expected shares of draws there, their derivatives in tau, and the observed shares.
    form_slope : array (pair, cell)
        Derivatives, in tau, of the coefficients of form that those of the draws are compared with.
    errors : list of StandardError
        Of tau, of the fitted tau, of their difference, and of every corner.
    form : FormSide
        The coefficients of form.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    iid: bool
    chains: int | None
    tail: float
    order: int
    scored: NDArray[np.bool_]
    wanted: NDArray[np.bool_]
    expected: FloatArray
    expected_slope: FloatArray
    joint_shares: FloatArray
    form_slope: FloatArray
    errors: list[StandardError]
    form: FormSide

    taus: Any

    @property
    @abstractmethod
    def host(self) -> RankedTable:
        """The sample in the processor's memory."""

    @abstractmethod
    def pair(self, k: int) -> RankedPair:
        """One of the pairs, ready for a fit of its own."""

    @abstractmethod
    def influence_moments(self, chosen: Places) -> tuple[FloatArray, FloatArray]:
        """Sums of squares and of fourth powers of the influence values on tau, of some pairs."""

    @abstractmethod
    def without_block(self, chosen: Places, block: tuple[int, int]) -> Any:
        """Some of the pairs, ranked without a block of draws."""

    # ---- the sample --------------------------------------------------------------------------------------------------

    @property
    def n(self) -> FloatArray:
        """The number of draws of every pair."""
        return np.full(self.first.size, float(self.host.n))

    @property
    def tied_share(self) -> FloatArray:
        """The share of pairs of draws that are tied, in the variable of each pair with more ties."""
        tied, n = self.host.ties, self.host.n
        return np.asarray(np.maximum(tied[self.first], tied[self.second]) / (0.5 * n * (n - 1.0)))

    @property
    def largest_group(self) -> NDArray[np.int64]:
        """The number of draws that share one value, in the variable of each pair with more of them."""
        return np.maximum(self.host.modes[self.first], self.host.modes[self.second])

    @lazy
    def tie_weights(self) -> FloatArray:
        """How much ties that are not of repeated points matter to each pair; see `ties`."""
        places = self.first, self.second
        largest = np.stack([np.where(self.host.ties[k] > 0, self.host.modes[k], 0) / self.host.n for k in places])
        found = np.zeros(self.first.size)
        for k in np.flatnonzero(largest.sum(axis=0) > ties.NEGLIGIBLE).tolist():
            tied = np.array([self.host.ties[at[k]] for at in places], np.float64)
            # of a chain that repeats points nothing else is tied, so that pairs need not be looked at one by one
            both = self.host.tied_rows if tied.min() == self.host.tied_rows else self.pair(k).tied_in_both()
            found[k] = ties.weights(largest[:, k], tied, tied - both).sum()
        return found

    def tie_maps(self, chosen: Places, order: int) -> tuple[FloatArray, FloatArray]:
        """What ties make of polynomials of either variable of some pairs, (pair, degree, degree); see `ties.tie_map`."""
        variables, places = np.unique([self.first[chosen], self.second[chosen]], return_inverse=True)
        maps = []
        for k in variables.tolist():
            sizes = np.bincount(self.host.ranks[k], minlength=self.host.n)  # of the groups, by their lowest ranks
            starts = np.flatnonzero(sizes > 1)
            maps.append(ties.tie_map(starts / self.host.n, (starts + sizes[starts]) / self.host.n, order))
        first, second = np.array(maps)[places.reshape(2, -1)]
        return first, second

    @lazy
    def margin_sizes(self) -> FloatArray:
        """The smaller effective sample size of the two margins of each pair; infinite for independent draws."""
        if self.iid:
            return np.full(self.first.size, math.inf)
        sizes = np.array(self.host.margin_sizes)
        return np.minimum(sizes[self.first], sizes[self.second])

    @property
    def slow(self) -> Places:
        """The pairs whose margins mix so slowly that second-order terms matter."""
        return np.flatnonzero(is_slow(self.margin_sizes, self.host.n))

    @lazy
    def tail_shares(self) -> FloatArray:
        """The shares of both variables inside their tails, (pair, corner, 2)."""
        variables, places = np.unique([self.first, self.second], return_inverse=True)
        first, second = self.host.tail_shares(self.tail, variables)[places.reshape(2, -1)]
        return np.stack([first[:, HIGHS[:, 0].astype(np.intp)], second[:, HIGHS[:, 1].astype(np.intp)]], axis=2)

    def has_corners(self) -> NDArray[np.bool_]:
        """Whether both variables of a pair have a tail of about the requested size, (pair, corner)."""
        return np.asarray(is_tail(self.tail_shares, self.tail).all(axis=2))

    # ---- what the fits say -------------------------------------------------------------------------------------------

    def expect(self, wanted: NDArray[np.bool_], expected: FloatArray, slopes: FloatArray) -> None:
        """Add the expected shares in the corners, and their derivatives in tau: (pair, corner)."""
        # numba compiles a kernel once for each order in memory, and two compilations need not round alike
        self.wanted = np.ascontiguousarray(wanted)
        self.expected, self.expected_slope = np.ascontiguousarray(expected), np.ascontiguousarray(slopes)

    def expect_form(self, chosen: Places, slopes: FloatArray) -> None:
        """Add the derivatives, in tau, of the coefficients of fits that those of the draws are compared with."""
        regular = self.scored[chosen]
        self.form_slope[chosen[regular]] = slopes[regular]

    # ---- errors ------------------------------------------------------------------------------------------------------

    def mixes(self, n_batches: int) -> NDArray[np.bool_]:
        """Whether a batch is many times as long as the autocorrelation of both variables."""
        n_draws = self.host.n // self.host.n_chains
        # halves of many short chains are no batches
        if self.iid or (self.host.n_chains >= kernels.MANY_CHAINS and n_draws < kernels.LONG_CHAIN):
            return np.zeros(self.first.size, bool)
        return n_draws // n_batches >= TIMES_PER_BATCH * (self.host.n / self.margin_sizes)

    def leave_out_blocks(self) -> None:
        """Widen the errors of form by the block jackknife where the margins mix slowly."""
        for members, blocks in with_equal_blocks(self.margin_sizes, self.slow, self.host.n, self.host.n_chains):
            parts = [self.without_block(members, block).coefficients(self.order) for block in blocks]
            for k, left_out in zip(members.tolist(), np.stack(parts, axis=1), strict=True):
                self.form.widen(k, left_out)

    @property
    def spreads(self) -> dict[str, StandardError]:
        """Standard errors of "tau", "tau_fitted" and "shape" from their influence values; NaN if no fit was added."""
        return dict(zip(("tau", "tau_fitted", "shape"), self.errors, strict=False))

    def tau_side(self) -> TauSide:
        """The input of the test of level."""

        def rank_sizes(chosen: Places) -> FloatArray:
            variables, places = np.unique(self.first[chosen], return_inverse=True)
            sizes = [kernels.spread(self.host.ranks[i].astype(np.float64), self.chains)[2] for i in variables.tolist()]
            return np.array(sizes)[places]

        return TauSide.of(self.taus, self.errors[TAU], self.n, self.largest_group, self.influence_moments, rank_sizes)

    def corners(self) -> dict[str, CornerCount]:
        """The corners; NaN for pairs in which one cannot be evaluated."""
        counts = {}
        for end, name in enumerate(CORNERS):
            u, v = np.where(~self.wanted[:, end], math.nan, self.tail_shares[:, end].T)
            spread = self.errors[FIRST_CORNER + end]
            counts[name] = CornerCount(self.n, u, v, self.joint_shares[:, end], self.expected[:, end], spread)
        return counts
