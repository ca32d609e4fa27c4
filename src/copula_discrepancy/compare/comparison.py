"""Comparison of pairs of variables: with a reference sample, a known copula, or the best family of the draws themselves."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare.rows import BLOCKS, empty_rows
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.coded_samples import CodedSamples
from copula_discrepancy.estimate.counted_block import CountedBlock
from copula_discrepancy.estimate.counted_codes import CountedCodes
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.family_curves import TABULATED, Curves
from copula_discrepancy.estimate.fit import fit_at, fit_pair
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.form import FormGap, form_gaps
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.gaps import Gaps, Side, divergence, form_is_tested, gaps, of_levels
from copula_discrepancy.estimate.jackknife import LeftOut
from copula_discrepancy.estimate.level_pairs import LevelGap
from copula_discrepancy.estimate.pattern import Pattern, pattern_of, pattern_of_levels, proportional
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import TAIL_SHARE
from copula_discrepancy.estimate.screening import SCREENED, gaussian
from copula_discrepancy.estimate.selection import Selection, Selector
from copula_discrepancy.estimate.tails import Yardstick
from copula_discrepancy.estimate.uncertainty import FEWEST_DRAWS
from copula_discrepancy.families import Copula, Integral

_WORTH_NAMING = 0.05  # p-value of form, before adjustment, below which its kind is looked for


class Fits(NamedTuple):
    """The fits of a pair.

    Attributes
    ----------
    own, reference : Fit
        The family fitted to the draws and, if there is one, to the reference.
    choice : Fit or None
        The fit that determined the family or its degrees of freedom.
    selection : Selection or None
        The ranking of families, if all were compared.
    """

    own: Fit
    reference: Fit | None = None
    choice: Fit | None = None
    selection: Selection | None = None


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """All numbers of one pair: both samples, their gaps and CKL; `target` is the known copula, if there is one."""

    first: int
    second: int
    fits: Fits
    own: Side
    other: Side | None
    target: Copula | None
    tau_target: float
    gaps: Gaps
    ckl: Integral
    pattern: Pattern | None
    form_rhats: tuple[tuple[float, str], tuple[float, str]]

    def fill(self, row: Any) -> None:
        """Write the numbers into a row of the table."""
        own, other, fitted = self.own, self.other, self.own.fit
        row["first"], row["second"], row["n"], row["tau"], row["tau_se"] = (
            self.first, self.second, own.tau.n, own.tau.tau, own.tau.spread.se,
        )  # fmt: skip
        row["family"], row["theta"], row["df"] = fitted.family, fitted.theta, math.nan if fitted.df is None else fitted.df
        row["n_eff"], row["rhat"], row["tau_target"] = own.n_eff, own.rhat, self.tau_target
        if self.target is not None:
            row["theta_target"], row["tau_target_se"] = self.target.theta, 0.0
        if other is not None:
            row["n_target"], row["tau_target_se"], row["theta_target"] = other.tau.n, other.tau.spread.se, other.fit.theta
            row["n_eff_target"], row["rhat_target"] = other.n_eff, other.rhat
        for name, gap in (("level", self.gaps.level), ("shape", self.gaps.shape), ("total", self.gaps.total)):
            if not math.isnan(gap.value):
                row[name], row[name + "_se"], row[name + "_pvalue"] = gap.value, gap.spread.se, gap.pvalue
        for name, tail in self.gaps.corners.items():
            row[name], row[name + "_se"], row[name + "_pvalue"] = tail.value, tail.spread.se, tail.pvalue
            row[name + "_share"], row[name + "_share_target"] = tail.share, tail.share_target
        for k, side in enumerate(side for side in (own, other) if side is not None):
            if side.fit.left_out is not None:
                row[BLOCKS][k] = side.fit.left_out
        row["tails_pvalue"], row["ckl"] = self.gaps.tails_pvalue, self.ckl.value
        form = self.gaps.form
        if form is not None:
            fill_form(row, form, self.pattern)
            for end, (rhat, kind) in zip(("", "_target"), self.form_rhats, strict=True):
                row["form_rhat" + end], row["form_rhat_kind" + end] = rhat, kind


def fill_form(row: Any, form: FormGap, pattern: Pattern | None) -> None:
    """Write the gap in form into a row of the table."""
    row["form"], row["form_se"], row["form_pvalue"] = form.value, form.spread.se, form.pvalue
    row["kept"], row["kept_se"] = form.kept, form.kept_spread.se
    row["dependence"], row["dependence_target"] = form.dependence
    row["dependence_se"], row["dependence_target_se"] = form.dependence_errors
    row["pattern"] = "" if pattern is None else pattern.code


@dataclass(frozen=True, eq=False)
class Found:
    """A pair that was compared before: its row, `LeftOut` of draws and reference, and whether df was estimated."""

    row: Any
    blocks: NDArray[np.float64]
    df_estimated: bool


Table = RankedTable | CountedTable  # a sample, ranked or counted
AnyBlock = Block | CountedBlock


def block_of(table: Table, pairs: Sequence[tuple[int, int]], **options: Any) -> AnyBlock:
    """The pairs of a sample, from its ranks or from its counts."""
    return CountedBlock(table, pairs, **options) if isinstance(table, CountedTable) else Block(table, pairs, **options)


@dataclass(frozen=True, eq=False)
class PairComparison:
    """The targets of all pairs, and the options of the comparison.

    Attributes
    ----------
    draws, reference : RankedTable or CountedTable
        The draws; the reference sample, if there is one.
    targets : mapping from pair to Copula
        Known copulas, if there is no reference.
    template : Copula or None
        The family to fit with a reference or without any target; None to choose one for every pair.
    estimate_df : bool
        Whether its degrees of freedom, or those of a known target, are estimated.
    method : {"mle", "moment"}
        How families are fitted.
    iid, compared : (bool, bool)
        For the draws and for the reference: whether they are independent, and whether R-hat can compare chains.
    tail : float
        The fraction of a variable that counts as its tail.
    order : int
        The order of form.
    curves, selector
        How functions of a family are computed, and how families are chosen.
    found : Found or None
        What is known of the one pair that is asked for, where it was compared before: nothing is fitted again.
    coded : CodedSamples or None
        The columns as codes, if there is a reference and some have levels.
    """

    draws: Table
    reference: Table | None
    targets: Mapping[tuple[int, int], Copula]
    template: Copula | None
    estimate_df: bool
    method: str
    iid: tuple[bool, bool]
    compared: tuple[bool, bool]
    tail: float = TAIL_SHARE
    order: int = ORDER
    curves: Curves = TABULATED
    selector: Selector = SCREENED
    found: Found | None = None
    coded: CodedSamples | CountedCodes | None = None

    def rows(self, pairs: Sequence[tuple[int, int]]) -> NDArray[Any]:
        """Rows of several pairs; warnings of fits are recorded, not issued."""
        rows = empty_rows(len(pairs))
        ordered = [k for k, pair in enumerate(pairs) if self._ordered(*pair)]
        for k in set(range(len(pairs))).difference(ordered):
            self._fill_levels(rows[k], *pairs[k])
        broken = [k for k in ordered if self._has_holes(*pairs[k])]
        coded = [] if self.coded is None else [k for k in ordered if self.coded.has_levels(*pairs[k])]
        for whole in (sorted({*ordered}.difference(broken, coded)), sorted({*coded}.difference(broken))):
            if whole:
                for k, compared in zip(whole, self.compare([pairs[k] for k in whole])[0], strict=True):
                    compared.fill(rows[k])
        for k in broken:
            self._fill_from_complete(rows[k], *pairs[k])
        return rows

    def _ordered(self, i: int, j: int) -> bool:
        """Whether both variables of a pair have an order; without a reference, no others are compared."""
        return self.coded is None or self.coded.ordered(i, j)

    def _fill_levels(self, row: Any, i: int, j: int) -> None:
        """Fill the row of a pair with a variable that has no order: its form is all that can be compared."""
        assert self.coded is not None
        assert self.reference is not None
        row["first"], row["second"] = i, j
        row["n"], row["n_target"] = self.draws.n_complete(i, j), self.reference.n_complete(i, j)
        gap = self.coded.gap(i, j, order=self.order, iid=self.iid)
        if isinstance(gap, str):
            return
        fill_form(row, gap.form, pattern_of_levels(gap.form) if gap.form.pvalue < _WORTH_NAMING else None)
        row["n_eff"], row["n_eff_target"] = gap.n_eff
        for end, (rhat, kind) in zip(("", "_target"), self._rhats_of(gap), strict=True):
            row["form_rhat" + end], row["form_rhat_kind" + end] = rhat, kind

    def _has_holes(self, i: int, j: int) -> bool:
        """Whether a value of one of two variables is missing."""
        return any(table is not None and (table.holes[i] or table.holes[j]) for table in (self.draws, self.reference))

    def _fill_from_complete(self, row: Any, i: int, j: int) -> None:
        """Fill the row of a pair from the draws that have both values; only their number if nothing varies in them."""
        row["first"], row["second"], row["n"] = i, j, self.draws.n_complete(i, j)
        row["n_target"] = math.nan if self.reference is None else self.reference.n_complete(i, j)
        # counts are of complete rows for every pair, so that only ranked tables come here
        ranked = [table if isinstance(table, RankedTable) else None for table in (self.draws, self.reference)]
        tables = [None if table is None else table.of_pair(i, j) for table in ranked]
        enough = [table is not None and (iid or table.n >= FEWEST_DRAWS) for table, iid in zip(tables, self.iid, strict=True)]
        if tables[0] is None or not enough[0] or (self.reference is not None and not enough[1]):
            return
        known = {(0, 1): self.targets[i, j]} if (i, j) in self.targets else {}
        coded = self.coded.at((i, j)) if isinstance(self.coded, CodedSamples) else None
        alone = replace(self, draws=tables[0], reference=tables[1], targets=known, coded=coded)
        ((compared,), _) = alone.compare([(0, 1)])
        replace(compared, first=i, second=j).fill(row)

    def compare(
        self, pairs: Sequence[tuple[int, int]], *, keep: bool = False
    ) -> tuple[list[ComparedPair], tuple[AnyBlock, AnyBlock | None]]:
        """All numbers of several pairs, and the blocks they are computed from; `keep` their influence values.

        If all of them are pairs of columns with levels, polynomials of ranks are not used, and not computed either.
        """
        tables = [self._level_gap(place) for place in pairs]
        order = self.order if keep or any(gap is None for gap in tables) else 0
        own, other = (
            None if table is None else block_of(table, pairs, compare=compared, iid=iid, tail=self.tail, order=order)
            for table, compared, iid in zip((self.draws, self.reference), self.compared, self.iid, strict=True)
        )
        assert own is not None
        fits, aims = [], np.zeros((len(pairs), self.order**2))
        for k, place in enumerate(pairs):
            known = self.targets.get(place)
            found = self._fits(own, other, k, known, coded=tables[k] is not None)
            taus = [own.taus[k]] if other is None else [own.taus[k], other.taus[k]]
            yardstick = Yardstick.of(found.own.template, taus, known)
            for block, fitted in ((own, found.own), (other, found.reference)):
                if block is not None and fitted is not None:
                    fitted.score_in(block, k)
                    if keep or tables[k] is None:  # corners of columns with levels are not tested
                        block.expect(k, yardstick, self.curves.corner_share)
            if other is None:
                aims[k] = self._expected_form(own, k, found.own, known)
            fits.append(found)
        for block in (own, other):
            if block is not None:
                block.finish(keep=keep)
        sides = [self._sides(own, other, k, found) for k, found in enumerate(fits)]
        unknown = [(math.nan, "")] * len(pairs)
        rhats = [unknown, unknown]
        if order:
            tested = [form_is_tested(*both) for both in sides]
            no_target = other is None and not self.targets
            forms = form_gaps(own.form, None if other is None else other.form, aims, tested, fitted=no_target)
            rhats = [
                block.form.largest_rhats if block is not None and told else unknown
                for block, told in zip((own, other), self.compared, strict=True)
            ]
        compared_pairs = []
        for k, (place, gap) in enumerate(zip(pairs, tables, strict=True)):
            if gap is None:
                form, found_rhats = forms[k], (rhats[0][k], rhats[1][k])
            else:
                form, found_rhats = gap.on_grid(self.order), self._rhats_of(gap)
            compared_pairs.append(self._compared(place, fits[k], sides[k], form, found_rhats, levels=gap))
        return compared_pairs, (own, other)

    def _level_gap(self, place: tuple[int, int]) -> LevelGap | None:
        """The form of a pair in which a column has levels; None if none has, or if it cannot be tested."""
        if self.coded is None or not self.coded.has_levels(*place):
            return None
        gap = self.coded.gap(*place, order=self.order, iid=self.iid)
        return None if isinstance(gap, str) else gap

    def _rhats_of(self, gap: LevelGap) -> tuple[tuple[float, str], tuple[float, str]]:
        """The largest R-hat over the coefficients of a pair with levels, in both samples, where chains can be compared."""
        own, other = (
            (rhat, "categories") if told else (math.nan, "") for rhat, told in zip(gap.rhats, self.compared, strict=True)
        )
        return own, other

    def _expected_form(self, own: AnyBlock, k: int, fitted: Fit, known: Copula | None) -> NDArray[np.float64]:
        """The coefficients of the known copula or, without a target, of the fit, whose uncertainty the block takes in."""
        if known is not None:
            return copula_coefficients(known, self.order)
        if not abs(fitted.tau) < 1.0:
            return np.full(self.order**2, math.nan)
        values, steep = self.curves.coefficients(fitted.template, fitted.tau, self.order)
        own.expect_form(k, steep)
        return values

    def _sides(self, own: AnyBlock, other: AnyBlock | None, k: int, fits: Fits) -> tuple[Side, Side | None]:
        """Both samples of a pair of finished blocks."""
        theirs = None if other is None or fits.reference is None else Side.of(other, k, fits.reference, self.curves)
        return Side.of(own, k, fits.own, self.curves), theirs

    def _fits(self, own: AnyBlock, other: AnyBlock | None, k: int, known: Copula | None, *, coded: bool) -> Fits:
        """The fits to both samples; the reference determines the family and its degrees of freedom.

        No family describes columns with levels (`coded`): unless everything is asked for, the normal one stands for it.
        """
        pair, iid, method = own.pair(k), own.iid, self.method
        guide, guide_pair = (own, pair) if other is None else (other, other.pair(k))
        if self.found is not None:
            template = known or self.template
            assert template is not None
            row, (here, there) = self.found.row, map(LeftOut.known, self.found.blocks)
            fitted = fit_at(pair, template, float(row["theta"]), here, method=method, iid=iid)
            if other is None:
                return Fits(fitted)
            return Fits(fitted, fit_at(guide_pair, template, float(row["theta_target"]), there, method=method, iid=guide.iid))
        if known is not None:
            return Fits(fit_pair(pair, known, method=method, estimate_df=self.estimate_df, iid=iid))
        if coded and other is not None and self.template is None and self.selector is SCREENED:
            normal = gaussian()
            theirs = fit_pair(guide_pair, normal, method="moment", iid=guide.iid)
            return Fits(fit_pair(pair, normal, method="moment", iid=iid), theirs, theirs)
        selection = None
        if self.template is not None:
            choice = fit_pair(guide_pair, self.template, method="mle", estimate_df=self.estimate_df, iid=guide.iid)
        else:
            choice, selection = self.selector.choose(guide, None if other is None else own, k)
        chosen = choice
        if method == "moment" or choice.df_estimated:  # degrees of freedom keep their estimate from here on
            chosen = fit_pair(guide_pair, choice.template, method=method, iid=guide.iid)
        if other is None:
            return Fits(chosen, None, choice, selection)
        fitted = fit_pair(pair, chosen.template, method=method, iid=iid)
        instead = self.selector.instead(chosen, fitted) if self.template is None else None
        if instead is not None:
            chosen = fit_pair(guide_pair, instead, method=method, iid=guide.iid)
            fitted = fit_pair(pair, instead, method=method, iid=iid)
        return Fits(fitted, chosen, choice, selection)

    def _compared(
        self,
        place: tuple[int, int],
        fits: Fits,
        sides: tuple[Side, Side | None],
        form: FormGap,
        rhats: tuple[tuple[float, str], tuple[float, str]],
        *,
        levels: LevelGap | None,
    ) -> ComparedPair:
        """All numbers of one pair."""
        known, (mine, there) = self.targets.get(place), sides
        target, tau_target, tau_fitted = known, math.nan if known is None else known.tau, math.nan
        if there is not None:
            target, tau_target, tau_fitted = there.member, there.tau.tau, there.fit.tau
        found = gaps(mine, there, tau_target, form)
        if levels is not None:
            found = of_levels(found, levels.strength, moment=self.method == "moment")
        # without a valid likelihood there is no divergence either
        told = self.method == "moment" or not math.isnan(found.total.value)
        aimed = tau_target if there is None else tau_fitted
        ckl = divergence(mine, target, aimed, self.curves) if told else Integral(math.nan)
        pattern = None
        if form.pvalue < _WORTH_NAMING:
            pattern = pattern_of(form, proportional(form)) if levels is not None else self._pattern(mine, form, tau_target)
        return ComparedPair(*place, fits, mine, there, known, tau_target, found, ckl, pattern, rhats)

    def _pattern(self, own: Side, form: FormGap, tau_target: float) -> Pattern | None:
        """What kind of dependence differs, beyond the effect of a difference in tau on the family's coefficients."""
        taus = own.tau.tau, tau_target
        if math.isnan(tau_target):  # the fit has the level of the draws, or nearly so
            return pattern_of(form, np.zeros_like(form.own))
        yardstick = Yardstick.of(own.fit.template, taus, None)
        if yardstick is None:
            return None
        # the tables' four digits do for a name
        mine, theirs = (TABULATED.coefficients(yardstick.template, tau, self.order)[0] for tau in taus)
        return pattern_of(form, mine - theirs)
