"""The HTML report: seconds to write it from a result, its size, and how fast Chromium opens and sorts it."""

import shutil
import tempfile
from pathlib import Path

import copula_discrepancy as cd
from benchmarks.pairs import CHAINS, DRAWS, correlations, normal_chains, quiet
from benchmarks.report import LIMITS, Report, limit_row
from benchmarks.sizes import Sizes
from benchmarks.timing import measured

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SORT = """() => {
    const start = performance.now();
    document.querySelectorAll("#ranking thead button")[4].click();
    document.body.getBoundingClientRect();  // lays the page out
    return performance.now() - start;
}"""


def page(sizes: Sizes) -> Report:
    """Reports for the given numbers of variables."""
    report = Report(f"The page: {CHAINS} x {DRAWS} draws against a reference sample", LIMITS)
    for d in sizes.pages:
        matrix = correlations(d, 1)
        with quiet():
            samples = (normal_chains(matrix, 0.3, seed) for seed in (1, 2))
            result = cd.pairwise(*samples, family="gaussian", progress=False)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            write = measured(lambda path=path, result=result: result.to_html(path, force=True), repeats=1)[0]
            if write.error is not None:
                raise write.error
            seen = in_chromium(path) if CHROMIUM else None
            size = path.stat().st_size / 2**20
        label, asked = f"d = {d}, {len(result):,} pairs", d <= 50
        report.rows.append(limit_row(f"{label}: written", write.seconds, "s", 10.0 if asked else None))
        report.rows.append(limit_row(f"{label}: size", size, "MB", 3.0))
        for place, what in enumerate(("opened", "sorted")):
            if seen is None:
                report.rows.append((f"{label}: {what}", "-", "1 s" if asked else "-", "-", "no Chromium here"))
            else:
                report.rows.append(limit_row(f"{label}: {what}", seen[place], "s", 1.0 if asked else None, note="in Chromium"))
    return report


def in_chromium(path: Path) -> tuple[float, float]:
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
    return sorted(opening)[2] / 1e3, sorted(sorting)[2] / 1e3
