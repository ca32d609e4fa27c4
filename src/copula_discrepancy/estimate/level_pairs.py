"""The gap in form of a pair of columns of which at least one has levels."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from copula_discrepancy._core import kernels
from copula_discrepancy.estimate.coded_columns import FEWEST_ROWS, OTHER, CodedColumn
from copula_discrepancy.estimate.combination import cauchy
from copula_discrepancy.estimate.form import FEWEST_FOR_FORM, FormGap, FormSide, form_gaps
from copula_discrepancy.estimate.level_tables import (
    Influence,
    both_levels,
    contrasts,
    levels_and_ranks,
    ordered_functions,
    together,
    with_boundaries,
)
from copula_discrepancy.estimate.serial import SerialCounts

Array = NDArray[np.float64]
Pair = tuple[CodedColumn, CodedColumn]

# Rows that a place of a table of two columns with levels should have, expected or observed: tests leave out rarer ones, whose
# scores are far from normal.
_ROWS_IN_A_PLACE = 2.0
_NO_VARIANCE = 1e-12  # of influence values, which are of the order of 1
_NEVER = "too few rows in all levels but one"


class LevelGap(NamedTuple):
    """The gap in form of a pair of columns with levels.

    Attributes
    ----------
    form : FormGap
        The gap, with coefficients in the order of `shape`.
    shape : (int, int)
        The number of functions of the first and of the second column.
    levels : two tuples of str
        The levels compared, of either column; empty for ranks.
    n : tuple of int
        Rows compared, by sample.
    n_eff : tuple of float
        The smallest effective number of rows over the coefficients, by sample.
    rhats : tuple of float
        The largest R-hat over the coefficients, by sample; NaN for independent rows.
    shares : two arrays
        The common shares of the levels; empty for ranks.
    strength : float
        P-value of the first coefficient alone: of two ordered columns, the strength of dependence at the common shares.
    """

    form: FormGap
    shape: tuple[int, int]
    levels: tuple[tuple[str, ...], tuple[str, ...]]
    n: tuple[int, ...]
    n_eff: tuple[float, ...]
    rhats: tuple[float, ...]
    shares: tuple[Array, Array]
    strength: float

    def on_grid(self, order: int) -> FormGap:
        """The gap of two ordered columns with a cell for every pair of polynomials, NaN for those that they do not have."""

        def spread(values: Array, empty: float) -> Array:
            grid = np.full((order, order), empty)
            grid[: self.shape[0], : self.shape[1]] = values.reshape(self.shape)
            return grid.ravel()

        form = self.form
        own, target = (spread(values, math.nan) for values in (form.own, form.target))
        errors = [spread(values, 0.0) for values in (form.errors, form.own_errors, form.target_errors)]
        return replace(form, own=own, target=target, errors=errors[0], own_errors=errors[1], target_errors=errors[2])


@dataclass(frozen=True, eq=False)
class Axis:
    """The levels of one column after pooling: which place each code has, -1 for rows that are left out."""

    place: NDArray[np.int64]
    labels: tuple[str, ...]
    ordered: bool
    strata: NDArray[np.int64] | None = None

    @property
    def size(self) -> int:
        """The number of places."""
        return int(self.place.max()) + 1

    @property
    def has_levels(self) -> bool:
        """Whether the places are levels, not bins of ranks."""
        return bool(self.labels)

    @property
    def pooled(self) -> Array:
        """Which place the rows of each code count in, (code, place): 1 there and 0 elsewhere."""
        found = np.zeros((self.place.size, self.size))
        kept = np.flatnonzero(self.place >= 0)
        found[kept, self.place[kept]] = 1.0
        return found


def level_gap(samples: Sequence[Pair], *, order: int, iid: Sequence[bool], n_chains: Sequence[int]) -> LevelGap | str:
    """The gap between two samples of a pair of columns, at least one of them with levels, or why it cannot be tested.

    Parameters
    ----------
    samples : two pairs of CodedColumn
        Draws and reference.
    order : int
        The number of polynomials of ordered columns.
    iid : two bools
        Whether rows are independent, by sample.
    n_chains : two ints
        The number of chains that rows form, by sample.
    """

    def serial_of(k: int, found: Influence, axes: Sequence[Axis]) -> SerialErrors | None:
        return None if iid[k] else SerialErrors.of(found, samples[k], axes, n_chains[k])

    return gap_of_counts(samples[0], [_counts(*pair) for pair in samples], order=order, serial_of=serial_of)


def gap_of_counts(
    columns: Pair,
    counts: Sequence[NDArray[np.integer]],
    *,
    order: int,
    serial_of: "Callable[[int, Influence, Sequence[Axis]], SerialErrors | None]",
) -> LevelGap | str:
    """The same from tables of counts, (first code, second code), by sample.

    Parameters
    ----------
    columns : two CodedColumn
        What the codes mean.
    counts : two arrays
        Rows with each pair of codes in draws and reference; rows without one of the values are left out.
    order : int
        The number of polynomials of ordered columns.
    serial_of : callable
        What serial dependence does to the errors of a sample, by its number, or None.
    """
    if min(int(table.sum()) for table in counts) < FEWEST_FOR_FORM:
        return f"fewer than {FEWEST_FOR_FORM} rows have both values"
    axes = []
    for side in (0, 1):
        axis = _axis(columns[side], [table.sum(axis=1 - side) for table in counts])
        if axis.size < 2:
            return _NEVER
        axes.append(axis)
    tables = [axes[0].pooled.T @ table @ axes[1].pooled for table in counts]
    if any(min(table.sum(axis=1 - side).min() for table in tables) < 1 for side in (0, 1) if axes[side].has_levels):
        return _NEVER
    estimated = _both_ways(tables, axes, order)
    if any(axis.strata is not None for axis in axes):
        estimated = estimated.with_boundaries(axes)
    serial = [serial_of(k, found, axes) for k, found in enumerate(estimated.own)]
    gap, strength, sides = estimated.gap(tables, serial)
    n_eff = tuple(float(side.n_eff[0].min()) for side in sides)
    rhats = tuple(math.nan if found is None else float(side.rhats.max()) for found, side in zip(serial, sides, strict=True))
    labels = axes[0].labels, axes[1].labels
    n = tuple(int(table.sum()) for table in tables)
    return LevelGap(gap, estimated.shape, labels, n, n_eff, rhats, estimated.shares, strength)


def _counts(first: CodedColumn, second: CodedColumn) -> NDArray[np.int64]:
    """How many rows have each pair of codes: (first, second); rows without one of the values are left out."""
    # a missing value has the code -1: the rows before the first of the table, and after the last of each row, are theirs
    width = second.size + 1
    places = (first.codes.astype(np.int64) + 1) * width + (second.codes + 1)
    table = np.bincount(places, minlength=(first.size + 1) * width).reshape(first.size + 1, width)
    return np.ascontiguousarray(table[1:, 1:])


def _axis(column: CodedColumn, counts: Sequence[NDArray[np.int64]]) -> Axis:
    """The levels with enough rows in both samples; others are pooled, or left out if even together they have too few."""
    if not column.has_levels:
        return Axis(np.arange(column.size), (), True)
    least = np.min(counts, axis=0)
    if column.ordered:
        return _merged(column, np.array(counts))
    left_out = column.left_out
    kept = np.flatnonzero((least >= FEWEST_ROWS) & ~left_out)
    rest = np.flatnonzero((least < FEWEST_ROWS) & ~left_out)
    place = np.full(column.size, -1)
    place[kept] = np.arange(len(kept))
    labels = [column.labels[k] for k in kept]
    if rest.size and min(int(count[rest].sum()) for count in counts) >= FEWEST_ROWS:
        place[rest] = len(kept)
        labels.append(OTHER if OTHER not in labels else "others")
    return Axis(place, tuple(labels), False)


def _merged(column: CodedColumn, counts: NDArray[np.int64]) -> Axis:
    """Ordered levels; one with too few rows is merged with the next, the last with the one before."""
    place, groups, total = np.empty(column.size, np.int64), 0, np.zeros(len(counts), np.int64)
    firsts = [0]
    for level in range(column.size):
        place[level] = groups
        total = total + counts[:, level]
        if total.min() >= FEWEST_ROWS:
            groups, total = groups + 1, np.zeros(len(counts), np.int64)
            firsts.append(level + 1)
    if total.any() or groups == 0 or place[-1] == groups:  # the last group has too few rows, or none
        place[place == groups] = max(groups - 1, 0)
    edges = [k for k in firsts if k < column.size][: max(groups, 1)]
    ends = [*edges[1:], column.size]
    labels = []
    for start, stop in zip(edges, ends, strict=True):
        first, last = column.labels[start], column.labels[stop - 1]
        labels.append(first if first == last else f"{first} to {last}")
    strata = None
    if column.strata:
        # levels of several strata in one are no longer divided by rank
        alone = max(column.strata) + 1
        members = [{column.strata[k] for k in range(start, stop)} for start, stop in zip(edges, ends, strict=True)]
        strata = np.array([min(each) if len(each) == 1 else alone + k for k, each in enumerate(members)])
    return Axis(place, tuple(labels), True, strata)


class _Estimated(NamedTuple):
    """Influence at each sample's own frequencies, and at those of both together, which tests use."""

    own: list[Influence]
    null: list[Influence]
    shape: tuple[int, int]
    shares: tuple[Array, Array]
    used: NDArray[np.bool_]

    def with_boundaries(self, axes: Sequence[Axis]) -> "_Estimated":
        """The same with the errors of levels that are divided by rank."""
        strata = [np.arange(axis.size) if axis.strata is None else axis.strata for axis in axes]
        own = [with_boundaries(found, strata) for found in self.own]
        null = own if self.null is self.own else [with_boundaries(found, strata) for found in self.null]
        return self._replace(own=own, null=null)

    def gap(self, tables: Sequence[Array], serial: "Sequence[SerialErrors | None]") -> tuple[FormGap, float, list[FormSide]]:
        """The gap: sizes and their errors from either sample, the p-value from both together; and that of strength."""
        n = [int(table.sum()) for table in tables]
        every = np.ones_like(self.used)
        sides = [_side(found, size, slow, every) for found, size, slow in zip(self.own, n, serial, strict=True)]
        gap = form_gaps(sides[0], sides[1], None, np.ones(1, bool), fewest_cells=1).at(0)
        # perfect dependence in both samples has no error, and nothing to test
        used = self.used & (sum(np.diag(found.covariance) for found in self.null) > _NO_VARIANCE)
        if not used.any():
            return replace(gap, pvalue=math.nan), math.nan, sides
        known = self.null is not self.own
        tests = [_side(found, size, slow, used, known=known) for found, size, slow in zip(self.null, n, serial, strict=True)]
        tested = form_gaps(tests[0], tests[1], None, np.ones(1, bool), fewest_cells=1).at(0)
        known_first = used[0] and tested.errors[0] > 0.0
        score = float((tested.own[0] - tested.target[0]) / tested.errors[0]) if known_first else math.nan
        pvalue = float(cauchy([tested.pvalue, _strength_of_all(tests, used)], weights=[2.0, 1.0]))
        return replace(gap, pvalue=pvalue), 2.0 * float(ndtr(-abs(score))), sides


def _strength_of_all(sides: Sequence[FormSide], used: NDArray[np.bool_]) -> float:
    """P-value of a difference in the direction of the dependence that both samples have: of a part of it that is lost.

    The mean of both, weighted so that it is uncorrelated with their difference, does not know of the latter: of a loss that is
    spread over many coefficients, this sees more than a test of all of them. It counts as a third statistic beside their sum
    of squares and the largest (see `combination`).
    """
    (a, b), (v, w) = ([side.means[0][used] for side in sides], [side.se[0][used] ** 2 for side in sides])
    direction = (w * a + v * b) / (v + w)
    covariance = sum(side.covariance[0][np.ix_(used, used)] for side in sides)
    variance = float(direction @ covariance @ direction)
    return 2.0 * float(ndtr(-abs(float((a - b) @ direction)) / math.sqrt(variance))) if variance > 0.0 else 1.0


def _both_ways(tables: Sequence[Array], axes: Sequence[Axis], order: int) -> _Estimated:
    """Coefficients and influence values of both samples at common shares of the levels."""
    if axes[0].has_levels and axes[1].has_levels:
        shares = [np.mean([table.sum(axis=1 - side) / table.sum() for table in tables], axis=0) for side in (0, 1)]
        functions = [_functions(axis, share, order) for axis, share in zip(axes, shares, strict=True)]
        own, null = both_levels(tables, functions, shares)
        shape = functions[0].shape[1], functions[1].shape[1]
        return _Estimated(own, null, shape, (shares[0], shares[1]), _testable(tables, axes, shape))
    side = 0 if axes[0].has_levels else 1
    turned = [table if side == 0 else table.T for table in tables]
    share = np.mean([table.sum(axis=1) / table.sum() for table in turned], axis=0)
    function = _functions(axes[side], share, order)
    found = [levels_and_ranks(table, function, share, order) for table in turned]
    null = [
        one._replace(values=both.values, frequency=both.frequency)
        for one, both in zip(
            found, (levels_and_ranks(table, function, share, order) for table in together(turned, share)), strict=True
        )
    ]
    shape, nothing = (function.shape[1], order), np.empty(0)
    every = np.ones(shape[0] * shape[1], bool)
    if side == 0:
        return _Estimated(found, null, shape, (share, nothing), every)
    found, null = ([_turned(one, shape) for one in each] for each in (found, null))
    return _Estimated(found, null, (shape[1], shape[0]), (nothing, share), every)


def _functions(axis: Axis, shares: Array, order: int) -> Array:
    return ordered_functions(shares, order) if axis.ordered else contrasts(shares)


def _turned(found: Influence, shape: tuple[int, int]) -> Influence:
    """The same with the first and the second column exchanged."""
    c, b = found.frequency.shape
    values = found.values.reshape(c, b, *shape).transpose(1, 0, 3, 2).reshape(b, c, -1)
    return Influence(found.coefficients.reshape(shape).T.ravel(), values, found.frequency.T)


def _testable(tables: Sequence[Array], axes: Sequence[Axis], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Which coefficients of two columns of categories belong to a place with enough rows; all others have enough."""
    if any(axis.ordered for axis in axes) or shape != tables[0].shape:
        return np.ones(shape[0] * shape[1], bool)
    expected = [np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum() for table in tables]
    rows = np.mean([np.maximum(table, by_chance) for table, by_chance in zip(tables, expected, strict=True)], axis=0)
    return np.asarray(rows >= _ROWS_IN_A_PLACE).ravel()


class SerialErrors(NamedTuple):
    """What serial dependence does to the errors of one sample: by cell, the ratio of variances, df, means of half chains."""

    ratio: Array
    df: Array
    halves: Array

    @classmethod
    def of_blocks(
        cls, found: Influence, codes: Sequence[NDArray[np.intp]], axes: "Sequence[Axis]", counts: Array, blocks: SerialCounts
    ) -> "SerialErrors":
        """From counts in consecutive blocks of rows; `codes` are those of the bins of `counts`, (bin, bin)."""
        first, second = (axis.place[own] for axis, own in zip(axes, codes, strict=True))
        values = found.values[np.maximum(first, 0)[:, None], np.maximum(second, 0)[None]]
        values = np.where(((first >= 0)[:, None] & (second >= 0))[:, :, None], values, 0.0)
        means = blocks.group_means(counts, values)
        ratio, df = blocks.ratios(means)
        halves, _ = blocks.halves(means)
        return cls(np.where(np.isfinite(ratio), ratio, 1.0), df, halves)

    @classmethod
    def of(cls, found: Influence, pair: Pair, axes: "Sequence[Axis]", n_chains: int) -> "SerialErrors":
        """From the influence values in the order of the rows; rows without a value are left out of their chain."""
        complete = (pair[0].codes >= 0) & (pair[1].codes >= 0)
        first, second = (axis.place[column.codes[complete]] for axis, column in zip(axes, pair, strict=True))
        inside = (first >= 0) & (second >= 0)
        values = found.values[first[inside], second[inside]]  # (row, cell)
        n, cells = values.shape
        # without some rows, chains have no equal length any more: they are then one
        chains = n_chains if n == complete.size else 1
        ratio, df = np.ones(cells), np.full(cells, n - 1.0)
        for cell in range(cells):
            column = np.ascontiguousarray(values[:, cell])
            _, _, n_eff, freedom = kernels.long_run(column.reshape(chains, -1), False)
            if math.isfinite(n_eff):  # a coefficient without any variance has no serial dependence either
                ratio[cell], df[cell] = n / n_eff, freedom
        parts = 2 * chains
        length = n // parts
        halves = values[: parts * length].reshape(parts, length, cells).mean(axis=1)
        return cls(ratio, df, halves)


def _side(found: Influence, n: int, serial: SerialErrors | None, used: NDArray[np.bool_], *, known: bool = False) -> FormSide:
    """One sample's coefficients with their errors; `known` if these come from the frequencies of both samples."""
    covariance = found.covariance * n / max(n - 1.0, 1.0)
    variance = np.diag(covariance).copy()
    df = np.full(variance.shape, n - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        if not known:
            df = np.minimum(df, 2.0 * n / np.maximum(found.kurtosis - 1.0, 1.0))
        scale = np.sqrt(variance)
        correlations = np.where(np.outer(scale, scale) > 0.0, covariance / np.outer(scale, scale), 0.0)
    np.fill_diagonal(correlations, 1.0)
    n_eff = np.full_like(variance, float(n))
    halves = np.zeros((2, variance.size))
    if serial is not None:
        variance, n_eff, df = variance * serial.ratio, n / serial.ratio, np.minimum(df, serial.df)
        halves = serial.halves
    se = np.sqrt(variance / n)
    return FormSide(
        1, found.coefficients[None], se[None], np.maximum(df, 1.0)[None], n_eff[None], correlations[None], halves[None],
        used[None], n, n,
    )  # fmt: skip
