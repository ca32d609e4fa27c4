"""What stands on a page, as plain data for the template: words, maps, table, details, explanations."""

import json
import math
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.pages import details, meaning, methods
from copula_discrepancy.pages.pictures import packed, png_image
from copula_discrepancy.plots.maps import cell_colours, cell_text, colour_limit, gap_cells, white_reads_better
from copula_discrepancy.words import pair_label, shortened

if TYPE_CHECKING:
    from copula_discrepancy.pairwise_result import Pairwise
    from copula_discrepancy.result import Discrepancy

TABLE_ROWS = 2000  # pairs in the table; the JSON has all
DETAILS = 6  # pairs with pictures
MAPPED = 300  # variables on a map; with more, those with the largest gaps
NAME = 60  # characters of a name in the table: a page of long names stays small, the JSON has them whole
_LABEL = 28  # and beside a map
_NUMBERED = 12  # variables up to which there is room for the numbers in the cells
_UNIT = 1e-3  # of the numbers that a script reads out below a map
_UNKNOWN = -(2**15)
_CELLS = ((_NUMBERED, 40), (25, 24), (60, 16), (MAPPED, 13))  # variables, and the pixels of a cell up to so many

Content = dict[str, Any]


def of_pairs(result: "Pairwise", command: str) -> tuple[Content, Content]:
    """The page of a ranking, and the JSON beside it."""
    made = methods.made(command)
    worst = details.worst_pairs(result, DETAILS)
    reserved = not result.n_flagged and bool(result.warnings)
    content = {
        "heading": _heading(result.verdict, reserved),
        "state": _state(result),
        "caution": _caution(result.warnings),
        "title": result.title,
        "sentences": result.sentences(),
        "unit": result.unit,
        "against": result.kind != "nothing",
        "maps": _maps(result) if len(result.names) > 2 else None,
        "table": _table(result, {detail.label: detail.key for detail in worst}),
        "details": worst,
        "sure": meaning.of_pairs(result),
        "notes": [*meaning.explained(result.warnings), *((note, "") for note in result.notes)],
        "methods": methods.of_pairs(result),
        "terms": methods.TERMS,
        "made": made,
    }
    plain = result.to_dict() | {"made": made, "details": [detail.numbers | {"key": detail.key} for detail in worst]}
    return content, plain


def of_one(result: "Discrepancy", command: str) -> tuple[Content, Content]:
    """The page of a single pair, and the JSON beside it."""
    made, label = methods.made(command), pair_label(*result.fit.pair.names)
    off = " off" in result.verdict
    detail = details.of_one(result, "pair-1", label=label, verdict=result.verdict, flagged=off)
    content = {
        "heading": _heading(result.verdict, not off and bool(result.warnings)),
        "state": "off" if off else "fine" if "no gap" in result.verdict and not result.warnings else "unknown",
        "caution": _caution(result.warnings),
        "title": f"{shortened(label, 2 * NAME)}: {result.summary}",
        "sentences": result.sentences(),
        "unit": "pair",
        "against": True,
        "maps": None,
        "table": None,
        "details": [detail],
        "sure": meaning.of_one(result),
        "notes": detail.notes,
        "methods": methods.of_one(result),
        "terms": {name: text for name, text in methods.TERMS.items() if name != "family"},
        "made": made,
    }
    return content, detail.numbers | {"made": made}


def _state(result: "Pairwise") -> str:
    if result.n_flagged or result.stuck:
        return "off"
    tested = np.isfinite(result.rows["level_pvalue"]) | np.isfinite(result.rows["shape_pvalue"])
    return "fine" if tested.any() and not result.warnings else "unknown"


def _heading(verdict: str, reserved: bool) -> str:
    """The answer; one that found nothing, but may have been unable to, says so at once."""
    found_nothing = verdict.startswith("no gap found")
    return verdict[0].upper() + verdict[1:] + (", with reservations" if reserved and found_nothing else "")


def _caution(warnings: Sequence[str]) -> Content | None:
    """What stands right below the answer: the first warning, and how many more there are."""
    return {"first": warnings[0], "more": len(warnings) - 1} if warnings else None


# ---- table ---------------------------------------------------------------------------------------------------------


def _table(result: "Pairwise", links: dict[str, str]) -> Content:
    """The ranking as text, with more columns than a terminal has room for."""
    against, shaped = result.kind != "nothing", result.method != "moment"
    columns = [
        ("tau", "tau", ".2f", True),
        ("target", "tau_target", ".2f", against),
        ("level", "level", "+.3f", against),
        ("se", "level_se", ".3f", against),
        ("shape", "shape", "+.3f", shaped),
        ("se", "shape_se", ".3f", shaped),
        ("p", "", "", True),
        ("lower tail", "lower_tail", "+.2f", True),
        ("upper tail", "upper_tail", "+.2f", True),
        ("CKL", "ckl", ".4f", against and shaped),
        ("n_eff", "", "", True),
        ("R-hat", "rhat", ".3f", not result.iid),
    ]
    known = [column for column in columns if column[3] and (not column[1] or np.isfinite(result.rows[column[1]]).any())]
    rows = []
    for gap in islice(result, TABLE_ROWS):
        special = {"p": _p(gap.pvalue), "n_eff": _number(float(np.fmin(gap.n_eff, gap.n_eff_target)), ",.0f")}
        cells = [special.get(head) or _number(getattr(gap, name), form) for head, name, form, _ in known]
        first, second = (shortened(name, NAME) for name in gap.names)
        rows.append({
            "first": first, "second": second, "given": gap.short_label[len(pair_label(*gap.names)) :], "verdict": gap.verdict,
            "flagged": gap.flagged, "cells": cells, "family": gap.family, "link": links.get(gap.short_label),
        })  # fmt: skip
    return {
        "heads": [head for head, *_ in known],
        "rows": rows,
        "shown": len(rows),
        "total": len(result),
        "flagged": result.n_flagged,
    }


def _number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-" if math.isnan(value) else "inf"


def _p(value: float) -> str:
    return "-" if math.isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


# ---- maps ----------------------------------------------------------------------------------------------------------


def _maps(result: "Pairwise") -> Content:
    """Level and shape of all pairs as coloured matrices, each on a scale of its own: shape gaps are the smaller ones."""
    against, shaped = result.kind != "nothing", result.method != "moment"
    numbers = [name for name, there in (("level", against), ("shape", shaped)) if there]
    kept = _kept(result)
    cells = {name: gap_cells(result, name)[np.ix_(kept, kept)] for name in numbers}
    d = len(kept)
    size = next(pixels for most, pixels in _CELLS if d <= most)
    names = [result.names[k] for k in kept]
    data = {"names": [shortened(name, NAME) for name in names], "unit": _UNIT, "unknown": _UNKNOWN}
    return {
        "names": [shortened(name, _LABEL) for name in names],
        "cell": size,
        "d": d,
        "of": len(result.names),
        "sides": "Blue is below the target, orange above it"
        if against
        else "Blue: the fitted family's tau is below the draws'; orange: above it",
        "maps": [_map(result, name, part) for name, part in cells.items()],
        "data": json.dumps(data | {name: packed(_halves(part)) for name, part in cells.items()}),
    }


def _map(result: "Pairwise", name: str, cells: NDArray[np.float64]) -> Content:
    limit = colour_limit(cells)
    above, below = np.triu(cells, 1), np.tril(cells, -1)
    known = np.isfinite(above) & (np.triu(np.ones_like(cells), 1) > 0)
    beyond = int(np.sum(np.isfinite(below) & (np.tril(np.ones_like(cells), -1) > 0)))
    texts: Sequence[Content] = ()
    if len(cells) <= _NUMBERED:
        texts = [
            {"row": i + 1, "column": j + 1, "text": cell_text(cells[i, j]), "white": white_reads_better(cells[i, j], limit)}
            for i, j in zip(*np.nonzero(np.isfinite(cells)), strict=True)
        ]
    largest = f"; the largest is {np.max(np.abs(above[known])):.3f}" if known.any() else ""
    return {
        "name": name,
        "limit": f"{limit:g}",
        "says": {"level": "strength of dependence, draws less target", "shape": "family and tails, seen in Kendall's tau"}[
            name
        ],
        "image": png_image(cell_colours(cells, limit)),
        "texts": texts,
        "beyond": beyond,
        "alt": f"{name} of {int(known.sum()):,} {result.unit}s as a coloured matrix, {beyond:,} of them beyond "
        f"chance{largest}.",
    }


def _kept(result: "Pairwise") -> list[int]:
    """The variables on a map: all, or, where there are too many to be read, those with the largest gaps, in their order."""
    d = len(result.names)
    if d <= MAPPED:
        return list(range(d))
    kept: dict[int, None] = {}
    for first, second in zip(result.rows["first"].tolist(), result.rows["second"].tolist(), strict=True):
        kept |= {first: None, second: None}
        if len(kept) >= MAPPED:
            break
    return sorted([*kept][:MAPPED])


def _halves(cells: NDArray[np.float64]) -> NDArray[np.int16]:
    """All cells as whole numbers of the unit, row after row, for the script that reads a cell out."""
    found = np.full(cells.shape, _UNKNOWN, np.int16)
    known = np.isfinite(cells)
    found[known] = np.round(cells[known] / _UNIT).astype(np.int16)  # gaps of taus are at most 2
    return found.reshape(-1)
