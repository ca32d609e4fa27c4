"""Summaries of the values that a function has in a sample: mean, probability, spread, quantiles, expected shortfall."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of, real_number
from copula_discrepancy._core.errors import InputError

SUMMARIES = ("mean", "probability", "sd", "quantile", "shortfall")
_OF_TAILS = ("quantile", "shortfall")


@dataclass(frozen=True)
class Summary:
    """A number that describes the values of a function.

    Attributes
    ----------
    kind : {"mean", "probability", "sd", "quantile", "shortfall"}
        What it is; "probability" is the share of draws for which a condition holds.
    q : float
        The probability that a quantile, or an expected shortfall, is for; NaN otherwise.
    """

    kind: str
    q: float = math.nan

    @property
    def label(self) -> str:
        """Its name, as in "the 1% quantile of x"."""
        names = {"sd": "standard deviation", "quantile": f"{100 * self.q:g}% quantile"}
        if self.kind == "shortfall":
            side, share = ("lowest", self.q) if self.q < 0.5 else ("highest", 1.0 - self.q)
            return f"expected shortfall (mean of the {side} {round(100 * share, 10):g}%)"
        return names.get(self.kind, self.kind)

    @property
    def limits(self) -> tuple[float, float]:
        """The range of the number."""
        return {"probability": (0.0, 1.0), "sd": (0.0, math.inf)}.get(self.kind, (-math.inf, math.inf))

    @property
    def tail(self) -> float:
        """The share of the values that decides about a quantile or a shortfall; NaN for other summaries."""
        return min(self.q, 1.0 - self.q)

    def __call__(self, values: NDArray[Any]) -> float:
        """The summary of values (n,)."""
        if self.kind == "sd":
            return float(np.std(values))  # not n - 1: values that occur several times each must have the same spread
        if self.kind == "quantile":
            return float(np.quantile(values, self.q))
        if self.kind == "shortfall":
            return _tail_mean(values, self.q) if self.q < 0.5 else -_tail_mean(-values, 1.0 - self.q)
        return float(np.mean(values))


def _tail_mean(values: NDArray[np.float64], share: float) -> float:
    """The mean of the lowest share of values; of the value at the edge, the part that belongs to it counts."""
    count = share * values.size
    whole = min(int(count), values.size - 1)
    parts = np.partition(values, whole)
    return float((np.sum(parts[:whole]) + (count - whole) * parts[whole]) / count)


def checked_summaries(summary: Any, q: Any, is_condition: bool) -> tuple[Summary, ...]:
    """The summaries that a user asked for.

    Parameters
    ----------
    summary : str, sequence of str or None
        Names; None is the probability of a condition, the quantiles if `q` is set, and the mean of anything else.
    q : float, sequence of float or None
        Probabilities of quantiles and shortfalls.
    is_condition : bool
        Whether the function is true or false.

    Returns
    -------
    tuple of Summary
        At least one.

    Raises
    ------
    InputError
        For an unknown name, a `q` that is missing, unused or not between 0 and 1, or a summary that does not suit the function.
    """
    probabilities = _probabilities(q)
    if summary is None:
        summary = "probability" if is_condition else "quantile" if probabilities else "mean"
    kinds = (summary,) if isinstance(summary, str) or not isinstance(summary, Iterable) else tuple(summary)
    if not kinds:
        raise InputError("summary is empty; name at least one of " + ", ".join(SUMMARIES))
    for kind in kinds:
        one_of(kind, "summary", SUMMARIES)
        if is_condition and kind not in ("probability", "mean"):
            raise InputError(f"a condition is true or false, so its only summary is its probability, got {kind!r}")
        if kind == "probability" and not is_condition:
            raise InputError("summary='probability' needs a condition, such as 'a - b > 0'; compare the quantity with a number")
        if kind in _OF_TAILS and not probabilities:
            raise InputError(f"summary={kind!r} needs q, the probability that it is for, such as q=0.01 (--q 0.01)")
    if probabilities and not any(kind in _OF_TAILS for kind in kinds):
        raise InputError(f"q is for quantiles and shortfalls, but summary is {', '.join(map(repr, kinds))}; omit it")
    found = []
    for kind in dict.fromkeys("probability" if is_condition else kind for kind in kinds):
        found += [Summary(kind, p) for p in probabilities] if kind in _OF_TAILS else [Summary(kind)]
    return tuple(found)


def _probabilities(q: Any) -> tuple[float, ...]:
    if q is None:
        return ()
    values = tuple(q) if isinstance(q, Iterable) and not isinstance(q, str) else (q,)
    found = tuple(dict.fromkeys(real_number(value, "q") for value in values))
    for value in found:
        if not 0.0 < value < 1.0:
            raise InputError(f"q must lie strictly between 0 and 1, got {value:g}")
    return found
