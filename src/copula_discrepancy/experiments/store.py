"""A folder of results that can be left at any moment and gone on with.

Every finished part is one file, written under another name first and then moved into place, so a file that is there is whole.
"""

import contextlib
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from copula_discrepancy.errors import InputError

FORMAT = 1  # of the files; another one cannot be gone on with
Row = dict[str, Any]


class Store:
    """The parts of one run, found by name; the folder belongs to one version, format and seed."""

    def __init__(self, folder: str | os.PathLike[str], seed: int) -> None:
        self.folder = Path(folder)
        self._identity = {"format": FORMAT, "version": version("copula-discrepancy"), "seed": seed}
        self._open()

    def _open(self) -> None:
        manifest = self.folder / "run.json"
        if not manifest.exists():
            with contextlib.suppress(OSError):
                if self.folder.is_dir() and any(self.folder.iterdir()):
                    raise InputError(f"the folder {self.folder} holds other files; give an empty or a new one with --out")
            packages = {name: version(name) for name in ("numpy", "scipy", "numba", "arviz-stats")}
            write_json(manifest, self._identity | {"python": platform.python_version(), "packages": packages})
            return
        try:
            found = json.loads(manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{manifest} cannot be read ({error}); give a new folder with --out") from None
        differs = [
            f"{key} {found.get(key) if isinstance(found, dict) else None!r} there and {value!r} here"
            for key, value in self._identity.items()
            if not isinstance(found, dict) or found.get(key) != value
        ]
        if differs:
            raise InputError(
                f"the folder {self.folder} holds results of another run: {'; '.join(differs)}; give another folder with "
                "--out, or "
                "delete this one"
            )

    def read(self, part: str) -> list[Row] | None:
        """The rows of a finished part, or None where it has to be done (again)."""
        path = self._path(part)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return None  # not ours, or damaged from outside: computing it again gives the same numbers
        if not isinstance(content, dict) or content.get("part") != part or not isinstance(content.get("rows"), list):
            return None
        return [{key: math.nan if value is None else value for key, value in row.items()} for row in content["rows"]]

    def write(self, part: str, rows: Sequence[Row]) -> None:
        """Keep the rows of a part that is done."""
        write_json(self._path(part), {"part": part, "rows": list(rows)})

    def _path(self, part: str) -> Path:
        return self.folder / "parts" / f"{part}.json"


def write_json(path: Path, content: Any) -> None:
    """JSON at once or not at all; NaN becomes null."""
    write_text(path, json.dumps(_plain(content), indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """A text file at once or not at all, its folder made where needed."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def written_whole(path: Path) -> Any:
    """A path beside `path` to write to, moved into place when that went well; an InputError where it cannot be written."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}; give another folder with --out") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
