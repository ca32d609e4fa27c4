"""Faults: killed runs, full disks, folders that cannot be written, dead workers, memory that runs out."""

import contextlib
import errno
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare import comparison, jobs
from copula_discrepancy.compare.one_of_many import place_of
from copula_discrepancy.compare.wording import NOT_TESTED
from tests import loaded
from tests.caveat_codes import warned
from tests.numerals import numerals, one_line
from tests.refusals import refused

quiet = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="forks, and limits processes as Linux does")
RNG = np.random.default_rng(5)
DRAWS, REFERENCE = RNG.standard_normal((200, 14)), RNG.standard_normal((200, 14))


@pytest.fixture
def open_folder():
    """A folder that every user may look into, as pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def played(name, folder, start=loaded.run):
    """What the scenes of this name in `fault_scenes.py` ended with."""
    # a full disk would leave half of a module's bytecode, which no later import can read
    code = "import runpy, sys; sys.dont_write_bytecode = True; runpy.run_module('tests.fault_scenes', run_name='__main__')"
    done = start(code, name, folder, folder=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---- kills ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_linux
def test_killed_at_random_and_started_again(tmp_path):
    for found in played("kills", tmp_path).values():
        assert found["same"]
        assert found["kills"] >= 2


# ---- memory ---------------------------------------------------------------------------------------------------------------


def fresh(code, *arguments, folder):
    """For limits of memory, which count what the process has had before."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
@needs_linux
def test_a_process_without_enough_memory_says_so(tmp_path):
    found = played("memory", tmp_path, fresh)
    assert len(found) == 6
    assert {ended for ended, _ in found.values()} == {"InputError: memory"}


def out_of_memory(monkeypatch, *pairs, together=()):
    """Memory that runs out for some pairs, or only where some are done together with others."""
    usual, asked = comparison.PairComparison.rows, []

    def rows(self, given):
        asked.append(list(given))
        if any(pair in given for pair in pairs) or (len(given) > 1 and any(pair in given for pair in together)):
            raise MemoryError
        return usual(self, given)

    monkeypatch.setattr(comparison.PairComparison, "rows", rows)
    return asked


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_runs_out_on_one_pair(monkeypatch, tmp_path, n_jobs):
    whole = cd.pairwise(DRAWS, REFERENCE, iid=True, n_jobs=1)
    asked = out_of_memory(monkeypatch, (2, 3), together=[(5, 6)])
    with warned("memory"):
        result = cd.pairwise(DRAWS, REFERENCE, iid=True, n_jobs=n_jobs, checkpoint=tmp_path / "run")
    assert asked.count([(2, 3)]) == 2  # once more when nothing runs beside it
    assert asked.count([(5, 6)]) == 1
    lost = result["x2", "x3"]
    assert lost.verdict == NOT_TESTED
    assert np.isnan([lost.tau, lost.level, lost.shape, lost.level_pvalue]).all()
    raw = [name for name in whole.rows.dtype.names if not name.endswith("_adjusted") and name != "flagged"]
    for pair in whole:  # the others are as they were; only what is adjusted for their number is not
        if pair.names != lost.names:
            ours, theirs = (found.rows[place_of(found, *pair.names)] for found in (result, whole))
            assert [ours[name].tobytes() for name in raw] == [theirs[name].tobytes() for name in raw]
    caveat = next(caveat for caveat in result.caveats if caveat.code == "memory")
    assert numerals(caveat.sentence)[:2] == ["1", "91"]
    assert "x2 ~ x3" in caveat.sentence
    assert caveat.sentence in result.to_dict()["warnings"]
    assert caveat.sentence in one_line(str(result))
    assert caveat.sentence in result._repr_html_()
    assert result.tested.sum() == 90
    assert numerals(result.sentences()["Judged"])[:2] == ["90", "91"]
    assert result.to_dataframe()["tau"].isna().sum() == 1
    assert result.pair("x2", "x3").cd >= 0.0  # tried again, on its own
    with pytest.raises(cd.InputError, match="x2 ~ x3"):
        result.fitted("x2", "x3")
    asked.clear()
    monkeypatch.undo()
    again = cd.pairwise(DRAWS, REFERENCE, iid=True, n_jobs=n_jobs, checkpoint=tmp_path / "run")  # with more memory
    assert again.rows.tobytes() == whole.rows.tobytes()


def test_a_page_of_pairs_for_which_memory_ran_out(monkeypatch, tmp_path):
    out_of_memory(monkeypatch, (0, 1))
    with warned("memory"):
        result = cd.pairwise(DRAWS[:, :3], cd.Gaussian(0.2), iid=True, n_jobs=1)
    (sentence,) = (caveat.sentence for caveat in result.caveats if caveat.code == "memory")
    assert numerals(sentence)[:2] == ["1", "3"]
    assert "x0 ~ x1" in sentence
    page = result.to_html(tmp_path / "page.html").read_text()
    assert sentence in page
    assert NOT_TESTED in page


def test_memory_runs_out_on_every_pair(monkeypatch):
    monkeypatch.setattr(comparison.PairComparison, "rows", lambda self, pairs: (_ for _ in ()).throw(MemoryError))
    with refused("memory"):
        cd.pairwise(DRAWS[:, :3], REFERENCE[:, :3], iid=True)


@quiet
def test_memory_runs_out_on_one_edge_of_a_vine(monkeypatch):
    draws, reference = DRAWS[:, :4], REFERENCE[:, :4]
    whole = cd.vine(draws, reference, iid=True, n_jobs=1)
    usual = comparison.PairComparison.rows

    def rows(self, pairs):
        if (2, 3) in pairs:  # columns of the second edge in each tree
            raise MemoryError
        return usual(self, pairs)

    monkeypatch.setattr(comparison.PairComparison, "rows", rows)
    result = cd.vine(draws, reference, iid=True, n_jobs=1)
    assert len(result) == len(whole) == 6
    lost = [edge.names for edge in result if np.isnan(edge.tau)]
    assert len(lost) == 2  # the last tree has one edge
    for edge in whole:
        if edge.names not in lost:
            assert result[edge.names].level == edge.level
    monkeypatch.setattr(comparison.PairComparison, "rows", lambda self, pairs: (_ for _ in ()).throw(MemoryError))
    with refused("memory"):
        cd.vine(draws, reference, iid=True, n_jobs=1)


def test_every_edge_of_a_vine_counts_in_the_bar(monkeypatch):
    done = []
    monkeypatch.setattr("copula_discrepancy.compare.vine.progress_bar", lambda *given: contextlib.nullcontext(done.append))
    cd.vine(DRAWS[:, :4], REFERENCE[:, :4], iid=True, n_jobs=1)
    assert done == sorted(done)
    assert done[-1] == 6


def test_memory_on_the_command_line_and_in_reproduce(monkeypatch, tmp_path, capsys):
    from copula_discrepancy.studies.paper import runner, store

    why = "Unable to allocate 1 TiB"  # as NumPy says it

    def fails(*given, **choices):
        raise MemoryError(why)

    monkeypatch.setattr("copula_discrepancy.cli.reading.as_draws", fails)
    assert main(["check", "draws.csv"]) == 1
    assert why in capsys.readouterr().err

    def measure(value, seed, context):
        return {"cd": 1.0} if seed.replication < 10 else fails()

    study = runner.Study("experiment1", "n", [100], measure, lambda n: 1.0)
    kept = store.open_store(tmp_path / "run", 1)
    with refused("memory"):
        runner.run(study, 20, 1, kept, n_jobs=1, tick=lambda done: None)
    first, _ = runner.parts_of(study, 20)
    assert len(first.saved(kept)) == 10


# ---- workers --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deadly(cd.Gaussian):
    """A target whose tau ends the worker process that asks for it."""

    @property
    def tau(self):
        if multiprocessing.current_process().name != "MainProcess":
            time.sleep(1.0)  # until the other part is back
            os.kill(os.getpid(), signal.SIGKILL)
        return super().tau


@pytest.mark.slow
@quiet
def test_a_worker_that_dies(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "_PART", 32)
    pairs = [(f"x{i}", f"x{j}") for i in range(9) for j in range(i + 1, 9)]  # 36: two parts
    targets = {pair: cd.Gaussian(0.1) for pair in pairs[:-1]} | {pairs[-1]: Deadly(0.1)}
    call = {"iid": True, "checkpoint": tmp_path / "run"}
    with joblib.parallel_config("loky", n_jobs=2), refused("interrupted"):
        cd.pairwise(DRAWS, targets, n_jobs=None, **call)
    usual, computed = comparison.PairComparison.rows, []
    monkeypatch.setattr(comparison.PairComparison, "rows", lambda self, given: (computed.extend(given), usual(self, given))[1])
    again = cd.pairwise(DRAWS, targets, n_jobs=1, **call)
    assert computed == [(5, 8), (6, 7), (6, 8), (7, 8)]  # the first 32 were kept
    assert again.rows.tobytes() == cd.pairwise(DRAWS, targets, n_jobs=1, iid=True).rows.tobytes()


def _dying(setting, rng):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_worker_that_dies_in_other_studies():
    with joblib.parallel_config("loky", n_jobs=2), refused("interrupted"):
        cd.tune(_dying, [0.1, 0.2], cd.Gaussian(0.5), replications=1, rng=1)


# ---- disks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_linux
def test_a_full_disk(tmp_path):
    found = played("disk", tmp_path)
    for name, where in found.items():
        if name == "with room":
            assert where[0] is True  # went on, with the numbers of an undisturbed run
            continue
        left, older = where.pop("left"), where.pop("older")
        assert {ended for ended, _ in where.values()} == {"InputError: file"}
        assert older == ["an older page", "{}"]
        assert all(path.endswith((".json", "page.html")) for path in left)  # nothing half written
        for path in left:
            text = (tmp_path / name / path).read_text() if name == "small" else "{}"
            assert path == "page.html" or isinstance(json.loads(text), dict)
    assert "run/parts/experiment3/n=100/00000-00001.json" in _left(tmp_path / "small")  # finished before the disk was full
    if "tiny" not in found:
        pytest.skip("no file system can be mounted here: the part with a tiny disk was left out")
    assert "with room" in found


def _left(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_page_is_kept_where_its_numbers_cannot_be_written(tmp_path, monkeypatch):
    """Numbers wait in a buffer while the page is written; a disk that is full then leaves no new page beside old numbers."""
    page, older = tmp_path / "page.html", "an older page"
    monkeypatch.setattr("copula_discrepancy.report.page.writing.render", lambda content, template: "a new page")
    page.write_text(older)
    (tmp_path / "page.json").write_text("{}")
    usual = os.fsync

    def full(descriptor):
        if "json" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(28, "No space left on device")
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    from copula_discrepancy.report.page.writing import write_page

    with refused("file"):
        write_page(page, {}, {"pairs": []}, force=True)
    assert page.read_text() == older
    assert _left(tmp_path) == {"page.html", "page.json"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("form", ["--json", "--csv", "--top=0"])
def test_output_to_a_full_disk(tmp_path, capsys, monkeypatch, form):
    np.savetxt(tmp_path / "draws.csv", DRAWS[:, :2], delimiter=",", header="a,b", comments="")
    with contextlib.suppress(OSError), open("/dev/full", "w") as full:  # closing it fails, too
        monkeypatch.setattr(sys, "stdout", full)
        code = main(["check", str(tmp_path / "draws.csv"), "--iid", form])
    monkeypatch.undo()
    assert code == 1
    assert os.strerror(errno.ENOSPC) in capsys.readouterr().err


# ---- numba's cache --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_linux
def test_a_cache_that_cannot_be_written(open_folder):
    found = played("cache", open_folder)
    assert all(scene["values"] == [6.0, 8.0] for scene, _ in found.values())
    for name, why in (("no folder", "/dev/null/nowhere"), ("full disk", "File too large")):
        scene, told = found[name]
        assert len(told) == 1  # though two functions were compiled
        assert told[0].startswith("RuntimeWarning: ")
        assert why in told[0]
        assert "NUMBA_CACHE_DIR" in told[0]
        assert not scene["logged"]
    for name in ("own folder", "own folder again", "spoilt", "asked for", "asked in vain"):
        scene, told = found[name]
        assert not told
        assert scene["cached"] == [".nbc", ".nbi"]
    (once,) = found["own folder"][0]["logged"]
    assert 0 < once.find(str(open_folder / "package")) < once.find(str(open_folder / "home"))  # not there, but here
    assert not found["own folder again"][0]["logged"]  # nothing to compile, nothing to tell
    assert len(found["spoilt"][0]["logged"]) == 1  # compiled again, and kept again
    assert not found["asked for"][0]["logged"]
    (once,) = found["asked in vain"][0]["logged"]
    assert 0 < once.find("/dev/null/nowhere") < once.find(str(open_folder / "home"))
    (open_folder / "package").chmod(0o755)  # so that it can be removed


@needs_linux
def test_the_library_without_any_cache(tmp_path):
    values, told = played("cache_at_import", tmp_path)
    assert values == [2.0, 18.0, 0.0, 4.0]
    assert len(told) == 1
    assert told[0].startswith("RuntimeWarning: ")
    assert "/dev/null/nowhere" in told[0]


def test_every_kernel_is_compiled_in_one_way():
    from copula_discrepancy._core import kernels

    for path in Path(kernels.__file__).parent.glob("*.py"):
        assert path.name == "compiled.py" or "njit" not in path.read_text()
