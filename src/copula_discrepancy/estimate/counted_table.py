"""All variables of a sample as counts in grids, pair by pair: what is left of a table that was read once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate.counted_pair import CountedPair
from copula_discrepancy.estimate.grid import Grid
from copula_discrepancy.estimate.serial import SerialCounts

Counts = NDArray[Any]


@dataclass(frozen=True, eq=False)
class CountedTable:
    """The variables of a sample, counted.

    Attributes
    ----------
    names : tuple of str
        The variables.
    n, n_chains : int
        The number of rows, and of chains that they form.
    single : tuple of arrays of bool
        For each variable, whether each of its bins holds a single value.
    margins : tuple of arrays
        For each variable, the rows in each bin, and at the end those without a value.
    tables : callable
        Function that returns the counts of two variables, (bin, bin), each with a last bin for missing values.
    blocks : callable or None
        Function that returns the same in groups of bins for consecutive blocks of rows; None for independent rows.
    """

    names: tuple[str, ...]
    n: int
    n_chains: int
    single: tuple[NDArray[np.bool_], ...]
    margins: tuple[Counts, ...]
    tables: Callable[[int, int], Counts]
    blocks: Callable[[int, int], SerialCounts] | None = None

    @classmethod
    def of_grid(cls, grid: Grid, names: tuple[str, str], n_chains: int = 1) -> "CountedTable":
        """Two variables of which all rows have both values."""
        counts = np.pad(grid.counts, ((0, 1), (0, 1)))
        margins = counts.sum(axis=1), counts.sum(axis=0)
        return cls(names, int(grid.n), n_chains, grid.single, margins, lambda first, second: counts)

    def grid(self, first: int, second: int) -> Grid:
        """The grid of two variables, of the rows that have both values."""
        return Grid(self.tables(first, second)[:-1, :-1], (self.single[first], self.single[second]))

    def pair(self, first: int, second: int) -> CountedPair:
        """Two variables, ready for a fit."""
        names = self.names[first], self.names[second]
        return CountedPair(self.grid(first, second), names, n_chains=self.n_chains)

    def n_complete(self, first: int, second: int) -> int:
        """Number of rows with values of both variables."""
        return int(self.tables(first, second)[:-1, :-1].sum())

    @lazy
    def present(self) -> NDArray[np.int64]:
        """Number of values of each variable."""
        return np.array([int(rows[:-1].sum()) for rows in self.margins], np.int64)

    @lazy
    def holes(self) -> NDArray[np.bool_]:
        """Which variables are ranked pair by pair because values are missing: a grid of complete rows serves every pair."""
        return np.zeros(len(self.names), bool)

    @lazy
    def modes(self) -> NDArray[np.int64]:
        """How many rows share the most frequent value of each variable, as far as it is known."""
        alike = (rows[:-1][single] for rows, single in zip(self.margins, self.single, strict=True))
        return np.array([int(rows.max()) if rows.size else 1 for rows in alike], np.int64)

    @lazy
    def ties(self) -> NDArray[np.float64]:
        """Number of pairs of rows with the same value of each variable."""
        alike = (rows[:-1][single].astype(np.float64) for rows, single in zip(self.margins, self.single, strict=True))
        return np.array([0.5 * float(np.sum(rows * (rows - 1.0))) for rows in alike])

    @lazy
    def tied_shares(self) -> list[float]:
        """Share of pairs of rows tied in each variable."""
        every = 0.5 * self.present * (self.present - 1.0)
        return [float(share) for share in self.ties / np.maximum(every, 1.0)]
