"""Zarr stores that a sampler writes, nutpie's or PyMC's: chunks appear in arrays that have their full shape from the start."""

import json
import math
import os
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.following.labelled_rows import (
    ALWAYS_THERE,
    ChainRows,
    LabelledRows,
    Settling,
    still_there,
)
from copula_discrepancy.data.following.progress import SETTLED, UNREAD, Follower, Progress, cut_draws, unequal_note
from copula_discrepancy.data.naming import chain_labels, errors_about
from copula_discrepancy.data.readers.divergences import DIVERGING
from copula_discrepancy.data.readers.labelled import selected_arrays
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, ReadOptions
from copula_discrepancy.data.readers.pymc_store import STATE, WARMUP, opened_group, plain_statistic
from copula_discrepancy.data.streams.failures import first_line

_HEADERS = ("zarr.json", ".zgroup", ".zattrs", ".zmetadata", ".zarray")
_HALF_WRITTEN = (OSError, ValueError, KeyError, RuntimeError, zlib.error)
_MOST_CHUNKS = 1500  # read in one look, which then takes about a second; the next one goes on
_STALE = 2.0  # seconds: clocks of file systems differ by less
_STATISTICS = "sample_stats"


class ZarrFollower(Follower):
    """Follows a Zarr store on disk, of format 2 or 3.

    PyMC tells in its store how many draws of each chain are complete. Without that, as in nutpie's stores, a draw is there if
    every variable whose missing draws are NaN has a value; whole numbers and flags wait until they must have been written too.

    A run is finished if all draws are there that the store says there will be: by PyMC's count, or in the arrays of nutpie,
    which it makes for all draws. Of other stores nothing tells whether more draws will be appended.
    """

    own_threads = True  # zarr decodes in threads

    def __init__(self, path: str, options: ReadOptions) -> None:
        options.refuse("a Zarr store", "delimiter", "chain column")
        try:
            import zarr  # noqa: F401
        except ImportError:
            raise InputError(f"{path} is a Zarr store; reading it needs zarr: pip install zarr", "dependency") from None
        self._path, self._options = path, options
        self._label = os.path.basename(os.path.normpath(path))
        self._stamp: tuple[Any, ...] = ()
        self._store: _Opened | None = None
        self._held: ChainRows | None = None
        self._settling = Settling()
        self._resting: dict[int, tuple[int, float]] = {}  # each chain's draws, and since when it has had no more
        self._generation = 0
        self._void = 0  # draws of all runs before this one
        self._grew = False  # its arrays were made longer, so that they do not tell how many draws there will be
        self._restarts: tuple[str, ...] = ()
        self._behind = self._unsettled = False
        self._failing = math.nan  # since when it could not be read
        self._last = Progress()

    def poll(self) -> Progress:
        """The draws that are complete; chunks that were read are not read again."""
        with errors_about(self._path):
            try:
                waiting_for = self._look()
                self._failing = math.nan
            except InputError:
                raise
            except _HALF_WRITTEN as error:  # of zarr, xarray and codecs, about what is only half there
                self._stamp = ()
                waiting_for = f"{self._label} is not complete yet{self._why(error)}"
            self._last = self._told(waiting_for)
        return self._last

    def whole(self) -> Draws:
        """The store as `as_draws` reads it, if all of its draws are there.

        Whole numbers and flags may have been written after the draws were followed, so that they are read again in any case.
        """
        store, options = self._store, self._options
        if store is None or self._held is None:
            return cut_draws(self._last, "read while the store was still written")
        if any(length < store.n_draws for length in self._last.lengths):
            return self._cut(store, "read while the store was still written")
        if store.offset:  # which readers would take for draws
            return self._cut(store, "read from the store, behind the warm-up")
        if store.counted is not None:  # PyMC's stores also have pickled objects, which zarr refuses to open since its version 3
            return self._cut(store, "read from the arrays of the store")
        choices: Any = {"var_names": options.var_names, "filter_vars": options.filter_vars, "exclude": options.exclude or None}
        try:
            read = as_draws(self._path, group=options.group, coords=options.coords, **choices)
        except InputError as error:
            return self._cut(store, f"{UNREAD}: the store cannot be read as a whole ({error})")
        if (read.n_chains, read.n_draws) != (len(self._last.lengths), store.n_draws):
            return self._cut(store, f"{UNREAD}: the store has changed")
        return read

    def _why(self, error: Exception) -> str:
        """The error that a reader raised, if it has for some time: a writer is soon done with what is half written."""
        now = time.monotonic()
        self._failing = now if math.isnan(self._failing) else self._failing
        return f" ({type(error).__name__}: {first_line(error):.80})" if now - self._failing >= SETTLED else ""

    def _cut(self, store: "_Opened", reason: str) -> Draws:
        """The draws of the last poll, as they are in the store now; as they were when they were read if they are gone."""
        rows, offset = store.rows, store.offset
        again = ChainRows(len(rows.names))
        try:
            for chain, length in enumerate(self._last.lengths):
                again.extend(chain, rows.rows(chain, offset, offset + length), rows.names)
                again.mark(chain, rows.flags(chain, offset, offset + length))
        except (InputError, *_HALF_WRITTEN) as error:  # missing draws are NaN
            gone = reason if reason.startswith(UNREAD) else f"{UNREAD}: draws of the store are gone ({error})"
            return cut_draws(self._last, gone)
        return cut_draws(replace(self._last, chains=again.chains, divergent=again.divergent), reason)

    def _look(self) -> str:
        """Read what is new; what is missing, in words."""
        self._behind = self._unsettled = False
        if not os.path.isdir(self._path):
            self._stamp = ()
            if os.path.exists(self._path):
                raise InputError("is a file; a Zarr store is a folder, and one in a file cannot be followed", "file-format")
            return f"{self._label} does not exist yet" if self._held is None else f"{self._label} is gone; its draws are kept"
        stamp = _stamp_of(self._path, self._options.group)
        if stamp != self._stamp or self._store is None:
            missing = self._open()
            if missing:
                return missing
            self._stamp = stamp
        assert self._store is not None
        assert self._held is not None
        return self._read(self._store, self._held)

    def _open(self) -> str:
        before, held = self._store, self._held
        store = _Opened.of(self._path, self._options, before.rows.names if before is not None else ())
        if isinstance(store, str):
            return store
        same = before is not None and before.rows.names == store.rows.names
        if held is None or not same or not still_there(held, store.rows, store.offset):
            if held is not None and any(held.lengths(0)):
                self._generation += 1
                self._grew = False
                self._void += sum(held.lengths(0))
                self._restarts = (f"{self._label} was written anew: {self._void:,} earlier draws are discarded",)
            self._held = ChainRows(len(store.rows.names))
            self._settling = Settling()
            self._resting = {}
        self._grew = self._grew or (same and before is not None and before.n_draws < store.n_draws)
        self._store = store
        return ""

    def _read(self, store: "_Opened", held: ChainRows) -> str:
        rows = store.rows
        done = held.lengths(rows.n_chains)
        most = max(_MOST_CHUNKS * store.chunk // (store.n_arrays * rows.n_chains), store.chunk)
        there = [store.there(chain, done[chain], most) for chain in range(rows.n_chains)]
        arrived = there
        self._behind = any(begin + most <= end < store.n_draws for begin, end in zip(done, there, strict=True))
        if store.counted is None:
            there = self._settling.settled(there, done)
        self._unsettled = any(ahead > end for ahead, end in zip(arrived, there, strict=True))
        for chain, end in enumerate(there):
            begin = done[chain]
            if end > begin:
                held.extend(chain, rows.rows(chain, begin + store.offset, end + store.offset), rows.names)
            unmarked, last = held.unmarked(chain)
            held.mark(chain, rows.flags(chain, unmarked + store.offset, last + store.offset))
            if arrived[chain] <= end:
                self._require_numbers(chain, end, store, held)
        if self._behind:
            return "the draws that are there already are still being read"
        if any(there):
            return ""
        return f"the first draws of {self._label} are not complete yet" if any(arrived) else f"{self._label} has no draws yet"

    def _require_numbers(self, chain: int, end: int, store: "_Opened", held: ChainRows) -> None:
        """Raise if a variable has had no values for some time where others have: they are NaN, and will not come."""
        now, rows = time.monotonic(), store.rows
        count, since = self._resting.get(chain, (-1, now))
        if count != end:
            self._resting[chain] = end, now
        elif end < store.n_draws and store.counted is None and now - since >= SETTLED:
            self._resting[chain] = end, now  # looked for once in a while
            ahead = rows.ahead(chain, end)
            if ahead > end + 2 * store.chunk:
                held.extend(chain, rows.rows(chain, end, ahead), rows.names)

    def _told(self, waiting_for: str) -> Progress:
        store, held, last = self._store, self._held, self._last
        if store is None or held is None:
            return Progress(waiting_for=waiting_for, generation=self._generation)
        lengths = held.lengths(store.rows.n_chains)
        planned = store.counted is not None or (store.by_nutpie and not self._grew)
        labels = chain_labels(store.chains, len(lengths))
        finished = planned and all(length >= store.n_draws for length in lengths)
        before = sum(last.lengths) if last.generation == self._generation else 0
        warm = (f"{store.offset} warm-up draws left out",) if store.offset else ()
        return Progress(
            chains=held.chains,
            names=store.rows.names,
            labels=labels,
            generation=self._generation,
            new=sum(lengths) - before,
            expected=store.n_draws if planned else None,
            finished=True if finished else None,
            waiting_for="" if finished else waiting_for,
            notes=(*store.rows.notes, *warm, *unequal_note(labels, lengths)),
            divergent=held.divergent,
            behind=self._behind,
            settling=self._unsettled,
            restarts=self._restarts,
        )


class _Opened:
    """A store whose headers were read: the rows of its group, and PyMC's count of draws if it has one.

    `offset` is the number of warm-up draws in front of the draws, `chunk` the draws of a chunk, and `chains` are their labels.
    """

    def __init__(
        self, rows: LabelledRows, arrays: Sequence["StoredArray"], counted: Any, tuning: int, offset: int, *,
        chains: Sequence[Any] = (), by_nutpie: bool = False,
    ) -> None:  # fmt: skip
        self.chains = chains
        self.rows, self.counted, self._tuning, self.offset, self.by_nutpie = rows, counted, tuning, offset, by_nutpie
        self.n_draws = rows.n_draws - offset
        self.n_arrays = len(arrays)
        self.chunk = min(array.chunk for array in arrays)

    @classmethod
    def of(cls, path: str, options: ReadOptions, names: tuple[str, ...]) -> "_Opened | str":
        """The opened store, or what is missing in it, in words."""
        label, group = os.path.basename(os.path.normpath(path)), options.group
        if not _has_header(path):
            return f"{label} has no header yet"
        if not _has_header(path, group):
            if group != DEFAULT_GROUP or not _has_arrays(path):
                return f"{label} has no group {group} yet"
            group = ""  # a Dataset that was written without a group
        root = opened_group(path)
        # each by its name: a store of PyMC also has pickled objects, which zarr may refuse to open
        inside = sorted(os.listdir(os.path.join(path, group)))
        counted = _has_header(path, STATE)
        try:
            arrays = {name: StoredArray(root[f"{group}/{name}"]) for name in inside if _is_array(path, group, name)}
            statistics, diverging = _statistics_in(path, root) if group == DEFAULT_GROUP else ({}, None)
        except InputError:
            if counted:  # PyMC writes every array anew when it moves the warm-up, and names its dimensions last
                return f"the sampler is rearranging {label}"
            raise
        split = counted and _has_header(path, f"{WARMUP}{group}")  # PyMC moves the warm-up at the end of the run
        lengths = {array.shape[1] for array in arrays.values() if "draw" in array.dims and array.dims != ("draw",)}
        if len(lengths) > 1 or (split and not _has_header(path, f"{WARMUP}{_STATISTICS}")):
            return f"the sampler is rearranging {label}"
        by_nutpie = not counted and root.attrs.get("sampler") == "nuts-rs"
        if by_nutpie:
            _require_one_run(os.path.join(path, group), [name for name, array in arrays.items() if "draw" in array.dims])
        found = _placeholder(arrays)
        if not found.data_vars:
            return f"{label} has no variables{f' in the group {group}' if group else ''} yet"
        selected, flat, entries = selected_arrays(found, options)
        places = {name: [(k, int(selected[name].values.flat[entry])) for k, entry in own] for name, own in entries.items()}
        others = {**{name: array for name, array in arrays.items() if name in found.data_vars}, **statistics}
        padded = {name for name, array in others.items() if array.padded}
        chosen = {name: arrays[name] for name in entries}
        rows = LabelledRows(chosen, flat, places, others=others, padded=padded, diverging=diverging, order=names)
        if isinstance(options.chains, int) and options.chains != rows.n_chains:
            raise InputError(f"chains={options.chains} was passed, but the store has {rows.n_chains} chains; omit it", "shape")
        stored = arrays.get("chain")
        chains = np.asarray(stored.array[...]).tolist() if stored is not None and stored.dims == ("chain",) else ()
        if not counted:
            if not rows.tells:
                unknown = "nothing in it tells which draws are there: no variable has NaN where draws are missing"
                raise InputError(f"{unknown}; compare it when the run has ended", "file-format")
            return cls(rows, [*chosen.values()], None, 0, 0, chains=chains, by_nutpie=by_nutpie)
        tuning = int(root[f"{STATE}/tuning_steps"][()])
        return cls(rows, [*chosen.values()], root[f"{STATE}/draw_idx"], tuning, 0 if split else tuning, chains=chains)

    def there(self, chain: int, done: int, most: int) -> int:
        """How many draws of a chain are there, if `done` are; at most `most` more are looked for."""
        if self.counted is None:
            return self.rows.there(chain, done, most)
        count = max(int(self.counted[chain]) - self._tuning, 0)
        return min(count, done + most, self.n_draws)


class StoredArray:
    """An array of a store, read like a DataArray whose first dimensions are chain and draw."""

    def __init__(self, array: Any) -> None:
        self.array = array
        named = getattr(getattr(array, "metadata", None), "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS") or ()
        self.dims = tuple(map(str, named))
        if len(self.dims) != len(array.shape):
            raise InputError("has arrays without names of dimensions, so its draws cannot be found", "file-format")
        value = array.fill_value
        self.padded = isinstance(value, float | np.floating) and bool(np.isnan(value))
        self.chunk = int(array.chunks[self.dims.index("draw")]) if "draw" in self.dims else 1

    @property
    def inner(self) -> dict[str, int]:
        """The sizes of the dimensions besides chain and draw."""
        return {dim: size for dim, size in zip(self.dims, self.array.shape, strict=True) if dim not in ("chain", "draw")}

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of chains and draws, and the sizes of the other dimensions."""
        sizes = dict(zip(self.dims, self.array.shape, strict=True))
        return (sizes.get("chain", 1), sizes.get("draw", 1), *self.inner.values())

    def isel(self, *, chain: int, draw: slice) -> Any:
        """The values of some draws of a chain, (draw, ...)."""
        place = {"chain": chain, "draw": draw}
        values = np.asarray(self.array[tuple(place.get(dim, slice(None)) for dim in self.dims)])
        return np.moveaxis(values, [dim for dim in self.dims if dim != "chain"].index("draw"), 0)


class AnyOf:
    """Flags of several arrays, of step methods that each sample some of the variables: whether any is set."""

    def __init__(self, arrays: Sequence[StoredArray]) -> None:
        self._arrays = arrays

    def __len__(self) -> int:
        return len(self._arrays[0])

    def isel(self, *, chain: int, draw: slice) -> Any:
        """The flags of some draws of a chain."""
        return np.any([np.asarray(array.isel(chain=chain, draw=draw)) != 0 for array in self._arrays], axis=0)


def _placeholder(arrays: Mapping[str, StoredArray]) -> Any:
    """A dataset with the variables and coordinates of a group, one draw long, whose values say where an entry is in a variable.

    It answers which entries a selection means without a look at the draws.
    """
    import xarray as xr

    coordinates = {
        name: np.asarray(array.array[...]) for name, array in arrays.items() if array.dims == (name,) and array.inner
    }
    variables = {}
    for name, array in arrays.items():
        if array.dims == (name,):
            continue
        sizes = [array.inner.get(dim, 1) for dim in array.dims]
        values = np.arange(math.prod(sizes)).reshape(sizes)
        variables[name] = (array.dims, values if array.array.dtype.kind in "fiub" else values.astype(str))
    return xr.Dataset(variables, coordinates)


def _statistics_in(path: str, root: Any) -> tuple[dict[str, StoredArray], Any]:
    """The statistics that tell which draws are there, by their names in other samplers: PyMC puts the step method in front of
    them; and that which tells divergent draws, or why it cannot be used.
    """
    folder = os.path.join(path, _STATISTICS)
    inside = sorted(os.listdir(folder), reverse=True) if _has_header(folder) else []
    stored = {name: plain_statistic(name) for name in inside if _has_header(folder, name)}
    used = {plain: name for name, plain in stored.items() if plain in ALWAYS_THERE}
    found = {plain: StoredArray(root[f"{_STATISTICS}/{name}"]) for plain, name in used.items()}
    marks = [StoredArray(root[f"{_STATISTICS}/{name}"]) for name, plain in stored.items() if plain == DIVERGING]
    diverging: Any = AnyOf(marks) if len(marks) > 1 else next(iter(marks), None)
    for dim in ("chain", "draw") if diverging is not None else ():
        if all(_is_array(path, group, dim) for group in (DEFAULT_GROUP, _STATISTICS)):
            draws, flags = (np.asarray(root[f"{group}/{dim}"][...]) for group in (DEFAULT_GROUP, _STATISTICS))
            common = min(draws.size, flags.size)
            written = all(np.unique(labels).size == labels.size for labels in (draws, flags))
            if written and not np.array_equal(draws[:common], flags[:common]):
                diverging = f"sample_stats has other {dim}s than the posterior, or in another order"
    return found, diverging


def _has_header(*parts: str) -> bool:
    """Whether a folder is a group or an array of a store."""
    return any(os.path.exists(os.path.join(*parts, header)) for header in _HEADERS)


def _is_array(*parts: str) -> bool:
    """Whether a folder is an array of a store; one whose header is only half written is none yet."""
    if os.path.exists(os.path.join(*parts, ".zarray")):
        return True
    try:
        with open(os.path.join(*parts, "zarr.json"), encoding="utf-8") as file:
            return bool(json.load(file).get("node_type") == "array")
    except (OSError, ValueError):
        return False


def _has_arrays(path: str) -> bool:
    """Whether a store has arrays outside its groups."""
    return any(_is_array(path, name) for name in os.listdir(path))


def _stamp_of(path: str, group: str) -> tuple[Any, ...]:
    """What changes when the headers of the store, of its group, or of any of its variables are written again."""
    found: list[Any] = []
    for folder in (path, os.path.join(path, group)):
        inner = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        for header in (os.path.join(folder, name, header) for name in ("", *inner) for header in _HEADERS):
            with suppress(OSError):
                status = os.stat(header)
                found.append((header, status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)


def _require_one_run(folder: str, names: Sequence[str]) -> None:
    """Raise if nutpie wrote into a store that has draws of an earlier run: these would be taken for new ones."""
    for name in names[:1]:
        header = os.path.join(folder, name, "zarr.json")
        begun = os.stat(header).st_mtime - _STALE if os.path.exists(header) else 0.0
        for inside, _, files in os.walk(os.path.join(folder, name, "c")):
            if any(os.stat(os.path.join(inside, file)).st_mtime < begun for file in files):
                found = "has draws that are older than its header, so two runs were written into it"
                raise InputError(f"{found}; delete the store before a run (or copy it with its times: cp -a)", "two-runs")
