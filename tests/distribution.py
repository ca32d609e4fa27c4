"""`python -m tests.distribution dist` checks what `make dist` has built: names, sizes, files, and the description on PyPI."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path
from urllib.parse import urlsplit

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
PACKAGE = "src/copula_discrepancy/"
# The package with its tests is 1.6 MB; measurements, notebooks and stored draws would double it
LARGEST = 3_000_000  # bytes
NEEDED = {f"{PACKAGE}py.typed", "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "hatch_build.py"}
MADE = {"PKG-INFO"}  # of a source distribution, by the build


def contents(path):
    """The files in an archive, without their common folder if it is a source distribution."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    with tarfile.open(path) as archive:
        files = [member for member in archive.getmembers() if not member.isdir()]
        return {member.name.partition("/")[2]: archive.extractfile(member).read() for member in files}


def faults_of_source(files, tracked):
    """Files that nobody has committed, and files that are missing."""
    missing = (NEEDED | {name for name in tracked if name.startswith(PACKAGE)}) - files.keys()
    stray = files.keys() - tracked - MADE
    return [f"sdist lacks {name}" for name in sorted(missing)] + [f"sdist has {name}" for name in sorted(stray)]


def faults_of_wheel(files, tracked):
    """The package and nothing else, with its license."""
    package = {name.removeprefix("src/") for name in tracked if name.startswith(PACKAGE)}
    folder = next((name.partition("/")[0] for name in files if name.endswith(".dist-info/METADATA")), "")
    made = {f"{folder}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    missing, stray = (package | made) - files.keys(), files.keys() - package - made
    return [f"wheel lacks {name}" for name in sorted(missing)] + [f"wheel has {name}" for name in sorted(stray)]


def relative_addresses(text):
    """Links and pictures of Markdown that lead nowhere on another server."""
    tokens = [child for token in MarkdownIt("commonmark").enable("table").parse(text) for child in token.children or ()]
    addresses = [str(address) for token in tokens for key in ("href", "src") if (address := token.attrs.get(key))]
    return [address for address in addresses if not urlsplit(address).scheme]


def faults_of_description(metadata, version):
    """What PyPI would show wrongly; twine checks that it can be rendered."""
    message = message_from_bytes(metadata)
    text = message.get_payload(decode=True).decode("utf-8")
    found = [f"the description leads to {address}" for address in relative_addresses(text)]
    if message["Version"] != version:
        found.append(f"the version is {message['Version']}, not {version}")
    if message["Description-Content-Type"] != "text/markdown" or not text.startswith("# copula-discrepancy\n"):
        found.append("README is not the description")
    return found


def faults(folder, tracked, version):
    """What is wrong with the distributions in a folder."""
    sources, wheels = sorted(folder.glob("*.tar.gz")), sorted(folder.glob("*.whl"))
    if (len(sources), len(wheels), len(list(folder.iterdir()))) != (1, 1, 2):
        return [f"{folder} has {sorted(path.name for path in folder.iterdir())}, not one sdist and one wheel"]
    (source,), (wheel,) = sources, wheels
    files, installed = contents(source), contents(wheel)
    found = [f"{path.name} has {size:,} bytes" for path in (source, wheel) if (size := path.stat().st_size) > LARGEST]
    found += faults_of_source(files, tracked) + faults_of_wheel(installed, tracked)
    described = [files.get("PKG-INFO", b""), *(text for name, text in installed.items() if name.endswith("/METADATA"))]
    return found + [line for metadata in described for line in faults_of_description(metadata, version)]


def main(folder):
    """Print what is wrong; 1 if anything is."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    wrong = faults(Path(folder), set(listed.split("\0")) - {""}, version)
    print("\n".join(wrong) or "source distribution and wheel have what they should, and nothing else")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
