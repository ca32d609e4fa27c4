"""Whether a ranking of pairs passes a gate, such as a continuous integration job: a code, and the reason in words."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare import wording
from copula_discrepancy.compare.consequence_result import Consequence
from copula_discrepancy.compare.consequence_wording import figure, subject
from copula_discrepancy.compare.groups_result import GroupedPairwise
from copula_discrepancy.compare.interactions_result import Interactions
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.sizes import gap_sizes
from copula_discrepancy.data.naming import listed
from copula_discrepancy.estimate.agreement import RHAT_LIMIT

_INCOMPLETE = ("chains-left-out", "repeated-chains", "unfinished-run", "unread-at-end")


@dataclass(frozen=True)
class Outcome:
    """The decision of a gate.

    Attributes
    ----------
    code : str
        "answered" (no limit was set) or "passed"; "gap" or "constant" if the dependence is wrong or lost; "margins" if single
        variables differ; "void", "untested", "unconverged", "too-few-draws" or "incomplete" (a chain was left out or occurs
        twice, the run was cut short, or its draws were changed) if the comparison cannot be judged.
    sentence : str
        The reason, on one line; empty if no limit was set.
    """

    code: str
    sentence: str = ""

    @property
    def failed(self) -> bool:
        """Whether the dependence is wrong by more than the limits allow, or margins differ that must not."""
        return self.code in ("gap", "constant", "margins")

    @property
    def undecided(self) -> bool:
        """Whether the comparison cannot be judged."""
        return not self.failed and self.code not in ("answered", "passed")


def gate(
    result: Pairwise,
    *,
    max_gap: float | None = None,
    max_rhat: float | None = None,
    min_n_eff: float | None = None,
    margins: bool = False,
    triples: Interactions | None = None,
) -> Outcome:
    """Judge a comparison by the size of its gaps, by R-hat for dependence, by effective draws and, if requested, by margins.

    A comparison that is void, or in which no pair could be tested, is undecided regardless of the limits. A gap above its limit
    fails even if the chains have not converged; a comparison without one passes only if they have.

    Parameters
    ----------
    result : Pairwise
        The comparison.
    max_gap : float, optional
        The largest |level|, |shape| and |total| allowed, and the largest corner gap of pairs with significant tail gaps: with a
        few dozen draws in a tail, sampling error alone often exceeds 0.05 there.
    max_rhat : float, optional
        The largest R-hat allowed, in either sample; 1.01 by default if `max_gap` is set.
    min_n_eff : float, optional
        The smallest n_eff allowed, in either sample.
    margins : bool
        Whether a significant difference of a variable from the reference fails; undecided if no variable could be tested.
    triples : Interactions, optional
        Triples whose significant differences must not exceed `max_gap` either.
    """
    if result.void:
        return Outcome("void", f"undecided: the {result.things} and the reference are the same, so no test is valid")
    if result.stuck and max_gap is not None:
        lost = f"constant in the {result.things} but not in the target: {listed(result.stuck)}"
        return Outcome("constant", f"failed: {lost}; all dependence on a constant variable is lost")
    if not result.tested.any():
        return Outcome("untested", f"undecided: no {result.unit} could be tested; see the notes")
    reason = (
        (None if max_gap is None else _too_large(result, max_gap) or _triples_too_large(triples, max_gap))
        or (_margins(result) if margins else None)
        or _unconverged(result, max_rhat, math.inf if max_gap is None else RHAT_LIMIT)
        or (None if min_n_eff is None else _too_few_draws(result, min_n_eff))
        or (None if (max_gap, max_rhat, min_n_eff) == (None, None, None) and not margins else _incomplete(result))
    )
    if reason is not None:
        return reason
    passed = [] if max_gap is None else [f"no gap exceeds {max_gap:g} (largest {np.nanmax(_sizes(result)):.4f})"]
    passed += ["R-hat and n_eff are within their limits"] if not passed and (max_rhat or min_n_eff) is not None else []
    passed += [f"margins: {result.margins.line}"] if margins and result.margins is not None else []
    return Outcome("passed", f"passed: {'; '.join(passed)}") if passed else Outcome("answered")


def _incomplete(result: Pairwise | Consequence) -> Outcome | None:
    """Undecided if a chain was left out or occurs twice, which R-hat does not know, or if draws of the run are missing."""
    told = next((caveat.sentence for caveat in result.caveats if caveat.code in _INCOMPLETE), None)
    return None if told is None else Outcome("incomplete", f"undecided: {told}")


def gate_groups(result: GroupedPairwise, **limits: Any) -> Outcome:
    """Judge a comparison by groups: over all rows, then within every group, worst first, by the limits of `gate`.

    Parameters
    ----------
    result : GroupedPairwise
        The comparison.
    **limits : object
        The limits of `gate`; margins are judged over all rows only.

    Returns
    -------
    Outcome
        The first that fails, else the first that is undecided, else that of all rows.
    """
    outcomes = [gate(result.overall, **limits)]
    if outcomes[0].code == "void":
        return outcomes[0]
    for label in result.ranked:
        found = gate(result.groups[label], **(limits | {"margins": False}))
        state, colon, reason = found.sentence.partition(": ")
        outcomes.append(Outcome(found.code, f"{state}{colon}within {result.named[label]}: {reason}" if colon else ""))
    failed = [found for found in outcomes if found.failed]
    undecided = [found for found in outcomes if found.undecided]
    if failed or undecided:
        return (failed or undecided)[0]
    if outcomes[0].code != "passed":
        return outcomes[0]
    return Outcome("passed", f"{outcomes[0].sentence}; the same within {len(result)} groups")


def gate_consequence(result: Consequence, *, max_effect: float | None = None) -> Outcome:
    """Judge what dependence does to a function by its size.

    Parameters
    ----------
    result : Consequence
        What was computed.
    max_effect : float, optional
        The largest part due to dependence that passes, in absolute value, for every summary. Larger ones fail if they are
        significant; otherwise chains must agree on the function, and none may occur twice.

    Returns
    -------
    Outcome
        Its code, and the reason on one line.
    """
    if result.void:
        return Outcome("void", f"undecided: the {result.things} and the reference are the same, so no test is valid")
    if max_effect is None:
        return Outcome("answered")
    above = [effect for effect in result.effects if effect.flagged and abs(effect.dependence.value) > max_effect]
    if above:
        worst = max(above, key=lambda effect: abs(effect.dependence.value))
        size = figure(worst.dependence, signed=True)
        return Outcome("gap", f"failed: dependence changes {subject(worst, result)} by {size}, more than {max_effect:g}")
    caveat = next((caveat for caveat in result.caveats if caveat.code == "chains-disagree"), None)
    if caveat is not None:
        return Outcome("unconverged", f"undecided: {caveat.sentence}; use longer chains")
    incomplete = _incomplete(result)
    if incomplete is not None:
        return incomplete
    largest = max(result.effects, key=lambda effect: abs(effect.dependence.value))
    size = figure(largest.dependence, signed=True)
    chance = "" if largest.flagged or largest.dependence.value == 0.0 else ", not significant"
    return Outcome("passed", f"passed: no significant effect of dependence exceeds {max_effect:g} (largest {size}{chance})")


def _sizes(result: Pairwise) -> NDArray[np.float64]:
    """The gap of every pair that the limit applies to."""
    return gap_sizes(result.rows, ("level", "shape", "total"), 1.0 - result.confidence)


def _too_large(result: Pairwise, limit: float) -> Outcome | None:
    """Gaps above the limit, or none that could be measured."""
    sizes = _sizes(result)
    if np.isnan(sizes).all():
        return Outcome("untested", "undecided: no gap could be measured; see the notes")
    if not np.nanmax(sizes) > limit:
        return None
    worst = result[int(np.nanargmax(sizes))]
    chance = worst.verdict if worst.flagged else f"which is within sampling error: {_more(result)}"
    units = f"{len(result)} {result.unit}{'s' * (len(result) != 1)}"
    above = f"{np.sum(sizes > limit)} of {units} with a gap above {limit:g}"
    return Outcome("gap", f"failed: {above}; the largest is {np.nanmax(sizes):.4f}, {worst.label}, {chance}")


def _margins(result: Pairwise) -> Outcome | None:
    """Variables that differ from the reference, or none that could be tested."""
    if result.margins is None:
        return Outcome("untested", "undecided: margins can only be compared with a reference sample")
    if not result.margins.n_tested:
        return Outcome("untested", f"undecided: margins {result.margins.line}")
    return Outcome("margins", f"failed: margins: {result.margins.line}") if result.margins.flagged else None


def _triples_too_large(triples: Interactions | None, limit: float) -> Outcome | None:
    """Significant differences of triples above the limit."""
    if triples is None or triples.void:
        return None
    sizes = np.abs(triples.rows["difference"]) * triples.flagged
    if not sizes.max() > limit:
        return None
    worst = triples[int(np.argmax(sizes))]
    above = f"{np.sum(sizes > limit)} of {len(triples)} triples with a significant gap above {limit:g}"
    return Outcome("gap", f"failed: {above}; the largest is {sizes.max():.4f}, {worst.label}: {worst.verdict}")


def _unconverged(result: Pairwise, given: float | None, default: float) -> Outcome | None:
    """R-hat above the limit, or unknown although a limit was set."""
    rhat, limit = np.fmax(result.rows["rhat"], result.rows["rhat_target"]), default if given is None else given
    if np.isnan(rhat).all():
        unknown = "undecided: R-hat for dependence is not available; it needs chains or a long sequence of draws"
        return Outcome("unconverged", unknown) if given is not None and math.isfinite(given) else None
    if not np.nanmax(rhat) > limit:
        return None
    k = int(np.nanargmax(rhat))
    where = (
        f"R-hat for dependence is {wording.visibly_above(rhat[k], limit)} in {result.label(result.rows[k])}, above {limit:g}"
    )
    return Outcome("unconverged", f"undecided: {where}; {_more(result)}, or allow a larger R-hat")


def _too_few_draws(result: Pairwise, limit: float) -> Outcome | None:
    """Effective draws below the limit, or unknown."""
    n_eff = np.fmin(result.rows["n_eff"], result.rows["n_eff_target"])
    if np.isnan(n_eff).all():
        return Outcome("too-few-draws", "undecided: n_eff is not available")
    if not np.nanmin(n_eff) < limit:
        return None
    k = int(np.nanargmin(n_eff))
    where = f"n_eff is {n_eff[k]:.0f} in {result.label(result.rows[k])}, below {limit:g}"
    return Outcome("too-few-draws", f"undecided: {where}; {_more(result)}, or allow a smaller n_eff")


def _more(result: Pairwise) -> str:
    return "use more draws" if result.things == "draws" else "use more rows"
