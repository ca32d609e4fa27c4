"""What wrong dependence does to sums, differences and joint extremes of all pairs, worst first."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import stdtr

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.checks import (
    RandomSource,
    independent_sides,
    one_of,
    random_generator,
    true_or_false,
    whole_number,
)
from copula_discrepancy._core.errors import DependenceWarning, InputError, enough_memory
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy._core.warn import warn
from copula_discrepancy._core.workers import checked_jobs
from copula_discrepancy.compare.caveats import sample_caveats, sides_of
from copula_discrepancy.compare.consequence import FEW_EVENTS, FEWEST_RESAMPLES, tie_caveats, tie_notes
from copula_discrepancy.compare.pair_targets import PairTargets, resolve_pair_targets
from copula_discrepancy.compare.two_samples import adding
from copula_discrepancy.compare.whole_rows import complete, require_sample, require_values
from copula_discrepancy.compare.worst_result import EFFECT_ROW, WorstConsequences
from copula_discrepancy.data.draws import Draws, numeric_draws
from copula_discrepancy.data.matching import read_reference
from copula_discrepancy.data.naming import listed
from copula_discrepancy.data.repeats import in_a_row
from copula_discrepancy.estimate.basis import centred_ranks
from copula_discrepancy.estimate.coupling import SortedSample
from copula_discrepancy.estimate.decomposition import COMBINATIONS, freedom
from copula_discrepancy.estimate.fit_result import library_version
from copula_discrepancy.estimate.multiplicity import ADJUSTMENTS, adjust_pvalues
from copula_discrepancy.estimate.pair_effects import EFFECTS, PairEffects, compare_pairs
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import TAIL_SHARE, rank_column
from copula_discrepancy.estimate.resampling import BlockResampling
from copula_discrepancy.estimate.tails import checked_tail
from copula_discrepancy.estimate.uncertainty import open_probability

SMALLEST = 1e-14  # standard deviations relative to the largest value that are rounding errors
PRODUCTS = 300  # pairs whose autocorrelation is looked at
MOST = 2000  # pairs that are resampled: ten seconds for 4,000 draws on two cores


def worst_consequences(
    draws: Any,
    reference: Any,
    *,
    tail: float = TAIL_SHARE,
    standardize: bool = True,
    iid: bool | str = False,
    confidence: float = 0.95,
    adjust: str = "bh",
    n_resamples: int = 200,
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
) -> WorstConsequences:
    """Rank what the dependence of the draws does to sums, differences and joint extremes of all pairs, worst first.

    For every pair ten numbers are computed in the draws and in the same draws with the reference's dependence, so that only
    dependence differs: the spread of the sum and of the difference, how often each is below or above what the reference exceeds
    in a tenth of its draws, and how often both variables are low, both high, or one low and the other high. It answers
    what wrong dependence means if no function is known that matters; `consequence` computes it for a function of yours.

    Parameters
    ----------
    draws : anything `as_draws` accepts, with two variables or more
        The sample that is judged.
    reference : anything `as_draws` accepts
        A sample with the right dependence of the same variables (matched by name), independent of the draws.
    tail : float
        The share of the reference that counts as low, and as high.
    standardize : bool
        Divide every variable by its standard deviation in the reference, so that sums and differences do not depend on units.
        With False they are of the values as they are.
    iid : bool or {"draws", "reference"}
        Treat the draws, and those of the reference, as independent.
    confidence : float
        Adjusted p-values below 1 - confidence count as an effect; confidence level of intervals.
    adjust : {"bh", "by", "holm", "bonferroni", "none"}
        How the p-values of all effects are adjusted; see `adjust_pvalues`.
    n_resamples : int
        Number of resamples.
    rng : int, Generator, SeedSequence or None
        Seed or source of the resamples and of the order of tied values; the default is a fixed seed.
    var_names, filter_vars, group, coords, chains, exclude : optional
        See `as_draws`; they apply to the reference as well, except a number of chains.
    missing : {"listwise", "raise"}, optional
        Handling of NaN: rows with a missing value are omitted (the default for tables with column names), or an error.
    n_jobs : int, optional
        Threads; -1, the default, is one per core.
    progress : bool, optional
        Show a progress bar; by default on a terminal, after two seconds.

    Returns
    -------
    WorstConsequences
        All pairs, those with the largest effect of dependence first; its data frame has every effect of every pair.

    Raises
    ------
    InputError
        For draws that `as_draws` rejects, a reference that is not a sample of the same variables, or fewer than two variables
        that vary.

    See Also
    --------
    consequence : The same for a function of your own.
    pairwise : Where the dependence is wrong, and how.

    Notes
    -----
    An effect is the value in the draws minus that in the draws' margins with the reference's dependence. Its size, by which
    pairs are ranked, is relative to the latter for a spread, and to `tail` for a probability. Standard errors are from
    resamples of both samples, as in `consequence`. With more than 2,000 pairs those with the largest effects are
    resampled; the others count in the adjustment as if they showed nothing.

    Ten numbers do not describe a dependence: one that changes none of them, such as a ring whose extremes are where they
    should be, is seen by form in `pairwise`.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], 1000)
    >>> result = cd.worst_consequences(rng.standard_normal((1000, 3)), reference, iid=True)
    >>> result.outcome, result.to_dataframe().loc[0, ["first", "second"]].tolist()
    ('gap', ['x0', 'x1'])
    """
    result = rank_consequences(
        draws, reference, tail=tail, standardize=standardize, iid=iid, confidence=confidence, adjust=adjust,
        n_resamples=n_resamples, rng=rng, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords,
        chains=chains, exclude=exclude, missing=missing, n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    for caveat in result.caveats:
        warn(DependenceWarning(caveat))
    return result


@enough_memory
def rank_consequences(
    draws: Any,
    reference: Any,
    *,
    tail: float = TAIL_SHARE,
    standardize: bool = True,
    iid: bool | str = False,
    confidence: float = 0.95,
    adjust: str = "bh",
    n_resamples: int = 200,
    rng: RandomSource = 1,
    chains: int | str | None = None,
    missing: str | None = None,
    n_jobs: int | None = -1,
    progress: bool | None = None,
    **selection: Any,
) -> WorstConsequences:
    """`worst_consequences` without its warnings, for callers that report them; `selection` holds options of `as_draws`."""
    one_of(adjust, "adjust", ADJUSTMENTS)
    if missing is not None:
        one_of(missing, "missing", ("listwise", "raise", "drop"))
    sides, share, edge = independent_sides(iid), open_probability(confidence, "confidence"), checked_tail(tail)
    count, jobs, source = (
        whole_number(n_resamples, "n_resamples", FEWEST_RESAMPLES),
        checked_jobs(n_jobs),
        random_generator(rng),
    )
    in_units = true_or_false(standardize, "standardize")
    aims, samples = _read(draws, reference, sides, chains, missing, selection)
    columns = [np.stack([sample.column(k) for k in range(sample.n_variables)]) for sample in samples]
    scales = _scales(columns[1], samples[1].names) if in_units else np.ones(len(columns[1]))
    own, other = (SortedSample.of(values / scales[:, None], source) for values in columns)
    first, second = (
        BlockResampling.of(values if independent else _with_products(values), sample.n_chains, iid=independent)
        for values, sample, independent in zip(columns, samples, sides, strict=True)
    )
    pairs = np.array([*combinations(range(len(columns[0])), 2)])
    with progress_bar(progress, "resamples", count) as tick:
        effects = compare_pairs(
            own, other, pairs, (first, second), tail=edge, most=MOST, n_resamples=count, rng=source, n_jobs=jobs,
            tick=adding(tick),
        )  # fmt: skip
    df = freedom((first, second))
    rows = _rows(effects, pairs, df, share, adjust)
    compared = sides_of(samples, (RankedTable.of(samples[0]), RankedTable.of(samples[1])), sides)
    caveats: list[Caveat] = [*aims.caveats, *sample_caveats(compared)]
    for side, blocks in zip(compared, (first, second), strict=True):
        if blocks.n_eff < side.few:
            caveats.append(side.caveat("few-effective-draws", side.too_few(blocks.n_eff)))
    caveats += tie_caveats(own, other, samples[0].names, (first.n_eff, second.n_eff))
    decisive = edge * min(first.n_eff, second.n_eff)
    if decisive < FEW_EVENTS:
        sentence = (
            f"low and high are {100 * edge:g}% of the reference, {decisive:.1f} effective draws: effects on them are rough"
        )
        caveats.append(caveat_of("few-events", sentence))
    notes = (*aims.notes, *(in_a_row(samples[0]) if sides[0] else ()), *tie_notes(own, other, samples[0].names))
    if len(pairs) > MOST:
        notes += (f"{MOST:,} of {len(pairs):,} pairs, those with the largest effects, were tested; the others were not",)
    return WorstConsequences(
        samples[0].names,
        rows,
        tail=edge,
        standardize=in_units,
        iid=iid if isinstance(iid, str) else sides[0],
        confidence=share,
        adjust=adjust,
        n_resamples=count,
        blocks=(first.block, second.block),
        samples=samples,
        stuck=aims.stuck,
        left_out=aims.left_out,
        caveats=tuple(caveats),
        notes=notes,
        version=library_version(),
    )


def _read(
    draws: Any,
    reference: Any,
    iid: tuple[bool, bool],
    chains: int | str | None,
    missing: str | None,
    selection: Mapping[str, Any],
) -> tuple[PairTargets, tuple[Draws, Draws]]:
    """Draws and reference with the variables that vary in both, complete rows only."""
    given = complete(numeric_draws(draws, **selection, chains=chains, missing=missing), "draws")
    if given.n_variables < 2:
        raise InputError(f"at least 2 variables are needed, got {given.n_variables} ({listed(given.names)})", "shape")
    require_sample(reference)
    other = complete(read_reference(reference, given, {**selection, "missing": missing}), "reference")
    aims = resolve_pair_targets(given, other, {}, iid)
    assert aims.reference is not None
    samples = aims.draws, aims.reference
    for sample, independent, whose in zip(samples, iid, ("draws", "reference"), strict=True):
        require_values(sample, independent, whose)
    return aims, samples


def _with_products(columns: Any) -> Any:
    """The variables, and products of the ranks of pairs of them: a dependence may change more slowly than its variables."""
    u = np.stack([centred_ranks(rank_column(column)) for column in columns]) - 0.5
    pairs = np.array([*combinations(range(len(columns)), 2)])
    some = pairs[np.linspace(0, len(pairs) - 1, min(len(pairs), PRODUCTS)).astype(int)]
    return np.concatenate([columns, u[some[:, 0]] * u[some[:, 1]]])


def _scales(columns: Any, names: Sequence[str]) -> Any:
    """Standard deviations of the reference's variables."""
    scales = np.std(columns, axis=1, ddof=1)
    for name, scale, column in zip(names, scales, columns, strict=True):
        if not scale > SMALLEST * np.abs(column).max() or not scale > np.finfo(float).tiny:
            found = f"the standard deviation of {name} in the reference is {scale:g}"
            raise InputError(f"{found}, too small to divide by; rescale or shift it, or use standardize=False")
    return scales


def _rows(effects: PairEffects, pairs: Any, df: float, confidence: float, adjust: str) -> Any:
    """One row per pair and effect; of each pair the worst effect first, and pairs by these."""
    rows = np.zeros(effects.se.shape, EFFECT_ROW)
    rows["first"], rows["second"] = pairs[:, :1], pairs[:, 1:]
    rows["effect"] = np.arange(len(EFFECTS))
    for k, name in enumerate(COMBINATIONS):
        rows[name] = effects.points[:, :, k]
    rows["dependence"], rows["se"], rows["bias"] = effects.dependence, effects.se, effects.bias
    rows["size"] = effects.sizes
    with np.errstate(invalid="ignore", divide="ignore"):
        pvalues = 2.0 * stdtr(df, -np.abs(effects.dependence - effects.bias) / effects.se)
    # an effect that no resample has is none; a pair that was not resampled counts as one without effect
    pvalues[(effects.se == 0.0) & (effects.dependence == 0.0)] = 1.0
    rows["pvalue"] = pvalues
    rows["adjusted"] = np.where(np.isnan(pvalues), np.nan, adjust_pvalues(np.nan_to_num(pvalues, nan=1.0), adjust))
    rows["flagged"] = rows["adjusted"] < 1.0 - confidence
    rows["df"] = df
    # flagged effects first, the largest of them first; then by p-value
    keys = np.where(rows["flagged"], -np.abs(rows["size"]), 1.0 + np.nan_to_num(rows["pvalue"], nan=2.0))
    rows = np.take_along_axis(rows, np.argsort(keys, axis=1, kind="stable"), axis=1)
    return rows[np.argsort(np.sort(keys, axis=1)[:, 0], kind="stable")]
