"""Draws from files: which files are meant, of which kind they are, and several of them as chains."""

import glob
import gzip
import os
import re
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers.frames import needed_columns, read_frame
from copula_discrepancy.data.readers.labelled import missing_group, read_dataset, read_mapping
from copula_discrepancy.data.readers.request import DEFAULT_GROUP, Request, UnknownExcluded
from copula_discrepancy.data.readers.table import Table, in_parts, joined, require_same_names, stacked
from copula_discrepancy.data.readers.tabular import arrow_frame, read_plain
from copula_discrepancy.data.readers.text import read_text, text_table

_Read = TypeVar("_Read")
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


def read_files(given: Any, request: Request) -> Table:
    """The draws of one file, or of several; a pattern such as 'run_*.csv' stands for its files, and so does a folder.

    Several files are chains in the order given; those of a folder, if they are plain tables, are one table in parts. Parquet
    files of unequal length are parts, too: whoever writes a large table so cuts it where it is convenient.
    """
    items = [given] if isinstance(given, str | os.PathLike) else list(given)
    paths = [path for item in items for path in _expanded(item, alone=len(items) == 1)]
    kinds = {path: _kind(path) for path in paths}
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise InputError(f"{path} is given twice; several files are chains or parts, and each counts once")
        seen.add(real)
    kind = kinds[paths[0]]
    other = next((path for path in paths if kinds[path] != kind), None)
    if other is not None:
        raise InputError(f"files given together must be of one kind, got {paths[0]} and {other}")
    if len(paths) == 1:
        return _read(paths[0], kind, request)
    parts = request.parts
    if parts == "auto" and kind in (*_TEXTS, ".parquet") and len(items) == 1 and _is_folder(items[0]):
        parts = "rows"
    if kind == ".parquet":
        return _several_parquet(paths, parts, request)
    if kind in _TEXTS and parts == "rows":
        return _text_parts(paths, kind, request)
    tables = [_read(path, kind, request) for path in paths]
    # a sampler's files are chains, whatever they are asked for
    together = joined if parts != "rows" or any(table.chained for table in tables) else stacked
    return together(tables, paths)


def _several_parquet(paths: list[str], parts: str, request: Request) -> Table:
    if parts == "auto":
        rows = [_guarded(path, _parquet_rows) for path in paths]
        parts = "rows" if len(set(rows)) > 1 else "chains"
    if parts == "chains":
        return joined([_read(path, ".parquet", request) for path in paths], paths)
    return _as_one([(*_guarded(path, lambda path: _parquet_frame(path, request)), True, ()) for path in paths], paths)


def _text_parts(paths: list[str], kind: str, request: Request) -> Table:
    """Text files as one table in parts; chains of Stan's stay chains."""
    delimiter = "\t" if kind.startswith(".tsv") else ","
    texts = [_guarded(path, lambda path: text_table(_text_of(path), request, request.delimiter or delimiter)) for path in paths]
    chains = [text.stan for text in texts if text.stan is not None]
    if len(chains) == len(texts):
        return joined(chains, paths)
    if chains:
        mixed = [path for path, text in zip(paths, texts, strict=True) if text.stan is None]
        raise InputError(f"files given together must be of one kind, got Stan's CSV and {mixed[0]}, which is none")
    found = []
    for path, text in zip(paths, texts, strict=True):
        names = [str(name) for name in text.frame.columns]
        places, settled = _guarded(path, lambda _, names=names, text=text: needed_columns([], names, text.request))  # type: ignore[misc]
        found.append((text.frame.iloc[:, places], settled, text.named, text.notes))
    return _as_one(found, paths)


def _as_one(parts: list[tuple[Any, Request, bool, tuple[str, ...]]], paths: list[str]) -> Table:
    """Frames as one table, rows one after another; what its columns hold is decided for the whole."""
    import pandas as pd

    first, request, named, _ = parts[0]
    names = [str(name) for name in first.columns]
    for (frame, *_), path in zip(parts, paths, strict=True):
        require_same_names(names, [str(name) for name in frame.columns], paths[0], path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas', about the type of a column that is empty in one of them
        whole = pd.concat([frame[names] for frame, *_ in parts if len(frame)] or [first])
    told: dict[str, list[str]] = {}
    for (*_, notes), path in zip(parts, paths, strict=True):
        for note in notes:
            told.setdefault(note, []).append(path)
    notes = tuple(note if len(where) == len(paths) else f"{_some(where)}: {note}" for note, where in told.items())
    table = _guarded(_some(paths), lambda _: read_frame(whole, request))
    return replace(table, named=named, notes=(*notes, in_parts(len(paths)), *table.notes))


def _some(paths: list[str]) -> str:
    return paths[0] + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")


def _expanded(given: Any, *, alone: bool) -> list[str]:
    """The file meant, or the files a pattern or a folder stands for, with run_2 before run_10."""
    path = _as_text(given)
    if _is_folder(path):
        if not alone:
            raise InputError(f"{path} is a directory; give it alone and by its name, or the files in it")
        return _inside(path)
    if not isinstance(given, str) or not any(sign in path for sign in "*?[") or _exists(path):
        return [path]
    with suppress(ValueError, re.error, OSError):  # as in a name that no file can have
        found = glob.glob(path)
        if found:
            return sorted(found, key=_natural)
    raise InputError(f"no file matches {path!r}")


def _inside(folder: str) -> list[str]:
    """The files in a folder, but for hidden ones and those that programs leave behind, such as _SUCCESS."""
    try:
        names = sorted(os.listdir(folder), key=_natural)
    except OSError as error:
        raise InputError(f"{folder}: it cannot be read ({error.strerror})") from None
    if "_delta_log" in names:
        raise InputError(f"{folder} is a Delta table, whose files are not all part of it; read it with its library first")
    paths = [os.path.join(folder, name) for name in names if not name.startswith((".", "_"))]
    inner = next((path for path in paths if os.path.isdir(path)), None)
    if inner is not None:
        raise InputError(f"{folder} has a folder in it, {inner}; give a folder of files, or a pattern such as '{inner}/*.csv'")
    if not paths:
        raise InputError(f"{folder} is an empty directory; it must hold files that end in {', '.join(_READERS)}")
    endings = {path: next((e for e in _READERS if path.lower().endswith(e)), os.path.splitext(path)[1]) for path in paths}
    other = next((path for path in paths if endings[path] != endings[paths[0]]), None)
    if other is not None:
        raise InputError(
            f"{folder} holds files of two kinds, {os.path.basename(paths[0])} and {os.path.basename(other)}; give those of one "
            f"kind, for example {os.path.join(folder, '*' + endings[paths[0]])!r}"
        )
    return paths


def _as_text(given: Any) -> str:
    path = os.fspath(given)
    return os.fsdecode(path) if isinstance(path, bytes) else path


def _is_folder(given: Any) -> bool:
    try:
        return os.path.isdir(_as_text(given))
    except ValueError:  # a NUL character
        return False


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:  # a NUL character
        return False


def _natural(path: str) -> tuple[Any, ...]:
    """Sorts numbers inside names by value."""
    return (*(int(part) if k % 2 else part for k, part in enumerate(re.split(r"([0-9]+)", path))), path)


def _kind(path: str) -> str:
    """The ending that says how to read the file."""
    if not _exists(path):
        raise InputError(f"there is no file called {path!r}")
    if os.path.isdir(path):
        raise InputError(f"{path} is a directory; give it alone and by its name, or the files in it")
    name = os.path.basename(path).lower()
    for ending in _READERS:
        if name.endswith(ending):
            return ending
    if name.endswith(_SPREADSHEETS):
        raise InputError(f"{path} is a spreadsheet; save its sheet as CSV (names in the first row, one column per variable)")
    raise InputError(f"{path} is of an unknown kind; files must end in {', '.join(_READERS)}")


def _read(path: str, kind: str, request: Request) -> Table:
    return _guarded(path, lambda path: _READERS[kind](path, request))


def _guarded(path: str, read: Callable[[str], _Read]) -> _Read:
    """What is read of one file; every error names the file."""
    try:
        return read(path)
    except UnknownExcluded as error:
        raise UnknownExcluded(error.name, f"{path}: {error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except PermissionError:
        raise InputError(f"{path}: there is no permission to read it") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise InputError(f"{path}: it is cut off or damaged; write it again") from None
    except OSError as error:
        raise InputError(f"{path}: it cannot be read ({error.strerror or _first_line(error)})") from None


def _read_csv(path: str, request: Request) -> Table:
    return read_text(_text_of(path), request, request.delimiter or ",")


def _read_tsv(path: str, request: Request) -> Table:
    return read_text(_text_of(path), request, request.delimiter or "\t")


def _text_of(path: str) -> bytes:
    opened: Any = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        return bytes(file.read())


def _read_parquet(path: str, request: Request) -> Table:
    return read_frame(*_parquet_frame(path, request))


def _parquet_frame(path: str, request: Request) -> tuple[Any, Request]:
    """Its needed columns, found by its schema, as a frame; the others are never read."""
    request.refuse("a parquet file", "group", "coords", "delimiter")
    with _parquet(path) as file:

        def load(names: list[str]) -> Any:
            return file.read(columns=names).select(names)

        return arrow_frame(file.schema_arrow, load, request)


def _parquet_rows(path: str) -> int:
    with _parquet(path) as file:
        return int(file.metadata.num_rows)


@contextmanager
def _parquet(path: str) -> Iterator[Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError('reading parquet needs pyarrow: pip install "copula-discrepancy[parquet]"') from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except InputError:
        raise
    except (pyarrow.ArrowException, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"it cannot be read as a parquet file: {_first_line(error)}") from None


def _read_npy(path: str, request: Request) -> Table:
    with open(path, "rb") as file:
        if file.read(2) == b"PK":  # NumPy would read it, and leave it open
            raise InputError("it is an archive of arrays, not one array; let its name end in .npz")
    table = read_plain(_loaded(path, lambda: np.load(path, allow_pickle=False, mmap_mode="r")), request)
    return replace(table, values=np.array(table.values))  # of the file, only what was selected; nothing stays open


def _read_npz(path: str, request: Request) -> Table:
    def members() -> dict[str, Any]:
        # opened here: NumPy leaves a damaged archive open
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    arrays = _loaded(path, members)
    if not arrays:
        raise InputError("it holds no arrays")
    return read_plain(next(iter(arrays.values())), request) if len(arrays) == 1 else read_mapping(arrays, request)


_DAMAGED = (
    ValueError, EOFError, OSError, LookupError, SyntaxError, TypeError, AttributeError, RuntimeError, AssertionError,
    OverflowError, MemoryError, struct.error, zipfile.BadZipFile, zlib.error, tokenize.TokenError,
)  # what NumPy, zipfile, scipy and h5netcdf raise for bytes that are not theirs, or for a length that is not meant  # fmt: skip


def _loaded(path: str, load: Callable[[], Any]) -> Any:
    """What NumPy reads, never unpickled."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, about headers of Python 2 and escapes in damaged ones
            return load()
    except (FileNotFoundError, PermissionError):
        raise
    except _DAMAGED as error:
        if "pickle" in str(error) or "Python object" in str(error):
            raise InputError(
                "it holds Python objects, or is no file of arrays; it is never unpickled: save plain arrays of numbers"
            ) from None
        raise InputError(f"it cannot be read as NumPy arrays: {_first_line(error)}") from None


def _read_netcdf(path: str, request: Request) -> Table:
    """The requested group of a netCDF file, or all of one without groups; only the selected variables are read."""
    import xarray as xr

    with open(path, "rb") as file:
        classic = file.read(3) == b"CDF"  # netCDF 3 has no groups, and no HDF5 inside
    engine: Any = "scipy" if classic else "h5netcdf"
    groups = [] if classic else _groups(path)
    group = request.group if request.group in groups else None
    try:
        with xr.open_dataset(path, group=group, engine=engine) as dataset:
            if group is None and (request.group != DEFAULT_GROUP or (groups and "draw" not in dataset.dims)):
                raise InputError(missing_group(request.group, groups))
            return read_dataset(dataset, request)
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(f"it cannot be read as a netCDF file: {_first_line(error)}") from None


def _groups(path: str) -> list[str]:
    import h5py

    found: list[str] = []
    try:
        with h5py.File(path, "r") as file:
            file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Group) else None)
    except (OSError, RuntimeError, KeyError) as error:
        raise InputError(f"it is not a netCDF file, or is damaged: {_first_line(error)}") from None
    return found


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


_READERS: dict[str, Callable[[str, Request], Table]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".txt": _read_csv,
    ".tsv": _read_tsv,
    ".tsv.gz": _read_tsv,
    ".parquet": _read_parquet,
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".nc": _read_netcdf,
}
_TEXTS = (".csv", ".csv.gz", ".txt", ".tsv", ".tsv.gz")
