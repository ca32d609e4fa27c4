"""Arrays (row, variable) or (chain, draw, variable) that are not in memory: .npy files, memory maps and Dask arrays."""

import math
import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers.files import _loaded
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.blocks import Block, spread
from copula_discrepancy.data.streams.lazy import LazyPiece, delayed_call
from copula_discrepancy.data.streams.source import PIECE_ROWS, Piece, Source, chosen_names, total_rows

_RUNS = 64  # contiguous runs of rows in a sample: pages of a file are read whole, so single rows would read all of it


def open_npy(path: str, options: ReadOptions) -> Source | None:
    """The rows of a .npy file, which is mapped, not loaded; None if it holds no array of two or three dimensions."""
    with open(path, "rb") as file:
        if file.read(2) == b"PK":  # an archive with a wrong ending
            return None
    array = _loaded(lambda: np.load(path, allow_pickle=False, mmap_mode="r"))
    return open_memmap(array, options, "NumPy file", f"{os.path.basename(path)}, ")


def open_memmap(given: Any, options: ReadOptions, kind: str = "NumPy memory map", prefix: str = "") -> Source | None:
    """The rows of a memory-mapped array; None for one of another shape, or with changes that are in memory only."""
    window = _window_of(given)
    if window is None or given.ndim not in (2, 3) or given.dtype.names:
        return None
    every = _checked_names(given)
    names = chosen_names(every, options, "an array")
    chains: list[int | None] = [None] if given.ndim == 2 else [*range(given.shape[0])]
    length = given.shape[-2]
    pieces: list[Piece] = []
    for chain in chains:
        for begin in range(0, length, PIECE_ROWS):
            end = min(begin + PIECE_ROWS, length)
            label = prefix + rows_label(chain, begin, end)
            pieces.append(MappedPiece(label, end - begin, begin, chain, window, every))
    return _array_source(kind, names, pieces, len(chains), "local")


def rows_label(chain: int | None, begin: int, end: int) -> str:
    """What messages call the rows of an array from `begin` to before `end`."""
    return f"rows {begin} to {end - 1}" if chain is None else f"chain {chain}, draws {begin} to {end - 1}"


def _array_source(kind: str, names: tuple[str, ...], pieces: Sequence[Piece], n_chains: int, engine: str) -> Source:
    n_rows = total_rows(pieces)
    size = None if n_rows is None else n_rows * len(names) * 8
    return Source(kind, names, tuple(pieces), True, n_rows, n_chains, engine, False, size)


def _checked_names(array: Any) -> tuple[str, ...]:
    if array.dtype.kind not in "fiub":
        raise InputError(f"an array must contain real numbers, got type {array.dtype}; convert it to numbers", "not-numeric")
    if array.shape[-1] == 0:
        raise InputError(f"an array must have at least one variable, got shape {array.shape}", "shape")
    return tuple(f"x{k}" for k in range(array.shape[-1]))


@dataclass(frozen=True)
class Window:
    """An array inside a file, which a worker can map again; a pickled memory map would contain all values."""

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def mapped(self) -> NDArray[Any]:
        """The array."""
        raw = np.memmap(self.path, np.uint8, "r")
        return np.ndarray(self.shape, self.dtype, raw, self.offset, self.strides)


def _window_of(given: Any) -> Window | None:
    """Where the values of a memory map are in its file, also if it is a slice of another; None if they need not be there."""
    stored = getattr(given, "_mmap", None)
    if stored is None or given.filename is None or given.mode == "c" or 0 in given.shape:
        return None
    address = np.frombuffer(stored, np.uint8).__array_interface__["data"][0]
    inside = given.__array_interface__["data"][0] - address
    if not 0 <= inside < len(stored):  # computed from a memory map, but in memory
        return None
    begin = given.offset - given.offset % mmap.ALLOCATIONGRANULARITY
    return Window(os.fspath(given.filename), given.dtype, given.shape, given.strides, begin + inside)


@dataclass(frozen=True, eq=False)
class MappedPiece(Piece):
    """Consecutive rows of a mapped array."""

    window: Window
    names: tuple[str, ...] = field(repr=False)

    def _rows(self) -> NDArray[Any]:
        assert self.start is not None
        assert self.n_rows is not None
        array = self.window.mapped()
        own: NDArray[Any] = array if self.chain is None else array[self.chain]
        return own[self.start : self.start + self.n_rows]

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        values = self._rows()
        for begin in range(0, len(values), rows):
            yield _columns_of(values[begin : begin + rows], self.names, columns)

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block:
        values = self._rows()
        length = max(rows // _RUNS, 1)
        positions = np.arange(len(values))
        if len(values) > rows:
            begins = spread(len(values) - length + 1, -(-rows // length), rng)
            positions = np.unique(begins[:, None] + np.arange(length))
        return _columns_of(values[positions], self.names, columns)


def _columns_of(values: NDArray[Any], names: Sequence[str], columns: Sequence[str]) -> Block:
    """The columns of rows of an array, each contiguous and in memory."""
    places = {name: k for k, name in enumerate(names)}
    chosen = np.array(values.T[[places[name] for name in columns]], order="C", subok=False)
    return dict(zip(columns, chosen, strict=True))


def open_dask_array(given: Any, options: ReadOptions) -> Source | None:
    """The rows of a Dask array of two or three dimensions, in pieces of its chunks; None for another shape."""
    if given.ndim not in (2, 3):
        return None
    known = given.shape[-1:] if given.ndim == 2 else (given.shape[0], given.shape[2])
    if any(math.isnan(length) for length in known):
        rule = "a Dask array must have known numbers of chains and variables"
        raise InputError(f"{rule}, got shape {given.shape}; call compute_chunk_sizes() first", "shape")
    every = _checked_names(given)
    names = chosen_names(every, options, "a Dask array")
    chunks = given.rechunk({given.ndim - 1: -1}).to_delayed()
    pieces: list[Piece] = []
    if given.ndim == 2:
        pieces += _chunk_pieces(chunks[:, 0], given.chunks[0], None, None, every)
    else:
        chains = ((block, local) for block, length in enumerate(given.chunks[0]) for local in range(length))
        for chain, (block, local) in enumerate(chains):
            pieces += _chunk_pieces(chunks[block, :, 0], given.chunks[1], chain, local, every)
    n_chains = 1 if given.ndim == 2 else int(given.shape[0])
    kind = f"Dask array, {len(pieces)} chunk{'s' * (len(pieces) != 1)}"
    return _array_source(kind, names, pieces, n_chains, "dask")


def _chunk_pieces(
    delayed: Any, lengths: Sequence[float], chain: int | None, local: int | None, names: tuple[str, ...]
) -> Iterator[Piece]:
    start: int | None = 0
    for k, (chunk, length) in enumerate(zip(delayed, lengths, strict=True)):
        if math.isnan(length) or start is None:
            label = f"chunk {k}" if chain is None else f"chain {chain}, chunk {k}"
            yield DaskChunk(label, None if math.isnan(length) else int(length), start, chain, chunk, local, names)
            start = None
        else:
            yield DaskChunk(rows_label(chain, start, start + int(length)), int(length), start, chain, chunk, local, names)
            start += int(length)


@dataclass(frozen=True, eq=False)
class DaskChunk(LazyPiece):
    """A chunk of a Dask array, or one of the chains in it."""

    chunk: Any = field(repr=False)
    local: int | None
    names: tuple[str, ...] = field(repr=False)

    def delayed(self, columns: Sequence[str]) -> Any:
        """A Dask Delayed of the rows as a dictionary of these columns."""
        return delayed_call(_chunk_columns, self.chunk, self.local, self.names, list(columns))


def _chunk_columns(chunk: Any, local: int | None, names: Sequence[str], columns: Sequence[str]) -> Block:
    values = np.asarray(chunk if local is None else chunk[local])
    return _columns_of(values, names, columns)
