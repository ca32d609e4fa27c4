"""The state of a run that is watched, on a terminal: the same lines, written again in place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from copula_discrepancy.compare.watch_result import WatchUpdate

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_ROWS = 8  # pairs, fewer on a low terminal
_TOPICS = ("Run", "Answer", "Joint", "Margins", "Worst", "Form", "Draws", "Chains", "Error", "Looks")
_OTHER_LINES = 30  # that sentences and notes take, about
_NOTES = 4


@contextmanager
def live_view(console: "Console | None" = None) -> Iterator[Callable[[WatchUpdate], None]]:
    """A function that shows an update on the terminal in place of the one before; the last stays."""
    from rich.console import Console
    from rich.live import Live

    where = console or Console(stderr=True)
    with Live(console=where, auto_refresh=False, transient=True) as live:

        def show(update: WatchUpdate) -> None:
            if not update.final:
                live.update(terminal_lines(update, where.height), refresh=True)

        yield show


def terminal_lines(update: WatchUpdate, height: int) -> "RenderableType":
    """An update as lines that fit a terminal of this height, the most important first."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text(update.headline, style="bold")]
    said = update.sentences()
    parts += [_line(topic, said[topic]) for topic in _TOPICS if topic in said]
    if update.result is not None:
        parts.append(_table(update, max(min(_ROWS, height - _OTHER_LINES), 3)))
    notes = update.all_notes
    parts += [Text(f"note: {note}", style="dim") for note in notes[:_NOTES]]
    if len(notes) > _NOTES:
        parts.append(Text(f"and {len(notes) - _NOTES} more notes", style="dim"))
    return Group(*parts)


def _line(topic: str, sentence: str) -> Any:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid()
    grid.add_column(width=11)
    grid.add_column(max_width=99)
    grid.add_row(Text(f"{topic}:"), Text(sentence))
    return grid


def _table(update: WatchUpdate, rows: int) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    assert update.result is not None
    head, *lines = update.result.table_rows(rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(head):
        words = k in (0, len(head) - 1)
        table.add_column(name, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    flags = update.result.rows["flagged"][:rows].tolist()
    for line, flagged in zip(lines, flags, strict=True):
        table.add_row(*(Text(cell) for cell in line[:-1]), Text(line[-1], style="red" if flagged else ""))
    return table
