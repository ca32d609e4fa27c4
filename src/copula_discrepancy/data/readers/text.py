"""Draws from delimited text, with or without a header, as spreadsheets, data frames and CmdStan write it."""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed, require_different
from copula_discrepancy.data.readers import stan
from copula_discrepancy.data.readers.chain_columns import needed_columns
from copula_discrepancy.data.readers.divergences import unknown_divergences
from copula_discrepancy.data.readers.frames import read_frame
from copula_discrepancy.data.readers.numerals import read_numerals
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.readers.table import Table

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|inf|infinity)\s*", re.IGNORECASE | re.ASCII)
_SEPARATORS = (",", ";", "\t", "|", " ")
_SPREADSHEET_SEPARATORS = {";": "semicolons", "\t": "tabs"}
_SEPARATOR_LINE = re.compile(rb"sep=(.)\r?\n", re.IGNORECASE)
_TOTALS = re.compile(r"(grand |sub)?totals?|sums?|summen?|gesamt|insgesamt|average|mean|mittelwert", re.IGNORECASE)
_FEWEST_ADDED = 4  # rows: of three numbers, one is sometimes the sum of the others, but rarely in two columns at once
_TAIL = 100_000  # bytes searched for the last row: longer rows have no label of totals
# in addition to what pandas treats as missing; two of them are longer dashes
_MISSING = ("-", "--", "\u2013", "\u2014", "?", ".", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")


@dataclass(frozen=True)
class _Text:
    """A file's lines without comments, their delimiter, and the comments above its first row."""

    raw: bytes
    delimiter: str
    comments: tuple[str, ...]
    commented: bytes
    notes: tuple[str, ...] = ()

    def records(self) -> Iterator[tuple[int, int, list[str]]]:
        """Rows that are not blank: the number of their last line in the file, the bytes up to their end, their fields."""
        number = offset = 0

        def lines() -> Iterator[str]:
            nonlocal number, offset
            for line in io.BytesIO(self.raw):
                number, offset = number + 1, offset + len(line)
                yield line.decode().replace("\t", " ").strip() if self.delimiter == " " else line.decode()  # blanks count once

        for fields in csv.reader(lines(), delimiter=self.delimiter, skipinitialspace=True):
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield number, offset, fields


@dataclass(frozen=True)
class ParsedTable:
    """A parsed file: its frame, the options for reading its columns, whether these have names, and notes; or a Stan chain.

    The index of the frame counts the rows of the file. `columns` are the names of all of the file's columns, with Stan's names
    of variables, and `delimiter` is what separates them.
    """

    frame: Any
    options: ReadOptions
    named: bool
    notes: tuple[str, ...]
    stan: Table | None = None
    columns: tuple[str, ...] = ()
    delimiter: str = ","


def read_text(raw: bytes, options: ReadOptions, default_delimiter: str) -> Table:
    """The columns of a text file as variables."""
    parsed = text_table(raw, options, default_delimiter)
    if parsed.stan is not None:
        return parsed.stan
    table = read_frame(parsed.frame, parsed.options)
    return replace(table, named=parsed.named, notes=parsed.notes + table.notes)


def text_table(raw: bytes, options: ReadOptions, default_delimiter: str) -> ParsedTable:
    """A text file as a frame of numbers and text, with at least the columns that the options need."""
    text = _checked_text(raw, options.delimiter or default_delimiter, options.delimiter)
    header_end, header, first = _first_rows(text)
    other = _other_separator(header, first) if options.delimiter is None and text.delimiter == "," else None
    if other is not None:
        note = f"values are separated by {_SPREADSHEET_SEPARATORS[other]}"
        text = replace(text, delimiter=other, notes=(*text.notes, note))
        header_end, header, first = _first_rows(text)
    if len(header) == 1 < len(first):
        raise _malformed(f"the first line has one value and the second has {len(first)}; remove the title above the names")
    _require_separator(header, first, text.delimiter)
    named = not _is_data(header)
    names = [name.strip() for name in header] if named else [f"x{k}" for k in range(len(header))]
    from_stan = stan.is_stan(text.comments, names)
    if named and not first:
        rows = "draws" if from_stan else "rows"
        raise InputError(f"the file has a header ({listed(header)}) but no {rows}", "too-few-draws")
    begin = header_end if named else 0
    options = replace(options, delimiter=None)
    if from_stan:
        chain, frame = _from_stan(_parsed(text, begin, len(names), True), names, text, options)
        return ParsedTable(frame, options, named, (), chain, tuple(map(stan.variable_name, names)), text.delimiter)
    frame, options = _needed_only(text, begin, names, options) or (_parsed(text, begin, len(names), False), options)
    frame, empty = _without_empty(frame, names)
    counted = _row_numbers(frame, names)
    if counted:
        frame = frame.drop(columns=0)
    frame.columns = [names[k] for k in frame.columns]
    if options.named is not None:  # a column of row numbers may have been one of them
        options = replace(options, var_names=tuple(name for name in options.var_names or () if name in frame.columns))
    _require_no_totals(frame)
    frame, formatted = _with_plain_numbers(frame, options, text.delimiter)
    _require_no_sums(frame)
    notes = (*text.notes, *empty, *counted, *formatted)
    if not named:
        notes += (f"no header, because the first line has numbers only: variables are called {listed(names)}",)
    return ParsedTable(frame, options, named, notes, None, tuple(names), text.delimiter)


def _malformed(message: str) -> InputError:
    return InputError(message, "file-format")


def _needed_only(text: _Text, begin: int, names: list[str], options: ReadOptions) -> tuple[Any, ReadOptions] | None:
    """Only the needed columns, which saves memory, and the options for reading them; None if all must be parsed.

    That is the case if the text has quotes or lines of unequal length, where only a full parse finds errors, and if the last
    row is empty in these columns, because it may have values in others.
    """
    if not options.selects or text.delimiter == " " or b'"' in text.raw:
        return None
    sign, count = text.delimiter.encode(), len(names) - 1
    if any(line.count(sign) != count for line in io.BytesIO(text.raw) if line.strip(b" \r\n")):
        return None
    try:
        places, settled = needed_columns([], names, options)
    except InputError:  # the full parse raises it again, with all columns known
        return None
    last = next((line for line in reversed(text.raw[-_TAIL:].splitlines()) if line.replace(sign, b"").strip()), b"")
    labels = [k for k, cell in enumerate(last.split(sign)) if _TOTALS.fullmatch(cell.decode(errors="replace").strip())]
    unnamed = [k for k, name in enumerate(names) if not name or (k == 0 and name == "Unnamed: 0")]
    kept = sorted({*places, *(k for k in labels if k < len(names)), *unnamed})
    if len(kept) == len(names):
        return None
    frame = _parsed(text, begin, len(names), False, kept)
    return None if frame[sorted(places)].iloc[-1:].isna().to_numpy().all() else (frame, settled)


def _first_rows(text: _Text) -> tuple[int, list[str], list[str]]:
    """The end of the first row that is not blank, its fields, and those of the second row."""
    rows = text.records()
    try:
        _, end, header = next(rows, (0, 0, []))
        if not header:
            raise InputError("the file is empty" + (" except for comments" if text.comments else ""), "too-few-draws")
        _, _, first = next(rows, (0, 0, []))
    except csv.Error as error:
        raise _unreadable(error) from None
    return end, header, first


def _other_separator(header: Sequence[str], first: Sequence[str]) -> str | None:
    """The separator of a .csv written with decimal commas: it occurs as often in names as in values."""
    if len(header) != 1:
        return None
    values = ",".join(first)
    return next((sign for sign in _SPREADSHEET_SEPARATORS if header[0].count(sign) == values.count(sign) > 0), None)


def _checked_text(raw: bytes, delimiter: str, asked: str | None) -> _Text:
    raw, notes = _as_utf8(raw)
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise _malformed(f"line {line} has a NUL byte, so this is not a text file")
    if b"\r" in raw and b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")
    given = _SEPARATOR_LINE.match(raw)
    if given is not None:  # Excel's "sep=" line
        raw, delimiter = raw[given.end() :], asked or given.group(1).decode()
    above = takewhile(lambda row: row.startswith(b"#") or not row.strip(), io.BytesIO(raw))
    comments = tuple(row.decode().strip() for row in above if row.startswith(b"#"))
    # only whole lines are comments: a # later in a line belongs to its values
    kept = b"".join(line for line in io.BytesIO(raw) if not line.startswith(b"#")) if comments else raw
    return _Text(kept, delimiter, comments, raw, notes)


def _as_utf8(raw: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The text in UTF-8; Excel's other encodings are converted, with a note."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return raw.decode("utf-16").encode(), ("read as UTF-16 text",)
        except UnicodeDecodeError:
            raise _malformed("the file begins like UTF-16 text but is not; save it as UTF-8") from None
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if raw.isascii():
        return raw, ()
    try:
        raw.decode("utf-8")
        return raw, ()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
    if b"\0" not in raw and not any(code < 32 and code not in b"\t\n\r\f" for code in set(raw)):
        with suppress(UnicodeDecodeError):  # five bytes are undefined in it
            return raw.decode("cp1252").encode(), ("not UTF-8; read as Windows-1252 text",)
    raise _malformed(f"the file is not UTF-8 text (line {line}); save it as UTF-8 (in Excel: CSV UTF-8)") from None


def _require_separator(header: Sequence[str], first: Sequence[str], delimiter: str) -> None:
    """Raise if a single column looks like several with another separator."""
    if len(header) > 1:
        return
    names, values = header[0].strip(), " ".join(first).strip() if len(first) == 1 else ""
    for other in _SEPARATORS:
        if other == delimiter:
            continue
        fits = other in names and (other in values or not values) if other == " " else other in names or other in values
        if other == "," and _NUMBER.fullmatch(values.replace(",", ".", 1)) and "," not in names:
            continue  # one column with a decimal comma
        if fits:
            advice = f"use delimiter={other!r} (--delimiter {other!r})"
            raise _malformed(f"values look separated by {other!r}, not {delimiter!r}; {advice}")


def _is_data(fields: Sequence[str]) -> bool:
    """Whether a row contains numbers, some possibly missing; ',0,1' is the header of an unnamed frame with row numbers."""
    filled = [field for field in fields if field.strip()]
    named_but_first = not fields[0].strip() and len(filled) == len(fields) - 1
    return bool(filled) and not named_but_first and all(_NUMBER.fullmatch(field) for field in filled)


def _parsed(text: _Text, begin: int, width: int, from_stan: bool, kept: list[int] | None = None) -> Any:
    """The rows after byte `begin` as a frame with numbers as names; every row must have as many fields as the header.

    With `kept`, only these columns are parsed; the caller then knows that all rows have the same length.
    """
    import pandas as pd

    if from_stan and not text.commented.endswith((b"\n", b"\r")) and not text.commented.rsplit(b"\n", 1)[-1].startswith(b"#"):
        raise _malformed("the file ends in the middle of a row, so the run is incomplete; wait, or remove the last line")
    if next((len(fields) for _, end, fields in text.records() if end > begin), width) != width:
        _require_even(text, width)

    def read(**options: Any) -> Any:
        stream = io.BytesIO(text.raw)
        stream.seek(begin)
        return pd.read_csv(
            stream, sep=r"\s+" if text.delimiter == " " else text.delimiter, header=None, names=list(range(width)),
            index_col=False, skipinitialspace=True, encoding="utf-8", na_values=_MISSING, **options,
        )  # fmt: skip

    try:
        frame = read(engine="c", low_memory=False, usecols=kept, **_exact(pd.__version__))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error, OverflowError) as error:
        _require_even(text, width)
        raise _malformed(f"the file cannot be read as a table: {error}".strip()) from None
    if text.delimiter != ",":
        for column in [column for column in frame.columns if _may_be_thousands(frame[column])]:
            frame[column] = read(usecols=[column], dtype=str)[column]
    # pandas fills a short row with NaN
    if width > 1 and kept is None and frame[width - 1].isna().any():
        _require_even(text, width)
    return frame


def _may_be_thousands(column: Any) -> bool:
    """Whether numbers with a point, such as 1.445 next to 713, may be thousands, as with a decimal comma."""
    if column.dtype.kind != "f":
        return False
    values = np.abs(column.dropna().to_numpy())
    broken = values[values != np.floor(values)]
    return bool(broken.size and ((broken >= 1.0) & (broken < 1000.0) & (broken == np.round(broken, 3))).all())


def _unreadable(error: csv.Error) -> InputError:
    if "new-line" in str(error):
        return _malformed("the file mixes line endings; save it with one kind")
    return _malformed(f"the file cannot be read as a table: {error}")


def _exact(version: str) -> dict[str, str]:
    """Options that make pandas read floats exactly; otherwise a sample would differ from its copy in a file."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}  # the default since 3.1


def _require_even(text: _Text, width: int) -> None:
    """Raise if a row has more or fewer fields than the header; the error gives its line in the file."""
    try:
        wrong = next(((number, len(fields)) for number, _, fields in text.records() if len(fields) != width), None)
    except csv.Error as error:
        raise _unreadable(error) from None
    if wrong is None:
        return
    number, count = wrong
    if text.comments:  # include the comments before it
        number = [k for k, line in enumerate(io.BytesIO(text.commented), 1) if not line.startswith(b"#")][number - 1]
    lines = sum(1 for line in io.BytesIO(text.commented) if line.strip())
    last = "; this is the last line: the file may be incomplete" if number >= lines and count < width else ""
    raise _malformed(f"line {number} has {count} value{'s' * (count != 1)}, but the first row has {width}{last}")


def _without_empty(frame: Any, names: list[str]) -> tuple[Any, tuple[str, ...]]:
    """The frame without columns that have neither name nor values, and without empty rows at the end.

    Spreadsheets write such columns and rows where a cell was once edited. An empty row between others is a missing value.
    """
    notes: tuple[str, ...] = ()
    filled = frame.notna().to_numpy()
    kept = [place for place, k in enumerate(frame.columns) if names[k] or filled[:, place].any()]
    if kept and len(kept) < len(frame.columns):
        notes += (f"columns without name and values left out: {len(frame.columns) - len(kept)}",)
        frame = frame.iloc[:, kept]
    rows = np.flatnonzero(filled[:, kept].any(axis=1))
    if len(frame.columns) > 1 and rows.size and rows[-1] + 1 < len(frame):
        notes += (f"empty rows at the end left out: {len(frame) - rows[-1] - 1}",)
        frame = frame.iloc[: rows[-1] + 1].infer_objects()
    return frame, notes


def _require_no_totals(frame: Any) -> None:
    """Raise if the label of the last row marks it as totals: it is not a draw, and often the largest value."""
    for name in frame.columns:
        column = frame[name]
        label = column.iloc[-1]
        if isinstance(label, str) and _TOTALS.fullmatch(label.strip()) and (column == label).sum() == 1:
            raise _malformed(f"the last line looks like a row of totals ({label.strip()!r} in column {name}); remove it")


def _require_no_sums(frame: Any) -> None:
    """Raise if the last row is the sum of all others in every numeric column, regardless of its label."""
    numbers = frame.select_dtypes("number").to_numpy(np.float64)
    if len(numbers) < _FEWEST_ADDED or numbers.shape[1] < 2 or not np.isfinite(numbers).all():
        return
    sums, last = numbers[:-1].sum(axis=0), numbers[-1]
    # totals have as many digits as the table, and a sum of 0 may be chance
    if (sums != 0).all() and np.allclose(last, sums, rtol=1e-6, atol=0.0):
        raise _malformed("the last line is the sum of all others in every column; remove the row of totals")


def _with_plain_numbers(frame: Any, options: ReadOptions, delimiter: str) -> tuple[Any, tuple[str, ...]]:
    """The frame with numbers formatted by a spreadsheet converted to numbers, in the selected columns only, and notes."""
    names = list(frame.columns)
    wanted = names
    if options.selects:
        with suppress(InputError):  # raised again when columns are selected
            wanted = [names[k] for k in options.pick(names)]
    columns = {name: frame[name].tolist() for name in wanted if frame[name].dtype.kind not in "fiub"}
    texts = {name: [cell if isinstance(cell, str) else None for cell in cells] for name, cells in columns.items()}
    values, notes = read_numerals(texts, point="." if delimiter == "," else None)
    return (frame.assign(**values) if values else frame), notes


def _row_numbers(frame: Any, names: list[str]) -> tuple[str, ...]:
    """A note if the first column is unnamed row numbers, to be dropped; raises if other names are missing or repeated."""
    notes: tuple[str, ...] = ()
    columns = list(frame.columns)
    if names[0] in ("", "Unnamed: 0") and 0 in columns and len(columns) > 1:
        count = frame[0].to_numpy()
        begin = count[0] if count.dtype.kind in "iu" else None
        if begin in (0, 1) and np.array_equal(count, np.arange(begin, begin + count.size)):
            notes = ("first column left out: it has no name and numbers the rows",)
    unnamed = [k for k in columns if not names[k] and not (k == 0 and notes)]
    if unnamed:
        rule = "the first line must contain the names: remove any title above them"
        advice = f"name it, or remove it from the file ({rule})"
        raise _malformed(f"column {unnamed[0] + 1} of {len(names)} has no name; {advice}")
    require_different([names[k] for k in columns])
    return notes


def _from_stan(frame: Any, names: list[str], text: _Text, options: ReadOptions) -> tuple[Table, Any]:
    """One chain of draws, without warm-up and without the sampler's columns, unless the options name them; and its frame."""
    options.refuse("a Stan CSV file", "group", "coords", "chain column")
    require_different(names)
    begin, notes = stan.rows_before_draws(text.comments, len(frame))
    asked = (*(options.var_names or ()), *options.exclude) if options.filter_vars is None else ()
    sampler = [name for name in names if name.endswith("__") and name not in asked]
    flags = frame.iloc[begin:, names.index(stan.DIVERGENT)].to_numpy() if stan.DIVERGENT in names else None
    frame.columns = [stan.variable_name(name) for name in names]
    if sampler:
        frame = frame.drop(columns=sampler)
        some = ", ".join(sampler[:3]) + (", ..." if len(sampler) > 3 else "")
        notes = (f"{len(sampler)} sampler column{'s' * (len(sampler) != 1)} ({some}) left out", *notes)
    # one file is one chain: a column called chain is a variable
    frame = frame.iloc[begin:]
    table = read_frame(frame, options, chains=False)
    diverging = None
    if flags is not None and (flags.dtype.kind not in "iuf" or np.isnan(flags).any()):
        notes += (unknown_divergences(f"{stan.DIVERGENT} has missing values, or others than numbers"),)
    elif flags is not None:
        diverging = (flags != 0)[None]
    return replace(table, chained=True, notes=notes + table.notes, diverging=diverging), frame
