"""Long-run variance and split R-hat of chains, with ArviZ's effective sample size for the mean.

Geyer's sequence ends after a handful of lags on chains that mix. Adding up those lags one by one, as here, takes a tenth of the
time of ArviZ's FFT over all of them, and is still faster on chains whose autocorrelation extends over a hundred draws.
"""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled

# Geyer's sequence sums about 4 n/n_eff autocovariances, so the resulting variance has about n_eff/4 degrees of freedom.
LAGS_PER_TIME = 4.0
# Autocovariances of shorter chains are mostly noise: with 50 chains of 10 independent draws the size of tests was 12%.
SHORT_CHAIN = 20
# With many chains, the variance of their means is known well, whatever the autocorrelation within them. Autocovariances of
# short chains miss what extends beyond half a chain: with 200 GARCH paths of 50 steps the size of tests of form was 9 to 17%.
MANY_CHAINS = 50
LONG_CHAIN = 1000  # from here on, autocovariances have more degrees of freedom and miss little
TINIEST = 1e-290  # replaces a scale of 0, to avoid a division by 0
ROUNDING = 1e-12  # relative differences below it are rounding errors
# Longer chains are first averaged over batches, at least this many per chain: the variance of batch means is the same, per
# draw, and still has a thousand degrees of freedom.
BATCHES = 4096


# Three slices that start at 0, instead of one array with an offset in its index, which might be negative: a loop without that
# check is vectorised, and takes a third of the time.
@compiled(nogil=True, fastmath={"reassoc", "contract"})
def _lagged_sums(values, later, next_later):
    """Sums of products with values at a lag and at the next one."""
    even = 0.0
    odd = 0.0
    for i in range(next_later.size):
        even += values[i] * later[i]
        odd += values[i] * next_later[i]
    return even, odd


@compiled(nogil=True, fastmath={"reassoc", "contract"})
def _square_sum(values):
    total = 0.0
    for i in range(values.size):
        total += values[i] * values[i]
    return total


@compiled(nogil=True, fastmath={"reassoc", "contract", "nnan"})
def _extremes(values):
    low = values[0]
    high = values[0]
    for i in range(values.size):
        low = min(low, values[i])
        high = max(high, values[i])
    return low, high


@compiled(nogil=True, fastmath={"reassoc", "contract"})
def _sum(values, factor):
    total = 0.0
    for i in range(values.size):
        total += values[i] * factor
    return total


@compiled(nogil=True, fastmath={"reassoc", "contract"})
def _squares(values, factor, centre):
    total = 0.0
    for i in range(values.size):
        total += (values[i] * factor - centre) ** 2
    return total


# NumPy's array functions take numba up to a second to compile, for arrays of any shape; these are for rows.
@compiled(nogil=True, error_model="numpy", inline="always")
def plain_mean(values):
    """`np.mean` of a row, summed in its order."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total / values.size


@compiled(nogil=True, error_model="numpy")
def plain_variance(values):
    """`np.var` of a row."""
    mean = plain_mean(values)
    total = 0.0
    for i in range(values.size):
        total += (values[i] - mean) * (values[i] - mean)
    return total / values.size


@compiled(nogil=True, error_model="numpy", inline="always")
def _scaled(values, factor):
    out = np.empty(values.shape)
    for chain in range(values.shape[0]):
        for i in range(values.shape[1]):
            out[chain, i] = values[chain, i] * factor
    return out


@compiled(nogil=True, error_model="numpy")
def scale_and_variance(values):
    """Largest absolute value, range and variance of (chain, draw), the last two in units of the first."""
    flat = values.reshape(values.size)
    low, high = _extremes(flat)
    scale = max(abs(low), abs(high), TINIEST)
    factor = 1.0 / scale
    mean = _sum(flat, factor) / values.size
    return scale, high * factor - low * factor, _squares(flat, factor, mean) / (values.size - 1.0)


@compiled(nogil=True, error_model="numpy", inline="always")
def _summed_squares(centred):
    total = 0.0
    for chain in range(centred.shape[0]):
        total += _square_sum(centred[chain])
    return total


@compiled(nogil=True, error_model="numpy")
def _mean_autocovariances(centred, lag):
    """Mean over chains of the autocovariances at a lag and at the next one."""
    even = 0.0
    odd = 0.0
    last = centred.shape[1] - 1
    for chain in range(centred.shape[0]):
        values = centred[chain]
        here, after = _lagged_sums(values[: last - lag], values[lag:last], values[lag + 1 :])
        even += here + values[last - lag] * values[last]
        odd += after
    return even / centred.size, odd / centred.size


@compiled(nogil=True, error_model="numpy")
def split_in_halves(values, factor):
    """First and last halves of all chains, times a factor, about their own means, and these means.

    An odd number of draws omits the middle one.
    """
    n_chains, n_draws = values.shape
    half = n_draws // 2
    centred = np.empty((2 * n_chains, half))
    means = np.empty(2 * n_chains)
    for part in range(2 * n_chains):
        chain = part % n_chains
        start = 0 if part < n_chains else n_draws - half
        means[part] = _sum(values[chain, start : start + half], factor) / half
        for i in range(half):
            centred[part, i] = values[chain, start + i] * factor - means[part]
    return centred, means


@compiled(nogil=True, error_model="numpy", inline="always")
def effective_size(centred, means):
    """ArviZ's effective sample size for the mean of split chains.

    Autocovariances divided by n, the variance between chains added, Geyer's (1992) initial positive, then initial monotone
    sequence; the size is at most n log10(n) (Vehtari et al., 2021).
    """
    n_chains, n_draws = centred.shape
    variance = _summed_squares(centred) / centred.size
    within = variance * n_draws / (n_draws - 1.0)
    total = variance
    if n_chains > 1:
        total += plain_variance(means) * n_chains / (n_chains - 1.0)
    rho = np.zeros(n_draws)
    even = 1.0
    t = 0  # numba compiles a literal lag separately, with a different order of additions than for a variable lag
    odd = 1.0 - (within - _mean_autocovariances(centred, t)[1]) / total
    rho[0] = even
    rho[1] = odd
    t = 1
    while t < n_draws - 3 and even + odd > 0.0:
        here, after = _mean_autocovariances(centred, t + 1)
        even = 1.0 - (within - here) / total
        odd = 1.0 - (within - after) / total
        if even + odd >= 0.0:
            rho[t + 1] = even
            rho[t + 2] = odd
        t += 2
    last = t - 2
    if even > 0.0:
        rho[last + 1] = even
    t = 1
    while t <= last - 2:
        if rho[t + 1] + rho[t + 2] > rho[t - 1] + rho[t]:
            rho[t + 1] = (rho[t - 1] + rho[t]) / 2.0
            rho[t + 2] = rho[t + 1]
        t += 2
    time = -1.0
    for t in range(last + 1):
        time += 2.0 * rho[t]
    time += rho[last + 1]
    size = n_chains * n_draws
    return size / max(time, 1.0 / np.log10(size))


@compiled(nogil=True, error_model="numpy")
def _batch_means(values, batch):
    """Means of consecutive batches of each chain; a remainder shorter than a batch is omitted."""
    size = values.shape[1] // batch
    means = np.empty((values.shape[0], size))
    for chain in range(values.shape[0]):
        for k in range(size):
            total = 0.0
            for i in range(k * batch, (k + 1) * batch):
                total += values[chain, i]
            means[chain, k] = total / batch
    return means


@compiled(nogil=True, error_model="numpy")
def long_run(values, iid):
    """(variance, long-run variance, effective number, degrees of freedom) of values (chain, draw); see `inference`.

    All are NaN if the values differ by rounding error only.
    """
    return independent_run(values) if iid else chain_run(values)


@compiled(nogil=True, error_model="numpy", inline="always")
def independent_run(values):
    """`long_run` of independent draws."""
    scale, width, variance = scale_and_variance(values)
    if width <= ROUNDING:
        return np.nan, np.nan, np.nan, np.nan
    square = scale * scale
    return variance * square, variance * square, float(values.size), values.size - 1.0


@compiled(nogil=True, error_model="numpy")
def chain_run(values):
    """`long_run` of chains."""
    n_chains, n_draws = values.shape
    n = values.size
    scale, width, variance = scale_and_variance(values)
    if width <= ROUNDING:
        return np.nan, np.nan, np.nan, np.nan
    square = scale * scale
    # chains are independent of each other
    if n_chains > 1 and (n_draws < SHORT_CHAIN or (n_chains >= MANY_CHAINS and n_draws < LONG_CHAIN)):
        each = _batch_means(_scaled(values, 1.0 / scale), n_draws).reshape(n_chains)
        low, high = _extremes(each)
        if high - low > ROUNDING:  # copies of one chain do not determine the variance of a mean
            spread = n_draws * plain_variance(each) * n_chains / (n_chains - 1.0)
            n_eff = n * variance / spread
            return variance * square, spread * square, n_eff, max(min(n_chains - 1.0, n_eff), 1.0)
    batch = max(n_draws // BATCHES, 1)
    means = values
    factor = 1.0 / scale
    scaled_variance = variance
    if batch > 1:
        averaged = _batch_means(_scaled(values, factor), batch)
        unit, width, averaged_variance = scale_and_variance(averaged)
        if width > ROUNDING:  # otherwise draws alternate with the period of the batches
            means = averaged
            factor = 1.0
            scaled_variance = unit * unit * averaged_variance
        else:
            batch = 1
    centred, chain_means = split_in_halves(means, factor)
    size = effective_size(centred, chain_means)
    if n_draws < SHORT_CHAIN:
        size = min(size, float(means.size))  # short chains are no evidence of negative autocorrelation
    spread = batch * scaled_variance * means.size / size
    n_eff = n * variance / spread
    return variance * square, spread * square, n_eff, max(min(size / LAGS_PER_TIME, n_eff), 1.0)


@compiled(nogil=True, error_model="numpy")
def split_rhat(values):
    """R-hat of (chain, draw) cut in halves, the root of their pooled variance over that within (Gelman et al., 2013).

    NaN for chains too short to compare, 1 if nothing varies, infinite if only the halves differ.
    """
    if values.shape[1] < SHORT_CHAIN:
        return np.nan
    scale, width, _ = scale_and_variance(values)
    if width <= ROUNDING:
        return 1.0
    centred, means = split_in_halves(values, 1.0 / scale)
    n_parts, n_draws = centred.shape
    within = 0.0
    for part in range(n_parts):
        within += _square_sum(centred[part]) / (n_draws - 1.0)
    within /= n_parts
    between = n_draws * plain_variance(means) * n_parts / (n_parts - 1.0)
    return np.sqrt((between / within + n_draws - 1.0) / n_draws)
