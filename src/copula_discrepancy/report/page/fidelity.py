"""The page of a fidelity score: how much of a real table's dependence a synthetic table keeps, for those who will use it."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import VOID, Caveat
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.fidelity_tables import numbered
from copula_discrepancy.compare.groups_wording import left_out_words
from copula_discrepancy.compare.level_gaps import level_gaps
from copula_discrepancy.compare.wording import counted, pair_label, percentage, short_names, shortened
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.matching import matched
from copula_discrepancy.data.missingness import with_missingness
from copula_discrepancy.data.naming import listed
from copula_discrepancy.report.page import methods
from copula_discrepancy.report.page.columns import EXPLAINED, column_pictures, words_beside
from copula_discrepancy.report.page.meaning import explained
from copula_discrepancy.report.page.pictures import packed, page_style, png_image
from copula_discrepancy.report.page.strip import SHOWN, strip
from copula_discrepancy.report.page.writing import page_path, write_page
from copula_discrepancy.report.plots.columns import TwoColumns
from copula_discrepancy.report.plots.maps import cell_colours, white_reads_better

# A share kept from which the dependence of a pair can be relied on, and below which it cannot; between them, with care.
GOOD, POOR = 0.9, 0.5
TABLE_ROWS = 2000  # pairs in the table
_MAPPED = 60  # columns on the map
_NUMBERED = 12  # columns for which numbers fit into the cells
_CELLS = ((_NUMBERED, 40), (25, 24), (_MAPPED, 16))  # pixels of a cell, for up to this many columns
_NAME, _LABEL = 60, 28  # characters of a name in the table, and next to the map
_LISTED = 5  # pairs, or columns, named in a sentence
_NO_WEIGHT = 1e-9  # of all pairs of a column: what rounding leaves
_UNKNOWN = -(2**15)
_UNIT = 1e-3
_WHOSE = ("real table", "synthetic table")
_THE_REAL = "the real table"
_METHOD = (
    "For each pair of columns, the dependence of the synthetic table is compared with that of the real one by its form, which "
    "sees every kind of dependence between columns of any kind. Only significant differences of form, or of the strength of "
    "two columns with an order, count (false discovery rate 5% over all pairs).",
    "A pair scores 100% if no difference was found, 0% if its dependence was lost, invented or reversed, and about 50% if it "
    "was halved. The score of the table is the mean over its pairs, weighted by the strength of their dependence.",
    "A loss too small to detect with so few rows does not count; the lower end of the interval includes it. Rows with a "
    "missing value are left out pair by pair; where values are missing is compared as a column of its own.",
)
_TERMS = {
    "score": "The share of a pair's dependence that is kept, after what chance explains; 100% is right.",
    "weight": "The part of the table's score that the pair has: pairs with a strong dependence count more.",
    "tau": "Kendall's tau, between -1 and 1: how surely high values come with high ones. Columns without an order have none.",
    "kept": "The share of the real table's dependence, of any kind, that the synthetic table has too.",
    "kind": "numeric, date and duration are numbers; ordinal, boolean and missing have few ordered values; nominal has none.",
}


def write_fidelity_page(
    breakdown: Mapping[str, Any],
    path: Any,
    *,
    real: Draws,
    synthetic: Draws,
    force: bool = False,
    pictures: int = 6,
    command: str | None = None,
) -> Path:
    """Write a self-contained page about a fidelity score and, next to it, a .json file with its numbers; return its path.

    Parameters
    ----------
    breakdown : mapping
        What `DependenceFidelity.compute_breakdown` returned for these tables.
    path : path
        Path of the page, ending in .html, in an existing folder.
    real, synthetic : Draws
        The two tables.
    force : bool
        Overwrite existing files.
    pictures : int
        Number of the worst pairs that are drawn.
    command : str, optional
        The command that the page shows as its origin; by default the call in Python.

    Returns
    -------
    Path
        Path of the page.

    Raises
    ------
    InputError
        For anything but a breakdown and Draws, or if the page cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import copula_discrepancy as cd
    >>> from copula_discrepancy.report.page.fidelity import write_fidelity_page
    >>> real, copy = (cd.as_draws(cd.Gumbel(2.5).sample(500, rng=seed)) for seed in (1, 2))
    >>> breakdown = cd.DependenceFidelity.compute_breakdown(real, copy)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fidelity.html"
    ...     "keeps" in write_fidelity_page(breakdown, path, real=real, synthetic=copy).read_text()
    True
    """
    if not isinstance(breakdown, Mapping) or not {"score", "pairs"} <= set(breakdown):
        raise InputError(f"breakdown must be what DependenceFidelity.compute_breakdown returns, got {type(breakdown).__name__}")
    for table, name in ((real, "real"), (synthetic, "synthetic")):
        if not isinstance(table, Draws):
            raise InputError(f"{name} must be Draws, got {type(table).__name__}; read it with as_draws() first")
    checked = page_path(path, force)
    made = methods.made(command or _call(checked))
    # indicators of missing values are columns of pairs too
    extended, others, _ = with_missingness(*matched(synthetic, real))
    content = _content(breakdown, real if others is None else others, extended, pictures) | {"made": made}
    return write_page(checked, content, numbered(breakdown) | {"made": made}, force=force, template="fidelity.html.j2")


def _call(path: Path) -> str:
    return f"write_fidelity_page(breakdown, {str(path)!r}, real=real, synthetic=synthetic)"


def _content(breakdown: Mapping[str, Any], real: Draws, synthetic: Draws, pictures: int) -> dict[str, Any]:
    pairs: Mapping[tuple[str, str], Mapping[str, Any]] = breakdown["pairs"]
    caveats = [Caveat(entry["code"], entry["sentence"], entry.get("advice", "")) for entry in breakdown.get("caveats", ())]
    score = float(breakdown["score"])
    void = any(caveat.severity == VOID for caveat in caveats)
    by_column = column_scores(pairs)
    uses = _uses(pairs, by_column)
    details = _details(pairs, real, synthetic, pictures)
    said = {str(caveat) for caveat in caveats}
    sentences = _sentences(breakdown, pairs, by_column)
    if void:
        sentences = {topic: text for topic, text in sentences.items() if topic in ("Answer", "Left out")}
    return {
        "heading": _heading(score, void),
        "state": "unknown" if void else _state(score, uses, breakdown.get("groups")),
        "title": _title(breakdown, real, synthetic),
        "gauge": None if void else _gauge(score, breakdown.get("interval")),
        "sentences": sentences,
        "caution": {"first": str(caveats[0]), "more": len(caveats) - 1} if caveats else None,
        "uses": [] if void else uses,
        "columns": strip(real, synthetic, by_column, dict(breakdown.get("left_out", {}))),
        "more_columns": max(len(real.names) - SHOWN, 0),
        "maps": _map(pairs, real) if len(by_column) > 2 else None,
        "table": _table(pairs, {detail["key"] for detail in details}),
        "groups": _groups(breakdown.get("groups")),
        "details": details,
        "drawn": [EXPLAINED[kind].format(reference=_WHOSE[0], things=_WHOSE[1]) for kind in EXPLAINED if _has(details, kind)],
        "clouds": _has(details, "cloud"),
        "notes": [*explained(caveats), *((note, "") for note in breakdown.get("warnings", ()) if note not in said)],
        "methods": _METHOD,
        "terms": _TERMS,
        "paper": methods.PAPER,
    }


def _has(details: Sequence[Mapping[str, Any]], picture: str) -> bool:
    return any(detail["picture"] == picture for detail in details)


# ---- the answer ----------------------------------------------------------------------------------------------------


def _heading(score: float, void: bool) -> str:
    if void:
        return "Void: both tables contain the same rows, so there is no score"
    if not math.isfinite(score):
        return "No pair of columns could be compared"
    if score >= 0.995:
        return "The synthetic table keeps the dependence of the real one"
    if score < 0.005:
        return "The synthetic table keeps none of the dependence"
    return f"The synthetic table keeps {percentage(score)} of the dependence"


def _state(score: float, uses: Sequence[tuple[str, str, str]], groups: Any) -> str:
    """The mark of the answer; an unknown score is neither good nor bad, and a good one may hide a lost column or group."""
    if not math.isfinite(score):
        return "unknown"
    if score < GOOD:
        return "off"
    lost = any(kind == "off" for kind, _, _ in uses) or any(entry["score"] < POOR for entry in (groups or {}).values())
    return "care" if lost else "fine"


def _title(breakdown: Mapping[str, Any], real: Draws, synthetic: Draws) -> str:
    rows = [f"{counted(table.n_chains * table.n_draws, 'row')}" for table in (real, synthetic)]
    n, possible = len(breakdown["pairs"]), breakdown.get("n_possible_pairs", len(breakdown["pairs"]))
    compared = counted(n, "pair") if n == possible else f"{n:,} of {counted(possible, 'pair')}"
    return f"real table {rows[0]}, synthetic table {rows[1]}, {compared} of columns compared"


def _gauge(score: float, interval: Any) -> dict[str, Any] | None:
    """Places on a scale from 0 to 100: the score, and its interval if there is one."""
    if not math.isfinite(score):
        return None
    low, high = (float(end) for end in interval) if interval is not None else (math.nan, math.nan)
    known = math.isfinite(low) and math.isfinite(high)
    said = f"{percentage(score)} of the dependence kept"
    said += f", 95% interval {percentage(low)} to {percentage(high)}" if known else ""
    place = {"score": f"{100 * score:.1f}", "low": f"{100 * low:.1f}", "width": f"{100 * (high - low):.1f}", "known": known}
    return place | {"words": said, "text": percentage(score), "good": 100 * GOOD, "poor": 100 * POOR}


def _sentences(
    breakdown: Mapping[str, Any], pairs: Mapping[tuple[str, str], Mapping[str, Any]], by_column: Mapping[str, float]
) -> dict[str, str]:
    said = {"Answer": f"{breakdown['answer']}."} if breakdown.get("answer") else {}
    low = {names: entry for names, entry in pairs.items() if entry["score"] < GOOD}
    if low:
        names, entry = next(iter(low.items()))
        meaning = f": {entry['meaning'].rstrip('.')}" if entry.get("meaning") else f", score {percentage(entry['score'])}"
        said["Worst pair"] = f"{shortened(pair_label(*names), 2 * _NAME)}{meaning}."
        worst = sorted((score, name) for name, score in by_column.items() if score < GOOD)[:_LISTED]
        if worst:
            parts = [f"{shortened(name, _LABEL)} ({percentage(score)})" for score, name in worst]
            said["Columns"] = f"those that lost most of their dependence on others: {', '.join(parts)}."
    counts = sum(entry["score"] >= GOOD for entry in pairs.values())
    said["Pairs"] = f"{counts:,} of {counted(len(pairs), 'pair')} kept at least {percentage(GOOD)}."
    if breakdown.get("left_out"):
        said["Left out"] = f"{listed([f'{name} ({why})' for name, why in breakdown['left_out'].items()], _LISTED)}."
    groups = breakdown.get("groups")
    if groups:
        worst = min(groups, key=lambda label: groups[label]["score"])
        lowest = f"{shortened(str(worst), _LABEL)}, {percentage(groups[worst]['score'])}"
        said["Groups"] = f"by {' and '.join(breakdown.get('by', ['group']))}, the lowest score is that of {lowest}."
    if breakdown.get("groups_left_out"):
        said["No score"] = f"groups {left_out_words(breakdown['groups_left_out'])}."
    return said


def column_scores(pairs: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[str, float]:
    """The mean score of the pairs of each column, by their weights: how much of its dependence on all others is kept.

    NaN for a column that depends on no other: there is nothing to keep.
    """
    total: dict[str, float] = {}
    weights: dict[str, float] = {}
    for names, entry in pairs.items():
        for name in names:
            total[name] = total.get(name, 0.0) + entry["weight"] * entry["score"]
            weights[name] = weights.get(name, 0.0) + entry["weight"]
    return {name: total[name] / weights[name] if weights[name] > _NO_WEIGHT else math.nan for name in total}


def _uses(pairs: Mapping[tuple[str, str], Mapping[str, Any]], by_column: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """What the table can be used for, and what not: a class for the colour, a topic and a sentence."""
    poor, between, good = (
        [names for names, entry in pairs.items() if low <= entry["score"] < high]
        for low, high in ((-math.inf, POOR), (POOR, GOOD), (GOOD, math.inf))
    )
    uses = []
    if poor:
        rest = "Any result that rests on it will be wrong: comparisons of groups, correlations, models of one from the other."
        uses.append(("off", "Do not use it for", f"{_some(poor)}: most of the dependence is lost or was invented. {rest}"))
    if between:
        uses.append(
            ("", "With care", f"{_some(between)}: part of the dependence is kept; effects come out too small or distorted.")
        )
    strong = [names for names in good if pairs[names]["weight"] > _NO_WEIGHT]
    if strong:
        order = sorted(strong, key=lambda names: -pairs[names]["weight"])
        uses.append(("fine", "It can stand in for", f"{_some(order)}: no difference that matters was found."))
    targets = [name for name, score in sorted(by_column.items(), key=lambda entry: entry[1]) if score < POOR]
    if targets:
        names = listed([shortened(name, _LABEL) for name in targets], _LISTED)
        uses.append(
            (
                "off",
                "Models",
                f"Do not train a model that predicts {names} on it: what predicts them in the real table is lost here.",
            )
        )
    return uses


def _some(names: Sequence[tuple[str, str]]) -> str:
    return listed([shortened(pair_label(*pair), 2 * _LABEL) for pair in names], _LISTED)


# ---- parts ---------------------------------------------------------------------------------------------------------


def _map(pairs: Mapping[tuple[str, str], Mapping[str, Any]], real: Draws) -> dict[str, Any]:
    """The scores of all pairs as a heat map; of many columns, those in the worst pairs."""
    worst = list(dict.fromkeys(name for names in pairs for name in names))[:_MAPPED]
    names = [name for name in real.names if name in worst] or worst
    place = {name: k for k, name in enumerate(names)}
    cells = np.full((len(names),) * 2, np.nan)
    for (first, second), entry in pairs.items():
        if first in place and second in place:
            cells[place[first], place[second]] = cells[place[second], place[first]] = entry["score"]
    shown, d = cells - 1.0, len(names)
    texts = [
        {
            "row": i + 1,
            "column": j + 1,
            "text": percentage(cells[i, j]),
            "tone": "white" if white_reads_better(shown[i, j], 1.0) else "",
        }
        for i, j in zip(*np.nonzero(np.isfinite(cells)), strict=True)
        if d <= _NUMBERED
    ]
    numbers = np.where(np.isfinite(cells), np.round(np.nan_to_num(cells) / _UNIT), _UNKNOWN).astype(np.int16)
    low = int(np.sum(np.triu(cells < GOOD, 1)))
    alt = f"Scores of {len(pairs):,} pairs as a heat map, {low:,} of them below {percentage(GOOD)}."
    one = {
        "name": "score", "label": "kept", "form": "share", "ends": ("0%", "100%"), "says": "the darker, the more is lost",
        "image": png_image(cell_colours(shown, 1.0)), "texts": texts, "beyond": low, "alt": alt,
        "counted": f"{low:,} below {percentage(GOOD)}",
    }  # fmt: skip
    data = {"names": short_names(names, _NAME), "unit": _UNIT, "unknown": _UNKNOWN, "untested": _UNKNOWN + 1, "plain": True}
    return {
        "names": short_names(names, _LABEL),
        "cell": next(pixels for most, pixels in _CELLS if d <= most),
        "d": d,
        "of": len({name for names in pairs for name in names}),
        "maps": [one],
        "data": json.dumps(data | {"score": packed(numbers.reshape(-1))}),
    }


def _table(pairs: Mapping[tuple[str, str], Mapping[str, Any]], links: set[str]) -> dict[str, Any]:
    """All pairs as text, worst first; columns that no pair has are left out."""
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "score": lambda entry: _share(entry["score"]),
        "kept": lambda entry: _share(entry.get("kept", math.nan)),
        "form": lambda entry: _plain(entry.get("form", math.nan), ".2f"),
        "weight": lambda entry: _share(entry["weight"]),
        "tau real": lambda entry: _plain(entry.get("tau_real", math.nan), ".2f"),
        "tau synthetic": lambda entry: _plain(entry.get("tau_synthetic", math.nan), ".2f"),
    }
    shown = list(pairs.items())[:TABLE_ROWS]
    cells = {head: [cell(entry) for _, entry in shown] for head, cell in columns.items()}
    heads = [head for head, column in cells.items() if any(text != "-" for text in column)]
    rows = []
    for k, (names, entry) in enumerate(shown):
        key = f"pair-{k + 1}"
        rows.append({
            "names": [shortened(name, _NAME) for name in names], "link": key if key in links else None,
            "verdict": entry.get("verdict") or _verdict(entry["score"]), "flagged": entry["score"] < GOOD,
            "kinds": " ~ ".join(entry.get("kinds", ())), "cells": [cells[head][k] for head in heads],
        })  # fmt: skip
    kinds = any(row["kinds"] for row in rows)
    flagged = any(row["flagged"] for row in rows)
    return {"heads": heads, "rows": rows, "kinds": kinds, "flagged": flagged, "shown": len(rows), "total": len(pairs)}


def _verdict(score: float) -> str:
    return "kept" if score >= GOOD else "partly kept" if score >= POOR else "lost"


def _share(value: float) -> str:
    return percentage(value) if math.isfinite(value) else "-"


def _plain(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"


def _groups(groups: Any) -> list[dict[str, Any]]:
    """Scores within groups of rows, worst first."""
    rows = []
    for name, entry in (groups or {}).items():
        score, (low, high) = float(entry["score"]), entry.get("interval") or (math.nan, math.nan)
        interval = f"{percentage(low)} to {percentage(high)}" if math.isfinite(low) and math.isfinite(high) else "-"
        counts = [f"{entry[key]:,}" if key in entry else "-" for key in ("n_real", "n_synthetic")]
        label = " / ".join(map(str, name)) if isinstance(name, tuple) else str(name)
        said = entry.get("verdict") or entry.get("answer") or (_verdict(score) if math.isfinite(score) else "not tested")
        row = {"name": shortened(label, _NAME), "score": _share(score), "verdict": said, "flagged": score < GOOD}
        rows.append((score, row | {"cells": [interval, *counts]}))
    return [row for _, row in sorted(rows, key=lambda entry: entry[0] if math.isfinite(entry[0]) else math.inf)]


def _details(
    pairs: Mapping[tuple[str, str], Mapping[str, Any]], real: Draws, synthetic: Draws, count: int
) -> list[dict[str, Any]]:
    """The worst pairs in pictures."""
    details = []
    with page_style():
        for k, (names, entry) in enumerate(list(pairs.items())[:count], start=1):
            if any(name not in table.names for name in names for table in (real, synthetic)):
                continue
            columns, key = TwoColumns.of(synthetic, real, *names, whose=_WHOSE), f"pair-{k}"
            verdict = entry.get("verdict") or _verdict(entry["score"])
            level = _by_level(synthetic.select(names), real.select(names)) if entry["score"] < GOOD else ""
            details.append({
                "key": key, "names": names, "picture": columns.picture, "pictures": column_pictures(columns, key),
                "beside": words_beside(columns), "verdict": verdict, "flagged": entry["score"] < GOOD,
                "meaning": _sentence(entry.get("meaning", "")), "levels": _sentence(level),
                "score": percentage(entry["score"]), "weight": percentage(entry["weight"]),
            })  # fmt: skip
    return details


def _by_level(synthetic: Draws, real: Draws) -> str:
    """The largest difference between the levels of a column in words; empty for two columns of many values."""
    try:
        return level_gaps(synthetic, real, "", "rows", _THE_REAL).sentence
    except InputError:
        return ""


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:].rstrip('.')}." if words else ""
