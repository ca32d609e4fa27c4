"""From whatever a user has to the reader that knows it."""

import os
from collections.abc import Mapping
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers.arrays import read_array
from copula_discrepancy.data.readers.labelled import is_labelled, read_labelled, read_mapping
from copula_discrepancy.data.readers.request import Request
from copula_discrepancy.data.readers.table import Table, in_chains, joined, stacked
from copula_discrepancy.data.readers.tabular import is_tabular, read_plain, read_tabular, rows_with_names


def read(given: Any, request: Request) -> Table:
    """The requested variables, in chains if there are any or the request makes some."""
    return in_chains(_read(given, request), request.chains)


def _read(given: Any, request: Request) -> Table:
    if _names_files(given):
        from copula_discrepancy.data.readers.files import read_files  # not needed for arrays, which are read most often

        return read_files(given, request)
    if is_labelled(given):
        return read_labelled(given, request)
    if isinstance(given, Mapping):
        return read_mapping(given, request)
    if isinstance(given, list | tuple) and given:
        return _read_list(given, request)
    return read_plain(given, request)


def _read_list(given: Any, request: Request) -> Table:
    """Several samples: chains, or the parts of one table; rows with names, and arrays with names, are one sample."""
    if isinstance(given, tuple) and hasattr(given, "_asdict"):
        return read_mapping(given._asdict(), request)
    rows = rows_with_names(given)
    if rows is not None:
        return read_mapping(rows, request)
    # rows may be many, and are lists of numbers
    tables = [not isinstance(item, list | tuple | int | float) and is_tabular(item) for item in given]
    labels = [f"{'part' if request.parts == 'rows' else 'chain'} {k}" for k in range(len(given))] if any(tables) else []
    if labels and all(tables):
        together = stacked if request.parts == "rows" else joined
        return together([read_tabular(item, request) for item in given], labels)
    if labels:
        named, bare = (type(given[tables.index(kind)]).__name__ for kind in (True, False))
        raise InputError(f"a list of draws must have names for all its tables or for none, got a {named} and a {bare}")
    if request.parts == "rows" and all(getattr(item, "ndim", 0) == 2 for item in given):
        labels = [f"part {k}" for k in range(len(given))]
        return stacked([read_array(item, request, f"draws, part {k}") for k, item in enumerate(given)], labels)
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
