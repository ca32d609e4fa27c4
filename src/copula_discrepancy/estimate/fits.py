"""Fits of families to many pairs of variables of one sample: arrays, from which the `Fit` of one pair can be made."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.counted_block import CountedBlock
from copula_discrepancy.estimate.fit import fit_pair, result_of
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.jackknife import LeftOut, leave_out_blocks
from copula_discrepancy.estimate.likelihood import (
    END,
    INSIDE,
    LOWER,
    UPPER,
    Maximum,
    moment_thetas,
    perfect_bounds,
    student_part,
)
from copula_discrepancy.estimate.pair_block import PairBlock
from copula_discrepancy.estimate.ranked_pairs import Places
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.families import Copula

_CODES = {name: code for code, name in END.items()}


class Fits:
    """The fits of all pairs of a block; every pair may have a family of its own.

    Parameters
    ----------
    block : Block or CountedBlock
        The pairs.
    method : {"mle", "moment"}
        How they are fitted.

    Attributes
    ----------
    templates : list of Copula
        The families, and `which` of them each pair has; -1 before a fit was put in.
    theta, tau, log_likelihood, tau_error : array (pair,)
        As in `Fit`.
    iterations, converged : array (pair,)
        As in `Fit`.
    bounds, df_bounds : array (pair,)
        Where theta and, for Student t copulas, its estimated df are: `LOWER`, `INSIDE` or `UPPER`.
    df, df_estimated
        The degrees of freedom, NaN for other families, and whether they were estimated.
    singles : dict
        Fits that were made one by one.
    """

    def __init__(self, block: PairBlock, method: str) -> None:
        m = block.taus.size
        self.block, self.method = block, method
        self.templates: list[Copula] = []
        self.which = np.full(m, -1, np.intp)
        self.theta, self.tau, self.log_likelihood = (np.full(m, math.nan) for _ in range(3))
        self.tau_error, self.df, self.iterations = np.zeros(m), np.full(m, math.nan), np.zeros(m, np.int64)
        self.converged, self.df_estimated = np.ones(m, bool), np.zeros(m, bool)
        self.bounds, self.df_bounds = np.zeros(m, np.int8), np.zeros(m, np.int8)
        self.singles: dict[int, Fit] = {}

    # ---- fitting ---------------------------------------------------------------------------------------------------

    def fit(self, chosen: Places, template: Copula, *, estimate_df: bool = False) -> None:
        """Fit a family to some of the pairs."""
        if estimate_df or self.block.uniform:
            for k in chosen.tolist():
                pair = self.block.pair(k)
                self.put(k, fit_pair(pair, template, method=self.method, estimate_df=estimate_df, iid=self.block.iid))
            return
        taus, inner = self.block.taus[chosen], student_part(template)
        self._assign(chosen, template)
        self.df[chosen] = math.nan if inner is None else inner.df
        limits = perfect_bounds(template, np.where(np.abs(taus) == 1.0, taus, 0.0))
        perfect, domain = limits != INSIDE, template.parameter
        at = chosen[perfect]
        self.bounds[at], self.converged[at] = limits[perfect], True
        self.theta[at] = np.where(limits[perfect] == UPPER, domain.upper, domain.lower)
        self.log_likelihood[at] = math.inf if self.method == "mle" else math.nan
        at = chosen[~perfect]
        if self.method == "moment":
            self.theta[at], self.bounds[at] = moment_thetas(template, taus[~perfect])
            self.log_likelihood[at], self.converged[at] = math.nan, True
        elif at.size:
            found = self.block.maxima(at, template)
            self.theta[at], self.bounds[at], self.log_likelihood[at] = found.theta, found.bounds, found.log_likelihood
            self.iterations[at], self.converged[at], self.tau_error[at] = found.iterations, found.converged, found.tau_error
        inside = chosen[self.bounds[chosen] == INSIDE]
        self.tau[inside] = template._taus(self.theta[inside])
        for code in (LOWER, UPPER):
            self.tau[chosen[self.bounds[chosen] == code]] = template._tau_at(str(END[code]))

    def put(self, k: int, fitted: Fit) -> None:
        """A fit that was made by itself."""
        self._assign(np.array([k]), fitted.template)
        self.theta[k], self.tau[k], self.log_likelihood[k] = fitted.theta, fitted.tau, fitted.log_likelihood
        self.tau_error[k], self.iterations[k], self.converged[k] = fitted.tau_error, fitted.iterations, fitted.converged
        self.bounds[k], self.df_bounds[k] = _CODES[fitted.on_bound], _CODES[fitted.df_on_bound]
        self.df[k], self.df_estimated[k] = math.nan if fitted.df is None else fitted.df, fitted.df_estimated
        self.singles[k] = fitted

    def take(self, chosen: Places, other: "Fits") -> None:
        """Take the fits of some pairs from others of the same block."""
        for name in ("theta", "tau", "log_likelihood", "tau_error", "iterations", "converged", "bounds", "df_bounds", "df",
                     "df_estimated"):  # fmt: skip
            getattr(self, name)[chosen] = getattr(other, name)[chosen]
        for template, members in other.families(chosen):
            self._assign(members, template)
        self.singles |= {k: other.singles[k] for k in chosen.tolist() if k in other.singles}

    def _assign(self, chosen: Places, template: Copula) -> None:
        """Note which family some pairs have; theta does not matter."""
        known = next((k for k, other in enumerate(self.templates) if other._margin_key == template._margin_key), None)
        if known is None:
            self.templates.append(template)
            known = len(self.templates) - 1
        self.which[chosen] = known
        for k in chosen.tolist() if self.singles else ():
            self.singles.pop(k, None)

    # ---- reading ---------------------------------------------------------------------------------------------------

    def families(self, chosen: Places | None = None) -> Iterator[tuple[Copula, Places]]:
        """Each family with those of the chosen pairs, or of all, that have it."""
        which = self.which if chosen is None else self.which[chosen]
        for k, template in enumerate(self.templates):
            members = np.flatnonzero(which == k)
            if members.size:
                yield template, members if chosen is None else chosen[members]

    @property
    def regular(self) -> NDArray[np.bool_]:
        """Whether each theta lies inside its domain at a maximum, so that its estimate has a normal limit."""
        inside = (self.bounds == INSIDE) & (self.df_bounds != LOWER)  # with such a small df, a t copula is degenerate
        return inside & self.converged & np.isfinite(self.theta) & (self.which >= 0)

    def at(self, k: int) -> Fit:
        """The fit of one pair."""
        if k in self.singles:
            return self.singles[k]
        numbers = float(self.theta[k]), float(self.log_likelihood[k]), int(self.iterations[k]), bool(self.converged[k])
        outcome = Maximum(*numbers, END[int(self.bounds[k])], 0.0, float(self.tau_error[k]))
        return result_of(self.block.pair(k), self.templates[self.which[k]], self.method, outcome, self.block.iid)

    # ---- standard errors -------------------------------------------------------------------------------------------

    def add_scores(self) -> None:
        """Add the scores of all fits with a normal limit to the block."""
        if self.method != "mle":
            return
        free = {k for k in self.singles if self.df_estimated[k] and self.df_bounds[k] == INSIDE}
        for template, members in self.families(np.flatnonzero(self.regular)):
            alone = np.array([k in free for k in members.tolist()], bool) if free else np.zeros(members.size, bool)
            for k in members[alone].tolist():
                self.singles[k].score_in(self.block, k)
            rest = members[~alone]
            if rest.size:
                thetas = self.theta[rest]
                self.block.add_scores(rest, template, thetas, template._tau_slopes(thetas), self.tau_error[rest])

    def left_out(self) -> LeftOut:
        """Results of the block jackknife, for chains whose margins mix slowly; otherwise NaN."""
        found = LeftOut.none(self.theta.size)
        block: Any = self.block
        if self.method == "moment" or isinstance(block, CountedBlock) or block.iid or block.uniform:
            return found
        slow = block.slow
        slow = slow[self.regular[slow] & (np.abs(block.taus[slow]) < 1.0)]
        known = [k for k in slow.tolist() if k in self.singles and self.singles[k].known_left_out]
        slow = np.setdiff1d(slow, np.array(known, np.intp))
        for template, members in self.families(slow):
            thetas, taus = self.theta[members], self.tau[members]
            parts = leave_out_blocks(block, members, template, thetas, taus, block.margin_sizes, block.table.n_chains)
            for column, values in zip(found.numbers, parts.numbers, strict=True):
                column[members] = values
        for k in known:
            left_out = self.singles[k].left_out
            for column, value in zip(found.numbers, () if left_out is None else left_out.numbers, strict=False):
                column[k] = value
        return found

    def spreads(self, left_out: LeftOut) -> dict[str, StandardError]:
        """Standard errors of "tau", "tau_fitted" and "shape" from the finished block, widened if second-order terms matter."""
        spreads = self.block.spreads
        if self.method == "moment":
            return spreads | {"tau_fitted": spreads["tau"]}
        return spreads | {
            "tau_fitted": left_out.widened(spreads["tau_fitted"], left_out.tau_fitted_se),
            "shape": left_out.widened(spreads["shape"], left_out.shape_se),
        }


def fits_of(block: PairBlock, fits: Sequence[Fit]) -> Fits:
    """Fits of all pairs of a block that were made one by one."""
    found = Fits(block, fits[0].method)
    for k, fitted in enumerate(fits):
        found.put(k, fitted)
    return found
