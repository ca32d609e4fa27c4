"""Three variables at a time, from counts: tables, sums, and the coefficients and standard errors that follow from them."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

import copula_discrepancy as cd
from copula_discrepancy._core import kernels
from copula_discrepancy.estimate import triple_counts
from copula_discrepancy.estimate.basis import polynomials, slopes
from copula_discrepancy.estimate.counted_triples import CountedTriples, compare_counted_triples
from copula_discrepancy.estimate.encoding import encoded
from copula_discrepancy.estimate.triple_counts import GROUPS, groups_of, weights_of


def gaussian(rng, n):
    return rng.standard_normal((n, 4)) @ np.linalg.cholesky(0.4 * np.eye(4) + 0.6).T


def hierarchical(rng, n):
    log_scale, mean = rng.standard_normal((2, n))
    return np.column_stack([log_scale, mean, *(mean + np.exp(log_scale) * rng.standard_normal(n) for _ in range(2))])


def exclusive_or(rng, n):
    x = rng.standard_normal((n, 4))
    x[:, 2] = np.abs(x[:, 2]) * np.sign(x[:, 0] * x[:, 1])
    return x


def heavy_tails(rng, n):
    return gaussian(rng, n) / np.sqrt(rng.chisquare(2, n) / 2.0)[:, None]


CASES = {case.__name__: case for case in (gaussian, hierarchical, exclusive_or, heavy_tails)}


def by_ranks(rows, triple):
    """Coefficients and standard errors from ranks, with influence values by sorting: another way than by products."""
    n = len(rows)
    u = (np.argsort(np.argsort(rows, axis=0), axis=0) + 0.5) / n
    phi, slope = ([function(u[:, k], 2) for k in triple] for function in (polynomials, slopes))
    means = np.einsum("jn,kn,mn->jkm", *phi, optimize=True) / n
    influence = np.einsum("jn,kn,mn->jkmn", *phi) - means[..., None]
    for side, column in enumerate(triple):
        terms = np.einsum("jn,kn,mn->jkmn", *(slope[k] if k == side else phi[k] for k in range(3)))
        order = np.argsort(u[:, column])
        moved = np.empty_like(terms)
        moved[..., order] = np.cumsum(terms[..., order[::-1]], axis=-1)[..., ::-1] / n
        influence += moved - moved.mean(axis=-1, keepdims=True)
    return means.ravel(), np.sqrt(np.mean(influence**2, axis=-1) / n).ravel()


def sketch_of(rows, **options):
    return cd.DependenceSketch.of(rows, iid=True, triples=True, **options)


# ---- counting ----------------------------------------------------------------------------------------------------------


def test_tables_and_sums_are_those_of_a_loop_over_rows():
    rows = gaussian(np.random.default_rng(1), 3000)
    sketch = sketch_of(rows)
    codes = encoded(sketch.plan_.columns, {name: rows[:, k] for k, name in enumerate(sketch.names)}, missing_ok=False)
    places = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    assert sketch.triples.triples.tolist() == [list(place) for place in places]
    for place, cells, sums in zip(places, sketch.triples.counts, sketch.triples.sums, strict=True):
        groups = [groups_of(sketch.plan_.columns[k])[codes[k]] for k in place]
        table = np.zeros((GROUPS,) * 3, int)
        np.add.at(table, tuple(groups), 1)
        np.testing.assert_array_equal(cells, table.ravel())
        weights = [weights_of(sketch.plan_.columns[k])[codes[k]].astype(int) for k in place]
        np.testing.assert_array_equal(sums, np.einsum("nj,nk,nm->jkm", *weights).ravel())


def test_blocks_order_and_threads_change_no_bit():
    rows = heavy_tails(np.random.default_rng(2), 30_000)
    plan = cd.DependenceSketch.plan(rows[:4000], iid=True, triples=True).plan_
    whole = cd.DependenceSketch.empty(plan).update(rows)
    assert whole.triples.counts.sum() == 4 * len(rows)
    parts = np.split(rows, [7, 5000, 5002, 20_000])
    for order in (range(5), (4, 2, 0, 3, 1)):
        merged = cd.DependenceSketch.empty(plan)
        for k in order:
            merged.merge(cd.DependenceSketch.empty(plan).update(parts[k]))
        np.testing.assert_array_equal(merged.triples.counts, whole.triples.counts)
        np.testing.assert_array_equal(merged.triples.sums, whole.triples.sums)
    wide = np.tile(rows[:, :1], 12) + np.random.default_rng(3).standard_normal((30_000, 12))
    empty = cd.DependenceSketch.plan(wide[:3000], iid=True, triples=True).plan_
    alone, threaded = (cd.DependenceSketch.empty(empty).update(wide, n_jobs=jobs).triples for jobs in (None, 2))
    np.testing.assert_array_equal(alone.counts, threaded.counts)
    np.testing.assert_array_equal(alone.sums, threaded.sums)


def test_more_rows_than_four_bytes_count():
    sketch, other = (sketch_of(gaussian(np.random.default_rng(seed), 1000)) for seed in (4, 4))
    before = sketch.triples.counts.copy()
    sketch.n = 2**32
    sketch.merge(other)
    assert sketch.triples.counts.dtype == np.uint64
    np.testing.assert_array_equal(sketch.triples.counts, 2 * before.astype(np.uint64))
    sketch.n = triple_counts.MOST_ROWS - 1000
    with pytest.raises(cd.InputError, match="at most"):
        sketch.merge(other)
    np.testing.assert_array_equal(other.triples.counts, before)
    # sums of so many rows fit, whatever the rows are
    assert float(np.abs(sketch.triples.weights).max()) ** 3 * triple_counts.MOST_ROWS < 2.0**63


def test_the_kernel_of_sums_is_exact():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 200, (4, 5000)).astype(np.uint8)
    weights = rng.integers(-573, 574, (3, 200, 2))
    sums = np.zeros((1, 8), np.int64)
    columns = np.array([3, 0, 1])
    kernels.sum_triples(codes, columns, np.array([[0, 1, 2]]), weights.astype(float), 10, 4990, sums)
    values = [weights[k][codes[column, 10:4990]] for k, column in enumerate(columns)]
    np.testing.assert_array_equal(sums[0], np.einsum("nj,nk,nm->jkm", *values).ravel())


def test_sketches_with_other_groups_or_none_are_not_merged():
    rng = np.random.default_rng(6)
    rows = gaussian(rng, 2000)
    with pytest.raises(cd.InputError, match="triples"):
        cd.DependenceSketch.plan(rows, iid=True).merge(cd.DependenceSketch.plan(rows, iid=True, triples=True))
    # the same edges from rows with other shares
    own, other = (cd.DependenceSketch.plan(rows, iid=True, triples=True) for _ in range(2))
    other.triples.groups = other.triples.groups + np.uint8(1)
    with pytest.raises(cd.InputError, match="groups"):
        own.merge(other)


def test_few_values_and_levels_are_not_counted():
    rng = np.random.default_rng(7)
    rows = dict(zip("abc", rng.standard_normal((3, 2000)), strict=True))
    rows |= {"coin": rng.integers(0, 2, 2000), "town": rng.choice(["x", "y"], 2000)}
    sketch = sketch_of(rows)
    assert [sketch.names[k] for k in sketch.triples.columns] == ["a", "b", "c"]
    assert len(sketch.triples.counts) == 1


def test_too_many_triples_are_refused_before_counting():
    rows = np.random.default_rng(8).standard_normal((300, 100))
    with pytest.raises(cd.InputError, match=r"161,700 triples.*var_names.*memory") as error:
        sketch_of(rows)
    assert error.value.code == "memory"


def test_rows_with_an_order_are_refused():
    with pytest.raises(cd.InputError, match="iid=True"):
        cd.DependenceSketch.plan(gaussian(np.random.default_rng(9), 1000), triples=True)


# ---- statistics --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_coefficients_and_errors_are_those_of_ranks(case):
    rows = case(np.random.default_rng(10), 100_000)
    triples = CountedTriples(sketch_of(rows), range(4))
    for triple in combinations(range(4), 3):
        value, se, _ = triples.triple(triple)
        expected, expected_se = by_ranks(rows, triple)
        # from tables of 16 groups alone, coefficients of dependent variables are off by more than one standard error
        assert (np.abs(value - expected) <= 0.15 * expected_se).all()
        np.testing.assert_allclose(se, expected_se, rtol=0.05)


@pytest.mark.parametrize("case", [gaussian, heavy_tails])
def test_what_wide_bins_hide_is_added(case):
    rows = case(np.random.default_rng(10), 100_000)
    value, _, _ = CountedTriples(sketch_of(rows, resolution=32), range(4)).triple((0, 1, 2))
    expected, expected_se = by_ranks(rows, (0, 1, 2))
    # 1.4 and 2.2 standard errors otherwise
    assert (np.abs(value - expected) <= 0.4 * expected_se).all()


def test_columns_in_another_order():
    rows = hierarchical(np.random.default_rng(11), 5000)
    sketch = sketch_of(rows)
    value, se, _ = CountedTriples(sketch, [3, 0, 1]).triple((0, 1, 2))
    other, other_se, _ = CountedTriples(sketch_of(rows[:, [3, 0, 1]]), [0, 1, 2]).triple((0, 1, 2))
    np.testing.assert_allclose(value, other, atol=1e-12)  # the same sums
    np.testing.assert_allclose(se, other_se, rtol=1e-9)
    assert abs(value[5] - value[3]) > 4 * se[3]  # 212 and 122 differ, so that a wrong order would show


def test_a_pilot_of_other_rows_is_counted_in_the_error():
    rng = np.random.default_rng(12)
    rows = heavy_tails(rng, 50_000)
    sketch = cd.DependenceSketch.plan(heavy_tails(rng, 4000) * 3.0 + 2.0, iid=True, triples=True).update(rows)
    value, se, _ = CountedTriples(sketch, range(4)).triple((0, 1, 2))
    expected, expected_se = by_ranks(rows, (0, 1, 2))
    assert (np.abs(value - expected) <= 3.0 * se).all()
    assert (se > 1.5 * expected_se).any()


def test_tied_values_are_at_their_mid_ranks():
    rng = np.random.default_rng(13)
    rows = np.round(gaussian(rng, 20_000)[:, :3] * 2.0)
    rows[rng.random(20_000) < 0.3, 0] = 0.0
    value, _, _ = CountedTriples(sketch_of(rows), range(3)).triple((0, 1, 2))
    ordered = np.sort(rows, axis=0)
    ranks = [0.5 * sum(np.searchsorted(ordered[:, k], rows[:, k], side) for side in ("left", "right")) for k in range(3)]
    phi = [polynomials(u / len(rows), 2) for u in ranks]
    phi = [one - one.mean(axis=1, keepdims=True) for one in phi]
    expected = np.einsum("jn,kn,mn->jkm", *phi, optimize=True).ravel() / len(rows)
    np.testing.assert_allclose(value, expected, atol=3e-4)  # 0.04 standard errors; every value is a bin, but groups are not


def pvalue(*samples):
    triples = [CountedTriples(sketch_of(rows), range(3)) for rows in samples]
    return compare_counted_triples(triples[0], triples[1] if len(triples) > 1 else None, 3, n_jobs=1).pvalue[0]


@pytest.mark.slow
@pytest.mark.parametrize("against", [True, False], ids=["reference", "elliptical"])
def test_size(against):
    rng = np.random.default_rng(14)
    n_runs = 400
    rejected = sum(pvalue(*(gaussian(rng, 2000)[:, :3] for _ in range(1 + against))) < 0.05 for _ in range(n_runs))
    # the exact binomial 99.9% band around 5%
    assert binom.ppf(0.0005, n_runs, 0.05) <= rejected <= binom.ppf(0.9995, n_runs, 0.05)


def test_power():
    rng = np.random.default_rng(15)
    assert pvalue(exclusive_or(rng, 2000)[:, :3]) < 1e-6
    assert pvalue(rng.standard_normal((2000, 3)), exclusive_or(rng, 2000)[:, :3]) < 1e-6
