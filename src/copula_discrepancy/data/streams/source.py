"""Data that are read in pieces, in row order: sources, their pieces, and the objects that are sources."""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import errors_about, listed
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, ReadOptions
from copula_discrepancy.data.streams.blocks import Block, length_of
from copula_discrepancy.data.streams.failures import failures_named

__all__ = ["PIECE_ROWS", "Block", "Piece", "Source", "open_source", "total_rows"]
PIECE_ROWS = 2_000_000  # rows of a piece, if the format permits: a second of work, so that many workers end at the same time


@dataclass(frozen=True, eq=False)
class Piece(ABC):
    """A partition of a source: consecutive rows that one worker reads on its own.

    Errors name the `label`. `start` is the number of its first row within the source, within its chain if it has one; it and
    `n_rows` are None if they are not known before reading.
    """

    label: str
    n_rows: int | None
    start: int | None
    chain: int | None

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        """Consecutive blocks of 1 to `rows` rows with just these columns."""
        _require_positive(rows)
        with failures_named(self.label):
            yield from self._blocks(columns, rows)

    def sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block | None:
        """About `rows` rows spread over the piece, all of them if there are no more; None if it has no rows."""
        _require_positive(rows)
        with failures_named(self.label):
            block = self._sample(columns, rows, rng)
            return None if block is None or not length_of(block) else block

    def delayed(self, columns: Sequence[str]) -> Any:
        """A Dask Delayed whose value is the whole piece as one block with these columns; for sources of engine "dask"."""
        raise InputError(f"{self.label} is not a Dask partition; read its blocks")

    @abstractmethod
    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        """The blocks, without names in errors; none is empty."""

    @abstractmethod
    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block | None:
        """The sample, without names in errors."""


@dataclass(frozen=True, eq=False)
class Source:
    """Data in pieces, in row order.

    `kind` says what they are, for provenance. With `ordered`, the order of the rows is that of the data; otherwise it is
    arbitrary. The pieces of an `engine` "dask" are lazy partitions, which a client can reduce on its workers. A source that can
    be read `once` has a single piece. `size` estimates the bytes of all variables as float64, and is None if unknown.
    """

    kind: str
    names: tuple[str, ...]
    pieces: tuple[Piece, ...]
    ordered: bool
    n_rows: int | None
    n_chains: int
    engine: str
    once: bool
    size: int | None


def open_source(given: Any, *, var_names: Any = None, group: str = DEFAULT_GROUP, missing_ok: bool = True) -> Source | None:
    """A source that is read in pieces, or None if an object is not one and is left to `as_draws`.

    Sources are Parquet and delimited text files, directories and patterns of them, .npy files, Zarr stores, memory maps, Dask
    arrays and frames, labelled arrays held by Dask, polars' LazyFrames, relations of DuckDB, Arrow datasets and streams, and
    iterators of tables. Arrays, frames and everything else in memory are not.

    Parameters
    ----------
    given : object
        What holds the data.
    var_names : str or sequence of str, optional
        The columns or variables to offer, by the rules of `as_draws`; all by default.
    group : str
        The group of a Zarr store, a DataTree or InferenceData.
    missing_ok : bool
        Whether a path that does not exist gives None; otherwise it raises an InputError.
    """
    options = ReadOptions.checked(var_names, None, group, None, None, None)
    if _names_files(given):
        return _open_files(given, options, missing_ok)
    for opened in (_opened_array, _opened_labelled, _opened_frame, _opened_dataset, _opened_stream):
        source = opened(given, options)
        if source is not None:
            return source
    return None


def total_rows(pieces: Sequence[Piece]) -> int | None:
    """The number of rows of all pieces; None if that of any is unknown."""
    lengths = [piece.n_rows for piece in pieces]
    return None if None in lengths else sum(length for length in lengths if length is not None)


def chosen_names(names: Sequence[str], options: ReadOptions, what: str) -> tuple[str, ...]:
    """The columns of a table that the options select; a table has no groups."""
    options.refuse(what, "group")
    return tuple(names[k] for k in options.pick(names))


def _require_positive(rows: int) -> None:
    if rows < 1:
        raise InputError(f"rows must be an integer >= 1, got {rows!r}")


def _names_files(given: Any) -> bool:
    paths = isinstance(given, list | tuple) and given and all(isinstance(item, str | os.PathLike) for item in given)
    return bool(paths) or isinstance(given, str | os.PathLike)


def _open_files(given: Any, options: ReadOptions, missing_ok: bool) -> Source | None:
    from copula_discrepancy.data.readers.files import TEXTS, is_zarr, selected_files

    items = [given] if isinstance(given, str | os.PathLike) else list(given)
    for item in map(os.fsdecode, items):
        if missing_ok and not os.path.exists(item) and not any(sign in item for sign in "*?["):
            return None
        if is_zarr(item):
            if len(items) > 1:
                raise InputError(f"{item} is a Zarr store and must be passed alone, got {listed(items, 3)}", "file")
            from copula_discrepancy.data.streams.labelled import open_zarr

            return open_zarr(item, options)
    # each on its own, because a list may contain directories
    chosen = [selected_files(item, "rows") for item in items]
    paths = [path for found, _, _ in chosen for path in found]
    if len(items) > 1:
        selected_files(paths, "rows")  # files that occur twice, or are of different formats
    kind = chosen[0][1]
    if kind == ".parquet":
        from copula_discrepancy.data.streams.parquet import open_parquet

        return open_parquet(paths, options)
    if kind in TEXTS:
        from copula_discrepancy.data.streams.text import open_text

        return open_text(paths, options)
    if kind == ".npy" and len(paths) == 1:
        from copula_discrepancy.data.streams.arrays import open_npy

        with errors_about(os.path.basename(paths[0])):
            return open_npy(paths[0], options)
    return None


def _room(given: Any) -> str:
    """The library that an object's type belongs to."""
    return type(given).__module__.partition(".")[0]


def _opened_array(given: Any, options: ReadOptions) -> Source | None:
    from copula_discrepancy.data.streams.arrays import open_dask_array, open_memmap

    if isinstance(given, np.memmap):
        return open_memmap(given, options)
    if _room(given) == "dask" and type(given).__name__ == "Array":
        return open_dask_array(given, options)
    return None


def _opened_labelled(given: Any, options: ReadOptions) -> Source | None:
    if "dask" not in sys.modules:  # nothing is held by Dask before it is imported
        return None
    from copula_discrepancy.data.readers.labelled import is_labelled

    if not is_labelled(given):
        return None
    from copula_discrepancy.data.streams.labelled import open_labelled

    return open_labelled(given, options)


def _opened_frame(given: Any, options: ReadOptions) -> Source | None:
    from copula_discrepancy.data.streams import frames

    room, kind = _room(given), type(given).__name__
    if room.startswith("dask") and hasattr(given, "npartitions") and getattr(given, "ndim", 0) == 2:
        return frames.open_dask_frame(given, options)
    if room == "polars" and kind == "LazyFrame":
        return frames.open_polars(given, options)
    if room in ("duckdb", "_duckdb") and hasattr(given, "project"):
        return frames.open_duckdb(given, options)
    return None


def _opened_dataset(given: Any, options: ReadOptions) -> Source | None:
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is None or not isinstance(given, datasets.Dataset):
        return None
    from copula_discrepancy.data.streams.datasets import open_dataset

    return open_dataset(given, options)


def _opened_stream(given: Any, options: ReadOptions) -> Source | None:
    from copula_discrepancy.data.streams.once import is_stream, open_stream

    return open_stream(given, options) if is_stream(given) else None
