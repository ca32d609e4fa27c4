"""Standard errors, intervals and tests from influence values: one number per draw, in the shape (chain, draw).

The error of an estimate is the mean of its influence values, so their variance gives its standard error for independent draws,
and their long-run variance, the sum of all autocovariances, for a Markov chain. This module is independent of what is
estimated.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import is_whole, real_array, true_or_false
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.estimate.standard_error import StandardError, require_chain_length

_ROUNDING = 1e-12  # relative differences below it are rounding errors


@dataclass(frozen=True)
class LongRun:
    """Uncertainty of a mean of influence values.

    Result of `long_run_variance`.

    Attributes
    ----------
    variance, long_run_variance : float
        Variances of one draw: the plain variance, and n times the variance of the mean. NaN if all influence values are equal,
        infinite if their squares overflow; `n_eff` and `df` are valid even then.
    n, n_eff : float
        Number of draws, and effective sample size n * variance / long_run_variance.
    df : float
        Degrees of freedom of the standard error, for Student's t in tests and intervals.

    See Also
    --------
    Estimate : A number with a standard error from such values.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> result = cd.long_run_variance([1.0, 2.0, 3.0, 4.0], iid=True)
    >>> round(result.long_run_variance, 4), result.n, round(result.se, 4)
    (1.6667, 4, 0.6455)
    """

    variance: float
    long_run_variance: float
    n: float
    n_eff: float
    df: float

    @property
    def se(self) -> float:
        """Standard error of the mean, sqrt(long_run_variance / n)."""
        return math.sqrt(self.long_run_variance / self.n)


@dataclass(frozen=True, repr=False)
class Estimate:
    """A number with its uncertainty.

    Every number of a `Discrepancy` and of a `Fit` is one; ``float(estimate)`` is its value.

    Attributes
    ----------
    value : float
        The estimate itself.
    se : float
        Its standard error; NaN if there is none, as at a bound of a family.
    ci : (float, float)
        Confidence interval at `confidence`, from Student's t with `df` degrees of freedom, after subtracting `bias` from the
        value; limited to the range of the number: a tau lies between -1 and 1.
    pvalue : float
        Two-sided p-value of the value being 0; NaN for a number without such a hypothesis.
    n_eff : float
        Number of independent draws with the same standard error; with a reference sample the smaller of the two.
    bias : float
        The mean error of a sample of this size under the target; interval and p-value subtract it, `value` does not.
    df : float
        Degrees of freedom of the standard error.
    confidence : float
        Confidence level of the interval.

    See Also
    --------
    long_run_variance : The computation of standard errors.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> result = cd.discrepancy(cd.Gumbel(2.5).sample(500, rng=1), cd.Gumbel(2.5), iid=True)
    >>> level = result.level
    >>> round(level.value, 3), round(level.se, 3), level.ci[0] < 0 < level.ci[1], level.pvalue > 0.05
    (0.019, 0.019, True, True)
    """

    value: float
    se: float
    ci: tuple[float, float]
    pvalue: float
    n_eff: float
    bias: float = 0.0
    df: float = math.inf
    confidence: float = 0.95

    @classmethod
    def of(
        cls,
        value: float,
        spread: StandardError,
        *,
        bias: float = 0.0,
        tested: bool = True,
        limits: tuple[float, float] = (-math.inf, math.inf),
        confidence: float = 0.95,
    ) -> "Estimate":
        """An estimate from the standard error of a normal estimate; the interval is limited to the range of the number.

        Parameters
        ----------
        value : float
            The estimate.
        spread : StandardError
            Its standard error, degrees of freedom and effective sample size.
        bias : float
            The bias that interval and p-value subtract.
        tested : bool
            Whether 0 is a null hypothesis; otherwise the p-value is NaN.
        limits : (float, float)
            The range of the number.
        confidence : float
            Confidence level of the interval.

        Returns
        -------
        Estimate
            Interval and p-value are NaN if the standard error is not positive.
        """
        centre, reach = value - bias, spread.reach(confidence)
        pvalue = spread.pvalue(centre) if tested else math.nan
        ci = (max(centre - reach, limits[0]), min(centre + reach, limits[1])) if spread.se > 0 else (math.nan, math.nan)
        return cls(value, spread.se, ci, pvalue, spread.n_eff, bias, spread.df, confidence)

    @classmethod
    def unknown(cls, value: float, *, confidence: float = 0.95) -> "Estimate":
        """A number whose uncertainty has no normal limit, as at a bound.

        Parameters
        ----------
        value : float
            The estimate.
        confidence : float
            Confidence level of the missing interval.

        Returns
        -------
        Estimate
            NaN for everything except the value.
        """
        return cls(value, math.nan, (math.nan, math.nan), math.nan, math.nan, 0.0, math.nan, confidence)

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __repr__(self) -> str:
        if not math.isfinite(self.se):
            return f"{self.value:.6g} (no standard error)"
        low, high = self.ci
        text = f"{self.value:.6g} (se {self.se:.3g}, {100 * self.confidence:g}% {low:.4g} to {high:.4g}"
        if not math.isnan(self.pvalue):
            text += ", p < 0.001" if self.pvalue < 0.001 else f", p = {self.pvalue:.3f}"
        return f"{text}, n_eff {self.n_eff:,.0f})"

    def paper_test(self, alpha: float = 0.05) -> "PaperTest":
        """The paper's asymptotic test: T_n = sqrt(n) |value| / sigma against z_{1-alpha/2}, sigma the long-run one.

        Corollary 4.1 and theorem 3 of Aich and Aich (2025), which are for the level gap of independent draws. It does not
        subtract the finite-sample bias and uses the normal quantile; `pvalue` improves on both.

        Parameters
        ----------
        alpha : float
            Level of the test, strictly between 0 and 1.

        Returns
        -------
        PaperTest
            Statistic, critical value, p-value and decision; NaN and no rejection if there is no standard error.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.discrepancy(cd.Clayton(3.0).sample(500, rng=1), cd.Gumbel(2.5))
        >>> result.total.paper_test().reject
        True
        """
        probability = open_probability(alpha, "alpha")
        statistic = abs(self.value) / self.se if self.se > 0 else math.nan
        critical = float(ndtri(1.0 - 0.5 * probability))
        return PaperTest(statistic, critical, float(2.0 * ndtr(-statistic)), bool(statistic > critical))

    def to_dict(self) -> dict[str, Any]:
        """Every number by name, ready for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"ci": list(self.ci)}


@dataclass(frozen=True)
class PaperTest:
    """The asymptotic test of Aich and Aich (2025): reject if the statistic exceeds the critical value.

    Attributes
    ----------
    statistic : float
        T_n = sqrt(n) |value| / sigma; NaN if there is no standard error.
    critical : float
        The normal quantile z_{1-alpha/2}.
    pvalue : float
        Two-sided p-value from the normal distribution.
    reject : bool
        Whether the statistic is larger than the critical value.

    See Also
    --------
    Estimate.paper_test : The method that returns it.

    References
    ----------
    Aich, A. and Aich, A. B. (2025). Copula Discrepancy: Benchmarking Dependence Structure. Corollary 4.1, theorem 3.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> test = cd.discrepancy(cd.Gumbel(2.5).sample(500, rng=1), cd.Gumbel(2.5)).level.paper_test(alpha=0.05)
    >>> round(test.critical, 2), test.reject
    (1.96, False)
    """

    statistic: float
    critical: float
    pvalue: float
    reject: bool


def open_probability(value: Any, name: str) -> float:
    """A number strictly between 0 and 1."""
    if not _is_number(value) or not 0 < value < 1:
        raise InputError(f"{name} must lie strictly between 0 and 1, got {value!r}")
    return float(value)


def _is_number(value: Any) -> bool:
    return is_whole(value) or isinstance(value, float | np.floating)


def long_run_variance(influence: Any, *, iid: bool = False) -> LongRun:
    """Long-run variance of influence values (chain, draw): n times the variance of their mean over all chains.

    Autocovariances by FFT, pooled over split chains with the variance between them, Geyer's (1992) initial monotone positive
    sequence: the counterpart of ArviZ's effective sample size for the mean. Chains of 8192 draws and more are first averaged
    over short batches; with several chains of fewer than 20 draws, and with 50 chains or more of fewer than 1000, the variance
    is that of the chains' means.

    Parameters
    ----------
    influence : array (chain, draw) or (draw,)
        One value per draw; only differences from the overall mean matter.
    iid : bool
        Treat the draws as independent: the plain variance.

    Returns
    -------
    LongRun
        Both variances, the effective sample size, and the standard error of the mean with its degrees of freedom; NaN if all
        values are equal.

    Raises
    ------
    InputError
        For NaN or infinite values, or fewer than 4 draws per chain if iid is False.

    See Also
    --------
    concordance : The influence values of Kendall's tau, up to a factor and a shift.
    Fit.influence : The influence values of a fitted parameter.
    ess : Effective sample size of the margins.

    References
    ----------
    Geyer, C. J. (1992). Practical Markov chain Monte Carlo. Statistical Science 7, 473-483.

    Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Burkner, P.-C. (2021). Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis 16, 667-718.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> noise = np.random.default_rng(1).standard_normal((4, 1000))
    >>> walk = noise.copy()
    >>> for t in range(1, 1000):
    ...     walk[:, t] += 0.5 * walk[:, t - 1]
    >>> bool(2.5 < cd.long_run_variance(walk).long_run_variance / cd.long_run_variance(noise).long_run_variance < 6)
    True
    """
    values = np.atleast_2d(real_array(influence, "influence")).astype(np.float64, copy=False)
    if values.ndim != 2 or values.size < 2 or not np.isfinite(values).all():
        raise InputError(f"influence must be finite values of shape (chain, draw), got shape {np.shape(influence)}")
    return _long_run(values, iid=true_or_false(iid, "iid"))


def _long_run(values: NDArray[np.float64], *, iid: bool) -> LongRun:
    """`long_run_variance` of values known to be finite, (chain, draw)."""
    if not iid:
        require_chain_length(values.shape[1])
    # NaN for perfect dependence: tau has no sampling error, and the normal limit is degenerate
    variance, long_run, n_eff, df = kernels.long_run(np.require(values, requirements=("C", "W")), iid)
    return LongRun(variance, long_run, values.size, n_eff, df)


def nearly_constant(values: NDArray[np.float64], scale: float) -> bool:
    """Whether values differ by rounding error only, relative to their size."""
    return scale == 0 or float(np.max(values) / scale - np.min(values) / scale) <= _ROUNDING


def split_rhat(values: NDArray[np.float64]) -> float:
    """Split R-hat (Gelman et al., 2013) of one value per draw, (chain, draw); 1 if nothing varies, NaN under 20 draws.

    ArviZ's "identity" R-hat of the halves; ArviZ itself rejects a single chain, although its halves can be compared.
    """
    return float(kernels.split_rhat(np.require(values, requirements=("C", "W"))))


def tau_influence_bound() -> float:
    """The largest influence a single draw can have on Kendall's tau: |IF| <= 4, since |2 (h - tau)| <= 2 (1 + 1).

    Theorem 4 of Aich and Aich (2025), on the bounded influence of the moment-based CD. It holds for tau-a, and without ties;
    if nearly all draws are tied, a single one can have more influence on tau-b.

    Returns
    -------
    float
        The bound, 4.

    See Also
    --------
    contamination_bound : The effect of many contaminated draws instead of one.
    concordance : The h of each draw.

    References
    ----------
    Aich, A. and Aich, A. B. (2025). Copula Discrepancy: Benchmarking Dependence Structure. Theorem 4.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.tau_influence_bound()
    4.0
    """
    return 4.0


def contamination_bound(delta: float) -> float:
    """Largest change of Kendall's tau, and thus of `level`, by a fraction `delta` of contamination: 4 delta - 2 delta^2.

    A fraction delta of contaminated draws changes the fraction 2 delta - delta^2 of all pairs, each by at most 2 (Aich and
    Aich, 2025, theorem 5). It holds for tau-a, and without ties; if nearly all draws are tied, tau-b can change more.

    Parameters
    ----------
    delta : float
        Fraction of contaminated draws, from 0 to 1.

    Returns
    -------
    float
        The bound, from 0 to 2. It is useful for small fractions only, because of the range of tau.

    Raises
    ------
    InputError
        For a fraction outside 0 to 1, or NaN.

    See Also
    --------
    tau_influence_bound : The bound for a single draw, the slope of this bound at 0.

    References
    ----------
    Aich, A. and Aich, A. B. (2025). Copula Discrepancy: Benchmarking Dependence Structure. Theorem 5.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> round(cd.contamination_bound(0.1), 12)
    0.38
    """
    if not _is_number(delta) or not 0 <= delta <= 1:
        raise InputError(f"delta must be a fraction between 0 and 1, got {delta!r}")
    return float(4.0 * delta - 2.0 * delta**2)
