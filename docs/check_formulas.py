"""Whether readers see formulas: `python docs/check_formulas.py folder of built pages`.

Each page with formulas is opened in Chromium without a network. Every formula has to be drawn, and none as an error of TeX.
Without Chromium nothing is checked, and this is said; it is a fault where REQUIRE_BROWSER is set, as in continuous integration.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=60000",  # milliseconds that pass at once
    "--dump-dom",
)
PATIENCE = 120  # seconds; a page takes one or two


class Formulas(HTMLParser):
    """The formulas of a page: as it was written, or as a browser shows it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.written = self.drawn = self.errors = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count Sphinx's elements, MathJax's, and those that it draws where it does not understand."""
        given = dict(attrs)
        self.written += {"math", "notranslate"} <= set((given.get("class") or "").split())
        self.drawn += tag == "mjx-container"
        self.errors += given.get("data-mml-node") == "merror"


def shown(page: Path, browser: str) -> str:
    """The elements of a page once its scripts have run."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:  # Chromium may still write while it ends
        command = [browser, *SWITCHES, f"--user-data-dir={profile}", page.resolve().as_uri()]
        ended = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=True)
    return ended.stdout


def unseen(site: Path, browser: str) -> tuple[int, list[str]]:
    """The number of formulas, and the pages on which some are not drawn or wrong."""
    pages = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    written = {page: number for page in pages if (number := Formulas(page.read_text(encoding="utf-8")).written)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        seen = [Formulas(text) for text in pool.map(shown, written, [browser] * len(written))]
    found = [
        f"{page.relative_to(site)}: {drawing.drawn} of {number} formulas are drawn, {drawing.errors} as errors"
        for (page, number), drawing in zip(written.items(), seen, strict=True)
        if drawing.drawn != number or drawing.errors
    ]
    return sum(written.values()), found


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    if CHROMIUM is None:
        print("there is no Chromium here: no formula was checked; `make browser` installs Debian's")
        return int(bool(os.environ.get("REQUIRE_BROWSER")))
    number, wrong = unseen(Path(sys.argv[1]), CHROMIUM)
    print("\n".join(wrong) or f"all {number} formulas are drawn without a network")
    return 1 if wrong or not number else 0


if __name__ == "__main__":
    sys.exit(main())
