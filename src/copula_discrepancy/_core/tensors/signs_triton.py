"""Signs of differences between ranks in one pass, by Triton; see `ranks`."""

from typing import Any

import torch
import triton
import triton.language as tl

from copula_discrepancy._core.tensors.launching import beside

_OTHERS, _VARIABLES = 16, 128  # of a tile


@triton.jit
def _signs(ranks, out, first, start, others, width, BM: tl.constexpr, BN: tl.constexpr):
    """Half-precision signs of one draw minus some others, (other, variable)."""
    row = tl.program_id(0).to(tl.int64)
    others_at = tl.program_id(1) * BM + tl.arange(0, BM)
    for begin in range(0, width, BN):
        columns = begin + tl.arange(0, BN)
        mine = tl.load(ranks + (first + row) * width + columns, mask=columns < width, other=0)[None, :]
        inside = (others_at < others)[:, None] & (columns < width)[None, :]
        theirs = tl.load(ranks + (start + others_at)[:, None].to(tl.int64) * width + columns[None, :], mask=inside, other=0)
        sign = (mine > theirs).to(tl.float16) - (mine < theirs).to(tl.float16)
        places = (row * others + others_at[:, None]) * width + columns[None, :]
        tl.store(out + places, sign, mask=inside)


def signs(ranks: Any, some: slice, start: int) -> Any:
    """Signs of the differences between some draws and those from `start` on, (draw, other draw, variable), in half precision.

    `ranks` is (draw, variable).
    """
    n, width = ranks.shape
    others = n - start
    out = ranks.new_empty((some.stop - some.start, others, width), dtype=torch.float16)
    with beside(out):
        grid = (some.stop - some.start, -(-others // _OTHERS))
        _signs[grid](ranks, out, some.start, start, others, width, _OTHERS, _VARIABLES, num_warps=4)
    return out
