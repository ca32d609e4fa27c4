"""README shows what the commands and the code really print."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language, after=""):
    start = README.index(after)
    return re.search(rf"```{language}\n(.*?)```", README[start:], re.S).group(1)


def printed(action):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        action()
    return [line.rstrip() for line in out.getvalue().strip().splitlines()]


def test_the_demo_prints_what_readme_shows(monkeypatch):
    from copula_discrepancy.cli import main

    monkeypatch.setenv("COLUMNS", "80")
    shown = [line.rstrip() for line in block("text", "`make demo` prints").strip().splitlines()]
    assert printed(lambda: main(["demo"])) == shown


def test_the_ten_lines_print_what_readme_shows():
    shown = [line.rstrip() for line in block("text", "## Ten lines").strip().splitlines()]
    assert printed(lambda: exec(block("python", "## Ten lines"), {})) == shown


def test_readme_names_only_what_exists():
    import copula_discrepancy as cd

    for name in re.findall(r"`([a-z_]+)`", block_of_table()):
        assert hasattr(cd, name) or hasattr(cd.Copula, name), name
    for name in re.search(r"\| each has \| `([^`]+)`", README).group(1).split():
        assert hasattr(cd.Gumbel(2.0), name), name


def block_of_table():
    return README[README.index("## What is in it") : README.index("Entropies and divergences")]


def test_the_summary_is_the_studys():
    study = (ROOT / "benchmarks" / "inference.md").read_text(encoding="utf-8")
    table = re.search(r"## Summary.*?\n\n(.*?)\n\n", study, re.S).group(1)
    assert table in README


def test_nothing_is_left_to_fill_in_and_links_lead_somewhere():
    assert "@@" not in README
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert link.startswith("http") or (ROOT / link).exists(), link
