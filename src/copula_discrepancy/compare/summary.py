"""Kendall's tau of every pair with its error and convergence, in the format of ArviZ's summary."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import true_or_false, whole_number
from copula_discrepancy._core.errors import DependenceWarning, InputError, enough_memory
from copula_discrepancy._core.warn import warn
from copula_discrepancy.compare.wording import pair_label
from copula_discrepancy.data.draws import numeric_draws
from copula_discrepancy.data.naming import listed
from copula_discrepancy.estimate.agreement import comparable
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.form import FormGap, can_be_tested, form_gaps
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.repeated_chains import chains_once, repeated_chains_caveats
from copula_discrepancy.estimate.standard_error import FEWEST_DRAWS, StandardError, require_chain_length
from copula_discrepancy.estimate.uncertainty import Estimate, open_probability

if TYPE_CHECKING:
    import pandas as pd

_MOST_DECIMALS = 280  # with more decimals nothing is rounded: the power of ten would overflow


@enough_memory
def summary(
    draws: Any,
    *,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
    chains: int | str | None = None,
    exclude: str | Sequence[str] | None = None,
    missing: str | None = None,
    iid: bool = False,
    confidence: float = 0.95,
    round_to: int | None = None,
) -> "pd.DataFrame":
    """Kendall's tau of every pair of variables with its error and convergence, complementing ArviZ's summary of each variable.

    Parameters
    ----------
    draws : anything `as_draws` accepts
        Draws of two variables or more. A chain that has the same draws as another is left out, with a warning.
    var_names, filter_vars, group, coords, chains, exclude : optional
        See `as_draws`; the first four as in ArviZ.
    missing : {"pairs", "listwise", "raise"}, optional
        Handling of NaN, as in `pairwise`: by default each pair of a table with column names uses the rows that have both
        values.
    iid : bool
        Treat the draws as independent instead of as Markov chains.
    confidence : float
        Confidence level of the interval.
    round_to : int, optional
        Number of decimals; by default no rounding.

    Returns
    -------
    pandas.DataFrame
        One row per pair, ``a ~ b``, in the order of the variables: tau, mcse (its Monte Carlo standard error), the ends of its
        confidence interval, n_eff (the effective sample size) and r_hat (for dependence; see `Agreement`); then dependence, the
        size of all dependence on the scale of form, whatever its kind, which is 0 for independent variables, independence_p,
        the p-value of independence, and form_r_hat, the largest R-hat over the coefficients of form. NaN if a variable is
        constant, or if the two are perfectly dependent and tau has no sampling error.

    Raises
    ------
    InputError
        For draws that `as_draws` rejects, including NaN and infinite values, or fewer than two variables.

    See Also
    --------
    pairwise : The same pairs compared with a target or a reference.
    kendall_matrix : The matrix of taus.
    ess, rhat : Diagnostics of the margins.

    Notes
    -----
    A funnel, a bend or a ring has Kendall's tau 0 and is not independent: see dependence. Tau is tau-b, ties included. Standard
    errors are those of `discrepancy`, from the long-run variance of influence values (Geyer, 1992).

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> draws = {"mu": np.random.default_rng(1).standard_normal((4, 500))}
    >>> draws["sigma"] = draws["mu"] ** 3 + np.random.default_rng(2).standard_normal((4, 500))
    >>> cd.summary(draws, round_to=2).loc["mu ~ sigma", ["tau", "mcse"]].tolist()
    [0.55, 0.01]
    """
    import pandas as pd

    independent = true_or_false(iid, "iid")
    share = open_probability(confidence, "confidence")
    decimals = None if round_to is None or whole_number(round_to, "round_to", 0) > _MOST_DECIMALS else int(round_to)
    given = numeric_draws(
        draws, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, chains=chains, missing=missing,
        exclude=exclude,
    )  # fmt: skip
    if given.n_variables < 2:
        raise InputError(f"pairs need at least two variables, got {given.n_variables} ({listed(given.names)})", "shape")
    given = chains_once(given, iid=independent)
    if not independent:
        require_chain_length(given.n_draws)
    for caveat in repeated_chains_caveats(given, iid=independent):
        warn(DependenceWarning(caveat))
    table, compare = RankedTable.of(given), comparable(given, independent)
    fewest = 2 if independent else FEWEST_DRAWS
    varying = [column.varies and not hole for column, hole in zip(table.columns, table.holes, strict=True)]
    labels: list[str] = []
    rows: list[tuple[float, ...]] = []
    for i in range(given.n_variables - 1):  # one row of the matrix at a time
        places = {j: k for k, j in enumerate(j for j in range(i + 1, given.n_variables) if varying[i] and varying[j])}
        whole = _counted(table, [(i, j) for j in places], compare=compare, iid=independent) if places else None
        for j in range(i + 1, given.n_variables):
            labels.append(pair_label(given.names[i], given.names[j]))
            part, k = (whole, places[j]) if j in places else (None, 0)
            if table.holes[i] or table.holes[j]:
                both = table.of_pair(i, j)
                enough = both is not None and both.n >= fewest
                part = _counted(both, [(0, 1)], compare=compare, iid=independent) if both is not None and enough else None
            rows.append((math.nan,) * 9 if part is None else _row(*part, k, share))
    percent = f"{100 * share:g}%"
    columns = ["tau", "mcse", f"{percent}_low", f"{percent}_high", "n_eff", "r_hat"]
    columns += ["dependence", "independence_p", "form_r_hat"]
    found = pd.DataFrame(rows, index=labels, columns=columns)
    return found if decimals is None else found.round(decimals)


def _counted(
    table: RankedTable, pairs: Sequence[tuple[int, int]], *, compare: bool, iid: bool
) -> tuple[Block, FormGap, NDArray[np.float64]]:
    """A block of pairs, their form against independence, and its R-hats."""
    block = Block(table, pairs, compare=compare, iid=iid, order=ORDER)
    block.finish_form()
    tested = can_be_tested(table.n, np.abs(block.taus) == 1.0, block.largest_group)
    rhats = block.form.largest_rhats[0] if compare else np.full(len(pairs), math.nan)
    return block, form_gaps(block.form, None, np.zeros((len(pairs), ORDER**2)), tested), rhats


def _row(part: Block, forms: FormGap, rhats: NDArray[np.float64], k: int, confidence: float) -> tuple[float, ...]:
    """Tau, its standard error and interval, effective draws and R-hat of one pair; its dependence of any kind."""
    spread = StandardError(*kernels.spread(part.influence[k], None if part.iid else part.table.n_chains))
    tau = Estimate.of(float(part.taus[k]), spread, tested=False, limits=(-1.0, 1.0), confidence=confidence)
    form = (float(forms.value[k]), float(forms.pvalue[k]), float(rhats[k]))
    return tau.value, tau.se, *tau.ci, tau.n_eff, float(part.rhats[k]), *form
