"""Coefficients of a pair of variables in polynomials of their ranks, with the influence of each draw on them (see `form`)."""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _add_rank_effects(order, rank, phi, slope, other, swapped, noise, found):
    """Add to `found`, (draw, cell), the effect of each draw through the ranks of one variable; see `coefficients`.

    `phi` has that variable's polynomials, `slope` their derivatives, `other` the other variable's polynomials, all (draw,
    order). Draws of equal rank count by halves. `noise` receives the variance that the chance in these sums adds to influence
    values: of each summand about the local mean, estimated from the squared difference of neighbours, times r (1 - r) for a
    summand at the share r of all ranks.
    """
    n, width = phi.shape
    above = np.zeros(width * width)
    group = np.zeros(width * width)
    last = n - 1
    while last >= 0:
        first = last
        while first > 0 and rank[order[first - 1]] == rank[order[last]]:
            first -= 1
        for cell in range(group.size):
            group[cell] = 0.0
        for place in range(first, last + 1):
            i = order[place]
            near = order[place - 1 if place > 0 else min(1, n - 1)]
            share = (place + 0.5) / n
            weight = 0.5 * share * (1.0 - share) / n**2
            for j in range(width):
                steep = slope[i, j] / n
                for k in range(width):
                    cell = k * width + j if swapped else j * width + k
                    group[cell] += steep * other[i, k]
                    apart = slope[i, j] * (other[i, k] - other[near, k])
                    noise[cell] += weight * apart * apart
        for place in range(first, last + 1):
            i = order[place]
            for cell in range(group.size):
                found[i, cell] += above[cell] + 0.5 * group[cell]
        for cell in range(group.size):
            above[cell] += group[cell]
        last = first - 1


@compiled(nogil=True, error_model="numpy")
def coefficients(order_x, rank_x, depth_x, order_y, rank_y, depth_y, basis, values, mean, noise):
    """Means of phi_j(U) phi_k(V), and the influence of each draw on them.

    `basis`, (doubled mid-rank - 2, {function, derivative}, order), has the polynomials at every rank that can occur. Fills
    `values`, (cell, draw), with influence values, which include the effect of each draw on the ranks of all others, `mean`
    with the coefficients, and `noise` with what chance adds to the variance of the influence values; cell = j * order + k.
    """
    n = rank_x.size
    width = basis.shape[2]
    tables = np.empty((4, n, width))
    found = np.empty((n, width * width))
    for cell in range(mean.size):
        mean[cell] = 0.0
        noise[cell] = 0.0
    for i in range(n):
        for j in range(width):
            tables[0, i, j] = basis[depth_x[i] - 2, 0, j]
            tables[1, i, j] = basis[depth_x[i] - 2, 1, j]
            tables[2, i, j] = basis[depth_y[i] - 2, 0, j]
            tables[3, i, j] = basis[depth_y[i] - 2, 1, j]
        for j in range(width):
            for k in range(width):
                product = tables[0, i, j] * tables[2, i, k]
                found[i, j * width + k] = product
                mean[j * width + k] += product
    for swapped in range(2):  # all at one place: a function is compiled for each place that calls it
        order = order_y if swapped else order_x
        rank = rank_y if swapped else rank_x
        at = 2 * swapped
        _add_rank_effects(order, rank, tables[at], tables[at + 1], tables[2 - at], swapped == 1, noise, found)
    for cell in range(mean.size):
        mean[cell] /= n
        total = 0.0
        for i in range(n):
            total += found[i, cell]
        centre = total / n
        for i in range(n):
            values[cell, i] = found[i, cell] - centre


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def form_error(values, noise, error, df, n_eff):
    """Standard error of a coefficient without the part that chance adds to its influence values, and degrees of freedom.

    Products of polynomials have heavy tails: the variance of a variance is (kurtosis - 1)/n of its square, that of a normal
    sample with 2n/(kurtosis - 1) degrees of freedom. What is taken off leaves the variance's own error as it is.
    """
    second = 0.0
    fourth = 0.0
    for i in range(values.size):
        square = values[i] * values[i]
        second += square
        fourth += square * square
    if not second > 0.0:
        return error, df
    excess = max(fourth * values.size / (second * second) - 1.0, 1.0)
    share = max(1.0 - 0.6 * noise / (error * error * values.size), 0.25)
    return error * np.sqrt(share), max(min(df, 2.0 * n_eff / excess) * share * share, 1.0)


@compiled(nogil=True, error_model="numpy")
def batch_correlations(values, n_chains, n_batches, correlations, halves):
    """Correlations of coefficients from means of consecutive batches of their influence values, and means of half chains.

    `values` are (cell, draw); batches, `n_batches` of each chain, do not cross chains. Fills `correlations`, (cell, cell), and
    `halves`, (2 * chain, cell).
    """
    cells, n = values.shape
    length = n // n_chains
    size = length // n_batches
    half = length // 2
    means = np.zeros((n_chains * n_batches, cells))
    for cell in range(cells):
        for chain in range(n_chains):
            start = chain * length
            for batch in range(n_batches):
                total = 0.0
                for i in range(start + batch * size, start + (batch + 1) * size):
                    total += values[cell, i]
                means[chain * n_batches + batch, cell] = total
            for part in range(2):
                total = 0.0
                begin = start if part == 0 else start + length - half
                for i in range(begin, begin + half):
                    total += values[cell, i]
                halves[2 * chain + part, cell] = total / half
    for a in range(cells):
        for b in range(a, cells):
            total = 0.0
            for batch in range(means.shape[0]):
                total += means[batch, a] * means[batch, b]
            correlations[a, b] = total
    for a in range(cells):
        for b in range(a + 1, cells):
            scale = np.sqrt(correlations[a, a] * correlations[b, b])
            correlations[a, b] = correlations[a, b] / scale if scale > 0.0 else 0.0
            correlations[b, a] = correlations[a, b]
    for a in range(cells):
        correlations[a, a] = 1.0
