"""Fuzz targets: samplers, their targets and tuning."""

from typing import Any

import numpy as np
from scipy import stats

import copula_discrepancy as cd
from tests.fuzz import oracle
from tests.fuzz.arrays import Fuzz, anything, damaged
from tests.fuzz.kinds import COLUMN, CONFIDENCE, COPULA, SEED, Kind, choice, count, number, ordinary_copula, sample
from tests.fuzz.oracle import finite, need, within
from tests.fuzz.target import Target

SAMPLED = Kind(
    lambda f: f.one(
        cd.GaussianTarget([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]]),
        cd.BimodalMixture(),
        cd.MetaCopula(ordinary_copula(f)),
        cd.WellingTeh(f.rng.standard_normal(9)),
        lambda x: -float(np.abs(np.clip(x, -1e9, 1e9)).sum()),
    ),
    lambda f: f.one(
        lambda x: np.nan,
        lambda x: np.inf,
        lambda x: "a",
        lambda x: None,
        lambda x: [1, 2, 3],
        lambda x, y: 0.0,
        lambda: 0.0,
        lambda x: -x,
        lambda x: x,
        lambda x, rng: -x,
        lambda x: -1e200 * x,
        lambda x: 1j,
        lambda x: -np.inf,
        cd.MetaCopula(cd.Clayton(200.0)),
        cd.WellingTeh(np.array([1e5])),
        cd.BimodalMixture(1e-3, 1e3),
        anything(f),
    ),
)
GRADIENT = Kind(lambda f: (lambda x: -x) if f.chance(0.3) else _not_density(f), SAMPLED.odd)
START = Kind(
    lambda f: f.one([0.1, 0.2], np.zeros((2, 2)), np.ones((3, 2), np.float32)),
    lambda f: f.one([], [0.0], np.zeros((2, 3)), [np.nan, 0.0], [1e308, -1e308], np.zeros((0, 2)), [[1, 2], [3]], anything(f)),
)
RUN = {"n_draws": count(1, 20), "burn_in": count(0, 10), "thin": count(1, 3), "vectorized": choice(False, False, True)}
POINT = Kind(
    lambda f: f.one([0.1, 0.2], f.rng.standard_normal((5, 2)), f.rng.standard_normal((2, 3, 2)) * 9),
    lambda f: f.one(
        damaged(f, f.rng.standard_normal((5, 2))), [np.nan, 1.0], [1e308, 1e308], [np.inf, 0.0], [30.0, 0.0], anything(f)
    ),
)


def _not_density(f: Fuzz) -> Any:
    found = SAMPLED.valid(f)
    return found if hasattr(found, "gradient") else (lambda x: -x)


def check_chains(answer: cd.Chains, given: dict[str, Any]) -> None:
    finite(answer.values, "draws")
    need(answer.values.shape[1] == given.get("n_draws", 20) and answer.values.ndim == 3, f"shape {answer.values.shape}")
    need(np.array_equal(np.asarray(answer), answer.values) and repr(answer) and answer.n_chains, "no words")
    if answer.acceptance is not None:
        need(((answer.acceptance >= 0) & (answer.acceptance <= 1)).all(), f"accepted {answer.acceptance}")


def run_sampler(sampler: str) -> Any:
    return lambda target, start, n_draws=20, burn_in=5, **given: getattr(cd, sampler)(
        target, start, n_draws=n_draws, burn_in=burn_in, **given
    )


def target_methods(target: Any, method: str, x: Any) -> Any:
    if not isinstance(target, cd.GaussianTarget | cd.BimodalMixture | cd.MetaCopula | cd.WellingTeh):
        raise cd.InputError("nothing to call")
    if method == "stochastic_gradient":
        target = cd.WellingTeh(np.arange(4.0), batch=2)
        return target.stochastic_gradient(x, np.random.default_rng(1))
    if method in ("from_draws", "to_draws"):
        target = cd.MetaCopula(cd.Gumbel(2.0), (stats.expon(), stats.norm(3.0, 2.0)))
    return getattr(target, method)(x)


def check_target_methods(answer: np.ndarray, given: dict[str, Any]) -> None:
    at = np.asarray(given["x"], dtype=float)
    shape = at.shape[:-1] if given["method"] == "log_density" else at.shape
    need(np.shape(answer) == shape, f"shape {np.shape(answer)}, not {shape}")
    if isinstance(given["target"], cd.MetaCopula) or given["method"].endswith("draws"):
        beyond = not np.abs(at).max(initial=0.0) <= 25
        oracle.unless("meta", beyond or given["method"].endswith("draws"), answer, given["method"])
    else:
        far = not np.abs(at).max(initial=0.0) <= 1e100
        oracle.unless("outside", far, answer, given["method"])


def target_sample(target: Any, n: Any, rng: Any) -> Any:
    if not isinstance(target, cd.GaussianTarget | cd.BimodalMixture | cd.MetaCopula | cd.WellingTeh):
        raise cd.InputError("nothing to call")
    need(repr(target) and target.d == 2, "no words")
    within(target.tau, -1.0, 1.0, "tau")
    return target.sample(n, rng=rng)


def check_sample(answer: np.ndarray, given: dict[str, Any]) -> None:
    finite(answer, "draws")
    need(answer.shape == (given["n"], 2), f"shape {answer.shape}")


def tune(settings: Any, target: Any, breakdown: Any, **given: Any) -> cd.Tuning:
    def sampler(setting: Any, rng: np.random.Generator) -> Any:
        return (
            breakdown
            if breakdown is not None
            else cd.Gaussian(0.4).sample(24, rng=rng).reshape(2, 12, 2) * (setting if isinstance(setting, float | int) else 1.0)
        )

    return cd.tune(sampler, settings, target, n_jobs=1, **given)


def check_tuning(answer: cd.Tuning, given: dict[str, Any]) -> None:
    need(all(answer.sentences()) and repr(answer), "no words")
    need(len(answer.to_dataframe()) == len(answer.rows) == len(answer.to_dict()["settings"]), "tables differ")
    for row in answer.rows:
        if row.failure is None:
            finite((row.cd, row.level, row.ess, row.seconds), "a setting's numbers")
            oracle.unless("few values", np.isnan(row.shape), row.shape, "shape")  # of a breakdown that repeats few points
            oracle.unless("tuned", np.isnan(row.pvalue), row.pvalue, "pvalue")
            need(np.isnan(row.pvalue) or 0 <= row.pvalue <= 1, f"pvalue {row.pvalue}")


METHODS = ("log_density", "gradient", "stochastic_gradient", "from_draws", "to_draws")
TARGETS = [
    Target(
        "metropolis",
        run_sampler("metropolis"),
        {"target": SAMPLED, "start": START, "rng": SEED, "scale": number(0.1, 2)},
        check_chains,
        2.0,
        options=RUN,
    ),
    Target(
        "sgld",
        run_sampler("sgld"),
        {"target": GRADIENT, "start": START, "rng": SEED, "step": number(0.001, 0.2)},
        check_chains,
        2.0,
        options=RUN,
    ),
    Target(
        "sghmc",
        run_sampler("sghmc"),
        {"target": GRADIENT, "start": START, "rng": SEED, "step": number(0.001, 0.2), "friction": number(0.1, 2)},
        check_chains,
        2.0,
        options=RUN,
    ),
    Target(
        "targets at points",
        target_methods,
        {"target": SAMPLED, "method": Kind(*[lambda f: f.one(*METHODS)] * 2), "x": POINT},
        check_target_methods,
        2.0,
        (
            *(
                f"{name}.{method}"
                for name in ("BimodalMixture", "GaussianTarget", "MetaCopula", "WellingTeh")
                for method in METHODS[:2]
            ),
            "WellingTeh.stochastic_gradient",
            "MetaCopula.from_draws",
            "MetaCopula.to_draws",
        ),
    ),
    Target(
        "targets sampled",
        target_sample,
        {"target": SAMPLED, "n": count(0, 9), "rng": SEED},
        check_sample,
        0.4,
        tuple(f"{name}.sample" for name in ("BimodalMixture", "GaussianTarget", "MetaCopula", "WellingTeh")),
    ),
    Target(
        "GaussianTarget",
        cd.GaussianTarget,
        {
            "mean": Kind(lambda f: [0.0] * f.width, COLUMN.odd),
            "covariance": Kind(lambda f: np.cov(f.rng.standard_normal((f.width, 9))), lambda f: damaged(f, np.eye(f.width))),
        },
        lambda a, g: need(a.d >= 1 and repr(a), "no words"),
        0.6,
    ),
    Target(
        "BimodalMixture",
        cd.BimodalMixture,
        {"centre": number(0.1, 3), "variance": number(0.01, 3)},
        lambda a, g: within(a.tau, 0.0, 0.5, "tau"),
        0.4,
    ),
    Target(
        "MetaCopula",
        cd.MetaCopula,
        {"copula": COPULA},
        lambda a, g: need(a.d == 2 and repr(a), "no words"),
        0.6,
        options={
            "margins": Kind(
                lambda f: (stats.norm(), stats.expon()),
                lambda f: f.one(
                    (stats.poisson(3), stats.norm()), (stats.norm(),), (stats.norm, stats.norm), ("norm", "norm"), anything(f)
                ),
            )
        },
    ),
    Target(
        "WellingTeh",
        cd.WellingTeh,
        {"data": COLUMN},
        lambda a, g: need(a.d == 2 and repr(a), "no words"),
        0.6,
        options={"batch": count(1, 9), "rng": SEED},
    ),
    Target(
        "tune",
        tune,
        {
            "settings": Kind(
                lambda f: f.one([1.0], [1.0, 2.0], (0.5, 1)),
                lambda f: f.one([], [1, 1], "ab", [0.0], [np.nan], ["a"], 3, anything(f)),
            ),
            "target": Kind(ordinary_copula, lambda f: f.one(anything(f), damaged(f, sample(f, 2)))),
            "rng": SEED,
            "breakdown": Kind(lambda f: None, lambda f: f.one(damaged(f, sample(f, 2)), anything(f))),
        },
        check_tuning,
        0.3,
        ("Tuning.sentences", "Tuning.to_dataframe", "Tuning.to_dict", "TunedSetting.to_dict"),
        options={
            "replications": count(1, 3),
            "by": choice("total", "level", "shape"),
            "name": choice("step"),
            "confidence": CONFIDENCE,
        },
    ),
]
