"""Delivery of a command's output: printed, and written to files even if nobody reads what is printed."""

import errno
import os
import sys
from collections.abc import Callable
from typing import TextIO, TypeVar

Written = TypeVar("Written")


def discard_output(stream: TextIO | None = None) -> None:
    """Discard further output to a stream, by default standard output: its reader, such as head, has stopped reading."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, (stream or sys.stdout).fileno())
    os.close(nowhere)


def say(line: str) -> None:
    """Print a line on standard error, if anybody reads it."""
    try:
        print(line, file=sys.stderr)
    except OSError as error:
        if not _unread(sys.stderr, error):
            raise
        discard_output(sys.stderr)


def deliver(show: Callable[[], None], write: Callable[[], Written]) -> Written:
    """Print a result and write its files, and return what was written."""
    try:
        show()
    except OSError as error:
        if not _unread(sys.stdout, error):  # the disk is full, but the files were requested too
            write()
            raise
        discard_output()  # the reader has stopped, but files and the exit code still matter
    return write()


def _unread(stream: TextIO, error: OSError) -> bool:
    """Whether writing failed because nobody reads: the reader of a pipe has stopped, or the terminal was closed."""
    if isinstance(error, BrokenPipeError):
        return True
    try:
        os.get_terminal_size(stream.fileno())
    except OSError as about_terminal:  # a terminal that is gone answers no question; what never was one says so
        return error.errno == about_terminal.errno == errno.EIO
    return False
