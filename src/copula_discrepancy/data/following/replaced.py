"""Files that are written as a whole again and again, such as ArviZ's netCDF files."""

import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.following.labelled_rows import ChainRows
from copula_discrepancy.data.following.progress import (
    GONE,
    NOT_YET,
    UNREAD,
    Flags,
    Follower,
    Lack,
    Progress,
    Rows,
    cut_draws,
    lacks_in_words,
    unequal_note,
    unreadable,
)
from copula_discrepancy.data.missing import require_finite
from copula_discrepancy.data.naming import chain_name, errors_about, file_labels, listed, require_same_names, told_once
from copula_discrepancy.data.readers.dispatch import read
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.readers.table import Table

ENDINGS = (".nc", ".npy", ".npz")
_QUIET = 1.0  # seconds: a file that changed later may still be in the middle of being written
_HALF_WRITTEN = ("file", "file-format")
_NO_FLAGS = np.empty(0, np.bool_)
_BEING_WRITTEN = Lack("is being written", "are being written")
_CANNOT_BE_READ = "cannot be read, and may be in the middle of being written"


class ReplacedFollower(Follower):
    """Follows files that are replaced, each with all draws so far; one is read when another file has taken its place, or when
    it has changed, and then rests.

    If the draws that were read before are the first ones of a new version, the run goes on; otherwise it began anew.
    """

    def __init__(self, paths: list[str], options: ReadOptions) -> None:
        self._paths, self._options = paths, options
        # the number of chains is that of all files
        own = options if len(paths) == 1 else replace(options, chains=None)
        options.refuse("a file that is replaced", "chain column")
        self._files = [_Replaced(path, own) for path in paths]
        self._held: ChainRows | None = None
        self._generation = 0
        self._void = 0  # draws of all runs before this one
        self._restarts: tuple[str, ...] = ()
        self._last = Progress()

    def poll(self) -> Progress:
        """The draws so far; files are asked for their sizes only, unless one has changed."""
        changed = [file.look() for file in self._files]
        tables = [(path, file.table) for path, file in zip(self._paths, self._files, strict=True) if file.table is not None]
        names = tables[0][1].names if tables else ()
        own_labels = file_labels(self._paths)
        waiting_for = "; ".join(lacks_in_words(zip(own_labels, (file.lack for file in self._files), strict=True)))
        last = self._last
        if not names:
            return Progress(waiting_for=waiting_for, generation=self._generation)
        if any(last.lengths):
            _require_the_same(last.names, names, tables[0][0])
        if any(changed):
            self._take(names)
        assert self._held is not None
        chains = self._held.chains
        labels = self._labels()
        before = sum(last.lengths) if last.generation == self._generation else 0
        lengths = [len(chain) for chain in chains]
        noted = [(label, file.table.notes if file.table else ()) for label, file in zip(own_labels, self._files, strict=True)]
        lost = [f"{label} {file.lost}" for label, file in zip(own_labels, self._files, strict=True) if file.lost]
        self._last = Progress(
            chains, names, labels, self._generation, sum(lengths) - before, None, None, waiting_for,
            (*told_once(noted), *lost, *unequal_note(labels, lengths)), self._held.divergent,
            missing_chains=max(self._options.chains - len(chains), 0) if isinstance(self._options.chains, int) else 0,
            restarts=self._restarts, named=all(table.named for _, table in tables),
        )  # fmt: skip
        return self._last

    def whole(self) -> Draws:
        """The files as `as_draws` reads them, if they have equally many draws and none is being written."""
        choices = self._options
        if self._last.waiting_for or len(set(self._last.lengths)) > 1:
            return cut_draws(self._last, "read while the files were still written")
        names: Any = {"var_names": choices.var_names, "exclude": choices.exclude or None, "filter_vars": choices.filter_vars}
        try:
            read = as_draws(self._paths, group=choices.group, coords=choices.coords, chains=choices.chains, **names)
        except InputError as error:
            return cut_draws(self._last, f"{UNREAD}: the files cannot be read as a whole ({error})")
        same = set(read.names) == set(self._last.names) and read.n_chains == len(self._last.chains)
        if same:
            places = [self._last.names.index(name) for name in read.names]
            followed = zip(read.values, self._last.chains, strict=True)
            same = all(np.array_equal(chain, rows[:, places]) for chain, rows in followed)
        return read if same else cut_draws(self._last, f"{UNREAD}: the files have changed")

    def _labels(self) -> tuple[str, ...]:
        counts = [0 if file.table is None else len(file.table.values) for file in self._files]
        called = [
            [chain_name(() if file.table is None else file.table.chain_names, k, count) for k in range(count)]
            for file, count in zip(self._files, counts, strict=True)
        ]
        if len(called) == 1:
            return tuple(called[0])
        files = zip(file_labels(self._paths), called, strict=True)
        return tuple(name for label, own in files for name in ([f"{label}, {k}" for k in own] if len(own) > 1 else [label]))

    def _take(self, names: tuple[str, ...]) -> None:
        """Add what is new in the files, or begin anew if what was there has changed."""
        rows: list[Rows] = []
        flags: list[Flags] = []
        for path, file in zip(self._paths, self._files, strict=True):
            table = file.table
            if table is None:
                rows.append(np.empty((0, len(names))))
                flags.append(_NO_FLAGS)
                continue
            require_same_names(names, table.names, self._paths[0], path)
            places = [table.names.index(name) for name in names]
            rows += [chain[:, places] for chain in table.values]
            flags += [_NO_FLAGS] * len(table.values) if table.diverging is None else [*table.diverging]
        wanted = self._options.chains
        if isinstance(wanted, int) and len(rows) > wanted:
            raise InputError(f"chains={wanted} was passed, but the files have {len(rows)} chains; omit it", "shape")
        held = self._held
        goes_on = held is not None and self._last.names == names and len(held.chains) <= len(rows) and all(
            np.array_equal(before, after[: len(before)]) for before, after in zip(held.chains, rows, strict=False)
        )  # fmt: skip
        if not goes_on:
            if held is not None and any(held.lengths(0)):
                self._generation += 1
                self._void += sum(held.lengths(0))
                self._restarts = (f"the draws were replaced by others: {self._void:,} earlier draws are discarded",)
            held = self._held = ChainRows(len(names))
        assert held is not None
        for chain, (values, own) in enumerate(zip(rows, flags, strict=True)):
            done = held.lengths(len(rows))[chain]
            held.extend(chain, values[done:].astype(float), names)
            held.mark(chain, own[held.unmarked(chain)[0] :])


def _require_the_same(before: tuple[str, ...], now: tuple[str, ...], path: str) -> None:
    """Raise if a file was replaced by one with other variables: it is of another model."""
    gone, new = ([name for name in one if name not in other] for one, other in ((before, now), (now, before)))
    changes = [f"{listed(names, 3)} {what}" for names, what in ((gone, "gone"), (new, "new")) if names]
    if changes:
        advice = "write another run to another file, or start the watch again"
        raise InputError(f"{path}: its variables changed during the run ({'; '.join(changes)}); {advice}", "names-differ")


class _Replaced:
    """One file: its draws when it was last read, why it cannot be read now, and what happened if they are `lost` in it."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self._path, self._options = path, options
        self._read: tuple[int, ...] | None = None
        self._stamp: tuple[int, ...] | None = None
        self.table: Table | None = None
        self.lack: Lack | None = None
        self.lost = ""

    def look(self) -> bool:
        """Read the file if it has changed and is whole; whether it was read."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            self._stamp = None
            self.lack = NOT_YET if self.table is None else GONE
            self.lost = "is gone" + self._kept if self.table is not None else ""
            return False
        except PermissionError:
            raise InputError(f"{self._path}: permission denied", "file") from None
        except OSError as error:
            self.lack = unreadable(error)
            return False
        before, self._stamp = self._stamp, _stamp_of(status)
        if self._stamp == self._read:
            self.lack, self.lost = None, ""
            return False
        rests = self._stamp == before or time.time() - status.st_mtime > _QUIET
        if not rests and not _was_moved_here(status, before):
            self.lack = _BEING_WRITTEN
            return False
        return self._take()

    @property
    def _kept(self) -> str:
        """That the draws which were read are not lost with the file."""
        assert self.table is not None
        chains, draws = self.table.values.shape[:2]
        return f"; its {chains * draws:,} draws so far are kept"

    def _take(self) -> bool:
        """Read the file, unless it changes meanwhile; whether it was read."""
        try:
            table = read(self._path, self._options)
            with errors_about(self._path):
                if table.ranked:
                    raise InputError("has values too large for a float64, so it cannot be followed; rescale them first")
                require_finite(table.values, table.names, chained=True)
        except InputError as error:
            if error.code in _HALF_WRITTEN:
                self.lack = Lack(f"{_CANNOT_BE_READ} ({error})", _CANNOT_BE_READ, named=True)
                if self.table is not None:
                    self.lost = "cannot be read any more: it was truncated or overwritten, or is being written" + self._kept
                return False
            if self._changed():
                return False
            raise
        except PermissionError:
            raise InputError(f"{self._path}: permission denied", "file") from None
        except OSError as error:
            self.lack = unreadable(error)
            return False
        if self._changed():
            return False
        self.table, self._read = table, self._stamp
        self.lack, self.lost = None, ""
        return True

    def _changed(self) -> bool:
        """Whether the file is another one than it was before reading, so that what was read may be of two."""
        try:
            changed = _stamp_of(os.stat(self._path)) != self._stamp
        except OSError:
            changed = True
        if changed:
            self.lack = _BEING_WRITTEN
        return changed


def _stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """What changes when a file is written or replaced."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _was_moved_here(status: os.stat_result, before: tuple[int, ...] | None) -> bool:
    """Whether another file was moved to this place, which is done when it is whole.

    A file that is replaced twice between two looks may get its old number again; but moving it changes st_ctime alone, while
    writing sets st_ctime and st_mtime to the same time.
    """
    return (before is not None and _stamp_of(status)[:2] != before[:2]) or status.st_ctime_ns > status.st_mtime_ns
