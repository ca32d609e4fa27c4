"""Files that are there whole or not at all, and numbers as JSON."""

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from copula_discrepancy.errors import InputError

PARTIAL = ".partial"  # ends the name of a file that is being written


def json_text(content: Any, *, ascii_only: bool = False) -> str:
    """JSON that every reader takes, one line for each pair or row; NaN becomes null, an infinite number "inf" or "-inf"."""

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)

    def lines(value: Any) -> str:
        rows = isinstance(value, list) and value and all(isinstance(item, dict | list) for item in value)
        return "[\n  " + ",\n  ".join(map(line, value)) + "\n ]" if rows else line(value)

    simple = plain(content)
    if not isinstance(simple, dict):
        return lines(simple) + "\n"
    return "{\n " + ",\n ".join(f"{line(key)}: {lines(value)}" for key, value in simple.items()) + "\n}\n"


def plain(value: Any) -> Any:
    """The same without numbers that JSON does not know."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def write_text(path: Path, text: str, way_out: str) -> None:
    """A text file at once or not at all."""
    with written_whole(path, way_out) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def written_whole(path: Path, way_out: str) -> Iterator[Path]:
    """A path beside `path` to write to, moved into place when that went well.

    An InputError, with its way out, where it cannot be written. The file is written under another name first, synced and then
    moved, so a file that is there is whole.
    """
    temporary = path.with_name(f".{path.name[:100]}.{uuid4().hex}{PARTIAL}")  # not the process: threads and hosts may share it
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # or a power cut could leave the new name with nothing behind it
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}; {way_out}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
