"""Arguments of the plots by arviz-plots that are refused, each by one error: others would fail inside it, or change nothing."""

import sys

import pytest

import copula_discrepancy as cd
from tests.refusals import refused
from tests.report.test_for_arviz import backend_or_skip, plots, ranking  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
BOTH = [cd.plot_pairwise, cd.plot_gap_forest]
MATRIX, FOREST = ([draw] for draw in BOTH)

REFUSED = [  # whose, the arguments, and what the error names
    (BOTH, {"visuals": ["scatter"]}, "visuals"),
    (BOTH, {"visuals": {"nonsense": False}}, "'nonsense'"),
    (BOTH, {"labeller": "x"}, "labeller"),
    (BOTH, {"figure_kwargs": "x"}, "figure_kwargs"),
    (BOTH, {"aes": "color"}, "aes"),
    (BOTH, {"aes": None}, "aes"),
    (BOTH, {"aes_by_visuals": "color"}, "aes_by_visuals"),
    (BOTH, {"var_name": ["a", "b"]}, "'var_names'"),
    (BOTH, {"bakend": "plotly"}, "'backend'"),
    (BOTH, {"color": ["red"]}, "'color'"),  # of no aesthetic that is mapped
    (MATRIX, {"plot_matrix": "x"}, "plot_matrix"),
    (MATRIX, {"aes_by_visuals": {"scatter": "overlay"}}, "aes_by_visuals['scatter']"),
    (MATRIX, {"aes_by_visuals": {"scatter": ["colour"]}}, "'colour'"),
    (MATRIX, {"aes_by_visuals": {"scatter": False}}, "aes_by_visuals['scatter']"),
    (FOREST, {"plot_collection": "x"}, "plot_collection"),
    (FOREST, {"labels": "pair"}, "labels"),
    (FOREST, {"visuals": {"labels": False}}, "labels=[]"),
    (FOREST, {"labels": ["school"]}, "'school'"),
    (FOREST, {"shade_label": "school"}, "shade_label"),
    (FOREST, {"labels": ["pair"], "shade_label": "__variable__"}, "shade_label"),
    (FOREST, {"aes_by_visuals": {"twig": ["y"]}}, "'twig'"),
    (FOREST, {"aes_by_visuals": {"labels": "y"}}, "aes_by_visuals['labels']"),
    (FOREST, {"aes_by_visuals": {"labels": ["alpha"]}}, "'alpha'"),  # which there is with a shade only
]


@pytest.mark.parametrize(("whose", "given", "named"), REFUSED)
def test_arguments_that_cannot_be_used(plots, whose, given, named):  # noqa: F811
    for draw in whose:
        with refused() as caught:
            draw(ranking(), **{"backend": "none", **given})
        assert named in str(caught.value)


def test_arguments_that_can(plots):  # noqa: F811
    from arviz_base.labels import BaseLabeller

    common = {"backend": "none", "labeller": BaseLabeller(), "visuals": None, "aes_by_visuals": None}
    mapped = {"aes": {"color": ["chain"]}, "color": ["red", "blue", "green", "gray"], "figure_kwargs": {"figsize": (5, 5)}}
    cd.plot_pairwise(ranking(), **common, **mapped)
    cd.plot_pairwise(ranking(), backend="none", aes_by_visuals={"scatter": ("overlay",)}, visuals={"scatter": True})
    cd.plot_gap_forest(ranking(), **common, shade_label="pair", alpha=[0, 0.5], figure_kwargs={"figsize": (5, 5)})
    several = {"number": ["level", "form"], "backend": "none"}
    colours = {"aes": {"color": ["__variable__"]}, "aes_by_visuals": {"labels": ["color"], "shade": {"color"}}}
    cd.plot_gap_forest(ranking(), **several, **colours, shade_label="__variable__", labels=["__variable__"])


def test_a_forest_may_have_no_labels(plots):  # noqa: F811
    forest = cd.plot_gap_forest(ranking(), backend="none", labels=[])
    assert not {"pair_label", "variable_label"} & {*forest.viz.children}
    assert "pair_label" in cd.plot_gap_forest(ranking(), backend="none").viz.children


@pytest.mark.parametrize("draw", BOTH)
@pytest.mark.parametrize("name", ["figure_kwargs", "aes"])
def test_a_plot_to_draw_into_takes_nothing_that_makes_a_new_one(plots, draw, name):  # noqa: F811
    into = "plot_matrix" if draw is cd.plot_pairwise else "plot_collection"
    with refused() as caught:
        draw(ranking(), **{into: draw(ranking(), backend="none"), name: {}})
    assert name in str(caught.value)
    assert into in str(caught.value)


def test_a_forest_to_draw_into_has_the_gaps_and_pairs(plots):  # noqa: F811
    two = cd.plot_gap_forest(ranking(), backend="none", pairs=2)
    assert cd.plot_gap_forest(ranking(), plot_collection=two, pairs=2) is two
    others = plots.PlotCollection.wrap(two.data, backend="none", cols=["__variable__"])
    matrix = cd.plot_pairwise(ranking(), backend="none")
    for given in (
        {"plot_collection": two, "backend": "matplotlib", "pairs": 2}, {"plot_collection": two},
        {"plot_collection": two, "number": "form", "pairs": 2}, {"plot_collection": others}, {"plot_collection": matrix},
    ):  # fmt: skip
        with refused() as caught:
            cd.plot_gap_forest(ranking(), **given)
        assert "plot_collection" in str(caught.value)
    with refused():
        cd.plot_pairwise(ranking(), plot_matrix=two)


@pytest.mark.parametrize("draw", BOTH)
@pytest.mark.parametrize(("backend", "library"), [("plotly", "plotly"), ("plotly", "webcolors"), ("bokeh", "bokeh")])
def test_a_backend_that_is_not_installed_is_named_with_what_to_install(plots, draw, backend, library, monkeypatch):  # noqa: F811
    from arviz_base import rc_context

    backend_or_skip(backend)
    for name in [*sys.modules]:
        if name.partition(".")[0] == library or name.startswith(f"arviz_plots.backend.{backend}"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    for chosen in ({"backend": backend}, {}):
        with refused("dependency") as caught, rc_context({"plot.backend": backend}):
            draw(ranking(), **chosen)
        assert f"backend={backend!r}" in str(caught.value)
        assert f'pip install "arviz-plots[{backend}]"' in str(caught.value)
