"""The command of a study: which of its cases to run, how often, and the file that its tables are written to."""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.report import Report, machine

Case = tuple[Callable[[int, int], list[Report]], int]  # of a number of runs and of processes; and how many runs


def run_study(
    title: str, description: str, cases: Mapping[str, Case], arguments: Sequence[str] | None, command: str = "make study"
) -> Path | None:
    """Run cases, show their tables, and write them after each, so that an interrupted run leaves what is done.

    Returns the file that was written.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, help="runs of every case (default: depends on the case)")
    parser.add_argument("--only", choices=cases, action="append", help="this case; may be given more than once")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", type=Path, help="a Markdown file for the tables")
    options = parser.parse_args(arguments)
    console = Console(width=200)
    text = [f"# {title}\n\nWritten by `{command}`. {machine()}\n"]
    for name in options.only or cases:
        case, runs = cases[name]
        start = time.perf_counter()
        done = case(options.runs or runs, options.jobs)
        for report in done:
            report.show(console)
        console.print(f"{name}: {time.perf_counter() - start:.0f} s\n")
        text += [report.markdown() for report in done]
        if options.write is not None:
            options.write.write_text("\n".join(text), encoding="utf-8")
    return options.write
