"""The command that scores a synthetic table: how much of a real table's dependence it keeps."""

import argparse
import math
import shlex
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from copula_discrepancy._core.errors import DependenceWarning, InputError
from copula_discrepancy.cli import printing, reading
from copula_discrepancy.cli.delivery import deliver
from copula_discrepancy.compare.fidelity_tables import Tables, join_tables, numbered, score_tables
from copula_discrepancy.compare.groups_wording import left_out_words
from copula_discrepancy.compare.wording import counted, pair_label, percentage, shortened, told_once
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.data.row_groups import checked_by

_BELOW, _UNDECIDED = 3, 4  # exit codes
_SAID = ("pairs-left-out", "groups-left-out")  # caveats that the sentences above the table tell with the reasons
_WIDE = 110  # columns from which meanings stand in the table; on narrower terminals they follow it
_NAME = 60  # characters of a pair


def fidelity(options: argparse.Namespace) -> int:
    """Score a synthetic table, print the worst pairs and write the page."""
    reading.check_reading(options)
    printing.check_output(options)
    tables = _read(options)
    breakdown = _scored(tables, options.jobs)
    written = deliver(lambda: _print(options, breakdown, tables), lambda: _write_files(options, breakdown, tables))
    printing.print_written(options, written)
    return _exit_code(breakdown, options.fail_below)


def _read(options: argparse.Namespace) -> Tables:
    by = () if options.by is None else checked_by(options.by)
    listwise = bool(by) and options.missing == "listwise"
    if listwise:  # rows are matched to their groups before rows with missing values are dropped
        options = argparse.Namespace(**vars(options) | {"missing": "pairs"})
    real, synthetic = reading.read_both(options, (True, True))
    read = [partial(_read_columns, options, path) for path in (options.candidate, options.reference)]
    tables = join_tables(real, synthetic, by, read)
    return tables.complete() if listwise else tables


def _read_columns(options: argparse.Namespace, path: str, names: list[str]) -> Draws:
    return reading.read(options, path, None, None, True, var_names=names, filter_vars=None, missing="pairs")


def _scored(tables: Tables, jobs: int | None) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependenceWarning)  # its sentence is among the notes
        try:
            return score_tables(tables, missing="pairs", n_jobs=jobs)
        except InputError as error:
            if not tables.by or error.code != "too-small":
                raise
            # no group can be compared, which is no error of the groups if all rows are the same
            whole = score_tables(replace(tables, by=()), missing="pairs", n_jobs=jobs)
            if not _void(whole):
                raise
            return whole


def _void(breakdown: Mapping[str, Any]) -> bool:
    return any(caveat["code"] == "same-rows" for caveat in breakdown["caveats"])


# ---- what is printed -----------------------------------------------------------------------------------------------


def _print(options: argparse.Namespace, breakdown: Mapping[str, Any], tables: Tables) -> None:
    if not printing.prints_table(options):
        printing.print_json(numbered(breakdown))
        sys.stdout.flush()  # write errors must occur here
        return
    from rich.text import Text

    console = printing.console()
    console.print(Text(_score(breakdown), style="bold"), highlight=False)
    printing.print_sentences(console, _sentences(breakdown, tables))
    pairs = [*breakdown["pairs"].items()]
    shown = pairs if options.top == 0 else pairs[: options.top]
    if shown:
        wide = console.width >= _WIDE
        rows = [["pair", "kinds", "score", "kept", "verdict", *(["what it means"] if wide else [])]]
        void = _void(breakdown)
        rows += [_row(names, entry, wide, void) for names, entry in shown]
        styles = [] if wide or void else ["red" if entry["score"] < 1.0 else "green" for _, entry in shown]
        printing.print_rows(console, rows, (0, 1, 4, 5), styles)
        if len(pairs) > len(shown):
            more = f"{len(pairs) - len(shown):,} more pair{'s' if len(pairs) - len(shown) > 1 else ''}"
            console.print(f"and {more} (--top 0 shows all; --json includes every number)", highlight=False)
        if not wide:
            meanings = {pair_label(*names): entry["meaning"] for names, entry in shown if entry["meaning"]}
            for label, meaning in meanings.items():
                console.print(Text(f"{shortened(label, _NAME)}: {meaning}"), highlight=False)
    if breakdown.get("groups"):
        printing.print_rows(console, _group_rows(breakdown["groups"]), (0, -1))
    said = [caveat["sentence"] for caveat in breakdown["caveats"] if caveat["code"] in _SAID]
    notes = told_once(breakdown["warnings"], ("synthetic table: ", "real table: "), "both tables: ")
    printing.print_notes(console, notes, said)
    sys.stdout.flush()


def _score(breakdown: Mapping[str, Any]) -> str:
    """The score and its interval in one line, with the lowest score of a group."""
    if _void(breakdown):
        return "Void: the synthetic table contains the same rows as the real one, so there is no score"
    score, (low, high) = breakdown["score"], breakdown["interval"]
    if not math.isfinite(score):
        return "No pair of columns could be compared"
    interval = f" (95% interval {low:.2f} to {high:.2f})" if math.isfinite(low) and math.isfinite(high) else ""
    worst = _groups_below(breakdown, math.inf)[:1]
    within = "".join(f"; worst group: {shortened(label, _NAME)}, {lowest:.2f}" for label, lowest in worst)
    return f"Fidelity {score:.2f}{interval}: the synthetic table keeps {percentage(score)} of the dependence{within}"


def _groups_below(breakdown: Mapping[str, Any], limit: float) -> list[tuple[str, float]]:
    """Groups with a score below a limit, the lowest first."""
    scores = ((label, entry["score"]) for label, entry in breakdown.get("groups", {}).items())
    return sorted((found for found in scores if found[1] < limit), key=lambda found: found[1])


def _sentences(breakdown: Mapping[str, Any], tables: Tables) -> dict[str, str]:
    rows = [counted(table.n_chains * table.n_draws, "row") for table in (tables.real, tables.synthetic)]
    n, possible = breakdown["n_pairs"], breakdown["n_possible_pairs"]
    compared = counted(n, "pair") if n >= possible else f"{n:,} of {counted(possible, 'pair')}"
    said = {"Tables": f"real {rows[0]}, synthetic {rows[1]}; {compared} of columns compared."}
    if breakdown["answer"] and not _void(breakdown):  # that is said above
        said["Answer"] = f"{breakdown['answer']}."
    if breakdown["left_out"]:
        said["Left out"] = f"{listed([f'{name} ({why})' for name, why in breakdown['left_out'].items()], BRIEF)}."
    if breakdown.get("groups_left_out"):
        said["No score"] = f"{left_out_words(breakdown['groups_left_out'])}."
    return said


def _row(names: tuple[str, str], entry: Mapping[str, Any], wide: bool, void: bool) -> list[str]:
    shares = ["-" if void else _share(entry[key]) for key in ("score", "kept")]
    cells = [shortened(pair_label(*names), _NAME), " ~ ".join(entry["kinds"]), *shares]
    return [*cells, entry["verdict"], *([entry["meaning"]] if wide else [])]


def _group_rows(groups: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    rows = [["group", "score", "95% interval", "rows, real", "synthetic", "answer"]]
    for label, entry in groups.items():
        low, high = entry["interval"]
        interval = f"{low:.2f} to {high:.2f}" if math.isfinite(low) and math.isfinite(high) else "-"
        sizes = [f"{entry[key]:,}" for key in ("n_real", "n_synthetic")]
        rows.append([shortened(label, _NAME), f"{entry['score']:.2f}", interval, *sizes, entry["answer"] or "-"])
    return rows


def _share(value: float) -> str:
    return percentage(value) if math.isfinite(value) else "-"


# ---- files and the exit code ---------------------------------------------------------------------------------------


def _write_files(options: argparse.Namespace, breakdown: Mapping[str, Any], tables: Tables) -> str:
    """Write the requested page and JSON; return a line with their paths."""
    path, page = printing.json_file(options), None
    if options.html is not None:
        page = _write_page(options, breakdown, tables)
    if path is not None:  # after the page, whose JSON may be this file
        printing.write_json(path, numbered(breakdown))
    return printing.files_line(page, path)


def _write_page(options: argparse.Namespace, breakdown: Mapping[str, Any], tables: Tables) -> Path:
    from copula_discrepancy.report.page.fidelity import write_fidelity_page

    real, synthetic = tables.variables
    command = shlex.join(["copula-discrepancy", *options.given])
    return write_fidelity_page(breakdown, options.html, real=real, synthetic=synthetic, force=options.force, command=command)


def _exit_code(breakdown: Mapping[str, Any], limit: float | None) -> int:
    """0, or 4 without a score, or 3 if that of the table or of a group is below the limit; standard error has the reason."""
    score, void = breakdown["score"], _void(breakdown)
    if void or not math.isfinite(score):
        why = "the synthetic table contains the rows of the real one" if void else "no pair could be compared"
        printing.say(f"undecided: {why} (exit code {_UNDECIDED})")
        return _UNDECIDED
    if limit is None:
        return 0
    groups = _groups_below(breakdown, limit)
    if score >= limit and not groups:
        return 0
    parts = [f"the score {score:.3f}"] if score < limit else []
    if groups:
        label, lowest = groups[0]
        more = f" and of {counted(len(groups) - 1, 'more group')}" if len(groups) > 1 else ""
        parts.append(f"the score {lowest:.3f} of group {shortened(label, _NAME)}{more}")
    verb = "is" if len(parts) == 1 and len(groups) < 2 else "are"
    printing.say(f"failed: {' and '.join(parts)} {verb} below {limit:g} (exit code {_BELOW})")
    return _BELOW
