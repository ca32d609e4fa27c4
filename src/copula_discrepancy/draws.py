"""From whatever a user has to named draws in the shape (chain, draw, variable)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._arrays import real_array
from copula_discrepancy.errors import InputError

_EXACT_INTEGERS = 2**53  # a float64 holds every integer up to here


@dataclass(frozen=True, eq=False)
class Draws:
    """Finite draws, (chain, draw, variable), with a name for each variable; the array is a read-only view where it can be.

    `named` says whether the user gave the names, `chained` whether the user gave chains, be it a single one, and `ranked`
    whether values too large for a float64 were replaced by their ranks.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    named: bool = False
    chained: bool = True
    ranked: bool = False

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.values.shape[0]

    @property
    def n_draws(self) -> int:
        """Draws per chain."""
        return self.values.shape[1]

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return self.values.shape[2]

    def column(self, variable: int) -> NDArray[np.float64]:
        """All draws of one variable, chain after chain."""
        # always a copy: results outlive what the user does with the draws
        return np.array(self.values[:, :, variable], order="C").reshape(-1)


def as_draws(draws: Any) -> Draws:
    """Named draws from a NumPy array (n, d) or (chain, draw, d), a list of such chains or a data frame of numbers.

    The dependence between variables needs their order only. Integers too large for a float64 are therefore replaced by
    their ranks, which keeps their order and their ties.

    Raises
    ------
    InputError
        For anything but real numbers, another number of dimensions, chains of unequal length, fewer than two draws, or values
        that are NaN or infinite: the message counts them per variable and says in which chain and draw they begin.
    """
    if isinstance(draws, Draws):
        return draws
    names: tuple[str, ...] | None = None
    framed_ranks = False
    if hasattr(draws, "columns") and hasattr(draws, "to_numpy"):  # pandas and polars, without importing either
        names = tuple(str(name) for name in draws.columns)
        _require_different(names)
        draws, framed_ranks = _frame_values(draws, names)
    _require_equal_chains(draws)
    array, ranked = _numeric(draws, "draws")
    chained = array.ndim == 3
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3:
        raise InputError(f"draws must have shape (n, d) or (chain, draw, d), got {array.shape}")
    if array.shape[0] == 0 or array.shape[0] * array.shape[1] < 2:
        raise InputError(f"draws must hold at least 2 draws, got shape {np.shape(draws)}")
    named = names is not None
    if names is None:
        names = tuple(f"x{k}" for k in range(array.shape[2]))
    _require_finite(array, names)
    values = array.view() if array.dtype == np.float64 else array.astype(np.float64)  # finite: nothing overflows
    values.flags.writeable = False
    return Draws(values, names, named, chained, ranked or framed_ranks)


def as_values(draws: Any, purpose: str) -> Draws:
    """`as_draws` for what needs the values themselves, not their order alone."""
    given = as_draws(draws)
    if given.ranked:
        raise InputError(
            f"{purpose} needs the draws' values, and some are too large for a float64, which cannot tell them apart; subtract "
            "an offset or rescale them first"
        )
    return given


def as_column(values: Any, name: str) -> NDArray[np.float64]:
    """One variable as a contiguous float64 vector with at least two finite, not all equal, values."""
    array, _ = _numeric(values, name)
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.size < 2:
        raise InputError(f"{name} must hold at least 2 draws, got {array.size}")
    _require_finite(array[:, None], (name,))
    column = np.ascontiguousarray(array, dtype=np.float64)
    require_varying(column, name)
    return column


def require_varying(column: NDArray[np.float64], name: str) -> None:
    """Raise if all values are equal: such a variable has no dependence to measure."""
    if column[0] == column[-1] and (column == column[0]).all():
        raise InputError(
            f"variable {name} is constant (all {column.size} values are {column[0]:g}), so its dependence is undefined; "
            "leave it out or check the sampler"
        )


def _require_different(names: tuple[str, ...]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"variables must have different names, but {', '.join(repeated)} occurs more than once; rename them")


def _frame_values(frame: Any, names: tuple[str, ...]) -> tuple[NDArray[Any], bool]:
    """A data frame column by column: a frame of mixed types as one array would round large integers or hold objects."""
    columns, any_ranked = [], False
    for k, name in enumerate(names):
        column = frame.iloc[:, k] if hasattr(frame, "iloc") else frame.to_series(k)
        if hasattr(column.dtype, "numpy_dtype"):  # pandas' nullable types
            complete = not column.isna().any()
            column = column.to_numpy(column.dtype.numpy_dtype) if complete else column.to_numpy(np.float64, na_value=np.nan)
        else:
            column = column.to_numpy()
        values, ranked = _numeric(column, f"variable {name}")
        columns.append(values)
        any_ranked = any_ranked or ranked
    return (np.stack(columns, axis=-1) if columns else np.empty((len(frame), 0))), any_ranked


def _numeric(values: Any, name: str) -> tuple[NDArray[Any], bool]:
    """Numbers that fit a float64, and whether they are ranks in place of values that do not."""
    array = real_array(values, name)
    large = array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > _EXACT_INTEGERS
    if not large and array.dtype.itemsize <= 8:
        return array, False
    if not np.isfinite(array).all():
        return array, False  # refused by the caller, with its count
    with np.errstate(over="ignore"):
        rounded = array.astype(np.float64)
    distinct, codes = np.unique(array, return_inverse=True)
    if np.isfinite(rounded).all() and np.unique(rounded).size == distinct.size:
        return rounded, False
    return codes.reshape(array.shape).astype(np.float64), True


def _require_equal_chains(draws: Any) -> None:
    """Chains given as a list of two-dimensional arrays must have one length."""
    if not isinstance(draws, list | tuple):
        return
    lengths = [len(chain) for chain in draws if _is_chain(chain)]
    if len(lengths) == len(draws) and len(set(lengths)) > 1:
        short, long = int(np.argmin(lengths)), int(np.argmax(lengths))
        raise InputError(
            f"chains must have the same number of draws, but chain {short} has {lengths[short]} and chain {long} has "
            f"{lengths[long]}; cut all of them to the last {lengths[short]} draws, or find out why chain {short} stopped"
        )


def _is_chain(given: Any) -> bool:
    """Rows of rows, or a data frame: two dimensions."""
    if isinstance(given, list | tuple):
        return len(given) > 0 and isinstance(given[0], list | tuple | np.ndarray)
    return getattr(given, "ndim", 0) == 2


def _require_finite(array: NDArray[Any], names: tuple[str, ...]) -> None:
    """Raise unless all of (..., draw, variable) is finite, and say where it stops being so."""
    if array.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(array)
    # a finite sum has finite terms, and takes half the time; large values may overflow it, so look again
    if np.isfinite(total) or np.isfinite(array).all():
        return
    flat = array.reshape(-1, array.shape[-1])
    nan, infinite = np.isnan(flat).sum(axis=0), np.isinf(flat).sum(axis=0)
    found = [
        f"variable {name}: "
        + " and ".join(f"{count} {kind}" for count, kind in ((a, "NaN"), (b, "infinite")) if count)
        + _places(~np.isfinite(array[..., k]))
        for k, (name, a, b) in enumerate(zip(names, nan, infinite, strict=True))
        if a or b
    ]
    raise InputError(f"draws must be finite, got {'; '.join(found)} (of {len(flat)} draws); drop those draws first")


def _places(bad: NDArray[np.bool_]) -> str:
    """Where the bad values begin, chain by chain: ' in chain 2 from draw 317 on'; at most three chains are named."""
    bad = np.atleast_2d(bad)
    chains = np.flatnonzero(bad.any(axis=1))
    told = []
    for chain in chains[:3]:
        places = np.flatnonzero(bad[chain])
        first, to_the_end = places[0], places.size > 1 and places.size == bad.shape[1] - places[0]
        at = f"from draw {first} on" if to_the_end else f"at draw {first}" + (" first" if places.size > 1 else "")
        told.append(f" in chain {chain} {at}" if len(bad) > 1 else f" {at}")
    return ",".join(told) + (f" and in {chains.size - 3} more chains" if chains.size > 3 else "")
