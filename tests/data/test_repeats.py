"""Rows that occur more than once, and rows that both samples have."""

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.data import repeats
from copula_discrepancy.data.repeats import repeated_chains, repeated_rows
from tests.caveat_codes import warned

RNG = np.random.default_rng(1)
NORMAL = RNG.standard_normal((2000, 4))
OTHER = RNG.standard_normal((2000, 4))
FEW = RNG.integers(0, 3, (2000, 3)).astype(float)
INCOME = np.round(np.exp(RNG.normal(10, 1, 2000)))
WHOLE = RNG.integers(0, 60, 2000).astype(float)
ROUNDED = np.round(RNG.standard_normal(2000), 2)
STEPS = RNG.integers(-1, 2, (2000, 2)).astype(float)
# every column is rounded and has ties, and no row of 2000 is there twice
ROUGH = np.round(NORMAL @ [[1, 0.5, 0, 0], [0, 1, 0.5, 0], [0, 0, 1, 0.5], [0, 0, 0, 1]], 2)
GRID = np.array(np.meshgrid(*[np.arange(4.0)] * 3)).reshape(3, -1).T


def resampled(table, n, seed=2):
    return table[np.random.default_rng(seed).integers(0, len(table), n)]


def share(table):
    """Of rows that are not the first of their kind, in percent, counted another way."""
    return f"{100 - 100 * len(np.unique(table, axis=0)) / len(table):.0f}%"


def told(draws, reference=None, iid=True):
    return repeated_rows(cd.as_draws(draws), None if reference is None else cd.as_draws(reference), (iid, iid))


def codes(*given, **options):
    return [caveat.code for caveat in told(*given, **options)]


@pytest.mark.parametrize(
    ("table", "number"),
    [
        (np.tile(NORMAL, (5, 1)), "5 times"),
        (np.repeat(NORMAL, 2, axis=0), "2 times"),
        (np.tile(np.column_stack([WHOLE, FEW])[:500], (3, 1)), "3 times"),
        (resampled(NORMAL, 2000), "{share}"),
        (np.vstack([NORMAL, resampled(NORMAL[:20], 300)]), "{share}"),
        (resampled(NORMAL[:50], 20_000), "99%"),
        (resampled(np.column_stack([INCOME, FEW]), 2000), "{share}"),
        (resampled(ROUGH[:221], 2000), "{share}"),
        (resampled(np.column_stack([FEW, NORMAL[:, :1]]), 2000), "{share}"),
    ],
)
def test_repeated_rows_are_told(table, number):
    (found,) = told(table)
    assert found.code == "repeated-rows"
    assert number.format(share=share(table)) in found.sentence
    (there,) = told(OTHER[:, : table.shape[1]], table)
    assert (there.code, there.sentence) == ("repeated-rows", f"reference: {found.sentence}")


@pytest.mark.parametrize(
    "table",
    [
        NORMAL,
        FEW,
        np.column_stack([FEW, WHOLE]),
        np.column_stack([ROUNDED, FEW]),
        np.column_stack([np.round(NORMAL[:, 0], 3), FEW[:, 0] > 0]),
        np.column_stack([INCOME, FEW[:, 0] > 0]),
        np.column_stack([INCOME, FEW]),
        np.column_stack([INCOME, 2 * INCOME]),
        np.column_stack([WHOLE, WHOLE**2]),
        np.column_stack([ROUNDED, np.exp(ROUNDED)]),
        np.column_stack([WHOLE, WHOLE + STEPS[:, 0]]),
        np.column_stack([WHOLE, WHOLE**2, WHOLE[::-1], np.exp(WHOLE[::-1] / 9)]),
        np.column_stack([WHOLE[:, None] + STEPS, FEW]),
        ROUGH,
        np.tile(GRID, (5, 1)),  # a planned experiment
        np.vstack([NORMAL, NORMAL[:4]]),
        np.repeat(FEW[:2], 50, axis=0),
    ],
    ids=[
        "normal",
        "few",
        "few-whole",
        "rounded-few",
        "rounded-two",
        "income-two",
        "income-few",
        "income",
        "squares",
        "rounded",
        "near",
        "followers",
        "near-few",
        "rough",
        "design",
        "four",
        "two",
    ],
)
def test_repeats_that_few_values_or_rounding_explain_are_not(table):
    assert told(table) == ()
    half = len(table) // 2
    assert told(table[:half], table[half:]) == ()


def test_chains_may_repeat_points():
    """A chain that stays where it is repeats rows one after another; its standard errors know."""
    moves = np.random.default_rng(3).random((2000, 1)) < 0.3
    chain = np.cumsum(OTHER[:, :2] * moves, axis=0)
    assert told(chain, iid=False) == ()
    assert told(np.tile(chain, (2, 1)).reshape(2, 2000, 2), iid=False) == ()
    assert codes(chain) == codes(np.tile(NORMAL, (5, 1)), iid=False) == ["repeated-rows"]
    assert share(chain) in told(chain)[0].sentence


def test_the_same_rows_in_another_order():
    void = ["same-rows"]
    shuffled = np.random.default_rng(4).permutation(NORMAL)
    assert codes(NORMAL, shuffled) == codes(NORMAL, NORMAL) == void
    assert told(NORMAL, shuffled) != told(NORMAL, NORMAL)
    assert codes(NORMAL.reshape(4, 500, 4), shuffled.reshape(4, 500, 4), iid=False) == void
    table = np.column_stack([FEW, WHOLE])
    assert codes(table, table[::-1]) == void
    assert told(FEW[:, :2][:12], FEW[:, :2][:12][::-1]) == ()  # so few combinations agree by chance


@pytest.mark.parametrize("iid", [True, False])
def test_copies_of_some_rows(iid):
    half = np.vstack([NORMAL[:1000], OTHER[:1000]])
    (found,) = told(half, NORMAL, iid)
    assert (found.code, found.sentence[:3]) == ("copied-rows", "50%")
    (found,) = told(OTHER, np.vstack([OTHER[:100], NORMAL[:25]]), iid)
    assert (found.code, found.sentence[:3]) == ("copied-rows", "80%")  # of the reference's rows
    assert told(np.vstack([OTHER[:1999], NORMAL[:1]]), NORMAL, iid) == ()
    boot = resampled(NORMAL[:500], 1000)
    repeated, copied = told(boot, NORMAL[:500], iid)
    assert (repeated.code, copied.code, copied.sentence[:4]) == ("repeated-rows", "copied-rows", "100%")


def test_equal_is_equal_to_the_last_bit():
    close = NORMAL.copy()
    close[:, 3] = np.nextafter(close[:, 3], 9)
    assert told(NORMAL, close) == ()
    zeros = np.column_stack([NORMAL[:, 0], np.zeros(2000)])
    assert codes(zeros, zeros * [1, -1]) == ["same-rows"]  # -0.0 is 0.0


def test_chains_repeat_others_by_their_values():
    chains = NORMAL[:400].reshape(2, 200, 4)[[0, 1, 0]]
    chains[0, 5], chains[2, 5] = 0.0, -0.0  # the same number
    assert repeated_chains(cd.as_draws(chains)) == {2: 0}


def test_a_single_chain_is_not_hashed(monkeypatch):
    monkeypatch.setattr(repeats, "sha256", None)
    assert repeated_chains(cd.as_draws(NORMAL[None])) == {}


def test_a_collision_of_hashes_changes_nothing(monkeypatch):
    shuffled, boot = np.random.default_rng(4).permutation(NORMAL), resampled(NORMAL, 2000)
    tables = [(NORMAL, None), (boot, None), (NORMAL, shuffled), (boot, NORMAL), (FEW, None)]
    expected = [told(*pair) for pair in tables]
    monkeypatch.setattr(repeats, "_hashes", lambda sample: np.arange(sample.n_chains * sample.n_draws, dtype=np.uint64) // 7)
    assert [told(*pair) for pair in tables] == expected


def test_every_function_with_a_reference_tells():
    boot, shuffled = resampled(NORMAL[:500], 800), np.random.default_rng(4).permutation(NORMAL[:500])
    with warned("repeated-rows"):
        cd.pairwise(boot, OTHER, iid=True)
    with warned("same-rows"):
        cd.pairwise(NORMAL[:500], shuffled, iid=True)
    with warned("repeated-rows"):
        cd.discrepancy(np.tile(NORMAL[:200, :2], (3, 1)), cd.Frank(1.0), iid=True)
    with warned("same-rows"):
        cd.discrepancy(NORMAL[:500, :2], shuffled[:, :2], family="frank", iid=True)
    caveats = cd.DependenceFidelity.compute_breakdown(NORMAL[:500], boot)["caveats"]
    assert "copied-rows" in [caveat["code"] for caveat in caveats]
