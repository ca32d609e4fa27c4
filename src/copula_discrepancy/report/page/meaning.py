"""Explanations of the numbers and warnings on a page, for the comparison shown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.compare.rows import TESTED
from copula_discrepancy.compare.tested_wording import enumerated, has_target, tested_order
from copula_discrepancy.compare.wording import few_draws
from copula_discrepancy.estimate.agreement import RHAT_LIMIT
from copula_discrepancy.estimate.multiplicity import in_words

Told = list[tuple[str, str]]  # terms with their explanations


def explained(caveats: Sequence[Caveat]) -> Told:
    """Sentences with their advice; advice that several share is given once, with the last of them."""
    advice = [caveat.advice for caveat in caveats]
    return [(caveat.sentence, "" if caveat.advice in advice[k + 1 :] else caveat.advice) for k, caveat in enumerate(caveats)]


def of_pairs(result: Pairwise) -> Told:
    """The reliability of a ranking: effective draws, R-hat, adjusted p-values, and the gaps that "no gap found" may miss."""
    samples = [
        Sample(draws.n_chains, draws.n_draws, result.rows["n_eff" + end], result.rows["rhat" + end])
        for draws, end in zip(result.samples, ("", "_target"), strict=True)
        if draws is not None
    ]
    terms = [("n_eff", _effective(samples, result.independent, result.unit, result.things))]
    if not all(result.independent) and np.isfinite(result.rows["rhat"]).any():
        terms.append(("R-hat", _agreement(samples, result.unit, result.things)))
    terms.append(("p-values", _adjusted(result)))
    hidden = _hidden(result)
    terms += [("No gap found", hidden)] if hidden else []
    return [*terms, ("What is seen", _seen(result))]


def of_one(result: Discrepancy) -> Told:
    """The same for a single pair."""
    fits = ((result.fit, result.agreement), (result.reference, result.reference_agreement))
    samples = [
        Sample(fit.pair.n_chains, fit.n // fit.pair.n_chains, np.array([fit.n_eff]), np.array([agreement.rhat]))
        for fit, agreement in fits
        if fit is not None and agreement is not None
    ]
    terms = [("n_eff", _effective(samples, result.independent, "pair", result.things))]
    if not all(result.independent):
        terms.append(("R-hat", _agreement(samples, "pair", result.things)))
    alpha = 1.0 - result.level.confidence
    terms.append(("p-values", _alone(result, alpha)))
    tests = result.tests
    missed = {name: result.estimates[name].se for name in ("level", "shape") if tests.adjusted[name] >= alpha}
    hidden = _may_hide(missed, alpha, "", result.reference is not None, result.things)
    terms += [("No gap found", hidden)] if hidden else []
    return [*terms, ("What is seen", _seen(result))]


def _seen(result: Pairwise | Discrepancy) -> str:
    """What each test is for, and what none of them sees."""
    against = has_target(result)
    target = "target" if against else "fitted family"
    level = f"Level compares Kendall's tau of {result.things} and target. " if against else ""
    kept = (
        f"Kept is the share of the target's dependence that the {result.things} have too: 100% is right, 0% is none of it, a "
        "negative share is dependence the other way round. "
        if against
        else ""
    )
    return (
        f"{level}Shape compares what the fitted family makes of the {result.things} with their tau. Form compares the whole "
        f"density of the ranks with that of the {target}, smoothed by polynomials up to order {tested_order(result)} of each "
        "variable: it sees any kind of dependence between two variables, also one with a tau of 0, such as a funnel, a bend or "
        f"a ring. {kept}The pattern names the kind that differs most beyond what the gap in strength explains. Smoothing sees "
        "little in the corners, so these have a test of their own, tails. No test sees patterns finer than that order outside "
        "the corners, such as a checkerboard of many fields, or interactions: dependence among three or more variables that no "
        "pair of them shows."
    )


def _alone(result: Discrepancy, alpha: float) -> str:
    """The tests of a single pair."""
    tested = [name for name, pvalue in result.tests.adjusted.items() if math.isfinite(pvalue)]
    if not tested:
        return "Nothing could be tested."
    how = "as in the ranking of all pairs" if result.in_ranking is not None else "for each other (Benjamini-Hochberg)"
    return (
        f"Tests of {enumerated(tested)} at {100 * alpha:g}%, adjusted {how}; the p-values of the table are not adjusted. "
        "One test covers the four corners. Total, CKL and CED measure the same gaps and are not part of the verdict."
    )


@dataclass(frozen=True)
class Sample:
    """The draws, or those of the reference: their number, and their effective sample size in every pair."""

    n_chains: int
    n_draws: int
    n_eff: NDArray[np.float64]
    rhat: NDArray[np.float64]

    @property
    def n(self) -> int:
        """Number of draws, all chains together."""
        return self.n_chains * self.n_draws

    @property
    def worth(self) -> str:
        """The effective sample size, or its range over the pairs."""
        known = self.n_eff[np.isfinite(self.n_eff)]
        if not known.size:
            return "unknown"
        low, high = f"{known.min():,.0f}", f"{known.max():,.0f}"
        return low if low == high else f"{low} to {high}"


def _effective(samples: Sequence[Sample], iid: tuple[bool, bool], unit: str, things: str) -> str:
    if all(iid):
        chain = "they come from a Markov chain" if things == "draws" else "they are a time series or contain repeats"
        return (
            f"The {samples[0].n:,} {things} were treated as independent, as requested. If {chain}, the standard errors are too "
            "small and gaps are reported that do not exist."
        )
    all_known = np.concatenate([sample.n_eff[np.isfinite(sample.n_eff)] for sample in samples])
    if not all_known.size:
        return f"These {samples[0].n:,} {things} have no standard errors: the dependence is perfect, or nothing varies."
    worth = f"{samples[0].worth} for the {samples[0].n:,} {things}"
    worth += f", {samples[1].worth} for the {samples[1].n:,} of the reference" if len(samples) > 1 else ""
    depends = f", depending on the {unit}" if any(" to " in sample.worth for sample in samples) else ""
    limits = [few_draws(sample.n_chains, alone) for sample, alone in zip(samples, iid, strict=False)]
    rough = any((sample.n_eff < limit).any() for sample, limit in zip(samples, limits, strict=True))
    limit = " and ".join(f"{limit}" for limit in dict.fromkeys(limits))
    enough = (
        f"Below {limit}, standard errors are approximate, as some are here."
        if rough
        else f"All are at least {limit}, which is enough for these tests."
    )
    repeat = "Successive draws of a Markov chain" if things == "draws" else "Successive rows, as in a time series,"
    return (
        f"{repeat} may be correlated. n_eff is the number of independent {things} with the same standard error, the "
        f"smallest over all gaps: {worth}{depends}. {enough}"
    )


def _agreement(samples: Sequence[Sample], unit: str, things: str) -> str:
    halves = "the halves of a chain" if things == "draws" else "the first and the second half of the rows"
    parts = f"the {samples[0].n_chains} chains" if samples[0].n_chains > 1 else halves
    meant = f"It compares Kendall's tau between {parts}; near 1 they agree, above the limit of {RHAT_LIMIT} they do not."
    largest = [_largest_rhat(sample, unit, things) for sample in samples]
    if len(largest) > 1:
        largest[1] = f"For the reference: {largest[1]}"
    return f"{meant} Here: {' '.join(largest)}"


def _largest_rhat(sample: Sample, unit: str, things: str) -> str:
    known = sample.rhat[np.isfinite(sample.rhat)]
    if not known.size:
        more = "several chains, or longer ones" if things == "draws" else "more rows"
        return f"too few to compare; {more} are needed."
    above, largest = int(np.sum(known > RHAT_LIMIT)), float(known.max())
    if not above:
        return f"at most {largest:.3f}, so they agree."
    where = f" in {above:,} of {known.size:,} {unit}s" if known.size > 1 else ""
    drift = (
        "they have not converged to the same distribution, and longer runs may change the numbers."
        if things == "draws"
        else "the dependence is not the same from the first row to the last."
    )
    return f"at most {largest:.3f}, above the limit{where}: {drift}"


def _adjusted(result: Pairwise) -> str:
    counts = {name: int(np.isfinite(result.rows[f"{name}_pvalue"]).sum()) for name in TESTED}
    tests, tested = sum(counts.values()), [name for name, count in counts.items() if count]
    if not tests:
        return "Nothing could be tested, so there are no p-values."
    rate = in_words(result.adjust, 1.0 - result.confidence)
    alpha = f"{100 * (1 - result.confidence):g}%"
    claimed = f"the expected share of false positives among the reported gaps is at most {alpha}"
    kept = {
        "none": f"about {alpha} of the tests without a true gap report one",
        "bh": f"{claimed}, if the tests are independent or positively dependent (adjust 'by' needs no such condition)",
        "by": f"{claimed}, however the tests depend on each other",
    }.get(result.adjust, f"the probability of even one false positive is at most {alpha}")
    counted = "1 test" if tests == 1 else f"{tests:,} tests"
    return (
        f"{counted}, of {enumerated(tested)} ({rate}): {kept}. A small p-value means that chance alone seldom "
        "produces such a gap; it does not measure the size of the gap. Total and CKL are not tested separately."
    )


def _hidden(result: Pairwise) -> str:
    """What may hide in the pairs without a gap, at the level that the adjustment leaves to the next test."""
    rows, alpha = result.rows, 1.0 - result.confidence
    missed, tests, claims = {}, 0, 0
    for name in TESTED:
        known = np.isfinite(rows[f"{name}_pvalue"])
        found = rows[f"{name}_adjusted"] < alpha
        tests, claims = tests + int(known.sum()), claims + int(found.sum())
        if name in ("tails", "form"):
            continue  # of several numbers, each with its own standard error
        ses = rows[f"{name}_se"][known & ~found]
        if np.isfinite(ses).any():
            missed[name] = float(np.nanmedian(ses))
    share = {"none": 1.0, "bh": (claims + 1.0) / max(tests, 1)}.get(result.adjust, 1.0 / max(tests, 1))
    return _may_hide(missed, alpha * min(share, 1.0), "typical ", result.samples[1] is not None, result.things)


def _may_hide(errors: Mapping[str, float], alpha: float, typical: str, reference: bool, things: str) -> str:
    """The size of a gap that is detected with a power of 80%, from the normal quantiles of the test and of the power."""
    known = {name: se for name, se in errors.items() if math.isfinite(se)}
    if not known:
        return ""
    reach = NormalDist().inv_cdf(1.0 - 0.5 * alpha) + NormalDist().inv_cdf(0.8)
    gaps = " and ".join(f"of {reach * se:.2g} in {name} ({typical}se {se:.2g})" for name, se in known.items())
    more = f"More {things}, and a longer reference," if reference else f"More {things}"
    return (
        f"This does not prove that there is none. With these {things} and tests, a gap {gaps} is detected about four times in "
        f"five, a smaller one less often. {more} would reveal smaller gaps. Form and tails have no such single size."
    )
