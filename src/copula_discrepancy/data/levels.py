"""One variable of two samples, or of the parts of one, with a common kind and common levels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.kinds import (
    BOOLEAN,
    HASHED,
    MISSING,
    NOMINAL,
    NUMERIC,
    ORDINAL,
    TRUTH,
    example_of,
    hash_group,
    in_natural_order,
    label_of,
    listed_levels,
    number_of,
    recoded,
    truth_of,
    truth_order,
    used_labels,
)  # fmt: skip


class Side(NamedTuple):
    """A variable in one sample: its kind and labels, its values, whether the kind was chosen, and what the sample is called.

    `more` holds the values of further samples that were merged with it.
    """

    kind: str
    labels: tuple[str, ...]
    values: NDArray[np.float64]
    chosen: bool = False
    whose: str = "the draws"
    more: tuple[NDArray[np.float64], ...] = ()


class Common(NamedTuple):
    """The kind and the labels that a variable has in all samples."""

    kind: str
    labels: tuple[str, ...]


def common_levels(name: str, sides: Sequence[Side]) -> tuple[Common, list[NDArray[np.float64]]]:
    """The common kind and labels of a variable, and its values in every sample in terms of these.

    Labels are united. Values that one sample has as numbers and the other as levels are matched if that can be done without
    doubt: truth values with 0 and 1, codes with numbers; a kind that was chosen wins over one that was guessed.

    Parameters
    ----------
    name : str
        The variable.
    sides : sequence of Side
        The variable in each sample.

    Returns
    -------
    (Common, list of array)
        The kind and labels, and the values of each side; the array itself if nothing changes.

    Raises
    ------
    InputError
        If kinds or orders contradict each other, with an example and what to do.
    """
    merged = sides[0]
    for side in sides[1:]:
        merged = _merged(name, merged, side)
    common = Common(merged.kind, merged.labels)
    return common, [_converted(name, side, common) for side in sides]


def only_in_one(name: str, sides: Sequence[tuple[str, set[str]]]) -> tuple[str, ...]:
    """A note on levels that occur in one of two samples only."""
    (here, own), (there, other) = sides
    parts = [
        f"{listed_levels(in_natural_order(levels))} only in {whose}"
        for whose, levels in ((here, own - other), (there, other - own))
        if levels
    ]
    return (f"{name}: {', '.join(parts)}",) if parts else ()


def _merged(name: str, one: Side, two: Side) -> Side:
    if one.kind == two.kind and one.labels == two.labels:
        return one._replace(chosen=one.chosen or two.chosen, more=(*one.more, two.values))
    if one.kind == two.kind:
        return one._replace(labels=_united(name, one, two), chosen=one.chosen or two.chosen, values=np.empty(0))
    kinds = {one.kind, two.kind}
    first, second = (one, two) if _rank(one) <= _rank(two) else (two, one)
    if kinds == {NUMERIC, BOOLEAN} and _fits_truth(first):
        return second._replace(whose=one.whose, values=np.empty(0))
    if kinds == {NUMERIC, BOOLEAN} and second.labels == TRUTH:
        return first  # truth values are numbers too
    if kinds == {NUMERIC, ORDINAL} and all(number_of(label) is not None for label in second.labels):
        return second._replace(labels=_united(name, _as_levels(first, ORDINAL), second), whose=one.whose, values=np.empty(0))
    if kinds == {NUMERIC, NOMINAL} and _numbers_agree(first, second):
        if first.chosen and not second.chosen:
            return first
        return second._replace(labels=_united(name, _as_levels(first, NOMINAL), second), whose=one.whose, values=np.empty(0))
    if kinds == {BOOLEAN, NOMINAL}:
        boolean, nominal = first, second
        if {truth_of(label) for label in nominal.labels} <= {0, 1} and len(nominal.labels) <= 2 and not nominal.chosen:
            return boolean
        if set(boolean.labels) & set(nominal.labels):
            return nominal._replace(labels=_united(name, boolean, nominal), whose=one.whose, values=np.empty(0))
    if kinds == {ORDINAL, NOMINAL} or kinds == {ORDINAL, BOOLEAN}:
        ordinal, other = (one, two) if one.kind == ORDINAL else (two, one)
        if other.chosen and not ordinal.chosen and other.kind == NOMINAL:
            return other._replace(labels=_united(name, other, ordinal), whose=one.whose, values=np.empty(0))
        unknown = sorted(set(other.labels) - set(ordinal.labels))
        if not unknown:
            return ordinal._replace(whose=one.whose, values=np.empty(0))
        found = f"variable {name} has ordered values in {ordinal.whose} ({listed_levels(ordinal.labels)})"
        way_out = f"list them all, lowest first, or use kinds={{{name!r}: 'nominal'}} (--kinds {name}=nominal)"
        raise InputError(f"{found}, but {listed_levels(unknown)} in {other.whose} as well; {way_out}", "kinds-differ")
    raise _contradiction(name, one, two)


def _rank(side: Side) -> int:
    return {NUMERIC: 0, BOOLEAN: 1, ORDINAL: 2, NOMINAL: 3}.get(side.kind, -1)


def _known(side: Side) -> NDArray[np.float64]:
    """The different values, sorted."""
    parts = [np.unique(values[~np.isnan(values)]) for values in (side.values, *side.more)]
    known: NDArray[np.float64] = np.unique(np.concatenate(parts))
    return known


def _fits_truth(side: Side) -> bool:
    return bool(np.isin(_known(side), (0.0, 1.0)).all())


def _numbers_agree(numbers: Side, levels: Side) -> bool:
    """Whether numbers can be levels of the other sample: all its labels are numbers, and no fractions are among either."""
    figures = [number_of(label) for label in levels.labels]
    if levels.labels == HASHED:
        return True
    if None in figures:
        return False
    known = _known(numbers)
    return levels.chosen or numbers.chosen or bool((known == np.round(known)).all())


def _as_levels(side: Side, kind: str) -> Side:
    return side._replace(kind=kind, labels=tuple(map(label_of, _known(side).tolist())))


def _contradiction(name: str, one: Side, two: Side) -> InputError:
    """The error for two kinds that cannot be matched, with an example of text if there is one."""
    found = []
    for side in (one, two):
        example = f" (for example {example_of(in_natural_order(_seen(side)))})" if side.labels else ""
        found.append(f"{_WORDS.get(side.kind, side.kind)} in {side.whose}{example}")
    way_out = (
        f"correct the values, or choose its kind for both: kinds={{{name!r}: 'nominal'}} (--kinds {name}=nominal), "
        f"or leave it out: exclude={[name]} (--exclude {name})"
    )
    return InputError(f"variable {name} must be of one kind, but is {' and '.join(found)}; {way_out}", "kinds-differ")


_WORDS = {NUMERIC: "numbers", NOMINAL: "text", BOOLEAN: "true or false", ORDINAL: "ordered levels", "date": "dates",
          "duration": "durations", MISSING: "an indicator of missing values"}  # fmt: skip


def _seen(side: Side) -> set[str]:
    return used_labels(side.values, side.labels) or set(side.labels)


def _united(name: str, one: Side, two: Side) -> tuple[str, ...]:
    """The labels of both: unordered ones sorted, ordered ones in the order that both agree on."""
    if HASHED in (one.labels, two.labels):
        return HASHED
    if BOOLEAN == one.kind == two.kind:
        return _united_truth(name, one, two)
    if one.kind != ORDINAL or two.kind != ORDINAL:
        return in_natural_order({*one.labels, *two.labels})
    if all(_rises(side.labels) for side in (one, two)):
        return in_natural_order({*one.labels, *two.labels})
    return _united_orders(name, one, two)


def _united_truth(name: str, one: Side, two: Side) -> tuple[str, ...]:
    """The labels of the first, if the other one's mean the same."""
    labels = tuple(dict.fromkeys((*one.labels, *two.labels)))
    if len(labels) > 2:
        if all(tuple(map(truth_of, side.labels)) in ((0, 1), (0,), (1,)) for side in (one, two)):
            return one.labels if len(one.labels) == 2 else two.labels
        raise InputError(
            f"variable {name} has the values {listed_levels(one.labels)} in {one.whose} and {listed_levels(two.labels)} in "
            f"{two.whose}; write them alike, or use kinds={{{name!r}: 'nominal'}} (--kinds {name}=nominal)",
            "kinds-differ",
        )
    return truth_order(labels) or in_natural_order(labels)


def _rises(labels: Sequence[str]) -> bool:
    figures = [number_of(label) for label in labels]
    return None not in figures and figures == sorted(map(float, labels))


def _united_orders(name: str, one: Side, two: Side) -> tuple[str, ...]:
    """Two orders as one that contains both; raises if they contradict each other or leave a place open."""
    left, right, order = list(one.labels), list(two.labels), list[str]()
    while left and right:
        if left[0] == right[0]:
            order.append(left.pop(0))
            right.pop(0)
        elif left[0] in right and right[0] in left:
            raise InputError(
                f"variable {name} has the order {listed_levels(one.labels)} in {one.whose} and {listed_levels(two.labels)} in "
                f"{two.whose}; choose one, lowest first: kinds={{{name!r}: {list(one.labels)!r:.80}}}",
                "kinds-differ",
            )
        elif left[0] in right:
            order.append(right.pop(0))
        elif right[0] in left:
            order.append(left.pop(0))
        else:
            raise InputError(
                f"variable {name}: the order of {left[0]} (in {one.whose}) and {right[0]} (in {two.whose}) is not known; "
                f"list all values, lowest first: kinds={{{name!r}: [...]}}",
                "kinds-differ",
            )
    return (*order, *left, *right)


def _converted(name: str, side: Side, common: Common) -> NDArray[np.float64]:
    """The values of one sample in terms of the common labels."""
    if side.labels == common.labels or (side.kind == common.kind and not common.labels):
        return side.values
    if not common.labels and side.kind == BOOLEAN:
        return side.values
    if not common.labels:
        return recoded(side.values, [float(label) for label in side.labels])
    if not side.labels and common.kind == BOOLEAN:
        return side.values
    if not side.labels:
        codes = np.searchsorted(_known(side), side.values).astype(np.float64)
        codes[np.isnan(side.values)] = np.nan
        side = _as_levels(side, common.kind)._replace(values=codes)
    if common.labels == HASHED:
        return recoded(side.values, [float(hash_group(label)) for label in side.labels])
    place = {label: float(k) for k, label in enumerate(common.labels)}
    if common.kind == BOOLEAN and not set(side.labels) <= set(common.labels):
        return recoded(side.values, [float(truth_of(label) or 0) for label in side.labels])
    return recoded(side.values, [place[label] for label in side.labels])
