"""Every triple of variables compared with a reference sample, worst first."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import independent_sides, one_of
from copula_discrepancy._core.errors import DependenceWarning, enough_memory
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy._core.tensors.device import checked_device
from copula_discrepancy._core.warn import warn
from copula_discrepancy._core.workers import checked_jobs
from copula_discrepancy.compare.counted_interactions import TwoCounted
from copula_discrepancy.compare.engine import counted_samples, processor_for_counted
from copula_discrepancy.compare.interactions_result import TRIPLE, Interactions
from copula_discrepancy.compare.two_samples import TwoSamples, adding
from copula_discrepancy.data.precision import Precision
from copula_discrepancy.data.resident import brought_home
from copula_discrepancy.estimate.all_pairs import compare_all
from copula_discrepancy.estimate.counted_triples import compare_counted_triples
from copula_discrepancy.estimate.fit_result import library_version
from copula_discrepancy.estimate.joint import judged
from copula_discrepancy.estimate.multiplicity import ADJUSTMENTS, adjust_pvalues
from copula_discrepancy.estimate.scanning import MEMORY, ScanOptions, checked_memory
from copula_discrepancy.estimate.triples import MOST_VARIABLES, TripleForms, compare_triples
from copula_discrepancy.estimate.uncertainty import open_probability


def interactions(
    draws: Any,
    reference: Any = None,
    *,
    iid: bool | str = False,
    confidence: float = 0.95,
    adjust: str = "bh",
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
    chains: int | str | None = None,
    exclude: str | Sequence[str] | None = None,
    missing: str | None = None,
    n_jobs: int | None = -1,
    progress: bool | None = None,
    engine: str = "auto",
    memory: float | str = MEMORY,
    device: Any = "cpu",
) -> Interactions:
    """Compare how the dependence of two variables changes with a third, for every triple, and rank the triples, worst first.

    All pairs may be right while three variables together are wrong: a correlation may rise with a third variable in the
    reference and not in the draws, as that of group effects does with their scale. The effect is a_111 = E[phi_1(U) phi_1(V)
    phi_1(W)], with phi_1(u) = sqrt(3) (2u - 1) of ranks; with phi_2 in place of phi_1, the ends of a variable are compared with
    its middle.

    Parameters
    ----------
    draws : anything `pairwise` accepts as draws, with 3 to 100 variables
        Ranked once; only ranks matter. Constant variables are omitted, with a warning. A `DependenceSketch` must have counts of
        triples.
    reference : anything `as_draws` accepts, optional
        A reference sample of the same variables (matched by name), independent of the draws. Without one, triples are tested
        against the null hypothesis of an elliptical copula, such as the Gaussian, for which all odd effects are 0.
    iid : bool or {"draws", "reference"}
        Treat the draws, and those of the reference, as independent, or only one of the two samples.
    confidence : float
        Adjusted p-values below 1 - confidence count as a gap.
    adjust : {"bh", "by", "holm", "bonferroni", "none"}
        See `adjust_pvalues`.
    var_names, filter_vars, group, coords, chains, exclude : optional
        See `as_draws`; they apply to the reference as well, except a number of chains.
    missing : {"pairs", "listwise", "raise"}, optional
        Handling of NaN: variables with missing values are left out ("pairs", the default for tables with column names), rows
        with a missing value are omitted, or an error.
    n_jobs : int, optional
        Threads; -1, the default, is one per core.
    progress : bool, optional
        Show a progress bar; by default on a terminal, after two seconds.
    engine : {"auto", "exact", "counted"}
        Whether rows are ranked in memory or read once and counted, see `pairwise`; rows that are counted must be independent.
    memory : float or str
        Bytes that reading and counting may take, see `pairwise`.
    device : {"cpu", "cuda", "auto"}, "cuda:1", or torch.device
        Where triples are compared, see `pairwise`; rows that are counted are compared on the processor.

    Returns
    -------
    Interactions
        The ranked triples; print it for a summary in words, or use `to_dataframe`.

    Raises
    ------
    InputError
        For draws that `as_draws` rejects, a reference that is not a sample of the same variables, fewer than three variables
        that can be compared, or more than 100: select some with `var_names`. For rows to be counted that have an order, unless
        `iid`, or so many variables that the counts of their triples do not fit into the memory.

    See Also
    --------
    pairwise : Pairs first: a triple may differ because a pair does.
    screen : All pairs of very many variables.
    vine : Conditional dependence through families.

    Notes
    -----
    Eight coefficients are computed for each triple, E[phi_j(U) phi_k(V) phi_m(W)] with j, k, m = 1 or 2. The p-value of a
    triple combines that of a_111 and the largest of the others, with equal weights (Cauchy combination, Liu and Xie, 2020).
    They find different things: a_111 an exclusive or and a correlation that rises with a third variable; 112 a correlation
    that is stronger at both ends of a third; 222 a common scale. Effects of higher order, and of four variables, are not
    tested. Without a reference only 111, 122, 212 and 221 are, because the others are not 0 for a Gaussian copula.

    Standard errors are those of `screen`: influence values, including the cost of estimating three margins by ranks, summed
    over batches of consecutive draws. Ties share mid-ranks; variables with few values are left out, with a warning.

    Rows that are counted, see `engine`, have the same coefficients, tests and words; standard errors include what the bins may
    hide. They have no joint answer, and `in_pairs` is from the test of form that `pairwise` does.

    `in_pairs` of a triple says whether `screen` finds a gap in one of its pairs, with the same adjustment.

    References
    ----------
    Liu, Y. and Xie, J. (2020). Cauchy combination test: a powerful test with analytic p-value calculation under arbitrary
    dependency structures. Journal of the American Statistical Association 115, 393-402.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = dict(zip("abc", rng.standard_normal((3, 1000))))
    >>> reference["c"] = np.abs(reference["c"]) * np.sign(reference["a"] * reference["b"])  # every pair is independent
    >>> result = cd.interactions(dict(zip("abc", rng.standard_normal((3, 1000)))), reference, iid=True)
    >>> result.worst.verdict
    'the correlation of a and b rises with c in the reference, not in the rows'
    """
    result = rank_triples(
        draws, reference, iid=iid, confidence=confidence, adjust=adjust, var_names=var_names, filter_vars=filter_vars,
        group=group, coords=coords, chains=chains, exclude=exclude, missing=missing, n_jobs=n_jobs, progress=progress,
        engine=engine, memory=memory, device=device,
    )  # fmt: skip
    for caveat in result.caveats:
        warn(DependenceWarning(caveat))
    return result


@enough_memory
def rank_triples(
    draws: Any,
    reference: Any = None,
    *,
    iid: bool | str = False,
    confidence: float = 0.95,
    adjust: str = "bh",
    chains: int | str | None = None,
    n_jobs: int | None = -1,
    progress: bool | None = None,
    engine: str = "auto",
    memory: float | str = MEMORY,
    device: Any = "cpu",
    **selection: Any,
) -> Interactions:
    """`interactions` without issuing its warnings, for callers that report them; `selection` holds options of `as_draws`."""
    one_of(adjust, "adjust", ADJUSTMENTS)
    share, jobs = open_probability(confidence, "confidence"), checked_jobs(n_jobs)
    place, device_notes = checked_device(device)
    options = ScanOptions(checked_memory(memory), jobs, progress, selection=selection, triples=True)
    precisions = Precision.of(draws), Precision.of(reference)
    draws = brought_home(draws, place, "draws", missing=selection.get("missing"))
    reference = brought_home(reference, place, "reference", missing=selection.get("missing"))
    counted = counted_samples(
        draws, reference, engine=engine, iid=independent_sides(iid), options=options, chains=chains,
        group=selection.get("group", "posterior"),
    )  # fmt: skip
    if counted is not None and counted.in_memory:
        draws, reference = counted.draws, counted.target
        iid = {(True, False): "draws", (False, True): "reference"}.get(counted.iid, counted.iid[0])
        counted = None
    read: TwoSamples | TwoCounted
    if counted is None:
        read = TwoSamples.read(
            draws,
            reference,
            iid=iid,
            chains=chains,
            fewest=3,
            most=MOST_VARIABLES,
            device=device,
            precisions=precisions,
            **selection,
        )
    else:
        if place is not None:
            _, device_notes = processor_for_counted(device)
        read = TwoCounted.read(counted, fewest=3, most=MOST_VARIABLES)
    d = len(read.names)
    with progress_bar(progress, "triples", d * (d - 1) * (d - 2) // 6) as tick:
        if isinstance(read, TwoCounted):
            forms = compare_counted_triples(read.own, read.other, d, n_jobs=jobs, tick=adding(tick))
        else:
            forms = compare_triples(read.own, read.other, n_jobs=jobs, tick=adding(tick))
    adjusted = adjust_pvalues(forms.pvalue, adjust)
    rows = _rows(forms, read.other is not None)
    rows["adjusted"], rows["flagged"] = adjusted, adjusted < 1.0 - share
    joint = None
    if isinstance(read, TwoCounted):
        if read.other is not None:
            rows["in_pairs"] = _in_pairs(d, forms, adjust_pvalues(read.pair_pvalues(jobs), adjust) < 1.0 - share)
    elif read.other is not None:
        pairs = compare_all(read.own, read.other, gram=True, n_jobs=jobs)
        joint = judged(pairs, read.own, read.other, dict(read.left_out), confidence=share, triples=forms)
        rows["in_pairs"] = _in_pairs(d, forms, adjust_pvalues(pairs.pvalue, adjust) < 1.0 - share)
    order = np.lexsort((-np.abs(rows["difference"]), ~rows["flagged"]))
    return Interactions(
        rows[order],
        forms.own[order],
        forms.other[order] if read.other is not None else np.full_like(forms.other, np.nan),
        read.names,
        read.other is not None,
        joint,
        iid=iid if isinstance(iid, str) else read.iid[0],
        confidence=share,
        adjust=adjust,
        samples=read.samples,
        stuck=read.stuck,
        left_out=read.left_out,
        caveats=read.caveats,
        notes=(*read.notes, *device_notes) if isinstance(read, TwoCounted) else read.notes,
        version=library_version(),
        **({} if isinstance(read, TwoCounted) else read.device_fields),
    )


def _rows(forms: TripleForms, against: bool) -> NDArray[Any]:
    """A row per triple with the numbers of the cell that says most."""
    rows = np.zeros(len(forms.pvalue), TRIPLE)
    at = np.arange(len(rows)), forms.cell
    rows["first"], rows["second"], rows["third"] = forms.places.T
    rows["cell"], rows["pvalue"] = forms.cell, forms.pvalue
    rows["value"], rows["value_se"] = forms.own[at], forms.own_se[at]
    rows["target"], rows["target_se"] = (forms.other[at], forms.other_se[at]) if against else (np.nan, np.nan)
    rows["difference"] = forms.own[at] - forms.other[at]
    rows["se"] = np.hypot(forms.own_se[at], forms.other_se[at])
    return rows


def _in_pairs(count: int, triples: TripleForms, flagged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether one of the pairs of each triple is flagged; all pairs of so many variables are in order."""
    differs = np.zeros((count, count), bool)
    differs[np.triu_indices(count, 1)] = flagged
    x, y, z = triples.places.T
    return np.asarray(differs[x, y] | differs[x, z] | differs[y, z])
