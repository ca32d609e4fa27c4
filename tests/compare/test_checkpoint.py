"""Pairs that are kept in a folder: the same numbers however a run was stopped, and nothing of another run among them."""

import json
import os
import shutil
import sys

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy._core.files import PARTIAL
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare import comparison, jobs
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")

RNG = np.random.default_rng(4)
DRAWS, REFERENCE = RNG.standard_normal((2, 100, 14)), RNG.standard_normal((2, 100, 14))  # 91 pairs: three parts


@pytest.fixture(autouse=True)
def every_part_is_written(monkeypatch):
    """These runs take less than a second."""
    monkeypatch.setattr(jobs, "_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "_SHARE", 0.0)
    monkeypatch.setattr(jobs, "_PART", 32)


@pytest.fixture
def computed(monkeypatch):
    """The pairs that are computed, in order."""
    found, usual = [], comparison.PairComparison.rows

    def rows(self, pairs):
        result = usual(self, pairs)
        found.extend(pairs)
        return result

    monkeypatch.setattr(comparison.PairComparison, "rows", rows)
    return found


def compare(where, **choices):
    return cd.pairwise(DRAWS, REFERENCE, **{"n_jobs": 1, "checkpoint": where, **choices}).rows.tobytes()


@pytest.fixture(scope="module")
def undisturbed():
    return cd.pairwise(DRAWS, REFERENCE, n_jobs=1).rows.tobytes()


def parts(where):
    return sorted((where / "parts").iterdir())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_numbers_with_and_without_and_again(tmp_path, undisturbed, computed, n_jobs):
    assert compare(tmp_path / "run", n_jobs=n_jobs) == undisturbed
    assert len(computed) == 91
    assert compare(tmp_path / "run", n_jobs=n_jobs) == undisturbed
    assert len(computed) == 91
    lost = parts(tmp_path / "run")[1]
    lost.unlink()
    assert compare(tmp_path / "run", n_jobs=3 - n_jobs) == undisturbed
    assert len(computed) in (91 + 32, 91 + 27)  # only what is missing; the last part has 27 pairs


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_goes_on_where_it_stopped(tmp_path, monkeypatch, undisturbed, computed, stop):
    counting = comparison.PairComparison.rows

    def stopped(self, pairs):
        if (2, 12) in pairs:  # the second part
            raise stop("enough")
        return counting(self, pairs)

    monkeypatch.setattr(comparison.PairComparison, "rows", stopped)
    with pytest.raises(stop, match="enough"):
        compare(tmp_path / "run")
    assert len(computed) == 32
    monkeypatch.setattr(comparison.PairComparison, "rows", counting)
    assert compare(tmp_path / "run") == undisturbed
    assert len(computed) == len({*computed}) == 91


def test_what_waits_to_be_written_is_written_when_the_run_is_stopped(tmp_path, monkeypatch, undisturbed, computed):
    """Written every second, but interrupted after a moment."""
    monkeypatch.setattr(jobs, "_SECONDS", 1000.0)
    counting = comparison.PairComparison.rows

    def stopped(self, pairs):
        if (2, 12) in pairs:
            raise KeyboardInterrupt
        return counting(self, pairs)

    monkeypatch.setattr(comparison.PairComparison, "rows", stopped)
    with pytest.raises(KeyboardInterrupt):
        compare(tmp_path / "run")
    assert len(parts(tmp_path / "run")) == 1
    monkeypatch.setattr(comparison.PairComparison, "rows", counting)
    assert compare(tmp_path / "run") == undisturbed
    assert len(computed) == 91
    assert len(parts(tmp_path / "run")) == 2  # one for each call: files are few


def test_threads_lose_nothing_when_a_task_raises(tmp_path, monkeypatch, computed):
    """What is under way beside it is finished and kept, and nothing new is begun."""
    counting, failed = comparison.PairComparison.rows, []

    def failing(self, pairs):
        if not failed:
            failed.append(pairs)
            raise ZeroDivisionError("a bug")
        return counting(self, pairs)

    monkeypatch.setattr(comparison.PairComparison, "rows", failing)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        compare(tmp_path / "run", n_jobs=2)
    begun = len(computed)
    monkeypatch.setattr(comparison.PairComparison, "rows", counting)
    compare(tmp_path / "run", n_jobs=2)
    assert len(computed) == len({*computed}) == 91
    assert begun in (32, 27, 59)


def test_pairs_do_not_depend_on_those_beside_them():
    table = comparison.RankedTable.of(cd.as_draws(DRAWS))
    other = comparison.RankedTable.of(cd.as_draws(REFERENCE))
    one = comparison.PairComparison(table, other, {}, None, False, "mle", (False, False), (True, True))
    some = [(0, 1), (3, 7), (2, 5)]
    together = one.rows(some)
    for k, pair in enumerate(some):
        assert one.rows([pair])[0].tobytes() == together[k].tobytes()
    assert one.rows(some[::-1])[::-1].tobytes() == together.tobytes()


def test_rows_follow_from_ranks_and_judging_from_rows(tmp_path, undisturbed, computed):
    compare(tmp_path / "run")
    cd.pairwise(np.exp(DRAWS), REFERENCE * 2.0, n_jobs=1, checkpoint=tmp_path / "run", adjust="holm", confidence=0.9)
    cd.pairwise(DRAWS, REFERENCE, checkpoint=tmp_path / "run", weights=np.ones((14, 14)))
    assert len(computed) == 91


def test_a_folder_of_another_run_is_refused(tmp_path):
    few, other = DRAWS[:, :, :3], REFERENCE[:, :, :3]
    swapped = few.copy()
    swapped[0, :2, 0] = few[0, 1::-1, 0]  # two ranks
    known = {("x0", "x1"): cd.Gumbel(1.5), ("x0", "x2"): cd.Frank(1.0)}
    folders = {"reference": (few, other, {}), "copulas": (few, known, {}), "nothing": (few, None, {"family": "gaussian"})}
    for name, (draws, target, choices) in folders.items():
        cd.pairwise(draws, target, checkpoint=tmp_path / name, n_jobs=1, **choices)
    others = [
        ("reference", swapped, other, {}, "draws"),
        ("reference", few, swapped, {}, "reference"),
        ("reference", few[::-1], other, {}, "draws"),
        ("reference", few.reshape(4, 50, 3), other, {}, "draws"),
        ("reference", few, other, {"iid": True}, "iid"),
        ("reference", few, other, {"method": "moment"}, "method"),
        ("reference", few, other, {"family": "frank"}, "family"),
        ("reference", few, None, {}, "reference"),
        ("copulas", few, {**known, ("x0", "x1"): cd.Gumbel(np.nextafter(1.5, 2.0))}, {}, "targets"),
        ("copulas", few, {("x0", "x2"): known["x0", "x1"], ("x0", "x1"): known["x0", "x2"]}, {}, "targets"),
        ("nothing", few, None, {"family": "studentt"}, "family"),
        ("nothing", few, None, {"family": cd.StudentT(0.5, df=4.0)}, "family"),
    ]
    for name, draws, target, choices, differs in others:
        with refused("file") as caught:
            cd.pairwise(draws, target, checkpoint=tmp_path / name, n_jobs=1, **choices)
        assert f"{differs} " in str(caught.value)
    for key in ("version", "code", "numpy", "format"):
        manifest = tmp_path / "reference" / "run.json"
        written = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(written | {key: "0.0.1"}))
        with refused("file") as caught:
            cd.pairwise(few, other, checkpoint=tmp_path / "reference")
        assert f"{key} '0.0.1' (saved)" in str(caught.value)
        manifest.write_text(json.dumps(written))


def test_a_folder_of_reproduce_is_another_run(tmp_path):
    from copula_discrepancy.studies.paper.store import open_store

    open_store(tmp_path / "run", 1)
    with refused("file"):
        compare(tmp_path / "run")
    compare(tmp_path / "pairs")
    with refused("file"):
        open_store(tmp_path / "pairs", 1)


@pytest.mark.slow
def test_what_is_damaged_is_computed_again(tmp_path, undisturbed, computed):
    compare(tmp_path / "run")
    compare(tmp_path / "other", iid=True)
    first, second, *_ = parts(tmp_path / "run")
    text, content = first.read_text(), json.loads(first.read_text())
    flipped = content["rows"][:100] + ("A" if content["rows"][100] != "A" else "B") + content["rows"][101:]
    damages = [
        "",
        text[: len(text) // 2],
        text[:-20],
        "[]",
        "null",
        "\0" * 50,
        second.read_text(),  # another part's
        parts(tmp_path / "other")[0].read_text(),  # another run's
        json.dumps(content | {"rows": flipped}),
        json.dumps(content | {"rows": None}),
        json.dumps(content | {"rows": content["rows"][:-100]}),
    ]
    for damage in damages:
        computed.clear()
        first.write_text(damage)
        assert compare(tmp_path / "run") == undisturbed
        assert 0 < len(computed) < 91
        assert parts(tmp_path / "run") == [first, second, *_]
    (tmp_path / "run" / "parts" / f".x{PARTIAL}").write_text(text[:100])  # what a killed write leaves
    (tmp_path / "run" / "parts" / "notes.txt").write_text("mine")
    computed.clear()
    assert compare(tmp_path / "run") == undisturbed
    assert not computed


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["AAAA", "not base64!", 3, ["AAAA"]])
def test_a_whole_file_with_something_else_in_it_is_no_part(tmp_path, undisturbed, rows):
    """Its checksum is right, so someone wrote it on purpose; it still is not rows."""
    compare(tmp_path / "run")
    first, *_ = parts(tmp_path / "run")
    table = comparison.RankedTable.of(cd.as_draws(DRAWS)), comparison.RankedTable.of(cd.as_draws(REFERENCE))
    kept = jobs.KeptPairs(
        tmp_path / "run", comparison.PairComparison(*table, {}, None, False, "mle", (False, False), (True, True))
    )
    kept._store.write(first.stem, rows)
    assert compare(tmp_path / "run") == undisturbed


def test_folders_that_cannot_be_used(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with refused("file"):
        compare(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    (tmp_path / "file").write_text("")
    unwritable = ["/proc/nowhere/run"] if os.name == "posix" else []
    for wrong in (tmp_path / "file", tmp_path / "file" / "run", *unwritable, "a\0b", 3):
        with refused("argument" if wrong == 3 else "file"):
            compare(wrong)


def test_a_folder_deleted_during_the_run_can_be_gone_on_with(tmp_path, monkeypatch, undisturbed, computed):
    counting = comparison.PairComparison.rows

    def deleting(self, pairs):
        if (2, 12) in pairs:
            shutil.rmtree(tmp_path / "run")
        return counting(self, pairs)

    monkeypatch.setattr(comparison.PairComparison, "rows", deleting)
    assert compare(tmp_path / "run") == undisturbed
    monkeypatch.setattr(comparison.PairComparison, "rows", counting)
    assert compare(tmp_path / "run") == undisturbed
    assert len(computed) == 91 + 32


def test_progress_counts_what_is_kept(tmp_path, monkeypatch):
    compare(tmp_path / "run")
    parts(tmp_path / "run")[0].unlink()
    heard = []
    table = comparison.RankedTable.of(cd.as_draws(DRAWS)), comparison.RankedTable.of(cd.as_draws(REFERENCE))
    one = comparison.PairComparison(*table, {}, None, False, "mle", (False, False), (True, True))
    pairs = [(i, j) for i in range(14) for j in range(i + 1, 14)]
    jobs.run(one, pairs, 1, heard.append, tmp_path / "run")
    assert heard[0] == 91 - 32
    assert heard[-1] == 91


def test_command_line(tmp_path, capsys, monkeypatch):
    np.savetxt(tmp_path / "draws.csv", DRAWS[0, :, :3], delimiter=",", header="a,b,c", comments="")
    command = ["check", str(tmp_path / "draws.csv"), "--jobs", "1", "--json"]
    assert main(command) == 0
    plain = capsys.readouterr().out
    for _ in range(2):
        assert main([*command, "--checkpoint", str(tmp_path / "run")]) == 0
        assert capsys.readouterr().out == plain
    assert len(parts(tmp_path / "run")) == 1
    assert main([*command, "--checkpoint", str(tmp_path / "run"), "--iid"]) == 1
    told = capsys.readouterr().err
    assert told.index("iid") < told.index("False") < told.index("True")  # the saved choice, and this one

    def stop(self, pairs):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison.PairComparison, "rows", stop)
    assert main([*command, "--checkpoint", str(tmp_path / "other")]) == 130
    assert str(tmp_path / "other") in capsys.readouterr().err
    assert main(["compare", command[1], command[1]]) == 130
    assert "--checkpoint FOLDER" in capsys.readouterr().err
    assert "checkpoint" in sys.modules["copula_discrepancy.compare.many"].pairwise.__doc__


def test_a_disk_that_is_full_while_threads_work_gives_one_message(tmp_path, monkeypatch, recwarn):
    """Not joblib's word about tasks that were given up, too."""
    usual = jobs.Store.write

    def full(self, part, rows):
        usual(self, part, rows)
        raise cd.InputError("no room")

    monkeypatch.setattr(jobs.Store, "write", full)
    with pytest.raises(cd.InputError, match="no room"):
        compare(tmp_path / "run", n_jobs=2)
    assert not [str(warning.message) for warning in recwarn if warning.category is not cd.DependenceWarning]
