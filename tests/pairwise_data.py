"""Samples with known dependence between several variables, for the tests of all pairs."""

import numpy as np

import copula_discrepancy as cd

CORRELATIONS = np.array(
    [
        [1.0, 0.8, 0.3, -0.5],
        [0.8, 1.0, 0.2, -0.4],
        [0.3, 0.2, 1.0, 0.0],
        [-0.5, -0.4, 0.0, 1.0],
    ]
)


def gaussian(rng, shape, correlations=CORRELATIONS):
    """Independent normal draws, (n, d) or (chain, draw, d)."""
    return rng.multivariate_normal(np.zeros(len(correlations)), correlations, shape)


def student(rng, n, df, correlations=CORRELATIONS):
    """Independent draws of a multivariate t distribution; every pair has the copula StudentT(rho, df)."""
    return gaussian(rng, n, correlations) / np.sqrt(rng.chisquare(df, (n, 1)) / df)


def clayton(rng, n, d, theta, turned=()):
    """Independent draws of a Clayton copula by its gamma frailty; `turned` columns are mirrored, so some taus are negative."""
    frailty = rng.gamma(1.0 / theta, size=(n, 1))
    draws = (1.0 + rng.exponential(size=(n, d)) / frailty) ** (-1.0 / theta)
    for k in turned:
        draws[:, k] = 1.0 - draws[:, k]
    return draws


def autoregressive(rng, n_chains, n_draws, phi, correlations=CORRELATIONS):
    """Chains x_t = phi x_(t-1) + noise that start and stay in a normal distribution with these correlations."""
    noise = gaussian(rng, (n_chains, n_draws), correlations)
    chains = noise.copy()
    for t in range(1, n_draws):
        chains[:, t] = phi * chains[:, t - 1] + np.sqrt(1.0 - phi**2) * noise[:, t]
    return chains


def sticky(rng, draws, stay=0.5):
    """Draws like those of a Metropolis chain: with probability `stay` a draw repeats the one before in all variables."""
    values = draws.copy()
    flat = values if values.ndim == 3 else values[None]
    for t in range(1, flat.shape[1]):
        same = rng.random(flat.shape[0]) < stay
        flat[same, t] = flat[same, t - 1]
    return values


def gumbel_pair(rng, n, tau):
    """Two columns with a Gumbel copula."""
    return cd.Gumbel.from_tau(tau).sample(n, rng=rng)
