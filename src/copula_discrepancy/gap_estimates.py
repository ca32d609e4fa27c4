"""Level, shape and total of a fit against a known copula or a reference sample, each with its uncertainty."""

from copula_discrepancy.fitting import Fit
from copula_discrepancy.inference import Estimate, Spread


def gap_estimates(fitted: Fit, tau_target: float, reference: Fit | None, confidence: float) -> dict[str, Estimate]:
    """The gaps of `discrepancy`, and "tau", "theta" and "tau_fitted" of the draws; `reference` is the fit behind the target."""

    def against(name: str) -> Spread:
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
    possible = (-1.0 - tau_target, 1.0 - tau_target) if reference is None else (-2.0, 2.0)
    own, taus = fitted.spreads, (-1.0, 1.0)
    return {
        "tau": estimate(fitted.sample_tau, own["tau"], taus, tested=False),
        "theta": fitted.theta_estimate(confidence),
        "tau_fitted": estimate(tau_fitted, own["tau_fitted"], taus, bias=fitted.tau_bias, tested=False),
        "level": estimate(level, against("tau"), possible),
        "shape": estimate(total - level, against("shape"), (-2.0, 2.0), bias=bias)
        if judged and not moment
        else Estimate.unknown(total - level, confidence=confidence),
        "total": estimate(total, against("tau_fitted"), possible, bias=bias)
        if judged
        else Estimate.unknown(total, confidence=confidence),
    }
