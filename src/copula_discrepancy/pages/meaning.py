"""What the numbers and warnings of a page mean, in the words of this very comparison."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.multiplicity import in_words
from copula_discrepancy.words import FEW_DRAWS, RHAT_LIMIT

if TYPE_CHECKING:
    from copula_discrepancy.pairwise_result import Pairwise
    from copula_discrepancy.result import Discrepancy

Told = list[tuple[str, str]]  # a term and what is said of it

# What a warning asks of the reader, by words that it contains; the warning itself says what was seen.
_ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"^(reference: )?n_eff is",
        "The draws depend on each other so much that they say little. Gaps found there may be chance, and none found "
        "means little: "
        "run the chains longer.",
    ),
    (
        "R-hat for dependence",
        "Longer runs may change these numbers. Look at the chains one by one: one that tells another story is in "
        "another mode, or "
        "not yet where it should be.",
    ),
    (
        "never moves|does not move|stand still",
        "A chain that stands still has failed: it adds ties, not information, and pulls every estimate towards one "
        "point. Leave it "
        "out, or find out why it stopped.",
    ),
    ("more chains than draws", "If the axes are swapped, every standard error here is wrong. Check the shape of the array."),
    (
        "so few values",
        "A copula describes continuous variables. With two or three values only the strength can be compared, and even that "
        "depends on how often each value occurs.",
    ),
    (
        "rounded or discrete|are tied",
        "Rounding looks like a change of family. Compare samples that are rounded alike, or take level alone.",
    ),
    ("the draws themselves", "A sample compared with itself has no gap by construction. Give an independent reference."),
    ("one chain", "Chains with other starting points would tell whether this one has seen the whole distribution."),
    (
        "perfect|cannot reach|bound",
        "At a bound a family cannot follow the draws any further; numbers that depend on its fit have no standard error there.",
    ),
    (
        "constant",
        "A variable that does not vary has no dependence. If it should vary, the sampler has lost it.",
    ),
)


def advice(warning: str) -> str:
    """What a warning asks of the reader; nothing where it says all itself."""
    for words, meant in _ADVICE:
        if re.search(words, warning):
            return meant
    return ""


def explained(warnings: Sequence[str]) -> Told:
    """Warnings with what they ask of the reader, said once of several of a kind: with the last of them."""
    asked = [advice(warning) for warning in warnings]
    return [
        (warning, "" if meant in asked[k + 1 :] else meant)
        for k, (warning, meant) in enumerate(zip(warnings, asked, strict=True))
    ]


def of_pairs(result: "Pairwise") -> Told:
    """How sure a ranking is: effective draws, R-hat, adjusted p-values, and what may hide in "no gap found"."""
    samples = [
        Sample(draws.n_chains, draws.n_draws, result.rows["n_eff" + end], result.rows["rhat" + end])
        for draws, end in zip(result.samples, ("", "_target"), strict=True)
        if draws is not None
    ]
    told = [("n_eff", _effective(samples, result.iid, result.unit))]
    if not result.iid:
        told.append(("R-hat", _agreement(samples, result.unit)))
    told.append(("p-values", _adjusted(result)))
    hidden = _hidden(result)
    return told + ([("No gap found", hidden)] if hidden else [])


def of_one(result: "Discrepancy") -> Told:
    """The same for a single pair."""
    found = ((result.fit, result.agreement), (result.reference, result.reference_agreement))
    samples = [
        Sample(fit.pair.n_chains, fit.n // fit.pair.n_chains, np.array([fit.n_eff]), np.array([agreement.rhat]))
        for fit, agreement in found
        if fit is not None and agreement is not None
    ]
    told = [("n_eff", _effective(samples, result.iid, "pair"))]
    if not result.iid:
        told.append(("R-hat", _agreement(samples, "pair")))
    alpha = 1.0 - result.level.confidence
    told.append(
        ("p-values", f"Level and shape are two tests at {100 * alpha:g}% each, not adjusted; tails, CKL and CED follow.")
    )
    hidden = "" if result.level.pvalue < alpha else _may_hide(result.level.se, "level")
    return told + ([("No gap found", hidden)] if hidden else [])


@dataclass(frozen=True)
class Sample:
    """The draws, or the reference's: how many, and what they are worth in every pair."""

    n_chains: int
    n_draws: int
    n_eff: NDArray[np.float64]
    rhat: NDArray[np.float64]

    @property
    def n(self) -> int:
        """All draws."""
        return self.n_chains * self.n_draws

    @property
    def worth(self) -> str:
        """Independent draws that would say as much."""
        known = self.n_eff[np.isfinite(self.n_eff)]
        if not known.size:
            return "nobody knows how many"
        low, high = f"{known.min():,.0f}", f"{known.max():,.0f}"
        return low if low == high else f"{low} to {high}"


def _effective(samples: Sequence[Sample], iid: bool, unit: str) -> str:
    if iid:
        return (
            f"The {samples[0].n:,} draws were taken as independent, as asked. If they come from a Markov chain, the "
            "standard errors "
            "here are too small and gaps are claimed that are not there."
        )
    all_known = np.concatenate([sample.n_eff[np.isfinite(sample.n_eff)] for sample in samples])
    if not all_known.size:
        return f"From these {samples[0].n:,} draws no standard error can be had: nothing varies, or the dependence is perfect."
    other = f", the {samples[1].n:,} of the reference as {samples[1].worth}" if len(samples) > 1 else ""
    depends = f" (it depends on the {unit})" if any(" to " in sample.worth for sample in samples) else ""
    smallest = float(all_known.min())
    trust = (
        f"All are above {FEW_DRAWS}: the tests can be trusted."
        if smallest >= FEW_DRAWS
        else f"Below {FEW_DRAWS} standard errors themselves are rough, as they are here in places."
    )
    return (
        f"Draws of a Markov chain repeat each other. These {samples[0].n:,} say as much about the dependence as "
        f"{samples[0].worth} independent ones would{other}{depends}. Every standard error and p-value rests on that, not on "
        f"the number of draws. {trust}"
    )


def _agreement(samples: Sequence[Sample], unit: str) -> str:
    parts = f"the {samples[0].n_chains} chains" if samples[0].n_chains > 1 else "the halves of a chain"
    meant = (
        f"It compares what {parts} say about Kendall's tau, each by itself; near 1 they agree, and {RHAT_LIMIT} is the limit."
    )
    told = [_largest_rhat(sample, unit) for sample in samples]
    if len(told) > 1:
        told[1] = f"Among those of the reference: {told[1]}"
    return f"{meant} Here: {' '.join(told)}"


def _largest_rhat(sample: Sample, unit: str) -> str:
    known = sample.rhat[np.isfinite(sample.rhat)]
    if not known.size:
        return "too little to compare; several chains, or longer ones, would tell."
    above, largest = int(np.sum(known > RHAT_LIMIT)), float(known.max())
    if not above:
        return f"{largest:.3f} at most, they agree."
    where = f" in {above:,} of {known.size:,} {unit}s" if known.size > 1 else ""
    return (
        f"{largest:.3f} at most, above the limit{where}: not all have seen the same distribution yet, and longer runs "
        "may change the "
        "numbers."
    )


def _adjusted(result: "Pairwise") -> str:
    tests = int(sum(np.isfinite(result.rows[f"{name}_pvalue"]).sum() for name in ("level", "shape")))
    rate = in_words(result.adjust, 1.0 - result.confidence)
    alpha = f"{100 * (1 - result.confidence):g}%"
    false = {
        "none": f"about {alpha} of all tests of what is right are called a gap.",
        "bh": f"of the gaps that such a page claims, at most {alpha} are false on average.",
        "by": f"of the gaps that such a page claims, at most {alpha} are false on average, however the tests depend on "
        "each other.",
    }.get(result.adjust, f"a page on a sample without any gap claims one with a probability of at most {alpha}.")
    return (
        f"{tests:,} tests, of level and of shape, are looked at together ({rate}): {false} A p-value is small where "
        "chance alone "
        "seldom makes such a gap; it does not tell how large the gap is. Tail gaps, total and CKL follow from the same "
        "draws and "
        "are not tested again."
    )


def _hidden(result: "Pairwise") -> str:
    name = "shape" if result.kind == "nothing" else "level"
    ses = result.rows[f"{name}_se"]
    known = ses[np.isfinite(ses)]
    return _may_hide(float(np.median(known)), name, "typical ") if known.size else ""


def _may_hide(se: float, name: str, typical: str = "") -> str:
    if not math.isfinite(se):
        return ""
    return (
        f"This is no proof that there is none. The {typical}standard error of {name} is {se:.2g}, and a gap below about "
        "twice that, "
        f"{2 * se:.2g} in Kendall's tau, can hide in these draws; only more draws would find it."
    )
