"""Named draws in the shape (chain, draw, variable), from all supported inputs."""

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import is_whole, numeric, one_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.kinds import NUMERIC, is_ordered
from copula_discrepancy.data.missing import handle_missing, require_finite
from copula_discrepancy.data.naming import chain_name, errors_about, listed, require_different, unknown_name, ways_to_select
from copula_discrepancy.data.readers.dispatch import read
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, NotNumeric, ReadOptions
from copula_discrepancy.data.readers.table import Table, in_chains, kind_fields
from copula_discrepancy.data.readers.variables import with_chosen_kinds

MISSING = ("raise", "listwise", "drop", "pairs")


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws, (chain, draw, variable), with a name for each variable; the array is a read-only view if possible.

    `as_draws` returns it, and every function that takes draws accepts it.

    Attributes
    ----------
    values : array (chain, draw, variable)
        Finite numbers; NaN only if `incomplete` is True.
    names : tuple of str
        One per variable.
    named, chained, ranked : bool
        Whether the names come from the input; whether the input has chains, even a single one; and whether values too large
        for a float64 were replaced by their ranks.
    notes : tuple of str
        Sentences about what was omitted or decided when the draws were read.
    left_out : tuple of (str, str)
        Columns of a table that were omitted automatically, each with the reason: "dates", "identifier", "row numbers".
    chain_column : str, optional
        The column of a table that identifies the chains.
    incomplete : bool
        Whether some values are missing, NaN, as with ``missing="pairs"``.
    kinds : tuple of str
        The kind of each variable: "numeric", "boolean", "ordinal" (ordered levels), "nominal" (levels without order), "date"
        and "duration" (days), "missing" (whether another value is missing); empty if all are numeric. See `kind`.
    levels : tuple of tuple of str
        The labels of each variable's levels, which its values, 0, 1, 2, ..., index; empty for numbers. See `labels`.
    chosen : tuple of str
        The variables whose kind the caller chose.
    diverging : array (chain, draw) of bool, optional
        Which draws the sampler reports as divergent: from the group `sample_stats` of an ArviZ container or file, and from
        CmdStan's CSV files; None if that is not known, and for groups other than the posterior. A mask that you set yourself
        is checked when the draws are used.
    chain_names : tuple of str
        What messages call the chains, if the input tells: by their labels, such as "chain 1", or by their files. See
        `chain_name`.
    residence : tuple, optional
        `values` and the same numbers on a device, if they came from there; see `resident`.

    See Also
    --------
    as_draws : Creates it from arrays, tables and files.

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
    kinds: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    chosen: tuple[str, ...] = ()
    diverging: NDArray[np.bool_] | None = field(default=None, repr=False)
    chain_names: tuple[str, ...] = field(default=(), repr=False)
    residence: tuple[Any, Any] | None = field(default=None, repr=False)

    @property
    def resident(self) -> Any:
        """The values as a tensor on a device, if they came from there; None if they did not, or have been changed since."""
        return None if self.residence is None or self.residence[0] is not self.values else self.residence[1]

    @property
    def n_divergent(self) -> int:
        """Number of divergent draws; 0 if the sampler reports none, or nothing about them."""
        _require_mask(self)
        return 0 if self.diverging is None else int(self.diverging.sum())

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

    def chain_name(self, chain: int) -> str:
        """What messages call a chain, by its position.

        Parameters
        ----------
        chain : int
            The chain's position.

        Returns
        -------
        str
            By the label that the input gives it, such as "chain 1" or "run_1.csv"; otherwise by its position, from "chain 0".

        Raises
        ------
        InputError
            If there is no such chain.

        Examples
        --------
        >>> import pandas as pd
        >>> import copula_discrepancy as cd
        >>> draws = cd.as_draws(pd.DataFrame({"chain": [1, 1, 2, 2], "a": [1.0, 2.0, 3.0, 4.0]}))
        >>> draws.chain_name(0)
        'chain 1'
        """
        if not is_whole(chain) or not -self.n_chains <= chain < self.n_chains:
            raise InputError(f"chain must be the position of one of {self.n_chains} chains, got {chain!r:.60}")
        return chain_name(self.chain_names, chain % self.n_chains, self.n_chains)

    def kind(self, variable: int) -> str:
        """The kind of one variable, by its position.

        Parameters
        ----------
        variable : int
            Its position among `names`.

        Returns
        -------
        str
            "numeric", "boolean", "ordinal", "nominal", "date", "duration" or "missing".

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.as_draws({"a": [1.0, 2.0], "town": ["Graz", "Wien"]}).kind(1)
        'nominal'
        """
        return self.kinds[self._place(variable)] if self.kinds else NUMERIC

    def labels(self, variable: int) -> tuple[str, ...]:
        """The labels of one variable's levels, by its position; its values index them.

        Parameters
        ----------
        variable : int
            Its position among `names`.

        Returns
        -------
        tuple of str
            Lowest first if the levels are ordered; empty for numbers.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> draws = cd.as_draws({"a": [1.0, 2.0, 3.0], "town": ["Wien", "Graz", "Wien"]})
        >>> draws.labels(1), draws.column(1)
        (('Graz', 'Wien'), array([1., 0., 1.]))
        """
        return self.levels[self._place(variable)] if self.levels else ()

    def column(self, variable: int) -> NDArray[np.float64]:
        """All draws of one variable, by its position, chain after chain.

        Parameters
        ----------
        variable : int
            Its position among `names`.

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
        # always a copy: the user may change the draws while a result is in use
        return np.array(self.values[:, :, self._place(variable)], order="C").reshape(-1)

    def _place(self, variable: int) -> int:
        if not is_whole(variable) or not -self.n_variables <= variable < self.n_variables:
            raise InputError(f"variable must be the index of one of {self.n_variables} variables, got {variable!r:.60}")
        return variable

    def select(self, names: Sequence[str]) -> "Draws":
        """The draws of these variables, in this order.

        Parameters
        ----------
        names : str or sequence of str
            The full names of the variables to keep.

        Returns
        -------
        Draws
            The selected draws, with the same chains and notes.

        Raises
        ------
        InputError
            For a name that does not exist.

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
                raise InputError(unknown_name(str(name), self.names), "unknown-name")
        if not wanted:
            raise InputError("names is empty; pass at least one name")
        require_different(wanted)
        return self._at([place[name] for name in wanted])

    def _at(self, places: list[int]) -> "Draws":
        if places == list(range(self.n_variables)):
            return self
        values = self.values[:, :, places]
        values.flags.writeable = False
        incomplete = self.incomplete and bool(np.isnan(values).any())
        names = tuple(self.names[k] for k in places)
        about = kind_fields(
            [self.kind(k) for k in places], [self.labels(k) for k in places], [name for name in self.chosen if name in names]
        )
        resident = self.resident
        residence = None if resident is None else (values, resident[:, :, places])
        return replace(self, values=values, names=names, incomplete=incomplete, residence=residence, **about)


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
    kinds: Any = None,
) -> Draws:
    """Named draws, (chain, draw, variable), from arrays, data frames, xarray and ArviZ objects, dictionaries and files.

    Dependence is a property of ranks. Integers too large for a float64 are therefore replaced by their ranks, which keeps
    their order and their ties. The `notes` of the result record what was omitted or decided when reading.

    Text, categories, truth values and dates are variables too: their `Draws.kind` is "nominal" (levels without order),
    "ordinal" (ordered categories), "boolean", "date" or "duration" (numbers of days). Functions that need numbers or an order
    reject nominal variables; `pairwise` and `DependenceFidelity` compare them, and where values are missing as well.

    Parameters
    ----------
    draws : array, data frame, xarray or ArviZ object, dictionary of arrays, path, or list of chains or paths
        - NumPy (n, d) or (chain, draw, d), or a list of chains (n, d).
        - A table with one named column per variable: pandas, polars, Arrow, DuckDB, Dask (computed, partitions in their order),
          any object with ``__arrow_c_stream__`` or ``__dataframe__``, a structured array. A column, or index level, called
          `chain`, `.chain` or `chain__` identifies chains; `draw`, `.iteration`, `.draw`, `iter__` and `draw__` next to it give
          the order within them. Row numbers, identifiers (integers or text in a column called id, customer_id, key, ...),
          dates that only rise or only fall over the rows, and free text (more than 20 values, different in more than half of
          the rows) are omitted unless `var_names` or `kinds` names them. Rows with an index of dates are sorted by it.
        - An xarray Dataset or DataArray with a dimension `draw` and optionally `chain`, an ArviZ DataTree or InferenceData.
          Other dimensions are flattened, with ArviZ's labels: ``theta[Choate]``, ``cov[0, 1]``.
        - A dictionary of arrays: all (n,), the columns of one sample, or all (chain, draw, ...). A fit of PyStan 3, with Stan's
          indices: ``theta[1]``.
        - A file .csv, .tsv (both also with .gz), .parquet, .npy, .npz or .nc, or a CSV file of CmdStan; a list of files, or a
          pattern such as ``"run_*.csv"``, is one chain per file, see `parts`. A directory of tables is one table in parts; a
          directory of a sampler's files is one chain per file.
        - An object whose method ``__draws__()`` returns a `Draws`, such as the result of `repair`.
    var_names : str or list of str, optional
        The variables to keep, in this order; ``theta`` means all of ``theta[...]``. Names that begin with ``~`` are excluded.
    filter_vars : {"like", "regex"}, optional
        Interpret `var_names` as substrings or as regular expressions instead of names; the order of the data is kept.
    group : str
        The group of a DataTree, an InferenceData or a netCDF file.
    coords : dict, optional
        Labels to keep, by dimension, as in xarray's ``sel``.
    chains : int or str, optional
        The number of consecutive chains that the rows of one sample form, or the name of the column that identifies chains.
    delimiter : str, optional
        The character between the values of a text file; by default a comma in .csv and a tab in .tsv. A .csv whose header and
        values are separated by semicolons, as spreadsheets write it in some countries, is read as such, with a note.
    missing : {"raise", "listwise", "pairs"} or None
        Treatment of missing values, NaN. "raise" raises an error; "listwise", or "drop", omits rows with a missing value in any
        of the variables; "pairs" keeps them as NaN, for functions that use for each pair the rows that have both values: the
        result is `incomplete`, and every other function rejects it. None means "pairs" for a table with column names and
        without chains, otherwise "raise". The notes count what is omitted or missing. NaN in chains is always an error,
        because a sampler should produce none.
    exclude : str or list of str, optional
        Variables to exclude from those that `var_names` selects, or from all; interpreted according to `filter_vars`.
    parts : {"auto", "chains", "rows"}
        Whether several files, or tables in a list, are one chain each or consecutive rows of one table. "auto" reads the files
        of a directory, and .parquet files of unequal length, as rows, and all others as chains. A sampler's files, such as
        Stan's CSV and netCDF, are always chains.
    kinds : dict, optional
        The kinds of some columns, ``{"zip": "nominal", "size": ["S", "M", "L"], "code": "id"}``: "numeric", "ordinal" (or a
        list of its values, lowest first), "nominal", "boolean", "date" or "id", which omits the column; or the metadata of SDV
        and SDMetrics, a dictionary or an object with ``to_dict``. Other kinds follow from the types of the columns. Integers in
        a column called zip, postcode, fips, area_code, ... are codes without order, and text with more than 1,000 levels is put
        into eight groups by a hash; the notes tell both.

    Returns
    -------
    Draws
        Values, names and notes; every function that takes draws accepts it.

    Raises
    ------
    InputError
        For values that are not real numbers, a wrong number of dimensions, chains of unequal length, fewer than two draws,
        unknown or repeated names, files that cannot be read, and values that are NaN or infinite: the message counts them
        per variable and gives the chain and draw of the first.

    See Also
    --------
    pairwise : Takes the same input and options.

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
    >>> table = cd.as_draws({"size": ["M", "S", "L", "S"], "sold": [3, 1, 4, 1]}, kinds={"size": ["S", "M", "L"]})
    >>> table.kinds, table.labels(0), table.column(0).tolist()
    (('ordinal', 'numeric'), ('S', 'M', 'L'), [1.0, 0.0, 2.0, 0.0])
    """
    options = ReadOptions.checked(
        var_names, filter_vars, group, coords, chains, delimiter, exclude, parts, kinds, every_kind=True
    )
    return _as_draws(draws, options, missing)


def numeric_draws(
    draws: Any, *, var_names: Any = None, filter_vars: Any = None, group: Any = DEFAULT_GROUP, coords: Any = None,
    chains: Any = None, delimiter: Any = None, missing: str | None = "raise", exclude: Any = None, parts: Any = "auto",
) -> Draws:  # fmt: skip
    """`as_draws` for functions that need numbers or an order: dates are omitted, and text and unordered levels rejected.

    Draws that were read before may have levels, if these are ordered.
    """
    options = ReadOptions.checked(var_names, filter_vars, group, coords, chains, delimiter, exclude, parts)
    found = _as_draws(draws, options, missing)
    require_ordered(found)
    return found


def require_ordered(draws: Draws) -> None:
    """Raise if a variable has levels without order: their codes are not numbers."""
    nominal = [k for k in range(draws.n_variables) if not is_ordered(draws.kind(k))]
    if not nominal:
        return
    names = [draws.names[k] for k in nominal]
    rest = [name for name in draws.names if name not in names]
    example = f", for example {draws.labels(nominal[0])[0]!r:.40}" if draws.labels(nominal[0]) else ""
    found = f"variable {names[0]} must be numeric or have an order, but is nominal{example}"
    others = f" ({listed(names[1:])} {'is' if len(names) == 2 else 'are'} nominal too)" if len(names) > 1 else ""
    advice = f"{ways_to_select(rest, names)}, or give the order of its values, kinds={{{names[0]!r}: [lowest, ...]}}"
    raise NotNumeric(f"{found}{others}; {advice}", names, rest)


def ordered_only(draws: Draws) -> Draws:
    """The draws without variables that have no order, with a note, for what needs an order besides the pairs."""
    nominal = [name for k, name in enumerate(draws.names) if not is_ordered(draws.kind(k))]
    if not nominal or len(nominal) == draws.n_variables:
        return draws
    note = f"left out here: {listed(nominal)} (no order)"
    kept = draws.select([name for name in draws.names if name not in nominal])
    return replace(kept, notes=(*draws.notes, note), left_out=(*draws.left_out, *((name, "no order") for name in nominal)))


def _as_draws(draws: Any, options: ReadOptions, missing: str | None) -> Draws:
    if missing is not None:
        one_of(missing, "missing", MISSING)
    if callable(getattr(type(draws), "__draws__", None)):
        draws = draws.__draws__()
    if getattr(type(draws), "counts_only", False):
        raise InputError(
            f"a {type(draws).__name__} has counts, not rows; pass it to pairwise, discrepancy or interactions, or rows here",
            "not-rows",
        )
    if isinstance(draws, Draws):
        return _read_again(draws, options, missing)
    table = read(draws, options)
    with errors_about(os.fsdecode(draws)) if isinstance(draws, str | os.PathLike) else nullcontext():
        table, incomplete = handle_missing(table, missing)
        values = table.values
        if values.shape[0] * values.shape[1] < 2:
            shape = np.shape(draws) if isinstance(draws, np.ndarray) and draws.dtype.names is None else values.shape
            raise InputError(f"draws must contain at least 2 {table.unit}s, got shape {shape}", "too-few-draws")
        if not table.names:
            raise InputError(f"draws must contain at least one variable, got shape {values.shape}", "shape")
    values = values.view() if values.dtype == np.float64 else values.astype(np.float64)  # finite: nothing overflows
    values.flags.writeable = False
    return Draws(**{**vars(table), "values": values}, incomplete=incomplete)


def _read_again(draws: Draws, options: ReadOptions, missing: str | None) -> Draws:
    """Draws that were read before, with the requested selection, chains and treatment of missing values."""
    _require_mask(draws)
    options.refuse("a Draws object", "group", "coords", "delimiter", "chain column")
    if options.filter_vars is None:  # a column omitted when reading is not an unknown name
        left_out = {name for name, _ in draws.left_out}
        options = replace(options, exclude=tuple(name for name in options.exclude if name not in left_out))
    options.require_known_kinds((*draws.names, *(name for name, _ in draws.left_out)))
    if options.selects:
        draws = draws._at(options.pick(draws.names))
    draws = _with_kinds(draws, options)
    if not isinstance(options.chains, int) and not draws.incomplete:
        return draws
    table = Table(draws.values, draws.names, draws.named, draws.chained, notes=draws.notes, diverging=draws.diverging)
    table = in_chains(table, options.chains)
    incomplete = False
    if draws.incomplete:
        table, incomplete = handle_missing(table, missing)
    table.values.flags.writeable = False
    notes = draws.notes if incomplete else table.notes  # missing values that stay were noted when they were read
    return replace(
        draws, values=table.values, chained=table.chained, incomplete=incomplete, notes=notes, diverging=table.diverging
    )


def _require_mask(draws: Draws) -> None:
    """Raise unless the mask of divergent draws, which users may set themselves, fits the draws.

    Checked where draws come in and not when they are created: rows of a sample are also looked at apart, without their marks.
    """
    mask = draws.diverging
    if mask is None:
        return
    shape = draws.values.shape[:2]
    rule = f"diverging must be an array of True and False, (chain, draw), with shape {shape}"
    if not isinstance(mask, np.ndarray):
        raise InputError(f"{rule}, got a {type(mask).__name__}; pass a NumPy array, np.asarray(diverging)")
    if mask.shape != shape:
        advice = "diverging.T" if mask.shape == shape[::-1] else "those of the draws that were read"
        raise InputError(f"{rule}, got shape {mask.shape}; pass {advice}", "shape")
    if mask.dtype != np.bool_:
        raise InputError(f"{rule}, got {mask.dtype}; pass a comparison, such as diverging > 0")


def _with_kinds(draws: Draws, options: ReadOptions) -> Draws:
    """Draws that were read before, with the kinds that the options choose."""
    fields = ("values", "names", "left_out", "notes", "kinds", "levels", "chosen")
    before = Table(**{name: getattr(draws, name) for name in fields})
    after = with_chosen_kinds(before, options.kinds, again=True)
    return draws if after is before else replace(draws, **{name: getattr(after, name) for name in fields})


def as_values(draws: Any, purpose: str) -> Draws:
    """`as_draws` for functions that need the values themselves, not only their order."""
    given = numeric_draws(draws)
    if given.ranked:
        found = "some are too large to be distinguished as float64"
        raise InputError(f"{purpose} needs the values of the draws, but {found}; subtract an offset or rescale them first")
    return given


def as_column(values: Any, name: str) -> NDArray[np.float64]:
    """One variable as a contiguous float64 vector with at least two finite, not all equal, values."""
    array, _ = numeric(values, name)
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {array.shape}", "shape")
    if array.size < 2:
        raise InputError(f"{name} must contain at least 2 draws, got {array.size}", "too-few-draws")
    require_finite(array[:, None], (name,))
    column = np.ascontiguousarray(array, dtype=np.float64)
    require_varying(column, name)
    return column


def require_varying(column: NDArray[np.float64], name: str) -> None:
    """Raise if all values are equal: such a variable has no dependence to measure."""
    if column[0] == column[-1] and (column == column[0]).all():
        found = f"variable {name} is constant (all {column.size} values are {column[0]:g})"
        raise InputError(f"{found}, so its dependence is undefined; omit it or check the sampler", "constant")
