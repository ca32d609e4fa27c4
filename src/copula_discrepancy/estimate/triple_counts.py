"""Counts of every triple of columns: small tables of groups of bins, and sums of products of functions of the bins.

A table of 16 x 16 x 16 groups is small enough for thousands of triples, and fine enough for standard errors, but not for the
coefficients: at n = 200,000 those of dependent variables are off by up to 1.8 standard errors, even extrapolated, and those
of 32 x 32 x 32 groups, in eight times the memory, still by 0.4. So the products of two functions of each bin, close to phi_1
and phi_2 of its ranks, are added up as well, for all bins as they are. The table then accounts only for the difference between
these functions and the polynomials of the final ranks, which is small; see `counted_triples`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.workers import thread_count, threads
from copula_discrepancy.estimate.basis import polynomials
from copula_discrepancy.estimate.bins import ColumnBins
from copula_discrepancy.estimate.encoding import Codes
from copula_discrepancy.estimate.pair import TOO_DISCRETE

GROUPS = 16  # merged two and two, and again, they show how far a number from a table may be off
ORDER = 2
N_SUMS = ORDER**3
# Weights are whole numbers, so that sums are the same in any order. A 256th is small: what rounding takes from the polynomials
# is counted in the tables. The largest product is 573**3, so that sums of fewer than 2**35 rows fit into eight bytes.
SCALE = 256.0
MOST_ROWS = 2**35
_CELLS = GROUPS**3
_ROWS = 1 << 18  # counted at once
_WORTH_THREADS = 2_000_000  # rows times triples
_WIDEST = 2**32 - 1  # rows whose counts fit into four bytes
_SIDES = 2 * (4 * _CELLS + 8 * N_SUMS)  # bytes of a triple in two samples

# Edges of the groups are half evenly spaced and half denser at both ends, where dependent extremes change fastest.
_EVEN = np.arange(1, GROUPS) / GROUPS
_EDGES = 0.5 * _EVEN + 0.25 * (1.0 - np.cos(np.pi * _EVEN))


def counted_columns(columns: Sequence[ColumnBins]) -> list[int]:
    """The columns that are counted three at a time: numbers that are not tied too often; see `left_out_columns`."""
    return [
        k
        for k, column in enumerate(columns)
        if not column.labels and float(np.sum(column.shares[column.single] ** 2)) <= TOO_DISCRETE
    ]


def groups_of(column: ColumnBins) -> NDArray[np.uint8]:
    """The group of every bin, by the ranks of pilot rows; the code of missing values, which is not used, is in the first."""
    middle = np.cumsum(column.shares) - 0.5 * column.shares
    return np.append(np.searchsorted(_EDGES, middle), 0).astype(np.uint8)


def weights_of(column: ColumnBins) -> NDArray[np.float64]:
    """Two functions of every bin, (code, 2): phi_1 and phi_2 of the ranks of pilot rows, as whole numbers; 0 if missing."""
    middle = np.clip(np.cumsum(column.shares) - 0.5 * column.shares, 0.0, 1.0)
    return np.append(np.rint(SCALE * polynomials(middle, ORDER)).T, [[0.0, 0.0]], axis=0)


def require_room(n_columns: int, memory: float) -> None:
    """Raise if the counts of all triples of so many columns, in two samples, do not fit into this memory."""
    triples = n_columns * (n_columns - 1) * (n_columns - 2) // 6
    if triples * _SIDES > memory:
        raise InputError(
            f"{n_columns} columns have {triples:,} triples, whose counts take {triples * _SIDES / 1e9:.3g} GB, and "
            f"{memory / 1e9:.3g} GB are left for them; select columns with var_names (--columns), such as those of the worst "
            "pairs, or allow more with memory= (--memory)",
            "memory",
        )


@dataclass(eq=False)
class TripleCounts:
    """Counts of all triples of some columns.

    Attributes
    ----------
    columns : array (place,)
        The columns, by their number in the sketch.
    groups : array (place, code)
        The group of every code.
    weights : array (place, code, 2)
        Two functions of every code, whole numbers.
    triples : array (triple, 3)
        All triples of places, in order.
    counts : array (triple, cell)
        Rows in each cell of 16 x 16 x 16 groups.
    sums : array (triple, 8)
        Sums over all rows of the products of the functions, in the order of `triples.CELLS`.
    """

    columns: NDArray[np.int64]
    groups: NDArray[np.uint8]
    weights: NDArray[np.float64]
    triples: NDArray[np.int64]
    counts: NDArray[np.unsignedinteger]
    sums: NDArray[np.int64]

    @classmethod
    def empty(cls, columns: Sequence[ColumnBins]) -> "TripleCounts":
        """No rows of a table with these columns."""
        chosen = counted_columns(columns)
        widest = max((columns[k].size + 1 for k in chosen), default=1)
        groups, weights = np.zeros((len(chosen), widest), np.uint8), np.zeros((len(chosen), widest, ORDER))
        for place, k in enumerate(chosen):
            groups[place, : columns[k].size + 1] = groups_of(columns[k])
            weights[place, : columns[k].size + 1] = weights_of(columns[k])
        triples = np.array(list(combinations(range(len(chosen)), 3)), np.int64).reshape(-1, 3)
        counts, sums = np.zeros((len(triples), _CELLS), np.uint32), np.zeros((len(triples), N_SUMS), np.int64)
        return cls(np.array(chosen, np.int64), groups, weights, triples, counts, sums)

    @property
    def nbytes(self) -> int:
        """The memory that the counts take."""
        return self.counts.nbytes + self.sums.nbytes

    def same_as(self, other: "TripleCounts") -> bool:
        """Whether others are counted in the same groups, with the same functions."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("columns", "groups", "weights"))

    def add(self, codes: Codes, n_before: int, n_jobs: int | None) -> None:
        """Count rows, (column, row), after so many others."""
        n = codes.shape[1]
        self.make_room(n_before + n)
        jobs = 1 if n_jobs is None or n * len(self.triples) < _WORTH_THREADS else n_jobs
        parts = _parts(len(self.triples), jobs)

        def count(part: slice) -> None:
            triples = self.triples[part]
            for start in range(0, n, _ROWS):
                stop = min(start + _ROWS, n)
                kernels.count_triples(codes, self.columns, triples, self.groups, start, stop, self.counts[part])
                kernels.sum_triples(codes, self.columns, triples, self.weights, start, stop, self.sums[part])

        if len(parts) == 1:
            count(parts[0])
        else:
            threads(count, parts, n_jobs)

    def make_room(self, n: int) -> None:
        """Make sure that counts of so many rows fit."""
        if n >= MOST_ROWS:
            raise InputError(
                f"triples of at most {MOST_ROWS - 1:,} rows can be counted, got {n:,}; count without triples, or a part of the "
                "rows",
                "argument",
            )
        if n > _WIDEST and self.counts.dtype != np.uint64:
            self.counts = self.counts.astype(np.uint64)

    def merge(self, other: "TripleCounts", n: int) -> None:
        """Add the counts of other rows; both together have n."""
        self.make_room(n)
        self.counts += other.counts.astype(self.counts.dtype, copy=False)
        self.sums += other.sums

    def of(self, columns: tuple[int, int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The table, (group, group, group), and the sums, (2, 2, 2), of three columns of the sketch, in this order."""
        order = np.argsort(columns)
        x, y, z = (int(np.searchsorted(self.columns, columns[k])) for k in order)
        d = len(self.columns)
        before = _choose3(d) - _choose3(d - x) + _choose2(d - x - 1) - _choose2(d - y) + z - y - 1
        back = np.argsort(order)
        table = self.counts[before].astype(np.float64).reshape((GROUPS,) * 3).transpose(back)
        sums = self.sums[before].astype(np.float64).reshape((ORDER,) * 3).transpose(back)
        return table, sums


def _choose2(n: int) -> int:
    return n * (n - 1) // 2


def _choose3(n: int) -> int:
    return n * (n - 1) * (n - 2) // 6


def _parts(count: int, jobs: int) -> list[slice]:
    """Consecutive parts of all triples, a few for each thread."""
    wanted = min(2 * thread_count(jobs), count)
    if jobs == 1 or wanted < 2:
        return [slice(0, count)]
    edges = np.linspace(0, count, wanted + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
