"""An iterator whose items are further draws of the same chains, such as a loop around a sampler of NumPyro or BlackJAX."""

from collections.abc import Iterator
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.following.labelled_rows import ChainRows
from copula_discrepancy.data.following.progress import Follower, Progress, cut_draws
from copula_discrepancy.data.naming import errors_about, require_same_names
from copula_discrepancy.data.readers.dispatch import read
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.failures import failures_named


class GeneratorFollower(Follower):
    """Follows an iterator of blocks, each of anything that `as_draws` reads; a look takes one block, and waits for it.

    Every block has the same variables and chains; a block without chains is a part of one chain.
    """

    pulls = True

    def __init__(self, blocks: Iterator[Any], options: ReadOptions) -> None:
        self._blocks, self._options = blocks, options
        self._held: ChainRows | None = None
        self._count = 0
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
        return cut_draws(self._last, f"{self._count} blocks, one after another")

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
        with errors_about(f"block {self._count}"):
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
            for chain, rows in enumerate(table.values):
                self._held.extend(chain, rows[:, places].astype(float), names)
        self._count += 1
        return self._told(names, table.values.shape[0] * table.values.shape[1], finished=False)

    def _told(self, names: tuple[str, ...], new: int, *, finished: bool) -> Progress:
        assert self._held is not None
        chains = self._held.chains
        labels = tuple(f"chain {k}" for k in range(len(chains)))
        waiting_for = "" if any(map(len, chains)) else "the blocks so far have no draws"
        return Progress(chains, names, labels, 0, new, None, finished, waiting_for)
