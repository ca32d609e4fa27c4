"""Counts of Spark data frames: each partition becomes one row with its sketch, and these are merged by Spark and then here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import require_different
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, ReadOptions
from copula_discrepancy.data.streams.blocks import Block
from copula_discrepancy.data.streams.failures import failures_named
from copula_discrepancy.data.streams.parquet import require_pyarrow
from copula_discrepancy.data.streams.source import Piece, Source, chosen_names
from copula_discrepancy.estimate.scanning import (
    Layout,
    PieceCounter,
    ScanOptions,
    block_rows,
    refuse_checkpoint,
    sketch_source,
    together,
)
from copula_discrepancy.estimate.scanning_partials import counted_rows, merged, merged_rows
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_plan import SketchPlan

_LABEL = "the Spark data frame"
_SCHEMA = "sketch binary, error string, code string"
_MERGERS = 4  # partitions in which sketches are merged before the rest comes here: results of a job are limited to 1 GB
_MARGIN = 1.05  # times the wanted share: a sample by chance may be smaller
_SEEDS = 2**31


def sketch_of_spark(
    frame: Any, *, iid: bool, options: ScanOptions, chains: int | str | None = None
) -> tuple[DependenceSketch, tuple[Caveat, ...]]:
    """The sketch of a `pyspark.sql.DataFrame`, and its caveats; see `sketch_source`."""
    return sketch_source(open_spark(frame), iid=iid, options=options, chains=chains)


def open_spark(frame: Any, group: str = DEFAULT_GROUP) -> Source:
    """A Spark data frame as a source of one piece, whose rows have no order."""
    require_pyarrow()
    every = list(frame.columns)
    require_different(every)
    names = chosen_names(every, ReadOptions.checked(None, None, group, None, None, None), "a Spark data frame")
    piece = SparkPiece(_LABEL, None, None, None, frame)
    return Source("Spark data frame", names, (piece,), False, None, 1, "spark", False, None)


@dataclass(frozen=True, eq=False)
class SparkPiece(Piece):
    """A whole Spark data frame."""

    frame: Any = field(repr=False)

    def selected(self, columns: Sequence[str]) -> Any:
        """The frame with just these columns, whatever characters their names have."""
        return self.frame.select(*("`" + name.replace("`", "``") + "`" for name in columns))

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        raise InputError("its rows are counted by Spark and do not come here; write them to Parquet files to read them")

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block:
        chosen = self.selected(columns)
        length = self.frame.count()
        if length > rows:
            chosen = chosen.sample(fraction=min(_MARGIN * rows / length, 1.0), seed=int(rng.integers(_SEEDS))).limit(2 * rows)
        return _arrow(chosen)


def scan_spark(source: Source, plan: SketchPlan, layout: Layout, options: ScanOptions) -> DependenceSketch:
    """The counts of all rows of a Spark data frame."""
    refuse_checkpoint(options, "Spark")
    (piece,) = source.pieces
    assert isinstance(piece, SparkPiece)
    counter = PieceCounter(plan, layout, block_rows(plan, options))

    columns = [*plan.names, *layout.columns]

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        yield from counted_rows(counter, _partition(), (_renamed(batch, columns) for batch in batches))

    def merge(batches: Iterator[Any]) -> Iterator[Any]:
        yield from merged_rows(plan, batches)

    with failures_named(piece.label):
        # mapInArrow takes a name with a dot as that of a field
        numbered = piece.selected(columns).toDF(*(f"c{k}" for k in range(len(columns))))
        counted = numbered.mapInArrow(count, _SCHEMA)
        some = _arrow(counted.repartition(_MERGERS).mapInArrow(merge, _SCHEMA))
        found = merged(plan, some.to_batches())
    return together([found], plan, source.kind)


def _arrow(frame: Any) -> Any:
    """A small frame as an Arrow table, or before Spark 4 as one of pandas."""
    return frame.toArrow() if hasattr(frame, "toArrow") else frame.toPandas()


def _renamed(batch: Any, columns: Sequence[str]) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_arrays(batch.columns, names=list(columns))


def _partition() -> str:
    """What messages call the partition that a worker counts."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return "a partition" if context is None else f"partition {context.partitionId()}"
