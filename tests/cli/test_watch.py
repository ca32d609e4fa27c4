"""The command `watch`: a run that goes on beside it, its end, what is said meanwhile, and what compare says afterwards."""

import errno
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli import commands, watch_command
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare.watching import Watching
from tests.growing import chains_of
from tests.refusals import refused

HEAD = "# stan_version_major = 2\n# model = eight\n#     num_samples = {draws}\n#     save_warmup = 0\n# id = {chain}\n"
END = "# \n#  Elapsed Time: 0.1 seconds (Warm-up)\n#                0.2 seconds (Sampling)\n# \n"
FAST = ["--every", "0", "--share", "1", "--jobs", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # further files of a pattern or folder are not waited for here
    monkeypatch.setattr("copula_discrepancy.data.following.csv_run.SETTLED", 0.0)
    return tmp_path


def state(**fields):
    """A state before the first draw."""
    empty = {"labels": (), "lengths": (), "notes": (), "waiting_for": "", "ending": False, "final": False, "result": None}
    return SimpleNamespace(**empty | fields)


def row(values):
    return "-7.25,0.9,0," + ",".join(f"{value:.8g}" for value in values) + "\n"


def write_run(values, *, wait_for=None, block=40, planned=None, names=None):
    """Write Stan's CSV files, one per chain, a block of draws after another; halfway wait until a file exists.

    More draws may be `planned` than there are: then the run was stopped.
    """
    planned = planned or values.shape[1]
    names = names or [f"run_{k + 1}.csv" for k in range(len(values))]
    files = [open(name, "w") for name in names]  # noqa: SIM115
    for k, file in enumerate(files):
        file.write(HEAD.format(draws=planned, chain=k + 1))
        file.write("lp__,accept_stat__,divergent__," + ",".join(f"theta.{j + 1}" for j in range(values.shape[2])) + "\n")
    for start in range(0, values.shape[1], block):
        for file, chain in zip(files, values, strict=True):
            text = "".join(map(row, chain[start : start + block]))
            file.write(text[:-7])  # the last line is unfinished
            file.flush()
            file.write(text[-7:])
        while wait_for is not None and start >= values.shape[1] // 2 and not wait_for.exists():  # for the first look
            time.sleep(0.01)
    for file in files:
        file.write(END if planned == values.shape[1] else "")
        file.close()


def run(*arguments, capsys):
    try:
        code = main([*map(str, arguments)])
    except SystemExit as end:  # argparse
        code = end.code
    told = capsys.readouterr()
    return code, told.out, told.err


def numbers(file):
    """The JSON of a result without what only one of the two commands says."""
    found = json.loads((file).read_text())
    return {name: value for name, value in found.items() if name not in ("notes", "words")}


@pytest.mark.slow
def test_a_growing_run_is_watched_and_its_last_answer_is_that_of_compare(folder, capsys):
    draws, reference = chains_of(4, 400, 0.6, seed=1), chains_of(4, 400, 0.2, seed=2)
    write_run(reference, names=[f"reference_{k}.csv" for k in range(4)])
    sampler = threading.Thread(target=write_run, args=(draws,), kwargs={"wait_for": folder / "live.html"}, daemon=True)
    sampler.start()
    code, out, err = run(
        "watch", "run_*.csv", "--reference", "reference_*.csv", "--json", "watched.json", "--html", "live.html",
        "--fail-above", "0.1", *FAST, capsys=capsys,
    )  # fmt: skip
    assert code == 3, err
    sampler.join()
    assert "400 of 400 draws in 4 chains" in out
    # no terminal: what changes is said line by line, looks among it
    assert any(line.startswith("copula-discrepancy: Watching: ") for line in err.splitlines())
    assert "unfinished" not in out
    assert 'http-equiv="refresh"' not in (folder / "live.html").read_text()
    code, _, _ = run(
        "compare",
        "run_*.csv",
        "reference_*.csv",
        "--json",
        "compared.json",
        "--fail-above",
        "0.1",
        "--jobs",
        "1",
        capsys=capsys,
    )
    assert code == 3
    assert numbers(folder / "watched.json") == numbers(folder / "compared.json")


def test_a_folder_of_plain_files_is_that_of_compare_with_chains(folder, capsys):
    draws = chains_of(2, 200, 0.6, seed=1)
    (folder / "run").mkdir()
    for k, chain in enumerate(draws):
        np.savetxt(folder / f"run/chain_{k}.csv", chain, delimiter=",", header="a,b,c", comments="")
    np.savetxt(folder / "reference.csv", chains_of(1, 500, 0.6, seed=2)[0], delimiter=",", header="a,b,c", comments="")
    run("watch", "run", "--reference", "reference.csv", "--patience", "0", "--json", "watched.json", *FAST, capsys=capsys)
    run("compare", "run", "reference.csv", "--parts", "chains", "--json", "compared.json", "--jobs", "1", capsys=capsys)
    watched, compared = numbers(folder / "watched.json"), numbers(folder / "compared.json")
    assert watched["caveats"].pop(0)["code"] == "end-unknown"  # which only a watch asks
    assert {**watched, "warnings": 0} == {**compared, "warnings": 0}


def test_without_a_reference_the_chains_are_judged(folder, capsys):
    draws = chains_of(4, 300, 0.6, seed=1)
    draws[0, :, 0] *= -1.0
    write_run(draws)
    code, out, _ = run("watch", ".", "--json", "watched.json", "--max-rhat", "1.05", *FAST, capsys=capsys)
    assert code == 4
    assert "disagree" in out
    run("check", "run_1.csv", "run_2.csv", "run_3.csv", "run_4.csv", "--json", "checked.json", "--jobs", "1", capsys=capsys)
    assert numbers(folder / "watched.json") == numbers(folder / "checked.json")


def test_ctrl_c_ends_with_the_answer_so_far(folder, capsys, monkeypatch):
    write_run(chains_of(4, 300, 0.6, seed=1), planned=1000)

    updates = Watching.updates

    def interrupted(self):
        yield next(updates(self))
        raise KeyboardInterrupt

    monkeypatch.setattr(Watching, "updates", interrupted)
    code, out, _ = run("watch", "run_*.csv", "--json", "watched.json", *FAST, capsys=capsys)
    assert code == 0
    caveats = json.loads((folder / "watched.json").read_text())["caveats"]
    assert caveats[0]["code"] == "unfinished-run"
    assert "with reservations" in out


def test_a_run_that_never_comes_is_waited_for_and_told(folder, capsys):
    code, _, err = run("watch", "nothing_*.csv", "--wait", "0", *FAST, capsys=capsys)
    assert code == 1
    assert "nothing_*.csv" in err
    assert "Traceback" not in err


def test_a_killed_run_ends_after_some_patience(folder, capsys):
    write_run(chains_of(2, 150, 0.6, seed=1), planned=1000)
    code, out, _ = run("watch", "run_*.csv", "--patience", "0", "--json", "watched.json", *FAST, capsys=capsys)
    assert code == 0
    assert "unfinished-run" in [caveat["code"] for caveat in json.loads((folder / "watched.json").read_text())["caveats"]]
    assert "150" in out


@pytest.mark.parametrize(
    "wrong",
    [
        ["watch", "run.csv", "--share", "0"],
        ["watch", "run.csv", "--error", "2"],
        ["watch", "run.csv", "--every", "-1"],
        ["watch", "run.csv", "--margins"],
        ["watch", "run.csv", "--method", "moment"],
        ["watch", "run.csv", "--filter", "like"],
    ],
)
def test_wrong_usage_is_refused_before_anything_is_read(folder, capsys, wrong):
    code, out, err = run(*wrong, capsys=capsys)
    assert (code, out) == (2, "")
    assert wrong[2] in err


def test_two_runs_in_one_folder_are_refused(folder, capsys):
    write_run(chains_of(2, 100, 0.6, seed=1), names=["a_1.csv", "a_2.csv"])
    write_run(chains_of(2, 100, 0.6, seed=1, variables=4), names=["b_1.csv", "b_2.csv"])
    code, out, err = run("watch", "*.csv", *FAST, capsys=capsys)
    assert (code, out) == (1, "")
    assert "b_1.csv" in err or "b_2.csv" in err
    assert len(err.splitlines()) <= 3


def test_the_page_is_closed_where_the_watch_ends_with_an_error(folder, capsys):
    draws = chains_of(4, 300, 0.6, seed=1)

    def sampler():
        write_run(draws, planned=1000)
        while not (folder / "live.html").exists():
            time.sleep(0.01)
        with open("run_2.csv", "a") as file:
            file.write("-7.25,0.9,0,nan,nan,nan\n")

    threading.Thread(target=sampler, daemon=True).start()
    code, _, err = run("watch", "run_*.csv", "--html", "live.html", *FAST, capsys=capsys)
    assert code == 1
    text = (folder / "live.html").read_text()
    assert 'http-equiv="refresh"' not in text
    assert "the watch ended: " in text
    assert err.splitlines()[-1].removeprefix("copula-discrepancy: ")[:40] in text


def test_a_page_that_cannot_be_written_any_more_does_not_end_the_watch(folder, capsys, monkeypatch):
    """As on a disk that is full: that is said once, and the run is watched to its end."""
    draws, told = chains_of(4, 400, 0.6, seed=1), []
    monkeypatch.setattr(watch_command.printing, "say", told.append)
    (folder / "pages").mkdir()

    def sampler():
        write_run(draws[:, :200], planned=400)
        for gone, awaited in (
            (False, lambda: (folder / "pages/live.json").exists()),
            (True, lambda: "not up to date" in "".join(told)),
        ):
            until = time.monotonic() + 60.0
            while not awaited() and time.monotonic() < until:
                time.sleep(0.01)
            if not gone:
                shutil.rmtree(folder / "pages")
            for k, chain in enumerate(draws):
                with open(f"run_{k + 1}.csv", "a") as file:
                    file.write("".join(map(row, chain[300:] if gone else chain[200:300])) + END * gone)

    threading.Thread(target=sampler, daemon=True).start()
    code, out, err = run("watch", "run_*.csv", "--html", "pages/live.html", "--json", "last.json", *FAST, capsys=capsys)
    assert len([line for line in told if "the page is not up to date" in line]) == 1
    assert "400 of 400 draws in 4 chains" in " ".join(out.split())
    assert "unfinished" not in (folder / "last.json").read_text()  # numbers are not lost with the page
    assert code == 1
    assert "pages/live.html cannot be written" in err


@pytest.mark.slow
@pytest.mark.parametrize("where", [(Watching, "final"), (commands, "_write_files")])
def test_the_page_is_closed_where_the_last_answer_is_interrupted(folder, capsys, monkeypatch, where):
    """While it is computed, or while it is written."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(*where, interrupted)
    draws = chains_of(4, 300, 0.6, seed=1)
    threading.Thread(target=write_run, args=(draws,), kwargs={"wait_for": folder / "live.html"}, daemon=True).start()
    code, out, _ = run("watch", "run_*.csv", "--html", "live.html", *FAST, capsys=capsys)
    assert code == 130
    assert (out == "") == (where[0] is Watching)
    text = (folder / "live.html").read_text()
    assert 'http-equiv="refresh"' not in text
    assert "the watch ended: it was interrupted" in text


ON_A_TERMINAL = """
import fcntl, sys, termios
from copula_discrepancy.cli.parser import main
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # the kernel sends SIGHUP if this terminal is closed
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def on_a_terminal(*arguments, ignored, **streams):
    """A command on a terminal of its own, and a function that closes it; `ignored` if nohup or its like began it."""
    master, slave = os.openpty()
    streams = {"stdin": slave, "stdout": slave, "stderr": slave} | streams
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)  # as a child inherits it
    try:
        command = subprocess.Popen([sys.executable, "-c", ON_A_TERMINAL, *arguments], start_new_session=True, **streams)
    finally:
        signal.signal(signal.SIGHUP, before)
    os.close(slave)
    reader = threading.Thread(target=read_all, args=(master, left := threading.Event()), daemon=True)
    reader.start()

    def close():
        left.set()
        reader.join()
        os.close(master)

    try:
        yield command, close
    finally:
        command.kill()
        command.wait()
        if not left.is_set():
            close()


def read_all(terminal, left):
    """Read what is written on a terminal, which would be full otherwise."""
    while not left.is_set():
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 2**16)


def wait_for(path):
    until = time.monotonic() + 120.0
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="Windows has no such terminals")
@pytest.mark.parametrize("redirected", [False, True])
def test_a_terminal_that_is_closed_ends_the_watch_with_its_last_answer(folder, redirected):
    """Nothing can be printed there any more, but files are written, and the page says that the watch ended."""
    write_run(chains_of(4, 300, 0.6, seed=1), planned=1000)
    given = ["watch", "run_*.csv", "--html", "live.html", "--json", "last.json", "--jobs", "1", "--fail-above", "0.9"]
    output = {"stdout": subprocess.DEVNULL} if redirected else {}
    with on_a_terminal(*given, ignored=False, **output) as (watch, close):
        wait_for(folder / "live.html")
        close()
        for _ in range(3):  # shells send the signal again, as the kernel does when they end
            with suppress(subprocess.TimeoutExpired):
                watch.wait(0.1)
            watch.send_signal(signal.SIGHUP)
        assert watch.wait(180) == 4  # a run that was cut short passes no limit
    assert "unfinished-run" in (folder / "last.json").read_text()
    text = (folder / "live.html").read_text()
    assert 'http-equiv="refresh"' not in text
    assert "the watch was ended before the run" in text


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="Windows has no such terminals")
def test_a_watch_that_nohup_began_goes_on_when_its_terminal_is_closed(folder):
    draws = chains_of(4, 300, 0.6, seed=1)
    stopped = folder / "stopped"
    sampler = threading.Thread(target=write_run, args=(draws,), kwargs={"wait_for": stopped}, daemon=True)
    sampler.start()
    given = ["watch", *(f"run_{k}.csv" for k in (1, 2, 3, 4)), "--html", "live.html", "--json", "last.json", *FAST]
    with on_a_terminal(*given, ignored=True) as (watch, close):
        wait_for(folder / "live.html")
        close()
        time.sleep(2.0)  # for another look, which cannot be shown
        assert watch.poll() is None
        stopped.touch()
        assert watch.wait(180) == 0
    sampler.join()
    assert "unfinished-run" not in (folder / "last.json").read_text()
    assert "the watch ended" not in (folder / "live.html").read_text()


@pytest.mark.parametrize("lost", [BrokenPipeError(), OSError(errno.EIO, "Input/output error")])
def test_a_log_that_nobody_reads_any_more_ends_no_watch(folder, capsys, monkeypatch, lost):
    """As of `watch 2>&1 | tee log` where tee has ended; what is printed is lost, and files and exit code are not."""
    write_run(chains_of(4, 300, 0.6, seed=1))
    discarded = []

    def fail(*_):
        raise lost

    def size(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("os.get_terminal_size", size)
    monkeypatch.setattr("copula_discrepancy.cli.delivery.discard_output", lambda stream=None: discarded.append(stream))
    monkeypatch.setattr("sys.stderr", SimpleNamespace(write=fail, flush=fail, isatty=lambda: False, fileno=lambda: 2))
    code = main(["watch", "run_*.csv", "--json", "last.json", "--fail-above", "0.9", *FAST])
    assert code == 0
    assert (folder / "last.json").exists()
    assert sys.stderr in discarded


def test_a_log_that_cannot_be_written_is_an_error(folder, capsys, monkeypatch):
    """As on a disk that is full."""
    write_run(chains_of(4, 300, 0.6, seed=1))
    said = []

    def fail_once(text):
        said.append(text)
        if len(said) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    streams = {"flush": lambda: None, "isatty": lambda: False, "fileno": lambda: 2}
    monkeypatch.setattr("sys.stderr", SimpleNamespace(write=fail_once, **streams))
    assert main(["watch", "run_*.csv", *FAST]) == 1
    assert "No space left on device" in "".join(said[1:])


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
def test_handlers_that_were_not_set_in_python_stay(folder, capsys, monkeypatch):
    """They cannot be set again."""
    handled = []
    monkeypatch.setattr(signal, "getsignal", lambda number: None if number == signal.SIGHUP else signal.SIG_DFL)
    monkeypatch.setattr(signal, "signal", lambda number, handler: handled.append((number, handler)))
    run("watch", "nothing_*.csv", "--wait", "0", *FAST, capsys=capsys)
    assert [number for number, _ in handled] == [signal.SIGTERM] * 2
    assert handled[-1][1] == signal.SIG_DFL


def test_a_run_that_was_killed_passes_no_limit(folder, capsys):
    write_run(chains_of(4, 300, 0.6, seed=1), planned=1000)
    command = ["watch", "run_*.csv", "--patience", "0.5", *FAST]
    code, out, _ = run(*command, capsys=capsys)
    assert code == 0
    assert "300 of 1,000 draws" in " ".join(out.split())
    code, _, err = run(*command, "--fail-above", "0.9", capsys=capsys)
    assert code == 4
    assert "undecided" in err


def test_a_reference_of_independent_rows(folder, capsys):
    """As of exact draws: the answer is that of compare with the same option."""
    write_run(chains_of(4, 200, 0.6, seed=1))
    np.savetxt(
        folder / "exact.csv",
        chains_of(1, 500, 0.6, seed=2, lag=0.0)[0],
        delimiter=",",
        header="theta[1],theta[2],theta[3]",
        comments="",
    )
    for command in (["watch", "run_*.csv", "--reference", "exact.csv", *FAST], ["compare", "run_*.csv", "exact.csv"]):
        code, _, _ = run(*command, "--iid-reference", "--json", f"{command[0]}.json", capsys=capsys)
        assert code == 0
    assert numbers(folder / "watch.json") == numbers(folder / "compare.json")
    assert numbers(folder / "watch.json")["iid"] == "reference"


def test_a_run_of_which_chains_never_came_passes_no_limit(folder, capsys):
    write_run(chains_of(1, 300, 0.6, seed=1))
    code, out, err = run(
        "watch", "run_*.csv", "--chains", "4", "--patience", "0.5", "--fail-above", "0.9", *FAST, capsys=capsys
    )
    assert code == 4
    assert "1 of 4 chains" in " ".join((out + err).split())


def test_news_about_each_file_are_logged(folder, capsys):
    log = watch_command._Log()
    for label in ("run_1.csv", "run_2.csv"):
        for draws in (80, 90):
            log(state(waiting_for=f"{label} is gone; its {draws} draws are kept"))
    told = capsys.readouterr().err
    assert [told.count(label) for label in ("run_1.csv", "run_2.csv")] == [1, 1]


def test_a_reference_that_is_missing_is_told_at_once(folder, capsys):
    code, _, err = run("watch", "run_*.csv", "--reference", "nowhere.nc", *FAST, capsys=capsys)
    assert code == 1
    assert "nowhere.nc" in err


def test_a_reference_of_one_row_is_named(folder, capsys):
    (folder / "tiny.csv").write_text("a,b\n1,2\n")
    code, _, err = run("watch", "run_*.csv", "--reference", "tiny.csv", *FAST, capsys=capsys)
    assert code == 1
    assert "tiny.csv: draws must contain at least 2 rows" in err


def test_the_function_refuses_what_the_command_does():
    for name, value in {"share": 0.0, "every": -1.0, "wait": float("nan"), "error": 2.0, "patience": "long"}.items():
        with refused() as caught:
            cd.watch("run.csv", **{name: value})
        assert str(caught.value).startswith(name)
