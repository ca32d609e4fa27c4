"""Targets of a comparison: a known copula, or the copula of a reference sample."""

from dataclasses import dataclass, replace
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.counted_draws import CountedDraws, chains_once
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.matching import is_bare_word, matched, read_reference
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.families import Copula, resolve_family


@dataclass(frozen=True)
class ResolvedTarget:
    """The target of two variables: a known copula, or a reference sample and the family to fit to both samples.

    Attributes
    ----------
    draws : Draws
        The draws; without names of their own they take those of the reference.
    copula : Copula or None
        The known copula.
    reference : Draws or None
        The reference, its variables in the order of the draws.
    template : Copula or None
        A member of the family to fit with a reference; None to choose one.
    estimate_df : bool
        Whether its degrees of freedom are estimated.
    """

    draws: Draws
    copula: Copula | None = None
    reference: Draws | None = None
    template: Copula | None = None
    estimate_df: bool = False

    def without_repeated_chains(self, iid: tuple[bool, bool]) -> "ResolvedTarget":
        """The same for chains that each count once."""
        draws, reference = chains_once((self.draws, self.reference), iid)
        return replace(self, draws=draws, reference=reference)


def resolve_target(target: Any, family: Any, draws: Draws, missing: str = "raise") -> ResolvedTarget:
    """A copula target, or a reference sample with the family to fit to it."""
    if isinstance(target, Copula):
        if family is not None:
            raise InputError(f"family can only be used with a reference sample; the target {target!r} has its own family")
        return ResolvedTarget(draws, target)
    if target is None or isinstance(target, type | int | float | complex | Fit) or is_bare_word(target):
        raise InputError(
            f"target must be a copula with its parameter, such as Gumbel(2.5), or a reference sample, got {target!r}",
            "no-target",
        )
    if not isinstance(target, CountedDraws):
        target = read_reference(target, draws, {"missing": missing})
    draws, reference = matched(draws, target)
    if family is None or (isinstance(family, str) and family == "auto"):
        return ResolvedTarget(draws, None, reference)
    return ResolvedTarget(draws, None, reference, *resolve_family(family, None))
