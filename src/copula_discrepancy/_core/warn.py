"""Warnings that point at the user's line."""

import sys
import warnings
from pathlib import Path

from copula_discrepancy._core.errors import DependenceWarning

_PACKAGE = str(Path(__file__).parents[1])


def warn(message: str | Warning, category: type[Warning] = DependenceWarning) -> None:
    """Issue a warning attributed to the innermost frame outside this package, regardless of how many of its frames are below.

    From Python 3.12 on `warnings.warn` does the same with ``skip_file_prefixes``.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
