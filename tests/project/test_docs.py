"""The sources of the site: every number in prose is computed by code, and every page can be reached from the first."""

import ast
import hashlib
import importlib.util
import json
import os
import re
import shutil
from importlib.metadata import distribution
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def _script(name):
    given = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(given)
    given.loader.exec_module(module)
    return module


CHECK = _script("check_site")
FORMULAS = _script("check_formulas")


@pytest.fixture
def mathjax():
    return Path(distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"))


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


def test_what_is_loaded_from_elsewhere_is_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<link rel="canonical" href="https://a"><link rel="stylesheet" href="https://b/b.css"><script src="//c/c.js"></script>'
        '<a href="https://d">d</a><img src="data:image/png;base64,//e"><img src="http://f/f.png"><script src="g.js"></script>'
        '<p style="background: url(https://h/h.png)">in prose: url(https://i)</p><style>@import "https://j/j.css"</style>'
    )
    (tmp_path / "k.css").write_text("@font-face {src: url('https://l/l.woff'), url(m.woff)}")
    loads = [line.split(" loads ")[1] for line in CHECK.remote(tmp_path)]
    assert loads == ["https://b/b.css", "//c/c.js", "http://f/f.png", "https://h/h.png", "https://j/j.css", "https://l/l.woff"]


def test_mathjax_is_what_its_authors_published(mathjax):
    """The site has the file of `mathjax` 3.2.2 on npm."""
    digest = hashlib.sha256(mathjax.read_bytes()).hexdigest()
    assert digest == "a4354ff94fd868aea0cc6eaaa79a57fda0588646fc46ee3700a349ee0a11cbe6"


@pytest.mark.slow
@pytest.mark.skipif(
    FORMULAS.CHROMIUM is None and not os.environ.get("REQUIRE_BROWSER"), reason="there is no Chromium here; see `make browser`"
)
def test_formulas_that_are_not_drawn_are_seen(tmp_path, mathjax):
    """With a network away: those of a page without MathJax, with MathJax from elsewhere, and those that are no TeX."""
    assert FORMULAS.CHROMIUM is not None
    shutil.copy(mathjax, tmp_path)
    config = re.search(r"^mathjax3_config = (\{.*?^\})", (DOCS / "conf.py").read_text(encoding="utf-8"), re.M | re.S).group(1)
    (tmp_path / "config.js").write_text(f"window.MathJax = {json.dumps(ast.literal_eval(config))}")
    page = "<script src=config.js></script><script defer src={}></script>"
    page += r"<p><span class='math notranslate'>\(x_1\)</span><div class='math notranslate'>\[{}\]</div>"
    there, elsewhere = mathjax.name, "https://cdn.jsdelivr.net/npm/mathjax@3/es5/tex-svg-full.js"
    cases = {"drawn": (there, "x^2"), "elsewhere": (elsewhere, "x"), "macro": (there, r"\nonsense{x}"), "tex": (there, "x_1_2")}
    for name, words in cases.items():
        (tmp_path / f"{name}.html").write_text(page.format(*words))
    (tmp_path / "plain.html").write_text("<p>no formula")
    number, wrong = FORMULAS.unseen(tmp_path, FORMULAS.CHROMIUM)
    assert number == 8
    counts = [(line.partition(".html")[0], *map(int, re.findall(r"\d+", line))) for line in wrong]
    assert counts == [("elsewhere", 0, 2, 0), ("macro", 2, 2, 1), ("tex", 2, 2, 1)]  # drawn, of, as errors


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
