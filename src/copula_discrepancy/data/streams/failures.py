"""Errors while data are read in pieces: every one names the piece, whichever library raised it."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import errors_about, listed


@contextmanager
def failures_named(label: str) -> Iterator[None]:
    """A context that turns all errors, of files and of other libraries, into InputErrors that begin with the label.

    A piece of a lazy computation runs any code, so any exception may come out of it; memory that runs out is not its fault.
    """
    with errors_about(label):
        try:
            yield
        except (InputError, MemoryError):
            raise
        except PermissionError:
            raise InputError("permission denied", "file") from None
        except FileNotFoundError:
            raise InputError("the file does not exist; if it existed before, it was removed while being read", "file") from None
        except (gzip.BadGzipFile, zlib.error, EOFError):
            raise InputError("the file is truncated or damaged", "file-format") from None
        except OSError as error:
            reason = error.strerror or first_line(error)
            raise InputError(f"the file cannot be read, it may be truncated or damaged ({reason})", "file") from None
        except Exception as error:
            message = f"cannot be read: {type(error).__name__}: {first_line(error)}"
            if type(error).__module__.partition(".")[0] == "pyarrow":  # about the file, where a traceback says nothing more
                raise InputError(message, "file-format") from None
            raise InputError(message) from error


def first_line(error: BaseException) -> str:
    """The first line of an exception's message, or its type without one."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def require_columns(
    needed: Sequence[str],
    present: Sequence[str],
    label: str,
    others: Sequence[str] | None = None,
    whose: str = "the first file",
) -> None:
    """Raise if a column is missing; `others` are the columns of what `label` is compared with, by default `needed`."""
    held = set(present)
    missing = next((name for name in needed if name not in held), None)
    if missing is not None:
        has = f"{whose} has {listed(others if others is not None else needed)}"
        raise InputError(f"{label} has no column {missing!r}; {has}", "names-differ")


def require_no_others(present: Sequence[str], known: Sequence[str], label: str, whose: str = "the first file") -> None:
    """Raise if there is a column that the first part does not have."""
    expected = set(known)
    extra = next((name for name in present if name not in expected), None)
    if extra is not None:
        advice = "select the columns that all have (--columns, or var_names)"
        raise InputError(f"{label} has a column {extra!r}, but {whose} has {listed(known)}; {advice}", "names-differ")
