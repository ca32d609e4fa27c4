"""The command `watch`: what a sampler has drawn so far, shown while it runs, and the last answer."""

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from copula_discrepancy.cli import printing, reading
from copula_discrepancy.compare.watch_result import ENDING, WatchUpdate, kind_of
from copula_discrepancy.compare.watching import Watching
from copula_discrepancy.data.following.opening import follow
from copula_discrepancy.report.watch import LivePage, Show, checked_pace, run_to_end, shown


@contextmanager
def watched(options: argparse.Namespace) -> Iterator[WatchUpdate]:
    """Watch a run to its end, or until it is interrupted: a context with the last state, which has the last answer.

    A page that nobody writes any more must not look as if it went on, also if writing the last one is interrupted.
    """
    if options.margins and options.reference is None:
        options.parser.error("--margins requires --reference: margins are compared with those of a reference")
    if options.method == "moment" and options.reference is None:
        options.parser.error("--method moment requires --reference")
    if options.iid_reference and options.reference is None:
        options.parser.error("--iid-reference requires --reference")
    sides, iid = reading.independence(options)
    chosen = reading.settings(options, options.chains, None)
    del chosen["delimiter"]
    reference = None
    if options.reference is not None:
        # a name to exclude may be one of the run's alone
        reference, _ = reading.without_unknown(
            options, lambda names: reading.read(options, options.reference, None, names, sides[1])
        )
    files = options.files if len(options.files) > 1 else options.files[0]
    watching = Watching(
        follow(files, **chosen | {"exclude": options.exclude}), reference,
        pace=checked_pace(every=options.every, share=options.share, wait=options.wait, patience=options.patience),
        error=options.error, n_jobs=options.jobs, family=options.family, method=options.method,
        iid=iid,
        confidence=options.confidence, adjust=options.adjust, tail=options.tail, order=options.order,
    )  # fmt: skip
    views: list[Show] = [] if sys.stderr.isatty() else [_Log()]
    page = None
    if options.html is not None:
        page = LivePage(Path(options.html), shlex.join(["copula-discrepancy", *options.given]), share=options.share)
        views.append(page)
    try:
        with shown(sys.stderr.isatty(), views) as show:
            last = run_to_end(watching, show if page is None else _with_trouble(show, page))
        yield last
    except (Exception, KeyboardInterrupt) as error:
        if page is not None:
            page.close("it was interrupted" if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__)
        raise


def print_run(options: argparse.Namespace, last: WatchUpdate) -> None:
    """What the last answer does not say of the run."""
    if not printing.prints_table(options):
        return
    said = last.sentences()
    printing.print_sentences(printing.console(), {topic: said[topic] for topic in ("Run", "Error") if topic in said})
    for note in last.notes:
        if last.result is None or note not in last.result.notes:
            printing.say(note)


def _with_trouble(show: Show, page: LivePage) -> Show:
    """The view with a note on why the page is not up to date; first, so that low terminals have it too."""

    def show_all(update: WatchUpdate) -> None:
        show(replace(update, notes=(page.trouble, *update.notes)) if page.trouble else update)

    return show_all


class _Log:
    """What changes, line by line, where there is no terminal: what is waited for, notes, and answers."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._answer = ""

    def __call__(self, update: WatchUpdate) -> None:
        if update.final:  # said with the answer
            return
        waiting = f"waiting: {update.waiting_for}" if update.waiting_for else ""
        for line in filter(None, [waiting, *update.notes, ENDING if update.ending else ""]):
            kind = kind_of(line)
            if kind not in self._said:
                self._said.add(kind)
                printing.say(line)
        if update.result is None:
            return
        # with each look more pairs are compared, which is no other answer
        answer = kind_of(update.headline) if update.result.waiting and not update.result.n_flagged else update.headline
        if answer != self._answer:
            self._answer = answer
            printing.say(f"{update.headline} ({' + '.join(f'{length:,}' for length in update.lengths)} draws)")
