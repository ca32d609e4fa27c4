"""Sentences that compare reproduced and published numbers; each states only what its numbers show."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from copula_discrepancy.studies.paper.published import HELD_TO, MINIMISERS, REFERENCE_TAU, Comparison
from copula_discrepancy.studies.paper.store import Row

FITTED_FROM = 5000  # below it the overhead of a call dominates
LAST_PUBLISHED_STEP = 0.1
PUBLISHED_TO = 2000  # the paper's largest size in the timing study


class Means:
    """Means of a summary by diagnostic and value."""

    def __init__(self, summary: Sequence[Row], variable: str) -> None:
        self._variable = variable
        self._rows = {(row["diagnostic"], row[variable]): row for row in summary}
        self.values = list(dict.fromkeys(row[variable] for row in summary))

    def at(self, diagnostic: str, value: float, what: str = "mean") -> float:
        """A mean (or another column); NaN if it was not measured."""
        return float(self._rows.get((diagnostic, value), {}).get(what, math.nan))

    def curve(self, diagnostic: str, what: str = "mean") -> list[float]:
        """The means (or another column) at all values."""
        return [self.at(diagnostic, value, what) for value in self.values]

    def up_to(self, largest: float) -> "Means":
        """The same without values beyond the largest one."""
        return Means([row for (_, value), row in self._rows.items() if value <= largest * 1.001], self._variable)

    def differ(self, diagnostic: str, other: str, value: float, other_value: float | None = None) -> bool:
        """Whether one mean exceeds another, at the same value or another one, by more than two combined standard errors."""
        elsewhere = value if other_value is None else other_value
        reach = 2.0 * math.hypot(self.at(diagnostic, value, "se"), self.at(other, elsewhere, "se"))
        return self.at(diagnostic, value) - self.at(other, elsewhere) > reach

    def best(self, diagnostic: str, *, largest: bool = False) -> float:
        """The value with the smallest (largest) mean."""
        known = [value for value in self.values if math.isfinite(self.at(diagnostic, value))]
        return (max if largest else min)(known, key=lambda value: self.at(diagnostic, value))


def agreement(comparisons: Sequence[Comparison]) -> str:
    """How many published means agree with ours, and how many would differ by chance."""
    held = [item for item in comparisons if item.diagnostic in HELD_TO.get(item.experiment, ())]
    if not held:
        return "No mean of CD, CKL, naive tau or KSD that experiments 1 and 3 published was measured in this run."
    inside = sum(item.within for item in held)
    worst = max(held, key=lambda item: abs(item.z))
    size = math.sqrt(sum(item.z**2 for item in held) / len(held))
    return (
        f"{inside} of {len(held)} published means of CD, CKL, naive tau and the unit-square KSD in experiments 1 and 3 "
        f"({100 * inside / len(held):.0f}%) lie within the combined 95% interval of ours; by chance alone "
        f"{0.05 * len(held):.2g} would not on average, in clusters, as CD and CKL share draws. Root mean square of z: "
        f"{size:.2f}; largest: {worst.z:+.1f} ({worst.experiment}, {worst.diagnostic}, at {worst.value:g})."
    )


def outside(comparisons: Sequence[Comparison]) -> list[str]:
    """A sentence on every published mean that does not agree."""
    return [
        f"{item.experiment}, {item.diagnostic} at {item.value:.4g}: {item.ours:.4g} (se {item.ours_se:.2g}) here, "
        f"{item.published:.4g} (se {item.published_se:.2g}) there, z = {item.z:+.1f}."
        for item in comparisons
        if not item.within
    ]


def experiment1(means: Means, context: Mapping[str, float]) -> list[str]:
    """Statements on the Monte Carlo noise in the entropy gap."""
    at = means.at
    n, first = means.values[-1], means.values[0]
    noisy = "; noise adds to the mean of an absolute value" if means.differ("on_ced_mc", "on_ced", n) else ""
    return [
        "The published entropies are simulated, that of the target once for a whole column. "
        f"At n = {n:g} the exact on-target CED is {at('on_ced', n):.4f}, the simulated one "
        f"{at('on_ced_mc', n):.4f}{noisy}. Here the error of the target's simulated entropy is "
        f"{context['target_entropy_mc'] - context['target_entropy']:+.4f} (se {context['shared_on_ced_mc']:.4f}), which shifts "
        "the whole off-target column; it is included in z. CKL has no such error.",
        f"At n = {first:g} the shape gap rejects the Clayton draws at the 5% level in "
        f"{_share(means, 'off_shape_rejected', first)} of the replications and the Gumbel draws, which are right, in "
        f"{_share(means, 'on_shape_rejected', first)}.",
    ]


def _share(means: Means, diagnostic: str, value: float) -> str:
    return f"{100 * means.at(diagnostic, value):.0f}%"


def experiment2(means: Means, context: Mapping[str, float]) -> list[str]:
    """Statements on the reference chain that stayed in one mode."""
    at = means.at
    steps, shown = means.values, [step for step in means.values if step <= LAST_PUBLISHED_STEP * 1.001]
    small, large, last = steps[0], shown[-1], steps[-1]
    best, by_ess = means.best("cd"), means.best("ess", largest=True)
    charged = [at("published_cd", step) for step in shown]
    sizes = [at("paper_ess", step) for step in shown]
    optimum = all(means.differ("cd", "cd", end, best) for end in (small, last))
    sentences = [
        "The target is a mixture of two normal densities at (-1.5, -1.5) and (1.5, 1.5). Two draws from different modes are "
        "concordant, two from the same mode as often as not, so Kendall's tau of the target is "
        f"{context['tau_exact']:.6f}, exactly erf(m/s)^2/2.",
        "The published reference is a Metropolis run with proposals of 0.8: two chains, 25,000 draws each. Such a run crosses "
        f"between the modes {context['reference_crossings']:.1f} times on average, so its tau varies widely between runs: over "
        f"{context['references']:.0f} runs, each with a chain started in either mode, it is {context['reference_low']:+.3f} to "
        f"{context['reference_high']:.3f} (5% to 95%), median {context['reference_median']:.3f}; in "
        f"{100 * context['reference_stuck']:.0f}% of them all draws lie in one mode. That is what happened in the paper, with "
        f"tau {REFERENCE_TAU}; the stuck run used here has {context['tau_stuck']:+.4f} (its standard error, "
        f"{context['tau_stuck_se']:.4f}, is included in z).",
        "Against such a reference the CD of every run includes the true tau itself: mean CD is between "
        f"{min(charged):.3f} and {max(charged):.3f} at all published step sizes. The paper's text names two of them as its "
        f"minimum, {MINIMISERS[0]:g} and {MINIMISERS[1]:g}.",
        f"Against the true tau the mean CD is {at('cd', small):.3f} at {small:.3g}, {at('cd', large):.4f} at "
        f"{large:g}, where the published grid ends, {at('cd', 0.3):.3f} at 0.3 and {at('cd', last):.2f} at {last:g}; "
        f"it is smallest at {best:.3g} ({at('cd', best):.4f})"
        + (": slow mixing on one side, the bias of large steps on the other." if optimum else "."),
        f"The paper's ESS is {min(sizes):.2f} to {max(sizes):.2f} at the published step sizes: it omits lag 1 and "
        f"concatenates the chains, and one jump between two modes alone gives 3. ArviZ's is {at('ess', large):.1f} at "
        f"{large:g} (R-hat {at('rhat', large):.1f}): chains in two modes disagree at any step size that keeps them "
        f"there. It is largest at {by_ess:.3g}, where the mean CD is {at('cd', by_ess):.2f}.",
    ]
    diverged = [f"{step:g}" for step in steps if at("diverged", step) > 0]
    if diverged:
        sentences.append(f"Some runs diverged and are omitted: step sizes {', '.join(diverged)}.")
    return sentences


def experiment3(means: Means, context: Mapping[str, float]) -> list[str]:
    """Statements on the KSD that is not a discrepancy."""
    at = means.at
    n, first = means.values[-1], means.values[0]
    growth = ""
    if n > first and means.differ("ksd_unit", "ksd_unit", n, first):
        growth = f", and off target it grows with n, from {at('ksd_unit', first):.0f} to {at('ksd_unit', n):.0f}"
    own, se = at("on_target_ksd_unit", n), at("on_target_ksd_unit", n, "se")
    away = ", not 0" if abs(own) > 2.0 * se else ""
    return [
        "The published KSD is computed on the unit square. A copula's score does not vanish at its boundary, and Stein's "
        f"identity fails: on draws from the target itself its mean is {own:.2f} (se {se:.2f}) at n = {n:g}{away}{growth}.",
        f"On normal scores the identity holds: {at('on_target_ksd', n):.4f} on target (ranks reduce it by a term of "
        f"order 1/n) and {at('ksd', n):.3f} off target at n = {n:g}, both squared.",
        f"The shape gap is {at('shape', n):+.3f} at n = {n:g} and rejects at the 5% level in "
        f"{_share(means, 'shape_rejected', first)} of the replications at n = {first:g}; the test of the taus, which agree, "
        f"rejects in {_share(means, 'level_rejected', first)} of them, in {_share(means, 'level_rejected', n)} at n = {n:g}.",
    ]


TIMED = {
    "cd_moment": "CD by moments",
    "cd_mle": "CD by maximum likelihood",
    "discrepancy": "discrepancy() with all tests",
    "ksd": "KSD, one thread",
}


def overhead(means: Means, context: Mapping[str, float]) -> list[str]:
    """Statements on the measured growth of times, at the paper's sizes and beyond."""
    sentences = []
    for name, label in TIMED.items():
        growth = [
            f"as n^{exponent(means, name, sizes):.2f} from n = {sizes[0]:,.0f} to {sizes[-1]:,.0f}"
            for sizes in (timed_sizes(means, name, most=PUBLISHED_TO), timed_sizes(means, name, FITTED_FROM))
            if len(sizes) > 2
        ]
        if growth:
            last = timed_sizes(means, name)[-1]
            time = f"{1e3 * means.at(name, last, 'median'):.3g} ms at n = {last:,.0f}"
            sentences.append(f"{label}: {time}; grows {', '.join(growth)}.")
    return sentences


def timed_sizes(means: Means, diagnostic: str, least: float = 0.0, most: float = math.inf) -> list[float]:
    """Sizes at which a time was measured, within a range: that of the paper, or where the time depends on the draws."""
    return [n for n in means.values if least <= n <= most and math.isfinite(means.at(diagnostic, n, "median"))]


def exponent(means: Means, diagnostic: str, sizes: Sequence[float]) -> float:
    """Slope of the log median time in log n, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log([means.at(diagnostic, n, "median") for n in sizes]), 1)[0])
