"""All variables of a sample as ranks, computed once for all pairs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.estimate.pair import RankedPair, margin_size
from copula_discrepancy.estimate.ranks import RankedColumn, rank_column

MISSING = -1  # the rank of a missing value
_NEIGHBOURS = 3  # other variables inspected to distinguish repeated points from rounded values


@dataclass(frozen=True, eq=False)
class RankedColumns:
    """Variables as ranks: the order of the draws, how many draws are smaller than each, (variable, draw), and tied pairs."""

    orders: NDArray[np.int32]
    ranks: NDArray[np.int32]
    ties: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of draws."""
        return self.ranks.shape[1]

    @lazy
    def columns(self) -> tuple[RankedColumn, ...]:
        """The variables one by one."""
        return tuple(RankedColumn(*column) for column in zip(self.orders, self.ranks, self.ties.tolist(), strict=True))

    @property
    def doubled(self) -> bool:
        """Whether there are ties, so that `places` count in steps of half a rank."""
        return bool(self.ties.any())

    @lazy
    def places(self) -> NDArray[np.int32]:
        """Where the rank of every draw is in tables of all ranks or, if there are ties, of all mid-ranks: (variable, draw).

        Those of variables with missing values mean nothing; their pairs are ranked again.
        """
        if not self.doubled:
            return self.ranks
        whole = self.ranks.min(axis=1) != MISSING
        rows = [
            column.doubled_mid_ranks - 2 if complete else column.rank
            for column, complete in zip(self.columns, whole, strict=True)
        ]
        return np.stack(rows).astype(np.int32)

    def without(self, variables: NDArray[np.intp], start: int, stop: int) -> "RankedColumns":
        """Some of the variables, without the draws from `start` to `stop`."""
        parts = [kernels.leave_out(self.orders[k], self.ranks[k], start, stop) for k in variables]
        orders, ranks, ties = zip(*parts, strict=True)
        return RankedColumns(np.stack(orders), np.stack(ranks), np.array(ties, np.int64))


@dataclass(frozen=True, eq=False)
class RankedTable(RankedColumns):
    """All variables of a sample as ranks: all draws together, (variable, draw), and in each chain, (variable, chain, draw).

    `modes` holds how many draws share the most frequent value of each variable, `holes` which variables have missing values:
    these have ranks only, MISSING for missing values, and their pairs are ranked again by `of_pair`. `uniform` holds the
    values, (variable, draw), if their margins are known to be uniform.
    """

    modes: NDArray[np.int64]
    chain_orders: NDArray[np.int32]
    chain_ranks: NDArray[np.int32]
    chain_ties: NDArray[np.int64]
    bins: NDArray[np.uint8]
    holes: NDArray[np.bool_]
    names: tuple[str, ...] = ()
    uniform: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, draws: Draws, *, uniform: bool = False) -> "RankedTable":
        """Rank the draws; `uniform` if their margins are known to be uniform."""
        columns = [draws.column(k) for k in range(draws.n_variables)]
        table = cls.of_columns(columns, draws.n_chains, draws.names)
        return replace(table, uniform=np.stack(columns)) if uniform else table

    @classmethod
    def of_columns(
        cls, columns: Sequence[NDArray[np.float64]], n_chains: int = 1, names: tuple[str, ...] = ()
    ) -> "RankedTable":
        """Rank variables passed one by one, chain after chain; NaN is a missing value, allowed in a single sample only."""
        d, n = len(columns), columns[0].size
        whole, parts = (d, n), (d, n_chains, n // n_chains)
        orders, ranks, ties = np.empty(whole, np.int32), np.empty(whole, np.int32), np.empty(d, np.int64)
        chain_orders, chain_ranks = np.empty(parts, np.int32), np.empty(parts, np.int32)
        chain_ties, bins = np.empty(parts[:2], np.int64), np.empty(whole, np.uint8)
        modes, holes = np.empty(d, np.int64), np.zeros(d, bool)
        for k, values in enumerate(columns):
            missing = np.isnan(values)
            if missing.any():
                holes[k] = True
                column = rank_column(values[~missing])
                ranks[k], ranks[k, ~missing] = MISSING, column.rank
                orders[k], bins[k], chain_orders[k], chain_ranks[k] = 0, 0, 0, MISSING
                ties[k], chain_ties[k], modes[k] = column.tied_pairs, column.tied_pairs, column.largest_group
                continue
            column = rank_column(values)
            orders[k], ranks[k], ties[k], bins[k] = column.order, column.rank, column.tied_pairs, column.bins
            modes[k] = column.largest_group
            for c, chain in enumerate(values.reshape(n_chains, -1)):
                ranked = column if n_chains == 1 else rank_column(chain)
                chain_orders[k, c], chain_ranks[k, c], chain_ties[k, c] = ranked.order, ranked.rank, ranked.tied_pairs
        names = names or tuple(map(str, range(d)))
        return cls(orders, ranks, ties, modes, chain_orders, chain_ranks, chain_ties, bins, holes, names)

    def n_complete(self, first: int, second: int) -> int:
        """Number of rows with values of both variables."""
        return int(np.count_nonzero(self._complete(first, second)))

    def _complete(self, first: int, second: int) -> NDArray[np.bool_]:
        return (self.ranks[first] != MISSING) & (self.ranks[second] != MISSING)

    def of_pair(self, first: int, second: int) -> "RankedTable | None":
        """Two variables, ranked again among the rows that have both values; None if a variable does not vary in these."""
        both = self._complete(first, second)
        n_chains = self.n_chains if both.all() else 1  # where nothing is missing, chains stay chains
        columns = [self.ranks[k, both].astype(np.float64) for k in (first, second)]
        if columns[0].size < 2 or any(np.ptp(column) == 0 for column in columns):
            return None
        return RankedTable.of_columns(columns, n_chains, (self.names[first], self.names[second]))

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.chain_ties.shape[1]

    @lazy
    def present(self) -> NDArray[np.int64]:
        """Number of values of each variable."""
        counts = np.full(len(self.ties), self.n)
        counts[self.holes] = np.count_nonzero(self.ranks[self.holes] != MISSING, axis=1)
        return counts

    @lazy
    def distinct(self) -> NDArray[np.int64]:
        """Number of distinct values of each variable; every value that is present starts a group of ranks."""
        tied = self.ties > 0
        counts = np.array(self.present)
        counts[tied] = [np.unique(ranks[ranks != MISSING]).size for ranks in self.ranks[tied]]
        return counts

    @lazy
    def margin_sizes(self) -> list[float]:
        """Effective sample size of each variable; NaN for those with missing values, which are ranked pair by pair."""
        whole = zip(self.columns, self.holes, strict=True)
        return [math.nan if hole else margin_size(column, self.n_chains) for column, hole in whole]

    @lazy
    def tied_rows(self) -> int:
        """The number of pairs of draws that are the same in all variables, as in a chain that repeats points."""
        if not self.ties.all():
            return 0
        codes = np.zeros(self.n, np.int64)
        for ranks in self.ranks:
            _, codes = np.unique(codes * (self.n + 1) + ranks, return_inverse=True)
        counts = np.bincount(codes)
        return int(np.sum(counts * (counts - 1)) // 2)

    @lazy
    def tied_shares(self) -> list[float]:
        """Share of pairs of draws tied in each variable, minus those tied in others too, as in a chain that repeats points."""
        whole = np.flatnonzero(~self.holes).tolist()
        shares = []
        for k, tied in enumerate(self.ties.tolist()):
            every = 0.5 * self.present[k] * (self.present[k] - 1.0)
            at = 0 if self.holes[k] else whole.index(k)
            others = [whole[(at + m) % len(whole)] for m in range(1, min(len(whole), _NEIGHBOURS + 1))]
            others = [] if self.holes[k] or not tied else others
            shares.append(float((tied - min((self.pair(k, j).tied_in_both() for j in others), default=0)) / every))
        return shares

    def tail_shares(self, tail: float, variables: NDArray[np.integer]) -> NDArray[np.float64]:
        """The shares of draws in the low and in the high tail of some variables, (variable, 2)."""
        # without ties rounded as in the kernel, which compares doubled ranks
        shares = np.full((len(variables), 2), math.floor(tail * 2 * (self.n + 1) / 2.0) / self.n)
        for row, k in zip(shares, variables.tolist(), strict=True):
            if self.ties[k]:
                row[:] = [self.columns[k].tail_share(high, tail) for high in (False, True)]
        return shares

    def pair(self, first: int, second: int, tau: float | None = None, *, iid: bool = True) -> RankedPair:
        """Two variables, ready for a fit; chains that are not `iid` have the effective sample size of their margins."""
        ranked = self.columns[first], self.columns[second]
        size = None if iid else min(self.margin_sizes[first], self.margin_sizes[second])
        source = self.ranks if self.uniform is None else self.uniform
        names = self.names[first], self.names[second]
        known = self.uniform is not None
        return RankedPair(source[first], source[second], known, self.n_chains, names, ranked=ranked, tau=tau, margin_size=size)
