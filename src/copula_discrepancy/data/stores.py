"""Containers as stores of columns whose values can be moved without being changed: arrays, tables, labelled arrays.

A store knows its columns by keys. It can replace them by other numbers, for reading, and take their values in another order,
with their own type, for rebuilding the container. What a container holds besides stays in place.
"""

import copy
import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.readers.options import DEFAULT_GROUP
from copula_discrepancy.data.readers.table import REPAIRED

Key = Hashable
Positions = NDArray[np.intp]


class Store(ABC):
    """The columns of one container. A column is whatever the container's library keeps values in, one after another."""

    def __init__(self, container: Any) -> None:
        self.container = container

    @abstractmethod
    def shapes(self, names: Sequence[str]) -> dict[Key, tuple[int, ...]]:
        """The columns that may hold these variables, with their shapes."""

    @abstractmethod
    def column(self, key: Key) -> Any:
        """The values of a column, one after another."""

    @abstractmethod
    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> Any:
        """The container with these columns, everything else as it was, and a record of it if the container has attributes."""

    def probe(self, values: Mapping[Key, NDArray[np.float64]]) -> Any:
        """The container with these numbers, to be read."""
        return self.assigned(values)

    def kind(self, column: Any) -> str:
        """The type of a column's values; columns are joined only if it is the same."""
        return str(column.dtype)

    def joined(self, columns: Sequence[Any]) -> Any:
        """Several columns as one."""
        return np.concatenate(columns)

    def taken(self, column: Any, positions: Positions) -> Any:
        """The values at these positions."""
        return column[positions]

    def cut(self, column: Any, begin: int, end: int) -> Any:
        """Consecutive values."""
        return column[begin:end]


class ArrayStore(Store):
    """An array, whole, of any type and memory order; also Draws and a sampler's Chains, which hold one."""

    def __init__(self, container: Any) -> None:
        super().__init__(container)
        self.array = container if isinstance(container, np.ndarray) else container.values

    def shapes(self, names: Sequence[str]) -> dict[Key, tuple[int, ...]]:
        """The array itself."""
        return {"": self.array.shape}

    def column(self, key: Key) -> Any:
        """All values, row after row."""
        return self.array.reshape(-1)

    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> Any:
        """An array of the same shape, or the object with it."""
        values = np.asanyarray(columns[""]).reshape(self.array.shape)
        if isinstance(self.container, np.ndarray):
            fortran = values.ndim > 1 and self.array.flags.f_contiguous and not self.array.flags.c_contiguous
            return np.asfortranarray(values) if fortran else values
        values.flags.writeable = False
        if isinstance(self.container, Draws):
            return dataclasses.replace(self.container, values=values, incomplete=bool(np.isnan(values).any()), diverging=None)
        return dataclasses.replace(self.container, values=values)


class FieldStore(Store):
    """A structured array: its fields."""

    def shapes(self, names: Sequence[str]) -> dict[Key, tuple[int, ...]]:
        """The fields with these names."""
        wanted = set(names)
        return {name: self.container.shape for name in self.container.dtype.names if name in wanted}

    def column(self, key: Key) -> Any:
        """A field."""
        return self.container[key].reshape(-1)

    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> Any:
        """An array with the same fields."""
        filled = self.container.copy()
        for key, column in columns.items():
            filled[key] = column.reshape(filled.shape)
        return filled

    def probe(self, values: Mapping[Key, NDArray[np.float64]]) -> Any:
        """An array with fields of floats: those of the container may be too narrow for positions."""
        own = self.container.dtype
        kinds = [(name, np.dtype(np.float64) if name in values else own[name]) for name in own.names]
        filled = np.empty(self.container.shape, dtype=kinds)
        for name in own.names:
            filled[name] = values[name].reshape(filled.shape) if name in values else self.container[name]
        return filled


class MappingStore(Store):
    """A dictionary of arrays, lists or series."""

    def shapes(self, names: Sequence[str]) -> dict[Key, tuple[int, ...]]:
        """The arrays that these variables, or their entries, are in."""
        keys = [key for key in self.container if _holds(str(key), names)]
        return {key: np.shape(self.container[key]) for key in keys}

    def column(self, key: Key) -> Any:
        """One of the arrays, flat; the items of a list keep their types."""
        values = self.container[key]
        if isinstance(values, list | tuple):
            items = np.empty(np.shape(values), object)
            items[...] = values
            return items.reshape(-1)
        return values.array if hasattr(values, "iloc") else np.asanyarray(values).reshape(-1)

    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> Any:
        """A dictionary of the same kind."""
        filled = copy.copy(self.container)
        for key, column in columns.items():
            filled[key] = _like(filled[key], column)
        return filled

    def probe(self, values: Mapping[Key, NDArray[np.float64]]) -> Any:
        """A plain dictionary."""
        return dict(self.container) | {key: column.reshape(np.shape(self.container[key])) for key, column in values.items()}


class PandasStore(Store):
    """A pandas frame: its columns by position, with their own types."""

    def __init__(self, container: Any) -> None:
        super().__init__(container)
        self._places = {str(name): k for k, name in enumerate(container.columns)}  # names are unique: they were read

    def shapes(self, names: Sequence[str]) -> dict[Key, tuple[int, ...]]:
        """The columns with these names."""
        wanted = set(names)
        return {str(name): (len(self.container),) for name in self.container.columns if str(name) in wanted}

    def column(self, key: Key) -> Any:
        """The array behind a column."""
        return self.container.iloc[:, self._places[str(key)]].array

    def joined(self, columns: Sequence[Any]) -> Any:
        """One array of the same type."""
        import pandas as pd

        return pd.concat([pd.Series(column) for column in columns], ignore_index=True).array

    def taken(self, column: Any, positions: Positions) -> Any:
        """The values at these positions, with the type of the column."""
        return column.take(positions)

    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> Any:
        """A frame with the same index and columns."""
        frame = self.container.copy()
        for key, column in columns.items():
            frame.isetitem(self._places[str(key)], column)
        if provenance is not None:
            frame.attrs = {**self.container.attrs, REPAIRED: dict(provenance)}
        return frame


class PolarsStore(Store):
    """A polars frame."""

    def shapes(self, names: Sequence[str]) -> dict[Key, tuple[int, ...]]:
        """The columns with these names."""
        wanted = set(names)
        return {name: (len(self.container),) for name in self.container.columns if name in wanted}

    def column(self, key: Key) -> Any:
        """A series."""
        return self.container.get_column(str(key))

    def joined(self, columns: Sequence[Any]) -> Any:
        """One series."""
        import polars

        return polars.concat(columns)

    def taken(self, column: Any, positions: Positions) -> Any:
        """The values at these positions."""
        return column.gather(positions)

    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> Any:
        """A frame with the same columns."""
        import polars

        series = [c.rename(str(k)) if isinstance(c, polars.Series) else polars.Series(str(k), c) for k, c in columns.items()]
        return self.container.with_columns(series)


class ArrowStore(Store):
    """An Arrow table or record batch, with its schema."""

    def shapes(self, names: Sequence[str]) -> dict[Key, tuple[int, ...]]:
        """The columns with these names."""
        wanted = set(names)
        return {name: (self.container.num_rows,) for name in self.container.schema.names if name in wanted}

    def column(self, key: Key) -> Any:
        """A column."""
        return self.container.column(self.container.schema.get_field_index(str(key)))

    def kind(self, column: Any) -> str:
        """Its Arrow type."""
        return str(column.type)

    def joined(self, columns: Sequence[Any]) -> Any:
        """One chunked array."""
        import pyarrow

        return pyarrow.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)

    def taken(self, column: Any, positions: Positions) -> Any:
        """The values at these positions."""
        import pyarrow

        return column.take(pyarrow.array(positions))

    def cut(self, column: Any, begin: int, end: int) -> Any:
        """A slice."""
        return column.slice(begin, end - begin)

    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> Any:
        """A table with the same schema."""
        import pyarrow

        table = self.container
        for key, column in columns.items():
            place = table.schema.get_field_index(str(key))
            if isinstance(column, np.ndarray):
                table = table.set_column(place, str(key), pyarrow.array(column))
            else:
                table = table.set_column(place, table.schema.field(place), column)
        return table


class LabelledStore(Store):
    """An xarray Dataset or DataArray: its variables."""

    def shapes(self, names: Sequence[str]) -> dict[Key, tuple[int, ...]]:
        """The variables that these names, or their entries, are of."""
        arrays = self._arrays()
        return {key: array.shape for key, array in arrays.items() if _holds(str(key), names)}

    def _arrays(self) -> dict[Key, Any]:
        if hasattr(self.container, "data_vars"):
            return {name: self.container[name] for name in self.container.data_vars}
        return {"x" if self.container.name is None else str(self.container.name): self.container}

    def column(self, key: Key) -> Any:
        """A variable, flat."""
        return np.asarray(self._arrays()[key].values).reshape(-1)

    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> Any:
        """An object with the same coordinates and attributes."""
        arrays = self._arrays()
        filled = {key: arrays[key].copy(data=column.reshape(arrays[key].shape)) for key, column in columns.items()}
        if hasattr(self.container, "data_vars"):
            changed = self.container.assign(filled)
        else:
            changed = next(iter(filled.values()), self.container.copy())
        if provenance is not None:  # as text: netCDF has no dictionaries
            changed = changed.assign_attrs({REPAIRED: json.dumps(dict(provenance))})
        return changed


class GroupStore(LabelledStore):
    """One group of an xarray DataTree or of ArviZ's InferenceData; the others stay."""

    def __init__(self, container: Any, group: str) -> None:
        self.whole, self.group = container, group
        self.is_tree = hasattr(container, "children")
        if self.is_tree:
            node = container[group] if self._has_group() else container
            super().__init__(node.to_dataset(inherit=False))
        else:
            super().__init__(getattr(container, group))

    def _has_group(self) -> bool:
        paths = {path.removeprefix(self.whole.path).strip("/") for path in self.whole.groups}
        return self.group in paths or self.group != DEFAULT_GROUP

    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> Any:
        """A container of the same groups."""
        dataset = super().assigned(columns, provenance)
        if self.is_tree:
            whole = self.whole.copy()
            node = whole[self.group] if self._has_group() else whole
            node.dataset = dataset
            return whole
        whole = copy.copy(self.whole)
        setattr(whole, self.group, dataset)
        return whole


def size_of(shape: tuple[int, ...]) -> int:
    """The number of values of a column."""
    return math.prod(shape)


def _holds(key: str, names: Sequence[str]) -> bool:
    """Whether one of some variables is an array, or an entry of it such as theta[0]."""
    return any(name == key or (name.startswith(f"{key}[") and name.endswith("]")) for name in names)


def _like(own: Any, values: Any) -> Any:
    """Values in the kind of sequence that held them: a list, a series, otherwise an array."""
    if hasattr(own, "iloc"):
        import pandas as pd

        return pd.Series(values, index=own.index, name=own.name)
    shaped = np.asanyarray(values).reshape(np.shape(own))
    if isinstance(own, list | tuple):
        return shaped.tolist() if isinstance(own, list) else tuple(shaped.tolist())
    return shaped
