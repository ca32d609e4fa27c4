"""The command line: parse, call, print. Heavy modules load only after the arguments are known to be good."""

import argparse
import errno
import io
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_EXIT_CODES = "exit codes: 0 fine, 1 error in the data or the files, 2 wrong usage, 3 a gap above --fail-above, 130 stopped"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `copula-discrepancy` and return its exit code: 0 fine, 1 bad data, 2 wrong usage, 3 threshold passed, 130 stopped."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    options = _parser().parse_args(given)
    options.given = given  # a page names the command that made it
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
        with _ended_like_interrupted():
            return int(options.run(options) or 0)
    except KeyboardInterrupt:
        print("copula-discrepancy: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if options.debug:
            raise
        print(f"copula-discrepancy: {_told(error)}", file=sys.stderr)
        return 1


def _told(error: Exception) -> str:
    """What went wrong, and the way out."""
    from copula_discrepancy._core.errors import InputError

    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"memory ran out ({error}); take fewer draws, or fewer --columns"
    if isinstance(error, OSError) and error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"the output cannot be written: {error.strerror}; make room there, or send it elsewhere"
    return f"unexpected {type(error).__name__}: {error}; --debug shows where, please report it"


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Asked to end, as by `timeout`, a run ends as when interrupted: its workers too, and what is finished is kept."""
    if threading.current_thread() is not threading.main_thread():  # only there may signals be handled
        yield
        return
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="copula-discrepancy", description="Does a sample keep the dependence it should keep?", epilog=_EXIT_CODES
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    parser.set_defaults(debug=False)
    commands = parser.add_subparsers(dest="command", metavar="command")
    check = commands.add_parser(
        "check", help="every pair of variables in a file, against a copula or on its own", epilog=_EXIT_CODES,
        description="Check every pair of variables: against a copula (--family with --theta or --tau) or, without one, "
        "whether any family fits and whether the chains agree.",
    )  # fmt: skip
    check.add_argument(
        "files",
        nargs="+",
        metavar="file",
        help=".csv, .tsv, .parquet, .npy, .npz, .nc or Stan CSV, or a folder of "
        "them; several files are chains, with --iid parts of one table",
    )
    target = check.add_argument_group("target")
    target.add_argument("--theta", type=float, metavar="X", help="parameter of the target copula")
    target.add_argument("--tau", type=float, metavar="X", help="Kendall's tau of the target copula, instead of --theta")
    target.add_argument("--df", type=float, metavar="X", help="degrees of freedom of a studentt target")
    _common(check)
    check.set_defaults(run=_check, parser=check)
    compare = commands.add_parser(
        "compare", help="every pair of variables of one sample against those of a reference sample", epilog=_EXIT_CODES,
        description="Compare every pair of variables of a candidate with those of a reference sample; variables are matched by "
        "name.",
    )  # fmt: skip
    kinds = "a file or folder as for check, or a pattern in quotes such as 'run_*.csv' for several"
    compare.add_argument("candidate", help=kinds)
    compare.add_argument("reference", help=kinds)
    reading = _common(compare)
    reading.add_argument(
        "--reference-chains",
        type=_chains,
        metavar="N",
        help="as --chains, for the reference alone (default: --chains for both)",
    )
    compare.set_defaults(run=_compare, parser=compare)
    demo = commands.add_parser("demo", help="find what is wrong in a real posterior: eight schools, two parametrisations")
    _output(demo)
    demo.set_defaults(run=_demo, parser=demo)
    _add_reproduce(commands)
    return parser


def _common(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """What `check` and `compare` share; the group of what is said about reading."""
    parser.add_argument(
        "--family", metavar="NAME", help="clayton, gumbel, frank, joe, a1, a2, gaussian, studentt, clayton180, ..."
    )
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--columns", type=_names, metavar="A,B,...", help="variables to keep, by name: mu,theta or 'theta[Choate]'"
    )
    reading.add_argument("--exclude", type=_names, metavar="A,B,...", help="variables to leave out, by name as for --columns")
    reading.add_argument(
        "--chains", type=_chains, metavar="N", help="the rows are N chains one after another; or the column that tells chains"
    )
    reading.add_argument(
        "--filter", choices=("like", "regex"), help="take --columns and --exclude as parts of names, or regular expressions"
    )
    reading.add_argument("--group", default="posterior", help="group of a netCDF file (default: posterior)")
    reading.add_argument(
        "--coords", type=_coordinate, action="append", metavar="DIM=LABEL,...", help="labels to keep along a dimension (netCDF)"
    )
    reading.add_argument("--delimiter", metavar="C", help="what separates values in a text file (default: a comma)")
    reading.add_argument(
        "--missing", choices=("pairs", "listwise", "raise"),
        help="empty cells: take for each pair the rows that have both values, leave out rows with any, or end with an error "
        "(default: pairs for a table, raise for chains)",
    )  # fmt: skip
    reading.add_argument("--drop-missing", action="store_const", dest="missing", const="pairs", help="as --missing pairs")
    judging = parser.add_argument_group("judging")
    judging.add_argument("--method", choices=("mle", "moment"), default="mle", help="moment looks at Kendall's tau alone")
    judging.add_argument(
        "--iid", action="store_true", help="rows are independent; not for series in time, nor for Markov chains"
    )
    judging.add_argument("--confidence", type=_probability, default=0.95, metavar="P", help="of the tests (default: 0.95)")
    judging.add_argument(
        "--adjust", choices=("bh", "by", "holm", "bonferroni", "none"), default="bh", help="for many pairs (default: bh)"
    )
    judging.add_argument(
        "--tail",
        type=_tail,
        default=0.1,
        metavar="P",
        help="share of a variable that is a tail (default: 0.1)",
    )
    judging.add_argument(
        "--fail-above", type=_size, metavar="X",
        help="exit with 3 if a level, shape or total gap, or a corner's gap beyond chance, exceeds X",
    )  # fmt: skip
    judging.add_argument("--jobs", type=_jobs, default=-1, metavar="J", help="threads (default: one per core)")
    judging.add_argument(
        "--checkpoint", metavar="FOLDER", help="keep finished pairs there: the same command goes on from there when stopped"
    )
    _output(parser)
    return reading


def _output(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    form = output.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print every number as JSON instead of a table")
    form.add_argument("--csv", action="store_true", help="print all pairs as CSV instead of a table")
    output.add_argument("--html", metavar="FILE", help="write a page with pictures too, and every number as .json beside it")
    output.add_argument("--force", action="store_true", help="overwrite the files of --html where they are already there")
    output.add_argument("--top", type=_rows, default=10, metavar="N", help="rows of the table, 0 for all (default: 10)")
    output.add_argument("--debug", action="store_true", help="show where an error comes from")


def _add_reproduce(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    again = commands.add_parser("reproduce", help="run the paper's experiments and compare with what it published")
    again.add_argument(
        "experiment", nargs="?", default="all", choices=("all", "experiment1", "experiment2", "experiment3", "overhead"),
        metavar="experiment", help="experiment1, experiment2, experiment3, overhead or all (default: all)",
    )  # fmt: skip
    again.add_argument("--replications", type=int, default=100, metavar="R", help="per size or step size (default: 100)")
    again.add_argument("--sizes", type=_whole_numbers, metavar="N,N,...", help="sample sizes instead of the paper's")
    again.add_argument("--seed", type=int, default=1, help="seed of everything random (default: 1)")
    again.add_argument("--jobs", type=_jobs, default=-1, metavar="J", help="worker processes (default: one per core)")
    again.add_argument("--out", default="reproduction", metavar="FOLDER", help="where results go (default: reproduction)")
    again.add_argument("--debug", action="store_true", help="show where an error comes from")
    again.set_defaults(run=_reproduce)


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
    found = [name.strip() for name in names if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"names with commas between, such as mu,theta, not {text!r}")
    return found


def _coordinate(text: str) -> tuple[str, list[str]]:
    dimension, equals, labels = text.partition("=")
    if not (dimension.strip() and equals and labels.strip()):
        raise argparse.ArgumentTypeError(f"a dimension and its labels, such as school=Choate,Deerfield, not {text!r}")
    return dimension.strip(), [label.strip() for label in labels.split(",")]


def _chains(text: str) -> int | str:
    """A number of chains, or the name of a column."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not (number.is_integer() and number >= 1):
        raise argparse.ArgumentTypeError(f"a whole number of chains, 1 or more, or the name of a column, not {text!r}")
    return int(number)


def _number(text: str) -> float:
    """NaN, which no range holds, where the text is no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _probability(text: str) -> float:
    number = _number(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"a number strictly between 0 and 1, such as 0.95, not {text!r}")
    return number


def _tail(text: str) -> float:
    number = _number(text)
    if not 0 < number < 0.5:
        raise argparse.ArgumentTypeError(f"a share between 0 and 0.5, such as 0.1 for tenths, not {text!r}")
    return number


def _size(text: str) -> float:
    number = _number(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"a number that is not negative, such as 0.05, not {text!r}")
    return number


def _rows(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number of rows, or 0 for all, not {text!r}")
    return int(text)


def _whole_numbers(text: str) -> list[int]:
    """100,1e3 as numbers."""
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not all(number.is_integer() for number in numbers):
        raise argparse.ArgumentTypeError(f"whole numbers with commas between, such as 100,1000,10000, not {text!r}")
    return [int(number) for number in numbers]


def _jobs(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number == 0:
        raise argparse.ArgumentTypeError(f"a number of workers, or -1 for one per core, not {text!r}")
    return number


def _check(options: argparse.Namespace) -> int:
    from copula_discrepancy.cli.commands import check

    return check(options)


def _compare(options: argparse.Namespace) -> int:
    from copula_discrepancy.cli.commands import compare

    return compare(options)


def _demo(options: argparse.Namespace) -> int:
    from copula_discrepancy.cli.commands import demo

    return demo(options)


def _reproduce(options: argparse.Namespace) -> int:
    from copula_discrepancy.cli.commands import reproduce

    return reproduce(options)
