"""Verdicts: the significant gaps of a pair, of a row of many or of an edge of a vine, in a few words."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copula_discrepancy.compare import wording
from copula_discrepancy.estimate.pattern import Pattern
from copula_discrepancy.estimate.tails import CORNERS

_NAMED = 2  # corners that a verdict names one by one


@dataclass(frozen=True)
class PairTests:
    """The tests of one pair.

    Attributes
    ----------
    taus, ses : (float, float)
        Kendall's tau of the draws and of the target, and their standard errors.
    adjusted : mapping from str to float
        P-values of "level", "shape", "tails" and "form", adjusted for all tests made together; NaN for what was not tested.
    corners : mapping from str to (float, float)
        The gap in every corner and its own p-value.
    against : bool
        Whether there is a target.
    alpha : float
        Adjusted p-values below it indicate a gap.
    void : bool
        Whether both samples consist of the same rows, so that no test is valid.
    pattern : str
        The code of the kind of dependence that differs beyond strength; empty if there is none.
    automatic : bool
        Whether the family was chosen among all.
    ordered : bool
        Whether both variables have an order; if not, form is the only test there is.
    """

    taus: tuple[float, float]
    ses: tuple[float, float]
    adjusted: Mapping[str, float]
    corners: Mapping[str, tuple[float, float]]
    against: bool
    alpha: float
    void: bool = False
    pattern: str = ""
    automatic: bool = True
    ordered: bool = True

    def beyond(self, name: str) -> bool:
        """Whether the gap is significant."""
        return self.adjusted[name] < self.alpha

    @property
    def n_corners(self) -> int:
        """Number of corners tested."""
        return sum(not math.isnan(pvalue) for _, pvalue in self.corners.values())

    @property
    def off_corners(self) -> list[str]:
        """The corners behind a significant test of tails: the smallest p-value, and all that are significant on their own."""
        known = {name: pvalue for name, (_, pvalue) in self.corners.items() if not math.isnan(pvalue)}
        if not self.beyond("tails") or not known:
            return []
        limit = max(self.alpha / len(known), min(known.values()))
        return [name for name, pvalue in known.items() if pvalue <= limit]

    @property
    def faults(self) -> list[str]:
        """Phrases for the significant gaps in strength, shape, form and corners."""
        off = self.off_corners
        if len(off) > _NAMED:
            return [*self._main_faults, "wrong tails"]
        return self._main_faults + [
            wording.tail_fault(CORNERS[name].label, self.corners[name][0], self.against) for name in off
        ]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The same, with one phrase for all corners, and one for all patterns."""
        form = []
        if self.form_counts:
            form = [self._form_fault if self._by_strength else wording.WRONG_FORM if self.against else "no family fits"]
        return (*self._parametric_faults, *form, *(["wrong tails"] if self.off_corners else []))

    @property
    def form_counts(self) -> bool:
        """Whether form is significant beyond what other gaps explain: a pattern of its own, or nothing else is significant."""
        pattern = Pattern.known(self.pattern)
        alone = not any(map(self.beyond, ("level", "shape", "tails")))
        return self.beyond("form") and (alone or (pattern is not None and pattern.own))

    @property
    def _main_faults(self) -> list[str]:
        return self._parametric_faults + ([self._form_fault] if self.form_counts else [])

    @property
    def _by_strength(self) -> bool:
        """Whether a gap in form without a pattern is one of strength, which its own test was too weak to find."""
        beyond = abs(self.taus[0] - self.taus[1]) > 2.0 * math.hypot(*self.ses)
        return self.against and not self.pattern and beyond

    @property
    def _form_fault(self) -> str:
        if self._by_strength:
            return wording.direction(*self.taus, *self.ses)
        return wording.form_fault(self.pattern, self.against, self.automatic)

    @property
    def _parametric_faults(self) -> list[str]:
        faults = [wording.direction(*self.taus, *self.ses)] if self.beyond("level") else []
        told = not self.against and self.form_counts  # that the family does not fit
        return faults + ([wording.wrong_shape(self.against)] if self.beyond("shape") and not told else [])

    @property
    def outcome(self) -> str:
        """The verdict as one of four words: "gap", "no gap", "not tested" or "void"."""
        if self.void or self._untested:
            return self.verdict
        return "gap" if self.faults else "no gap"

    @property
    def verdict(self) -> str:
        """The verdict in words, including "no gap found" and "not tested"."""
        if self.void or self._untested:
            return wording.VOID if self.void else wording.NOT_TESTED
        faults = self.faults
        if faults:
            return ", ".join(faults)
        if not self.ordered:
            return wording.NO_GAP
        level, shape, tails, form = (math.isnan(self.adjusted[name]) for name in ("level", "shape", "tails", "form"))
        if self.against and level and form:  # corners without a gap do not show that an untested strength is right
            return f"{wording.NO_GAP}, strength not tested"
        if form:
            return f"{wording.NO_GAP}, {'strength alone tested' if shape and tails else 'form not tested'}"
        return wording.NO_GAP

    @property
    def _untested(self) -> bool:
        return all(math.isnan(pvalue) for pvalue in self.adjusted.values())


def smallest_pvalue(*pvalues: float) -> float:
    """The smallest of several p-values, some or all of which may be missing."""
    return float(np.fmin.reduce(pvalues))
