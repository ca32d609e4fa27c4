"""Data from outside the library's models: real tables, rare flags, clustered volatility, a curved posterior, joint crashes."""

import importlib
import zlib
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import multivariate_normal

# ---- real tables, all in the packages themselves --------------------------------------------------------------------------

SKLEARN = ("digits", "iris", "wine", "breast_cancer", "diabetes")
STATSMODELS = ("anes96", "fair", "randhie", "star98", "modechoice", "macrodata", "grunfeld")
MOST_ROWS = {"randhie": 2000}  # of 20,190: a split of all would only take longer


@cache
def real_table(name: str) -> np.ndarray:
    """All numeric columns of a table, unchanged; ImportError if its package is not installed."""
    if name in SKLEARN:
        return np.asarray(getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")().data, dtype=float)
    frame = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
    return frame.select_dtypes("number").to_numpy(dtype=float)


def halves(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two random halves of the rows of a table; with an odd number, one row is omitted."""
    table = real_table(name)
    rows = rng.permutation(len(table))[: MOST_ROWS.get(name)]
    half = len(rows) // 2
    return table[rows[:half]], table[rows[half : 2 * half]]


def rare_flags(rates: tuple[float, ...], correlation: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Columns of 0 and 1 with these rates, from normals with an equal correlation."""
    normal = _equicorrelated((n, len(rates)), correlation, rng)
    return (ndtr(normal) < np.asarray(rates)).astype(float)


def _equicorrelated(shape: tuple[int, ...], correlation: float, rng: np.random.Generator) -> np.ndarray:
    common = rng.standard_normal((*shape[:-1], 1))
    return np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * rng.standard_normal(shape)


# ---- clustered volatility -------------------------------------------------------------------------------------------------

OMEGA, ALPHA, BETA = 0.02, 0.09, 0.89
ASSETS, DAYS, BURN_IN, CORRELATION = 5, 2500, 500, 0.4


def innovations(n: int, df: float | None, rng: np.random.Generator, paths: int = 1) -> np.ndarray:
    """(n, paths, assets) of variance 1 with equal correlations: normal, or Student t with one divisor for all assets."""
    normal = _equicorrelated((n, paths, ASSETS), CORRELATION, rng)
    return normal if df is None else normal / np.sqrt(rng.chisquare(df, (n, paths, 1)) / (df - 2.0))


def garch_paths(days: int, df: float | None, rng: np.random.Generator, paths: int = 2) -> np.ndarray:
    """Returns (paths, days, assets) of a GARCH(1,1) process for each asset, their innovations correlated."""
    noise = innovations(BURN_IN + days, df, rng, paths)
    returns = np.empty_like(noise)
    variance = np.full(noise.shape[1:], OMEGA / (1.0 - ALPHA - BETA))
    for t, shock in enumerate(noise):
        returns[t] = np.sqrt(variance) * shock
        variance = OMEGA + ALPHA * returns[t] ** 2 + BETA * variance
    return np.swapaxes(returns[BURN_IN:], 0, 1)


# ---- Metropolis on a banana -----------------------------------------------------------------------------------------------


class Banana(NamedTuple):
    """x ~ N(0, 1), y | x ~ N(bend (x + shift)^2, width^2); shifted, so that tau is not 0."""

    bend: float
    shift: float
    width: float

    def draws(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Exact draws."""
        x = rng.standard_normal(shape)
        return np.stack([x, self.bend * (x + self.shift) ** 2 + self.width * rng.standard_normal(shape)], axis=-1)

    def log_density(self, point: np.ndarray) -> np.ndarray:
        """Up to a constant."""
        x, y = point[..., 0], point[..., 1]
        return -0.5 * (x**2 + ((y - self.bend * (x + self.shift) ** 2) / self.width) ** 2)


NARROW, WIDE = Banana(0.5, 0.7, 0.5), Banana(0.3, 1.0, 1.0)


def metropolis(
    target: Banana, runs: int, shape: tuple[int, int], step: float, thin: int, rng: np.random.Generator
) -> np.ndarray:
    """Random-walk Metropolis (run, *shape, 2) with normal steps of this size, one draw in `thin` kept; exact starts."""
    chains, draws = shape
    point = target.draws((runs, chains), rng)
    height = target.log_density(point)
    path = np.empty((draws, runs, chains, 2))
    for t in range(draws * thin):
        if t % thin == 0:
            path[t // thin] = point
        proposal = point + step * rng.standard_normal(point.shape)
        proposed = target.log_density(proposal)
        taken = -rng.standard_exponential(height.shape) < proposed - height
        point = np.where(taken[..., None], proposal, point)
        height = np.where(taken, proposed, height)
    return np.moveaxis(path, 0, 2)


# ---- joint crashes --------------------------------------------------------------------------------------------------------

CALM_CORRELATION, CRASH_SHARE, CRASH_LEVEL, CRASH_WIDTH = -0.35, 0.03, -2.5, 0.3


def crash_days(n: int, signs: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Equities and bonds: negatively correlated on most days; on a few days both fall. `signs` mirror the columns."""
    days = rng.standard_normal((n, 2))
    days[:, 1] = CALM_CORRELATION * days[:, 0] + np.sqrt(1.0 - CALM_CORRELATION**2) * days[:, 1]
    crash = rng.random(n) < CRASH_SHARE
    days[crash] = CRASH_LEVEL + CRASH_WIDTH * rng.standard_normal((int(crash.sum()), 2))
    return days * np.asarray(signs)


@cache
def crash_tau() -> float:
    """Kendall's tau of the days, exactly.

    Two days are both calm, both crashes (independent, tau 0) or one of each: then their difference is normal with a mean that
    is not 0, and the mean of the product of its signs is 4 P(both below 0) - 2 P(first below 0) - 2 P(second below 0) + 1.
    """
    both_calm = 2.0 / np.pi * np.arcsin(CALM_CORRELATION)
    mean, variance = np.full(2, CRASH_LEVEL), 1.0 + CRASH_WIDTH**2
    covariance = np.array([[variance, CALM_CORRELATION], [CALM_CORRELATION, variance]])
    below = float(multivariate_normal(mean, covariance).cdf(np.zeros(2)))
    one_of_each = 4.0 * below - 4.0 * float(ndtr(-CRASH_LEVEL / np.sqrt(variance))) + 1.0
    calm = 1.0 - CRASH_SHARE
    return float(calm**2 * both_calm + 2.0 * calm * CRASH_SHARE * one_of_each)


def gaussian_days(n: int, tau: float, rng: np.random.Generator) -> np.ndarray:
    """A Gaussian generator with this tau."""
    rho = np.sin(np.pi * tau / 2.0)
    days = rng.standard_normal((n, 2))
    days[:, 1] = rho * days[:, 0] + np.sqrt(1.0 - rho**2) * days[:, 1]
    return days


def seeds(label: str, runs: int) -> list[np.random.SeedSequence]:
    """One seed for each run of a row, independent of what else is run and of the number of processes."""
    return np.random.SeedSequence((20_240, zlib.crc32(label.encode()))).spawn(runs)
