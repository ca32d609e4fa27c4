"""All pairs of very many variables compared at once, without families."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import one_of, true_or_false
from copula_discrepancy._core.errors import DependenceWarning, InputError, enough_memory
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy._core.warn import warn
from copula_discrepancy._core.workers import blas_threads, checked_jobs
from copula_discrepancy.compare.screen_result import Screening
from copula_discrepancy.compare.two_samples import TwoSamples, adding
from copula_discrepancy.estimate.all_pairs import Levels, compare_all
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.combination import cauchy
from copula_discrepancy.estimate.fit_result import library_version
from copula_discrepancy.estimate.form import checked_order
from copula_discrepancy.estimate.joint import judged
from copula_discrepancy.estimate.multiplicity import ADJUSTMENTS, adjust_pvalues
from copula_discrepancy.estimate.uncertainty import open_probability

_MANY = 100_000  # pairs: below it starting threads takes longer than sorting


@enough_memory
def screen(
    draws: Any,
    reference: Any,
    *,
    order: int = ORDER,
    level: bool = False,
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
    device: Any = "cpu",
) -> Screening:
    """Compare the form of dependence of all pairs with a reference at once, for hundreds or thousands of variables.

    The coefficients a_jk = E[phi_j(U) phi_k(V)] of orthonormal polynomials of ranks describe any dependence of a pair, monotone
    or not: (1, 1) is Spearman's rho, (1, 2) says that one bends with the other or spreads with it, (2, 2) that extremes come
    together. Every pair gets one test of all its coefficients, with errors that hold on Markov chains, and all pairs together
    get one joint answer. No family is fitted; use `pairwise` on the pairs found for level, shape and tails.

    Parameters
    ----------
    draws : anything `as_draws` accepts, with two variables or more
        Ranked once; only ranks matter.
    reference : anything `as_draws` accepts
        A reference sample of the same variables (matched by name), independent of the draws.
    order : int
        Polynomials of each variable, 1 to 8.
    level : bool
        Also compare Kendall's tau of every pair; `levels` of the result has the numbers, and the p-value of a pair combines
        those of level and form. On the processor this takes about three times as long.
    iid : bool or {"draws", "reference"}
        Treat the draws, and those of the reference, as independent, or only one of the two samples.
    confidence : float
        Adjusted p-values below 1 - confidence count as a gap; confidence level of intervals.
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
    device : {"cpu", "cuda", "auto"}, "cuda:1", or torch.device
        Where pairs are compared, see `pairwise`.

    Returns
    -------
    Screening
        All pairs, worst first, with `joint`, the joint answer.

    Raises
    ------
    InputError
        For draws that `as_draws` rejects, a reference that is not a sample of the same variables, or fewer than two variables
        that can be compared.

    See Also
    --------
    pairwise : Level, shape and tails of every pair, with families.
    interactions : Three variables at a time.

    Notes
    -----
    Coefficients are means over u = (rank - 1/2)/n, ties at mid-ranks; variables with few values are left out. Their influence
    values, including the cost of estimating margins by ranks, are summed over batches of consecutive draws, at least five
    autocorrelation times long, and the variance of these gives standard errors with as many degrees of freedom as batches. The
    test of a pair combines the sum of squared normal scores (Satterthwaite's approximation) and the largest of them by the
    Cauchy combination of Liu and Xie (2020). The joint test does the same with the scores of all pairs; its tr(R^2) is the
    unbiased one from products of different batches (Song et al., 2012).

    What it cannot see: differences of margins, of three variables at a time (`interactions`), and fine structure beyond the
    polynomials, such as a corner of the far tails (`pairwise` has tests of corners).

    On a device products are in double precision, on the processor in single precision, which differ by 1e-7 in coefficients;
    taus are the same. P-values are computed on the processor.

    References
    ----------
    Kallenberg, W. C. M. and Ledwina, T. (1999). Data-driven rank tests for independence. Journal of the American Statistical
    Association 94, 285-301.

    Liu, Y. and Xie, J. (2020). Cauchy combination test: a powerful test with analytic p-value calculation under arbitrary
    dependency structures. Journal of the American Statistical Association 115, 393-402.

    Song, L., Smola, A., Gretton, A., Bedo, J. and Borgwardt, K. (2012). Feature selection via dependence maximization. Journal
    of Machine Learning Research 13, 1393-1434.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.standard_normal((1000, 4))
    >>> reference[:, 1] += reference[:, 0] ** 2  # a dependence without correlation
    >>> result = cd.screen(rng.standard_normal((1000, 4)), reference, iid=True)
    >>> result.n_flagged, result.pair(0), result.joint.pvalue < 0.001
    (1, ('x0', 'x1'), True)
    """
    one_of(adjust, "adjust", ADJUSTMENTS)
    share, jobs = open_probability(confidence, "confidence"), checked_jobs(n_jobs)
    degree, with_level = checked_order(order), true_or_false(level, "level")
    if reference is None:
        raise InputError("screen compares with a reference sample, got None; without one use summary or pairwise", "no-target")
    read = TwoSamples.read(
        draws, reference, iid=iid, chains=chains, fewest=2, var_names=var_names, filter_vars=filter_vars, group=group,
        coords=coords, exclude=exclude, missing=missing, device=device,
    )  # fmt: skip
    d = len(read.names)
    with progress_bar(progress, "pairs", d * (d - 1) // 2) as tick:
        forms = compare_all(read.own, read.other, order=degree, gram=True, level=with_level, n_jobs=jobs, tick=adding(tick))
    joint = judged(forms, read.own, read.other, dict(read.left_out), confidence=share)
    pvalue = forms.pvalue if forms.levels is None else cauchy([forms.pvalue, forms.levels.pvalue])
    adjusted, distance = adjust_pvalues(pvalue, adjust), forms.distance
    worst = np.lexsort((-distance, adjusted >= 1.0 - share))
    columns = {"places": np.stack([forms.first, forms.second], axis=1), "distance": distance, "kept": forms.kept}
    columns |= {"pvalue": pvalue, "adjusted": adjusted, "coefficients": forms.own, "target": forms.other, "se": forms.se}
    ordered: dict[str, Any] = _ordered(columns, worst, jobs)
    if forms.levels is not None:
        ordered["levels"] = Levels(**_ordered(forms.levels._asdict(), worst, jobs))
    result = Screening(
        read.names,
        **ordered,
        joint=joint,
        iid=iid if isinstance(iid, str) else read.iid[0],
        confidence=share,
        adjust=adjust,
        samples=read.samples,
        stuck=read.stuck,
        left_out=read.left_out,
        caveats=read.caveats,
        notes=read.notes,
        version=library_version(),
        **read.device_fields,
    )
    for caveat in result.caveats:
        warn(DependenceWarning(caveat))
    return result


def _ordered(columns: Mapping[str, NDArray[Any]], order: NDArray[np.intp], n_jobs: int | None) -> dict[str, NDArray[Any]]:
    """Columns in another order, on threads if there are many rows."""
    found = blas_threads(lambda values: np.take(values, order, axis=0), columns.values(), n_jobs if order.size > _MANY else 1)
    return dict(zip(columns, found, strict=True))
