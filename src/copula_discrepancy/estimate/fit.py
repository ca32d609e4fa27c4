"""Fit a copula family to draws: by inverting Kendall's tau, or by maximum likelihood."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.checks import one_of, true_or_false
from copula_discrepancy._core.errors import DependenceWarning, InputError, enough_memory
from copula_discrepancy._core.warn import warn
from copula_discrepancy.data.draws import numeric_draws
from copula_discrepancy.estimate.fit_caveats import fit_caveats
from copula_discrepancy.estimate.fit_result import Fit, library_version
from copula_discrepancy.estimate.jackknife import LeftOut
from copula_discrepancy.estimate.likelihood import (
    END,
    Maximum,
    NoMaximum,
    at_maximum,
    estimate_degrees,
    maximise,
    moment_thetas,
    perfect_bounds,
    student_part,
)
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.repeated_chains import chains_once, repeated_chains_caveats
from copula_discrepancy.families import Copula, resolve_family

METHODS = ("mle", "moment")


@enough_memory
def fit(
    draws: Any, family: Any, *, method: str = "mle", margins: str = "rank", df: float | None = None, iid: bool = False
) -> Fit:
    """Fit a copula family to two variables, by maximum likelihood of their ranks or by Kendall's tau.

    Parameters
    ----------
    draws : array (n, 2) or (chain, draw, 2), or anything `as_draws` accepts
        Theta is fitted to all chains together; standard errors account for the chains. A chain that has the same draws as
        another is left out, with a warning.
    family : str, class or instance
        ``"gumbel"``, ``Gumbel``, ``Rotated.family(Clayton, 180)``; an instance selects its family, rotation and df.
    method : {"mle", "moment"}
        Maximum likelihood of the pseudo-observations by a safeguarded Newton iteration on analytic derivatives, or the
        theta whose Kendall's tau equals the draws'.
    margins : {"rank", "uniform"}
        "rank" converts the draws to pseudo-observations; "uniform" treats them as values with known uniform margins, strictly
        between 0 and 1.
    df : float, optional
        Fixed degrees of freedom of a Student t copula passed by name or class; without it df is estimated.
    iid : bool
        Compute standard errors for independent draws instead of Markov chains.

    Returns
    -------
    Fit
        Theta, the tau it implies, their standard errors and influence values, and details of the fit. A theta at a bound of its
        domain, and draws so dependent that the likelihood has no maximum, raise a DependenceWarning, which the result records.

    Raises
    ------
    InputError
        For draws that are not two finite, varying columns (NaN and infinite values are counted and located), an unknown family
        or method, or a df for a family without one.

    See Also
    --------
    select_family : Choose the family to fit.
    discrepancy : Compare the fit with a target.

    Notes
    -----
    The maximum of sum log c(u_i, v_i; theta) over the pseudo-observations (Genest, Ghoudi and Rivest, 1995) is found to about
    1e-12 relative in theta. Ties share mid-ranks: rounded or discrete draws are fitted as if continuous, and their tau-b is
    larger than that of the unrounded values. If the family cannot reach the tau of the draws, theta is at its bound.

    References
    ----------
    Genest, C., Ghoudi, K. and Rivest, L.-P. (1995). A semiparametric estimation procedure of dependence parameters in
    multivariate families of distributions. Biometrika 82, 543-552.

    Aich, A. and Aich, A. B. (2025). Copula Discrepancy: Benchmarking Dependence Structure. Section 4.2, algorithms 1 and 2.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> draws = cd.Gumbel(2.5).sample(1000, rng=1)
    >>> round(cd.fit(draws, "gumbel").theta, 4)
    2.4819
    """
    one_of(method, "method", METHODS)
    true_or_false(iid, "iid")
    template, estimate_df = resolve_family(family, df)
    given = numeric_draws(draws)
    values = chains_once(given, iid=iid)
    pair = RankedPair.from_draws(values, margins)
    result = fit_pair(pair, template, method=method, estimate_df=estimate_df, iid=bool(iid))
    result = replace(result, caveats=(*repeated_chains_caveats(values, iid=iid), *result.caveats), notes=given.notes)
    announce(result.caveats)
    return result


def announce(caveats: tuple[Caveat, ...]) -> None:
    """Issue recorded caveats as warnings, attributed to the caller of the public function."""
    for caveat in caveats:
        warn(DependenceWarning(caveat))


def fit_pair(pair: RankedPair, template: Copula, *, method: str, estimate_df: bool = False, iid: bool = False) -> Fit:
    """Fit a template's family to a ranked pair; warnings are recorded in the result, not issued."""
    if estimate_df and method == "moment":
        raise InputError("Kendall's tau does not determine the degrees of freedom; pass df, such as df=4, or use method='mle'")
    sign = pair.perfect_sign(by_rank=method == "moment")
    limit = END[int(perfect_bounds(template, np.array([sign]))[0])]
    df_known, df_end = True, None
    if limit is not None:
        theta = template.parameter.upper if limit == "upper" else template.parameter.lower
        outcome, df_known = Maximum(theta, math.inf if method == "mle" else math.nan, 0, True, limit), not estimate_df
        estimate_df = False
    elif method == "moment":
        (theta,), (bound,) = moment_thetas(template, np.array([pair.tau]))
        outcome = Maximum(float(theta), math.nan, 0, True, END[int(bound)])
    else:
        try:
            if estimate_df:
                template, df_end = estimate_degrees(pair, template)
            outcome = maximise(pair, template)
        except NoMaximum as found:
            outcome, df_known = found.outcome, False
    return result_of(pair, template, method, outcome, iid, df_known=df_known, df_estimated=estimate_df, df_end=df_end)


def fit_at(pair: RankedPair, template: Copula, theta: float, left_out: LeftOut | None, *, method: str, iid: bool) -> Fit:
    """The fit at a `theta` that is already known, without a new search; `left_out` is known as well."""
    domain = template.parameter
    if method == "moment" or theta in (domain.lower, domain.upper) or not math.isfinite(theta):
        return fit_pair(pair, template, method=method, iid=iid)  # needs no search, or a single step
    fitted = result_of(pair, template, method, at_maximum(pair, template, theta), iid)
    return replace(fitted, known_left_out=(left_out,))


def result_of(
    pair: RankedPair,
    template: Copula,
    method: str,
    outcome: Maximum,
    iid: bool,
    *,
    df_known: bool = True,
    df_estimated: bool = False,
    df_end: str | None = None,
) -> Fit:
    """The result of a search for a maximum."""
    inner = student_part(template)
    # inside the domain its caveats do not need tau, and with known margins ranks are not needed
    tau = pair.tau if method == "moment" or outcome.on_bound is not None else math.nan
    plain = method == "mle" and outcome.on_bound is None and outcome.converged and df_end is None  # most of thousands of fits
    caveats = () if plain else fit_caveats(template, method, tau, outcome.theta, df_end=df_end, converged=outcome.converged)
    return Fit(
        family=template.name,
        method=method,
        margins=pair.margins,
        theta=outcome.theta,
        tau=template._tau(outcome.theta) if outcome.on_bound is None else template._tau_at(outcome.on_bound),
        n=pair.n,
        log_likelihood=outcome.log_likelihood,
        iterations=outcome.iterations,
        converged=outcome.converged,
        on_bound=outcome.on_bound,
        df=inner.df if inner is not None and df_known else None,
        df_estimated=df_estimated,
        df_on_bound=df_end,
        iid=iid,
        caveats=caveats,
        version=library_version(),
        tau_error=outcome.tau_error,
        template=template,
        pair=pair,
    )
