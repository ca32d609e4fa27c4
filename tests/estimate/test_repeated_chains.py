"""Chains that repeat others count once in every standard error, and results say so."""

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_file import from_bytes, to_bytes
from copula_discrepancy.estimate.sketch_reading import repeated_counts
from tests.caveat_codes import codes_of, warned


def chains(seed, n=4, length=500):
    """Autoregressive chains of two dependent variables."""
    steps = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], (n, length))
    for t in range(1, length):
        steps[:, t] += 0.5 * steps[:, t - 1]
    return steps


def test_a_fit_has_the_error_of_different_chains():
    draws = chains(1)
    once = cd.fit(draws[:2], "gaussian")
    with warned("repeated-chains"):
        twice = cd.fit(draws[[0, 1, 1, 0]], "gaussian")
    assert (twice.se, twice.theta, twice.n) == (once.se, once.theta, once.n)
    assert codes_of(twice) == ["repeated-chains"]
    assert twice.warnings == ("chain 2 has the same draws as chain 1, and is left out; "
        "chain 3 has the same draws as chain 0, and is left out",)  # fmt: skip
    assert twice.notes == once.notes == ()
    assert not once.caveats
    # of independent rows all count, whatever they repeat
    assert cd.fit(draws[[0, 1, 1, 0]], "gaussian", iid=True).n == 2000


def test_a_choice_of_family_has_the_errors_of_different_chains():
    draws = chains(2)
    once = cd.select_family(draws[:2])
    with warned("repeated-chains"):
        twice = cd.select_family(draws[[0, 1, 1]])
    assert twice.best.se == once.best.se
    assert twice.aic == once.aic
    assert twice.worth == once.worth
    assert twice.notes == ("chain 2 has the same draws as chain 1, and is left out",)
    assert not once.notes


def counted(parts, plan):
    """A sketch with these chains, by their numbers."""
    sketch = DependenceSketch.empty(plan)
    for number, rows in parts.items():
        sketch.update(rows, chain=number)
    return sketch


def test_chains_with_the_same_counts_are_found_however_they_were_counted():
    draws = chains(3)
    plan = DependenceSketch.plan(draws).plan_
    parts = {7: draws[0], 2: draws[1], 5: draws[0], 3: draws[2], 9: draws[1], 4: draws[0]}
    whole = counted(parts, plan)
    assert repeated_counts(whole) == {5: 4, 7: 4, 9: 2}
    assert repeated_counts(from_bytes(to_bytes(whole))) == {5: 4, 7: 4, 9: 2}
    # in halves, by workers whose sketches are merged in any order
    workers = [DependenceSketch.empty(plan) for _ in range(3)]
    pieces = [(number, start) for number in parts for start in (250, 0)]
    for k, (number, start) in enumerate(pieces):
        workers[k % 3].update(parts[number][start : start + 250], chain=number, start=start)
    assert repeated_counts(workers[2].merge(workers[0]).merge(workers[1])) == {5: 4, 7: 4, 9: 2}


@pytest.mark.parametrize("case", ["other chains", "one row", "still", "few values", "another order"])
def test_chains_of_their_own_are_not_taken_for_copies(case):
    draws = chains(4)
    if case == "one row":
        draws[1:] = draws[0]
        draws[:, 100, 0] = [-9.0, -0.5, 0.5, 9.0]  # in groups of their own
    elif case == "still":
        draws[:] = 0.5
        draws[:, ::50] = 0.25  # in the same rows of every chain
    elif case == "few values":
        draws = np.tile(np.random.default_rng(1).integers(0, 3, (1, 500, 2)).astype(float), (4, 1, 1))
    elif case == "another order":
        draws[1:] = np.random.default_rng(1).permuted(np.tile(draws[:1], (3, 1, 1)), axis=1)
    assert repeated_counts(DependenceSketch.of(draws)) == {}


def test_rows_without_an_order_have_no_chains():
    assert repeated_counts(DependenceSketch.of(chains(5)[[0, 0]], iid=True)) == {}
