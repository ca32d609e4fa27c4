"""The computations between the ranks of pairs of variables and their row of numbers, for one pair or many in one call.

NumPy's overhead would dominate the time of a small pair, and make threads wait for each other.
"""

import numpy as np

from copula_discrepancy._core.kernels.chains import chain_run, independent_run, plain_mean, plain_variance, split_rhat
from copula_discrepancy._core.kernels.compiled import compiled
from copula_discrepancy._core.kernels.ranks import concordance_counts, depths, group_sizes, sums_above


@compiled(nogil=True, error_model="numpy", inline="always")
def tau_and_influence(order_x, rank_x, ties_x, order_y, rank_y, ties_y):
    """Kendall's tau-b, each draw's mean concordance, and its influence on tau."""
    n = rank_x.size
    counts = concordance_counts(order_x, rank_x, ties_x, order_y, rank_y, ties_y)
    concordance = np.empty(n)
    whole = np.int64(0)
    for i in range(n):
        whole += counts[i]
        concordance[i] = counts[i] / (n - 1.0)
    pairs = np.int64(n) * np.int64(n - 1) // 2
    a = np.float64(pairs - ties_x)
    b = np.float64(pairs - ties_y)
    tau = (whole // 2) / (a if a == b else np.sqrt(a * b))
    influence = np.zeros(n)
    if abs(tau) == 1.0:
        return tau, concordance, influence
    mean = plain_mean(concordance)
    for i in range(n):
        influence[i] = 2.0 * (concordance[i] - mean)
    if ties_x + ties_y > 0:
        share_x = 1.0 - ties_x / pairs
        share_y = 1.0 - ties_y / pairs
        sizes_x = group_sizes(rank_x)
        sizes_y = group_sizes(rank_y)
        root = np.sqrt(share_x * share_y)
        for i in range(n):
            untied_x = 1.0 - (sizes_x[rank_x[i]] - 1.0) / (n - 1.0)
            untied_y = 1.0 - (sizes_y[rank_y[i]] - 1.0) / (n - 1.0)
            less = mean / share_x * (untied_x - share_x) + mean / share_y * (untied_y - share_y)
            influence[i] = (influence[i] - less) / root
    return tau, concordance, influence


@compiled(nogil=True, error_model="numpy", inline="always")
def spread(values, n_chains):
    """(standard error, degrees of freedom, effective number) of the mean of influence values, NaN if all are equal.

    For independent draws `n_chains` is None: numba then compiles the short path only.
    """
    if n_chains is None:
        _, variance, n_eff, df = independent_run(values.reshape(1, values.size))
    else:
        _, variance, n_eff, df = chain_run(values.reshape(n_chains, values.size // n_chains))
    return np.sqrt(variance / values.size), df, n_eff


@compiled(nogil=True, error_model="numpy", inline="always")
def score_influence(order_x, rank_x, order_y, rank_y, score, in_u, in_v, factor, found):
    """Fill in `factor` times the score plus the effect of each draw through the ranks of the others, with mean 0.

    Draw i shifts the rank of every larger draw by one and of an equal one by half: sum over j of (1{x_i < x_j} + 1{x_i =
    x_j}/2) times the derivative `in_u` of the score of draw j, over n + 1 (Genest, Ghoudi and Rivest, 1995).
    """
    n = score.size
    above_x = sums_above(order_x, rank_x, in_u)
    above_y = sums_above(order_y, rank_y, in_v)
    total = 0.0
    for i in range(n):
        found[i] = score[i] + (above_x[i] + above_y[i]) / (n + 1.0)
        total += found[i]
    mean = total / n
    for i in range(n):
        found[i] = (found[i] - mean) * factor


# bits of the flags of a draw: it is inside the low, or the high, tail of a variable; it is next to the edge of that tail
LOW, NEAR_LOW = 1, 4  # twice as much at the high end


@compiled(nogil=True, error_model="numpy")
def tail_flags(rank, ties, tail, width, flags):
    """Fill in where each draw is relative to both tails of a variable; `width` is that of the neighbourhood of an edge."""
    depth = depths(rank, ties)
    whole = 2 * (rank.size + 1)
    limit = tail * whole
    reach = width * whole
    for i in range(rank.size):
        low = depth[i]
        high = whole - low
        inside = (low <= limit) + 2 * (high <= limit)
        flags[i] = inside + 4 * (abs(low - limit) <= reach) + 8 * (abs(high - limit) <= reach)


@compiled(nogil=True, error_model="numpy")
def corner_shares(flags_x, flags_y, highs):
    """For every corner: the shares of x inside its tail, of y, of both, and the slopes of the joint share in both edges."""
    counts = np.zeros((16, 16), np.int64)
    for i in range(flags_x.size):
        counts[flags_x[i], flags_y[i]] += 1
    n = flags_x.size
    found = np.empty((highs.shape[0], 5))
    for corner in range(highs.shape[0]):
        in_x = LOW << np.int64(highs[corner, 0])
        in_y = LOW << np.int64(highs[corner, 1])
        near_x = NEAR_LOW << np.int64(highs[corner, 0])
        near_y = NEAR_LOW << np.int64(highs[corner, 1])
        count_x = count_y = both = beside_x = beside_y = joint_x = joint_y = 0
        for x in range(16):
            for y in range(16):
                count = counts[x, y]
                if count == 0:
                    continue
                inside_x = (x & in_x) != 0
                inside_y = (y & in_y) != 0
                count_x += count * inside_x
                count_y += count * inside_y
                both += count * (inside_x and inside_y)
                if (x & near_x) != 0:
                    beside_x += count
                    joint_x += count * inside_y
                if (y & near_y) != 0:
                    beside_y += count
                    joint_y += count * inside_x
        found[corner, 0] = count_x / n
        found[corner, 1] = count_y / n
        found[corner, 2] = both / n
        found[corner, 3] = joint_x / max(beside_x, 1)
        found[corner, 4] = joint_y / max(beside_y, 1)
    return found


@compiled(nogil=True, error_model="numpy", inline="always")
def corner_influence(tau, flags_x, flags_y, high_x, high_y, shares, expected_slope, values):
    """Fill in influence values on a tail gap; `tau` holds those on Kendall's tau, `shares` is a row of `corner_shares`.

    The effect of ranks on each edge is subtracted (Segers, 2012); the influence on tau enters through the family's member.
    """
    share_x = shares[0]
    share_y = shares[1]
    both = shares[2]
    slope_x = shares[3]
    slope_y = shares[4]
    in_x = np.uint8(LOW << np.int64(high_x))
    in_y = np.uint8(LOW << np.int64(high_y))
    for i in range(tau.size):
        x = 1.0 if flags_x[i] & in_x else 0.0
        y = 1.0 if flags_y[i] & in_y else 0.0
        flat = x * y - both - slope_x * (x - share_x) - slope_y * (y - share_y)
        values[i] = (flat - expected_slope * tau[i]) / share_x


@compiled(nogil=True, error_model="numpy")
def start_pairs(orders, ranks, ties, first, second, influence, concordance):
    """Kendall's tau of several pairs of variables, rows of the tables; fills `influence` and, if it has rows, `concordance`.

    Many pairs in one call: a thread that reacquires the interpreter lock after each pair would wait for the others.
    """
    taus = np.empty(first.size)
    for k in range(first.size):
        i = first[k]
        j = second[k]
        tau, concordant, found = tau_and_influence(orders[i], ranks[i], ties[i], orders[j], ranks[j], ties[j])
        taus[k] = tau
        for draw in range(found.size):
            influence[k, draw] = found[draw]
        if k < concordance.shape[0]:
            for draw in range(found.size):
                concordance[k, draw] = concordant[draw]
    return taus


@compiled(nogil=True, error_model="numpy")
def dependence_rhats(taus, concordance, chain_taus, chain_influence, ties_x, ties_y):
    """R-hat for dependence (see `agreement`) of several pairs, from the results of `start_pairs` for all draws and each chain.

    Arrays have one row per pair; with a single chain `chain_influence` has no rows. Independent draws have no R-hat: a separate
    function spares them its compilation.
    """
    _, n_chains, n_draws = chain_influence.shape
    every = n_draws * (n_draws - 1) // 2
    rhats = np.empty(taus.size)
    values = np.empty((n_chains, n_draws))
    for k in range(taus.size):
        together = split_rhat(concordance[k].reshape(n_chains, n_draws))
        rhats[k] = together
        if n_chains == 1 or np.isnan(together):
            continue
        for chain in range(n_chains):
            constant = ties_x[k, chain] == every or ties_y[k, chain] == every
            for i in range(n_draws):
                values[chain, i] = 0.0 if constant else chain_taus[k, chain] + chain_influence[k, chain, i]
        pooling = (taus[k] - plain_mean(values.reshape(values.size))) ** 2
        within = 0.0
        for chain in range(n_chains):
            within += plain_variance(values[chain]) * n_draws / (n_draws - 1.0) / n_chains
        apart = np.sqrt(1.0 + pooling / within) if within > 0.0 else 1.0
        rhats[k] = max(together, split_rhat(values), apart)
    return rhats


@compiled(nogil=True, error_model="numpy")
def finish_pairs(
    orders, ranks, ties, first, second, influence, scored, score, in_u, in_v, curvature, slope, highs, wanted, expected_slope,
    n_chains, tail, width, kept,
):  # fmt: skip
    """Standard errors of tau, fitted tau, shape and every corner gap of several pairs, (pair, 3 + corner, 3); joint shares.

    A row is (standard error, degrees of freedom, n_eff). `scored` marks likelihood fits, `wanted` the corners to evaluate,
    `highs` the ends of u and v of each; `n_chains` is None for independent draws. `kept`, (place, 3 + corner, draw), has room
    for the influence values of every pair, which are then kept in it, or of one at a time. `score` is overwritten by the
    influence values of the fitted tau.
    """
    n_corners = highs.shape[0]
    spreads = np.empty((first.size, 3 + n_corners, 3))
    spreads[:] = np.nan
    joint = np.empty((first.size, n_corners))
    joint[:] = np.nan
    n = ranks.shape[1]
    flags_x = np.empty(n, np.uint8)
    flags_y = np.empty(n, np.uint8)
    flagged = -1
    for k in range(first.size):
        i = first[k]
        j = second[k]
        values = kept[k if kept.shape[0] == first.size else 0]
        if scored[k]:
            factor = slope[k] / (-curvature[k] / n)
            score_influence(
                orders[i], ranks[i], orders[j], ranks[j], score[k], in_u[k], in_v[k], factor, values[1]
            )  # fmt: skip
            for draw in range(n):
                values[2, draw] = values[1, draw] - influence[k, draw]
                score[k, draw] = values[1, draw]
        any_wanted = False
        for end in range(n_corners):
            any_wanted = any_wanted or wanted[k, end]
        if any_wanted:
            if flagged != i:  # consecutive pairs share their first variable
                tail_flags(ranks[i], ties[i], tail, width, flags_x)
                flagged = i
            tail_flags(ranks[j], ties[j], tail, width, flags_y)
            shares = corner_shares(flags_x, flags_y, highs)
            for end in range(n_corners):
                if wanted[k, end]:
                    joint[k, end] = shares[end, 2]
                    ends = highs[end]
                    steep = expected_slope[k, end]
                    corner_influence(influence[k], flags_x, flags_y, ends[0], ends[1], shares[end], steep, values[3 + end])
        for row in range(3 + n_corners):  # all at one place: a function is compiled for each place that calls it
            if row == 0 or (scored[k] if row < 3 else wanted[k, row - 3]):
                error, df, n_eff = spread(influence[k] if row == 0 else values[row], n_chains)
                spreads[k, row, 0] = error
                spreads[k, row, 1] = df
                spreads[k, row, 2] = n_eff
    return spreads, joint


@compiled()
def gather(table, places):
    """table[places]; too fast to be worth releasing the interpreter lock."""
    found = np.empty(places.size)
    for i in range(places.size):
        found[i] = table[places[i]]
    return found
