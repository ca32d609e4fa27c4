"""Dispatch of an input to the reader that supports it."""

import os
from collections.abc import Mapping
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers.arrays import read_array
from copula_discrepancy.data.readers.interchange import is_tabular, read_array_or_table, read_tabular, rows_with_names
from copula_discrepancy.data.readers.labelled import is_labelled, is_pystan, read_labelled, read_mapping, read_pystan
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.readers.table import Table, as_chains, as_rows, in_chains
from copula_discrepancy.data.readers.variables import with_chosen_kinds


def read(given: Any, options: ReadOptions) -> Table:
    """The selected variables, in chains if there are any or the options define some."""
    return in_chains(with_chosen_kinds(_read(given, options), options.kinds), options.chains)


def _read(given: Any, options: ReadOptions) -> Table:
    if _names_files(given):
        from copula_discrepancy.data.readers.files import read_files  # not needed for arrays, the most common input

        return read_files(given, options)
    if is_labelled(given):
        return read_labelled(given, options)
    if is_pystan(given):
        return read_pystan(given, options)
    if isinstance(given, Mapping):
        return read_mapping(given, options)
    if isinstance(given, list | tuple) and given:
        return _read_list(given, options)
    return read_array_or_table(given, options)


def _read_list(given: Any, options: ReadOptions) -> Table:
    """Several samples, as chains or as the parts of one table; named tuples are rows or columns of one sample."""
    if isinstance(given, tuple) and hasattr(given, "_asdict"):
        return read_mapping(given._asdict(), options)
    rows = rows_with_names(given)
    if rows is not None:
        return read_mapping(rows, options)
    # rows may be many, and are lists of numbers
    others = [item for item in given if not isinstance(item, list | tuple | int | float)]
    labelled = next((type(item).__name__ for item in others if is_labelled(item) and not hasattr(item, "dtype")), None)
    if labelled is not None:
        way_out = "pass it without the list" if len(given) == 1 else "pass one that has them in a dimension chain"
        rule = f"a list of draws must contain files, arrays or tables, got a {labelled} in it"
        raise InputError(f"{rule}; {way_out}", "not-numeric")
    tables = [not isinstance(item, list | tuple | int | float) and is_tabular(item) for item in given]
    as_parts = options.parts == "rows"
    labels = [f"{'part' if as_parts else 'chain'} {k}" for k in range(len(given))] if as_parts or any(tables) else []
    if all(tables):
        return (as_rows if as_parts else as_chains)([read_tabular(item, options) for item in given], labels)
    if any(tables):
        named, bare = (type(given[tables.index(kind)]).__name__ for kind in (True, False))
        raise InputError(f"either all or none of the tables in a list must have column names, got a {named} and a {bare}")
    if as_parts and all(getattr(item, "ndim", 0) == 2 for item in given):
        return as_rows([read_array(item, options, f"draws, part {k}") for k, item in enumerate(given)], labels)
    return read_array(given, options)


def _names_files(given: Any) -> bool:
    """Whether an object is a path, or a list of paths."""
    if isinstance(given, str | os.PathLike):
        return True
    if not isinstance(given, list | tuple) or not given:
        return False
    paths = [isinstance(item, str | os.PathLike) for item in given]
    if any(paths) and not all(paths):
        raise InputError("a list of draws must contain either files or arrays, got both; read each file with as_draws first")
    return all(paths)
