"""The base class of all copulas, with the public methods."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from copula_discrepancy._core import checks
from copula_discrepancy._core.blocks import Unit, in_unit_blocks
from copula_discrepancy._core.checks import FloatArray, Pair, RandomSource
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.families.formulas import STENCIL_STEP, Formulas
from copula_discrepancy.families.quadrature import ACCEPT, Integral

DEFAULT_MONTE_CARLO_SIZE = 100_000  # the paper's choice
_OfUnit: TypeAlias = Callable[[Unit], FloatArray]


class Copula(Formulas):
    """A bivariate copula with one dependence parameter theta; an instance is immutable and valid.

    The base of every family; create a member of one, such as ``Gumbel(2.5)`` or ``Gumbel.from_tau(0.6)``. A parameter outside
    its domain raises an InputError that states the domain. The public methods validate u and v and use the instance's theta.

    Attributes
    ----------
    theta : float
        The dependence parameter.
    name : str
        The family's name.
    parameter : Parameter
        Name and domain of theta.
    fixed_parameters : tuple of str
        Parameters required in addition to theta: ``("df",)`` for `StudentT`, none for the others.

    See Also
    --------
    family : Look up a family by name.
    fit : Fit a family to draws.
    register : Make your own subclass available by name.

    Notes
    -----
    To define your own family, subclass `Copula` or, with less to define, ``copula_discrepancy.families.Archimedean``. It has
    the class attributes ``name`` and ``parameter``, a ``copula_discrepancy.families.Parameter``. The methods to define, and
    those that have a default, are listed at ``copula_discrepancy.families.formulas.Formulas``; the page "Adding a family" has
    an example.

    Arguments u and v are numbers or arrays that broadcast against each other; NaN, and values outside the unit interval, raise
    an InputError; nothing is clipped. All methods are valid in the limit of independence (theta = 0 or 1, depending on the
    family); perfect dependence has no density and is not a member of any family.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> [issubclass(family, cd.Copula) for family in cd.FAMILIES].count(True)
    8
    >>> cd.Gumbel(0.4)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    copula_discrepancy.InputError: theta must be >= 1 and finite for Gumbel, got 0.4; for negative dependence use ...
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", self.parameter.validate(self.theta, self.name))

    # ---- what users call -------------------------------------------------------------------------------------------

    @classmethod
    def from_tau(cls, tau: float, **fixed: Any) -> Self:
        """The member of the family with Kendall's tau equal to `tau`.

        Parameters
        ----------
        tau : float
            Kendall's tau inside the family's range; the error message states that range.
        **fixed : float
            Other parameters, such as ``df`` of StudentT.

        Returns
        -------
        Copula
            An instance of the class, from a closed form or a root accurate to the last digits.

        Raises
        ------
        InputError
            For NaN, a tau that the family does not reach, or one so close to 1 that its theta rounds to a limit.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.Clayton.from_tau(0.6)
        Clayton(theta=2.9999999999999996)
        >>> cd.StudentT.from_tau(0.0, df=4)
        StudentT(theta=0.0, df=4.0)
        """
        unknown = sorted(set(fixed) - set(cls.fixed_parameters))
        if unknown:
            raise InputError(f"{cls.name} has no parameter {', '.join(unknown)} in addition to theta")
        template = cls._template(**fixed)
        return template.with_theta(template._checked_theta_from_tau(tau))

    @classmethod
    def _template(cls, **fixed: Any) -> Self:
        """A member of the family: formulas need its fixed parameters, not its theta."""
        lower, upper = cls.parameter.lower, cls.parameter.upper
        theta = 0.5 if lower < 0.0 and upper > 0.5 else lower + min(1.0, 0.5 * (upper - lower))
        return cls(theta=theta, **fixed)  # type: ignore[call-arg]

    def _checked_theta_from_tau(self, tau: Any) -> float:
        low, high = self.tau_range
        value = checks.real_number(tau, "tau")
        if not (low <= value <= high and abs(value) < 1):
            rule = f"tau must lie between {low:.4g} and {high:.4g} (and |tau| < 1) for {self.name}, got {value:g}"
            advice = "Frank and Gaussian cover every tau; rotations by 90 or 270 degrees mirror the range"
            raise InputError(f"{rule}; {advice}")
        theta = self._theta_from_tau(value)
        if not self.parameter.lower <= theta < self.parameter.upper:
            raise InputError(f"tau {value!r} is so close to {round(value)} that its theta for {self.name} rounds to a limit")
        return theta

    @property
    def tau(self) -> float:
        """Kendall's tau of the copula, 4 E[C(U, V)] - 1.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.Gumbel(2.5).tau
        0.6
        """
        return self._tau(self.theta)

    def logpdf(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """Log density log c(u, v), c = d2C/(du dv), for 0 < u, v < 1.

        Parameters
        ----------
        u, v : array of numbers
            Strictly between 0 and 1, of shapes that broadcast.

        Returns
        -------
        array
            Finite numbers, accurate to about 1e-14 of max(1, |log c|), even in the corners: u = 1e-15 and u = 1 - 1e-15 are
            ordinary arguments.

        Raises
        ------
        InputError
            For values on or outside the boundary, and NaN.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> round(float(cd.Clayton(2.0).logpdf(1e-12, 2e-12)), 6)
        26.092333
        """
        return self._at("logpdf", u, v, lambda unit: self._logpdf(self.theta, *self._coordinates(*unit)))

    def pdf(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """Density c(u, v) for 0 < u, v < 1, the exponential of `logpdf`.

        Parameters
        ----------
        u, v : array of numbers
            Strictly between 0 and 1, of shapes that broadcast.

        Returns
        -------
        array
            Finite numbers.

        Raises
        ------
        InputError
            For values on or outside the boundary, NaN, and if the density overflows; `logpdf` is finite there.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.Clayton(2.0).pdf([0.1, 0.5], 0.1).round(4)
        array([5.3702, 0.2229])
        """
        return self._at("pdf", u, v, lambda unit: np.exp(self._logpdf(self.theta, *self._coordinates(*unit))))

    def cdf(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """C(u, v) = P(U <= u, V <= v) for 0 <= u, v <= 1, between max(u + v - 1, 0) and min(u, v).

        Parameters
        ----------
        u, v : array of numbers
            Between 0 and 1, of shapes that broadcast. On the boundary C(u, 1) = u and C(u, 0) = 0.

        Returns
        -------
        array
            The absolute error is below 1e-13 for elliptical copulas; Archimedean ones keep their relative accuracy.

        Raises
        ------
        InputError
            For values outside the unit interval, and NaN.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.Gumbel(2.5).cdf([0.2, 1.0], 0.3).round(4)
        array([0.1519, 0.3   ])
        """
        a, b = checks.unit_pair(u, v, closed=True)
        # on the boundary C(0, v) = 0 and C(1, v) = v
        inner = (a > 0) & (a < 1) & (b > 0) & (b < 1)
        result = np.where(a == 1, b, np.where(b == 1, a, 0.0))
        if inner.any():
            p, q = a[inner], b[inner]
            value = self._at("cdf", p, q, lambda unit: self._cdf(self.theta, *self._coordinates(*unit)))
            # the bounds of every copula (Frechet, Hoeffding), which rounding may exceed by a unit
            result[inner] = np.maximum(np.minimum(value, np.minimum(p, q)), np.maximum(p - (1.0 - q), 0.0))
        return result[()]

    def conditional_cdf(self, u: ArrayLike, v: ArrayLike, *, given: str = "v") -> FloatArray:
        """P(U <= u | V = v) = dC/dv, the h-function, for 0 < u, v < 1.

        Parameters
        ----------
        u, v : array of numbers
            Strictly between 0 and 1, of shapes that broadcast.
        given : {"v", "u"}
            The conditioning variable; with "u" it is P(V <= v | U = u) = dC/du.

        Returns
        -------
        array
            Probabilities.

        Raises
        ------
        InputError
            For values on or outside the boundary, and NaN.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> round(float(cd.Gumbel(2.5).conditional_cdf(0.2, 0.3)), 4)
        0.2585
        """
        if checks.one_of(given, "given", ("v", "u")) == "u":
            return self._swapped().conditional_cdf(v, u)
        return self._at("conditional_cdf", u, v, lambda unit: self._conditional(self.theta, *self._coordinates(*unit))[0])

    def conditional_ppf(self, p: ArrayLike, condition: ArrayLike, *, given: str = "v") -> FloatArray:
        """The u with P(U <= u | V = condition) = p, for 0 < p, condition < 1: the inverse of `conditional_cdf`.

        Parameters
        ----------
        p : array of numbers
            Probabilities, strictly between 0 and 1.
        condition : array of numbers
            Values of the conditioning variable, strictly between 0 and 1.
        given : {"v", "u"}
            The conditioning variable; with "u" it is the v with P(V <= v | U = condition) = p.

        Returns
        -------
        array
            By closed form or a bracketed root; a root beyond 1e-304 or its mirror image is set to that end.

        Raises
        ------
        InputError
            For values on or outside the boundary, and NaN.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> target = cd.Gumbel(2.5)
        >>> round(float(target.conditional_ppf(target.conditional_cdf(0.2, 0.3), 0.3)), 12)
        0.2
        """
        if checks.one_of(given, "given", ("v", "u")) == "u":
            return self._swapped().conditional_ppf(p, condition)

        def inverse(unit: Unit) -> FloatArray:
            q, _, b, bc = unit
            return self._conditional_inverse(self.theta, q, b, bc)[0]

        return self._at("conditional_ppf", p, condition, inverse, names=("p", "condition"))

    def score(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """Derivative d log c/d theta, analytic, for 0 < u, v < 1; its mean under the copula is 0.

        Parameters
        ----------
        u, v : array of numbers
            Strictly between 0 and 1, of shapes that broadcast.

        Returns
        -------
        array
            Finite numbers.

        Raises
        ------
        InputError
            For values on or outside the boundary, NaN, and if the derivative overflows.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> round(float(cd.Gumbel(2.5).score(0.2, 0.3)), 4)
        0.2276
        """
        return self._at("score", u, v, lambda unit: self._theta_derivatives(self.theta, *self._coordinates(*unit))[0])

    def score_slope(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """Derivative d2 log c/d theta2, analytic, for 0 < u, v < 1; minus its mean under the copula is the Fisher information.

        Parameters
        ----------
        u, v : array of numbers
            Strictly between 0 and 1, of shapes that broadcast.

        Returns
        -------
        array
            Finite numbers.

        Raises
        ------
        InputError
            For values on or outside the boundary, NaN, and if the derivative overflows.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> round(float(cd.Gumbel(2.5).score_slope(0.2, 0.3)), 4)
        -0.1367
        """
        return self._at("score_slope", u, v, lambda unit: self._theta_derivatives(self.theta, *self._coordinates(*unit))[1])

    def gradient(self, u: ArrayLike, v: ArrayLike) -> Pair:
        """Derivatives (d log c/du, d log c/dv), analytic, for 0 < u, v < 1: the copula's own Stein score.

        Parameters
        ----------
        u, v : array of numbers
            Strictly between 0 and 1, of shapes that broadcast.

        Returns
        -------
        tuple of two arrays
            The derivatives in u and in v.

        Raises
        ------
        InputError
            For values on or outside the boundary, NaN, and if a derivative overflows, as it may if u or v is below 1e-300.

        See Also
        --------
        ksd : The kernel Stein discrepancy, which uses these derivatives.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> in_u, in_v = cd.Gumbel(2.5).gradient(0.2, 0.3)
        >>> round(float(in_u), 4), round(float(in_v), 4)
        (1.4936, -2.6752)
        """
        slopes = self._at("gradient", u, v, lambda unit: np.stack(self._unit_derivatives(self.theta, *unit)[:2]))
        return slopes[0], slopes[1]

    def score_gradient(self, u: ArrayLike, v: ArrayLike) -> Pair:
        """Derivatives (d2 log c/(d theta du), d2 log c/(d theta dv)), analytic, for 0 < u, v < 1.

        The influence of a draw includes terms in these if the margins are estimated by ranks (Genest, Ghoudi and Rivest, 1995).

        Parameters
        ----------
        u, v : array of numbers
            Strictly between 0 and 1, of shapes that broadcast.

        Returns
        -------
        tuple of two arrays
            The derivatives of the score in u and in v.

        Raises
        ------
        InputError
            For values on or outside the boundary, NaN, and if a derivative overflows.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> in_u, in_v = cd.Gumbel(2.5).score_gradient(0.2, 0.3)
        >>> round(float(in_u), 4), round(float(in_v), 4)
        (2.1341, -1.9045)
        """
        slopes = self._at("score_gradient", u, v, lambda unit: np.stack(self._unit_derivatives(self.theta, *unit)[2:]))
        return slopes[0], slopes[1]

    def _at(
        self, method: str, u: ArrayLike, v: ArrayLike, function: _OfUnit, names: tuple[str, str] = ("u", "v")
    ) -> FloatArray:
        """Values of a function of (u, 1-u, v, 1-v) in the open unit square; raises an InputError at a point that overflows."""
        a, b = checks.unit_pair(u, v, names)
        with np.errstate(all="ignore"):  # overflow raises below
            values = in_unit_blocks(function, a, b)
        wrong = ~np.isfinite(values)
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0][values.ndim - a.ndim :])
            point = f"{names[0]}={float(a[at])!r}, {names[1]}={float(b[at])!r}"
            advice = "use points further from the boundary" + (", or use logpdf" if method == "pdf" else "")
            raise InputError(f"{method} of {self!r} overflows float64 at {point}; {advice}")
        return values[()]

    def _normal_gradient(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Gradient (2, ...) of log c(Phi(z)) phi(z1) phi(z2) in the normal scores z: the target's density on their scale."""
        z = np.stack([first, second])
        slopes = self._unit_derivatives(self.theta, ndtr(first), ndtr(-first), ndtr(second), ndtr(-second))[:2]
        return np.stack(slopes) * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) - z

    def sample(self, n: int, *, rng: RandomSource = None) -> FloatArray:
        """An (n, 2) array of independent draws, strictly inside the unit square.

        Archimedean copulas draw (T, W) of Genest and Rivest (1993), elliptical ones their normal or t variables. A draw closer
        to 0 or 1 than the nearest float is set to that float.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : int, Generator, SeedSequence or None
            Seed or source of randomness.

        Returns
        -------
        array (n, 2)
            Values of U and V.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.Gumbel(2.5).sample(2, rng=1).round(3)
        array([[0.37 , 0.588],
               [0.743, 0.709]])
        """
        u, _, v, _ = self._unit(*self._sample(self.theta, checks.whole_number(n, "n", 0), checks.random_generator(rng)))
        draws = np.stack([u, v], axis=1)
        # A draw that rounds to 0 or 1 is moved to the nearest float inside the open square.
        draws[draws == 0.0] = np.nextafter(0.0, 1.0)
        draws[draws == 1.0] = np.nextafter(1.0, 0.0)
        return draws

    def entropy(self, *, method: str = "exact", m: int = DEFAULT_MONTE_CARLO_SIZE, rng: RandomSource = None) -> float:
        """Shannon entropy -E[log c], never positive; minus the mutual information.

        Definition 5.1 of Aich and Aich (2025).

        Parameters
        ----------
        method : {"exact", "monte_carlo"}
            Closed form or quadrature, or the paper's mean of -log c over `m` simulated draws.
        m : int
            Number of draws of the Monte Carlo estimate.
        rng : int, Generator, SeedSequence or None
            Seed or source of randomness of the Monte Carlo estimate.

        Returns
        -------
        float
            The entropy in nats; 0 at independence, and decreasing without bound towards perfect dependence. The exact value has
            a relative error below 1e-8; a quadrature that does not reach it raises a DependenceWarning.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> round(cd.Gumbel(2.5).entropy(), 6)
        -0.561983
        >>> round(cd.Gumbel(2.5).entropy(method="monte_carlo", m=10_000, rng=1), 2)
        -0.56
        """
        if checks.is_monte_carlo(method):
            return -float(np.mean(self._simulated_logpdf(m, rng)[0]))
        return 0.0 - self._information(self.theta).announced()

    def kl(
        self, other: "Copula", *, method: str = "exact", m: int = DEFAULT_MONTE_CARLO_SIZE, rng: RandomSource = None
    ) -> float:
        """Kullback-Leibler divergence E[log c - log c_other] under this copula; 0 only if the two are equal.

        Definition 5.2 of Aich and Aich (2025).

        Parameters
        ----------
        other : Copula
            Any copula, of this family or another.
        method : {"exact", "monte_carlo"}
            Closed form or quadrature, or the paper's mean over `m` draws simulated from this copula.
        m : int
            Number of draws of the Monte Carlo estimate.
        rng : int, Generator, SeedSequence or None
            Seed or source of randomness of the Monte Carlo estimate.

        Returns
        -------
        float
            The divergence in nats. It is not symmetric. The exact value has a relative error below 1e-8; a quadrature that does
            not reach it raises a DependenceWarning.

        Raises
        ------
        InputError
            If `other` is not a copula.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> gumbel, clayton = cd.Gumbel(2.5), cd.Clayton(3.0)
        >>> round(gumbel.kl(clayton), 4), round(clayton.kl(gumbel), 4), gumbel.kl(gumbel)
        (0.396, 0.3309, 0.0)
        """
        if not isinstance(other, Copula):
            raise InputError(f"other must be a copula such as Gumbel(2.5), got {other!r}")
        if checks.is_monte_carlo(method):
            own, unit = self._simulated_logpdf(m, rng)
            return float(np.mean(own - other._logpdf(other.theta, *other._coordinates(*unit))))
        return self._kl(other).announced()

    def _kl(self, other: "Copula", accept: float = ACCEPT) -> Integral:
        """`kl` by closed form or quadrature, with its accuracy; `accept` is passed to `refine`."""
        return Integral(0.0) if other == self else self._exact_kl(other, accept)

    def _kls(self, thetas: FloatArray, targets: FloatArray) -> Integral:
        """Divergences of members of the family from others, given the thetas of both."""
        both = zip(thetas.tolist(), targets.tolist(), strict=True)
        found = [self.with_theta(theta)._kl(self.with_theta(target)) for theta, target in both]
        return Integral(*(np.array([getattr(one, name) for one in found], np.float64) for name in ("value", "error")))

    def _exact_kl(self, other: "Copula", accept: float) -> Integral:
        theta, step = self.theta, self.theta - other.theta
        if not self._same_family(other):
            symmetric = self._mirror_images == other._mirror_images == 4  # two elliptical copulas
            return self._divergence(theta, partial(self._log_ratio, other), accept, symmetric=symmetric)
        room = self._stencil_step(theta) / STENCIL_STEP

        def log_ratio(x: FloatArray, y: FloatArray) -> FloatArray:
            # The difference of two nearly equal logs has no accurate digits; the midpoint score has an error of step**2.
            if abs(step) < 1e-5 * room:
                return step * self._theta_derivatives(theta - 0.5 * step, x, y)[0]
            return self._logpdf(theta, x, y) - self._logpdf(other.theta, x, y)

        return self._divergence(theta, log_ratio, accept, close=abs(step) < 0.1 * room, symmetric=True)

    def _log_ratio(self, other: "Copula", x: FloatArray, y: FloatArray) -> FloatArray:
        """log(c / c_other) at this copula's coordinates."""
        return self._logpdf(self.theta, x, y) - other._logpdf(other.theta, *other._coordinates(*self._unit(x, y)))

    def _swapped(self) -> "Copula":
        """The copula of (V, U): the same one, unless it is rotated by 90 or 270 degrees."""
        return self

    def _same_family(self, other: "Copula") -> bool:
        """Whether only theta may differ, so that both have the same coordinates."""
        return type(self) is type(other) and self.with_theta(other.theta) == other

    def _simulated_logpdf(self, m: int, rng: RandomSource) -> tuple[FloatArray, Unit]:
        x, y = self._sample(self.theta, checks.whole_number(m, "m", 1), checks.random_generator(rng))
        return self._logpdf(self.theta, x, y), self._unit(x, y)
