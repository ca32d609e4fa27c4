"""Parallel execution with threads and processes."""

import os
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from copula_discrepancy._core.checks import is_whole
from copula_discrepancy._core.errors import DependenceWarning, InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def checked_jobs(n_jobs: Any) -> int | None:
    """A number of joblib workers, or None for the setting of `joblib.parallel_config`."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InputError(f"n_jobs must be a nonzero integer or None, got {n_jobs!r}")
    return None if n_jobs is None else int(n_jobs)


def thread_count(n_jobs: int | None) -> int:
    """How many threads a number of workers stands for: -1 is one per core, None one."""
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max((os.cpu_count() or 1) + 1 + n_jobs, 1)


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None, advice: str, **options: Any
) -> list[Result]:
    """`function` of every item, in order; `options` are passed to `joblib.Parallel`."""
    import joblib

    with _workers(advice):
        results: list[Result] = joblib.Parallel(n_jobs=n_jobs, **options)(joblib.delayed(function)(item) for item in items)
    return results


def threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """`function` of every item, in order, on threads (kernels release the interpreter lock) unless a backend is configured."""
    return in_order(function, items, n_jobs, "repeat the call with fewer workers, or with threads", prefer="threads")


def one_blas_thread() -> Any:
    """A context in which a matrix product uses one core: products of small matrices are many, and cores have other work."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(1, "blas")


def blas_threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """`function` of every item, in order, on threads that share memory, whatever backend is configured; each uses one core.

    Otherwise matrix products on two threads would use two threads each, which wait for each other: on two busy cores a product
    took 17 times as long.
    """
    with one_blas_thread():
        return in_order(function, items, n_jobs, "repeat the call with n_jobs=1", require="sharedmem")


def outcomes(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None, advice: str, **options: Any
) -> Iterator[Result]:
    """`function` of every item as they finish, in any order; `options` are passed to `joblib.Parallel`.

    After an error no new item is started; those already running finish and are yielded, and only then is the error raised, so
    that a caller who saves results as they finish loses none.
    """
    import joblib
    from joblib.parallel import get_active_backend

    failures: list[Exception] = []

    def work() -> Iterator[Any]:
        for item in items:
            if failures:
                return
            yield joblib.delayed(_attempt)(function, item, os.getpid())

    # joblib's backend "multiprocessing" has no generators
    lazy = get_active_backend()[0].supports_return_generator
    with _workers(advice):
        found = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered" if lazy else "list", **options)(work())
        try:
            for result, failure in found:
                if failure is None:
                    yield result
                else:
                    failures.append(failure)
        finally:
            if isinstance(found, Generator):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # a caller who stops early knows that items remain
                    found.close()
    if failures:
        raise failures[0]


def _attempt(function: Callable[[Item], Result], item: Item, process: int) -> tuple[Result | None, Exception | None]:
    """The result of one item and None, or None and the error it raised."""
    try:
        return function(item), None
    except Exception as error:
        if os.getpid() != process:  # a traceback is not pickled with its exception
            error.add_note(traceback.format_exc())
        return None, error


@contextmanager
def _workers(advice: str) -> Iterator[None]:
    """Context for joblib workers: report a dead worker process with advice, and shut down quietly on an interrupt."""
    usual = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        # the thread that manages joblib's processes fails on work that an interrupt has removed
        name = failure.thread.name if failure.thread is not None else ""
        if not (failure.exc_type is KeyError and name == "ExecutorManagerThread"):
            usual(failure)

    threading.excepthook = hook
    try:
        yield
    except BrokenExecutor as error:
        raise InputError(f"a worker process died ({error!s:.80}), possibly out of memory; {advice}", "interrupted") from error
    finally:
        threading.excepthook = usual


@contextmanager
def silenced(function: Callable[[Item], Result]) -> Iterator[Callable[[Item], Result]]:
    """The same function, for any worker, without DependenceWarnings: for studies of bad settings and small samples.

    `warnings.catch_warnings` is not thread-safe, so it is entered once, around all workers. Worker processes have their own
    filters and set them for each task.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependenceWarning)
        yield partial(_silently, os.getpid(), function)


def _silently(process: int, function: Callable[[Item], Result], item: Item) -> Result:
    if os.getpid() != process:
        warnings.simplefilter("ignore", DependenceWarning)
    return function(item)
