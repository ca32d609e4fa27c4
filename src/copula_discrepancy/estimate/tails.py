"""Tail gaps: more or fewer draws in a corner of the unit square than expected at the same strength of dependence.

All four corners are tested, regardless of the sign of the dependence: a joint crash of two variables that otherwise move in
opposite directions shows in one of the two corners that Kendall's tau hardly depends on.
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
from copula_discrepancy.estimate.counted_pair import CountedPair
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.ranks import edge_width
from copula_discrepancy.estimate.uncertainty import StandardError
from copula_discrepancy.families import Copula

_TAU_STEP = 1e-4
FEWEST_IN_TAIL = 5.0  # draws expected inside a corner, and in the tail outside of it: fewer are tested exactly
# Up to this many, the larger of both p-values is used: with 6 expected, 0 or 1 occur in 2% of all samples, which a standard
# error from these draws would call one in a million. For two samples of about equal size this cancels.
MANY_IN_TAIL, _UNEVEN = 15.0, 2.0
# Largest ratio of the shares of a variable in its tail between two samples: with ties, the edge of a tail may fall next to
# different values, and the two tails are then not comparable.
_SAME_TAIL = 1.15
_NEAR = 1.5  # the same, relative to the requested share: a rare flag has no highest tenth
_MOVED = 0.25  # of a gap: a larger effect of the strengths is subtracted before shares are reported
_NAMES = {0.5: "half", 0.25: "quarter", 0.2: "fifth", 0.1: "tenth", 0.05: "twentieth", 0.02: "fiftieth", 0.01: "hundredth"}


@dataclass(frozen=True)
class Corner:
    """One corner of the unit square, by whether u and v are high there."""

    u_high: bool
    v_high: bool

    @property
    def label(self) -> str:
        """Name of the corner: low-low, high-high, low-high or high-low."""
        return "-".join("high" if high else "low" for high in (self.u_high, self.v_high))

    def words(self, names: tuple[str, str], tail: float, things: str) -> tuple[str, str]:
        """The corner in words: the tail of the first variable, and where its draws are counted."""
        first, second = (f"the {'highest' if high else 'lowest'} {part_name(tail)}" for high in (self.u_high, self.v_high))
        also = " too" if self.u_high == self.v_high else ""
        return f"of 100 {things} in {first} of {names[0]}", f"in {second} of {names[1]}{also}"

    def probability(self, copula: Copula, p: float, q: float) -> float:
        """Probability of the corner with the share p of all u and q of all v, both strictly between 0 and 1."""
        return float(self.probabilities(copula, [copula.theta], p, q)[0])

    def probabilities(self, template: Copula, thetas: Sequence[float], p: float, q: float) -> NDArray[np.float64]:
        """The same under several members of a family, which share the coordinates of the corner."""
        (a, a_rest), (b, b_rest) = ((1.0 - x, x) if high else (x, 1.0 - x) for x, high in ((p, self.u_high), (q, self.v_high)))
        with np.errstate(all="ignore"):  # intermediate values may overflow for a member near the limit of the family
            at = template._coordinates(*(np.array([x]) for x in (a, a_rest, b, b_rest)))
            values = np.array([template._cdf(theta, *at)[0] for theta in thetas])
        if not np.isfinite(values).all():
            raise InputError(
                f"tail probabilities of {template!r} overflow float64; use a family further from its limits, "
                "such as a larger df"
            )
        below = np.clip(values, max(a - b_rest, 0.0), min(a, b))  # the bounds of every copula; rounding may exceed them
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
    """The two corners along the dependence, that of draws or target, whichever is stronger."""
    negative = (tau if abs(tau) >= abs(tau_target) else tau_target) < 0
    return ("low_high", "high_low") if negative else ("low_low", "high_high")


def checked_tail(tail: object) -> float:
    """The validated fraction of a variable that counts as its tail."""
    share = real_number(tail, "tail")
    if not 0.0 < share < 0.5:
        raise InputError(
            f"tail must be a share between 0 and 0.5, such as 0.1 for the lowest and the highest tenth, got {tail!r}"
        )
    return share


def part_name(tail: float) -> str:
    """A fraction as text: tenth, twentieth, 2.5%."""
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
    """The expectation that corners are compared with: a family's member with the sample's own tau, or one fixed copula."""

    template: Copula
    fixed: bool = False

    @classmethod
    def of(cls, template: Copula, taus: Sequence[float], target: Copula | None) -> "Yardstick | None":
        """The fitted family if it reaches all taus; otherwise the target itself or, for two samples, the Gaussian family."""
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
    """One corner in one sample: shares of all draws in both tails and in the corner, and the expected share."""

    n: int
    first: float
    second: float
    joint: float
    expected: float
    spread: StandardError  # of `gap`

    @property
    def share(self) -> float:
        """The share of draws in the first variable's tail that are in the corner."""
        return self.joint / self.first

    @property
    def gap(self) -> float:
        """The share minus that of the yardstick."""
        return (self.joint - self.expected) / self.first

    @property
    def size(self) -> float:
        """The effective number of draws, at most n."""
        n_eff = self.spread.n_eff
        return min(n_eff, float(self.n)) if math.isfinite(n_eff) else float(self.n)


@dataclass(frozen=True)
class TailGap:
    """Share of the draws in one tail of a variable that are in the tail of the other, minus the expected share."""

    value: float
    spread: StandardError
    pvalue: float
    share: float
    share_target: float
    exact: bool = False  # tested exactly because there are too few draws for a normal limit and its interval

    @property
    def at_same_tau(self) -> tuple[float, bool]:
        """The target's share to report with the draws', and whether it was adjusted to their tau because that matters."""
        return share_beside(self.value, self.share, self.share_target)


def share_beside(value: float, share: float, share_target: float) -> tuple[float, bool]:
    """The share that a gap is relative to: the target's own unless a different strength explains most of the difference."""
    moved = abs(share - share_target - value) > _MOVED * abs(value)
    # what is taken off is a difference of two shares, which may pass the range of one
    return (min(max(share - value, 0.0), 1.0), True) if moved else (share_target, False)


def is_tail(share: float, tail: float) -> bool:
    """Whether a share of draws is close to the requested tail; with ties it may be far from it, or zero."""
    return tail / _NEAR <= share <= tail * _NEAR and share < 1.0


def tail_gap(own: CornerCount | None, other: CornerCount | None, *, compared: bool) -> TailGap | None:
    """The gap in one corner relative to a reference sample (`compared`) or to the yardstick; None if there is none."""
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
    """One p-value for all corners: the smallest times their number (Bonferroni); NaN if none was tested."""
    known = [gap.pvalue for gap in gaps if gap is not None and not math.isnan(gap.pvalue)]
    return min(len(known) * min(known), 1.0) if known else math.nan


def _one_sample(own: CornerCount) -> tuple[float, bool]:
    """P-value by the normal limit or, if few draws are expected inside or outside of the corner, by the Poisson distribution.

    In between, the larger of the two.
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


def _two_samples(own: CornerCount, other: CornerCount, value: float, spread: StandardError) -> tuple[float, bool]:
    """P-value by the normal limit or, if few draws of both samples are inside or outside of the corner, by the binomial one.

    Given the number of draws in both corners, that of one sample is binomial; its probability follows from equal rates or, if
    this gives a larger p-value, from rates proportional to those of the yardstick at each sample's tau. In between, the larger
    p-value is used.
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


def _at_rate(count: CornerCount, inside: float, outside: float) -> StandardError:
    """The standard error if a corner holds the expected share: that of few draws by chance is too small, of many too large."""
    rate, share = (inside, count.joint) if inside <= outside else (outside, count.first - count.joint)
    return count.spread if share <= 0.0 else replace(count.spread, se=count.spread.se * math.sqrt(rate / share))


def _two_sided(below: float, above: float) -> float:
    return min(2.0 * min(below, above), 1.0)


def sample_shares(pair: RankedPair, corner: Corner, tail: float) -> tuple[float, float, float]:
    """Shares of the draws in both tails and in the corner."""
    if isinstance(pair, CountedPair):
        highs = corner.u_high, corner.v_high
        u, v = (pair.grid.tail_share(side, high, tail) for side, high in enumerate(highs))
        return u, v, pair.grid.corner((u, v), highs, edge_width(pair.n, tail))[0]
    columns = pair.first.doubled_mid_ranks, pair.second.doubled_mid_ranks
    u, v, joint, *_ = kernels.corner_shares(
        columns[0], corner.u_high, columns[1], corner.v_high, tail, edge_width(pair.n, tail)
    )
    return u, v, joint
