"""PyMC from model to verdict: `InferenceData` of PyMC 5 (ArviZ before 1), `DataTree` of PyMC 6."""

from importlib.util import find_spec

import numpy as np
import pytest

import copula_discrepancy as cd
from tests.samplers.problems import assert_gap, assert_no_gap, regression

pytestmark = [
    pytest.mark.skipif(find_spec("pymc") is None, reason="PyMC is not installed: make test-samplers"),
    pytest.mark.filterwarnings("default"),  # PyMC's own warnings are not ours to mend
]
SETTINGS = {"chains": 4, "cores": 1, "progressbar": False}


@pytest.fixture(scope="module")
def model():
    import pymc as pm

    X, y, _ = regression()
    with pm.Model(coords={"predictor": ["a", "b", "c"]}) as model:
        beta = pm.Normal("beta", 0, 10, dims="predictor")
        pm.Normal("y", X @ beta, 1.0, observed=y)
    return model


@pytest.fixture(scope="module")
def trace(model):
    import pymc as pm

    # the sampler that PyMC itself has: it prefers nutpie where that is installed
    return pm.sample(draws=500, tune=500, random_seed=1, model=model, nuts_sampler="pymc", **SETTINGS)


def test_nuts_keeps_the_dependence(trace):
    result = assert_no_gap(trace, regression()[2])
    assert set(result.names) == {"beta[a]", "beta[b]", "beta[c]"}


def test_the_trace_as_a_file(trace, tmp_path):
    trace.to_netcdf(tmp_path / "trace.nc")
    read, held = (cd.as_draws(source) for source in (tmp_path / "trace.nc", trace))
    assert read.names == held.names
    assert np.array_equal(read.values, held.values)


def test_two_traces(trace, model):
    import pymc as pm

    other = pm.sample(draws=500, tune=500, random_seed=2, model=model, nuts_sampler="pymc", **SETTINGS)
    assert_no_gap(trace, other, var_names="beta")


def test_mean_field_loses_the_dependence(trace, model):
    import pymc as pm

    fit = pm.fit(15_000, method="advi", random_seed=3, model=model, progressbar=False)
    result = assert_gap(fit.sample(2000, random_seed=3), trace, ["beta[a]", "beta[b]"])
    assert abs(result.worst.kept) < 0.2
    assert result.worst.level > 0.3  # the reference's tau is near -0.6


def test_short_metropolis_is_no_evidence(model):
    import pymc as pm

    short = pm.sample(draws=60, tune=60, step=pm.Metropolis(model=model), random_seed=4, model=model, **SETTINGS)
    result = cd.pairwise(short, regression()[2])
    assert {"chains-disagree", "few-effective-draws"} & {caveat.code for caveat in result.caveats}
