"""Draws as they were read: the numbers, their names, and what was decided on the way."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed

PARTS_OF_ONE = ", or, if they are parts of one table, give parts='rows' (--iid)"


@dataclass(frozen=True, eq=False)
class Table:
    """Real numbers, (chain, draw, variable), that fit a float64 but need not be finite.

    `named`, `chained`, `ranked`, `notes`, `left_out` and `chain_column` mean what they mean in `Draws`.
    """

    values: NDArray[Any]
    names: tuple[str, ...]
    named: bool = True
    chained: bool = True
    ranked: bool = False
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    chain_column: str | None = None


def in_chains(table: Table, chains: int | str | None) -> Table:
    """The rows of one sample cut into so many chains, one after another; chains that are there already must be as many."""
    if not isinstance(chains, int):  # a column's name is used where the columns are read
        return table
    k, n, d = table.values.shape
    if table.chained:
        if k != chains:
            raise InputError(
                f"chains={chains} was given, but the draws have {k} chain{'s' * (k != 1)} of their own; leave it out"
            )
        return table
    if n % chains:
        raise InputError(f"chains={chains} does not divide the {n} draws; every chain must have the same number of draws")
    return replace(table, values=table.values.reshape(chains, n // chains, d), chained=True)


def joined(tables: list[Table], labels: Sequence[str]) -> Table:
    """Tables of one chain each as chains, in this order; variables in the order of the first. Empties the list given."""
    n, way_out = tables[0].values.shape[1], "" if any(table.chained for table in tables) else PARTS_OF_ONE
    for table, label in zip(tables, labels, strict=True):
        if table.values.shape[0] != 1:
            raise InputError(
                f"{label} has {table.values.shape[0]} chains of its own, and is one of {len(tables)} given as chains; "
                "give it alone, or give one chain in each"
            )
    names, left_out = _shared(tables, labels)
    require_equal_lengths([table.values.shape[1] for table in tables], labels, way_out)
    named, notes = tables[0].named, _gathered_notes(tables, labels)
    values = np.empty((len(names), len(tables), n))
    for chain in range(len(labels)):
        table = tables.pop(0)  # what is copied can go
        place = {name: k for k, name in enumerate(table.names)}
        for k, name in enumerate(names):
            values[k, chain] = table.values[0, :, place[name]]
    return Table(values.transpose(1, 2, 0), names, named, True, False, notes, left_out)


def stacked(tables: list[Table], labels: Sequence[str]) -> Table:
    """Tables as parts of one: rows one after another in this order; variables in the order of the first. Empties the list."""
    chained = next((label for table, label in zip(tables, labels, strict=True) if table.chained), None)
    if chained is not None:
        raise InputError(f"{chained} has chains of its own, and parts='rows' is for rows; put the tables together first")
    names, left_out = _shared(tables, labels)
    named, notes = tables[0].named, _gathered_notes(tables, labels)
    ends = np.cumsum([table.values.shape[1] for table in tables])
    values = np.empty((len(names), ends[-1]))
    for end in ends:
        table = tables.pop(0)
        place = {name: k for k, name in enumerate(table.names)}
        for k, name in enumerate(names):
            values[k, end - table.values.shape[1] : end] = table.values[0, :, place[name]]
    return Table(values.T[None], names, named, False, False, (*notes, in_parts(len(labels))), left_out)


def in_parts(count: int) -> str:
    """A note that several are one table."""
    return f"{count} parts are read as one table, rows one after another; parts='chains' reads each as a chain"


def _shared(tables: Sequence[Table], labels: Sequence[str]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The variables of all tables, but for those that any of them left out."""
    left_out = dict(pair for table in reversed(tables) for pair in table.left_out)
    names = tuple(name for name in tables[0].names if name not in left_out)
    for table, label in zip(tables, labels, strict=True):
        require_same_names(names, [name for name in table.names if name not in left_out], labels[0], label)
    if not names:
        raise InputError(f"there are no variables beside what is left out: {listed([*left_out])}")
    if any(table.ranked for table in tables):
        raise InputError(
            "some values are too large for a float64, and ranks within one chain do not compare with another's; "
            "subtract an offset or rescale them first"
        )
    return names, tuple(left_out.items())


def _gathered_notes(tables: Sequence[Table], labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{label}: {note}" for table, label in zip(tables, labels, strict=True) for note in table.notes)


def require_equal_lengths(lengths: Sequence[int], labels: Sequence[str], way_out: str = "") -> None:
    """Raise unless all chains have as many draws."""
    if len(set(lengths)) > 1:
        short, long = int(np.argmin(lengths)), int(np.argmax(lengths))
        raise InputError(
            f"chains must have the same number of draws, but {labels[short]} has {lengths[short]} and {labels[long]} has "
            f"{lengths[long]}; cut all of them to the last {lengths[short]} draws, or find out why {labels[short]} stopped"
            f"{way_out}"
        )


def require_different(names: Sequence[str]) -> None:
    """Raise if a name occurs twice."""
    if len(set(names)) < len(names):
        repeated = sorted(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"variables must have different names, but {listed(repeated)} occurs more than once; rename them")


def require_same_names(names: Sequence[str], others: Sequence[str], label: str, other_label: str) -> None:
    """Raise unless both have the same variables, in any order."""
    here, there = set(names), set(others)
    only, others_only = [name for name in names if name not in there], [name for name in others if name not in here]
    if only or others_only:
        found = [f"only {where} has {listed(extra)}" for where, extra in ((label, only), (other_label, others_only)) if extra]
        raise InputError(f"all must have the same variables, but {' and '.join(found)}; select those they share by name")
