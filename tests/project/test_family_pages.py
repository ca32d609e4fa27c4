"""Every family has a page in the documentation, and the page names its class."""

import re
from pathlib import Path

import pytest

import copula_discrepancy as cd

FOLDER = Path(__file__).parents[2] / "docs" / "families"
CLASSES = (*cd.FAMILIES, cd.Rotated)


def listed_pages():
    """The pages in the index's table of contents."""
    toctree = re.search(r"```\{toctree\}\n(.*?)```", (FOLDER / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    return [line for line in toctree.group(1).splitlines() if line and not line.startswith(":")]


def page_of(cls):
    """StudentT is described in student_t.md."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


def test_every_family_has_a_page_and_every_page_a_family():
    assert sorted(listed_pages()) == sorted(page_of(cls) for cls in CLASSES)
    assert {page.stem for page in FOLDER.glob("*.md")} == {"index", *listed_pages()}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_page_links_its_class_and_draws_it(cls):
    text = (FOLDER / f"{page_of(cls)}.md").read_text(encoding="utf-8")
    assert f"{{py:class}}`copula_discrepancy.{cls.__name__}`" in text
    assert f"cd.{cls.__name__}" in text
