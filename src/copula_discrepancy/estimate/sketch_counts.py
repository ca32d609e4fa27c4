"""The counts of a sketch as bytes, and back: tables of pairs from the margins, and blocks of rows from the tables."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.estimate.count_coding import (
    Reader,
    Writer,
    batches,
    packed,
    read_series,
    read_tables,
    unpacked,
    write_series,
    write_tables,
)
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_plan import SketchPlan
from copula_discrepancy.estimate.sketch_reading import pair_counts
from copula_discrepancy.estimate.triple_counts import GROUPS, TripleCounts, counted_columns

Ints = NDArray[np.int64]
Described = Sequence[Sequence[int]]
Margins = tuple[Ints, ...]
Blocks = dict[tuple[int, int], NDArray[np.unsignedinteger]]

_WIDEST = 2**32 - 1  # rows whose counts fit into four bytes, as in sketches
MOST_ROWS = 2**53  # doubles add up counts without error
MOST_TRIPLES = 200_000  # tables of 4,096 cells: as many cells as those of pairs may have


def table_bytes(sketch: DependenceSketch, level: int) -> tuple[bytes, list[list[int]]]:
    """The tables of all pairs as bytes, with their description."""
    writer = Writer()
    for pairs, (high, wide) in _alike(sketch.plan_, sketch.plan_.widths):
        for part in batches(len(pairs), high * wide):
            tables = np.stack([pair_counts(sketch, i, j) for _, i, j in pairs[part]]).astype(np.int64)
            write_tables(writer, tables, _sides(sketch.margins, pairs[part]))
    return writer.finish(level)


def tables_from(
    plan: SketchPlan, n: int, margins: Margins, data: memoryview, described: Described
) -> NDArray[np.unsignedinteger]:
    """The counts of all pairs; ValueError if they are not those of `n` rows with these margins."""
    reader = Reader(data, described, int(plan.offsets[-1]))
    kind: type[np.unsignedinteger] = np.uint32 if n <= _WIDEST else np.uint64
    counts = np.zeros(int(plan.offsets[-1]), kind)
    for pairs, (high, wide) in _alike(plan, plan.widths):
        for part in batches(len(pairs), high * wide):
            rows, columns = _sides(margins, pairs[part])
            tables = read_tables(reader, np.full(len(rows), n, np.int64), (rows, columns))
            if not np.array_equal(tables.sum(axis=2), rows) or not np.array_equal(tables.sum(axis=1), columns):
                raise ValueError("the counts of a pair of columns are not those of its columns")
            for (place, _, _), table in zip(pairs[part], tables, strict=True):
                counts[plan.offsets[place] : plan.offsets[place + 1]] = table.ravel()
    reader.require_end()
    return counts


def block_bytes(sketch: DependenceSketch, level: int) -> tuple[bytes, list[list[int]]]:
    """The blocks of rows as bytes, in the order of their keys, with their description."""
    plan, writer = sketch.plan_, Writer()
    stacked = np.stack([sketch.blocks[key] for key in sorted(sketch.blocks)])
    rows = block_sizes(sketch)
    margins = _block_margins(plan, stacked)
    for margin in margins:
        write_series(writer, margin[None], _spread_over(rows, margin.shape[0]))
    for pairs, (high, wide) in _alike(plan, plan.coarse_widths):
        for part in batches(len(pairs), high * wide * len(rows)):
            inner = [_inner(_of_pair(plan, stacked, place, high), margins[i], margins[j]) for place, i, j in pairs[part]]
            write_series(writer, np.stack(inner), _weights(margins, pairs[part], rows))
    return writer.finish(level)


def block_sizes(sketch: DependenceSketch) -> Ints:
    """The rows of each block, in the order of their keys."""
    stop = int(sketch.plan_.coarse_offsets[1])  # every pair has all rows
    return np.array([int(sketch.blocks[key][:stop].sum(dtype=np.int64)) for key in sorted(sketch.blocks)], np.int64)


def blocks_from(
    plan: SketchPlan, coarse: Ints, keys: Sequence[tuple[int, int]], rows: Ints, data: memoryview, described: Described
) -> Blocks:
    """The blocks with these keys and numbers of rows; ValueError if they do not add up to the counts of groups of bins."""
    count = len(keys)
    reader = Reader(data, described, count * int(plan.coarse_offsets[-1] + plan.coarse_widths.sum()))
    stacked = np.zeros((count, int(plan.coarse_offsets[-1])), np.uint32)
    totals = [margin[:, 0] for margin in _block_margins(plan, coarse[None])]
    margins = [read_series(reader, total[None], _spread_over(rows, total.size))[0] for total in totals]
    if any(not np.array_equal(margin.sum(axis=0), rows) for margin in margins):
        raise ValueError("the rows of its blocks do not add up")
    for pairs, (high, wide) in _alike(plan, plan.coarse_widths):
        for part in batches(len(pairs), high * wide * count):
            known = [
                _inner(_of_pair(plan, coarse[None], p, high), totals[i][:, None], totals[j][:, None]) for p, i, j in pairs[part]
            ]
            inner = read_series(reader, np.stack(known)[..., 0], _weights(margins, pairs[part], rows))
            for (place, i, j), cells in zip(pairs[part], inner, strict=True):
                whole = _completed(cells, margins[i], margins[j])
                stacked[:, plan.coarse_offsets[place] : plan.coarse_offsets[place + 1]] = whole
    reader.require_end()
    return {key: block.copy() for key, block in zip(keys, stacked, strict=True)}


def coarse_counts(plan: SketchPlan, counts: NDArray[np.unsignedinteger]) -> Ints:
    """The counts of all pairs in groups of bins: what the blocks add up to."""
    groups = [np.eye(int(width))[column.coarse] for column, width in zip(plan.columns, plan.coarse_widths, strict=True)]
    found = np.empty(int(plan.coarse_offsets[-1]), np.int64)
    for place, (i, j) in enumerate(plan.pairs):
        table = counts[plan.offsets[place] : plan.offsets[place + 1]].reshape(plan.widths[i], plan.widths[j])
        cells = groups[i].T @ table.astype(np.float64) @ groups[j]
        found[plan.coarse_offsets[place] : plan.coarse_offsets[place + 1]] = cells.ravel().astype(np.int64)
    return found


def triple_bytes(sketch: DependenceSketch, level: int) -> tuple[bytes, list[list[int]]]:
    """The tables of all triples as bytes, with their description."""
    writer, triples = Writer(), sketch.triples
    assert triples is not None
    if len(triples.triples) > MOST_TRIPLES:
        raise InputError(f"a file can hold {MOST_TRIPLES:,} triples, and the sketch has {len(triples.triples):,}", "file")
    sides = _group_margins(triples, sketch.margins)
    for part in batches(len(triples.triples), GROUPS**3):
        tables = triples.counts[part].astype(np.int64).reshape(-1, GROUPS * GROUPS, GROUPS)
        write_tables(writer, tables, _triple_weights(sides, triples.triples[part], sketch.n))
    return writer.finish(level)


def triples_from(plan: SketchPlan, n: int, margins: Margins, data: memoryview, described: Described) -> TripleCounts:
    """The counts of all triples; ValueError if they are not those of `n` rows with these margins."""
    d = len(counted_columns(plan.columns))
    if d * (d - 1) * (d - 2) // 6 > MOST_TRIPLES:
        raise ValueError(f"it has more than {MOST_TRIPLES:,} triples")
    found = TripleCounts.empty(plan.columns)
    found.make_room(n)
    sides = _group_margins(found, margins)
    reader = Reader(data, described, found.counts.size)
    for part in batches(len(found.triples), GROUPS**3):
        chosen = found.triples[part]
        tables = read_tables(reader, np.full(len(chosen), n, np.int64), _triple_weights(sides, chosen, n))
        cubes = tables.reshape(-1, GROUPS, GROUPS, GROUPS)
        for axis, others in enumerate(((2, 3), (1, 3), (1, 2))):
            if not np.array_equal(cubes.sum(axis=others), sides[chosen[:, axis]]):
                raise ValueError("the counts of three columns are not those of each")
        found.counts[part] = tables.reshape(len(chosen), -1)
    reader.require_end()
    return found


def sum_bytes(sketch: DependenceSketch, level: int) -> bytes:
    """The sums of products of triples as bytes."""
    assert sketch.triples is not None
    return packed(sketch.triples.sums.astype("<i8").tobytes(), level)


def sums_from(triples: TripleCounts, n: int, data: memoryview) -> Ints:
    """The sums of products of triples; ValueError if they are larger than `n` rows can make them."""
    sums = np.frombuffer(unpacked(data, 8 * triples.sums.size), "<i8").astype(np.int64).reshape(triples.sums.shape)
    largest = float(np.abs(triples.weights).max(initial=0.0)) ** 3
    if (np.abs(sums.astype(np.float64)) > n * largest).any():
        raise ValueError("sums of its triples are too large")
    return sums


def _group_margins(triples: TripleCounts, margins: Margins) -> Ints:
    """The rows in each group of the columns of triples, (place, group)."""
    found = np.zeros((len(triples.columns), GROUPS), np.int64)
    for row, groups, column in zip(found, triples.groups, triples.columns.tolist(), strict=True):
        np.add.at(row, groups[: margins[column].size], margins[column])
    return found


def _triple_weights(sides: Ints, triples: Ints, n: int) -> tuple[Ints, Ints]:
    """About the rows in groups of the first two of three columns, as if these were independent, and in those of the third."""
    first, second = (sides[triples[:, k]].astype(np.float64) for k in (0, 1))
    both = first[:, :, None] * second[:, None] / max(n, 1)
    return both.astype(np.int64).reshape(len(triples), -1), sides[triples[:, 2]]


def _alike(plan: SketchPlan, widths: Ints) -> Iterator[tuple[list[tuple[int, int, int]], tuple[int, int]]]:
    """Pairs whose tables have the same shape, each with its place among all pairs, and the shape."""
    groups: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for place, (i, j) in enumerate(plan.pairs):
        groups.setdefault((int(widths[i]), int(widths[j])), []).append((place, i, j))
    return ((pairs, shape) for shape, pairs in groups.items())


def _sides(margins: Margins, pairs: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints]:
    """The margins of the first columns of pairs, and of the second ones."""
    return np.stack([margins[i] for _, i, _ in pairs]), np.stack([margins[j] for _, _, j in pairs])


def _of_pair(plan: SketchPlan, stacked: NDArray[np.integer], place: int, high: int) -> Ints:
    """The groups of one pair in all blocks, (first group, second group, block)."""
    own = stacked[:, plan.coarse_offsets[place] : plan.coarse_offsets[place + 1]].astype(np.int64)
    return own.reshape(len(own), high, -1).transpose(1, 2, 0)


def _block_margins(plan: SketchPlan, stacked: NDArray[np.integer]) -> list[Ints]:
    """For each column, the rows of its groups in all blocks, (group, block)."""
    high = int(plan.coarse_widths[0])
    tables = [_of_pair(plan, stacked, place, high) for place in range(len(plan.columns) - 1)]  # the pairs of the first column
    return [tables[0].sum(axis=1), *(table.sum(axis=0) for table in tables)]


def _spread_over(rows: Ints, groups: int) -> NDArray[np.float64]:
    """The rows of each block, for every group."""
    return np.broadcast_to(rows.astype(np.float64), (1, groups, rows.size))


def _weights(margins: Sequence[Ints], pairs: Sequence[tuple[int, int, int]], rows: Ints) -> NDArray[np.float64]:
    """What blocks would have if the groups of two columns were independent in each, (pair, cell, block)."""
    found = []
    for _, i, j in pairs:
        first, second = (_without(margins[k], _largest(margins[k])).astype(np.float64) for k in (i, j))
        found.append((first[:, None] * second / np.maximum(rows, 1).astype(np.float64)).reshape(-1, rows.size))
    return np.stack(found)


def _largest(margin: Ints) -> int:
    """The group with most rows; its counts are those that the others leave of the margins."""
    return int(np.argmax(margin.sum(axis=1)))


def _without(values: Ints, place: int) -> Ints:
    return np.concatenate([values[:place], values[place + 1 :]])


def _inner(table: Ints, first: Ints, second: Ints) -> Ints:
    """The cells (cell, block) of a table that the margins do not determine."""
    inner = _without(_without(table, _largest(first)).transpose(1, 0, 2), _largest(second))
    return inner.transpose(1, 0, 2).reshape(-1, table.shape[2])


def _completed(inner: Ints, first: Ints, second: Ints) -> Ints:
    """The whole table of all blocks, (block, cell), from such cells and the margins."""
    (high, count), wide, x, y = first.shape, second.shape[0], _largest(first), _largest(second)
    table = np.zeros((high, wide, count), np.int64)
    rows = [k for k in range(high) if k != x]
    columns = [k for k in range(wide) if k != y]
    table[np.ix_(rows, columns)] = inner.reshape(high - 1, wide - 1, count)
    table[rows, y] = first[rows] - table[rows].sum(axis=1)
    table[x] = second - table.sum(axis=0)
    if (table < 0).any():
        raise ValueError("the counts of its blocks do not add up")
    return np.ascontiguousarray(table.transpose(2, 0, 1)).reshape(count, high * wide)


def mapping_of(keys: Sequence[tuple[int, int]], rows: Ints) -> Mapping[int, int]:
    """The rows of each chain, from those of its blocks."""
    found: dict[int, int] = {}
    for (chain, _), count in zip(keys, rows.tolist(), strict=True):
        found[chain] = found.get(chain, 0) + count
    return found
