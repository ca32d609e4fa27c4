"""How often a watch looks at a run, and how long a look may take: a share of one core."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# Seconds whose share may be used ahead, at the beginning and after so many seconds. The first looks take ahead what compares
# every pair once, and what is loaded and compiled does not delay the answers that follow: later looks compute less.
_AHEAD, _PAID_AFTER = 6.0, 40.0
_PART = 0.5  # of what a look may use, for its plan: other processes come and go, and what took longer would delay the next look
_KEPT = 2.0  # times what is earned between two looks, at most, that is saved
_OF_PAUSE = 0.6  # of the time between two looks, for one: an answer is never much older than that time
_OF_EARNED = 1.1  # of what is earned between two looks, for one: several that are longer would delay those that follow
_LEAST = 0.4  # of what is earned between two looks, for one while what was used ahead is paid
_OF_FIXED = 1.0  # of what every look costs, at least, for rows: or those of many variables would never all be computed
_LEARNT, _WORST = 0.5, 3.0  # weight of the latest look in how much longer than planned they take, and the most that counts


@dataclass(frozen=True)
class Pace:
    """How often to look, and how long to wait.

    Attributes
    ----------
    every : float
        Seconds between two looks, at least.
    share : float
        Share of one core that may be used.
    wait : float
        Seconds to wait for the source to appear.
    patience : float
        Seconds without new draws after which the run counts as ended.
    """

    every: float = 3.0
    share: float = 0.25
    wait: float = 600.0
    patience: float = 600.0


class Budget:
    """The processor time that a watch has used, against its share of the time that has passed.

    Only the thread of the watch counts: a sampler may run in others of the same process.

    Parameters
    ----------
    pace : Pace
        How often to look, and the share.
    clock, processor : callable
        Time in seconds, and processor time of this thread.
    """

    def __init__(self, pace: Pace, clock: Callable[[], float], processor: Callable[[], float] = time.thread_time) -> None:
        self._pace, self._clock, self._processor = pace, clock, processor
        self._longest = min(_OF_PAUSE * pace.every, _OF_EARNED * self.earned)
        self._balance, self._at, self._start = 0.0, clock(), clock()
        self._fixed, self._planned, self._longer = 0.0, 0.0, 1.0

    @property
    def owed(self) -> float:
        """Seconds that were used beyond the share; below 0 if some are left, of which those of two looks are kept."""
        return max(self._balance - self._pace.share * (self._clock() - self._at), -_KEPT * self.earned)

    @property
    def earned(self) -> float:
        """Seconds that may be used between two looks."""
        return self._pace.share * self._pace.every

    @property
    def rest(self) -> float:
        """Seconds until the next look can be paid."""
        return (self.owed - self._ahead(0.0)) / self._pace.share

    @contextmanager
    def spending(self, *, own_threads: bool = False) -> Iterator[Callable[[], float]]:
        """Count what the block uses; what is yielded tells how much that is so far.

        A block that has `own_threads` uses what the process does, but no more than the time that passes: a sampler may run in
        other threads.
        """
        self._balance, self._at = self.owed, self._clock()
        begin, entire, at = self._processor(), time.process_time(), self._clock()

        def used() -> float:
            own = self._processor() - begin
            return max(own, min(time.process_time() - entire, self._clock() - at)) if own_threads else own

        try:
            yield used
        finally:
            self._balance += used()

    def of_rows(self, *, all_known: bool) -> float:
        """Seconds that the next look may spend on rows; more while pairs were never compared."""
        whole = min(self._longest, _PART * (self._ahead(self._pace.every) + self.earned - self.owed))
        if all_known:
            whole = min(whole, max(-_PART * self.owed, _LEAST * self.earned))
        self._planned = max(whole - self._fixed, _OF_FIXED * self._fixed)
        return self._planned / self._longer

    def looked(self, rows: float, fixed: float, *, first: bool) -> None:
        """Take note of a look: its time for rows, and besides; the first one loads and compiles, which is paid in part."""
        if first:
            self.caught_up()
            return
        self._fixed = fixed
        if self._planned > 0.0:
            longer = self._longer * rows / self._planned
            self._longer = min(max((1.0 - _LEARNT) * self._longer + _LEARNT * longer, 1.0), _WORST)

    def caught_up(self) -> None:
        """Take note that what was used so far comes once; it is paid in part."""
        self._balance, self._at = min(self.owed, self._ahead(0.0)), self._clock()

    def _ahead(self, later: float) -> float:
        """Seconds that looks may owe so many seconds later."""
        passed = (self._clock() + later - self._start) / _PAID_AFTER
        return self._pace.share * _AHEAD * max(1.0 - passed, 0.0)
