"""Forest plots: Kendall's tau of every chain with its interval, compared with the target or the reference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from copula_discrepancy._core.checks import whole_number
from copula_discrepancy.compare.comparison import block_of
from copula_discrepancy.compare.counted_draws import CountedDraws
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.compare.wording import pair_label, shortened
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.naming import chain_name
from copula_discrepancy.estimate.agreement import RHAT_LIMIT, Agreement, chain_agreement
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.uncertainty import Estimate, open_probability
from copula_discrepancy.report.plots import look
from copula_discrepancy.report.plots.columns import pair_is_ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_ROWS = 26  # rows at full height; more are drawn closer together
_LABEL = 16  # characters of the name of a chain
_LINE = 1.35  # height of a line of text, in font sizes
_DRAWS: dict[str, Any] = {"color": look.BLUE, "marker": "o"}
_AIM: dict[str, Any] = {"color": look.ORANGE, "marker": "s"}  # hollow, so distinguishable in greyscale


@dataclass(frozen=True)
class Row:
    """A row of the forest: its label, its tau, whether it is all chains together, and else which chain of its sample."""

    label: str
    tau: Estimate
    pooled: bool
    of_draws: bool
    number: int = 0


def plot_tau_forest(
    result: Discrepancy | Pairwise | Fit, *, pairs: int = 6, confidence: float = 0.95, ax: Any = None
) -> "Axes":
    """Draw Kendall's tau of every chain and of all together, each with its interval, with the target or the reference.

    For a `Discrepancy`, every chain has a row, including those of a reference sample; a dashed line marks the target's tau, for
    a reference sample with its interval as a band. For a `Pairwise`, each of the worst pairs has a row, with its chains as
    dots, all draws with their interval, and below them the target or the reference.

    Parameters
    ----------
    result : Discrepancy, Pairwise, VineGaps or Fit
        A result of `discrepancy`, `pairwise`, `vine` or `fit`; a fit has no target.
    pairs : int
        Number of the worst pairs to draw.
    confidence : float
        Confidence level of the intervals of a Fit; the other results have their own.
    ax : Axes, optional
        Axes to draw into, with their current style; by default a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Raises
    ------
    InputError
        For anything but one of these results.

    See Also
    --------
    Agreement : The same as numbers.
    plot_trace : One pair over the number of draws.

    Notes
    -----
    A chain in which a variable does not vary has no tau, and its row is marked. Edges of a vine from its second tree on have no
    draws of their own: they have no chains and no intervals.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import copula_discrepancy as cd
    >>> draws = cd.Gumbel(2.0).sample(2000, rng=1).reshape(4, 500, 2)
    >>> ax = cd.plot_tau_forest(cd.discrepancy(draws, cd.Gumbel(2.5)), ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['all draws', 'chain 0', 'chain 1', 'chain 2', 'chain 3']
    """
    most, share = whole_number(pairs, "pairs", 1), open_probability(confidence, "confidence")
    if isinstance(result, Discrepancy):
        return draw_chains(Forest.of(result), ax)
    if isinstance(result, Fit):
        return draw_chains(Forest.of_fit(result, share), ax)
    if isinstance(result, Pairwise):
        return _pairs_forest(result, [result[k] for k in range(min(most, len(result)))], ax)
    raise look.wrong_subject("plot_tau_forest", "a Discrepancy, a Pairwise or a Fit", result)


# ---- the chains of one pair ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forest:
    """All rows of one pair, and the value they are compared with."""

    names: tuple[str, str]
    rows: list[Row]
    confidence: float
    agreements: tuple[Agreement, ...]
    tau_aimed: float | None = None
    aim: Estimate | None = None  # the reference's, with its interval

    @classmethod
    def of(cls, result: Discrepancy) -> "Forest":
        """The chains of the draws and of the reference, compared with the latter or the target."""
        names, confidence = result.fit.pair.names, result.level.confidence
        rows = _rows(f"all {result.things}", result.estimates["tau"], result.agreement, of_draws=True, names=result.chain_names)
        if result.reference is None or result.reference_agreement is None:
            return cls(names, rows, confidence, (result.agreement,), result.tau_target)
        aim = pooled_tau(result.reference, confidence)
        rows += _rows("reference", aim, result.reference_agreement, of_draws=False)
        return cls(names, rows, confidence, (result.agreement, result.reference_agreement), aim.value, aim)

    @classmethod
    def of_fit(cls, fitted: Fit, confidence: float, things: str = "draws") -> "Forest":
        """The chains of draws without a target; `things` is the noun for observations."""
        agreement = fit_agreement(fitted, confidence)
        rows = _rows(f"all {things}", pooled_tau(fitted, confidence), agreement, of_draws=True)
        return cls(fitted.pair.names, rows, confidence, (agreement,))

    def title(self) -> str:
        """Whether the chains agree, if they can be compared, and the meaning of the line."""
        told, known = "", [agreement.rhat for agreement in self.agreements if not math.isnan(agreement.rhat)]
        if known:
            of_reference = f" (reference {known[1]:.3f})" if len(known) > 1 else ""
            above = f", above {RHAT_LIMIT}" if max(known) > RHAT_LIMIT else ""
            whose = "reference's " if math.isnan(self.agreements[0].rhat) else ""
            told = f"{whose}R-hat {known[0]:.3f}{of_reference}{above}"
        if self.tau_aimed is None:
            return told
        line = f"dashed: the {'target' if self.aim is None else 'reference'}'s tau, {self.tau_aimed:.2f}"
        return f"{told}\n{line}" if told else line


def fit_agreement(fitted: Fit, confidence: float) -> Agreement:
    """Whether the chains of a fit agree, with the tau of each."""
    return chain_agreement(fitted.counted, 0, confidence=confidence)


def draw_chains(forest: Forest, ax: Any) -> "Axes":
    """Draw every chain of one pair in its own row."""
    rows, places = forest.rows, _places(forest.rows)
    crowded = len(rows) > _MOST_ROWS
    with look.canvas(ax, size=(5.2, max(0.9 + 0.19 * min(len(rows), _MOST_ROWS), 1.7))) as axes:
        for place, row in zip(places, rows, strict=True):
            if row.pooled or not crowded:
                draw_row(axes, place, row)
        if crowded:
            _draw_crowd(axes, places, rows)
        if forest.tau_aimed is not None:
            _draw_aim(axes, forest.tau_aimed, forest.aim)
        if forest.aim is not None:
            first = next(k for k, row in enumerate(rows) if not row.of_draws)
            axes.axhline(0.5 * (places[first - 1] + places[first]), color=look.GREY, linewidth=0.5)
        axes.set_ylim(places[-1] + 0.6, -0.6 * max(places[1] - places[0] if len(places) > 1 else 1.0, 1.0))
        _label_rows(axes, rows, places)
        _tell_stuck(axes, rows, places, crowded=crowded)
        look.title_above(axes, forest.title())
        names = pair_label(*(look.plain(name, 20) for name in forest.names))
        share = f"{100 * forest.confidence:g}%"
        axes.set_xlabel(f"Kendall's tau, {share} intervals\n{names}", fontsize="small", **look.PLAIN)
        axes.grid(False, axis="y")
        axes.xaxis.set_major_locator(look.few_ticks(axes))
    return axes


def _places(rows: Sequence[Row]) -> list[float]:
    """Heights of all rows, from 0 down; if they are crowded, the row of all chains keeps a distance."""
    apart = max(len(rows) / _MOST_ROWS, 1.0)
    places, here = [], 0.0
    for k, row in enumerate(rows):
        here += 0.0 if k == 0 else apart if row.pooled or rows[k - 1].pooled else 1.0
        places.append(here)
    return places


def pooled_tau(fitted: Fit, confidence: float) -> Estimate:
    """Kendall's tau of all chains together, with its interval."""
    return Estimate.of(fitted.sample_tau, fitted.spreads["tau"], tested=False, limits=(-1.0, 1.0), confidence=confidence)


def _rows(together: str, pooled: Estimate, agreement: Agreement, *, of_draws: bool, names: Sequence[str] = ()) -> list[Row]:
    called = [shortened(chain_name(names, k, len(agreement.taus)), _LABEL) for k in range(len(agreement.taus))]
    chains = [Row(name, tau, False, of_draws, k) for k, (name, tau) in enumerate(zip(called, agreement.taus, strict=True))]
    return [Row(together, pooled, True, of_draws), *(chains if len(chains) > 1 else [])]


def _draw_crowd(ax: "Axes", places: Sequence[float], rows: Sequence[Row]) -> None:
    """Hundreds of chains as two rasterised artists: separate shapes would make a file of megabytes."""
    for of_draws, marks in ((True, _DRAWS), (False, _AIM)):
        shown = [
            (place, row.tau)
            for place, row in zip(places, rows, strict=True)
            if not row.pooled and row.of_draws == of_draws and not math.isnan(row.tau.value)
        ]
        if shown:
            heights, (lows, highs) = [place for place, _ in shown], zip(*(tau.ci for _, tau in shown), strict=True)
            ax.hlines(heights, lows, highs, color=marks["color"], linewidth=0.7, rasterized=True)
            face = marks["color"] if of_draws else ax.get_facecolor()
            values = [tau.value for _, tau in shown]
            ax.scatter(
                values, heights, s=4.8, marker=marks["marker"], color=face, edgecolors=marks["color"], rasterized=True, zorder=2
            )


def draw_row(ax: "Axes", place: float, row: Row) -> None:
    """A tau with its interval: filled for the draws, hollow for the reference, larger for all together."""
    if math.isnan(row.tau.value):
        return
    marks = _DRAWS if row.of_draws else _hollow(ax)
    size, width = (6.0, 2.2) if row.pooled else (4.0, 1.2)
    marker = {**marks, "marker": "D"} if row.pooled else marks
    ax.plot(row.tau.ci, (place, place), color=marks["color"], linewidth=width, solid_capstyle="butt")
    ax.plot(row.tau.value, place, markersize=size, linestyle="none", markeredgewidth=1.0, **marker)


def _hollow(ax: "Axes") -> dict[str, Any]:
    return _AIM | {"markerfacecolor": ax.get_facecolor()}


def _draw_aim(ax: "Axes", tau: float, aim: Estimate | None) -> None:
    """A line at the target tau, through all rows."""
    if aim is not None and math.isfinite(aim.se):
        ax.axvspan(*aim.ci, color=look.ORANGE, alpha=0.18, linewidth=0, zorder=0)
    ax.axvline(tau, color=look.ORANGE if aim is not None else look.ink(), linestyle="--", linewidth=1.0, zorder=0.5)


def _label_rows(ax: "Axes", rows: Sequence[Row], places: Sequence[float]) -> None:
    """Labels of all rows, or of as many as fit: those of all chains together, and every second, fifth, tenth ... chain."""
    from matplotlib.font_manager import FontProperties

    height = 72.0 * ax.get_window_extent().height / ax.figure.dpi
    room = max(height / (_LINE * FontProperties(size="small").get_size_in_points()), 2.0)
    line = (places[-1] + 1.2) / room  # number of rows that one line of text covers
    every = next((step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if step >= line), len(rows))
    kept = [k for k, row in enumerate(rows) if row.pooled]
    for k, row in enumerate(rows):
        wanted = not row.pooled and row.number % every == 0
        if wanted and all(abs(places[k] - places[other]) >= min(line, every) for other in kept):
            kept.append(k)
    kept.sort()
    ax.set_yticks([places[k] for k in kept], [rows[k].label for k in kept], fontsize="small")
    ax.tick_params(axis="y", length=0, left=False)


def _tell_stuck(ax: "Axes", rows: Sequence[Row], places: Sequence[float], *, crowded: bool) -> None:
    """Mark the rows of chains that do not vary."""
    stuck = [place for place, row in zip(places, rows, strict=True) if math.isnan(row.tau.value)]
    if not stuck:
        return
    frame = ax.get_yaxis_transform()
    if crowded:  # no room for text in every row
        ax.plot([0.01] * len(stuck), stuck, "x", color=look.ink(), markersize=3, markeredgewidth=0.8, transform=frame)
        text = f"x: {len(stuck)} that {'do' if len(stuck) > 1 else 'does'} not vary"
        ax.annotate(text, (1.0, 1.0), xycoords="axes fraction", ha="right", va="bottom", fontsize="x-small")
        return
    for place in stuck:
        _write_across(ax, place, "does not vary")


def _write_across(ax: "Axes", place: float, words: str) -> None:
    """Words instead of the tau of a row that has none."""
    ax.text(
        0.5, place, words, transform=ax.get_yaxis_transform(), ha="center", va="center", fontsize="x-small", style="italic",
        bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.0},
    )  # fmt: skip


# ---- the worst pairs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairTaus:
    """The taus of one pair: of each chain, of all draws, and of the target or the reference."""

    chains: tuple[Estimate, ...]
    pooled: Estimate
    aim: Estimate | None


def pair_taus(result: Pairwise, pair: PairGap) -> PairTaus:
    """The taus of a pair in the ranking; without intervals for an edge of a vine that has no draws of its own."""
    draws, reference = result.samples
    own = not getattr(pair, "given", ())
    aim = Estimate.unknown(pair.tau_target) if not math.isnan(pair.tau_target) else None
    if not pair_is_ordered(draws, pair.names):
        return PairTaus((), Estimate.unknown(math.nan), None)
    if not own:
        return PairTaus((), Estimate.unknown(pair.tau), aim)
    pooled, chains = _sample_taus(result, draws, result.independent[0], pair)
    if reference is not None:
        aim, _ = _sample_taus(result, reference, result.independent[1], pair)
    return PairTaus(chains if len(chains) > 1 else (), pooled, aim)


def _sample_taus(result: Pairwise, draws: Draws, iid: bool, pair: PairGap) -> tuple[Estimate, tuple[Estimate, ...]]:
    chosen = draws.select(pair.names)
    if isinstance(chosen, CountedDraws):
        block = block_of(chosen.counted(), [(0, 1)], compare=False, iid=iid).finish()
    else:
        complete = as_draws(chosen, missing="drop")  # as in the row
        block = block_of(RankedTable.of(complete), [(0, 1)], compare=False, iid=iid).finish()
    spread, agreement = block.spreads["tau"].at(0), chain_agreement(block, 0, confidence=result.confidence)
    tau = Estimate.of(block.taus[0], spread, tested=False, limits=(-1.0, 1.0), confidence=result.confidence)
    return tau, agreement.taus


def _pairs_forest(result: Pairwise, chosen: Sequence[PairGap], ax: Any) -> "Axes":
    with look.canvas(ax, size=(5.2, 0.9 + 0.42 * len(chosen))) as axes:
        found = [pair_taus(result, pair) for pair in chosen]
        for place, (taus, pair) in enumerate(zip(found, chosen, strict=True)):
            _draw_pair(axes, place, taus)
            if not pair_is_ordered(result.samples[0], pair.names):
                _write_across(axes, place, "no order, so no tau")
        axes.set_ylim(len(chosen) - 0.5, -0.5)
        for edge in range(1, len(chosen)):
            axes.axhline(edge - 0.5, color=look.GREY, linewidth=0.3)
        axes.set_yticks(range(len(chosen)), [_pair_words(pair) for pair in chosen], fontsize="x-small", **look.PLAIN)
        axes.tick_params(axis="y", length=0, left=False)
        axes.grid(False, axis="y")
        axes.xaxis.set_major_locator(look.few_ticks(axes))
        axes.set_xlabel(f"Kendall's tau, {100 * result.confidence:g}% intervals", fontsize="small", **look.PLAIN)
        pairs_legend(axes, found, f"all {result.things}", "reference" if result.samples[1] is not None else "target")
    return axes


def _draw_pair(ax: "Axes", place: int, taus: PairTaus) -> None:
    chains = [chain.value for chain in taus.chains]
    ax.plot(chains, [place - 0.26] * len(chains), "|", color=look.BLUE, markersize=5.0, markeredgewidth=0.9)
    draw_row(ax, place, Row("", taus.pooled, True, True))
    if taus.aim is not None:
        draw_row(ax, place + 0.26, Row("", taus.aim, True, False))


def _pair_words(pair: PairGap) -> str:
    """Both names, on two lines unless they fit on one short line."""
    given = getattr(pair, "given", ())
    first, second = (look.plain(name, 17) for name in pair.names)
    condition = f"\n| {look.plain(', '.join(given), 17)}" if given else ""
    between = " ~ " if len(first) + len(second) < 15 else "\n~ "
    return f"{first}{between}{second}{condition}"


def pairs_legend(ax: "Axes", found: Sequence[PairTaus], pooled: str, aim: str) -> None:
    """What chains, draws and target look like, of those that were drawn."""
    from matplotlib.lines import Line2D

    handles = {
        "chains": Line2D([], [], linestyle="none", marker="|", color=look.BLUE),
        pooled: Line2D([], [], linewidth=2.2, **{**_DRAWS, "marker": "D"}),
        aim: Line2D([], [], linewidth=2.2, **{**_hollow(ax), "marker": "D"}),
    }
    if not any(taus.chains for taus in found):
        del handles["chains"]
    if all(taus.aim is None for taus in found):
        del handles[aim]
    look.legend_above(ax, handles, right=True)
