"""The folder of a reproduction: finished parts as rows of numbers."""

import hashlib
import math
import os
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from copula_discrepancy._core.checkpoint import Store

FORMAT = 1  # file format; files of another format cannot be resumed
ANOTHER_FOLDER = "use another folder with --out"
Row = dict[str, Any]


def open_store(folder: str | os.PathLike[str], seed: int) -> Store:
    """The parts of one run; a folder belongs to one version, format and seed."""
    studies = files("copula_discrepancy.studies.paper").joinpath("studies.py").read_bytes()
    digest = hashlib.sha256(studies).hexdigest()[:16]  # the measurements may change between releases
    return Store(folder, {"format": FORMAT, "version": version("copula-discrepancy"), "studies": digest, "seed": seed})


def read_rows(store: Store, part: str) -> list[Row] | None:
    """The rows of a finished part, or None if it must be computed (again)."""
    try:
        return [{key: _number(value) for key, value in row.items()} for row in store.read(part)]
    except (TypeError, ValueError, AttributeError):
        return None


def _number(value: Any) -> Any:
    """A number from its form in JSON, which has neither NaN nor infinity."""
    if value is None:
        return math.nan
    return float(value) if isinstance(value, str) else value
