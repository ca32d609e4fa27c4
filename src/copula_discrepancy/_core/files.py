"""Files that are there whole or not at all, and numbers as JSON."""

import contextlib
import errno
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO
from uuid import uuid4

from copula_discrepancy._core.errors import InputError

PARTIAL = ".partial"  # ends the name of a file that is being written
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's share of it, or the largest file allowed


def json_text(content: Any, *, ascii_only: bool = False) -> str:
    """JSON that every reader takes, one line for each pair or row; NaN becomes null, an infinite number "inf" or "-inf"."""
    return "".join(json_chunks(content, ascii_only=ascii_only))


def json_chunks(content: Mapping[str, Any], *, ascii_only: bool = False) -> Iterator[str]:
    """The same piece by piece, so that a table of a million pairs need not be in memory; an iterator's items are rows."""

    def line(value: Any) -> str:
        return json.dumps(plain(value), ensure_ascii=ascii_only, allow_nan=False)

    before = "{\n "
    for key, value in content.items():
        yield f"{before}{line(str(key))}: "
        rows = isinstance(value, Iterator) or (isinstance(value, list) and value and all(map(_is_row, value)))
        if rows:
            mark = "[\n  "
            for row in value:
                yield mark + line(row)
                mark = ",\n  "
            yield "[]" if mark == "[\n  " else "\n ]"
        else:
            yield line(value)
        before = ",\n "
    yield "\n}\n"


def _is_row(value: Any) -> bool:
    return isinstance(value, dict | list)


def plain(value: Any) -> Any:
    """The same without numbers that JSON does not know."""
    if isinstance(value, float):  # most are; and looking for a Mapping takes long
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


@contextlib.contextmanager
def text_file(path: Path, way_out: str, *, replace: bool = True) -> Iterator[TextIO]:
    """A text file to write to, there at once or not at all; what UTF-8 has no code for is written as an escape."""
    with (
        written_whole(path, way_out, replace=replace) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        yield file


@contextlib.contextmanager
def written_whole(path: Path, way_out: str, *, replace: bool = True) -> Iterator[Path]:
    """A path beside `path` to write to, moved into place when that went well.

    An InputError, with its way out, where it cannot be written, or, with replace=False, where a file is there. The file is
    written under another name first, synced and then moved, so a file that is there is whole.
    """
    temporary = path.with_name(f".{path.name[:100]}.{uuid4().hex}{PARTIAL}")  # not the process: threads and hosts may share it
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # or a power cut could leave the new name with nothing behind it
        if replace:
            os.replace(temporary, path)
        else:
            _put_beside(temporary, path)
    except OSError as error:
        room = "make room there, or " if error.errno in _FULL else ""
        raise InputError(f"{path} cannot be written: {error.strerror or error}; {room}{way_out}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _put_beside(temporary: Path, path: Path) -> None:
    """Give a file its name unless another has it, in one step where the file system has links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise InputError(f"{path} has come into being meanwhile, and is kept; give another name, or force=True") from None
    except OSError:
        if os.path.lexists(path):
            raise
        os.replace(temporary, path)
