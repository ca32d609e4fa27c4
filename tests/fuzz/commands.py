"""The command line, with valid and invalid files and options."""

import contextlib
import io
import json
from typing import Any

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from tests.fuzz.arrays import Fuzz
from tests.fuzz.files import files, folder_of, originals
from tests.fuzz.kinds import Kind
from tests.fuzz.oracle import need
from tests.fuzz.target import Target


def _command(f: Fuzz) -> list[str]:
    """The arguments of a command: a small study, or a comparison with some options, most of them valid."""
    if f.chance(0.01):
        words = ["reproduce", "experiment1", "--replications", "2", "--sizes", "20", "--jobs", "1", "--out", "new"]
    else:
        repair = ["repair", "FIRST", "whole.csv", "--out", f.one("new.csv", "new.npz", "new.nc", "whole.csv", "FIRST", "new")]
        words = f.one(["check", "FIRST"], ["check", "FIRST"], ["compare", "FIRST", f.one("FIRST", "whole.csv")], repair)
        words = words + f.one(
            [], [], ["--family", "gumbel", "--theta", "2.5"], ["--html", "page.html"] if f.chance(0.02) else []
        )
        for option, makers in _OPTIONS.items():
            if f.chance(0.06):
                words += [option, *([str(makers[0] if f.chance(0.6) else f.one(*makers))] if makers else [])]
    if f.chance(0.2):
        words[f.between(0, len(words) - 1)] = f.one(*_WRONG)
    return words


_WRONG = ("", "-", "--", "--theta", "nan", "FIRST", "nothing.csv", "--version", "-h", "demo2", "--top")
_OPTIONS = {
    "--family": ("gumbel", "clayton180", "auto", "studentt", "gumble", ""),
    "--theta": (2.5, 0.5, "nan", "x", -1, "1e400"),
    "--tau": (0.5, 0.0, 1, "x"),
    "--df": (4, -1, "nan"),
    "--columns": ("mu,theta[0]", "mu", ",", "~mu", "nothing", "*"),
    "--chains": (2, 0, "chain", 1.5, "nan", "inf", "1e400"),
    "--filter": ("like", "regex", "x"),
    "--group": ("posterior", "prior", "", "/"),
    "--coords": ("k=0", "k", "chain=0", "k=9,8", "=", "k="),
    "--delimiter": (",", ";", "", "ab", "\\t", '"', "\n", "é"),
    "--method": ("mle", "moment", "x"),
    "--confidence": (0.9, 1, "nan"),
    "--tail": (0.05, 0.01, 0.5, 0, "nan", "x"),
    "--adjust": ("by", "none", "x"),
    "--fail-above": (0.05, 0, -1, "inf", "x"),
    "--max-rhat": (1.01, 1, 0.5, "inf", "nan", "x"),
    "--min-n-eff": (400, 0, -1, "inf", "x"),
    "--jobs": (1, -1, 0, "x"),
    "--top": (0, 3, -1, "x", "²"),
    "--iid": (),
    "--iid-draws": (),
    "--iid-reference": (),
    "--json": (),
    "--csv": (),
    "--force": (),
}
COMMAND = Kind(_command, _command)


def command(files: dict[str, bytes | None], arguments: list[str]) -> tuple[int, str]:
    """The exit code of the command line and, for a result, its output; 1 and 2 are refusals."""
    out, err = io.StringIO(), io.StringIO()
    first = next(iter(files))
    with (
        folder_of({**files, "whole.csv": originals()[".csv"]}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main([first if word == "FIRST" else word for word in arguments])
        except SystemExit as stop:
            code = stop.code
    _check_command(code, out.getvalue(), err.getvalue(), arguments)
    if code in (1, 2):
        raise cd.InputError(f"exit code {code}")
    return code, out.getvalue()


def _check_command(code: Any, out: str, err: str, arguments: list[str]) -> None:
    need(code in (0, 1, 2, 3, 4), f"exit code {code!r}")
    need("Traceback" not in err + out and "unexpected" not in err, f"an error that is not the library's: {err}")
    if code == 0:
        need(out.strip(), "exit code 0, and not a word")
    if code == 1:
        need(err.startswith("copula-discrepancy: ") and err.count("\n") == 1, f"not one sentence: {err!r}")
    if code == 2:
        need("error: " in err or "usage:" in out, f"no word about the usage: {err!r}")
    if code == 3:
        need("failed" in err, f"no word about the failure: {err!r}")
    if code == 4:
        need("undecided" in err, f"no word about why: {err!r}")
    if "--json" in arguments and code == 0 and not {"-h", "--version"} & set(arguments):
        json.loads(out)


TARGETS = [
    Target(
        "command line",
        command,
        {"files": Kind(*[lambda f: files(f, whole=0.8)] * 2), "arguments": COMMAND},
        lambda a, g: need(a[1] or a[0] in (3, 4), "not a word"),
        2.0,
        ("main",),
    ),
]
