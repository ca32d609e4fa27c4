"""The command line: parse, call, print. Heavy modules load only after the arguments are known to be good."""

import argparse
import errno
import io
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

Value = TypeVar("Value")
STANDARD_OUTPUT = "-"  # where --json goes unless a file is given
_PRINTED_JSON = f"--json={STANDARD_OUTPUT}"
_EXIT_CODES = """\
exit codes:
  0    the comparison was made and is within the limits given
  1    error: the data or files cannot be used
  2    wrong usage: an unknown option, or a value that an option does not take
  3    failed: a gap is above --fail-above, or a variable is constant that
       should vary
  4    undecided: the tests are void, no pair could be tested, or R-hat or
       n_eff is outside its limit
  130  interrupted"""
_WITH_EXIT_CODES: dict[str, Any] = {"epilog": _EXIT_CODES, "formatter_class": argparse.RawDescriptionHelpFormatter}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `copula-discrepancy` and return its exit code; ``--help`` and the documentation list the codes."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    options = _parser().parse_args(_with_json_file(given))
    options.given = given  # a page shows the command that made it
    if options.version:
        from copula_discrepancy import __version__

        print(__version__)
        return 0
    if options.command is None:
        _parser().print_help()
        return 2
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show is no reason to end
            stream.reconfigure(errors="backslashreplace" if "utf" in stream.encoding.lower() else "replace")
    try:
        with _terminated_like_interrupted():
            from copula_discrepancy.cli.commands import COMMANDS

            return COMMANDS[options.command](options)
    except KeyboardInterrupt:
        print("copula-discrepancy: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        discard_output()
        return 0
    except Exception as error:
        if options.debug:
            raise
        print(f"copula-discrepancy: {_message(error)}", file=sys.stderr)
        return 1


def discard_output() -> None:
    """Send what is still to be printed nowhere: the reader, such as head, has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: Exception) -> str:
    """What went wrong, and what to do about it."""
    from copula_discrepancy._core.errors import InputError

    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"memory ran out ({error}); take fewer draws, or fewer --columns"
    if isinstance(error, OSError) and error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"the output cannot be written: {error.strerror}; make room there, or send it elsewhere"
    return f"unexpected {type(error).__name__}: {error}; please report it with the traceback that --debug shows"


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Handle SIGTERM, which `timeout` sends, like an interrupt: workers end too, and finished work is kept."""
    if threading.current_thread() is not threading.main_thread():  # only there may signals be handled
        yield
        return
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _with_json_file(words: Sequence[str]) -> list[str]:
    """The words of a command with `--json` joined to the .json file that follows it.

    Left alone, argparse would take any word after `--json` as its file, the draws in ``check --json draws.csv``.
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
    check.add_argument(
        "files", nargs="+", metavar="file",
        help="a .csv, .tsv, .parquet, .npy, .npz, .nc or Stan CSV file, or a folder of them; several files are chains or, with "
        "--iid, parts of one table",
    )  # fmt: skip
    target = check.add_argument_group("target")
    target.add_argument("--theta", type=float, metavar="X", help="parameter of the target copula")
    target.add_argument("--tau", type=float, metavar="X", help="Kendall's tau of the target copula, instead of --theta")
    target.add_argument("--df", type=float, metavar="X", help="degrees of freedom of a studentt target")
    _add_comparison(check)
    compare = commands.add_parser(
        "compare", help="compare every pair of variables with a reference sample", **_WITH_EXIT_CODES,
        description="Compare every pair of variables of a candidate with the same pair of a\n"
        "reference sample. Variables are matched by name.",
    )  # fmt: skip
    kinds = "a file or folder as for check, or a quoted pattern such as 'run_*.csv'"
    compare.add_argument("candidate", help=kinds)
    compare.add_argument("reference", help=kinds)
    reading, testing = _add_comparison(compare)
    reading.add_argument(
        "--reference-chains", type=_chains, metavar="N", help="the same for the reference (default: as --chains)"
    )
    for side, which in (("draws", "the candidate"), ("reference", "the reference")):
        testing.add_argument(f"--iid-{side}", action="store_true", help=f"treat the rows of {which} alone as independent")
    demo = commands.add_parser("demo", help="compare two runs of a real posterior (eight schools, two parametrisations)")
    _add_output(demo)
    demo.set_defaults(fail_above=None, max_rhat=None, min_n_eff=None)
    _add_reproduce(commands)
    return parser


def _add_comparison(parser: argparse.ArgumentParser) -> "tuple[argparse._ArgumentGroup, argparse._ArgumentGroup]":
    """Add what `check` and `compare` share; the groups of options for reading and for testing."""
    parser.add_argument(
        "--family", metavar="NAME",
        help="clayton, gumbel, frank, joe, a1, a2, gaussian, studentt, clayton180, ... (default: the best for each pair)",
    )  # fmt: skip
    reading = parser.add_argument_group("input")
    reading.add_argument(
        "--columns", type=_names, metavar="A,B,...", help="variables to use, by name: mu,theta or 'theta[Choate]'"
    )
    reading.add_argument("--exclude", type=_names, metavar="A,B,...", help="variables to leave out, by name")
    reading.add_argument(
        "--filter", choices=("like", "regex"), help="match --columns and --exclude as substrings, or as regular expressions"
    )
    reading.add_argument("--group", default="posterior", help="group of a netCDF file (default: posterior)")
    reading.add_argument(
        "--coords", type=_coordinate, action="append", metavar="DIM=LABEL,...", help="labels to use along a netCDF dimension"
    )
    reading.add_argument(
        "--delimiter", metavar="C", help="character between the values of a text file (default: a comma, in .tsv a tab)"
    )
    reading.add_argument(
        "--missing", choices=("pairs", "listwise", "raise"),
        help="empty cells: for each pair use the rows that have both values, use only complete rows, or exit with an error "
        "(default: pairs for a table, raise for chains)",
    )  # fmt: skip
    reading.add_argument("--drop-missing", action="store_const", dest="missing", const="pairs", help="same as --missing pairs")
    reading.add_argument(
        "--chains", type=_chains, metavar="N",
        help="number of chains, one after another in the rows; or the name of the column that identifies the chain",
    )  # fmt: skip
    testing = parser.add_argument_group("tests")
    testing.add_argument(
        "--method", choices=("mle", "moment"), default="mle", help="moment compares Kendall's tau only (default: mle)"
    )
    testing.add_argument(
        "--confidence", type=_probability, default=0.95, metavar="P", help="confidence level of the tests (default: 0.95)"
    )
    testing.add_argument(
        "--adjust", choices=("bh", "by", "holm", "bonferroni", "none"), default="bh",
        help="adjustment of p-values for the number of tests (default: bh)",
    )  # fmt: skip
    testing.add_argument(
        "--tail", type=_tail, default=0.1, metavar="P", help="share of each variable that counts as a tail (default: 0.1)"
    )
    testing.add_argument("--jobs", type=_jobs, default=-1, metavar="J", help="number of threads (default: one per core)")
    testing.add_argument(
        "--checkpoint", metavar="FOLDER", help="keep finished pairs in FOLDER: an interrupted command resumes when repeated"
    )
    testing.add_argument("--iid", action="store_true", help="treat rows as independent; not for Markov chains or time series")
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--fail-above", type=_size, metavar="X",
        help="exit with 3 if a level, shape or total gap, or a corner's gap beyond chance, is above X",
    )  # fmt: skip
    limits.add_argument(
        "--max-rhat", type=_rhat, metavar="X",
        help="exit with 4 if R-hat for dependence is above X in either sample (default: 1.01 with --fail-above, else none)",
    )  # fmt: skip
    limits.add_argument(
        "--min-n-eff", type=_size, metavar="N", help="exit with 4 if a pair has fewer than N effective draws in either sample"
    )
    _add_output(parser)
    return reading, testing


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    form = output.add_mutually_exclusive_group()
    form.add_argument(
        "--json", nargs="?", const=STANDARD_OUTPUT, type=_json_file, metavar="FILE.json",
        help="print every number as JSON instead of a table; with a file, write them there and print the table",
    )  # fmt: skip
    form.add_argument("--csv", action="store_true", help="print all pairs as CSV instead of a table")
    output.add_argument("--html", metavar="FILE", help="also write a page with pictures, and its numbers as .json beside it")
    output.add_argument("--force", action="store_true", help="overwrite existing files of --html and --json")
    output.add_argument("--top", type=_rows, default=10, metavar="N", help="rows of the table, 0 for all (default: 10)")
    output.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(parser=parser)


def _add_reproduce(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    again = commands.add_parser("reproduce", help="repeat the experiments of the paper and compare with its numbers")
    again.add_argument(
        "experiment", nargs="?", default="all", choices=("all", "experiment1", "experiment2", "experiment3", "overhead"),
        metavar="experiment", help="experiment1, experiment2, experiment3, overhead or all (default: all)",
    )  # fmt: skip
    again.add_argument("--replications", type=int, default=100, metavar="R", help="per size or step size (default: 100)")
    again.add_argument("--sizes", type=_whole_numbers, metavar="N,N,...", help="sample sizes (default: those of the paper)")
    again.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default: 1)")
    again.add_argument("--jobs", type=_jobs, default=-1, metavar="J", help="worker processes (default: one per core)")
    again.add_argument("--out", default="reproduction", metavar="FOLDER", help="folder of the results (default: reproduction)")
    again.add_argument("--debug", action="store_true", help="show the traceback of an error")


def _names(text: str) -> list[str]:
    """mu,theta[0, 1],"a, b" as names: commas inside brackets, or quotes around a whole name, belong to it."""
    names, depth, quoted = [""], 0, False
    for k, sign in enumerate(text):
        if sign == '"' and (text[k + 1 : k + 2] in ("", ",") if quoted else not names[-1].strip()):
            quoted = not quoted
            continue
        depth += 0 if quoted else {"[": 1, "]": -1}.get(sign, 0)
        if sign == "," and depth <= 0 and not quoted:
            names.append("")
        else:
            names[-1] += sign
    stripped = [name.strip() for name in names if name.strip()]
    if not stripped:
        raise argparse.ArgumentTypeError(f"must be names separated by commas, such as mu,theta, got {text!r}")
    return stripped


def _coordinate(text: str) -> tuple[str, list[str]]:
    dimension, equals, labels = text.partition("=")
    if not (dimension.strip() and equals and labels.strip()):
        raise argparse.ArgumentTypeError(f"must be a dimension and its labels, such as school=Choate,Deerfield, got {text!r}")
    return dimension.strip(), [label.strip() for label in labels.split(",")]


def _chains(text: str) -> int | str:
    """A number of chains, or the name of a column."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not (number.is_integer() and number >= 1):
        raise argparse.ArgumentTypeError(f"must be a whole number of chains, 1 or more, or the name of a column, got {text!r}")
    return int(number)


def _checked(convert: Callable[[str], Value], allowed: Callable[[Value], bool], rule: str) -> Callable[[str], Value]:
    """What argparse calls to convert the text of an option; text that cannot be converted is not allowed either."""

    def value_of(text: str) -> Value:
        with suppress(ValueError):
            value = convert(text)
            if allowed(value):
                return value
        raise argparse.ArgumentTypeError(f"must be {rule}, got {text!r}")

    return value_of


_probability = _checked(float, lambda share: 0 < share < 1, "a number strictly between 0 and 1, such as 0.95")
_tail = _checked(float, lambda share: 0 < share < 0.5, "a number strictly between 0 and 0.5, such as 0.1")
_size = _checked(float, lambda size: 0 <= size < math.inf, "a number that is not negative, such as 0.05")
_rhat = _checked(float, lambda rhat: rhat >= 1, "a number of 1 or more, such as 1.01")
_rows = _checked(lambda text: int(text) if text.isdecimal() else -1, lambda rows: rows >= 0, "a number of rows, or 0 for all")
_jobs = _checked(int, lambda jobs: jobs != 0, "a number of workers, or -1 for one per core")
_json_file = _checked(str, lambda path: path == STANDARD_OUTPUT or path.endswith(".json"), "a file that ends in .json")


def _whole_numbers(text: str) -> list[int]:
    """100,1e3 as numbers."""
    numbers = _checked(
        lambda words: [float(word) for word in words.split(",")],
        lambda found: all(number.is_integer() for number in found),
        "whole numbers separated by commas, such as 100,1000,10000",
    )
    return [int(number) for number in numbers(text)]
