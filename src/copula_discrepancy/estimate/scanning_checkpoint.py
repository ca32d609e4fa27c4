"""Counts of a source in a folder; an interrupted scan resumes when the call is repeated.

The folder holds what the call depends on, the plan, and two files of counts, which are replaced in turns: each has the counts
of all pieces finished so far and their numbers, so that nothing is counted twice, and the other one remains if one is damaged.
"""

import contextlib
import hashlib
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from copula_discrepancy._core.checkpoint import Store
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import written_whole
from copula_discrepancy.data.streams.source import Piece, Source
from copula_discrepancy.estimate.scanning import PieceCounter, ScanOptions, ScanProgress
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_file import from_bytes, load, to_bytes
from copula_discrepancy.estimate.sketch_plan import SketchPlan

FORMAT = 1
_SECONDS = 10.0  # between files: what is lost if a scan is killed
_TIMES = 20.0  # a file is written at most in this share of the time, and later if writing takes long
_OPTION = "checkpoint (--checkpoint)"
_WAY_OUT = "use another folder with checkpoint (--checkpoint)"
_PLAN, _FILES = "plan.sketch", ("counts-0", "counts-1")


def known_plan(folder: Any, source: Source, options: ScanOptions, *, iid: bool, chains: int | str | None) -> SketchPlan | None:
    """The plan of an earlier call with this folder, or None if there is none; a folder of another call is refused.

    Rows that are in no file may be others now. These are planned again: other rows have other edges, and counts in other bins
    are not used.
    """
    store = _store(folder, source, _request(options, iid, chains))
    if None in _files(source):
        return None
    try:
        return load(store.folder / _PLAN).plan_
    except InputError:  # missing or damaged: the same rows give the same plan again
        return None


def keep_plan(folder: Any, plan: SketchPlan) -> None:
    """Save the plan of a call, for those that resume it."""
    with written_whole(Path(folder) / _PLAN, _WAY_OUT, parents=True) as temporary:
        temporary.write_bytes(to_bytes(DependenceSketch.empty(plan)))


def scan_with_checkpoint(
    source: Source, counter: PieceCounter, options: ScanOptions, workers: int, done: ScanProgress
) -> DependenceSketch:
    """The counts of all rows of a source; finished pieces are read from and saved to the folder of the options.

    Parameters
    ----------
    source : Source
        What is counted; it can be read more than once.
    counter : PieceCounter
        Counts a piece.
    options : ScanOptions
        With the folder: new, empty, or of an earlier call for the same rows and plan.
    workers : int
        Threads.
    done : ScanProgress
        Receives progress; pieces that were counted earlier are reported first.

    Raises
    ------
    InputError
        For a source that can be read only once, a folder of another call, and rows that cannot be counted; finished pieces are
        saved before.
    """
    store = _store(options.checkpoint, source, {})
    run = KeptCounts(store, counter)
    for k in run.finished:
        done.rows(source.pieces[k].n_rows or 0)
        done.piece()
    left = [(k, piece) for k, piece in enumerate(source.pieces) if k not in run.finished]
    # rows whose number is not known before follow those counted before
    unknown = counter.layout.chain is not None or any(piece.start is None for piece in source.pieces)
    in_order = counter.plan.serial and counter.layout.draw is None and unknown
    try:
        _scan(left, run, 1 if in_order else workers, options.n_jobs, done, in_order=in_order)
    except BaseException:
        with contextlib.suppress(InputError):  # the error that ended the scan matters more
            run.save()
        raise
    run.save()
    run.total.source = source.kind
    return run.total


class KeptCounts:
    """The counts of all finished pieces, in memory and, from time to time, in a folder.

    Attributes
    ----------
    total : DependenceSketch
        Their counts.
    finished : set of int
        Their positions among the pieces of the source.
    """

    def __init__(self, store: Store, counter: PieceCounter) -> None:
        self.counter = counter
        self.total, self.finished = DependenceSketch.empty(counter.plan), set[int]()
        self._folder, self._run = store.folder, _hash(store.identity)
        self._lock, self._turn, self._saved = threading.Lock(), 0, 0
        self._written, self._pause = time.monotonic(), _SECONDS
        for turn, name in enumerate(_FILES):
            found = self._read(name)
            if found is not None and len(found[1]) > len(self.finished):
                self.total, self.finished = found
                self._turn = 1 - turn  # the better one is replaced last
        self._saved = len(self.finished)

    def add(self, sketch: DependenceSketch, pieces: list[int]) -> None:
        """Take the counts of finished pieces, and write a file if the last one is old enough."""
        with self._lock:
            self.total.merge(sketch)
            self.finished.update(pieces)
            if time.monotonic() - self._written > self._pause:
                self._write()

    def save(self) -> None:
        """Write a file unless the last one has all pieces."""
        with self._lock:
            if len(self.finished) > self._saved:
                self._write()

    def _write(self) -> None:
        begin = time.monotonic()
        data = to_bytes(self.total)
        about = {"run": self._run, "pieces": sorted(self.finished), "sum": hashlib.sha256(data).hexdigest()}
        with (
            written_whole(self._folder / _FILES[self._turn], _WAY_OUT, parents=True) as temporary,
            temporary.open("wb") as file,
        ):
            file.write(json.dumps(about).encode() + b"\n")
            file.write(data)
        self._turn, self._saved, self._written = 1 - self._turn, len(self.finished), time.monotonic()
        self._pause = max(_SECONDS, _TIMES * (self._written - begin))

    def _read(self, name: str) -> tuple[DependenceSketch, set[int]] | None:
        """The counts in a file and their pieces, or None if it is missing, damaged or of another call."""
        try:
            first, _, data = (self._folder / name).read_bytes().partition(b"\n")
            about = json.loads(first)
            if about["run"] != self._run or about["sum"] != hashlib.sha256(data).hexdigest():
                return None
            found, pieces = from_bytes(data), {int(k) for k in about["pieces"]}
        except (OSError, ValueError, TypeError, KeyError, RecursionError):  # InputError is a ValueError
            return None
        if self.counter.plan.same_as(found.plan_) is not None:
            return None
        return DependenceSketch.empty(self.counter.plan).merge(found), pieces


def _scan(
    items: list[tuple[int, Piece]], run: KeptCounts, workers: int, n_jobs: int | None, done: ScanProgress, *, in_order: bool
) -> None:
    """Count pieces in threads, each of which takes the next one when it is done with one."""
    lock, failed, queue = threading.Lock(), threading.Event(), iter(items)
    counter = run.counter

    def work(_: int) -> None:
        own = _Part(run, in_order=in_order)
        while not failed.is_set():
            with lock:
                item = next(queue, None)
            if item is None:
                break
            # an error in the middle of a long piece would leave some of its rows among those of the pieces before
            alone = in_order or item[1].n_rows is None or item[1].n_rows > counter.rows
            if alone:
                own.hand_over()
            before = own.sketch.n
            try:
                counter.add(own.sketch, item[1], n_jobs if workers == 1 else None, done.rows)
            except BaseException:
                failed.set()
                if own.sketch.n == before:
                    own.hand_over()
                raise
            own.pieces.append(item[0])
            done.piece()
            if alone or own.is_old:
                own.hand_over()
        own.hand_over()

    if workers <= 1:
        work(0)
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            list(pool.map(work, range(workers)))
        except BaseException:
            failed.set()  # an interrupt does not reach the threads
            raise


class _Part:
    """Counts of one thread that the others do not have yet."""

    def __init__(self, run: KeptCounts, *, in_order: bool) -> None:
        self._run, self._in_order = run, in_order
        self._renew()

    def _renew(self) -> None:
        self.sketch, self.pieces = DependenceSketch.empty(self._run.counter.plan), list[int]()
        self._since = time.monotonic()
        # rows without numbers follow those of the pieces before
        self._before = dict(self._run.total.chain_rows) if self._in_order else {}
        self.sketch.chain_rows = dict(self._before)

    @property
    def is_old(self) -> bool:
        """Whether a file should have these counts soon."""
        return time.monotonic() - self._since > 0.5 * _SECONDS

    def hand_over(self) -> None:
        """Add the counts to those of all threads, and begin with none."""
        if not self.pieces:
            return
        more = {chain: rows - self._before.get(chain, 0) for chain, rows in self.sketch.chain_rows.items()}
        self.sketch.chain_rows = {chain: rows for chain, rows in more.items() if rows or chain not in self._before}
        self._run.add(self.sketch, self.pieces)
        self._renew()


def _store(folder: Any, source: Source, request: dict[str, Any]) -> Store:
    """The folder, new or of an earlier call for the same rows."""
    if source.once:
        raise InputError(
            f"{source.kind} can be read only once, so a scan of it cannot resume; omit checkpoint, or write the rows to files",
            "read-once",
        )
    pieces = [[piece.label, piece.n_rows, piece.start, piece.chain] for piece in source.pieces]
    identity = {
        "format": FORMAT,
        "counts of": source.kind,
        "version": version("copula-discrepancy"),
        "columns": _hash(list(source.names)),
        "pieces": _hash(pieces),
        "files": _hash(_files(source)),
    }
    return Store(folder, identity | request, argument="checkpoint", option=_OPTION)


def _request(options: ScanOptions, iid: bool, chains: int | str | None) -> dict[str, Any]:
    """What the plan depends on beside the rows."""
    selection = {key: repr(value) for key, value in sorted(options.selection.items()) if value is not None}
    chosen = {"memory": options.memory, "resolution": options.bins, "triples": options.triples}
    return {"iid": iid, "chains": chains, **chosen, "selection": selection}


def _files(source: Source) -> list[Any]:
    """The file that each piece is in, with its size and time of change; None for a piece that is in no local file."""
    known: dict[str, Any] = {}

    def about(path: str) -> list[Any] | None:
        if path not in known:
            try:
                found = os.stat(path)
                known[path] = [path, found.st_size, found.st_mtime_ns]
            except (OSError, ValueError):
                known[path] = None
        return known[path]

    def of_piece(piece: Piece) -> list[Any] | None:
        # a path, a window of a file, or a fragment of a dataset
        paths = [getattr(value, "path", value) for key, value in vars(piece).items() if key != "label"]
        return next((found for path in paths if isinstance(path, str) and (found := about(path))), None)

    return [of_piece(piece) for piece in source.pieces]


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()[:16]
