"""Write a page and its JSON: the path checked before the work, both files whole or not there."""

import base64
import hashlib
import os
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copula_discrepancy import _written
from copula_discrepancy.errors import InputError, true_or_false
from copula_discrepancy.words import shortened

if TYPE_CHECKING:
    from jinja2 import Template

_ENDINGS = (".html", ".htm")
_LONGEST = 1000  # characters of a sentence: names of any length keep a page small, and the JSON has them whole
WAY_OUT = "give a path in a folder that you can write to"


def page_path(path: Any, force: Any) -> Path:
    """The path of a page, checked: it ends in .html, its folder is there, and no file would be lost."""
    overwrite = true_or_false(force, "force")
    try:
        checked = Path(path)
    except TypeError:
        raise InputError(f"path must be the path of a page, such as 'report.html', got {path!r:.60}") from None
    if checked.suffix.lower() not in _ENDINGS:
        raise InputError(f"a page's path must end in .html, got {str(path)!r:.80}; its numbers go to a .json file beside it")
    if not checked.parent.is_dir():
        raise InputError(f"{checked} cannot be written: the folder {checked.parent} is not there; make it first")
    if checked.is_dir():
        raise InputError(f"{checked} is a folder; give the path of a page inside it, such as {checked / 'report.html'}")
    if not os.access(checked.parent, os.W_OK):
        raise InputError(f"{checked} cannot be written: no permission in {checked.parent}; {WAY_OUT}")
    there = [file for file in (checked, json_path(checked)) if file.exists()]
    if there and not overwrite:
        names = " and ".join(map(str, there))
        raise InputError(f"{names} already there; give another name, or overwrite with force=True (--force)")
    return checked


def json_path(page: Path) -> Path:
    """Where the numbers of a page go."""
    return page.with_suffix(".json")


def write_page(path: Path, content: dict[str, Any], numbers: dict[str, Any]) -> Path:
    """Write the JSON and then the page that names it."""
    beside = json_path(path)
    _written.write_text(beside, _written.json_text(numbers), WAY_OUT)
    _written.write_text(path, render(content | {"json": beside.name}), WAY_OUT)
    return path


def render(content: dict[str, Any]) -> str:
    """The page as text; the template escapes whatever it is given."""
    style, script = (_source(name) for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _template().render(content, style=style, script=script, digest=digest)


def _source(name: str) -> str:
    return files("copula_discrepancy.pages").joinpath("templates", name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _template() -> "Template":
    from jinja2 import Environment, StrictUndefined

    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["brief"] = lambda text: shortened(text, _LONGEST)
    return made.from_string(_source("page.html.j2"))
