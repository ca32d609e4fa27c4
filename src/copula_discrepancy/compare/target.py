"""What draws are compared with: a known copula, or the copula of a reference sample."""

import os
from dataclasses import dataclass, replace
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.families import Copula, resolve_family


@dataclass(frozen=True)
class ResolvedTarget:
    """What two variables are compared with: a known copula, or a reference sample and the family to look at both through.

    Attributes
    ----------
    copula : Copula or None
        The known copula.
    reference : Draws or None
        The reference, its variables in the order of the draws.
    template : Copula or None
        A member of the family to fit with a reference; None to choose one.
    estimate_df : bool
        Whether its degrees of freedom are estimated.
    """

    copula: Copula | None = None
    reference: Draws | None = None
    template: Copula | None = None
    estimate_df: bool = False


def resolve_target(target: Any, family: Any, given: Draws, missing: str = "raise") -> ResolvedTarget:
    """A copula as it is; a reference sample with the family to fit to it."""
    if isinstance(target, Copula):
        if family is not None:
            raise InputError(f"family is for a reference sample; the target {target!r} has its own")
        return ResolvedTarget(target)
    if target is None or isinstance(target, type | int | float | complex | Fit) or names_no_file(target):
        raise InputError(
            f"target must be a copula with its parameter, such as Gumbel(2.5), or a reference sample, got {target!r}",
            "no-target",
        )
    reference = _matching(as_draws(target, missing=missing), given)
    if family is None or (isinstance(family, str) and family == "auto"):
        return ResolvedTarget(None, reference)
    return ResolvedTarget(None, reference, *resolve_family(family, None))


def names_no_file(target: Any) -> bool:
    """Whether a target is a string that is no path, such as the name of a family."""
    if not isinstance(target, str):
        return False
    return not any(sign in target for sign in "*?[/\\.") and not os.path.exists(target)


def without_left_out(sample: Draws, other: Draws, whose: str) -> Draws:
    """A sample without the variables that the other one left out when it was read."""
    reasons = dict(other.left_out)
    gone = tuple((name, reasons[name]) for name in sample.names if name in reasons)
    if not gone:
        return sample
    kept = [name for name in sample.names if name not in reasons]
    told = ", ".join(f"{name} ({reason})" for name, reason in gone)
    if not kept:
        raise InputError(f"no variable is left: the {whose} left out {told}; name what is a variable (--columns, or var_names)")
    note = f"left out, as in the {whose}: {told}"
    return replace(sample.select(kept), left_out=(*sample.left_out, *gone), notes=(*sample.notes, note))


def _matching(reference: Draws, given: Draws) -> Draws:
    """The reference with its variables in the order of the draws; by name where both have names."""
    if reference.named and given.named:
        reference = without_left_out(reference, given, "draws")
    if not (reference.named and given.named):
        if reference.n_variables != given.n_variables:
            raise InputError(
                "the reference must have the same variables as the draws, "
                f"got {reference.n_variables} against {given.n_variables}"
            )
        return reference
    if len(set(given.names)) < len(given.names):
        raise InputError(
            f"variables must have different names to be matched with the reference's, got {', '.join(given.names)}"
        )
    if sorted(reference.names) != sorted(given.names):
        raise InputError(
            f"the reference must have the same variables as the draws, got {', '.join(reference.names)} against "
            f"{', '.join(given.names)}; select the same columns from both"
        )
    order = [reference.names.index(name) for name in given.names]
    return reference.select([reference.names[k] for k in order])
