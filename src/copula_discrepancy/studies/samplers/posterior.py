"""The two-parameter mixture posterior of Welling and Teh (2011)."""

import math
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from copula_discrepancy._core.checks import FloatArray, Pair, RandomSource, random_generator, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.kernels import samplers as kernels
from copula_discrepancy.studies.samplers.targets import Compiled, Target, frozen_array, points, set_fields

_DEFAULT_SIZE = 100  # Welling and Teh's choice
_DEPTH = 45.0  # log density below the peak at which the box ends: exp(-45) = 3e-20
_CLOSE = 5.0  # bounds this close to the density give a box hardly wider than necessary
_SEARCH_LIMIT = 3 * 10**8  # terms of likelihoods to find the box: about ten seconds
_MOST_CELLS = 2**22  # cells of the search at a time: a few hundred megabytes
_LEAST_ACCEPTED = 1e-3  # below it the bound of the grid is too loose
_CORNERS = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
_CELLS = 256  # cells per side of the grid; even, because tau is extrapolated from every second node
_LARGEST_LENGTH = 1e6  # for larger |data| sums of squares are too inaccurate for a posterior of width one


class _Grid(NamedTuple):
    """Cells over nearly all the mass: nodes at their centres, the log density there, and a bound of it inside each cell."""

    nodes: FloatArray
    half: FloatArray
    log_density: FloatArray
    bound: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class WellingTeh(Target):
    """The posterior of theta1 ~ N(0, 10), theta2 ~ N(0, 1) given x_i ~ 1/2 N(theta1, 2) + 1/2 N(theta1 + theta2, 2).

    The second arguments are variances. The modes (t1, t2) and (t1 + t2, -t2) have the same likelihood, so the two variables
    have a strong negative dependence (Welling and Teh, 2011, section 5.1). `log_density` is not normalised.

    `sample` uses rejection from a grid: it proposes a cell and a uniform point in it, and accepts the point with probability
    p(x)/b, where b is an upper bound of the density in the cell. The bound follows from the gradient at the cell's centre and a
    bound of the second derivative. Only the mass outside the grid is neglected; at its edges the density is below exp(-40) of
    its peak, and it decreases like a normal density beyond.

    Parameters
    ----------
    data : array (N,), optional
        Observations; by default 100 are simulated with theta = (0, 1) and `rng`.
    batch : int, optional
        Size of the minibatches, drawn with replacement, for the gradients of SGLD and SGHMC; None for all data.
    rng : int, Generator, SeedSequence or None
        Seed or source of the default data; 0 by default, so that every WellingTeh() is the same target.

    Attributes
    ----------
    data, batch
        The observations and the size of the minibatches.

    See Also
    --------
    sgld, sghmc : Samplers that support minibatches.

    References
    ----------
    Welling, M. and Teh, Y. W. (2011). Bayesian learning via stochastic gradient Langevin dynamics. Proceedings of the 28th
    International Conference on Machine Learning, 681-688.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> target = cd.WellingTeh(batch=10)
    >>> target.data.shape, target.batch
    ((100,), 10)
    """

    data: Any = None  # an array once the instance exists
    batch: int | None = field(default=None, kw_only=True)
    rng: InitVar[RandomSource] = field(default=0, kw_only=True)

    def __post_init__(self, rng: RandomSource) -> None:
        data = self.data
        if data is None:
            source = random_generator(rng)
            centre = source.integers(2, size=_DEFAULT_SIZE)  # theta1 = 0 or theta1 + theta2 = 1
            data = centre + math.sqrt(2.0) * source.standard_normal(_DEFAULT_SIZE)
        data = frozen_array(data, "data", 1)
        if np.abs(data).max() > _LARGEST_LENGTH:
            far = data[np.argmax(np.abs(data))]
            raise InputError(f"data must lie within {_LARGEST_LENGTH:g} of 0, got {far:g}; rescale them")
        set_fields(self, data=data, batch=None if self.batch is None else whole_number(self.batch, "batch", 1))

    def __repr__(self) -> str:
        return f"WellingTeh({self.data.size} data points" + (f", batch={self.batch})" if self.batch else ")")

    @np.errstate(all="ignore")
    def log_density(self, x: ArrayLike) -> FloatArray:
        """Log posterior density up to a constant, from all data.

        Parameters
        ----------
        x : array (..., 2)
            Points (theta1, theta2).

        Returns
        -------
        array (...)
            One number per point.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> density = cd.WellingTeh().log_density([[0.0, 1.0], [5.0, 5.0]])
        >>> bool(density[0] > density[1])
        True
        """
        at = points(x, 2)
        apart = self.data - at[..., :1]
        likelihood = np.logaddexp(-0.25 * apart**2, -0.25 * (apart - at[..., 1:]) ** 2).sum(axis=-1)
        return likelihood - at[..., 0] ** 2 / 20.0 - 0.5 * at[..., 1] ** 2

    @np.errstate(all="ignore")
    def gradient(self, x: ArrayLike) -> FloatArray:
        """Gradient of the log density, from all data.

        Parameters
        ----------
        x : array (..., 2)
            Points (theta1, theta2).

        Returns
        -------
        array (..., 2)
            One vector per point.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.WellingTeh().gradient([0.0, 1.0]).shape
        (2,)
        """
        return self._gradient(points(x, 2), self.data)

    @np.errstate(all="ignore")
    def stochastic_gradient(self, x: ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Unbiased estimate of `gradient` from one minibatch, shared by all points in x; `gradient` itself if batch is None.

        Parameters
        ----------
        x : array (..., 2)
            Points (theta1, theta2).
        rng : Generator
            The generator that selects the minibatch.

        Returns
        -------
        array (..., 2)
            One vector per point.

        Examples
        --------
        >>> import numpy as np
        >>> import copula_discrepancy as cd
        >>> cd.WellingTeh(batch=10).stochastic_gradient([0.0, 1.0], np.random.default_rng(1)).round(2)
        array([13.27, -1.2 ])
        """
        data = self.data if self.batch is None else self.data[rng.integers(self.data.size, size=self.batch)]
        return self._gradient(points(x, 2), data)

    def _gradient(self, at: FloatArray, data: FloatArray) -> FloatArray:
        first = data - at[..., :1]
        second = first - at[..., 1:]
        weight = expit(0.25 * (first**2 - second**2))
        in_second = 0.5 * weight * second
        in_first = 0.5 * (1.0 - weight) * first + in_second
        total = np.stack([in_first.sum(axis=-1), in_second.sum(axis=-1)], axis=-1)
        return self.data.size / data.size * total - at * np.array([0.1, 1.0])

    def _compiled(self) -> Compiled:
        return Compiled(kernels.WELLING_TEH, np.empty(0), self.data.copy())  # read-only arrays are a different type in numba

    @property
    def tau(self) -> float:
        """Kendall's tau, deterministic: from the density on the grid, accurate to about six digits."""
        value = self._grid.log_density
        density = np.exp(value - value.max()).reshape(_CELLS + 1, _CELLS + 1)
        # the error of cells of width h is of order h^2: cells of width h and 2h cancel it
        return (4.0 * tau_of_cells(density) - tau_of_cells(density[::2, ::2])) / 3.0

    def sample(self, n: int, *, rng: RandomSource = None) -> FloatArray:
        """An (n, 2) array of independent draws from the posterior, by rejection from a grid.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : int, Generator, SeedSequence or None
            Seed or source of randomness.

        Returns
        -------
        array (n, 2)
            The draws.

        Notes
        -----
        The grid is computed once for each instance, at the first call.
        """
        source = random_generator(rng)
        n = whole_number(n, "n", 0)
        grid = self._grid
        cumulative = np.cumsum(np.exp(grid.bound - grid.bound.max()))
        draws, filled, tried = np.empty((n, 2)), 0, 0
        while filled < n:
            count = min(n - filled + 64, 2**16)
            if tried > 2**16 and filled < _LEAST_ACCEPTED * tried:
                raise self._too_narrow()
            tried += count
            cell = np.searchsorted(cumulative, source.uniform(0.0, cumulative[-1], count), side="right")
            proposal = grid.nodes[cell] + grid.half * source.uniform(-1.0, 1.0, (count, 2))
            value = kernels.log_densities(*self._compiled(), proposal)
            kept = proposal[value > grid.bound[cell] - source.standard_exponential(count)][: n - filled]
            draws[filled : filled + len(kept)] = kept
            filled += len(kept)
        return draws

    # ---- the grid --------------------------------------------------------------------------------------------------

    @cached_property
    def _grid(self) -> _Grid:
        low, high = self._box
        axes = [np.linspace(a, b, _CELLS + 1) for a, b in zip(low, high, strict=True)]
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        half = 0.5 * (high - low) / _CELLS
        flat = nodes.reshape(-1, 2)
        value, rise = self._bounded(flat, half)
        return _Grid(flat, half, value, value + rise)

    @cached_property
    def _box(self) -> Pair:
        """Corners of a rectangle that contains every point with a log density within _DEPTH of the peak.

        The likelihood of a point is at most 2^N, that of (mean, 0) is 2^N exp(-scatter/4), so such points lie in the ellipse
        t1^2/20 + t2^2/2 < scatter/4 + mean^2/20 + _DEPTH. The rectangle around it is divided repeatedly; cells whose upper
        bound is too low are dropped.
        """
        mean = float(self.data.mean())
        reach = float(np.sum((self.data - mean) ** 2)) / 4.0 + mean**2 / 20.0 + _DEPTH
        half = np.sqrt(np.array([20.0, 2.0]) * reach)
        cells, best, spent = np.zeros((1, 2)), -np.inf, 0
        while True:
            half = 0.5 * half
            cells = np.concatenate([cells + half * corner for corner in _CORNERS])
            spent += len(cells) * self.data.size
            if spent > _SEARCH_LIMIT or len(cells) > _MOST_CELLS:
                raise self._too_narrow()
            value, rise = self._bounded(cells, half)
            best = max(best, float(value.max()))
            kept = value + rise > best - _DEPTH
            cells = cells[kept]
            if rise[kept].max() < _CLOSE:
                return cells.min(axis=0) - half, cells.max(axis=0) + half

    def _too_narrow(self) -> InputError:
        found = f"the posterior of {self.data.size} data points from {self.data.min():g} to {self.data.max():g} is too narrow"
        advice = "use fewer data points, closer to each other, or metropolis"
        return InputError(f"{found} for the grid of sample and tau; {advice}")

    def _bounded(self, at: FloatArray, half: FloatArray) -> Pair:
        """The log density at the cells' centres, and a bound on how much larger it is inside the cells.

        The second derivative in direction e is at most the sum over the data of w (1 - w) (e . s)^2, s the difference of the
        components' scores, (theta2, -(x - theta1 - theta2))/2, and w (1 - w) <= 1/4; the largest length of s in the cell
        follows from its length at the centre by the triangle inequality.
        """
        n, mean = self.data.size, self.data.mean()
        scatter = np.sum((self.data - mean) ** 2)
        apart = np.sqrt(scatter + n * (mean - at.sum(axis=-1)) ** 2) + math.sqrt(n) * half.sum()
        curvature = (n * (np.abs(at[..., 1]) + half[1]) ** 2 + apart**2) / 16.0
        value, gradient = kernels.log_densities(*self._compiled(), at), kernels.gradients(*self._compiled(), at)
        return value, np.abs(gradient) @ half + 0.5 * curvature * float(np.sum(half**2))


del WellingTeh.rng  # type: ignore[attr-defined]  # the default of an argument that instances do not store


def tau_of_cells(mass: FloatArray) -> float:
    """Kendall's tau, 4 E[F] - 1, of a density that is constant in each cell of a grid; `mass` need not sum to 1.

    F is bilinear inside a cell, so its mean there is the mean over the cell's corners.
    """
    total = np.zeros((mass.shape[0] + 1, mass.shape[1] + 1))
    total[1:, 1:] = mass.cumsum(axis=0).cumsum(axis=1)
    corners = total[1:, 1:] + total[:-1, 1:] + total[1:, :-1] + total[:-1, :-1]
    return float(np.sum(mass * corners) / total[-1, -1] ** 2) - 1.0
