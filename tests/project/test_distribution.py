"""What is published: addresses on PyPI, files in the distributions, extras that the README names."""

import importlib.util
import io
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests import distribution

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
HOME = "https://github.com/owner/name"


@pytest.fixture(scope="module")
def hook():
    given = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(given)
    given.loader.exec_module(module)
    return module


def filled(hook, monkeypatch, address):
    monkeypatch.setenv(hook.VARIABLE, address)
    metadata = {"version": "1.2.3"}
    hook.Addresses(str(ROOT), {}).update(metadata)
    return metadata


def test_addresses_become_those_of_the_version(hook, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.png").touch()
    code = "`[q](r)`\n```python\nf['a'](b)\n```\n"
    text = f"![p](a/b.png) [l](a/b.png#c) [d](a) [h](https://x/y) [t](#t) {code}[z](a/b.png)"
    picture, file, folder = (f"{HOME}/{kind}/v1/a" for kind in ("raw", "blob", "tree"))
    expected = f"![p]({picture}/b.png) [l]({file}/b.png#c) [d]({folder}) [h](https://x/y) [t](#t) {code}[z]({file}/b.png)"
    assert hook.without_relative_links(text, tmp_path, HOME, "1") == expected
    with pytest.raises(FileNotFoundError, match="gone"):
        hook.without_relative_links("[a](gone)", tmp_path, HOME, "1")


@pytest.mark.parametrize("address", ["", HOME, f"{HOME}/", f"{HOME}.git"])
def test_readme_leads_somewhere_from_pypi(hook, monkeypatch, address):
    """To the repository if its address is known, and nowhere otherwise; what is no link stays."""
    metadata = filled(hook, monkeypatch, address)
    text = metadata["readme"]["text"]
    assert distribution.relative_addresses(README)
    assert distribution.relative_addresses(text) == []
    assert re.findall(r"^```.*?^```$", text, re.M | re.S) == re.findall(r"^```.*?^```$", README, re.M | re.S)
    assert (f"({HOME}/raw/v1.2.3/docs/_static/same_margins.png)" in text) is bool(address)
    assert metadata["urls"].get("Source") == (HOME if address else None)
    assert metadata["urls"].get("Documentation") == ("https://owner.github.io/name/" if address else None)


def test_a_source_distribution_keeps_what_was_written_into_it(hook, monkeypatch):
    monkeypatch.setenv(hook.VARIABLE, HOME)
    metadata = {"version": "1.2.3", "readme": {"text": "as it was"}}
    hook.Addresses(str(ROOT), {}).update(metadata)
    assert metadata == {"version": "1.2.3", "readme": {"text": "as it was"}}


@pytest.mark.parametrize("address", ["owner/name", "https://token@github.com/owner/name", "git@github.com:owner/name"])
def test_other_addresses_are_refused(hook, monkeypatch, address):
    """A token would be published."""
    with pytest.raises(ValueError, match="has to be an address"):
        filled(hook, monkeypatch, address)


def metadata_of(description, version="1"):
    return f"Version: {version}\nDescription-Content-Type: text/markdown\n\n# copula-discrepancy\n{description}".encode()


def sdist(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"copula_discrepancy-1/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def wheel(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def test_faults_of_distributions_are_seen(tmp_path):
    """Nothing is wrong with good ones; each fault is named."""
    committed = distribution.NEEDED | {"src/copula_discrepancy/one.py", "benchmarks/results.md"}
    inside = {name: b"" for name in committed if name != "benchmarks/results.md"} | {"PKG-INFO": metadata_of("text")}
    made = ("WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    built = {"copula_discrepancy/one.py": b"", "copula_discrepancy/py.typed": b""}
    built |= {f"x.dist-info/{name}": b"" for name in made} | {"x.dist-info/METADATA": metadata_of("text")}

    def faults(more=(), less=(), **wheels):
        sdist(tmp_path / "a.tar.gz", {name: text for name, text in (inside | dict(more)).items() if name not in less})
        wheel(tmp_path / "a.whl", {name: text for name, text in (built | wheels).items() if name not in less})
        return distribution.faults(tmp_path, committed, "1")

    assert faults() == []
    assert faults(more={"notes.txt": b""}) == ["sdist has notes.txt"]
    assert faults(less=["src/copula_discrepancy/one.py"]) == ["sdist lacks src/copula_discrepancy/one.py"]
    assert faults(less=["copula_discrepancy/py.typed"]) == ["wheel lacks copula_discrepancy/py.typed"]
    assert faults(**{"tests/a.py": b""}) == ["wheel has tests/a.py"]
    assert faults(**{"x.dist-info/METADATA": metadata_of("![a](b.png)")}) == ["the description leads to b.png"]
    assert faults(more={"PKG-INFO": metadata_of("", "2")}) == ["the version is 2, not 1"]
    (tmp_path / "old.whl").touch()
    assert len(faults()) == 1


def test_a_large_distribution_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(distribution, "LARGEST", 10)
    sdist(tmp_path / "a.tar.gz", {"PKG-INFO": metadata_of("")})
    wheel(tmp_path / "a.whl", {"x.dist-info/METADATA": metadata_of("")})
    found = distribution.faults(tmp_path, set(), "1")
    assert [line.partition(" has ")[0] for line in found if line.endswith(" bytes")] == ["a.tar.gz", "a.whl"]


def test_every_extra_is_described_once():
    """Those of users in the README's table, those of make targets in CONTRIBUTING; each named in a message exists."""
    table = re.search(r"^\| extra \|.*?\n\n", README, re.M | re.S).group(0)
    users = re.findall(r"^\| `([\w-]+)` \|", table, re.M)
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    ours = re.findall(r"`([\w-]+)`", re.search(r"^The extras (.*) are for these targets", contributing, re.M).group(1))
    assert sorted(users + ours) == sorted(PROJECT["optional-dependencies"])
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    texts += [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]
    named = {
        extra for text in texts for found in re.findall(r"copula-discrepancy\[([\w,-]+)\]", text) for extra in found.split(",")
    }
    assert named >= {"vine", "gpu", "parquet"}
    assert named <= set(users)


def test_make_installs_only_extras_that_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    asked = {extra for found in re.findall(r"'\.\[([\w,-]+)\]'", makefile) for extra in found.split(",")}
    assert asked <= set(PROJECT["optional-dependencies"])
    assert {"test", "dev", "docs"} <= asked
