"""Two samples with the same variables: reading a reference like the draws, and matching variables by name."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.naming import NAME_VARIABLES, errors_about, listed, require_same_names, with_reasons
from copula_discrepancy.data.readers.options import IfThere


def read_reference(reference: Any, draws: Draws, options: Mapping[str, Any]) -> Draws:
    """The reference, read with the same options and, if it has that column, with the same chain column."""
    chains = None if draws.chain_column is None else IfThere(draws.chain_column)
    with errors_about("reference"):
        return as_draws(reference, chains=chains, **options)


def matched(draws: Draws, reference: Draws) -> tuple[Draws, Draws]:
    """Both samples with the same variables in the same order, by name if both have names and by position otherwise.

    Variables that either sample omitted when it was read, such as dates or an identifier, are omitted from the other too.
    Matching by position is noted if only one sample has names.
    """
    if draws.named and reference.named:
        draws, reference = _without_left_out(draws, reference, "reference"), _without_left_out(reference, draws, "draws")
        require_same_names(draws.names, reference.names, "the draws", "the reference")
        return draws, reference.select(draws.names)
    if draws.n_variables != reference.n_variables:
        left_out = (*draws.left_out, *reference.left_out)
        also = f"; left out when reading: {with_reasons(left_out)}" if left_out else ""
        found = " and ".join(f"{sample.n_variables} ({listed(sample.names)})" for sample in (draws, reference))
        raise InputError(f"the draws and the reference must have the same variables, got {found}{also}", "names-differ")
    names, notes = draws.names, draws.notes
    if draws.named != reference.named:
        names = draws.names if draws.named else reference.names
        notes += ("only one of the two samples has variable names, so variables are matched by position",)
    return replace(draws, names=names, notes=notes), replace(reference, names=names)


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
