"""Lists of names in messages, unknown names, and names that two sources must share."""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from copula_discrepancy._core.errors import InputError

LISTED = 20  # names in an error message: enough to find the right one, few enough to read
NAME_VARIABLES = "name the columns that are variables (--columns, or var_names)"
BRIEF = 8  # names in a sentence of a result
_LABELLED = 3  # sources whose labels stand before a note
_WIDEST = 200  # characters of one name: a file read with the wrong delimiter has its whole first line as a name
_COMPARED = 10_000  # names among which a close match is searched: difflib takes a second for this many


def listed(names: Sequence[Any], limit: int = LISTED) -> str:
    """The first `limit` names, separated by commas, and the number of further ones; "none" without any."""
    shown = ", ".join(text if len(text) <= _WIDEST else f"{text[:_WIDEST]}..." for text in map(str, names[:limit]))
    return (shown or "none") + (f" and {len(names) - limit} more" if len(names) > limit else "")


def with_reasons(left_out: Sequence[tuple[str, str]]) -> str:
    """Names grouped by the reason why they were omitted: "day, time (dates), id (identifier)"."""
    by_reason = grouped((reason, name) for name, reason in left_out)
    return ", ".join(f"{listed(names)} ({reason})" for reason, names in by_reason.items())


def ways_to_select(rest: Sequence[str], unusable: Sequence[str]) -> str:
    """How to read the usable columns only: by naming them, or by excluding the others, whichever is shorter."""
    if 2 <= len(rest) <= LISTED:
        return f"select the others by name, --columns {typed(rest)} or var_names={list(rest)}"
    if len(rest) > LISTED and len(unusable) <= LISTED:
        exclude = f"--exclude {typed(unusable)} or exclude={list(unusable)}"
        return f"exclude {'them' if len(unusable) > 1 else 'it'} by name, {exclude}"
    return "select the other variables by name"


def typed(names: Sequence[str]) -> str:
    """Names quoted for a shell."""
    return shlex.quote(",".join(f'"{name}"' if "," in name else name for name in names))


def grouped(pairs: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    """The second items of pairs by the first ones, both in their order."""
    groups: dict[str, list[Any]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def told_once(sources: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """The notes of several sources, such as files, by their labels: each once, and without labels if it holds for all."""
    found = [(label, tuple(notes)) for label, notes in sources]
    told = grouped((note, label) for label, notes in found for note in notes)
    return [note if len(where) == len(found) > 1 else f"{listed(where, _LABELLED)}: {note}" for note, where in told.items()]


def unknown_name(name: str, available: Sequence[str], what: str = "variable") -> str:
    """A sentence that says a name is unknown, lists the available ones and suggests a close match."""
    import difflib

    close = difflib.get_close_matches(name, list(available[:_COMPARED]), n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ";"
    return f"there is no {what} {name!r}{meant} available: {listed(available)}"


def file_labels(paths: Sequence[str]) -> list[str]:
    """What messages call files: their names, with as much of the path as tells them apart."""
    names = [os.path.basename(path) for path in paths]
    if len(set(names)) == len(names):
        return names
    common = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
    return [os.path.relpath(os.path.abspath(path), common) for path in paths]


def chain_labels(labels: Iterable[Any], n_chains: int) -> tuple[str, ...]:
    """What chains are called: "chain 1" by its label 1, or by its position if labels are missing, or not written yet."""
    called = tuple(f"chain {label}" for label in labels)
    return called if len(set(called)) == n_chains else tuple(f"chain {k}" for k in range(n_chains))


def chain_name(names: Sequence[str], chain: int, n_chains: int) -> str:
    """What a chain is called: by its label if every chain has one, otherwise by its position."""
    return names[chain] if len(names) == n_chains else f"chain {chain}"


def require_different(names: Sequence[str]) -> None:
    """Raise if a name occurs twice."""
    if len(set(names)) < len(names):
        repeated = sorted(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"variable names must be unique, but these occur more than once: {listed(repeated)}; rename them")


def require_same_names(names: Sequence[str], others: Sequence[str], label: str, other_label: str) -> None:
    """Raise unless two sources have the same variables, in any order."""
    here, there = set(names), set(others)
    if here == there:
        return
    unmatched = [name for name in names if name not in there], [name for name in others if name not in here]
    only = [f"only in {whose}: {listed(own)}" for whose, own in zip((label, other_label), unmatched, strict=True) if own]
    common = [name for name in names if name in there]
    first, second = ({name.strip().casefold() for name in own} for own in unmatched)
    if first & second:
        way_out = "upper and lower case must agree"
    else:
        advice = " (select these with --columns, or var_names, or leave the others out with --exclude)" * bool(common)
        way_out = f"shared by both: {listed(common)}{advice}"
    message = f"{label} and {other_label} must have the same variables; {'; '.join(only)}; {way_out}"
    raise InputError(message, "names-differ")


@contextmanager
def errors_about(what: str) -> Iterator[None]:
    """A context whose InputErrors begin with what they are about, such as the name of a file; codes are kept."""
    try:
        yield
    except InputError as error:
        error.args = (f"{what}: {error}",)
        raise
