"""Columns of every kind, simulated and real, and a mixed table of 20 columns that can lose the dependence of one pair.

The strength of a pair is phi^2, the sum of its squared coefficients of form: for two columns of categories, Pearson's.
"""

import importlib
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.polynomial import legendre
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

ORDER = 4  # of form, the default of the library
GRID = 400  # cells of a probability, a multiple of 20: the shares of levels are multiples of 1/20
SPIKE = 0.7  # share of zeros


class Column(NamedTuple):
    """The values of a column, codes if it has labels, NaN where they are missing; and whether they have an order."""

    values: np.ndarray
    labels: tuple[str, ...] = ()
    ordered: bool = True

    def series(self) -> pd.Series:
        """The column as a data frame has it: categories with or without an order, flags, or numbers."""
        if not self.labels:
            return pd.Series(self.values)
        if self.labels == FLAG:
            return pd.Series(self.values == 1.0)
        return pd.Series(pd.Categorical.from_codes(self.values.astype(int), list(self.labels), ordered=self.ordered))


FLAG = ("False", "True")
Pair = tuple[Column, Column]


class Margin(NamedTuple):
    """A function of a normal: a number, a spike at 0 with positive values, or levels with the given shares."""

    kind: str
    shares: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """The number of functions that form has for it."""
        if not self.shares:
            return ORDER
        return len(self.shares) - 1 if self.kind == "nominal" else min(ORDER, len(self.shares) - 1)

    def column(self, z: np.ndarray) -> Column:
        """The column of normals z."""
        if self.kind == "numeric":
            return Column(z)
        if self.kind == "spike":
            return Column(np.maximum(z - ndtri(SPIKE), 0.0))
        places = np.searchsorted(ndtri(np.cumsum(self.shares)[:-1]), z)
        if self.kind == "nominal":  # the order of the labels is not that of the normal
            order = np.random.default_rng(len(self.shares)).permutation(len(self.shares))
            return Column(order[places].astype(float), tuple("abcdefgh"[: len(self.shares)]), ordered=False)
        if self.kind == "ordinal":
            return Column(places.astype(float), tuple(f"level {k}" for k in range(len(self.shares))))
        return Column(places.astype(float), FLAG if self.kind == "boolean" else ("present", "missing"))

    def functions(self) -> np.ndarray:
        """Orthonormal functions of a probability, on the grid: polynomials of numbers, all contrasts of levels."""
        u = (np.arange(GRID) + 0.5) / GRID
        if not self.shares:
            return np.asarray(legendre.legvander(2.0 * u - 1.0, ORDER)[:, 1:] * np.sqrt(2.0 * np.arange(1, ORDER + 1) + 1.0))
        places = np.searchsorted(np.cumsum(self.shares)[:-1], u)
        return np.asarray((np.eye(len(self.shares))[places] - self.shares) / np.sqrt(self.shares))


NUMBER = Margin("numeric")
MARGINS = {
    "nominal": Margin("nominal", (0.35, 0.25, 0.2, 0.15, 0.05)),
    "ordinal": Margin("ordinal", (0.1, 0.25, 0.35, 0.2, 0.1)),
    "boolean": Margin("boolean", (0.7, 0.3)),
    "spike": Margin("spike"),
    "missingness": Margin("missing", (0.85, 0.15)),
    "numeric": NUMBER,
}


def strength(first: Margin, second: Margin, correlation: float) -> float:
    """phi^2 of the columns of two normals with this correlation."""
    z = ndtri((np.arange(GRID) + 0.5) / GRID)
    a, b = z[:, None], z[None]
    rest = 1.0 - correlation**2
    density = np.exp((2.0 * correlation * a * b - correlation**2 * (a * a + b * b)) / (2.0 * rest))
    for axis in (0, 1, 0, 1):  # the margins are uniform, except for the cells in the corners
        density = density / density.mean(axis=axis, keepdims=True)
    return float(np.sum((first.functions().T @ density @ second.functions() / GRID**2) ** 2))


@cache
def correlation_for(first: Margin, second: Margin, wanted: float) -> float:
    """The correlation of normals whose columns have this phi^2."""
    return float(brentq(lambda rho: strength(first, second, rho) - wanted, 0.0, 0.9, xtol=1e-6))


# ---- pairs of one kind -----------------------------------------------------------------------------------------------------

CORRELATION = 0.6


def simulated(kinds: tuple[str, str], dependent: bool, n: int, rng: np.random.Generator) -> Pair:
    """Two columns from normals with a correlation of 0.6, or none."""
    z = rng.standard_normal((2, n))
    if dependent:
        z[1] = CORRELATION * z[0] + np.sqrt(1.0 - CORRELATION**2) * z[1]
    return MARGINS[kinds[0]].column(z[0]), MARGINS[kinds[1]].column(z[1])


@cache
def statsmodels_table(name: str) -> pd.DataFrame:
    """A table that comes with statsmodels."""
    return importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data


def _coded(values: pd.Series, *, ordered: bool) -> Column:
    """A column of a few values as levels."""
    levels, codes = np.unique(values.to_numpy(), return_inverse=True)
    return Column(codes.astype(float), tuple(f"{level:g}" for level in levels), ordered)


def _flag(values: np.ndarray) -> Column:
    return Column(values.astype(float), FLAG)


def _mode_and_cost() -> Pair:
    table = statsmodels_table("modechoice")
    return _coded(table["mode"], ordered=False), Column(table["gc"].to_numpy(float))


def _occupations() -> Pair:
    table = statsmodels_table("fair")
    return _coded(table["occupation"], ordered=False), _coded(table["occupation_husb"], ordered=False)


def _ratings() -> Pair:
    table = statsmodels_table("fair")
    return _coded(table["rate_marriage"], ordered=True), _coded(table["religious"], ordered=True)


def _education_and_age() -> Pair:
    table = statsmodels_table("anes96")
    return _coded(table["educ"], ordered=True), Column(table["age"].to_numpy(float))


def _deductible_and_payment() -> Pair:
    table = statsmodels_table("randhie")
    return _flag(table["idp"].to_numpy()), Column(table["lpi"].to_numpy(float))


def _schools() -> Pair:
    table = statsmodels_table("star98")
    return Column(table["PCTYRRND"].to_numpy(float)), Column(table["LOWINC"].to_numpy(float))


def _years_and_affairs() -> Pair:
    """Two thirds are 0, and the others have many ties."""
    table = statsmodels_table("fair")
    return _coded(table["yrs_married"], ordered=True), Column(table["affairs"].to_numpy(float))


def _missing_fertility() -> Pair:
    table = statsmodels_table("fertility")
    missing = table["1963"].isna().to_numpy()
    return Column(missing.astype(float), ("present", "missing")), Column(table["2007"].to_numpy(float))


def _missing_by_occupation() -> Pair:
    """Whether a value is missing, made at random with a probability that depends on the occupation."""
    occupation = _occupations()[0]
    missing = np.random.default_rng(1).random(occupation.values.size) < 0.05 + 0.06 * occupation.values
    return Column(missing.astype(float), ("present", "missing")), occupation


class Kind(NamedTuple):
    """Two kinds of columns: their margins when simulated, and a real pair with its name."""

    margins: tuple[str, str]
    real: Callable[[], Pair]
    source: str
    leveled: bool = False  # both ordered, and Kendall's tau is tested too

    @property
    def name(self) -> str:
        """Both kinds."""
        return " x ".join(reversed(self.margins))


KINDS = (
    Kind(("nominal", "numeric"), _mode_and_cost, "modechoice: mode, gc"),
    Kind(("nominal", "nominal"), _occupations, "fair: occupation, occupation_husb"),
    Kind(("ordinal", "ordinal"), _ratings, "fair: rate_marriage, religious", leveled=True),
    Kind(("numeric", "ordinal"), lambda: _education_and_age()[::-1], "anes96: age, educ", leveled=True),
    Kind(("numeric", "boolean"), lambda: _deductible_and_payment()[::-1], "randhie: lpi, idp", leveled=True),
    Kind(("numeric", "spike"), lambda: _schools()[::-1], "star98: LOWINC, PCTYRRND", leveled=True),
    Kind(("ordinal", "spike"), _years_and_affairs, "fair: yrs_married, affairs", leveled=True),
    Kind(("numeric", "missingness"), lambda: _missing_fertility()[::-1], "fertility: 2007, 1963 missing"),
    Kind(("nominal", "missingness"), lambda: _missing_by_occupation()[::-1], "fair: occupation, missing values added"),
)


def resampled(kind: Kind, dependent: bool, n: int, rng: np.random.Generator) -> Pair:
    """n rows of a real pair with replacement; independent columns are resampled one by one."""
    first, second = kind.real()
    rows = rng.integers(first.values.size, size=n)
    others = rows if dependent else rng.integers(first.values.size, size=n)
    return first._replace(values=first.values[rows]), second._replace(values=second.values[others])


def sample(kind: Kind, population: str, dependent: bool, n: int, rng: np.random.Generator) -> Pair:
    """One sample of a pair, simulated or real."""
    if population == "real":
        return resampled(kind, dependent, n, rng)
    return simulated(kind.margins, dependent, n, rng)


# ---- a mixed table of 20 columns ------------------------------------------------------------------------------------------

_FACTORS = 4
_LOADINGS = (0.3, 0.5, 0.6)
_ORDINALS = ((0.3, 0.4, 0.3), (0.1, 0.25, 0.35, 0.2, 0.1), (0.4, 0.3, 0.2, 0.1), (0.5, 0.25, 0.15, 0.1), (0.2,) * 5)
_NOMINALS = (
    (0.5, 0.3, 0.2),
    (0.4, 0.3, 0.2, 0.1),
    (0.35, 0.25, 0.2, 0.15, 0.05),
    (0.25, 0.2, 0.2, 0.15, 0.1, 0.1),
    (0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05),
)
COLUMNS: dict[str, Margin] = {
    **{f"number{k}": NUMBER for k in range(6)},
    **{f"ordinal{k}": Margin("ordinal", shares) for k, shares in enumerate(_ORDINALS)},
    **{f"flag{k}": Margin("boolean", (1.0 - share, share)) for k, share in enumerate((0.5, 0.3, 0.2, 0.1))},
    **{f"nominal{len(shares)}": Margin("nominal", shares) for shares in _NOMINALS},
}
NAMES = tuple(COLUMNS)
# of two factors each, so that they are independent of each other as soon as their own noise is
LOST = (
    ("number0", "number3"),
    ("number2", "nominal5"),
    ("ordinal1", "flag1"),
    ("ordinal3", "nominal3"),
    ("nominal4", "nominal8"),
    ("number2", "ordinal3"),
)


def _loading(name: str) -> float:
    return _LOADINGS[NAMES.index(name) % len(_LOADINGS)]


def mixed(n: int, rng: np.random.Generator, pair: tuple[str, str] | None = None, phi2: float = 0.0) -> pd.DataFrame:
    """A table of 20 columns; every fourth has a factor in common.

    The two of `pair`, of different factors, depend on each other with this phi^2; no other pair is changed by it, because it is
    their own noise that is correlated.
    """
    common, noise = rng.standard_normal((_FACTORS, n)), rng.standard_normal((len(NAMES), n))
    if pair is not None:
        first, second = (NAMES.index(name) for name in pair)
        assert first % _FACTORS != second % _FACTORS
        own = [np.sqrt(1.0 - _loading(name) ** 2) for name in pair]
        rho = correlation_for(COLUMNS[pair[0]], COLUMNS[pair[1]], phi2) / (own[0] * own[1])
        noise[second] = rho * noise[first] + np.sqrt(1.0 - rho**2) * noise[second]
    columns = {}
    for k, (name, margin) in enumerate(COLUMNS.items()):
        loading = _loading(name)
        z = loading * common[k % _FACTORS] + np.sqrt(1.0 - loading**2) * noise[k]
        columns[name] = margin.column(z).series()
    return pd.DataFrame(columns)


def scored(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """A table of 8 columns with strong and weak dependence, for scores: two numbers and two of each kind of levels."""
    factor = rng.standard_normal((2, n))
    margins = [NUMBER, NUMBER, MARGINS["ordinal"], MARGINS["ordinal"], MARGINS["boolean"], MARGINS["boolean"]]
    margins += [MARGINS["nominal"], Margin("nominal", (0.5, 0.3, 0.2))]
    columns = {}
    for k, margin in enumerate(margins):
        loading = (0.85, 0.7)[k // 2 % 2]
        z = loading * factor[k % 2] + np.sqrt(1.0 - loading**2) * rng.standard_normal(n)
        columns[f"{margin.kind}{k}"] = margin.column(z).series()
    return pd.DataFrame(columns)


def shuffled(table: pd.DataFrame, share: float, rng: np.random.Generator) -> pd.DataFrame:
    """The table with this share of the cells of every column, chosen column by column, in another order."""
    columns = {}
    for name in table:
        rows = np.flatnonzero(rng.random(len(table)) < share)
        places = np.arange(len(table))
        places[rows] = rng.permutation(rows)
        columns[name] = table[name].take(places).reset_index(drop=True)
    return pd.DataFrame(columns)


def large(n: int, rng: np.random.Generator, columns: int = 50) -> pd.DataFrame:
    """Numbers, categories of eight levels, flags, integers, and numbers with missing values that depend on them."""
    factors = rng.standard_normal((5, n))
    found = {}
    for k in range(columns):
        x = 0.7 * factors[k % 5] + 0.7 * rng.standard_normal(n)
        if k % 5 == 0:
            found[f"number{k}"] = pd.Series(x)
        elif k % 5 == 1:
            labels = [f"level{label}" for label in (3, 1, 5, 7, 0, 2, 6, 4)]
            found[f"category{k}"] = pd.Series(pd.Categorical.from_codes(np.digitize(x, np.linspace(-1.5, 1.5, 7)), labels))
        elif k % 5 == 2:
            found[f"flag{k}"] = pd.Series(x > 1.0)
        elif k % 5 == 3:
            found[f"integer{k}"] = pd.Series(np.round(2.0 * x).astype(int))
        else:
            missing = rng.random(n) < 0.1 + 0.05 * (ndtr(x) > 0.5)
            found[f"gaps{k}"] = pd.Series(np.where(missing, np.nan, np.exp(x)))
    return pd.DataFrame(found)
