"""Reproduce the paper: run its experiments, write every number, table and figure, and compare with the published ones."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from copula_discrepancy._core.checks import one_of, true_or_false, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import json_text, text_file
from copula_discrepancy._core.progress import progress_bars
from copula_discrepancy._core.workers import checked_jobs
from copula_discrepancy.studies.paper import figures, report, statements
from copula_discrepancy.studies.paper.published import Comparison, compare, summarise
from copula_discrepancy.studies.paper.runner import Study, parts_of, run
from copula_discrepancy.studies.paper.statements import Means
from copula_discrepancy.studies.paper.store import ANOTHER_FOLDER, Row, open_store
from copula_discrepancy.studies.paper.studies import study

FEWEST_DRAWS, MOST_DRAWS = 10, 10_000_000  # per sample
EXPERIMENTS = ("experiment1", "experiment2", "experiment3", "overhead")


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """One reproduced experiment.

    Attributes
    ----------
    name, variable : str
        Name of the experiment, and of the quantity that varies in it.
    replications : int
        Requested number at each value.
    rows : list of dict
        Every number of every replication.
    summary : list of dict
        Mean, standard error, 95% interval and median of every diagnostic at every value.
    comparisons : list of Comparison
        Our means and the published ones.
    statements : list of str
        The results in words.
    context : mapping
        Numbers that all replications share, such as the taus of the reference chains.
    figures : list of Path
        Paths of its figures.
    """

    name: str
    variable: str
    replications: int
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
    """The experiments that were run, by name, and the folder of all results.

    Returned by `reproduce`.

    Attributes
    ----------
    experiments : mapping from str to Experiment
        Rows, summary, comparisons, statements and figures of each.
    folder : Path
        Folder of every number, table and figure.
    replications : int
        Requested number per size or step size.
    seed : int
        Seed of all random numbers.

    See Also
    --------
    reproduce : The function that returns it.

    Examples
    --------
    >>> from pathlib import Path
    >>> import copula_discrepancy as cd
    >>> done = cd.Reproduction({}, Path("reproduction"), replications=100, seed=1)
    >>> done.report.as_posix()
    'reproduction/report.md'
    """

    experiments: Mapping[str, Experiment]
    folder: Path
    replications: int
    seed: int

    @property
    def comparisons(self) -> list[Comparison]:
        """Our means and the published ones, of all experiments."""
        return [item for experiment in self.experiments.values() for item in experiment.comparisons]

    @property
    def report(self) -> Path:
        """Path of a Markdown report on every experiment in the folder."""
        return self.folder / "report.md"

    @property
    def agreement(self) -> str:
        """A sentence on how many published means agree with ours."""
        return statements.agreement(self.comparisons)

    def plot(self, figure: str, *, ax: Any = None) -> Any:
        """Plot one of the paper's figures from the reproduced and the published numbers.

        Parameters
        ----------
        figure : str
            Name of a file in the folder `figures`, without its suffix, such as "figure1_cd".
        ax : Axes or sequence of Axes, optional
            The Axes to draw on, one for each panel, row by row, with their own style; by default a new figure.

        Returns
        -------
        Axes or array of Axes
            An array if there are several panels; `ax` if it was passed.

        Raises
        ------
        InputError
            For an unknown figure; the message lists those of the experiments that were run.
        """
        homes = {file: name for name in self.experiments for file in figures.FIGURES[name]}
        found = self.experiments[homes[one_of(figure, "figure", tuple(homes))]]
        return figures.plot(found.name, figure, Means(found.summary, found.variable), found.context, self.seed, ax)

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
    """Run the paper's experiments and write every number, table and figure, with the published ones for comparison.

    An interrupted run resumes when you repeat the call: every finished part of ten replications is saved in the folder. Except
    for times, the numbers depend on the seed only, not on the workers.

    Parameters
    ----------
    experiment : {"all", "experiment1", "experiment2", "experiment3", "overhead"}
        The experiment to run.
    replications : int
        Number per size or step size; 100 in the paper. The timing study uses at most 20, and 5 beyond 20,000 draws.
    sizes : sequence of int, optional
        Sample sizes of experiments 1 and 3 and of the timing study instead of the paper's.
    seed : int
        Seed of all random numbers.
    n_jobs : int, optional
        Number of joblib workers; None uses the setting of `joblib.parallel_config`, which may be a Dask cluster. Times are
        measured in one process.
    out : path
        A folder that is new, empty, or from an earlier call with the same version and seed.
    progress : bool, optional
        Show progress bars with the remaining time; by default on a terminal, after two seconds.

    Returns
    -------
    Reproduction
        The results, one `Experiment` each: rows, summary, comparisons, statements, figures.

    Raises
    ------
    InputError
        For an unknown experiment, fewer than two replications, a folder that cannot be written, or a folder of another version
        or seed.

    See Also
    --------
    Reproduction : The result.

    Notes
    -----
    Experiment 2 is evaluated twice: against a reference chain stuck in one mode, as the published one was, and against the
    exact tau of its target; the statements compare the two.

    References
    ----------
    Aich, A. and Aich, A. B. (2025). Copula Discrepancy: Benchmarking Dependence Structure. Section 6 and appendix C.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> try:
    ...     cd.reproduce("experiment4")
    ... except cd.InputError as error:
    ...     print(error)
    experiment must be 'all' or 'experiment1' or 'experiment2' or 'experiment3' or 'overhead', got 'experiment4'
    """
    one_of(experiment, "experiment", ("all", *EXPERIMENTS))
    names = EXPERIMENTS if experiment == "all" else (experiment,)
    count = whole_number(replications, "replications", 2)  # a standard error needs two
    start = whole_number(seed, "seed", 0)
    chosen = None if sizes is None else _checked_sizes(sizes)
    jobs = checked_jobs(n_jobs)
    shown = None if progress is None else true_or_false(progress, "progress")
    store = open_store(out, start)
    planned = {name: study(name, chosen, start) for name in names}
    done: dict[str, Experiment] = {}
    costs = {name: sum(part.cost for part in parts_of(plan, count)) for name, plan in planned.items()}
    with progress_bars(shown, costs) as tick:
        for name, plan in planned.items():
            rows = run(plan, count, start, store, n_jobs=jobs, tick=partial(tick, name))
            done[name] = _written(name, plan, rows, count, start, store.folder)
    result = Reproduction(done, store.folder, count, start)
    _write_report(result)
    return result


def _checked_sizes(sizes: Any) -> tuple[int, ...]:
    try:
        values = tuple(sizes)
    except TypeError:
        raise InputError(f"sizes must be a sequence of integers, got {sizes!r}") from None
    if not values:
        raise InputError("sizes must contain at least one sample size, got none")
    checked = {whole_number(n, "each of sizes", FEWEST_DRAWS) for n in values}
    if max(checked) > MOST_DRAWS:
        rule = f"each of sizes must be at most {MOST_DRAWS:,}, got {max(checked):,}"
        raise InputError(f"{rule}; larger sizes exceed practical memory and time")
    return tuple(sorted(checked))


def _written(name: str, plan: Study, rows: list[Row], asked: int, seed: int, folder: Path) -> Experiment:
    """Summarise an experiment and write its files."""
    summary = summarise(rows, plan.variable)
    means = Means(summary, plan.variable)
    comparisons = compare(name, summary, plan.variable, plan.context)
    pictures = figures.draw(name, means, plan.context, seed, folder / "figures")
    sentences = getattr(statements, name)(means, plan.context)
    experiment = Experiment(name, plan.variable, asked, rows, summary, comparisons, sentences, plan.context, pictures)
    published = [item.to_row() for item in comparisons]
    for kind, content in (("replications", rows), ("summary", summary), ("published", published)):
        _write(folder / name / f"{kind}.csv", report.csv_text(content))
    saved = vars(experiment) | {"comparisons": published, "figures": [path.name for path in pictures]}
    _write(folder / name / "results.json", json_text(saved))
    return experiment


def _read(name: str, folder: Path) -> Experiment | None:
    """An experiment that an earlier call has written to the folder, or None."""
    try:
        saved = json.loads((folder / name / "results.json").read_text(encoding="utf-8"))
        saved["comparisons"] = [Comparison.from_row(row) for row in saved["comparisons"]]
        saved["figures"] = [folder / "figures" / file for file in saved["figures"]]
        return Experiment(**saved)
    except (OSError, ValueError, TypeError, KeyError):
        return None  # missing, or from an interrupted call


def _write_report(result: Reproduction) -> None:
    """Write tables, sentences and figures of every experiment in the folder as one Markdown page."""
    every = [result.experiments.get(name) or _read(name, result.folder) for name in EXPERIMENTS]
    experiments = [experiment for experiment in every if experiment is not None]
    agreement = statements.agreement([item for experiment in experiments for item in experiment.comparisons])
    legend = "z is the difference in combined standard errors; a star marks those beyond the 95% limit."
    parts = ["# The paper, reproduced", f"Seed {result.seed}. {legend} {agreement}"]
    for experiment in experiments:
        parts += [f"## {report.TITLES[experiment.name]}", f"{experiment.replications} replications."]
        parts.append("\n".join(f"- {sentence}" for sentence in experiment.statements))
        parts += [f"![{path.stem}](figures/{path.name})" for path in experiment.figures if path.suffix == ".png"]
        parts.append(report.markdown(experiment.tables))
        apart = statements.outside(experiment.comparisons)
        if apart:
            parts.append("Beyond the limit; diagnostics of one size come from the same draws:")
            parts.append("\n".join(f"- {sentence}" for sentence in apart))
    _write(result.report, "\n\n".join(parts) + "\n")


def _write(path: Path, text: str) -> None:
    with text_file(path, ANOTHER_FOLDER, parents=True) as file:
        file.write(text)
