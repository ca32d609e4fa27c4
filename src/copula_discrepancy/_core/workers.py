"""Work dealt out to threads and processes."""

import os
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from copula_discrepancy._core.errors import DependenceWarning, InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def checked_jobs(n_jobs: Any) -> int | None:
    """A number of joblib workers, or None for what `joblib.parallel_config` says."""
    if n_jobs is not None and (
        isinstance(n_jobs, bool | np.timedelta64) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0
    ):
        raise InputError(f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}")
    return None if n_jobs is None else int(n_jobs)


def threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """`function` of every item, in order, on threads (kernels release the interpreter lock) unless a backend is configured."""
    import joblib

    work = (joblib.delayed(function)(item) for item in items)
    with workers("call again with fewer workers, or with threads"):
        results: list[Result] = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(work)
    return results


def outcomes(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None, way_out: str, **options: Any
) -> Iterator[Result]:
    """`function` of every item as they come, in any order; `options` are for `joblib.Parallel`.

    Where one raises an error, nothing new is begun, what is under way is finished and given back, and only then the error is
    raised: who keeps results as they come loses none.
    """
    import joblib

    failures: list[Exception] = []

    def work() -> Iterator[Any]:
        for item in items:
            if failures:
                return
            yield joblib.delayed(_attempt)(function, item, os.getpid())

    with workers(way_out):
        found = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", **options)(work())
        try:
            for result, failure in found:
                if failure is None:
                    yield result
                else:
                    failures.append(failure)
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # who leaves early knows that not all was done
                found.close()
    if failures:
        raise failures[0]


def _attempt(function: Callable[[Item], Result], item: Item, process: int) -> tuple[Result | None, Exception | None]:
    """What a worker does: the result, or the error that it ended with."""
    try:
        return function(item), None
    except Exception as error:
        if os.getpid() != process:  # its place in the code does not travel with it
            error.add_note(traceback.format_exc())
        return None, error


@contextmanager
def workers(way_out: str) -> Iterator[None]:
    """Around joblib's workers: where a process of theirs dies, say so, with the way out; interrupted, they end quietly."""
    usual = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        # the thread behind joblib's processes stumbles over the work that an interrupt took away from it
        named = failure.thread.name if failure.thread is not None else ""
        if not (failure.exc_type is KeyError and named == "ExecutorManagerThread"):
            usual(failure)

    threading.excepthook = hook
    try:
        yield
    except BrokenExecutor as error:
        raise InputError(f"a worker process died ({error!s:.80}), as for want of memory; {way_out}") from error
    finally:
        threading.excepthook = usual


@contextmanager
def silenced() -> Iterator["Silence"]:
    """Studies of bad settings and small samples, without their DependenceWarnings; results record them in any case.

    `warnings.catch_warnings` is not safe in threads, so this is entered once, around all workers; worker processes call the
    `Silence` they are handed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependenceWarning)
        yield Silence(os.getpid())


@dataclass(frozen=True)
class Silence:
    """Silences a worker process; in the process that made it there is nothing to do."""

    process: int

    def __call__(self) -> None:
        """To be called at the beginning of a task."""
        if os.getpid() != self.process:
            warnings.simplefilter("ignore", DependenceWarning)
