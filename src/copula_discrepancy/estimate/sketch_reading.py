"""The counts of a sketch: of two columns, and of consecutive blocks of their rows."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.serial import SerialCounts, block_factor

if TYPE_CHECKING:
    from copula_discrepancy.estimate.sketch import DependenceSketch


def _place(sketch: "DependenceSketch", first: int, second: int) -> tuple[int, int, int]:
    """The number of a pair of columns, and its columns in order."""
    i, j = min(first, second), max(first, second)
    return i * len(sketch.names) - i * (i + 1) // 2 + j - i - 1, i, j


def pair_counts(sketch: "DependenceSketch", first: int, second: int) -> NDArray[np.unsignedinteger]:
    """Counts of two columns, (bin, bin), each with a last bin for missing values."""
    place, i, j = _place(sketch, first, second)
    start, stop = sketch.plan_.offsets[place : place + 2]
    found = sketch.counts[start:stop].reshape(int(sketch.plan_.widths[i]), int(sketch.plan_.widths[j]))
    return found if first < second else found.T


def serial_counts(sketch: "DependenceSketch", first: int, second: int, *, missing: bool = False) -> SerialCounts:
    """Counts of groups of bins of two columns in consecutive blocks of rows; with `missing`, also those without the second."""
    place, i, j = _place(sketch, first, second)
    start, stop = sketch.plan_.coarse_offsets[place : place + 2]
    shape = int(sketch.plan_.coarse_widths[i]), int(sketch.plan_.coarse_widths[j])
    keys = sorted(sketch.blocks)
    stacked = np.stack([sketch.blocks[key][start:stop].reshape(shape) for key in keys]).astype(np.float64)
    groups = tuple(sketch.plan_.columns[k].coarse[:-1].astype(np.intp) for k in (i, j))
    if first > second:
        stacked, groups = stacked.transpose(0, 2, 1), groups[::-1]
    stacked = stacked[:, :-1] if missing else stacked[:, :-1, :-1]
    return SerialCounts(stacked, (groups[0], groups[1]), np.array([chain for chain, _ in keys], np.intp))


def margin_blocks(sketch: "DependenceSketch", column: int) -> SerialCounts:
    """Counts of groups of bins of one column in consecutive blocks of rows, (block, group, 1)."""
    whole = serial_counts(sketch, column, 0 if column else 1, missing=True)
    groups = whole.groups[0], np.zeros(whole.groups[1].size, np.intp)
    return SerialCounts(whole.counts.sum(axis=2, keepdims=True), groups, whole.chains)


def blocks_to_merge(sketch: "DependenceSketch") -> tuple[int, bool]:
    """How many neighbouring blocks should be one for standard errors, and whether even these are too short."""
    return block_factor([margin_blocks(sketch, k) for k in range(len(sketch.names))])
