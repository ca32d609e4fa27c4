"""Bars with the time left, on a terminal."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

Tick = Callable[[float], None]  # hears of the cost done so far


@contextmanager
def progress_bars(show: bool | None, costs: Mapping[str, float]) -> Iterator[Callable[[str], Tick]]:
    """A function that gives each study's `tick`: one bar per study and one for all, on a terminal only unless `show` says."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda name: lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns: tuple[Any, ...] = (
        TextColumn("{task.description:<11}"), BarColumn(bar_width=None), TaskProgressColumn(),
        TextColumn("left"), TimeRemainingColumn(), TextColumn("used"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=120) as bars:
        tasks = {name: bars.add_task(name, total=cost, start=False) for name, cost in costs.items()}
        whole = bars.add_task("all", total=sum(costs.values())) if len(costs) > 1 else None
        finished = dict.fromkeys(costs, 0.0)

        def tick(name: str, done: float) -> None:
            finished[name] = done
            bars.start_task(tasks[name])
            bars.update(tasks[name], completed=done)
            if whole is not None:
                bars.update(whole, completed=sum(finished.values()))

        yield lambda name: partial(tick, name)
