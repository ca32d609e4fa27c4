"""A sample that was counted, in the place of draws: names, kinds and numbers of rows, with a few values of each variable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import MISSING, PRESENCE
from copula_discrepancy.data.missingness import FEWEST
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, ReadOptions
from copula_discrepancy.data.readers.table import kind_fields
from copula_discrepancy.estimate.bins import UNSEEN, ColumnBins
from copula_discrepancy.estimate.counted_margins import CountedMargin
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.repeated_chains import COUNTED_AS_ONE
from copula_discrepancy.estimate.repeated_chains import chains_once as rows_of_chains_once
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_reading import (
    blocks_to_merge,
    margin_blocks,
    pair_counts,
    repeated_counts,
    serial_counts,
    with_chains_as_one,
)

Array = NDArray[np.float64]

_VALUES = 4000  # of each variable, which stand for its distribution: kinds, levels and constant columns are found in them
_POINTS = 4000  # in a picture of two variables


@dataclass(frozen=True, eq=False)
class CountedDraws(Draws):
    """The draws of a sketch; `values` are not rows, but values of each variable on its own, in proportion to their counts.

    Attributes
    ----------
    sketch : DependenceSketch
        The counts.
    origins : tuple of (int, bool)
        For each variable, its column in the sketch, and whether it says where values of that column are missing.
    kept : Draws or None
        The rows, if they are in memory all the same.
    """

    sketch: Any = None
    origins: tuple[tuple[int, bool], ...] = ()
    kept: Draws | None = None

    @classmethod
    def of(cls, sketch: DependenceSketch, notes: Sequence[str] = ()) -> "CountedDraws":
        """The variables of a sketch."""
        plan = sketch.plan_
        columns = [_stand_ins(column, margin) for column, margin in zip(plan.columns, sketch.margins, strict=True)]
        values = np.stack(columns, axis=-1)[None]
        values.flags.writeable = False
        about = kind_fields([column.kind for column in plan.columns], [column.labels for column in plan.columns], ())
        told = (*plan.notes, *_missing_values(sketch), *notes)
        origins = tuple((k, False) for k in range(len(columns)))
        return cls(
            values, plan.names, plan.named, plan.chained, notes=told, left_out=plan.left_out, sketch=sketch, origins=origins,
            **about,
        )  # fmt: skip

    def __draws__(self) -> Draws:
        """The rows, if they are in memory: `as_draws`, and so every function that needs rows, asks for them."""
        if self.kept is None:
            raise InputError(
                "rows that were counted while they were read are gone; pass the sketch to pairwise, discrepancy or "
                "interactions, or read rows into memory",
                "not-rows",
            )
        return self.kept

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return int(self.sketch.n_chains)

    @property
    def n_draws(self) -> int:
        """Rows per chain."""
        return int(self.sketch.n) // self.n_chains

    def chosen_by(self, selection: Mapping[str, Any]) -> "CountedDraws":
        """The variables that options of `as_draws` select."""
        keys = ("var_names", "filter_vars", "exclude")
        given = {key: selection.get(key) for key in keys}
        if all(value is None for value in given.values()):
            return self
        options = ReadOptions.checked(
            given["var_names"], given["filter_vars"], DEFAULT_GROUP, None, None, None, given["exclude"]
        )
        return self._at(options.pick(self.names))

    def _at(self, places: list[int]) -> "CountedDraws":
        found = super()._at(places)
        kept = None if self.kept is None else self.kept._at(places)
        origins = tuple(self.origins[k] for k in places)
        return replace(found, origins=origins, kept=kept)  # type: ignore[call-arg, return-value]

    def with_chains_once(self) -> "CountedDraws":
        """The same with chains that have the same counts as one chain, whose rows all count together; a note on each."""
        found = repeated_counts(self.sketch)
        if not found:
            return self
        notes = [f"chain {k} has the same counts as chain {first}{COUNTED_AS_ONE}" for k, first in found.items()]
        return replace(self, sketch=with_chains_as_one(self.sketch, found), notes=(*self.notes, *notes))

    def rows_of(self, variable: int) -> NDArray[np.int64]:
        """Rows in each level, or bin, of a variable, and at the end those without a value."""
        column, missing = self.origins[variable]
        margin = np.asarray(self.sketch.margins[column])
        return np.array([margin[:-1].sum(), margin[-1], 0]) if missing else margin

    def counted(self) -> CountedTable:
        """The variables as a table of counts; levels are in the order of `labels`."""
        maps = [self._bins(k) for k in range(self.n_variables)]
        margins = tuple(_moved(self.rows_of(k), place, size, axis=0) for k, (place, size, _) in enumerate(maps))
        blocks = None
        if self.sketch.plan_.serial and self.sketch.blocks:
            factor, _ = blocks_to_merge(self.sketch)

            def blocks(first: int, second: int) -> Any:
                return self._serial(first, second).merged(factor)

        def table(first: int, second: int) -> NDArray[Any]:
            found = self._base(first, second)
            for axis, k in enumerate((first, second)):
                place, size, _ = maps[k]
                found = _moved(found, place, size, axis=axis)
            return found

        single = tuple(flags for _, _, flags in maps)
        return CountedTable(self.names, int(self.sketch.n), self.n_chains, single, margins, table, blocks)

    def _base(self, first: int, second: int) -> NDArray[Any]:
        """Counts of two variables in the bins of the sketch; indicators of missing values have two of them."""
        (i, of_first), (j, of_second) = self.origins[first], self.origins[second]
        if i == j:  # a column with its own indicator, or twice: nothing to compare
            rows = np.asarray(self.sketch.margins[i])
            found = np.diag(rows)
        else:
            found = pair_counts(self.sketch, i, j)
        for axis, missing in enumerate((of_first, of_second)):
            if missing:
                found = np.moveaxis(found, axis, 0)
                absent = found[-1:]
                found = np.concatenate([found[:-1].sum(axis=0, keepdims=True), absent, np.zeros_like(absent)])
                found = np.moveaxis(found, 0, axis)
        return found

    def _serial(self, first: int, second: int) -> Any:
        """Counts in consecutive blocks of rows, with the groups of the bins as `counted` orders them."""
        (i, of_first), (j, of_second) = self.origins[first], self.origins[second]
        assert not of_first, "where values are missing is compared in tables without an order only"
        assert not of_second, "where values are missing is compared in tables without an order only"
        found = serial_counts(self.sketch, i, j)
        groups = []
        for k, own in zip((first, second), found.groups, strict=True):
            place, size, _ = self._bins(k)
            moved = np.zeros(size - 1, np.intp)
            inside = place[:-1] < size - 1
            moved[place[:-1][inside]] = own[inside]
            groups.append(moved)
        return replace(found, groups=(groups[0], groups[1]))

    def _bins(self, variable: int) -> tuple[NDArray[np.intp], int, NDArray[np.bool_]]:
        """Where each code of the sketch is counted, how many codes there are, and whether each bin holds a single value."""
        column, missing = self.origins[variable]
        if missing:
            return np.arange(3), 3, np.ones(2, bool)
        bins: ColumnBins = self.sketch.plan_.columns[column]
        labels = self.labels(variable)
        if not bins.labels or not labels or bins.labels == labels:
            return np.arange(bins.size + 1), bins.size + 1, bins.single
        at = {label: k for k, label in enumerate(labels)}
        unknown = at.get(UNSEEN, len(labels))
        place = np.array([at.get(label, unknown) for label in bins.labels] + [len(labels)], np.intp)
        return place, len(labels) + 1, np.ones(len(labels), bool)

    def bin_values(self, variable: int) -> Array:
        """A value of each bin that `counted` has: a position among the labels, or the lower edge."""
        _, size, _ = self._bins(variable)
        column, missing = self.origins[variable]
        if missing or self.labels(variable):
            return np.arange(size - 1.0)
        return _ends(self.sketch.plan_.columns[column])[0]

    def same_counts(self, other: "CountedDraws") -> bool:
        """Whether both sketches have the same bins and counts."""
        own, theirs = self.sketch, other.sketch
        return own is theirs or (own.plan_.same_as(theirs.plan_) is None and np.array_equal(own.counts, theirs.counts))

    # ---- margins ---------------------------------------------------------------------------------------------------

    def margin(self, variable: int) -> CountedMargin:
        """One variable on its own, as counts of its bins; those of levels have the labels' positions as values."""
        place, size, single = self._bins(variable)
        rows = _moved(self.rows_of(variable), place, size, axis=0)[:-1].astype(np.float64)
        column, missing = self.origins[variable]
        if missing or self.labels(variable):
            edges = np.arange(1.0, size - 1.0) - 0.5
        else:
            edges = self.sketch.plan_.columns[column].edges
        blocks = None
        if self.sketch.plan_.serial and self.sketch.blocks and not missing and not self.labels(variable):
            factor, _ = blocks_to_merge(self.sketch)
            blocks = margin_blocks(self.sketch, column).merged(factor)
        return CountedMargin(edges, rows, single, blocks)

    def margin_values(self, variable: int) -> Array:
        """Values of a variable at evenly spaced ranks, which stand for its distribution where it is described."""
        rows = self.rows_of(variable)[:-1].astype(np.float64)
        if not rows.sum():
            return np.empty(0)
        column, missing = self.origins[variable]
        place, _, single = self._bins(variable)
        at = (np.arange(_VALUES) + 0.5) / _VALUES
        below = np.concatenate([[0.0], np.cumsum(rows)]) / rows.sum()
        codes = np.searchsorted(below, at, side="right").clip(1, rows.size) - 1
        if missing or self.labels(variable):
            return place[codes].astype(np.float64)
        low, high = _ends(self.sketch.plan_.columns[column])
        within = np.where(single[codes], 0.0, (at - below[codes]) / np.maximum(below[codes + 1] - below[codes], 1e-300))
        return np.asarray(low[codes] + within * (high[codes] - low[codes]))

    # ---- pictures --------------------------------------------------------------------------------------------------

    def pictured(self, first: str, second: str, points: int = _POINTS, rng: int = 0) -> Draws:
        """Two variables as points that are spread over the cells of their counts, in proportion to the rows there."""
        chosen = self.select([first, second])
        assert isinstance(chosen, CountedDraws)
        table = chosen.counted()
        counts = np.asarray(table.tables(0, 1), np.float64)
        wanted = counts.ravel() / counts.sum()
        generator = np.random.default_rng(rng)
        count = int(min(points, counts.sum()))
        # systematic sampling: every cell has its share of the points up to one
        at = (np.arange(count) + generator.random()) / count
        cells = np.searchsorted(np.cumsum(wanted), at).clip(0, wanted.size - 1)
        i, j = np.divmod(cells, counts.shape[1])
        order = generator.permutation(count)
        columns = [chosen._inside(k, codes[order], generator) for k, codes in enumerate((i, j))]
        values = np.stack(columns, axis=-1)[None]
        about = kind_fields([chosen.kind(k) for k in (0, 1)], [chosen.labels(k) for k in (0, 1)], ())
        incomplete = bool(np.isnan(values).any())
        return Draws(values, chosen.names, self.named, False, notes=self.notes, incomplete=incomplete, **about)

    def _inside(self, variable: int, codes: NDArray[np.intp], rng: np.random.Generator) -> Array:
        """A value of each bin: one between its edges, at random."""
        column, missing = self.origins[variable]
        labels = self.labels(variable)
        if missing or labels:
            size = 2 if missing else len(labels)
            return np.where(codes < size, codes, np.nan).astype(np.float64)
        bins: ColumnBins = self.sketch.plan_.columns[column]
        low, high = _ends(bins)
        found = np.full(codes.size, np.nan)
        known = codes < bins.size
        inside = codes[known]
        share = np.where(bins.single[inside], 0.0, rng.random(inside.size))
        found[known] = low[inside] + share * (high[inside] - low[inside])
        return found


def rows_of(sample: Draws | None) -> Draws | None:
    """The rows of a sample, if they are in memory; None for one that was counted while it was read."""
    return sample.kept if isinstance(sample, CountedDraws) else sample


def as_pictured(sample: Draws, first: str, second: str, points: int = _POINTS) -> Draws:
    """Two variables of a sample: its rows, or points in proportion to its counts."""
    if isinstance(sample, CountedDraws) and sample.kept is None:
        return sample.pictured(first, second, points)
    rows = rows_of(sample)
    assert rows is not None
    return rows.select([first, second])


def with_indicators(draws: CountedDraws, reference: CountedDraws) -> tuple[Draws, Draws | None, frozenset[tuple[int, int]]]:
    """Both samples with an indicator for each column that has missing values, and the pairs that mean nothing."""
    chosen = []
    for k in range(draws.n_variables):
        rows = [sample.rows_of(k) for sample in (draws, reference)]
        if any(FEWEST <= int(row[-1]) <= int(row.sum()) - FEWEST for row in rows):
            chosen.append(k)
    if not chosen or any(sample.chained or sample.sketch.plan_.serial for sample in (draws, reference)):
        return draws, reference, frozenset()
    names = [*draws.names]
    for k in chosen:
        name = f"{draws.names[k]} is missing"
        while name in names:
            name += " (indicator)"
        names.append(name)
    skipped = frozenset((k, draws.n_variables + place) for place, k in enumerate(chosen))
    found = []
    for sample in (draws, reference):
        absent = np.zeros((1, _VALUES, len(chosen)))
        some = [place for place, k in enumerate(chosen) if sample.rows_of(k)[-1] > 0]
        absent[:, ::2, some] = 1.0  # it varies; how often is counted
        values = np.concatenate([sample.values, absent], axis=2)
        d = range(sample.n_variables)
        about = kind_fields(
            [*map(sample.kind, d), *[MISSING] * len(chosen)], [*map(sample.labels, d), *[PRESENCE] * len(chosen)], sample.chosen
        )
        origins = (*sample.origins, *((sample.origins[k][0], True) for k in chosen))
        found.append(replace(sample, values=values, names=tuple(names), origins=origins, **about))
    return found[0], found[1], skipped


def _missing_values(sketch: DependenceSketch) -> tuple[str, ...]:
    """A note on how many values of which columns are missing."""
    lacking = [(name, int(margin[-1])) for name, margin in zip(sketch.names, sketch.margins, strict=True) if margin[-1]]
    if not lacking:
        return ()
    listing = listed([f"{name} ({count:,} of {sketch.n:,})" for name, count in lacking], BRIEF)
    order = "; where they are missing is not compared, because the rows are in order" if sketch.plan_.serial else ""
    return (f"missing values in {listing}{order}",)


def _moved(counts: NDArray[Any], place: NDArray[np.intp], size: int, *, axis: int) -> NDArray[Any]:
    """Counts by another order of the codes along an axis; codes with the same place are added up."""
    if place.size == size and np.array_equal(place, np.arange(size)):
        return counts
    shape = list(counts.shape)
    shape[axis] = size
    found = np.zeros(shape, counts.dtype)
    np.add.at(np.moveaxis(found, axis, 0), place, np.moveaxis(counts, axis, 0))
    return found


def _ends(bins: ColumnBins) -> tuple[Array, Array]:
    """The ends of each bin; the first and the last reach as far as the ones next to them."""
    edges = bins.edges
    if edges.size == 0:
        return np.zeros(1), np.zeros(1)
    first = edges[0] - (edges[1] - edges[0] if edges.size > 1 else 1.0)
    last = edges[-1] + (edges[-1] - edges[-2] if edges.size > 1 else 1.0)
    return np.concatenate([[first], edges]), np.concatenate([edges, [last]])


def _stand_ins(column: ColumnBins, margin: NDArray[np.int64]) -> Array:
    """Values of one variable, in no order: one of every bin that has rows, and others in proportion to the rows."""
    rows = np.asarray(margin[:-1], np.float64)
    used = np.flatnonzero(rows)
    if not used.size:
        return np.zeros(_VALUES)
    at = (np.arange(_VALUES - used.size) + 0.5) / (_VALUES - used.size)
    more = np.searchsorted(np.cumsum(rows) / rows.sum(), at).clip(0, rows.size - 1)
    rng = np.random.default_rng(used.size)
    codes = rng.permutation(np.concatenate([used, more]))
    if column.labels:
        return codes.astype(np.float64)
    low, high = _ends(column)
    share = np.where(column.single[codes], 0.0, rng.random(codes.size))
    return np.asarray(low[codes] + share * (high[codes] - low[codes]))


def chains_once(samples: tuple[Draws, Any], iid: tuple[bool, bool]) -> tuple[Draws, Any]:
    """Draws and reference of which each chain counts once; independent rows as they are."""
    own, other = (None if sample is None else _once(sample, free) for sample, free in zip(samples, iid, strict=True))
    assert own is not None
    return own, other


def _once(sample: Draws, iid: bool) -> Draws:
    if isinstance(sample, CountedDraws):
        return sample if iid else sample.with_chains_once()
    return rows_of_chains_once(sample, iid=iid)
