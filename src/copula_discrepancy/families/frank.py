"""The Frank copula: radially symmetric, no tail dependence, every Kendall's tau between -1 and 1."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, spence

from copula_discrepancy._core.arrays import namespace
from copula_discrepancy._core.blocks import Unit
from copula_discrepancy._core.checks import FloatArray, Pair
from copula_discrepancy.families.archimedean import Archimedean
from copula_discrepancy.families.formulas import Nodes, Slopes
from copula_discrepancy.families.numerics import log1mexp, log1p_quotient, minus_log
from copula_discrepancy.families.parameter import Parameter
from copula_discrepancy.families.quadrature import Integral

# Up to here the power series in theta is used: its terms are at most 0.75**k theta**k / k!, and 22 of them are exact.
_TENSOR_REACH = 0.1  # sums over tensors of draws: the closed form is accurate to 1e-12 from here on
_SERIES_REACH = 1.0
_SERIES_TERMS = 22
_SERIES_END = 1e-17
# B_2, B_4, ...: terms of the series below decrease like (z/2pi)^2k or (z/pi)^2k, so ten suffice for z <= 1 and z <= 1/2
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


@dataclass(frozen=True)
class Frank(Archimedean):
    """Frank copula, C(u, v) = -log(1 + (e^(-theta u) - 1)(e^(-theta v) - 1)/(e^-theta - 1))/theta; theta = 0 is independence.

    Kendall's tau is 1 - 4/theta (1 - D1(theta)) with Debye's function D1; there is no tail dependence (Frank, 1979; Nelsen,
    2006, family 4.2.5).

    Parameters
    ----------
    theta : float
        Any finite number, negative for negative dependence; perfect dependence is the limit at either end.

    See Also
    --------
    Gaussian : Also has both signs and no tail dependence, but more dependence in the tails.

    References
    ----------
    Frank, M. J. (1979). On the simultaneous associativity of F(x, y) and x + y - F(x, y). Aequationes Mathematicae 19, 194-226.

    Nelsen, R. B. (2006). An Introduction to Copulas, 2nd edition. Springer.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.Frank(-4.0).tau == -cd.Frank(4.0).tau
    True
    """

    name = "Frank"
    parameter = Parameter("theta", -np.inf, np.inf, False)

    # The coordinate is logit(u), exact in both tails. A negative theta is the mirror image of a positive one in u, which in
    # this coordinate is a change of sign.
    def _margin(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        return minus_log(uc, u) - minus_log(u, uc)

    def _margin_slope(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        return 1.0 / (u * uc)

    def _unmargin(self, x: FloatArray) -> Pair:
        return expit(x), expit(-x)

    # ---- the generator, theta >= 0 ---------------------------------------------------------------------------------

    def _log_generator(self, theta: float, x: FloatArray) -> FloatArray:
        t, tc = expit(x), expit(-x)
        if theta == 0:
            return np.log(minus_log(t, tc))
        # share = (e^(-theta t) - e^-theta) / (1 - e^-theta), and phi = -log(1 - share)
        log_size = float(log1mexp(np.asarray(theta)))
        log_share = -theta * t + log1mexp(theta * tc) - log_size
        share = np.exp(log_share)
        with np.errstate(divide="ignore", invalid="ignore"):  # in the branches that are not taken
            small = np.where(log_share < -30.0, log_share + 0.5 * share, np.log(-np.log1p(-share)))
            return np.where(share < 0.5, small, np.log(log_size - log1mexp(theta * t)))

    def _inverse_log_generator(self, theta: float, level: FloatArray) -> FloatArray:
        s = np.exp(level)
        with np.errstate(divide="ignore"):  # exp(level) = 0 in the branch that is not taken
            log_rest = np.where(level < -30.0, level - 0.5 * s, log1mexp(s))  # log(1 - e^-s)
        if theta == 0:
            return -s - log_rest
        log_size = float(log1mexp(np.asarray(theta)))
        share = np.exp(log_size - s)
        # e^(-theta t) = 1 - share = (1 - e^-s) + e^(-theta - s)
        with np.errstate(divide="ignore", invalid="ignore"):  # share = 1 in the branch that is not taken
            t = -np.where(share < 0.5, np.log1p(-share), np.logaddexp(log_rest, -theta - s))
        tc = np.logaddexp(0.0, theta + log_size + log_rest)
        with np.errstate(divide="ignore"):  # t underflows to 0
            return np.log(t) - np.log(tc)

    def _log_slope(self, theta: float, x: FloatArray) -> FloatArray:
        t = expit(x)
        return minus_log(t, expit(-x)) if theta == 0 else math.log(theta) - theta * t - log1mexp(theta * t)

    def _log_curvature(self, theta: float, x: FloatArray) -> FloatArray:
        t, tc = expit(x), expit(-x)
        return 2.0 * minus_log(t, tc) if theta == 0 else 2.0 * math.log(theta) - theta * t - 2.0 * log1mexp(theta * t)

    def _kendall_density(self, theta: float, x: FloatArray) -> FloatArray:
        t, tc = expit(x), expit(-x)
        if theta == 0:
            return minus_log(t, tc)
        free = np.expm1(-theta * tc) / math.expm1(-theta)
        # phi = -log(1 - share) with share = e^(-theta t) free; if share is nearly 1, phi itself is accurate
        share = np.exp(-theta * t) * free
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(share < 0.5, log1p_quotient(share) * free, np.exp(self._log_generator(theta, x) + theta * t))

    # ---- the density, any theta ------------------------------------------------------------------------------------

    def _logpdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        if theta < 0:
            return self._logpdf(-theta, -x, y)
        u, v = expit(x), expit(y)
        if theta <= _SERIES_REACH:
            return _log_sinhc(0.5 * theta)[0] - 2.0 * np.log1p(_series(theta, u, v, derivatives=0)[0])
        return _logpdf_large(theta, u, v)

    def _theta_derivatives(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        if theta < 0:
            first, second = self._theta_derivatives(-theta, -x, y)
            return -first, second
        u, v = expit(x), expit(y)
        if theta <= _SERIES_REACH:
            less_one, f1, f2 = _series(theta, u, v, derivatives=2)
            f = 1.0 + less_one
            _, s1, s2 = _log_sinhc(0.5 * theta)
            return 0.5 * s1 - 2.0 * f1 / f, 0.25 * s2 - 2.0 * (f2 / f - (f1 / f) ** 2)
        return _derivatives_large(theta, u, v)

    def _on_tensors(self, thetas: FloatArray) -> NDArray[np.bool_]:
        return np.abs(thetas) > _TENSOR_REACH

    def _tensor_sums(self, theta: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        side, size = theta.sign(), theta.abs()
        u, v = (side * x).sigmoid(), y.sigmoid()
        first, second = _derivatives_large(size, u, v)
        return _logpdf_large(size, u, v).sum(-1), (side * first).sum(-1), second.sum(-1)

    def _tensor_scores(self, theta: Any, x: Any, y: Any, slope_x: Any, slope_y: Any) -> tuple[Any, Any, Any, Any]:
        side, size = theta.sign(), theta.abs()
        u, uc, v, vc = (side * x).sigmoid(), (-side * x).sigmoid(), y.sigmoid(), (-y).sigmoid()
        first, second = _derivatives_large(size, u, v)
        (h_u, turn_u), (h_v, turn_v) = (_conditional_and_slope(size, *at) for at in ((v, vc, u), (u, uc, v)))
        # slopes have the sign of a rotation, which mirrors u or v
        in_u, in_v = 2.0 * h_u - 1.0 + 2.0 * size * turn_u, side * (2.0 * h_v - 1.0 + 2.0 * size * turn_v)
        return side * first, second.sum(-1), in_u * slope_x.sign(), in_v * slope_y.sign()

    def _unit_derivatives(self, theta: float, *unit: *Unit) -> Slopes:
        """From d log c/du = theta (2 h - 1) with h = P(V <= v | U = u)."""
        size, sign = abs(theta), math.copysign(1.0, theta)
        u, uc, v, vc = unit
        if theta < 0:
            u, uc = uc, u
        h_u, slope_u = _conditional_and_slope(size, v, vc, u)
        h_v, slope_v = _conditional_and_slope(size, u, uc, v)
        odd_u, odd_v = 2.0 * h_u - 1.0, 2.0 * h_v - 1.0
        return sign * size * odd_u, size * odd_v, odd_u + 2.0 * size * slope_u, sign * (odd_v + 2.0 * size * slope_v)

    def _conditional(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        if theta < 0:
            return self._conditional(-theta, -x, y)[::-1]
        log_odds = x if theta == 0 else _log_odds(theta, expit(x), expit(-x), expit(y))
        return expit(log_odds), expit(-log_odds)

    def _cdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        return expit(y) - super()._cdf(-theta, -x, y) if theta < 0 else super()._cdf(theta, x, y)

    def _conditional_inverse(self, theta: float, p: FloatArray, v: FloatArray, vc: FloatArray) -> Pair:
        if theta == 0:
            return p, 1.0 - p
        against = np.log1p(-p) - np.log(p)  # log odds of U > u
        if theta < 0:  # mirrored in u
            return _invert_log_odds(-theta, -against, v)[::-1]
        return _invert_log_odds(theta, against, v)

    def _sample(self, theta: float, n: int, rng: np.random.Generator) -> Pair:
        v, p = rng.uniform(size=n), rng.uniform(size=n)
        with np.errstate(divide="ignore"):  # a uniform draw of exactly 0
            return self._margin(*self._conditional_inverse(theta, p, v, 1.0 - v)), self._margin(v, 1.0 - v)

    def _nodes(self, theta: float, level: int) -> Nodes:
        x, y, weight = super()._nodes(abs(theta), level)
        return (x if theta >= 0 else -x), y, weight

    def _information_integral(self, theta: float, accept: float) -> Integral:
        return super()._information_integral(abs(theta), accept)

    def _theta_from_tau(self, tau: float) -> float:
        if abs(tau) > 0.05:
            return super()._theta_from_tau(tau)
        theta = 9.0 * tau  # tau = theta/9 - theta^3/900 + ...: Newton keeps the relative accuracy that a bracket loses at 0
        for _ in range(4):
            theta -= (self._tau(theta) - tau) / self._tau_slope(theta)
        return theta

    def _tau(self, theta: float) -> float:
        return math.copysign(1.0, theta) * _tau_and_slope(abs(theta))[0]

    def _tau_slope(self, theta: float) -> float:
        return _tau_and_slope(abs(theta))[1]

    @property
    def tail(self) -> tuple[float, float]:
        return 0.0, 0.0


def _density_base(theta: Any, u: Any, v: Any) -> Any:
    """(1 - e^-theta - (1 - e^(-theta u))(1 - e^(-theta v))) e^(theta min(u, v)) as a sum of positive terms."""
    xp = namespace(u)
    low = xp.minimum(u, v)
    return -xp.expm1(-theta * (1.0 - low)) - xp.exp(-theta * xp.abs(u - v)) * xp.expm1(-theta * low)


def _logpdf_large(theta: Any, u: Any, v: Any) -> Any:
    """The log density for theta beyond the reach of the power series."""
    xp, of_theta = namespace(u), namespace(theta)
    constant = of_theta.log(-theta * of_theta.expm1(-theta))
    return constant - theta * xp.abs(u - v) - 2.0 * xp.log(_density_base(theta, u, v))


def _derivatives_large(theta: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """Its first two theta derivatives."""
    xp, of_theta = namespace(u), namespace(theta)
    gap, top, free = xp.abs(u - v), xp.maximum(u, v), 1.0 - xp.minimum(u, v)
    n = _density_base(theta, u, v)
    e_free, e_gap, e_top = xp.exp(-theta * free), xp.exp(-theta * gap), xp.exp(-theta * top)
    n1 = (free * e_free - gap * e_gap + top * e_top) / n
    n2 = (gap**2 * e_gap - free**2 * e_free - top**2 * e_top) / n
    rest = of_theta.exp(-theta) / -of_theta.expm1(-theta)
    return 1.0 / theta + rest - gap - 2.0 * n1, -1.0 / theta**2 - rest * (1.0 + rest) - 2.0 * (n2 - n1**2)


def _conditional_and_slope(theta: float, u: FloatArray, uc: FloatArray, v: FloatArray) -> Pair:
    """P(U <= u | V = v) and its theta derivative, theta >= 0."""
    turn = v - u + uc * _bose_rest(theta * uc) - u * _bose_rest(theta * u)  # theta derivative of the log odds, negated
    if isinstance(theta, float) and theta == 0:
        return u, -u * uc * turn
    log_odds = _log_odds(theta, u, uc, v)
    h, rest = (expit(side) if isinstance(theta, float) else side.sigmoid() for side in (log_odds, -log_odds))
    return h, -h * rest * turn


def _invert_log_odds(theta: float, against: FloatArray, v: FloatArray) -> Pair:
    """(u, 1-u) from the log odds of U > u given v: e^(-theta u) = (w + e^-theta)/(w + 1), w = e^(against - theta v)."""
    log_w = against - theta * v
    u = (np.logaddexp(0.0, log_w) - np.logaddexp(-theta, log_w)) / theta
    uc = (np.logaddexp(0.0, theta + log_w) - np.logaddexp(0.0, log_w)) / theta
    return np.where(u > 0.5, 1.0 - uc, u), np.where(u > 0.5, uc, 1.0 - u)


def _log_odds(theta: float, u: FloatArray, uc: FloatArray, v: FloatArray) -> FloatArray:
    """log(h/(1-h)) of h = P(U <= u | V = v) for theta > 0; a tiny u may count as 0."""
    with np.errstate(divide="ignore"):
        return theta * (u - v) + log1mexp(theta * u) - log1mexp(theta * uc)


def _bose_rest(z: FloatArray) -> FloatArray:
    """(z/(e^z - 1) - 1)/z for z >= 0, -1/2 at 0."""
    series = -0.5 + sum(b / math.factorial(2 * k) * z ** (2 * k - 1) for k, b in enumerate(_BERNOULLI, start=1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # the branch that is not taken
        xp = namespace(z)
        found: FloatArray = xp.where(z < 1.0, series, 1.0 / xp.expm1(z) - 1.0 / z)
        return found


def _series(theta: float, u: FloatArray, v: FloatArray, *, derivatives: int) -> list[FloatArray]:
    """F - 1, where c = sinhc(theta/2)/F**2, and the requested theta derivatives, as power series in theta.

    F = (2/theta)(e^(theta/4) cosh(theta (u-v)/2) - e^(-theta/4) cosh(theta (u+v-1)/2)), and F = 1 at theta = 0.
    """
    apart, off = 0.5 * (u - v), 0.5 * (u + v - 1.0)
    bases = np.stack([0.25 + apart, 0.25 - apart, off - 0.25, -off - 0.25])
    powers = bases.copy()  # the first coefficient is 1
    sums = [np.zeros_like(apart) for _ in range(derivatives + 1)]
    for k in range(1, _SERIES_TERMS):
        powers *= bases
        coefficient = powers[0] + powers[1]
        coefficient -= powers[2]
        coefficient -= powers[3]
        for order, total in enumerate(sums):
            if k >= order:
                total += coefficient * (math.perm(k, order) * theta ** (k - order) / math.factorial(k + 1))
        if k > derivatives and theta ** (k - derivatives) < _SERIES_END:
            break  # further terms are below rounding
    return sums


def _log_sinhc(z: float) -> tuple[float, float, float]:
    """log(sinh(z)/z) and its first two derivatives for |z| <= 1/2: terms 2^2k B_2k / (2k (2k)!) z^2k."""
    terms = [(2 * k, 4.0**k * b / (2 * k * math.factorial(2 * k))) for k, b in enumerate(_BERNOULLI, start=1)]
    value, slope = sum(a * z**k for k, a in terms), sum(k * a * z ** (k - 1) for k, a in terms)
    return value, slope, sum(k * (k - 1) * a * z ** (k - 2) for k, a in terms)


def _tau_and_slope(theta: float) -> tuple[float, float]:
    """Kendall's tau for theta >= 0 and its derivative, from Debye's D1(theta) = (1/theta) * integral of t/(e^t - 1)."""
    if theta < 1.0:
        # tau = sum over k of 4 B_2k / ((2k+1) (2k)!) theta^(2k-1)
        terms = [(2 * k, 4.0 * b / ((2 * k + 1) * math.factorial(2 * k))) for k, b in enumerate(_BERNOULLI, start=1)]
        tau = sum(a * theta ** (k - 1) for k, a in terms)
        return tau, sum(a * (k - 1) * theta ** (k - 2) for k, a in terms)
    # theta D1 = pi^2/6 + theta log(1 - e^-theta) - Li2(e^-theta)
    q = math.exp(-theta)
    debye = (math.pi**2 / 6.0 + theta * math.log1p(-q) - float(spence(1.0 - q))) / theta
    tau = 1.0 - 4.0 / theta * (1.0 - debye)
    # d(theta D1) = theta/(e^theta - 1), so D1' = 1/(e^theta - 1) - D1/theta
    slope = 4.0 / theta**2 * (1.0 - debye) + 4.0 / theta * (q / (1.0 - q) - debye / theta)
    return tau, slope
