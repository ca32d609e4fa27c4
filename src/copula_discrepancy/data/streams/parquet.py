"""Parquet files, in pieces of whole row groups; batches come straight from pyarrow."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import file_labels
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.blocks import Block, joined, spread, taken
from copula_discrepancy.data.streams.columns import kind_of, require_flat, require_same_kinds, require_shared, variable_columns
from copula_discrepancy.data.streams.failures import failures_named, require_columns
from copula_discrepancy.data.streams.source import PIECE_ROWS, Piece, Source, chosen_names, total_rows

_FEWEST_PER_GROUP = 2_000  # rows of a sample from one row group: opening another one costs about as much as decoding these
_MOST_GROUPS = 8  # of a piece that are sampled: the other pieces spread the sample over the source
_WINDOW = 16  # rows decoded for each row of a sample, at distances that weaken serial dependence
_SAMPLED_BATCH = 65_536  # rows


def open_parquet(paths: Sequence[str], options: ReadOptions) -> Source:
    """The rows of Parquet files, one file after the other; lengths and types come from their footers."""
    require_pyarrow()
    labels = file_labels(paths)
    schemas, sizes = [], []
    for path, label in zip(paths, labels, strict=True):
        with failures_named(label), _opened(path) as file:
            schemas.append(file.schema_arrow)
            sizes.append([file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)])
            columns = variable_columns(file.schema_arrow)
            if not columns:
                raise InputError("the file has no columns", "shape")
    names = chosen_names(variable_columns(schemas[0]), options, "a parquet file")
    require_shared(names, labels, [variable_columns(schema) for schema in schemas], options)
    types = [{name: schema.field(name).type for name in names} for schema in schemas]
    kinds = [{name: kind_of(own[name]) for name in names} for own in types]
    require_same_kinds(names, labels, kinds, [{name: str(own[name]) for name in names} for own in types])
    require_flat(schemas[0], names)
    pieces: list[Piece] = []
    start = 0
    for path, label, rows in zip(paths, labels, sizes, strict=True):
        for groups in runs(rows, PIECE_ROWS) or [[]]:
            length = sum(rows[k] for k in groups)
            own = group_label(label, groups, len(rows))
            # absolute, because a worker may run in another directory
            pieces.append(ParquetPiece(own, length, start, None, os.path.abspath(path), tuple(groups)))
            start += length
    kind = f"Parquet, {len(paths)} file{'s' * (len(paths) != 1)}"
    size = start * len(names) * 8
    return Source(kind, names, tuple(pieces), True, total_rows(pieces), 1, "local", False, size)


def runs(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Consecutive positions whose lengths add up to at most `most`; a longer one stays alone."""
    found: list[list[int]] = []
    total = 0
    for k, length in enumerate(lengths):
        if found and total + length <= most:
            found[-1].append(k)
            total += length
        else:
            found.append([k])
            total = length
    return found


def group_label(label: str, groups: Sequence[int], count: int) -> str:
    """What messages call some row groups of a file."""
    if len(groups) == count:
        return label
    return f"{label}, row group {groups[0]}" if len(groups) == 1 else f"{label}, row groups {groups[0]} to {groups[-1]}"


def require_pyarrow() -> None:
    """Raise with the command that installs pyarrow if it is missing."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError('reading parquet needs pyarrow: pip install "copula-discrepancy[parquet]"', "dependency") from None


@dataclass(frozen=True, eq=False)
class ParquetPiece(Piece):
    """Consecutive row groups of one file."""

    path: str
    groups: tuple[int, ...]

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        if not self.groups:
            return
        with _opened(self.path) as file:
            self._require_unchanged(file, columns)
            lengths = [file.metadata.row_group(k).num_rows for k in self.groups]
            # pyarrow keeps what it read of all row groups of one call: each call is for a row group, or for several small ones
            for run in runs(lengths, rows):
                for batch in _batches(file, [self.groups[k] for k in run], columns, rows):
                    if batch.num_rows:
                        yield batch

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block | None:
        if not self.n_rows:
            return None
        with _opened(self.path) as file:
            self._require_unchanged(file, columns)
            lengths = {k: file.metadata.row_group(k).num_rows for k in self.groups}
            filled = [k for k in self.groups if lengths[k]]
            count = len(filled) if self.n_rows <= rows else min(len(filled), max(rows // _FEWEST_PER_GROUP, 1), _MOST_GROUPS)
            chosen = [filled[k] for k in spread(len(filled), count, rng)]
            held = sum(lengths[k] for k in chosen)
            parts = []
            for k in chosen:
                wanted = -(-rows * lengths[k] // held)
                parts += _window(_batches(file, [k], columns, _SAMPLED_BATCH), lengths[k], wanted, rng)
        return joined(parts)

    def _require_unchanged(self, file: Any, columns: Sequence[str]) -> None:
        if file.num_row_groups <= self.groups[-1]:
            raise InputError("the file was replaced while it was being read; write it elsewhere and read again", "file")
        require_columns(columns, file.schema_arrow.names, "the file", file.schema_arrow.names, "it")


def _window(batches: Iterator[Any], length: int, wanted: int, rng: np.random.Generator) -> list[Any]:
    """About `wanted` rows from a random window of a row group; nothing behind the window is decoded."""
    window = min(length, _WINDOW * wanted)
    begin = int(rng.integers(length - window + 1))
    positions = begin + spread(window, wanted, rng)
    parts, seen = [], 0
    for batch in batches:
        here = positions[(positions >= seen) & (positions < seen + batch.num_rows)] - seen
        if len(here):
            parts.append(taken(batch, here))
        seen += batch.num_rows
        if seen > positions[-1]:
            break
    return parts


def _batches(file: Any, groups: list[int], columns: Sequence[str], rows: int) -> Iterator[Any]:
    names = list(columns)
    for batch in file.iter_batches(batch_size=rows, row_groups=groups, columns=names):
        yield batch.select(names)  # pyarrow takes a name as the beginning of a path, and keeps the order of the file


def _opened(path: str) -> Any:
    import pyarrow.parquet

    if os.path.getsize(path) == 0:
        raise InputError("the file is empty, not a parquet file; remove it", "file-format")
    return pyarrow.parquet.ParquetFile(path)
