"""Files of CmdStan from model to verdict: NUTS, its approximations, and a run that has not ended."""

import json
import re
import subprocess
import time

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from tests.samplers.problems import assert_gap, assert_no_gap
from tests.samplers.stan_model import BINARY, COEFFICIENTS, FOLDER, command, run, write_data

pytestmark = pytest.mark.skipif(
    not BINARY.is_file(), reason="Prophet, which has a model of CmdStan, is not installed: make test-samplers"
)
NUTS = ["sample", "num_samples=500", "num_warmup=500"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("stan")


@pytest.fixture(scope="module")
def correlation(folder):
    return write_data(folder / "data.json")


@pytest.fixture(scope="module")
def files(folder, correlation):
    return [run(NUTS, folder / "data.json", folder / f"nuts_{k}.csv", k) for k in (1, 2, 3, 4)]


def test_nuts_keeps_the_dependence(files, correlation):
    result = assert_no_gap(files, correlation, var_names=COEFFICIENTS)
    assert result.names == ("m", "beta[1]", "beta[2]", "beta[3]")


def test_files_by_a_pattern(files):
    folder = files[0].parent
    assert np.array_equal(cd.as_draws(f"{folder}/nuts_*.csv").values, cd.as_draws(files).values)


def test_warm_up_is_left_out(files, folder):
    kept = run([*NUTS, "save_warmup=1"], folder / "data.json", folder / "warm_1.csv")
    rows = [line for line in kept.read_text().splitlines() if line and not line.startswith("#")]
    assert len(rows) == 1 + 1000
    assert np.array_equal(cd.as_draws(kept).values[0], cd.as_draws(files[0]).values[0])  # the same seed


@pytest.mark.parametrize("algorithm", ["meanfield", "fullrank"])
def test_variational_files(algorithm, files, folder):
    method = ["variational", f"algorithm={algorithm}", "output_samples=2000"]
    fitted = run(method, folder / "data.json", folder / f"{algorithm}.csv")
    if algorithm == "meanfield":
        result = assert_gap(fitted, files, ["beta[1]", "beta[2]"], var_names=COEFFICIENTS, iid="draws")
        assert abs(result.worst.kept) < 0.2
    else:  # a normal posterior is within its reach; what is left is the noise of its optimiser
        result = cd.pairwise(fitted, files, var_names=COEFFICIENTS, iid="draws")
        assert result.pair("beta[1]", "beta[2]").form.kept.value > 0.7


def test_pathfinder_files(files, folder):
    """Of a single path, whose draws are independent; its Hessian after a few steps has lost what the posterior's has."""
    fitted = run(["pathfinder", "num_paths=1", "num_draws=2000"], folder / "data.json", folder / "pathfinder.csv")
    draws = cd.as_draws(fitted)
    assert draws.n_draws == 2000
    assert not [name for name in draws.names if name.endswith("__")]
    result = assert_gap(fitted, files, ["beta[1]", "beta[2]"], var_names=COEFFICIENTS, iid="draws")
    assert result.worst.kept < 0.5


def test_laplace_files(files, folder):
    mode = run(["optimize", "algorithm=newton", "jacobian=1"], folder / "data.json", folder / "mode_for_laplace.csv")
    fitted = run(["laplace", f"mode={mode}", "draws=2000"], folder / "data.json", folder / "laplace.csv")
    assert_no_gap(fitted, files, var_names=COEFFICIENTS, iid="draws")


def test_a_mode_is_no_sample(folder, correlation):
    mode = run(["optimize", "algorithm=newton"], folder / "data.json", folder / "mode.csv")
    with pytest.raises(cd.InputError) as refused:
        cd.as_draws(mode)
    assert refused.value.code == "too-few-draws"


def test_a_run_that_has_not_ended(folder, correlation):
    """What CmdStan has written so far may end in the middle of a row, which is refused; complete rows are a sample."""
    growing = folder / "growing.csv"
    method = ["sample", "num_samples=50000000", "num_warmup=500"]
    with subprocess.Popen(command(method, folder / "data.json", growing), cwd=folder, stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 60
            while not growing.is_file() or growing.stat().st_size < 1_000_000:
                assert time.monotonic() < deadline, "CmdStan wrote less than 1 MB in a minute"
                time.sleep(0.05)
            text = growing.read_text()
        finally:
            process.kill()
    complete = text[: text.rindex("\n") + 1]
    partial = complete + complete.splitlines()[-1][:200]
    growing.write_text(partial)
    with pytest.raises(cd.InputError):
        cd.as_draws(growing)
    growing.write_text(complete)
    draws = cd.as_draws(growing)
    rows = sum(re.match(r"-?\d", line) is not None for line in complete.splitlines())
    assert draws.n_draws == rows >= 500
    assert any("50000000" in note or "50,000,000" in note for note in draws.notes)  # how many were asked for


def test_cmdstanpy(folder, correlation):
    """As the page on Stan says: files and data frames count from 1, xarray from 0."""
    cmdstanpy = pytest.importorskip("cmdstanpy", reason="CmdStanPy is not installed: make test-samplers")
    cmdstanpy.set_cmdstan_path(str(next(FOLDER.glob("cmdstan-*"))))
    model = cmdstanpy.CmdStanModel(exe_file=str(BINARY))
    settings = {"chains": 4, "parallel_chains": 1, "iter_warmup": 500, "iter_sampling": 500, "seed": 1, "show_progress": False}
    fit = model.sample(str(folder / "data.json"), **settings)
    assert_no_gap(fit.runset.csv_files, correlation, var_names=COEFFICIENTS)
    by_file = cd.as_draws(fit.runset.csv_files, var_names=COEFFICIENTS)
    by_frame = cd.as_draws(fit.draws_pd(["chain__", "iter__", "m", "beta"]))
    by_xarray = cd.as_draws(fit.draws_xr(), var_names=COEFFICIENTS)
    assert by_file.names == by_frame.names == ("m", "beta[1]", "beta[2]", "beta[3]")
    assert by_xarray.names == ("m", "beta[0]", "beta[1]", "beta[2]")
    for other in (by_frame, by_xarray):
        np.testing.assert_array_equal(other.values, by_file.values)
    fitted = model.variational(str(folder / "data.json"), seed=1).runset.csv_files[0]
    assert_gap(fitted, fit.runset.csv_files, ["beta[1]", "beta[2]"], var_names=COEFFICIENTS, iid="draws")


def test_growing_files_are_watched_and_the_answer_is_that_of_compare(folder, correlation, tmp_path):
    """By the commands, while four chains of CmdStan write."""
    method = ["sample", "num_samples=30000", "num_warmup=500"]
    names = [tmp_path / f"run_{k}.csv" for k in (1, 2, 3, 4)]
    chains = [
        subprocess.Popen(command(method, folder / "data.json", path, k), stdout=subprocess.DEVNULL)
        for k, path in enumerate(names, 1)
    ]
    reference = tmp_path / "reference.csv"
    values = np.random.default_rng(1).multivariate_normal(np.zeros(4), correlation, 4000)
    np.savetxt(reference, values, delimiter=",", header="m,beta[1],beta[2],beta[3]", comments="")
    common = ["--columns", "m,beta[1],beta[2],beta[3]", "--iid-reference"]
    try:
        code = main([
            "watch", str(tmp_path / "run_*.csv"), "--chains", "4", "--reference", str(reference), *common, "--every", "1",
            "--json", str(tmp_path / "watched.json"),
        ])  # fmt: skip
    finally:
        for chain in chains:
            chain.wait()
    assert code == 0
    assert (
        main(["compare", str(tmp_path / "run_*.csv"), str(reference), *common, "--json", str(tmp_path / "compared.json")]) == 0
    )
    watched, compared = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("watched", "compared"))
    assert watched == compared
