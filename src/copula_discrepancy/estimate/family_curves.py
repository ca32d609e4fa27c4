"""Four functions of a family: the bias caused by ranks, the probability of a corner, the divergence of two members, and form.

`Exact` computes them by quadrature. They are smooth in tau: `Tabulated` computes them on a grid once per family and
interpolates, for many pairs of variables at once. The error of its bias is below a hundredth of a standard error; the other two
have four digits or more.
"""

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.influence import rank_bias
from copula_discrepancy.estimate.likelihood import student_part, with_df
from copula_discrepancy.estimate.screening import DEGREES
from copula_discrepancy.estimate.tails import Corner, corner_share
from copula_discrepancy.families import Copula, Gaussian, Integral

_STEPS = 20  # grid points per unit of tau
_LAST = 18  # 0.9: closer to perfect dependence both functions are too steep, and are computed directly
# stronger dependence than this, and taus farther apart, are rare and less smooth, and are computed directly
_MODERATE, _CLOSE = 0.75, 0.1
_APART = 1e-3  # the error is of the order of its square, and rounding is far below
_ENOUGH, _FINE = 50.0, 8.0  # effective draws below which there are eight grid points per doubling
_RARE = 1e-4  # probability of a corner below which its logarithm is interpolated
_FEW_ENOUGH = 20_000  # draws: with more, the interpolation error of a corner is a hundredth of a standard error


class _Tables:
    """Cached values of one family on the grid of taus."""

    def __init__(self, template: Copula) -> None:
        low, high = template.tau_range
        self.template = template
        # two points away from an end at independence
        self.first = -_LAST if low == -1.0 else math.ceil(low * _STEPS) + 2
        self.last = _LAST if high == 1.0 else math.floor(high * _STEPS) - 2
        self.odd = template.parameter.lower < 0  # families of both signs
        inner = student_part(template)
        # tables for a t copula with an arbitrary df would serve one pair only
        self.shared = self.last - self.first >= 3 and (inner is None or inner.df in DEGREES)
        self.corners: dict[tuple[Corner, float], dict[int, float]] = {}
        self.biases: dict[tuple[int, float], dict[int, float]] = {}
        self.divergences: dict[tuple[int, int], float] = {}
        self.forms: dict[tuple[int, int], NDArray[np.float64]] = {}

    def member(self, tau: float) -> Copula:
        return self.template.with_theta(self.template._theta_from_tau(tau))

    def corner(self, known: dict[int, float], place: int, corner: Corner, share: float) -> float:
        if place not in known:
            known[place] = corner.probability(self.member(place / _STEPS), share, share)
        return known[place]

    def bias(self, known: dict[int, float], place: int, n: int, level: float) -> float:
        """The bias times the effective number of draws, which varies little."""
        if self.odd and place < 0:
            return -self.bias(known, -place, n, level)
        if place not in known:
            n_eff = n * 2.0**level
            known[place] = n_eff * _bias_of_member(self.template, place / _STEPS, n, n_eff)
        return known[place]

    def divergence(self, place: int, target: int) -> float:
        """The quantity that `divergence_at` interpolates; on the diagonal the mean of both directions for two close members."""
        if self.odd and place + target < 0:  # both turned by 90 degrees
            return self.divergence(-place, -target)
        if (place, target) not in self.divergences:
            tau, aim = place / _STEPS, target / _STEPS
            ways = [(tau, aim)] if place != target else [(tau + _APART, aim - _APART), (tau - _APART, aim + _APART)]
            scaled = [self.member(a)._kl(self.member(b)).value / (a - b) ** 2 * (1.0 - a**2) * (1.0 - b**2) for a, b in ways]
            self.divergences[place, target] = sum(scaled) / len(scaled)
        return self.divergences[place, target]

    def form(self, place: int, order: int) -> NDArray[np.float64]:
        if (place, order) not in self.forms:
            self.forms[place, order] = copula_coefficients(self.member(place / _STEPS), order)
        return self.forms[place, order]


_KNOWN: dict[tuple[Any, ...], _Tables] = {}
_MOST = 256  # families and degrees of freedom, and sizes of samples in each, that are kept


def _tables(template: Copula) -> _Tables:
    key = template._margin_key
    tables = _KNOWN.get(key)
    if tables is None:
        if len(_KNOWN) >= _MOST:
            _KNOWN.clear()
        tables = _KNOWN[key] = _Tables(template)
    return tables


def _kept(tables: dict[Any, dict[int, float]], key: Any) -> dict[int, float]:
    if key not in tables and len(tables) >= _MOST:
        tables.clear()
    return tables.setdefault(key, {})


class Curves(Protocol):
    """The functions of a family that a comparison needs, exact or tabulated."""

    def corner_share(self, template: Copula, tau: float, corner: Corner, p: float, q: float, n: int) -> tuple[float, float]:
        """Probability of a corner under the family's member with this tau, and its derivative in tau, for n draws."""

    def tau_bias(self, template: Copula, theta: float, tau: float, n: int, n_eff: float) -> float:
        """The mean bias, due to ranks, of the tau of a copula fitted to n draws, at its theta and tau."""

    def divergence(self, own: Copula, target: Copula, taus: tuple[float, float]) -> Integral:
        """Kullback-Leibler divergence of a copula from another, given their taus."""

    def coefficients(self, template: Copula, tau: float, order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coefficients of form of the family's member with this tau, and their derivatives in tau."""


class Exact:
    """The curves by quadrature."""

    def corner_share(self, template: Copula, tau: float, corner: Corner, p: float, q: float, n: int = 0) -> tuple[float, float]:
        """Probability of a corner under the family's member with this tau, and its derivative with respect to tau."""
        return corner_share(template, tau, corner, p, q)

    def tau_bias(self, template: Copula, theta: float, tau: float, n: int, n_eff: float) -> float:
        """`rank_bias` times the derivative of tau."""
        return template._tau_slope(theta) * rank_bias(template.with_theta(theta), n, n_eff)

    def divergence(self, own: Copula, target: Copula, taus: tuple[float, float]) -> Integral:
        """By closed form or quadrature."""
        return own._kl(target)

    def coefficients(self, template: Copula, tau: float, order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By quadrature, the derivatives by differences; these are one-sided at an end of the family's range."""
        low, high = template.tau_range
        ends = [min(max(tau + step, low + 1e-9), high - 1e-9) for step in (-_APART, 0.0, _APART)]
        below, here, above = (copula_coefficients(template.with_theta(template._theta_from_tau(t)), order) for t in ends)
        return here, (above - below) / (ends[2] - ends[0])


class Tabulated(Exact):
    """The curves interpolated on a grid of taus where they are smooth; otherwise as in `Exact`."""

    def corner_share(self, template: Copula, tau: float, corner: Corner, p: float, q: float, n: int = 0) -> tuple[float, float]:
        """Interpolated for untied samples, unless there are so many draws that the fifth digit matters."""
        tables = _tables(template)
        places = _places(tables, tau) if tables.shared and p == q and n <= _FEW_ENOUGH else None
        if places is None:
            return super().corner_share(template, tau, corner, p, q)
        start, weights, slopes = places
        known = _kept(tables.corners, (corner, p))
        values = [tables.corner(known, start + k, corner, p) for k in range(4)]
        if min(values) > _RARE:
            return _dot(weights, values), _dot(slopes, values)
        if min(values) <= 0.0:
            return super().corner_share(template, tau, corner, p, q)
        # corners away from the dependence are nearly empty, and change by orders of magnitude between nodes
        logs = [math.log(value) for value in values]
        share = math.exp(_dot(weights, logs))
        return share, share * _dot(slopes, logs)

    def tau_bias(self, template: Copula, theta: float, tau: float, n: int, n_eff: float) -> float:
        """Interpolated in tau and in the logarithm of the effective number of draws, unless the dependence is strong."""
        tables = _tables(template)
        inner = student_part(template)
        if inner is not None and not tables.shared:
            # the bias varies slowly with df, so that of the nearest df on the grid is accurate enough
            template = with_df(template, min(DEGREES, key=lambda df: abs(math.log(df / inner.df))))
            tables = _tables(template)
        size = max(min(n_eff, float(n)), 1.0)
        places = _places(tables, tau) if tables.shared and abs(tau) <= _MODERATE else None
        if places is None:
            return _bias_of_member(template, tau, n, n_eff)
        start, weights, _ = places
        fine = 1.0 if size >= _ENOUGH else _FINE  # with few draws the bias changes fast
        lower = math.floor(math.log2(size / n) * fine) / fine
        upper = min(lower + 1.0 / fine, 0.0)
        rows = []
        for level in (lower, upper):
            known = _kept(tables.biases, (n, level))
            rows.append(_dot(weights, [tables.bias(known, start + k, n, level) for k in range(4)]))
        ends = n * 2.0**lower, n * 2.0**upper
        share = (size - ends[0]) / (ends[1] - ends[0]) if upper > lower else 0.0  # linear in the effective number of draws
        return ((1.0 - share) * rows[0] + share * rows[1]) / size

    def divergence(self, own: Copula, target: Copula, taus: tuple[float, float]) -> Integral:
        """Interpolated between members of one family that are close to each other.

        The interpolated quantity is the divergence divided by the squared distance of the taus, which tends to half the Fisher
        information on the scale of tau, times (1 - tau^2) for both: the information grows like 1/(1 - tau)^2 towards perfect
        dependence.
        """
        if isinstance(own, Gaussian) or own._margin_key != target._margin_key:  # a closed form; two families
            return super().divergence(own, target, taus)
        tables, (tau, tau_target) = _tables(own), taus
        near = tables.shared and max(abs(tau), abs(tau_target)) <= _MODERATE and abs(tau - tau_target) <= _CLOSE
        rows, columns = (_places(tables, value) for value in (tau, tau_target)) if near else (None, None)
        if rows is None or columns is None:
            return super().divergence(own, target, taus)
        total = 0.0
        for k, row in enumerate(rows[1]):
            for m, column in enumerate(columns[1]):
                total += row * column * tables.divergence(rows[0] + k, columns[0] + m)
        return Integral(total * (tau - tau_target) ** 2 / ((1.0 - tau**2) * (1.0 - tau_target**2)))

    def coefficients(self, template: Copula, tau: float, order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Interpolated in tau and, for Student t copulas with a df between those of the tables, in 1/df."""
        inner = student_part(template)
        if inner is not None and not _tables(template).shared and DEGREES[0] < inner.df:
            known = sorted((1.0 / df for df in (*DEGREES, math.inf)), key=lambda x: abs(x - 1.0 / inner.df))[:4]
            members = [with_df(template, 1.0 / x) if x > 0.0 else Gaussian(0.5) for x in known]  # which theta does not matter
            parts = np.array([self.coefficients(member, tau, order) for member in members])
            share = [math.prod((1.0 / inner.df - other) / (x - other) for other in known if other != x) for x in known]
            values, steep = np.tensordot(share, parts, 1)
            return values, steep
        tables = _tables(template)
        places = _places(tables, tau) if tables.shared else None
        if places is None:
            return super().coefficients(template, tau, order)
        start, weights, steepness = places
        nodes = np.stack([tables.form(start + k, order) for k in range(4)])
        return np.asarray(weights) @ nodes, np.asarray(steepness) @ nodes


EXACT, TABULATED = Exact(), Tabulated()


def _bias_of_member(template: Copula, tau: float, n: int, n_eff: float) -> float:
    return EXACT.tau_bias(template, template._theta_from_tau(tau), tau, n, n_eff)


def _places(tables: _Tables, tau: float) -> tuple[int, list[float], list[float]] | None:
    """The first of four grid points around tau, their weights in the cubic through them, and in its derivative."""
    first, last = tables.first, tables.last
    if not first <= tau * _STEPS <= last:
        return None
    start = min(max(math.floor(tau * _STEPS) - 1, first), last - 3)
    t = tau * _STEPS - start
    weights = [
        -(t - 1.0) * (t - 2.0) * (t - 3.0) / 6.0,
        t * (t - 2.0) * (t - 3.0) / 2.0,
        -t * (t - 1.0) * (t - 3.0) / 2.0,
        t * (t - 1.0) * (t - 2.0) / 6.0,
    ]
    slopes = [
        -(3.0 * t**2 - 12.0 * t + 11.0) / 6.0 * _STEPS,
        (3.0 * t**2 - 10.0 * t + 6.0) / 2.0 * _STEPS,
        -(3.0 * t**2 - 8.0 * t + 3.0) / 2.0 * _STEPS,
        (3.0 * t**2 - 6.0 * t + 2.0) / 6.0 * _STEPS,
    ]
    return start, weights, slopes


def _dot(weights: list[float], values: list[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))
