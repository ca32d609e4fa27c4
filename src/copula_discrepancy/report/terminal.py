"""Sentences and tables as a terminal shows them, by rich."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def topic_line(topic: str, sentence: str) -> "Table":
    """A sentence with its topic in a separate column."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid()  # without padding, which rich 15 includes in the width and earlier versions do not
    grid.add_column(width=11)
    grid.add_column(max_width=99)
    grid.add_row(Text(f"{topic}:"), Text(sentence))
    return grid


def rows_table(rows: Sequence[Sequence[str]], words: Sequence[int], styles: Sequence[str] = ()) -> "Table":
    """A table; the columns in `words`, -1 for the last, are flushed left and may be folded; last cells have `styles`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    head, *lines = rows
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(head):
        text = k in words or k - len(head) in words
        table.add_column(name, justify="left" if text else "right", no_wrap=not text, overflow="fold")
    for line, style in zip(lines, styles or [""] * len(lines), strict=True):
        table.add_row(*(Text(cell) for cell in line[:-1]), Text(line[-1], style=style))
    return table


def fitting(rows: list[list[str]], width: int) -> list[list[str]]:
    """The table for a narrow terminal: pairs on two lines, then without standard errors, then without effective draws."""
    narrow = [[row[0].replace(" ~ ", "\n ~ ", 1), *row[1:]] for row in rows]
    layouts = [rows, narrow]
    for left_out in ({"se"}, {"se", "n_eff", "R-hat"}):
        kept = [k for k, name in enumerate(rows[0]) if name not in left_out]
        layouts.append([[row[k] for k in kept] for row in narrow])
    for layout in layouts:
        widths = [max(len(part) for row in layout for part in row[k].split("\n")) for k in range(len(layout[0]))]
        if sum(widths) + 2 * len(widths) <= width:
            return layout
    return layouts[-1]
