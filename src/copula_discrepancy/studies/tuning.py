"""Choice of a sampler's setting by its effect on the dependence: CD, shape, ESS and KSD of each, and which differ."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from copula_discrepancy._core.caveats import caveat_of
from copula_discrepancy._core.checks import RandomSource, one_of, spawned, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.workers import checked_jobs, in_order, silenced
from copula_discrepancy.compare.one import discrepancy
from copula_discrepancy.data.draws import numeric_draws
from copula_discrepancy.estimate.fit import announce
from copula_discrepancy.estimate.repeated_chains import chains_once, repeated_chains_caveats
from copula_discrepancy.estimate.selection import select_family
from copula_discrepancy.estimate.uncertainty import open_probability
from copula_discrepancy.families import Copula, resolve_family
from copula_discrepancy.studies.baselines.classic import ess
from copula_discrepancy.studies.baselines.stein import Score, ksd
from copula_discrepancy.studies.tuning_result import TunedSetting, Tuning, shown

CRITERIA = ("total", "level", "shape", "form")
Sampler = Callable[[Any, np.random.Generator], Any]


def tune(
    sampler: Sampler,
    settings: Sequence[Any],
    target: Any,
    *,
    score: Score | None = None,
    family: Any = None,
    by: str = "total",
    replications: int = 10,
    name: str = "setting",
    confidence: float = 0.95,
    rng: RandomSource = None,
    n_jobs: int | None = None,
) -> Tuning:
    """Run a sampler at several settings and find those that keep the dependence.

    The sampler is run `replications` times at every setting, and each run is evaluated by `discrepancy`, ArviZ's ESS and the
    KSD. The mean absolute gap over the runs weighs bias against noise: small steps are unbiased but slow, large ones fast but
    biased.

    Parameters
    ----------
    sampler : callable
        (setting, rng) -> draws of two variables, (chain, draw, 2) or anything `as_draws` accepts. An error of the library, such
        as a DivergenceError, draws that are not finite, or a numerical error (ArithmeticError, LinAlgError) is reported for
        that setting, and the study continues. Any other exception ends the study. Chains that have the same draws as another
        are left out of every number, with a warning.
    settings : sequence
        Values to try, such as step sizes.
    target : Copula or draws
        As in `discrepancy`.
    score : callable, optional
        Gradient of the target's log density on the scale of the draws, for the KSD. By default that of a target copula, on
        normal scores; with a reference sample there is no KSD by default.
    family : str, class or instance, optional
        With a reference sample: the family to fit; by default the one with the lowest AIC on the reference.
    by : {"total", "level", "shape", "form"}
        The gap whose absolute value is CD: the paper's CD by maximum likelihood, by moments, the shape gap, or that in form,
        which sees dependence that has Kendall's tau 0, too.
    replications : int
        Runs per setting. With one run, standard errors come from its chains.
    name : str
        Name of the setting in tables and figures.
    confidence : float
        A setting counts as worse than the best only if a one-sided Welch test of the logarithms of the means rejects at level
        1 - confidence, divided by the number of comparisons: the truly best setting is then in `near_best` with about this
        probability (Gupta, 1965); 94 to 97% in simulations with 2 to 20 runs and 2 to 10 settings.
    rng : int, Generator, SeedSequence or None
        Seed or source of randomness; every run has its own stream.
    n_jobs : int, optional
        Number of joblib workers; None uses the setting of `joblib.parallel_config`. The results do not depend on it.

    Returns
    -------
    Tuning
        One row per setting; print it for the table and the answer.

    Raises
    ------
    InputError
        For a target that `discrepancy` rejects, no settings, a repeated setting, or fewer than one replication.

    See Also
    --------
    metropolis, sgld, sghmc : Samplers.

    Notes
    -----
    A setting with a failed run counts as failed; its numbers are NaN. Ties in the draws are treated as in `discrepancy`. The
    study of step sizes in Aich and Aich (2025, section 6.2) has the same purpose.

    References
    ----------
    Gupta, S. S. (1965). On some multiple decision (selection and ranking) rules. Technometrics 7, 225-245.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> target = cd.MetaCopula(cd.Gaussian(0.7))
    >>> def sampler(step, rng):
    ...     return cd.sgld(target, np.zeros((2, 2)), step=step, n_draws=200, rng=rng)
    >>> study = cd.tune(sampler, [0.01, 0.5], cd.Gaussian(0.7), replications=2, name="step size", rng=1)
    >>> study.best.setting, study.best.failure is None
    (0.5, True)
    """
    one_of(by, "by", CRITERIA)
    if not callable(sampler):
        raise InputError(f"sampler must be a function of a setting and a generator, got {sampler!r:.60}")
    if not isinstance(name, str):
        raise InputError(f"name must be a string, got {name!r:.60}")
    if score is not None and not callable(score):
        raise InputError(f"score must be a function, (n, d) -> (n, d), or None, got {score!r:.60}")
    values = _checked_settings(settings)
    runs = whole_number(replications, "replications", 1)
    level = 1.0 - open_probability(confidence, "confidence")
    jobs = checked_jobs(n_jobs)
    reference, template = _checked_target(target, family)
    generators = spawned(rng, len(values) * runs)  # a stream per run: results do not depend on the workers
    todo = list(zip((value for value in values for _ in range(runs)), generators, strict=True))
    with silenced(_Evaluation(sampler, reference, score, template, by)) as evaluate:
        advice = "no runs were saved; repeat the call with the same rng and fewer workers, or n_jobs=1"
        results = in_order(evaluate, todo, jobs, advice)
    _tell_repeats([value for value in values for _ in range(runs)], results, name)
    rows = [_summary(value, results[k * runs : (k + 1) * runs]) for k, value in enumerate(values)]
    return Tuning(tuple(_compared(rows, runs, level)), name, by, runs, 1.0 - level)


def _checked_settings(settings: Any) -> list[Any]:
    if isinstance(settings, str | bytes) or not np.iterable(settings):
        raise InputError(f"settings must be a sequence of values to try, got {settings!r:.60}")
    values = list(settings)
    if not values:
        raise InputError("settings must contain at least one value to try, got none")
    for k, value in enumerate(values):
        if any(_same(value, other) for other in values[:k]):
            raise InputError(f"settings must differ, but {shown(value)} is repeated; use replications for more runs of each")
    return values


def _same(value: Any, other: Any) -> bool:
    try:
        return bool(value == other)
    except ValueError:  # arrays
        return bool(np.array_equal(value, other))


def _checked_target(target: Any, family: Any) -> tuple[Any, Any]:
    """The target and the family to fit, validated before the first run; "auto" is resolved once."""
    if isinstance(target, Copula):
        if family is not None:
            raise InputError(f"family can only be used with a reference sample; the target {target!r} has its own family")
        return target, None
    try:
        reference = chains_once(numeric_draws(target), iid=False)
    except InputError as error:
        raise InputError(f"target must be a copula such as Gumbel(2.5) or a reference sample: {error}", error.code) from None
    announce(tuple(repeated_chains_caveats(reference, iid=False, whose="reference: ")))
    reference = replace(reference, notes=())  # told
    if family is None or (isinstance(family, str) and family == "auto"):
        return reference, select_family(reference).best.copula
    return reference, resolve_family(family, None)[0]


class _Run(NamedTuple):
    """The numbers of a run, and which of its chains repeat others."""

    numbers: dict[str, float]
    repeats: str


def _tell_repeats(settings: Sequence[Any], results: Sequence[_Run | str], name: str) -> None:
    """Issue a warning if chains of runs were left out because they repeat others."""
    runs = zip(settings, results, strict=True)
    told = [(setting, run.repeats) for setting, run in runs if isinstance(run, _Run) and run.repeats]
    if told:
        setting, first = told[0]
        sentence = f"chains repeat others in {len(told)} of {len(results)} runs, first at {name} {shown(setting)}: {first}"
        announce((caveat_of("repeated-chains", sentence),))


@dataclass(frozen=True)
class _Evaluation:
    """The evaluation of a run: (setting, generator) -> its numbers, or the reason why it failed."""

    sampler: Sampler
    target: Any
    score: Score | None
    family: Any
    by: str

    def __call__(self, task: tuple[Any, np.random.Generator]) -> _Run | str:
        begin = time.perf_counter()
        try:
            every = numeric_draws(self.sampler(*task))
            seconds = time.perf_counter() - begin
            draws = chains_once(every, iid=False)
            result = discrepancy(draws, self.target, family=self.family)
            scored = self.target if self.score is None and isinstance(self.target, Copula) else self.score
            stein = None if scored is None else ksd(draws, scored, n_jobs=1)
            size = min(ess(draws).values())
        except InputError as error:  # a divergence, or draws that are not finite: a result about this setting
            return str(error)
        except (ArithmeticError, np.linalg.LinAlgError) as error:  # how other samplers fail
            return f"{type(error).__name__}: {error}"
        gap = getattr(result, self.by)
        gap = result.level if math.isnan(gap.value) else gap  # too few values for a likelihood, as in `Discrepancy.cd`
        numbers = {
            "cd": abs(gap.value), "cd_se": gap.se, "cd_df": gap.df,
            "shape": result.shape.value, "shape_se": result.shape.se, "level": result.level.value, "level_se": result.level.se,
            "form": result.form.value, "form_se": result.form.se,
            "ess": size, "ess_se": math.nan,
            "ksd": math.nan if stein is None else stein.value, "ksd_se": math.nan if stein is None else stein.se,
            "seconds": seconds,
        }  # fmt: skip
        repeats = repeated_chains_caveats(draws, iid=False)
        return _Run(numbers, repeats[0].sentence if repeats else "")


def _summary(setting: Any, results: Sequence[_Run | str]) -> TunedSetting:
    runs = [result.numbers for result in results if isinstance(result, _Run)]
    failures = [result for result in results if isinstance(result, str)]
    if failures:
        share = "" if len(results) == 1 else f"{len(failures)} of {len(results)} runs, first: "
        return TunedSetting(setting, failure=f"{share}{failures[0]}")
    if len(runs) == 1:
        return TunedSetting(setting, **runs[0])  # type: ignore[arg-type]
    values = {key: np.array([run[key] for run in runs]) for key in ("cd", "shape", "level", "form", "ess", "ksd", "seconds")}
    numbers = {key: float(np.mean(value)) for key, value in values.items()} | {"cd_df": len(runs) - 1.0}
    for key in ("cd", "shape", "level", "form", "ess", "ksd"):
        numbers[f"{key}_se"] = float(np.std(values[key], ddof=1)) / math.sqrt(len(runs))
    return TunedSetting(setting, **numbers)  # type: ignore[arg-type]


def _compared(rows: Sequence[TunedSetting], runs: int, level: float) -> list[TunedSetting]:
    """The same rows with their test against the best."""
    judged = [row for row in rows if row.failure is None]
    best = min(judged, key=lambda row: row.cd, default=None)
    compared = list(rows)
    for k, row in enumerate(rows):
        if best is not None and row.failure is None:
            pvalue = 1.0 if row is best else min((len(judged) - 1.0) * _worse(row, best, by_ratio=runs > 1), 1.0)
            compared[k] = replace(row, pvalue=pvalue, near_best=not pvalue < level)
    return compared


def _worse(row: TunedSetting, best: TunedSetting, *, by_ratio: bool) -> float:
    """One-sided p-value of Welch's test that the setting is no worse than the best.

    If a setting is unbiased, the standard error of its mean absolute gap is proportional to that mean, so a low mean comes with
    a low standard error; a test of the difference then keeps the truly best setting in 80 to 93% of studies instead of 95%,
    a test of the logarithms in 94 to 97%. The gap of a single run may be close to 0 by chance: no logarithm there.
    """
    if row.cd == best.cd:
        return 1.0
    if row.cd_se == 0 and best.cd_se == 0:  # runs that do not vary are certain
        return 0.0
    if by_ratio and best.cd > 0:
        distance, a, b = math.log(row.cd / best.cd), (row.cd_se / row.cd) ** 2, (best.cd_se / best.cd) ** 2
    else:
        distance, a, b = row.cd - best.cd, row.cd_se**2, best.cd_se**2
    df = (a + b) ** 2 / (a**2 / row.cd_df + b**2 / best.cd_df)
    return float(stdtr(df, -distance / math.sqrt(a + b)))
