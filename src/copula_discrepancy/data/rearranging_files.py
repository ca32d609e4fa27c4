"""Files with their values moved: cells of text as text, arrays and tables with their types, everything else as it was."""

import gzip
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import json_text, written_whole
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.readers.dispatch import read
from copula_discrepancy.data.readers.files import TEXTS, bytes_of, default_delimiter, errors_in, selected_files
from copula_discrepancy.data.readers.frames import read_frame
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.readers.table import Table, in_chains
from copula_discrepancy.data.readers.text import ParsedTable, text_table
from copula_discrepancy.data.rearranging import Movable, Places, brief_record
from copula_discrepancy.data.stores import (
    ArrayStore,
    ArrowStore,
    FieldStore,
    GroupStore,
    Key,
    LabelledStore,
    MappingStore,
    PandasStore,
    Positions,
    Store,
)
from copula_discrepancy.data.text_cells import Cells

ADVICE = "use a path in a writable folder"


class TextStore(PandasStore):
    """A text file: read through the frame that its reader makes, moved as cells of text."""

    def __init__(self, raw: bytes, parsed: ParsedTable) -> None:
        super().__init__(parsed.frame)
        self.parsed = parsed
        self.cells = Cells.of(raw, parsed.delimiter)
        self.rows = (np.asarray(parsed.frame.index) + parsed.named).tolist()  # the header is a row of the file

    def column(self, key: Key) -> Any:
        """The cells of a column, as text."""
        place = self.parsed.columns.index(str(key))
        cells = self.cells.column(place, self.rows)
        self._require_same(str(key), cells)
        return cells

    def _require_same(self, name: str, cells: NDArray[Any]) -> None:
        """Raise unless the cells are the numbers that were read: otherwise the file would be written wrongly."""
        try:
            numbers = cells.astype(np.float64)
        except ValueError:  # formatted numbers, quotes, empty cells
            return
        if not np.array_equal(numbers, self.container[name].to_numpy(np.float64), equal_nan=True):
            message = f"column {name} cannot be found again in the text of the file; save the table in a plainer form"
            raise InputError(message, "file-format")

    def kind(self, column: Any) -> str:
        """Text of one kind of file: with another delimiter, a cell such as 1,5 may be two."""
        return f"text separated by {self.parsed.delimiter!r}"

    def joined(self, columns: Sequence[Any]) -> Any:
        """Cells one after another."""
        return np.concatenate(columns)

    def taken(self, column: Any, positions: Positions) -> Any:
        """The cells at these positions."""
        return column[positions]

    def probe(self, values: Mapping[Key, NDArray[np.float64]]) -> Any:
        """The frame with other numbers."""
        return super().assigned(values)

    def assigned(self, columns: Mapping[Key, Any], provenance: Mapping[str, Any] | None = None) -> bytes:
        """The contents of the file."""
        places = {self.parsed.columns.index(str(key)): column for key, column in columns.items()}
        return self.cells.replaced(places, self.rows)


@dataclass(frozen=True, eq=False)
class MovableFiles(Movable):
    """Files as stores, which are written one by one under their own names."""

    paths: tuple[str, ...] = ()
    write: Callable[[Any, Path, Path, str], None] = lambda content, path, target, original: None

    def save(
        self,
        places: Places,
        positions: Positions,
        provenance: Mapping[str, Any],
        path: Any,
        force: bool,
        *,
        record: bool = False,
    ) -> Path:
        """Write the files with their values moved, and a record if asked; nothing is written if any file is in the way."""
        reference = provenance.get("reference")
        out = self.checked_path(path, force, record=record, reference=reference)
        targets = self.targets(out)
        contents = self.moved(places, positions, brief_record(provenance))
        for content, target, original in zip(contents, targets, self.paths, strict=True):
            with written_whole(target, ADVICE, replace=force, parents=len(targets) > 1) as temporary:
                self.write(content, temporary, target, original)
        if record:
            with written_whole(record_path(out), ADVICE, replace=force) as temporary:
                temporary.write_text(json_text({**provenance, "input": list(self.paths)}), encoding="utf-8")
        return out

    def targets(self, out: Path) -> list[Path]:
        """The files to write: the path itself, or files with the original names in this folder."""
        return [out] if len(self.paths) == 1 else [out / os.path.basename(path) for path in self.paths]

    def checked_path(self, path: Any, force: bool, *, record: bool = False, reference: str | None = None) -> Path:
        """The path of the file or folder to write, if it may be written; a reference is not overwritten either."""
        try:
            out = Path(path)
        except TypeError:
            raise InputError(f"path must be the path of a file or folder to write, got {path!r:.60}") from None
        if "\0" in str(out):
            raise InputError(f"{str(out)!r:.80} cannot be written: a path cannot contain a null character", "file")
        try:
            self._require_room(out, force, record, _files_of(reference))
        except OSError as error:
            raise InputError(
                f"{str(out)!r:.80} cannot be written: {error.strerror or error}; use another name", "file"
            ) from None
        return out

    def _require_room(self, out: Path, force: bool, record: bool, reference: Sequence[str]) -> None:
        """Raise if a file cannot be written under this path, is one of the originals, or exists and must not be overwritten."""
        targets = self.targets(out)
        if len(self.paths) == 1:
            ending, own = _ending(out), _ending(Path(self.paths[0]))
            if ending.removesuffix(".gz") != own.removesuffix(".gz"):
                raise InputError(f"{out} must end in {own}, as {self.paths[0]} does: the format is kept", "file-format")
        elif out.exists() and not out.is_dir():
            raise InputError(f"{out} must be a folder: {len(self.paths)} files are written, under their own names", "file")
        if len({target.name for target in targets}) < len(targets):
            raise InputError("the files have the same names in different folders; repair them from one folder", "file")
        if not out.parent.is_dir():
            raise InputError(f"{out} cannot be written: the folder {out.parent} does not exist", "file")
        for target in targets:
            if any(_same(target, original) for original in self.paths):
                raise InputError(f"{target} is the input, which is never overwritten; use another name", "file")
            if any(_same(target, other) for other in reference):
                raise InputError(f"{target} is the reference, which is never overwritten; use another name", "file")
        for target in (*targets, *([record_path(out)] if record else [])):
            if target.is_dir():
                raise InputError(f"{target} is a folder, so no file with that name can be written; use another name", "file")
            if os.path.lexists(target) and not force:
                way_out = "use another name, or overwrite it with force=True (--force)"
                raise InputError(f"{target} already exists; {way_out}", "file")


def record_path(out: Path) -> Path:
    """Where the record of a repair is written: fixed.repair.json beside fixed.csv, repair.json in a folder."""
    if not _ending(out):
        return out / "repair.json"
    return out.with_name(out.name[: -len(_ending(out))] + ".repair.json")


def movable_files(given: Any, reading: Mapping[str, Any]) -> MovableFiles:
    """The files of draws, loaded whole, so that they can be written again."""
    paths, kind, parts = selected_files(given)
    options = _options(reading)
    load, write = _FORMATS[kind]
    stores: list[Store] = []
    for path in paths:
        with errors_in(path):
            stores.append(load(path, options))
    as_one = parts == "rows" and not any(isinstance(store, TextStore) and store.parsed.stan is not None for store in stores)

    def read_again(probes: Sequence[Any], choices: Mapping[str, Any]) -> Draws:
        table = _read_again(stores, probes, _options({**choices, "delimiter": None}), as_one)
        return Draws(table.values.astype(np.float64), table.names)

    return MovableFiles(tuple(stores), read_again, lambda made: made, (), tuple(paths), write)


def _options(reading: Mapping[str, Any]) -> ReadOptions:
    names = ("var_names", "filter_vars", "group", "coords", "chains", "delimiter", "exclude")
    values: list[Any] = [reading.get(name) if name != "group" else reading.get(name, "posterior") for name in names]
    return ReadOptions.checked(*values)


def _read_again(stores: Sequence[Store], probes: Sequence[Any], options: ReadOptions, as_one: bool) -> Table:
    """The probes of all files, as their reader reads them: one chain each, or the rows of one table."""
    if as_one and isinstance(stores[0], TextStore):
        import pandas as pd

        whole = pd.concat([probe[list(probes[0].columns)] for probe in probes])
        return in_chains(read_frame(whole, options), options.chains)
    if as_one and isinstance(stores[0], ArrowStore):
        import pyarrow

        return read(pyarrow.concat_tables([probe.select(probes[0].schema.names) for probe in probes]), options)
    tables = []
    for store, probe in zip(stores, probes, strict=True):
        if isinstance(store, TextStore):
            tables.append(read_frame(probe, options, chains=store.parsed.stan is None))
        else:
            several = len(stores) > 1 and isinstance(options.chains, int)  # the number of files
            tables.append(read(probe, replace(options, chains=None) if several else options))
    names = tables[0].names
    values = [table.values[:, :, [table.names.index(name) for name in names]] for table in tables]
    return Table(np.concatenate(values, axis=0 if not as_one else 1), names)


def _files_of(reference: str | None) -> list[str]:
    """The files of a reference; none if it was no file, or is there no more."""
    if reference is None:
        return []
    try:
        return selected_files(reference)[0]
    except InputError:
        return []


def _same(target: Path, original: str) -> bool:
    try:
        return os.path.samefile(target, original)
    except OSError:
        return False


def _ending(path: Path) -> str:
    name = path.name.lower()
    return next((ending for ending in sorted(_FORMATS, key=len, reverse=True) if name.endswith(ending)), path.suffix)


# ---- formats -----------------------------------------------------------------------------------------------------------


def _load_text(path: str, options: ReadOptions) -> Store:
    raw = bytes_of(path)
    return TextStore(raw, text_table(raw, options, default_delimiter(path)))


def _write_text(content: Any, path: Path, target: Path, original: str) -> None:
    path.write_bytes(gzip.compress(content, mtime=0) if target.name.lower().endswith(".gz") else content)


def _load_parquet(path: str, options: ReadOptions) -> Store:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        return ArrowStore(file.read())


def _write_parquet(content: Any, path: Path, target: Path, original: str) -> None:
    """With the compression and the row groups of the original."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(original) as file:
        groups = file.metadata.num_row_groups
        first = file.metadata.row_group(0) if groups else None
        codec = "snappy" if first is None or not first.num_columns else first.column(0).compression.lower()
        size = None if first is None else max(first.num_rows, 1)
    pyarrow.parquet.write_table(content, path, compression={"uncompressed": "none"}.get(codec, codec), row_group_size=size)


def _load_npy(path: str, options: ReadOptions) -> Store:
    array = np.load(path, allow_pickle=False)
    return ArrayStore(array) if array.dtype.names is None else FieldStore(array)


def _write_npy(content: Any, path: Path, target: Path, original: str) -> None:
    with path.open("wb") as file:
        np.save(file, content, allow_pickle=False)


def _load_npz(path: str, options: ReadOptions) -> Store:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    if len(arrays) > 1:
        return MappingStore(arrays)
    array = next(iter(arrays.values()))
    return ArrayStore(array) if array.dtype.names is None else FieldStore(array)


def _write_npz(content: Any, path: Path, target: Path, original: str) -> None:
    """With the names and the compression of the original."""
    with zipfile.ZipFile(original) as archive:
        compressed = any(item.compress_type != zipfile.ZIP_STORED for item in archive.infolist())
        names = [name.removesuffix(".npy") for name in archive.namelist()]
    arrays = content if isinstance(content, dict) else {names[0]: content}
    with path.open("wb") as file:
        (np.savez_compressed if compressed else np.savez)(file, **arrays)


def _load_netcdf(path: str, options: ReadOptions) -> Store:
    import xarray as xr

    if _is_classic(path):
        with xr.open_dataset(path, engine="scipy") as dataset:
            return LabelledStore(dataset.load())
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        return GroupStore(tree.load(), options.group)


def _write_netcdf(content: Any, path: Path, target: Path, original: str) -> None:
    engine: Any = "scipy" if _is_classic(original) else "h5netcdf"
    content.to_netcdf(path, engine=engine)


def _is_classic(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(3) == b"CDF"  # netCDF 3 has no groups and is not HDF5


_Format = tuple[Callable[[str, ReadOptions], Store], Callable[[Any, Path, Path, str], None]]
_FORMATS: dict[str, _Format] = {
    **dict.fromkeys(TEXTS, (_load_text, _write_text)),
    ".parquet": (_load_parquet, _write_parquet),
    ".npy": (_load_npy, _write_npy),
    ".npz": (_load_npz, _write_npz),
    ".nc": (_load_netcdf, _write_netcdf),
}
