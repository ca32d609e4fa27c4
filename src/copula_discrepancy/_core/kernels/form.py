"""Coefficients of pairs of variables in polynomials of their ranks, with standard errors (see `estimate.form`).

One cell after the other: the influence values of a cell, 32 KB for 4,000 draws, stay in the first-level cache while they are
computed and summed up, and all loops but one run over adjacent memory. In that one, each step depends on the one before; the
sums of both variables run side by side in it. Indices are converted to unsigned numbers, which need no check for a sign.
"""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled
from copula_discrepancy._core.kernels.ranks import depths

# Draws above which chance in the rank terms adds less than a percent to a variance, and is not taken off.
MANY_DRAWS = 2500
FASTMATH = {"reassoc", "contract"}
# Numbers between arrays that are filled in by loops which also add up: if arrays touch, a loop takes care that they do not
# overlap, and adds up in another order.
APART = 64


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def rank_effects(order_u, order_v, steep_u, steep_v, of_u, of_v, effects_u, effects_v):
    """The effect of each draw through the ranks of both variables, n times: by rank, without ties.

    Draw i moves the rank of every larger draw: the sum over these of phi_j'(U) phi_k(V); itself counts by half. `steep_u`,
    `steep_v` are derivatives by rank, `of_u`, `of_v` polynomials by draw.
    """
    n = order_u.size
    above_u = 0.0
    above_v = 0.0
    for back in range(n):
        place = np.uint32(n - 1 - back)
        here = steep_u[place] * of_v[np.uint32(order_u[place])]
        effects_u[place] = above_u + 0.5 * here
        above_u += here
        there = steep_v[place] * of_u[np.uint32(order_v[place])]
        effects_v[place] = above_v + 0.5 * there
        above_v += there


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def tied_rank_effects(order, rank, steep, other, effects):
    """The same through the ranks of one variable with ties: draws of equal rank count by halves."""
    above = 0.0
    last = order.size - 1
    while last >= 0:
        first = rank[order[last]]  # a rank counts smaller draws, so it is the start of the group of equal ones
        group = 0.0
        for place in range(first, last + 1):
            group += steep[place] * other[order[place]]
        effects[first] = above + 0.5 * group
        above += group
        last = first - 1


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def influence_values(of_u, of_v, effects_u, effects_v, rank_u, rank_v, values):
    """Fill in phi_j(U) phi_k(V) plus both effects of ranks; the sums of the products and of all of it."""
    n = of_u.size
    each = 1.0 / n
    products = 0.0
    total = 0.0
    for i in range(n):
        product = of_u[i] * of_v[i]
        value = product + (effects_u[np.uint32(rank_u[i])] + effects_v[np.uint32(rank_v[i])]) * each
        values[i] = value
        products += product
        total += value
    return products, total


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def less_fitted(values, fitted, slope):
    """Subtract `slope` times the influence values of a fitted tau; the new sum."""
    total = 0.0
    for i in range(values.size):
        values[i] -= slope * fitted[i]
        total += values[i]
    return total


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def centred_powers(values, mean):
    """Subtract the mean; sums of squares and of fourth powers."""
    second = 0.0
    fourth = 0.0
    for i in range(values.size):
        value = values[i] - mean
        values[i] = value
        square = value * value
        second += square
        fourth += square * square
    return second, fourth


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def total_of(values):
    """The sum of values."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def product_of(first, second):
    """The sum of products."""
    total = 0.0
    for i in range(first.size):
        total += first[i] * second[i]
    return total


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def chance_in_effects(order, steep, other, squares, noise, swapped):
    """Add to `noise`, (cell), the variance that chance in the effects of ranks adds to influence values.

    That of each summand about its local mean, from the squared difference of neighbours, times r (1 - r) at the share r of
    ranks. `squares` is room for as many numbers as there are draws.
    """
    width, n = other.shape
    each = 1.0 / n
    for k in range(width):
        for place in range(n):
            near = order[place - 1 if place > 0 else min(1, n - 1)]
            share = (place + 0.5) * each
            apart = other[k, order[place]] - other[k, near]
            squares[place] = 0.5 * share * (1.0 - share) * each * each * apart * apart
        for j in range(width):
            chance = 0.0
            for place in range(n):
                chance += squares[place] * steep[j, place] * steep[j, place]
            noise[width * k + j if swapped else width * j + k] += chance


@compiled(nogil=True, error_model="numpy")
def variable_tables(rank, ties, order, basis, doubled, of_draws, steep):
    """Fill in the polynomials of each draw, (order, draw), and their derivatives by rank, (order, draw in order).

    Unless ranks are `doubled`, derivatives are in the table as they are needed.
    """
    width = of_draws.shape[0]
    if not doubled:
        for j in range(width):
            look_up(basis[0, j], rank, of_draws[j])
        return
    depth = depths(rank, ties)
    for i in range(rank.size):
        row = depth[i] - 2
        for j in range(width):
            of_draws[j, i] = basis[0, j, row]
    for place in range(rank.size):
        row = depth[order[place]] - 2
        for j in range(width):
            steep[j, place] = basis[1, j, row]


@compiled(nogil=True, error_model="numpy")
def look_up(table, places, found):
    """Fill in the values of a table at some places."""
    for i in range(places.size):
        found[i] = table[np.uint32(places[i])]


@compiled(nogil=True, error_model="numpy")
def form_pairs(orders, ranks, ties, first, second, basis, doubled, fitted, slopes, n_chains, n_batches, kept):
    """Coefficients of form of several pairs, with the sums that their errors are made from.

    `basis`, ({polynomial, derivative}, order, rank), is by rank or, if `doubled`, by doubled mid-rank - 2. `fitted` has the
    influence values of each pair's fitted tau, of which `slopes`, (pair, cell), times as much is taken off. Returns means,
    sums of squares and of fourth powers of the influence values, the variance that chance adds to them, and the long-run
    variance from `n_batches` batches of each chain, all (pair, cell); correlations, (pair, cell, cell), from the same batches;
    and means of half chains, (pair, half, cell). `kept`, (pair, cell, draw), receives influence values unless it is empty.
    """
    n = ranks.shape[1]
    width = basis.shape[1]
    cells = width * width
    n_pairs = first.size
    total_batches = n_chains * n_batches
    length = n // n_chains
    size = length // n_batches
    half = n_batches // 2
    means = np.empty((n_pairs, cells))
    squares = np.empty((n_pairs, cells))
    fourths = np.empty((n_pairs, cells))
    noise = np.zeros((n_pairs, cells))
    long_run = np.empty((n_pairs, cells))
    correlations = np.empty((n_pairs, cells, cells))
    halves = np.empty((n_pairs, 2 * n_chains, cells))
    sums = np.empty((cells, total_batches))
    of_u = np.empty((width, n))
    of_v = np.empty((width, n))
    own_steep = np.empty((2, width, n))
    room = np.empty((3, n + APART))
    effects_u = room[0][:n]
    effects_v = room[1][:n]
    values = room[2][:n]
    for pair in range(n_pairs):
        u = first[pair]
        v = second[pair]
        if pair == 0 or first[pair - 1] != u:  # consecutive pairs share their first variable, and its tables
            variable_tables(ranks[u], ties[u], orders[u], basis, doubled, of_u, own_steep[0])
        variable_tables(ranks[v], ties[v], orders[v], basis, doubled, of_v, own_steep[1])
        steep_u = own_steep[0] if doubled else basis[1]
        steep_v = own_steep[1] if doubled else basis[1]
        tied = ties[u] + ties[v] > 0
        if n <= MANY_DRAWS and not tied:  # neighbours of equal rank are in no order
            for end in range(2):  # constants in two calls would be two types, and compiled twice
                order = orders[u if end == 0 else v]
                steep = steep_u if end == 0 else steep_v
                chance_in_effects(order, steep, of_v if end == 0 else of_u, values, noise[pair], end == 1)
        for j in range(width):
            for k in range(width):
                cell = j * width + k
                if tied:
                    tied_rank_effects(orders[u], ranks[u], steep_u[j], of_v[k], effects_u)
                    tied_rank_effects(orders[v], ranks[v], steep_v[k], of_u[j], effects_v)
                else:
                    rank_effects(orders[u], orders[v], steep_u[j], steep_v[k], of_u[j], of_v[k], effects_u, effects_v)
                products, total = influence_values(of_u[j], of_v[k], effects_u, effects_v, ranks[u], ranks[v], values)
                means[pair, cell] = products / n
                if fitted.shape[0] > 0:
                    total = less_fitted(values, fitted[pair], slopes[pair, cell])
                squares[pair, cell], fourths[pair, cell] = centred_powers(values, total / n)
                for batch in range(total_batches):
                    start = batch // n_batches * length + batch % n_batches * size
                    sums[cell, batch] = total_of(values[start : start + size])
                for part in range(2 * n_chains):
                    halves[pair, part, cell] = total_of(sums[cell, part * half : (part + 1) * half]) / (half * size)
                long_run[pair, cell] = product_of(sums[cell], sums[cell]) / (size * (total_batches - 1.0))
                if kept.shape[0] > 0:
                    for i in range(n):
                        kept[pair, cell, i] = values[i]
        correlate(sums, correlations[pair])
    return means, squares, fourths, noise, long_run, correlations, halves


@compiled(nogil=True, error_model="numpy")
def correlate(sums, correlations):
    """Correlations of cells from sums of batches, (cell, batch), of centred values."""
    cells = sums.shape[0]
    for a in range(cells):
        correlations[a, a] = product_of(sums[a], sums[a])
        for b in range(a):
            scale = np.sqrt(correlations[a, a] * correlations[b, b])
            found = product_of(sums[a], sums[b]) / scale if scale > 0.0 else 0.0
            correlations[a, b] = found
            correlations[b, a] = found
    for a in range(cells):
        correlations[a, a] = 1.0
