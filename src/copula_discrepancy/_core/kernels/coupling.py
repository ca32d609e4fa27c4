"""Values of one sample at the ranks of another, and what they do to functions of a pair."""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled

SPARE = 3  # copies of a value that are written without asking how many there are: more are rare, and a wrong guess is slow


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
def transplant(values, order, counts, rows, copies, host_order, host_counts, within, expanded, first, out):
    """Fill `out` with values of one sample, the donor, at the ranks that rows of another, the host, have.

    The donor's `values` are sorted; the k-th belongs to its row order[k], which occurs counts[order[k]] times. The host's
    `rows` may repeat; copies[p] equal ones come before the p-th, host_counts has their numbers, and `host_order` its rows from
    the lowest to the highest. The value of the p-th, at rank r of m from 0, is the donor's quantile at (r + within[p])/m;
    copies have consecutive ranks. `expanded`, of SPARE values more than the donor's rows have copies, and `first`, of the
    host's rows, are overwritten: with the donor's values in order, and with the rank of the first copy of each row.
    """
    m = out.size
    size = 0
    for row in range(counts.size):
        size += counts[row]
    end = 0
    for k in range(values.size):
        value = values[k]
        count = counts[order[k]]
        expanded[end] = value  # overwritten by the next value if there is no copy of this one
        expanded[end + 1] = value
        expanded[end + 2] = value
        for more in range(SPARE, count):
            expanded[end + more] = value
        end += count
    rank = 0
    for place in range(host_order.size):
        row = host_order[place]
        first[row] = rank
        rank += host_counts[row]
    if size == m:
        for place in range(m):
            out[place] = expanded[first[rows[place]] + copies[place]]
        return
    ratio = size / m
    for place in range(m):
        wanted = np.int64((first[rows[place]] + copies[place] + within[place]) * ratio)
        out[place] = expanded[min(wanted, size - 1)]  # a product may be rounded up


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
def pair_effects(columns, first, second, low, high, lines, out):
    """Sums, differences and joint extremes of pairs of columns (variable, row), ten numbers for each.

    The standard deviations of sum and difference; the shares of rows whose sum is below lines[p, 0] and above lines[p, 1],
    whose difference is below lines[p, 2] and above lines[p, 3]; and the shares in the corners of `low` and `high`: both low,
    both high, the first low and the second high, the first high and the second low.
    """
    n = columns.shape[1]
    for p in range(first.size):
        a = columns[first[p]]
        b = columns[second[p]]
        mean_a = 0.0
        mean_b = 0.0
        for i in range(n):
            mean_a += a[i]
            mean_b += b[i]
        mean_a /= n
        mean_b /= n
        low_a, high_a, low_b, high_b = low[first[p]], high[first[p]], low[second[p]], high[second[p]]
        sum_low, sum_high, difference_low, difference_high = lines[p, 0], lines[p, 1], lines[p, 2], lines[p, 3]
        sums = 0.0
        differences = 0.0
        shares_0 = shares_1 = shares_2 = shares_3 = 0.0
        corner_0 = corner_1 = corner_2 = corner_3 = 0.0
        for i in range(n):
            x = a[i]
            y = b[i]
            from_a = x - mean_a
            from_b = y - mean_b
            sums += (from_a + from_b) * (from_a + from_b)
            differences += (from_a - from_b) * (from_a - from_b)
            shares_0 += 1.0 if x + y < sum_low else 0.0
            shares_1 += 1.0 if x + y > sum_high else 0.0
            shares_2 += 1.0 if x - y < difference_low else 0.0
            shares_3 += 1.0 if x - y > difference_high else 0.0
            x_low = 1.0 if x < low_a else 0.0
            x_high = 1.0 if x > high_a else 0.0
            y_low = 1.0 if y < low_b else 0.0
            y_high = 1.0 if y > high_b else 0.0
            corner_0 += x_low * y_low
            corner_1 += x_high * y_high
            corner_2 += x_low * y_high
            corner_3 += x_high * y_low
        out[p, 0] = np.sqrt(sums / n)
        out[p, 1] = np.sqrt(differences / n)
        out[p, 2] = shares_0 / n
        out[p, 3] = shares_1 / n
        out[p, 4] = shares_2 / n
        out[p, 5] = shares_3 / n
        out[p, 6] = corner_0 / n
        out[p, 7] = corner_1 / n
        out[p, 8] = corner_2 / n
        out[p, 9] = corner_3 / n
