"""Counts of Dask collections, and of files on the workers of a Dask cluster: sketches travel, rows do not."""

import importlib
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy.data.naming import errors_about
from copula_discrepancy.data.streams.blocks import Block, in_slices, length_of, with_columns
from copula_discrepancy.data.streams.failures import failures_named
from copula_discrepancy.data.streams.frames import DaskPartition
from copula_discrepancy.data.streams.source import Piece, Source
from copula_discrepancy.estimate.encoding import column_of
from copula_discrepancy.estimate.scanning import (
    Layout,
    PieceCounter,
    ScanOptions,
    block_rows,
    scan_here,
    together,
    whole_numbers,
)
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_plan import SketchPlan

_FAN_IN = 4  # sketches that are merged in one task: it holds five, of up to 150 MB each
_LOST = ("KilledWorker", "FutureCancelledError", "CancelledError")  # Dask's errors about workers, not about data
_TASKS = 4  # for each worker, if pieces are small enough: workers then end at about the same time
_TIMES = 32  # rows over the cells of a pair: sending and merging a sketch then takes a tenth of the time of counting it
_LARGEST_PIECE = 1_000_000  # bytes of a piece that is sent to a worker: one that is larger contains rows


def scan_dask(source: Source, plan: SketchPlan, layout: Layout, options: ScanOptions) -> DependenceSketch:
    """The counts of all rows of a source, where Dask computes them.

    Partitions of Dask collections are counted by the scheduler in use, pieces of other sources by the workers of the active
    client, which read them themselves. Everything else is counted in this process.
    """
    client = active_client()
    lazy = source.engine == "dask"
    here = not lazy and (client is None or not _can_be_sent(source.pieces))
    if here or options.checkpoint is not None:  # whose counts are saved by this process
        return scan_here(source, plan, layout, options)
    counter = PieceCounter(plan, layout, block_rows(plan, options))
    places = _places(source.pieces, counter, client, lazy)
    groups = _grouped(places, counter.rows if lazy else _rows_of_a_task(source, counter, client))
    columns = (*plan.names, *layout.columns)
    shared = _dask().delayed(counter, traverse=False)  # one task, so that it is sent to each worker once
    labels = [[place.label for place in places[group]] for group in groups]
    size = _block_size(places, counter)
    if lazy:
        blocks = _lazy_blocks(source.pieces, columns)
        parts = [blocks[group] for group in groups]
        tasks = [_delayed(partial(_count_blocks, places[group], size), shared, blocks[group]) for group in groups]
    else:
        parts = [[] for _ in groups]
        tasks = [_delayed(partial(_count_pieces, places[group], size, source.pieces[group]), shared) for group in groups]
    with progress_bar(options.progress, "pieces", len(places)) as tick:
        found = _computed(client, _Leaves(tasks, labels, parts, tick), _merged_as_tree(tasks, shared), source.kind)
    # what comes from a worker cannot be written to
    return together([DependenceSketch.empty(plan), found], plan, source.kind)


def active_client() -> Any:
    """The client of a Dask cluster that is active in this process, or None."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    if _dask().config.get("scheduler", None) not in (None, "dask.distributed", "distributed"):
        return None  # the user asked for threads or processes of this machine
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return None  # a task that waits for other tasks of its worker would wait forever
    try:
        client = distributed.get_client()
    except ValueError:
        return None
    return None if client.asynchronous else client


# ---- on workers --------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where the rows of a piece belong: `start` is the number of the first, and `starts` that of the first of each chain.

    `chains` has the number of rows of each chain, if it was found out.
    """

    label: str
    n_rows: int | None
    chain: int | None
    start: int | None
    starts: Mapping[int, int] | None = None
    chains: Mapping[int, int] | None = None


def _count_blocks(places: Sequence[_Place], size: int, counter: PieceCounter, blocks: Sequence[Block]) -> DependenceSketch:
    """The sketch of computed partitions."""
    sketch = _empty(counter, size)
    columns = (*counter.plan.names, *counter.layout.columns)
    for place, block in zip(places, blocks, strict=True):
        with errors_about(place.label):
            rows = with_columns(block, columns)
        _add(sketch, counter, place, in_slices(rows, counter.rows))
    return sketch


def _count_pieces(places: Sequence[_Place], size: int, pieces: Sequence[Piece], counter: PieceCounter) -> DependenceSketch:
    """The sketch of pieces that the worker reads."""
    sketch = _empty(counter, size)
    columns = (*counter.plan.names, *counter.layout.columns)
    for place, piece in zip(places, pieces, strict=True):
        with _read_on_worker():
            _add(sketch, counter, place, piece.blocks(columns, counter.rows))
    return sketch


def _empty(counter: PieceCounter, size: int) -> DependenceSketch:
    """A sketch of no rows, whose blocks of consecutive rows have the length that they have in the end.

    Shorter ones, as for the rows of one task alone, would take several times as long to count.
    """
    sketch = DependenceSketch.empty(counter.plan)
    sketch.block_rows = max(sketch.block_rows, size)
    return sketch


def _add(sketch: DependenceSketch, counter: PieceCounter, place: _Place, blocks: Iterable[Block]) -> None:
    start = place.start
    starts = None if place.starts is None else dict(place.starts)
    for block in blocks:
        counter.add_block(sketch, block, start=start, chain=place.chain, label=place.label, n_jobs=None, starts=starts)
        start = None if start is None else start + length_of(block)


def _merged(counter: PieceCounter, parts: Sequence[DependenceSketch]) -> DependenceSketch:
    """Sketches as one; they are not changed, because a worker that is asked again needs them as they were."""
    return together([DependenceSketch.empty(counter.plan), *parts], counter.plan, "")


def _block_length(layout: Layout, block: Block) -> tuple[int, dict[int, int]]:
    """The rows of a block, and of each chain in it if a column, its only one, says which they are."""
    if layout.chain is None:
        return length_of(block), {}
    chains, counts = np.unique(whole_numbers(column_of(block, layout.chain), layout.chain), return_counts=True)
    return length_of(block), dict(zip(chains.tolist(), counts.tolist(), strict=True))


def _piece_length(layout: Layout, piece: Piece, column: str, rows: int) -> tuple[int, dict[int, int]]:
    total, chains = 0, dict[int, int]()
    with _read_on_worker():
        for block in piece.blocks((column,), rows):
            length, own = _block_length(layout, block)
            total += length
            for chain, count in own.items():
                chains[chain] = chains.get(chain, 0) + count
    return total, chains


@contextmanager
def _read_on_worker() -> Iterator[None]:
    """A context in which errors about files say who reads them."""
    try:
        yield
    except InputError as error:
        if error.code == "file":
            advice = "each worker of the Dask cluster reads files itself, so all must be able to read the same paths"
            error.args = (f"{error}; {advice}",)
        raise


# ---- what is computed --------------------------------------------------------------------------------------------------


def _dask() -> Any:
    return importlib.import_module("dask")  # not typed: it exports nothing explicitly


def _delayed(function: Callable[..., Any], *given: Any) -> Any:
    """A task; its key is new, because a piece does not say whether its file has changed."""
    return _dask().delayed(function, pure=False, traverse=False)(*given)


def _can_be_sent(pieces: Sequence[Piece]) -> bool:
    """Whether workers can read several pieces: those of queries and streams belong to this process."""
    if len(pieces) < 2:
        return False
    try:
        return max(len(pickle.dumps(piece)) for piece in pieces) <= _LARGEST_PIECE
    except Exception:  # of any object that refuses
        return False


def _lazy_blocks(pieces: Sequence[Piece], columns: Sequence[str]) -> list[Any]:
    """The partitions as Delayed objects; only these columns are computed."""
    first = pieces[0]
    if isinstance(first, DaskPartition):
        known = first.frame.columns
        parts = first.frame[[known[first.names.index(name)] for name in columns]].to_delayed()
        # one graph for all; Dask may read several files as one partition, which then has no number of its own
        if len(parts) == len(pieces):
            return list(parts)
    return [piece.delayed(columns) for piece in pieces]


def _places(pieces: Sequence[Piece], counter: PieceCounter, client: Any, lazy: bool) -> list[_Place]:
    """Where the rows of each piece belong; if that matters and is not known, one column is read before all others."""
    layout = counter.layout
    given = [_Place(piece.label, piece.n_rows, piece.chain, piece.start) for piece in pieces]
    if not counter.plan.serial or layout.draw is not None:
        return given
    by_column = layout.chain is not None
    if not by_column and all(place.start is not None for place in given):
        return given
    lengths = _lengths(pieces, counter, client, lazy)
    found, seen = [], dict[int | None, int]()
    for place, (length, chains) in zip(given, lengths, strict=True):
        if by_column:
            starts = {chain: seen.get(chain, 0) for chain in chains}
            found.append(place._replace(n_rows=length, starts=starts, chains=chains))
            moved: Mapping[Any, int] = chains
        else:
            found.append(place._replace(n_rows=length, start=seen.get(place.chain, 0)))
            moved = {place.chain: length}
        for chain, count in moved.items():
            seen[chain] = seen.get(chain, 0) + count
    return found


def _block_size(places: Sequence[_Place], counter: PieceCounter) -> int:
    """The length of blocks of consecutive rows when all rows are counted; 0 if it is not known before."""
    if not counter.plan.serial:
        return 0
    totals: dict[int, int] = {}
    for place in places:
        own = place.chains
        if own is None:
            if place.n_rows is None or counter.layout.chain is not None:
                return 0
            own = {place.chain or 0: place.n_rows}
        for chain, count in own.items():
            totals[chain] = totals.get(chain, 0) + count
    return counter.plan.block_rows(DependenceSketch.block_rows, max(totals.values(), default=0), len(totals))


def _lengths(pieces: Sequence[Piece], counter: PieceCounter, client: Any, lazy: bool) -> list[tuple[int, dict[int, int]]]:
    """The rows of every piece, and those of each chain in it."""
    layout = counter.layout
    column = layout.chain or counter.plan.names[0]
    if lazy:
        leaves = [_delayed(partial(_block_length, layout), block) for block in _lazy_blocks(pieces, (column,))]
    else:
        leaves = [_delayed(partial(_piece_length, layout, piece, column, counter.rows)) for piece in pieces]
    waiting = _Leaves(leaves, [[piece.label] for piece in pieces], [[] for _ in pieces], lambda done: None)
    return _computed(client, waiting, _delayed(list, leaves), "the lengths of the pieces")


def _rows_of_a_task(source: Source, counter: PieceCounter, client: Any) -> int:
    """Rows of small files that one task counts: enough for a sketch, but all workers have several tasks."""
    plan = counter.plan
    worth = _TIMES * int(plan.offsets[-1]) // len(plan.pairs)
    workers = sum(client.nthreads().values())
    share = worth if source.n_rows is None else source.n_rows // (_TASKS * max(workers, 1))
    return max(min(share, worth), counter.rows)


def _grouped(places: Sequence[_Place], most: int) -> list[slice]:
    """Consecutive pieces that one task counts: together they have at most as many rows as one may have anyway."""
    groups: list[slice] = []
    rows = most + 1
    for k, place in enumerate(places):
        length = most + 1 if place.n_rows is None else place.n_rows
        rows += length
        if rows > most:
            groups.append(slice(k, k + 1))
            rows = length
        else:
            groups[-1] = slice(groups[-1].start, k + 1)
    return groups


def _merged_as_tree(leaves: Sequence[Any], shared: Any) -> Any:
    """The sketches of all leaves, merged on the workers a few at a time."""
    level = list(leaves)
    while len(level) > _FAN_IN:
        parts = [level[k : k + _FAN_IN] for k in range(0, len(level), _FAN_IN)]
        level = [part[0] if len(part) == 1 else _delayed(_merged, shared, part) for part in parts]
    return _delayed(_merged, shared, level)  # also of a single one, because leaves are released


# ---- where it is computed ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Leaves:
    """Tasks that count pieces, the labels of the pieces of each and what they are computed from, and a progress bar."""

    tasks: Sequence[Any]
    labels: Sequence[Sequence[str]]
    blocks: Sequence[Sequence[Any]]
    tick: Callable[[int], None]

    def named(self, number: int, error: BaseException) -> BaseException:
        """The error of a task as an InputError that names its piece, unless it does or memory ran out."""
        labels = self.labels[number]
        if any(str(error).startswith(f"{label}: ") for label in labels):
            return error
        for label, block in zip(labels, self.blocks[number], strict=False) if len(labels) > 1 else ():
            try:
                _delayed(length_of, block).compute()
            except Exception as own:
                return _as_input_error(own, label)
        return _as_input_error(error, labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}")


def _as_input_error(error: BaseException, label: str) -> BaseException:
    if type(error).__name__ in _LOST:
        reason = "workers died repeatedly, possibly out of memory, or the cluster was closed"
        return InputError(f"{label}: {reason}; use smaller partitions, or allow workers more memory", "interrupted")
    try:
        with failures_named(label):
            raise error
    except Exception as named:
        return named


def _computed(client: Any, leaves: _Leaves, wanted: Any, what: str) -> Any:
    """The value of a task that needs all leaves; an error names the pieces of the leaf that failed."""
    return _on_workers(client, leaves, wanted, what) if client is not None else _on_scheduler(leaves, wanted, what)


def _on_workers(client: Any, leaves: _Leaves, wanted: Any, what: str) -> Any:
    distributed = importlib.import_module("distributed")
    *futures, last = client.compute([*leaves.tasks, wanted])
    numbers = {future.key: k for k, future in enumerate(futures)}
    done = 0
    try:
        for future in distributed.as_completed(futures):
            number = numbers[future.key]
            if future.status != "finished":
                error = future.exception() if future.status == "error" else CancelledError()
                raise leaves.named(number, error) from error
            # a sketch is kept until it is merged, and no longer
            future.release()
            done += len(leaves.labels[number])
            leaves.tick(done)
        try:
            return last.result()
        except Exception as error:
            raise _as_input_error(error, what) from error
    except BaseException:
        client.cancel([*futures, last])
        raise


def _on_scheduler(leaves: _Leaves, wanted: Any, what: str) -> Any:
    callbacks = importlib.import_module("dask.callbacks")
    numbers = {task.key: k for k, task in enumerate(leaves.tasks)}
    finished: set[int] = set()

    def note(key: Any, *_: Any) -> None:
        if key in numbers:
            finished.add(numbers[key])
            leaves.tick(sum(len(leaves.labels[k]) for k in finished))

    try:
        with callbacks.Callback(posttask=note):
            return wanted.compute()
    except MemoryError:
        raise
    except Exception as error:  # of any code that computes a partition
        _raise_named(leaves, finished, error)
        raise _as_input_error(error, what) from error


def _raise_named(leaves: _Leaves, finished: set[int], error: Exception) -> None:
    """Raise the error with the label of its piece; schedulers of one machine do not say which task failed, so look for it."""
    if any(str(error).startswith(f"{label}: ") for labels in leaves.labels for label in labels):
        raise error
    for number, task in enumerate(leaves.tasks):
        if number in finished:
            continue
        try:
            task.compute()
        except MemoryError:
            raise
        except Exception as own:
            raise leaves.named(number, own) from own
