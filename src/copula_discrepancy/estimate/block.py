"""A block of variable pairs of one sample: Kendall's taus, R-hat, influence values, standard errors, corners and form.

All statistics, for one pair or for thousands, are computed here: `Fit`, `discrepancy`, `pairwise` and `vine` read their numbers
from a `Block`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate.basis import basis_table
from copula_discrepancy.estimate.form import (
    CellSpread,
    FormSide,
    batches_per_chain,
    usable_cells,
)
from copula_discrepancy.estimate.influence import Score
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.rank_facts import FIRST_CORNER, FITTED, RankFacts
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranked_pairs import Places, RankedPairs
from copula_discrepancy.estimate.ranks import TAIL_SHARE, edge_width
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.tails import CORNERS, HIGHS
from copula_discrepancy.families import Copula
from copula_discrepancy.families.formulas import ScoreRows


class Block(RankedPairs, RankFacts):
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

    table: RankedTable

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
        first, second = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
        super().__init__(table, first, second, iid=iid)
        self.tail, self.order = tail, order
        self.chains = None if iid else table.n_chains
        m, n = len(pairs), table.n
        self.influence, concordance = np.empty((m, n)), np.empty((m if compare else 0, n))
        self.taus = kernels.start_pairs(table.orders, table.ranks, table.ties, first, second, self.influence, concordance)
        self.rhats = self._rhats(concordance) if compare else np.full(m, math.nan)
        corners = m, len(CORNERS)
        self.scored, self.wanted = np.zeros(m, bool), np.zeros(corners, bool)
        # that of pairs without a fit is taken off form 0 times
        self._scores = ScoreRows(np.zeros((m, n)), np.empty((m, n)), np.empty((m, n)), np.full(m, -1.0))
        self._slope, self.expected, self.expected_slope = np.ones(m), np.full(corners, math.nan), np.empty(corners)
        self.form_slope = np.zeros((m, order * order))

    @property
    def host(self) -> RankedTable:
        """The sample in the processor's memory."""
        return self.table

    @classmethod
    def of_one(cls, pair: RankedPair, *, iid: bool) -> "Block":
        """A block of one pair."""
        table = RankedTable.of_columns([pair.x, pair.y], pair.n_chains)
        table = replace(table, uniform=np.stack([pair.x, pair.y])) if pair.uniform else table
        return cls(table, [(0, 1)], compare=False, iid=iid)

    @lazy
    def by_chain(self) -> tuple[FloatArray, FloatArray]:
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

    def _rhats(self, concordance: FloatArray) -> FloatArray:
        """R-hat for dependence of each pair."""
        t = self.table
        own, influence = self.by_chain if t.n_chains > 1 else (np.empty((0, 1)), np.empty((0, *t.chain_ranks.shape[1:])))
        ties = t.chain_ties[self.first], t.chain_ties[self.second]
        rhats: FloatArray = kernels.dependence_rhats(self.taus, concordance, own, influence, *ties)
        return rhats

    # ---- what the fits say -------------------------------------------------------------------------------------------

    def add_scores(
        self, chosen: Places, template: Copula, thetas: FloatArray, tau_slopes: FloatArray, tau_errors: FloatArray
    ) -> None:
        """Add regular likelihood fits of a family: their scores, and the derivatives of tau with respect to theta.

        `tau_errors` are for draws that were counted in a grid; ranks have none.
        """
        self.scored[chosen], self._slope[chosen] = True, tau_slopes
        self.fill_scores(chosen, template, thetas, self._scores)

    def add_score(self, k: int, score: Score, tau_slope: float, tau_error: float = 0.0) -> None:
        """Add a fit whose scores are known."""
        self.scored[k], self._slope[k] = True, tau_slope
        rows = self._scores
        rows.score[k], rows.in_u[k], rows.in_v[k], rows.curvature[k] = score

    def score_pair(self, k: int) -> RankedPair:
        """The pair whose scores standard errors are computed from: the draws themselves."""
        return self.pair(k)

    # ---- standard errors -------------------------------------------------------------------------------------------

    def finish(self, *, keep: bool = False) -> "Block":
        """Compute all standard errors; `keep` the influence values they are based on."""
        t = self.table
        self._kept = np.empty((len(self.first) if keep else min(1, len(self.first)), FIRST_CORNER + len(CORNERS), t.n))
        spreads, self.joint_shares = kernels.finish_pairs(
            t.orders, t.ranks, t.ties, self.first, self.second, self.influence, self.scored, *self._scores, self._slope, HIGHS,
            self.wanted, self.expected_slope, self.chains, self.tail, edge_width(t.n, self.tail), self._kept,
        )  # fmt: skip
        self.errors = [StandardError(*spreads[:, row].T) for row in range(spreads.shape[1])]
        if self.order:
            self.finish_form(keep=keep)
        return self

    def finish_form(self, *, keep: bool = False) -> None:
        """The coefficients of form, with the errors that a block jackknife widens where the margins mix slowly."""
        t, cells = self.table, self.order**2
        n_chains = 1 if self.iid else t.n_chains
        n_batches = batches_per_chain(t.n, n_chains)
        mixes, doubled = self.mixes(n_batches), bool(t.ties.any())
        self.form_influence = np.empty((len(self.first) if keep or not (self.iid or mixes.all()) else 0, cells, t.n))
        # the influence values of the fitted tau are in the place of its scores by now
        fitted = self._scores.score if self.form_slope.any() else self._scores.score[:0]
        means, squares, fourths, noise, long_run, correlations, halves = kernels.form_pairs(
            t.orders, t.ranks, t.ties, self.first, self.second,
            basis_table(t.n, self.order, doubled), doubled, fitted, self.form_slope, n_chains, n_batches, self.form_influence,
        )  # fmt: skip
        n_all = n_chains * n_batches
        spread = CellSpread.of_batches(squares, fourths, long_run, t.n, n_all, iid=self.iid)
        for k in np.flatnonzero(~mixes).tolist() if not self.iid else ():
            spread.use_chains(k, self.form_influence[k], n_chains)
        used = usable_cells(t.distinct, self.first, self.second, t.n, self.order)
        se, df, n_eff = spread.without(noise, t.n)
        self.form = FormSide(self.order, means, se, df, n_eff, correlations, halves, used, t.n, n_all)
        self.leave_out_blocks()

    def influences(self, k: int) -> Mapping[str, FloatArray]:
        """Influence values, (chain, draw), on "tau" and, if available, on "tau_fitted" and the corners; see `finish`."""
        found = {"tau": self.influence[k]}
        if self.scored[k]:
            found["tau_fitted"] = self._kept[k, FITTED]
        found |= {name: self._kept[k, FIRST_CORNER + end] for end, name in enumerate(CORNERS) if self.wanted[k, end]}
        return {name: values.reshape(self.table.n_chains, -1) for name, values in found.items()}

    def influence_moments(self, chosen: Places) -> tuple[FloatArray, FloatArray]:
        """Sums of squares and of fourth powers of the influence values on tau, of some pairs."""
        squares = self.influence[chosen] ** 2
        return np.sum(squares, axis=1), np.sum(squares**2, axis=1)
