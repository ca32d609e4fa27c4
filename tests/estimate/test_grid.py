"""Counts in a grid say what the rows say: against ranks of the same rows, brute force and closed forms."""

import math

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.estimate.basis import polynomials
from copula_discrepancy.estimate.bins import FINEST, ColumnBins, graded, level_bins, number_bins
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.counted_block import CountedBlock
from copula_discrepancy.estimate.fit import fit_pair
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.grid import Grid, extrapolated_with_error
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.sketch import DependenceSketch

NOTHING_SINGLE = np.zeros(FINEST, bool), np.zeros(FINEST, bool)


def grid_of(x, y, bins=FINEST):
    columns = [number_bins(name, "numeric", values, bins) for name, values in (("x", x), ("y", y))]
    codes = [np.searchsorted(column.edges, values, side="right") for column, values in zip(columns, (x, y), strict=True)]
    counts = np.zeros((columns[0].size, columns[1].size))
    np.add.at(counts, tuple(codes), 1)
    return Grid(counts, (columns[0].single, columns[1].single))


def exact_cells(copula, bins):
    """The cells of a copula itself: no rows, no chance."""
    edges = np.concatenate([[0.0], graded(bins, 2.5e-5), [1.0]])
    below = copula.cdf(edges[:, None], edges[None, :])
    counts = np.diff(np.diff(below, axis=0), axis=1) * 1e12
    return Grid(counts, (np.zeros(bins, bool), np.zeros(bins, bool)))


def test_ties_are_exact():
    """Columns of few values have a bin for each: tau-b is that of the rows, to the last digits."""
    rng = np.random.default_rng(1)
    x = rng.poisson(3.0, 3000).astype(float)
    y = np.round(x + rng.normal(size=3000))
    grid = grid_of(x, y)
    assert all(single[rows > 0].all() for single, rows in zip(grid.single, grid.margins, strict=True))
    assert grid.tau == pytest.approx(cd.kendall_tau(x, y), rel=1e-12)
    assert grid.tau_and_error[1] < 1e-15  # nothing is merged, so nothing can be off


def test_concordance_is_that_of_rows():
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 5, (2, 300)).astype(float)
    grid = grid_of(x, y)
    by_row = cd.concordance(x, y) * 299 / 300  # a row is not compared with itself, and the grid counts it as tied
    at = tuple(np.unique(values, return_inverse=True)[1] for values in (x, y))
    np.testing.assert_allclose(grid.concordance[at], by_row, atol=1e-12)


@pytest.mark.parametrize(
    "copula",
    [cd.Gaussian(0.45), cd.Clayton(3.0), cd.Gumbel(5.0), cd.Joe.from_tau(0.6), cd.Frank.from_tau(0.9), cd.Gaussian(-0.8)],
    ids=repr,
)
@pytest.mark.parametrize("bins", [FINEST, FINEST // 2])
def test_bins_of_no_width(copula, bins):
    """Extrapolated from cells that are known exactly, tau and form are off by less than the error that is told."""
    grid = exact_cells(copula, bins)
    tau, error = grid.tau_and_error
    assert abs(tau - copula.tau) < 1.5 * error
    assert abs(tau - copula.tau) < 0.2 * abs(grid.tau - copula.tau)  # the extrapolation is worth it
    found, errors = grid.coefficients_and_errors(4)
    truth = copula_coefficients(copula, 4)
    assert (np.abs(found - truth) < 3.0 * errors + 2e-6).all()  # the truth is known to a millionth
    assert np.abs(grid.coefficients(4) - truth).max() > 3.0 * np.abs(found - truth).max()
    if bins == FINEST:
        assert np.abs(found - truth).max() < 1e-5  # a hundredth of the standard error of a million rows


def test_extrapolation_is_exact_for_squares():
    """An error that is a multiple of the squared width is gone, and nothing is left to be told."""
    value, error = extrapolated_with_error(1.0 + 0.01, 1.0 + 0.04, 1.0 + 0.16)
    assert value == pytest.approx(1.0, abs=1e-15)
    assert error == pytest.approx(0.0005)  # a twentieth of what it changed: grids may agree by chance


def test_coarser_bins_keep_single_values():
    single = np.array([False, False, True, False, False, False, True, True, False])
    grid = Grid(np.ones((9, 9)), (single, single))
    assert grid.coarser.single[0].tolist() == [False, True, False, False, True, True, False]
    assert grid.coarser.margins[0].tolist() == [18.0, 9.0, 18.0, 9.0, 9.0, 9.0, 9.0]
    assert grid.coarser.n == grid.n


def test_only_wide_variables_are_merged():
    """A variable of many single values has nothing to merge; the other one stays as fine as it may be."""
    rng = np.random.default_rng(10)
    x, y = np.round(10.0 * rng.normal(size=20_000)), rng.normal(size=20_000)
    grid = grid_of(x, y).at_most(64)
    assert grid.counts.shape[0] > 64
    assert 30 < grid.counts.shape[1] <= 64
    assert grid.coefficients(4).shape == (16,)


@pytest.mark.parametrize("family", ["clayton", "gumbel", "gaussian", "frank", "joe", "a1", "a2", "clayton180"])
def test_fits_and_errors_are_those_of_the_rows(family):
    """Every family, on data of another: theta, the errors of tau, fitted tau and shape, and the coefficients of form."""
    draws = cd.as_draws(cd.StudentT(0.88, 3.0).sample(100_000, rng=3))
    sketch = DependenceSketch.of(draws, iid=True)
    counted = CountedBlock(sketch.finish(), [(0, 1)], compare=False, iid=True, order=4)
    ranked = Block(RankedTable.of(draws), [(0, 1)], compare=False, iid=True, order=4)
    template, _ = cd.families.resolve_family(family, None)
    fits = []
    for block in (counted, ranked):
        fitted = fit_pair(block.pair(0), template, method="mle", iid=True)
        fitted.score_in(block, 0)
        block.finish()
        fits.append(fitted)
    own, exact = fits
    spread = {name: found.at(0) for name, found in ranked.spreads.items()}
    assert abs(counted.taus[0] - ranked.taus[0]) < 0.05 * spread["tau"].se
    assert abs(own.tau - exact.tau) < 0.1 * spread["tau_fitted"].se
    for name in ("tau", "tau_fitted", "shape"):
        assert counted.spreads[name].se[0] == pytest.approx(spread[name].se, rel=0.03)  # the grid's error is included
    np.testing.assert_allclose(counted.form.means, ranked.form.means, atol=0.15 * ranked.form.se.max())
    np.testing.assert_allclose(counted.form.se, ranked.form.se, rtol=0.02)


def test_grid_error_limits_what_is_claimed():
    """A billion rows in few bins do not know tau to the digits that their number suggests."""
    grid = exact_cells(cd.Gumbel(5.0), 60)
    tau, error = grid.tau_and_error
    statistical = 0.24 / math.sqrt(1e9)
    assert error > 3.0 * statistical
    assert abs(tau - 0.8) < 2.0 * error
    table = DependenceSketch.of(cd.Gumbel(5.0).sample(20_000, rng=1), iid=True, resolution=16).finish()
    block = CountedBlock(table, [(0, 1)], compare=False, iid=True).finish()
    spread = block.spreads["tau"].at(0)
    assert spread.n_eff < 0.9 * 20_000  # the number of independent rows with this standard error
    assert spread.se > block.pair(0).tau_error


def test_corners_are_counted():
    rng = np.random.default_rng(4)
    x = rng.normal(size=50_000)
    y = 0.7 * x + rng.normal(size=50_000)
    grid = grid_of(x, y)
    u, v = (np.argsort(np.argsort(values)) / 50_000 for values in (x, y))
    for highs in ((False, False), (True, True), (False, True), (True, False)):
        sides = [values >= 0.9 if high else values < 0.1 for values, high in zip((u, v), highs, strict=True)]
        joint, _ = grid.corner((0.1, 0.1), highs, 0.005)
        truth = float(np.mean(sides[0] & sides[1]))
        assert joint == pytest.approx(truth, abs=3e-4)  # the edge of a tail is between two rows, not two edges
    tied = grid_of(np.minimum(x, 1.0), y)
    share = float(np.mean(x >= 1.0))
    assert tied.tail_share(0, True, 0.1) == pytest.approx(share, abs=1e-9)  # a censored tail is as large as it is
    assert tied.tail_share(0, False, 0.1) == pytest.approx(0.1, abs=1e-9)


def test_squares_have_all_rows():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 10_000))
    squares = grid_of(x, x + y).squares(16)
    assert squares.sum() == pytest.approx(10_000)
    np.testing.assert_allclose(squares.sum(axis=0), 625.0, rtol=1e-9)


def test_graded_edges():
    edges = graded(FINEST, 2.5e-5)
    assert edges.size == FINEST - 1
    assert (np.diff(edges) > 0).all()
    assert edges[0] < 5e-5
    assert np.diff(edges).max() < 0.01
    np.testing.assert_allclose(edges, (1.0 - edges)[::-1], atol=1e-9)
    for tail in (0.01, 0.05, 0.1, 0.25):
        assert np.abs(edges[1::2] - tail).min() < 1e-7  # bins twice as wide have it, too
    ratios = np.diff(edges)[1:] / np.diff(edges)[:-1]
    assert (np.abs(np.log(ratios))[2:-2] < 0.5).all()  # widths change smoothly


def test_bins_of_numbers():
    rng = np.random.default_rng(6)
    few = number_bins("few", "numeric", rng.integers(0, 3, 1000).astype(float), FINEST)
    assert few.single.sum() == 3
    mixed = np.where(rng.random(20_000) < 0.3, 0.0, rng.normal(size=20_000))
    spike = number_bins("spike", "numeric", mixed, FINEST)
    assert spike.single.sum() == 1
    assert spike.size <= FINEST
    codes = np.empty(4, np.uint8)
    missing, infinite = spike.fill_codes(np.array([0.0, np.nextafter(0.0, 1.0), np.nan, np.inf]), codes)
    assert (missing, infinite) == (1, 1)
    assert spike.single[codes[0]]
    assert not spike.single[codes[1]]
    assert codes[2] == spike.size
    assert codes[3] == spike.size - 1


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("shape", ["normal", "cauchy", "lognormal", "constant tail"])
def test_codes_are_those_of_a_search(shape, scale):
    rng = np.random.default_rng(7)
    values = {
        "normal": rng.normal(size=5000), "cauchy": rng.standard_cauchy(5000), "lognormal": np.exp(3.0 * rng.normal(size=5000)),
        "constant tail": np.minimum(rng.normal(size=5000), 0.5),
    }[shape] * (scale / 1e5 if scale > 1 else scale)  # fmt: skip
    column = number_bins("x", "numeric", values[:2000].copy(), FINEST)
    codes = np.empty(values.size, np.uint8)
    column.fill_codes(values, codes)
    np.testing.assert_array_equal(codes, np.searchsorted(column.edges, values, side="right"))


def test_levels_have_bins():
    column = level_bins("town", "nominal", ("Graz", "Wien"), np.array([0.0, 1.0, np.nan, 1.0]))
    assert column.labels[:2] == ("Graz", "Wien")
    assert column.size == 3  # one for levels that the pilot does not have
    many = level_bins("many", "nominal", tuple(f"l{k}" for k in range(500)), np.arange(500.0), most=50)
    assert many.size == 50
    with pytest.raises(cd.InputError, match="ordered levels"):
        level_bins("many", "ordinal", tuple(f"l{k}" for k in range(500)), np.arange(500.0), most=50)


def test_groups_of_bins_are_few():
    column = number_bins("x", "numeric", np.random.default_rng(8).normal(size=5000), FINEST)
    assert isinstance(column, ColumnBins)
    assert column.coarse.size == column.size + 1
    assert column.coarse[-1] == column.coarse[:-1].max() + 1  # missing values are a group of their own
    assert (np.diff(column.coarse.astype(int)) >= 0).all()


def test_coefficients_are_means_of_polynomials():
    """Bins of one value each: the mean of products at mid-ranks, by brute force."""
    rng = np.random.default_rng(9)
    x, y = rng.integers(0, 30, (2, 2000)).astype(float)
    grid = grid_of(x, y)
    u, v = ((np.searchsorted(np.sort(a), a) + np.searchsorted(np.sort(a), a, side="right")) / 4000.0 for a in (x, y))
    brute = (polynomials(u, 3) @ polynomials(v, 3).T / 2000.0).ravel()
    np.testing.assert_allclose(grid.coefficients(3), brute, atol=1e-12)
