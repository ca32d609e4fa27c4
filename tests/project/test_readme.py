"""The README shows the actual output of commands and code, and names only what exists."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from benchmarks.report import read

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# of sections with code and what it prints
HEADINGS = ("## Ten lines", "## A funnel", "## Tables of every kind", "## Larger than memory", "## What it costs")


def block(language, after=""):
    start = README.index(after)
    return re.search(rf"```{language}\n(.*?)```", README[start:], re.S).group(1)


def printed(action):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        action()
    return [line.rstrip() for line in out.getvalue().strip().splitlines()]


def demo(page="demo.html"):
    """What `make demo` prints."""
    from copula_discrepancy.cli.parser import main

    command = re.search(r"/copula-discrepancy (demo .*)", (ROOT / "Makefile").read_text(encoding="utf-8")).group(1)
    return printed(lambda: main(command.replace("demo.html", str(page)).split()))


def test_the_demo_prints_what_readme_shows(monkeypatch, tmp_path):
    """The README shows an excerpt: each of its lines occurs in the output, in this order."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(
        "copula_discrepancy.report.page.content.DETAILS", 1
    )  # of six pairs in pictures: they are not what is printed
    monkeypatch.chdir(tmp_path)
    shown = [line.rstrip() for line in block("text", "## What it found").strip().splitlines()]
    told = iter(demo())
    assert len(shown) > 8
    assert [line for line in shown if line not in told] == []  # `in` moves the iterator on
    assert (tmp_path / "demo.html").exists()


@pytest.mark.parametrize("heading", HEADINGS)
def test_code_prints_what_readme_shows(heading):
    shown = [line.rstrip() for line in block("text", heading).strip().splitlines()]
    assert printed(lambda: exec(block("python", heading), {})) == shown


def test_readme_names_only_what_exists():
    import copula_discrepancy as cd

    named = set(re.findall(r"\bcd\.([A-Za-z_]+)", README))
    assert named >= {"discrepancy", "pairwise", "tune", "fit"}
    assert [name for name in named if not hasattr(cd, name)] == []


def test_its_commands_are_understood(capsys):
    from copula_discrepancy.cli.parser import main

    commands = re.findall(r"^\$ copula-discrepancy ([^#\n]+)", README, re.M)
    assert len(commands) == 7
    for command in commands:  # wrong usage would be 2; the files are not here
        words = shlex.split(command)
        assert main(words) == 1
        told = capsys.readouterr().err
        assert words[words.index("--reference") + 1 if "--reference" in words else 1] in told


def test_its_picture_is_what_its_code_draws():
    """Compare the digest of points and texts stored in the file: pixels differ between versions of matplotlib."""
    import importlib.util

    import matplotlib.pyplot as plt
    from PIL import Image

    given = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    pictures = importlib.util.module_from_spec(given)
    given.loader.exec_module(pictures)
    assert f"]({pictures.README_PICTURE.relative_to(ROOT).as_posix()})" in README
    figure = pictures.same_margins_same_tau()
    with Image.open(pictures.README_PICTURE) as kept:
        assert kept.text["Description"] == pictures.content(figure)
    figure.axes[0].set_title("another")
    with Image.open(pictures.README_PICTURE) as kept:
        assert kept.text["Description"] != pictures.content(figure)
    plt.close("all")


def test_nothing_is_left_to_fill_in_and_links_lead_somewhere():
    assert "@@" not in README
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert link.startswith("http") or (ROOT / link).exists(), link


def test_what_was_measured_again_is_what_lay_outside():
    report = (ROOT / "benchmarks" / "reproduction" / "report.md").read_text(encoding="utf-8")
    more = (ROOT / "benchmarks" / "reproduction" / "more_replications.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^- experiment[13],.*z = ", report, re.M)) == 7
    assert re.findall(r"^- experiment.*z = ([+-][0-9.]+)\.$", more, re.M) == ["-2.4", "+2.9", "+2.8", "-2.5"]


def test_false_alarms_of_the_study_stay_below_what_was_asked():
    study = (ROOT / "benchmarks" / "pairs.md").read_text(encoding="utf-8")
    rows = read(study)["A reference sample split in two"].records()
    flagged = [float(row["pairs flagged at FDR 5%"].split("(")[0]) for row in rows]
    assert len(flagged) == 6
    assert max(flagged) <= 5.0


TOPICS = ("Answer", "Joint", "Margins", "Worst", "Form", "Funnel", "If lost", "Neck")  # of the demo, in README's excerpt
ROWS = (1, 2, 9)  # of its table


def excerpt(told):
    """The lines of the demo that README shows: some topics, and a few rows of the table."""
    kept, topic, rows = [], "", -1
    for k, line in enumerate(told):
        begun = re.match(r"([A-Z][a-z ]+):\s", line)
        topic = begun.group(1) if begun else topic if line.startswith(" " * 11) else ""
        in_table = rows >= 0 and line.startswith(" ") and not topic
        rows = 0 if line.startswith(" pair ") else rows + (in_table and not line.startswith(("  ~", " ─")))
        if line.startswith(("The usual", " pair ", " ─")) or topic in TOPICS or (in_table and rows in ROWS):
            blank = k and not told[k - 1].strip() and kept
            kept += ["", line] if blank else [line]
    return kept


def regenerate():
    """Write what code and demo print into README: `python -m tests.project.test_readme`."""
    import tempfile

    text = README
    with tempfile.TemporaryDirectory() as folder:
        blocks = {heading: printed(lambda h=heading: exec(block("python", h), {})) for heading in HEADINGS}
        blocks["## What it found"] = excerpt(demo(Path(folder) / "demo.html"))
    for heading, lines in blocks.items():
        start = text.index(heading)
        found = re.search(r"```text\n(.*?)```", text[start:], re.S)
        text = text[: start + found.start(1)] + "\n".join(lines) + "\n" + text[start + found.end(1) :]
    (ROOT / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    regenerate()
