"""Sums of the Stein kernel of the inverse multiquadric over all pairs of points, tile by tile.

With q = c^2 + |x - y|^2 and k = q^beta the Stein kernel is

    k_p(x, y) = q^beta [s_x.s_y - 2 beta ((s_x - s_y).(x - y) + d)/q - 4 beta (beta - 1) |x - y|^2/q^2].

Coordinates are rows, so that the innermost loop runs over adjacent memory and is vectorised. A tile's columns stay in the
first-level cache while the rows are processed.
"""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled

TILE = 512  # columns: four rows of 4 KB for points and scores and one for their sums


# The row functions take slices that start at 0 and the row's own values as scalars: only then can the compiler prove that
# nothing overlaps and vectorise, which is four times as fast.
@compiled(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "arcp"})
def _plane_row(a0, a1, b0, b1, x0, x1, s0, s1, c2, sums):
    """Stein kernels of one point (a, b) with those of a tile, two dimensions and beta = -1/2: the case of every copula."""
    total = 0.0
    for j in range(x0.size):
        d0 = a0 - x0[j]
        d1 = a1 - x1[j]
        r2 = d0 * d0 + d1 * d1
        inverse = 1.0 / (c2 + r2)
        inner = (b0 - s0[j]) * d0 + (b1 - s1[j]) * d1 + 2.0
        term = np.sqrt(inverse) * (b0 * s0[j] + b1 * s1[j] + inverse * (inner - 3.0 * r2 * inverse))
        sums[j] += term
        total += term
    return total


@compiled(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _add_dimension(a, b, x, s, r2, inner, product):
    for j in range(x.size):
        gap = a - x[j]
        r2[j] += gap * gap
        inner[j] += (b - s[j]) * gap
        product[j] += b * s[j]


@compiled(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "arcp"})
def _finish_row(d, c2, beta, r2, inner, product, sums):
    """Stein kernels from distances and inner products, which are reset to 0."""
    total = 0.0
    usual = beta == -0.5
    for j in range(sums.size):
        q = c2 + r2[j]
        inverse = 1.0 / q
        kernel = np.sqrt(inverse) if usual else q**beta
        term = kernel * (product[j] - 2.0 * beta * inverse * (inner[j] + d + 2.0 * (beta - 1.0) * r2[j] * inverse))
        sums[j] += term
        total += term
        r2[j] = 0.0
        inner[j] = 0.0
        product[j] = 0.0
    return total


@compiled(nogil=True, error_model="numpy")
def stein_sums(x, s, begin, end, c2, beta, sums):
    """Add to `sums[i]` the Stein kernel of point i with every later point, for begin <= i < end, and likewise to their sums.

    `x` and `s` are (d, n): points and scores. Each unordered pair is visited once.
    """
    d, n = x.shape
    plane = d == 2 and beta == -0.5
    r2, inner, product = np.zeros(TILE), np.zeros(TILE), np.zeros(TILE)
    for first in range(begin - begin % TILE, n, TILE):
        stop = min(first + TILE, n)
        for i in range(begin, min(end, stop - 1)):
            start = max(first, i + 1)
            own = sums[start:stop]
            if plane:
                x0, x1, s0, s1 = x[0, start:stop], x[1, start:stop], s[0, start:stop], s[1, start:stop]
                total = _plane_row(x[0, i], x[1, i], s[0, i], s[1, i], x0, x1, s0, s1, c2, own)
            else:
                width = stop - start
                for k in range(d):
                    of_x, of_s = x[k, start:stop], s[k, start:stop]
                    _add_dimension(x[k, i], s[k, i], of_x, of_s, r2[:width], inner[:width], product[:width])
                total = _finish_row(float(d), c2, beta, r2[:width], inner[:width], product[:width], own)
            sums[i] += total


@compiled(nogil=True, error_model="numpy")
def stein_tile(x, s, rows, columns, c2, beta, out):
    """Fill `out` with the Stein kernel of the points in two ranges, (begin, end) each; the diagonal is included."""
    d = x.shape[0]
    start, stop = columns
    width = stop - start
    r2, inner, product = np.zeros(width), np.zeros(width), np.zeros(width)
    for i in range(rows[0], rows[1]):
        row = out[i - rows[0]]
        row[:] = 0.0
        for k in range(d):
            _add_dimension(x[k, i], s[k, i], x[k, start:stop], s[k, start:stop], r2, inner, product)
        _finish_row(float(d), c2, beta, r2, inner, product, row)
