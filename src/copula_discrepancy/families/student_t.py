"""The Student t copula: a correlation with tail dependence on both sides."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from copula_discrepancy._core import kernels
from copula_discrepancy._core.blocks import stack_blocks
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.elliptical import Elliptical, log_spread, residual
from copula_discrepancy.families.formulas import STENCIL_STEP, Pairs, PairSums, PairTables, Slopes, Sums
from copula_discrepancy.families.parameter import Parameter
from copula_discrepancy.families.quadrature import Integral
from copula_discrepancy.families.t_distribution import half_step, log1p_square, t_cdf, t_logpdf, t_quantile, t_quantile_df_slope

# From here on quantiles of probabilities down to 1e-15 are below 1e60, and their squares over any 1 - rho^2 far from overflow.
_COMPILED_DF = 0.25


@dataclass(frozen=True)
class StudentT(Elliptical):
    """Student t copula with correlation theta (rho), -1 < theta < 1, and degrees of freedom df > 0.

    Kendall's tau is (2/pi) asin(rho) for any df; both tail dependence coefficients are
    2 t_{df+1}(-sqrt((df+1)(1-rho)/(1+rho))) (Demarta and McNeil, 2005).

    Parameters
    ----------
    theta : float
        The correlation, strictly between -1 and 1. At 0 tau is 0, but the variables are not independent: they have tail
        dependence.
    df : float
        Degrees of freedom, greater than 0 and finite; the limit at infinity is `Gaussian`.

    Attributes
    ----------
    df : float
        Degrees of freedom.

    See Also
    --------
    Gaussian : The same tau without tail dependence.
    fit : Fit a family to draws; it can also estimate df.

    References
    ----------
    Demarta, S. and McNeil, A. J. (2005). The t copula and related copulas. International Statistical Review 73, 111-129.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> lower, upper = cd.StudentT(0.5, df=4).tail
    >>> round(lower, 4), lower == upper
    (0.2532, True)
    """

    df: float = None  # type: ignore[assignment]  # required; the message below explains

    name = "StudentT"
    fixed_parameters = ("df",)
    df_parameter = Parameter("df", 0.0, np.inf, False, "for df = infinity use Gaussian")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.df is None:
            raise InputError("StudentT needs its degrees of freedom, for example StudentT(0.5, df=4)")
        object.__setattr__(self, "df", self.df_parameter.validate(self.df, self.name))

    def _margin(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        a = t_quantile(self.df, u, uc)
        if not np.isfinite(a).all():
            far = np.minimum(u, uc)[~np.isfinite(a)]
            quantile = f"a t quantile with df={self.df:g} at probability {far.flat[0]:g}"
            raise InputError(f"{quantile} overflows float64; use a larger df")
        return a

    def _unmargin(self, x: FloatArray) -> Pair:
        return t_cdf(self.df, x)

    def _log_margin_density(self, a: FloatArray) -> FloatArray:
        return t_logpdf(self.df, a)

    def _radius(self, log_tail: FloatArray) -> FloatArray:
        # exp(600) is a radius of 1e130 where, with a tiny df, the nodes overflow, at weights below 1e-13
        return np.sqrt(self.df * np.expm1(np.minimum(-2.0 / self.df * log_tail, 600.0)))

    def _joint_kernel(self, q: FloatArray) -> FloatArray:
        return np.exp(-0.5 * self.df * np.log1p(q / self.df))

    def _scaled(self, theta: float, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """x and y over sqrt(df + q), q/(df + q), and sqrt(df + q): finite even if q itself overflows."""
        distance = np.hypot(residual(theta, x, y) / math.sqrt((1.0 - theta) * (1.0 + theta)), y)
        size = np.hypot(distance, math.sqrt(self.df))
        return x / size, y / size, (distance / size) ** 2, size

    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        nu, spread = self.df, (1.0 - theta) * (1.0 + theta)
        scale = math.sqrt(nu)
        distance = np.hypot(residual(theta, x, y) / math.sqrt(spread), y)
        joint = _gamma_constant(nu) - 0.5 * log_spread(theta) - 0.5 * (nu + 2.0) * log1p_square(distance / scale)
        return joint + 0.5 * (nu + 1.0) * (log1p_square(x / scale) + log1p_square(y / scale))

    @property
    def _compiled_df(self) -> float | None:
        return self.df if self.df >= _COMPILED_DF else None

    def _prepare(self, coordinates: Iterable[Pair], n: int) -> tuple[Any, ...]:
        x, y = stack_blocks(coordinates, n, reuse=True)
        if self._compiled_df is None:
            return x, y
        scale = math.sqrt(self.df)
        return x, y, 0.5 * (self.df + 1.0) * float(np.sum(log1p_square(x / scale)) + np.sum(log1p_square(y / scale)))

    def _likelihood_sums(self, theta: float, *prepared: Any) -> tuple[float, float, float]:
        if self._compiled_df is None:
            return super()._likelihood_sums(theta, *prepared)
        x, y, margins = prepared
        return self._with_constants(theta, x.size, kernels.student_sums(theta, self.df, x, y), margins)

    def _with_constants(self, theta: Any, n: int, sums: Any, margins: Any) -> tuple[Any, Any, Any]:
        """The likelihood and its derivatives from the sums of a kernel, elementwise."""
        logs, first, second = sums
        spread = (1.0 - theta) * (1.0 + theta)
        value = n * (_gamma_constant(self.df) - 0.5 * log_spread(theta)) - 0.5 * (self.df + 2.0) * logs + margins
        return value, first + n * theta / spread, second + n * (1.0 + theta**2) / spread**2

    def _tensor_weight(self, q: Any) -> tuple[Any, float]:
        return 1.0 / (self.df + q), 0.5 * (self.df + 2.0)

    def _tensor_sums(self, theta: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        inverse = 1.0 / ((1.0 - theta) * (1.0 + theta))
        q = residual(theta, x, y) ** 2 * inverse + y.square()
        size, weight = self._tensor_weight(q)
        share = q * size
        q1 = 2.0 * (theta * share - x * y * size) * inverse
        first, second = -weight * q1.sum(-1), -weight * ((2.0 * share + 4.0 * theta * q1) * inverse - q1.square()).sum(-1)
        logs = (q / self.df).log1p().sum(-1)
        return self._with_constants(theta[..., 0], x.shape[-1], (logs, first, second), 0.0)

    def _tensor_margin(self, x: Any) -> Any:
        return 0.5 * (self.df + 1.0) * (x.square() / self.df).log1p().sum(-1)

    def _pair_sums(self, tables: PairTables, pairs: Pairs) -> PairSums:
        logs = log1p_square(tables.x / math.sqrt(self.df))
        each, variables = np.zeros(len(pairs.places)), np.unique([pairs.first, pairs.second])
        each[variables] = [float(np.sum(logs[pairs.places[k]])) for k in variables]
        margins = 0.5 * (self.df + 1.0) * (each[pairs.first] + each[pairs.second])

        def sums(chosen: NDArray[np.intp], thetas: FloatArray) -> Sums:
            found = kernels.student_pair_sums(thetas, self.df, tables.x, tables.y, *pairs.at(chosen))
            return self._with_constants(thetas, pairs.places.shape[1], found.T, margins[chosen])

        return sums

    def _quantile_scores(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        spread = (1.0 - theta) * (1.0 + theta)
        a, b, q, _ = self._scaled(theta, x, y)
        q1 = 2.0 * (theta * q - a * b) / spread
        q2 = (2.0 * q + 4.0 * theta * q1) / spread
        weight = 0.5 * (self.df + 2.0)
        return theta / spread - weight * q1, (1.0 + theta**2) / spread**2 - weight * (q2 - q1**2)

    def _quantile_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Slopes:
        nu, spread = self.df, (1.0 - theta) * (1.0 + theta)
        a, b, q, size = self._scaled(theta, x, y)
        q1 = 2.0 * (theta * q - a * b) / spread

        def along(x: FloatArray, a: FloatArray, b: FloatArray) -> Pair:
            q_x = 2.0 * residual(theta, a, b) / spread  # times 1/size, as is everything scaled
            mixed = (2.0 * theta * q_x - 2.0 * b) / spread - q_x * q1
            return self._in_quantile(theta, x, a, b, size), -0.5 * (nu + 2.0) / size * mixed

        def per_u(value: FloatArray, x: FloatArray) -> FloatArray:
            """`value` over the margin's density, which underflows long before the quotient overflows."""
            with np.errstate(divide="ignore"):  # a value of 0 stays 0
                return np.sign(value) * np.exp(np.log(np.abs(value)) - self._log_margin_density(x))

        (in_x, mixed_x), (in_y, mixed_y) = along(x, a, b), along(y, b, a)
        return per_u(in_x, x), per_u(in_y, y), per_u(mixed_x, x), per_u(mixed_y, y)

    def _in_quantile(self, theta: float, x: FloatArray, a: FloatArray, b: FloatArray, size: FloatArray) -> FloatArray:
        """Derivative of the log density in the quantile x, whose scaled value is a; b is that of the other one."""
        root = np.hypot(x, math.sqrt(self.df))
        joint = (self.df + 2.0) / size * residual(theta, a, b) / ((1.0 - theta) * (1.0 + theta))
        return (self.df + 1.0) * (x / root) / root - joint

    def _df_derivative(
        self, theta: float, x: FloatArray, y: FloatArray, x_slope: FloatArray, y_slope: FloatArray
    ) -> FloatArray:
        """Derivative of the log density in df at fixed u, v, given the derivatives of the quantiles x, y in df."""
        nu, scale = self.df, math.sqrt(self.df)
        a, b, q, size = self._scaled(theta, x, y)

        def margin(x: FloatArray) -> FloatArray:
            root = np.hypot(x, scale)
            return 0.5 * log1p_square(x / scale) - 0.5 * (nu + 1.0) / nu * (x / root) ** 2

        # Gamma(nu/2+1) Gamma(nu/2) / Gamma(nu/2+1/2)^2
        constant = 0.5 * (psi(0.5 * nu + 1.0) + psi(0.5 * nu)) - psi(0.5 * nu + 0.5)
        joint = -0.5 * log1p_square(np.sqrt(q) * (size / scale)) + 0.5 * (nu + 2.0) / nu * q
        moved = self._in_quantile(theta, x, a, b, size) * x_slope + self._in_quantile(theta, y, b, a, size) * y_slope
        return constant + joint + margin(x) + margin(y) + moved

    def _conditional(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        return t_cdf(self.df + 1.0, residual(theta, x, y) / self._conditional_scale(theta, y))

    def _conditional_scale(self, theta: float, y: FloatArray) -> FloatArray:
        return np.hypot(y, math.sqrt(self.df)) * math.sqrt((1.0 - theta) * (1.0 + theta) / (self.df + 1.0))

    def _conditional_inverse(self, theta: float, p: FloatArray, v: FloatArray, vc: FloatArray) -> Pair:
        y = self._margin(v, vc)
        return self._unmargin(theta * y + self._conditional_scale(theta, y) * t_quantile(self.df + 1.0, p, 1.0 - p))

    def _sample(self, theta: float, n: int, rng: np.random.Generator) -> Pair:
        x, z = rng.standard_normal(n), rng.standard_normal(n)
        spread = rng.chisquare(self.df, n)
        scale = np.sqrt(self.df / np.maximum(spread, np.finfo(float).tiny))  # with a tiny df a draw may underflow to 0
        return x * scale, (theta * x + math.sqrt((1.0 - theta) * (1.0 + theta)) * z) * scale

    @property
    def tail(self) -> tuple[float, float]:
        return (self._corner(self.theta),) * 2

    @property
    def _anti_tail(self) -> tuple[float, float]:
        return (self._corner(-self.theta),) * 2

    def _corner(self, theta: float) -> float:
        at = -math.sqrt((self.df + 1.0) * (1.0 - theta) / (1.0 + theta))
        return float(2.0 * t_cdf(self.df + 1.0, np.asarray(at))[0])

    def _exact_kl(self, other: Copula, accept: float) -> Integral:
        if not isinstance(other, StudentT) or other.df == self.df:
            return super()._exact_kl(other, accept)
        rho_step, df_step = self.theta - other.theta, self.df - other.df
        room = self._stencil_step(self.theta) / STENCIL_STEP
        if abs(df_step) < 1e-4 * self.df and abs(rho_step) < 1e-5 * room:
            # nearly equal logs: the step times the score at the midpoint, as for theta alone
            middle = StudentT(self.theta - 0.5 * rho_step, self.df - 0.5 * df_step)

            def log_ratio(x: FloatArray, y: FloatArray) -> FloatArray:
                x_slope, y_slope = t_quantile_df_slope(middle.df, x), t_quantile_df_slope(middle.df, y)
                a, b = x - 0.5 * df_step * x_slope, y - 0.5 * df_step * y_slope
                in_df = middle._df_derivative(middle.theta, a, b, x_slope, y_slope)
                return rho_step * middle._theta_derivatives(middle.theta, a, b)[0] + df_step * in_df

            return self._divergence(self.theta, log_ratio, accept, close=True, symmetric=True)

        # under the lighter tail the remainder form misses most of the heavier one, unless they are close
        close = abs(math.log(self.df / other.df)) < 0.05 and abs(rho_step) < 0.1 * room
        return self._divergence(self.theta, partial(self._log_ratio, other), accept, close=close, symmetric=True)

    def _mutual_information(self, theta: float) -> float:
        """-log(1-rho^2)/2 + g(df): the entropies of two margins minus that of the joint distribution."""
        nu = self.df
        correlation = -0.5 * log_spread(theta)
        if nu > 100.0:
            # the closed form below cancels; its expansion is 1/2 q^2 - 1/3 q^3 - 1/4 q^4 + 3/5 q^5 + ... in q = 1/nu
            q = 1.0 / nu
            rest = 0.5 - q * (1 / 3 + q * (1 / 4 - q * (3 / 5 + q * (1 / 2 - q * (17 / 7 + q * 17 / 8)))))
            return correlation + q**2 * rest
        half = 0.5 * nu
        normalisation = 0.5 * math.log(nu) + gammaln(half) + gammaln(0.5) - gammaln(half + 0.5)
        margin = (nu + 1.0) / 2.0 * (psi(half + 0.5) - psi(half)) + normalisation
        return float(correlation + 2.0 * margin - math.log(2.0 * math.pi) - 1.0 - 2.0 / nu)


def _gamma_constant(nu: float) -> float:
    """log of Gamma(nu/2 + 1) Gamma(nu/2) / Gamma(nu/2 + 1/2)^2."""
    return half_step(0.5 * nu + 0.5) - half_step(0.5 * nu)
