"""Two variables as ranks, the starting point of every estimate of their dependence."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.blocks import blocks, in_blocks, odd_in_blocks, stack_blocks
from copula_discrepancy._core.checks import one_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.data.draws import Draws, numeric_draws, require_varying
from copula_discrepancy.data.naming import listed
from copula_discrepancy.estimate.basis import centred_ranks, polynomials
from copula_discrepancy.estimate.ranks import RankedColumn, rank_column, tau_from_ranks
from copula_discrepancy.families import Copula

MARGINS = ("rank", "uniform")
# Share of tied pairs above which rounding changes the size of the shape test: 10% instead of 5% at n = 500.
DISCRETE = 0.01
# Share of tied pairs above which (fewer than three values, in effect) the likelihood of mid-ranks has little to do with a
# copula: at 0.46, a Poisson(0.5), the shape test rejects 12% of true nulls, for binary columns 45%; columns that are half
# censored, or rounded to whole standard deviations, stay below and keep their level.
TOO_DISCRETE = 0.35
# Half-censored columns (0.25 of all pairs tied), 200 rows against 5,000: shape rejects 10% of true nulls; for equal sizes 6%.
_UNEVEN, _TIED = 3.0, 0.15
# Draws below which shape is not tested: for 15 draws at tau 0.98, a tenth of the p-values against 500 draws are below 1e-5.
FEWEST_FOR_SHAPE = 20
_SHARED = 0.9  # share of the values of one sample that occur in the other; continuous samples have no values in common
FEW_DRAWS, _MANY_DRAWS = 2**14, 2**16  # 128 tables below the first, or 32 up to the second, take 32 MB each


Likelihood = Callable[[float], tuple[float, float, float]]  # of theta: its logarithm, with slope and curvature


def sums_of(template: Copula, coordinates: Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]], n: int) -> Likelihood:
    """The likelihood of n draws, whose coordinates are passed block by block."""
    prepared = template._prepare(coordinates, n)

    def sums(theta: float) -> tuple[float, float, float]:
        return template._likelihood_sums(theta, *prepared)

    return sums


class RankedPair:
    """Two variables, their ranks and their Kendall's tau, the starting point of every estimate.

    Ranks are computed on first use: a likelihood with known uniform margins does not need them.

    Parameters
    ----------
    x, y : array
        The values, or their ranks, chain after chain.
    uniform : bool
        Whether they are values with known uniform margins.
    n_chains, names
        Number of chains, and the names of the variables.
    ranked, tau, margin_size
        Values that are already known: both columns ranked, Kendall's tau, and the effective sample size of the margins.
    """

    def __init__(
        self,
        x: NDArray[Any],
        y: NDArray[Any],
        uniform: bool = False,
        n_chains: int = 1,
        names: tuple[str, str] = ("x0", "x1"),
        *,
        ranked: tuple[RankedColumn, RankedColumn] | None = None,
        tau: float | None = None,
        margin_size: float | None = None,
    ) -> None:
        self.x, self.y, self.uniform, self.n_chains, self.names = x, y, uniform, n_chains, names
        self.weights: NDArray[np.float64] | None = None  # each draw counts once
        if ranked is not None:
            self.first, self.second = ranked
        if tau is not None:
            self.tau = tau
        if margin_size is not None:
            self.margin_size = margin_size

    @property
    def margins(self) -> str:
        """Treatment of the margins, one of MARGINS."""
        return "uniform" if self.uniform else "rank"

    @classmethod
    def from_draws(cls, draws: Any, margins: str = "rank") -> "RankedPair":
        """Validate two columns of draws; x and y hold them chain after chain."""
        given = two_variables(numeric_draws(draws), margins)
        x, y = given.column(0), given.column(1)
        return cls(x, y, margins == "uniform", given.n_chains, (given.names[0], given.names[1]))

    @property
    def n(self) -> int:
        """Number of draws, all chains together."""
        return self.x.size

    def by_chain(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """One value per draw in the shape (chain, draw)."""
        return values.reshape(self.n_chains, -1)

    @lazy
    def first(self) -> RankedColumn:
        """Ranks of the first variable."""
        return rank_column(self.x)

    @lazy
    def second(self) -> RankedColumn:
        """Ranks of the second variable."""
        return rank_column(self.y)

    @lazy
    def tau(self) -> float:
        """Kendall's tau-b."""
        return tau_from_ranks(self.first, self.second)

    @lazy
    def margin_size(self) -> float:
        """The smaller effective sample size of the two margins; see `margin_size`."""
        return min(margin_size(column, self.n_chains) for column in (self.first, self.second))

    def units(self) -> Iterator[tuple[NDArray[np.float64], ...]]:
        """The pseudo-observations as (u, 1-u, v, 1-v), block by block."""
        if self.uniform:
            for block in blocks(self.n):
                u, v = self.x[block], self.y[block]
                yield u, 1.0 - u, v, 1.0 - v
        else:
            grid, complement, first, second = self._grid()
            for block in blocks(self.n):
                a, b = first[block], second[block]
                yield tuple(kernels.gather(table, places) for places in (a, b) for table in (grid, complement))

    def rough_tau(self) -> float:
        """Kendall's tau of about 1024 draws: a cheap starting value."""
        step = max(1, self.n // 1024)
        x, y = self.x[::step].copy(), self.y[::step].copy()
        if np.ptp(x) == 0 or np.ptp(y) == 0:  # ties that coincide with the thinning
            return self.tau
        return tau_from_ranks(rank_column(x), rank_column(y))

    def thinning(self, draws: int) -> int:
        """The thinning step of `thinned`."""
        return self.n // draws if self.n > 4 * draws else 1

    def thinned(self, draws: int) -> "RankedPair | None":
        """About `draws` evenly spaced draws as values with uniform margins, or None if that would save little."""
        step = self.thinning(draws)
        if step == 1:
            return None
        if self.uniform:
            return RankedPair(self.x[::step].copy(), self.y[::step].copy(), True)
        size = 2.0 * (self.n + 1)
        return RankedPair(self.first.doubled_mid_ranks[::step] / size, self.second.doubled_mid_ranks[::step] / size, True)

    def _grid(self) -> tuple[NDArray[np.float64], NDArray[np.float64], Any, Any]:
        """(u, 1-u) of every value that occurs, and the position of each draw in them, for both variables."""
        return *rank_grid(self.n, self._tied), *self._places()

    @property
    def _tied(self) -> bool:
        return bool(self.first.tied_pairs or self.second.tied_pairs)

    def _places(self) -> tuple[Any, Any]:
        if self._tied:
            return self.first.doubled_mid_ranks - 2, self.second.doubled_mid_ranks - 2
        return self.first.rank, self.second.rank

    def _tables(self, template: Copula) -> tuple[NDArray[np.float64], NDArray[np.float64], Any, Any]:
        """Coordinates of every value that occurs, and the position of each draw in them: both columns share the same ranks."""
        tables = _tables_of_few if self.n <= FEW_DRAWS else _tables_of_many if self.keeps_tables else _margin_tables
        return *tables(self.n, self._tied, Margins(template._margin_key, template)), *self._places()

    @property
    def keeps_tables(self) -> bool:
        """Whether coordinates of ranks are cached for the next fit and the next pair."""
        return not self.uniform and self.n <= _MANY_DRAWS

    def coordinates(self, template: Copula, step: int = 1) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """The family's coordinates of the pseudo-observations, or of every step-th, block by block."""
        if self.uniform:
            u, v = self.x[::step], self.y[::step]
            for block in blocks(u.size):
                yield template._float_coordinates(u[block], v[block])
        else:
            x, y, first, second = self._tables(template)
            first, second = (places if step == 1 else places[::step].copy() for places in (first, second))
            for block in blocks(first.size):
                yield kernels.gather(x, first[block]), kernels.gather(y, second[block])

    def coordinates_and(
        self, template: Copula, function: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], ...]:
        """Quantiles x, y and an odd function of each, computed once per distinct value."""
        if self.uniform:
            x, y = stack_blocks(self.coordinates(template), self.n)
            return x, y, in_blocks(function, x), in_blocks(function, y)
        x, y, first, second = self._tables(template)
        of_x = odd_in_blocks(function, x)
        of_y = of_x if y is x else odd_in_blocks(function, y)
        return x[first], y[second], of_x[first], of_y[second]

    def likelihood(self, template: Copula) -> Likelihood:
        """The log-likelihood of a family as a function of theta: its value, slope and curvature."""
        return sums_of(template, self.coordinates(template), self.n)

    @property
    def hidden(self) -> float:
        """The share of pairs of draws whose order a grid hides; 0 for draws that are ranked."""
        return 0.0

    def grids(self) -> "tuple[RankedPair, ...]":
        """The pair in bins of one, two and four widths, if it was counted in a grid."""
        raise NotImplementedError("draws that are ranked one by one are in no bins")

    def coefficients(self, order: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The coefficients of form, (order, order), and the number of different values of either variable."""
        columns = self.first, self.second
        first, second = (polynomials(centred_ranks(column), order) for column in columns)
        return first @ second.T / self.n, np.array([np.unique(column.rank).size for column in columns])

    def discrete_share(self) -> float:
        """Share of pairs of draws that are tied in one variable without being the same point: rounded or discrete values.

        A Metropolis chain repeats whole points; those ties are not due to rounding.
        """
        tied = max(self.first.tied_pairs, self.second.tied_pairs) - self.tied_in_both()
        return tied / (0.5 * self.n * (self.n - 1.0))

    @property
    def tied_share(self) -> float:
        """The share of pairs of draws that are tied, in the variable with more ties."""
        return max(self.first.tied_pairs, self.second.tied_pairs) / (0.5 * self.n * (self.n - 1.0))

    @property
    def largest_group(self) -> int:
        """The number of draws that share one value, in the variable with more of them."""
        return max(self.first.largest_group, self.second.largest_group)

    @property
    def too_discrete(self) -> tuple[str, ...]:
        """The variables with so few distinct values that no copula likelihood is valid for them."""
        limit = TOO_DISCRETE * 0.5 * self.n * (self.n - 1.0)
        columns = zip(self.names, (self.first, self.second), strict=True)
        return tuple(name for name, column in columns if column.tied_pairs > limit)

    def tied_in_both(self) -> int:
        """Number of pairs of draws that are the same point."""
        if not (self.first.tied_pairs and self.second.tied_pairs):
            return 0
        _, counts = np.unique(self.first.rank.astype(np.int64) * self.n + self.second.rank, return_counts=True)
        return int(np.sum(counts * (counts - 1)) // 2)

    def perfect_sign(self, *, by_rank: bool) -> float:
        """1 or -1 if one variable is an increasing or decreasing function of the other, otherwise 0.

        A likelihood with known margins requires equal probabilities for that; everything else uses ranks.
        """
        if by_rank or not self.uniform:
            return math.copysign(1.0, self.tau) if abs(self.tau) == 1.0 else 0.0
        if self.x[0] == self.y[0] and np.array_equal(self.x, self.y):
            return 1.0
        # 1 - v may round, so either side may be the exact complement
        if abs(self.x[0] + self.y[0] - 1.0) > 1e-15:
            return 0.0
        opposite = np.array_equal(self.y, 1.0 - self.x) or np.array_equal(self.x, 1.0 - self.y)
        return -1.0 if opposite else 0.0


@dataclass(frozen=True)
class Margins:
    """A template that equals every other one with the same coordinates, regardless of theta."""

    key: tuple[Any, ...]
    template: Copula = field(compare=False)


@lru_cache(maxsize=4)
def rank_grid(n: int, tied: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(u, 1-u) of every rank that can occur; mid-ranks 1, 1.5, ..., n if there are ties."""
    size = n + 1.0
    grid = np.arange(2.0, 2.0 * n + 1.0) / 2.0 if tied else np.arange(1.0, n + 1.0)
    return grid / size, (size - grid) / size


def _margin_tables(n: int, tied: bool, margins: Margins) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A family's coordinates of every rank, the same for all pairs of variables of one sample."""
    return margins.template._margin_tables(rank_grid(n, tied))


_tables_of_few = lru_cache(maxsize=128)(_margin_tables)
_tables_of_many = lru_cache(maxsize=32)(_margin_tables)


def uneven_ties(n: Any, tied: Any, other_n: Any, other_tied: Any) -> Any:
    """Whether two samples differ so much in size that the effect of ties on the likelihood does not cancel between them."""
    return (np.maximum(n, other_n) > _UNEVEN * np.minimum(n, other_n)) & (np.maximum(tied, other_tied) > _TIED)


def on_one_grid(values: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether two samples of a variable have the same values: rounded in the same way, or one drawn from the other."""
    return max(float(np.mean(np.isin(values, others))), float(np.mean(np.isin(others, values)))) > _SHARED


def margin_size(column: RankedColumn, n_chains: int) -> float:
    """The smaller effective sample size of a variable's ranks u and of (u - 1/2)^2: of its location and its spread."""
    u = column.doubled_mid_ranks / (2.0 * (column.n + 1)) - 0.5
    sizes = [kernels.long_run(values.reshape(n_chains, -1), False)[2] for values in (u, u**2)]
    return min((size for size in sizes if math.isfinite(size)), default=math.inf)


def two_variables(given: Draws, margins: str = "rank") -> Draws:
    """Draws of two variables that vary; strictly between 0 and 1 if their margins are known to be uniform."""
    one_of(margins, "margins", MARGINS)
    if given.n_variables != 2:
        raise InputError(
            f"draws must have two variables, got {given.n_variables} ({listed(given.names)}); {_way_to_a_pair(given)}", "shape"
        )
    for k, name in enumerate(given.names):
        column = given.values[:, :, k]
        require_varying(column.reshape(-1), name)
        if margins == "uniform" and (column.min() <= 0.0 or column.max() >= 1.0):
            raise InputError(
                f"margins='uniform' needs values strictly between 0 and 1, but variable {name} spans "
                f"{column.min():g} to {column.max():g}; use margins='rank'"
            )
    return given


def _way_to_a_pair(given: Draws) -> str:
    if given.n_variables < 2:
        return "a second variable is required"
    if given.named:
        return f"select two variables, for example as_draws(draws, var_names={list(given.names[:2])})"
    return f"select two variables, for example draws[{':, ' * (2 if given.chained else 1)}[0, 1]]"
