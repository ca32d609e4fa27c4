"""The influence values of coefficients of form, for pairs of variables without ties, by Triton; see `kernels.form`.

A coefficient is the mean of phi_j(U) phi_k(V). The value of a draw is this product, and the effect of its ranks on those of all
others: for the first variable 1/n times the sum of phi_j'(U) phi_k(V) over all larger draws, and half its own. In the order of
that variable these are sums up to a place, so that each row of values is read and written a few times only.
"""

from typing import Any

import triton
import triton.language as tl

from copula_discrepancy._core.tensors.launching import beside

_DRAWS = 1024  # of a row at a time


@triton.jit
def _first_side(
    orders, ranks, first, second, basis, values, means, n, ORDER: tl.constexpr, ROWS: tl.constexpr, DRAWS: tl.constexpr,
):  # fmt: skip
    """phi_j(U) phi_k(V) and the effects of the ranks of U, for one pair, one k and all j; draws in the order of U."""
    pair, k = tl.program_id(0).to(tl.int64), tl.program_id(1)
    order = orders + tl.load(first + pair) * n
    rank = ranks + tl.load(second + pair) * n
    j = tl.arange(0, ROWS)
    used = (j < ORDER)[:, None]
    steep = basis + ORDER * n
    total = tl.zeros((ROWS,), tl.float64)
    mean = tl.zeros((ROWS,), tl.float64)
    for start in range(0, n, DRAWS):
        place = start + tl.arange(0, DRAWS)
        inside = place < n
        draw = tl.load(order + place, mask=inside, other=0)
        other = tl.load(basis + k * n + tl.load(rank + draw, mask=inside, other=0), mask=inside, other=0.0)[None, :]
        at = j[:, None] * n + place[None, :]
        total += tl.sum(tl.load(steep + at, mask=used & inside[None, :], other=0.0) * other, 1)
        mean += tl.sum(tl.load(basis + at, mask=used & inside[None, :], other=0.0) * other, 1)
    cells = (pair * ORDER + j) * ORDER + k
    tl.store(means + cells, mean / n, mask=j < ORDER)
    before = tl.zeros((ROWS,), tl.float64)
    for start in range(0, n, DRAWS):
        place = start + tl.arange(0, DRAWS)
        inside = place < n
        draw = tl.load(order + place, mask=inside, other=0)
        other = tl.load(basis + k * n + tl.load(rank + draw, mask=inside, other=0), mask=inside, other=0.0)[None, :]
        at = j[:, None] * n + place[None, :]
        slope = tl.load(steep + at, mask=used & inside[None, :], other=0.0) * other
        above = total[:, None] - before[:, None] - tl.cumsum(slope, 1) + 0.5 * slope
        before += tl.sum(slope, 1)
        value = tl.load(basis + at, mask=used & inside[None, :], other=0.0) * other + above / n
        tl.store(values + cells[:, None] * n + draw[None, :], value, mask=used & inside[None, :])


@triton.jit
def _second_side(
    orders, ranks, first, second, basis, fitted, slopes, values, squares, fourths, n, TAKEN: tl.constexpr,
    ORDER: tl.constexpr, ROWS: tl.constexpr, DRAWS: tl.constexpr,
):  # fmt: skip
    """Add the effects of the ranks of V, for one pair, one j and all k, take fitted values off, and the mean of each row."""
    pair, j = tl.program_id(0).to(tl.int64), tl.program_id(1)
    order = orders + tl.load(second + pair) * n
    rank = ranks + tl.load(first + pair) * n
    k = tl.arange(0, ROWS)
    used = (k < ORDER)[:, None]
    steep = basis + ORDER * n
    total = tl.zeros((ROWS,), tl.float64)
    for start in range(0, n, DRAWS):
        place = start + tl.arange(0, DRAWS)
        inside = place < n
        draw = tl.load(order + place, mask=inside, other=0)
        other = tl.load(basis + j * n + tl.load(rank + draw, mask=inside, other=0), mask=inside, other=0.0)[None, :]
        total += tl.sum(tl.load(steep + k[:, None] * n + place[None, :], mask=used & inside[None, :], other=0.0) * other, 1)
    cells = (pair * ORDER + j) * ORDER + k
    before = tl.zeros((ROWS,), tl.float64)
    mean = tl.zeros((ROWS,), tl.float64)
    if TAKEN:
        often = tl.load(slopes + cells, mask=k < ORDER, other=0.0)[:, None]
    for start in range(0, n, DRAWS):
        place = start + tl.arange(0, DRAWS)
        inside = place < n
        draw = tl.load(order + place, mask=inside, other=0)
        other = tl.load(basis + j * n + tl.load(rank + draw, mask=inside, other=0), mask=inside, other=0.0)[None, :]
        both = used & inside[None, :]
        slope = tl.load(steep + k[:, None] * n + place[None, :], mask=both, other=0.0) * other
        above = total[:, None] - before[:, None] - tl.cumsum(slope, 1) + 0.5 * slope
        before += tl.sum(slope, 1)
        at = values + cells[:, None] * n + draw[None, :]
        value = tl.load(at, mask=both, other=0.0) + above / n
        if TAKEN:
            value -= often * tl.load(fitted + pair * n + draw, mask=inside, other=0.0)[None, :]
        value = tl.where(both, value, 0.0)
        mean += tl.sum(value, 1)
        tl.store(at, value, mask=both)
    mean = mean / n
    second_moment = tl.zeros((ROWS,), tl.float64)
    fourth_moment = tl.zeros((ROWS,), tl.float64)
    tl.debug_barrier()  # what other threads of this program wrote is read below
    for start in range(0, n, DRAWS):
        draw = start + tl.arange(0, DRAWS)
        both = used & (draw < n)[None, :]
        at = values + cells[:, None] * n + draw[None, :]
        value = tl.where(both, tl.load(at, mask=both, other=0.0) - mean[:, None], 0.0)
        square = value * value
        second_moment += tl.sum(square, 1)
        fourth_moment += tl.sum(square * square, 1)
        tl.store(at, value, mask=both)
    tl.store(squares + cells, second_moment, mask=k < ORDER)
    tl.store(fourths + cells, fourth_moment, mask=k < ORDER)


def form_values(
    columns: tuple[Any, Any], first: Any, second: Any, basis: Any, fitted: tuple[Any, Any] | None
) -> tuple[Any, Any, Any, Any]:
    """Values (pair, cell, draw) about their means, coefficients, and sums of second and fourth powers, (pair, cell).

    Parameters
    ----------
    columns : two tensors (variable, draw)
        The draws in ascending order, and the ranks, of all variables, in 32 bits.
    first, second : tensor (pair,)
        The variables of each pair.
    basis : tensor (2, order, rank)
        Polynomials of all ranks, and their derivatives.
    fitted : two tensors, optional
        Influence values of fitted taus, (pair, draw), and how many times of them are taken off, (pair, cell).
    """
    orders, ranks = columns
    pairs, n, order = first.numel(), orders.shape[1], basis.shape[1]
    values = basis.new_empty((pairs, order * order, n))
    means, squares, fourths = (basis.new_empty((pairs, order * order)) for _ in range(3))
    sizes = {"ORDER": order, "ROWS": triton.next_power_of_2(order), "DRAWS": min(_DRAWS, triton.next_power_of_2(n))}
    taken = (basis, basis) if fitted is None else tuple(part.contiguous() for part in fitted)
    with beside(values):
        _first_side[(pairs, order)](orders, ranks, first, second, basis, values, means, n, **sizes, num_warps=4)
        _second_side[(pairs, order)](
            orders, ranks, first, second, basis, *taken, values, squares, fourths, n, TAKEN=fitted is not None, **sizes,
            num_warps=4,
        )  # fmt: skip
    return values, means, squares, fourths
