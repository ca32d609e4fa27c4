"""The columns of two samples as codes, for the pairs in which a column has levels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import is_ordered
from copula_discrepancy.estimate.coded_columns import FEWEST_ROWS, CodedColumn, coded
from copula_discrepancy.estimate.level_pairs import LevelGap, level_gap


@dataclass(frozen=True, eq=False)
class CodedSamples:
    """Every column of draws and reference as codes.

    Attributes
    ----------
    own, other : tuple of CodedColumn
        The columns of the draws, and of the reference.
    n_chains : (int, int)
        The number of chains of either.
    """

    own: tuple[CodedColumn, ...]
    other: tuple[CodedColumn, ...]
    n_chains: tuple[int, int]

    @classmethod
    def of(cls, draws: Draws, reference: Draws) -> "CodedSamples | None":
        """The columns of two samples with the same variables; None if no column has levels."""
        own, other = [], []
        for k in range(draws.n_variables):
            columns = coded([draws.column(k), reference.column(k)], draws.labels(k), ordered=is_ordered(draws.kind(k)))
            own.append(columns[0])
            other.append(columns[1])
        if not any(column.has_levels for column in own):
            return None
        return cls(tuple(own), tuple(other), (draws.n_chains, reference.n_chains))

    def has_levels(self, i: int, j: int) -> bool:
        """Whether one of two columns has levels."""
        return self.own[i].has_levels or self.own[j].has_levels

    def ordered(self, i: int, j: int) -> bool:
        """Whether both columns have an order."""
        return self.own[i].ordered and self.own[j].ordered

    def at(self, places: Sequence[int]) -> "CodedSamples":
        """Some of the columns, by position."""
        return CodedSamples(tuple(self.own[k] for k in places), tuple(self.other[k] for k in places), self.n_chains)

    def gap(self, i: int, j: int, *, order: int, iid: tuple[bool, bool]) -> LevelGap | str:
        """The gap in form of two columns, or why it cannot be tested."""
        pairs = (self.own[i], self.own[j]), (self.other[i], self.other[j])
        return level_gap(pairs, order=order, iid=iid, n_chains=self.n_chains)

    @property
    def identity(self) -> str:
        """What the codes mean, beyond the ranks of the values: the levels and whether they have an order."""
        return repr([(column.labels, column.ordered) for column in self.own])


def left_out_share(column: CodedColumn, other: CodedColumn) -> float:
    """The share of a column's rows in levels without order that the other sample has too few rows of to compare."""
    counts = [np.bincount(each.codes[each.codes >= 0], minlength=each.size) for each in (column, other)]
    left_out = (counts[1] < FEWEST_ROWS) | column.left_out
    return float(counts[0][left_out].sum() / max(int(counts[0].sum()), 1))
