"""The format of a delimited text file, found from its first lines by the reader of text that is in memory."""

import codecs
import os
import re
import struct
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers import stan
from copula_discrepancy.data.readers.files import default_delimiter
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.readers.text import text_table
from copula_discrepancy.data.streams.text_rows import TextFormat, opened, parsed

_HEAD = 2**18  # bytes: thousands of rows, so that columns that begin with missing values show their kind
_STYLES = ((".", None), (",", None), (",", "."), (".", ","))  # decimal and thousands signs that pandas reads
_SEPARATOR_LINE = re.compile(rb"sep=.\r?\n", re.IGNORECASE)


def found_format(path: str) -> TextFormat | None:
    """The format of a file; None if only the reader in memory can read it: Stan's files, UTF-16, formatted numbers."""
    with opened(path) as file:
        head = file.read(_HEAD)
        whole = len(head) < _HEAD or not file.read(1)
    if not whole:
        head = head[: head.rfind(b"\n") + 1]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (b"\r" in head and b"\n" not in head):
        return None
    if not head:
        if not whole:
            raise InputError(f"the first {_HEAD} bytes contain no line end, so this is not a table", "file-format")
        return _empty_format(path, "")
    above = _above(head)
    comments = [line.decode(errors="replace").strip() for line in above if line.startswith(b"#")]
    rest = head[sum(map(len, above)) :]
    header = rest.split(b"\n", 1)[0].decode(errors="replace").removeprefix("\ufeff").strip()
    if comments and stan.is_stan(comments, header.split(",")):
        return None
    try:
        table = text_table(head, ReadOptions(every_kind=True), default_delimiter(path))
    except InputError as error:
        if error.code == "too-few-draws":
            return _empty_format(path, header)
        raise
    skipped = [*above, *([rest.split(b"\n", 1)[0] + b"\n"] if table.named else [])]
    begin = max(sum(map(len, skipped)), len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0)
    rows = [line for line in head[begin:].split(b"\n") if line.strip()]
    row_bytes = max(len(head) - begin, 1) / max(len(rows), 1)
    variables = tuple(str(name) for name in table.frame.columns)
    kinds = {name: _kind(table.frame[name]) for name in variables}
    about_rows = max(int((_bytes(path) - begin) / row_bytes), 1)
    form = TextFormat(
        tuple(table.columns), variables, kinds, table.delimiter, _encoding(head), begin, len(skipped), row_bytes, about_rows,
        compressed=path.lower().endswith(".gz"), quoted=b'"' in head,
    )  # fmt: skip
    styled = _with_style(form, head[begin:], table.frame)
    if styled is None and not whole:
        rule = (
            "the numbers of a file that is read in pieces must be plain, without percent signs, currencies or mixed separators"
        )
        raise InputError(f"{rule}; write them as plain numbers, or save the file as Parquet", "not-numeric")
    return styled


def _above(head: bytes) -> list[bytes]:
    """The lines above the header: comments, blank ones, and the one in which Excel names the separator."""
    lines = head.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True)
    marked = lines[:1] if lines and _SEPARATOR_LINE.fullmatch(lines[0]) else []
    above = [*marked, *takewhile(lambda line: line.startswith(b"#") or not line.strip(), lines[len(marked) :])]
    mark = codecs.BOM_UTF8 if head.startswith(codecs.BOM_UTF8) else b""
    return [mark + above[0], *above[1:]] if above else above


def _empty_format(path: str, header: str) -> TextFormat:
    """The format of a file without rows."""
    names = tuple(name.strip().strip('"') for name in header.split(default_delimiter(path))) if header else ()
    return TextFormat(names, names, {}, default_delimiter(path), "utf-8", 0, 0, 1.0, 0, False, False, empty=True)


def _kind(column: Any) -> str:
    if not column.notna().any():
        return "empty"
    return {"f": "number", "i": "number", "u": "number", "b": "truth value"}.get(column.dtype.kind, "text")


def _encoding(head: bytes) -> str:
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8"  # the mark is above the rows
    try:
        head.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _with_style(form: TextFormat, rows: bytes, frame: Any) -> TextFormat | None:
    """The format with the decimal sign that gives the same numbers as the reader in memory; None if there is none."""
    for decimal, thousands in _STYLES:
        if thousands == form.delimiter or decimal == form.delimiter:
            continue
        styled = replace(form, decimal=decimal, thousands=thousands)
        try:
            own = parsed(rows, styled, None, form.lines)
        except InputError as error:
            if error.code != "not-numeric":
                raise
            continue
        if all(_same(own[name], frame[name]) for name, kind in form.kinds.items() if kind == "number"):
            return styled
    return None


def _same(own: Any, expected: Any) -> bool:
    if own.dtype.kind not in "fiub" or len(own) < len(expected):
        return False
    # rows at the end of a short file may be empty, and only the reader in memory leaves them out
    values, others = own.to_numpy(np.float64)[: len(expected)], expected.to_numpy(np.float64)
    return bool(np.array_equal(values, others, equal_nan=True))


def _bytes(path: str) -> int:
    """The length of a file, uncompressed; the end of a compressed one contains it up to multiples of 4 GiB."""
    size = os.path.getsize(path)
    if not path.lower().endswith(".gz"):
        return size
    with open(path, "rb") as file:
        file.seek(-4, os.SEEK_END)
        stored = int(struct.unpack("<I", file.read(4))[0])
    return max(stored, 2 * size)  # text shrinks at least to half
