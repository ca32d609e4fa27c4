"""The Copula Discrepancy of one pair of variables: level, shape and total gap, and the two Shannon scores."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_discrepancy.errors import InputError, one_of
from copula_discrepancy.families import Copula
from copula_discrepancy.families._base import DEFAULT_MONTE_CARLO_SIZE
from copula_discrepancy.families._checks import SHANNON_METHODS, RandomSource, random_generator
from copula_discrepancy.families._quadrature import collected_notes
from copula_discrepancy.fitting import METHODS, Fit, announce, fit_pair, library_version
from copula_discrepancy.likelihood import student_part
from copula_discrepancy.pairs import RankedPair


@dataclass(frozen=True)
class Gap:
    """A difference between two Kendall's taus: what the draws have less what they should have."""

    value: float

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, eq=False)
class Discrepancy:
    """How far the dependence of the draws is from the target's.

    Attributes
    ----------
    level : Gap
        tau - tau_target: the strength of dependence is off by this much.
    shape : Gap
        tau_fitted - tau: not 0 where the target's family, fitted to the draws, does not have their tau, because its tails are
        not theirs; the target's theta plays no part in it. Always 0 with method="moment".
    total : Gap
        level + shape.
    cd, cd_moment : float
        The paper's discrepancies: the absolute values of total (maximum likelihood) and of level (moments).
    ckl, ced : float
        Kullback-Leibler divergence of the fitted copula from the target, and absolute difference of their entropies.
    theta, tau, n
        Fitted parameter, Kendall's tau-b of the draws, number of draws.
    tau_fitted, tau_target
        Taus of the fitted copula and of the target; with method="moment" tau_fitted is tau, also where no theta reaches it.
    fit : Fit
        How theta was found.
    """

    target: Copula
    level: Gap
    shape: Gap
    total: Gap
    cd: float
    cd_moment: float
    ckl: float
    ced: float
    theta: float
    tau: float
    tau_fitted: float
    tau_target: float
    n: int
    method: str
    margins: str
    shannon: str
    fit: Fit
    warnings: tuple[str, ...]
    version: str

    def to_dict(self) -> dict[str, Any]:
        """Every number and word, ready for Python's json (infinite scores included)."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain |= {name: plain[name].value for name in ("level", "shape", "total")}
        return plain | {"target": repr(self.target), "fit": self.fit.to_dict(), "warnings": list(self.warnings)}

    def _rows(self) -> list[tuple[str, str, str]]:
        return [
            ("level", _signed(self.level.value), "strength of dependence: tau of the draws less tau of the target"),
            ("shape", _signed(self.shape.value), "family and tails: tau of the fitted copula less tau of the draws"),
            ("total", _signed(self.total.value), "level + shape; its size is the CD"),
            ("CKL", f"{self.ckl:.4g}", "Kullback-Leibler divergence of the fitted copula from the target"),
            ("CED", f"{self.ced:.4g}", "difference of their entropies"),
        ]

    def _summary(self) -> str:
        df = f", df {self.fit.df:.4g}" if self.fit.df is not None else ""
        fitted = f"theta {self.theta:.4g}{df}, tau {self.fit.tau:.4g}"
        return (
            f"{self.n} draws: Kendall's tau {self.tau:.4g}, target {self.target!r} with tau {self.tau_target:.4g}, "
            f"fitted {self.fit.family} with {fitted} ({self.method})"
        )

    def __repr__(self) -> str:
        lines = [f"Copula discrepancy {self.cd:.4g}", self._summary()]
        lines += [f"  {name:<6}{value:>10}   {meaning}" for name, value, meaning in self._rows()]
        return "\n".join(lines + [f"  note: {warning}" for warning in self.warnings])

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th scope='row'>{name}</th><td>{value}</td><td style='text-align:left'>{meaning}</td></tr>"
            for name, value, meaning in self._rows()
        )
        notes = "".join(f"<p>Note: {escape(warning)}</p>" for warning in self.warnings)
        return f"<p><b>Copula discrepancy {self.cd:.4g}</b><br>{escape(self._summary())}</p><table>{rows}</table>{notes}"


def discrepancy(
    draws: Any,
    target: Copula,
    *,
    method: str = "mle",
    margins: str = "rank",
    estimate_df: bool = False,
    shannon: str = "exact",
    m: int = DEFAULT_MONTE_CARLO_SIZE,
    rng: RandomSource = None,
) -> Discrepancy:
    """Compare the dependence of two variables with a target copula.

    The target's family is fitted to the draws' ranks; tau(theta_fitted) - tau(theta_target) is the total gap, split into
    level, tau_draws - tau_target, and shape, tau(theta_fitted) - tau_draws. This is the Copula Discrepancy
    of Aich and Aich (2025): |total| by maximum likelihood, |level| by moments.

    Parameters
    ----------
    draws : array (n, 2) or (chain, draw, 2), or anything `as_draws` takes
        Only ranks matter (with margins="rank"): increasing transforms of either variable change nothing.
    target : Copula
        Such as ``Gumbel(2.5)`` or ``Rotated(Clayton(3), 90)``.
    method : {"mle", "moment"}
        How theta is fitted for total, CKL and CED.
    margins : {"rank", "uniform"}
        See `fit`.
    estimate_df : bool
        Fit the degrees of freedom of a Student t target too, instead of taking the target's.
    shannon : {"exact", "monte_carlo"}
        CKL and CED by closed form and quadrature, or by the paper's estimator with `m` simulated draws per expectation.
    m, rng
        Size and randomness of the Monte Carlo estimates.

    Returns
    -------
    Discrepancy
        The gaps and scores. A tau that the target's family cannot reach keeps its gap; perfectly dependent draws have
        infinite CKL and CED. Both come with a DependenceWarning that the result records.

    Raises
    ------
    InputError
        For draws that are not two finite, varying columns, or a target that is no copula with its parameter.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> draws = cd.Clayton(3.0).sample(5000, rng=1)
    >>> result = cd.discrepancy(draws, cd.Gumbel(2.5))
    >>> round(result.level.value, 3), round(result.shape.value, 3)
    (0.001, -0.093)
    """
    if not isinstance(target, Copula):
        raise InputError(f"target must be a copula with its parameter, such as Gumbel(2.5), got {target!r}")
    one_of(method, "method", METHODS)
    one_of(shannon, "shannon", SHANNON_METHODS)
    if not isinstance(estimate_df, bool | np.bool_):
        raise InputError(f"estimate_df must be True or False, got {estimate_df!r}")
    if estimate_df and student_part(target) is None:
        raise InputError(f"estimate_df=True needs a StudentT target, got {target!r}")
    pair = RankedPair.from_draws(draws, margins)
    fitted = fit_pair(pair, target, method=method, estimate_df=estimate_df)
    level = pair.tau - target.tau
    # A tau that the family cannot reach has no theta; the moment gap is still the gap of the taus.
    tau_fitted = pair.tau if method == "moment" else fitted.tau
    with collected_notes() as notes:
        ckl, ced = _shannon_scores(fitted, target, shannon, m, rng)
    result = Discrepancy(
        target=target,
        level=Gap(level),
        shape=Gap(tau_fitted - pair.tau),
        total=Gap(tau_fitted - target.tau),
        cd=abs(tau_fitted - target.tau),
        cd_moment=abs(level),
        ckl=ckl,
        ced=ced,
        theta=fitted.theta,
        tau=pair.tau,
        tau_fitted=tau_fitted,
        tau_target=target.tau,
        n=pair.n,
        method=method,
        margins=margins,
        shannon=shannon,
        fit=fitted,
        warnings=(*fitted.warnings, *notes),
        version=library_version(),
    )
    announce(result.warnings)
    return result


def _shannon_scores(fitted: Fit, target: Copula, shannon: str, m: int, rng: RandomSource) -> tuple[float, float]:
    """CKL and CED; both infinite where the fitted copula is a limit without a density."""
    domain = fitted.template.parameter
    at_limit = not math.isfinite(fitted.theta) or fitted.theta in (domain.upper, domain.lower)
    if at_limit and not (fitted.theta == domain.lower and domain.lower_included):
        return math.inf, math.inf
    copula = fitted.copula
    if shannon == "exact":
        return copula.kl(target), abs(copula.entropy() - target.entropy())
    source = random_generator(rng)
    # the paper's order: divergence from the fitted copula, then one expectation under each copula
    ckl = copula.kl(target, method="monte_carlo", m=m, rng=source)
    own = copula.entropy(method="monte_carlo", m=m, rng=source)
    return ckl, abs(own - target.entropy(method="monte_carlo", m=m, rng=source))


def _signed(value: float) -> str:
    return f"{value:+.4f}"
