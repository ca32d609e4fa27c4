"""What a look at a growing source tells, and the interface of its followers."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import grouped, listed

Rows: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
UNREAD = "not as they were followed"  # begins the note that a source, read again at the end, has not the same draws
UNEQUAL = "chains of unequal length"  # begins the note on them
UNFINISHED = "the last line is unfinished, so it is not counted"  # the note on a file
SETTLED = 10.0  # seconds without a change after which a source that does not tell its end has nothing more to come
_FIRST_ROWS = 64
_EVEN = 1.1


@dataclass(frozen=True, eq=False)
class Progress:
    """The draws of a growing source so far.

    Attributes
    ----------
    chains : tuple of array (draw, variable)
        One read-only view per chain, of any length. Rows that were handed out do not change within a generation, and a chain
        keeps its place; further chains may follow.
    names, labels : tuple of str
        Of the variables, and of the chains: the name of its file, or "chain 0". Without names nothing is known yet.
    generation : int
        Increases when the run began anew, for example because a file was replaced: all that was handed out before is void.
    new : int
        Draws of all chains that came since the previous look; all of them in a new generation.
    expected : int, optional
        Draws of a finished chain, if known.
    finished : bool, optional
        True if the run ended properly, False if it goes on; None if that cannot be known.
    waiting_for : str
        What is missing, in clauses such as "run_2.csv does not exist yet", separated by semicolons; empty if nothing is.
    notes : tuple of str
        What was left out or has happened, in words.
    divergent : tuple of array (draw,), optional
        Whether each draw ended a divergent transition, for each chain, if the source tells.
    exists : bool
        Whether the source is there, though it may not tell its chains yet.
    failed : str
        What the sampler said when it failed; empty if it did not.
    missing_chains : int
        Chains that have not begun, if it is known how many there will be.
    complete : bool
        Whether each chain that there is has ended properly, though others may begin.
    behind : bool
        Whether there are draws already that were not read yet, because one reading takes only so many.
    settling : bool
        Whether there are draws that are read in a moment, when all that belongs to them must have been written.
    restarts : tuple of str
        When the run began anew, and what was discarded, in words.
    named : bool
        Whether the names are the source's own; those of plain arrays are made up, so that a reference is matched by position.
    """

    chains: tuple[Rows, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    generation: int = 0
    new: int = 0
    expected: int | None = None
    finished: bool | None = None
    waiting_for: str = ""
    notes: tuple[str, ...] = ()
    divergent: tuple[Flags, ...] | None = None
    exists: bool = False
    failed: str = ""
    missing_chains: int = 0
    complete: bool = False
    behind: bool = False
    settling: bool = False
    restarts: tuple[str, ...] = ()
    named: bool = True

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of draws of each chain."""
        return tuple(map(len, self.chains))


class Follower(ABC):
    """A growing source that is looked at again and again; `pulls` if looking makes it go on, as with an iterator, and
    `own_threads` if reading takes threads besides that of the watch.
    """

    pulls: ClassVar[bool] = False
    own_threads: ClassVar[bool] = False

    @abstractmethod
    def poll(self) -> Progress:
        """The draws so far; reads only what is new.

        What may still come right, such as a missing file or half a line, is told in `Progress.waiting_for`. What cannot, such
        as columns that changed, raises an InputError, now and whenever it is called again.
        """

    @abstractmethod
    def whole(self) -> Draws:
        """All draws as `as_draws` reads them now that the source is at rest, with the same options.

        If its chains have different lengths, or it cannot be read as a whole, these are the draws of the last poll, of each
        chain as many as the shortest one has; a note tells it. The options were applied, and need not be applied again.
        """


class Growing:
    """Rows of a growing array; a view of them stays valid when more are appended."""

    def __init__(self, columns: int | None, dtype: Any = np.float64) -> None:
        self._width = () if columns is None else (columns,)
        self._rows = np.empty((0, *self._width), dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, rows: NDArray[Any]) -> None:
        """Append rows; the memory doubles when it is full, so that each row is copied about once."""
        end = self._count + len(rows)
        if end > len(self._rows):
            larger = np.empty((max(end, 2 * len(self._rows), _FIRST_ROWS), *self._width), self._rows.dtype)
            larger[: self._count] = self._rows[: self._count]
            self._rows = larger
        self._rows[self._count : end] = rows
        self._count = end

    def cut(self, count: int) -> None:
        """Forget the rows after the first ones."""
        self._count = min(self._count, count)

    def view(self) -> NDArray[Any]:
        """The rows so far, read-only."""
        rows = self._rows[: self._count]
        rows.flags.writeable = False
        return rows


@dataclass(frozen=True)
class Lack:
    """Why a file cannot be read now, said of one file and of several; `named` if one has to know which they are.

    What differs between files, such as a number of draws, is said of one only.
    """

    one: str
    several: str
    named: bool = False


NOT_YET = Lack("does not exist yet", "do not exist yet")
GONE = Lack("is gone; its draws are kept", "are gone; their draws are kept", named=True)


def unreadable(error: OSError) -> Lack:
    """That a file is there and cannot be read now, as one on a network file system that is away for a while."""
    unread = f"cannot be read ({error.strerror or type(error).__name__})"
    return Lack(f"{unread}; its draws so far are kept", f"{unread}; their draws so far are kept", named=True)


def lacks_in_words(lacks: Iterable[tuple[str, Lack | None]]) -> list[str]:
    """A clause for each reason why files cannot be read: "run_1.csv has no draws yet", or "4 files have no draws yet"."""
    clauses = []
    for several, found in grouped((lack.several, (label, lack)) for label, lack in lacks if lack is not None).items():
        label, lack = found[0]
        names = f" ({listed([label for label, _ in found], 3)})" if lack.named else ""
        clauses.append(f"{label} {lack.one}" if len(found) == 1 else f"{len(found)} files{names} {several}")
    return clauses


def unequal_note(labels: Sequence[str], lengths: Sequence[int]) -> tuple[str, ...]:
    """A note if chains have different numbers of draws, by more than chains that run side by side always have."""
    if not lengths or max(lengths) <= _EVEN * min(lengths):
        return ()
    short, long = int(np.argmin(lengths)), int(np.argmax(lengths))
    return (f"{UNEQUAL}: {lengths[short]} draws in {labels[short]}, {lengths[long]} in {labels[long]}",)


def cut_draws(progress: Progress, reason: str) -> Draws:
    """The draws of a look, of each chain as many as the shortest one has, in the layout that readers use.

    Chains without draws are left out. A note gives the reason why the source is not read as a whole, and what is left out.
    """
    filled = [chain for chain in progress.chains if len(chain)]
    empty = [label for chain, label in zip(progress.chains, progress.labels, strict=True) if not len(chain)]
    common = min(map(len, filled), default=0)
    if len(filled) * common < 2:
        message = progress.waiting_for or "the chains have fewer than two draws"
        raise InputError(f"there are not enough draws yet: {message}", "too-few-draws")
    columns = np.empty((len(progress.names), len(filled), common))
    for k, chain in enumerate(filled):
        columns[:, k] = chain[:common].T
    values = columns.transpose(1, 2, 0)
    values.flags.writeable = False
    dropped = sum(map(len, filled)) - common * len(filled)
    left_out = f"; left out: {dropped} draws at the ends of longer chains" if dropped else ""
    if empty:
        left_out += f"{', ' if left_out else '; left out: '}chains without draws ({listed(empty, 3)})"
    diverging = None
    if progress.divergent is not None:
        marked = zip(progress.chains, progress.divergent, strict=True)
        diverging = np.stack([flags[:common] for chain, flags in marked if len(chain)])
    called = tuple(label for chain, label in zip(progress.chains, progress.labels, strict=True) if len(chain))
    notes = (*progress.notes, f"{reason}{left_out}")
    return Draws(values, progress.names, progress.named, True, notes=notes, diverging=diverging, chain_names=called)
