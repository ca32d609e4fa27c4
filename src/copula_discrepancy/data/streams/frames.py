"""Tables that other libraries compute when they are read: Dask's frames, polars' LazyFrames and DuckDB's relations."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import require_different
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.blocks import Block, in_slices, length_of, polars_block, with_columns
from copula_discrepancy.data.streams.failures import failures_named
from copula_discrepancy.data.streams.lazy import LazyPiece, delayed_call
from copula_discrepancy.data.streams.parquet import require_pyarrow
from copula_discrepancy.data.streams.source import Piece, Source, chosen_names

_VIEW = "copula_discrepancy_rows"  # what a sample's query calls the relation
_SEEDS = 2**31  # DuckDB's seeds are 32-bit integers


def open_dask_frame(given: Any, options: ReadOptions) -> Source:
    """The rows of a Dask frame in the order of its partitions; its index is left out."""
    every = tuple(str(name) for name in given.columns)
    require_different(every)
    names = chosen_names(every, options, "a Dask dataframe")
    count = int(given.npartitions)
    pieces = tuple(DaskPartition(f"partition {k}", None, 0 if k == 0 else None, None, given, every, k) for k in range(count))
    kind = f"Dask dataframe, {count} partition{'s' * (count != 1)}"
    return Source(kind, names, pieces, True, None, 1, "dask", False, None)


@dataclass(frozen=True, eq=False)
class DaskPartition(LazyPiece):
    """A partition of a Dask frame, by its number; only the columns that are asked for are computed."""

    frame: Any = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    number: int

    def delayed(self, columns: Sequence[str]) -> Any:
        """A Dask Delayed of the partition as a pandas frame with these columns."""
        known = self.frame.columns
        chosen = [known[self.names.index(name)] for name in columns]
        partition = self.frame[chosen].partitions[self.number].to_delayed()[0]
        return delayed_call(with_columns, partition, list(columns))


def open_polars(given: Any, options: ReadOptions) -> Source:
    """The rows of a LazyFrame, computed by polars in batches."""
    with failures_named("the LazyFrame"):
        schema = given.collect_schema()
    names = chosen_names(schema.names(), options, "a LazyFrame")
    nested = next((name for name in names if schema[name].is_nested()), None)
    if nested is not None:
        found = f"column {nested} is nested (type {schema[nested]!s:.60}), but a variable has one number in each row"
        raise InputError(f"{found}; unnest it, or select the others by name", "shape")
    piece = PolarsPiece("the LazyFrame", None, 0, None, given)
    return Source("Polars LazyFrame", names, (piece,), False, None, 1, "local", False, None)


@dataclass(frozen=True, eq=False)
class PolarsPiece(Piece):
    """A whole LazyFrame."""

    frame: Any = field(repr=False)

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        chosen = self.frame.select(list(columns))
        for batch in _polars_batches(chosen, rows):
            yield from in_slices(polars_block(batch), rows)

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block:
        chosen = self.frame.select(list(columns))
        length = _polars_length(self.frame)
        distance = max(length // rows, 1)
        # one pass of the streaming engine; slices would run a query with joins or groups once for each
        thinned = chosen.gather_every(distance, int(rng.integers(distance)))
        return polars_block(thinned.collect(engine="streaming"))


def _polars_batches(frame: Any, rows: int) -> Iterator[Any]:
    if hasattr(frame, "collect_batches"):
        yield from frame.collect_batches(chunk_size=rows)
        return
    for begin in range(0, _polars_length(frame), rows):  # polars < 1.34
        yield frame.slice(begin, rows).collect()


def _polars_length(frame: Any) -> int:
    import polars

    return int(frame.select(polars.len()).collect().item())


def open_duckdb(given: Any, options: ReadOptions) -> Source:
    """The rows of a relation; DuckDB runs the query again each time it is read."""
    require_pyarrow()
    every = [str(name) for name in given.columns]
    require_different(every)
    names = chosen_names(every, options, "a DuckDB relation")
    piece = DuckDBPiece("the DuckDB relation", None, 0, None, given)
    return Source("DuckDB relation", names, (piece,), False, None, 1, "local", False, None)


@dataclass(frozen=True, eq=False)
class DuckDBPiece(Piece):
    """A whole relation; it belongs to its connection, so it cannot be sent to another process."""

    relation: Any = field(repr=False)  # its text is the whole table

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        chosen = self.relation.project(_quoted(columns))
        reader = chosen.to_arrow_reader(rows) if hasattr(chosen, "to_arrow_reader") else chosen.fetch_record_batch(rows)
        with closing(reader):  # a connection runs no other query while a result is open
            for batch in reader:
                yield from in_slices(batch, rows)

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block:
        seed = int(rng.integers(_SEEDS))
        sampling = f"USING SAMPLE reservoir({rows} ROWS) REPEATABLE ({seed})"
        chosen = self.relation.query(_VIEW, f"SELECT {_quoted(columns)} FROM {_VIEW} {sampling}")
        table = chosen.to_arrow_table() if hasattr(chosen, "to_arrow_table") else chosen.fetch_arrow_table()
        assert length_of(table) <= rows
        return table


def _quoted(columns: Sequence[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
