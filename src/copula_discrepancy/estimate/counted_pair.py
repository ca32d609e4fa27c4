"""Two variables as counts in a grid, with the same interface to a fit as two ranked variables have."""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate.grid import Grid
from copula_discrepancy.estimate.pair import TOO_DISCRETE, Likelihood, RankedPair
from copula_discrepancy.families import Copula

Array = NDArray[np.float64]


class CountedPair(RankedPair):
    """Two variables of which counts in a grid are known.

    A likelihood is a sum over the cells, each at the mean ranks of its rows and weighted by their number.
    """

    def __init__(self, grid: Grid, names: tuple[str, str], *, n_chains: int = 1) -> None:
        self.grid, self.uniform, self.names, self.n_chains = grid, False, names, n_chains
        self.margin_size = math.inf
        self.tau, self.tau_error = grid.tau_and_error

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.grid.n)

    @property
    def hidden(self) -> float:
        """The share of pairs of rows that are in the same bin, where bins have outgrown their plan."""
        return self.grid.hidden

    def grids(self) -> "tuple[CountedPair, ...]":
        """The pair in bins of one, two and four widths."""
        return self, self._on(self.grid.coarser), self._on(self.grid.coarser.coarser)

    def at_most(self, bins: int) -> "CountedPair":
        """The pair in at most this many bins of each variable."""
        return self._on(self.grid.at_most(bins))

    def _on(self, grid: Grid) -> "CountedPair":
        """The pair on a coarser grid, with the tau of this one."""
        found = CountedPair.__new__(CountedPair)
        found.__dict__ |= {key: self.__dict__[key] for key in _SHARED}
        found.grid = grid
        return found

    @lazy
    def cells(self) -> NDArray[np.intp]:
        """The cells that have rows, as positions in the flattened grid."""
        return np.flatnonzero(self.grid.counts)

    @lazy
    def weights(self) -> Array:  # type: ignore[override]
        """The number of rows in each of these cells."""
        return self.grid.counts.ravel()[self.cells]

    @lazy
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:  # type: ignore[override]
        first, second = np.divmod(self.cells, self.grid.counts.shape[1])
        return first, second

    def units(self) -> Iterator[tuple[Array, ...]]:
        """(u, 1-u, v, 1-v) of every cell with rows."""
        sides = [(u[at], (1.0 - u)[at]) for u, at in zip(self.grid.pseudo_observations, self._places, strict=True)]
        yield *sides[0], *sides[1]

    def coordinates(self, template: Copula, step: int = 1) -> Iterator[tuple[Array, Array]]:
        """The family's coordinates of every cell with rows; `step` is for samples that can be thinned."""
        x, y = self._margin_coordinates(template)
        yield x[self._places[0]], y[self._places[1]]

    def _margin_coordinates(self, template: Copula) -> tuple[Array, Array]:
        """The family's coordinates of every bin; both variables are asked for at the same number of places."""
        u, v = self.grid.pseudo_observations
        size = max(u.size, v.size)
        first, second = (np.concatenate([part, np.full(size - part.size, 0.5)]) for part in (u, v))
        x, y = template._coordinates(first, 1.0 - first, second, 1.0 - second)
        return x, y

    def coordinates_and(self, template: Copula, function: Callable[[Array], Array]) -> tuple[Array, ...]:
        """Quantiles x, y of every cell with rows and a function of each, computed once per bin."""
        x, y = self._margin_coordinates(template)
        at = self._places
        return x[at[0]], y[at[1]], function(x)[at[0]], function(y)[at[1]]

    def likelihood(self, template: Copula) -> Likelihood:
        """The log-likelihood as a function of theta: its value, slope and curvature."""
        ((x, y),) = self.coordinates(template)
        weights = self.weights

        def sums(theta: float) -> tuple[float, float, float]:
            score, second = template._theta_derivatives(theta, x, y)
            value = template._logpdf(theta, x, y)
            return float(weights @ value), float(weights @ score), float(weights @ second)

        return sums

    def coefficients(self, order: int) -> tuple[Array, NDArray[np.int64]]:
        """The coefficients of form, (order, order), and the number of different values of either variable."""
        found, _ = self.grid.coefficients_and_errors(order)
        return found.reshape(order, order), np.array([different_values(single, self.n) for single in self.grid.single])

    def spread_points(self, points: int) -> tuple[Array, Array]:
        """Points in the unit square that are spread over the cells in proportion to the rows there, for pictures."""
        count = int(min(points, self.grid.n))
        rng = np.random.default_rng(1)
        # systematic: a cell has as many points as its share of the rows, up to one
        at = (np.arange(count) + rng.random()) / count
        cells = np.searchsorted(np.cumsum(self.weights) / self.grid.n, at).clip(0, self.weights.size - 1)
        found = []
        for side, places in enumerate(self._places):
            edges, single = self.grid.edges[side], self.grid.single[side]
            inside = places[cells]
            share = np.where(single[inside], 0.5, rng.random(count))
            found.append(edges[inside] + share * np.diff(edges)[inside])
        return found[0], found[1]

    def thinned(self, draws: int) -> None:
        """A grid is small already."""
        return None

    def discrete_share(self) -> float:
        """Share of pairs of rows that are tied in one variable without being the same point."""
        both = self.grid.counts[np.ix_(*self.grid.single)]
        alike = 0.5 * float(np.sum(both * (both - 1.0)))
        return (max(self.grid.tied_pairs) - alike) / (0.5 * self.n * (self.n - 1.0))

    @property
    def tied_share(self) -> float:
        """The share of pairs of rows that are tied, in the variable with more ties."""
        return max(self.grid.tied_pairs) / (0.5 * self.n * (self.n - 1.0))

    @property
    def largest_group(self) -> int:
        """The number of rows that share one value, in the variable with more of them."""
        return int(max(self.grid.largest_groups))

    @property
    def too_discrete(self) -> tuple[str, ...]:
        """The variables with so few distinct values that no copula likelihood is valid for them."""
        limit = TOO_DISCRETE * 0.5 * self.n * (self.n - 1.0)
        return tuple(name for name, tied in zip(self.names, self.grid.tied_pairs, strict=True) if tied > limit)


def different_values(single: NDArray[np.bool_], n: int) -> int:
    """The number of different values of a variable, if each bin of many has enough of them."""
    return int(single.size) if single.all() else n


_SHARED = ("uniform", "names", "n_chains", "margin_size", "tau", "tau_error")
