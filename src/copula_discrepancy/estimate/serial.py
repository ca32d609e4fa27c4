"""Serial dependence of rows that were counted in consecutive blocks: variances of sums over blocks against those of rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MERGED = 4  # blocks that are one of the next length
_FEWEST = 16  # merged blocks that determine a variance
_ALIKE, _BEYOND_CHANCE = 0.1, 2.5  # mean squared correlation of variables, and standard errors that are no chance
_LEAST = 1e-6  # of a variance: sums over blocks that are equal by chance do not make a mean exact
_GROWTH = 0.1  # of a variance, by which blocks four times as long may exceed it: what a block of ten times the memory misses


@dataclass(frozen=True, eq=False)
class SerialCounts:
    """Counts of groups of cells in consecutive blocks of rows.

    Attributes
    ----------
    counts : array (block, group, group)
        Rows in each pair of groups of bins.
    groups : two arrays of int
        The group of each bin of either variable.
    chains : array (block,)
        The chain of each block; blocks are in the order of the rows.
    """

    counts: Array
    groups: tuple[NDArray[np.intp], NDArray[np.intp]]
    chains: NDArray[np.intp]

    @property
    def n_chains(self) -> int:
        """The number of chains."""
        return int(np.unique(self.chains).size)

    def group_means(self, counts: Array, values: Array) -> Array:
        """The mean of values (bin, bin, ...) over the rows in each pair of groups: (group, group, ...)."""
        weight = counts.reshape(*counts.shape, *(1,) * (values.ndim - 2))
        sums, rows = values * weight, counts
        for axis, groups in enumerate(self.groups):
            order = np.argsort(groups, kind="stable")
            starts = np.searchsorted(groups[order], np.arange(self.counts.shape[axis + 1]))
            # a group that no row is in has no bin of this pair
            sums, rows = (_reduced(part, order, starts, groups.size, axis) for part in (sums, rows))
        return np.asarray(sums / np.maximum(rows.reshape(*rows.shape, *(1,) * (values.ndim - 2)), 1.0))

    def block_sums(self, means: Array) -> Array:
        """Sums over the rows of each block of a function with these means in the groups, centred: (block, ...)."""
        flat = self.counts.reshape(len(self.counts), -1)
        values = means.reshape(flat.shape[1], -1)
        total = flat.sum(axis=0)
        values = values - (total @ values) / total.sum()
        return np.asarray(flat @ values)

    def ratios(self, means: Array) -> tuple[Array, Array]:
        """The long-run variance over the variance of functions, (group, group, function), and its degrees of freedom."""
        sums = self.block_sums(means)
        total = self.counts.sum(axis=0).ravel()
        values = means.reshape(total.size, -1)
        centred = values - (total @ values) / total.sum()
        ratio = _ratio(sums, total @ centred**2)
        return ratio, np.full_like(ratio, len(sums) - 1.0)

    def merged(self, factor: int) -> "SerialCounts":
        """The same with so many neighbouring blocks of a chain as one."""
        if factor == 1:
            return self
        counts, chains = [], []
        for chain in np.unique(self.chains):
            own = self.counts[self.chains == chain]
            parts = np.add.reduceat(own, np.arange(0, len(own), factor), axis=0)
            counts.append(parts)
            chains += [chain] * len(parts)
        return SerialCounts(np.concatenate(counts), self.groups, np.array(chains, np.intp))

    def halves(self, means: Array) -> tuple[Array, Array]:
        """Means over the first and the last half of the blocks of every chain, (half, function), and the rows in them."""
        sums, rows = self.block_sums(means), self.counts.sum(axis=(1, 2))
        found, sizes = [], []
        for chain in np.unique(self.chains):
            places = np.flatnonzero(self.chains == chain)
            middle = len(places) // 2
            for part in (places[:middle], places[middle:]):
                if part.size:
                    size = float(rows[part].sum())
                    found.append(sums[part].sum(axis=0) / max(size, 1.0))
                    sizes.append(size)
        return np.array(found), np.array(sizes)


def _reduced(part: Array, order: NDArray[np.intp], starts: NDArray[np.intp], size: int, axis: int) -> Array:
    """Sums over the bins of each group along an axis; 0 for a group without bins."""
    moved = np.take(part, order, axis=axis)
    stops = np.append(starts[1:], size)
    found = np.add.reduceat(moved, np.minimum(starts, size - 1), axis=axis)
    empty = starts == stops
    if empty.any():
        index: list[slice | NDArray[np.bool_]] = [slice(None)] * found.ndim
        index[axis] = empty
        found[tuple(index)] = 0.0
    return found


def _ratio(sums: Array, variance: Array) -> Array:
    blocks = len(sums)
    if blocks < 2:
        return np.ones(variance.shape)
    known = variance > 0.0  # what does not vary has no serial dependence either
    found = np.sum(sums**2, axis=0) * blocks / (blocks - 1.0) / np.where(known, variance, 1.0)
    return np.where(known, np.maximum(found, _LEAST), 1.0)


def block_factor(margins: Sequence[SerialCounts]) -> tuple[int, bool]:
    """How many neighbouring blocks should be one, and whether even these are too short.

    Each of `margins` has the counts of one variable in blocks, (block, group, 1). If rows are dependent over stretches as long
    as a block, blocks four times as long show more of it. One variable says little about that, all of them together enough.
    """
    factor = 1
    while True:
        grown, spread = _growth(margins, factor)
        if not grown > spread:
            return factor, False
        if len(margins[0].merged(_MERGED * factor).counts) < _FEWEST:
            return factor, True
        factor *= _MERGED


def _growth(margins: Sequence[SerialCounts], factor: int) -> tuple[float, float]:
    """By how much, in logarithms, blocks four times as long say that rows are more dependent, and how much is chance."""
    logs = []
    for margin in margins:
        shares = margin.counts.sum(axis=0).ravel()
        middle = (np.cumsum(shares) - 0.5 * shares) / max(float(shares.sum()), 1.0)
        functions = np.stack([middle - 0.5, (middle - 0.5) ** 2], axis=-1)[:, None]
        ratios = [margin.merged(size).ratios(functions)[0] for size in (factor, _MERGED * factor)]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.log(ratios[1] / ratios[0])
        logs += [float(x) for x in found if math.isfinite(x)]
    if not logs:
        return 0.0, 0.0
    blocks = len(margins[0].merged(_MERGED * factor).counts)
    # the logarithm of a variance from so many blocks has the variance 2/blocks; variables that are dependent say the same
    chance = math.sqrt(2.0 / blocks * (1.0 / len(logs) + _ALIKE))
    return float(np.mean(logs)), _GROWTH + _BEYOND_CHANCE * chance


def rhat_of_halves(halves: Array, sizes: Array, variance: Array) -> Array:
    """Split R-hat of functions from means of halves of chains, (half, function), and the variance of a row."""
    parts = len(halves)
    if parts < 2:
        return np.full(halves.shape[1:], math.nan)
    length = float(np.mean(sizes))
    apart = np.var(halves, axis=0)
    within = np.maximum(variance - apart, 1e-300) * length / (length - 1.0)
    between = length * apart * parts / (parts - 1.0)
    return np.asarray(np.sqrt((between / within + length - 1.0) / length))
