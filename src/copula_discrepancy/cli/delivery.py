"""Delivery of a command's output: printed, and written to files even if nobody reads what is printed."""

import os
import sys
from collections.abc import Callable
from typing import TypeVar

Written = TypeVar("Written")


def discard_output() -> None:
    """Discard further output: its reader, such as head, has stopped reading."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def deliver(show: Callable[[], None], write: Callable[[], Written]) -> Written:
    """Print a result and write its files, and return what was written."""
    try:
        show()
    except BrokenPipeError:
        discard_output()  # the reader has stopped, but files and the exit code still matter
    except OSError:  # the disk is full, but the files were requested too
        write()
        raise
    return write()
