"""One p-value from several correlated scores: their sum of squares, which sees many small differences, and the largest of them.

Q = sum z^2 has the mean m of a chi-square variable with m degrees of freedom, but another variance if scores are correlated: it
is compared with c chi2_nu, c = tr(R^2)/m and nu = m^2/tr(R^2), which has both (Satterthwaite, 1946). The largest score is
tested by Sidak's (1967) inequality. Cauchy's combination of the two (Liu and Xie, 2020) needs no knowledge of their dependence.

Scores are arrays (..., score), so that one call serves one test or thousands.

Liu, Y. and Xie, J. (2020). Cauchy combination test: a powerful test with analytic p-value calculation under arbitrary
dependency structures. Journal of the American Statistical Association 115, 393-402.

Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2, 110-114.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtr, ndtri, stdtr

Array = NDArray[np.float64]

# P-values beyond these are combined as if they were these: one very close to 1 would outweigh any small one.
_TINIEST, _LARGEST = 1e-300, 0.99


def normal_scores(ratios: Array, df: Array) -> Array:
    """Standard normal scores with the p-values, and the signs, of Student's t ratios."""
    return np.asarray(np.sign(ratios) * -ndtri(np.maximum(stdtr(df, -np.abs(ratios)), _TINIEST)), np.float64)


def trace_of_squares(correlation: Array, size: float) -> float:
    """tr(R^2) of a correlation matrix R that was estimated from `size` independent values.

    The sum of the m^2 - m squared correlations off the diagonal is too large by (m^2 - m)/size if they are 0; it is reduced by
    that.
    """
    m = len(correlation)
    off_diagonal = float(np.sum(correlation**2)) - m
    return m + max((off_diagonal - (m * m - m) / size) / (1.0 - 1.0 / size), 0.0)


def combined_pvalue(scores: Array, trace: Any, count: Any = None, third: Any = None) -> Array:
    """The p-values of scores (..., score); `trace` is tr(R^2) of their correlations, `count` their number, if some are 0."""
    m = np.asarray(scores.shape[-1] if count is None else count, np.float64)
    by_sum = sum_pvalues(np.sum(scores**2, axis=-1), m, trace, third)
    return cauchy([by_sum, largest_pvalues(np.max(np.abs(scores), axis=-1), m)])


def sum_pvalues(total: Any, mean: Any, trace: Any, third: Any = None) -> Array:
    """P-values of sums of squared scores, whose mean and tr(R^2) are known.

    With tr(R^3), `third`, the distribution has the right skewness, too (Pearson, 1959): where a few combinations of scores vary
    most, its tail is that of the largest of them, and a p-value from mean and variance alone is far too small there.
    """
    if third is None:
        scale = trace / mean
        return np.asarray(gammaincc(0.5 * mean / scale, 0.5 * total / scale), np.float64)
    df = trace**3 / third**2
    standard = np.maximum(df + (total - mean) * np.sqrt(df / trace), 0.0)
    return np.asarray(gammaincc(0.5 * df, 0.5 * standard), np.float64)


def largest_pvalues(largest: Any, count: Any) -> Array:
    """P-values of the largest of `count` absolute scores, 1 - (1 - p)^count."""
    alone = np.minimum(2.0 * ndtr(-largest), _LARGEST)
    return np.asarray(-np.expm1(count * np.log1p(-alone)), np.float64)


def cauchy(pvalues: Any, weights: Any = None) -> Array:
    """Cauchy's combination of (test, ...), with equal weights by default: valid for small p-values under any dependence."""
    safe = np.clip(np.asarray(pvalues, np.float64), _TINIEST, _LARGEST)
    mean = np.average(1.0 / np.tan(np.pi * safe), axis=0, weights=weights)  # tan((1/2 - p) pi), accurate for small p
    return np.asarray(np.arctan2(1.0, mean) / np.pi, np.float64)
