"""nutpie, from a PyMC model to a verdict, and while it runs."""

import time
from importlib.util import find_spec

import numpy as np
import pytest

from tests.samplers.problems import assert_gap, assert_no_gap, regression

pytestmark = [
    pytest.mark.skipif(find_spec("nutpie") is None, reason="nutpie is not installed: make test-samplers"),
    pytest.mark.filterwarnings("default"),  # warnings of nutpie and PyMC are not ours to mend
]
SETTINGS = {"draws": 500, "tune": 400, "chains": 4, "cores": 1, "progress_bar": False}


def compiled(X, y):
    import nutpie
    import pymc as pm

    with pm.Model() as model:
        beta = pm.Normal("beta", 0, 10, shape=3)
        pm.Normal("y", X @ beta, 1.0, observed=y)
    return nutpie.compile_pymc_model(model)


@pytest.fixture(scope="module")
def right():
    X, y, _ = regression()
    return compiled(X, y)


def test_nutpie_keeps_the_dependence(right):
    import nutpie

    trace = nutpie.sample(right, seed=1, **SETTINGS)
    result = assert_no_gap(trace, regression()[2])
    assert result.names == ("beta[0]", "beta[1]", "beta[2]")


def test_a_model_with_one_predictor_shuffled(right):
    """The mistake of a data frame merged in the wrong order: chains converge, to the wrong posterior."""
    import nutpie

    X, y, correlation = regression()
    X[:, 1] = np.random.default_rng(2).permutation(X[:, 1])
    wrong = nutpie.sample(compiled(X, y), seed=1, **SETTINGS)
    result = assert_gap(wrong, correlation, ["beta[0]", "beta[1]"])
    assert "chains-disagree" not in {caveat.code for caveat in result.caveats}  # R-hat does not see it


def test_a_run_that_goes_on(right):
    """What `inspect` returns while it runs: chains of unequal length, filled up with NaN, comparable over what all have."""
    import nutpie

    settings = SETTINGS | {"draws": 1_000_000, "cores": 4}  # more than will be drawn
    running = nutpie.sample(right, seed=3, blocking=False, **settings)
    try:
        deadline, common = time.monotonic() + 60, 0
        while common < 500:
            assert time.monotonic() < deadline, "no 500 draws of four chains in a minute"
            time.sleep(0.2)
            beta = np.asarray(running.inspect()["posterior"]["beta"])
            common = np.isfinite(beta).all(axis=2).sum(axis=1).min() if beta.ndim == 3 and beta.shape[0] == 4 else 0
    finally:
        running.abort()
    assert np.isfinite(beta[:, :common]).all()  # NaN are at the ends of chains
    assert_no_gap(beta[:, : min(common, 2000)], regression()[2])
