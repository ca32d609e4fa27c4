"""Rows of all pairs: dealt out to workers, kept in a folder as they come, and done again alone where memory ran out."""

import base64
import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checkpoint import Store
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.workers import outcomes
from copula_discrepancy.compare.block import Sweep
from copula_discrepancy.compare.rows import ROW, empty_rows
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.rank_table import RankedTable

Pairs = Sequence[tuple[int, int]]
Folder = str | os.PathLike[str]
_PART = 32  # pairs per task: a task takes some 20 ms, so that threads start rarely and progress shows often
_VALUES = 200_000  # draws times pairs in a task: four numbers are kept for each
_LESS_MEMORY = "give fewer draws (thin the chains) or n_jobs=1"
FORMAT = 2  # of the files; another one cannot be gone on with
# A file is written after so many seconds, and later after this share of the time so far: little is lost when a run is killed,
# and a day's work is a few hundred files.
_SECONDS, _SHARE = 1.0, 0.02


class KeptPairs:
    """Finished pairs in a folder, for the sweep that they belong to; to be left as a context, which writes the last of them."""

    def __init__(self, folder: Folder, sweep: Sweep) -> None:
        self._store = Store(folder, _identity(sweep), argument="checkpoint", option="checkpoint (--checkpoint)")
        self._waiting: list[NDArray[Any]] = []
        self._start = self._written = time.monotonic()

    @property
    def folder(self) -> str:
        """Where they are."""
        return str(self._store.folder)

    def fill(self, rows: NDArray[Any]) -> None:
        """Put the rows that are kept in the place of those of the same pairs."""
        own = _keys(rows)
        order = np.argsort(own)
        for name in self._store.names():
            found = _decoded(self._store.read(name))
            if found is not None:
                keys = _keys(found)
                places = order[np.minimum(np.searchsorted(own, keys, sorter=order), len(rows) - 1)]
                known = own[places] == keys
                rows[places[known]] = found[known]

    def add(self, rows: NDArray[Any]) -> None:
        """Keep rows that have numbers, at once or, where the last were written a moment ago, with those that follow."""
        self._waiting.append(rows[finished(rows)])
        now = time.monotonic()
        if now - self._written > max(_SECONDS, _SHARE * (now - self._start)):
            self._write()

    def _write(self) -> None:
        rows = np.concatenate(self._waiting) if self._waiting else empty_rows(0)
        if rows.size:
            first, last = ("-".join(str(rows[end][side]) for side in ("first", "second")) for end in (0, -1))
            self._store.write(f"{first}--{last}", base64.b64encode(rows.tobytes()).decode())
        self._waiting.clear()
        self._written = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # what ended the run should be told, not that its last second could not be kept
        with contextlib.nullcontext() if kind is None else contextlib.suppress(InputError):
            self._write()


def run(
    sweep: Sweep,
    pairs: Pairs,
    n_jobs: int | None,
    tick: Callable[[int], None],
    checkpoint: Folder | None = None,
) -> NDArray[Any]:
    """Rows of all pairs, in their order; `tick` hears how many are finished.

    A part for which there is not enough memory is done pair by pair, and a pair for which there is still not enough once more
    when all others are done and nothing runs beside it; what is left of these has no numbers.
    """
    rows = _unknown(pairs)
    if checkpoint is None:
        _complete(rows, sweep, n_jobs, tick, None)
    else:
        with KeptPairs(checkpoint, sweep) as kept:
            kept.fill(rows)
            _complete(rows, sweep, n_jobs, tick, kept)
    if len(rows) and not finished(rows).any():
        n = max(sweep.draws.n, 0 if sweep.reference is None else sweep.reference.n)
        raise InputError(f"memory ran out in every pair, with {n:,} draws; {_LESS_MEMORY}")
    return rows


def finished(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have numbers: whatever was looked at has its number of draws."""
    return ~np.isnan(rows["n"])


def out_of_memory(rows: NDArray[Any], label: Callable[[Any], str]) -> tuple[str, ...]:
    """A sentence where pairs have no numbers for want of memory."""
    lost = rows[~finished(rows)]
    if not lost.size:
        return ()
    which = listed([label(row) for row in lost], BRIEF)
    return (f"memory ran out in {lost.size} of {len(rows)} pairs, which have no numbers: {which}; {_LESS_MEMORY}",)


def _complete(
    rows: NDArray[Any], sweep: Sweep, n_jobs: int | None, tick: Callable[[int], None], kept: KeptPairs | None
) -> None:
    """Fill the rows that have no numbers yet."""

    def take(places: NDArray[np.intp], found: NDArray[Any]) -> None:
        rows[places] = found
        if kept is not None:
            kept.add(found)

    todo = np.flatnonzero(~finished(rows))
    done = len(rows) - todo.size
    tick(done)
    longest = max(sweep.draws.n, sweep.reference.n if sweep.reference is not None else 1)
    size = min(max(_VALUES // longest, 1), _PART)
    parts = [(places, _pairs(rows[places])) for places in (todo[k : k + size] for k in range(0, todo.size, size))]
    computed = partial(_rows, sweep)
    if len(parts) < 2:
        results: Iterator[tuple[NDArray[np.intp], NDArray[Any]]] = map(computed, parts)
    else:
        way_out = (
            "no pair is kept: call again with checkpoint=folder (--checkpoint) and fewer workers, or with threads"
            if kept is None
            else f"finished pairs are kept in {kept.folder}: the same call goes on from there, with fewer workers if need be"
        )
        # threads share the ranks; processes map them, writable in private (mode "c"), as kernels are compiled for such only
        results = outcomes(computed, parts, n_jobs, way_out, prefer="threads", mmap_mode="c")
    for places, found in results:
        take(places, found)
        done += len(found)
        tick(done)
    lost = np.flatnonzero(~finished(rows))
    for places in (lost[k : k + 1] for k in range(lost.size)):
        with contextlib.suppress(MemoryError):
            take(places, sweep.rows(_pairs(rows[places])))


def _rows(sweep: Sweep, part: tuple[NDArray[np.intp], Pairs]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """What a worker does: the rows of a part, done pair by pair where memory runs out."""
    places, pairs = part
    try:
        return places, sweep.rows(pairs)
    except MemoryError:
        pass  # outside of the handler, whose traceback holds on to what was allocated
    rows = _unknown(pairs)
    for k, pair in enumerate(pairs):
        with contextlib.suppress(MemoryError):
            rows[k] = sweep.rows([pair])[0]
    return places, rows


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
    """Rows as they were kept, or None where that is not what they are."""
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), ROW)
    except (TypeError, ValueError):
        return None


def _identity(sweep: Sweep) -> dict[str, Any]:
    """All that a row depends on."""
    return {
        "format": FORMAT,
        "rows of": "pairwise",
        "version": version("copula-discrepancy"),
        "code": _code(),
        **{name: version(name) for name in ("numpy", "scipy", "numba")},  # the last digits are theirs
        "draws": _digest(sweep.draws),
        "reference": None if sweep.reference is None else _digest(sweep.reference),
        "targets": _sum("\n".join(f"{pair} {copula!r}" for pair, copula in sorted(sweep.targets.items(), key=lambda k: k[0]))),
        "family": None if sweep.template is None else repr(sweep.template),
        "estimate_df": sweep.estimate_df,
        "method": sweep.method,
        "iid": sweep.iid,
        "compared": list(sweep.compared),
        "tail": sweep.tail,
    }


def _digest(table: RankedTable) -> str:
    """Of all ranks, from which everything else in a table follows, and of how draws are divided into chains."""
    found = hashlib.sha256(repr((table.ranks.shape, table.n_chains)).encode())
    found.update(np.ascontiguousarray(table.ranks).data)
    return found.hexdigest()[:16]


def _code() -> str:
    """Of the library's own source: between releases its numbers may change, too."""
    found = hashlib.sha256()
    folders = [files("copula_discrepancy")]
    while folders:
        for path in sorted(folders.pop().iterdir(), key=lambda path: path.name):
            if path.is_dir():
                folders.append(path)
            elif path.name.endswith(".py"):
                found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
