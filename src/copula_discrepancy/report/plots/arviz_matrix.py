"""A ranking as a matrix of variables by arviz-plots: its PlotMatrix, for those who have it.

Arguments have ArviZ's names. Nothing is read or compared here, so there is no `group` and no `coords`: these were chosen when
the result was made. The backend may be matplotlib, plotly or bokeh, and visuals can be added afterwards.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare import wording
from copula_discrepancy.compare.counted_draws import rows_of
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.data.draws import Draws, require_ordered
from copula_discrepancy.data.naming import listed
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.estimate.ranks import rank_column
from copula_discrepancy.report.plots.arviz_arguments import Kind, require_arguments
from copula_discrepancy.report.plots.arviz_parts import (
    LONGEST,
    NUMBERS,
    arviz_plots_with,
    backend_of,
    figure_size,
    in_letters,
    labeller_of,
    require_number,
    require_ranking,
    shown_number,
    significant_pairs,
)
from copula_discrepancy.report.plots.look import BLUE, ORANGE, PURPLE

if TYPE_CHECKING:
    from arviz_plots import PlotMatrix

_MOST = 6  # variables of a matrix by default: arviz-plots allows 40 plots in a figure unless told otherwise
_CELL = 1.9  # inches of a panel: squares, as both axes are ranks
_SMALLEST = 5.0  # inches of a matrix of few variables
_POINTS, _FITTING = 10.0, 20  # size of the letters on the diagonal, and how many fit
_VERDICT, _LINES = 22, 3  # letters in a line of a verdict in a cell, and its lines
_FAINTEST, _STRONGEST = 0.15, 0.7  # opacity of the smallest and the largest significant gap, with black text on it
_TWO = 2
_MARK, _MANY = 10.0, 100  # size of the mark of a divergent draw, and how many can be seen at this size
_OWN_AXES = ("bokeh", "plotly")
_VISUALS = ("scatter", "divergence", "label", "gap", "gap_text")


def plot_pairwise(
    result: Pairwise,
    *,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    number: str | None = None,
    points: int = 1000,
    plot_matrix: "PlotMatrix | None" = None,
    backend: str | None = None,
    labeller: Any = None,
    aes_by_visuals: Mapping[str, Sequence[str]] | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> "PlotMatrix":
    """Draw a ranking as a matrix of variables with arviz-plots: clouds of ranks below the diagonal, gaps above it.

    A gap is coloured if it is significant by its own test: blue below zero and orange above, the stronger the larger it is. If
    other tests of the pair found a gap, and its own did not, the cell has the verdict. Names of more than 28 letters are
    abbreviated. Draws that the sampler reports as divergent are all shown, in a colour of their own.

    Parameters
    ----------
    result : Pairwise
        What `pairwise` returned.
    var_names : str or list of str, optional
        The variables; by default those of the worst pairs, at most 6.
    filter_vars : {"like", "regex"}, optional
        Interpret `var_names` as substrings or as regular expressions.
    number : {"level", "shape", "total", "form"}
        The gap above the diagonal; by default level, or shape without a target.
    points : int
        Largest number of draws in a cloud, evenly spaced among all.
    plot_matrix : PlotMatrix, optional
        One to draw into, of the same variables.
    backend : {"matplotlib", "plotly", "bokeh", "none"}, optional
        By default that of ArviZ's settings.
    labeller : labeller, optional
        What ArviZ's labellers make of the names; by default long ones are abbreviated.
    aes_by_visuals : mapping of {str : sequence of str}, optional
        The aesthetics that "scatter" and "divergence" use; by default all of them, and none but "overlay".
    visuals : mapping of {str : mapping or False}, optional
        Keyword arguments of "scatter", "divergence", "label", "gap" (the coloured field) and "gap_text", or False to leave one
        out.
    **pc_kwargs : object
        Passed to `PlotMatrix`, such as ``aes={"color": ["chain"]}`` and ``figure_kwargs``.

    Returns
    -------
    PlotMatrix
        The matrix, to be shown, saved or added to.

    Raises
    ------
    InputError
        Without arviz-plots, or what its backend needs, for anything but a result of `pairwise`, for unknown variables, if there
        is nothing to show above the diagonal, and for arguments that would change nothing, such as `group`: the draws were
        chosen when the result was made.

    See Also
    --------
    plot_gap_forest : The worst pairs with intervals.
    Pairwise.plot : A map of all pairs, by matplotlib.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
    >>> matrix = cd.plot_pairwise(result, number="shape", backend="none")  # doctest: +SKIP
    """
    draws = _rows_of(result, "plot_pairwise")
    number = str(one_of(shown_number(result, number), "number", NUMBERS))
    shown = whole_number(points, "points", 1)
    chosen = draws.select(_chosen(result, draws, var_names, filter_vars))
    require_ordered(chosen)
    _require_gaps(result, chosen.names, number)
    plots = arviz_plots_with(backend, plot_matrix)
    kind = Kind(
        plot_pairwise, plots.plot_pair, plots.PlotMatrix, plots.PlotMatrix.__init__, "plot_matrix", _VISUALS, _VISUALS[:2],
        ("overlay",),
    )  # fmt: skip
    require_arguments(kind, plot_matrix, backend, labeller, aes_by_visuals, visuals, pc_kwargs)
    if plot_matrix is not None:
        _require_same_variables(plot_matrix, chosen.names)
    ranks = _ranks(chosen)
    step = -(-chosen.n_chains * chosen.n_draws // shown)
    few = ranks.isel(draw=slice(None, None, step))
    pc_kwargs["aes"] = {"overlay": ["chain"], **pc_kwargs.get("aes", {})}
    pc_kwargs.setdefault("facet_dims", ["__variable__"])
    if plot_matrix is None:
        plot_matrix = _new_matrix(plots, few, backend, pc_kwargs)
    wanted: dict[str, Any] = {name: (visuals or {}).get(name, {}) for name in _VISUALS}
    wanted = {name: {} if found is True else found for name, found in wanted.items()}
    every = plot_matrix.aes_set
    used = {"scatter": every, "divergence": {"overlay"}} | {k: set(v) | {"overlay"} for k, v in (aes_by_visuals or {}).items()}
    couple = plots.visuals.scatter_couple
    if wanted["scatter"] is not False:
        options: dict[str, Any] = {
            "alpha": 0.4,
            "width": 0,
            "size": 6,
            **({} if "color" in used["scatter"] else {"color": "C0"}),
        }
        options |= wanted["scatter"]
        plot_matrix.map_lower(couple, "scatter", data=few, ignore_aes=every - used["scatter"], **options)
    if chosen.n_divergent and wanted["divergence"] is not False:
        import xarray as xr

        mask = xr.DataArray(chosen.diverging, dims=("chain", "draw"), coords={"chain": ranks["chain"], "draw": ranks["draw"]})
        plain = {} if "color" in used["divergence"] else {"color": PURPLE}
        size = _MARK * min(1.0, (_MANY / chosen.n_divergent) ** 0.5)  # many would hide the panel
        options = {"width": 0.4 if size == _MARK else 0.0, "size": size, "alpha": 1.0, **plain, **wanted["divergence"]}
        ignored = every - used["divergence"]
        plot_matrix.map_lower(couple, "divergence", data=ranks, mask=mask, ignore_aes=ignored, **options)
    if wanted["gap"] is not False or wanted["gap_text"] is not False:
        gaps = _Gaps(plots, result, number, wanted["gap"], wanted["gap_text"])
        plot_matrix.map_upper(gaps, "gap", data=few, ignore_aes=every, subset_info=True)
    if wanted["label"] is not False:
        short = dict(zip(result.names, wording.short_names(result.names, LONGEST), strict=True))
        short = {name: short[name] for name in chosen.names}
        label, longest = plots.visuals.label_plot, max(map(len, short.values()))
        labeller = labeller or labeller_of(var_name_map={k: in_letters(v, plot_matrix.backend) for k, v in short.items()})
        options = ({"size": _POINTS * _FITTING / longest} if longest > _FITTING else {}) | wanted["label"]
        plot_matrix.map(label, "label", data=few, ignore_aes=every, subset_info=True, labeller=labeller, **options)
    framed: dict[str, Any] = {"data": few, "ignore_aes": every, "store_artist": False, "drawn_by": backend_of(plot_matrix)}
    plot_matrix.map(_ticks_at_ends, "ticks", **framed)
    if plot_matrix.backend in _OWN_AXES:  # whose panels do not share them
        plot_matrix.map_lower(_ticks_of_pair, "ticks", **framed)
        plot_matrix.map_upper(_ticks_of_pair, "ticks", **framed)
    return plot_matrix


def _require_gaps(result: Pairwise, names: Sequence[str], number: str) -> None:
    """Raise if there would be nothing above the diagonal, neither a gap nor a verdict."""
    places = [result.names.index(name) for name in names if name in result.names]
    rows = result.rows[np.isin(result.rows["first"], places) & np.isin(result.rows["second"], places)]
    if not (np.isfinite(rows[number]) | rows["flagged"]).any():
        require_number(result, rows, (number,))


def _require_same_variables(matrix: Any, names: Sequence[str]) -> None:
    """Raise unless a matrix to draw into has panels of these variables, in their order."""
    there = [str(name) for name in matrix.data.data_vars]
    if there != [*names]:
        raise InputError(f"plot_matrix must have the variables that are drawn, {listed(names)}, got {listed(there)}")


def _ticks_at_ends(_: Any, target: Any, *, drawn_by: Any, **__: Any) -> None:
    """The visual of axes from 0 to 1, with ticks at their ends, which do not run into those of the next panel."""
    for limits, ticks in ((drawn_by.xlim, drawn_by.xticks), (drawn_by.ylim, drawn_by.yticks)):
        limits((0.0, 1.0), target)
        ticks([0.0, 1.0], ["0", "1"], target)


def _ticks_of_pair(_: Any, other: Any, target: Any, **options: Any) -> None:
    """The same for a panel of two variables."""
    _ticks_at_ends(other, target, **options)


def _rows_of(result: Any, function: str) -> Draws:
    """The draws of a ranking."""
    require_ranking(result, function)
    draws = rows_of(result.samples[0])
    if draws is None:
        raise InputError(f"{function} draws rows, and those that were counted are gone; use result.plot()", "not-rows")
    return draws


def _chosen(result: Pairwise, draws: Draws, var_names: Any, filter_vars: Any) -> list[str]:
    """The variables of a matrix, in the order of the data."""
    if var_names is not None or filter_vars is not None:
        options = ReadOptions.checked(var_names, filter_vars, "posterior", None, None, None)
        places = options.pick(draws.names)
        if len(places) < _TWO:
            raise InputError(f"var_names must select two variables or more, got {var_names!r:.60}", "shape")
        return [draws.names[k] for k in places]
    worst: dict[int, None] = {}
    for row in result.rows:
        pair = int(row["first"]), int(row["second"])
        if len({*worst, *pair}) <= _MOST:
            worst |= dict.fromkeys(pair)
    return [draws.names[k] for k in sorted(worst)]


def _ranks(draws: Draws) -> Any:
    """A Dataset of ranks between 0 and 1."""
    import xarray as xr

    shape = draws.n_chains, draws.n_draws
    columns: dict[str, NDArray[np.float64]] = {}
    for k, name in enumerate(draws.names):
        values = draws.column(k)
        known = ~np.isnan(values)
        ranks = np.full(values.size, np.nan)
        ranks[known] = rank_column(values[known]).doubled_mid_ranks / (2.0 * (np.count_nonzero(known) + 1))
        columns[name] = ranks.reshape(shape)
    data = {name: (("chain", "draw"), values) for name, values in columns.items()}
    return xr.Dataset(data, coords={"chain": np.arange(shape[0]), "draw": np.arange(shape[1])})


def _new_matrix(plots: Any, ranks: Any, backend: str | None, pc_kwargs: dict[str, Any]) -> Any:
    """A matrix with a panel for each pair of variables, as arviz-plots' own pair plot has it."""
    from arviz_base import rcParams

    backend = backend or rcParams["plot.backend"]
    side = max(_CELL * len(ranks.data_vars), _SMALLEST)
    figure = {"sharex": "col", "sharey": "row", **figure_size(backend, side, side), **pc_kwargs.pop("figure_kwargs", {})}
    return plots.PlotMatrix(ranks, backend=backend, figure_kwargs=figure, **pc_kwargs)


class _Gaps:
    """The visual of a cell above the diagonal: a field coloured by a gap, if its own test is significant, and its number."""

    def __init__(self, plots: Any, result: Pairwise, number: str, field: Any, text: Any) -> None:
        self.visuals, self.result, self.number, self.field, self.text = plots.visuals, result, number, field, text
        self.largest = float(np.nanmax(np.abs(result.rows[number]), initial=1e-12))
        self.significant = significant_pairs(result, number)

    def __call__(self, da_x: Any, da_y: Any, target: Any, *, var_name_x: str, var_name_y: str, **_: Any) -> Any:
        # the pair may not have been compared, such as a variable with the indicator of its missing values
        try:
            gap = self.result[var_name_x, var_name_y]
        except InputError:
            return None
        value = float(getattr(gap, self.number))
        if not np.isfinite(value) and not gap.flagged:
            return None
        pair = frozenset(self.result.names.index(name) for name in (var_name_x, var_name_y))
        known = bool(np.isfinite(value))
        if pair in self.significant and known and self.field is not False:
            strength = max(_STRONGEST * abs(value) / self.largest, _FAINTEST)
            options = {"color": BLUE if value < 0.0 else ORANGE, "alpha": strength, **self.field}
            edges = np.array([0.0, 1.0])
            self.visuals.fill_between_y(da_x, target, x=edges, y_bottom=np.zeros(2), y_top=np.ones(2), **options)
        if self.text is False:
            return None
        sign = "" if self.number == "form" else "+"
        shown = f"{self.number} {round(value, 2) or 0.0:{sign}.2f}" if known else ""  # no -0.00
        if gap.flagged and not (pair in self.significant and known):
            verdict = textwrap.wrap(gap.verdict, _VERDICT, max_lines=_LINES, placeholder=" …", break_on_hyphens=False)
            shown = "\n".join([*([shown] if shown else []), *verdict])
        return self.visuals.annotate_xy(da_x, target, x=0.5, y=0.5, text=shown, **self.text)
