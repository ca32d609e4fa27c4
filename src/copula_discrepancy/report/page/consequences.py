"""The section of a page on what the worst pairs do to sums, differences and joint extremes, as plain data for the template."""

from collections.abc import Collection
from typing import Any

from copula_discrepancy.compare.wording import short_names
from copula_discrepancy.compare.worst_result import WorstConsequences, effect_records
from copula_discrepancy.estimate.multiplicity import in_words
from copula_discrepancy.estimate.pair_effects import EFFECTS
from copula_discrepancy.estimate.tails import part_name
from copula_discrepancy.report.page.meaning import explained
from copula_discrepancy.report.page.methods import spoken

SHOWN = 100  # pairs in the section's table
_NAME = 40  # characters of a name in the table


def section(result: WorstConsequences, said: Collection[str]) -> dict[str, Any]:
    """Sentences, the worst pairs, and reservations that the page has not `said` elsewhere."""
    short = short_names(result.names, _NAME)
    (_, *heads, _), *lines = result.table_rows(SHOWN)
    rows = [
        {
            "names": [short[row["first"]], short[row["second"]]],
            "effect": effect,
            "verdict": verdict,
            "flagged": bool(row["flagged"]) and not result.void,
            "cells": cells,
        }
        for row, (_, effect, *cells, verdict) in zip(result.rows[:SHOWN, 0], lines, strict=True)
    ]
    return {
        "title": result.title,
        "sentences": result.sentences(),
        "heads": heads,
        "rows": rows,
        "shown": len(rows),
        "total": len(result),
        "part": part_name(result.tail),
        "notes": [(note, meant) for note, meant in explained(result.caveats) if note not in said],
    }


def other_notes(result: WorstConsequences | None, said: Collection[str]) -> list[tuple[str, str]]:
    """What was decided on the way, for the end of the page: notes that it has not `said`."""
    return [] if result is None else [(f"consequences: {note}", "") for note in result.notes if note not in said]


def numbers(result: WorstConsequences, most: int | None) -> dict[str, Any]:
    """What the JSON next to a page has on consequences: of each pair all effects, at most so many in all."""
    return {
        "consequences": result.overview(),
        "effects": effect_records(result, None if most is None else most // len(EFFECTS)),
    }


def method(result: WorstConsequences) -> str:
    """How consequences were computed, in sentences."""
    blocks = {1: "single rows"}
    own, other = (blocks.get(block, f"blocks of {block:,}") for block in result.blocks)
    resampled = own if own == other else f"{own} of the draws and {other} of the reference"
    return spoken(
        "Consequences: the values of the draws are put in the order of the reference's ranks, which leaves their margins and "
        f"takes its dependence; ten numbers of every pair are compared before and after. Standard errors come from "
        f"{result.n_resamples:,} resamples of {resampled}. P-values of all effects: "
        f"{in_words(result.adjust, 1.0 - result.confidence)}.",
        result.things,
    )
