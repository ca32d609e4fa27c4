"""What is called, continued: all pairs, vines, samplers, tuning, pictures, pages, the paper's studies."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import copula_discrepancy as cd
from tests.fuzz import oracle
from tests.fuzz.inputs import (
    ANYTHING,
    COLUMN,
    CONFIDENCE,
    COPULA,
    FAMILY,
    FLAG,
    JOBS,
    NAMES,
    SEED,
    Fuzz,
    Kind,
    anything,
    choice,
    count,
    damaged,
    draws,
    number,
    ordinary_copula,
    sample,
)
from tests.fuzz.oracle import finite, need, within
from tests.fuzz.targets import Target

# ---- all pairs ---------------------------------------------------------------------------------------------------------


def _correlations(f: Fuzz) -> np.ndarray:
    return np.corrcoef(f.rng.standard_normal((f.width, 9)))


AIM = Kind(
    lambda f: f.one(
        None, sample(f, f.width), sample(f, f.width), ordinary_copula(f), _correlations(f), {("x0", "x1"): ordinary_copula(f)}
    ),
    lambda f: f.one(
        damaged(f, sample(f, f.width)),
        damaged(f, _correlations(f)),
        {("x0", "x9"): ordinary_copula(f)},
        {},
        {("x0", "x1"): 3.0},
        {"x0": ordinary_copula(f)},
        COPULA.odd(f),
        {("x1", "x0"): COPULA.valid(f), ("x0", "x1"): ordinary_copula(f)},
        anything(f),
    ),
)
WEIGHTS = Kind(
    lambda f: f.one(np.ones((f.width, f.width)), {("x0", "x1"): 1.0}),
    lambda f: f.one(
        damaged(f, np.ones((f.width, f.width))), {("x0", "x1"): f.number()}, {("x0", "x9"): 1.0}, -np.eye(f.width), anything(f)
    ),
)
PAIRWISE_OPTIONS = {
    "method": choice("mle", "moment"),
    "iid": FLAG,
    "confidence": CONFIDENCE,
    "adjust": choice("bh", "by", "holm", "bonferroni", "none"),
    "n_jobs": JOBS,
    "var_names": NAMES,
}


def methods_of_pairs(draws: Any, target: Any, first: Any, second: Any, number: Any, **choices: Any) -> Any:
    result = cd.pairwise(draws, target, **choices)
    a, b = (result.names[name] if isinstance(name, int) and -1 <= name < 1 else name for name in (first, second))
    found = result[a, b]
    need(found.to_dict() and found.label and found.short_label, "no words")
    return [result.matrix(number), result.aggregate(number), result.fitted(a, b), result.pair(a, b), found]


def check_methods_of_pairs(answer: list[Any], given: dict[str, Any]) -> None:
    _, _, fitted, single, row = answer
    oracle.fit(fitted)
    oracle.discrepancy(single)
    need(abs(row.tau - single.tau) < 1e-12, "another tau")


def check_summary(answer: Any, given: dict[str, Any]) -> None:
    need(len(answer) >= 1, "no pairs")
    taus = answer["tau"].to_numpy()
    sample = cd.as_draws(given["draws"], var_names=given.get("var_names"))
    still = [name for k, name in enumerate(sample.names) if np.ptp(sample.values[:, :, k]) == 0]
    for label, tau in zip(answer.index, taus, strict=True):
        oracle.unless("summary", any(name in label for name in still), tau, f"tau of {label}")
    need((np.abs(taus[~np.isnan(taus)]) <= 1).all(), f"tau {taus}")
    need((answer.iloc[:, 2] <= answer.iloc[:, 3]).to_numpy()[answer["mcse"].notna()].all(), "an interval in the wrong order")


def check_breakdown(answer: dict[str, Any], given: dict[str, Any]) -> None:
    within(answer["score"], 0.0, 1.0, "score")
    for pair in answer["pairs"].values():
        within(pair["score"], 0.0, 1.0, "score of a pair")


def check_vine(answer: cd.VineGaps, given: dict[str, Any]) -> None:
    oracle.pairwise(answer)
    need(len(answer.trees()) == answer.n_trees, "another number of trees")
    need(all(edge.to_dict() and edge.label and edge.short_label for edge in answer), "no words")


RANKINGS = [
    Target(
        "pairwise",
        cd.pairwise,
        {"draws": draws(None), "target": AIM},
        lambda a, g: oracle.pairwise(a),
        4.0,
        (
            "Pairwise.to_dict",
            "Pairwise.to_dataframe",
            "Pairwise.aggregate",
            "Pairwise.overview",
            "Pairwise.sentences",
            "Pairwise.table_rows",
            "Pairwise.label",
        ),
        options=PAIRWISE_OPTIONS | {"weights": WEIGHTS},
    ),
    Target(
        "pairwise through a family",
        cd.pairwise,
        {"draws": draws(None), "target": draws(None), "family": FAMILY},
        lambda a, g: oracle.pairwise(a),
        1.5,
        options=PAIRWISE_OPTIONS,
    ),
    Target(
        "Pairwise.pair",
        methods_of_pairs,
        {
            "draws": draws(None),
            "target": AIM,
            "first": Kind(lambda f: 0, lambda f: f.one("x0", "x9", anything(f))),
            "second": Kind(lambda f: -1, lambda f: f.one("x0", 0, anything(f))),
            "number": choice("level", "shape", "cd", "ckl", "tau"),
        },
        check_methods_of_pairs,
        0.8,
        ("Pairwise.matrix", "Pairwise.fitted", "PairGap.to_dict"),
        options={"iid": FLAG},
    ),
    Target(
        "summary",
        cd.summary,
        {"draws": draws(None)},
        check_summary,
        2.0,
        options={
            "var_names": NAMES,
            "iid": FLAG,
            "confidence": CONFIDENCE,
            "round_to": Kind(lambda f: f.one(None, 2, 0), lambda f: f.one(-1, 99, "2", 1.5, True, anything(f))),
        },
    ),
    Target(
        "DependenceFidelity.compute_breakdown",
        cd.DependenceFidelity.compute_breakdown,
        {"real_data": draws(None), "synthetic_data": draws(None)},
        check_breakdown,
        0.8,
        ("DependenceFidelity",),
        options={
            "metadata": Kind(lambda f: None, lambda f: f.one({}, {"columns": {"a": {"sdtype": "numerical"}}}, anything(f)))
        },
    ),
    Target(
        "DependenceFidelity.compute",
        cd.DependenceFidelity.compute,
        {"real_data": draws(None), "synthetic_data": draws(None)},
        lambda a, g: within(a, 0.0, 1.0, "score"),
        0.4,
    ),
    Target(
        "DependenceFidelity.normalize",
        cd.DependenceFidelity.normalize,
        {"raw_score": number(0, 1)},
        lambda a, g: within(a, 0.0, 1.0, "score"),
        0.2,
    ),
    Target(
        "vine",
        cd.vine,
        {"draws": draws(None), "reference": draws(None), "n_jobs": choice(1)},
        check_vine,
        0.15,
        ("VineGaps.trees", "EdgeGap.to_dict"),
        options={
            "truncate": count(1, 3),
            "method": choice("mle", "moment"),
            "iid": FLAG,
            "confidence": CONFIDENCE,
            "var_names": NAMES,
        },
    ),
]


# ---- samplers ----------------------------------------------------------------------------------------------------------

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
            finite((row.cd, row.shape, row.level, row.ess, row.seconds), "a setting's numbers")
            oracle.unless("tuned", np.isnan(row.pvalue), row.pvalue, "pvalue")
            need(np.isnan(row.pvalue) or 0 <= row.pvalue <= 1, f"pvalue {row.pvalue}")


METHODS = ("log_density", "gradient", "stochastic_gradient", "from_draws", "to_draws")
SAMPLERS = [
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


# ---- pictures, pages, the paper's studies ------------------------------------------------------------------------------


def _axes() -> Any:
    from matplotlib.figure import Figure

    return Figure().subplots()


def plot(what: str, draws: Any, target: Any, iid: Any, **given: Any) -> Any:
    if what == "tuning":
        return cd.tune(
            lambda setting, rng: cd.Gaussian(0.4).sample(24, rng=rng), [1.0, 2.0], cd.Gaussian(0.4), n_jobs=1, rng=1
        ).plot(ax=_axes())
    if what in ("pairwise", "forest of pairs"):
        result: Any = cd.pairwise(draws, target, iid=iid)
        return result.plot(ax=_axes(), **given) if what == "pairwise" else cd.plot_tau_forest(result, ax=_axes())
    result = cd.discrepancy(draws, target, iid=iid)
    if what == "gaps":
        return result.plot(ax=_axes())
    if what == "forest":
        return cd.plot_tau_forest(result, ax=_axes(), **given)
    if what == "trace":
        return cd.plot_trace(result, ax=_axes(), **given)
    from matplotlib.figure import Figure

    return cd.plot_pair(result, ax=Figure().subplots(1, 2), **given)


def check_plot(answer: Any, given: dict[str, Any]) -> None:
    axes = np.atleast_1d(np.asarray(answer, dtype=object))
    need(all(hasattr(ax, "get_title") for ax in axes.flat), "no axes")


def page(what: str, draws: Any, target: Any, iid: Any, path: Any, **given: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        result: Any = cd.discrepancy(draws, target, iid=iid) if what == "one" else cd.pairwise(draws, target, iid=iid)
        written = result.to_html(Path(folder) / path if isinstance(path, str) else path, **given)
        text = written.read_text(encoding="utf-8")
    need(text.startswith("<!doctype html>") and "http://" not in text.replace("http://www.w3.org", ""), "no page of its own")
    return len(text) > 0


def reproduce(out: Any, **given: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return cd.reproduce(
            out=Path(folder) / out if isinstance(out, str) and "\0" not in out else out, progress=False, **given
        )


WHAT = ("gaps", "forest", "trace", "clouds")
PICTURES = [
    Target(
        "pictures of one",
        plot,
        {"what": Kind(*[lambda f: f.one(*WHAT)] * 2), "draws": draws(), "target": COPULA, "iid": FLAG},
        check_plot,
        0.15,
        ("plot_tau_forest", "plot_trace", "plot_pair", "Discrepancy.plot"),
    ),
    Target(
        "plot_pair",
        plot,
        {"what": Kind(*[lambda f: "clouds"] * 2), "draws": draws(), "target": COPULA, "iid": FLAG},
        check_plot,
        0.05,
        options={"points": count(1, 50), "rng": SEED},
    ),
    Target(
        "plot_tau_forest",
        plot,
        {"what": Kind(*[lambda f: "forest"] * 2), "draws": draws(), "target": COPULA, "iid": FLAG},
        check_plot,
        0.1,
        options={"pairs": count(1, 5), "confidence": CONFIDENCE},
    ),
    Target(
        "plot_trace",
        plot,
        {"what": Kind(*[lambda f: "trace"] * 2), "draws": draws(), "target": COPULA, "iid": FLAG},
        check_plot,
        0.05,
        options={"sizes": count(2, 5)},
    ),
    Target(
        "pictures of all",
        plot,
        {"what": Kind(*[lambda f: f.one("pairwise", "forest of pairs")] * 2), "draws": draws(None), "target": AIM, "iid": FLAG},
        check_plot,
        0.15,
        ("Pairwise.plot",),
    ),
    Target(
        "Tuning.plot",
        plot,
        {"what": Kind(*[lambda f: "tuning"] * 2), "draws": ANYTHING, "target": ANYTHING, "iid": FLAG},
        check_plot,
        0.005,
    ),
    Target(
        "pages",
        page,
        {
            "what": Kind(*[lambda f: f.one("one", "all")] * 2),
            "draws": draws(),
            "target": Kind(ordinary_copula, COPULA.odd),
            "iid": FLAG,
            "path": Kind(lambda f: "a.html", lambda f: f.one("a.txt", "no/a.html", "", "\0.html", "a", anything(f))),
        },
        lambda a, g: None,
        0.015,
        ("Discrepancy.to_html", "Pairwise.to_html"),
        options={"force": FLAG, "command": Kind(lambda f: None, lambda f: f.one("<b>", "a\nb"))},
    ),
    Target(
        "reproduce",
        reproduce,
        {
            "experiment": Kind(lambda f: "experiment1", lambda f: f.one("experiment4", "", "ALL", anything(f))),
            "replications": Kind(lambda f: 2, lambda f: f.one(0, 1, -1, 2.5, "2", None, np.nan)),
            "sizes": Kind(lambda f: [20], lambda f: f.one([], [0], [-5], ["a"], [2.5], 20, [9], [2**40], anything(f))),
            "out": Kind(lambda f: "new", lambda f: f.one("a\0b", "", None, 3, "/dev/null/x")),
            "seed": Kind(lambda f: 1, lambda f: f.one(-1, 1.5, "a", None, 10**400)),
        },
        lambda a, g: need(a.agreement and a.report and repr(a), "no words"),
        0.004,
        ("Reproduction",),
        options={"n_jobs": choice(1)},
    ),
]
