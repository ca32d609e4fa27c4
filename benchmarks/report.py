"""Tables that benchmarks print and write, and the machine they ran on."""

import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import version

from rich.console import Console
from rich.table import Table


def machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "pandas"))
    return f"Python {platform.python_version()}, {packages}; {platform.machine()}, {os.cpu_count()} cores."


@dataclass
class Report:
    """Rows of one table, printed for people and written as Markdown."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def show(self, console: Console) -> None:
        """Print the rows."""
        table = Table(*self.columns, title=self.title, title_justify="left")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)

    def markdown(self) -> str:
        """The rows as a Markdown table."""
        lines = [f"## {self.title}", "", f"| {' | '.join(self.columns)} |", "|" + "---|" * len(self.columns)]
        return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in self.rows), ""])
