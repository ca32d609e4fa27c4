"""Small tables with columns of every kind, for pictures and pages: penguins, a ship's passengers, and orders in a shop."""

import warnings
from functools import cache

import numpy as np

import copula_discrepancy as cd

LONG = "a very long name of a level that no axis has room for, number "


def table(columns):
    """Draws of columns {name: (kind, labels, values)}."""
    values = np.stack([np.asarray(values, dtype=float) for _, _, values in columns.values()], axis=1)[None]
    kinds, levels = (tuple(column[k] for column in columns.values()) for k in (0, 1))
    incomplete = bool(np.isnan(values).any())
    return cd.Draws(values, tuple(columns), named=True, chained=False, kinds=kinds, levels=levels, incomplete=incomplete)


@cache
def penguins(seed=1, n=400, mixed=False):
    """Three species with bills of different length; `mixed` has the same columns without their dependence."""
    rng = np.random.default_rng(seed)
    species = rng.choice(3, n, p=[0.44, 0.20, 0.36])
    bill = np.array([38.8, 48.8, 47.5])[species] + np.array([2.7, 3.3, 3.1])[species] * rng.normal(size=n)
    mass = np.array([3700.0, 3730.0, 5080.0])[species] + 400.0 * rng.normal(size=n)
    island = np.where(species == 1, 1, np.where(species == 2, 0, rng.choice(3, n)))
    if mixed:
        species, island = rng.permutation(species), rng.permutation(island)
    bill[rng.random(n) < 0.05] = np.nan
    return table({
        "species": ("nominal", ("Adelie", "Chinstrap", "Gentoo"), species),
        "island": ("nominal", ("Biscoe", "Dream", "Torgersen"), island),
        "bill length": ("numeric", (), bill),
        "body mass": ("numeric", (), mass),
    })  # fmt: skip


@cache
def passengers(seed=1, n=900, mixed=False):
    """Class, sex, survival, fare and port of a ship's passengers; in the mixed table survival depends on nothing."""
    rng = np.random.default_rng(seed)
    rank = rng.choice(3, n, p=[0.24, 0.21, 0.55])
    female = rng.random(n) < np.array([0.44, 0.41, 0.29])[rank]
    chance = np.where(female, np.array([0.97, 0.92, 0.50])[rank], np.array([0.37, 0.16, 0.14])[rank])
    survived = rng.random(n) < chance
    fare = np.exp(np.array([4.1, 2.9, 2.4])[rank] + 0.6 * rng.normal(size=n))
    age = np.array([38.0, 30.0, 25.0])[rank] + 12.0 * rng.normal(size=n)
    unknown = rng.random(n) < np.where(rank == 2, 0.28, 0.08)
    relatives = rng.poisson(0.6, n)
    if mixed:
        survived, unknown = rng.permutation(survived), rng.permutation(unknown)
        fare = fare[rng.permutation(n)]
    age[unknown] = np.nan
    return table({
        "class": ("ordinal", ("third", "second", "first"), 2 - rank),
        "sex": ("nominal", ("male", "female"), female),
        "survived": ("boolean", ("False", "True"), survived),
        "fare": ("numeric", (), fare),
        "age": ("numeric", (), age),
        "relatives": ("numeric", (), np.minimum(relatives, 5)),
        "age is missing": ("missing", ("present", "missing"), unknown),
    })  # fmt: skip


@cache
def orders(seed=1, n=1500, mixed=False, levels=15):
    """Dates, an amount that grows with them, and a product with many levels, some of them rare and all with long names."""
    rng = np.random.default_rng(seed)
    day = 17_500.0 + np.floor(1800.0 * rng.random(n) ** 0.7)
    product = np.minimum(rng.geometric(0.22, n) - 1, levels - 1)
    region = np.minimum(rng.geometric(0.3, n) - 1, 9)
    region = np.where(rng.random(n) < 0.5, np.minimum(product, 9), region)
    amount = np.exp(0.0006 * (day - 17_500.0) + 0.15 * product + 0.5 * rng.normal(size=n))
    wait = rng.gamma(2.0, 3.0, n)
    if mixed:
        day, region = rng.permutation(day), rng.permutation(region)
    return table({
        "ordered on": ("date", (), day),
        "product": ("nominal", tuple(f"{LONG}{k}" for k in range(levels)), product),
        "region": ("nominal", tuple(f"region {k}" for k in range(10)), region),
        "amount": ("numeric", (), amount),
        "wait": ("duration", (), wait),
    })  # fmt: skip


MAKERS = {"penguins": penguins, "passengers": passengers, "orders": orders}


def given(name, *choices, **others):
    """One of the tables as a user has it: without the indicators of missing values, which comparisons add."""
    draws = MAKERS[name](*choices, **others)
    return draws.select([column for column, kind in zip(draws.names, draws.kinds, strict=True) if kind != "missing"])


@cache
def compared(name):
    """A ranking of one of the tables, mixed against not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.pairwise(given(name, 2, mixed=True), given(name, 1), iid=True, missing="pairs")


@cache
def breakdown(name, faithful=False):
    """The score of one of the tables, and the two tables."""
    real, synthetic = given(name, 1), given(name, 2, mixed=not faithful)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.DependenceFidelity.compute_breakdown(real, synthetic), real, synthetic
