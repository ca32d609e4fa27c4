"""Level, shape, total, corner and form gaps of one pair of variables, with every rule for when one of them is not tested.

The rules: perfect dependence, and values too rare for a test, in `strength`; a likelihood of columns with few values, of a
handful of draws, or with ties that do not cancel between samples of unequal size, here, as are those for form; corners of few
draws in `tails`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.counted_block import CountedBlock
from copula_discrepancy.estimate.family_curves import Curves
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.form import FormGap, can_be_tested
from copula_discrepancy.estimate.pair import FEWEST_FOR_SHAPE, TOO_DISCRETE, uneven_ties
from copula_discrepancy.estimate.strength import TauSide, level_test
from copula_discrepancy.estimate.tails import CORNERS, CornerCount, TailGap, joint_pvalue, tail_gap
from copula_discrepancy.estimate.uncertainty import StandardError
from copula_discrepancy.families import Copula, Integral

_UNKNOWN = StandardError(math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class Side:
    """One pair of variables in one sample.

    Attributes
    ----------
    fit : Fit
        The family fitted to it.
    tau : TauSide
        Kendall's tau and the input of its test.
    spreads : mapping from str to StandardError
        Standard errors of "tau", "tau_fitted" and "shape".
    bias : float
        The mean bias of the fitted tau, from ranks and from the block jackknife.
    bias_is_large : bool
        Whether the bias due to ranks exceeds the standard error, so that a first-order correction cannot be trusted.
    corners : mapping from str to CornerCount
        The corners that can be evaluated.
    rhat : float
        R-hat for dependence.
    """

    fit: Fit
    tau: TauSide
    spreads: Mapping[str, StandardError]
    bias: float
    bias_is_large: bool
    corners: Mapping[str, CornerCount]
    rhat: float

    @classmethod
    def of(cls, block: Block | CountedBlock, k: int, fitted: Fit, curves: Curves) -> "Side":
        """The side of a pair in a finished block of pairs."""
        spreads, bias = fitted.spreads_in(block, k), 0.0
        if fitted.method == "mle" and fitted.regular and not fitted.pair.uniform:
            n_eff = spreads["shape"].n_eff  # the noise of the ranks affects the two taus differently
            size = n_eff if math.isfinite(n_eff) else float(fitted.n)
            bias = curves.tau_bias(fitted.template, fitted.theta, fitted.tau, fitted.n, size)
        large = fitted.regular and not abs(bias) <= spreads["tau_fitted"].se
        usable = fitted.with_blocks(0.0 if large else bias)
        tau, rhat = block.tau_side(k), float(block.rhats[k])
        return cls(fitted, tau, spreads, usable, large, block.corners(k), rhat)

    @property
    def n_eff(self) -> float:
        """The smallest effective sample size of tau, the fitted tau and their difference.

        No draw influences a perfect tau; the effective number of its ranks is used then.
        """
        known = [spread.n_eff for spread in self.spreads.values() if math.isfinite(spread.n_eff)]
        return min(known) if known else min(self.tau.rank_size(), self.tau.n)

    @property
    def too_discrete(self) -> bool:
        """Whether a variable has so few distinct values that no copula likelihood is valid for it."""
        return self.fit.pair.tied_share > TOO_DISCRETE

    @property
    def member(self) -> Copula | None:
        """The fitted copula, unless it is a limit without a density."""
        fitted = self.fit
        inner = fitted.on_bound == "lower" and fitted.template.parameter.lower_included
        return fitted.copula if (fitted.on_bound is None or inner) and math.isfinite(fitted.theta) else None


class Gap(NamedTuple):
    """A gap, its standard error, the bias that tests and intervals subtract, and its p-value."""

    value: float
    spread: StandardError = _UNKNOWN
    bias: float = 0.0
    pvalue: float = math.nan


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps of one pair; NaN if a value is not available or not tested.

    Attributes
    ----------
    level, shape, total : Gap
        The gaps in strength, in family and tails, and their sum.
    corners : mapping from str to TailGap
        The corners that could be compared.
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
    tails_pvalue: float
    form: FormGap | None
    too_rare: bool


def form_is_tested(own: Side, other: Side | None) -> bool:
    """Whether form can be tested in both samples."""
    sides = [own] if other is None else [own, other]
    return all(can_be_tested(side.tau.n, side.tau.perfect, side.fit.pair.largest_group) for side in sides)


def gaps(own: Side, other: Side | None, tau_target: float, form: FormGap | None) -> Gaps:
    """The gaps between draws and a reference sample, or a known tau (NaN without a target)."""
    moment, sides = own.fit.method == "moment", [own] if other is None else [own, other]
    level, too_rare = Gap(math.nan), False
    if not math.isnan(tau_target):
        tested = level_test(own.tau, None if other is None else other.tau, tau_target)
        level, too_rare = Gap(own.tau.tau - tau_target, tested.spread, 0.0, tested.pvalue), tested.too_rare
    # A tau that the family cannot reach has no theta; the moment gap is still the gap of the taus.
    fitted, *aimed = (side.tau.tau if moment else side.fit.tau for side in sides)
    aim = aimed[0] if aimed else tau_target
    shape = fitted - own.tau.tau - (aim - tau_target if aimed else 0.0)
    # a perfectly dependent sample has no shape, so there is no difference of shapes
    spreads = {name: own.spreads[name].plus(None if other is None else other.spreads[name]) for name in ("shape", "tau_fitted")}
    bias = own.bias - (0.0 if other is None else other.bias)
    if not moment and (any(side.too_discrete for side in sides) or _uneven(own, other)):
        shape_gap = total_gap = Gap(math.nan)
    else:
        # the normal limit does not hold for a handful of draws, and a bias beyond the standard error cannot be corrected
        tested_too = moment or not any(side.bias_is_large or side.tau.n < FEWEST_FOR_SHAPE for side in sides)
        shape_gap = Gap(shape) if moment else _gap(shape, spreads["shape"], bias, tested_too)
        total_gap = _gap(fitted - aim, spreads["tau_fitted"], bias, tested_too)
    corners = {}
    for name in CORNERS:
        gap = tail_gap(own.corners.get(name), None if other is None else other.corners.get(name), compared=other is not None)
        if gap is not None:
            corners[name] = gap
    return Gaps(level, shape_gap, total_gap, corners, joint_pvalue([*corners.values()]), form, too_rare)


def of_levels(found: Gaps, strength: float, *, moment: bool) -> Gaps:
    """The gaps of two ordered columns of which one has levels; `strength` is the p-value of their strength at common shares.

    Kendall's tau depends on how common the levels are, no copula density describes them, and the share of rows in a corner
    changes by whole levels: form and strength are what is tested. With the method "moment", total is the strength.
    """
    level = found.level._replace(pvalue=strength) if math.isfinite(found.level.pvalue) else found.level
    corners = {name: replace(gap, pvalue=math.nan) for name, gap in found.corners.items()}
    nothing = Gap(math.nan)
    shape, total = (found.shape, found.total._replace(pvalue=level.pvalue)) if moment else (nothing, nothing)
    return replace(found, level=level, shape=shape, total=total, corners=corners, tails_pvalue=math.nan)


def _gap(value: float, spread: StandardError, bias: float, tested: bool) -> Gap:
    return Gap(math.nan) if math.isnan(value) else Gap(value, spread, bias, spread.pvalue(value - bias) if tested else math.nan)


def _uneven(own: Side, other: Side | None) -> bool:
    """Whether samples of very different size have so many ties that their effect on the likelihood does not cancel."""
    return other is not None and uneven_ties(own.tau.n, own.fit.pair.tied_share, other.tau.n, other.fit.pair.tied_share)


def divergence(own: Side, target: Copula | None, tau_target: float, curves: Curves) -> Integral:
    """CKL of a pair: infinite for perfectly dependent draws, NaN if there is no copula, or no likelihood, to compare."""
    if target is None or own.fit.df_on_bound == "lower":
        return Integral(math.nan)
    copula = own.member
    return Integral(math.inf) if copula is None else curves.divergence(copula, target, (own.fit.tau, tau_target))
