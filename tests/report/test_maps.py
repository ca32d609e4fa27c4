"""Maps of all pairs: every number in its place, beyond chance or not, in colours that mean the same everywhere."""

import math

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import copula_discrepancy as cd
from copula_discrepancy.compare.ranking_wording import pair_tests
from copula_discrepancy.report.plots import maps
from copula_discrepancy.report.plots.look import BLUE, ORANGE
from tests.page_samples import comparison
from tests.picture_cases import baseline, distance, pixels, result, wordless

TOLERANCE = 0.4  # as in test_plots: matplotlib 3.9.4 makes 0.15, one cell of the other sign 2.5 among 30 variables


def axes(size=(7.0, 6.0)):
    return Figure(figsize=size, layout="constrained").subplots()


@pytest.mark.parametrize("number", ["level", "shape", "form"])
def test_all_pairs_stand_above_the_diagonal_and_those_beyond_chance_below(number):
    found = comparison("eight")
    cells, whole = maps.gap_cells(found, number), found.matrix(number)
    d = len(found.names)
    above = np.triu_indices(d, 1)
    np.testing.assert_array_equal(cells[above], whole[above])
    adjusted = found.matrix(f"{number}_adjusted")
    below = np.tril_indices(d, -1)
    np.testing.assert_array_equal(np.isfinite(cells[below]), adjusted[below] < 0.05)
    assert 0 < np.isfinite(cells[below]).sum() < len(found)
    assert np.isnan(np.diag(cells)).all()


def test_other_numbers_are_shown_below_where_any_test_found_a_gap():
    found = comparison("eight")
    cells = maps.gap_cells(found, "total")
    assert np.isfinite(cells[np.tril_indices(10, -1)]).sum() == found.n_flagged


@pytest.mark.parametrize(
    ("largest", "limit"),
    [(0.0, 0.05), (0.04, 0.05), (0.05, 0.05), (0.051, 0.06), (0.16, 0.2), (0.2, 0.2), (0.3, 0.3), (0.95, 1.0), (1.2, 2.0)],
)
def test_scales_end_at_a_round_number_that_no_gap_passes(largest, limit):
    for sign in (1.0, -1.0):
        assert maps.colour_limit(np.array([sign * largest, 0.0, math.nan])) == pytest.approx(limit, rel=1e-12)
    assert maps.colour_limit(np.array([math.nan])) == 0.05


def test_colours_are_symmetric_about_zero_and_told_apart_in_grey():
    cells = np.array([[-0.2, -0.1, 0.0, 0.1, 0.2, math.nan, math.inf]])
    colours = maps.cell_colours(cells, 0.2)[0] / 255.0
    np.testing.assert_allclose(colours[0, :3], to_rgb(BLUE), atol=0.003)
    np.testing.assert_allclose(colours[4, :3], to_rgb(ORANGE), atol=0.003)
    np.testing.assert_allclose(colours[:, 3], [1.0, 0.5, 0.0, 0.5, 1.0, 0.0, 1.0], atol=0.003)
    grey = 1.0 - colours[:, 3] * (1.0 - colours[:, :3] @ [0.299, 0.587, 0.114])  # on white paper
    assert grey[0] < grey[4] - 0.2  # the same size, another sign
    assert grey[1] < grey[3] - 0.1
    assert grey[2] == 1.0


def test_plots_and_pages_have_the_same_colours():
    found = comparison("eight")
    ax = found.plot(ax=axes())
    image = ax.images[0]
    low, high = image.get_clim()
    cells = maps.gap_cells(found, "level")
    assert -low == high == maps.colour_limit(cells)
    drawn, paged = image.to_rgba(cells), maps.cell_colours(cells, high) / 255.0
    known = np.isfinite(cells)
    np.testing.assert_allclose(drawn[known][:, 3], paged[known][:, 3], atol=0.006)  # 256 steps on either side
    strong = known & (np.abs(cells) > 0.02)
    np.testing.assert_allclose(drawn[strong][:, :3], paged[strong][:, :3], atol=0.003)


def test_numbers_are_written_where_they_have_room():
    def written(size):
        return {text.get_text() for text in comparison("eight").plot(ax=axes(size)).texts}

    wide = written((7.0, 6.0))
    assert "\u2212.16" in wide  # theta[Phillips Exeter] ~ theta[Hotchkiss], with its sign
    assert written((3.5, 3.0)) == set()
    assert {text.get_text() for text in result("many_pairs").plot(ax=axes()).texts} == set()


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.16, "\u2212.16"), (0.049, "+.05"), (0.001, "0"), (-0.0049, "0"), (-1.3, "\u22121.3"), (0.999, "+1.0")],
)
def test_cell_texts(value, text):
    assert maps.cell_text(value) == text


@pytest.mark.parametrize(
    ("value", "number", "text"),
    [(0.664, "kept", "66%"), (-0.12, "kept", "\u221212%"), (-0.001, "kept", "0%"), (0.27, "form", ".27"), (1.3, "form", "1.3")],
)
def test_cell_texts_of_shares_and_sizes(value, number, text):
    assert maps.cell_text(value, number) == text


def test_every_variable_has_its_label_and_many_have_some():
    labels = [label.get_text() for label in comparison("eight").plot(ax=axes()).get_yticklabels()]
    assert labels == list(comparison("eight").names)
    some = [label.get_text() for label in comparison("fifty").plot(ax=axes((3.5, 3.0))).get_xticklabels()]
    every = int(some[1][1:])
    assert every > 1
    assert some == [f"x{k}" for k in range(0, 50, every)]


@pytest.mark.parametrize("number", ["shape", "total", "form", "kept", "low_low", "low_high", "tau", "cd", "ckl"])
def test_other_maps(number):
    ax = comparison("eight").plot(number, ax=axes())
    title = number.replace("_", "-")  # of corners: low-low
    assert title in (ax.get_title(loc="left"), ax.get_title())
    if number in ("cd", "ckl", "form"):  # sizes: the scale shows no side that cannot occur
        assert ax.images[0].colorbar.ax.get_ylim()[0] == 0.0


def test_the_share_kept_has_no_colour_at_one_and_is_full_where_all_is_lost():
    found = comparison("eight")
    ax = found.plot("kept", ax=axes())
    image, cells = ax.images[0], maps.gap_cells(found, "kept")
    assert image.get_clim() == (-1.0, 1.0)
    known = np.isfinite(cells)
    np.testing.assert_array_equal(image.get_array()[known], cells[known] - 1.0)
    shown, limit = maps.coloured(np.array([[0.0, 0.5, 1.0, 2.0, -1.0, 3.0, math.nan]]), "kept")
    np.testing.assert_allclose(
        maps.cell_colours(shown, limit)[0, :, 3] / 255.0, [1.0, 0.5, 0.0, 1.0, 1.0, 1.0, 0.0], atol=0.003
    )
    below = np.tril_indices(10, -1)
    np.testing.assert_array_equal(np.isfinite(cells[below]), found.matrix("form_adjusted")[below] < 0.05)
    kept = found[found.names[0], found.names[1]].kept
    assert f"{100 * kept:.0f}%" in {text.get_text() for text in ax.texts}


@pytest.mark.parametrize("number", ["low_low", "high_high", "low_high", "high_low"])
@pytest.mark.parametrize("name", ["eight", "crash", "nothing", "vine"])
def test_corners_below_the_diagonal_are_those_of_the_verdicts(name, number):
    result = comparison(name)
    cells = maps.gap_cells(result, number)
    shown = {(j, i) for i, j in np.argwhere(np.isfinite(cells)) if i > j}
    off = {
        tuple(sorted(map(result.names.index, gap.names)))
        for gap, row in zip(result, result.rows, strict=True)
        if number in pair_tests(result, row).off_corners
    }
    assert shown == off
    assert off or (name, number) not in {("crash", "low_low"), ("eight", "low_high"), ("nothing", "high_high")}


@pytest.mark.parametrize("name", ["crash", "nothing"])  # a corner is off across a negative dependence; some along positive ones
@pytest.mark.parametrize(
    ("number", "corners"), [("lower_tail", ("low_low", "low_high")), ("upper_tail", ("high_high", "high_low"))]
)
def test_old_names_of_tails_still_have_maps(name, number, corners):
    result = comparison(name)
    with pytest.warns(DeprecationWarning, match=f"{number} is deprecated"):
        cells = maps.gap_cells(result, number)
    with pytest.warns(DeprecationWarning, match=f"{number} is deprecated"):
        assert result.plot(number, ax=axes()).get_title() == number.replace("_", " ")
    assert np.isfinite(cells[np.tril_indices(len(cells), -1)]).any() == (name == "nothing")
    for gap in result:
        i, j = map(result.names.index, gap.names)
        stronger = max((gap.tau, np.nan_to_num(gap.tau_target)), key=abs)
        corner = corners[int(stronger < 0)]
        assert cells[i, j] == getattr(gap, corner)
        below = maps.gap_cells(result, corner)[j, i]
        assert cells[j, i] == below or np.isnan([cells[j, i], below]).all()


def test_unknown_numbers_list_the_choices():
    with pytest.raises(cd.InputError, match=r"^number .*'level'.*'pvalue'$"):
        comparison("eight").plot("pvalue")


def test_edges_of_a_vine_have_a_map_too():
    found = comparison("vine")
    ax = found.plot(ax=axes())
    assert "edges" in ax.get_xlabel()


@pytest.mark.parametrize("name", ["map_3.5in", "map_7in"])
def test_a_cell_of_another_colour_is_seen(name):
    figure = wordless(name)
    image = figure.axes[0].images[0]
    cells = np.array(image.get_array().filled(math.nan))
    places = np.argwhere(np.isfinite(cells) & (np.abs(cells) > 0.3 * np.nanmax(np.abs(cells))))
    i, j = places[0]
    cells[i, j] *= -1.0
    image.set_data(np.ma.masked_invalid(cells))
    assert distance(pixels(figure), baseline(name), moved=1) > 3 * TOLERANCE
