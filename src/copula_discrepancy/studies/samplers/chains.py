"""The result of a sampler."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Chains:
    """Draws of one run, (chain, draw, variable), and its settings; converts to an array.

    Returned by `metropolis`, `sgld` and `sghmc`.

    Attributes
    ----------
    values : array (chain, draw, d)
        The states kept, read-only.
    sampler : str
        Name of the sampler.
    settings : dict
        Its settings, and the target.
    acceptance : array (chain,) or None
        Share of accepted proposals after burn-in, for Metropolis.

    See Also
    --------
    discrepancy : Compares them with a target.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> chains = cd.metropolis(cd.BimodalMixture(), [[1.5, 1.5], [-1.5, -1.5]], scale=0.5, n_draws=200, rng=0)
    >>> chains.n_chains, chains.n_draws, chains.values.shape, chains.sampler
    (2, 200, (2, 200, 2), 'metropolis')
    >>> cd.kendall_matrix(chains).shape
    (2, 2)
    """

    values: FloatArray
    sampler: str
    settings: dict[str, Any]
    acceptance: FloatArray | None = None

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return int(self.values.shape[0])

    @property
    def n_draws(self) -> int:
        """Draws per chain."""
        return int(self.values.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        chains, draws, d = self.values.shape
        settings = ", ".join(f"{name}={value}" for name, value in self.settings.items() if name not in ("target", "n_draws"))
        accepted = "" if self.acceptance is None else f"; accepted {self.acceptance.min():.0%} to {self.acceptance.max():.0%}"
        source = f"by {self.sampler} from {self.settings['target']} ({settings}){accepted}"
        return f"Chains: {chains} x {draws} draws of {d} variables, {source}"
