"""The columns of two counted samples as codes, for the pairs in which a column has levels; see `coded_samples`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.coded_columns import FEWEST_ROWS, CodedColumn, coded
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.level_pairs import Axis, LevelGap, SerialErrors, gap_of_counts
from copula_discrepancy.estimate.level_tables import Influence

Array = NDArray[np.float64]

_ROWS = 20_000  # that stand for a column when its levels are chosen
_BINS = 120  # of ranks, as many as the widest bins of counts


@dataclass(frozen=True, eq=False)
class CountedColumn:
    """A column of one sample: what its codes mean, and the code of every bin, -1 for bins that are in no level.

    `meaning` has one row for every one of a few thousand that stand for the column's rows.
    """

    meaning: CodedColumn
    codes: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CountedCodes:
    """Every column of draws and reference as codes.

    Attributes
    ----------
    own_columns, other_columns : tuple of CountedColumn
        The columns of the draws, and of the reference.
    tables : (CountedTable, CountedTable)
        Their counts.
    """

    own_columns: tuple[CountedColumn, ...]
    other_columns: tuple[CountedColumn, ...]
    tables: tuple[CountedTable, CountedTable]

    @classmethod
    def of(
        cls,
        tables: tuple[CountedTable, CountedTable],
        values: tuple[Sequence[Array], Sequence[Array]],
        labels: Sequence[tuple[str, ...]],
        ordered: Sequence[bool],
    ) -> "CountedCodes | None":
        """The columns of two samples with the same variables; None if no column has levels.

        Parameters
        ----------
        tables : two CountedTable
            Draws and reference.
        values : two sequences of arrays
            A value for each bin of every column, by sample; positions among the labels for levels.
        labels : sequence of tuple of str
            The levels of every column, the same in both samples.
        ordered : sequence of bool
            Whether the values of every column have an order.
        """
        found: list[list[CountedColumn]] = [[], []]
        for k, (names, order) in enumerate(zip(labels, ordered, strict=True)):
            bins, stand_ins = [], []
            for table, own in zip(tables, values, strict=True):
                place, value = _stand_ins(table.margins[k][:-1], table.single[k], own[k])
                bins.append(place)
                stand_ins.append(value)
            columns = coded(stand_ins, names, ordered=order)
            for side, (table, column, place) in enumerate(zip(tables, columns, bins, strict=True)):
                rows = table.margins[k][:-1]
                found[side].append(
                    CountedColumn(column, _codes_of_bins(column, place, rows.size))
                    if column.has_levels
                    else CountedColumn(replace(column, size=_BINS), _rank_bins(rows))
                )
        if not any(column.meaning.has_levels for column in found[0]):
            return None
        return cls(tuple(found[0]), tuple(found[1]), tables)

    @property
    def own(self) -> tuple[CodedColumn, ...]:
        """What the codes of the draws mean."""
        return tuple(column.meaning for column in self.own_columns)

    @property
    def other(self) -> tuple[CodedColumn, ...]:
        """What the codes of the reference mean."""
        return tuple(column.meaning for column in self.other_columns)

    def has_levels(self, i: int, j: int) -> bool:
        """Whether one of two columns has levels."""
        return self.own[i].has_levels or self.own[j].has_levels

    def ordered(self, i: int, j: int) -> bool:
        """Whether both columns have an order."""
        return self.own[i].ordered and self.own[j].ordered

    def gap(self, i: int, j: int, *, order: int, iid: tuple[bool, bool]) -> LevelGap | str:
        """The gap in form of two columns, or why it cannot be tested."""
        samples = (self.own_columns[i], self.own_columns[j]), (self.other_columns[i], self.other_columns[j])
        cells = [np.asarray(table.tables(i, j)[:-1, :-1], np.float64) for table in self.tables]
        counts = []
        for found, pair in zip(cells, samples, strict=True):
            for axis, column in enumerate(pair):
                found = _added(found, column.codes, column.meaning.size, axis)
            counts.append(found.astype(np.int64))

        def serial_of(k: int, found: Influence, axes: Sequence[Axis]) -> SerialErrors | None:
            blocks = self.tables[k].blocks
            if iid[k] or blocks is None:
                return None
            codes = [np.maximum(column.codes, 0) for column in samples[k]]
            return SerialErrors.of_blocks(found, codes, axes, cells[k], blocks(i, j))

        return gap_of_counts((samples[0][0].meaning, samples[0][1].meaning), counts, order=order, serial_of=serial_of)

    @property
    def identity(self) -> str:
        """What the codes mean, beyond the counts."""
        return repr([(column.labels, column.ordered) for column in self.own])


def _stand_ins(rows: NDArray[np.integer], single: NDArray[np.bool_], values: Array) -> tuple[NDArray[np.intp], Array]:
    """Rows that stand for those of a column, as bins and as values: in proportion, but a rare level has all its rows."""
    total = float(rows.sum())
    wanted = np.round(rows / max(total, 1.0) * _ROWS)
    counts = np.maximum(wanted, np.minimum(rows, FEWEST_ROWS)).astype(np.int64)
    bins = np.repeat(np.arange(rows.size), counts)
    found = values[bins].astype(np.float64)
    many = ~single[bins]
    if many.any():
        # rows of a bin of many values differ: between its value and that of the next
        step = np.diff(np.append(values, values[-1] + 1.0))
        within = np.concatenate([np.arange(count) / count for count in counts.tolist() if count])
        found = np.where(many, found + within * step[bins], found)
    return bins, found


def _codes_of_bins(column: CodedColumn, bins: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """The code that most of the rows in each bin have; -1 for a bin without rows."""
    found = np.full(size, -1, np.intp)
    votes = np.zeros((size, column.size), np.int64)
    known = column.codes >= 0
    np.add.at(votes, (bins[known], column.codes[known]), 1)
    used = votes.sum(axis=1) > 0
    found[used] = votes[used].argmax(axis=1)
    return found


def _rank_bins(rows: NDArray[np.integer]) -> NDArray[np.intp]:
    """The bin of ranks of every bin of values."""
    middle = (np.cumsum(rows) - 0.5 * rows) / max(float(rows.sum()), 1.0)
    return np.minimum((middle * _BINS).astype(np.intp), _BINS - 1)


def _added(counts: Array, codes: NDArray[np.intp], size: int, axis: int) -> Array:
    """Counts by code instead of by bin, along one axis."""
    moved = np.moveaxis(counts, axis, 0)
    found = np.zeros((size, *moved.shape[1:]))
    known = codes >= 0
    np.add.at(found, codes[known], moved[known])
    return np.moveaxis(found, 0, axis)
