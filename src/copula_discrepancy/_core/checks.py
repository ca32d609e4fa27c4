"""Validation of arguments: arrays, numbers, choices and seeds, with one clear error each."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from copula_discrepancy._core.errors import InputError

FloatArray = NDArray[np.float64]
Pair: TypeAlias = tuple[FloatArray, FloatArray]
SHANNON_METHODS = ("exact", "monte_carlo")
LARGEST = 1e100  # its square is still a float
MOST_DRAWS = 2**40  # eight terabytes of floats

RandomSource: TypeAlias = int | np.random.Generator | np.random.SeedSequence | None
_EXACT_INTEGERS = 2**53  # a float64 holds every integer up to here


def real_array(values: Any, name: str) -> NDArray[Any]:
    """`values` as an array of a real type, not copied if it is one already; masked values and ragged rows raise an error."""
    if isinstance(values, np.ma.MaskedArray) and values.dtype.names is None and np.ma.is_masked(values):
        raise InputError(f"{name} has {int(np.sum(values.mask))} masked values; drop them first", "nan")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} must be a rectangular array of numbers; its rows differ in length", "shape") from None
    except MemoryError:  # not a fault of the argument
        raise
    except Exception as error:  # any exception of another library's __array__
        details = f"{type(values).__name__}: {type(error).__name__} {error}"
        raise InputError(f"{name} must be an array of numbers, got {details}", "not-numeric") from None
    if array.dtype.kind not in "fiub":
        example = f", for example {array.ravel()[0:1].tolist()[0]!r:.40}" if array.size else ""
        raise InputError(f"{name} must be real numbers, got an array of type {array.dtype}{example}", "not-numeric")
    return array


def is_whole(value: Any) -> bool:
    """Whether `value` is a Python or NumPy integer; booleans and timedelta64 are excluded."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def numeric(values: Any, name: str) -> tuple[NDArray[Any], bool]:
    """Numbers that fit into float64, and whether they are ranks that replace values too large for it."""
    array = real_array(values, name)
    large = array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > _EXACT_INTEGERS
    if not large and array.dtype.itemsize <= 8:
        return array, False
    if not np.isfinite(array).all():
        return array, False  # rejected by the caller, with a count
    with np.errstate(over="ignore"):
        rounded = array.astype(np.float64)
    distinct, codes = np.unique(array, return_inverse=True)
    if np.isfinite(rounded).all() and np.unique(rounded).size == distinct.size:
        return rounded, False
    return codes.reshape(array.shape).astype(np.float64), True


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of the choices; raise an InputError that lists them otherwise."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")
    return value


def true_or_false(value: Any, name: str) -> bool:
    """Return `value` if it is a bool; raise an InputError otherwise."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):  # NumPy's, without importing it
        raise InputError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def independent_sides(iid: Any) -> tuple[bool, bool]:
    """Whether the draws and the reference are independent: `iid` is True or False for both, or the name of one sample."""
    if isinstance(iid, str) and iid in ("draws", "reference"):
        return iid == "draws", iid == "reference"
    if isinstance(iid, bool | np.bool_):
        return bool(iid), bool(iid)
    raise InputError(f"iid must be True or False, or 'draws' or 'reference' for one of the two samples, got {iid!r}")


def is_monte_carlo(method: Any) -> bool:
    """Whether a Shannon score is to be simulated instead of integrated."""
    return one_of(method, "method", SHANNON_METHODS) == "monte_carlo"


def real_number(value: Any, name: str) -> float:
    """`value` as a float; text, booleans and masked values raise an InputError."""
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
        found = f"{wrong.flat[0]:g} ({wrong.size} of {array.size} values are outside)"
        raise InputError(f"{name} must lie {where}, got {found}; pseudo_observations() converts any draws to such values")
    return array


def unit_pair(u: ArrayLike, v: ArrayLike, names: tuple[str, str] = ("u", "v"), *, closed: bool = False) -> Pair:
    """Two validated arrays of probabilities, broadcast against each other."""
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


def spawned(rng: RandomSource, count: int) -> list[np.random.Generator]:
    """Independent generators from a seed or a source of randomness."""
    source = random_generator(rng)
    try:
        return source.spawn(count)
    except TypeError:
        message = f"rng must be a seed or a Generator that can spawn others, got {rng!r}; use default_rng(seed)"
        raise InputError(message) from None


def whole_number(value: Any, name: str, least: int) -> int:
    """Return `value` as an int; raise an InputError if it is not an integer in range."""
    if not is_whole(value) or not least <= value < MOST_DRAWS:
        too_long = isinstance(value, int) and abs(value) > 10**100  # Python may refuse to print it
        shown = "an integer with more than 100 digits" if too_long else repr(value)
        raise InputError(f"{name} must be an integer >= {least} and < 2**40, got {shown}")
    return int(value)
