"""What the command line prints, in one snapshot; tests elsewhere look at exit codes, JSON and names.

After a change of wording, write the snapshot again with ``python -m tests.cli.test_messages`` and read the difference.
"""

import contextlib
import errno
import io
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli import commands
from copula_discrepancy.cli.parser import main

SNAPSHOT = Path(__file__).with_name("messages.txt")
# Commands whose whole answer is kept.
ANSWERS = [
    "check clayton.csv --iid --family gumbel --theta 2.5 --fail-above 0.05",
    "check few.csv --iid",
    "check table.csv --iid --top 1",
    "check sheet.csv --iid --missing listwise",
    "check flags.csv --iid",
    "compare few.csv few.csv --iid",
    "compare chains.csv others.csv --chains 4 --fail-above 0.9",
    "compare runs.csv chains.csv --chains path",
    "compare chains.csv runs.csv --columns a,b --chains 4 --consequences",
    "consequence clayton.csv few.csv a+b>1 --iid --fail-above 0.5",
    "consequence runs.csv chains.csv 0.5*a+0.5*b --q 0.05 --summary quantile,sd --chains path",
    "demo --top 1",
    "repair clayton.csv few.csv --out fixed.csv",
    "repair sheet.csv few.csv --out sheets.csv --missing listwise",
]
# Commands of which the last line is kept: gates and files written, data that cannot be used, and wrong usage.
LAST_LINES = [
    "check clayton.csv --iid --family clayton --theta 3 --fail-above 0.5",
    "compare chains.csv others.csv --chains 4 --min-n-eff 5000",
    "check few.csv --iid --json numbers.json",
    "check few.csv --iid --html page.html",
    "check missing.csv",
    "check table.csv --columns a,z",
    "check table.csv --exclude z",
    "check sheet.csv --iid --missing raise",
    "compare table.csv few.csv",
    "compare few.csv few.csv --chains path",
    "check few.csv --json few.json",
    "check few.csv --json nowhere/numbers.json",
    "check few.csv --family gumbel --theta 0.4",
    "check few.csv --family gumble --theta 2",
    "check few.csv --theta 2",
    "check few.csv --family gumbel --theta 2 --tau 0.5",
    "check few.csv --family gumbel --theta 2 --df 4",
    "check few.csv --df 4",
    "check few.csv --method moment",
    "check few.csv --filter regex --exclude (",
    "check few.csv --force",
    "check few.csv --tail 0.6",
    "check few.csv --fail-above lots",
    "check few.csv --max-rhat 0.9",
    "check few.csv --min-n-eff -400",
    "check few.csv --columns ,",
    "check few.csv --coords school",
    "check few.csv --top -3",
    "check few.csv --jobs 0",
    "check few.csv --device gpu",
    "repair few.csv chains.csv --out few.csv --force",
    "repair few.csv chains.csv --out chains.csv --force",
    "repair few.csv chains.csv --out fixed.csv",
    "repair few.csv chains.csv --out fixed.npy",
    "repair few.csv chains.csv --out nowhere/fixed.csv",
    "repair few.csv table.csv --out new.csv",
    "repair few.csv chains.csv --out new.csv --only z",
    "repair few.csv chains.csv",
    "repair few.csv chains.csv --out new.csv --seed -1",
    "compare few.csv clayton.csv --consequences --csv",
    "consequence runs.csv chains.csv a-b>0 --chains path --fail-above 0.01",
    "consequence runs.csv chains.csv a+b --summary mean --chains path --fail-above 0.01",
    "consequence few.csv few.csv a>b --iid",
    "consequence few.csv clayton.csv a>b --iid --plot picture.png",
    "consequence few.csv clayton.csv a>c --iid",
    "consequence few.csv clayton.csv a->b --iid",
    "consequence few.csv clayton.csv a>0 --iid",
    "consequence few.csv clayton.csv log(a-b) --iid",
    "consequence few.csv clayton.csv a>b --summary median",
    "consequence few.csv clayton.csv a>b --summary quantile",
    "consequence few.csv clayton.csv a>b --q 5",
    "consequence few.csv clayton.csv a>b --resamples 10",
    "consequence few.csv clayton.csv a>b --seed -1",
    "consequence few.csv clayton.csv a>b --plot picture.jpg",
    "consequence few.csv clayton.csv a>b --force",
    "reproduce experiment1 --replications 0",
    "reproduce experiment1 --sizes 100,x",
]


def write_files():
    """The files that the commands above read."""
    rng = np.random.default_rng(1)

    def save(name, values, columns=("a", "b")):
        pd.DataFrame(values, columns=list(columns)).to_csv(name, index=False)

    def chains(shift):
        draws = rng.standard_normal((4, 250, 2))
        draws[:2, :, 1] += shift * draws[:2, :, 0]
        return np.concatenate(draws)

    save("clayton.csv", cd.Clayton(3.0).sample(2000, rng=1))
    save("few.csv", cd.Gumbel(2.5).sample(60, rng=1))
    save("table.csv", rng.standard_normal((300, 3)), "abc")
    save("chains.csv", chains(2.0))
    save("others.csv", chains(2.0))
    save("runs.csv", np.column_stack([chains(0.0), np.repeat(np.arange(4), 250)]), ("a", "b", "path"))
    flags = np.zeros((300, 2))
    flags[:2, 0] = flags[2:4, 1] = 1.0
    save("flags.csv", flags)
    rows = [f"{a:.4f};{b:.4f}".replace(".", ",") for a, b in rng.normal(size=(120, 2))]
    Path("sheet.csv").write_text("\n".join(["a;b", *rows, ";1,5"]) + "\n")
    Path("few.json").write_text("{}")


def run(command):
    """Exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(command.split())
        except SystemExit as ended:  # argparse
            code = ended.code
    return code, out.getvalue(), err.getvalue()


def faults(monkeypatch):
    """Commands that are interrupted, or end with an error that is none of the input's."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for error in (KeyError("nothing"), MemoryError("Unable to allocate 1 TiB"), full, KeyboardInterrupt()):
        with monkeypatch.context() as patch:

            def fails(*given, error=error, **choices):
                raise error

            patch.setattr(commands, "rank_pairs", fails)
            patch.setattr("copula_discrepancy.studies.paper.reproduce.reproduce", fails)
            yield type(error).__name__, "check few.csv"
            if isinstance(error, KeyboardInterrupt):
                yield type(error).__name__, "check few.csv --checkpoint kept"
                yield type(error).__name__, "reproduce experiment1 --out kept"


def messages(monkeypatch):
    """The snapshot: a block per answer, then last lines."""
    write_files()
    blocks = []
    for command in ANSWERS:
        code, out, err = run(command)
        printed = "\n".join(line.rstrip() for line in out.splitlines() if line.strip())
        blocks.append(f"$ {command}\n{printed}\n{err}exit code {code}")
    lines = ["# last lines"]
    for command in LAST_LINES:
        code, out, err = run(command)
        lines.append(f"$ {command}\n{(out + err).splitlines()[-1]}\nexit code {code}")
    lines += ["", "# interrupts and defects"]
    for error, command in faults(monkeypatch):
        code, _, err = run(command)
        lines.append(f"$ {command} ({error})\n{err}exit code {code}")
    codes = run("compare --help")[1].partition("exit codes:\n")[2]
    return "\n\n".join(blocks) + "\n\n" + "\n".join(lines) + f"\n\n# exit codes in --help\n{codes}"


@pytest.mark.slow
def test_wording_is_that_of_the_snapshot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert messages(monkeypatch) == SNAPSHOT.read_text("utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as own_patch:
        own_patch.chdir(folder)
        text = messages(own_patch)
    SNAPSHOT.write_text(text, "utf-8")
