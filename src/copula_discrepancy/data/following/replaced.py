"""Files that are written as a whole again and again, such as ArviZ's netCDF files."""

import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.following.labelled_rows import ChainRows
from copula_discrepancy.data.following.progress import Follower, Progress, Rows, cut_draws, unequal_note
from copula_discrepancy.data.missing import require_finite
from copula_discrepancy.data.naming import errors_about, require_same_names
from copula_discrepancy.data.readers.dispatch import read
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.readers.table import Table
from copula_discrepancy.data.streams.failures import file_labels

ENDINGS = (".nc", ".npy", ".npz")
_QUIET = 1.0  # seconds: a file that changed later may still be in the middle of being written
_HALF_WRITTEN = ("file", "file-format")


class ReplacedFollower(Follower):
    """Follows files that are replaced, each with all draws so far; one is read when it has changed, and then rests.

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
        self._notes: tuple[str, ...] = ()
        self._last = Progress()

    def poll(self) -> Progress:
        """The draws so far; files are asked for their sizes only, unless one has changed."""
        changed = [file.look() for file in self._files]
        names = next((file.table.names for file in self._files if file.table is not None), ())
        waiting_for = "; ".join(file.waiting_for for file in self._files if file.waiting_for)
        last = self._last
        if not names:
            return Progress(waiting_for=waiting_for, generation=self._generation)
        if any(changed):
            self._take(names)
        assert self._held is not None
        chains = self._held.chains
        labels = self._labels()
        before = sum(last.lengths) if last.generation == self._generation else 0
        lengths = [len(chain) for chain in chains]
        self._last = Progress(
            chains, names, labels, self._generation, sum(lengths) - before, None, None, waiting_for,
            (*self._notes, *unequal_note(labels, lengths)), self._held.divergent,
        )  # fmt: skip
        return self._last

    def whole(self) -> Draws:
        """The files as `as_draws` reads them, if they have equally many draws and none is being written."""
        choices = self._options
        if self._last.waiting_for or len(set(self._last.lengths)) > 1:
            return cut_draws(self._last, "read while the files were still written")
        names: Any = {"var_names": choices.var_names, "exclude": choices.exclude or None, "filter_vars": choices.filter_vars}
        try:
            return as_draws(self._paths, group=choices.group, coords=choices.coords, chains=choices.chains, **names)
        except InputError as error:
            return cut_draws(self._last, f"the files cannot be read as a whole ({error})")

    def _labels(self) -> tuple[str, ...]:
        own = file_labels(self._paths)
        counts = [0 if file.table is None else len(file.table.values) for file in self._files]
        if len(counts) == 1:
            return tuple(f"chain {k}" for k in range(counts[0]))
        return tuple(
            f"{label}, chain {k}" if count > 1 else label
            for label, count in zip(own, counts, strict=True)
            for k in range(max(count, 1))
        )

    def _take(self, names: tuple[str, ...]) -> None:
        """Add what is new in the files, or begin anew if what was there has changed."""
        tables = [(path, file.table, file.flags) for path, file in zip(self._paths, self._files, strict=True)]
        rows: list[Rows] = []
        flags: list[Any] = []
        for path, table, own in tables:
            if table is None:
                rows.append(np.empty((0, len(names))))
                flags.append(None)
                continue
            require_same_names(names, table.names, self._paths[0], path)
            places = [table.names.index(name) for name in names]
            rows += [chain[:, places] for chain in table.values]
            flags += [None] * len(table.values) if own is None else [*own]
        wanted = self._options.chains
        if isinstance(wanted, int) and len(rows) > wanted:
            raise InputError(f"chains={wanted} was passed, but the files have {len(rows)} chains; omit it", "shape")
        held = self._held
        goes_on = held is not None and self._last.names == names and len(held.chains) == len(rows) and all(
            np.array_equal(before, after[: len(before)]) for before, after in zip(held.chains, rows, strict=True)
        )  # fmt: skip
        if not goes_on:
            if held is not None and any(held.lengths(0)):
                self._generation += 1
                self._notes = (f"the draws were replaced by others: {sum(held.lengths(0))} draws are void",)
            held = self._held = ChainRows(len(names))
        assert held is not None
        for chain, (values, own) in enumerate(zip(rows, flags, strict=True)):
            done = held.lengths(len(rows))[chain]
            held.extend(chain, values[done:].astype(float), names, None if own is None else own[done:])


class _Replaced:
    """One file: its draws when it was last read, and what is missing."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self._path, self._options = path, options
        self._read: tuple[int, ...] | None = None
        self._stamp: tuple[int, ...] | None = None
        self.table: Table | None = None
        self.flags: Any = None
        self.waiting_for = ""

    def look(self) -> bool:
        """Read the file if it has changed and rests; whether it was read."""
        name = os.path.basename(self._path)
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            self._stamp = None
            self.waiting_for = f"{name} does not exist yet" if self.table is None else f"{name} is gone; its draws are kept"
            return False
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        rests = stamp == self._stamp or time.time() - status.st_mtime > _QUIET
        self._stamp = stamp
        if stamp == self._read:
            return False
        self.waiting_for = f"{name} to be written completely"
        if not rests:
            return False
        try:
            table = read(self._path, self._options)
        except InputError as error:
            if error.code not in _HALF_WRITTEN:
                raise
            self.waiting_for = f"{name} cannot be read, and may be in the middle of being written ({error})"
            return False
        with errors_about(self._path):
            if table.ranked:
                raise InputError("has values too large for a float64, so it cannot be followed; rescale them first")
            require_finite(table.values, table.names, chained=True)
        self.table, self.flags, self.waiting_for, self._read = table, self._diverging(table), "", stamp
        return True

    def _diverging(self, table: Table) -> Any:
        """Whether each draw is divergent, (chain, draw); None if the file does not tell."""
        if not self._path.endswith(".nc") or self._options.group != "posterior":
            return None
        choices = ReadOptions(group="sample_stats", var_names=("diverging",))
        try:
            found = read(self._path, choices).values[:, :, 0] != 0
        except InputError:
            return None
        return found if found.shape == table.values.shape[:2] else None
