"""GitHub's workflows run what the Makefile has, on the Pythons that the package supports, with no more rights than needed."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from tests import loaded

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github" / "workflows"
FILES = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yml"))}
JOBS = {f"{file} {name}": job for file, workflow in FILES.items() for name, job in workflow["jobs"].items()}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RIGHTS = {  # of jobs that publish; all others may read
    "docs publish": {"pages": "write", "id-token": "write"},
    "release publish": {"id-token": "write"},
}


def commands(job):
    return [shlex.split(line, comments=True) for step in job["steps"] for line in step.get("run", "").splitlines()]


def triggers(workflow):
    return workflow[True]  # YAML 1.1 reads the key `on` as a truth value


def test_there_are_tests_docs_and_releases():
    assert set(FILES) == {"tests", "docs", "release"}
    for workflow in FILES.values():
        assert {"push", "pull_request", "workflow_dispatch"} <= triggers(workflow).keys()
        assert "pull_request_target" not in triggers(workflow)
        assert workflow["permissions"] == {"contents": "read"}
        assert "${{ github.ref }}" in workflow["concurrency"]["group"]


@pytest.mark.parametrize("name", JOBS)
def test_a_job_ends_and_has_the_rights_it_needs(name):
    job = JOBS[name]
    assert 0 < job["timeout-minutes"] <= 60
    assert job.get("permissions") == RIGHTS.get(name)
    for step in job["steps"]:
        if "uses" in step:  # by major version, which Dependabot raises
            assert re.fullmatch(r"[\w-]+/[\w.-]+@(v\d+|release/v\d+)", step["uses"]), step["uses"]
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        # what others write, such as the name of a branch, would be run as a command
        assert "${{" not in step.get("run", "")


def test_one_version_of_each_action():
    used = {step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step}
    assert len(used) == len({action.partition("@")[0] for action in used}) >= 5


def test_targets_of_make_exist():
    targets = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.M).group(1).split())
    asked = {words[1] for job in JOBS.values() for words in commands(job) if words[0] == "make"}
    assert asked == {"lint", "test", "test-all", "coverage", "test-lowest", "test-arviz", "test-samplers", "docs", "dist"}
    assert asked <= targets
    assert all(re.search(rf"^{target}:", MAKEFILE, re.M) for target in asked)


def test_every_supported_python_is_tested():
    """On Linux all of them, elsewhere one: no job uses any other."""
    supported = re.search(r"^SUPPORTED := (.*)$", MAKEFILE, re.M).group(1).split()
    classified = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", text)]
    assert JOBS["tests tests"]["strategy"]["matrix"]["python"] == supported == classified
    assert PROJECT["requires-python"] == f">={supported[0]}"
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yml")]
    named = {version for text in texts for version in re.findall(r'python(?:-version)?: "([\d.]+)"', text)}
    named |= {version for job in JOBS.values() for version in re.findall(r"matrix.python [!=]= '([\d.]+)'", str(job["steps"]))}
    assert named <= set(supported)
    tried = JOBS["release try"]["strategy"]["matrix"]["include"]
    assert sorted(row["python"] for row in tried) == supported
    assert {row["system"].partition("-")[0] for row in tried} == {"ubuntu", "macos", "windows"}


def test_macos_and_windows_run_the_same_tests():
    (make,) = commands(JOBS["tests macos"])
    pytest_ = commands(JOBS["tests windows"])[-1]
    folders = make[2].removeprefix("TESTS=").split()
    assert pytest_[:5] == ["python", "-m", "pytest", "-n", "auto"]
    assert pytest_[5:] == folders
    assert len(folders) == 5
    assert all((ROOT / folder).is_dir() for folder in folders)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_processes_of_tests_are_alike(monkeypatch, tmp_path, platform):
    """Those that are forked on Linux, and those elsewhere."""
    monkeypatch.setattr("sys.platform", platform)
    code = "import os, sys; print(sys.argv[1], os.environ['WORD'], os.getcwd()); print('told', file=sys.stderr); sys.exit(3)"
    ended = loaded.run(code, 1, environment={"WORD": "word"}, folder=tmp_path)
    assert (ended.returncode, ended.stdout.split(), ended.stderr) == (3, ["1", "word", str(tmp_path)], "told\n")


def test_only_main_and_tags_are_published():
    assert "github.event_name != 'pull_request'" in JOBS["docs publish"]["if"]
    assert "github.ref == 'refs/heads/main'" in JOBS["docs publish"]["if"]
    assert JOBS["release publish"]["if"] == "github.event_name == 'push' && github.ref_type == 'tag'"
    assert triggers(FILES["release"])["push"] == {"branches": ["main"], "tags": ["v*"]}
    needed, seen = "publish", []
    while needed:  # what is published has been built, checked and tried before
        seen.append(needed)
        needed = JOBS[f"release {needed}"].get("needs")
    assert seen == ["publish", "try", "build"]


def test_a_release_knows_its_repository():
    variable = re.search(r'^VARIABLE = "(\w+)"', (ROOT / "hatch_build.py").read_text(encoding="utf-8"), re.M).group(1)
    for job in ("release build", "docs build"):
        (told,) = [step["env"][variable] for step in JOBS[job]["steps"] if step.get("run") in ("make dist", "make docs")]
        assert told == "${{ github.server_url }}/${{ github.repository }}"
