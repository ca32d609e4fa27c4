"""Level, shape and total of a fit against a known copula or a reference sample, each with its uncertainty."""

from dataclasses import replace

import numpy as np

from copula_discrepancy._core import kernels
from copula_discrepancy.estimate.fit import Fit
from copula_discrepancy.estimate.pair import FEWEST_FOR_SHAPE, uneven_ties
from copula_discrepancy.estimate.strength import LevelTest, TauSide, level_test
from copula_discrepancy.estimate.uncertainty import Estimate, Spread


def tau_side(fitted: Fit) -> TauSide:
    """What the test of level needs of a fit's draws."""
    pair = fitted.pair

    def rank_size() -> float:
        return float(kernels.spread(pair.first.rank.astype(np.float64), None if fitted.iid else pair.n_chains)[2])

    modes = pair.first.largest_group, pair.second.largest_group
    return TauSide.of(pair.tau, fitted.spreads["tau"], pair.n, modes, fitted.influence["tau"], rank_size)


def tested_level(fitted: Fit, tau_target: float, reference: Fit | None) -> LevelTest:
    """The test of level."""
    return level_test(tau_side(fitted), None if reference is None else tau_side(reference), tau_target)


def gap_estimates(
    fitted: Fit, tau_target: float, reference: Fit | None, level_tested: LevelTest, confidence: float
) -> dict[str, Estimate]:
    """The gaps of `discrepancy`, and "tau", "theta" and "tau_fitted" of the draws; `reference` is the fit behind the target."""

    def against(name: str) -> Spread:
        # a perfect sample has no shape: that of the other one alone is no difference of two
        return fitted.spreads[name].plus(reference.spreads[name] if reference is not None else None)

    def estimate(
        value: float, spread: Spread, limits: tuple[float, float], *, bias: float = 0.0, tested: bool = True
    ) -> Estimate:
        return Estimate.of(value, spread, bias=bias, tested=tested, limits=limits, confidence=confidence)

    moment = fitted.method == "moment"
    # A tau that the family cannot reach has no theta; the moment gap is still the gap of the taus.
    tau_fitted = fitted.sample_tau if moment else fitted.tau
    tau_aimed, bias = tau_target, fitted.tau_bias
    if reference is not None:
        tau_aimed = reference.sample_tau if moment else reference.tau
        bias -= reference.tau_bias
    level, total = fitted.sample_tau - tau_target, tau_fitted - tau_aimed
    fits = [fitted] if reference is None else [fitted, reference]
    judged = moment or not any(fit.pair.too_discrete for fit in fits)  # a likelihood of two values has no normal limit
    # nor has one of a handful of draws, and a bias beyond the error has no correction
    tested = moment or not any(fit.bias_is_large or fit.n < FEWEST_FOR_SHAPE for fit in fits)
    if reference is not None and not moment:
        ties = [(fit.n, fit.pair.tied_share) for fit in fits]
        judged = judged and not uneven_ties(*ties[0], *ties[1])
    possible = (-1.0 - tau_target, 1.0 - tau_target) if reference is None else (-2.0, 2.0)
    own, taus = fitted.spreads, (-1.0, 1.0)
    return {
        "tau": estimate(fitted.sample_tau, own["tau"], taus, tested=False),
        "theta": fitted.theta_estimate(confidence),
        "tau_fitted": estimate(tau_fitted, own["tau_fitted"], taus, bias=fitted.tau_bias, tested=False),
        "level": replace(estimate(level, level_tested.spread, possible), pvalue=level_tested.pvalue),
        "shape": estimate(total - level, against("shape"), (-2.0, 2.0), bias=bias, tested=tested)
        if judged and not moment
        else Estimate.unknown(total - level, confidence=confidence),
        "total": estimate(total, against("tau_fitted"), possible, bias=bias, tested=tested)
        if judged
        else Estimate.unknown(total, confidence=confidence),
    }
