"""A text file as cells that can be exchanged: everything else, to the last character, stays as it was."""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SEPARATOR_LINE = re.compile(r"sep=.\r?\n", re.IGNORECASE)  # Excel's
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")
_BLANKS = re.compile(r'"(?:[^"]|"")*"|[^ \t\r\n]+')


@dataclass(frozen=True)
class Cells:
    """The rows of a text file as cells, with what stands between them.

    Row k is ``between[k]``, which ends where its first cell begins, then its cells, joined by the delimiter, or, if that is a
    blank, by ``gaps[k]``; `tail` follows the last row.
    """

    rows: list[list[str]]
    between: list[str]
    tail: str
    delimiter: str
    gaps: list[list[str]] | None
    encoding: str
    mark: bytes

    @classmethod
    def of(cls, raw: bytes, delimiter: str) -> "Cells":
        """The cells of a file, uncompressed; rows are those that the reader of text files finds, the header included."""
        text, encoding, mark = _decoded(raw)
        rows: list[list[str]] = []
        between: list[str] = []
        gaps: list[list[str]] | None = [] if delimiter == " " else None
        end = 0
        for begin, stop in _records(text, delimiter):
            if gaps is not None:
                cells = list(_BLANKS.finditer(text, begin, stop))
                rows.append([cell[0] for cell in cells])
                gaps.append([text[a.end() : b.start()] for a, b in pairwise(cells)])
                begin, stop = cells[0].start(), cells[-1].end()
            else:
                rows.append(_split(text[begin:stop], delimiter))
            between.append(text[end:begin])
            end = stop
        return cls(rows, between, text[end:], delimiter, gaps, encoding, mark)

    def column(self, column: int, rows: Sequence[int]) -> NDArray[Any]:
        """The cells of a column, in these rows."""
        cells = np.empty(len(rows), object)
        cells[:] = [self.rows[row][column] for row in rows]
        return cells

    def replaced(self, columns: Mapping[int, NDArray[Any]], rows: Sequence[int]) -> bytes:
        """The contents of the file with these columns, by their number, in these rows."""
        cells = [row.copy() for row in self.rows]
        for column, values in columns.items():
            for number, value in zip(rows, values, strict=True):
                cells[number][column] = value
        pieces: list[str] = []
        for k, (before, row) in enumerate(zip(self.between, cells, strict=True)):
            pieces.append(before)
            if self.gaps is None:
                pieces.append(self.delimiter.join(row))
            else:
                pieces.append(row[0])
                for gap, cell in zip(self.gaps[k], row[1:], strict=True):
                    pieces += (gap, cell)
        return self.mark + "".join((*pieces, self.tail)).encode(self.encoding)


def _decoded(raw: bytes) -> tuple[str, str, bytes]:
    """The text, its encoding and its byte order mark, decided as by the reader of text files."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF8, "utf-8")):
        if raw.startswith(mark):
            try:
                return raw[len(mark) :].decode(encoding), encoding, mark
            except UnicodeDecodeError:
                break
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    try:
        return raw[len(mark) :].decode("utf-8"), "utf-8", mark
    except UnicodeDecodeError:
        return raw[len(mark) :].decode("cp1252"), "cp1252", mark


def _records(text: str, delimiter: str) -> Iterator[tuple[int, int]]:
    """Begin and end of every row, without its line ending; comments and blank lines are not rows."""
    separator = _SEPARATOR_LINE.match(text)
    place = separator.end() if separator else 0
    commented = _begins_with_comments(text, place)
    quoted = '"' in text
    field = re.compile(rf'[ ]*"(?:[^"]|"")*"[^{re.escape(delimiter)}\r\n]*|[^{re.escape(delimiter)}\r\n]*')
    while place < len(text):
        line = _LINE.match(text, place)
        assert line is not None  # it matches any text
        if (commented and text[place] == "#") or _is_blank(line[0], delimiter):
            place = line.end()
            continue
        end = place
        if quoted and delimiter != " " and '"' in line[0]:  # a quoted cell may contain line endings
            while True:
                cell = field.match(text, end)
                assert cell is not None  # it matches an empty cell
                end = cell.end()
                if text[end : end + 1] != delimiter:
                    break
                end += 1
        else:
            end = place + len(line[0].rstrip("\r\n"))
        yield place, end
        rest = _LINE.match(text, end)
        place = len(text) if rest is None else rest.end()


def _begins_with_comments(text: str, place: int) -> bool:
    """Whether comments stand above the first row; only then are lines that begin with # comments, as in the reader."""
    while place < len(text):
        line = _LINE.match(text, place)
        assert line is not None  # it matches any text
        if text[place] == "#":
            return True
        if line[0].strip():
            return False
        place = line.end()
    return False


def _is_blank(line: str, delimiter: str) -> bool:
    return not line.strip(" \r\n" if delimiter == "\t" else None)


def _split(record: str, delimiter: str) -> list[str]:
    """The cells of a row, with their quotes and blanks."""
    if '"' not in record:
        return record.split(delimiter)
    field = re.compile(rf'[ ]*"(?:[^"]|"")*"[^{re.escape(delimiter)}]*|[^{re.escape(delimiter)}]*')
    cells, place = [], 0
    while True:
        cell = field.match(record, place)
        assert cell is not None  # it matches an empty cell
        cells.append(cell[0])
        place = cell.end() + 1
        if place > len(record):
            return cells
