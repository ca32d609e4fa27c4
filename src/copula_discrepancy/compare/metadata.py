"""Ordered columns of a table according to SDMetrics' metadata, with their values as numbers in that order."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed
from copula_discrepancy.data.readers.frames import is_frame

_ORDERED = ("numerical", "ordinal", "boolean")


@dataclass(frozen=True)
class Description:
    """Columns to compare, with the order of their values if the metadata lists it, and the reasons why others are omitted.

    Attributes
    ----------
    kinds : mapping from str to str
        The sdtype of each column to compare.
    orders : mapping from str to list
        The values of a column from the lowest to the highest.
    left_out : mapping from str to str
        The reason for each omitted column, by name.
    """

    kinds: Mapping[str, str]
    orders: Mapping[str, Sequence[Any]]
    left_out: Mapping[str, str]

    @classmethod
    def of(cls, metadata: Any) -> "Description":
        """Numerical, ordinal and boolean columns, and categorical columns with an order, of the first table."""
        try:
            if hasattr(metadata, "to_dict"):
                metadata = metadata.to_dict()
            tables = metadata.get("tables")
            columns = (next(iter(tables.values())) if tables else metadata)["columns"]
            kinds = {str(name): str(about["sdtype"]) for name, about in columns.items()}
            orders = {str(name): about["order"] for name, about in columns.items() if _is_order(about.get("order"))}
            sorted_by = {str(name) for name, about in columns.items() if about.get("order_by") == "numerical_value"}
        except (AttributeError, KeyError, TypeError, StopIteration):
            raise InputError(
                "metadata must describe columns as SDMetrics does, {'columns': {'a': {'sdtype': 'numerical'}}}, "
                f"got {metadata!r:.80}"
            ) from None
        ordered = {*orders, *sorted_by}
        chosen = {name: kind for name, kind in kinds.items() if kind in _ORDERED or (kind == "categorical" and name in ordered)}
        left_out = {name: kind for name, kind in kinds.items() if name not in chosen}
        return cls(chosen, orders, left_out)

    def apply(self, *tables: Any) -> tuple[list[Any], list[str], dict[str, str]]:
        """The tables with booleans and ordered categories as numbers, the columns to compare, and the omitted ones."""
        left_out = dict(self.left_out)
        converted = []
        for table in tables:
            columns = _columns(table)
            left_out |= {name: "not in the metadata" for name in columns if name not in self.kinds and name not in left_out}
            changed = {}
            for name, kind in self.kinds.items():
                if name not in columns or kind == "numerical":
                    continue  # values that are not numbers raise an error, as without metadata
                values = self._numbers(columns[name], name)
                if values is None:
                    left_out[name] = f"{kind}, with values that have no known order"
                elif values is not columns[name]:
                    changed[name] = values
            converted.append(_replaced(table, changed))
        chosen = [name for name in self.kinds if name not in left_out]
        if len(chosen) < 2:
            why = "; omitted: " + listed([f"{name} ({reason})" for name, reason in left_out.items()]) if left_out else ""
            raise InputError(
                f"metadata must describe at least two numerical, ordinal or boolean columns, got {listed(chosen)}{why}"
            )
        return converted, chosen, left_out

    def _numbers(self, column: Any, name: str) -> Any:
        """The column itself if it holds numbers in natural order, its values as numbers, or None if they have no order."""
        order = self.orders.get(name)
        rising = order is None or (all(map(_is_number, order)) and list(order) == sorted(order))
        if rising and _holds_numbers(column):
            return column
        place = None if order is None or rising else {value: float(k) for k, value in enumerate(order)}
        codes = np.empty(len(column))
        for k, value in enumerate(list(column)):
            if _is_missing(value):
                codes[k] = math.nan
            elif place is not None and value in place:
                codes[k] = place[value]
            elif place is None and _is_number(value):
                codes[k] = float(value)
            else:
                return None
        return codes


def _is_order(order: Any) -> bool:
    return isinstance(order, list | tuple) and len(order) > 0


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.number | np.bool_)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA, which cannot be compared."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value))


def _holds_numbers(column: Any) -> bool:
    kind = getattr(getattr(column, "dtype", None), "numpy_dtype", None)  # pandas' nullable types
    if kind is not None:
        return kind.kind in "fiub"
    return np.asarray(column).dtype.kind in "fiub"


def _columns(table: Any) -> dict[str, Any]:
    """Columns of a frame or a dictionary by name; empty if they cannot be determined."""
    if is_frame(table):
        return {str(name): table[name] for name in table.columns}
    if isinstance(table, Mapping) and all(np.ndim(column) == 1 for column in table.values()):
        return {str(name): column for name, column in table.items()}
    return {}


def _replaced(table: Any, changed: Mapping[str, NDArray[np.float64]]) -> Any:
    """The table with new values in some columns; the table itself if nothing changes."""
    if not changed:
        return table
    if not is_frame(table):
        return {str(name): changed.get(str(name), column) for name, column in table.items()}
    if hasattr(table, "iloc"):
        table = table.copy(deep=False)
        for name in table.columns:
            if str(name) in changed:
                table[name] = changed[str(name)]
        return table
    return table.with_columns([sys.modules["polars"].Series(name, values) for name, values in changed.items()])
