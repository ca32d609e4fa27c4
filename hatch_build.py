"""What PyPI shows: README with absolute addresses, and the addresses of the project.

README's links and pictures are relative, so that they lead to files of the same commit in a clone, a fork and an archive. PyPI
has none of these files. What is built for PyPI points to the files of its tag in the repository, whose address is told by the
environment variable COPULA_DISCREPANCY_REPOSITORY, such as https://github.com/owner/name: the workflow of releases sets it to
the repository that it runs in, and no file has to repeat it. Without the variable, links become plain text, and pictures their
descriptions. A source distribution stores the result, and wheels built from it have the same.
"""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "COPULA_DISCREPANCY_REPOSITORY"
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^][]*)\]\((?P<path>[^()#\s]+)(?P<place>#[^()\s]*)?\)")


def without_relative_links(text: str, root: Path, repository: str, version: str) -> str:
    """Markdown whose links to files below `root` lead to the tag of a version in the repository, or nowhere without one."""

    def outside_code(part: str) -> str:
        return LINK.sub(address, part)

    def address(link: re.Match[str]) -> str:
        if urlsplit(link["path"]).scheme:
            return link[0]
        if not repository:
            return link["text"]
        if not (root / link["path"]).exists():
            raise FileNotFoundError(f"README leads to {link['path']}, which is not there")
        kind = "raw" if link["picture"] else "tree" if (root / link["path"]).is_dir() else "blob"
        return f"{link['picture']}[{link['text']}]({repository}/{kind}/v{version}/{link['path']}{link['place'] or ''})"

    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [outside_code(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, outside_code(text[end:])])


def project_urls(repository: str, version: str) -> dict[str, str]:
    """The addresses that PyPI lists beside the description; the site is where docs.yml publishes it."""
    if not repository:
        return {}
    server, owner, name = urlsplit(repository).netloc, *urlsplit(repository).path.strip("/").split("/")
    site = {"Documentation": f"https://{owner}.github.io/{name}/"} if server == "github.com" else {}
    return {
        "Source": repository,
        **site,
        "Changelog": f"{repository}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


class Addresses(MetadataHookInterface):
    """Fill `readme` and `urls` in."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Change the table [project]; where a source distribution is built from, both are there."""
        repository = os.environ.get(VARIABLE, "").rstrip("/").removesuffix(".git")
        if repository and not re.fullmatch(r"https://[^/\s@]+/[^/\s]+/[^/\s]+", repository):
            raise ValueError(f"{VARIABLE} has to be an address such as https://github.com/owner/name, got {repository!r}")
        if "readme" not in metadata:
            root = Path(self.root)
            text = (root / "README.md").read_text(encoding="utf-8")
            text = without_relative_links(text, root, repository, metadata["version"])
            metadata["readme"] = {"content-type": "text/markdown", "text": text}
            metadata["urls"] = project_urls(repository, metadata["version"])
