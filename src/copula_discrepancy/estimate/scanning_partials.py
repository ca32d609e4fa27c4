"""Sketches of parts of the rows as rows of a table, in which Ray and Spark move them; errors of the data move in the same way.

An error that a worker raised would be repeated several times, and reach the user inside one of the engine's own.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.streams.blocks import Block, in_slices, joined, length_of, with_columns
from copula_discrepancy.data.streams.failures import failures_named
from copula_discrepancy.estimate.scanning import PieceCounter
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_file import from_bytes, to_bytes
from copula_discrepancy.estimate.sketch_plan import SketchPlan

COLUMNS = ("sketch", "error", "code")


def counted_rows(counter: PieceCounter, label: str, blocks: Iterable[Block]) -> Iterator[Any]:
    """The sketch of blocks of rows as a batch of one row, or their error; nothing if there are no rows."""
    sketch = DependenceSketch.empty(counter.plan)
    columns = (*counter.plan.names, *counter.layout.columns)
    try:
        with failures_named(label):
            for block in _gathered(blocks, counter.rows):
                counter.add_block(sketch, with_columns(block, columns), start=None, chain=None, label="", n_jobs=None)
    except InputError as error:
        yield _batch(b"", str(error), error.code)
        return
    if sketch.n:
        yield _batch(to_bytes(sketch))


def merged_rows(plan: SketchPlan, batches: Iterable[Any]) -> Iterator[Any]:
    """The sketches of several rows as a batch of one row, or the first error among them; nothing if there are no rows."""
    try:
        sketch = merged(plan, batches)
    except InputError as error:
        yield _batch(b"", str(error), error.code)
        return
    if sketch.n:
        yield _batch(to_bytes(sketch))


def merged(plan: SketchPlan, batches: Iterable[Any]) -> DependenceSketch:
    """The sketch of all rows; raises the first error among them."""
    found = DependenceSketch.empty(plan)
    for batch in batches:
        columns = [batch.column(batch.schema.get_field_index(name)) for name in COLUMNS]
        for data, error, code in zip(*columns, strict=True):  # one at a time: each may be large
            if error.as_py():
                raise InputError(error.as_py(), code.as_py())
            found.merge(from_bytes(data.as_py()))
    return found


def _gathered(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """Blocks of `rows` rows: Spark's batches of 10,000 would be counted in more time than larger ones."""
    held: list[Block] = []
    count = 0
    for block in blocks:
        for part in in_slices(block, rows):
            if held and count + length_of(part) > rows:
                yield joined(held)
                held, count = [], 0
            held.append(part)
            count += length_of(part)
    if held:
        yield joined(held)


def _batch(data: bytes, error: str = "", code: str = "") -> Any:
    import pyarrow

    arrays = [pyarrow.array([data], pyarrow.binary()), pyarrow.array([error]), pyarrow.array([code])]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(COLUMNS))
