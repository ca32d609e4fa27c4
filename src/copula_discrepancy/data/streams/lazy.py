"""Pieces that Dask computes: a client reduces them on its workers, and samples of many are computed together."""

import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_discrepancy.data.streams.blocks import Block, in_slices, length_of, spread, taken
from copula_discrepancy.data.streams.source import Piece

_SEEDS = 2**63  # seeds of the samples, which are drawn where the partition is


@dataclass(frozen=True, eq=False)
class LazyPiece(Piece):
    """A partition of a Dask collection; it is computed as a whole, by the scheduler in use."""

    @abstractmethod
    def delayed(self, columns: Sequence[str]) -> Any:
        """A Dask Delayed whose value is the whole piece as one block with these columns."""

    def delayed_sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Any:
        """A Dask Delayed of about `rows` rows, so that only these travel from the worker that holds the partition."""
        return delayed_call(_thinned, self.delayed(columns), rows, int(rng.integers(_SEEDS)))

    def _blocks(self, columns: Sequence[str], rows: int) -> Iterator[Block]:
        yield from in_slices(self.delayed(columns).compute(), rows)

    def _sample(self, columns: Sequence[str], rows: int, rng: np.random.Generator) -> Block:
        return self.delayed_sample(columns, rows, rng).compute()


def delayed_call(function: Callable[..., Any], *given: Any) -> Any:
    """A Dask Delayed of a call; lazy arguments are computed first."""
    return _dask().delayed(function)(*given)


def computed(delayed: Sequence[Any]) -> list[Any]:
    """The values of several Delayed objects, computed together."""
    return list(_dask().compute(*delayed))


def _dask() -> Any:
    return importlib.import_module("dask")  # not typed: it exports nothing explicitly


def _thinned(block: Block, rows: int, seed: int) -> Block:
    return taken(block, spread(length_of(block), rows, np.random.default_rng(seed)))
