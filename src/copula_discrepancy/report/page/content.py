"""Contents of a page as plain data for the template: sentences, maps, table, details and explanations."""

import json
import math
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import reserved
from copula_discrepancy.compare.interactions_result import Interactions
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.compare.wording import answer_line, pair_label, short_names, short_pvalue, shortened
from copula_discrepancy.compare.worst_result import WorstConsequences
from copula_discrepancy.estimate.tails import CORNERS, along, part_name
from copula_discrepancy.report.page import consequences as effects
from copula_discrepancy.report.page import details, interactions, meaning, methods, over_time
from copula_discrepancy.report.page.columns import EXPLAINED
from copula_discrepancy.report.page.pictures import packed, png_image
from copula_discrepancy.report.plots.columns import pair_is_ordered
from copula_discrepancy.report.plots.maps import (
    KEPT,
    SIZES,
    beyond_chance,
    cell_colours,
    cell_text,
    coloured,
    gap_cells,
    percentage,
    white_reads_better,
)

TABLE_ROWS = 2000  # pairs in the table
JSON_PAIRS = 10_000  # pairs in the file next to the page, unless all are requested: 10 MB; 1,000 variables would take 480 MB
DETAILS = 6  # pairs with pictures
MAPPED = 300  # variables on a map; with more, those with the largest gaps
NAME = 60  # characters of a name in the table, to limit the size of the page; the JSON has full names
_LABEL = 28  # characters of a name next to a map
_NUMBERED = 12  # most variables for which numbers fit into the cells
_UNIT = 1e-3  # unit of the numbers that the script shows below a map
_UNKNOWN = -(2**15)
_MOST = 2**15 - 1
_CELLS = ((_NUMBERED, 40), (25, 24), (60, 16), (MAPPED, 13))  # cell size in pixels, for up to this many variables

_OWN_TERMS = (
    "level",
    "shape",
    "total",
    "form",
    "kept",
    "pattern",
    "se",
    "p",
    "low-low",
    "CKL",
    "n_eff",
)  # terms in the table of a single pair
_NOT_TESTED = _UNKNOWN + 1  # below the diagonal

Content = dict[str, Any]


def of_pairs(
    result: Pairwise,
    command: str,
    *,
    all_pairs: bool = False,
    triples: Interactions | None = None,
    consequences: WorstConsequences | None = None,
    pictured: int | None = None,
) -> tuple[Content, Content]:
    """The page of a ranking, and the JSON beside it: with every pair, or with the worst where there are very many.

    If `triples` were compared too, or `consequences` computed, they have sections of their own.
    """
    kept = len(result) if all_pairs else min(len(result), JSON_PAIRS)
    worst = details.worst_pairs(result, DETAILS if pictured is None else pictured)
    pairs = iter(result)
    shown = list(islice(pairs, TABLE_ROWS))
    table = _table(result, shown, {detail.key for detail in worst})
    said = {*result.notes, *result.warnings}
    content = _answer(result, command, resampled=consequences is not None) | {
        "title": result.title,
        "unit": result.unit,
        "alone": result.kind != "nothing" and result.adjust != "none",
        "ranked": True,
        # most pairs of columns of the past are not compared: a map would be nearly empty
        "maps": _maps(result) if len(result.names) > 2 and not result.lags else None,
        "time": over_time.section(result) if result.lags else None,
        "table": table,
        "groups": None,
        "triples": None if triples is None else interactions.section(triples),
        "consequences": None if consequences is None else effects.section(consequences, said),
        "details": worst,
        "drawn": _drawn(worst, result.things),
        "first": _first_label(result, worst),
        "sure": meaning.of_pairs(result),
        "notes": [
            *meaning.explained(result.caveats),
            *((note, "") for note in result.notes if note not in result.warnings),
            *effects.other_notes(consequences, said),
        ],
        "methods": [*methods.of_pairs(result), *([] if consequences is None else [effects.method(consequences)])],
        "terms": methods.terms([*table["heads"], "pattern", "family"], methods.errors_of(result), result.things)
        | _own_p(result),
        "omitted": _omitted(result, kept) if kept < len(result) else "",
    }
    if triples is not None and not result.void:  # right pairs are no good news if triples are wrong
        content["heading"] = f"{content['heading']}; {triples.verdict}"
        content["state"] = "off" if triples.outcome == "gap" else content["state"]
    if consequences is not None and consequences.outcome == "gap" and result.outcome in ("no gap", "not tested"):
        content["heading"] = f"{content['heading']}; {consequences.verdict}"
        content["state"] = "off"
    numbers = result.overview() | {"made": content["made"]}
    numbers["details"] = [detail.numbers | {"key": detail.key} for detail in worst]
    numbers |= {"omitted": content["omitted"]} if content["omitted"] else {}
    numbers |= {} if triples is None else interactions.numbers(triples, JSON_PAIRS)
    numbers |= {} if consequences is None else effects.numbers(consequences, None if all_pairs else JSON_PAIRS)
    return content, numbers | {f"{result.unit}s": (gap.to_dict() for gap in islice(chain(shown, pairs), kept))}


def _omitted(result: Pairwise, kept: int) -> str:
    """A sentence on what the JSON omits, and how to get it."""
    return (
        f"This file has the {kept:,} worst of {len(result):,} {result.unit}s, those with a gap first. "
        "to_html(..., all_pairs=True) in Python, or --json on the command line, writes all of them."
    )


def of_one(result: Discrepancy, command: str) -> tuple[Content, Content]:
    """The page of a single pair, and the JSON next to it."""
    random = ["the bootstrap"] if result.resampled else []
    random += ["CKL and CED"] if result.shannon != "exact" else []
    detail = details.of_one(result, "pair-1")
    content = _answer(result, command, random) | {
        "title": f"{shortened(pair_label(*result.fit.pair.names), 2 * NAME)}: {result.summary}",
        "unit": "pair",
        "alone": False,
        "ranked": result.margins == "rank",
        "maps": None,
        "time": None,
        "table": None,
        "groups": None,
        "triples": None,
        "consequences": None,
        "details": [detail],
        "drawn": [],
        "first": "",
        "sure": meaning.of_one(result),
        "notes": detail.notes,
        "methods": methods.of_one(result),
        "terms": methods.terms(_OWN_TERMS, methods.errors_of(result), result.things) | {"p": methods.SINGLE_P},
        "omitted": "",
    }
    return content, detail.numbers | {"made": content["made"]}


def _answer(result: Pairwise | Discrepancy, command: str, random: Sequence[str] = (), *, resampled: bool = False) -> Content:
    """The part common to all pages: the answer, the first warning with the number of others, and how the page was created."""
    warnings = result.warnings
    return {
        "heading": answer_line(result),
        "state": state_of(result),
        "caution": {"first": warnings[0], "more": len(warnings) - 1} if warnings else None,
        "sentences": result.sentences(),
        "part": part_name(result.tail),
        "things": result.things,
        "made": methods.made(command, random, resampled=resampled),
        "paper": methods.PAPER,
    }


def _first_label(result: Pairwise, worst: Sequence[details.Detail]) -> str:
    """What the pair beside the answer is; edges beyond the first tree of a vine have no clouds."""
    if worst and worst[0].key != "pair-1":
        return f"Worst {result.unit} of the first tree"
    return f"Worst {result.unit}" if result.n_flagged else f"{result.unit.capitalize()} with the largest gap"


def _drawn(worst: Sequence[details.Detail], things: str) -> list[str]:
    """What the pictures show that are no clouds."""
    return [
        text.format(reference="reference", things=things)
        for kind, text in EXPLAINED.items()
        if any(one.picture == kind for one in worst)
    ]


def _own_p(result: Pairwise) -> dict[str, str]:
    return (
        {"p": "The smallest of the p-values of level, shape, tails and form, not adjusted."} if result.adjust == "none" else {}
    )


def state_of(result: Discrepancy | Pairwise) -> str:
    """The colour of the answer; one with reservations, or about variables whose margins differ, is neither good nor bad."""
    if result.outcome == "gap":
        return "off"
    margins = result.margins if isinstance(result, Pairwise) else result.margin_gaps
    clear = not reserved(result.caveats) and not (margins is not None and margins.flagged)
    clear = clear and not (isinstance(result, Pairwise) and result.joint_differs)
    return "fine" if result.outcome == "no gap" and clear else "unknown"


# ---- table ---------------------------------------------------------------------------------------------------------


def _table(result: Pairwise, shown: Sequence[PairGap], links: set[str]) -> Content:
    """The ranking as text, with more columns than fit a terminal."""
    against, shaped = result.kind != "nothing", result.method != "moment"
    columns = [
        ("tau", "tau", ".2f", True),
        ("target", "tau_target", ".2f", against),
        ("level", "level", "+.3f", against),
        ("level se", "level_se", ".3f", against),
        ("shape", "shape", "+.3f", shaped),
        ("shape se", "shape_se", ".3f", shaped),
        ("form", "form", ".2f", True),
        ("kept", "kept", "%", against),
        ("p", "", "", True),
        *((CORNERS[name].label, name, "+.2f", True) for name in _shown_corners(result)),
        ("CKL", "ckl", ".4f", against and shaped),
        ("n_eff", "", "", True),
        ("R-hat", "rhat", ".3f", not result.independent[0]),
        ("n", "n", ",.0f", _differs(result.rows["n"])),
    ]
    known = [column for column in columns if column[3] and (not column[1] or np.isfinite(result.rows[column[1]]).any())]
    rows, short = [], dict(zip(result.names, short_names(result.names, NAME), strict=True))
    for rank, gap in enumerate(shown, start=1):
        special = {"p": short_pvalue(gap.pvalue), "n_eff": _number(float(np.fmin(gap.n_eff, gap.n_eff_target)), ",.0f")}
        cells = [special.get(head) or _number(getattr(gap, name), form) for head, name, form, _ in known]
        names = [short[name] for name in gap.names]
        given = ", ".join(getattr(gap, "given", ()))  # conditioning variables of an edge
        behind = f" | {shortened(given, NAME)}" if given else ""
        link = f"pair-{rank}" if f"pair-{rank}" in links else None
        rows.append({
            "names": names, "given": behind, "verdict": gap.verdict, "flagged": gap.flagged,
            "cells": cells, "family": gap.family, "link": link,
        })  # fmt: skip
    return {
        "heads": [head for head, *_ in known],
        "rows": rows,
        "shown": len(rows),
        "total": len(result),
        "flagged": result.n_flagged,
    }


def _shown_corners(result: Pairwise) -> list[str]:
    """The two corners along most of the dependences, and every corner with a gap; all four columns are seldom needed."""
    rows = result.rows
    own, aim = rows["tau"], np.nan_to_num(rows["tau_target"])
    stronger = np.where(np.abs(own) >= np.abs(aim), own, aim)
    ends = along(float(np.sum(np.sign(stronger[np.isfinite(stronger)]))))
    return [name for name in CORNERS if name in ends or beyond_chance(result, name).any()]


def _differs(counts: NDArray[np.float64]) -> bool:
    """Whether pairs have different numbers of rows, as with missing values."""
    return bool(counts.size and counts.min() < counts.max())


def _number(value: float, form: str) -> str:
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "inf"
    if form == "%":
        return percentage(value)
    text = format(value, form)
    return text.lstrip("+-") if float(text.replace(",", "")) == 0.0 else text  # zero has no sign


# ---- maps ----------------------------------------------------------------------------------------------------------


def _maps(result: Pairwise) -> Content:
    """Level, shape and the share kept (without a target, form) of all pairs, and every corner with a gap, as heat maps."""
    against, shaped = result.kind != "nothing", result.method != "moment"
    known = {name: bool(np.isfinite(result.rows[name]).any()) or not _unordered(result) for name in ("level", "shape")}
    numbers = [name for name, there in (("level", against), ("shape", shaped)) if there and known[name]]
    numbers += [name for name in (KEPT if against else "form",) if np.isfinite(result.rows[name]).any()]
    numbers += [name for name in CORNERS if beyond_chance(result, name).any()]
    kept = _kept(result)
    cells = {name: gap_cells(result, name)[np.ix_(kept, kept)] for name in numbers}
    d = len(kept)
    size = next(pixels for most, pixels in _CELLS if d <= most)
    names = [result.names[k] for k in kept]
    codes = {"unit": _UNIT, "unknown": _UNKNOWN, "untested": _NOT_TESTED}
    data = {"names": short_names(names, NAME), **codes}
    return {
        "names": short_names(names, _LABEL),
        "cell": size,
        "d": d,
        "of": len(result.names),
        "sides": "Blue is below the target, orange above it; each map has its own scale"
        if against
        else _family_sides(result, numbers),
        "unordered": _unordered(result),
        "maps": [_map(result, name, part) for name, part in cells.items()],
        "data": json.dumps(data | {name: packed(_halves(result, name, part, kept)) for name, part in cells.items()}),
    }


def _unordered(result: Pairwise) -> bool:
    """Whether a variable has no order: its pairs have no level, shape or tails."""
    return not all(pair_is_ordered(result.samples[0], [name]) for name in result.names)


def _family_sides(result: Pairwise, numbers: Sequence[str]) -> str:
    """The meaning of the colours if there is no target."""
    corners = " and ".join(CORNERS[name].label for name in numbers if name in CORNERS)
    inside = f"; in {corners}, blue: fewer {result.things} than the family has, orange: more" if corners else ""
    return f"Blue: the fitted family's tau is below that of the {result.things}; orange: above it{inside}"


def _map(result: Pairwise, name: str, cells: NDArray[np.float64]) -> Content:
    shown, limit = coloured(cells, name)
    above, below = (cells[indices(len(cells), k)] for indices, k in ((np.triu_indices, 1), (np.tril_indices, -1)))
    known, beyond = above[np.isfinite(above)], int(np.isfinite(below).sum())
    texts: Sequence[Content] = ()
    if len(cells) <= _NUMBERED:
        texts = [
            {"row": i + 1, "column": j + 1, "text": cell_text(cells[i, j], name), "tone": _tone(shown[i, j] / limit)}
            for i, j in zip(*np.nonzero(np.isfinite(cells)), strict=True)
        ]
    largest = ""
    if known.size:
        most = f"smallest is {percentage(known.min())}" if name == KEPT else f"largest is {np.abs(known).max():.3f}"
        largest = f"; the {most}"
    says = {
        "level": f"strength of dependence, {result.things} minus target",
        "shape": "family and tails, as a difference in Kendall's tau",
        "form": "any kind of dependence that the fitted family does not have, as a difference of densities",
        KEPT: f"share of the target's dependence, of any kind, that the {result.things} keep",
    }
    aim = "the fitted family's" if result.kind == "nothing" else "target"
    inside = f"share of a {part_name(result.tail)} that lies in this corner, {result.things} minus {aim}"
    says |= dict.fromkeys(CORNERS, inside)
    label = CORNERS[name].label if name in CORNERS else name
    return {
        "name": name,
        "label": label,
        "form": "share" if name == KEPT else "size" if name in SIZES else "gap",
        "ends": _ends(name, limit),
        "says": says[name],
        "image": png_image(cell_colours(shown, limit)),
        "texts": texts,
        "beyond": beyond,
        "alt": f"{label} of {known.size:,} {result.unit}s as a heat map, {beyond:,} of them significant{largest}.",
    }


def _ends(name: str, limit: float) -> tuple[str, str]:
    """The texts at both ends of a colour scale."""
    if name == KEPT:
        return "\N{LESS-THAN OR EQUAL TO} 0%", "\N{GREATER-THAN OR EQUAL TO} 200%"
    return ("0" if name in SIZES else f"-{limit:g}"), f"{'' if name in SIZES else '+'}{limit:g}"


def _tone(share: float) -> str:
    """The colour in which a number is most readable: white on full blue, black on strong orange, otherwise the text colour."""
    return "white" if white_reads_better(share, 1.0) else "black" if share > 0.5 else ""


def _kept(result: Pairwise) -> list[int]:
    """The variables on a map: all or, if there are too many, those with the largest gaps, in their order."""
    d = len(result.names)
    if d <= MAPPED:
        return list(range(d))
    kept: dict[int, None] = {}
    for first, second in zip(result.rows["first"].tolist(), result.rows["second"].tolist(), strict=True):
        kept |= {first: None, second: None}
        if len(kept) >= MAPPED:
            break
    return sorted([*kept][:MAPPED])


def _halves(result: Pairwise, name: str, cells: NDArray[np.float64], kept: Sequence[int]) -> NDArray[np.int16]:
    """All cells as integer multiples of the unit, row by row, for the script that shows them; untested ones are marked."""
    numbers = np.full(cells.shape, _UNKNOWN, np.int16)
    known = np.isfinite(cells)
    # gaps of taus are at most 2, but a share of next to nothing may be any number
    numbers[known] = np.round(np.clip(cells[known] / _UNIT, -_MOST, _MOST)).astype(np.int16)
    test = "form" if name == KEPT else name
    untested = np.tril(~np.isfinite(result.matrix(f"{test}_pvalue")[np.ix_(kept, kept)]), -1)
    numbers[untested] = _NOT_TESTED
    return numbers.reshape(-1)
