"""False alarms of pairs with levels in which one column nearly determines the other."""

import numpy as np
import pytest
from numpy.typing import NDArray

from copula_discrepancy.estimate.coded_columns import coded
from copula_discrepancy.estimate.level_pairs import level_gap

Columns = tuple[NDArray[np.float64], NDArray[np.float64]]
COUNTRY = np.array([0, 0, 0, 1, 1, 2, 2, 2])
CITIES = np.array([8, 4, 2, 5, 3, 6, 2, 1]) / 31


def _pvalue(draws: Columns, reference: Columns, levels: tuple[int, int]) -> float:
    """With columns without an order; 0 levels for numbers."""
    columns = [
        coded([draws[k], reference[k]], tuple(f"level {c}" for c in range(levels[k])), ordered=levels[k] == 0) for k in (0, 1)
    ]
    found = level_gap([(columns[0][k], columns[1][k]) for k in (0, 1)], order=4, iid=(True, True), n_chains=(1, 1))
    assert not isinstance(found, str)
    return found.form.pvalue


def _cities(rng: np.random.Generator, n: int, wrong: float) -> Columns:
    city = rng.choice(8, n, p=CITIES)
    country = np.where(rng.random(n) < wrong, rng.integers(0, 3, n), COUNTRY[city])
    return city.astype(float), country.astype(float)


def test_a_few_wrong_rows_of_a_determined_column_are_no_gap() -> None:
    """Places with a row in one sample and none in the other had no error: two of three pairs had a p-value below 1e-3."""
    rng = np.random.default_rng(1)
    pvalues = [_pvalue(_cities(rng, 300, 0.01), _cities(rng, 300, 0.01), (8, 3)) for _ in range(20)]
    assert min(pvalues) > 0.01


def test_many_wrong_rows_of_a_determined_column_are_a_gap() -> None:
    rng = np.random.default_rng(2)
    assert _pvalue(_cities(rng, 1000, 0.15), _cities(rng, 1000, 0.01), (8, 3)) < 1e-3


def _apart(rng: np.random.Generator, n: int, between: float) -> Columns:
    level = rng.choice(4, n, p=np.array([12, 4, 2, 2]) / 20)
    return level.astype(float), between * level + rng.normal(size=n)


@pytest.mark.parametrize("turned", [False, True])
def test_levels_that_hardly_overlap_in_a_small_sample_are_no_gap(turned: bool) -> None:
    """The variance of a small sample without any row out of order was 0: a fifth of p-values were below 0.05."""
    rng = np.random.default_rng(3)
    pvalues = []
    for _ in range(60):
        samples = _apart(rng, 200, 3.0), _apart(rng, 5000, 3.0)
        pvalues.append(_pvalue(samples[turned], samples[not turned], (4, 0)))
    assert np.mean(np.array(pvalues) < 0.05) < 0.12


def test_levels_that_overlap_more_are_a_gap() -> None:
    rng = np.random.default_rng(4)
    assert _pvalue(_apart(rng, 400, 1.5), _apart(rng, 5000, 3.0), (4, 0)) < 1e-3


def test_a_strong_dependence_above_a_spike_is_no_gap() -> None:
    """At the edge of two levels divided by rank the other column is between, not as in both: 31% were below 0.05."""
    rng = np.random.default_rng(5)

    def spiked(n: int) -> Columns:
        x = rng.normal(size=n)
        zero = rng.random(n) < 1 / (1 + np.exp(3 * x - np.log(0.65 / 0.35)))
        return np.where(zero, 0.0, rng.lognormal(3 * x, 1.0)), x

    pvalues = [_pvalue(spiked(200), spiked(5000), (0, 0)) for _ in range(40)]
    assert np.mean(np.array(pvalues) < 0.05) < 0.12
