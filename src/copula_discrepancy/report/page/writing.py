"""Writing of a page and its JSON: the path is checked first, and both files are written completely or not at all."""

import base64
import hashlib
import os
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from copula_discrepancy._core.checks import true_or_false
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import json_chunks, text_file
from copula_discrepancy.compare.wording import shortened

if TYPE_CHECKING:
    from jinja2 import Environment

_ENDINGS = (".html", ".htm")
_LONGEST = 1000  # characters of a sentence, to limit the size of a page with long names; the JSON has them in full
_NAME = 40  # characters of a name beside the answer
WAY_OUT = "use a path in a writable folder"


def page_path(path: Any, force: Any) -> Path:
    """The validated path of a page: it ends in .html, its folder exists, and no file would be overwritten."""
    overwrite = true_or_false(force, "force")
    try:
        checked = Path(path)
    except TypeError:
        raise InputError(f"path must be the path of a page, such as 'report.html', got {path!r:.60}") from None
    if checked.suffix.lower() not in _ENDINGS:
        raise InputError(
            f"a page's path must end in .html or .htm, got {str(path)!r:.80}; its numbers go to a .json file next to it"
        )
    try:
        _require_room(checked, overwrite)
    except (OSError, ValueError) as error:  # InputError is a ValueError with its own message
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)!r:.80} cannot be written: {reason}; use another name") from None
    return checked


def _require_room(page: Path, overwrite: bool) -> None:
    """Raise if a page and its JSON cannot be written, or would replace existing files."""
    if "\0" in str(page):
        raise InputError(f"{str(page)!r:.80} cannot be written: a path cannot contain a null character; use another name")
    if not page.parent.is_dir():
        raise InputError(f"{page} cannot be written: the folder {page.parent} does not exist")
    if not os.access(page.parent, os.W_OK):
        raise InputError(f"{page} cannot be written: permission denied in {page.parent}; {WAY_OUT}")
    files = (page, json_path(page))
    for file in files:
        if file.is_dir():
            raise InputError(f"{file} is a folder, so no file with that name can be written; use another name")
    existing = [str(file) for file in files if os.path.lexists(file)]  # includes broken links
    if existing and not overwrite:
        exist = "already exists" if len(existing) == 1 else "already exist"
        raise InputError(f"{' and '.join(existing)} {exist}; use another name or overwrite with force=True (--force)")


def json_path(page: Path) -> Path:
    """The path of the JSON of a page."""
    return page.with_suffix(".json")


def write_page(
    path: Path, content: dict[str, Any], numbers: dict[str, Any], *, force: bool, template: str = "page.html.j2"
) -> Path:
    """Write the page and its JSON, both or none; without `force`, files created in the meantime are not overwritten."""
    beside = json_path(path)
    address = f"./{quote(beside.name, errors='replace')}"  # a name may contain characters with a special meaning in a URL
    page = render(content | {"json": beside.name, "json_address": address}, template)
    with text_file(beside, WAY_OUT, replace=force) as file:  # moved into place after the page, if that succeeded
        file.writelines(json_chunks(numbers))
        file.flush()  # errors must occur before the page is moved into place
        os.fsync(file.fileno())
        with text_file(path, WAY_OUT, replace=force) as other:
            other.write(page)
    return path


def render(content: dict[str, Any], template: str = "page.html.j2") -> str:
    """The page as text; the template escapes all content."""
    style, script = (_source(name) for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _templates().get_template(template).render(content, style=style, script=script, digest=digest)


def _source(name: str) -> str:
    return files("copula_discrepancy.report.page").joinpath("templates", name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _templates() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(_source), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["brief"] = lambda text: shortened(text, _LONGEST)
    made.filters["name"] = lambda text: shortened(text, _NAME)
    return made
