"""Two samples with the same variables: reading a reference like the draws, and matching variables by name."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws, as_draws, numeric_draws
from copula_discrepancy.data.kinds import HASHED, used_labels
from copula_discrepancy.data.levels import Side, common_levels, only_in_one
from copula_discrepancy.data.naming import NAME_VARIABLES, errors_about, listed, require_same_names, with_reasons
from copula_discrepancy.data.readers.labelled import group_of
from copula_discrepancy.data.readers.options import IfThere
from copula_discrepancy.data.readers.table import kind_fields


def read_reference(reference: Any, draws: Draws, options: Mapping[str, Any], *, every_kind: bool = False) -> Draws:
    """The reference, read with the same options and, if it has that column, with the same chain column.

    A reference without groups is read as it is, whatever group of the draws was chosen, and it may lack what is excluded.

    Without `every_kind` its variables must be numbers or ordered, see `numeric_draws`.
    """
    read = as_draws if every_kind else numeric_draws
    chains = None if draws.chain_column is None else IfThere(draws.chain_column)
    if "group" in options:
        options = {**options, "group": group_of(reference, options["group"])}
    with errors_about("reference"):
        return read(reference, chains=chains, **excluded_if_there(options))


def excluded_if_there(options: Mapping[str, Any]) -> dict[str, Any]:
    """The same options, by which a sample may lack names to exclude: the one that it is compared with has them."""
    given = options.get("exclude")
    names = [given] if isinstance(given, str) else [*given] if isinstance(given, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):  # nothing, or what readers refuse
        return dict(options)
    return {**options, "exclude": [IfThere(name) for name in names]}


def matched(draws: Draws, reference: Draws) -> tuple[Draws, Draws]:
    """Both samples with the same variables in the same order, by name if both have names and by position otherwise.

    Variables that either sample omitted when it was read, such as dates or an identifier, are omitted from the other too.
    Matching by position is noted if only one sample has names.
    """
    if draws.named and reference.named:
        draws, reference = _without_left_out(draws, reference, "reference"), _without_left_out(reference, draws, "draws")
        require_same_names(draws.names, reference.names, "the draws", "the reference")
        return _with_common_levels(draws, reference.select(draws.names))
    if draws.n_variables != reference.n_variables:
        left_out = (*draws.left_out, *reference.left_out)
        also = f"; left out when reading: {with_reasons(left_out)}" if left_out else ""
        found = " and ".join(f"{sample.n_variables} ({listed(sample.names)})" for sample in (draws, reference))
        raise InputError(f"the draws and the reference must have the same variables, got {found}{also}", "names-differ")
    names, notes = draws.names, draws.notes
    if draws.named != reference.named:
        names = draws.names if draws.named else reference.names
        notes += ("only one of the two samples has variable names, so variables are matched by position",)
    return _with_common_levels(replace(draws, names=names, notes=notes), replace(reference, names=names))


def _with_common_levels(draws: Draws, reference: Draws) -> tuple[Draws, Draws]:
    """Both samples with the same kinds and levels; levels that only one of them has are noted."""
    if not draws.kinds and not reference.kinds:
        return draws, reference
    both, whose = (draws, reference), ("the draws", "the reference")
    changed: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
    kinds, levels, notes = [], [], list(draws.notes)
    for k, name in enumerate(draws.names):
        sides = [
            Side(own.kind(k), own.labels(k), own.values[:, :, k], own.names[k] in own.chosen, called)
            for own, called in zip(both, whose, strict=True)
        ]
        common, found = common_levels(name, sides)
        kinds.append(common.kind)
        levels.append(common.labels)
        for side, new, values in zip(sides, changed, found, strict=True):
            if values is not side.values:
                new[k] = values
        if common.labels and common.labels != HASHED:
            used = [used_labels(values, common.labels) for values in found]
            notes += only_in_one(name, list(zip(whose, used, strict=True)))
    about = kind_fields(kinds, levels, [name for name in draws.names if name in draws.chosen or name in reference.chosen])
    matched_draws, matched_reference = (
        replace(own, values=_replaced(own.values, new), **about) for own, new in zip(both, changed, strict=True)
    )
    return replace(matched_draws, notes=tuple(notes)), matched_reference


def _replaced(values: NDArray[np.float64], columns: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    """The values with some variables replaced, each of them contiguous in memory."""
    if not columns:
        return values
    new = np.array(values.transpose(2, 0, 1), order="C")
    for k, column in columns.items():
        new[k] = column
    new.flags.writeable = False
    return new.transpose(1, 2, 0)


def is_bare_word(target: Any) -> bool:
    """Whether a target is a string that cannot be a path, such as the name of a family."""
    return isinstance(target, str) and not any(sign in target for sign in "*?[/\\.") and not os.path.exists(target)


def _without_left_out(sample: Draws, other: Draws, whose: str) -> Draws:
    """The sample without the variables that the other one omitted when it was read."""
    reasons = dict(other.left_out)
    dropped = tuple((name, reasons[name]) for name in sample.names if name in reasons)
    if not dropped:
        return sample
    kept = [name for name in sample.names if name not in reasons]
    if not kept:
        message = f"no variables are left; left out of the {whose}: {with_reasons(dropped)}; {NAME_VARIABLES}"
        raise InputError(message, "names-differ")
    note = f"left out, as in the {whose}: {with_reasons(dropped)}"
    return replace(sample.select(kept), left_out=(*sample.left_out, *dropped), notes=(*sample.notes, note))
