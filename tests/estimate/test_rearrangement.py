"""Positions that give columns the ranks of a template, against brute force."""

import numpy as np
import pytest

from copula_discrepancy.estimate.rearrangement import NEIGHBOURS, rearranged, rearranged_beside, template_rows


def generators(count, seed=1):
    return np.random.default_rng(seed).spawn(count)


def taken(values, positions):
    return np.take_along_axis(values, positions, axis=0)


@pytest.mark.parametrize(("available", "needed"), [(5, 5), (7, 3), (3, 7), (2, 2), (1, 4), (1000, 999), (999, 1000)])
def test_rows_of_a_template_are_spread_evenly(available, needed):
    rows = template_rows(available, needed)
    assert rows.shape == (needed,)
    assert (np.diff(rows) >= 0).all()
    uses = np.bincount(rows, minlength=available)
    assert set(uses.tolist()) <= {needed // available, -(-needed // available)}
    if available > needed:
        gaps = np.diff(rows)
        assert gaps.max(initial=1) - gaps.min(initial=1) <= 1


@pytest.mark.parametrize("anchor", [0, 2])
def test_ranks_are_those_of_the_template_and_the_anchor_stays(anchor):
    rng = np.random.default_rng(1)
    values, template = rng.normal(size=(2, 40, 3))
    positions, layout = rearranged(values, template, anchor, generators(3))
    got = taken(values, positions)
    assert np.array_equal(positions[:, anchor], np.arange(40))
    assert np.array_equal(np.sort(positions, axis=0), np.tile(np.arange(40)[:, None], 3))
    for i in range(40):
        for k in range(3):  # brute force: as many values below as in the row of the template
            assert (got[:, k] < got[i, k]).sum() == (template[:, k] < template[layout[i], k]).sum()


def test_ties_do_not_make_independent_columns_dependent():
    """Independent binary columns, with other shares in the template, stay independent; ties broken by row would couple them."""
    rng = np.random.default_rng(1)
    n = 4000
    values = (rng.random((n, 2)) < 0.5).astype(float)
    template = (rng.random((n, 2)) < 0.2).astype(float)
    got = taken(values, rearranged(values, template, 0, generators(2))[0])
    # the standard error of a correlation of independent columns is n ** -0.5; 4 of them happen once in 15,000
    assert abs(np.corrcoef(got.T)[0, 1]) < 4 * n**-0.5

    def by_row(column):
        return np.argsort(column, kind="stable")

    naive = np.empty_like(values)
    for k in range(2):
        naive[by_row(template[:, k]), k] = values[by_row(values[:, k]), k]
    assert np.corrcoef(naive.T)[0, 1] > 0.5


def test_copies_of_a_row_are_broken_at_random():
    """A reference of two rows says which half goes with which, and no more."""
    values = np.random.default_rng(1).normal(size=(2000, 2))
    template = np.repeat([[0.0, 0.0], [1.0, 1.0]], 1000, axis=0)
    got = taken(values, rearranged(values, template, 0, generators(2))[0])
    low = got[:, 0] < np.median(got[:, 0])
    assert ((got[:, 1] < np.median(got[:, 1])) == low).all()
    assert all(abs(np.corrcoef(got[half].T)[0, 1]) < 4 * 1000**-0.5 for half in (low, ~low))


def curved(rng, n, beside):
    """A banana in the first and the last column, and columns that matter to nobody."""
    x = rng.normal(size=(n, beside + 2))
    x[:, -1] = x[:, 0] ** 2 + 0.3 * x[:, -1]
    return x


@pytest.mark.parametrize("beside", [1, 6])
def test_moved_columns_follow_several_fixed_ones(beside):
    rng = np.random.default_rng(1)
    reference, values = curved(rng, 3000, beside), curved(rng, 3000, beside)
    values[:, -1] = rng.permutation(values[:, -1])
    d = beside + 2
    positions, rows = rearranged_beside(values, reference, list(range(d - 1)), generators(d + 1))
    got = taken(values, positions)
    assert np.array_equal(got[:, :-1], values[:, :-1])
    assert np.array_equal(np.sort(got[:, -1]), np.sort(values[:, -1]))

    def bend(x):
        return np.corrcoef(np.abs(x[:, 0]), np.argsort(np.argsort(x[:, -1])))[0, 1]

    assert abs(bend(values)) < 0.1
    # without weights of the fixed columns, six that matter to nobody leave 0.2 of it missing
    assert abs(bend(got) - bend(reference)) < 0.06
    assert np.bincount(rows).max() < 60  # no row is used over and over


def test_rows_of_few_values_are_not_used_over_and_over():
    rng = np.random.default_rng(1)
    reference = np.column_stack([rng.integers(0, 2, (2000, 2)), rng.normal(size=2000)]).astype(float)
    values = np.column_stack([rng.integers(0, 2, (2000, 2)), rng.normal(size=2000)]).astype(float)
    rows = rearranged_beside(values, reference, [0, 1], generators(4))[1]
    # as often as at random, about 1, with some rows that many are close to: ties in the order of rows would give hundreds
    assert np.bincount(rows).max() < 25


def test_a_small_reference_has_fewer_neighbours():
    values = np.random.default_rng(1).normal(size=(9, 3))
    positions, rows = rearranged_beside(values, values[: NEIGHBOURS - 1], [0, 1], generators(4))
    assert np.array_equal(np.sort(positions, axis=0), np.tile(np.arange(9)[:, None], 3))
    assert set(rows.tolist()) <= {0, 1}
