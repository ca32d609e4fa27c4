"""Tail gaps: more or fewer draws in a corner of the unit square than expected at the same strength of dependence.

All four corners are tested, regardless of the sign of the dependence: a joint crash of two variables that otherwise move in
opposite directions shows in one of the two corners that Kendall's tau hardly depends on.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, pdtr, pdtrc

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import real_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.rowwise import Rowwise, plain
from copula_discrepancy.estimate.counted_pair import CountedPair
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.ranks import edge_width
from copula_discrepancy.estimate.standard_error import StandardError
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


def reachable(template: Copula, tau: Any) -> Any:
    """Whether the family has members on both sides of a tau."""
    low, high = template.tau_range
    return (low + 2.0 * _TAU_STEP < tau) & (tau < high - 2.0 * _TAU_STEP)


def nearly_perfect(tau: Any) -> Any:
    """Whether no family has members on both sides of a tau."""
    return np.abs(tau) >= 1.0 - 2.0 * _TAU_STEP


def corner_share(template: Copula, tau: float, corner: Corner, p: float, q: float) -> tuple[float, float]:
    """Probability of a corner under the family's member with this tau, and its derivative in tau."""
    thetas = [template._theta_from_tau(tau + k * _TAU_STEP) for k in (-1, 0, 1)]
    below, here, above = corner.probabilities(template, thetas, p, q).tolist()
    return here, (above - below) / (2.0 * _TAU_STEP)


@dataclass(frozen=True)
class CornerCount(Rowwise):
    """One corner in one sample: shares of all draws in both tails and in the corner, and the expected share.

    Like everything below, of one pair of variables or of many: NaN for pairs that have no such corner.
    """

    n: Any
    first: Any
    second: Any
    joint: Any
    expected: Any
    spread: StandardError  # of `gap`

    @property
    def share(self) -> Any:
        """The share of draws in the first variable's tail that are in the corner."""
        return self.joint / self.first

    @property
    def gap(self) -> Any:
        """The share minus that of the yardstick."""
        return (self.joint - self.expected) / self.first

    @property
    def size(self) -> Any:
        """The effective number of draws, at most n."""
        n_eff = self.spread.n_eff
        return np.where(np.isfinite(n_eff), np.minimum(n_eff, self.n), self.n)


@dataclass(frozen=True)
class TailGap(Rowwise):
    """Share of the draws in one tail of a variable that are in the tail of the other, minus the expected share."""

    value: Any
    spread: StandardError
    pvalue: Any
    share: Any
    share_target: Any
    exact: Any = False  # tested exactly because there are too few draws for a normal limit and its interval

    @property
    def at_same_tau(self) -> tuple[float, bool]:
        """The target's share to report with the draws', and whether it was adjusted to their tau because that matters."""
        return share_beside(self.value, self.share, self.share_target)


def share_beside(value: float, share: float, share_target: float) -> tuple[float, bool]:
    """The share that a gap is relative to: the target's own unless a different strength explains most of the difference."""
    moved = abs(share - share_target - value) > _MOVED * abs(value)
    # what is taken off is a difference of two shares, which may pass the range of one
    return (min(max(share - value, 0.0), 1.0), True) if moved else (share_target, False)


def is_tail(share: Any, tail: float) -> Any:
    """Whether a share of draws is close to the requested tail; with ties it may be far from it, or zero."""
    return (tail / _NEAR <= share) & (share <= tail * _NEAR) & (share < 1.0)


def tail_gap(own: CornerCount, other: CornerCount | None) -> TailGap:
    """The gap in one corner relative to a reference sample or to the yardstick; NaN if there is none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if other is None:
            pvalue, exact = _one_sample(own)
            return TailGap(own.gap, own.spread, plain(pvalue), own.share, own.expected / own.first, plain(exact))
        sides = (own.first, other.first), (own.second, other.second)
        alike = [np.maximum(here, there) <= _SAME_TAIL * np.minimum(here, there) for here, there in sides]
        comparable = alike[0] & alike[1]
        value, spread = own.gap - other.gap, own.spread.plus(other.spread)
        pvalue, exact = _two_samples(own, other, value, spread)
    numbers = [plain(np.where(comparable, number, math.nan)) for number in (value, pvalue, own.share, other.share)]
    return TailGap(numbers[0], spread, numbers[1], numbers[2], numbers[3], plain(exact & comparable))


def joint_pvalue(pvalues: Sequence[Any]) -> Any:
    """One p-value for all corners: the smallest times their number (Bonferroni); NaN if none was tested."""
    if not pvalues:
        return math.nan
    known = np.isfinite(np.stack([np.asarray(pvalue, np.float64) for pvalue in pvalues]))
    smallest = np.min(np.where(known, pvalues, math.inf), axis=0)
    count = known.sum(axis=0)
    return plain(np.where(count > 0, np.minimum(count * np.where(count > 0, smallest, 0.0), 1.0), math.nan))


def _one_sample(own: CornerCount) -> tuple[Any, Any]:
    """P-value by the normal limit or, if few draws are expected inside or outside of the corner, by the Poisson distribution.

    In between, the larger of the two.
    """
    inside, outside = own.expected, np.maximum(own.first - own.expected, 0.0)
    few = own.size * np.minimum(inside, outside)
    normal = _at_rate(own, inside, outside).pvalue(own.gap)
    rarer = inside <= outside
    count, expected = own.size * np.where(rarer, own.joint, own.first - own.joint), own.size * np.minimum(inside, outside)
    counting = np.asarray(few < MANY_IN_TAIL)

    def by_chance(count: Any, expected: Any) -> Any:
        k = np.rint(count)
        return _two_sided(pdtr(k, expected), np.where(k > 0, pdtrc(np.maximum(k - 1, 0), expected), 1.0))

    return _chosen(normal, _where(counting, by_chance, count, expected), few, counting)


def _two_samples(own: CornerCount, other: CornerCount, value: Any, spread: StandardError) -> tuple[Any, Any]:
    """P-value by the normal limit or, if few draws of both samples are inside or outside of the corner, by the binomial one.

    Given the number of draws in both corners, that of one sample is binomial; its probability follows from equal rates or, if
    this gives a larger p-value, from rates proportional to those of the yardstick at each sample's tau. In between, the larger
    p-value is used.
    """
    sizes = own.size, other.size
    total = sizes[0] + sizes[1]
    inside = (sizes[0] * own.joint + sizes[1] * other.joint) / total
    outside = (sizes[0] * (own.first - own.joint) + sizes[1] * (other.first - other.joint)) / total
    few = np.minimum(*sizes) * np.minimum(inside, outside)
    uneven = np.maximum(*sizes) > _UNEVEN * np.minimum(*sizes)
    at_rate = _at_rate(own, inside, outside).plus(_at_rate(other, inside, outside))
    normal = StandardError.where(uneven, at_rate, spread).pvalue(value)
    counting = np.asarray(few < np.where(uneven, MANY_IN_TAIL, FEWEST_IN_TAIL))
    rarer = inside <= outside
    both = tuple(zip((own, other), sizes, strict=True))
    counts = [size * np.where(rarer, side.joint, side.first - side.joint) for side, size in both]
    rates = [size * np.maximum(np.where(rarer, side.expected, side.first - side.expected), 0.0) for side, size in both]
    equal = sizes[0] / total
    expected = np.where(np.minimum(*rates) > 0.0, rates[0] / (rates[0] + rates[1]), equal)

    def by_chance(own: Any, other: Any, *chances: Any) -> Any:
        k, m = np.rint(own), (np.rint(own) + np.rint(other)).astype(np.int64)
        sides = [(bdtr(k, m, p), np.where(k > 0, bdtrc(np.maximum(k - 1, 0), m, p), 1.0)) for p in chances]
        return np.where(m > 0, np.maximum(*(_two_sided(*side) for side in sides)), 1.0)

    return _chosen(normal, _where(counting, by_chance, *counts, equal, expected), few, counting)


def _where(condition: NDArray[np.bool_], function: Callable[..., Any], *arguments: Any) -> Any:
    """A function that takes long, of the elements for which a condition holds; 1 for the others."""
    found = np.ones(condition.shape)
    if condition.any():
        found[condition] = function(*(np.broadcast_to(argument, condition.shape)[condition] for argument in arguments))
    return found


def _chosen(normal: Any, counted: Any, few: Any, counting: Any) -> tuple[Any, Any]:
    """The p-value from counts where there are few draws, the larger one where there are some, otherwise the normal one."""
    exact = counting & ((few < FEWEST_IN_TAIL) | np.isnan(normal))
    return np.where(exact, counted, np.where(counting, np.maximum(normal, counted), normal)), exact


def _at_rate(count: CornerCount, inside: Any, outside: Any) -> StandardError:
    """The standard error if a corner holds the expected share: that of few draws by chance is too small, of many too large."""
    rarer = inside <= outside
    rate, share = np.where(rarer, inside, outside), np.where(rarer, count.joint, count.first - count.joint)
    se = count.spread.se * np.where(share > 0.0, np.sqrt(rate / np.where(share > 0.0, share, 1.0)), 1.0)
    return StandardError(se, count.spread.df, count.spread.n_eff)


def _two_sided(below: Any, above: Any) -> Any:
    return np.minimum(2.0 * np.minimum(below, above), 1.0)


def sample_shares(pair: RankedPair, corner: Corner, tail: float) -> tuple[float, float, float]:
    """Shares of the draws in both tails and in the corner."""
    if isinstance(pair, CountedPair):
        highs = corner.u_high, corner.v_high
        u, v = (pair.grid.tail_share(side, high, tail) for side, high in enumerate(highs))
        return u, v, pair.grid.corner((u, v), highs, edge_width(pair.n, tail))[0]
    flags = np.empty((2, pair.n), np.uint8)
    for row, column in zip(flags, (pair.first, pair.second), strict=True):
        kernels.tail_flags(column.rank, column.tied_pairs, tail, edge_width(pair.n, tail), row)
    u, v, joint, *_ = kernels.corner_shares(flags[0], flags[1], np.array([(corner.u_high, corner.v_high)]))[0].tolist()
    return u, v, joint
