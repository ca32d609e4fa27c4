"""Tail gaps: more or fewer draws in a joint tail than the family has at the same strength of dependence."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.families import Copula
from copula_discrepancy.fitting import Fit
from copula_discrepancy.inference import Spread
from copula_discrepancy.ranks import RankedColumn

TAIL_SHARE = 0.1  # a tail is the lowest or highest tenth: at n = 500 some 25 joint draws, enough for a normal limit
_TAU_STEP = 1e-4
_FEWEST = 5.0  # expected draws inside the corner, and in the tail but outside the corner: fewer have no normal limit


@dataclass(frozen=True)
class Corner:
    """One corner of the unit square: is u high there, is v?"""

    u_high: bool
    v_high: bool

    def words(self, names: tuple[str, str], gap: float) -> str:
        """How a person says it: per hundred draws in the tail of the first variable."""
        first, second = ("highest" if high else "lowest" for high in (self.u_high, self.v_high))
        count = f"{abs(100 * gap):.0f} {'more' if gap > 0 else 'fewer'}"
        also = " too" if self.u_high == self.v_high else ""
        return f"of 100 draws in the {first} tenth of {names[0]}, {count} lie in the {second} tenth of {names[1]}{also}"

    def probability(self, copula: Copula, p: float, q: float) -> float:
        """Of the corner that holds the share p of all u and q of all v."""
        a, b = (1.0 - p if self.u_high else p), (1.0 - q if self.v_high else q)
        below = float(copula.cdf(a, b))
        if self.u_high and self.v_high:
            return 1.0 - a - b + below
        if self.u_high:
            return b - below
        return a - below if self.v_high else below


def corners(tau: float) -> tuple[Corner, Corner]:
    """The corners along the dependence: both low and both high, or one low and the other high where it is negative."""
    negative = tau < 0
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
    low, high = template.tau_range
    if not low + 2.0 * _TAU_STEP < pair.tau < high - 2.0 * _TAU_STEP:
        return None
    u, v = (_Edge.of(column, high) for column, high in ((pair.first, corner.u_high), (pair.second, corner.v_high)))
    if not (0.0 < u.share < 1.0 and 0.0 < v.share < 1.0):
        return None
    both = u.inside & v.inside
    joint = float(np.mean(both))
    members = [template.with_theta(template._theta_from_tau(pair.tau + k * _TAU_STEP)) for k in (-1, 0, 1)]
    expected = [corner.probability(member, u.share, v.share) for member in members]
    if pair.n * min(expected[1], max(u.share, v.share) - expected[1]) < _FEWEST:
        return None
    slope = (expected[2] - expected[0]) / (2.0 * _TAU_STEP)
    flat = both - joint - u.slope(v.inside) * (u.inside - u.share) - v.slope(u.inside) * (v.inside - v.share)
    influence = (pair.by_chain(flat) - slope * fitted.influence["tau"]) / u.share
    return TailGap((joint - expected[1]) / u.share, influence)


@dataclass(frozen=True)
class _Edge:
    """The edge of a tail in one variable: which draws lie inside, which next to it, and the share inside."""

    inside: NDArray[np.bool_]
    beside: NDArray[np.bool_]
    share: float

    @classmethod
    def of(cls, column: RankedColumn, high: bool) -> "_Edge":
        size = 2 * (column.n + 1)
        depth = size - column.doubled_mid_ranks if high else column.doubled_mid_ranks  # from the tail's own end
        inside = depth <= TAIL_SHARE * size
        width = min(1.0 / math.sqrt(column.n), 0.5 * TAIL_SHARE)
        beside = np.abs(depth - TAIL_SHARE * size) <= width * size
        return cls(inside, beside, float(np.mean(inside)))

    def slope(self, other: NDArray[np.bool_]) -> float:
        """Derivative of the joint share in this edge: the share of draws next to it that lie in the other tail."""
        return float(np.mean(self.beside & other)) / max(float(np.mean(self.beside)), 1.0 / self.beside.size)
