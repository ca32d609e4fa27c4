"""Smooth functions of Kendall's tau, computed on a grid once per family and interpolated: for many pairs of variables at once.

Three numbers that a single pair gets by quadrature hardly change from one tau to the next: the bias that ranks bring, the
probability of a tail corner, and the divergence of two members over the square of their distance. The interpolated bias is off
by less than a hundredth of a standard error, the other two have four digits or more.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from copula_discrepancy.families import Copula, Gaussian
from copula_discrepancy.influence import rank_bias
from copula_discrepancy.tails import Corner, corner_share

_STEPS = 20  # grid points per unit of tau
_LAST = 18  # 0.9: closer to perfect dependence both functions turn too sharply, and are computed directly
_CLOSE, _MODERATE = 0.1, 0.75  # divergences of taus that differ by more, or are larger, are computed directly: they are few
_APART = 1e-3  # the error is of the order of its square, and rounding is far below
_OCTAVES = 1.0  # grid points per doubling of the effective number of draws


@dataclass(frozen=True)
class _Family:
    """A template that equals every other one of its family and fixed choices, whatever its theta."""

    key: tuple[Any, ...]
    template: Copula = field(compare=False)

    @classmethod
    def of(cls, template: Copula) -> "_Family":
        return cls(template._margin_key, template)

    @property
    def span(self) -> tuple[int, int]:
        """First and last grid point in the family's range of taus, two points away from an end at independence."""
        low, high = self.template.tau_range
        first = -_LAST if low == -1.0 else math.ceil(low * _STEPS) + 2
        last = _LAST if high == 1.0 else math.floor(high * _STEPS) - 2
        return first, last


def corner_share_at(template: Copula, tau: float, corner: Corner, p: float, q: float) -> tuple[float, float]:
    """`corner_share`, interpolated."""
    family = _Family.of(template)
    places = _places(family, tau)
    if places is None:
        return corner_share(template, tau, corner, p, q)
    start, weights, slopes = places
    known = [_corner_node(family, start + k, corner, p, q) for k in range(4)]
    return _dot(weights, known), _dot(slopes, known)


@lru_cache(maxsize=4096)
def _corner_node(family: _Family, place: int, corner: Corner, p: float, q: float) -> float:
    template = family.template
    return corner.probability(template.with_theta(template._theta_from_tau(place / _STEPS)), p, q)


def tau_bias_at(template: Copula, tau: float, n: int, n_eff: float) -> float:
    """What ranks add to the tau of a fitted copula on average, `rank_bias` times the slope of tau, interpolated."""
    family = _Family.of(template)
    places = _places(family, tau)
    octave = math.log2(max(min(n_eff, n), 1.0) / n) * _OCTAVES
    lower = math.floor(octave)
    if places is None or n * 2.0**lower < 4.0:
        return _tau_bias(template, tau, n, n_eff)
    start, weights, _ = places
    rows = [
        _dot(weights, [_bias_node(family, start + k, n, level) for k in range(4)]) if level <= 0 else 0.0
        for level in (lower, lower + 1)
    ]
    share = octave - lower
    return ((1.0 - share) * rows[0] + share * rows[1]) / max(min(n_eff, n), 1.0)


@lru_cache(maxsize=8192)
def _bias_node(family: _Family, place: int, n: int, level: int) -> float:
    """The bias times the effective number of draws, which varies little."""
    n_eff = n * 2.0 ** (level / _OCTAVES)
    if place < 0 and family.template.parameter.lower < 0:  # families of both signs are odd
        return -_bias_node(family, -place, n, level)
    return n_eff * _tau_bias(family.template, place / _STEPS, n, n_eff)


def _tau_bias(template: Copula, tau: float, n: int, n_eff: float) -> float:
    theta = template._theta_from_tau(tau)
    return template._tau_slope(theta) * rank_bias(template.with_theta(theta), n, n_eff)


def divergence_at(template: Copula, tau: float, tau_target: float) -> float:
    """Kullback-Leibler divergence of the member with one tau from that with another, interpolated where they are close.

    What is interpolated is the divergence over the square of the distance of the taus, which is half the Fisher information,
    on the scale of tau, where they meet, times (1 - tau^2) for both: it grows like 1/(1 - tau)^2 towards perfect dependence.
    """
    family = _Family.of(template)
    rows, columns = _places(family, tau), _places(family, tau_target)
    outside = max(abs(tau), abs(tau_target)) > _MODERATE or abs(tau - tau_target) > _CLOSE
    if rows is None or columns is None or outside or isinstance(template, Gaussian):  # Gaussian copulas have a closed form
        own, target = (template.with_theta(template._theta_from_tau(value)) for value in (tau, tau_target))
        return own.kl(target)
    total = 0.0
    for k, row in enumerate(rows[1]):
        for m, column in enumerate(columns[1]):
            total += row * column * _divergence_node(family, rows[0] + k, columns[0] + m)
    return total * (tau - tau_target) ** 2 / ((1.0 - tau**2) * (1.0 - tau_target**2))


@lru_cache(maxsize=16_384)
def _divergence_node(family: _Family, place: int, target: int) -> float:
    """The interpolated function at a grid point; on the diagonal the mean of two members a little apart, seen both ways."""
    template = family.template

    def scaled(tau: float, aim: float) -> float:
        own, other = (template.with_theta(template._theta_from_tau(value)) for value in (tau, aim))
        return own.kl(other) / (tau - aim) ** 2 * (1.0 - tau**2) * (1.0 - aim**2)

    tau, aim = place / _STEPS, target / _STEPS
    if place != target:
        return scaled(tau, aim)
    return 0.5 * (scaled(tau + _APART, aim - _APART) + scaled(tau - _APART, aim + _APART))


def _places(family: _Family, tau: float) -> tuple[int, list[float], list[float]] | None:
    """The first of four grid points around tau, their weights in the cubic through them, and in its derivative."""
    first, last = family.span
    if last - first < 3 or not first <= tau * _STEPS <= last:
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
