"""Families by name: those of the library and those that users register."""

from inspect import isabstract
from typing import Any, TypeVar

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.families.a1 import A1
from copula_discrepancy.families.a2 import A2
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.clayton import Clayton
from copula_discrepancy.families.frank import Frank
from copula_discrepancy.families.gaussian import Gaussian
from copula_discrepancy.families.gumbel import Gumbel
from copula_discrepancy.families.joe import Joe
from copula_discrepancy.families.parameter import Parameter
from copula_discrepancy.families.rotated import ROTATIONS, Rotated
from copula_discrepancy.families.student_t import StudentT
from copula_discrepancy.families.validation import failed_checks

# Adding a family to the library: one file next to these, one entry here.
FAMILIES: tuple[type[Copula], ...] = (Clayton, Gumbel, Frank, Joe, A1, A2, Gaussian, StudentT)
BY_NAME: dict[str, type[Copula]] = {cls.name.lower(): cls for cls in FAMILIES}
LONGEST_NAME = 29  # 32 characters with an angle of three digits, the width of the family column of a table

Family = TypeVar("Family", bound=type[Copula])


def family(name: str) -> type[Copula]:
    """The family class with this name, ignoring case: "gumbel", "StudentT", or rotated, "clayton180".

    Parameters
    ----------
    name : str
        One of clayton, gumbel, frank, joe, a1, a2, gaussian and studentt, or a name that `register` added, optionally followed
        by 90, 180 or 270. Underscores and hyphens are ignored.

    Returns
    -------
    type
        A subclass of `Copula`; its instances are created from theta (and df).

    Raises
    ------
    InputError
        For any other name; the message lists the available ones.

    See Also
    --------
    register : Add your own family.
    Rotated.family : The class of a rotated family, from the class of the base family.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.family("gumbel")(2.5)
    Gumbel(theta=2.5)
    >>> cd.family("clayton180")(3.0)
    Rotated(base=Clayton(theta=3.0), rotation=180)
    >>> [family.__name__ for family in cd.FAMILIES]
    ['Clayton', 'Gumbel', 'Frank', 'Joe', 'A1', 'A2', 'Gaussian', 'StudentT']
    """
    if isinstance(name, str):
        key = _key(name)
        if key in BY_NAME:
            return BY_NAME[key]
        for rotation in ROTATIONS:
            base = key.removesuffix(str(rotation)).strip()
            if base != key and base in BY_NAME:
                return Rotated.family(BY_NAME[base], rotation)
    known = ", ".join(BY_NAME)
    raise InputError(f"unknown family {name!r}; choose one of {known}, optionally followed by 90, 180 or 270", "unknown-name")


def register(family: Family, *, check: bool = True) -> Family:
    """Make your own family available by name, wherever a family is accepted: ``family="mine"``, ``"mine180"``.

    Parameters
    ----------
    family : type
        A subclass of `Copula` whose class attribute ``name`` is an identifier of at most 29 characters that does not end in
        90, 180 or 270. Its members are created from theta alone.
    check : bool
        Check the formulas against each other for two or three members of the family: density, distribution function,
        conditional distribution and its inverse, Kendall's tau and its slope, mean log density, score and likelihood. Tail
        coefficients must lie between 0 and 1; whether they are right, and whether a sampler of its own is, is not checked. Use
        False for formulas that are approximations.

    Returns
    -------
    type
        The class itself, so that `register` can be used as a decorator.

    Raises
    ------
    InputError
        For anything but a complete family, a name that is not allowed or already in use, and formulas that contradict each
        other; the message lists the checks that failed.

    See Also
    --------
    family : Look up a class by name.
    Copula : The base class; its Notes list what a family defines.

    Notes
    -----
    Names are valid for the running process and are not saved. Registering a class twice has no effect; running the same
    definition again, as in a notebook cell, replaces the class. Worker processes of `pairwise` receive the class with their
    task, so it need not be registered there.

    Registered families are not part of automatic selection: `select_family` and ``family="auto"`` rank the families of
    `FAMILIES` in every process, so that a result does not depend on earlier registrations. To compare your family with the
    selected one, compare the ``log_likelihood`` of both fits.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> @cd.register
    ... class Frailty(cd.Clayton):
    ...     name = "Frailty"
    >>> cd.family("frailty").from_tau(0.6)
    Frailty(theta=2.9999999999999996)
    >>> cd.fit(Frailty(2.0).sample(500, rng=1), "frailty180").family
    'Frailty180'
    """
    _require_family(family)
    key = _key(family.name)
    holder = BY_NAME.get(key, family)
    run_again = _path(holder) == _path(family) and "<locals>" not in family.__qualname__  # functions may create many classes
    if holder is not family and not run_again:
        raise InputError(f"the name {family.name!r} belongs to {_path(holder)}; choose another name for {_path(family)}")
    failed = _failed_checks(family) if check else []
    if failed:
        raise InputError(f"the formulas of {_path(family)} contradict each other; failed checks: {', '.join(failed)}")
    BY_NAME[key] = family
    return family


def _failed_checks(family: type[Copula]) -> list[str]:
    """The checks that a family fails; an error of its constructor or of its tau is one of them."""
    try:
        return failed_checks(resolve_family(family)[0])
    except Exception as error:  # whatever the methods of a user's class raise
        return [f"a member and its tau raise {type(error).__name__}: {error}"]


def resolve_family(choice: Any, df: float | None = None) -> tuple[Copula, bool]:
    """A member of the family selected by a name, a class or an instance, and whether df is to be estimated.

    The theta of the member is arbitrary; an instance selects its family, rotation and df.
    """
    choice = family(choice) if isinstance(choice, str) else choice
    if isinstance(choice, type) and issubclass(choice, Copula) and "df" in choice.fixed_parameters:
        return _template(choice, df=4.0 if df is None else df), df is None
    if df is not None:
        raise InputError(f"df can be set for the StudentT class only, got df={df!r} with {choice!r}")
    return _template(choice), False


def candidates() -> list[tuple[Copula, bool]]:
    """Members of the library's families and of their distinct rotations, and whether df is to be estimated."""
    members = []
    for cls in FAMILIES:
        template, estimate_df = resolve_family(cls)
        members.append((template, estimate_df))
        if template.tau_range[0] >= 0.0:  # dependence of one sign, in one corner: the three rotations are distinct families
            members += [(Rotated(template, rotation), estimate_df) for rotation in ROTATIONS]
    return members


def _template(choice: Any, **fixed: Any) -> Copula:
    if isinstance(choice, type) and issubclass(choice, Copula) and not isabstract(choice):
        return choice._template(**fixed)
    if isinstance(choice, Copula):
        return choice
    raise InputError(f"family must be a name such as 'gumbel', a class or an instance, got {choice!r}")


def _require_family(cls: Any) -> None:
    """Raise an InputError unless `cls` is a complete family with a name that may be registered."""
    if not (isinstance(cls, type) and issubclass(cls, Copula)):
        raise InputError(f"register requires a subclass of Copula, got {cls!r}")
    if issubclass(cls, Rotated):
        raise InputError(f"register requires a family without a rotation, got {_path(cls)}; register its base")
    if isabstract(cls):
        raise InputError(f"{_path(cls)} is abstract; it must define {', '.join(sorted(cls.__abstractmethods__))}")
    if not isinstance(getattr(cls, "parameter", None), Parameter):
        raise InputError(f"{_path(cls)} needs a class attribute parameter, such as Parameter('theta', 1.0, inf, True)")
    name = getattr(cls, "name", None)
    if not isinstance(name, str) or not name.isidentifier() or len(name) > LONGEST_NAME or not _key(name):
        raise InputError(f"name of {_path(cls)} must be an identifier of at most {LONGEST_NAME} characters, got {name!r}")
    if name.endswith(tuple(map(str, ROTATIONS))) or _key(name) == "auto":
        raise InputError(f"name of {_path(cls)} must not be 'auto' or end in 90, 180 or 270, which are rotations, got {name!r}")
    if cls.fixed_parameters and cls not in FAMILIES:  # fits estimate the df of StudentT itself only
        need = f"members of {_path(cls)} need {', '.join(cls.fixed_parameters)} in addition to theta"
        raise InputError(f"{need}; set it in a subclass, or pass an instance as family")


def _key(name: str) -> str:
    """A name normalised for lookup."""
    return name.strip().lower().replace("_", "").replace("-", "")


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
