"""Maximum likelihood with SciPy: a formula in NumPy, maximised by `minimize_scalar`."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import kendalltau, rankdata

import copula_discrepancy as cd

Formula = Callable[[str, np.ndarray, np.ndarray], Callable[[float], float]]
BOUNDS = {"Gumbel": (1.0001, 30.0), "Clayton": (1e-3, 50.0)}  # the paper's


def tuned_likelihood(name: str, u: np.ndarray, v: np.ndarray) -> Callable[[float], float]:
    """The log-space formula in NumPy, logs of the draws taken once: what a careful user would write."""
    x, y = -np.log(u), -np.log(v)
    if name == "Gumbel":
        log_sum = np.sum(x + y)
        log_x, log_y = np.log(x), np.log(y)

        def gumbel(theta: float) -> float:
            log_w = np.logaddexp(theta * log_x, theta * log_y) / theta
            w = np.exp(log_w)
            terms = -w + (theta - 1) * (log_x + log_y) + (1 - 2 * theta) * log_w + np.log(w + theta - 1)
            return -float(np.sum(terms) + log_sum)

        return gumbel

    def clayton(theta: float) -> float:
        joined = np.log1p(np.expm1(theta * x) + np.expm1(theta * y))
        return -float(np.sum(np.log1p(theta) + (1 + theta) * (x + y) - (2 + 1 / theta) * joined))

    return clayton


def textbook_likelihood(name: str, u: np.ndarray, v: np.ndarray) -> Callable[[float], float]:
    """The log density in its textbook form, with powers of u and v."""
    if name == "Gumbel":

        def gumbel(theta: float) -> float:
            x, y = -np.log(u), -np.log(v)
            s = x**theta + y**theta
            w = s ** (1 / theta)
            terms = -w - np.log(u * v) + (theta - 1) * np.log(x * y) + (1 / theta - 2) * np.log(s) + np.log(w + theta - 1)
            return -float(np.sum(terms))

        return gumbel

    def clayton(theta: float) -> float:
        joined = np.log(u**-theta + v**-theta - 1)
        return -float(np.sum(np.log1p(theta) - (1 + theta) * np.log(u * v) - (2 + 1 / theta) * joined))

    return clayton


def maximised(name: str, u: np.ndarray, v: np.ndarray, formula: Formula = tuned_likelihood) -> float:
    """The theta that SciPy finds."""
    # function values cannot place a maximum closer than 1e-8; the default, 1e-5, would be no answer to compare with
    options = {"xatol": 1e-8}
    found = minimize_scalar(formula(name, u, v), bounds=BOUNDS[name], method="bounded", options=options)
    return float(found.x)


def paper_value(draws: np.ndarray, target: cd.Copula, formula: Formula) -> float:
    """The discrepancy as computed in the paper, without uncertainty: ranks, Kendall's tau, a likelihood maximised by SciPy."""
    n = len(draws)
    u, v = rankdata(draws[:, 0]) / (n + 1), rankdata(draws[:, 1]) / (n + 1)
    kendalltau(u, v)
    return maximised(target.name, u, v, formula)
