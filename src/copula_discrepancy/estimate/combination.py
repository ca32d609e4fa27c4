"""One p-value from several correlated scores: their sum of squares, which sees many small differences, and the largest of them.

Q = sum z^2 has the mean m of a chi-square variable with m degrees of freedom, but another variance if scores are correlated: it
is compared with c chi2_nu, c = tr(R^2)/m and nu = m^2/tr(R^2), which has both (Satterthwaite, 1946). The largest score is
tested by Bonferroni's inequality. Cauchy's combination of the two (Liu and Xie, 2020) needs no knowledge of their dependence.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtr, ndtri, stdtr

_SMALLEST = 1e-300  # smaller p-values would become infinite scores
_NEAREST = 1e-15  # p-values closer to 0 or 1 would overflow the tangent of Cauchy's combination


def normal_scores(ratios: NDArray[np.float64], df: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard normal scores with the p-values, and the signs, of Student's t ratios."""
    found: NDArray[np.float64] = np.sign(ratios) * -ndtri(np.maximum(stdtr(df, -np.abs(ratios)), _SMALLEST))
    return found


def combined_pvalue(scores: NDArray[np.float64], correlation: NDArray[np.float64], size: float) -> float:
    """The p-value of all scores together; `correlation` is theirs, estimated from `size` independent values.

    The sum of the m^2 - m squared correlations off the diagonal is too large by (m^2 - m)/size if they are 0; it is reduced by
    that.
    """
    m = scores.size
    squares = scores**2
    off_diagonal = float(np.sum(correlation**2)) - m
    trace = m + max((off_diagonal - (m * m - m) / size) / (1.0 - 1.0 / size), 0.0)
    of_sum = float(gammaincc(0.5 * m * m / trace, 0.5 * float(squares.sum()) * m / trace))
    of_largest = min(2.0 * m * float(ndtr(-math.sqrt(squares.max()))), 1.0)
    return cauchy((of_sum, of_largest))


def cauchy(pvalues: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Cauchy's combination, with equal weights by default: valid for small p-values under any dependence of the tests."""
    tangents = [math.tan((0.5 - min(max(p, _NEAREST), 1.0 - _NEAREST)) * math.pi) for p in pvalues]
    mean = float(np.average(tangents, weights=weights))
    # 1/2 - atan(t)/pi loses all digits for large t
    return math.atan(1.0 / mean) / math.pi if mean > 0 else 0.5 - math.atan(mean) / math.pi
