"""One row of numbers for every pair of variables: all variables ranked once, pairs in parallel."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy import _kernels
from copula_discrepancy._lazy import lazy
from copula_discrepancy.draws import Draws
from copula_discrepancy.families import Copula, Gaussian
from copula_discrepancy.families._quadrature import collected_notes
from copula_discrepancy.fitting import Fit, fit_pair
from copula_discrepancy.inference import Spread
from copula_discrepancy.influence import score_and_slopes
from copula_discrepancy.pairs import TOO_DISCRETE, RankedPair
from copula_discrepancy.ranks import TAIL_SHARE, RankedColumn, edge_width, rank_column
from copula_discrepancy.screening import binned, gaussian, screened_fit
from copula_discrepancy.tabulated import corner_share_at, divergence_at, tau_bias_at
from copula_discrepancy.tails import FEWEST_IN_TAIL, Corner, corners, reachable

GAPS = ("level", "shape", "total")
TAILS = ("lower_tail", "upper_tail")
ROW = np.dtype(
    [
        ("first", np.int32), ("second", np.int32), ("tau", float), ("tau_target", float),
        *[(name + part, float) for name in GAPS for part in ("", "_se", "_pvalue")],
        *[(name + part, float) for name in TAILS for part in ("", "_se")],
        ("ckl", float), ("n_eff", float), ("n_eff_target", float), ("rhat", float), ("rhat_target", float),
        ("theta", float), ("theta_target", float), ("df", float), ("family", "U16"),
    ]
)  # fmt: skip
_NEIGHBOURS = 3  # other variables looked at to tell repeated points from rounded values
_UNKNOWN = Spread(math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class RankedTable:
    """All variables of a sample as ranks: all draws together, (variable, draw), and in each chain, (variable, chain, draw)."""

    orders: NDArray[np.int32]
    ranks: NDArray[np.int32]
    ties: NDArray[np.int64]
    chain_orders: NDArray[np.int32]
    chain_ranks: NDArray[np.int32]
    chain_ties: NDArray[np.int64]
    bins: NDArray[np.uint8]

    @classmethod
    def of(cls, draws: Draws) -> "RankedTable":
        """Rank the draws."""
        d, n_chains, n_draws = draws.n_variables, draws.n_chains, draws.n_draws
        whole, parts = (d, n_chains * n_draws), (d, n_chains, n_draws)
        orders, ranks, ties = np.empty(whole, np.int32), np.empty(whole, np.int32), np.empty(d, np.int64)
        chain_orders, chain_ranks = np.empty(parts, np.int32), np.empty(parts, np.int32)
        chain_ties, bins = np.empty(parts[:2], np.int64), np.empty(whole, np.uint8)
        for k in range(d):
            values = draws.column(k)
            column = rank_column(values)
            orders[k], ranks[k], ties[k], bins[k] = column.order, column.rank, column.tied_pairs, binned(column)
            for c, chain in enumerate(values.reshape(n_chains, -1)):
                found = column if n_chains == 1 else rank_column(chain)
                chain_orders[k, c], chain_ranks[k, c], chain_ties[k, c] = found.order, found.rank, found.tied_pairs
        return cls(orders, ranks, ties, chain_orders, chain_ranks, chain_ties, bins)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.chain_ties.shape[1]

    @property
    def n(self) -> int:
        """Number of draws."""
        return self.ranks.shape[1]

    @lazy
    def tied_shares(self) -> list[float]:
        """Share of pairs of draws tied in each variable, less those tied in others too, as in a chain that repeats points."""
        d, every = len(self.ties), 0.5 * self.n * (self.n - 1.0)
        shares = []
        for k, tied in enumerate(self.ties.tolist()):
            others = [j % d for j in range(k + 1, k + 1 + min(d - 1, _NEIGHBOURS))] if tied else []
            pairs = [RankedPair.from_ranks(self.columns[k], self.columns[j], 1, ("", "")) for j in others]
            shares.append((tied - min((pair.tied_in_both() for pair in pairs), default=0)) / every)
        return shares

    @lazy
    def columns(self) -> tuple[RankedColumn, ...]:
        """The variables one by one."""
        return tuple(RankedColumn(*column) for column in zip(self.orders, self.ranks, self.ties.tolist(), strict=True))


class Part:
    """Some pairs of variables of one sample, counted together: first their taus, then, with their fits, their spreads."""

    def __init__(self, table: RankedTable, pairs: Sequence[tuple[int, int]], *, compare: bool, iid: bool) -> None:
        self.table, self._n_chains = table, None if iid else table.n_chains
        self.first, self.second = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
        m, n = len(pairs), table.n
        self.influence = np.empty((m, n))
        t, places = table, (self.first, self.second)
        concordance = np.empty((m if compare else 0, n))
        taus = _kernels.start_pairs(t.orders, t.ranks, t.ties, *places, self.influence, concordance)
        self.rhats = self._rhats(taus, concordance) if compare else np.full(m, math.nan)
        self.taus: list[float] = taus.tolist()
        self.methods = [""] * m
        self.scored, self.wanted, self.highs = np.zeros(m, bool), np.zeros((m, 2), bool), np.zeros((m, 2, 2), bool)
        self.score, self.in_u, self.in_v = np.empty((m, n)), np.empty((m, n)), np.empty((m, n))
        self.curvature, self.slope = np.full(m, -1.0), np.ones(m)
        self.shares, self.expected, self.expected_slope = np.empty((m, 2)), np.empty((m, 2)), np.empty((m, 2))

    def _rhats(self, taus: NDArray[np.float64], concordance: NDArray[np.float64]) -> NDArray[np.float64]:
        """R-hat for dependence of each pair: chains are counted by the kernel that counts all draws, compiled but once."""
        t, several = self.table, range(self.table.n_chains if self.table.n_chains > 1 else 0)
        shape = len(taus) if several else 0, *t.chain_ranks.shape[1:]
        own, influence = np.empty(shape[:2]), np.empty(shape)
        if several:
            places = [np.add.outer(t.n_chains * variables, several).ravel() for variables in (self.first, self.second)]
            by_chain = (table.reshape(-1, shape[2]) for table in (t.chain_orders, t.chain_ranks))
            nothing, rows = np.empty((0, shape[2])), influence.reshape(-1, shape[2])
            own = _kernels.start_pairs(*by_chain, t.chain_ties.ravel(), *places, rows, nothing).reshape(shape[:2])
        ties = t.chain_ties[self.first], t.chain_ties[self.second]
        rhats: NDArray[np.float64] = _kernels.dependence_rhats(taus, concordance, own, influence, *ties)
        return rhats

    def pair(self, k: int) -> RankedPair:
        """What a fit starts from."""
        columns = self.table.columns
        i, j = int(self.first[k]), int(self.second[k])
        pair = RankedPair.from_ranks(columns[i], columns[j], self.table.n_chains, (str(i), str(j)))
        pair.__dict__["tau"] = self.taus[k]
        return pair

    def too_discrete(self, k: int) -> bool:
        """Whether a variable takes so few values that no likelihood of a copula describes it."""
        t = self.table
        return max(int(t.ties[self.first[k]]), int(t.ties[self.second[k]])) > TOO_DISCRETE * 0.5 * t.n * (t.n - 1.0)

    def bins(self, k: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Both variables' bins."""
        return self.table.bins[self.first[k]], self.table.bins[self.second[k]]

    def chance_of_perfection(self, k: int, tau: float) -> float:
        """At most how likely draws of a copula with this tau are as perfectly dependent as these.

        Half as many pairs of draws as there are independent draws would all have to be concordant (or discordant).
        """
        ranks = self.table.ranks[self.first[k]].astype(np.float64)
        n_eff = _kernels.spread(ranks, self._n_chains)[2]
        return float((0.5 * (1.0 + self.taus[k] * tau)) ** (min(n_eff, self.table.n) // 2))

    def prepare(self, k: int, fitted: Fit, corners: Sequence[Corner]) -> None:
        """Take in a fit: its scores, and what its family expects in the corners."""
        self.methods[k] = fitted.method
        if fitted.method == "mle" and fitted.regular:
            self.scored[k] = True
            self.score[k], self.in_u[k], self.in_v[k], self.curvature[k] = score_and_slopes(fitted.pair, fitted.copula)
            self.slope[k] = fitted.template._tau_slope(fitted.theta)
        if not reachable(fitted.template, self.taus[k]):
            return
        n = self.table.n
        for end, corner in enumerate(corners):
            u, v = self._tail_shares(k, corner)
            if not (0.0 < u < 1.0 and 0.0 < v < 1.0):
                continue
            expected, slope = corner_share_at(fitted.template, self.taus[k], corner, u, v, n)
            if n * min(expected, max(u, v) - expected) < FEWEST_IN_TAIL:
                continue
            self.wanted[k, end], self.highs[k, end] = True, (corner.u_high, corner.v_high)
            self.shares[k, end], self.expected[k, end], self.expected_slope[k, end] = u, expected, slope

    def _tail_shares(self, k: int, corner: Corner) -> tuple[float, float]:
        """The shares of both variables inside their tails; without ties every variable has the same."""
        i, j, t = self.first[k], self.second[k], self.table
        if t.ties[i] or t.ties[j]:
            found = _kernels.tail_shares(
                t.ranks[i], t.ties[i], corner.u_high, t.ranks[j], t.ties[j], corner.v_high, TAIL_SHARE, edge_width(t.n)
            )
            return float(found[0]), float(found[1])
        share = math.floor(TAIL_SHARE * 2 * (t.n + 1) / 2.0) / t.n  # rounded as doubled ranks are compared in the kernel
        return share, share

    def finish(self) -> None:
        """Compute all spreads."""
        t = self.table
        spreads, self.joint = _kernels.finish_pairs(
            t.orders, t.ranks, t.ties, self.first, self.second, self.influence, self.scored, self.score, self.in_u, self.in_v,
            self.curvature, self.slope, self.highs, self.wanted, self.expected_slope, self._n_chains, TAIL_SHARE,
            edge_width(t.n),
        )  # fmt: skip
        self.found = [[Spread(*row) for row in rows] for rows in spreads.tolist()]

    def spreads(self, k: int) -> dict[str, Spread]:
        """Standard errors of tau, of the fitted tau and of their difference."""
        tau, fitted, shape = self.found[k][:3]
        return {"tau": tau, "tau_fitted": tau if self.methods[k] == "moment" else fitted, "shape": shape}

    def tail(self, k: int, end: int) -> tuple[float, Spread] | None:
        """A tail gap and its spread."""
        if not self.wanted[k, end]:
            return None
        return float((self.joint[k, end] - self.expected[k, end]) / self.shares[k, end]), self.found[k][3 + end]


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
    """

    draws: RankedTable
    reference: RankedTable | None
    targets: Mapping[tuple[int, int], Copula]
    template: Copula | None
    estimate_df: bool
    method: str
    iid: bool
    compared: tuple[bool, bool]

    def rows(self, pairs: Sequence[tuple[int, int]]) -> NDArray[Any]:
        """Rows of several pairs; fits record their warnings and issue none."""
        rows = empty_rows(len(pairs))
        own = Part(self.draws, pairs, compare=self.compared[0], iid=self.iid)
        other = None if self.reference is None else Part(self.reference, pairs, compare=self.compared[1], iid=self.iid)
        fits = []
        with collected_notes():  # quadratures that end early are far more exact than a gap is known
            for k, place in enumerate(pairs):
                known = self.targets.get(place)
                fitted, reference = self._fits(own, other, k, known)
                aimed = other.taus[k] if other is not None else 0.0 if known is None else known.tau
                ends = corners(own.taus[k], aimed)
                own.prepare(k, fitted, ends)
                if other is not None and reference is not None:
                    other.prepare(k, reference, ends)
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
        row["tau"], row["family"], row["rhat"] = own.taus[k], fitted.family, own.rhats[k]
        row["theta"], row["df"] = fitted.theta, math.nan if fitted.df is None else fitted.df
        if known is not None:
            row["tau_target"], row["theta_target"] = known.tau, known.theta
        if other is not None and reference is not None:
            row["tau_target"], row["theta_target"], row["rhat_target"] = other.taus[k], reference.theta, other.rhats[k]
        self._fill_gaps(row, own, other, k, fitted, reference)
        for end, name in enumerate(TAILS):
            mine, theirs = own.tail(k, end), (0.0, None) if other is None else other.tail(k, end)
            if mine is not None and theirs is not None:
                row[name], row[name + "_se"] = mine[0] - theirs[0], mine[1].plus(theirs[1]).se
        target = known if reference is None else _member(reference)
        if target is not None and (self.method == "moment" or not math.isnan(row["total"])):
            row["ckl"] = _divergence(fitted, target)

    def _fill_gaps(self, row: Any, own: Part, other: Part | None, k: int, fitted: Fit, reference: Fit | None) -> None:
        """Level, shape and total with standard errors and p-values."""
        moment, tau, spreads = self.method == "moment", own.taus[k], own.spreads(k)
        row["n_eff"] = _smallest(spreads)
        implied, bias = (tau, 0.0) if moment else (fitted.tau, _tau_bias(fitted, spreads))
        shape, aimed = implied - tau, float(row["tau_target"])
        if other is not None and reference is not None:
            theirs, their_tau = other.spreads(k), other.taus[k]
            row["n_eff_target"] = _smallest(theirs)
            aimed = their_tau if moment else reference.tau
            shape -= aimed - their_tau
            bias -= 0.0 if moment else _tau_bias(reference, theirs)
            # tau of a sample has no standard error only where every draw says the same about it
            same = math.isnan(spreads["tau"].se), math.isnan(theirs["tau"].se)
            spreads = {name: _added(spreads[name], theirs[name], *same) for name in spreads}
        values = {
            "level": (tau - float(row["tau_target"]), spreads["tau"], 0.0),
            "shape": (shape, _UNKNOWN if moment else spreads["shape"], bias),
            "total": (implied - aimed, spreads["tau_fitted"], bias),
        }
        unfit = any(part is not None and part.too_discrete(k) for part in (own, other)) and not moment
        for name, (value, spread, off) in values.items():
            if not math.isnan(value) and (name == "level" or not unfit):
                row[name], row[name + "_se"], row[name + "_pvalue"] = value, spread.se, spread.pvalue(value - off)
        if abs(row["level"]) > 0.0:
            self._allow_for_perfection(row, own, other, k)

    def _allow_for_perfection(self, row: Any, own: Part, other: Part | None, k: int) -> None:
        """Few draws are perfectly dependent by chance: the level's p-value is at least how likely that is."""
        taus = own.taus[k], float(row["tau_target"])
        if abs(taus[0]) < 1.0 and (other is None or abs(taus[1]) < 1.0):
            return
        reach = 0.0 if math.isnan(row["level_se"]) else 2.0 * float(row["level_se"])
        parts = [own] if other is None else [own, other]
        perfect = [(part, taus[1 - side], taus[side]) for side, part in enumerate(parts) if abs(taus[side]) == 1.0]
        chance = 1.0
        for part, aim, sign in perfect:
            # the other side's tau within its error; where that is perfect too, nothing is known of it
            near = 0.0 if len(perfect) > 1 else min(max(aim + reach * sign, -1.0), 1.0)
            chance *= part.chance_of_perfection(k, near)
        known = 0.0 if math.isnan(row["level_pvalue"]) else float(row["level_pvalue"])
        row["level_pvalue"] = max(known, min(len(perfect) * chance, 1.0))


def empty_rows(count: int) -> NDArray[Any]:
    """Rows about which nothing is known yet."""
    return _EMPTY[np.zeros(count, np.intp)]  # np.repeat of a shared array is not safe in threads before NumPy 2.1


_EMPTY = np.zeros(1, ROW)
for _name in ROW.names or ():
    if ROW[_name].kind == "f":
        _EMPTY[_name] = math.nan


def _smallest(spreads: Mapping[str, Spread]) -> float:
    return min((spread.n_eff for spread in spreads.values() if math.isfinite(spread.n_eff)), default=math.nan)


def _added(own: Spread, other: Spread, same_here: bool, same_there: bool) -> Spread:
    """Variances add; draws that all say the same, as perfectly dependent ones, add nothing."""
    if same_there and not math.isnan(own.se):
        return own
    if same_here and not math.isnan(other.se):
        return other
    return own.plus(other)


def _tau_bias(fitted: Fit, spreads: Mapping[str, Spread]) -> float:
    """`Fit.tau_bias`, interpolated."""
    if not fitted.regular:
        return 0.0
    n_eff = spreads["shape"].n_eff
    bias = tau_bias_at(fitted.template, fitted.tau, fitted.n, n_eff if math.isfinite(n_eff) else float(fitted.n))
    return bias if abs(bias) <= spreads["tau_fitted"].se else 0.0


def _member(fitted: Fit) -> Copula | None:
    """The fitted copula, unless it is a limit without a density."""
    inner = fitted.on_bound == "lower" and fitted.template.parameter.lower_included
    return fitted.copula if (fitted.on_bound is None or inner) and math.isfinite(fitted.theta) else None


def _divergence(own: Fit, target: Copula) -> float:
    if _member(own) is None:
        return math.inf
    if own.df_on_bound == "lower":
        return math.nan
    if isinstance(target, Gaussian) and isinstance(own.template, Gaussian):
        return own.copula._exact_kl(target)  # a closed form
    if own.regular and own.template._margin_key == target._margin_key:
        return divergence_at(own.template, own.tau, target.tau)
    return own.copula.kl(target)
