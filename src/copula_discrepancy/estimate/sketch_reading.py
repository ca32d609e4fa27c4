"""The counts of a sketch: of two columns, and of consecutive blocks of their rows."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.serial import SerialCounts, block_factor

if TYPE_CHECKING:
    from copula_discrepancy.estimate.sketch import DependenceSketch

# Chains of their own do not have the same counts by chance, nor because both stand still, in so many groups and blocks.
_FEWEST_GROUPS, _FEWEST_BLOCKS = 10, 2


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


def repeated_counts(sketch: "DependenceSketch") -> dict[int, int]:
    """Chains whose rows have the same counts as an earlier chain's in every block, such as a file that was counted twice."""
    if len(sketch.chain_rows) < 2:
        return {}
    chains: dict[int, list[tuple[int, NDArray[np.unsignedinteger]]]] = {}
    for (chain, place), block in sorted(sketch.blocks.items(), key=lambda item: item[0]):
        chains.setdefault(chain, []).append((place, block))
    seen: dict[bytes, int] = {}
    firsts: dict[int, int] = {}
    for chain, blocks in chains.items():
        digest = sha256()
        for place, block in blocks:
            digest.update(place.to_bytes(8) + block.astype(np.uint64).tobytes())
        firsts[chain] = seen.setdefault(digest.digest(), chain)
    return {
        chain: first
        for chain, first in firsts.items()
        if first != chain and _tells_apart(sketch, [block for _, block in chains[chain]])
    }  # fmt: skip


def _tells_apart(sketch: "DependenceSketch", blocks: list[NDArray[np.unsignedinteger]]) -> bool:
    """Whether the counts of a chain's blocks are so many that another chain does not have them by chance."""
    rows = np.sum(blocks, axis=0, dtype=np.int64) > 0
    groups = np.add.reduceat(rows.astype(np.int64), sketch.plan_.coarse_offsets[:-1])  # of each pair of columns
    return len(blocks) >= _FEWEST_BLOCKS and int(groups.max()) >= _FEWEST_GROUPS


def with_chains_as_one(sketch: "DependenceSketch", repeats: Mapping[int, int]) -> "DependenceSketch":
    """The sketch with the blocks of some chains added to those of others: what they do has happened once, to more rows.

    The counts of all rows are those of all chains and cannot be divided; means are then over rows that count several times, and
    their errors, from sums over blocks, account for that.
    """
    blocks: dict[tuple[int, int], NDArray[np.unsignedinteger]] = {}
    for (chain, place), block in sketch.blocks.items():
        key = repeats.get(chain, chain), place
        blocks[key] = blocks[key] + block if key in blocks else block
    rows: dict[int, int] = {}
    for chain, count in sketch.chain_rows.items():
        first = repeats.get(chain, chain)
        rows[first] = rows.get(first, 0) + count
    return replace(sketch, blocks=blocks, chain_rows=rows)
