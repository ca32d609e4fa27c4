"""The long-run variance and R-hat of compiled loops against ArviZ's and the definitions."""

import math

import numpy as np
import pytest
from arviz_stats.base import array_stats

from copula_discrepancy._core import kernels


def walk(rng, n_chains, n_draws, phi):
    values = rng.standard_normal((n_chains, n_draws))
    for t in range(1, n_draws):
        values[:, t] = phi * values[:, t - 1] + math.sqrt(1.0 - phi**2) * values[:, t]
    return values


CHAINS = {
    f"{name} {shape}": walk(np.random.default_rng(k), *shape, phi)
    for k, (name, phi) in enumerate({"iid": 0.0, "AR(0.9)": 0.9, "AR(0.999)": 0.999, "antithetic": -0.9}.items())
    for shape in ((1, 1000), (4, 251), (3, 20), (2, 21), (1, 23), (7, 100))
}


@pytest.mark.parametrize("name", CHAINS)
def test_long_run_variance_is_arvizs(name):
    values = CHAINS[name]
    variance, long_run, n_eff, df = kernels.long_run(values, False)
    size = float(array_stats.ess(values, method="mean"))
    assert variance == pytest.approx(np.var(values, ddof=1), rel=1e-12)
    assert n_eff == pytest.approx(size, rel=1e-9)  # FFT against sums
    assert long_run == pytest.approx(variance * values.size / size, rel=1e-9)
    assert df == pytest.approx(max(size / 4.0, 1.0), rel=1e-9)


@pytest.mark.parametrize("phi", [0.0, 0.9, -0.9])
@pytest.mark.parametrize("shape", [(1, 8192), (2, 8193), (2, 12287), (1, 12288), (1, 20001)])
def test_long_chains_are_averaged_over_batches(shape, phi):
    values = walk(np.random.default_rng(5), *shape, phi)
    batch = shape[1] // 4096
    kept = shape[1] - shape[1] % batch
    means = values[:, :kept].reshape(shape[0], -1, batch).mean(axis=2)
    size = float(array_stats.ess(means, method="mean"))
    expected = batch * np.var(means, ddof=1) * means.size / size
    variance, long_run, n_eff, df = kernels.long_run(values, False)
    assert long_run == pytest.approx(expected, rel=1e-9)
    assert n_eff == pytest.approx(values.size * variance / expected, rel=1e-9)
    assert df == pytest.approx(min(size / 4.0, n_eff), rel=1e-9)


def test_draws_that_alternate_in_step_with_the_batches():
    values = np.tile([1.0, -1.0], 4096)[None]
    assert kernels.long_run(values, False)[2] == pytest.approx(float(array_stats.ess(values, method="mean")), rel=1e-9)


@pytest.mark.parametrize("shape", [(2, 4), (50, 10), (5, 19)])
def test_short_chains_vary_as_their_means_do(shape):
    values = walk(np.random.default_rng(6), *shape, 0.5)
    variance, long_run, n_eff, df = kernels.long_run(values, False)
    assert long_run == pytest.approx(shape[1] * np.var(values.mean(axis=1), ddof=1), rel=1e-12)
    assert n_eff == pytest.approx(values.size * variance / long_run, rel=1e-12)
    assert df == pytest.approx(max(min(shape[0] - 1.0, n_eff), 1.0), rel=1e-12)


@pytest.mark.parametrize("n_draws", [4, 5, 7, 10, 19])
@pytest.mark.parametrize("phi", [0.0, 0.8, -0.8])
def test_a_single_short_chain_is_never_better_than_independent(n_draws, phi):
    values = walk(np.random.default_rng(7), 1, n_draws, phi)
    expected = min(float(array_stats.ess(values, method="mean")), float(n_draws))
    assert kernels.long_run(values, False)[2] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("iid", [True, False])
def test_size_matters_not(iid):
    values = CHAINS["AR(0.9) (4, 251)"]
    expected = kernels.long_run(values, iid)
    for factor in (1e150, 1e-140):  # their squares are floats still
        found = kernels.long_run(factor * values, iid)
        np.testing.assert_allclose(found[:2], np.array(expected[:2]) * factor * factor, rtol=1e-12)
        np.testing.assert_allclose(found[2:], expected[2:], rtol=1e-12)
    for factor in (1e200, 1e-200):  # and here what has no unit
        np.testing.assert_allclose(kernels.long_run(factor * values, iid)[2:], expected[2:], rtol=1e-12)
    shifted = kernels.long_run(values + 1e3, iid)
    np.testing.assert_allclose(shifted, expected, rtol=1e-9)  # a mean a thousand times the spread costs three digits, squared


@pytest.mark.parametrize("iid", [True, False])
@pytest.mark.parametrize("value", [0.0, 1.0, -3e200, 1e-300, 0.1])
def test_constants_have_no_variance(value, iid):
    for shape in ((1, 50), (4, 30), (3, 5)):
        assert np.isnan(kernels.long_run(np.full(shape, value), iid)).all()
    assert kernels.split_rhat(np.full((2, 50), value)) == 1.0


@pytest.mark.parametrize("name", CHAINS)
def test_rhat_is_arvizs_of_halves(name):
    values = CHAINS[name]
    half = values.shape[1] // 2
    halves = np.vstack([values[:, :half], values[:, -half:]])
    assert kernels.split_rhat(values) == pytest.approx(float(array_stats.rhat(halves, method="identity")), rel=1e-12)
    for factor in (1e-140, 1e140):
        assert kernels.split_rhat(factor * values) == pytest.approx(kernels.split_rhat(values), rel=1e-12)


def test_rhat_at_its_ends():
    values = np.random.default_rng(8).standard_normal((4, 19))
    assert math.isnan(kernels.split_rhat(values))
    apart = np.repeat([[0.0], [1.0]], 40, axis=1)
    assert kernels.split_rhat(apart) == math.inf
