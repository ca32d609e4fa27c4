"""Fit a copula family to draws: by inverting Kendall's tau, or by maximum likelihood."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of, true_or_false
from copula_discrepancy._core.errors import InputError, enough_memory
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy._core.warn import warn
from copula_discrepancy.estimate.influence import ThetaInfluence, rank_bias, tau_influence, theta_influence
from copula_discrepancy.estimate.jackknife import LeftOut, leave_out_blocks
from copula_discrepancy.estimate.likelihood import MAX_STEPS, Maximum, NoMaximum, estimate_degrees, maximise, student_part
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.uncertainty import FEWEST_DRAWS, Estimate, Spread, open_probability
from copula_discrepancy.families import Copula, as_template, family

METHODS = ("mle", "moment")


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted copula: `theta`, the Kendall's tau it implies, and how it was found.

    What `fit` gives; print it for the numbers with their errors.

    Attributes
    ----------
    family, method, margins, n
        What was fitted, how, with which margins, to how many draws.
    theta, tau : float
        The parameter and the tau of the copula with that parameter; theta is infinite (1 for elliptical families) when the
        draws are perfectly dependent and the likelihood has no maximum.
    df : float or None
        Degrees of freedom of a Student t copula, fixed or estimated.
    df_estimated, df_on_bound
        Whether they were estimated, and whether they sit on the "lower" or "upper" end of the search range.
    on_bound : {"lower", "upper"} or None
        Whether theta sits on a bound of its domain: the family cannot follow the draws any further.
    log_likelihood : float
        Maximised sum of log densities at the pseudo-observations; NaN for the moment method.
    iterations, converged
        Newton steps over all draws (0 for the moment method), and whether they ended at a maximum or a bound.
    iid : bool
        Whether standard errors take the draws as independent.
    warnings : tuple of str
        What to keep in mind when reading the numbers.
    version : str
        The library's version.
    template, pair
        A member of the fitted family, and the ranked draws.

    See Also
    --------
    fit : What makes one.
    plot_pair : The draws as ranks, with the fitted copula's contours.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> found = cd.fit(cd.Clayton(3.0).sample(1000, rng=1), "clayton", iid=True)
    >>> found.family, round(found.theta, 2), round(found.se, 2), round(found.tau, 2), found.on_bound
    ('Clayton', 3.02, 0.17, 0.6, None)
    >>> found.copula.tail[0] > 0.7
    True
    """

    family: str
    method: str
    margins: str
    theta: float
    tau: float
    n: int
    log_likelihood: float
    iterations: int
    converged: bool
    on_bound: str | None
    df: float | None = None
    df_estimated: bool = False
    df_on_bound: str | None = None
    iid: bool = False
    warnings: tuple[str, ...] = ()
    version: str = ""
    template: Copula = field(repr=False, kw_only=True)
    pair: RankedPair = field(repr=False, kw_only=True)

    @property
    def sample_tau(self) -> float:
        """Kendall's tau-b of the draws, whether or not the family can reach it."""
        return self.pair.tau

    @property
    def copula(self) -> Copula:
        """The fitted copula; an InputError where theta is a limit without a density."""
        domain = self.template.parameter
        inside = domain.lower < self.theta < domain.upper or (domain.lower_included and self.theta == domain.lower)
        if not inside:
            raise InputError(f"the fit ends at theta = {self.theta:g}, perfect dependence, which has no density")
        return self.template.with_theta(self.theta)

    @property
    def regular(self) -> bool:
        """Whether theta lies inside its domain at a maximum, so that its estimate has a normal limit."""
        inside = self.on_bound is None and self.df_on_bound != "lower"  # a t copula with so small a df is next to none
        return inside and self.converged and math.isfinite(self.theta)

    @lazy
    def theta_influence(self) -> ThetaInfluence:
        """Influence on theta (and df), flat; only where the fit is `regular`."""
        if self.method == "moment":
            return ThetaInfluence(tau_influence(self.pair) / self._tau_slope)
        return theta_influence(self.pair, self.copula, df_estimated=self.df_estimated and self.df_on_bound is None)

    @lazy
    def influence(self) -> Mapping[str, NDArray[np.float64]]:
        """Influence of each draw, (chain, draw), on "tau" (the draws'), "theta", "tau_fitted" and "shape"; NaN on a bound.

        An estimate's error is the mean of its influence values, up to terms of order 1/n. Those of theta by maximum likelihood
        pay for the estimated margins (Genest, Ghoudi and Rivest, 1995).

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> found = cd.fit(cd.Clayton(3.0).sample(1000, rng=1), "clayton")
        >>> found.influence["theta"].shape, bool(abs(found.influence["tau"]).max() <= cd.tau_influence_bound())
        ((1, 1000), True)
        """
        own = tau_influence(self.pair)
        theta = np.full(self.n, math.nan)
        if self.regular:
            theta = self.theta_influence.theta
        # a tau that the family cannot reach is still what the moment method fits
        fitted = own if self.method == "moment" else self._tau_slope * theta
        values = {"tau": own, "theta": theta, "tau_fitted": fitted, "shape": fitted - own}
        return {name: self.pair.by_chain(value) for name, value in values.items()}

    @lazy
    def _tau_slope(self) -> float:
        return self.template._tau_slope(self.theta) if self.regular else math.nan

    @lazy
    def spreads(self) -> Mapping[str, Spread]:
        """Standard errors of all that `influence` has."""
        found = {name: Spread.of(self.influence[name], iid=self.iid) for name in ("tau", "shape")}
        moment = self.method == "moment"
        found["tau_fitted"] = found["tau"] if moment else Spread.of(self.influence["tau_fitted"], iid=self.iid)
        found = self.widened(found)
        return found | {"theta": found["tau_fitted"].times(1.0 / self._tau_slope)}

    def widened(self, spreads: Mapping[str, Spread]) -> dict[str, Spread]:
        """Spreads from influence values, made wider where the second order counts; see `jackknife`.

        Parameters
        ----------
        spreads : mapping from str to Spread
            Of "tau", "tau_fitted" and "shape", from influence values.

        Returns
        -------
        dict
            The same, those of "tau_fitted" and "shape" at least as wide as leaving out blocks says.
        """
        left_out = self.left_out
        if left_out is None:
            return dict(spreads)
        return dict(spreads) | {
            "tau_fitted": left_out.widened(spreads["tau_fitted"], left_out.tau_fitted_se),
            "shape": left_out.widened(spreads["shape"], left_out.shape_se),
        }

    @lazy
    def left_out(self) -> LeftOut | None:
        """What leaving out blocks of draws says, on chains whose margins mix slowly; None elsewhere."""
        if self.iid or self.method == "moment" or self.pair.uniform or not self.regular or abs(self.pair.tau) == 1.0:
            return None
        return leave_out_blocks(self.pair, self.template, self.theta, self.tau)

    @lazy
    def rank_bias(self) -> float:
        """How far theta lies off on average though the family is right, because the margins are known by ranks only."""
        if self.method == "moment" or self.pair.uniform or not self.regular:
            return 0.0
        n_eff = self.spreads["shape"].n_eff  # what varies is how the ranks' noise differs between the two taus
        return rank_bias(self.copula, self.n, n_eff if math.isfinite(n_eff) else self.n)

    @property
    def bias_is_large(self) -> bool:
        """Whether the rank bias is larger than the standard error: a correction of first order can then not be trusted."""
        return self.regular and not abs(self.rank_bias) <= self.spreads["theta"].se

    @property
    def theta_bias(self) -> float:
        """The rank bias that intervals and tests take off; 0 where it is too large for that."""
        return 0.0 if self.bias_is_large else self.rank_bias

    @property
    def n_eff(self) -> float:
        """The smallest effective number of draws behind tau, the fitted tau and their difference; NaN where none is known."""
        return min((spread.n_eff for spread in self.spreads.values() if math.isfinite(spread.n_eff)), default=math.nan)

    @property
    def tau_bias(self) -> float:
        """The same for the tau of the fitted copula."""
        return self.with_blocks(self._tau_slope * self.theta_bias if self.theta_bias else 0.0)

    def with_blocks(self, bias: float) -> float:
        """A bias of the fitted tau that ranks explain, averaged with what left-out blocks say where margins mix slowly.

        Left-out blocks know the draws and ranks only the family: the one estimate of the bias is noisy, the other is too small
        where the family is wrong. Their mean holds the size of the test of shape better than either.

        Parameters
        ----------
        bias : float
            What ranks explain.

        Returns
        -------
        float
            The bias that tests and intervals take off.
        """
        return bias if self.left_out is None else 0.5 * (bias + self.left_out.bias)

    @lazy
    def estimates(self) -> Mapping[str, Estimate]:
        """Theta, the tau it implies and the draws' tau, each with standard error and 95% interval.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> found = cd.fit(cd.Clayton(3.0).sample(1000, rng=1), "clayton", iid=True)
        >>> low, high = found.estimates["theta"].ci
        >>> round(low, 2), round(high, 2)
        (2.72, 3.38)
        """
        found = {
            "theta": self.theta_estimate(),
            "tau_fitted": Estimate.of(
                self.tau, self.spreads["tau_fitted"], bias=self.tau_bias, tested=False, limits=(-1.0, 1.0)
            ),
            "tau": Estimate.of(self.sample_tau, self.spreads["tau"], tested=False, limits=(-1.0, 1.0)),
        }
        if self.df_estimated and self.df is not None and self.regular and self.theta_influence.df is not None:
            spread = Spread.of(self.pair.by_chain(self.theta_influence.df), iid=self.iid)
            found["df"] = Estimate.of(self.df, spread, tested=False, limits=(0.0, math.inf))
        return found

    def theta_estimate(self, confidence: float = 0.95) -> Estimate:
        """Theta with its standard error; its interval is the image of that of its tau, where estimates are normal.

        Parameters
        ----------
        confidence : float
            Of the interval, strictly between 0 and 1.

        Returns
        -------
        Estimate
            Without a p-value; NaN for error and interval where theta sits on a bound.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> found = cd.fit(cd.Clayton(3.0).sample(1000, rng=1), "clayton", iid=True)
        >>> narrow, wide = found.theta_estimate(0.5).ci, found.theta_estimate(0.99).ci
        >>> wide[0] < narrow[0] < found.theta < narrow[1] < wide[1]
        True
        """
        share, spread, bias = open_probability(confidence, "confidence"), self.spreads["theta"], self.theta_bias
        plain = Estimate.of(self.theta, spread, bias=bias, tested=False, confidence=share)
        return replace(plain, ci=self.theta_interval(self.spreads["tau_fitted"], self.tau - self.tau_bias, share))

    def theta_interval(self, spread: Spread, tau: float, confidence: float) -> tuple[float, float]:
        """The thetas whose taus lie within a confidence interval around `tau`; NaN on a bound.

        Parameters
        ----------
        spread : Spread
            Standard error, degrees of freedom and effective draws of that tau.
        tau : float
            The centre of the interval.
        confidence : float
            Its confidence.

        Returns
        -------
        (float, float)
            Both ends.
        """
        if not (self.regular and spread.se > 0):
            return math.nan, math.nan
        reach = spread.reach(confidence)
        low, high = sorted(self.template._theta_within(tau + side * reach) for side in (-1.0, 1.0))
        return low, high

    @property
    def se(self) -> float:
        """Standard error of theta; NaN on a bound."""
        return self.estimates["theta"].se

    def to_dict(self) -> dict[str, Any]:
        """Every number and word by its name, ready for JSON."""
        names = [name for name in self.__dataclass_fields__ if name not in ("template", "pair")]
        plain = {name: getattr(self, name) for name in names} | {"sample_tau": self.sample_tau, "warnings": [*self.warnings]}
        if self._has_standard_errors:
            plain["estimates"] = {name: estimate.to_dict() for name, estimate in self.estimates.items()}
        return plain

    @property
    def _has_standard_errors(self) -> bool:
        return self.iid or self.n // self.pair.n_chains >= FEWEST_DRAWS

    def _spelled(self, name: str) -> str:
        """How sure a number is, in a few words."""
        if not self._has_standard_errors or name not in self.estimates or not math.isfinite(self.estimates[name].se):
            return ""
        low, high = self.estimates[name].ci
        return f" (se {self.estimates[name].se:.2g}, 95% {low:.4g} to {high:.4g})"

    def __repr__(self) -> str:
        lines = [
            f"Fit of {self.family} by {self.method} to {self.n} draws",
            f"  theta {self.theta:.6g}{self._spelled('theta')}",
            f"  tau   {self.tau:.6g} implied{self._spelled('tau_fitted')}",
            f"        {self.sample_tau:.6g} in the draws{self._spelled('tau')}",
        ]
        if self.df is not None:
            lines.insert(2, f"  df    {self.df:.6g}{self._spelled('df') if self.df_estimated else ' (fixed)'}")
        if self.method == "mle":
            lines.append(f"  log-likelihood {self.log_likelihood:.6g} after {self.iterations} Newton steps")
        return "\n".join(lines + [f"  note: {warning}" for warning in self.warnings])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"


@enough_memory
def fit(
    draws: Any, family: Any, *, method: str = "mle", margins: str = "rank", df: float | None = None, iid: bool = False
) -> Fit:
    """Fit a copula family to two variables, by maximum likelihood of their ranks or by Kendall's tau.

    Parameters
    ----------
    draws : array (n, 2) or (chain, draw, 2), or anything `as_draws` takes
        Theta is fitted to all chains together; standard errors know the chains.
    family : str, class or instance
        ``"gumbel"``, ``Gumbel``, ``Rotated.family(Clayton, 180)``; an instance stands for its family, rotation and df.
    method : {"mle", "moment"}
        Maximum likelihood of the pseudo-observations by a safeguarded Newton iteration on analytic derivatives, or the
        theta whose Kendall's tau equals the draws'.
    margins : {"rank", "uniform"}
        "rank" turns the draws into pseudo-observations; "uniform" takes them as values of known uniform margins, already
        strictly between 0 and 1.
    df : float, optional
        Fixed degrees of freedom of a Student t copula given by name or class; without it df is estimated.
    iid : bool
        Standard errors for independent draws instead of Markov chains.

    Returns
    -------
    Fit
        Theta, the tau it implies, their standard errors and influence values, and how it was found. A theta on a bound of its
        domain, and draws so dependent that the likelihood has no maximum, come with a DependenceWarning that the result
        records.

    Raises
    ------
    InputError
        For draws that are not two finite, varying columns (NaN and infinite values are counted and named), an unknown family
        or method, or a df where there is none.

    See Also
    --------
    select_family : Which family to fit.
    discrepancy : The fit against a target.

    Notes
    -----
    The maximum of sum log c(u_i, v_i; theta) over the pseudo-observations (Genest, Ghoudi and Rivest, 1995) is found to about
    1e-12 relative in theta. Ties share mid-ranks: rounded or discrete draws are fitted as if continuous, and their tau-b is
    larger than that of what was rounded. A tau that the family cannot reach puts theta on its bound.

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
    pair = RankedPair.from_draws(draws, margins)
    result = fit_pair(pair, template, method=method, estimate_df=estimate_df, iid=bool(iid))
    announce(result.warnings)
    return result


@cache
def library_version() -> str:
    """The installed version; reading it takes a file, so once is enough."""
    return version("copula-discrepancy")


def announce(sentences: tuple[str, ...]) -> None:
    """Issue recorded warnings at the caller of the public function."""
    for sentence in sentences:
        warn(sentence)


def resolve_family(choice: Any, df: float | None) -> tuple[Copula, bool]:
    """A template of the family, and whether its degrees of freedom are to be estimated."""
    choice = family(choice) if isinstance(choice, str) else choice
    if isinstance(choice, type) and issubclass(choice, Copula) and "df" in choice.fixed_parameters:
        return as_template(choice, df=4.0 if df is None else df), df is None
    if df is not None:
        raise InputError(f"df can be set for the StudentT class only, got df={df!r} with {choice!r}")
    return as_template(choice), False


def fit_pair(pair: RankedPair, template: Copula, *, method: str, estimate_df: bool = False, iid: bool = False) -> Fit:
    """Fit a template's family to a ranked pair; warnings are recorded in the result, not issued."""
    if estimate_df and method == "moment":
        raise InputError("Kendall's tau says nothing about the degrees of freedom; give df=4, say, or use method='mle'")
    limit = pair.limit(template, by_rank=method == "moment")
    if limit is not None:
        theta = template.parameter.upper if limit == "upper" else template.parameter.lower
        likelihood = f", so the likelihood of {template.name} has no maximum" if method == "mle" else ""
        note = f"the draws are perfectly dependent{likelihood}; theta is the limit, {theta:g}, without a standard error"
        outcome = Maximum(theta, math.inf if method == "mle" else math.nan, 0, True, limit)
        return _result(pair, template, method, outcome, (note,), df_known=not estimate_df, iid=iid)
    if method == "moment":
        return _fit_moment(pair, template, iid)
    notes: tuple[str, ...] = ()
    df_known, df_on_bound = True, None
    try:
        if estimate_df:
            template, df_on_bound = estimate_degrees(pair, template)
            notes = _df_notes(template, df_on_bound)
        outcome = maximise(pair, template)
    except NoMaximum as found:
        outcome, df_known = found.outcome, False
    if outcome.on_bound is not None:
        inner_bound = outcome.on_bound == "lower" and template.parameter.lower_included
        wish = "less dependence than the family has" if inner_bound else "perfect dependence"
        notes += (
            f"theta sits on the {outcome.on_bound} bound {outcome.theta:g} of {template.name}: the draws ask for {wish}; "
            "no standard error holds there",
        )
    if not outcome.converged:
        notes += (f"the likelihood was not maximised within {MAX_STEPS} Newton steps, so there is no standard error",)
    result = _result(pair, template, method, outcome, notes, df_known=df_known, iid=iid)
    return replace(result, df_estimated=True, df_on_bound=df_on_bound) if estimate_df else result


def _df_notes(template: Copula, end: str | None) -> tuple[str, ...]:
    inner = student_part(template)
    if inner is None or end is None:
        return ()
    why = "a Gaussian copula fits these draws as well" if end == "upper" else "the tails are heavier than a t copula allows"
    return (
        f"df sits on the {end} end {inner.df:g} of its search range: {why}; it is taken as known, CKL and CED are not tested",
    )


def _fit_moment(pair: RankedPair, template: Copula, iid: bool) -> Fit:
    low, high = template.tau_range
    on_bound: str | None = None
    notes: tuple[str, ...] = ()
    if low <= pair.tau <= high:
        theta = template._theta_from_tau(pair.tau)
        if not template.parameter.lower <= theta < template.parameter.upper or abs(template._tau(theta)) == 1.0:
            on_bound = "upper" if theta > 0 else "lower"
            notes = (
                f"Kendall's tau of the draws is {pair.tau!r}: theta rounds to its limit {theta:g}, without a standard error",
            )
    else:
        # only a bound that the domain includes can be passed; at open bounds |tau| = 1
        theta, on_bound = template.parameter.lower, "lower"
        notes = (
            f"Kendall's tau of the draws is {pair.tau:.4g}, outside the range {low:.4g} to {high:.4g} of {template.name}; "
            f"theta is the nearest one, {theta:g}, without a standard error, and gaps keep the tau of the draws",
        )
    return _result(pair, template, "moment", Maximum(theta, math.nan, 0, True, on_bound), notes, iid=iid)


def _result(
    pair: RankedPair,
    template: Copula,
    method: str,
    outcome: Maximum,
    notes: tuple[str, ...],
    *,
    iid: bool,
    df_known: bool = True,
) -> Fit:
    inner = student_part(template)
    tau = template._tau(outcome.theta) if outcome.on_bound is None else template._tau_at(outcome.on_bound)
    return Fit(
        family=template.name,
        method=method,
        margins=pair.margins,
        theta=outcome.theta,
        tau=tau,
        n=pair.n,
        log_likelihood=outcome.log_likelihood,
        iterations=outcome.iterations,
        converged=outcome.converged,
        on_bound=outcome.on_bound,
        df=inner.df if inner is not None and df_known else None,
        iid=iid,
        warnings=notes,
        version=library_version(),
        template=template,
        pair=pair,
    )
