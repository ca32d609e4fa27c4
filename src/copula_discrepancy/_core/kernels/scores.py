"""Log densities of copulas and their gradients in normal scores z, one point at a time, for compiled chains.

The density is c(Phi(z1), Phi(z2)) phi(z1) phi(z2). A probability u = Phi(z) enters through -log u or -log(1-u), both with full
relative accuracy; the formulas are those of the families. An integer kind selects the family, because functions passed as
arguments would not be cached on disk.
"""

import math

from copula_discrepancy._core.kernels.compiled import compiled

GAUSSIAN = 10
CLAYTON = 11
GUMBEL = 12
FRANK = 13
JOE = 14
HYPERBOLIC = 15
STUDENT = 16

SCORE_LIMIT = 25.0  # Phi(-25) = 3e-138: squares of Student quantiles do not overflow for df >= 1
LOG_2 = 0.6931471805599453
HALF_LOG_2PI = 0.9189385332046727
ROOT_2 = 1.4142135623730951


# ---- small functions ----------------------------------------------------------------------------------------------------


@compiled(nogil=True, error_model="numpy")
def _minus_log_ndtr(z):
    """-log Phi(z)."""
    tail = 0.5 * math.erfc(abs(z) / ROOT_2)
    return -math.log1p(-tail) if z > 0 else -math.log(tail)


@compiled(nogil=True, error_model="numpy")
def _mills(z, minus_log):
    """phi(z)/Phi(z), given -log Phi(z)."""
    return math.exp(minus_log - 0.5 * z * z - HALF_LOG_2PI)


@compiled(nogil=True, error_model="numpy")
def _log1mexp(z):
    """log(1 - exp(-z)) for z > 0."""
    return math.log(-math.expm1(-z)) if z < LOG_2 else math.log1p(-math.exp(-z))


@compiled(nogil=True, error_model="numpy")
def _log_2sinh(z):
    return z + _log1mexp(2.0 * z)


@compiled(nogil=True, error_model="numpy")
def _log_cosh(z):
    return z + math.log1p(math.exp(-2.0 * z)) - LOG_2


@compiled(nogil=True, error_model="numpy")
def _expit(z):
    if z < 0:
        e = math.exp(z)
        return e / (1.0 + e)
    return 1.0 / (1.0 + math.exp(-z))


# ---- copulas: (log c, d log c/dz1, d log c/dz2) ------------------------------------------------------------------------------


@compiled(nogil=True, error_model="numpy")
def _gaussian(theta, x, y):
    spread = (1.0 - theta) * (1.0 + theta)
    sign = 1.0 if theta >= 0 else -1.0
    log_spread = math.log1p(-theta * theta) if abs(theta) < 0.5 else math.log(spread)
    value = -0.5 * log_spread - theta * theta * (x - sign * y) ** 2 / (2.0 * spread) + theta * x * y / (1.0 + sign * theta)
    in_x = x - ((x - sign * y) + sign * (1.0 - sign * theta) * y) / spread
    in_y = y - ((y - sign * x) + sign * (1.0 - sign * theta) * x) / spread
    return value, in_x, in_y


@compiled(nogil=True, error_model="numpy")
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


@compiled(nogil=True, error_model="numpy")
def _gumbel(theta, z1, z2):
    x, y = _minus_log_ndtr(z1), _minus_log_ndtr(z2)
    gap = abs(math.log(x / y)) if max(x, y) < 1e100 * min(x, y) else abs(math.log(x) - math.log(y))
    e = math.exp(-theta * gap)
    q = math.log1p(e) / theta
    w = max(x, y) * math.exp(q)
    excess = theta - 1.0
    if excess < 0.1:  # x + y and w are equal at independence
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


@compiled(nogil=True, error_model="numpy")
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


@compiled(nogil=True, error_model="numpy")
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


@compiled(nogil=True, error_model="numpy")
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


@compiled(nogil=True, error_model="numpy")
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


@compiled(nogil=True, error_model="numpy")
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


@compiled(nogil=True, error_model="numpy")
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


@compiled(nogil=True, error_model="numpy")
def copula_density(kind, params, z1, z2):
    """log c and its derivatives in the normal scores; params are two signs (a rotation), theta and the family's constants."""
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
