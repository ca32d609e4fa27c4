"""Missing and infinite values: rejected with counts and locations, dropped with their rows, or kept for pairs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import chain_name, listed
from copula_discrepancy.data.readers.table import Table

_SHOWN = 3  # variables whose bad values are located: more would hide the advice
_WAYS_OUT = {
    "draw": "drop those draws (as_draws(..., missing='listwise'), or --missing listwise)",
    "row": "drop those rows (missing='listwise', --missing listwise), or use for each pair the rows that have both values "
    "(missing='pairs', --missing pairs)",
}


def handle_missing(table: Table, missing: str | None) -> tuple[Table, bool]:
    """The table with its missing values rejected, dropped or kept, and whether any are kept."""
    policy = missing or ("pairs" if table.named and not table.chained else "raise")
    if policy in ("listwise", "drop"):
        table = _complete_rows(table, policy)
    keeps_nan = policy == "pairs" and not table.chained
    chains = table.chain_names
    require_finite(
        table.values, table.names, unit=table.unit, chained=table.chained, allow_nan=keeps_nan, chain_names=chains,
        asked=missing == "pairs",
    )  # fmt: skip
    if not keeps_nan or not (counts := np.isnan(table.values[0]).sum(axis=0)).any():
        return table, False
    n = table.values.shape[1]
    if n in counts:
        raise InputError(f"variables without any values: {_empty(table)}; exclude them (--exclude or exclude=)", "nan")
    missing_in = [f"{name} ({count:,} of {n:,})" for name, count in zip(table.names, counts, strict=True) if count]
    return table.noted(f"missing values in {listed(missing_in)}"), True


def _complete_rows(table: Table, policy: str) -> Table:
    """The rows of one sample that have every value."""
    incomplete = np.isnan(table.values).any(axis=2)
    count = int(incomplete.sum())
    if not count:
        return table
    if table.chained:
        found = f"{count} of {incomplete.size} draws of these chains have missing values"
        raise InputError(f"missing={policy!r} cannot be used with chains, but {found}; check the sampler", "nan")
    if count == incomplete.size:
        empty = f" (variables without any values: {_empty(table)})" if _empty(table) else ""
        raise InputError(f"each of the {count} rows has a missing value{empty}; select other variables", "nan")
    diverging = None if table.diverging is None else table.diverging[:, ~incomplete[0]]
    complete = replace(table, values=table.values[:, ~incomplete[0]], diverging=diverging)
    return complete.noted(f"rows with a missing value left out: {count} of {incomplete.size}")


def _empty(table: Table) -> str:
    empty = np.isnan(table.values).all(axis=(0, 1))
    return listed([name for k, name in enumerate(table.names) if empty[k]]) if empty.any() else ""


def require_finite(
    array: NDArray[Any],
    names: Sequence[str],
    *,
    unit: str = "draw",
    chained: bool = False,
    allow_nan: bool = False,
    chain_names: Sequence[str] = (),
    asked: bool = False,
) -> None:
    """Raise unless all of (..., draw, variable) is finite, or NaN if allowed; the error gives their number and location.

    `asked` tells that missing values were to be kept: the error says that those of chains are not.
    """
    if array.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(array)
    # a finite sum has finite terms, and takes half the time; large values may overflow it, so a second check follows
    if np.isfinite(total) or np.isfinite(array).all():
        return
    kinds = ([] if allow_nan else [("NaN", np.isnan(array))]) + [("infinite values", np.isinf(array))]
    found = {kind: where for kind, where in kinds if where.any()}
    if not found:
        return
    ways_out = [_WAYS_OUT[unit]] if "NaN" in found and not chained else []
    if unit == "row" and "infinite values" in found:
        ways_out.append("correct infinite values, or leave those cells empty")
    if unit == "draw":
        ways_out.append("find out why the sampler produced them")
        if len(names) > 2:  # a pair is left with none
            ways_out.append("leave these variables out (exclude=, --exclude)")
    beside = "; missing= (--missing) does not apply to chains" if "NaN" in found and chained and asked else ""
    counts = " and ".join(_counted(kind, where, names, unit, chain_names) for kind, where in found.items())
    what, code = "draws" if unit == "draw" else "values", "nan" if "NaN" in found else "infinite"
    raise InputError(f"{what} must be finite, got {counts}; {', or '.join(ways_out)}{beside}", code)


def _counted(kind: str, where: NDArray[np.bool_], names: Sequence[str], unit: str, chains: Sequence[str]) -> str:
    """The variables with such values, with counts and locations in the first ones: "NaN in 2 variables: a (row 3), ..."."""
    affected = np.flatnonzero(where.reshape(-1, where.shape[-1]).any(axis=0))
    located = [f"{names[k]:.200} ({_located(np.atleast_2d(where[..., k]), unit, chains)})" for k in affected[:_SHOWN]]
    more = f" and {affected.size - _SHOWN} more" if affected.size > _SHOWN else ""
    return f"{kind} in {affected.size} variable{'s' * (affected.size != 1)}: {', '.join(located)}{more}"


def _located(bad: NDArray[np.bool_], unit: str, names: Sequence[str]) -> str:
    """The number of bad values in (chain, draw), and the first location: "3 of 400 draws, first at draw 5 of chain 0"."""
    chain = int(np.argmax(bad.any(axis=1)))
    places = np.flatnonzero(bad[chain])
    count, chains = int(bad.sum()), int(bad.any(axis=1).sum())
    first = f"{unit} {places[0]}" + (f" of {chain_name(names, chain, len(bad))}" if len(bad) > 1 else "")
    to_the_end = places.size > 1 and places.size == bad.shape[1] - places[0]
    where = f"from {first} on" if to_the_end else f"first at {first}" if count > 1 else f"at {first}"
    return f"{count} of {bad.size} {unit}s{f' in {chains} chains' * (chains > 1)}, {where}"
