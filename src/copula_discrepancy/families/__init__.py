"""The copula families and the way to find one by name."""

from inspect import isabstract
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.families.a1 import A1
from copula_discrepancy.families.a2 import A2
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.clayton import Clayton
from copula_discrepancy.families.frank import Frank
from copula_discrepancy.families.gaussian import Gaussian
from copula_discrepancy.families.gumbel import Gumbel
from copula_discrepancy.families.joe import Joe
from copula_discrepancy.families.rotated import ROTATIONS, Rotated
from copula_discrepancy.families.student_t import StudentT

# Adding a family: one file beside these, one entry here.
FAMILIES: tuple[type[Copula], ...] = (Clayton, Gumbel, Frank, Joe, A1, A2, Gaussian, StudentT)

_BY_NAME = {cls.name.lower(): cls for cls in FAMILIES}


def family(name: str) -> type[Copula]:
    """The family class with that name, in any case: "gumbel", "StudentT", or rotated, "clayton180".

    Parameters
    ----------
    name : str
        One of clayton, gumbel, frank, joe, a1, a2, gaussian and studentt, as they are or with 90, 180 or 270 behind it.

    Returns
    -------
    type
        A subclass of `Copula`; its instances are made from theta (and df).

    Raises
    ------
    InputError
        For any other name; the message lists those there are.

    See Also
    --------
    Rotated.family : The class of a rotated family, from the class of the family.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.family("gumbel")(2.5)
    Gumbel(theta=2.5)
    >>> cd.family("clayton180")(3.0)
    Rotated(base=Clayton(theta=3.0), rotation=180)
    >>> [found.__name__ for found in cd.FAMILIES]
    ['Clayton', 'Gumbel', 'Frank', 'Joe', 'A1', 'A2', 'Gaussian', 'StudentT']
    """
    if isinstance(name, str):
        key = name.strip().lower().replace("_", "").replace("-", "")
        if key in _BY_NAME:
            return _BY_NAME[key]
        for rotation in ROTATIONS:
            base = key.removesuffix(str(rotation)).strip()
            if base != key and base in _BY_NAME:
                return Rotated.family(_BY_NAME[base], rotation)
    known = ", ".join(_BY_NAME)
    raise InputError(f"unknown family {name!r}; choose one of {known}, each also with 90, 180 or 270 behind its name")


def as_template(choice: Any, **fixed: Any) -> Copula:
    """A member of the family that `choice` (a class or an instance) stands for; its theta does not matter."""
    if isinstance(choice, type) and issubclass(choice, Copula) and not isabstract(choice):
        return choice._template(**fixed)
    if isinstance(choice, Copula):
        return choice
    raise InputError(f"family must be a name such as 'gumbel', a class or an instance, got {choice!r}")


__all__ = [
    "A1",
    "A2",
    "FAMILIES",
    "Clayton",
    "Copula",
    "Frank",
    "Gaussian",
    "Gumbel",
    "Joe",
    "Rotated",
    "StudentT",
    "as_template",
    "family",
]
