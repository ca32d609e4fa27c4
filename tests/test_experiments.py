"""The paper's experiments: what they measure, that they can be stopped and gone on with, what they write and what they say."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import joblib
import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.experiments import runner, statements, store, studies
from copula_discrepancy.experiments.published import Comparison, compare, published, summarise
from copula_discrepancy.experiments.reproduce import reproduce

pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")


def without_times(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """All four experiments, tiny."""
    folder = tmp_path_factory.mktemp("small") / "run"
    return reproduce("all", replications=3, sizes=[100, 193], seed=4, out=folder, progress=False)


def test_writes_every_number_and_every_figure(small):
    figures = {path.name for path in (small.folder / "figures").iterdir()}
    names = [
        "figure1_cd", "figure2_shannon", "figure3_step_size", "figure3_corrected", "figure4_shannon", "figure5_tails",
        "figure5_valid_ksd", "figure6_shannon", "figure7_overhead",
    ]  # fmt: skip
    assert figures == {f"{name}.{suffix}" for name in names for suffix in ("png", "svg")}
    assert all((small.folder / "figures" / f"{name}.png").read_bytes()[:4] == b"\x89PNG" for name in names)
    for name, experiment in small.experiments.items():
        folder = small.folder / name
        with (folder / "replications.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(experiment.rows)
        for text, row in zip(rows, experiment.rows, strict=True):
            for key, value in row.items():
                assert float(text[key]) == value if not (isinstance(value, float) and math.isnan(value)) else text[key] == ""
        content = json.loads((folder / "results.json").read_text())
        assert len(content["summary"]) == len(experiment.summary)
        assert len(content["replications"]) == len(rows)
    report = small.report.read_text()
    for experiment in small.experiments.values():
        assert all(sentence in report for sentence in experiment.statements)
    assert not list(small.folder.rglob("*.partial*"))


def test_experiment_1_measures_what_the_paper_measured(small):
    row = small.experiments["experiment1"].rows[0]
    seed = runner.Seed(4, "experiment1", 100.0, 0)
    draws = cd.Clayton(3.0).sample(100, rng=seed.generator("off"))
    result = cd.discrepancy(draws, cd.Gumbel(2.5), iid=True)
    assert (row["off_cd"], row["off_ckl"], row["off_ced"]) == (result.cd, result.ckl, result.ced)
    # 5000 simulated draws: the standard deviation of log c is near 1
    assert row["off_ckl_mc"] == pytest.approx(result.ckl, abs=5 / math.sqrt(5000))
    assert row["off_ced_mc"] == pytest.approx(result.ced, abs=5 / math.sqrt(5000))
    assert row["off_ced_mc"] != row["off_ced"]


def test_experiment_2_has_both_references(small):
    experiment = small.experiments["experiment2"]
    context = experiment.context
    assert abs(context["tau_exact"] - 0.5) < 1e-9
    assert abs(context["tau_stuck"]) < 0.05
    assert context["reference_low"] < 0.3 < context["reference_high"]
    assert max(row["step_size"] for row in experiment.rows) == 0.4
    for row in experiment.rows:
        assert row["cd"] == pytest.approx(abs(row["tau"] - 0.5), abs=1e-9)
        assert row["published_cd"] == pytest.approx(abs(row["tau"] - context["tau_stuck"]), abs=1e-12)
        assert row["cd_se"] > 0
    at = {row["step_size"]: row for row in experiment.rows if row["replication"] == 0}
    assert at[0.4]["cd"] > 0.5 > 0.1 > at[0.1]["cd"]
    assert at[0.1]["paper_ess"] == pytest.approx(3.17, abs=0.1)


def test_experiment_3_measures_both_stein_discrepancies(small):
    row = small.experiments["experiment3"].rows[0]
    draws = cd.Gumbel(2.5).sample(100, rng=runner.Seed(4, "experiment3", 100.0, 0).generator("draws"))
    assert row["ksd_unit"] == cd.ksd(draws, cd.Clayton(3.0), space="unit").value
    assert row["ksd"] == cd.ksd(draws, cd.Clayton(3.0)).value
    assert row["naive_tau"] == cd.naive_tau(draws, cd.Clayton(3.0))
    assert row["shape"] == cd.discrepancy(draws, cd.Clayton(3.0), iid=True).shape.value


def test_overhead_times_everything(small):
    for row in small.experiments["overhead"].rows:
        assert all(row[name] > 0 for name in ("cd_moment", "cd_mle", "discrepancy", "ksd"))
    assert studies.KSD_LIMIT == 20_000
    assert max(studies.FURTHER_SIZES) == 1_000_000
    assert math.isnan(studies.overhead(20_001, runner.Seed(1, "overhead", 20_001, 1), {})["ksd"])


def test_published_means_agree_with_ours():
    """Four of the published sizes, 40 replications: no more differ by 1.96 combined standard errors than chance allows."""
    rows1, rows3 = [], []
    for n in (100, 372, 1000, 2682):
        for replication in range(40):
            rows1.append({"n": n, **studies.experiment1(n, runner.Seed(1, "experiment1", n, replication), {})})
            rows3.append({"n": n, **studies.experiment3(n, runner.Seed(1, "experiment3", n, replication), {})})
    found = [
        item
        for name, rows in (("experiment1", rows1), ("experiment3", rows3))
        for item in compare(name, summarise(rows, "n"), "n", {})
        if item.diagnostic in statements.HELD_TO[name]
    ]
    assert len(found) == 32
    # 32 of them at 5% each: 6 or more by chance with probability 0.3%, and twice that as CD and CKL share draws
    assert sum(not item.within for item in found) <= 6
    assert max(abs(item.z) for item in found) < 4.5
    # a power case: means off by 15% are seen
    wrong = [replace(item, ours=1.15 * item.ours) for item in found]
    assert sum(not item.within for item in wrong) >= 12


def test_same_numbers_whatever_the_workers(tmp_path):
    runs = {}
    for name, config in {"one": None, "threads": ("threading", 2), "processes": ("loky", 2)}.items():
        if config is None:
            result = reproduce("experiment3", replications=12, sizes=[100], seed=2, n_jobs=1, out=tmp_path / name)
        else:
            with joblib.parallel_config(config[0], n_jobs=config[1]):
                result = reproduce("experiment3", replications=12, sizes=[100], seed=2, out=tmp_path / name)
        runs[name] = result.experiments["experiment3"].rows
    assert runs["one"] == runs["threads"] == runs["processes"]
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        on_dask = reproduce("experiment3", replications=12, sizes=[100], seed=2, out=tmp_path / "dask")
    assert on_dask.experiments["experiment3"].rows == runs["one"]
    other = reproduce("experiment3", replications=12, sizes=[100], seed=3, n_jobs=1, out=tmp_path / "other")
    assert other.experiments["experiment3"].rows != runs["one"]


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
    module = sys.modules["copula_discrepancy.experiments.reproduce"]
    monkeypatch.setattr(module, "study", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce("experiment1", replications=25, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "half")
    assert len(list((tmp_path / "half" / "parts").rglob("*.json"))) == 1
    again = reproduce("experiment1", replications=25, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "half")
    assert measured[14:] == [*range(10, 25)]  # the finished ten were kept
    assert again.experiments["experiment1"].rows == whole.experiments["experiment1"].rows
    more = reproduce("experiment1", replications=30, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "half")
    assert more.experiments["experiment1"].rows[:25] == whole.experiments["experiment1"].rows


def test_a_killed_run_leaves_no_half_part(tmp_path):
    """Killed in the middle, as by a power cut, and started again: the same numbers as an undisturbed run."""
    command = [
        sys.executable, "-m", "copula_discrepancy", "reproduce", "experiment3", "--replications", "60", "--sizes", "1000",
        "--jobs", "1", "--out", str(tmp_path / "killed"),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not list((tmp_path / "killed").rglob("0*.json")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    parts = list((tmp_path / "killed" / "parts").rglob("0*.json"))
    assert 1 <= len(parts) < 6
    for part in parts:
        assert len(json.loads(part.read_text())["rows"]) == 10
    again = reproduce("experiment3", replications=60, sizes=[1000], seed=1, n_jobs=1, out=tmp_path / "killed")
    whole = reproduce("experiment3", replications=60, sizes=[1000], seed=1, n_jobs=1, out=tmp_path / "whole")
    assert again.experiments["experiment3"].rows == whole.experiments["experiment3"].rows


def _dies(value, seed, context):
    if seed.replication >= 10:
        time.sleep(1.0)  # until the first part is back
        os.kill(os.getpid(), signal.SIGKILL)
    return {"cd": float(seed.replication)}


def test_a_worker_that_dies_is_told_and_the_rest_is_kept(tmp_path):
    study = runner.Study("experiment1", "n", [100], _dies, lambda n: 1.0)
    kept = store.Store(tmp_path / "run", 1)
    with pytest.raises(cd.InputError, match="a worker process died"):
        runner.run(study, 20, 1, kept, n_jobs=2, tick=lambda done: None)
    assert len(kept.read("experiment1/n=100/00000-00009")) == 10
    assert kept.read("experiment1/n=100/00010-00019") is None


def test_a_damaged_part_is_computed_again(tmp_path):
    first = reproduce("experiment3", replications=3, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "run")
    (part,) = (tmp_path / "run" / "parts").rglob("0*.json")
    for damage in (part.read_text()[:100], "[]", '{"part": "another", "rows": []}'):
        part.write_text(damage)
        again = reproduce("experiment3", replications=3, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "run")
        assert again.experiments["experiment3"].rows == first.experiments["experiment3"].rows


def test_a_step_size_that_diverges_is_counted():
    row = studies.experiment2(10.0, runner.Seed(1, "experiment2", 10.0, 0), {"tau_exact": 0.5, "tau_stuck": 0.0})
    assert row == {"diverged": 1.0}
    summary = summarise([{"step_size": 10.0, "replication": 0, **row}], "step_size")
    assert [item["diagnostic"] for item in summary] == ["diverged"]


def test_a_folder_of_another_run_is_refused(tmp_path):
    reproduce("experiment3", replications=2, sizes=[100], seed=1, n_jobs=1, out=tmp_path / "run")
    with pytest.raises(cd.InputError, match="another run: seed 1 there and 2 here"):
        reproduce("experiment3", replications=2, sizes=[100], seed=2, out=tmp_path / "run")
    manifest = tmp_path / "run" / "run.json"
    written = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(written | {"version": "0.0.1"}))
    with pytest.raises(cd.InputError, match=r"version '0\.0\.1' there and '0\.1\.0' here"):
        reproduce("experiment3", replications=2, sizes=[100], seed=1, out=tmp_path / "run")
    for content in ("{", "[]"):
        manifest.write_text(content)
        with pytest.raises(cd.InputError, match=r"run\.json cannot be read|another run"):
            reproduce("experiment3", replications=2, sizes=[100], seed=1, out=tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(cd.InputError, match="holds other files"):
        reproduce("experiment3", replications=2, sizes=[100], out=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_written_is_told_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(cd.InputError, match="cannot be written"):
        reproduce("experiment3", replications=2, sizes=[100], out=tmp_path / "file" / "run")
    with pytest.raises(cd.InputError, match=r"cannot be written|not a folder"):
        reproduce("experiment3", replications=2, sizes=[100], out=tmp_path / "file")


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(cd.InputError, match="No space left on device"):
        store.write_json(tmp_path / "part.json", {"rows": []})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"experiment": "experiment4"}, "experiment must be 'all' or 'experiment1'"),
        ({"replications": 0}, "replications must be a whole number >= 2"),
        ({"replications": True}, "replications must be"),
        ({"sizes": []}, "at least one sample size"),
        ({"sizes": [5]}, "each of sizes must be a whole number >= 10"),
        ({"sizes": 100}, "sizes must be a sequence"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_input(options, message, tmp_path):
    with pytest.raises(cd.InputError, match=message):
        reproduce(**{"experiment": "experiment1", "out": tmp_path / "run", **options})
    assert not (tmp_path / "run").exists()


def test_summary_and_comparison_by_hand():
    rows = [{"n": 100, "replication": k, "cd": value} for k, value in enumerate((0.1, 0.2, 0.6, math.nan))]
    (summary,) = summarise(rows, "n")
    assert summary["mean"] == pytest.approx(0.3)
    assert summary["se"] == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / math.sqrt(3))
    assert summary["hi"] - summary["mean"] == pytest.approx(4.302652729911275 * summary["se"])  # t with 2 degrees, 97.5%
    assert (summary["replications"], summary["missing"], summary["median"]) == (3, 1, pytest.approx(0.2))
    item = Comparison("experiment3", "cd", 100, 0.17, 0.003, 0.15, 0.004)
    assert item.z == pytest.approx(4.0)
    assert not item.within
    theirs = next(item for item in published("experiment3") if (item.diagnostic, item.value) == ("cd", 100))
    assert theirs.mean == 0.15007
    assert theirs.se == pytest.approx((0.16177 - 0.13838) / 2 / 1.98422, rel=1e-5)  # t with 99 degrees
    (found,) = compare("experiment3", [{**summary, "diagnostic": "cd"}], "n", {})
    assert (found.ours, found.published) == (summary["mean"], 0.15007)


def test_words_on_agreement():
    items = [Comparison("experiment3", "cd", n, 0.17, 0.003, 0.17, 0.003) for n in range(19)]
    items.append(replace(items[0], ours=0.3))
    told = statements.agreement(items)
    assert "19 of 20" in told
    assert f"probability {1 - 0.95**20:.2g}" in told
    assert len(statements.outside(items)) == 1
    assert "No mean" in statements.agreement([])


def test_command_line(tmp_path, capsys):
    from copula_discrepancy.cli import main

    out = tmp_path / "run"
    assert (
        main(["reproduce", "experiment3", "--replications", "2", "--sizes", "100,1e3", "--jobs", "1", "--out", str(out)]) == 0
    )
    printed = capsys.readouterr().out
    assert "published" in printed
    assert "Stein's identity fails" in " ".join(printed.split())
    assert "report_experiment3.md" in printed
    assert main(["reproduce", "experiment3", "--replications", "0", "--out", str(tmp_path / "other")]) == 1
    assert "replications must be" in capsys.readouterr().err
    assert main(["reproduce", "experiment3", "--seed", "2", "--out", str(out)]) == 1
    assert "another run" in capsys.readouterr().err
    for wrong in (["--sizes", "100,x"], ["experiment9"]):
        with pytest.raises(SystemExit) as caught:
            main(["reproduce", *wrong])
        assert caught.value.code == 2


def test_interrupted_on_the_command_line(tmp_path, capsys, monkeypatch):
    from copula_discrepancy.cli import main

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["copula_discrepancy.experiments.reproduce"], "run", stop)
    assert main(["reproduce", "experiment1", "--out", str(tmp_path / "run")]) == 130
    assert "the same command goes on" in capsys.readouterr().err


def test_progress_bar_shows_the_time_left(capsys):
    with runner.progress_bars(True, {"experiment1": 100.0, "overhead": 300.0}) as tick:
        tick("experiment1")(30.0)
        tick("overhead")(70.0)
    shown = capsys.readouterr().err
    for text in ("experiment1", "30%", "23%", "all", "25%", "left"):
        assert text in shown
