"""An iterator whose items are further draws of the same chains, such as a loop around a sampler of NumPyro or BlackJAX."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.following.labelled_rows import ChainRows
from copula_discrepancy.data.following.progress import Follower, Progress, Rows, cut_draws
from copula_discrepancy.data.naming import chain_name, errors_about, require_same_names
from copula_discrepancy.data.readers.dispatch import read
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.streams.failures import failures_named

_RECENT = 1000  # draws that tell whether a chain takes few values
_COMPARED = 20  # draws of each chain at the beginning of a block that tell whether it was there before


class GeneratorFollower(Follower):
    """Follows an iterator of blocks, each of anything that `as_draws` reads; a look takes one block, and waits for it.

    Every block has the same variables and chains; a block without chains is a part of one chain. A block that begins with draws
    that were there before is refused: it has all draws so far, or a sampler that was not told to go on made it. If the iterator
    raises, the draws before remain, and the error is told with them.
    """

    pulls = True

    def __init__(self, blocks: Iterator[Any], options: ReadOptions) -> None:
        self._blocks, self._options = blocks, options
        self._held: ChainRows | None = None
        self._begins: list[int] = []  # the place of each block's first draw in its chain
        self._notes: tuple[str, ...] = ()
        self._labels: tuple[str, ...] = ()  # of the chains
        self._named = True
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
        count = len(self._begins)
        return cut_draws(self._last, f"{count} blocks, one after another" if count > 1 else "one block")

    def _take(self) -> Progress:
        last = self._last
        if last.finished:
            return replace(last, new=0)
        try:
            with failures_named("the iterator"):
                block = next(self._blocks, self)  # an iterator does not yield its follower
        except InputError as error:
            if not any(last.lengths):
                raise
            return replace(self._told(last.names, 0, finished=True), failed=str(error))
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
                self._held, self._labels, self._named = ChainRows(len(names)), table.chain_names, table.named
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
        """Raise if the block begins with draws that were there before.

        Chains that stand still tell nothing, and variables of few values come again by chance: of these, only blocks that begin
        as an earlier one for so long that this is none are told.
        """
        assert self._held is not None
        held, length = self._held.chains, min(map(len, chains), default=0)
        n = min(map(len, held), default=0)
        move = _first_move(chains, min(length, _COMPARED))
        if move is None or not n:
            return
        moved, chain, variable = move
        # Where the block's first draws may be among those before, by a single variable, which is soon compared: one that moves,
        # before and after, since a chain that stood still for long has its first value everywhere.
        column, own = held[chain][:n, variable], chains[chain][:, variable]
        places = np.flatnonzero((column[: max(n - moved, 0)] == own[0]) & (column[moved:] == own[moved]))
        coarse = any(_comes_again(rows) for rows in (held[0][-_RECENT:], chains[0]))
        if coarse:
            places = np.intersect1d(places, self._begins)
        for draw in range(min(length, _COMPARED)):
            inside = places[places + draw < n]
            same = np.all(
                [(old[inside + draw] == new[draw]).all(axis=1) for new, old in zip(chains, held, strict=True)], axis=0
            )
            places = np.concatenate([inside[same], places[places + draw >= n]])
        for place in np.sort(places).tolist():
            common = min(length, _COMPARED, n - place)
            if common < (_COMPARED if coarse else 2):
                continue
            number = int(np.searchsorted(self._begins, place, side="right")) - 1
            whole = "the same draws as" if place == self._begins[number] else "draws of"
            advice = "yield only the draws that are new, and go on from the state of the last block"
            raise InputError(f"begins with {whole} block {number}; {advice}", "repeated")

    def _told(self, names: tuple[str, ...], new: int, *, finished: bool) -> Progress:
        assert self._held is not None
        chains = self._held.chains
        labels = tuple(chain_name(self._labels, k, len(chains)) for k in range(len(chains)))
        waiting_for = "" if any(map(len, chains)) else "the blocks so far have no draws"
        return Progress(
            chains, names, labels, 0, new, None, finished, waiting_for, self._notes, self._held.divergent, named=self._named
        )


def _first_move(chains: list[Rows], limit: int) -> tuple[int, int, int] | None:
    """The first draw before this one that differs from the first one of its chain: its place, a chain and a variable in which
    it does; None if all chains stand still.
    """
    if not limit:
        return None
    moved = np.stack([chain[:limit] != chain[0] for chain in chains], axis=1)  # (draw, chain, variable)
    if not moved.any():
        return None
    draw, chain, variable = (int(place[0]) for place in np.nonzero(moved))  # by draws first
    return draw, chain, variable


def _comes_again(rows: Rows) -> bool:
    """Whether a chain returns to values that it has left, so that equal draws may be chance, or has whole numbers only."""
    moves = np.concatenate([[True], (np.diff(rows, axis=0) != 0.0).any(axis=1)])
    visited = rows[moves]
    return len(np.unique(visited, axis=0)) < len(visited) or np.array_equal(rows, np.rint(rows))
