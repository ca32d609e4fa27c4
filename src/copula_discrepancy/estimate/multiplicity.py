"""P-values adjusted for the number of tests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of
from copula_discrepancy._core.errors import InputError

ADJUSTMENTS = ("bh", "by", "holm", "bonferroni", "none")
_WORDS = {
    "bh": "false discovery rate {level}, Benjamini-Hochberg",
    "by": "false discovery rate {level}, Benjamini-Yekutieli",
    "holm": "family-wise error rate {level}, Holm",
    "bonferroni": "family-wise error rate {level}, Bonferroni",
    "none": "level {level} for each test, not adjusted",
}


def adjust_pvalues(pvalues: Any, method: str = "bh") -> NDArray[np.float64]:
    """Adjusted p-values: those below alpha are the discoveries of `method` at level alpha.

    "bh" controls the expected fraction of false discoveries at alpha if tests are independent or positively dependent
    (Benjamini and Hochberg, 1995), "by" under any dependence (Benjamini and Yekutieli, 2001); "holm" (1979) and "bonferroni"
    control the probability of one or more false discoveries at alpha, under any dependence.

    Parameters
    ----------
    pvalues : array of numbers between 0 and 1
        NaN marks tests that were not made; they are not counted and stay NaN.
    method : {"bh", "by", "holm", "bonferroni", "none"}
        The adjustment.

    Returns
    -------
    array
        Adjusted p-values in the shape of the input, not above 1 and not below the p-values. Equal p-values stay equal.

    Raises
    ------
    InputError
        For numbers outside 0 to 1, or an unknown method.

    See Also
    --------
    pairwise : Adjusts the p-values of level and shape of all pairs together.

    References
    ----------
    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate: a practical and powerful approach to multiple
    testing. Journal of the Royal Statistical Society B 57, 289-300.

    Benjamini, Y. and Yekutieli, D. (2001). The control of the false discovery rate in multiple testing under dependency. Annals
    of Statistics 29, 1165-1188.

    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 65-70.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.adjust_pvalues([0.01, 0.02, 0.03, 0.9])
    array([0.04, 0.04, 0.04, 0.9 ])
    >>> cd.adjust_pvalues([0.01, float("nan"), 0.04], "holm")
    array([0.02,  nan, 0.04])
    """
    one_of(method, "method", ADJUSTMENTS)
    if isinstance(pvalues, np.ma.MaskedArray) and np.ma.is_masked(pvalues):
        raise InputError("pvalues has masked values; use NaN for tests that were not made")
    try:
        plain = np.asarray(pvalues)
        given = plain.astype(np.float64) if plain.dtype.kind in "fiubO" else None
    except MemoryError:  # not a fault of the argument
        raise
    except Exception:  # any exception of an object's own conversion
        given = None
    if given is None:
        raise InputError(f"pvalues must be numbers between 0 and 1, got {pvalues!r:.60}")
    wrong = given[(given < 0) | (given > 1)]
    if wrong.size:
        raise InputError(f"pvalues must lie between 0 and 1, got {wrong.flat[0]:g}")
    result = given.copy()
    tested = np.flatnonzero(~np.isnan(given.ravel()))
    values = given.ravel()[tested]
    m = values.size
    if m == 0 or method == "none":
        return result
    order = np.argsort(values, kind="stable")
    ranks = np.arange(1, m + 1)
    if method == "bonferroni":
        ordered = m * values[order]
    elif method == "holm":
        ordered = np.maximum.accumulate((m + 1 - ranks) * values[order])
    else:
        factor = float(np.sum(1.0 / ranks)) if method == "by" else 1.0
        ordered = np.minimum.accumulate((factor * m / ranks * values[order])[::-1])[::-1]
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(ordered, 1.0)
    result.ravel()[tested] = adjusted  # a view: result is a fresh, contiguous copy
    return result


def in_words(method: str, level: float) -> str:
    """The error rate that an adjustment controls, in a few words."""
    return _WORDS[method].format(level=f"{100 * level:g}%")
