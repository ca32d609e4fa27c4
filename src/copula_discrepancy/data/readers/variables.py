"""One column of a table as a variable of its kind: numbers, categories with and without order, dates; or why it is none."""

import datetime
import decimal
import fractions
import numbers
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import numeric
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.kinds import (
    BOOLEAN,
    DATE,
    DURATION,
    GROUPS,
    HASHED,
    ID,
    MOST_LEVELS,
    NOMINAL,
    NUMERIC,
    ORDINAL,
    TRUTH,
    Choice,
    ChosenKinds,
    example_of,
    hash_group,
    hashed_note,
    in_natural_order,
    label_of,
    listed_levels,
    number_of,
    recoded,
    truth_order,
    used_labels,
)  # fmt: skip
from copula_discrepancy.data.naming import with_reasons
from copula_discrepancy.data.readers.dates import day_of, days_of_array, days_of_text, duration_of, is_time_index
from copula_discrepancy.data.readers.non_variables import (
    DATES,
    FREE_TEXT,
    IDENTIFIER,
    MIXED,
    SCATTERED_CODES,
    is_code_name,
    is_date_text,
    is_identifier_name,
    reason_for_integers,
)  # fmt: skip
from copula_discrepancy.data.readers.table import Table, is_missing, kind_fields

FEW = 0.1  # share of values that are not numbers below which the cells are wrong, not the column
_FEWEST_DIFFERENT = 20  # values: short tables have few rows per level, and are read all the same
_LEADING_ZERO = re.compile(r"\s*0\d")
_REALS = (numbers.Real, decimal.Decimal, fractions.Fraction)


class NotReadable(InputError):
    """Values of a column that are of no known kind, or numbers with some wrong cells; the reader of the table tells them."""


@dataclass(frozen=True, eq=False)
class Variable:
    """The values of a column, with their kind.

    Attributes
    ----------
    values : array
        Numbers, or codes that index the labels; NaN where missing.
    kind : str
        See `kinds`.
    labels : tuple of str
        The levels, in their order if they have one.
    ranked : bool
        Whether the values are ranks of numbers too large for a float64.
    notes : tuple of str
        What was decided.
    from_text : bool
        Whether the labels are text of the data, so that they may be numbers or dates after all.
    listed_order : bool
        Whether the labels are in an order that the data states, though it may not be meant as one.
    """

    values: NDArray[Any]
    kind: str = NUMERIC
    labels: tuple[str, ...] = ()
    ranked: bool = False
    notes: tuple[str, ...] = ()
    from_text: bool = False
    listed_order: bool = False


@dataclass(frozen=True)
class Categories:
    """A column that its library stores as categories: codes, -1 where missing, and whether they are ordered."""

    codes: NDArray[Any]
    labels: tuple[str, ...]
    ordered: bool
    listed_order: bool = False


def read_variable(
    name: str, kind: str, read: Callable[[], NDArray[Any]], categories: Categories | None, choice: Choice | None, *,
    named: bool, table: bool,
) -> Variable | str:  # fmt: skip
    """A column as a variable of the chosen or guessed kind, or the reason to leave it out.

    Parameters
    ----------
    name, kind : str
        The name of the column, and of its type.
    read : callable
        Its values.
    categories : Categories, optional
        Its values if the library stores them as categories.
    choice : Choice, optional
        The kind that the user chose.
    named : bool
        Whether the user named the column: it is then kept if it can be.
    table : bool
        Whether the column belongs to a table without chains, in which names tell identifiers and codes.

    Returns
    -------
    Variable or str
        The variable, or the reason.

    Raises
    ------
    NotReadable
        If the values are of no known kind.
    InputError
        If they do not fit the chosen kind.
    """
    if choice is not None and choice.kind == ID:
        if not (choice.described and named):  # a name says more than what metadata does not describe
            return choice.reason
        choice = None
    if categories is not None:
        natural = _from_categories(categories)
    else:
        values = read()
        if values.dtype.kind in "iu" and choice is None and table and not named:
            reason = reason_for_integers(name, values)
            if reason is not None:
                return reason
        natural = _natural(name, kind, values)
    if choice is not None:
        try:
            return chosen(natural, name, choice)
        except InputError:
            if not choice.described or choice.kind == NUMERIC:
                raise  # values that are not numbers raise an error, as without metadata
            return f"{choice.kind}, with values that have no known order" if choice.kind != DATE else DATES
    if natural.from_text:
        return _guessed_text(natural, name, named)
    if natural.kind in (DATE, DURATION):
        return natural if named or not is_time_index(natural.values) else DATES
    if natural.kind == NUMERIC and categories is None:
        return _guessed_number(natural, name, named) if table else natural
    return natural


def _from_categories(given: Categories) -> Variable:
    codes = np.asarray(given.codes, dtype=np.float64).copy()
    codes[codes < 0] = np.nan
    if given.ordered:
        return Variable(codes, ORDINAL, given.labels, listed_order=True)
    used = used_labels(codes, given.labels)
    labels = tuple(label for label in given.labels if label in used)
    order = labels if given.listed_order else in_natural_order(labels)
    place = {label: k for k, label in enumerate(order)}
    values = recoded(codes, [place.get(label, np.nan) for label in given.labels])
    truth = truth_order(order)
    if truth is not None and not given.listed_order:
        return _reordered(Variable(values, NOMINAL, order), truth, BOOLEAN)
    return Variable(values, NOMINAL, order, listed_order=given.listed_order)


def _natural(name: str, kind: str, values: NDArray[Any]) -> Variable:
    """What the types of the values say, before names and choices."""
    if values.ndim != 1:
        raise NotReadable(f"variable {name} must have one value in each row, got shape {values.shape}", "shape")
    letter = values.dtype.kind
    if letter == "b" or (letter == "f" and kind.lower().startswith(("bool", "object")) and _is_truth(values)):
        return Variable(values.astype(np.float64), BOOLEAN, TRUTH)
    if letter in "fiu":
        array, ranked = numeric(values, f"variable {name}")
        return Variable(array, NUMERIC, ranked=ranked)
    if letter in "mM":
        days = days_of_array(values)
        if days is None:
            raise NotReadable(f"variable {name} has durations of unknown length, type {values.dtype}", "not-numeric")
        return Variable(days, DATE if letter == "M" else DURATION)
    if letter in "OUST":
        return _from_objects(name, values)
    raise NotReadable(f"variable {name} must be real numbers, categories or dates, got type {kind}", "not-numeric")


def _is_truth(values: NDArray[Any]) -> bool:
    known = values[~np.isnan(values)]
    return bool(known.size and np.isin(known, (0.0, 1.0)).all())


def _from_objects(name: str, values: NDArray[Any]) -> Variable:
    """Objects by their types: text, truth values, numbers, dates or durations, all of one sort."""
    index: dict[Any, int] = {}
    try:
        codes = np.fromiter((index.setdefault(value, len(index)) for value in values.tolist()), np.intp, values.size)
    except TypeError:  # lists and other containers
        raise NotReadable(f"variable {name} must have one value in each row", "not-numeric") from None
    keys = list(index)
    filled = [key for key in keys if not is_missing(key)]
    if not filled:
        return Variable(np.full(values.size, np.nan))
    if all(isinstance(key, bool | np.bool_) for key in filled):
        return Variable(_spread(keys, codes, float), BOOLEAN, TRUTH)
    if all(isinstance(key, _REALS) for key in filled):
        try:
            rounded = {float(key) for key in filled}
        except OverflowError:
            raise NotReadable(f"variable {name} has numbers that are too large for a float64", "not-numeric") from None
        if len(rounded) == len(filled):
            return Variable(_spread(keys, codes, float), NUMERIC)
        place = {key: float(k) for k, key in enumerate(sorted(filled))}
        return Variable(_spread(keys, codes, place.__getitem__), NUMERIC, ranked=True)
    if all(day_of(key) is not None for key in filled):
        return Variable(_spread(keys, codes, day_of), DATE)
    if all(duration_of(key) is not None for key in filled):
        return Variable(_spread(keys, codes, duration_of), DURATION)
    if not all(isinstance(key, str | bytes | bool | numbers.Real | decimal.Decimal | datetime.date) for key in filled):
        other = next(key for key in filled if not isinstance(key, str | bytes | bool | numbers.Real))
        raise NotReadable(f"variable {name} has values of type {type(other).__name__}, {other!r:.40}", "not-numeric")
    texts = [None if is_missing(key) else label_of(key) for key in keys]
    labels = in_natural_order({text for text in texts if text is not None})
    place = {label: float(k) for k, label in enumerate(labels)}
    lookup = [np.nan if text is None else place[text] for text in texts]
    return Variable(recoded(codes.astype(np.float64), lookup), NOMINAL, labels, from_text=True)


def _spread(keys: Sequence[Any], codes: NDArray[np.intp], value: Callable[[Any], Any]) -> NDArray[np.float64]:
    table = np.array([np.nan if is_missing(key) else value(key) for key in keys], dtype=np.float64)
    spread: NDArray[np.float64] = table[codes]
    return spread


def _guessed_text(natural: Variable, name: str, named: bool) -> Variable | str:
    """Text as dates, numbers, truth values or unordered levels; identifiers and free text are left out unless named."""
    labels = natural.labels
    if all(map(is_date_text, labels)):
        days = days_of_text(labels)
        if days is not None:
            found = Variable(recoded(natural.values, days), DATE)
            return found if named or not is_time_index(found.values) else DATES
        if not named:
            return DATES
    else:
        _require_no_wrong_dates(natural, name)
    if is_identifier_name(name) and not named:
        return IDENTIFIER
    codes_by_name = is_code_name(name)
    figures = [number_of(label) for label in labels]
    if None not in figures and not codes_by_name and not any(map(_LEADING_ZERO.match, labels)):
        note = f"{name}: text that holds numbers, read as numbers; kinds={{{name!r}: 'nominal'}} compares it without order"
        return Variable(recoded(natural.values, [float(figure or 0.0) for figure in figures]), NUMERIC, notes=(note,))
    if not codes_by_name:
        share = _share(natural, [figure is not None for figure in figures])
        if 1.0 - FEW <= share < 1.0:  # the other cells are wrong, and the column is no text
            raise NotReadable(f"variable {name} has cells that are not numbers", "not-numeric")
        if share > 0.5 and len(labels) > _FEWEST_DIFFERENT and not named:
            return MIXED
    truth = truth_order(labels)
    if truth is not None:
        return _reordered(natural, truth, BOOLEAN)
    filled = int((~np.isnan(natural.values)).sum())
    if not named and len(labels) > max(_FEWEST_DIFFERENT, filled / 2):
        return SCATTERED_CODES if codes_by_name else FREE_TEXT
    return _as_nominal(natural, name, free=named)


def _share(natural: Variable, fits: Sequence[bool]) -> float:
    """The share of the cells whose labels fit."""
    counts = np.bincount(natural.values[~np.isnan(natural.values)].astype(np.intp), minlength=len(fits)).tolist()
    return float(sum(count for count, fit in zip(counts, fits, strict=True) if fit) / sum(counts))


def _require_no_wrong_dates(natural: Variable, name: str) -> None:
    """Raise if nearly all cells are dates: the others are wrong, and the column is no text."""
    fits = [is_date_text(label) for label in natural.labels]
    share = _share(natural, fits) if any(fits) else 0.0
    if 1.0 - FEW <= share < 1.0:
        example = natural.labels[fits.index(False)]
        found = f"variable {name} has dates, but {1.0 - share:.2g} of its cells are none, for example {example!r:.40}"
        way_out = f"correct them, or leave these cells empty; if it is text, use kinds={{{name!r}: 'nominal'}}"
        raise InputError(f"{found}; {way_out}", "not-numeric")


def _guessed_number(natural: Variable, name: str, named: bool) -> Variable | str:
    """Numbers, except codes, whose order means nothing."""
    values = natural.values
    if natural.ranked or not is_code_name(name):
        return natural
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if not known.size or not (np.isfinite(known) & (known == np.round(known))).all():
        return natural
    found = levels_of_numbers(natural)
    if not named and len(found.labels) > max(_FEWEST_DIFFERENT, known.size / 2):
        return SCATTERED_CODES
    note = f"{name}: taken as codes without order; kinds={{{name!r}: 'numeric'}} compares its order"
    return _as_nominal(replace(found, notes=(note,)), name, free=named)


def levels_of_numbers(variable: Variable) -> Variable:
    """Numbers as levels, in their order."""
    values = np.asarray(variable.values, dtype=np.float64)
    known = ~np.isnan(values)
    distinct, places = np.unique(values[known], return_inverse=True)
    codes = np.full(values.shape, np.nan)
    codes[known] = places.reshape(-1)
    return Variable(codes, NOMINAL, tuple(map(label_of, distinct.tolist())), listed_order=True)


def _as_nominal(variable: Variable, name: str, *, free: bool) -> Variable:
    """Levels without order; hashed into groups if they are too many, or nearly as many as the rows of a free text."""
    labels = variable.labels
    filled = int((~np.isnan(variable.values)).sum())
    different = free and len(labels) > max(_FEWEST_DIFFERENT, filled / 2)
    if len(labels) <= MOST_LEVELS and not different:
        return replace(variable, kind=NOMINAL, from_text=False)
    note = hashed_note(name, len(labels))
    values = recoded(variable.values, [float(hash_group(label)) for label in labels])
    return Variable(values, NOMINAL, HASHED, notes=(*variable.notes, note))


def chosen(variable: Variable, name: str, choice: Choice) -> Variable:
    """A variable as the kind that the user chose for it."""
    if choice.kind == NUMERIC:
        return _as_numbers(variable, name)
    if choice.kind == DATE:
        return _as_dates(variable, name, choice.date_format)
    if not variable.labels:
        variable = levels_of_numbers(variable)
    if choice.kind == NOMINAL:
        return replace(variable, kind=NOMINAL) if variable.labels == HASHED else _as_nominal(variable, name, free=True)
    if choice.kind == BOOLEAN:
        if len(variable.labels) > 2:
            found = f"kinds[{name!r}] is 'boolean', but the column has {len(variable.labels)} different values"
            raise InputError(f"{found}: {listed_levels(variable.labels)}; use 'nominal', 'ordinal' or 'numeric'")
        return _reordered(variable, truth_order(variable.labels) or in_natural_order(variable.labels), BOOLEAN)
    return _as_ordinal(variable, name, choice)


def _as_numbers(variable: Variable, name: str) -> Variable:
    if not variable.labels or (variable.kind == BOOLEAN and variable.labels == TRUTH):
        return replace(variable, kind=NUMERIC, labels=(), notes=())
    if variable.labels == HASHED:
        raise InputError(f"kinds[{name!r}] is 'numeric', but its values were put into {GROUPS} groups; read the data again")
    figures = [number_of(label) for label in variable.labels]
    if None in figures:
        found = f"kinds[{name!r}] is 'numeric', but the column has text, for example {example_of(variable.labels)}"
        raise InputError(f"{found}; use 'nominal', or a list of its values, lowest first", "not-numeric")
    return Variable(recoded(variable.values, [float(figure or 0.0) for figure in figures]), NUMERIC)


def _as_dates(variable: Variable, name: str, date_format: str | None) -> Variable:
    if not variable.labels:
        return replace(variable, kind=DATE)
    days = days_of_text(variable.labels, date_format)
    if days is None:
        found = f"kinds[{name!r}] is 'date', but the column has values such as {example_of(variable.labels)}"
        raise InputError(f"{found}; write dates as 2024-12-31, all with or all without a time zone", "not-numeric")
    return Variable(recoded(variable.values, days), DATE)


def _as_ordinal(variable: Variable, name: str, choice: Choice) -> Variable:
    labels = variable.labels
    if choice.order:
        unknown = sorted(used_labels(variable.values, labels).difference(choice.order))
        # metadata lists the values of the table that it was made from, and numbers are in order without it
        rising = choice.described and None not in (numbers := [number_of(label) for label in (*choice.order, *unknown)])
        if unknown and rising and numbers[: len(choice.order)] == sorted(map(float, choice.order)):
            return _reordered(variable, in_natural_order({*choice.order, *unknown}), ORDINAL)
        if unknown:
            found = f"kinds[{name!r}] lists {listed_levels(choice.order)}, but the column also has {listed_levels(unknown)}"
            raise InputError(f"{found}; add {'it' if len(unknown) == 1 else 'them'} to the list, lowest value first")
        return _reordered(variable, choice.order, ORDINAL)
    if variable.kind in (ORDINAL, BOOLEAN) or variable.listed_order:
        return replace(variable, kind=ORDINAL, from_text=False, notes=())
    if all(number_of(label) is not None for label in labels):
        return _reordered(variable, in_natural_order(labels), ORDINAL)
    found = f"kinds[{name!r}] is 'ordinal', but the order of its values is not known: {listed_levels(labels)}"
    raise InputError(f"{found}; list them, lowest first: kinds={{{name!r}: [lowest, ..., highest]}}")


def _reordered(variable: Variable, order: Sequence[str], kind: str) -> Variable:
    """The same values with the labels in another order, which may have more of them."""
    place = {label: float(k) for k, label in enumerate(order)}
    values = recoded(variable.values, [place.get(label, np.nan) for label in variable.labels])
    return Variable(values, kind, tuple(order))


def with_chosen_kinds(table: Table, kinds: ChosenKinds, *, again: bool = False) -> Table:
    """The table with the variables that users gave a kind in terms of it; a reader of columns has done its own already.

    With `again`, kinds that were chosen before may be changed.
    """
    choices = {name: kinds.get(name) for name in table.names if again or name not in table.chosen}
    asked = {name: choice for name, choice in choices.items() if choice is not None}
    if not asked:
        return table
    left_out = tuple((name, choice.reason) for name, choice in asked.items() if choice.kind == ID)
    dropped = {name for name, _ in left_out}
    places = [k for k, name in enumerate(table.names) if name not in dropped]
    if not places:
        raise InputError(f"no variables are left; left out: {with_reasons(left_out)}", "shape")
    names = tuple(table.names[k] for k in places)
    values = np.empty((len(places), *table.values.shape[:2]))
    found_kinds, levels, notes = [], [], list(table.notes)
    for place, k in enumerate(places):
        name, labels = table.names[k], table.levels[k] if table.levels else ()
        variable = Variable(table.values[:, :, k], table.kinds[k] if table.kinds else NUMERIC, labels)
        if name in asked:
            flat = replace(variable, values=variable.values.reshape(-1))
            variable = chosen(flat, name, asked[name])
            notes += variable.notes
        values[place] = variable.values.reshape(values.shape[1:])
        found_kinds.append(variable.kind)
        levels.append(variable.labels)
    if left_out:
        notes.append(f"left out: {with_reasons(left_out)}")
    about = kind_fields(found_kinds, levels, tuple(dict.fromkeys((*table.chosen, *asked))))
    about["chosen"] = tuple(name for name in about["chosen"] if name in names)
    changed = values.transpose(1, 2, 0)
    changed.flags.writeable = False
    return replace(table, values=changed, names=names, notes=tuple(notes), left_out=(*table.left_out, *left_out), **about)
