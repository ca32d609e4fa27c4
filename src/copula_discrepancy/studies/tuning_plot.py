"""The plot of a study of settings."""

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy.report.plots.look import BLUE, GREEN, GREY, ORANGE, PURPLE, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from copula_discrepancy.studies.tuning_result import Tuning


def plot_tuning(tuning: "Tuning", *, ax: Any = None) -> Any:
    """Draw CD, ESS and KSD against the settings of a study, one panel each; those not distinguishable from the best are marked.

    Draws into `ax`, a sequence of as many Axes as there are panels, or into a new figure; returns the Axes.
    """
    panels = [("cd", "CD", BLUE), ("ess", "ESS (smallest)", ORANGE)]
    if any(math.isfinite(row.ksd) for row in tuning.rows):
        panels.append(("ksd", "KSD$^2$", GREEN))
    size = 5.2, 1.7 * len(panels) + 0.4
    with canvas(ax, size=size, panels=len(panels), across=False, sharex=True) as axes:
        if ax is None:
            axes[0].figure.align_ylabels(axes)
        places = _setting_places(axes[-1], tuning)
        for panel, (name, label, color) in zip(axes, panels, strict=True):
            _draw_panel(panel, tuning, places, name, color)
            panel.set_ylabel(label)
        if tuning.near_best:
            axes[0].legend(loc="best")
        else:
            axes[0].annotate("no setting could be assessed", (0.5, 0.5), xycoords="axes fraction", ha="center", color=GREY)
        axes[-1].set_xlabel(tuning.name)
    return axes


def _setting_places(ax: "Axes", tuning: "Tuning") -> list[float]:
    """The position of each setting on the x axis, including failed ones: its value, or its index if not numeric."""
    settings = [row.setting for row in tuning.rows]
    numeric: list[Any] = [s for s in settings if isinstance(s, int | float | np.integer | np.floating)]
    if len(numeric) == len(settings) and all(abs(s) < sys.float_info.max for s in numeric):
        numbers = [float(s) for s in numeric]
        if min(numbers) > 0 and max(numbers) > 20 * min(numbers):
            ax.set_xscale("log")
        return numbers
    labels = [str(setting) for setting in settings]
    slanted = sum(map(len, labels)) > 40  # labels that would overlap side by side
    ax.set_xticks(range(len(labels)), labels, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    return [float(k) for k in range(len(labels))]


def _draw_panel(ax: "Axes", tuning: "Tuning", places: list[float], name: str, color: str) -> None:
    """One number of every setting with its interval; failed settings as dotted lines."""
    judged = [k for k, row in enumerate(tuning.rows) if row.failure is None]
    values = np.array([getattr(tuning.rows[k], name) for k in judged])
    reach = 1.96 * np.array([getattr(tuning.rows[k], f"{name}_se") for k in judged])
    reach = np.where(np.isfinite(reach), reach, 0.0)  # one run has no standard error of its ESS
    # the x axis spans failed settings from the start: matplotlib warns of limits a rounding error apart around a single point
    ax.update_datalim(np.column_stack([places, places]), updatey=False)
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
        ax.plot(*zip(*near, strict=True) if near else ([], []), label="not distinguishable from the best", **ring)
