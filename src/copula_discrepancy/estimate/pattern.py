"""Which kind of dependence differs between draws and target, from their coefficients of form.

A coefficient a_jk describes one kind: (1, 2) is positive if the second variable is at its ends where the first is high, (2, 2)
if both are at their ends together. Dependence of a given strength has several of them; so a kind is named only from what a
difference in Kendall's tau does not explain.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from copula_discrepancy.estimate.form import FormGap

Array = NDArray[np.float64]

# A funnel and a bend have the same leading coefficient, (1, 2): "the spread of b follows a" and "a bends with b" are both true
# of either. Of the two, the bend has larger coefficients (2, 2) and (3, 4) beside it: in funnels their sum, relative to (1, 2),
# is 0.1, 0.3, 0.4 and 0.6 where (1, 2) is 0.5, 0.7, 0.8 and 0.9; in bends (a parabola with noise) 0.4 to 0.9 throughout.
_BEND, _BEND_SLOPE = 0.35, 0.35
_BOTH = 0.5  # ratio of (1, 2) to (2, 1) from which on a pair differs in one corner more than in the opposite one
_SIMPLER = 0.85  # weight of a coefficient for each degree it has more
_CLEAR = 0.01  # p-value, over all cells, below which a difference that strength does not explain is named
_CHANCE = 2.0  # standard errors of a dependence below which it may be chance
_GONE = 0.25  # share of a target's coefficient below which it is lost

KINDS = {
    "bend first": "{a} bends with {b}",
    "bend second": "{b} bends with {a}",
    "spread first": "the spread of {a} follows {b}",
    "spread second": "the spread of {b} follows {a}",
    "together": "extremes of {a} and {b} come together",
    "apart": "extremes of {a} and {b} exclude each other",
    "high high": "{a} and {b} are closest where both are high",
    "low low": "{a} and {b} are closest where both are low",
    "high low": "{a} and {b} are closest where {a} is high and {b} low",
    "low high": "{a} and {b} are closest where {a} is low and {b} high",
    "curve": "{a} and {b} follow an S-shaped curve",
    "fine": "{a} and {b} depend in a pattern finer than strength, bends and extremes",
    "levels": "{a} and {b} depend on each other",
}
_OWN = ("bend", "spread", "together", "apart", "levels")
CHANGES = {
    "lost": "in the target, not in the draws",
    "weaker": "less in the draws than in the target",
    "stronger": "more in the draws than in the target",
    "added": "in the draws, not in the target",
    "reversed": "the other way round in the draws",
    "other": "in another way in the draws",
}
_ALIKE = 0.5  # share of the squared difference of two coefficient matrices that another strength of the target's explains


class Pattern(NamedTuple):
    """A kind of dependence, one of `KINDS`, and how draws differ from the target in it, one of `CHANGES`."""

    kind: str
    change: str

    @property
    def own(self) -> bool:
        """Whether neither strength nor shape nor tails have a word for it."""
        return self.kind.startswith(_OWN)

    @property
    def code(self) -> str:
        """Both as one word, for tables."""
        return f"{self.kind}: {self.change}"

    @classmethod
    def known(cls, code: str) -> "Pattern | None":
        """The pattern of a code; None for an empty one."""
        return cls(*code.split(": ")) if code else None


LONGEST = max(len(Pattern(kind, change).code) for kind in KINDS for change in CHANGES)


def pattern_of(gap: FormGap, expected: Array) -> Pattern | None:
    """The kind of dependence that differs most, if any does beyond what strength explains.

    Parameters
    ----------
    gap : FormGap
        The coefficients of draws and target.
    expected : array (cell)
        The difference of coefficients that the gap in Kendall's tau explains.
    """
    order = math.isqrt(gap.own.size)
    left = np.nan_to_num(gap.own - gap.target - expected)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(gap.errors > 0.0, left / gap.errors, 0.0)
    cells = np.count_nonzero(gap.errors > 0.0)
    clear = 2.0 * ndtr(-np.abs(z)) * cells < _CLEAR
    if not clear.any():
        return None
    rest = np.where(clear, left, 0.0).reshape(order, order)
    # of two cells of similar size the simpler one names the pattern
    simplicity = np.add.outer(np.arange(order), np.arange(order)) * math.log(_SIMPLER)
    j, k = divmod(int(np.argmax(np.abs(rest) * np.exp(simplicity))), order)
    own, target = (np.nan_to_num(side).reshape(order, order) for side in (gap.own, gap.target))
    change = _change(own[j, k], target[j, k])
    # the side that has more of it tells what it is; what is reversed in the draws is told as the target has it
    fuller = target if change == "reversed" or abs(target[j, k]) >= abs(own[j, k]) else own
    return Pattern(_kind(fuller, rest, j, k), change)


def pattern_of_levels(gap: FormGap) -> Pattern:
    """How the dependence of categories without an order differs: which levels go together has no simpler name."""
    own, target = (np.nan_to_num(side) for side in (gap.own, gap.target))
    (here, there), errors = gap.dependence, gap.dependence_errors
    product, size = float(own @ target), max(there, 1e-12) ** 2
    if here < max(_GONE * there, min(_CHANCE * errors[0], 0.5 * there)):
        return Pattern("levels", "lost")
    if there < max(_GONE * here, min(_CHANCE * errors[1], 0.5 * here)):
        return Pattern("levels", "added")
    share = product / size
    if (share - 1.0) ** 2 * size < _ALIKE * max(gap.squared, 0.0):
        return Pattern("levels", "other")
    return Pattern("levels", "weaker" if share < 1.0 else "stronger")


def proportional(gap: FormGap) -> Array:
    """The difference of coefficients that another strength of the same dependence explains: (s - 1) times the target's.

    s is the ratio of the two first coefficients, if the target's is known well; 1 otherwise.
    """
    own, target, se = gap.own[0], gap.target[0], gap.target_errors[0]
    ratio = own / target if abs(target) > 3.0 * se else 1.0
    return np.nan_to_num((min(max(ratio, -1.0), 2.0) - 1.0) * gap.target)


def _kind(fuller: Array, rest: Array, j: int, k: int) -> str:
    """The name of a cell, counted from 0, given the coefficients of the side that has more of it, and all differences."""
    sign = fuller[j, k] > 0.0
    if (j, k) in ((0, 1), (1, 0)):
        other = rest[k, j]
        if abs(other) > _BOTH * abs(rest[j, k]):
            high_first, high_second = (fuller[0, 1] > 0.0), (fuller[1, 0] > 0.0)
            return f"{'high' if high_first else 'low'} {'high' if high_second else 'low'}"
        # `line` has the first polynomial of the one variable, and the second, both ends, of the other
        line = fuller if (j, k) == (0, 1) else fuller.T
        beside = line[1, 1] + (math.copysign(1.0, line[0, 1]) * line[2, 3] if line.shape[0] > 3 else 0.0)
        bends = beside > (_BEND + _BEND_SLOPE * abs(line[0, 1])) * abs(line[0, 1])
        if bends:  # the variable of the first polynomial is a bent function of the other
            return "bend first" if (j, k) == (0, 1) else "bend second"
        return "spread second" if (j, k) == (0, 1) else "spread first"
    if (j, k) == (1, 1):
        return "together" if sign else "apart"
    return "curve" if (j, k) in ((0, 2), (2, 0)) else "fine"


def _change(own: float, target: float) -> str:
    if abs(target) >= abs(own):
        share = own / target
        return "reversed" if share < -_GONE else "lost" if share < _GONE else "weaker"
    share = target / own
    return "reversed" if share < -_GONE else "added" if share < _GONE else "stronger"
