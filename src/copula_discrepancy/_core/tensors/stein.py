"""Sums and quadratic forms of the Stein kernel of the inverse multiquadric over all pairs of points, on tensors.

With q = 1 + |x - y|^2 and points and scores in units of c, see `kernels.stein`, the Stein kernel is

    k_p(x, y) = q^beta [s_x.s_y - 2 beta ((s_x - s_y).(x - y) + d + 2 (beta - 1))/q + 4 beta (beta - 1)/q^2].

In few dimensions differences of coordinates are formed one by one; in many, inner products of all points by matrix products,
|x - y|^2 = |x|^2 + |y|^2 - 2 x.y, of points about their mean. A graphics processor for which Triton is there computes and adds
up kernels without storing them, see `stein_triton`; the operations here are the same ones, a tile at a time.
"""

from typing import Any, NamedTuple

import torch

from copula_discrepancy._core.tensors.launching import fused

FEW_DIMENSIONS = 4  # up to this many, coordinates one by one take less time than matrix products (measured on an H200)
_TENSORS = 8.0  # of the size of a tile that are needed at a time
_LARGEST_TILE = 16384  # points: larger ones are not faster
# With more operations than this, single precision is used: by then double precision takes about 0.2 s more on an H200.
_MANY_OPERATIONS = 3e12
_FAR = 100.0  # points this far from their mean, in units of c, are too coarse in single precision


class SteinPoints(NamedTuple):
    """Points about their mean and scores, (d, n), both in units of c, and |x|^2 and x.s, (2, n).

    `beta` is the kernel's power, and `unit` that of its values.
    """

    x: Any
    s: Any
    lengths: Any
    beta: float
    unit: float

    @classmethod
    def of(cls, x: Any, s: Any, c: float, beta: float) -> "SteinPoints":
        """From points and scores (d, n) in double precision."""
        x, s = (x - x.mean(dim=1, keepdim=True)) / c, s * c
        lengths = torch.stack([(x * x).sum(dim=0), (x * s).sum(dim=0)])
        return cls(x, s, lengths, beta, c ** (2.0 * beta - 2.0))

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.x.shape[1])

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return int(self.x.shape[0])

    def at(self, part: slice) -> "SteinPoints":
        """Some of the points."""
        return SteinPoints(self.x[:, part], self.s[:, part], self.lengths[:, part], self.beta, self.unit)

    def diagonal(self) -> Any:
        """k_p(x, x) of every point, in its unit."""
        return (self.s * self.s).sum(dim=0) - 2.0 * self.beta * self.d


def in_single_precision(points: SteinPoints) -> bool:
    """Whether `row_sums` computes kernels in single precision: for very many points of few dimensions, on a graphics processor.

    Sums are in double precision, and so is the diagonal. Measured errors are below 1e-10 of the mean absolute kernel, and
    1e-7 of a V-statistic.
    """
    if not fused(points.x) or points.d > FEW_DIMENSIONS or points.beta != -0.5:
        return False
    operations = float(points.n) ** 2 * (5.0 * points.d + 20.0)
    return operations > _MANY_OPERATIONS and float(points.x.abs().max()) <= _FAR


def row_sums(points: SteinPoints, budget: float) -> Any:
    """Sum of k_p(x_i, x_j) over all j other than i, for every i; `budget` is the memory that tiles may take, in bytes."""
    if fused(points.x) and points.d <= FEW_DIMENSIONS:
        from copula_discrepancy._core.tensors.stein_triton import direct_sums

        sums = direct_sums(points, torch.float32 if in_single_precision(points) else torch.float64)
    else:
        sums = _tiled_sums(points, budget)
    return (sums - points.diagonal()) * points.unit


def quadratic_forms(points: SteinPoints, weights: Any, budget: float) -> Any:
    """w' K w for every column w of (point, weight), K the matrix of Stein kernels."""
    forms = weights.new_zeros(weights.shape[1])
    for rows, columns in _tiles(points.n, budget):
        kernels = _kernels(points.at(rows), points.at(columns))
        product = (weights[rows] * (kernels @ weights[columns])).sum(dim=0)
        forms += product if rows == columns else 2.0 * product
    return forms * points.unit


def _tiles(n: int, budget: float) -> list[tuple[slice, slice]]:
    """Tiles of the upper triangle of an (n, n) matrix, those on the diagonal included."""
    size = int(min(max((budget / (8.0 * _TENSORS)) ** 0.5, 1.0), n, _LARGEST_TILE))
    parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    return [(rows, columns) for k, rows in enumerate(parts) for columns in parts[k:]]


def _tiled_sums(points: SteinPoints, budget: float) -> Any:
    """Sums over rows, the diagonal included, tile by tile; each unordered pair is visited once."""
    sums = points.x.new_zeros(points.n)
    add = _added
    if fused(points.x):
        from copula_discrepancy._core.tensors.stein_triton import fused_sums as add
    for rows, columns in _tiles(points.n, budget):
        of_rows, of_columns = add(points.at(rows), points.at(columns))
        sums[rows] += of_rows
        if rows != columns:
            sums[columns] += of_columns
    return sums


def _added(first: SteinPoints, second: SteinPoints) -> tuple[Any, Any]:
    kernels = _kernels(first, second)
    return kernels.sum(dim=1), kernels.sum(dim=0)


def _kernels(first: SteinPoints, second: SteinPoints) -> Any:
    """Stein kernels of two sets of points, (first, second)."""
    distance, inner, product = _differences(first, second) if first.d <= FEW_DIMENSIONS else _inner_products(first, second)
    q = distance.add_(1.0)
    inverse = 1.0 / q
    beta = first.beta
    inner += first.d + 2.0 * (beta - 1.0)
    inner *= -2.0 * beta
    inner += 4.0 * beta * (beta - 1.0) * inverse
    product += inner.mul_(inverse)
    return product.mul_(inverse.sqrt_() if beta == -0.5 else q.pow_(beta))


def _differences(first: SteinPoints, second: SteinPoints) -> tuple[Any, Any, Any]:
    """|x - y|^2, (s_x - s_y).(x - y) and s_x.s_y of all points of two sets, coordinate by coordinate."""
    shape = (first.n, second.n)
    distance, inner, product = (first.x.new_zeros(shape) for _ in range(3))
    for x, s, y, r in zip(first.x, first.s, second.x, second.s, strict=True):
        gap = x[:, None] - y
        distance.addcmul_(gap, gap)
        inner.addcmul_(s[:, None] - r, gap)
        product.addcmul_(s[:, None], r[None])
    return distance, inner, product


def _inner_products(first: SteinPoints, second: SteinPoints) -> tuple[Any, Any, Any]:
    """The same from products of matrices."""
    points, crossed, scores = products(first, second)
    distance, own = (mine[:, None] + theirs for mine, theirs in zip(first.lengths, second.lengths, strict=True))
    return distance.sub_(points, alpha=2.0).clamp_(min=0.0), own.sub_(crossed), scores


def products(first: SteinPoints, second: SteinPoints) -> tuple[Any, Any, Any]:
    """x.y, s_x.y + x.s_y and s_x.s_y of all points of two sets, by matrix products."""
    crossed = torch.cat((first.s, first.x)).T @ torch.cat((second.x, second.s))
    return first.x.T @ second.x, crossed, first.s.T @ second.s
