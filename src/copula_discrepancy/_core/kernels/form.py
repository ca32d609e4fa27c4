"""Coefficients of pairs of variables in polynomials of their ranks, with standard errors (see `estimate.form`).

The sixteen cells of a draw are next to each other in memory: a processor adds several of them at once, and the loops over
draws, which depend on the one before, run once for all cells. This needs loops of known length: for the default order
`form_pairs` is compiled by itself, and takes a third of the time of the general function.
"""

import numpy as np

from copula_discrepancy._core.kernels.chains import BATCHES, LAGS_PER_TIME, SHORT_CHAIN, chain_run, size_of_sequence
from copula_discrepancy._core.kernels.compiled import compiled
from copula_discrepancy._core.kernels.ranks import depths

USUAL = 4  # the order of polynomials that has its own function
# Draws above which chance in the rank terms adds less than a percent to a variance, and is not taken off.
MANY_DRAWS = 2500
# The share of that noise that is taken off: all of it would leave the errors of other cells a few percent too small.
NOISE_SHARE = 0.6
FASTMATH = {"reassoc", "contract"}


def _function(order):
    """`form_pairs` for an order, or for any of them (None)."""

    @compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
    def rank_effects(places, rank, phi, slope, other, swapped, noise, found):
        """Add to `found`, (draw, cell), the effect of each draw through the ranks of one variable.

        Draw i moves the rank of every larger draw: the sum over these of phi_j'(U) phi_k(V), over n; draws of equal rank count
        by halves. `noise`, unless empty, receives the variance that chance in these sums adds to influence values: that of
        each summand about its local mean, from the squared difference of neighbours, times r (1 - r) at the share r of ranks.
        """
        width = phi.shape[1] if order is None else order
        n = rank.size
        above = np.zeros((width, width))
        group = np.zeros((width, width))
        chance = np.zeros((width, width))
        last = n - 1
        while last >= 0:
            first = last
            while first > 0 and rank[places[first - 1]] == rank[places[last]]:
                first -= 1
            if noise.size > 0:
                for place in range(first, last + 1):
                    i = places[place]
                    near = places[place - 1 if place > 0 else min(1, n - 1)]
                    share = (place + 0.5) / n
                    weight = 0.5 * share * (1.0 - share) / n**2
                    for j in range(width):
                        steep = weight * slope[i, j] * slope[i, j]
                        for k in range(width):
                            apart = other[i, k] - other[near, k]
                            chance[j, k] += steep * apart * apart
            if first == last:
                i = places[first]
                for j in range(width):
                    steep = slope[i, j] / n
                    for k in range(width):
                        here = steep * other[i, k]
                        effect = above[j, k] + 0.5 * here
                        above[j, k] += here
                        if swapped:
                            found[i, width * k + j] += effect
                        else:
                            found[i, width * j + k] += effect
            else:
                group[:] = 0.0
                for place in range(first, last + 1):
                    i = places[place]
                    for j in range(width):
                        for k in range(width):
                            group[j, k] += slope[i, j] / n * other[i, k]
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
    def autocovariances(centred, lag, found):
        """Sums over all parts of products of draws `lag` apart; `centred` is (part, draw, cell)."""
        cells = centred.shape[2] if order is None else order * order
        for cell in range(cells):
            found[cell] = 0.0
        for part in range(centred.shape[0]):
            for i in range(centred.shape[1] - lag):
                for cell in range(cells):
                    found[cell] += centred[part, i, cell] * centred[part, i + lag, cell]

    @compiled(nogil=True, error_model="numpy")
    def effective_sizes(values, n_chains, halves):
        """`chains.effective_size` of every cell of values (draw, cell), given the means of the halves of all chains."""
        n, cells = values.shape
        n_draws = n // n_chains
        half = n_draws // 2
        parts = 2 * n_chains
        centred = np.empty((parts, half, cells))
        for part in range(parts):
            start = part // 2 * n_draws + (part % 2) * (n_draws - half)
            for i in range(half):
                for cell in range(cells):
                    centred[part, i, cell] = values[start + i, cell] - halves[part, cell]
        rho = np.zeros((cells, half))
        within = np.empty(cells)
        total = np.empty(cells)
        even = np.empty(cells)
        odd = np.empty(cells)
        last = np.full(cells, -1)
        sums = np.empty(cells)
        later = np.empty(cells)
        autocovariances(centred, 0, sums)
        for cell in range(cells):
            variance = sums[cell] / (parts * half)
            mean = 0.0
            for part in range(parts):
                mean += halves[part, cell] / parts
            between = 0.0
            for part in range(parts):
                between += (halves[part, cell] - mean) ** 2 / (parts - 1.0)
            within[cell] = variance * half / (half - 1.0)
            total[cell] = variance + between
        autocovariances(centred, 1, sums)
        active = 0
        for cell in range(cells):
            rho[cell, 0] = even[cell] = 1.0
            rho[cell, 1] = odd[cell] = 1.0 - (within[cell] - sums[cell] / (parts * half)) / total[cell]
            active += even[cell] + odd[cell] > 0.0
        t = 1
        while t < half - 3 and active > 0:
            autocovariances(centred, t + 1, sums)
            autocovariances(centred, t + 2, later)
            active = 0
            for cell in range(cells):
                if even[cell] + odd[cell] > 0.0:
                    even[cell] = 1.0 - (within[cell] - sums[cell] / (parts * half)) / total[cell]
                    odd[cell] = 1.0 - (within[cell] - later[cell] / (parts * half)) / total[cell]
                    if even[cell] + odd[cell] >= 0.0:
                        rho[cell, t + 1] = even[cell]
                        rho[cell, t + 2] = odd[cell]
                    last[cell] = t
                    active += even[cell] + odd[cell] > 0.0
            t += 2
        for cell in range(cells):
            if even[cell] > 0.0:
                rho[cell, last[cell] + 1] = even[cell]
            sums[cell] = size_of_sequence(rho[cell], last[cell], parts * half)
        return sums

    @compiled(nogil=True, error_model="numpy")
    def form_pairs(orders, ranks, ties, first, second, basis, doubled, fitted, slopes, n_chains, n_batches, kept):
        """Coefficients of form of several pairs, (pair, cell), with their errors, correlations and means of half chains.

        `basis`, (rank, {polynomial, derivative}, order), is by rank or, if `doubled`, by doubled mid-rank - 2. `fitted` has the
        influence values of each pair's fitted tau, of which `slopes`, (pair, cell), times as much is taken off. `n_chains` is 0
        for independent draws. Returns means, (pair, cell); errors, (pair, cell, {standard error, degrees of freedom, n_eff});
        correlations, (pair, cell, cell), from `n_batches` batches of each chain; half chains, (pair, half, cell). `kept`,
        (pair, draw, cell), receives influence values unless it is empty.
        """
        n = ranks.shape[1]
        width = basis.shape[2]
        cells = width * width
        chains = max(n_chains, 1)
        n_draws = n // chains
        n_pairs = first.size
        means = np.zeros((n_pairs, cells))
        errors = np.empty((n_pairs, cells, 3))
        correlations = np.empty((n_pairs, cells, cells))
        halves = np.zeros((n_pairs, 2 * chains, cells))
        tables = np.empty((2, 2, n, width))
        values = np.empty((n, cells))
        noise = np.empty(cells if n <= MANY_DRAWS else 0)
        second_moment = np.empty(cells)
        fourth_moment = np.empty(cells)
        column = np.empty(n)
        for pair in range(n_pairs):
            for side in range(2):
                variable = second[pair] if side else first[pair]
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
                        means[pair, j * width + k] += product / n
            noise[:] = 0.0
            for side in range(2):  # all at one place: a function is compiled for each place that calls it
                variable = second[pair] if side else first[pair]
                own = tables[side]
                rank_effects(orders[variable], ranks[variable], own[0], own[1], tables[1 - side, 0], side == 1, noise, values)
            centre(values, fitted[pair] if fitted.shape[0] else column[:0], slopes[pair])
            if kept.shape[0]:
                kept[pair] = values
            batches(values, chains, n_batches, correlations[pair], halves[pair])
            moments(values, second_moment, fourth_moment)
            together = n_chains > 0 and n_draws >= SHORT_CHAIN and n_draws < 2 * BATCHES
            if together:
                sizes = effective_sizes(values, n_chains, halves[pair])
            for cell in range(cells):
                variance = second_moment[cell] / (n - 1.0)
                size = float(n)
                df = n - 1.0
                if together:
                    size = sizes[cell]
                    df = max(size / LAGS_PER_TIME, 1.0)
                elif n_chains > 0:
                    for i in range(n):
                        column[i] = values[i, cell]
                    _, spread, size, df = chain_run(column.reshape(n_chains, n_draws))
                    variance = spread / n * size
                added = noise[cell] if noise.size else 0.0
                square = variance / size  # of the standard error
                excess = max(fourth_moment[cell] * n / second_moment[cell] ** 2 - 1.0, 1.0)
                share = max(1.0 - NOISE_SHARE * added / (square * n), 0.25)
                errors[pair, cell, 0] = np.sqrt(square * share)
                # Products of polynomials have heavy tails: the variance of a variance is (kurtosis - 1)/n of its square, that
                # of a normal sample with 2n/(kurtosis - 1) degrees of freedom; what is taken off leaves its error as it is.
                errors[pair, cell, 1] = max(min(df, 2.0 * size / excess) * share * share, 1.0)
                errors[pair, cell, 2] = size
        return means, errors, correlations, halves

    return form_pairs


@compiled(nogil=True, error_model="numpy")
def centre(values, fitted, slopes):
    """Subtract `slopes` times the influence values of a fitted tau, if there are any, and the mean of every cell."""
    n, cells = values.shape
    mean = np.zeros(cells)
    for i in range(n):
        for cell in range(cells):
            if fitted.size:
                values[i, cell] -= slopes[cell] * fitted[i]
            mean[cell] += values[i, cell]
    for i in range(n):
        for cell in range(cells):
            values[i, cell] -= mean[cell] / n


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def moments(values, second, fourth):
    """Sums of squares and of fourth powers of every cell of (draw, cell)."""
    second[:] = 0.0
    fourth[:] = 0.0
    for i in range(values.shape[0]):
        for cell in range(values.shape[1]):
            square = values[i, cell] * values[i, cell]
            second[cell] += square
            fourth[cell] += square * square


@compiled(nogil=True, error_model="numpy", fastmath=FASTMATH)
def batches(values, n_chains, n_batches, correlations, halves):
    """Correlations of cells from sums of consecutive batches of (draw, cell), within chains; means of half chains."""
    n, cells = values.shape
    length = n // n_chains
    size = length // n_batches
    half = length // 2
    sums = np.zeros((n_chains * n_batches, cells))
    for chain in range(n_chains):
        for i in range(length):
            row = values[chain * length + i]
            batch = i // size
            if batch < n_batches:
                for cell in range(cells):
                    sums[chain * n_batches + batch, cell] += row[cell]
            if i < half or i >= length - half:
                part = 2 * chain + (i >= length - half)
                for cell in range(cells):
                    halves[part, cell] += row[cell] / half
    correlations[:] = 0.0
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


form_pairs_of_usual_order = _function(USUAL)
form_pairs_of_any_order = _function(None)
