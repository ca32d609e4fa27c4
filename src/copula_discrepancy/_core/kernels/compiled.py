"""Compilation of kernels: cached on disk if possible, and in memory otherwise.

Numba stores compiled functions in `NUMBA_CACHE_DIR`, next to their source, or in a folder of the user, and raises an error if
it can write to none of them: at import if no folder is writable, at a function's first call if a disk is full or a folder has
become read-only. A cache saves ten seconds per process; without one, results must still be computed.

Compilation time on first use is kept short. Numba compiles a function once for every combination of argument types, and once
more inside every compiled function that calls it. Therefore a function called from one place only has `inline="always"`, unless
its `fastmath` differs from its caller's, which would then apply to it, too; long functions, and those called from several
places, are not inlined. NumPy's functions of whole arrays (`np.var`, `np.argsort`, `a[k] = b`) take up to three seconds each to
compile; a loop takes almost none. `tests/cli/test_first_use.py` lists the kernels that a first comparison compiles.
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
# errors from reading a file damaged by another process, a full disk or a power failure
_DAMAGED = (OSError, EOFError, pickle.UnpicklingError, ValueError, TypeError, AttributeError, ImportError, IndexError, KeyError)


def compiled(**options):
    """`numba.njit` with these options, cached on disk if possible."""

    def decorate(function):
        # kernels are not called from C, so no C wrapper is compiled
        kernel = nb.njit(no_cfunc_wrapper=True, **options)(function)
        if kernel is function:  # NUMBA_DISABLE_JIT: there is nothing to cache
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
                self.flush()  # discard it, so that it can be written again
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
    """The time this process has spent compiling; numba calls `begin` and `end` one at a time, under its own lock."""

    _PATIENCE = 1.0  # seconds: a single missing kernel is compiled by then and needs no message

    def __init__(self):
        self._depth = 0  # kernels are compiled while compiling those that call them
        self._started = self._spent = 0.0

    def begin(self):
        """A kernel is about to be compiled."""
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
    """The cache if numba finds no folder."""

    def __init__(self, function):
        self._folder = nb.config.CACHE_DIR or os.path.dirname(inspect.getfile(function))

    def save_overload(self, sig, cres):
        _say_uncached(self._folder, "neither it nor your user cache folder is writable")


# Messages are issued when a function is compiled, not at import, which should not fail if warnings are errors, and not in a
# process that finds everything compiled.
_said = set()  # each once per process


def _say_compiling():
    """Log a line about the compilation on first use; workers do not repeat it."""
    if "compiling" not in _said and multiprocessing.parent_process() is None:
        _said.add("compiling")
        logging.getLogger("copula_discrepancy").warning(
            "copula_discrepancy: compiling for this machine, once; about 10 seconds"
        )  # fmt: skip


def _say_uncached(folder, why):
    if "uncached" not in _said:
        _said.add("uncached")
        warn(
            f"compiled functions cannot be cached in {folder} ({why}), so every process recompiles them (about ten seconds); "
            f"{_ADVICE}",
            RuntimeWarning,
        )


def _say_elsewhere(folder, beside):
    """Log, but do not warn about, a read-only installation, which is no fault and costs one compilation per user.

    If warnings are errors, a warning would end a user's tests, but only the first time.
    """
    wanted = Path(nb.config.CACHE_DIR or beside)
    if "elsewhere" not in _said and not folder.is_relative_to(wanted):
        _said.add("elsewhere")
        logging.getLogger("copula_discrepancy").warning(
            "copula_discrepancy: the folder %s is not writable, so compiled functions are cached in %s, once for all processes",
            wanted, folder,
        )  # fmt: skip
