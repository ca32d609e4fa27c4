"""What draws are compared with: a known copula, or the copula of a reference sample."""

from dataclasses import dataclass
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.wording import few_draws
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.matching import is_bare_word, matched
from copula_discrepancy.data.repeats import repeated_rows
from copula_discrepancy.estimate.agreement import Agreement, chain_agreement, comparable, disagreement, stuck_chains
from copula_discrepancy.estimate.fit import Fit, fit_pair, resolve_family
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.selection import Selection, select_pair
from copula_discrepancy.estimate.uncertainty import require_chain_length
from copula_discrepancy.families import Copula


@dataclass(frozen=True)
class Aim:
    """What the draws are compared with: a copula, its tau, and the fit it comes from, if it was estimated."""

    copula: Copula
    tau: float
    fit: Fit | None = None
    agreement: Agreement | None = None
    selection: Selection | None = None
    notes: tuple[str, ...] = ()


def resolve_target(
    target: Any, family: Any, given: Draws, method: str, margins: str, iid: bool, confidence: float, missing: str = "raise"
) -> Aim:
    """A copula as it is; a reference sample with the family fitted to it."""
    if isinstance(target, Copula):
        if family is not None:
            raise InputError(f"family is for a reference sample; the target {target!r} has its own")
        return Aim(target, target.tau, notes=repeated_rows(given, None, iid))
    if target is None or isinstance(target, type | int | float | complex | Fit) or is_bare_word(target):
        raise InputError(
            f"target must be a copula with its parameter, such as Gumbel(2.5), or a reference sample, got {target!r}"
        )
    _, reference = matched(given, as_draws(target, missing=missing))
    if not iid:
        require_chain_length(reference.n_draws)
    pair = RankedPair.from_draws(reference, margins)
    selection, notes = None, tuple[str, ...]()
    if family is None or (isinstance(family, str) and family == "auto"):
        selection = select_pair(pair, iid=iid)
        template, notes = selection.best.template, selection.best.warnings
    else:
        template, estimate_df = resolve_family(family, None)
        if estimate_df:
            chosen = fit_pair(pair, template, method="mle", estimate_df=True)
            template, notes = chosen.template, chosen.warnings
    fitted = fit_pair(pair, template, method=method, iid=iid)
    if fitted.on_bound == "upper" or (fitted.on_bound and not template.parameter.lower_included):
        raise InputError(
            "the reference is perfectly dependent, so no copula with a density describes it; check its two variables"
        )
    told = [f"reference: {note}" for note in dict.fromkeys((*notes, *fitted.warnings, *stuck_chains(pair)))]
    limit = few_draws(reference.n_chains, iid)
    if fitted.n_eff < limit:
        told.append(f"reference: n_eff is {fitted.n_eff:.0f}, below {limit}: its standard errors are rough")
    compare = comparable(reference, iid)
    agreement = chain_agreement(pair, fitted.spreads["tau"], compare=compare, iid=iid, confidence=confidence)
    told += [f"reference: {note}" for note in disagreement(agreement)]
    told += repeated_rows(given, reference, iid)
    return Aim(fitted.copula, pair.tau, fitted, agreement, selection, tuple(told))
