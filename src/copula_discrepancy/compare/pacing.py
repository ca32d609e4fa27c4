"""How often a watch looks at a run, and how long a look may take: a share of one core."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# Seconds whose share may be used ahead, at the beginning and after so many seconds. The first looks take ahead what compares
# every pair once, and what is loaded and compiled does not delay the answers that follow: later looks compute less.
_AHEAD, _PAID_AFTER = 6.0, 40.0
_GRACE = 2.0  # seconds whose share may be owed besides: some rows take longer than others
_OF_PAUSE = 0.4  # of the time between two looks, for one: an answer is never much older than that time
_SHORTEST = 1.0  # seconds that a look may take however often they come
_WHILE_OWING = 0.6  # of the share of the time between two looks, for one while what was used ahead is paid
_OF_FIXED = 1.0  # of what every look costs, at least, for rows: or those of many variables would never all be computed


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
        self._longest = max(_OF_PAUSE * pace.every, _SHORTEST)
        self._balance, self._at, self._start = 0.0, clock(), clock()
        self._fixed = 0.0

    @property
    def owed(self) -> float:
        """Seconds that were used beyond the share; below 0 if some are left, of which no more are kept than a look may use."""
        return max(self._balance - self._pace.share * (self._clock() - self._at), -self._longest)

    @property
    def earned(self) -> float:
        """Seconds that may be used between two looks."""
        return self._pace.share * self._pace.every

    @property
    def rest(self) -> float:
        """Seconds until the next look can be paid."""
        return (self.owed - self._ahead(0.0)) / self._pace.share - _GRACE

    @contextmanager
    def spending(self) -> Iterator[Callable[[], float]]:
        """Count what the block uses; what is yielded tells how much that is so far."""
        self._balance, self._at = self.owed, self._clock()
        begin = self._processor()

        def used() -> float:
            return self._processor() - begin

        try:
            yield used
        finally:
            self._balance += used()

    def of_rows(self, *, all_known: bool) -> float:
        """Seconds that the next look may spend on rows; more while pairs were never compared."""
        whole = min(self._longest, self._ahead(self._pace.every) + self.earned - self.owed)  # or the next look would be late
        if all_known:
            whole = min(whole, max(-self.owed, _WHILE_OWING * self.earned))
        return max(whole - self._fixed, _OF_FIXED * self._fixed)

    def looked(self, fixed: float, *, first: bool) -> None:
        """Take note of a look: its time besides rows; the first one loads and compiles, which is paid in part."""
        if first:
            self._balance, self._at = min(self.owed, self._ahead(0.0)), self._clock()
        else:
            self._fixed = fixed

    def _ahead(self, later: float) -> float:
        """Seconds that looks may owe so many seconds later."""
        passed = (self._clock() + later - self._start) / _PAID_AFTER
        return self._pace.share * _AHEAD * max(1.0 - passed, 0.0)
