"""Comparison with other libraries: `make bench` measures medians and ratios in one run on the same data and writes results.md.

Each part is a separate module: speed, all pairs, the page, the command line, growth, memory, accuracy. `--quick` runs all of
them with tiny sizes, as a check that they run; `--only speed,growth` runs some of them. The figure is drawn from results.md.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks import accuracy, commands, figure, growth, memory, page, pairs, peers, speed
from benchmarks.report import Report, machine
from benchmarks.sizes import FULL, QUICK, Sizes

PARTS: dict[str, Callable[[Sizes], list[Report]]] = {
    "speed": lambda sizes: [speed.speed(sizes)],
    "pairs": lambda sizes: [pairs.speed(sizes), pairs.many(sizes)],
    "page": lambda sizes: [page.page(sizes)],
    "commands": lambda sizes: [commands.commands(sizes)],
    "growth": lambda sizes: [growth.in_n(sizes), growth.in_d(sizes)],
    "memory": lambda sizes: [memory.memory(sizes)],
    "accuracy": lambda sizes: [accuracy.corners(sizes), accuracy.accuracy(sizes)],
}


def run(parts: list[str], sizes: Sizes, console: Console) -> Iterator[list[Report]]:
    """The reports so far, after each part, which is shown as it comes."""
    reports = [peers.table()]
    reports[0].show(console)
    for part in parts:
        start = time.perf_counter()
        found = PARTS[part](sizes)
        for report in found:
            report.show(console)
        console.print(f"{part}: {time.perf_counter() - start:.0f} s")
        reports += found
        yield reports


def document(reports: list[Report], command: str, seconds: float) -> str:
    """The Markdown file."""
    head = f"# Comparison with other libraries\n\nWritten by `{command}` in {seconds / 60:.1f} minutes. {machine()}\n\n"
    return head + "\n".join(report.markdown() for report in reports)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, separated by commas (default: {','.join(PARTS)})")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to check that everything runs")
    parser.add_argument("--write", type=Path, help="write the tables to this Markdown file, and a figure next to it")
    parser.add_argument(
        "--largest", type=int, default=max(FULL.newton), help="largest n of the 30-digit check, which takes minutes"
    )
    options = parser.parse_args(arguments)
    parts = options.only.split(",")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"--only: no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    console = Console(width=150)
    console.print(machine())
    start = time.perf_counter()
    command = "make bench" if parts == list(PARTS) and not options.quick else f"benchmarks.core --only {options.only}"
    sizes = QUICK if options.quick else FULL
    sizes = replace(sizes, newton=tuple(n for n in sizes.newton if n <= options.largest))
    for reports in run(parts, sizes, console):
        if options.write:  # after each part, so that a run that was stopped leaves what it has
            options.write.write_text(document(reports, command, time.perf_counter() - start), encoding="utf-8")
    if options.write:
        figure.draw(options.write.read_text(encoding="utf-8"), options.write.with_suffix(".png"))


if __name__ == "__main__":
    main()
