"""Atomic file writing, and JSON serialisation of numbers."""

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

PARTIAL = ".partial"  # suffix of a file that is being written
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's quota, or the largest file size allowed


def json_text(content: Any, *, ascii_only: bool = False) -> str:
    """Standard JSON, one line for each pair or row; NaN becomes null, an infinite number "inf" or "-inf"."""
    return "".join(json_chunks(content, ascii_only=ascii_only))


def json_chunks(content: Mapping[str, Any], *, ascii_only: bool = False) -> Iterator[str]:
    """`json_text` in pieces, so that a table of a million pairs need not fit into memory; an iterator's items are rows."""

    def line(value: Any) -> str:
        return json.dumps(plain(value), ensure_ascii=ascii_only, allow_nan=False)

    before = "{\n "
    for key, value in content.items():
        yield f"{before}{line(str(key))}: "
        rows = isinstance(value, list) and value and all(isinstance(row, dict | list) for row in value)
        if rows or isinstance(value, Iterator):
            mark = "[\n  "
            for row in value:
                yield mark + line(row)
                mark = ",\n  "
            yield "[]" if mark == "[\n  " else "\n ]"
        else:
            yield line(value)
        before = ",\n "
    yield "\n}\n"


def plain(value: Any) -> Any:
    """`value` with every number that JSON cannot represent replaced."""
    if isinstance(value, float):  # the most frequent case first: isinstance of Mapping is slow
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


@contextlib.contextmanager
def text_file(path: Path, advice: str, *, replace: bool = True, parents: bool = False) -> Iterator[TextIO]:
    """A text file to write to, as in `written_whole`; characters that UTF-8 cannot encode are written as escapes."""
    with (
        written_whole(path, advice, replace=replace, parents=parents) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        yield file


@contextlib.contextmanager
def written_whole(path: Path, advice: str, *, replace: bool = True, parents: bool = False) -> Iterator[Path]:
    """A temporary path next to `path` to write to, synced and renamed at the end: `path` is complete whenever it exists.

    Raises an InputError with the advice if the file cannot be written or, with ``replace=False``, if it exists. With
    ``parents=True`` missing folders are created.
    """
    # not the process id: threads and hosts may share a folder
    temporary = path.with_name(f".{path.name[:100]}.{uuid4().hex}{PARTIAL}")
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # otherwise a power failure could leave an empty file under the new name
        if replace:
            os.replace(temporary, path)
        else:
            _rename_if_free(temporary, path)
    except OSError as error:
        room = "free some space, or " if error.errno in _FULL else ""
        raise InputError(f"{path} cannot be written: {error.strerror or error}; {room}{advice}", "file") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _rename_if_free(temporary: Path, path: Path) -> None:
    """Rename a temporary file to its final name unless that exists; atomic where the file system supports links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        message = f"{path} was created in the meantime and is not overwritten; use another name or force=True"
        raise InputError(message, "file") from None
    except OSError:
        if os.path.lexists(path):
            raise
        os.replace(temporary, path)
