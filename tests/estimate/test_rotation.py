"""The test of marked draws: exact against brute force, valid on chains with runs, and able to find what is there."""

from itertools import product

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from copula_discrepancy.estimate.rotation import rotation_pvalue


def chain(rng, memory, chains, draws):
    """Autoregressive chains with variance 1."""
    noise = rng.standard_normal((chains, draws + 200))
    return lfilter([np.sqrt(1.0 - memory**2)], [1.0, -memory], noise, axis=1)[:, 200:]


def highest(values, share):
    return values >= np.quantile(values, 1.0 - share)


@pytest.mark.parametrize("seed", range(5))
def test_it_counts_all_rotations_of_all_chains(seed):
    rng = np.random.default_rng(seed)
    marked, inside = rng.random((2, 2, 9)) < 0.4
    observed = (marked & inside).sum()
    counts = [
        sum((np.roll(marked[k], shift) & inside[k]).sum() for k, shift in enumerate(shifts))
        for shifts in product(range(9), repeat=2)
    ]
    assert rotation_pvalue(marked, inside) == pytest.approx(
        (np.mean(np.array(counts) >= observed), np.mean(np.array(counts) == max(counts))), rel=1e-12
    )


def test_nothing_and_everything_marked_or_inside_say_nothing():
    some, none = np.random.default_rng(1).random((2, 50)) < 0.3, np.zeros((2, 50), bool)
    for marked, inside in ((none, some), (some, none), (some, ~none), (~none, some)):
        assert rotation_pvalue(marked, inside) == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize("memory", [0.0, 0.95])
@pytest.mark.parametrize("marks", [5, 40])
def test_its_size_is_right_on_chains_with_runs(memory, marks):
    """Rejections at 5% in 400 replications stay below the exact binomial 99.9% limit; few marks make it conservative."""
    rng, rejected = np.random.default_rng(marks), 0
    for _ in range(400):
        inside = highest(chain(rng, memory, 4, 250), 0.25)
        rejected += rotation_pvalue(highest(chain(rng, 0.9, 4, 250), marks / 1000), inside)[0] <= 0.05
    assert rejected <= binom.ppf(0.999, 400, 0.05)


def test_marks_that_gather_are_found():
    """A tenth of the draws inside are marked, and one in a hundred elsewhere: as with divergences in a neck."""
    rng = np.random.default_rng(1)
    inside = highest(chain(rng, 0.9, 4, 500), 0.25)
    marked = rng.random(inside.shape) < np.where(inside, 0.1, 0.01)
    assert rotation_pvalue(marked, inside)[0] < 1e-4
    assert rotation_pvalue(marked, ~inside)[0] > 0.99


def test_chains_that_differ_are_no_evidence():
    """All marks, and all draws inside, are in one chain: its rotations are all alike."""
    marked, inside = np.zeros((2, 4, 100), bool)
    inside[0], marked[0, ::7] = True, True
    assert rotation_pvalue(marked, inside) == pytest.approx((1.0, 1.0))
