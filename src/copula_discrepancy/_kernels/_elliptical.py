"""Likelihood sums and derivatives of the Gaussian and the Student t copula at known quantiles, one pass over the draws each.

With q = (x^2 - 2 rho x y + y^2)/(1 - rho^2) and 1/nu = 0 for the Gaussian copula, both scores are
rho/(1-rho^2) - w q1/2 with q1 = dq/d rho and a weight w, 1 or (nu+2)/(nu+q). Differences along the diagonal that rho points
along keep their digits where |rho| is close to 1.
"""

import numba as nb
import numpy as np

_LARGE = 1e100  # factors 1 + q/nu are multiplied up to here before one logarithm is taken; one more does not overflow


@nb.njit(cache=True, error_model="numpy", inline="always")
def _residual(theta, x, y):
    return (x - y) + (1.0 - theta) * y if theta > 0.0 else (x + y) - (1.0 + theta) * y


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def gaussian_sums(x, y):
    """Sums of (x - y)^2 and (x + y)^2, all that the likelihood needs."""
    difference = 0.0
    total = 0.0
    for i in range(x.size):
        difference += (x[i] - y[i]) ** 2
        total += (x[i] + y[i]) ** 2
    return difference, total


@nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
def elliptical_scores(theta, nu, x, y):
    """First and second derivative in rho of each draw's log density; nu = 0 stands for the Gaussian copula."""
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
def elliptical_mixed(theta, nu, x, y, log_constant):
    """Derivatives of the score in u and in v; `log_constant` is that of the margin's density, nu = 0 the Gaussian copula's."""
    n = x.size
    in_u = np.empty(n)
    in_v = np.empty(n)
    inverse = 1.0 / ((1.0 - theta) * (1.0 + theta))
    for i in range(n):
        a = x[i]
        b = y[i]
        q_a = 2.0 * _residual(theta, a, b) * inverse
        q_b = 2.0 * _residual(theta, b, a) * inverse
        if nu > 0.0:
            r = _residual(theta, a, b)
            q = r * r * inverse + b * b
            size = 1.0 / (nu + q)
            q1 = 2.0 * (theta * q * size - a * b * size) * inverse
            weight = -0.5 * (nu + 2.0) * size
            mixed_a = weight * (2.0 * (theta * q_a - b) * inverse - q_a * q1)
            mixed_b = weight * (2.0 * (theta * q_b - a) * inverse - q_b * q1)
            slope_a = np.exp(0.5 * (nu + 1.0) * np.log1p(a * a / nu) - log_constant)
            slope_b = np.exp(0.5 * (nu + 1.0) * np.log1p(b * b / nu) - log_constant)
        else:
            mixed_a = (b - theta * q_a) * inverse
            mixed_b = (a - theta * q_b) * inverse
            slope_a = np.exp(0.5 * a * a - log_constant)
            slope_b = np.exp(0.5 * b * b - log_constant)
        in_u[i] = mixed_a * slope_a
        in_v[i] = mixed_b * slope_b
    return in_u, in_v
