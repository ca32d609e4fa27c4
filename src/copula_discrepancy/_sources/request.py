"""What a user asked for beside the draws, checked once, and the variables it selects."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copula_discrepancy.errors import InputError, one_of

DEFAULT_GROUP = "posterior"
LISTED = 20  # names in an error: enough to find one's own, few enough to read
_COMPARED = 10_000  # names a close match is looked for among: difflib takes a second for so many


@dataclass(frozen=True)
class Request:
    """Checked choices of `as_draws`; `chains` is a number of chains or the name of the column that tells them apart."""

    var_names: tuple[str, ...] | None = None
    filter_vars: str | None = None
    group: str = DEFAULT_GROUP
    coords: Mapping[Any, Any] | None = None
    chains: int | str | None = None
    delimiter: str | None = None

    @classmethod
    def checked(cls, var_names: Any, filter_vars: Any, group: Any, coords: Any, chains: Any, delimiter: Any) -> "Request":
        """The choices as they were given, or an InputError that names the wrong one."""
        if filter_vars is not None:
            one_of(filter_vars, "filter_vars, if given,", ("like", "regex"))
            if var_names is None:
                raise InputError(
                    f"filter_vars={filter_vars!r} says how to read var_names, which is not given; give the names too"
                )
        if not isinstance(group, str) or not group.strip("/"):
            raise InputError(f"group must be the name of a group, such as 'posterior', got {group!r}")
        if coords is not None and not isinstance(coords, Mapping):
            raise InputError(f"coords must map dimensions to labels, such as {{'school': ['Choate']}}, got {coords!r}")
        names = _checked_names(var_names)
        if filter_vars == "regex":
            for name in names or ():
                _compiled(name.removeprefix("~"))
        return cls(names, filter_vars, group.strip("/"), coords, _checked_chains(chains), _checked_delimiter(delimiter))

    def refuse(self, source: str, *options: str) -> None:
        """Raise if one of the options was given that mean nothing for this source; none is ever ignored."""
        if "group" in options and self.group != DEFAULT_GROUP:
            raise InputError(f"group={self.group!r} was given, but {source} has no groups; leave it out")
        if "coords" in options and self.coords:
            raise InputError(f"coords was given, but {source} has no coordinates; select variables by name with var_names")
        if "delimiter" in options and self.delimiter is not None:
            raise InputError(f"delimiter={self.delimiter!r} was given, but {source} is not delimited text; leave it out")
        if "chain column" in options and isinstance(self.chains, str):
            raise InputError(
                f"chains={self.chains!r} names a column, but {source} has no columns of its own to tell chains apart; "
                "give the number of chains, or an array (chain, draw, d)"
            )

    def pick(self, names: Sequence[str], variables: Sequence[str] | None = None) -> list[int]:
        """Positions of the selected names, in the order of `var_names`, within a variable in that of the data.

        `variables` holds the variable each flattened name belongs to; without it, that is what stands before the bracket, and
        patterns may match the flattened name as well.
        """
        if not names:
            raise InputError("there are no variables among the draws")
        if self.var_names is None:
            return list(range(len(names)))
        bases = [base_name(name) for name in names] if variables is None else list(variables)
        left_out = [name for name in self.var_names if name.startswith("~") and name not in names and name not in bases]
        if left_out and len(left_out) < len(self.var_names):
            raise InputError(
                f"var_names must either name variables or, with ~, leave some out, got both: {', '.join(self.var_names)}"
            )
        found: dict[int, None] = {}  # an ordered set
        for name in self.var_names:
            word = name[1:] if left_out else name
            hits = self._hits(word, names, bases, variables is not None)
            if not hits:
                raise InputError(unknown_name(word, names if word.endswith("]") else [*dict.fromkeys(bases)]))
            found.update(dict.fromkeys(hits))
        if left_out:
            chosen = [k for k in range(len(names)) if k not in found]
            if not chosen:
                raise InputError(f"var_names leaves out every variable: {', '.join(self.var_names)}")
            return chosen
        return sorted(found) if self.filter_vars else list(found)  # patterns keep the order of the data, as in ArviZ

    def _hits(self, word: str, names: Sequence[str], bases: Sequence[str], labelled: bool) -> list[int]:
        if self.filter_vars is None:
            exact = [k for k, name in enumerate(names) if name == word]
            return exact or [k for k, base in enumerate(bases) if base == word]
        matches = self.matcher(word)
        return [k for k, base in enumerate(bases) if matches(base) or (not labelled and matches(names[k]))]

    def matcher(self, word: str) -> Callable[[str], bool]:
        """Whether a name is the word, holds it, or matches it, as `filter_vars` says."""
        if self.filter_vars == "like":
            return lambda name: word in name
        if self.filter_vars == "regex":
            pattern = _compiled(word)
            return lambda name: pattern.search(name) is not None
        return lambda name: name == word


def base_name(name: str) -> str:
    """The variable a flattened name belongs to: theta for theta[0, 1]."""
    return name.split("[", 1)[0] if name.endswith("]") and name[0] != "[" else name


def unknown_name(name: str, available: Sequence[str], what: str = "variable") -> str:
    """A sentence that says a name is unknown, with what there is and what may have been meant."""
    import difflib

    close = difflib.get_close_matches(name, list(available[:_COMPARED]), n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ";"
    return f"there is no {what} {name!r}{meant} available: {listed(available)}"


def listed(names: Sequence[Any]) -> str:
    """The first names with commas between, and how many more there are."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return (", ".join(f"{name!s:.60}" for name in names[:LISTED]) or "none") + more


def _checked_names(var_names: Any) -> tuple[str, ...] | None:
    if var_names is None:
        return None
    names = (var_names,) if isinstance(var_names, str) else var_names
    try:
        names = tuple(names)
    except TypeError:
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"var_names must be a name or a list of names, got {var_names!r:.80}")
    if not names:
        raise InputError("var_names is empty, so no variables are left; leave it out to keep all of them")
    return tuple(str(name) for name in names)


def _checked_chains(chains: Any) -> int | str | None:
    if chains is None or (isinstance(chains, str) and chains):
        return chains
    try:
        number = None if isinstance(chains, bool | str) else chains.__index__()
    except (AttributeError, TypeError):
        number = None
    if number is None or number < 1:
        raise InputError(f"chains must be a whole number >= 1, or the name of the column that tells them apart, got {chains!r}")
    return int(number)


def _checked_delimiter(delimiter: Any) -> str | None:
    if delimiter is None:
        return None
    if isinstance(delimiter, str) and delimiter == "\\t":  # as typed in a shell
        return "\t"
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter.isalnum() or delimiter in "\"'.+-#_\r\n\0":
        raise InputError(f"delimiter must be one character between values, such as ',' or ';' or '\\t', got {delimiter!r}")
    return delimiter


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"var_names must be regular expressions with filter_vars='regex', got {pattern!r}: {error}") from None
