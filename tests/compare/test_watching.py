"""A watch: when it looks, which draws it compares, what it says of them, and its last answer."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy._core.files import json_text
from copula_discrepancy.compare import watching as watching_module
from copula_discrepancy.compare.gate import gate
from copula_discrepancy.compare.incremental import Freshness, KnownRows
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.pacing import Pace
from copula_discrepancy.compare.watch_result import ENDING, duration
from copula_discrepancy.compare.watching import Watching
from copula_discrepancy.data.following.progress import UNFINISHED, UNREAD
from tests.caveat_codes import codes_of
from tests.growing import Clock, Scripted, chains_of

GROWTH = [[], [20] * 4, [100] * 4, [200] * 4, [400] * 4]


def watching(follower, reference=None, *, clock=None, pace=None, **choices):
    # a second of this clock is little of a real one: looks are never too expensive unless a test says so
    ticking = Clock(1000.0) if clock is None else clock
    return Watching(
        follower, reference, pace=Pace() if pace is None else pace, error=0.05, n_jobs=1, clock=ticking, sleep=ticking.sleep,
        **choices,
    )  # fmt: skip


@pytest.fixture(scope="module")
def draws():
    return chains_of(4, 400, 0.6, seed=1)


@pytest.fixture(scope="module")
def reference():
    return chains_of(4, 400, 0.6, seed=2)


@pytest.fixture(scope="module")
def watched(draws, reference):
    """All updates of a run that grows to its end, and the last."""
    watch = watching(Scripted(draws, GROWTH, expected=400), reference, pace=Pace(every=0.0))
    updates = [*watch.updates()]
    return updates, watch.final()


def test_looks_follow_the_draws(watched):
    updates, last = watched
    assert [update.lengths for update in updates] == [tuple(lengths) for lengths in GROWTH[:-1]]
    assert [update.result is None for update in updates] == [True, True, False, False]
    assert [update.result.samples[0].n_draws for update in updates[2:]] == [100, 200]
    assert not any(update.final for update in updates)
    assert last.final
    assert last.lengths == (400,) * 4
    assert last.freshness is None


def test_the_last_answer_is_that_of_pairwise(watched, draws, reference):
    _, last = watched
    exact = cd.pairwise(draws, reference)
    assert "unfinished-run" not in codes_of(last.result)
    for name in exact.rows.dtype.names:
        ours, theirs = last.result.rows[name], exact.rows[name]
        assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"), name
    assert last.result.margins.line == exact.margins.line


def test_a_look_is_never_without_reservations(watched):
    updates, _ = watched
    look = updates[-1].result
    assert look.outcome == "no gap"
    assert "so far" in look.verdict
    assert "so far" in updates[-1].sentences()["Answer"]
    assert codes_of(look)[0] == "unfinished-run"
    assert look.caveats[0].severity == "reservation"
    assert "with reservations" in updates[-1].headline
    assert {"Run", "Answer", "Chains", "Error", "Looks"} <= {*updates[-1].sentences()}


def test_the_last_answer_is_no_look(watched):
    _, last = watched
    assert last.headline.startswith("Run finished")
    assert "so far" not in last.result.verdict
    assert "Looks" not in last.sentences()
    assert math.isnan(last.age)


def test_updates_are_said_printed_and_written(watched):
    for update in (*watched[0], watched[1]):
        assert update.headline in repr(update)
        assert f"{update.headline}" in update._repr_html_().replace("&#x27;", "'")
        numbers = json.loads(json_text(update.to_dict()))
        assert numbers["lengths"] == [*update.lengths]
        assert (numbers["result"] is None) == (update.result is None)


@pytest.mark.parametrize(
    ("lengths", "used", "left"),
    [
        ((400, 400, 400, 400), (4, 400), 0),
        ((400, 390, 400, 400), (4, 390), 0),  # a little behind: all are cut
        ((400, 60, 400, 400), (3, 400), 1),  # killed early
        ((400, 0, 0, 0), (1, 400), 3),
        ((400, 200, 400, 400), (4, 200), 0),  # three would keep more draws, but a slow chain may be the one that disagrees
        ((400, 190, 10, 10), (1, 400), 3),
        ((400, 250, 10, 10), (2, 250), 2),
    ],
)
def test_of_chains_of_unequal_length_most_draws_are_used(draws, lengths, used, left):
    follower = Scripted(draws, [lengths])
    watch = watching(follower, pace=Pace(every=0.0))
    assert not [*watch.updates()]  # the run is over at once
    last = watch.final()
    sample = last.result.samples[0]
    assert (sample.n_chains, sample.n_draws) == used
    said = [caveat.sentence for caveat in last.result.caveats if caveat.code == "chains-left-out"]
    assert len(said) == bool(left)
    assert left == sum(f"run_{k + 1}.csv" in sentence for k in range(4) for sentence in said)
    # R-hat does not know that chain, so that no limit is passed
    assert gate(last.result).code == "answered"
    assert gate(last.result, max_gap=0.9, max_rhat=9.0).code == ("incomplete" if left else "passed")
    cut = [note for note in last.result.notes if "is cut to" in note]
    assert bool(cut) == (max(lengths[:2]) > used[1] and used[0] > 1)


def test_a_run_that_begins_anew_forgets_the_answers_before(draws):
    class Anew(Scripted):
        def poll(self):
            return replace(super().poll(), generation=0 if self.polls < 4 else 1)

    other = np.concatenate([draws, chains_of(4, 400, -0.3, seed=5)], axis=1)
    other[1, :, 0] *= -1.0
    growth = [[100] * 4, [200] * 4, [300] * 4, [30] * 4, [40] * 4]
    watch = watching(Anew(other, growth), clock=Clock(), pace=Pace(every=0.0, share=1.0))
    updates = [*watch.updates()]
    assert updates[2].result is not None
    assert updates[2].odd_chain == "run_2.csv"
    assert updates[2].rate == pytest.approx(400.0)
    assert updates[3].result is None
    assert updates[3].odd_chain == ""
    assert math.isnan(updates[3].rate)


def test_patience_with_a_run_that_begins_anew_begins_anew(draws):
    """Its files have no header at first, which says nothing about the time since the draws before."""

    class Anew(Scripted):
        def poll(self):
            again = self.polls > 50
            return replace(super().poll(), generation=int(again))

    growth = [*[[200] * 4] * 51, *[[]] * 20, [100] * 4]
    watch = watching(Anew(draws, growth), clock=Clock(), pace=Pace(every=0.0, wait=30.0, patience=1000.0))
    assert len([*watch.updates()]) == 71
    assert watch.final().lengths == (100,) * 4


def test_the_warm_up_is_no_part_of_the_rate(draws):
    growth = [*[[0] * 4] * 100, [60] * 4, [80] * 4, [100] * 4]
    watch = watching(Scripted(draws, growth), clock=Clock(), pace=Pace(every=0.0, share=1.0))
    rates = [update.rate for update in watch.updates()]
    assert math.isnan(rates[99])
    assert rates[100] == pytest.approx(240.0)  # draws a second, since the reading before
    assert 80.0 < rates[101] < 240.0


@pytest.mark.parametrize(
    "wrong",
    [{"adjust": "no"}, {"confidence": 2}, {"order": 99}, {"tail": 3}, {"iid": 5}, {"method": "no"}, {"family": "no"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_options_are_checked_before_a_run_is_waited_for(draws, wrong):
    with pytest.raises(cd.InputError, match=r"no|99|2|3|5"):
        watching(Scripted(draws, GROWTH), **wrong)


def test_looks_come_as_often_as_time_allows(draws):
    clock = Clock()
    growth = [[60 + 2 * k] * 4 for k in range(100)]
    watch = watching(Scripted(draws, growth, finished=True), clock=clock, pace=Pace(every=10.0, share=1.0))
    looks = []
    for update in watch.updates():
        if update.result is not None and (not looks or update.result is not looks[-1]):
            looks.append(update.result)
    # a poll a second for 100 seconds
    assert 9 <= len(looks) <= 11


@pytest.mark.slow
@pytest.mark.parametrize("reading", [0.001, 0.3, 5.0])
def test_looks_and_readings_share_what_the_watch_may_use(draws, reading):
    """Whatever reading costs, there are looks, and both take no more than the share."""
    clock, machine = Clock(), [0.0]

    class Expensive(Scripted):
        def poll(self):
            machine[0] += reading
            return super().poll()

    polls = 60
    growth = [[60 + k] * 4 for k in range(polls)]
    watch = watching(
        Expensive(draws, growth, finished=True), clock=clock, pace=Pace(every=3.0, share=0.2), processor=lambda: machine[0]
    )
    looks = []
    for update in watch.updates():
        if update.result is not None and (not looks or update.result is not looks[-1]):
            looks.append(update.result)
            machine[0] += 0.5
        assert machine[0] - 0.2 * clock.now <= 2.0 + 2.0 * reading  # two of them tell what one costs
    # reading takes a fifth of the share, and no more than one look follows a reading
    assert len(looks) >= 0.9 * min(clock.now / 3.0, polls)
    assert clock.now >= 0.95 * polls * max(1.0, reading / (0.2 * 0.2))


def test_an_answer_without_new_draws_does_not_age(draws):
    clock = Clock()
    watch = watching(Scripted(draws, [*[[200] * 4] * 20, *[[204] * 4] * 3, [208] * 4]), clock=clock, pace=Pace(every=10.0))
    ages = [update.age for update in watch.updates()]
    assert ages[1:20] == [0.0] * 19  # as of the latest reading
    assert max(ages[20:]) <= 1.0  # a look was due
    late = Pace(every=30.0)
    watch = watching(Scripted(draws, [*[[200 + 4 * k] * 4 for k in range(20)]]), clock=Clock(), pace=late)
    assert [update.age for update in watch.updates()] == [float(k) for k in range(19)]


def test_the_state_while_the_last_answer_is_computed(draws):
    watch = watching(Scripted(draws, [[200] * 4, [400] * 4]), pace=Pace(every=0.0))
    assert not watch.comparable
    updates = [*watch.updates()]
    assert watch.comparable
    assert watch.ending.ending
    assert not watch.ending.final
    assert watch.ending.lengths == (400,) * 4
    assert ENDING[1:] in watch.ending.sentences()["Run"]
    assert not any(ENDING[1:] in update.sentences()["Run"] for update in (*updates, watch.final()))


@pytest.mark.parametrize(("expected", "code"), [(None, "end-unknown"), (200, "end-unknown"), (400, "unfinished-run")])
def test_a_run_that_stops_growing_ends_with_a_reservation(draws, expected, code):
    clock = Clock()
    follower = Scripted(draws, [[200] * 4], finished=False, expected=expected)
    watch = watching(follower, clock=clock, pace=Pace(every=0.0, patience=50.0))
    updates = [*watch.updates()]
    assert 50.0 <= clock.now <= 53.0
    assert any("no new draws" in note for note in updates[-1].notes)
    assert "no new ones for 50 s" in updates[-1].sentences()["Run"]
    assert "a second" not in updates[-1].sentences()["Run"]  # the rate of a run that stands still
    assert math.isnan(updates[-1].seconds_to_error) or updates[-1].seconds_to_error == 0.0
    last = watch.final()
    assert last.headline.startswith("Watch ended")
    assert codes_of(last.result)[0] == code
    assert ("200 of 400 draws" in last.result.caveats[0].sentence) == (code == "unfinished-run")
    assert last.result.samples[0].n_draws == 200
    # a run that was cut short passes no limit; where nothing tells its end, the reservation has to do
    assert gate(last.result, max_gap=0.9).undecided == (code == "unfinished-run")


def test_a_sampler_that_failed_ends_the_watch_with_its_message(draws):
    watch = watching(Scripted(draws, [[100] * 4, [200] * 4], failed="no valid start"))
    [*watch.updates()]
    last = watch.final()
    assert last.headline.startswith("Watch ended")
    assert codes_of(last.result)[0] == "unfinished-run"
    assert "no valid start" in last.result.caveats[0].sentence
    empty = watching(Scripted(draws, [[0] * 4], failed="no valid start"))
    [*empty.updates()]
    with pytest.raises(cd.InputError, match=r"the sampler failed \(no valid start\)"):
        empty.final()


def test_a_source_that_is_there_is_waited_for_though_it_tells_no_chains(draws):
    """As of a sampler in the background, which warms up."""
    for exists in (True, False):
        clock = Clock()
        watch = watching(Scripted(draws, [*[[]] * 40, [400] * 4], exists=exists), clock=clock, pace=Pace(wait=10.0))
        updates = [*watch.updates()]
        assert (len(updates) == 40) == exists
        assert any("the sampler is warming up" in note for update in updates for note in update.notes) == exists


def test_a_dear_first_reading_does_not_delay_the_next_ones(draws):
    clock, machine, costs = Clock(), [0.0], iter([30.0, *[0.001] * 200])

    class CatchingUp(Scripted):
        def poll(self):
            machine[0] += (cost := next(costs))
            clock.now += cost
            return super().poll()

    growth = [[100 + 4 * k] * 4 for k in range(30)]
    watch = watching(CatchingUp(draws, growth), clock=clock, pace=Pace(), processor=lambda: machine[0])
    reads = [clock.now for _ in watch.updates()]
    assert reads[1] - reads[0] <= 1.5
    assert clock.now <= 30.0 + 30.0 + 5.0  # a second for each of the others


def test_other_chains_are_a_look_of_their_own(draws, monkeypatch):
    """Chains are left out and come back: what is known of others says nothing, even of as many draws."""
    made = []
    monkeypatch.setattr(
        watching_module, "KnownRows", lambda *given, **named: made.append(KnownRows(*given, **named)) or made[-1]
    )
    growth = [[100, 0], [100, 50], [100, 60], [100, 60]]
    watch = watching(Scripted(draws, growth), clock=Clock(), pace=Pace(every=0.0, share=1.0))
    assert [update.result.samples[0].n_chains for update in watch.updates()] == [1, 2, 2]
    assert len(made) == 2  # one for the first chain, one for both


def test_an_interrupted_watch_has_the_last_answer(draws):
    watch = watching(Scripted(draws, [[100] * 4, [200] * 4, [400] * 4], finished=False), pace=Pace(every=0.0))
    updates = watch.updates()
    next(updates), next(updates)
    last = watch.final(interrupted=True)
    assert last.result.samples[0].n_draws == 400  # draws that came since the last reading are not lost
    assert codes_of(last.result)[0] == "unfinished-run"
    assert watch.latest is watch.final() is last


@pytest.mark.parametrize("lengths", [[], [3] * 4])
def test_nothing_to_compare_is_an_error_that_says_what_is_missing(draws, lengths):
    follower = Scripted(draws, [lengths], finished=False, waiting_for="run_5.csv, which does not exist yet")
    clock = Clock()
    watch = watching(follower, clock=clock, pace=Pace(wait=30.0, patience=20.0))
    updates = [*watch.updates()]
    assert clock.now <= 33.0
    assert "run_5.csv" in updates[0].sentences()["Run"]
    with pytest.raises(cd.InputError, match="run_5") as caught:
        watch.final()
    assert caught.value.code == "too-few-draws"


def test_a_sampler_that_warms_up_is_waited_for(draws):
    """Its files are there, without draws."""
    clock = Clock(1000.0)
    watch = watching(Scripted(draws, [*[[0] * 4] * 20, [400] * 4]), clock=clock, pace=Pace(wait=30.0))
    assert [update.lengths for update in watch.updates()] == [(0,) * 4] * 20
    assert watch.final().lengths == (400,) * 4


def test_what_is_waited_for_at_the_end_is_a_note(draws):
    follower = Scripted(draws, [[200] * 4], finished=False, waiting_for="run_5.csv is gone")
    watch = watching(follower, pace=Pace(every=0.0, patience=5.0))
    [*watch.updates()]
    assert "at the end: run_5.csv is gone" in watch.final().notes


def test_chains_that_never_came_leave_the_run_unfinished(draws):
    """Of files that appear one after another: the first one is complete, and as many are expected."""
    follower = Scripted(draws[:1], [[400]], finished=False, expected=400, missing_chains=3, complete=True)
    watch = watching(follower, pace=Pace(every=0.0, patience=5.0))
    [*watch.updates()]
    last = watch.final()
    assert codes_of(last.result)[0] == "unfinished-run"
    assert "1 of 4 chains" in last.result.caveats[0].sentence
    assert gate(last.result, max_gap=0.9).undecided


def test_a_run_that_ended_without_a_chain_is_unfinished(draws):
    """As of nutpie's sampler after abort(), before its last chain has begun."""
    watch = watching(Scripted(draws[:3], [[400] * 3], finished=True, expected=400, missing_chains=1))
    [*watch.updates()]
    last = watch.final()
    assert last.headline.startswith("Watch ended")
    assert codes_of(last.result)[0] == "unfinished-run"
    assert "ended with 3 of 4 chains" in last.result.caveats[0].sentence


def test_a_run_that_was_cut_short_passes_no_limit(draws):
    """Not that of the margins either."""
    watch = watching(Scripted(draws, [[200] * 4], finished=False, expected=400), draws[:, ::-1], pace=Pace(patience=5.0))
    [*watch.updates()]
    result = watch.final().result
    for limits in ({"margins": True}, {"max_gap": 0.9}, {"max_rhat": 9.0}, {"min_n_eff": 1.0}):
        assert gate(result, **limits).code == "incomplete"
    assert gate(result).code == "answered"


def test_a_watch_that_is_ended_while_another_chain_may_begin_is_no_whole_run(draws):
    follower = Scripted(draws, [[400] * 4], finished=False, expected=400, complete=True, waiting_for="10 s without a change")
    watch = watching(follower, pace=Pace(every=0.0))
    next(watch.updates())
    caveat = watch.final(interrupted=True).result.caveats[0]
    assert caveat.code == "unfinished-run"
    assert "another chain could begin" in caveat.sentence


def test_a_complete_run_is_complete_however_little_patience_there_is(draws):
    """Files that are complete, where one waits ten seconds for others."""
    follower = Scripted(draws, [[400] * 4], finished=False, expected=400, complete=True, waiting_for="10 s without a change")
    watch = watching(follower, pace=Pace(every=0.0, patience=5.0))
    [*watch.updates()]
    last = watch.final()
    assert last.headline.startswith("Run finished")
    assert not {"unfinished-run", "end-unknown"} & {*codes_of(last.result)}
    assert last.notes == ()


def test_a_short_run_that_is_over_is_answered(draws):
    """Fewer draws than a look needs: no more will come, and the answer says how little they tell."""
    watch = watching(Scripted(draws, [[], [10] * 4], expected=10), draws[:, ::-1])
    assert not any(update.result for update in watch.updates())
    last = watch.final()
    assert last.result.samples[0].n_draws == 10
    assert "few-effective-draws" in codes_of(last.result)
    assert "unfinished-run" not in codes_of(last.result)
    # while it goes on, there is nothing to answer yet
    watch = watching(Scripted(draws, [[10] * 4], finished=False))
    next(watch.updates())
    with pytest.raises(cd.InputError, match="50 draws of every chain are needed, got 10"):
        watch.final(interrupted=True)


def test_patience_does_not_count_while_draws_wait_to_be_read(draws):
    """They are there, though none was read for long: a slow watch is no silent sampler."""
    for field in ("behind", "settling"):
        follower = Scripted(draws, [[100] * 4] * 20 + [[400] * 4], finished=None)
        shown = follower.poll

        def poll(shown=shown, follower=follower, field=field):
            return replace(shown(), **{field: follower.polls <= 20})

        follower.poll = poll
        watch = watching(follower, pace=Pace(every=0.0, patience=0.0))
        [*watch.updates()]
        assert watch.final().lengths == (400,) * 4


class Lagging(Scripted):
    """A source that reads so many draws at once, behind those that are there already."""

    def poll(self):
        progress = super().poll()
        return replace(progress, behind=self.polls < len(self.lengths))


def test_draws_that_are_there_are_read_before_the_last_answer_and_tell_no_rate(draws):
    watch = watching(Lagging(draws, [[100] * 4, [200] * 4, [300] * 4, [400] * 4], finished=False), pace=Pace(every=0.0))
    first = next(watch.updates())
    assert math.isnan(first.rate)
    last = watch.final(interrupted=True)
    assert last.lengths == (400,) * 4
    assert last.result.samples[0].n_draws == 400
    assert math.isnan(last.rate)


def test_draws_that_were_changed_pass_no_limit(draws, reference):
    follower = Scripted(draws, [[400] * 4], expected=400)
    follower.notes = (f"{UNREAD}: the files have changed",)
    watch = watching(follower, reference)
    [*watch.updates()]
    result = watch.final().result
    assert codes_of(result)[0] == "unread-at-end"
    assert "the files have changed" in result.caveats[0].sentence
    assert not [note for note in result.notes if note.startswith(UNREAD)]
    assert gate(result, max_gap=0.9).code == "incomplete"
    # of a run that goes on, nothing else is expected
    follower.polls, follower.finished, follower.fields = 0, False, {"expected": 900}
    watch = watching(follower)
    next(watch.updates())
    assert "unread-at-end" not in codes_of(watch.final(interrupted=True).result)


def test_last_lines_that_readers_count_are_in_the_number_of_draws(draws):
    """Of plain files that have no line end at their end, and did not grow: a note said before that they are not counted."""

    class WithLastLines(Scripted):
        def whole(self):
            return replace(super().whole(), values=self.values[:, :400])

    watch = watching(WithLastLines(draws, [[399] * 4], finished=None, notes=(UNFINISHED, "other")), pace=Pace(patience=0.5))
    assert [*watch.updates()][-1].notes[0] == UNFINISHED
    last = watch.final()
    assert last.result.samples[0].n_draws == 400
    assert last.sentences()["Run"].startswith("400 draws in 4 chains")
    assert "other" in last.all_notes
    assert UNFINISHED not in last.all_notes


def test_restarts_are_part_of_the_last_answer(draws):
    void = "the run was restarted: run_1.csv was replaced or truncated; 30 earlier draws are discarded"
    watch = watching(Scripted(draws, [[200] * 4, [400] * 4], restarts=(void,)), pace=Pace(every=0.0))
    looks = [*watch.updates()]
    assert void in looks[-1].notes
    last = watch.final()
    assert void in last.result.notes
    assert [*last.all_notes].count(void) == 1


@pytest.mark.parametrize(("expected", "words"), [(500, "with 100 to 400 of 500 draws"), (None, "run_5.csv is gone")])
def test_a_run_that_stands_still_with_something_missing_is_unfinished(draws, expected, words):
    follower = Scripted(draws, [[400, 300, 400, 100]], finished=False, expected=expected, waiting_for="run_5.csv is gone")
    watch = watching(follower, pace=Pace(every=0.0, patience=5.0))
    [*watch.updates()]
    caveats = {caveat.code: caveat.sentence for caveat in watch.final().result.caveats}
    assert words in caveats["unfinished-run"]
    assert "end-unknown" not in caveats


def test_the_line_about_chains_tells_of_those_that_do_not_count(draws):
    """Left out, standing still, or there twice; and of one chain alone that it is one."""

    def told(values, lengths, **fields):
        watch = watching(Scripted(values, [lengths], **fields))
        [*watch.updates()]
        return watch.final().sentences()["Chains"]

    assert told(draws, [400, 400, 60, 400]).endswith("; left out: run_3.csv (60 draws).")
    still = draws.copy()
    still[1, 150:] = still[1, 150]
    assert told(still, [400] * 4).endswith("; run_2.csv stands still in all variables from draw 150 on.")
    still[2, :, 1:] = still[2, 0, 1:]
    assert "; run_2.csv stands still in all variables from draw 150 on (and 2 more, in the notes)" in told(still, [400] * 4)
    twice = draws.copy()
    twice[3] = twice[0]
    assert told(twice, [400] * 4).endswith("; run_4.csv has the same draws as run_1.csv, and is left out.")
    assert told(draws[:1], [400]).startswith("there is one, whose halves ")
    assert not {"left out", "stuck", "same draws"} & {*told(draws, [400] * 4).split("; ")}


def test_a_chain_somewhere_else_is_named_and_no_time_is_told(draws):
    """Effective draws count the modes then: an error at the present rate would be that of another question."""
    apart = draws[:, :380].copy()
    apart[2] = 10.0 - apart[2]
    apart[2, :, 0] *= -1.0
    watch = watching(Scripted(apart, [[380] * 4], finished=False), pace=Pace(every=0.0, patience=5.0))
    look = [*watch.updates()][-1]
    for update in (look, watch.final()):
        assert update.odd_chain == "run_3.csv"
        said = update.sentences()
        assert "; most unlike the others: run_3.csv." in said["Chains"]
        assert "chance" not in said["Chains"]
        assert "cannot be estimated while the chains disagree" in said["Error"]
        assert math.isnan(update.draws_to_error)
        assert math.isnan(update.seconds_to_error)


@pytest.mark.parametrize("n_chains", [2, 4])
@pytest.mark.parametrize("still", [1, 3])
def test_no_error_is_told_while_a_chain_stands_still(n_chains, still):
    """From its first draw, in one variable or in all: its errors look small, since it has no spread of its own."""
    stuck = chains_of(n_chains, 400, 0.6, seed=1)
    stuck[1, :, :still] = stuck[1, 0, :still]
    watch = watching(
        Scripted(stuck, [[400] * n_chains], finished=False), chains_of(4, 400, 0.6, seed=2), pace=Pace(patience=5.0)
    )
    look = [*watch.updates()][-1]
    for update in (look, watch.final()):
        update = replace(update, error=0.9)
        assert "stuck-chain" in codes_of(update.result)
        assert "cannot be estimated while a chain stands still" in update.sentences()["Error"]
        assert math.isnan(update.draws_to_error)
    # whether the reference has such a chain is another question
    watch = watching(Scripted(chains_of(4, 400, 0.6, seed=2), [[400] * 4]), stuck)
    [*watch.updates()]
    assert "stuck-chain" in codes_of(watch.final().result)
    assert replace(watch.final(), error=0.9).draws_to_error == 0.0


def test_no_error_is_told_where_form_disagrees_or_draws_are_few(watched):
    last, rows = replace(watched[1], error=0.5), watched[1].result.rows

    def told(column, value):
        changed = rows.copy()
        changed[column][1] = value
        return replace(last, result=replace(last.result, rows=changed)).sentences()["Error"]

    assert "is at most 0.5" in last.sentences()["Error"]
    assert "while the chains disagree" in told("form_rhat", 1.3)
    assert "while a pair has fewer than 20 effective draws" in told("n_eff", 6.0)
    for column, value in (("form_rhat", 1.1), ("n_eff", 60.0)):  # as of chains that are short
        assert "is at most 0.5" in told(column, value)


def test_the_error_that_is_told_is_that_of_the_gap_if_the_reference_has_one(watched, draws):
    update = watched[1]
    own, both = (
        np.max(update.result.rows["tau_se"]),
        np.max(np.hypot(*(update.result.rows[k] for k in ("tau_se", "tau_target_se")))),
    )
    assert own < both
    told = replace(update, error=1.001 * both).sentences()["Error"]
    assert told == f"the standard error of the gap in Kendall's tau is at most {1.001 * both:g} in every pair."
    assert "for the gap in Kendall's tau" in replace(update, error=0.5 * (own + both)).sentences()["Error"]
    for reference in (None, cd.Gaussian(0.6)):
        watch = watching(Scripted(draws, [[400] * 4]), reference)
        [*watch.updates()]
        assert (
            replace(watch.final(), error=0.5).sentences()["Error"].startswith("the standard error of Kendall's tau is at most")
        )


@pytest.mark.parametrize("n_chains", [3, 4, 7])
@pytest.mark.parametrize("odd", [0, 2])
def test_the_chain_that_differs_is_named_whatever_their_number(n_chains, odd):
    apart = chains_of(n_chains, 400, 0.6, seed=3)
    apart[odd, :, 0] *= -1.0
    watch = watching(Scripted(apart, [[400] * n_chains]))
    [*watch.updates()]
    assert watch.final().odd_chain == f"run_{odd + 1}.csv"


def test_the_chain_that_differs_is_named_as_the_last_answer_has_them(draws):
    """Readers order files by their names, and looks by when they came."""
    apart = draws.copy()
    apart[3, :, 0] *= -1.0

    class InAnotherOrder(Scripted):
        def whole(self):
            found = super().whole()
            return replace(found, values=found.values[::-1], chain_names=found.chain_names[::-1])

    watch = watching(InAnotherOrder(apart, [[200] * 4, [400] * 4]), pace=Pace(every=0.0))
    assert next(watch.updates()).odd_chain == watch.final().odd_chain == "run_4.csv"


def test_no_chain_is_named_where_none_stands_out(draws):
    apart = draws.copy()
    apart[:2, :, 0] *= -1.0  # two and two
    watch = watching(Scripted(apart, [[400] * 4]))
    [*watch.updates()]
    assert watch.final().odd_chain == ""
    pair = watching(Scripted(apart[1:3], [[400] * 2]))
    [*pair.updates()]
    assert pair.final().disagreeing
    assert pair.final().odd_chain == ""


def test_pairs_that_wait_count_in_what_the_others_are_adjusted_for():
    """The first pairs of a look are those that look worst of all: as if they were all, some would have gaps by chance."""
    rng, flagged = np.random.default_rng(8), []
    for _ in range(40):
        known = KnownRows(10)
        known.seconds = 0.0
        values, others = rng.standard_normal((2, 4, 60, 40))
        look = rank_pairs(
            values, others, iid=True, n_jobs=1, engine="exact", computed_by=known.rows, progress=False, unfinished=True
        )
        assert look.waiting > 700
        assert np.isnan(look.rows["level_adjusted"][look.rows["n"] == 0]).all()
        flagged.append(look.n_flagged > 0)
    # any false alarm at 5%, in 40 runs: below the exact binomial 99.9% limit; as if they were all, 38 of 40
    assert sum(flagged) <= 7


def test_chains_that_disagree_are_named(draws):
    apart = draws.copy()
    apart[0, :, 0] = -apart[0, :, 0]  # the first chain has x0 upside down
    watch = watching(Scripted(apart, [[400] * 4]))
    [*watch.updates()]
    last = watch.final()
    assert {frozenset(pair) for pair in last.disagreeing} == {frozenset(("x0", "x1")), frozenset(("x0", "x2"))}
    assert "x0 ~ x1" in last.sentences()["Chains"]


def test_the_time_to_an_error_follows_from_rate_and_reference(watched):
    update, _ = watched[0][-1], watched[1]
    rows = update.result.rows
    own, other = rows["tau_se"] ** 2, rows["tau_target_se"] ** 2
    wanted = math.sqrt(1.5 * np.max(other))
    needed = np.max(rows["n"] * own / (wanted**2 - other))
    seconds = replace(update, error=wanted, rate=10.0).seconds_to_error
    assert seconds == pytest.approx((needed - 800) / 10.0)
    assert replace(update, error=0.5, rate=10.0).seconds_to_error == 0.0
    # shorter than the reference's own error
    assert replace(update, error=math.sqrt(0.5 * np.max(other)), rate=10.0).seconds_to_error == math.inf
    assert math.isnan(replace(update, result=None).seconds_to_error)
    # draws are told per chain, as in the line above them; without a rate, no time is
    more = math.ceil((needed - 800) / 40) * 10  # an estimate, rounded to two digits
    assert 100 <= more < 1000
    told = replace(update, error=wanted, rate=math.nan, expected=2000).sentences()["Error"]
    assert told.endswith(f" with about {more} more draws of each chain.")
    assert " in about " not in told
    told = replace(update, error=wanted, rate=10.0, expected=300).sentences()["Error"]
    assert told.endswith(f" with about {more} more draws of each chain; the run ends before, at 300.")
    assert " in about " not in told
    assert "100 a second each" in replace(update, rate=400.0).sentences()["Run"]


@pytest.mark.parametrize("lengths", [[400] * 4, [400, 40, 40, 40], [400]])
def test_the_time_to_an_error_is_that_of_chains_that_are_compared(draws, reference, lengths):
    """Copies of a chain, and chains that were killed early, bring no error nearer."""
    copies = np.stack([draws[0]] * 4)
    watch = watching(Scripted(copies, [lengths], expected=600), reference, pace=Pace(every=0.0))
    [*watch.updates()]
    last = watch.final()
    assert last.result.samples[0].n_chains == 1
    own, other = (last.result.rows[name] ** 2 for name in ("tau_se", "tau_target_se"))
    reached, beyond = math.sqrt(np.max(own + other)), math.sqrt(np.max(other) + 0.5 * np.min(own))
    assert replace(last, error=1.01 * reached).draws_to_error == 0.0
    assert replace(last, error=0.99 * reached).draws_to_error > 0.0
    further = np.max(400 * own / (beyond**2 - other)) - 400
    told = replace(last, error=beyond, rate=100.0, final=False, silent=0.0)
    assert told.draws_to_error == pytest.approx(further)
    # chains that go on share the rate
    assert told.seconds_to_error == pytest.approx(further * sum(length == 400 for length in lengths) / 100.0)
    assert further > 200
    assert told.sentences()["Error"].endswith("; the run ends before, at 600.")


def test_a_note_is_told_as_it_is_now(watched):
    """Not also as it was at the look that the answer is of."""
    look = watched[0][-1]
    old = ("chains of unequal length: 253 draws in run_2.csv, 754 in run_1.csv", "run_1.csv: 5 of 40 draws left out", "other 1")
    new = ("chains of unequal length: 293 draws in run_3.csv, 876 in run_1.csv", "run_1.csv: 9 of 40 draws left out")
    update = replace(look, notes=new, result=replace(look.result, notes=old))
    assert [note for note in update.all_notes if note in (*old, *new)] == [*new, "other 1"]
    both = ("run_1.csv: 5 draws left out", "run_2.csv: 5 draws left out")  # names are no numbers
    update = replace(look, notes=both[:1], result=replace(look.result, notes=both))
    assert [note for note in update.all_notes if note in both] == [*both]


def test_rows_of_earlier_looks_are_told(watched):
    update = replace(watched[0][-1], freshness=Freshness(3, 1, 1, 400))
    # per chain, as the draws beside them
    assert "200 of 400 draws in 4 chains" in update.sentences()["Run"]
    assert "1 of 3 pairs with all draws, the others with 100 or more, 1 not yet" in update.sentences()["Run"]


@pytest.mark.parametrize(("seconds", "words"), [(3.2, "3 s"), (89.0, "89 s"), (120.0, "2 min"), (7200.0, "2.0 h")])
def test_times_in_words(seconds, words):
    assert duration(seconds) == words


def test_divergent_draws_are_counted_at_a_look_and_located_at_the_end(draws):
    apart = draws.copy()
    apart[..., 0] = np.random.default_rng(3).permuted(apart[..., 0], axis=1)  # so that there is a gap to look at
    flags = np.zeros(draws.shape[:2], bool)
    flags[0, :20] = True

    class Diverging(Scripted):
        def poll(self):
            found = super().poll()
            return replace(found, divergent=tuple(flags[k, : len(chain)] for k, chain in enumerate(found.chains)))

        def whole(self):
            found = super().whole()
            return replace(found, diverging=flags[:, : found.n_draws])

    watch = watching(Diverging(apart, [[200] * 4, [400] * 4]), draws[:, ::-1], pace=Pace(every=0.0))
    look, last = next(watch.updates()).result, watch.final().result
    for result in (look, last):
        assert "divergent-draws" in codes_of(result)
        assert result.n_flagged > 0
    assert look.divergences is None
    assert last.divergences.n_divergent == 20
