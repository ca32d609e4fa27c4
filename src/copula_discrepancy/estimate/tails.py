"""Tail gaps: more or fewer draws in a corner of the unit square than there should be, at the same strength of dependence.

All four corners are looked at, whatever the sign of the dependence: a joint crash of two variables that otherwise move against
each other shows in one of the two corners that their Kendall's tau says nothing about.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, pdtr, pdtrc

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import real_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.ranks import edge_width
from copula_discrepancy.estimate.uncertainty import Spread
from copula_discrepancy.families import Copula

_TAU_STEP = 1e-4
FEWEST_IN_TAIL = 5.0  # draws expected inside a corner, and in the tail outside of it: fewer are counted exactly
# Up to so many, the larger of both p-values counts: with 6 expected, 0 or 1 come in 2% of all samples, and a standard error
# from these calls it one in a million. Two samples of about one size make up for each other.
MANY_IN_TAIL, _UNEVEN = 15.0, 2.0
# Shares of a variable in its tail may differ so much between two samples: with ties, the edge of a tail falls beside another
# value in one of them, and the two tails are not of the same thing.
_SAME_TAIL = 1.15
_NEAR = 1.5  # and from the share that was asked for: a flag that is rare has no highest tenth
_MOVED = 0.25  # of a gap: what the strengths explain beyond that is taken off before shares are told
_NAMES = {0.5: "half", 0.25: "quarter", 0.2: "fifth", 0.1: "tenth", 0.05: "twentieth", 0.02: "fiftieth", 0.01: "hundredth"}


@dataclass(frozen=True)
class Corner:
    """One corner of the unit square: is u high there, is v?"""

    u_high: bool
    v_high: bool

    @property
    def label(self) -> str:
        """Where it is: low-low, high-high, low-high or high-low."""
        return "-".join("high" if high else "low" for high in (self.u_high, self.v_high))

    def words(self, names: tuple[str, str], tail: float, things: str) -> tuple[str, str]:
        """How a person says it: whose tail is looked at, and where its draws are counted."""
        first, second = (f"the {'highest' if high else 'lowest'} {part_name(tail)}" for high in (self.u_high, self.v_high))
        also = " too" if self.u_high == self.v_high else ""
        return f"of 100 {things} in {first} of {names[0]}", f"in {second} of {names[1]}{also}"

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


CORNERS = {
    "low_low": Corner(False, False),
    "high_high": Corner(True, True),
    "low_high": Corner(False, True),
    "high_low": Corner(True, False),
}
HIGHS = np.array([(corner.u_high, corner.v_high) for corner in CORNERS.values()])


def along(tau: float, tau_target: float = 0.0) -> tuple[str, str]:
    """The two corners along the dependence: of draws and target, the more dependent one decides."""
    negative = (tau if abs(tau) >= abs(tau_target) else tau_target) < 0
    return ("low_high", "high_low") if negative else ("low_low", "high_high")


def checked_tail(tail: object) -> float:
    """The share of a variable that makes a tail."""
    share = real_number(tail, "tail")
    if not 0.0 < share < 0.5:
        raise InputError(
            f"tail must be a share between 0 and 0.5, such as 0.1 for the lowest and the highest tenth, got {tail!r}"
        )
    return share


def part_name(tail: float) -> str:
    """A share as people call it: tenth, twentieth, 2.5%."""
    return _NAMES.get(tail, f"{100.0 * tail:.3g}%")


def reachable(template: Copula, tau: float) -> bool:
    """Whether the family has members on both sides of a tau."""
    low, high = template.tau_range
    return low + 2.0 * _TAU_STEP < tau < high - 2.0 * _TAU_STEP


def corner_share(template: Copula, tau: float, corner: Corner, p: float, q: float, n: int = 0) -> tuple[float, float]:
    """Probability of a corner under the family's member with this tau, and its derivative in tau; `n` is for interpolation."""
    thetas = [template._theta_from_tau(tau + k * _TAU_STEP) for k in (-1, 0, 1)]
    below, here, above = corner.probabilities(template, thetas, p, q).tolist()
    return here, (above - below) / (2.0 * _TAU_STEP)


Shares = Callable[[Copula, float, Corner, float, float, int], tuple[float, float]]


@dataclass(frozen=True)
class Yardstick:
    """What corners are compared with: a family's member with the sample's own tau, or one copula whatever the tau."""

    template: Copula
    fixed: bool = False

    @classmethod
    def of(cls, template: Copula, taus: Sequence[float], target: Copula | None) -> "Yardstick | None":
        """The fitted family where it reaches all taus; otherwise the target itself or, for two samples, the Gaussian family."""
        from copula_discrepancy.families import Gaussian

        if all(reachable(template, tau) for tau in taus):
            return cls(template)
        if any(abs(tau) >= 1.0 - 2.0 * _TAU_STEP for tau in taus):
            return None
        return cls(target, fixed=True) if target is not None else cls(Gaussian(0.5))

    def expects(self, tau: float, corner: Corner, p: float, q: float, n: int, share: Shares) -> tuple[float, float]:
        """Probability of a corner, and its derivative in the sample's tau."""
        return (corner.probability(self.template, p, q), 0.0) if self.fixed else share(self.template, tau, corner, p, q, n)


@dataclass(frozen=True)
class CornerCount:
    """One corner in one sample: shares of all draws in both tails and in the corner, and what is expected there."""

    n: int
    first: float
    second: float
    joint: float
    expected: float
    spread: Spread  # of `gap`

    @property
    def share(self) -> float:
        """Of the draws in the first variable's tail, those in the corner."""
        return self.joint / self.first

    @property
    def gap(self) -> float:
        """The share less what the yardstick has."""
        return (self.joint - self.expected) / self.first

    @property
    def size(self) -> float:
        """The number of draws, counted as independent ones; at most as many as there are."""
        n_eff = self.spread.n_eff
        return min(n_eff, float(self.n)) if math.isfinite(n_eff) else float(self.n)


@dataclass(frozen=True)
class TailGap:
    """Share of the draws in one tail of a variable that are in the tail of the other, less the share there should be."""

    value: float
    spread: Spread
    pvalue: float
    share: float
    share_target: float
    exact: bool = False  # counted, where too few draws are there for a normal limit and its interval

    @property
    def at_same_tau(self) -> tuple[float, bool]:
        """The target's share to set beside the draws', and whether it was moved to their tau because that matters."""
        return share_beside(self.value, self.share, self.share_target)


def share_beside(value: float, share: float, share_target: float) -> tuple[float, bool]:
    """The share that a gap is a difference from: the target's own unless another strength makes most of their difference."""
    moved = abs(share - share_target - value) > _MOVED * abs(value)
    return (share - value, True) if moved else (share_target, False)


def is_tail(share: float, tail: float) -> bool:
    """Whether a share of draws is about the tail that was asked for; with ties it may be far off, or nothing."""
    return tail / _NEAR <= share <= tail * _NEAR and share < 1.0


def tail_gap(own: CornerCount | None, other: CornerCount | None, *, compared: bool) -> TailGap | None:
    """The gap in one corner against a reference sample's (`compared`), or against the yardstick; None where it has none."""
    if own is None or (compared and other is None):
        return None
    if other is None:
        pvalue, exact = _one_sample(own)
        return TailGap(own.gap, own.spread, pvalue, own.share, own.expected / own.first, exact)
    for here, there in ((own.first, other.first), (own.second, other.second)):
        if max(here, there) > _SAME_TAIL * min(here, there):
            return None
    value, spread = own.gap - other.gap, own.spread.plus(other.spread)
    pvalue, exact = _two_samples(own, other, value, spread)
    return TailGap(value, spread, pvalue, own.share, other.share, exact)


def joint_pvalue(gaps: Sequence[TailGap | None]) -> float:
    """One p-value of all corners: the smallest times their number (Bonferroni); NaN where none was tested."""
    known = [gap.pvalue for gap in gaps if gap is not None and not math.isnan(gap.pvalue)]
    return min(len(known) * min(known), 1.0) if known else math.nan


def _one_sample(own: CornerCount) -> tuple[float, bool]:
    """Normal limit, where few draws are expected inside or outside of the corner Poisson's probability of their number.

    Between few and many, the larger of the two.
    """
    inside, outside = own.expected, max(own.first - own.expected, 0.0)
    few = own.size * min(inside, outside)
    normal = _at_rate(own, inside, outside).pvalue(own.gap)
    if few >= MANY_IN_TAIL:
        return normal, False
    count, mean = (own.joint, inside) if inside <= outside else (own.first - own.joint, outside)
    k, expected = round(own.size * count), own.size * mean
    counted = _two_sided(float(pdtr(k, expected)), float(pdtrc(k - 1, expected)) if k else 1.0)
    return (counted, True) if few < FEWEST_IN_TAIL or math.isnan(normal) else (max(normal, counted), False)


def _two_samples(own: CornerCount, other: CornerCount, value: float, spread: Spread) -> tuple[float, bool]:
    """Normal limit, where few draws of both together are inside or outside of the corner the binomial probability.

    Given the number of draws in both corners, that of one sample is binomial; its chance is that of equal rates or, if this
    gives the larger p-value, that of rates in proportion to what the yardstick has at each sample's tau. Between few and many,
    the larger p-value counts.
    """
    total = own.size + other.size
    inside = (own.size * own.joint + other.size * other.joint) / total
    outside = (own.size * (own.first - own.joint) + other.size * (other.first - other.joint)) / total
    few = min(own.size, other.size) * min(inside, outside)
    uneven = max(own.size, other.size) > _UNEVEN * min(own.size, other.size)
    if uneven:
        spread = _at_rate(own, inside, outside).plus(_at_rate(other, inside, outside))
    normal = spread.pvalue(value)
    if few >= (MANY_IN_TAIL if uneven else FEWEST_IN_TAIL):
        return normal, False
    few_inside = inside <= outside
    counts = [round(s.size * (s.joint if few_inside else s.first - s.joint)) for s in (own, other)]
    rates = [max(s.expected if few_inside else s.first - s.expected, 0.0) for s in (own, other)]
    chances = [own.size / total]
    if min(rates) > 0.0:
        chances.append(own.size * rates[0] / (own.size * rates[0] + other.size * rates[1]))
    k, m = counts[0], sum(counts)
    sides = [(float(bdtr(k, m, chance)), float(bdtrc(k - 1, m, chance)) if k else 1.0) for chance in chances]
    counted = max(_two_sided(below, above) for below, above in sides) if m else 1.0
    return (counted, True) if few < FEWEST_IN_TAIL or math.isnan(normal) else (max(normal, counted), False)


def _at_rate(count: CornerCount, inside: float, outside: float) -> Spread:
    """The spread where a corner holds what it should: that of few draws by chance is too small, of many too large."""
    rate, share = (inside, count.joint) if inside <= outside else (outside, count.first - count.joint)
    return count.spread if share <= 0.0 else replace(count.spread, se=count.spread.se * math.sqrt(rate / share))


def _two_sided(below: float, above: float) -> float:
    return min(2.0 * min(below, above), 1.0)


def sample_shares(pair: RankedPair, corner: Corner, tail: float) -> tuple[float, float, float, float, float, NDArray[np.uint8]]:
    """Shares of the draws in both tails and in the corner, the slopes of the latter in both edges, and who is inside."""
    columns = pair.first.doubled_mid_ranks, pair.second.doubled_mid_ranks
    u, v, joint, slope_u, slope_v, inside = kernels.corner_shares(
        columns[0], corner.u_high, columns[1], corner.v_high, tail, edge_width(pair.n, tail)
    )
    return u, v, joint, slope_u, slope_v, inside
