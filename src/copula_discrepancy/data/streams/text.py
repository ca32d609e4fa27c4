"""Delimited text files, parsed block by block; the format is found from the beginning of each file."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import file_labels, listed
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.blocks import Block, spread_over
from copula_discrepancy.data.streams.columns import UNKNOWN, require_same_kinds, require_shared
from copula_discrepancy.data.streams.failures import failures_named
from copula_discrepancy.data.streams.source import Piece, Source, chosen_names
from copula_discrepancy.data.streams.text_format import found_format
from copula_discrepancy.data.streams.text_rows import TextFormat, opened, parsed

_WINDOWS = 16  # places of a file from which a sample takes consecutive lines
_LINES_READ = 65_536  # at a time, from compressed files


def open_text(paths: Sequence[str], options: ReadOptions) -> Source | None:
    """The rows of text files, one file after the other; None for Stan's files and others that must be read as a whole."""
    labels = file_labels(paths)
    formats: list[TextFormat] = []
    for path, label in zip(paths, labels, strict=True):
        with failures_named(label):
            form = found_format(path)
        if form is None:
            if len(paths) > 1 and formats:
                advice = "save them alike, as plain UTF-8 text with one kind of comments and numbers"
                raise InputError(f"{label} cannot be read in pieces as {labels[0]} can; {advice}", "file-format")
            return None
        formats.append(form)
    filled = [k for k, form in enumerate(formats) if not form.empty]
    if not filled:
        raise InputError(f"{listed(labels, 3)}: no rows, only a header or nothing at all", "too-few-draws")
    order = [filled[0], *(k for k in range(len(paths)) if k != filled[0] and formats[k].names)]
    names = chosen_names(formats[filled[0]].variables, options, "a text file")
    ordered_labels = [labels[k] for k in order]
    require_shared(names, ordered_labels, [formats[k].variables for k in order], options)
    kinds = [{name: formats[k].kinds.get(name, UNKNOWN) for name in names} for k in order]
    require_same_kinds(names, ordered_labels, kinds, kinds)
    pieces: list[Piece] = []
    start: int | None = 0
    for path, label, form in zip(paths, labels, formats, strict=True):
        length = 0 if form.empty else None
        pieces.append(TextPiece(label, length, start, None, os.path.abspath(path), form))
        start = start if form.empty else None
    kind = f"text, {len(paths)} file{'s' * (len(paths) != 1)}"
    size = sum(form.about_rows for form in formats) * len(names) * 8
    return Source(kind, names, tuple(pieces), True, None, 1, "local", False, size)


@dataclass(frozen=True, eq=False)
class TextPiece(Piece):
    """A text file."""

    path: str
    form: TextFormat

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        if self.form.empty:
            return
        first = self.form.lines
        with opened(self.path) as file:
            file.seek(self.form.begin)
            while raw := _records(file, rows):
                frame = parsed(raw, self.form, columns, first)
                first += raw.count(b"\n")
                for begin in range(0, len(frame), rows):
                    yield frame.iloc[begin : begin + rows]

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block | None:
        if self.form.empty:
            return None
        if self.form.compressed or self.form.quoted or os.path.getsize(self.path) <= rows * self.form.row_bytes:
            with opened(self.path) as file:
                file.seek(self.form.begin)
                return spread_over(self._frames(file, columns), rows, rng)
        lines = _lines_at(self.path, self.form, rows, rng)
        return parsed(b"".join(lines), self.form, columns, None) if lines else None

    def _frames(self, file: Any, columns: Sequence[str]) -> Iterator[Block]:
        while raw := _records(file, _LINES_READ):
            yield parsed(raw, self.form, columns, None)


def _records(file: Any, rows: int) -> bytes:
    """The next lines, at most `rows` unless a quoted field spans several; nothing at the end."""
    raw = b"".join(islice(file, rows))
    while raw.count(b'"') % 2 and (line := file.readline()):
        raw += line
    return raw


def _lines_at(path: str, form: TextFormat, rows: int, rng: np.random.Generator) -> list[bytes]:
    """Consecutive lines from places spread over a file that is not compressed, without the one that a place falls into."""
    size = os.path.getsize(path)
    length = max(rows // _WINDOWS, 1)
    width = max(len(form.names) - 1, 0)
    sign = form.delimiter.encode()
    lines: list[bytes] = []
    reach = (size - form.begin) / _WINDOWS
    done = form.begin
    with open(path, "rb") as file:
        for k in range(_WINDOWS):
            # the window fits into its part of the file, so that lines of its end are drawn as well
            room = max(reach - length * form.row_bytes, 0.0)
            place = int(form.begin + k * reach + rng.uniform(0.0, room))
            if place > form.begin:
                file.seek(max(place - 1, done))
                file.readline()
            else:
                file.seek(form.begin)
            found = list(islice(file, length))
            done = file.tell()
            # a field in quotes may contain line ends; the full pass raises for lines that are malformed
            lines += [line for line in found if form.delimiter == " " or line.count(sign) == width]
    return lines
