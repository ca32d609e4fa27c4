"""What the reproduced numbers say about the published ones, in sentences whose numbers are all measured here."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import betainc

from copula_discrepancy.experiments.published import HELD_TO, Comparison
from copula_discrepancy.experiments.store import Row

FITTED_FROM = 5000  # below it times are those of the calls, not of the draws
PUBLISHED_TO = 2000  # the paper's largest size in the timing study


class Means:
    """Means of a summary by diagnostic and value."""

    def __init__(self, summary: Sequence[Row], variable: str) -> None:
        self._variable = variable
        self._rows = {(row["diagnostic"], row[variable]): row for row in summary}
        self.values = list(dict.fromkeys(row[variable] for row in summary))

    def at(self, diagnostic: str, value: float, what: str = "mean") -> float:
        """A mean (or another column); NaN where it was not measured."""
        return float(self._rows.get((diagnostic, value), {}).get(what, math.nan))

    def curve(self, diagnostic: str, what: str = "mean") -> list[float]:
        """Over all values."""
        return [self.at(diagnostic, value, what) for value in self.values]

    def up_to(self, largest: float) -> "Means":
        """The same without values beyond the largest one."""
        return Means([row for (_, value), row in self._rows.items() if value <= largest * 1.001], self._variable)

    def best(self, diagnostic: str, *, largest: bool = False) -> float:
        """The value with the smallest (largest) mean."""
        known = [value for value in self.values if math.isfinite(self.at(diagnostic, value))]
        return (max if largest else min)(known, key=lambda value: self.at(diagnostic, value))


def agreement(comparisons: Sequence[Comparison]) -> str:
    """How many published means agree with ours, and whether chance alone explains the rest."""
    held = [item for item in comparisons if item.diagnostic in HELD_TO.get(item.experiment, ())]
    if not held:
        return "No mean of CD, CKL, naive tau or KSD that experiments 1 and 3 published was measured in this run."
    inside = sum(item.within for item in held)
    outside = len(held) - inside
    # P(at least `outside` of n), each with probability 5%: an incomplete beta function
    chance = 1.0 if outside == 0 else float(betainc(outside, inside + 1.0, 0.05))
    worst = max(held, key=lambda item: abs(item.z))
    size = math.sqrt(sum(item.z**2 for item in held) / len(held))
    return (
        f"{inside} of {len(held)} published means of CD, CKL, naive tau and the unit-square KSD in experiments 1 and 3 "
        f"({100 * inside / len(held):.0f}%) lie within the combined 95% interval of ours; chance alone leaves {outside} "
        "or more "
        f"outside with probability {chance:.2g}, more often as CD and CKL share draws. Root mean square of z: "
        f"{size:.2f}; largest: "
        f"{worst.z:+.1f} ({worst.experiment}, {worst.diagnostic}, at {worst.value:g})."
    )


def outside(comparisons: Sequence[Comparison]) -> list[str]:
    """Every published mean that does not agree, and what it shares with others."""
    told = []
    for item in comparisons:
        if not item.within:
            held = item.diagnostic in HELD_TO.get(item.experiment, ())
            known = "" if held else "; see the statement above on what this column hangs on"
            told.append(
                f"{item.experiment}, {item.diagnostic} at {item.value:.3g}: {item.ours:.4g} (se {item.ours_se:.2g}) here, "
                f"{item.published:.4g} (se {item.published_se:.2g}) there, z = {item.z:+.1f}{known}."
            )
    return told


def experiment1(means: Means, context: Mapping[str, float]) -> list[str]:
    """Monte Carlo noise in the entropy gap."""
    n = means.values[-1]
    return [
        f"The published entropy gaps carry the noise of simulated entropies: at n = {n:g} the exact on-target CED is "
        f"{means.at('on_ced', n):.4f}; from 5,000 simulated draws per entropy it becomes "
        f"{means.at('on_ced_mc', n):.4f}. CED is an "
        "absolute value, so noise adds to its mean; to that of CKL it does not.",
        f"The shape gap rejects the Clayton draws at the 5% level in "
        f"{_share(means, 'off_shape_rejected', means.values[0])} of the "
        f"replications at n = {means.values[0]:g} and the Gumbel draws, which are right, in "
        f"{_share(means, 'on_shape_rejected', means.values[0])}.",
    ]


def _share(means: Means, diagnostic: str, value: float) -> str:
    return f"{100 * means.at(diagnostic, value):.0f}%"


def experiment2(means: Means, context: Mapping[str, float]) -> list[str]:
    """The reference chain that sat in one mode."""
    steps = means.values
    best, by_ess = means.best("cd"), means.best("ess", largest=True)
    small, large, last = steps[0], 0.1, steps[-1]
    told = [
        "The target is a mixture of two normal densities at (-1.5, -1.5) and (1.5, 1.5). Two draws from different modes are "
        "concordant, two from the same mode as often as not, so Kendall's tau of the target is "
        f"{context['tau_exact']:.6f}, exactly erf(m/s)^2/2.",
        "The published reference is a Metropolis run with proposals of 0.8: two chains, 25,000 draws each. Such a "
        "chain crosses "
        f"between the modes {context['reference_crossings']:.1f} times in 50,000 draws, so its tau is a lottery: over "
        f"{context['references']:.0f} runs, "
        "each with a "
        f"chain started in either mode, it is {context['reference_low']:+.3f} to {context['reference_high']:.3f} (5% to "
        "95%), median "
        f"{context['reference_median']:.3f}; in {100 * context['reference_stuck']:.0f}% of them all draws lie in one "
        "mode. That is "
        f"what happened in the paper, with tau 0.0001; the one taken here has {context['tau_stuck']:+.4f}.",
        "Against such a reference every run is charged with the true tau itself: mean CD is "
        f"{means.at('published_cd', small):.3f} at {small:.3g} and {means.at('published_cd', large):.3f} at {large:g}. "
        "Where it is "
        "smallest is noise; the paper names two different places. (The tau of a stuck reference has a standard error of "
        f"{context['tau_stuck_se']:.4f} itself, ours and theirs, which counts in z.)",
        f"Against the true tau the mean CD falls from {means.at('cd', small):.3f} at {small:.3g} to "
        f"{means.at('cd', large):.4f} at {large:g}, is smallest at {best:.3g} ({means.at('cd', best):.4f}) and rises to "
        f"{means.at('cd', 0.3):.3f} at 0.3 and {means.at('cd', last):.2f} at {last:g}: slow mixing on one side, the "
        "bias of large "
        "steps on the other. The published grid ends before the bias begins.",
        f"The published ESS is near 3 at every step size ({means.at('paper_ess', small):.2f} to "
        f"{means.at('paper_ess', large):.2f}): it leaves out lag 1 and lays the chains end to end, and one jump between "
        "two modes "
        f"alone gives 3. ArviZ's, {means.at('ess', large):.1f} at {large:g}, says that the two chains do not agree (R-hat "
        f"{means.at('rhat', large):.1f}): true, and no help in choosing. It is largest at {by_ess:.3g}, where the mean CD is "
        f"{means.at('cd', by_ess):.2f}.",
    ]
    diverged = [f"{step:g}" for step in steps if means.at("diverged", step) > 0]
    if diverged:
        told.append(f"Some runs diverged and are left out: step sizes {', '.join(diverged)}.")
    return told


def experiment3(means: Means, context: Mapping[str, float]) -> list[str]:
    """A KSD that is none."""
    n, first = means.values[-1], means.values[0]
    return [
        "The published KSD is taken on the unit square. A copula's score does not vanish at its edge, and Stein's "
        "identity fails: "
        f"on draws from the target itself it is {means.at('on_target_ksd_unit', n):.2f} at n = {n:g}, not 0, and off target it "
        f"grows with n, from {means.at('ksd_unit', first):.0f} to {means.at('ksd_unit', n):.0f}, as ranks come closer "
        "to the corner.",
        f"On normal scores the identity holds: {means.at('on_target_ksd', n):.4f} on target and "
        f"{means.at('ksd', n):.3f} off target "
        f"at n = {n:g} (squared discrepancies).",
        f"The shape gap is {means.at('shape', n):+.3f} at n = {n:g} and rejects at the 5% level in "
        f"{_share(means, 'shape_rejected', first)} of the replications at n = {first:g}. Naive tau sees nothing at any n.",
    ]


TIMED = {
    "cd_moment": "CD by moments",
    "cd_mle": "CD by maximum likelihood",
    "discrepancy": "discrepancy() with all tests",
    "ksd": "KSD, one thread",
}


def overhead(means: Means, context: Mapping[str, float]) -> list[str]:
    """Measured growth, over the paper's sizes and beyond."""
    told = []
    for name, label in TIMED.items():
        growth = [
            f"as n^{exponent(means, name, sizes):.2f} {where}"
            for sizes, where in ((small_sizes(means, name), "over the paper's sizes"), (large_sizes(means, name), "beyond"))
            if len(sizes) > 1
        ]
        if growth:
            last = [n for n in means.values if math.isfinite(means.at(name, n, "median"))][-1]
            told.append(
                f"{label}: {1e3 * means.at(name, last, 'median'):.3g} ms at n = {last:,.0f}; grows {', '.join(growth)}."
            )
    return told


def small_sizes(means: Means, diagnostic: str) -> list[float]:
    """The sizes that the paper timed."""
    return [n for n in means.values if n <= PUBLISHED_TO and math.isfinite(means.at(diagnostic, n, "median"))]


def large_sizes(means: Means, diagnostic: str) -> list[float]:
    """The sizes at which draws, not calls, take the time."""
    return [n for n in means.values if n >= FITTED_FROM and math.isfinite(means.at(diagnostic, n, "median"))]


def exponent(means: Means, diagnostic: str, sizes: Sequence[float]) -> float:
    """Slope of the log median time in log n, by least squares."""
    times = [means.at(diagnostic, n, "median") for n in sizes]
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
