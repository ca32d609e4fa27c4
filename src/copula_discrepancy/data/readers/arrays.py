"""Draws from arrays (n, d) and (chain, draw, d), and lists of such chains."""

from typing import Any

import numpy as np

from copula_discrepancy._core.checks import numeric
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.readers.table import PARTS_OF_ONE, Table, require_equal_lengths


def read_array(given: Any, options: ReadOptions, name: str = "draws") -> Table:
    """The array's variables, called x0, x1, ...; a view if possible, a copy if columns are selected."""
    options.refuse("an array", "group", "coords", "delimiter", "chain column")
    if isinstance(given, list | tuple):
        lengths = [len(chain) for chain in given if _is_chain(chain)]
        if len(lengths) == len(given):
            require_equal_lengths(lengths, [f"chain {k}" for k in range(len(given))], PARTS_OF_ONE)
    array, ranked = numeric(given, name)
    chained = array.ndim == 3
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3:
        raise InputError(f"{name} must have shape (n, d) or (chain, draw, d), got {array.shape}", "shape")
    names = tuple(f"x{k}" for k in range(array.shape[2]))
    options.require_known_kinds(names)
    if options.selects:
        chosen = options.pick(names)
        array, names = array[:, :, chosen], tuple(names[k] for k in chosen)
    return Table(array, names, False, chained, ranked)


def _is_chain(given: Any) -> bool:
    """Whether an object has two dimensions."""
    if isinstance(given, list | tuple):
        return len(given) > 0 and isinstance(given[0], list | tuple | np.ndarray)
    return getattr(given, "ndim", 0) == 2
