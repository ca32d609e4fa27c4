"""`compare --by`: every pair within groups of rows and over all rows."""

import argparse
import shlex
import sys
from functools import partial
from typing import Any

from copula_discrepancy.cli import printing, reading
from copula_discrepancy.cli.delivery import deliver
from copula_discrepancy.compare.gate import gate_groups
from copula_discrepancy.compare.groups import compare_groups
from copula_discrepancy.compare.groups_result import GroupedPairwise
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.row_groups import checked_by, with_group_columns


def compare_by_groups(options: argparse.Namespace) -> int:
    """Compare every pair of one sample with that of another, within groups and over all rows."""
    for option in ("interactions", "consequences"):
        if getattr(options, option):
            options.parser.error(f"--{option} cannot be used with --by; run the command once with each")
    by = checked_by(options.by)
    independent, iid = reading.independence(options)
    # rows are matched to their groups before rows with missing values are dropped
    missing = options.missing
    options = argparse.Namespace(**vars(options) | {"missing": "pairs" if missing == "listwise" else missing})
    samples, added = [], set[str]()
    paths = options.candidate, options.reference
    for sample, path, alone in zip(reading.read_both(options, independent), paths, independent, strict=True):
        read, own = with_group_columns(sample, by, partial(_read_columns, options, path, alone))
        samples.append(read)
        added |= {*own}
    try:
        result = compare_groups(
            samples[0], samples[1], by, added=added, iid=iid, family=options.family, method=options.method,
            confidence=options.confidence, adjust=options.adjust, missing="listwise" if missing == "listwise" else "pairs",
            tail=options.tail, order=options.order, n_jobs=options.jobs, checkpoint=options.checkpoint, device=options.device,
        )  # fmt: skip
    except KeyboardInterrupt:
        printing.say_saved(options.checkpoint)
        raise
    return _answer(options, result)


def _read_columns(options: argparse.Namespace, path: str, iid: bool, names: list[str]) -> Draws:
    return reading.read(options, path, None, None, iid, var_names=names, filter_vars=None, missing="pairs")


def _answer(options: argparse.Namespace, result: GroupedPairwise) -> int:
    """Print the result in the requested form, write its files, and return the exit code."""
    written = deliver(lambda: _print(options, result), lambda: _write_files(options, result))
    printing.print_written(options, written)
    limits = {"max_gap": options.fail_above, "max_rhat": options.max_rhat, "min_n_eff": options.min_n_eff}
    return printing.exit_code(gate_groups(result, **limits, margins=options.margins))


def _print(options: argparse.Namespace, result: GroupedPairwise) -> None:
    if printing.prints_table(options):
        printing.print_ranking(printing.console(), result, options.top)
    elif options.csv:
        result.to_dataframe().to_csv(sys.stdout, index=False, lineterminator="\n")
    else:
        printing.print_json(result.to_dict())
    sys.stdout.flush()  # write errors must occur here


def _write_files(options: argparse.Namespace, result: GroupedPairwise) -> str:
    """Write the requested page and JSON; return a line with their paths."""
    path, page = printing.json_file(options), None
    if options.html is not None:
        command = shlex.join(["copula-discrepancy", *options.given])
        page = result.to_html(options.html, force=options.force, command=command)
    if path is not None:  # after the page, whose JSON may be this file
        numbers: dict[str, Any] = result.to_dict()
        printing.write_json(path, numbers)
    return printing.files_line(page, path)
