"""A comparison by groups as sentences and as a text table."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from copula_discrepancy.compare import wording
from copula_discrepancy.compare.ranking_wording import about
from copula_discrepancy.compare.tested_wording import tested
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.multiplicity import in_words

if TYPE_CHECKING:
    from copula_discrepancy.compare.groups_result import GroupedPairwise
    from copula_discrepancy.compare.many_result import Pairwise

NO_GROUP = "(no group)"  # rows without a value of the column
ALL_ROWS = "all rows"
_TRUTH_VALUES = ("true", "false", "yes", "no", "on", "off")
_NAME = 32  # characters of a group's name in a table


def group_names(by: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """What every group is called in a sentence: its label or, if that says nothing by itself, "cyl 4", "smoker yes"."""
    plain = len(by) == 1 and all(_says_nothing(label) for label in labels if label != NO_GROUP)
    return {label: f"{by[0]} {label}" if plain and label != NO_GROUP else label for label in labels}


def _says_nothing(label: str) -> bool:
    """Whether a label is a number, a truth value or a single letter."""
    if len(label) == 1 or label.lower() in _TRUTH_VALUES:
        return True
    try:
        float(label)
    except ValueError:
        return False
    return True


def left_out_words(left_out: Mapping[str, str]) -> str:
    """The groups that were not compared, each with the reason."""
    return listed([f"{label} ({reason})" for label, reason in left_out.items()], BRIEF)


def verdict(result: "GroupedPairwise") -> str:
    """The answer in a few words."""
    if result.void:
        return wording.VOID
    whole, groups = result.overall.outcome == "gap", wording.counted(len(result), "group")
    if result.flagged:
        worst = f" (worst: {result.named[result.flagged[0]]})" if len(result) > 1 else ""
        where = "and over all rows" if whole else "none over all rows"
        said = f"gaps within {len(result.flagged)} of {groups}{worst}, {where}"
    elif whole:
        said = f"gaps over all rows, none found within {groups}"
    else:
        said = f"{wording.NO_GAP} within {groups}, nor over all rows"
    simpson = [found for found in result.reversals if found.simpson]
    if simpson:
        return f"{said}; Simpson's reversal in {wording.counted(len({found.names for found in simpson}), 'pair')}"
    if result.reversals:
        return f"{said}; reversed signs in {wording.counted(len({found.names for found in result.reversals}), 'pair')}"
    return said


def title(result: "GroupedPairwise") -> str:
    """What was compared, in one line."""
    return f"by {' and '.join(result.by)}: {result.overall.title}"


def sentences(result: "GroupedPairwise") -> dict[str, str]:
    """The answer in words, by topic."""
    texts = {"Answer": _answer(result)}
    smallest = min(result.groups, key=lambda label: min(result.sizes(label)))
    if result.outcome == "no gap":
        texts["Tested"] = f"within the smallest group, {result.named[smallest]}: {tested(result.groups[smallest])}"
    if result.reversals:
        texts["Reversals"] = " ".join(f"{found.sentence}." for found in result.reversals[:BRIEF])
        more = len(result.reversals) - BRIEF
        texts["Reversals"] += f" {more} more." if more > 0 else ""
    label, gap = result.worst
    texts["Worst" if gap.flagged else "Largest"] = f"{result.named[label]}, {about(result.groups[label], gap)}"
    worst = about(result.overall, result.overall.worst)
    texts["Overall"] = f"{result.overall.verdict}; {'worst' if result.overall.n_flagged else 'largest'}: {worst}"
    texts["Groups"] = _sizes(result, smallest)
    if result.left_out:
        texts["Left out"] = f"{left_out_words(result.left_out)}."
    return texts | wording.computed_on(result.overall)


def _answer(result: "GroupedPairwise") -> str:
    if result.void:
        return f"the {result.things} and the reference are the same, so no test is valid; use an independent reference."
    pairs = sum(len(group) for group in result.groups.values())
    off = sum(group.n_flagged for group in result.groups.values())
    level = in_words(result.adjust, 1.0 - result.confidence)
    together = "" if result.adjust == "none" else ", over the tests of all groups and of all rows together"
    if not result.flagged:
        return f"no gap found in {wording.counted(pairs, 'pair')} within {_within(result)} ({level}{together})."
    parts = listed([f"{result.named[label]} ({_share(result.groups[label])})" for label in result.flagged], BRIEF)
    found = f"significant gaps in {off:,} of {wording.counted(pairs, 'pair')} within groups, worst first: {parts}"
    return f"{found} ({level}{together})."


def _within(result: "GroupedPairwise") -> str:
    return wording.counted(len(result), "group")


def _share(group: "Pairwise") -> str:
    stuck = f", {listed(group.stuck, BRIEF)} constant" if group.stuck else ""
    return f"{group.n_flagged:,} of {len(group):,}{stuck}"


def _sizes(result: "GroupedPairwise", smallest: str) -> str:
    sizes = {label: result.sizes(label) for label in result.groups}
    inside = [sum(own) for own in zip(*sizes.values(), strict=True)]
    total = [0 if sample is None else sample.n_draws for sample in result.samples]
    own, other = sizes[smallest]
    return (
        f"{inside[0]:,} of {total[0]:,} rows are in {_within(result)}, {inside[1]:,} of {total[1]:,} in the reference; the "
        f"smallest is {result.named[smallest]} ({own:,} and {other:,})."
    )


def table_rows(result: "GroupedPairwise", limit: int | None) -> list[list[str]]:
    """All rows first, then the groups, worst first."""
    head = ["group", "rows", "reference", "gaps", "worst pair", "tau", "target", "kept", "p", "verdict"]
    lines = [head, _line(ALL_ROWS, result.overall)]
    labels = result.ranked if limit is None else result.ranked[:limit]
    short = dict(zip(result.groups, wording.short_names([*result.groups], _NAME), strict=True))
    return lines + [_line(short[label], result.groups[label]) for label in labels]


def _line(name: str, group: "Pairwise") -> list[str]:
    gap = group.worst
    sizes = [0 if sample is None else sample.n_draws for sample in group.samples]
    kept = wording.percentage(gap.kept) if math.isfinite(gap.kept) else "-"
    taus = [f"{tau:.2f}" if math.isfinite(tau) else "-" for tau in (gap.tau, gap.tau_target)]
    found = [name, *(f"{size:,}" for size in sizes), f"{group.n_flagged:,} of {len(group):,}", gap.label, *taus, kept]
    return [*found, wording.short_pvalue(gap.pvalue), gap.verdict]
