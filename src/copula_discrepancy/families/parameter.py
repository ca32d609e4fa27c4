"""The parameter of a family: its name, its domain, and advice for values outside it."""

import math
from dataclasses import dataclass
from typing import Any

from copula_discrepancy._core.checks import LARGEST, real_number
from copula_discrepancy._core.errors import InputError


@dataclass(frozen=True)
class Parameter:
    """A dependence parameter: its name, its domain, and advice for values outside it."""

    name: str
    lower: float
    upper: float
    lower_included: bool
    advice: str = ""

    @property
    def rule(self) -> str:
        """The domain in words."""
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            return f"must lie strictly between {self.lower:g} and {self.upper:g}"
        if math.isfinite(self.lower):
            return f"must be {'>=' if self.lower_included else '>'} {self.lower:g} and finite"
        return "must be a finite number"

    def validate(self, value: Any, family: str) -> float:
        """Return `value` as a float or raise an InputError that names the rule."""
        number = real_number(value, f"{self.name} of {family}")
        above = number >= self.lower if self.lower_included else number > self.lower
        if not (above and number < self.upper):
            advice = f"; {self.advice}" if self.advice and not math.isnan(number) else ""
            raise InputError(f"{self.name} {self.rule} for {family}, got {number:g}{advice}")
        if abs(number) > LARGEST:
            found = f"{self.name} beyond {LARGEST:g} overflows for {family}, got {number:g}"
            raise InputError(f"{found}; 1e12 is perfect dependence")
        return number
