"""Medians of wall-clock seconds, and how they are written and read again."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core import event

Job = Callable[[], object]
PATIENCE = 4.0  # seconds: a job that takes longer is not run a second time


@dataclass
class Run:
    """The result and run time of a job, or the error it raised."""

    seconds: float
    answer: Any = None
    error: Exception | None = None


def timed(job: Job) -> Run:
    """One run."""
    start = time.perf_counter()
    answer = job()
    return Run(time.perf_counter() - start, answer)


def attempted(job: Job) -> Run:
    """One run of a peer's job; errors are recorded as results."""
    try:
        return timed(job)
    except Exception as error:  # told in the table
        return Run(float("nan"), error=error)


def first_run(job: Job) -> Run:
    """A first run, which may compile; if it takes too long, the one after it."""
    with event.install_recorder("numba:compile") as compiled:
        run = attempted(job)
    return attempted(job) if compiled.buffer and run.seconds > PATIENCE else run


def measured(*jobs: Job, repeats: int = 9) -> list[Run]:
    """Median seconds of each job; the jobs alternate, so that a slow moment of the machine hits all of them.

    The first run compiles, loads and touches, and does not count, unless it took so long that it is the only one.
    """
    first = [first_run(job) for job in jobs]
    again = [run.error is None and run.seconds <= PATIENCE for run in first]
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(repeats):
        for job, record, wanted in zip(jobs, times, again, strict=True):
            if wanted:
                record.append(timed(job).seconds)
    medians = [float(np.median(record)) if record else run.seconds for record, run in zip(times, first, strict=True)]
    return [Run(seconds, run.answer, run.error) for seconds, run in zip(medians, first, strict=True)]


def in_words(seconds: float) -> str:
    """Three digits and a unit.

    >>> in_words(0.0038712), in_words(12.5), in_words(1091.3)
    ('3.87 ms', '12.5 s', '1091 s')
    """
    if seconds >= 99.95:
        return f"{seconds:.0f} s"
    return f"{seconds:#.3g} s" if seconds >= 0.9995 else f"{1e3 * seconds:#.3g} ms".replace(". ", " ")


def in_seconds(words: str) -> float:
    """The inverse of `in_words`; NaN for a cell without a time.

    >>> in_seconds("3.87 ms"), in_seconds("12.5 s"), in_seconds("-")
    (0.00387, 12.5, nan)
    """
    number, _, unit = words.partition(" ")
    scale = {"ms": 1e-3, "s": 1.0}.get(unit)
    return float("nan") if scale is None else round(float(number) * scale, 12)
