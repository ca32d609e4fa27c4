"""A function of the variables in the draws, with the reference's dependence, and in the reference."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare import consequence_wording
from copula_discrepancy.compare.consequence_result import Consequence
from copula_discrepancy.estimate.decomposition import COMBINATIONS
from copula_discrepancy.report.plots import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = (12, 60)  # fewest and most
_CUT = 0.001  # of the values at each end, which are left out of the picture: one outlier would fill it
_LABELS = (
    "{things}",
    "{things} with the\nreference's dependence",
    "reference with the\ndependence of the {things}",
    "reference",
)


def plot_consequence(result: Consequence, *, ax: Any = None) -> "Axes":
    """Draw the distribution of a quantity, or the probabilities of a condition (see `Consequence.plot`)."""
    if not isinstance(result, Consequence):
        raise look.wrong_subject("plot_consequence", "a Consequence", result)
    with look.canvas(ax, size=(5.2, 3.2)) as axes:
        if result.is_condition:
            _draw_probabilities(axes, result)
        else:
            _draw_distributions(axes, result)
        effect = result.effects[0]
        name = look.plain(result.function, 44)
        own, repaired = (consequence_wording.figure(number) for number in (effect.draws, effect.repaired))
        look.title_above(axes, f"{effect.label} of {name}\n{own} in the {result.things}, {repaired} with the right dependence")
    return axes


def _draw_distributions(ax: "Axes", result: Consequence) -> None:
    """Step histograms on one grid, with a line at the summary of each."""
    draws, repaired, _, reference = result.values
    ends = np.quantile(np.concatenate([draws, repaired, reference]), [_CUT, 1.0 - _CUT])
    bins = int(min(max(2.0 * min(draws.size, reference.size) ** (1 / 3), _BINS[0]), _BINS[1]))  # Rice's rule
    low, high = ends if ends[0] < ends[1] else (ends[0] - 0.5, ends[0] + 0.5)
    edges = np.linspace(low, high, bins + 1)
    effect = result.effects[0]
    kinds = (
        (reference, effect.reference, look.GREY, "reference", ":"),
        (repaired, effect.repaired, look.ORANGE, f"{result.things} with the reference's dependence", "-"),
        (draws, effect.draws, look.BLUE, result.things, "-"),
    )
    for values, number, colour, label, line in kinds:
        ax.stairs(_density(values, edges), edges, color=colour, label=label, linestyle=line, linewidth=1.4)
        if effect.summary != "sd" and ends[0] <= number.value <= ends[1]:
            ax.axvline(number.value, color=colour, linewidth=1.0, linestyle="--")
    ax.set_xlabel(look.plain(result.function, 60), **look.PLAIN)
    ax.set_ylabel("density")
    ax.set_ylim(0.0, 1.3 * ax.get_ylim()[1])  # the legend is above the curves
    marked = f"dashed: {effect.label}" if effect.summary != "sd" else None
    ax.legend(fontsize="x-small", title=marked, title_fontsize="x-small")


def _density(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    counts, _ = np.histogram(values, edges)
    return counts / (values.size * np.diff(edges))


def _draw_probabilities(ax: "Axes", result: Consequence) -> None:
    """The four probabilities with their intervals."""
    effect = result.effects[0]
    colours = (look.BLUE, look.ORANGE, look.PURPLE, look.GREY)
    for place, (name, colour) in enumerate(zip(COMBINATIONS, colours, strict=True)):
        number = getattr(effect, name)
        ax.plot(number.ci, (place, place), color=colour, linewidth=2.0, solid_capstyle="butt")
        ax.plot(number.value, place, "o", color=colour, markersize=7)
        text = consequence_wording.figure(number)
        ax.annotate(text, (number.value, place), xytext=(0.0, 6.0), textcoords="offset points", ha="center", fontsize="x-small")
    ax.set_yticks(range(4), [label.format(things=result.things) for label in _LABELS], fontsize="small")
    ax.set_ylim(3.6, -0.7)
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0, left=False)
    ax.set_xlabel(f"probability, {100 * result.confidence:g}% intervals")
    ax.xaxis.set_major_locator(look.few_ticks(ax))
