"""What the dependence of draws does to a decision: a function of the variables with their own and with the right dependence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.checks import RandomSource, independent_sides, one_of, random_generator, whole_number
from copula_discrepancy._core.errors import DependenceWarning, InputError, enough_memory
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy._core.warn import warn
from copula_discrepancy._core.workers import checked_jobs
from copula_discrepancy.compare.caveats import ComparedSample, sample_caveats, sides_of
from copula_discrepancy.compare.consequence_result import Consequence, Effect
from copula_discrepancy.compare.two_samples import adding
from copula_discrepancy.compare.wording import called, halves
from copula_discrepancy.data.draws import Draws, as_draws, require_varying
from copula_discrepancy.data.matching import is_bare_word, matched, read_reference
from copula_discrepancy.data.naming import BRIEF, errors_about, listed, unknown_name
from copula_discrepancy.data.repeats import in_a_row
from copula_discrepancy.data.row_function import RowFunction, possible_names, row_function
from copula_discrepancy.estimate.agreement import RHAT_LIMIT, comparable
from copula_discrepancy.estimate.coupling import TIE_BREAKINGS, SortedSample
from copula_discrepancy.estimate.decomposition import SPLITS, combine, estimates, few_events, tied
from copula_discrepancy.estimate.fit_result import library_version
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.resampling import BlockResampling
from copula_discrepancy.estimate.summaries import checked_summaries
from copula_discrepancy.estimate.uncertainty import open_probability, require_chain_length, split_rhat
from copula_discrepancy.families import Copula

FEWEST_ROWS = 20  # with fewer, resamples have too few different rows
FEWEST_RESAMPLES = 50
_FEW_EVENTS = 10.0  # effective draws in a tail, below which its quantile is hardly known


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
        A function of a row. An expression: ``"a - b > 0"``, ``"0.6*equity + 0.4*bonds"``, ``"max(x, y)"``, with + - * / **,
        comparisons, and, or, not, abs, min, max, exp, log, sqrt, and names of variables, such as ``theta[1]``, or names with
        other characters between backquotes. Weights, by name or one for each variable. Or a Python function: one with
        several arguments that are names of variables gets an array (row,) of each; any other gets one array (row, variable).
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
    Values at the ranks of another sample are quantiles F^-1((R - 1/2)/m) of the values that there are; none is interpolated.
    The order of tied values is random, and results are means over eight such orders.

    Intervals are the estimate plus and minus Student's t times a standard error from resamples of both samples: of rows if they
    are independent, otherwise of blocks of five autocorrelation times of the variable that mixes most slowly, from all chains,
    with a correction for the covariances between blocks. Ranks and margins are computed again in every resample. The bootstrap
    of the empirical copula is consistent with independent draws (Fermanian et al., 2004) and with blocks of dependent ones
    (Bucher and Ruppert, 2013), so the intervals account for margins being estimated by ranks.

    The answer is about this function and this summary. Another one may be affected although this one is not: the mean of a sum
    does not depend on dependence at all.

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
    (0.64, 0.78, True)
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
    pair = TwoSets.read(draws, reference, function, sides, chains, missing, {"var_names": var_names, **selection})
    summaries = checked_summaries(summary, q, pair.function.is_condition)
    own, other = (SortedSample.of(columns, source) for columns in pair.columns)
    resampling = pair.resampling()
    with progress_bar(progress, "resamples", count) as tick:
        combined = combine(
            own, other, pair.function, summaries, resampling, n_resamples=count, rng=source,
            n_jobs=jobs if pair.function.is_typed else 1, tick=adding(tick),
        )  # fmt: skip
    effects = tuple(
        Effect(each.label, each.kind, each.q, **estimates(points, replicates, each, resampling, split=split, confidence=share))
        for each, points, replicates in zip(summaries, combined.points, combined.replicates.transpose(1, 0, 2), strict=True)
    )
    caveats = list(pair.caveats(resampling, combined.values[0], combined.values[3]))
    for each, points in zip(summaries, combined.points, strict=True):
        decisive = few_events(points, each, resampling)
        if decisive < _FEW_EVENTS:
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


def tie_notes(own: SortedSample, other: SortedSample, names: Sequence[str]) -> tuple[str, ...]:
    """A note if ties were broken at random."""
    some = [name for name, ties in zip(names, tied(own, other), strict=True) if ties]
    return (
        (f"ties in {listed(some, BRIEF)} are broken at random; results are means over {TIE_BREAKINGS} orders",) if some else ()
    )


@dataclass(frozen=True, eq=False)
class TwoSets:
    """Draws and reference with the variables of a function, complete rows only.

    Attributes
    ----------
    function : RowFunction
        The function, with its variables.
    samples : (Draws, Draws)
        Both samples with these variables, in this order.
    columns : (array, array)
        Their values, (variable, row), chain after chain.
    iid : (bool, bool)
        Whether the draws of each are independent.
    notes : tuple of str
        What was decided or left out when they were read.
    """

    function: RowFunction
    samples: tuple[Draws, Draws]
    columns: tuple[Any, Any]
    iid: tuple[bool, bool]
    notes: tuple[str, ...]

    @classmethod
    def read(
        cls,
        draws: Any,
        reference: Any,
        function: Any,
        iid: tuple[bool, bool],
        chains: int | str | None,
        missing: str | None,
        selection: Mapping[str, Any],
    ) -> "TwoSets":
        """Read both samples and match the function's variables."""
        if isinstance(reference, Copula | type | int | float | complex) or reference is None or is_bare_word(reference):
            raise InputError(
                f"reference must be a sample with the right dependence, got {reference!r:.60}; for a known copula, pass "
                "the draws that repair(draws, copula) makes",
                "no-target",
            )
        given, selection = _read(draws, function, chains, missing, selection)
        other = read_reference(reference, given, {**selection, "missing": missing})
        if given.named and other.named:
            used = row_function(function, given.names)
            for name in used.names:
                if name not in other.names:
                    raise InputError(f"reference: {unknown_name(name, other.names)}", "unknown-name")
        else:
            given, other = matched(given, other)
            used = row_function(function, given.names)
        samples = _complete(given.select(used.names), ""), _complete(other.select(used.names), "reference")
        notes = (*samples[0].notes, *(f"reference: {note}" for note in samples[1].notes))
        notes += in_a_row(samples[0]) if iid[0] else ()
        columns = []
        for sample, independent, whose in zip(samples, iid, ("draws", "reference"), strict=True):
            if sample.ranked:
                found = "some are too large to be distinguished as float64"
                raise InputError(f"the values of the {whose} are needed, but {found}; subtract an offset or rescale them first")
            n = sample.n_chains * sample.n_draws
            if n < FEWEST_ROWS:
                raise InputError(f"the {whose} must contain at least {FEWEST_ROWS} draws, got {n}", "too-few-draws")
            if not independent:
                require_chain_length(sample.n_draws)
            values = np.stack([sample.column(k) for k in range(sample.n_variables)])
            with errors_about("reference") if whose == "reference" else errors_about("draws"):
                for name, column in zip(sample.names, values, strict=True):
                    require_varying(column, name)
            columns.append(values)
        return cls(used.settled(columns[0]), samples, (columns[0], columns[1]), iid, notes)

    @property
    def things(self) -> str:
        """The noun for the observations."""
        return called(self.samples[0], self.iid[0])

    def resampling(self) -> tuple[BlockResampling, BlockResampling]:
        """How the rows of both samples are resampled."""
        first, second = (
            BlockResampling.of(columns, sample.n_chains, iid=independent)
            for columns, sample, independent in zip(self.columns, self.samples, self.iid, strict=True)
        )
        return first, second

    def caveats(self, resampling: Sequence[BlockResampling], *values: Any) -> list[Caveat]:
        """What is said of any two samples, and too few effective draws and chains that disagree on the function."""
        tables = RankedTable.of(self.samples[0]), RankedTable.of(self.samples[1])
        compared = sides_of(self.samples, tables, self.iid)
        caveats = sample_caveats(compared)
        for side, blocks, own in zip(compared, resampling, values, strict=True):
            if blocks.n_eff < side.few:
                caveats.append(side.caveat("few-effective-draws", side.too_few(blocks.n_eff)))
            caveats += _agreement(side, own)
        return caveats


def _agreement(side: ComparedSample, values: Any) -> list[Caveat]:
    """Chains, or halves of one chain, that disagree on the function."""
    if not comparable(side.draws, side.iid):
        return []
    rhat = split_rhat(values.reshape(side.draws.n_chains, -1))
    if not rhat > RHAT_LIMIT:
        return []
    parts = "the chains" if side.draws.n_chains > 1 else halves(side.things)
    return [side.caveat("chains-disagree", f"R-hat of the function is {rhat:.3f}, above {RHAT_LIMIT}: {parts} disagree on it")]


def _read(
    draws: Any, function: Any, chains: int | str | None, missing: str | None, selection: Mapping[str, Any]
) -> tuple[Draws, Mapping[str, Any]]:
    """The draws, and the selection of variables that they were read with.

    If columns that are not numbers stand in the way, only what may be names in the function is read.
    """
    try:
        return as_draws(draws, **selection, chains=chains, missing=missing), selection
    except InputError as error:
        names = possible_names(function)
        if error.code != "not-numeric" or selection["var_names"] is not None or not names:
            raise
        narrow = {**selection, "var_names": names, "filter_vars": None, "exclude": None}
        try:
            return as_draws(draws, **narrow, chains=chains, missing=missing), narrow
        except InputError as other:
            raise other if other.code == "unknown-name" else error from None


def _complete(sample: Draws, whose: str) -> Draws:
    """The rows that have values of all variables."""
    if not sample.incomplete:
        return replace(sample, notes=tuple(note for note in sample.notes if not note.startswith("missing values in")))
    with errors_about(whose) if whose else errors_about("draws"):
        found = as_draws(sample, missing="listwise")
    kept = (note for note in sample.notes if not note.startswith("missing values in"))
    return replace(found, notes=(*kept, found.notes[-1]))
