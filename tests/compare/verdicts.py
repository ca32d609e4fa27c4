"""Verdicts by their meaning, so that tests need not spell them; messages.txt pins the words themselves."""

import math

from copula_discrepancy.compare.verdict import PairTests
from copula_discrepancy.compare.wording import direction, form_fault, tail_fault, wrong_shape
from copula_discrepancy.estimate.tails import CORNERS

# each from taus that differ by thirty standard errors, which leave no doubt about the direction
TOO_WEAK = direction(0.1, 0.4, 0.01, 0.01)
TOO_STRONG = direction(0.4, 0.1, 0.01, 0.01)
WRONG_SIGN = direction(-0.4, 0.4, 0.01, 0.01)
WRONG_SHAPE = wrong_shape(against=True)
FAMILY_DOES_NOT_FIT = wrong_shape(against=False)
_ALIKE = (0.4, 0.4), (0.1, 0.1)
_NAN = {"level": math.nan, "shape": math.nan, "tails": math.nan, "form": math.nan}
LEVEL_ALONE = PairTests(*_ALIKE, _NAN | {"level": 0.5}, {}, True, 0.05).verdict
LEVEL_UNTESTED = PairTests(*_ALIKE, _NAN | {"shape": 0.5, "tails": 0.5}, {}, True, 0.05).verdict
FORM_UNTESTED = PairTests(*_ALIKE, _NAN | {"level": 0.5, "shape": 0.5, "tails": 0.5}, {}, True, 0.05).verdict
WRONG_FORM = form_fault("", against=True, automatic=True)
NO_FAMILY_FITS = form_fault("", against=False, automatic=True)


def too_thick(corner: str, *, against: bool = True) -> str:
    """The fault of a corner such as "low_low" with too many draws in it."""
    return tail_fault(CORNERS[corner].label, 0.1, against)


def too_thin(corner: str, *, against: bool = True) -> str:
    """The fault of a corner such as "low_low" with too few draws in it."""
    return tail_fault(CORNERS[corner].label, -0.1, against)


def faults(verdict: str) -> list[str]:
    """The faults that a verdict lists."""
    return verdict.split(", ")
