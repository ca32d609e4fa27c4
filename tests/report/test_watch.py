"""Watching from Python: sources of every kind, the page that is kept up to date, and the views of a terminal and a notebook."""

import errno
import html
import io
import math
import shutil
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare.watching import Watching
from copula_discrepancy.report.live import live_view, terminal_lines
from copula_discrepancy.report.watch import LivePage, shown
from tests.caveat_codes import codes_of
from tests.growing import Clock, chains_of

DRAWS, REFERENCE = chains_of(4, 400, 0.6, seed=1), chains_of(4, 400, 0.6, seed=2)
NAMES = ("x0", "x1", "x2")


def blocks(values=DRAWS, size=100):
    for start in range(0, values.shape[1], size):
        yield {name: values[:, start : start + size, k] for k, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def watched():
    seen = []
    last = cd.watch(blocks(), REFERENCE, every=0.0, share=1.0, n_jobs=1, on_update=seen.append, progress=False)
    return seen, last


def test_an_iterator_is_watched_to_its_end(watched):
    seen, last = watched
    assert [update.lengths[0] for update in seen] == [100, 200, 300, 400, 400, 400]
    assert [update.ending for update in seen] == [False] * 4 + [True, False]
    assert seen[-1] is last
    exact = cd.pairwise({name: DRAWS[:, :, k] for k, name in enumerate(NAMES)}, REFERENCE)
    for name in exact.rows.dtype.names:
        ours, theirs = last.result.rows[name], exact.rows[name]
        assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"), name


def test_plain_arrays_and_a_plain_reference_have_no_names():
    """Both are matched by position, which is no news."""
    seen = []
    arrays = (DRAWS[:, start : start + 200] for start in (0, 200))
    last = cd.watch(arrays, REFERENCE, every=0.0, share=1.0, n_jobs=1, on_update=seen.append, progress=False)
    assert seen[0].result is not None
    for update in (seen[0], last):
        assert not any("names" in note for note in update.all_notes)
    assert last.result.names == NAMES


def test_a_lost_dependence_is_found_before_the_end():
    lost = DRAWS.copy()
    lost[..., 0] = np.random.default_rng(3).permuted(lost[..., 0], axis=1)
    seen = []
    cd.watch(blocks(lost), REFERENCE, every=0.0, share=1.0, n_jobs=1, on_update=seen.append, progress=False)
    looks = [update.result for update in seen if update.result is not None and not update.final]
    assert looks[0].samples[0].n_draws <= 200
    flagged = {frozenset(pair.names) for pair in looks[0] if pair.flagged}
    assert flagged >= {frozenset(("x0", "x1")), frozenset(("x0", "x2"))}


def test_a_reference_file_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "reference.npy"
    np.save(path, REFERENCE)
    opened = []
    load = np.load
    monkeypatch.setattr(np, "load", lambda *given, **choices: (opened.append(1), load(*given, **choices))[1])
    cd.watch(blocks(), str(path), every=0.0, share=1.0, progress=False, n_jobs=1)
    assert len(opened) == 1


def test_known_copulas_and_correlations_are_targets():
    matrix = np.full((3, 3), 0.6) + 0.4 * np.eye(3)
    for target in (cd.Gaussian(0.6), matrix, {("x0", "x2"): cd.Gaussian(0.6)}):
        last = cd.watch(blocks(), target, every=0.0, share=1.0, progress=False, n_jobs=1)
        assert last.result.outcome == "no gap"
        assert len(last.result) == (1 if isinstance(target, dict) else 3)


def test_wrong_targets_and_sources_are_refused():
    for source, target in ((blocks(), "no such file.nc"), (blocks(), 3.0), (3.0, None), (lambda: None, None)):
        with pytest.raises(cd.InputError):
            cd.watch(source, target, every=0.0, share=1.0, progress=False)


def test_wrong_options_are_refused_before_the_run():
    for wrong in ({"on_update": 3}, {"progress": "x"}):
        untouched = blocks()
        with pytest.raises(cd.InputError, match=next(iter(wrong))):
            cd.watch(untouched, REFERENCE, **wrong)
        assert next(untouched)["x0"].shape == (4, 100)


def interrupted(calls):
    """An interrupt that numba turned into a SystemError."""
    calls.append(1)
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise SystemError("CPUDispatcher returned a result with an exception set") from error


def test_an_interrupt_in_a_kernel_is_one(monkeypatch):
    calls = []
    monkeypatch.setattr(Watching, "_look", lambda self, used: interrupted(calls))
    with pytest.warns(cd.DependenceWarning):
        last = cd.watch(blocks(), REFERENCE, every=0.0, share=1.0, n_jobs=1, progress=False)
    assert codes_of(last.result)[0] == "unfinished-run"
    monkeypatch.setattr(Watching, "final", lambda self, **_: interrupted(calls))
    with pytest.raises(KeyboardInterrupt):
        cd.watch(blocks(), REFERENCE, every=0.0, share=1.0, progress=False)
    assert len(calls) == 3


def test_an_interrupt_before_the_first_draws_is_one():
    def nothing():
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        cd.watch(nothing(), REFERENCE, progress=False)


def test_an_error_of_the_callback_is_not_swallowed():
    def fail(update):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cd.watch(blocks(), REFERENCE, on_update=fail, progress=False)


# ---- the page ---------------------------------------------------------------------------------------------------


def test_the_page_of_a_look_reads_itself_again_and_has_no_tick(watched, tmp_path):
    seen, last = watched
    path, clock = tmp_path / "live.html", Clock()
    page = LivePage(path, "copula-discrepancy watch", share=1.0, clock=clock)
    look = next(update for update in seen if update.result is not None)
    page(look)
    text = path.read_text()
    assert 'http-equiv="refresh"' in text
    assert "✓" not in text.split("</h1>")[0]
    assert look.result.caveats[0].sentence in text
    for topic in ("Run", "Chains", "Error", "Looks"):
        assert html.escape(look.sentences()[topic]).replace("&#x27;", "&#39;") in text, topic
    assert codes_of(look.result)[0] in (tmp_path / "live.json").read_text()
    # the last answer is written like any other
    last.result.to_html(path, force=True)
    assert 'http-equiv="refresh"' not in path.read_text()


def test_the_page_is_written_once_for_an_answer_and_not_too_often(watched, tmp_path):
    looks = [update for update in watched[0] if update.result is not None and not update.final and not update.ending]
    path, clock = tmp_path / "live.html", Clock()
    page = LivePage(path, "", share=0.001, clock=clock)
    page(replace(looks[0], ending=True))
    assert not path.exists()  # the last answer should not wait for it
    page(looks[0])
    written = path.stat().st_mtime_ns
    page(looks[0])
    page(looks[-1])  # too early: a page takes more than a millisecond
    assert path.stat().st_mtime_ns == written
    clock.now += 1e6
    page(looks[0])
    assert path.stat().st_mtime_ns == written
    page(looks[-1])
    assert path.stat().st_mtime_ns > written


def test_a_page_that_was_removed_hides_no_error(watched, tmp_path):
    path = tmp_path / "live.html"
    page = LivePage(path, "", share=1.0, clock=Clock())
    page(next(update for update in watched[0] if update.result is not None))
    path.unlink()
    page.close("columns changed")
    assert not path.exists()


def test_a_page_that_cannot_be_written_is_told_and_tried_again(watched, tmp_path):
    looks = [update for update in watched[0] if update.result is not None and not update.final and not update.ending]
    folder, clock = tmp_path / "pages", Clock()
    page = LivePage(folder / "live.html", "", share=1.0, clock=clock)
    page(looks[0])  # its folder was removed
    assert "live.json cannot be written" in page.trouble
    folder.mkdir()
    page(looks[0])  # too early: a disk that was full is full
    assert not (folder / "live.html").exists()
    clock.now += 1e3
    page(looks[0])
    assert page.trouble == ""
    assert (folder / "live.html").exists()
    shutil.rmtree(folder)
    clock.now += 1e3
    page(looks[-1])
    assert page.trouble
    folder.mkdir()
    clock.now += 1e3
    page(looks[-1])  # which has no new answer
    assert page.trouble == ""
    (folder / "live.json").unlink()
    (folder / "live.json").mkdir()  # as good as a full disk
    page.close("it was interrupted")  # hides no error either
    assert page.trouble


# ---- views ---------------------------------------------------------------------------------------------------------


def drawn(update, height=50):
    from rich.console import Console

    where = Console(file=io.StringIO(), width=120, height=height)
    where.print(terminal_lines(update, height))
    return where.file.getvalue()


def test_the_view_of_a_terminal_has_the_answer_first_and_fits(watched):
    seen, _ = watched
    for update in seen:
        text = drawn(update)
        assert text.startswith(update.headline)
        assert len(text.splitlines()) <= 50
        assert ("Looks:" in text) == (update.result is not None and not (update.final or update.ending))
    pairs = seen[-2].result
    assert all(row[0] in drawn(seen[-2]) for row in pairs.table_rows()[1:])


@pytest.mark.parametrize("height", [10, 16, 24, 32, 60])
@pytest.mark.parametrize("width", [80, 140])
def test_a_low_terminal_has_the_worst_pairs_and_leaves_out_what_matters_least(watched, height, width):
    from rich.console import Console

    update = replace(
        watched[0][-2], ending=False, notes=tuple(f"something happened to file {k}, which is told at length" for k in range(6))
    )
    where = Console(file=io.StringIO(), width=width, height=height)
    where.print(terminal_lines(update, height, width))
    text = where.file.getvalue()
    assert len(text.splitlines()) < height  # a frame as high as the terminal leaves remains
    for topic in ("Run:", "Answer:"):
        assert topic in text
    assert "~ x1" in text or height == 10
    assert "note:" in text or height < 32
    assert "Looks:" in text or height < 32
    assert "Looks:" not in text or "Chains:" in text


def test_the_page_says_that_a_run_stands_still_and_why_a_watch_ended(watched, tmp_path):
    look = [update for update in watched[0] if update.result is not None and not update.final and not update.ending][-1]
    path, clock = tmp_path / "live.html", Clock()
    page = LivePage(path, "", share=1.0, clock=clock)
    page(replace(look, silent=0.0))
    assert "no new ones for" not in path.read_text()
    written = []
    for silent in (20.0, 31.0, 40.0, 95.0):
        clock.now += 1e3
        page(replace(look, silent=silent))
        written.append(path.stat().st_mtime_ns)
    assert written[0] < written[1] == written[2] < written[3]
    assert "no new ones for 2 min" in path.read_text()
    page.close("it was interrupted")
    text = path.read_text()
    assert "The watch ended at" in text
    assert "answer 0 s old" not in text
    assert "it was interrupted" in text
    assert "the run goes on" not in text
    assert "Looks" not in text
    assert "the answer is that of its last look" in text


def test_the_page_of_a_run_that_begins_anew_says_so(watched, tmp_path):
    look = [update for update in watched[0] if update.result is not None and not update.final and not update.ending][-1]
    path = tmp_path / "live.html"
    page = LivePage(path, "", share=1.0, clock=Clock())
    page(look)
    assert "began anew" not in path.read_text()
    page(replace(look, result=None, lengths=(), labels=(), age=math.nan, freshness=None, waiting_for="run_1.csv has no header"))
    text = path.read_text()
    assert "what follows is about draws that were discarded" in text
    assert "run_1.csv has no header" in text
    assert 'http-equiv="refresh"' in text
    page.close("it was interrupted")
    text = path.read_text()
    assert "what follows is about draws that were discarded" in text
    assert "The watch ended at" in text
    again = LivePage(path, "", share=1.0, clock=Clock())
    again(look)
    assert "discarded" not in path.read_text()


def test_the_live_view_is_gone_at_the_end(watched):
    from rich.console import Console

    where = Console(file=io.StringIO(), force_terminal=True, width=120, height=50)
    with live_view(where) as show:
        for update in watched[0]:
            show(update)
    text = where.file.getvalue()
    assert watched[0][2].headline in text
    assert watched[1].headline not in text  # printed by who asked for it


def test_a_terminal_that_was_closed_is_given_up(watched):
    """Rich takes over the streams while it shows something, and gives them back."""
    from rich.console import Console

    class Closing(io.StringIO):
        written, closed_now = 0, False

        def write(self, text):
            if self.closed_now:
                raise OSError(errno.EIO, "Input/output error")
            self.written += 1
            return super().write(text)

    file, before = Closing(), (sys.stdout, sys.stderr)
    with live_view(Console(file=file, force_terminal=True, width=120, height=50)) as show:
        show(watched[0][0])
        file.closed_now, written = True, file.written
        show(watched[0][1])
        assert (sys.stdout, sys.stderr) == before
        file.closed_now = False
        show(watched[0][2])
    assert (sys.stdout, sys.stderr) == before
    assert file.written == written


def test_a_notebook_is_updated_in_place(watched, monkeypatch):
    shown_pages = []
    handle = SimpleNamespace(update=lambda update: shown_pages.append(update._repr_html_()))

    def display(update, *, display_id):
        assert display_id
        handle.update(update)
        return handle

    module = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()), display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    with shown(None) as show:
        for update in watched[0]:
            show(update)
            show(update)
    assert len(shown_pages) == len(watched[0])
    assert "Run finished" in shown_pages[-1]


def test_without_a_terminal_nothing_is_shown(watched, capsys):
    with shown(None) as show:
        show(watched[1])
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")
