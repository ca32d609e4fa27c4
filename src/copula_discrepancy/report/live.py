"""The state of a run that is watched, on a terminal: the same lines, written again in place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from copula_discrepancy.compare.watch_result import WatchUpdate
from copula_discrepancy.report.terminal import fitting, rows_table, topic_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_ROWS = 8  # pairs, fewer on a low terminal
_TOPICS = ("Run", "Answer", "Joint", "Margins", "Worst", "Form", "Draws", "Chains", "Error", "Looks")
_OTHER_LINES = 30  # that sentences and notes take, about
_NOTES = 4
_WIDE = 120


@contextmanager
def live_view(console: "Console | None" = None) -> Iterator[Callable[[WatchUpdate], None]]:
    """A function that shows an update on the terminal in place of the one before; the last stays."""
    from rich.console import Console
    from rich.live import Live

    where = console or Console(stderr=True)
    with Live(console=where, auto_refresh=False, transient=True) as live:

        def show(update: WatchUpdate) -> None:
            if not update.final:
                live.update(terminal_lines(update, where.height, where.width), refresh=True)

        yield show


def terminal_lines(update: WatchUpdate, height: int, width: int = _WIDE) -> "RenderableType":
    """An update as lines that fit a terminal of this height and width, the most important first."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text(update.headline, style="bold")]
    said = update.sentences()
    parts += [topic_line(topic, said[topic]) for topic in _TOPICS if topic in said]
    if update.result is not None:
        shown = max(min(_ROWS, height - _OTHER_LINES), 3)
        flags = update.result.rows["flagged"][:shown].tolist()
        rows = fitting(update.result.table_rows(shown), width)
        parts.append(rows_table(rows, (0, -1), ["red" if flagged else "" for flagged in flags]))
    notes = update.all_notes
    parts += [Text(f"note: {note}", style="dim") for note in notes[:_NOTES]]
    if len(notes) > _NOTES:
        parts.append(Text(f"and {len(notes) - _NOTES} more notes", style="dim"))
    return Group(*parts)
