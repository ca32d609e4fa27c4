"""Plots by arviz-plots: what they draw, with which arguments, and what is said without it."""

import os
import sys
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import copula_discrepancy as cd
from tests.refusals import refused
from tests.trees import flags, tree

pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
BACKENDS = ["matplotlib", "plotly", "bokeh", "none"]


@cache
def ranking():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.pairwise(tree(1, lost=True), tree(2), n_jobs=1)


@cache
def ranking_of_funnels():
    rng = np.random.default_rng(1)
    draws, reference = rng.standard_normal((2, 4, 500, 2))
    reference[..., 1] *= np.exp(reference[..., 0])
    names = ("a", "b")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.pairwise(*({name: own[..., k] for k, name in enumerate(names)} for own in (draws, reference)), n_jobs=1)


@pytest.fixture
def plots():
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz_plots
    except (ImportError, AttributeError) as error:  # its last version for Python 3.11 needs an older matplotlib
        pytest.skip(f"arviz-plots cannot be imported: {error}")
    yield arviz_plots
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def backend_or_skip(name):
    for library in {"plotly": ("plotly", "webcolors"), "bokeh": ("bokeh",)}.get(name, ()):
        pytest.importorskip(library)
    return name


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_matrix_has_clouds_below_and_gaps_above(plots, backend):
    matrix = cd.plot_pairwise(ranking(), backend=backend_or_skip(backend))
    assert isinstance(matrix, plots.PlotMatrix)
    assert matrix.viz["plot"].shape == (3, 3)
    drawn = {name: matrix.viz[name].notnull().any([d for d in matrix.viz[name].dims if "index" not in d]) for name in DRAWN}
    lower, upper, diagonal = np.tril(np.ones((3, 3), bool), -1), np.triu(np.ones((3, 3), bool), 1), np.eye(3, dtype=bool)
    for name, expected in (("scatter", lower), ("divergence", lower), ("gap", upper), ("label", diagonal)):
        assert np.array_equal(drawn[name].transpose("row_index", "col_index"), expected), name


DRAWN = ("scatter", "divergence", "gap", "label")


def texts(axes):
    return [words.get_text() for words in axes.texts]


def test_what_is_drawn_is_what_the_result_says(plots):
    matrix = cd.plot_pairwise(ranking(), backend="matplotlib", var_names=["a", "b"], number="form")
    axes = matrix.viz["plot"].values
    assert texts(axes[0, 0]) == ["a"]
    assert texts(axes[0, 1]) == [f"form {ranking()['a', 'b'].form:.2f}"]
    assert len(axes[0, 1].collections) == 1  # coloured: the gap is significant
    offsets = np.concatenate([part.get_offsets() for part in axes[1, 0].collections])
    assert offsets.min() > 0.0
    assert offsets.max() < 1.0
    sizes = sorted(len(part.get_offsets()) for part in axes[1, 0].collections)
    assert sum(sizes) == 1000 + flags(1, lost=True).sum()  # every draw, and every divergent one once more


def test_gaps_that_are_not_significant_have_no_colour(plots):
    matrix = cd.plot_pairwise(ranking(), backend="matplotlib", var_names=["a", "c"])
    assert not ranking()["a", "c"].flagged
    assert len(matrix.viz["plot"].values[0, 1].collections) == 0


def test_a_gap_has_a_colour_by_its_own_test(plots):
    """A pair may be flagged for its form, and have the right strength."""
    funnels = ranking_of_funnels()
    assert funnels["a", "b"].flagged
    assert not funnels["a", "b"].level_adjusted < 0.05
    coloured = []
    for number in ("level", "form"):
        matrix = cd.plot_pairwise(funnels, backend="matplotlib", number=number)
        coloured.append(len(matrix.viz["plot"].values[0, 1].collections))
    assert coloured == [0, 1]


def test_small_gaps_have_no_minus_and_axes_say_what_they_are(plots):
    rows = ranking().rows.copy()
    rows["level"][:] = -0.001
    matrix = cd.plot_pairwise(replace(ranking(), rows=rows), backend="matplotlib", var_names=["a", "b"])
    assert texts(matrix.viz["plot"].values[0, 1]) == ["level +0.00"]
    forest = cd.plot_gap_forest(ranking(), number=["level", "shape"], backend="matplotlib", shade_label="pair")
    axes = forest.get_target(None, {"column": "forest"})
    assert axes.get_xlabel().startswith("level, shape (Kendall's tau), 95% intervals, not adjusted")
    forest.savefig(os.devnull, format="png")  # so that positions are known
    drawn = forest.get_target(None, {"column": "labels"}).texts
    boxes = [words.get_window_extent() for words in drawn]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[k + 1 :]), drawn[k].get_text()
    assert min(box.x0 for box in boxes) >= 0.0


def test_points_limit_the_cloud_but_not_the_divergences(plots):
    matrix = cd.plot_pairwise(ranking(), backend="matplotlib", points=100, var_names=["a", "b"])
    sizes = sum(len(part.get_offsets()) for part in matrix.viz["plot"].values[1, 0].collections)
    assert sizes == 100 + flags(1, lost=True).sum()


def test_visuals_can_be_left_out_and_changed_and_aesthetics_mapped(plots):
    off = {"divergence": False, "gap": False, "gap_text": False, "label": False, "scatter": {"alpha": 1.0}}
    matrix = cd.plot_pairwise(ranking(), backend="matplotlib", visuals=off, aes={"color": ["chain"]})
    assert "divergence" not in matrix.viz
    assert "gap" not in matrix.viz
    parts = matrix.viz["plot"].values[1, 0].collections
    assert len({tuple(part.get_facecolor()[0]) for part in parts}) == 4
    assert {part.get_alpha() for part in parts} == {1.0}


def test_divergent_draws_may_have_the_colours_of_their_chains_and_unknown_visuals_are_refused(plots):
    colours = {"divergence": ["color"]}
    only = {"scatter": False}
    matrix = cd.plot_pairwise(
        ranking(), backend="matplotlib", aes={"color": ["chain"]}, aes_by_visuals=colours, visuals=only, var_names=["a", "b"]
    )
    parts = matrix.viz["plot"].values[1, 0].collections
    assert len({tuple(part.get_facecolor()[0]) for part in parts}) == 4
    with refused():
        cd.plot_pairwise(ranking(), visuals={"nonsense": False})
    with refused():
        cd.plot_pairwise(ranking(), aes_by_visuals={"label": ["color"]})


def test_more_variables_than_fit_are_those_of_the_worst_pairs(plots):
    rng = np.random.default_rng(1)
    reference, draws = rng.standard_normal((2, 4, 100, 9))
    draws[..., 7] = draws[..., 8] + 0.1 * draws[..., 7]
    result = cd.pairwise(draws, reference, n_jobs=1, method="moment")
    names = cd.plot_pairwise(result, backend="none").viz["var_name_x"].values.tolist()
    assert len(names) == 6
    assert {"x7", "x8"} <= set(names)
    assert names == sorted(names)


def pairs_in(forest):
    """The pairs of a forest, without marks, which are part of their labels before version 1 of arviz-plots."""
    return [label.rstrip(" *○") for label in forest.viz["point_estimate"]["level"]["pair"].values.tolist()]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_forest_has_the_worst_pairs(plots, backend):
    forest = cd.plot_gap_forest(ranking(), number=["level", "shape"], pairs=2, backend=backend_or_skip(backend))
    assert isinstance(forest, plots.PlotCollection)
    assert set(forest.viz.children) >= {"point_estimate", "trunk", "twig"}
    assert pairs_in(forest) == [" ~ ".join(pair.names) for pair in list(ranking())[:2]]
    assert set(forest.viz["point_estimate"].data_vars) == {"level", "shape"}


def test_intervals_are_those_of_the_result(plots):
    forest = cd.plot_gap_forest(ranking(), pairs=1, backend="matplotlib")
    worst = ranking().worst
    ends = [sorted(forest.viz[name]["level"].item().get_xdata()) for name in ("trunk", "twig")]
    for (low, high), z in zip(ends, (0.6744897501960817, 1.959963984540054), strict=True):  # quantiles of the normal
        assert (low + high) / 2 == pytest.approx(worst.level)
        assert (high - low) / 2 == pytest.approx(z * worst.level_se)
    zero = forest.get_target(None, {"column": "forest"}).lines
    assert any(np.array_equal(line.get_xdata(), [0.0, 0.0]) for line in zero)
    bare = cd.plot_gap_forest(ranking(), pairs=1, backend="matplotlib", visuals={"reference": False})
    assert len(bare.get_target(None, {"column": "forest"}).lines) == len(zero) - 1


def test_a_forest_of_some_variables(plots):
    forest = cd.plot_gap_forest(ranking(), var_names=["a", "c"], backend="none")
    assert pairs_in(forest) == ["a ~ c"]


def test_the_accessor_compares_and_draws(plots):
    door = tree(1, lost=True).dependence
    matrix = door.plot_pairwise(tree(2), var_names=["a", "b"], compare={"n_jobs": 1}, backend="none")
    assert isinstance(matrix, plots.PlotMatrix)
    forest = door.plot_gap_forest(tree(2), compare={"n_jobs": 1, "confidence": 0.9}, backend="none", pairs=1)
    assert isinstance(forest, plots.PlotCollection)


@pytest.mark.parametrize("function", [cd.plot_pairwise, cd.plot_gap_forest])
def test_wrong_arguments_are_refused(function):
    """Whether arviz-plots is installed or not."""
    with refused():
        function(cd.as_draws(tree(1)))
    with refused():
        function(ranking(), number="nonsense")
    with refused():
        function(ranking(), backend="nonsense")
    with refused("unknown-name"):
        function(ranking(), var_names="nonsense")
    sketch = cd.DependenceSketch.of(np.random.default_rng(1).standard_normal((200, 2)), iid=True)
    with refused("not-rows" if function is cd.plot_pairwise else "dependency"), pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "arviz_plots", None)
        function(cd.pairwise(sketch, cd.Gaussian(0.1), iid=True))


@pytest.mark.parametrize("function", [cd.plot_pairwise, cd.plot_gap_forest])
def test_without_arviz_plots_the_error_says_how_to_install_it(function, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_plots", None)
    with refused("dependency") as caught:
        function(ranking())
    assert "copula-discrepancy[arviz]" in str(caught.value)


@pytest.mark.parametrize("draw", [cd.plot_pairwise, cd.plot_gap_forest])
@pytest.mark.parametrize("name", ["group", "coords", "sample_dims", "iid", "adjust"])
def test_arguments_that_would_change_nothing_are_refused(plots, draw, name):
    with refused() as caught:
        draw(ranking(), backend="none", **{name: "prior"})
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", ["ci_probs", "ci_kind", "point_estimate", "combined"])
def test_no_other_intervals_can_be_chosen(plots, name):
    with refused() as caught:
        cd.plot_gap_forest(ranking(), backend="none", **{name: "eti"})
    assert repr(name) in str(caught.value)


def test_a_matrix_to_draw_into_has_the_same_variables_and_backend(plots):
    matrix = cd.plot_pairwise(ranking(), backend="none", visuals={"scatter": False})
    assert cd.plot_pairwise(ranking(), plot_matrix=matrix) is matrix
    with refused():
        cd.plot_pairwise(ranking(), plot_matrix=matrix, var_names=["a", "b"])
    with refused():
        cd.plot_pairwise(ranking(), plot_matrix=matrix, backend="matplotlib")


@pytest.mark.parametrize("draw", [cd.plot_pairwise, cd.plot_gap_forest])
def test_visuals_are_mappings(plots, draw):
    name = "gap" if draw is cd.plot_pairwise else "twig"
    with refused() as caught:
        draw(ranking(), backend="none", visuals={name: 3})
    assert f"visuals['{name}']" in str(caught.value)


def test_pairs_with_other_gaps_do_not_look_clean(plots):
    """A funnel that was lost has the right strength."""
    funnels = ranking_of_funnels()
    matrix = cd.plot_pairwise(funnels, backend="matplotlib")
    (words,) = texts(matrix.viz["plot"].values[0, 1])
    assert words.startswith("level ")
    assert funnels["a", "b"].verdict.split(",")[0] in words.replace("\n", " ")
    assert "\n" not in texts(cd.plot_pairwise(funnels, backend="matplotlib", number="form").viz["plot"].values[0, 1])[0]
    for number, star in (("level", True), ("form", False), (["level", "form"], False)):
        forest = cd.plot_gap_forest(funnels, backend="matplotlib", number=number)
        labels = [words for words in texts(forest.get_target(None, {"column": "labels"})) if "~" in words]
        assert {words.endswith(" *") for words in labels} == {star}
        assert ("*" in forest.get_target(None, {"column": "forest"}).get_xlabel()) == star


def test_long_names_are_abbreviated_and_can_be_read(plots):
    rng = np.random.default_rng(1)
    names = [f"a_long_name_of_a_parameter_of_region_{k}_intercept" for k in range(3)]
    result = cd.pairwise(*({name: rng.standard_normal((4, 100)) for name in names} for _ in range(2)), n_jobs=1)
    axes = cd.plot_pairwise(result, backend="matplotlib", var_names=names).viz["plot"].values
    shown = [axes[k, k].texts[0] for k in range(3)]
    assert len({words.get_text() for words in shown}) == 3
    for words in shown:
        assert len(words.get_text()) <= 28
        assert words.get_fontsize() >= 7.0
    panel = cd.plot_gap_forest(result, backend="matplotlib").get_target(None, {"column": "labels"})
    assert all(len(words) <= 2 * 28 + 5 for words in texts(panel))
    from arviz_base.labels import MapLabeller

    own = MapLabeller(var_name_map={names[0]: "intercept"})
    axes = cd.plot_pairwise(result, backend="matplotlib", var_names=names, labeller=own).viz["plot"].values
    assert texts(axes[0, 0]) == ["intercept"]


@pytest.mark.parametrize("pairs", [1, 2])
def test_rows_of_a_short_forest_are_inside_its_panel(plots, pairs):
    forest = cd.plot_gap_forest(ranking(), pairs=pairs, backend="matplotlib")
    panel = forest.get_target(None, {"column": "forest"})
    low, high = sorted(panel.get_ylim())
    heights = [float(y) for line in panel.lines for y in np.atleast_1d(line.get_ydata()) if len(set(line.get_xdata())) > 1]
    assert heights
    assert low + 0.5 <= min(heights)
    assert max(heights) <= high - 0.5


@cache
def ranking_without_a_target():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.pairwise(tree(1, lost=True), n_jobs=1)


def test_the_gap_that_is_drawn_is_one_that_there_is(plots):
    """Without a target there is no level: the fit's shape takes its place."""
    result = ranking_without_a_target()
    matrix = cd.plot_pairwise(result, backend="matplotlib", var_names=["a", "b"])
    assert texts(matrix.viz["plot"].values[0, 1])[0].startswith("shape ")
    forest = cd.plot_gap_forest(result, backend="none")
    assert [*forest.viz["point_estimate"].data_vars] == ["shape"]
    with refused("shape") as caught:
        cd.plot_gap_forest(result, backend="none", number="level")
    assert "'shape'" in str(caught.value)


def test_pairs_are_marked_whatever_the_labeller(plots):
    from arviz_base.labels import MapLabeller

    if plots.__version__.startswith("0."):
        pytest.skip("forests of this version do not use labellers")
    own = MapLabeller(coord_map={"pair": {" ~ ".join(pair.names): f"pair {k}" for k, pair in enumerate(ranking())}})
    forest = cd.plot_gap_forest(ranking(), backend="matplotlib", labeller=own)
    labels = [words for words in texts(forest.get_target(None, {"column": "labels"})) if words.startswith("pair ")]
    calm = [not pair.flagged for pair in ranking()]
    assert any(calm)
    assert [words.endswith(" ○") for words in labels] == calm
    assert "○ no gap found" in forest.get_target(None, {"column": "forest"}).get_xlabel()


def test_one_variable_is_no_pair(plots):
    for draw in (cd.plot_pairwise, cd.plot_gap_forest):
        with refused("shape") as caught:
            draw(ranking(), backend="none", var_names=["a"])
        assert "two variables" in str(caught.value)


def test_a_cell_without_the_number_has_the_verdict(plots):
    """Form is found where level has no standard error."""
    rows = ranking().rows.copy()
    for name in ("level", "level_se", "level_pvalue", "level_adjusted"):
        rows[name][:] = np.nan
    result = replace(ranking(), rows=rows)
    matrix = cd.plot_pairwise(result, backend="matplotlib", var_names=["a", "b"], number="level")
    (words,) = texts(matrix.viz["plot"].values[0, 1])
    assert "nan" not in words
    assert words.replace("\n", " ").startswith(result["a", "b"].verdict.split(",")[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_flagged_pair_without_the_number_is_drawn(plots, backend):
    """Total of a pair to which no family fits."""
    a = np.random.default_rng(3).normal(size=(4, 250))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        result = cd.pairwise({"a": a, "b": a**2, "c": np.random.default_rng(4).normal(size=(4, 250))}, n_jobs=1)
    assert result["a", "b"].flagged
    assert np.isnan(result["a", "b"].total)
    cd.plot_pairwise(result, number="total", backend=backend_or_skip(backend))


def test_a_shade_that_is_wanted_and_not_is_refused(plots):
    with refused():
        cd.plot_gap_forest(ranking(), backend="none", visuals={"shade": False}, shade_label="pair")
    cd.plot_gap_forest(ranking(), backend="none", visuals={"shade": False})


@cache
def ranking_of_one_sign(names=("a", "b", "c")):
    """Gaps that are all far above zero."""
    rng = np.random.default_rng(1)
    strong = rng.multivariate_normal(np.zeros(3), [[1.0, 0.8, 0.7], [0.8, 1.0, 0.8], [0.7, 0.8, 1.0]], 1000)
    return cd.pairwise(*(dict(zip(names, draws.T, strict=True)) for draws in (strong, rng.normal(size=(1000, 3)))), iid=True)


def ends_of(forest, column="forest"):
    """The ends of the horizontal axis of a panel."""
    target = forest.get_target(None, {"column": column})
    if forest.backend == "matplotlib":
        return tuple(target.get_xlim())
    if forest.backend == "plotly":
        (axis,) = target.figure.select_xaxes(row=target.row, col=target.col)
        return tuple(axis.range)
    if forest.backend == "bokeh":
        return target.x_range.start, target.x_range.end
    return [part["lims"] for part in target if part["function"] == "xlim"][-1]


@pytest.mark.parametrize("shade", [None, "pair", "__variable__"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_zero_is_in_the_axis_of_a_forest(plots, backend, shade):
    result, number = ranking_of_one_sign(), ["level", "form"] if shade == "__variable__" else "level"
    forest = cd.plot_gap_forest(result, backend=backend_or_skip(backend), shade_label=shade, number=number)
    ends = ends_of(forest)
    assert ends[0] < 0.0
    assert ends[1] > max(pair.level + 2.0 * pair.level_se for pair in result)
    bare = cd.plot_gap_forest(result, backend=backend, shade_label=shade, visuals={"reference": False}, number=number)
    assert ends_of(bare) == ends


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_axis_that_is_drawn_into_grows(plots, backend):
    weak, strong = ranking_of_one_sign(), replace(ranking_of_one_sign(), rows=ranking_of_one_sign().rows.copy())
    strong.rows["level"] -= 1.5
    for shade in (None, "pair"):
        forest = cd.plot_gap_forest(weak, backend=backend_or_skip(backend), shade_label=shade)
        before = ends_of(forest)
        after = ends_of(cd.plot_gap_forest(strong, plot_collection=forest, shade_label=shade))
        assert after[0] < strong.rows["level"].min()
        assert after[1] == before[1]


def test_a_shade_reaches_from_end_to_end(plots):
    forest = cd.plot_gap_forest(ranking_of_one_sign(), backend="matplotlib", shade_label="pair")
    panel = forest.get_target(None, {"column": "forest"})
    places = [part.get_paths()[0].vertices[:, 0] for part in panel.collections if part.get_alpha()]
    assert (min(map(np.min, places)), max(map(np.max, places))) == pytest.approx(ends_of(forest))


def test_the_gaps_have_the_wide_panel_of_bokeh(plots):
    forest = cd.plot_gap_forest(ranking_of_one_sign(), backend=backend_or_skip("bokeh"))
    labels, gaps = (forest.get_target(None, {"column": column}).width for column in ("labels", "forest"))
    assert gaps == 500  # five inches
    assert labels < gaps
    chosen = {"width_ratios": [1, 3], "figsize": (8, 3), "figsize_units": "inches"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from arviz-plots, about inches
        forest = cd.plot_gap_forest(ranking_of_one_sign(), backend="bokeh", figure_kwargs=chosen)
    assert [forest.get_target(None, {"column": column}).width for column in ("labels", "forest")] == [200, 600]


def test_plotly_has_room_beside_its_margins(plots):
    for pairs in (1, 3):
        forest = cd.plot_gap_forest(ranking_of_one_sign(), backend=backend_or_skip("plotly"), pairs=pairs)
        layout = forest.viz["figure"].item().layout
        assert layout.height - 180 >= 100 + 30 * pairs  # margins of 100 above and 80 below
        assert layout.width - 160 >= 500
    assert cd.plot_pairwise(ranking_of_one_sign(), backend="plotly").viz["figure"].item().layout.height - 180 >= 500


@pytest.mark.parametrize("number", ["level", ["level", "form"]])
def test_labels_are_inside_their_shade(plots, number):
    names = tuple(f"WWW_a_long_name_of_a_variable_{k}" for k in range(3))
    forest = cd.plot_gap_forest(ranking_of_one_sign(names), backend="matplotlib", shade_label="pair", number=number)
    forest.savefig(os.devnull, format="png")  # so that positions are known
    panel = forest.get_target(None, {"column": "labels"})
    shades = [part.get_window_extent() for part in panel.collections if part.get_alpha()]
    inside = panel.get_window_extent()
    for words in panel.texts:
        box = words.get_window_extent()
        assert box.x0 >= inside.x0, words.get_text()
        assert box.x1 <= inside.x1
        if "~" in words.get_text():
            assert box.x0 >= min(shade.x0 for shade in shades)


def test_plotly_shows_names_as_they_are(plots):
    result = ranking_of_one_sign(("<b>mu</b>", "a&b", "c"))
    forest = cd.plot_gap_forest(result, backend=backend_or_skip("plotly")).viz["figure"].item()
    matrix = cd.plot_pairwise(result, backend="plotly").viz["figure"].item()
    for figure in (forest, matrix):
        told = [str(part.text) for part in figure.layout.annotations] + [str(trace.text) for trace in figure.data]
        assert any("&lt;b&gt;mu&lt;/b&gt;" in words for words in told)
        assert not any("<b>mu" in words for words in told)
    assert "<b>mu</b>" in texts(cd.plot_pairwise(result, backend="matplotlib").viz["plot"].values[0, 0])


def test_a_matrix_without_anything_above_its_diagonal_is_refused(plots):
    result = cd.pairwise(np.random.default_rng(2).normal(size=(4, 250, 3)), n_jobs=1)
    assert not result.n_flagged
    for draw in (cd.plot_pairwise, cd.plot_gap_forest):
        with refused("shape") as caught:
            draw(result, number="level", backend="none")
        assert "'shape'" in str(caught.value)
    cd.plot_pairwise(result, backend="none")


def test_advice_is_about_the_pairs_that_were_chosen(plots):
    rows = ranking().rows.copy()
    own = [k for k, row in enumerate(rows) if ranking().label(row) == "a ~ b"]
    for name in ("level", "level_se", "total_se"):
        rows[name][own] = np.nan
    result = replace(ranking(), rows=rows)
    with refused("shape") as caught:
        cd.plot_gap_forest(result, var_names=["a", "b"], number="level", backend="none")
    advice = str(caught.value).partition(";")[2]
    assert "'form'" in advice
    assert "'level'" not in advice
    assert "'total'" not in advice
