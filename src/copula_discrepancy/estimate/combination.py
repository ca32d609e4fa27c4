"""One p-value from several correlated scores: their sum of squares, which sees many small differences, and the largest of them.

Q = sum z^2 has the mean m of a chi-square variable with m degrees of freedom, but another variance if scores are correlated: it
is compared with c chi2_nu, c = tr(R^2)/m and nu = m^2/tr(R^2), which has both (Satterthwaite, 1946). The largest score is
tested by Sidak's inequality. Cauchy's combination of the two (Liu and Xie, 2020) needs no knowledge of their dependence.

Scores are arrays (..., score), so that one call serves one test or thousands.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtr, ndtri, stdtr

Array = NDArray[np.float64]

_SMALLEST = 1e-300  # smaller p-values would become infinite scores
_LARGEST = 0.99  # a p-value next to 1 would outweigh a small one of another test in Cauchy's combination


def normal_scores(ratios: Array, df: Array) -> Array:
    """Standard normal scores with the p-values, and the signs, of Student's t ratios."""
    found: Array = np.sign(ratios) * -ndtri(np.maximum(stdtr(df, -np.abs(ratios)), _SMALLEST))
    return found


def trace_of_squares(correlation: Array, size: float) -> float:
    """tr(R^2) of a correlation matrix R that was estimated from `size` independent values.

    The sum of the m^2 - m squared correlations off the diagonal is too large by (m^2 - m)/size if they are 0; it is reduced by
    that.
    """
    m = len(correlation)
    off_diagonal = float(np.sum(correlation**2)) - m
    return m + max((off_diagonal - (m * m - m) / size) / (1.0 - 1.0 / size), 0.0)


def combined_pvalue(scores: Array, trace: Any, count: Any = None) -> Array:
    """The p-values of scores (..., score); `trace` is tr(R^2) of their correlations, `count` their number, if some are 0."""
    m = np.asarray(scores.shape[-1] if count is None else count, np.float64)
    of_sum = gammaincc(0.5 * m * m / trace, 0.5 * np.sum(scores**2, axis=-1) * m / trace)
    of_largest = -np.expm1(m * np.log1p(-2.0 * ndtr(-np.max(np.abs(scores), axis=-1))))
    return cauchy([of_sum, of_largest])


def cauchy(pvalues: Any, weights: Any = None) -> Array:
    """Cauchy's combination of (test, ...), with equal weights by default: valid for small p-values under any dependence."""
    safe = np.clip(np.asarray(pvalues, np.float64), _SMALLEST, _LARGEST)
    # for small p, tan((1/2 - p) pi) = 1/(p pi), which rounding loses below 1e-16; the same for the way back
    tangents = np.where(safe < 1e-10, 1.0 / (np.pi * safe), np.tan((0.5 - safe) * np.pi))
    mean = np.average(tangents, axis=0, weights=weights)
    with np.errstate(divide="ignore"):
        found: Array = np.where(mean > 0.0, np.arctan(1.0 / mean) / np.pi, 0.5 - np.arctan(mean) / np.pi)
    return found
