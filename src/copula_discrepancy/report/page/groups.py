"""The page of a comparison by groups: the page of all rows with a table of groups on top and pictures of the worst of them."""

from itertools import islice
from pathlib import Path
from typing import Any

from copula_discrepancy._core.caveats import reserved
from copula_discrepancy.compare.groups_result import GroupedPairwise
from copula_discrepancy.compare.groups_wording import ALL_ROWS, left_out_words
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.wording import answer_line, pair_label
from copula_discrepancy.estimate.form import FEWEST_FOR_FORM
from copula_discrepancy.report.page import content, details, meaning, methods
from copula_discrepancy.report.page.pictures import Picture, inline_figures, page_style
from copula_discrepancy.report.plots.group_forest import forest_height, plot_groups, worst_drawable

_PICTURED = content.DETAILS // 2  # groups with pictures of their worst pair, and pairs of all rows with pictures
_FEWEST = 100  # pairs of every group in the JSON, however many groups there are
_WIDE = 5.2  # inches of the forest
_METHOD = (
    "Both samples are split by the values of {by}, and every pair is compared within every group of at least {fewest} rows and "
    "over all rows. A sign is reversed if Kendall's tau of both samples is significant and the two differ significantly."
)


def of_groups(result: GroupedPairwise, command: str | None, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The page, and the JSON next to it."""
    page, _ = content.of_pairs(result.overall, command or _call(result, path), pictured=_PICTURED)
    worst = [
        detail
        for k, label in enumerate(result.ranked[:_PICTURED], start=1)
        for detail in details.worst_pairs(result.groups[label], 1, key=f"group-{k}", where=result.named[label])
    ]
    links = {label: detail.key for label, detail in zip(result.ranked, worst, strict=False)}
    warnings = result.warnings
    page |= {
        "heading": answer_line(result),
        "state": _state(result),
        "caution": {"first": warnings[0], "more": len(warnings) - 1} if warnings else None,
        "title": result.title,
        "sentences": result.sentences(),
        "groups": _section(result, links),
        "details": [*worst, *page["details"]],
        "first": f"Within {result.named[result.ranked[0]]}",
        "notes": [*meaning.explained(result.caveats), *((note, "") for note in result.notes)],
        "methods": [*page["methods"], _METHOD.format(by=" and ".join(result.by), fewest=FEWEST_FOR_FORM)],
        "omitted": "",
    }
    most = max(content.JSON_PAIRS // (len(result) + 1), _FEWEST)
    found = {ALL_ROWS: result.overall, **result.groups}
    if any(len(part) > most for part in found.values()):
        page["omitted"] = f"The .json file has the {most:,} worst pairs of every group; to_dict() has all of them."
    numbers = result.overview() | {"made": page["made"], "overall": _numbers(result.overall, most)}
    numbers |= {"groups": {label: _numbers(group, most) for label, group in result.groups.items()}}
    numbers |= {"omitted": page["omitted"]} if page["omitted"] else {}
    return page, numbers


def _state(result: GroupedPairwise) -> str:
    if result.outcome == "gap":
        return "off"
    states = {content.state_of(group) for group in (result.overall, *result.groups.values())}
    return "fine" if states == {"fine"} and not reserved(result.caveats) else "unknown"


def _section(result: GroupedPairwise, links: dict[str, str]) -> dict[str, Any]:
    (_, rows, reference, gaps, _, *heads, _), *lines = result.table_rows(None)
    shown = []
    for label, (name, *sizes, pair, tau, target, kept, pvalue, verdict) in zip((None, *result.ranked), lines, strict=True):
        group = result.overall if label is None else result.groups[label]
        cells = [*sizes, tau, target, kept, pvalue]
        link = None if label is None else links.get(label)
        shown.append({
            "name": name, "pair": pair, "verdict": verdict, "cells": cells, "flagged": group.outcome == "gap", "link": link,
        })  # fmt: skip
    return {
        "by": " and ".join(result.by),
        "heads": [rows, reference, gaps, *heads],
        "rows": shown,
        "total": len(result),
        "reversals": [found.sentence for found in result.reversals],
        "left_out": left_out_words(result.left_out) if result.left_out else "",
        "forest": _forest(result),
    }


def _forest(result: GroupedPairwise) -> Picture | None:
    """Kendall's tau of the worst pair in every group, if any pair has one."""
    pair = worst_drawable(result)
    if pair is None:
        return None
    said = (
        f"Kendall's tau of {pair_label(*pair)} in every group with its interval, in the {result.things} and in the reference."
    )
    size = _WIDE, forest_height(len(result) + 1)
    with page_style():
        return inline_figures(lambda ax: plot_groups(result, *pair, ax=ax), sizes=[size], key="groups-forest", alts=[said])[0]


def _numbers(result: Pairwise, most: int) -> dict[str, Any]:
    return result.overview() | {"pairs": [gap.to_dict() for gap in islice(result, most)]}


def _call(result: GroupedPairwise, path: Path) -> str:
    overall = result.overall
    by: Any = result.by[0] if len(result.by) == 1 else [*result.by]
    options = {"family": overall.family, "method": overall.method, "iid": result.iid, "confidence": result.confidence}
    return methods.call("pairwise", ["draws", "reference"], options | {"adjust": result.adjust, "by": by}, path)
