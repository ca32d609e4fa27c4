"""Arrow datasets, in pieces of their fragments, which know their partition columns and any file system."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copula_discrepancy.data.naming import file_labels
from copula_discrepancy.data.readers.files import natural_order
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.blocks import Block, spread, spread_over
from copula_discrepancy.data.streams.columns import require_flat, variable_columns
from copula_discrepancy.data.streams.failures import failures_named
from copula_discrepancy.data.streams.parquet import group_label, runs
from copula_discrepancy.data.streams.source import PIECE_ROWS, Piece, Source, chosen_names, total_rows

_READ_AHEAD = 2  # batches: pyarrow's 16 hold several row groups in memory
_SAMPLED_BATCH = 65_536  # rows


def open_dataset(dataset: Any, options: ReadOptions) -> Source:
    """The rows of an Arrow dataset; a filtered one, or one without files, is a single piece."""
    names = chosen_names(variable_columns(dataset.schema), options, "an Arrow dataset")
    require_flat(dataset.schema, names)
    pieces: list[Piece] = []
    fragments = _fragments(dataset)
    start: int | None = 0
    labels = file_labels([fragment.path for fragment in fragments])
    for fragment, label in zip(fragments, labels, strict=True):
        with failures_named(label):
            lengths = [group.num_rows for group in fragment.row_groups] if hasattr(fragment, "row_groups") else None
        if lengths is None:
            pieces.append(FragmentPiece(label, None, start, None, fragment, dataset.schema))
            start = None
            continue
        for groups in runs(lengths, PIECE_ROWS) or [[]]:
            length = sum(lengths[k] for k in groups)
            own = group_label(label, groups, len(lengths))
            pieces.append(FragmentPiece(own, length, start, None, fragment, dataset.schema, tuple(groups)))
            start = None if start is None else start + length
    if not fragments:
        pieces = [FragmentPiece("the dataset", None, 0, None, dataset, None)]
    kind = f"Arrow dataset, {len(fragments)} file{'s' * (len(fragments) != 1)}" if fragments else "Arrow dataset"
    n_rows = total_rows(pieces)
    size = None if n_rows is None else n_rows * len(names) * 8
    return Source(kind, names, tuple(pieces), True, n_rows, 1, "local", False, size)


def _fragments(dataset: Any) -> list[Any]:
    """The files of a dataset; those that pyarrow found in a directory with part-2 before part-10."""
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # pyarrow does not give the files of a filtered dataset
        return []
    if not all(getattr(fragment, "path", None) for fragment in fragments):
        return []
    paths = [fragment.path for fragment in fragments]
    return sorted(fragments, key=lambda fragment: natural_order(fragment.path)) if paths == sorted(paths) else fragments


@dataclass(frozen=True, eq=False)
class FragmentPiece(Piece):
    """A file of a dataset, or some row groups of one, or without `schema` the whole dataset."""

    fragment: Any
    schema: Any = field(repr=False)
    groups: tuple[int, ...] | None = None

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        yield from self._scanned(self.groups, columns, rows)

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block | None:
        groups = self.groups
        if groups and self.n_rows is not None and self.n_rows > rows:
            groups = tuple(groups[k] for k in spread(len(groups), max(len(groups) // 4, 1), rng))
        return spread_over(self._scanned(groups, columns, _SAMPLED_BATCH), rows, rng)

    def _scanned(self, groups: tuple[int, ...] | None, columns: Sequence[str], rows: int) -> Iterator[Any]:
        # one row group at a time: pyarrow reads all row groups of a call ahead
        whole = self.fragment
        parts = [whole] if groups is None else (whole.subset(row_group_ids=[k]) for k in groups)
        schema = {} if self.schema is None else {"schema": self.schema}
        for part in parts:
            for batch in part.to_batches(columns=list(columns), batch_size=rows, batch_readahead=_READ_AHEAD, **schema):
                if batch.num_rows:
                    yield batch
