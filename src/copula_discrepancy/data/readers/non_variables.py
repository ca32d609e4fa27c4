"""Columns of a table that are not variables: dates, identifiers and row numbers. They are omitted unless named."""

import datetime
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.data.readers.table import is_missing

DATES, IDENTIFIER, ROW_NUMBERS = "dates", "identifier", "row numbers"
FREE_TEXT, MIXED, SCATTERED_CODES = "free text", "numbers mixed with text", "codes, nearly all different"

_KEPT_TYPES = ("float", "double", "half", "bool", "complex", "decimal")
_DATE_TYPES = ("date", "time", "duration", "period", "interval[d")
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|UTC|[+-]\d{2}:?\d{2})?"
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
# not a month such as 2020.12, which is a number
_DATE = re.compile(rf"\s*(({_DAY})([T ]\s*{_CLOCK})?|\d{{4}}[-/]\d{{1,2}}|{_CLOCK})\s*", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# a word at either end of a name: id, customer_id, CustomerID, idPatient
_KEYS = frozenset({"id", "ids", "uuid", "guid", "uid", "pk", "rowid", "identifier"})
_WHOLE_NAMES = frozenset({("index",), ("idx",), ("key",), ("rownum",), ("rownumber",), ("row",), ("row", "index")})
_COUNTED = frozenset(
    {"row", "record", "line", "serial", "observation", "obs", "subject", "participant", "customer", "client", "account"}
    | {"invoice", "policy"}
)
_NUMBERS = frozenset({"number", "no", "nr", "num", "key", "code"})
# time may be a variable that others depend on: a trend is dependence
_TIMES = frozenset(
    {"year", "month", "week", "day", "hour", "minute", "second", "time", "date", "period", "quarter", "season", "age", "t"}
)
# numbers that name a place or a class: their order means nothing
_CODES = frozenset({"zip", "zipcode", "postcode", "plz", "fips", "naics", "sic", "icd"})
_FEWEST_COUNTED = 100  # rows: a short experiment may use settings 1, 2, 3, ... in order; a hundred in order are row numbers


def reason_to_leave_out(name: str, kind: str, read: Callable[[], NDArray[Any]]) -> str | None:
    """Why a column is omitted unless it is named; None for a variable. Columns of floats are always variables."""
    kind = kind.lower()
    if kind.startswith(_DATE_TYPES):
        return DATES
    if kind.startswith(_KEPT_TYPES):
        return None
    values = read()
    if values.dtype.kind in "mM":
        return DATES
    if values.dtype.kind in "iu":
        return reason_for_integers(name, values)
    return _reason_for_text(name, values) if values.dtype.kind in "OUST" and values.ndim == 1 else None


def is_identifier_name(name: str) -> bool:
    """Whether a name is typical of identifiers: id, customer_id, CustomerID, uuid, key, row number."""
    words = tuple(word.lower() for word in _WORD.findall(name))
    if not words:
        return False
    if words in _WHOLE_NAMES or words[-1] in _KEYS or words[0] in _KEYS:
        return True
    return len(words) > 1 and (words[-1] == "key" or (words[-2] in _COUNTED and words[-1] in _NUMBERS))


def is_code_name(name: str) -> bool:
    """Whether a name is typical of codes without order: zip, postcode, fips, icd10, area_code."""
    words = [word.lower() for word in _WORD.findall(name)]
    named = [word for word in words if not word.isdigit()]
    return bool(named) and (named[0] in _CODES or named[-1] in _CODES or named[-1] in ("code", "codes"))


def is_date_text(text: str) -> bool:
    """Whether a text looks like a date, a month or a time of day, in any usual form."""
    return _DATE.fullmatch(text) is not None


def reason_for_integers(name: str, values: NDArray[Any]) -> str | None:
    """Why a column of integers is omitted: it identifies or numbers the rows."""
    if is_identifier_name(name):
        return IDENTIFIER if values.size > 1 and np.unique(values).size == values.size else None
    if values.size < _FEWEST_COUNTED or _TIMES & {word.lower().removesuffix("s") for word in _WORD.findall(name)}:
        return None
    first = int(values[0])
    if int(values[1]) != first + 1 or int(values[-1]) != first + values.size - 1:
        return None
    return ROW_NUMBERS if np.array_equal(values[1:], values[:-1] + 1) else None


def _reason_for_text(name: str, values: NDArray[Any]) -> str | None:
    """Text cannot be a variable, so an identifier may repeat here: many rows of one customer."""
    filled = [value for value in values.tolist() if not is_missing(value)]
    if not filled:
        return None
    if all(isinstance(value, datetime.date | datetime.time | datetime.timedelta) for value in filled):
        return DATES
    if not all(isinstance(value, str) for value in filled):
        return None
    if all(map(is_date_text, filled)):
        return DATES
    return IDENTIFIER if is_identifier_name(name) else None
