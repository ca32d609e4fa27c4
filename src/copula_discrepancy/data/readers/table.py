"""Draws as read, before missing values are handled, and the combination of several tables into one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.kinds import NUMERIC
from copula_discrepancy.data.levels import Side, common_levels
from copula_discrepancy.data.naming import NAME_VARIABLES, file_labels, require_same_names, told_once, with_reasons

REPAIRED = "copula_discrepancy_repair"  # the attribute of frames and datasets that says what a repair did
PARTS_OF_ONE = ", or, if they are parts of one table, use parts='rows' (--iid)"


@dataclass(frozen=True, eq=False)
class Table:
    """Real numbers, (chain, draw, variable), that fit a float64 but need not be finite.

    The other fields have the same meaning as in `Draws`.
    """

    values: NDArray[Any]
    names: tuple[str, ...]
    named: bool = True
    chained: bool = True
    ranked: bool = False
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    chain_column: str | None = None
    kinds: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    chosen: tuple[str, ...] = ()
    diverging: NDArray[np.bool_] | None = None
    chain_names: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The noun for one observation in messages."""
        return "row" if self.named and not self.chained else "draw"

    def side(self, name: str, whose: str) -> Side:
        """A variable, to be matched with that of another table."""
        k = self.names.index(name)
        kind, labels = self.kinds[k] if self.kinds else NUMERIC, self.levels[k] if self.levels else ()
        return Side(kind, labels, self.values[:, :, k], name in self.chosen, whose)

    def noted(self, *notes: str) -> "Table":
        """The same table with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def kind_fields(kinds: Sequence[str], levels: Sequence[tuple[str, ...]], chosen: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a table about kinds; empty ones if all variables are plain numbers."""
    some = any(kind != NUMERIC for kind in kinds)
    return {"kinds": tuple(kinds) if some else (), "levels": tuple(levels) if any(levels) else (), "chosen": tuple(chosen)}


def repair_notes(attributes: Any) -> tuple[str, ...]:
    """A note if a frame or dataset records that it was repaired: it shares ranks with the sample that served as reference."""
    record = attributes.get(REPAIRED) if isinstance(attributes, Mapping) else None
    if isinstance(record, str):  # files hold text
        try:
            record = json.loads(record)
        except ValueError:
            return ()
    words = record.get("target_words") if isinstance(record, Mapping) else None
    return (f"repaired: these draws have the ranks of {words}; comparing them with it is no evidence",) if words else ()


def in_chains(table: Table, chains: int | str | None) -> Table:
    """The rows of one sample split into this many consecutive chains; existing chains must be as many."""
    if not isinstance(chains, int):  # a column's name is used when the columns are read
        return table
    k, n, d = table.values.shape
    if table.chained:
        if k != chains:
            raise InputError(f"chains={chains} was passed, but the draws have {k} chain{'s' * (k != 1)}; omit it", "shape")
        return table
    if n % chains:
        raise InputError(f"{n} draws cannot be divided into {chains} chains of equal length", "shape")
    diverging = None if table.diverging is None else table.diverging.reshape(chains, n // chains)
    return replace(table, values=table.values.reshape(chains, n // chains, d), chained=True, diverging=diverging)


def as_chains(tables: list[Table], labels: Sequence[str]) -> Table:
    """Tables of one chain each as the chains of one sample, in this order. Empties the list passed."""
    for table, label in zip(tables, labels, strict=True):
        if table.values.shape[0] != 1:
            own = f"{label} is one of {len(tables)} tables of one chain each, but has {table.values.shape[0]} chains"
            raise InputError(f"{own}; pass it alone", "shape")
    return replace(in_chains(_concatenated(tables, labels, equal=True), len(labels)), chain_names=tuple(file_labels(labels)))


def as_rows(tables: list[Table], labels: Sequence[str]) -> Table:
    """Tables as parts of one table, with rows in this order. Empties the list passed."""
    chained = next((label for table, label in zip(tables, labels, strict=True) if table.chained), None)
    if chained is not None:
        raise InputError(f"parts='rows' is for tables without chains, but {chained} has chains; join the tables first", "shape")
    return _concatenated(tables, labels, equal=False).noted(parts_note(len(labels)))


def is_missing(value: Any) -> bool:
    """Whether a value of any type is missing: None, pandas' NA, which cannot be compared, or NaN, which is not itself."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def parts_note(count: int) -> str:
    """A note that several tables or files were combined."""
    return f"{count} parts read as one table, rows in this order; parts='chains' (--parts chains) reads each part as a chain"


def _concatenated(tables: list[Table], labels: Sequence[str], *, equal: bool) -> Table:
    """The rows of all tables, one table after another, with the first one's variables, except those that any omitted.

    With `equal`, all must have the same number of rows.
    """
    left_out = dict(pair for table in reversed(tables) for pair in table.left_out)
    names = tuple(name for name in tables[0].names if name not in left_out)
    for table, label in zip(tables, labels, strict=True):
        require_same_names(names, [name for name in table.names if name not in left_out], labels[0], label)
    if not names:
        raise InputError(f"no variables are left; left out: {with_reasons([*left_out.items()])}; {NAME_VARIABLES}", "shape")
    if any(table.ranked for table in tables):
        found = "some values are too large for a float64"
        reason = "ranks within one table cannot be compared with those of another"
        raise InputError(f"{found}, and {reason}; subtract an offset or rescale them first")
    lengths = [table.values.shape[1] for table in tables]
    if equal:
        require_equal_lengths(lengths, labels, "" if any(table.chained for table in tables) else PARTS_OF_ONE)
    named = tables[0].named
    notes = tuple(told_once(zip(labels, (table.notes for table in tables), strict=True)))
    if any(table.kinds for table in tables):
        tables[:] = _with_common_levels(tables, labels, names)
    kinds = {name: getattr(tables[0], name) for name in ("kinds", "levels", "chosen")}
    if kinds["kinds"]:  # those of the variables that are kept, as these may be fewer
        places = [tables[0].names.index(name) for name in names]
        levels = tables[0].levels or ((),) * len(tables[0].names)
        kept = [name for name in tables[0].chosen if name in names]
        kinds = kind_fields([tables[0].kinds[k] for k in places], [levels[k] for k in places], kept)
    masks = [table.diverging for table in tables if table.diverging is not None]
    diverging = np.concatenate(masks, axis=1) if len(masks) == len(tables) else None
    values = np.empty((len(names), sum(lengths)))
    for end in np.cumsum(lengths):
        table = tables.pop(0)  # frees the table after copying
        position = {name: k for k, name in enumerate(table.names)}
        for k, name in enumerate(names):
            values[k, end - table.values.shape[1] : end] = table.values[0, :, position[name]]
    return Table(values.T[None], names, named, False, False, notes, tuple(left_out.items()), **kinds, diverging=diverging)


def _with_common_levels(tables: list[Table], labels: Sequence[str], names: tuple[str, ...]) -> list[Table]:
    """The tables with these variables, each with the same kind and levels in all of them."""
    values = [np.empty((len(names), *table.values.shape[:2])) for table in tables]
    kinds, levels = [], []
    for k, name in enumerate(names):
        sides = [table.side(name, label) for table, label in zip(tables, labels, strict=True)]
        common, found = common_levels(name, sides)
        kinds.append(common.kind)
        levels.append(common.labels)
        for own, column in zip(values, found, strict=True):
            own[k] = column
    chosen = tuple(name for name in names if any(name in table.chosen for table in tables))
    about = kind_fields(kinds, levels, chosen)
    return [
        replace(table, values=own.transpose(1, 2, 0), names=names, **about) for table, own in zip(tables, values, strict=True)
    ]


def require_equal_lengths(lengths: Sequence[int], labels: Sequence[str], way_out: str = "") -> None:
    """Raise unless all chains have the same number of draws."""
    if len(set(lengths)) > 1:
        short, long = int(np.argmin(lengths)), int(np.argmax(lengths))
        found = f"{labels[short]} has {lengths[short]} and {labels[long]} has {lengths[long]}"
        advice = f"truncate all of them to the last {lengths[short]} draws, or find out why {labels[short]} stopped{way_out}"
        raise InputError(f"chains must have the same number of draws, but {found}; {advice}", "shape")
