"""Blocks of rows: Arrow tables or batches, pandas frames, or dictionaries of one-dimensional arrays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed

Block = Any  # pyarrow.RecordBatch, pyarrow.Table, pandas.DataFrame, or dict[str, numpy.ndarray] of arrays of equal length
Positions = NDArray[np.int64]


def is_block(given: Any) -> bool:
    """Whether an object is a table in memory of one of the kinds that blocks have."""
    if isinstance(given, Mapping):
        return True
    room = type(given).__module__.partition(".")[0]
    return (room, type(given).__name__) in {("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("pandas", "DataFrame")}


def as_block(given: Any) -> Block:
    """A table of a user's iterator as a block; polars' frames become Arrow tables, and lists arrays."""
    if type(given).__module__.partition(".")[0] == "polars" and type(given).__name__ == "DataFrame":
        return polars_block(given)
    if isinstance(given, Mapping):
        return _checked_mapping({str(name): np.asarray(values) for name, values in given.items()})
    if is_block(given):
        return given
    rule = "must be Arrow, pandas or polars tables, or dictionaries of one-dimensional arrays"
    raise InputError(f"the items of an iterator {rule}, got {type(given).__name__}: {given!r:.60}")


def polars_block(frame: Any) -> Block:
    """A polars frame as an Arrow table, which shares its memory, or without pyarrow as a dictionary of arrays."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return {name: frame[name].to_numpy() for name in frame.columns}
    return frame.to_arrow()


def _checked_mapping(block: dict[str, NDArray[Any]]) -> Block:
    lengths = {}
    for name, values in block.items():
        if values.ndim != 1:
            raise InputError(f"variable {name} must be a one-dimensional array, got shape {values.shape}", "shape")
        lengths[name] = len(values)
    if len(set(lengths.values())) > 1:
        short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        found = f"{short} has {lengths[short]} and {long} has {lengths[long]} values"
        raise InputError(f"the arrays of a block must have the same length, but {found}", "shape")
    return block


def names_in(block: Block) -> tuple[str, ...]:
    """The names of a block's columns."""
    if isinstance(block, dict):
        return tuple(block)
    return tuple(str(name) for name in (block.schema.names if hasattr(block, "schema") else block.columns))


def length_of(block: Block) -> int:
    """The number of rows."""
    if isinstance(block, dict):
        return len(next(iter(block.values()))) if block else 0
    return int(block.num_rows) if hasattr(block, "num_rows") else len(block)


def with_columns(block: Block, columns: Sequence[str]) -> Block:
    """Just these columns, in this order; nothing is copied."""
    names = names_in(block)
    missing = next((name for name in columns if name not in names), None)
    if missing is not None:
        raise InputError(f"there is no column {missing!r}; the block has {listed(names)}", "names-differ")
    if isinstance(block, dict):
        return {name: block[name] for name in columns}
    places = [names.index(name) for name in columns]
    if hasattr(block, "schema"):
        return block.select(places)
    chosen = block.iloc[:, places]
    return chosen if list(chosen.columns) == list(columns) else chosen.set_axis(list(columns), axis=1)  # names that are no text


def cut(block: Block, begin: int, end: int) -> Block:
    """The rows from `begin` to before `end`, as a view."""
    if isinstance(block, dict):
        return {name: values[begin:end] for name, values in block.items()}
    return block.slice(begin, end - begin) if hasattr(block, "schema") else block.iloc[begin:end]


def taken(block: Block, positions: Positions) -> Block:
    """The rows at these positions."""
    if isinstance(block, dict):
        return {name: values[positions] for name, values in block.items()}
    if hasattr(block, "schema"):
        return block.take(positions)
    return block.iloc[positions]


def in_slices(block: Block, rows: int) -> Iterator[Block]:
    """The block in consecutive views of at most `rows` rows; nothing if it is empty."""
    length = length_of(block)
    if 0 < length <= rows:
        yield block
        return
    for begin in range(0, length, rows):
        yield cut(block, begin, min(begin + rows, length))


def joined(blocks: Sequence[Block]) -> Block:
    """Blocks of one kind as one."""
    if len(blocks) == 1:
        return blocks[0]
    first = blocks[0]
    if isinstance(first, dict):
        return {name: np.concatenate([block[name] for block in blocks]) for name in first}
    if hasattr(first, "schema"):
        import pyarrow

        tables = [block if isinstance(block, pyarrow.Table) else pyarrow.Table.from_batches([block]) for block in blocks]
        return pyarrow.concat_tables(tables, promote_options="permissive")
    import pandas

    return pandas.concat(blocks)


def spread(length: int, rows: int, rng: np.random.Generator) -> Positions:
    """About `rows` of `length` positions at equal distances, from a random start; all if there are no more."""
    if length <= rows:
        return np.arange(length, dtype=np.int64)
    step = length / max(rows, 1)
    positions = np.floor(rng.uniform(0.0, step) + step * np.arange(max(rows, 1))).astype(np.int64)
    return np.minimum(positions, length - 1)


def spread_over(blocks: Iterable[Block], rows: int, rng: np.random.Generator) -> Block | None:
    """About `rows` rows at equal distances from blocks of unknown total length; None if there are no rows.

    Every row is kept at first. Whenever twice the wanted number is held, every second one is dropped and the distance doubles,
    so memory stays bounded and the rows stay evenly spread.
    """
    held: list[tuple[Positions, Block]] = []
    distance, phase, seen, count = 1, 0, 0, 0
    for block in blocks:
        numbers = np.arange(seen, seen + length_of(block), dtype=np.int64)
        seen += len(numbers)
        chosen = np.flatnonzero(numbers % distance == phase)
        if not len(chosen):
            continue
        held.append((numbers[chosen], taken(block, chosen)))
        count += len(chosen)
        while count > 2 * rows:
            phase += distance * int(rng.integers(2))
            distance *= 2
            held = [_every(numbers, kept, distance, phase) for numbers, kept in held]
            held = [(numbers, kept) for numbers, kept in held if len(numbers)]
            count = sum(len(numbers) for numbers, _ in held)
    if not held:
        return None
    whole = joined([kept for _, kept in held])
    return taken(whole, spread(count, rows, rng))


def _every(numbers: Positions, kept: Block, distance: int, phase: int) -> tuple[Positions, Block]:
    chosen = np.flatnonzero(numbers % distance == phase)
    return numbers[chosen], taken(kept, chosen)
