"""Comparison of pairs of variables: with a reference sample, a known copula, or the best family of the draws themselves."""

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.tensors.device import Device
from copula_discrepancy.compare.fitting import BothFits, Fitting, Found
from copula_discrepancy.compare.rows import BLOCKS, empty_rows
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.coded_samples import CodedSamples
from copula_discrepancy.estimate.counted_block import CountedBlock
from copula_discrepancy.estimate.counted_codes import CountedCodes
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.expected_form import expected_forms, tie_strengths
from copula_discrepancy.estimate.family_curves import TABULATED, Curves
from copula_discrepancy.estimate.fits import Fits
from copula_discrepancy.estimate.form import FormGap, form_gaps
from copula_discrepancy.estimate.gaps import Gaps, Side, Targets, divergence, form_is_tested, gaps, of_levels
from copula_discrepancy.estimate.level_pairs import LevelGap
from copula_discrepancy.estimate.pair_block import PairBlock
from copula_discrepancy.estimate.pattern import LONGEST, NO_PATTERN, Pattern, pattern_of_levels, patterns_of, proportional
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import TAIL_SHARE
from copula_discrepancy.estimate.screening import SCREENED
from copula_discrepancy.estimate.selection import Selector
from copula_discrepancy.estimate.standard_error import FEWEST_DRAWS, StandardError
from copula_discrepancy.estimate.yardstick import Yardsticks
from copula_discrepancy.families import Copula, Integral

if TYPE_CHECKING:
    from copula_discrepancy.estimate.device_table import DeviceTable

Array = NDArray[np.float64]
Table = Any  # a sample, ranked here or on a device, or counted

# Share of a device's memory for what stays in it while pairs are compared, and how many numbers of each draw that is: counts
# of concordant draws, and influence values on tau and fitted tau.
_RESIDENT, _TENSORS = 0.35, 5.0
_WORTH_NAMING = 0.05  # p-value of form, before adjustment, below which its kind is looked for


@dataclass(frozen=True, eq=False)
class FormRhats:
    """The largest R-hat over the coefficients of form, pair by pair, and what that coefficient is about."""

    value: Array
    kind: NDArray[np.str_]

    @classmethod
    def none(cls, count: int) -> "FormRhats":
        """Of samples without chains that can be compared."""
        return cls(np.full(count, math.nan), np.full(count, ""))


@dataclass(frozen=True, eq=False)
class ComparedPairs:
    """All numbers of several pairs: both samples, their gaps and CKL; `targets` has known copulas, by pair."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    fits: BothFits
    own: Side
    other: Side | None
    targets: Mapping[int, Copula]
    tau_target: Array
    gaps: Gaps
    ckl: Integral
    patterns: NDArray[np.str_]
    form_rhats: tuple[FormRhats, FormRhats]

    def fill(self, rows: NDArray[Any]) -> None:
        """Write the numbers into rows of the table, one for each pair."""
        own, other, fits = self.own, self.other, self.fits.own
        rows["first"], rows["second"] = self.first, self.second
        rows["n"], rows["tau"], rows["tau_se"] = own.tau.n, own.tau.tau, own.tau.spread.se
        for template, members in fits.families():
            rows["family"][members] = template.name
        rows["theta"], rows["df"] = fits.theta, fits.df
        rows["n_eff"], rows["rhat"], rows["tau_target"] = own.n_eff, own.rhat, self.tau_target
        for k, target in self.targets.items():
            rows["theta_target"][k], rows["tau_target_se"][k] = target.theta, 0.0
        if other is not None:
            rows["n_target"], rows["tau_target_se"], rows["theta_target"] = other.tau.n, other.tau.spread.se, other.fits.theta
            rows["n_eff_target"], rows["rhat_target"] = other.n_eff, other.rhat
        for name, gap in (("level", self.gaps.level), ("shape", self.gaps.shape), ("total", self.gaps.total)):
            known = ~np.isnan(gap.value)
            for part, values in (("", gap.value), ("_se", gap.spread.se), ("_pvalue", gap.pvalue)):
                rows[name + part] = np.where(known, values, math.nan)
        for name, tail in self.gaps.corners.items():
            known = ~np.isnan(tail.value)
            numbers = ("", tail.value), ("_se", tail.spread.se), ("_pvalue", tail.pvalue)
            for part, values in (*numbers, ("_share", tail.share), ("_share_target", tail.share_target)):
                rows[name + part] = np.where(known, values, math.nan)
        for k, side in enumerate(side for side in (own, other) if side is not None):
            rows[BLOCKS][:, k] = np.stack(side.left_out.numbers, axis=1)
        rows["tails_pvalue"], rows["ckl"] = self.gaps.tails_pvalue, self.ckl.value
        if self.gaps.form is not None:
            fill_form(rows, self.gaps.form, self.patterns)
            for end, rhats in zip(("", "_target"), self.form_rhats, strict=True):
                rows["form_rhat" + end], rows["form_rhat_kind" + end] = rhats.value, rhats.kind

    def at(self, k: int) -> "ComparedPair":
        """All numbers of one of them."""
        return ComparedPair(
            self, k, self.own.at(k), None if self.other is None else self.other.at(k), self.targets.get(k),
            float(self.tau_target[k]), self.gaps.at(k), self.ckl.at(k), Pattern.known(str(self.patterns[k])),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """All numbers of one pair, number `place` of the pairs it is `among`."""

    among: ComparedPairs
    place: int
    own: Side
    other: Side | None
    target: Copula | None
    tau_target: float
    gaps: Gaps
    ckl: Integral
    pattern: Pattern | None


def fill_form(rows: Any, form: FormGap, patterns: Any) -> None:
    """Write gaps in form into rows of the table, or the gap of one pair into one row."""
    rows["form"], rows["form_se"], rows["form_pvalue"] = form.value, form.spread.se, form.pvalue
    rows["kept"], rows["kept_se"] = form.kept, form.kept_spread.se
    rows["dependence"], rows["dependence_target"] = form.dependence
    rows["dependence_se"], rows["dependence_target_se"] = form.dependence_errors
    rows["pattern"] = patterns


def block_of(table: Table, pairs: Sequence[tuple[int, int]], **options: Any) -> PairBlock:
    """The pairs of a sample, from its ranks, here or on a device, or from its counts."""
    if isinstance(table, CountedTable):
        return CountedBlock(table, pairs, **options)
    if isinstance(table, RankedTable):
        return Block(table, pairs, **options)
    from copula_discrepancy.estimate.device_block import DeviceBlock  # which imports PyTorch

    return DeviceBlock(table, pairs, **options)


@dataclass(frozen=True, eq=False)
class OnDevice:
    """Both samples of a comparison on a device."""

    device: Device
    draws: "DeviceTable"
    reference: "DeviceTable | None"

    @property
    def pairs_at_once(self) -> int:
        """How many pairs of variables fit into the memory that may be used: influence values of both samples stay in it."""
        rows = sum(table.n for table in (self.draws, self.reference) if table is not None)
        return max(int(_RESIDENT * self.device.planned_bytes() / (_TENSORS * 8.0 * rows)), 1)


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
    on_device : OnDevice or None
        Both samples on another device, where pairs of ranks are compared; pairs with levels or with missing values are
        compared here.
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
    on_device: "OnDevice | None" = None

    def rows(self, pairs: Sequence[tuple[int, int]]) -> NDArray[Any]:
        """Rows of several pairs; warnings of fits are recorded, not issued."""
        rows = empty_rows(len(pairs))
        ordered = [k for k, pair in enumerate(pairs) if self._ordered(*pair)]
        for k in set(range(len(pairs))).difference(ordered):
            self._fill_levels(rows[k], *pairs[k])
        broken = {k for k in ordered if self._has_holes(*pairs[k])}
        levels = {k: self._level_gap(pairs[k]) for k in ordered if k not in broken} if self.coded is not None else {}
        with_levels = [k for k, gap in levels.items() if gap is not None]
        plain = sorted({*ordered}.difference(broken, with_levels))
        for places, found in ((plain, None), (with_levels, [levels[k] for k in with_levels])):
            if places:
                filled = empty_rows(len(places))
                self.compare([pairs[k] for k in places], levels=found)[0].fill(filled)
                rows[places] = filled
        for k in sorted(broken):
            rows[k] = self._from_complete(*pairs[k])
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
        fill_form(row, gap.form, pattern_of_levels(gap.form).code if gap.form.pvalue < _WORTH_NAMING else NO_PATTERN)
        row["n_eff"], row["n_eff_target"] = gap.n_eff
        for end, rhat, told in zip(("", "_target"), gap.rhats, self.compared, strict=True):
            row["form_rhat" + end], row["form_rhat_kind" + end] = (rhat, _CATEGORIES) if told else (math.nan, "")

    def _has_holes(self, i: int, j: int) -> bool:
        """Whether a value of one of two variables is missing."""
        return any(table is not None and (table.holes[i] or table.holes[j]) for table in (self.draws, self.reference))

    def _from_complete(self, i: int, j: int) -> Any:
        """The row of a pair from the draws that have both values; only their number if nothing varies in them."""
        rows = empty_rows(1)
        rows["first"], rows["second"], rows["n"] = i, j, self.draws.n_complete(i, j)
        rows["n_target"] = math.nan if self.reference is None else self.reference.n_complete(i, j)
        # counts are of complete rows for every pair, so that only ranked tables come here
        ranked = [table if isinstance(table, RankedTable) else None for table in (self.draws, self.reference)]
        tables = [None if table is None else table.of_pair(i, j) for table in ranked]
        enough = [table is not None and (iid or table.n >= FEWEST_DRAWS) for table, iid in zip(tables, self.iid, strict=True)]
        if tables[0] is None or not enough[0] or (self.reference is not None and not enough[1]):
            return rows[0]
        known = {(0, 1): self.targets[i, j]} if (i, j) in self.targets else {}
        coded = self.coded.at((i, j)) if isinstance(self.coded, CodedSamples) else None
        alone = replace(self, draws=tables[0], reference=tables[1], targets=known, coded=coded, on_device=None)
        alone.compare([(0, 1)])[0].fill(rows)
        rows["first"], rows["second"] = i, j
        return rows[0]

    def compare(
        self, pairs: Sequence[tuple[int, int]], *, keep: bool = False, levels: Sequence[LevelGap | None] | None = None
    ) -> tuple[ComparedPairs, tuple[Any, Any]]:
        """All numbers of several pairs, and the blocks they are computed from; `keep` their influence values.

        `levels` are the forms of pairs of columns with levels: all pairs are of this kind, or none. Polynomials of their ranks
        are not used, and not computed either.
        """
        if levels is None:
            levels = [self._level_gap(place) for place in pairs]
        with_levels = np.array([gap is not None for gap in levels], bool)
        order = self.order if keep or not with_levels.all() else 0
        away = None if keep or with_levels.any() else self.on_device
        tables = (self.draws, self.reference) if away is None else (away.draws, away.reference)
        targets = {k: self.targets[place] for k, place in enumerate(pairs) if place in self.targets}
        with nullcontext() if away is None else away.device.turn():
            own, other = (
                None if table is None else block_of(table, pairs, compare=compared, iid=iid, tail=self.tail, order=order)
                for table, compared, iid in zip(tables, self.compared, self.iid, strict=True)
            )
            assert own is not None
            fits = self._fitting.fits(own, other, targets, with_levels)
            taus = np.stack([block.taus for block in (own, other) if block is not None])
            yardsticks = Yardsticks(fits.own, taus, targets)
            aims, doubt = np.zeros((len(pairs), self.order**2)), None
            # of two samples with the same ties what these do cancels
            tied = np.zeros(len(pairs)) if other is not None else tie_strengths(own, fits.own, targets)
            for block, fitted in ((own, fits.own), (other, fits.reference)):
                if block is not None and fitted is not None:
                    fitted.add_scores()
                    # corners of columns with levels are not tested
                    yardsticks.expect_in(block, np.full(len(pairs), keep) | ~with_levels, self.curves)
            if other is None:
                aims, doubt = expected_forms(own, fits.own, targets, tied, curves=self.curves, order=self.order)
            for block in (own, other):
                if block is not None:
                    block.finish(keep=keep)
            mine = Side.of(fits.own, self.curves)
            theirs = None if fits.reference is None else Side.of(fits.reference, self.curves)
        rhats = [FormRhats.none(len(pairs)) for _ in range(2)]
        form = None
        if order:
            no_target = other is None and not self.targets
            tested = form_is_tested(mine, theirs, fitted=no_target)
            form = form_gaps(own.form, None if other is None else other.form, aims, tested, fitted=no_target, doubt=doubt)
            for k, (block, told) in enumerate(zip((own, other), self.compared, strict=True)):
                if block is not None and told:
                    rhats[k] = FormRhats(*block.form.largest_rhats)
        form = self._with_levels(form, rhats, levels)
        compared = self._compared(pairs, fits, (mine, theirs), targets, form, (rhats[0], rhats[1]), levels, tied)
        return compared, (own, other)

    @property
    def _fitting(self) -> Fitting:
        return Fitting(self.template, self.estimate_df, self.method, self.selector, self.found)

    def _level_gap(self, place: tuple[int, int]) -> LevelGap | None:
        """The form of a pair in which a column has levels; None if none has, or if it cannot be tested."""
        if self.coded is None or not self.coded.has_levels(*place):
            return None
        gap = self.coded.gap(*place, order=self.order, iid=self.iid)
        return None if isinstance(gap, str) else gap

    def _with_levels(self, form: FormGap | None, rhats: list[FormRhats], levels: Sequence[LevelGap | None]) -> FormGap:
        """The gaps in form, with those of columns with levels in their places."""
        places = [k for k, gap in enumerate(levels) if gap is not None]
        if not places:
            assert form is not None
            return form
        of_levels = [gap.on_grid(self.order) for gap in levels if gap is not None]
        if len(places) == len(levels):
            form = _stacked(of_levels)
        else:
            raise ValueError("pairs of columns with levels are compared apart from others")
        for end, told in enumerate(self.compared):
            values = np.array([gap.rhats[end] for gap in levels if gap is not None])
            rhats[end] = FormRhats(values, np.full(len(values), _CATEGORIES)) if told else FormRhats.none(len(values))
        return form

    def _compared(
        self,
        pairs: Sequence[tuple[int, int]],
        fits: BothFits,
        sides: tuple[Side, Side | None],
        targets: Mapping[int, Copula],
        form: FormGap,
        rhats: tuple[FormRhats, FormRhats],
        levels: Sequence[LevelGap | None],
        tied: Array,
    ) -> ComparedPairs:
        """All numbers, from both samples and the gaps in form."""
        own, other = sides
        count = len(pairs)
        first, second = np.array(pairs, np.int64).reshape(-1, 2).T
        if other is None:
            known = np.array([k in targets for k in range(count)], bool)
            thetas, taus = (np.full(count, math.nan) for _ in range(2))
            for k, target in targets.items():
                thetas[k], taus[k] = target.theta, target.tau
            tau_target, aims = taus, Targets(thetas, taus, known, targets)
        else:
            tau_target = other.tau.tau
            aims = Targets(other.fits.theta, other.fits.tau, other.has_member(), {})
        found, places = (
            gaps(own, other, tau_target, form, tied),
            np.array([k for k, gap in enumerate(levels) if gap is not None], int),
        )
        if places.size:
            strength = np.array([gap.strength for gap in levels if gap is not None])
            found = of_levels(found, places, strength, moment=self.method == "moment")
        # without a valid likelihood there is no divergence either
        told = np.full(count, self.method == "moment") | ~np.isnan(found.total.value)
        ckl = divergence(own, replace(aims, known=aims.known & told), self.curves)
        patterns = self._patterns(fits.own, form, (own.tau.tau, tau_target), by_levels=bool(places.size))
        return ComparedPairs(first, second, fits, own, other, targets, tau_target, found, ckl, patterns, rhats)

    def _patterns(self, fits: Fits, form: FormGap, taus: tuple[Array, Array], *, by_levels: bool) -> NDArray[np.str_]:
        """What kind of dependence differs, beyond the effect of differences in tau on the families' coefficients."""
        found = np.full(taus[0].size, NO_PATTERN, f"U{LONGEST}")
        chosen = np.flatnonzero(form.pvalue < _WORTH_NAMING)
        if not chosen.size:
            return found
        some = _rows_of(form, chosen)
        if by_levels:
            expected = proportional(some)
        elif np.isnan(taus[1]).all():  # the fits have the level of the draws, or nearly so
            expected = np.zeros_like(some.own)
        else:
            # the tables' four digits do for a name
            expected = Yardsticks(fits, np.stack(taus), {}).difference_of_form(taus, self.order, chosen, TABULATED)
        known = ~np.isnan(expected).all(axis=1)
        found[chosen[known]] = patterns_of(_rows_of(some, np.flatnonzero(known)), expected[known])
        return found


_CATEGORIES = "categories"


def _rows_of(form: FormGap, chosen: NDArray[np.intp]) -> FormGap:
    """The gaps in form of some pairs, as far as patterns need them."""
    names = ("own", "target", "errors", "own_errors", "target_errors")
    return replace(form, **{name: getattr(form, name)[chosen] for name in names})


def _stacked(forms: Sequence[FormGap]) -> FormGap:
    """The gaps in form of several pairs as one record of arrays."""

    def column(values: Sequence[Any]) -> Any:
        if isinstance(values[0], StandardError):
            return StandardError(*(np.array([getattr(one, name) for one in values]) for name in ("se", "df", "n_eff")))
        return np.array(values)

    return FormGap(**{one.name: column([getattr(form, one.name) for form in forms]) for one in fields(FormGap)})
