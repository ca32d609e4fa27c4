"""Three variables at a time, against influence values one by one, and what only triples show."""

import numpy as np
import pytest

from copula_discrepancy.data.draws import as_draws
from copula_discrepancy.estimate.all_pairs import compare_all
from copula_discrepancy.estimate.basis import centred_ranks, polynomials, slopes
from copula_discrepancy.estimate.joint import judged
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.triples import CELLS, ODD, compare_triples
from tests.estimate.test_all_pairs import autoregressive, batched, cost_of_ranks


def exclusive_or(rng, n):
    values = rng.standard_normal((n, 3))
    values[:, 2] = np.abs(values[:, 2]) * np.sign(values[:, 0] * values[:, 1])
    return values


def test_coefficients_and_errors_are_those_of_influence_values():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((1200, 4))
    values[:, 1] += values[:, 0]
    values[:, 2] = np.abs(values[:, 2]) * np.sign(values[:, 0] * values[:, 3]) + 0.5 * values[:, 1]
    table, sample = RankedTable.of(as_draws(values)), batched(values, dtype=np.float64)
    forms = compare_triples(sample, None, n_jobs=1)
    assert forms.places.tolist() == [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    u = [centred_ranks(column) for column in table.columns]
    for row, places in enumerate(forms.places):
        for cell, orders in enumerate(CELLS):
            factors = [polynomials(u[k], 2)[j - 1] for k, j in zip(places, orders, strict=True)]
            influence = np.prod(factors, axis=0)
            assert forms.own[row, cell] == pytest.approx(influence.mean(), abs=1e-9)
            for at, (k, j) in enumerate(zip(places, orders, strict=True)):
                rest = np.prod([factor for other, factor in enumerate(factors) if other != at], axis=0)
                influence = influence + cost_of_ranks(table.columns[k], slopes(u[k], 2)[j - 1] * rest)
            sums = np.add.reduceat(influence - influence.mean(), sample.edges[:-1])
            se = np.sqrt(np.sum(sums**2) * sample.count / (sample.count - 1.0)) / table.n
            assert forms.own_se[row, cell] == pytest.approx(se, rel=0.02)  # eight polynomials


def test_exclusive_or_is_found_every_time():
    rng = np.random.default_rng(2)
    for _ in range(20):
        forms = compare_triples(batched(rng.standard_normal((500, 3))), batched(exclusive_or(rng, 500)), n_jobs=1)
        assert forms.pvalue[0] < 1e-6
        assert CELLS[forms.cell[0]] == (1, 1, 1)


def test_other_cells_find_what_the_first_does_not():
    rng = np.random.default_rng(3)
    a, b, c = rng.standard_normal((3, 1000))
    rho = np.tanh(1.5 * (c**2 - 1.0))  # high at both ends of c
    values = np.stack([a, rho * a + np.sqrt(1.0 - rho**2) * b, c], axis=1)
    forms = compare_triples(batched(rng.standard_normal((1000, 3))), batched(values), n_jobs=1)
    assert CELLS[forms.cell[0]] == (1, 1, 2)
    assert forms.pvalue[0] < 1e-10
    assert abs(forms.z[0, 0]) < 4.0


@pytest.mark.parametrize(("chains", "draws", "phi", "iid"), [(1, 500, 0.0, True), (4, 500, 0.9, False)])
def test_size(chains, draws, phi, iid):
    rng = np.random.default_rng(4)
    rejected = []
    for _ in range(4):
        samples = [batched(autoregressive(rng, chains, draws, 12, phi), iid=iid) for _ in range(2)]
        rejected.append(np.mean(compare_triples(*samples, n_jobs=1).pvalue < 0.05))
    # 880 triples, four standard errors, more for chains, whose triples share few effective draws
    assert 0.02 < np.mean(rejected) < 0.09


def test_an_elliptical_copula_has_no_odd_cells():
    rng = np.random.default_rng(5)
    values = rng.multivariate_normal(np.zeros(3), 0.3 * np.eye(3) + 0.7, 2000)
    values /= np.sqrt(rng.chisquare(4.0, (2000, 1)))  # Student's t
    forms = compare_triples(batched(values), None, n_jobs=1)
    assert forms.pvalue[0] > 0.01
    assert (forms.z[0, [k for k in range(len(CELLS)) if k not in ODD]] == 0).all()  # not tested
    assert abs(forms.own[0, CELLS.index((2, 2, 2))]) > 0.1  # and not 0
    assert compare_triples(batched(exclusive_or(rng, 500)), None, n_jobs=1).pvalue[0] < 1e-6


def test_pairs_and_triples_have_one_joint_answer():
    """An exclusive or is not in the pairs' joint test, and is in that of pairs and triples."""
    rng = np.random.default_rng(6)
    draws, reference = batched(rng.standard_normal((500, 3))), batched(exclusive_or(rng, 500))
    pairs, triples = compare_all(draws, reference, gram=True, n_jobs=1), compare_triples(draws, reference, n_jobs=1)
    alone = judged(pairs, draws, reference, {}, confidence=0.95)
    together = judged(pairs, draws, reference, {}, confidence=0.95, triples=triples)
    assert alone.pvalue > 0.01
    assert together.pvalue < 1e-6
    assert (alone.n_triples, together.n_triples) == (0, 1)


def test_joint_size_with_triples():
    rng = np.random.default_rng(7)
    pvalues = []
    for _ in range(20):
        samples = [batched(rng.standard_normal((400, 8))) for _ in range(2)]
        pairs, triples = compare_all(*samples, gram=True, n_jobs=1), compare_triples(*samples, n_jobs=1)
        pvalues.append(judged(pairs, *samples, {}, confidence=0.95, triples=triples).pvalue)
    assert np.sum(np.array(pvalues) < 0.05) <= 4  # more in 0.3% of runs
    assert np.median(pvalues) > 0.2
