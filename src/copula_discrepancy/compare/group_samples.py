"""Two samples by groups of rows: which groups both have, and why others cannot be compared."""

from collections.abc import Mapping, Sequence

import numpy as np

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.groups_wording import NO_GROUP
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.wording import counted
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.data.row_groups import RowGroups
from copula_discrepancy.estimate.form import FEWEST_FOR_FORM

FEWEST_ROWS = FEWEST_FOR_FORM  # of a group in either sample: with fewer, not even the coarsest form is tested
_FEWEST_VALUES = 2  # of a variable within a group: with fewer it cannot vary
# A group without two variables to compare is left out with the reason; any other error is one of the call.
NOTHING_TO_COMPARE = ("constant", "shape")
NOTHING_VARIES = "fewer than two variables vary"


def require_shared(own: RowGroups, other: RowGroups, by: Sequence[str], whose: tuple[str, str]) -> list[str]:
    """The groups that both samples have, in the order of the second; `whose` are the nouns for both samples."""
    shared = [label for label in other.rows if label in own.rows]
    if not shared:
        here, there = (listed([*groups.rows], BRIEF) for groups in (own, other))
        has = "have" if whose[0].endswith("s") else "has"
        raise InputError(
            f"by={listed(by)!r}: the samples share no group; {whose[0]} {has} {here}, {whose[1]} {there}; labels must agree",
            "no-group",
        )
    return shared


def too_small(sizes: Sequence[int], other: str) -> str:
    """Why a group is too small to be compared; empty if it is not."""
    if min(sizes) >= FEWEST_ROWS:
        return ""
    return f"{counted(sizes[0], 'row')}, {sizes[1]:,} in {other}; at least {FEWEST_ROWS} are needed"


def one_sided(own: RowGroups, other: RowGroups, whose: tuple[str, str]) -> dict[str, str]:
    """Groups that only one of the samples has."""
    found = {}
    for groups, others, noun in ((other, own, whose[1]), (own, other, whose[0])):
        for label, rows in groups.rows.items():
            if label not in others.rows:
                found[label] = f"only in {noun}, {counted(len(rows), 'row')}"
    return found


def without_group(own: RowGroups, other: RowGroups, noun: str) -> dict[str, str]:
    """The rows without a group, if there are any."""
    if not own.missing and not other.missing:
        return {}
    return {NO_GROUP: f"{counted(own.missing, 'row')}, {other.missing:,} in {noun}"}


def with_values(samples: tuple[Draws, Draws]) -> tuple[Draws, Draws]:
    """The samples of a group without the variables that have no values there."""
    known = [(~np.isnan(sample.values)).sum(axis=(0, 1)) >= _FEWEST_VALUES for sample in samples]
    kept = [name for name, here, there in zip(samples[0].names, *known, strict=True) if here and there]
    if not kept or len(kept) == samples[0].n_variables:
        return samples
    return samples[0].select(kept), samples[1].select(kept)


def omitted(left_out: dict[str, str]) -> list[Caveat]:
    """That groups were left out; the sentences of the result have the reasons."""
    labels = [label for label in left_out if label != NO_GROUP]
    parts = [f"groups left out: {listed(labels, BRIEF)}"] if labels else []
    parts += [f"rows without a group: {left_out[NO_GROUP]}"] if NO_GROUP in left_out else []
    return [caveat_of("groups-left-out", "; ".join(parts))] if parts else []


def caveats_within(groups: Mapping[str, Pairwise], named: Mapping[str, str], overall: Pairwise) -> list[Caveat]:
    """One caveat for every kind that groups have and the comparison of all rows does not, about the first such group."""
    known = {caveat.code for caveat in overall.caveats}
    kinds: dict[str, list[tuple[str, Caveat]]] = {}
    for label, result in groups.items():
        for caveat in {caveat.code: caveat for caveat in reversed(result.caveats) if caveat.code not in known}.values():
            kinds.setdefault(caveat.code, []).append((named[label], caveat))
    told = []
    for code, found in kinds.items():
        name, first = found[0]
        more = f" (and in {counted(len(found) - 1, 'other group')})" if len(found) > 1 else ""
        told.append(caveat_of(code, f"within {name}: {first.sentence}{more}"))
    return told
