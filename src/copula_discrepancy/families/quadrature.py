"""Deterministic expectations: double-exponential nodes on the unit interval, with an error estimate at no extra cost.

The substitution p = 1/(1 + exp(-pi sinh t)) makes the trapezoidal rule converge exponentially even if the integrand has
logarithmic or algebraic singularities at 0 and 1 (Takahasi and Mori, 1974). Every second node forms the rule with twice the
step, so each integral comes with a coarser estimate.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from copula_discrepancy._core.caveats import caveat_of
from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy._core.errors import DependenceWarning
from copula_discrepancy._core.rowwise import Rowwise
from copula_discrepancy._core.warn import warn

FIRST_LEVEL = 3
LAST_LEVEL = 6
_REACH = 3.75  # p = 1e-29 at the ends: p * log(p)**4 is then below 1e-21
# The error of the finer rule is far below the difference between the two, on smooth integrands about its square.
ACCEPT = 1e-7
_PROMISE = 1e-8
_NOTHING = 1e-15  # absolute errors below this are rounding
_ROUNDING = 1e-14  # relative to the sum of absolute terms: smaller differences are rounding


@lru_cache(maxsize=8)
def unit_nodes(level: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(p, 1-p, weight) of the rule with step 2**-level on (0, 1); even positions are the rule of level - 1."""
    half = 2 * round(_REACH * 2 ** (level - 1))
    t = np.arange(-half, half + 1) / 2.0**level
    exponent = np.pi * np.sinh(t)
    p, complement = expit(exponent), expit(-exponent)
    weight = np.pi * np.cosh(t) * p * complement / 2.0**level
    for array in (p, complement, weight):
        array.flags.writeable = False  # cached arrays are shared
    return p, complement, weight


@dataclass(frozen=True)
class Integral(Rowwise):
    """A value and its estimated relative error, 0 for a closed form or if the rule and its coarser half agree.

    Of several integrals at once, both are arrays; notes are those of a single one.
    """

    value: Any
    error: Any = 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence if the value is less accurate than required."""
        if self.error <= _PROMISE or abs(self.value) * self.error < _NOTHING:
            return ()
        return (f"a quadrature reached only a relative accuracy of {self.error:.0e}, because the parameters are extreme",)

    def announced(self) -> float:
        """The value; its notes are issued as warnings, attributed to the caller of the public method."""
        for note in self.notes:
            warn(DependenceWarning(caveat_of("quadrature", note)))
        return self.value


def refine(terms: Callable[[int], FloatArray], *, floor: float, accept: float = ACCEPT) -> Integral:
    """Sum `terms(level)`, weights times values, over levels until the rule and its coarser half agree to `accept`.

    The first and the last axis run over unit nodes, so every second position on both is the coarser rule. Values below `floor`
    need absolute accuracy only.
    """
    fine = gap = 0.0
    for level in range(FIRST_LEVEL, LAST_LEVEL + 1):
        values = terms(level)
        coarse = 2.0 * np.sum(values[::2]) if values.ndim == 1 else 4.0 * np.sum(values[::2, ..., ::2])
        fine = float(np.sum(values))
        gap = abs(fine - float(coarse))
        rounding = _ROUNDING * float(np.sum(np.abs(values)))
        if gap <= max(accept * max(abs(fine), floor), rounding):
            return Integral(fine, 0.0)
    return Integral(fine, gap / abs(fine) if fine else math.nan)
