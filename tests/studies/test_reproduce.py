"""Runs of the experiments: the same numbers whoever computes them, stopped and gone on with, folders, the command line."""

import inspect
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import joblib
import pytest

import copula_discrepancy as cd
from copula_discrepancy._core import progress
from copula_discrepancy._core.files import PARTIAL, text_file
from copula_discrepancy.studies.paper import figures, runner, store, studies
from copula_discrepancy.studies.paper.reproduce import EXPERIMENTS, reproduce
from tests.numerals import numerals, one_line
from tests.refusals import refused

pytestmark = [
    pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning"),
]


@pytest.fixture
def no_pictures(monkeypatch):
    """Name the files of the figures without drawing them: nine tenths of a tiny run's time."""

    def named(name, means, context, seed, folder):
        return [folder / f"{file}{suffix}" for file in figures.FIGURES[name] for suffix in (".png", ".svg")]

    monkeypatch.setattr(figures, "draw", named)


# The tests below that call `reproduce` ask about numbers and files; pictures are drawn by `with_processes`, and
# in tests/studies/test_paper.py.
without_pictures = pytest.mark.usefixtures("no_pictures")


@pytest.mark.slow
@without_pictures
@pytest.mark.filterwarnings("ignore:Creating scratch directories is taking")  # Dask's, on a busy machine
def test_same_numbers_whatever_the_workers(tmp_path):
    """One, threads and Dask's; for worker processes see `test_worker_processes_count_the_same`."""
    runs = {}
    for name, config in {"one": ("sequential", 1), "threads": ("threading", 2)}.items():
        with joblib.parallel_config(config[0], n_jobs=config[1]):
            result = reproduce("experiment3", replications=12, sizes=[100], seed=2, out=tmp_path / name)
        runs[name] = result.experiments["experiment3"].rows
    assert runs["one"] == runs["threads"]
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        on_dask = reproduce("experiment3", replications=12, sizes=[100], seed=2, out=tmp_path / "dask")
    assert on_dask.experiments["experiment3"].rows == runs["one"]
    other = reproduce("experiment3", replications=12, sizes=[100], seed=3, n_jobs=1, out=tmp_path / "other")
    assert other.experiments["experiment3"].rows != runs["one"]


@pytest.mark.slow
@without_pictures
def test_goes_on_where_it_stopped(tmp_path, monkeypatch):
    whole = reproduce("experiment1", replications=25, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "whole")
    measured = []

    def counting(value, seed, context):
        measured.append(seed.replication)
        if len(measured) == 14:
            raise KeyboardInterrupt
        return studies.experiment1(value, seed, context)

    def interrupted(name, sizes, seed):
        return replace(study(name, sizes, seed), measure=counting)

    study = studies.study
    module = sys.modules["copula_discrepancy.studies.paper.reproduce"]
    monkeypatch.setattr(module, "study", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce("experiment1", replications=25, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "half")
    assert len(list((tmp_path / "half" / "parts").rglob("*.json"))) == 1
    again = reproduce("experiment1", replications=25, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "half")
    assert measured[14:] == [*range(10, 25)]  # the finished ten were kept
    assert again.experiments["experiment1"].rows == whole.experiments["experiment1"].rows
    more = reproduce("experiment1", replications=30, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "half")
    assert more.experiments["experiment1"].rows[:25] == whole.experiments["experiment1"].rows


@pytest.mark.slow
@without_pictures
def test_a_killed_run_leaves_no_half_part(tmp_path):
    """Killed in the middle and started again: the same numbers as an undisturbed run."""
    command = [
        sys.executable, "-m", "copula_discrepancy", "reproduce", "experiment3", "--replications", "6000", "--sizes", "100",
        "--jobs", "1", "--out", str(tmp_path / "killed"),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not list((tmp_path / "killed").rglob("0*.json")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    parts = sorted((tmp_path / "killed" / "parts").rglob("0*.json"))
    assert 1 <= len(parts) < 600
    for part in parts:
        assert len(json.loads(part.read_text())["rows"]) == 10
    written = [part.stat().st_mtime_ns for part in parts]
    count = 10 * len(parts) + 5  # what was finished, and some more
    again = reproduce("experiment3", replications=count, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "killed")
    whole = reproduce("experiment3", replications=count, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "whole")
    assert again.experiments["experiment3"].rows == whole.experiments["experiment3"].rows
    assert [part.stat().st_mtime_ns for part in parts] == written  # kept, not computed again


def _dies(folder, value, seed, context):
    if seed.replication >= 10:
        deadline = time.monotonic() + 60.0
        while not list(folder.rglob("0*.json")) and time.monotonic() < deadline:  # until the first part is back
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return {"cd": float(seed.replication)}


@pytest.mark.slow
def test_a_worker_that_dies_is_told_and_the_rest_is_kept(tmp_path):
    study = runner.Study("experiment1", "n", [100], partial(_dies, tmp_path / "run" / "parts"), lambda n: 1.0)
    kept = store.open_store(tmp_path / "run", 1)
    with refused("interrupted"):
        runner.run(study, 20, 1, kept, n_jobs=2, tick=lambda done: None)
    first, second = runner.parts_of(study, 20)
    assert len(first.saved(kept)) == 10
    assert second.saved(kept) is None


def test_timings_run_alone_whatever_the_backend(tmp_path):
    """Some backends do not heed n_jobs=1."""
    threads = set()

    def measure(value, seed, context):
        threads.add(threading.get_ident())
        return {"cd": 1.0}

    study = runner.Study("overhead", "n", [100, 200], measure, lambda n: 1.0, parallel=False)
    with joblib.parallel_config("threading", n_jobs=4):
        runner.run(study, 40, 1, store.open_store(tmp_path / "run", 1), n_jobs=4, tick=lambda done: None)
    assert threads == {threading.get_ident()}


@without_pictures
def test_a_damaged_part_is_computed_again(tmp_path):
    first = reproduce("experiment3", replications=3, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "run")
    (part,) = (tmp_path / "run" / "parts").rglob("0*.json")
    whole = json.loads(part.read_text())
    rows = whole["rows"]
    lost = [{key: value for key, value in row.items() if key != "cd"} for row in rows]
    wrong_rows = (
        lost,
        [{**rows[0], "cd": rows[0]["cd"] + 1e-9}, *rows[1:]],
        [{**rows[0], "cd": True}, *rows[1:]],
        [],
        rows[:2],
        rows[::-1],
        [1, 2, 3],
        [{}] * 3,
        [{**rows[0], "cd": "abc"}, *rows[1:]],
        None,
    )
    damages = ["", part.read_text()[:100], "[]", '{"part": "another", "rows": []}']
    damages += [json.dumps(whole | {"rows": wrong}) for wrong in wrong_rows]
    for damage in damages:
        part.write_text(damage)
        again = reproduce("experiment3", replications=3, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "run")
        assert again.experiments["experiment3"].rows == first.experiments["experiment3"].rows


@without_pictures
def test_a_folder_of_another_run_is_refused(tmp_path):
    reproduce("experiment3", replications=2, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "run")
    with refused("file") as caught:
        reproduce("experiment3", replications=2, sizes=[100], seed=2, out=tmp_path / "run")
    assert numerals(str(caught.value).rpartition("seed")[2]) == ["1", "2"]  # saved, and of this run
    manifest = tmp_path / "run" / "run.json"
    written = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(written | {"version": "0.0.1"}))
    with refused("file"):
        reproduce("experiment3", replications=2, sizes=[100], seed=1, out=tmp_path / "run")
    for content, code in (("{", "file-format"), ("[]", "file")):
        manifest.write_text(content)
        with refused(code):
            reproduce("experiment3", replications=2, sizes=[100], seed=1, out=tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with refused("file"):
        reproduce("experiment3", replications=2, sizes=[100], out=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_folder_deleted_during_the_run_can_be_gone_on_with(tmp_path):
    kept = store.open_store(tmp_path / "run", 1)
    shutil.rmtree(tmp_path / "run")
    kept.write("experiment1/n=100/00000-00009", [])
    store.open_store(tmp_path / "run", 1)


def test_a_folder_taken_over_by_another_run_ends_this_one(tmp_path):
    """Deleted and begun anew with another seed: neither run reads or writes the other's parts."""
    first = store.open_store(tmp_path / "run", 1)
    first.write("x", [{"n": 1.0}])
    part = (tmp_path / "run" / "parts" / "x.json").read_bytes()
    shutil.rmtree(tmp_path / "run")
    second = store.open_store(tmp_path / "run", 2)
    with refused("file"):
        first.write("y", [{"n": 1.0}])
    (tmp_path / "run" / "parts").mkdir()
    (tmp_path / "run" / "parts" / "x.json").write_bytes(part)
    assert store.read_rows(second, "x") is None


def test_a_part_under_another_name_is_not_that_part(tmp_path):
    kept = store.open_store(tmp_path / "run", 1)
    kept.write("x", [{"n": 1.0}])
    shutil.copy(tmp_path / "run" / "parts" / "x.json", tmp_path / "run" / "parts" / "y.json")
    assert store.read_rows(kept, "x") == [{"n": 1.0}]
    assert store.read_rows(kept, "y") is None


def test_writers_of_one_process_do_not_disturb_each_other(tmp_path):
    def again(k):
        kept = store.open_store(tmp_path / "run", 1)
        for part in range(30):
            kept.write(f"{part}", [{"n": float(part)}])
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(again, range(4)))
    assert store.read_rows(store.open_store(tmp_path / "run", 1), "7") == [{"n": 7.0}]
    assert not list(tmp_path.rglob(f"*{PARTIAL}"))


def test_what_a_killed_write_leaves_does_not_lock_the_folder(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / f".run.json.1{PARTIAL}").write_text("{")
    store.open_store(tmp_path / "run", 1)


def test_infinite_numbers_come_back_as_they_were(tmp_path):
    kept = store.open_store(tmp_path / "run", 1)
    rows = [{"n": 100.0, "a": math.inf, "b": -math.inf, "c": 0.1}]
    kept.write("x", rows)
    assert store.read_rows(kept, "x") == rows


@without_pictures
def test_a_later_call_keeps_words_and_pictures_together(tmp_path):
    """Another experiment, or the same with other sizes, in the same folder: the report tells of what the folder holds."""
    reproduce("experiment3", replications=2, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "run")
    both = reproduce("experiment1", replications=3, sizes=[138], seed=1, n_jobs=1, out=tmp_path / "run")
    told = both.report.read_text()
    assert "Experiment 1" in told
    assert "Experiment 3" in told
    assert told.index("3 replications.") < told.index("2 replications.")
    for name in ("experiment1", "experiment3"):
        assert all(f"(figures/{file}.png)" in told for file in figures.FIGURES[name])
    again = reproduce("experiment3", replications=4, sizes=[193], seed=1, n_jobs=1, out=tmp_path / "run").report.read_text()
    assert "| 193 |" in again
    assert "| 100 |" not in again
    assert "| 138 |" in again
    reproduce("experiment3", replications=2, sizes=[50], seed=1, n_jobs=1, out=tmp_path / "run")
    assert (tmp_path / "run" / "experiment3" / "published.csv").read_text() == ""  # nothing of that size was published


def test_a_folder_that_cannot_be_written_is_told_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with refused("file"):
        reproduce("experiment3", replications=2, sizes=[100], out=tmp_path / "file" / "run")
    for wrong in (tmp_path / "file", tmp_path / ("a" * 300), "a\0b", None, 3):
        with refused("argument" if wrong in (None, 3) else "file"):
            reproduce("experiment3", replications=2, sizes=[100], out=wrong)


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with refused("file"), text_file(tmp_path / "part.json", "use another folder") as file:
        file.write("{}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "value", "limit"),
    [
        ("experiment", "experiment4", "'experiment1'"),
        ("replications", 0, ">= 2"),
        ("replications", True, ">= 2"),
        ("sizes", [], "one"),
        ("sizes", [5], ">= 10"),
        ("sizes", [10**9], "10,000,000"),
        ("seed", 10**5000, "2**40"),
        ("progress", "x", "True"),
        ("sizes", 100, "sequence"),
        ("seed", -1, ">= 0"),
        ("n_jobs", 0, ""),
    ],
    ids=lambda value: "" if isinstance(value, str) or value == 10**5000 else None,
)
def test_bad_input(option, value, limit, tmp_path):
    with refused() as caught:
        reproduce(**{"experiment": "experiment1", "out": tmp_path / "run", option: value})
    rule, _, shown = str(caught.value).partition(", got ")
    assert option in rule.split()
    assert limit in rule
    assert shown
    assert not (tmp_path / "run").exists()


def test_a_part_is_whole_with_each_replication_once_and_in_order(tmp_path):
    part = runner.Part(runner.Study("x", "n", [100], None, None), 100.0, 10, 12)
    kept = store.open_store(tmp_path / "run", 1)
    rows = [{"n": 100.0, "replication": 10, "cd": 0.1}, {"n": 100.0, "replication": 11, "cd": math.inf}]
    kept.write(part.name, rows)
    assert part.saved(kept) == rows
    wrong = (rows[:1], rows[::-1], [*rows, rows[1]], [rows[0], {**rows[1], "n": 200.0}], [rows[0], {**rows[1], "cd": [1]}])
    for other in wrong:
        kept.write(part.name, other)
        assert part.saved(kept) is None


@without_pictures
def test_command_line(tmp_path, capsys):
    from copula_discrepancy.cli.parser import main

    out = tmp_path / "run[/b]"  # no markup
    assert (
        main(["reproduce", "experiment3", "--replications", "2", "--sizes", "100,1e3", "--jobs", "1", "--out", str(out)]) == 0
    )
    printed = one_line(capsys.readouterr().out)
    told = json.loads((out / "experiment3" / "results.json").read_text())
    assert len(told["statements"]) == 3
    assert all(sentence in printed for sentence in told["statements"])
    assert "published" in printed
    assert str(out) in printed
    assert "report.md" in printed
    assert main(["reproduce", "experiment3", "--replications", "0", "--out", str(tmp_path / "other")]) == 1
    assert "replications" in capsys.readouterr().err
    assert main(["reproduce", "experiment3", "--seed", "2", "--out", str(out)]) == 1
    assert numerals(capsys.readouterr().err.rpartition("seed")[2]) == ["1", "2"]
    for name in EXPERIMENTS:
        assert main(["reproduce", name, "--replications", "0", "--out", str(tmp_path / "other")]) == 1
    for wrong in (["--sizes", "100,x"], ["experiment9"], ["--jobs", "0"], ["--jobs", "x"]):
        with pytest.raises(SystemExit) as caught:
            main(["reproduce", *wrong])
        assert caught.value.code == 2


def small_draws(shift, rng):
    """Forty draws have fewer than 100 effective ones, which `discrepancy` warns of."""
    return cd.Gaussian(0.5 + shift).sample(40, rng=rng).reshape(2, 20, 2)


def told_by_tune(n_jobs):
    study = cd.tune(small_draws, [0.0, -0.2], cd.Gaussian(0.5), replications=3, rng=1, n_jobs=n_jobs)
    return [{**row.to_dict(), "seconds": 0} for row in study.rows]


@pytest.fixture(scope="module")
def with_processes(tmp_path_factory):
    """One process for all that two worker processes do, as their start is most of the cost.

    It tunes, runs an experiment with its pictures, and runs one without end until it is asked to end.
    """
    folder = tmp_path_factory.mktemp("processes")
    whole = ["reproduce", "experiment1", "--replications", "20", "--sizes", "20", "--jobs", "2", "--out", "whole"]
    endless = ["reproduce", "experiment3", "--replications", "6000", "--sizes", "100", "--jobs", "2", "--out", "endless"]
    code = (
        "import json, sys\n"
        "import copula_discrepancy as cd\n"
        "from copula_discrepancy.cli.parser import main\n"
        f"{inspect.getsource(small_draws)}\n"
        f"{inspect.getsource(told_by_tune)}\n"
        "print(json.dumps(told_by_tune(2)))\n"
        f"assert main({whole!r}) == 0\n"
        "print('now without end', file=sys.stderr, flush=True)\n"
        f"sys.exit(main({endless!r}))\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], cwd=folder, **pipes) as process:
        deadline = time.monotonic() + 300
        while not list((folder / "endless").rglob("0*.json")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, told = process.communicate(timeout=60)  # ends when all that hold the pipes have ended
    return SimpleNamespace(code=process.returncode, out=out, told=told, folder=folder)


@pytest.mark.slow
@without_pictures
def test_worker_processes_count_the_same(with_processes, tmp_path):
    first, *_ = with_processes.out.splitlines()
    assert json.loads(first) == told_by_tune(1)
    alone = reproduce("experiment1", replications=20, sizes=[20], seed=1, n_jobs=1, out=tmp_path / "alone")
    rows = [folder / "experiment1" / "replications.csv" for folder in (alone.folder, with_processes.folder / "whole")]
    assert rows[0].read_text() == rows[1].read_text()
    assert len(alone.experiments["experiment1"].rows) == 20
    pictures = {path.name for path in (with_processes.folder / "whole" / "figures").iterdir()}
    assert pictures == {path.name for path in alone.experiments["experiment1"].figures}


def test_worker_processes_keep_quiet(with_processes):
    """Twenty draws warn of this and that, which is no news in a study of small samples; no bar without a terminal."""
    assert "report.md" in with_processes.out
    before, _, _ = with_processes.told.partition("now without end\n")
    assert before == ""


def test_interrupted_on_the_command_line(tmp_path, capsys, monkeypatch):
    from copula_discrepancy.cli.parser import main

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["copula_discrepancy.studies.paper.reproduce"], "run", stop)
    assert main(["reproduce", "experiment1", "--out", str(tmp_path / "run")]) == 130
    assert str(tmp_path / "run") in capsys.readouterr().err


def test_asked_to_end_it_ends_like_interrupted(with_processes):
    """With its workers, which would hold the caller's pipes open."""
    assert with_processes.code == 130
    *_, kept, ended = with_processes.told.partition("now without end\n")[2].splitlines()
    assert "endless" in kept  # where the results are
    assert ended.endswith("interrupted")
    assert "Traceback" not in with_processes.told


def test_progress_bars_of_several_studies(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with progress.progress_bars(True, {"experiment1": 100.0, "overhead": 300.0}) as tick:
        tick("experiment1", 30.0)
        tick("overhead", 70.0)
    shown = capsys.readouterr().err
    for text in ("experiment1", "30%", "23%", "all", "25%"):
        assert text in shown
