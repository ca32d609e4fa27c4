"""Stein kernels computed and added up in one pass over all pairs of points, by Triton, which comes with PyTorch on Linux.

Numbers that a kernel needs are passed as tensors, since Triton makes single precision of Python's own.
"""

from functools import lru_cache
from typing import Any

import torch
import triton
import triton.language as tl

from copula_discrepancy._core.tensors.launching import beside
from copula_discrepancy._core.tensors.stein import SteinPoints, products

_NOWHERE = 1e18  # a coordinate so far away that kernels with it are 0, of points that fill up the last tile
# Rows and columns of a tile, tiles added up before double precision takes over, and warps (measured on an H200, d = 2).
_SINGLE = (128, 32, 16, 4)
_DOUBLE = (32, 64, 16, 4)
_ROWS, _COLUMNS = 32, 128  # of a tile of inner products


@triton.jit
def _kernel(q, inner, product, beta, factor, last, USUAL: tl.constexpr, SINGLE: tl.constexpr):
    """q^beta (product + (factor inner + last/q)/q), the Stein kernel."""
    if USUAL:
        root = tl.rsqrt(q)
        if SINGLE:  # the instruction is accurate to two units in the last place, and biased; this step removes the bias
            root += (0.5 * root) * (1.0 - (q * root) * root)
        inverse = root * root
        power = root
    else:
        inverse = 1.0 / q
        power = tl.exp(beta * tl.log(q))
    return power * (product + inverse * (factor * inner + last * inverse))


@triton.jit
def _direct(
    x, s, constants, out, n, width, D: tl.constexpr, USUAL: tl.constexpr, SINGLE: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, FLUSH: tl.constexpr,
):  # fmt: skip
    """Sums over all columns of a tile's rows, coordinate by coordinate."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    kind: tl.constexpr = x.dtype.element_ty
    beta, factor, last, start = tl.load(constants), tl.load(constants + 1), tl.load(constants + 2), tl.load(constants + 3)
    total = tl.zeros((BM,), tl.float64)
    for first in range(0, width, FLUSH * BN):
        some = tl.zeros((BM, BN), kind)
        for begin in range(first, min(first + FLUSH * BN, width), BN):
            columns = begin + tl.arange(0, BN)
            q = tl.full((BM, BN), 1.0, kind)
            inner = tl.zeros((BM, BN), kind) + start
            product = tl.zeros((BM, BN), kind)
            for k in tl.static_range(D):
                a, b = tl.load(x + k * width + rows)[:, None], tl.load(s + k * width + rows)[:, None]
                p, r = tl.load(x + k * width + columns)[None, :], tl.load(s + k * width + columns)[None, :]
                gap = a - p
                q += gap * gap
                inner += (b - r) * gap
                product += b * r
            some += _kernel(q, inner, product, beta, factor, last, USUAL, SINGLE)
        total += tl.sum(some, 1).to(tl.float64)
    tl.store(out + rows, total, mask=rows < n)


@triton.jit
def _finish(
    points, crossed, scores, rows_of, columns_of, constants, of_rows, of_columns, height, width,
    USUAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Kernels of some rows from inner products (height, width), added up over columns, and over these rows.

    `rows_of` and `columns_of` are |x|^2 and x.s of the points of both sets, (2, point).
    """
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)
    beta, factor, last, start = tl.load(constants), tl.load(constants + 1), tl.load(constants + 2), tl.load(constants + 3)
    length = tl.load(rows_of + rows, mask=rows < height, other=0.0)[:, None]
    own = tl.load(rows_of + height + rows, mask=rows < height, other=0.0)[:, None] + start
    total = tl.zeros((BM,), tl.float64)
    for begin in range(0, width, BN):
        columns = begin + tl.arange(0, BN)
        inside = (rows < height)[:, None] & (columns < width)[None, :]
        places = rows[:, None] * width + columns[None, :]
        lengths = length + tl.load(columns_of + columns, mask=columns < width, other=0.0)[None, :]
        owns = own + tl.load(columns_of + width + columns, mask=columns < width, other=0.0)[None, :]
        q = 1.0 + tl.maximum(lengths - 2.0 * tl.load(points + places, mask=inside, other=0.0), 0.0)
        inner = owns - tl.load(crossed + places, mask=inside, other=0.0)
        product = tl.load(scores + places, mask=inside, other=0.0)
        kernel = tl.where(inside, _kernel(q, inner, product, beta, factor, last, USUAL, False), 0.0)
        total += tl.sum(kernel, 1)
        tl.store(of_columns + tl.program_id(0).to(tl.int64) * width + columns, tl.sum(kernel, 0), mask=columns < width)
    tl.store(of_rows + rows, total, mask=rows < height)


def direct_sums(points: SteinPoints, dtype: Any) -> Any:
    """Sums of Stein kernels over rows, the diagonal included, of points of few dimensions."""
    single = dtype == torch.float32
    height, width, flush, warps = _SINGLE if single else _DOUBLE
    n, d = points.n, points.d
    padded = -(-n // max(height, width)) * max(height, width)
    x, s = (points.x.new_zeros((d, padded), dtype=dtype) for _ in range(2))
    x[:, :n], s[:, :n] = points.x, points.s
    x[0, n:] = _NOWHERE
    out = points.x.new_empty(n, dtype=torch.float64)
    with beside(out):
        _direct[(padded // height,)](
            x, s, _constants(points, dtype), out, n, padded, d, points.beta == -0.5, single, height, width, flush,
            num_warps=warps,
        )  # fmt: skip
    return out


def fused_sums(first: SteinPoints, second: SteinPoints) -> tuple[Any, Any]:
    """Sums of the Stein kernels of two sets of points over the second, and over the first, from inner products."""
    of_rows = first.x.new_empty(first.n)
    of_columns = first.x.new_empty((-(-first.n // _ROWS), second.n))
    with beside(of_rows):
        _finish[(len(of_columns),)](
            *products(first, second), first.lengths.contiguous(), second.lengths.contiguous(),
            _constants(first, torch.float64), of_rows, of_columns, first.n, second.n, first.beta == -0.5, _ROWS, _COLUMNS,
            num_warps=4,
        )  # fmt: skip
    return of_rows, of_columns.sum(dim=0)


@lru_cache(maxsize=16)
def _kept_constants(beta: float, d: int, dtype: Any, device: Any) -> Any:
    numbers = [beta, -2.0 * beta, 4.0 * beta * (beta - 1.0), d + 2.0 * (beta - 1.0)]
    return torch.tensor(numbers, dtype=dtype, device=device)


def _constants(points: SteinPoints, dtype: Any) -> Any:
    return _kept_constants(points.beta, points.d, dtype, points.x.device)  # once: copying them waits for the device
