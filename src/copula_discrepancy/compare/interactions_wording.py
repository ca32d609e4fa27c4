"""Effects of three variables as sentences."""

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from copula_discrepancy.compare import wording
from copula_discrepancy.compare.joint_wording import joint_words
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.multiplicity import in_words
from copula_discrepancy.estimate.triples import ORDER

if TYPE_CHECKING:
    from copula_discrepancy.compare.interactions_result import Interaction, Interactions

_SURE = 2.0  # standard errors from 0 beyond which an effect has a direction
_OFTEN = 3  # variables named, and fewest flagged triples for naming them
NULL = (
    "an elliptical copula, such as the Gaussian or Student's t: there no correlation rises or falls with a third variable, "
    "and joint extremes do not either"
)


def label(names: tuple[str, str, str]) -> str:
    """Three variables as one name."""
    return " ~ ".join(names)


def roles(names: tuple[str, str, str], cell: tuple[int, int, int]) -> tuple[str, str]:
    """What changes, and along which variable: "the correlation of a and b" and "with c"."""
    squared = [name for name, degree in zip(names, cell, strict=True) if degree == 2]
    plain = [name for name, degree in zip(names, cell, strict=True) if degree == 1]
    if len(plain) >= 2:
        along = f"towards the ends of {squared[0]}" if squared else f"with {plain[2]}"
        return f"the correlation of {plain[0]} and {plain[1]}", along
    along = f"with {plain[0]}" if plain else f"towards the ends of {squared[2]}"
    return f"the tendency of {squared[0]} and {squared[1]} to be extreme together", along


def effect(gap: "Interaction", things: str) -> str:
    """The effect of a triple in both samples, in one sentence without a period."""
    what, along = roles(gap.names, gap.cell)
    own, other = ("rises" if value > 0 else "falls" for value in (gap.value, gap.target))
    if math.isnan(gap.target):
        return f"{what} {own} {along}"
    here = abs(gap.value) > _SURE * gap.value_se
    there = abs(gap.target) > _SURE * gap.target_se
    if there and not here:
        return f"{what} {other} {along} in the reference, not in the {things}"
    if here and not there:
        return f"{what} {own} {along} in the {things}, not in the reference"
    if here and own != other:
        return f"{what} {own} {along} in the {things}, but {other} in the reference"
    if here:
        more = "more" if abs(gap.value) > abs(gap.target) else "less"
        return f"{what} {own} {more} {along} in the {things} than in the reference"
    return f"{what} changes {along} differently in the {things} and in the reference"


def verdict(result: "Interactions") -> str:
    """The answer in a few words."""
    if result.void:
        return wording.VOID
    triples = wording.counted(len(result), "triple")
    if not result.n_flagged:
        return f"{wording.NO_GAP if result.against else 'no effect found'} in {triples}"
    return f"{'gaps' if result.against else 'effects'} in {result.n_flagged:,} of {triples}"


def sentences(result: "Interactions") -> dict[str, str]:
    """The answer in words, by topic."""
    if result.void:
        return {"Answer": f"the {result.things} and the reference are the same, so no test is valid; use an independent one."}
    level, triples = in_words(result.adjust, 1.0 - result.confidence), wording.counted(len(result), "triple")
    if result.n_flagged:
        kind = "significant gaps" if result.against else "significant effects"
        texts = {"Answer": f"{kind} in {result.n_flagged:,} of {triples} ({level})."}
    else:
        kind = "no gap found" if result.against else "no effect found"
        texts = {"Answer": f"{kind} in {triples} ({level})."}
    if result.outcome == "no gap":
        texts["Tested"] = tested(result)
    if not result.against:
        texts["Null"] = f"tested against {NULL}."
    worst = result[0]
    if worst.flagged:
        beside = f", {worst.target:+.2f} in the reference" if result.against else ""
        texts["Worst"] = f"{worst.verdict} ({worst.value:+.2f}{beside}, {wording.chance(worst.adjusted)})."
    pairs = int(np.sum(result.rows["in_pairs"] & result.rows["flagged"]))
    if pairs:
        some = "it" if result.n_flagged == 1 else "all of them" if pairs == result.n_flagged else f"{pairs:,} of them"
        texts["Pairs"] = f"in {some} a pair differs as well, which may be the reason; look at pairwise first."
    if result.joint is not None:
        texts["Joint"] = f"pairs and triples together: {joint_words(result.joint, result.confidence, result.things)}."
    often = _often(result)
    if often:
        texts["Where"] = often
    omitted = [f"{name} ({reason})" for name, reason in result.left_out.items()]
    if omitted:
        texts["Judged"] = f"omitted: {listed(omitted, BRIEF)}."
    return texts | wording.computed_on(result)


def tested(result: "Interactions") -> str:
    """What the tests behind "no gap found" looked at, and what they cannot see."""
    even = ""
    if not result.against:
        even = (
            ", and effects of even order, such as a correlation that changes towards both ends of a variable, which an "
            "elliptical copula may have"
        )
    return (
        f"effects of three variables, in polynomials of their ranks up to order {ORDER} of each. Not tested here: pairs, for "
        f"which use pairwise{even}. Not seen: effects of four or more variables, and patterns finer than order {ORDER}."
    )


def _often(result: "Interactions") -> str:
    """The variables that most flagged triples share, if there are enough."""
    if len(result.names) <= _OFTEN or result.n_flagged < _OFTEN:
        return ""
    flagged = result.rows[: result.n_flagged]
    counts = Counter(np.concatenate([flagged[end] for end in ("first", "second", "third")]).tolist())
    if len({counts[k] for k in range(len(result.names))}) == 1:
        return ""
    of = (len(result.names) - 1) * (len(result.names) - 2) // 2
    variables = [f"{result.names[k]} ({count:,} of {of:,})" for k, count in counts.most_common(_OFTEN)]
    return f"the variables with the most flagged triples are {', '.join(variables[:-1])} and {variables[-1]}."


def table_rows(result: "Interactions", limit: int | None) -> list[list[str]]:
    """The ranking as text, with a heading."""
    head = ["triple", "cell", "value", *(["target"] if result.against else []), "se", "p", "verdict"]
    lines = [head]
    for k in range(len(result) if limit is None else min(limit, len(result))):
        gap = result[k]
        aim = [f"{gap.target:+.2f}"] if result.against else []
        cells = [
            gap.label,
            ",".join(map(str, gap.cell)),
            f"{gap.value:+.2f}",
            *aim,
            f"{gap.se:.3f}",
            wording.short_pvalue(gap.adjusted),
        ]
        lines.append([*cells, gap.verdict])
    return lines
