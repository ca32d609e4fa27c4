"""Replications of an experiment, dealt out to joblib's workers part by part, each kept as soon as it is done."""

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import joblib
import numpy as np

from copula_discrepancy.errors import DependenceWarning, InputError
from copula_discrepancy.experiments.store import Row, Store

# Replications per part: parts are short enough to lose little when stopped, and long enough not to be mostly overhead.
BLOCK = 10

Tick = Callable[[float], None]  # hears of the cost done so far


def _any_number(value: float) -> int:
    return sys.maxsize


@dataclass(frozen=True)
class Study:
    """One experiment: what to vary, and what one replication measures.

    Attributes
    ----------
    name : str
        As on the command line.
    variable : str
        What varies: "n" or "step_size".
    values : sequence of float
        Its values.
    measure : callable
        (value, seed, context) -> numbers of one replication; a module's function, so that it reaches any worker.
    cost : callable
        value -> rough milliseconds of one replication, for the time left.
    context : mapping
        What all replications share, such as the tau of a reference chain.
    parallel : bool
        False where times are measured: nothing else may run beside it.
    most : callable
        value -> most replications of it.
    """

    name: str
    variable: str
    values: Sequence[float]
    measure: Callable[[float, "Seed", Mapping[str, float]], Row]
    cost: Callable[[float], float]
    context: Mapping[str, float] = field(default_factory=dict)
    parallel: bool = True
    most: Callable[[float], int] = _any_number


@dataclass(frozen=True)
class Seed:
    """Where one replication's randomness comes from: the same numbers whichever worker does it, in whatever order."""

    seed: int
    study: str
    value: float
    replication: int

    def generator(self, purpose: str) -> np.random.Generator:
        """A stream of its own for each purpose within the replication."""
        key = (*self._word(self.study), int(np.float64(self.value).view(np.uint64)), self.replication, *self._word(purpose))
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    @staticmethod
    def _word(text: str) -> tuple[int, ...]:
        return (int.from_bytes(text.encode(), "big"),)


@dataclass(frozen=True)
class _Part:
    """Some replications at one value."""

    study: Study
    value: float
    first: int
    stop: int
    seed: int
    process: int = field(default_factory=os.getpid)

    @property
    def name(self) -> str:
        """Path of the part's file inside the store."""
        return f"{self.study.name}/{self.study.variable}={self.value:.10g}/{self.first:05d}-{self.stop - 1:05d}"

    @property
    def cost(self) -> float:
        """Rough milliseconds."""
        return (self.stop - self.first) * self.study.cost(self.value)


def _compute(part: _Part) -> tuple[_Part, list[Row]]:
    """What a worker does."""
    if os.getpid() != part.process:  # a worker process; `run` silences its own, which threads of it share
        _silence()
    rows = []
    for replication in range(part.first, part.stop):
        seed = Seed(part.seed, part.study.name, part.value, replication)
        numbers = part.study.measure(part.value, seed, part.study.context)
        rows.append({part.study.variable: part.value, "replication": replication, **numbers})
    return part, rows


def _silence() -> None:
    # small samples and bad settings are what the studies are about; results keep their warnings in any case
    warnings.simplefilter("ignore", DependenceWarning)


def cost(study: Study, replications: int) -> float:
    """Rough milliseconds of all of it, on one core."""
    return sum(part.cost for part in _parts(study, replications, 0))


def _parts(study: Study, replications: int, seed: int) -> list[_Part]:
    return [
        _Part(study, float(value), first, min(first + BLOCK, count), seed)
        for value in study.values
        for count in [min(replications, study.most(value))]
        for first in range(0, count, BLOCK)
    ]


def run(study: Study, replications: int, seed: int, store: Store, *, n_jobs: int | None, tick: Tick) -> list[Row]:
    """All rows of a study, in order; `tick` hears of the cost done so far."""
    parts = _parts(study, replications, seed)
    found = {part.name: store.read(part.name) for part in parts}
    # the longest first: short ones fill the gaps at the end
    todo = sorted((part for part in parts if found[part.name] is None), key=lambda part: -part.cost)
    done = sum(part.cost for part in parts if found[part.name] is not None)
    tick(done)
    with warnings.catch_warnings():
        _silence()
        for part, rows in _results(todo, n_jobs if study.parallel else 1):
            store.write(part.name, rows)
            found[part.name] = rows
            done += part.cost
            tick(done)
    tick(sum(part.cost for part in parts))  # sums in another order differ by rounding, and a bar would stay open
    return [row for part in parts for row in found[part.name] or []]


def _results(parts: Sequence[_Part], n_jobs: int | None) -> Iterator[tuple[_Part, list[Row]]]:
    """Finished parts as they come, from whatever backend `joblib.parallel_config` names."""
    if not parts:
        return
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="3*n_jobs")
    try:
        with _quiet_executor():
            yield from parallel(joblib.delayed(_compute)(part) for part in parts)
    except BrokenExecutor as error:
        raise InputError(
            f"a worker process died ({error!s:.80}), as for want of memory; what is finished is kept: the same call "
            "goes on from "
            "there, with fewer workers if need be"
        ) from error


@contextmanager
def _quiet_executor() -> Iterator[None]:
    """Keep quiet when the thread behind joblib's processes stumbles over the work that an interrupt took away from it."""
    usual = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        named = failure.thread.name if failure.thread is not None else ""
        if not (failure.exc_type is KeyError and named == "ExecutorManagerThread"):
            usual(failure)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = usual


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
