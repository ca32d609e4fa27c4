"""Functions of a row of draws: typed expressions, weights, and Python functions of arrays."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import LARGEST, real_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.expression import Expression, parse
from copula_discrepancy.data.expression_parser import quoted
from copula_discrepancy.data.naming import BRIEF, listed, unknown_name
from copula_discrepancy.data.readers.options import NotNumeric

_TRIED = 100  # rows in which a function is looked at
_KINDS = "an expression such as 'a - b > 0', weights, or a Python function of arrays"
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowFunction:
    """A quantity or condition of the variables of one row; call it with columns (variable, row).

    Attributes
    ----------
    label : str
        What it is called in sentences.
    names : tuple of str
        The variables it uses: the columns it is called with, in this order.
    is_condition : bool
        Whether it is true or false, not a number. For a Python function this is known only after a call.
    compute : callable
        Values (row,), bool for a condition, from columns (variable, row).
    is_typed : bool
        Whether it is an expression or weights: no code of the user runs, and it can be computed in threads.
    """

    label: str
    names: tuple[str, ...]
    is_condition: bool
    compute: Callable[[Values], NDArray[Any]] = field(repr=False)
    is_typed: bool = True

    def settled(self, columns: Values) -> "RowFunction":
        """The same function after a trial on the draws: a Python function must treat every row alone.

        Raises an InputError for one whose values change if other rows are left out, such as ``x - x.mean()``.
        """
        if self.is_typed:
            return self
        every = self.compute(columns)
        some = self.compute(np.ascontiguousarray(columns[:, : (columns.shape[1] + 1) // 2]))
        if not np.allclose(every[: some.size], some, rtol=1e-9, atol=0.0, equal_nan=True):
            raise InputError(
                f"{self.label} must treat every row alone, but its values change if other rows are left out; compute "
                "means, ranks and the like before"
            )
        return replace(self, is_condition=every.dtype.kind == "b")

    def is_additive(self, columns: Values) -> bool:
        """Whether it is a sum of functions of one variable each, so that its mean does not depend on dependence.

        Then exchanging the values of a variable between two rows leaves the sum over both rows as it is, here in some rows.
        """
        if self.is_condition:
            return False
        count = min(columns.shape[1] // 2, _TRIED)
        first, second = columns[:, :count].copy(), columns[:, -count:].copy()
        values = self.compute(first), self.compute(second)
        if not all(np.isfinite(one).all() for one in values):
            return False  # refused elsewhere, with its rows
        total = values[0] + values[1]
        # relative to how much it varies, beyond rounding errors of its size: x * y is nearly additive far from zero
        close = 1e-9 * float(np.std(np.concatenate(values))) + 16.0 * np.finfo(float).eps * float(np.abs(total).max())
        for k in range(len(columns)):
            first[k], second[k] = second[k].copy(), first[k].copy()
            if not np.allclose(self.compute(first) + self.compute(second), total, rtol=0.0, atol=close):
                return False
        return True

    def __call__(self, columns: Values, where: str) -> Values:
        """Values (row,), 1 and 0 for a condition; NaN and infinite ones are an error that says where they are."""
        values = self.compute(columns)
        bad = ~(np.abs(values) <= LARGEST) if values.dtype.kind != "b" else np.zeros(values.shape, bool)
        if bad.any():
            count, first = int(bad.sum()), int(np.argmax(bad))
            row = ", ".join(f"{name} = {column[first]:.6g}" for name, column in zip(self.names, columns, strict=True))
            sizes = "infinite" if np.isinf(values[first]) else f"above {LARGEST:g} in size"
            what = "NaN or undefined" if np.isnan(values[first]) else sizes
            raise InputError(
                f"function {self.label!r:.80} is {what} for {count} of {bad.size} rows of {where}, for example at {row:.200}; "
                "restrict it to where it has a value, as in 'a > 0 and log(a) > 1'",
                "nan" if np.isnan(values[first]) else "infinite",
            )
        return values.astype(np.float64, copy=False)


def row_function(given: Any, names: Sequence[str]) -> RowFunction:
    """A function of a row from what the user passed.

    Parameters
    ----------
    given : str, mapping, sequence or callable
        An expression (see `data.expression`), a mapping or a pandas Series from names to weights, a weight for each variable,
        or a function. A function with two or more parameters, all names of variables, gets their values, one array (row,)
        each; one with one parameter gets one array (row, variable) of all of them.
    names : sequence of str
        The variables that there are.

    Returns
    -------
    RowFunction
        It uses at least two variables.

    Raises
    ------
    InputError
        For anything else, unknown names, weights that do not fit, and functions of one variable, to which dependence does not
        matter.
    """
    if isinstance(given, str):
        found = _typed(parse(given, names))
    elif isinstance(given, Mapping) or _is_labelled(given):
        found = _weighted(_named_weights(dict(given.items()), names))
    elif callable(given):
        found = _called(given, tuple(names))
    elif isinstance(given, Iterable):
        found = _weighted(_listed_weights(given, names))
    else:
        raise InputError(f"function must be {_KINDS}, got {given!r:.60}")
    if len(found.names) < 2:
        raise InputError(
            f"function {found.label!r:.80} uses one variable, {listed(found.names)}, and dependence plays no part in it; "
            "use at least two variables (pairwise compares them one by one in its margins)",
            "one-variable",
        )
    return found


def _is_labelled(given: Any) -> bool:
    """Whether weights have names, as a pandas Series has; one with a plain index is a list."""
    return hasattr(given, "items") and all(isinstance(name, str) for name in getattr(given, "index", ()))


def read_used(attempt: Callable[[list[str] | None], Draws], function: Any) -> Draws:
    """A sample with at least the variables that a function names.

    Columns that are not numbers, or that look like identifiers, matter only if the function names them: the first are then an
    error, and the others are read after all.

    Parameters
    ----------
    attempt : callable
        Reads the sample: all variables of None, or those of a list of names.
    function : str, mapping, sequence or callable
        As in `row_function`.

    Returns
    -------
    Draws
        All variables, or those of the function.
    """
    try:
        given = attempt(None)
    except NotNumeric as error:
        if not _names_variables(function):
            raise
        used = row_function(function, (*error.numeric, *error.others)).names
        if any(name in error.others for name in used):
            raise
        return attempt([*used])
    hidden = [name for name, _ in given.left_out]
    if hidden and _names_variables(function):
        try:
            used = row_function(function, (*given.names, *hidden)).names
        except InputError:  # raised again, with the names that there are
            return given
        if any(name in hidden for name in used):
            return attempt([*used])
    return given


def _names_variables(function: Any) -> bool:
    """Whether a function says which variables it uses."""
    if callable(function) and not isinstance(function, str | Mapping):
        return len(_parameters(function)) > 1
    return isinstance(function, str | Mapping) or _is_labelled(function)


def _typed(expression: Expression) -> RowFunction:
    def compute(columns: Values) -> NDArray[Any]:
        by_name = dict(zip(expression.names, columns, strict=True))
        values = expression(by_name)
        if not expression.is_condition:
            return values
        found = values.astype(np.float64)
        undefined = expression.undefined(by_name)
        return np.where(undefined, np.nan, found) if undefined.any() else found

    return RowFunction(expression.text.strip(), expression.names, expression.is_condition, compute)


def _named_weights(given: Mapping[Any, Any], names: Sequence[str]) -> dict[str, float]:
    weights = {str(name): real_number(weight, f"the weight of {name}") for name, weight in given.items()}
    for name in weights:
        if name not in names:
            raise InputError(unknown_name(name, names), "unknown-name")
    return weights


def _listed_weights(given: Iterable[Any], names: Sequence[str]) -> dict[str, float]:
    values = list(given)
    if len(values) != len(names):
        raise InputError(
            f"function has {len(values)} weights, but there are {len(names)} variables ({listed(names, BRIEF)}); pass one "
            "weight each, or a dictionary from names to weights",
            "shape",
        )
    return {name: real_number(weight, f"the weight of {name}") for name, weight in zip(names, values, strict=True)}


def _weighted(weights: dict[str, float]) -> RowFunction:
    infinite = next((name for name, weight in weights.items() if not math.isfinite(weight)), None)
    if infinite is not None:
        raise InputError(f"the weight of {infinite} must be finite, got {weights[infinite]}")
    used = {name: weight for name, weight in weights.items() if weight != 0.0}
    if not used:
        raise InputError("all weights are 0; at least two must not be")
    vector = np.array([*used.values()])
    terms = [f"{weight:g}*{quoted(name) if not name.isidentifier() else name}" for name, weight in used.items()]
    label = " + ".join(terms[:BRIEF]) + (f" + {len(terms) - BRIEF} more" if len(terms) > BRIEF else "")
    return RowFunction(label.replace("+ -", "- "), tuple(used), False, lambda columns: vector @ columns)


def _called(given: Callable[..., Any], names: tuple[str, ...]) -> RowFunction:
    label = getattr(given, "__name__", type(given).__name__)
    named = "function" if label == "<lambda>" else f"function {label}"
    label = "the function" if label == "<lambda>" else label
    parameters = _parameters(given)
    by_name = len(parameters) > 1 and all(name in names for name in parameters)
    if len(parameters) > 1 and not by_name:
        unknown = next(name for name in parameters if name not in names)
        raise InputError(
            f"{named}: its arguments must be names of variables, but {unknown_name(unknown, names)}; a function of one "
            "argument gets an array (row, variable)",
            "unknown-name",
        )

    def compute(columns: Values) -> NDArray[Any]:
        rows = columns.shape[1]
        arguments = [column.copy() for column in columns] if by_name else [np.array(columns.T)]
        try:
            raw = given(*arguments)
        except Exception as error:
            what = "one array (row,) per argument" if by_name else f"an array (row, variable) of shape {columns.T.shape}"
            raise InputError(f"{named} raised {type(error).__name__}: {error}; it is called with {what}") from error
        values = np.asarray(raw)
        if values.dtype.kind not in "fiub":
            raise InputError(f"{named} must return numbers or booleans, got type {values.dtype}", "not-numeric")
        if values.shape != (rows,):
            raise InputError(
                f"{named} must return one value per row, shape ({rows},), got shape {values.shape}; it is called with "
                "arrays of all rows",
                "shape",
            )
        return values if values.dtype.kind == "b" else values.astype(np.float64)

    return RowFunction(label, parameters if by_name else names, False, compute, is_typed=False)


def _parameters(given: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that a function needs; empty if they are not known."""
    try:
        parameters = inspect.signature(given).parameters.values()
    except (TypeError, ValueError):  # some functions in C have none
        return ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(item.name for item in parameters if item.kind in kinds and item.default is inspect.Parameter.empty)
