"""The study of scores of synthetic tables: its synthesisers, its yardstick and its tables.

Real tables and SDV are in the environment of the study only: the tables here are simulated.
"""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks import report, tables
from benchmarks import tables_data as data


def mixed(n, seed):
    """A number, a date, a category and a number with gaps; all follow the same latent variable."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal(n)
    number, grade, other = (latent + 0.3 * rng.standard_normal((3, n))).round(2)
    return pd.DataFrame(
        {
            "number": number,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta((100 * latent).round(), unit="D"),
            "grade": np.array(["low", "middle", "high"], dtype=object)[np.digitize(grade, [-0.5, 0.5])],
            "gaps": np.where(latent < -1.0, np.nan, other),
        }
    )


def same_values(one, other):
    return one.value_counts(dropna=False).sort_index().equals(other.value_counts(dropna=False).sort_index())


def test_kinds_and_halves():
    table = mixed(301, 1)
    assert [data.kind(table[name]) for name in table] == ["numerical", "datetime", "categorical", "numerical"]
    assert data.metadata(table)["columns"]["day"] == {"sdtype": "datetime"}
    first, second = data.halves(table, np.random.default_rng(2))
    assert len(first) == len(second) == 150
    assert len(pd.concat([first, second]).merge(table.drop_duplicates())) >= 299
    assert not set(map(tuple, first.dropna().to_numpy())) & set(map(tuple, second.dropna().to_numpy()))


@pytest.mark.parametrize(("share", "kept"), [(0.0, 1.0), (0.3, 0.49), (1.0, 0.0)])
def test_noise_keeps_margins_and_some_dependence(share, kept):
    """A pair of cells stays together if neither is permuted."""
    table = mixed(4000, 3)
    noisy = data.noisy_copy(share, table, np.random.default_rng(4))
    assert all(same_values(table[name], noisy[name]) for name in table)
    rank = {name: frame[["number", "gaps"]].corr("spearman").iloc[0, 1] for name, frame in (("table", table), ("noisy", noisy))}
    assert rank["noisy"] / rank["table"] == pytest.approx(kept, abs=0.05)  # a correlation of 4,000 rows has an error of 0.016
    assert list(noisy.dtypes) == list(table.dtypes)


def test_trees_keep_dependence_gaps_and_kinds():
    pytest.importorskip("sklearn")
    table = mixed(2000, 5)
    drawn = data.sequential_trees(table, np.random.default_rng(6))
    assert list(drawn.dtypes) == list(table.dtypes)
    assert drawn["number"].corr(drawn["gaps"], method="spearman") > 0.8
    means = (frame.groupby("grade")["day"].mean() for frame in (table, drawn))
    assert (abs(next(means) - next(means)) < pd.Timedelta(days=15)).all()  # of a standard deviation of 100 days
    gaps = drawn.loc[drawn["gaps"].isna(), "number"]  # only where the latent variable is low
    assert 0.1 < len(gaps) / 2000 < 0.22
    assert gaps.max() < 1.0


def test_ranks_hide_margins_and_ties():
    rng = np.random.default_rng(7)
    values = np.concatenate([np.repeat([1.0, 2.0], 500), [np.nan]])
    found = data.ranks(values, rng)
    assert found[:500].max() < found[500:1000].min()
    assert np.isnan(found[-1])
    assert np.sort(found[:-1]) == pytest.approx((np.arange(1000) + 0.5) / 1000, abs=0.0005)  # one in each thousandth
    assert len(np.unique(found[:-1])) == 1000


def test_the_classifier_sees_dependence_and_by_ranks_nothing_else():
    pytest.importorskip("sklearn")
    real, honest = mixed(900, 8), mixed(900, 9)
    stretched = honest.assign(number=np.exp(honest["number"]))
    permuted = data.columns_alone(honest, np.random.default_rng(10))
    # an area of 0.5 from 2 x 900 rows has a standard error of 0.014
    assert tables.told_apart(real, honest, 1) == pytest.approx(0.5, abs=0.06)
    assert tables.told_apart(real, honest, 1, by_ranks=True) == pytest.approx(0.5, abs=0.06)
    assert tables.told_apart(real, stretched, 1) > 0.8
    assert tables.told_apart(real, stretched, 1, by_ranks=True) == pytest.approx(0.5, abs=0.06)
    assert tables.told_apart(real, permuted, 1, by_ranks=True) > 0.8


def records(n_tables, synthesisers, seed):
    """A score that follows the classifier, one that follows it less, and one that does not."""
    rng = np.random.default_rng(seed)
    found = []
    for name in range(n_tables):
        for label in synthesisers:
            area = rng.uniform(0.5, 1.0)
            scores = 1 - area, 1 - area + rng.normal(0, 0.2), rng.random()
            found.append({"table": f"t{name}", "split": 0, "synthesiser": label, "seconds": 0.0, tables.AUC: area})
            found[-1] |= dict(zip(tables.SCORES, scores, strict=True)) | {tables.AUC_RANKS: area}
    return found


@pytest.mark.slow
def test_agreement_is_measured_with_a_band_over_tables(monkeypatch):
    monkeypatch.setattr(tables, "RESAMPLES", 50)
    frame = pd.DataFrame(records(10, data.SYNTHESISERS, 11))
    (found,) = tables.agreement(frame)
    assert len(found.rows) == 6
    for row in found.records():
        assert row[tables.OURS] == "1.00 (1.00 to 1.00)"
        assert 0.2 < float(row[tables.TRENDS].split()[0]) < 0.9
        assert abs(float(row[tables.QUALITY].split()[0])) < 0.35  # 80 pairs of unrelated numbers
        assert float(row[f"{tables.OURS} - {tables.TRENDS}"].split()[0]) > 0.1
    frame.loc[frame["table"] == "t3", tables.TRENDS] = np.nan
    (found,) = tables.agreement(frame)
    assert f"{tables.TRENDS}: t3" in found.note


def test_the_command_writes_tables_and_scores(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESAMPLES", 20)
    monkeypatch.setattr(tables, "table_run", lambda labels, part: [r | {"table": part[0]} for r in records(1, labels, 12)])
    monkeypatch.setattr(
        data, "SOURCES", {"made": data.Source("simulated", "mixed"), "made too": data.Source("simulated", "mixed")}
    )
    monkeypatch.setattr(data, "real_table", lambda name: mixed(300, 13))
    path = tmp_path / "tables.md"
    tables.main(["--only", "scores", "--only", "ctgan", "--write", str(path)])
    found = report.read(path.read_text(encoding="utf-8"))
    titles = ["Tables", "Scores by synthesiser", "Agreement with a classifier", "Fooled", "All scores", "CTGAN"]
    assert list(found) == [*titles, "Agreement with a classifier and CTGAN"]
    assert found["Tables"].records()[0]["most categories"] == "3"
    kept = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert len(kept) == 2 * len(data.SYNTHESISERS)
    assert {record["synthesiser"] for record in kept} == set(data.SYNTHESISERS)
