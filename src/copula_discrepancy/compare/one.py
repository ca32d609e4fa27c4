"""The Copula Discrepancy of one pair of variables: level, shape and total gap, and the two Shannon scores, with their tests."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import SHANNON_METHODS, RandomSource, one_of, true_or_false
from copula_discrepancy._core.errors import InputError, enough_memory
from copula_discrepancy.compare.one_result import INFERENCE_METHODS, Discrepancy
from copula_discrepancy.compare.target import Aim, resolve_target
from copula_discrepancy.compare.wording import called, few_draws, so_few_values, too_few, too_rare
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.estimate.agreement import Agreement, chain_agreement, comparable, disagreement, stuck_chains
from copula_discrepancy.estimate.divergence import shannon_scores
from copula_discrepancy.estimate.fit import METHODS, Fit, announce, fit_pair, library_version
from copula_discrepancy.estimate.gaps import gap_estimates, tested_level
from copula_discrepancy.estimate.likelihood import student_part
from copula_discrepancy.estimate.pair import DISCRETE, RankedPair, on_one_grid
from copula_discrepancy.estimate.ranks import TAIL_SHARE
from copula_discrepancy.estimate.strength import FREQUENT
from copula_discrepancy.estimate.tails import CORNERS, TailGap, Yardstick, checked_tail, corner_of, tail_gap
from copula_discrepancy.estimate.uncertainty import Estimate, open_probability, require_chain_length
from copula_discrepancy.families.base import DEFAULT_MONTE_CARLO_SIZE


@enough_memory
def discrepancy(
    draws: Any,
    target: Any,
    *,
    family: Any = None,
    method: str = "mle",
    margins: str = "rank",
    estimate_df: bool = False,
    iid: bool = False,
    confidence: float = 0.95,
    shannon: str = "exact",
    m: int = DEFAULT_MONTE_CARLO_SIZE,
    rng: RandomSource = None,
    tail: float = TAIL_SHARE,
    missing: str = "raise",
) -> Discrepancy:
    """Compare the dependence of two variables with a target copula, or with that of a reference sample.

    The target's family is fitted to the draws' ranks; tau(theta_fitted) - tau(theta_target) is the total gap, split into
    level, tau_draws - tau_target, and shape, tau(theta_fitted) - tau_draws. This is the Copula Discrepancy
    of Aich and Aich (2025): |total| by maximum likelihood, |level| by moments. Every number comes with a standard error from
    the long-run variance of its influence values, which holds on Markov chains.

    Parameters
    ----------
    draws : array (n, 2) or (chain, draw, 2), or anything `as_draws` takes
        Only ranks matter (with margins="rank"): increasing transforms of either variable change nothing. An (n, 2) array is one
        chain, in order.
    target : Copula or draws
        Such as ``Gumbel(2.5)`` or ``Rotated(Clayton(3), 90)``; or a reference sample, independent of the draws, of the same two
        variables. `family` is then fitted to both, level is the difference of their taus, shape that of their shapes, and the
        reference's uncertainty is added.
    family : str, class or instance, optional
        With a reference sample only: the family to fit, "auto" (the default) for the one with the lowest AIC on the reference.
    method : {"mle", "moment"}
        How theta is fitted for total, CKL and CED.
    margins : {"rank", "uniform"}
        See `fit`.
    estimate_df : bool
        Fit the degrees of freedom of a Student t target too, instead of taking the target's (with a reference sample they are
        estimated from the reference).
    iid : bool
        Take the draws, and the reference's, as independent; standard errors and tests then leave out autocovariances.
    confidence : float
        Of the intervals; sentences take 1 - confidence as the level of their tests.
    shannon : {"exact", "monte_carlo"}
        CKL and CED by closed form and quadrature, or by the paper's estimator with `m` simulated draws per expectation.
    m : int
        Draws of each Monte Carlo estimate.
    rng : int, Generator, SeedSequence or None
        Their seed or source of randomness.
    tail : float
        The share of each variable that is a tail, such as 0.1, 0.05 or 0.01: corners of the unit square are that wide.
    missing : {"raise", "listwise", "pairs"}
        Of NaN in draws or reference: an error, or rows with one are left out, with a note (the last two are the same here).

    Returns
    -------
    Discrepancy
        The gaps and scores with their tests; print it for an answer in words. A tau that the target's family cannot reach keeps
        its gap; perfectly dependent draws have infinite CKL and CED; a fit on a bound has no standard error. These, fewer than
        100 effective draws per chain, R-hat for dependence above 1.01 and chains that do not move come with a
        DependenceWarning that the result records.

    Raises
    ------
    InputError
        For draws that are not two finite, varying columns (NaN and infinite values are counted and named), fewer than 4 draws
        per chain (unless iid), a target that is neither a copula with its parameter nor draws, or a reference with other
        variables.

    See Also
    --------
    pairwise : Every pair of variables.
    fit : A family on its own, without a target.
    plot_pair, plot_trace, plot_tau_forest : The result in pictures.

    Notes
    -----
    Ties share mid-ranks, and tau-b counts them. Those of a Metropolis chain that stays where it is do no harm. Rounding does:
    draws with few different values have a larger tau-b than what was rounded, and no family has their ties, so that level and
    shape show the rounding.

    Theta, CKL and CED are functions of the fitted tau, and their intervals the images of its own: the delta method's away from
    0, one that begins at 0 where the target's tau is inside. To second order CKL is I (theta - theta_P)^2 / 2, I the Fisher
    information, so the limit of 2 CKL / (I se^2), chi-square with one degree of freedom, is that of (theta - theta_P)^2 / se^2,
    here taken on the scale of tau and with an estimated se, F(1, df). The tests of strength and shape are two at level
    1 - confidence each.

    `Discrepancy.infer` gives the same result with standard errors from the bootstrap.

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
            "method must be 'mle' or 'moment', got 'bootstrap'; it says how theta is fitted, and the bootstrap comes after: "
            "discrepancy(...).infer(method='bootstrap')"
        )
    one_of(method, "method", METHODS)
    one_of(shannon, "shannon", SHANNON_METHODS)
    independent = true_or_false(iid, "iid")
    free_df = true_or_false(estimate_df, "estimate_df")
    share = open_probability(confidence, "confidence")
    tail_level = checked_tail(tail)
    missing = "listwise" if isinstance(missing, str) and missing == "pairs" else missing
    given = as_draws(draws, missing=missing)
    pair = RankedPair.from_draws(given, margins)
    if not independent:
        require_chain_length(given.n_draws)
    aim = resolve_target(target, family, given, method, margins, independent, share, missing)
    if free_df and (student_part(aim.copula) is None or aim.fit is not None):
        given_target = repr(target) if aim.fit is None else "a reference sample, whose df is estimated in any case"
        raise InputError(f"estimate_df=True needs a StudentT target with its df, got {given_target}")
    _ = pair.concordance  # needed below, and tau is their mean
    fitted = fit_pair(pair, aim.copula, method=method, estimate_df=free_df, iid=independent)
    level = tested_level(fitted, aim.tau, aim.fit)
    estimates = gap_estimates(fitted, aim.tau, aim.fit, level, share)
    influence = dict(fitted.influence)
    influence |= {"level": influence["tau"], "total": influence["tau_fitted"]}
    found = _corners(fitted, aim, tail_level)
    for name, (gap, values) in found.items():
        influence[name] = values
        largest = 1.0 if aim.fit is None else 2.0
        plain = Estimate.of(gap.value, gap.spread, limits=(-largest, largest), confidence=share)
        estimates[name] = replace(plain, pvalue=gap.pvalue, ci=(math.nan, math.nan) if gap.exact else plain.ci)
    scores = shannon_scores(fitted, aim.copula, aim.fit, confidence=share, shannon=shannon, m=m, rng=rng)
    estimates |= {"ckl": scores.ckl, "ced": scores.ced}
    influence |= {"ckl": scores.ckl_influence, "ced": scores.ced_influence}
    compare = comparable(given, independent)
    agreement = chain_agreement(pair, fitted.spreads["tau"], compare=compare, iid=independent, confidence=share)
    things = called(given, independent)
    rare = _rare(fitted, aim.fit) if level.too_rare else []
    result = Discrepancy(
        target=aim.copula,
        estimates=estimates,
        influence=influence,
        agreement=agreement,
        tau_target=aim.tau,
        method=method,
        shannon=shannon,
        inference=INFERENCE_METHODS[0],
        fit=fitted,
        reference=aim.fit,
        reference_agreement=aim.agreement,
        selection=aim.selection,
        tail=tail_level,
        corners={name: gap for name, (gap, _) in found.items()},
        things=things,
        too_rare=too_rare(rare, things) if rare else "",
        warnings=(*aim.notes, *fitted.warnings, *scores.notes, *_cautions(fitted, aim.fit, agreement, given, things, rare)),
        version=library_version(),
    )
    announce(result.warnings)
    return result


def _corners(fitted: Fit, aim: Aim, tail: float) -> dict[str, tuple[TailGap, NDArray[np.float64]]]:
    """The gaps in all corners that can be had, and the draws' influence values on them."""
    reference = aim.fit
    taus = [fitted.sample_tau] if reference is None else [fitted.sample_tau, reference.sample_tau]
    yardstick = Yardstick.of(fitted.template, taus, aim.copula if reference is None else None)
    found: dict[str, tuple[TailGap, NDArray[np.float64]]] = {}
    if yardstick is None:
        return found
    for name, corner in CORNERS.items():
        own = corner_of(fitted, yardstick, corner, tail)
        other = None if reference is None else corner_of(reference, yardstick, corner, tail)
        counts = [None if side is None else side.count for side in (own, other)]
        gap = tail_gap(counts[0], counts[1], compared=reference is not None)
        if gap is not None and own is not None:
            found[name] = gap, own.influence
    return found


def _rare(fitted: Fit, reference: Fit | None) -> list[str]:
    """Why a level is not tested: the variables of which nearly all values are one."""
    pairs = [fitted.pair] if reference is None else [fitted.pair, reference.pair]
    return [
        name
        for k, name in enumerate(fitted.pair.names)
        if any((pair.first, pair.second)[k].largest_group > FREQUENT * pair.n for pair in pairs)
    ]


def _cautions(
    fitted: Fit, reference: Fit | None, agreement: Agreement, given: Draws, things: str, rare: Sequence[str]
) -> tuple[str, ...]:
    """What to keep in mind about chains, effective draws and bounds."""
    notes = list(stuck_chains(fitted.pair, things)) if not fitted.iid or given.chained else []
    pairs = [fitted.pair] if reference is None else [fitted.pair, reference.pair]
    few = [*dict.fromkeys(name for pair in pairs for name in pair.too_discrete)] if fitted.method != "moment" else []
    if rare:
        notes.append(too_rare(rare, things))
    else:
        notes += [so_few_values(few)] if few else _ties(*pairs)
    if fitted.bias_is_large:
        notes.append(f"ranks cannot resolve a dependence this strong with so few {things}: shape, total, CKL and CED are rough")
    limit = few_draws(given.n_chains, fitted.iid)
    if fitted.n_eff < limit:
        notes.append(too_few(f"n_eff is {fitted.n_eff:.0f}", limit, given.n_chains, fitted.iid, things))
    if given.chained and given.n_chains == 1 and not fitted.iid:
        notes.append("one chain: nothing tells whether another one would agree; R-hat compares its halves")
    if given.n_chains > given.n_draws and not fitted.iid:
        notes.append(
            f"{given.n_chains} chains of {given.n_draws} draws: more chains than draws; arrays are (chain, draw, variable), "
            "are the first two axes swapped?"
        )
    return (*notes, *disagreement(agreement, things))


def _ties(pair: RankedPair, reference: RankedPair | None = None) -> list[str]:
    """A sentence where values are rounded or discrete, unless the reference's are so alike."""
    tied, other = pair.discrete_share(), reference.discrete_share() if reference is not None else 0.0
    if max(tied, other) <= DISCRETE or 0.5 * tied < other < 2.0 * tied:
        return []
    if reference is not None and on_one_grid(pair.x, reference.x) and on_one_grid(pair.y, reference.y):
        return []
    whose = "reference: " if other > tied else ""
    share = f"{100 * max(tied, other):.2g}%"
    return [
        f"{whose}{share} of all pairs of draws are tied in a variable, as rounded or discrete values are: "
        "a likelihood fit treats them as continuous, which biases shape, and level a little; compare samples that are rounded "
        "alike"
    ]
