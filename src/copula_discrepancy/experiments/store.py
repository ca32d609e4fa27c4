"""A folder of results that can be left at any moment and gone on with.

Every finished part is one file, and a file that is there is whole.
"""

import contextlib
import hashlib
import json
import math
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from copula_discrepancy import _written
from copula_discrepancy._written import PARTIAL, json_text
from copula_discrepancy.errors import InputError

FORMAT = 1  # of the files; another one cannot be gone on with
Row = dict[str, Any]


class Store:
    """The parts of one run, found by name; the folder belongs to one version, format and seed."""

    def __init__(self, folder: str | os.PathLike[str], seed: int) -> None:
        try:
            self.folder = Path(folder)
        except TypeError:
            raise InputError(f"out must be the path of a folder, got {folder!r:.60}") from None
        studies = files("copula_discrepancy.experiments").joinpath("studies.py").read_bytes()
        self._identity = {
            "format": FORMAT, "version": version("copula-discrepancy"),
            "studies": hashlib.sha256(studies).hexdigest()[:16],  # what a replication measures, between releases too
            "seed": seed,
        }  # fmt: skip
        try:
            self._open()
        except (OSError, ValueError) as error:  # InputError is a ValueError with its own words
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"the folder {str(folder)!r:.80} cannot be used: {error!s:.120}; give another with --out"
            ) from None

    @property
    def _manifest(self) -> Path:
        return self.folder / "run.json"

    def _open(self) -> None:
        if not self._manifest.exists():
            names = {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()
            # a manifest that is there now was written meanwhile, by another process
            if self._manifest.name not in names and any(not name.endswith(PARTIAL) for name in names):
                raise InputError(f"the folder {self.folder} holds other files; give an empty or a new one with --out")
            if self._manifest.name not in names:
                self._write_manifest()
        self._require_own_manifest()

    def _require_own_manifest(self) -> None:
        try:
            found = json.loads(self._manifest.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{self._manifest} cannot be read ({error}); give a new folder with --out") from None
        known = found if isinstance(found, dict) else {}
        differs = [
            f"{key} {known.get(key)!r} there and {value!r} here"
            for key, value in self._identity.items()
            if known.get(key) != value
        ]
        if differs:
            raise InputError(
                f"the folder {self.folder} holds results of another run: {'; '.join(differs)}; give another folder with --out, "
                "or delete this one"
            )

    def _write_manifest(self) -> None:
        packages = {name: version(name) for name in ("numpy", "scipy", "numba", "arviz-stats")}
        write_json(self._manifest, self._identity | {"python": platform.python_version(), "packages": packages})

    def read(self, part: str, is_whole: Callable[[Sequence[Row]], bool]) -> list[Row] | None:
        """The rows of a finished part, or None where it has to be done (again): damaged ones give the same numbers again."""
        try:
            content = json.loads(self._path(part).read_text(encoding="utf-8"))
            rows = [{key: _number(value) for key, value in row.items()} for row in content["rows"]]
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        own = content.get("part") == part and content.get("run") == self._identity
        return rows if own and content.get("sum") == _checksum(rows) and is_whole(rows) else None

    def write(self, part: str, rows: Sequence[Row]) -> None:
        """Keep the rows of a part that is done."""
        if not self._manifest.exists():  # someone deleted the folder meanwhile: what follows can still be gone on with
            self._write_manifest()
        self._require_own_manifest()  # or someone began another run in its place
        write_json(self._path(part), {"part": part, "run": self._identity, "rows": list(rows), "sum": _checksum(rows)})

    def _path(self, part: str) -> Path:
        return self.folder / "parts" / f"{part}.json"


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
    with _written.written_whole(path, "give another folder with --out") as temporary:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary


def _checksum(rows: Sequence[Row]) -> str:
    """Changes with any digit."""
    return hashlib.sha256(json.dumps(_written.plain(list(rows)), sort_keys=True).encode()).hexdigest()


def _number(value: Any) -> Any:
    if value is None:
        return math.nan
    return float(value) if isinstance(value, str) else value
