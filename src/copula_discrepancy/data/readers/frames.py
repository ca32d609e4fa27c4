"""Draws from data frames: one column per variable, and possibly one that identifies chains."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import numeric
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.kinds import NUMERIC, label_of
from copula_discrepancy.data.naming import NAME_VARIABLES, listed, typed, ways_to_select, with_reasons
from copula_discrepancy.data.readers.chain_columns import CHAIN_NAMES, index_levels, layout, rows_in_chains
from copula_discrepancy.data.readers.non_variables import (
    DATES,
    FREE_TEXT,
    MIXED,
    SCATTERED_CODES,
    is_code_name,
    reason_to_leave_out,
)  # fmt: skip
from copula_discrepancy.data.readers.options import IfThere, NotNumeric, ReadOptions
from copula_discrepancy.data.readers.table import Table, kind_fields, repair_notes
from copula_discrepancy.data.readers.variables import FEW, Categories, NotReadable, Variable, read_variable

_PLAIN = ("float", "double", "half")  # types of numbers that are variables whatever their name


class Columns(NamedTuple):
    """Columns by position: names, a function to read one as an array, and one to read many at once if that is cheap."""

    names: tuple[str, ...]
    read: Callable[[int], NDArray[Any]]
    kinds: Callable[[int], str]
    n_rows: int
    block: Callable[[list[int]], NDArray[Any] | None] = lambda chosen: None
    categories: Callable[[int], Categories | None] = lambda k: None


def is_frame(given: Any) -> bool:
    """Whether an object is a pandas or polars data frame, without importing either."""
    return hasattr(given, "to_numpy") and hasattr(given, "columns")


def read_frame(frame: Any, options: ReadOptions, *, chains: bool = True) -> Table:
    """A frame's columns as variables; a chain column, or index level, defines chains and is not a variable.

    Without `chains` the frame is one chain, such as a sampler's file: every column is a variable, regardless of its name.
    """
    options.refuse("a data frame", "group", "coords", "delimiter")
    if hasattr(frame, "iloc"):
        return _read_pandas(frame, options, chains)
    names = tuple(str(name) for name in frame.columns)
    columns = Columns(
        names, lambda k: _polars_values(frame.to_series(k)), lambda k: str(frame.to_series(k).dtype), len(frame),
        categories=lambda k: _polars_categories(frame.to_series(k)),
    )  # fmt: skip
    return read_columns(columns, options, chains=chains)


def read_columns(columns: Columns, options: ReadOptions, notes: tuple[str, ...] = (), *, chains: bool = True) -> Table:
    """Columns as variables; one called chain, or named by the options, defines chains and is not a variable.

    Dates and identifiers are omitted unless the options name them, except in a sampler's file, where all columns are variables.
    """
    names = columns.names
    roles = layout(names, options, chains=chains)
    unit = "row" if chains and roles.chain is None else "draw"
    kinds: dict[str, Any] = {}
    if options.every_kind and chains:
        found = _every_kind(columns, roles.chosen, options, unit)
        chosen, left_out, values, ranked, kinds = found.chosen, found.left_out, found.values, found.ranked, found.kinds
        notes += found.notes
    else:
        chosen, left_out = _variables(columns, roles.chosen, options) if chains else (roles.chosen, ())
        values, ranked = _values(columns, chosen, unit)
    picked = tuple(names[k] for k in chosen)
    if left_out:
        notes += (f"left out: {with_reasons(left_out)}{_way_back(left_out, options)}",)
    if roles.chain is None:
        if chains and isinstance(options.chains, IfThere) and options.chains not in CHAIN_NAMES:
            notes += (f"there is no column {options.chains}: read as one sample without chains",)
        return Table(values[None], picked, True, False, ranked, notes, left_out, **kinds)
    chain, draws = names[roles.chain], [names[k] for k in roles.draws]
    draw = (draws[0], columns.read(roles.draws[0])) if draws else None
    grouped, moved, tags = rows_in_chains(values, (chain, columns.read(roles.chain)), draw)
    note = f"column {chain} identifies {len(grouped)} chain{'s' * (len(grouped) != 1)}"
    if draws:
        note += f"; {' and '.join(draws)} left out" + (f", and rows sorted by {draws[0]}" if moved else "")
    return Table(grouped, picked, True, True, ranked, (*notes, note), left_out, chain, **kinds, chain_names=tags)


def _way_back(left_out: Sequence[tuple[str, str]], options: ReadOptions) -> str:
    """How columns that were omitted by a guess can be kept; those that the user omitted need no advice."""
    guessed = {reason for name, reason in left_out if options.kinds.get(name) is None}
    if options.every_kind and guessed & {FREE_TEXT, MIXED, SCATTERED_CODES}:
        return "; to keep a column, name it (--columns, or var_names) or choose its kind (--kinds, or kinds)"
    return "; to keep a column, name it (--columns, or var_names)" if guessed - {DATES} else ""


class _EveryKind(NamedTuple):
    """Columns of every kind: positions, names and reasons of the omitted ones, values, and fields of the table."""

    chosen: list[int]
    left_out: tuple[tuple[str, str], ...]
    values: NDArray[Any]
    ranked: bool
    kinds: dict[str, Any]
    notes: tuple[str, ...]


def _every_kind(columns: Columns, candidates: list[int], options: ReadOptions, unit: str) -> _EveryKind:
    """The columns as variables of their kinds; plain floats are read last, all at once if that is cheap."""
    variables: dict[int, Variable] = {}
    reasons: dict[int, str] = {}
    for k in candidates:
        name, choice = columns.names[k], options.kinds.get(columns.names[k])
        if choice is None and columns.kinds(k).lower().startswith(_PLAIN) and not is_code_name(name):
            continue
        try:
            found = read_variable(
                name, columns.kinds(k), partial(columns.read, k), columns.categories(k), choice,
                named=options.names_variable(name), table=unit == "row",
            )  # fmt: skip
        except NotReadable as error:
            raise _not_readable(columns, candidates, k, unit, str(error)) from None
        if isinstance(found, str):
            reasons[k] = found
        else:
            variables[k] = found
    left_out = tuple((columns.names[k], reason) for k, reason in reasons.items())
    if len(reasons) == len(candidates):
        raise InputError(f"no variables are left; left out: {with_reasons(left_out)}; {NAME_VARIABLES}", "shape")
    chosen = [k for k in candidates if k not in reasons]
    notes = tuple(note for variable in variables.values() for note in variable.notes)
    if not variables:
        return _EveryKind(chosen, left_out, *_values(columns, chosen, unit), {}, notes)
    values, ranked = np.empty((len(chosen), columns.n_rows)), False
    kinds, levels = [], []
    for place, k in enumerate(chosen):
        variable = variables.pop(k, None) or Variable(*_plain(columns, k))
        values[place] = variable.values
        ranked = ranked or variable.ranked
        kinds.append(variable.kind)
        levels.append(variable.labels)
    given = tuple(columns.names[k] for k in chosen if options.kinds.get(columns.names[k]) is not None)
    return _EveryKind(chosen, left_out, values.T, ranked, kind_fields(kinds, levels, given), notes)


def _plain(columns: Columns, k: int) -> tuple[NDArray[Any], str, tuple[str, ...], bool]:
    values, ranked = numeric(columns.read(k), f"variable {columns.names[k]}")
    return values, NUMERIC, (), ranked


def _not_readable(columns: Columns, candidates: list[int], k: int, unit: str, found: str) -> InputError:
    """The error for a column of no known kind, or with some cells that are not numbers, with an example of them."""
    rest = [columns.names[j] for j in candidates if j != k]
    column, name = columns.read(k), columns.names[k]
    if column.ndim != 1:
        return InputError(f"{found}; exclude it by name (--exclude, or exclude)", "shape")
    message = _not_numbers(column, name, columns.kinds(k), [], rest, unit)
    if message.startswith(f"variable {name} must be real numbers"):
        message += f"; if it is text, --kinds {typed([name])}=nominal or kinds={{{name!r}: 'nominal'}}"
    return NotNumeric(message, [name], rest)


def _variables(columns: Columns, chosen: list[int], options: ReadOptions) -> tuple[list[int], tuple[tuple[str, str], ...]]:
    """The columns without dates and identifiers that were not named, and the names and reasons of the omitted ones."""
    reasons: dict[int, str] = {}
    for k in chosen:
        name = columns.names[k]
        reason = None if options.names_variable(name) else reason_to_leave_out(name, columns.kinds(k), partial(columns.read, k))
        if reason is not None:
            reasons[k] = reason
    left_out = tuple((columns.names[k], reason) for k, reason in reasons.items())
    if len(reasons) == len(chosen):
        raise InputError(f"no variables are left; left out: {with_reasons(left_out)}; {NAME_VARIABLES}", "shape")
    return [k for k in chosen if k not in reasons], left_out


def _read_pandas(frame: Any, options: ReadOptions, chains: bool) -> Table:
    levels = [None if name is None else str(name) for name in frame.index.names]
    n_levels = index_levels(levels, options)
    notes: tuple[str, ...] = ()
    repaired = repair_notes(frame.attrs)
    if not n_levels:
        frame, notes = _sorted_by_date(frame)
        named = [level for level in levels if level is not None]
        if named:
            notes = (f"index {listed(named)} left out", *notes)
    notes += repaired
    names = (*(str(level) for level in levels[:n_levels]), *(str(name) for name in frame.columns))
    types = frame.dtypes.to_numpy()

    def read(k: int) -> NDArray[Any]:
        return _pandas_values(frame.index.get_level_values(k) if k < n_levels else frame.iloc[:, k - n_levels])

    def block(chosen: list[int]) -> NDArray[Any] | None:
        """Columns of one floating type as a view: pandas stores them together, so that nothing is copied."""
        places = [k - n_levels for k in chosen]
        kind = types[places[0]]
        if not isinstance(kind, np.dtype) or kind.kind != "f" or any(types[k] != kind for k in places):
            return None
        in_a_row = places == list(range(places[0], places[0] + len(places)))  # a slice is a view, a list of positions a copy
        return np.asarray((frame.iloc[:, places[0] : places[-1] + 1] if in_a_row else frame.iloc[:, places]).to_numpy())

    def categories(k: int) -> Categories | None:
        return pandas_categories(frame.iloc[:, k - n_levels]) if k >= n_levels else None

    columns = Columns(names, read, lambda k: str(types[k - n_levels]), len(frame), block, categories)
    return read_columns(columns, options, notes, chains=chains)


def _sorted_by_date(frame: Any) -> tuple[Any, tuple[str, ...]]:
    """The rows in the order of an index of dates, because serial dependence is measured between successive rows."""
    kind = str(getattr(frame.index, "dtype", "")).lower()
    if not kind.startswith(("datetime64", "period", "timestamp")) or frame.index.is_monotonic_increasing:
        return frame, ()
    missing = int(frame.index.isna().sum())
    at_the_end = f", with {missing} undated at the end" if missing else ""
    return frame.sort_index(kind="stable"), (f"rows sorted by the dates in the index{at_the_end}",)


def pandas_categories(column: Any) -> Categories | None:
    """The codes and labels of a pandas column of categories; None for any other."""
    stored = getattr(getattr(column, "dtype", None), "categories", None)
    if stored is None or not hasattr(column, "cat"):
        return None
    return Categories(column.cat.codes.to_numpy(), tuple(map(label_of, stored.tolist())), bool(column.cat.ordered))


def _polars_categories(column: Any) -> Categories | None:
    """The codes and labels of a polars column; an Enum lists its labels, but need not mean them as an order."""
    kind = str(column.dtype)
    if not kind.startswith(("Categorical", "Enum")):
        return None
    texts = column.cast(sys.modules["polars"].String).to_list()
    listed_order = kind.startswith("Enum")
    labels = column.dtype.categories.to_list() if listed_order else sorted({text for text in texts if text is not None})
    place = {label: k for k, label in enumerate(labels)}
    codes = np.fromiter((-1 if text is None else place[text] for text in texts), np.intp, len(texts))
    return Categories(codes, tuple(labels), False, listed_order)


def _pandas_values(column: Any) -> NDArray[Any]:
    """A pandas column as a NumPy array; missing numbers of the nullable types are NaN."""
    if hasattr(column, "dt") and getattr(column.dt, "tz", None) is not None:
        return np.asarray(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if hasattr(column, "dt") and str(column.dtype).startswith("period"):
        return _starts_of_periods(column)
    own = getattr(column.dtype, "numpy_dtype", None)
    if own is not None and own.kind in "fiub":
        return np.asarray(column.to_numpy(np.float64, na_value=np.nan) if column.isna().any() else column.to_numpy(own))
    values = np.asarray(column.to_numpy())
    if values.dtype == object and column.isna().any():
        if column.isna().all():
            return np.full(len(column), np.nan)  # an empty column has no type
        values = values.copy()
        values[np.asarray(column.isna())] = None  # pandas' NA cannot be compared
        if all(value is None or isinstance(value, bool | np.bool_) for value in values):
            return _truth_values(values)
    return values


def _starts_of_periods(column: Any) -> NDArray[Any]:
    """The beginning of each period, in seconds: nanoseconds would end in 2262."""
    known = column.notna().to_numpy()
    starts = np.full(len(column), np.datetime64("NaT"), dtype="M8[s]")
    seconds_long = column[known].dt.asfreq("s", how="start").dt
    parts = {part: getattr(seconds_long, part).to_numpy() for part in ("year", "day_of_year", "hour", "minute", "second")}
    seconds = ((parts["day_of_year"] - 1) * 24 + parts["hour"]) * 3600 + parts["minute"] * 60 + parts["second"]
    starts[known] = (parts["year"] - 1970).astype("M8[Y]").astype("M8[s]") + seconds.astype("m8[s]")
    return starts


def _polars_values(column: Any) -> NDArray[Any]:
    """A polars column as a NumPy array; nulls among numbers or booleans are NaN."""
    try:
        values = np.asarray(column.to_numpy())
    except sys.modules["polars"].exceptions.PolarsError:  # a type NumPy does not have
        values = np.array(column.to_list(), dtype=object)
    return _truth_values(values) if values.dtype == object and str(column.dtype) == "Boolean" else values


def _truth_values(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else float(value) for value in values])


def _values(columns: Columns, chosen: list[int], unit: str) -> tuple[NDArray[Any], bool]:
    """(row, variable), and whether any variable holds ranks.

    Column by column if types differ: in one array, large integers would be rounded, and text would turn numbers into objects.
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
            message = _not_numbers(column, columns.names[k], columns.kinds(k), others, rest, unit)
            raise NotNumeric(message, [columns.names[k], *others], rest)
        values[place], ranked = numeric(column, f"variable {columns.names[k]}")
        any_ranked = any_ranked or ranked
    return values.T, any_ranked


def _is_numeric(column: NDArray[Any]) -> bool:
    return column.dtype.kind in "fiub" and column.ndim == 1


def _not_numbers(column: NDArray[Any], name: str, kind: str, others: list[str], rest: list[str], unit: str) -> str:
    """What a column contains instead of numbers, with an example; `others` are like it, `rest` are the numeric columns."""
    values = [(k, value) for k, value in enumerate(column.tolist()) if value is not None]
    wrong = [(k, value) for k, value in values if not _is_number(value)]
    example = next(iter(wrong or values), None)
    shown = "" if example is None else f", for example {example[1]!r:.40} at {unit} {example[0]}"
    if 0 < len(wrong) <= FEW * len(values):
        last = " (the last row; it may be a row of totals)" if wrong[0][0] == len(column) - 1 else ""
        found = f"not numeric: {len(wrong)} of {len(column)} values{shown}{last}"
        advice = "correct them, or leave these cells empty to treat them as missing values (--missing, or missing=)"
        return f"variable {name} must be real numbers; {found}; {advice}"
    also = f" ({listed(others)} {'is' if len(others) == 1 else 'are'} not numeric either)" if others else ""
    way_out = ways_to_select(rest, [name, *others])
    return f"variable {name} must be numeric, got type {kind}{shown}{also}; {way_out}, or convert it to numbers first"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return "_" not in str(value)
