"""Distance of a fitted theta from the maximum of the likelihood: the next step of Newton's method with 30 digits."""

import mpmath as mp
import numpy as np
from scipy.stats import rankdata

import copula_discrepancy as cd


def log_density(name: str, theta: mp.mpf, x: mp.mpf, y: mp.mpf) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """log c and its theta derivatives from the textbook formula, differentiated by hand."""
    if name == "Clayton":
        a, b = mp.exp(theta * x), mp.exp(theta * y)
        s, s1, s2 = a + b - 1, x * a + y * b, x * x * a + y * y * b
        g, g1 = mp.log(s), s1 / s
        g2 = s2 / s - g1**2
        k = 2 + 1 / theta
        value = mp.log(1 + theta) + (1 + theta) * (x + y) - k * g
        first = 1 / (1 + theta) + x + y - k * g1 + g / theta**2
        return value, first, -1 / (1 + theta) ** 2 - k * g2 + 2 * g1 / theta**2 - 2 * g / theta**3
    p, q = mp.log(x), mp.log(y)
    a, b = mp.exp(theta * p), mp.exp(theta * q)
    s, s1, s2 = a + b, p * a + q * b, p * p * a + q * q * b
    g, g1 = mp.log(s), s1 / s
    g2 = s2 / s - g1**2
    h, h1 = g / theta, g1 / theta - g / theta**2  # log w
    h2 = g2 / theta - 2 * g1 / theta**2 + 2 * g / theta**3
    w = mp.exp(h)
    w1, w2 = w * h1, w * (h2 + h1**2)
    outer = w + theta - 1
    value = -w + x + y + (theta - 1) * (p + q) + (1 - 2 * theta) * h + mp.log(outer)
    first = -w1 + p + q - 2 * h + (1 - 2 * theta) * h1 + (w1 + 1) / outer
    return value, first, -w2 - 4 * h1 + (1 - 2 * theta) * h2 + w2 / outer - ((w1 + 1) / outer) ** 2


def newton_distance(fitted: cd.Fit, draws: np.ndarray) -> float:
    """The step that a 30-digit Newton iteration would still take from our theta, relative to theta.

    Newton converges quadratically, so at a distance below 1e-6 its next step is that distance.
    """
    n = len(draws)
    ranks = rankdata(draws, axis=0).astype(int)
    with mp.workdps(30):
        table = [mp.mpf(0)] + [-mp.log(mp.mpf(k) / (n + 1)) for k in range(1, n + 1)]
        theta = mp.mpf(fitted.theta)
        first = second = mp.mpf(0)
        for i, j in ranks:
            _, slope, curvature = log_density(fitted.family, theta, table[i], table[j])
            first += slope
            second += curvature
        return abs(float(first / second / theta))
