"""Work dealt out to threads: kernels release the interpreter lock."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from copula_discrepancy.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def checked_jobs(n_jobs: Any) -> int | None:
    """A number of joblib workers, or None for what `joblib.parallel_config` says."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise InputError(f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}")
    return None if n_jobs is None else int(n_jobs)


def threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """`function` of every item, in order, on threads unless a joblib backend is configured."""
    import joblib

    results: list[Result] = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(joblib.delayed(function)(item) for item in items)
    return results
