"""What each command does with its arguments: call the library and print the answer."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import json_text
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.many_result import Pairwise, gap_sizes
from copula_discrepancy.compare.wording import NO_GAP, answer_line
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.readers.options import IfThere, ReadOptions, UnknownExcluded
from copula_discrepancy.families import Copula, family

if TYPE_CHECKING:
    from rich.console import Console

_FAILED = 3  # exit code of a gap above the threshold
_NARROWEST = 80
_UNBOUND = 120  # columns where output goes to a file or a pipe
_GO_ON = "what is finished is in {}; the same command goes on from there"


def check(options: argparse.Namespace) -> int:
    """Every pair of one sample against a copula, or on its own."""
    _check_usage(options)
    target = _known_target(options)
    if target is None and options.method == "moment":
        options.parser.error("--method moment needs a target: give --family with --theta or --tau")
    draws = _read(options, options.files if len(options.files) > 1 else options.files[0], options.chains)
    choices = {} if target is not None else {"family": options.family}
    return _answer(options, _judge(options, draws, target, **choices))


def compare(options: argparse.Namespace) -> int:
    """Every pair of one sample against those of another."""
    _check_usage(options)
    draws, reference = _two(options)
    return _answer(options, _judge(options, draws, reference, family=options.family))


def _two(options: argparse.Namespace) -> tuple[Draws, Draws]:
    """Candidate and reference; what is named for both, a chain column or one to leave out, may be in one of them only."""
    paths = options.candidate, options.reference
    if options.reference_chains is not None or not isinstance(options.chains, str):
        there = options.chains if options.reference_chains is None else options.reference_chains
        return _both(options, paths, (options.chains, there))
    both = _both(options, paths, (IfThere(options.chains),) * 2)
    if not any(draws.chain_column == options.chains for draws in both):
        _read(options, options.candidate, options.chains)  # says which columns there are
    return both


def _both(options: argparse.Namespace, paths: tuple[Any, Any], chains: tuple[Any, Any]) -> tuple[Draws, Draws]:
    """Both samples, each without those columns to leave out that it has; one that neither has is an error."""
    read, unknown = [], []
    for path, own in zip(paths, chains, strict=True):
        excluded, missed = list(options.exclude or ()), {}
        while True:
            try:
                read.append(_read(options, path, own, excluded))
                break
            except UnknownExcluded as error:
                missed[error.name] = error
                excluded.remove(error.name)
        unknown.append(missed)
    for name in unknown[0]:
        if name in unknown[1]:
            raise unknown[0][name]
    return read[0], read[1]


def demo(options: argparse.Namespace) -> int:
    """Eight schools: the centered parametrisation against the non-centered one, both real PyMC output that ArviZ bundles."""
    _check_page(options)
    from arviz_base import load_arviz_data

    load: Any = load_arviz_data  # its types know no options of xarray
    names, chosen = ("centered_eight", "non_centered_eight"), ["mu", "theta", "tau"]
    # one group: the others take eight times as long to read
    centered, other = (as_draws(load(name, group="posterior"), var_names=chosen) for name in names)
    result = rank_pairs(centered, other)
    if not (options.json or options.csv):
        console = _console()
        for line in (
            "[bold]Eight schools[/bold] (Rubin, 1981), sampled by PyMC in two parametrisations of one posterior.",
            "Does the centered run keep the dependence that the non-centered run has?",
            f"The usual table sees little: {_margins(centered, other)}",
            "",
        ):
            console.print(line, highlight=False)
    return _answer(options, result)


def _margins(draws: Draws, reference: Draws) -> str:
    """What a table of means says about the two samples."""
    import numpy as np

    a, b = (sample.values.reshape(-1, sample.n_variables) for sample in (draws, reference))
    shift = np.abs(a.mean(axis=0) - b.mean(axis=0)) / b.std(axis=0)
    worst = int(np.argmax(shift))
    return f"no mean is off by more than {shift[worst]:.2f} posterior standard deviations (that of {draws.names[worst]})."


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
        _say(_GO_ON.format(options.out))
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
    """What can be seen to be wrong before any file is read."""
    parser: argparse.ArgumentParser = options.parser
    try:
        ReadOptions.checked(
            options.columns, options.filter, options.group, None, options.chains, options.delimiter, options.exclude
        )  # fmt: skip
        if options.family is not None and options.family != "auto":
            family(options.family)
    except InputError as error:
        told = str(error).replace("filter_vars", "--filter").replace("var_names", "--columns")
        parser.error(told.replace("exclude must", "--exclude must"))
    _check_page(options)


def _check_page(options: argparse.Namespace) -> None:
    """Whether the page can be written, before anything is computed."""
    if options.html is None:
        if options.force:
            options.parser.error("--force belongs to --html: it overwrites the page and its .json")
        return
    from copula_discrepancy.report.page.writing import page_path

    page_path(options.html, options.force)


def _known_target(options: argparse.Namespace) -> Copula | None:
    """The copula that the options name; wrong ones are wrong usage."""
    parser: argparse.ArgumentParser = options.parser
    if options.theta is None and options.tau is None:
        if options.df is not None:
            parser.error("--df belongs to a target: give --family studentt with --theta or --tau too")
        return None
    if options.family is None:
        parser.error("--theta and --tau need a --family, such as gumbel")
    if options.theta is not None and options.tau is not None:
        parser.error("give --theta or --tau, not both")
    fixed = {} if options.df is None else {"df": options.df}
    try:
        chosen: Any = family(options.family)
        if set(fixed) - set(chosen.fixed_parameters):
            parser.error(f"--df is for studentt, not for {options.family}")
        made: Copula = chosen(options.theta, **fixed) if options.tau is None else chosen.from_tau(options.tau, **fixed)
    except InputError as error:
        parser.error(str(error))
    return made


def _read(options: argparse.Namespace, path: Any, chains: int | str | None, exclude: list[str] | None = None) -> Draws:
    return as_draws(
        path,
        var_names=options.columns,
        exclude=(options.exclude if exclude is None else exclude) or None,
        filter_vars=options.filter,
        group=options.group,
        coords=_merged(options.coords) if options.coords else None,
        chains=chains,
        delimiter=options.delimiter,
        missing="drop" if options.missing == "listwise" else options.missing,
        parts="rows" if options.iid else "auto",
    )


def _merged(coords: list[tuple[str, list[str]]]) -> dict[str, list[str]]:
    """Labels by dimension; one named twice has the labels of both."""
    found: dict[str, list[str]] = {}
    for dimension, labels in coords:
        found.setdefault(dimension, []).extend(labels)
    return found


def _judge(options: argparse.Namespace, draws: Draws, target: Any, **choices: Any) -> Pairwise:
    try:
        return rank_pairs(  # warnings are printed below the table
            draws, target, method=options.method, iid=options.iid, confidence=options.confidence, adjust=options.adjust,
            missing="pairs", tail=options.tail, n_jobs=options.jobs, checkpoint=options.checkpoint, **choices,
        )  # fmt: skip
    except KeyboardInterrupt:
        if options.checkpoint is None:
            _say("nothing is kept; with --checkpoint FOLDER the same command can go on where it was stopped")
        else:
            _say(_GO_ON.format(options.checkpoint))
        raise


def _say(sentence: str) -> None:
    print(f"copula-discrepancy: {sentence}", file=sys.stderr)


def _answer(options: argparse.Namespace, result: Pairwise) -> int:
    """Print the result in the form asked for, and write its page; the exit code."""
    try:
        _print(options, result)
    except OSError:  # whoever reads has gone, or the disk is full: the page was asked for all the same
        if options.html is not None:
            _write_page(options, result)
        raise
    if options.html is not None:
        page, beside = _write_page(options, result)
        told = f"Page: {page} (open it in a browser); every number: {beside}"
        apart = options.json or options.csv
        print(told if apart else f"\n{told}", file=sys.stderr if apart else sys.stdout)
    return _threshold(result, getattr(options, "fail_above", None))


def _print(options: argparse.Namespace, result: Pairwise) -> None:
    if options.json:
        ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
        print(json_text(result.to_dict(), ascii_only=ascii_only), end="")
    elif options.csv:
        result.to_dataframe().to_csv(sys.stdout, index=False, lineterminator="\n")
    else:
        _print_table(_console(), result, options.top)
    sys.stdout.flush()  # what cannot be written should be known here


def _write_page(options: argparse.Namespace, result: Pairwise) -> tuple[Path, Path]:
    """The page, and the JSON beside it."""
    from copula_discrepancy.report.page.writing import json_path

    page = result.to_html(options.html, force=options.force, command=shlex.join(["copula-discrepancy", *options.given]))
    return page, json_path(page)


def _threshold(result: Pairwise, limit: float | None) -> int:
    if limit is None:
        return 0
    import numpy as np

    if result.void:
        _say("failed, the reference has the same rows: every test is void; compare with other rows")
        return _FAILED
    if result.stuck:
        told = (
            f"{', '.join(result.stuck)} constant in the {result.things} but not in the target: every dependence of it is lost"
        )
        _say(f"failed, {told}")
        return _FAILED
    if not result.tested.any():
        raise InputError("no pair could be tested, so --fail-above has nothing to judge; the notes say why")
    # a corner's gap counts only beyond chance: with a few dozen rows in a tail, it is seldom below 0.05 by itself
    gaps = gap_sizes(result.rows, ("level", "shape", "total"), 1.0 - result.confidence)
    if not np.isfinite(gaps).any():
        raise InputError("no gap could be measured, so --fail-above has nothing to judge; see the notes of check without it")
    sizes = np.where(np.isfinite(gaps), gaps, -1.0)
    above = np.flatnonzero(sizes > limit)
    if not above.size:
        _say(f"passed, no gap is above {limit:g} (largest {max(sizes.max(), 0.0):.4f})")
        return 0
    worst = result[int(above[np.argmax(sizes[above])])]
    more = "draw more" if result.things == "draws" else "take more rows"
    chance = f", {worst.verdict}" if worst.flagged else f", though chance may explain it: {more}"
    _say(
        f"failed, {above.size} of {len(result)} pair{'s' * (len(result) != 1)} with a gap above {limit:g}; the largest is "
        f"{sizes.max():.4f}, {worst.label}{chance}"
    )
    return _FAILED


def _console() -> "Console":
    from rich.console import Console

    console = Console()
    console.width = max(console.width, _NARROWEST) if console.is_terminal else _UNBOUND
    return console


def _print_table(console: "Console", result: Pairwise, top: int) -> None:
    """The answer in words, then the ranking."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    console.print(
        f"[bold]{escape(answer_line(result.verdict, bool(result.warnings)))}[/bold]: {escape(result.title)}", highlight=False
    )
    for topic, sentence in result.sentences().items():
        grid = Table.grid()  # without padding, which a width counts in rich 15 and did not before
        grid.add_column(width=11)
        grid.add_column(max_width=99)
        grid.add_row(Text(f"{topic}:"), Text(sentence))
        console.print(grid)
    limit = len(result) if top == 0 else top
    head, *lines = _fitting(result.table_rows(limit), console.width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(head):
        text = k in (0, len(head) - 1)
        table.add_column(name, justify="left" if text else "right", no_wrap=not text, overflow="fold")
    for line, pair in zip(lines, result, strict=False):
        # green is for what was tested: a strength alone, or a comparison that is void, is no good news
        fine = pair.verdict == NO_GAP and not result.void
        style = "red" if pair.flagged else "green" if fine else "yellow"
        table.add_row(*(Text(cell) for cell in line[:-1]), Text(line[-1], style=style))
    console.print(table)
    left = len(result) - limit
    if left > 0:
        console.print(
            f"and {left} more pair{'s' if left > 1 else ''}: --top 0 shows all, --csv and --json have every number",
            highlight=False,
        )
    for note in (*result.notes, *result.warnings):
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
