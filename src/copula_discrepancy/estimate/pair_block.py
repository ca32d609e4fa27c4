"""The interface that comparisons know pairs of variables by, whatever they are made of and wherever they are computed.

There are three implementations: `block.Block` of ranked draws, `device_block.DeviceBlock` of ranked draws on a device, and
`counted_block.CountedBlock` of rows that were counted.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.form import FormSide
from copula_discrepancy.estimate.influence import Score
from copula_discrepancy.estimate.likelihood import Maxima
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.strength import TauSide
from copula_discrepancy.estimate.tails import CornerCount
from copula_discrepancy.families import Copula

Array = NDArray[np.float64]
Places = NDArray[np.intp]


class PairBlock(Protocol):
    """Pairs of one sample: taus on creation, standard errors once their fits are known."""

    table: Any
    rhats: Array
    iid: bool
    form: FormSide

    @property
    def taus(self) -> Array:
        """Kendall's tau-b of every pair."""

    @property
    def uniform(self) -> bool:
        """Whether values have known uniform margins, so that likelihoods do not use ranks."""

    @property
    def n(self) -> Array:
        """The number of draws of every pair."""

    @property
    def tied_share(self) -> Array:
        """The share of pairs of draws that are tied, in the variable of each pair with more ties."""

    @property
    def largest_group(self) -> NDArray[np.int64]:
        """The number of draws that share one value, in the variable of each pair with more of them."""

    @property
    def tie_weights(self) -> Array:
        """How much ties that are not of repeated points matter to each pair; see `ties`."""

    def tie_maps(self, chosen: Places, order: int) -> tuple[Array, Array]:
        """What ties make of polynomials of either variable of some pairs, (pair, degree, degree); see `ties.tie_map`."""

    @property
    def tail_shares(self) -> Array:
        """The shares of both variables inside their tails, (pair, corner, 2)."""

    @property
    def spreads(self) -> dict[str, StandardError]:
        """Standard errors of "tau", "tau_fitted" and "shape"; NaN if no fit was added."""

    def pair(self, k: int) -> Any:
        """One of the pairs, ready for a fit of its own."""

    def score_pair(self, k: int) -> Any:
        """The pair whose scores standard errors are computed from."""

    def discrete_shares(self, chosen: Places) -> Array:
        """The shares of pairs of draws that are tied in one variable without being the same point, of some pairs."""

    def squares(self, chosen: Places) -> Array:
        """Draws of some pairs in squares of equal shares of both variables, (pair, square)."""

    def maxima(self, chosen: Places, template: Copula, starts: Array | None = None) -> Maxima:
        """The maxima of a family's likelihood for some of the pairs."""

    def add_scores(self, chosen: Places, template: Copula, thetas: Array, tau_slopes: Array, tau_errors: Array) -> None:
        """Add regular likelihood fits of a family: their scores, and the derivatives of tau with respect to theta."""

    def add_score(self, k: int, score: Score, tau_slope: float, tau_error: float = 0.0) -> None:
        """Add a fit whose scores are known."""

    def has_corners(self) -> NDArray[np.bool_]:
        """Whether both variables of a pair have a tail of about the requested size, (pair, corner)."""

    def expect(self, wanted: NDArray[np.bool_], expected: Array, slopes: Array) -> None:
        """Add the expected shares in the corners, and their derivatives in tau: (pair, corner)."""

    def expect_form(self, chosen: Places, slopes: Array) -> None:
        """Add the derivatives, in tau, of the coefficients of fits that those of the draws are compared with."""

    def finish(self, *, keep: bool = False) -> Any:
        """Compute all standard errors; `keep` the influence values they are based on, if there are any."""

    def tau_side(self) -> TauSide:
        """The input of the test of level."""

    def corners(self) -> dict[str, CornerCount]:
        """The corners; NaN for pairs in which one cannot be evaluated."""
