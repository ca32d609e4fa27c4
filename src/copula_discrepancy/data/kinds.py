"""Kinds of variables: numbers, ordered and unordered categories, dates; and those that users choose for their columns."""

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import BRIEF, listed, unknown_name

NUMERIC, BOOLEAN, ORDINAL, NOMINAL, DATE, DURATION, MISSING = (
    "numeric", "boolean", "ordinal", "nominal", "date", "duration", "missing",
)  # fmt: skip
KINDS = (NUMERIC, BOOLEAN, ORDINAL, NOMINAL, DATE, DURATION, MISSING)
ID = "id"  # a choice of users: the column is left out
CHOICES = (NUMERIC, ORDINAL, NOMINAL, BOOLEAN, DATE, ID)
PRESENCE = ("present", "missing")  # labels of an indicator of missing values
TRUTH = ("False", "True")  # labels of a boolean that the data does not name
GROUPS = 8  # of hashed labels: few enough that each holds many rows of any table worth comparing
MOST_LEVELS = 1_000  # more levels are hashed: a table of two such columns would have a million cells, most of them empty
HASHED = tuple(f"hash {k}" for k in range(GROUPS))
_PAIRS_OF_WORDS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"), ("0", "1"))
_SDTYPES = {"numerical": NUMERIC, "ordinal": ORDINAL, "boolean": BOOLEAN, "categorical": NOMINAL, "datetime": DATE}
_EXAMPLE = "kinds={'zip': 'nominal', 'size': ['S', 'M', 'L']}"


def is_ordered(kind: str) -> bool:
    """Whether the values of a kind have an order, so that level and shape are defined; all but "nominal" have one.

    Examples
    --------
    >>> is_ordered("date"), is_ordered("nominal")
    (True, False)
    """
    return kind != NOMINAL


@dataclass(frozen=True)
class Choice:
    """The kind that a user or a table's metadata gives to a column.

    Attributes
    ----------
    kind : str
        One of the kinds, or "id" for a column to leave out.
    order : tuple of str
        The labels of an ordinal column, lowest first; empty for the order that its values have.
    reason : str
        Why a column is left out.
    date_format : str, optional
        The format of text that holds dates, as `datetime.strptime` understands it; None for ISO dates.
    described : bool
        Whether metadata gives it: values that contradict it leave the column out instead of raising an error.
    """

    kind: str
    order: tuple[str, ...] = ()
    reason: str = "identifier"
    date_format: str | None = None
    described: bool = False


@dataclass(frozen=True)
class ChosenKinds:
    """The kinds that users choose, by column; columns without a choice are guessed, or left out if metadata is complete.

    Attributes
    ----------
    choices : mapping from str to Choice
        By the name of the column.
    described : bool
        Whether they are a table's metadata, which names every column of the table and may name more.
    """

    choices: Mapping[str, Choice] = field(default_factory=dict)
    described: bool = False

    @classmethod
    def of(cls, kinds: Any, name: str = "kinds") -> "ChosenKinds":
        """Validated choices from a dictionary of kinds, or from SDV's or SDMetrics' metadata; None chooses nothing.

        Parameters
        ----------
        kinds : dict, object with to_dict, ChosenKinds or None
            ``{"zip": "nominal", "size": ["S", "M", "L"]}``, or metadata.
        name : str
            The argument, for messages.

        Returns
        -------
        ChosenKinds
            The choices.

        Raises
        ------
        InputError
            For an unknown kind, with those that exist, and for anything else than a dictionary.

        Examples
        --------
        >>> ChosenKinds.of({"size": ["S", "M", "L"]}).choices["size"].order
        ('S', 'M', 'L')
        >>> ChosenKinds.of({"columns": {"mail": {"sdtype": "email"}}}).choices["mail"].kind
        'id'
        """
        if kinds is None:
            return NOTHING_CHOSEN
        if isinstance(kinds, ChosenKinds):
            return kinds
        if hasattr(kinds, "to_dict") or name != "kinds" or _is_metadata(kinds):
            return _from_metadata(kinds, name)
        if not isinstance(kinds, Mapping):
            raise InputError(f"kinds must map columns to kinds, such as {_EXAMPLE}, got {kinds!r:.80}")
        return cls({_name(column): _choice(column, given) for column, given in kinds.items()})

    def get(self, name: str) -> Choice | None:
        """The choice for a column, or None; a column that metadata does not describe is left out."""
        if self.described and name not in self.choices:
            return Choice(ID, reason="not in the metadata", described=True)
        return self.choices.get(name)

    def require_known(self, names: Sequence[str]) -> None:
        """Raise for a choice of a column that does not exist; metadata may describe columns that a table lacks."""
        if self.described:
            return
        for name in self.choices:
            if name not in names:
                raise InputError(f"kinds: {unknown_name(name, names, 'column')}", "unknown-name")


NOTHING_CHOSEN = ChosenKinds()


def _name(column: Any) -> str:
    if not isinstance(column, str | int):
        raise InputError(f"kinds must map names of columns to kinds, such as {_EXAMPLE}, got the key {column!r:.60}")
    return str(column)


def _choice(column: Any, given: Any) -> Choice:
    if isinstance(given, str):
        if given not in CHOICES:
            choices = ", ".join(map(repr, CHOICES))
            raise InputError(
                f"kinds[{column!r}] must be one of {choices}, or a list of its values, lowest first, got {given!r:.60}"
            )
        return Choice(given)
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, bytes) or not len(given):
        raise InputError(
            f"kinds[{column!r}] must be a kind ({', '.join(CHOICES)}) or a list of its values, lowest first, got {given!r:.60}"
        )
    order = tuple(label_of(value) for value in given)
    if len(set(order)) < len(order):
        raise InputError(f"kinds[{column!r}] must list each value once, lowest first, got {listed(order)}")
    return Choice(ORDINAL, order)


def _is_metadata(given: Any) -> bool:
    """Whether a dictionary describes a table as SDV does, rather than mapping columns to kinds."""
    return isinstance(given, Mapping) and any(isinstance(given.get(key), Mapping) for key in ("columns", "tables"))


def _from_metadata(metadata: Any, name: str) -> ChosenKinds:
    """The columns of the first table; what has a personal or unknown type is an identifier."""
    try:
        if hasattr(metadata, "to_dict"):
            metadata = metadata.to_dict()
        tables = metadata.get("tables")
        columns = (next(iter(tables.values())) if tables else metadata)["columns"]
        return ChosenKinds({str(column): _described(about) for column, about in columns.items()}, True)
    except (AttributeError, KeyError, TypeError, StopIteration):
        raise InputError(
            f"{name} must describe columns as SDMetrics does, {{'columns': {{'a': {{'sdtype': 'numerical'}}}}}}, "
            f"got {metadata!r:.80}"
        ) from None


def _described(about: Mapping[str, Any]) -> Choice:
    sdtype, order = str(about["sdtype"]), about.get("order")
    if sdtype not in _SDTYPES:
        return Choice(ID, reason=sdtype, described=True)
    kind = _SDTYPES[sdtype]
    labels: tuple[str, ...] = ()
    if kind in (NOMINAL, ORDINAL):
        labels = tuple(map(label_of, order)) if isinstance(order, list | tuple) else ()
        kind = ORDINAL if labels or about.get("order_by") == "numerical_value" else kind
    written = about.get("datetime_format")
    return Choice(kind, labels, date_format=written if isinstance(written, str) else None, described=True)


def label_of(value: Any) -> str:
    """The label of a value of any type: its text; numbers without a fraction have no decimal point.

    Examples
    --------
    >>> label_of(4.0), label_of(True), label_of("a b"), label_of(0.5)
    ('4', 'True', 'a b', '0.5')
    """
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return str(int(value))
    return str(value)


def number_of(label: str) -> float | None:
    """The finite number that a label is, or None.

    Examples
    --------
    >>> number_of("2.50"), number_of("nan"), number_of("1_000"), number_of("a")
    (2.5, None, None, None)
    """
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in label else None


def in_natural_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels sorted by value if all are numbers, otherwise as text.

    Examples
    --------
    >>> in_natural_order(["10", "9"]), in_natural_order(["b", "10", "a"])
    (('9', '10'), ('10', 'a', 'b'))
    """
    texts = sorted(labels)
    numbers = [number_of(label) for label in texts]
    if any(number is None for number in numbers):
        return tuple(texts)
    return tuple(text for _, text in sorted(zip(numbers, texts, strict=True), key=lambda pair: (pair[0], pair[1])))


def truth_order(labels: Iterable[str]) -> tuple[str, ...] | None:
    """The labels as (false, true) if they are two words for them, such as no and yes; None otherwise.

    Examples
    --------
    >>> truth_order(["Yes", "No"]), truth_order(["m", "f"])
    (('No', 'Yes'), None)
    """
    words = {label.strip().casefold(): label for label in labels}
    if len(words) != 2:
        return None
    return next(((words[no], words[yes]) for no, yes in _PAIRS_OF_WORDS if no in words and yes in words), None)


def truth_of(label: str) -> int | None:
    """0 for a word that means false, 1 for one that means true, None for any other."""
    word = label.strip().casefold()
    return next((pair.index(word) for pair in _PAIRS_OF_WORDS if word in pair), None)


def hash_group(label: str, groups: int = GROUPS) -> int:
    """The group of a label, counted from 0, the same in every table and every run: CRC-32 of its UTF-8 text.

    Examples
    --------
    >>> hash_group("Wien"), hash_group("")
    (5, 0)
    """
    return zlib.crc32(label.encode("utf-8", "surrogatepass")) % groups


def hashed_note(name: str, count: int) -> str:
    """What is said of a column whose labels were hashed."""
    return f"{name}: {count:,} different values, put into {GROUPS} groups by a hash of the text"


def recoded(codes: NDArray[np.float64], lookup: Sequence[float]) -> NDArray[np.float64]:
    """Codes replaced by the entries of a table; missing values stay missing."""
    table = np.append(np.asarray(lookup, dtype=np.float64), np.nan)
    places = np.where(np.isnan(codes), len(lookup), codes).astype(np.intp)
    replaced: NDArray[np.float64] = table[places]
    return replaced


def used_labels(codes: NDArray[np.float64], labels: Sequence[str]) -> set[str]:
    """The labels that occur."""
    counts = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=len(labels))
    return {label for label, count in zip(labels, counts.tolist(), strict=True) if count}


def example_of(labels: Sequence[str]) -> str:
    """A label that is not a number, if there is one, for messages."""
    return repr(next((label for label in labels if number_of(label) is None), labels[0] if labels else ""))[:60]


def listed_levels(labels: Iterable[str]) -> str:
    """Some of the labels, for messages."""
    return listed(list(labels), BRIEF)
