"""Counts of Ray datasets: each block is counted where it is, and sketches are merged by Ray's workers and then here.

`ray.data.aggregate.AggregateFnV2` is not used: Ray 2.60 combines the partial results of an aggregation without groups in one
actor, which holds a hundred of them before it begins.
"""

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, ReadOptions
from copula_discrepancy.data.streams.blocks import Block, in_slices, joined, length_of, spread, taken
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

_LABEL = "the Ray dataset"
_FAN_IN = 8  # sketches that a task merges before the rest comes here
_MERGING = 0.5  # of a core, for merging: half of the tasks may wait for memory
_PILOT_BLOCKS = 16  # from which a pilot sample comes, if there are as many: others are not even read
_SEEDS = 2**31


def sketch_of_ray(
    dataset: Any, *, iid: bool, options: ScanOptions, chains: int | str | None = None
) -> tuple[DependenceSketch, tuple[Caveat, ...]]:
    """The sketch of a `ray.data.Dataset`, and its caveats; see `sketch_source`."""
    return sketch_source(open_ray(dataset), iid=iid, options=options, chains=chains)


def open_ray(dataset: Any, group: str = DEFAULT_GROUP) -> Source:
    """A Ray dataset as a source of one piece, whose rows have no order."""
    require_pyarrow()
    with failures_named(_LABEL):
        schema = dataset.schema()
        if schema is None:
            raise InputError("has no rows, so its columns are unknown", "too-few-draws")
    names = chosen_names(schema.names, ReadOptions.checked(None, None, group, None, None, None), "a Ray dataset")
    piece = RayPiece(_LABEL, None, None, None, dataset)
    return Source("Ray dataset", names, (piece,), False, None, 1, "ray", False, None)


@dataclass(frozen=True, eq=False)
class RayPiece(Piece):
    """A whole Ray dataset."""

    dataset: Any = field(repr=False)

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        for batch in self.dataset.select_columns(list(columns)).iter_batches(batch_size=None, batch_format="pyarrow"):
            yield from in_slices(batch, rows)

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block | None:
        seed = int(rng.integers(_SEEDS))
        found: list[Block] = []
        # all rows of a block only if there are few blocks, or small ones
        for share in (-(-rows // _PILOT_BLOCKS), rows):
            thinned = (
                self.dataset.randomize_block_order(seed=seed)
                .select_columns(list(columns))
                .map_batches(_thinned, batch_size=None, batch_format="pyarrow", fn_kwargs={"rows": share, "seed": seed})
                .limit(rows)
            )
            found = [batch for batch in thinned.iter_batches(batch_size=None, batch_format="pyarrow") if length_of(batch)]
            if sum(map(length_of, found)) >= rows // 2 or all(length_of(batch) < share for batch in found):
                break
        return joined(found) if found else None


def scan_ray(source: Source, plan: SketchPlan, layout: Layout, options: ScanOptions) -> DependenceSketch:
    """The counts of all rows of a Ray dataset."""
    refuse_checkpoint(options, "Ray")
    (piece,) = source.pieces
    assert isinstance(piece, RayPiece)
    counter = PieceCounter(plan, layout, block_rows(plan, options))
    with failures_named(piece.label):
        counted = piece.dataset.select_columns([*plan.names, *layout.columns]).map_batches(
            _counted, batch_size=None, batch_format="pyarrow", zero_copy_batch=True, fn_kwargs={"counter": counter}
        )
        # a task with other resources is not fused with the one before, where it would find a single sketch
        some = counted.map_batches(
            _merged, batch_size=_FAN_IN, batch_format="pyarrow", num_cpus=_MERGING, fn_kwargs={"plan": plan}
        )
        found = merged(plan, some.iter_batches(batch_size=1, batch_format="pyarrow"))
    return together([found], plan, source.kind)


# ---- on Ray's workers --------------------------------------------------------------------------------------------------


def _thinned(batch: Any, rows: int, seed: int) -> Any:
    return taken(batch, spread(length_of(batch), rows, np.random.default_rng(seed)))


def _counted(batch: Any, counter: PieceCounter) -> Iterator[Any]:
    yield from _tables(counted_rows(counter, _task(), [batch]))


def _merged(batch: Any, plan: SketchPlan) -> Iterator[Any]:
    yield from _tables(merged_rows(plan, [batch]))


def _tables(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow

    for batch in batches:
        yield pyarrow.Table.from_batches([batch])


def _task() -> str:
    """What messages call the block of a task: Ray numbers tasks, not blocks."""
    try:
        interfaces = importlib.import_module("ray.data._internal.execution.interfaces")
        return f"task {interfaces.TaskContext.get_current().task_idx}"
    except (ImportError, AttributeError):  # it is not public
        return "a block"
