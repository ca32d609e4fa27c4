"""Verdicts by their meaning, so that tests need not spell them; messages.txt pins the words themselves."""

import math

from copula_discrepancy.compare.verdict import PairTests
from copula_discrepancy.compare.wording import direction, tail_fault, wrong_shape
from copula_discrepancy.estimate.tails import CORNERS

# each from taus that differ by thirty standard errors, which leave no doubt about the direction
TOO_WEAK = direction(0.1, 0.4, 0.01, 0.01)
TOO_STRONG = direction(0.4, 0.1, 0.01, 0.01)
WRONG_SIGN = direction(-0.4, 0.4, 0.01, 0.01)
WRONG_SHAPE = wrong_shape(against=True)
FAMILY_DOES_NOT_FIT = wrong_shape(against=False)
LEVEL_ALONE = PairTests((0.4, 0.4), (0.1, 0.1), {"level": 0.5, "shape": math.nan, "tails": math.nan}, {}, True, 0.05).verdict
LEVEL_UNTESTED = PairTests((0.4, 0.4), (0.1, 0.1), {"level": math.nan, "shape": 0.5, "tails": 0.5}, {}, True, 0.05).verdict


def too_thick(corner: str, *, against: bool = True) -> str:
    """The fault of a corner such as "low_low" with too many draws in it."""
    return tail_fault(CORNERS[corner].label, 0.1, against)


def too_thin(corner: str, *, against: bool = True) -> str:
    """The fault of a corner such as "low_low" with too few draws in it."""
    return tail_fault(CORNERS[corner].label, -0.1, against)


def faults(verdict: str) -> list[str]:
    """The faults that a verdict lists."""
    return verdict.split(", ")
