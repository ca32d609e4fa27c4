"""Log-likelihood sums of Clayton and Gumbel in loops that the compiler vectorises.

A loop over `math.log` and `math.exp` stays scalar, 20 ns and more per draw. Here both are short polynomials without
branches, so that one pass yields the log-likelihood and its two derivatives in a few nanoseconds per draw. Terms are
written to a small buffer and added by `_sum`, the only function that may reorder additions.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from copula_discrepancy._core.kernels.compiled import compiled

CHUNK = 512  # three buffers of 4 KB: they stay in the first-level cache
_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # 32 significant bits: k * _LN2_HIGH is exact for |k| < 2**20
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding and subtracting it rounds to an integer
_EXP_FLOOR = -708.0  # exp(-708) = 3e-308, the smallest normal number; smaller terms are negligible


@intrinsic
def _float_bits(typingctx, value):
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _bits_float(typingctx, value):
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@compiled(error_model="numpy", inline="always", fastmath={"contract"})
def _exp(x):
    """exp(x) for x <= 1: error under 2 ulp, 0 replaced by 3e-308."""
    x = x if x > _EXP_FLOOR else _EXP_FLOOR
    shifted = x * _LOG2E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    # Taylor to r**13/13!; |r| <= log(2)/2, so the rest is below 5e-18
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r * r + r
    scale = _bits_float((_float_bits(shifted) - _float_bits(_ROUND) + 1023) << 52)
    return p * scale + scale


@compiled(error_model="numpy", inline="always", fastmath={"contract"})
def _two_atanh(s):
    """log((1+s)/(1-s)) for |s| <= 0.1716, that is for ratios between 1/sqrt(2) and sqrt(2)."""
    z = s * s  # at most 0.0295: the first omitted term is z**11 * 2/23 < 2e-18
    p = 2.0 / 21.0
    p = p * z + 2.0 / 19.0
    p = p * z + 2.0 / 17.0
    p = p * z + 2.0 / 15.0
    p = p * z + 2.0 / 13.0
    p = p * z + 2.0 / 11.0
    p = p * z + 2.0 / 9.0
    p = p * z + 2.0 / 7.0
    p = p * z + 2.0 / 5.0
    p = p * z + 2.0 / 3.0
    return s * (p * z + 2.0)


@compiled(error_model="numpy", inline="always", fastmath={"contract"})
def _log1p_and_inverse(f):
    """(log(1+f), 1/(1+f)) for 0 <= f <= 1 using a single division, the most expensive instruction here."""
    high = f > 0.41421356237309503
    numerator = f - 1.0 if high else f
    denominator = f + 3.0 if high else f + 2.0
    share = 1.0 / (denominator * (1.0 + f))
    s = numerator * (1.0 + f) * share
    return _two_atanh(s) + (0.6931471805599453 if high else 0.0), denominator * share


@compiled(error_model="numpy", fastmath={"reassoc"})
def _sum(values, size):
    total = 0.0
    for i in range(size):
        total += values[i]
    return total


@compiled(error_model="numpy")
def _log_product(values, size):
    """Sum of logs as the log of products of sixteen; values between 1e-19 and 1e19 cannot overflow."""
    stride = size // 16
    for j in range(1, 16):
        for i in range(stride):
            values[i] *= values[i + j * stride]
    total = 0.0
    for i in range(stride):
        total += np.log(values[i])
    for i in range(16 * stride, size):
        total += np.log(values[i])
    return total


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def clayton_sums(theta, top, gap):
    """Sums of log c and of its two theta derivatives; theta not close to 0.

    `top` is the larger of x = -log u and y = -log v, `gap` their distance.
    """
    n = top.size
    value = np.empty(CHUNK)
    first = np.empty(CHUNK)
    second = np.empty(CHUNK)
    a = 2.0 + 1.0 / theta
    b = 1.0 / theta**2
    sums = np.zeros(3)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        for i in range(size):
            far = _exp(-theta * top[start + i])
            near = _exp(-theta * gap[start + i])
            p = near - far
            g, r = _log1p_and_inverse(p)
            far *= top[start + i]
            near *= gap[start + i]
            g1 = (far - near) * r
            g2 = (gap[start + i] * near - top[start + i] * far) * r - g1 * g1
            value[i] = top[start + i] - (theta + 1.0) * gap[start + i] - a * g
            first[i] = b * g - gap[start + i] - a * g1
            second[i] = b * (2.0 * g1 - 2.0 / theta * g) - a * g2
        sums[0] += _sum(value, size)
        sums[1] += _sum(first, size)
        sums[2] += _sum(second, size)
    slope = 1.0 / (1.0 + theta)
    return sums[0] + n * np.log1p(theta), sums[1] + n * slope, sums[2] - n * slope * slope


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def gumbel_sums(theta, top, gap):
    """Sums of log c, minus its part x + y - log max(x, y), and of its two theta derivatives.

    `top` is the larger of x = -log u and y = -log v, `gap` the distance of their logarithms.
    """
    n = top.size
    value = np.empty(CHUNK)
    first = np.empty(CHUNK)
    second = np.empty(CHUNK)
    factor = np.empty(CHUNK)
    inverse = 1.0 / theta
    odd = 1.0 - 2.0 * theta
    excess = theta - 1.0  # first: near theta = 1 in the upper corner only w is accurate
    sums = np.zeros(3)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        for i in range(size):
            d = gap[start + i]
            e = _exp(-theta * d)
            log_sum, r = _log1p_and_inverse(e)
            share = e * r
            q = log_sum * inverse
            q1 = -(d * share + q) * inverse
            q2 = (d * d * share * r - 2.0 * q1) * inverse
            w = top[start + i] * _exp(q)
            w1 = w * q1
            w2 = w * (q2 + q1 * q1)
            outer = w + excess
            b = 1.0 / outer
            slope = (w1 + 1.0) * b
            value[i] = odd * q - w - (theta - 1.0) * d
            factor[i] = outer
            first[i] = slope - w1 - d - 2.0 * q + odd * q1
            second[i] = w2 * b - slope * slope - w2 - 4.0 * q1 + odd * q2
        sums[0] += _sum(value, size) + _log_product(factor, size)
        sums[1] += _sum(first, size)
        sums[2] += _sum(second, size)
    return sums[0], sums[1], sums[2]


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def clayton_derivatives(theta, x, y):
    """Each draw's two theta derivatives of log c, and its derivatives in (theta, x) and (theta, y); theta not close to 0."""
    n = x.size
    first = np.empty(n)
    second = np.empty(n)
    in_x = np.empty(n)
    in_y = np.empty(n)
    a = 2.0 + 1.0 / theta
    b = 1.0 / theta**2
    odd = 2.0 * theta + 1.0
    slope = 1.0 / (1.0 + theta)
    for i in range(n):
        x_on_top = x[i] > y[i]
        top = x[i] if x_on_top else y[i]
        gap = abs(x[i] - y[i])
        far = _exp(-theta * top)
        near = _exp(-theta * gap)
        p = near - far
        g, r = _log1p_and_inverse(p)
        p1 = top * far - gap * near
        g1 = p1 * r
        g2 = (gap * gap * near - top * top * far) * r - g1 * g1
        first[i] = slope + b * g - gap - a * g1
        second[i] = b * (2.0 * g1 - 2.0 / theta * g) - a * g2 - slope * slope
        mixed_top = 2.0 * p * r - 1.0 + odd * p1 * r * r
        mixed_low = 1.0 - 2.0 * near * r + odd * near * (gap * r + p1 * r * r)
        in_x[i] = mixed_top if x_on_top else mixed_low
        in_y[i] = mixed_low if x_on_top else mixed_top
    return first, second, in_x, in_y


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def gumbel_derivatives(theta, x, y, distance):
    """Each draw's two theta derivatives of log c, and its derivatives in (theta, x) and (theta, y).

    `distance` is log x - log y.
    """
    n = x.size
    first = np.empty(n)
    second = np.empty(n)
    in_x = np.empty(n)
    in_y = np.empty(n)
    inverse = 1.0 / theta
    odd = 1.0 - 2.0 * theta
    excess = theta - 1.0
    for i in range(n):
        gap = abs(distance[i])
        x_on_top = distance[i] > 0.0
        top = x[i] if x_on_top else y[i]
        e = _exp(-theta * gap)
        log_sum, large = _log1p_and_inverse(e)
        small = e * large
        q = log_sum * inverse
        q1 = -(gap * small + q) * inverse
        q2 = (gap * gap * small * large - 2.0 * q1) * inverse
        w = top * _exp(q)
        w1 = w * q1
        w2 = w * (q2 + q1 * q1)
        b = 1.0 / (w + excess)
        slope = (w1 + 1.0) * b
        first[i] = slope - w1 - gap - 2.0 * q + odd * q1
        second[i] = w2 * b - slope * slope - w2 - 4.0 * q1 + odd * q2
        turn = small * large * distance[i]
        share_x = large if x_on_top else small
        share_y = small if x_on_top else large
        mixed_x = 1.0 - 2.0 * share_x + (w1 * share_x + w * turn) * (b - 1.0) + odd * turn - w * share_x * b * slope
        mixed_y = 1.0 - 2.0 * share_y + (w1 * share_y - w * turn) * (b - 1.0) - odd * turn - w * share_y * b * slope
        in_x[i] = mixed_x / x[i]
        in_y[i] = mixed_y / y[i]
    return first, second, in_x, in_y
