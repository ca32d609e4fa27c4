"""Progress bars for long calls."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE = 2.0  # seconds before bars appear: most calls are finished by then
_ALL = "all"


@contextmanager
def progress_bar(show: bool | None, description: str, total: int) -> Iterator[Callable[[int], None]]:
    """A callback that takes the number of finished items and updates one bar; see `progress_bars`."""
    with progress_bars(show, {description: total}) as tick:
        yield partial(tick, description)


@contextmanager
def progress_bars(show: bool | None, totals: Mapping[str, float]) -> Iterator[Callable[[str, float], None]]:
    """A callback that takes a name and how much of its total is done, and updates a bar per name and one for their sum.

    Bars appear after two seconds, on a terminal or, with ``show=True``, anywhere, and disappear at the end.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda name, done: None
        return
    start, finished = time.monotonic(), dict.fromkeys(totals, 0.0)
    bars: Progress | None = None

    def tick(name: str, done: float) -> None:
        nonlocal bars
        finished[name] = done
        if bars is None:
            if time.monotonic() - start < _PATIENCE or sum(finished.values()) >= sum(totals.values()):
                return
            bars = _started(totals, force=bool(show))
        for task in bars.tasks:
            amount = sum(finished.values()) if task.description == _ALL else finished[task.description]
            if amount and not task.started:  # the remaining time is estimated from the first item on
                bars.start_task(task.id)
            bars.update(task.id, completed=amount)

    try:
        yield tick
    finally:
        if bars is not None:
            with suppress(OSError):  # the terminal was closed, which ends no computation
                bars.stop()


def _started(totals: Mapping[str, float], *, force: bool) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    counted = all(isinstance(total, int) for total in totals.values())  # costs are shown as percentages
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn() if counted else TaskProgressColumn()
    console = Console(stderr=True, force_terminal=True if force else None)
    bars = Progress(*columns, TimeRemainingColumn(), console=console, transient=True, speed_estimate_period=120)
    bars.start()
    several = {_ALL: sum(totals.values())} if len(totals) > 1 else {}
    for name, total in {**totals, **several}.items():
        bars.add_task(name, total=total, start=False)
    return bars
