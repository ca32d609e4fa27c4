"""Draws from whatever else has column names: Arrow, DuckDB, Dask, the interchange protocol, NumPy's structured arrays.

Nothing that has names is read as a bare array: columns of two tables are matched by name, or not at all. Of every source only
the columns that are asked for are loaded.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed
from copula_discrepancy.data.readers.arrays import read_array
from copula_discrepancy.data.readers.frames import is_frame, needed_columns, read_frame
from copula_discrepancy.data.readers.labelled import read_mapping
from copula_discrepancy.data.readers.request import Request
from copula_discrepancy.data.readers.table import Table, require_different

_NAMES = ("columns", "column_names", "colnames", "names")  # pandas' and most others', Arrow's and Vaex', Astropy's, datatable's
_CONVERTERS = ("to_pandas", "toPandas", "to_df")


def is_tabular(given: Any) -> bool:
    """Whether something is a table with column names; never by reading it."""
    return (
        is_frame(given)
        or is_lazy(given)
        or _streams(given)
        or hasattr(given, "__dataframe__")
        or column_names(given) is not None
    )


def read_tabular(given: Any, request: Request) -> Table:
    """The columns of a table of any library as variables, by their names."""
    if is_frame(given):
        return read_frame(given, request)
    if is_lazy(given):
        raise InputError("a LazyFrame has no values yet; give frame.collect()")
    request.refuse("a table", "group", "coords", "delimiter")
    if type(given).__module__.partition(".")[0] == "duckdb":  # its engine need not make the other columns at all
        places, request = needed_columns([], given.columns, request)
        given = given.project(", ".join('"' + given.columns[k].replace('"', '""') + '"' for k in places))
    if _fields(given):
        return _read_structured(np.asanyarray(given), request)
    if _is_dask(given):
        return _read_dask(given, request)
    if _streams(given) and (_has_pyarrow() or not any(hasattr(given, way) for way in _CONVERTERS)):
        return _read_stream(given, request)
    if hasattr(given, "__dataframe__"):
        return _read_interchange(given, request)
    for way in _CONVERTERS:
        if callable(getattr(given, way, None)):
            frame = _converted(given, getattr(given, way))
            if is_frame(frame):
                return read_frame(frame, request)
    raise InputError(
        f"a {type(given).__name__} has column names ({listed(column_names(given) or ())}) but no way known here to read them; "
        "give a pandas frame, an Arrow table or a dictionary of its columns"
    )


def read_plain(given: Any, request: Request) -> Table:
    """An array, by the names of its fields where it has some."""
    return read_tabular(given, request) if is_tabular(given) else read_array(given, request)


def is_lazy(given: Any) -> bool:
    """A polars frame that is not computed yet; to ask for its columns costs a warning."""
    return type(given).__name__ == "LazyFrame"


def column_names(given: Any) -> list[str] | None:
    """The names that an object has for its columns, by whatever attribute; None without any."""
    if isinstance(given, np.ndarray | list | tuple | str | bytes | type):
        return list(given.dtype.names) if isinstance(given, np.ndarray) and given.dtype.names else _fields(given)
    if _fields(given):
        return _fields(given)
    for attribute in _NAMES:
        try:
            names = getattr(given, attribute, None)
            found = [] if names is None or callable(names) or isinstance(names, str | bytes) else list(names)
        except Exception:  # whatever a property of another library raises: it tells no names
            continue
        if found and all(isinstance(name, str) for name in found):
            return found
    return None


def _fields(given: Any) -> list[str] | None:
    """The names of a structured array's fields, or of tuples with names in a list."""
    if isinstance(given, list | tuple):
        first = getattr(given[0], "_fields", None) if given else None
        return (
            list(first) if isinstance(first, tuple) and all(getattr(row, "_fields", None) == first for row in given) else None
        )
    names = getattr(getattr(given, "dtype", None), "names", None)
    return list(names) if isinstance(names, tuple) and names else None


def _read_structured(array: Any, request: Request) -> Table:
    names = list(array.dtype.names)
    places, settled = needed_columns([], names, request)
    for name in (names[k] for k in places):
        kind = array.dtype[name]
        if kind.names is not None or kind.shape:
            inside = (
                f"fields of its own ({listed(kind.names)})" if kind.names else f"an array of shape {kind.shape} in each row"
            )
            raise InputError(f"field {name} has {inside}; give each a field of its own, or select the others by name")
    return read_mapping({names[k]: array[names[k]] for k in places}, settled)


def _is_dask(given: Any) -> bool:
    return type(given).__module__.startswith("dask") and hasattr(given, "npartitions") and hasattr(given, "columns")


def _read_dask(given: Any, request: Request) -> Table:
    """Its partitions are computed, one after another in their order, which Dask knows with and without divisions."""
    if given.ndim == 1:
        raise InputError("a Dask series is one variable, and pairs need two; give the frame, and select columns by name")
    names = [str(name) for name in given.columns]
    level = given.index.name
    places, settled = needed_columns([None if level is None else str(level)], names, request)
    frame = given[[given.columns[k] for k in places]].compute()
    frame.columns = [names[k] for k in places]
    return read_frame(frame, settled)


def _streams(given: Any) -> bool:
    """Arrow's protocol, but for a single column."""
    return hasattr(given, "__arrow_c_stream__") and not hasattr(given, "dtype") and type(given).__name__ != "ChunkedArray"


def _read_stream(given: Any, request: Request) -> Table:
    pyarrow = _pyarrow(given)
    try:
        reader = given if isinstance(given, pyarrow.RecordBatchReader) else pyarrow.RecordBatchReader.from_stream(given)
    except pyarrow.ArrowInvalid as error:
        raise InputError(f"a {type(given).__name__} is no table of columns with names: {error}") from None

    def load(names: list[str]) -> Any:
        places = [reader.schema.get_field_index(name) for name in names]
        schema = pyarrow.schema([reader.schema.field(k) for k in places], metadata=reader.schema.metadata)
        batches = (pyarrow.RecordBatch.from_arrays([batch.column(k) for k in places], schema=schema) for batch in reader)
        return pyarrow.Table.from_batches(batches, schema=schema)

    return read_arrow(reader.schema, load, request)


def _pyarrow(given: Any) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise InputError(f'reading a {type(given).__name__} needs pyarrow: pip install "copula-discrepancy[parquet]"') from None
    return pyarrow


def read_arrow(schema: Any, load: Callable[[list[str]], Any], request: Request) -> Table:
    """The columns of an Arrow schema as variables; `load` reads those of them that are needed into one Arrow table."""
    frame, settled = arrow_frame(schema, load, request)
    return read_frame(frame, settled)


def arrow_frame(schema: Any, load: Callable[[list[str]], Any], request: Request) -> tuple[Any, Request]:
    """The needed columns as a pandas frame, with the index that pandas wrote down, and the request for what is left then."""
    import pandas as pd
    import pyarrow

    require_different(schema.names)
    index = _index_columns(schema)
    names = [name for name in schema.names if name not in index]
    places, settled = needed_columns(list(index.values()), names, request)
    kept = [names[k] for k in places]
    for name in kept:
        kind = schema.field(name).type
        if pyarrow.types.is_nested(kind):
            others = [other for other in kept if not pyarrow.types.is_nested(schema.field(other).type)]
            raise InputError(
                f"column {name} is nested (type {kind!s:.60}), and a variable has one number in each row; take its parts out "
                f"into columns of their own, or select the others by name: {listed(others)}"
            )
    table = load([*index, *kept])
    for k, field in enumerate(table.schema):
        if pyarrow.types.is_decimal(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(pyarrow.float64()))
    frame = _converted(table, lambda: table.to_pandas(types_mapper={pyarrow.bool_(): pd.BooleanDtype()}.get))
    frame.columns = kept
    return frame, settled


def _index_columns(schema: Any) -> dict[str, str | None]:
    """Columns that were the index of a pandas frame, with the names of its levels."""
    written = schema.pandas_metadata or {}
    fields = [name for name in written.get("index_columns", ()) if isinstance(name, str) and name in schema.names]
    levels = {column.get("field_name"): column.get("name") for column in written.get("columns", ())}
    return {name: None if levels.get(name) is None else str(levels[name]) for name in fields}


def _read_interchange(given: Any, request: Request) -> Table:
    """Through the older protocol, which some libraries have alone."""

    def chosen() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas' and others' about its age
            return given.__dataframe__()

    table = _converted(given, chosen)
    names = [str(name) for name in table.column_names()]
    places, settled = needed_columns([], names, request)

    def load() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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
    except MemoryError:  # says nothing about what was given
        raise
    except Exception as error:  # whatever another library raises
        told = (str(error).strip().splitlines() or [""])[0][:200]
        raise InputError(
            f"a {type(given).__name__} cannot be read: {type(error).__name__} {told}; give a pandas frame of it"
        ) from None


def rows_with_names(given: Sequence[Any]) -> dict[str, list[Any]] | None:
    """Rows that are tuples with names, as columns; None for anything else."""
    names = _fields(given) if isinstance(given, list | tuple) else None
    return None if names is None else {name: [row[k] for row in given] for k, name in enumerate(names)}
