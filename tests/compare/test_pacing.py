"""What a watch may use: a share of the time that passes, some of it ahead at the beginning, whoever used it."""

from itertools import pairwise

import numpy as np
import pytest

from copula_discrepancy.compare.pacing import Budget, Pace
from tests.growing import Clock


class Machine:
    """A clock of the wall, and one of the processor, which goes on while something is computed."""

    def __init__(self, speed=1.0):
        self.clock, self.used, self.speed = Clock(), 0.0, speed
        self.forgiven = 0.0

    def compute(self, seconds):
        self.used += seconds
        self.clock.sleep(seconds / self.speed)


def looks(pace, *, until, fixed=0.1, loading=0.0, overrun=1.0, known_after=0, speed=1.0, noise=0.0, seed=0):
    """When looks begin, how long they take, and all that was used and has to be paid, if each uses the time that it may.

    Both parts of a look take `overrun` times as long as planned, or more and less, by a lognormal factor.
    """
    machine, rng = Machine(speed), np.random.default_rng(seed)
    budget = Budget(pace, machine.clock, lambda: machine.used)
    found = []
    while machine.clock.now < until:
        looked = machine.clock.now
        factors = np.exp(noise * rng.standard_normal(2) - 0.5 * noise**2)
        with budget.spending():
            rows = budget.of_rows(all_known=len(found) >= known_after) * overrun * factors[0]
            besides = fixed * factors[1]
            machine.compute(rows * speed + besides + (0.0 if found else loading))
        owed = budget.owed
        budget.looked(rows, besides / speed, first=not found)
        machine.forgiven += owed - budget.owed
        found.append((looked, machine.clock.now - looked))
        while (rest := max(looked + pace.every - machine.clock.now, budget.rest)) > 0.0:
            machine.clock.sleep(min(rest, 1.0) + 1e-6)  # a sleep is never shorter
    return found, machine.used - machine.forgiven


def oldest(found):
    """The age of the oldest answer that is shown: an answer is of the draws at the begin of its look."""
    return max(second + took - first for (first, _), (second, took) in pairwise(found))


@pytest.mark.parametrize("share", [0.05, 0.25, 1.0])
@pytest.mark.parametrize("fixed", [0.02, 0.1, 3.0])
def test_no_more_than_the_share_is_used_on_average(share, fixed):
    """However many pairs were never compared: what is used ahead at the beginning is paid after forty seconds."""
    found, used = looks(Pace(every=3.0, share=share), until=300.0, fixed=fixed, known_after=10**6)
    begin, took = found[-1]
    assert used - took <= share * begin + 1e-3  # when the last look began
    assert used >= 0.8 * min(share * 300.0, 100.0 * 0.6 * 3.0)  # and what is allowed is used; a look has 0.6 of the pause


@pytest.mark.parametrize("loading", [0.0, 2.0])
@pytest.mark.parametrize("overrun", [0.8, 1.3])
def test_answers_are_at_most_five_seconds_old(loading, overrun):
    """What is loaded at first, and rows that take longer than planned, make later looks shorter, not later."""
    found, used = looks(Pace(every=3.0, share=0.25), until=60.0, loading=loading, overrun=overrun, known_after=4)
    assert oldest(found[1:]) <= 5.0
    assert used <= 0.25 * 60.0


def test_answers_are_at_most_five_seconds_old_where_times_vary():
    """Rows that take 30% longer than planned, and all times varying by 40%: fifty runs, of a minute each."""
    runs = [
        looks(
            Pace(every=3.0, share=0.25), until=60.0, loading=1.5, overrun=1.3, fixed=0.12, known_after=12, noise=0.4, seed=seed
        )
        for seed in range(50)
    ]
    assert sum(oldest(found[1:]) > 5.0 for found, _ in runs) <= 5
    assert sum(used > 0.25 * 60.0 for _, used in runs) <= 5
    assert np.median([oldest(found[1:]) for found, _ in runs]) < 4.5


def test_what_takes_longer_than_planned_is_learnt():
    plans = []
    for rows in (0.2, 0.6):
        budget = Budget(Pace(every=3.0, share=0.25), Clock(), lambda: 0.0)
        for _ in range(10):
            planned = budget.of_rows(all_known=True)
            budget.looked(planned if rows == 0.2 else 2.0 * planned, 0.05, first=False)
        plans.append(planned)
    assert plans[1] == pytest.approx(0.5 * plans[0], rel=0.01)


def test_a_busy_machine_has_shorter_looks():
    """With a third of a core, looks take as long, and compute less."""
    found, used = looks(Pace(every=3.0, share=0.25), until=60.0, known_after=4, speed=1.0 / 3.0)
    assert oldest(found) <= 5.0
    assert used <= 0.2 * 60.0


def test_pairs_that_were_never_compared_are_computed_ahead():
    new, known = (looks(Pace(), until=10.0, known_after=after)[1] for after in (100, 0))
    assert new > 1.5 * known


def test_what_loading_takes_is_forgiven_in_part_or_the_second_look_would_never_come():
    found, _ = looks(Pace(every=3.0, share=0.25), until=200.0, loading=60.0)
    assert found[1][0] - (found[0][0] + found[0][1]) <= 3.0


def test_looks_that_cost_more_than_the_share_come_later():
    found, _ = looks(Pace(every=1.0, share=0.1), until=400.0, fixed=1.0)
    begins = [begin for begin, _ in found]
    # a second for rows, and one for all else, at a tenth of a core
    assert all(second - first == pytest.approx(20.0, abs=1.0) for first, second in pairwise(begins[5:]))


def test_rows_have_their_part_however_expensive_a_look_is():
    machine = Machine()
    budget = Budget(Pace(every=3.0, share=0.01), machine.clock, lambda: machine.used)
    budget.looked(0.1, 5.0, first=False)
    assert budget.of_rows(all_known=True) == 5.0


def test_time_in_which_nothing_was_done_is_not_saved_for_one_long_look():
    machine = Machine()
    budget = Budget(Pace(every=3.0, share=0.25), machine.clock, lambda: machine.used)
    machine.clock.sleep(3600.0)
    assert budget.of_rows(all_known=True) == pytest.approx(0.75)
    assert budget.of_rows(all_known=False) == pytest.approx(0.825)
    with budget.spending():
        machine.compute(0.75)
    assert budget.owed == pytest.approx(-0.75 - 0.25 * 0.75)  # half, and what the time of that look earned


def test_only_this_thread_counts():
    """A sampler in another thread of the process is no cost of the watch."""
    import threading

    import numpy as np

    budget = Budget(Pace(), lambda: 0.0)
    values = np.random.default_rng(1).random(2_000_000)
    worker = threading.Thread(target=lambda: [np.sort(values) for _ in range(3)])
    with budget.spending():
        worker.start()
        worker.join()
    assert budget.owed < 0.03
    with budget.spending():
        [np.sort(values) for _ in range(3)]
    assert budget.owed > 0.03
