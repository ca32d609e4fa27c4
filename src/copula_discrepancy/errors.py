"""The library's own error and warning, and what every module needs to raise them."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class InputError(ValueError):
    """An argument cannot be used; the message names the argument, the value, the rule and the way out.

    A ValueError: what the library raises for any input that it cannot use. Its message is one line: a value that it shows,
    such as a data frame, may take several.

    Parameters
    ----------
    message : object
        What to say.

    See Also
    --------
    DependenceWarning : For numbers that are right but need care.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> try:
    ...     cd.kendall_tau([1, 2, 3], [1, 1, 1])
    ... except cd.InputError as error:
    ...     print(error)
    variable y is constant (all 3 values are 1), so its dependence is undefined; leave it out or check the sampler
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(" ".join(str(message).splitlines()))


class DependenceWarning(UserWarning):
    """A number is right but needs reading with care; the same sentence stands in the ``warnings`` of the result.

    Such as a fit on the bound of its family, fewer than 100 effective draws, or chains that do not agree.

    See Also
    --------
    InputError : For what cannot be computed at all.

    Examples
    --------
    >>> import warnings
    >>> import copula_discrepancy as cd
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     result = cd.fit([[1, 3], [2, 2], [3, 1], [4, 0]], "clayton")
    >>> told[0].category.__name__, str(told[0].message) == result.warnings[0]
    ('DependenceWarning', True)
    """


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """`value` if it is one of the choices, otherwise an InputError that lists them."""
    if not isinstance(value, str) or value not in choices:
        listed = " or ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be {listed}, got {value!r}")
    return value


def enough_memory(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function, whose MemoryError becomes an InputError with a way out; warnings in it have one caller more."""

    @wraps(function)
    def checked(*given: Given.args, **choices: Given.kwargs) -> Result:
        try:
            return function(*given, **choices)
        except MemoryError as error:
            told = f" ({error!s:.120})" if str(error) else ""
            raise InputError(f"memory ran out{told}; give fewer draws (thin the chains), or fewer variables") from error

    return checked


def true_or_false(value: Any, name: str) -> bool:
    """`value` if it is a truth value, otherwise an InputError."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):  # NumPy's, without importing it
        raise InputError(f"{name} must be True or False, got {value!r}")
    return bool(value)
