"""Random arguments by kind: valid, nearly valid or invalid.

An input is known by (seed, number). Most begin as a valid call, of which at most three arguments are then replaced.
"""

import fractions
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import copula_discrepancy as cd
from tests.fuzz.arrays import Fuzz, anything, contained, damaged, damaged_frame, retyped, values


@dataclass(frozen=True)
class Kind:
    """A kind of argument: valid values, and values that may be invalid."""

    valid: Callable[[Fuzz], Any]
    odd: Callable[[Fuzz], Any]


def sample(f: Fuzz, d: int) -> np.ndarray:
    """Draws of d variables, with or without chains."""
    if f.chance(0.3):
        chains = f.between(1, 4)
        x = np.stack([values(f, max(f.n // chains, 2), d) for _ in range(chains)])
    else:
        x = values(f, f.n, d)
    return retyped(f, x) if f.chance(0.4) else x


def _odd_sample(f: Fuzz, d: int) -> Any:
    x = sample(f, d)
    if f.chance(0.12):
        return anything(f)
    if f.chance(0.12):
        return damaged_frame(f, x.reshape(-1, d))
    given = damaged(f, x)
    return contained(f, given) if isinstance(given, np.ndarray) and given.ndim in (1, 2, 3) and f.chance(0.2) else given


def draws(d: int | None = 2) -> Kind:
    """A sample of d variables, or of any small number of them."""
    return Kind(lambda f: contained(f, sample(f, d or f.width)), lambda f: _odd_sample(f, d or f.width))


def _unit(f: Fuzz, d: int) -> np.ndarray:
    x = f.one(f.rng.random((f.n, d)), cd.Gumbel(2.0).sample(f.n, rng=f.rng) if d == 2 else f.rng.random((f.n, d)))
    ends = f.rng.choice([5e-324, 1e-300, 1e-16, 1 - 2**-53, 1e-3, 0.5, 0.999999], x.shape)
    return np.where(f.rng.random(x.shape) < f.one(0.0, 0.0, 0.2), ends, np.clip(x, 1e-12, 1 - 1e-12))


def column_of(make: Callable[[Fuzz], np.ndarray]) -> Kind:
    """One variable."""
    return Kind(
        lambda f: contained(f, make(f)),
        lambda f: anything(f) if f.chance(0.2) else damaged(f, make(f)),
    )


COLUMN = column_of(lambda f: retyped(f, values(f, f.n, 1)[:, 0]) if f.chance(0.3) else values(f, f.n, 1)[:, 0])
UNIT = column_of(lambda f: _unit(f, 1)[:, 0] if f.chance(0.9) else _unit(f, 1)[:1, 0])
UNIT_DRAWS = Kind(lambda f: _unit(f, 2), lambda f: damaged(f, _unit(f, 2)))
ANYTHING = Kind(anything, anything)


def choice(*names: Any) -> Kind:
    """One of some names; invalid ones are other spellings or not strings."""

    def odd(f: Fuzz) -> Any:
        name = f.one(*names)
        spelled = [str(name).upper(), f" {name}", str(name)[:-1], np.str_(str(name)), [name]]
        return f.one(*spelled) if f.chance(0.5) else anything(f)

    return Kind(lambda f: f.one(*names), odd)


def number(low: float, high: float) -> Kind:
    """A number in a range, of any type; invalid ones are anywhere."""

    def valid(f: Fuzz) -> Any:
        x = f.rng.uniform(low, high)
        return f.one(float(x), float(x), np.float64(x), np.float32(x), fractions.Fraction(x))

    return Kind(valid, lambda f: f.number() if f.chance(0.6) else anything(f))


def count(low: int, high: int) -> Kind:
    """An integer in a range; invalid ones are small, fractional or not numbers, but never large enough to exhaust memory."""

    def odd(f: Fuzz) -> Any:
        found = f.one(
            0, -1, low - 1, 1.0, 2.5, "3", np.nan, None, True, 10**400, 2**63, -(2**63), np.int8(3), f.one(anything(f))
        )
        return 1 if isinstance(found, int | np.integer) and 10**4 < found < 2**40 else found

    return Kind(lambda f: f.one(f.between(low, high), np.int64(f.between(low, high))), odd)


FLAG = choice(True, False)
CONFIDENCE = number(0.5, 0.999)
TAIL = number(0.01, 0.4)
JOBS = Kind(lambda f: f.one(1, 1, None, -1), lambda f: f.one(0, -7, 1.5, "all", None, np.nan, [1], 2, True))
SEED = Kind(
    lambda f: f.one(f.between(0, 2**32), np.random.default_rng(f.between(0, 99)), np.random.SeedSequence(f.between(0, 99))),
    lambda f: f.one(-1, 1.5, "seed", [1, 2], [-1], np.nan, {}, 2**80, np.random.RandomState(1), True, object()),
)
FAMILY_NAMES = (
    "clayton", "gumbel", "frank", "joe", "a1", "a2", "gaussian", "studentt", "clayton90", "gumbel180", "joe270", "Gumbel", "t",
    "student_t", "a2180", "survival clayton", "CLAYTON", "a190",
)  # fmt: skip


def _theta(f: Fuzz, family: type) -> float:
    if family in (cd.Gaussian, cd.StudentT):
        return float(f.one(f.rng.uniform(-0.99, 0.99), 0.0, 0.999999, -0.999999, 1 - 1e-12, 1e-300))
    low = {cd.Frank: -30.0, cd.Clayton: 0.0}.get(family, 1.0)
    return float(f.one(*([f.rng.uniform(low, low + 10)] * 5), low if low > -1 else 0.0, low + 1e-9, low + 40.0, 200.0, 1e4))


def copula(f: Fuzz) -> cd.Copula:
    """A member of any family, from weak to nearly perfect dependence, rotated or not."""
    family = f.one(*cd.FAMILIES)
    theta = _theta(f, family)
    made = family(theta, f.one(4.0, 1.0, 0.5, 30.0, 2.5)) if family is cd.StudentT else family(theta)
    return cd.Rotated(made, f.one(90, 180, 270)) if f.chance(0.25) else made


def ordinary_copula(f: Fuzz) -> cd.Copula:
    """A member of a family with moderate dependence, for functions that are slow in extreme cases."""
    tau = float(f.rng.uniform(0.6, 0.8) if f.chance(0.3) else f.rng.uniform(0.05, 0.5))
    family = f.one(*cd.FAMILIES) if tau >= 0.6 else f.one(cd.Clayton, cd.Gumbel, cd.Frank, cd.Joe, cd.Gaussian, cd.StudentT)
    made = family.from_tau(tau, df=4.0) if family is cd.StudentT else family.from_tau(tau)
    return cd.Rotated(made, f.one(90, 180, 270)) if f.chance(0.2) else made


COPULA = Kind(
    lambda f: copula(f) if f.chance(0.3) else ordinary_copula(f), lambda f: copula(f) if f.chance(0.4) else anything(f)
)
FAMILY = Kind(
    lambda f: f.one(*FAMILY_NAMES[:11], *cd.FAMILIES, ordinary_copula(f), cd.Rotated.family(cd.Clayton, 90)),
    lambda f: f.one(*FAMILY_NAMES, "", "gumble", cd.Copula, cd.Rotated, "auto", anything(f)),
)
NAMES = Kind(
    lambda f: f.one(None, None, None, ["x0", "x1"], ["a", "b"], "x0", ["~x2"]),
    lambda f: f.one(["x0", "x0"], ["x9"], "~x0", ["~x0", "x1"], [], [0, 1], ["theta"], "x", ["a"], [None], anything(f)),
)
