"""Deterministic expectations: double-exponential nodes on the unit interval, with an error estimate that costs nothing.

The substitution p = 1/(1 + exp(-pi sinh t)) makes the trapezoidal rule converge exponentially even when the integrand
has logarithmic or algebraic singularities at 0 and 1 (Takahasi and Mori, 1974). Every second node is the rule of twice the
step, so each integral carries its own coarser estimate.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit

from copula_discrepancy._core.warn import warn
from copula_discrepancy.families.numerics import FloatArray

FIRST_LEVEL = 3
LAST_LEVEL = 6
_REACH = 3.75  # p = 1e-29 at the ends: p * log(p)**4 is then below 1e-21
# The error of the finer rule is far below the difference between the two, on smooth integrands about its square.
_ACCEPT = 1e-7
_PROMISE = 1e-8
_NOTHING = 1e-15  # an error below this is rounding, whatever it is relative to
_ROUNDING = 1e-14  # of the sum of absolute terms: below it a difference says nothing


@lru_cache(maxsize=8)
def unit_nodes(level: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(p, 1-p, weight) of the rule with step 2**-level on (0, 1); the even places are the rule of level - 1."""
    half = 2 * round(_REACH * 2 ** (level - 1))
    t = np.arange(-half, half + 1) / 2.0**level
    exponent = np.pi * np.sinh(t)
    p, complement = expit(exponent), expit(-exponent)
    weight = np.pi * np.cosh(t) * p * complement / 2.0**level
    for array in (p, complement, weight):
        array.flags.writeable = False  # the cache hands the same arrays to everybody
    return p, complement, weight


@dataclass(frozen=True)
class Integral:
    """A value and its estimated relative error, 0 where the rule and its coarser half agree."""

    value: float
    error: float

    def told(self) -> float:
        """The value, with a note where it is less accurate than promised."""
        if not self.error <= _PROMISE and not abs(self.value) * self.error < _NOTHING:
            _tell(f"a quadrature reached a relative accuracy of {self.error:.0e} only; the parameters are extreme")
        return self.value


_accepted: ContextVar[float] = ContextVar("_accepted", default=_ACCEPT)


@contextmanager
def fewer_digits(accept: float) -> Iterator[None]:
    """Within it a rule and its coarser half need to agree to `accept` only; safe with threads."""
    token = _accepted.set(accept)
    try:
        yield
    finally:
        _accepted.reset(token)


def refine(terms: Callable[[int], FloatArray], *, floor: float, accept: float | None = None) -> Integral:
    """Sum `terms(level)`, weights times values, over levels until the rule and its coarser half agree to `accept`.

    The first and the last axis run over unit nodes, so every second place on both is the coarser rule. Values below `floor`
    need not be known relative to themselves.
    """
    accept = _accepted.get() if accept is None else accept
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


_listener: ContextVar[list[str] | None] = ContextVar("_listener", default=None)


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect what quadratures have to say; safe with threads."""
    notes: list[str] = []
    token = _listener.set(notes)
    try:
        yield notes
    finally:
        _listener.reset(token)


def _tell(sentence: str) -> None:
    notes = _listener.get()
    if notes is not None and sentence not in notes:
        notes.append(sentence)


def relay(notes: list[str]) -> None:
    """Hand collected notes to whoever collects outside, or issue them as warnings at the caller of a public method."""
    if _listener.get() is not None:
        for sentence in notes:
            _tell(sentence)
        return
    for sentence in notes:
        warn(sentence)
