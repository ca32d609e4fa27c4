"""Scores of synthetic tables beside a classifier that tries to tell them from real ones.

`make tables-study` writes tables.md and tables.json. A table is split in two: synthesisers see the first half, and what they
make is compared with the second, which shares no row with the first. So the first half itself, as it is, is what a perfect
synthesiser would make, and no score can be raised by copying.
"""

import json
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, spearmanr
from threadpoolctl import threadpool_limits

import copula_discrepancy as cd
from benchmarks import tables_data as data
from benchmarks.honest import each
from benchmarks.report import Report
from benchmarks.study import run_study

Record = dict[str, Any]
FOLDS = 3
RESAMPLES = 2000
LOST, SLOW = "columns alone", "CTGAN"  # the synthesisers that keep nothing, and that take longest
OURS, TRENDS, QUALITY = "DependenceFidelity", "SDMetrics Column Pair Trends", "SDMetrics quality"
SCORES = (OURS, TRENDS, QUALITY)
AUC, AUC_RANKS = "AUC", "AUC by ranks"
YARDSTICKS = {AUC_RANKS: "dependence alone", AUC: "margins and dependence"}


# ---- scores and yardstick -------------------------------------------------------------------------------------------------


def fidelity(real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """Our score with its default settings, of whole tables and with the same description that SDMetrics has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.DependenceFidelity.compute(real, synthetic, data.metadata(real), progress=False, n_jobs=1)


def quality(real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float]:
    """SDMetrics' quality report with its default settings: the score of column pairs, NaN if it compares none, and of all."""
    from sdmetrics.reports import QualityReport

    report = QualityReport()
    described = {"tables": {"table": data.metadata(real)}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report.generate({"table": real}, {"table": synthetic}, described, verbose=False)
        properties = report.get_properties().set_index("Property")["Score"]
        return float(properties["Column Pair Trends"]), float(report.get_score())


def told_apart(real: pd.DataFrame, synthetic: pd.DataFrame, seed: int, *, by_ranks: bool = False) -> float:
    """The cross-validated area under the ROC curve of gradient boosting that tells real rows from synthetic ones.

    0.5: it cannot; 1: always. Missing values and categories are used as they are. By ranks: numbers and dates are replaced by
    their ranks in their table, so that their margins tell nothing. Ranks are those within a fold: among the ranks of all rows,
    those that are missing from a fold would be known from the others.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    rows, label = pd.concat([real, synthetic], ignore_index=True), np.repeat([0, 1], [len(real), len(synthetic)])
    unordered = [data.kind(rows[name]) == "categorical" for name in rows]
    values = np.column_stack([np.where(rows[name].isna(), np.nan, data.codes(rows[name])) for name in rows])
    folds = [test for _, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(values, label)]
    if by_ranks:
        rng = np.random.default_rng(seed)
        for test in folds:
            for part in (test[label[test] == 0], test[label[test] == 1]):
                for column in np.flatnonzero(~np.array(unordered)):
                    values[part, column] = data.ranks(values[part, column], rng)
    areas = []
    for test in folds:
        train = np.setdiff1d(np.arange(len(rows)), test)
        model = HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=15, categorical_features=unordered, random_state=seed
        )
        with threadpool_limits(1):  # tables run at the same time, and threads that wait do so by spinning
            model.fit(values[train], label[train])
            areas.append(roc_auc_score(label[test], model.predict_proba(values[test])[:, 1]))
    return float(np.mean(areas))


def table_run(synthesisers: Sequence[str], part: tuple[str, int]) -> list[Record]:
    """All scores of all synthetic tables of one split of one table."""
    name, split = part
    train, held_out = data.halves(data.real_table(name), np.random.default_rng([41, split]))
    records = []
    for label in synthesisers:
        rng = np.random.default_rng([42, split, list(data.SYNTHESISERS).index(label)])
        start = time.perf_counter()
        synthetic = data.SYNTHESISERS[label](train, rng)
        seconds = time.perf_counter() - start
        trends, overall = quality(held_out, synthetic)
        found = {OURS: fidelity(held_out, synthetic), TRENDS: trends, QUALITY: overall}
        found |= {AUC: told_apart(held_out, synthetic, split)}
        found |= {AUC_RANKS: told_apart(held_out, synthetic, split, by_ranks=True)}
        records.append({"table": name, "split": split, "synthesiser": label, "seconds": seconds, **found})
    return records


# ---- agreement ------------------------------------------------------------------------------------------------------------

COEFFICIENTS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "Spearman": lambda a, b: float(spearmanr(a, b).statistic),
    "Kendall": lambda a, b: float(kendalltau(a, b).statistic),
}


def pooled(frame: pd.DataFrame, score: str, yardstick: str, coefficient: str) -> float:
    """Rank correlation of a score with 1 - AUC over all tables and synthesisers."""
    return COEFFICIENTS[coefficient](frame[score].to_numpy(), 1.0 - frame[yardstick].to_numpy())


def within(frame: pd.DataFrame, score: str, yardstick: str, coefficient: str) -> float:
    """The same among the synthetic tables of one real table, and the mean over those: are they put in the right order?"""
    found = [pooled(part, score, yardstick, coefficient) for _, part in frame.groupby(["copy", "split"])]
    return float(np.nanmean(found))  # a score that is the same for all of them puts them in no order


def resampled(frame: pd.DataFrame, measure: Callable[[pd.DataFrame], Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Measured numbers, and those of samples of tables drawn with replacement: tables vary, not only their rows."""
    rng = np.random.default_rng(43)
    parts = [part for _, part in frame.groupby("table")]
    drawn = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(len(parts), size=len(parts))
        drawn.append(measure(pd.concat([parts[k].assign(copy=place) for place, k in enumerate(chosen)])))
    return np.array(measure(frame.assign(copy=frame["table"]))), np.array(drawn)


def with_band(value: float, drawn: np.ndarray) -> str:
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def agreement(frame: pd.DataFrame, more: str = "") -> list[Report]:
    """How well each score agrees with the classifier."""
    complete = frame.dropna(subset=list(SCORES))
    counted = f"{len(complete)} synthetic tables of {complete['table'].nunique()} real ones"
    none = {score: sorted(set(frame.loc[frame[score].isna(), "table"])) for score in SCORES}
    omitted = "; ".join(f"{score}: {', '.join(names)}" for score, names in none.items() if names)
    report = Report(
        f"Agreement with a classifier{more}: rank correlation with 1 - AUC, {counted}",
        ("yardstick", "coefficient", "over", *SCORES, f"{OURS} - {TRENDS}"),
        note=f"In parentheses 95% bands from {RESAMPLES:,} bootstrap samples of tables. Tables for which a score has no answer "
        f"are omitted ({omitted or 'none'}). Over all: of all synthetic tables together. Within: among those of one real "
        "table, then the mean over tables.",
    )
    for yardstick, judged in YARDSTICKS.items():
        for coefficient in COEFFICIENTS:
            for how, place in ((pooled, "all"), (within, "within tables")):
                if how is within and coefficient == "Spearman":
                    continue  # one is enough for a handful of synthesisers
                measure = partial(_of_each, how, yardstick, coefficient)
                values, drawn = resampled(complete, measure)
                cells = [with_band(values[k], drawn[:, k]) for k in range(len(SCORES))]
                ahead = with_band(values[0] - values[1], drawn[:, 0] - drawn[:, 1])
                report.rows.append((f"1 - {yardstick} ({judged})", coefficient, place, *cells, ahead))
    return [report]


def _of_each(how: Callable[..., float], yardstick: str, coefficient: str, frame: pd.DataFrame) -> list[float]:
    return [how(frame, score, yardstick, coefficient) for score in SCORES]


# ---- reports --------------------------------------------------------------------------------------------------------------


def number(value: float, digits: int = 2) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def spread(values: pd.Series) -> str:
    """The median over tables, and the lowest and the highest."""
    known = values.dropna()
    return f"{known.median():.2f} ({known.min():.2f} to {known.max():.2f})" if len(known) else "-"


def of_tables() -> Report:
    """The tables themselves."""
    report = Report(
        "Tables: real ones, from installed packages",
        ("table", "source", "rows", "rows of a half", "numbers", "dates", "categories", "most categories", "missing cells"),
        note="Identifiers and columns that repeat another are omitted. Of long tables, random rows are used.",
    )
    for name, source in data.SOURCES.items():
        table = data.real_table(name)
        kinds = [data.kind(table[column]) for column in table]
        levels = [table[column].nunique() for column in table if data.kind(table[column]) == "categorical"]
        missing = f"{100 * table.isna().to_numpy().mean():.1f}%"
        half = min(len(table), data.MOST_ROWS) // 2
        counts = [str(kinds.count(kind)) for kind in ("numerical", "datetime", "categorical")]
        cells = f"{source.package}: {source.name}", f"{len(table):,}", f"{half:,}", *counts
        report.rows.append((name, *cells, str(max(levels, default=0)), missing))
    return report


def of_synthesisers(frame: pd.DataFrame) -> Report:
    report = Report(
        "Scores by synthesiser: median over tables, lowest and highest in parentheses",
        ("synthesiser", *SCORES, AUC_RANKS, AUC, "seconds"),
        note="Synthesisers see one half of a table and are judged against the other; the first row is their half, unchanged. "
        f"AUC: 0.5 if gradient boosting, cross-validated in {FOLDS} folds, cannot tell real rows from synthetic ones. By "
        "ranks: it sees ranks within each table instead of numbers and dates, so that their margins tell nothing; categories "
        f"and missing values are as they are. CTGAN is trained for {data.EPOCHS} epochs.",
    )
    for label in frame["synthesiser"].unique():
        part = frame[frame["synthesiser"] == label]
        cells = [spread(part[name]) for name in (*SCORES, AUC_RANKS, AUC)]
        report.rows.append((label, *cells, number(part["seconds"].median(), 1)))
    return report


def of_fooled(frame: pd.DataFrame) -> Report:
    """What the scores say where all dependence is gone, and where nothing is wrong."""
    report = Report(
        "Fooled: every column permuted, so that no dependence is left, and the other half of the rows, where nothing is wrong",
        (
            "table",
            *(f"{score}, permuted" for score in SCORES),
            f"{AUC_RANKS}, permuted",
            *(f"{score}, half" for score in SCORES),
        ),
        note="",
    )
    lost, honest = frame[frame["synthesiser"] == LOST], frame[frame["synthesiser"] == next(iter(data.SYNTHESISERS))]
    for name in frame["table"].unique():
        gone, kept = (part[part["table"] == name] for part in (lost, honest))
        cells = [number(gone[column].mean()) for column in (*SCORES, AUC_RANKS)] + [
            number(kept[column].mean()) for column in SCORES
        ]
        report.rows.append((name, *cells))
    told = []
    for score in SCORES:
        means = lost.groupby("table")[score].mean().dropna()
        told.append(f"{score} {int((means > 0.5).sum())} of {len(means)}")
    report.note = f"Tables without any dependence that score more than 0.5: {'; '.join(told)}."
    return report


def scored(kept: list[Record], synthesisers: Sequence[str], runs: int, jobs: int) -> pd.DataFrame:
    """Scores of synthetic tables, added to those that are kept."""
    parts = [(name, split) for name in data.SOURCES for split in range(runs)]
    found = each(partial(table_run, tuple(synthesisers)), parts, jobs)
    kept += [record for records in found for record in records]
    return pd.DataFrame(kept)


def scores(kept: list[Record], runs: int, jobs: int) -> list[Report]:
    """Every table, synthesiser and score, without CTGAN."""
    frame = scored(kept, [label for label in data.SYNTHESISERS if label != SLOW], runs, jobs)
    return [of_tables(), of_synthesisers(frame), *agreement(frame), of_fooled(frame), of_all(frame, "All scores")]


def slow_scores(kept: list[Record], runs: int, jobs: int) -> list[Report]:
    """CTGAN, which takes longer than all else, and the agreement with it."""
    frame = scored(kept, [SLOW], runs, jobs)
    alone = frame[frame["synthesiser"] == SLOW]
    return [of_all(alone, SLOW), *(agreement(frame, " and CTGAN") if len(alone) < len(frame) else [])]


def of_all(frame: pd.DataFrame, title: str) -> Report:
    columns = (*SCORES, AUC_RANKS, AUC)
    report = Report(f"{title}: every table", ("table", "synthesiser", *columns))
    means = frame.groupby(["table", "synthesiser"], sort=False)[list(columns)].mean()
    report.rows += [
        (*names, *(number(value) for value in row)) for names, row in zip(means.index, means.to_numpy(), strict=True)
    ]
    return report


# ---- penguins -------------------------------------------------------------------------------------------------------------

BILL = ("bill_length_mm", "bill_depth_mm")
SPECIES = "species"
PENGUIN_ROWS = 2000  # of the synthetic table, so that its species are not small


def penguins_run(split: int) -> list[Record]:
    """Fidelity of SDV's Gaussian copula over all penguins and within each species."""
    rng = np.random.default_rng([44, split])
    train, held_out = data.halves(data.real_table("penguins"), rng)
    from sdv.single_table import GaussianCopulaSynthesizer

    synthetic = data.of_sdv(GaussianCopulaSynthesizer, train, rng, PENGUIN_ROWS)
    records = []
    for species in ("all", *sorted(held_out[SPECIES].unique())):
        real, fake, honest = (
            table if species == "all" else table[table[SPECIES] == species].drop(columns=SPECIES)
            for table in (held_out, synthetic, train)
        )
        taus = {label: table[list(BILL)].corr("kendall").iloc[0, 1] for label, table in (("real", real), ("fake", fake))}
        scored = {"sdv": fidelity(real, fake), "half": fidelity(real, honest)}
        trends = quality(real.reset_index(drop=True), fake.reset_index(drop=True))[0]
        records.append({"species": species, "rows": len(real), **taus, **scored, "trends": trends})
    return records


def penguins(runs: int, jobs: int) -> list[Report]:
    found = pd.DataFrame([record for records in each(penguins_run, range(runs), jobs) for record in records])
    report = Report(
        f"Penguins: SDV's Gaussian copula, over all and within each species, means of {runs} splits",
        (
            "penguins",
            "real rows",
            f"{OURS}",
            f"{OURS}, other half of the rows",
            TRENDS,
            "tau of the bill, real",
            "tau, synthetic",
        ),
        note="tau: Kendall's, of bill length and bill depth. Long bills are flat over all penguins, and deep within each "
        "species: a synthesiser can keep the first and lose the second.",
    )
    for species, part in found.groupby("species", sort=False):
        mean = part.mean(numeric_only=True)
        cells = [number(mean[name]) for name in ("sdv", "half", "trends", "real", "fake")]
        report.rows.append((str(species), f"{mean['rows']:.0f}", *cells))
    return [report]


def main(arguments: Sequence[str] | None = None) -> None:
    kept: list[Record] = []
    cases = {"scores": (partial(scores, kept), 1), "penguins": (penguins, 10), "ctgan": (partial(slow_scores, kept), 1)}
    title = "Scores of synthetic tables: which agree with a classifier, and which are fooled"
    path = run_study(title, "scores of synthetic tables beside a classifier", cases, arguments, "make tables-study")
    if path is not None and kept:
        clean = [{key: None if value != value else value for key, value in record.items()} for record in kept]
        path.with_suffix(".json").write_text(json.dumps(clean, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    from benchmarks import tables

    tables.main()  # by its name, so that workers can import what they are to run
