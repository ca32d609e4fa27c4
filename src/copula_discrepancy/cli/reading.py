"""The samples that a command reads, with the options that say how."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws, as_draws, numeric_draws
from copula_discrepancy.data.readers.options import IfThere, ReadOptions, UnknownExcluded
from copula_discrepancy.data.row_function import read_used

Sample = TypeVar("Sample")


def check_reading(options: argparse.Namespace) -> None:
    """Report options that cannot be used to read anything as invalid usage, before any file is read."""
    chosen = [column for column, _ in getattr(options, "kinds", None) or ()]
    twice = next((column for column in chosen if chosen.count(column) > 1), None)
    if twice is not None:
        options.parser.error(f"--kinds names the column {twice!r} twice; give it one kind")
    try:
        ReadOptions.checked(
            options.columns, options.filter, options.group, None, options.chains, options.delimiter, options.exclude,
            kinds=dict(getattr(options, "kinds", None) or ()),
        )  # fmt: skip
    except InputError as error:
        message = str(error)
        for argument, option in (("filter_vars", "--filter"), ("var_names", "--columns"), ("exclude must", "--exclude must")):
            message = message.replace(argument, option)
        options.parser.error(message)


def independence(options: argparse.Namespace) -> tuple[tuple[bool, bool], bool | str]:
    """Whether the rows of candidate and reference are independent, for each, and as `iid` of the library."""
    sides = options.iid or options.iid_draws, options.iid or options.iid_reference
    return sides, {(True, False): "draws", (False, True): "reference"}.get(sides, sides[0])


def settings(options: argparse.Namespace, chains: Any, exclude: list[str] | None) -> dict[str, Any]:
    """The options of the command as those of `as_draws`, except what to do with missing values and parts."""
    coords: dict[str, list[str]] = {}
    for dimension, labels in options.coords or ():
        coords.setdefault(dimension, []).extend(labels)
    return {
        "var_names": options.columns, "exclude": exclude or None, "filter_vars": options.filter, "group": options.group,
        "coords": coords or None, "chains": chains, "delimiter": options.delimiter,
    }  # fmt: skip


def read(options: argparse.Namespace, path: Any, chains: Any, exclude: list[str] | None, iid: bool, **others: Any) -> Draws:
    """A sample, read with the options of the command; `others` replace some of them.

    Commands without --kinds need numbers.
    """
    parts = getattr(options, "parts", None) or ("rows" if iid else "auto")
    plain = settings(options, chains, exclude) | {"missing": options.missing, "parts": parts}
    if not hasattr(options, "kinds"):
        return numeric_draws(path, **(plain | others))
    return as_draws(path, **(plain | others), kinds=None if options.kinds is None else dict(options.kinds))


def without_unknown(
    options: argparse.Namespace, attempt: Callable[[list[str]], Sample]
) -> tuple[Sample, dict[str, UnknownExcluded]]:
    """What `attempt` reads without the names to exclude that this sample has, and those that it does not have."""
    excluded, missed = list(options.exclude or ()), dict[str, UnknownExcluded]()
    while True:
        try:
            return attempt(excluded), missed
        except UnknownExcluded as error:
            missed[error.name] = error
            excluded.remove(error.name)


def require_known(*missed: dict[str, UnknownExcluded]) -> None:
    """Raise if a name to exclude is in neither sample."""
    for name in missed[0]:
        if name in missed[1]:
            raise missed[0][name]


def read_both(options: argparse.Namespace, independent: tuple[bool, bool], function: str | None = None) -> tuple[Draws, Draws]:
    """Candidate and reference; a chain column or a name to exclude may be in one of them only, but not in neither.

    Of a `function`, only the columns that it names have to be numbers.
    """
    chains = options.chains, options.chains if options.reference_chains is None else options.reference_chains
    optional = options.reference_chains is None and isinstance(options.chains, str)
    samples, unknown = [], []
    for path, own, iid in zip((options.candidate, options.reference), chains, independent, strict=True):
        read_one = partial(_read_for, function, options, path, IfThere(own) if optional else own, iid)
        sample, missed = without_unknown(options, read_one)
        samples.append(sample)
        unknown.append(missed)
    require_known(*unknown)
    if optional and not any(draws.chain_column == options.chains for draws in samples):
        # raises, with the available columns
        _read_for(function, options, options.candidate, options.chains, independent[0], options.exclude)
    return samples[0], samples[1]


def _read_for(
    function: str | None, options: argparse.Namespace, path: str, chains: Any, iid: bool, exclude: list[str] | None
) -> Draws:
    if function is None or options.columns is not None:
        return read(options, path, chains, exclude, iid)

    def attempt(names: list[str] | None) -> Draws:
        if names is None:
            return read(options, path, chains, exclude, iid)
        return read(options, path, chains, None, iid, var_names=names, filter_vars=None)

    return read_used(attempt, function)
