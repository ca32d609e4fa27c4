"""Pictures: what is drawn is what the result says, it has room at one column and at two, and no layer gets lost.

Images in `tests/images` are drawn anew by `python -m tests.picture_cases`; see there.
"""

import io
import json
import math
import re
import warnings
from dataclasses import asdict, replace
from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import copula_discrepancy as cd
from copula_discrepancy.estimate.tails import CORNERS, along, part_name
from copula_discrepancy.report.plots import look
from copula_discrepancy.report.plots.clouds import contour_levels, evenly_spaced
from copula_discrepancy.report.plots.forests import pair_taus
from copula_discrepancy.report.plots.gap_bars import GAPS, plot_gaps
from copula_discrepancy.report.plots.traces import running_gaps
from copula_discrepancy.studies.paper import figures
from tests.no_fits import not_fitted
from tests.pairwise_data import autoregressive
from tests.picture_cases import DPI, MADE, PICTURES, baseline, distance, in_chains, pixels, result, wordless

# Measured: without text, matplotlib 3.9.4 and 3.11.2 draw the same images, to the last bit. The tolerance is for arithmetic on
# other machines; the faintest layer below, one chain's mark in a forest, makes 1.4, a tail's square 3.5, contours 10.
TOLERANCE = 0.4

SINGLE = [name for name in MADE if name not in ("pairs", "many_pairs", "no_target", "fit")]
FUNCTIONS = {
    "plot_pair": (cd.plot_pair, [*SINGLE, "fit"], 2),
    "plot_tau_forest": (cd.plot_tau_forest, [name for name in MADE if name != "many_pairs"], 1),
    "plot_map": (cd.Pairwise.plot, ["pairs", "many_pairs"], 1),
    "plot_trace": (cd.plot_trace, SINGLE, 1),
    "plot_gaps": (plot_gaps, SINGLE, 1),
}
EVERY = [(name, subject) for name, (_, subjects, _) in FUNCTIONS.items() for subject in subjects]


@pytest.fixture(autouse=True)
def _nothing_shown(monkeypatch):
    def show(*arguments, **options):
        raise AssertionError("a plot called show")

    monkeypatch.setattr(plt, "show", show)
    yield
    plt.close("all")


def new_axes(panels=1, size=(5.0, 3.0)):
    return Figure(figsize=size, layout="constrained").subplots(1, panels)


def plotted(name, subject, size):
    function, _, panels = FUNCTIONS[name]
    with look.styled():
        figure = Figure(figsize=size, layout="constrained")
        function(result(subject), ax=figure.subplots(1, panels))
    return figure


# ---- images --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PICTURES)
def test_looks_as_it_did(name):
    assert distance(pixels(wordless(name)), baseline(name), moved=edge(name)) < TOLERANCE


def edge(name):
    """How far edges may move: versions of matplotlib round the cells of a map to one pixel or to the next."""
    return 1 if name.startswith("map") else 0


def layers(figure, kind):
    return [artist for ax in figure.axes for artist in ax.get_children() if isinstance(artist, kind) and artist is not ax.patch]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pair_3.5in", QuadContourSet),
        ("pair_7in", QuadContourSet),
        ("pair_3.5in", Rectangle),
        ("pair_7in", Rectangle),
        ("pair_one_panel", QuadContourSet),
        ("trace_3.5in", PolyCollection),
    ],
)
def test_a_lost_layer_is_seen(name, kind):
    figure = wordless(name)
    found = layers(figure, kind)
    assert found
    for layer in found:
        layer.set_visible(False)
        assert distance(pixels(figure), baseline(name)) > 3 * TOLERANCE
        layer.set_visible(True)


@pytest.mark.parametrize("name", ["forest_3.5in", "forest_7in", "forest_pairs", "trace_7in"])
def test_a_lost_chain_is_seen(name):
    figure = wordless(name)
    for line in figure.axes[0].lines:
        line.set_visible(False)
        assert distance(pixels(figure), baseline(name)) > 3 * TOLERANCE
        line.set_visible(True)


# ---- room, grey, and the user's figure -----------------------------------------------------------------------------


def boxes(texts, renderer):
    return [text.get_window_extent(renderer) for text in texts if text.get_visible() and text.get_text()]


def tick_labels(axis):
    """Those that are drawn: ticks beyond the ends of an axis exist, but nobody sees them."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


WIDE = [(name, subject, 7.0) for name, subject in EVERY if subject in ("reference", "stuck", "pairs", "many_pairs", "fit")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "subject", "width"), [*((*case, 3.5) for case in EVERY), *WIDE])
def test_all_text_has_room(name, subject, width):
    height = {"plot_pair": 0.65 * width + 0.3, "plot_tau_forest": 3.3}.get(name, 2.7)
    figure = plotted(name, subject, (width, height))
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()  # lays everything out
    for ax in figure.axes:
        legend = ax.get_legend()
        texts = [item for item in ax.get_children() if isinstance(item, Text)] + ([] if legend is None else legend.get_texts())
        texts += [ax.xaxis.label, ax.yaxis.label]
        for box in boxes([*texts, *tick_labels(ax.xaxis), *tick_labels(ax.yaxis)], renderer):
            assert box.x0 > -1.0
            assert box.x1 < figure.bbox.width + 1.0
            assert box.y0 > -1.0
            assert box.y1 < figure.bbox.height + 1.0
        for axis, low, high in ((ax.xaxis, "x0", "x1"), (ax.yaxis, "y0", "y1")):
            ends = sorted((getattr(box, low), getattr(box, high)) for box in boxes(tick_labels(axis), renderer))
            assert all(before[1] <= after[0] for before, after in pairwise(ends))
    if len(figure.axes) == 2:  # a title or label must not run into the panel beside
        for kind in ("_left_title", "xaxis"):
            left, right = (getattr(ax, kind) for ax in figure.axes)
            left, right = (
                (item if kind == "_left_title" else item.label).get_window_extent(renderer) for item in (left, right)
            )
            assert left.x1 < right.x0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_draws_into_the_users_axes_in_the_users_look(name):
    function, (subject, *_), panels = FUNCTIONS[name]
    with mpl.rc_context({"font.size": 14.0, "axes.spines.top": True}):
        _, axes = plt.subplots(1, panels)
        before, settings = plt.get_fignums(), dict(mpl.rcParams)
        assert function(result(subject), ax=axes) is axes
        assert plt.get_fignums() == before
        assert dict(mpl.rcParams) == settings
        first = np.atleast_1d(axes)[0]
        assert first.spines["top"].get_visible() or name == "plot_map"  # which has none
        assert first.xaxis.label.get_fontsize() == pytest.approx(14.0 * 0.833, rel=1e-3)  # "small" of the user's size


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_figure_of_its_own_does_not_depend_on_settings(name):
    function, (subject, *_), _ = FUNCTIONS[name]

    def image(settings):
        with mpl.rc_context(settings):
            axes = np.atleast_1d(function(result(subject)))
            assert len(plt.get_fignums()) == 1
            found = pixels(axes[0].figure)
            plt.close("all")
        return found

    odd = {"font.size": 20.0, "xtick.labelsize": 18.0, "grid.color": "red", "axes.facecolor": "black", "xtick.color": "red"}
    assert distance(image({}), image(odd)) == 0.0


def test_a_failing_plot_leaves_no_figure(monkeypatch):
    monkeypatch.setattr("copula_discrepancy.report.plots.clouds.draw_side", lambda *arguments, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cd.plot_pair(result("target"))
    assert not plt.get_fignums()


def test_told_apart_in_grey():
    """Draws and reference differ in lightness and in marker; total and level in lightness and in line."""
    blue, orange = (np.dot(to_rgb(color), (0.299, 0.587, 0.114)) for color in (look.BLUE, look.ORANGE))
    assert orange - blue > 0.2
    forest = cd.plot_tau_forest(result("reference"), ax=new_axes())
    marks = {(line.get_color(), line.get_marker(), line.get_markerfacecolor()) for line in forest.lines}
    filled = {mark[1:] for mark in marks if mark[0] == look.BLUE}
    hollow = {mark[1:] for mark in marks if mark[0] == look.ORANGE and mark[1] != "None"}
    assert not filled & hollow
    assert {face for _, face in hollow} == {forest.get_facecolor()}
    trace = cd.plot_trace(result("target"), ax=new_axes())
    assert {line.get_linestyle() for line in trace.lines} == {"-", "--"}


# ---- numbers -------------------------------------------------------------------------------------------------------


def test_clouds_show_the_ranks_of_evenly_spaced_draws():
    found = result("target")
    left, right = cd.plot_pair(found, ax=new_axes(2), points=500)
    (cloud,) = [item for item in left.collections if not isinstance(item, QuadContourSet)]
    pseudo = cd.pseudo_observations(np.stack([found.fit.pair.x, found.fit.pair.y], axis=1))
    expected = pseudo[::6]  # 3,000 draws
    np.testing.assert_allclose(np.sort(cloud.get_offsets()[:, 0]), np.sort(expected[:, 0]), rtol=1e-12)
    assert cloud.get_rasterized()
    (simulated,) = [item for item in right.collections if not isinstance(item, QuadContourSet)]
    assert sorted(map(tuple, simulated.get_offsets())) == sorted(map(tuple, cd.Gumbel(2.5).sample(500, rng=1)))
    assert "500 of 3,000 draws" in left.texts[-1].get_text()
    assert evenly_spaced(10, 4).tolist() == [0, 2, 5, 7]
    assert evenly_spaced(3, 4).tolist() == [0, 1, 2]


def test_divergent_draws_are_all_marked_where_their_ranks_are():
    """However few draws are shown; their number is in the key below, in the colour of the marks."""
    found = result("divergent")
    axes = Figure(figsize=(7, 4)).subplots(1, 2)
    cd.plot_pair(found, ax=axes, points=20)
    for panel, mask, fit in zip(axes, found.diverging, (found.fit, found.reference), strict=True):
        points = [part for part in panel.collections if isinstance(part, PathCollection)]
        (marks,) = [part for part in points if tuple(part.get_facecolor()[0][:3]) == to_rgb(look.PURPLE)]
        ranks = [column.doubled_mid_ranks / (2.0 * (fit.n + 1)) for column in (fit.pair.first, fit.pair.second)]
        np.testing.assert_allclose(marks.get_offsets(), np.stack(ranks, axis=1)[mask.ravel()])
        (key,) = [text for text in panel.texts if text.get_color() == look.PURPLE]
        assert str(mask.sum()) in key.get_text()


def test_without_divergences_there_is_no_key():
    axes = Figure(figsize=(7, 4)).subplots(1, 2)
    cd.plot_pair(result("reference"), ax=axes)
    assert not [text for panel in axes for text in panel.texts if text.get_color() == look.PURPLE]


@pytest.mark.parametrize("subject", ["crash", "four_corners"])
@pytest.mark.parametrize("width", [3.5, 6.4, 9.0])
def test_words_beside_corners_do_not_touch_each_other_or_other_squares(subject, width):
    figure = plotted("plot_pair", subject, (width, 0.55 * width + 0.3))
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    for panel in figure.axes:
        words = [text.get_window_extent(renderer) for text in panel.texts if "%" in text.get_text()]
        squares = [patch.get_window_extent(renderer) for patch in panel.patches]
        assert len(words) == len(squares) == {"crash": 3, "four_corners": 4}[subject]
        for k, box in enumerate(words):
            assert not any(box.overlaps(other) for other in words[k + 1 :])
            assert not any(box.overlaps(square) for square in squares)


def test_pictures_of_tables_speak_of_rows():
    found = result("crash")
    left, right = cd.plot_pair(found, ax=new_axes(2))
    assert left.get_title(loc="left").startswith("rows: tau")
    assert "2,000 rows" in left.texts[-1].get_text()
    assert "simulated rows" in right.texts[-1].get_text()
    assert cd.plot_tau_forest(found, ax=new_axes()).get_yticklabels()[0].get_text() == "all rows"
    assert cd.plot_trace(found, ax=new_axes()).get_xlabel().startswith("rows\n")
    assert found.plot(ax=new_axes()).get_xlabel().split()[0] == "rows"
    legend = cd.plot_tau_forest(result("many_pairs"), ax=new_axes()).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["all rows", "reference"]


def test_the_tail_of_the_comparison_is_drawn():
    source = in_chains(cd.Clayton(3.0), 4, 750, 1)
    panel, _ = cd.plot_pair(cd.discrepancy(source, cd.Gumbel(2.5), tail=0.05), ax=new_axes(2))
    assert {round(patch.get_width(), 2) for patch in panel.patches} == {0.05}
    assert panel.texts[0].get_text().endswith(part_name(0.05))


def test_pairs_with_missing_values_have_the_taus_of_their_rows():
    source = np.random.default_rng(3)
    table = pd.DataFrame(cd.Gaussian(0.5).sample(400, rng=source), columns=["a", "b"])
    table.loc[::7, "a"] = np.nan
    found = cd.pairwise(table, cd.Gaussian(0.5), iid=True)
    taus = pair_taus(found, found[0])
    complete = table.dropna()
    assert taus.pooled.value == found[0].tau == cd.kendall_tau(complete["a"], complete["b"])
    assert taus.pooled.se == pytest.approx(found[0].tau_se, rel=1e-12)  # the same sum in another order


@pytest.mark.parametrize("subject", ["target", "reference", "negative", "crash", "four_corners"])
def test_corner_shares_are_those_of_all_draws(subject):
    found = result(subject)
    panels = cd.plot_pair(found, ax=new_axes(2), points=50)

    def share(u, v, corner):  # by counting
        x, y = (u > 0.9 if corner.u_high else u < 0.1), (v > 0.9 if corner.v_high else v < 0.1)
        return np.sum(x & y) / np.sum(x)

    def percent(text):
        return int(text.get_text().split("%")[0])

    ends = along(found.tau, found.tau_target)
    marked = [CORNERS[name] for name in dict.fromkeys((*ends, *found.tests.off_corners))]
    assert [len(panel.texts) for panel in panels] == [len(marked) + 1] * 2  # and the note below each
    samples = [found.fit, found.reference] if found.reference is not None else [found.fit]
    for panel, fitted in zip(panels, samples, strict=False):
        u, v = cd.pseudo_observations(np.stack([fitted.pair.x, fitted.pair.y], axis=1)).T
        for text, corner in zip(panel.texts, marked, strict=False):
            assert abs(percent(text) - 100 * share(u, v, corner)) < 0.5 + 1e-9
    if found.reference is None:
        for text, corner in zip(panels[1].texts, marked, strict=False):
            p = np.floor(0.1 * (found.n + 1)) / found.n  # continuous draws whose rank over n + 1 is below a tenth
            assert abs(percent(text) - 100 * corner.probability(found.target, p, p) / p) < 0.5 + 1e-9


def test_contours_have_the_same_levels_in_both_panels_and_lie_where_the_density_says():
    found = result("reference")
    panels = cd.plot_pair(found, ax=new_axes(2))
    drawings = [[item for item in panel.collections if isinstance(item, QuadContourSet)] for panel in panels]
    for (contours,), copula in zip(drawings, (found.fit.copula, found.reference.copula), strict=True):
        for level, path in zip(contours.levels, contours.get_paths(), strict=True):
            inner = path.vertices[np.all(np.abs(path.vertices - 0.5) < 0.4, axis=1)]  # the corners are steep
            if inner.size:
                # linear interpolation in a cell of 1/80: second differences of the log density stay below 0.02 there
                assert np.max(np.abs(copula.logpdf(*inner.T) - level)) < 0.02
    assert set(np.round(drawings[0][0].levels, 9)) <= set(np.round(drawings[1][0].levels, 9))


def test_contour_levels_are_few_round_ratios():
    assert contour_levels([]) == []
    for spread in (0.01, 0.2, 1.0, 3.0, 10.0):
        levels = contour_levels([np.linspace(-spread, spread, 1000)])
        assert 1 <= len(levels) <= 6
        assert any(level == 1.0 for level in levels)


def test_one_panel_has_both_contours():
    ax = new_axes()
    assert cd.plot_pair(result("target"), ax=ax) is ax
    styles = [item.linestyles for item in ax.collections if isinstance(item, QuadContourSet)]
    assert styles == ["solid", "dashed"]
    assert [text.get_text().split(":")[0] for text in ax.get_legend().get_texts()] == ["draws", "target"]


@pytest.mark.parametrize(("subject", "said"), [("perfect", "perfect dependence"), ("independent", "independence")])
def test_what_has_no_contours_says_so(subject, said):
    left, _ = cd.plot_pair(result(subject), ax=new_axes(2))
    assert not [item for item in left.collections if isinstance(item, QuadContourSet)]
    assert f"no contours: {said}" in left.texts[-1].get_text()


def test_perfectly_dependent_fit():
    x = np.arange(50.0)
    with pytest.warns(cd.DependenceWarning):
        fitted = cd.fit(np.stack([x, x], axis=1), "clayton")
    _, right = cd.plot_pair(fitted, ax=new_axes(2))
    assert not right.collections  # neither points nor contours
    (reason,) = right.texts
    assert not re.search(r"\d", reason.get_text())


def test_forest_rows_are_the_chains_taus():
    found = result("reference")
    ax = cd.plot_tau_forest(found, ax=new_axes(size=(5.0, 4.0)))
    expected = [found.estimates["tau"], *found.agreement.taus]
    expected += [found.reference.estimates["tau"], *found.reference_agreement.taus]
    marks = [line for line in ax.lines if line.get_marker() != "None"]
    assert [float(line.get_xdata()[0]) for line in marks] == [tau.value for tau in expected]
    intervals = [tuple(map(float, line.get_xdata())) for line in ax.lines if line.get_color() != "black"]
    assert {tau.ci for tau in expected} <= set(intervals)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["all draws", *(f"chain {k}" for k in range(4)), "reference", *(f"chain {k}" for k in range(3))]
    assert f"R-hat {found.rhat:.3f}" in ax.get_title(loc="left")


def test_forest_of_a_stuck_chain_and_of_many():
    ax = cd.plot_tau_forest(result("stuck"), ax=new_axes())
    (said,) = ax.texts
    assert said.get_position()[1] == 3  # the third chain, below all draws
    many = cd.plot_tau_forest(result("many_chains"), ax=new_axes(size=(3.5, 2.5)))
    (chains,) = [item for item in many.collections if isinstance(item, PathCollection)]
    taus = result("many_chains").agreement.taus
    np.testing.assert_array_equal(chains.get_offsets()[:, 0], [tau.value for tau in taus])
    (intervals,) = [item for item in many.collections if isinstance(item, LineCollection)]
    np.testing.assert_array_equal([part[:, 0] for part in intervals.get_segments()], [tau.ci for tau in taus])
    written = io.BytesIO()
    many.figure.savefig(written, format="svg")
    assert len(written.getvalue()) < 100_000  # not a shape for every chain
    assert 4 <= len(many.get_yticks()) <= 15


def test_forest_of_pairs_has_what_pair_gives():
    found = result("pairs")
    ax = cd.plot_tau_forest(found, pairs=3, ax=new_axes())
    assert len(ax.get_yticks()) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        whole = [found.pair(*found[k].names) for k in range(3)]
    marks = [float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "D"]
    assert marks == [value for one in whole for value in (one.tau, one.tau_target)]
    for k, one in enumerate(whole):
        taus = pair_taus(found, found[k])
        np.testing.assert_equal(asdict(taus.pooled), asdict(one.estimates["tau"]))  # NaN is the same as NaN here
        np.testing.assert_equal([asdict(tau) for tau in taus.chains], [asdict(tau) for tau in one.agreement.taus])
    alone = pair_taus(result("no_target"), result("no_target")[0])
    assert alone.aim is None
    assert alone.pooled.value == pytest.approx(result("no_target")[0].tau, abs=1e-14)


def test_forest_of_a_vine():
    source = np.random.default_rng(1)
    draws, other = (source.multivariate_normal(np.zeros(3), 0.5 + 0.5 * np.eye(3), size=(2, 200)) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        found = cd.vine(draws, other)
    ax = cd.plot_tau_forest(found, ax=new_axes())
    conditional = next(edge for edge in found if edge.given)
    assert pair_taus(found, conditional).chains == ()
    assert any("|" in label.get_text() for label in ax.get_yticklabels())


@pytest.mark.parametrize("subject", SINGLE)
def test_a_trace_ends_where_the_result_is(subject):
    found = result(subject)
    running = running_gaps(found, sizes=4)
    last = [float(part[-1]) for part in (running.total, running.se, running.low, running.high, running.level)]
    np.testing.assert_array_equal(last, [found.total.value, found.total.se, *found.total.ci, found.level.value])
    assert running.draws[-1] == found.n
    assert json.dumps(running.to_dict())


def refitted(found, k, **options):
    """The same comparison of the first k draws of every chain, ranked and fitted on their own."""
    pairs = [found.fit.pair] + ([] if found.reference is None else [found.reference.pair])
    samples = [np.stack([pair.by_chain(column) for column in (pair.x, pair.y)], axis=2) for pair in pairs]
    target = found.target if found.reference is None else samples[1]
    options |= {} if found.reference is None else {"family": found.target}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.discrepancy(samples[0][:, :k], target, method=found.method, margins=found.margins, iid=found.iid, **options)


def exactly(copula, **options):
    sample = copula.sample(4000, rng=2)
    return cd.discrepancy(sample if options else sample.reshape(4, 1000, 2), copula, **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: result("target"),
        lambda: result("reference"),
        lambda: result("negative"),
        lambda: result("discrete"),
        lambda: result("stuck"),
        lambda: exactly(cd.Clayton(3.0)),
        lambda: exactly(cd.Joe(2.0)),
        lambda: exactly(cd.StudentT(0.5, 4.0)),
        lambda: exactly(cd.Rotated(cd.Clayton(2.0), 90)),
        lambda: exactly(cd.Clayton(3.0), margins="uniform"),
        lambda: exactly(cd.Gaussian(0.6), iid=True),
    ],
)
def test_a_trace_is_close_to_fits_of_fewer_draws(make):
    """One scoring step is off by O(1/k): measured, at most 0.017 of tau and 0.3 standard errors from 50 draws on."""
    found = make()
    running = running_gaps(found, sizes=6)
    for k in range(5):
        one = refitted(found, int(running.draws[k]) // found.fit.pair.n_chains)
        assert running.level[k] == one.level.value
        if math.isnan(found.total.value):  # too few values to be fitted, as fewer draws of them need not be
            assert math.isnan(running.total[k])
            continue
        assert abs(running.total[k] - one.total.value) < min(0.02, 0.5 * one.total.se)
        # autocorrelation of a dozen draws in a chain is hardly known, and a change of its window moves the standard error
        assert 0.5 < running.se[k] / one.total.se < 2.0 or running.draws[k] < 200
        if running.draws[k] >= 1000:
            assert running.low[k] == pytest.approx(one.total.ci[0], abs=0.2 * one.total.se)
            assert running.high[k] == pytest.approx(one.total.ci[1], abs=0.2 * one.total.se)


def test_a_trace_by_moments_is_that_of_fewer_draws():
    found = result("moment")
    running = running_gaps(found, sizes=5)
    for k in range(4):
        one = refitted(found, int(running.draws[k]) // 4).total
        np.testing.assert_allclose(
            (running.total[k], running.se[k], running.low[k], running.high[k]), (one.value, one.se, *one.ci), rtol=1e-12
        )


def test_nothing_is_fitted_for_a_trace(monkeypatch):
    """Slow chains, whose standard errors leave out blocks of draws, each with a fit of its own, are no exception."""
    draws = autoregressive(np.random.default_rng(3), 4, 500, 0.97)[:, :, :2]
    with pytest.warns(cd.DependenceWarning):
        found = cd.discrepancy(draws, cd.Gaussian(0.5))
    assert found.fit.left_out is not None
    not_fitted(monkeypatch)
    running = running_gaps(found)
    assert np.isfinite(running.se).all()
    assert running.se[-2] == pytest.approx(running.se[-1], rel=0.5)  # widened alike


def test_a_trace_follows_draws_that_leave_the_family():
    """Draws that begin independent, then depend: Gumbel's taus begin at 0, where there is no interval."""
    draws = cd.Gumbel(2.5).sample(4000, rng=1).copy()
    draws[:200] = cd.Gaussian(-0.7).sample(200, rng=2)
    with pytest.warns(cd.DependenceWarning):
        found = cd.discrepancy(draws, cd.Gumbel(2.5))
    running = running_gaps(found, sizes=10)
    early = running.draws <= 200
    np.testing.assert_allclose(running.total[early], -found.tau_target)
    assert np.isnan(running.se[early]).all()
    assert np.isfinite(running.se[-1])


def test_a_trace_goes_on_over_draws_without_an_answer():
    draws = cd.Gumbel(2.0).sample(2000, rng=1).copy()
    draws[:100] = draws[0]
    found = cd.discrepancy(draws, cd.Gumbel(2.0))
    running = running_gaps(found)
    assert np.isnan(running.total[0])
    assert np.isfinite(running.total[-1])
    cd.plot_trace(found, ax=new_axes())


def test_gaps_are_filled_where_beyond_chance():
    found = result("target")
    ax = found.plot(ax=new_axes())
    marks = {line.get_ydata()[0]: line for line in ax.lines if line.get_marker() == "o"}
    for place, name in enumerate(GAPS):
        gap = found.estimates[name]
        assert float(marks[place].get_xdata()[0]) == gap.value
        beyond = gap.pvalue < 0.05 / (4 if name in CORNERS else 1)
        assert (marks[place].get_markerfacecolor() != ax.get_facecolor()) == beyond
    assert len({line.get_markerfacecolor() for line in marks.values()}) == 2
    said = [text.get_text() for text in result("perfect").plot(ax=new_axes()).texts]
    assert said[3:] == [f"{result('perfect').form.value:.3f}, not tested", *["not tested"] * 4]
    assert [text.get_text() for text in ax.texts[6:]] == ["0.000, p = 1"] * 2  # zero has no sign
    assert ax.texts[3].get_text() == f"{found.form.value:.3f}, p < 0.001"  # form has none at all
    interval = next(line for line in ax.lines if len(line.get_xdata()) == 2 and tuple(line.get_ydata()) == (3, 3))
    assert tuple(interval.get_xdata()) == found.form.ci
    low, high = ax.get_xlim()
    assert -low < found.form.ci[1] < high
    assert result("moment").plot(ax=new_axes()).texts[1].get_text() == "not tested"


# ---- names and wrong input -----------------------------------------------------------------------------------------

NAMES = ["$x_1$", r"\frac{", "<script>alert(1)</script>", "_hidden", "a\nb", "n" * 300, "", "%s {0}", "\ud800", "\x00bell\x07"]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names(name):
    """The first and the last name in every picture, the others in those that write a name on its own."""
    draws = in_chains(cd.Gumbel(2.0), 2, 100, 1)
    other = in_chains(cd.Gumbel(2.0), 2, 100, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        one = cd.discrepancy({name: draws[:, :, 0], "y": draws[:, :, 1]}, cd.Gumbel(2.0))
        pairs = cd.pairwise(
            {name: draws[:, :, 0], "y": draws[:, :, 1]}, {name: other[:, :, 0], "y": other[:, :, 1]}, family="gumbel"
        )
    few = ((cd.plot_pair, one, 2), (cd.plot_tau_forest, pairs, 1))
    rest = ((cd.plot_tau_forest, one, 1), (cd.plot_trace, one, 1), (plot_gaps, one, 1), (cd.Pairwise.plot, pairs, 1))
    for function, found, panels in few + (rest if name in (NAMES[0], NAMES[-1]) else ()):
        axes = new_axes(panels)
        function(found, ax=axes)
        figure = np.atleast_1d(axes)[0].figure
        figure.savefig(io.BytesIO(), format="svg", dpi=DPI)
    assert one.fit.pair.names[0] == name


def test_glyphs_that_no_font_here_has_are_no_error():
    draws = in_chains(cd.Gumbel(2.0), 2, 200, 1)
    found = cd.discrepancy({"\u53d8\u91cf": draws[:, :, 0], "y": draws[:, :, 1]}, cd.Gumbel(2.0))
    axes = cd.plot_pair(found, ax=new_axes(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # matplotlib says which glyph is missing
        axes[0].figure.draw_without_rendering()


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "plot_map"])  # a method has its result
def test_another_thing_than_a_result(name):
    function, _, _ = FUNCTIONS[name]
    for wrong, kind in ((np.zeros((10, 2)), "ndarray"), (None, "NoneType"), ("x", "str")):
        with pytest.raises(cd.InputError, match=rf"^{name} .*\b{kind}\b.*\bcd\.discrepancy\b"):
            function(wrong)
    with pytest.raises(cd.InputError, match=r"^ax .*\b3$"):
        function(result("target"), ax=new_axes(3))
    with pytest.raises(cd.InputError, match=r"^ax .*\bAxes\b.*\bstr\b"):
        function(result("target"), ax="axes")
    assert not plt.get_fignums()


def test_numbers_that_are_none():
    for function, option in ((cd.plot_pair, "points"), (cd.plot_tau_forest, "pairs"), (cd.plot_trace, "sizes")):
        for wrong in (0, 1.5, "many", True, math.nan):
            with pytest.raises(cd.InputError, match=rf"^{option} .*>= 1\b"):
                function(result("target"), **{option: wrong})
    with pytest.raises(cd.InputError, match=r"^rng .*'x'$"):
        cd.plot_pair(result("target"), rng="x")


def test_svg_stays_small():
    """Points are an image inside: 280 KB with 2,000 points in each of two panels, and 2.6 MB were they shapes."""
    figure, written = Figure(figsize=(7.0, 4.2), layout="constrained"), io.BytesIO()
    with look.styled():
        cd.plot_pair(result("target"), ax=figure.subplots(1, 2))
        figure.savefig(written, format="svg", dpi=144)
    assert written.getbuffer().nbytes < 400_000


# ---- the paper's figures -------------------------------------------------------------------------------------------


def test_the_papers_figures_as_plots(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "draw", lambda *given: [])  # its files are tested in tests/studies/test_paper.py
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        run = cd.reproduce("experiment3", replications=2, sizes=[100, 200], n_jobs=1, out=tmp_path / "run", progress=False)
    axes = run.plot("figure5_valid_ksd")
    assert len(axes) == 2
    assert axes[0].figure.legends
    one = new_axes()
    assert run.plot("figure5_tails", ax=one) is one
    assert not one.figure.legends
    assert one.figure.axes[-1].get_legend() is not None
    with pytest.raises(cd.InputError, match=r"^figure .*'figure5_tails'.*'figure1_cd'$"):
        run.plot("figure1_cd")
    with pytest.raises(cd.InputError, match=r"^ax .*\b2\b"):
        run.plot("figure6_shannon", ax=one)


# ---- what reviewers changed without a test noticing ----------------------------------------------------------------


def test_contours_of_asymmetric_copulas_are_not_turned():
    """Clayton turned by 90 degrees is densest where the first variable is high and the second low."""
    copula = cd.Rotated(cd.Clayton(2.0), 90)
    found = cd.discrepancy(copula.sample(800, rng=1), copula)
    for panel, shown in zip(cd.plot_pair(found, ax=new_axes(2)), (found.fit.copula, copula), strict=True):
        (contours,) = [item for item in panel.collections if isinstance(item, QuadContourSet)]
        for level, path in zip(contours.levels, contours.get_paths(), strict=True):
            inner = path.vertices[np.all(np.abs(path.vertices - 0.5) < 0.4, axis=1)]
            if inner.size:
                np.testing.assert_allclose(shown.logpdf(inner[:, 0], inner[:, 1]), level, atol=0.05)
    assert copula.logpdf(0.95, 0.05) > copula.logpdf(0.05, 0.95) + 0.5


def test_where_a_dependence_is_lost_its_own_tails_are_marked():
    draws = np.random.default_rng(6).normal(size=(1000, 2))
    draws[:, 1] *= -np.sign(cd.kendall_tau(*draws.T))
    found = cd.discrepancy(draws, cd.Gaussian(0.7), iid=True)
    assert found.tau < 0
    for panel in cd.plot_pair(found, ax=new_axes(2)):
        squares = sorted(square.get_xy() for square in panel.patches if isinstance(square, Rectangle))
        assert squares[0] == (0.0, 0.0)
        assert squares[1] == pytest.approx((0.9, 0.9), abs=0.002)  # ranks over n + 1


def test_running_gaps_keep_an_estimated_df():
    found = cd.discrepancy(cd.StudentT(0.5, df=4.0).sample(400, rng=1), cd.StudentT(0.5, df=4.0), estimate_df=True)
    running = running_gaps(found, 3)
    k = int(running.draws[1])
    part, other = refitted(found, k, estimate_df=True), refitted(found, k)
    assert part.fit.df != found.fit.df != 4.0
    assert abs(running.total[1] - part.total.value) < 0.5 * part.total.se  # one step in theta alone
    assert running.se[1] == pytest.approx(part.total.se, rel=0.5)
    assert running.level[1] == part.level.value == other.level.value


def test_tails_are_filled_at_half_the_level():
    """Two tails are looked at: one with a p-value between 2.5% and 5% does not stand out."""
    for seed in range(200):
        found = cd.discrepancy(cd.Gumbel(2.0).sample(400, rng=seed), cd.Gumbel(2.0), iid=True)
        between = [name for name, tail in found.tails.items() if 0.025 < tail.pvalue < 0.05]
        if between:
            break
    ax = plot_gaps(found, ax=new_axes())
    place = GAPS.index(between[0])
    (mark,) = [line for line in ax.lines if line.get_marker() == "o" and line.get_ydata()[0] == place]
    assert mark.get_markerfacecolor() == ax.get_facecolor()


def test_labels_tell_target_from_reference():
    for whose in ("target", "reference"):
        assert plot_gaps(result(whose), ax=new_axes()).get_xlabel().split(",")[0].endswith(f" {whose}")
    found = result("reference")
    title = cd.plot_tau_forest(found, ax=new_axes()).get_title(loc="left")
    assert title.startswith(f"R-hat {found.agreement.rhat:.3f} (reference {found.reference_agreement.rhat:.3f})")
    assert found.agreement.rhat != found.reference_agreement.rhat


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_forests_of_a_fit_have_the_intervals_asked_for(confidence):
    fitted = result("fit")
    ax = cd.plot_tau_forest(fitted, confidence=confidence, ax=new_axes())
    draws = np.stack([fitted.pair.x, fitted.pair.y], axis=1).reshape(2, -1, 2)
    expected = cd.discrepancy(draws, cd.Joe(2.0), confidence=confidence).estimates["tau"].ci
    assert tuple(ax.lines[0].get_xdata()) == expected
    assert f"{100 * confidence:g}% intervals" in ax.get_xlabel()
    with pytest.raises(cd.InputError, match=r"^confidence .*\b95$"):
        cd.plot_tau_forest(fitted, confidence=95, ax=new_axes())


def test_dark_figures_have_light_lines():
    with plt.style.context("dark_background"):
        panels = cd.plot_pair(result("target"), ax=new_axes(2))
        (contours,) = [item for item in panels[1].collections if isinstance(item, QuadContourSet)]
        assert to_rgb(contours.get_edgecolor()[0][:3]) == (1.0, 1.0, 1.0)
        bars = plot_gaps(result("target"), ax=new_axes())
        assert "black" not in {line.get_color() for line in bars.lines}


def test_parts_of_figures_are_axes_too():
    part = plt.figure(figsize=(7, 4), layout="constrained").subfigures(1, 2)[0]
    ax = part.subplots()
    assert result("pairs").plot(ax=ax) is ax
    part.figure.savefig(io.BytesIO(), format="png", dpi=DPI)


def test_nearly_perfect_dependence_has_a_contour_too():
    density = np.full((50, 50), -1000.0)
    np.fill_diagonal(density[:20], 5.0)  # less than one cell in a hundred has any density
    assert contour_levels([density]) == [1.0]


def test_a_notebook_shows_every_picture_and_not_the_first_alone(monkeypatch):
    """Its backend turns interaction on as it loads, at the first picture: that must outlast the look of this picture."""
    load = plt.switch_backend

    def load_as_a_notebook_does(name):
        load("agg")
        mpl.interactive(True)

    monkeypatch.setattr(plt, "switch_backend", load_as_a_notebook_does)
    monkeypatch.setattr(plt, "_backend_mod", None)
    try:
        cd.plot_pair(result("target"))
        assert mpl.is_interactive()
    finally:
        mpl.interactive(False)


def test_chains_have_the_names_of_their_files():
    """Any names: how many rows are labelled depends on their places."""
    chains = np.random.default_rng(1).normal(size=(30, 50, 2))
    named = replace(cd.as_draws(chains), chain_names=tuple(f"run_{k}.csv" for k in range(30)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        found = cd.discrepancy(named, cd.Gaussian(0.1))
    shown = []
    for height in (9.0, 3.0):
        axes = cd.plot_tau_forest(found, ax=Figure(figsize=(6, height)).subplots())
        shown.append([label.get_text() for label in axes.get_yticklabels()])
    assert shown[0] == ["all draws", *(f"run_{k}.csv" for k in range(30))]
    assert shown[1][:2] == ["all draws", "run_5.csv"]
    assert len(shown[1]) < 12
