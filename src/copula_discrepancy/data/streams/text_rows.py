"""Lines of a delimited text file as frames: every line must have as many values as the header, and columns keep their kind."""

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers.text import _MISSING, _exact


@dataclass(frozen=True)
class TextFormat:
    """How a text file is parsed, and what its first rows contain.

    `names` are those of all columns by position, `variables` those to read, and `kinds` what they contain: number, truth value
    or text. The rows begin after `begin` bytes and `lines` lines; `row_bytes` is the mean length of the first ones.
    """

    names: tuple[str, ...]
    variables: tuple[str, ...]
    kinds: Mapping[str, str]
    delimiter: str
    encoding: str
    begin: int
    lines: int
    row_bytes: float
    about_rows: int
    compressed: bool
    quoted: bool
    decimal: str = "."
    thousands: str | None = None
    empty: bool = False


def opened(path: str) -> Any:
    """The file's bytes, uncompressed."""
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")


def parsed(raw: bytes, form: TextFormat, columns: Sequence[str] | None, first: int | None) -> Any:
    """Lines as a frame with these columns, by default all; `first` lines precede them in the file, if that is known."""
    import pandas as pd

    _require_even(raw, form, first)
    names = form.variables if columns is None else list(columns)
    places = {name: form.names.index(name) for name in names}
    texts = {place: str for name, place in places.items() if form.kinds.get(name) == "text"}
    try:
        frame = pd.read_csv(
            io.BytesIO(raw), sep=r"\s+" if form.delimiter == " " else form.delimiter, header=None,
            names=list(range(len(form.names))), usecols=list(places.values()), index_col=False, skipinitialspace=True,
            encoding=form.encoding, na_values=_MISSING, decimal=form.decimal, thousands=form.thousands, dtype=texts,
            engine="c", low_memory=False, **_exact(pd.__version__),
        )  # fmt: skip
    except UnicodeDecodeError:
        where = "" if first is None else f" (after line {first})"
        raise InputError(f"the file is not UTF-8 text{where}; save it as UTF-8", "file-format") from None
    except pd.errors.EmptyDataError:  # blank lines only
        return pd.DataFrame({name: np.empty(0) for name in names})
    except (pd.errors.ParserError, csv.Error, OverflowError) as error:
        raise InputError(f"the file cannot be read as a table: {error}".strip(), "file-format") from None
    frame = frame[list(places.values())].set_axis(names, axis=1)
    _require_numbers(frame, form, first)
    return frame


def _require_even(raw: bytes, form: TextFormat, first: int | None) -> None:
    """Raise if a line has more or fewer values than the header: pandas fills short ones with missing values."""
    counts = _counts(raw, form)
    wrong = np.flatnonzero((counts != len(form.names)) & (counts > 0))
    if not len(wrong):
        return
    count = int(counts[wrong[0]])
    line = "a line" if first is None else f"line {first + wrong[0] + 1}"
    last = "; the file may be incomplete" if wrong[0] == len(counts) - 1 and count < len(form.names) else ""
    found = f"{line} has {count} value{'s' * (count != 1)}, but the first row has {len(form.names)}{last}"
    raise InputError(found, "file-format")


def _counts(raw: bytes, form: TextFormat) -> NDArray[np.int64]:
    """The number of values in each line, or in each record if some are in quotes; 0 for blank ones, which pandas skips."""
    if form.delimiter == " ":
        return np.array([len(line.split()) for line in raw.splitlines()], np.int64)
    if b'"' in raw:
        text = io.StringIO(raw.decode(form.encoding, "replace"), newline="")
        rows = csv.reader(text, delimiter=form.delimiter, skipinitialspace=True)
        return np.array([len(fields) if len(fields) != 1 or fields[0].strip() else 0 for fields in rows], np.int64)
    # counting line by line in Python would take a third of the time of parsing
    signs = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(signs == ord("\n"))
    if not raw.endswith(b"\n"):
        ends = np.append(ends, len(raw))
    counts = np.diff(np.searchsorted(np.flatnonzero(signs == ord(form.delimiter)), ends), prepend=0) + 1
    begins = np.append(0, ends[:-1] + 1)
    for k in np.flatnonzero(counts == 1):
        if not raw[begins[k] : ends[k]].strip():
            counts[k] = 0
    return counts


def _require_numbers(frame: Any, form: TextFormat, first: int | None) -> None:
    """Raise if a column that began with numbers contains text."""
    for name in frame.columns:
        column = frame[name]
        if form.kinds.get(name) != "number" or column.dtype.kind in "fiub":
            continue
        for k, cell in enumerate(column.tolist()):
            if isinstance(cell, str) and not _is_number(cell, form):
                where = "" if first is None else f" near line {first + k + 1}"
                rule = f"column {name} begins with numbers but contains {cell!r:.40}{where}"
                raise InputError(f"{rule}; correct it, or leave the cell empty if the value is missing", "not-numeric")


def _is_number(cell: str, form: TextFormat) -> bool:
    try:
        float(cell.replace(form.thousands or " ", "").replace(form.decimal, "."))
    except ValueError:
        return False
    return True
