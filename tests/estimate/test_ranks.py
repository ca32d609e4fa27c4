"""Ranks and concordance against brute force over all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import copula_discrepancy as cd


def signs(z):
    return np.greater.outer(z, z).astype(int) - np.less.outer(z, z).astype(int)  # a difference may overflow


def pair_signs(x, y):
    return signs(x) * signs(y)


def brute_tau(x, y, variant):
    n = len(x)
    total = int(pair_signs(x, y)[np.triu_indices(n, 1)].sum())
    pairs = n * (n - 1) // 2
    if variant == "a":
        return total / pairs
    untied = [int(np.count_nonzero(signs(z)[np.triu_indices(n, 1)])) for z in (x, y)]
    return total / np.sqrt(float(untied[0]) * float(untied[1]))


# few distinct values make ties; floats of every size, minus zero and subnormals make trouble for sort keys
TIED = st.integers(-3, 3).map(float)
WILD = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308]))


@st.composite
def samples(draw):
    n = draw(st.integers(2, 70))
    values = draw(st.sampled_from([TIED, WILD]))
    x = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    y = np.array(draw(st.lists(draw(st.sampled_from([TIED, WILD])), min_size=n, max_size=n)))
    return x, y


@given(samples())
@settings(max_examples=300, deadline=None)
def test_tau_and_concordance_against_brute_force(sample):
    x, y = sample
    if (x == x[0]).all() or (y == y[0]).all():
        with pytest.raises(cd.InputError, match="constant"):
            cd.kendall_tau(x, y)
        return
    assert cd.kendall_tau(x, y, variant="a") == brute_tau(x, y, "a")
    assert abs(cd.kendall_tau(x, y) - brute_tau(x, y, "b")) <= 2e-16
    np.testing.assert_array_equal(cd.concordance(x, y), pair_signs(x, y).sum(axis=1) / (len(x) - 1))


@given(samples())
@settings(max_examples=200, deadline=None)
def test_pseudo_observations_are_mid_ranks(sample):
    draws = np.column_stack(sample)
    expected = stats.rankdata(draws, axis=0) / (len(draws) + 1)
    np.testing.assert_array_equal(cd.pseudo_observations(draws), expected)


# sizes around the bitmap words (64), the blocks (4096) and the digits (2**20) of the counting passes
@pytest.mark.parametrize("n", [63, 64, 65, 4095, 4096, 4097, 8191, 8193, 100_003])
@pytest.mark.parametrize("levels", [3, 50, 10**9])
def test_block_boundaries_against_scipy(n, levels):
    rng = np.random.default_rng(n + levels)
    x = rng.integers(0, levels, n).astype(float)
    y = rng.integers(0, levels, n) + 0.5 * x
    assert abs(cd.kendall_tau(x, y) - stats.kendalltau(x, y).statistic) < 1e-13
    assert abs(cd.concordance(x, y).mean() - cd.kendall_tau(x, y, variant="a")) < 1e-13


def test_more_than_twenty_bits_of_ranks():
    n = 2**20 + 4097  # three splitting passes for the inversions
    y = np.random.default_rng(0).permutation(n)
    assert abs(cd.kendall_tau(np.arange(n), y) - stats.kendalltau(np.arange(n), y).statistic) < 1e-12


def test_millions_of_draws_do_not_overflow():
    """Swapping two halves of a sorted sample makes (n/2)**2 = 2.25e12 discordant pairs, far beyond 32 bits."""
    n = 3 * 10**6
    x = np.arange(n, dtype=float)
    y = np.concatenate([x[n // 2 :], x[: n // 2]])
    pairs = n * (n - 1) // 2
    assert cd.kendall_tau(x, y) == (pairs - 2 * (n // 2) ** 2) / pairs
    assert cd.kendall_tau(x, -x) == -1.0


def test_sort_keys_that_collide_in_their_upper_bits():
    """Values that differ only in low mantissa bits, beside one far away, share their packed 32-bit keys."""
    rng = np.random.default_rng(3)
    x = np.concatenate([1.0 + rng.permutation(5000) * 2.0**-52, [1e300, -1e300]])
    y = rng.normal(size=x.size)
    assert abs(cd.kendall_tau(x, y) - stats.kendalltau(x, y).statistic) < 1e-14
    np.testing.assert_array_equal(
        cd.pseudo_observations(np.column_stack([x, y])), stats.rankdata(np.column_stack([x, y]), axis=0) / 5003
    )


@pytest.mark.parametrize("transform", [np.exp, np.arctan, lambda z: z**3, lambda z: -1.0 / (z + 100.0)])
def test_invariance_under_increasing_transforms(transform):
    draws = cd.Gumbel(2.0).sample(3000, rng=4) * 6 - 3
    moved = np.column_stack([transform(draws[:, 0]), draws[:, 1]])
    np.testing.assert_array_equal(cd.pseudo_observations(draws), cd.pseudo_observations(moved))
    assert cd.kendall_tau(*draws.T) == cd.kendall_tau(*moved.T)


def test_perfect_dependence_is_exactly_one_even_with_ties():
    x = np.repeat(np.arange(50.0), 3)
    assert cd.kendall_tau(x, 2 * x) == 1.0
    assert cd.kendall_tau(x, -x) == -1.0


def test_matrix_equals_single_taus_whatever_the_number_of_workers():
    rng = np.random.default_rng(5)
    draws = rng.normal(size=(900, 30))
    draws[:, 3] = rng.integers(0, 4, 900)
    draws[:, 4] = draws[:, 3] + rng.integers(0, 2, 900)
    draws[:, 7] = -draws[:, 6]
    expected = np.array([[cd.kendall_tau(a, b) for a in draws.T] for b in draws.T])
    for n_jobs in (None, 1, 2, 3):
        np.testing.assert_array_equal(cd.kendall_matrix(draws, n_jobs=n_jobs), expected)
    expected_a = np.array([[cd.kendall_tau(a, b, variant="a") for a in draws.T] for b in draws.T])
    np.testing.assert_allclose(cd.kendall_matrix(draws, variant="a"), expected_a, rtol=0, atol=1e-15)


def test_matrix_runs_on_another_joblib_backend():
    import joblib

    draws = np.random.default_rng(6).normal(size=(1000, 25))
    expected = cd.kendall_matrix(draws, n_jobs=1)
    with joblib.parallel_config("sequential"):
        np.testing.assert_array_equal(cd.kendall_matrix(draws, n_jobs=None), expected)


def test_kernels_run_from_threads():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(7)
    pairs = [rng.normal(size=(2, 5000)) for _ in range(16)]
    with ThreadPoolExecutor(4) as pool:
        parallel = list(pool.map(lambda pair: cd.kendall_tau(*pair), pairs))
    assert parallel == [cd.kendall_tau(*pair) for pair in pairs]


def test_chains_are_ranked_together_and_keep_their_shape():
    chains = np.random.default_rng(8).normal(size=(4, 25, 3))
    u = cd.pseudo_observations(chains)
    assert u.shape == (4, 25, 3)
    np.testing.assert_array_equal(u.reshape(100, 3), cd.pseudo_observations(chains.reshape(100, 3)))


def test_large_integers_keep_their_order():
    """2**53 and 2**53 + 1 are one float; as draws they are two values."""
    x = 2**53 + np.arange(6)
    assert cd.kendall_tau(x, [0, 1, 2, 3, 4, 5]) == 1.0
    assert cd.kendall_tau(np.array([2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64), [1, 2, 3]) == 1.0
