"""The library's own error and warning."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from copula_discrepancy._core.caveats import Caveat

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
    code : str
        What kind of input it is that cannot be used; stays the same from release to release.

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

    def __init__(self, message: object = "", code: str = "argument") -> None:
        super().__init__(" ".join(str(message).splitlines()))
        self.code = code


class DependenceWarning(UserWarning):
    """A number is right but needs to be read with care; the ``caveats`` of the result record the same.

    Such as a fit at a bound of its family, fewer than 100 effective draws, or chains that do not agree.

    See Also
    --------
    InputError : For what cannot be computed at all.
    Caveat : Its ``code`` tells which kind it is.

    Examples
    --------
    >>> import warnings
    >>> import copula_discrepancy as cd
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     result = cd.fit([[1, 3], [2, 2], [3, 1], [4, 0]], "clayton")
    >>> issued[0].message.code, issued[0].message.caveat == result.caveats[0]
    ('family-bound', True)
    """

    @property
    def caveat(self) -> Caveat | None:
        """The caveat that it was issued for, if any."""
        return self.args[0] if self.args and isinstance(self.args[0], Caveat) else None

    @property
    def code(self) -> str:
        """The caveat's code; empty without one."""
        return "" if self.caveat is None else self.caveat.code


def enough_memory(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function, whose MemoryError becomes an InputError with advice."""

    @wraps(function)
    def checked(*given: Given.args, **choices: Given.kwargs) -> Result:
        try:
            return function(*given, **choices)
        except MemoryError as error:
            told = f" ({error!s:.120})" if str(error) else ""
            raise InputError(f"out of memory{told}; thin the chains or use fewer variables", "memory") from error

    return checked


for _public in (InputError, DependenceWarning):
    _public.__module__ = "copula_discrepancy"  # where users find them, and what a traceback should say
__test__ = {
    cls.__name__: cls.__doc__ for cls in (InputError, DependenceWarning)
}  # doctest looks at a module's own classes only
