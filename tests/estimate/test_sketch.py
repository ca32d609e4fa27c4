"""The sketch of a table: what is counted, in whatever order, and what is refused."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.estimate import sketch as module
from copula_discrepancy.estimate.bins import UNSEEN
from copula_discrepancy.estimate.serial import SerialCounts, block_factor
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.sketch_plan import MOST_BLOCKS, bins_for
from copula_discrepancy.estimate.sketch_reading import margin_blocks, pair_counts, serial_counts


def table(n=5000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    town = rng.choice(["Graz", "Linz", "Wien"], n)
    y = np.where(rng.random(n) < 0.1, np.nan, 0.6 * x + rng.normal(size=n))
    return pd.DataFrame({"x": x, "y": y, "k": rng.poisson(2.0, n), "town": town})


def same(one, other):
    assert one.plan_.same_as(other.plan_) is None
    assert one.n == other.n
    assert one.counts.dtype == other.counts.dtype
    np.testing.assert_array_equal(one.counts, other.counts)
    for own, theirs in zip(one.margins, other.margins, strict=True):
        np.testing.assert_array_equal(own, theirs)
    assert one.chain_rows == other.chain_rows
    assert one.block_rows == other.block_rows
    assert sorted(one.blocks) == sorted(other.blocks)
    for key, block in one.blocks.items():
        np.testing.assert_array_equal(block, other.blocks[key])


@pytest.mark.parametrize("iid", [True, False])
def test_any_division_and_any_order_of_merging(iid):
    """Rows counted at once, block by block, or by several workers whose sketches are merged in any order."""
    rows = table(20_000)
    plan = DependenceSketch.plan(rows, iid=iid).plan_
    whole = DependenceSketch.empty(plan).update(rows)
    edges = [0, 1, 700, 701, 9000, 15_000, 20_000]
    stepwise = DependenceSketch.empty(plan)
    parts = []
    for start, stop in itertools.pairwise(edges):
        stepwise.update(rows.iloc[start:stop])
        parts.append((start, rows.iloc[start:stop]))
    same(whole, stepwise)
    rng = np.random.default_rng(2)
    for _ in range(3):
        merged = DependenceSketch.empty(plan)
        for k in rng.permutation(len(parts)):
            start, part = parts[k]
            merged.merge(DependenceSketch.empty(plan).update(part, start=start))
        same(whole, merged)


def test_counts_are_those_of_the_rows():
    rows = table()
    sketch = DependenceSketch.of(rows, iid=True)
    columns = {column.name: column for column in sketch.plan_.columns}
    codes = {
        name: np.searchsorted(columns[name].edges, rows[name].to_numpy(float), side="right").astype(int)
        for name in ("x", "y", "k")
    }
    codes["y"] = np.where(rows["y"].isna(), columns["y"].size, codes["y"])
    codes["town"] = np.array([columns["town"].labels.index(label) for label in rows["town"]])
    for i, j in itertools.combinations(range(4), 2):
        first, second = sketch.names[i], sketch.names[j]
        expected = np.zeros((columns[first].size + 1, columns[second].size + 1), int)
        np.add.at(expected, (codes[first], codes[second]), 1)
        np.testing.assert_array_equal(pair_counts(sketch, i, j), expected)
        np.testing.assert_array_equal(pair_counts(sketch, j, i), expected.T)


def test_blocks_are_those_of_consecutive_rows():
    rows = table(40_000)[["x", "k"]]
    sketch = DependenceSketch.of(rows)
    assert len(sketch.blocks) <= MOST_BLOCKS
    assert len(sketch.blocks) > MOST_BLOCKS // 2 - 1
    serial = serial_counts(sketch, 0, 1)
    np.testing.assert_array_equal(serial.counts.sum(axis=(1, 2))[:-1], sketch.block_rows)
    groups = sketch.plan_.columns[0].coarse[np.searchsorted(sketch.plan_.columns[0].edges, rows["x"], side="right")]
    third = groups[2 * sketch.block_rows : 3 * sketch.block_rows]
    np.testing.assert_array_equal(serial.counts[2].sum(axis=1), np.bincount(third, minlength=serial.counts.shape[1]))


def test_chains_are_counted_apart():
    draws = np.random.default_rng(3).normal(size=(4, 3000, 2))
    sketch = DependenceSketch.of(draws)
    assert sketch.n_chains == 4
    assert sketch.chain_rows == dict.fromkeys(range(4), 3000)
    assert {chain for chain, _ in sketch.blocks} == {0, 1, 2, 3}
    same(sketch, DependenceSketch.empty(sketch.plan_, chain_length=3000, n_chains=4).update(draws))


def test_more_rows_than_four_bytes_count(monkeypatch):
    rows = table(2000)
    plan = DependenceSketch.plan(rows, iid=True).plan_
    small = DependenceSketch.empty(plan).update(rows).merge(DependenceSketch.empty(plan).update(rows))
    monkeypatch.setattr(module, "_WIDEST", 3000)
    wide = DependenceSketch.empty(plan).update(rows).merge(DependenceSketch.empty(plan).update(rows))
    assert (small.counts.dtype, wide.counts.dtype) == (np.uint32, np.uint64)
    np.testing.assert_array_equal(small.counts, wide.counts)
    updated = DependenceSketch.empty(plan).update(rows).update(rows)
    assert updated.counts.dtype == np.uint64
    np.testing.assert_array_equal(updated.counts, wide.counts)


def test_pickle_keeps_everything():
    sketch = DependenceSketch.of(table())
    same(sketch, pickle.loads(pickle.dumps(sketch)))


def test_levels_that_the_pilot_lacks():
    rows = table()
    plan = DependenceSketch.plan(rows[rows["town"] != "Linz"], iid=True)
    sketch = plan.update(rows)
    assert sketch.unseen == {"town": int((rows["town"] == "Linz").sum())}
    assert UNSEEN in sketch.plan_.columns[3].labels


def test_drift_is_seen():
    rng = np.random.default_rng(4)
    still, moved = rng.normal(size=(20_000, 2)), rng.normal(5.0, 1.0, (20_000, 2))
    sketch = DependenceSketch.plan(still, iid=True).update(still)
    assert sketch.outgrown == ()
    assert sketch.update(moved).outgrown == ("x0", "x1")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"x": np.ones(3), "k": np.ones(3), "town": np.array(["a"] * 3)}, "no column y"),
        ({"x": np.array(["a", "b"]), "y": np.ones(2), "k": np.ones(2), "town": np.array(["a", "b"])}, "x is text"),
        ({"x": np.array([np.inf, 1.0]), "y": np.ones(2), "k": np.ones(2), "town": np.array(["a", "b"])}, "x has 1 infinite"),
    ],
)
def test_rows_that_cannot_be_counted_change_nothing(rows, said):
    sketch = DependenceSketch.of(table(), iid=True)
    before = pickle.dumps(sketch)
    with pytest.raises(cd.InputError, match=said) as error:
        sketch.update(rows, label="part-7.parquet")
    assert "part-7.parquet" in str(error.value)
    assert pickle.dumps(sketch) == before


def test_missing_values_are_refused_if_they_should_be():
    with pytest.raises(cd.InputError, match="missing"):
        DependenceSketch.of(table(), iid=True, missing="raise")
    chains = DependenceSketch.plan(np.random.default_rng(5).normal(size=(2, 500, 2)))
    with pytest.raises(cd.InputError, match="1 missing values"):
        chains.update({"x0": np.array([1.0, np.nan]), "x1": np.ones(2)})


def test_sketches_that_differ_are_not_merged():
    rows = table()
    sketch = DependenceSketch.of(rows, iid=True)
    before = pickle.dumps(sketch)
    other = DependenceSketch.of(table(seed=2), iid=True)
    with pytest.raises(cd.InputError, match="the edges of x"):
        sketch.merge(other)
    with pytest.raises(cd.InputError, match="the columns"):
        sketch.merge(DependenceSketch.of(rows[["x", "y"]], iid=True))
    with pytest.raises(cd.InputError, match="order of the rows"):
        sketch.merge(DependenceSketch.of(rows))
    with pytest.raises(cd.InputError, match="DependenceSketch"):
        sketch.merge(rows)
    assert pickle.dumps(sketch) == before


def test_what_is_refused():
    rows = table()
    with pytest.raises(cd.InputError, match="at least 2 rows"):
        DependenceSketch.plan(rows, iid=True).finish()
    with pytest.raises(cd.InputError, match="resolution must be"):
        DependenceSketch.plan(rows, resolution=1000)
    with pytest.raises(cd.InputError, match="memory must be"):
        DependenceSketch.plan(rows, memory="two")
    with pytest.raises(cd.InputError, match="start must be"):
        DependenceSketch.plan(rows).update(rows, start=-1)
    with pytest.raises(cd.InputError, match="counts, not rows"):
        cd.as_draws(DependenceSketch.of(rows, iid=True))
    with pytest.raises(cd.InputError, match="read only once"):
        DependenceSketch.plan(iter([rows]))


def test_bins_follow_memory():
    assert bins_for(10, 2e9) == 240
    assert bins_for(50, 2e9) == 120
    assert bins_for(10, 50e6) <= 240
    assert bins_for(300, 2e9) < bins_for(60, 2e9)
    with pytest.raises(cd.InputError, match="select columns"):
        bins_for(5000, 1e8)


def autoregressive(phi, n, seed):
    rng = np.random.default_rng(seed)
    values = np.empty(n)
    values[0] = rng.normal()
    noise = rng.normal(size=n) * np.sqrt(1.0 - phi**2)
    for t in range(1, n):
        values[t] = phi * values[t - 1] + noise[t]
    return values


@pytest.mark.parametrize("phi", [0.0, 0.6, 0.9])
def test_serial_dependence_of_a_mean(phi):
    """The long-run variance of ranks of an AR(1) process over their variance, (1 + phi) / (1 - phi) but for the ranks."""
    chain = autoregressive(phi, 200_000, 6)
    sketch = DependenceSketch.of(np.column_stack([chain, chain[::-1]]))
    blocks = margin_blocks(sketch, 0)
    middle = np.cumsum(blocks.counts.sum(axis=(0, 2))) / 200_000
    ratio, df = blocks.ratios((middle - 0.5)[:, None, None])
    expected = cd.long_run_variance(np.argsort(np.argsort(chain)).astype(float)[None])
    # a variance from 97 blocks has an error of 14%, and twelve groups stand for the ranks
    assert ratio[0] == pytest.approx(expected.long_run_variance / expected.variance, rel=0.35)
    assert df[0] == len(blocks.counts) - 1


def test_short_blocks_are_merged_or_told():
    fast = [SerialCounts(counts, (np.arange(4), np.zeros(1, int)), np.zeros(128, int)) for counts in _blocks(0.0)]
    slow = [SerialCounts(counts, (np.arange(4), np.zeros(1, int)), np.zeros(128, int)) for counts in _blocks(0.995)]
    assert block_factor(fast) == (1, False)
    factor, short = block_factor(slow)
    assert factor > 1 or short


def _blocks(phi):
    """Four variables in 128 blocks of 50 rows, by quarters."""
    for seed in range(4):
        values = autoregressive(phi, 6400, seed)
        quarter = np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values)
        yield np.stack([np.bincount(part, minlength=4) for part in quarter.reshape(128, 50)]).astype(float)[:, :, None]


def test_chains_of_unequal_length_in_any_order():
    rng = np.random.default_rng(7)
    long, short = rng.normal(size=(40_000, 2)), rng.normal(size=(100, 2))
    plan = DependenceSketch.plan(long).plan_
    parts = (long, 0), (short, 1)
    one, other = (DependenceSketch.empty(plan) for _ in range(2))
    for rows, chain in parts:
        one.update(rows, start=0, chain=chain)
    for rows, chain in parts[::-1]:
        other.update(rows, start=0, chain=chain)
    same(one, other)
    merged = DependenceSketch.empty(plan).update(short, start=0, chain=1)
    same(one, merged.merge(DependenceSketch.empty(plan).update(long, start=0, chain=0)))


def test_largest_number_has_a_bin():
    values = np.array([np.finfo(float).max] * 50 + list(range(50)))
    sketch = DependenceSketch.of(np.column_stack([values, values[::-1]]), iid=True)
    assert np.isfinite(sketch.plan_.columns[0].edges).all()


def test_one_column_has_no_pairs():
    with pytest.raises(cd.InputError, match="at least two variables"):
        DependenceSketch.of(table()[["x"]], iid=True)
