"""Level, shape, total, corner and form gaps of pairs of variables, with every rule for when one of them is not tested.

The rules: perfect dependence, and values too rare for a test, in `strength`; a likelihood of columns with few values, of a
handful of draws, or with ties that do not cancel between samples of unequal size, here, as are those for form; corners of few
draws in `tails`.

Numbers are arrays with one entry per pair; `at` gives those of one pair.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.rowwise import Rowwise, plain
from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.family_curves import Curves
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.fits import Fits
from copula_discrepancy.estimate.form import FormGap, can_be_tested
from copula_discrepancy.estimate.jackknife import LeftOut
from copula_discrepancy.estimate.likelihood import INSIDE, LOWER
from copula_discrepancy.estimate.pair import FEWEST_FOR_SHAPE, TOO_DISCRETE, uneven_ties
from copula_discrepancy.estimate.ranked_pairs import Places
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.strength import TauSide, level_test
from copula_discrepancy.estimate.tails import CORNERS, CornerCount, TailGap, joint_pvalue, tail_gap
from copula_discrepancy.families import Copula, Integral

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Side(Rowwise):
    """Pairs of variables in one sample.

    Attributes
    ----------
    fits : Fits
        The families fitted to them; the `Fit` of one pair.
    tau : TauSide
        Kendall's tau and the input of its test.
    spreads : mapping from str to StandardError
        Standard errors of "tau", "tau_fitted" and "shape".
    left_out : LeftOut
        What leaving out blocks says of them, where margins mix slowly.
    bias : float
        The mean bias of the fitted tau, from ranks and from the block jackknife.
    bias_is_large : bool
        Whether the bias due to ranks exceeds the standard error, so that a first-order correction cannot be trusted.
    corners : mapping from str to CornerCount
        The corners.
    rhat : float
        R-hat for dependence.
    tied_share, largest_group
        The share of pairs of draws that are tied, and the number of draws that share one value, in the variable with more.
    """

    fits: Any
    tau: TauSide
    spreads: Mapping[str, StandardError]
    left_out: LeftOut
    bias: Any
    bias_is_large: Any
    corners: Mapping[str, CornerCount]
    rhat: Any
    tied_share: Any
    largest_group: Any

    @classmethod
    def of(cls, fits: Fits, curves: Curves) -> "Side":
        """The sides of all pairs of a finished block."""
        block, left_out = fits.block, fits.left_out()
        spreads, regular, n = fits.spreads(left_out), fits.regular, block.n
        bias = np.zeros(n.size)
        if fits.method == "mle" and not block.uniform:
            n_eff = spreads["shape"].n_eff  # the noise of the ranks affects the two taus differently
            size = np.where(np.isfinite(n_eff), n_eff, n)
            for template, members in fits.families(np.flatnonzero(regular)):
                for count in np.unique(n[members]).tolist():
                    at = members[n[members] == count]
                    bias[at] = curves.tau_biases(template, fits.theta[at], fits.tau[at], int(count), size[at])
        with np.errstate(invalid="ignore"):
            large = regular & ~(np.abs(bias) <= spreads["tau_fitted"].se)
        usable = left_out.averaged(np.where(large, 0.0, bias))
        sizes = block.tied_share, block.largest_group
        return cls(fits, block.tau_side(), spreads, left_out, usable, large, block.corners(), block.rhats, *sizes)

    @property
    def fit(self) -> Fit:
        """The fit of one pair."""
        assert isinstance(self.fits, Fit)
        return self.fits

    def at(self, k: int) -> "Side":
        """One pair."""
        return replace(super().at(k), fits=self.fits.at(k))

    @property
    def n_eff(self) -> Any:
        """The smallest effective sample size of tau, the fitted tau and their difference.

        No draw influences a perfect tau; the effective number of its ranks is used then.
        """
        sizes = np.stack([np.asarray(spread.n_eff) for spread in self.spreads.values()])
        known = np.isfinite(sizes)
        least = np.min(np.where(known, sizes, math.inf), axis=0)
        return np.where(known.any(axis=0), least, np.fmin(self.tau.rank_size, self.tau.n))

    @property
    def too_discrete(self) -> Any:
        """Whether a variable has so few distinct values that no copula likelihood is valid for it."""
        return self.tied_share > TOO_DISCRETE

    @property
    def member(self) -> Copula | None:
        """The fitted copula of one pair, unless it is a limit without a density."""
        fitted = self.fit
        inner = fitted.on_bound == "lower" and fitted.template.parameter.lower_included
        return fitted.copula if (fitted.on_bound is None or inner) and math.isfinite(fitted.theta) else None

    def has_member(self) -> NDArray[np.bool_]:
        """Whether each pair's fit is a copula with a density."""
        found = (self.fits.bounds == INSIDE) & np.isfinite(self.fits.theta) & (self.fits.which >= 0)
        for template, members in self.fits.families():
            if template.parameter.lower_included:
                found[members] |= (self.fits.bounds[members] == LOWER) & np.isfinite(self.fits.theta[members])
        return np.asarray(found)


@dataclass(frozen=True)
class Gap(Rowwise):
    """A gap, its standard error, the bias that tests and intervals subtract, and its p-value."""

    value: Any
    spread: StandardError
    bias: Any
    pvalue: Any

    @classmethod
    def where(cls, condition: NDArray[np.bool_], gap: "Gap") -> "Gap":
        """The gap where a condition holds; elsewhere it is unknown."""
        nothing = StandardError.unknown()
        spread = StandardError.where(condition, gap.spread, nothing)
        value, pvalue = (np.where(condition, number, math.nan) for number in (gap.value, gap.pvalue))
        return cls(value, spread, np.where(condition, gap.bias, 0.0), pvalue)

    def doubted(self, doubt: Any) -> "Gap":
        """The gap with a standard deviation added to its error; never more significant than without."""
        spread = _doubted(self.spread, doubt)
        pvalue = np.where(np.greater(doubt, 0.0), np.fmax(self.pvalue, spread.pvalue(self.value - self.bias)), self.pvalue)
        return Gap(self.value, spread, self.bias, np.where(np.isnan(self.pvalue), math.nan, pvalue))


@dataclass(frozen=True, eq=False)
class Gaps(Rowwise):
    """The gaps of pairs; NaN if a value is not available or not tested.

    Attributes
    ----------
    level, shape, total : Gap
        The gaps in strength, in family and tails, and their sum.
    corners : mapping from str to TailGap
        The corners; of one pair, those that could be compared.
    tails_pvalue : float
        P-value of all corners together.
    form : FormGap or None
        The gap in form; None if it was not asked for.
    too_rare : bool
        Whether too few draws carry information about level to test it.
    """

    level: Gap
    shape: Gap
    total: Gap
    corners: Mapping[str, TailGap]
    tails_pvalue: Any
    form: FormGap | None
    too_rare: Any

    def at(self, k: int) -> "Gaps":
        """One pair."""
        one = super().at(k)
        return replace(one, corners={name: gap for name, gap in one.corners.items() if not math.isnan(gap.value)})


def form_is_tested(own: Side, other: Side | None, *, fitted: bool) -> NDArray[np.bool_]:
    """Whether form can be tested in both samples, or against a family that is `fitted` to one by a valid likelihood."""
    sides = [own] if other is None else [own, other]
    found: NDArray[np.bool_] = np.logical_and.reduce(
        [can_be_tested(side.tau.n, side.tau.perfect, side.largest_group) for side in sides]
    )
    return found & ~own.too_discrete if fitted else found


def gaps(own: Side, other: Side | None, tau_target: Array, form: FormGap | None, tied: Array | float = 0.0) -> Gaps:
    """The gaps between draws and a reference sample, or known taus (NaN without a target).

    `tied` are the strengths of ties that nothing cancels (`ties.strengths`); what they may do is added to the standard errors.
    """
    moment, sides = own.fits.method == "moment", [own] if other is None else [own, other]
    nothing = np.zeros(tau_target.size)
    against = ~np.isnan(tau_target)
    tested = level_test(own.tau, None if other is None else other.tau, tau_target)
    level = Gap.where(against, Gap(own.tau.tau - tau_target, tested.spread, nothing, tested.pvalue))
    level = level.doubted(ties.LEVEL * tied)
    # A tau that the family cannot reach has no theta; the moment gap is still the gap of the taus.
    fitted, *aimed = (side.tau.tau if moment else side.fits.tau for side in sides)
    aim = aimed[0] if aimed else tau_target
    shape = fitted - own.tau.tau - (aim - tau_target if aimed else 0.0)
    # a perfectly dependent sample has no shape, so there is no difference of shapes
    spreads = {name: own.spreads[name].plus(None if other is None else other.spreads[name]) for name in ("shape", "tau_fitted")}
    spreads = {name: _doubted(spread, ties.FITTED * tied) for name, spread in spreads.items()}
    bias = own.bias - (0.0 if other is None else other.bias)
    valid = np.ones(nothing.size, bool)
    tested_too = valid
    if not moment:
        valid = ~np.logical_or.reduce([*(side.too_discrete for side in sides), _uneven(own, other)])
        # the normal limit does not hold for a handful of draws, and a bias beyond the standard error cannot be corrected
        tested_too = ~np.logical_or.reduce([side.bias_is_large | (side.tau.n < FEWEST_FOR_SHAPE) for side in sides])
    total_gap = _gap(fitted - aim, spreads["tau_fitted"], bias, valid, tested_too)
    shape_gap = _gap(shape, spreads["shape"], bias, valid, tested_too)
    if moment:
        unknown = np.full(nothing.size, math.nan)
        shape_gap = Gap(shape, StandardError.unknown(nothing.size), nothing, unknown)
    corners = {name: tail_gap(own.corners[name], None if other is None else other.corners[name]) for name in CORNERS}
    corners = {name: _doubted_tail(gap, ties.CORNER * tied) for name, gap in corners.items()}
    tails = joint_pvalue([gap.pvalue for gap in corners.values()])
    return Gaps(level, shape_gap, total_gap, corners, tails, form, tested.too_rare & against)


def of_levels(found: Gaps, chosen: Places, strength: Array, *, moment: bool) -> Gaps:
    """The gaps where `chosen` pairs are of two ordered columns of which one has levels.

    `strength` are p-values of their strength at common shares. Kendall's tau depends on how common the levels are, no copula
    density describes them, and the share of rows in a corner changes by whole levels: form and strength are what is tested.
    With the method "moment", total is the strength.
    """
    others = np.ones(found.level.value.size, bool)
    others[chosen] = False
    pvalue = found.level.pvalue.copy()
    known = np.isfinite(pvalue[chosen])
    pvalue[chosen[known]] = strength[known]
    level = replace(found.level, pvalue=pvalue)
    corners = {name: replace(gap, pvalue=np.where(others, gap.pvalue, math.nan)) for name, gap in found.corners.items()}
    if moment:
        shape, total = found.shape, replace(found.total, pvalue=np.where(others, found.total.pvalue, pvalue))
    else:
        shape, total = Gap.where(others, found.shape), Gap.where(others, found.total)
    tails = np.where(others, found.tails_pvalue, math.nan)
    return replace(found, level=level, shape=shape, total=total, corners=corners, tails_pvalue=tails)


def _gap(value: Array, spread: StandardError, bias: Array, valid: NDArray[np.bool_], tested: NDArray[np.bool_]) -> Gap:
    pvalue = np.where(tested, spread.pvalue(value - bias), math.nan)
    return Gap.where(valid & ~np.isnan(value), Gap(value, spread, bias, pvalue))


def _doubted(spread: StandardError, doubt: Any) -> StandardError:
    """A standard error with a standard deviation added to it; the same, to the last digit, where that is 0."""
    doubt = np.broadcast_to(doubt, np.shape(spread.se))
    wider = spread.plus(StandardError(doubt, np.full(doubt.shape, math.inf), np.full(doubt.shape, math.inf)))
    return StandardError.where(doubt > 0.0, wider, spread)


def _doubted_tail(gap: TailGap, doubt: Any) -> TailGap:
    if not np.any(doubt):
        return gap
    wider = Gap(gap.value, gap.spread, 0.0, gap.pvalue).doubted(doubt)
    return replace(gap, spread=wider.spread, pvalue=plain(wider.pvalue))


def _uneven(own: Side, other: Side | None) -> Any:
    """Whether samples of very different size have so many ties that their effect on the likelihood does not cancel."""
    if other is None:
        return np.zeros(own.tau.n.size, bool)
    return uneven_ties(own.tau.n, own.tied_share, other.tau.n, other.tied_share)


def divergence(own: Side, targets: "Targets", curves: Curves) -> Integral:
    """CKL of pairs: infinite for perfectly dependent draws, NaN if there is no copula, or no likelihood, to compare."""
    value, error = np.full(targets.theta.size, math.nan), np.zeros(targets.theta.size)
    usable = targets.known & (own.fits.df_bounds != LOWER)
    member = own.has_member()
    value[usable & ~member] = math.inf
    usable &= member
    for template, members in own.fits.families(np.flatnonzero(usable)):
        others = {k: targets.copulas[k] for k in members.tolist() if k in targets.copulas}
        foreign = [k for k, target in others.items() if target._margin_key != template._margin_key]
        at = np.setdiff1d(members, np.array(foreign, np.intp))
        if at.size:
            thetas, taus = (own.fits.theta[at], targets.theta[at]), (own.fits.tau[at], targets.tau[at])
            found = curves.divergences(template, thetas, taus)
            value[at], error[at] = found.value, found.error
        for k in foreign:
            one = template.with_theta(float(own.fits.theta[k]))._kl(others[k])
            value[k], error[k] = one.value, one.error
    return Integral(value, error)


@dataclass(frozen=True, eq=False)
class Targets:
    """The copulas that fits are compared with: known ones, or members of the same families fitted to a reference.

    Attributes
    ----------
    theta, tau : array (pair,)
        Their parameters, and the taus these imply.
    known : array (pair,)
        Whether there is such a copula.
    copulas : mapping from int to Copula
        Known copulas by pair, which may be of another family or df.
    """

    theta: Array
    tau: Array
    known: NDArray[np.bool_]
    copulas: Mapping[int, Copula]
