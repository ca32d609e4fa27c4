"""What the dependence of draws does to a decision: a function of the variables with their own and with the right dependence."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.checks import RandomSource, independent_sides, one_of, random_generator, whole_number
from copula_discrepancy._core.errors import DependenceWarning, enough_memory
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy._core.warn import warn
from copula_discrepancy._core.workers import checked_jobs
from copula_discrepancy.compare.consequence_result import Consequence, Effect
from copula_discrepancy.compare.two_samples import adding
from copula_discrepancy.compare.whole_rows import FunctionSamples
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.coupling import TIE_BREAKINGS, SortedSample
from copula_discrepancy.estimate.decomposition import SPLITS, combine, estimates, few_events, tied
from copula_discrepancy.estimate.fit_result import library_version
from copula_discrepancy.estimate.summaries import Summary, checked_summaries
from copula_discrepancy.estimate.uncertainty import open_probability

FEWEST_RESAMPLES = 50
FEW_ROWS = 0.03  # share of rows that carry half of a variance; of normal ones a tenth does
LARGE_TIES = 0.01  # the probability of a tie from which dependence within ties matters: values rounded to a thirtieth of an sd
KOLMOGOROV = 1.63  # the distance of two empirical distributions, in units of its standard error, that 1% of samples exceed
FEW_EVENTS = 10.0  # effective draws in a tail, below which its quantile is hardly known


def consequence(
    draws: Any,
    reference: Any,
    function: Any,
    *,
    summary: str | Sequence[str] | None = None,
    q: float | Sequence[float] | None = None,
    split: str = "dependence",
    iid: bool | str = False,
    confidence: float = 0.95,
    n_resamples: int = 400,
    rng: RandomSource = 1,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
    chains: int | str | None = None,
    exclude: str | Sequence[str] | None = None,
    missing: str | None = None,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Consequence:
    """Compute what wrong dependence does to a function of the variables, apart from what wrong margins do.

    A decision rests on a number: the probability that one effect is larger than another, the interval of a contrast, the 1%
    quantile of a portfolio. It is computed from the draws, from the reference, and from the two other combinations of their
    margins and their dependence: every row of the reference is replaced by the values of the draws that have its ranks, and the
    other way round. The first of these is what `repair` would make of the draws.

    Parameters
    ----------
    draws : anything `as_draws` accepts, with two variables or more
        The sample that is judged.
    reference : anything `as_draws` accepts
        A sample with the right dependence, independent of the draws. Variables are matched by name; it may have more rows,
        fewer, and other variables.
    function : str, dict, sequence of float or callable
        A function of a row. An expression: ``"a - b > 0"``, ``"0.6*equity + 0.4*bonds"``, ``"max(x, y)"``, with ``+ - * / **``,
        comparisons, and, or, not, abs, min, max, exp, log, sqrt, and names of variables, such as ``theta[1]``, or names with
        other characters between backquotes. Weights, by name or one for each variable. Or a Python function: one with
        several arguments, names of variables, gets an array (row,) of each; one with one argument an array (row, variable).
        It returns a number, or True or False, for each row, and is called for every resample.
    summary : {"probability", "mean", "sd", "quantile", "shortfall"} or list of them, optional
        What is computed from the function's values. The default is the probability of a condition, the quantiles if `q` is
        set, and otherwise the mean. "shortfall" is the mean of the values beyond a quantile: of the lowest share q, or, from
        0.5 on, of the highest share 1 - q.
    q : float or list of float, optional
        The probability of each quantile or shortfall, such as 0.01, or (0.025, 0.975) for an interval.
    split : {"dependence", "margins", "average"}
        Which of the two is exchanged first. "dependence": its part is the value in the draws minus that with the
        reference's dependence and the draws' margins, and the rest is due to margins. "margins": the other way round.
        "average": the mean of both, which treats them alike (Shapley). The two parts always add up to the difference.
    iid : bool or {"draws", "reference"}
        Treat the draws, and those of the reference, as independent: single rows are resampled, not blocks.
    confidence : float
        Confidence level of the intervals; the effect of dependence counts as found if its p-value is below 1 - confidence.
    n_resamples : int
        Number of resamples.
    rng : int, Generator, SeedSequence or None
        Seed or source of the resamples and of the order of tied values; the default is a fixed seed.
    var_names, filter_vars, group, coords, chains, exclude : optional
        See `as_draws`; they apply to the reference as well, except a number of chains.
    missing : {"pairs", "listwise", "raise"}, optional
        Handling of NaN: rows with a missing value of the function's variables are omitted ("pairs", the default for tables with
        column names), rows with any missing value, or an error.
    n_jobs : int, optional
        Threads; -1, the default, is one per core. A Python function is called from one thread only.
    progress : bool, optional
        Show a progress bar; by default on a terminal, after two seconds.

    Returns
    -------
    Consequence
        The value in all four combinations, their differences, and intervals; print it for a sentence and a table, or `plot` it.

    Raises
    ------
    InputError
        For unknown names, text that is no expression (with the position), functions of one variable, functions that return NaN,
        infinite values or another number of values, constant variables, and samples that `as_draws` rejects.

    See Also
    --------
    worst_consequences : Differences, sums and joint extremes of all pairs, without a function.
    repair : Draws with the dependence of the reference.
    pairwise : Where the dependence is wrong.

    Notes
    -----
    Values at the ranks of another sample are quantiles F^-1((R - 1 + t)/m) of the values that there are; none is interpolated.
    If the samples have different sizes, t is uniform between 0 and 1, which keeps margins right on average. The order of tied
    values is random, too. Results are means over eight such combinations.

    Intervals are the estimate plus and minus Student's t times a standard error from resamples of both samples: of rows if they
    are independent, otherwise of blocks of five autocorrelation times of the function, from all chains, with a correction for
    the covariances between blocks. Ranks and margins are computed again in every resample. The bootstrap of the empirical
    copula is consistent with independent draws (Fermanian et al., 2004) and with blocks of dependent ones (Bucher and Ruppert,
    2013), so the intervals account for margins being estimated by ranks.

    The answer is about this function and this summary. Another one may be affected although this one is not: the mean of a sum
    does not depend on dependence at all.

    Ranks that are known with an error look like effects of opposite signs at the margins of the two samples. If these signs are
    seen and the samples agree on the number, half of the contradiction is added to the standard error. Where the effects truly
    have opposite signs, this can hide a real one; how much power is lost there has not been measured.

    References
    ----------
    Sklar, A. (1959). Fonctions de repartition a n dimensions et leurs marges. Publications de l'Institut de Statistique de
    l'Universite de Paris 8, 229-231.

    Fermanian, J.-D., Radulovic, D. and Wegkamp, M. (2004). Weak convergence of empirical copula processes. Bernoulli 10,
    847-860.

    Bucher, A. and Ruppert, M. (2013). Consistent testing for a constant copula under strong mixing based on the tapered block
    multiplier technique. Journal of Multivariate Analysis 116, 208-229.

    Politis, D. N. and Romano, J. P. (1992). A circular block-resampling procedure for stationary data. In: Exploring the Limits
    of Bootstrap, 263-270. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.multivariate_normal([0.0, 0.5], [[1.0, 0.8], [0.8, 1.0]], 2000)
    >>> mean_field = rng.normal([0.0, 0.5], 1.0, (2000, 2))  # the margins are right
    >>> result = cd.consequence(mean_field, reference, "x1 > x0", iid=True)
    >>> round(float(result.draws), 2), round(float(result.repaired), 2), result.dependence.pvalue < 0.001
    (0.63, 0.77, True)
    >>> abs(result.dependence.value + result.margins.value - result.difference.value) < 1e-12
    True
    """
    result = weigh(
        draws, reference, function, summary=summary, q=q, split=split, iid=iid, confidence=confidence, n_resamples=n_resamples,
        rng=rng, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, chains=chains, exclude=exclude,
        missing=missing, n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    for caveat in result.caveats:
        warn(DependenceWarning(caveat))
    return result


@enough_memory
def weigh(
    draws: Any,
    reference: Any,
    function: Any,
    *,
    summary: str | Sequence[str] | None = None,
    q: float | Sequence[float] | None = None,
    split: str = "dependence",
    iid: bool | str = False,
    confidence: float = 0.95,
    n_resamples: int = 400,
    rng: RandomSource = 1,
    chains: int | str | None = None,
    missing: str | None = None,
    n_jobs: int | None = -1,
    progress: bool | None = None,
    var_names: str | Sequence[str] | None = None,
    **selection: Any,
) -> Consequence:
    """`consequence` without issuing its warnings, for callers that report them; `selection` holds options of `as_draws`."""
    one_of(split, "split", tuple(SPLITS))
    sides, share = independent_sides(iid), open_probability(confidence, "confidence")
    count, jobs, source = (
        whole_number(n_resamples, "n_resamples", FEWEST_RESAMPLES),
        checked_jobs(n_jobs),
        random_generator(rng),
    )
    pair = FunctionSamples.read(draws, reference, function, sides, chains, missing, {"var_names": var_names, **selection})
    summaries = checked_summaries(summary, q, pair.function.is_condition)
    own, other = (SortedSample.of(columns, source) for columns in pair.columns)
    additive = pair.function.is_additive(pair.columns[0]) and pair.function.is_additive(pair.columns[1])
    with progress_bar(progress, "resamples", count) as tick:
        combined, resampling = combine(
            own, other, pair.function, summaries, pair.resampling, additive=additive, n_resamples=count, rng=source,
            n_jobs=jobs if pair.function.is_typed else 1, tick=adding(tick),
        )  # fmt: skip
    effects = tuple(
        Effect(each.label, each.kind, each.q, **estimates(points, replicates, each, resampling, split=split, confidence=share))
        for each, points, replicates in zip(summaries, combined.points, combined.replicates.transpose(1, 0, 2), strict=True)
    )
    caveats = list(pair.caveats(resampling, combined.values[0], combined.values[3]))
    caveats += tie_caveats(own, other, pair.function.names, [side.n_eff for side in resampling])
    caveats += heavy_caveats(combined.values, summaries)
    for each, points in zip(summaries, combined.points, strict=True):
        decisive = few_events(points, each, resampling)
        if decisive < FEW_EVENTS:
            sentence = f"the {each.label} rests on {decisive:.1f} effective {pair.things}, so its interval is a rough guide"
            caveats.append(caveat_of("few-events", sentence))
    return Consequence(
        pair.function.label,
        pair.function.names,
        pair.function.is_condition,
        effects,
        combined.values,
        split=split,
        iid=iid if isinstance(iid, str) else sides[0],
        confidence=share,
        n_resamples=count,
        blocks=(resampling[0].block, resampling[1].block),
        samples=pair.samples,
        caveats=tuple(caveats),
        notes=(*pair.notes, *tie_notes(own, other, pair.function.names)),
        version=library_version(),
    )


def tie_caveats(own: SortedSample, other: SortedSample, names: Sequence[str], sizes: Sequence[float]) -> list[Caveat]:
    """Tied variables whose values occur otherwise often in the two samples: dependence within ties is not in the data."""
    limit = KOLMOGOROV * math.sqrt(sum(1.0 / size for size in sizes))
    apart = []
    for name, mine, others in zip(names, own.values, other.values, strict=True):
        if max(_chance_of_a_tie(mine), _chance_of_a_tie(others)) > LARGE_TIES:
            both = np.concatenate([mine, others])
            shares = [np.searchsorted(values, both, side="right") / values.size for values in (mine, others)]
            if np.abs(shares[0] - shares[1]).max() > limit:
                apart.append(name)
    if not apart:
        return []
    sentence = f"{listed(apart, BRIEF)}: tied values occur otherwise often in the two samples; what is within ties is not known"
    return [caveat_of("tied-values", sentence)]


def _chance_of_a_tie(values: Any) -> float:
    """The probability that two rows have the same value, for sorted values; repeated states of a chain hardly count."""
    edges = np.flatnonzero(np.diff(values) != 0.0)
    sizes = np.diff(np.concatenate([[-1], edges, [values.size - 1]]))
    return float(np.sum((sizes / values.size) ** 2))


def heavy_caveats(values: Sequence[Any], summaries: Sequence[Summary]) -> list[Caveat]:
    """A few rows that decide about a mean or a spread."""
    if not any(each.kind in ("mean", "sd") for each in summaries):
        return []
    rows = []
    for one in (values[0], values[3]):
        squares = np.sort((one - one.mean()) ** 2)[::-1]
        rows.append(int(np.searchsorted(np.cumsum(squares), 0.5 * squares.sum())) + 1)
    if min(rows) >= min(FEW_EVENTS, FEW_ROWS * min(values[0].size, values[3].size)):
        return []
    sentence = f"{min(rows)} rows carry half of the variance of the function, so intervals of its mean and spread are rough"
    return [caveat_of("few-events", sentence)]


def tie_notes(own: SortedSample, other: SortedSample, names: Sequence[str]) -> tuple[str, ...]:
    """A note if ties were broken at random."""
    some = [name for name, ties in zip(names, tied(own, other), strict=True) if ties]
    return (
        (f"ties in {listed(some, BRIEF)} are broken at random; results are means over {TIE_BREAKINGS} ways to do so",)
        if some
        else ()
    )
