"""The joint answer for all pairs in words."""

import math

from copula_discrepancy.compare.wording import chance, kept_share
from copula_discrepancy.estimate.joint import Joint


def joint_words(joint: Joint, confidence: float, things: str = "draws") -> str:
    """Whether the joint dependence differs and, if so, how much of it is kept; without a period."""
    if not joint.pvalue < 1.0 - confidence:
        return f"no joint difference found ({chance(joint.pvalue)})"
    words = f"the joint dependence differs ({chance(joint.pvalue)})"
    kept = joint.kept
    if not math.isfinite(kept.value):
        return words
    return f"{words}; the {things} keep {kept_share(kept.value, kept.ci, confidence, 'it')}"
