"""A function of the variables in the draws, with the reference's dependence, and in the reference."""

from textwrap import fill
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
_ROOM = 1.35  # of the height of the curves, which leaves room for the legend
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
    """Step histograms on one grid, with lines at the first summary of each, and at others of its kind."""
    draws, repaired, _, reference = result.values
    ends = np.quantile(np.concatenate([draws, repaired, reference]), [_CUT, 1.0 - _CUT])
    bins = int(min(max(2.0 * min(draws.size, reference.size) ** (1 / 3), _BINS[0]), _BINS[1]))  # Rice's rule
    low, high = ends if ends[0] < ends[1] else (ends[0] - 0.5, ends[0] + 0.5)
    edges = np.linspace(low, high, bins + 1)
    kind = result.effects[0].summary
    places = [effect for effect in result.effects if effect.summary == kind != "sd"]
    kinds = (
        (reference, "reference", look.GREY, "reference", ":"),
        (repaired, "repaired", look.ORANGE, f"{result.things} with the reference's dependence", "-"),
        (draws, "draws", look.BLUE, result.things, "-"),
    )
    for values, name, colour, label, line in kinds:
        ax.stairs(_density(values, edges), edges, color=colour, label=label, linestyle=line, linewidth=1.4)
        for number in (getattr(effect, name) for effect in places):
            if ends[0] <= number.value <= ends[1]:
                ax.axvline(number.value, ymax=1.0 / _ROOM, color=colour, linewidth=1.0, linestyle="--")
    ax.set_xlabel(look.plain(result.function, 60), **look.PLAIN)
    ax.set_ylabel("density")
    ax.set_ylim(0.0, _ROOM * ax.get_ylim()[1])  # the legend is above the curves
    marked = fill(f"dashed: {', '.join(effect.label for effect in places)}", 60) if places else None
    ax.legend(fontsize="x-small", title=marked, title_fontsize="x-small", loc="upper right")


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
