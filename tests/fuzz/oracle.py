"""Checks of results: finite, within range and consistent with the rest of the result.

The only exceptions stand in `DOCUMENTED`.
"""

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pandas as pd

import copula_discrepancy as cd
from copula_discrepancy.estimate.pair import uneven_ties
from copula_discrepancy.estimate.tails import CORNERS

# Every number that may be NaN or infinite, and why. What is not here must be finite.
DOCUMENTED = {
    "log_likelihood": "NaN for the moment method; infinite where the likelihood has no maximum (Fit)",
    "theta": "the limit of its domain, which may be infinite, where the draws are perfectly dependent (Fit)",
    "theta.ci": "ends where the family's domain does, which may be at infinity (Fit.theta_interval)",
    "estimate": "no se, interval, p-value or n_eff on a bound, with a warning, or where all influence is equal (Estimate)",
    "pvalue": "NaN for a number that no hypothesis sets to 0 (Estimate)",
    "few values": "no shape, total, CKL or CED where a likelihood of values so tied describes nothing (Discrepancy)",
    "influence": "NaN where theta sits on a bound (Discrepancy)",
    "ckl": "infinite, or unknown, where the fitted copula is a limit without a density (Discrepancy, with a warning)",
    "rhat": "NaN where there is nothing to compare, infinite where chains differ that do not vary by themselves (Agreement)",
    "chain": "tau of a chain in which a variable does not vary (Agreement)",
    "row": "NaN in a row for what this comparison does not have, or could not test (PairGap)",
    "aggregate": "NaN where no pair has the number, or no weight (Pairwise.aggregate)",
    "summary": "NaN where a variable is constant (summary)",
    "diagonal": "NaN on the diagonal of a matrix of gaps (Pairwise.matrix)",
    "long_run": "NaN where all influence values are equal; infinite variances beyond 1e150 (LongRun)",
    "classic.rhat": "NaN for a single chain, infinite for chains without variance of their own (rhat)",
    "untested": "NaN marks what was not tested (adjust_pvalues)",
    "ksd": "no standard error on ranks or short chains, no p-value without bootstrap (SteinDiscrepancy)",
    "tuned": "NaN where a setting failed, no score is known, or one run has no spread (TunedSetting)",
    "outside": "beyond 1e100 a log density or gradient passes the largest float, by which samplers know a divergence (Target)",
    "meta": "beyond 25 normal scores the log density is -inf and the gradient NaN (MetaCopula)",
}


class Broken(AssertionError):
    """A result that violates a documented property."""


def need(condition: Any, told: str) -> None:
    if not condition:
        raise Broken(told)


def finite(value: Any, name: str) -> None:
    values = np.asarray(value, dtype=np.float64)
    wrong = values[~np.isfinite(values)]
    need(not wrong.size, f"{name} is {wrong[:1]}")


def unless(key: str, excused: Any, value: Any, name: str) -> None:
    """Finite, unless the documented exception applies."""
    need(key in DOCUMENTED, f"{key} is no documented exception")
    if not excused:
        finite(value, name)


def within(value: float, low: float, high: float, name: str) -> None:
    need(low <= value <= high, f"{name} is {value}, not between {low} and {high}")


def estimate(
    found: cd.Estimate,
    name: str,
    *,
    excused: bool,
    limits: tuple[float, float] = (-math.inf, math.inf),
    counted: bool = False,
) -> None:
    """A number with its uncertainty: all of it, or, where that is excused, none of it; what is `counted` has no interval."""
    known = math.isfinite(found.se)
    unless("estimate", excused, found.se, f"{name}.se")
    if counted:
        need(all(map(math.isnan, found.ci)), f"{name} is counted, but has the interval {found.ci}")
    elif known:
        need(found.se > 0, f"{name}.se is {found.se}")
        need(found.n_eff > 0 and math.isfinite(found.n_eff), f"{name}.n_eff is {found.n_eff}")
        need(found.df > 0, f"{name}.df is {found.df}")
        low, high = found.ci
        if name == "theta":
            unless("theta.ci", not (math.isnan(low) or math.isnan(high)), found.ci, f"{name}.ci")
        else:
            finite(found.ci, f"{name}.ci")
        need(low <= high, f"{name}.ci is {found.ci}")
        # the interval lies around the value less its bias, and ends where the number's range does
        centre = min(max(found.value - found.bias, limits[0]), limits[1])
        slack = 1e-9 * max(1.0, abs(centre))
        if name != "theta":
            need(low - slack <= centre <= high + slack, f"{name}.ci {found.ci} does not hold {centre}")
    else:
        need(math.isnan(found.se), f"{name}.se is {found.se}")
        need(all(map(math.isnan, found.ci)), f"{name} has no standard error, but the interval {found.ci}")
    unless("pvalue", math.isnan(found.pvalue), found.pvalue, f"{name}.pvalue")
    if not math.isnan(found.pvalue):
        within(found.pvalue, 0.0, 1.0, f"{name}.pvalue")
    finite(found.bias, f"{name}.bias")
    within(found.confidence, 0.0, 1.0, f"{name}.confidence")
    test = found.paper_test()
    need(math.isnan(test.statistic) or 0 <= test.pvalue <= 1, f"{name}.paper_test() is {test}")


def fit(found: cd.Fit, *, chains_ok: bool | None = None) -> None:
    """A fitted copula."""
    on_bound = found.on_bound is not None
    unless("theta", on_bound, found.theta, "theta")
    need(not math.isnan(found.theta), "theta is NaN")
    within(found.tau, -1.0, 1.0, "tau")
    within(found.sample_tau, -1.0, 1.0, "sample_tau")
    unless("log_likelihood", found.method == "moment" or on_bound, found.log_likelihood, "log_likelihood")
    need(found.regular or found.warnings, f"a fit that is not regular has no warning: {found}")
    if found.df is not None:
        need(found.df > 0 and math.isfinite(found.df), f"df is {found.df}")
    repr(found), found._repr_html_()
    plain(found.to_dict())
    if not found._has_standard_errors:
        return
    flat = {name: np.ptp(values) <= 1e-9 * max(1.0, np.abs(values).max()) for name, values in found.influence.items()}
    for name, values in found.influence.items():
        unless("influence", not found.regular, values, f"influence on {name}")
    taus = (-1.0, 1.0)
    estimate(found.estimates["tau"], "tau", excused=bool(flat["tau"]), limits=taus)
    estimate(found.estimates["tau_fitted"], "tau_fitted", excused=bool(not found.regular or flat["tau_fitted"]), limits=taus)
    estimate(found.estimates["theta"], "theta", excused=bool(not found.regular or flat["tau_fitted"]))
    if "df" in found.estimates:
        estimate(found.estimates["df"], "df", excused=False)


def agreement(found: cd.Agreement) -> None:
    unless("rhat", math.isnan(found.rhat) or found.rhat == math.inf, found.rhat, "rhat")
    need(math.isnan(found.rhat) or found.rhat > 0, f"rhat is {found.rhat}")
    for tau in found.taus:
        unless("chain", math.isnan(tau.value), tau.value, "a chain's tau")
        if not math.isnan(tau.value):
            within(tau.value, -1.0, 1.0, "a chain's tau")
    repr(found)


GAPS = ("level", "shape", "total")


def corners(found: cd.Discrepancy) -> None:
    """The four corners of a comparison: shares, gaps and tests."""
    limit = 1.0 if found.reference is None else 2.0  # against a sample, two gaps of one each
    need({*found.corners} == {*found.tails} <= {*CORNERS}, f"corners {[*found.corners]}, estimates {[*found.tails]}")
    for name, gap in found.corners.items():
        within(gap.value, -limit, limit, name)
        within(gap.share, 0.0, 1.0, f"{name}, the draws' share")
        within(gap.share_target, 0.0, 1.0, f"{name}, the target's share")
        need(found.reference is not None or abs(gap.share - gap.share_target - gap.value) < 1e-12, f"{name} is not its shares")
        need(found.estimates[name].value == gap.value, f"{name} is told twice")
        unless("pvalue", math.isnan(gap.pvalue), gap.pvalue, f"{name}.pvalue")
        need(not (gap.pvalue < 0.0 or gap.pvalue > 1.0), f"{name}.pvalue is {gap.pvalue}")
        estimate(found.estimates[name], name, excused=True, limits=(-limit, limit), counted=gap.exact)
    known = [gap.pvalue for gap in found.corners.values() if not math.isnan(gap.pvalue)]
    together = min(len(known) * min(known), 1.0) if known else math.nan
    need(together == found.tails_pvalue or not known, f"tails_pvalue is {found.tails_pvalue}, not {together}")
    for name, adjusted in found.tests.adjusted.items():
        need(math.isnan(adjusted) or 0.0 <= adjusted <= 1.0, f"{name}, adjusted, is {adjusted}")
    need({*found.tests.off_corners} <= {*found.corners}, f"off are {found.tests.off_corners}")
    within(found.tail, 0.0, 0.5, "tail")


def too_tied(found: cd.Discrepancy) -> bool:
    """Whether a variable takes too few values for a likelihood, or samples of unequal size are tied too much."""
    fits = [found.fit] if found.reference is None else [found.fit, found.reference]
    shares = [(fit.n, fit.pair.tied_share) for fit in fits]
    return any(fit.pair.too_discrete for fit in fits) or (len(fits) > 1 and uneven_ties(*shares[0], *shares[1]))


def discrepancy(found: cd.Discrepancy) -> None:
    """A comparison of one pair."""
    fit(found.fit)
    agreement(found.agreement)
    if found.reference is not None:
        fit(found.reference)
        need(found.reference_agreement is not None, "a reference without agreement")
        agreement(found.reference_agreement)
    corners(found)
    tied = found.method == "mle" and too_tied(found)
    for name in GAPS:
        gap = found.estimates[name]
        unless("few values", tied and name != "level", gap.value, name)
        if tied and name != "level":
            continue
        within(gap.value, -2.0, 2.0, name)
        excused = (
            bool(found.warnings) or np.ptp(found.influence[name]) < 1e-9 if name in found.influence else bool(found.warnings)
        )
        excused = excused or (name == "shape" and found.method == "moment")
        reach = (-1.0 - found.tau_target, 1.0 - found.tau_target) if name in ("level", "total") else (-2.0, 2.0)
        estimate(gap, name, excused=excused, limits=reach)
    need(
        tied or abs(found.level.value + found.shape.value - found.total.value) < 1e-9, "level and shape do not add up to total"
    )
    need(abs(found.tau - found.tau_target - found.level.value) < 1e-9, "level is not tau less the target's")
    finite(found.form.density((0.0, 0.3, 1.0), (0.2, 1.0)), "form.density")
    for name in ("ckl", "ced"):
        value = found.estimates[name].value
        limit = not found.fit.regular or (found.reference is not None and not found.reference.regular)
        unless("ckl", limit or tied, value, name)
        need(found.shannon == "monte_carlo" or not value < -1e-12, f"{name} is {value}")
    need(found.verdict and found.summary and repr(found) and found._repr_html_(), "no words")
    need(all(found.sentences().values()), f"an empty sentence: {found.sentences()}")
    plain(found.to_dict())


MAY_BE_INFINITE = ("theta", "theta_target", "ckl", "rhat", "rhat_target")  # as in the results of single pairs


def pairwise(found: cd.Pairwise) -> None:
    """A ranking of pairs."""
    rows = found.rows
    need(len(rows) or found.stuck or found.warnings, "no pairs, and no word about it")
    for name in rows.dtype.names:
        if rows.dtype[name].kind != "f":
            continue
        values = rows[name]
        known = values[~np.isnan(values)]
        unless("row", name in MAY_BE_INFINITE, known, name)
        if name in ("tau", "tau_target"):
            need((np.abs(known) <= 1).all(), f"{name} is {known}")
        elif name.endswith(("pvalue", "adjusted", "_share", "_share_target")):
            need(((known >= 0) & (known <= 1)).all(), f"{name} is {known}")
        elif name in CORNERS:
            need((np.abs(known) <= (2 if found.kind == "reference" else 1)).all(), f"{name} is {known}")
        elif name.endswith("_se") or name in ("n_eff", "n_eff_target", "rhat", "rhat_target", "ckl"):
            need((known >= 0).all(), f"{name} is {known}")
    within(found.tail, 0.0, 0.5, "tail")
    finite(rows["tau"], "tau of every pair")
    if found.kind != "nothing":
        finite(rows["level"], "level of every pair")
    for number in ("cd", "level", "shape", "tau"):
        matrix = found.matrix(number)
        need(np.array_equal(matrix, matrix.T, equal_nan=True), f"matrix of {number} is not symmetric")
        unless("diagonal", np.isnan(np.diag(matrix)).all(), np.diag(matrix), f"diagonal of {number}")
        for name, value in found.aggregate(number).items():
            unless("aggregate", math.isnan(value), value, f"{name} of {number}")
    need(found.verdict and found.title and repr(found) and found._repr_html_(), "no words")
    need(all(found.sentences().values()), f"an empty sentence: {found.sentences()}")
    need(len(found.to_dataframe()) == len(found) == len(found.to_dict()[f"{found.unit}s"]), "tables differ in length")
    need(len(found.table_rows(None)) == len(found) + 1, "a table of another length")
    within(found.n_flagged, 0, len(found), "n_flagged")
    need((found.margins is not None) == (found.kind == "reference"), "margins without a reference, or none with one")
    if found.margins is not None:
        margins(found.margins)


def margins(found: cd.Margins) -> None:
    """The variables one by one."""
    need(repr(found) and found.line and len(found.to_dataframe()) == len(found.names) == len(found.rows), "no words")
    need(len(found.to_dict()["variables"]) == len(found.names), "variables are missing")
    for name in ("pvalue", "adjusted"):
        known = found.rows[name][~np.isnan(found.rows[name])]
        need(((known >= 0) & (known <= 1)).all(), f"{name} is {known}")
    untested = np.array([reason != "" for reason in found.untested])
    need((np.isnan(found.rows["pvalue"]) == untested).all(), "a variable without a p-value, and no word about it")
    need(
        set(found.flagged) == {name for name, said in zip(found.names, found.differences, strict=True) if said}, "no difference"
    )


def screening(found: cd.Screening) -> None:
    """The form of all pairs."""
    d = len(found.names)
    need(len(found) == d * (d - 1) // 2 == len(found.to_dataframe()), "another number of pairs")
    for name in ("distance", "pvalue", "adjusted"):
        finite(getattr(found, name), name)
    for pvalues in (found.pvalue, found.adjusted, np.array([found.joint.pvalue])):
        need(((pvalues >= 0) & (pvalues <= 1)).all(), f"p-values {pvalues}")
    finite(found.coefficients, "coefficients")
    need((found.se > 0).all(), "a standard error of 0")
    need(found.verdict and found.title and repr(found) and found._repr_html_() and found.pair(0), "no words")
    need(all(found.sentences().values()), f"an empty sentence: {found.sentences()}")
    need(len(found.table_rows(None)) == len(found) + 1, "a table of another length")
    plain(found.to_dict())


def triples(found: cd.Interactions) -> None:
    """A ranking of triples."""
    d = len(found.names)
    need(len(found) == d * (d - 1) * (d - 2) // 6 == len(found.to_dataframe()), "another number of triples")
    for name in ("value", "value_se", "difference", "se", "pvalue", "adjusted"):
        finite(found.rows[name], name)
    for name in ("pvalue", "adjusted"):
        need(((found.rows[name] >= 0) & (found.rows[name] <= 1)).all(), f"{name} is {found.rows[name]}")
    need(found.against == bool(np.isfinite(found.rows["target"]).all()), "a target without a reference")
    need(found.verdict and found.title and repr(found) and found._repr_html_(), "no words")
    need(all(found.sentences().values()), f"an empty sentence: {found.sentences()}")
    need(len(found.table_rows(None)) == len(found) + 1, "a table of another length")
    plain(found.to_dict())


def draws(found: cd.Draws) -> None:
    if found.incomplete:
        need(bool(np.isnan(found.values).any()) and not found.chained, "incomplete draws without NaN, or with chains")
        need(not np.isinf(found.values).any() and not np.isnan(found.values).all(axis=1).any(), "incomplete draws")
    else:
        finite(found.values, "draws")
    need(
        found.values.dtype == np.float64 and found.values.ndim == 3, f"draws of type {found.values.dtype}, {found.values.shape}"
    )
    need(len(found.names) == found.n_variables == len(set(found.names)), f"names {found.names}")
    need(all(isinstance(name, str) for name in found.names), f"names {found.names}")
    need(not found.values.flags.writeable, "draws can be written to")
    for k in range(found.n_variables):
        kind, labels, values = found.kind(k), found.labels(k), found.column(k)
        need(bool(labels) == (kind in ("boolean", "ordinal", "nominal", "missing")), f"{kind} with labels {labels}")
        known = values[~np.isnan(values)] if labels else values[:0]
        need(bool(np.isin(known, np.arange(len(labels))).all()), f"codes {known} of {len(labels)} labels")
    need(found.n_chains * found.n_draws >= 2, "fewer than two draws")
    need(np.array_equal(found.column(0), found.values[:, :, 0].ravel(), equal_nan=True), "a column differs")
    need(len({found.chain_name(k) for k in range(found.n_chains)}) == found.n_chains, "chains of one name")
    need(found.select([found.names[-1]]).names == found.names[-1:], "a selection differs")


def copula(found: cd.Copula) -> None:
    within(found.tau, -1.0, 1.0, "tau")
    finite(found.theta, "theta")
    for tail in found.tail:
        within(tail, 0.0, 1.0, "tail")
    low, high = found.tau_range
    within(found.tau, low - 1e-12, high + 1e-12, "tau")
    need(found == found.with_theta(found.theta) and repr(found), "with_theta makes another copula")


def plain(answer: Any) -> Any:
    """A result as text and numbers, to compare with that of a second call; times are omitted."""
    if hasattr(answer, "to_dict") and not isinstance(answer, pd.DataFrame | pd.Series | type):
        return plain(answer.to_dict())
    if isinstance(answer, np.ndarray):
        return (answer.shape, str(answer.dtype), answer.tobytes() if answer.dtype.kind != "O" else repr(answer.tolist()))
    if isinstance(answer, pd.DataFrame):
        return answer.to_csv()
    if isinstance(answer, dict):
        return {str(name): plain(value) for name, value in answer.items() if name != "seconds"}
    if isinstance(answer, list | tuple):
        return [plain(item) for item in answer]
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type | cd.Copula):
        return {
            field.name: plain(getattr(answer, field.name)) for field in dataclasses.fields(answer) if field.name != "settings"
        }
    if isinstance(answer, str):
        return re.sub("0x[0-9a-fA-F]+", "", answer)  # where an object lies in memory
    if isinstance(answer, float | int | bool | None | np.generic | cd.Copula):
        return repr(answer)
    return type(answer).__name__
