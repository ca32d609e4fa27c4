"""What a sketch counts: the columns of a table and their bins, fixed from a pilot sample before the first row is counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import listed
from copula_discrepancy.estimate.bins import COARSEST, FINEST, ColumnBins, level_bins, number_bins
from copula_discrepancy.estimate.triple_counts import counted_columns, require_room

PILOT_ROWS = 200_000  # edges are then off by a thousandth of the rows, which moves bins and biases nothing
# Blocks of consecutive rows: as many as determine a variance well, and half as many if those of all pairs fill a file.
MOST_BLOCKS, _MANY_PAIRS = 128, 500
_SIDES = 8  # bytes per cell while a table is counted and compared: two counts
_MOST_BYTES = 300e6  # of counts, beyond which bins are halved even if there is more memory
_SHARE = 0.4  # of the memory that counts may take


@dataclass(frozen=True, eq=False)
class SketchPlan:
    """What is counted: columns and their bins, fixed before the first row is.

    Attributes
    ----------
    columns : tuple of ColumnBins
        The columns and their bins.
    serial : bool
        Whether rows are counted in consecutive blocks as well, because their order means something.
    missing_ok : bool
        Whether values may be missing.
    named : bool
        Whether columns have names of their own.
    n_pilot : int
        Rows of the pilot sample that the bins come from.
    chained : bool
        Whether rows are those of chains.
    notes : tuple of str
        Notes on what was read, decided or left out.
    left_out : tuple of (str, str)
        Columns that are not counted, with the reason.
    triples : bool
        Whether triples of columns are counted as well, which is for rows without an order.
    """

    columns: tuple[ColumnBins, ...]
    serial: bool
    missing_ok: bool
    named: bool
    n_pilot: int
    chained: bool = False
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    triples: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(column.name for column in self.columns)

    @lazy
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of columns."""
        return list(combinations(range(len(self.columns)), 2))

    @lazy
    def widths(self) -> NDArray[np.int64]:
        """The number of codes of each column: its bins, and that of missing values."""
        return np.array([column.size + 1 for column in self.columns], np.int64)

    @lazy
    def offsets(self) -> NDArray[np.int64]:
        """Where the table of each pair begins, and where the last one ends."""
        sizes = [int(self.widths[i] * self.widths[j]) for i, j in self.pairs]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @lazy
    def coarse(self) -> NDArray[np.int64]:
        """The group of every code, (column, code)."""
        found = np.zeros((len(self.columns), int(self.widths.max())), np.int64)
        for row, column in zip(found, self.columns, strict=True):
            row[: column.size + 1] = column.coarse
        return found

    @lazy
    def coarse_widths(self) -> NDArray[np.int64]:
        """The number of groups of each column, with that of missing values."""
        return np.array([int(column.coarse.max()) + 1 for column in self.columns], np.int64)

    @lazy
    def coarse_offsets(self) -> NDArray[np.int64]:
        """Where the groups of each pair begin, and where the last ones end."""
        sizes = [int(self.coarse_widths[i] * self.coarse_widths[j]) for i, j in self.pairs]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def resolution(self) -> int:
        """The largest number of bins of a column."""
        return max(column.size for column in self.columns)

    def block_rows(self, rows: int, chain_length: int, n_chains: int) -> int:
        """The rows of a block, doubled until a chain of this length has few enough."""
        most = MOST_BLOCKS if len(self.pairs) <= _MANY_PAIRS else MOST_BLOCKS // 2
        while chain_length > max(most // max(n_chains, 1), 2) * rows:  # R-hat compares the halves of a chain
            rows *= 2
        return rows

    def same_as(self, other: "SketchPlan") -> str | None:
        """None if another plan counts the same in the same bins, otherwise what differs."""
        if self.names != other.names:
            return f"the columns: {listed(self.names)} and {listed(other.names)}"
        for own, theirs in zip(self.columns, other.columns, strict=True):
            if own.kind != theirs.kind or own.labels != theirs.labels:
                return f"the levels of {own.name}"
            if not np.array_equal(own.edges, theirs.edges) or not np.array_equal(own.single, theirs.single):
                return f"the edges of {own.name}"
        if self.serial != other.serial:
            return "whether the order of the rows is counted"
        if self.serial and not np.array_equal(self.coarse, other.coarse):
            return "the groups of bins that blocks of rows are counted in"
        if self.triples != other.triples:
            return "whether triples are counted"
        return None


def bins_for(n_columns: int, memory: float) -> int:
    """The largest number of bins whose counts of all pairs, of draws and of a reference, fit into a part of the memory."""
    pairs = max(n_columns * (n_columns - 1) // 2, 1)
    bins = FINEST
    # files stay below 30 MB, too
    while bins > COARSEST and pairs * (bins + 1) ** 2 * _SIDES > min(_SHARE * memory, _MOST_BYTES):
        bins //= 2
    if pairs * (bins + 1) ** 2 * _SIDES > _SHARE * memory:
        raise InputError(
            f"{n_columns} columns have {pairs:,} pairs, whose counts do not fit into {memory / 1e9:.3g} GB even in {bins} "
            "bins; select columns with var_names (--columns), or allow more with memory= (--memory)",
            "memory",
        )
    return bins


def plan_of(
    pilot: Draws, *, bins: int, serial: bool, missing_ok: bool, chained: bool, notes: Sequence[str] = (),
    triples: bool = False, memory: float = np.inf,
) -> SketchPlan:  # fmt: skip
    """The plan for a sample of rows like these.

    Parameters
    ----------
    pilot : Draws
        Rows of a pilot sample.
    bins : int
        The largest number of bins of a column.
    serial, missing_ok, chained, notes, triples
        See `SketchPlan`.
    memory : float
        Bytes that counts of triples in two samples may take a part of.
    """
    if triples and serial:
        raise InputError(
            "triples are counted without the order of the rows, so their standard errors hold for independent rows only; pass "
            "iid=True if the rows are independent, or compare them with engine='exact'",
            "argument",
        )
    if pilot.ranked:
        raise InputError(
            f"{listed(pilot.names)}: some values are too large to be told apart as float64; subtract an offset first",
            "not-numeric",
        )
    columns = []
    for k, name in enumerate(pilot.names):
        values, kind, labels = pilot.column(k), pilot.kind(k), pilot.labels(k)
        columns.append(level_bins(name, kind, labels, values, FINEST) if labels else number_bins(name, kind, values, bins))
    if triples:
        require_room(len(counted_columns(columns)), _SHARE * memory)
    n = pilot.n_chains * pilot.n_draws
    return SketchPlan(
        tuple(columns), serial, missing_ok, pilot.named, n, chained, (*_lasting(pilot.notes), *notes), pilot.left_out, triples
    )


def _lasting(notes: Sequence[str]) -> tuple[str, ...]:
    """What was noted about a pilot sample and holds for all rows: not its numbers of missing values, which are counted."""
    return tuple(note for note in notes if not note.startswith("missing values in "))
