"""Pictures of two columns that suit their kinds: what is drawn, where, and that all of it can be read."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from scipy.stats import chi2_contingency

import copula_discrepancy as cd
from copula_discrepancy.report.plots import look
from copula_discrepancy.report.plots.by_level import date_ticks
from copula_discrepancy.report.plots.columns import TwoColumns
from copula_discrepancy.report.plots.kinds import plot_columns
from copula_discrepancy.report.plots.maps import cells_with_unordered
from copula_discrepancy.report.plots.mosaics import apart, residuals_of
from tests.kinds_data import LONG, compared, orders, passengers, penguins, table

TABLES = {"penguins": penguins, "passengers": passengers, "orders": orders}
# table, columns, picture, panels
CASES = [
    ("penguins", "species", "bill length", "levels", 1),
    ("penguins", "species", "island", "mosaic", 2),
    ("penguins", "bill length", "body mass", "cloud", 2),
    ("passengers", "class", "survived", "mosaic", 2),
    ("passengers", "fare", "class", "levels", 1),
    ("passengers", "age is missing", "fare", "levels", 1),
    ("passengers", "relatives", "sex", "mosaic", 2),
    ("orders", "ordered on", "amount", "cloud", 2),
    ("orders", "wait", "ordered on", "cloud", 2),
    ("orders", "product", "ordered on", "levels", 1),
    ("orders", "product", "region", "mosaic", 2),
    ("orders", "region", "wait", "levels", 1),
]


def two(name):
    return TABLES[name](2, mixed=True), TABLES[name](1)


def drawn(name, first, second, panels, size=(7.0, 4.4)):
    with look.styled():
        figure = Figure(figsize=size, layout="constrained")
        return plot_columns(*two(name), first, second, ax=figure.subplots(1, panels)), figure


def words(ax):
    return [item.get_text() for item in ax.findobj(Text) if item.get_text()]


@pytest.mark.parametrize(("name", "first", "second", "picture", "panels"), CASES)
def test_the_picture_suits_the_kinds(name, first, second, picture, panels):
    pair = TwoColumns.of(*two(name), first, second)
    assert (pair.picture, pair.panels) == (picture, panels)
    try:
        axes = np.atleast_1d(plot_columns(*two(name), first, second))
        assert len(axes) == panels
    finally:
        plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("width", [3.5, 7.0])
@pytest.mark.parametrize(("name", "first", "second", "picture", "panels"), CASES)
def test_all_text_has_room(name, first, second, picture, panels, width):
    height = 5.2 if picture == "levels" and second == "ordered on" else 0.6 * width + 1.0
    _, figure = drawn(name, first, second, panels, (width, height))
    renderer = FigureCanvasAgg(figure).get_renderer()
    for _ in range(2):  # notes follow labels, which move when they are drawn
        figure.draw_without_rendering()
    for ax in figure.axes:
        for axis, low, high in ((ax.xaxis, "x0", "x1"), (ax.yaxis, "y0", "y1")):
            bounds = sorted(axis.get_view_interval())
            shown = [t.label1 for t in axis.get_major_ticks() if bounds[0] <= t.get_loc() <= bounds[1] and t.label1.get_text()]
            boxes = [label.get_window_extent(renderer) for label in shown]
            for box in boxes:
                assert box.x0 > -1.0
                assert box.y0 > -1.0
                assert box.x1 < figure.bbox.width + 1.0
            ends = sorted((getattr(box, low), getattr(box, high)) for box in boxes)
            assert all(before[1] <= after[0] + 1.0 for before, after in pairwise(ends))
        for item in (ax.xaxis.label, ax.yaxis.label, ax._left_title):
            box = item.get_window_extent(renderer)
            assert box.y0 > -1.0
            assert box.y1 < figure.bbox.height + 1.0


# ---- numbers by level ----------------------------------------------------------------------------------------------


def medians(ax, color):
    """Medians from top to bottom: the short upright strokes above (the reference) or below (the draws) each line."""
    strokes = [line for line in ax.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0.0]
    side = 1.0 if color == look.ORANGE else -1.0
    found = [(-round(y[0]), x[0]) for x, y in (line.get_data() for line in strokes) if side * (y[1] - round(y[0])) > 0.0]
    return [x for _, x in sorted(found)]


def test_levels_are_sorted_by_the_medians_of_the_reference_and_strokes_are_medians():
    ax, _ = drawn("penguins", "species", "bill length", 1)
    draws, reference = two("penguins")
    by_hand = {}
    for k, label in enumerate(reference.labels(0)):
        inside = [np.where(sample.column(0) == k, sample.column(2), np.nan) for sample in (reference, draws)]
        by_hand[label] = [np.nanmedian(values) for values in inside]
    order = sorted(by_hand, key=lambda label: by_hand[label][0])
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    for color, which in ((look.ORANGE, 0), (look.BLUE, 1)):
        np.testing.assert_allclose(medians(ax, color), [by_hand[label][which] for label in order], rtol=1e-12)


def test_ordered_levels_keep_their_order():
    ax, _ = drawn("passengers", "fare", "class", 1)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["third", "second", "first"]


def test_densities_have_the_area_of_a_density_and_the_same_scale_in_a_level():
    """The mean of a drawn density, weighted by its height, is that of the values: the kernel is symmetric."""
    ax, _ = drawn("penguins", "species", "body mass", 1)
    draws, reference = two("penguins")
    fills = [item for item in ax.collections if isinstance(item, PolyCollection)]
    assert len(fills) == 6
    lines = [line for line in ax.lines if len(line.get_xdata()) > 10]
    expected = [
        sample.column(3)[sample.column(0) == sample.labels(0).index(label.get_text())].mean()
        for label in ax.get_yticklabels()
        for sample in (reference, draws)
    ]
    for line, mean in zip(lines, expected, strict=True):
        x, y = line.get_data()
        height = np.abs(y - round(float(np.median(y))))
        assert abs(np.sum(x * height) / np.sum(height) - mean) < 0.02 * mean  # the tails beyond the axis are cut


def test_shares_of_levels_are_written():
    ax, _ = drawn("passengers", "class", "fare", 1)
    draws, reference = two("passengers")
    for sample in (draws, reference):
        for k in range(3):
            assert f"{100 * np.mean(sample.column(0) == k):.0f}%" in words(ax)


def test_rare_levels_are_one():
    ax, _ = drawn("orders", "product", "amount", 1)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(labels) == 12
    assert labels[-1] == "other (4 levels)"
    pair = TwoColumns.of(*two("orders"), "product", "amount").arranged(0, range(15), 12)
    assert [pair.counts(0, sample).sum() for sample in pair.samples] == [1500, 1500]


def test_what_lies_beyond_the_axis_is_counted():
    ax, _ = drawn("passengers", "class", "fare", 1)
    low, high = ax.get_xlim()
    fares = np.concatenate([sample.column(3) for sample in two("passengers")])
    beyond = int(np.sum((fares < low) | (fares > high)))
    assert beyond > 0
    assert any(text.startswith(f"{beyond} rows beyond") for text in words(ax))


def test_few_rows_of_a_level_are_strokes():
    values = np.arange(40.0)
    sample = table({"group": ("nominal", ("many", "few"), np.repeat([0, 1], [35, 5])), "number": ("numeric", (), values)})
    ax = plot_columns(sample, sample, "group", "number", ax=Figure().subplots())
    assert len([item for item in ax.collections if isinstance(item, PolyCollection)]) == 2  # of the many, twice


# ---- mosaics -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [("class", "survived"), ("survived", "class"), ("sex", "relatives")])
def test_tiles_have_the_areas_of_their_shares(first, second):
    axes, _ = drawn("passengers", first, second, 2)
    for ax, sample in zip(axes, two("passengers")[::-1], strict=True):
        x, y = (sample.column(sample.names.index(name)) for name in (first, second))
        shares = sorted(np.mean((x == a) & (y == b)) for a in np.unique(x) for b in np.unique(y))
        tiles = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
        areas = sorted(tile.get_width() * tile.get_height() for tile in tiles)[-len(shares) :]
        # the gaps take the same part of every width, and of every height in a column of the same number of tiles
        np.testing.assert_allclose(np.array(areas) / sum(areas), shares, atol=1e-9)


def test_residuals_are_those_of_chi_squared():
    counts = np.random.default_rng(3).integers(5, 60, (4, 3))
    residuals = residuals_of(counts / counts.sum())
    assert np.isclose(counts.sum() * np.sum(residuals**2), chi2_contingency(counts, correction=False).statistic, rtol=1e-12)
    empty = residuals_of(np.array([[0.5, 0.5], [0.0, 0.0]]))
    assert np.all(empty == 0.0)


def test_both_mosaics_have_the_same_levels_and_colours():
    axes, _ = drawn("orders", "product", "region", 2)
    labels = [[label.get_text() for label in ax.get_xticklabels()] for ax in axes]
    assert labels[0] == labels[1]
    assert len(labels[0]) == 8
    assert labels[0][-1] == "other (8 levels)"
    ends = [re.search(r"full colour at\s±([\d.]+)", ax.get_xlabel())[1] for ax in axes]
    assert ends[0] == ends[1]


def test_independence_has_no_colour_and_dependence_does():
    axes, _ = drawn("passengers", "sex", "survived", 2)
    strongest = [max(patch.get_facecolor()[3] for patch in ax.patches) for ax in axes]
    assert strongest[0] > 0.8
    assert strongest[1] < 0.2  # the mixed table


def test_levels_are_matched_by_their_labels():
    """A sample that lists the same labels in another order, or lacks one, is the same table."""
    draws, reference = two("passengers")
    values = draws.values.copy()
    values[..., 1] = 1.0 - values[..., 1]
    levels = (draws.levels[0], ("female", "male"), *draws.levels[2:])
    turned = replace(draws, values=values, levels=levels)
    plain, other = (TwoColumns.of(sample, reference, "sex", "survived") for sample in (draws, turned))
    assert plain.columns == other.columns
    for one, same in zip(plain.samples, other.samples, strict=True):
        np.testing.assert_array_equal(one.values, same.values)
    crew = replace(draws, levels=(draws.levels[0], ("male", "crew"), *draws.levels[2:]))
    assert TwoColumns.of(crew, reference, "sex", "survived").columns[0].levels == ("male", "female", "crew")


def test_places_are_moved_apart_and_no_more():
    places = np.array([0.1, 0.11, 0.5, 0.99, 1.0])
    moved = apart(places, 0.05)
    assert np.all(np.diff(moved) >= 0.05 - 1e-12)
    assert moved[2] == 0.5
    assert 0.0 <= moved.min() <= moved.max() <= 1.0
    np.testing.assert_array_equal(apart(np.array([0.2, 0.6]), 0.1), [0.2, 0.6])
    assert np.all(np.diff(apart(np.full(30, 0.5), 0.1)) > 0.0)


# ---- dates, missing values, and what is not usual ------------------------------------------------------------------


def test_dates_are_written_as_dates():
    ax, _ = drawn("orders", "product", "ordered on", 1)
    texts = [label.get_text() for label in ax.get_xticklabels() if label.get_text()]
    assert len(texts) >= 2
    assert all(re.fullmatch(r"20\d\d(-\d\d(-\d\d)?)?", text) for text in texts)
    axes, _ = drawn("orders", "ordered on", "amount", 2)
    draws, reference = two("orders")
    for panel, sample in zip(axes, (reference, draws), strict=True):
        first = np.datetime64("1970-01-01") + int(sample.column(0).min())
        assert panel.get_xticklabels()[0].get_text() == str(first)


@pytest.mark.parametrize("span", [0.4, 3.0, 20.0, 100.0, 800.0, 5000.0, 200_000.0])
@pytest.mark.parametrize("start", [-30_000.0, 0.0, 19_000.3])
def test_date_ticks_lie_inside_and_say_where_they_are(start, span):
    places, texts = date_ticks(start, start + span, most=5)
    assert len(places) == len(texts) <= 5 or span > 100_000.0
    assert places == sorted(set(places))
    for place, text in zip(places, texts, strict=True):
        full = text + "-01-01"[: 10 - len(text)] if len(text) < 10 else text
        assert (np.datetime64(full) - np.datetime64("1970-01-01")).astype(float) == place
    if span >= 3.0:
        assert len(places) >= 2
        assert start <= places[0]
        assert places[-1] <= start + span


def test_missing_values_are_left_out_pair_by_pair_and_counted():
    draws, reference = two("passengers")
    pair = TwoColumns.of(draws, reference, "age", "survived")
    for sample, given in zip(pair.samples, (reference, draws), strict=True):
        missing = int(np.isnan(given.column(4)).sum())
        assert missing > 0
        assert sample.omitted == missing
        assert sample.n == 900 - missing
        assert f"{missing:,} without a value left out" in sample.title
    assert TwoColumns.of(draws, reference, "fare", "survived").samples[0].omitted == 0
    ax, _ = drawn("passengers", "age", "survived", 1)
    assert any("without a value left out" in text for text in words(ax))


def test_draws_alone_have_one_panel():
    for first, second in (("species", "island"), ("species", "body mass"), ("bill length", "body mass")):
        ax = plot_columns(penguins(), None, first, second, ax=Figure(figsize=(4, 4)).subplots())
        assert not any("reference" in text for text in words(ax))


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_hardly_any_rows(rows):
    """All values missing, one row, or columns that do not vary: a picture without a crash."""
    n = 6
    keep = np.arange(n) < rows
    columns = {
        "kind": ("nominal", ("a", "b"), np.where(keep, np.arange(n) % 2, np.nan)),
        "flag": ("boolean", ("False", "True"), np.where(keep, 1.0, np.nan)),
        "number": ("numeric", (), np.where(keep, np.arange(n) / 7.0, np.nan)),
        "many": ("numeric", (), np.arange(n) * 1.0),
    }
    sample = table(columns)
    many = penguins()
    many = table({
        "kind": ("nominal", ("b", "a"), many.column(0) % 2), "flag": ("boolean", ("False", "True"), many.column(1) % 2),
        "number": ("numeric", (), many.column(2)), "many": ("numeric", (), many.column(3)),
    })  # fmt: skip
    for first, second in (("kind", "flag"), ("kind", "number"), ("number", "many"), ("flag", "number")):
        pair = TwoColumns.of(sample, many, first, second)
        figure = Figure(figsize=(7, 4), layout="constrained")
        plot_columns(sample, many, first, second, ax=figure.subplots(1, pair.panels))
        FigureCanvasAgg(figure).draw()


def test_hostile_labels_are_plain_text():
    labels = ("$\\frac{a$", "<script>", "a\nb\u202e", "")
    sample = table({"x": ("nominal", labels, np.arange(80) % 4), "y": ("numeric", (), np.arange(80.0) ** 1.5)})
    figure = Figure(figsize=(5, 4), layout="constrained")
    ax = plot_columns(sample, sample, "x", "y", ax=figure.subplots())
    FigureCanvasAgg(figure).draw()
    assert "$\\frac{a$" in [label.get_text() for label in ax.get_yticklabels()]


def test_errors_name_the_argument():
    draws, reference = two("penguins")
    with pytest.raises(cd.InputError, match="specie"):
        plot_columns(draws, reference, "specie", "island")
    with pytest.raises(cd.InputError, match="two variables"):
        plot_columns(draws, reference, "island", "island")
    with pytest.raises(cd.InputError, match="reference must be Draws"):
        plot_columns(draws, np.zeros((3, 2)), "species", "island")
    with pytest.raises(cd.InputError, match="draws must be Draws"):
        plot_columns(None, reference, "species", "island")
    with pytest.raises(cd.InputError, match="2 Axes"):
        plot_columns(draws, reference, "species", "island", ax=Figure().subplots())
    with pytest.raises(cd.InputError, match="points"):
        plot_columns(draws, reference, "bill length", "body mass", points=0)


def test_long_labels_are_shortened():
    axes, _ = drawn("orders", "product", "region", 2)
    assert all(len(label.get_text()) <= 16 for ax in axes for label in ax.get_xticklabels())
    assert any("…" in label.get_text() for label in axes[0].get_xticklabels())
    assert len(LONG) > 16


# ---- rankings with pairs that have no order ------------------------------------------------------------------------


def test_a_map_of_levels_shows_what_unordered_pairs_keep():
    result = compared("penguins")
    ax = result.plot(ax=Figure(figsize=(6, 5)).subplots())
    texts = words(ax)
    assert "in %: no order, dependence kept" in ax.get_xlabel()
    kept = result["species", "island"].kept
    assert f"{100 * kept:.0f}%".replace("-", "\u2212") in texts
    cells, shares = cells_with_unordered(result)
    pair = result["species", "body mass"]
    assert np.isclose(cells[0, 3], (pair.kept - 1.0) * pair.dependence_target, rtol=1e-12)
    assert cells[3, 0] == cells[0, 3]  # significant
    assert shares[0, 3] == pair.kept
    assert np.isnan(shares[2, 3])  # two numbers
    assert cells[2, 3] == result["bill length", "body mass"].level
    assert not any("nan" in text for text in texts)


def test_a_map_of_ordered_pairs_says_nothing_of_order():
    draws, reference = (cd.as_draws(cd.Gumbel(2.0).sample(300, rng=seed)) for seed in (1, 2))
    ax = cd.pairwise(draws, reference, iid=True).plot(ax=Figure().subplots())
    assert "order" not in ax.get_xlabel()


@pytest.mark.parametrize("number", ["shape", "kept", "form", "low_low", "tau", "cd", "ckl"])
def test_other_maps_of_unordered_pairs_do_not_crash(number):
    figure = Figure(figsize=(6, 5))
    compared("penguins").plot(number, ax=figure.subplots())
    FigureCanvasAgg(figure).draw()


def test_forests_say_that_there_is_no_tau():
    ax = cd.plot_tau_forest(compared("penguins"), pairs=6, ax=Figure(figsize=(5, 4)).subplots())
    assert words(ax).count("no order, so no tau") == 5
    assert len(ax.get_yticklabels()) == 6


# ---- pages of such rankings ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The pages of two rankings, with their JSON."""
    pages = {}
    for name in ("penguins", "passengers"):
        path = compared(name).to_html(tmp_path_factory.mktemp("pages") / f"{name}.html")
        pages[name] = path.read_text(encoding="utf-8"), json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return pages


def test_a_page_draws_pairs_by_their_kinds(written):
    html, numbers = written["penguins"]
    details = html.split('<section id="details"')[1].split('<section id="sure"')[0]
    articles = {part.split('"')[0]: part for part in details.split('<article id="')[1:]}
    shown = {tuple(entry[key] for key in ("first", "second")) for entry in numbers["details"] if "first" in entry}
    assert len(shown) == 5  # those with a nominal column
    assert "Mosaic of island by species in the reference, 400 rows" in details
    assert re.search(r"bill length by species; medians in the reference and in the rows: Adelie [\d.]+ and [\d.]+", details)
    for place, entry in enumerate(numbers["details"], start=1):
        article = articles[f"pair-{place}"]
        unordered = "first" in entry
        assert ("not defined, as shape and tails are not" in article) == unordered
        first = 1 if "; medians in the" in article else 2  # numbers by level are one picture, clouds and mosaics two
        assert article.count("<figure>") == (first if unordered else first + 4)
    assert "Numbers by level: the reference above each line, the rows below it" in details
    assert "Mosaics: the area" in details


def test_a_page_says_nothing_is_nan(written):
    for html, _ in written.values():
        body = html.split('<section id="maps"')[1].split("<script>")[0]
        visible = re.sub(r"<svg\b.*?</svg>|<script\b.*?</script>|<[^>]*>", " ", body, flags=re.S)
        assert not re.search(r"\bnan\b", visible)
    assert "Pairs with a column that has no order have no level" in written["penguins"][0]


def test_a_page_has_one_picture_beside_the_answer_if_the_worst_pair_is_drawn_by_level(written):
    html, _ = written["passengers"]
    first = html.split('<figure class="first">')[1].split("</figure>")[0]
    assert first.count("<svg") == 1
    assert "<bdi>class</bdi> and <bdi>fare</bdi>" in first
    assert "(up) against" not in first
    anchor = re.search(r'<use href="#([^"]+)"', first)[1]
    assert f'id="{anchor}"' in html


def test_pages_of_continuous_columns_keep_their_clouds(tmp_path):
    samples = (cd.as_draws(cd.Gumbel(2.0).sample(300, rng=seed)) for seed in (1, 2))
    html = cd.pairwise(*samples, iid=True).to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "(up) against" in html
    assert "Mosaic" not in html
    assert "no order" not in html


def test_few_values_are_counted_in_all_rows():
    """The first thousand rows show one value, all rows nine: too many for levels."""
    values = np.concatenate([np.zeros(2000), np.arange(9.0)])
    other = np.random.default_rng(1).normal(size=2009)
    sample = table({"count": ("numeric", (), values), "number": ("numeric", (), other)})
    assert TwoColumns.of(sample, None, "count", "number").picture == "cloud"
    fewer = table({"count": ("numeric", (), np.minimum(values, 7.0)), "number": ("numeric", (), other)})
    assert TwoColumns.of(fewer, None, "count", "number").picture == "levels"
