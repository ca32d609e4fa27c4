"""An iterator whose items are further draws of the same chains, such as a loop around a sampler of NumPyro or BlackJAX."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.following.labelled_rows import ChainRows
from copula_discrepancy.data.following.progress import Follower, Progress, Rows, cut_draws
from copula_discrepancy.data.naming import errors_about, require_same_names
from copula_discrepancy.data.readers.dispatch import read
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.failures import failures_named

_COMPARED = 20  # draws of each chain at the beginning of a block that tell whether it was there before


class GeneratorFollower(Follower):
    """Follows an iterator of blocks, each of anything that `as_draws` reads; a look takes one block, and waits for it.

    Every block has the same variables and chains; a block without chains is a part of one chain. A block that begins as an
    earlier one is refused: it has all draws so far, or a sampler that was not told to go on made it.
    """

    pulls = True

    def __init__(self, blocks: Iterator[Any], options: ReadOptions) -> None:
        self._blocks, self._options = blocks, options
        self._held: ChainRows | None = None
        self._begins: list[int] = []  # the place of each block's first draw in its chain
        self._notes: tuple[str, ...] = ()
        self._error: InputError | None = None
        self._last = Progress()

    def poll(self) -> Progress:
        """The draws of all blocks so far, after one more."""
        if self._error is not None:  # the block that caused it is gone, and what follows would not continue the chains
            raise self._error
        try:
            self._last = self._take()
        except InputError as error:
            self._error = error
            raise
        return self._last

    def whole(self) -> Draws:
        """The draws of all blocks so far."""
        return cut_draws(self._last, f"{len(self._begins)} blocks, one after another")

    def _take(self) -> Progress:
        last = self._last
        if last.finished:
            return self._told(last.names, 0, finished=True)
        with failures_named("the iterator"):
            block = next(self._blocks, self)  # an iterator does not yield its follower
        if block is self:
            if self._held is None:
                raise InputError("the iterator yields no draws", "too-few-draws")
            return self._told(last.names, 0, finished=True)
        with errors_about(f"block {len(self._begins)}"):
            table = read(block, self._options)
            if table.ranked:
                raise InputError("has values too large for a float64, so it cannot be followed; rescale them first")
            names = last.names or table.names
            require_same_names(names, table.names, "the first block", "it")
            if self._held is None:
                self._held = ChainRows(len(names))
            elif len(table.values) != len(last.chains):
                found = f"has {len(table.values)} chains, but the first block has {len(last.chains)}"
                raise InputError(f"{found}; every block must have further draws of the same chains", "shape")
            places = [table.names.index(name) for name in names]
            chains = [chain[:, places].astype(float) for chain in table.values]
            self._require_new(chains)
            self._begins.append(self._held.lengths(len(chains))[0])
            for chain, rows in enumerate(chains):
                self._held.extend(chain, rows, names)
                begin, end = self._held.unmarked(chain)
                if table.diverging is not None and end - begin == len(rows):  # not if those of an earlier block are unknown
                    self._held.mark(chain, table.diverging[chain])
        self._notes = tuple(dict.fromkeys((*self._notes, *table.notes)))
        return self._told(names, table.values.shape[0] * table.values.shape[1], finished=False)

    def _require_new(self, chains: list[Rows]) -> None:
        """Raise if the block begins as an earlier one did; chains that stand still all the time tell nothing."""
        assert self._held is not None
        held = self._held.chains
        for number, begin in enumerate(self._begins):
            both = [(new[:_COMPARED], old[begin:][: min(len(new), _COMPARED)]) for new, old in zip(chains, held, strict=True)]
            both = [(new[: len(old)], old) for new, old in both]
            varies = any((new != new[:1]).any() for new, _ in both)
            if varies and all(np.array_equal(new, old) for new, old in both):
                found = f"begins with the same draws as block {number}"
                advice = "yield only the draws that are new, and go on from the state of the last block"
                raise InputError(f"{found}; {advice}", "repeated")

    def _told(self, names: tuple[str, ...], new: int, *, finished: bool) -> Progress:
        assert self._held is not None
        chains = self._held.chains
        labels = tuple(f"chain {k}" for k in range(len(chains)))
        waiting_for = "" if any(map(len, chains)) else "the blocks so far have no draws"
        return Progress(chains, names, labels, 0, new, None, finished, waiting_for, self._notes, self._held.divergent)
