"""All that many pairs of variables need between their ranks and their row of numbers, in three calls per pair.

The same steps as for a single pair in `influence`, `agreement` and `tails`, which tests hold against each other; there each
is a few calls to NumPy, whose overhead would take most of the time here, and make threads wait for each other.
"""

import numpy as np

from copula_discrepancy._kernels._chains import long_run, split_rhat
from copula_discrepancy._kernels._compiled import compiled
from copula_discrepancy._kernels._ranks import concordance_counts, sums_above


@compiled(nogil=True, error_model="numpy")
def _group_sizes(rank):
    sizes = np.zeros(rank.size, np.int32)
    for i in range(rank.size):
        sizes[rank[i]] += 1
    return sizes


@compiled(nogil=True, error_model="numpy")
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
    mean = np.mean(concordance)
    for i in range(n):
        influence[i] = 2.0 * (concordance[i] - mean)
    if ties_x + ties_y > 0:
        share_x = 1.0 - ties_x / pairs
        share_y = 1.0 - ties_y / pairs
        sizes_x = _group_sizes(rank_x)
        sizes_y = _group_sizes(rank_y)
        root = np.sqrt(share_x * share_y)
        for i in range(n):
            untied_x = 1.0 - (sizes_x[rank_x[i]] - 1.0) / (n - 1.0)
            untied_y = 1.0 - (sizes_y[rank_y[i]] - 1.0) / (n - 1.0)
            less = mean / share_x * (untied_x - share_x) + mean / share_y * (untied_y - share_y)
            influence[i] = (influence[i] - less) / root
    return tau, concordance, influence


@compiled(nogil=True, error_model="numpy")
def dependence_rhat(tau, concordance, orders_x, ranks_x, ties_x, orders_y, ranks_y, ties_y):
    """R-hat for dependence (see `agreement`), from the ranks within each chain, one chain per row."""
    n_chains, n_draws = ranks_x.shape
    together = split_rhat(concordance.reshape(n_chains, n_draws))
    if n_chains == 1 or np.isnan(together):
        return together
    values = np.zeros((n_chains, n_draws))
    every = n_draws * (n_draws - 1) // 2
    for chain in range(n_chains):
        if ties_x[chain] == every or ties_y[chain] == every:
            continue
        own, _, influence = tau_and_influence(
            orders_x[chain], ranks_x[chain], ties_x[chain], orders_y[chain], ranks_y[chain], ties_y[chain]
        )
        for i in range(n_draws):
            values[chain, i] = own + influence[i]
    pooling = (tau - np.mean(values)) ** 2
    within = 0.0
    for chain in range(n_chains):
        within += np.var(values[chain]) * n_draws / (n_draws - 1.0) / n_chains
    apart = np.sqrt(1.0 + pooling / within) if within > 0.0 else 1.0
    return max(together, split_rhat(values), apart)


@compiled(nogil=True, error_model="numpy")
def spread(values, n_chains, iid):
    """(standard error, degrees of freedom, effective number) of the mean of influence values, NaN where all are equal."""
    _, variance, n_eff, df = long_run(values.reshape(n_chains, values.size // n_chains), iid)
    return np.sqrt(variance / values.size), df, n_eff


@compiled(nogil=True, error_model="numpy")
def gap_spreads(order_x, rank_x, order_y, rank_y, tau, score, in_u, in_v, curvature, tau_slope, n_chains, iid):
    """Spreads of tau, of the fitted tau and of their difference, rows of (standard error, degrees of freedom, n_eff).

    `tau` holds influence values on Kendall's tau; `score` and its derivatives `in_u`, `in_v` are those of the likelihood at its
    maximum, `curvature` their sum's second derivative. An empty `score` leaves the last two NaN.
    """
    n = tau.size
    out = np.full((3, 3), np.nan)
    out[0] = spread(tau, n_chains, iid)
    if score.size == 0:
        return out
    above_x = sums_above(order_x, rank_x, in_u)
    above_y = sums_above(order_y, rank_y, in_v)
    fitted = np.empty(n)
    total = 0.0
    for i in range(n):
        fitted[i] = score[i] + (above_x[i] + above_y[i]) / (n + 1.0)
        total += fitted[i]
    mean = total / n
    factor = tau_slope / (-curvature / n)
    shape = np.empty(n)
    for i in range(n):
        fitted[i] = (fitted[i] - mean) * factor
        shape[i] = fitted[i] - tau[i]
    out[1] = spread(fitted, n_chains, iid)
    out[2] = spread(shape, n_chains, iid)
    return out


@compiled(nogil=True, error_model="numpy")
def depths(rank, ties):
    """Twice the mid-rank of every draw: how deep it lies, counted from the low end."""
    n = rank.size
    depth = np.empty(n, np.int64)
    for i in range(n):
        depth[i] = 2 * (np.int64(rank[i]) + 1)
    if ties > 0:
        sizes = _group_sizes(rank)
        for i in range(n):
            depth[i] += sizes[rank[i]] - 1
    return depth


@compiled(nogil=True, error_model="numpy")
def corner_shares(depth_x, high_x, depth_y, high_y, tail, width):
    """(share of x inside its tail, of y, of both) and the slopes of the joint share in both edges; and who is inside."""
    n = depth_x.size
    whole = 2 * (n + 1)
    limit = tail * whole
    reach = width * whole
    inside = np.zeros((2, n), np.uint8)
    count_x = count_y = both = beside_x = beside_y = joint_x = joint_y = 0
    for i in range(n):
        x = whole - depth_x[i] if high_x else depth_x[i]
        y = whole - depth_y[i] if high_y else depth_y[i]
        in_x = x <= limit
        in_y = y <= limit
        near_x = abs(x - limit) <= reach
        near_y = abs(y - limit) <= reach
        inside[0, i] = in_x
        inside[1, i] = in_y
        count_x += in_x
        count_y += in_y
        both += in_x and in_y
        beside_x += near_x
        beside_y += near_y
        joint_x += near_x and in_y
        joint_y += near_y and in_x
    slopes = joint_x / max(beside_x, 1), joint_y / max(beside_y, 1)
    return count_x / n, count_y / n, both / n, slopes[0], slopes[1], inside


@compiled(nogil=True, error_model="numpy")
def corner_influence(tau, inside, shares, expected_slope):
    """Influence of each draw on a tail gap; `tau` holds those on Kendall's tau, `shares` are as `corner_shares` gives them.

    What ranks do to each edge is subtracted (Segers, 2012); the influence on tau enters through the family's member.
    """
    n = tau.size
    share_x, share_y, both, slope_x, slope_y = shares
    values = np.empty(n)
    for i in range(n):
        in_x = np.float64(inside[0, i])
        in_y = np.float64(inside[1, i])
        flat = in_x * in_y - both - slope_x * (in_x - share_x) - slope_y * (in_y - share_y)
        values[i] = (flat - expected_slope * tau[i]) / share_x
    return values


@compiled(nogil=True, error_model="numpy")
def start_pairs(orders, ranks, ties, chain_orders, chain_ranks, chain_ties, first, second, compare, influence):
    """(tau, R-hat) of several pairs of variables, rows of the tables; fills the rows of `influence`. R-hat only if `compare`.

    Many pairs in one call: a thread that comes back for the interpreter after each would wait for the others.
    """
    taus = np.empty(first.size)
    rhats = np.full(first.size, np.nan)
    for k in range(first.size):
        i = first[k]
        j = second[k]
        tau, concordance, found = tau_and_influence(orders[i], ranks[i], ties[i], orders[j], ranks[j], ties[j])
        taus[k] = tau
        influence[k] = found
        if compare:
            rhats[k] = dependence_rhat(
                tau, concordance, chain_orders[i], chain_ranks[i], chain_ties[i], chain_orders[j], chain_ranks[j], chain_ties[j]
            )
    return taus, rhats


@compiled(nogil=True, error_model="numpy")
def finish_pairs(
    orders, ranks, ties, first, second, influence, scored, score, in_u, in_v, curvature, slope, highs, wanted, expected_slope,
    n_chains, iid, tail, width,
):  # fmt: skip
    """Spreads of tau, fitted tau, shape and the gap in every corner of several pairs, (pair, 3 + corner, 3); joint shares.

    `scored` says where there is a likelihood fit, `wanted` which corners are looked at, `highs` at which ends of u and v each
    corner is.
    """
    n_corners = highs.shape[0]
    spreads = np.full((first.size, 3 + n_corners, 3), np.nan)
    joint = np.full((first.size, n_corners), np.nan)
    nothing = np.empty(0)
    for k in range(first.size):
        i = first[k]
        j = second[k]
        own = score[k] if scored[k] else nothing
        spreads[k, :3] = gap_spreads(
            orders[i], ranks[i], orders[j], ranks[j], influence[k], own, in_u[k], in_v[k], curvature[k], slope[k], n_chains, iid
        )
        if not np.any(wanted[k]):
            continue
        depth_x = depths(ranks[i], ties[i])
        depth_y = depths(ranks[j], ties[j])
        for end in range(n_corners):
            if wanted[k, end]:
                u, v, both, slope_u, slope_v, inside = corner_shares(
                    depth_x, highs[end, 0], depth_y, highs[end, 1], tail, width
                )
                joint[k, end] = both
                values = corner_influence(influence[k], inside, (u, v, both, slope_u, slope_v), expected_slope[k, end])
                spreads[k, 3 + end] = spread(values, n_chains, iid)
    return spreads, joint


@compiled()
def gather(table, places):
    """table[places]; too quick to be worth giving the interpreter away."""
    found = np.empty(places.size)
    for i in range(places.size):
        found[i] = table[places[i]]
    return found
