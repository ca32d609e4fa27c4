"""Project checks: the minimum number of tests, lowest versions, one version number everywhere."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.lowest_versions import constraints

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["project"]["version"]
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["keywords"] == PROJECT["project"]["keywords"]


def test_every_lowest_version_is_pinned():
    lines = constraints()
    assert len(lines) >= len(PROJECT["project"]["dependencies"])
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", line) for line in lines)
    assert "numpy==2.0" in lines


@pytest.mark.slow
@pytest.mark.parametrize(("options", "status"), [([], 1), (["-k", "one"], 0)])
def test_too_few_tests_fail(tmp_path, options, status):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_few.py").write_text("def test_one(): pass\ndef test_two(): pass\n")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ntestpaths = .\nfewest_tests = 3\naddopts = -p no:cacheprovider -p no:xdist\n"
    )
    ended = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == status, ended.stdout
    assert bool(re.search(r"\b2 tests\b.*\b3\b", ended.stdout)) == bool(status)  # found, and due


def test_templates_and_hooks_can_be_read():
    templates = list((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    for path in (*templates, ROOT / ".pre-commit-config.yaml"):
        assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict), path
    forms = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in templates if path.name != "config.yml"]
    assert len(forms) >= 3
    for form in forms:
        assert {"name", "description", "body"} <= form.keys()


def test_the_hooks_are_the_checks_of_make_lint():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.M).group(1)
    tools = {line.split()[0].removeprefix("$(BIN)/") for line in recipe.splitlines()}
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert tools <= {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in hooks}
