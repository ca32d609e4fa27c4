"""Draws from files: the files that a path selects, their formats, and several files as chains or as one table."""

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
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import errors_about, grouped, listed, require_same_names
from copula_discrepancy.data.readers.chain_columns import needed_columns
from copula_discrepancy.data.readers.divergences import statistics_group
from copula_discrepancy.data.readers.frames import read_frame
from copula_discrepancy.data.readers.interchange import arrow_frame, read_array_or_table
from copula_discrepancy.data.readers.labelled import missing_group, read_dataset, read_labelled, read_mapping
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, ReadOptions
from copula_discrepancy.data.readers.pymc_store import open_store
from copula_discrepancy.data.readers.table import Table, as_chains, as_rows, parts_note
from copula_discrepancy.data.readers.text import ParsedTable, read_text, text_table

_ZARR = ".zarr"  # a directory, whatever its name
RECORD = "repair.json"  # the end of the name of a repair's record, which is no sample
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
_DAMAGED = (
    ValueError, EOFError, OSError, LookupError, SyntaxError, TypeError, AttributeError, RuntimeError, AssertionError,
    OverflowError, MemoryError, struct.error, zipfile.BadZipFile, zlib.error, tokenize.TokenError,
)  # errors of NumPy, zipfile, scipy and h5netcdf for files of another format or a wrong length  # fmt: skip


def read_files(given: Any, options: ReadOptions) -> Table:
    """The draws of one file or of several; a pattern such as 'run_*.csv', or a directory, selects its files.

    Several files are chains in the order passed, except the plain tables of a directory, which are one table in parts. Parquet
    files of unequal length are parts too, because large tables are often written in arbitrary pieces.
    """
    paths, kind, parts = selected_files(given, options.parts)
    if len(paths) == 1:
        return _read(paths[0], kind, options)
    if parts == "rows" and kind == ".parquet":
        return _as_one_table([_parquet_part(path, options) for path in paths], paths)
    if parts == "rows" and kind in TEXTS:
        return _text_parts(paths, options)
    tables = [_read(path, kind, options) for path in paths]
    # a sampler's files are always chains
    return (as_rows if parts == "rows" and not any(table.chained for table in tables) else as_chains)(tables, paths)


def selected_files(given: Any, parts: str = "auto") -> tuple[list[str], str, str]:
    """The files that a path, a pattern, a directory or a list of paths selects, their format, and how they are combined."""
    items = [given] if isinstance(given, str | os.PathLike) else list(given)
    paths = [path for item in items for path in _expanded(item, alone=len(items) == 1)]
    kind = _common_kind(paths)
    if len(paths) == 1:
        return paths, kind, parts
    if parts == "auto" and kind in (*TEXTS, ".parquet") and len(items) == 1 and os.path.isdir(items[0]):
        parts = "rows"
    if parts == "auto" and kind == ".parquet" and len({_parquet_rows(path) for path in paths}) > 1:
        parts = "rows"
    return paths, kind, parts


def _common_kind(paths: list[str]) -> str:
    """The common format of all files, which must be distinct."""
    kinds = [_kind(path) for path in paths]
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise InputError(f"{path} is listed twice; each chain or part must be a separate file", "file")
        seen.add(real)
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise InputError(f"files read together must have the same format, got {paths[0]} and {path}", "file")
    return kinds[0]


def _text_parts(paths: list[str], options: ReadOptions) -> Table:
    """Text files as one table in parts; Stan's files, however, are chains."""
    texts: list[ParsedTable] = []
    for path in paths:
        with errors_in(path):
            texts.append(text_table(bytes_of(path), options, default_delimiter(path)))
    chains = [text.stan for text in texts if text.stan is not None]
    if len(chains) == len(texts):
        return as_chains(chains, paths)
    if chains:
        other = next(path for path, text in zip(paths, texts, strict=True) if text.stan is None)
        raise InputError(f"files read together must have the same format, got Stan's CSV and {other}, which is not", "file")
    parts = []
    for path, text in zip(paths, texts, strict=True):
        with errors_in(path):
            places, settled = needed_columns([], [str(name) for name in text.frame.columns], text.options)
        parts.append(ParsedTable(text.frame.iloc[:, places], settled, text.named, text.notes))
    return _as_one_table(parts, paths)


def _parquet_part(path: str, options: ReadOptions) -> ParsedTable:
    with errors_in(path):
        return ParsedTable(*_parquet_frame(path, options), named=True, notes=())


def _as_one_table(parts: list[ParsedTable], paths: list[str]) -> Table:
    """Frames as one table, with rows in this order; the role of a column is decided for the whole table."""
    import pandas as pd

    first = parts[0]
    names = [str(name) for name in first.frame.columns]
    for part, path in zip(parts, paths, strict=True):
        require_same_names(names, [str(name) for name in part.frame.columns], paths[0], path)
    noted = grouped((note, path) for part, path in zip(parts, paths, strict=True) for note in part.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from pandas, about the type of a column that is empty in one of the parts
        whole = pd.concat([part.frame[names] for part in parts if len(part.frame)] or [first.frame])
    notes = tuple(note if len(where) == len(paths) else f"{listed(where, 1)}: {note}" for note, where in noted.items())
    with errors_about(listed(paths, 1)):
        table = read_frame(whole, first.options)
    return replace(table, named=first.named, notes=(*notes, parts_note(len(paths)), *table.notes))


def _expanded(given: Any, *, alone: bool) -> list[str]:
    """The file itself, or the files that a pattern or a directory selects, with run_2 before run_10."""
    path = os.fsdecode(given)
    if is_zarr(path):
        return [path]
    if alone and os.path.isdir(path):
        return _inside(path)
    if not isinstance(given, str) or not any(sign in path for sign in "*?[") or os.path.exists(path):
        return [path]
    with suppress(ValueError, re.error, OSError):  # not a valid file name
        found = glob.glob(path)
        if found:
            return sorted(found, key=natural_order)
    raise InputError(f"no file matches {path!r}", "file")


def _inside(folder: str) -> list[str]:
    """The files in a directory, except hidden ones and those that programs leave behind, such as _SUCCESS."""
    try:
        names = sorted(os.listdir(folder), key=natural_order)
    except OSError as error:
        raise InputError(f"{folder}: the directory cannot be read ({error.strerror})", "file") from None
    if "_delta_log" in names:
        raise InputError(f"{folder} is a Delta table, which may contain outdated files; read it with its own library", "file")
    paths = [os.path.join(folder, name) for name in names if not name.startswith((".", "_")) and not name.endswith(RECORD)]
    inner = next((path for path in paths if os.path.isdir(path)), None)
    if inner is not None:
        if is_zarr(inner):  # of a store that lost its own metadata, or that is one of several
            rule = "and no zarr.json or .zgroup of its own: pass that itself, or write the whole store again"
            raise InputError(f"{folder} contains the Zarr group {inner}, {rule}", "file-format")
        advice = f"pass a directory of files, or a pattern such as '{inner}/*.csv'"
        raise InputError(f"{folder} contains the directory {inner}; {advice}", "file")
    if not paths and folder.rstrip(os.sep).lower().endswith(_ZARR):
        raise InputError(f"{folder} is an empty directory, not a Zarr store; check whether its run has begun", "file")
    if not paths:
        raise InputError(f"{folder} is an empty directory; it must contain files that end in {', '.join(_READERS)}", "file")
    endings = [_ending(path) or os.path.splitext(path)[1] for path in paths]
    for path, ending in zip(paths, endings, strict=True):
        if ending != endings[0]:
            found = f"files of two formats, {os.path.basename(paths[0])} and {os.path.basename(path)}"
            example = os.path.join(folder, "*" + endings[0])
            raise InputError(f"{folder} contains {found}; pass those of one format, for example {example!r}", "file")
    return paths


def is_zarr(path: str) -> bool:
    """Whether a directory is a Zarr store."""
    markers = (".zgroup", ".zattrs", ".zmetadata", "zarr.json")
    return os.path.isdir(path) and any(os.path.exists(os.path.join(path, marker)) for marker in markers)


def natural_order(path: str) -> tuple[Any, ...]:
    """A key that sorts numbers inside names by value."""
    return (*(int(part) if k % 2 else part for k, part in enumerate(re.split(r"([0-9]+)", path))), path)


def _ending(path: str) -> str | None:
    """The known ending of a name."""
    name = os.path.basename(path).lower()
    return next((ending for ending in _READERS if name.endswith(ending)), None)


def _kind(path: str) -> str:
    """The ending that determines how a file is read."""
    if not os.path.exists(path):
        raise InputError(f"there is no file called {path!r}", "file")
    if is_zarr(path):
        return _ZARR
    if os.path.isdir(path):
        raise InputError(f"{path} is a directory; pass it alone and by its name, or pass the files in it", "file")
    ending = _ending(path)
    if ending is not None:
        return ending
    if path.lower().endswith(_SPREADSHEETS):
        raise InputError(f"{path} is a spreadsheet; save its sheet as CSV, with names in the first row", "file-format")
    raise InputError(f"{path} has an unknown format; files must end in {', '.join(_READERS)}", "file-format")


def _read(path: str, kind: str, options: ReadOptions) -> Table:
    with errors_in(path):
        return (_read_zarr if kind == _ZARR else _READERS[kind])(path, options)


@contextmanager
def errors_in(path: str) -> Iterator[None]:
    """A context that turns all errors, including those of the system, into InputErrors that begin with the name of the file."""
    with errors_about(path):
        try:
            yield
        except PermissionError:
            raise InputError("permission denied", "file") from None
        except (gzip.BadGzipFile, zlib.error, EOFError):
            raise InputError("the file is truncated or damaged", "file-format") from None
        except OSError as error:
            raise InputError(f"the file cannot be read ({error.strerror or _first_line(error)})", "file") from None


def default_delimiter(path: str) -> str:
    """The character between values that the ending of a text file stands for."""
    return "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","


def bytes_of(path: str) -> bytes:
    """The contents of a file, uncompressed."""
    opened: Any = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        return bytes(file.read())


def _parquet_frame(path: str, options: ReadOptions) -> tuple[Any, ReadOptions]:
    """The needed columns as a frame, found by the schema, and the options for reading it; other columns are not loaded."""
    options.refuse("a parquet file", "group", "coords", "delimiter")
    with _parquet(path) as file:
        return arrow_frame(file.schema_arrow, lambda names: file.read(columns=names).select(names), options)


def _parquet_rows(path: str) -> int:
    with errors_in(path), _parquet(path) as file:
        return int(file.metadata.num_rows)


@contextmanager
def _parquet(path: str) -> Iterator[Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError('reading parquet needs pyarrow: pip install "copula-discrepancy[parquet]"', "dependency") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except InputError:
        raise
    except (pyarrow.ArrowException, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"the file cannot be read as a parquet file: {_first_line(error)}", "file-format") from None


def _read_npy(path: str, options: ReadOptions) -> Table:
    with open(path, "rb") as file:
        if file.read(2) == b"PK":  # NumPy would read it without closing it
            raise InputError("the file is an archive of arrays, not one array; rename it to end in .npz", "file-format")
    table = read_array_or_table(_loaded(lambda: np.load(path, allow_pickle=False, mmap_mode="r")), options)
    return replace(table, values=np.array(table.values))  # copies the selected values, so that the file can be closed


def _read_npz(path: str, options: ReadOptions) -> Table:
    def members() -> dict[str, Any]:
        # opened here, because NumPy does not close a damaged archive
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    arrays = _loaded(members)
    if not arrays:
        raise InputError("the file contains no arrays", "file-format")
    return read_array_or_table(next(iter(arrays.values())), options) if len(arrays) == 1 else read_mapping(arrays, options)


def _loaded(load: Callable[[], Any]) -> Any:
    """The result of reading with NumPy; pickled data is never loaded."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # from NumPy, about headers of Python 2 and escapes in damaged ones
            return load()
    except (FileNotFoundError, PermissionError):
        raise
    except _DAMAGED as error:
        if "pickle" in str(error) or "Python object" in str(error):
            pickled = "the file is not a NumPy file, or contains pickled objects, which are never loaded; save numeric arrays"
            raise InputError(pickled, "file-format") from None
        raise InputError(f"the file cannot be read as NumPy arrays: {_first_line(error)}", "file-format") from None


def _read_netcdf(path: str, options: ReadOptions) -> Table:
    """The group of a netCDF file, or the whole file if it has no groups; only the selected variables are read."""
    import xarray as xr

    with open(path, "rb") as file:
        classic = file.read(3) == b"CDF"  # netCDF 3 has no groups and is not HDF5
    engine: Any = "scipy" if classic else "h5netcdf"
    groups = [] if classic else _groups(path)
    group = options.group if options.group in groups else None
    beside = None if group is None else statistics_group(group)
    try:
        with xr.open_dataset(path, group=group, engine=engine) as dataset:
            if group is None and (options.group != DEFAULT_GROUP or (groups and "draw" not in dataset.dims)):
                raise missing_group(options.group, groups)
            if beside not in groups:
                return read_dataset(dataset, options)
            with xr.open_dataset(path, group=beside, engine=engine) as statistics:
                return read_dataset(dataset, options, statistics)
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(f"the file cannot be read as a netCDF file: {_first_line(error)}", "file-format") from None


def _read_zarr(path: str, options: ReadOptions) -> Table:
    """The group of a Zarr store, or the store's only dataset; only the selected variables are read."""
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise InputError("reading a Zarr store needs zarr: pip install zarr", "dependency") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about stores without consolidated metadata, which are only slower to open
            tree = open_store(path, options.group, None)
        with tree:
            return read_labelled(tree, options)
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(f"the directory cannot be read as a Zarr store: {_first_line(error)}", "file-format") from None


def _groups(path: str) -> list[str]:
    import h5py

    groups: list[str] = []
    try:
        with h5py.File(path, "r") as file:
            file.visititems(lambda name, item: groups.append(name) if isinstance(item, h5py.Group) else None)
    except (OSError, RuntimeError, KeyError) as error:
        raise InputError(f"the file is not a netCDF file, or is damaged: {_first_line(error)}", "file-format") from None
    return groups


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


TEXTS = (".csv", ".csv.gz", ".txt", ".tsv", ".tsv.gz")
_READERS: dict[str, Callable[[str, ReadOptions], Table]] = {
    **dict.fromkeys(TEXTS, lambda path, options: read_text(bytes_of(path), options, default_delimiter(path))),
    ".parquet": lambda path, options: read_frame(*_parquet_frame(path, options)),
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".nc": _read_netcdf,
}
