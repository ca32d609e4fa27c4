"""Fuzz targets: all pairs, vines, and tables in the format of other tools."""

import math
from typing import Any

import numpy as np

import copula_discrepancy as cd
from tests.fuzz import oracle
from tests.fuzz.arrays import Fuzz, anything, damaged
from tests.fuzz.kinds import (
    CONFIDENCE,
    COPULA,
    FAMILY,
    FLAG,
    JOBS,
    NAMES,
    TAIL,
    Kind,
    choice,
    count,
    draws,
    number,
    ordinary_copula,
    sample,
)
from tests.fuzz.oracle import need, within
from tests.fuzz.target import Target


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
    "tail": TAIL,
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


def check_groups(answer: cd.GroupedPairwise, given: dict[str, Any]) -> None:
    need(answer.sentences() and all(answer.sentences().values()) and answer.overview() and answer.to_dict(), "no words")
    need(repr(answer) and answer._repr_html_() and answer.verdict and answer.title, "no words")
    need(len(answer.table_rows(None)) == len(answer) + 2, "a table of another length")
    need(len(answer.to_dataframe()) == len(answer.overall) + sum(map(len, answer.groups.values())), "another number of pairs")
    for found in (answer.overall, *answer.groups.values()):
        oracle.pairwise(found)
    for label in answer:
        need(min(answer.sizes(label)) >= 24 and label not in answer.left_out, f"a small group {label}")
    for reversal in answer.reversals:
        need(reversal.to_dict() and reversal.label and set(reversal.groups) <= set(answer.flagged), "a reversal without a gap")


def with_groups(draws: Any, target: Any, by: Any, values: Any, **choices: Any) -> Any:
    """Both samples with a column of groups, which is made of their rows' numbers."""
    tables = []
    for given in (draws, target):
        table = given
        if isinstance(given, np.ndarray) and given.ndim == 2 and isinstance(values, int) and values > 0:
            table = {f"x{k}": column for k, column in enumerate(given.T)} | {"group": np.arange(len(given)) % values}
        tables.append(table)
    return cd.pairwise(*tables, by=by, **choices)


def by_level(draws: Any, target: Any, first: Any, second: Any, values: Any) -> Any:
    """A pair of two tables with a column of categories, made of their rows' numbers, level by level."""
    tables = []
    for given in (draws, target):
        table = given
        if isinstance(given, np.ndarray) and given.ndim == 2 and isinstance(values, int) and values > 0:
            labels = np.array([f"level {k % values}" for k in range(len(given))])
            table = {f"x{k}": column for k, column in enumerate(given.T)} | {"kind": labels}
        tables.append(table)
    return cd.pairwise(*tables, iid=True, missing="pairs").levels(first, second)


def check_levels(answer: cd.LevelGaps, given: dict[str, Any]) -> None:
    need(repr(answer) and answer.sentence and len(answer.to_dataframe()) == len(answer.differences) >= 1, "no words")
    need(len(answer.to_dict()["differences"]) == len(answer.differences), "differences are missing")
    scores = [abs(gap.score) for gap in answer.differences]
    need(scores == sorted(scores, reverse=True), f"scores {scores} not in order")
    for gap in answer.differences:
        most = 100.0 if answer.percentiles else 1.0
        need(0.0 <= gap.value <= most and 0.0 <= gap.reference <= most and gap.se >= 0.0, f"{gap}")


ROWS = Kind(lambda f: f.rng.standard_normal((120 + f.between(0, 40), f.width)), lambda f: damaged(f, sample(f, f.width)))


def check_summary(answer: Any, given: dict[str, Any]) -> None:
    need(len(answer) >= 1, "no pairs")
    taus = answer["tau"].to_numpy()
    sample = cd.as_draws(given["draws"], var_names=given.get("var_names"), missing=given.get("missing"))
    still = [name for k, name in enumerate(sample.names) if np.ptp(sample.values[:, :, k]) == 0]
    for label, tau in zip(answer.index, taus, strict=True):
        excused = sample.incomplete or any(name in label for name in still)  # of rows with both values few may be left
        oracle.unless("summary", excused, tau, f"tau of {label}")
    need((np.abs(taus[~np.isnan(taus)]) <= 1).all(), f"tau {taus}")
    need((answer.iloc[:, 2] <= answer.iloc[:, 3]).to_numpy()[answer["mcse"].notna()].all(), "an interval in the wrong order")


def check_breakdown(answer: dict[str, Any], given: dict[str, Any]) -> None:
    if answer["pairs"]:
        within(answer["score"], 0.0, 1.0, "score")
    else:
        need(math.isnan(answer["score"]), f"score is {answer['score']} of no pairs")
    for pair in answer["pairs"].values():
        within(pair["score"], 0.0, 1.0, "score of a pair")


def check_vine(answer: cd.VineGaps, given: dict[str, Any]) -> None:
    oracle.pairwise(answer)
    need(len(answer.trees()) == answer.n_trees, "another number of trees")
    need(all(edge.to_dict() and edge.label and edge.short_label for edge in answer), "no words")


def check_triples(answer: cd.Interactions, given: dict[str, Any]) -> None:
    oracle.triples(answer)
    worst = answer[0]
    need(worst.to_dict() and worst.label and answer[worst.names].names == worst.names, "another triple by its names")


FUNCTION = Kind(
    lambda f: f.one(
        "x0 - x1", "x0 > x1", "max(x0, x1) ** 2", {"x0": 1.0, "x1": -0.5}, np.ones(f.width), lambda rows: rows[:, 0]
    ),
    lambda f: f.one(
        "x0 -",
        "x0 > x9",
        "x0",
        "log(x0 - x1)",
        "1/0",
        "x0 - x0",
        {"x9": 1},
        {"x0": np.nan, "x1": 1.0},
        [1.0],
        [0.0] * f.width,
        lambda rows: rows,
        lambda rows: rows[:-1, 0],
        lambda rows: rows[:, 0] * np.nan,
        lambda x0, x1: x0 > x1,
        anything(f),
    ),
)
RESAMPLED = {
    "iid": FLAG,
    "confidence": CONFIDENCE,
    "n_resamples": Kind(lambda f: f.one(50, 61), lambda f: f.one(0, 49, 2.5, anything(f))),
    "rng": Kind(lambda f: f.one(0, 1), lambda f: f.one(-1, 1.5, "1")),
    "n_jobs": JOBS,
}


def check_consequence(answer: cd.Consequence, given: dict[str, Any]) -> None:
    need(answer.sentences() and answer.table_rows() and answer.to_dict() and len(answer.to_dataframe()), "no words")
    for effect in answer.effects:
        need(effect.to_dict(), "no numbers")
        total, scale = effect.dependence.value + effect.margins.value, abs(effect.draws.value) + abs(effect.reference.value)
        need(abs(total - effect.difference.value) <= 1e-9 * scale, "parts do not add up")
        for part in (effect.draws, effect.repaired, effect.dependence):
            need(part.se >= 0 and part.ci[0] <= part.ci[1], f"{part!r}")


def check_worst(answer: cd.WorstConsequences, given: dict[str, Any]) -> None:
    need(answer.sentences() and answer.table_rows() and answer.to_dict() and answer.overview(), "no words")
    need(answer.described(0) and len(answer.pair(0)) == 2, "no pair")
    need(len(answer.to_dataframe()) == 10 * len(answer), "another number of effects")
    pvalues = answer.rows["pvalue"]
    need(((pvalues >= 0) & (pvalues <= 1)).all(), "no p-value")


TARGETS = [
    Target(
        "consequence",
        cd.consequence,
        {"draws": draws(None), "reference": draws(None), "function": FUNCTION},
        check_consequence,
        2.0,
        (
            "Consequence",
            "Consequence.to_dict",
            "Consequence.to_dataframe",
            "Consequence.sentences",
            "Consequence.table_rows",
            "Effect",
            "Effect.to_dict",
        ),
        options=RESAMPLED
        | {
            "summary": Kind(lambda f: f.one(None, "mean", ["mean"]), lambda f: f.one("sd", "median", [], anything(f))),
            "q": Kind(lambda f: None, lambda f: f.one(0.1, [0.1, 0.9], 0, 1, "a", anything(f))),
            "split": choice("dependence", "margins", "average"),
            "var_names": NAMES,
        },
    ),
    Target(
        "worst_consequences",
        cd.worst_consequences,
        {"draws": draws(None), "reference": draws(None)},
        check_worst,
        1.5,
        (
            "WorstConsequences",
            "WorstConsequences.to_dict",
            "WorstConsequences.to_dataframe",
            "WorstConsequences.overview",
            "WorstConsequences.sentences",
            "WorstConsequences.table_rows",
            "WorstConsequences.described",
            "WorstConsequences.pair",
        ),
        options=RESAMPLED | {"tail": TAIL, "standardize": FLAG, "adjust": choice("bh", "holm", "none"), "var_names": NAMES},
    ),
    Target(
        "screen",
        cd.screen,
        {"draws": draws(None), "reference": draws(None)},
        lambda a, g: oracle.screening(a),
        1.5,
        (
            "Screening",
            "Screening.to_dict",
            "Screening.to_dataframe",
            "Screening.sentences",
            "Screening.table_rows",
            "Screening.pair",
        ),
        options={
            "order": Kind(lambda f: f.one(1, 4, 8), lambda f: f.one(0, 9, 2.5, True, anything(f))),
            "iid": FLAG,
            "confidence": CONFIDENCE,
            "adjust": choice("bh", "holm", "none"),
            "n_jobs": JOBS,
            "var_names": NAMES,
        },
    ),
    Target(
        "interactions",
        cd.interactions,
        {"draws": draws(None), "reference": Kind(lambda f: f.one(None, sample(f, f.width)), lambda f: anything(f))},
        check_triples,
        1.5,
        (
            "Interaction",
            "Interaction.to_dict",
            "Interactions",
            "Interactions.to_dict",
            "Interactions.to_dataframe",
            "Interactions.overview",
            "Interactions.sentences",
            "Interactions.table_rows",
        ),
        options={
            "iid": FLAG,
            "confidence": CONFIDENCE,
            "adjust": choice("bh", "holm", "none"),
            "n_jobs": JOBS,
            "var_names": NAMES,
        },
    ),
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
        "GroupedPairwise",
        with_groups,
        {
            "draws": ROWS,
            "target": Kind(ROWS.valid, lambda f: f.one(ROWS.odd(f), AIM.odd(f))),
            "by": Kind(lambda f: f.one("group", ["group"]), lambda f: f.one("x0", "gruop", [], ["group"] * 2, anything(f))),
            "values": Kind(lambda f: f.one(1, 2, 4), lambda f: f.one(7, 60, 0)),
        },
        check_groups,
        0.6,
        (
            "GroupedPairwise.to_dict",
            "GroupedPairwise.to_dataframe",
            "GroupedPairwise.overview",
            "GroupedPairwise.sentences",
            "GroupedPairwise.sizes",
            "GroupedPairwise.table_rows",
            "Reversal",
            "Reversal.to_dict",
        ),
        options={key: PAIRWISE_OPTIONS[key] for key in ("method", "iid", "confidence", "tail", "adjust", "n_jobs")},
    ),
    Target(
        "Pairwise.levels",
        by_level,
        {
            "draws": ROWS,
            "target": ROWS,
            "first": Kind(lambda f: "kind", lambda f: f.one("x0", "knid", 3, anything(f))),
            "second": Kind(lambda f: f.one("x0", "x1"), lambda f: f.one("kind", "x9", None, anything(f))),
            "values": Kind(lambda f: f.one(2, 3, 6), lambda f: f.one(1, 40, 0)),
        },
        check_levels,
        0.3,
        ("LevelGaps.to_dict", "LevelGaps.to_dataframe"),
    ),
    Target(
        "Pairwise.pair",
        methods_of_pairs,
        {
            "draws": draws(None),
            "target": AIM,
            "first": Kind(lambda f: 0, lambda f: f.one("x0", "x9", anything(f))),
            "second": Kind(lambda f: -1, lambda f: f.one("x0", 0, anything(f))),
            "number": choice("level", "shape", "low_low", "high_low_pvalue", "low_high_share", "cd", "ckl", "tau"),
        },
        check_methods_of_pairs,
        0.8,
        ("Pairwise.matrix", "Pairwise.fitted", "PairGap.to_dict"),
        options={"iid": FLAG, "tail": TAIL},
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
        lambda a, g: math.isnan(a) or within(a, 0.0, 1.0, "score"),  # NaN where nothing could be judged
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
            "tail": TAIL,
            "var_names": NAMES,
        },
    ),
]
