"""Do the chains agree with each other about the dependence? R-hat for Kendall's tau, and each chain's own tau."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.data.draws import Draws
from copula_discrepancy.estimate.influence import tau_influence
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.uncertainty import Estimate, Spread, split_rhat

# Halves of a plain (n, 2) array pass R-hat's limit by chance: in 16% of independent samples at n = 100, in 0.1% from here on,
# and only from here on are they compared.
_RHAT_DRAWS = 1000

RHAT_LIMIT = 1.01  # Vehtari, Gelman, Simpson, Carpenter and Burkner (2021)


@dataclass(frozen=True, repr=False)
class Agreement:
    """How well the chains agree about Kendall's tau.

    Attributes
    ----------
    rhat : float
        The largest of three split R-hats: of each draw's concordance with all draws, of its concordance with its own chain, and
        of the tau of all chains together against the mean of theirs. Near 1 where all chains have seen the same distribution;
        NaN where there is nothing to compare: one plain sequence of fewer than 1000 draws, or chains of fewer than 20;
        infinite where chains differ that do not vary by themselves.
    taus : tuple of Estimate
        Each chain's own tau with its standard error; NaN for a chain in which a variable does not vary.

    See Also
    --------
    rhat : ArviZ's R-hat of every variable.
    plot_tau_forest : Each chain's tau as a picture.

    Notes
    -----
    Split R-hat is that of Gelman et al. (2013); what it is taken of here is this library's. Two chains stuck in two modes may
    agree about tau within each mode, and still disagree with the tau of both together: the third R-hat is for that.

    References
    ----------
    Gelman, A., Carlin, J. B., Stern, H. S., Dunson, D. B., Vehtari, A. and Rubin, D. B. (2013). Bayesian Data Analysis, 3rd
    edition. Chapman & Hall/CRC.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> draws = cd.Gumbel(2.5).sample(2000, rng=1).reshape(4, 500, 2)
    >>> agreement = cd.discrepancy(draws, cd.Gumbel(2.5)).agreement
    >>> agreement.rhat < 1.01, len(agreement.taus)
    (True, 4)
    """

    rhat: float
    taus: tuple[Estimate, ...]

    def __repr__(self) -> str:
        lines = [f"R-hat for dependence {self.rhat:.3f}; Kendall's tau of each chain:"]
        return "\n".join([*lines, *(f"  chain {k:<4}{tau!r}" for k, tau in enumerate(self.taus))])

    def to_dict(self) -> dict[str, Any]:
        """Every number by its name, ready for JSON."""
        return {"rhat": self.rhat, "taus": [tau.to_dict() for tau in self.taus]}


def comparable(given: Draws, iid: bool) -> bool:
    """Whether there are chains, or halves of one, that R-hat can compare."""
    return given.n_chains > 1 or (not iid and (given.chained or given.n_draws >= _RHAT_DRAWS))


def chain_agreement(pair: RankedPair, pooled: Spread, *, compare: bool, iid: bool, confidence: float) -> Agreement:
    """Compare the chains; `pooled` is the standard error of the tau of all of them. A single one is cut in halves if `compare`.

    A chain that is stuck in one mode has its own tau, and so shows in the second R-hat; chains stuck in different modes may
    have the same tau each, but not that of all of them together, and show in the third.
    """
    own_estimate = partial(Estimate.of, tested=False, limits=(-1.0, 1.0), confidence=confidence)
    if pair.n_chains == 1:
        return Agreement(dependence_rhat(pair) if compare else math.nan, (own_estimate(pair.tau, pooled),))
    own = [_own_tau(chain) for chain in pair.chains]
    taus = tuple(own_estimate(tau, Spread.of(influence[None], iid=iid)) for tau, influence in own)
    return Agreement(dependence_rhat(pair, own) if compare else math.nan, taus)


def dependence_rhat(pair: RankedPair, own: "list[tuple[float, NDArray[np.float64]]] | None" = None) -> float:
    """The largest R-hat of a pair's concordance, of its chains' own taus, and of all chains against each; see `Agreement`."""
    together = split_rhat(pair.by_chain(pair.concordance))
    if pair.n_chains == 1 or pair.n == pair.n_chains:  # one chain, or chains of one draw, which have no variance within
        return together
    own = own or [_own_tau(chain) for chain in pair.chains]
    values = np.stack([tau + influence if math.isfinite(tau) else np.zeros_like(influence) for tau, influence in own])
    # the draws' values have the chains' taus as their means: what pooling adds is a variance between chains, as in R-hat
    pooling = (pair.tau - float(np.mean(values))) ** 2
    within = float(np.mean(np.var(values, axis=1, ddof=1)))
    apart = math.sqrt(1.0 + pooling / within) if within > 0 else 1.0
    return max(together, split_rhat(values), apart if math.isfinite(together) else math.nan)


def _own_tau(chain: RankedPair) -> tuple[float, NDArray[np.float64]]:
    """A chain's own tau and the influence values; NaN where a variable does not vary in it."""
    if not (chain.first.varies and chain.second.varies):
        return math.nan, np.full(chain.n, math.nan)
    return chain.tau, tau_influence(chain)
