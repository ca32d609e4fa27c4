"""Compiled chains: Metropolis, SGLD and SGHMC over the built-in targets.

An integer `kind` and a parameter vector choose the target inside one log density and one gradient, because functions passed as
arguments would not be cached on disk. All noise comes from outside, so that a run is the same whether compiled or not. A chain
that leaves the finite numbers stops; the kernels return the chain and the step where that happened first, or (-1, -1).

Copula targets are written in normal scores z. A probability u = Phi(z) enters through -log u or -log(1-u), both with full
relative accuracy; the formulas are those of the families, one point at a time.
"""

import math

import numba as nb
import numpy as np

NORMAL = 0
BIMODAL = 1
WELLING_TEH = 2
GAUSSIAN = 10
CLAYTON = 11
GUMBEL = 12
FRANK = 13
JOE = 14
HYPERBOLIC = 15
STUDENT = 16

SCORE_LIMIT = 25.0  # Phi(-25) = 3e-138: squares of Student quantiles are still floats for df >= 1
LOG_2 = 0.6931471805599453
HALF_LOG_2PI = 0.9189385332046727
ROOT_2 = 1.4142135623730951


# ---- small functions ----------------------------------------------------------------------------------------------------


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _minus_log_ndtr(z):
    """-log Phi(z)."""
    tail = 0.5 * math.erfc(abs(z) / ROOT_2)
    return -math.log1p(-tail) if z > 0 else -math.log(tail)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _mills(z, minus_log):
    """phi(z)/Phi(z), given -log Phi(z)."""
    return math.exp(minus_log - 0.5 * z * z - HALF_LOG_2PI)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _log1mexp(z):
    """log(1 - exp(-z)) for z > 0."""
    return math.log(-math.expm1(-z)) if z < LOG_2 else math.log1p(-math.exp(-z))


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _log_2sinh(z):
    return z + _log1mexp(2.0 * z)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _log_cosh(z):
    return z + math.log1p(math.exp(-2.0 * z)) - LOG_2


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _expit(z):
    if z < 0:
        e = math.exp(z)
        return e / (1.0 + e)
    return 1.0 / (1.0 + math.exp(-z))


# ---- copulas: (log c, d log c/dz1, d log c/dz2) ------------------------------------------------------------------------------


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _gaussian(theta, x, y):
    spread = (1.0 - theta) * (1.0 + theta)
    sign = 1.0 if theta >= 0 else -1.0
    log_spread = math.log1p(-theta * theta) if abs(theta) < 0.5 else math.log(spread)
    value = -0.5 * log_spread - theta * theta * (x - sign * y) ** 2 / (2.0 * spread) + theta * x * y / (1.0 + sign * theta)
    in_x = x - ((x - sign * y) + sign * (1.0 - sign * theta) * y) / spread
    in_y = y - ((y - sign * x) + sign * (1.0 - sign * theta) * x) / spread
    return value, in_x, in_y


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _clayton(theta, z1, z2):
    x, y = _minus_log_ndtr(z1), _minus_log_ndtr(z2)
    low, top = min(x, y), max(x, y)
    gap = top - low
    near = math.exp(-theta * gap)
    p = -near * math.expm1(-theta * low)
    if theta < 1e-8:  # the quadratic polynomial at independence is exact to rounding
        value = theta * (1.0 - x) * (1.0 - y) + theta * theta * (2.0 * x * y - 0.5 - 0.5 * x * y * (x + y))
    elif theta * low < 1.0:  # low - log(1+p)/theta would cancel
        s, g = theta * low, theta * gap
        q = math.expm1(s)
        share = -math.expm1(-(s + g)) / (1.0 + q * math.exp(-(s + g)))
        value = math.log1p(theta) - (2.0 * s + g) + (2.0 + 1.0 / theta) * math.log1p(q * share)
    else:
        value = math.log1p(theta) + low - theta * gap - (2.0 + 1.0 / theta) * math.log1p(p)
    odd = 2.0 * theta + 1.0
    in_top = odd * p / (1.0 + p) - theta
    in_low = 1.0 + theta - odd * near / (1.0 + p)
    in_x, in_y = (in_top, in_low) if x > y else (in_low, in_top)
    return value, -in_x * _mills(z1, x), -in_y * _mills(z2, y)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _gumbel(theta, z1, z2):
    x, y = _minus_log_ndtr(z1), _minus_log_ndtr(z2)
    gap = abs(math.log(x / y)) if max(x, y) < 1e100 * min(x, y) else abs(math.log(x) - math.log(y))
    e = math.exp(-theta * gap)
    q = math.log1p(e) / theta
    w = max(x, y) * math.exp(q)
    excess = theta - 1.0
    if excess < 0.1:  # x + y and w meet at independence
        t = math.exp(-gap)
        rest = -(x + y) * math.expm1(math.log1p(t * math.expm1(-excess * gap) / (1.0 + t)) - excess * q)
    else:
        rest = x + y - w
    value = rest - excess * (gap + 2.0 * q) + math.log1p(excess / w)
    small, large = e / (1.0 + e), 1.0 / (1.0 + e)
    share_x, share_y = (large, small) if x > y else (small, large)
    turn = w / (w + excess) - w + 1.0 - 2.0 * theta
    in_x = (x + excess + share_x * turn) / x
    in_y = (y + excess + share_y * turn) / y
    return value, -in_x * _mills(z1, x), -in_y * _mills(z2, y)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _frank(theta, z1, z2):
    """Frank with theta > 0; a negative theta is the mirror image in z1."""
    u, uc = 0.5 * math.erfc(-z1 / ROOT_2), 0.5 * math.erfc(z1 / ROOT_2)
    v, vc = 0.5 * math.erfc(-z2 / ROOT_2), 0.5 * math.erfc(z2 / ROOT_2)
    low = min(u, v)
    base = -math.expm1(-theta * (1.0 - low)) - math.exp(-theta * abs(u - v)) * math.expm1(-theta * low)
    value = math.log((theta / base) * (-math.expm1(-theta) / base)) - theta * abs(u - v)
    odds_1 = theta * (v - u) + _log1mexp(theta * v) - _log1mexp(theta * vc)  # of V <= v given u
    odds_2 = theta * (u - v) + _log1mexp(theta * u) - _log1mexp(theta * uc)
    # 2 h - 1 with log odds l of h is tanh(l/2)
    in_1 = theta * math.tanh(0.5 * odds_1) * math.exp(-0.5 * z1 * z1 - HALF_LOG_2PI)
    in_2 = theta * math.tanh(0.5 * odds_2) * math.exp(-0.5 * z2 * z2 - HALF_LOG_2PI)
    return value, in_1, in_2


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _joe(theta, z1, z2):
    x, y = _minus_log_ndtr(-z1), _minus_log_ndtr(-z2)
    low, top = min(x, y), max(x, y)
    gap = top - low
    near = math.exp(-theta * gap)
    p = -near * math.expm1(-theta * low)
    g, e_low = math.log1p(p), math.exp(-theta * low)
    s = e_low * (1.0 + p)
    if s < theta - 1.0:
        value = low - (theta - 1.0) * gap + (1.0 / theta - 2.0) * g + math.log(theta - 1.0 + s)
    else:  # near independence
        value = (1.0 / theta - 1.0) * g - (theta - 1.0) * top + math.log1p((theta - 1.0) / s)
    odd, outer = 2.0 * theta - 1.0, theta - 1.0 + s
    in_top = 1.0 - theta + odd * p / (1.0 + p) - theta * e_low * p / outer
    in_low = theta - odd * near / (1.0 + p) + theta * e_low * math.expm1(-theta * top) / outer
    in_x, in_y = (in_top, in_low) if x > y else (in_low, in_top)
    return value, in_x * _mills(-z1, x), in_y * _mills(-z2, y)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _hyperbolic(theta, width, z1, z2):
    """A1 (width theta) and A2 (width 1)."""
    x, y = _minus_log_ndtr(z1), _minus_log_ndtr(z2)
    a, b = x / (2.0 * width), y / (2.0 * width)
    log_a, log_b = _log_2sinh(a), _log_2sinh(b)
    top, gap = max(log_a, log_b), abs(log_a - log_b)
    e = math.exp(-2.0 * theta * gap)
    rest = math.log1p(e) / (2.0 * theta)
    level = top + rest
    z = level if level > 300.0 else math.asinh(0.5 * math.exp(level))
    r = math.tanh(z)
    q = 2.0 * theta - 1.0 + r * r + 2.0 * width * r
    value = (
        (x + y - 2.0 * width * z)
        - top
        - (2.0 * theta - 1.0) * gap
        + (1.0 - 4.0 * theta) * rest
        + (_log_cosh(a) + _log_cosh(b) - _log_cosh(z))
        + math.log(q / width)
    )
    share_a = (1.0 if log_a > log_b else e) / (1.0 + e)
    share_b = 1.0 - share_a if log_a > log_b else 1.0 / (1.0 + e)
    # by log g of the copula, g = 2 sinh z: dz = r dlog g
    turn = (1.0 - 4.0 * theta) - 2.0 * width * r - r * r + 2.0 * (r + width) * (1.0 - r * r) * r / q
    tanh_a, tanh_b = math.tanh(a), math.tanh(b)
    in_x = 1.0 + ((share_a * turn + 2.0 * theta - 1.0) / tanh_a + tanh_a) / (2.0 * width)
    in_y = 1.0 + ((share_b * turn + 2.0 * theta - 1.0) / tanh_b + tanh_b) / (2.0 * width)
    return value, -in_x * _mills(z1, x), -in_y * _mills(z2, y)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function I_x(a, b) (Lentz's method), for x < (a + 1)/(a + b + 2)."""
    c = 1.0
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    f = d
    for m in range(1, 2000):  # about sqrt(max(a, b)) terms are needed: 71 at df = 10^4
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        f *= c * d
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        step = c * d
        f *= step
        if abs(step - 1.0) < 1e-16:
            break
    return f


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _student_quantile(df, log_beta, z):
    """The Student quantile at probability Phi(z); log_beta is log B(df/2, 1/2).

    Newton's method for log P(T > a) as a function of asinh(a): concave and decreasing, so the steps are one-sided.
    """
    if z == 0.0:
        return 0.0
    tail = 0.5 * math.erfc(abs(z) / ROOT_2)
    wanted, half = math.log(tail), 0.5 * df
    log_density = -0.5 * math.log(df) - log_beta
    s = math.asinh(abs(z))
    for _ in range(100):
        a = math.sinh(s)
        square = a * a
        w = df / (df + square)
        log_w = -math.log1p(square / df)
        if w < (half + 1.0) / (half + 2.5):
            log_tail = half * log_w + 0.5 * math.log(square / (df + square)) - log_beta - math.log(2.0 * half)
            log_tail += math.log(_beta_fraction(half, 0.5, w))
        else:
            r = square / (df + square)
            inner = math.exp(half * log_w + 0.5 * math.log(r) - log_beta) * 2.0 * _beta_fraction(0.5, half, r)
            log_tail = math.log1p(-inner) - LOG_2
        slope = math.exp(log_density + (half + 0.5) * log_w - log_tail) * math.sqrt(1.0 + square)
        step = (log_tail - wanted) / slope
        s = max(s + step, 0.25 * s)
        if abs(step) < 4e-15 * s:
            break
    return math.copysign(math.sinh(s), z)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _student(theta, df, log_beta, constant, z1, z2):
    x, y = _student_quantile(df, log_beta, z1), _student_quantile(df, log_beta, z2)
    spread = (1.0 - theta) * (1.0 + theta)
    sign = 1.0 if theta >= 0 else -1.0
    from_y = (x - sign * y) + sign * (1.0 - sign * theta) * y  # x - theta y
    from_x = (y - sign * x) + sign * (1.0 - sign * theta) * x
    q = from_y * from_y / spread + y * y
    log_x, log_y = math.log1p(x * x / df), math.log1p(y * y / df)
    value = constant - 0.5 * (df + 2.0) * math.log1p(q / df) + 0.5 * (df + 1.0) * (log_x + log_y)
    in_x = (df + 1.0) * x / (df + x * x) - (df + 2.0) * from_y / spread / (df + q)
    in_y = (df + 1.0) * y / (df + y * y) - (df + 2.0) * from_x / spread / (df + q)
    # dx/dz = phi(z)/f(x)
    log_scale = HALF_LOG_2PI - 0.5 * math.log(df) - log_beta
    slope_x = math.exp(-0.5 * z1 * z1 - log_scale + 0.5 * (df + 1.0) * log_x)
    slope_y = math.exp(-0.5 * z2 * z2 - log_scale + 0.5 * (df + 1.0) * log_y)
    return value, in_x * slope_x, in_y * slope_y


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _copula(kind, params, z1, z2):
    """log c and its derivatives in the normal scores; params are two signs (a rotation), theta and what a family needs."""
    a, b = params[0] * z1, params[1] * z2
    theta = params[2]
    if kind == GAUSSIAN:
        value, in_a, in_b = _gaussian(theta, a, b)
    elif kind == CLAYTON:
        value, in_a, in_b = _clayton(theta, a, b)
    elif kind == GUMBEL:
        value, in_a, in_b = _gumbel(theta, a, b)
    elif kind == FRANK:
        value, in_a, in_b = (0.0, 0.0, 0.0) if theta == 0.0 else _frank(theta, a, b)
    elif kind == JOE:
        value, in_a, in_b = _joe(theta, a, b)
    elif kind == HYPERBOLIC:
        value, in_a, in_b = _hyperbolic(theta, params[3], a, b)
    else:
        value, in_a, in_b = _student(theta, params[3], params[4], params[5], a, b)
    return value, params[0] * in_a, params[1] * in_b


# ---- targets ------------------------------------------------------------------------------------------------------------


@nb.njit(cache=True, nogil=True, error_model="numpy")
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
    return _copula(kind, params, z1, z2)[0] - 0.5 * (z1 * z1 + z2 * z2) - 2.0 * HALF_LOG_2PI


@nb.njit(cache=True, nogil=True, error_model="numpy")
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
        _, in_1, in_2 = _copula(kind, params, x[0], x[1])
        out[0] = in_1 - x[0]
        out[1] = in_2 - x[1]
    else:
        out[:] = np.nan


@nb.njit(cache=True, nogil=True, error_model="numpy")
def log_densities(kind, params, data, x):
    """Log density of each row of x."""
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = _log_density(kind, params, data, x[i])
    return out


@nb.njit(cache=True, nogil=True, error_model="numpy")
def gradients(kind, params, data, x):
    """Gradient of the log density at each row of x."""
    out = np.empty(x.shape)
    none = np.empty(0, np.int64)
    for i in range(x.shape[0]):
        _gradient(kind, params, data, none, x[i], out[i])
    return out


# ---- chains -------------------------------------------------------------------------------------------------------------


@nb.njit(cache=True, nogil=True, error_model="numpy")
def metropolis_path(kind, params, data, x, current, scale, noise, threshold, path, accepted):
    """Move every chain through a block of steps; x and its log densities `current` are changed in place."""
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
def sgld_path(kind, params, data, x, step, noise, batches, path):
    """Move every chain through a block of steps; x is changed in place."""
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
def sghmc_path(kind, params, data, x, v, step, friction, noise, batches, path):
    """Move every chain through a block of steps; x and its velocity v are changed in place."""
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
