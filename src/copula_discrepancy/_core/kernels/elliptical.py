"""The Gaussian and the Student t copula: quantiles, likelihood sums and derivatives, one pass over the draws each.

With q = (x^2 - 2 rho x y + y^2)/(1 - rho^2) and 1/nu = 0 for the Gaussian copula, both scores are
rho/(1-rho^2) - w q1/2 with q1 = dq/d rho and a weight w, 1 or (nu+2)/(nu+q). Differences along the diagonal in the direction of
rho are accurate if |rho| is close to 1.
"""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled
from copula_discrepancy._core.kernels.vector import _exp

_LARGE = 1e100  # factors 1 + q/nu are multiplied up to here before one logarithm is taken; one more does not overflow


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def student_from_normal(z, log_ratio):
    """Student's quantiles from normal ones, z >= 0, and the polynomials of log(x/z) on [k, k+1); NaN beyond the last."""
    x = np.empty(z.size)
    panels, powers = log_ratio.shape
    for i in range(z.size):
        if not z[i] < panels:
            x[i] = np.nan
            continue
        k = int(z[i])
        s = 2.0 * (z[i] - k) - 1.0
        total = log_ratio[k, powers - 1]
        for j in range(powers - 2, -1, -1):
            total = total * s + log_ratio[k, j]
        x[i] = z[i] * np.exp(total)
    return x


@compiled(error_model="numpy", inline="always")
def _residual(theta, x, y):
    return (x - y) + (1.0 - theta) * y if theta > 0.0 else (x + y) - (1.0 + theta) * y


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def gaussian_sums(x, y):
    """Sums of (x - y)^2 and (x + y)^2, which determine the likelihood."""
    difference = 0.0
    total = 0.0
    for i in range(x.size):
        difference += (x[i] - y[i]) ** 2
        total += (x[i] + y[i]) ** 2
    return difference, total


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def student_sums(theta, nu, x, y):
    """Sums of log(1 + q/nu), of the score and of its derivative in rho, the last two without their constants."""
    spread = (1.0 - theta) * (1.0 + theta)
    inverse = 1.0 / spread
    weight = 0.5 * (nu + 2.0)
    first = 0.0
    second = 0.0
    logs = 0.0
    product = 1.0
    for i in range(x.size):
        r = _residual(theta, x[i], y[i])
        q = r * r * inverse + y[i] * y[i]
        size = 1.0 / (nu + q)
        share = q * size
        q1 = 2.0 * (theta * share - x[i] * y[i] * size) * inverse
        q2 = (2.0 * share + 4.0 * theta * q1) * inverse
        first -= weight * q1
        second -= weight * (q2 - q1 * q1)
        product *= 1.0 + q / nu
        if product > _LARGE:
            logs += np.log(product)
            product = 1.0
    return logs + np.log(product), first, second


@compiled(nogil=True, error_model="numpy")
def elliptical_scores(theta, nu, x, y):
    """First and second derivative in rho of each draw's log density; nu = 0 means the Gaussian copula."""
    n = x.size
    first = np.empty(n)
    second = np.empty(n)
    spread = (1.0 - theta) * (1.0 + theta)
    inverse = 1.0 / spread
    constant = theta * inverse
    curvature = (1.0 + theta * theta) * inverse * inverse
    for i in range(n):
        r = _residual(theta, x[i], y[i])
        q = r * r * inverse + y[i] * y[i]
        if nu > 0.0:
            size = 1.0 / (nu + q)
            weight = 0.5 * (nu + 2.0)
            q1 = 2.0 * (theta * q * size - x[i] * y[i] * size) * inverse
            q2 = (2.0 * q * size + 4.0 * theta * q1) * inverse - q1 * q1
        else:
            weight = 0.5
            q1 = 2.0 * (theta * q - x[i] * y[i]) * inverse
            q2 = (2.0 * q + 4.0 * theta * q1) * inverse
        first[i] = constant - weight * q1
        second[i] = curvature - weight * q2
    return first, second


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def _inverse_density(nu, x, log_constant):
    """1/f(x) of the margin, dx/du; `log_constant` is the log of f(0), and nu = 0 means the normal margin."""
    n = x.size
    slope = np.empty(n)
    if nu > 0.0:
        half = 0.5 * (nu + 1.0)
        for i in range(n):
            slope[i] = np.exp(half * np.log1p(x[i] * x[i] / nu) - log_constant)
    else:
        root = np.exp(-log_constant)
        for i in range(n):
            slope[i] = root / _exp(-0.5 * x[i] * x[i])  # a short polynomial, in vector instructions
    return slope


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def elliptical_mixed(theta, nu, x, y, log_constant):
    """Derivatives of the score in u and in v; nu = 0 means the Gaussian copula."""
    n = x.size
    in_u = _inverse_density(nu, x, log_constant)
    in_v = _inverse_density(nu, y, log_constant)
    inverse = 1.0 / ((1.0 - theta) * (1.0 + theta))
    if nu > 0.0:
        for i in range(n):
            a = x[i]
            b = y[i]
            r = _residual(theta, a, b)
            q_a = 2.0 * r * inverse
            q_b = 2.0 * _residual(theta, b, a) * inverse
            q = r * r * inverse + b * b
            size = 1.0 / (nu + q)
            q1 = 2.0 * (theta * q * size - a * b * size) * inverse
            weight = -0.5 * (nu + 2.0) * size
            in_u[i] *= weight * (2.0 * (theta * q_a - b) * inverse - q_a * q1)
            in_v[i] *= weight * (2.0 * (theta * q_b - a) * inverse - q_b * q1)
    else:
        for i in range(n):
            q_a = 2.0 * _residual(theta, x[i], y[i]) * inverse
            q_b = 2.0 * _residual(theta, y[i], x[i]) * inverse
            in_u[i] *= (y[i] - theta * q_a) * inverse
            in_v[i] *= (x[i] - theta * q_b) * inverse
    return in_u, in_v
