"""Work dealt out to threads and processes."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from copula_discrepancy.errors import DependenceWarning, InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def checked_jobs(n_jobs: Any) -> int | None:
    """A number of joblib workers, or None for what `joblib.parallel_config` says."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise InputError(f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}")
    return None if n_jobs is None else int(n_jobs)


def threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """`function` of every item, in order, on threads (kernels release the interpreter lock) unless a backend is configured."""
    import joblib

    results: list[Result] = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(joblib.delayed(function)(item) for item in items)
    return results


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
