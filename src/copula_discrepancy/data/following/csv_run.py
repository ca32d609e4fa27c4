"""The CSV files of one run, one chain each: a list of paths, a pattern, or a folder where files appear."""

import glob
import math
import os
import re
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.following.csv_file import GrowingCsv
from copula_discrepancy.data.following.progress import (
    SETTLED,
    UNREAD,
    Flags,
    Follower,
    Progress,
    Rows,
    cut_draws,
    lacks_in_words,
    unequal_note,
)
from copula_discrepancy.data.naming import file_labels, listed, require_same_names, told_once
from copula_discrepancy.data.readers.files import natural_order
from copula_discrepancy.data.readers.options import ReadOptions

_RUN_SETTINGS = ("model", "method", "num_samples", "num_warmup", "save_warmup", "thin", "num_chains")
_STAMPED = re.compile(r"(.*-\d{14}).*")  # CmdStanPy puts the time of a run into the names of its files


@dataclass(frozen=True)
class Selection:
    """The files that a user named: `listed` ones are waited for, in this order, and a pattern or folder may get more.

    A `folder` has a pattern too, which the user did not write.
    """

    listed: tuple[str, ...] = ()
    pattern: str = ""
    folder: str = ""

    def found(self) -> list[str]:
        """The files, those of a pattern in natural order; listed ones need not exist."""
        return [*self.listed] if self.listed else sorted(glob.glob(self.pattern), key=natural_order)

    @property
    def nothing(self) -> str:
        """What to say while nothing is there; an error if that cannot be seen."""
        folder = os.path.dirname(self.pattern)
        if folder and os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):
            raise InputError(f"{folder}: permission denied", "file")
        if folder and not glob.has_magic(folder) and not os.path.isdir(folder):
            return f"the folder {folder} does not exist yet"
        if self.folder:
            return f"the folder {self.folder} has no CSV files yet"
        return f"no file matches {self.pattern} yet"


class CsvFollower(Follower):
    """Follows CSV files, Stan's or plain ones, each by its own byte offset.

    A chain has the place in which its file was listed, or first seen; `chains` is the number of chains that the run will have.
    """

    def __init__(self, selection: Selection, options: ReadOptions) -> None:
        options.refuse("a CSV file that grows", "group", "coords", "chain column")
        self._selection, self._options = selection, options
        self._files: dict[str, GrowingCsv] = {}
        # when this watch saw a file appear or grow: times of files may be old, as those of copies are, or another clock's
        self._state: tuple[Any, ...] | None = None
        self._moved = -math.inf
        self._shown: list[GrowingCsv] = []  # those whose draws the last poll told
        self._last = Progress()

    def poll(self) -> Progress:
        """The draws of all files so far; a file is opened only to ask for its size if nothing was appended."""
        for path in self._selection.found():
            if path not in self._files:
                self._files[path] = GrowingCsv(path, self._options)
        files = [*self._files.values()]
        for file in files:
            file.look()
        state = tuple((file.path, file.size) for file in files)
        if self._state not in (None, state):
            self._moved = time.monotonic()
        self._state = state
        self._require_number(files)
        if self._selection.pattern:
            _require_different(files)
        current, set_aside = _of_the_newest_run([file for file in files if file.header])
        self._require_one_run(current)
        self._last = self._told(files, current, set_aside)
        return self._last

    def whole(self) -> Draws:
        """The files as `as_draws` reads them, if these are the draws of the last poll and no chain has more than another."""
        files, last = self._in_order_of_readers(self._shown), self._last
        places = [self._shown.index(file) for file in files]
        flags = None if last.divergent is None else tuple(last.divergent[k] for k in places)
        labels = tuple(last.labels[k] for k in places)
        last = replace(last, chains=tuple(last.chains[k] for k in places), labels=labels, divergent=flags)
        if len(files) < len(self._files):
            return cut_draws(last, "read without the files of the earlier run")
        if not files or len(set(last.lengths)) > 1:
            return cut_draws(last, "read while the files were still written")
        if any(file.lack for file in files):
            complete = "read before the files were gone, when they were complete"
            return cut_draws(last, complete if last.finished else f"{UNREAD}: files are gone or cannot be read")
        unfinished = [file for file in files if not file.at_rest]
        # Stan ends every line, and so does what writes line after line, of which a number may be a part
        if any(file.settings or file.grew for file in unfinished):
            return cut_draws(last, "the last line of a file is unfinished, and left out")
        names: Any = {"var_names": self._options.var_names, "exclude": self._options.exclude or None}
        try:
            read = as_draws([file.path for file in files], filter_vars=self._options.filter_vars, parts="chains", **names)
        except InputError as error:
            if unfinished:
                return cut_draws(last, f"the last line of a file is unfinished, and left out ({error})")
            return cut_draws(last, f"{UNREAD}: the files cannot be read as a whole ({error})")
        return read if _same(read, files, more=1 if unfinished else 0) else cut_draws(last, f"{UNREAD}: the files have changed")

    def _in_order_of_readers(self, files: list[GrowingCsv]) -> list[GrowingCsv]:
        return sorted(files, key=lambda file: natural_order(file.path)) if self._selection.pattern else files

    def _told(self, files: list[GrowingCsv], current: list[GrowingCsv], set_aside: list[GrowingCsv]) -> Progress:
        # a file without a header yet is a chain without draws, so that chains keep their places
        shown = self._shown = [file for file in files if file not in set_aside] if current else []
        names = current[0].names if current else ()
        chains = tuple(_in_order(file, names) for file in shown)
        labels = tuple(file_labels([file.path for file in shown]))
        notes = zip(file_labels([file.path for file in files]), (file.notes for file in files), strict=True)
        generation = sum(file.generation for file in files)
        before = sum(self._last.lengths) if generation == self._last.generation else 0
        wanted = self._options.chains if isinstance(self._options.chains, int) else len(files)
        complete = bool(files) and all(file.finished for file in files) and len(files) >= wanted and not set_aside
        ended = complete and self._has_all(files)
        flags = [_no_flags() if file.divergent is None else file.divergent for file in shown]
        return Progress(
            chains=chains,
            names=names,
            labels=labels,
            generation=generation,
            new=sum(map(len, chains)) - before,
            expected=max((file.expected or 0 for file in current), default=0) or None,
            finished=True if ended else None,
            waiting_for=self._waiting_for(files, set_aside, wanted, further=complete and not ended),
            notes=(*told_once(notes), *unequal_note(labels, [len(chain) for chain in chains])),
            divergent=tuple(flags) if current and all(file.divergent is not None for file in current) else None,
            missing_chains=max(wanted - len(files), 0) + len(set_aside),
            complete=complete,
            exists=any(file.exists for file in files),
            restarts=_anew(files),
        )

    def _has_all(self, files: list[GrowingCsv]) -> bool:
        """Whether no chain begins after these: a pattern or folder tells only by its rest how many there are."""
        if not self._selection.pattern or isinstance(self._options.chains, int):
            return True
        since = min(time.time() - max(file.changed for file in files), time.monotonic() - self._moved)
        return since >= SETTLED

    def _waiting_for(self, files: list[GrowingCsv], set_aside: list[GrowingCsv], wanted: int, *, further: bool) -> str:
        if not files:
            return self._selection.nothing
        parts = lacks_in_words(zip(file_labels([file.path for file in files]), (file.lack for file in files), strict=True))
        if set_aside:
            those = listed(file_labels([file.path for file in set_aside]), 3)
            parts.append(f"{those} {'is' if len(set_aside) == 1 else 'are'} still of the earlier run")
        if len(files) < wanted:
            coming = wanted - len(files)
            parts.append(f"{coming} of {wanted} chains {'is' if coming == 1 else 'are'} still to come")
        if further:
            parts.append(f"{SETTLED:.0f} s without a change, in case another chain begins")
        return "; ".join(parts)

    def _require_number(self, files: list[GrowingCsv]) -> None:
        wanted = self._options.chains
        if isinstance(wanted, int) and len(files) > wanted:
            raise InputError(f"chains={wanted} was passed, but there are {len(files)} files; omit it", "shape")

    def _require_one_run(self, files: list[GrowingCsv]) -> None:
        """Raise if the files are of two runs: draws of two models, or of one run and its repetition, are no one sample."""
        if not files:
            return
        first = files[0]
        for file in files[1:]:
            mismatch = _mismatch(first, file)
            if mismatch:
                raise _two_runs(first, file, mismatch)
            require_same_names(first.names, file.names, first.path, file.path)
        if not self._selection.pattern:
            return  # files that were named one by one are meant
        stamps = {(_STAMPED.fullmatch(os.path.basename(file.path)) or ["", ""])[1]: file for file in files}
        if len(stamps) > 1:
            one, other, *_ = stamps.values()
            raise _two_runs(one, other, "the times in their names differ")
        ids = [file.settings.get("id", "") for file in files]
        counts = Counter(ids)
        if len(counts) > 1 and first.settings.get("num_chains", "1") == "1":
            for number, count in counts.items():
                if count > 1 and number:
                    one, other, *_ = (file for file, own in zip(files, ids, strict=True) if own == number)
                    raise _two_runs(one, other, f"both are chain {number} of their run")


def _require_different(files: list[GrowingCsv]) -> None:
    """Raise if a pattern or folder has one file by two names: its chain would count twice."""
    seen: dict[tuple[int, ...], str] = {}
    for file in files:
        one = seen.setdefault(file.identity, file.path) if file.identity else file.path
        with suppress(OSError):
            if one != file.path and os.path.samefile(one, file.path):
                found = f"{one} and {file.path} are the same file, by a link"
                raise InputError(f"{found}; each chain must be a separate file: remove the link, or list the files", "file")


def _mismatch(first: GrowingCsv, other: GrowingCsv) -> str:
    """Why two files cannot be chains of one run; empty if they can."""
    if sorted(first.header) != sorted(other.header):
        return "their columns differ"
    here, there = first.settings, other.settings
    differing = [name for name in _RUN_SETTINGS if here.get(name) != there.get(name)]
    return f"{differing[0]} is {here.get(differing[0])} and {there.get(differing[0])}" if differing else ""


def _two_runs(first: GrowingCsv, other: GrowingCsv, why: str) -> InputError:
    one, two = first.path, other.path
    way_out = "pass the files of one run, by name or by a pattern that only they match"
    return InputError(f"{one} and {two} are of two runs, because {why}; {way_out}", "two-runs")


def _of_the_newest_run(files: list[GrowingCsv]) -> tuple[list[GrowingCsv], list[GrowingCsv]]:
    """The files of the run that began last, and those that an earlier run left and that the newer one has still to replace."""
    set_aside = [file for file in files if any(_is_of_an_earlier_run(file, other) for other in files)]
    return [file for file in files if file not in set_aside], set_aside


def _is_of_an_earlier_run(file: GrowingCsv, newer: GrowingCsv) -> bool:
    """Whether another file began anew, with other settings or another seed than it shared with this one.

    With the same seed, or if every chain has its own, it is one chain that is run again.
    """
    if newer.generation <= file.generation:
        return False
    seed, before = file.settings.get("seed"), newer.settings_before.get("seed")
    return bool(_mismatch(newer, file)) or (seed == before != newer.settings.get("seed"))


def _in_order(file: GrowingCsv, names: tuple[str, ...]) -> Rows:
    """The draws of a file with the variables in this order; none if its header is not there yet."""
    if not file.header:
        return np.empty((0, len(names)))
    return file.rows if file.names == names else file.rows[:, [file.names.index(name) for name in names]]


def _same(read: Draws, files: list[GrowingCsv], *, more: int) -> bool:
    """Whether these are the draws that were followed, and at most so many more, from last lines that have no end.

    A plain file may have columns that readers leave out.
    """
    if read.n_chains != len(files) or not set(read.names) <= set(files[0].names):
        return False
    followed = [_in_order(file, read.names) for file in files]
    return all(
        0 <= len(chain) - len(own) <= more and np.array_equal(own, chain[: len(own)])
        for own, chain in zip(followed, read.values, strict=True)
    )


def _no_flags() -> Flags:
    return np.empty(0, np.bool_)


def _anew(files: list[GrowingCsv]) -> tuple[str, ...]:
    """A note about the files in which the run began anew."""
    labels = [label for file, label in zip(files, file_labels([file.path for file in files]), strict=True) if file.generation]
    if not labels:
        return ()
    void = sum(file.void for file in files)
    happened = f"{listed(labels, 3)} {'was' if len(labels) == 1 else 'were'} replaced or truncated"
    lost = f"{void:,} earlier draws are" if void != 1 else "one earlier draw is"
    return (f"the run was restarted: {happened}; {lost} discarded",)
