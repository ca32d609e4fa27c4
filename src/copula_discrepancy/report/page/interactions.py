"""The section of a page on triples of variables, as plain data for the template."""

from itertools import islice
from typing import Any

from copula_discrepancy.compare.interactions_result import Interactions
from copula_discrepancy.compare.wording import answer_line, short_names

SHOWN = 100  # triples in the section's table
_NAME = 40  # characters of a name in the table


def section(result: Interactions) -> dict[str, Any]:
    """Sentences and the worst triples."""
    short = dict(zip(result.names, short_names(result.names, _NAME), strict=True))
    (_, *heads, _), *lines = result.table_rows(SHOWN)
    rows = [
        {
            "names": [short[name] for name in gap.names],
            "verdict": gap.verdict,
            "flagged": gap.flagged and not result.void,
            "cells": cells,
        }
        for gap, (_, *cells, _) in zip(islice(result, SHOWN), lines, strict=True)
    ]
    return {
        "heading": answer_line(result),
        "title": result.title,
        "sentences": result.sentences(),
        "heads": heads,
        "rows": rows,
        "shown": len(rows),
        "total": len(result),
    }


def numbers(result: Interactions, most: int) -> dict[str, Any]:
    """What the JSON next to a page has on triples: at most so many of them."""
    return {"interactions": result.overview(), "triples": (gap.to_dict() for gap in islice(result, most))}
