"""What every copula can do, with one deterministic default for each ability."""

import abc
import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from copula_discrepancy.errors import InputError
from copula_discrepancy.families._checks import (
    Parameter,
    RandomSource,
    is_monte_carlo,
    open_unit_pairs,
    random_generator,
    real_number,
    unit_pair,
    whole_number,
)
from copula_discrepancy.families._numerics import (
    FloatArray,
    blocks,
    convex_remainder,
    in_blocks,
    stack_blocks,
    stencil_derivatives,
)
from copula_discrepancy.families._quadrature import refine

Pair: TypeAlias = tuple[FloatArray, FloatArray]

DEFAULT_MONTE_CARLO_SIZE = 100_000  # the paper's choice
SMALL_DIVERGENCE = 1e-6  # below it a mean of log ratios, exact to 1e-15, has fewer than nine digits left
_STENCIL_STEP = 0.02  # 0.02**8 = 3e-14, as small as the rounding error 1e-15/0.02


class Copula(abc.ABC):
    """A bivariate copula with one dependence parameter theta.

    Public methods take u and v, check them and use the instance's own theta. Below them stand the leaves, methods with a
    leading underscore that take theta explicitly, so that an optimiser can move it; they work on the family's own
    coordinates x(u), y(v), in which its log density has no cancellation. A family must define `_margin`, `_unmargin`,
    `_logpdf`, `_cdf`, `_conditional`, `_tau`, `tail` and `_nodes`; all else has a default here, which it may override.
    """

    name: ClassVar[str]
    parameter: ClassVar[Parameter]
    fixed_parameters: ClassVar[tuple[str, ...]] = ()  # what must be given beside theta
    _mirror_images: ClassVar[int] = 1

    theta: float

    # ---- the leaves a family defines -------------------------------------------------------------------------------

    @abc.abstractmethod
    def _margin(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        """The coordinate of a probability, given as the pair (u, 1-u)."""

    @abc.abstractmethod
    def _unmargin(self, x: FloatArray) -> Pair:
        """(u, 1-u) from a coordinate."""

    @abc.abstractmethod
    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        """Log density in coordinates."""

    @abc.abstractmethod
    def _cdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        """P(U <= u, V <= v) inside the open unit square."""

    @abc.abstractmethod
    def _conditional(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        """P(U <= u | V = v) and P(U > u | V = v) inside the open unit square."""

    @abc.abstractmethod
    def _tau(self, theta: float) -> float:
        """Kendall's tau."""

    @abc.abstractmethod
    def _nodes(self, theta: float, level: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coordinates and weights of a quadrature rule for expectations under the copula, nested as `refine` wants it.

        The middle axis runs over mirror images, `_mirror_images` equivalent ones next to each other.
        """

    @property
    @abc.abstractmethod
    def tail(self) -> tuple[float, float]:
        """Coefficients of lower and upper tail dependence, lim P(U<q | V<q) at 0 and lim P(U>q | V>q) at 1."""

    @property
    def _anti_tail(self) -> tuple[float, float]:
        """The tail coefficients in the corners (1, 0) and (0, 1), which rotations turn into lower and upper tails."""
        return 0.0, 0.0

    # ---- the leaves with a default ---------------------------------------------------------------------------------

    def _coordinates(self, u: FloatArray, uc: FloatArray, v: FloatArray, vc: FloatArray) -> Pair:
        """The coordinates x(u), y(v)."""
        return self._margin(u, uc), self._margin(v, vc)

    def _float_coordinates(self, u: FloatArray, v: FloatArray) -> Pair:
        """The coordinates of probabilities known as floats, whose complements are exact differences from 1."""
        return self._coordinates(u, 1.0 - u, v, 1.0 - v)

    def _unit(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """(u, 1-u, v, 1-v) from coordinates."""
        return *self._unmargin(x), *self._unmargin(y)

    def _margin_tables(self, pair: Pair) -> Pair:
        """Coordinates of the same probabilities as values of U and of V: one array, twice, unless the copula is turned."""
        table = in_blocks(self._margin, *pair)
        return table, table

    def _theta_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        """First and second derivative of the log density in theta."""
        return stencil_derivatives(lambda t: self._logpdf(t, x, y), theta, *self._closed_domain(), self._stencil_step(theta))

    def _unit_derivatives(
        self, theta: float, u: FloatArray, uc: FloatArray, v: FloatArray, vc: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Derivatives of the log density: in u, in v, in (theta, u), in (theta, v)."""

        def shifted(pair: Pair, s: float) -> Pair:  # u moves on the logit scale, so it never leaves (0, 1)
            odds, grow, shrink = pair[0] / pair[1], math.exp(s), math.exp(-s)
            return odds * grow / (1.0 + odds * grow), shrink / (shrink + odds)

        def first(move_u: bool, t: float) -> FloatArray:
            def along(s: float) -> FloatArray:
                p, q = (shifted((u, uc), s), (v, vc)) if move_u else ((u, uc), shifted((v, vc), s))
                return self._logpdf(t, *self._coordinates(*p, *q))

            slope, _ = stencil_derivatives(along, 0.0, -1.0, 1.0, _STENCIL_STEP)
            return slope / (u * uc if move_u else v * vc)

        def mixed(move_u: bool) -> FloatArray:
            step = self._stencil_step(theta)
            return stencil_derivatives(lambda t: first(move_u, t), theta, *self._closed_domain(), step)[0]

        return first(True, theta), first(False, theta), mixed(True), mixed(False)

    def _tau_slope(self, theta: float) -> float:
        """Derivative of Kendall's tau in theta."""
        slope, _ = stencil_derivatives(
            lambda t: np.asarray(self._tau(t)), theta, *self._closed_domain(), self._stencil_step(theta)
        )
        return float(slope)

    def _theta_from_tau(self, tau: float) -> float:
        """Inverse of `_tau` inside its range, by a bracketed root."""
        from scipy.optimize import brentq

        low, high = self._closed_domain()
        start = low if math.isfinite(low) else 0.0
        # tau tends to 1 (or -1) at infinity: walk out until tau is passed, doubling
        reach = 1.0
        while not math.isfinite(high):
            if self._tau(start + reach) > tau:
                high = start + reach
            reach *= 2.0
        reach = 1.0
        while not math.isfinite(low):
            if self._tau(-reach) < tau:
                low = -reach
            reach *= 2.0
        return float(brentq(lambda t: self._tau(t) - tau, low, high, xtol=1e-15, rtol=8.9e-16, maxiter=500))

    def _conditional_inverse(self, theta: float, p: FloatArray, v: FloatArray, vc: FloatArray) -> Pair:
        """(u, 1-u) with P(U <= u | V = v) = p, by a bracketed root on the logit scale."""
        from scipy.optimize import elementwise
        from scipy.special import expit

        def gap(s: FloatArray, p: FloatArray, v: FloatArray, vc: FloatArray) -> FloatArray:
            below, above = self._conditional(theta, *self._coordinates(expit(s), expit(-s), v, vc))
            return np.where(p < 0.5, below - p, (1.0 - p) - above)

        # |logit| = 700 is u = 1e-304: a root beyond it is taken for the end
        ends = np.full_like(p, -700.0), np.full_like(p, 700.0)
        with np.errstate(all="ignore"):  # subnormal u at the ends of the bracket
            root = elementwise.find_root(gap, ends, args=(p, v, vc))
            s = np.where(root.success, root.x, np.where(gap(ends[0], p, v, vc) > 0, ends[0], ends[1]))
        return expit(s), expit(-s)

    def _sample(self, theta: float, n: int, rng: np.random.Generator) -> Pair:
        """Coordinates of n independent draws: V uniform, U by the conditional inverse."""
        p, v = rng.uniform(size=n), rng.uniform(size=n)
        return self._coordinates(*self._conditional_inverse(theta, p, v, 1.0 - v), v, 1.0 - v)

    def _prepare(self, coordinates: Iterable[Pair], n: int) -> tuple[Any, ...]:
        """What `_likelihood_sums` needs of n draws, whose coordinates come block by block.

        Computed once per fit; its arrays may live in memory that the next call in the same thread reuses.
        """
        return stack_blocks(coordinates, n, reuse=True)

    def _likelihood_sums(self, theta: float, *prepared: Any) -> tuple[float, float, float]:
        """Sums over draws of the log density and of its first two theta derivatives."""
        totals = np.zeros(3)
        for block in blocks(len(prepared[0])):
            x, y = (array[block] for array in prepared)
            first, second = self._theta_derivatives(theta, x, y)
            totals += np.sum(self._logpdf(theta, x, y)), np.sum(first), np.sum(second)
        return float(totals[0]), float(totals[1]), float(totals[2])

    def _divergence(
        self,
        theta: float,
        log_ratio: Callable[[FloatArray, FloatArray], FloatArray],
        *,
        close: bool = False,
        symmetric: bool = False,
    ) -> float:
        """Expectation under self of log_ratio = log(c_self / c_other), a Kullback-Leibler divergence.

        The ratio integrates to one, so exp(-r) - 1 + r has the same mean as r; it is never negative and keeps its relative
        accuracy when the copulas are close. Otherwise exp(-r) may have tails that the nodes do not reach. With `symmetric`,
        the ratio has the family's own symmetries and is computed on one of several mirror images only.
        """
        images = self._mirror_images if symmetric else 1

        def weighted(level: int, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
            x, y, weight = (part[:, ::images] for part in self._nodes(theta, level))
            return images * weight * function(log_ratio(x, y))

        def terms(level: int) -> FloatArray:
            return weighted(level, lambda r: r)

        def remainder_terms(level: int) -> FloatArray:
            return weighted(level, convex_remainder)

        if close:
            return refine(remainder_terms)
        value = refine(terms)
        return value if value > SMALL_DIVERGENCE else refine(remainder_terms)

    # ---- the domain ------------------------------------------------------------------------------------------------

    def _closed_domain(self) -> tuple[float, float]:
        """Bounds that may be evaluated: an open finite bound moves inwards by one part in 1e15."""
        lower, upper = self.parameter.lower, self.parameter.upper
        if math.isfinite(lower) and not self.parameter.lower_included:
            lower += 1e-15
        return lower, upper - 1e-15 if math.isfinite(upper) else upper

    def _scale(self, theta: float) -> float:
        """A length over which the log density changes smoothly in theta."""
        if math.isfinite(self.parameter.upper):
            return 0.1 * min(self.parameter.upper - theta, theta - self.parameter.lower)
        return 1.0 + abs(theta)

    def _stencil_step(self, theta: float) -> float:
        """A step for numerical theta derivatives, shorter next to a bound, where densities may be singular."""
        room = theta - self.parameter.lower
        return _STENCIL_STEP * (min(self._scale(theta), 2.0 * room) if room > 0 else self._scale(theta))

    @property
    def tau_range(self) -> tuple[float, float]:
        """Smallest and largest Kendall's tau the family can reach (limits included)."""
        lower = self.parameter.lower
        return (self._tau(lower) if math.isfinite(lower) and self.parameter.lower_included else -1.0), 1.0

    def with_theta(self, theta: float) -> Self:
        """The same copula family, and the same fixed choices, with another theta."""
        return type(self)(**{**self.__dict__, "theta": theta})

    # ---- what users call -------------------------------------------------------------------------------------------

    @classmethod
    def from_tau(cls, tau: float, **fixed: Any) -> Self:
        """The member of the family with Kendall's tau equal to `tau`.

        Parameters
        ----------
        tau : float
            Kendall's tau inside the family's range; the error message states that range.
        **fixed
            Other parameters, such as ``df`` of StudentT.
        """
        template = cls._template(**fixed)
        return template.with_theta(template._checked_theta_from_tau(tau))

    @classmethod
    def _template(cls, **fixed: Any) -> Self:
        """Some member of the family: the leaves need its fixed choices, not its theta."""
        lower = cls.parameter.lower
        return cls(theta=lower + 1.0 if math.isfinite(lower) and lower >= 0 else 0.5, **fixed)  # type: ignore[call-arg]

    def _checked_theta_from_tau(self, tau: Any) -> float:
        low, high = self.tau_range
        value = real_number(tau, "tau")
        if not (low <= value <= high and abs(value) < 1):
            raise InputError(
                f"tau must lie between {low:.4g} and {high:.4g} (and |tau| < 1) for {self.name}, got {value:g}; "
                "Frank and Gaussian reach every tau, rotations by 90 or 270 mirror the range"
            )
        theta = self._theta_from_tau(value)
        if not self.parameter.lower <= theta < self.parameter.upper:
            raise InputError(f"tau {value!r} is so close to {round(value)} that its theta for {self.name} rounds to a limit")
        return theta

    @property
    def tau(self) -> float:
        """Kendall's tau of the copula."""
        return self._tau(self.theta)

    def logpdf(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """Log density at (u, v), 0 < u, v < 1."""
        return self._logpdf(self.theta, *self._coordinates(*open_unit_pairs(u, v)))[()]

    def pdf(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """Density at (u, v), 0 < u, v < 1."""
        return np.exp(self.logpdf(u, v))

    def cdf(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """P(U <= u, V <= v) for 0 <= u, v <= 1."""
        a, b = unit_pair(u, v, closed=True)
        # on the edges a copula is known: C(0, v) = 0, C(1, v) = v
        inner = (a > 0) & (a < 1) & (b > 0) & (b < 1)
        result = np.where(a == 1, b, np.where(b == 1, a, 0.0))
        if inner.any():
            p, q = a[inner], b[inner]
            value = self._cdf(self.theta, *self._coordinates(p, 1.0 - p, q, 1.0 - q))
            # the bounds of every copula (Frechet, Hoeffding); rounding may pass them by a unit
            result[inner] = np.maximum(np.minimum(value, np.minimum(p, q)), np.maximum(p - (1.0 - q), 0.0))
        return result[()]

    def conditional_cdf(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """P(U <= u | V = v), the h-function, for 0 < u, v < 1."""
        return self._conditional(self.theta, *self._coordinates(*open_unit_pairs(u, v)))[0][()]

    def conditional_ppf(self, p: ArrayLike, v: ArrayLike) -> FloatArray:
        """The u with P(U <= u | V = v) = p, for 0 < p, v < 1: the inverse of `conditional_cdf` in its first argument."""
        q, _, b, bc = open_unit_pairs(p, v, names=("p", "v"))
        return self._conditional_inverse(self.theta, q, b, bc)[0][()]

    def score(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """Derivative of the log density in theta."""
        return self._theta_derivatives(self.theta, *self._coordinates(*open_unit_pairs(u, v)))[0][()]

    def score_slope(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """Second derivative of the log density in theta."""
        return self._theta_derivatives(self.theta, *self._coordinates(*open_unit_pairs(u, v)))[1][()]

    def gradient(self, u: ArrayLike, v: ArrayLike) -> Pair:
        """Derivatives of the log density in u and in v."""
        in_u, in_v, _, _ = self._unit_derivatives(self.theta, *open_unit_pairs(u, v))
        return in_u[()], in_v[()]

    def score_gradient(self, u: ArrayLike, v: ArrayLike) -> Pair:
        """Derivatives of the score in u and in v: what estimated margins add to a standard error."""
        _, _, in_u, in_v = self._unit_derivatives(self.theta, *open_unit_pairs(u, v))
        return in_u[()], in_v[()]

    def sample(self, n: int, *, rng: RandomSource = None) -> FloatArray:
        """An (n, 2) array of independent draws, strictly inside the unit square.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : int, Generator, SeedSequence or None
            Seed or source of randomness.
        """
        source = random_generator(rng)
        u, _, v, _ = self._unit(*self._sample(self.theta, whole_number(n, "n", 0), source))
        draws = np.stack([u, v], axis=1)
        # A draw closer to 0 or 1 than a float can tell is rounded into the open square.
        draws[draws == 0.0] = np.nextafter(0.0, 1.0)
        draws[draws == 1.0] = np.nextafter(1.0, 0.0)
        return draws

    def entropy(self, *, method: str = "exact", m: int = DEFAULT_MONTE_CARLO_SIZE, rng: RandomSource = None) -> float:
        """Shannon entropy -E[log c], never positive; minus the mutual information.

        Parameters
        ----------
        method : {"exact", "monte_carlo"}
            Closed form or quadrature, or the paper's mean of -log c over `m` simulated draws.
        m, rng
            Size and randomness of the Monte Carlo estimate.
        """
        if is_monte_carlo(method):
            return -float(np.mean(self._simulated_logpdf(m, rng)[0]))
        return -self._mutual_information(self.theta)

    def _mutual_information(self, theta: float) -> float:
        return self._divergence(theta, lambda x, y: self._logpdf(theta, x, y), symmetric=True)

    def kl(
        self, other: "Copula", *, method: str = "exact", m: int = DEFAULT_MONTE_CARLO_SIZE, rng: RandomSource = None
    ) -> float:
        """Kullback-Leibler divergence E[log c - log c_other] under this copula; 0 only when the two are equal.

        Parameters
        ----------
        other : Copula
            Any copula, of this family or another.
        method : {"exact", "monte_carlo"}
            Closed form or quadrature, or the paper's mean over `m` draws simulated from this copula.
        m, rng
            Size and randomness of the Monte Carlo estimate.
        """
        if not isinstance(other, Copula):
            raise InputError(f"other must be a copula such as Gumbel(2.5), got {other!r}")
        if is_monte_carlo(method):
            own, unit = self._simulated_logpdf(m, rng)
            return float(np.mean(own - other._logpdf(other.theta, *other._coordinates(*unit))))
        return 0.0 if other == self else self._exact_kl(other)

    def _exact_kl(self, other: "Copula") -> float:
        theta, step = self.theta, self.theta - other.theta
        if self._same_family(other):
            room = self._stencil_step(theta) / _STENCIL_STEP
            if abs(step) < 1e-5 * room:
                # The difference of two nearly equal logs has no digits left; the midpoint score has an error of step**2.
                middle = theta - 0.5 * step
                return self._divergence(
                    theta, lambda x, y: step * self._theta_derivatives(middle, x, y)[0], close=True, symmetric=True
                )
            return self._divergence(
                theta,
                lambda x, y: self._logpdf(theta, x, y) - self._logpdf(other.theta, x, y),
                close=abs(step) < 0.1 * room,
                symmetric=True,
            )
        return self._divergence(
            theta,
            lambda x, y: self._logpdf(theta, x, y) - other._logpdf(other.theta, *other._coordinates(*self._unit(x, y))),
        )

    def _same_family(self, other: "Copula") -> bool:
        """Whether only theta may differ, so that both share coordinates."""
        return type(self) is type(other) and self.with_theta(other.theta) == other

    def _simulated_logpdf(
        self, m: int, rng: RandomSource
    ) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        x, y = self._sample(self.theta, whole_number(m, "m", 1), random_generator(rng))
        return self._logpdf(self.theta, x, y), self._unit(x, y)
