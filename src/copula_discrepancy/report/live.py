"""The state of a run that is watched, on a terminal: the same lines, written again in place."""

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from copula_discrepancy.compare.watch_result import WatchUpdate
from copula_discrepancy.report.terminal import fitting, rows_table, topic_line

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table

_ROWS, _FEWEST = 8, 3  # pairs; fewer on a low terminal
# What is shown, from top to bottom; and what is left out first, from the end, where the terminal is too low for all.
_SHOWN = ("Run", "Answer", "Joint", "Margins", "Worst", "Form", "Draws", "Chains", "Error", "table", "Looks", "notes")
_WANTED = ("Run", "Answer", "table", "Chains", "notes", "Worst", "Looks", "Error", "Draws", "Form", "Margins", "Joint")
_NOTES = 4
_BELOW = 2  # lines that stay free: a frame as high as the terminal leaves remains when it changes
_WIDE = 120


@contextmanager
def live_view(console: "Console | None" = None) -> Iterator[Callable[[WatchUpdate], None]]:
    """A function that shows an update on the terminal in place of the one before; the last stays.

    A terminal that cannot be written to any more, since it was closed, is given up: the answer may go elsewhere too.
    """
    from rich.console import Console
    from rich.live import Live

    where = console or Console(stderr=True)
    live = Live(console=where, auto_refresh=False, transient=True)
    live.start()

    def show(update: WatchUpdate) -> None:
        if update.final or not live.is_started:
            return
        lines = terminal_lines(update, where.height, where.width)
        try:
            live.update(lines, refresh=True)
        except OSError:
            close()

    def close() -> None:
        with suppress(OSError):  # it also writes, once the streams that it took over are given back
            live.stop()

    try:
        yield show
    finally:
        close()


def terminal_lines(update: WatchUpdate, height: int, width: int = _WIDE) -> "RenderableType":
    """An update as lines that fit a terminal of this height and width; what matters least is left out."""
    from rich.console import Console, Group
    from rich.text import Text

    console = Console(width=width, height=height, file=io.StringIO())

    def lines_of(part: Any) -> int:
        return len(console.render_lines(part, pad=False))

    headline = Text(update.headline, style="bold")
    room, chosen = height - _BELOW - lines_of(headline), dict[str, Any]()
    said = update.sentences()
    for name in _WANTED:
        if name in said:
            parts: Iterable[Any] = [topic_line(name, said[name])]
        else:
            parts = _table(update, width) if name == "table" else _notes(update) if name == "notes" else []
        # the first that fits
        for part in parts:
            if lines_of(part) <= room:
                chosen[name] = part
                room -= lines_of(part)
                break
    if room > 0 and "table" in chosen:  # rows that there is room for when all else is shown
        free = room + lines_of(chosen["table"])
        chosen["table"] = next(part for part in _table(update, width, most=_ROWS) if lines_of(part) <= free)
    return Group(headline, *(chosen[name] for name in _SHOWN if name in chosen))


def _table(update: WatchUpdate, width: int, most: int = _FEWEST) -> "Iterator[Table]":
    """The table of the worst pairs, with fewer and fewer rows."""
    if update.result is None:
        return
    for shown in range(min(most, len(update.result)), 0, -1):
        flags = update.result.rows["flagged"][:shown].tolist()
        rows = fitting(update.result.table_rows(shown), width)
        yield rows_table(rows, (0, -1), ["red" if flagged else "" for flagged in flags])


def _notes(update: WatchUpdate) -> "Iterator[Group]":
    """The notes, fewer and fewer."""
    from rich.console import Group
    from rich.text import Text

    notes = update.all_notes
    for shown in range(min(_NOTES, len(notes)), 0, -1):
        parts = [Text(f"note: {note}", style="dim") for note in notes[:shown]]
        if len(notes) > shown:
            parts.append(Text(f"and {len(notes) - shown} more note{'s' * (len(notes) > shown + 1)}", style="dim"))
        yield Group(*parts)
