"""A folder of finished parts of one run; an interrupted run resumes when the call is repeated.

Every finished part is one file, complete whenever it exists. What the run depends on is written to the folder and to every
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
from copula_discrepancy._core.files import PARTIAL, json_chunks, plain, text_file

_PACKAGES = ("numpy", "scipy", "numba", "arviz-stats")


class Store:
    """The finished parts of one run, by name.

    Attributes
    ----------
    folder : Path
        New, empty, or of an earlier call with the same identity.
    identity : mapping
        Everything the parts depend on, as JSON represents it.
    argument, option : str
        Name of the argument that passes the folder, for messages: "out" and "--out".
    """

    def __init__(
        self, folder: str | os.PathLike[str], identity: Mapping[str, Any], *, argument: str = "out", option: str = "--out"
    ) -> None:
        try:
            self.folder = Path(folder)
        except TypeError:
            raise InputError(f"{argument} must be the path of a folder, got {folder!r:.60}") from None
        self.identity, self._option = dict(identity), option
        self._manifest, self._parts = self.folder / "run.json", self.folder / "parts"
        try:
            self._open()
        except InputError:
            raise
        except (OSError, ValueError) as error:  # ValueError: a path with a null character
            message = f"the folder {str(folder)!r:.80} cannot be used: {error!s:.120}; use another one with {option}"
            raise InputError(message, "file") from None

    def _open(self) -> None:
        if not self._manifest.exists():
            names = {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()
            if self._manifest.name not in names:  # otherwise another process has written it meanwhile
                if any(not name.endswith(PARTIAL) for name in names):
                    advice = f"use an empty or a new one with {self._option}"
                    raise InputError(f"the folder {self.folder} contains other files; {advice}", "file")
                self._write_manifest()
        self._require_own_manifest()

    def _require_own_manifest(self) -> None:
        try:
            content = json.loads(self._manifest.read_text(encoding="utf-8"))
        except ValueError as error:
            message = f"{self._manifest} cannot be read ({error}); use a new folder with {self._option}"
            raise InputError(message, "file-format") from None
        saved = content if isinstance(content, dict) else {}
        different = [(key, saved.get(key), value) for key, value in self.identity.items() if saved.get(key) != value]
        if different:
            found = "; ".join(f"{key} {before!r} (saved) and {now!r} (this run)" for key, before, now in different)
            advice = f"use another folder with {self._option}, or delete this one"
            raise InputError(f"the folder {self.folder} contains results of a different run: {found}; {advice}", "file")

    def _write_manifest(self) -> None:
        packages = {name: version(name) for name in _PACKAGES}
        self._write(self._manifest, {"python": platform.python_version(), "packages": packages} | self.identity)

    def names(self) -> Iterator[str]:
        """Names of all parts in the folder, readable or not."""
        return (path.relative_to(self._parts).with_suffix("").as_posix() for path in sorted(self._parts.rglob("*.json")))

    def read(self, part: str) -> Any:
        """The rows of a finished part, or None if it is missing, damaged or from another run."""
        try:
            content = json.loads(self._path(part).read_text(encoding="utf-8"))
            own = content["part"] == part and content["run"] == self.identity
            return content["rows"] if own and content["sum"] == _checksum(content["rows"]) else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, part: str, rows: Any) -> None:
        """Save the rows of a finished part: a list or text, as JSON represents it."""
        if not self._manifest.exists():  # the folder was deleted during the run: what follows can still be resumed
            self._write_manifest()
        self._require_own_manifest()  # another run may have started in its place
        self._write(self._path(part), {"part": part, "run": self.identity, "rows": rows, "sum": _checksum(rows)})

    def _path(self, part: str) -> Path:
        return self._parts / f"{part}.json"

    def _write(self, path: Path, content: Mapping[str, Any]) -> None:
        with text_file(path, f"use another folder with {self._option}", parents=True) as file:
            file.writelines(json_chunks(content))


def _checksum(rows: Any) -> str:
    """A hash that changes with any digit of the rows."""
    return hashlib.sha256(json.dumps(plain(rows), sort_keys=True).encode()).hexdigest()
