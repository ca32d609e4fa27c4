"""Imports, public names and the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import copula_discrepancy as cd


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def fresh():
    """The modules that a new process loads, from a plain import to the commands; one process, to save time."""
    code = (
        "import json, sys\n"
        "import copula_discrepancy as cd\n"
        "bare = [m for m in ('numba', 'scipy', 'numpy', 'matplotlib', 'pandas', 'xarray') if m in sys.modules]\n"
        "cd.discrepancy(cd.Gumbel(2.0).sample(200, rng=1), cd.Gumbel(2.0), iid=True)\n"
        "used = [m for m in ('scipy.stats', 'matplotlib', 'pandas', 'xarray', 'arviz_stats', 'joblib') if m in sys.modules]\n"
        "import copula_discrepancy.cli.commands\n"
        "draws = cd.Gumbel(2.0).sample(200, rng=1)\n"
        "cd.pairwise(draws, draws[::2], iid=True), cd.kendall_matrix(draws), cd.ksd(draws, cd.Gumbel(2.0))\n"
        "print(json.dumps([bare, used, callable(cd.pairwise), callable(cd.fit), 'torch' in sys.modules]))"
    )
    return json.loads(run("-c", code).stdout)


@pytest.mark.slow
def test_import_stays_light(fresh):
    """A plain import loads no heavy module; copulas, fits and tests of independent draws load neither plots nor data frames."""
    assert fresh[:2] == [[], []]


def test_every_public_name_exists_and_is_listed():
    for name in cd.__all__:
        assert getattr(cd, name) is not None
        assert name in dir(cd)
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = cd.nonsense
    assert cd.__version__ == "0.1.0"


def test_submodules_do_not_shadow_public_names(fresh):
    """`cd.pairwise` is the function whatever was imported first: no module has the name of a function."""
    package = Path(cd.__file__).parent
    modules = {path.stem for path in package.iterdir()}
    assert modules & set(cd.__all__) == set()
    assert fresh[2:4] == [True, True]


def test_torch_is_loaded_for_a_device_only(fresh):
    """It takes seconds, and is optional: neither an import nor a computation on the processor loads it."""
    assert fresh[4] is False


# imports every module of the package where some libraries cannot be found, and prints those for which that fails
WITHOUT = """
import importlib, json, pkgutil, sys

sys.modules |= dict.fromkeys(sys.argv[1:])
import copula_discrepancy

failed = []
for module in pkgutil.walk_packages(copula_discrepancy.__path__, "copula_discrepancy."):
    try:
        module.name.endswith("__main__") or importlib.import_module(module.name)
    except ImportError as error:
        assert error.name.partition(".")[0] in sys.argv[1:], error
        failed.append(module.name)
print(json.dumps(failed))
"""


@pytest.mark.slow
@pytest.mark.parametrize("missing", [("torch", "triton"), ("triton",)])
def test_examples_that_need_an_optional_library_are_left_out_without_it(request, monkeypatch, missing):
    """By the rule in conftest.py; all other modules can be imported."""
    ended = run("-W", "ignore", "-c", WITHOUT, *missing)
    assert ended.returncode == 0, ended.stderr
    failed = set(json.loads(ended.stdout))
    assert any(name.startswith("copula_discrepancy._core.tensors.") for name in failed)
    for library in missing:
        monkeypatch.setitem(sys.modules, library, None)
    package = Path(cd.__file__).parent
    left_out = {
        ".".join((package.name, *path.relative_to(package).with_suffix("").parts))
        for path in package.rglob("*.py")
        if request.config.hook.pytest_ignore_collect(collection_path=path, config=request.config)
    }
    assert left_out == failed


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), ([], 2)])
def test_exit_codes(arguments, code):
    from copula_discrepancy.cli.parser import main

    assert main(arguments) == code


def test_an_error_is_one_line_and_exit_code_one(capsys, tmp_path):
    from copula_discrepancy.cli.parser import main

    missing = tmp_path / "missing.csv"
    assert main(["compare", str(missing), str(missing)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("copula-discrepancy: ")
    assert missing.name in line


def test_wrong_usage_is_two():
    result = run("-m", "copula_discrepancy", "dmeo")
    assert result.returncode == 2
    assert "invalid choice" in result.stderr
    assert "Traceback" not in result.stderr
