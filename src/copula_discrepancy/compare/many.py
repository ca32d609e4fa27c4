"""Every pair of variables compared with a target or a reference sample, worst first."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.checks import independent_sides, one_of, real_array, real_number, true_or_false
from copula_discrepancy._core.errors import DependenceWarning, InputError, enough_memory
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy._core.tensors.device import checked_device, named_device
from copula_discrepancy._core.warn import warn
from copula_discrepancy._core.workers import checked_jobs, one_blas_thread
from copula_discrepancy.compare.caveats import Compared, comparison_caveats, level_caveats, sides_of
from copula_discrepancy.compare.correlations import in_order, square_values
from copula_discrepancy.compare.counted_draws import CountedDraws
from copula_discrepancy.compare.engine import (
    ENGINES,
    counted_in_memory,
    counted_samples,
    is_blurred,
    processor_for_counted,
    worth_counting,
)
from copula_discrepancy.compare.jobs import out_of_memory, run
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.margins import Margins, compare_margins
from copula_discrepancy.compare.one import comparison_of
from copula_discrepancy.compare.over_time import caveats_of_paths, over_time, refuse
from copula_discrepancy.compare.pair_targets import PairTargets, resolve_pair_targets
from copula_discrepancy.compare.two_samples import precision_remarks
from copula_discrepancy.compare.wording import pair_label
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.lagging import checked_lags
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.data.precision import Precision
from copula_discrepancy.data.repeats import in_a_row
from copula_discrepancy.data.resident import brought_home
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.family_curves import EXACT
from copula_discrepancy.estimate.fit import METHODS
from copula_discrepancy.estimate.fit_result import library_version
from copula_discrepancy.estimate.form import checked_order
from copula_discrepancy.estimate.multiplicity import ADJUSTMENTS
from copula_discrepancy.estimate.ranks import TAIL_SHARE
from copula_discrepancy.estimate.scanning import MEMORY, ScanOptions, checked_memory
from copula_discrepancy.estimate.selection import FULL
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.tails import checked_tail
from copula_discrepancy.estimate.uncertainty import open_probability
from copula_discrepancy.families import resolve_family

if TYPE_CHECKING:
    from copula_discrepancy.compare.groups_result import GroupedPairwise


@overload
def pairwise(
    draws: Any, target: Any = None, *, family: Any = None, method: str = "mle", iid: bool | str = False,
    confidence: float = 0.95, adjust: str = "bh", weights: Any = None, exact: bool = False,
    var_names: str | Sequence[str] | None = None, filter_vars: str | None = None, group: str = "posterior",
    coords: Mapping[str, Any] | None = None, chains: int | str | None = None, exclude: str | Sequence[str] | None = None,
    missing: str | None = None, kinds: Any = None, tail: float = TAIL_SHARE, order: int = ORDER, n_jobs: int | None = -1,
    checkpoint: str | os.PathLike[str] | None = None, progress: bool | None = None, by: None = None, engine: str = "auto",
    memory: float | str = MEMORY, device: Any = "cpu",
) -> Pairwise: ...  # fmt: skip


@overload
def pairwise(
    draws: Any, target: Any = None, *, family: Any = None, method: str = "mle", iid: bool | str = False,
    confidence: float = 0.95, adjust: str = "bh", weights: Any = None, exact: bool = False,
    var_names: str | Sequence[str] | None = None, filter_vars: str | None = None, group: str = "posterior",
    coords: Mapping[str, Any] | None = None, chains: int | str | None = None, exclude: str | Sequence[str] | None = None,
    missing: str | None = None, kinds: Any = None, tail: float = TAIL_SHARE, order: int = ORDER, n_jobs: int | None = -1,
    checkpoint: str | os.PathLike[str] | None = None, progress: bool | None = None, by: str | Sequence[str],
    engine: str = "auto", memory: float | str = MEMORY, device: Any = "cpu",
) -> "GroupedPairwise": ...  # fmt: skip


def pairwise(
    draws: Any,
    target: Any = None,
    *,
    family: Any = None,
    method: str = "mle",
    iid: bool | str = False,
    confidence: float = 0.95,
    adjust: str = "bh",
    weights: Any = None,
    exact: bool = False,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
    chains: int | str | None = None,
    exclude: str | Sequence[str] | None = None,
    missing: str | None = None,
    kinds: Any = None,
    tail: float = TAIL_SHARE,
    order: int = ORDER,
    lags: int | Sequence[int] | None = None,
    n_jobs: int | None = -1,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    by: str | Sequence[str] | None = None,
    engine: str = "auto",
    memory: float | str = MEMORY,
    device: Any = "cpu",
) -> "Pairwise | GroupedPairwise":
    """Compare the dependence of every pair of variables with a target, and rank the pairs, worst first.

    Each pair gets the level, shape, form and total gap of `discrepancy`, with standard errors that hold on Markov chains, the
    gaps in all four corners, CKL, effective draws and R-hat for dependence. Level, shape, form and tails are tested in every
    pair, and the p-values of all these tests are adjusted together. With a reference sample, columns may be of every kind: a
    pair with categories without order has form only, and where values are missing is compared as columns of their own. Pairs
    with a significant gap come first, then the others, each group sorted by its largest gap.

    Parameters
    ----------
    draws : anything `as_draws` accepts, with two variables or more
        Ranked once; only ranks matter. Constant variables are omitted, with a warning.
    target : reference sample, copulas, correlation matrix, or None
        - Anything `as_draws` accepts: a reference sample of the same variables (matched by name), independent of the draws.
        - A dictionary from pairs to copulas, ``{("a", "b"): Gumbel(2.5)}``: only these pairs are compared; or one copula
          for all.
        - A correlation matrix (d, d), as an array or a data frame: every pair is compared with that Gaussian copula.
        - None: there is no level; shape and form show whether the best family fits each pair, and R-hat whether the chains
          agree.
    family : str, class or instance, optional
        The family to fit, with a reference sample or without a target. By default the best of all families and rotations is
        chosen for each pair, on the reference.
    method : {"mle", "moment"}
        "moment" uses Kendall's tau only; shape is not tested.
    iid : bool or {"draws", "reference"}
        Treat the draws, and those of the reference, as independent, or only one of the two samples.
    confidence : float
        Adjusted p-values below 1 - confidence count as a gap.
    adjust : {"bh", "by", "holm", "bonferroni", "none"}
        See `adjust_pvalues`.
    weights : array (d, d) or dictionary from pairs to numbers, optional
        Weight of each pair in `weighted`; by default the target's |tau|, so that pairs with strong dependence count most.
    exact : bool
        Compare all families exactly and compute every function of a family by quadrature, as `discrepancy` does, instead of
        comparing families on binned ranks first and interpolating: the same numbers as `discrepancy`, at many times the cost.
    var_names, filter_vars, group, coords, chains, exclude : optional
        See `as_draws`; they apply to the reference as well, except a number of chains. It need not have what is excluded.
    missing : {"pairs", "listwise", "raise"}, optional
        Handling of NaN: each pair uses the rows that have both values; rows with a missing value are omitted from every pair;
        or an error. By default "pairs" for tables with column names, and an error for chains and bare arrays. With "pairs" and
        a reference sample, a column of which at least five values are missing gets an indicator, ``"income is missing"``,
        which is compared with all other columns.
    kinds : dict, optional
        Kinds of columns, ``{"zip": "nominal", "size": ["S", "M", "L"]}``, or SDV's metadata, for both samples; see `as_draws`.
        Other kinds are guessed: text is nominal.
    tail : float
        The fraction of each variable that counts as its tail, such as 0.1, 0.05 or 0.01.
    order : int
        The order of form: each variable enters with its first polynomials, up to this degree, from 1 to 8.
    lags : int or sequence of int, optional
        Compare dependence over time as well, with a reference sample: each variable with its own past and that of the others,
        1, ..., `lags` steps before, or at the steps listed, such as ``[1, 5, 20]``. Chains are paths, such as those of a
        scenario generator, (path, step, variable); a history is one path, and the numbers and lengths of paths may differ
        between the samples. See the notes.
    n_jobs : int, optional
        Threads (or workers of the backend that `joblib.parallel_config` sets); -1, the default, is one per core.
    checkpoint : path, optional
        A folder, new, empty or of an earlier call, in which finished pairs are saved. After an interruption, repeat the call to
        resume; the numbers are then bitwise equal to those of an uninterrupted run on that machine. The folder belongs to one
        version of the library and its packages, the ranks of both samples, and target, family, method and iid; confidence,
        adjust, weights and n_jobs may change. If rows are counted, their counts are saved there, and a scan resumes.
    progress : bool, optional
        Show a progress bar; by default on a terminal, after two seconds.
    by : str or list of str, optional
        A column with at most 50 values, such as a category, or several: the samples are also compared within groups of rows
        that have the same values there. For a table without chains and a reference sample with the same column. Groups with
        fewer than 24 rows in either sample are left out, with a warning. See `GroupedPairwise`.
    engine : {"auto", "exact", "counted"}
        "exact" ranks all rows in memory. "counted" reads them once, in pieces, and counts pairs of bins: for tables that do not
        fit into memory. "auto" counts sketches, sources that are too large for `memory`, and independent rows of which there
        are many (200,000); of the latter, pairs whose numbers the bins would blur are ranked all the same. See the notes.
    memory : float or str
        Bytes, or a text such as ``"2GB"``, that reading and counting may take.
    device : {"cpu", "cuda", "auto"}, "cuda:1", or torch.device
        Where pairs are compared: on the processor, on a graphics processor through PyTorch (install the extra ``gpu``), or on
        a graphics processor if there is one. Tensors of PyTorch, CuPy and JAX that are on the device are ranked there. See the
        notes.

    Returns
    -------
    Pairwise or GroupedPairwise
        The ranked pairs; print it for a summary in words, or use `to_dataframe`, `matrix`, `pair`. With a reference sample,
        its `margins` compare the variables one by one, which ranks do not; they do not enter the verdict. With `by`, one
        `Pairwise` for every group and one for all rows, whose p-values are adjusted together.

    Raises
    ------
    InputError
        For draws that `as_draws` rejects (NaN and infinite values are counted and located), fewer than two varying variables,
        or a target that does not match them: the message lists the variables that only one side has. For groups `by` a column
        that does not exist, with too many values, or of which no group can be compared. For a checkpoint that
        cannot be written or belongs to another call. If every pair runs out of memory or a worker process dies; single pairs
        that run out of memory have no results, count as not tested, and are listed in the result's warnings.

    See Also
    --------
    discrepancy : One pair, and the formulas.
    vine : Conditional dependence as well.
    Margins : The variables one by one.
    summary : Kendall's tau of every pair, without a target.
    DependenceFidelity : One score for a synthetic table.

    Notes
    -----
    The answer about all pairs together, `joint`, is a test of its own, at the same level. Where nothing is wrong, it or that of
    the pairs finds something in more than 5% of comparisons: in 5 to 9%, measured over four designs.

    The four corners of a pair have one test, the smallest of their p-values times their number; corners with few draws are
    tested exactly. Total and CKL are reported but not tested again: total is the sum of level and shape, and CKL a function of
    total. If a family is chosen for each pair, candidates are compared on binned ranks and the best ones by AIC (see
    `select_family` for all families in full); Student t copulas have one of thirteen degrees of freedom or, without a target,
    the most likely ones. Families with dependence of one sign require a tau above 0.1 in both samples; weaker dependence is
    described by elliptical families. Ties share mid-ranks.

    Columns of few values, flags and categories have no copula density, so neither shape nor tails. With a reference sample,
    their form is made of functions of the levels: contrasts of levels without order, polynomials of the mid-distribution of
    ordered ones. Both samples are brought to the same shares of the levels, the mean of their own, so that a change of shares
    is left to `margins`. Levels with fewer than 20 rows in either sample, and all but the 12 most frequent, are pooled, or
    merged with a neighbour if they have an order. Level, a difference of tau-b, changes with the shares; its test, if both
    columns have an order, is that of the strength at common shares. `Pairwise.levels` shows such a pair level by level. Between
    columns that are both of many values, everything is as for numbers.

    With `lags`, the columns are called ``x``, ``x[t-1]`` and, for volatility, ``|x|`` and ``|x|[t-1]``: the distance of x from
    its median in that sample. The pairs compared are variables at the same time; x now with every variable before (own past,
    others' past); ``|x|`` now with ``|y|`` before (volatility clustering, and spillover from others); and ``|x|`` now with y
    before (leverage). The first steps of each path, as many as the longest lag, are left out. `Pairwise.by_lag` counts the gaps
    by kind, and `plot_lags` draws dependence against the lag. Standard errors hold on paths, so `iid` cannot be used. Nominal
    variables are left out.

    Rows are counted in up to 240 bins of each variable, finer in the tails, whose edges are quantiles of a pilot sample.
    Numbers are extrapolated to bins of no width (Richardson, 1911), and standard errors include how much the bins may still
    hide, so that `n_eff` is limited by them, whatever the number of rows. Serial dependence is that of sums over consecutive
    blocks of rows; a source without an order, such as a LazyFrame, has independent rows, and the result says so. Counted rows
    have no `joint` answer, no `lags` and no groups `by`.

    On a device the numbers are those of the processor up to rounding; taus are the same. Ranks, taus, R-hat, the choice of
    families, likelihoods, influence values and long-run variances, corners and form are computed on it, in tiles that fit into
    its memory. On the processor are computed: tests and verdicts, pairs with levels or missing values, fits of families next to
    independence, of Student t copulas with estimated degrees of freedom and of your own families, and margins.

    Maximum, mean and weighted mean over the pairs are proposed in Aich and Aich (2025, section 7.5).

    References
    ----------
    Aich, A. and Aich, A. B. (2025). Copula Discrepancy: Benchmarking Dependence Structure.

    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate: a practical and powerful approach to multiple
    testing. Journal of the Royal Statistical Society B 57, 289-300.

    Richardson, L. F. (1911). The approximate arithmetical solution by finite differences of physical problems involving
    differential equations. Philosophical Transactions of the Royal Society A 210, 307-357.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], 2000)
    >>> independent = rng.standard_normal((2000, 3))
    >>> result = cd.pairwise(independent, reference, iid=True)
    >>> result.worst.names, result.worst.verdict, result.n_flagged
    (('x0', 'x1'), 'too weak', 1)

    A table with text, from which the dependence was lost:

    >>> town = rng.choice(["Graz", "Linz", "Wien"], 500)
    >>> real = {"town": town, "rent": rng.normal(10.0 + 3.0 * (town == "Wien"), 2.0)}
    >>> result = cd.pairwise(real | {"town": rng.permutation(town)}, real, iid=True)
    >>> result.worst.verdict, result.worst.level
    ('association lost', nan)

    Draws without the volatility clusters of the reference:

    >>> noise, paths = rng.standard_normal((20, 300, 1)), np.empty((20, 300, 1))
    >>> variance = np.ones((20, 1))
    >>> for t in range(300):
    ...     paths[:, t] = np.sqrt(variance) * noise[:, t]
    ...     variance = 0.05 + 0.25 * paths[:, t] ** 2 + 0.7 * variance
    >>> reference, shuffled = paths[:10], rng.permuted(paths[10:], axis=1)
    >>> cd.pairwise(shuffled, reference, lags=1).verdict
    'gaps in 3 of 3 pairs (volatility clustering)'
    """
    rank: Any = rank_pairs
    if by is not None and (engine == "counted" or any(isinstance(given, DependenceSketch) for given in (draws, target))):
        raise InputError(f"by={by!r} needs rows in memory, and those of a sketch, or of engine='counted', are gone", "argument")
    if by is not None:
        from copula_discrepancy.compare.groups import rank_groups  # it ranks the pairs of every group, by the function below

        rank = partial(rank_groups, by=by)
    result: Pairwise | GroupedPairwise = rank(
        draws, target, family=family, method=method, iid=iid, confidence=confidence, adjust=adjust, weights=weights,
        exact=exact, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, chains=chains, missing=missing,
        exclude=exclude, kinds=kinds, tail=tail, order=order, lags=lags, n_jobs=n_jobs, checkpoint=checkpoint,
        progress=progress, engine=engine, memory=memory, device=device,
    )  # fmt: skip
    for caveat in result.caveats:
        warn(DependenceWarning(caveat))
    return result


class Choices(NamedTuple):
    """Options of `pairwise` that are valid whatever the samples are."""

    method: str
    iid: tuple[bool, bool]
    confidence: float
    adjust: str
    tail: float
    order: int
    n_jobs: int | None

    @classmethod
    def checked(
        cls, *, method: Any = "mle", iid: Any = False, confidence: Any = 0.95, adjust: Any = "bh", tail: Any = TAIL_SHARE,
        order: Any = ORDER, n_jobs: Any = -1,
    ) -> "Choices":  # fmt: skip
        """These options, or an error about the first that is not valid."""
        return cls(
            one_of(method, "method", METHODS), independent_sides(iid), open_probability(confidence, "confidence"),
            one_of(adjust, "adjust", ADJUSTMENTS), checked_tail(tail), checked_order(order), checked_jobs(n_jobs),
        )  # fmt: skip


@enough_memory
def rank_pairs(
    draws: Any,
    target: Any = None,
    *,
    family: Any = None,
    method: str = "mle",
    iid: bool | str = False,
    confidence: float = 0.95,
    adjust: str = "bh",
    weights: Any = None,
    exact: bool = False,
    chains: int | str | None = None,
    missing: str | None = None,
    tail: float = TAIL_SHARE,
    order: int = ORDER,
    lags: int | Sequence[int] | None = None,
    n_jobs: int | None = -1,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    engine: str = "auto",
    memory: float | str = MEMORY,
    device: Any = "cpu",
    computed_by: Callable[..., NDArray[Any]] = run,
    margins_by: Callable[..., Margins] = compare_margins,
    unfinished: bool = False,
    **selection: Any,
) -> Pairwise:
    """`pairwise` without issuing its warnings, for callers that report them; `selection` holds options of `as_draws`.

    `computed_by` computes the rows of all pairs, as `jobs.run` does, or knows some of them from before; `margins_by` compares
    the variables one by one. `unfinished` is for a look at a run that goes on.
    """
    checked = Choices.checked(
        method=method, iid=iid, confidence=confidence, adjust=adjust, tail=tail, order=order, n_jobs=n_jobs
    )
    sides, share, jobs = checked.iid, checked.confidence, checked.n_jobs
    accuracy: dict[str, Any] = {"curves": EXACT, "selector": FULL} if true_or_false(exact, "exact") else {}
    steps = checked_lags(lags)
    refuse(steps, sides, missing, weights)
    selection["missing"] = missing
    place, device_notes = checked_device(device)
    precisions = Precision.of(draws), Precision.of(target)
    draws = brought_home(draws, place, "draws", missing=missing)
    target = brought_home(target, place, "reference", missing=missing)
    scanning = ScanOptions(checked_memory(memory), jobs, progress, checkpoint, None, selection)
    counted = None
    if not accuracy and not steps:
        counted = counted_samples(
            draws, target, engine=engine, iid=sides, options=scanning, chains=chains, group=selection.get("group", "posterior")
        )
    elif one_of(engine, "engine", ENGINES) == "counted" or isinstance(draws, DependenceSketch):
        raise InputError("rows that are counted have no exact=True and no lags; omit them, or use engine='exact'", "argument")
    read_notes: tuple[str, ...] = ()
    if counted is not None and counted.in_memory:
        draws, target, sides, read_notes, counted = counted.draws, counted.target, counted.iid, counted.notes, None
    if counted is not None:
        draws, target, sides, checkpoint = counted.draws, counted.target, counted.iid, None
        if target is None:
            sides = sides[0], sides[0]
        selection, chains = {"missing": missing}, None  # columns were selected when they were counted
    if counted is not None and place is not None:
        place, device_notes = processor_for_counted(device)
    given = draws if isinstance(draws, CountedDraws) else as_draws(draws, **selection, chains=chains)
    if given.n_variables < 2 and not steps:
        raise InputError(
            f"pairs need at least two variables, got {given.n_variables} ({given.names[0]}); select more of them, or check the "
            "column separator",
            "shape",
        )
    aims = resolve_pair_targets(
        given, target, selection, sides, indicators=not steps, fewest=1 if steps else 2, every_kind=True
    )
    before, lagging = (aims.draws, aims.reference), None
    if steps:
        aims, lagging = over_time(aims, steps)
    template, estimate_df = _template(family, aims, method)
    samples: tuple[Draws, Draws | None] = (aims.draws, aims.reference)
    choices: dict[str, Any] = {
        "targets": aims.targets or {},
        "template": template,
        "estimate_df": estimate_df,
        "method": method,
    }
    choices |= {"tail": checked.tail, "order": checked.order, **accuracy}
    automatic = engine == "auto" and counted is None and not accuracy and not steps and checkpoint is None and place is None
    if automatic and worth_counting(aims.draws, aims.reference, sides):
        reference = None if aims.reference is None else counted_in_memory(aims.reference, scanning)
        samples = counted_in_memory(aims.draws, scanning), reference
    comparison = comparison_of(samples, sides, device=place, **choices)
    if lagging is not None:  # paths of a process differ: R-hat is for chains that sample one distribution
        comparison = replace(comparison, compared=(False, False))
    one_thread = one_blas_thread() if isinstance(comparison.draws, CountedTable) else nullcontext()
    margins_of = partial(margins_by, iid=sides, confidence=share, adjust=adjust)
    # while a device computes; the cores that n_jobs allows are busy with pairs otherwise
    idle = ThreadPoolExecutor(1) if place is not None else nullcontext()
    with progress_bar(progress, "pairs", len(aims.pairs)) as tick, one_thread, idle as aside:
        waiting = None if aside is None or aims.margins is None else aside.submit(margins_of, aims.margins)
        rows = computed_by(comparison, aims.pairs, jobs, tick, checkpoint)
    notes = (*aims.notes, *read_notes, *device_notes, *(in_a_row(aims.draws) if sides[0] and counted is None else ()))
    if samples[0] is not aims.draws:
        blurred = np.flatnonzero(is_blurred(rows))
        if blurred.size:
            by_rank = comparison_of((aims.draws, aims.reference), sides, **choices)
            rows[blurred] = run(by_rank, [aims.pairs[k] for k in blurred.tolist()], jobs, lambda _: None)
        notes = *notes, _counted_note(samples[0], blurred.size, len(rows))

    def label(row: Any) -> str:
        return pair_label(aims.draws.names[row["first"]], aims.draws.names[row["second"]])

    families = {copula.name: copula for copula in (aims.targets or {}).values()}
    families |= {} if template is None else {template.name: template}
    compared = Compared(rows, Pairwise.unit, label, method, families, estimate_df or bool(accuracy))
    both = sides_of((aims.draws, aims.reference), (comparison.draws, comparison.reference), sides)
    told: Sequence[Caveat] = (*(() if counted is None else counted.caveats), *comparison_caveats(compared, both))
    if lagging is not None:
        told = caveats_of_paths(told, before, both)
    rounded, remarks = precision_remarks(precisions, (comparison.draws, comparison.reference))
    notes = *notes, *remarks
    lost = [caveat_of("memory", sentence) for sentence in out_of_memory(rows, label)]
    margins = waiting.result() if waiting is not None else None if aims.margins is None else margins_of(aims.margins)
    return Pairwise.of(
        rows,
        names=aims.draws.names,
        kind=aims.kind,
        method=method,
        family=None if template is None else template.name,
        iid=_sides_as_given(sides, aims.reference is not None),
        confidence=share,
        adjust=adjust,
        weights=_weights(weights, tuple(dict.fromkeys((*given.names, *aims.draws.names))), aims.draws, rows),
        samples=samples,
        targets=aims.targets,
        template=template,
        tail=checked.tail,
        order=comparison.order,
        exact=bool(accuracy),
        notes=notes,
        stuck=aims.stuck,
        left_out=aims.left_out,
        caveats=(*aims.caveats, *rounded, *lost, *told, *level_caveats(comparison.coded, aims.draws.names)),
        version=library_version(),
        margins=margins,
        lagging=lagging,
        unfinished=unfinished,
        **named_device(place),
    )


def _counted_note(draws: Draws, exact: int, pairs: int) -> str:
    """How pairs of many rows in memory were compared."""
    assert isinstance(draws, CountedDraws)
    rest = "" if not exact else f"; {exact:,} of {pairs:,} pairs, whose standard errors that would change, were ranked exactly"
    return (
        f"rows were counted in up to {draws.sketch.resolution} bins of each variable, which changes no standard error by more "
        f"than a hundredth{rest}"
    )


def _sides_as_given(sides: tuple[bool, bool], compared: bool) -> bool | str:
    """For which samples rows are independent, as a user says it."""
    if not compared or sides[0] == sides[1]:
        return sides[0]
    return "draws" if sides[0] else "reference"


def _template(family: Any, aims: PairTargets, method: str) -> tuple[Any, bool]:
    """The family to fit, or None if it is chosen for each pair or known from the targets."""
    automatic = family is None or (isinstance(family, str) and family == "auto")
    if aims.targets is not None:
        if family is not None:
            raise InputError(
                "family can only be used with a reference sample or without a target; targets that are copulas have their own, "
                f"got {family!r}"
            )
        return None, False
    if method == "moment" and aims.kind == "nothing":
        raise InputError("without a target, method='moment' has nothing to test; use method='mle' or pass a target")
    return (None, False) if automatic else resolve_family(family, None)


def _weights(weights: Any, all_names: tuple[str, ...], draws: Draws, rows: NDArray[Any]) -> NDArray[np.float64] | None:
    """One weight per row, or None for the default."""
    if weights is None:
        return None
    names, d = all_names, len(all_names)  # including constant variables, which users who pass weights need not know about
    if isinstance(weights, Mapping):
        at = {name: k for k, name in enumerate(names)}
        matrix = np.full((d, d), np.nan)
        for key, weight in weights.items():
            if not (isinstance(key, tuple) and len(key) == 2 and all(part in at for part in key)):
                raise InputError(
                    f"weights must map pairs of variables to numbers, got the key {key!r}; variables: {listed(names, BRIEF)}"
                )
            i, j = at[key[0]], at[key[1]]
            if not np.isnan(matrix[i, j]):
                raise InputError(f"weights has the pair {key[0]!r}, {key[1]!r} twice; pass it once")
            matrix[i, j] = matrix[j, i] = real_number(weight, f"weights[{key!r}]")
        matrix = np.nan_to_num(matrix, nan=0.0)
    else:
        values, labels = square_values(weights)
        matrix = real_array(values, "weights").astype(np.float64)
        if matrix.shape != (d, d):
            raise InputError(f"weights must have shape ({d}, {d}), one row per variable, got {matrix.shape}")
        if labels is not None:
            matrix = in_order(matrix, labels, names, "weights")
        if not np.array_equal(matrix, matrix.T, equal_nan=True):
            raise InputError("weights must be symmetric: a pair has one weight; use (W + W.T) / 2, or a dictionary of pairs")
    place = [names.index(name) if name in names else k for k, name in enumerate(draws.names)]
    matrix = matrix[np.ix_(place, place)]
    found: NDArray[np.float64] = matrix[rows["first"], rows["second"]]
    if not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise InputError("weights must be finite and not negative, and at least one of them positive")
    return found
