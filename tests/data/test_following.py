"""CSV files that are followed while a sampler writes them: every way to grow, to end, to be replaced and to be wrong."""

import os
import time
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import copula_discrepancy as cd
from copula_discrepancy.data.following.csv_file import GrowingCsv
from copula_discrepancy.data.following.opening import follow
from copula_discrepancy.data.following.progress import UNFINISHED, UNREAD, Growing, Progress, cut_draws
from tests.data.refusals import refusal
from tests.data.test_files import STAN_DRAWS, STAN_NAMES, stan_text, write

TEXT = stan_text(STAN_DRAWS[0])
OTHER = stan_text(STAN_DRAWS[1])


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def settled(monkeypatch):
    monkeypatch.setattr("copula_discrepancy.data.following.csv_run.SETTLED", 0.0)


def append(path, content):
    with open(path, "ab") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def cut_at(text, rows):
    """The text up to the end of this many draws."""
    lines = text.splitlines(keepends=True)
    begin = next(k for k, line in enumerate(lines) if line.startswith("# 1.1")) + 1
    return "".join(lines[: begin + rows]), "".join(lines[begin + rows :])


def test_draws_of_a_growing_file_are_those_of_the_whole_file():
    follower = follow("out.csv")
    progress = follower.poll()
    assert (progress.names, progress.chains, progress.finished) == ((), (), None)
    assert "out.csv" in progress.waiting_for
    begin, rest = cut_at(TEXT, 10)
    write("out.csv", begin)
    first = follower.poll()
    assert first.names == STAN_NAMES
    assert first.labels == ("out.csv",)
    assert (first.new, first.expected, first.finished, first.waiting_for) == (10, 30, None, "")
    np.testing.assert_array_equal(first.chains[0], STAN_DRAWS[0][:10])
    append("out.csv", rest)
    second = follower.poll()
    assert (second.new, second.generation, second.finished) == (20, 0, True)
    np.testing.assert_array_equal(second.chains[0], STAN_DRAWS[0])
    np.testing.assert_array_equal(first.chains[0], STAN_DRAWS[0][:10])  # what was handed out stays
    assert not second.chains[0].flags.writeable
    assert second.divergent[0].shape == (30,)
    assert follower.poll().new == 0
    whole, read = follower.whole(), cd.as_draws("out.csv")
    np.testing.assert_array_equal(whole.values, read.values)
    assert (whole.names, whole.notes) == (read.names, read.notes)


@pytest.mark.parametrize("warmup", [0, 7])
def test_byte_by_byte(warmup):
    text = stan_text(STAN_DRAWS[0][:3], warmup=warmup).replace(",0,8.2,", ",1,8.2,").encode()
    follower = follow("out.csv")
    lengths = []
    write("out.csv", b"")
    for k in range(len(text)):
        append("out.csv", text[k : k + 1])
        progress = follower.poll()
        lengths.append(sum(progress.lengths))
        assert progress.generation == 0
    assert all(0 <= after - before <= 1 for before, after in pairwise(lengths))
    np.testing.assert_array_equal(progress.chains[0], STAN_DRAWS[0][:3])
    assert progress.divergent[0].all()
    assert progress.finished
    assert [note.split()[1] for note in progress.notes] == ["7"] * (warmup > 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(TEXT)), max_size=12), st.sampled_from([0, 5]), st.sampled_from(["\n", "\r\n"]))
def test_however_the_bytes_arrive(tmp_path_factory, cuts, warmup, ends):
    text = stan_text(STAN_DRAWS[0], warmup=warmup).replace("\n", ends).encode()
    path = str(tmp_path_factory.mktemp("run") / "out.csv")
    follower = follow(path, var_names=["theta", "mu"])
    places = sorted({*(min(cut, len(text)) for cut in cuts), len(text)})
    for begin, end in pairwise([0, *places]):
        append(path, text[begin:end])
        progress = follower.poll()
    read = cd.as_draws(path, var_names=["theta", "mu"])
    assert progress.names == read.names
    np.testing.assert_array_equal(progress.chains[0], read.values[0])
    assert progress.finished


def test_numbers_are_those_of_the_reader_to_the_last_bit():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(400, 6)) * 10.0 ** rng.integers(-300, 300, size=(400, 6))
    write("exact.csv", stan_text(values))
    short = stan_text(values)
    for digits in ("%.17g", "%.6g", "%.3e", "%d"):
        rows = ["-7.1,0.9,0.8,2,3,0,8.2," + ",".join(digits % value for value in row) for row in np.clip(values, -1e15, 1e15)]
        begin, _ = cut_at(short, 0)
        write("out.csv", begin + "\n".join(rows) + "\n")
        np.testing.assert_array_equal(follow("out.csv").poll().chains[0], cd.as_draws("out.csv").values[0])
    np.testing.assert_array_equal(follow("exact.csv").poll().chains[0], values)


def test_chains_of_unequal_length_are_told_and_cut():
    follower = follow(["b.csv", "a.csv", "c.csv"])
    begin, _ = cut_at(TEXT, 12)
    write("a.csv", begin)
    progress = follower.poll()
    assert (progress.labels, progress.lengths) == (("b.csv", "a.csv", "c.csv"), (0, 12, 0))
    write("b.csv", OTHER)
    progress = follower.poll()
    assert (progress.lengths, progress.new) == ((30, 12, 0), 30)
    assert "12" in progress.notes[-1] or "0 draws" in progress.notes[-1]
    assert progress.finished is None
    assert "c.csv" in progress.waiting_for
    whole = follower.whole()
    np.testing.assert_array_equal(whole.values, [STAN_DRAWS[1][:12], STAN_DRAWS[0][:12]])
    assert "c.csv" in whole.notes[-1]
    assert "18" in whole.notes[-1]


def test_draws_that_were_cut_have_the_layout_of_a_reader():
    write("a.csv", TEXT)
    write("b.csv", OTHER)
    read = follow(["a.csv", "b.csv"])
    read.poll()
    append("b.csv", "-7.1,0.9")  # so that the files cannot be read as a whole
    cut = follow(["a.csv", "b.csv"])
    progress = cut.poll()
    assert any("unfinished" in note for note in progress.notes)
    np.testing.assert_array_equal(cut.whole().values, STAN_DRAWS)
    write("b.csv", OTHER)
    assert cut.whole().values.strides == read.whole().values.strides


def test_an_unfinished_last_line_waits():
    begin, rest = cut_at(TEXT, 10)
    write("out.csv", begin + rest[:20])
    follower = follow("out.csv")
    progress = follower.poll()
    assert progress.lengths == (10,)
    assert len(progress.notes) == 1
    assert follower.whole().n_draws == 10  # of a sampler that was killed
    append("out.csv", rest[20:])
    progress = follower.poll()
    assert (progress.lengths, progress.notes) == ((30,), ())


def test_the_whole_is_what_was_followed():
    """Files that change between the last poll and the final answer give the draws that were followed."""
    begin, rest = cut_at(TEXT, 10)
    write("a.csv", begin)
    follower = follow("a.csv")
    follower.poll()
    assert len(follower.whole().notes) == 2  # those of the reader
    for more in ("-7.1,0.9", rest.splitlines()[0][8:] + "\n"):
        append("a.csv", more)
        whole = follower.whole()
        np.testing.assert_array_equal(whole.values[0], STAN_DRAWS[0][:10])
        assert len(whole.notes) == 1
    write("plain.csv", "a,b\n" + "".join(f"{k},{k % 7}.5\n" for k in range(200)))
    plain = follow("plain.csv")
    assert plain.poll().names == ("a", "b")
    assert plain.whole().names == ("b",)  # the other column numbers the rows, which only the whole file tells
    append("plain.csv", "200,4")
    assert plain.whole().n_draws == 200


def test_warm_up_is_left_out():
    text = stan_text(STAN_DRAWS[0], warmup=20)
    place = text.index("9e9,9e9,9e9,9e9,9e9,9e9\n") + len("9e9,9e9,9e9,9e9,9e9,9e9\n")
    follower = follow("out.csv")
    write("out.csv", text[:place])
    progress = follower.poll()
    assert progress.lengths == (0,)
    assert progress.names == STAN_NAMES
    assert progress.waiting_for
    assert [note.split()[1:4] for note in progress.notes] == [["1", "of", "20"]]
    append("out.csv", text[place:])
    progress = follower.poll()
    np.testing.assert_array_equal(progress.chains[0], STAN_DRAWS[0])
    assert progress.waiting_for == ""


def test_the_mean_of_a_variational_fit_is_left_out():
    write("advi.csv", stan_text(STAN_DRAWS[0]).replace("method = sample (Default)", "method = variational"))
    np.testing.assert_array_equal(follow("advi.csv").poll().chains[0], cd.as_draws("advi.csv").values[0])


def test_selection_is_that_of_the_reader():
    write("out.csv", TEXT)
    for choices in (
        {"var_names": ["lp__", "mu"]}, {"exclude": ["theta"]}, {"var_names": "~S"}, {"var_names": ["divergent__", "mu"]},
        {"var_names": ["z", "S"], "filter_vars": "like"},
    ):  # fmt: skip
        follower = follow("out.csv", **choices)
        progress, read = follower.poll(), cd.as_draws("out.csv", **choices)
        assert progress.names == read.names
        np.testing.assert_array_equal(progress.chains[0], read.values[0])
        assert follower.whole().names == read.names
    refusal("unknown-name", follow("out.csv", var_names="nothing").poll)
    refusal("argument", follow, "out.csv", group="prior")
    refusal("argument", follow, "out.csv", chains="mu")


# files that are replaced


def test_a_truncated_file_begins_anew():
    write("out.csv", TEXT)
    follower = follow("out.csv")
    before = follower.poll()
    begin, rest = cut_at(OTHER, 5)
    write("out.csv", begin)
    progress = follower.poll()
    assert (progress.generation, progress.new) == (1, 5)
    np.testing.assert_array_equal(progress.chains[0], STAN_DRAWS[1][:5])
    assert "30" in progress.restarts[0]
    np.testing.assert_array_equal(before.chains[0], STAN_DRAWS[0])
    append("out.csv", rest)
    progress = follower.poll()
    assert (progress.generation, progress.new) == (1, 25)


def test_draws_of_all_earlier_runs_are_counted():
    write("out.csv", TEXT)
    follower = follow("out.csv")
    follower.poll()
    for seed, total in ((2, 30), (3, 42), (4, 54)):
        write("out.csv", stan_text(np.random.default_rng(seed).normal(size=(12, STAN_DRAWS.shape[2]))))
        assert f"; {total} earlier draws are discarded" in follower.poll().restarts[0]


def test_files_in_which_the_run_began_anew_are_in_one_note():
    names = [f"run_{k}.csv" for k in range(5)]
    for name in names:
        write(name, TEXT)
    follower = follow(names)
    follower.poll()
    for name in names[:4]:
        write(name, cut_at(OTHER, 5)[0])
    notes = follower.poll().restarts
    assert len(notes) == 1
    assert [name in notes[0] for name in names] == [True, True, True, False, False]
    assert "1 more" in notes[0]
    assert "120 earlier draws" in notes[0]


@pytest.mark.parametrize("mode", ["ab", "r+b"])
@pytest.mark.parametrize("seen", [True, False])
def test_a_file_that_is_truncated_while_its_writer_goes_on_has_no_header(mode, seen):
    """A writer goes on at the end of the file or at its old place, and then leaves a hole of zero bytes."""
    write("out.csv", cut_at(TEXT, 10)[0])
    size = os.path.getsize("out.csv")
    follower = follow("out.csv")
    follower.poll()
    os.truncate("out.csv", 0)
    if seen:
        follower.poll()
    with open("out.csv", mode) as file:
        if mode == "r+b":
            file.seek(size)
        file.write(cut_at(TEXT, 10)[1].encode())
    for _ in range(2):
        message = refusal("file-format", follower.poll)
        assert "truncated" in message
        assert "names" not in message


def test_a_hole_in_the_middle_is_told_as_what_it_is():
    begin, rest = cut_at(TEXT, 10)
    write("out.csv", begin.encode() + bytes(500))
    follower = follow("out.csv")
    assert follower.poll().lengths == (10,)  # a network file system may show zero bytes before it has the text
    append("out.csv", rest)
    assert f"line {begin.count(chr(10)) + 1} " in refusal("file-format", follower.poll)
    write("long.csv", bytes(1000))
    assert follow("long.csv").poll().waiting_for


def test_a_replaced_file_begins_anew_at_any_size():
    write("out.csv", cut_at(TEXT, 3)[0])
    follower = follow("out.csv")
    follower.poll()
    write("new.csv", OTHER)
    os.replace("new.csv", "out.csv")
    progress = follower.poll()
    assert progress.generation == 1
    np.testing.assert_array_equal(progress.chains[0], STAN_DRAWS[1])
    other = TEXT.replace("m_model", "n_model")  # of the same size, in the same file
    write("out.csv", TEXT)
    follower = follow("out.csv")
    follower.poll()
    with open("out.csv", "r+b") as file:
        file.write(other.encode())
    os.utime("out.csv", ns=(0, 0))
    assert follower.poll().generation == 1


def test_a_copy_that_is_replaced_by_a_longer_one_goes_on():
    begin, _ = cut_at(TEXT, 10)
    write("out.csv", begin)
    follower = follow("out.csv")
    follower.poll()
    write("copy.csv", TEXT)  # as rsync does
    os.replace("copy.csv", "out.csv")
    progress = follower.poll()
    assert (progress.generation, progress.new) == (0, 20)


def test_a_deleted_file_keeps_its_draws():
    write("out.csv", cut_at(TEXT, 10)[0])
    follower = follow("out.csv")
    follower.poll()
    os.remove("out.csv")
    for _ in range(2):
        progress = follower.poll()
        assert (progress.lengths, progress.new, progress.generation) == ((10,), 0, 0)
        assert "out.csv" in progress.waiting_for
    assert follower.whole().n_draws == 10
    write("out.csv", OTHER)
    progress = follower.poll()
    assert (progress.generation, progress.new, progress.waiting_for) == (1, 30, "")


def seeded(draws, seed, number, **changes):
    text = stan_text(draws, settings=f"# id = {number}\n# random\n#   seed = {seed}\n")
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


@pytest.mark.usefixtures("settled")
def test_files_of_the_earlier_run_are_set_aside_until_they_are_replaced():
    for k in (0, 1):
        write(f"run_{k}.csv", seeded(STAN_DRAWS[k], 11, k))
    follower = follow("run_*.csv")
    assert follower.poll().finished
    write("run_0.csv", cut_at(seeded(STAN_DRAWS[1], 12, 0), 4)[0])
    progress = follower.poll()
    assert (progress.labels, progress.lengths, progress.finished) == (("run_0.csv",), (4,), None)
    assert "run_1.csv" in progress.waiting_for
    # draws of two runs are no sample, however many chains the files have
    whole = follower.whole()
    np.testing.assert_array_equal(whole.values[0], STAN_DRAWS[1][:4])
    assert (whole.n_chains, whole.chain_names) == (1, ("run_0.csv",))
    assert "read without the files of the earlier run" in whole.notes
    write("run_1.csv", cut_at(seeded(STAN_DRAWS[0], 12, 1), 5)[0])
    progress = follower.poll()
    assert (progress.generation, progress.new, progress.lengths) == (2, 9, (4, 5))
    assert progress.waiting_for == ""


def test_a_further_chain_of_the_new_run_is_no_part_of_the_earlier_one():
    for k in (0, 1):
        write(f"run_{k}.csv", seeded(STAN_DRAWS[k], 11, k))
    follower = follow("run_*.csv")
    follower.poll()
    write("run_0.csv", cut_at(seeded(STAN_DRAWS[1], 12, 0), 4)[0])
    write("run_2.csv", cut_at(seeded(STAN_DRAWS[1], 12, 2), 7)[0])
    progress = follower.poll()
    assert (progress.labels, progress.lengths) == (("run_0.csv", "run_2.csv"), (4, 7))
    assert "run_1.csv" in progress.waiting_for


def test_one_chain_that_is_run_again_stays_with_the_others():
    for k in (0, 1):
        write(f"run_{k}.csv", seeded(STAN_DRAWS[k], 11, k))
    follower = follow("run_*.csv")
    follower.poll()
    write("run_0.csv", cut_at(seeded(STAN_DRAWS[1], 11, 0), 4)[0])
    assert follower.poll().lengths == (4, 30)


@pytest.mark.parametrize("whole", [True, False])
def test_chains_are_called_by_their_files_in_the_order_of_readers(whole):
    """A file that appears first is the first chain while the run goes on, and where its name puts it at the end."""
    write("run_10.csv", seeded(STAN_DRAWS[0], 11, 10))
    follower = follow("run_*.csv")
    assert follower.poll().labels == ("run_10.csv",)
    write("run_9.csv", seeded(STAN_DRAWS[1], 11, 9) if whole else cut_at(seeded(STAN_DRAWS[1], 11, 9), 20)[0])
    assert follower.poll().labels == ("run_10.csv", "run_9.csv")
    read = follower.whole()
    assert read.chain_names == ("run_9.csv", "run_10.csv")
    np.testing.assert_array_equal(read.values, np.stack([STAN_DRAWS[1], STAN_DRAWS[0]])[:, : 30 if whole else 20])


@pytest.mark.parametrize("where", ["numbers", "rows", "flags", "header"])
def test_a_reading_that_is_interrupted_is_done_again(where, monkeypatch):
    begin, rest = cut_at(TEXT, 10)
    write("out.csv", begin)
    follower = follow("out.csv")
    if where != "header":
        follower.poll()
        append("out.csv", rest)

    def interrupt(owner, name):
        before = getattr(owner, name)

        def once(self, *given):
            before(self, *given)
            monkeypatch.setattr(owner, name, before)
            if where == "flags" and self.view().ndim > 1:
                monkeypatch.setattr(owner, name, once)
                return
            raise KeyboardInterrupt

        monkeypatch.setattr(owner, name, once)

    if where in ("rows", "flags"):
        interrupt(Growing, "extend")
    else:
        interrupt(GrowingCsv, "_numbers_of" if where == "numbers" else "_rows_among")
    with pytest.raises(KeyboardInterrupt):
        follower.poll()
    progress = follower.poll()
    expected = STAN_DRAWS[0][:10] if where == "header" else STAN_DRAWS[0]
    np.testing.assert_array_equal(progress.chains[0], expected)
    assert len(progress.divergent[0]) == len(expected)


def test_missing_values_of_divergences_are_told_as_readers_tell_them():
    text = TEXT.replace(",0,8.2,", ",nan,8.2,", 1)
    assert text != TEXT
    write("out.csv", text)
    follower = follow("out.csv")
    progress = follower.poll()
    assert progress.divergent is None
    assert any("divergences were not used: divergent__ has missing values" in note for note in progress.notes)
    np.testing.assert_array_equal(progress.chains[0], STAN_DRAWS[0])
    assert follower.whole().diverging is None


def test_a_file_without_a_header_is_there():
    """CmdStan writes its settings before it finds a start, which may take long."""
    follower = follow(["out.csv", "other.csv"])
    assert not follower.poll().exists
    write("out.csv", TEXT[:40])
    assert follower.poll().exists


# which files


@pytest.mark.usefixtures("settled")
def test_files_that_appear_in_a_folder():
    follower = follow("runs")
    assert "runs" in follower.poll().waiting_for
    refusal("too-few-draws", follower.whole)
    os.mkdir("runs")
    assert follower.poll().waiting_for
    write("runs/run_10.csv", cut_at(seeded(STAN_DRAWS[0], 1, 10), 6)[0])
    write("runs/run_2.csv", cut_at(seeded(STAN_DRAWS[1], 1, 2), 6)[0])
    write("runs/run_2-stdout.txt", "Iteration: 1")
    write("runs/.hidden.csv", "a,b\n1,2\n")
    assert follower.poll().labels == ("run_2.csv", "run_10.csv")
    write("runs/run_1.csv", "")
    progress = follower.poll()
    assert (progress.labels, progress.lengths) == (("run_2.csv", "run_10.csv", "run_1.csv"), (6, 6, 0))
    for k, draws in ((1, STAN_DRAWS[0]), (2, STAN_DRAWS[1]), (10, STAN_DRAWS[0])):
        write(f"runs/run_{k}.csv", seeded(draws, 1, k))
    assert follower.poll().finished
    np.testing.assert_array_equal(follower.whole().values, cd.as_draws("runs/run_*.csv").values)


def test_the_number_of_chains_that_will_come():
    write("run_1.csv", TEXT)
    follower = follow("run_*.csv", chains=2)
    progress = follower.poll()
    assert progress.finished is None
    assert progress.waiting_for.startswith("1 of 2 ")
    write("run_2.csv", OTHER)
    assert follower.poll().finished  # at once
    assert follow(["run_1.csv", "run_2.csv"]).poll().finished
    progress = follow("run_*.csv", chains=5).poll()
    assert (progress.finished, progress.waiting_for.split()[:3]) == (None, ["3", "of", "5"])
    write("run_3.csv", OTHER)
    refusal("shape", follower.poll)


@pytest.mark.parametrize("source", ["run_*.csv", "."])
def test_further_chains_may_begin_until_the_files_of_a_pattern_rest(source, monkeypatch):
    """CmdStan without threads runs one chain after another; copies, as by rsync -t, may be old when they appear."""
    rest, now = 11.0, [100.0]  # seconds, more than SETTLED
    clocks = SimpleNamespace(time=time.time, monotonic=lambda: now[0])
    monkeypatch.setattr("copula_discrepancy.data.following.csv_run.time", clocks)
    write("run_1.csv", seeded(STAN_DRAWS[0], 11, 1))
    follower = follow(source)
    progress = follower.poll()
    assert (progress.lengths, progress.finished) == ((30,), None)
    assert progress.waiting_for
    write("run_2.csv", cut_at(seeded(STAN_DRAWS[1], 11, 2), 4)[0])
    os.utime("run_1.csv", (time.time() - rest,) * 2)
    progress = follower.poll()
    assert (progress.lengths, progress.finished, progress.waiting_for) == ((30, 4), None, "")
    write("run_2.csv", seeded(STAN_DRAWS[1], 11, 2))
    assert follower.poll().finished is None  # the newest file counts
    os.utime("run_2.csv", (time.time() - rest,) * 2)
    assert follower.poll().finished is None  # it grew while it was followed, whatever its time says
    now[0] += rest
    progress = follower.poll()
    assert (progress.lengths, progress.finished, progress.waiting_for) == ((30, 30), True, "")
    assert follow(source).poll().finished  # files that were there, and old, at the first look


def test_what_several_files_lack_is_one_clause():
    names = [f"run_{k}.csv" for k in range(6)]
    follower = follow(names)
    assert follower.poll().waiting_for.startswith("6 files ")
    for name in names[1:]:
        write(name, cut_at(TEXT, 0)[0])
    waiting = follower.poll().waiting_for.split("; ")
    assert [clause.split(" ", 2)[:2] for clause in waiting] == [["run_0.csv", "does"], ["5", "files"]]
    for name in names:
        write(name, TEXT)
    assert follower.poll().waiting_for == ""
    for name in names[:2]:
        os.remove(name)
    assert all(name in follower.poll().waiting_for for name in names[:2])  # which files are gone has to be known


def test_chains_that_have_not_begun_are_counted(tmp_path):
    stan_like = "mu,tau\n" + "0.5,1.5\n0.25,1.25\n" * 3
    (tmp_path / "run_1.csv").write_text(stan_like)
    assert follow(str(tmp_path / "run_*.csv"), chains=4).poll().missing_chains == 3
    assert follow(str(tmp_path / "run_*.csv")).poll().missing_chains == 0


def test_a_folder_that_may_not_be_read_is_not_called_empty(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    for source in (str(tmp_path / "run_*.csv"), str(tmp_path)):
        follower = follow(source)
        assert "permission denied" in refusal("file", follower.poll)


def test_a_folder_without_files_is_called_by_its_name():
    os.mkdir("out[1]")
    waiting = follow("out[1]").poll().waiting_for
    assert "out[1]" in waiting
    assert "*" not in waiting


def stamped(first, second):
    write("m-20260101120000_1.csv", first)
    write("m-20260101130000_1.csv", second)


TWO_RUNS = [
    lambda: (write("a.csv", TEXT), write("b.csv", TEXT.replace("m_model", "n_model"))),
    lambda: (write("a.csv", TEXT), write("b.csv", TEXT.replace("num_samples = 30", "num_samples = 40"))),
    lambda: (write("a.csv", TEXT), write("b.csv", TEXT.replace(",mu,", ",nu,"))),
    lambda: [write(f"{name}{k}.csv", seeded(STAN_DRAWS[0], ord(name), k)) for name in "ab" for k in (1, 2)],
    lambda: stamped(TEXT, OTHER),
]


@pytest.mark.parametrize("make", TWO_RUNS)
def test_two_runs_in_one_folder(make):
    os.mkdir("runs")
    os.chdir("runs")
    make()
    names = sorted(os.listdir())
    os.chdir("..")
    follower = follow("runs")
    message = refusal("two-runs", follower.poll)
    assert sum(name in message for name in names) == 2
    assert refusal("two-runs", follower.poll) == message  # again


def test_chains_of_one_run_that_look_alike():
    """Four runs by hand have one id and different seeds, and CmdStan with num_chains writes one id into all files."""
    for k in range(4):
        write(f"a{k}.csv", seeded(STAN_DRAWS[0], k, 1))
        write(f"b{k}.csv", seeded(STAN_DRAWS[0], 5, 1).replace("# id = 1\n", "# id = 1\n# num_chains = 4\n"))
    for pattern in ("a*.csv", "b*.csv"):
        assert follow(pattern).poll().lengths == (30,) * 4


FAULTS = [
    (TEXT.replace("\n#\n#  Elapsed", "\n-7.1,0.9\n1,2\n#\n#  Elapsed"), "file-format"),  # a line that was cut, and more rows
    (TEXT + cut_at(TEXT, 2)[0].split("thin = 1 (Default)\n")[1], "not-numeric"),  # a second run in the same file
    (TEXT + ",".join(["x"] * 13) + "\n", "not-numeric"),
    (TEXT + ",".join([""] * 13) + "\n", "not-numeric"),
    (TEXT + ",".join(["1_0"] * 13) + "\n", "not-numeric"),
    (TEXT + ",".join(["nan"] * 13) + "\n", "nan"),
    (TEXT + ",".join(["inf"] * 13) + "\n", "infinite"),
    (TEXT.replace(",mu,", ",theta.1,"), "argument"),
    ("1,2\n3,4\n", "file-format"),
    ("chain,a\n3,4\n", "file-format"),
    ("id,a\n3,4\n", "file-format"),
    (b"# stan\n\xff\xfe,a\n", "file-format"),
    ("a\rb,c\n1,2\n", "file-format"),
]


@pytest.mark.parametrize(("content", "code"), FAULTS)
def test_files_that_cannot_come_right(content, code):
    content = content if isinstance(content, bytes) else content.encode()
    for size in (len(content), 7, 400):
        write("out.csv", b"")
        follower = follow("out.csv")
        caught = None
        for k in range(0, len(content), size):
            append("out.csv", content[k : k + size])
            try:
                follower.poll()
            except cd.InputError as error:
                caught = error
                break
        assert caught is not None
        assert caught.code == code, str(caught)
        assert str(caught).startswith("out.csv: ")
        again = refusal(code, follower.poll)
        assert again == str(caught)


def test_a_header_that_is_no_csv_is_an_error_that_says_why():
    for header, words in (("a\rb,c", "a carriage return inside"), ("a," + "b" * 200_000, "a name of 200,000 characters")):
        with open("out.csv", "wb") as file:  # no line ends of its own
            file.write(f"# a comment\n{header}\n1,2\n".encode())
        assert refusal("file-format", follow("out.csv").poll).startswith(f"out.csv: the header (line 2) has {words}; ")


def test_an_error_gives_the_line():
    lines = TEXT.splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("-7.1")) + 3
    lines[place] = lines[place].replace("-7.1", "x,-7.1", 1)
    write("out.csv", "\n".join(lines) + "\n")
    assert f"line {place + 1} " in refusal("file-format", follow("out.csv").poll)
    begin, _ = cut_at(TEXT, 3)
    write("out.csv", begin)
    follower = follow("out.csv")
    follower.poll()
    append("out.csv", "1,2\n")
    assert f"line {begin.count(chr(10)) + 1} " in refusal("file-format", follower.poll)


def test_formats_that_cannot_grow():
    for path in ("a.csv.gz", "a.parquet", "a.xlsx"):
        refusal("file-format", follow, path)
    refusal("file", follow, ["a.csv", "./a.csv"])
    refusal("argument", follow, 5)
    refusal("argument", follow, [])
    write("plain", "a,b\n")
    refusal("file-format", follow, "plain")


def test_plain_files_grow_too():
    write("a.csv", "x,y\n1,2\n3.5,-4e2\n")
    follower = follow("a.csv")
    progress = follower.poll()
    assert (progress.names, progress.lengths, progress.divergent, progress.expected) == (("x", "y"), (2,), None, None)
    append("a.csv", "7,8\n9,")
    np.testing.assert_array_equal(follower.poll().chains[0], [[1, 2], [3.5, -400], [7, 8]])
    append("a.csv", "10\n")
    follower.poll()
    np.testing.assert_array_equal(follower.whole().values, cd.as_draws("a.csv").values)


def test_files_whose_columns_are_in_another_order():
    frame = pd.DataFrame(STAN_DRAWS[0][:, :2], columns=["a", "b"])
    frame.to_csv("a.csv", index=False)
    frame[["b", "a"]].to_csv("b.csv", index=False)
    progress = follow(["a.csv", "b.csv"]).poll()
    np.testing.assert_array_equal(*progress.chains)


def test_a_large_file_is_read_in_pieces(monkeypatch):
    monkeypatch.setattr("copula_discrepancy.data.following.csv_file._BLOCK", 100)
    write("out.csv", TEXT)
    progress = follow("out.csv").poll()
    np.testing.assert_array_equal(progress.chains[0], STAN_DRAWS[0])


def test_a_look_at_a_file_without_news_reads_nothing(monkeypatch):
    write("out.csv", TEXT)
    follower = follow("out.csv")
    follower.poll()
    monkeypatch.setattr("copula_discrepancy.data.following.csv_file.GrowingCsv._advance", lambda *given: pytest.fail("read"))
    assert follower.poll().new == 0


def test_catching_up_is_fast():
    values = np.random.default_rng(1).normal(size=(20_000, 6))
    write("out.csv", stan_text(values))
    begin = time.process_time()
    assert follow("out.csv").poll().new == 20_000
    assert time.process_time() - begin < 5.0  # a tenth of a second where this was written, and far from a loop over cells


def test_a_path_that_cannot_be_read_waits(monkeypatch):
    follower = follow(["out.csv"])
    write("out.csv", cut_at(TEXT, 10)[0])
    follower.poll()
    os.remove("out.csv")
    os.mkdir("out.csv")  # any error of the system but a missing file
    progress = follower.poll()
    assert progress.lengths == (10,)
    assert "out.csv" in progress.waiting_for
    os.rmdir("out.csv")
    write("out.csv", b"\1" * 1000)
    monkeypatch.setattr("copula_discrepancy.data.following.csv_file._BLOCK", 50)
    monkeypatch.setattr("copula_discrepancy.data.following.csv_file._LONGEST", 200)
    refusal("file-format", follow("out.csv").poll)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read():
    write("out.csv", TEXT)
    os.chmod("out.csv", 0)
    refusal("file", follow("out.csv").poll)


def spoken():
    """What followers say, by what happens, for the snapshot of messages."""
    for make in TWO_RUNS:
        for name in os.listdir():
            os.remove(name)
        make()
        yield "two-runs", refusal("two-runs", follow("*.csv").poll)
    for name in os.listdir():
        os.remove(name)
    for content, code in FAULTS:
        write("out.csv", content)
        yield code, refusal(code, follow("out.csv").poll)
    for source in (
        "run.csv.gz",
        "run.parquet",
        ["a.csv", "b.nc"],
        ["a.csv", "./a.csv"],
        ["a.zarr", "b.zarr"],
        "*.nc",
        "run_*",
        ["r_*.csv", "a.csv"],
        "",
        5,
    ):
        with pytest.raises(cd.InputError) as caught:
            follow(source)
        yield caught.value.code, str(caught.value)
    for source in ("none.csv", "folder", "folder/*.csv", "run_*.csv", "none.nc", "none.zarr", ["a.csv", "b.csv"]):
        yield "waiting", follow(source).poll().waiting_for
    os.mkdir("folder")
    yield "waiting", follow("folder").poll().waiting_for
    os.rmdir("folder")
    write("out.csv", TEXT)
    yield "waiting", follow("out*.csv", chains=3).poll().waiting_for
    follower = follow(["out.csv"])
    yield "waiting", follow("out*.csv").poll().waiting_for
    follower.poll()
    write("out.csv", cut_at(TEXT, 2)[1])
    yield "file-format", refusal("file-format", follower.poll)
    write("out.csv", bytes(9) + b"1,2\n")
    yield "file-format", refusal("file-format", follow("out.csv").poll)
    os.remove("out.csv")
    np.save("run.npy", STAN_DRAWS)
    os.utime("run.npy", (0, 0))
    follower = follow("run.npy")
    follower.poll()
    write("run.npy", "damaged")
    os.utime("run.npy", (0, 0))
    yield from (("note", note) for note in follower.poll().notes)
    os.remove("run.npy")
    progress = follower.poll()
    yield "waiting", progress.waiting_for
    yield from (("note", note) for note in progress.notes)
    begin, rest = cut_at(stan_text(STAN_DRAWS[0], warmup=20), 0)
    follower = follow(["out.csv", "other.csv"])
    for content in ("# stan", begin[:-600], begin + rest[:800], begin + rest, rest and begin + rest[:900]):
        write("out.csv", content)
        progress = follower.poll()
        yield "waiting", progress.waiting_for
        yield from (("note", note) for note in (*progress.restarts, *progress.notes))
    os.remove("out.csv")
    yield "waiting", follower.poll().waiting_for
    yield from (("note", note) for note in follower.whole().notes)


def test_divergent_draws_are_kept_where_chains_are_cut():
    long, short = (np.zeros((n, 2)) for n in (6, 4))
    flags = np.array([True, False, True, False, False, True]), np.array([False, True, False, False])
    progress = Progress((long, short, np.zeros((0, 2))), ("a", "b"), ("0", "1", "2"), divergent=(*flags, np.zeros(0, bool)))
    np.testing.assert_array_equal(cut_draws(progress, "").diverging, [flags[0][:4], flags[1]])
    assert cut_draws(replace(progress, divergent=None), "").diverging is None


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_by_two_names_is_refused(link):
    """Its chain would count twice: effective draws would double, and R-hat would agree with itself."""
    write("run_1.csv", TEXT)
    write("run_2.csv", OTHER)
    link("run_1.csv", "run_1_latest.csv")
    for source in ("run_*.csv", "."):
        message = refusal("file", follow(source).poll)
        assert "run_1.csv" in message
        assert "run_1_latest.csv" in message
        assert "link" in message


def test_a_byte_order_mark_before_stans_comments():
    write("out.csv", b"\xef\xbb\xbf" + TEXT.encode())
    follower = follow("out.csv")
    progress = follower.poll()
    assert (progress.names, progress.finished) == (cd.as_draws("out.csv").names, True)
    np.testing.assert_array_equal(progress.chains[0], STAN_DRAWS[0])
    assert follower.whole().notes == cd.as_draws("out.csv").notes


def test_patterns_and_paths():
    for name in ("r_1.csv", "r_2.csv", "s[1].csv"):
        write(name, TEXT if "1" in name else OTHER)
    assert follow("r_*").poll().lengths == (30, 30)
    assert follow("s[1].csv").poll().lengths == (30,)  # a name, though it has brackets
    assert "alone" in refusal("file", follow, ["r_*.csv", "s[1].csv"])
    assert "empty" in refusal("file", follow, "")
    assert "empty" in refusal("file", follow, ["r_1.csv", ""])
    assert "ends with .csv" in refusal("file", follow, "t_*")
    write("r_1.json", "{}")
    message = refusal("file", follow, "r_*")
    assert "r_1.json" in message
    assert "ends with .csv" in message


def test_what_is_read_again_at_the_end_is_what_was_followed():
    """If not, the draws are those that were followed, and a note says so; files that were complete may go."""
    begin, _ = cut_at(TEXT, 12)
    write("out.csv", begin + "1.0,2.0")  # killed in the middle of a line
    follower = follow("out.csv")
    follower.poll()
    assert follower.whole().notes[-1] == "the last line of a file is unfinished, and left out"
    os.remove("out.csv")
    follower.poll()
    assert follower.whole().notes[-1] == f"{UNREAD}: files are gone or cannot be read"
    write("out.csv", TEXT)
    follower = follow("out.csv")
    follower.poll()
    os.remove("out.csv")
    assert follower.poll().finished
    whole = follower.whole()
    assert not [note for note in whole.notes if note.startswith(UNREAD)]
    assert "gone" in whole.notes[-1]
    np.testing.assert_array_equal(whole.values[0], STAN_DRAWS[0])


def test_what_is_left_of_a_line_of_a_file_that_grew_is_not_counted():
    """Its writer was killed, and the last number may be a part of one: -12.34 cut to -1 would be another draw."""
    for k in range(2):
        write(f"run_{k}.csv", "a,b\n" + "".join(f"{j}.5,{k}.25\n" for j in range(20)))
    follower = follow(["run_0.csv", "run_1.csv"])
    follower.poll()
    for k in range(2):
        with open(f"run_{k}.csv", "a") as file:
            file.write(f"-7.5,1.25\n-12.5,-{k}")
    progress = follower.poll()
    assert progress.lengths == (21, 21)
    assert UNFINISHED in progress.notes
    whole = follower.whole()
    assert whole.n_draws == 21
    assert "the last line of a file is unfinished, and left out" in whole.notes
    np.testing.assert_array_equal(whole.values, np.stack(progress.chains))


def test_a_last_line_without_an_end_counts_as_readers_count_it():
    """Plain files may end so; Stan's do not, so that what is left of a line may be a part of a number."""
    rows = np.random.default_rng(1).normal(size=(2, 40, 2))
    for k, values in enumerate(rows):
        text = "\n".join(["a,b", *(",".join(map(repr, row)) for row in values.tolist())])
        write(f"run_{k}.csv", text)
    follower = follow(["run_0.csv", "run_1.csv"])
    assert follower.poll().lengths == (39, 39)
    whole, read = follower.whole(), cd.as_draws(["run_0.csv", "run_1.csv"])
    np.testing.assert_array_equal(whole.values, read.values)
    assert whole.notes == read.notes
    append("run_1.csv", "\n0.5")
    follower.poll()
    whole = follower.whole()
    assert whole.n_draws == 39
    assert "unfinished" in whole.notes[-1] or "still written" in whole.notes[-1]


def test_names_between_quotes_may_have_commas():
    text = '"mu, a",b\n' + "".join(f"{k / 7!r},{k % 5 / 3!r}\n" for k in range(30))
    write("out.csv", text)
    progress = follow("out.csv").poll()
    read = cd.as_draws("out.csv")
    assert progress.names == read.names == ("mu, a", "b")
    np.testing.assert_array_equal(progress.chains[0], read.values[0])
