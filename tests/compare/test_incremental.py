"""Rows that are kept from earlier looks: each is of the draws that it says, and those that moved come first."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare import incremental
from copula_discrepancy.compare.adjusted_rows import ranked_rows
from copula_discrepancy.compare.incremental import KnownRows
from copula_discrepancy.compare.jobs import run
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.margins import compare_margins
from copula_discrepancy.compare.one import comparison_of
from copula_discrepancy.compare.one_of_many import compared_draws
from copula_discrepancy.report.page.details import worst_pairs
from tests.growing import chains_of

VARIABLES = 12
PAIRS = list(combinations(range(VARIABLES), 2))
CHOICES = {"targets": {}, "template": None, "estimate_df": False, "method": "mle"}


def compared(values, reference):
    return comparison_of((cd.as_draws(values), cd.as_draws(reference)), (False, False), **CHOICES)


@pytest.fixture(scope="module")
def samples():
    return chains_of(4, 600, 0.5, seed=1, variables=VARIABLES), chains_of(4, 300, 0.5, seed=2, variables=VARIABLES)


def same(rows, others):
    return [np.array_equal(rows[name], others[name], equal_nan=rows[name].dtype.kind == "f") for name in rows.dtype.names]


def test_with_time_enough_every_row_is_that_of_all_draws(samples):
    draws, reference = samples
    known = KnownRows(first=5)
    for n in (200, 600):
        comparison = compared(draws[:, :n], reference)
        rows = known.rows(comparison, PAIRS, 1, lambda _: None)
        assert all(same(rows, run(comparison, PAIRS, 1, lambda _: None)))
        assert known.freshness.current == len(PAIRS)
        assert known.freshness.oldest == 4 * n


def worst(rows, count=1):
    """The places of the first pairs of the ranking of these rows."""
    unseen = rows["n"] == 0.0
    order = ranked_rows(rows, "bh", 0.05, waiting=unseen if unseen.any() else None)[1]
    return order[~unseen[order]][:count]


def test_without_time_the_rows_that_moved_most_are_computed_and_the_others_kept(samples):
    draws, reference = samples
    # after 400 draws x0 and x1 lose their dependence, which moves all pairs of x0
    changed = draws.copy()
    changed[:, 400:, 0] = np.random.default_rng(3).standard_normal((4, 200))
    # the last pair, x10 and x11, is the top of the ranking: without dependence from the beginning
    changed[..., 11] = np.random.default_rng(4).permuted(changed[..., 11], axis=1)
    known = KnownRows(first=1)
    before = known.rows(compared(changed[:, :400], reference), PAIRS, 1, lambda _: None)
    top = worst(before)[0]
    assert PAIRS[top][1] == 11
    known.seconds = 0.0
    comparison = compared(changed, reference)
    # one part is computed whatever the time is
    after = known.rows(comparison, PAIRS, 1, lambda _: None)
    current = after["n"] == 2400
    assert 0 < current.sum() < len(PAIRS)
    assert known.freshness.current == current.sum()
    assert known.freshness.oldest == 1600
    assert current[top]
    assert all(first == 0 or second == 11 for first, second in np.array(PAIRS)[current])
    assert sum(first == 0 for first, _ in np.array(PAIRS)[current]) >= 8
    exact = run(comparison, PAIRS, 1, lambda _: None)
    assert all(same(after[current], exact[current]))
    assert all(same(after[~current], before[~current]))


def test_looks_without_time_reach_every_pair_in_turn(samples):
    draws, reference = samples
    known = KnownRows(first=1)
    known.seconds = 0.0
    comparison = compared(draws, reference)
    missing = [len(PAIRS)]
    while missing[-1]:
        known.rows(comparison, PAIRS, 1, lambda _: None)
        missing.append(known.freshness.missing)
        assert missing[-1] < missing[-2]
        assert known.freshness.current == len(PAIRS) - missing[-1]
    assert len(missing) > 3  # two looks at least


def test_a_look_takes_about_as_long_as_it_may(samples):
    draws, reference = samples
    known = KnownRows(first=1)
    known.seconds = 1e-3
    sizes = []
    for n in range(300, 600, 30):
        known.rows(compared(draws[:, :n], reference), PAIRS, 1, lambda _: None)
        sizes.append(known.freshness.current)
    assert max(sizes[1:]) < 20  # the least that a look computes
    known.seconds = 10.0
    known.rows(compared(draws, reference), PAIRS, 1, lambda _: None)
    assert known.freshness.current == len(PAIRS)
    assert known.spent < 10.0


def test_the_top_of_the_ranking_comes_before_what_was_never_compared(samples):
    draws, reference = samples
    known = KnownRows(first=1)
    known.seconds = 0.0
    rows = known.rows(compared(draws[:, :300], reference), PAIRS, 1, lambda _: None)
    top = worst(rows)
    after = known.rows(compared(draws[:, :400], reference), PAIRS, 1, lambda _: None)
    assert known.freshness.missing > 0
    assert (after["n"][top] == 1600).all()


@pytest.mark.parametrize("rounds", [0, 100])
def test_what_is_at_the_top_of_a_look_is_of_all_draws(rounds, monkeypatch):
    """Rows of few draws vary most, so that the old ones rise to the top where those above them are computed anew."""
    monkeypatch.setattr(incremental, "_ROUNDS", rounds)
    draws, reference = (chains_of(4, 800, 0.0, seed=seed, variables=VARIABLES, lag=0.0) for seed in (1, 2))
    known = KnownRows(first=3)
    known.rows(compared(draws[:, :60], reference), PAIRS, 1, lambda _: None)
    known.seconds, stale = 0.0, 0
    for n in (200, 400, 800):
        rows = known.rows(compared(draws[:, :n], reference), PAIRS, 1, lambda _: None)
        stale += int(np.sum(rows["n"][worst(rows, 3)] < 4 * n))
    assert (stale == 0) == (rounds > 0)
    assert known.freshness.current < len(PAIRS)


@pytest.mark.parametrize("target", ["reference", "nothing"])
def test_a_pair_of_a_look_is_of_the_draws_of_its_row(samples, target):
    """Its family was fitted to the draws of then, so that with those of now it would be another pair."""
    draws, reference = samples
    changed = draws.copy()
    changed[:, 300:, 0] = np.random.default_rng(3).standard_normal((4, 300))
    known = KnownRows(first=1)
    other = reference if target == "reference" else None
    options = {"n_jobs": 1, "engine": "exact", "progress": False}
    for seconds, n in ((np.inf, 200), (0.0, 600)):
        known.seconds = seconds
        flags = np.zeros((4, n), bool)
        flags[:, :7] = True
        sample = replace(cd.as_draws(changed[:, :n]), diverging=flags)
        look = rank_pairs(sample, other, computed_by=known.rows, unfinished=True, **options)
    then = rank_pairs(changed[:, :200], other, **options)
    stale = next(row for row in look.rows if row["n"] == 800)
    names = [look.names[stale[end]] for end in ("first", "second")]
    one, before = (result.fitted(*names) for result in (look, then))
    assert (one.n, one.theta, one.tau) == (800, before.theta, before.tau)
    if target == "reference":
        pair, earlier = look.pair(*names), then.pair(*names)
        assert (pair.level.value, pair.level.se) == (stale["level"], stale["level_se"])
        assert (pair.shape.value, pair.shape.se) == (earlier.shape.value, earlier.shape.se)
        assert "of the first 200 draws of each chain" in pair.notes[0]
        assert pair.diverging[0].shape == (4, 200)
    current = next(row for row in look.rows if row["n"] == 2400)
    assert look.fitted(*(look.names[current[end]] for end in ("first", "second"))).n == 2400
    details = worst_pairs(look, len(look))
    told = [any("as it was compared at an earlier look" in note for note, _ in detail.notes) for detail in details]
    assert told == [row["n"] == 800 for row in look.rows]


def test_a_pair_that_is_not_compared_yet_says_so(samples):
    draws, reference = samples
    known = KnownRows(first=1)
    known.seconds = 0.0
    look = rank_pairs(draws, reference, n_jobs=1, engine="exact", computed_by=known.rows, progress=False, unfinished=True)
    waiting = look.rows[look.rows["n"] == 0.0][0]
    with pytest.raises(cd.InputError, match="not compared yet"):
        look.pair(*(look.names[waiting[end]] for end in ("first", "second")))


def test_a_pair_for_which_memory_was_short_is_of_all_draws(samples):
    """Its row has no number of draws."""
    draws, reference = samples
    known = KnownRows(first=1)
    look = rank_pairs(draws, reference, n_jobs=1, engine="exact", computed_by=known.rows, progress=False, unfinished=True)
    rows = look.rows.copy()
    rows["n"][0] = np.nan
    own, notes = compared_draws(replace(look, rows=rows), rows[0])
    assert own is look.samples[0]
    assert notes == ()


@pytest.mark.slow
@pytest.mark.parametrize("change", ["names", "chains", "fewer"])
def test_another_sample_forgets_what_is_known(samples, change):
    draws, reference = samples
    known = KnownRows(first=1)
    known.rows(compared(draws, reference), PAIRS, 1, lambda _: None)
    known.seconds = 0.0
    values = draws[:3] if change == "chains" else draws[:, :500] if change == "fewer" else draws[..., ::-1]
    if change == "names":
        names = [f"y{k}" for k in range(VARIABLES)]
        both = [cd.as_draws(dict(zip(names, np.moveaxis(sample, 2, 0), strict=True))) for sample in (values, reference)]
        comparison = comparison_of((both[0], both[1]), (False, False), **CHOICES)
    else:
        comparison = compared(values, reference)
    rows = known.rows(comparison, PAIRS, 1, lambda _: None)
    # of what is not computed yet, the pair is known, and nothing else
    assert {*rows["n"].tolist()} == {0.0, comparison.draws.n}
    assert [*zip(rows["first"].tolist(), rows["second"].tolist(), strict=True)] == PAIRS
    assert np.isnan(rows["tau"][rows["n"] == 0.0]).all()
    assert known.freshness.missing == (rows["n"] == 0.0).sum()


def test_columns_without_coefficients_are_compared_all_the_same(samples):
    draws, reference = (sample.copy() for sample in samples)
    for sample in (draws, reference):
        sample[..., 3] = sample[..., 3] > 0  # two values: no polynomials of ranks
    known = KnownRows(first=1)
    known.rows(compared(draws[:, :300], reference), PAIRS, 1, lambda _: None)
    known.seconds = 0.0
    for _ in range(8):
        rows = known.rows(compared(draws, reference), PAIRS, 1, lambda _: None)
    assert (rows["n"] == 2400).all()


def margins(known, draws, reference):
    """The margins that a look has, and those of all its draws."""
    given = (cd.as_draws(draws), cd.as_draws(reference)), (False, False)
    return known.margins(*given, confidence=0.95), compare_margins(*given, confidence=0.95)


def test_margins_are_compared_anew_if_there_is_time(samples):
    draws, reference = samples
    known = KnownRows(first=1)
    for n in (200, 600):
        known.rows(compared(draws[:, :n], reference), PAIRS, 1, lambda _: None)
        found, exact = margins(known, draws[:, :n], reference)
        assert all(same(found.rows, exact.rows))
        assert known.freshness.margins == 4 * n


@pytest.mark.slow
def test_margins_without_time_are_those_of_an_earlier_look_until_their_turn_comes(samples):
    draws, reference = samples
    known = KnownRows(first=1)
    known.seconds = 1e-3
    seen = []
    for n in range(200, 600, 10):
        known.rows(compared(draws[:, :n], reference), PAIRS, 1, lambda _: None)
        found, _ = margins(known, draws[:, :n], reference)
        assert (found.rows["n"] == known.freshness.margins).all()
        seen.append(known.freshness.margins // 4)
    assert seen[:3] == [200] * 3
    assert 2 <= len(set(seen)) < 20


def test_margins_of_other_variables_are_never_kept(samples):
    known = KnownRows(first=1)
    known.seconds = 0.0
    for names in ("abcdefghijkl", "abcdefghijkm"):
        own, other = (dict(zip(names, np.moveaxis(values, 2, 0), strict=True)) for values in samples)
        known.rows(compared(own, other), PAIRS, 1, lambda _: None)
        found, exact = margins(known, own, other)
        assert found.names == exact.names


def order_of_looks(draws, reference, choices=CHOICES):
    """The pairs in the order in which looks without time compute them."""
    known, seen = KnownRows(first=1), []
    known.seconds = 0.0
    while len(seen) < len(PAIRS):
        both = cd.as_draws(draws), None if reference is None else cd.as_draws(reference)
        rows = known.rows(comparison_of(both, (False, False), **choices), PAIRS, 1, lambda _: None)
        seen += [PAIRS[k] for k in np.flatnonzero(rows["n"] > 0) if PAIRS[k] not in seen]
    return seen


@pytest.mark.parametrize("wrong", ["strength", "bend", "no bend"])
def test_pairs_that_differ_from_the_reference_come_first(wrong):
    """The last pair of all, which would wait for all others."""
    rng = np.random.default_rng(4)
    draws, reference = rng.standard_normal((2, 4, 300, VARIABLES))
    changed = reference if wrong == "no bend" else draws
    changed[..., 11] = (changed[..., 10] ** 2 if "bend" in wrong else changed[..., 10]) + 0.5 * changed[..., 11]
    assert order_of_looks(draws, reference).index((10, 11)) < 12  # the first look computes so many


def test_pairs_that_differ_from_known_copulas_or_bend_without_any_come_first():
    rng = np.random.default_rng(5)
    draws = rng.standard_normal((4, 300, VARIABLES))
    draws[..., 11] = draws[..., 10] ** 2 + 0.5 * draws[..., 11]
    assert order_of_looks(draws, None).index((10, 11)) < 12
    independent = CHOICES | {"targets": dict.fromkeys(PAIRS, cd.Gaussian(0.0))}
    assert order_of_looks(draws, None, independent).index((10, 11)) < 12
    # more copulas than are integrated: the strength of each is known
    correlations = np.linspace(-0.5, 0.5, len(PAIRS))
    many = {pair: cd.Gaussian(rho) for pair, rho in zip(PAIRS, correlations.tolist(), strict=True)}
    own = rng.standard_normal((4, 300, VARIABLES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incremental, "_KNOWN", 0)
        place = order_of_looks(own, None, CHOICES | {"targets": many}).index(PAIRS[len(PAIRS) // 2])
    assert place > len(PAIRS) // 2  # the pair that should be independent, and is
