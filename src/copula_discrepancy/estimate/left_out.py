"""A pair of variables without each of several blocks of consecutive draws, for the block jackknife (Kunsch, 1989)."""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from copula_discrepancy._core import kernels
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.ranks import RankedColumn

# Effective draws of the margins below which second-order terms matter: with 200, the standard error of shape is 15% larger than
# influence values indicate (GARCH), with 100 a third; above 500 the size of the tests is within one percent of its level.
SLOW = 500.0
_INDEPENDENT = 0.5  # fraction of all draws: with more effective ones the chain is short, not slow
_PER_BLOCK = 12.0  # effective draws of the margins in a block, so that blocks are nearly independent
_FEWEST, _MOST = 8, 20  # number of blocks: fewer leave too few degrees of freedom, more cost time for little gain


def is_slow(pair: RankedPair) -> bool:
    """Whether the margins are known from so few independent stretches that second-order terms matter."""
    return pair.margin_size < min(SLOW, _INDEPENDENT * pair.n)


def parts_without_blocks(pair: RankedPair) -> Iterator[RankedPair]:
    """The pair without each block in turn."""
    for block in _blocks(pair):
        columns = _without(pair.first, block), _without(pair.second, block)
        yield RankedPair(columns[0].rank, columns[1].rank, ranked=columns)


def _blocks(pair: RankedPair) -> list[tuple[int, int]]:
    """Start and end of each block of draws: parts of chains, or whole chains if there are many."""
    wanted = min(max(pair.margin_size / _PER_BLOCK, _FEWEST), _MOST)
    if pair.n_chains > _MOST:
        edges = np.linspace(0, pair.n_chains, _MOST + 1).astype(int) * (pair.n // pair.n_chains)
    else:
        edges = np.linspace(0, pair.n, pair.n_chains * math.ceil(wanted / pair.n_chains) + 1).astype(int)
    return list(pairwise(edges.tolist()))


def _without(column: RankedColumn, block: tuple[int, int]) -> RankedColumn:
    """A ranked column without a block of its draws."""
    order, rank, ties = kernels.leave_out(column.order, column.rank, *block)
    return RankedColumn(order, rank, int(ties))
