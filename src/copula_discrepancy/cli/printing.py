"""What commands print: sentences by topic, tables that fit the terminal, JSON, and the files they write."""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import json_chunks, text_file
from copula_discrepancy.cli import delivery
from copula_discrepancy.cli.options import STANDARD_OUTPUT
from copula_discrepancy.compare.gate import Outcome
from copula_discrepancy.compare.groups_result import GroupedPairwise
from copula_discrepancy.compare.interactions_result import Interaction, Interactions
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.over_time_wording import time_rows
from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.compare.wording import NO_GAP, answer_line, told_once
from copula_discrepancy.compare.worst_result import WorstConsequences
from copula_discrepancy.report.terminal import fitting, rows_table, topic_line

if TYPE_CHECKING:
    from rich.console import Console

WRITABLE = "use a path in a writable folder"
RESUME = "finished pairs are saved in {}; repeat the command to resume"
_FAILED, _UNDECIDED = 3, 4  # exit codes
_NARROWEST = 80
_UNBOUND = 120  # columns if output goes to a file or a pipe


def say(sentence: str) -> None:
    """Print a line on standard error."""
    delivery.say(f"copula-discrepancy: {sentence}")


def say_saved(checkpoint: str | None) -> None:
    """Say what an interrupted comparison leaves behind."""
    nothing = "no results were saved; with --checkpoint FOLDER an interrupted command can be resumed"
    say(nothing if checkpoint is None else RESUME.format(checkpoint))


def exit_code(outcome: Outcome) -> int:
    """The exit code of a gate; its reason is printed on standard error."""
    code = _FAILED if outcome.failed else _UNDECIDED if outcome.undecided else 0
    if outcome.sentence:
        say(f"{outcome.sentence} (exit code {code})" if code else outcome.sentence)
    return code


# ---- forms and files -----------------------------------------------------------------------------------------------


def prints_table(options: argparse.Namespace) -> bool:
    """Whether sentences and tables are printed, not CSV or JSON alone."""
    return not options.csv and options.json != STANDARD_OUTPUT


def json_file(options: argparse.Namespace) -> Path | None:
    """The file for all numbers, if there is to be one."""
    return None if options.json in (None, STANDARD_OUTPUT) else Path(options.json)


def check_output(options: argparse.Namespace) -> None:
    """Check that the requested files can be written, before anything is computed."""
    path = json_file(options)
    if options.force and options.html is None and path is None:
        options.parser.error("--force requires --html, or --json with a file: it overwrites them")
    if options.html is not None:
        from copula_discrepancy.report.page.writing import json_path, page_path

        page = page_path(options.html, options.force)
        if path is not None and os.path.realpath(path) == os.path.realpath(json_path(page)):
            options.parser.error(f"--json {path} is the file that --html writes next to its page; use another name for one")
    check_room(path, options.force)


def check_room(path: Path | None, force: bool) -> None:
    """Check that a file can be written, before anything is computed."""
    if path is not None and not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: the folder {path.parent} does not exist", code="file")
    if path is not None and not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: permission denied in the folder {path.parent}", code="file")
    if path is not None and os.path.lexists(path) and not force:
        raise InputError(f"{path} already exists; use another name, or overwrite it with --force", code="file")


def print_json(content: Mapping[str, Any]) -> None:
    """Print numbers as JSON, in characters that the terminal has."""
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    sys.stdout.writelines(json_chunks(content, ascii_only=ascii_only))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write numbers to a file."""
    with text_file(path, WRITABLE) as file:
        file.writelines(json_chunks(content))


def files_line(page: Path | None, numbers: Path | None) -> str:
    """A line with the paths of the files that were written; empty if there are none."""
    if page is None:
        return "" if numbers is None else f"Numbers: {numbers}"
    return f"Report: {page} (open it in a browser); numbers: {numbers or page.with_suffix('.json')}"


def print_written(options: argparse.Namespace, line: str) -> None:
    """Say which files were written: below the table, or on standard error if standard output is data."""
    if line and prints_table(options):
        print(f"\n{line}")
    elif line:
        delivery.say(line)


# ---- sentences and tables ------------------------------------------------------------------------------------------


def console() -> "Console":
    """Where sentences and tables are printed; wide enough for them if it is no terminal."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1, the code for errors

    made = Output()
    made.width = max(made.width, _NARROWEST) if made.is_terminal else _UNBOUND
    return made


def print_sentences(where: "Console", sentences: Mapping[str, str]) -> None:
    """Sentences with their topics in a separate column."""
    for topic, sentence in sentences.items():
        where.print(topic_line(topic, sentence))


def print_notes(where: "Console", notes: Sequence[str], said: Sequence[str] = ()) -> None:
    """Notes below a table, but for those that were `said` before."""
    from rich.text import Text

    for note in told_once([note for note in notes if note not in said]):
        where.print(Text(f"note: {note}"), highlight=False, soft_wrap=not where.is_terminal)


def print_rows(where: "Console", rows: Sequence[Sequence[str]], words: Sequence[int], styles: Sequence[str] = ()) -> None:
    """A table; see `rows_table`."""
    where.print(rows_table(rows, words, styles))


class _Layout(NamedTuple):
    """How a ranking is printed: rows with their heading, columns of words, styles of verdicts, where all numbers are, a key."""

    rows: list[list[str]]
    words: tuple[int, ...]
    styles: list[str]
    complete: str
    key: str = ""


def print_ranking(
    where: "Console", result: Pairwise | GroupedPairwise | Interactions | WorstConsequences, top: int, said: Sequence[str] = ()
) -> None:
    """The answer in words, then the ranking; notes that were `said` before are not repeated."""
    from rich.markup import escape

    where.print(f"[bold]{escape(answer_line(result))}[/bold]: {escape(result.title)}", highlight=False)
    print_sentences(where, result.sentences())
    limit = len(result) if top == 0 else top
    layout = _layout(result, limit, where.width)
    print_rows(where, layout.rows, layout.words, layout.styles)
    if layout.key:
        where.print(layout.key, highlight=False)
    left = len(result) - limit
    if left > 0:
        more = f"{left} more {result.unit}{'s' if left > 1 else ''}"
        where.print(f"and {more} (--top 0 shows all; {layout.complete} every number)", highlight=False)
    if isinstance(result, Pairwise) and result.lags:
        print_rows(where, time_rows(result), (0, -2, -1))
    print_notes(where, (*result.notes, *result.warnings), said)


def _layout(result: Pairwise | GroupedPairwise | Interactions | WorstConsequences, limit: int, width: int) -> _Layout:
    rows = result.table_rows(limit)
    if isinstance(result, WorstConsequences):
        flags = result.rows["flagged"][:limit, 0].tolist()
        styles = ["red" if flag else "yellow" for flag in flags]
        key = f"repaired: the same {result.things} with the reference's dependence, so only dependence differs"
        return _Layout(fitting(rows, width, (0, 1, -1)), (0, 1, -1), styles, "--json includes", key)
    if isinstance(result, GroupedPairwise):
        outcomes = [result.overall.outcome, *(result.groups[label].outcome for label in result.ranked[:limit])]
        styles = [{"gap": "red", "no gap": "green"}.get(outcome, "yellow") for outcome in outcomes]
        return _Layout(fitting(rows, width, (0, 4, -1)), (0, 4, -1), styles, "--csv and --json include")
    shown: Iterable[PairGap | Interaction] = result
    gaps = [*islice(shown, limit)]
    # green only if all was tested: strength alone, or a void comparison, is not good news
    fine = [gap.verdict == NO_GAP and not result.void for gap in gaps]
    styles = ["red" if gap.flagged else "green" if good else "yellow" for gap, good in zip(gaps, fine, strict=True)]
    if isinstance(result, Pairwise):
        return _Layout(fitting(rows, width), (0, -1), styles, "--csv and --json include")
    return _Layout(rows, (0, -1), styles, "--json includes")  # long verdicts are folded
