"""A folder that holds the finished parts of one run: left at any moment, it can be gone on with by the same call.

Every finished part is one file, and a file that is there is whole. What the run depends on stands in the folder and in every
file, so that results of different runs are never mixed.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import PARTIAL, json_text, plain, written_whole

_PACKAGES = ("numpy", "scipy", "numba", "arviz-stats")


class Store:
    """The parts of one run, found by name.

    Attributes
    ----------
    folder : Path
        New, empty, or of an earlier call with the same identity.
    identity : mapping
        All that the parts depend on, as JSON has it.
    argument, option : str
        What the folder is called where it is given, for messages: "out" and "--out".
    """

    def __init__(
        self, folder: str | os.PathLike[str], identity: Mapping[str, Any], *, argument: str = "out", option: str = "--out"
    ) -> None:
        try:
            self.folder = Path(folder)
        except TypeError:
            raise InputError(f"{argument} must be the path of a folder, got {folder!r:.60}") from None
        self.identity, self._option = dict(identity), option
        try:
            self._open()
        except (OSError, ValueError) as error:  # InputError is a ValueError with its own words
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"the folder {str(folder)!r:.80} cannot be used: {error!s:.120}; give another with {option}"
            ) from None

    @property
    def _manifest(self) -> Path:
        return self.folder / "run.json"

    @property
    def _parts(self) -> Path:
        return self.folder / "parts"

    def _open(self) -> None:
        if not self._manifest.exists():
            names = {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()
            # a manifest that is there now was written meanwhile, by another process
            if self._manifest.name not in names and any(not name.endswith(PARTIAL) for name in names):
                raise InputError(f"the folder {self.folder} holds other files; give an empty or a new one with {self._option}")
            if self._manifest.name not in names:
                self._write_manifest()
        self._require_own_manifest()

    def _require_own_manifest(self) -> None:
        try:
            found = json.loads(self._manifest.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{self._manifest} cannot be read ({error}); give a new folder with {self._option}") from None
        known = found if isinstance(found, dict) else {}
        differs = [
            f"{key} {known.get(key)!r} there and {value!r} here"
            for key, value in self.identity.items()
            if known.get(key) != value
        ]
        if differs:
            raise InputError(
                f"the folder {self.folder} holds results of another run: {'; '.join(differs)}; give another folder with "
                f"{self._option}, or delete this one"
            )

    def _write_manifest(self) -> None:
        packages = {name: version(name) for name in _PACKAGES}
        self._write(self._manifest, {"python": platform.python_version(), "packages": packages} | self.identity)

    def names(self) -> Iterator[str]:
        """The parts that are there, whole or not."""
        return (path.relative_to(self._parts).with_suffix("").as_posix() for path in sorted(self._parts.rglob("*.json")))

    def read(self, part: str) -> Any:
        """The rows of a finished part, or None where it has to be done (again): damaged, or of another run."""
        try:
            content = json.loads(self._path(part).read_text(encoding="utf-8"))
            own = content["part"] == part and content["run"] == self.identity
            return content["rows"] if own and content["sum"] == _checksum(content["rows"]) else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, part: str, rows: Any) -> None:
        """Keep the rows of a part that is done, a list or text as JSON has it."""
        if not self._manifest.exists():  # someone deleted the folder meanwhile: what follows can still be gone on with
            self._write_manifest()
        self._require_own_manifest()  # or someone began another run in its place
        self._write(self._path(part), {"part": part, "run": self.identity, "rows": rows, "sum": _checksum(rows)})

    def _path(self, part: str) -> Path:
        return self._parts / f"{part}.json"

    def _write(self, path: Path, content: Any) -> None:
        with written_whole(path, f"give another folder with {self._option}") as temporary:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json_text(content), encoding="utf-8")


def _checksum(rows: Any) -> str:
    """Changes with any digit."""
    return hashlib.sha256(json.dumps(plain(rows), sort_keys=True).encode()).hexdigest()
