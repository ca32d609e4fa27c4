"""The header of a file with a sketch: everything but numbers that fill arrays, checked before any of them is read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import is_whole
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.kinds import DATE, DURATION, HASHED, KINDS, NOMINAL, NUMERIC
from copula_discrepancy.estimate.bins import FINEST, UNSEEN, ColumnBins
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_counts import MOST_ROWS, mapping_of
from copula_discrepancy.estimate.sketch_plan import SketchPlan

MAGIC = "copula-discrepancy sketch"
MOST_COLUMNS = 2_500  # three million pairs
MOST_CELLS = 10**9  # counts of four bytes: ten times as many as a sketch has with the memory that it takes by default
_NUMBERS = (NUMERIC, DATE, DURATION)
_CHAINS = 2**62


def require_size(widths: Sequence[int], coarse: Sequence[int], blocks: int) -> None:
    """Raise if a sketch has more counts than a file may have; nothing is allocated for this."""
    cells, groups = (_pair_cells(sizes) for sizes in (widths, coarse))
    if not 2 <= len(widths) <= MOST_COLUMNS:
        raise InputError(f"a file can hold a sketch of 2 to {MOST_COLUMNS:,} columns, not of {len(widths):,}", "file")
    if max(cells, groups * blocks) > MOST_CELLS:
        raise InputError(
            f"a file can hold {MOST_CELLS:,} counts, and this sketch would have {max(cells, groups * blocks):,}; use fewer "
            "columns or a lower resolution",
            "file",
        )


def _pair_cells(widths: Sequence[int]) -> int:
    """The cells of the tables of all pairs of columns."""
    return (sum(widths) ** 2 - sum(width * width for width in widths)) // 2


def header_of(sketch: DependenceSketch, rows: NDArray[np.int64]) -> dict[str, Any]:
    """What a header says about a sketch, given the rows of its blocks."""
    plan = sketch.plan_
    return {
        "columns": [column.to_dict() | {"bins": column.size} for column in plan.columns],
        "n": sketch.n,
        "serial": plan.serial,
        "missing_ok": plan.missing_ok,
        "named": plan.named,
        "n_pilot": plan.n_pilot,
        "chained": plan.chained,
        "triples": plan.triples,
        "notes": list(plan.notes),
        "left_out": [list(one) for one in plan.left_out],
        "source": sketch.source,
        "block_rows": sketch.block_rows,
        "chain_rows": [[int(chain), int(count)] for chain, count in sketch.chain_rows.items()],
        "blocks": [
            [int(chain), int(place), size] for (chain, place), size in zip(sorted(sketch.blocks), rows.tolist(), strict=True)
        ],
    }


class Header:
    """A header of a file, checked.

    Attributes
    ----------
    n, block_rows : int
        Rows, and rows of a block.
    bins : list of int
        The number of bins of each column.
    labels : list of tuple of str
        The labels of their levels.
    source : str
        Where the rows came from.
    chain_rows : dict of int to int
        The rows of each chain.
    choices : dict
        Fields of the plan, apart from its columns.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content
        described = content.get("columns")
        if not isinstance(described, list) or not all(isinstance(one, dict) for one in described):
            raise ValueError("its header has no columns")
        self.bins = [_whole(one.get("bins"), "the bins of a column", 1, FINEST) for one in described]
        require_size([size + 1 for size in self.bins], [2] * len(self.bins), 1)
        self.names = [_text(one.get("name"), "the name of a column") for one in described]
        if len({*self.names}) != len(self.names) or not all(self.names):
            raise ValueError("the names of its columns are not different")
        self.kinds = [one.get("kind") for one in described]
        self.labels = [_texts(one.get("labels"), "the labels of a column") for one in described]
        for kind, labels, size in zip(self.kinds, self.labels, self.bins, strict=True):
            _require_levels(kind, labels, size)
        self.n = _whole(content.get("n"), "its number of rows", 0, MOST_ROWS)
        self.block_rows = _whole(content.get("block_rows"), "the rows of its blocks", 1, MOST_ROWS)
        self.source = _text(content.get("source"), "its source")
        left_out = content.get("left_out")
        if not isinstance(left_out, list) or not all(len(_texts(one, "a column left out")) == 2 for one in left_out):
            raise ValueError("its columns left out are not described")
        self.choices: dict[str, Any] = {
            **{key: _truth(content.get(key), key) for key in ("serial", "missing_ok", "named", "chained", "triples")},
            "n_pilot": _whole(content.get("n_pilot"), "its pilot rows", 0, MOST_ROWS),
            "notes": _texts(content.get("notes"), "its notes"),
            "left_out": tuple((name, reason) for name, reason in left_out),
        }
        pairs = _rows_of_whole(content.get("chain_rows"), 2, "its chains")
        self.chain_rows = {chain: _whole(count, "the rows of a chain", 0, MOST_ROWS) for chain, count in pairs}
        if len(self.chain_rows) != len(pairs) or sum(self.chain_rows.values()) != self.n:
            raise ValueError("the rows of its chains do not add up")

    def columns(self, edges: Sequence[Any], single: Sequence[Any], shares: Sequence[Any]) -> tuple[ColumnBins, ...]:
        """The columns, with these edges, flags and shares of their bins."""
        found = []
        for k, name in enumerate(self.names):
            if not np.isfinite(edges[k]).all() or (np.diff(edges[k]) <= 0.0).any():
                raise ValueError(f"the edges of {name!r:.60} are not in order")
            if (single[k] > 1).any():
                raise ValueError(f"the flags of {name!r:.60} are neither 0 nor 1")
            if not (np.isfinite(shares[k]) & (shares[k] >= 0.0) & (shares[k] <= 1.0)).all():
                raise ValueError(f"the shares of {name!r:.60} are not between 0 and 1")
            found.append(ColumnBins(name, self.kinds[k], self.labels[k], edges[k], single[k].astype(bool), shares[k]))
        return tuple(found)

    def blocks(self, plan: SketchPlan) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
        """The keys of all blocks, and their rows."""
        found = _rows_of_whole(self._content.get("blocks"), 3, "its blocks")
        keys = [(chain, place) for chain, place, _ in found]
        if keys != sorted({*keys}) or any(place < 0 for _, place in keys) or any(rows < 0 for *_, rows in found):
            raise ValueError("its blocks are not in order")
        if bool(keys) != (plan.serial and self.n > 0):
            raise ValueError("it has blocks of rows without an order, or none of rows in order")
        sizes = [_whole(rows, "the rows of a block", 0, MOST_ROWS) for *_, rows in found]
        rows = np.array(sizes, np.int64)
        if keys and mapping_of(keys, rows) != {chain: count for chain, count in self.chain_rows.items() if count}:
            raise ValueError("the rows of its blocks are not those of its chains")
        return keys, rows

    def classes(self, member: str) -> list[list[int]]:
        """The description of the counts in a member."""
        return _rows_of_whole(self._content["members"][member].get("classes"), None, f"its {member}")


def _require_levels(kind: Any, labels: tuple[str, ...], size: int) -> None:
    """Raise unless a column of levels has one label for each bin, and one of numbers has none."""
    if kind not in KINDS:
        raise ValueError(f"it has a column of the unknown kind {kind!r:.40}")
    if bool(labels) == (kind in _NUMBERS) or (labels and len(labels) != size) or len({*labels}) != len(labels):
        raise ValueError(f"the labels of a column of kind {kind} are not those of its {size} bins")
    if kind == NOMINAL and labels != HASHED and UNSEEN not in labels:
        raise ValueError("a column without order has no place for levels that the pilot sample does not have")


def _whole(value: Any, what: str, low: int, high: int) -> int:
    if not is_whole(value) or not low <= value <= high:
        raise ValueError(f"{what}: {value!r:.40} is not a whole number from {low} to {high}")
    return int(value)


def _truth(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{what} is neither true nor false")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} is not text")
    return value


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{what}: not a list of texts")
    return tuple(value)


def _rows_of_whole(value: Any, length: int | None, what: str) -> list[list[int]]:
    """Lists of this many whole numbers; of three or more if that is None."""
    if not isinstance(value, list) or not all(isinstance(row, list) and len(row) >= (length or 3) for row in value):
        raise ValueError(f"{what} are not described")
    if length is not None and any(len(row) != length for row in value):
        raise ValueError(f"{what} are not described")
    return [[_whole(number, what, -_CHAINS, _CHAINS) for number in row] for row in value]
