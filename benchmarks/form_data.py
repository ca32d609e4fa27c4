"""Pairs of variables with dependence of many kinds, as functions of standard normals; with autocorrelation where asked for."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

RHO = float(np.sin(0.2 * np.pi))  # correlation of an elliptical copula with tau 0.4
HEIGHT = 3.0  # standard deviation of the first variable of Neal's funnel


class Shape(NamedTuple):
    """A pair of variables made of this many independent standard normals, for each draw."""

    normals: int
    pair: Callable[..., tuple[np.ndarray, np.ndarray]]


def _correlated(rho: float) -> Shape:
    return Shape(2, lambda a, b: (a, rho * a + np.sqrt(1.0 - rho**2) * b))


def _student(rho: float) -> Shape:
    """Student t with 3 degrees of freedom."""

    def pair(a: np.ndarray, b: np.ndarray, *squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scale = np.sqrt(np.mean(np.square(squared), axis=0))
        return a / scale, (rho * a + np.sqrt(1.0 - rho**2) * b) / scale

    return Shape(5, pair)


def _ring(angle: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    radius, angle = 1.0 + 0.1 * width, 2.0 * np.pi * ndtr(angle)
    return radius * np.cos(angle), radius * np.sin(angle)


def _clayton(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """theta 2, by the conditional distribution."""
    u, p = ndtr(a), ndtr(b)
    return u, ((p ** (-2.0 / 3.0) - 1.0) * u**-2.0 + 1.0) ** -0.5


def _gumbel(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """theta 2, by a frailty: the stable law of index 1/2 is that of 1 / (2 z^2)."""
    frailty = 0.5 / a**2
    x, y = (np.exp(-np.sqrt(-np.log(ndtr(z)) / frailty)) for z in (b, c))
    return x, y


SHAPES = {
    "independence": Shape(2, lambda a, b: (a, b)),
    "Gaussian 0.8": _correlated(0.8),
    "funnel": Shape(2, lambda a, b: (a, np.exp(1.5 * a) * b)),
    "banana": Shape(2, lambda a, b: (a, a**2 + 0.3 * b)),
    "ring": Shape(2, _ring),
    "t(3)": _student(0.0),
    "Clayton, tau 0.5": Shape(2, _clayton),
    "Gumbel, tau 0.5": Shape(3, _gumbel),
    "X": Shape(3, lambda a, b, c: (a, np.sign(b) * a + 0.1 * c)),
    "funnel exp(0.15 z)": Shape(2, lambda a, b: (a, np.exp(0.15 * a) * b)),
    "banana 0.2 z^2": Shape(2, lambda a, b: (a, 0.2 * a**2 + b)),
    "spread 1 + 0.3 |z|": Shape(2, lambda a, b: (a, (1.0 + 0.3 * np.abs(a)) * b)),
    "Gaussian, tau 0.4": _correlated(RHO),
    "t(3), tau 0.4": _student(RHO),
}


def normals(number: int, size: tuple[int, int], phi: float, rng: np.random.Generator) -> np.ndarray:
    """Stationary Gaussian AR(1) chains (number, *size) of variance 1."""
    noise = rng.standard_normal((number, *size))
    noise[:, :, 1:] *= np.sqrt(1.0 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=-1) if phi else noise


def draws(name: str, size: tuple[int, int], phi: float, rng: np.random.Generator, share: float = 1.0) -> np.ndarray:
    """Draws (*size, 2) that keep this share of the dependence of a shape.

    Each draw keeps its second value with this probability, and has that of an independent chain otherwise: all coefficients of
    the copula, which is a mixture with independence, are this share of the shape's.
    """
    shape = SHAPES[name]
    x, y = shape.pair(*normals(shape.normals, size, phi, rng))
    if share < 1.0:
        other = shape.pair(*normals(shape.normals, size, phi, rng))[1]
        y = np.where(rng.random(size) < share, y, other)
    return np.stack([x, y], axis=-1)


# ---- Neal's funnel in ten dimensions --------------------------------------------------------------------------------------


def neal(size: tuple[int, int], rng: np.random.Generator, d: int = 10) -> np.ndarray:
    """Exact draws of Neal's funnel: v ~ N(0, 3^2), and d - 1 variables N(0, exp(v)) given v."""
    v = HEIGHT * rng.standard_normal((*size, 1))
    return np.concatenate([v, np.exp(0.5 * v) * rng.standard_normal((*size, d - 1))], axis=-1)


def mean_field(d: int = 10) -> tuple[float, float, float]:
    """Mean and variance of v, and variance of the others, in the best mean-field Gaussian approximation of Neal's funnel.

    The evidence lower bound is, up to a constant, -(m^2 + s^2) / 18 - k m / 2 - k t^2 exp(s^2 / 2 - m) / 2 + log s + k log t
    with k = d - 1: the best t^2 is exp(m - s^2 / 2), and with it m = 0 and s^2 = 1 / (1 / 9 + k / 2).
    """
    variance = 1.0 / (1.0 / HEIGHT**2 + 0.5 * (d - 1))
    return 0.0, variance, float(np.exp(-0.5 * variance))


def variational(size: tuple[int, int], rng: np.random.Generator, d: int = 10) -> np.ndarray:
    """Draws of the mean-field approximation."""
    mean, variance, others = mean_field(d)
    scales = np.sqrt(np.array([variance] + [others] * (d - 1)))
    return np.array([mean] + [0.0] * (d - 1)) + scales * rng.standard_normal((*size, d))
