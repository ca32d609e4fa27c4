"""Counts of two variables in a grid, and what they say about the dependence that the rows have.

Bins of a variable are intervals of its values, so that a table of counts knows every row's ranks up to a bin. Where a bin
holds a single value, its rows are tied, as they are in the data; otherwise they have different ranks, of which only the mean is
known.
Numbers computed with mid-points of bins are off by a multiple of the squared width of the bins: the same number from bins twice
as wide shows how much, and (4 a - b)/3 of the two is off by a higher power of the width (Richardson, 1911). A third, with bins
four times as wide, estimates what is left, and every standard error counts it.

Richardson, L. F. (1911). The approximate arithmetical solution by finite differences of physical problems involving
differential equations. Philosophical Transactions of the Royal Society A 210, 307-357.
"""

import math
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate.basis import polynomials, slopes

Array = NDArray[np.float64]

# Extrapolated numbers from two pairs of grids differ by more than the better one is off: by 15 times as much where a number is
# smooth, by three times as much if a corner of the square holds back the next power of the width. Both may agree by chance, so
# that a part of what the extrapolation changes counts as well.
_REMAINDER, _CHANGE = 3.0, 0.05
# A bin with more rows than this, over the number of bins, was not planned so: values have drifted. Pairs of rows that share it
# are in no known order, and no other grid of these bins shows what it hides.
_PLANNED = 5.0
_STEEP = 3.0  # products of polynomials vary more than signs do


def extrapolated(fine: Any, coarse: Any) -> Any:
    """A number without the part that grows with the squared width of the bins, from bins of one width and of twice that."""
    return (4.0 * fine - coarse) / 3.0


def extrapolated_with_error(fine: Any, coarse: Any, coarser: Any) -> tuple[Any, Any]:
    """The extrapolated number, and how much it may still be off, from bins of one, two and four widths."""
    best = extrapolated(fine, coarse)
    return best, np.hypot((best - extrapolated(coarse, coarser)) / _REMAINDER, _CHANGE * (best - fine))


class Grid:
    """Counts of two variables.

    Parameters
    ----------
    counts : array (bin, bin)
        Rows in each cell; bins are in the order of the values.
    single : two arrays of bool
        Whether each bin holds a single value, by variable.
    """

    def __init__(self, counts: Array, single: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> None:
        used = [counts.sum(axis=1 - side) > 0 for side in (0, 1)]
        self.counts = np.ascontiguousarray(counts[np.ix_(*used)], np.float64)  # exact up to 2**53 rows
        self.single = single[0][used[0]], single[1][used[1]]
        self.n = float(self.counts.sum())
        self.hidden = self._hidden([flags.size for flags in single])

    def _hidden(self, planned: list[int]) -> float:
        """The share of pairs of rows that are in the same bin of many values, where a bin has many times its planned share."""
        found = 0.0
        for rows, flags, bins in zip(self.margins, self.single, planned, strict=True):
            shares = rows[~flags] / self.n
            found += float(np.sum(shares[shares > _PLANNED / bins] ** 2))
        return found

    @lazy
    def margins(self) -> tuple[Array, Array]:
        """Rows in each bin of either variable."""
        return self.counts.sum(axis=1), self.counts.sum(axis=0)

    @lazy
    def edges(self) -> tuple[Array, Array]:
        """The share of rows below each edge between bins, from 0 to 1, by variable."""
        return tuple(np.concatenate([[0.0], np.cumsum(rows)]) / self.n for rows in self.margins)  # type: ignore[return-value]

    @lazy
    def middles(self) -> tuple[Array, Array]:
        """The mean rank of the rows in each bin over n, less half a row, so that their mean is 1/2; by variable."""
        return tuple(0.5 * (edges[1:] + edges[:-1]) for edges in self.edges)  # type: ignore[return-value]

    @lazy
    def pseudo_observations(self) -> tuple[Array, Array]:
        """The mean rank of the rows in each bin over n + 1; by variable."""
        return tuple((middles * self.n + 0.5) / (self.n + 1.0) for middles in self.middles)  # type: ignore[return-value]

    @lazy
    def cumulative(self) -> Array:
        """The share of rows below each pair of edges: the empirical copula."""
        found = np.zeros((self.counts.shape[0] + 1, self.counts.shape[1] + 1))
        np.cumsum(np.cumsum(self.counts, axis=0), axis=1, out=found[1:, 1:])
        found /= self.n
        return found

    @lazy
    def coarser(self) -> "Grid":
        """The same with neighbouring bins of many values merged, two and two; a bin of one value stays."""
        return self._merged((True, True))

    def _merged(self, sides: tuple[bool, bool]) -> "Grid":
        """The same with neighbouring bins of many values merged, of one variable or of both."""
        starts = [_halved(single) if side else np.arange(single.size) for side, single in zip(sides, self.single, strict=True)]
        found = Grid.__new__(Grid)
        found.counts = np.add.reduceat(np.add.reduceat(self.counts, starts[0], axis=0), starts[1], axis=1)
        found.single = self.single[0][starts[0]], self.single[1][starts[1]]
        found.n, found.hidden = self.n, self.hidden
        return found

    def at_most(self, bins: int) -> "Grid":
        """The grid with bins merged until each variable has at most this many, or none left to merge."""
        grid = self
        while True:
            wide = [single.size > bins and int(np.count_nonzero(~single)) > 1 for single in grid.single]
            if not any(wide):
                return grid
            merged = grid._merged((wide[0], wide[1]))
            if merged.counts.shape == grid.counts.shape:  # no two bins of many values are neighbours
                return grid
            grid = merged

    # ---- ties ------------------------------------------------------------------------------------------------------

    @lazy
    def tied_pairs(self) -> tuple[float, float]:
        """The number of pairs of rows that have the same value, by variable."""
        tied = []
        for rows, single in zip(self.margins, self.single, strict=True):
            alike = rows[single]
            tied.append(0.5 * float(np.sum(alike * (alike - 1.0))))
        return tied[0], tied[1]

    @lazy
    def largest_groups(self) -> tuple[float, float]:
        """The number of rows that share the most frequent value, by variable; 1 if none is known to be shared."""
        alike = (rows[single] for rows, single in zip(self.margins, self.single, strict=True))
        return tuple(float(rows.max()) if rows.size else 1.0 for rows in alike)  # type: ignore[return-value]

    # ---- Kendall's tau ---------------------------------------------------------------------------------------------

    @lazy
    def concordance(self) -> Array:
        """The mean concordance of the rows in each cell with all rows; rows that share a bin are counted as tied."""
        c, (u, v) = self.cumulative, self.edges
        found = c[1:, 1:] + c[1:, :-1]
        found += c[:-1, 1:]
        found += c[:-1, :-1]
        found += (1.0 - u[1:] - u[:-1])[:, None]
        found -= v[1:] + v[:-1]
        return found

    @lazy
    def concordance_mean(self) -> float:
        """The mean of `concordance` over all rows: Kendall's tau-a, but for rows that share a bin."""
        return float(np.vdot(self.counts, self.concordance)) / self.n

    @property
    def untied(self) -> float:
        """The root of the share of pairs of rows not tied in the first variable times that in the second."""
        every = 0.5 * self.n * (self.n - 1.0)
        return math.sqrt((1.0 - self.tied_pairs[0] / every) * (1.0 - self.tied_pairs[1] / every))

    @lazy
    def tau(self) -> float:
        """Kendall's tau-b of the grid as it is."""
        return self.concordance_mean * self.n / (self.n - 1.0) / self.untied

    @lazy
    def tau_and_error(self) -> tuple[float, float]:
        """Kendall's tau-b extrapolated to bins of no width, and how much it may be off."""
        tau, error = extrapolated_with_error(self.tau, self.coarser.tau, self.coarser.coarser.tau)
        return min(max(float(tau), -1.0), 1.0), math.hypot(float(error), self.hidden)

    @lazy
    def tau_influence(self) -> Array:
        """The influence of a row in each cell on Kendall's tau-b."""
        mean = self.concordance_mean
        found = 2.0 * (self.concordance - mean)
        if any(self.tied_pairs):
            every = 0.5 * self.n * (self.n - 1.0)
            for side, (rows, single, tied) in enumerate(zip(self.margins, self.single, self.tied_pairs, strict=True)):
                share = 1.0 - tied / every
                untied = 1.0 - np.where(single, rows - 1.0, 0.0) / (self.n - 1.0)
                less = mean / share * (untied - share)
                found -= less[:, None] if side == 0 else less
            found /= self.untied
        return found

    # ---- form ------------------------------------------------------------------------------------------------------

    def functions(self, order: int) -> tuple[Array, Array]:
        """The mean of each polynomial over the ranks in each bin, (polynomial, bin), by variable."""
        return tuple(bin_means(edges, single, order) for edges, single in zip(self.edges, self.single, strict=True))  # type: ignore[return-value]

    def coefficients(self, order: int) -> Array:
        """The coefficients of form of the grid as it is, one for each cell j * order + k."""
        first, second = self.functions(order)
        return np.asarray(first @ self.counts @ second.T / self.n).ravel()

    def coefficients_and_errors(self, order: int) -> tuple[Array, Array]:
        """The coefficients of form extrapolated to bins of no width, and how much they may be off."""
        grids = self, self.coarser, self.coarser.coarser
        found, error = extrapolated_with_error(*(grid.coefficients(order) for grid in grids))
        return found, np.hypot(error, _STEEP * self.hidden)

    def form_influence(self, order: int) -> Array:
        """The influence of a row in each cell of the grid on the coefficients of form, (bin, bin, coefficient)."""
        first, second = self.functions(order)
        high, wide = self.counts.shape
        found = first.T[:, None, :, None] * second.T[None, :, None, :]  # (bin, bin, j, k)
        shares = self.counts / self.n
        steep = [slopes(middles, order) for middles in self.middles]
        # a row moves the ranks above it: sum over higher bins, and half of its own, of slope(bin) times the mean of the other
        of_first = steep[0].T[:, :, None] * (shares @ second.T)[:, None, :]  # (bin, j, k)
        of_second = (shares.T @ first.T)[:, :, None] * steep[1].T[:, None, :]  # (bin, j, k)
        found += above(of_first)[:, None] + above(of_second)[None]
        found = found.reshape(high, wide, order * order)
        found -= np.tensordot(shares, found, axes=2)
        return found

    # ---- corners ---------------------------------------------------------------------------------------------------

    def copula_at(self, u: Array, v: Array) -> Array:
        """The empirical copula at shares of either variable, by interpolation between edges: (u, v)."""
        first, second = (_weights(edges, at) for edges, at in zip(self.edges, (u, v), strict=True))
        return np.asarray(first @ self.cumulative @ second.T)

    def tail_share(self, side: int, high: bool, tail: float) -> float:
        """The share of rows in a tail of one variable: as asked for, unless rows at its edge are tied."""
        edges, single = self.edges[side], self.single[side]
        if not single.any():
            return tail
        middles = 1.0 - self.middles[side] if high else self.middles[side]
        widths = np.diff(edges)
        share = float(widths[(middles <= tail) & single].sum())
        # bins of many values are inside as far as they reach into the tail
        depth = 1.0 - edges[1:] if high else edges[:-1]
        return share + float(np.clip(tail - depth, 0.0, widths)[~single].sum())

    def corner(self, shares: tuple[float, float], highs: tuple[bool, bool], width: float) -> tuple[float, tuple[float, float]]:
        """The share of rows in the corner of two tails, and its slopes in both edges, from rows within `width` of them."""
        at = [1.0 - x if high else x for x, high in zip(shares, highs, strict=True)]
        near = [np.clip([x - width, x, x + width], 0.0, 1.0) for x in at]
        copula = self.copula_at(near[0], near[1])
        below = float(copula[1, 1])
        joint = {
            (False, False): below,
            (True, True): 1.0 - at[0] - at[1] + below,
            (False, True): at[0] - below,
            (True, False): at[1] - below,
        }[highs]
        joint = min(max(joint, 0.0), *shares)  # differences of sums round
        # the share of rows at the edge of one tail that are in the other one
        slopes_of = []
        for side in (0, 1):
            ends = copula[[0, 2], 1] if side == 0 else copula[1, [0, 2]]
            slope = float(ends[1] - ends[0]) / float(near[side][2] - near[side][0])
            slopes_of.append(1.0 - slope if highs[1 - side] else slope)
        return joint, (slopes_of[0], slopes_of[1])

    def squares(self, bins: int) -> Array:
        """Rows in each of bins x bins squares of equal shares of both variables."""
        at = np.arange(bins + 1.0) / bins
        return np.diff(np.diff(self.copula_at(at, at), axis=0), axis=1) * self.n


def _halved(single: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The first bin of each that remains if neighbouring bins of many values are merged, two and two."""
    starts, open_before = [], False
    for k, alone in enumerate(single.tolist()):
        if not alone and open_before:
            open_before = False
        else:
            starts.append(k)
            open_before = not alone
    return np.array(starts, np.intp)


def bin_means(edges: Array, single: NDArray[np.bool_], order: int) -> Array:
    """Means of the polynomials over each interval of ranks; at the mid-rank of rows that are tied."""
    rows = []
    for j in range(1, order + 1):
        series = np.zeros(j + 1)
        series[j] = math.sqrt(2.0 * j + 1.0)
        integral = 0.5 * legendre.legval(2.0 * edges - 1.0, legendre.legint(series))
        rows.append(np.diff(integral) / np.diff(edges))
    found = np.stack(rows)
    if single.any():
        found[:, single] = polynomials(0.5 * (edges[1:] + edges[:-1])[single], order)
    return found


def above(terms: Array) -> Array:
    """For each bin, the sum of the terms of higher bins and half of its own."""
    return np.asarray(np.cumsum(terms[::-1], axis=0)[::-1] - 0.5 * terms)


def _weights(edges: Array, at: Array) -> Array:
    """Weights of linear interpolation between edges, (place, edge)."""
    k = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, edges.size - 2)  # 1 itself is in the last bin
    t = (at - edges[k]) / (edges[k + 1] - edges[k])
    found = np.zeros((at.size, edges.size))
    places = np.arange(at.size)
    found[places, k], found[places, k + 1] = 1.0 - t, t
    return found


def score_influence(grid: Grid, score: Array, in_u: Array, in_v: Array, factor: float) -> Array:
    """The influence of a row in each cell on a maximum likelihood estimate; see `influence.Score`.

    Parameters
    ----------
    grid : Grid
        The grid of the scores.
    score, in_u, in_v : array (bin, bin)
        The score in the parameter, and its derivatives in both ranks.
    factor : float
        The derivative of what is estimated, over the information of one row.
    """
    shares = grid.counts / (grid.n + 1.0)
    moved = above((shares * in_u).sum(axis=1))[:, None] + above((shares * in_v).sum(axis=0))
    found = score + moved
    found -= float(np.vdot(grid.counts, found)) / grid.n
    return np.asarray(found * factor)
