"""Coefficients of pairs of variables in polynomials of their ranks, with standard errors (see `estimate.form`).

The sixteen cells of a draw are next to each other in memory: a processor adds several of them at once, and the loops over
draws, which depend on the one before, run once for all cells. This needs loops of known length: `degrees`, a tuple (1, ...,
order), has it in its type, so that every order is compiled by itself, and takes a third of the time.
"""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled
from copula_discrepancy._core.kernels.ranks import depths

# Draws above which chance in the rank terms adds less than a percent to a variance, and is not taken off.
MANY_DRAWS = 2500
FASTMATH = {"reassoc", "contract"}


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def rank_effects(degrees, places, rank, tied, slope, other, swapped, noise, found):
    """Add to `found`, (draw, cell), the effect of each draw through the ranks of one variable.

    Draw i moves the rank of every larger draw: the sum over these of phi_j'(U) phi_k(V), over n; draws of equal rank count
    by halves. `noise`, unless empty, receives the variance that chance in these sums adds to influence values: that of
    each summand about its local mean, from the squared difference of neighbours, times r (1 - r) at the share r of ranks.
    """
    width = len(degrees)
    n = rank.size
    each = 1.0 / n
    above = np.zeros((width, width))
    group = np.zeros((width, width))
    chance = np.zeros((width, width))
    last = n - 1
    while last >= 0:
        first = last
        while tied and first > 0 and rank[places[first - 1]] == rank[places[last]]:
            first -= 1
        if noise.size > 0:
            for place in range(first, last + 1):
                i = places[place]
                near = places[place - 1 if place > 0 else min(1, n - 1)]
                share = (place + 0.5) * each
                weight = 0.5 * share * (1.0 - share) * each * each
                for j in range(width):
                    steep = weight * slope[i, j] * slope[i, j]
                    for k in range(width):
                        apart = other[i, k] - other[near, k]
                        chance[j, k] += steep * apart * apart
        if first == last:
            i = places[first]
            for j in range(width):
                steep = slope[i, j] * each
                for k in range(width):
                    here = steep * other[i, k]
                    effect = above[j, k] + 0.5 * here
                    above[j, k] += here
                    if swapped:
                        found[i, width * k + j] += effect
                    else:
                        found[i, width * j + k] += effect
        else:
            for j in range(width):
                for k in range(width):
                    group[j, k] = 0.0
            for place in range(first, last + 1):
                i = places[place]
                for j in range(width):
                    for k in range(width):
                        group[j, k] += slope[i, j] * each * other[i, k]
            for place in range(first, last + 1):
                i = places[place]
                for j in range(width):
                    for k in range(width):
                        found[i, width * k + j if swapped else width * j + k] += above[j, k] + 0.5 * group[j, k]
            for j in range(width):
                for k in range(width):
                    above[j, k] += group[j, k]
        last = first - 1
    if noise.size > 0:
        for j in range(width):
            for k in range(width):
                noise[width * k + j if swapped else width * j + k] += chance[j, k]


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def centre(degrees, values, fitted, slopes):
    """Subtract `slopes` times the influence values of a fitted tau, if there are any, and the mean of every cell."""
    n = values.shape[0]
    cells = len(degrees) ** 2
    if fitted.size > 0:
        for i in range(n):
            for cell in range(cells):
                values[i, cell] -= slopes[cell] * fitted[i]
    mean = np.zeros(cells)
    for i in range(n):
        for cell in range(cells):
            mean[cell] += values[i, cell]
    for cell in range(cells):
        mean[cell] /= n
    for i in range(n):
        for cell in range(cells):
            values[i, cell] -= mean[cell]


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def moments(degrees, values, second, fourth):
    """Sums of squares and of fourth powers of every cell of (draw, cell)."""
    cells = len(degrees) ** 2
    for cell in range(cells):
        second[cell] = 0.0
        fourth[cell] = 0.0
    for i in range(values.shape[0]):
        for cell in range(cells):
            square = values[i, cell] * values[i, cell]
            second[cell] += square
            fourth[cell] += square * square


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def batch_sums(degrees, values, n_chains, n_batches, sums, halves):
    """Sums of consecutive batches, an even number `n_batches` of each chain, and means of the first and last half of them."""
    cells = len(degrees) ** 2
    length = values.shape[0] // n_chains
    size = length // n_batches
    half = n_batches // 2
    for part in range(2 * n_chains):
        for cell in range(cells):
            halves[part, cell] = 0.0
    for batch in range(n_chains * n_batches):
        for cell in range(cells):
            sums[batch, cell] = 0.0
        start = batch // n_batches * length + batch % n_batches * size
        for i in range(start, start + size):
            for cell in range(cells):
                sums[batch, cell] += values[i, cell]
        for cell in range(cells):
            halves[batch // half, cell] += sums[batch, cell] / (half * size)


@compiled(nogil=True, error_model="numpy")
def form_pairs(degrees, orders, ranks, ties, first, second, basis, doubled, fitted, slopes, n_chains, n_batches, kept):
    """Coefficients of form of several pairs, with the sums that their errors are made from.

    `basis`, (rank, {polynomial, derivative}, order), is by rank or, if `doubled`, by doubled mid-rank - 2. `fitted` has the
    influence values of each pair's fitted tau, of which `slopes`, (pair, cell), times as much is taken off. Returns means,
    sums of squares and of fourth powers of the influence values, the variance that chance adds to them, and the long-run
    variance from `n_batches` batches of each chain, all (pair, cell); correlations, (pair, cell, cell), from the same batches;
    and means of half chains, (pair, half, cell). `kept`, (pair, draw, cell), receives influence values unless it is empty.
    """
    n = ranks.shape[1]
    width = len(degrees)
    cells = width * width
    n_pairs = first.size
    total_batches = n_chains * n_batches
    batch = n // n_chains // n_batches
    means = np.zeros((n_pairs, cells))
    squares = np.empty((n_pairs, cells))
    fourths = np.empty((n_pairs, cells))
    noise = np.zeros((n_pairs, cells))
    long_run = np.empty((n_pairs, cells))
    correlations = np.empty((n_pairs, cells, cells))
    halves = np.empty((n_pairs, 2 * n_chains, cells))
    sums = np.empty((total_batches, cells))
    tables = np.empty((2, 2, n, width))
    values = np.empty((n, cells))
    nothing = np.empty(0)
    for pair in range(n_pairs):
        for side in range(2):
            variable = second[pair] if side else first[pair]
            if side == 0 and pair > 0 and first[pair - 1] == variable:
                continue  # consecutive pairs share their first variable, and its table
            depth = depths(ranks[variable], ties[variable])
            for i in range(n):
                row = depth[i] - 2 if doubled else depth[i] // 2 - 1
                for j in range(width):
                    tables[side, 0, i, j] = basis[row, 0, j]
                    tables[side, 1, i, j] = basis[row, 1, j]
        for i in range(n):
            for j in range(width):
                for k in range(width):
                    product = tables[0, 0, i, j] * tables[1, 0, i, k]
                    values[i, j * width + k] = product
                    means[pair, j * width + k] += product
        for cell in range(cells):
            means[pair, cell] /= n
        # neighbours of equal rank are in no order
        chance = noise[pair] if n <= MANY_DRAWS and ties[first[pair]] == 0 and ties[second[pair]] == 0 else nothing
        for side in range(2):  # all at one place: a function is compiled for each place that calls it
            variable = second[pair] if side else first[pair]
            places, rank, tied = orders[variable], ranks[variable], ties[variable] > 0
            rank_effects(degrees, places, rank, tied, tables[side, 1], tables[1 - side, 0], side == 1, chance, values)
        centre(degrees, values, fitted[pair] if fitted.shape[0] else nothing, slopes[pair])
        moments(degrees, values, squares[pair], fourths[pair])
        batch_sums(degrees, values, n_chains, n_batches, sums, halves[pair])
        correlate(sums, correlations[pair])
        for cell in range(cells):
            total = 0.0
            for k in range(total_batches):
                total += sums[k, cell] * sums[k, cell]
            long_run[pair, cell] = total / (batch * (total_batches - 1.0))
        if kept.shape[0]:
            for i in range(n):
                for cell in range(cells):
                    kept[pair, i, cell] = values[i, cell]
    return means, squares, fourths, noise, long_run, correlations, halves


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def correlate(sums, correlations):
    """Correlations of cells from sums of batches, (batch, cell), of centred values."""
    cells = sums.shape[1]
    for a in range(cells):
        for b in range(cells):
            correlations[a, b] = 0.0
    for batch in range(sums.shape[0]):
        for a in range(cells):
            for b in range(cells):
                correlations[a, b] += sums[batch, a] * sums[batch, b]
    for a in range(cells):
        for b in range(a):
            scale = np.sqrt(correlations[a, a] * correlations[b, b])
            correlations[a, b] = correlations[a, b] / scale if scale > 0.0 else 0.0
            correlations[b, a] = correlations[a, b]
    for a in range(cells):
        correlations[a, a] = 1.0
