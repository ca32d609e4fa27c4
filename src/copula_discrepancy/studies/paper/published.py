"""The paper's tables, compared with our means."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product

import numpy as np
from scipy.special import stdtrit

from copula_discrepancy.studies.paper.store import Row

PUBLISHED_REPLICATIONS = 100
REFERENCE_TAU = 0.0001  # tau of the reference chain of experiment 2, from the authors' scripts
MINIMISERS = (4.64e-3, 2.15e-4)  # the two step sizes that the paper's text names as the CD's choice in experiment 2
# The published means that this project aims to reproduce: CD and CKL in experiment 1, CD, naive tau, CKL and KSD in experiment
# 3. CED and experiment 2 depend on one random number of the authors each.
HELD_TO = {"experiment1": ("on_cd", "off_cd", "on_ckl", "off_ckl"), "experiment3": ("cd", "naive_tau", "ckl", "ksd_unit")}


@dataclass(frozen=True)
class Published:
    """One published mean with the standard error that its 95% t interval implies."""

    diagnostic: str
    value: float
    mean: float
    se: float


@dataclass(frozen=True)
class Comparison:
    """A mean of ours and the published one; `z` is their difference in combined standard errors."""

    experiment: str
    diagnostic: str
    value: float
    ours: float
    ours_se: float
    published: float
    published_se: float
    replications: int

    @property
    def z(self) -> float:
        """(ours - published) / sqrt(se^2 + se^2)."""
        return (self.ours - self.published) / math.hypot(self.ours_se, self.published_se)

    @property
    def limit(self) -> float:
        """The 97.5% point of Student's t with Welch's degrees of freedom: 1.97 for 100 replications, more for few."""
        a, b = self.ours_se**2, self.published_se**2
        df = (a + b) ** 2 / (a**2 / (self.replications - 1.0) + b**2 / (PUBLISHED_REPLICATIONS - 1.0))
        return float(stdtrit(df, 0.975))

    @property
    def within(self) -> bool:
        """Whether the two agree within a combined 95% interval."""
        return abs(self.z) <= self.limit

    def to_row(self) -> Row:
        """All fields and derived numbers, as a flat row."""
        *fields, replications = self.__dataclass_fields__
        return {name: getattr(self, name) for name in (*fields, "z", "limit", "within", replications)}

    @classmethod
    def from_row(cls, row: Row) -> "Comparison":
        """The inverse of `to_row`."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})


@cache
def published(experiment: str) -> tuple[Published, ...]:
    """Every published mean of an experiment, named as ours; none for the timings, which the paper only plots."""
    variable = "step_size" if experiment == "experiment2" else "n"
    if experiment == "experiment1":  # simulated entropies are compared with simulated ones
        columns = {"cd": "cd", "ckl": "ckl", "ced": "ced_mc"}.items()
        sources = [(f"{arm}_{ours}", f"{arm}_", theirs) for theirs, ours in columns for arm in ("on", "off")]
    elif experiment == "experiment2":
        sources = [
            ("published_cd", "cd_", "cd_ess"), ("paper_ess", "ess_", "cd_ess"), ("published_ckl", "ckl_", "ckl_ced"),
            ("published_ced", "ced_", "ckl_ced"),
        ]  # fmt: skip
    elif experiment == "experiment3":
        ours = {"ksd": "ksd_unit", "ced": "ced_mc"}
        rows = _table("experiment3")
        return tuple(_mean(ours.get(row["diagnostic"], row["diagnostic"]), row, variable, "") for row in rows)
    else:
        return ()
    tables = ((name, prefix, _table(f"{experiment}_{table}")) for name, prefix, table in sources)
    return tuple(_mean(name, row, variable, prefix) for name, prefix, rows in tables for row in rows)


def _table(name: str) -> list[dict[str, str]]:
    text = files("copula_discrepancy.studies.paper").joinpath("published", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _mean(diagnostic: str, row: dict[str, str], variable: str, prefix: str) -> Published:
    mean, low, high = (float(row[f"{prefix}{end}"]) for end in ("mean", "lo", "hi"))
    se = 0.5 * (high - low) / float(stdtrit(PUBLISHED_REPLICATIONS - 1.0, 0.975))
    return Published(diagnostic, float(row[variable]), mean, se)


def summarise(rows: Sequence[Row], variable: str) -> list[Row]:
    """Mean, standard error, 95% t interval, median and count of every diagnostic at every value; NaN omitted and counted."""
    summary = []
    for value in dict.fromkeys(row[variable] for row in rows):
        here = [row for row in rows if row[variable] == value]
        for name in dict.fromkeys(name for row in here for name in row if name not in (variable, "replication")):
            numbers = np.array([row.get(name, math.nan) for row in here], dtype=float)
            kept = numbers[np.isfinite(numbers)]
            if not kept.size:
                continue
            mean, several = float(np.mean(kept)), kept.size > 1
            se = float(np.std(kept, ddof=1) / math.sqrt(kept.size)) if several else math.nan
            reach = float(stdtrit(kept.size - 1.0, 0.975)) * se if several else math.nan
            summary.append({
                variable: value, "diagnostic": name, "mean": mean, "se": se, "lo": mean - reach, "hi": mean + reach,
                "median": float(np.median(kept)), "replications": int(kept.size), "missing": int(numbers.size - kept.size),
            })  # fmt: skip
    return summary


def compare(experiment: str, summary: Iterable[Row], variable: str, context: Mapping[str, float]) -> list[Comparison]:
    """Our means and the published ones of the same diagnostic and value.

    One reference chain, or one simulated entropy of the target, shifts a whole column, theirs and ours. Its standard error,
    `shared_<diagnostic>` in the context, is not part of the variance between replications and is added to both.
    """
    tolerance = 5e-3 if variable == "step_size" else 0.0  # published step sizes are rounded to three digits
    comparisons = []
    for theirs, row in product(published(experiment), summary):
        name, value = row["diagnostic"], row[variable]
        if name == theirs.diagnostic and math.isclose(value, theirs.value, rel_tol=tolerance) and row["se"] > 0:
            ours_se, theirs_se = (math.hypot(se, context.get(f"shared_{name}", 0.0)) for se in (row["se"], theirs.se))
            item = Comparison(experiment, name, value, row["mean"], ours_se, theirs.mean, theirs_se, row["replications"])
            comparisons.append(item)
    return comparisons
