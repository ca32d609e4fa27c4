"""The paper's seven figures from reproduced and published numbers, and two further ones."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy._core.files import written_whole
from copula_discrepancy.report.plots.look import BLUE, GREEN, GREY, ORANGE, PURPLE, band, canvas, fit_words, styled, text_size
from copula_discrepancy.studies.paper import studies
from copula_discrepancy.studies.paper.published import published
from copula_discrepancy.studies.paper.runner import Seed
from copula_discrepancy.studies.paper.statements import FITTED_FROM, PUBLISHED_TO, TIMED, Means, exponent, timed_sizes
from copula_discrepancy.studies.paper.store import ANOTHER_FOLDER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PUBLISHED_MARK: dict[str, Any] = {"linestyle": "none", "color": "black", "markersize": 4, "markeredgewidth": 0.8}


@dataclass(frozen=True)
class Picture:
    """A figure of the paper: its size in inches, its panels as (rows, columns), and the function that draws them."""

    size: tuple[float, float]
    panels: tuple[int, int]
    fill: "Callable[[Panels, Means, Mapping[str, float], int], None]"
    shared: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Panels:
    """The axes of one picture, row by row, and whether the figure is our own: the legend is then outside of them."""

    axes: Any
    own_figure: bool

    def legend_below(self, *axes: "Axes", columns: int = 3) -> None:
        """One legend for several axes: below all panels or, in a user's figure, inside the last of them."""
        entries = [ax.get_legend_handles_labels() for ax in axes]
        handles: list[Any] = [handle for entry in entries for handle in entry[0]]
        labels = [str(label) for entry in entries for label in entry[1]]
        if self.own_figure:
            self.axes[0].figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=text_size(7.5 / 9))
        else:
            axes[-1].legend(handles, labels, fontsize="x-small")  # the last one is on top


def draw(name: str, means: Means, context: Mapping[str, float], seed: int, folder: Path) -> list[Path]:
    """Write the figures of one experiment as PNG and SVG, and return their paths."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    paths: list[Path] = []
    with styled():
        for file, picture in FIGURES[name].items():
            figure = Figure(figsize=picture.size, layout="constrained")  # no pyplot: nothing to close and no window
            axes = figure.subplots(*picture.panels, squeeze=False, **picture.shared).reshape(-1)
            picture.fill(Panels(axes, True), means, context, seed)
            png, svg = (folder / f"{file}{suffix}" for suffix in (".png", ".svg"))
            with written_whole(png, ANOTHER_FOLDER, parents=True) as temporary:
                figure.savefig(temporary, format="png")
            figure.set_layout_engine("none")  # laid out once: both files look the same, and the second is twice as fast
            drawing: Any = FigureCanvasSVG(figure)
            with written_whole(svg, ANOTHER_FOLDER, parents=True) as temporary:
                drawing.print_svg(temporary, metadata={"Date": None})  # equal pictures give equal files
            paths += [png, svg]
    return paths


def plot(name: str, file: str, means: Means, context: Mapping[str, float], seed: int, ax: Any) -> Any:
    """Draw a figure of an experiment into `ax`, or into a new figure, and return an Axes or an array of them."""
    picture = FIGURES[name][file]
    rows, columns = picture.panels
    shared = picture.shared if ax is None else {}
    with canvas(ax, size=picture.size, panels=rows * columns, columns=columns, **shared) as axes:
        picture.fill(Panels(np.atleast_1d(axes), ax is None), means, context, seed)
        for panel in np.atleast_1d(axes) if ax is not None else ():
            fit_words(panel)
    return axes if ax is None else ax


def _curve(ax: "Axes", means: Means, diagnostic: str, *, color: str, label: str, marker: str = "o", line: str = "-") -> None:
    """Mean and 95% band of a diagnostic at the values where it was measured."""
    known = [value for value in means.values if math.isfinite(means.at(diagnostic, value))]
    mean, low, high = ([means.at(diagnostic, value, what) for value in known] for what in ("mean", "lo", "hi"))
    band(ax, known, mean, low, high, color=color, label=label, marker=marker, line=line)


def _theirs(ax: "Axes", experiment: str, diagnostic: str, *, label: str | None = None, marker: str = "x") -> None:
    points = [item for item in published(experiment) if item.diagnostic == diagnostic]
    ax.plot([item.value for item in points], [item.mean for item in points], label=label, marker=marker, **PUBLISHED_MARK)


def _label(
    ax: "Axes", x: str, y: str = "", title: str = "", *, scale: str = "log", size: float | None = None, **options: Any
) -> None:
    """Labels, title and scales; x is logarithmic in every figure."""
    ax.set(xscale="log", xlabel=x, ylabel=y)
    ax.set_yscale(scale, **options)
    smaller: dict[str, Any] = {} if size is None else {"fontsize": text_size(size)}  # None would not be the default
    ax.set_title(title, **smaller)


def _figure1(panels: Panels, means: Means, context: Mapping[str, float], seed: int) -> None:
    (ax,) = panels.axes
    _curve(ax, means, "on_cd", color=BLUE, label="Gumbel draws (on target)")
    _curve(ax, means, "off_cd", color=ORANGE, label="Clayton draws (off target)", marker="s")
    _theirs(ax, "experiment1", "on_cd", label="published")
    _theirs(ax, "experiment1", "off_cd")
    _label(ax, "draws n", "CD, maximum likelihood", "Same tau, different family: CD does not vanish")
    ax.legend()


def _figure2(panels: Panels, means: Means, context: Mapping[str, float], seed: int) -> None:
    titles = "Divergence from the target", "Gap of the entropies"
    for ax, name, theirs, title in zip(panels.axes, ("ckl", "ced"), ("ckl", "ced_mc"), titles, strict=True):
        for arm, color, marker in (("on", BLUE, "o"), ("off", ORANGE, "s")):
            _curve(ax, means, f"{arm}_{name}", color=color, marker=marker, label=f"{arm} target, exact")
            _curve(ax, means, f"{arm}_{name}_mc", color=GREY, marker=".", line=":", label=f"{arm} target, simulated")
            _theirs(ax, "experiment1", f"{arm}_{theirs}", label="published" if arm == "off" else None)
        _label(ax, "draws n", f"{name.upper()} (nats)", title)
    panels.axes[1].legend(fontsize=text_size(7 / 9))


def _right_axis(ax: "Axes") -> Any:
    other = ax.twinx()
    other.grid(False)
    other.spines["right"].set_visible(True)
    return other


def _cd_and_ess(ax: "Axes", means: Means, cd: str, ess: str, label: str, title: str, scale: str) -> Any:
    _curve(ax, means, cd, color=BLUE, label=f"CD {label}")
    _label(ax, "step size", "CD", title, scale=scale, size=8.5 / 9)
    other = _right_axis(ax)
    _curve(other, means, ess, color=ORANGE, label="ESS", marker="s", line="--")
    other.set_ylabel("ESS, smaller of two variables")
    return other


def _choices(ax: "Axes", seed: int, means: Means, cd: str, ess: str) -> None:
    """Draws at the step sizes that two diagnostics choose."""
    chosen = ("largest ESS", means.best(ess, largest=True), BLUE, "^"), ("smallest CD", means.best(cd), ORANGE, "o")
    for label, step, color, marker in chosen:
        run = studies.bimodal_run(step, Seed(seed, "experiment2", step, 0).generator("sgld"))
        x, y = run.values.reshape(-1, 2).T
        ax.plot(x, y, marker, color=color, markersize=2, alpha=0.35, markeredgewidth=0, label=f"{label}: {step:.3g}")
    ax.set(aspect="equal", xlabel="x$_0$", ylabel="x$_1$")
    ax.legend(markerscale=4, loc="upper left", fontsize=text_size(7 / 9))
    ax.set_title("Draws at the two choices", fontsize=text_size(8.5 / 9))


def _figure3(panels: Panels, means: Means, context: Mapping[str, float], seed: int) -> None:
    left, right = panels.axes
    shown = means.up_to(max(studies.PUBLISHED_STEPS))
    title = f"As published: reference tau {context['tau_stuck']:+.3f}, a chain in one mode"
    other = _cd_and_ess(left, shown, "published_cd", "paper_ess", "as published", title, "linear")
    _theirs(left, "experiment2", "published_cd", label="published CD")
    _theirs(other, "experiment2", "paper_ess", label="published ESS", marker="+")
    panels.legend_below(left, other, columns=4)
    _choices(right, seed, shown, "published_cd", "paper_ess")


def _figure3_corrected(panels: Panels, means: Means, context: Mapping[str, float], seed: int) -> None:
    left, right = panels.axes
    other = _cd_and_ess(left, means, "cd", "ess", "against tau 0.5", "Corrected: the true tau, a grid to 0.4", "log")
    _curve(left, means, "cd_se", color=PURPLE, label="its standard error, chain-aware", marker=".", line=":")
    other.set(yscale="log", ylabel="ESS (ArviZ), smaller of two variables")
    panels.legend_below(left, other)
    _choices(right, seed, means, "cd", "ess")


def _figure4(panels: Panels, means: Means, context: Mapping[str, float], seed: int) -> None:
    axes = np.reshape(np.asarray(panels.axes, dtype=object), (2, 2))
    shown = means.up_to(max(studies.PUBLISHED_STEPS))
    for row, name in enumerate(("ckl", "ced")):
        _curve(axes[row, 0], shown, f"published_{name}", color=BLUE, label="ours, as published")
        _theirs(axes[row, 0], "experiment2", f"published_{name}", label="published")
        _curve(axes[row, 1], means, name, color=GREEN, label="corrected")
        axes[row, 0].set(xscale="log", ylabel=f"{name.upper()} (nats)")
        axes[row, 1].set(xscale="log", yscale="log")
    for ax in axes[1]:
        ax.set_xlabel("step size")
    axes[0, 0].set_title("Against a chain in one mode, as published")
    axes[0, 1].set_title("Against the true tau")
    axes[0, 0].legend()


def _figure5(panels: Panels, means: Means, context: Mapping[str, float], seed: int) -> None:
    (ax,) = panels.axes
    _curve(ax, means, "cd", color=BLUE, label="CD, maximum likelihood")
    _curve(ax, means, "naive_tau", color=ORANGE, label="naive tau", marker="s")
    _theirs(ax, "experiment3", "cd", label="published")
    _theirs(ax, "experiment3", "naive_tau")
    _label(ax, "draws n", "CD, naive tau", "Gumbel draws against a Clayton target of the same tau")
    other = _right_axis(ax)
    _curve(other, means, "ksd_unit", color=GREEN, label="KSD, unit square (right axis)", marker="^")
    _theirs(other, "experiment3", "ksd_unit", label="published KSD", marker="+")
    other.set(yscale="log", ylabel="KSD on the unit square (not a discrepancy)")
    panels.legend_below(ax, other, columns=2)


def _figure5_beyond(panels: Panels, means: Means, context: Mapping[str, float], seed: int) -> None:
    left, right = panels.axes
    for ax, suffix, title in ((left, "_unit", "Unit square: no Stein identity"), (right, "", "Normal scores: valid")):
        _curve(ax, means, f"ksd{suffix}", color=ORANGE, label="Gumbel draws (off target)", marker="s")
        _curve(ax, means, f"on_target_ksd{suffix}", color=BLUE, label="Clayton draws (on target)")
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        _label(ax, "draws n", title=title, scale="symlog", linthresh=1.0 if suffix else 0.01)
    left.set_ylabel("squared KSD, U-statistic")
    panels.legend_below(left)


def _figure6(panels: Panels, means: Means, context: Mapping[str, float], seed: int) -> None:
    for ax, name, simulated in zip(panels.axes, ("ckl", "ced"), ("ckl_mc", "ced_mc"), strict=True):
        _curve(ax, means, name, color=BLUE, label="exact")
        _curve(ax, means, simulated, color=GREY, label="simulated", marker=".", line=":")
        _theirs(ax, "experiment3", "ced_mc" if name == "ced" else name, label="published")
        _label(ax, "draws n", f"{name.upper()} (nats)", scale="linear")
    panels.axes[0].legend()


def _figure7(panels: Panels, means: Means, context: Mapping[str, float], seed: int) -> None:
    (ax,) = panels.axes
    for (name, label), color, marker in zip(TIMED.items(), (BLUE, ORANGE, PURPLE, GREEN), "osD^", strict=True):
        sizes, large = timed_sizes(means, name), timed_sizes(means, name, FITTED_FROM)
        slope = f": n$^{{{exponent(means, name, large):.2f}}}$ from {FITTED_FROM} on" if len(large) > 1 else ""
        ax.plot(sizes, [1e3 * means.at(name, n, "median") for n in sizes], marker=marker, color=color, label=f"{label}{slope}")
    _label(ax, "draws n", "median time (ms)", "All times measured, none extrapolated")
    if min(means.values) < PUBLISHED_TO < max(means.values):
        ax.axvspan(min(means.values), PUBLISHED_TO, color=GREY, alpha=0.1, linewidth=0)
        style: dict[str, Any] = {"fontsize": text_size(7 / 9), "color": GREY, "va": "top"}
        ax.annotate("timed in the paper\n(KSD to 500)", (0.03, 0.97), xycoords="axes fraction", **style)
    panels.legend_below(ax, columns=2)


FIGURES: dict[str, dict[str, Picture]] = {
    "experiment1": {
        "figure1_cd": Picture((5.2, 3.6), (1, 1), _figure1),
        "figure2_shannon": Picture((7.2, 3.3), (1, 2), _figure2),
    },
    "experiment2": {
        "figure3_step_size": Picture((7.6, 3.7), (1, 2), _figure3),
        "figure3_corrected": Picture((7.6, 3.7), (1, 2), _figure3_corrected),
        "figure4_shannon": Picture((7.2, 4.6), (2, 2), _figure4, {"sharex": "col"}),
    },
    "experiment3": {
        "figure5_tails": Picture((5.6, 4.1), (1, 1), _figure5),
        "figure5_valid_ksd": Picture((7.2, 3.3), (1, 2), _figure5_beyond),
        "figure6_shannon": Picture((7.2, 3.2), (1, 2), _figure6),
    },
    "overhead": {"figure7_overhead": Picture((6.2, 4.2), (1, 1), _figure7)},
}
