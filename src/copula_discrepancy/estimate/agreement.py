"""Agreement between chains: R-hat for Kendall's tau, and the tau of each chain."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from copula_discrepancy.data.draws import Draws
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.counted_block import CountedBlock
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.uncertainty import Estimate

# By chance, the halves of a plain (n, 2) array exceed the limit of R-hat in 16% of independent samples at n = 100, and in 0.1%
# from this n on; shorter ones are not compared.
_RHAT_DRAWS = 1000

RHAT_LIMIT = 1.01  # Vehtari, Gelman, Simpson, Carpenter and Burkner (2021)


@dataclass(frozen=True, repr=False)
class Agreement:
    """How well the chains agree on Kendall's tau.

    Attributes
    ----------
    rhat : float
        The largest of three split R-hats: of each draw's concordance with all draws, of its concordance with its own chain, and
        of the tau of all chains together against the mean of theirs. Near 1 if all chains have sampled the same distribution;
        NaN if there is nothing to compare: one plain sequence of fewer than 1000 draws, or chains of fewer than 20;
        infinite if chains differ that do not vary by themselves.
    taus : tuple of Estimate
        The tau of each chain with its standard error; NaN for a chain in which a variable does not vary.

    See Also
    --------
    rhat : ArviZ's R-hat of every variable.
    plot_tau_forest : Plot of the tau of each chain.

    Notes
    -----
    Split R-hat is that of Gelman et al. (2013); its application to these quantities is this library's. Two chains stuck in two
    modes may have the same tau within each mode, but not the tau of both chains together: the third R-hat detects this.

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
        """Every number by name, ready for JSON."""
        return {"rhat": self.rhat, "taus": [tau.to_dict() for tau in self.taus]}


def comparable(given: Draws, iid: bool) -> bool:
    """Whether there are chains, or halves of one, that R-hat can compare."""
    return given.n_chains > 1 or (not iid and (given.chained or given.n_draws >= _RHAT_DRAWS))


def chain_agreement(block: Block | CountedBlock, k: int, *, confidence: float) -> Agreement:
    """Whether the chains of a pair agree; `block` is finished, and has R-hat if it was requested.

    A chain that is stuck in one mode has its own tau, which shows in the second R-hat; chains stuck in different modes may have
    the same tau each, but not that of all of them together, which shows in the third.
    """
    own_estimate = partial(Estimate.of, tested=False, limits=(-1.0, 1.0), confidence=confidence)
    table, rhat = block.table, float(block.rhats[k])
    rhat = math.nan if math.isnan(rhat) else rhat  # the same NaN object, so that a result equals itself
    if isinstance(block, CountedBlock) or isinstance(table, CountedTable) or table.n_chains == 1:
        # blocks of counted rows have R-hat, but chains no taus of their own
        return Agreement(rhat, (own_estimate(float(block.taus[k]), block.spreads["tau"].at(k)),))
    taus, influence = block.by_chain
    every = table.chain_ranks.shape[2] * (table.chain_ranks.shape[2] - 1) // 2
    still = (table.chain_ties[block.first[k]] == every) | (table.chain_ties[block.second[k]] == every)
    unknown = own_estimate(math.nan, StandardError(math.nan, math.nan, math.nan))
    spreads = [
        unknown if still[c] else own_estimate(float(taus[k, c]), StandardError.of(influence[k, c][None], iid=block.iid))
        for c in range(table.n_chains)
    ]
    return Agreement(rhat, tuple(spreads))
