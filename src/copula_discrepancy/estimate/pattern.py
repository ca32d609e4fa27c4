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


NO_PATTERN = ""


def patterns_of(gap: FormGap, expected: Array) -> NDArray[np.str_]:
    """The codes of the kinds of dependence that differ most, pair by pair; empty if none does beyond what strength explains.

    Parameters
    ----------
    gap : FormGap
        The coefficients of draws and target, (pair, cell).
    expected : array (pair, cell)
        The differences of coefficients that gaps in Kendall's tau explain.
    """
    pairs, cells = gap.own.shape
    order = math.isqrt(cells)
    left = np.nan_to_num(gap.own - gap.target - expected)
    measured = gap.errors > 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(measured, left / gap.errors, 0.0)
    clear = 2.0 * ndtr(-np.abs(z)) * np.count_nonzero(measured, axis=1)[:, None] < _CLEAR
    rest = np.where(clear, left, 0.0)
    # of two cells of similar size the simpler one names the pattern
    simplicity = np.exp(np.add.outer(np.arange(order), np.arange(order)) * math.log(_SIMPLER)).ravel()
    cell = np.argmax(np.abs(rest) * simplicity, axis=1)
    own, target = np.nan_to_num(gap.own), np.nan_to_num(gap.target)
    every = np.arange(pairs)
    change = _changes(own[every, cell], target[every, cell])
    # the side that has more of it tells what it is; what is reversed in the draws is told as the target has it
    as_target = (change == "reversed") | (np.abs(target[every, cell]) >= np.abs(own[every, cell]))
    fuller = np.where(as_target[:, None], target, own)
    kinds = _kinds(fuller.reshape(-1, order, order), rest.reshape(-1, order, order), cell)
    codes = np.char.add(np.char.add(kinds, ": "), change)
    return np.where(clear.any(axis=1), codes, NO_PATTERN)


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
    """The differences of coefficients that another strength of the same dependence explains: (s - 1) times the target's.

    s is the ratio of the two first coefficients, if the target's is known well; 1 otherwise. (pair, cell).
    """
    own, target, se = gap.own[:, 0], gap.target[:, 0], gap.target_errors[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(np.abs(target) > 3.0 * se, own / target, 1.0)
    return np.nan_to_num((np.minimum(np.maximum(ratio, -1.0), 2.0) - 1.0)[:, None] * gap.target)


def _kinds(fuller: Array, rest: Array, cell: NDArray[np.intp]) -> NDArray[np.str_]:
    """The names of cells, given the coefficients (pair, j, k) of the side that has more of each, and all differences."""
    order, every = fuller.shape[1], np.arange(len(cell))
    j, k = np.divmod(cell, order)
    sign = fuller[every, j, k] > 0.0
    kinds = np.full(len(cell), "fine", f"U{max(map(len, KINDS))}")
    kinds[((j == 0) & (k == 2)) | ((j == 2) & (k == 0))] = "curve"
    kinds[(j == 1) & (k == 1)] = np.where(sign, "together", "apart")[(j == 1) & (k == 1)]
    bent = np.flatnonzero(((j == 0) & (k == 1)) | ((j == 1) & (k == 0)))
    if bent.size:
        kinds[bent] = _bends(fuller[bent], rest[bent], j[bent] == 0)
    return kinds


def _bends(fuller: Array, rest: Array, straight: NDArray[np.bool_]) -> NDArray[np.str_]:
    """The names of (1, 2), where `straight`, and of (2, 1)."""
    every = np.arange(len(straight))
    here, other = (np.where(straight, a, b) for a, b in ((rest[:, 0, 1], rest[:, 1, 0]), (rest[:, 1, 0], rest[:, 0, 1])))
    ends = [np.where(fuller[:, a, b] > 0.0, "high", "low") for a, b in ((0, 1), (1, 0))]
    corner = np.char.add(np.char.add(ends[0], " "), ends[1])
    # `line` has the first polynomial of the one variable, and the second, both ends, of the other
    line = np.where(straight[:, None, None], fuller, fuller.transpose(0, 2, 1))
    first = line[every, 0, 1]
    beside = line[:, 1, 1] + (np.copysign(1.0, first) * line[:, 2, 3] if line.shape[1] > 3 else 0.0)
    bends = beside > (_BEND + _BEND_SLOPE * np.abs(first)) * np.abs(first)
    # the variable of the first polynomial is a bent function of the other, or the spread of the other follows it
    bend, spread = (np.where(straight, a, b) for a, b in (("bend first", "bend second"), ("spread second", "spread first")))
    return np.where(np.abs(other) > _BOTH * np.abs(here), corner, np.where(bends, bend, spread))


def _changes(own: Array, target: Array) -> NDArray[np.str_]:
    """How coefficients of draws differ from those of the target."""
    less = np.abs(target) >= np.abs(own)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(less, own / target, target / own)
    gone, left = np.where(less, "lost", "added"), np.where(less, "weaker", "stronger")
    return np.where(share < -_GONE, "reversed", np.where(share < _GONE, gone, left))
