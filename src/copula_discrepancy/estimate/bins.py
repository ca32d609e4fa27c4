"""The bins in which the values of a column are counted, fixed from a pilot sample before anything is counted."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.data.kinds import HASHED, NOMINAL, is_ordered

Array = NDArray[np.float64]

FINEST = 240  # bins: three grids, of 240, 120 and 60, and a code for missing values fit into a byte
COARSEST = 16
_TAIL_BINS = 0.35  # share of the bins that are spread over the logarithm of the odds instead of over the ranks
_TAILS = (0.01, 0.05, 0.1, 0.25)  # shares with an edge of their own: what is asked of tails is counted, not interpolated
_ENOUGH = 100  # bins, from which on edges can move that far
_LOWEST = 5.0  # pilot rows in the lowest and the highest bin
_COARSE = (
    0.02,
    0.05,
    0.1,
    0.2,
    0.35,
    0.5,
    0.65,
    0.8,
    0.9,
    0.95,
    0.98,
)  # edges of the groups of bins that blocks of rows are counted in
N_COARSE = len(_COARSE) + 1
_BUCKETS = 4096
# ranges of edges that buckets of equal width are laid over: the one that leaves least to search is taken
_RANGES = ((0.0, 1.0), (0.02, 0.98), (0.1, 0.9), (0.25, 0.75), (0.0, 0.5), (0.0, 0.75), (0.25, 1.0), (0.5, 1.0))
_TIED = 0.98  # share of different values in the pilot below which equal values are no accident
UNSEEN = "(not in the pilot sample)"


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """The bins of one column.

    Attributes
    ----------
    name, kind : str
        The column's name and kind.
    labels : tuple of str
        The labels of its levels, each of which is a bin; empty for numbers.
    edges : array
        For numbers: a value is in bin k if k of the edges are not above it.
    single : array of bool
        Whether each bin holds one value only.
    shares : array
        The share of the pilot rows in each bin.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    edges: Array
    single: NDArray[np.bool_]
    shares: Array

    @property
    def size(self) -> int:
        """The number of bins; missing values have this code."""
        return self.single.size

    @property
    def ordered(self) -> bool:
        """Whether the bins have an order."""
        return is_ordered(self.kind)

    @lazy
    def coarse(self) -> NDArray[np.uint8]:
        """The group of every bin, at most `N_COARSE`, and one more group for missing values."""
        if self.ordered:
            middle = np.cumsum(self.shares) - 0.5 * self.shares
            groups = np.searchsorted(_COARSE, middle)
        else:
            groups = np.full(self.size, N_COARSE - 1)
            frequent = np.argsort(-self.shares, kind="stable")[: N_COARSE - 1]
            groups[frequent] = np.arange(frequent.size)
        _, groups = np.unique(groups, return_inverse=True)
        return np.append(groups, groups.max() + 1).astype(np.uint8)

    @lazy
    def _buckets(self) -> tuple[float, float, NDArray[np.int64]]:
        """Where buckets of equal width begin, how many there are per unit, and how many edges are below each."""
        best: tuple[float, float, float, NDArray[np.int64]] | None = None
        for first, last in _RANGES:
            low, high = (float(x) for x in np.quantile(self.edges, [first, last])) if self.edges.size else (0.0, 1.0)
            scale = _BUCKETS / (high - low) if high > low else 1.0
            if not math.isfinite(scale):
                scale = 1.0
            starts = np.empty(_BUCKETS + 3, np.int64)
            kernels.edge_buckets(self.edges, low, scale, starts)
            inside = np.diff(starts)
            cost = float(np.sum(inside * np.log2(1.0 + inside)))
            if best is None or cost < best[0]:
                best = cost, low, scale, starts
        assert best is not None
        return best[1:]

    def fill_codes(self, values: Array, codes: NDArray[np.uint8]) -> tuple[int, int]:
        """Fill in the bin of each value, and return how many values are missing and how many infinite."""
        if self.labels:  # values are positions among the labels already
            missing = np.isnan(values)
            codes[:] = np.where(missing, self.size, values)
            return int(missing.sum()), 0
        low, scale, starts = self._buckets
        missing, infinite = kernels.bin_column(values, self.edges, low, scale, starts, codes)
        return int(missing), int(infinite)

    def to_dict(self) -> dict[str, Any]:
        """Its content, for a file."""
        return {"name": self.name, "kind": self.kind, "labels": list(self.labels)}


def graded(bins: int, lowest: float) -> Array:
    """The shares of rows below the inner edges of this many bins.

    A part of the bins is spread evenly over the ranks, and the others over the logarithm of the odds: tails of copulas with
    dependent extremes need bins whose width falls with the distance from the corner. Usual shares of tails are edges.
    """
    half = np.geomspace(lowest * 1e-3, 0.5, 20_000)
    shares = np.concatenate([half, 1.0 - half[-2::-1]])
    limit = math.log((1.0 - lowest) / lowest)
    odds = np.clip((np.log(shares / (1.0 - shares)) + limit) / (2.0 * limit), 0.0, 1.0)
    position = (1.0 - _TAIL_BINS) * shares + _TAIL_BINS * odds
    numbers = bins * position
    if bins >= _ENOUGH:
        tails = np.array([*_TAILS, *(1.0 - share for share in _TAILS[::-1])])
        numbers = numbers + _moved(numbers, np.interp(tails, shares, numbers), bins)
    return np.asarray(np.interp(np.arange(1.0, bins), numbers, shares))


def _moved(numbers: Array, tails: Array, bins: int) -> Array:
    """How far to move the numbers of edges so that those of tails are even, and remain when bins are merged two and two.

    Smoothly: an extrapolation to bins of no width needs widths that change little from one bin to the next.
    """
    places = np.concatenate([[0.0], tails, [float(bins)]])
    moves = np.concatenate([[0.0], 2.0 * np.round(tails / 2.0) - tails, [0.0]])
    k = np.clip(np.searchsorted(places, numbers, side="right") - 1, 0, places.size - 2)
    t = (numbers - places[k]) / (places[k + 1] - places[k])
    return np.asarray(moves[k] + (moves[k + 1] - moves[k]) * t * t * (3.0 - 2.0 * t))


def level_bins(name: str, kind: str, labels: tuple[str, ...], codes: Array, most: int = FINEST) -> ColumnBins:
    """The bins of a column of levels: each of them, and one for levels that the pilot sample does not have.

    Parameters
    ----------
    name, kind : str
        The column's name and kind.
    labels : tuple of str
        Its levels.
    codes : array
        The level of each pilot row, NaN if it is missing.
    most : int
        The largest number of bins; rarer levels without an order are counted with those that the pilot does not have.
    """
    known = codes[~np.isnan(codes)].astype(np.int64)
    counts = np.bincount(known, minlength=len(labels)).astype(np.float64)
    if len(labels) >= most and kind != NOMINAL:
        raise InputError(
            f"column {name} has {len(labels):,} ordered levels, and at most {most - 1} can be counted; make it a number",
            "not-numeric",
        )
    if len(labels) >= most:
        kept = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
        labels, counts = tuple(labels[k] for k in kept), counts[kept]
    if kind == NOMINAL and labels != HASHED:
        labels, counts = (*labels, UNSEEN), np.append(counts, 0.0)
    shares = counts / max(counts.sum(), 1.0)
    return ColumnBins(name, kind, labels, np.empty(0), np.ones(len(labels), bool), shares)


def number_bins(name: str, kind: str, values: Array, bins: int) -> ColumnBins:
    """The bins of a column of numbers, from the values of pilot rows; values that many rows share have bins of their own.

    Parameters
    ----------
    name, kind : str
        The column's name and kind.
    values : array
        The pilot rows, NaN if they are missing.
    bins : int
        The largest number of bins.
    """
    known = np.sort(values[~np.isnan(values)])
    distinct, counts = np.unique(known, return_counts=True)
    tied = distinct.size < _TIED * known.size
    if tied and 2 * distinct.size + 1 <= bins:
        alone = distinct
    else:
        # a value with more rows than a bin should have stays together anyway, and its rows are tied
        alone = distinct[counts > max(known.size / bins, 2.0)] if tied else np.empty(0)
    edges = {float(x) for value in alone.tolist() for x in (value, math.nextafter(value, math.inf))}
    room = bins - 1 - len(edges)
    if alone.size < distinct.size and room > 0:
        rest = known[~np.isin(known, alone)]
        if rest.size:
            between = np.quantile(rest, graded(room + 1, _LOWEST / max(rest.size, 20)), method="inverted_cdf")
            edges |= {float(x) for x in between.tolist()}
    found = np.array(sorted(edge for edge in edges if math.isfinite(edge)), np.float64)
    codes = np.searchsorted(found, known, side="right")
    shares = np.bincount(codes, minlength=found.size + 1) / max(known.size, 1)
    single = np.zeros(found.size + 1, bool)
    single[np.searchsorted(found, alone, side="right")] = True
    return ColumnBins(name, kind, (), found, single, shares)
