"""Form of columns with levels, against chi-square statistics, brute force and simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binom, chi2_contingency

import copula_discrepancy as cd
from copula_discrepancy.estimate.coded_columns import FEWEST_ROWS, MOST_LEVELS, OTHER, coded
from copula_discrepancy.estimate.level_pairs import level_gap
from copula_discrepancy.estimate.level_tables import (
    additive_residuals,
    both_levels,
    contrasts,
    levels_and_ranks,
    ordered_functions,
    raked,
)

INDEPENDENT = {"order": 4, "iid": (True, True), "n_chains": (1, 1)}


def labels(count):
    return tuple(f"level {k}" for k in range(count))


def gap_of(own, other, first, second, **options):
    """The gap of two samples (x, y) of a pair; `first` and `second` are (number of labels, ordered)."""
    columns = [coded([own[k], other[k]], labels(kind[0]), ordered=kind[1]) for k, kind in enumerate((first, second))]
    return level_gap([(columns[0][side], columns[1][side]) for side in (0, 1)], **(INDEPENDENT | options))


def random_joint(rng, c, d, strength):
    joint = np.outer(rng.dirichlet(np.full(c, 5.0)), rng.dirichlet(np.full(d, 5.0)))
    joint = joint * np.exp(strength * rng.standard_normal((c, d)))
    return joint / joint.sum()


def drawn(rng, joint, n):
    codes = rng.choice(joint.size, size=n, p=joint.ravel())
    return (codes // joint.shape[1]).astype(float), (codes % joint.shape[1]).astype(float)


# ---- functions and tables -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 7])
def test_functions_are_orthonormal_at_the_shares(count):
    shares = np.random.default_rng(count).dirichlet(np.ones(count))
    ordered = ordered_functions(shares, 4)
    assert ordered.shape == (count, min(4, count - 1))
    gram = ordered.T @ (shares[:, None] * ordered)
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-10)  # QR: rounding only
    np.testing.assert_allclose(shares @ ordered, 0.0, atol=1e-10)
    assert np.all(np.diff(ordered[:, 0]) > 0)  # the first one rises with the level
    nominal = contrasts(shares)
    np.testing.assert_allclose(shares @ nominal, 0.0, atol=1e-10)
    # of a full set of contrasts, the squares at a level add up to 1/p - 1
    np.testing.assert_allclose(np.sum(nominal**2, axis=1), 1.0 / shares - 1.0, rtol=1e-9)


def test_squares_of_coefficients_add_up_to_phi_squared():
    rng = np.random.default_rng(1)
    table = rng.multinomial(900, random_joint(rng, 4, 5, 0.8).ravel()).reshape(4, 5).astype(float)
    shares = [table.sum(axis=1) / 900, table.sum(axis=0) / 900]
    (found,), _ = both_levels([table], [contrasts(part) for part in shares], shares)
    phi_squared = chi2_contingency(table, correction=False).statistic / 900
    assert np.sum(found.coefficients**2) == pytest.approx(phi_squared, rel=1e-6)  # the pseudocount of raking


def test_raking_gives_the_margins_and_keeps_odds_ratios():
    rng = np.random.default_rng(2)
    joint = random_joint(rng, 3, 4, 1.0)
    rows, columns = rng.dirichlet(np.full(3, 5.0)), rng.dirichlet(np.full(4, 5.0))
    found = raked(1e9 * joint, rows, columns)
    np.testing.assert_allclose(found.sum(axis=1), rows, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), columns, atol=1e-9)

    def odds(table):
        return table[0, 0] * table[1:, 1:] / (table[1:, :1] * table[:1, 1:])

    np.testing.assert_allclose(odds(found), odds(joint), rtol=1e-6)  # a pseudocount of 1e-6 in 1e9 rows, and convergence


def test_residuals_are_orthogonal_to_functions_of_one_column():
    rng = np.random.default_rng(3)
    joint = random_joint(rng, 3, 5, 0.7)
    first, second = contrasts(joint.sum(axis=1)), ordered_functions(joint.sum(axis=0), 4)
    weighted = joint[:, :, None] * additive_residuals(joint, first, second)
    np.testing.assert_allclose(weighted.sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(weighted.sum(axis=1), 0.0, atol=1e-10)


def numerical_influence(coefficients, counts, place, step=1e-6):
    """The derivative of coefficients, a function of frequencies, if a little of all rows moves to one place."""
    frequency = counts / counts.sum()
    moved = (1.0 - step) * frequency
    moved[place] += step
    return (coefficients(moved) - coefficients(frequency)) / step


@pytest.mark.parametrize("place", [(0, 0), (2, 1), (1, 3)])
def test_influence_of_two_columns_with_levels_is_the_derivative(place):
    """At other shares than the sample's own, too."""
    rng = np.random.default_rng(4)
    joint = random_joint(rng, 3, 4, 0.8)
    shares = [rng.dirichlet(np.full(3, 9.0)), rng.dirichlet(np.full(4, 9.0))]
    functions = [contrasts(shares[0]), ordered_functions(shares[1], 4)]

    def coefficients(table):
        return both_levels([1e9 * table], functions, shares)[0][0].coefficients

    (found,), _ = both_levels([1e9 * joint], functions, shares)
    np.testing.assert_allclose(found.values[place], numerical_influence(coefficients, joint, place), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("place", [(0, 0), (2, 25), (1, 60), (0, 79)])
def test_influence_of_levels_and_ranks_is_the_derivative(place):
    rng = np.random.default_rng(5)
    within = np.array([rng.dirichlet(np.linspace(1, 3, 80)[:: 1 if k % 2 else -1]) for k in range(3)])
    joint = within * rng.dirichlet(np.full(3, 5.0))[:, None]
    shares = rng.dirichlet(np.full(3, 9.0))
    functions = contrasts(shares)

    def coefficients(table):
        return levels_and_ranks(1e9 * table, functions, shares, 4).coefficients

    found = levels_and_ranks(1e9 * joint, functions, shares, 4)
    np.testing.assert_allclose(found.values[place], numerical_influence(coefficients, joint, place), rtol=1e-3, atol=2e-3)
    np.testing.assert_allclose(np.einsum("xy,xyc->c", found.frequency, found.values), 0.0, atol=1e-9)


# ---- columns as codes -----------------------------------------------------------------------------------------------------


def test_rare_levels_are_pooled_and_told():
    rng = np.random.default_rng(6)
    samples = [rng.choice(40, size=3000, p=np.r_[np.full(4, 0.2), np.full(36, 0.2 / 36)]).astype(float) for _ in range(2)]
    column = coded(samples, labels(40), ordered=False)[0]
    assert column.size <= MOST_LEVELS
    assert column.labels[-1] == OTHER
    assert set(column.pooled) | set(column.labels[:-1]) == set(labels(40))
    assert not set(column.pooled) & set(column.labels)


def test_few_values_are_levels_and_many_are_ranks():
    rng = np.random.default_rng(7)
    counts = coded([rng.poisson(2.0, 500).astype(float)] * 2, (), ordered=True)[0]
    assert counts.has_levels
    assert counts.labels[:3] == ("0", "1", "2")
    numbers = coded([rng.standard_normal(500), rng.standard_normal(700)], (), ordered=True)
    assert not numbers[0].has_levels
    missing = np.r_[np.nan, rng.standard_normal(499)]
    assert coded([missing, missing], (), ordered=True)[0].codes[0] == -1


def test_a_spike_is_a_level_beside_ranks():
    rng = np.random.default_rng(8)
    samples = [np.where(rng.random(2000) < 0.8, 0.0, scale * np.exp(rng.standard_normal(2000))) for scale in (1.0, 50.0)]
    own, other = coded(samples, (), ordered=True)
    assert own.labels[0] == "0"
    assert own.labels[1:] == tuple(f"above 0, part {k} of 4" for k in (1, 2, 3, 4))
    shares = [np.bincount(column.codes)[1:] / np.sum(column.codes > 0) for column in (own, other)]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.01)  # by rank: the scale of the amounts does not matter


# ---- tests ----------------------------------------------------------------------------------------------------------------


def rejections(gaps, level=0.05):
    pvalues = [gap.form.pvalue for gap in gaps]
    assert not any(map(math.isnan, pvalues))
    return sum(pvalue < level for pvalue in pvalues)


def numbers_by_level(rng, n, shares, means):
    level = rng.choice(len(shares), size=n, p=shares)
    return rng.normal(np.asarray(means)[level], 1.0 + 0.5 * (level % 2)), level.astype(float)


KINDS = {
    "nominal x nominal": lambda rng, n: drawn(rng, random_joint(np.random.default_rng(1), 4, 5, 0.7), n),
    "numeric x nominal": lambda rng, n: numbers_by_level(rng, n, [0.4, 0.3, 0.2, 0.1], [0.0, 1.0, 0.5, 2.0]),
    "ordinal x ordinal": lambda rng, n: drawn(rng, random_joint(np.random.default_rng(2), 5, 4, 0.7), n),
}
AS = {
    "nominal x nominal": ((4, False), (5, False)),
    "numeric x nominal": ((0, True), (4, False)),
    "ordinal x ordinal": ((5, True), (4, True)),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [(500, 500), (400, 3000)])
@pytest.mark.parametrize("kind", KINDS)
def test_honest_samples_are_flagged_at_the_nominal_rate(kind, n):
    """150 pairs of samples at 5%: inside the binomial 99.9% band."""
    rng = np.random.default_rng([9, len(kind), *n])
    found = [gap_of(KINDS[kind](rng, n[0]), KINDS[kind](rng, n[1]), *AS[kind]) for _ in range(150)]
    assert binom.ppf(0.0005, 150, 0.05) <= rejections(found) <= binom.ppf(0.9995, 150, 0.05)
    kept = np.array([gap.form.kept for gap in found])
    assert abs(np.nanmean(kept) - 1.0) < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_lost_dependence_is_found(kind):
    rng = np.random.default_rng([10, len(kind)])
    for _ in range(20):
        x, y = KINDS[kind](rng, 1000)
        gap = gap_of((rng.permutation(x), y), KINDS[kind](rng, 1000), *AS[kind])
        assert gap.form.pvalue < 0.001
        assert abs(gap.form.kept) < 0.35


def test_other_shares_are_no_other_dependence():
    """The same odds ratios, and the same distribution in each level, with other shares of the levels; without the common shares
    most of these would be flagged."""
    rng = np.random.default_rng(11)
    joint = random_joint(np.random.default_rng(3), 4, 4, 1.0)
    other = raked(1e9 * joint, np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1]))
    tables = [gap_of(drawn(rng, joint, 2000), drawn(rng, other, 2000), (4, False), (4, False)) for _ in range(150)]
    means = [0.0, 1.0, 2.0]
    shares = [0.6, 0.3, 0.1], [0.2, 0.3, 0.5]
    numbers = [
        gap_of(*(numbers_by_level(rng, 2000, share, means) for share in shares), (0, True), (3, False)) for _ in range(150)
    ]
    for found in (tables, numbers):
        assert rejections(found) <= binom.ppf(0.9995, 150, 0.05)


def test_chains_of_levels_have_errors_that_know_their_autocorrelation():
    """A Markov chain that stays in its level nine times in ten: counted as independent, twice as many are flagged."""
    rng = np.random.default_rng(12)

    def chains(n_chains=4, n_draws=500):
        levels = np.empty((n_chains, n_draws))
        state = rng.integers(0, 3, n_chains)
        for t in range(n_draws):
            move = rng.random(n_chains) < 0.1
            state = np.where(move, rng.integers(0, 3, n_chains), state)
            levels[:, t] = state
        noise = np.empty((n_chains, n_draws))
        noise[:, 0] = rng.standard_normal(n_chains)
        for t in range(1, n_draws):
            noise[:, t] = 0.9 * noise[:, t - 1] + math.sqrt(1 - 0.81) * rng.standard_normal(n_chains)
        return (levels + noise).ravel(), levels.ravel()

    samples = [(chains(), chains()) for _ in range(60)]
    aware = {"iid": (False, False), "n_chains": (4, 4)}
    found = [gap_of(*both, (0, True), (3, False), **aware) for both in samples]
    assert rejections(found) <= binom.ppf(0.9995, 60, 0.05)
    assert all(gap.n_eff[0] < 1000 for gap in found)
    naive = [gap_of(*both, (0, True), (3, False)) for both in samples]
    assert rejections(naive) > 2 * rejections(found) + 4


def test_perfect_dependence_in_both_is_no_gap_and_lost_in_one_is():
    rng = np.random.default_rng(13)
    x, y = (rng.integers(0, 4, 600).astype(float) for _ in range(2))
    same = gap_of((x, x), (y, y), (4, False), (4, False))
    assert not same.form.pvalue < 0.05
    lost = gap_of((x, y), (y, y), (4, False), (4, False))
    assert lost.form.pvalue < 1e-6


def test_what_cannot_be_tested_says_why():
    few = np.arange(20.0) % 2
    assert "rows have both values" in gap_of((few, few), (few, few), (2, False), (2, False))
    rare = np.r_[np.zeros(500), np.ones(FEWEST_ROWS - 1)]
    other = np.random.default_rng(14).integers(0, 2, rare.size).astype(float)
    assert "all levels but one" in gap_of((rare, other), (rare, other), (2, False), (2, False))


def test_the_order_of_the_columns_does_not_matter():
    rng = np.random.default_rng(15)
    own, other = (KINDS["numeric x nominal"](rng, 800) for _ in range(2))
    there = gap_of(own, other, (0, True), (4, False))
    back = gap_of(own[::-1], other[::-1], (4, False), (0, True))
    assert there.form.pvalue == pytest.approx(back.form.pvalue, rel=1e-9)
    assert there.form.kept == pytest.approx(back.form.kept, rel=1e-9)
    np.testing.assert_allclose(there.form.own.reshape(there.shape), back.form.own.reshape(back.shape).T, rtol=1e-9)


def test_a_pair_of_a_table_is_the_pair_alone():
    """Through `pairwise`, with levels matched by their labels in any order."""
    rng = np.random.default_rng(16)
    (x, level), (u, other) = (KINDS["numeric x nominal"](rng, 700) for _ in range(2))
    names = np.array(["d", "b", "a", "c"])
    draws, reference = ({"x": values, "kind": names[codes.astype(int)]} for values, codes in ((x, level), (u, other)))
    (gap,) = cd.pairwise(draws, reference, iid=True)
    alone = gap_of((x, level), (u, other), (0, True), (4, False))
    assert gap.form_pvalue == pytest.approx(alone.form.pvalue, rel=1e-9)
    assert gap.kept == pytest.approx(alone.form.kept, rel=1e-9)
    assert math.isnan(gap.level)
    assert math.isnan(gap.shape)
