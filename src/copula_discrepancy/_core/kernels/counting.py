"""Counts of pairs of variables in grids: what a sketch of a table of any length is made of."""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled


@compiled(nogil=True, error_model="numpy", inline="always")
def _bucket(value, low, scale, last):
    """The bucket of a value: 0 below `low`, then buckets of equal width, `last` above them; it never falls as values rise."""
    return np.int64(min(max((value - low) * scale, -1.0), last - 1.0) + 1.0)


@compiled(nogil=True, error_model="numpy")
def edge_buckets(edges, low, scale, starts):
    """Fill `starts` with the number of edges in lower buckets, for each bucket, and with that of all edges at the end."""
    n_buckets = starts.size - 1
    last = np.float64(n_buckets - 1)
    for bucket in range(starts.size):
        starts[bucket] = 0
    for k in range(edges.size):
        starts[_bucket(edges[k], low, scale, last) + 1] += 1
    for bucket in range(n_buckets):
        starts[bucket + 1] += starts[bucket]


@compiled(nogil=True, error_model="numpy")
def bin_column(values, edges, low, scale, starts, codes):
    """Fill `codes` with how many of the sorted edges are not above each value; count NaN, which get a code of their own.

    Returns the numbers of NaN and of infinite values.

    Buckets of equal width leave few edges to search among: a search among all of them takes ten times as long, because a
    processor cannot guess its comparisons.
    """
    last = np.float64(starts.size - 2)
    missing = infinite = 0
    for i in range(values.size):
        value = values[i]
        if value == value:
            infinite += abs(value) == np.inf
            bucket = _bucket(value, low, scale, last)
            first = np.int64(starts[bucket])
            stop = np.int64(starts[bucket + 1])
            while first < stop:
                middle = (first + stop) >> 1
                if edges[middle] <= value:
                    first = middle + 1
                else:
                    stop = middle
            codes[i] = first
        else:
            missing += 1
            codes[i] = edges.size + 1
    return missing, infinite


@compiled(nogil=True)
def count_pairs(codes, first, second, offsets, widths, start, stop, scratch, counts, coarse, coarse_offsets, coarse_counts):
    """Add the rows from `start` to `stop` to the tables of some pairs.

    `codes` is (column, row); a pair's table begins at its offset in `counts` and has as many columns as its second variable has
    codes, `widths`. Rows are counted in `scratch`, which stays in the cache, and then added to `counts` and, by the coarse code
    of each code, (column, code), to `coarse_counts`, unless that is empty.
    """
    for k in range(first.size):
        i = first[k]
        j = second[k]
        high = widths[i]
        wide = widths[j]
        size = high * wide
        for cell in range(size):
            scratch[cell] = 0
        a = codes[i]
        b = codes[j]
        for row in range(start, stop):
            scratch[np.int64(a[row]) * wide + np.int64(b[row])] += 1
        offset = offsets[k]
        if coarse_counts.size == 0:
            for cell in range(size):
                counts[offset + cell] += scratch[cell]
        else:
            base = coarse_offsets[k]
            across = coarse[j, wide - 1] + 1
            cell = 0
            for x in range(high):
                row_base = base + coarse[i, x] * across
                for y in range(wide):
                    found = scratch[cell]
                    if found > 0:
                        counts[offset + cell] += found
                        coarse_counts[row_base + coarse[j, y]] += found
                    cell += 1


_MOMENT_ROWS = 1024  # rows of products that stay in the cache


@compiled(nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def _product_sums(p, q, r, s, x, y, rows, found):
    """Add the sums over rows of the eight products of p, q, r or s, products of two variables, with x or y of a third.

    Values are whole numbers whose sums are below 2**53: floating-point additions are exact, so that their order, which the
    compiler may change to add several at once, does not matter.
    """
    a = b = c = d = e = f = g = h = 0.0
    for row in range(rows):
        a += p[row] * x[row]
        b += p[row] * y[row]
        c += q[row] * x[row]
        d += q[row] * y[row]
        e += r[row] * x[row]
        f += r[row] * y[row]
        g += s[row] * x[row]
        h += s[row] * y[row]
    found[0] += np.int64(a)
    found[1] += np.int64(b)
    found[2] += np.int64(c)
    found[3] += np.int64(d)
    found[4] += np.int64(e)
    found[5] += np.int64(f)
    found[6] += np.int64(g)
    found[7] += np.int64(h)


@compiled(nogil=True)
def sum_triples(codes, columns, triples, weights, start, stop, sums):
    """Add the products of functions of three variables, summed over the rows from `start` to `stop`, to `sums`, (triple, 8).

    `codes` is (column, row); `triples` are places among `columns`, whose two functions of each code are `weights`, (place,
    code, 2): whole numbers below 2**11. Triples with the same first two variables should follow each other.
    """
    values = np.empty((columns.size, 2, _MOMENT_ROWS))
    pair = np.empty((4, _MOMENT_ROWS))
    for first in range(start, stop, _MOMENT_ROWS):
        rows = min(_MOMENT_ROWS, stop - first)
        for place in range(columns.size):
            own = codes[columns[place]]
            for row in range(rows):
                code = own[first + row]
                values[place, 0, row] = weights[place, code, 0]
                values[place, 1, row] = weights[place, code, 1]
        i = j = -1
        for k in range(len(triples)):
            if triples[k, 0] != i or triples[k, 1] != j:
                i = triples[k, 0]
                j = triples[k, 1]
                for row in range(rows):
                    pair[0, row] = values[i, 0, row] * values[j, 0, row]
                    pair[1, row] = values[i, 0, row] * values[j, 1, row]
                    pair[2, row] = values[i, 1, row] * values[j, 0, row]
                    pair[3, row] = values[i, 1, row] * values[j, 1, row]
            third = values[triples[k, 2]]
            _product_sums(pair[0], pair[1], pair[2], pair[3], third[0], third[1], rows, sums[k])


@compiled(nogil=True)
def count_triples(codes, columns, triples, groups, start, stop, counts):
    """Add the rows from `start` to `stop` to the tables of some triples, (triple, 16, 16, 16) flattened.

    `codes` is (column, row); `triples` are places among `columns`, whose codes are in one of 16 `groups`, (place, code). Rows
    are counted in a table that stays in the cache. Triples with the same first two variables should follow each other.
    """
    scratch = np.empty(4096, np.uint32)
    grouped = np.empty((columns.size, stop - start), np.uint8)
    pair = np.empty(stop - start, np.uint16)
    for place in range(columns.size):
        own = codes[columns[place]]
        for row in range(start, stop):
            grouped[place, row - start] = groups[place, own[row]]
    i = j = -1
    for k in range(len(triples)):
        if triples[k, 0] != i or triples[k, 1] != j:
            i = triples[k, 0]
            j = triples[k, 1]
            for row in range(stop - start):
                pair[row] = np.uint16(grouped[i, row]) * np.uint16(256) + np.uint16(grouped[j, row]) * np.uint16(16)
        for cell in range(4096):
            scratch[cell] = 0
        third = grouped[triples[k, 2]]
        for row in range(stop - start):
            scratch[np.uint64(pair[row]) + np.uint64(third[row])] += 1
        table = counts[k]
        for cell in range(4096):
            table[cell] += scratch[cell]
