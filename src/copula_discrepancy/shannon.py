"""CKL and CED: the Shannon view of a gap, with standard errors, intervals and tests.

Both are functions of theta, so their influence values are slopes times those of theta (delta method). CKL has slope 0 where the
fitted copula is the target: its square root, a distance, is what has a normal limit on both sides of that point.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, stdtrit

from copula_discrepancy.families import Copula
from copula_discrepancy.families._checks import RandomSource, random_generator
from copula_discrepancy.families._numerics import FloatArray
from copula_discrepancy.families._quadrature import FIRST_LEVEL, refine
from copula_discrepancy.families.student_t import t_quantile_df_slope
from copula_discrepancy.fitting import Fit
from copula_discrepancy.inference import Estimate, Spread
from copula_discrepancy.likelihood import student_part

_SLOPE_ACCURACY = 1e-4  # standard errors have two or three digits


@dataclass(frozen=True)
class Scores:
    """CKL and CED with their influence values; these are NaN where theta sits on a bound."""

    ckl: Estimate
    ced: Estimate
    ckl_influence: NDArray[np.float64]
    ced_influence: NDArray[np.float64]


def shannon_scores(
    fitted: Fit, target: Copula, reference: Fit | None, *, confidence: float, shannon: str, m: int, rng: RandomSource
) -> Scores:
    """Score a fit against a target that is known, or itself fitted to a reference sample."""
    domain = fitted.template.parameter
    at_limit = not math.isfinite(fitted.theta) or fitted.theta in (domain.upper, domain.lower)
    if at_limit and not (fitted.theta == domain.lower and domain.lower_included):
        return _unknown(fitted, math.inf, math.inf, confidence)
    copula = fitted.copula
    ckl, entropy_gap = copula.kl(target), copula.entropy() - target.entropy()
    if not fitted.regular or (reference is not None and not reference.regular):
        scores = _unknown(fitted, ckl, abs(entropy_gap), confidence)
    elif fitted.df_estimated and _df(copula) != _df(target):
        scores = _two_parameters(fitted, target, ckl, entropy_gap, confidence)
    else:
        scores = _one_parameter(fitted, target, reference, ckl, entropy_gap, confidence)
    return scores if shannon == "exact" else _simulated(scores, copula, target, m, rng)


def _unknown(fitted: Fit, ckl: float, ced: float, confidence: float) -> Scores:
    nothing = np.full_like(fitted.influence["tau"], math.nan)
    return Scores(Estimate.unknown(ckl, confidence=confidence), Estimate.unknown(ced, confidence=confidence), nothing, nothing)


def _one_parameter(
    fitted: Fit, target: Copula, reference: Fit | None, ckl: float, entropy_gap: float, confidence: float
) -> Scores:
    copula = fitted.copula
    slopes = _slopes(copula, target)
    information = fisher_information(target)
    own = fitted.spreads["theta"]
    step = fitted.theta - fitted.theta_bias - target.theta
    spread = own
    if reference is not None:
        # how much the target's theta moves CKL against the fitted one; -1 where the two meet
        weight = slopes.ckl_in_target / slopes.ckl if abs(step) > 0.01 * own.se else -1.0
        spread = own.plus(reference.spreads["theta"].times(weight))
        step += reference.theta_bias
    reach = math.sqrt(information) * spread.se  # standard error of the distance sqrt(2 CKL) next to 0
    away = abs(slopes.ckl) * spread.se / math.sqrt(2.0 * ckl) if ckl > 0 else 0.0
    near = math.sqrt(2.0 * ckl) < reach  # the slope over the distance is 0/0 there
    # second order: 2 CKL / (information * variance of theta) is chi-square with one degree of freedom where CKL = 0
    pvalue = spread.pvalue(math.sqrt(2.0 * ckl / information)) if information > 0 else math.nan
    ckl_estimate = _squared(ckl, reach if near else away, abs(slopes.ckl) * spread.se, pvalue, spread, confidence)

    if reference is not None:
        ced_spread = own.times(slopes.entropy).plus(reference.spreads["theta"].times(_slopes(target, target).entropy))
    else:
        ced_spread = own.times(slopes.entropy)
    ced, sign = abs(entropy_gap), math.copysign(1.0, entropy_gap)
    if target.entropy() == 0.0:  # the entropy is flat at independence, where CED is the divergence from it
        ced_estimate = ckl_estimate if ckl == ced else replace(ckl_estimate, value=ced)
    else:
        bias = slopes.entropy * fitted.theta_bias
        ced_estimate = _folded(entropy_gap, bias, ced_spread, confidence)
    influence = fitted.influence["theta"]
    return Scores(ckl_estimate, ced_estimate, slopes.ckl * influence, sign * slopes.entropy * influence)


def _two_parameters(fitted: Fit, target: Copula, ckl: float, entropy_gap: float, confidence: float) -> Scores:
    """With df estimated too: 2 CKL is a weighted sum of two chi-squares where CKL = 0, here by its first two moments."""
    rho, df = fitted.influence["theta"], fitted.theta_influence.df
    if df is None:
        raise TypeError("the influence on df is missing")
    df = fitted.pair.by_chain(df)
    slopes = _slopes(fitted.copula, target)
    influences = slopes.ckl * rho + slopes.ckl_in_df * df, slopes.entropy * rho + slopes.entropy_in_df * df
    spread, entropy_spread = (Spread.of(values, iid=fitted.iid) for values in influences)
    variances = [Spread.of(values, iid=fitted.iid).se ** 2 for values in (rho, df, rho / np.std(rho) + df / np.std(df))]
    mixed = 0.5 * (variances[2] - variances[0] / np.var(rho) - variances[1] / np.var(df)) * np.std(rho) * np.std(df)
    covariance = np.array([[variances[0], mixed], [mixed, variances[1]]])
    product = _student_information(target) @ covariance
    trace, square = float(np.trace(product)), float(np.trace(product @ product))
    pvalue = float(chdtrc(trace**2 / square, 2.0 * ckl * trace / square))
    reach = math.sqrt(float(np.max(np.linalg.eigvals(product).real)))
    near = math.sqrt(2.0 * ckl) < reach
    distance_se = reach if near else spread.se / math.sqrt(2.0 * ckl)
    estimate = _squared(ckl, distance_se, spread.se, pvalue, spread, confidence)
    sign = math.copysign(1.0, entropy_gap)
    return Scores(estimate, _folded(entropy_gap, 0.0, entropy_spread, confidence), influences[0], sign * influences[1])


def _squared(ckl: float, distance_se: float, se: float, pvalue: float, spread: Spread, confidence: float) -> Estimate:
    """An interval for CKL from one for the distance sqrt(2 CKL).

    Far from 0 it is the delta method's; at 0 it is that of the chi-square limit, and begins at 0.
    """
    distance, reach = math.sqrt(2.0 * max(ckl, 0.0)), float(stdtrit(spread.df, 0.5 + 0.5 * confidence)) * distance_se
    low = 0.0 if pvalue > 1.0 - confidence else 0.5 * max(distance - reach, 0.0) ** 2
    return Estimate(ckl, se, (low, 0.5 * (distance + reach) ** 2), pvalue, spread.n_eff, 0.0, spread.df, confidence)


def _folded(gap: float, bias: float, spread: Spread, confidence: float) -> Estimate:
    """The size of a signed gap: its interval is folded at 0."""
    signed = Estimate.of(gap, spread, bias=bias, confidence=confidence)
    low, high = signed.ci
    ci = (0.0 if low <= 0.0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
    return replace(signed, value=abs(gap), ci=ci, bias=math.copysign(1.0, gap) * bias)


@dataclass(frozen=True)
class _Slopes:
    """Derivatives of CKL and of the entropy in the fitted theta, in the target's theta, and in df."""

    ckl: float
    ckl_in_target: float
    entropy: float
    ckl_in_df: float = 0.0
    entropy_in_df: float = 0.0


def _means(copula: Copula, values: Callable[[FloatArray, FloatArray], Sequence[FloatArray]]) -> list[float]:
    """Expectations under a copula of functions that have its symmetries, to the accuracy of a standard error."""
    images = copula._mirror_images
    seen: dict[int, list[FloatArray]] = {}

    def terms(level: int) -> list[FloatArray]:
        if level not in seen:
            x, y, weight = (part[:, ::images] for part in copula._nodes(copula.theta, level))
            seen[level] = [images * weight * value for value in values(x, y)]
        return seen[level]

    def mean(k: int) -> float:
        return refine(lambda level: terms(level)[k], floor=1e-12, accept=_SLOPE_ACCURACY).value

    return [mean(k) for k in range(len(terms(FIRST_LEVEL)))]


def _slopes(copula: Copula, target: Copula) -> _Slopes:
    """E[l_theta log(c / c_target)], -E[l_theta of the target], -E[l_theta log c], all under the fitted copula."""
    theta, inner, same_df = copula.theta, student_part(copula), _df(copula) == _df(target)

    def values(x: FloatArray, y: FloatArray) -> list[FloatArray]:
        own, score = copula._logpdf(theta, x, y), copula._theta_derivatives(theta, x, y)[0]
        a, b = (x, y) if same_df else target._coordinates(*copula._unit(x, y))
        ratio = own - target._logpdf(target.theta, a, b)
        found = [score * ratio, -target._theta_derivatives(target.theta, a, b)[0], -score * own]
        if inner is not None and not same_df:
            in_df = inner._df_derivative(theta, x, y, *(t_quantile_df_slope(inner.df, part) for part in (x, y)))
            found += [in_df * ratio, -in_df * own]
        return found

    return _Slopes(*_means(copula, values))


def fisher_information(copula: Copula) -> float:
    """E[l_theta^2] of one draw with known margins, by quadrature."""
    return _means(copula, lambda x, y: [copula._theta_derivatives(copula.theta, x, y)[0] ** 2])[0]


def _student_information(copula: Copula) -> NDArray[np.float64]:
    """The 2 x 2 information on (rho, df)."""
    inner = student_part(copula)
    if inner is None:
        raise TypeError(f"only a Student t copula has a df, not {copula!r}")

    def products(x: FloatArray, y: FloatArray) -> list[FloatArray]:
        in_rho = inner._theta_derivatives(inner.theta, x, y)[0]
        in_df = inner._df_derivative(inner.theta, x, y, *(t_quantile_df_slope(inner.df, part) for part in (x, y)))
        return [in_rho**2, in_rho * in_df, in_df**2]

    rho, mixed, df = _means(inner, products)
    return np.array([[rho, mixed], [mixed, df]])


def _df(copula: Copula) -> float | None:
    inner = student_part(copula)
    return None if inner is None else inner.df


def _simulated(scores: Scores, copula: Copula, target: Copula, m: int, rng: RandomSource) -> Scores:
    """The paper's Monte Carlo values in place of the exact ones; their noise is added to standard errors and intervals."""
    source = random_generator(rng)
    # the paper's order: divergence from the fitted copula, then one expectation under each copula
    own, unit = copula._simulated_logpdf(m, source)
    ratio = own - target._logpdf(target.theta, *target._coordinates(*unit))
    fitted_log, _ = copula._simulated_logpdf(m, source)
    target_log, _ = target._simulated_logpdf(m, source)
    ckl_noise = float(np.std(ratio)) / math.sqrt(m)
    ced_noise = math.hypot(float(np.std(fitted_log)), float(np.std(target_log))) / math.sqrt(m)
    ced = abs(float(np.mean(target_log)) - float(np.mean(fitted_log)))
    return replace(scores, ckl=_noisy(scores.ckl, float(np.mean(ratio)), ckl_noise), ced=_noisy(scores.ced, ced, ced_noise))


def _noisy(exact: Estimate, value: float, noise: float) -> Estimate:
    reach = float(stdtrit(exact.df, 0.5 + 0.5 * exact.confidence)) * noise
    ci = (max(exact.ci[0] - reach, 0.0), exact.ci[1] + reach)
    return replace(exact, value=value, se=math.hypot(exact.se, noise), ci=ci)
