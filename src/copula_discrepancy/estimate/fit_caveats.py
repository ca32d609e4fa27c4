"""Caveats of a fit at a bound of its family, from its numbers alone, so that a row of a table has the same ones."""

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy.estimate.likelihood import MAX_STEPS, student_part
from copula_discrepancy.families import Copula

_UNCONVERGED = f"the likelihood was not maximised within {MAX_STEPS} Newton steps, so theta has no standard error"


def bound_caveat(template: Copula, method: str, tau: float, theta: float) -> Caveat | None:
    """A caveat if the fitted theta is at a bound of its domain; otherwise None.

    Parameters
    ----------
    template : Copula
        A member of the family.
    method : {"mle", "moment"}
        How theta was fitted.
    tau, theta : float
        Kendall's tau of the draws, and the fitted parameter.

    Returns
    -------
    Caveat or None
        "perfect-dependence" at a bound that no member reaches, "family-bound" at one that belongs to the family.
    """
    domain, name = template.parameter, template.name
    if theta == domain.lower and domain.lower_included:
        if method == "mle":
            return caveat_of(
                "family-bound",
                f"theta is at the lower bound {theta:g} of {name}: the draws are less dependent than any member of the family, "
                "so theta has no standard error",
            )
        low, high = template.tau_range
        if low <= tau <= high:
            return None
        return caveat_of(
            "family-bound",
            f"Kendall's tau of the draws is {tau:.4g}, outside the range {low:.4g} to {high:.4g} of {name}: theta is set to "
            f"the nearest value, {theta:g}, without a standard error, and level keeps the tau of the draws",
        )
    if domain.lower < theta < domain.upper and not (method == "moment" and abs(template._tau(theta)) == 1.0):
        return None
    if abs(tau) == 1.0:
        likelihood = f", so the likelihood of {name} has no maximum" if method == "mle" else ""
        sentence = (
            f"the draws are perfectly dependent{likelihood}; theta is set to the limit {theta:g}, without a standard error"
        )
    elif method == "mle":
        end = "upper" if theta > 0 else "lower"
        sentence = (
            f"theta is at the {end} bound {theta:g} of {name}: the likelihood increases up to perfect dependence, so theta has "
            "no standard error"
        )
    else:
        sentence = f"Kendall's tau of the draws is {tau!r}: theta rounds to its limit {theta:g}, without a standard error"
    return caveat_of("perfect-dependence", sentence)


def df_caveat(df: float, end: str | None) -> Caveat | None:
    """A caveat if estimated degrees of freedom are at the "lower" or "upper" end of their search range."""
    if end is None:
        return None
    why = "a Gaussian copula fits as well" if end == "upper" else "the tails are heavier than those of a t copula"
    return caveat_of(
        "df-bound",
        f"df is at the {end} end {df:g} of its search range: {why}; df is treated as known",
    )


def fit_caveats(
    template: Copula, method: str, tau: float, theta: float, *, df_end: str | None = None, converged: bool = True
) -> tuple[Caveat, ...]:
    """All caveats of one fit."""
    inner = student_part(template)
    caveats = [
        None if inner is None else df_caveat(inner.df, df_end),
        bound_caveat(template, method, tau, theta),
        None if converged else caveat_of("unconverged", _UNCONVERGED),
    ]
    return tuple(caveat for caveat in caveats if caveat is not None)
