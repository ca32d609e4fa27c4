"""The families that pairs of variables are compared with, fitted to draws and reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.fit import fit_at
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.fits import Fits, fits_of
from copula_discrepancy.estimate.jackknife import LeftOut
from copula_discrepancy.estimate.pair_block import PairBlock
from copula_discrepancy.estimate.screening import SCREENED, gaussian
from copula_discrepancy.estimate.selection import Selection, Selector
from copula_discrepancy.families import Copula


@dataclass(frozen=True, eq=False)
class Found:
    """A pair that was compared before: its row, `LeftOut` of draws and reference, and whether df was estimated."""

    row: Any
    blocks: NDArray[np.float64]
    df_estimated: bool


@dataclass(frozen=True, eq=False)
class BothFits:
    """The fits of pairs.

    Attributes
    ----------
    own, reference : Fits
        The families fitted to the draws and, if there is one, to the reference.
    choice : Fits or None
        The fits that determined the families or their degrees of freedom.
    selections : list of Selection, or None
        The rankings of families, if all were compared.
    """

    own: Fits
    reference: Fits | None = None
    choice: Fits | None = None
    selections: list[Selection | None] | None = None

    def choice_of(self, k: int) -> Fit | None:
        """The fit that determined the family of one pair."""
        return None if self.choice is None else self.choice.at(k)

    def selection_of(self, k: int) -> Selection | None:
        """The ranking of families for one pair."""
        return None if self.selections is None else self.selections[k]


@dataclass(frozen=True)
class Fitting:
    """How families are chosen and fitted.

    Attributes
    ----------
    template : Copula or None
        The family to fit with a reference or without any target; None to choose one for every pair.
    estimate_df : bool
        Whether its degrees of freedom, or those of a known target, are estimated.
    method : {"mle", "moment"}
        How families are fitted.
    selector : Selector
        How families are chosen.
    found : Found or None
        What is known of the one pair that is asked for, where it was compared before: nothing is fitted again.
    """

    template: Copula | None
    estimate_df: bool
    method: str
    selector: Selector = SCREENED
    found: Found | None = None

    def fits(
        self, own: PairBlock, other: PairBlock | None, targets: Mapping[int, Copula], coded: NDArray[np.bool_]
    ) -> BothFits:
        """The fits to both samples; the reference determines families and their degrees of freedom.

        Parameters
        ----------
        own, other : Block or CountedBlock
            The pairs of the draws, and of the reference.
        targets : mapping from int to Copula
            Known copulas, by the number of the pair.
        coded : array of bool
            Pairs of columns with levels, which no family describes: unless everything is asked for, the normal one stands for
            it.
        """
        if self.found is not None:
            return self._as_found(own, other, targets)
        if targets:
            return self._known(own, targets)
        guide, every = own if other is None else other, np.arange(own.taus.size)
        stand_in = coded & (other is not None and self.template is None and self.selector is SCREENED)
        if stand_in.any():
            if not stand_in.all():
                raise ValueError("pairs of columns with levels are compared apart from others")
            assert other is not None
            mine, theirs = Fits(own, "moment"), Fits(other, "moment")
            for fits in (mine, theirs):
                fits.fit(every, gaussian())
            return BothFits(mine, theirs, theirs)
        selections = None
        if self.template is not None:
            choice = Fits(guide, "mle")
            choice.fit(every, self.template, estimate_df=self.estimate_df)
        else:
            choice, selections = self.selector.choose(guide, None if other is None else own)
        chosen = choice
        if self.method == "moment" or choice.df_estimated.any():  # degrees of freedom keep their estimate from here on
            chosen = self._refitted(guide, choice)
        if other is None:
            return BothFits(chosen, None, choice, selections)
        fitted = self._refitted(own, chosen)
        instead = self.selector.instead(chosen, fitted) if self.template is None else every[:0]
        if instead.size:
            # the choice stays what it was
            chosen, kept = Fits(guide, self.method), chosen
            chosen.take(every, kept)
            chosen.fit(instead, gaussian())
            fitted.fit(instead, gaussian())
        return BothFits(fitted, chosen, choice, selections)

    def _refitted(self, block: PairBlock, chosen: Fits) -> Fits:
        """The chosen families fitted to a block by the method asked for."""
        fits = Fits(block, self.method)
        for template, members in chosen.families():
            fits.fit(members, template)
        if block is chosen.block and self.method == "mle":  # only fits with estimated degrees of freedom are made again
            fits.take(np.flatnonzero(~chosen.df_estimated), chosen)
        return fits

    def _known(self, own: PairBlock, targets: Mapping[int, Copula]) -> BothFits:
        fits = Fits(own, self.method)
        groups: dict[Any, tuple[Copula, list[int]]] = {}
        for k, target in targets.items():
            groups.setdefault(target._margin_key, (target, []))[1].append(k)
        for target, members in groups.values():
            fits.fit(np.array(members, np.intp), target, estimate_df=self.estimate_df)
        return BothFits(fits)

    def _as_found(self, own: PairBlock, other: PairBlock | None, targets: Mapping[int, Copula]) -> BothFits:
        assert self.found is not None
        template = targets.get(0) or self.template
        assert template is not None
        row, ends = self.found.row, ("theta", "theta_target")
        fits = []
        for block, end, numbers in zip((own, other), ends, self.found.blocks, strict=True):
            if block is not None:
                left_out = LeftOut.known(numbers)
                fitted = fit_at(block.pair(0), template, float(row[end]), left_out, method=self.method, iid=block.iid)
                fits.append(fits_of(block, [fitted]))
        return BothFits(fits[0], fits[1] if len(fits) > 1 else None)
