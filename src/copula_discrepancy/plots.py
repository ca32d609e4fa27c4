"""One look for every picture, and the picture of a step-size study; matplotlib loads when a picture is drawn."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
    """A line of means with its interval as a band."""
    ax.plot(x, mean, line, marker=marker, color=color, label=label)
    ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def plot_tuning(tuning: "Tuning", *, axes: Any = None) -> Any:
    """CD, ESS and KSD over the settings of a study, below each other, the settings that cannot be told from the best marked.

    Draws into `axes`, a sequence of as many Axes as there are panels, or into a new figure; gives back the axes.
    """
    import matplotlib.pyplot as plt
    import numpy as np

    panels = [("cd", "CD", BLUE), ("ess", "ESS (smallest)", ORANGE)]
    if any(np.isfinite(row.ksd) for row in tuning.rows):
        panels.append(("ksd", "KSD$^2$", GREEN))
    with styled():
        if axes is None:
            size = (5.2, 1.7 * len(panels) + 0.4)
            figure, made = plt.subplots(len(panels), 1, sharex=True, figsize=size, squeeze=False, layout="constrained")
            axes = made[:, 0]
            figure.align_ylabels(axes)
        axes = np.atleast_1d(np.asarray(axes, dtype=object))
        rows = [row for row in tuning.rows if row.failure is None]
        numeric = all(isinstance(row.setting, int | float | np.number) for row in tuning.rows)
        places = [float(row.setting) if numeric else float(k) for k, row in enumerate(tuning.rows) if row.failure is None]
        for ax, (name, label, color) in zip(axes, panels, strict=True):
            values = np.array([getattr(row, name) for row in rows])
            reach = 1.96 * np.array([getattr(row, f"{name}_se") for row in rows])
            reach = np.where(np.isfinite(reach), reach, 0.0)
            ax.errorbar(places, values, yerr=reach, color=color, marker="o", capsize=2)
            ax.set_ylabel(label)
            if name == "cd":
                near = [k for k, row in enumerate(rows) if row.near_best]
                ax.plot(
                    [places[k] for k in near], values[near], "o", markersize=9, markerfacecolor="none", color=PURPLE,
                    label="not told from the best",
                )  # fmt: skip
                ax.legend(loc="best")
            if values.size and np.all(values - reach > 0) and values.max() > 20 * values.min():
                ax.set_yscale("log")
        if numeric and places and min(places) > 0 and max(places) > 20 * min(places):
            axes[-1].set_xscale("log")
        if not numeric:
            axes[-1].set_xticks(places, [str(row.setting) for row in rows])
        for k, row in enumerate(tuning.rows):
            if row.failure is not None:
                place = float(row.setting) if numeric else float(k)
                axes[0].axvline(place, color=GREY, linestyle=":", linewidth=1)
                axes[0].annotate(
                    "failed", (place, 1.0), xycoords=("data", "axes fraction"), fontsize=7, color=GREY, rotation=90, ha="right",
                    va="top",
                )  # fmt: skip
        axes[-1].set_xlabel(tuning.name)
    return axes
