"""Pairs of variables of a sample on a device, and the likelihoods of families for all of them that share one.

The counterpart of `ranked_pairs` for tensors: the same methods, which return arrays in the processor's memory.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy._core.tensors.device import numbers, stacked_numbers
from copula_discrepancy._core.tensors.ranks import concordance_totals
from copula_discrepancy._core.tensors.sums import square_counts
from copula_discrepancy.estimate.basis import basis_table
from copula_discrepancy.estimate.device_table import DeviceColumns, DeviceTable
from copula_discrepancy.estimate.likelihood import Maxima, maximise, moment_starts, newton
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.ranked_pairs import Places
from copula_discrepancy.estimate.ranks import BINS, RankedColumn, tau_from_total
from copula_discrepancy.families import Copula
from copula_discrepancy.families.formulas import PairTables, Sums

_TEMPORARIES = 20  # tensors (pair, draw) that a formula has at a time
_FLOAT = 8  # bytes


class DevicePairs:
    """Some pairs of the variables of a table on a device, by the numbers of their variables.

    Parameters
    ----------
    table : DeviceColumns
        The variables.
    first, second : array (pair,)
        The two variables of each pair.
    iid : bool
        Whether draws are independent.
    """

    uniform = False  # likelihoods of values with known margins are computed on the processor

    def __init__(self, table: DeviceColumns, first: NDArray[np.int64], second: NDArray[np.int64], *, iid: bool = True) -> None:
        self.table, self.first, self.second, self.iid = table, first, second, iid
        self.device = table.device
        self._pairs: dict[int, RankedPair] = {}

    def __len__(self) -> int:
        return self.first.size

    @lazy
    def _sides(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """The variables that are first, or second, in a pair, and where each pair has its own among them."""
        found = []
        for variables in (self.first, self.second):
            different, places = np.unique(variables, return_inverse=True)
            found.append((self.device.tensor(different), self.device.tensor(places)))
        return found[0], found[1]

    def _variables(self, side: int, chosen: Any) -> Any:
        """The variables of some pairs, as indices on the device."""
        return self.device.tensor((self.second if side else self.first)[chosen])

    @lazy
    def taus(self) -> FloatArray:
        """Kendall's tau-b of every pair."""
        (left, at_left), (right, at_right) = self._sides
        ranks, budget = self.table.columns.rank, 0.25 * self.device.planned_bytes()
        totals = numbers(concordance_totals(ranks[left], ranks[right], budget)[at_left, at_right])
        ties = self.table.ties
        found: FloatArray = tau_from_total(totals, self.table.n, ties[self.first], ties[self.second])
        return found

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether both variables of each pair vary."""
        every = self.table.n * (self.table.n - 1) // 2
        return np.asarray((self.table.ties[self.first] < every) & (self.table.ties[self.second] < every))

    def pair(self, k: int) -> RankedPair:
        """One of the pairs in the processor's memory, ready for a fit of its own."""
        if k not in self._pairs:
            i, j, tau = int(self.first[k]), int(self.second[k]), float(self.taus[k])
            if isinstance(self.table, DeviceTable):
                self._pairs[k] = self.table.host.pair(i, j, tau, iid=self.iid)
            else:
                ranked = self._column(i), self._column(j)
                self._pairs[k] = RankedPair(ranked[0].rank, ranked[1].rank, ranked=ranked, tau=tau)
        return self._pairs[k]

    def _column(self, variable: int) -> RankedColumn:
        order, rank = (numbers(part[variable]).astype(np.int32) for part in self.table.columns[:2])
        return RankedColumn(order, rank, int(self.table.ties[variable]))

    def parts(self, count: int, tensors: float = _TEMPORARIES) -> Iterator[slice]:
        """Slices of so many rows that as many tensors (row, draw) fit into the memory that may be used."""
        rows = int(max(0.5 * self.device.planned_bytes() / (tensors * _FLOAT * self.table.n), 1))
        return (slice(start, min(start + rows, count)) for start in range(0, count, rows))

    # ---- likelihoods -----------------------------------------------------------------------------------------------

    def discrete_shares(self, chosen: Places) -> FloatArray:
        """`RankedPair.discrete_share` of some pairs: 0 unless a variable has ties."""
        tied = (self.table.ties[self.first[chosen]] > 0) | (self.table.ties[self.second[chosen]] > 0)
        found = np.zeros(chosen.size)
        found[tied] = [self.pair(k).discrete_share() for k in chosen[tied].tolist()]
        return found

    def squares(self, chosen: Places) -> FloatArray:
        """Draws of some pairs in each of `BINS` x `BINS` squares of equal shares of both variables, (pair, square)."""
        assert isinstance(self.table, DeviceTable)
        bins = (self.table.columns.doubled - 1) * BINS // (2 * self.table.n)
        found = np.empty((chosen.size, BINS * BINS))
        for part in self.parts(chosen.size, 4):
            sides = bins[self._variables(0, chosen[part])], bins[self._variables(1, chosen[part])]
            found[part] = numbers(square_counts(sides, BINS))
        return found

    def maxima(self, chosen: Places, template: Copula, starts: FloatArray | None = None) -> Maxima:
        """The maxima of a family's likelihood for some of the pairs, by default from their moment estimates.

        Likelihoods are evaluated on the device; at thetas where a family's formulas do not hold for tensors, such as those
        next to independence, on the processor.
        """
        tables = self.table.tables(template)
        if tables is None:
            starting = [None] * len(chosen) if starts is None else starts.tolist()
            found = [maximise(self.pair(k), template, start) for k, start in zip(chosen.tolist(), starting, strict=True)]
            return Maxima.of(found)

        constant = self._margins(chosen, template, tables)

        def sums(some: Places, thetas: FloatArray) -> Sums:
            values = np.empty((3, some.size))
            ready = template._on_tensors(thetas)
            for at in np.flatnonzero(~ready).tolist():
                values[:, at] = self.pair(int(chosen[some[at]])).likelihood(template)(float(thetas[at]))
            inside = np.flatnonzero(ready)
            for part in self.parts(inside.size):
                here = inside[part]
                theta, members = self.device.tensor(thetas[here])[:, None], chosen[some[here]]
                x, y = (self._looked_up(tables[side], side, members) for side in (0, 1))
                values[:, here] = stacked_numbers(template._tensor_sums(theta, x, y))
            values[0, inside] += constant[some[inside]]
            return values[0], values[1], values[2]

        begin = moment_starts(template, self.taus[chosen]) if starts is None else starts
        return newton(template, sums, begin)

    def _looked_up(self, table: Any, side: int, members: Places) -> Any:
        """The values of a table of ranks for one variable of some pairs, (pair, draw)."""
        return table[self.table.places[self._variables(side, members)]]

    def _margins(self, chosen: Places, template: Copula, tables: PairTables) -> FloatArray:
        """The part of log-likelihoods that theta does not change, (pair,)."""
        total = np.zeros(chosen.size)
        for side, variables in enumerate((self.first[chosen], self.second[chosen])):
            different, places = np.unique(variables, return_inverse=True)
            rows = tables[side][self.table.places[self.device.tensor(different)]]
            total += numbers(template._tensor_margin(rows))[places]
        return total

    # ---- without blocks of draws -------------------------------------------------------------------------------------

    def without_block(self, chosen: Places, block: tuple[int, int]) -> "DevicePairs":
        """Some of the pairs, ranked without a block of draws."""
        variables, places = np.unique([self.first[chosen], self.second[chosen]], return_inverse=True)
        first, second = places.reshape(2, -1)
        return DevicePairs(self.table.without(variables, *block), first.copy(), second.copy())

    def coefficients(self, order: int) -> FloatArray:
        """Coefficients of form, (pair, cell)."""
        n, columns = self.table.n, self.table.columns
        table = self.device.tensor(basis_table(n, order, True)[0])
        found = np.empty((len(self), order * order))
        for part in self.parts(len(self), 4 * order):
            of_u, of_v = (table[:, columns.doubled[self._variables(side, part)] - 2].transpose(0, 1) for side in (0, 1))
            found[part] = numbers((of_u @ of_v.transpose(1, 2) / n).flatten(1))
        return found
