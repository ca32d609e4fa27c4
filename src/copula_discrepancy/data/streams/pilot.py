"""A small part of a source that is read first, to learn what its columns contain."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.streams.blocks import Block, length_of, spread, with_columns
from copula_discrepancy.data.streams.failures import failures_named
from copula_discrepancy.data.streams.lazy import LazyPiece, computed
from copula_discrepancy.data.streams.once import Feed, OncePiece
from copula_discrepancy.data.streams.source import Piece, Source

_MOST_PIECES = 64  # sampled: each costs the opening of a file, and 64 places describe a trend over the source


def pilot_blocks(source: Source, columns: Sequence[str], rows: int, rng: np.random.Generator) -> list[Block]:
    """Samples of the pieces, together about `rows` rows, in proportion to the pieces' lengths; empty pieces give none.

    Of more than 64 pieces, some at equal distances are sampled. A source that can be read only once cannot be sampled: see
    `head_and_rest`.
    """
    if source.once:
        found = f"{source.kind} can be read only once, so a sample would lose rows"
        raise InputError(f"{found}; take its first blocks with head_and_rest", "read-once")
    filled = [piece for piece in source.pieces if piece.n_rows != 0]
    chosen = [filled[k] for k in spread(len(filled), _MOST_PIECES, rng)]
    shares = [max(round(rows * share), 1) for share in _shares(chosen)]
    # generators of their own, so that a sample does not depend on how the other pieces draw theirs
    rngs = rng.spawn(len(chosen)) if chosen else []
    together = _computed_together(chosen, columns, shares, rngs) if source.engine == "dask" else None
    if together is not None:
        return [block for block in together if length_of(block)]
    blocks = [piece.sample(columns, share, own) for piece, share, own in zip(chosen, shares, rngs, strict=True)]
    return [block for block in blocks if block is not None]


def head_and_rest(source: Source, columns: Sequence[str], rows: int) -> tuple[list[Block], Source]:
    """The first blocks with these columns, at least `rows` rows if there are as many, and a source of all rows.

    A source that can be read only once is used up by this. The one that comes back yields the head first and then the rest; it
    has just these columns. Any other source comes back as it is.
    """
    head: list[Block] = []
    count = 0
    if not source.once:
        for block in (block for piece in source.pieces for block in piece.blocks(columns, rows)):
            head.append(block)
            count += length_of(block)
            if count >= rows:
                break
        return head, source
    (piece,) = source.pieces
    assert isinstance(piece, OncePiece)
    with failures_named(piece.label):
        stream = (with_columns(block, columns) for block in piece.feed.take())
        for block in stream:
            if length_of(block):
                head.append(block)
            count += length_of(block)
            if count >= rows:
                break
    rest = replace(piece, feed=Feed(chain(list(head), stream)))
    return head, replace(source, names=tuple(columns), pieces=(rest,))


def _shares(pieces: Sequence[Piece]) -> list[float]:
    """The parts of a pilot that come from the pieces; equal ones if any length is unknown."""
    lengths = [piece.n_rows for piece in pieces]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths):
        return [1.0 / len(lengths)] * len(lengths)
    return [length / sum(known) for length in known]


def _computed_together(
    pieces: Sequence[Piece], columns: Sequence[str], shares: Sequence[int], rngs: Sequence[np.random.Generator]
) -> list[Block] | None:
    """The samples of Dask partitions, computed at the same time; None if any fails, so that it is found and named."""
    lazy = [
        piece.delayed_sample(columns, share, rng)
        for piece, share, rng in zip(pieces, shares, rngs, strict=True)
        if isinstance(piece, LazyPiece)
    ]
    try:
        return computed(lazy)
    except MemoryError:
        raise
    except Exception:  # of any code that computes a partition
        return None
