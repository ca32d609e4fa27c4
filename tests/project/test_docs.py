"""The sources of the site: every number in prose is computed by code, and every page can be reached from the first."""

import importlib.util
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def _check_site():
    given = importlib.util.spec_from_file_location("check_site", DOCS / "check_site.py")
    module = importlib.util.module_from_spec(given)
    given.loader.exec_module(module)
    return module


CHECK = _check_site()


def test_no_number_is_typed_into_prose():
    assert CHECK.typed_numbers() == []


def test_a_typed_number_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(CHECK, "DOCS", tmp_path)
    (tmp_path / "page.md").write_text(
        "Python 3.11, section 4.2.4, `0.123`, $0.234$, 0.05, {glue:text}`gap:.3f`\nset to 0.75\n\n"
        "```{code-cell} ipython3\nx = 0.75\n```\n\nIt is 0.345 and\n-1.5e-3.\n",
        encoding="utf-8",
    )
    assert [line.split(": ")[1].split(" ")[0] for line in CHECK.typed_numbers()] == ["0.345", "-1.5e-3"]


def test_links_that_lead_nowhere_and_cells_that_failed_are_seen(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">x</a><a href="#here">y</a><a href="https://z">z</a>')
    (tmp_path / "b.html").write_text('<img src="gone.png"><pre>bash: copula-discrepancy: ' + CHECK.FAILED[0] + "</pre>")
    expected = [("b.html", CHECK.FAILED[0]), ("a.html", "b.html#there"), ("b.html", "gone.png")]
    lines = CHECK.broken(tmp_path)
    assert len(lines) == len(expected)
    for page, fault in expected:
        assert [line for line in lines if line.startswith(page) and fault in line], (page, fault)


def test_all_that_was_measured_is_on_the_site():
    """Once `make bench-gpu` has written gpu.md, docs/benchmarks.md includes it, as it does the others."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md") if "_build" not in path.parts)
    measured = {path.name for path in (DOCS.parent / "benchmarks").glob("*.md")}
    assert measured >= {"results.md", "inference.md", "kinds.md", "tables.md"}
    assert {name for name in measured if not re.search(rf"{{include}} [./]*/benchmarks/{name}\n", pages)} == set()


def test_every_page_is_in_a_table_of_contents():
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    pages |= {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.ipynb")}
    pages = {page for page in pages if not page.startswith(("_build", "jupyter_execute", "api/generated"))}
    listed = {"index"}
    for page in pages:
        path = DOCS / f"{page}.md"
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", path.read_text(encoding="utf-8"), re.S) if path.exists() else ():
            for line in tree.splitlines():
                if line.strip() and not line.startswith(":"):
                    name = re.sub(r".*<(.*)>", r"\1", line.strip()).removesuffix(".md").removesuffix(".ipynb")
                    listed.add((Path(page).parent / name).as_posix())
    assert pages - listed == set()
    assert listed - pages == set()
