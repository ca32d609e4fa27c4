"""Records of many rows at once: a field is an array with one entry per row, and `at` gives the record of one of them."""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np


class Rowwise:
    """A dataclass whose fields are numbers or arrays with one entry per row; methods are elementwise, so both will do."""

    def at(self, k: int) -> Self:
        """The record of one row, with numbers instead of arrays."""
        return type(self)(**{field.name: entry(getattr(self, field.name), k) for field in fields(self)})  # type: ignore[arg-type]


def entry(value: Any, k: int) -> Any:
    """One row of a field: of an array, of another record, or of a mapping of these; anything else is the same for all rows."""
    if isinstance(value, np.ndarray):
        return plain(value[k])
    if isinstance(value, Rowwise):
        return value.at(k)
    if isinstance(value, Mapping):
        return {name: entry(part, k) for name, part in value.items()}
    return value


def plain(value: Any) -> Any:
    """A Python number instead of an array without dimensions; NaN is one object, so that records equal themselves."""
    if not isinstance(value, np.generic | np.ndarray) or np.ndim(value) > 0:
        return value
    found = value.item()
    return math.nan if found != found else found
