"""The options of `as_draws`, validated once, and the variables they select."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from copula_discrepancy._core.checks import one_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.kinds import NOTHING_CHOSEN, ChosenKinds
from copula_discrepancy.data.naming import unknown_name

DEFAULT_GROUP = "posterior"
PARTS = ("auto", "chains", "rows")


class IfThere(str):
    """The name of a chain column, or of a variable to exclude, that a sample may lack: it is then read as if it had none."""


class UnknownExcluded(InputError):
    """A name to exclude that does not exist; with two samples, the other one may have it."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message, "unknown-name")
        self.name = name


class NotNumeric(InputError):
    """Columns that are not numbers: their names, and those of the columns that are."""

    def __init__(self, message: str, others: Sequence[str], numeric: Sequence[str]) -> None:
        super().__init__(message, "not-numeric")
        self.others, self.numeric = tuple(others), tuple(numeric)


@dataclass(frozen=True)
class ReadOptions:
    """Validated options of `as_draws`; `chains` is a number of chains or the name of the column that identifies them.

    `named` contains the variables that the user named, if `var_names` is the outcome of an earlier selection; see `settled`.
    With `every_kind`, text, categories and dates are variables too, of the kinds that `kinds` chooses or that they look like;
    otherwise all variables must be numbers.
    """

    var_names: tuple[str, ...] | None = None
    filter_vars: str | None = None
    group: str = DEFAULT_GROUP
    coords: Mapping[Any, Any] | None = None
    chains: int | str | None = None
    delimiter: str | None = None
    exclude: tuple[str, ...] = ()
    parts: str = "auto"
    named: frozenset[str] | None = None
    every_kind: bool = False
    kinds: ChosenKinds = NOTHING_CHOSEN

    @classmethod
    def checked(
        cls, var_names: Any, filter_vars: Any, group: Any, coords: Any, chains: Any, delimiter: Any, exclude: Any = None,
        parts: Any = "auto", kinds: Any = None, every_kind: bool = False,
    ) -> "ReadOptions":  # fmt: skip
        """Validate the options; raise an InputError that names the invalid one."""
        if filter_vars is not None:
            one_of(filter_vars, "filter_vars, if set,", ("like", "regex"))
            if var_names is None and exclude is None:
                raise InputError(f"filter_vars={filter_vars!r} needs names to filter by; pass var_names or exclude as well")
        one_of(parts, "parts", PARTS)
        if not isinstance(group, str) or not group.strip("/"):
            raise InputError(f"group must be the name of a group, such as 'posterior', got {group!r}")
        if coords is not None and not isinstance(coords, Mapping):
            raise InputError(f"coords must map dimensions to labels, such as {{'school': ['Choate']}}, got {coords!r}")
        names, left_out = _checked_names(var_names, "var_names"), _checked_names(exclude, "exclude") or ()
        if filter_vars == "regex":
            for name in names or ():
                _compiled(name.removeprefix("~"), "var_names")
            for name in left_out:
                _compiled(name, "exclude")
        chains, delimiter = _checked_chains(chains), _checked_delimiter(delimiter)
        chosen = ChosenKinds.of(kinds)
        return cls(names, filter_vars, group.strip("/"), coords, chains, delimiter, left_out, parts, None, every_kind, chosen)

    @property
    def selects(self) -> bool:
        """Whether variables are selected, by `var_names` or by `exclude`."""
        return self.var_names is not None or bool(self.exclude)

    def names_variable(self, name: str) -> bool:
        """Whether the user named exactly this variable; patterns and exclusions do not count."""
        if self.named is not None:
            return name in self.named
        if self.var_names is None or self.filter_vars is not None:
            return False
        return name in self.var_names or base_name(name) in self.var_names

    def require_known_kinds(self, names: Sequence[str]) -> None:
        """Raise if a kind was chosen for a column that does not exist; only the first reader knows all the columns."""
        if self.named is None:
            self.kinds.require_known(names)

    def settled(self, names: Sequence[str]) -> "ReadOptions":
        """Options for exactly these variables, which were already selected, with a record of which the user named."""
        named = frozenset(name for name in names if self.names_variable(name))
        return replace(self, var_names=tuple(names), filter_vars=None, exclude=(), named=named)

    def refuse(self, source: str, *options: str) -> None:
        """Raise if an option does not apply to this source; options are never ignored silently."""
        if "group" in options and self.group != DEFAULT_GROUP:
            raise InputError(f"group={self.group!r} was passed, but {source} has no groups; omit it")
        if "coords" in options and self.coords:
            raise InputError(f"coords was passed, but {source} has no coordinates; select variables by name with var_names")
        if "delimiter" in options and self.delimiter is not None:
            raise InputError(f"delimiter={self.delimiter!r} was passed, but {source} is not delimited text; omit it")
        if "chain column" in options and isinstance(self.chains, str) and not isinstance(self.chains, IfThere):
            found = f"chains={self.chains!r} names a column, but {source} has no columns that could identify chains"
            raise InputError(f"{found}; pass the number of chains, or an array (chain, draw, d)")

    def pick(self, names: Sequence[str], variables: Sequence[str] | None = None) -> list[int]:
        """Positions of the selected names, in the order of `var_names`, within a variable in that of the data.

        `variables` holds the variable of each flattened name; without it, the variable is the part before the bracket, and
        patterns may match the flattened name as well.
        """
        if not names:
            raise InputError("the draws have no variables", "shape")
        labelled = variables is not None
        bases = list(variables or map(base_name, names))
        chosen = self._picked(names, bases, labelled)
        dropped: set[int] = set()
        for word in self.exclude:
            hits = self._hits(word, names, bases, labelled)
            if not hits and not isinstance(word, IfThere):
                raise UnknownExcluded(word, f"exclude: {_unknown(word, names, bases)}")
            dropped.update(hits)
        kept = [k for k in chosen if k not in dropped]
        if not kept:
            raise InputError(f"exclude removes every variable: {', '.join(self.exclude)}")
        return kept

    def _picked(self, names: Sequence[str], bases: list[str], labelled: bool) -> list[int]:
        """Positions of the names that `var_names` selects."""
        if self.var_names is None:
            return list(range(len(names)))
        negated = [name for name in self.var_names if name.startswith("~") and name not in names and name not in bases]
        if negated and len(negated) < len(self.var_names):
            rule = "var_names must either name variables or, with ~, exclude some"
            raise InputError(f"{rule}, got both: {', '.join(self.var_names)}")
        selected: dict[int, None] = {}  # an ordered set
        for name in self.var_names:
            word = name[1:] if negated else name
            hits = self._hits(word, names, bases, labelled)
            if not hits:
                raise InputError(_unknown(word, names, bases), "unknown-name")
            selected.update(dict.fromkeys(hits))
        if negated:
            rest = [k for k in range(len(names)) if k not in selected]
            if not rest:
                raise InputError(f"var_names excludes every variable: {', '.join(self.var_names)}")
            return rest
        return sorted(selected) if self.filter_vars else list(selected)  # patterns keep the order of the data, as in ArviZ

    def _hits(self, word: str, names: Sequence[str], bases: Sequence[str], labelled: bool) -> list[int]:
        matches = self.matcher(word)
        if self.filter_vars is None:
            return [k for k, name in enumerate(names) if matches(name)] or [k for k, base in enumerate(bases) if matches(base)]
        return [k for k, base in enumerate(bases) if matches(base) or (not labelled and matches(names[k]))]

    def matcher(self, word: str) -> Callable[[str], bool]:
        """A function that checks whether a name equals, contains or matches the word, depending on `filter_vars`."""
        if self.filter_vars == "like":
            return lambda name: word in name
        if self.filter_vars == "regex":
            pattern = _compiled(word, "var_names")
            return lambda name: pattern.search(name) is not None
        return lambda name: name == word


def base_name(name: str) -> str:
    """The variable a flattened name belongs to: theta for theta[0, 1]."""
    return name.split("[", 1)[0] if name.endswith("]") and name[0] != "[" else name


def _unknown(word: str, names: Sequence[str], bases: Sequence[str]) -> str:
    return unknown_name(word, names if word.endswith("]") else [*dict.fromkeys(bases)])


def _checked_names(given: Any, option: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    try:
        names = (given,) if isinstance(given, str) else tuple(given)
    except TypeError:
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{option} must be a name or a list of names, got {given!r:.80}")
    if not names and option == "var_names":
        raise InputError("var_names is empty and selects no variables; omit it to keep all of them")
    return tuple(name if isinstance(name, IfThere) else str(name) for name in names)


def _checked_chains(chains: Any) -> int | str | None:
    if chains is None or (isinstance(chains, str) and chains):
        return chains
    try:
        number = 0 if isinstance(chains, bool | str) else int(chains.__index__())
    except (AttributeError, TypeError):
        number = 0
    if number < 1:
        raise InputError(f"chains must be an integer >= 1, or the name of the column that identifies them, got {chains!r}")
    return number


def _checked_delimiter(delimiter: Any) -> str | None:
    if delimiter is None:
        return None
    if isinstance(delimiter, str) and delimiter == "\\t":  # as typed in a shell
        return "\t"
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter.isalnum() or delimiter in "\"'.+-#_\r\n\0":
        raise InputError(f"delimiter must be one character between values, such as ',' or ';' or '\\t', got {delimiter!r}")
    return delimiter


def _compiled(pattern: str, option: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"{option} must be regular expressions with filter_vars='regex', got {pattern!r}: {error}") from None
