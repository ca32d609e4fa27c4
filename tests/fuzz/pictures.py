"""Fuzz targets: plots, reports and the paper's studies."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import copula_discrepancy as cd
from tests.fuzz.arrays import anything
from tests.fuzz.kinds import (
    ANYTHING,
    CONFIDENCE,
    COPULA,
    FLAG,
    SEED,
    Kind,
    choice,
    count,
    draws,
    ordinary_copula,
)
from tests.fuzz.oracle import need
from tests.fuzz.rankings import AIM, ROWS, with_groups
from tests.fuzz.target import Target


def _axes() -> Any:
    return Figure().subplots()


def plot(what: str, draws: Any, target: Any, iid: Any, **given: Any) -> Any:
    if what == "tuning":
        study = cd.tune(
            lambda size, rng: cd.Gaussian(0.4).sample(24, rng=rng) * size, [1.0, 2.0], cd.Gaussian(0.4), n_jobs=1, rng=1
        )
        return study.plot(ax=Figure().subplots(3))
    if what in ("pairwise", "forest of pairs"):
        result: Any = cd.pairwise(draws, target, iid=iid)
        return result.plot(ax=_axes(), **given) if what == "pairwise" else cd.plot_tau_forest(result, ax=_axes())
    if what in ("matrix", "gap forest"):
        ranked = cd.pairwise(draws, target, iid=iid)
        return (cd.plot_pairwise if what == "matrix" else cd.plot_gap_forest)(ranked, **{"backend": "none", **given})
    if what == "groups":
        return with_groups(draws, target, "group", 2, iid=iid).plot(ax=_axes(), **given)
    if what == "consequence":
        other = target.sample(30, rng=1)
        return cd.consequence(draws, other, lambda rows: rows[:, 0] - rows[:, 1], iid=iid, n_resamples=50).plot(ax=_axes())
    if what == "lags":
        found = cd.pairwise(draws, np.random.default_rng(1).standard_normal((40, 2)), **given)
        need(found.by_lag()["pairs"].sum() == len(found), "pairs without a kind")
        return cd.plot_lags(found, ax=Figure().subplots(1, 3))
    result = cd.discrepancy(draws, target, iid=iid)
    if what == "gaps":
        return result.plot(ax=_axes())
    if what == "forest":
        return cd.plot_tau_forest(result, ax=_axes(), **given)
    if what == "trace":
        return cd.plot_trace(result, ax=_axes(), **given)
    if what == "form":
        return cd.plot_form(result, ax=Figure().subplots(1, 3))
    return cd.plot_pair(result, ax=Figure().subplots(1, 2), **given)


def check_plot(answer: Any, given: dict[str, Any]) -> None:
    if given["what"] in ("matrix", "gap forest"):
        need("figure" in answer.viz.data_vars, "no figure of arviz-plots")
        return
    axes = np.atleast_1d(np.asarray(answer, dtype=object))
    need(all(hasattr(ax, "get_title") for ax in axes.flat), "no axes")


def page(what: str, draws: Any, target: Any, iid: Any, path: Any, **given: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        if what == "fidelity":
            place = Path(folder) / path if isinstance(path, str) else path
            written = cd.DependenceFidelity.report(target, draws, place, iid=iid, **given)
            return written.read_text(encoding="utf-8").startswith("<!doctype html>")
        if what == "groups":
            result: Any = with_groups(draws, target, "group", 2, iid=iid)
        else:
            result = cd.discrepancy(draws, target, iid=iid) if what == "one" else cd.pairwise(draws, target, iid=iid)
        written = result.to_html(Path(folder) / path if isinstance(path, str) else path, **given)
        text = written.read_text(encoding="utf-8")
    need(text.startswith("<!doctype html>") and "http://" not in text.replace("http://www.w3.org", ""), "no page of its own")
    return len(text) > 0


def reproduce(out: Any, **given: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return cd.reproduce(
            out=Path(folder) / out if isinstance(out, str) and "\0" not in out else out, progress=False, **given
        )


WHAT = ("consequence", "gaps", "forest", "trace", "form", "clouds")
TARGETS = [
    Target(
        "pictures of one",
        plot,
        {"what": Kind(*[lambda f: f.one(*WHAT)] * 2), "draws": draws(), "target": COPULA, "iid": FLAG},
        check_plot,
        0.15,
        ("plot_tau_forest", "plot_trace", "plot_form", "plot_pair", "Discrepancy.plot", "Consequence.plot"),
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
        "plot_pairwise",
        plot,
        {"what": Kind(*[lambda f: "matrix"] * 2), "draws": draws(), "target": COPULA, "iid": FLAG},
        check_plot,
        0.05,
        options={"number": choice("level", "shape", "form"), "points": count(1, 50)},
    ),
    Target(
        "plot_gap_forest",
        plot,
        {"what": Kind(*[lambda f: "gap forest"] * 2), "draws": draws(), "target": COPULA, "iid": FLAG},
        check_plot,
        0.05,
        options={"number": choice("level", "shape", "form"), "pairs": count(1, 5)},
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
        "Pairwise.plot of a number",
        plot,
        {"what": Kind(*[lambda f: "pairwise"] * 2), "draws": draws(None), "target": AIM, "iid": FLAG},
        check_plot,
        0.05,
        options={"number": choice("level", "shape", "form", "kept", "low_low", "high_high", "low_high", "high_low", "cd")},
    ),
    Target(
        "GroupedPairwise.plot",
        plot,
        {"what": Kind(*[lambda f: "groups"] * 2), "draws": ROWS, "target": ROWS, "iid": FLAG},
        check_plot,
        0.05,
        options={"first": choice("x0"), "second": choice("x1", "x0", None)},
    ),
    Target(
        "GroupedPairwise.to_html",
        page,
        {
            "what": Kind(*[lambda f: "groups"] * 2),
            "draws": ROWS,
            "target": ROWS,
            "iid": FLAG,
            "path": Kind(lambda f: "a.html", lambda f: f.one("a.txt", "", anything(f))),
        },
        lambda a, g: None,
        0.01,
    ),
    Target(
        "DependenceFidelity.report",
        page,
        {
            "what": Kind(*[lambda f: "fidelity"] * 2),
            "draws": ROWS,
            "target": ROWS,
            "iid": FLAG,
            "path": Kind(lambda f: "a.html", lambda f: f.one("a.txt", "no/a.html", "", anything(f))),
        },
        lambda a, g: need(a, "no page"),
        0.015,
        options={"force": FLAG, "by": Kind(lambda f: None, lambda f: f.one("x9", [], 3, anything(f)))},
    ),
    Target(
        "plot_lags",
        plot,
        {"what": Kind(*[lambda f: "lags"] * 2), "draws": draws(), "target": COPULA, "iid": FLAG},
        check_plot,
        0.05,
        ("Pairwise.by_lag",),
        options={
            "lags": Kind(lambda f: f.one(1, 2, [1, 3]), lambda f: f.one(0, -1, 1.5, "2", [], [1, 1], 10**400, anything(f)))
        },
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
        0.01,
        ("Reproduction",),
        options={"n_jobs": choice(1)},
    ),
]
