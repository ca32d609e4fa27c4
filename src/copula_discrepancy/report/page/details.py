"""One pair on the page: its verdict, two clouds, gaps, chains and the running gap, as plots and text."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import NormalDist
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import DependenceWarning, InputError
from copula_discrepancy.compare.counted_draws import as_pictured
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.one_of_many import compared_draws
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.compare.wording import NO_GAP, chance, kept_words, shortened, tail_sentence
from copula_discrepancy.estimate.counted_pair import CountedPair
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.tails import CORNERS
from copula_discrepancy.estimate.uncertainty import Estimate
from copula_discrepancy.report.page.columns import column_pictures, words_beside
from copula_discrepancy.report.page.meaning import explained
from copula_discrepancy.report.page.methods import SEED
from copula_discrepancy.report.page.pictures import Picture, inline_figures, page_style, square_map
from copula_discrepancy.report.plots.clouds import Tested, draw_pair, tail_shares
from copula_discrepancy.report.plots.columns import CLOUD, WHOSE, TwoColumns, pair_is_ordered
from copula_discrepancy.report.plots.densities import MISSING, SURPLUS, Densities
from copula_discrepancy.report.plots.forests import Forest, draw_chains, fit_agreement, plot_tau_forest
from copula_discrepancy.report.plots.gap_bars import plot_gaps
from copula_discrepancy.report.plots.maps import beyond_chance, cell_colours, percentage
from copula_discrepancy.report.plots.traces import plot_trace, running_gaps

_WIDE = 3.4  # inches of a picture: two side by side on a desktop, stacked on a phone
_PREFIXES = 14  # numbers of draws at which the running gap is drawn
_LABEL = 28  # characters of a name beside a heat map
_NAMED = 8  # chains whose taus are listed


@dataclass(frozen=True)
class Detail:
    """The content of the page about one pair."""

    key: str
    names: tuple[str, str]
    verdict: str
    flagged: bool
    sentences: dict[str, str]
    rows: list[list[str]] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    beside: tuple[str, ...] = ()  # a few words on each of the two clouds, which are the first pictures
    numbers: dict[str, Any] = field(default_factory=dict)
    picture: str = CLOUD  # what the first pictures are
    where: str = ""  # the group of rows, if not all


def worst_pairs(result: Pairwise, count: int, *, key: str = "pair", where: str = "") -> list[Detail]:
    """The first pairs of a ranking; if a pair has no pictures, its text gives the reason.

    Keys begin with `key`; `where` is the group of rows that the ranking is about.

    Edges of a vine from its second tree on have no draws of their own, and are skipped.
    """
    drawable = ((rank, gap) for rank, gap in enumerate(result, start=1) if not getattr(gap, "given", ()))
    with page_style():
        found = [_of_pair(result, gap, rank, f"{key}-{rank}") for rank, gap in islice(drawable, count)]
    return [replace(detail, where=where) for detail in found]


def _of_pair(result: Pairwise, gap: PairGap, rank: int, key: str) -> Detail:
    columns = _suitable(result, gap)
    if columns is not None and not pair_is_ordered(result.samples[0], gap.names):
        return _unordered(result, gap, key, columns)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DependenceWarning)  # the page shows them next to the pictures
            detailed = result.pair(*gap.names) if result.kind != "nothing" else result.fitted(*gap.names)
    except InputError as error:
        return Detail(key, gap.names, gap.verdict, gap.flagged, {"Pictures": f"none: {error}."}, numbers=gap.to_dict())
    if isinstance(detailed, Fit):
        off = tuple(name for name in CORNERS if beyond_chance(result, name)[rank - 1])
        row = result.rows[rank - 1]
        misfit = bool(np.fmin(row["shape_adjusted"], row["form_adjusted"]) < 1.0 - result.confidence)
        draws, notes = compared_draws(result, row)
        tested = Tested(result.things, result.tail, off, (misfit, False), (draws.diverging, None))
        found = _of_fit(detailed, gap, key, result.confidence, tested, result.order)
        return replace(found, notes=[*((note, "") for note in notes), *found.notes])
    found = _compared(detailed, key, verdict=gap.verdict, flagged=gap.flagged, columns=columns)
    return found if columns is None else replace(found, sentences=_by_level(result, gap) | found.sentences)


def _suitable(result: Pairwise, gap: PairGap) -> TwoColumns | None:
    """The columns of a pair that clouds do not suit: without an order or, next to a reference, with few values."""
    draws, reference = result.samples
    if reference is None and pair_is_ordered(draws, gap.names):
        return None  # the picture beside the draws is that of a copula, which is a cloud
    whose = WHOSE[0], result.things
    both = [None if sample is None else as_pictured(sample, *gap.names) for sample in (draws, reference)]
    assert both[0] is not None
    columns = TwoColumns.of(both[0], both[1], *gap.names, whose=whose)
    return None if columns.picture == CLOUD else columns


def _unordered(result: Pairwise, gap: PairGap, key: str, columns: TwoColumns) -> Detail:
    """A pair with a column that has no order: it has a form, and no level, shape or tails."""
    sentences = _by_level(result, gap) | {"Form": _unordered_form(result, gap)}
    if math.isfinite(gap.dependence_target):
        size = f"{gap.dependence:.2f} in the {result.things}, {gap.dependence_target:.2f} in the reference"
        sentences["Dependence"] = f"{size}; 0 is independence."
    sentences["Level"] = "not defined, as shape and tails are not: a column has no order."
    pictures = column_pictures(columns, key, draws_first=True)
    beside = words_beside(columns, draws_first=True)
    numbers = gap.to_dict()
    return Detail(
        key, gap.names, gap.verdict, gap.flagged, sentences, [], pictures, [], beside, numbers, picture=columns.picture
    )


def _by_level(result: Pairwise, gap: PairGap) -> dict[str, str]:
    """The largest difference between the levels of a column in words, if a gap was found."""
    if not gap.flagged or result.samples[1] is None:
        return {}
    try:
        said = result.levels(*gap.names).sentence
    except InputError:  # both have many values, or no level has rows in both samples
        return {}
    return {"Levels": f"{said}."}


def _unordered_form(result: Pairwise, gap: PairGap) -> str:
    """Whether such a pair has the right dependence, and how much of it is kept."""
    if math.isnan(gap.form_pvalue):
        return "cannot be tested: too few values or rows."
    reach = NormalDist().inv_cdf(0.5 + 0.5 * result.confidence) * gap.kept_se
    kept = kept_words(gap.kept, (gap.kept - reach, gap.kept + reach), result.confidence, "the reference's", result.things)
    found = gap.form_adjusted < 1.0 - result.confidence
    return f"{'wrong' if found else NO_GAP} ({chance(gap.form_pvalue, gap.form_adjusted)}).{kept}"


def of_one(result: Discrepancy, key: str) -> Detail:
    """The pair of a page about a single pair."""
    with page_style():
        return _compared(result, key, verdict=result.verdict, flagged=result.gap_found)


def _compared(result: Discrepancy, key: str, *, verdict: str, flagged: bool, columns: TwoColumns | None = None) -> Detail:
    """A pair with a target; `columns` are drawn instead of clouds, which do not suit them."""
    counted, tested = isinstance(result.fit.pair, CountedPair), Tested.of(result)
    running = None if counted else running_gaps(result, _PREFIXES)  # counts do not know which rows came first
    chains = sum(len(agreement.taus) for agreement in (result.agreement, result.reference_agreement) if agreement is not None)
    other = "target" if result.reference is None else "reference"
    whose = "the reference" if result.reference is not None else f"{result.n:,} {result.things} simulated from the target"
    form, density = result.form, Densities.of(result.form)
    size = f"form {form.value:.2f}" if math.isfinite(form.pvalue) else "form not tested"
    kept = f", kept {percentage(form.kept.value)}" if math.isfinite(form.kept.value) else ""
    beside: tuple[str, ...] = f"{result.things}: tau {result.tau:.2f}", f"{other}: tau {result.tau_target:.2f}"
    if columns is None:
        first = _clouds(result, tested, key, f"The same for {whose}, Kendall's tau {result.tau_target:.2f}.")
    else:
        first = column_pictures(columns, key, draws_first=True)
        beside = beside if len(first) > 1 else (", ".join(beside),)
    pictures = [
        *first,
        _form_map(density, result.fit, result.things, other, f"{size}{kept}", key),
        _picture(lambda ax: plot_gaps(result, ax=ax), 3.2, f"{key}-gaps", _said_gaps(result)),
        _picture(lambda ax: plot_tau_forest(result, ax=ax), _forest_height(chains), f"{key}-chains", _said_chains(result)),
    ]
    if running is not None:
        pictures.append(
            _picture(lambda ax: plot_trace(result, ax=ax, running=running), 2.6, f"{key}-trace", _said_trace(result))
        )
    names = result.fit.pair.names
    numbers = result.to_dict() | {
        "names": list(names),
        "tail_shares": tail_shares(result, tested),
        "running": None if running is None else running.to_dict(),
        "family_fits": [not misfit for misfit in tested.misfits],
    }
    told = {topic: text for topic, text in result.sentences().items() if topic != "Tested"}  # the page's answer says it once
    notes = [*explained(result.caveats), *((note, "") for note in result.notes)]
    drawn = CLOUD if columns is None else columns.picture
    return Detail(key, names, verdict, flagged, told, result.table_rows(), pictures, notes, beside, numbers, drawn)


def _of_fit(fit: Fit, gap: PairGap, key: str, confidence: float, tested: Tested, order: int) -> Detail:
    """A pair without a target: the draws next to simulations of the fitted family."""
    things = tested.things
    simulated = f"{fit.n:,} {things} simulated from the fitted {fit.family}"
    agreement = fit_agreement(fit, confidence)
    forest = Forest.of_fit(fit, confidence, things)
    by_chain = ", chain by chain" if len(agreement.taus) > 1 else ""
    chains = f"Kendall's tau of the {things}{by_chain}: {_each(agreement.taus)}."
    size = f"form {gap.form:.2f}" if math.isfinite(gap.form_pvalue) else "form not tested"
    pictures = [
        *_clouds(fit, tested, key, f"The same for {simulated}, Kendall's tau {fit.tau:.2f}."),
        _form_map(Densities.of_fit(fit, order), fit, things, f"fitted {fit.family}", size, key),
        _picture(lambda ax: draw_chains(forest, ax), _forest_height(len(agreement.taus)), f"{key}-chains", chains),
    ]
    difference = (
        f"fitted {fit.family}: its tau minus that of the {things}, {gap.tau:.2f}, is {gap.shape:+.3f} (se {gap.shape_se:.2g})."
    )
    sentences = {"Family": difference if math.isfinite(gap.shape_se) else f"fitted {fit.family}; {gap.verdict}."}
    sentences |= {"Form": _form_sentence(gap, fit.family, confidence, order)}
    shares = [_corner_words(fit, gap, name, tested) for name in tested.off_corners]
    sentences |= {"Tails": f"wrong: {'; '.join(shares)}."} if shares else {}
    numbers = fit.to_dict() | {"names": list(gap.names), "tail_shares": tail_shares(fit, tested)}
    numbers["agreement"] = agreement.to_dict()
    numbers |= {name: getattr(gap, name) for name in ("form", "form_se", "form_pvalue", "form_adjusted", "pattern")}
    numbers["family_fits"] = [not misfit for misfit in tested.misfits]
    beside = f"{things}: tau {fit.sample_tau:.2f}", f"fitted {fit.family}: tau {fit.tau:.2f}"
    notes = explained(fit.caveats)
    return Detail(key, gap.names, gap.verdict, gap.flagged, sentences, [], pictures, notes, beside, numbers)


def _form_sentence(gap: PairGap, family: str, confidence: float, order: int) -> str:
    """Whether the family describes every kind of dependence of the draws."""
    if math.isnan(gap.form_pvalue):
        return "cannot be tested: too few values or draws, or the dependence is perfect."
    said = chance(gap.form_pvalue, gap.form_adjusted)
    if not gap.form_adjusted < 1.0 - confidence:
        return f"{NO_GAP} ({said}), up to order {order}; finer patterns are not seen."
    kind = f"{gap.pattern}, which" if gap.pattern else "a pattern without a simple name, which"
    return f"wrong ({said}): {kind} {family} cannot describe."


def _corner_words(fit: Fit, gap: PairGap, name: str, tested: Tested) -> str:
    """A corner in one sentence."""
    where = CORNERS[name].words(fit.pair.names, tested.tail, tested.things)
    shares = getattr(gap, f"{name}_share"), getattr(gap, f"{name}_share_target")
    return tail_sentence(where, shares, f"{fit.family} at the same tau")


def _clouds(subject: Discrepancy | Fit, tested: Tested, key: str, beside: str) -> list[Picture]:
    """The cloud of the draws and the one next to it, described by `beside`."""
    fit = subject if isinstance(subject, Fit) else subject.fit
    first, second = fit.pair.names
    own = (
        f"Ranks of {second} against {first}, Kendall's tau {fit.sample_tau:.2f}, with contours of the fitted "
        f"{fit.family} and corners marked{_divergent(tested)}."
    )
    sizes = [(_WIDE, _WIDE + 0.25)] * 2
    return inline_figures(
        lambda axes: draw_pair(subject, tested, ax=axes, rng=SEED), sizes=sizes, key=f"{key}-cloud", alts=[own, beside]
    )


def _divergent(tested: Tested) -> str:
    """What is said of divergent draws in the description of a cloud."""
    marks = tested.diverging[0]
    return f", and {marks.sum():,} divergent draws" if marks is not None and marks.any() else ""


def _form_map(found: Densities, fit: Fit, things: str, whose: str, words: str, key: str) -> Picture:
    """Where the draws' density is below that of the target, and where above."""
    names = fit.pair.names
    short = [shortened(name, _LABEL) for name in names]
    of = "" if fit.pair.uniform else "rank of "
    limit = f"{found.limit:g}"
    if not found.known:
        words = f"{words}: nothing to draw"
    return square_map(
        cell_colours(found.difference[::-1], found.limit),
        key=f"{key}-form",
        title=(f"{things} minus {whose}, smoothed", words),
        labels=(f"{of}{short[0]}", f"{of}{short[1]}"),
        ends=(f"{MISSING} {things}  \N{MINUS SIGN}{limit}", f"+{limit}  {SURPLUS}"),
        alt=found.words(things, whose, names),
    )


def _picture(draw: Any, height: float, key: str, said: str) -> Picture:
    return inline_figures(draw, sizes=[(_WIDE, height)], key=key, alts=[said])[0]


def _forest_height(rows: int) -> float:
    return min(1.3 + 0.17 * rows, 4.5)


def _said_gaps(result: Discrepancy) -> str:
    parts = {name: result.estimates[name] for name in ("level", "shape", "total", "form")} | dict(result.tails)
    return "Gaps with their intervals: " + "; ".join(f"{k.replace('_', '-')} {_interval(v)}" for k, v in parts.items()) + "."


def _said_chains(result: Discrepancy) -> str:
    together = _interval(result.estimates["tau"])
    several = len(result.agreement.taus) > 1
    each = f", chain by chain: {_each(result.agreement.taus)}; together" if several else ""
    text = f"Kendall's tau of the {result.things}{each} {together}."
    if result.reference_agreement is not None:
        return f"{text} Of the reference: {_each(result.reference_agreement.taus)}."
    return f"{text} The target has {result.tau_target:.2f}."


def _said_trace(result: Discrepancy) -> str:
    things = result.things
    return (
        f"The total gap against the number of {things}, with its interval; with all {things} it is {_interval(result.total)}."
    )


def _each(taus: Sequence[Estimate]) -> str:
    more = f" and {len(taus) - _NAMED} more" if len(taus) > _NAMED else ""
    return ", ".join(_interval(tau) for tau in taus[:_NAMED]) + more


def _interval(estimate: Estimate) -> str:
    if not math.isfinite(estimate.value):
        return "unknown"
    if not math.isfinite(estimate.ci[0]):
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.ci[0]:.3f} to {estimate.ci[1]:.3f})"
