"""Tables that benchmarks print, write and read back, and the machine they ran on."""

import os
import platform
import re
from dataclasses import dataclass, field
from importlib.metadata import version

from rich.console import Console
from rich.table import Table

from benchmarks.timing import in_words


def machine() -> str:
    """Versions and cores."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "pandas"))
    return f"Python {platform.python_version()}, {packages}; {platform.machine()}, {os.cpu_count()} cores."


@dataclass
class Report:
    """Rows of one table, printed for people and written as Markdown, with a paragraph below where there is more to say."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    note: str = ""

    def show(self, console: Console) -> None:
        """Print the rows."""
        table = Table(*self.columns, title=self.title, title_justify="left", caption=self.note or None, caption_justify="left")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)

    def markdown(self) -> str:
        """The rows as a Markdown table."""
        lines = [f"## {self.title}", "", f"| {' | '.join(self.columns)} |", "|" + "---|" * len(self.columns)]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])

    def records(self) -> list[dict[str, str]]:
        """The rows by the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def read(text: str) -> dict[str, Report]:
    """The tables of a Markdown file that `Report.markdown` wrote, by the words of their title before the first colon.

    >>> table = Report("Speed: one run", ("job", "ratio"), [("tau", "3x")])
    >>> read(table.markdown())["Speed"].records()
    [{'job': 'tau', 'ratio': '3x'}]
    """
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, *lines = part.splitlines()
        table = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines if line.startswith("| ")]
        note = "\n".join(line for line in lines if line and not line.startswith("|"))
        found[title.split(":")[0]] = Report(title, table[0], table[1:], note)
    return found


def ratios(tables: dict[str, Report]) -> list[dict[str, str]]:
    """Rows with a ratio, of single jobs at their largest n and of all pairs; smaller n and one thread are in tables only."""
    rows = [row for name in ("Speed", "All pairs") if name in tables for row in tables[name].records()]
    rows = [row for row in rows if row["ratio"] != "-" and "one thread" not in row["job"] + row["peer"]]
    largest = {re.sub(r"n = [0-9,]+", "n", row["job"]): row["job"] for row in rows}  # sizes grow down the table
    return [row for row in rows if row["job"] in largest.values()]


RATIOS = ("job", "peer", "ours", "peer's", "ratio", "required", "met", "result of the peer")
LIMITS = ("job", "measured", "required, at most", "met", "note")


def ratio_in_words(ratio: float) -> str:
    """One digit after the point, and two that count below 1.

    >>> ratio_in_words(43.52), ratio_in_words(0.0432)
    ('43.5x', '0.043x')
    """
    return f"{ratio:.1f}x" if ratio >= 1.0 else f"{ratio:.2g}x"


def ratio_row(
    job: str,
    peer: str,
    ours: float,
    theirs: float,
    *,
    asked: float | None = None,
    reason: str = "",
    answer: str = "",
    aim: float | None = None,
) -> tuple[str, ...]:
    """A row of RATIOS; a missed requirement has its reason next to it, and so has a missed goal beyond the requirement."""
    ratio = theirs / ours
    reached = "-" if asked is None else "yes" if ratio >= asked else f"no: {reason or 'not explained'}"
    if aim is not None and reached == "yes":
        reached += f"; the aim, {aim:g}x, too" if ratio >= aim else f"; the aim, {aim:g}x, not: {reason or 'not explained'}"
    times = in_words(ours), in_words(theirs), ratio_in_words(ratio), "-" if asked is None else f"{asked:g}x"
    return (job, peer, *times, reached, answer or "-")


def failed_row(job: str, peer: str, ours: float, why: str, *, asked: float | None = None) -> tuple[str, ...]:
    """A row of RATIOS for a peer without a result."""
    return (job, peer, in_words(ours), "-", "-", "-" if asked is None else f"{asked:g}x", "-", why)


def limit_row(
    job: str, measured: float, unit: str, asked: float | None = None, *, reason: str = "", note: str = ""
) -> tuple[str, ...]:
    """A row of LIMITS."""
    reached = "-" if asked is None else "yes" if measured <= asked else f"no: {reason or 'not explained'}"
    return (job, f"{measured:.3g} {unit}", "-" if asked is None else f"{asked:g} {unit}", reached, note or "-")


def error_in_a_line(error: Exception, limit: int = 110) -> str:
    """The message of an exception on one line, for a table."""
    words = " ".join(str(error).split()).replace("|", "/")
    return f"{type(error).__name__}: {words}"[:limit]
