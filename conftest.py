"""A run of the whole suite that finds too few tests fails: a folder renamed or a name misspelt would hide them quietly."""

import pytest

COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
NARROWED = ("keyword", "markexpr", "deselect", "lf", "failedfirst", "stepwise", "ignore", "ignore_glob", "collectonly")


def pytest_addoption(parser):
    parser.addini("fewest_tests", "fewest tests that a run of the whole suite has to find", default="0")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    whole = config.args_source == config.ArgsSource.TESTPATHS and not any(config.getoption(name, None) for name in NARROWED)
    if hasattr(config, "workerinput") or reporter is None or exitstatus != pytest.ExitCode.OK or not whole:
        return
    found, fewest = sum(len(reporter.stats.get(kind, [])) for kind in COUNTED), int(config.getini("fewest_tests"))
    if found < fewest:
        reporter.write_line(
            f"only {found} tests were found, at least {fewest} are due (fewest_tests in pyproject.toml)", red=True
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
