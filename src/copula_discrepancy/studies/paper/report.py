"""The tables of a reproduction: on the terminal, in Markdown, and as CSV."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from copula_discrepancy.studies.paper.published import Comparison
from copula_discrepancy.studies.paper.statements import Means
from copula_discrepancy.studies.paper.store import Row

if TYPE_CHECKING:
    from rich.table import Table

Grid: TypeAlias = tuple[str, list[str], list[list[str]]]  # title, headings, rows

TITLES = {
    "experiment1": "Experiment 1: Gumbel(2.5) as the target; draws of Gumbel (on) and of Clayton (off), same tau",
    "experiment2": "Experiment 2: step size of SGLD on a bimodal mixture",
    "experiment3": "Experiment 3: Clayton(3) as the target, draws of Gumbel(2.5), same tau",
    "overhead": "Overhead: computation time of each diagnostic",
}
LABELS = {
    "on_cd": "CD on", "off_cd": "CD off", "on_ckl": "CKL on", "off_ckl": "CKL off", "on_ced_mc": "CED on, simulated",
    "off_ced_mc": "CED off, simulated", "published_cd": "CD, stuck reference", "published_ckl": "CKL, stuck reference",
    "published_ced": "CED, stuck reference", "paper_ess": "the paper's ESS", "cd": "CD", "ckl": "CKL",
    "naive_tau": "naive tau", "ksd_unit": "KSD, unit square", "ced_mc": "CED, simulated",
}  # fmt: skip
# Diagnostics that the paper does not have.
OURS = {
    "experiment1": ("on_ced", "off_ced", "on_shape", "off_shape", "off_shape_rejected"),
    "experiment2": ("cd", "cd_se", "cd_rejected", "ckl", "ced", "ess", "rhat"),
    "experiment3": ("ced", "shape", "shape_rejected", "ksd", "on_target_ksd", "on_target_ksd_unit"),
    "overhead": ("cd_moment", "cd_mle", "discrepancy", "ksd"),
}
OUR_LABELS = {
    "on_ced": "CED on, exact", "off_ced": "CED off, exact", "on_shape": "shape on", "off_shape": "shape off",
    "off_shape_rejected": "shape off, rejected", "cd": "CD, true tau", "cd_se": "its se", "cd_rejected": "rejected",
    "ckl": "CKL", "ced": "CED, exact", "ess": "ESS (ArviZ)", "rhat": "R-hat", "shape": "shape", "shape_rejected": "rejected",
    "ksd": "KSD, valid", "on_target_ksd": "same, on target", "on_target_ksd_unit": "KSD unit, on target",
    "cd_moment": "CD moment", "cd_mle": "CD MLE", "discrepancy": "discrepancy()",
}  # fmt: skip


def grids(name: str, variable: str, comparisons: Sequence[Comparison], means: Means) -> list[Grid]:
    """Tables as (title, headings, rows): two diagnostics side by side with the published means, then our own diagnostics."""
    tables, quantity = [], variable.replace("_", " ")
    found = {(item.diagnostic, item.value): item for item in comparisons}
    diagnostics = list(dict.fromkeys(item.diagnostic for item in comparisons))
    for pair in (diagnostics[k : k + 2] for k in range(0, len(diagnostics), 2)):
        headings = [quantity, *(text for diagnostic in pair for text in (LABELS[diagnostic], "published", "z"))]
        rows = []
        for value in means.values:
            cells = [found.get((diagnostic, value)) for diagnostic in pair]
            if any(cells):
                rows.append([_place(value), *(text for cell in cells for text in _cells(cell))])
        tables.append(("ours against published", headings, rows))
    own = [diagnostic for diagnostic in OURS[name] if any(math.isfinite(x) for x in means.curve(diagnostic))]
    scale, what = (1e3, "median") if name == "overhead" else (1.0, "mean")
    headings = [quantity, *(_own_label(name, diagnostic) for diagnostic in own)]
    numbers = [[scale * means.at(diagnostic, value, what) for diagnostic in own] for value in means.values]
    rows = [[_place(n), *(_number(x, digits=3) for x in row)] for n, row in zip(means.values, numbers, strict=True)]
    tables.append(("median milliseconds" if name == "overhead" else "beyond the paper", headings, rows))
    return tables


def _place(value: float) -> str:
    return f"{value:.3g}" if value < 1 else f"{value:.0f}"


def _own_label(name: str, diagnostic: str) -> str:
    return "KSD" if name == "overhead" and diagnostic == "ksd" else OUR_LABELS[diagnostic]


def _cells(item: Comparison | None) -> tuple[str, str, str]:
    if item is None:
        return "", "", ""
    return _number(item.ours), _number(item.published), f"{item.z:+.1f}" + ("" if item.within else " *")


def _number(value: float, digits: int = 4) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}g}"


def rich_tables(tables: Iterable[Grid]) -> "Iterable[Table]":
    """Tables for the terminal."""
    from rich import box
    from rich.table import Table

    for title, headings, rows in tables:
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for heading in headings:
            table.add_column(heading, justify="right")
        for row in rows:
            table.add_row(*row)
        yield table


def markdown(tables: Iterable[Grid]) -> str:
    """Tables in Markdown."""
    parts = []
    for title, headings, rows in tables:
        lines = [f"### {title}", "", f"| {' | '.join(headings)} |", f"|{'---:|' * len(headings)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def csv_text(rows: Sequence[Row]) -> str:
    """Rows as CSV, with every column that any of them has and floats in full precision."""
    if not rows:
        return ""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value != value else value for key, value in row.items()} for row in rows)  # NaN: empty
    return stream.getvalue()
