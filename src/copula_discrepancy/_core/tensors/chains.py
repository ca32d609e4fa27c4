"""Long-run variances and split R-hats of many series at once: the statistics of `kernels.chains`, on tensors.

Autocovariances at all lags come from one fast Fourier transform, where a compiled loop adds up lag after lag until they end:
a device has no use for ending early.
"""

import math
from typing import Any

import torch
from scipy.fft import next_fast_len

from copula_discrepancy._core.kernels.chains import (
    BATCHES,
    LAGS_PER_TIME,
    LONG_CHAIN,
    MANY_CHAINS,
    ROUNDING,
    SHORT_CHAIN,
    TINIEST,
)


def mean_errors(values: Any, n_chains: int | None) -> tuple[Any, Any, Any]:
    """(standard error, degrees of freedom, effective number) of the means of series (..., draw); NaN if nothing varies.

    `n_chains` is None for independent draws. See `kernels.spread`.
    """
    _, long_run, n_eff, df = long_runs(values, n_chains)
    return (long_run / values.shape[-1]).sqrt(), df, n_eff


def long_runs(values: Any, n_chains: int | None) -> tuple[Any, Any, Any, Any]:
    """(variance, long-run variance, effective number, degrees of freedom) of series (..., draw); see `kernels.long_run`."""
    n = values.shape[-1]
    low, high = values.aminmax(dim=-1)
    scale = high.abs().maximum(low.abs()).clamp(min=TINIEST)
    unit = values / scale[..., None]
    variance = unit.var(dim=-1, correction=1)
    nothing = (high - low) / scale <= ROUNDING
    square = scale * scale
    if n_chains is None:
        found = variance * square, variance * square, variance.new_full(variance.shape, float(n)), None
    else:
        found = _chain_runs(unit.unflatten(-1, (n_chains, -1)), variance, square)
    df = variance.new_full(variance.shape, n - 1.0) if found[3] is None else found[3]
    return tuple(part.masked_fill(nothing, math.nan) for part in (*found[:3], df))


def _chain_runs(unit: Any, variance: Any, square: Any) -> tuple[Any, Any, Any, Any]:
    """The same of chains (..., chain, draw) in units of their largest value."""
    n_chains, n_draws = unit.shape[-2:]
    n = n_chains * n_draws
    batch = max(n_draws // BATCHES, 1)
    if batch == 1:
        size, spread = _geyer(unit, variance)
    else:
        averaged = unit[..., : n_draws // batch * batch].unflatten(-1, (-1, batch)).mean(dim=-1)
        flat = averaged.flatten(-2)
        low, high = flat.aminmax(dim=-1)
        # otherwise draws alternate with the period of the batches
        usable = high - low > ROUNDING * high.abs().maximum(low.abs()).clamp(min=TINIEST)
        size, spread = _geyer(averaged, flat.var(dim=-1, correction=1))
        spread = batch * spread
        rest = ~usable
        if bool(rest.any()):
            size[rest], spread[rest] = _geyer(unit[rest], variance[rest])
    n_eff = n * variance / spread
    df = (size / LAGS_PER_TIME).minimum(n_eff).clamp(min=1.0)
    if n_chains > 1 and (n_draws < SHORT_CHAIN or (n_chains >= MANY_CHAINS and n_draws < LONG_CHAIN)):
        each = unit.mean(dim=-1)
        low, high = each.aminmax(dim=-1)
        apart = high - low > ROUNDING  # copies of one chain do not determine the variance of a mean
        between = n_draws * each.var(dim=-1, correction=1)
        number = n * variance / between
        spread, n_eff = between.where(apart, spread), number.where(apart, n_eff)
        df = number.clamp(max=n_chains - 1.0).clamp(min=1.0).where(apart, df)
    return variance * square, spread * square, n_eff, df


def _geyer(chains: Any, variance: Any) -> tuple[Any, Any]:
    """Effective sizes of chains (..., chain, draw) with a variance, and n times the variances of their means."""
    count = chains.shape[-2] * chains.shape[-1]
    size = _effective_sizes(*_split(chains))
    if chains.shape[-1] < SHORT_CHAIN:
        size = size.clamp(max=float(count))  # short chains are no evidence of negative autocorrelation
    return size, variance * count / size


def _split(chains: Any) -> tuple[Any, Any]:
    """First and last halves of chains (..., chain, draw) about their own means, (..., part, draw), and these means."""
    half = chains.shape[-1] // 2
    parts = chains.new_empty((*chains.shape[:-2], 2 * chains.shape[-2], half))
    parts[..., : chains.shape[-2], :] = chains[..., :half]
    parts[..., chains.shape[-2] :, :] = chains[..., chains.shape[-1] - half :]
    means = parts.mean(dim=-1)
    parts -= means[..., None]
    return parts, means


def _effective_sizes(parts: Any, means: Any) -> Any:
    """ArviZ's effective sample size for the mean of split chains (..., part, draw); see `kernels.chains.effective_size`."""
    n_parts, length = parts.shape[-2:]
    size = n_parts * length
    autocovariance = _autocovariances(parts) / size
    variance = autocovariance[..., :1]
    within = variance * (length / (length - 1.0))
    total = variance + means.var(dim=-1, correction=1)[..., None]
    rho = 1.0 - (within - autocovariance) / total
    rho[..., 0] = 1.0
    pairs = rho.shape[-1] // 2
    even = rho[..., : 2 * pairs : 2]
    sums = even + rho[..., 1 : 2 * pairs : 2]
    last = max((length - 3) // 2, 0)  # the last pair of lags that is looked at
    # Geyer's initial positive sequence: the number of pairs before the first whose sum is not positive
    ended = (sums[..., : last + 1] > 0.0).to(sums.dtype).cumprod(dim=-1).sum(dim=-1).clamp(max=float(last)).long()[..., None]
    monotone = sums.cummin(dim=-1).values
    before = monotone.cumsum(dim=-1).gather(-1, (ended - 1).clamp(min=0))
    tail, after = even.gather(-1, ended), sums.gather(-1, ended)
    tail = tail.where((tail > 0.0) | (after >= 0.0), tail.new_zeros(()))
    time = (2.0 * before.where(ended > 0, before.new_zeros(())) + tail - 1.0)[..., 0]
    return size / time.clamp(min=1.0 / math.log10(size))


def _autocovariances(parts: Any) -> Any:
    """Sums over parts of products at every lag, (..., lag), of centred values (..., part, draw)."""
    length = parts.shape[-1]
    fast = next_fast_len(2 * length, real=True)
    spectrum = torch.fft.rfft(parts, n=fast)
    power = (spectrum.real.square() + spectrum.imag.square()).sum(dim=-2)
    found = torch.fft.irfft(power, n=fast)
    return found[..., :length]


def split_rhats(values: Any, n_chains: int) -> Any:
    """R-hat of series (..., draw) of chains cut in halves; see `kernels.split_rhat`."""
    n_draws = values.shape[-1] // n_chains
    if n_draws < SHORT_CHAIN:
        return values.new_full(values.shape[:-1], math.nan)
    low, high = values.aminmax(dim=-1)
    scale = high.abs().maximum(low.abs()).clamp(min=TINIEST)
    parts, means = _split((values / scale[..., None]).unflatten(-1, (n_chains, -1)))
    length = parts.shape[-1]
    within = parts.square().sum(dim=-1).mean(dim=-1) / (length - 1.0)
    between = length * means.var(dim=-1, correction=1)
    rhats = ((between / within + length - 1.0) / length).sqrt()
    return rhats.masked_fill((high - low) / scale <= ROUNDING, 1.0)
