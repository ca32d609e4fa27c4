"""The form of all pairs at once, against influence values one by one, and its tests where nothing differs."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtri, stdtr

from copula_discrepancy.data.draws import as_draws
from copula_discrepancy.estimate import batches
from copula_discrepancy.estimate.all_pairs import compare_all
from copula_discrepancy.estimate.basis import centred_ranks, polynomials, slopes
from copula_discrepancy.estimate.batches import BatchedRanks, approximate_scores, left_out_columns, rank_terms
from copula_discrepancy.estimate.combination import cauchy, largest_pvalues
from copula_discrepancy.estimate.rank_table import RankedTable


def batched(values, *, iid=True, dtype=np.float32):
    table = RankedTable.of(as_draws(values))
    return BatchedRanks.of(table, range(len(table.names)), iid=iid, dtype=dtype)


def dependent(rng, n):
    """A strong correlation, a funnel, and a column of neither."""
    x = rng.standard_normal((n, 4))
    x[:, 1] = 0.8 * x[:, 0] + 0.6 * x[:, 1]
    x[:, 2] *= np.exp(x[:, 0])
    return x


def autoregressive(rng, n_chains, n_draws, d, phi):
    x = rng.standard_normal((n_chains, n_draws, d))
    for t in range(1, n_draws):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1.0 - phi**2) * x[:, t]
    return x


def cost_of_ranks(column, slope):
    """The mean over j of 1{u_i <= u_j} slope_j, for every i: a reverse cumulative sum."""
    found = np.empty(column.n)
    found[column.order] = np.cumsum(slope[column.order][::-1])[::-1] / column.n
    return found


def test_rank_terms_are_the_integrals():
    terms = rank_terms(4)

    def phi(j, u):
        return polynomials(np.atleast_1d(u), 12)[j - 1][0] if j else 1.0

    for j, degree, u in ((1, 0, 0.3), (2, 1, 0.7), (3, 8, 0.1), (4, 5, 0.9)):

        def product(t, j=j, degree=degree):
            return slopes(np.atleast_1d(t))[j - 1][0] * phi(degree, t)

        exact = quad(product, u, 1.0)[0] - quad(lambda t, f=product: t * f(t), 0.0, 1.0)[0]
        assert terms[j - 1, degree] @ polynomials(np.array([u]), 12)[:, 0] == pytest.approx(exact, abs=1e-9)
    assert terms[0, 0, 0] == pytest.approx(-1.0)  # B_j0 = -phi_j


def test_coefficients_and_errors_are_those_of_influence_values():
    rng = np.random.default_rng(1)
    values = dependent(rng, 1500)
    table, sample = RankedTable.of(as_draws(values)), batched(values, dtype=np.float64)
    forms = compare_all(sample, None, n_jobs=1)
    for k, (i, j) in enumerate(zip(forms.first, forms.second, strict=True)):
        first, second = table.columns[i], table.columns[j]
        u, v = centred_ranks(first), centred_ranks(second)
        phi, psi = polynomials(u), polynomials(v)
        np.testing.assert_allclose(forms.own[k], phi @ psi.T / table.n, atol=1e-6)  # kept as float32
        for a in range(4):
            for b in range(4):
                influence = phi[a] * psi[b] + cost_of_ranks(first, slopes(u)[a] * psi[b])
                influence += cost_of_ranks(second, phi[a] * slopes(v)[b])
                sums = np.add.reduceat(influence - influence.mean(), sample.edges[:-1])
                g = sample.count
                se = np.sqrt(np.sum(sums**2) * g / (g - 1.0)) / table.n
                # conditional means are projected on eight polynomials, which misses up to 2% at phi_4 phi_4
                assert forms.se[k, a, b] == pytest.approx(se, rel=0.03)


def test_float32_is_enough():
    rng = np.random.default_rng(2)
    values = [autoregressive(rng, 4, 250, 6, 0.5) for _ in range(2)]
    single, double = (
        compare_all(*(batched(v, iid=False, dtype=dtype) for v in values), gram=True, n_jobs=1)
        for dtype in (np.float32, np.float64)
    )
    np.testing.assert_allclose(single.z, double.z, atol=2e-4)
    np.testing.assert_allclose(single.pvalue, double.pvalue, atol=2e-4)
    np.testing.assert_allclose(single.gram, double.gram, atol=1e-3 * np.abs(double.gram).max())


def test_tiles_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    samples = [batched(rng.standard_normal((300, 9))) for _ in range(2)]
    whole = compare_all(*samples, gram=True, n_jobs=1)
    monkeypatch.setattr(batches, "_TILE", 2)
    tiled = compare_all(*samples, gram=True, n_jobs=2)
    for name in ("own", "other", "se", "z", "pvalue", "inner", "strength"):
        np.testing.assert_allclose(getattr(tiled, name), getattr(whole, name), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(tiled.gram, whole.gram, rtol=1e-3, atol=1e-2)


def test_known_coefficients():
    rng = np.random.default_rng(4)
    rho = 0.6
    values = rng.multivariate_normal([0.0, 0.0], [[1.0, rho], [rho, 1.0]], 4000)
    exact = 6.0 / np.pi * np.arcsin(rho / 2.0)  # Spearman's rho of a Gaussian copula
    sample = batched(values)
    forms = compare_all(sample, None, order=1, known=np.full((1, 1, 1), exact), n_jobs=1)
    assert abs(forms.z[0, 0, 0]) < 3.0
    assert compare_all(sample, None, order=1, n_jobs=1).pvalue[0] < 1e-10  # independence


@pytest.mark.parametrize(("chains", "draws", "phi", "iid"), [(1, 500, 0.0, True), (4, 500, 0.9, False)])
def test_size_of_pairs(chains, draws, phi, iid):
    rng = np.random.default_rng(5)
    rejected = []
    for _ in range(4):
        samples = [batched(autoregressive(rng, chains, draws, 20, phi), iid=iid) for _ in range(2)]
        rejected.append(np.mean(compare_all(*samples, n_jobs=1).pvalue < 0.05))
    # 760 pairs: 5% plus or minus four standard errors
    assert 0.018 < np.mean(rejected) < 0.082


def test_dependence_that_tau_does_not_see():
    rng = np.random.default_rng(6)
    values = rng.standard_normal((500, 3))
    values[:, 1] *= np.exp(values[:, 0])
    forms = compare_all(batched(rng.permuted(values, axis=0)), batched(values), n_jobs=1)
    assert forms.pvalue[0] < 1e-6
    assert forms.pvalue[1:].min() > 1e-3
    assert abs(forms.kept[0]) < 0.3
    assert forms.distance[0] > 0.5


def test_perfect_dependence_has_no_rounding_gap():
    rng = np.random.default_rng(7)
    x, y = rng.standard_normal((2, 500))
    same = compare_all(batched(np.stack([x, x], 1)), batched(np.stack([y, y], 1)), n_jobs=1)
    assert same.pvalue[0] > 0.5
    reversed_ = compare_all(batched(np.stack([x, x], 1)), batched(np.stack([y, -y], 1)), n_jobs=1)
    assert reversed_.pvalue[0] < 1e-10


def test_batches_are_long_and_stay_in_chains():
    rng = np.random.default_rng(8)
    slow, fast = (batched(autoregressive(rng, 4, 1000, 3, phi), iid=False) for phi in (0.9, 0.0))
    for sample in (slow, fast):
        assert set(range(0, 4001, 1000)) <= set(sample.edges.tolist())
        assert sample.lengths.sum() == 4000
        assert len(sample.neighbours) == sample.count - 4
    assert fast.count == 100
    assert slow.lengths.min() > 4 * slow.time > 40
    many = batched(autoregressive(rng, 30, 20, 2, 0.9), iid=False)
    assert many.count == 30  # a chain each


def test_what_cannot_be_compared_is_left_out():
    rng = np.random.default_rng(9)
    columns = [rng.standard_normal(200), np.where(np.arange(200) % 7 == 0, np.nan, 1.0 * np.arange(200)), np.arange(200) % 2.0]
    assert left_out_columns([RankedTable.of_columns(columns)]) == {1: "missing values", 2: "too few different values"}


def test_normal_scores():
    t = np.linspace(0.0, 8.0, 50)
    for df in (9.0, 19.0, 99.0):
        np.testing.assert_allclose(approximate_scores(t, df), -ndtri(stdtr(df, -t)), rtol=0.005)  # as the docstring says


def test_combined_pvalues():
    half = np.array(0.5)
    assert cauchy([half, half]) == pytest.approx(0.5)
    assert cauchy([np.array(1e-200), half]) == pytest.approx(2e-200)
    assert cauchy([np.array(0.001), np.array(1.0)]) < 0.003  # a p-value of 1 is no evidence against the other
    assert largest_pvalues(np.array(1.959964), 1) == pytest.approx(0.05)
    assert largest_pvalues(np.array(3.0), 16) == pytest.approx(1 - (1 - 0.0026998) ** 16, rel=1e-4)
