"""What ties do to a comparison with a copula: against sums over cells, and on discrete, rounded and censored samples."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.compare.gate import gate
from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.basis import polynomials
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.rank_table import RankedTable
from tests.caveat_codes import codes_of

careful = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")

ROUNDED = np.linspace(0.0, 1.0, 11)
HALF = np.concatenate([[0.0, 0.5], np.linspace(0.5, 1.0, 2000)[1:]])  # the lower half is one value, the rest is continuous
COUNTS = np.concatenate([[0.0], stats.poisson.cdf(np.arange(20), 5.0), [1.0]])


def groups(edges):
    """The parts of (0, 1) that are tied."""
    wide = np.diff(edges) > 1e-3
    return edges[:-1][wide], edges[1:][wide]


def by_cells(copula, first, second, order):
    """E[phi_j(mid(U)) phi_k(mid(V))] as a sum over the cells of both variables' groups."""
    c = copula.cdf(np.clip(first, 1e-12, 1 - 1e-12)[:, None], np.clip(second, 1e-12, 1 - 1e-12)[None, :])
    mass = c[1:, 1:] - c[1:, :-1] - c[:-1, 1:] + c[:-1, :-1]
    phi, psi = (polynomials(0.5 * (edges[1:] + edges[:-1]), order) for edges in (first, second))
    return phi @ mass @ psi.T


@pytest.mark.parametrize("edges", [ROUNDED, HALF, COUNTS])
def test_maps_are_integrals(edges):
    low, high = groups(edges)
    u = (np.arange(400_000) + 0.5) / 400_000
    at = np.searchsorted(low, u, side="right") - 1
    inside = (at >= 0) & (u < high[at])
    middle = np.where(inside, 0.5 * (low + high)[at], u)
    both = np.concatenate([np.ones((1, u.size)), polynomials(u, ties.WIDE)])
    # midpoints next to the ends of groups are off by 1/400,000, times polynomials of up to 4
    np.testing.assert_allclose(ties.tie_map(low, high, 4), polynomials(middle, 4) @ both.T / u.size, atol=2e-4)


COPULAS = [cd.Gaussian(0.5), cd.Clayton(2.0), cd.Rotated(cd.Gumbel(2.0), 90), cd.Frank(-4.0)]
BOTH = [(ROUNDED, ROUNDED), (HALF, HALF), (COUNTS, HALF), (np.linspace(0.0, 1.0, 2001), COUNTS)]


@pytest.mark.parametrize("copula", COPULAS, ids=repr)
@pytest.mark.parametrize(("first", "second"), BOTH)
def test_coefficients_with_ties_are_sums_over_cells(copula, first, second):
    wide = copula_coefficients(copula, ties.WIDE)[None]
    maps = (ties.tie_map(*groups(edges), 4)[None] for edges in (first, second))
    found = ties.with_ties(wide, *maps).reshape(4, 4)
    exact = by_cells(copula, first, second, 4)
    without = copula_coefficients(copula, 4).reshape(4, 4)
    # 0.001 from polynomials of a degree above 24, which a density with corners has; a standard error is 0.01 with 10,000 draws
    np.testing.assert_allclose(found, exact, atol=1e-3)
    assert np.abs(without - exact).max() > 0.015


def test_weights_are_of_ties_that_are_no_repeated_points():
    weights = ties.weights(np.array([0.5, 0.5, 0.0001]), np.array([0.25, 0.25, 0.0]), np.array([0.25, 0.0, 0.0]))
    assert weights.tolist() == [0.5, 0.0, 0.0]
    assert ties.strengths(np.array([0.1, 0.1, 1e-4, 0.1]), np.array([0.0, 0.25, 0.5, math.nan])).tolist() == [0, 0.05, 0, 0.1]


def binned(values, levels):
    """Both columns in so many levels with equally many rows each."""
    return np.argsort(np.argsort(values, axis=0), axis=0) * levels // len(values)


def half(values):
    """Both columns, of which the lower half is one value."""
    return np.maximum(values, 0.5)


PATTERNS = {
    "5 levels": lambda values: binned(values, 5),
    "20 levels": lambda values: binned(values, 20),
    "two digits": lambda values: np.round(stats.norm.ppf(values), 1),
    "counts": lambda values: stats.poisson.ppf(values, 5.0),
    "half": half,
    "50 levels": lambda values: binned(values, 50),
}


@careful
@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("family", ["auto", "own", "target"])
def test_ties_are_no_misfit(pattern, family):
    """Of draws of a family with ties in both columns, at most 5% have a gap, whether the family is known or not.

    Before, 25 to 70% had at 10 to 20 levels, and all of the half censored ones.
    """
    copulas = [cd.Gaussian(0.6), cd.Clayton(1.5), cd.Gumbel(1.6), cd.Frank(4.0), cd.Joe(1.8)]
    copulas += [] if family == "own" else [cd.StudentT(0.5, 3.0)]  # whose df is another parameter
    flagged = 0
    for k in range(100):
        copula = copulas[k % len(copulas)]
        draws = PATTERNS[pattern](copula.sample(2000, rng=k))
        target, name = (copula, None) if family == "target" else (None, copula.name if family == "own" else "auto")
        flagged += cd.pairwise(draws, target, family=name, iid=True).n_flagged
    # a known tau is tested, too: three tests at once, adjusted
    assert flagged <= stats.binom.ppf(0.999, 100, 0.05)


@careful
@pytest.mark.parametrize(
    ("copula", "levels"), [(cd.StudentT(0.454, 3.0), 50), (cd.Frank(4.0), 7), (cd.StudentT(0.454, 3.0), 7)]
)
def test_every_choice_of_a_family_knows_ties(copula, levels):
    """Also that of all families, whose likelihoods they bias; Student t has a few ties like others."""
    for exact in (False, True):
        results = [cd.pairwise(np.floor(levels * copula.sample(3000, rng=k)), iid=True, exact=exact) for k in range(6)]
        assert sum(result.n_flagged for result in results) <= 1


@careful
def test_large_groups_at_opposite_ends_make_no_level():
    """Kendall's tau-b of two variables with many zeros that exclude each other is far from tau."""
    target = cd.Gaussian.from_tau(-0.9)
    draws = [np.maximum(target.sample(1000, rng=k), 0.55) for k in range(10)]
    assert sum(cd.pairwise(values, target, iid=True).n_flagged for values in draws) <= 1
    lost = np.maximum(np.random.default_rng(1).random((1000, 2)), 0.2)
    assert cd.pairwise(lost, target, iid=True).n_flagged == 1


@careful
@pytest.mark.parametrize("pattern", ["5 levels", "20 levels", "two digits", "counts"])
def test_misfits_are_found_with_ties(pattern):
    """Clayton is not Gaussian, and a funnel no family's, however the values are rounded."""
    values = PATTERNS[pattern](cd.Clayton(2.0).sample(4000, rng=1))
    for target, family in ((None, "gaussian"), (cd.Gaussian.from_tau(0.5), None)):
        result = cd.pairwise(values, target, family=family, iid=True)
        assert result.n_flagged == 1
        assert "rounded-values" in codes_of(result) or "few-values" in codes_of(result)
    rng = np.random.default_rng(2)
    scale, effect = rng.normal(size=(2, 4000))
    funnel = stats.norm.cdf(np.column_stack([scale, np.exp(0.5 * scale) * effect / 1.5]).clip(-8, 8))
    assert cd.pairwise(PATTERNS[pattern](funnel), iid=True).n_flagged == 1


def test_repeated_points_are_counted_once_for_all_pairs(monkeypatch):
    states = np.random.default_rng(6).normal(size=(300, 4))
    draws = np.repeat(states, np.random.default_rng(7).integers(1, 9, 300), axis=0)
    table = RankedTable.of_columns(list(draws.T))
    assert table.tied_rows == RankedPair.from_draws(draws[:, :2]).tied_in_both()
    monkeypatch.setattr(RankedPair, "tied_in_both", None)
    assert Block(table, [(0, 1), (2, 3)], compare=False, iid=False).tie_weights.tolist() == [0.0, 0.0]
    monkeypatch.undo()
    rounded = RankedTable.of_columns([*draws.T[:3], np.round(draws[:, 3])])
    assert rounded.tied_rows == table.tied_rows
    weights = Block(rounded, [(0, 1), (2, 3)], compare=False, iid=False).tie_weights
    assert weights[0] == 0.0
    assert weights[1] == pytest.approx(np.unique(np.round(draws[:, 3]), return_counts=True)[1].max() / len(draws), rel=0.05)


@careful
@pytest.mark.parametrize("kind", ["ordered", "number"])
def test_a_misfit_of_few_values_fails_a_limit(kind):
    """A variable that is high at both ends of another, in five levels, is not independent of it."""
    rng = np.random.default_rng(3)
    x = rng.random(3000)
    inside = (x > 0.15) & (x < 0.85)
    level = np.where(inside, (np.abs(x - 0.5) / 0.35 * 3).astype(int) + 1, rng.integers(0, 5, x.size)).clip(0, 4)
    y = pd.Categorical.from_codes(level, list("abcde"), ordered=True) if kind == "ordered" else level.astype(float)
    result = cd.pairwise(pd.DataFrame({"x": x, "y": y}), np.eye(2), iid=True)
    assert result.worst.form_pvalue < 1e-6
    assert "rounded-values" in codes_of(result)
    assert gate(result, max_gap=0.05).failed


@careful
def test_many_rows_with_two_decimals_hide_nothing():
    """A pattern without correlation is found among rounded values as among others."""
    rng = np.random.default_rng(4)
    u = rng.random(60_000)
    some = (u > 0.3) & (u < 0.7) & (rng.random(u.size) < 0.3)
    v = np.where(some, 1.0 - np.abs(u - 0.5) * rng.random(u.size), rng.random(u.size))
    exact, rounded = (cd.pairwise(np.column_stack([u, v]).round(k), np.eye(2), iid=True, engine="exact") for k in (9, 2))
    assert exact.n_flagged == rounded.n_flagged == 1
    assert rounded.worst.form == pytest.approx(exact.worst.form, rel=0.05)


@careful
@pytest.mark.parametrize("copula", [cd.Clayton.from_tau(0.2), cd.Frank.from_tau(0.7)], ids=repr)
def test_scores_and_the_bootstrap_know_ties(copula):
    """CKL had p < 0.05 in 8 and 10 of 10 samples of counts, beside a total without a gap."""
    results = [cd.discrepancy(stats.poisson.ppf(copula.sample(3000, rng=k), 2.0), copula, iid=True) for k in range(10)]
    for name in ("ckl", "ced"):
        assert sum(result.estimates[name].pvalue < 0.05 for result in results) <= 1, name
    again = results[0].infer(replications=60, rng=1)
    for name in ("level", "shape", "total", "ckl"):
        assert again.estimates[name].pvalue > 0.05, name
    for name in ("level", "shape", "total"):
        assert again.estimates[name].se == pytest.approx(results[0].estimates[name].se, rel=0.35), name  # 60 replications
    other = cd.discrepancy(np.floor(20 * copula.sample(3000, rng=1)), copula.from_tau(0.45), iid=True)
    assert other.estimates["ckl"].pvalue < 0.05
    assert other.infer(replications=100, rng=1).estimates["total"].pvalue < 0.05


@careful
def test_counted_rows_have_the_same_ties():
    values = binned(cd.Clayton(2.0).sample(4000, rng=5), 10).astype(float)
    ranked, counted = (cd.pairwise(values, cd.Clayton(2.0), iid=True, engine=engine) for engine in ("exact", "counted"))
    for name in ("level_se", "shape_se", "form", "form_se"):
        assert counted.rows[name][0] == pytest.approx(ranked.rows[name][0], rel=0.1), name
