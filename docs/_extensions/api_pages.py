"""What the reference needs beside autodoc: which members stand on which page, and docstrings that were written for `help()`.

A class from which other public classes inherit describes what they share, once; their own pages link there.
"""

import inspect
import re
from typing import Any

from docutils import nodes
from numpydoc.xref import DEFAULT_LINKS
from sphinx.application import Sphinx
from sphinx.roles import XRefRole

import copula_discrepancy as cd

INLINE_LITERAL = re.compile(r"(``.+?``)")


def is_described(cls: type, name: str) -> bool:
    """Whether a member is a method, or an attribute with a docstring of its own; plain values have that of their type."""
    member = inspect.getattr_static(cls, name)
    computed = callable(getattr(cls, name)) or hasattr(type(member), "__get__")
    return not name.startswith("_") and not inspect.isclass(member) and computed and bool(inspect.getdoc(getattr(cls, name)))


def page_of(cls: type, public: dict[type, str]) -> dict[str, Any]:
    """The members that a class's page describes, and those that it has from another public class."""
    home = next((base for base in cls.__mro__[1:] if base in public), None)
    in_order = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))  # as they are written
    names = [name for name in in_order if is_described(cls, name)]
    # what an override says in its own words stands on its own page; one without words is described where it is declared
    shared = [name for name in names if home and hasattr(home, name) and not getattr(cls.__dict__.get(name), "__doc__", None)]
    if home is None or issubclass(cls, BaseException):
        shared = []
    own = [name for name in names if name not in shared]
    if issubclass(cls, BaseException):
        own = [name for name in own if name in cls.__dict__]
    methods = {name for name in names if callable(getattr(cls, name))}
    return {
        "methods": [name for name in own if name in methods],
        "attributes": [name for name in own if name not in methods],
        "home": public[home] if shared else None,
        "shared_methods": [name for name in shared if name in methods],
        "shared_attributes": [name for name in shared if name not in methods],
    }


def pages() -> dict[str, dict[str, Any]]:
    """`page_of` every public class, by name."""
    public = {getattr(cd, name): name for name in cd.__all__ if inspect.isclass(getattr(cd, name))}
    return {name: page_of(cls, public) for cls, name in public.items()}


def name_role(
    role: str,
    raw: str,
    text: str,
    line: int,
    inliner: Any,
    options: dict[str, Any] | None = None,
    content: tuple[str, ...] = (),
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """What `single backticks` in a docstring mean: a link where the text is a public name or a member of one, else code."""
    env = inliner.document.settings.env
    own_class = env.ref_context.get("py:class")
    for full in (text, f"{own_class}.{text}"):
        first, _, member = full.partition(".")
        if full in cd.__all__ or member in LINKED.get(first, ()):
            return XRefRole()("py:obj", raw, f"{text} <copula_discrepancy.{full}>", line, inliner, options or {}, list(content))
    return [nodes.literal(raw, text)], []


def as_plain_text(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escape the bars of |tau|, which reStructuredText takes for substitutions, outside of literals and examples.

    Parameters of the function itself are set as code, also where a public name is spelt like them: `family`.
    """
    in_example = False
    parameters = "|".join(inspect.signature(obj).parameters) if inspect.isfunction(obj) else ""
    own = re.compile(rf"(?<!`)`({parameters})`(?!`)")
    for k, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if not in_example:
            parts = INLINE_LITERAL.split(own.sub(r"``\1``", line) if parameters else line)
            lines[k] = "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def without_constructor(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str | None, returns: str | None
) -> tuple[str, str] | None:
    """No signature for results: their docstrings have attributes, not parameters, since nobody makes them by hand."""
    if what == "class" and "Parameters\n" not in (inspect.getdoc(obj) or ""):
        return "", ""
    return None


PAGES = pages()
LINKED = {
    name: {*page["methods"], *page["attributes"]} for name, page in PAGES.items()
}  # what the page of a class describes can be linked to


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; docstrings are escaped before numpydoc takes them apart."""
    app.setup_extension("numpydoc")  # it brings autosummary, which brings autodoc
    app.config.autosummary_context = {"pages": PAGES}
    # Fit and fit are two names, but one file where names of files know no case
    twice = [name for name in cd.__all__ if name != name.lower() and name.lower() in cd.__all__]
    app.config.autosummary_filename_map = {f"copula_discrepancy.{name}": f"copula_discrepancy.{name}-result" for name in twice}
    # types in docstrings are words; those that are classes of this library are links
    app.config.numpydoc_xref_param_type, app.config.numpydoc_xref_ignore = True, "all"
    own = {name: f"copula_discrepancy.{name}" for name in PAGES}
    app.config.numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS} | own
    app.add_role("name", name_role)
    app.connect("autodoc-process-docstring", as_plain_text, priority=400)
    app.connect("autodoc-process-signature", without_constructor)
    return {"parallel_read_safe": True}
