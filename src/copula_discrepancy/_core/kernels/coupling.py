"""Values of one sample at the ranks of another, and what they do to functions of a pair."""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled

_SPARE = 3  # copies of a value that are written without asking how many there are: more are rare, and a wrong guess is slow


@compiled(nogil=True, error_model="numpy")
def count_copies(rows, counts, copies):
    """How often each row occurs among `rows`, and for each of these how many equal ones come before it."""
    for row in range(counts.size):
        counts[row] = 0
    for place in range(rows.size):
        row = rows[place]
        copies[place] = counts[row]
        counts[row] += 1


@compiled(nogil=True, error_model="numpy")
def transplant(values, order, counts, rows, copies, host_order, host_counts, out):
    """Fill `out` with values of one sample, the donor, at the ranks that rows of another, the host, have.

    The donor's `values` are sorted; the k-th belongs to its row order[k], which occurs counts[order[k]] times. The host's `rows`
    may repeat; copies[p] equal ones come before the p-th, host_counts has their numbers, and `host_order` its rows from the
    lowest to the highest. The value at rank r of m is the donor's quantile at (r + 1/2)/m; copies have consecutive ranks.
    """
    m = out.size
    size = 0
    for row in range(counts.size):
        size += counts[row]
    expanded = np.empty(size + _SPARE)
    end = 0
    for k in range(values.size):
        value = values[k]
        count = counts[order[k]]
        expanded[end] = value  # overwritten by the next value if there is no copy of this one
        expanded[end + 1] = value
        expanded[end + 2] = value
        for more in range(_SPARE, count):
            expanded[end + more] = value
        end += count
    if size != m:
        stretched = np.empty(m)
        for rank in range(m):
            stretched[rank] = expanded[((2 * rank + 1) * size) // (2 * m)]
        expanded = stretched
    first = np.empty(host_order.size, np.int32)  # the rank of the first copy of each row
    rank = 0
    for place in range(host_order.size):
        row = host_order[place]
        first[row] = rank
        rank += host_counts[row]
    for place in range(m):
        out[place] = expanded[first[rows[place]] + copies[place]]
