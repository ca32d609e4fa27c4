"""An array of real numbers from whatever was given, or one clear error."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.errors import InputError


def real_array(values: Any, name: str) -> NDArray[Any]:
    """`values` as an array of a real type, not copied where it is one already; masked values and ragged rows are errors."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{name} has {int(np.sum(values.mask))} masked values; drop them first")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} must be a rectangular array of numbers; its rows differ in length") from None
    if array.dtype.kind not in "fiub":
        example = f", for example {array.ravel()[0:1].tolist()[0]!r:.40}" if array.size else ""
        raise InputError(f"{name} must be real numbers, got an array of type {array.dtype}{example}")
    return array
