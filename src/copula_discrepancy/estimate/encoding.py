"""The values of a block of rows as codes of bins."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import as_draws
from copula_discrepancy.data.kinds import BOOLEAN, DATE, DURATION, HASHED, NOMINAL, hash_group, label_of, truth_of
from copula_discrepancy.data.naming import listed
from copula_discrepancy.data.streams.blocks import Block, length_of, names_in
from copula_discrepancy.estimate.bins import UNSEEN, ColumnBins

Codes = NDArray[np.uint8]
_EXACT = 2**53  # integers up to this one are different float64s


def encoded(columns: Sequence[ColumnBins], block: Block, *, missing_ok: bool) -> Codes:
    """The code of every value, (column, row).

    Parameters
    ----------
    columns : sequence of ColumnBins
        The bins of the columns.
    block : block of a source
        The rows; other columns of it are ignored.
    missing_ok : bool
        Whether values may be missing.
    """
    names = names_in(block)
    lost = [column.name for column in columns if column.name not in names]
    if lost:
        raise InputError(f"there is no column {listed(lost)}; the rows have {listed(names)}", "names-differ")
    codes = np.empty((len(columns), length_of(block)), np.uint8)
    for row, column in zip(codes, columns, strict=True):
        values = _positions(column, block) if column.labels else _numbers(column, block)
        missing, infinite = column.fill_codes(values, row)
        if infinite:
            first = int(np.flatnonzero(np.isinf(values))[0])
            raise InputError(
                f"column {column.name} has {infinite} infinite values, the first in row {first}; remove these rows or replace "
                "the values by a number",
                "not-finite",
            )
        if missing and not missing_ok:
            first = int(np.flatnonzero(np.isnan(values))[0])
            raise InputError(
                f"column {column.name} has {missing} missing values (NaN), the first in row {first}; use missing='pairs' to "
                "compare each pair where both values are present",
                "missing",
            )
    return codes


def column_of(block: Block, name: str) -> Any:
    """One column of a block: an array, a pandas Series or an Arrow array."""
    if isinstance(block, dict):
        return block[name]
    if hasattr(block, "schema"):
        return block.column(block.schema.get_field_index(name))
    return block.iloc[:, names_in(block).index(name)]


def _numbers(column: ColumnBins, block: Block) -> NDArray[np.float64]:
    """Numbers, or the days of dates, as a contiguous float64 vector; NaN if they are missing."""
    given = column_of(block, column.name)
    kind = _type_of(given)
    if column.kind not in (DATE, DURATION) and kind in ("f", "i", "u", "b"):
        plain = np.asarray(_plain(given))
        if plain.dtype.kind in "iu" and plain.size and max(abs(int(plain.min())), abs(int(plain.max()))) > _EXACT:
            raise InputError(
                f"column {column.name} has integers beyond 2**53, which a float64 does not tell apart; subtract an offset",
                "not-numeric",
            )
        return np.ascontiguousarray(plain, np.float64)
    if kind in ("O", "s", "U", "S", "T") and column.kind not in (DATE, DURATION):
        if kind == "O":  # numbers with None among them, perhaps
            with suppress(ValueError, TypeError):
                return np.array([np.nan if value is None else float(value) for value in given], np.float64)
        raise InputError(
            f"column {column.name} is text here, and numbers in the pilot sample; convert it, or give its kind, such as "
            f"kinds={{{column.name!r}: 'nominal'}}",
            "not-numeric",
        )
    return _read(column, given)


def _read(column: ColumnBins, given: Any) -> NDArray[np.float64]:
    """Values of a kind that is rare in tables of many rows, by the reader of tables."""
    read = as_draws({column.name: _array(given)}, var_names=column.name, kinds={column.name: column.kind}, missing="pairs")
    return read.column(0)


def _positions(column: ColumnBins, block: Block) -> NDArray[np.float64]:
    """The positions of levels among the labels; NaN if they are missing."""
    import pandas

    codes, uniques = pandas.factorize(_array(column_of(block, column.name)))
    places = {label: k for k, label in enumerate(column.labels)}
    found = np.empty(len(uniques) + 1)
    found[-1] = np.nan  # factorize gives missing values the code -1
    for k, value in enumerate(uniques):
        label = label_of(value)
        if column.labels == HASHED:
            found[k] = hash_group(label)
            continue
        place = places.get(label)
        if place is None and column.kind == BOOLEAN:
            place = truth_of(label)
        if place is None and column.kind == NOMINAL:
            place = places[UNSEEN]
        if place is None:
            raise InputError(
                f"column {column.name} has the value {label!r}, which is none of its levels: {listed(column.labels)}; list "
                f"all of them, kinds={{{column.name!r}: [lowest, ...]}}",
                "not-numeric",
            )
        found[k] = place
    return found[codes]


def _type_of(given: Any) -> str:
    """The letter of a column's NumPy type; "s" for text and categories, and "t" for times, of other libraries."""
    dtype = getattr(given, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind
    name = str(dtype if dtype is not None else getattr(given, "type", "object")).lower()
    if name.startswith(("string", "large_string", "str", "utf8", "category", "dictionary", "object", "binary")):
        return "s"
    if name.startswith(("date", "time", "duration", "period")):
        return "t"
    return "b" if name.startswith("bool") else "f"


def _plain(given: Any) -> Any:
    """A column of numbers as an array; missing values as NaN."""
    if isinstance(given, np.ndarray):
        return given
    if hasattr(given, "to_numpy"):
        if type(given).__module__.startswith("pandas"):
            return given.to_numpy(dtype=np.float64, na_value=np.nan)
        return _arrow(given)
    return np.asarray(given)


def _arrow(given: Any) -> Any:
    """An Arrow column as an array: without a copy if it has no missing values, and is one array already."""
    if hasattr(given, "combine_chunks"):
        given = given.combine_chunks()
    if str(given.type).startswith(("decimal", "bool")):
        return np.array([np.nan if value is None else float(value) for value in given.to_pylist()])
    return given.to_numpy(zero_copy_only=False)


def _array(given: Any) -> Any:
    """A column of any type as an array, in which missing values are None or NaN."""
    if isinstance(given, np.ndarray):
        return given
    if hasattr(given, "combine_chunks"):
        given = given.combine_chunks()
    if hasattr(given, "dictionary_decode") and str(given.type).startswith("dictionary"):
        given = given.dictionary_decode()
    if type(given).__module__.startswith("pandas"):
        return np.asarray(given.astype(object) if str(given.dtype) == "category" else given)
    return given.to_numpy(zero_copy_only=False)
