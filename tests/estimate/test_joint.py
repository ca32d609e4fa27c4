"""One answer for all pairs: a p-value that holds with far more cells than batches, and how much dependence is kept."""

import numpy as np
import pytest

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import as_draws
from copula_discrepancy.estimate.joint import _squared_covariance, joint
from copula_discrepancy.estimate.rank_table import RankedTable


def ranked(values):
    return RankedTable.of(as_draws(values))


def equicorrelated(rng, n, d, rho):
    return np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1.0 - rho) * rng.standard_normal((n, d))


def test_squared_covariance_has_no_bias():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(300):
        vectors = rng.standard_normal((12, 200)) @ np.diag(np.linspace(0.5, 1.5, 200)) + 3.0  # their mean does not matter
        found.append(_squared_covariance(vectors @ vectors.T))
    exact = np.sum(np.linspace(0.5, 1.5, 200) ** 4)
    assert np.mean(found) == pytest.approx(exact, abs=4.0 * np.std(found) / np.sqrt(300))


@pytest.mark.parametrize(("shape", "phi", "iid"), [((1, 500), 0.0, True), ((4, 500), 0.9, False)])
def test_size(shape, phi, iid):
    rng = np.random.default_rng(2)
    pvalues = []
    for _ in range(20):
        tables = []
        for _ in range(2):
            values = rng.standard_normal((*shape, 8))
            for t in range(1, shape[1]):
                values[:, t] = phi * values[:, t - 1] + np.sqrt(1.0 - phi**2) * values[:, t]
            values[..., 1] += values[..., 0]
            tables.append(ranked(values))
        pvalues.append(joint(*tables, iid=(iid, iid), n_jobs=1).pvalue)
    assert np.sum(np.array(pvalues) < 0.05) <= 4  # of 20 at 5%: more in 0.3% of runs
    assert np.median(pvalues) > 0.2


def test_many_small_differences_are_found_together():
    rng = np.random.default_rng(3)
    draws, reference = equicorrelated(rng, 1000, 25, 0.08), rng.standard_normal((1000, 25))
    found = joint(ranked(draws), ranked(reference), iid=(True, True), n_jobs=1)
    assert found.pvalue < 1e-6
    assert found.sum_pvalue < 1e-3 * found.largest_pvalue  # no pair shows it alone


@pytest.mark.parametrize("share", [1.0, 0.4, 0.0])
def test_kept(share):
    """Rows that are dependent with a probability have that share of the coefficients."""
    rng = np.random.default_rng(4)
    values = equicorrelated(rng, 4000, 6, 0.6)
    broken = np.where(rng.random((4000, 1)) < share, values, rng.standard_normal((4000, 6)))
    reference = equicorrelated(rng, 4000, 6, 0.6)
    found = joint(ranked(broken), ranked(reference), iid=(True, True), confidence=0.999, n_jobs=1)
    low, high = found.kept.ci
    assert low < share < high  # misses once in a thousand
    assert high - low < 0.2
    assert (found.pvalue < 0.001) == (share < 1.0)


def test_nothing_to_keep():
    rng = np.random.default_rng(5)
    draws, reference = rng.standard_normal((2, 500, 4))
    assert np.isnan(joint(ranked(draws), ranked(reference), iid=(True, True), n_jobs=1).kept.value)


def test_columns_left_out_are_named():
    rng = np.random.default_rng(6)
    samples = []
    for _ in range(2):
        values = rng.standard_normal((300, 4))
        values[:, 2] = values[:, 2] > 0
        samples.append(ranked(values))
    found = joint(*samples, iid=(True, True), n_jobs=1)
    assert found.left_out == {"x2": "too few different values"}
    assert found.n_pairs == 3
    assert found.to_dict()["left_out"] == found.left_out
    with pytest.raises(InputError, match="too few different values"):
        joint(*(ranked((np.arange(300) % 2.0)[:, None] * np.ones(3)) for _ in range(2)), iid=(True, True))
