"""One look for every picture, and the picture of a step-size study; matplotlib loads when a picture is drawn."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from copula_discrepancy.tuning import Tuning

# Okabe and Ito (2008): told apart by people who see colours differently, and by their grey values in this order.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#777777"

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "svg.hashsalt": "copula-discrepancy",  # the same picture gives the same file
}


@contextmanager
def styled() -> Iterator[None]:
    """The project's look, for figures made inside, whatever the user's own settings are."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


def band(
    ax: "Axes", x: Any, mean: Any, low: Any, high: Any, *, color: str, label: str, marker: str = "o", line: str = "-"
) -> None:
    """A line of means with its interval as a band; a single point has an error bar."""
    ax.plot(x, mean, line, marker=marker, color=color, label=label)
    if len(x) == 1:
        ax.vlines(x, low, high, color=color)
    ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def plot_tuning(tuning: "Tuning", *, axes: Any = None) -> Any:
    """CD, ESS and KSD over the settings of a study, below each other, the settings that cannot be told from the best marked.

    Draws into `axes`, a sequence of as many Axes as there are panels, or into a new figure; gives back the axes.
    """
    import matplotlib.pyplot as plt

    panels = [("cd", "CD", BLUE), ("ess", "ESS (smallest)", ORANGE)]
    if any(math.isfinite(row.ksd) for row in tuning.rows):
        panels.append(("ksd", "KSD$^2$", GREEN))
    with styled():
        if axes is None:
            size = (5.2, 1.7 * len(panels) + 0.4)
            axes = plt.subplots(len(panels), 1, sharex=True, figsize=size, squeeze=False, layout="constrained")[1][:, 0]
            axes[0].figure.align_ylabels(axes)
        axes = np.atleast_1d(np.asarray(axes, dtype=object))
        if axes.shape != (len(panels),):
            raise InputError(f"axes must be {len(panels)} Axes, for CD, ESS and, where it is known, KSD; got {axes.size}")
        places = _setting_places(axes[-1], tuning)
        for ax, (name, label, color) in zip(axes, panels, strict=True):
            _draw_panel(ax, tuning, places, name, color)
            ax.set_ylabel(label)
        if tuning.near_best:
            axes[0].legend(loc="best")
        else:
            axes[0].annotate("no setting could be judged", (0.5, 0.5), xycoords="axes fraction", ha="center", color=GREY)
        axes[-1].set_xlabel(tuning.name)
    return axes


def _setting_places(ax: "Axes", tuning: "Tuning") -> list[float]:
    """Where on the x axis each setting goes, failed ones too: at its value, or in order where settings are not numbers."""
    settings = [row.setting for row in tuning.rows]
    numeric: list[Any] = [s for s in settings if isinstance(s, int | float | np.integer | np.floating)]
    if len(numeric) == len(settings) and all(abs(s) < sys.float_info.max for s in numeric):
        numbers = [float(s) for s in numeric]
        if min(numbers) > 0 and max(numbers) > 20 * min(numbers):
            ax.set_xscale("log")
        return numbers
    labels = [str(setting) for setting in settings]
    slanted = sum(map(len, labels)) > 40  # more than stands beside each other
    ax.set_xticks(range(len(labels)), labels, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    return [float(k) for k in range(len(labels))]


def _draw_panel(ax: "Axes", tuning: "Tuning", places: list[float], name: str, color: str) -> None:
    """One number of every setting with its interval; failed settings as dotted lines."""
    judged = [k for k, row in enumerate(tuning.rows) if row.failure is None]
    values = np.array([getattr(tuning.rows[k], name) for k in judged])
    reach = 1.96 * np.array([getattr(tuning.rows[k], f"{name}_se") for k in judged])
    reach = np.where(np.isfinite(reach), reach, 0.0)  # one run has no standard error of its ESS
    ax.errorbar([places[k] for k in judged], values, yerr=reach, color=color, marker="o", capsize=2)
    if values.size and np.all(values - reach > 0) and values.max() > 20 * values.min():
        ax.set_yscale("log")
    for k, row in enumerate(tuning.rows):
        if row.failure is not None:
            ax.axvline(places[k], color=GREY, linestyle=":", linewidth=1)
            if name == "cd":
                ax.annotate(
                    "failed", (places[k], 1.0), xycoords=("data", "axes fraction"), fontsize=7, color=GREY, rotation=90,
                    ha="right", va="top",
                )  # fmt: skip
    if name == "cd":
        near = [(places[k], tuning.rows[k].cd) for k in judged if tuning.rows[k].near_best]
        ring: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 9, "markerfacecolor": "none", "color": PURPLE}
        ax.plot(*zip(*near, strict=True) if near else ([], []), label="not told from the best", **ring)
