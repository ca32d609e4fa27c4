"""The library's own error and warning, and what every module needs to raise them."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class InputError(ValueError):
    """An argument cannot be used; the message names the argument, the value, the rule and the way out.

    It is one line: a value that it shows, such as a data frame, may take several.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(" ".join(str(message).splitlines()))


class DependenceWarning(UserWarning):
    """A number is right but needs reading with care; the same sentence stands in the result's `warnings`."""


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
