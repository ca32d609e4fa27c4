"""The paper's seven figures, drawn again from our numbers with the published ones beside them, and what it left out."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copula_discrepancy.experiments import studies
from copula_discrepancy.experiments.published import published
from copula_discrepancy.experiments.runner import Seed
from copula_discrepancy.experiments.statements import FITTED_FROM, PUBLISHED_TO, TIMED, Means, exponent, large_sizes
from copula_discrepancy.experiments.store import written_whole
from copula_discrepancy.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, band, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PUBLISHED_MARK: dict[str, Any] = {"linestyle": "none", "color": "black", "markersize": 4, "markeredgewidth": 0.8}


def draw(name: str, means: Means, context: Mapping[str, float], seed: int, folder: Path) -> list[Path]:
    """Write the figures of one experiment as PNG and SVG; gives back their paths."""
    from matplotlib.figure import Figure

    paths = []
    with styled():
        for file, (width, height), fill in _FIGURES[name]:
            figure = Figure(figsize=(width, height), layout="constrained")  # no pyplot: nothing to close, no window
            fill(figure, means, context, seed)
            for suffix in (".png", ".svg"):
                path = folder / f"{file}{suffix}"
                with written_whole(path) as temporary:
                    metadata = {"Date": None} if suffix == ".svg" else None  # the same picture gives the same file
                    figure.savefig(temporary, format=suffix[1:], metadata=metadata)
                paths.append(path)
    return paths


def _curve(ax: "Axes", means: Means, diagnostic: str, *, color: str, label: str, marker: str = "o", line: str = "-") -> None:
    """Mean and 95% band of a diagnostic, where it was measured."""
    known = [value for value in means.values if math.isfinite(means.at(diagnostic, value))]
    mean, low, high = ([means.at(diagnostic, value, what) for value in known] for what in ("mean", "lo", "hi"))
    band(ax, known, mean, low, high, color=color, label=label, marker=marker, line=line)


def _theirs(ax: "Axes", experiment: str, diagnostic: str, *, label: str | None = None, marker: str = "x") -> None:
    points = [item for item in published(experiment) if item.diagnostic == diagnostic]
    ax.plot([item.value for item in points], [item.mean for item in points], label=label, marker=marker, **PUBLISHED_MARK)


def _log_axes(ax: "Axes", x: str, y: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel(y)


def _legend_below(figure: "Figure", *axes: "Axes", columns: int = 3) -> None:
    """One legend for several axes, where it hides nothing."""
    found = [ax.get_legend_handles_labels() for ax in axes]
    handles: list[Any] = [handle for part in found for handle in part[0]]
    labels = [str(label) for part in found for label in part[1]]
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=7.5)


def _figure1(figure: "Figure", means: Means, context: Mapping[str, float], seed: int) -> None:
    ax = figure.subplots()
    _curve(ax, means, "on_cd", color=BLUE, label="Gumbel draws (on target)")
    _curve(ax, means, "off_cd", color=ORANGE, label="Clayton draws (off target)", marker="s")
    _theirs(ax, "experiment1", "on_cd", label="published")
    _theirs(ax, "experiment1", "off_cd")
    _log_axes(ax, "draws n", "CD, maximum likelihood")
    ax.set_title("Same tau, other family: CD stays where it must")
    ax.legend()


def _figure2(figure: "Figure", means: Means, context: Mapping[str, float], seed: int) -> None:
    for ax, name, theirs in zip(figure.subplots(1, 2), ("ckl", "ced"), ("ckl", "ced_mc"), strict=True):
        for arm, color, marker in (("on", BLUE, "o"), ("off", ORANGE, "s")):
            _curve(ax, means, f"{arm}_{name}", color=color, marker=marker, label=f"{arm} target, exact")
            _curve(ax, means, f"{arm}_{name}_mc", color=GREY, marker=".", line=":", label=f"{arm} target, simulated")
            _theirs(ax, "experiment1", f"{arm}_{theirs}", label="published" if arm == "off" else None)
        _log_axes(ax, "draws n", f"{name.upper()} (nats)")
        ax.set_title("Divergence from the target" if name == "ckl" else "Gap of the entropies")
    figure.axes[1].legend(fontsize=7)


def _right_axis(ax: "Axes") -> Any:
    other = ax.twinx()
    other.grid(False)
    other.spines["right"].set_visible(True)
    return other


def _cd_and_ess(ax: "Axes", means: Means, cd: str, ess: str, label: str) -> Any:
    _curve(ax, means, cd, color=BLUE, label=f"CD {label}")
    _log_axes(ax, "step size", "CD")
    other = _right_axis(ax)
    _curve(other, means, ess, color=ORANGE, label="ESS", marker="s", line="--")
    other.set_ylabel("ESS, smaller of two variables")
    return other


def _clouds(ax: "Axes", seed: int, steps: Sequence[tuple[str, float, str, str]]) -> None:
    for label, step, color, marker in steps:
        run = studies.bimodal_run(step, Seed(seed, "experiment2", step, 0).generator("sgld"))
        x, y = run.values.reshape(-1, 2).T
        ax.plot(x, y, marker, color=color, markersize=2, alpha=0.35, markeredgewidth=0, label=f"{label}: {step:.3g}")
    ax.set_aspect("equal")
    ax.set_xlabel("x$_0$")
    ax.set_ylabel("x$_1$")
    ax.legend(markerscale=4, loc="upper left", fontsize=7)


def _figure3(figure: "Figure", means: Means, context: Mapping[str, float], seed: int) -> None:
    left, right = figure.subplots(1, 2)
    shown = means.up_to(max(studies.PUBLISHED_STEPS))
    other = _cd_and_ess(left, shown, "published_cd", "paper_ess", "as published")
    left.set_yscale("linear")
    _theirs(left, "experiment2", "published_cd", label="published CD")
    _theirs(other, "experiment2", "paper_ess", label="published ESS", marker="+")
    left.set_title(f"As published: reference tau {context['tau_stuck']:+.3f}, a chain in one mode", fontsize=8.5)
    _legend_below(figure, left, other, columns=4)
    cd, ess = shown.best("published_cd"), shown.best("paper_ess", largest=True)
    _clouds(right, seed, (("largest ESS", ess, BLUE, "^"), ("smallest CD", cd, ORANGE, "o")))
    right.set_title("Draws at the two choices", fontsize=8.5)


def _figure3_corrected(figure: "Figure", means: Means, context: Mapping[str, float], seed: int) -> None:
    left, right = figure.subplots(1, 2)
    other = _cd_and_ess(left, means, "cd", "ess", "against tau 0.5")
    _curve(left, means, "cd_se", color=PURPLE, label="its standard error, chain-aware", marker=".", line=":")
    other.set_yscale("log")
    other.set_ylabel("ESS (ArviZ), smaller of two variables")
    left.set_title("Corrected: the true tau, a grid to 0.4", fontsize=8.5)
    _legend_below(figure, left, other)
    cd, ess = means.best("cd"), means.best("ess", largest=True)
    _clouds(right, seed, (("largest ESS", ess, BLUE, "^"), ("smallest CD", cd, ORANGE, "o")))
    right.set_title("Draws at the two choices", fontsize=8.5)


def _figure4(figure: "Figure", means: Means, context: Mapping[str, float], seed: int) -> None:
    axes = figure.subplots(2, 2, sharex="col")
    shown = means.up_to(max(studies.PUBLISHED_STEPS))
    for row, name in enumerate(("ckl", "ced")):
        _curve(axes[row, 0], shown, f"published_{name}", color=BLUE, label="ours, as published")
        _theirs(axes[row, 0], "experiment2", f"published_{name}", label="published")
        _curve(axes[row, 1], means, name, color=GREEN, label="corrected")
        axes[row, 1].set_yscale("log")
        axes[row, 0].set_ylabel(f"{name.upper()} (nats)")
    for ax in axes.flat:
        ax.set_xscale("log")
    for ax in axes[1]:
        ax.set_xlabel("step size")
    axes[0, 0].set_title("Against a chain in one mode, as published")
    axes[0, 1].set_title("Against the true tau")
    axes[0, 0].legend()


def _figure5(figure: "Figure", means: Means, context: Mapping[str, float], seed: int) -> None:
    ax = figure.subplots()
    _curve(ax, means, "cd", color=BLUE, label="CD, maximum likelihood")
    _curve(ax, means, "naive_tau", color=ORANGE, label="naive tau", marker="s")
    _theirs(ax, "experiment3", "cd", label="published")
    _theirs(ax, "experiment3", "naive_tau")
    _log_axes(ax, "draws n", "CD, naive tau")
    other = _right_axis(ax)
    _curve(other, means, "ksd_unit", color=GREEN, label="KSD, unit square (right axis)", marker="^")
    _theirs(other, "experiment3", "ksd_unit", label="published KSD", marker="+")
    other.set_yscale("log")
    other.set_ylabel("KSD on the unit square (not a discrepancy)")
    ax.set_title("Gumbel draws against a Clayton target of the same tau")
    _legend_below(figure, ax, other, columns=2)


def _figure5_beyond(figure: "Figure", means: Means, context: Mapping[str, float], seed: int) -> None:
    left, right = figure.subplots(1, 2)
    for ax, suffix, title in ((left, "_unit", "Unit square: no Stein identity"), (right, "", "Normal scores: valid")):
        _curve(ax, means, f"ksd{suffix}", color=ORANGE, label="Gumbel draws (off target)", marker="s")
        _curve(ax, means, f"on_target_ksd{suffix}", color=BLUE, label="Clayton draws (on target)")
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=1.0 if suffix else 0.01)
        ax.set_xlabel("draws n")
        ax.set_title(title)
    left.set_ylabel("squared KSD, U-statistic")
    _legend_below(figure, left)


def _figure6(figure: "Figure", means: Means, context: Mapping[str, float], seed: int) -> None:
    for ax, name, simulated in zip(figure.subplots(1, 2), ("ckl", "ced"), ("ckl_mc", "ced_mc"), strict=True):
        _curve(ax, means, name, color=BLUE, label="exact")
        _curve(ax, means, simulated, color=GREY, label="simulated", marker=".", line=":")
        _theirs(ax, "experiment3", "ced_mc" if name == "ced" else name, label="published")
        ax.set_xscale("log")
        ax.set_xlabel("draws n")
        ax.set_ylabel(f"{name.upper()} (nats)")
    figure.axes[0].legend()


def _figure7(figure: "Figure", means: Means, context: Mapping[str, float], seed: int) -> None:
    ax = figure.subplots()
    for (name, label), color, marker in zip(TIMED.items(), (BLUE, ORANGE, PURPLE, GREEN), "osD^", strict=True):
        sizes = [n for n in means.values if math.isfinite(means.at(name, n, "median"))]
        large = large_sizes(means, name)
        slope = f": n$^{{{exponent(means, name, large):.2f}}}$ from {FITTED_FROM} on" if len(large) > 1 else ""
        ax.plot(sizes, [1e3 * means.at(name, n, "median") for n in sizes], marker=marker, color=color, label=f"{label}{slope}")
    _log_axes(ax, "draws n", "median time (ms)")
    if min(means.values) < PUBLISHED_TO < max(means.values):
        ax.axvspan(min(means.values), PUBLISHED_TO, color=GREY, alpha=0.1, linewidth=0)
        ax.annotate(
            "timed in the paper\n(KSD to 500)", (0.03, 0.97), xycoords="axes fraction", fontsize=7, color=GREY, va="top"
        )
    ax.set_title("All times measured, none extrapolated")
    _legend_below(figure, ax, columns=2)


_Fill = Callable[["Figure", Means, Mapping[str, float], int], None]
_FIGURES: dict[str, tuple[tuple[str, tuple[float, float], _Fill], ...]] = {
    "experiment1": (("figure1_cd", (5.2, 3.6), _figure1), ("figure2_shannon", (7.2, 3.3), _figure2)),
    "experiment2": (
        ("figure3_step_size", (7.6, 3.7), _figure3),
        ("figure3_corrected", (7.6, 3.7), _figure3_corrected),
        ("figure4_shannon", (7.2, 4.6), _figure4),
    ),
    "experiment3": (
        ("figure5_tails", (5.6, 4.1), _figure5),
        ("figure5_valid_ksd", (7.2, 3.3), _figure5_beyond),
        ("figure6_shannon", (7.2, 3.2), _figure6),
    ),
    "overhead": (("figure7_overhead", (6.2, 4.2), _figure7),),
}
