"""The gap in form of one pair: value, coefficients, the share of dependence kept, and the pattern."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare import wording
from copula_discrepancy.estimate.basis import ORDER, polynomials
from copula_discrepancy.estimate.uncertainty import Estimate

if TYPE_CHECKING:
    from copula_discrepancy.compare.comparison import ComparedPair

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Form(Estimate):
    """The gap in form of one pair of variables: an `Estimate` with what it is made of.

    The copula density smoothed to an order K is 1 + sum of a_jk phi_j(u) phi_k(v) over j, k = 1, ..., K, with phi_j(u) =
    sqrt(2j + 1) P_j(2u - 1), Legendre's polynomials, and a_jk = E[phi_j(U) phi_k(V)]; a_11 is Spearman's rho. `value` is the
    root mean square difference of the smoothed densities of draws and target, the root of the sum of squared differences of
    a_jk, without the part that chance adds; independence has density 1.

    Attributes
    ----------
    value, se, ci, pvalue, n_eff, df, confidence, bias
        As in `Estimate`; the p-value is that of all coefficients being equal, and `n_eff` the smallest of any coefficient.
    order : int
        K.
    coefficients, target_coefficients : array (K, K)
        a_jk of the draws and of the target; rows are polynomials of the first variable. NaN for orders that too few draws, or
        too few different values, do not allow.
    errors, target_errors : array (K, K)
        Their standard errors; 0 for a known copula.
    kept : Estimate
        The share of the target's dependence that the draws keep, <A, B>/<B, B>: 1 if they are equal, 0 if all of it is lost,
        negative if it is reversed. NaN if the target has too little dependence to tell.
    pattern : str
        What kind of dependence differs beyond strength, in words, such as "the spread of b follows a in the target, not in the
        draws"; empty if nothing is left that the gap in strength does not explain.
    code : str
        The same for programs, such as "spread second: lost".

    See Also
    --------
    discrepancy : Returns it as ``result.form``.

    References
    ----------
    Kallenberg, W. C. M. and Ledwina, T. (1999). Data-driven rank tests for independence. Journal of the American Statistical
    Association 94, 285-301.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> scale, noise, lost = rng.standard_normal((3, 1000))
    >>> funnel, draws = np.stack([scale, np.exp(scale) * noise], -1), np.stack([lost, noise], -1)[::-1]
    >>> form = cd.discrepancy(draws, funnel, family="gaussian", iid=True).form
    >>> form.pattern
    'the spread of x1 follows x0 in the reference, not in the rows'
    >>> round(form.value, 2), round(form.kept.value, 2), form.coefficients.shape
    (0.91, -0.06, (4, 4))
    """

    order: int = ORDER
    coefficients: Array = field(default_factory=lambda: np.empty((0, 0)))
    target_coefficients: Array = field(default_factory=lambda: np.empty((0, 0)))
    errors: Array = field(default_factory=lambda: np.empty((0, 0)))
    target_errors: Array = field(default_factory=lambda: np.empty((0, 0)))
    kept: Estimate = field(default_factory=lambda: Estimate.unknown(math.nan))
    pattern: str = ""
    code: str = ""

    @property
    def tested_order(self) -> int:
        """The highest order of a polynomial that draws and values allow; `order` unless there are few."""
        known = np.isfinite(self.coefficients)
        return int(max(known.any(axis=0).sum(), known.any(axis=1).sum()))

    def density(self, u: Any, v: Any, *, target: bool = False) -> Array:
        """The smoothed copula density of the draws, or of the target, on the grid of all u and v.

        Parameters
        ----------
        u, v : array
            Points between 0 and 1.
        target : bool
            Whether that of the target is wanted.

        Returns
        -------
        array (len(u), len(v))
            The density; a polynomial, which may be slightly negative where there are no draws.
        """
        coefficients = self.target_coefficients if target else self.coefficients
        first, second = (polynomials(np.asarray(x, np.float64), self.order) for x in (u, v))
        found: Array = 1.0 + first.T @ np.nan_to_num(coefficients) @ second
        return found

    def to_dict(self) -> dict[str, Any]:
        """Every number and text by name, ready for JSON."""
        arrays = ("coefficients", "target_coefficients", "errors", "target_errors")
        return super().to_dict() | {name: getattr(self, name).tolist() for name in arrays} | {"kept": self.kept.to_dict()}


def form_result(pair: "ComparedPair", names: tuple[str, str], confidence: float, whose: str, things: str) -> Form:
    """The gap in form of a compared pair; `whose` is the noun for the target."""
    gap = pair.gaps.form
    assert gap is not None
    order = math.isqrt(gap.own.size)
    plain = Estimate.of(gap.value, gap.spread, tested=False, confidence=confidence)
    numbers = {name: getattr(plain, name) for name in Estimate.__dataclass_fields__}
    squares = [np.where(np.isfinite(x), x, math.nan).reshape(order, order) for x in (gap.own, gap.target)]
    errors = [x.reshape(order, order) for x in (gap.own_errors, gap.target_errors)]
    code = "" if pair.pattern is None else pair.pattern.code
    return Form(
        **numbers | {"pvalue": gap.pvalue, "ci": gap.interval(confidence) if gap.spread.se > 0 else (math.nan, math.nan)},
        order=order,
        coefficients=squares[0],
        target_coefficients=squares[1],
        errors=errors[0],
        target_errors=errors[1],
        kept=Estimate.of(gap.kept, gap.kept_spread, tested=False, confidence=confidence),
        pattern=wording.pattern_words(code, names, whose, things),
        code=code,
    )
