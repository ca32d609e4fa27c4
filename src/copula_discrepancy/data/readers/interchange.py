"""Draws from tables of other libraries: Arrow, DuckDB, Dask, the interchange protocol, NumPy's structured arrays.

A table with column names is never read as a bare array, so that columns of two tables are matched by name. Only the columns
that are needed are loaded.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed, require_different
from copula_discrepancy.data.readers.arrays import read_array
from copula_discrepancy.data.readers.chain_columns import needed_columns
from copula_discrepancy.data.readers.frames import is_frame, read_frame
from copula_discrepancy.data.readers.labelled import read_mapping
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.readers.table import Table

_NAMES = ("columns", "column_names", "colnames", "names")  # pandas' and most others', Arrow's and Vaex', Astropy's, datatable's
_CONVERTERS = ("to_pandas", "toPandas", "to_df")


def is_tabular(given: Any) -> bool:
    """Whether an object is a table with column names, without reading it."""
    protocol = is_frame(given) or _is_lazy(given) or _streams(given) or hasattr(given, "__dataframe__")
    return protocol or _column_names(given) is not None


def read_tabular(given: Any, options: ReadOptions) -> Table:
    """The columns of a table of any library as variables."""
    if is_frame(given):
        return read_frame(given, options)
    if _is_lazy(given):
        raise InputError("a LazyFrame has no values yet; pass frame.collect()")
    options.refuse("a table", "group", "coords", "delimiter")
    if type(given).__module__.partition(".")[0] == "duckdb":  # its engine does not compute the other columns
        places, options = needed_columns([], given.columns, options)
        given = given.project(", ".join('"' + given.columns[k].replace('"', '""') + '"' for k in places))
    if _fields(given):
        return _read_structured(np.asanyarray(given), options)
    if type(given).__module__.startswith("dask") and hasattr(given, "npartitions") and hasattr(given, "columns"):
        return _read_dask(given, options)
    if _streams(given) and (_has_pyarrow() or not any(hasattr(given, way) for way in _CONVERTERS)):
        return _read_stream(given, options)
    if hasattr(given, "__dataframe__"):
        return _read_interchange(given, options)
    for way in _CONVERTERS:
        if callable(getattr(given, way, None)):
            frame = _converted(given, getattr(given, way))
            if is_frame(frame):
                return read_frame(frame, options)
    found = f"a {type(given).__name__} has column names ({listed(_column_names(given) or ())})"
    advice = "pass a pandas frame, an Arrow table or a dictionary of its columns"
    raise InputError(f"{found} but supports none of the protocols for tables; {advice}")


def read_array_or_table(given: Any, options: ReadOptions) -> Table:
    """A table if the object has column names, like a structured array, otherwise an array."""
    return read_tabular(given, options) if is_tabular(given) else read_array(given, options)


def _is_lazy(given: Any) -> bool:
    """Whether an object is a polars frame that is not computed yet; accessing its columns would warn."""
    return type(given).__name__ == "LazyFrame"


def _column_names(given: Any) -> list[str] | None:
    """The names of an object's columns, from any of the usual attributes; None without any."""
    fields = _fields(given)
    if fields or isinstance(given, np.ndarray | list | tuple | str | bytes | type):
        return fields
    for attribute in _NAMES:
        try:
            names = getattr(given, attribute, None)
            found = [] if names is None or callable(names) or isinstance(names, str | bytes) else list(names)
        except Exception:  # any exception of another library's property: it has no names
            continue
        if found and all(isinstance(name, str) for name in found):
            return found
    return None


def _fields(given: Any) -> list[str] | None:
    """The field names of a structured array, or of the named tuples in a list."""
    if isinstance(given, list | tuple):
        first = getattr(given[0], "_fields", None) if given else None
        alike = isinstance(first, tuple) and all(getattr(row, "_fields", None) == first for row in given)
        return list(first) if alike and first is not None else None
    names = getattr(getattr(given, "dtype", None), "names", None)
    return list(names) if isinstance(names, tuple) and names else None


def _read_structured(array: Any, options: ReadOptions) -> Table:
    names = list(array.dtype.names)
    places, settled = needed_columns([], names, options)
    for name in (names[k] for k in places):
        kind = array.dtype[name]
        if kind.names is not None or kind.shape:
            inner = f"fields of its own ({listed(kind.names)})" if kind.names else f"an array of shape {kind.shape} in each row"
            raise InputError(f"field {name} has {inner}; make each a separate field, or select the others by name", "shape")
    return read_mapping({names[k]: array[names[k]] for k in places}, settled)


def _read_dask(given: Any, options: ReadOptions) -> Table:
    """The rows in the order of the partitions, which is defined with and without divisions."""
    if given.ndim == 1:
        raise InputError("a Dask series is one variable, but pairs need two; pass the frame, and select by name", "shape")
    names = [str(name) for name in given.columns]
    level = given.index.name
    places, settled = needed_columns([None if level is None else str(level)], names, options)
    frame = given[[given.columns[k] for k in places]].compute()
    frame.columns = [names[k] for k in places]
    return read_frame(frame, settled)


def _streams(given: Any) -> bool:
    """Whether an object supports Arrow's protocol, except a single column."""
    return hasattr(given, "__arrow_c_stream__") and not hasattr(given, "dtype") and type(given).__name__ != "ChunkedArray"


def _read_stream(given: Any, options: ReadOptions) -> Table:
    if not _has_pyarrow():
        message = f'reading a {type(given).__name__} needs pyarrow: pip install "copula-discrepancy[parquet]"'
        raise InputError(message, "dependency")
    import pyarrow

    try:
        reader = given if isinstance(given, pyarrow.RecordBatchReader) else pyarrow.RecordBatchReader.from_stream(given)
    except pyarrow.ArrowInvalid as error:
        raise InputError(f"a {type(given).__name__} is not a table of named columns: {error}", "shape") from None

    def load(names: list[str]) -> Any:
        places = [reader.schema.get_field_index(name) for name in names]
        schema = pyarrow.schema([reader.schema.field(k) for k in places], metadata=reader.schema.metadata)
        batches = (pyarrow.RecordBatch.from_arrays([batch.column(k) for k in places], schema=schema) for batch in reader)
        return pyarrow.Table.from_batches(batches, schema=schema)

    return read_frame(*arrow_frame(reader.schema, load, options))


def arrow_frame(schema: Any, load: Callable[[list[str]], Any], options: ReadOptions) -> tuple[Any, ReadOptions]:
    """The needed columns as a pandas frame, with the index that pandas stored, and the options for reading it.

    `load` reads the columns with these names into one Arrow table.
    """
    import pandas as pd
    import pyarrow

    require_different(schema.names)
    index = _index_columns(schema)
    names = [name for name in schema.names if name not in index]
    places, settled = needed_columns(list(index.values()), names, options)
    kept = [names[k] for k in places]
    for name in kept:
        kind = schema.field(name).type
        if pyarrow.types.is_nested(kind):
            others = [other for other in kept if not pyarrow.types.is_nested(schema.field(other).type)]
            found = f"column {name} is nested (type {kind!s:.60}), but a variable has one number in each row"
            advice = f"flatten it into columns, or select the others by name: {listed(others)}"
            raise InputError(f"{found}; {advice}", "shape")
    table = load([*index, *kept])
    for k, field in enumerate(table.schema):
        if pyarrow.types.is_decimal(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(pyarrow.float64()))
    frame = _converted(table, lambda: table.to_pandas(types_mapper={pyarrow.bool_(): pd.BooleanDtype()}.get))
    frame.columns = kept
    return frame, settled


def _index_columns(schema: Any) -> dict[str, str | None]:
    """Columns that were the index of a pandas frame, with the names of the index levels."""
    written = schema.pandas_metadata or {}
    fields = [name for name in written.get("index_columns", ()) if isinstance(name, str) and name in schema.names]
    levels = {column.get("field_name"): column.get("name") for column in written.get("columns", ())}
    return {name: None if levels.get(name) is None else str(levels[name]) for name in fields}


def _read_interchange(given: Any, options: ReadOptions) -> Table:
    """A table that supports only the older protocol, ``__dataframe__``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas and others warn that the protocol is deprecated
        table = _converted(given, given.__dataframe__)
        names = [str(name) for name in table.column_names()]
        places, settled = needed_columns([], names, options)

        def load() -> Any:
            part = table.select_columns(places)
            if _has_pyarrow():
                from pyarrow.interchange import from_dataframe as through_arrow

                return through_arrow(part).to_pandas()
            from pandas.api.interchange import from_dataframe

            return from_dataframe(part)

        frame = _converted(given, load)
    frame.columns = [names[k] for k in places]
    return read_frame(frame, settled)


def _has_pyarrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _converted(given: Any, convert: Callable[[], Any]) -> Any:
    try:
        return convert()
    except MemoryError:  # not a fault of the argument
        raise
    except Exception as error:  # any exception of another library
        reason = (str(error).strip().splitlines() or [""])[0][:200]
        kind = type(given).__name__
        raise InputError(f"a {kind} cannot be read: {type(error).__name__} {reason}; convert it to pandas first") from None


def rows_with_names(given: Sequence[Any]) -> dict[str, list[Any]] | None:
    """The columns of rows that are named tuples; None for anything else."""
    names = _fields(given) if isinstance(given, list | tuple) else None
    return None if names is None else {name: [row[k] for row in given] for k, name in enumerate(names)}
