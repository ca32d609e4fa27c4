"""CKL and CED, the Shannon scores of a gap, with standard errors, intervals and tests.

Both are functions of theta, so their influence values are slopes times those of theta (delta method), and their intervals are
the images of theta's, which also hold if a slope is 0, as that of CKL is if the fitted copula is the target.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from copula_discrepancy._core.checks import FloatArray, RandomSource, random_generator, whole_number
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.likelihood import student_part
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.uncertainty import Estimate
from copula_discrepancy.families import Copula, Integral
from copula_discrepancy.families.quadrature import FIRST_LEVEL, refine
from copula_discrepancy.families.t_distribution import t_quantile_df_slope

_SLOPE_ACCURACY = 1e-4  # standard errors have two or three digits
_CORRELATED = 0.999  # the largest correlation of the errors of rho and 1/df; at 1 their covariance is singular


@dataclass(frozen=True)
class Scores:
    """CKL and CED with their influence values, which are NaN if theta is at a bound."""

    ckl: Estimate
    ced: Estimate
    ckl_influence: NDArray[np.float64]
    ced_influence: NDArray[np.float64]
    notes: tuple[str, ...] = ()  # on quadratures that are less accurate than required


def shannon_scores(
    fitted: Fit,
    target: Copula,
    reference: Fit | None,
    *,
    divergence: Integral,
    doubt: float,
    confidence: float,
    shannon: str,
    m: int,
    rng: RandomSource,
) -> Scores:
    """Score a fit against a target that is known, or fitted to a reference sample; their `divergence` is known.

    `doubt` is the standard deviation of what ties may have done to the fitted tau.
    """
    ckl = divergence.value
    if not math.isfinite(ckl):  # perfect dependence, or nothing to integrate
        return _unknown(fitted, ckl, ckl, confidence)
    copula = fitted.copula
    integrals = divergence, copula._information(copula.theta), target._information(target.theta)
    entropy_gap = integrals[2].value - integrals[1].value
    fits = [fitted] if reference is None else [fitted, reference]
    if fitted.df_on_bound or any(not fit.regular or fit.pair.too_discrete for fit in fits):
        scores = _unknown(fitted, ckl, abs(entropy_gap), confidence)
    elif fitted.df_estimated and _df(copula) != _df(target):
        scores = _two_parameters(fitted, target, ckl, entropy_gap, confidence, _growth(fitted, doubt))
    else:
        scores = _one_parameter(fitted, target, reference, ckl, entropy_gap, confidence, doubt)
    scores = replace(scores, notes=tuple(dict.fromkeys(note for integral in integrals for note in integral.notes)))
    return scores if shannon == "exact" else _simulated(scores, copula, target, m, rng)


def _growth(fitted: Fit, doubt: float) -> float:
    """By how much the error of the fit grows with what ties may have done to it."""
    return math.hypot(1.0, doubt / fitted.spreads["tau_fitted"].se) if doubt else 1.0


def _unknown(fitted: Fit, ckl: float, ced: float, confidence: float) -> Scores:
    nothing = np.full_like(fitted.influence["tau"], math.nan)
    return Scores(Estimate.unknown(ckl, confidence=confidence), Estimate.unknown(ced, confidence=confidence), nothing, nothing)


def _one_parameter(
    fitted: Fit, target: Copula, reference: Fit | None, ckl: float, entropy_gap: float, confidence: float, doubt: float
) -> Scores:
    """Both scores are functions of theta: their intervals are the images of theta's, and both are 0 if it is the target's.

    To second order CKL is I (theta - theta_P)^2 / 2, so its chi-square limit at 0, 2 CKL / (I se^2), is that of
    (theta - theta_P)^2 / se^2, which is tested on the scale of tau; away from 0 the image is the delta method's interval to
    first order.
    """
    copula, slopes = fitted.copula, _slopes(fitted.copula, target, in_target=reference is not None)
    own, spread, tau = fitted.spreads["theta"], fitted.spreads["tau_fitted"], fitted.tau - fitted.tau_bias
    ckl_se, ced_se = abs(slopes.ckl) * own.se, abs(slopes.entropy) * own.se
    if reference is not None:
        other = reference.spreads["theta"]
        spread, tau = spread.plus(reference.spreads["tau_fitted"]), tau + reference.tau_bias
        ckl_se = math.hypot(ckl_se, slopes.ckl_in_target * other.se)
        ced_se = math.hypot(ced_se, _slopes(target, target).entropy * other.se)
    if doubt:
        ckl_se, ced_se = (se * _growth(fitted, doubt) for se in (ckl_se, ced_se))
        spread = spread.plus(StandardError(doubt, math.inf, math.inf))
    ends = fitted.theta_interval(spread, tau, confidence)
    intervals = score_intervals(copula, target, ends)
    zeros = [target.tau], [target.tau, -target.tau] if _mirrored(copula) else [target.tau]
    estimates = [
        Estimate(value, se, ci, max(spread.pvalue(tau - zero) for zero in at), spread.n_eff, 0.0, spread.df, confidence)
        for value, se, ci, at in zip((ckl, abs(entropy_gap)), (ckl_se, ced_se), intervals, zeros, strict=True)
    ]
    influence, sign = fitted.influence["theta"], math.copysign(1.0, entropy_gap)
    return Scores(estimates[0], estimates[1], slopes.ckl * influence, sign * slopes.entropy * influence)


def _mirrored(copula: Copula) -> bool:
    """Whether the family has both signs of dependence, and the same entropy at theta and -theta."""
    return copula.parameter.lower < 0


def score_intervals(
    copula: Copula, target: Copula, ends: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of CKL and CED as theta of a copula moves between two ends.

    CKL decreases until theta is the target's, then increases; so does CED, which in a family of both signs is also 0 at
    -theta, and has a turning point at independence.
    """
    theta, goal = target.theta, target._information(target.theta).value

    def span(score: Callable[[Copula], float], zeros: list[float], turns: list[float]) -> tuple[float, float]:
        inside = [turn for turn in turns if ends[0] < turn < ends[1]]
        values = [_score_at(copula, place, score) for place in (*ends, *inside)]
        touches = any(ends[0] <= zero <= ends[1] for zero in zeros)
        return 0.0 if touches else min(values), max(values)

    # Interval ends need fewer digits than a score; quadrature reaches the square of this tolerance, eight digits
    both_signs = _mirrored(copula)
    return (
        span(lambda member: member._kl(target, _SLOPE_ACCURACY).value, [theta], []),
        span(
            lambda member: abs(member._information(member.theta, _SLOPE_ACCURACY).value - goal),
            [theta, -theta] if both_signs else [theta],
            [0.0] if both_signs else [],
        ),
    )


def _score_at(copula: Copula, theta: float, score: Callable[[Copula], float]) -> float:
    """The score of the family's member at theta: at an included bound that of the bound, beyond an open one infinite."""
    domain = copula.parameter
    if theta >= domain.upper or (theta <= domain.lower and not domain.lower_included):
        return math.inf
    return score(copula.with_theta(max(theta, domain.lower)))


def _two_parameters(fitted: Fit, target: Copula, ckl: float, entropy_gap: float, confidence: float, growth: float) -> Scores:
    """With df estimated too, CKL is 0 if (rho, 1/df) are the target's: Wald's test of both.

    On the scale of 1/df, where a df of 100 and one of 1000 are close. The interval is that of the distance sqrt(2 CKL),
    squared.
    """
    rho, df = fitted.influence["theta"], fitted.df_influence
    own, goal = _df(fitted.copula), _df(target)
    if df is None or own is None or goal is None:
        raise TypeError("two parameters belong to a Student t copula with an estimated df")
    inverse = -df / own**2
    slopes = _slopes(fitted.copula, target)
    influences = slopes.ckl * rho + slopes.ckl_in_df * df, slopes.entropy * rho + slopes.entropy_in_df * df
    spread, entropy_spread = (StandardError.of(values, iid=fitted.iid).times(growth) for values in influences)
    # a long-run covariance from three long-run variances, on a common scale
    scales = np.array([np.std(rho), np.std(inverse)])
    first, second = rho / scales[0], inverse / scales[1]
    variances = [StandardError.of(values, iid=fitted.iid).se ** 2 for values in (first, second, first + second)]
    mixed, most = 0.5 * (variances[2] - variances[0] - variances[1]), math.sqrt(variances[0] * variances[1])
    if not abs(mixed) < _CORRELATED * most:
        # short chains may yield three inconsistent variances: then the correlation of the influence values is used
        mixed = most * float(np.clip(np.mean(first * second), -_CORRELATED, _CORRELATED))
    covariance = np.array([[variances[0], mixed], [mixed, variances[1]]])
    step = np.array([fitted.theta - fitted.theta_bias - target.theta, 1.0 / own - 1.0 / goal]) / scales
    statistic = float(step @ np.linalg.solve(covariance, step)) / growth**2
    pvalue = float(fdtrc(2.0, spread.df, max(statistic, 0.0) / 2.0))
    distance = math.sqrt(2.0 * ckl)
    reach = float(stdtrit(spread.df, 0.5 + 0.5 * confidence)) * spread.se / distance
    low = 0.0 if pvalue > 1.0 - confidence else 0.5 * max(distance - reach, 0.0) ** 2
    ci = (low, 0.5 * (distance + reach) ** 2)
    estimate = Estimate(ckl, spread.se, ci, pvalue, spread.n_eff, 0.0, spread.df, confidence)
    sign = math.copysign(1.0, entropy_gap)
    return Scores(estimate, _folded(entropy_gap, entropy_spread, confidence), influences[0], sign * influences[1])


def _folded(gap: float, spread: StandardError, confidence: float) -> Estimate:
    """The absolute value of a signed gap: its interval is folded at 0."""
    signed = Estimate.of(gap, spread, confidence=confidence)
    low, high = signed.ci
    ci = (0.0 if low <= 0.0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
    return replace(signed, value=abs(gap), ci=ci)


@dataclass(frozen=True)
class _Slopes:
    """Derivatives of CKL and of the entropy with respect to the fitted theta and df, and of CKL to the target's theta."""

    ckl: float
    entropy: float
    ckl_in_df: float = 0.0
    entropy_in_df: float = 0.0
    ckl_in_target: float = math.nan


def _means(copula: Copula, values: Callable[[FloatArray, FloatArray], Sequence[FloatArray]]) -> list[float]:
    """Expectations under a copula of functions with its symmetries, to the accuracy of a standard error."""
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


def _slopes(copula: Copula, target: Copula, *, in_target: bool = False) -> _Slopes:
    """E[l_theta log(c / c_target)], -E[l_theta log c] and, on demand, -E[l_theta of the target], under the fitted copula."""
    theta, inner, same_df = copula.theta, student_part(copula), _df(copula) == _df(target)

    def values(x: FloatArray, y: FloatArray) -> list[FloatArray]:
        own, score = copula._logpdf(theta, x, y), copula._theta_derivatives(theta, x, y)[0]
        a, b = (x, y) if same_df else target._coordinates(*copula._unit(x, y))
        ratio = own - target._logpdf(target.theta, a, b)
        terms = [score * ratio, -score * own]
        if inner is not None and not same_df:
            in_df = inner._df_derivative(theta, x, y, *(t_quantile_df_slope(inner.df, part) for part in (x, y)))
            terms += [in_df * ratio, -in_df * own]
        return terms

    known = _Slopes(*_means(copula, values))
    if not in_target:
        return known
    (slope,) = _means(copula, lambda x, y: [-target._theta_derivatives(target.theta, x, y)[0]])
    return replace(known, ckl_in_target=slope)


def _df(copula: Copula) -> float | None:
    inner = student_part(copula)
    return None if inner is None else inner.df


def _simulated(scores: Scores, copula: Copula, target: Copula, m: int, rng: RandomSource) -> Scores:
    """The paper's Monte Carlo values instead of the exact ones; their noise is added to standard errors and intervals."""
    source = random_generator(rng)
    whole_number(m, "m", 2)  # a standard error needs two draws
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
    """A simulated value with the test of the exact one; its interval contains both, widened by the noise."""
    reach = float(stdtrit(exact.df, 0.5 + 0.5 * exact.confidence)) * noise
    ci = (max(min(exact.ci[0], value) - reach, 0.0), max(exact.ci[1], value) + reach)
    return replace(exact, value=value, se=math.hypot(exact.se, noise), ci=ci)
