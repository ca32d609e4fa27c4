"""Likelihoods and scores of many pairs of variables in one call.

A variable is a row of `places`: for every draw the place of its rank in tables of coordinates, `x` for the first variable of a
pair and `y` for the second. The arithmetic is that of one pair; here, its coordinates are looked up, pair by pair.
"""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled
from copula_discrepancy._core.kernels.elliptical import gaussian_sums, student_sums
from copula_discrepancy._core.kernels.form import look_up, total_of
from copula_discrepancy._core.kernels.vector import clayton_derivatives, clayton_sums, gumbel_derivatives, gumbel_sums


@compiled(nogil=True, error_model="numpy")
def pair_squares(bins, first, second, n_bins):
    """Draws in each square of bins of both variables, (pair, first bin * n_bins + second bin)."""
    counts = np.zeros((first.size, n_bins * n_bins))
    for k in range(first.size):
        one = bins[first[k]]
        other = bins[second[k]]
        row = counts[k]
        for i in range(one.size):
            row[np.int64(one[i]) * n_bins + np.int64(other[i])] += 1.0
    return counts


@compiled(nogil=True, error_model="numpy")
def gaussian_pair_sums(x, y, places, first, second):
    """`gaussian_sums` of every pair, (pair, 2)."""
    sums = np.empty((first.size, 2))
    a = np.empty(places.shape[1])
    b = np.empty(places.shape[1])
    for k in range(first.size):
        if k == 0 or first[k] != first[k - 1]:
            look_up(x, places[first[k]], a)
        look_up(y, places[second[k]], b)
        sums[k, 0], sums[k, 1] = gaussian_sums(a, b)
    return sums


@compiled(nogil=True, error_model="numpy")
def student_pair_sums(thetas, nu, x, y, places, first, second):
    """`student_sums` of every pair at its own theta, (pair, 3)."""
    sums = np.empty((first.size, 3))
    a = np.empty(places.shape[1])
    b = np.empty(places.shape[1])
    for k in range(first.size):
        if k == 0 or first[k] != first[k - 1]:
            look_up(x, places[first[k]], a)
        look_up(y, places[second[k]], b)
        sums[k, 0], sums[k, 1], sums[k, 2] = student_sums(thetas[k], nu, a, b)
    return sums


@compiled(nogil=True, error_model="numpy")
def clayton_pair_sums(thetas, x, y, places, first, second):
    """`clayton_sums` of every pair at its own theta, (pair, 3)."""
    n = places.shape[1]
    sums = np.empty((first.size, 3))
    top = np.empty(n)
    gap = np.empty(n)
    for k in range(first.size):
        one = places[first[k]]
        other = places[second[k]]
        for i in range(n):
            a = x[one[i]]
            b = y[other[i]]
            top[i] = max(a, b)
            gap[i] = abs(a - b)
        sums[k, 0], sums[k, 1], sums[k, 2] = clayton_sums(thetas[k], top, gap)
    return sums


@compiled(nogil=True, error_model="numpy")
def gumbel_pair_sums(thetas, x, y, log_x, log_y, places, first, second):
    """`gumbel_sums` of every pair at its own theta, with the part that theta does not change, (pair, 3)."""
    n = places.shape[1]
    sums = np.empty((first.size, 3))
    top = np.empty(n)
    gap = np.empty(n)
    for k in range(first.size):
        one = places[first[k]]
        other = places[second[k]]
        constant = 0.0
        for i in range(n):
            a = x[one[i]]
            b = y[other[i]]
            log_a = log_x[one[i]]
            log_b = log_y[other[i]]
            top[i] = max(a, b)
            gap[i] = abs(log_a - log_b)
            constant += a + b - max(log_a, log_b)
        sums[k, 0], sums[k, 1], sums[k, 2] = gumbel_sums(thetas[k], top, gap)
        sums[k, 0] += constant
    return sums


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def _elliptical_score(theta, nu, x, y, slope_x, slope_y, score, in_u, in_v, second):
    """Fill in each draw's score in rho, its derivatives in u and v, and the second derivative in rho.

    The latter is added up elsewhere: a loop that both writes and adds up is compiled twice, for arrays that may overlap, and
    the order of additions would depend on where arrays happen to be.
    """
    inverse = 1.0 / ((1.0 - theta) * (1.0 + theta))
    constant = theta * inverse
    curvature = (1.0 + theta * theta) * inverse * inverse
    weight = 0.5 * (nu + 2.0)
    # x - theta y as (x - sign y) + rest y, which is accurate if |theta| is close to 1
    sign = 1.0 if theta > 0.0 else -1.0
    rest = sign - theta
    if nu > 0.0:
        for i in range(x.size):
            r = (x[i] - sign * y[i]) + rest * y[i]
            q_x = 2.0 * r * inverse
            q_y = 2.0 * ((y[i] - sign * x[i]) + rest * x[i]) * inverse
            q = r * r * inverse + y[i] * y[i]
            size = 1.0 / (nu + q)
            q1 = 2.0 * (theta * q * size - x[i] * y[i] * size) * inverse
            q2 = (2.0 * q * size + 4.0 * theta * q1) * inverse - q1 * q1
            score[i] = constant - weight * q1
            second[i] = curvature - weight * q2
            in_u[i] = -slope_x[i] * weight * size * (2.0 * (theta * q_x - y[i]) * inverse - q_x * q1)
            in_v[i] = -slope_y[i] * weight * size * (2.0 * (theta * q_y - x[i]) * inverse - q_y * q1)
        return
    for i in range(x.size):
        r = (x[i] - sign * y[i]) + rest * y[i]
        q_x = 2.0 * r * inverse
        q_y = 2.0 * ((y[i] - sign * x[i]) + rest * x[i]) * inverse
        q = r * r * inverse + y[i] * y[i]
        q1 = 2.0 * (theta * q - x[i] * y[i]) * inverse
        score[i] = constant - 0.5 * q1
        second[i] = curvature - 0.5 * (2.0 * q + 4.0 * theta * q1) * inverse
        in_u[i] = slope_x[i] * (y[i] - theta * q_x) * inverse
        in_v[i] = slope_y[i] * (x[i] - theta * q_y) * inverse


@compiled(nogil=True, error_model="numpy")
def elliptical_pair_scores(
    thetas, nu, table_x, table_y, slopes_x, slopes_y, places, first, second, rows, score, in_u, in_v, curvature
):
    """Fill in the rows of scores of pairs; slopes are derivatives of the coordinates with respect to u and v."""
    n = places.shape[1]
    x = np.empty(n)
    y = np.empty(n)
    slope_x = np.empty(n)
    slope_y = np.empty(n)
    terms = np.empty(n)
    for k in range(rows.size):
        look_up(table_x, places[first[k]], x)
        look_up(table_y, places[second[k]], y)
        look_up(slopes_x, places[first[k]], slope_x)
        look_up(slopes_y, places[second[k]], slope_y)
        at = rows[k]
        _elliptical_score(thetas[k], nu, x, y, slope_x, slope_y, score[at], in_u[at], in_v[at], terms)
        curvature[at] = total_of(terms)


@compiled(nogil=True, error_model="numpy")
def archimedean_pair_scores(
    gumbel, thetas, x, y, log_x, log_y, slope_x, slope_y, places, first, second, rows, score, in_u, in_v, curvature
):
    """The same for Clayton and Gumbel copulas and their rotations; logarithms of coordinates are for Gumbel's."""
    n = places.shape[1]
    a = np.empty(n)
    b = np.empty(n)
    distance = np.empty(n)
    for k in range(rows.size):
        one = places[first[k]]
        other = places[second[k]]
        look_up(x, one, a)
        look_up(y, other, b)
        if gumbel:
            for i in range(n):
                distance[i] = log_x[one[i]] - log_y[other[i]]
            found, second_derivative, in_a, in_b = gumbel_derivatives(thetas[k], a, b, distance)
        else:
            found, second_derivative, in_a, in_b = clayton_derivatives(thetas[k], a, b)
        at = rows[k]
        total = 0.0
        for i in range(n):
            score[at, i] = found[i]
            total += second_derivative[i]
            in_u[at, i] = in_a[i] * slope_x[one[i]]
            in_v[at, i] = in_b[i] * slope_y[other[i]]
        curvature[at] = total
