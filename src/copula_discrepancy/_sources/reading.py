"""From whatever a user has to the reader that knows it."""

import os
from collections.abc import Mapping
from typing import Any

from copula_discrepancy._sources.arrays import read_array
from copula_discrepancy._sources.frames import is_frame, read_frame
from copula_discrepancy._sources.labelled import is_labelled, read_labelled, read_mapping
from copula_discrepancy._sources.request import Request
from copula_discrepancy._sources.table import Table, in_chains, joined
from copula_discrepancy.errors import InputError


def read(given: Any, request: Request) -> Table:
    """The requested variables, in chains if there are any or the request makes some."""
    return in_chains(_read(given, request), request.chains)


def _read(given: Any, request: Request) -> Table:
    if _names_files(given):
        from copula_discrepancy._sources.files import read_files  # not needed for arrays, which are read most often

        return read_files(given, request)
    if is_labelled(given):
        return read_labelled(given, request)
    if isinstance(given, Mapping):
        return read_mapping(given, request)
    if is_frame(given):
        return read_frame(given, request)
    if isinstance(given, list | tuple) and given and all(is_frame(chain) for chain in given):
        return joined([read_frame(chain, request) for chain in given], [f"chain {k}" for k in range(len(given))])
    if type(given).__name__ == "LazyFrame":
        raise InputError("a LazyFrame has no values yet; give frame.collect()")
    return read_array(given, request)


def _names_files(given: Any) -> bool:
    """A file's name, or a list of nothing else."""
    if isinstance(given, str | os.PathLike):
        return True
    if not isinstance(given, list | tuple) or not given:
        return False
    paths = [isinstance(item, str | os.PathLike) for item in given]
    if any(paths) and not all(paths):
        raise InputError("a list of draws must hold files only or arrays only, got both; read the files first, each by itself")
    return all(paths)
