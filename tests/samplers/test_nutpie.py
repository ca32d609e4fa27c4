"""nutpie, from a PyMC model to a verdict, and while it runs."""

import time
from importlib.util import find_spec

import numpy as np
import pytest

import copula_discrepancy as cd
from tests.samplers.problems import assert_gap, assert_no_gap, assert_same_answer, regression

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


def test_a_run_is_watched_to_its_end(right):
    import nutpie

    seen = []
    running = nutpie.sample(right, seed=4, blocking=False, **SETTINGS | {"draws": 4000, "cores": 4})
    last = cd.watch(running, regression()[2], var_names="beta", every=0.2, share=1.0, on_update=seen.append, progress=False)
    trace = running.wait()
    assert last.lengths == (4000,) * 4
    assert last.expected == 4000
    assert not {"unfinished-run", "end-unknown"} & {caveat.code for caveat in last.result.caveats}
    assert_same_answer(last, cd.pairwise(trace, regression()[2], var_names="beta"))
    assert assert_no_gap(trace, regression()[2]).names == last.result.names


def test_a_run_that_is_aborted_is_not_finished(right):
    import nutpie

    running = nutpie.sample(right, seed=5, blocking=False, **SETTINGS | {"draws": 1_000_000, "cores": 4})

    taken = []

    def enough(update):
        if not taken and update.lengths and min(update.lengths) > 500:
            taken.append(running.abort())

    last = cd.watch(running, regression()[2], var_names="beta", every=0.2, share=1.0, on_update=enough, progress=False)
    assert last.expected == 1_000_000
    assert last.headline.startswith("Watch ended")
    assert last.result.caveats[0].code == "unfinished-run"
    assert min(last.lengths) > 500


def test_a_wrong_model_is_seen_while_it_runs(right):
    import nutpie

    X, y, correlation = regression()
    X[:, 1] = np.random.default_rng(2).permutation(X[:, 1])
    seen = []
    running = nutpie.sample(compiled(X, y), seed=6, blocking=False, **SETTINGS | {"draws": 20_000, "cores": 4})
    last = cd.watch(running, correlation, var_names="beta", every=0.2, share=1.0, on_update=seen.append, progress=False)
    looks = [update.result for update in seen if update.result is not None and not update.final]
    assert looks[0].worst.flagged
    assert set(last.result.worst.names) == {"beta[0]", "beta[1]"}


def test_a_store_is_watched_while_it_is_written(right, tmp_path):
    """By its path; PyMC's own stores need a zarr older than nutpie's."""
    import nutpie
    from nutpie import _lib

    if not hasattr(_lib, "store"):
        pytest.skip("this nutpie writes no Zarr stores")
    path = tmp_path / "trace.zarr"
    path.mkdir()
    store = _lib.store.LocalStore(str(path))
    running = nutpie.sample(right, seed=7, blocking=False, zarr_store=store, **SETTINGS | {"draws": 2000, "cores": 4})
    last = cd.watch(path, regression()[2], var_names="beta", every=0.2, share=1.0, wait=60.0, patience=60.0, progress=False)
    running.wait()
    assert last.lengths == (2000,) * 4
    assert_same_answer(last, cd.pairwise(str(path), regression()[2], var_names="beta", engine="exact"))
