"""Interrupted scans: they resume where they were, count nothing twice, and give what an uninterrupted scan gives."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import copula_discrepancy as cd
from copula_discrepancy.data.streams.source import Piece
from copula_discrepancy.estimate import scanning, scanning_checkpoint
from copula_discrepancy.estimate.sketch import DependenceSketch
from tests.estimate.test_sketch_file import require_same

FILES, ROWS = 12, 400


def table(k, rows=ROWS):
    """The rows of one file: serially dependent, so that their order matters."""
    rng = np.random.default_rng(k)
    x = np.cumsum(rng.normal(size=(rows, 3)), axis=0) * 0.1 + rng.normal(size=(rows, 3))
    return pd.DataFrame(x, columns=["a", "b", "c"])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows").mkdir()
    for k in range(FILES):
        table(k).to_parquet(tmp_path / "rows" / f"part-{k:02d}.parquet")
    return tmp_path / "rows"


@pytest.fixture
def read(monkeypatch):
    """The pieces that are read whole, by label, and a place for one that fails."""
    found, original = [], Piece.blocks

    def blocks(self, columns, rows):
        found.append(self.label)
        return original(self, columns, rows)

    monkeypatch.setattr(Piece, "blocks", blocks)
    return found


def scanned(given, **choices):
    return DependenceSketch.of(given, progress=False, **choices)


def interrupt_at(monkeypatch, label, error=KeyboardInterrupt):
    """Reading this piece raises; returns a function that ends that."""
    original = Piece.blocks

    def blocks(self, columns, rows):
        if self.label == label:
            raise error
        return original(self, columns, rows)

    monkeypatch.setattr(Piece, "blocks", blocks)
    return lambda: monkeypatch.setattr(Piece, "blocks", original)


@pytest.mark.parametrize("iid", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_scan_resumes(folder, tmp_path, monkeypatch, read, iid, n_jobs):
    expected = scanned(folder, iid=iid)
    end = interrupt_at(monkeypatch, "part-07.parquet")
    with pytest.raises(KeyboardInterrupt):
        scanned(folder, iid=iid, checkpoint=tmp_path / "kept", n_jobs=n_jobs)
    end()
    read.clear()
    require_same(expected, scanned(folder, iid=iid, checkpoint=tmp_path / "kept", n_jobs=n_jobs))
    assert "part-07.parquet" in read
    assert len(read) <= FILES - 6  # two threads: the other one may have finished part-08 or not
    read.clear()
    require_same(expected, scanned(folder, iid=iid, checkpoint=tmp_path / "kept", n_jobs=n_jobs))
    assert read == []


def test_uninterrupted(folder, tmp_path):
    require_same(scanned(folder), scanned(folder, checkpoint=tmp_path / "new" / "folder"))


def test_triples_are_kept(folder, tmp_path, monkeypatch):
    expected = scanned(folder, iid=True, triples=True)
    end = interrupt_at(monkeypatch, "part-05.parquet")
    with pytest.raises(KeyboardInterrupt):
        scanned(folder, iid=True, triples=True, checkpoint=tmp_path / "kept")
    end()
    require_same(expected, scanned(folder, iid=True, triples=True, checkpoint=tmp_path / "kept"))


@pytest.mark.parametrize("chained", [False, True])
def test_rows_without_numbers_are_counted_in_order(tmp_path, monkeypatch, read, chained):
    (tmp_path / "rows").mkdir()
    for k in range(6):
        rows = table(k, 700)
        if chained:
            rows = rows.assign(chain=np.arange(700) % 2)
        rows.to_csv(tmp_path / "rows" / f"part-{k}.csv", index=False)
    expected = scanned(tmp_path / "rows", n_jobs=1)
    end = interrupt_at(monkeypatch, "part-4.csv")
    with pytest.raises(KeyboardInterrupt):
        scanned(tmp_path / "rows", checkpoint=tmp_path / "kept", n_jobs=2)
    end()
    read.clear()
    require_same(expected, scanned(tmp_path / "rows", checkpoint=tmp_path / "kept", n_jobs=2))
    assert read == ["part-4.csv", "part-5.csv"]


def damage(path, kind):
    data = path.read_bytes()
    if kind == "cut off":
        path.write_bytes(data[: len(data) // 2])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "flipped":
        path.write_bytes(data[:-500] + bytes([data[-500] ^ 1]) + data[-499:])
    else:
        path.write_bytes(b"[" * 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cut off", "empty", "flipped", "nested"])
@pytest.mark.parametrize("which", ["latest", "both", "plan"])
def test_damaged_files_are_ignored(folder, tmp_path, monkeypatch, read, kind, which):
    monkeypatch.setattr(scanning_checkpoint, "_SECONDS", 0.0)
    monkeypatch.setattr(scanning_checkpoint, "_TIMES", 0.0)  # a file after every piece
    expected = scanned(folder)
    scanned(folder, checkpoint=tmp_path / "kept", n_jobs=1)
    files = sorted(tmp_path.glob("kept/counts-*"), key=lambda path: path.stat().st_mtime_ns)
    assert len(files) == 2
    for path in {"latest": files[1:], "both": files, "plan": [tmp_path / "kept" / "plan.sketch"]}[which]:
        damage(path, kind)
    read.clear()
    require_same(expected, scanned(folder, checkpoint=tmp_path / "kept", n_jobs=1))
    assert len(read) == {"latest": 1, "both": FILES, "plan": 0}[which]


def test_half_written_files_are_ignored(folder, tmp_path):
    scanned(folder, checkpoint=tmp_path / "kept")
    (tmp_path / "kept" / ".counts-0.abc.partial").write_bytes(b"PK")
    require_same(scanned(folder), scanned(folder, checkpoint=tmp_path / "kept"))


def test_the_folder_does_not_grow(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(scanning_checkpoint, "_SECONDS", 0.0)
    monkeypatch.setattr(scanning_checkpoint, "_TIMES", 0.0)
    scanned(folder, checkpoint=tmp_path / "kept")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["counts-0", "counts-1", "plan.sketch", "run.json"]


@pytest.mark.parametrize(
    "choices",
    [{"iid": True}, {"var_names": ["a", "b"]}, {"exclude": "c"}, {"resolution": 16}, {"memory": "1GB"}, {"missing": "raise"}],
)
def test_a_folder_of_another_call_is_refused(folder, tmp_path, choices):
    scanned(folder, checkpoint=tmp_path / "kept")
    before = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    with pytest.raises(cd.InputError, match="different run") as caught:
        scanned(folder, checkpoint=tmp_path / "kept", **choices)
    assert caught.value.code == "file"
    assert {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()} == before


@pytest.mark.parametrize("change", ["rewritten", "one more", "one fewer", "other columns"])
def test_a_folder_of_other_rows_is_refused(folder, tmp_path, change):
    scanned(folder, checkpoint=tmp_path / "kept")
    if change == "rewritten":
        table(99).to_parquet(folder / "part-03.parquet")
    elif change == "one more":
        table(99).to_parquet(folder / "part-99.parquet")
    elif change == "one fewer":
        (folder / "part-03.parquet").unlink()
    else:
        for path in folder.iterdir():
            pd.read_parquet(path).rename(columns={"a": "z"}).to_parquet(path)
    with pytest.raises(cd.InputError, match="different run"):
        scanned(folder, checkpoint=tmp_path / "kept")


def test_rows_in_no_file_are_not_taken_for_others(tmp_path, read):
    polars = pytest.importorskip("polars")
    frames = [polars.from_pandas(table(k)).lazy() for k in (0, 1)]
    expected = [scanned(frame) for frame in frames]
    for frame, own in zip(frames, expected, strict=True):
        require_same(own, scanned(frame, checkpoint=tmp_path / "kept"))
    read.clear()
    require_same(expected[1], scanned(frames[1], checkpoint=tmp_path / "kept"))
    assert read == []


def test_mapped_arrays(tmp_path, read):
    np.save(tmp_path / "rows.npy", table(0).to_numpy())
    expected = scanned(tmp_path / "rows.npy", checkpoint=tmp_path / "kept")
    read.clear()
    require_same(expected, scanned(tmp_path / "rows.npy", checkpoint=tmp_path / "kept"))
    assert read == []
    np.save(tmp_path / "rows.npy", table(1).to_numpy())
    with pytest.raises(cd.InputError, match="different run"):
        scanned(tmp_path / "rows.npy", checkpoint=tmp_path / "kept")


def test_a_folder_with_other_files_is_refused(folder, tmp_path):
    with pytest.raises(cd.InputError, match="other files"):
        scanned(folder, checkpoint=folder)
    with pytest.raises(cd.InputError, match="checkpoint"):
        scanned(folder, checkpoint=3)


def test_streams_cannot_resume(tmp_path):
    reader = pa.Table.from_pandas(table(0)).to_reader()
    with pytest.raises(cd.InputError, match="only once") as caught:
        scanned(reader, checkpoint=tmp_path / "kept")
    assert caught.value.code == "read-once"
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("rows", [ROWS, 100])
def test_bad_rows_leave_finished_pieces(folder, tmp_path, monkeypatch, read, n_jobs, rows):
    """With 100 rows at a time, three blocks of the piece are counted before the one that cannot be."""
    expected = scanned(folder)
    monkeypatch.setattr(scanning, "block_rows", lambda plan, options: rows)
    original = Piece.blocks

    def blocks(self, columns, rows):
        for k, block in enumerate(original(self, columns, rows)):
            bad = self.label == "part-08.parquet" and (k == 3 or rows == ROWS)
            yield block.to_pandas().replace(block.column(0)[0].as_py(), np.inf) if bad else block

    monkeypatch.setattr(Piece, "blocks", blocks)
    for _ in range(2):
        with pytest.raises(cd.InputError, match=r"part-08\.parquet.*infinite"):
            scanned(folder, checkpoint=tmp_path / "kept", n_jobs=n_jobs)
    monkeypatch.setattr(Piece, "blocks", original)
    read.clear()
    require_same(expected, scanned(folder, checkpoint=tmp_path / "kept", n_jobs=n_jobs))
    assert read[0] == "part-08.parquet"
    assert len(read) <= 4


SLOW = """
import sys, time
from copula_discrepancy.data.streams.source import Piece
from copula_discrepancy.estimate import scanning_checkpoint
from copula_discrepancy.estimate.sketch import DependenceSketch

scanning_checkpoint._SECONDS, scanning_checkpoint._TIMES = 0.1, 0.0
original = Piece.blocks

def blocks(self, columns, rows):
    print(self.label, flush=True)
    time.sleep(0.15)
    return original(self, columns, rows)

Piece.blocks = blocks
DependenceSketch.of(sys.argv[1], checkpoint=sys.argv[2], n_jobs=2, progress=False)
print("end", flush=True)
"""


def test_a_killed_scan_resumes(folder, tmp_path, read):
    kept = tmp_path / "kept"
    command = [sys.executable, "-c", SLOW, str(folder), str(kept)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        deadline = time.monotonic() + 120
        while not (kept / "counts-1").exists() and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.1)
    finally:
        process.kill()
    out, _ = process.communicate()
    assert "end" not in out.split()
    assert process.returncode == (-signal.SIGKILL if os.name == "posix" else 1)
    found = scanned(folder, checkpoint=kept, n_jobs=2)
    assert 0 < len(read) < FILES
    require_same(scanned(folder), found)
