"""Rows of labelled arrays whose draws are not all there yet: what is missing is NaN, or 0 where numbers are whole."""

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from copula_discrepancy._core.checks import numeric
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.following.progress import Flags, Growing, Rows
from copula_discrepancy.data.missing import require_finite
from copula_discrepancy.data.naming import errors_about
from copula_discrepancy.data.readers.divergences import DIVERGING, flags_of_draws, unknown_divergences
from copula_discrepancy.data.readers.labelled import Entries, selected_arrays
from copula_discrepancy.data.readers.options import ReadOptions

ALWAYS_THERE = ("logp", "energy", "lp")  # statistics that every draw has
_SETTLED = 0.5  # seconds between two looks after which the writes of the first have ended
_FIRST_WINDOW = 16  # draws that are looked at first; further windows double


class LabelledRows:
    """Variables (chain, draw, ...) read as rows (draw, variable) of one chain at a time.

    `arrays` are the selected variables, `names` their selected entries and `entries` where these are among the names and within
    a variable. `others` are further arrays with draws, such as statistics of the sampler, of which those called as in
    `ALWAYS_THERE` are used. `padded` are those that are NaN where a draw is not there yet; the others may be 0 there, which is
    a value too. `diverging` tells which draws diverged, or why that is not known. The names have the order of `order` if they
    are the same: stores list theirs in any.
    """

    def __init__(
        self, arrays: Mapping[str, Any], names: tuple[str, ...], entries: Entries, *, others: Mapping[str, Any],
        padded: set[str], diverging: Any = None, order: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.names = order if sorted(order) == sorted(names) else names
        place = {name: k for k, name in enumerate(self.names)}
        self._entries = {variable: [(place[names[k]], entry) for k, entry in own] for variable, own in entries.items()}
        self._arrays = arrays
        self.n_chains, self.n_draws = next(iter(arrays.values())).shape[:2]
        self.diverging = None if isinstance(diverging, str) else diverging
        self.notes = (unknown_divergences(diverging),) if isinstance(diverging, str) else ()
        padded = {name for name in padded if "draw" in {**others, **arrays}[name].dims}
        self._signs = [array for name, array in arrays.items() if name in padded]
        self._others = [others[name] for name in (*ALWAYS_THERE, *others) if name in others and name in padded]
        if not self._signs:
            self._signs = self._others[:1]

    @classmethod
    def of_dataset(cls, dataset: Any, statistics: Any, options: ReadOptions, order: tuple[str, ...]) -> "LabelledRows":
        """The variables of a dataset, and of another one with the sampler's statistics, or None; floating numbers are NaN where
        a draw is not there yet.
        """
        arrays, names, entries = selected_arrays(dataset, options)
        selected = {name: by_draw(array) for name, array in arrays.items()}
        others: dict[str, Any] = {}
        diverging = None
        for group in (dataset,) if statistics is None else (dataset, statistics):
            others |= {str(name): by_draw(array) for name, array in group.data_vars.items() if "draw" in array.dims}
        padded = {name for name, array in others.items() if array.dtype.kind == "f"}
        if statistics is not None and DIVERGING in statistics.variables:
            diverging = flags_of_draws(statistics[DIVERGING], arrays[next(iter(entries))], dataset)
            if not isinstance(diverging, str):
                diverging = by_draw(diverging)
        return cls(selected, names, entries, others=others, padded=padded, diverging=diverging, order=order)

    @property
    def tells(self) -> bool:
        """Whether any variable tells which draws are there."""
        return bool(self._signs)

    def there(self, chain: int, done: int, most: int) -> int:
        """How many draws of a chain are there, if `done` are; at most `most` more are looked for.

        A draw is there if every variable that is NaN in a missing draw has a value in it, or in a later one.
        """
        limit = min(self.n_draws, done + most)
        for array in self._signs:
            limit = _last_value(array, chain, done, limit)
        return limit

    def ahead(self, chain: int, done: int) -> int:
        """Of how many draws of a chain any of its variables or the sampler's statistics has values, if `done` are there."""
        return max((_last_value(array, chain, done, self.n_draws) for array in (*self._signs, *self._others)), default=done)

    def rows(self, chain: int, begin: int, end: int) -> Rows:
        """Draws of one chain."""
        values = np.empty((end - begin, len(self.names)))
        for variable, places in self._entries.items():
            block = np.asarray(self._arrays[variable].isel(chain=chain, draw=slice(begin, end)))
            flat = block.reshape(end - begin, math.prod(block.shape[1:]))
            for place, entry in places:
                column, ranked = numeric(flat[:, entry], f"variable {variable}")
                if ranked:
                    raise InputError(f"variable {variable} has values too large for a float64, so it cannot be followed")
                values[:, place] = column
        return values

    def flags(self, chain: int, begin: int, end: int) -> Flags:
        """Whether each of these draws is divergent, of as many as that is known of."""
        if self.diverging is None or chain >= len(self.diverging):
            return np.empty(0, np.bool_)
        values = np.asarray(self.diverging.isel(chain=chain, draw=slice(begin, end)))
        missing = np.flatnonzero(np.isnan(values)) if values.dtype.kind == "f" else np.empty(0, int)
        return np.asarray((values[: missing[0]] if missing.size else values) != 0, np.bool_)


class ChainRows:
    """The rows of several chains that were read so far, and whether they are divergent."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._rows: list[Growing] = []
        self._flags: list[Growing] = []

    def lengths(self, chains: int) -> list[int]:
        """The number of rows of each of this many chains; chains that are new have none."""
        while len(self._rows) < chains:
            self._rows.append(Growing(self._width))
            self._flags.append(Growing(None, np.bool_))
        return [len(rows) for rows in self._rows]

    def extend(self, chain: int, rows: Rows, names: tuple[str, ...]) -> None:
        """Add rows to a chain; raise, as for the whole sample, if they are not finite."""
        self.lengths(chain + 1)
        if not np.isfinite(rows).all():
            with errors_about(f"chain {chain}"):
                require_finite(np.concatenate([self._rows[chain].view(), rows])[None], names, chained=True)
        self._rows[chain].extend(rows)

    def unmarked(self, chain: int) -> tuple[int, int]:
        """The first row of a chain of which it is not known whether it is divergent, and the end of the chain."""
        return len(self._flags[chain]), len(self._rows[chain])

    def mark(self, chain: int, flags: Flags) -> None:
        """Add whether the first rows that are not marked yet are divergent."""
        self._flags[chain].extend(flags)

    @property
    def chains(self) -> tuple[Rows, ...]:
        """The rows so far."""
        return tuple(rows.view() for rows in self._rows)

    @property
    def divergent(self) -> tuple[Flags, ...] | None:
        """Whether each row is divergent; None if that is not known for all."""
        known = [len(flags) == len(rows) for flags, rows in zip(self._flags, self._rows, strict=True)]
        return tuple(flags.view() for flags in self._flags) if known and all(known) and any(map(len, self._flags)) else None


class Settling:
    """The draws that were there some time ago. Chunks are written at about the same time, but in no order, and the 0 of whole
    numbers and flags may mean that they are not there yet.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[float, list[int]]] = []

    def settled(self, there: list[int], done: list[int]) -> list[int]:
        """Of the draws that are there now, those that have settled; at least those that were `done`."""
        now = time.monotonic()
        if not self._seen or self._seen[-1][1] != there:
            self._seen.append((now, there))
        old = [entry for entry in self._seen if now - entry[0] >= _SETTLED]
        self._seen = self._seen[max(len(old) - 1, 0) :]
        counts = old[-1][1] if old else []
        return [max(count, own) for count, own in zip([*counts, *[0] * (len(done) - len(counts))], done, strict=True)]


def still_there(held: ChainRows, rows: LabelledRows, offset: int = 0) -> bool:
    """Whether the first and the last row that are held of every chain are still what the arrays have, after `offset` others."""
    if len(held.chains) > rows.n_chains or any(len(chain) + offset > rows.n_draws for chain in held.chains):
        return False
    return all(
        np.array_equal(rows.rows(chain, place + offset, place + offset + 1)[0], own[place])
        for chain, own in enumerate(held.chains)
        for place in ({0, len(own) - 1} if len(own) else ())
    )


def by_draw(array: Any) -> Any:
    """A DataArray with the dimensions chain and draw in front."""
    return (array if "chain" in array.dims else array.expand_dims("chain")).transpose("chain", "draw", ...)


def _last_value(array: Any, chain: int, done: int, limit: int) -> int:
    """The end of the last draw before `limit` that has a value and no hole before it; windows double while they are full.

    A hole is as long as a window: a chunk that a sampler had not written when it was killed, though it had the next one.
    """
    window = _FIRST_WINDOW
    while done < limit:
        end = min(done + window, limit)
        block = np.asarray(array.isel(chain=chain, draw=slice(done, end)))
        filled = np.flatnonzero(~np.isnan(block.reshape(end - done, math.prod(block.shape[1:]))).all(axis=1))
        holes = np.flatnonzero(np.diff(filled, prepend=-1) > _FIRST_WINDOW)
        if holes.size:
            return done + (int(filled[holes[0] - 1]) + 1 if holes[0] else 0)
        if not filled.size:
            return done
        begin, done = done, done + int(filled[-1]) + 1
        window = 2 * (end - begin) if done == end else _FIRST_WINDOW
    return done
