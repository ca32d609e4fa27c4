"""Evaluation of long arrays block by block: temporaries stay in the cache, and little new memory is allocated."""

import threading
from collections.abc import Callable, Iterable

import numpy as np

from copula_discrepancy._core.checks import FloatArray, Pair

Unit = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # u, 1-u, v, 1-v

SCRATCH_LIMIT = 2**20  # draws: a thread keeps at most 16 MB
BLOCK = 8192  # 64 KB per temporary: a formula with a dozen of them stays in the second-level cache


def blocks(size: int) -> list[slice]:
    """Slices of at most BLOCK elements."""
    return [slice(start, start + BLOCK) for start in range(0, size, BLOCK)]


def in_blocks(function: Callable[..., FloatArray], *arrays: FloatArray) -> FloatArray:
    """`function` of one-dimensional arrays, one or several values for each element, block by block.

    Temporaries stay in cache; allocating memory is expensive.
    """
    if arrays[0].size <= BLOCK:
        return function(*arrays)
    head, *others = blocks(arrays[0].size)
    first = function(*(array[head] for array in arrays))
    out = np.empty((*first.shape[:-1], arrays[0].size))
    out[..., head] = first
    for block in others:
        out[..., block] = function(*(array[block] for array in arrays))
    return out


def in_unit_blocks(function: Callable[[Unit], FloatArray], u: FloatArray, v: FloatArray) -> FloatArray:
    """`function` of (u, 1-u, v, 1-v) at points of any shape, one or several values for each, block by block."""

    def part(a: FloatArray, b: FloatArray) -> FloatArray:
        return function((a, 1.0 - a, b, 1.0 - b))

    if u.size <= BLOCK:
        return part(u, v)
    out = in_blocks(part, u.reshape(-1), v.reshape(-1))
    return out.reshape(*out.shape[:-1], *u.shape)


def odd_in_blocks(function: Callable[..., FloatArray], *arrays: FloatArray) -> FloatArray:
    """`in_blocks` for values that are antisymmetric under reversal of the array: only half of them are computed."""
    size = arrays[0].size
    half = in_blocks(function, *(array[: (size + 1) // 2] for array in arrays))
    return np.concatenate([half, -half[: size // 2][::-1]])


_scratch = threading.local()


def _scratch_pair(n: int) -> FloatArray:
    """Two rows of n floats that this thread reuses: the first access to new pages costs more than filling them."""
    if n > SCRATCH_LIMIT:
        return np.empty((2, n))
    kept = getattr(_scratch, "pair", None)
    if kept is None or kept.shape[1] < n:
        kept = _scratch.pair = np.empty((2, n))
    return np.asarray(kept[:, :n])


def stack_blocks(parts: Iterable[Pair], n: int, *, reuse: bool = False) -> Pair:
    """Two arrays of length n from the blocks of both; with `reuse` they are valid until this thread's next such call."""
    first, second = _scratch_pair(n) if reuse else np.empty((2, n))
    at = 0
    for x, y in parts:
        first[at : at + x.size] = x
        second[at : at + x.size] = y
        at += x.size
    if at != n:
        raise RuntimeError(f"{at} coordinates for {n} draws")  # otherwise stale numbers of an earlier call would remain
    return first, second
