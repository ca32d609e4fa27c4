"""Streams that can be read only once: Arrow's stream protocol, and iterators of tables."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import errors_about, require_different
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.blocks import Block, as_block, in_slices, names_in, with_columns
from copula_discrepancy.data.streams.columns import require_flat, variable_columns
from copula_discrepancy.data.streams.failures import failures_named, require_columns
from copula_discrepancy.data.streams.parquet import require_pyarrow
from copula_discrepancy.data.streams.source import Piece, Source, chosen_names

_IN_MEMORY = ("__len__", "num_rows", "shape")  # what a table in memory tells about its length, and a stream does not


def is_stream(given: Any) -> bool:
    """Whether an object is an Arrow stream or an iterator, without reading it; tables in memory are neither."""
    if isinstance(given, type | io.IOBase):  # a file that is open iterates over its lines
        return False
    if hasattr(given, "__arrow_c_stream__"):
        return not hasattr(given, "dtype") and not any(hasattr(given, sign) for sign in _IN_MEMORY)
    return isinstance(given, Iterator)


def open_stream(given: Any, options: ReadOptions) -> Source:
    """The rows of an Arrow stream or of an iterator of tables."""
    return _open_arrow(given, options) if hasattr(given, "__arrow_c_stream__") else _open_iterator(given, options)


def _open_arrow(given: Any, options: ReadOptions) -> Source:
    require_pyarrow()
    import pyarrow

    what = f"the {type(given).__name__}"
    with failures_named(what):
        reader = given if isinstance(given, pyarrow.RecordBatchReader) else pyarrow.RecordBatchReader.from_stream(given)
    names = chosen_names(variable_columns(reader.schema), options, "an Arrow stream")
    require_flat(reader.schema, names)
    return once_source(f"Arrow stream ({type(given).__name__})", names, what, reader)


def _open_iterator(given: Iterator[Any], options: ReadOptions) -> Source:
    what = "the iterator"
    with failures_named(what):
        first = next(given, None)
        if first is None:
            raise InputError("yields no tables, so its columns are unknown", "too-few-draws")
        first = as_block(first)
        require_different(names_in(first))
        names = chosen_names(names_in(first), options, "an iterator of tables")
    return once_source("iterator of tables", names, what, _alike(chain([first], given), names))


def _alike(items: Iterable[Any], names: Sequence[str]) -> Iterator[Block]:
    for k, item in enumerate(items):
        with errors_about(f"block {k}"):
            block = as_block(item)
            require_columns(names, names_in(block), "it", names, "the first block")
        yield block


def once_source(kind: str, names: tuple[str, ...], label: str, blocks: Iterable[Block]) -> Source:
    """A source of one piece that is read only once."""
    piece = OncePiece(label, None, 0, None, Feed(blocks))
    return Source(kind, names, (piece,), True, None, 1, "local", True, None)


class Feed:
    """Blocks that can be taken once; a second attempt raises."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._blocks: Iterable[Block] | None = blocks

    def take(self) -> Iterator[Block]:
        """The blocks, in their own sizes."""
        if self._blocks is None:
            raise InputError("a stream can be read only once; write it to a Parquet file, or make a new one", "read-once")
        blocks, self._blocks = self._blocks, None
        return iter(blocks)


@dataclass(frozen=True, eq=False)
class OncePiece(Piece):
    """A whole stream."""

    feed: Feed

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        for block in self.feed.take():
            yield from in_slices(with_columns(block, columns), rows)

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block:
        raise InputError("a stream cannot be sampled without consuming it; take its head with head_and_rest", "read-once")
