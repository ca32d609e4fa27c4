"""Sentences and tables as a terminal shows them, by rich."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

# What a narrow terminal leaves out, one after another: what is known less well first, and the effect last.
_LEFT_OUT = ({"se"}, {"n_eff", "R-hat"}, {"shape"}, {"form"}, {"kept"}, {"target"}, {"family"}, {"tau"}, {"p"}, {"level"})
_WHOLE = 4  # layouts in which no cell is folded, before any is
_BETWEEN = 2  # characters between columns
_LEGIBLE = 12  # characters, at least, of a column of words whose cells are on several lines


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


def fitting(rows: list[list[str]], width: int, words: Sequence[int] = (0, -1)) -> list[list[str]]:
    """The table for a terminal of this width: pairs on two lines, then without standard errors and effective draws; then cells
    of the columns in `words` on several lines, and without the columns that the verdict sums up. Numbers are never cut.
    """
    narrow = [[row[0].replace(" ~ ", "\n ~ ", 1), *row[1:]] for row in rows]
    layouts = [rows, narrow]
    left_out = set[str]()
    for names in _LEFT_OUT:
        left_out |= names
        kept = [k for k, name in enumerate(rows[0]) if name not in left_out or k in words or k - len(rows[0]) in words]
        layouts.append([[row[k] for k in kept] for row in narrow])
    for layout in layouts[:_WHOLE]:
        if sum(_widths(layout)) + _BETWEEN * len(layout[0]) <= width:
            return layout
    text = [rows[0][k] for k in words]
    for layout in layouts[_WHOLE - 1 :]:
        folded = _folded(layout, width, [k for k, name in enumerate(layout[0]) if name in text], last=layout is layouts[-1])
        if folded is not None:
            return folded
    raise AssertionError("the last layout fits by breaking words")


def _widths(rows: list[list[str]]) -> list[int]:
    """The width of each column."""
    return [max(len(part) for row in rows for part in row[k].split("\n")) for k in range(len(rows[0]))]


def _folded(rows: list[list[str]], width: int, text: Sequence[int], *, last: bool) -> list[list[str]] | None:
    """The table with the cells of some columns on several lines; None if words had to be broken, unless it is the `last`.

    Each of these columns gets what its words need, and then, narrow ones first, what it has use for.
    """
    widths = _widths(rows)
    least = {k: max(max(map(len, row[k].split()), default=0) for row in rows) for k in text}
    least = {k: max(least[k], min(widths[k], _LEGIBLE)) for k in text}
    room = width - _BETWEEN * len(widths) - sum(own for k, own in enumerate(widths) if k not in text)
    if room < sum(least.values()):
        if not last:
            return None
        least = dict.fromkeys(text, max(room // len(text), 1))
    free = max(room - sum(least.values()), 0)
    for left, k in zip(range(len(text), 0, -1), sorted(text, key=lambda k: widths[k] - least[k]), strict=True):
        more = min(widths[k] - least[k], free // left)
        if more > 0:
            least[k] += more
            free -= more
    return [["\n".join(_lines(cell, least[k])) if k in least else cell for k, cell in enumerate(row)] for row in rows]


def _lines(cell: str, width: int) -> list[str]:
    """A cell on lines of this width."""
    return [line for part in cell.split("\n") for line in textwrap.wrap(part, width, break_on_hyphens=False) or [""]]
