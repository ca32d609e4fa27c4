"""Pairs of variables without each of several blocks of consecutive draws, for the block jackknife (Kunsch, 1989)."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.ranked_pairs import Places

# Effective draws of the margins below which second-order terms matter: with 200, the standard error of shape is 15% larger than
# influence values indicate (GARCH), with 100 a third; above 500 the size of the tests is within one percent of its level.
SLOW = 500.0
_INDEPENDENT = 0.5  # fraction of all draws: with more effective ones the chain is short, not slow
_PER_BLOCK = 12.0  # effective draws of the margins in a block, so that blocks are nearly independent
_FEWEST, _MOST = 8, 20  # number of blocks: fewer leave too few degrees of freedom, more cost time for little gain


def is_slow(margin_size: Any, n: int) -> Any:
    """Whether margins are known from so few independent stretches that second-order terms matter."""
    return margin_size < min(SLOW, _INDEPENDENT * n)


def blocks_of(margin_size: float, n: int, n_chains: int) -> list[tuple[int, int]]:
    """Start and end of each block of draws: parts of chains, or whole chains if there are many."""
    wanted = min(max(margin_size / _PER_BLOCK, _FEWEST), _MOST)
    if n_chains > _MOST:
        edges = np.linspace(0, n_chains, _MOST + 1).astype(int) * (n // n_chains)
    else:
        edges = np.linspace(0, n, n_chains * math.ceil(wanted / n_chains) + 1).astype(int)
    return list(pairwise(edges.tolist()))


def with_equal_blocks(sizes: NDArray[np.float64], chosen: Places, n: int, n_chains: int) -> Iterator[tuple[Places, Any]]:
    """Groups of pairs that have the same blocks, by the effective sizes of their margins, and these blocks."""
    layouts: dict[int, tuple[list[int], list[tuple[int, int]]]] = {}
    for k in chosen.tolist():
        blocks = blocks_of(float(sizes[k]), n, n_chains)
        layouts.setdefault(len(blocks), ([], blocks))[0].append(k)
    for members, blocks in layouts.values():
        yield np.array(members, np.intp), blocks
