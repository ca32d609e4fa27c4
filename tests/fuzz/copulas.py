"""Fuzz targets: methods of copulas."""

from collections.abc import Callable
from typing import Any

import numpy as np

import copula_discrepancy as cd
from tests.fuzz import oracle
from tests.fuzz.arrays import anything
from tests.fuzz.kinds import (
    COPULA,
    FAMILY_NAMES,
    SEED,
    UNIT,
    Kind,
    choice,
    count,
    number,
)
from tests.fuzz.oracle import finite, need
from tests.fuzz.target import Target


def shaped_like(answer: Any, *given: Any) -> None:
    shape = np.broadcast_shapes(*(np.shape(np.asarray(item)) for item in given))
    need(np.shape(answer) == shape, f"the answer has shape {np.shape(answer)}, not {shape}")


POINTWISE = (
    "logpdf", "pdf", "cdf", "conditional_cdf", "conditional_ppf", "score", "score_slope", "gradient", "score_gradient",
)  # fmt: skip


def at_points(copula: Any, method: str, u: Any, v: Any, **given: Any) -> Any:
    if not isinstance(copula, cd.Copula):
        raise cd.InputError("nothing to call")
    return getattr(copula, method)(u, v, **given)


def check_points(answer: Any, given: dict[str, Any]) -> None:
    parts = answer if isinstance(answer, tuple) else (answer,)
    for part in parts:
        shaped_like(part, given["u"], given["v"])
    method = given["method"]
    finite(parts, method)
    if method in ("cdf", "conditional_cdf", "conditional_ppf"):
        need(((parts[0] >= 0) & (parts[0] <= 1)).all(), f"{method} is {parts[0]}")
    if method == "pdf":
        need((np.asarray(parts[0]) >= 0).all(), "a negative density")


def check_unit_sample(answer: np.ndarray, given: dict[str, Any]) -> None:
    need(answer.shape == (given["n"], 2), f"shape {answer.shape}")
    need(((answer > 0) & (answer < 1)).all(), "draws outside the open unit square")


def of_copula(method: str) -> Callable[..., Any]:
    def call(copula: Any, **given: Any) -> Any:
        if not isinstance(copula, cd.Copula):
            raise cd.InputError("nothing to call")
        return getattr(copula, method)(**given)

    return call


def check_entropy(answer: float, given: dict[str, Any]) -> None:
    finite(answer, "entropy")
    need(given.get("method") == "monte_carlo" or answer <= 1e-9, f"entropy is {answer}")


def check_kl(answer: float, given: dict[str, Any]) -> None:
    finite(answer, "kl")
    need(given.get("method") == "monte_carlo" or answer >= -1e-9, f"kl is {answer}")


def from_tau(family: Any, tau: Any, **fixed: Any) -> cd.Copula:
    return getattr(cd, family).from_tau(tau, **fixed)


def rotated_family(base: Any, rotation: Any) -> type:
    return cd.Rotated.family(base, rotation)


THETA = number(0.0, 8.0)
TARGETS = [
    *(
        Target(
            name,
            getattr(cd, name),
            {"theta": number(low, high)} | ({"df": number(0.5, 30)} if name == "StudentT" else {}),
            lambda a, g: oracle.copula(a),
            0.3,
        )
        for name, low, high in (
            ("Clayton", 0.0, 9.0),
            ("Gumbel", 1.0, 9.0),
            ("Frank", -9.0, 9.0),
            ("Joe", 1.0, 9.0),
            ("A1", 1.0, 9.0),
            ("A2", 1.0, 9.0),
            ("Gaussian", -1.0, 1.0),
            ("StudentT", -1.0, 1.0),
        )
    ),
    Target("Rotated", cd.Rotated, {"base": COPULA, "rotation": choice(90, 180, 270)}, lambda a, g: oracle.copula(a), 0.4),
    Target(
        "Rotated.family",
        rotated_family,
        {"base": choice(*cd.FAMILIES), "rotation": choice(90, 180, 270)},
        lambda a, g: need(issubclass(a, cd.Rotated), "no class"),
        0.3,
    ),
    Target(
        "Copula.from_tau",
        from_tau,
        {
            "family": Kind(*[lambda f: f.one("Clayton", "Gumbel", "Frank", "Joe", "Gaussian", "A1")] * 2),
            "tau": number(-0.2, 1.0),
        },
        lambda a, g: (oracle.copula(a), need(abs(a.tau - float(g["tau"])) < 1e-6, "another tau")),
        0.8,
        options={"df": number(1, 9)},
    ),
    Target(
        "Copula.with_theta",
        of_copula("with_theta"),
        {"copula": COPULA, "theta": THETA},
        lambda a, g: oracle.copula(a),
        0.5,
        ("Copula",),
    ),
    Target(
        "register",
        cd.register,
        {
            "family": Kind(
                lambda f: f.one(*cd.FAMILIES), lambda f: f.one("gumbel", cd.Copula, cd.Rotated, cd.Frank(2.0), anything(f))
            )
        },
        lambda a, g: need(a is g["family"] and cd.family(a.name) is a, "another class"),
        0.1,
    ),
    Target("family", cd.family, {"name": choice(*FAMILY_NAMES)}, lambda a, g: need(issubclass(a, cd.Copula), "no family"), 0.4),
    Target(
        "Copula at points",
        at_points,
        {"copula": COPULA, "method": Kind(*[lambda f: f.one(*POINTWISE)] * 2), "u": UNIT, "v": UNIT},
        check_points,
        10.0,
        tuple(f"Copula.{name}" for name in POINTWISE),
    ),
    Target(
        "Copula.sample",
        of_copula("sample"),
        {"copula": COPULA, "n": count(0, 40), "rng": SEED},
        check_unit_sample,
        2.0,
    ),
    Target(
        "Copula.entropy",
        of_copula("entropy"),
        {"copula": COPULA, "rng": SEED},
        check_entropy,
        0.7,
        options={"method": choice("exact", "monte_carlo"), "m": count(1, 50)},
    ),
    Target(
        "Copula.kl",
        of_copula("kl"),
        {"copula": COPULA, "other": COPULA, "rng": SEED},
        check_kl,
        0.7,
        options={"method": choice("exact", "monte_carlo"), "m": count(1, 50)},
    ),
]
