"""A bar for what takes long, on a terminal only."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_PATIENCE = 2.0  # seconds without a bar: most calls are over by then


@contextmanager
def progress_bar(show: bool | None, description: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function to be told how much is done; after two seconds it draws a bar, on a terminal or where `show` says so."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda done: None
        return
    start = time.monotonic()
    bar: Any = None
    task: Any = None

    def tick(done: int) -> None:
        nonlocal bar, task
        if bar is None:
            if time.monotonic() - start < _PATIENCE or done >= total:
                return
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            bar = Progress(*columns, console=Console(stderr=True, force_terminal=True if show else None), transient=True)
            bar.start()
            task = bar.add_task(description, total=total)
        bar.update(task, completed=done)

    try:
        yield tick
    finally:
        if bar is not None:
            bar.stop()
