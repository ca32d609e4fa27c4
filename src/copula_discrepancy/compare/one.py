"""The Copula Discrepancy of one pair of variables: level, shape and total gap and the two Shannon scores, with their tests."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from copula_discrepancy._core.caveats import caveat_of
from copula_discrepancy._core.checks import SHANNON_METHODS, RandomSource, independent_sides, one_of, true_or_false
from copula_discrepancy._core.errors import InputError, enough_memory
from copula_discrepancy._core.rowwise import plain
from copula_discrepancy._core.tensors.device import Device
from copula_discrepancy.compare.caveats import Compared, comparison_caveats, sides_of
from copula_discrepancy.compare.comparison import ComparedPair, OnDevice, PairComparison
from copula_discrepancy.compare.counted_draws import CountedDraws
from copula_discrepancy.compare.engine import counted_samples
from copula_discrepancy.compare.form_result import form_result
from copula_discrepancy.compare.margins import compare_margins
from copula_discrepancy.compare.one_result import INFERENCE_METHODS, Discrepancy
from copula_discrepancy.compare.rows import empty_rows
from copula_discrepancy.compare.target import resolve_target
from copula_discrepancy.compare.wording import called, pair_label
from copula_discrepancy.data.draws import Draws, numeric_draws
from copula_discrepancy.data.kinds import is_ordered
from copula_discrepancy.data.naming import errors_about, listed
from copula_discrepancy.data.repeats import in_a_row
from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.agreement import chain_agreement, comparable
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.coded_columns import MOST_LEVELS
from copula_discrepancy.estimate.coded_samples import CodedSamples
from copula_discrepancy.estimate.counted_codes import CountedCodes
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.divergence import shannon_scores
from copula_discrepancy.estimate.family_curves import EXACT
from copula_discrepancy.estimate.fit import METHODS, announce
from copula_discrepancy.estimate.fit_result import Fit, library_version
from copula_discrepancy.estimate.form import checked_order
from copula_discrepancy.estimate.likelihood import student_part
from copula_discrepancy.estimate.pair import two_variables
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import TAIL_SHARE
from copula_discrepancy.estimate.scanning import MEMORY, ScanOptions, checked_memory
from copula_discrepancy.estimate.screening import SCREENED
from copula_discrepancy.estimate.selection import FULL
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.estimate.standard_error import require_chain_length
from copula_discrepancy.estimate.tails import checked_tail
from copula_discrepancy.estimate.uncertainty import Estimate, open_probability
from copula_discrepancy.families.base import DEFAULT_MONTE_CARLO_SIZE

_OF_FITS = ("unconverged",)  # codes that only the fit knows; they do not follow from the numbers


@enough_memory
def discrepancy(
    draws: Any,
    target: Any,
    *,
    family: Any = None,
    method: str = "mle",
    margins: str = "rank",
    estimate_df: bool = False,
    iid: bool | str = False,
    confidence: float = 0.95,
    shannon: str = "exact",
    m: int = DEFAULT_MONTE_CARLO_SIZE,
    rng: RandomSource = None,
    tail: float = TAIL_SHARE,
    order: int = ORDER,
    missing: str = "raise",
) -> Discrepancy:
    """Compare the dependence of two variables with a target copula, or with the dependence of a reference sample.

    The target's family is fitted to the draws' ranks; tau(theta_fitted) - tau(theta_target) is the total gap, split into
    level, tau_draws - tau_target, and shape, tau(theta_fitted) - tau_draws. This is the Copula Discrepancy
    of Aich and Aich (2025): |total| by maximum likelihood, |level| by moments. Every number comes with a standard error from
    the long-run variance of its influence values, which holds on Markov chains.

    Parameters
    ----------
    draws : array (n, 2) or (chain, draw, 2), anything `as_draws` accepts, or a DependenceSketch of two columns
        Only ranks matter (with margins="rank"): increasing transforms of either variable change nothing. An (n, 2) array is one
        chain, in order.
    target : Copula or draws
        A copula, such as ``Gumbel(2.5)`` or ``Rotated(Clayton(3), 90)``, or a reference sample of the same two variables that
        is independent of the draws. `family` is then fitted to both samples, level and shape are the differences between the
        samples, and the uncertainty of the reference is included.
    family : str, class or instance, optional
        With a reference sample only: the family to fit, or "auto" (the default) for the one with the lowest AIC on the
        reference.
    method : {"mle", "moment"}
        How theta is fitted for total, CKL and CED.
    margins : {"rank", "uniform"}
        See `fit`.
    estimate_df : bool
        Also fit the degrees of freedom of a Student t target instead of using the target's (with a reference sample they are
        estimated from the reference).
    iid : bool or {"draws", "reference"}
        Treat the draws, and those of the reference, as independent; standard errors and tests then ignore autocovariances. The
        name of one sample applies to that one only: variational draws are independent, the MCMC draws they are compared with
        are not.
    confidence : float
        Confidence level of the intervals; tests in the text use the significance level 1 - confidence.
    shannon : {"exact", "monte_carlo"}
        CKL and CED by closed form and quadrature, or by the paper's estimator with `m` simulated draws per expectation.
    m : int
        Draws of each Monte Carlo estimate.
    rng : int, Generator, SeedSequence or None
        Seed or source of randomness of these draws.
    tail : float
        The fraction of each variable that counts as its tail, such as 0.1, 0.05 or 0.01: the width of the corners of the unit
        square.
    order : int
        The order of form: each variable enters with its first polynomials, up to this degree, from 1 to 8.
    missing : {"raise", "listwise", "pairs"}
        What to do with NaN in draws or reference: raise an error, or omit rows with NaN, with a note (the last two are the same
        here).

    Returns
    -------
    Discrepancy
        The gaps and scores with their tests; print it for a summary in words. If the target's family cannot reach the tau of
        the draws, level is still computed; perfectly dependent draws have infinite CKL and CED; a fit at a bound has no
        standard error. These cases, fewer than 100 effective draws per chain, R-hat for dependence above 1.01 and chains that
        do not move raise a DependenceWarning, which the result records. With a reference sample, its `margin_gaps` compare the
        two variables one by one; they do not enter the verdict.

    Raises
    ------
    InputError
        For draws that are not two finite, varying columns (NaN and infinite values are counted and located), fewer than 4 draws
        per chain (unless iid), a target that is neither a copula with its parameter nor draws, or a reference with different
        variables.

    See Also
    --------
    pairwise : Every pair of variables.
    fit : Fit a family without a target.
    plot_pair, plot_trace, plot_tau_forest : Plots of the result.

    Notes
    -----
    Ties share mid-ranks, and tau-b accounts for them. The ties of a Metropolis chain that rejects proposals do no harm.
    Rounding does: draws with few distinct values have a larger tau-b than the unrounded draws, and no family reproduces their
    ties, so level and shape reflect the rounding.

    Theta, CKL and CED are functions of the fitted tau, and their intervals are the images of its interval: that of the delta
    method away from 0, and one that starts at 0 if the target's tau is inside. To second order CKL is I (theta - theta_P)^2 / 2
    with the Fisher information I, so 2 CKL / (I se^2) has the limit of (theta - theta_P)^2 / se^2, chi-square with one degree
    of freedom; the test uses the scale of tau and an estimated se, hence F(1, df). Strength and shape are tested separately,
    each at level 1 - confidence.

    `Discrepancy.infer` returns the same result with standard errors from the bootstrap.

    References
    ----------
    Aich, A. and Aich, A. B. (2025). Copula Discrepancy: Benchmarking Dependence Structure. Definition 4.2 (CD), equations 2 and
    3 (CED, CKL).

    Genest, C., Ghoudi, K. and Rivest, L.-P. (1995). A semiparametric estimation procedure of dependence parameters in
    multivariate families of distributions. Biometrika 82, 543-552.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> draws = cd.Clayton(3.0).sample(5000, rng=1)
    >>> result = cd.discrepancy(draws, cd.Gumbel(2.5))
    >>> round(result.level.value, 3), round(result.shape.value, 3)
    (0.001, -0.093)
    >>> result.level.pvalue > 0.05, result.shape.pvalue < 0.001
    (True, True)
    """
    if isinstance(method, str) and method == "bootstrap":
        raise InputError(
            "method must be 'mle' or 'moment', got 'bootstrap'; it sets how theta is fitted. For bootstrap standard errors use "
            "discrepancy(...).infer(method='bootstrap')"
        )
    one_of(method, "method", METHODS)
    one_of(shannon, "shannon", SHANNON_METHODS)
    independent = independent_sides(iid)
    free_df = true_or_false(estimate_df, "estimate_df")
    share = open_probability(confidence, "confidence")
    tail_level, degree = checked_tail(tail), checked_order(order)
    missing = "listwise" if isinstance(missing, str) and missing == "pairs" else missing
    accuracy: dict[str, Any] = {"curves": EXACT, "selector": FULL}
    if isinstance(draws, DependenceSketch) or isinstance(target, DependenceSketch):
        if margins != "rank" or free_df:
            raise InputError("a sketch has ranks only, and df is chosen from a grid; omit margins and estimate_df")
        options = ScanOptions(checked_memory(MEMORY), selection={"missing": missing})
        counted = counted_samples(
            draws, target, engine="auto", iid=independent, options=options, chains=None, group="posterior"
        )
        assert counted is not None
        draws, target, independent = counted.draws, counted.target, counted.iid
        accuracy = {"curves": EXACT, "selector": SCREENED}
    if isinstance(draws, CountedDraws) and draws.n_variables != 2:
        raise InputError(
            f"a sketch of two columns is needed, got {draws.n_variables} ({listed(draws.names)}); use "
            "DependenceSketch.of(rows, var_names=[...]), or pairwise, which compares all pairs",
            "shape",
        )
    given = two_variables(draws if isinstance(draws, CountedDraws) else numeric_draws(draws, missing=missing), margins)
    aim = resolve_target(target, family, given, missing)
    if free_df and (aim.copula is None or student_part(aim.copula) is None):
        given_target = repr(target) if aim.reference is None else "a reference sample, whose df is estimated in any case"
        raise InputError(f"estimate_df=True needs a StudentT target with its df, got {given_target}")
    if aim.reference is not None:
        with errors_about("reference"):
            two_variables(aim.reference, margins)
    aim = aim.without_repeated_chains(independent)
    samples = aim.draws, aim.reference
    comparison = comparison_of(
        samples, independent, margins=margins, targets={} if aim.copula is None else {(0, 1): aim.copula},
        template=aim.template, estimate_df=aim.estimate_df or free_df, method=method, tail=tail_level, order=degree,
        **accuracy,
    )  # fmt: skip
    result = detailed(comparison, samples, confidence=share, shannon=shannon, m=m, rng=rng)
    if aim.reference is not None and margins == "rank":
        result = replace(result, margin_gaps=compare_margins((aim.draws, aim.reference), independent, confidence=share))
    announce(result.caveats)
    return result


def comparison_of(
    samples: tuple[Draws, Draws | None],
    iid: tuple[bool, bool],
    *,
    margins: str = "rank",
    device: Device | None = None,
    **choices: Any,
) -> PairComparison:
    """Rank both samples, on a device if there is one, for a comparison with the options `choices` of `PairComparison`."""
    if samples[1] is None and iid == (False, True):
        raise InputError("iid='reference' is for a reference sample, and there is none; use iid=True or False for the draws")
    tables, on_device = [], None
    for sample, independent in zip(samples, iid, strict=True):
        if sample is not None and not independent:
            require_chain_length(sample.n_draws)
    if device is None:
        tables = [None if sample is None else table_of(sample, uniform=margins == "uniform") for sample in samples]
    else:
        on_device = _on_device(samples, device)
        tables = [None if table is None else table.host for table in (on_device.draws, on_device.reference)]
    compared = [sample is not None and comparable(sample, alone) for sample, alone in zip(samples, iid, strict=True)]
    assert tables[0] is not None
    coded = None if samples[1] is None or margins == "uniform" else _coded(samples[0], samples[1], tables)
    return PairComparison(
        tables[0], tables[1], iid=iid, compared=(compared[0], compared[1]), coded=coded, on_device=on_device, **choices
    )  # fmt: skip


def _on_device(samples: tuple[Draws, Draws | None], device: Device) -> OnDevice:
    """Both samples, ranked on a device."""
    from copula_discrepancy.estimate.device_table import DeviceTable  # which imports PyTorch

    with device.turn():
        draws, reference = (None if sample is None else DeviceTable.of(sample, device) for sample in samples)
    assert draws is not None
    return OnDevice(device, draws, reference)


def table_of(sample: Draws, *, uniform: bool = False) -> RankedTable | CountedTable:
    """A sample, ranked, or as the counts that are known of it."""
    return sample.counted() if isinstance(sample, CountedDraws) else RankedTable.of(sample, uniform=uniform)


def _coded(draws: Draws, reference: Draws, tables: Sequence[Any]) -> CodedSamples | CountedCodes | None:
    """The columns as codes, if some have levels."""
    if not isinstance(draws, CountedDraws) or not isinstance(reference, CountedDraws):
        # without ties, and without values of other kinds, no column has levels
        tied = any(table.ties.any() or table.holes.any() for table in tables) or bool(draws.kinds)
        return CodedSamples.of(draws, reference) if tied or min(table.n for table in tables) <= MOST_LEVELS else None
    variables = range(draws.n_variables)
    values = [sample.bin_values(k) for k in variables for sample in (draws, reference)]
    return CountedCodes.of(
        (tables[0], tables[1]), (values[::2], values[1::2]), [draws.labels(k) for k in variables],
        [is_ordered(draws.kind(k)) for k in variables],
    )  # fmt: skip


def detailed(
    comparison: PairComparison,
    samples: tuple[Draws, Draws | None],
    *,
    confidence: float,
    shannon: str = "exact",
    m: int = DEFAULT_MONTE_CARLO_SIZE,
    rng: RandomSource = None,
) -> Discrepancy:
    """The one pair of a comparison with intervals, scores and influence values."""
    compared_pairs, blocks = comparison.compare([(0, 1)], keep=True)
    pair = compared_pairs.at(0)
    fitted, reference, target = replace(pair.own.fit, block=blocks[0]), None, pair.target
    if pair.other is not None:
        reference, target = replace(pair.other.fit, block=blocks[1]), pair.other.member
    if target is None:
        raise InputError(
            "the reference is perfectly dependent, so no copula with a density describes it; check its two variables",
            "perfect-dependence",
        )
    estimates, influence = _estimates(pair, fitted, confidence), dict(fitted.influence)
    influence |= {"level": influence["tau"], "total": influence["tau_fitted"]}
    influence |= {name: blocks[0].influences(0)[name] for name in pair.gaps.corners}
    how: dict[str, Any] = {"confidence": confidence, "shannon": shannon, "m": m, "rng": rng}
    doubt = ties.beyond(pair.gaps.total.spread.se, fitted.spreads["tau_fitted"].se) if reference is None else 0.0
    scores = shannon_scores(fitted, target, reference, divergence=pair.ckl, doubt=doubt, **how)
    things = called(samples[0], comparison.iid[0])
    names = samples[0].names[0], samples[0].names[1]
    form = form_result(pair, names, confidence, "the target" if pair.other is None else "the reference", things)
    estimates |= {"form": form, "kept": form.kept, "ckl": scores.ckl, "ced": scores.ced}
    influence |= {"ckl": scores.ckl_influence, "ced": scores.ced_influence}
    agreements = [None if block is None else chain_agreement(block, 0, confidence=confidence) for block in blocks]
    assert agreements[0] is not None
    rows = empty_rows(1)
    compared_pairs.fill(rows)
    found, estimated = comparison.found, comparison.estimate_df or comparison.selector is FULL
    compared = Compared(
        rows,
        "pair",
        lambda _: pair_label(*samples[0].names),
        comparison.method,
        {fitted.template.name: fitted.template},
        estimated if found is None else found.df_estimated,
    )
    sides = sides_of(samples, (comparison.draws, comparison.reference), comparison.iid)
    caveats = [*comparison_caveats(compared, sides), *(caveat for caveat in fitted.caveats if caveat.code in _OF_FITS)]
    choice = compared_pairs.fits.choice_of(0)
    if choice is not None:
        fits = [fit for fit in (choice, reference) if fit is not None]
        of_reference = {caveat.code: caveat.sentence for fit in fits for caveat in fit.caveats}
        caveats += [sides[-1].caveat(code, of_reference[code]) for code in _OF_FITS if code in of_reference]
    return Discrepancy(
        target=target,
        estimates=estimates,
        influence=influence,
        agreement=agreements[0],
        tau_target=pair.tau_target,
        method=comparison.method,
        shannon=shannon,
        inference=INFERENCE_METHODS[0],
        fit=fitted,
        reference=reference,
        reference_agreement=agreements[1],
        selection=compared_pairs.fits.selection_of(0),
        tail=comparison.tail,
        form_rhats=(plain(compared_pairs.form_rhats[0].value[0]), plain(compared_pairs.form_rhats[1].value[0])),
        corners=pair.gaps.corners,
        things=things,
        caveats=(*caveats, *(caveat_of("quadrature", sentence) for sentence in scores.notes)),
        notes=_notes(samples, comparison.iid),
        version=library_version(),
        chain_names=samples[0].chain_names,
        diverging=(samples[0].diverging, None if samples[1] is None else samples[1].diverging),
    )


def _estimates(pair: ComparedPair, fitted: Fit, confidence: float) -> dict[str, Estimate]:
    """Tau, theta, the fitted tau and every gap, with intervals limited to the range of each number."""
    own, other, gaps = pair.own, pair.other, pair.gaps
    tau_fitted = own.tau.tau if fitted.method == "moment" else fitted.tau
    possible = (-1.0 - pair.tau_target, 1.0 - pair.tau_target) if other is None else (-2.0, 2.0)
    estimate = partial(Estimate.of, tested=False, confidence=confidence)
    estimates = {
        "tau": estimate(own.tau.tau, own.spreads["tau"], limits=(-1.0, 1.0)),
        "theta": fitted.theta_estimate(confidence),
        "tau_fitted": estimate(tau_fitted, own.spreads["tau_fitted"], bias=own.bias, limits=(-1.0, 1.0)),
    }
    for name, gap, limits in (
        ("level", gaps.level, possible), ("shape", gaps.shape, (-2.0, 2.0)), ("total", gaps.total, possible),
    ):  # fmt: skip
        estimates[name] = replace(estimate(gap.value, gap.spread, bias=gap.bias, limits=limits), pvalue=gap.pvalue)
    largest = 1.0 if other is None else 2.0
    for name, tail in gaps.corners.items():
        plain = estimate(tail.value, tail.spread, limits=(-largest, largest))
        estimates[name] = replace(plain, pvalue=tail.pvalue, ci=(math.nan, math.nan) if tail.exact else plain.ci)
    return estimates


def _notes(samples: tuple[Draws, Draws | None], iid: tuple[bool, bool]) -> tuple[str, ...]:
    """Notes on how the draws and the reference were read."""
    draws, reference = samples
    theirs = () if reference is None else tuple(f"reference: {note}" for note in reference.notes)
    return (*draws.notes, *theirs, *(in_a_row(draws) if iid[0] and not isinstance(draws, CountedDraws) else ()))
