"""Draws from delimited text: a header or none, comments, row numbers, CmdStan's files, and one error for what is wrong."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from copula_discrepancy._sources import stan
from copula_discrepancy._sources.frames import read_frame
from copula_discrepancy._sources.request import Request, listed
from copula_discrepancy._sources.table import Table, require_different
from copula_discrepancy.errors import InputError

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|inf|infinity)\s*", re.IGNORECASE | re.ASCII)
_SEPARATORS = (",", ";", "\t", "|", " ")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+|\d*,(\d+))([eE][+-]?\d+)?\s*", re.ASCII)
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class _Text:
    """A file's lines without comments, how they are split, and the comments above its first row."""

    raw: bytes
    delimiter: str
    comments: tuple[str, ...]
    commented: bytes

    def records(self) -> Iterator[tuple[int, int, list[str]]]:
        """Rows that are not blank: the number of their last line in the file, the bytes up to their end, their fields."""
        return _records(self.raw, self.delimiter)


def read_text(raw: bytes, request: Request, delimiter: str) -> Table:
    """The columns of a text file as variables."""
    text = _checked_text(raw, delimiter)
    header_end, header, first = _first_rows(text)
    told: tuple[str, ...] = ()
    if request.delimiter is None and delimiter == "," and _in_semicolons(header, first):
        text = replace(text, delimiter=";")
        header_end, header, first = _first_rows(text)
        told = ("its values are separated by semicolons",)
    _require_separator(header, first, text.delimiter)
    named = not _is_data(header)
    if named and not first:
        raise InputError(f"it has a header ({listed(header)}) but no draws")
    names = [name.strip() for name in header] if named else [f"x{k}" for k in range(len(header))]
    from_stan = stan.is_stan(text.comments, names)
    frame = _parsed(text, header_end if named else 0, len(names), from_stan)
    request = replace(request, delimiter=None)
    if from_stan:
        return _from_stan(frame, names, text, request)
    frame, names, empty = _without_empty(frame, names)
    names, notes = _without_row_numbers(frame, names)
    notes = told + empty + notes
    frame.columns = names
    if "" in names:
        frame = frame.drop(columns="")
    if text.delimiter != ",":
        frame, commas = _with_decimal_points(frame)
        notes += commas
    if not named:
        notes += (f"its first line is numbers, so it has no header: variables are called {listed(names)}",)
    table = read_frame(frame, request)
    return replace(table, named=named, notes=notes + table.notes)


def _first_rows(text: _Text) -> tuple[int, list[str], list[str]]:
    """Where the first row that is not blank ends, its fields, and those of the second."""
    rows = text.records()
    try:
        _, end, header = next(rows, (0, 0, []))
        if not header:
            raise InputError("it is empty" + (", but for comments" if text.comments else ""))
        _, _, first = next(rows, (0, 0, []))
    except csv.Error as error:
        raise InputError(_unreadable(error)) from None
    return end, header, first


def _in_semicolons(header: Sequence[str], first: Sequence[str]) -> bool:
    """Whether a .csv is what spreadsheets write where the comma is the decimal sign: semicolons in header and values alike."""
    return len(header) == 1 and header[0].count(";") == ",".join(first).count(";") > 0


def _checked_text(raw: bytes, delimiter: str) -> _Text:
    if not raw.isascii():
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise InputError(f"it is not UTF-8 text (line {line}); save it as UTF-8") from None
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise InputError(f"line {line} holds a NUL byte, so it is not a text file")
    if raw.startswith(_BOM):
        raw = raw[len(_BOM) :]
    if b"\r" in raw and b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")
    comments = []
    for row in io.BytesIO(raw):
        if row.startswith(b"#"):
            comments.append(row.decode().strip())
        elif row.strip():
            break
    if not comments:
        return _Text(raw, delimiter, (), raw)
    # only whole lines are comments: a # further on in a line belongs to its values
    kept = b"".join(line for line in io.BytesIO(raw) if not line.startswith(b"#"))
    return _Text(kept, delimiter, tuple(comments), raw)


def _records(raw: bytes, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    number = offset = 0

    def lines() -> Iterator[str]:
        nonlocal number, offset
        for line in io.BytesIO(raw):
            number, offset = number + 1, offset + len(line)
            yield line.decode()

    rows = (line.replace("\t", " ").strip() for line in lines()) if delimiter == " " else lines()  # any blanks are one
    for fields in csv.reader(rows, delimiter=delimiter, skipinitialspace=True):
        if fields and (len(fields) > 1 or fields[0].strip()):
            yield number, offset, fields


def _require_separator(header: Sequence[str], first: Sequence[str], delimiter: str) -> None:
    """Raise if what was read as one column looks like several with another separator between."""
    if len(header) > 1:
        return
    names, values = header[0].strip(), " ".join(first).strip() if len(first) == 1 else ""
    for other in _SEPARATORS:
        if other == delimiter:
            continue
        told = other in names and (other in values or not values) if other == " " else other in names or other in values
        if other == "," and _NUMBER.fullmatch(values.replace(",", ".", 1)) and "," not in names:
            continue  # one column with a decimal comma
        if told:
            raise InputError(
                f"it looks separated by {other!r}, not {delimiter!r}; give delimiter={other!r} (--delimiter {other!r})"
            )


def _is_data(fields: Sequence[str]) -> bool:
    """Numbers, some of which may be missing; but ',0,1' is the header of a frame without names and with its row numbers."""
    filled = [field for field in fields if field.strip()]
    named_but_first = not fields[0].strip() and len(filled) == len(fields) - 1
    return bool(filled) and not named_but_first and all(_NUMBER.fullmatch(field) for field in filled)


def _parsed(text: _Text, begin: int, width: int, from_stan: bool) -> Any:
    """The rows behind byte `begin` as a frame with numbers for names; every row has as many fields as the header."""
    import pandas as pd

    if from_stan and not text.commented.endswith((b"\n", b"\r")) and not text.commented.rsplit(b"\n", 1)[-1].startswith(b"#"):
        raise InputError("it ends in the middle of a row: the run is unfinished; wait for its end, or cut off the last line")
    first = next((len(fields) for _, end, fields in text.records() if end > begin), width)
    if first != width:
        raise InputError(_uneven(text, width) or "its rows differ in length")
    stream = io.BytesIO(text.raw)
    stream.seek(begin)
    try:
        frame = pd.read_csv(
            stream, sep=r"\s+" if text.delimiter == " " else text.delimiter, header=None, names=list(range(width)),
            index_col=False, engine="c", low_memory=False, skipinitialspace=True, encoding="utf-8",
            **_exact(pd.__version__),
        )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error, OverflowError) as error:
        raise InputError(_uneven(text, width) or f"it cannot be read as a table: {error}".strip()) from None
    # a short row is filled up with NaN
    if width > 1 and frame[width - 1].isna().any():
        uneven = _uneven(text, width)
        if uneven is not None:
            raise InputError(uneven)
    return frame


def _unreadable(error: csv.Error) -> str:
    if "new-line" in str(error):
        return "it mixes two kinds of line ends; save it again with one"
    return f"it cannot be read as a table: {error}"


def _exact(version: str) -> dict[str, str]:
    """What makes pandas read floats to their last digit, without which a sample does not equal its copy in a file."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}  # since 3.1 it always does


def _uneven(text: _Text, width: int) -> str | None:
    """A sentence about the first row with more or fewer fields than the header, by its line in the file."""
    lines = sum(1 for line in io.BytesIO(text.commented) if line.strip())
    rows = _records(text.raw, text.delimiter)
    try:
        wrong = next(((number, fields) for number, _, fields in rows if len(fields) != width), None)
    except csv.Error as error:
        return _unreadable(error)
    if wrong is None:
        return None
    number, fields = wrong
    if text.comments:  # count the comments before it as well
        number = [k for k, line in enumerate(io.BytesIO(text.commented), 1) if not line.startswith(b"#")][number - 1]
    last = "; it is the last line: the file may be unfinished" if number >= lines and len(fields) < width else ""
    return f"line {number} has {len(fields)} value{'s' * (len(fields) != 1)}, but the first row has {width}{last}"


def _without_empty(frame: Any, names: list[str]) -> tuple[Any, list[str], tuple[str, ...]]:
    """Without columns that have neither name nor values, and without the rows at the end that have none either.

    Spreadsheets write such columns and rows where a cell was once touched. A gap between rows stays: it is a missing value.
    """
    notes: tuple[str, ...] = ()
    filled = frame.notna().to_numpy()
    kept = [k for k, name in enumerate(names) if name or filled[:, k].any()]
    if kept and len(kept) < len(names):
        notes += (f"columns without name and values left out: {len(names) - len(kept)}",)
        frame, names = frame[kept].set_axis(range(len(kept)), axis=1), [names[k] for k in kept]
    rows = np.flatnonzero(filled[:, kept].any(axis=1))
    if len(names) > 1 and rows.size and rows[-1] + 1 < len(frame):
        notes += (f"rows without values at the end left out: {len(frame) - rows[-1] - 1}",)
        frame = frame.iloc[: rows[-1] + 1].infer_objects()
    return frame, names, notes


def _with_decimal_points(frame: Any) -> tuple[Any, tuple[str, ...]]:
    """Columns of text that are numbers with decimal commas, as numbers; read where a comma does not separate values."""
    found = {}
    for name in frame.columns:
        values = frame[name].dropna()
        if values.dtype.kind not in "OTU" and str(values.dtype) not in ("str", "string"):
            continue
        matches = [_DECIMAL_COMMA.fullmatch(value) if isinstance(value, str) else None for value in values]
        if not matches or not all(matches):
            continue
        decimals = [match.group(2) for match in matches if match and match.group(2) is not None]
        if all(len(digits) == 3 for digits in decimals):  # 1,234: a comma may mark thousands as well
            raise InputError(
                f"column {name} has commas with three digits behind each, such as {values.iloc[0]!r}, so they may mark "
                "decimals or thousands; write its numbers without thousands separators and with decimal points"
            )
        found[name] = frame[name].str.replace(",", ".").astype(float)
    if not found:
        return frame, ()
    return frame.assign(**found), (f"decimal commas read in {listed(list(found))}",)


def _without_row_numbers(frame: Any, names: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Names with '' for a column that only counts the rows; any other column needs a name."""
    notes: tuple[str, ...] = ()
    if names[0] in ("", "Unnamed: 0") and len(names) > 1:
        count = frame[0].to_numpy()
        begin = count[0] if count.dtype.kind in "iu" else None
        if begin in (0, 1) and np.array_equal(count, np.arange(begin, begin + count.size)):
            notes = ("its first column, which has no name and counts the rows, left out",)
            names = ["", *names[1:]]
        elif not names[0]:
            raise InputError("its first column has no name and does not count the rows; name it, or leave it out of the file")
    unnamed = [k for k, name in enumerate(names) if not name and not (k == 0 and notes)]
    if unnamed:
        raise InputError(
            f"column {unnamed[0] + 1} of {len(names)} has no name; name it, or take it out of the file (the first line has to "
            "hold the names: take out any title above them)"
        )
    require_different(names)
    return names, notes


def _from_stan(frame: Any, names: list[str], text: _Text, request: Request) -> Table:
    """One chain of draws, without warm-up and without the columns of the sampler that nobody asked for."""
    request.refuse("a Stan CSV file", "group", "coords", "chain column")
    require_different(names)
    begin, notes = stan.rows_before_draws(text.comments, len(frame))
    asked = request.var_names or () if request.filter_vars is None else ()
    sampler = [name for name in names if name.endswith("__") and name not in asked]
    frame.columns = [stan.variable_name(name) for name in names]
    if sampler:
        frame = frame.drop(columns=sampler)
        some = ", ".join(sampler[:3]) + (", ..." if len(sampler) > 3 else "")
        notes = (f"{len(sampler)} sampler column{'s' * (len(sampler) != 1)} ({some}) left out", *notes)
    chain_free = frame.iloc[begin:]
    # one file is one chain: a variable called chain is a variable
    table = read_frame(chain_free, request, chains=False)
    return replace(table, chained=True, notes=notes + table.notes)
