"""The funnel in the demo's posterior: a dependence that Kendall's tau does not see, and form does."""

import numpy as np

from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.one import discrepancy
from copula_discrepancy.compare.wording import chance, kept_words
from copula_discrepancy.data.draws import Draws

EFFECT, SCALE = "theta[Phillips Exeter]", "tau"  # of all effects, the one whose Kendall's tau with the scale is closest to 0


def funnel(result: Pairwise, draws: Draws, reference: Draws) -> dict[str, str]:
    """What form says of one effect and the scale of all effects, and of a copy of the draws that has lost their dependence.

    The copy shifts the scale by half a chain against the effect: both keep their margins and their autocorrelation, and
    nothing of their dependence is left, as in a fit that assumes independence.

    Parameters
    ----------
    result : Pairwise
        The comparison of `draws` with `reference`.
    draws, reference : Draws
        Two runs that have both variables.

    Returns
    -------
    dict from str to str
        Sentences by topic.
    """
    pair = result.pair(EFFECT, SCALE)
    places = [draws.names.index(name) for name in (EFFECT, SCALE)]
    own, other = (sample.values[:, :, places] for sample in (draws, reference))
    shifted = np.stack([own[:, :, 0], np.roll(own[:, :, 1], own.shape[1] // 2, axis=1)], axis=-1)
    lost = discrepancy(shifted, other)
    edge = np.quantile(other[:, :, 1], 0.25)
    kept = kept_words(pair.form.kept.value, pair.form.kept.ci, pair.form.confidence, "the reference's", "draws")
    return {
        "Funnel": (
            f"{EFFECT} and {SCALE} have Kendall's tau {pair.tau:.2f}, {pair.tau_target:.2f} in the reference, but they are not "
            f"independent: the spread of {EFFECT} follows {SCALE} (coefficient of form {pair.form.coefficients[1, 0]:.2f}, "
            f"{pair.form.target_coefficients[1, 0]:.2f} in the reference; 0 under independence).{kept}"
        ),
        "If lost": (
            f'with {SCALE} shifted by half a chain, so that nothing of this is left, the verdict is "{lost.verdict}": form '
            f"{lost.form.value:.2f} ({chance(lost.form.pvalue)}), level {lost.level.value:+.3f} "
            f"({chance(lost.level.pvalue)}), shape {lost.shape.value:+.3f} ({chance(lost.shape.pvalue)})."
        ),
        "Neck": (
            f"{np.mean(own[:, :, 1] < edge):.0%} of the draws are in the lowest quarter of {SCALE} in the reference, where the "
            "effects of all schools are close to each other. This is a difference of margins; in the dependence it shows as "
            "effects that are too weakly dependent."
        ),
    }
