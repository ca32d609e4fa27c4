"""PyStan 3 from a Stan program to a verdict: a model of one's own, compiled where there is a compiler of C++."""

import shutil
from importlib.util import find_spec

import numpy as np
import pytest

import copula_discrepancy as cd
from tests.samplers.problems import assert_gap, assert_no_gap, regression

pytestmark = [
    pytest.mark.skipif(
        find_spec("stan") is None,
        reason="PyStan is not installed: make test-samplers installs it, but not on Python 3.13, where it does not work",
    ),
    pytest.mark.skipif(shutil.which("g++") is None and shutil.which("c++") is None, reason="there is no compiler of C++"),
    pytest.mark.filterwarnings("default"),  # warnings of PyStan and what it brings are not ours to mend
]
PROGRAM = """
data { int n; matrix[n, 3] X; vector[n] y; real<lower=0> prior; }
parameters { vector[3] beta; }
model { beta ~ normal(0, prior); y ~ normal(X * beta, 1); }
generated quantities { matrix[2, 3] twice; for (j in 1:3) { twice[1, j] = beta[j]; twice[2, j] = -beta[j]; } }
"""
SETTINGS = {"num_chains": 4, "num_samples": 500, "num_warmup": 500}


def posterior(prior):
    import stan

    X, y, _ = regression()
    data = {"n": len(y), "X": X.tolist(), "y": y.tolist(), "prior": prior}
    return stan.build(PROGRAM, data=data, random_seed=1)  # compiled once, and kept


@pytest.fixture(scope="module")
def fit():
    return posterior(10.0).sample(**SETTINGS)


def test_nuts_keeps_the_dependence(fit):
    result = assert_no_gap(fit, regression()[2], var_names="beta")
    assert result.names == ("beta[1]", "beta[2]", "beta[3]")


def test_chains_and_elements_are_told_apart(fit):
    draws = cd.as_draws(fit)
    assert draws.values.shape == (4, 500, 9)
    frame = fit.to_frame()  # one row per draw, chains beside each other
    for name in ("beta[2]", "twice[1, 3]", "twice[2, 1]"):
        column = name.replace("[", ".").replace(", ", ".").rstrip("]")
        expected = frame[column].to_numpy().reshape(500, 4).T
        assert np.array_equal(draws.values[..., draws.names.index(name)], expected)


def test_warm_up_is_left_out():
    kept = posterior(10.0).sample(**SETTINGS, save_warmup=True)
    draws = cd.as_draws(kept, var_names="beta")
    assert draws.values.shape == (4, 500, 3)
    assert any("500 warm-up draws" in note for note in draws.notes)


def test_a_prior_that_is_too_narrow_is_found(fit):
    """The prior counts as much as the data, and takes away dependence that the data have."""
    narrow = posterior(0.1).sample(**SETTINGS)
    assert_gap(narrow, fit, ["beta[1]", "beta[2]"], var_names="beta")
