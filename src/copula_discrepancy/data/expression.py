"""Quantities and conditions of the variables, as users type them: ``a - b``, ``theta[1] - theta[2] > 0``.

The language has Python's precedence and no more than a question about draws needs. Nothing typed is run as code:
`data.expression_parser` translates the text to a list of steps, and NumPy computes these.

An expression is computed for every draw. It is a quantity, such as ``max(a, b) - 1``, or a condition, such as ``0 < a < b``.

Numbers
    ``1``, ``.5``, ``1e-3``.
Variables
    By name: ``mu``, ``theta[1]``, ``theta[Choate]``, ``cov[0, 1]`` or ``cov[0,1]`` (spaces between brackets do not count),
    ``bill length``, ``x.y``. Of several names that begin at the same place, the one that makes an expression with the rest
    counts: ``theta[1]`` is never ``theta`` followed by something. If two of them do, as for ``a-b`` where the variables are
    ``a``, ``b`` and ``a-b``, the expression is rejected. Any name can be written between backquotes: ```a-b``` is the
    variable, and ``a - b``, with spaces, the difference. Names that are words of the language (``and``, ``or``, ``not``)
    need backquotes, and so do those that are numbers. A backquote in a name is written twice. In a shell, put an expression
    with backquotes between single quotes.
Arithmetic
    ``+``, ``-``, ``*``, ``/``, ``**`` (power) and parentheses. ``-a ** 2`` is ``-(a ** 2)``, and ``a ** b ** c`` is
    ``a ** (b ** c)``.
Functions
    ``abs``, ``exp``, ``log`` (natural), ``sqrt``, and ``min`` and ``max`` of two or more values of the same draw.
Comparisons
    ``<``, ``<=``, ``>``, ``>=``, ``==``, ``!=``. ``0 < a < b`` means that both hold.
Conditions
    ``and``, ``or`` and ``not``, in rising order of precedence, all below comparisons: ``not a > 0 and b > 0`` is
    ``(not (a > 0)) and (b > 0)``. What they join must be conditions. In arithmetic a condition that holds counts as 1 and
    another as 0: ``(a > 0) + (b > 0) + (c > 0) >= 2`` says that at least two of three are positive.

Divisions by zero and overflows give infinite values, and what has no value, such as the logarithm of a negative number, is
NaN. A comparison with NaN is undefined, neither true nor false, and so is a condition that depends on it: ``not log(a) > 0``
does not hold for a negative ``a``, whereas ``a > 0 and log(a) > 0`` is false for it. `Expression.undefined` tells which draws
these are.

Examples
--------
>>> import numpy as np
>>> from copula_discrepancy.data.expression import parse
>>> ahead = parse("theta[1] - theta[2] > 0", ["mu", "theta[1]", "theta[2]"])
>>> ahead.names, ahead.is_condition
(('theta[1]', 'theta[2]'), True)
>>> ahead({"theta[1]": np.array([1.0, 2.0, 3.0]), "theta[2]": np.array([2.0, 2.0, 2.0])})
array([False, False,  True])
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import FloatArray, real_array
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.expression_parser import Comparison, Number, Operation, Step, Variable, translated
from copula_discrepancy.data.naming import unknown_name

# While an expression is computed, a condition is 1, 0 or, if undefined, NaN: as a number it needs no conversion


def _both(first: FloatArray, second: FloatArray) -> FloatArray:
    """Whether both conditions hold; false if either is, even if the other is undefined."""
    return np.where((first == 0) | (second == 0), 0.0, first * second)


def _either(first: FloatArray, second: FloatArray) -> FloatArray:
    """Whether one of two conditions holds; true if either is, even if the other is undefined."""
    return np.where((first == 1) | (second == 1), 1.0, first + second)


_COMPARISONS: dict[str, Callable[..., NDArray[np.bool_]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_OPERATIONS: dict[str, Callable[..., FloatArray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "negative": np.negative,
    "and": _both,
    "or": _either,
    "not": lambda condition: 1.0 - condition,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
}


def _compared(sign: str, left: FloatArray, right: FloatArray) -> FloatArray:
    return np.where(np.isnan(left) | np.isnan(right), np.nan, _COMPARISONS[sign](left, right))


@dataclass(frozen=True)
class Expression:
    """A quantity or condition of the variables, computed for every draw; made by `parse`.

    Attributes
    ----------
    text : str
        What was typed.
    names : tuple of str
        The variables that it uses, in the order in which they first occur.
    is_condition : bool
        Whether it is true or false, not a number.
    steps : tuple of Step
        What is computed, in postfix order: no expression is too long for Python's stack.
    """

    text: str
    names: tuple[str, ...]
    is_condition: bool
    steps: tuple[Step, ...] = field(repr=False)

    def __call__(self, columns: Mapping[str, NDArray[Any]]) -> FloatArray | NDArray[np.bool_]:
        """Values for every draw.

        Parameters
        ----------
        columns : mapping of str to array
            The values of the variables, all of one shape; others than those in `names` are not looked at.

        Returns
        -------
        array
            Of the same shape: bool for a condition, which is False where it is undefined, float64 otherwise.

        Raises
        ------
        InputError
            If a variable is missing or the shapes differ.

        See Also
        --------
        undefined : The draws for which there is no value.
        """
        values = self._computed(columns)
        return values == 1 if self.is_condition else values

    def undefined(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """The draws for which a quantity is NaN, or for which it is undefined whether a condition holds.

        Parameters
        ----------
        columns : mapping of str to array
            The values of the variables.

        Returns
        -------
        array of bool
            Of the same shape.

        Raises
        ------
        InputError
            If a variable is missing or the shapes differ.

        Examples
        --------
        >>> import numpy as np
        >>> columns = {"a": np.array([-1.0, 2.0])}
        >>> parse("log(a) > 0", ["a"]).undefined(columns)
        array([ True, False])
        >>> parse("a > 0 and log(a) > 0", ["a"]).undefined(columns)
        array([False, False])
        """
        return np.isnan(self._computed(columns))

    def _computed(self, columns: Mapping[str, NDArray[Any]]) -> FloatArray:
        """The values; of a condition 1, 0 or NaN."""
        arrays = self._arrays(columns)
        stack: list[FloatArray] = []
        with np.errstate(all="ignore"):
            for step in self.steps:
                match step:
                    case Number(value):
                        stack.append(np.asarray(value))
                    case Variable(name):
                        stack.append(arrays[name])
                    case Comparison(signs):
                        values = [stack.pop() for _ in range(len(signs) + 1)][::-1]
                        parts = [_compared(sign, *values[k : k + 2]) for k, sign in enumerate(signs)]
                        stack.append(reduce(_both, parts))
                    case Operation(name, arity):
                        values = [stack.pop() for _ in range(arity)][::-1]
                        stack.append(_OPERATIONS[name](*values))
        return np.array(stack.pop())  # a copy: a variable alone is the caller's own array

    def _arrays(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, FloatArray]:
        arrays: dict[str, FloatArray] = {}
        for name in self.names:
            if name not in columns:
                raise InputError(f"expression {self.text!r:.80}: {unknown_name(name, [*columns])}", "unknown-name")
            arrays[name] = real_array(columns[name], f"variable {name}").astype(np.float64, copy=False)
        shapes = {name: array.shape for name, array in arrays.items()}
        if len(set(shapes.values())) > 1:
            first, other = self.names[0], next(name for name in self.names if shapes[name] != shapes[self.names[0]])
            found = f"{first} has {shapes[first]} and {other} has {shapes[other]}"
            raise InputError(f"expression {self.text!r:.80}: the variables must have one shape, but {found}", "shape")
        return arrays


def parse(text: str, names: Sequence[str]) -> Expression:
    """The expression that a user typed; the description of this module has the language.

    Parameters
    ----------
    text : str
        What was typed, such as ``"a - b > 0"``.
    names : sequence of str
        The variables that there are.

    Returns
    -------
    Expression
        Call it with the values of the variables.

    Raises
    ------
    InputError
        If the text is no expression, can be read in two ways, or uses no variable (code "expression"), or if it uses a name
        that is not among `names` ("unknown-name"). The message gives the position, from 1.

    Examples
    --------
    >>> parse("max(a, b) ** 2", ["a", "b"])
    Expression(text='max(a, b) ** 2', names=('a', 'b'), is_condition=False)
    >>> parse("a - c > 0", ["a", "b"])
    Traceback (most recent call last):
    ...
    copula_discrepancy.InputError: expression 'a - c > 0': position 5: there is no variable 'c'; available: a, b
    """
    steps, is_condition = translated(text, names)
    used = tuple(dict.fromkeys(step.name for step in steps if isinstance(step, Variable)))
    return Expression(text, used, is_condition, steps)
