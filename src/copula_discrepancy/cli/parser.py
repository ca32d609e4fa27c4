"""The command line: parse, call, print. Heavy modules are loaded only after the arguments are known to be valid."""

import argparse
import errno
import io
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType
from typing import Any

from copula_discrepancy.cli import options
from copula_discrepancy.cli.delivery import discard_output, say

_PRINTED_JSON = f"--json={options.STANDARD_OUTPUT}"
_EXIT_CODES = """\
exit codes:
  0    the comparison was made and is within the limits
  1    error: the data, the files or the device cannot be used
  2    invalid usage: an unknown option, or an invalid value of an option
  3    failed: a gap is above --fail-above, with --fail-above a variable is
       constant that should vary, or with --margins a variable differs
  4    undecided, and not failed: the tests are void, no pair could be tested,
       or R-hat or n_eff is outside its limit; with a limit, a chain occurs twice
  130  interrupted"""
_EXIT_CODES_OF_REPAIR = """\
exit codes:
  0    the repaired files were written
  1    error: the data or files cannot be used, or a file exists already
  2    invalid usage: an unknown option, or an invalid value of an option
  130  interrupted"""
_LANGUAGE = """\
expressions:
  + - * / **, < <= > >= == !=, and or not, parentheses, numbers, and abs exp log
  sqrt min max. Variables by name: mu, theta[1], bill length; between backquotes
  if the name has operators or is a number: `a-b` is a variable, a - b a
  difference. Weights are 0.6*x + 0.4*y. Put the expression in single quotes."""
_EXIT_CODES_OF_CONSEQUENCE = """\
exit codes:
  0    the comparison was made and is within the limit
  1    error: the data, the files or the expression cannot be used
  2    invalid usage: an unknown option, or an invalid value of an option
  3    failed: what dependence does is significant and above --fail-above
  4    undecided: the reference has the same rows, so no test is valid; or, with
       --fail-above, the chains disagree on the expression or one occurs twice
  130  interrupted"""
_EXIT_CODES_OF_FIDELITY = """\
exit codes:
  0    the score was computed and is not below --fail-below
  1    error: the files cannot be used
  2    invalid usage: an unknown option, or an invalid value of an option
  3    the score, or with --by that of a group, is below --fail-below
  4    undecided: both tables have the same rows, or no pair could be compared
  130  interrupted"""
_EXIT_CODES_OF_WATCH = """\
exit codes:
  0    the comparison was made, also after Ctrl-C, and is within the limits
  1    error: the data, the files or the device cannot be used
  2    invalid usage: an unknown option, or an invalid value of an option
  3    failed: a gap is above --fail-above, with --fail-above a variable is
       constant that should vary, or with --margins a variable differs
  4    undecided, and not failed: the tests are void, no pair could be tested,
       or R-hat or n_eff is outside its limit; with a limit, the run was cut
       short, its draws were changed, or a chain was left out or occurs twice
  130  interrupted before the first answer, or during the last"""
_WITH_EXIT_CODES: dict[str, Any] = {"epilog": _EXIT_CODES, "formatter_class": argparse.RawDescriptionHelpFormatter}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `copula-discrepancy` and return its exit code; ``--help`` and the documentation list the codes."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    chosen, rest = _parser().parse_known_args(_with_json_file(given))
    if rest:
        (_parser() if chosen.command is None else chosen.parser).error(_unknown(rest, given))
    chosen.given = given  # a page shows the command that created it
    if chosen.version:
        from copula_discrepancy import __version__

        print(__version__)
        return 0
    if chosen.command is None:
        _parser().print_help()
        return 2
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names that the terminal cannot show must not raise an error
            stream.reconfigure(errors="backslashreplace" if "utf" in stream.encoding.lower() else "replace")
    try:
        with _terminated_like_interrupted():
            from copula_discrepancy.cli.commands import COMMANDS

            return COMMANDS[chosen.command](chosen)
    except KeyboardInterrupt:
        say("copula-discrepancy: interrupted")
        return 130
    except BrokenPipeError:
        discard_output()
        return 0
    except Exception as error:
        if chosen.debug:
            raise
        say(f"copula-discrepancy: {_message(error)}")
        return 1


def _unknown(rest: Sequence[str], given: Sequence[str]) -> str:
    """What is wrong with arguments that no option takes."""
    file = next((word for option, word in pairwise(given) if option == "--json" and word in rest), None)
    advice = f"; the file after --json must end in .json, got {file}" if file is not None else ""
    return f"unrecognized arguments: {' '.join(rest)}{advice}"


def _message(error: Exception) -> str:
    """The error, and what to do about it."""
    from copula_discrepancy._core.errors import InputError

    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"out of memory ({error}); use fewer draws or fewer --columns"
    if isinstance(error, OSError) and error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"cannot write the output: {error.strerror}; free some space or write it elsewhere"
    return f"unexpected {type(error).__name__}: {error}; please report it with the traceback from --debug"


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Handle SIGTERM, which `timeout` sends, and SIGHUP of a terminal that is closed, like an interrupt: workers end too, and
    finished work is saved. What `nohup` ignores stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():  # signals can only be handled there
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    usual = {number: signal.getsignal(number) for number in numbers}
    # None is a handler that was not set in Python, which could not be set again
    usual = {number: handler for number, handler in usual.items() if handler not in (signal.SIG_IGN, None)}
    for number in usual:
        signal.signal(number, signal.default_int_handler if number == signal.SIGTERM else _interrupt_once)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, and no other when the signal comes again: the shell and the kernel both send SIGHUP when a
    terminal is closed, and the second must not interrupt the last answer.
    """
    signal.signal(number, signal.SIG_IGN)
    signal.default_int_handler(number, frame)


def _with_json_file(words: Sequence[str]) -> list[str]:
    """The words of a command with `--json` joined to the .json file that follows it.

    Otherwise argparse would take any word after `--json` as its file, such as the draws in ``check --json draws.csv``.
    """
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == _PRINTED_JSON and word.endswith(".json"):
            joined[-1] = f"--json={word}"
        else:
            joined.append(_PRINTED_JSON if word == "--json" else word)
    return joined


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="copula-discrepancy", description="Check whether a sample keeps the dependence it should keep.", **_WITH_EXIT_CODES
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.set_defaults(debug=False)
    commands = parser.add_subparsers(dest="command", metavar="command")
    check = commands.add_parser(
        "check", help="check every pair of variables, against a copula or without a target", **_WITH_EXIT_CODES,
        description="Check every pair of variables against a copula (--family with --theta or\n"
        "--tau). Without one, check whether any family fits and the chains agree.",
    )  # fmt: skip
    check.add_argument("files", nargs="+", metavar="file", help=options.FILES)
    _add(check.add_argument_group("target"), options.TARGET)
    _add(check.add_argument_group("input"), options.INPUT | options.PARTS | options.KIND)
    _add(check.add_argument_group("tests"), options.TESTS | options.ENGINE)
    _add(check.add_argument_group("limits"), options.LIMITS)
    check.set_defaults(margins=False)
    compare = commands.add_parser(
        "compare", help="compare every pair of variables with a reference sample", **_WITH_EXIT_CODES,
        description="Compare every pair of variables of a candidate with the same pair of a\n"
        "reference sample. Variables are matched by name.",
    )  # fmt: skip
    compare.add_argument("candidate", help=options.SAMPLE)
    compare.add_argument("reference", help=options.SAMPLE)
    _add(compare.add_argument_group("input"), options.TWO_INPUTS | options.PARTS | options.KIND)
    _add(compare.add_argument_group("tests"), options.TWO_TESTS | options.ENGINE)
    _add(compare.add_argument_group("limits"), options.TWO_LIMITS)
    consequence = commands.add_parser(
        "consequence", help="compute what wrong dependence does to a number that you need",
        epilog=f"{_LANGUAGE}\n\n{_EXIT_CODES_OF_CONSEQUENCE}", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compute an expression of the variables, such as 'a - b > 0', in the candidate, in\n"
        "the candidate with the reference's dependence, and in the reference: what wrong\n"
        "dependence does to it, apart from what wrong margins do.",
    )  # fmt: skip
    consequence.add_argument("candidate", help=options.SAMPLE)
    consequence.add_argument("reference", help=options.SAMPLE)
    consequence.add_argument("expression", help="a quantity such as '0.6*x + 0.4*y', or a condition such as 'a - b > 0'")
    _add(consequence.add_argument_group("input"), options.CONSEQUENCE_INPUTS)
    _add(consequence.add_argument_group("question"), options.CONSEQUENCE)
    _add(consequence.add_argument_group("limits"), options.CONSEQUENCE_LIMITS)
    output = consequence.add_argument_group("output")
    _add(output.add_mutually_exclusive_group(), options.CONSEQUENCE_FORMS)
    _add(output, options.CONSEQUENCE_OUTPUT)
    fidelity = commands.add_parser(
        "fidelity", help="score how much of a real table's dependence a synthetic table keeps", epilog=_EXIT_CODES_OF_FIDELITY,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Score how much of a real table's dependence a synthetic table keeps, from 0\n"
        "(none) to 1 (all). The real table comes first, the synthetic one second, as in\n"
        "SDMetrics. Rows must be independent; columns of every kind are compared.",
    )  # fmt: skip
    fidelity.add_argument("candidate", metavar="REAL", help=f"the real table: {options.SAMPLE}")
    fidelity.add_argument("reference", metavar="SYNTHETIC", help="the synthetic table, with the same columns in any order")
    _add(fidelity.add_argument_group("input"), options.FIDELITY_INPUTS)
    _add(fidelity.add_argument_group("tests"), options.FIDELITY_TESTS)
    _add(fidelity.add_argument_group("limits"), options.FIDELITY_LIMITS)
    output = fidelity.add_argument_group("output")
    _add(output, options.FIDELITY_FORMS | options.OUTPUT)
    fidelity.set_defaults(csv=False, group="posterior", coords=None, chains=None, reference_chains=None)
    repair = commands.add_parser(
        "repair", help="reorder a sample to the dependence of a reference", epilog=_EXIT_CODES_OF_REPAIR,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Reorder the values of a candidate so that its variables depend on each other\n"
        "as in a reference sample, and write it to another file. Every value is kept:\n"
        "cells move within their columns.",
    )  # fmt: skip
    repair.add_argument("candidate", help=options.SAMPLE)
    repair.add_argument("reference", help=options.SAMPLE)
    _add(repair.add_argument_group("input"), options.REPAIR_INPUTS)
    _add(repair.add_argument_group("repair"), options.REPAIR)
    _add(repair.add_argument_group("output"), options.REPAIR_OUTPUT)
    sketch = commands.add_parser(
        "sketch", help="count a table once, for comparisons without its rows",
        description="Count the pairs of values of a table of any size, in bins, and write the counts\n"
        "to a file. compare takes it in place of the table, at any time and anywhere.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    sketch.add_argument("files", nargs="+", metavar="file", help="a .parquet, .csv or .npy file, a folder of them, a quoted "
                        "pattern, or a Zarr store; several files are parts of one table")  # fmt: skip
    _add(sketch.add_argument_group("input"), options.SKETCH_INPUTS | options.KIND)
    _add(sketch.add_argument_group("counting"), options.SKETCH)
    _add(sketch.add_argument_group("output"), options.SKETCH_OUTPUT)
    sketch.set_defaults(delimiter=None)
    watch = commands.add_parser(
        "watch", help="watch the pairs of variables of a run while it goes on",
        epilog=_EXIT_CODES_OF_WATCH, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Follow the draws of a sampler while it runs: Stan CSV files, a Zarr store, or a netCDF\n"
        "file that is replaced. Shows the worst pairs, chains that disagree, effective draws and\n"
        "the time to a wanted error. When the run ends, or on Ctrl-C, all draws are compared as\n"
        "by compare, or check without --reference. It never stops a sampler: stopping when noisy\n"
        "numbers look good would bias them.",
    )  # fmt: skip
    watch.add_argument("files", nargs="+", metavar="path", help="files that a sampler writes, one per chain, a folder of them, "
                       "a quoted pattern such as 'run_*.csv', or a Zarr store; they may appear later")  # fmt: skip
    _add(watch.add_argument_group("input"), options.WATCH_INPUTS)
    _add(watch.add_argument_group("watching"), options.WATCH)
    _add(watch.add_argument_group("tests"), options.WATCH_TESTS)
    _add(watch.add_argument_group("limits"), options.TWO_LIMITS)
    watch.set_defaults(reference_chains=None, delimiter=None, missing=None, iid_draws=False)
    demo = commands.add_parser("demo", help="compare two runs of a real posterior (eight schools, two parametrisations)")
    demo.set_defaults(fail_above=None, max_rhat=None, min_n_eff=None, margins=False)
    for command in (check, compare, watch, demo):
        output = command.add_argument_group("output")
        _add(output.add_mutually_exclusive_group(), options.FORMS)
        _add(output, options.OUTPUT)
    reproduce = commands.add_parser("reproduce", help="repeat the experiments of the paper and compare with its numbers")
    _add(reproduce, options.REPRODUCE)
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    return parser


def _add(group: "argparse._ActionsContainer", described: options.Options) -> None:
    for name, choices in described.items():
        group.add_argument(name, **choices)
