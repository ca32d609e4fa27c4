"""Consequences of dependence as sentences and tables."""

import math
from typing import TYPE_CHECKING

from copula_discrepancy.compare import wording
from copula_discrepancy.estimate.uncertainty import Estimate

if TYPE_CHECKING:
    from copula_discrepancy.compare.consequence_result import Consequence, Effect

FOUND, NONE_FOUND = "dependence changes the result", "no effect of dependence found"
_FUNCTION = 60  # characters of the function in a sentence
_MOST_DECIMALS = 6
_SPLITS = {
    "dependence": "dependence exchanged first, at the margins of the {things}",
    "margins": "margins exchanged first, with the dependence of the {things}",
    "average": "averaged over both orders of exchange",
}
_NAMES = {
    "draws": "{things}",
    "repaired": "  with the reference's dependence",
    "swapped": "reference with the dependence of the {things}",
    "reference": "reference",
    "difference": "{things} minus reference",
    "dependence": "  due to dependence",
    "margins": "  due to margins",
}
_DIFFERENCES = ("difference", "dependence", "margins")


def verdict(result: "Consequence") -> str:
    """The answer in a few words."""
    if result.void:
        return wording.VOID
    if result.outcome == "not tested":
        return wording.NOT_TESTED
    return FOUND if result.outcome == "gap" else NONE_FOUND


def sentences(result: "Consequence") -> dict[str, str]:
    """The answer in words, by topic."""
    if result.void:
        return {"Answer": f"the {result.things} and the reference are the same, so no test is valid; use an independent one."}
    first, *others = result.effects
    texts = {"Answer": f"{_capital(_values(first, result))}.", "Parts": _parts(first, result)}
    if others:
        texts["Also"] = f"{_capital('; '.join(_short(effect, result.things) for effect in others))}."
    if result.outcome in ("no gap", "not tested"):
        texts["Tested"] = _tested(result)
    return texts


def _values(effect: "Effect", result: "Consequence") -> str:
    """The two numbers: in the draws, and with the right dependence."""
    own, repaired = (figure(number) for number in (effect.draws, effect.repaired))
    begin = f"{subject(effect, result)} is {own} in the {result.things}"
    if effect.dependence.se == 0.0 and effect.dependence.value == 0.0:
        return f"{begin}; dependence plays no part in it"  # of a mean: a probability that is 0 has a standard error
    return f"{begin}; with the reference's dependence and the same margins it would be {repaired}{_relative(effect)}"


def subject(effect: "Effect", result: "Consequence") -> str:
    """What the numbers are, such as "the 1% quantile of x + y"."""
    return f"the {effect.label} of {wording.shortened(result.function, _FUNCTION)}"


def _short(effect: "Effect", things: str) -> str:
    own, repaired = (figure(number) for number in (effect.draws, effect.repaired))
    return f"the {effect.label} is {own} in the {things} and would be {repaired} ({wording.chance(effect.dependence.pvalue)})"


def _relative(effect: "Effect") -> str:
    """How much larger a number would be, if that makes sense: it has a sign and an effect was found."""
    own, repaired = effect.draws.value, effect.repaired.value
    if effect.summary == "probability" or not effect.flagged or own * repaired <= 0.0:
        return ""
    if abs(own) < 2.0 * effect.draws.se:  # hardly different from 0
        return ""
    change = abs(repaired) / abs(own) - 1.0
    if not abs(change) >= 0.005:
        return ""
    size = f"{abs(change):.0%}" if abs(change) < 10.0 else f"{abs(change):,.0f} times"
    of = " in absolute value" if own < 0.0 else ""
    return f", {size} {'larger' if change > 0 else 'smaller'}{of}"


def _parts(effect: "Effect", result: "Consequence") -> str:
    """How much of the difference is due to dependence, and how much to margins."""
    how = _SPLITS[result.split].format(things=result.things)
    dependence, margins = (f"{figure(part, signed=True)} {_known(part)}" for part in (effect.dependence, effect.margins))
    return (
        f"the reference has {figure(effect.reference)}. The difference is {figure(effect.difference, signed=True)}: "
        f"{dependence} due to dependence and {margins} due to margins ({how})."
    )


def _known(part: Estimate) -> str:
    if part.se == 0.0:
        return "(exactly)"
    if math.isnan(part.se):
        return "(error not known)"
    low, high = (figure(part, value, signed=True) for value in part.ci)
    return f"({100 * part.confidence:g}%: {low} to {high}, {wording.chance(part.pvalue)})"


def _tested(result: "Consequence") -> str:
    """What an answer without an effect is about, and what it does not cover."""
    part = result.effects[0].dependence
    what = "this summary" if len(result.effects) == 1 else "these summaries"
    if math.isnan(part.se):
        known = " All resamples have the same value, so it cannot be tested."
    elif part.se == 0.0:
        known = " The mean of a sum never depends on dependence; its spread and its tails do (summary='sd', q=0.01)."
    else:
        low, high = (figure(part, end, signed=True) for end in part.ci)
        known = f" Effects from {low} to {high} are not ruled out."
    return (
        f"{what} of this function only.{known} Other summaries and functions may be affected: pairwise (compare) tests the "
        "dependence itself."
    )


def table(result: "Consequence") -> list[list[str]]:
    """The values and differences as text, with a heading; one block of rows per summary."""
    lines = [["", "value", "se", f"{100 * result.confidence:g}% interval", "p"]]
    for effect in result.effects:
        if len(result.effects) > 1:
            lines.append([effect.label, "", "", "", ""])
        indent = "  " if len(result.effects) > 1 else ""
        for name, label in _NAMES.items():
            lines.append(_row(indent + label.format(things=result.things), getattr(effect, name), name in _DIFFERENCES))
    return lines


def _row(label: str, number: Estimate, is_difference: bool) -> list[str]:
    low, high = (figure(number, end, signed=is_difference) for end in number.ci)
    pvalue = wording.short_pvalue(number.pvalue)
    se = f"{number.se:.2g}" if number.se > 0.0 else "-"
    return [label, figure(number, signed=is_difference), se, f"{low} to {high}" if number.se > 0.0 else "-", pvalue]


def figure(number: Estimate, value: float | None = None, *, signed: bool = False) -> str:
    """A number to the digits that its standard error leaves: two of that are shown."""
    shown = number.value if value is None else value
    if not math.isfinite(shown):
        return "-" if math.isnan(shown) else str(shown)
    size = number.se if number.se > 0.0 else abs(shown) / 1e3
    decimals = 1 - math.floor(math.log10(size)) if size > 0.0 else 0
    sign = "+" if signed else ""
    if decimals > _MOST_DECIMALS or abs(shown) >= 1e9:
        return f"{shown:{sign}.3g}"
    text = f"{shown:{sign},.{max(decimals, 0)}f}"
    return text.lstrip("+-") if not any(digit in text for digit in "123456789") else text  # zero has no sign


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
