"""What can be followed, and the follower for it."""

import glob
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.following.csv_run import CsvFollower, Selection
from copula_discrepancy.data.following.generator import GeneratorFollower
from copula_discrepancy.data.following.progress import Follower, Progress
from copula_discrepancy.data.following.replaced import ENDINGS, ReplacedFollower
from copula_discrepancy.data.following.sampler import SamplerFollower, is_background_sampler
from copula_discrepancy.data.readers.files import is_zarr
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, ReadOptions

_WILD = "*?["
_TEXTS = (".csv", ".txt")
_FILES = "CSV files (Stan's, by name, a list, a pattern or their folder), netCDF files and Zarr stores"
_OBJECTS = "nutpie's sampler (blocking=False), PyMC's ZarrTrace and iterators of blocks"


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
    """A follower of draws that a sampler is writing; a path need not exist yet.

    `source` is one of

    - CSV files, Stan's or plain ones, that grow, of one chain each: a path, a list, a pattern, or a folder, where files may
      appear later;
    - a netCDF file, or .npz or .npy, that is replaced by one with more draws; or a list of them;
    - a Zarr store that nutpie or PyMC writes, by its path, or PyMC's ``ZarrTrace``;
    - nutpie's sampler, from ``sample(blocking=False)``;
    - an iterator whose items are further draws of the same chains, in any form that `as_draws` reads.

    The options are those of `as_draws`; for CSV files `chains` is the number of files that the run will have.
    Without it, files of a pattern or folder that are all complete are the whole run once none has changed for ten seconds.
    """
    options = ReadOptions.checked(var_names, filter_vars, group, coords, chains, None, exclude)
    if {"chain", "draw"} & set(options.coords or ()):
        raise InputError(
            "coords selects chains or draws, but those of a run that goes on are not known; select variables by it"
        )
    items = [source] if isinstance(source, str | os.PathLike) else source
    if isinstance(items, list | tuple) and items and all(isinstance(item, str | os.PathLike) for item in items):
        return _of_files([os.fsdecode(item) for item in items], options)
    if is_background_sampler(source):
        return SamplerFollower(source, options)
    if callable(getattr(type(source), "split_warmup_groups", None)) and hasattr(source, "root"):
        return _of_stores([_path_of_trace(source)], options)
    if isinstance(source, Iterator) and not isinstance(source, io.IOBase):
        return GeneratorFollower(source, options)
    raise InputError(f"source must be {_FILES}, {_OBJECTS}, got {type(source).__name__}: {source!r:.60}")


def _of_files(paths: list[str], options: ReadOptions) -> Follower:
    if "" in paths:
        raise InputError("a path must not be empty", "file")
    patterns = [path for path in paths if _is_pattern(path)]
    if patterns and len(paths) > 1:
        found = f"{patterns[0]} is a pattern, which must be passed alone, got {len(paths)} paths"
        raise InputError(f"{found}; list all files", "file")
    real = [os.path.realpath(path) for path in paths]
    repeated = next((path for k, path in enumerate(paths) if real[k] in real[:k]), None)
    if repeated is not None:
        raise InputError(f"{repeated} is listed twice; each chain must be a separate file", "file")
    kinds = [_kind(path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise InputError(f"files followed together must have the same format, got {paths[0]} and {path}", "file")
    if kinds[0] == "zarr":
        return _of_stores(paths, options)
    if kinds[0] == "folder":
        if len(paths) > 1:
            raise InputError(f"{paths[0]} is a folder, or has no known ending, and must be passed alone", "file")
        return FolderFollower(paths[0], options)
    if kinds[0] == "replaced":
        return ReplacedFollower(paths, options)
    wild = len(paths) == 1 and _is_pattern(paths[0])
    return CsvFollower(Selection(pattern=paths[0]) if wild else Selection(listed=tuple(paths)), options)


def _of_stores(paths: list[str], options: ReadOptions) -> Follower:
    from copula_discrepancy.data.following.zarr_store import ZarrFollower

    if len(paths) > 1:
        raise InputError(f"{paths[0]} is a Zarr store, which has all chains, and must be passed alone", "file")
    return ZarrFollower(paths[0], options)


def _is_pattern(path: str) -> bool:
    return any(sign in path for sign in _WILD) and not os.path.exists(path)


def _kind(path: str) -> str:
    """What a path is or will be, from its name if it does not exist yet."""
    lower = path.lower().rstrip("/" + os.sep)
    if is_zarr(path) or lower.endswith(".zarr"):
        return "zarr"
    if os.path.isdir(path):
        return "folder"
    if lower.endswith(_TEXTS):
        return "csv"
    if lower.endswith(ENDINGS):
        if _is_pattern(path):
            raise InputError(f"{path} is a pattern, which is for CSV files; list the files", "file")
        return "replaced"
    if not os.path.splitext(lower)[1] and not _is_pattern(path) and not os.path.exists(path):
        return "folder"
    if _is_pattern(path) and not os.path.splitext(lower)[1]:
        found = sorted(glob.glob(path))
        others = [name for name in found if not name.lower().endswith(_TEXTS)]
        if found and not others:
            return "csv"
        matches = f"matches {others[0]}" if others else "does not tell what its files are"
        raise InputError(f"{path} {matches}; use a pattern that ends with .csv", "file")
    if lower.endswith(".gz"):
        raise InputError(f"{path} is compressed, and cannot be read while it grows; write it as .csv", "file-format")
    raise InputError(f"{path} has an unknown format; what can be followed are {_FILES}", "file-format")


def _path_of_trace(trace: Any) -> str:
    """The folder of PyMC's trace, in any of zarr's versions."""
    store = getattr(trace.root, "store", None)
    for name in ("path", "root"):
        path = getattr(store, name, None)
        if isinstance(path, str | os.PathLike) and os.fspath(path):
            return os.fsdecode(path)
    found = f"the trace is stored in a {type(store).__name__}, which has no folder"
    raise InputError(f"{found}; give ZarrTrace a store in a folder, and pass that", "file")


class FolderFollower(Follower):
    """Follows what a folder, or a path without an ending, turns out to be: a folder of CSV files, or a Zarr store."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self._path, self._options = path, options
        self._inside: Follower | None = None

    def poll(self) -> Progress:
        """The draws in the folder; none while nothing in it tells what it will hold."""
        if self._inside is None:
            if not os.path.exists(self._path):
                return Progress(waiting_for=f"{self._path} does not exist yet")
            if not os.path.isdir(self._path):
                raise InputError(f"{self._path} has an unknown format; what can be followed are {_FILES}", "file-format")
            if is_zarr(self._path):
                self._inside = _of_stores([self._path], self._options)
            else:
                files = CsvFollower(
                    Selection(pattern=os.path.join(glob.escape(self._path), "[!._]*.csv"), folder=self._path), self._options
                )
                progress = files.poll()
                self._inside = files if progress.labels else None
                return progress
        return self._inside.poll()

    def whole(self) -> Draws:
        """The draws of its files."""
        if self._inside is None:
            raise InputError(f"there are no draws in {self._path} yet", "too-few-draws")
        return self._inside.whole()
