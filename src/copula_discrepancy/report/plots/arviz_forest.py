"""The worst pairs of a ranking as a forest by arviz-plots: its PlotCollection, for those who have it.

Arguments have ArviZ's names. Nothing is read or compared here, so there is no `group` and no `coords`: these were chosen when
the result was made. The backend may be matplotlib, plotly or bokeh, and visuals can be added afterwards.
"""

import copy
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare import wording
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.report.plots.arviz_parts import (
    LONGEST,
    NUMBERS,
    arviz_plots_with,
    backend_of,
    figure_size,
    labeller_of,
    refuse_unused,
    require_ranking,
    require_visuals,
    shown_number,
    significant_pairs,
)

if TYPE_CHECKING:
    from arviz_plots import PlotCollection

_LETTER, _LINE = 0.078, 0.3  # inches of a letter and of a line of a forest
_MARGIN, _FOREST = 8, 5.0  # letters besides those of a pair, as of "level", and inches of the intervals
_SHADE = "#c0c0c0"
_SHADED = 0.55  # part of the labels' panel that arviz-plots shades behind the second label
_ROOM = 0.6  # above the first row of a forest and below the last, in rows
_OTHER, _NONE = "*", "\N{WHITE CIRCLE}"  # marks of pairs: other tests than those shown found a gap, or none did
_VISUALS = ("trunk", "twig", "point_estimate", "labels", "shade", "ticklabels", "remove_axis", "reference")
_TWO = 2
_HALF = 0.5  # share of the thick part of an interval


def plot_gap_forest(
    result: Pairwise,
    *,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    number: str | Sequence[str] | None = None,
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

    The thin line is the interval at the confidence of the result, the thick one that of 50%. They are those of single gaps,
    while a verdict is adjusted for all tests: an interval may leave out zero where no gap was found. A star marks a pair in
    which other tests found a gap, and those of the gaps that are shown did not; a ring one in which no test did.

    Parameters
    ----------
    result : Pairwise
        What `pairwise` returned.
    var_names : str or list of str, optional
        Only pairs of these variables.
    filter_vars : {"like", "regex"}, optional
        Interpret `var_names` as substrings or as regular expressions.
    number : {"level", "shape", "total", "form"} or several of them
        The gaps; by default level, or shape without a target.
    pairs : int
        Largest number of pairs, the worst first.
    labels, shade_label : optional
        As in arviz-plots' `plot_forest`, of the dimensions "__variable__", which is the gap, and "pair".
    plot_collection : PlotCollection, optional
        One to draw into.
    backend : {"matplotlib", "plotly", "bokeh", "none"}, optional
        By default that of ArviZ's settings.
    labeller : labeller, optional
        What ArviZ's labellers make of the gaps and of the labels of pairs; by default long names are abbreviated.
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
        Without arviz-plots, for anything but a result of `pairwise`, for unknown variables, if no pair has the gap, and for
        arguments that would change nothing, such as `group` and `ci_probs`: they were chosen when the result was made.

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
    require_ranking(result, "plot_gap_forest")
    number = shown_number(result, number)
    numbers = tuple(number) if isinstance(number, list | tuple) and number else (number,)
    for name in numbers:
        one_of(name, "number", NUMBERS)
    rows = _kept_rows(result, var_names, filter_vars, numbers, pairs)
    values, thick, thin = _intervals(result, numbers, rows)
    plots = arviz_plots_with(backend)
    refuse_unused(pc_kwargs, plots.plot_forest, "plot_gap_forest")
    require_visuals(visuals, None)
    told: dict[str, Any] = dict(visuals or {})
    for name in told:
        one_of(name, "visuals", _VISUALS)
    reference: Any = told.pop("reference", {})
    if told.get("shade") is False and shade_label is not None:
        raise InputError("visuals['shade'] is False, and shade_label says what to shade; omit one of them")
    if told.get("shade") is False:
        del told["shade"]  # nothing is shaded without a label
    short, marks = _short_labels(result, rows, numbers)
    labeller = labeller_of(coord_map={"pair": short}) if labeller is None else _marking(labeller, marks)
    if plots.__version__.startswith("0."):  # whose forests do not use labellers
        values, thick, thin = (data.assign_coords(pair=[*short.values()]) for data in (values, thick, thin))
    optional: dict[str, Any] = {"labels": labels, "shade_label": shade_label, "plot_collection": plot_collection}
    several = len(numbers) > 1
    optional["labels"] = labels or (["__variable__", "pair"] if several else ["pair"])
    told.setdefault("shade", {"color": _SHADE})
    alone = len(optional["labels"]) == 1
    if alone:  # arviz-plots begins the first label in the middle of its panel
        told["labels"] = {"horizontal_align": "right"} | dict(told.get("labels") or {})
    if plot_collection is None:
        size = _size_of_forest(values, list(short.values()), backend, several=several, shaded=shade_label is not None)
        pc_kwargs["figure_kwargs"] = size | pc_kwargs.get("figure_kwargs", {})
    forest = plots.plot_forest(
        values, combined=True, backend=backend, labeller=labeller, aes_by_visuals=aes_by_visuals, visuals=told,
        stats={"trunk": thick, "twig": thin, "point_estimate": values.squeeze(("chain", "draw"), drop=True)},
        **{name: given for name, given in optional.items() if given is not None}, **pc_kwargs,
    )  # fmt: skip
    drawn_by, target = backend_of(forest), forest.get_target(None, {"column": "forest"})
    if reference is not False:
        options = {"color": "gray", "linestyle": "C1", "width": 1, **(reference if isinstance(reference, Mapping) else {})}
        drawn_by.vline(0.0, target, **options)
    unit = "distance of densities" if "form" in numbers else "Kendall's tau"
    axis = f"{', '.join(numbers)}{f' ({unit})' if not several or 'form' not in numbers else ''}"
    said = {_OTHER: "other tests found a gap", _NONE: "no gap found"}
    legend = "; ".join(f"{mark} {words}" for mark, words in said.items() if mark in marks.values())
    axis = f"{axis}, {100 * result.confidence:g}% intervals, not adjusted"
    drawn_by.xlabel(f"{axis}\n{legend}" if legend else axis, target)
    labels_panel = forest.get_target(None, {"column": "labels"})
    if plot_collection is None:
        heights = [float(end(forest.get_aes_as_dataset("y").to_array())) for end in (np.min, np.max)]
        for panel in (target, labels_panel):
            drawn_by.ylim((heights[0] - _ROOM, heights[1] + _ROOM), panel)
        if alone and shade_label is None:
            drawn_by.xlim((-1.0, 0.05), labels_panel)
    if "ticklabels" not in told:  # what the columns are is seen
        drawn_by.xticks([], [], labels_panel)
    return forest


def _short_labels(
    result: Pairwise, rows: NDArray[Any], numbers: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:  # fmt: skip
    """What is shown for each label of a pair, with its mark; and the marks of pairs whose gap is not among those shown."""
    names = wording.short_names(result.names, LONGEST)
    significant = {pair for name in numbers for pair in significant_pairs(result, name)}
    shown, marks = {}, {}
    for row in rows:
        ends, label = (int(row["first"]), int(row["second"])), result.label(row)
        if not row["flagged"]:
            marks[label] = _NONE
        elif frozenset(ends) not in significant:
            marks[label] = _OTHER
        mark = f" {marks[label]}" if label in marks else ""
        shown[label] = wording.pair_label(*(names[k] for k in ends)) + mark
    return shown, marks


def _marking(labeller: Any, marks: Mapping[str, str]) -> Any:
    """A labeller that also writes the marks of pairs."""
    marking, plain = copy.copy(labeller), labeller.dim_coord_to_str

    def marked(dim: Any, value: Any, index: Any) -> str:
        mark = marks.get(str(value)) if dim == "pair" else None
        return plain(dim, value, index) + (f" {mark}" if mark else "")

    marking.dim_coord_to_str = marked
    return marking


def _size_of_forest(
    values: Any, shown: Sequence[str], backend: str | None, *, several: bool, shaded: bool
) -> dict[str, Any]:  # fmt: skip
    """A figure with room for the labels of pairs, and a line for each."""
    from arviz_base import rcParams

    labels = max(_LETTER * (max(map(len, shown)) + _MARGIN * (1 + several)), 1.0)
    if several and shaded:
        labels /= _SHADED
    height = _LINE * values.sizes["pair"] * len(values.data_vars) + 1.0
    size = figure_size(backend or rcParams["plot.backend"], labels + _FOREST, height)
    return size | {"width_ratios": [labels, _FOREST]}


def _kept_rows(
    result: Pairwise, var_names: Any, filter_vars: Any, numbers: Sequence[str], pairs: int
) -> NDArray[Any]:  # fmt: skip
    """The worst rows of the ranking that have these gaps, of some variables."""
    most = whole_number(pairs, "pairs", 1)
    kept = np.all([np.isfinite(result.rows[name]) & np.isfinite(result.rows[f"{name}_se"]) for name in numbers], axis=0)
    places: Sequence[int] = range(len(result.names))
    if var_names is not None or filter_vars is not None:
        options = ReadOptions.checked(var_names, filter_vars, "posterior", None, None, None)
        places = options.pick(result.names)
        kept &= np.isin(result.rows["first"], places) & np.isin(result.rows["second"], places)
    found = result.rows[kept][:most]
    if not len(found):
        if len({*places}) < _TWO:
            raise InputError(f"var_names must select two variables or more, got {var_names!r:.60}", "shape")
        others = " or ".join(repr(name) for name in NUMBERS if np.isfinite(result.rows[f"{name}_se"]).any())
        way_out = f"use number={others}" if others else "compare more draws"
        raise InputError(f"no pair of these variables has {' and '.join(numbers)} with a standard error; {way_out}", "shape")
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
