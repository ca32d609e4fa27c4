"""Tail gaps: more or fewer draws in a joint tail than the family has at the same strength of dependence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.errors import InputError
from copula_discrepancy.families import Copula
from copula_discrepancy.fitting import Fit
from copula_discrepancy.inference import Spread
from copula_discrepancy.words import per_hundred

_TAU_STEP = 1e-4
FEWEST_IN_TAIL = 5.0  # expected draws inside the corner, and in the tail but outside the corner: fewer have no normal limit


@dataclass(frozen=True)
class Corner:
    """One corner of the unit square: is u high there, is v?"""

    u_high: bool
    v_high: bool

    def words(self, names: tuple[str, str], gap: float) -> str:
        """How a person says it: per hundred draws in the tail of the first variable."""
        first, second = ("highest" if high else "lowest" for high in (self.u_high, self.v_high))
        count = f"{per_hundred(gap)} {'more' if gap > 0 else 'fewer'}"
        also = " too" if self.u_high == self.v_high else ""
        return f"of 100 draws in the {first} tenth of {names[0]}, {count} lie in the {second} tenth of {names[1]}{also}"

    def probability(self, copula: Copula, p: float, q: float) -> float:
        """Of the corner that holds the share p of all u and q of all v, both strictly between 0 and 1."""
        return float(self.probabilities(copula, [copula.theta], p, q)[0])

    def probabilities(self, template: Copula, thetas: Sequence[float], p: float, q: float) -> NDArray[np.float64]:
        """The same under several members of a family, whose coordinates of the corner are found once."""
        (a, a_rest), (b, b_rest) = ((1.0 - x, x) if high else (x, 1.0 - x) for x, high in ((p, self.u_high), (q, self.v_high)))
        with np.errstate(all="ignore"):  # a member next to the end of the family may pass the floats on the way
            at = template._coordinates(*(np.array([x]) for x in (a, a_rest, b, b_rest)))
            found = np.array([template._cdf(theta, *at)[0] for theta in thetas])
        if not np.isfinite(found).all():
            raise InputError(
                f"tail probabilities of {template!r} pass what a float can hold; use a family further from its limits, "
                "as a larger df"
            )
        below = np.clip(found, max(a - b_rest, 0.0), min(a, b))  # the bounds of every copula; rounding may pass them by a unit
        if self.u_high and self.v_high:
            return below + (a_rest - b)
        if self.u_high:
            return b - below
        return a - below if self.v_high else below


def corners(tau: float, tau_target: float = 0.0) -> tuple[Corner, Corner]:
    """The corners along the dependence: both low and both high, or one low and the other high where it is negative.

    Of draws and target, the more dependent one decides: where a dependence is lost, the sign of what is left is chance.
    """
    negative = (tau if abs(tau) >= abs(tau_target) else tau_target) < 0
    return Corner(False, negative), Corner(True, not negative)


@dataclass(frozen=True)
class TailGap:
    """Share of the draws in one tail of a variable that are in the tail of the other, less the family's at the same tau."""

    value: float
    influence: NDArray[np.float64]

    def spread(self, iid: bool) -> Spread:
        """Its standard error."""
        return Spread.of(self.influence, iid=iid)


def tail_gap(fitted: Fit, corner: Corner) -> TailGap | None:
    """The tail gap of the draws in a corner; None where the family has no member with their tau, or too few draws are there.

    The influence on the joint share subtracts what ranks do to each edge (Segers, 2012), by difference quotients of the
    empirical copula over 1/sqrt(n); the influence on tau enters through the family's member.
    """
    pair, template = fitted.pair, fitted.template
    if not reachable(template, pair.tau):
        return None
    u, v = pair.first.tail(corner.u_high), pair.second.tail(corner.v_high)
    if not (0.0 < u.share < 1.0 and 0.0 < v.share < 1.0):
        return None
    both = u.inside & v.inside
    joint = float(np.mean(both))
    expected, slope = corner_share(template, pair.tau, corner, u.share, v.share)
    if pair.n * min(expected, max(u.share, v.share) - expected) < FEWEST_IN_TAIL:
        return None
    flat = both - joint - u.slope(v.inside) * (u.inside - u.share) - v.slope(u.inside) * (v.inside - v.share)
    influence = (pair.by_chain(flat) - slope * fitted.influence["tau"]) / u.share
    return TailGap((joint - expected) / u.share, influence)


def reachable(template: Copula, tau: float) -> bool:
    """Whether the family has members on both sides of a tau."""
    low, high = template.tau_range
    return low + 2.0 * _TAU_STEP < tau < high - 2.0 * _TAU_STEP


def corner_share(template: Copula, tau: float, corner: Corner, p: float, q: float) -> tuple[float, float]:
    """Probability of a corner under the family's member with this tau, and its derivative in tau."""
    thetas = [template._theta_from_tau(tau + k * _TAU_STEP) for k in (-1, 0, 1)]
    below, here, above = corner.probabilities(template, thetas, p, q).tolist()
    return here, (above - below) / (2.0 * _TAU_STEP)
