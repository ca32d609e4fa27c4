"""Four functions of a family: the bias caused by ranks, the probability of a corner, the divergence of two members, and form.

`Exact` computes them by quadrature. They are smooth in tau: `Tabulated` computes them on a grid once per family and
interpolates. The error of its bias is below a hundredth of a standard error; the other two have four digits or more.

Every function takes arrays, of members of one family: one for each of several pairs of variables.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.influence import rank_bias
from copula_discrepancy.estimate.likelihood import DEGREES, student_part, with_df
from copula_discrepancy.estimate.tails import Corner, corner_share
from copula_discrepancy.families import Copula, Gaussian, Integral

Array = NDArray[np.float64]

_STEPS = 20  # grid points per unit of tau
_LAST = 18  # 0.9: closer to perfect dependence both functions are too steep, and are computed directly
# stronger dependence than this, and taus farther apart, are rare and less smooth, and are computed directly
_MODERATE, _CLOSE = 0.75, 0.1
_APART = 1e-3  # the error is of the order of its square, and rounding is far below
_ENOUGH, _FINE = 50.0, 8.0  # effective draws below which there are eight grid points per doubling
_RARE = 1e-4  # probability of a corner below which its logarithm is interpolated
_FEW_ENOUGH = 20_000  # draws: with more, the interpolation error of a corner is a hundredth of a standard error
_AROUND = np.arange(4)  # a cubic goes through four nodes


class _Tables:
    """Cached values of one family on the grid of taus: arrays with an entry per node, NaN until it is needed."""

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
        self._kept: dict[Any, Array] = {}

    def member(self, tau: float) -> Copula:
        return self.template.with_theta(self.template._theta_from_tau(tau))

    def nodes(self, key: Any, places: NDArray[np.intp], value: Callable[[int], Any], width: tuple[int, ...] = ()) -> Array:
        """Values at some places of the grid, computed where they are not known yet; `key` is the function's name."""
        known = self._known(key, (self.last - self.first + 1, *width))
        for place in np.unique(places).tolist():
            if np.isnan(known[place - self.first]).any():
                known[place - self.first] = value(place)
        found: Array = known[places - self.first]
        return found

    def corner(self, corner: Corner, share: float, places: NDArray[np.intp]) -> Array:
        """Probabilities of a corner with the same share of both variables."""
        return self.nodes((corner, share), places, lambda place: corner.probability(self.member(place / _STEPS), share, share))

    def bias(self, n: int, level: float, places: NDArray[np.intp]) -> Array:
        """The bias times the effective number of draws, which varies little."""
        n_eff = n * 2.0**level

        def value(place: int) -> float:
            if self.odd and place < 0:
                return -float(self.bias(n, level, np.array([-place]))[0])
            return n_eff * _bias_of_member(self.template, place / _STEPS, n, n_eff)

        return self.nodes((n, level), places, value)

    def form(self, order: int, places: NDArray[np.intp]) -> Array:
        """Coefficients, (place, ..., cell)."""
        return self.nodes(order, places, lambda place: copula_coefficients(self.member(place / _STEPS), order), (order**2,))

    def divergence(self, places: NDArray[np.intp], targets: NDArray[np.intp]) -> Array:
        """The quantity that `divergences` interpolates; on the diagonal the mean of both directions for two close members."""
        size = self.last - self.first + 1
        known = self._known("divergence", (size, size))
        both = (places - self.first) * size + (targets - self.first)
        for place, target in (divmod(code, size) for code in np.unique(both).tolist()):
            if math.isnan(known[place, target]):
                known[place, target] = self._divergence(place + self.first, target + self.first)
        found: Array = known.reshape(-1)[both]
        return found

    def _divergence(self, place: int, target: int) -> float:
        if self.odd and place + target < 0:  # both turned by 90 degrees
            return self._divergence(-place, -target)
        tau, aim = place / _STEPS, target / _STEPS
        ways = [(tau, aim)] if place != target else [(tau + _APART, aim - _APART), (tau - _APART, aim + _APART)]
        scaled = [self.member(a)._kl(self.member(b)).value / (a - b) ** 2 * (1.0 - a**2) * (1.0 - b**2) for a, b in ways]
        return sum(scaled) / len(scaled)

    def _known(self, key: Any, shape: tuple[int, ...]) -> Array:
        if key not in self._kept and len(self._kept) >= _MOST:
            self._kept.clear()
        return self._kept.setdefault(key, np.full(shape, math.nan))


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


class Curves(Protocol):
    """The functions of a family that a comparison needs, exact or tabulated."""

    def corner_shares(self, template: Copula, taus: Array, corner: Corner, p: Array, q: Array, n: int) -> tuple[Array, Array]:
        """Probabilities of a corner under the members with these taus, and their derivatives in tau, for n draws."""

    def tau_biases(self, template: Copula, thetas: Array, taus: Array, n: int, n_eff: Array) -> Array:
        """The mean bias, due to ranks, of the taus of copulas fitted to n draws, at their thetas and taus."""

    def divergences(self, template: Copula, thetas: tuple[Array, Array], taus: tuple[Array, Array]) -> Integral:
        """Kullback-Leibler divergences of members from others, given the thetas and taus of both."""

    def coefficients(self, template: Copula, taus: Array, order: int) -> tuple[Array, Array]:
        """Coefficients of form of the members with these taus, (member, cell), and their derivatives in tau."""


class Exact:
    """The curves by quadrature, one member after the other."""

    def corner_shares(self, template: Copula, taus: Array, corner: Corner, p: Array, q: Array, n: int) -> tuple[Array, Array]:
        """Probabilities of a corner under the members with these taus, and their derivatives with respect to tau."""
        each = zip(taus.tolist(), p.tolist(), q.tolist(), strict=True)
        found = np.array([corner_share(template, tau, corner, *shares) for tau, *shares in each]).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def tau_biases(self, template: Copula, thetas: Array, taus: Array, n: int, n_eff: Array) -> Array:
        """`rank_bias` times the derivative of tau."""
        both = zip(thetas.tolist(), n_eff.tolist(), strict=True)
        biases = [rank_bias(template.with_theta(theta), n, size) for theta, size in both]
        found: Array = template._tau_slopes(thetas) * np.array(biases)
        return found

    def divergences(self, template: Copula, thetas: tuple[Array, Array], taus: tuple[Array, Array]) -> Integral:
        """By closed form or quadrature."""
        return template._kls(*thetas)

    def coefficients(self, template: Copula, taus: Array, order: int) -> tuple[Array, Array]:
        """By quadrature, the derivatives by differences; these are one-sided at an end of the family's range."""
        low, high = template.tau_range
        values, steep = np.empty((2, taus.size, order**2))
        for k, tau in enumerate(taus.tolist()):
            ends = [min(max(tau + step, low + 1e-9), high - 1e-9) for step in (-_APART, 0.0, _APART)]
            below, here, above = (copula_coefficients(template.with_theta(template._theta_from_tau(t)), order) for t in ends)
            values[k], steep[k] = here, (above - below) / (ends[2] - ends[0])
        return values, steep


class Tabulated(Exact):
    """The curves interpolated on a grid of taus where they are smooth; otherwise as in `Exact`."""

    def corner_shares(self, template: Copula, taus: Array, corner: Corner, p: Array, q: Array, n: int) -> tuple[Array, Array]:
        """Interpolated for untied samples, unless there are so many draws that the fifth digit matters."""
        tables = _tables(template)
        usable = (p == q) & _covered(tables, taus) & (tables.shared and n <= _FEW_ENOUGH)
        shares, slopes = np.empty((2, taus.size))
        for share in np.unique(p[usable]).tolist():
            at = np.flatnonzero(usable & (p == share))
            cubic = _Cubic.at(tables, taus[at])
            values = tables.corner(corner, share, cubic.places)
            least = values.min(axis=1)
            plainly, rare = least > _RARE, (least > 0.0) & (least <= _RARE)
            shares[at[plainly]], slopes[at[plainly]] = (part[plainly] for part in cubic.of(values))
            if rare.any():
                # corners away from the dependence are nearly empty, and change by orders of magnitude between nodes
                logs, steep = (part[rare] for part in cubic.of(np.log(np.maximum(values, 1e-300))))
                shares[at[rare]], slopes[at[rare]] = np.exp(logs), np.exp(logs) * steep
            usable[at[~(plainly | rare)]] = False
        rest = np.flatnonzero(~usable)
        if rest.size:
            shares[rest], slopes[rest] = super().corner_shares(template, taus[rest], corner, p[rest], q[rest], n)
        return shares, slopes

    def tau_biases(self, template: Copula, thetas: Array, taus: Array, n: int, n_eff: Array) -> Array:
        """Interpolated in tau and in the logarithm of the effective number of draws, unless the dependence is strong."""
        tables = _tables(template)
        inner = student_part(template)
        if inner is not None and not tables.shared:
            # the bias varies slowly with df, so that of the nearest df on the grid is accurate enough
            template = with_df(template, min(DEGREES, key=lambda df: abs(math.log(df / inner.df))))
            tables = _tables(template)
        found = np.empty(taus.size)
        usable = _covered(tables, taus) & (np.abs(taus) <= _MODERATE) & tables.shared
        for k in np.flatnonzero(~usable).tolist():
            found[k] = _bias_of_member(template, float(taus[k]), n, float(n_eff[k]))
        at = np.flatnonzero(usable)
        cubic, size = _Cubic.at(tables, taus[at]), np.maximum(np.minimum(n_eff[at], float(n)), 1.0)
        fine = np.where(size >= _ENOUGH, 1.0, _FINE)  # with few draws the bias changes fast
        lower = np.floor(np.log2(size / n) * fine) / fine
        upper = np.minimum(lower + 1.0 / fine, 0.0)
        rows = []
        for levels in (lower, upper):
            row = np.empty(at.size)
            for level in np.unique(levels).tolist():
                here = levels == level
                row[here] = np.sum(cubic.weights[here] * tables.bias(n, level, cubic.places[here]), axis=1)
            rows.append(row)
        ends = n * 2.0**lower, n * 2.0**upper
        with np.errstate(invalid="ignore", divide="ignore"):  # linear in the effective number of draws
            share = np.where(upper > lower, (size - ends[0]) / (ends[1] - ends[0]), 0.0)
        found[at] = ((1.0 - share) * rows[0] + share * rows[1]) / size
        return found

    def divergences(self, template: Copula, thetas: tuple[Array, Array], taus: tuple[Array, Array]) -> Integral:
        """Interpolated between members of one family that are close to each other.

        The interpolated quantity is the divergence divided by the squared distance of the taus, which tends to half the Fisher
        information on the scale of tau, times (1 - tau^2) for both: the information grows like 1/(1 - tau)^2 towards perfect
        dependence.
        """
        if isinstance(template, Gaussian):  # a closed form
            return super().divergences(template, thetas, taus)
        tables, (tau, target) = _tables(template), taus
        near = (np.maximum(np.abs(tau), np.abs(target)) <= _MODERATE) & (np.abs(tau - target) <= _CLOSE)
        near &= _covered(tables, tau) & _covered(tables, target) & tables.shared
        found = Integral(np.empty(tau.size), np.zeros(tau.size))
        rest = np.flatnonzero(~near)
        if rest.size:
            exact = super().divergences(template, (thetas[0][rest], thetas[1][rest]), (tau[rest], target[rest]))
            found.value[rest], found.error[rest] = exact.value, exact.error
        rows, columns = (_Cubic.at(tables, values[near]) for values in (tau, target))
        nodes = tables.divergence(rows.places[:, :, None], columns.places[:, None, :])
        total = np.einsum("pa,pab,pb->p", rows.weights, nodes, columns.weights)
        found.value[near] = total * (tau[near] - target[near]) ** 2 / ((1.0 - tau[near] ** 2) * (1.0 - target[near] ** 2))
        return found

    def coefficients(self, template: Copula, taus: Array, order: int) -> tuple[Array, Array]:
        """Interpolated in tau and, for Student t copulas with a df between those of the tables, in 1/df."""
        inner = student_part(template)
        if inner is not None and not _tables(template).shared and DEGREES[0] < inner.df:
            known = sorted((1.0 / df for df in (*DEGREES, math.inf)), key=lambda x: abs(x - 1.0 / inner.df))[:4]
            members = [with_df(template, 1.0 / x) if x > 0.0 else Gaussian(0.5) for x in known]  # which theta does not matter
            parts = np.array([self.coefficients(member, taus, order) for member in members])
            share = [math.prod((1.0 / inner.df - other) / (x - other) for other in known if other != x) for x in known]
            values, steep = np.tensordot(share, parts, 1)
            return values, steep
        tables = _tables(template)
        usable = _covered(tables, taus) & tables.shared
        values, steep = np.empty((2, taus.size, order**2))
        rest = np.flatnonzero(~usable)
        if rest.size:
            values[rest], steep[rest] = super().coefficients(template, taus[rest], order)
        cubic = _Cubic.at(tables, taus[usable])
        nodes = tables.form(order, cubic.places)
        values[usable] = np.einsum("pa,pac->pc", cubic.weights, nodes)
        steep[usable] = np.einsum("pa,pac->pc", cubic.slopes, nodes)
        return values, steep


EXACT, TABULATED = Exact(), Tabulated()


def _bias_of_member(template: Copula, tau: float, n: int, n_eff: float) -> float:
    theta = template._theta_from_tau(tau)
    return template._tau_slope(theta) * rank_bias(template.with_theta(theta), n, n_eff)


def _covered(tables: _Tables, taus: Array) -> NDArray[np.bool_]:
    """Which taus lie on the grid."""
    found: NDArray[np.bool_] = (tables.first <= taus * _STEPS) & (taus * _STEPS <= tables.last)
    return found


class _Cubic(NamedTuple):
    """The four grid points around each tau, their weights in the cubic through them, and in its derivative: (tau, 4)."""

    places: NDArray[np.intp]
    weights: Array
    slopes: Array

    @classmethod
    def at(cls, tables: _Tables, taus: Array) -> "_Cubic":
        start = np.minimum(np.maximum(np.floor(taus * _STEPS) - 1.0, tables.first), tables.last - 3)
        t = taus * _STEPS - start
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
        return cls(start.astype(np.intp)[:, None] + _AROUND, np.stack(weights, axis=1), np.stack(slopes, axis=1))

    def of(self, values: Array) -> tuple[Array, Array]:
        """The interpolated values and their derivatives, from those at the grid points."""
        return np.sum(self.weights * values, axis=1), np.sum(self.slopes * values, axis=1)
