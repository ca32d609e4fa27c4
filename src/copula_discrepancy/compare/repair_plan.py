"""Which variables of a repair move and which stay, and which rows take part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.repair_targets import Template
from copula_discrepancy.data.naming import listed, unknown_name

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Plan:
    """Variables by position among those of the draws: all that take part, those that move and those that stay."""

    active: list[int]
    moving: list[int]
    staying: list[int]
    caveats: tuple[Caveat, ...]


def planned(template: Template, values: Rows, only: Any, anchor: Any) -> Plan:
    """Which variables move and which stay; those that are constant in the draws take no part."""
    names = template.names
    wanted = _checked_only(only, names)
    still = [k for k, place in enumerate(template.own) if not varies(values[:, place])]
    silent = [k for k in range(len(names)) if k not in still and not varies(template.rows[:, k])]
    if silent:
        found = f"constant in the reference but not in the draws: {listed([names[k] for k in silent])}"
        advice = (
            "the reference says nothing about their dependence; exclude them (exclude=, --exclude), or use another reference"
        )
        raise InputError(f"{found}; {advice}", "constant")
    active = [k for k in range(len(names)) if k not in still]
    if len(active) < 2:
        constant = listed([names[k] for k in still])
        raise InputError(
            f"a repair needs at least two variables that vary, got {len(active)}; constant: {constant}", "constant"
        )
    if wanted is None or all(names[k] in wanted for k in active):
        staying = [_checked_anchor(anchor, names, active)]
    else:
        if anchor is not None:
            rule = "anchor names the variable that stays if all others move; with only=, all variables not named stay"
            raise InputError(f"{rule}, got anchor={anchor!r:.60} as well; omit one of them")
        staying = [k for k in active if names[k] not in wanted]
    moving = [k for k in active if k not in staying]
    if not moving:
        raise InputError(f"only names no variable that varies; constant: {listed([names[k] for k in still])}", "constant")
    return Plan(active, moving, staying, _constant_caveats(template, still))


def _checked_only(only: Any, names: Sequence[str]) -> set[str] | None:
    if only is None:
        return None
    try:
        wanted = [only] if isinstance(only, str) else list(only)
    except TypeError:
        wanted = [None]
    if not all(isinstance(name, str) for name in wanted):
        raise InputError(f"only must be a name or a list of names, got {only!r:.80}")
    if not wanted:
        raise InputError("only is empty, so that no variable could move; name some, or omit it to let all of them move")
    for name in wanted:
        if name not in names:
            raise InputError(f"only: {unknown_name(name, names)}", "unknown-name")
    return set(wanted)


def _checked_anchor(anchor: Any, names: Sequence[str], active: list[int]) -> int:
    if anchor is None:
        return active[0]
    if not isinstance(anchor, str):
        raise InputError(f"anchor must be the name of a variable, got {anchor!r:.60}")
    if anchor not in names:
        raise InputError(f"anchor: {unknown_name(anchor, names)}", "unknown-name")
    if names.index(anchor) not in active:
        raise InputError(f"anchor: {anchor} is constant, so that it gives the others no order; name a variable that varies")
    return names.index(anchor)


def _constant_caveats(template: Template, still: list[int]) -> tuple[Caveat, ...]:
    """Variables without anything to reorder: constant in both samples, or only in the draws."""
    there = {k for k in still if template.kind == "reference" and not varies(template.rows[:, k])}
    caveats = []
    both, alone = [k for k in still if k in there], [k for k in still if k not in there]
    if both:
        caveats.append(caveat_of("constant", f"left in place because constant: {listed([template.names[k] for k in both])}"))
    if alone:
        named = listed([template.names[k] for k in alone])
        caveats.append(caveat_of("constant-in-draws", f"left in place because constant in the draws: {named}"))
    return tuple(caveats)


def complete_rows(rows: Rows, names: Sequence[str], missing: str, whose: str) -> NDArray[np.intp]:
    """The rows without missing values; an error if there are others and these were not to be left."""
    holes = np.isnan(rows)
    complete = np.flatnonzero(~holes.any(axis=1))
    if len(complete) < len(rows) and missing == "raise":
        found = [f"{name} ({count:,} of {len(rows):,})" for name, count in zip(names, holes.sum(axis=0), strict=True) if count]
        where = "leave those rows as they are and repair the others" if whose == "draws" else "omit those rows"
        way_out = f"{where} (missing='listwise', --missing listwise)"
        raise InputError(f"missing values in the {whose}: {listed(found)}; {way_out}", "nan")
    if len(complete) < 2:
        raise InputError(f"the {whose} must have at least two rows without missing values, got {len(complete)}", "nan")
    return complete


def varies(column: Rows) -> bool:
    """Whether a column has two different values."""
    return bool(column.min() < column.max())
