"""Rows of a ranking with adjusted p-values: what they flag, and the order, worst first."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare.rows import BLOCKS, RHAT_KINDS, ROW, TESTED
from copula_discrepancy.compare.sizes import gap_sizes
from copula_discrepancy.estimate.multiplicity import adjust_pvalues

if TYPE_CHECKING:
    from copula_discrepancy.compare.many_result import Pairwise

_COLUMNS = tuple(name for name in ROW.names or () if name not in (BLOCKS, *RHAT_KINDS))
RANKED = np.dtype(
    [*((name, ROW[name]) for name in _COLUMNS), *((f"{name}_adjusted", float) for name in TESTED), ("flagged", bool)]
)

Ranked = TypeVar("Ranked", bound="Pairwise")


def ranked_rows(
    rows: NDArray[Any], adjust: str, alpha: float, *, waiting: NDArray[np.bool_] | None = None
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Rows with their adjusted p-values and what these flag, in any order, and the order, worst first.

    Those `waiting` have no p-values yet. They count as tests that find nothing: the others were chosen because they look worst.
    """
    pvalues = np.stack([rows[f"{name}_pvalue"] for name in TESTED])
    if waiting is not None:
        pvalues[:, waiting] = 1.0
    adjusted = adjust_pvalues(pvalues, adjust)
    if waiting is not None:
        adjusted[:, waiting] = np.nan
    table = np.empty(len(rows), RANKED)
    # the columns are at the same places of both, so that they are copied at once
    width = RANKED.fields[f"{TESTED[0]}_adjusted"][1]  # type: ignore[index]
    _bytes(table)[:, :width] = _bytes(rows)[:, :width]
    return table, _flagged(table, adjusted, alpha)


def adjusted_together(results: Sequence[Ranked]) -> list[Ranked]:
    """Results whose p-values are adjusted for the tests of all of them, by the method that they share."""
    pvalues = [np.stack([result.rows[f"{name}_pvalue"] for name in TESTED]) for result in results]
    adjusted = adjust_pvalues(np.concatenate(pvalues, axis=1), results[0].adjust)
    ends = np.cumsum([len(result) for result in results])[:-1]
    return [_with_adjusted(result, own) for result, own in zip(results, np.split(adjusted, ends, axis=1), strict=True)]


def _with_adjusted(result: Ranked, adjusted: NDArray[np.float64]) -> Ranked:
    """The result with these adjusted p-values, (test, pair) in the order of its rows, flagged and sorted by them."""
    table = result.rows.copy()
    order = _flagged(table, adjusted, 1.0 - result.confidence)
    return replace(result, rows=table[order], blocks=result.blocks[order], weights=result.weights[order])


def _flagged(table: NDArray[Any], adjusted: NDArray[np.float64], alpha: float) -> NDArray[np.intp]:
    """Fill in adjusted p-values and what they flag; the order of the rows, worst first."""
    for name, values in zip(TESTED, adjusted, strict=True):
        table[f"{name}_adjusted"] = values
    table["flagged"] = (adjusted < alpha).any(axis=0)
    size = gap_sizes(table, ("level", "shape"), alpha)
    return np.lexsort((-np.nan_to_num(size, nan=-1.0), ~table["flagged"]))


def _bytes(table: NDArray[Any]) -> NDArray[np.uint8]:
    """A structured array as its bytes, (row, byte)."""
    return np.ascontiguousarray(table).view(np.uint8).reshape(len(table), table.dtype.itemsize)
