"""Three variables at a time of rows that were counted, as users see it."""

import json

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare.interactions import rank_triples
from tests.caveat_codes import codes_of


def exclusive_or(rng, n):
    rows = pd.DataFrame(rng.standard_normal((n, 5)), columns=list("abcde"))
    rows["c"] = np.abs(rows["c"]) * np.sign(rows["a"] * rows["b"])
    rows["e"] += 0.5 * rows["d"]
    return rows


def sketch_of(rows, **options):
    return cd.DependenceSketch.of(rows, iid=True, triples=True, **options)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.standard_normal((5000, 5)), columns=list("abcde")), exclusive_or(rng, 5000)


@pytest.fixture(scope="module")
def ranked(samples):
    return cd.interactions(*samples, iid=True)


@pytest.fixture(scope="module")
def counted(samples):
    return cd.interactions(*map(sketch_of, samples))


def by_names(result, column):
    table = result.to_dataframe()
    return table.set_index(["first", "second", "third"])[column].sort_index()


def test_two_sketches_give_what_rows_give(ranked, counted):
    assert counted.outcome == "gap"
    assert counted.worst.names == ("a", "b", "c")
    assert counted.worst.verdict == ranked.worst.verdict
    pd.testing.assert_series_equal(by_names(counted, "flagged"), by_names(ranked, "flagged"))
    pd.testing.assert_series_equal(by_names(counted, "in_pairs"), by_names(ranked, "in_pairs"))
    assert by_names(counted, "in_pairs").sum() == 3  # those with d and e
    for part in ("coefficients", "targets"):
        own, other = (
            getattr(result, part)[np.argsort(result.rows, order=["first", "second", "third"])] for result in (counted, ranked)
        )
        np.testing.assert_allclose(own, other, atol=0.15 / np.sqrt(5000))  # 0.15 standard errors
    # batches of rows, which the others come from, know a standard error to 1/sqrt(200)
    worst = [counted.worst, ranked.worst]
    assert worst[0].se == pytest.approx(worst[1].se, rel=0.25)


def test_there_is_no_joint_answer_and_a_note_says_so(counted):
    assert counted.joint is None
    assert any("counted have no answer for all pairs" in note for note in counted.notes)
    plain = json.loads(json.dumps(counted.to_dict()))
    assert plain["joint"] is None
    assert plain["n_triples"] == 10
    assert "rises with c" in repr(counted)
    assert "rises with c" in counted._repr_html_()
    assert counted.iid is True


def test_rows_in_memory_are_counted_on_request(samples, counted):
    result = cd.interactions(*samples, iid=True, engine="counted")
    np.testing.assert_array_equal(result.rows, counted.rows)


def test_without_a_reference(samples):
    result = cd.interactions(sketch_of(samples[1]))
    assert result.worst.names == ("a", "b", "c")
    assert result.worst.flagged
    assert np.isnan(result.worst.target)
    assert np.isnan(result.targets).all()
    assert cd.interactions(sketch_of(samples[0])).outcome == "no gap"


def test_a_folder_of_parquet_files(samples, counted, tmp_path):
    pytest.importorskip("pyarrow")
    folders = []
    for name, rows in zip(("draws", "reference"), samples, strict=True):
        folder = tmp_path / name
        folder.mkdir()
        for k, start in enumerate(range(0, len(rows), 1700)):
            rows[start : start + 1700].to_parquet(folder / f"{k}.parquet")
        folders.append(folder)
    result = cd.interactions(*folders, iid=True, engine="counted", memory="500MB")
    np.testing.assert_array_equal(result.coefficients, counted.coefficients)
    np.testing.assert_array_equal(result.flagged, counted.flagged)
    few = cd.interactions(*folders, iid=True, engine="counted", var_names=["a", "b", "c"])
    assert few.names == ("a", "b", "c")


def test_frames_of_dask(samples, counted):
    frames = pytest.importorskip("dask.dataframe")
    result = cd.interactions(*(frames.from_pandas(rows, npartitions=3) for rows in samples), iid=True, engine="counted")
    np.testing.assert_array_equal(result.coefficients, counted.coefficients)


def test_variables_are_matched_by_name_and_selected(samples, counted):
    turned = sketch_of(samples[1][list("ecbda")])
    result = cd.interactions(sketch_of(samples[0]), turned)
    pd.testing.assert_series_equal(by_names(result, "target"), by_names(counted, "target"), atol=1e-10)
    chosen = cd.interactions(sketch_of(samples[0]), turned, var_names=["a", "b", "c"])
    assert chosen.names == ("a", "b", "c")
    assert len(chosen) == 1


def test_the_same_variables_are_left_out_as_in_memory(samples):
    draws, reference = (rows.assign(coin=rows["a"] > 0.3, still=1.0).astype(float) for rows in samples)
    reference.loc[3, "d"] = np.nan
    results = [rank_triples(draws, reference, iid=True, missing=None, engine=engine) for engine in ("exact", "counted")]
    assert results[0].left_out == results[1].left_out
    assert results[1].left_out.keys() == {"coin", "still", "d"}
    assert results[1].names == ("a", "b", "c", "e")
    assert codes_of(results[0]) == codes_of(results[1])


def test_the_same_rows_twice(samples):
    sketch = sketch_of(samples[0])
    assert "same-rows" in codes_of(rank_triples(sketch, sketch))


def test_what_cannot_be_compared(samples):
    draws, reference = samples
    sketch = sketch_of(draws)
    with pytest.raises(cd.InputError, match="iid=True"):
        cd.interactions(draws, reference, engine="counted")
    with pytest.raises(cd.InputError, match=r"draws: .*an order.*iid=True"):
        cd.interactions(cd.DependenceSketch.of(draws), sketch)
    with pytest.raises(cd.InputError, match=r"reference: .*triples=True"):
        cd.interactions(sketch, cd.DependenceSketch.of(reference, iid=True))
    with pytest.raises(cd.InputError, match="engine"):
        cd.interactions(sketch, sketch, engine="exact")
    with pytest.raises(cd.InputError, match="sample of the same variables"):
        cd.interactions(sketch, cd.Gaussian(0.3))
    with pytest.raises(cd.InputError, match="at least 3 variables"):
        cd.interactions(sketch, sketch, var_names=["a", "b"])
    with pytest.raises(cd.InputError, match="engine"):
        cd.interactions(draws, reference, iid=True, engine="fast")
    with pytest.raises(cd.InputError, match="memory"):
        cd.interactions(draws, reference, iid=True, memory="1MB")
    wide = np.random.default_rng(2).standard_normal((100, 60))
    with pytest.raises(cd.InputError, match="34,220 triples"):
        cd.interactions(wide, wide[::-1], iid=True, engine="counted")
