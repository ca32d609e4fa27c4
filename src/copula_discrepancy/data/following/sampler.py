"""A sampler that runs in the background and gives a copy of its draws, as nutpie's does with ``sample(blocking=False)``."""

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.following.labelled_rows import ChainRows, LabelledRows, Settling, still_there
from copula_discrepancy.data.following.progress import Follower, Progress, cut_draws, unequal_note
from copula_discrepancy.data.naming import chain_labels
from copula_discrepancy.data.readers.divergences import unknown_divergences
from copula_discrepancy.data.readers.labelled import dataset_of
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.failures import first_line

_MOST_TIME = 0.1  # of the time between looks that may go into copies: a copy has all draws, so that it takes longer and longer
_PANIC = "PanicException"  # of samplers in Rust, which is no Exception
_GIVES_NONE = (AttributeError, RuntimeError, ValueError, OSError)  # of nutpie, after its results were taken or a chain failed
_WARMING_UP = "the sampler has no draws yet: it is warming up"
_NO_DRAWS = "the sampler ended without draws"
_SLACK = 32  # draws by which variables of one copy may differ while the sampler runs; more are NaN, and not missing yet


class _PanickedError(RuntimeError):
    """A sampler broke down, and will not answer again."""


def is_background_sampler(given: Any) -> bool:
    """Whether an object is a running sampler: it can be inspected, and tells whether it has finished."""
    kind = type(given)
    return callable(getattr(kind, "inspect", None)) and hasattr(kind, "is_finished") and callable(getattr(kind, "abort", None))


class SamplerFollower(Follower):
    """Follows a sampler by its ``inspect()``; nothing but the draws is asked of it, and it is never stopped.

    The copies of nutpie have the chains that were begun, all of the length of the longest, padded with NaN.
    """

    def __init__(self, sampler: Any, options: ReadOptions) -> None:
        options.refuse("a running sampler", "delimiter", "chain column")
        self._sampler, self._options = sampler, options
        self._held: ChainRows | None = None
        self._names: tuple[str, ...] = ()
        self._generation = 0
        self._settling = Settling()
        self._next, self._copies = 0.0, 0
        self._ended = False
        self._last = Progress(waiting_for="the sampler has no draws yet", exists=True)

    def poll(self) -> Progress:
        """The draws so far; copies are made so seldom that they take little time."""
        now = time.monotonic()
        if self._ended:
            return self._again()
        try:
            finished = bool(_asked(lambda: self._sampler.is_finished))
        except TimeoutError:  # of nutpie while it runs
            finished = False
        except _GIVES_NONE as error:
            return self._failed(error)
        if now < self._next and not finished:
            return self._again()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of ArviZ, about chains that are shorter than they are many
                copy = _asked(self._sampler.inspect)
        except TimeoutError:
            return self._again("the sampler to answer")
        except InputError:
            raise
        except _PanickedError as error:
            return self._failed(error)
        except _GIVES_NONE as error:
            self._ended = self._ended or finished
            gone = f"the sampler gives no draws any more ({first_line(error):.80}); wait() or abort() took them, or it failed"
            return self._again("" if finished and any(self._last.lengths) else gone)
        self._last = self._told(copy, finished)
        self._ended = bool(self._last.finished)
        if self._copies:  # the first copy also imports what it needs
            self._next = time.monotonic() + (time.monotonic() - now) / _MOST_TIME
        self._copies += 1
        return self._last

    def whole(self) -> Draws:
        """The draws of the last poll."""
        return cut_draws(self._last, "read from the running sampler")

    def _failed(self, error: Exception) -> Progress:
        """The last progress, after a chain of the sampler has failed."""
        self._ended = True
        self._last = replace(self._again(""), failed=f"{first_line(error):.200}")
        return self._last

    def _again(self, waiting_for: str | None = None) -> Progress:
        """The last progress without news."""
        last = self._last
        waiting = last.waiting_for if waiting_for is None else waiting_for
        self._last = replace(last, new=0, finished=self._ended or last.finished, waiting_for=waiting)
        return self._last

    def _told(self, copy: Any, finished: bool) -> Progress:
        try:
            dataset, statistics = dataset_of(copy, self._options)
        except InputError as error:
            if error.code != "unknown-name" or finished:
                raise
            missing = f"the sampler has no group {self._options.group} yet"
            return Progress(generation=self._generation, waiting_for=missing, exists=True)
        if not dataset.data_vars or not dataset.sizes.get("draw", 0):
            missing = _NO_DRAWS if finished else _WARMING_UP
            return Progress(generation=self._generation, finished=finished or None, waiting_for=missing, exists=True)
        rows = LabelledRows.of_dataset(dataset, statistics, self._options, self._names)
        wanted = self._options.chains
        if not isinstance(wanted, int):
            wanted = max(self._setting("num_chains") or 0, rows.n_chains)
        if rows.n_chains > wanted:
            raise InputError(f"chains={wanted} was passed, but the sampler has {rows.n_chains} chains; omit it", "shape")
        held = self._held
        if held is None or self._names != rows.names or not still_there(held, rows):
            if held is not None and any(held.lengths(0)):
                self._generation += 1
            held, self._settling = ChainRows(len(rows.names)), Settling()
            self._held = held
            self._names = rows.names
        done = held.lengths(rows.n_chains)
        there = [rows.there(chain, done[chain], rows.n_draws) if rows.tells else rows.n_draws for chain in range(rows.n_chains)]
        ready = there
        stored = any(array.encoding.get("chunks") for array in dataset.data_vars.values())  # not in memory, but being written
        if stored:
            ready = self._settling.settled(there, done)
        for chain, begin in enumerate(done):
            end = ready[chain]
            if not stored and rows.tells:  # a copy has all variables of a draw, so that what is missing in one is NaN
                ahead = rows.ahead(chain, end)
                end = ahead if ahead > end + (0 if finished else _SLACK) else end
            if end > begin:
                held.extend(chain, rows.rows(chain, begin, end), rows.names)
            held.mark(chain, rows.flags(chain, *held.unmarked(chain)))
        notes = rows.notes
        if finished and rows.diverging is not None and held.divergent is None:
            notes = (unknown_divergences("diverging has missing values"),)
        lengths = held.lengths(rows.n_chains)
        labels = chain_labels(np.atleast_1d(dataset["chain"].values) if "chain" in dataset.coords else (), len(lengths))
        new = sum(lengths) - (sum(self._last.lengths) if self._generation == self._last.generation else 0)
        waiting_for = "" if any(lengths) else _NO_DRAWS if finished else _WARMING_UP
        return Progress(
            held.chains, rows.names, labels, self._generation, new, self._setting("num_draws"), finished and ready == there,
            waiting_for, (*notes, *unequal_note(labels, lengths)), held.divergent, exists=True,
            missing_chains=wanted - rows.n_chains,
        )  # fmt: skip

    def _setting(self, name: str) -> int | None:
        """A number that the sampler's settings tell, such as the draws that each chain will have; None if they do not."""
        settings: Any = getattr(self._sampler, "_settings", None)
        number = getattr(settings, name, None)
        if number is None and callable(getattr(settings, "as_dict", None)):  # of nutpie 0.16
            number = dict(settings.as_dict()).get("settings", {}).get(name)
        return number if isinstance(number, int) and number > 0 else None


def _asked(question: Callable[[], Any]) -> Any:
    """What a sampler answers; a panic, which nothing catches, becomes an error."""
    try:
        return question()
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise _PanickedError(f"it panicked: {error}") from None
