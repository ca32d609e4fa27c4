"""Reproduce the paper: run its experiments, write every number, table and figure, and say what agrees and what does not."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from copula_discrepancy._parallel import checked_jobs
from copula_discrepancy.errors import InputError, one_of
from copula_discrepancy.experiments import figures, report, statements
from copula_discrepancy.experiments.published import Comparison, compare, summarise
from copula_discrepancy.experiments.runner import cost, progress_bars, run
from copula_discrepancy.experiments.statements import Means
from copula_discrepancy.experiments.store import Row, Store, write_json, write_text
from copula_discrepancy.experiments.studies import study

EXPERIMENTS = ("experiment1", "experiment2", "experiment3", "overhead")


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """One reproduced experiment.

    Attributes
    ----------
    name, variable : str
        Which one, and what varies in it.
    rows : list of dict
        Every number of every replication.
    summary : list of dict
        Mean, standard error, 95% interval and median of every diagnostic at every value.
    comparisons : list of Comparison
        Ours beside the published means.
    statements : list of str
        What the numbers say.
    context : mapping
        What all replications shared, such as the taus of the reference chains.
    figures : list of Path
        Where its pictures are.
    """

    name: str
    variable: str
    rows: list[Row]
    summary: list[Row]
    comparisons: list[Comparison]
    statements: list[str]
    context: Mapping[str, float]
    figures: list[Path]

    @property
    def tables(self) -> list[report.Grid]:
        """Titles, headings and rows of its tables."""
        return report.grids(self.name, self.variable, self.comparisons, Means(self.summary, self.variable))


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction:
    """The experiments that were run, by name, and the folder that holds all of it."""

    experiments: Mapping[str, Experiment]
    folder: Path
    replications: int
    seed: int

    @property
    def comparisons(self) -> list[Comparison]:
        """Ours beside published, all experiments."""
        return [item for experiment in self.experiments.values() for item in experiment.comparisons]

    @property
    def report(self) -> Path:
        """Its page of Markdown."""
        name = "report" if len(self.experiments) > 1 else f"report_{next(iter(self.experiments))}"
        return self.folder / f"{name}.md"

    @property
    def agreement(self) -> str:
        """How many published means agree with ours."""
        return statements.agreement(self.comparisons)

    def __repr__(self) -> str:
        what = f"{', '.join(self.experiments)} with {self.replications} replications and seed {self.seed}"
        return f"Reproduction of {what} in {self.folder}. {self.agreement}"


def reproduce(
    experiment: str = "all",
    *,
    replications: int = 100,
    sizes: Sequence[int] | None = None,
    seed: int = 1,
    n_jobs: int | None = None,
    out: str | os.PathLike[str] = "reproduction",
    progress: bool | None = None,
) -> Reproduction:
    """Run the paper's experiments again and write every number, table and figure, beside the published ones.

    Interrupted, the same call goes on where it stopped: every finished part of ten replications is kept in the folder. Numbers
    depend on the seed only, not on the workers, their number or their order (times excepted).

    Parameters
    ----------
    experiment : {"all", "experiment1", "experiment2", "experiment3", "overhead"}
        Which one.
    replications : int
        Per size or step size; the paper has 100. The timing study takes at most 20, and 5 beyond 20,000 draws.
    sizes : sequence of int, optional
        Sample sizes of experiments 1 and 3 and of the timing study instead of the paper's.
    seed : int
        Of everything random.
    n_jobs : int, optional
        joblib workers; None takes what `joblib.parallel_config` says, which may be a Dask cluster. Times are measured alone.
    out : path
        A folder: new, empty, or of an earlier call with the same version and seed.
    progress : bool, optional
        Show a bar with the time left; by default on a terminal.

    Returns
    -------
    Reproduction
        With one `Experiment` each: rows, summary, comparisons, statements, figures.

    Raises
    ------
    InputError
        For an unknown experiment, fewer than two replications, a folder that cannot be written, or one of another version or
        seed.
    """
    one_of(experiment, "experiment", ("all", *EXPERIMENTS))
    names = EXPERIMENTS if experiment == "all" else (experiment,)
    count = _at_least(replications, "replications", 2, "a standard error needs two")
    start = _at_least(seed, "seed", 0, "it is the start of a random stream")
    chosen = None if sizes is None else _checked_sizes(sizes)
    jobs = checked_jobs(n_jobs)
    store = Store(out, start)
    planned = {name: study(name, chosen, start) for name in names}
    done: dict[str, Experiment] = {}
    with progress_bars(progress, {name: cost(plan, count) for name, plan in planned.items()}) as tick:
        for name, plan in planned.items():
            rows = run(plan, count, start, store, n_jobs=jobs, tick=tick(name))
            done[name] = _written(name, plan.variable, rows, plan.context, start, store.folder)
    result = Reproduction(done, store.folder, count, start)
    _write_report(result)
    return result


def _at_least(value: Any, name: str, least: int, why: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number >= {least} ({why}), got {value!r}")
    return int(value)


def _checked_sizes(sizes: Any) -> tuple[int, ...]:
    try:
        given = tuple(sizes)
    except TypeError:
        raise InputError(f"sizes must be a sequence of whole numbers, got {sizes!r}") from None
    if not given:
        raise InputError("sizes must name at least one sample size, got none")
    checked = [_at_least(n, "each of sizes", 10, "fewer draws say nothing about dependence") for n in given]
    return tuple(sorted(set(checked)))


def _written(name: str, variable: str, rows: list[Row], context: Mapping[str, float], seed: int, folder: Path) -> Experiment:
    """Summarise an experiment and write its files."""
    summary = summarise(rows, variable)
    means = Means(summary, variable)
    comparisons = compare(name, summary, variable, context)
    sentences = getattr(statements, name)(means, context)
    pictures = figures.draw(name, means, context, seed, folder / "figures")
    for kind, content in (
        ("replications", rows), ("summary", summary), ("published", [item.to_row() for item in comparisons]),
    ):  # fmt: skip
        if content:
            write_text(folder / name / f"{kind}.csv", report.csv_text(content))
    experiment = Experiment(name, variable, rows, summary, comparisons, sentences, context, pictures)
    write_json(
        folder / name / "results.json",
        {
            "experiment": name, "context": dict(context), "statements": sentences, "summary": summary,
            "published": [item.to_row() for item in comparisons], "replications": rows,
        },
    )  # fmt: skip
    return experiment


def _write_report(result: Reproduction) -> None:
    """The tables and sentences as one page of Markdown."""
    parts = [
        "# The paper, reproduced",
        f"{result.replications} replications, seed {result.seed}. z is the difference in combined standard errors; a "
        "star marks "
        f"those beyond 1.96. {result.agreement}",
    ]
    for experiment in result.experiments.values():
        parts.append(f"## {report.TITLES[experiment.name]}")
        parts.append("\n".join(f"- {sentence}" for sentence in experiment.statements))
        parts += [f"![{path.stem}](figures/{path.name})" for path in experiment.figures if path.suffix == ".png"]
        parts.append(report.markdown(experiment.tables))
        apart = statements.outside(experiment.comparisons)
        if apart:
            parts.append("Beyond 1.96 combined standard errors; diagnostics of one size come from the same draws:")
            parts.append("\n".join(f"- {sentence}" for sentence in apart))
    write_text(result.report, "\n\n".join(parts) + "\n")
