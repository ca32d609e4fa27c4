"""The library's own error and warning."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from copula_discrepancy._core.caveats import Caveat

Given = ParamSpec("Given")
Result = TypeVar("Result")


class InputError(ValueError):
    """An argument cannot be used; the message names the argument, the value, the rule and what to do instead.

    A ValueError, raised for any input that the library cannot use. Its message is a single line, even if it shows a value, such
    as a data frame, that takes several.

    Parameters
    ----------
    message : object
        The message.
    code : str
        The kind of error, a stable identifier.

    See Also
    --------
    DependenceWarning : Issued for numbers that are correct but must be interpreted with care.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> try:
    ...     cd.kendall_tau([1, 2, 3], [1, 1, 1])
    ... except cd.InputError as error:
    ...     print(error)
    variable y is constant (all 3 values are 1), so its dependence is undefined; omit it or check the sampler
    """

    def __init__(self, message: object = "", code: str = "argument") -> None:
        super().__init__(" ".join(str(message).splitlines()))
        self.code = code


class DependenceWarning(UserWarning):
    """A number is correct but must be interpreted with care; the ``caveats`` of the result record the same.

    Examples are a fit at a bound of its family, fewer than 100 effective draws, or chains that disagree.

    See Also
    --------
    InputError : Raised for input that cannot be used.
    Caveat : Its ``code`` identifies the kind.

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
    """Decorate a function so that a MemoryError becomes an InputError with advice."""

    @wraps(function)
    def checked(*given: Given.args, **choices: Given.kwargs) -> Result:
        try:
            return function(*given, **choices)
        except MemoryError as error:
            details = f" ({error!s:.120})" if str(error) else ""
            raise InputError(f"out of memory{details}; thin the chains or use fewer variables", "memory") from error

    return checked


for _public in (InputError, DependenceWarning):
    _public.__module__ = "copula_discrepancy"  # the module that users import from, shown in tracebacks
# doctest inspects a module's own classes only
__test__ = {cls.__name__: cls.__doc__ for cls in (InputError, DependenceWarning)}
