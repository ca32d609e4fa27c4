"""Two columns of one or two samples, prepared for a picture: complete pairs, levels with their labels, and what suits them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.wording import called, counted
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import DATE, is_ordered
from copula_discrepancy.data.naming import unknown_name
from copula_discrepancy.report.plots import look

FEW = 8  # values of an ordered column that is drawn by level: more are seen better along an axis, and in a mosaic of 8 by 8
MOST_LEVELS = {"levels": 12, "mosaic": FEW}  # rows of boxes, and rows or columns of a mosaic, that have room for their labels
_FIRST = 1000  # rows in which nearly every column of numbers shows more values than that
WHOSE = ("reference", "draws")  # names of the two samples in pictures
CLOUD, LEVELS, MOSAIC = "cloud", "levels", "mosaic"


@dataclass(frozen=True)
class Column:
    """A column as a picture has it: with `levels`, its values are positions among these labels, otherwise numbers."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()

    @property
    def by_level(self) -> bool:
        """Whether it is drawn by level instead of along an axis."""
        return bool(self.levels)


@dataclass(frozen=True)
class Sample:
    """The rows of a sample that have both values, and how many do not."""

    whose: str
    color: str
    things: str
    values: tuple[NDArray[np.float64], NDArray[np.float64]]
    omitted: int

    @property
    def n(self) -> int:
        """Number of rows with both values."""
        return self.values[0].size

    @property
    def counted(self) -> str:
        """The number of rows, and how many lack a value."""
        rows = counted(self.n, self.things.removesuffix("s"))
        return f"{rows}, {self.omitted:,} without a value left out" if self.omitted else rows

    @property
    def title(self) -> str:
        """Whose rows they are, and how many."""
        return self.counted if self.whose == self.things else f"{self.whose}: {self.counted}"


@dataclass(frozen=True)
class TwoColumns:
    """Two columns and their samples, the reference first, with the picture that suits their kinds."""

    columns: tuple[Column, Column]
    samples: tuple[Sample, ...]

    @classmethod
    def of(cls, draws: Draws, reference: Draws | None, first: str, second: str, whose: tuple[str, str] = WHOSE) -> "TwoColumns":
        """The columns of these names; levels of both samples are matched by their labels."""
        if first == second:
            raise InputError(f"first and second must be two variables, got {first!r:.60} twice", "unknown-name")
        given = [(reference, whose[0], look.ORANGE)] if reference is not None else []
        tables = [*given, (draws, whose[1], look.BLUE)]
        prepared = [column_of([table for table, *_ in tables], name) for name in (first, second)]
        samples = []
        for k, (table, name, color) in enumerate(tables):
            x, y = (values[k] for _, values in prepared)
            both = ~(np.isnan(x) | np.isnan(y))
            things = called(table, iid=True)
            samples.append(Sample(name, color, things, (x[both], y[both]), int(both.size - both.sum())))
        columns = prepared[0][0], prepared[1][0]
        return cls(columns, tuple(samples))._without_unused_levels()

    @property
    def picture(self) -> str:
        """What suits the kinds: "cloud", "levels" (numbers in each level) or "mosaic"."""
        return (CLOUD, LEVELS, MOSAIC)[sum(column.by_level for column in self.columns)]

    @property
    def panels(self) -> int:
        """Number of Axes of the picture."""
        return 1 if self.picture == LEVELS else len(self.samples)

    def counts(self, which: int, sample: Sample) -> NDArray[np.int64]:
        """Rows of a sample in each level of a column."""
        return np.bincount(sample.values[which].astype(np.int64), minlength=len(self.columns[which].levels))

    def shares(self, which: int) -> NDArray[np.float64]:
        """The mean share of each level of a column over the samples; a level that one of them invented counts too."""
        counts = [self.counts(which, sample) / max(sample.n, 1) for sample in self.samples]
        return np.asarray(np.mean(counts, axis=0), dtype=np.float64)

    def arranged(self, which: int, order: Sequence[int], most: int) -> "TwoColumns":
        """The levels of a column in this order; with more than `most`, the rarest are one level "other" at the end."""
        levels, shares = self.columns[which].levels, self.shares(which)
        kept = list(order)
        if len(levels) > most:
            frequent = set(np.argsort(-shares, kind="stable")[: most - 1].tolist())
            kept = [k for k in order if k in frequent]
        labels = [levels[k] for k in kept]
        labels += [f"other ({len(levels) - len(kept)} levels)"] if len(kept) < len(levels) else []
        place = np.full(len(levels), len(kept), float)
        place[kept] = np.arange(len(kept))
        return self._with_levels(which, tuple(labels), place)

    def _without_unused_levels(self) -> "TwoColumns":
        """The columns without levels that no complete row has."""
        tidy = self
        for which, column in enumerate(self.columns):
            if column.by_level:
                used = np.flatnonzero(tidy.shares(which) > 0.0)
                place = np.zeros(len(column.levels))
                place[used] = np.arange(used.size)
                tidy = tidy._with_levels(which, tuple(column.levels[k] for k in used) or column.levels[:1], place)
        return tidy

    def _with_levels(self, which: int, labels: tuple[str, ...], place: NDArray[np.float64]) -> "TwoColumns":
        columns = list(self.columns)
        columns[which] = replace(columns[which], levels=labels)
        samples = []
        for sample in self.samples:
            values = list(sample.values)
            values[which] = place[values[which].astype(np.int64)]
            samples.append(replace(sample, values=(values[0], values[1])))
        return replace(self, columns=(columns[0], columns[1]), samples=tuple(samples))


def pair_is_ordered(draws: Draws, names: Sequence[str]) -> bool:
    """Whether all these columns have an order, and with it a level, a shape and tails."""
    return all(is_ordered(draws.kind(draws.names.index(name))) for name in names if name in draws.names)


def day(value: float) -> str:
    """A number of days since 1970-01-01 as a date."""
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(value)), "D"))


def column_of(tables: Sequence[Draws], name: str) -> tuple[Column, list[NDArray[np.float64]]]:
    """A column, and its values in each sample: positions among its levels if they are few or have no order."""
    places = [_place(table, name) for table in tables]
    kinds = [table.kind(k) for table, k in zip(tables, places, strict=True)]
    labels = [table.labels(k) for table, k in zip(tables, places, strict=True)]
    values = [table.column(k) for table, k in zip(tables, places, strict=True)]
    # the reference, which is first, says what the column is, unless only the draws have labels
    kind = next((kind for kind, own in zip(kinds, labels, strict=True) if own), kinds[0])
    if is_ordered(kind) and _many(values):
        return Column(name, kind), values
    if all(labels):
        union = [*dict.fromkeys(label for own in labels for label in own)]
        return Column(name, kind, tuple(union)), [_recoded(v, own, union) for v, own in zip(values, labels, strict=True)]
    distinct = _distinct(values)
    said = tuple(day(value) if kind == DATE else f"{value:g}" for value in distinct)
    codes = [np.where(np.isnan(v), np.nan, np.searchsorted(distinct, v)) for v in values]
    return Column(name, kind, said or ("no value",)), codes


def _place(table: Draws, name: str) -> int:
    if not isinstance(name, str) or name not in table.names:
        raise InputError(unknown_name(str(name), table.names), "unknown-name")
    return table.names.index(name)


def _many(values: Sequence[NDArray[np.float64]]) -> bool:
    """Whether there are too many different numbers for levels; of most columns the first rows tell."""
    return len(_distinct([one[:_FIRST] for one in values])) > FEW or len(_distinct(values)) > FEW


def _distinct(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The different numbers of all samples, sorted."""
    found = np.unique(np.concatenate([np.unique(one) for one in values]))
    return found[~np.isnan(found)]


def _recoded(values: NDArray[np.float64], own: Sequence[str], union: Sequence[str]) -> NDArray[np.float64]:
    """Positions among a sample's own labels as positions among those of both samples; NaN stays."""
    place = np.array([union.index(label) for label in own], dtype=np.float64)
    known = ~np.isnan(values)
    recoded = np.full(values.shape, np.nan)
    recoded[known] = place[values[known].astype(np.int64)]
    return recoded
