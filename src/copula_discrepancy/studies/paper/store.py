"""The folder of a reproduction: finished parts as rows of numbers, and other files written whole."""

import contextlib
import hashlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from copula_discrepancy._core import checkpoint
from copula_discrepancy._core.files import json_text
from copula_discrepancy._core.files import written_whole as plainly_written

FORMAT = 1  # of the files; another one cannot be gone on with
Row = dict[str, Any]


class Store:
    """The parts of one run, found by name; the folder belongs to one version, format and seed."""

    def __init__(self, folder: str | os.PathLike[str], seed: int) -> None:
        studies = files("copula_discrepancy.studies.paper").joinpath("studies.py").read_bytes()
        identity = {
            "format": FORMAT, "version": version("copula-discrepancy"),
            "studies": hashlib.sha256(studies).hexdigest()[:16],  # what a replication measures, between releases too
            "seed": seed,
        }  # fmt: skip
        self._kept = checkpoint.Store(folder, identity)
        self.folder = self._kept.folder

    def read(self, part: str, is_whole: Callable[[Sequence[Row]], bool]) -> list[Row] | None:
        """The rows of a finished part, or None where it has to be done (again): damaged ones give the same numbers again."""
        found = self._kept.read(part)
        try:
            rows = [{key: _number(value) for key, value in row.items()} for row in found]
        except (TypeError, ValueError, AttributeError):
            return None
        return rows if is_whole(rows) else None

    def write(self, part: str, rows: Sequence[Row]) -> None:
        """Keep the rows of a part that is done."""
        self._kept.write(part, list(rows))


def write_json(path: Path, content: Any) -> None:
    """JSON at once or not at all; NaN becomes null, an infinite number "inf" or "-inf"."""
    write_text(path, json_text(content))


def write_text(path: Path, text: str) -> None:
    """A text file at once or not at all, its folder made where needed."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, moved into place when that went well, its folder made where needed."""
    with plainly_written(path, "give another folder with --out") as temporary:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary


def _number(value: Any) -> Any:
    if value is None:
        return math.nan
    return float(value) if isinstance(value, str) else value
