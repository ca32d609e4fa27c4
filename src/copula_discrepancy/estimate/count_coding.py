"""Tables of counts as few bytes, without loss: every count is stored as its difference from what its neighbourhood predicts.

Counts are added up, two and two, until one number is left. Going back, a sum and the margins of the table predict its two
parts; what is stored is how far the first part is from that, which is as small as chance makes it. Predictions are sums,
differences, products and quotients of doubles, which IEEE 754 rounds in the same way on every machine.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CLASSES = 66  # of expected spread, by powers of two: 64 for all whole numbers, one for none, and one below
_BATCH = 400_000  # cells at a time: they stay in the cache, and whatever is derived from them needs little memory
_WIDEST, _MOST_BITS = 8, 71  # bytes of a number, and bits of it in files: some of its highest byte may be empty
_USUAL = 0.999  # share of the differences of a class whose code is one byte


class Writer:
    """Takes differences, by the class of their expected spread, and makes bytes of them."""

    def __init__(self) -> None:
        self._parts: list[list[NDArray[np.uint64]]] = [[] for _ in range(CLASSES)]

    def add(self, classes: NDArray[np.uint8], values: Ints) -> None:
        """Take differences, each with its class."""
        order = np.argsort(classes, kind="stable")
        # zigzag: 0, -1, 1, -2, ... become 0, 1, 2, 3, ..., so that small ones have empty high bytes
        folded = ((values << 1) ^ (values >> 63)).view(np.uint64)[order]
        ends = np.cumsum(np.bincount(classes, minlength=CLASSES))
        for k in np.unique(classes).tolist():
            self._parts[k].append(folded[ends[k - 1] if k else 0 : ends[k]])

    def finish(self, level: int) -> tuple[bytes, list[list[int]]]:
        """All bytes, and for each class its number, its count, low bits, and the sizes of its planes of high bytes."""
        found, described = [], []
        for k, parts in enumerate(self._parts):
            if not parts:
                continue
            values = np.concatenate(parts)
            # low bits of noise are noise: they are left as they are, so that what remains has a code of one byte
            low = max(int(np.quantile(values, _USUAL)).bit_length() - 7, 0)
            coded = [np.packbits((values >> np.uint64(bit)).astype(np.uint8) & 1).tobytes() for bit in range(low)]
            values >>= np.uint64(low)
            width = max((int(values.max()).bit_length() + 7) // 8, 1)
            # all lowest bytes, then all second ones: bytes of the same meaning share a code
            planes = [packed((values >> np.uint64(8 * place)).astype(np.uint8), level) for place in range(width)]
            found += [*coded, *planes]
            described.append([k, int(values.size), low, *map(len, planes)])
        return b"".join(found), described


class Reader:
    """Gives back the differences of a `Writer`, class by class."""

    def __init__(self, data: memoryview, described: Sequence[Sequence[int]], most: int) -> None:
        self._streams: dict[int, NDArray[np.unsignedinteger]] = {}
        self._used = dict.fromkeys(range(CLASSES), 0)
        place, total = 0, 0

        def taken(size: int) -> memoryview:
            nonlocal place
            if not 0 <= size <= len(data) - place:
                raise ValueError("it ends too early")
            place += size
            return data[place - size : place]

        for k, count, low, *sizes in described:
            total += count
            if k in self._streams or not 0 <= k < CLASSES or count < 1 or total > most or not 1 <= len(sizes) <= _WIDEST:
                raise ValueError("its counts are described wrongly")
            bits = low + 8 * len(sizes)
            if low < 0 or bits > _MOST_BITS:
                raise ValueError("its counts are described wrongly")
            kind: Any = np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64
            values: NDArray[Any] = np.zeros(count, kind)
            for bit in range(low):
                plane = np.unpackbits(np.frombuffer(taken((count + 7) // 8), np.uint8), count=count)
                values |= plane.astype(kind) << kind(bit)
            for byte, size in enumerate(sizes):
                plane = np.frombuffer(unpacked(taken(size), count), np.uint8)
                values |= plane.astype(kind) << kind(low + 8 * byte)
            self._streams[k] = values
        if place != len(data):
            raise ValueError("it has bytes of no meaning")

    def take(self, classes: NDArray[np.uint8]) -> Ints:
        """The next differences of these classes."""
        order = np.argsort(classes, kind="stable")
        sizes = np.bincount(classes, minlength=CLASSES)
        folded, end = np.zeros(classes.size, np.uint64), 0
        for k in np.flatnonzero(sizes).tolist():
            count, used = int(sizes[k]), self._used[k]
            stream = self._streams.get(k)
            if stream is None or used + count > stream.size:
                raise ValueError("it has too few counts")
            folded[end : end + count] = stream[used : used + count]
            self._used[k] = used + count
            end += count
        values = np.empty(classes.size, np.int64)
        values[order] = (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).astype(np.int64)
        return values

    def require_end(self) -> None:
        """Raise if differences are left."""
        if any(self._used[k] != stream.size for k, stream in self._streams.items()):
            raise ValueError("it has too many counts")


def packed(data: Any, level: int) -> bytes:
    """Deflated bytes; apart from runs no repetitions are searched: noise has few, and their codes are longer than they save."""
    coder = zlib.compressobj(level, zlib.DEFLATED, 15, 9, zlib.Z_RLE)
    return coder.compress(data) + coder.flush()


def unpacked(data: Any, size: int) -> bytes:
    """Exactly this many bytes; nothing beyond them is ever in memory."""
    coder = zlib.decompressobj()
    try:
        found = coder.decompress(data, size + 1)
    except zlib.error:
        raise ValueError("its bytes are not compressed as they should be") from None
    if len(found) != size or not coder.eof or coder.unused_data:
        raise ValueError("it has another size than it says")
    return found


def batches(count: int, cells: int) -> Iterator[slice]:
    """Ranges of tables that are coded together."""
    step = max(_BATCH // max(cells, 1), 1)
    return (slice(k, min(k + step, count)) for k in range(0, count, step))


def write_tables(writer: Writer, tables: Ints, margins: tuple[Ints, Ints]) -> None:
    """Code tables (table, row, column) whose margins, (table, row) and (table, column), are known."""
    steps = list(_steps(tables.shape[1], tables.shape[2]))
    levels = [tables]
    for axis in steps:
        levels.append(_along(_halved(_along(levels[-1], axis)), axis))
    known = _levels_of(margins, steps)
    for axis, children, parents, columns in zip(steps[::-1], levels[-2::-1], levels[:0:-1], known[::-1], strict=True):
        _write_split(writer, _along(children, axis), *_from_margins(_along(parents, axis), columns))


def read_tables(reader: Reader, totals: Ints, margins: tuple[Ints, Ints]) -> Ints:
    """Tables (table, row, column) with these totals and margins."""
    steps = list(_steps(margins[0].shape[1], margins[1].shape[1]))
    tables = totals[:, None, None]
    for axis, columns in zip(steps[::-1], _levels_of(margins, steps)[::-1], strict=True):
        parents = _along(tables, axis)
        tables = _along(_read_split(reader, parents, columns.shape[-1], *_from_margins(parents, columns)), axis)
    return tables


def write_series(writer: Writer, series: Ints, weights: Floats) -> None:
    """Code series (table, cell, place) whose sums are known, and which are about in proportion to weights of that shape."""
    levels, sizes = [series], [weights]
    while levels[-1].shape[-1] > 1:
        levels.append(_halved(levels[-1]))
        sizes.append(_halved(sizes[-1]))
    for children, parents, known in zip(levels[-2::-1], levels[:0:-1], sizes[-2::-1], strict=True):
        _write_split(writer, children, *_from_weights(parents, known))


def read_series(reader: Reader, totals: Ints, weights: Floats) -> Ints:
    """Series (table, cell, place) with these sums (table, cell)."""
    sizes = [weights]
    while sizes[-1].shape[-1] > 1:
        sizes.append(_halved(sizes[-1]))
    series = totals[..., None]
    for known in sizes[-2::-1]:
        series = _read_split(reader, series, known.shape[-1], *_from_weights(series, known))
    return series


def _steps(high: int, wide: int) -> Iterator[int]:
    """The axes along which a table is halved, one after the other, until one cell is left."""
    while high > 1 or wide > 1:
        if high >= wide:
            yield 0
            high = (high + 1) // 2
        else:
            yield 1
            wide = (wide + 1) // 2


def _levels_of(margins: tuple[Ints, Ints], steps: Sequence[int]) -> list[Ints]:
    """The margin of the axis that each step halves, before the step."""
    sides, found = list(margins), []
    for axis in steps:
        found.append(sides[axis])
        sides[axis] = _halved(sides[axis])
    return found


def _along(tables: Ints, axis: int) -> Ints:
    """Tables with this axis last; the same call undoes it."""
    return tables.transpose(0, 2, 1) if axis == 0 else tables


def _halved(values: Any) -> Any:
    """Neighbours along the last axis added up, two and two; the last of an odd number stays alone."""
    found = values[..., 0::2].copy()
    found[..., : values.shape[-1] // 2] += values[..., 1::2]
    return found


def _write_split(writer: Writer, children: Ints, sums: Ints, expected: Ints, classes: NDArray[np.uint8]) -> None:
    """Code the first of every two children; a sum of zero has nothing to divide."""
    difference = children[..., 0 : 2 * sums.shape[-1] : 2] - expected
    filled = sums > 0
    writer.add(classes[filled], difference[filled])


def _read_split(
    reader: Reader, parents: Ints, wide: int, sums: Ints, expected: Ints, classes: NDArray[np.uint8]
) -> Ints:  # fmt: skip
    """The children of sums of two, and of the last one if their number, `wide`, is odd."""
    filled = sums > 0
    left = np.zeros(sums.shape, np.int64)
    left[filled] = expected[filled] + reader.take(classes[filled])
    if (left < 0).any() or (left > sums).any():
        raise ValueError("its counts do not add up")
    children = np.empty((*parents.shape[:-1], wide), np.int64)
    children[..., : wide - wide % 2 : 2] = left
    children[..., 1::2] = sums - left
    if wide % 2:
        children[..., -1] = parents[..., -1]
    return children


def _from_margins(parents: Ints, columns: Ints) -> tuple[Ints, Ints, NDArray[np.uint8]]:
    """The sums of two (table, row, place), their expected first children, and the classes of their spread.

    A sum is divided as the margin (table, child) is, and tilted by the slope of its neighbours relative to independence.
    """
    both = columns.shape[1] // 2
    child, mother = columns.astype(np.float64), _halved(columns).astype(np.float64)
    left, right = child[:, 0 : 2 * both : 2], child[:, 1::2]
    shares = left / np.maximum(left + right, 1.0)
    sums = parents[..., :both]
    first = sums * shares[:, None, :]
    if mother.shape[1] > 2:
        centre = np.cumsum(mother, axis=1) - 0.5 * mother  # exact: whole and half numbers
        density = parents / np.maximum(mother, 1.0)[:, None, :]
        slope = np.zeros_like(density)
        apart = np.maximum(centre[:, 2:] - centre[:, :-2], 1.0)
        slope[..., 1:-1] = (density[..., 2:] - density[..., :-2]) / apart[:, None, :]
        # the centre of the first child is half the width of the second below that of both
        first = first - slope[..., :both] * (0.5 * left * right)[:, None, :]
    return sums, *_classified(sums, first, (shares * (1.0 - shares))[:, None, :])


def _from_weights(parents: Ints, weights: Floats) -> tuple[Ints, Ints, NDArray[np.uint8]]:
    """The same for sums that are divided as weights are."""
    both = weights.shape[-1] // 2
    left, right = weights[..., 0 : 2 * both : 2], weights[..., 1::2]
    total = left + right
    shares = np.divide(left, total, out=np.zeros_like(total), where=total > 0.0)
    sums = parents[..., :both]
    return sums, *_classified(sums, np.asarray(sums * shares, np.float64), shares * (1.0 - shares))


def _classified(sums: Ints, first: Floats, variance: Floats) -> tuple[Ints, NDArray[np.uint8]]:
    """Expected first children as possible ones, and the powers of two of their variance as classes."""
    expected = np.rint(np.minimum(np.maximum(first, 0.0), sums)).astype(np.int64)
    power = np.frexp(sums * variance)[1]
    return np.minimum(expected, sums), np.clip(power + 2, 0, CLASSES - 1).astype(np.uint8)
