"""Plots of a ranking by arviz-plots, for those who have it: they return its PlotMatrix and PlotCollection.

Arguments have ArviZ's names. Nothing is read or compared here, so there is no `group` and no `coords`: these were chosen when
the result was made. The backend may be matplotlib, plotly or bokeh, and visuals can be added afterwards.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.counted_draws import rows_of
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.data.draws import Draws, require_ordered
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.estimate.ranks import rank_column
from copula_discrepancy.report.plots.look import BLUE, ORANGE, PURPLE
from copula_discrepancy.report.plots.maps import beyond_chance

if TYPE_CHECKING:
    from arviz_plots import PlotCollection, PlotMatrix

_MOST = 6  # variables of a matrix by default: arviz-plots allows 40 plots in a figure unless told otherwise
_DOTS = 100.0  # per inch
_CELL = 1.9  # inches of a panel: squares, as both axes are ranks
_SMALLEST = 5.0  # inches of a matrix of few variables
_POINTS, _FITTING = 10.0, 20  # size of the letters on the diagonal, and how many fit
_LETTER, _LINE = 0.078, 0.3  # inches of a letter and of a line of a forest
_MARGIN, _FOREST = 8, 5.0  # letters besides those of a pair, as of "level", and inches of the intervals
_SHADE = "#c0c0c0"
_FAINTEST, _STRONGEST = 0.15, 0.7  # opacity of the smallest and the largest significant gap, with black text on it
_BACKENDS = ("matplotlib", "plotly", "bokeh", "none")
_VISUALS = ("scatter", "divergence", "label", "gap", "gap_text")
_NUMBERS = ("level", "shape", "total", "form")  # that have a standard error
_HALF = 0.5  # share of the thick part of an interval


def plot_pairwise(
    result: Pairwise,
    *,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    number: str = "level",
    points: int = 1000,
    plot_matrix: "PlotMatrix | None" = None,
    backend: str | None = None,
    labeller: Any = None,
    aes_by_visuals: Mapping[str, Sequence[str]] | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> "PlotMatrix":
    """Draw a ranking as a matrix of variables with arviz-plots: clouds of ranks below the diagonal, gaps above it.

    A gap is coloured if it is significant by its own test: blue below zero and orange above, the stronger the larger it is.
    Draws that the sampler reports as divergent are all shown, in a colour of their own.

    Parameters
    ----------
    result : Pairwise
        What `pairwise` returned.
    var_names : str or list of str, optional
        The variables; by default those of the worst pairs, at most 6.
    filter_vars : {"like", "regex"}, optional
        Interpret `var_names` as substrings or as regular expressions.
    number : {"level", "shape", "total", "form"}
        The gap above the diagonal.
    points : int
        Largest number of draws in a cloud, evenly spaced among all.
    plot_matrix : PlotMatrix, optional
        One to draw into, of the same variables.
    backend : {"matplotlib", "plotly", "bokeh", "none"}, optional
        By default that of ArviZ's settings.
    labeller : labeller, optional
        What ArviZ's labellers make of the names.
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
        Without arviz-plots, for anything but a result of `pairwise`, and for unknown variables.

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
    one_of(number, "number", _NUMBERS)
    shown = whole_number(points, "points", 1)
    chosen = draws.select(_chosen(result, draws, var_names, filter_vars))
    require_ordered(chosen)
    plots = _plots(backend)
    ranks = _ranks(chosen)
    step = -(-chosen.n_chains * chosen.n_draws // shown)
    few = ranks.isel(draw=slice(None, None, step))
    pc_kwargs["aes"] = {"overlay": ["chain"], **pc_kwargs.get("aes", {})}
    pc_kwargs.setdefault("facet_dims", ["__variable__"])
    if plot_matrix is None:
        plot_matrix = _new_matrix(plots, few, backend, pc_kwargs)
    for name in visuals or ():
        one_of(name, "visuals", _VISUALS)
    for name in aes_by_visuals or ():
        one_of(name, "aes_by_visuals", _VISUALS[:2])
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
        options = {"width": 0.4, "size": 10, "alpha": 1.0, **plain, **wanted["divergence"]}
        ignored = every - used["divergence"]
        plot_matrix.map_lower(couple, "divergence", data=ranks, mask=mask, ignore_aes=ignored, **options)
    if wanted["gap"] is not False or wanted["gap_text"] is not False:
        gaps = _Gaps(plots, result, number, wanted["gap"], wanted["gap_text"])
        plot_matrix.map_upper(gaps, "gap", data=few, ignore_aes=every, subset_info=True)
    if wanted["label"] is not False:
        label, longest = plots.visuals.label_plot, max(map(len, chosen.names))
        options = ({"size": _POINTS * _FITTING / longest} if longest > _FITTING else {}) | wanted["label"]
        plot_matrix.map(label, "label", data=few, ignore_aes=every, subset_info=True, labeller=labeller, **options)
    plot_matrix.map(_ticks_at_ends, "ticks", data=few, ignore_aes=every, store_artist=False, drawn_by=_drawn_by(plot_matrix))
    return plot_matrix


def plot_gap_forest(
    result: Pairwise,
    *,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    number: str | Sequence[str] = "level",
    pairs: int = 10,
    labels: Sequence[str] | None = None,
    shade_label: str | None = None,
    plot_collection: "PlotCollection | None" = None,
    backend: str | None = None,
    labeller: Any = None,
    aes_by_visuals: Mapping[str, Sequence[str]] | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> "PlotCollection":
    """Draw the worst pairs of a ranking as a forest with arviz-plots: their gaps with intervals, next to zero.

    The thin line is the interval at the confidence of the result, the thick one that of 50%.

    Parameters
    ----------
    result : Pairwise
        What `pairwise` returned.
    var_names : str or list of str, optional
        Only pairs of these variables.
    filter_vars : {"like", "regex"}, optional
        Interpret `var_names` as substrings or as regular expressions.
    number : {"level", "shape", "total", "form"} or several of them
        The gaps.
    pairs : int
        Largest number of pairs, the worst first.
    labels, shade_label : optional
        As in arviz-plots' `plot_forest`, of the dimensions "__variable__", which is the gap, and "pair".
    plot_collection : PlotCollection, optional
        One to draw into.
    backend : {"matplotlib", "plotly", "bokeh", "none"}, optional
        By default that of ArviZ's settings.
    labeller : labeller, optional
        What ArviZ's labellers make of the names.
    aes_by_visuals, visuals : mapping, optional
        As in arviz-plots' `plot_forest`, and in `visuals` also "reference", the line at zero.
    **pc_kwargs : object
        Passed to `PlotCollection`.

    Returns
    -------
    PlotCollection
        The forest, to be shown, saved or added to.

    Raises
    ------
    InputError
        Without arviz-plots, for anything but a result of `pairwise`, for unknown variables, and if no pair has the gap.

    See Also
    --------
    plot_pairwise : The variables as a matrix.
    plot_tau_forest : Kendall's tau of the worst pairs, chain by chain, by matplotlib.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
    >>> forest = cd.plot_gap_forest(result, number=["level", "shape"], backend="none")  # doctest: +SKIP
    """
    _require_ranking(result, "plot_gap_forest")
    numbers = tuple(number) if isinstance(number, list | tuple) and number else (number,)
    for name in numbers:
        one_of(name, "number", _NUMBERS)
    values, thick, thin = _intervals(result, numbers, _kept_rows(result, var_names, filter_vars, numbers, pairs))
    plots = _plots(backend)
    told = dict(visuals or {})
    reference: Any = told.pop("reference", {})
    optional = {"labels": labels, "shade_label": shade_label, "plot_collection": plot_collection}
    several = len(numbers) > 1
    optional["labels"] = labels or (["__variable__", "pair"] if several else ["pair"])
    told.setdefault("shade", {"color": _SHADE})
    if plot_collection is None:
        pc_kwargs["figure_kwargs"] = _size_of_forest(values, backend, several=several) | pc_kwargs.get("figure_kwargs", {})
    forest = plots.plot_forest(
        values, combined=True, backend=backend, labeller=labeller, aes_by_visuals=aes_by_visuals, visuals=told,
        stats={"trunk": thick, "twig": thin, "point_estimate": values.squeeze(("chain", "draw"), drop=True)},
        **{name: given for name, given in optional.items() if given is not None}, **pc_kwargs,
    )  # fmt: skip
    drawn_by, target = _drawn_by(forest), forest.get_target(None, {"column": "forest"})
    if reference is not False:
        options = {"color": "gray", "linestyle": "C1", "width": 1, **(reference if isinstance(reference, Mapping) else {})}
        drawn_by.vline(0.0, target, **options)
    unit = "distance of densities" if "form" in numbers else "Kendall's tau"
    drawn_by.xlabel(f"{', '.join(numbers)}{f' ({unit})' if not several or 'form' not in numbers else ''}", target)
    if "ticklabels" not in told:  # what the columns are is seen
        drawn_by.xticks([], [], forest.get_target(None, {"column": "labels"}))
    return forest


def _drawn_by(plot: Any) -> Any:
    """The backend of a plot, as a module with one function for each thing that is drawn."""
    return import_module(f"arviz_plots.backend.{plot.backend}")


def _ticks_at_ends(_: Any, target: Any, *, drawn_by: Any, **__: Any) -> None:
    """The visual of ticks at 0 and 1, the only ones that ranks need; others would run into those of the next panel."""
    for ticks in (drawn_by.xticks, drawn_by.yticks):
        ticks([0.0, 1.0], ["0", "1"], target)


def _plots(backend: Any) -> Any:
    """arviz-plots, with a backend that it has, or an error that says how to install it."""
    if backend is not None:
        one_of(backend, "backend", _BACKENDS)
    try:
        import arviz_plots
        import arviz_plots.visuals
    except (ImportError, AttributeError) as error:  # the second where matplotlib is too new for it, as on Python 3.11
        missing = isinstance(error, ModuleNotFoundError) and error.name == "arviz_plots"
        why = "" if missing else f", which cannot be loaded ({type(error).__name__}: {error})"
        raise InputError(
            f'this plot needs arviz-plots{why}: pip install "copula-discrepancy[arviz]"; without it, use result.plot() and '
            "plot_tau_forest, which draw with matplotlib",
            "dependency",
        ) from None
    return arviz_plots


def _require_ranking(result: Any, function: str) -> None:
    if not isinstance(result, Pairwise) or result.unit != "pair":
        raise InputError(
            f"{function} requires a Pairwise, got {type(result).__name__}; call cd.pairwise(draws, reference) first"
        )


def _rows_of(result: Any, function: str) -> Draws:
    """The draws of a ranking."""
    _require_ranking(result, function)
    draws = rows_of(result.samples[0])
    if draws is None:
        raise InputError(f"{function} draws rows, and those that were counted are gone; use result.plot()", "not-rows")
    return draws


def _chosen(result: Pairwise, draws: Draws, var_names: Any, filter_vars: Any) -> list[str]:
    """The variables of a matrix, in the order of the data."""
    if var_names is not None or filter_vars is not None:
        options = ReadOptions.checked(var_names, filter_vars, "posterior", None, None, None)
        return [draws.names[k] for k in options.pick(draws.names)]
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
    figure = {"sharex": "col", "sharey": "row", **_sized(backend, side, side), **pc_kwargs.pop("figure_kwargs", {})}
    return plots.PlotMatrix(ranks, backend=backend, figure_kwargs=figure, **pc_kwargs)


def _size_of_forest(values: Any, backend: str | None, *, several: bool) -> dict[str, Any]:
    """A figure with room for the labels of pairs, and a line for each."""
    from arviz_base import rcParams

    labels = max(_LETTER * (max(map(len, values["pair"].values.tolist())) + _MARGIN * (1 + several)), 1.0)
    height = _LINE * values.sizes["pair"] * len(values.data_vars) + 1.0
    size = _sized(backend or rcParams["plot.backend"], labels + _FOREST, height)
    return size | {"width_ratios": [labels, _FOREST]}


def _sized(backend: str, width: float, height: float) -> dict[str, Any]:
    """A size in inches as the backend takes it, and margins that fit what is drawn."""
    if backend in ("matplotlib", "none"):
        fitting = {"layout": "constrained"} if backend == "matplotlib" else {}
        return {"figsize": (width, height), "figsize_units": "inches", **fitting}
    return {"figsize": (_DOTS * width, _DOTS * height), "figsize_units": "dots"}  # the others warn of inches


class _Gaps:
    """The visual of a cell above the diagonal: a field coloured by a gap, if its own test is significant, and its number."""

    def __init__(self, plots: Any, result: Pairwise, number: str, field: Any, text: Any) -> None:
        self.visuals, self.result, self.number, self.field, self.text = plots.visuals, result, number, field, text
        self.largest = float(np.nanmax(np.abs(result.rows[number]), initial=1e-12))
        rows = result.rows[beyond_chance(result, number)]
        self.significant = {frozenset(pair) for pair in rows[["first", "second"]].tolist()}

    def __call__(self, da_x: Any, da_y: Any, target: Any, *, var_name_x: str, var_name_y: str, **_: Any) -> Any:
        # the pair may not have been compared, such as a variable with the indicator of its missing values
        try:
            gap = self.result[var_name_x, var_name_y]
        except InputError:
            return None
        value = float(getattr(gap, self.number))
        if not np.isfinite(value):
            return None
        pair = frozenset(self.result.names.index(name) for name in (var_name_x, var_name_y))
        if pair in self.significant and self.field is not False:
            strength = max(_STRONGEST * abs(value) / self.largest, _FAINTEST)
            options = {"color": BLUE if value < 0.0 else ORANGE, "alpha": strength, **self.field}
            edges = np.array([0.0, 1.0])
            self.visuals.fill_between_y(da_x, target, x=edges, y_bottom=np.zeros(2), y_top=np.ones(2), **options)
        if self.text is False:
            return None
        sign = "" if self.number == "form" else "+"
        shown = f"{round(value, 2) or 0.0:{sign}.2f}"  # no -0.00
        return self.visuals.annotate_xy(da_x, target, x=0.5, y=0.5, text=f"{self.number} {shown}", **self.text)


def _kept_rows(
    result: Pairwise, var_names: Any, filter_vars: Any, numbers: Sequence[str], pairs: int
) -> NDArray[Any]:  # fmt: skip
    """The worst rows of the ranking that have these gaps, of some variables."""
    most = whole_number(pairs, "pairs", 1)
    kept = np.all([np.isfinite(result.rows[name]) & np.isfinite(result.rows[f"{name}_se"]) for name in numbers], axis=0)
    if var_names is not None or filter_vars is not None:
        options = ReadOptions.checked(var_names, filter_vars, "posterior", None, None, None)
        places = options.pick(result.names)
        kept &= np.isin(result.rows["first"], places) & np.isin(result.rows["second"], places)
    found = result.rows[kept][:most]
    if not len(found):
        raise InputError(
            f"no pair of these variables has {' and '.join(numbers)} with a standard error; select others", "shape"
        )
    return found


def _intervals(result: Pairwise, numbers: Sequence[str], rows: NDArray[Any]) -> tuple[Any, Any, Any]:
    """The gaps of some pairs, and the ends of a short and of a long interval, as plot_forest takes them."""
    import xarray as xr

    names = [result.label(row) for row in rows]

    def dataset(z: float | None) -> Any:
        data: dict[str, Any] = {}
        for name in numbers:
            if z is None:
                data[name] = (("chain", "draw", "pair"), rows[name][None, None])
            else:
                least = 0.0 if name == "form" else -np.inf  # a distance has no negative values
                ends = rows[name] + z * np.array([[-1.0], [1.0]]) * rows[f"{name}_se"]
                data[name] = (("ci_bound", "pair"), np.maximum(ends, least))
        coords: dict[str, Any] = {"pair": names}
        coords |= {"chain": [0], "draw": [0]} if z is None else {"ci_bound": ["lower", "upper"]}
        return xr.Dataset(data, coords=coords)

    reach = [NormalDist().inv_cdf(0.5 + 0.5 * share) for share in (_HALF, result.confidence)]
    return dataset(None), dataset(reach[0]), dataset(reach[1])
