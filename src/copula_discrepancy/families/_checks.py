"""What a family checks before it computes: parameters, probabilities, counts."""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from copula_discrepancy._arrays import is_whole, real_array
from copula_discrepancy.errors import InputError, one_of
from copula_discrepancy.families._numerics import FloatArray

SHANNON_METHODS = ("exact", "monte_carlo")
LARGEST = 1e100  # its square is still a float
MOST_DRAWS = 2**40  # eight terabytes of floats

RandomSource: TypeAlias = int | np.random.Generator | np.random.SeedSequence | None


@dataclass(frozen=True)
class Parameter:
    """A dependence parameter: its name, its domain and what to do outside it."""

    name: str
    lower: float
    upper: float
    lower_included: bool
    advice: str = ""

    @property
    def rule(self) -> str:
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
            raise InputError(
                f"{self.name} beyond {LARGEST:g} overflows for {family}, got {number:g}; 1e12 is perfect dependence"
            )
        return number


def is_monte_carlo(method: Any) -> bool:
    """Whether a Shannon score is to be simulated instead of integrated."""
    return one_of(method, "method", SHANNON_METHODS) == "monte_carlo"


def real_number(value: Any, name: str) -> float:
    """`value` as a float; text, truth values and masked values are no numbers here."""
    if not isinstance(value, str | bytes | bool | np.bool_) and value is not np.ma.masked:
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise InputError(f"{name} must be a number, got {value!r:.60}")


def unit_values(values: ArrayLike, name: str, *, closed: bool = False) -> FloatArray:
    """Probabilities as floats, inside the open or the closed unit interval."""
    array = real_array(values, name).astype(np.float64)
    inside = (array >= 0) & (array <= 1) if closed else (array > 0) & (array < 1)
    if not inside.all():
        wrong = array[~inside]
        where = "between 0 and 1" if closed else "strictly between 0 and 1"
        raise InputError(
            f"{name} must lie {where}, got {wrong.flat[0]:g} ({wrong.size} of {array.size} values are outside); "
            "pseudo_observations() turns any draws into such values"
        )
    return array


def unit_pair(
    u: ArrayLike, v: ArrayLike, names: tuple[str, str] = ("u", "v"), *, closed: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Two checked arrays of probabilities, broadcast against each other."""
    a, b = unit_values(u, names[0], closed=closed), unit_values(v, names[1], closed=closed)
    try:
        first, second = np.broadcast_arrays(a, b)
    except ValueError:
        raise InputError(f"{names[0]} and {names[1]} must have shapes that broadcast, got {a.shape} and {b.shape}") from None
    return first, second


def random_generator(rng: RandomSource) -> np.random.Generator:
    """A NumPy generator from a seed or a source of randomness (SPEC 7)."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(f"rng must be a seed >= 0, a numpy Generator or None, got {rng!r}") from None


def whole_number(value: Any, name: str, least: int) -> int:
    """`value` as an int, or an InputError."""
    if not is_whole(value) or not least <= value < MOST_DRAWS:
        shown = (
            "one of over 100 digits" if isinstance(value, int) and abs(value) > 10**100 else repr(value)
        )  # Python may refuse
        raise InputError(f"{name} must be a whole number >= {least}, and below 2**40, got {shown}")
    return int(value)
