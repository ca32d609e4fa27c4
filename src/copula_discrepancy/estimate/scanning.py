"""Sketches of sources: a pilot sample fixes the bins, and then every piece is read once and counted."""

import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.checks import is_whole, real_number, true_or_false
from copula_discrepancy._core.errors import DependenceWarning, InputError
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy._core.warn import warn
from copula_discrepancy._core.workers import checked_jobs, thread_count
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.naming import errors_about, listed
from copula_discrepancy.data.readers.chain_columns import CHAIN_NAMES, DRAW_NAMES
from copula_discrepancy.data.streams.blocks import Block, joined, length_of, taken
from copula_discrepancy.data.streams.pilot import head_and_rest, pilot_blocks
from copula_discrepancy.data.streams.source import Piece, Source, open_source
from copula_discrepancy.estimate.bins import COARSEST, FINEST
from copula_discrepancy.estimate.encoding import column_of
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_plan import PILOT_ROWS, SketchPlan, bins_for, plan_of
from copula_discrepancy.estimate.sketch_reading import blocks_to_merge

_BLOCK_BYTES = 64e6  # of a block that is read at once, as numbers; a few are in memory at a time
_FEWEST_ROWS, _MOST_ROWS = 4096, 1 << 18
_SKETCHES = 0.5  # share of the memory that the sketches of all threads may take
_SHARE = 0.1  # of the memory that blocks may take, for each worker


MEMORY = "2GB"
UNORDERED = "the rows have no order, so they are treated as independent"
_UNITS = {"": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}


def checked_memory(memory: Any) -> float:
    """A number of bytes, from a number or a text such as "2GB"."""
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-zA-Z]*)\s*", memory)
        if found is None or found[2].lower() not in _UNITS:
            raise InputError(f"memory must be a number of bytes or a text such as '2GB' or '500MB', got {memory!r}")
        size = float(found[1]) * _UNITS[found[2].lower()]
    else:
        size = real_number(memory, "memory")
    if not size >= 50e6:
        raise InputError(f"memory must be at least 50MB, got {memory!r}")
    return size


@dataclass(frozen=True)
class ScanOptions:
    """How sources are read.

    Attributes
    ----------
    memory : float
        Bytes that reading and counting may take.
    n_jobs : int or None
        Threads.
    progress : bool or None
        Whether to show a progress bar.
    checkpoint : path or None
        A folder in which counts are saved.
    bins : int or None
        The largest number of bins of a column; None to choose it.
    selection : mapping
        Options of `as_draws`: var_names, exclude, kinds and others.
    triples : bool
        Whether to count triples of columns as well.
    """

    memory: float
    n_jobs: int | None = -1
    progress: bool | None = None
    checkpoint: Any = None
    bins: int | None = None
    selection: Mapping[str, Any] = field(default_factory=dict)
    triples: bool = False


@dataclass(frozen=True, eq=False)
class Layout:
    """Columns of a source that are not variables: that of the chain, and that of the number of the draw."""

    chain: str | None = None
    draw: str | None = None

    @classmethod
    def of(cls, names: Sequence[str], chains: int | str | None, exclude: Any = None) -> "Layout":
        """The columns by their names, as in tables that are read whole; one that is excluded identifies nothing."""
        out = {exclude} if isinstance(exclude, str) else {*(exclude or ())}
        names = [name for name in names if name not in out]
        if isinstance(chains, int) and chains > 1:
            raise InputError(
                f"chains={chains} divides rows in memory; of rows that are counted, name the column of the chain, or pass one "
                "file per chain"
            )
        found = chains if isinstance(chains, str) else next((name for name in CHAIN_NAMES if name in names), None)
        if isinstance(chains, str) and chains not in names:
            raise InputError(f"chains: there is no column {chains!r}; columns: {listed(names)}", "unknown-name")
        if found is None:
            return cls()
        return cls(found, next((name for name in DRAW_NAMES if name in names), None))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of these columns."""
        return tuple(name for name in (self.chain, self.draw) if name is not None)


def _require_pairs(draws: Draws) -> None:
    if draws.n_variables < 2:
        raise InputError(f"pairs need at least two variables, got {draws.n_variables} ({listed(draws.names)})", "shape")


def plan_source(
    source: Source, *, iid: bool, options: ScanOptions, chains: int | str | None = None, rows: int = PILOT_ROWS, rng: int = 0
) -> tuple[SketchPlan, Layout, Source]:
    """The plan for a source, the columns that are no variables, and the source, from which nothing was lost."""
    layout = Layout.of(source.names, chains, options.selection.get("exclude"))
    if source.once:
        blocks, source = head_and_rest(source, source.names, rows)
    else:
        blocks = pilot_blocks(source, source.names, rows, np.random.default_rng(rng))
    if not blocks:
        raise InputError(f"{source.kind} has no rows", "too-few-draws")
    chained = layout.chain is not None or source.n_chains > 1
    pilot = _pilot_draws(joined(blocks), layout, chained, options)
    _require_pairs(pilot)
    ordered = source.ordered or layout.draw is not None
    notes = []
    if not iid and not ordered:
        notes.append(UNORDERED)
    if options.selection.get("missing") == "listwise":
        raise InputError(
            "missing='listwise' is not possible for rows that are counted, pair by pair; use missing='pairs' or 'raise'",
            "argument",
        )
    missing_ok = options.selection.get("missing") != "raise" and not (chained and options.selection.get("missing") is None)
    bins = options.bins or bins_for(pilot.n_variables, options.memory)
    return (
        plan_of(
            pilot,
            bins=bins,
            serial=ordered and not iid,
            missing_ok=missing_ok,
            chained=chained,
            notes=notes,
            triples=options.triples,
            memory=options.memory,
        ),
        layout,
        source,
    )


def _pilot_draws(block: Block, layout: Layout, chained: bool, options: ScanOptions) -> Draws:
    """The rows of a pilot sample as draws without chains: rows of a sample form none."""
    excluded = options.selection.get("exclude")
    exclude = [*([excluded] if isinstance(excluded, str) else excluded or ()), *layout.columns]
    if isinstance(block, dict) and layout.columns:
        block = {name: values for name, values in block.items() if name not in layout.columns}
        exclude = [name for name in exclude if name not in layout.columns]
    elif layout.columns:
        block = _without(block, layout.columns)
        exclude = [name for name in exclude if name not in layout.columns]
    chosen = {key: value for key, value in options.selection.items() if key in ("var_names", "filter_vars", "kinds")}
    with errors_about("pilot sample"):
        try:
            return as_draws(block, **chosen, exclude=exclude or None, missing="pairs")
        except InputError:
            finite = _without_infinite(block)
            if finite is None:
                raise
            # the scan finds the infinite values again, and names their file
            return as_draws(finite, **chosen, exclude=exclude or None, missing="pairs")


def _without_infinite(block: Block) -> Block | None:
    """A block with missing values in place of infinite ones; None if it has none."""
    import pandas

    frame = pandas.DataFrame(block) if isinstance(block, dict) else block.to_pandas() if hasattr(block, "to_pandas") else block
    numbers = frame.select_dtypes("number")
    infinite = np.isinf(numbers.to_numpy(np.float64, na_value=np.nan))
    if not infinite.any():
        return None
    return frame.assign(**{name: numbers[name].mask(infinite[:, k]) for k, name in enumerate(numbers.columns)})


def _without(block: Block, names: Sequence[str]) -> Block:
    return block.drop(columns=list(names)) if type(block).__module__.startswith("pandas") else block.drop_columns(list(names))


def scan(source: Source, plan: SketchPlan, layout: Layout, options: ScanOptions) -> DependenceSketch:
    """The counts of all rows of a source."""
    if source.engine == "ray":
        from copula_discrepancy.estimate.scanning_ray import scan_ray

        return scan_ray(source, plan, layout, options)
    if source.engine == "spark":
        from copula_discrepancy.estimate.scanning_spark import scan_spark

        return scan_spark(source, plan, layout, options)
    if source.engine == "dask" or "distributed" in sys.modules:  # a client may be active
        from copula_discrepancy.estimate.scanning_dask import scan_dask

        return scan_dask(source, plan, layout, options)
    return scan_here(source, plan, layout, options)


def open_any(given: Any, *, group: str) -> Source | None:
    """A source, by `open_source`, or that of a dataset of Ray or a data frame of Spark, which are not imported for that."""
    module = type(given).__module__
    if module.startswith("ray.data."):
        from copula_discrepancy.estimate.scanning_ray import open_ray

        return open_ray(given, group)
    if module.startswith("pyspark.sql.") and hasattr(given, "mapInArrow"):
        from copula_discrepancy.estimate.scanning_spark import open_spark

        return open_spark(given, group)
    return open_source(given, group=group)


def files_as_chains(source: Source) -> Source:
    """A source of several files as chains, one per file, if these are equally long, as a sampler writes them."""
    paths: dict[str, list[Piece]] = {}
    for piece in source.pieces:
        paths.setdefault(getattr(piece, "path", ""), []).append(piece)
    lengths = {sum(piece.n_rows or 0 for piece in pieces) for pieces in paths.values()}
    if len(paths) < 2 or "" in paths or len(lengths) != 1 or any(piece.n_rows is None for piece in source.pieces):
        return source
    found: list[Piece] = []
    for chain, pieces in enumerate(paths.values()):
        start = 0
        for piece in pieces:
            found.append(replace(piece, chain=chain, start=start))
            start += piece.n_rows or 0
    return replace(source, kind=f"{source.kind} as chains", pieces=tuple(found), n_chains=len(paths))


def refuse_checkpoint(options: ScanOptions, engine: str) -> None:
    """Raise if counts should be saved that another engine makes."""
    if options.checkpoint is not None:
        raise InputError(f"checkpoint: {engine} repeats tasks that fail itself, and its counts are not saved; omit checkpoint")


def scan_here(source: Source, plan: SketchPlan, layout: Layout, options: ScanOptions) -> DependenceSketch:
    """The counts of all rows of a source, which threads of this process read."""
    counter = PieceCounter(plan, layout, block_rows(plan, options))
    with progress_bar(options.progress, "rows" if source.n_rows else "pieces", source.n_rows or len(source.pieces)) as tick:
        done = ScanProgress(tick, by_rows=bool(source.n_rows))
        # every thread has a sketch of its own
        room = int(_SKETCHES * options.memory / max(4.0 * float(plan.offsets[-1]), 1.0))
        workers = min(thread_count(options.n_jobs), len(source.pieces), max(room, 1))
        if options.checkpoint is not None:
            from copula_discrepancy.estimate.scanning_checkpoint import scan_with_checkpoint

            return scan_with_checkpoint(source, counter, options, workers, done)
        found = in_threads(enumerate(source.pieces), counter, workers, options.n_jobs, done)
    return together(found, plan, source.kind)


def block_rows(plan: SketchPlan, options: ScanOptions) -> int:
    """The rows of a block that is read at once."""
    room = min(_BLOCK_BYTES, _SHARE * options.memory / thread_count(options.n_jobs))
    return int(min(max(room / (8.0 * len(plan.columns)), _FEWEST_ROWS), _MOST_ROWS))


@dataclass(frozen=True, eq=False)
class PieceCounter:
    """Counts pieces of a source; it can be sent to another process.

    Attributes
    ----------
    plan, layout
        What is counted.
    rows : int
        Rows that are read at once.
    """

    plan: SketchPlan
    layout: Layout
    rows: int

    def add(self, sketch: DependenceSketch, piece: Piece, n_jobs: int | None, tick: Callable[[int], None]) -> None:
        """Add the rows of a piece to a sketch."""
        columns = (*self.plan.names, *self.layout.columns)
        start = piece.start
        for block in piece.blocks(columns, self.rows):
            self.add_block(sketch, block, start=start, chain=piece.chain, label=piece.label, n_jobs=n_jobs)
            start = None if start is None else start + length_of(block)
            tick(length_of(block))

    def add_block(
        self, sketch: DependenceSketch, block: Block, *, start: int | None, chain: int | None, label: str, n_jobs: int | None,
        starts: dict[int, int] | None = None,
    ) -> None:  # fmt: skip
        """Add a block of rows to a sketch, chain by chain if a column says to which each belongs.

        If no column has the numbers of draws, those of a chain follow the ones counted before, or `starts`, which moves on.
        """
        if self.layout.chain is None:
            sketch.update(block, start=start, chain=chain, label=label, n_jobs=n_jobs)
            return
        with errors_about(label):
            chains = whole_numbers(column_of(block, self.layout.chain), self.layout.chain)
            draws = None
            if self.layout.draw is not None and self.plan.serial:
                draws = whole_numbers(column_of(block, self.layout.draw), self.layout.draw)
        for number in np.unique(chains).tolist():
            inside = np.flatnonzero(chains == number)
            if draws is not None:
                _add_numbered(sketch, block, inside, np.maximum(draws[inside], 0), chain=number, label=label, n_jobs=n_jobs)
                continue
            first = None if starts is None else starts.get(number, 0)
            sketch.update(taken(block, inside), start=first, chain=number, label=label, n_jobs=n_jobs)
            if starts is not None:
                starts[number] = starts.get(number, 0) + inside.size


def _add_numbered(
    sketch: DependenceSketch, block: Block, rows: NDArray[np.intp], numbers: NDArray[np.int64], **about: Any
) -> None:
    """Add rows by their numbers, in any order: what counts is the block of consecutive rows that each belongs to."""
    order = np.argsort(numbers, kind="stable")
    rows, numbers = rows[order], numbers[order]
    end = rows.size
    while end:
        size = sketch.block_rows
        low = int(numbers[end - 1]) // size * size
        begin = max(int(np.searchsorted(numbers, low)), end - size)
        sketch.update(taken(block, rows[begin:end]), start=low, **about)
        end = begin


def whole_numbers(column: Any, name: str) -> Any:
    """The numbers of a column of chains or draws."""
    values = np.asarray(column.to_numpy(zero_copy_only=False) if hasattr(column, "type") else column)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all() or (values != np.floor(values)).any():
        raise InputError(f"column {name} must hold whole numbers, the chain or draw of each row; rename it if it is a variable")
    return values.astype(np.int64)


class ScanProgress:
    """Adds up rows, or pieces, of several threads for one progress bar."""

    def __init__(self, tick: Callable[[int], None], *, by_rows: bool) -> None:
        self._tick, self._by_rows, self._lock, self._done = tick, by_rows, threading.Lock(), 0

    def rows(self, count: int) -> None:
        """So many more rows were counted."""
        if self._by_rows:
            self._add(count)

    def piece(self) -> None:
        """One more piece is finished."""
        if not self._by_rows:
            self._add(1)

    def _add(self, count: int) -> None:
        with self._lock:
            self._done += count
            self._tick(self._done)


class _Stopped(Exception):
    """Another thread has failed, or the user has stopped the scan."""


def in_threads(
    pieces: Iterable[tuple[int, Piece]], counter: PieceCounter, workers: int, n_jobs: int | None, done: ScanProgress
) -> list[DependenceSketch]:
    """Sketches of the pieces, one for each thread, which takes the next piece when it is done with one."""
    items, lock, failed = list(pieces), threading.Lock(), threading.Event()
    queue = iter(items)
    # rows whose number is not known must be counted in order
    known = not counter.plan.serial or counter.layout.draw is not None

    lengths: dict[int, int] = {}
    for _, piece in items:
        lengths[piece.chain or 0] = lengths.get(piece.chain or 0, 0) + (piece.n_rows or 0)

    def work(_: int) -> DependenceSketch:
        # blocks of rows have their final length at once: short ones take longer to count
        longest = 0 if counter.layout.chain is not None else max(lengths.values(), default=0)
        sketch = DependenceSketch.empty(counter.plan, chain_length=longest, n_chains=len(lengths))

        def counted(rows: int) -> None:
            if failed.is_set():
                raise _Stopped
            done.rows(rows)

        while not failed.is_set():
            with lock:
                item = next(queue, None)
            if item is None:
                break
            try:
                counter.add(sketch, item[1], n_jobs if workers == 1 else None, counted)
            except _Stopped:
                break
            except BaseException:
                failed.set()
                raise
            done.piece()
        return sketch

    if not known and (counter.layout.chain is not None or any(piece.start is None for _, piece in items)):
        workers = 1
    if workers <= 1:
        return [work(0)]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(work, range(workers)))
        except BaseException:  # an interrupt, too: threads end after the piece they are at
            failed.set()
            raise


def together(parts: Sequence[DependenceSketch], plan: SketchPlan, kind: str) -> DependenceSketch:
    """The sketches of parts of the rows as one."""
    found = parts[0]
    for part in parts[1:]:
        found.merge(part)
    found.source = kind
    return found


def sketch_source(
    source: Source, *, iid: bool, options: ScanOptions, chains: int | str | None = None
) -> tuple[DependenceSketch, tuple[Caveat, ...]]:
    """The sketch of a source, planned and counted; once more with other bins if the rows outgrow those of the pilot."""
    plan, layout, source = _plan_once(source, iid, options, chains)
    sketch = scan(source, plan, layout, options)
    if sketch.n < 2:
        raise InputError(f"{source.kind} must have at least 2 rows, got {sketch.n}", "too-few-draws")
    if sketch.outgrown and not source.once:
        plan, layout, source = plan_source(source, iid=iid, options=options, chains=chains, rows=4 * PILOT_ROWS, rng=1)
        note = f"read twice: the pilot sample did not cover the values of {listed(sketch.outgrown)}"
        sketch = scan(source, replace(plan, notes=(*plan.notes, note)), layout, replace(options, checkpoint=None))
    return sketch, sketch_caveats(sketch)


def sketch_caveats(sketch: DependenceSketch) -> tuple[Caveat, ...]:
    """What to keep in mind about the counts: rows unlike those of the pilot sample, and blocks that are too short."""
    caveats = []
    if sketch.outgrown:
        sentence = (
            f"the values of {listed(sketch.outgrown)} drift away from those of the pilot sample, so that many of them share a "
            "bin and little is known about their order; standard errors are that large"
        )
        caveats.append(caveat_of("outgrown-bins", sentence))
    if sketch.unseen:
        which = listed([f"{name} ({rows:,} rows)" for name, rows in sketch.unseen.items()])
        caveats.append(caveat_of("unseen-levels", f"levels that the pilot sample does not have are compared as one: {which}"))
    if sketch.plan_.serial and sketch.blocks and blocks_to_merge(sketch)[1]:
        blocks = f"{len(sketch.blocks)} blocks of {sketch.block_rows:,} rows"
        sentence = f"{blocks} are too short for the serial dependence of the rows"
        caveats.append(caveat_of("short-blocks", sentence))
    return tuple(caveats)


def _plan_once(
    source: Source, iid: bool, options: ScanOptions, chains: int | str | None
) -> tuple[SketchPlan, Layout, Source]:  # fmt: skip
    """The plan for a source, that of the checkpoint if it has one: counts in other bins cannot be added to those saved."""
    if options.checkpoint is None or source.engine in ("ray", "spark"):  # which refuse it
        return plan_source(source, iid=iid, options=options, chains=chains)
    from copula_discrepancy.estimate.scanning_checkpoint import keep_plan, known_plan

    known = known_plan(options.checkpoint, source, options, iid=iid, chains=chains)
    if known is not None:
        return known, Layout.of(source.names, chains, options.selection.get("exclude")), source
    plan, layout, source = plan_source(source, iid=iid, options=options, chains=chains)
    keep_plan(options.checkpoint, plan)
    return plan, layout, source


def plan_draws(draws: Draws, *, iid: bool, options: ScanOptions) -> SketchPlan:
    """The plan for draws that are in memory."""
    _require_pairs(draws)
    n = draws.n_chains * draws.n_draws
    pilot = draws
    if n > PILOT_ROWS:
        step = n // PILOT_ROWS
        rows = draws.values.reshape(1, n, draws.n_variables)[:, int(np.random.default_rng(0).integers(step)) :: step]
        pilot = replace(draws, values=rows, chained=False)
    bins = options.bins or bins_for(draws.n_variables, options.memory)
    missing_ok = draws.incomplete or (draws.named and not draws.chained and options.selection.get("missing") != "raise")
    return plan_of(
        pilot, bins=bins, serial=not iid, missing_ok=missing_ok, chained=draws.chained, triples=options.triples,
        memory=options.memory,
    )  # fmt: skip


def sketch_draws(draws: Draws, *, iid: bool, options: ScanOptions) -> DependenceSketch:
    """The sketch of draws that are in memory."""
    plan = plan_draws(draws, iid=iid, options=options)
    sketch = DependenceSketch.empty(plan, "memory", draws.n_draws, draws.n_chains)
    labels = [np.array([*draws.labels(k), None], dtype=object) for k in range(draws.n_variables)]
    size = block_rows(plan, options)
    for chain in range(draws.n_chains):
        for start in range(0, draws.n_draws, size):
            part = draws.values[chain, start : start + size]
            block: dict[str, Any] = {}
            for k, name in enumerate(draws.names):
                values = np.ascontiguousarray(part[:, k])
                if draws.labels(k):
                    missing = np.isnan(values)
                    values = labels[k][np.where(missing, len(labels[k]) - 1, values).astype(np.int64)]
                block[name] = values
            sketch.update(block, start=start, chain=chain, n_jobs=options.n_jobs)
    return sketch


def planned(
    given: Any, iid: bool, selection: Mapping[str, Any], chains: Any, group: str, resolution: int | None, memory: Any,
    triples: bool = False,
) -> SketchPlan:  # fmt: skip
    """The plan for a table; see `DependenceSketch.plan`."""
    counted = true_or_false(triples, "triples")
    options = ScanOptions(checked_memory(memory), bins=checked_resolution(resolution), selection=selection, triples=counted)
    true_or_false(iid, "iid")
    source = None if isinstance(given, Draws) else open_any(given, group=group)
    if source is not None:
        if source.once:
            raise InputError(
                f"{source.kind} can be read only once, and planning would use up its first rows; plan from a sample in memory, "
                "or use DependenceSketch.of",
                "read-once",
            )
        return plan_source(source, iid=iid, options=options, chains=chains)[0]
    return plan_draws(as_draws(given, **selection, chains=chains, group=group), iid=iid, options=options)


def scanned(
    given: Any, iid: bool, selection: Mapping[str, Any], chains: Any, group: str, resolution: int | None, memory: Any,
    n_jobs: int | None, checkpoint: Any, progress: bool | None, triples: bool = False,
) -> DependenceSketch:  # fmt: skip
    """The sketch of a table; see `DependenceSketch.of`."""
    bins = checked_resolution(resolution)
    counted = true_or_false(triples, "triples")
    options = ScanOptions(checked_memory(memory), checked_jobs(n_jobs), progress, checkpoint, bins, selection, counted)
    sketch, caveats = sketch_of(given, iid=true_or_false(iid, "iid"), options=options, chains=chains, group=group)
    for caveat in caveats:
        warn(DependenceWarning(caveat))
    return sketch


def sketch_of(
    given: Any, *, iid: bool, options: ScanOptions, chains: Any, group: str
) -> tuple[DependenceSketch, tuple[Caveat, ...]]:
    """The sketch of rows in memory or of a source, and what to keep in mind about it."""
    source = None if isinstance(given, Draws) else open_any(given, group=group)
    if source is not None:
        return sketch_source(source, iid=iid, options=options, chains=chains)
    sketch = sketch_draws(as_draws(given, **options.selection, chains=chains, group=group), iid=iid, options=options)
    return sketch, sketch_caveats(sketch)


def checked_resolution(resolution: Any) -> int | None:
    """The largest number of bins of a column, or None to choose it."""
    if resolution is None:
        return None
    if not is_whole(resolution) or not COARSEST <= int(resolution) <= FINEST:
        raise InputError(f"resolution must be a number of bins from {COARSEST} to {FINEST}, got {resolution!r}")
    return int(resolution)
