"""The options of the commands, by group: their values and their `--help` texts."""

import argparse
import math
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

Value = TypeVar("Value")
Options = dict[str, dict[str, Any]]  # by name, the arguments of add_argument
STANDARD_OUTPUT = "-"  # where --json goes without a file
PICTURES = (".png", ".pdf", ".svg")  # endings of files that a picture can be written to
KINDS = ("numeric", "ordinal", "nominal", "boolean", "date", "id")  # those of as_draws(kinds=)
SUMMARIES = ("mean", "probability", "sd", "quantile", "shortfall")  # those of consequence()


def _names(text: str) -> list[str]:
    """Names from mu,theta[0, 1],"a, b": commas inside brackets, or quotes around a whole name, belong to it."""
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
        raise argparse.ArgumentTypeError(f"must be comma-separated names, such as mu,theta, got {text!r}")
    return stripped


def _coordinate(text: str) -> tuple[str, list[str]]:
    dimension, equals, labels = text.partition("=")
    if not (dimension.strip() and equals and labels.strip()):
        raise argparse.ArgumentTypeError(f"must be a dimension and its labels, such as school=Choate,Deerfield, got {text!r}")
    return dimension.strip(), [label.strip() for label in labels.split(",")]


def _kind(text: str) -> tuple[str, str | list[str]]:
    """A column and its kind, or its values, lowest first: zip=nominal, size=S,M,L."""
    column, equals, given = text.rpartition("=")
    if not (column.strip() and equals and given.strip()):
        raise argparse.ArgumentTypeError(f"must be a column and its kind, such as zip=nominal or size=S,M,L, got {text!r}")
    if given.strip() in KINDS:
        return column.strip(), given.strip()
    levels = _names(given)
    if len(levels) < 2:
        kinds = ", ".join(KINDS)
        raise argparse.ArgumentTypeError(f"must be one of {kinds}, or several values, lowest first (size=S,M,L), got {text!r}")
    return column.strip(), levels


def _checked(convert: Callable[[str], Value], allowed: Callable[[Value], bool], rule: str) -> Callable[[str], Value]:
    """A converter of option text for argparse; text that cannot be converted is not allowed either."""

    def value_of(text: str) -> Value:
        with suppress(ValueError):
            value = convert(text)
            if allowed(value):
                return value
        raise argparse.ArgumentTypeError(f"must be {rule}, got {text!r}")

    return value_of


def _whole(text: str) -> int:
    """An integer, also from text such as "1e3"."""
    number = float(text)
    if not number.is_integer():
        raise ValueError
    return int(number)


def _chains(text: str) -> int | str:
    """A number of chains, or the name of a column."""
    try:
        float(text)
    except ValueError:
        return text
    return _chain_count(text)


_chain_files = _checked(_whole, lambda count: count >= 1, "a whole number of chains, such as 4")
_chain_count = _checked(_whole, lambda count: count >= 1, "an integer number of chains >= 1, or the name of a column")
_sizes = _checked(lambda text: [*map(_whole, text.split(","))], bool, "comma-separated integers, such as 100,1e4")
_lags = _checked(
    lambda text: [*map(_whole, text.split(","))] if "," in text else _whole(text),
    lambda lags: min(lags if isinstance(lags, list) else [lags]) >= 1,
    "a whole number of steps, such as 5 for 1 to 5, or several, such as 1,5,20",
)
_probability = _checked(float, lambda share: 0 < share < 1, "a number strictly between 0 and 1, such as 0.95")
_order = _checked(int, lambda order: 1 <= order <= 8, "a whole number from 1 to 8, such as 4")
_tail = _checked(float, lambda share: 0 < share < 0.5, "a number strictly between 0 and 0.5, such as 0.1")
_size = _checked(float, lambda size: 0 <= size < math.inf, "a number that is not negative, such as 0.05")
_share = _checked(float, lambda share: 0 <= share <= 1, "a number from 0 to 1, such as 0.8")
_rhat = _checked(float, lambda rhat: rhat >= 1, "a number of 1 or more, such as 1.01")
_rows = _checked(lambda text: int(text) if text.isdecimal() else -1, lambda rows: rows >= 0, "a number of rows, or 0 for all")
_seed = _checked(int, lambda seed: seed >= 0, "a whole number that is not negative, such as 1")
_jobs = _checked(int, lambda jobs: jobs != 0, "a number of workers, or -1 for one per core")
_json_file = _checked(str, lambda path: path == STANDARD_OUTPUT or path.endswith(".json"), "a file that ends in .json")
_picture_file = _checked(str, lambda path: path.lower().endswith(PICTURES), "a file that ends in .png, .pdf or .svg")
_resamples = _checked(_whole, lambda count: count >= 50, "a whole number of 50 or more")
_summaries = _checked(lambda text: [part.strip() for part in text.split(",")], lambda names: set(names) <= set(SUMMARIES),
                      f"some of {', '.join(SUMMARIES)}, separated by commas")  # fmt: skip
_probabilities = _checked(
    lambda text: [float(part) for part in text.split(",")],
    lambda shares: all(0 < share < 1 for share in shares),
    "numbers strictly between 0 and 1, separated by commas, such as 0.01,0.99",
)

_DEBUG: Options = {"--debug": {"action": "store_true", "help": "show the traceback of an error"}}
FILES = (
    "a .csv, .tsv, .parquet, .npy, .npz, .nc or Stan CSV file, or a folder of them; several files are chains or, with --iid, "
    "parts of one table"
)
SAMPLE = "a file or folder as for check, a quoted pattern such as 'run_*.csv', or a .sketch file"
TARGET: Options = {
    "--theta": {"type": float, "metavar": "X", "help": "parameter of the target copula"},
    "--tau": {"type": float, "metavar": "X", "help": "Kendall's tau of the target copula, instead of --theta"},
    "--df": {"type": float, "metavar": "X", "help": "degrees of freedom of a studentt target"},
}
INPUT: Options = {
    "--columns": {"type": _names, "metavar": "A,B,...", "help": "variables to use, by name: mu,theta or 'theta[Choate]'"},
    "--exclude": {"type": _names, "metavar": "A,B,...", "help": "variables to exclude, by name"},
    "--filter": {"choices": ("like", "regex"),
                 "help": "match --columns and --exclude as substrings, or as regular expressions"},
    "--group": {"default": "posterior", "help": "group of a netCDF file (default: posterior)"},
    "--coords": {"type": _coordinate, "action": "append", "metavar": "DIM=LABEL,...",
                 "help": "labels to use along a netCDF dimension"},
    "--delimiter": {"metavar": "C", "help": "character between the values of a text file (default: a comma, in .tsv a tab)"},
    "--missing": {"choices": ("pairs", "listwise", "raise"), "help": "empty cells: for each pair use the rows that have both "
                  "values, use only complete rows, or exit with an error (default: pairs for a table, raise for chains)"},
    "--drop-missing": {"action": "store_const", "dest": "missing", "const": "pairs", "help": "same as --missing pairs"},
    "--chains": {"type": _chains, "metavar": "N", "help": "number of chains, one after another in the rows; or the name of the "
                 "column that identifies the chain"},
}  # fmt: skip
PARTS: Options = {
    "--parts": {"choices": ("chains", "rows"), "help": "what several files are: a chain each, or parts of one table (default: "
                "chains; of a folder of plain tables, and with --iid, parts of one table)"},
}  # fmt: skip
KIND: Options = {
    "--kinds": {"type": _kind, "nargs": "+", "action": "extend", "metavar": "A=KIND", "help": "kinds of columns: numeric, "
                "ordinal, nominal (no order), boolean, date or id (left out), such as zip=nominal; or the values of a column, "
                "lowest first, such as size=S,M,L (default: as the columns look)"},
}  # fmt: skip
TWO_INPUTS = INPUT | {
    "--reference-chains": {"type": _chains, "metavar": "N", "help": "the same for the reference (default: as --chains)"},
}
SKETCH_INPUTS: Options = {
    name: INPUT[name] for name in ("--columns", "--exclude", "--filter", "--group", "--missing", "--chains")
}
_SELECTED = {name: choices for name, choices in TWO_INPUTS.items() if name not in ("--missing", "--drop-missing")}
REPAIR_INPUTS: Options = _SELECTED | {
    "--missing": {"choices": ("listwise", "raise"), "default": "raise", "help": "empty cells: leave those rows as they are and "
                  "repair the others, or exit with an error (default: raise)"},
}  # fmt: skip
REPAIR: Options = {
    "--only": {"type": _names, "metavar": "A,B,...", "help": "variables that may move; all others stay in place"},
    "--anchor": {"metavar": "A", "help": "the variable that stays in place if all may move (default: the first)"},
    "--seed": {"type": _seed, "default": 1, "metavar": "N", "help": "seed that breaks ties (default: 1)"},
}
REPAIR_OUTPUT: Options = {
    "--out": {"required": True, "metavar": "PATH", "help": "the file to write, in the format of the candidate; for several "
              "files, a folder; a record of the repair goes to a .repair.json file next to it"},
    "--json": {"nargs": "?", "const": STANDARD_OUTPUT, "choices": (STANDARD_OUTPUT,), "metavar": STANDARD_OUTPUT,
               "help": "print what was done as JSON instead of sentences"},
    "--force": {"action": "store_true", "help": "overwrite existing files, except the candidate and the reference"},
    **_DEBUG,
}  # fmt: skip
_memory = _checked(str, lambda text: bool(text.strip()), "an amount of memory, such as 2GB")
_device = _checked(str, lambda name: bool(re.fullmatch(r"cpu|auto|cuda(:\d+)?", name)),
                   "cpu, cuda, one of several such as cuda:1, or auto")  # fmt: skip
_resolution = _checked(_whole, lambda bins: 16 <= bins <= 240, "a number of bins from 16 to 240")
MEMORY: Options = {
    "--memory": {"type": _memory, "default": "2GB", "metavar": "SIZE", "help": "memory that reading and counting may take "
                 "(default: 2GB)"},
}  # fmt: skip
ENGINE: Options = {
    "--engine": {"choices": ("auto", "exact", "counted"), "default": "auto", "help": "rank all rows in memory, or count them "
                 "in bins while they are read, once (default: count what does not fit into the memory)"},
    **MEMORY,
    "--device": {"type": _device, "default": "cpu", "metavar": "NAME", "help": "where pairs are compared: cpu, cuda or cuda:1 "
                 "(a graphics processor, through PyTorch), or auto, a graphics processor if there is one (default: cpu)"},
}  # fmt: skip
SKETCH: Options = {
    **MEMORY,
    "--triples": {"action": "store_true", "help": "also count triples of variables, for compare --interactions; needs --iid"},
    "--resolution": {"type": _resolution, "metavar": "BINS", "help": "bins of each variable, 16 to 240 (default: what fits)"},
    "--iid": {"action": "store_true", "help": "treat rows as independent; not for Markov chains or time series"},
    "--jobs": {"type": _jobs, "default": -1, "metavar": "J", "help": "number of threads (default: one per core)"},
    "--checkpoint": {"metavar": "FOLDER", "help": "save counts in FOLDER; repeat the command to resume an interrupted scan"},
}  # fmt: skip
SKETCH_OUTPUT: Options = {
    "--out": {"required": True, "metavar": "FILE.sketch", "help": "the file to write"},
    "--force": {"action": "store_true", "help": "overwrite an existing file"},
    **_DEBUG,
}
TESTS: Options = {
    "--family": {"metavar": "NAME", "help": "clayton, gumbel, frank, joe, a1, a2, gaussian, studentt, clayton180, ... "
                 "(default: the best for each pair)"},
    "--method": {"choices": ("mle", "moment"), "default": "mle", "help": "moment compares Kendall's tau only (default: mle)"},
    "--confidence": {"type": _probability, "default": 0.95, "metavar": "P",
                     "help": "confidence level of the tests (default: 0.95)"},
    "--adjust": {"choices": ("bh", "by", "holm", "bonferroni", "none"), "default": "bh",
                 "help": "adjustment of p-values for the number of tests (default: bh)"},
    "--tail": {"type": _tail, "default": 0.1, "metavar": "P",
               "help": "share of each variable that counts as a tail (default: 0.1)"},
    "--order": {"type": _order, "default": 4, "metavar": "K",
                "help": "order of form: polynomials of each variable's ranks (default: 4)"},
    "--jobs": {"type": _jobs, "default": -1, "metavar": "J", "help": "number of threads (default: one per core)"},
    "--checkpoint": {"metavar": "FOLDER",
                     "help": "save finished pairs in FOLDER; repeat the command to resume an interrupted run"},
    "--iid": {"action": "store_true", "help": "treat rows as independent; not for Markov chains or time series"},
}  # fmt: skip
TWO_TESTS = TESTS | {
    "--by": {"type": _names, "metavar": "A,B,...", "help": "also compare within groups of rows, by the values of a column or "
             "the combinations of several; for tables without chains"},
    "--interactions": {"action": "store_true", "help": "also compare how the dependence of two variables changes "
                       "with a third, for all triples of at most 100 variables"},
    "--consequences": {"action": "store_true", "help": "also compute what the dependence of each pair does to sums, "
                       "differences and joint extremes"},
    "--lags": {"type": _lags, "metavar": "L", "help": "also compare each variable with its own past and that of the others, 1 "
               "to L steps before, or at the steps listed (1,5,20); each chain is a path"},
    "--iid-draws": {"action": "store_true", "help": "treat the rows of the candidate alone as independent"},
    "--iid-reference": {"action": "store_true", "help": "treat the rows of the reference alone as independent"},
}  # fmt: skip
WATCH_TESTS: Options = {
    **{name: choices for name, choices in TESTS.items() if name != "--checkpoint"},
    "--iid-reference": TWO_TESTS["--iid-reference"],
}
LIMITS: Options = {
    "--fail-above": {"type": _size, "metavar": "X",
                     "help": "exit with 3 if a level, shape or total gap, or a significant gap in tails or form, exceeds X"},
    "--max-rhat": {"type": _rhat, "metavar": "X", "help": "exit with 4 if R-hat for dependence is above X in either sample "
                   "(default: 1.01 with --fail-above, else none)"},
    "--min-n-eff": {"type": _size, "metavar": "N",
                    "help": "exit with 4 if a pair has fewer than N effective draws in either sample"},
}  # fmt: skip
TWO_LIMITS = LIMITS | {
    "--margins": {"action": "store_true", "help": "exit with 3 if the distribution of a variable differs significantly from "
                  "that in the reference"},
}  # fmt: skip
FORMS: Options = {
    "--json": {"nargs": "?", "const": STANDARD_OUTPUT, "type": _json_file, "metavar": "FILE.json",
               "help": "print every number as JSON instead of a table; with a file, write them there and print the table"},
    "--csv": {"action": "store_true", "help": "print all pairs as CSV instead of a table"},
}  # fmt: skip
OUTPUT: Options = {
    "--html": {"metavar": "FILE", "help": "also write an HTML report with plots, and its numbers to a .json file next to it"},
    "--force": {"action": "store_true", "help": "overwrite existing files of --html and --json"},
    "--top": {"type": _rows, "default": 10, "metavar": "N", "help": "rows of the table, 0 for all (default: 10)"},
    **_DEBUG,
}
WATCH_INPUTS: Options = {
    "--reference": {"metavar": "FILE", "help": f"what to compare with: {SAMPLE}; without it, whether a family fits every pair "
                    "and the chains agree"},
    **{name: INPUT[name] for name in ("--columns", "--exclude", "--filter", "--group", "--coords")},
    "--chains": {"type": _chain_files, "metavar": "N", "help": "number of chains that the run will have, if their files "
                 "appear one after another: it has ended when all have"},
}  # fmt: skip
_seconds = _checked(float, lambda seconds: 0 <= seconds < math.inf, "a number of seconds that is not negative, such as 60")
_core_share = _checked(float, lambda share: 0 < share <= 1, "a number above 0 and at most 1, such as 0.25")
_error = _checked(float, lambda error: 0 < error < 1, "a number strictly between 0 and 1, such as 0.02")
WATCH: Options = {
    "--error": {"type": _error, "default": 0.02, "metavar": "SE", "help": "the standard error of Kendall's tau, or of its gap, "
                "that is wanted in every pair; the display estimates the time until then (default: 0.02)"},
    "--every": {"type": _seconds, "default": 3.0, "metavar": "S", "help": "minimum seconds between two looks (default: 3)"},
    "--share": {"type": _core_share, "default": 0.25, "metavar": "P", "help": "share of one core that watching may use "
                "(default: 0.25)"},
    "--wait": {"type": _seconds, "default": 600.0, "metavar": "S", "help": "seconds to wait for the files to appear "
               "(default: 600)"},
    "--patience": {"type": _seconds, "default": 600.0, "metavar": "S", "help": "seconds without new draws after which the run "
                   "counts as ended (default: 600)"},
}  # fmt: skip
CONSEQUENCE_INPUTS = TWO_INPUTS | {
    "--missing": {"choices": ("pairs", "listwise", "raise"), "help": "empty cells: use the rows that have all values that the "
                  "expression needs, use only complete rows, or exit with an error (default: pairs for a table, raise for "
                  "chains)"},
}  # fmt: skip
CONSEQUENCE: Options = {
    "--summary": {"type": _summaries, "action": "extend", "metavar": "NAME,...", "help": "what to compute from the expression: "
                  "probability, mean, sd, quantile, shortfall (default: the probability of a condition, the quantiles with "
                  "--q, else the mean)"},
    "--q": {"type": _probabilities, "metavar": "P,...", "help": "the probabilities of quantiles and shortfalls, such as 0.01 "
            "or 0.025,0.975"},
    "--split": {"choices": ("dependence", "margins", "average"), "default": "dependence", "help": "which of the two is "
                "exchanged first, or the mean of both orders (default: dependence)"},
    "--confidence": {"type": _probability, "default": 0.95, "metavar": "P",
                     "help": "confidence level of intervals and tests (default: 0.95)"},
    "--resamples": {"type": _resamples, "default": 400, "metavar": "N", "help": "number of resamples (default: 400)"},
    "--seed": {"type": _seed, "default": 1, "metavar": "N", "help": "seed of the resamples (default: 1)"},
    "--jobs": TESTS["--jobs"],
    **{name: TWO_TESTS[name] for name in ("--iid", "--iid-draws", "--iid-reference")},
}  # fmt: skip
CONSEQUENCE_LIMITS: Options = {
    "--fail-above": {"type": _size, "metavar": "X", "help": "exit with 3 if the part due to dependence, of any summary, is "
                     "significant and above X in absolute value"},
}  # fmt: skip
CONSEQUENCE_FORMS: Options = FORMS | {
    "--csv": {"action": "store_true", "help": "print every number as CSV instead of a table"},
}
CONSEQUENCE_OUTPUT: Options = {
    "--plot": {"type": _picture_file, "metavar": "FILE.png", "help": "also draw the expression's distribution, or the "
               "probabilities of a condition, to a .png, .pdf or .svg file"},
    "--force": {"action": "store_true", "help": "overwrite existing files of --plot and --json"},
    **_DEBUG,
}  # fmt: skip
FIDELITY_INPUTS: Options = {
    **{name: INPUT[name] for name in ("--columns", "--exclude", "--filter", "--delimiter", "--missing")}, **KIND,
}  # fmt: skip
FIDELITY_TESTS: Options = {
    "--by": {"type": _names, "metavar": "A,B,...", "help": "also score within groups of rows, by the values of a column or the "
             "combinations of several"},
    "--jobs": TESTS["--jobs"],
}  # fmt: skip
FIDELITY_LIMITS: Options = {
    "--fail-below": {
        "type": _share,
        "metavar": "X",
        "help": "exit with 3 if the score of the table, or with --by that of any group, is below X, such as 0.8",
    },
}
FIDELITY_FORMS: Options = {"--json": FORMS["--json"]}
_EXPERIMENTS = ("all", "experiment1", "experiment2", "experiment3", "overhead")
REPRODUCE: Options = {
    "experiment": {"nargs": "?", "default": "all", "choices": _EXPERIMENTS, "metavar": "experiment",
                   "help": "experiment1, experiment2, experiment3, overhead or all (default: all)"},
    "--replications": {"type": int, "default": 100, "metavar": "R", "help": "runs per size or step size (default: 100)"},
    "--sizes": {"type": _sizes, "metavar": "N,N,...", "help": "sample sizes (default: those of the paper)"},
    "--seed": {"type": int, "default": 1, "help": "seed of the random numbers (default: 1)"},
    "--jobs": {"type": _jobs, "default": -1, "metavar": "J", "help": "worker processes (default: one per core)"},
    "--out": {"default": "reproduction", "metavar": "FOLDER", "help": "folder of the results (default: reproduction)"},
    **_DEBUG,
}  # fmt: skip
