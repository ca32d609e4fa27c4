"""What can be followed, and the follower for it."""

import glob
import os
from collections.abc import Mapping, Sequence
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.following.csv_run import CsvFollower, Selection
from copula_discrepancy.data.following.progress import Follower, Progress
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, ReadOptions

_WILD = "*?["
_WAYS = "CSV files (Stan's, by a list, a pattern or their folder)"


def follow(
    source: Any,
    *,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = DEFAULT_GROUP,
    coords: Mapping[str, Any] | None = None,
    exclude: str | Sequence[str] | None = None,
    chains: int | None = None,
) -> Follower:
    """A follower of draws that a sampler is writing; nothing needs to be there yet.

    `source` is a CSV file, or several: a list, a pattern or a folder, of one chain each, where files may appear later. The
    options are those of `as_draws`; `chains` is the number of chains that the run will have.
    """
    options = ReadOptions.checked(var_names, filter_vars, group, coords, chains, None, exclude)
    items = [source] if isinstance(source, str | os.PathLike) else source
    if isinstance(items, list | tuple) and items and all(isinstance(item, str | os.PathLike) for item in items):
        return _files([os.fsdecode(item) for item in items], options)
    raise InputError(f"source must be {_WAYS}, got {type(source).__name__}: {source!r:.60}")


def _files(paths: list[str], options: ReadOptions) -> Follower:
    repeated = [path for k, path in enumerate(paths) if os.path.realpath(path) in map(os.path.realpath, paths[:k])]
    if repeated:
        raise InputError(f"{repeated[0]} is listed twice; each chain must be a separate file", "file")
    if len(paths) == 1:
        path = paths[0]
        wild = any(sign in path for sign in _WILD) and not os.path.exists(path)
        if (not wild and not os.path.splitext(path)[1]) or os.path.isdir(path):
            return AwaitedFolder(path, options)
    else:
        wild = False
    for path in paths:
        _require_csv(path)
    return CsvFollower(Selection(pattern=paths[0]) if wild else Selection(listed=tuple(paths)), options)


def _require_csv(path: str) -> None:
    lower = path.lower()
    if lower.endswith((".csv", ".txt")):
        return
    if lower.endswith(".gz"):
        raise InputError(f"{path} is compressed, and cannot be read while it grows; write it as .csv", "file-format")
    known = os.path.splitext(path)[1] or "no ending"
    raise InputError(f"{path} has an unknown format ({known}); what can be followed are {_WAYS}", "file-format")


class AwaitedFolder(Follower):
    """Follows what a path without an ending turns out to be: a folder of CSV files."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self._path, self._options = path, options
        self._found: Follower | None = None

    def poll(self) -> Progress:
        """The draws in the folder; none before it exists."""
        if self._found is None:
            if not os.path.lexists(self._path):
                return Progress(waiting_for=f"{self._path} does not exist yet")
            if not os.path.isdir(self._path):
                _require_csv(self._path)
            self._found = CsvFollower(Selection(pattern=os.path.join(glob.escape(self._path), "[!._]*.csv")), self._options)
        return self._found.poll()

    def whole(self) -> Draws:
        """The draws of its files."""
        if self._found is None:
            raise InputError(f"there are no draws: {self._path} does not exist", "too-few-draws")
        return self._found.whole()
