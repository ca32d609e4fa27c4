"""From whatever a user has to named draws in the shape (chain, draw, variable)."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import is_whole, numeric, one_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import LISTED, listed, unknown_name
from copula_discrepancy.data.readers.reading import read
from copula_discrepancy.data.readers.request import DEFAULT_GROUP, Request
from copula_discrepancy.data.readers.table import Table, in_chains, require_different

MISSING = ("raise", "listwise", "drop", "pairs")


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws, (chain, draw, variable), with a name for each variable; the array is a read-only view where it can be.

    What `as_draws` gives, and what every function takes in its place.

    Attributes
    ----------
    values : array (chain, draw, variable)
        Finite numbers; NaN only where `incomplete` says so.
    names : tuple of str
        One per variable.
    named, chained, ranked : bool
        Whether the user gave the names; whether the user gave chains, be it a single one; and whether values too large for a
        float64 were replaced by their ranks.
    notes : tuple of str
        Sentences on what was left out or decided when the draws were read.
    left_out : tuple of (str, str)
        Columns of a table that were left out though nobody asked for it, each with the reason: "dates", "identifier", "row
        numbers".
    chain_column : str, optional
        The column of a table that told the chains apart.
    incomplete : bool
        Whether values are missing: some are NaN, as ``missing="pairs"`` keeps them.

    See Also
    --------
    as_draws : What makes one.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> draws = cd.as_draws({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    >>> draws.names, draws.n_chains, draws.n_draws, draws.n_variables
    (('a', 'b'), 1, 3, 2)
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    named: bool = False
    chained: bool = True
    ranked: bool = False
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    chain_column: str | None = None
    incomplete: bool = False

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
        """All draws of one variable, by its place, chain after chain.

        Parameters
        ----------
        variable : int
            Its place among `names`.

        Returns
        -------
        array
            One number per draw.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.as_draws({"a": [1.0, 2.0], "b": [3.0, 4.0]}).column(1)
        array([3., 4.])
        """
        if not is_whole(variable) or not -self.n_variables <= variable < self.n_variables:
            raise InputError(f"variable must be a place among {self.n_variables} variables, got {variable!r:.60}")
        # always a copy: results outlive what the user does with the draws
        return np.array(self.values[:, :, variable], order="C").reshape(-1)

    def select(self, names: Sequence[str]) -> "Draws":
        """These variables only, by their full names and in this order.

        Parameters
        ----------
        names : str or sequence of str
            The variables to keep.

        Returns
        -------
        Draws
            With the same chains.

        Raises
        ------
        InputError
            For a name that is not there.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> draws = cd.as_draws({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]})
        >>> draws.select(["c", "a"]).names
        ('c', 'a')
        """
        try:
            wanted = (names,) if isinstance(names, str) else tuple(names)
        except TypeError:
            raise InputError(f"names must be a name or a list of names, got {names!r:.60}") from None
        place = {name: k for k, name in enumerate(self.names)}
        for name in wanted:
            if not isinstance(name, str) or name not in place:
                raise InputError(unknown_name(str(name), self.names))
        if not wanted:
            raise InputError("names is empty, so no variables are left; name one at least")
        require_different(wanted)
        return self._at([place[name] for name in wanted])

    def _at(self, places: list[int]) -> "Draws":
        if places == list(range(self.n_variables)):
            return self
        values = self.values[:, :, places]
        values.flags.writeable = False
        incomplete = self.incomplete and bool(np.isnan(values).any())
        return replace(self, values=values, names=tuple(self.names[k] for k in places), incomplete=incomplete)


def as_draws(
    draws: Any,
    *,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = DEFAULT_GROUP,
    coords: Mapping[str, Any] | None = None,
    chains: int | str | None = None,
    delimiter: str | None = None,
    missing: str | None = "raise",
    exclude: str | Sequence[str] | None = None,
    parts: str = "auto",
) -> Draws:
    """Named draws, (chain, draw, variable), from arrays, data frames, xarray and ArviZ objects, dictionaries and files.

    The dependence between variables needs their order only. Integers too large for a float64 are therefore replaced by
    their ranks, which keeps their order and their ties. What is left out or decided on the way stands in the `notes`.

    Parameters
    ----------
    draws : array, data frame, xarray or ArviZ object, dictionary of arrays, path, or list of chains or paths
        - NumPy (n, d) or (chain, draw, d), or a list of chains (n, d).
        - A table with column names, one per variable: pandas, polars, Arrow, DuckDB, Dask (computed, partitions in their
          order), whatever has ``__arrow_c_stream__`` or ``__dataframe__``, a structured array. A column, or level of the index,
          called `chain`, `.chain` or `chain__` makes chains; `draw`, `.iteration`, `.draw`, `iter__` and `draw__` beside it
          give the order within them. Dates, row numbers and identifiers (whole numbers or text in a column called id,
          customer_id, key, ...) are left out unless `var_names` names them. Rows with an index of dates are put in its order.
        - An xarray Dataset or DataArray with dimensions `draw` and perhaps `chain`, an ArviZ DataTree or InferenceData.
          Other dimensions are flattened, with ArviZ's labels: ``theta[Choate]``, ``cov[0, 1]``.
        - A dictionary of arrays: all (n,), columns of one sample, or all (chain, draw, ...).
        - A file .csv, .tsv (both also with .gz), .parquet, .npy, .npz or .nc, or CmdStan's CSV; a list of files, or a pattern
          such as ``"run_*.csv"``, is one chain per file, see `parts`. A folder of tables is one table in parts; of a sampler's
          files, chains.
    var_names : str or list of str, optional
        The variables to keep, in this order; ``theta`` means all of ``theta[...]``. With ``~`` before each, those to leave out.
    filter_vars : {"like", "regex"}, optional
        Take `var_names` as parts of names, or as regular expressions, instead of names; the data's order is kept.
    group : str
        The group of a DataTree, an InferenceData or a netCDF file.
    coords : dict, optional
        Labels to keep, by dimension, as in xarray's ``sel``.
    chains : int or str, optional
        How many chains the rows of one sample make, one after another; or the name of the column that tells chains apart.
    delimiter : str, optional
        What stands between the values of a text file; a comma in .csv and a tab in .tsv unless given. A .csv whose header and
        values have semicolons instead, as spreadsheets write it in some countries, is read so, with a note.
    missing : {"raise", "listwise", "pairs"} or None
        Of missing values, NaN. "raise" is an error; "listwise", or "drop", leaves out rows with one in any of the variables;
        "pairs" keeps them as NaN, for functions that take for each pair the rows that have both values: the result is
        `incomplete`, and every other function refuses it. None is "pairs" for a table with column names and without chains,
        otherwise "raise". What is left out or missing is counted in the notes. Chains with NaN are always an error: a sampler
        should make none.
    exclude : str or list of str, optional
        Variables to leave out of those that `var_names` selects, or of all; read as `filter_vars` says.
    parts : {"auto", "chains", "rows"}
        What several files, or tables in a list, are: each a chain, or rows of one table, one after another. "auto" takes the
        files of a folder, and .parquet files of unequal length, as rows, and all others as chains. A sampler's files, as Stan's
        CSV and netCDF, are always chains.

    Returns
    -------
    Draws
        Values, names and notes; every other function takes it in the place of draws.

    Raises
    ------
    InputError
        For anything but real numbers, another number of dimensions, chains of unequal length, fewer than two draws, unknown
        names, names that two columns share, files that cannot be read, or values that are NaN or infinite: the message counts
        them per variable and says in which chain and draw they begin.

    See Also
    --------
    pairwise : Takes the same, and the same choices.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> posterior = {"mu": np.zeros((4, 100)), "theta": np.ones((4, 100, 3))}
    >>> cd.as_draws(posterior).names
    ('mu', 'theta[0]', 'theta[1]', 'theta[2]')
    >>> chosen = cd.as_draws(posterior, var_names=["theta[2]", "mu"])
    >>> chosen.names, chosen.values.shape
    (('theta[2]', 'mu'), (4, 100, 2))
    """
    request = Request.checked(var_names, filter_vars, group, coords, chains, delimiter, exclude, parts)
    if missing is not None:
        one_of(missing, "missing", MISSING)
    missing = "drop" if missing == "listwise" else missing
    if isinstance(draws, Draws):
        return _again(draws, request, missing)
    table, incomplete = _settled(read(draws, request), missing, _where(draws))
    values = table.values
    if values.shape[0] == 0 or values.shape[0] * values.shape[1] < 2:
        given = np.shape(draws) if isinstance(draws, np.ndarray) and draws.dtype.names is None else values.shape
        raise InputError(f"draws must hold at least 2 {_unit(table)}s, got shape {given}")
    if not table.names:
        raise InputError(f"draws must hold at least one variable, got shape {values.shape}")
    values = values.view() if values.dtype == np.float64 else values.astype(np.float64)  # finite: nothing overflows
    values.flags.writeable = False
    return Draws(
        values, table.names, table.named, table.chained, table.ranked, table.notes, table.left_out, table.chain_column,
        incomplete,
    )  # fmt: skip


def _settled(table: Table, missing: str | None, where: str = "") -> tuple[Table, bool]:
    """The table with its missing values raised, dropped or kept, and whether any are kept."""
    way = missing or ("pairs" if table.named and not table.chained else "raise")
    if way == "drop":
        table = _complete_rows(table, where)
    keeps = way == "pairs" and not table.chained
    _require_finite(table.values, table.names, where, unit=_unit(table), chained=table.chained, nan_too=not keeps)
    if not keeps or table.values.dtype.kind != "f":
        return table, False
    nan = np.isnan(table.values[0]).sum(axis=0)
    if not nan.any():
        return table, False
    n = table.values.shape[1]
    empty = [name for name, count in zip(table.names, nan, strict=True) if count == n]
    if empty:
        raise InputError(f"{where}{listed(empty)} has no values at all; leave it out (--exclude, or exclude=)")
    counts = [f"{count:,} of {n:,} in {name}" for name, count in zip(table.names, nan, strict=True) if count]
    more = f"; and in {len(counts) - LISTED} more variables" if len(counts) > LISTED else ""
    return replace(table, notes=(*table.notes, f"missing values: {'; '.join(counts[:LISTED])}{more}")), True


def _where(given: Any) -> str:
    return f"{os.fspath(given)}: " if isinstance(given, str | os.PathLike) else ""


def _unit(table: Table | Draws) -> str:
    """What a table calls its draws."""
    return "row" if table.named and not table.chained else "draw"


def _complete_rows(table: Table, where: str) -> Table:
    """The rows of one sample that have every value."""
    incomplete = np.isnan(table.values).any(axis=2)
    count = int(incomplete.sum())
    if not count:
        return table
    if table.chained:
        raise InputError(
            f"{where}missing='drop' leaves out rows of one sample, and these are chains, {count} of whose draws have a missing "
            "value; find out why the sampler made them"
        )
    if count == incomplete.size:
        empty = [name for k, name in enumerate(table.names) if np.isnan(table.values[..., k]).all()]
        which = f": {listed(empty)} has no values at all" if empty else ""
        raise InputError(f"{where}every one of {count} rows has a missing value{which}; select other variables")
    note = f"rows with a missing value left out: {count} of {incomplete.size}"
    return replace(table, values=table.values[:, ~incomplete[0]], notes=(*table.notes, note))


def _again(draws: Draws, request: Request, missing: str | None) -> Draws:
    """Draws that were read before, with the selection, the chains and the missing values now asked for."""
    request.refuse("draws that were read already", "group", "coords", "delimiter", "chain column")
    if request.filter_vars is None:  # what was left out already is no unknown name
        gone = {name for name, _ in draws.left_out}
        request = replace(request, exclude=tuple(name for name in request.exclude if name not in gone))
    if request.selects:
        draws = draws._at(request.pick(draws.names))
    if not isinstance(request.chains, int) and not draws.incomplete:
        return draws
    table = in_chains(Table(draws.values, draws.names, draws.named, draws.chained), request.chains)
    incomplete = False
    if draws.incomplete:
        table, incomplete = _settled(table, missing)
    table.values.flags.writeable = False
    told = () if incomplete else table.notes  # what is missing was told when it was read
    return replace(draws, values=table.values, chained=table.chained, incomplete=incomplete, notes=(*draws.notes, *told))


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
    array, _ = numeric(values, name)
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


def _require_finite(
    array: NDArray[Any],
    names: tuple[str, ...],
    where: str = "",
    *,
    unit: str = "draw",
    chained: bool = False,
    nan_too: bool = True,
) -> None:
    """Raise unless all of (..., draw, variable) is finite, or NaN where that is allowed, and say where it stops being so."""
    if array.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(array)
    # a finite sum has finite terms, and takes half the time; large values may overflow it, so look again
    if np.isfinite(total) or np.isfinite(array).all() or not (nan_too or np.isinf(array).any()):
        return
    flat = array.reshape(-1, array.shape[-1])
    nan, infinite = np.isnan(flat).sum(axis=0), np.isinf(flat).sum(axis=0)
    if not nan_too:
        nan[:] = 0
    found = [
        f"variable {name}: "
        + " and ".join(f"{count} {kind}" for count, kind in ((a, "NaN"), (b, "infinite")) if count)
        + _places(~np.isfinite(array[..., k]) if nan_too else np.isinf(array[..., k]), unit)
        for k, (name, a, b) in enumerate(zip(names, nan, infinite, strict=True))
        if a or b
    ]
    more = f"; and {len(found) - LISTED} more variables" if len(found) > LISTED else ""
    ways = [_OF_NAN[unit]] if nan.any() and not chained else []
    if infinite.any() and unit == "row":
        ways.append("infinite: mend them, or leave those cells empty")
    if unit == "draw":
        ways.append("find out why the sampler made them")
    raise InputError(
        f"{where}{'draws' if unit == 'draw' else 'values'} must be finite, got {'; '.join(found[:LISTED])}{more} (of "
        f"{len(flat)} {unit}s); {', or '.join(ways)}"
    )


_OF_NAN = {
    "draw": "drop those draws first (NaN: as_draws(..., missing='drop'), or --missing listwise)",
    "row": "NaN: leave those rows out (missing='drop', --missing listwise), or take for each pair the rows that have both "
    "(missing='pairs', --missing pairs)",
}


def _places(bad: NDArray[np.bool_], unit: str) -> str:
    """Where the bad values begin, chain by chain: ' in chain 2 from draw 317 on'; at most three chains are named."""
    bad = np.atleast_2d(bad)
    chains = np.flatnonzero(bad.any(axis=1))
    told = []
    for chain in chains[:3]:
        places = np.flatnonzero(bad[chain])
        first, to_the_end = places[0], places.size > 1 and places.size == bad.shape[1] - places[0]
        at = f"from {unit} {first} on" if to_the_end else f"at {unit} {first}" + (" first" if places.size > 1 else "")
        told.append(f" in chain {chain} {at}" if len(bad) > 1 else f" {at}")
    return ",".join(told) + (f" and in {chains.size - 3} more chains" if chains.size > 3 else "")
