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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from copula_discrepancy._sources.arrays import read_array
from copula_discrepancy._sources.frames import read_frame
from copula_discrepancy._sources.labelled import missing_group, read_dataset, read_mapping
from copula_discrepancy._sources.request import DEFAULT_GROUP, Request
from copula_discrepancy._sources.table import Table, joined
from copula_discrepancy._sources.text import read_text
from copula_discrepancy.errors import InputError

_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


def read_files(given: Any, request: Request) -> Table:
    """The draws of one file, or of several as chains in the order given; a pattern such as 'run_*.csv' stands for its files."""
    paths = [path for item in ([given] if isinstance(given, str | os.PathLike) else given) for path in _expanded(item)]
    kinds = {path: _kind(path) for path in paths}
    real = [os.path.realpath(path) for path in paths]
    for k, path in enumerate(real):
        if path in real[:k]:
            raise InputError(f"{paths[k]} is given twice; several files are chains, and a chain counts once")
    if len(set(kinds.values())) > 1:
        other = next(path for path in paths if kinds[path] != kinds[paths[0]])
        raise InputError(f"files given together must be of one kind, got {paths[0]} and {other}")
    if len(paths) == 1:
        return _read(paths[0], kinds[paths[0]], request)
    return joined([_read(path, kinds[path], request) for path in paths], paths)


def _expanded(given: Any) -> list[str]:
    """The file meant, or the files a pattern stands for, with run_2 before run_10."""
    path = os.fspath(given)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(given, str) or not any(sign in path for sign in "*?[") or _exists(path):
        return [path]
    with suppress(ValueError, re.error, OSError):  # as in a name that no file can have
        found = glob.glob(path)
        if found:
            return sorted(found, key=_natural)
    raise InputError(f"no file matches {path!r}")


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
        raise InputError(f"{path} is a directory; give the files in it, for example {os.path.join(path, '*.csv')!r}")
    name = os.path.basename(path).lower()
    for ending in _READERS:
        if name.endswith(ending):
            return ending
    if name.endswith(_SPREADSHEETS):
        raise InputError(f"{path} is a spreadsheet; save its sheet as CSV (names in the first row, one column per variable)")
    raise InputError(f"{path} is of an unknown kind; files must end in {', '.join(_READERS)}")


def _read(path: str, kind: str, request: Request) -> Table:
    """One file's draws; every error names the file."""
    try:
        return _READERS[kind](path, request)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except PermissionError:
        raise InputError(f"{path}: there is no permission to read it") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise InputError(f"{path}: it is cut off or damaged; write it again") from None
    except OSError as error:
        raise InputError(f"{path}: it cannot be read ({error.strerror or _first_line(error)})") from None


def _read_csv(path: str, request: Request) -> Table:
    return _read_delimited(path, request, ",")


def _read_tsv(path: str, request: Request) -> Table:
    return _read_delimited(path, request, "\t")


def _read_delimited(path: str, request: Request, delimiter: str) -> Table:
    opened: Any = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        raw = file.read()
    return read_text(raw, request, request.delimiter or delimiter)


def _read_parquet(path: str, request: Request) -> Table:
    request.refuse("a parquet file", "delimiter")
    try:
        import pyarrow
    except ImportError:
        raise InputError('reading parquet needs pyarrow: pip install "copula-discrepancy[parquet]"') from None
    import pandas as pd

    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (pyarrow.ArrowException, ValueError, TypeError, KeyError) as error:
        raise InputError(f"it cannot be read as a parquet file: {_first_line(error)}") from None
    return read_frame(frame, request)


def _read_npy(path: str, request: Request) -> Table:
    with open(path, "rb") as file:
        if file.read(2) == b"PK":  # NumPy would read it, and leave it open
            raise InputError("it is an archive of arrays, not one array; let its name end in .npz")
    table = read_array(_loaded(path, lambda: np.load(path, allow_pickle=False, mmap_mode="r")), request)
    return replace(table, values=np.array(table.values))  # of the file, only what was selected; nothing stays open


def _read_npz(path: str, request: Request) -> Table:
    def members() -> dict[str, Any]:
        # opened here: NumPy leaves a damaged archive open
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    arrays = _loaded(path, members)
    if not arrays:
        raise InputError("it holds no arrays")
    return read_array(next(iter(arrays.values())), request) if len(arrays) == 1 else read_mapping(arrays, request)


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
