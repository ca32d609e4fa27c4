"""An array of real numbers from whatever was given, or one clear error."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.errors import InputError

_EXACT_INTEGERS = 2**53  # a float64 holds every integer up to here


def real_array(values: Any, name: str) -> NDArray[Any]:
    """`values` as an array of a real type, not copied where it is one already; masked values and ragged rows are errors."""
    if isinstance(values, np.ma.MaskedArray) and values.dtype.names is None and np.ma.is_masked(values):
        raise InputError(f"{name} has {int(np.sum(values.mask))} masked values; drop them first")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} must be a rectangular array of numbers; its rows differ in length") from None
    except MemoryError:  # says nothing about what was given
        raise
    except Exception as error:  # whatever __array__ of another library raises
        told = f"{type(values).__name__}: {type(error).__name__} {error}"
        raise InputError(f"{name} must be an array of numbers, got {told}") from None
    if array.dtype.kind not in "fiub":
        example = f", for example {array.ravel()[0:1].tolist()[0]!r:.40}" if array.size else ""
        raise InputError(f"{name} must be real numbers, got an array of type {array.dtype}{example}")
    return array


def is_whole(value: Any) -> bool:
    """A whole number of Python or NumPy: no truth value, and no duration, which NumPy counts among them."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def numeric(values: Any, name: str) -> tuple[NDArray[Any], bool]:
    """Numbers that fit a float64, and whether they are ranks in place of values that do not."""
    array = real_array(values, name)
    large = array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > _EXACT_INTEGERS
    if not large and array.dtype.itemsize <= 8:
        return array, False
    if not np.isfinite(array).all():
        return array, False  # refused by the caller, with its count
    with np.errstate(over="ignore"):
        rounded = array.astype(np.float64)
    distinct, codes = np.unique(array, return_inverse=True)
    if np.isfinite(rounded).all() and np.unique(rounded).size == distinct.size:
        return rounded, False
    return codes.reshape(array.shape).astype(np.float64), True
