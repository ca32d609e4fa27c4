"""A block of variable pairs of one sample: Kendall's taus, R-hat, influence values, standard errors, corners and form.

All statistics, for one pair or for thousands, are computed here: `Fit`, `discrepancy`, `pairwise` and `vine` read their numbers
from a `Block`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate.form import (
    TIMES_PER_BATCH,
    CellSpread,
    FormSide,
    basis_table,
    batches_per_chain,
    left_out_coefficients,
    usable_cells,
)
from copula_discrepancy.estimate.influence import Score
from copula_discrepancy.estimate.left_out import is_slow
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import BINS, TAIL_SHARE, edge_width
from copula_discrepancy.estimate.strength import TauSide
from copula_discrepancy.estimate.tails import CORNERS, HIGHS, Corner, CornerCount, Shares, Yardstick, is_tail
from copula_discrepancy.estimate.uncertainty import StandardError

_TAU, _FITTED, _SHAPE, _FIRST_CORNER = range(4)  # rows of influence values


class Block:
    """Pairs of one sample: their taus on creation, standard errors once their fits are known (`score`, `expect`, `finish`).

    Parameters
    ----------
    table : RankedTable
        The sample.
    pairs : sequence of (int, int)
        The pairs, by the numbers of their variables.
    compare : bool
        Whether to compute R-hat.
    iid : bool
        Whether draws are independent.
    tail : float
        The fraction of a variable that counts as its tail.
    order : int
        The order of the polynomials of form; 0 to omit form.
    """

    def __init__(
        self,
        table: RankedTable,
        pairs: Sequence[tuple[int, int]],
        *,
        compare: bool,
        iid: bool,
        tail: float = TAIL_SHARE,
        order: int = 0,
    ) -> None:
        self.table, self.iid, self.tail, self.order = table, iid, tail, order
        self._n_chains = None if iid else table.n_chains
        self._pairs: dict[int, RankedPair] = {}
        self.first, self.second = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
        m, n = len(pairs), table.n
        self.influence, concordance = np.empty((m, n)), np.empty((m if compare else 0, n))
        t, places = table, (self.first, self.second)
        taus = kernels.start_pairs(t.orders, t.ranks, t.ties, *places, self.influence, concordance)
        self.rhats = self._rhats(taus, concordance) if compare else np.full(m, math.nan)
        self.taus: list[float] = taus.tolist()
        corners = m, len(CORNERS)
        self._scored, self._wanted = np.zeros(m, bool), np.zeros(corners, bool)
        self._score, self._in_u, self._in_v = np.empty((m, n)), np.empty((m, n)), np.empty((m, n))
        self._curvature, self._slope = np.full(m, -1.0), np.ones(m)
        self._shares, self._expected = np.empty((*corners, 2)), np.empty(corners)
        self._expected_slope = np.empty(corners)
        self._form_slope = np.zeros((m, order * order))

    @classmethod
    def of_pair(cls, pair: RankedPair, *, iid: bool) -> "Block":
        """A block of one pair."""
        return cls(RankedTable.of_columns([pair.x, pair.y], pair.n_chains), [(0, 1)], compare=False, iid=iid)

    @lazy
    def by_chain(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The taus of each chain, (pair, chain), and influence values on them, (pair, chain, draw); NaN if nothing varies.

        Chains use the same kernel as all draws together, so that it is compiled only once.
        """
        t, chains = self.table, range(self.table.n_chains)
        shape = len(self.first), *t.chain_ranks.shape[1:]
        places = [np.add.outer(t.n_chains * variables, chains).ravel() for variables in (self.first, self.second)]
        orders, ranks = (table.reshape(-1, shape[2]) for table in (t.chain_orders, t.chain_ranks))
        influence, nothing = np.empty(shape), np.empty((0, shape[2]))
        rows = influence.reshape(-1, shape[2])
        taus = kernels.start_pairs(orders, ranks, t.chain_ties.ravel(), *places, rows, nothing)
        return taus.reshape(shape[:2]), influence

    def _rhats(self, taus: NDArray[np.float64], concordance: NDArray[np.float64]) -> NDArray[np.float64]:
        """R-hat for dependence of each pair."""
        t = self.table
        own, influence = self.by_chain if t.n_chains > 1 else (np.empty((0, 1)), np.empty((0, *t.chain_ranks.shape[1:])))
        ties = t.chain_ties[self.first], t.chain_ties[self.second]
        rhats: NDArray[np.float64] = kernels.dependence_rhats(taus, concordance, own, influence, *ties)
        return rhats

    def pair(self, k: int) -> RankedPair:
        """The ranked pair that a fit starts from."""
        if k not in self._pairs:
            self._pairs[k] = self.table.pair(int(self.first[k]), int(self.second[k]), self.taus[k], iid=self.iid)
        return self._pairs[k]

    def squares(self, k: int) -> NDArray[np.float64]:
        """Draws in each of `BINS` x `BINS` squares of equal shares of both variables, flattened."""
        first, second = self.table.bins[self.first[k]], self.table.bins[self.second[k]]
        return np.bincount(first.astype(np.int64) * BINS + second, minlength=BINS * BINS).astype(np.float64)

    def score_pair(self, pair: RankedPair) -> RankedPair:
        """The pair whose scores standard errors are computed from: the draws themselves."""
        return pair

    def score(self, k: int, score: Score, tau_slope: float, tau_error: float = 0.0) -> None:
        """Add a regular likelihood fit: its scores, and the derivative of its tau with respect to theta.

        `tau_error` is for draws that were counted in a grid; ranks have none.
        """
        self._scored[k], self._slope[k] = True, tau_slope
        self._score[k], self._in_u[k], self._in_v[k], self._curvature[k] = score

    def expect(self, k: int, yardstick: Yardstick | None, share: Shares) -> None:
        """Add the expected shares in the corners; `share` computes those of a family."""
        if yardstick is None:
            return
        n, tau = self.table.n, self.taus[k]
        for end, corner in enumerate(CORNERS.values()):
            u, v = self._tail_shares(k, corner)
            if is_tail(u, self.tail) and is_tail(v, self.tail):
                self._wanted[k, end], self._shares[k, end] = True, (u, v)
                self._expected[k, end], self._expected_slope[k, end] = yardstick.expects(tau, corner, u, v, n, share)

    def _tail_shares(self, k: int, corner: Corner) -> tuple[float, float]:
        """The shares of both variables inside their tails; without ties all variables have the same share."""
        i, j, t = self.first[k], self.second[k], self.table
        if t.ties[i] or t.ties[j]:
            ends = (t.columns[i], corner.u_high), (t.columns[j], corner.v_high)
            u, v = (column.tail_share(high, self.tail) for column, high in ends)
            return u, v
        share = math.floor(self.tail * 2 * (t.n + 1) / 2.0) / t.n  # rounded as in the kernel, which compares doubled ranks
        return share, share

    def expect_form(self, k: int, slopes: NDArray[np.float64]) -> None:
        """Add the derivatives, in tau, of the coefficients of a fit that those of the draws are compared with."""
        if self._scored[k]:
            self._form_slope[k] = slopes

    def finish(self, *, keep: bool = False) -> "Block":
        """Compute all standard errors; `keep` the influence values they are based on."""
        t = self.table
        self._kept = np.empty((len(self.first) if keep else min(1, len(self.first)), _FIRST_CORNER + len(CORNERS), t.n))
        spreads, joint = kernels.finish_pairs(
            t.orders, t.ranks, t.ties, self.first, self.second, self.influence, self._scored, self._score, self._in_u,
            self._in_v, self._curvature, self._slope, HIGHS, self._wanted, self._expected_slope, self._n_chains, self.tail,
            edge_width(t.n, self.tail), self._kept,
        )  # fmt: skip
        self._joint: list[list[float]] = joint.tolist()
        self._spreads = [[StandardError(*row) for row in rows] for rows in spreads.tolist()]
        if self.order:
            self.finish_form(keep=keep)
        return self

    def finish_form(self, *, keep: bool = False) -> None:
        """The coefficients of form, with the errors that a block jackknife widens where the margins mix slowly."""
        t, cells = self.table, self.order**2
        n_chains = 1 if self.iid else t.n_chains
        n_batches = batches_per_chain(t.n, n_chains)
        mixes, doubled = self._mixes(n_batches), bool(t.ties.any())
        self.form_influence = np.empty((len(self.first) if keep or not (self.iid or mixes.all()) else 0, t.n, cells))
        # the influence values of the fitted tau are in the place of its scores by now
        fitted = self._score if self._form_slope.any() else self._score[:0]
        means, squares, fourths, noise, long_run, correlations, halves = kernels.form_pairs(
            tuple(range(1, self.order + 1)), t.orders, t.ranks, t.ties, self.first, self.second,
            basis_table(t.n, self.order, doubled), doubled, fitted, self._form_slope, n_chains, n_batches, self.form_influence,
        )  # fmt: skip
        n_all = n_chains * n_batches
        spread = CellSpread.of_batches(squares, fourths, long_run, t.n, n_all, iid=self.iid)
        for k in np.flatnonzero(~mixes).tolist() if not self.iid else ():
            spread.use_chains(k, self.form_influence[k], n_chains)
        used = usable_cells(t.distinct, self.first, self.second, t.n, self.order)
        se, df, n_eff = spread.without(noise, t.n)
        self.form = FormSide(self.order, means, se, df, n_eff, correlations, halves, used, t.n, n_all)
        if not self.iid:
            self._leave_out_blocks()

    def _mixes(self, n_batches: int) -> NDArray[np.bool_]:
        """Whether a batch is many times as long as the autocorrelation of both variables."""
        if self.iid:
            return np.zeros(len(self.first), bool)
        sizes = np.array(self.table.margin_sizes)
        n_draws = self.table.n // self.table.n_chains
        if self.table.n_chains >= kernels.MANY_CHAINS and n_draws < kernels.LONG_CHAIN:  # halves of chains are no batches
            return np.zeros(len(self.first), bool)
        times = self.table.n / np.minimum(sizes[self.first], sizes[self.second])
        return n_draws // n_batches >= TIMES_PER_BATCH * times

    def _leave_out_blocks(self) -> None:
        """Widen the errors of form by the block jackknife where the margins mix slowly."""
        for k in range(len(self.first)):
            pair = self.pair(k)
            if is_slow(pair):
                self.form.widen(k, left_out_coefficients(pair, self.order))

    def spreads(self, k: int) -> dict[str, StandardError]:
        """Standard errors of "tau", "tau_fitted" and "shape" from their influence values; NaN if no fit was added."""
        tau, fitted, shape = self._spreads[k][:_FIRST_CORNER]
        return {"tau": tau, "tau_fitted": fitted, "shape": shape}

    def influences(self, k: int) -> Mapping[str, NDArray[np.float64]]:
        """Influence values, (chain, draw), on "tau" and, if available, on "tau_fitted" and the corners; see `finish`."""
        found = {"tau": self.influence[k]}
        if self._scored[k]:
            found["tau_fitted"] = self._kept[k, _FITTED]
        found |= {name: self._kept[k, _FIRST_CORNER + end] for end, name in enumerate(CORNERS) if self._wanted[k, end]}
        return {name: values.reshape(self.table.n_chains, -1) for name, values in found.items()}

    def tau_side(self, k: int) -> TauSide:
        """The input of the test of level."""
        i, j, t = int(self.first[k]), int(self.second[k]), self.table

        def rank_size() -> float:
            return float(kernels.spread(t.ranks[i].astype(np.float64), self._n_chains)[2])

        modes = int(t.modes[i]), int(t.modes[j])

        def moments() -> tuple[float, float]:
            squares = self.influence[k] ** 2
            return float(np.sum(squares)), float(np.sum(squares**2))

        return TauSide.of(self.taus[k], self._spreads[k][_TAU], t.n, modes, moments, rank_size)

    def corners(self, k: int) -> dict[str, CornerCount]:
        """The corners that can be evaluated."""
        counts = {}
        for end, name in enumerate(CORNERS):
            if self._wanted[k, end]:
                u, v = self._shares[k, end].tolist()
                joint, expected, spread = self._joint[k][end], float(self._expected[k, end]), self._spreads[k][3 + end]
                counts[name] = CornerCount(self.table.n, u, v, joint, expected, spread)
        return counts
