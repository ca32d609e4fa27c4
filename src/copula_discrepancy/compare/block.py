"""One row of numbers for every pair of variables: all variables ranked once, pairs in parallel."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy.compare.rows import empty_rows
from copula_discrepancy.estimate.family_curves import corner_share_at, divergence_at, tau_bias_at
from copula_discrepancy.estimate.fit import Fit, fit_pair
from copula_discrepancy.estimate.influence import score_and_slopes
from copula_discrepancy.estimate.pair import FEWEST_FOR_SHAPE, TOO_DISCRETE, RankedPair, uneven_ties
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import TAIL_SHARE, edge_width
from copula_discrepancy.estimate.screening import gaussian, screened_fit
from copula_discrepancy.estimate.strength import TauSide, level_test
from copula_discrepancy.estimate.tails import CORNERS, HIGHS, Corner, CornerCount, Yardstick, is_tail, joint_pvalue, tail_gap
from copula_discrepancy.estimate.uncertainty import FEWEST_DRAWS, Spread
from copula_discrepancy.families import Copula, Gaussian

_UNKNOWN = Spread(math.nan, math.nan, math.nan)


class Part:
    """Some pairs of variables of one sample, counted together: first their taus, then, with their fits, their spreads."""

    def __init__(
        self, table: RankedTable, pairs: Sequence[tuple[int, int]], *, compare: bool, iid: bool, tail: float = TAIL_SHARE
    ) -> None:
        self.table, self.iid, self.tail_level = table, iid, tail
        self._n_chains = None if iid else table.n_chains
        self.first, self.second = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
        m, n = len(pairs), table.n
        self.influence = np.empty((m, n))
        t, places = table, (self.first, self.second)
        concordance = np.empty((m if compare else 0, n))
        taus = kernels.start_pairs(t.orders, t.ranks, t.ties, *places, self.influence, concordance)
        self.rhats = self._rhats(taus, concordance) if compare else np.full(m, math.nan)
        self.taus: list[float] = taus.tolist()
        self.fits: list[Fit | None] = [None] * m
        corners = m, len(CORNERS)
        self.scored, self.wanted = np.zeros(m, bool), np.zeros(corners, bool)
        self.score, self.in_u, self.in_v = np.empty((m, n)), np.empty((m, n)), np.empty((m, n))
        self.curvature, self.slope = np.full(m, -1.0), np.ones(m)
        self.shares, self.expected, self.expected_slope = np.empty((*corners, 2)), np.empty(corners), np.empty(corners)

    def _rhats(self, taus: NDArray[np.float64], concordance: NDArray[np.float64]) -> NDArray[np.float64]:
        """R-hat for dependence of each pair: chains are counted by the kernel that counts all draws, compiled but once."""
        t, several = self.table, range(self.table.n_chains if self.table.n_chains > 1 else 0)
        shape = len(taus) if several else 0, *t.chain_ranks.shape[1:]
        own, influence = np.empty(shape[:2]), np.empty(shape)
        if several:
            places = [np.add.outer(t.n_chains * variables, several).ravel() for variables in (self.first, self.second)]
            by_chain = (table.reshape(-1, shape[2]) for table in (t.chain_orders, t.chain_ranks))
            nothing, rows = np.empty((0, shape[2])), influence.reshape(-1, shape[2])
            own = kernels.start_pairs(*by_chain, t.chain_ties.ravel(), *places, rows, nothing).reshape(shape[:2])
        ties = t.chain_ties[self.first], t.chain_ties[self.second]
        rhats: NDArray[np.float64] = kernels.dependence_rhats(taus, concordance, own, influence, *ties)
        return rhats

    def pair(self, k: int) -> RankedPair:
        """What a fit starts from."""
        columns = self.table.columns
        i, j = int(self.first[k]), int(self.second[k])
        pair = RankedPair.from_ranks(columns[i], columns[j], self.table.n_chains, (str(i), str(j)))
        pair.__dict__["tau"] = self.taus[k]
        if not self.iid:
            pair.__dict__["margin_size"] = min(self.table.margin_sizes[i], self.table.margin_sizes[j])
        return pair

    def too_discrete(self, k: int) -> bool:
        """Whether a variable takes so few values that no likelihood of a copula describes it."""
        return self.tied_share(k) > TOO_DISCRETE

    def tied_share(self, k: int) -> float:
        """The share of pairs of draws that are tied, in the variable that has more of them."""
        t = self.table
        return max(int(t.ties[self.first[k]]), int(t.ties[self.second[k]])) / (0.5 * t.n * (t.n - 1.0))

    def bins(self, k: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Both variables' bins."""
        return self.table.bins[self.first[k]], self.table.bins[self.second[k]]

    def side(self, k: int) -> TauSide:
        """What the test of level needs."""
        i, j, t = int(self.first[k]), int(self.second[k]), self.table

        def rank_size() -> float:
            return float(kernels.spread(t.ranks[i].astype(np.float64), self._n_chains)[2])

        modes = int(t.modes[i]), int(t.modes[j])
        return TauSide.of(self.taus[k], self.spreads(k)["tau"], t.n, modes, self.influence[k], rank_size)

    def prepare(self, k: int, fitted: Fit, yardstick: Yardstick | None) -> None:
        """Take in a fit: its scores, and what is expected in the corners."""
        self.fits[k] = fitted
        if fitted.method == "mle" and fitted.regular:
            self.scored[k] = True
            self.score[k], self.in_u[k], self.in_v[k], self.curvature[k] = score_and_slopes(fitted.pair, fitted.copula)
            self.slope[k] = fitted.template._tau_slope(fitted.theta)
        if yardstick is None:
            return
        n, tau = self.table.n, self.taus[k]
        for end, corner in enumerate(CORNERS.values()):
            u, v = self._tail_shares(k, corner)
            if is_tail(u, self.tail_level) and is_tail(v, self.tail_level):
                self.wanted[k, end], self.shares[k, end] = True, (u, v)
                self.expected[k, end], self.expected_slope[k, end] = yardstick.expects(tau, corner, u, v, n, corner_share_at)

    def _tail_shares(self, k: int, corner: Corner) -> tuple[float, float]:
        """The shares of both variables inside their tails; without ties every variable has the same."""
        i, j, t = self.first[k], self.second[k], self.table
        if t.ties[i] or t.ties[j]:
            ends = (t.columns[i], corner.u_high), (t.columns[j], corner.v_high)
            u, v = (column.tail_share(high, self.tail_level) for column, high in ends)
            return u, v
        share = math.floor(self.tail_level * 2 * (t.n + 1) / 2.0) / t.n  # rounded as doubled ranks are compared in the kernel
        return share, share

    def finish(self) -> None:
        """Compute all spreads."""
        t = self.table
        spreads, joint = kernels.finish_pairs(
            t.orders, t.ranks, t.ties, self.first, self.second, self.influence, self.scored, self.score, self.in_u, self.in_v,
            self.curvature, self.slope, HIGHS, self.wanted, self.expected_slope, self._n_chains, self.tail_level,
            edge_width(t.n, self.tail_level),
        )  # fmt: skip
        self.joint: list[list[float]] = joint.tolist()
        self.found = [[Spread(*row) for row in rows] for rows in spreads.tolist()]

    def spreads(self, k: int) -> dict[str, Spread]:
        """Standard errors of tau, of the fitted tau and of their difference."""
        tau, implied, shape = self.found[k][:3]
        fitted = self.fits[k]
        if fitted is None or fitted.method == "moment":
            return {"tau": tau, "tau_fitted": tau if fitted is not None else implied, "shape": shape}
        return fitted.widened({"tau": tau, "tau_fitted": implied, "shape": shape})

    def corner(self, k: int, end: int) -> CornerCount | None:
        """A corner's draws."""
        if not self.wanted[k, end]:
            return None
        u, v = self.shares[k, end].tolist()
        return CornerCount(self.table.n, u, v, self.joint[k][end], float(self.expected[k, end]), self.found[k][3 + end])


@dataclass(frozen=True, eq=False)
class Sweep:
    """What every pair is compared with, and how.

    Attributes
    ----------
    draws, reference : RankedTable
        The draws; the reference sample, if there is one.
    targets : mapping from pair to Copula
        Known copulas, where there is no reference.
    template : Copula or None
        The family to fit with a reference, or without any target; None to choose one for every pair.
    compared : (bool, bool)
        Whether R-hat has something to compare in the draws, and in the reference.
    tail : float
        The share of a variable that makes a tail.
    """

    draws: RankedTable
    reference: RankedTable | None
    targets: Mapping[tuple[int, int], Copula]
    template: Copula | None
    estimate_df: bool
    method: str
    iid: bool
    compared: tuple[bool, bool]
    tail: float = TAIL_SHARE

    def rows(self, pairs: Sequence[tuple[int, int]]) -> NDArray[Any]:
        """Rows of several pairs; fits record their warnings and issue none."""
        rows = empty_rows(len(pairs))
        broken = [self._has_holes(*pair) for pair in pairs]
        whole = [k for k, hole in enumerate(broken) if not hole]
        if whole:
            rows[whole] = self._whole_rows([pairs[k] for k in whole])
        for k in (k for k, hole in enumerate(broken) if hole):
            rows[k] = self._row_of_complete(*pairs[k])
        return rows

    def _has_holes(self, i: int, j: int) -> bool:
        """Whether a value of one of two variables is missing."""
        return any(table is not None and (table.holes[i] or table.holes[j]) for table in (self.draws, self.reference))

    def _row_of_complete(self, i: int, j: int) -> Any:
        """The row of a pair from the draws that have both values; only their number where nothing varies in these."""
        row = empty_rows(1)
        row["first"], row["second"] = i, j
        tables = [None if table is None else table.of_pair(i, j) for table in (self.draws, self.reference)]
        row["n"] = self.draws.n_complete(i, j)
        row["n_target"] = math.nan if self.reference is None else self.reference.n_complete(i, j)
        enough = [table is not None and (self.iid or table.n >= FEWEST_DRAWS) for table in tables]
        if tables[0] is None or not enough[0] or (self.reference is not None and not enough[1]):
            return row[0]
        known = {(0, 1): self.targets[i, j]} if (i, j) in self.targets else {}
        found = replace(self, draws=tables[0], reference=tables[1], targets=known)._whole_rows([(0, 1)])
        found["first"], found["second"] = i, j
        return found[0]

    def _whole_rows(self, pairs: Sequence[tuple[int, int]]) -> NDArray[Any]:
        rows = empty_rows(len(pairs))
        own = Part(self.draws, pairs, compare=self.compared[0], iid=self.iid, tail=self.tail)
        other = (
            None
            if self.reference is None
            else Part(self.reference, pairs, compare=self.compared[1], iid=self.iid, tail=self.tail)
        )
        fits = []
        for k, place in enumerate(pairs):
            known = self.targets.get(place)
            fitted, reference = self._fits(own, other, k, known)
            taus = [own.taus[k]] if other is None else [own.taus[k], other.taus[k]]
            yardstick = Yardstick.of(fitted.template, taus, known)
            own.prepare(k, fitted, yardstick)
            if other is not None and reference is not None:
                other.prepare(k, reference, yardstick)
            fits.append((fitted, reference))
        for part in (own, other):
            if part is not None:
                part.finish()
        for k, (i, j) in enumerate(pairs):
            rows[k]["first"], rows[k]["second"] = i, j
            self._fill(rows[k], own, other, k, *fits[k], self.targets.get((i, j)))
        return rows

    def _fits(self, own: Part, other: Part | None, k: int, known: Copula | None) -> tuple[Fit, Fit | None]:
        """The draws' fit and the reference's."""
        pair = own.pair(k)
        if known is not None:
            return fit_pair(pair, known, method=self.method, iid=self.iid), None
        guide, part = (pair, own) if other is None else (other.pair(k), other)
        if self.template is not None:
            chosen = fit_pair(guide, self.template, method="mle", estimate_df=self.estimate_df, iid=self.iid)
        elif abs(guide.tau) == 1.0:
            chosen = fit_pair(guide, gaussian(), method="mle", iid=self.iid)
        else:
            chosen = screened_fit(guide, part.bins(k), (pair.tau, guide.tau), iid=self.iid, refine=other is None)
        if self.method == "moment" or chosen.df_estimated:
            # degrees of freedom stay at their estimate from here on, as in `discrepancy`
            chosen = fit_pair(guide, chosen.template, method=self.method, iid=self.iid)
        if other is None:
            return chosen, None
        fitted = fit_pair(pair, chosen.template, method=self.method, iid=self.iid)
        if self.template is None and not fitted.regular and chosen.regular and abs(pair.tau) < 1.0:
            # the reference's family cannot follow the draws; one that can still shows by how much they differ
            chosen = fit_pair(guide, gaussian(), method=self.method, iid=self.iid)
            fitted = fit_pair(pair, gaussian(), method=self.method, iid=self.iid)
        return fitted, chosen

    def _fill(
        self, row: Any, own: Part, other: Part | None, k: int, fitted: Fit, reference: Fit | None, known: Copula | None
    ) -> None:
        """Everything about one pair, as `discrepancy` has it."""
        row["n"], row["tau"], row["family"], row["rhat"] = own.table.n, own.taus[k], fitted.family, own.rhats[k]
        row["theta"], row["df"] = fitted.theta, math.nan if fitted.df is None else fitted.df
        if known is not None:
            row["tau_target"], row["theta_target"], row["tau_target_se"] = known.tau, known.theta, 0.0
        if other is not None and reference is not None:
            row["n_target"], row["tau_target"] = other.table.n, other.taus[k]
            row["theta_target"], row["rhat_target"] = reference.theta, other.rhats[k]
        self._fill_gaps(row, own, other, k, fitted, reference)
        gaps = []
        for end, name in enumerate(CORNERS):
            gap = tail_gap(own.corner(k, end), None if other is None else other.corner(k, end), compared=other is not None)
            gaps.append(gap)
            if gap is not None:
                row[name], row[name + "_se"], row[name + "_pvalue"] = gap.value, gap.spread.se, gap.pvalue
                row[name + "_share"], row[name + "_share_target"] = gap.share, gap.share_target
        row["tails_pvalue"] = joint_pvalue(gaps)
        target = known if reference is None else _member(reference)
        if target is not None and (self.method == "moment" or not math.isnan(row["total"])):
            row["ckl"] = _divergence(fitted, target)

    def _fill_gaps(self, row: Any, own: Part, other: Part | None, k: int, fitted: Fit, reference: Fit | None) -> None:
        """Level, shape and total with standard errors and p-values."""
        moment, tau, spreads = self.method == "moment", own.taus[k], own.spreads(k)
        row["n_eff"], row["tau_se"] = _smallest(spreads), spreads["tau"].se
        implied, bias = (tau, 0.0) if moment else (fitted.tau, _tau_bias(fitted, spreads))
        shape, aimed = implied - tau, float(row["tau_target"])
        mine, theirs = own.side(k), None
        if math.isnan(row["n_eff"]):  # perfect dependence: no draw moves tau, and yet only so many say so
            row["n_eff"] = min(mine.rank_size(), own.table.n)
        if other is not None and reference is not None:
            there, their_tau, theirs = other.spreads(k), other.taus[k], other.side(k)
            row["n_eff_target"], row["tau_target_se"] = _smallest(there), there["tau"].se
            if math.isnan(row["n_eff_target"]):
                row["n_eff_target"] = min(theirs.rank_size(), other.table.n)
            aimed = their_tau if moment else reference.tau
            shape -= aimed - their_tau
            bias -= 0.0 if moment else _tau_bias(reference, there)
            # a perfect sample has no shape: that of the other one alone is no difference of two
            spreads = {name: spreads[name].plus(there[name]) for name in ("tau_fitted", "shape")}
        if not math.isnan(row["tau_target"]):
            level = level_test(mine, theirs, float(row["tau_target"]))
            row["level"], row["level_se"] = tau - float(row["tau_target"]), level.spread.se
            row["level_pvalue"] = level.pvalue
        parts = [part for part in (own, other) if part is not None]
        if not moment and (any(part.too_discrete(k) for part in parts) or _uneven(own, other, k)):
            return
        enough = min(part.table.n for part in parts) >= FEWEST_FOR_SHAPE or moment
        values = {
            "shape": (shape, _UNKNOWN if moment else spreads["shape"]),
            "total": (implied - aimed, spreads["tau_fitted"]),
        }
        for name, (value, spread) in values.items():
            if not math.isnan(value):
                row[name], row[name + "_se"] = value, spread.se
                row[name + "_pvalue"] = spread.pvalue(value - bias) if math.isfinite(bias) and enough else math.nan


def _uneven(own: Part, other: Part | None, k: int) -> bool:
    """Whether samples of very different size have so many ties that what these do to a likelihood does not cancel."""
    if other is None:
        return False
    return uneven_ties(own.table.n, own.tied_share(k), other.table.n, other.tied_share(k))


def _smallest(spreads: Mapping[str, Spread]) -> float:
    return min((spread.n_eff for spread in spreads.values() if math.isfinite(spread.n_eff)), default=math.nan)


def _tau_bias(fitted: Fit, spreads: Mapping[str, Spread]) -> float:
    """`Fit.tau_bias`, interpolated."""
    if not fitted.regular:
        return 0.0
    n_eff = spreads["shape"].n_eff
    bias = tau_bias_at(fitted.template, fitted.tau, fitted.n, n_eff if math.isfinite(n_eff) else float(fitted.n))
    # ranks cannot resolve so strong a dependence: a correction of first order is then none
    return fitted.with_blocks(bias) if abs(bias) <= spreads["tau_fitted"].se else math.nan


def _member(fitted: Fit) -> Copula | None:
    """The fitted copula, unless it is a limit without a density."""
    inner = fitted.on_bound == "lower" and fitted.template.parameter.lower_included
    return fitted.copula if (fitted.on_bound is None or inner) and math.isfinite(fitted.theta) else None


def _divergence(own: Fit, target: Copula) -> float:
    """CKL without notes: a quadrature that ends early is far more accurate than a gap is known."""
    if _member(own) is None:
        return math.inf
    if own.df_on_bound == "lower":
        return math.nan
    if isinstance(target, Gaussian) and isinstance(own.template, Gaussian):
        return own.copula._kl(target).value  # a closed form
    if own.regular and own.template._margin_key == target._margin_key:
        return divergence_at(own.template, own.tau, target.tau)
    return own.copula._kl(target).value
