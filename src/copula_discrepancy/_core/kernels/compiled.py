"""The one way in which kernels are compiled: cached on disk where that can be done, and compiled all the same where it cannot.

Numba keeps compiled functions in `NUMBA_CACHE_DIR` or beside their source, else in a folder of the user, and raises an error
where it can write to none of them: at import where no folder can be written, at a function's first call where a disk is full or
a folder has become read-only since. A cache saves ten seconds per process; for want of one nobody should be without numbers.

What a first use waits for is kept short. Numba compiles a function once for every combination of types it is called with, and
once more inside every compiled function that calls it. So a function called from one place only says `inline="always"`,
unless its `fastmath` differs from its caller's, which would then hold for it, too; what is long, or called from several
places, stays a function. NumPy's functions of whole arrays (`np.var`, `np.argsort`, `a[k] = b`) cost up to three seconds
each; a loop is free. `tests/cli/test_first_use.py` has the list of what a first comparison compiles.
"""

import contextlib
import inspect
import logging
import multiprocessing
import os
import pickle
import time
from pathlib import Path

import numba as nb
from numba.core.caching import FunctionCache, NullCache

from copula_discrepancy._core.warn import warn

_ADVICE = "set NUMBA_CACHE_DIR to a writable folder"
# what reading a file can end with that another process, a full disk or a power cut has left damaged
_DAMAGED = (OSError, EOFError, pickle.UnpicklingError, ValueError, TypeError, AttributeError, ImportError, IndexError, KeyError)


def compiled(**options):
    """`numba.njit` with these options, cached on disk where possible."""

    def decorate(function):
        # nobody takes a kernel's address from C: a second wrapper of each would be compiled for nothing
        kernel = nb.njit(no_cfunc_wrapper=True, **options)(function)
        if kernel is function:  # NUMBA_DISABLE_JIT: there is nothing to keep
            return kernel
        try:
            kernel._cache = _KernelCache(function)
        except (RuntimeError, OSError):
            kernel._cache = _NoCache(function)
        return kernel

    return decorate


class _KernelCache(FunctionCache):
    """Numba's on-disk cache; if a file cannot be read or written, the function is compiled in memory instead."""

    def load_overload(self, sig, target_context):
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except _DAMAGED:
            with contextlib.suppress(OSError):
                self.flush()  # forget it, so that it can be written again
        if found is None:
            _waiting.begin()
        return found

    def save_overload(self, sig, data):
        _waiting.end()
        try:
            super().save_overload(sig, data)
        except _DAMAGED as error:  # saving reads the index first
            _say_uncached(self.cache_path, getattr(error, "strerror", None) or f"{type(error).__name__}: {error}")
        else:
            _say_elsewhere(Path(self.cache_path), Path(inspect.getfile(self._py_func)).parent)


class _Waiting:
    """How long this process has been compiling; numba calls `begin` and `end` one at a time, under a lock of its own."""

    _PATIENCE = 1.0  # seconds: a single kernel that is missing is over by then, and nothing worth a line

    def __init__(self):
        self._depth = 0  # kernels are compiled while others are that call them
        self._started = self._spent = 0.0

    def begin(self):
        """A kernel is to be compiled."""
        now = time.monotonic()
        if self._depth == 0:
            self._started = now
        if self._spent + now - self._started > self._PATIENCE:
            _say_compiling()
        self._depth += 1

    def end(self):
        """A kernel has been compiled."""
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.monotonic() - self._started


_waiting = _Waiting()


class _NoCache(NullCache):
    """Where numba finds no folder."""

    def __init__(self, function):
        self._folder = nb.config.CACHE_DIR or os.path.dirname(inspect.getfile(function))

    def save_overload(self, sig, cres):
        _say_uncached(self._folder, "neither it nor your user cache folder is writable")


# All are said where a function is compiled, which is when it costs something: not at import, which should not end where
# warnings are errors, and not in a process that finds everything compiled.
_said = set()  # each once per process


def _say_compiling():
    """What a first use waits for: a line, for the reason given below, and none from workers, which would repeat it."""
    if "compiling" not in _said and multiprocessing.parent_process() is None:
        _said.add("compiling")
        logging.getLogger("copula_discrepancy").warning(
            "copula_discrepancy: compiling for this machine, once; about 10 seconds"
        )  # fmt: skip


def _say_uncached(folder, why):
    if "uncached" not in _said:
        _said.add("uncached")
        warn(
            f"compiled functions cannot be kept in {folder} ({why}), so every process recompiles them (about ten seconds); "
            f"{_ADVICE}",
            RuntimeWarning,
        )


def _say_elsewhere(folder, beside):
    """A read-only installation is no fault, and costs one compilation per user: worth a line, not a warning.

    A warning would end a user's tests, where warnings are errors, the first time and never again.
    """
    wanted = Path(nb.config.CACHE_DIR or beside)
    if "elsewhere" not in _said and not folder.is_relative_to(wanted):
        _said.add("elsewhere")
        logging.getLogger("copula_discrepancy").warning(
            "copula_discrepancy: the folder %s cannot be written, so compiled functions are kept in %s, once for all processes",
            wanted, folder,
        )  # fmt: skip
