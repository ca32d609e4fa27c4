"""Compute the rows of all pairs: in parallel, saved to a folder, and retried one by one after running out of memory."""

import base64
import contextlib
import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checkpoint import Store
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.workers import outcomes
from copula_discrepancy.compare.comparison import PairComparison
from copula_discrepancy.compare.rows import ROW, empty_rows
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.rank_table import RankedTable

Pairs = Sequence[tuple[int, int]]
Folder = str | os.PathLike[str]
_PART = 256  # pairs per task: a few hundred ms, of which Python takes little, so that threads seldom wait for each other
_VALUES = 1_000_000  # draws times pairs in a task: four numbers are stored for each
_LESS_MEMORY = "thin the chains or use n_jobs=1"
FORMAT = 5  # file format; files of another format cannot be resumed
# A file is written after this many seconds, and later after this fraction of the elapsed time: little is lost if a run is
# killed, and a day's work is a few hundred files.
_SECONDS, _SHARE = 1.0, 0.02


class Comparison(Protocol):
    """Two samples and how their pairs are compared; `rows` runs in any worker."""

    @property
    def draws(self) -> RankedTable | CountedTable:
        """The draws, ranked."""

    @property
    def reference(self) -> RankedTable | CountedTable | None:
        """The reference sample, ranked."""

    def rows(self, pairs: Pairs) -> NDArray[Any]:
        """One row per pair, in order; every row has its number of draws."""


class KeptPairs:
    """Finished pairs of a comparison in a folder; leaving the context writes the last of them."""

    def __init__(self, folder: Folder, comparison: PairComparison) -> None:
        self._store = Store(folder, _identity(comparison), argument="checkpoint", option="checkpoint (--checkpoint)")
        self._waiting: list[NDArray[Any]] = []
        self._start = self._written = time.monotonic()

    @property
    def folder(self) -> str:
        """The path of the folder."""
        return str(self._store.folder)

    def fill(self, rows: NDArray[Any]) -> None:
        """Copy the saved rows into `rows`, by pair."""
        own = _keys(rows)
        order = np.argsort(own)
        for name in self._store.names():
            saved = _decoded(self._store.read(name))
            if saved is not None:
                keys = _keys(saved)
                places = order[np.minimum(np.searchsorted(own, keys, sorter=order), len(rows) - 1)]
                known = own[places] == keys
                rows[places[known]] = saved[known]

    def add(self, rows: NDArray[Any]) -> None:
        """Save the rows that have results: now or, shortly after the last file was written, together with later ones."""
        self._waiting.append(rows[finished(rows)])
        now = time.monotonic()
        if now - self._written > max(_SECONDS, _SHARE * (now - self._start)):
            self._write()

    def _write(self) -> None:
        rows = np.concatenate([empty_rows(0), *self._waiting])
        if rows.size:
            first, last = ("-".join(str(rows[end][side]) for side in ("first", "second")) for end in (0, -1))
            self._store.write(f"{first}--{last}", base64.b64encode(rows.tobytes()).decode())
        self._waiting.clear()
        self._written = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # the error that ended the run matters more than one from writing the last file
        with contextlib.nullcontext() if kind is None else contextlib.suppress(InputError):
            self._write()


def run(
    comparison: PairComparison, pairs: Pairs, n_jobs: int | None, tick: Callable[[int], None], checkpoint: Folder | None = None
) -> NDArray[Any]:
    """Rows of all pairs, in order, with finished ones read from and saved to the folder `checkpoint`; see `compute`."""
    if checkpoint is None:
        advice = "no pairs were saved; rerun with checkpoint=folder (--checkpoint) and fewer workers, or with threads"
        return compute(comparison, pairs, n_jobs, tick, advice)
    with KeptPairs(checkpoint, comparison) as kept:
        advice = f"finished pairs are saved in {kept.folder}; repeat the call to resume, with fewer workers if necessary"
        return compute(comparison, pairs, n_jobs, tick, advice, kept=kept)


def compute(
    comparison: Comparison, pairs: Pairs, n_jobs: int | None, tick: Callable[[int], None], advice: str, *,
    kept: KeptPairs | None = None, unit: str = "pair",
) -> NDArray[Any]:  # fmt: skip
    """Rows of all pairs, in order; `tick` is called with the number of finished pairs.

    A part that runs out of memory is repeated pair by pair; pairs that still fail are repeated once more after all others, with
    nothing else running. A pair for which even this fails has a row without results. `advice` is what to do after a worker
    process has died.
    """
    rows = _unknown(pairs)
    if kept is not None:
        kept.fill(rows)
    todo = np.flatnonzero(~finished(rows))
    done = len(rows) - todo.size
    tick(done)
    n = max(table.n for table in (comparison.draws, comparison.reference) if table is not None)
    away = getattr(comparison, "on_device", None)
    sharing: dict[str, Any] = {"prefer": "threads", "mmap_mode": "c"}
    if away is None:
        size = min(max(_VALUES // n, 1), _PART)
        groups = [todo[k : k + size] for k in range(0, todo.size, size)]
    else:
        groups = _tiles(rows, todo, math.isqrt(away.pairs_at_once))
        import joblib

        sharing = {"require": "sharedmem"}  # processes do not share a device's memory
        n_jobs = min(joblib.effective_n_jobs(n_jobs), away.device.workers)
    parts = [(places, _pairs(rows[places])) for places in groups]
    part_rows = partial(_part_rows, comparison)
    # threads share the ranks; processes map them copy-on-write (mode "c"), as kernels are compiled for writable arrays only
    results: Iterator[tuple[NDArray[np.intp], NDArray[Any]]] = (
        map(part_rows, parts) if len(parts) < 2 else outcomes(part_rows, parts, n_jobs, advice, **sharing)
    )

    def take(places: NDArray[np.intp], computed: NDArray[Any]) -> None:
        rows[places] = computed
        if kept is not None:
            kept.add(computed)

    for places, computed in results:
        take(places, computed)
        done += len(computed)
        tick(done)
    for place in np.flatnonzero(~finished(rows))[:, None]:
        with contextlib.suppress(MemoryError):
            take(place, comparison.rows(_pairs(rows[place])))
    if len(rows) and not finished(rows).any():
        raise InputError(f"out of memory in every {unit}, with {n:,} draws; {_LESS_MEMORY}", "memory")
    return rows


def finished(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have been computed: those with a number of draws."""
    return ~np.isnan(rows["n"])


def out_of_memory(rows: NDArray[Any], label: Callable[[Any], str], unit: str = "pair") -> tuple[str, ...]:
    """A sentence on the rows without results, if there are any."""
    lost = rows[~finished(rows)]
    if not lost.size:
        return ()
    which = listed([label(row) for row in lost], BRIEF)
    return (f"out of memory in {lost.size} of {len(rows)} {unit}s; these have no results: {which}; {_LESS_MEMORY}",)


def _part_rows(comparison: Comparison, part: tuple[NDArray[np.intp], Pairs]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The rows of a part, with their places; computed in ever smaller parts if memory runs out."""
    places, pairs = part
    try:
        return places, comparison.rows(pairs)
    except MemoryError:
        pass  # continue outside of the handler, whose traceback keeps allocated arrays alive
    away = getattr(comparison, "on_device", None)
    if away is not None:
        away.device.give_back()
    if len(pairs) == 1:
        return places, _unknown(pairs)
    middle = len(pairs) // 2
    halves = [_part_rows(comparison, (places[half], pairs[half])) for half in (slice(None, middle), slice(middle, None))]
    return places, np.concatenate([rows for _, rows in halves])


def _tiles(rows: NDArray[Any], todo: NDArray[np.intp], edge: int) -> list[NDArray[np.intp]]:
    """Parts whose pairs are of few variables: the product of signs of so many first and so many second ones has them all."""
    first, second = (rows[end][todo] // max(edge, 1) for end in ("first", "second"))
    order = np.lexsort((second, first))
    tile = first[order].astype(np.int64) * (int(second.max(initial=0)) + 1) + second[order]
    return [part for part in np.split(todo[order], np.flatnonzero(np.diff(tile)) + 1) if part.size]


def _unknown(pairs: Pairs) -> NDArray[Any]:
    rows = empty_rows(len(pairs))
    rows["first"], rows["second"] = np.array(pairs, np.int32).reshape(-1, 2).T
    return rows


def _pairs(rows: NDArray[Any]) -> list[tuple[int, int]]:
    return list(zip(rows["first"].tolist(), rows["second"].tolist(), strict=True))


def _keys(rows: NDArray[Any]) -> NDArray[np.int64]:
    """One number for each pair."""
    return (rows["first"].astype(np.int64) << 32) | rows["second"]


def _decoded(text: Any) -> NDArray[Any] | None:
    """Saved rows, or None if the content is not valid."""
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), ROW)
    except (TypeError, ValueError):
        return None


def _identity(comparison: PairComparison) -> dict[str, Any]:
    """Everything a row depends on."""
    targets = "\n".join(f"{pair} {copula!r}" for pair, copula in sorted(comparison.targets.items(), key=lambda item: item[0]))
    return {
        "format": FORMAT,
        "rows of": "pairwise",
        "version": version("copula-discrepancy"),
        "code": _code(),
        **{name: version(name) for name in ("numpy", "scipy", "numba")},  # they affect the last digits
        "draws": _digest(comparison.draws),
        "reference": None if comparison.reference is None else _digest(comparison.reference),
        "targets": _hash(targets.encode()),
        "family": None if comparison.template is None else repr(comparison.template),
        "estimate_df": comparison.estimate_df,
        "method": comparison.method,
        "iid": comparison.iid[0] if comparison.iid[0] == comparison.iid[1] else list(comparison.iid),
        "compared": list(comparison.compared),
        "tail": comparison.tail,
        "order": comparison.order,
        "levels": None if comparison.coded is None else _hash(comparison.coded.identity.encode()),
        "curves": type(comparison.curves).__name__,
        "selector": type(comparison.selector).__name__,
        "device": None if comparison.on_device is None else comparison.on_device.device.name,
    }


def _digest(table: RankedTable | CountedTable) -> str:
    """A hash of all ranks, which determine everything else in a table, and of the division into chains."""
    assert isinstance(table, RankedTable), "the checkpoint of a scan is that of its counts"
    return _hash(repr((table.ranks.shape, table.n_chains)).encode(), np.ascontiguousarray(table.ranks).data)


def _code() -> str:
    """A hash of the library's source code: results may change between releases."""
    sources: list[bytes] = []
    folders = [files("copula_discrepancy")]
    while folders:
        for path in sorted(folders.pop().iterdir(), key=lambda path: path.name):
            if path.is_dir():
                folders.append(path)
            elif path.name.endswith(".py"):
                sources.append(path.read_bytes())
    return _hash(*sources)


def _hash(*contents: bytes | memoryview) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return digest.hexdigest()[:16]
