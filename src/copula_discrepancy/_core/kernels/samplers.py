"""Compiled chains: Metropolis, SGLD and SGHMC over the built-in targets.

An integer `kind` and a parameter vector select the target inside one log density and one gradient, because functions passed as
arguments would not be cached on disk. All noise is passed in, so that a run is the same whether compiled or not. A chain that
diverges stops; the kernels return the chain and the step where that happened first, or (-1, -1).
"""

import math

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled
from copula_discrepancy._core.kernels.scores import (
    HALF_LOG_2PI,
    SCORE_LIMIT,
    _expit,
    copula_density,
)

NORMAL = 0
BIMODAL = 1
WELLING_TEH = 2


# ---- targets ------------------------------------------------------------------------------------------------------------


@compiled(nogil=True, error_model="numpy")
def _log_density(kind, params, data, x):
    d = x.size
    if kind == NORMAL:  # params: mean, precision, constant
        total = 0.0
        for i in range(d):
            row = 0.0
            for j in range(d):
                row += params[d + i * d + j] * (x[j] - params[j])
            total += row * (x[i] - params[i])
        return params[d + d * d] - 0.5 * total
    if kind == BIMODAL:  # params: centre, variance
        m, s2 = params[0], params[1]
        tilt = abs(m * (x[0] + x[1]) / s2)
        square = (x[0] * x[0] + x[1] * x[1] + 2.0 * m * m) / (2.0 * s2)
        return tilt + math.log1p(math.exp(-2.0 * tilt)) - square - math.log(4.0 * math.pi * s2)
    if kind == WELLING_TEH:
        total = -x[0] * x[0] / 20.0 - 0.5 * x[1] * x[1]
        for i in range(data.size):
            first, second = data[i] - x[0], data[i] - x[0] - x[1]
            a, b = -0.25 * first * first, -0.25 * second * second
            total += max(a, b) + math.log1p(math.exp(-abs(a - b)))
        return total
    z1, z2 = x[0], x[1]
    if not (abs(z1) <= SCORE_LIMIT and abs(z2) <= SCORE_LIMIT):
        return -np.inf
    return copula_density(kind, params, z1, z2)[0] - 0.5 * (z1 * z1 + z2 * z2) - 2.0 * HALF_LOG_2PI


@compiled(nogil=True, error_model="numpy")
def _gradient(kind, params, data, indices, x, out):
    """Write the gradient to `out`; `indices` is a minibatch of the data, or empty for all of them."""
    d = x.size
    if kind == NORMAL:
        for i in range(d):
            row = 0.0
            for j in range(d):
                row += params[d + i * d + j] * (params[j] - x[j])
            out[i] = row
    elif kind == BIMODAL:
        m, s2 = params[0], params[1]
        centre = m * math.tanh(m * (x[0] + x[1]) / s2)
        out[0] = (centre - x[0]) / s2
        out[1] = (centre - x[1]) / s2
    elif kind == WELLING_TEH:
        in_1, in_2 = 0.0, 0.0
        count = indices.size if indices.size > 0 else data.size
        for k in range(count):
            value = data[indices[k]] if indices.size > 0 else data[k]
            first, second = value - x[0], value - x[0] - x[1]
            weight = _expit(0.25 * (first * first - second * second))
            in_2 += 0.5 * weight * second
            in_1 += 0.5 * ((1.0 - weight) * first + weight * second)
        ratio = data.size / count
        out[0] = ratio * in_1 - x[0] / 10.0
        out[1] = ratio * in_2 - x[1]
    elif abs(x[0]) <= SCORE_LIMIT and abs(x[1]) <= SCORE_LIMIT:
        _, in_1, in_2 = copula_density(kind, params, x[0], x[1])
        out[0] = in_1 - x[0]
        out[1] = in_2 - x[1]
    else:
        out[:] = np.nan


@compiled(nogil=True, error_model="numpy")
def log_densities(kind, params, data, x):
    """Log density of each row of x."""
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = _log_density(kind, params, data, x[i])
    return out


@compiled(nogil=True, error_model="numpy")
def gradients(kind, params, data, x):
    """Gradient of the log density at each row of x."""
    out = np.empty(x.shape)
    none = np.empty(0, np.int64)
    for i in range(x.shape[0]):
        _gradient(kind, params, data, none, x[i], out[i])
    return out


# ---- chains -------------------------------------------------------------------------------------------------------------


@compiled(nogil=True, error_model="numpy")
def metropolis_path(kind, params, data, x, current, scale, noise, threshold, path, accepted):
    """Advance every chain by a block of steps; x and its log densities `current` are changed in place."""
    chains, steps, d = noise.shape
    failed_chain, failed_step = -1, -1
    proposal = np.empty(d)
    for c in range(chains):
        for t in range(steps):
            for i in range(d):
                proposal[i] = x[c, i] + scale[i] * noise[c, t, i]
            value = _log_density(kind, params, data, proposal)
            if not value < np.inf:  # NaN or +inf
                if failed_step < 0 or t < failed_step:
                    failed_chain, failed_step = c, t
                break
            accepted[c, t] = value > current[c] - threshold[c, t]
            if accepted[c, t]:
                x[c] = proposal
                current[c] = value
            path[c, t] = x[c]
    return failed_chain, failed_step


@compiled(nogil=True, error_model="numpy")
def sgld_path(kind, params, data, x, step, noise, batches, path):
    """Advance every chain by a block of steps; x is changed in place."""
    chains, steps, d = noise.shape
    failed_chain, failed_step = -1, -1
    slope = np.empty(d)
    root = math.sqrt(step)
    for c in range(chains):
        for t in range(steps):
            _gradient(kind, params, data, batches[c, t], x[c], slope)
            finite = True
            for i in range(d):
                x[c, i] += 0.5 * step * slope[i] + root * noise[c, t, i]
                path[c, t, i] = x[c, i]
                finite &= math.isfinite(x[c, i])
            if not finite:
                if failed_step < 0 or t < failed_step:
                    failed_chain, failed_step = c, t
                break
    return failed_chain, failed_step


@compiled(nogil=True, error_model="numpy")
def sghmc_path(kind, params, data, x, v, step, friction, noise, batches, path):
    """Advance every chain by a block of steps; x and its velocity v are changed in place."""
    chains, steps, d = noise.shape
    failed_chain, failed_step = -1, -1
    slope = np.empty(d)
    root = math.sqrt(2.0 * friction * step)
    for c in range(chains):
        for t in range(steps):
            finite = True
            for i in range(d):
                x[c, i] += step * v[c, i]
                path[c, t, i] = x[c, i]
            _gradient(kind, params, data, batches[c, t], x[c], slope)
            for i in range(d):
                v[c, i] += step * slope[i] - step * friction * v[c, i] + root * noise[c, t, i]
                finite &= math.isfinite(x[c, i]) and math.isfinite(v[c, i])
            if not finite:
                if failed_step < 0 or t < failed_step:
                    failed_chain, failed_step = c, t
                break
    return failed_chain, failed_step
