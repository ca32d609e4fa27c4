"""The commands: each calls the library with its arguments and prints the answer."""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import json_chunks, text_file
from copula_discrepancy.cli.funnel import funnel
from copula_discrepancy.cli.options import STANDARD_OUTPUT
from copula_discrepancy.cli.parser import discard_output
from copula_discrepancy.cli.repair_command import repair
from copula_discrepancy.compare.gate import gate
from copula_discrepancy.compare.interactions import rank_triples
from copula_discrepancy.compare.interactions_result import Interaction, Interactions
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.compare.wording import NO_GAP, answer_line
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.readers.options import IfThere, ReadOptions, UnknownExcluded
from copula_discrepancy.families import Copula, family

if TYPE_CHECKING:
    from rich.console import Console

_FAILED, _UNDECIDED = 3, 4  # exit codes
_NARROWEST = 80
_UNBOUND = 120  # columns if output goes to a file or a pipe
_RESUME = "finished pairs are saved in {}; repeat the command to resume"


def check(options: argparse.Namespace) -> int:
    """Check every pair of one sample against a copula, or without a target."""
    _check_usage(options)
    target = _known_target(options)
    if target is None and options.method == "moment":
        options.parser.error("--method moment requires a target: use --family with --theta or --tau")
    files = options.files if len(options.files) > 1 else options.files[0]
    draws = _read(options, files, options.chains, options.exclude, options.iid)
    choices = {} if target is not None else {"family": options.family}
    return _answer(options, _judge(options, draws, target, iid=options.iid, **choices))


def compare(options: argparse.Namespace) -> int:
    """Compare every pair of one sample with that of another."""
    _check_usage(options)
    if options.interactions and options.csv:
        options.parser.error("--interactions cannot be used with --csv, which prints one table; use --json")
    independent = options.iid or options.iid_draws, options.iid or options.iid_reference
    draws, reference = _read_both(options, independent)
    iid = {(True, False): "draws", (False, True): "reference"}.get(independent, independent[0])
    triples = None
    if options.interactions:  # first: triples take seconds, and there may be too many variables for them
        triples = rank_triples(
            draws, reference, iid=iid, confidence=options.confidence, adjust=options.adjust, missing="pairs",
            n_jobs=options.jobs,
        )  # fmt: skip
    return _answer(options, _judge(options, draws, reference, iid=iid, family=options.family), triples)


def _read_both(options: argparse.Namespace, independent: tuple[bool, bool]) -> tuple[Draws, Draws]:
    """Candidate and reference; a chain column or a name to exclude may be in one of them only, but not in neither."""
    chains = options.chains, options.chains if options.reference_chains is None else options.reference_chains
    optional = options.reference_chains is None and isinstance(options.chains, str)
    read, unknown = [], []
    for path, own, iid in zip((options.candidate, options.reference), chains, independent, strict=True):
        excluded, missed = list(options.exclude or ()), {}
        while True:
            try:
                read.append(_read(options, path, IfThere(own) if optional else own, excluded, iid))
                break
            except UnknownExcluded as error:
                missed[error.name] = error
                excluded.remove(error.name)
        unknown.append(missed)
    for name in unknown[0]:
        if name in unknown[1]:
            raise unknown[0][name]
    if optional and not any(draws.chain_column == options.chains for draws in read):
        _read(options, options.candidate, options.chains, options.exclude, independent[0])  # raises, with the available columns
    return read[0], read[1]


def demo(options: argparse.Namespace) -> int:
    """Eight schools: the centered parametrisation against the non-centered one, both real PyMC output that ArviZ bundles."""
    _check_output(options)
    import numpy as np
    from arviz_base import load_arviz_data

    load: Any = load_arviz_data  # its types do not include options of xarray
    names, chosen = ("centered_eight", "non_centered_eight"), ["mu", "theta", "tau"]
    # one group: the others take eight times as long to read
    centered, other = (as_draws(load(name, group="posterior"), var_names=chosen) for name in names)
    result = rank_pairs(centered, other)
    if _prints_table(options):
        a, b = (sample.values.reshape(-1, sample.n_variables) for sample in (centered, other))
        shift = np.abs(a.mean(axis=0) - b.mean(axis=0)) / b.std(axis=0)
        worst = int(np.argmax(shift))
        _console().print(
            "[bold]Eight schools[/bold] (Rubin, 1981), sampled by PyMC in two parametrisations of one posterior.\n"
            "Does the centered run keep the dependence that the non-centered run has?\n"
            f"The usual summary shows little: no mean differs by more than {shift[worst]:.2f} posterior standard deviations "
            f"(that of {centered.names[worst]}).\n",
            highlight=False,
        )
    code = _answer(options, result)
    if _prints_table(options):
        print()
        _print_sentences(_console(), funnel(result, centered, other))
    return code


def reproduce(options: argparse.Namespace) -> int:
    """Tables of ours against published, what they say, and where everything is."""
    from copula_discrepancy.studies.paper.report import TITLES, rich_tables
    from copula_discrepancy.studies.paper.reproduce import reproduce as run

    try:
        result = run(
            options.experiment, replications=options.replications, sizes=options.sizes, seed=options.seed, n_jobs=options.jobs,
            out=options.out,
        )  # fmt: skip
    except KeyboardInterrupt:
        _say(_RESUME.format(options.out))
        raise
    console = _console()
    for experiment in result.experiments.values():
        console.print(f"[bold]{TITLES[experiment.name]}[/bold]\n")
        for table in rich_tables(experiment.tables):
            console.print(table)
        for sentence in experiment.statements:
            console.print(f"- {sentence}", highlight=False, markup=False)
        console.print()
    if result.comparisons:
        console.print("z is the difference in combined standard errors, * beyond its 95% limit.", highlight=False)
        console.print(result.agreement, highlight=False)
    where = f"Every number, table and figure: {result.folder} (begin with {result.report.name})"
    console.print(where, highlight=False, markup=False)
    return 0


def _check_usage(options: argparse.Namespace) -> None:
    """Report invalid usage that is clear before any file is read."""
    try:
        ReadOptions.checked(
            options.columns, options.filter, options.group, None, options.chains, options.delimiter, options.exclude
        )  # fmt: skip
        if options.family not in (None, "auto"):
            family(options.family)
    except InputError as error:
        message = str(error)
        for argument, option in (("filter_vars", "--filter"), ("var_names", "--columns"), ("exclude must", "--exclude must")):
            message = message.replace(argument, option)
        options.parser.error(message)
    _check_output(options)


def _check_output(options: argparse.Namespace) -> None:
    """Check that the requested files can be written, before anything is computed."""
    path = _json_file(options)
    if options.force and options.html is None and path is None:
        options.parser.error("--force requires --html, or --json with a file: it overwrites them")
    if options.html is not None:
        from copula_discrepancy.report.page.writing import page_path

        page_path(options.html, options.force)
    if path is not None and not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: the folder {path.parent} does not exist", code="file")
    if path is not None and os.path.lexists(path) and not options.force:
        raise InputError(f"{path} already exists; use another name, or overwrite it with --force", code="file")


def _json_file(options: argparse.Namespace) -> Path | None:
    return None if options.json in (None, STANDARD_OUTPUT) else Path(options.json)


def _known_target(options: argparse.Namespace) -> Copula | None:
    """The copula that the options select; invalid ones are invalid usage."""
    parser: argparse.ArgumentParser = options.parser
    if options.theta is None and options.tau is None:
        if options.df is not None:
            parser.error("--df requires a target: use --family studentt with --theta or --tau")
        return None
    if options.family is None:
        parser.error("--theta and --tau require a --family, such as gumbel")
    if options.theta is not None and options.tau is not None:
        parser.error("use --theta or --tau, not both")
    fixed = {} if options.df is None else {"df": options.df}
    try:
        chosen: Any = family(options.family)
        if set(fixed) - set(chosen.fixed_parameters):
            parser.error(f"--df can only be used with studentt, not with {options.family}")
        made: Copula = chosen(options.theta, **fixed) if options.tau is None else chosen.from_tau(options.tau, **fixed)
    except InputError as error:
        parser.error(str(error))
    return made


def _read(options: argparse.Namespace, path: Any, chains: int | str | None, exclude: list[str] | None, iid: bool) -> Draws:
    coords: dict[str, list[str]] = {}
    for dimension, labels in options.coords or ():
        coords.setdefault(dimension, []).extend(labels)
    return as_draws(
        path, var_names=options.columns, exclude=exclude or None, filter_vars=options.filter, group=options.group,
        coords=coords or None, chains=chains, delimiter=options.delimiter,
        missing="drop" if options.missing == "listwise" else options.missing, parts="rows" if iid else "auto",
    )  # fmt: skip


def _judge(options: argparse.Namespace, draws: Draws, target: Any, **choices: Any) -> Pairwise:
    try:
        return rank_pairs(  # warnings are printed below the table
            draws, target, method=options.method, confidence=options.confidence, adjust=options.adjust, missing="pairs",
            tail=options.tail, order=options.order, n_jobs=options.jobs, checkpoint=options.checkpoint, **choices,
        )  # fmt: skip
    except KeyboardInterrupt:
        kept = "no results were saved; with --checkpoint FOLDER an interrupted command can be resumed"
        _say(kept if options.checkpoint is None else _RESUME.format(options.checkpoint))
        raise


def _say(sentence: str) -> None:
    print(f"copula-discrepancy: {sentence}", file=sys.stderr)


def _answer(options: argparse.Namespace, result: Pairwise, triples: Interactions | None = None) -> int:
    """Print the result in the requested form, write its files, and return the exit code."""
    try:
        _print(options, result, triples)
    except BrokenPipeError:
        discard_output()  # the reader has stopped, but files and the exit code still matter
    except OSError:  # the disk is full, but the files were requested too
        _write_files(options, result, triples)
        raise
    written = _write_files(options, result, triples)
    if written:
        print(f"\n{written}" if _prints_table(options) else written, file=sys.stdout if _prints_table(options) else sys.stderr)
    limits = {"max_gap": options.fail_above, "max_rhat": options.max_rhat, "min_n_eff": options.min_n_eff}
    outcome = gate(result, **limits, margins=options.margins, triples=triples)
    code = _FAILED if outcome.failed else _UNDECIDED if outcome.undecided else 0
    if outcome.sentence:
        _say(f"{outcome.sentence} (exit code {code})" if code else outcome.sentence)
    return code


def _prints_table(options: argparse.Namespace) -> bool:
    return not options.csv and options.json != STANDARD_OUTPUT


def _print(options: argparse.Namespace, result: Pairwise, triples: Interactions | None) -> None:
    if _prints_table(options):
        console = _console()
        _print_table(console, result, options.top)
        if triples is not None:
            _print_triples(console, triples, options.top, (*result.notes, *result.warnings))
    elif options.csv:
        result.to_dataframe().to_csv(sys.stdout, index=False, lineterminator="\n")
    else:
        ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
        sys.stdout.writelines(json_chunks(_numbers(result, triples), ascii_only=ascii_only))
    sys.stdout.flush()  # write errors must occur here


def _numbers(result: Pairwise, triples: Interactions | None) -> dict[str, Any]:
    """`to_dict` with the pairs as an iterator, so that half a million of them need not be in memory; triples likewise."""
    more = {} if triples is None else {"interactions": triples.overview(), "triples": (gap.to_dict() for gap in triples)}
    return result.overview() | {"pairs": (pair.to_dict() for pair in result)} | more


def _write_files(options: argparse.Namespace, result: Pairwise, triples: Interactions | None) -> str:
    """Write the requested page and JSON; return a line with their paths."""
    path, page = _json_file(options), None
    if options.html is not None:
        page = _write_page(options, result, triples)
    if path is not None:  # after the page, whose JSON may be this file
        with text_file(path, "use a path in a writable folder") as file:
            file.writelines(json_chunks(_numbers(result, triples)))
    if page is None:
        return "" if path is None else f"Numbers: {path}"
    return f"Report: {page} (open it in a browser); numbers: {path or page.with_suffix('.json')}"


def _write_page(options: argparse.Namespace, result: Pairwise, triples: Interactions | None) -> Path:
    command = shlex.join(["copula-discrepancy", *options.given])
    if triples is None:
        return result.to_html(options.html, force=options.force, command=command)
    from copula_discrepancy.report.page import content, writing

    made = content.of_pairs(result, command, triples=triples)
    return writing.write_page(writing.page_path(options.html, options.force), *made, force=options.force)


def _console() -> "Console":
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1, the code for errors

    console = Output()
    console.width = max(console.width, _NARROWEST) if console.is_terminal else _UNBOUND
    return console


def _print_sentences(console: "Console", sentences: dict[str, str]) -> None:
    """Sentences with their topics in a separate column."""
    from rich.table import Table
    from rich.text import Text

    for topic, sentence in sentences.items():
        grid = Table.grid()  # without padding, which rich 15 includes in the width and earlier versions do not
        grid.add_column(width=11)
        grid.add_column(max_width=99)
        grid.add_row(Text(f"{topic}:"), Text(sentence))
        console.print(grid)


def _print_triples(console: "Console", triples: Interactions, top: int, said: Sequence[str]) -> None:
    """The same for triples, below the pairs, without the notes that were printed for these."""
    console.print("\n[bold]Three variables at a time[/bold]", highlight=False)
    _print_table(console, triples, top, said)


def _print_table(console: "Console", result: Pairwise | Interactions, top: int, said: Sequence[str] = ()) -> None:
    """The answer in words, then the ranking; notes that were `said` before are not repeated."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    answer = answer_line(result)
    console.print(f"[bold]{escape(answer)}[/bold]: {escape(result.title)}", highlight=False)
    _print_sentences(console, result.sentences())
    limit = len(result) if top == 0 else top
    rows = result.table_rows(limit)
    head, *lines = _fitting(rows, console.width) if isinstance(result, Pairwise) else rows  # long verdicts are folded
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(head):
        text = k in (0, len(head) - 1)
        table.add_column(name, justify="left" if text else "right", no_wrap=not text, overflow="fold")
    gaps: Iterable[PairGap | Interaction] = result
    for line, pair in zip(lines, gaps, strict=False):
        # green only if all was tested: strength alone, or a void comparison, is not good news
        fine = pair.verdict == NO_GAP and not result.void
        style = "red" if pair.flagged else "green" if fine else "yellow"
        table.add_row(*(Text(cell) for cell in line[:-1]), Text(line[-1], style=style))
    console.print(table)
    left = len(result) - limit
    if left > 0:
        where = "--csv and --json include" if result.unit == "pair" else "--json includes"
        console.print(
            f"and {left} more {result.unit}{'s' if left > 1 else ''} (--top 0 shows all; {where} every number)", highlight=False
        )
    for note in (note for note in (*result.notes, *result.warnings) if note not in said):
        console.print(Text(f"note: {note}"), highlight=False, soft_wrap=not console.is_terminal)


def _fitting(rows: list[list[str]], width: int) -> list[list[str]]:
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


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "check": check, "compare": compare, "demo": demo, "repair": repair, "reproduce": reproduce,
}  # fmt: skip
