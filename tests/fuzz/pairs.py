"""Fuzz targets: functions of one pair of variables, and reading of draws."""

from typing import Any

import numpy as np

import copula_discrepancy as cd
from tests.fuzz import oracle
from tests.fuzz.kinds import (
    ANYTHING,
    COLUMN,
    CONFIDENCE,
    COPULA,
    FAMILY,
    FLAG,
    JOBS,
    NAMES,
    SEED,
    TAIL,
    UNIT,
    UNIT_DRAWS,
    Kind,
    choice,
    count,
    draws,
    number,
    ordinary_copula,
)
from tests.fuzz.oracle import finite, need, within
from tests.fuzz.target import Target


def check_tau(answer: float, given: dict[str, Any]) -> None:
    within(answer, -1.0, 1.0, "tau")
    need(cd.kendall_tau(given["y"], given["x"], variant=given.get("variant", "b")) == answer, "tau is not symmetric")


def check_matrix(answer: np.ndarray, given: dict[str, Any]) -> None:
    need(answer.ndim == 2 and np.array_equal(answer, answer.T), "no symmetric matrix")
    need((np.abs(answer) <= 1).all(), f"tau {answer}")


def check_ranks(answer: np.ndarray, given: dict[str, Any]) -> None:
    need(((answer > 0) & (answer < 1)).all() and answer.ndim in (2, 3), "ranks outside the unit square")
    flat = answer.reshape(-1, answer.shape[-1])
    need(np.allclose(flat.mean(axis=0), 0.5, atol=1e-12), "ranks have another mean")


def check_long_run(answer: cd.LongRun, given: dict[str, Any]) -> None:
    equal = np.isnan(answer.variance)
    large = np.abs(np.asarray(given["influence"], dtype=float)).max() > 1e150
    oracle.unless("long_run", equal or large, (answer.variance, answer.long_run_variance, answer.se), "long run")
    oracle.unless("long_run", equal, (answer.n_eff, answer.df), "long run")
    need(equal or (answer.se >= 0 and answer.n_eff > 0 and answer.df > 0), f"{answer}")


def check_classic(answer: dict[str, float], given: dict[str, Any]) -> None:
    need(answer and all(isinstance(name, str) for name in answer), "no names")
    finite(list(answer.values()), "a size")
    need(all(value > 0 for value in answer.values()), f"{answer}")


def check_rhat(answer: dict[str, float], given: dict[str, Any]) -> None:
    single = cd.as_draws(given["draws"]).n_chains == 1
    for value in answer.values():
        oracle.unless("classic.rhat", single or np.isinf(value), value, "rhat")


def check_ksd(answer: cd.SteinDiscrepancy, given: dict[str, Any]) -> None:
    finite(answer.value, "ksd")
    need(answer.statistic == "u" or answer.value >= -1e-12, f"a negative V-statistic {answer.value}")
    need(np.isnan(answer.se) or answer.se >= 0, f"se {answer.se}")
    oracle.unless("ksd", not answer.bootstrap, answer.pvalue, "pvalue")
    need(np.isnan(answer.pvalue) or 0 <= answer.pvalue <= 1, f"pvalue {answer.pvalue}")
    need(answer.ksd >= 0 and repr(answer), "no words")


def check_adjusted(answer: np.ndarray, given: dict[str, Any]) -> None:
    before = np.asarray(given["pvalues"], dtype=float)
    need(answer.shape == before.shape, "another shape")
    need(np.array_equal(np.isnan(answer), np.isnan(before)), "other tests")
    oracle.unless("untested", np.isnan(before).any(), answer, "pvalues")
    known = ~np.isnan(before)
    need(((answer >= before - 1e-15) & (answer <= 1))[known].all(), f"{before} became {answer}")


def check_selection(answer: cd.Selection, given: dict[str, Any]) -> None:
    finite(answer.aic, "aic")
    need(list(answer.aic) == sorted(answer.aic) and answer.lead >= 0, f"aic {answer.aic}")
    within(answer.worth, 0.0, 1.0, "worth")
    for found in answer.fits[:2]:
        oracle.fit(found)
    need(answer.words() and repr(answer) and answer.best is answer.fits[0], "no words")


def check_concordance(answer: np.ndarray, given: dict[str, Any]) -> None:
    need((np.abs(answer) <= 1).all(), f"{answer}")
    need(abs(answer.mean() - cd.kendall_tau(given["x"], given["y"], variant="a")) < 1e-12, "another mean")


def infer(draws: Any, target: Any, iid: Any, **given: Any) -> cd.Discrepancy:
    return cd.discrepancy(draws, target, iid=iid).infer(progress=False, **given)


def check_inferred(answer: cd.Discrepancy, given: dict[str, Any]) -> None:
    oracle.discrepancy(answer)
    need(answer.resampled and "bootstrap" in answer.inference, "nothing was resampled")


def select(draws: Any, names: Any) -> Any:
    return cd.as_draws(draws).select(names)


def column(draws: Any, variable: Any) -> np.ndarray:
    return cd.as_draws(draws).column(variable)


def theta_estimate(draws: Any, confidence: Any) -> cd.Estimate:
    return cd.fit(draws, "frank", iid=True).theta_estimate(confidence)


def paper_test(draws: Any, alpha: Any) -> cd.PaperTest:
    return cd.discrepancy(draws, cd.Frank(2.0), iid=True).level.paper_test(alpha)


PAIR_OPTIONS = {"method": choice("mle", "moment"), "margins": choice("rank", "rank", "uniform"), "iid": FLAG}
TARGETS = [
    Target("kendall_tau", cd.kendall_tau, {"x": COLUMN, "y": COLUMN}, check_tau, 6.0, options={"variant": choice("b", "a")}),
    Target("concordance", cd.concordance, {"x": COLUMN, "y": COLUMN}, check_concordance, 4.0),
    Target(
        "kendall_matrix",
        cd.kendall_matrix,
        {"draws": draws(None)},
        check_matrix,
        5.0,
        options={"variant": choice("b", "a"), "n_jobs": JOBS},
    ),
    Target("pseudo_observations", cd.pseudo_observations, {"draws": draws(None)}, check_ranks, 6.0),
    Target(
        "as_draws",
        cd.as_draws,
        {"draws": draws(None)},
        lambda a, g: oracle.draws(a),
        12.0,
        ("Draws.select", "Draws.column", "Draws.kind", "Draws.labels"),
        options={
            "var_names": NAMES,
            "filter_vars": choice(None, "like", "regex"),
            "group": choice("posterior", "prior"),
            "chains": Kind(lambda f: f.one(None, 1, 2, "chain"), lambda f: f.one(0, -1, 3, 2.0, "x0", "", ANYTHING.odd(f))),
            "coords": Kind(
                lambda f: f.one(None, {}), lambda f: f.one({"dim": ["a"]}, {"chain": [0]}, {"draw": 3}, ANYTHING.odd(f))
            ),
            "delimiter": choice(None, None, ","),
            "kinds": Kind(
                lambda f: f.one(None, {}),
                lambda f: f.one({"x0": "nominal"}, {"x1": "id"}, {"x0": [0, 1]}, {"x9": "date"}, ANYTHING.odd(f)),
            ),
        },
    ),
    Target(
        "ess",
        cd.ess,
        {"draws": draws(None)},
        check_classic,
        2.0,
        options={"method": choice("bulk", "tail", "mean", "median", "sd")},
    ),
    Target(
        "rhat",
        cd.rhat,
        {"draws": draws(None)},
        check_rhat,
        2.0,
        options={"method": choice("rank", "split", "folded", "z_scale", "identity")},
    ),
    Target(
        "Draws.select",
        select,
        {"draws": draws(), "names": Kind(lambda f: f.one("x0", ["x1"], ("x1", "x0"), ["a", "b"]), NAMES.odd)},
        lambda a, g: oracle.draws(a),
        0.6,
    ),
    Target(
        "Draws.chain_name",
        lambda draws, chain: cd.as_draws(draws).chain_name(chain),
        {"draws": draws(), "chain": Kind(lambda f: f.one(0, -1, np.int64(0)), ANYTHING.odd)},
        lambda a, g: need(a.startswith("chain "), f"a chain called {a}"),
        0.6,
    ),
    Target(
        "Draws.column",
        column,
        {"draws": draws(), "variable": Kind(lambda f: f.one(0, 1, -1, np.int64(1)), ANYTHING.odd)},
        lambda a, g: (finite(a, "a column"), need(a.ndim == 1, "no column")),
        0.6,
    ),
    Target(
        "Fit.theta_estimate",
        theta_estimate,
        {"draws": draws(), "confidence": CONFIDENCE},
        lambda a, g: oracle.estimate(a, "theta", excused=True),
        0.6,
    ),
    Target(
        "Estimate.paper_test",
        paper_test,
        {"draws": draws(), "alpha": number(0.001, 0.5)},
        lambda a, g: need(np.isnan(a.statistic) or 0 <= a.pvalue <= 1, f"{a}"),
        0.6,
    ),
    Target("paper_ess", cd.paper_ess, {"draws": draws(None)}, check_classic, 2.0),
    Target(
        "naive_tau",
        cd.naive_tau,
        {"draws": draws(), "target": Kind(lambda f: f.one(0.3, ordinary_copula(f)), lambda f: f.number())},
        lambda a, g: within(a, 0.0, 2.0, "naive_tau"),
        2.0,
    ),
    Target("tau_influence_bound", cd.tau_influence_bound, {}, lambda a, g: need(a == 4.0, "another bound"), 0.01),
    Target(
        "contamination_bound", cd.contamination_bound, {"delta": number(0, 1)}, lambda a, g: within(a, 0.0, 2.0, "bound"), 0.5
    ),
    Target(
        "adjust_pvalues",
        cd.adjust_pvalues,
        {"pvalues": UNIT},
        check_adjusted,
        2.0,
        options={"method": choice("bh", "by", "holm", "bonferroni", "none")},
    ),
    Target(
        "long_run_variance",
        cd.long_run_variance,
        {"influence": Kind(lambda f: f.one(COLUMN.valid(f), draws().valid(f)), COLUMN.odd)},
        check_long_run,
        3.0,
        options={"iid": FLAG},
    ),
    Target(
        "fit",
        cd.fit,
        {"draws": draws(), "family": FAMILY},
        lambda a, g: oracle.fit(a),
        9.0,
        ("Fit.to_dict", "Fit.theta_estimate", "Fit.theta_interval"),
        options=PAIR_OPTIONS | {"df": number(0.5, 20)},
    ),
    Target(
        "fit, uniform margins",
        cd.fit,
        {"draws": UNIT_DRAWS, "family": FAMILY, "margins": choice("uniform")},
        lambda a, g: oracle.fit(a),
        2.0,
        options={"iid": FLAG},
    ),
    Target(
        "select_family", cd.select_family, {"draws": draws()}, check_selection, 0.4, ("Selection.words",), options={"iid": FLAG}
    ),
    Target(
        "discrepancy",
        cd.discrepancy,
        {"draws": draws(), "target": COPULA, "m": count(1, 100), "rng": SEED},
        lambda a, g: oracle.discrepancy(a),
        9.0,
        ("Discrepancy.to_dict", "Discrepancy.sentences", "Discrepancy.table_rows", "Estimate.paper_test", "Estimate.to_dict"),
        options=PAIR_OPTIONS
        | {
            "confidence": CONFIDENCE,
            "tail": TAIL,
            "estimate_df": choice(False, False, True),
            "shannon": choice("exact", "monte_carlo"),
        },
    ),
    Target(
        "discrepancy from a sample",
        cd.discrepancy,
        {"draws": draws(), "target": draws(), "family": FAMILY},
        lambda a, g: oracle.discrepancy(a),
        4.0,
        options=PAIR_OPTIONS | {"confidence": CONFIDENCE, "tail": TAIL},
    ),
    Target(
        "discrepancy, any family",
        cd.discrepancy,
        {"draws": draws(), "target": draws(), "family": choice("auto")},
        lambda a, g: oracle.discrepancy(a),
        0.2,
        options={"iid": FLAG},
    ),
    Target(
        "Discrepancy.infer",
        infer,
        {"draws": draws(), "target": COPULA, "iid": FLAG, "replications": count(10, 15), "rng": SEED},
        check_inferred,
        0.4,
        options={"method": choice("bootstrap"), "block": count(1, 5)},
    ),
    Target(
        "ksd",
        cd.ksd,
        {"draws": draws(), "target": COPULA, "rng": SEED},
        check_ksd,
        3.0,
        ("SteinDiscrepancy.to_dict",),
        options={
            "space": choice("normal", "unit"),
            "statistic": choice("u", "v"),
            "margins": choice("rank", "uniform"),
            "c": number(0.1, 3),
            "beta": number(-1, 0),
            "iid": FLAG,
            "bootstrap": count(0, 20),
            "n_jobs": JOBS,
        },
    ),
    Target(
        "ksd of a score",
        cd.ksd,
        {
            "draws": draws(None),
            "rng": SEED,
            "target": Kind(
                lambda f: f.one(lambda x: -x, np.negative, cd.GaussianTarget([0.0, 0.0], np.eye(2)).gradient),
                lambda f: f.one(
                    lambda x: x[:1],
                    lambda x: x * np.nan,
                    lambda x: "a",
                    lambda x: x.tolist(),
                    np.errstate(over="ignore")(lambda x: -1e200 * x),  # its overflow is the caller's own
                    lambda x: None,
                    lambda x: x.astype(complex),
                    len,
                    ANYTHING.odd(f),
                ),
            ),
        },
        check_ksd,
        1.5,
        options={"statistic": choice("u", "v"), "iid": FLAG, "bootstrap": count(0, 20)},
    ),
]
