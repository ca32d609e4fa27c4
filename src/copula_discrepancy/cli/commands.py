"""The commands that compare pairs, and `reproduce`: each calls the library with its arguments and prints the answer."""

import argparse
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.tensors.device import checked_device
from copula_discrepancy.cli import counting, printing, reading
from copula_discrepancy.cli.consequence_command import consequence
from copula_discrepancy.cli.delivery import deliver
from copula_discrepancy.cli.fidelity_command import fidelity
from copula_discrepancy.cli.funnel import funnel
from copula_discrepancy.cli.groups_command import compare_by_groups
from copula_discrepancy.cli.repair_command import repair
from copula_discrepancy.cli.sketch_command import sketch
from copula_discrepancy.cli.watch_command import print_run, watched
from copula_discrepancy.compare.gate import gate
from copula_discrepancy.compare.interactions import rank_triples
from copula_discrepancy.compare.interactions_result import Interactions
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.worst_consequences import rank_consequences
from copula_discrepancy.compare.worst_result import WorstConsequences, effect_records
from copula_discrepancy.data.draws import as_draws, ordered_only
from copula_discrepancy.families import Copula, family


class _Extras(NamedTuple):
    """What was computed besides the pairs."""

    triples: Interactions | None = None
    consequences: WorstConsequences | None = None
    brief: bool = False  # whether consequences are left out of what is printed


_NOTHING_ELSE = _Extras()


def check(options: argparse.Namespace) -> int:
    """Check every pair of one sample against a copula, or without a target."""
    _check_usage(options)
    counting.check_memory(options)
    _check_device(options)
    target = _known_target(options)
    if target is None and options.method == "moment":
        options.parser.error("--method moment requires a target: use --family with --theta or --tau")
    files = options.files if len(options.files) > 1 else options.files[0]
    choices = {} if target is not None else {"family": options.family}
    counted = counting.opened(options, files)
    if counted is not None:
        return _answer(options, _judge_counted(options, counted[0], target, iid=options.iid, **choices))
    draws = reading.read(options, files, options.chains, options.exclude, options.iid)
    return _answer(options, _judge(options, draws, target, iid=options.iid, **choices))


def compare(options: argparse.Namespace) -> int:
    """Compare every pair of one sample with that of another."""
    _check_usage(options)
    counting.check_memory(options)
    _check_device(options)
    for option in ("interactions", "consequences"):
        if getattr(options, option) and options.csv:
            options.parser.error(f"--{option} cannot be used with --csv, which prints one table; use --json")
    independent, iid = reading.independence(options)
    counted = counting.opened(options, options.candidate, options.reference)
    if counted is not None:
        return _compare_counted(options, counted[0], counted[1], iid)
    if options.by is not None:
        return compare_by_groups(options)
    if options.lags is not None and any(independent):
        options.parser.error("--lags cannot be used with --iid: the rows of a path are not independent of its past")
    if options.lags is not None and options.missing == "listwise":
        options.parser.error("--lags cannot be used with --missing listwise, which breaks paths; use --missing pairs")
    draws, reference = reading.read_both(options, independent)
    common = {"iid": iid, "confidence": options.confidence, "adjust": options.adjust, "n_jobs": options.jobs}
    triples = consequences = None
    if options.interactions:  # first: triples take seconds, and there may be too many variables for them
        ordered = ordered_only(draws), ordered_only(reference)
        triples = rank_triples(*ordered, missing="pairs", device=options.device, **common)
    if options.consequences:
        ordered = ordered_only(draws), ordered_only(reference)
        consequences = rank_consequences(*ordered, missing="listwise", tail=options.tail, **common)
    result = _judge(options, draws, reference, iid=iid, family=options.family, lags=options.lags)
    return _answer(options, result, _Extras(triples, consequences))


def _compare_counted(options: argparse.Namespace, draws: Any, reference: Any, iid: bool | str) -> int:
    """Compare samples that are counted while they are read, or were before."""
    triples = None
    if options.interactions:
        chosen = counting.selection(options)
        kinds = chosen.pop("kinds")
        if kinds is not None:
            options.parser.error("--kinds cannot be used with --interactions of files that are counted")
        triples = rank_triples(
            draws, reference, iid=iid, confidence=options.confidence, adjust=options.adjust,
            n_jobs=options.jobs, engine="counted", memory=options.memory, device=options.device, **chosen,
        )  # fmt: skip
    result = _judge_counted(options, draws, reference, iid=iid, family=options.family)
    return _answer(options, result, _Extras(triples))


def watch(options: argparse.Namespace) -> int:
    """Follow a run while it goes on, and compare all its draws at its end."""
    _check_usage(options)
    with watched(options) as last:
        assert last.result is not None
        if options.html is not None:  # the page of the looks before is this command's own
            options.force = True
        return _answer(options, last.result, above=lambda: print_run(options, last))


def demo(options: argparse.Namespace) -> int:
    """Eight schools: the centered parametrisation against the non-centered one, both real PyMC output that ArviZ bundles."""
    printing.check_output(options)
    import numpy as np
    from arviz_base import load_arviz_data

    load: Any = load_arviz_data  # its types do not include options of xarray
    names, chosen = ("centered_eight", "non_centered_eight"), ["mu", "theta", "tau"]
    # one group: the others take eight times as long to read
    centered, other = (as_draws(load(name, group="posterior"), var_names=chosen) for name in names)
    result, consequences = rank_pairs(centered, other), rank_consequences(centered, other)
    if printing.prints_table(options):
        a, b = (sample.values.reshape(-1, sample.n_variables) for sample in (centered, other))
        shift = np.abs(a.mean(axis=0) - b.mean(axis=0)) / b.std(axis=0)
        worst = int(np.argmax(shift))
        printing.console().print(
            "[bold]Eight schools[/bold] (Rubin, 1981), sampled by PyMC in two parametrisations of one posterior.\n"
            "Does the centered run keep the dependence that the non-centered run has?\n"
            f"The usual summary shows little: no mean differs by more than {shift[worst]:.2f} posterior standard deviations "
            f"(that of {centered.names[worst]}).\n",
            highlight=False,
        )
    code = _answer(options, result, _Extras(consequences=consequences, brief=True))
    if printing.prints_table(options):
        print()
        effect = {"Effect": f"{consequences.described(0)}."}
        printing.print_sentences(printing.console(), funnel(result, centered, other) | effect)
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
        printing.say(printing.RESUME.format(options.out))
        raise
    console = printing.console()
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
    reading.check_reading(options)
    try:
        if options.family not in (None, "auto"):
            family(options.family)
    except InputError as error:
        options.parser.error(str(error))
    printing.check_output(options)


def _check_device(options: argparse.Namespace) -> None:
    """Report a device that is not there, in the words of the command, before any file is read."""
    try:
        checked_device(options.device)
    except InputError as error:
        raise InputError(re.sub(r"device='([\w:]+)'", r"--device \1", str(error)), error.code) from None


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


def _judge(options: argparse.Namespace, draws: Any, target: Any, **choices: Any) -> Pairwise:
    choices = {"missing": "pairs", "engine": options.engine} | choices
    try:
        return rank_pairs(  # warnings are printed below the table
            draws, target, method=options.method, confidence=options.confidence, adjust=options.adjust, tail=options.tail,
            order=options.order, n_jobs=options.jobs, checkpoint=options.checkpoint, device=options.device, **choices,
        )  # fmt: skip
    except KeyboardInterrupt:
        printing.say_saved(options.checkpoint)
        raise


def _judge_counted(options: argparse.Namespace, draws: Any, target: Any, **choices: Any) -> Pairwise:
    return _judge(options, draws, target, engine="counted", memory=options.memory, **counting.selection(options), **choices)


def _answer(
    options: argparse.Namespace, result: Pairwise, extras: _Extras = _NOTHING_ELSE, above: Callable[[], None] | None = None
) -> int:
    """Print the result in the requested form, after what stands `above` it, write its files, and return the exit code."""

    def show() -> None:
        if above is not None:
            above()
        _print(options, result, extras)

    written = deliver(show, lambda: _write_files(options, result, extras))
    printing.print_written(options, written)
    limits = {"max_gap": options.fail_above, "max_rhat": options.max_rhat, "min_n_eff": options.min_n_eff}
    return printing.exit_code(gate(result, **limits, margins=options.margins, triples=extras.triples))


def _print(options: argparse.Namespace, result: Pairwise, extras: _Extras) -> None:
    if printing.prints_table(options):
        console, said = printing.console(), [*result.notes, *result.warnings]
        printing.print_ranking(console, result, options.top)
        below: dict[str, Interactions | WorstConsequences | None] = {"Three variables at a time": extras.triples}
        below |= {} if extras.brief else {"What the worst pairs do to you": extras.consequences}
        for heading, other in below.items():
            if other is not None:
                console.print(f"\n[bold]{heading}[/bold]", highlight=False)
                printing.print_ranking(console, other, options.top, said)
                said += [*other.notes, *other.warnings]
    elif options.csv:
        result.to_dataframe().to_csv(sys.stdout, index=False, lineterminator="\n")
    else:
        printing.print_json(_numbers(result, extras))
    sys.stdout.flush()  # write errors must occur here


def _numbers(result: Pairwise, extras: _Extras) -> dict[str, Any]:
    """`to_dict` with the pairs as an iterator, so that half a million of them need not be in memory; others likewise."""
    numbers = result.overview() | {"pairs": (pair.to_dict() for pair in result)}
    triples, consequences = extras.triples, extras.consequences
    if triples is not None:
        numbers |= {"interactions": triples.overview(), "triples": (gap.to_dict() for gap in triples)}
    if consequences is not None:
        numbers |= {"consequences": consequences.overview(), "effects": effect_records(consequences)}
    return numbers


def _write_files(options: argparse.Namespace, result: Pairwise, extras: _Extras) -> str:
    """Write the requested page and JSON; return a line with their paths."""
    path, page, failed = printing.json_file(options), None, None
    if options.html is not None:
        try:
            page = _write_page(options, result, extras)
        except InputError as error:
            failed = error  # then the numbers alone are written
    if path is not None:
        printing.write_json(path, _numbers(result, extras))
    if failed is not None:
        raise failed
    return printing.files_line(page, path)


def _write_page(options: argparse.Namespace, result: Pairwise, extras: _Extras) -> Path:
    return result.to_html(
        options.html, force=options.force, command=shlex.join(["copula-discrepancy", *options.given]),
        interactions=extras.triples, consequences=extras.consequences,
    )  # fmt: skip


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "check": check, "compare": compare, "consequence": consequence, "demo": demo, "fidelity": fidelity, "repair": repair,
    "reproduce": reproduce, "sketch": sketch, "watch": watch,
}  # fmt: skip
