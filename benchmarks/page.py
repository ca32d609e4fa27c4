"""The page: seconds to write it once the numbers are there, its size, and how fast Chromium opens and sorts it."""

import shutil
import tempfile
import time
from pathlib import Path

import copula_discrepancy as cd
from benchmarks.pairs import CHAINS, DRAWS, correlations, normal_chains
from benchmarks.report import Report

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SORT = """() => {
    const start = performance.now();
    document.querySelectorAll("#ranking thead button")[4].click();
    document.body.getBoundingClientRect();  // lays the page out
    return performance.now() - start;
}"""


def page() -> Report:
    """Pages of 50 and of 300 variables."""
    columns = ("page", "written in, s", "asked", "size, MB", "asked", "opens in, s", "asked", "sorts in, s", "asked")
    report = Report(f"The page: {CHAINS} x {DRAWS} draws against a reference sample", columns)
    for d in (50, 300):
        matrix = correlations(d, 1)
        result = cd.pairwise(normal_chains(matrix, 0.3, 1), normal_chains(matrix, 0.3, 2), family="gaussian")
        with tempfile.TemporaryDirectory() as folder:
            times = []
            for _ in range(2):  # the first loads matplotlib
                start = time.perf_counter()
                path = result.to_html(Path(folder) / "report.html", force=True)
                times.append(time.perf_counter() - start)
            seen = in_chromium(path) if CHROMIUM else ("no Chromium", "no Chromium")
            size = path.stat().st_size / 2**20
        asked = ("10", "1", "1") if d == 50 else ("-", "-", "-")
        label = f"d = {d}, {len(result):,} pairs"
        report.rows.append((label, f"{times[-1]:.1f}", asked[0], f"{size:.1f}", "3", seen[0], asked[1], seen[1], asked[2]))
    return report


def in_chromium(path: Path) -> tuple[str, str]:
    """Seconds to the end of loading, and to sort and lay out the table; medians of five visits."""
    from playwright.sync_api import sync_playwright

    opening, sorting = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        for _ in range(5):
            visit = browser.new_page()
            visit.goto(path.as_uri())
            opening.append(visit.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
            sorting.append(visit.evaluate(SORT))
            visit.close()
        browser.close()
    return f"{sorted(opening)[2] / 1e3:.2f}", f"{sorted(sorting)[2] / 1e3:.2f}"
