"""The study of tables of every kind: its data have the stated strength and are honest, and its parts run."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from benchmarks import kinds, kinds_data, report


@pytest.mark.parametrize("pair", kinds_data.LOST, ids=" x ".join)
def test_the_lost_pair_has_its_strength(pair):
    """Pearson's phi^2 of the simulated table: numbers are cut into 40 parts, which lose little."""
    n, wanted = 200_000, 0.05
    table = kinds_data.mixed(n, np.random.default_rng(1), pair, wanted)[list(pair)]
    parts = [pd.qcut(table[name], 40, labels=False) if name.startswith("number") else table[name] for name in pair]
    counts = pd.crosstab(*parts).to_numpy()
    df = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    phi2 = (chi2_contingency(counts, correction=False).statistic - df) / n
    assert phi2 == pytest.approx(wanted, abs=0.006)  # five standard errors, 2 sqrt(phi2 / n), and the error of the cut


def test_only_the_lost_pair_differs():
    pair = kinds_data.LOST[0]
    rng = np.random.default_rng(2)
    tables = [kinds_data.mixed(100_000, rng, *lost) for lost in ((), (pair, 0.1))]
    codes = [table.apply(lambda column: column.cat.codes if column.dtype == "category" else column) for table in tables]
    gaps = (codes[1].astype(float).corr() - codes[0].astype(float).corr()).abs()
    assert gaps.loc[pair] > 0.2
    gaps.loc[pair] = gaps.loc[pair[::-1]] = 0.0
    assert gaps.to_numpy().max() < 0.02  # four standard errors of a difference of 190 correlations


@pytest.mark.parametrize("population", kinds.POPULATIONS)
@pytest.mark.parametrize("kind", range(len(kinds_data.KINDS)), ids=[kind.name for kind in kinds_data.KINDS])
def test_every_kind_can_be_tested_and_has_dependence(kind, population):
    """Two samples of one population are not told apart at 1e-6; without the dependence of one, most are."""
    if population == "real":
        pytest.importorskip("statsmodels")
    rng = np.random.default_rng(3)

    def sample(dependent):
        return kinds_data.sample(kinds_data.KINDS[kind], population, dependent, 5000, rng)

    assert kinds.form_pvalue([sample(False), sample(False)]) > 1e-6
    assert kinds.form_pvalue([sample(True), sample(False)]) < 0.05


def test_the_oracle_is_the_power_of_a_known_test():
    rng = np.random.default_rng(4)
    scores = rng.standard_normal((20_000, 6))
    scores[:, 0] += np.sqrt(0.5 * 2000 * 0.02)
    from scipy.stats import chi2

    simulated = np.mean(np.sum(scores**2, axis=1) > chi2.isf(0.05 / 100, 6))
    assert kinds.oracle(0.02, 2000, 6, 100) == pytest.approx(simulated, abs=0.018)  # five standard errors


def test_shuffled_cells_lose_dependence_and_keep_margins():
    table = kinds_data.scored(2000, np.random.default_rng(5))
    mixed = kinds_data.shuffled(table, 1.0, np.random.default_rng(6))
    same = kinds_data.shuffled(table, 0.0, np.random.default_rng(6))
    assert same.equals(table)
    assert np.array_equal(np.sort(mixed["numeric0"]), np.sort(table["numeric0"]))
    assert (mixed.dtypes == table.dtypes).all()
    assert kinds.scored(table, mixed)[0] < 0.2


def test_a_lost_pair_is_found():
    found = kinds.lost_run(kinds_data.LOST[2], 0.1, 2000, np.random.SeedSequence(1))
    assert (found.flagged, found.first) == (1.0, 1.0)
    assert found.tests > 190


@pytest.mark.parametrize("runs", [400, 2000])
def test_the_band_holds_95_percent(runs):
    low, high = (float(end) / 100 for end in kinds.band(runs).split(" to "))
    found = np.random.default_rng(7).binomial(runs, 0.05, 20_000) / runs
    assert 0.945 < np.mean((found >= low - 5e-4) & (found <= high + 5e-4)) < 0.985


def test_the_command_writes_what_it_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(kinds, "POPULATIONS", ("simulated",))
    monkeypatch.setitem(kinds.CASES, "level", (lambda runs, jobs: kinds.level(runs, jobs, sizes=(200,)), 7))
    path = tmp_path / "kinds.md"
    kinds.main(["--only", "level", "--runs", "2", "--write", str(path)])
    assert list(report.read(path.read_text(encoding="utf-8"))) == ["Size of level"]


@pytest.mark.slow
def test_a_large_table_has_every_kind():
    table = kinds_data.large(400, np.random.default_rng(8))
    assert table.shape == (400, 50)
    assert table["gaps4"].isna().any()
    assert len(table["category1"].cat.categories) == 8
    seconds, memory, pairs = kinds.cost(300)
    assert seconds > 0
    assert memory > 0.05
    assert pairs > 49 * 25
