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
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.report.plots.arviz_arguments import Kind, labels_of, require_arguments
from copula_discrepancy.report.plots.arviz_parts import (
    DOTS,
    LONGEST,
    NUMBERS,
    arviz_plots_with,
    backend_in_use,
    backend_of,
    figure_size,
    in_letters,
    labeller_of,
    limits_of,
    require_number,
    require_ranking,
    shown_number,
    significant_pairs,
)

if TYPE_CHECKING:
    from arviz_plots import PlotCollection

_LETTER, _LINE, _EDGE = 0.095, 0.3, 0.15  # inches of a letter, of a line and beside the labels of a forest
_MARGIN, _FOREST = 8, 5.0  # letters besides those of a pair, as of "level", and inches of the intervals
_SHADE = "#c0c0c0"
_SHADED = 0.55  # part of the labels' panel that arviz-plots shades behind the second label
_ROOM = 0.6  # above the first row of a forest and below the last, in rows
_OTHER, _NONE = "*", "\N{WHITE CIRCLE}"  # marks of pairs: other tests than those shown found a gap, or none did
_BESIDE = 0.1  # margin of the gaps' axis, as a part of it, as arviz-plots has it
_VISUALS = ("trunk", "twig", "point_estimate", "labels", "shade", "ticklabels", "remove_axis", "reference")
_MAPPED = ("credible_interval", "point_estimate", "labels", "shade")
_TWO = 2
_HALF = 0.5  # share of the thick part of an interval, and of the distance of two rows


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
        One to draw into, which has these gaps and pairs; its axis is made longer if needed.
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
        Without arviz-plots, or what its backend needs, for anything but a result of `pairwise`, for unknown variables, if no
        pair has the gap, and for arguments that would change nothing, such as `group` and `ci_probs`: they were chosen when the
        result was made.

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
    plots = arviz_plots_with(backend, plot_collection)
    several = len(numbers) > 1
    named = labels_of(labels, shade_label, several)
    kind = Kind(
        plot_gap_forest, plots.plot_forest, plots.PlotCollection, plots.PlotCollection.grid, "plot_collection", _VISUALS,
        _MAPPED, ("y", "overlay", *(["alpha"] if shade_label is not None else [])),
    )  # fmt: skip
    require_arguments(kind, plot_collection, backend, labeller, aes_by_visuals, visuals, pc_kwargs)
    told: dict[str, Any] = dict(visuals or {})
    reference: Any = told.pop("reference", {})
    if told.get("shade") is False and shade_label is not None:
        raise InputError("visuals['shade'] is False, and shade_label says what to shade; omit one of them")
    if told.get("labels") is False:
        raise InputError("visuals['labels'] cannot be False; use labels=[] for a forest without labels")
    if told.get("shade") is False:
        del told["shade"]  # nothing is shaded without a label
    drawing = backend_in_use(backend, plot_collection)
    short, marks = _short_labels(result, rows, numbers)
    lengths = [len(label) for label in short.values()]
    short = {label: in_letters(shown, drawing) for label, shown in short.items()}
    labeller = labeller_of(coord_map={"pair": short}) if labeller is None else _marking(labeller, marks)
    if plots.__version__.startswith("0."):  # whose forests do not use labellers
        values, thick, thin = (data.assign_coords(pair=[*short.values()]) for data in (values, thick, thin))
    told["shade"] = {"color": _SHADE} | dict(_options(told.get("shade")))
    alone = len(named) == 1
    if alone:  # arviz-plots begins the first label in the middle of its panel
        told["labels"] = {"horizontal_align": "right"} | dict(_options(told.get("labels")))
    before = None
    if plot_collection is None:
        size = _size_of_forest(values, lengths, drawing, named, shaded=shade_label is not None)
        pc_kwargs["figure_kwargs"] = size | dict(pc_kwargs.get("figure_kwargs", {}))
    else:
        _require_rows(plot_collection, values)
        before = limits_of(plot_collection, plot_collection.get_target(None, {"column": "forest"}))
    optional: dict[str, Any] = {"shade_label": shade_label, "plot_collection": plot_collection}
    forest = plots.plot_forest(
        values, combined=True, backend=backend, labeller=labeller, aes_by_visuals=aes_by_visuals, visuals=told, labels=[*named],
        stats={"trunk": thick, "twig": thin, "point_estimate": values.squeeze(("chain", "draw"), drop=True)},
        **{name: given for name, given in optional.items() if given is not None}, **pc_kwargs,
    )  # fmt: skip
    drawn_by, target = backend_of(forest), forest.get_target(None, {"column": "forest"})
    labels_panel = forest.get_target(None, {"column": "labels"})
    if drawing == "bokeh" and plot_collection is None:
        _set_widths((labels_panel, target), pc_kwargs["figure_kwargs"])
    reach = _around_zero(thin, before)
    if shade_label is not None:
        used = {"overlay", "alpha", *(aes_by_visuals or {}).get("shade", ())}
        _shade_up_to(forest, plots, shade_label, thin, reach, forest.aes_set - used, told["shade"])
    drawn_by.xlim(reach, target)
    if reference is not False:
        drawn_by.vline(0.0, target, **{"color": "gray", "linestyle": "C1", "width": 1, **_options(reference)})
    unit = "distance of densities" if "form" in numbers else "Kendall's tau"
    axis = f"{', '.join(numbers)}{f' ({unit})' if not several or 'form' not in numbers else ''}"
    said = {_OTHER: "other tests found a gap", _NONE: "no gap found"}
    legend = "; ".join(f"{mark} {words}" for mark, words in said.items() if mark in marks.values())
    axis = f"{axis}, {100 * result.confidence:g}% intervals, not adjusted"
    drawn_by.xlabel(f"{axis}\n{legend}" if legend else axis, target)
    if plot_collection is None:
        heights = [float(end(forest.get_aes_as_dataset("y").to_array())) for end in (np.min, np.max)]
        for panel in (target, labels_panel):
            drawn_by.ylim((heights[0] - _ROOM, heights[1] + _ROOM), panel)
        if alone:  # up to where its label ends; a shade begins at -0.1
            drawn_by.xlim((-0.1, 0.005), labels_panel)
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


def _options(given: Any) -> Mapping[str, Any]:
    """The keyword arguments of a visual, which may be True."""
    return given if isinstance(given, Mapping) else {}


def _size_of_forest(
    values: Any, lengths: Sequence[int], backend: str, named: Sequence[str], *, shaded: bool
) -> dict[str, Any]:  # fmt: skip
    """A figure with room for the labels, those of pairs of these lengths, and a line for each gap."""
    letters = (max(lengths) if "pair" in named else 0) + (_MARGIN if "__variable__" in named else 0)
    labels = max(_LETTER * letters + _EDGE, 1.0)
    if len(named) > 1 and shaded:
        labels /= _SHADED
    height = _LINE * values.sizes["pair"] * len(values.data_vars) + 1.0
    return figure_size(backend, labels + _FOREST, height) | {"width_ratios": [labels, _FOREST]}


def _set_widths(panels: Sequence[Any], figure: Mapping[str, Any]) -> None:
    """Give the panels of bokeh their widths: arviz-plots gives each one the width of the panel before."""
    ratios, size = np.asarray(figure["width_ratios"], dtype=float), figure["figsize"]
    if size is not None:
        whole = size[0] * (1.0 if figure["figsize_units"] == "dots" else DOTS)
        for panel, share in zip(panels, ratios / ratios.sum(), strict=True):
            panel.width = round(whole * share)


def _require_rows(forest: Any, values: Any) -> None:
    """Raise unless a forest to draw into has a row for each of these gaps and pairs."""
    rows = forest.get_aes_as_dataset("y") if "y" in forest.aes_set else {}
    there = [name in rows and "pair" in rows[name].coords for name in values.data_vars]
    if "column" not in forest.viz.coords or not all(there):
        rule = "plot_collection must be a forest of the gaps that are drawn"
        raise InputError(f"{rule}, {listed([*values.data_vars])}; omit it, or pass what plot_gap_forest returned for them")
    pairs = {*np.atleast_1d(rows[next(iter(values.data_vars))]["pair"].values).tolist()}
    missing = [pair for pair in values["pair"].values.tolist() if pair not in pairs]
    if missing:
        raise InputError(f"plot_collection has no rows of {listed(missing, BRIEF)}; select its pairs by var_names or pairs")


def _around_zero(intervals: Any, before: tuple[float, float] | None) -> tuple[float, float]:
    """The ends of an axis that shows all intervals and zero, and what it showed before."""
    ends = intervals.to_array()
    low, high = min(float(ends.min()), 0.0), max(float(ends.max()), 0.0)
    margin = _BESIDE * (high - low) or 1.0
    low, high = low - margin, high + margin
    return (low, high) if before is None else (min(low, before[0]), max(high, before[1]))


def _shade_up_to(
    forest: Any, plots: Any, label: str, intervals: Any, reach: tuple[float, float], ignored: set[str],
    options: Mapping[str, Any],
) -> None:  # fmt: skip
    """Shade the parts of the gaps' panel that arviz-plots, which shades as far as there are intervals, does not reach."""
    ends, y = intervals.to_array(), forest.get_aes_as_dataset("y")
    low, high = float(ends.min()), float(ends.max())
    margin = _BESIDE * (high - low)
    bottom, top = (y.min(), y.max()) if label == "__variable__" else (y, y)
    import xarray as xr

    stripes = xr.concat((bottom - _HALF, top + _HALF), "kwarg").assign_coords(kwarg=["y_bottom", "y_top"])
    for start, end in ((reach[0], low - margin), (high + margin, reach[1])):
        if start < end:
            forest.map(
                plots.visuals.fill_between_y, "shade", data=stripes, x=[start, end], coords={"column": "forest"},
                ignore_aes=ignored, store_artist=False, **options,
            )  # fmt: skip


def _kept_rows(
    result: Pairwise, var_names: Any, filter_vars: Any, numbers: Sequence[str], pairs: int
) -> NDArray[Any]:  # fmt: skip
    """The worst rows of the ranking that have these gaps, of some variables."""
    most = whole_number(pairs, "pairs", 1)
    rows = result.rows
    if var_names is not None or filter_vars is not None:
        options = ReadOptions.checked(var_names, filter_vars, "posterior", None, None, None)
        places = options.pick(result.names)
        if len({*places}) < _TWO:
            raise InputError(f"var_names must select two variables or more, got {var_names!r:.60}", "shape")
        rows = rows[np.isin(rows["first"], places) & np.isin(rows["second"], places)]
    require_number(result, rows, numbers)
    kept = np.all([np.isfinite(rows[name]) & np.isfinite(rows[f"{name}_se"]) for name in numbers], axis=0)
    return rows[kept][:most]


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
