"""Formulas that a family defines, with a deterministic default for everything derived from them."""

import abc
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.blocks import Unit, blocks, in_blocks, stack_blocks
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.families.numerics import convex_remainder, stencil_derivatives
from copula_discrepancy.families.parameter import Parameter
from copula_discrepancy.families.quadrature import ACCEPT, Integral, refine

Slopes: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # four derivatives
LogRatio: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
Nodes: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]  # x, y and weights of a quadrature rule

SMALL_DIVERGENCE = 1e-6  # below it a mean of log ratios, accurate to 1e-15, has fewer than nine digits
_NO_DIVERGENCE = 1e-22  # smaller ones are squares of rounding errors of log densities
STENCIL_STEP = 0.02  # 0.02**8 = 3e-14, as small as the rounding error 1e-15/0.02


class PairTables(NamedTuple):
    """Coordinates of every rank that occurs, as values of U and of V, and their derivatives with respect to u and v."""

    x: FloatArray
    y: FloatArray
    slope_x: FloatArray
    slope_y: FloatArray


class Pairs(NamedTuple):
    """Pairs of variables: for every variable the place of each draw's rank in tables, and the two variables of each pair."""

    places: NDArray[np.int32]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def at(self, chosen: NDArray[np.intp]) -> "Pairs":
        """Some of the pairs."""
        return Pairs(self.places, self.first[chosen], self.second[chosen])


class ScoreRows(NamedTuple):
    """Room for the scores of pairs: each draw's, (row, draw), their derivatives in u and v, and the sum of their slopes."""

    score: FloatArray
    in_u: FloatArray
    in_v: FloatArray
    curvature: FloatArray


Sums: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]  # of log densities and of their two theta derivatives
PairSums: TypeAlias = Callable[[NDArray[np.intp], FloatArray], Sums]  # of some of several pairs, each at its own theta


class Formulas(abc.ABC):
    """The formulas that a family defines: the extension API of the library, like `_pdf` of SciPy's distributions.

    These methods begin with an underscore because they do not validate; the public methods of `Copula` validate their arguments
    and then call them. They take theta explicitly, so that an optimiser can vary it, and the family's own coordinates
    x(u), y(v), in which its log density has no cancellation. A probability is passed as the pair (u, 1-u), both with full
    accuracy. Names and signatures of the methods listed here stay the same within a release series.

    A family has the class attributes ``name`` and ``parameter`` and defines:

    - ``_margin(u, uc)`` and ``_unmargin(x)``: the coordinate of a probability, and its inverse;
    - ``_logpdf(theta, x, y)``: the log density;
    - ``_cdf(theta, x, y)``: the distribution function;
    - ``_conditional(theta, x, y)``: P(U <= u | V = v) and P(U > u | V = v);
    - ``_tau(theta)``: Kendall's tau, increasing in theta;
    - ``tail``: a property, the coefficients of lower and upper tail dependence;
    - ``_nodes(theta, level)``: a quadrature rule for expectations under the copula.

    `Archimedean` defines all of these except ``_tau`` and ``tail``, from four methods of the generator: ``_log_generator``,
    ``_inverse_log_generator``, ``_log_slope`` and ``_log_curvature``. `Elliptical` is the base of families with a correlation.

    Everything else has a correct, general default. It is worth overriding these with a closed form:

    - ``_theta_derivatives(theta, x, y)``: first and second derivative of the log density, by differences (`fit`);
    - ``_unit_derivatives(theta, u, uc, v, vc)``: derivatives in u, v, (theta, u), (theta, v), by differences (standard errors,
      `ksd`); for Archimedean families ``_margin_derivatives(theta, x, y)``, in the coordinates;
    - ``_theta_from_tau(tau)`` and ``_tau_slope(theta)``: the inverse of tau, by a root, and its derivative, by differences;
    - ``_conditional_inverse(theta, p, v, vc)``: (u, 1-u) with P(U <= u | V = v) = p, by a root;
    - ``_sample(theta, n, rng)``: coordinates of draws, by ``_conditional_inverse``;
    - ``_mutual_information(theta)``: minus the entropy, by quadrature;
    - ``_prepare(coordinates, n)`` and ``_likelihood_sums(theta, *prepared)``: the sums that a fit evaluates many times;
    - ``_tau_at(end)``: tau at the "lower" or "upper" bound of theta, 1 at the upper one unless overridden;
    - ``_anti_tail``: a property, tail dependence in the corners (1, 0) and (0, 1), none unless overridden.

    `copula_discrepancy.register` makes a family available by name and checks that its formulas are consistent.
    """

    name: ClassVar[str]
    parameter: ClassVar[Parameter]
    fixed_parameters: ClassVar[tuple[str, ...]] = ()  # parameters required in addition to theta
    _mirror_images: ClassVar[int] = 1
    _scores_need_units: ClassVar[bool] = True  # whether `_score_derivatives` uses u and v in addition to the coordinates

    theta: float

    # ---- what a family defines -------------------------------------------------------------------------------------

    @abc.abstractmethod
    def _margin(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        """The coordinate of a probability, passed as the pair (u, 1-u)."""

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
    def _nodes(self, theta: float, level: int) -> Nodes:
        """Coordinates and weights of a quadrature rule for expectations under the copula, nested as `refine` requires.

        The middle axis runs over mirror images, `_mirror_images` equivalent ones next to each other.
        """

    @property
    @abc.abstractmethod
    def tail(self) -> tuple[float, float]:
        """Coefficients of lower and upper tail dependence, lim P(U<q | V<q) at 0 and lim P(U>q | V>q) at 1.

        These are limits, not the shares in a tenth of the draws, which `Discrepancy.low_low` and the other corners are about.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> lower, upper = cd.Gumbel(2.5).tail
        >>> lower, round(upper, 4)
        (0.0, 0.6805)
        """

    @property
    def _anti_tail(self) -> tuple[float, float]:
        """The tail coefficients in the corners (1, 0) and (0, 1), which rotations map to lower and upper tails."""
        return 0.0, 0.0

    # ---- what has a default -----------------------------------------------------------------------------------------

    def _coordinates(self, *unit: *Unit) -> Pair:
        """The coordinates x(u), y(v)."""
        return self._margin(*unit[:2]), self._margin(*unit[2:])

    def _float_coordinates(self, u: FloatArray, v: FloatArray) -> Pair:
        """The coordinates of probabilities known as floats, whose complements are exact differences from 1."""
        return self._coordinates(u, 1.0 - u, v, 1.0 - v)

    def _unit(self, x: FloatArray, y: FloatArray) -> Unit:
        """(u, 1-u, v, 1-v) from coordinates."""
        return *self._unmargin(x), *self._unmargin(y)

    def _margin_tables(self, pair: Pair) -> Pair:
        """Coordinates of the same probabilities as values of U and of V: one array, twice, unless the copula is rotated.

        The probabilities are those of ranks: 1-u is u in reverse order.
        """
        table = in_blocks(self._margin, *pair)
        return table, table

    @property
    def _margin_key(self) -> tuple[Any, ...]:
        """What the coordinates depend on in addition to u and v: the family and its fixed parameters, not theta."""
        return type(self), *(value for name, value in self.__dict__.items() if name != "theta")

    def _rough_cdf(self, theta: float, x: FloatArray, y: FloatArray, *unit: *Unit) -> FloatArray:
        """`_cdf` to six digits, for arguments known in both forms."""
        return self._cdf(theta, x, y)

    def _theta_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        """First and second derivative of the log density in theta."""
        return self._in_theta(lambda t: self._logpdf(t, x, y), theta)

    def _in_theta(self, function: Callable[[float], FloatArray], theta: float) -> Pair:
        """First and second derivative in theta of any function of it, by differences inside its domain."""
        return stencil_derivatives(function, theta, *self._closed_domain(), self._stencil_step(theta))

    def _unit_derivatives(self, theta: float, *unit: *Unit) -> Slopes:
        """Derivatives of the log density: in u, in v, in (theta, u), in (theta, v)."""
        u, uc, v, vc = unit

        def shifted(pair: Pair, s: float) -> Pair:  # steps on the logit scale never leave (0, 1)
            odds, grow, shrink = pair[0] / pair[1], math.exp(s), math.exp(-s)
            return odds * grow / (1.0 + odds * grow), shrink / (shrink + odds)

        def first(move_u: bool, t: float) -> FloatArray:
            def along(s: float) -> FloatArray:
                p, q = (shifted((u, uc), s), (v, vc)) if move_u else ((u, uc), shifted((v, vc), s))
                return self._logpdf(t, *self._coordinates(*p, *q))

            slope, _ = stencil_derivatives(along, 0.0, -1.0, 1.0, STENCIL_STEP)
            return slope / (u * uc if move_u else v * vc)

        in_u, in_v = (self._in_theta(partial(first, move_u), theta)[0] for move_u in (True, False))
        return first(True, theta), first(False, theta), in_u, in_v

    def _mixed_derivatives(self, theta: float, x: FloatArray, y: FloatArray, *unit: *Unit) -> Pair:
        """Derivatives of the log density in (theta, u) and (theta, v), for arguments known in both forms."""
        return self._unit_derivatives(theta, *unit)[2:]

    def _score_derivatives(self, theta: float, x: FloatArray, y: FloatArray, *unit: *Unit) -> Slopes:
        """Derivatives of a sample's log densities: in theta, in theta twice, in (theta, u), in (theta, v)."""
        return *self._theta_derivatives(theta, x, y), *self._mixed_derivatives(theta, x, y, *unit)

    def _tau_slope(self, theta: float) -> float:
        """Derivative of Kendall's tau in theta."""
        return float(self._in_theta(lambda t: np.asarray(self._tau(t)), theta)[0])

    def _theta_from_tau(self, tau: float) -> float:
        """Inverse of `_tau` inside its range, by a bracketed root."""
        from scipy.optimize import brentq

        low, high = self._closed_domain()
        start = low if math.isfinite(low) else 0.0
        # tau tends to 1 (or -1) at infinity: double theta until tau is bracketed
        reaches = [2.0**k for k in range(1024)]  # tau rounds to 1 long before this overflows
        if not math.isfinite(high):
            high = next((start + reach for reach in reaches if self._tau(start + reach) > tau), math.inf)
        if not math.isfinite(low):
            low = next((-reach for reach in reaches if self._tau(-reach) < tau), -math.inf)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise InputError(
                f"no theta of {self.name} has Kendall's tau {tau:g}; if its tau has a limit other than 1 or -1, define _tau_at"
            )
        return float(brentq(lambda t: self._tau(t) - tau, low, high, xtol=1e-15, rtol=8.9e-16, maxiter=500))

    def _conditional_inverse(self, theta: float, p: FloatArray, v: FloatArray, vc: FloatArray) -> Pair:
        """(u, 1-u) with P(U <= u | V = v) = p, by a bracketed root on the logit scale."""
        from scipy.optimize import elementwise
        from scipy.special import expit

        def gap(s: FloatArray, p: FloatArray, v: FloatArray, vc: FloatArray) -> FloatArray:
            below, above = self._conditional(theta, *self._coordinates(expit(s), expit(-s), v, vc))
            return np.where(p < 0.5, below - p, (1.0 - p) - above)

        # |logit| = 700 is u = 1e-304: a root beyond it is set to the end
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
        """The input of `_likelihood_sums` for n draws, whose coordinates are passed block by block.

        Computed once per fit; its arrays may use memory that the next call in the same thread reuses.
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

    # ---- many pairs at once, for families with compiled loops --------------------------------------------------------

    @property
    def _pair_loops(self) -> bool:
        """Whether there are compiled loops over many pairs, `_pair_sums` and `_pair_scores`."""
        return False

    def _pair_tables(self, pair: Pair) -> PairTables | None:
        """Tables for many pairs, from (u, 1-u) of all ranks; None for families whose coordinates have no known slopes."""
        return None

    def _pair_sums(self, tables: PairTables, pairs: Pairs) -> PairSums:
        """A function that returns `_likelihood_sums` of some of the pairs."""
        raise NotImplementedError(f"{self.name} has no loop over many pairs")

    def _pair_scores(
        self, thetas: FloatArray, tables: PairTables, pairs: Pairs, rows: NDArray[np.intp], out: ScoreRows
    ) -> NDArray[np.bool_]:
        """Fill in the scores of pairs at their thetas, and return for which this was done; others need `_score_derivatives`."""
        raise NotImplementedError(f"{self.name} has no loop over many pairs")

    # ---- the same on tensors of PyTorch: theta (pair, 1), coordinates (pair, draw) -----------------------------------

    def _on_tensors(self, thetas: FloatArray) -> NDArray[np.bool_]:
        """At which thetas the formulas hold for tensors; elsewhere, draws are evaluated on the processor."""
        return np.zeros(thetas.shape, bool)

    def _tensor_sums(self, theta: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """Sums over draws of the log density and of its first two theta derivatives, (pair,)."""
        first, second = self._theta_derivatives(theta, x, y)
        return self._logpdf(theta, x, y).sum(-1), first.sum(-1), second.sum(-1)

    def _tensor_margin(self, x: Any) -> Any:
        """The part of a variable's log-likelihood that theta does not change and `_tensor_sums` leaves out, (variable,)."""
        return x.new_zeros(x.shape[:-1])

    def _tensor_scores(self, theta: Any, x: Any, y: Any, slope_x: Any, slope_y: Any) -> tuple[Any, Any, Any, Any]:
        """Scores, sums of their derivatives in theta, (pair,), and their derivatives in u and v; slopes as in `PairTables`."""
        raise NotImplementedError(f"{self.name} has no formulas for tensors")

    def _taus(self, thetas: FloatArray) -> FloatArray:
        """`_tau` of every theta."""
        return np.array([self._tau(theta) for theta in thetas.tolist()], np.float64)

    def _tau_slopes(self, thetas: FloatArray) -> FloatArray:
        """`_tau_slope` of every theta."""
        return np.array([self._tau_slope(theta) for theta in thetas.tolist()], np.float64)

    def _thetas_from_taus(self, taus: FloatArray) -> FloatArray:
        """`_theta_from_tau` of every tau."""
        return np.array([self._theta_from_tau(tau) for tau in taus.tolist()], np.float64)

    def _mutual_information(self, theta: float) -> float | None:
        """E[log c], minus the entropy, if it has a closed form."""
        return None

    def _information(self, theta: float, accept: float = ACCEPT) -> Integral:
        """E[log c] in closed form, or by a quadrature whose coarser half agrees to `accept`."""
        closed = self._mutual_information(theta)
        return self._information_integral(theta, accept) if closed is None else Integral(closed)

    def _information_integral(self, theta: float, accept: float) -> Integral:
        """The divergence from independence."""
        return self._divergence(theta, lambda x, y: self._logpdf(theta, x, y), accept, symmetric=True)

    def _divergence(
        self, theta: float, log_ratio: LogRatio, accept: float, *, close: bool = False, symmetric: bool = False
    ) -> Integral:
        """Expectation under self of log_ratio = log(c_self / c_other), a Kullback-Leibler divergence.

        The ratio integrates to one, so exp(-r) - 1 + r has the same mean as r; it is never negative and keeps its relative
        accuracy when the copulas are close. Otherwise exp(-r) may have tails beyond the nodes. With `symmetric`, the ratio has
        the family's own symmetries and is computed on one of several mirror images only.
        """
        images = self._mirror_images if symmetric else 1

        def mean(function: Callable[[FloatArray], FloatArray], floor: float) -> Integral:
            def terms(level: int) -> FloatArray:
                x, y, weight = (part[:, ::images] for part in self._nodes(theta, level))
                return images * weight * function(log_ratio(x, y))

            return refine(terms, floor=floor, accept=accept)

        if not close:
            plain = mean(lambda r: r, SMALL_DIVERGENCE)
            if plain.value > SMALL_DIVERGENCE:
                return plain
        return mean(convex_remainder, _NO_DIVERGENCE)

    # ---- the domain ------------------------------------------------------------------------------------------------

    def _closed_domain(self) -> tuple[float, float]:
        """Bounds at which formulas can be evaluated: an open finite bound moves inwards by one part in 1e15."""
        lower, upper = self.parameter.lower, self.parameter.upper
        if math.isfinite(lower) and not self.parameter.lower_included:
            lower += 1e-15
        return lower, upper - 1e-15 if math.isfinite(upper) else upper

    def _scale(self, theta: Any) -> Any:
        """A scale on which the log density is smooth in theta, of one theta or of each of an array."""
        if math.isfinite(self.parameter.upper):
            return 0.1 * np.minimum(self.parameter.upper - theta, theta - self.parameter.lower)
        return 1.0 + abs(theta)

    def _stencil_step(self, theta: float) -> float:
        """A step for numerical theta derivatives, shorter next to a bound, where densities may be singular."""
        room = theta - self.parameter.lower
        return STENCIL_STEP * (min(self._scale(theta), 2.0 * room) if room > 0 else self._scale(theta))

    def _tau_at(self, end: str) -> float:
        """Kendall's tau at the "lower" or "upper" bound of theta, as a limit if the bound is not included."""
        if end == "upper":
            return 1.0
        return self._tau(self.parameter.lower) if self.parameter.lower_included else -1.0

    def _theta_within(self, tau: float) -> float:
        """The theta of a tau, or the nearest end of theta's domain if the family does not reach it."""
        low, high = self.tau_range
        if low < tau < high or math.isnan(tau):
            return self._theta_from_tau(tau)
        at_lower = (tau <= low) == (self._tau_at("lower") == low)  # rotated by 90 or 270, tau decreases with theta
        return self.parameter.lower if at_lower else self.parameter.upper

    @property
    def tau_range(self) -> tuple[float, float]:
        """Smallest and largest Kendall's tau of the family, limits included.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.Gumbel(2.5).tau_range, cd.Frank(1.0).tau_range
        ((0.0, 1.0), (-1.0, 1.0))
        """
        low, high = sorted((self._tau_at("lower"), self._tau_at("upper")))
        return low, high

    def with_theta(self, theta: float) -> Self:
        """The same copula family, with the same fixed parameters and a new theta.

        Parameters
        ----------
        theta : float
            A value inside the family's domain.

        Returns
        -------
        Copula
            An instance of the same class.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.StudentT(0.5, df=4).with_theta(0.2)
        StudentT(theta=0.2, df=4.0)
        """
        return type(self)(**{**self.__dict__, "theta": theta})
