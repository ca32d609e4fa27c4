"""One row of numbers for every pair of variables: all variables ranked once, pairs in parallel."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy import _kernels
from copula_discrepancy._lazy import lazy
from copula_discrepancy._parallel import Silence, silenced
from copula_discrepancy.draws import Draws
from copula_discrepancy.families import Copula, Gaussian
from copula_discrepancy.families._quadrature import collected_notes
from copula_discrepancy.fitting import Fit, fit_pair
from copula_discrepancy.inference import Spread
from copula_discrepancy.influence import score_and_slopes
from copula_discrepancy.pairs import RankedPair
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
_PART = 32  # pairs per task: a task takes some 30 ms, so that threads start rarely and progress shows often
_NOTHING = np.empty(0)
_UNKNOWN = Spread(math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class RankedTable:
    """All variables of a sample as ranks: all draws together, and within each chain, (variable, chain, draw)."""

    columns: tuple[RankedColumn, ...]
    chain_orders: NDArray[np.int32]
    chain_ranks: NDArray[np.int32]
    chain_ties: NDArray[np.int64]
    bins: NDArray[np.uint8]

    @classmethod
    def of(cls, draws: Draws) -> "RankedTable":
        """Rank the draws."""
        shape = draws.n_variables, draws.n_chains, draws.n_draws
        orders, ranks, ties = np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape[:2], np.int64)
        columns = []
        for k in range(draws.n_variables):
            values = draws.column(k)
            columns.append(rank_column(values))
            if draws.n_chains == 1:
                orders[k, 0], ranks[k, 0], ties[k, 0] = columns[k].order, columns[k].rank, columns[k].tied_pairs
                continue
            for c, chain in enumerate(values.reshape(draws.n_chains, -1)):
                found = rank_column(chain)
                orders[k, c], ranks[k, c], ties[k, c] = found.order, found.rank, found.tied_pairs
        return cls(tuple(columns), orders, ranks, ties, np.stack([binned(column) for column in columns]))

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.chain_ties.shape[1]


@dataclass(frozen=True, eq=False)
class Side:
    """Two variables of one of the samples."""

    table: RankedTable
    i: int
    j: int
    iid: bool

    @lazy
    def _counted(self) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        a, b = self.table.columns[self.i], self.table.columns[self.j]
        tau, concordance, influence = _kernels.tau_and_influence(a.order, a.rank, a.tied_pairs, b.order, b.rank, b.tied_pairs)
        return float(tau), concordance, influence

    @property
    def tau(self) -> float:
        """Kendall's tau-b."""
        return self._counted[0]

    @property
    def influence(self) -> NDArray[np.float64]:
        """Influence of each draw on tau, chain after chain."""
        return self._counted[2]

    @lazy
    def pair(self) -> RankedPair:
        """What a fit starts from."""
        pair = RankedPair.from_ranks(
            self.table.columns[self.i], self.table.columns[self.j], self.table.n_chains, (str(self.i), str(self.j))
        )
        pair.__dict__.update(tau=self.tau, concordance=self._counted[1])
        return pair

    @property
    def bins(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Both variables' bins."""
        return self.table.bins[self.i], self.table.bins[self.j]

    def rhat(self) -> float:
        """R-hat for dependence."""
        t, i, j = self.table, self.i, self.j
        return float(
            _kernels.dependence_rhat(
                self.tau, self._counted[1], t.chain_orders[i], t.chain_ranks[i], t.chain_ties[i], t.chain_orders[j],
                t.chain_ranks[j], t.chain_ties[j],
            )
        )  # fmt: skip

    def chance_of_perfection(self, tau: float) -> float:
        """At most how likely draws of a copula with this tau are as perfectly dependent as these.

        Half as many pairs of draws as there are independent draws would all have to be concordant (or discordant).
        """
        ranks = self.pair.first.rank.astype(np.float64)
        n_eff = _kernels.spread(ranks, self.table.n_chains, self.iid)[2]
        return float((0.5 * (1.0 + self.tau * tau)) ** (min(n_eff, self.pair.n) // 2))

    def spreads(self, fitted: Fit) -> dict[str, Spread]:
        """Standard errors of tau, of the fitted tau and of their difference."""
        a, b = self.pair.first, self.pair.second
        score, in_u, in_v, curvature, slope = _NOTHING, _NOTHING, _NOTHING, -1.0, 1.0
        if fitted.method == "mle" and fitted.regular:
            score, in_u, in_v, curvature = score_and_slopes(self.pair, fitted.copula)
            slope = fitted.template._tau_slope(fitted.theta)
        rows = _kernels.gap_spreads(
            a.order, a.rank, b.order, b.rank, self.influence, score, in_u, in_v, curvature, slope, self.table.n_chains, self.iid
        )
        found = [Spread(*row) for row in rows.tolist()]
        if fitted.method == "moment":
            found[1] = found[0]
        return dict(zip(("tau", "tau_fitted", "shape"), found, strict=True))

    def tail(self, template: Copula, corner: Corner) -> tuple[float, Spread] | None:
        """`tail_gap` and its spread."""
        if not reachable(template, self.tau):
            return None
        a, b = self.pair.first, self.pair.second
        *shares, inside = _kernels.tail_shares(
            a.rank, a.tied_pairs, corner.u_high, b.rank, b.tied_pairs, corner.v_high, TAIL_SHARE, edge_width(a.n)
        )
        share_u, share_v, both = shares[:3]
        if not (0.0 < share_u < 1.0 and 0.0 < share_v < 1.0):
            return None
        expected, slope = corner_share_at(template, self.tau, corner, share_u, share_v, a.n)
        if a.n * min(expected, max(share_u, share_v) - expected) < FEWEST_IN_TAIL:
            return None
        spread = _kernels.tail_spread(self.influence, inside, tuple(shares), slope, self.table.n_chains, self.iid)
        return (both - expected) / share_u, Spread(*spread)


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

    def rows(self, pairs: Sequence[tuple[int, int]], quiet: Silence) -> NDArray[Any]:
        """Rows of several pairs."""
        quiet()
        with collected_notes():  # quadratures that end early are far more exact than a gap is known
            rows = np.empty(len(pairs), ROW)
            for k, (i, j) in enumerate(pairs):
                rows[k] = self.row(i, j)
            return rows

    def row(self, i: int, j: int) -> np.void:
        """Everything about one pair."""
        row = _EMPTY[0].copy()
        side = Side(self.draws, i, j, self.iid)
        other = None if self.reference is None else Side(self.reference, i, j, self.iid)
        known = self.targets.get((i, j))
        own, reference = self._fits(side, other, known)
        row["first"], row["second"], row["tau"], row["family"] = i, j, side.tau, own.family
        row["theta"], row["df"] = own.theta, math.nan if own.df is None else own.df
        if self.compared[0]:
            row["rhat"] = side.rhat()
        if known is not None:
            row["tau_target"], row["theta_target"] = known.tau, known.theta
        if other is not None and reference is not None:
            row["tau_target"], row["theta_target"] = other.tau, reference.theta
            if self.compared[1]:
                row["rhat_target"] = other.rhat()
        self._fill_gaps(row, side, own, other, reference)
        self._fill_tails(row, side, other, own.template)
        target = known if reference is None else _member(reference)
        if target is not None:
            row["ckl"] = _divergence(own, target)
        return row

    def _fits(self, side: Side, other: Side | None, known: Copula | None) -> tuple[Fit, Fit | None]:
        """The draws' fit and the reference's."""
        if known is not None:
            return fit_pair(side.pair, known, method=self.method, iid=self.iid), None
        guide = side if other is None else other
        if self.template is not None:
            chosen = fit_pair(guide.pair, self.template, method="mle", estimate_df=self.estimate_df, iid=self.iid)
        elif abs(guide.tau) == 1.0:
            chosen = fit_pair(guide.pair, gaussian(), method="mle", iid=self.iid)
        else:
            taus = side.tau, guide.tau
            chosen = screened_fit(guide.pair, guide.bins, taus, iid=self.iid, refine=other is None)
        if self.method == "moment" or chosen.df_estimated:
            # degrees of freedom stay at their estimate from here on, as in `discrepancy`
            chosen = fit_pair(guide.pair, chosen.template, method=self.method, iid=self.iid)
        if other is None:
            return chosen, None
        own = fit_pair(side.pair, chosen.template, method=self.method, iid=self.iid)
        if self.template is None and not own.regular and chosen.regular and abs(side.tau) < 1.0:
            # the reference's family cannot follow the draws; one that can still shows by how much they differ
            chosen = fit_pair(guide.pair, gaussian(), method=self.method, iid=self.iid)
            own = fit_pair(side.pair, gaussian(), method=self.method, iid=self.iid)
        return own, chosen

    def _fill_gaps(self, row: Any, side: Side, own: Fit, other: Side | None, reference: Fit | None) -> None:
        """Level, shape and total with standard errors and p-values, as `discrepancy` has them."""
        moment = self.method == "moment"
        spreads = side.spreads(own)
        row["n_eff"] = _smallest(spreads)
        fitted, bias = (side.tau, 0.0) if moment else (own.tau, _tau_bias(own, spreads))
        shape, aimed = fitted - side.tau, row["tau_target"]
        if other is not None and reference is not None:
            theirs = other.spreads(reference)
            row["n_eff_target"] = _smallest(theirs)
            aimed = other.tau if moment else reference.tau
            shape -= aimed - other.tau
            bias -= 0.0 if moment else _tau_bias(reference, theirs)
            spreads = {name: _added(spreads[name], side.tau, theirs[name], other.tau) for name in spreads}
        values = {
            "level": (side.tau - row["tau_target"], spreads["tau"], 0.0),
            "shape": (shape, _UNKNOWN if moment else spreads["shape"], bias),
            "total": (fitted - aimed, spreads["tau_fitted"], bias),
        }
        for name, (value, spread, off) in values.items():
            if not math.isnan(value):
                row[name], row[name + "_se"], row[name + "_pvalue"] = value, spread.se, spread.pvalue(value - off)
        if abs(side.tau) == 1.0 and math.isnan(row["level_se"]) and abs(row["level"]) > 0.0:
            row["level_pvalue"] = side.chance_of_perfection(row["tau_target"])

    def _fill_tails(self, row: Any, side: Side, other: Side | None, template: Copula) -> None:
        for name, corner in zip(TAILS, corners(side.tau), strict=True):
            mine = side.tail(template, corner)
            theirs = (0.0, None) if other is None else other.tail(template, corner)
            if mine is not None and theirs is not None:
                row[name], row[name + "_se"] = mine[0] - theirs[0], mine[1].plus(theirs[1]).se


_EMPTY = np.zeros(1, ROW)
for _name in ROW.names or ():
    if ROW[_name].kind == "f":
        _EMPTY[_name] = math.nan


def _smallest(spreads: Mapping[str, Spread]) -> float:
    return min((spread.n_eff for spread in spreads.values() if math.isfinite(spread.n_eff)), default=math.nan)


def _added(own: Spread, tau: float, other: Spread, other_tau: float) -> Spread:
    """Variances add; perfectly dependent draws all say the same, and add nothing."""
    if abs(other_tau) == 1.0 and not math.isnan(own.se):
        return own
    if abs(tau) == 1.0 and not math.isnan(other.se):
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


def run(sweep: Sweep, pairs: Sequence[tuple[int, int]], n_jobs: int | None, tick: Callable[[int], None]) -> NDArray[Any]:
    """Rows of all pairs, in their order; `tick` hears how many are finished."""
    parts = [pairs[start : start + _PART] for start in range(0, len(pairs), _PART)]
    found: list[NDArray[Any]] = []
    done = 0
    with silenced() as quiet:
        for rows in _in_parallel(sweep, parts, n_jobs, quiet):
            found.append(rows)
            done += len(rows)
            tick(done)
    return np.concatenate(found) if found else np.empty(0, ROW)


def _in_parallel(
    sweep: Sweep, parts: Sequence[Sequence[tuple[int, int]]], n_jobs: int | None, quiet: Silence
) -> Iterator[NDArray[Any]]:
    if len(parts) < 2:
        yield from (sweep.rows(part, quiet) for part in parts)
        return
    import joblib

    # threads share the ranks; processes map them, writable in private (mode "c"), as kernels are compiled for such arrays only
    work = (joblib.delayed(sweep.rows)(part, quiet) for part in parts)
    yield from joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", mmap_mode="c")(work)
