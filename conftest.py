"""Five rules for every run of the tests.

A run of the whole suite that finds too few tests fails: a folder renamed or a name misspelt would hide them quietly. Tests that
share something costly run on one worker. Each worker has one thread of linear algebra: the suite fills every core already,
and threads that wait do so by spinning. And what Python compiles is kept beside its source, as the kernels are: where the
environment forbids it, every worker rewrites every test and every process started by a test compiles the library again.
Modules that import PyTorch or Triton are not looked into for examples where these are not installed.
"""

import gc
import os
import re
import sys
from importlib.util import find_spec

import pytest

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # for the workers, and the processes that tests start

for library in ("OPENBLAS", "MKL", "BLIS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")  # before NumPy is imported; what the environment says goes first

COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
NARROWED = ("keyword", "markexpr", "deselect", "lf", "failedfirst", "stepwise", "ignore", "ignore_glob", "collectonly")


# Files whose tests share a fixture or tables that take seconds to make; they are begun before all others.
TOGETHER = {
    "report/test_page.py": "pages",
    "report/test_browser.py": "pages",
    "report/test_maps.py": "pages",
    "compare/test_comparison.py": "comparison",
    "compare/test_many.py": "many",
    "studies/test_paper.py": "paper",
    "studies/test_reproduce.py": "reproduce",
    "compare/test_vine.py": "vine",
    "studies/test_stein.py": "stein",
    "report/test_plots.py": "plots",
    "report/test_messages.py": "plots",
    "project/test_package.py": "package",
    "estimate/test_scanning_dask.py": "dask",
    "estimate/test_scanning_ray.py": "ray",
    "estimate/test_scanning_spark.py": "spark",
}


# Modules of the package that import an optional library, or another module that does; `tests/project/test_package.py` tries it.
PACKAGE = r"/src/copula_discrepancy/.*/"
OPTIONAL = {
    "torch": re.compile(rf"{PACKAGE}(tensors/(?!__init__\.py$|device\.py$)|device_)\w+\.py$"),
    "triton": re.compile(rf"{PACKAGE}\w+_triton\.py$"),
}


def pytest_ignore_collect(collection_path):
    path = collection_path.as_posix()
    return any(modules.search(path) and find_spec(library) is None for library, modules in OPTIONAL.items()) or None


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        """Schedule files of TOGETHER as a whole, and other tests with all their parameters, which needs fewer messages.

        Marks for this do not work in every version of pytest.
        """

        def _split_scope(self, nodeid):
            return TOGETHER.get("/".join(nodeid.split("::")[0].split("/")[-2:]), nodeid.split("[")[0])

    return Scheduling(config, log)


if "PYTEST_XDIST_WORKER" in os.environ:
    gc.disable()  # while modules are imported, which leave next to no garbage


def pytest_collection_finish(session):
    """Freeze objects of imported modules, which live until the end: collecting them repeatedly takes 5% of the time."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000)  # not 700: looking through what tests make took 2 to 9% of a file's time


def pytest_unconfigure(config):
    gc.unfreeze()  # or libraries that count their objects at the end tell of leaks


def pytest_addoption(parser):
    parser.addini("fewest_tests", "fewest tests that a run of the whole suite has to find", default="0")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    # a source distribution has no tests/project
    whole = (
        not (config.rootpath / "PKG-INFO").exists()
        and config.args_source == config.ArgsSource.TESTPATHS
        and not any(config.getoption(name, None) for name in NARROWED)
    )
    if hasattr(config, "workerinput") or reporter is None or exitstatus != pytest.ExitCode.OK or not whole:
        return
    found, fewest = sum(len(reporter.stats.get(kind, [])) for kind in COUNTED), int(config.getini("fewest_tests"))
    if found < fewest:
        reporter.write_line(
            f"only {found} tests were found, at least {fewest} are due (fewest_tests in pyproject.toml)", red=True
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
