"""Rows of a table by the values of one or more of its columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import DATE, DURATION, HASHED
from copula_discrepancy.data.naming import errors_about, listed
from copula_discrepancy.data.readers.table import kind_fields

MOST_GROUPS = 50  # more are hardly groups but a variable of its own, and too many to read
_DIGITS = 15  # of a number as a label: all that survive a round trip through text
_FEWER = "use a column with fewer values, or put them into bins first (pandas.cut, pandas.qcut)"
_BETWEEN = " / "  # between the labels of several columns: not a comma, which separates groups in sentences


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The rows of one sample by group.

    Attributes
    ----------
    rows : mapping from str to array
        The positions of the rows of every group, in the order of their values.
    missing : int
        Number of rows without a value of at least one of the columns.
    """

    rows: dict[str, NDArray[np.intp]]
    missing: int


def checked_by(by: Any) -> tuple[str, ...]:
    """The names of the columns that define groups."""
    given = (by,) if isinstance(by, str) else by
    rule = "by must be the name of a column, or a list of names"
    if not isinstance(given, Sequence) or isinstance(given, bytes) or not all(isinstance(name, str) for name in given):
        raise InputError(f"{rule}, got {by!r:.60}")
    if not given:
        raise InputError(f"{rule}, got an empty list; omit it to compare all rows together")
    if len(set(given)) < len(given):
        raise InputError(f"{rule}, got {listed(given)}, in which a name occurs twice; pass it once")
    return tuple(given)


def with_group_columns(sample: Draws, by: Sequence[str], read: Callable[[list[str]], Draws]) -> tuple[Draws, tuple[str, ...]]:
    """The sample with the columns in `by`, and which of them were added because they are not among its variables.

    A column may be unselected, or left out as an identifier, and define groups all the same: `read` reads the named columns of
    the same table, with missing values.
    """
    added = [name for name in by if name not in sample.names]
    if not added:
        return sample, ()
    with errors_about("by"):
        others = read(added)
    if others.values.shape[:2] != sample.values.shape[:2]:
        raise InputError(f"by: {listed(added)} cannot be matched to the rows of the sample; include it in var_names", "shape")
    return _beside(sample, others), tuple(added)


def _beside(sample: Draws, others: Draws) -> Draws:
    """The variables of two samples with the same rows."""
    values = np.concatenate([sample.values, others.values], axis=2)
    values.flags.writeable = False
    kept = tuple(item for item in sample.left_out if item[0] not in others.names)
    return replace(
        sample,
        values=values,
        names=(*sample.names, *others.names),
        left_out=kept,
        ranked=sample.ranked or others.ranked,
        incomplete=sample.incomplete or others.incomplete,
        **kind_fields(
            [read.kind(k) for read in (sample, others) for k in range(read.n_variables)],
            [read.labels(k) for read in (sample, others) for k in range(read.n_variables)],
            [*sample.chosen, *others.chosen],
        ),
    )


def group_labels(draws: Draws, by: Sequence[str]) -> RowGroups:
    """The rows of a sample without chains by the values of its columns `by`; the label of a group is made of their labels.

    Raises
    ------
    InputError
        For more than 50 groups.
    """
    places = [draws.names.index(name) for name in by]
    for name, k in zip(by, places, strict=True):
        _require_groups(draws, name, k)
    columns = [draws.values[0, :, k] for k in places]
    known = ~np.any([np.isnan(column) for column in columns], axis=0)
    texts, codes = [], []
    for name, k, column in zip(by, places, columns, strict=True):
        found, own = np.unique(column[known], return_inverse=True)
        if len(found) > MOST_GROUPS:
            raise InputError(
                f"by={name!r} has {len(found):,} different values; groups need a column with at most {MOST_GROUPS}: {_FEWER}",
                "too-many-groups",
            )
        texts.append(value_labels(draws, k, found))
        codes.append(own.reshape(-1))
    combinations, members = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    if len(combinations) > MOST_GROUPS:
        raise InputError(
            f"by={[*by]!r} has {len(combinations):,} combinations of values, more than {MOST_GROUPS}; use fewer columns, or "
            "columns with fewer values",
            "too-many-groups",
        )
    labels = [[column[code] for column, code in zip(texts, row, strict=True)] for row in combinations]
    joined = [_BETWEEN.join(parts) for parts in labels]
    if len(set(joined)) < len(joined):  # a label that contains the separator
        joined = [_BETWEEN.join(f"{name}={part}" for name, part in zip(by, parts, strict=True)) for parts in labels]
    positions, members = np.flatnonzero(known), members.reshape(-1)
    rows = {label: positions[members == k] for k, label in enumerate(joined)}
    return RowGroups(rows, int(np.sum(~known)))


def _require_groups(draws: Draws, name: str, variable: int) -> None:
    """Raise for a column whose values are no groups, whatever their number."""
    if draws.kind(variable) in (DATE, DURATION):
        raise InputError(
            f"by={name!r} holds dates or durations; groups need a column with few values, such as its year", "dates"
        )
    if draws.labels(variable) == HASHED:
        found = f"by={name!r} has so many different values that they were hashed"
        raise InputError(f"{found}; groups need a column with at most {MOST_GROUPS}: {_FEWER}", "too-many-groups")


def value_labels(draws: Draws, variable: int, values: NDArray[np.float64]) -> list[str]:
    """Values of a variable as text: its labels, or the numbers."""
    labels = draws.labels(variable)
    return [labels[int(value)] if labels else f"{value:.{_DIGITS}g}" for value in values]


def rows_of(draws: Draws, rows: NDArray[np.intp], names: Sequence[str]) -> Draws:
    """Some rows of a sample and some of its variables; what was noted when it was read is about all rows, and stays there."""
    chosen = draws.select(names)
    values = np.ascontiguousarray(chosen.values[:, rows])
    values.flags.writeable = False
    return replace(chosen, values=values, notes=(), incomplete=bool(np.isnan(values).any()), diverging=None)
