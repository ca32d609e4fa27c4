"""Result of `fit`: theta, the tau it implies, their influence values and standard errors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, WithCaveats
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.counted_block import CountedBlock
from copula_discrepancy.estimate.counted_pair import CountedPair
from copula_discrepancy.estimate.influence import rank_bias, student_scores, theta_score
from copula_discrepancy.estimate.jackknife import LeftOut, leave_out_blocks
from copula_discrepancy.estimate.left_out import is_slow
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.pair_block import PairBlock
from copula_discrepancy.estimate.ranked_pairs import RankedPairs
from copula_discrepancy.estimate.standard_error import FEWEST_DRAWS, StandardError, require_chain_length
from copula_discrepancy.estimate.uncertainty import Estimate, open_probability
from copula_discrepancy.families import Copula


@dataclass(frozen=True, eq=False)
class Fit(WithCaveats):
    """A fitted copula: `theta`, the Kendall's tau it implies, and details of the fit.

    Result of `fit`; print it for the numbers with their errors.

    Attributes
    ----------
    family, method, margins, n
        The family, the method, the treatment of the margins, and the number of draws.
    theta, tau : float
        The parameter and the tau of the copula with that parameter; theta is infinite (1 for elliptical families) when the
        draws are perfectly dependent and the likelihood has no maximum.
    df : float or None
        Degrees of freedom of a Student t copula, fixed or estimated.
    df_estimated, df_on_bound
        Whether they were estimated, and whether they are at the "lower" or "upper" end of the search range.
    on_bound : {"lower", "upper"} or None
        Whether theta is at a bound of its domain, so that the family cannot describe the draws.
    log_likelihood : float
        Maximised sum of log densities at the pseudo-observations; NaN for the moment method.
    iterations, converged
        Newton steps over all draws (0 for the moment method), and whether they ended at a maximum or a bound.
    iid : bool
        Whether standard errors treat the draws as independent.
    caveats : tuple of Caveat
        Limitations to keep in mind when interpreting the numbers; `warnings` holds their sentences.
    notes : tuple of str
        Notes on how the draws were read.
    version : str
        The library's version.
    tau_error : float
        How much `tau` may be off because the draws were counted in a grid; 0 for draws that were ranked. Standard errors
        include it.
    template, pair, block, known_left_out
        A member of the fitted family, the ranked draws, the block they were counted in, and the value of `left_out`, if known.

    See Also
    --------
    fit : The function that returns it.
    plot_pair : Plot of the ranks, with the fitted copula's contours.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> fitted = cd.fit(cd.Clayton(3.0).sample(1000, rng=1), "clayton", iid=True)
    >>> fitted.family, round(fitted.theta, 2), round(fitted.se, 2), round(fitted.tau, 2), fitted.on_bound
    ('Clayton', 3.02, 0.17, 0.6, None)
    >>> fitted.copula.tail[0] > 0.7
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
    caveats: tuple[Caveat, ...] = ()
    notes: tuple[str, ...] = ()
    version: str = ""
    tau_error: float = field(default=0.0, kw_only=True)
    template: Copula = field(repr=False, kw_only=True)
    pair: RankedPair = field(repr=False, kw_only=True)
    block: Block | CountedBlock | None = field(default=None, repr=False, kw_only=True)
    known_left_out: tuple[LeftOut | None, ...] = field(default=(), repr=False, kw_only=True)

    @property
    def sample_tau(self) -> float:
        """Kendall's tau-b of the draws, whether or not the family can reach it."""
        return self.pair.tau

    @property
    def copula(self) -> Copula:
        """The fitted copula; raises an InputError if theta is a limit without a density."""
        domain = self.template.parameter
        inside = domain.lower < self.theta < domain.upper or (domain.lower_included and self.theta == domain.lower)
        if not inside:
            raise InputError(f"theta is {self.theta:g}, perfect dependence, so the fitted copula has no density")
        return self.template.with_theta(self.theta)

    @property
    def regular(self) -> bool:
        """Whether theta lies inside its domain at a maximum, so that its estimate has a normal limit."""
        inside = self.on_bound is None and self.df_on_bound != "lower"  # with such a small df, a t copula is degenerate
        return inside and self.converged and math.isfinite(self.theta)

    @lazy
    def counted(self) -> Block | CountedBlock:
        """The block of pairs behind the numbers: the one in which this pair was compared, or a block of this pair alone."""
        if self.block is not None:
            return self.block
        if not self.iid:
            require_chain_length(self.n // self.pair.n_chains)
        one = CountedBlock if isinstance(self.pair, CountedPair) else Block
        block: Block | CountedBlock = one.of_one(self.pair, iid=self.iid)  # type: ignore[arg-type]
        if self.method == "mle" and self.regular:
            self.score_in(block, 0)
        return block.finish(keep=True)

    def score_in(self, block: PairBlock, k: int) -> None:
        """Add the scores of this fit, whose estimate has a normal limit, to a block of pairs.

        Parameters
        ----------
        block : Block
            The block.
        k : int
            The position of the pair in it.
        """
        free_df = self.df_estimated and self.df_on_bound is None
        pair = block.score_pair(k)
        score = student_scores(pair, self.copula)[0] if free_df else theta_score(pair, self.copula)
        block.add_score(k, score, self._tau_slope, self.tau_error)

    @lazy
    def influence(self) -> Mapping[str, NDArray[np.float64]]:
        """Influence of each draw, (chain, draw), on "tau" (of the draws), "theta", "tau_fitted" and "shape"; NaN at a bound.

        An estimate's error is the mean of its influence values, up to terms of order 1/n. Those of theta by maximum likelihood
        account for the estimated margins (Genest, Ghoudi and Rivest, 1995).

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> fitted = cd.fit(cd.Clayton(3.0).sample(1000, rng=1), "clayton")
        >>> fitted.influence["theta"].shape, bool(abs(fitted.influence["tau"]).max() <= cd.tau_influence_bound())
        ((1, 1000), True)
        """
        known = self.counted.influences(0)
        own, unknown = known["tau"], np.full_like(known["tau"], math.nan)
        # the moment method keeps a tau that the family cannot reach
        fitted = own if self.method == "moment" else known.get("tau_fitted", unknown)
        return {"tau": own, "theta": fitted / self._tau_slope, "tau_fitted": fitted, "shape": fitted - own}

    @lazy
    def df_influence(self) -> NDArray[np.float64] | None:
        """Influence of each draw, (chain, draw), on df; None if it was not estimated or is at a bound."""
        if not (self.df_estimated and self.df_on_bound is None and self.regular):
            return None
        return self.pair.by_chain(student_scores(self.pair, self.copula)[1].influence(self.pair))

    @lazy
    def _tau_slope(self) -> float:
        return self.template._tau_slope(self.theta) if self.regular else math.nan

    @lazy
    def spreads(self) -> Mapping[str, StandardError]:
        """Standard errors of everything in `influence`, at least as wide as the block jackknife (`jackknife`)."""
        spreads = {name: spread.at(0) for name, spread in self.counted.spreads.items()}
        if self.method == "moment":
            spreads["tau_fitted"] = spreads["tau"]
        elif self.left_out is not None:
            for name, se in (("tau_fitted", self.left_out.tau_fitted_se), ("shape", self.left_out.shape_se)):
                spreads[name] = self.left_out.widened(spreads[name], se)
        return spreads | {"theta": spreads["tau_fitted"].times(1.0 / self._tau_slope)}

    @lazy
    def left_out(self) -> LeftOut | None:
        """Results of the block jackknife, for chains whose margins mix slowly; otherwise None."""
        if self.known_left_out:
            return self.known_left_out[0]
        if self.iid or self.method == "moment" or self.pair.uniform or not self.regular or abs(self.pair.tau) == 1.0:
            return None
        if not is_slow(self.pair.margin_size, self.n):
            return None
        fitted, sizes = (np.array([self.theta]), np.array([self.tau])), np.array([self.pair.margin_size])
        pairs, chosen = RankedPairs.of_pair(self.pair), np.array([0])
        return LeftOut.known(leave_out_blocks(pairs, chosen, self.template, *fitted, sizes, self.pair.n_chains).at(0).numbers)

    @lazy
    def rank_bias(self) -> float:
        """Bias of theta under a correct family, caused by estimating the margins by ranks."""
        if self.method == "moment" or self.pair.uniform or not self.regular:
            return 0.0
        n_eff = self.spreads["shape"].n_eff  # the noise of the ranks affects the two taus differently
        return rank_bias(self.copula, self.n, n_eff if math.isfinite(n_eff) else float(self.n))

    @property
    def bias_is_large(self) -> bool:
        """Whether the rank bias exceeds the standard error, so that a first-order correction cannot be trusted."""
        return self.regular and not abs(self.rank_bias) <= self.spreads["theta"].se

    @property
    def theta_bias(self) -> float:
        """The rank bias subtracted in intervals and tests; 0 if it is too large to correct."""
        return 0.0 if self.bias_is_large else self.rank_bias

    @property
    def n_eff(self) -> float:
        """The smallest effective sample size of tau, the fitted tau and their difference.

        No draw influences a perfect tau; the effective number of its ranks is used then.
        """
        known = [spread.n_eff for spread in self.spreads.values() if math.isfinite(spread.n_eff)]
        return min(known) if known else min(float(self.counted.tau_side().rank_size[0]), self.n)

    @property
    def tau_bias(self) -> float:
        """The rank bias of the fitted tau that is subtracted."""
        return self.with_blocks(self._tau_slope * self.theta_bias if self.theta_bias else 0.0)

    def with_blocks(self, bias: float) -> float:
        """The rank bias of the fitted tau, averaged with that of the block jackknife if the margins mix slowly.

        Parameters
        ----------
        bias : float
            The bias due to ranks.

        Returns
        -------
        float
            The bias that tests and intervals subtract.
        """
        return bias if self.left_out is None else float(self.left_out.averaged(bias))

    @lazy
    def estimates(self) -> Mapping[str, Estimate]:
        """Theta, the tau it implies and the draws' tau, each with standard error and 95% interval.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> fitted = cd.fit(cd.Clayton(3.0).sample(1000, rng=1), "clayton", iid=True)
        >>> low, high = fitted.estimates["theta"].ci
        >>> round(low, 2), round(high, 2)
        (2.72, 3.38)
        """
        estimates = {
            "theta": self.theta_estimate(),
            "tau_fitted": Estimate.of(
                self.tau, self.spreads["tau_fitted"], bias=self.tau_bias, tested=False, limits=(-1.0, 1.0)
            ),
            "tau": Estimate.of(self.sample_tau, self.spreads["tau"], tested=False, limits=(-1.0, 1.0)),
        }
        if self.df is not None and self.df_influence is not None:
            spread = StandardError.of(self.df_influence, iid=self.iid)
            estimates["df"] = Estimate.of(self.df, spread, tested=False, limits=(0.0, math.inf))
        return estimates

    def theta_estimate(self, confidence: float = 0.95) -> Estimate:
        """Theta with its standard error; its interval is the image of that of tau, where estimates are close to normal.

        Parameters
        ----------
        confidence : float
            Confidence level of the interval, strictly between 0 and 1.

        Returns
        -------
        Estimate
            Without a p-value; error and interval are NaN if theta is at a bound.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> fitted = cd.fit(cd.Clayton(3.0).sample(1000, rng=1), "clayton", iid=True)
        >>> narrow, wide = fitted.theta_estimate(0.5).ci, fitted.theta_estimate(0.99).ci
        >>> wide[0] < narrow[0] < fitted.theta < narrow[1] < wide[1]
        True
        """
        share, spread, bias = open_probability(confidence, "confidence"), self.spreads["theta"], self.theta_bias
        plain = Estimate.of(self.theta, spread, bias=bias, tested=False, confidence=share)
        return replace(plain, ci=self.theta_interval(self.spreads["tau_fitted"], self.tau - self.tau_bias, share))

    def theta_interval(self, spread: StandardError, tau: float, confidence: float) -> tuple[float, float]:
        """The thetas whose taus lie within a confidence interval around `tau`; NaN at a bound.

        Parameters
        ----------
        spread : StandardError
            Standard error, degrees of freedom and effective draws of that tau.
        tau : float
            The centre of the interval.
        confidence : float
            Its confidence level.

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
        """Standard error of theta; NaN at a bound."""
        return self.estimates["theta"].se

    def to_dict(self) -> dict[str, Any]:
        """Every number and text by name, ready for JSON."""
        names = [name for name in self.__dataclass_fields__ if name not in ("template", "pair", "block", "known_left_out")]
        plain = {name: getattr(self, name) for name in names} | {"sample_tau": self.sample_tau, "notes": [*self.notes]}
        plain |= self._recorded()
        if self._has_standard_errors:
            plain["estimates"] = {name: estimate.to_dict() for name, estimate in self.estimates.items()}
        return plain

    @property
    def _has_standard_errors(self) -> bool:
        return self.iid or self.n // self.pair.n_chains >= FEWEST_DRAWS

    def _spelled(self, name: str) -> str:
        """A number's standard error and interval as text."""
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
        return "\n".join(lines + [f"  note: {note}" for note in (*self.notes, *self.warnings)])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"


@cache
def library_version() -> str:
    """The installed version; cached, because reading it opens a file."""
    return version("copula-discrepancy")
