"""Sums and quadratic forms of Stein kernels of the inverse multiquadric over all pairs of points, by threads."""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.workers import threads

# Rows are divided into this many parts, regardless of the number of threads, so that sums are added in one order.
_PARTS = 16
_THREADED = 1000  # below it starting threads takes longer than the sums
_TILE = 256  # half a megabyte of kernels: one thread's second-level cache


class Points(NamedTuple):
    """Points and their scores, (d, n)."""

    x: NDArray[np.float64]
    score: NDArray[np.float64]

    @property
    def n(self) -> int:
        """Number of points."""
        return self.x.shape[1]


class Kernel(NamedTuple):
    """The inverse multiquadric (c^2 + r^2)^beta."""

    c: float
    beta: float

    def diagonal(self, points: Points) -> NDArray[np.float64]:
        """k_p(x, x) of every point."""
        scale: float = self.c ** (2.0 * self.beta)
        squares = np.einsum("kn,kn->n", points.score, points.score)
        return np.asarray(scale * (squares - 2.0 * self.beta * len(points.x) / self.c**2))


class SteinSums(Protocol):
    """Where sums over all pairs of points are computed."""

    @property
    def single(self) -> bool:
        """Whether the last `row_sums` were sums of numbers in single precision."""

    def row_sums(self, points: Points, kernel: Kernel) -> NDArray[np.float64]:
        """Sum of k_p(x_i, x_j) over all j other than i, for every i."""

    def quadratic_forms(self, points: Points, kernel: Kernel, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """w' K w for every column w of (point, weight), K the matrix of Stein kernels."""


class ThreadedSums:
    """Sums on the processor, by a number of threads; the result does not depend on it."""

    single = False

    def __init__(self, jobs: int | None) -> None:
        self.jobs = jobs

    def row_sums(self, points: Points, kernel: Kernel) -> NDArray[np.float64]:
        """See `SteinSums`."""
        n, x, score = points.n, np.ascontiguousarray(points.x), np.ascontiguousarray(points.score)
        parts = _PARTS if n >= _THREADED else 1
        # row i has n - 1 - i columns: these edges divide the triangle into equal areas
        edges = np.rint(n * (1.0 - np.sqrt(np.linspace(1.0, 0.0, parts + 1)))).astype(int)

        def part(k: int) -> NDArray[np.float64]:
            sums = np.zeros(n)
            kernels.stein_sums(x, score, int(edges[k]), int(edges[k + 1]), kernel.c**2, kernel.beta, sums)
            return sums

        return self._summed(part, parts, n)

    def quadratic_forms(self, points: Points, kernel: Kernel, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `SteinSums`; each thread computes one tile of the matrix at a time."""
        n, x, score = points.n, np.ascontiguousarray(points.x), np.ascontiguousarray(points.score)
        ends = [(first, min(first + _TILE, n)) for first in range(0, n, _TILE)]

        def part(k: int) -> NDArray[np.float64]:
            rows, tile = ends[k], np.empty((_TILE, _TILE))
            forms = np.zeros(weights.shape[1])
            for columns in ends[k:]:
                stein = tile[: rows[1] - rows[0], : columns[1] - columns[0]]
                kernels.stein_tile(x, score, rows, columns, kernel.c**2, kernel.beta, stein)
                product = np.sum(weights[slice(*rows)] * (stein @ weights[slice(*columns)]), axis=0)
                forms += product if rows == columns else 2.0 * product
            return forms

        return self._summed(part, len(ends), n)

    def _summed(self, part: Callable[[int], NDArray[np.float64]], count: int, n: int) -> NDArray[np.float64]:
        """The sum of part(0), part(1), ..., in this order for any number of threads."""
        return reduce(np.add, map(part, range(count)) if n < _THREADED else threads(part, range(count), self.jobs))


def statistic_of(sums: NDArray[np.float64], diagonal: NDArray[np.float64], statistic: str) -> float:
    """The U- or the V-statistic from sums over each row and the diagonal."""
    n, total = sums.size, float(np.sum(sums))
    return total / (n * (n - 1.0)) if statistic == "u" else (total + float(np.sum(diagonal))) / (n * float(n))
