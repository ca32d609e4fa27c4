"""ArviZ's effective sample size and R-hat, the paper's effective sample size, and the distance of the taus."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of, real_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import as_values, require_varying
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.standard_error import FEWEST_DRAWS
from copula_discrepancy.families import Copula

ESS_METHODS = ("bulk", "tail", "mean", "median", "sd")
TAILS = (0.05, 0.95)  # as in ArviZ: the smaller effective sample size of these two quantiles
RHAT_METHODS = ("rank", "split", "folded", "z_scale", "identity")


def naive_tau(draws: Any, target: Copula | float) -> float:
    """Distance between Kendall's tau of the draws and of the target, |tau - tau_target|: it measures strength only.

    The paper's baseline (Aich and Aich, 2025, remark 3.1). It equals `cd_moment` of `discrepancy`, without its uncertainty.

    Parameters
    ----------
    draws : array (n, 2) or (chain, draw, 2), or anything `as_draws` accepts
        Chains are pooled; tau-b accounts for ties.
    target : Copula or float
        A copula, or its Kendall's tau.

    Returns
    -------
    float
        Between 0 and 2.

    Raises
    ------
    InputError
        For draws that are not two finite, varying columns (NaN is counted and located), or a tau outside -1 to 1.

    See Also
    --------
    discrepancy : The same with a standard error, and the shape of the dependence.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> round(cd.naive_tau([[1, 1], [2, 3], [3, 2]], 0.6), 6)
    0.266667
    """
    tau = target.tau if isinstance(target, Copula) else real_number(target, "target")
    if not -1 <= tau <= 1:
        raise InputError(f"target must be a copula or a Kendall's tau between -1 and 1, got {tau:g}")
    return abs(RankedPair.from_draws(draws).tau - tau)


def ess(draws: Any, *, method: str = "bulk") -> dict[str, float]:
    """ArviZ's effective sample size of every variable by name (Vehtari et al., 2021).

    It measures how precisely the mean, a quantile or the standard deviation of one variable is known, not the dependence
    between variables.

    Parameters
    ----------
    draws : array (n, d) or (chain, draw, d), or anything `as_draws` accepts
        An (n, d) array is one chain.
    method : {"bulk", "tail", "mean", "median", "sd"}
        The quantity to estimate: "bulk" after rank normalisation, "tail" the smaller of the 5% and 95% quantiles.

    Returns
    -------
    dict
        Effective sample sizes by name, which exceed the number of draws for antithetic chains.

    Raises
    ------
    InputError
        For NaN and infinite values, constant variables, and fewer than 4 draws per chain. Ties are ordinary values.

    See Also
    --------
    summary : Effective number of draws for Kendall's tau of every pair.
    paper_ess : The paper's formula.

    References
    ----------
    Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Burkner, P.-C. (2021). Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis 16, 667-718.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> sizes = cd.ess(cd.Gumbel(2.5).sample(4000, rng=1).reshape(4, 1000, 2))
    >>> {name: size > 3000 for name, size in sizes.items()}
    {'x0': True, 'x1': True}
    """
    one_of(method, "method", ESS_METHODS)
    from arviz_stats.base import array_stats

    options = {"prob": TAILS} if method == "tail" else {}
    return _by_name(draws, "ess", lambda values: array_stats.ess(values, method=method, **options))


def rhat(draws: Any, *, method: str = "rank") -> dict[str, float]:
    """ArviZ's R-hat of every variable by name (Vehtari et al., 2021); NaN for a single chain.

    It compares the chains variable by variable: chains that agree on every margin may disagree on the dependence, for which
    the `Agreement` of a `discrepancy` is the counterpart.

    Parameters
    ----------
    draws : array (chain, draw, d), or anything `as_draws` accepts
        Several chains.
    method : {"rank", "split", "folded", "z_scale", "identity"}
        The method of ArviZ; "rank" is the larger of rank-normalised split R-hat and the same of the folded draws.

    Returns
    -------
    dict
        R-hats by name; near 1 if the chains agree, very large if constant chains differ.

    Raises
    ------
    InputError
        For NaN and infinite values, constant variables, and fewer than 4 draws per chain. Ties are ordinary values.

    See Also
    --------
    summary : R-hat for the dependence of every pair.

    References
    ----------
    Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Burkner, P.-C. (2021). Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis 16, 667-718.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> agreement = cd.rhat(cd.Gumbel(2.5).sample(4000, rng=1).reshape(4, 1000, 2))
    >>> {name: value < 1.01 for name, value in agreement.items()}
    {'x0': True, 'x1': True}
    """
    one_of(method, "method", RHAT_METHODS)
    from arviz_stats.base import array_stats

    @np.errstate(divide="ignore", invalid="ignore")  # infinite for constant chains that differ
    def of_chains(values: NDArray[np.float64]) -> Any:
        return array_stats.rhat(values, method=method) if len(values) > 1 else math.nan

    return _by_name(draws, "rhat", of_chains)


def paper_ess(draws: Any) -> dict[str, float]:
    """The paper's effective sample size of every variable by name: for comparison with its tables only.

    n / (1 + 2 sum of (rho_2k + rho_2k+1)), k = 1, 2, ... while those sums are positive, rho the autocorrelations of all chains
    concatenated (Aich and Aich, 2025, their published scripts). It omits lag 1 and ignores the ends of chains, so its values
    mean little: chains in two modes have 3 effective draws, regardless of the number of draws.

    Parameters
    ----------
    draws : array (n, d) or (chain, draw, d), or anything `as_draws` accepts
        Chains are concatenated.

    Returns
    -------
    dict
        Effective sample sizes by name.

    Raises
    ------
    InputError
        For NaN and infinite values, constant variables, and fewer than 4 draws per chain. Ties are ordinary values.

    See Also
    --------
    ess : ArviZ's effective sample size, for all other purposes.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> modes = np.repeat([[-1.0, -1.0], [1.0, 1.0]], 1000, axis=0)
    >>> round(cd.paper_ess(modes)["x0"], 1)
    3.0
    """
    return _by_name(draws, "paper_ess", lambda values: _skipping_ess(values.reshape(-1)))


def _by_name(draws: Any, name: str, statistic: Callable[[NDArray[np.float64]], Any]) -> dict[str, float]:
    """A statistic of every variable, from its values (chain, draw) on a scale near 1."""
    given = as_values(draws, name)
    if given.n_draws < FEWEST_DRAWS:
        rule = f"{name} needs at least {FEWEST_DRAWS} draws per chain"
        raise InputError(f"{rule}, got {given.n_draws}; arrays are (chain, draw, d)", "too-few-draws")
    for k, variable in enumerate(given.names):
        require_varying(given.column(k), variable)
    return {variable: float(statistic(_near_one(given.values[:, :, k]))) for k, variable in enumerate(given.names)}


def _near_one(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values divided by a power of two, which is exact: sums and squares of very large or small ones would overflow."""
    return np.ldexp(values, -np.frexp(np.max(np.abs(values)))[1])


def _skipping_ess(values: NDArray[np.float64]) -> float:
    n = values.size
    spectrum = np.fft.rfft(_near_one(values - values.mean()), 2 * n)
    autocovariance = np.fft.irfft(spectrum * np.conj(spectrum))[: n - n % 2]
    pairs = autocovariance.reshape(-1, 2).sum(axis=1)[1:] / autocovariance[0]
    ends = np.flatnonzero(pairs <= 0)
    return float(n / (1.0 + 2.0 * np.sum(pairs[: ends[0]] if ends.size else pairs)))
