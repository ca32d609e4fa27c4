"""Draws from data frames: one column per variable, and perhaps one that tells chains apart."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import numeric
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import LISTED, listed, unknown_name
from copula_discrepancy.data.readers.request import IfThere, Request
from copula_discrepancy.data.readers.table import Table, require_different, require_equal_lengths
from copula_discrepancy.data.readers.unmeasured import why_left_out

CHAIN_NAMES = ("chain", ".chain", "chain__")  # the second is what Stan's posterior package writes, the third cmdstanpy
# .draw counts through all chains, .iteration within one: both give the order
DRAW_NAMES = ("draw", ".iteration", ".draw", "iter__", "draw__")
_FEW = 0.1  # a share of values that are no numbers: below it these are at fault, not the column


@dataclass(frozen=True)
class Columns:
    """Columns by position: names, a function to read one as an array, and one to read many at once where that is cheap."""

    names: tuple[str, ...]
    read: Callable[[int], NDArray[Any]]
    kinds: Callable[[int], str]
    block: Callable[[list[int]], NDArray[Any] | None]
    n_rows: int


@dataclass(frozen=True)
class Layout:
    """Columns by position: the one that tells chains apart, those that number the draws, and the variables asked for."""

    chain: int | None
    companions: list[int]
    chosen: list[int]


def is_frame(given: Any) -> bool:
    """A pandas or polars data frame, without importing either."""
    return hasattr(given, "to_numpy") and hasattr(given, "columns")


def read_frame(frame: Any, request: Request, *, chains: bool = True) -> Table:
    """A frame's columns as variables; a chain column, or index level, makes chains and is no variable.

    Without `chains`, the frame is one chain, as of a sampler's file: a column of any name is a variable.
    """
    request.refuse("a data frame", "group", "coords", "delimiter")
    if hasattr(frame, "iloc"):
        return _read_pandas(frame, request, chains)
    names = tuple(str(name) for name in frame.columns)
    columns = Columns(
        names,
        lambda k: _polars_values(frame.to_series(k)),
        lambda k: str(frame.to_series(k).dtype),
        lambda chosen: None,
        len(frame),
    )
    return read_columns(columns, request, chains=chains)


def layout(names: Sequence[str], request: Request, *, chains: bool = True) -> Layout:
    """What each column is, from the names alone: whoever reads columns one by one need not read the others."""
    require_different(names)
    chain = _chain_column(names, request) if chains else None
    companions = [k for name in DRAW_NAMES for k, other in enumerate(names) if other == name] if chain is not None else []
    variables = [k for k in range(len(names)) if k != chain and k not in companions]
    if chain is not None and not variables:
        raise InputError(f"there are no variables beside the column {names[chain]}")
    return Layout(chain, companions, [variables[k] for k in request.pick([names[k] for k in variables])])


def index_levels(levels: Sequence[str | None], request: Request) -> int:
    """How many levels of an index are columns: all of them where one tells chains apart, otherwise none."""
    wanted = (*((request.chains,) if isinstance(request.chains, str) else ()), *CHAIN_NAMES)
    if isinstance(request.chains, str) and not isinstance(request.chains, IfThere):
        wanted = wanted[:1]
    if not any(level in wanted for level in levels):
        return 0
    others = [str(level) for level in levels if level not in (*wanted, *DRAW_NAMES)]
    if others:
        raise InputError(
            f"the frame's index has {listed(others)} beside {listed([x for x in levels if x not in others])}, so one draw "
            "takes several rows; unstack it into columns first, or give the xarray object itself"
        )
    return len(levels)


def needed_columns(levels: Sequence[str | None], names: Sequence[str], request: Request) -> tuple[list[int], Request]:
    """Places among `names` of the columns that a request needs, and the request for what is left then."""
    n_levels = index_levels(levels, request)
    every = [*(str(level) for level in levels[:n_levels]), *names]
    found = layout(every, request)
    beside = [k for k in (found.chain, *found.companions) if k is not None]
    places = [k - n_levels for k in (*beside, *found.chosen) if k >= n_levels]
    return places, request.settled([every[k] for k in found.chosen])


def read_columns(columns: Columns, request: Request, notes: tuple[str, ...] = (), *, chains: bool = True) -> Table:
    """Columns as variables; one called chain, or as the request says, makes chains and is no variable.

    Dates and identifiers are left out unless the request names them; not from a sampler's file, where all are variables.
    """
    names = columns.names
    found = layout(names, request, chains=chains)
    chain, companions = found.chain, found.companions
    chosen, left_out = _measured(columns, found.chosen, request) if chains else (found.chosen, ())
    unit = "row" if chains and chain is None else "draw"
    values, ranked = _values(columns, chosen, unit)
    picked = tuple(names[k] for k in chosen)
    if left_out:
        notes += (_told_left_out(left_out),)
    if chain is None:
        if chains and isinstance(request.chains, IfThere) and request.chains not in CHAIN_NAMES:
            notes += (f"there is no column {request.chains}: it is read as one sample",)
        return Table(values[None], picked, True, False, ranked, notes, left_out)
    labels = _chain_labels(columns.read(chain), names[chain])
    draws = _draw_numbers(columns.read(companions[0]), names[companions[0]]) if companions else None
    grouped, count, moved = _in_chains(values, labels, draws, names[chain], names[companions[0]] if companions else "")
    told = f"column {names[chain]} gives {count} chain{'s' * (count != 1)}"
    if companions:
        given = " and ".join(names[k] for k in companions)
        told += f"; {given} left out" + (f", and rows put in the order of {names[companions[0]]}" if moved else "")
    return Table(grouped, picked, True, True, ranked, (*notes, told), left_out, names[chain])


def _measured(columns: Columns, chosen: list[int], request: Request) -> tuple[list[int], tuple[tuple[str, str], ...]]:
    """Columns without dates and identifiers that nobody named, and what was left out why."""
    reasons = {
        k: reason
        for k in chosen
        if not request.names_variable(columns.names[k])
        and (reason := why_left_out(columns.names[k], columns.kinds(k), lambda k=k: columns.read(k))) is not None  # type: ignore[misc]
    }
    kept = [k for k in chosen if k not in reasons]
    left_out = tuple((columns.names[k], reason) for k, reason in reasons.items())
    if not kept:
        raise InputError(
            f"there are no variables beside what is left out: {_with_reasons(left_out)}; name those that measure something "
            "(--columns, or var_names)"
        )
    return kept, left_out


def _told_left_out(left_out: Sequence[tuple[str, str]]) -> str:
    named = [name for name, reason in left_out if reason != "dates"]
    way = "; name what is a variable (--columns, or var_names)" if named else "; dates are no numbers"
    return f"left out: {_with_reasons(left_out)}{way}"


def _with_reasons(left_out: Sequence[tuple[str, str]]) -> str:
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out:
        by_reason.setdefault(reason, []).append(name)
    return ", ".join(f"{listed(names)} ({reason})" for reason, names in by_reason.items())


def _read_pandas(frame: Any, request: Request, chains: bool) -> Table:
    levels = [None if name is None else str(name) for name in frame.index.names]
    n_levels = index_levels(levels, request)
    notes: tuple[str, ...] = ()
    if not n_levels:
        frame, notes = _by_date(frame)
        if any(level is not None for level in levels):
            notes = (f"index {listed([level for level in levels if level is not None])} is no variable", *notes)
    names = (*(str(level) for level in levels[:n_levels]), *(str(name) for name in frame.columns))

    def read(k: int) -> NDArray[Any]:
        return _pandas_values(frame.index.get_level_values(k) if k < n_levels else frame.iloc[:, k - n_levels])

    types = frame.dtypes.to_numpy()

    def block(chosen: list[int]) -> NDArray[Any] | None:
        """Columns of one floating type as they lie in memory: pandas keeps them together, so that nothing is copied."""
        places = [k - n_levels for k in chosen]
        kind = types[places[0]]
        if not isinstance(kind, np.dtype) or kind.kind != "f" or any(types[k] != kind for k in places):
            return None
        in_a_row = places == list(range(places[0], places[0] + len(places)))  # a slice is a view, a list of places a copy
        return np.asarray((frame.iloc[:, places[0] : places[-1] + 1] if in_a_row else frame.iloc[:, places]).to_numpy())

    return read_columns(
        Columns(names, read, lambda k: str(types[k - n_levels]), block, len(frame)), request, notes, chains=chains
    )


def _by_date(frame: Any) -> tuple[Any, tuple[str, ...]]:
    """The rows in the order of an index of dates: what follows what is how serial dependence is seen."""
    kind = str(getattr(frame.index, "dtype", "")).lower()
    if not kind.startswith(("datetime64", "period", "timestamp")) or frame.index.is_monotonic_increasing:
        return frame, ()
    missing = int(frame.index.isna().sum())
    at_the_end = f", {missing} without a date at the end" if missing else ""
    return frame.sort_index(kind="stable"), (f"rows put in the order of the dates in the index{at_the_end}",)


def _pandas_values(column: Any) -> NDArray[Any]:
    """A pandas column as NumPy has it; missing numbers of the nullable types are NaN."""
    own = getattr(column.dtype, "numpy_dtype", None)
    if own is not None and own.kind in "fiub":
        if column.isna().any():
            return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
        return np.asarray(column.to_numpy(own))
    values = np.asarray(column.to_numpy())
    if values.dtype == object and column.isna().any():
        if column.isna().all():
            return np.full(len(column), np.nan)  # neither text nor dates, as far as anybody can see
        values = values.copy()
        values[np.asarray(column.isna())] = None  # pandas' own NA cannot even be compared
        if all(value is None or isinstance(value, bool | np.bool_) for value in values):
            return np.array([np.nan if value is None else float(value) for value in values])
    return values


def _polars_values(column: Any) -> NDArray[Any]:
    """A polars column as NumPy has it; nulls among numbers or truth values are NaN."""
    try:
        values = np.asarray(column.to_numpy())
    except sys.modules["polars"].exceptions.PolarsError:  # a type NumPy does not have
        values = np.array(column.to_list(), dtype=object)
    if values.dtype == object and str(column.dtype) == "Boolean":
        return np.array([np.nan if value is None else float(value) for value in values])
    return values


def _values(columns: Columns, chosen: list[int], unit: str) -> tuple[NDArray[Any], bool]:
    """(row, variable), and whether any variable holds ranks.

    Column by column where types differ: as one array, large integers would round and text would turn numbers into objects.
    """
    together = columns.block(chosen)
    if together is not None and together.dtype.itemsize <= 8:
        return together, False
    values, any_ranked = np.empty((len(chosen), columns.n_rows)), False
    for place, k in enumerate(chosen):
        column = columns.read(k)
        if not _is_numeric(column):
            others = [columns.names[j] for j in chosen[place + 1 :] if not _is_numeric(columns.read(j))]
            rest = [columns.names[j] for j in chosen if j != k and columns.names[j] not in others]
            raise InputError(_not_numbers(column, columns.names[k], columns.kinds(k), others, rest, unit))
        values[place], ranked = numeric(column, f"variable {columns.names[k]}")
        any_ranked = any_ranked or ranked
    return values.T, any_ranked


def _is_numeric(column: NDArray[Any]) -> bool:
    return column.dtype.kind in "fiub" and column.ndim == 1


def _not_numbers(column: NDArray[Any], name: str, kind: str, others: list[str], rest: list[str], unit: str) -> str:
    """What a column holds instead of numbers, by the first value that is none; others like it, and those to select."""
    values = [(k, value) for k, value in enumerate(column.tolist()) if value is not None]
    wrong = [(k, value) for k, value in values if not _is_number(value)]
    example = wrong[0] if wrong else values[0] if values else None
    told = "" if example is None else f", for example {example[1]!r:.40} at {unit} {example[0]}"
    if 0 < len(wrong) <= _FEW * len(values):
        last = " (the last row; is it one of totals?)" if wrong[0][0] == len(column) - 1 else ""
        return (
            f"variable {name} must be real numbers, and {len(wrong)} of {len(column)} values are not{told}{last}; "
            "mend them, or leave these cells empty, which makes them missing values (--missing, or missing=)"
        )
    also = f" (nor are {listed(others)})" if others else ""
    if 2 <= len(rest) <= LISTED:
        way = f"select the others by name, --columns {_typed(rest)} or var_names={rest}"
    elif len(rest) > LISTED and len(others) < LISTED:
        way = (
            f"leave {'them' if others else 'it'} out by name, --exclude {_typed([name, *others])} or exclude={[name, *others]}"
        )
    else:
        way = "select the other variables by name"
    return f"variable {name} must be real numbers, got type {kind}{told}{also}; {way}, or turn it into numbers first"


def _typed(names: list[str]) -> str:
    """Names as a shell takes them."""
    return shlex.quote(",".join(f'"{name}"' if "," in name else name for name in names))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return "_" not in str(value)


def _chain_column(names: Sequence[str], request: Request) -> int | None:
    if isinstance(request.chains, str):
        if request.chains in names:
            return list(names).index(request.chains)
        if not isinstance(request.chains, IfThere):
            raise InputError(f"chains: {unknown_name(request.chains, names, 'column')}")
    found = [k for k, name in enumerate(names) if name in CHAIN_NAMES]
    if len(found) > 1:
        first, second = (names[k] for k in found[:2])
        way_out = f"say which with chains={first!r} or chains={second!r}"
        raise InputError(f"both {first} and {second} may tell chains apart; {way_out}")
    return found[0] if found else None


def _chain_labels(labels: NDArray[Any], name: str) -> NDArray[Any]:
    """Values that can be compared, one per row: whole numbers or text."""
    if labels.dtype.kind == "f":
        if np.isnan(labels).any():
            raise InputError(_missing(int(np.isnan(labels).sum()), labels.size, name))
        fraction = labels[labels != np.round(labels)]
        if fraction.size or not np.isfinite(labels).all():
            example = fraction[0] if fraction.size else np.inf
            raise InputError(f"column {name} must number the chains, got {example:g}; rename it if it is a variable")
        return labels
    if labels.dtype.kind in "iub":
        return labels
    missing = sum(value is None or value != value for value in labels)  # NaN is the one value that is not itself
    if missing:
        raise InputError(_missing(missing, labels.size, name))
    return np.array([str(value) for value in labels])


def _missing(count: int, rows: int, name: str) -> str:
    return f"column {name} tells chains apart, but {count} of {rows} rows have none; fill it in, or drop those rows"


def _draw_numbers(numbers: NDArray[Any], name: str) -> NDArray[Any]:
    wrong = numbers.dtype.kind not in "iu"
    if numbers.dtype.kind == "f":
        wrong = bool((numbers != np.round(numbers)).any() or not np.isfinite(numbers).all())
    if wrong:
        raise InputError(
            f"column {name} beside a chain column must number the draws, but not all of it are whole numbers; "
            "rename it if it is a variable"
        )
    return numbers


def _in_chains(
    values: NDArray[Any], labels: NDArray[Any], draws: NDArray[Any] | None, name: str, draw_name: str
) -> tuple[NDArray[Any], int, bool]:
    """(chain, draw, variable) with chains in the order of their labels, their number, and whether rows moved within a chain.

    Rows that lie in this order already are not copied.
    """
    n = len(labels)
    if not n:
        return values[None], 1, False
    order = _order(labels, draws)
    starts = np.append(0, _changes(labels if order is None else labels[order]) + 1)
    firsts = labels[starts if order is None else order[starts]]
    tags = [f"chain {label:g}" if labels.dtype.kind == "f" else f"chain {label}" for label in firsts]
    require_equal_lengths(np.diff(np.append(starts, n)).tolist(), tags)
    k, d = len(starts), values.shape[1]
    if order is None:
        return values.reshape(k, -1, d), k, False
    if draws is not None:
        numbers = draws[order].reshape(k, -1)
        twice = np.argwhere(numbers[:, 1:] == numbers[:, :-1])
        if twice.size:
            chain, place = twice[0]
            raise InputError(
                f"column {draw_name} must number the draws of a chain, but {numbers[chain, place]:g} occurs more than once "
                f"in {tags[chain]}; give every chain a value of its own in column {name}"
            )
        del numbers
    rearranged = np.empty((d, n), values.dtype)
    for j in range(d):
        rearranged[j] = values[order, j]
    by_chain = order.reshape(k, -1)
    return rearranged.T.reshape(k, -1, d), k, bool((by_chain[:, 1:] < by_chain[:, :-1]).any())


def _order(labels: NDArray[Any], draws: NDArray[Any] | None) -> NDArray[np.intp] | None:
    """The rows by chain and draw, or None if they lie so already."""
    if (labels[1:] >= labels[:-1]).all():
        ends = _changes(labels)
        if draws is None or np.delete(draws[1:] > draws[:-1], ends).all():
            return None
    return np.argsort(labels, kind="stable") if draws is None else np.lexsort((draws, labels))


def _changes(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Where a label is followed by another."""
    return np.flatnonzero(labels[1:] != labels[:-1])
