"""What Sphinx does not check: `python docs/check_site.py [folder of built pages]`.

Of the sources: no measured number stands in prose without code that makes it. Of the built pages: every link within the site
leads to a page and to a place on it, every picture is there, and no cell shows a command that is missing or a traceback.
The site can be read offline: no page and no style sheet loads anything from another address.
"""

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).parent
FENCE = re.compile(r"^(`{3,}|~{3,}|:{3,})(.*)$")
# A decimal number that belongs to nothing longer: no version, section number or part of a name
DECIMAL = re.compile(r"(?<!Python )(?<![\w.:/#-])[-+]?\d+\.\d+(?:e[-+]?\d+)?(?![\w.]*\w)")
NOT_PROSE = re.compile(
    r"""\$\$.*?\$\$ | \$[^$\n]+\$ | \{[a-z:]+\}`[^`]*` | ``[^`]+`` | `[^`]*` | \]\([^)]*\) | <[^>]+> | ^\s*:[a-z-]+:.*$""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# "sections 4.2, 4.3 and 4.5": places in a text, not measurements
PLACES = re.compile(
    r"(?:sections?|chapters?|tables?|figures?|equations?|theorems?|definitions?|remarks?|corollar(?:y|ies)|propositions?|lemmas?"
    r"|assumptions?|algorithms?)\s+\d+(?:\.\d+)*(?:(?:,|\s+and|\s+to|,\s+and)\s+\d+(?:\.\d+)*)*",
    re.IGNORECASE,
)
# Constants of definitions and conventions, which nothing measures
CONVENTIONS = {"0.05", "0.5", "0.95", "0.01", "1.01", "1.02"}
# Tags that load what they name, and where they name it; a link loads, unless it only says how pages are related
LOADS = {"audio": "src", "embed": "src", "iframe": "src", "img": "src", "link": "href", "object": "data", "script": "src",
         "source": "src", "track": "src", "video": "src"}  # fmt: skip
RELATIONS = {"alternate", "author", "canonical", "copyright", "help", "index", "license", "next", "prev", "search"}
STYLE_LOADS = re.compile(r"""(?:@import\s+|url\(\s*)["']?((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
FAILED = ("command not found", "Traceback (most recent call last)", "No such file or directory")


def sources() -> Iterator[tuple[Path, str, str]]:
    """Every page: its path, its prose, and all else in it, such as code and formulas."""
    for path in sorted(DOCS.rglob("*")):
        if "_build" in path.parts or "generated" in path.parts:
            continue
        if path.suffix == ".ipynb":
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            text = {kind: "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == kind)
                    for kind in ("markdown", "code")}  # fmt: skip
            prose, rest = split(text["markdown"])
            yield path, prose, rest + text["code"]
        elif path.suffix == ".md":
            yield path, *split(path.read_text(encoding="utf-8"))


def split(text: str) -> tuple[str, str]:
    """Prose, and what stands in code, formulas, options and addresses."""
    prose: list[str] = []
    rest: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = FENCE.match(line.strip())
        if mark and not fence and mark.group(1)[0] != ":":
            fence = mark.group(1)
        elif mark and fence and mark.group(1).startswith(fence) and not mark.group(2):
            fence = ""
        (rest if fence or mark else prose).append(line)
    told = "\n".join(prose)
    rest += NOT_PROSE.findall(told)
    return NOT_PROSE.sub(" ", told), "\n".join(rest)


def typed_numbers() -> list[str]:
    """Numbers in prose that neither a convention nor the page's own code or formulas have."""
    found = []
    for path, prose, rest in sources():
        typed = [number for number in DECIMAL.findall(PLACES.sub(" ", prose)) if number.lstrip("+-") not in CONVENTIONS]
        lost = [number for number in typed if number.lstrip("+-") not in rest]
        found += [f"{path.relative_to(DOCS)}: {number} is typed; let code make it, for example with glue" for number in lost]
    return found


class Page(HTMLParser):
    """The places, links and pictures of one page, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down what the tag names and where it leads."""
        given = dict(attrs)
        self.places |= {value for key in ("id", "name") if (value := given.get(key))}
        leads = given.get("href") if tag == "a" else given.get("src") if tag in ("img", "script") else None
        if leads:
            self.links.append(leads)
        loaded = given.get(LOADS.get(tag, ""))
        if loaded and not (tag == "link" and set((given.get("rel") or "").split()) <= RELATIONS):
            self.loads.append(loaded)


def broken(site: Path) -> list[str]:
    """Links within the site that lead nowhere, and cells that failed without an exception."""
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html") if "_static" not in path.parts}
    pages = {path.resolve(): Page(text) for path, text in texts.items()}
    executed = {path: text for path, text in texts.items() if not {"generated", "_modules"} & set(path.parts)}
    found = [f"{path.relative_to(site)} shows {word!r}" for path, text in executed.items() for word in FAILED if word in text]
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not goal.exists():
                found.append(f"{path.name} leads to {link}, which is not there")
            elif parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].places:
                found.append(f"{path.name} leads to {link}, a place which is not there")
    return found


def remote(site: Path) -> list[str]:
    """What pages and style sheets load from other addresses, where an offline reader has nothing."""
    found = []
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        loads = [load for load in Page(text).loads if urlsplit(load).netloc]
        loads += STYLE_LOADS.findall(" ".join(re.findall(r"<style.*?</style>|\sstyle=\"[^\"]*\"", text, re.DOTALL)))
        found += [f"{path.relative_to(site)} loads {load}" for load in loads]
    for path in sorted(site.rglob("*.css")):
        found += [f"{path.relative_to(site)} loads {load}" for load in STYLE_LOADS.findall(path.read_text(encoding="utf-8"))]
    return found


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    site = [Path(folder) for folder in sys.argv[1:]]
    wrong = typed_numbers() + [line for folder in site for line in broken(folder) + remote(folder)]
    print("\n".join(wrong) or "every number has its code, every link its goal, and nothing is loaded from elsewhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
