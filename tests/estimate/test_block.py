"""Kendall's tau, its influence values and R-hat of a block of pairs, against their definitions."""

import math

import numpy as np
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy._core import kernels
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.rank_table import RankedTable
from tests.pairwise_data import autoregressive, gaussian


def columns(seed, n, digits):
    values = gaussian(np.random.default_rng(seed), n)[:, [0, 3]]
    return values if digits is None else np.round(values, digits)


def tau_influence(values):
    """The definition: tau-b is S / sqrt(A B), A and B the shares of pairs not tied in x and in y, which move with draws too."""
    n = len(values)
    dx, dy = (np.sign(np.subtract.outer(column, column)) for column in values.T)
    s, x, y = ((part.sum(axis=1)) / (n - 1.0) for part in (dx * dy, dx**2, dy**2))  # of each draw
    mean, share_x, share_y = s.mean(), x.mean(), y.mean()
    if abs(mean) == math.sqrt(share_x * share_y):
        return np.zeros(n)
    plain = 2.0 * (s - mean) - mean / share_x * (x - share_x) - mean / share_y * (y - share_y)
    return plain / math.sqrt(share_x * share_y)


def dependence_rhat(chains):
    """The definition: the largest R-hat of concordance, of the chains' own taus, and of all chains against each."""
    flat = chains.reshape(-1, 2)
    together = kernels.split_rhat(cd.concordance(*flat.T).reshape(chains.shape[:2]))
    if len(chains) == 1:
        return together
    values = []
    for chain in chains:
        varies = all(np.ptp(column) > 0 for column in chain.T)
        values.append(cd.kendall_tau(*chain.T) + tau_influence(chain) if varies else np.zeros(len(chain)))
    values = np.array(values)
    within = np.var(values, axis=1, ddof=1).mean()
    apart = math.sqrt(1.0 + (cd.kendall_tau(*flat.T) - values.mean()) ** 2 / within) if within > 0 else 1.0
    return max(together, kernels.split_rhat(values), apart)


@pytest.mark.slow
@pytest.mark.parametrize("digits", [None, 1, 0])
@pytest.mark.parametrize("n", [2, 3, 50, 1001])
def test_tau_and_influence(n, digits):
    values = columns(1, n, digits) if n > 3 else np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 2.0]])[:n]
    pair = RankedPair.from_draws(values)
    a, b = pair.first, pair.second
    tau, concordance, influence = kernels.tau_and_influence(a.order, a.rank, a.tied_pairs, b.order, b.rank, b.tied_pairs)
    assert tau == pytest.approx(stats.kendalltau(*values.T).statistic, rel=1e-12)
    signs = np.sign(np.subtract.outer(values[:, 0], values[:, 0]) * np.subtract.outer(values[:, 1], values[:, 1]))
    np.testing.assert_allclose(concordance, signs.sum(axis=1) / (n - 1), rtol=1e-15)
    np.testing.assert_allclose(influence, tau_influence(values), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("digits", [None, 0])
def test_influence_is_the_derivative_of_tau(digits):
    """Add a share e of copies of one draw to the population: (tau(e) - tau(0))/e -> influence, up to terms of order e."""
    values = columns(2, 60, digits)
    pair = RankedPair.from_draws(values)
    a, b = pair.first, pair.second
    _, _, influence = kernels.tau_and_influence(a.order, a.rank, a.tied_pairs, b.order, b.rank, b.tied_pairs)
    n = len(values)
    dx, dy = (np.sign(np.subtract.outer(column, column)) for column in values.T)

    def tau(weights):
        """Tau-b of a population, and with n/(n-1) for each sum as a sample has no draw twice."""
        s, x, y = (weights @ part @ weights for part in (dx * dy, dx**2, dy**2))
        return s / math.sqrt(x * y)

    step = 1e-6
    for k in range(0, n, 7):
        shift = -np.full(n, 1 / n)
        shift[k] += 1.0
        up, down = (tau(np.full(n, 1 / n) + sign * step * shift) for sign in (1.0, -1.0))
        # the sample's sums leave each draw's pair with itself out: n/(n-1) in the concordances, and so in all of it
        assert influence[k] == pytest.approx((up - down) / (2 * step), abs=4.0 / (n - 1))


@pytest.mark.parametrize("n_chains", [1, 2, 5])
@pytest.mark.parametrize("kind", ["smooth", "ties", "stuck", "still"])
def test_dependence_rhat(n_chains, kind):
    rng = np.random.default_rng(3)
    chains = autoregressive(rng, n_chains, 60, 0.8)[..., :2]
    if kind == "ties":
        chains = np.round(chains)
    if kind == "stuck":
        chains[0] += 5.0
    if kind == "still" and n_chains > 1:  # a variable that never varies has no pairs
        chains[0, :, 1] = 0.25
    (found,) = Block(RankedTable.of(cd.as_draws(chains)), [(0, 1)], compare=True, iid=False).rhats
    assert found == pytest.approx(dependence_rhat(chains), rel=1e-12)
    if kind == "stuck" and n_chains > 1:
        assert found > 1.2
