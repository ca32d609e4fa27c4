"""Whether one variable has the same distribution in two samples that were counted in bins of their own; see `margins`."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.level_tables import ordered_functions
from copula_discrepancy.estimate.margins import MarginSide, MarginTest, counts_of_constants, test_of_sides
from copula_discrepancy.estimate.serial import SerialCounts

Array = NDArray[np.float64]

_REMAINDER = 3.0  # see `grid`


@dataclass(frozen=True, eq=False)
class CountedMargin:
    """One variable of one sample.

    Attributes
    ----------
    edges : array
        A value is in bin k if k of the edges are not above it.
    rows : array
        Rows in each bin.
    single : array of bool
        Whether each bin holds a single value.
    blocks : SerialCounts or None
        Counts of groups of bins in consecutive blocks of rows, (block, group, 1); None for independent rows.
    """

    edges: Array
    rows: Array
    single: NDArray[np.bool_]
    blocks: SerialCounts | None = None

    @property
    def n(self) -> float:
        """The number of rows with a value."""
        return float(self.rows.sum())

    def shares_between(self, edges: Array) -> Array:
        """The share of rows in each of the bins between other edges: bins of many values are divided evenly."""
        below = np.concatenate([[0.0], np.cumsum(self.rows)]) / self.n
        if not self.edges.size:
            return np.diff(np.concatenate([[0.0], np.zeros(edges.size), [1.0]]))
        # beyond the first and the last edge nothing is known: rows there are next to it
        inside = np.interp(edges, self.edges, below[1:-1])
        inside = np.where(edges < self.edges[0], 0.0, np.where(edges > self.edges[-1], 1.0, inside))
        return np.diff(np.concatenate([[0.0], inside, [1.0]]))

    def merged(self) -> "CountedMargin":
        """The same with neighbouring bins of many values as one, two and two."""
        kept = np.ones(self.edges.size, bool)
        open_before = False
        for k in range(self.edges.size):
            # edge k is between the bins k and k + 1
            if not self.single[k] and not self.single[k + 1] and not open_before:
                kept[k], open_before = False, True
            else:
                open_before = False
        starts = np.concatenate([[0], np.flatnonzero(kept) + 1])
        return CountedMargin(self.edges[kept], np.add.reduceat(self.rows, starts), self.single[starts], None)


def counted_margin_test(own: CountedMargin, other: CountedMargin) -> MarginTest:
    """Test whether two samples of one variable have the same distribution.

    Parameters
    ----------
    own, other : CountedMargin
        Draws and reference.
    """
    if min(own.n, other.n) < 1.0:
        return MarginTest((), (), (), math.nan, own.n, other.n, untested="few-effective-draws")
    constant = [np.count_nonzero(side.rows) == 1 and bool(side.single[side.rows > 0].all()) for side in (own, other)]
    phi, shares, tied, frequent = _components(own, other)
    if any(constant):
        return counts_of_constants(shares, (own.n, other.n), (constant[0], constant[1]))
    sides = [_side(phi, share, side) for share, side in zip(shares, (own, other), strict=True)]
    # the same from wider bins: how much the difference of means may be off
    coarse, coarse_shares, *_ = _components(own.merged(), other.merged())
    order = min(len(phi), len(coarse))
    apart = np.abs((shares[0] - shares[1]) @ phi[:order].T - (coarse_shares[0] - coarse_shares[1]) @ coarse[:order].T)
    widened = []
    for side in sides:
        se = np.hypot(side.se[:order], apart / _REMAINDER / math.sqrt(2.0))
        part = side.first(order)
        widened.append(MarginSide(part.means, se, part.df, part.n_eff, part.correlation, part.batches))
    alone = own.blocks is None and other.blocks is None
    return test_of_sides((widened[0], widened[1]), (own.n, other.n), frequent, few=tied, iid=alone)


def _components(own: CountedMargin, other: CountedMargin) -> tuple[Array, tuple[Array, Array], bool, float]:
    """Polynomials of the ranks of both samples together, (component, bin), the shares of either, and ties."""
    edges = np.union1d(own.edges, other.edges)
    shares = [side.shares_between(edges) for side in (own, other)]
    n = own.n, other.n
    together = (n[0] * shares[0] + n[1] * shares[1]) / (n[0] + n[1])
    used = together > 0.0
    together, shares = together[used] / together[used].sum(), [share[used] for share in shares]
    phi = ordered_functions(together, min(ORDER, together.size - 1)).T if together.size > 1 else np.zeros((0, together.size))
    alike = [side.rows[side.single] / side.n for side in (own, other)]
    largest = [float(part.max()) if part.size else 0.0 for part in alike]
    tied = max(float(np.sum(part**2)) for part in alike) > 0.01
    return phi, (shares[0], shares[1]), tied, (n[0] * largest[0] + n[1] * largest[1]) / (n[0] + n[1])


def _side(phi: Array, shares: Array, margin: CountedMargin) -> MarginSide:
    """The means of the components in one sample, with their standard errors."""
    n = margin.n
    means = phi @ shares
    centred = phi - means[:, None]
    covariance = (centred * shares) @ centred.T
    variance = np.diag(covariance).copy()
    ratio, df, batches = np.ones(len(phi)), np.full(len(phi), n - 1.0), n
    if margin.blocks is not None and len(phi):
        # the groups of a sample's own bins, each with the mean of the components over its rows
        own = margin.blocks.groups[0]
        total = np.bincount(own, weights=margin.rows, minlength=margin.blocks.counts.shape[1])
        middle = (np.cumsum(total) - 0.5 * total) / max(total.sum(), 1.0)
        functions = np.stack([(middle - 0.5) ** (k + 1) for k in range(len(phi))], axis=-1)[:, None]
        ratio, df = margin.blocks.ratios(functions)
        batches = float(len(margin.blocks.counts))
    scale = np.sqrt(variance)
    scale[~(scale > 0)] = math.inf
    se = np.sqrt(np.maximum(variance, 0.0) * ratio / n)
    return MarginSide(means, se, df, n / ratio, covariance / np.outer(scale, scale), batches)
