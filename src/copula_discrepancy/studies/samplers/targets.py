"""Targets with a known Kendall's tau: their common interface, the normal distribution and the bimodal mixture."""

import abc
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from copula_discrepancy._core.checks import FloatArray, RandomSource, random_generator, real_array, real_number, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.kernels import samplers as kernels


class Compiled(NamedTuple):
    """A target in the form that the compiled loops use."""

    kind: int
    params: FloatArray
    data: FloatArray


class Target(abc.ABC):
    """A distribution to sample from: its log density, gradient, exact draws and Kendall's tau.

    If a value overflows, log density and gradient are infinite or NaN, without a warning, which is how a sampler detects that a
    chain has diverged.
    """

    batch: int | None = None

    @property
    def d(self) -> int:
        """Number of variables, 2."""
        return 2

    @property
    @abc.abstractmethod
    def tau(self) -> float:
        """Kendall's tau of the two variables."""

    @abc.abstractmethod
    def log_density(self, x: ArrayLike) -> FloatArray:
        """Log density at x of shape (..., d), shape (...)."""

    @abc.abstractmethod
    def gradient(self, x: ArrayLike) -> FloatArray:
        """Gradient of the log density at x of shape (..., d), shape (..., d)."""

    @abc.abstractmethod
    def sample(self, n: int, *, rng: RandomSource = None) -> FloatArray:
        """An (n, d) array of independent draws."""

    @abc.abstractmethod
    def _compiled(self) -> Compiled | None:
        """The target for the compiled loops, or None if chains call `log_density` and `gradient`."""

    def _chain_points(self, draws: FloatArray, /) -> FloatArray:
        """Draws on the scale on which chains move."""
        return draws

    def _draw_points(self, points: FloatArray, /) -> FloatArray:
        """Points of chains on the scale of the draws."""
        return points


def points(x: ArrayLike, d: int) -> FloatArray:
    """`x` as floats of shape (..., d); raises an InputError otherwise."""
    array = real_array(x, "x").astype(np.float64)
    if array.ndim == 0 or array.shape[-1] != d:
        raise InputError(f"x must have shape (..., {d}) for this target, got {array.shape}", "shape")
    return array


def positive_number(value: Any, name: str) -> float:
    """`value` as a finite float > 0; raises an InputError otherwise."""
    number = real_number(value, name)
    if not (number > 0 and math.isfinite(number)):
        raise InputError(f"{name} must be > 0 and finite, got {number:g}")
    return number


def frozen_array(values: Any, name: str, dimensions: int) -> FloatArray:
    """A read-only copy of finite numbers, at least one, with this number of dimensions."""
    array = np.array(real_array(values, name), dtype=np.float64, order="C")
    if array.ndim != dimensions or array.size == 0:
        raise InputError(f"{name} must have {dimensions} dimension(s) and at least one value, got shape {array.shape}", "shape")
    if not np.isfinite(array).all():
        found = f"{array[~np.isfinite(array)][0]:g}"
        raise InputError(f"{name} must be finite, got {found}; drop or replace such values first", "infinite")
    array.flags.writeable = False
    return array


def set_fields(target: Target, **fields: Any) -> None:
    """Set validated fields of a frozen target, for its `__post_init__` only."""
    for name, value in fields.items():
        object.__setattr__(target, name, value)


@dataclass(frozen=True)
class BimodalMixture(Target):
    """Two equal normal modes at (-m, -m) and (m, m), each with independent coordinates of variance s2.

    Two draws from the same mode are concordant with probability 1/2; draws from different modes have the same order in a
    coordinate with probability (1 + erf(m/s))/2. Kendall's tau is therefore erf(m/s)^2/2, below 1/2 however far apart the modes
    are. A sampler that stays in one mode gives tau = 0. The target of experiment 2 of Aich and Aich (2025). `log_density` is
    normalised.

    Parameters
    ----------
    centre : float
        The modes' coordinate m > 0.
    variance : float
        Each mode's variance s2 > 0.

    See Also
    --------
    sgld : A sampler for it.
    WellingTeh : Two modes with negative dependence.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> round(cd.BimodalMixture().tau, 6)
    0.5
    """

    centre: float = 1.5
    variance: float = 0.1

    def __post_init__(self) -> None:
        centre, variance = positive_number(self.centre, "centre"), positive_number(self.variance, "variance")
        set_fields(self, centre=centre, variance=variance)

    @property
    def tau(self) -> float:
        """Kendall's tau, erf(m/s)^2/2."""
        return 0.5 * math.erf(self.centre / math.sqrt(self.variance)) ** 2

    @np.errstate(all="ignore")
    def log_density(self, x: ArrayLike) -> FloatArray:
        """Log density, normalised, at points x.

        Parameters
        ----------
        x : array (..., 2)
            Points; NaN stays NaN.

        Returns
        -------
        array (...)
            One number per point.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.BimodalMixture().log_density([[1.5, 1.5], [0.0, 0.0]]).round(3)
        array([ -0.228, -22.035])
        """
        at = points(x, 2)
        m, s2 = self.centre, self.variance
        tilt = np.abs(m * at.sum(axis=-1) / s2)
        square = (np.sum(at**2, axis=-1) + 2.0 * m**2) / (2.0 * s2)
        # log cosh of the tilt, without overflow
        return tilt + np.log1p(np.exp(-2.0 * tilt)) - square - math.log(4.0 * math.pi * s2)

    @np.errstate(all="ignore")
    def gradient(self, x: ArrayLike) -> FloatArray:
        """Gradient of the log density: (m tanh(m (x1 + x2)/s2) - x)/s2.

        Parameters
        ----------
        x : array (..., 2)
            Points; NaN stays NaN.

        Returns
        -------
        array (..., 2)
            One vector per point.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.BimodalMixture().gradient([1.5, 1.0]).round(6)
        array([0., 5.])
        """
        at = points(x, 2)
        # the difference of the modes' logistic weights is a tanh, which never overflows
        centre = self.centre * np.tanh(self.centre * at.sum(axis=-1, keepdims=True) / self.variance)
        return (centre - at) / self.variance

    def sample(self, n: int, *, rng: RandomSource = None) -> FloatArray:
        """An (n, 2) array of independent draws.

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

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.BimodalMixture().sample(100, rng=1).shape
        (100, 2)
        """
        source = random_generator(rng)
        side = 2.0 * source.integers(2, size=(whole_number(n, "n", 0), 1)) - 1.0
        return self.centre * side + math.sqrt(self.variance) * source.standard_normal((n, 2))

    def _compiled(self) -> Compiled:
        return Compiled(kernels.BIMODAL, np.array([self.centre, self.variance]), np.empty(0))


@dataclass(frozen=True, eq=False, repr=False)
class GaussianTarget(Target):
    """A normal distribution in any dimension; `log_density` is normalised.

    Parameters
    ----------
    mean : array (d,)
        Finite numbers.
    covariance : array (d, d)
        Symmetric and positive definite.

    See Also
    --------
    MetaCopula : Any margins and any copula.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> round(cd.GaussianTarget([0.0, 0.0], [[2.0, 1.0], [1.0, 2.0]]).tau, 6)
    0.333333
    """

    mean: FloatArray
    covariance: FloatArray
    _root: FloatArray = field(init=False)
    _precision: FloatArray = field(init=False)
    _constant: float = field(init=False)

    def __post_init__(self) -> None:
        mean = frozen_array(self.mean, "mean", 1)
        covariance = frozen_array(self.covariance, "covariance", 2)
        if covariance.shape != (mean.size, mean.size):
            raise InputError(f"covariance must have shape {(mean.size,) * 2} like the mean, got {covariance.shape}", "shape")
        if not np.allclose(covariance, covariance.T, rtol=1e-12, atol=0.0):  # rounding of a product such as A A^T
            raise InputError("covariance must be symmetric; use (c + c.T)/2")
        try:
            root = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            least = np.linalg.eigvalsh(covariance)[0]
            rule = f"covariance must be positive definite, its smallest eigenvalue is {least:g}"
            raise InputError(f"{rule}; remove variables that are functions of others") from None
        inverse_root = np.linalg.inv(root)
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            precision = inverse_root.T @ inverse_root
        if not np.isfinite(precision).all():
            found = f"its smallest variance is {np.min(np.diag(covariance)):g}"
            raise InputError(f"the inverse of covariance overflows float64, {found}; scale the variables")
        constant = -0.5 * mean.size * math.log(2.0 * math.pi) - float(np.sum(np.log(np.diag(root))))
        set_fields(self, mean=mean, covariance=covariance, _root=root, _precision=precision, _constant=constant)

    def __repr__(self) -> str:
        if self.d > 3:
            return f"GaussianTarget(d={self.d})"
        return f"GaussianTarget({self.mean.tolist()}, {self.covariance.tolist()})"

    @property
    def d(self) -> int:
        """Number of variables."""
        return int(self.mean.size)

    @property
    def tau(self) -> float:
        """Kendall's tau, (2/pi) asin(rho), of two variables; raises an InputError for more."""
        if self.d != 2:
            raise InputError(f"tau is defined for two variables, but this target has {self.d}; use a pair of them", "shape")
        rho = self.covariance[0, 1] / math.sqrt(self.covariance[0, 0] * self.covariance[1, 1])
        return 2.0 / math.pi * math.asin(rho)

    @np.errstate(all="ignore")
    def log_density(self, x: ArrayLike) -> FloatArray:
        """Log density, normalised, at points x.

        Parameters
        ----------
        x : array (..., d)
            Points; NaN stays NaN.

        Returns
        -------
        array (...)
            One number per point.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> round(float(cd.GaussianTarget([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]).log_density([0.0, 0.0])), 4)
        -1.8379
        """
        apart = points(x, self.d) - self.mean
        return self._constant - 0.5 * np.sum((apart @ self._precision) * apart, axis=-1)

    @np.errstate(all="ignore")
    def gradient(self, x: ArrayLike) -> FloatArray:
        """Gradient of the log density, precision (mean - x).

        Parameters
        ----------
        x : array (..., d)
            Points; NaN stays NaN.

        Returns
        -------
        array (..., d)
            One vector per point.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.GaussianTarget([0.0, 0.0], [[2.0, 0.0], [0.0, 1.0]]).gradient([1.0, 1.0])
        array([-0.5, -1. ])
        """
        return (self.mean - points(x, self.d)) @ self._precision

    def sample(self, n: int, *, rng: RandomSource = None) -> FloatArray:
        """An (n, d) array of independent draws.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : int, Generator, SeedSequence or None
            Seed or source of randomness.

        Returns
        -------
        array (n, d)
            The draws.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.GaussianTarget([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]).sample(100, rng=1).shape
        (100, 2)
        """
        return self.mean + random_generator(rng).standard_normal((whole_number(n, "n", 0), self.d)) @ self._root.T

    def _compiled(self) -> Compiled:
        params = np.concatenate([self.mean, self._precision.ravel(), [self._constant]])
        return Compiled(kernels.NORMAL, params, np.empty(0))
