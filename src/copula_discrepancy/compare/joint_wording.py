"""The joint answer for all pairs in words."""

import math

from copula_discrepancy.compare.wording import chance
from copula_discrepancy.estimate.joint import Joint


def joint_words(joint: Joint, confidence: float, things: str = "draws") -> str:
    """Whether the joint dependence differs and, if so, how much of it is kept; without a period."""
    if not joint.pvalue < 1.0 - confidence:
        return f"no joint difference found ({chance(joint.pvalue)})"
    words = f"the joint dependence differs ({chance(joint.pvalue)})"
    kept = joint.kept
    if not math.isfinite(kept.value):
        return words
    low, high = (f"{100.0 * end:.0f}" for end in kept.ci)
    return f"{words}; the {things} keep {100.0 * kept.value:.0f}% of it ({100.0 * confidence:g}%: {low} to {high}%)"
