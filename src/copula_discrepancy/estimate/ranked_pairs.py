"""Pairs of variables of a ranked sample, and the likelihoods of families for all of them that share one."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate.basis import basis_table
from copula_discrepancy.estimate.influence import theta_score
from copula_discrepancy.estimate.likelihood import Maxima, maximise, moment_starts, newton
from copula_discrepancy.estimate.pair import FEW_DRAWS, Margins, RankedPair, rank_grid
from copula_discrepancy.estimate.rank_table import RankedColumns, RankedTable
from copula_discrepancy.estimate.ranks import BINS, tau_from_total
from copula_discrepancy.families import Copula
from copula_discrepancy.families.formulas import Pairs, PairTables, ScoreRows

Places = NDArray[np.intp]


class RankedPairs:
    """Some pairs of the variables of a table, by the numbers of their variables.

    Parameters
    ----------
    table : RankedColumns
        The variables.
    first, second : array (pair,)
        The two variables of each pair.
    iid : bool
        Whether draws are independent.
    """

    def __init__(self, table: RankedColumns, first: NDArray[np.int64], second: NDArray[np.int64], *, iid: bool = True) -> None:
        self.table, self.first, self.second, self.iid = table, first, second, iid
        self._pairs: dict[int, RankedPair] = {}

    @classmethod
    def of_pair(cls, pair: RankedPair) -> "RankedPairs":
        """One pair."""
        columns = pair.first, pair.second
        orders, ranks = np.stack([column.order for column in columns]), np.stack([column.rank for column in columns])
        table = RankedColumns(orders, ranks, np.array([column.tied_pairs for column in columns], np.int64))
        return cls(table, np.array([0]), np.array([1]))

    def __len__(self) -> int:
        return self.first.size

    @lazy
    def taus(self) -> FloatArray:
        """Kendall's tau-b of every pair; NaN if a variable does not vary, as may be the case without a block of draws."""
        t, totals = self.table, np.empty(len(self), np.int64)
        kernels.concordance_totals(t.orders, t.ranks, t.ties, self.first, self.second, totals)
        with np.errstate(invalid="ignore"):
            found: FloatArray = tau_from_total(totals, t.n, t.ties[self.first], t.ties[self.second])
        return found

    def pair(self, k: int) -> RankedPair:
        """One of the pairs, ready for a fit of its own."""
        if k not in self._pairs:
            i, j, tau = int(self.first[k]), int(self.second[k]), float(self.taus[k])
            if isinstance(self.table, RankedTable):
                self._pairs[k] = self.table.pair(i, j, tau, iid=self.iid)
            else:
                ranked = self.table.columns[i], self.table.columns[j]
                self._pairs[k] = RankedPair(ranked[0].rank, ranked[1].rank, ranked=ranked, tau=tau)
        return self._pairs[k]

    @property
    def uniform(self) -> bool:
        """Whether values have known uniform margins, so that likelihoods do not use ranks."""
        return isinstance(self.table, RankedTable) and self.table.uniform is not None

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether both variables of each pair vary."""
        every = self.table.n * (self.table.n - 1) // 2
        return np.asarray((self.table.ties[self.first] < every) & (self.table.ties[self.second] < every))

    def without_block(self, chosen: Places, block: tuple[int, int]) -> "RankedPairs":
        """Some of the pairs, ranked without a block of draws."""
        variables, places = np.unique([self.first[chosen], self.second[chosen]], return_inverse=True)
        first, second = places.reshape(2, -1)
        return RankedPairs(self.table.without(variables, *block), first.copy(), second.copy())

    def coefficients(self, order: int) -> FloatArray:
        """Coefficients of form, (pair, cell)."""
        n = self.table.n
        table = basis_table(n, order, True)[0]
        values = [table[:, column.doubled_mid_ranks - 2] for column in self.table.columns]
        both = zip(self.first.tolist(), self.second.tolist(), strict=True)
        return np.stack([(values[i] @ values[j].T).ravel() / n for i, j in both])

    def discrete_shares(self, chosen: Places) -> FloatArray:
        """`RankedPair.discrete_share` of some pairs: 0 unless a variable has ties."""
        tied = (self.table.ties[self.first[chosen]] > 0) | (self.table.ties[self.second[chosen]] > 0)
        return np.array([self.pair(k).discrete_share() if some else 0.0 for k, some in zip(chosen.tolist(), tied, strict=True)])

    # ---- likelihoods -----------------------------------------------------------------------------------------------

    def squares(self, chosen: Places) -> FloatArray:
        """Draws of some pairs in each of `BINS` x `BINS` squares of equal shares of both variables, (pair, square)."""
        assert isinstance(self.table, RankedTable)
        found: FloatArray = kernels.pair_squares(self.table.bins, self.first[chosen], self.second[chosen], BINS)
        return found

    def maxima(self, chosen: Places, template: Copula, starts: FloatArray | None = None) -> Maxima:
        """The maxima of a family's likelihood for some of the pairs, by default from their moment estimates."""
        tables = self._tables(template)
        if tables is None:
            starting = [None] * len(chosen) if starts is None else starts.tolist()
            found = [maximise(self.pair(k), template, start) for k, start in zip(chosen.tolist(), starting, strict=True)]
            return Maxima.of(found)
        begin = moment_starts(template, self.taus[chosen]) if starts is None else starts
        return newton(template, template._pair_sums(tables, self._chosen(chosen)), begin)

    def fill_scores(self, chosen: Places, template: Copula, thetas: FloatArray, out: ScoreRows) -> None:
        """Fill in the scores of some pairs at their thetas."""
        tables, done = self._tables(template), np.zeros(len(chosen), bool)
        if tables is not None:
            done = template._pair_scores(thetas, tables, self._chosen(chosen), chosen, out)
        for k, theta in zip(chosen[~done].tolist(), thetas[~done].tolist(), strict=True):
            score = theta_score(self.pair(k), template.with_theta(theta))
            out.score[k], out.in_u[k], out.in_v[k], out.curvature[k] = score

    def _chosen(self, chosen: Places) -> Pairs:
        return Pairs(self.table.places, self.first[chosen], self.second[chosen])

    def _tables(self, template: Copula) -> PairTables | None:
        """Coordinates of all ranks, if the family has loops over many pairs and the sample is small enough for tables."""
        if self.uniform or self.table.n > FEW_DRAWS or not template._pair_loops:
            return None
        return _pair_tables(self.table.n, self.table.doubled, Margins(template._margin_key, template))


@lru_cache(maxsize=64)
def _pair_tables(n: int, tied: bool, margins: Margins) -> PairTables | None:
    """A family's coordinates of every rank, the same for all pairs of a sample; at most 1 MB each."""
    return margins.template._pair_tables(rank_grid(n, tied))
