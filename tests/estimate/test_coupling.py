"""Margins of one sample joined with the dependence of another, against brute force."""

import numpy as np
import pytest
from scipy.stats import rankdata

from copula_discrepancy.estimate.coupling import TIE_BREAKINGS, Rows, SortedSample, joined, random_order
from copula_discrepancy.estimate.resampling import BlockResampling, additive_part


def sample(n, seed, d=3):
    rng = np.random.default_rng(seed)
    return SortedSample.of(rng.standard_normal((d, n)) + rng.standard_normal(n), rng)


def within_cells(values, ranks, found):
    """Whether every value is F^-1(p) for some p between (R - 1)/m and R/m, with R from 1."""
    n, m = values.size, ranks.size
    low, high = (ranks - 1) * n // m, -(-(ranks * n) // m) - 1
    return ((values[low] <= found) & (found <= values[high])).all()


@pytest.mark.parametrize(("n", "m"), [(50, 50), (50, 20), (20, 50), (60, 20), (20, 60), (7, 1000), (1000, 7)])
def test_every_row_takes_the_values_of_its_ranks(n, m):
    margins, dependence = sample(n, 1), sample(m, 2)
    found = joined(margins, dependence, np.random.default_rng(1))
    for k in range(3):
        assert within_cells(margins.values[k], rankdata(dependence.columns[k]).astype(int), found[k])
    if m % n == 0:  # the margins are those of the first sample to the last bit
        np.testing.assert_array_equal(np.sort(found, axis=1), np.repeat(margins.values, m // n, axis=1))
    if n == m:  # and the ranks those of the second
        np.testing.assert_array_equal(rankdata(found, axis=1), rankdata(dependence.columns, axis=1))


@pytest.mark.parametrize(("n", "m"), [(12, 15), (15, 12), (100, 7)])
def test_margins_of_other_lengths_are_right_on_average(n, m):
    """Every value of the first sample is taken m/n times; the quantile at (R - 1/2)/m takes some twice as often as others."""
    margins, dependence = sample(n, 1), sample(m, 2)
    rng = np.random.default_rng(3)
    runs = 4000
    found = np.concatenate([joined(margins, dependence, rng)[0] for _ in range(runs)])
    counts = np.array([(found == value).sum() for value in margins.values[0]]) / runs
    np.testing.assert_allclose(counts, m / n, atol=5 * 0.5 / np.sqrt(runs))  # a count has a standard deviation of at most 1/2


@pytest.mark.parametrize(("n", "m"), [(40, 40), (40, 25), (25, 40)])
def test_resamples_have_the_margins_and_ranks_of_their_rows(n, m):
    margins, dependence = sample(n, 3), sample(m, 4)
    rng = np.random.default_rng(5)
    mine, others = rng.integers(n, size=n), rng.integers(m, size=m)
    found = joined(margins, dependence, rng, (Rows.of(mine, n), Rows.of(others, m)))
    for k in range(3):
        values = np.sort(margins.columns[k, mine])
        host = dependence.columns[k, others]
        # copies of a row have consecutive ranks, in the order in which they come
        ranks = np.argsort(np.argsort(host, kind="stable"))
        assert within_cells(values, ranks + 1, found[k])
        if n == m:
            np.testing.assert_array_equal(found[k], values[ranks])


def test_a_sample_joined_with_itself_is_itself():
    own = sample(200, 6)
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(joined(own, own, rng), own.columns)
    rows = Rows.of(rng.integers(200, size=200), 200)
    np.testing.assert_array_equal(joined(own, own, rng, (rows, rows)), own.columns[:, rows.rows])


def test_copies_are_counted():
    rows = Rows.of(np.array([2, 0, 2, 2, 1]), 4)
    assert rows.counts.tolist() == [1, 1, 3, 0]
    assert rows.copies.tolist() == [0, 0, 1, 2, 0]


def test_ties_are_broken_at_random_and_apart_in_every_column():
    """Broken by row, two independent binary columns would become dependent where their shares differ from the margins'."""
    rng = np.random.default_rng(7)
    n = 4000
    host = SortedSample.of((rng.random((2, n)) < 0.5).astype(float), rng)
    margins = SortedSample.of((rng.random((2, n)) < 0.2).astype(float), rng)
    assert host.breakings == TIE_BREAKINGS
    correlations = [np.corrcoef(joined(margins, host, rng, breaking=k))[0, 1] for k in range(TIE_BREAKINGS)]
    assert np.abs(correlations).max() < 4 / np.sqrt(n)
    assert len({round(value, 12) for value in correlations}) > 1
    orders = host.orders.copy()
    orders[0] = np.argsort(host.columns, axis=1, kind="stable")
    by_row = SortedSample(host.columns, host.values, orders)
    assert abs(np.corrcoef(joined(margins, by_row, rng))[0, 1]) > 10 / np.sqrt(n)  # what is avoided


def test_a_random_order_sorts():
    rng = np.random.default_rng(8)
    column = rng.integers(5, size=300).astype(float)
    first, second = random_order(column, rng), random_order(column, rng)
    for order in (first, second):
        assert sorted(order.tolist()) == [*range(300)]
        assert (np.diff(column[order]) >= 0).all()
    assert (first != second).any()


class TestBlocks:
    def chains(self, phi, seed=1, shape=(4, 1000)):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(shape)
        for t in range(1, shape[1]):
            x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi**2) * x[:, t]
        return x.reshape(1, -1)

    def test_blocks_are_consecutive_rows_of_one_chain(self):
        blocks = BlockResampling.of(self.chains(0.9), 4, iid=False)
        assert 60 < blocks.block < 160  # five autocorrelation times of 19
        rows = blocks.rows(np.random.default_rng(2))
        assert rows.size == 4000
        for part in np.split(rows, range(blocks.block, 4000, blocks.block)):
            assert len({row // 1000 for row in part}) == 1
            assert set(np.diff(part) % 1000) <= {1}

    def test_every_row_is_equally_likely(self):
        blocks = BlockResampling(2, 50, 5.0, 25)
        rng = np.random.default_rng(3)
        counts = np.bincount(np.concatenate([blocks.rows(rng) for _ in range(4000)]), minlength=100)
        # 4,000 resamples: a row occurs once in each on average; blocks of 25 make counts vary 25 times as much as alone
        assert np.abs(counts / 4000 - 1.0).max() < 5 * np.sqrt(25 / 4000)

    def test_independent_rows_are_resampled_alone(self):
        blocks = BlockResampling.of(self.chains(0.9), 4, iid=True)
        assert (blocks.block, blocks.time, blocks.n) == (1, 1.0, 4000)
        assert blocks.inflation == pytest.approx(4000 / 3999)

    def test_the_correction_is_that_of_an_autoregression(self):
        """The variance of a block's mean, times its length, over the long-run variance, for AR(1)."""
        rho, b = 0.8, 45
        lags = np.arange(1, b)
        kept = (1.0 + 2.0 * np.sum((1 - lags / b) * rho**lags)) / ((1 + rho) / (1 - rho))
        blocks = BlockResampling(1, 45 * 1_000_000, (1 + rho) / (1 - rho), b)
        assert 1 / blocks.inflation == pytest.approx(kept, rel=1e-5)  # K is a million

    def test_there_are_at_least_twelve_blocks(self):
        walk = np.cumsum(np.random.default_rng(4).standard_normal((1, 400)), axis=1)
        blocks = BlockResampling.of(walk, 1, iid=False)
        assert blocks.block == 33
        assert blocks.df == 1.0  # blocks of the right length would be two at most
        assert blocks.inflation > 2.0  # neighbours depend on each other
        assert BlockResampling.of(walk, 100, iid=False).block == 2  # and at most half a chain

    def test_the_additive_part_is_what_variables_contribute_alone(self):
        rng = np.random.default_rng(5)
        a, b = rng.standard_normal((2, 4000))
        found = additive_part(2 * a + b**2 + a * b, np.stack([a, b]))
        assert np.corrcoef(found, 2 * a + b**2)[0, 1] > 0.97
        assert abs(np.corrcoef(found, a * b)[0, 1]) < 0.1
