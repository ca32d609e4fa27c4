"""The command that computes what wrong dependence does to a function of the variables."""

import argparse
import sys
from pathlib import Path

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import written_whole
from copula_discrepancy.cli import printing, reading
from copula_discrepancy.cli.delivery import deliver
from copula_discrepancy.compare.consequence import weigh
from copula_discrepancy.compare.consequence_result import Consequence
from copula_discrepancy.compare.gate import gate_consequence
from copula_discrepancy.compare.wording import answer_line
from copula_discrepancy.estimate.summaries import checked_summaries


def consequence(options: argparse.Namespace) -> int:
    """Compute an expression with the candidate's own dependence and with the reference's."""
    _check_usage(options)
    independent, iid = reading.independence(options)
    draws, reference = reading.read_both(options, independent, options.expression)
    result = weigh(  # warnings are printed below the table
        draws, reference, options.expression, summary=options.summary, q=options.q, split=options.split, iid=iid,
        confidence=options.confidence, n_resamples=options.resamples, rng=options.seed, missing="pairs", n_jobs=options.jobs,
    )  # fmt: skip
    written = deliver(lambda: _print(options, result), lambda: _write_files(options, result))
    printing.print_written(options, written)
    return printing.exit_code(gate_consequence(result, max_effect=options.fail_above))


def _check_usage(options: argparse.Namespace) -> None:
    """Report invalid usage that is clear before any file is read.

    Of expressions, only empty ones are: a name may contain any character, so that the others depend on what is in the files.
    """
    reading.check_reading(options)
    if not options.expression.strip():
        options.parser.error("the expression is empty; write a quantity such as 'a - b', or a condition such as 'a > b'")
    reasons = []
    for is_condition in (False, True):
        try:
            checked_summaries(options.summary, options.q, is_condition)
        except InputError as error:
            reasons.append(str(error))
    if len(reasons) == 2:  # whatever the expression is
        options.parser.error(reasons["probability" in (options.summary or ())])
    json, plot = printing.json_file(options), _plot_file(options)
    if options.force and json is None and plot is None:
        options.parser.error("--force requires --plot, or --json with a file: it overwrites them")
    for path in (json, plot):
        printing.check_room(path, options.force)


def _plot_file(options: argparse.Namespace) -> Path | None:
    return None if options.plot is None else Path(options.plot)


def _print(options: argparse.Namespace, result: Consequence) -> None:
    if printing.prints_table(options):
        _print_answer(result)
    elif options.csv:
        result.to_dataframe().to_csv(sys.stdout, index=False, lineterminator="\n")
    else:
        printing.print_json(result.to_dict())
    sys.stdout.flush()  # write errors must occur here


def _print_answer(result: Consequence) -> None:
    from rich.text import Text

    console = printing.console()
    console.print(Text(answer_line(result), style="bold"), highlight=False)
    console.print(Text(result.title), highlight=False)
    printing.print_sentences(console, result.sentences())
    printing.print_rows(console, result.table_rows(), (0,))
    printing.print_notes(console, (*result.notes, *result.warnings))


def _write_files(options: argparse.Namespace, result: Consequence) -> str:
    """Write the requested picture and JSON; return a line with their paths."""
    json, plot = printing.json_file(options), _plot_file(options)
    if plot is not None:
        _draw(result, plot)
    if json is not None:
        printing.write_json(json, result.to_dict())
    written = [f"{what}: {path}" for what, path in (("Picture", plot), ("Numbers", json)) if path is not None]
    return "; ".join(written)


def _draw(result: Consequence, path: Path) -> None:
    from matplotlib.figure import Figure

    from copula_discrepancy.report.plots.consequences import plot_consequence
    from copula_discrepancy.report.plots.look import styled

    with styled():  # a figure of our own, which needs no display
        figure = Figure(figsize=(5.2, 3.2), layout="constrained")
        plot_consequence(result, ax=figure.subplots())
        with written_whole(path, printing.WRITABLE) as temporary:
            figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=200)
