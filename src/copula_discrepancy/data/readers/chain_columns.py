"""Columns that identify chains and number their draws, and the division of rows into chains by them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed, require_different, unknown_name
from copula_discrepancy.data.readers.options import IfThere, ReadOptions
from copula_discrepancy.data.readers.table import is_missing, require_equal_lengths

CHAIN_NAMES = ("chain", ".chain", "chain__")  # the second is written by Stan's posterior package, the third by cmdstanpy
# .draw counts through all chains, .iteration within one: both give the order
DRAW_NAMES = ("draw", ".iteration", ".draw", "iter__", "draw__")


class Layout(NamedTuple):
    """Columns by position: the one that identifies chains, those that number the draws, and the selected variables."""

    chain: int | None
    draws: list[int]
    chosen: list[int]


def layout(names: Sequence[str], options: ReadOptions, *, chains: bool = True) -> Layout:
    """The role of each column, from the names alone, so that a reader can skip columns that are not needed."""
    require_different(names)
    options.require_known_kinds(names)
    chain = _chain_column(names, options) if chains else None
    draws = [k for name in DRAW_NAMES for k, other in enumerate(names) if other == name] if chain is not None else []
    variables = [k for k in range(len(names)) if k != chain and k not in draws]
    if chain is not None and not variables:
        raise InputError(f"there are no variables besides the column {names[chain]}", "shape")
    return Layout(chain, draws, [variables[k] for k in options.pick([names[k] for k in variables])])


def _chain_column(names: Sequence[str], options: ReadOptions) -> int | None:
    if isinstance(options.chains, str):
        if options.chains in names:
            return list(names).index(options.chains)
        if not isinstance(options.chains, IfThere):
            raise InputError(f"chains: {unknown_name(options.chains, names, 'column')}", "unknown-name")
    candidates = [k for k, name in enumerate(names) if name in CHAIN_NAMES]
    if len(candidates) > 1:
        first, second = (names[k] for k in candidates[:2])
        raise InputError(f"both {first} and {second} could identify chains; pass chains={first!r} or chains={second!r}")
    return candidates[0] if candidates else None


def index_levels(levels: Sequence[str | None], options: ReadOptions) -> int:
    """How many levels of an index are columns: all of them if one identifies chains, otherwise none."""
    wanted = CHAIN_NAMES
    if isinstance(options.chains, str):
        wanted = (options.chains, *(CHAIN_NAMES if isinstance(options.chains, IfThere) else ()))
    if not any(level in wanted for level in levels):
        return 0
    others = [str(level) for level in levels if level not in (*wanted, *DRAW_NAMES)]
    if others:
        found = f"the frame's index has {listed(others)} besides {listed([x for x in levels if x not in others])}"
        advice = "unstack it into columns first, or pass the xarray object itself"
        raise InputError(f"{found}, so one draw spans several rows; {advice}", "shape")
    return len(levels)


def needed_columns(levels: Sequence[str | None], names: Sequence[str], options: ReadOptions) -> tuple[list[int], ReadOptions]:
    """Positions among `names` of the columns that must be read, and the options for reading only those."""
    n_levels = index_levels(levels, options)
    every = [*(str(level) for level in levels[:n_levels]), *names]
    roles = layout(every, options)
    beside = [] if roles.chain is None else [roles.chain, *roles.draws]
    places = [k - n_levels for k in (*beside, *roles.chosen) if k >= n_levels]
    return places, options.settled([every[k] for k in roles.chosen])


def rows_in_chains(
    values: NDArray[Any], chain: tuple[str, NDArray[Any]], draw: tuple[str, NDArray[Any]] | None
) -> tuple[NDArray[Any], bool, tuple[str, ...]]:
    """(chain, draw, variable) from (row, variable), whether rows moved within a chain, and what the chains are called.

    `chain` and `draw` are the names and values of the columns that identify the chains and number their draws. Chains are in
    the order of their labels. Rows that are in this order already are not copied.
    """
    labels, numbers = _chain_labels(*chain), None if draw is None else _draw_numbers(*draw)
    n, d = values.shape
    if not n:
        return values[None], False, ()
    order = _order(labels, numbers)
    starts = np.append(0, _changes(labels if order is None else labels[order]) + 1)
    firsts = labels[starts if order is None else order[starts]]
    tags = [f"chain {label:g}" if labels.dtype.kind == "f" else f"chain {label}" for label in firsts]
    require_equal_lengths(np.diff(np.append(starts, n)).tolist(), tags)
    k = len(starts)
    if order is None:
        return values.reshape(k, -1, d), False, tuple(tags)
    if draw is not None and numbers is not None:
        _require_different_numbers(numbers[order].reshape(k, -1), draw[0], chain[0], tags)
    rearranged = np.empty((d, n), values.dtype)
    for j in range(d):
        rearranged[j] = values[order, j]
    by_chain = order.reshape(k, -1)
    return rearranged.T.reshape(k, -1, d), bool((by_chain[:, 1:] < by_chain[:, :-1]).any()), tuple(tags)


def _chain_labels(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    """Values that can be compared, one per row: integers or text."""
    if labels.dtype.kind in "iub":
        return labels
    is_float = labels.dtype.kind == "f"
    missing = int(np.isnan(labels).sum()) if is_float else sum(map(is_missing, labels))
    if missing:
        found = f"is empty in {missing} of {labels.size} rows"
        raise InputError(f"column {name} identifies chains, but {found}; drop those rows", "nan")
    if not is_float:
        return np.array([str(value) for value in labels])
    wrong = labels[(labels != np.round(labels)) | np.isinf(labels)]
    if wrong.size:
        raise InputError(f"column {name} must number the chains, got {wrong[0]:g}; rename it if it is a variable")
    return labels


def _draw_numbers(name: str, numbers: NDArray[Any]) -> NDArray[Any]:
    wrong = numbers.dtype.kind not in "iu"
    if numbers.dtype.kind == "f":
        wrong = bool((numbers != np.round(numbers)).any() or not np.isfinite(numbers).all())
    if wrong:
        raise InputError(f"column {name} must number the draws, got non-integer values; rename it if it is a variable")
    return numbers


def _require_different_numbers(numbers: NDArray[Any], draw_name: str, chain_name: str, tags: Sequence[str]) -> None:
    """Raise if a draw number, sorted within each chain, occurs twice in one of them."""
    twice = np.argwhere(numbers[:, 1:] == numbers[:, :-1])
    if twice.size:
        chain, place = twice[0]
        found = f"{numbers[chain, place]:g} occurs more than once in {tags[chain]}"
        advice = f"use a different value in column {chain_name} for every chain"
        raise InputError(f"column {draw_name} must number the draws of a chain, but {found}; {advice}")


def _order(labels: NDArray[Any], numbers: NDArray[Any] | None) -> NDArray[np.intp] | None:
    """The rows by chain and draw, or None if they are in this order already."""
    if (labels[1:] >= labels[:-1]).all():
        ends = _changes(labels)
        if numbers is None or np.delete(numbers[1:] > numbers[:-1], ends).all():
            return None
    return np.argsort(labels, kind="stable") if numbers is None else np.lexsort((numbers, labels))


def _changes(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions where a label is followed by a different one."""
    return np.flatnonzero(labels[1:] != labels[:-1])
