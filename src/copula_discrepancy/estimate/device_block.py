"""A block of variable pairs of one sample on a device: the interface of `block.Block`, with influence values as tensors.

Everything that grows with the number of draws is computed on the device, in parts that fit into its memory; what is known of
each pair, a few hundred numbers, is returned to the processor, where gaps and tests are made of it.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy._core.kernels.form import MANY_DRAWS
from copula_discrepancy._core.tensors.chains import mean_errors, split_rhats
from copula_discrepancy._core.tensors.device import numbers, stacked_numbers
from copula_discrepancy._core.tensors.launching import fused
from copula_discrepancy._core.tensors.ranks import concordances
from copula_discrepancy._core.tensors.sums import CornerTensors, PairRanks, sums_above, tail_flags
from copula_discrepancy.estimate.device_form import FormPairs, FormSums, form_sums
from copula_discrepancy.estimate.device_pairs import DevicePairs
from copula_discrepancy.estimate.device_table import DeviceTable
from copula_discrepancy.estimate.form import CellSpread, FormSide, batches_per_chain, usable_cells
from copula_discrepancy.estimate.influence import Score, theta_score
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.rank_facts import FIRST_CORNER, FITTED, SHAPE, TAU, RankFacts
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranked_pairs import Places
from copula_discrepancy.estimate.ranks import TAIL_SHARE, edge_width, tau_from_total
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.tails import CORNERS, HIGHS
from copula_discrepancy.families import Copula

_SIGNS = 0.2  # of the memory that may be used, for the signs of differences between draws


class DeviceBlock(DevicePairs, RankFacts):
    """Pairs of one sample on a device; see `block.Block`.

    Parameters
    ----------
    table : DeviceTable
        The sample.
    pairs : sequence of (int, int)
        The pairs, by the numbers of their variables.
    compare : bool
        Whether to compute R-hat.
    iid : bool
        Whether draws are independent.
    tail : float
        The fraction of a variable that counts as its tail.
    order : int
        The order of the polynomials of form; 0 to omit form.
    """

    table: DeviceTable

    def __init__(
        self,
        table: DeviceTable,
        pairs: Sequence[tuple[int, int]],
        *,
        compare: bool,
        iid: bool,
        tail: float = TAIL_SHARE,
        order: int = 0,
    ) -> None:
        first, second = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
        super().__init__(table, first, second, iid=iid)
        self.tail, self.order = tail, order
        self.chains = None if iid else table.n_chains
        (left, at_left), (right, at_right) = self._sides
        ranks, chains = table.columns.rank, table.n_chains if compare else 1
        budget = _SIGNS * self.device.planned_bytes()
        whole, own = concordances(ranks[left], ranks[right], (at_left, at_right), chains, budget)
        totals = numbers(whole.sum(dim=1)) // 2
        self.taus = np.asarray(tau_from_total(totals, table.n, table.ties[first], table.ties[second]), np.float64)
        self._influence = self._tau_influence(whole)
        self.rhats = self._rhats(whole, own) if compare else np.full(len(pairs), math.nan)
        m, corners = len(pairs), (len(pairs), len(CORNERS))
        self._fitted = self._influence.new_zeros((m, table.n))  # that of pairs without a fit is taken off 0 times
        self.scored, self.wanted = np.zeros(m, bool), np.zeros(corners, bool)
        self.expected, self.expected_slope = np.full(corners, math.nan), np.empty(corners)
        self.form_slope = np.zeros((m, order * order))

    @property
    def host(self) -> RankedTable:
        """The sample in the processor's memory."""
        return self.table.host

    def influence_moments(self, chosen: Places) -> tuple[FloatArray, FloatArray]:
        """Sums of squares and of fourth powers of the influence values on tau, of some pairs."""
        return self._moments[0][chosen], self._moments[1][chosen]

    # ---- Kendall's tau ---------------------------------------------------------------------------------------------

    def _tau_influence(self, concordance: Any) -> Any:
        """The influence of each draw on tau, from the numbers of draws concordant with it; see `kernels.tau_and_influence`."""
        n, ties = self.table.n, self.table.ties
        every, sizes = n * (n - 1) // 2, self.table.columns.size
        found = concordance.to(self.device.torch.float64) / (n - 1.0)
        mean = found.mean(dim=1, keepdim=True)
        found = 2.0 * (found - mean)
        tied = np.flatnonzero(ties[self.first] + ties[self.second] > 0)
        for part in self.parts(tied.size, 8):
            some = tied[part]
            at = self.device.tensor(some)
            both = self.first[some], self.second[some]
            shares = [self.device.tensor(1.0 - ties[variables] / every)[:, None] for variables in both]
            less = 0.0
            for side, share in enumerate(shares):
                untied = 1.0 - (sizes[self._variables(side, some)].double() - 1.0) / (n - 1.0)
                less = less + mean[at] / share * (untied - share)
            found[at] = (found[at] - less) / (shares[0] * shares[1]).sqrt()
        perfect = np.flatnonzero(np.abs(self.taus) == 1.0)
        if perfect.size:
            found[self.device.tensor(perfect)] = 0.0
        return found

    def _rhats(self, whole: Any, own: Any) -> FloatArray:
        """R-hat for dependence of each pair; see `kernels.dependence_rhats`."""
        t, torch = self.table.host, self.device.torch
        n_chains, length = t.n_chains, self.table.n // t.n_chains
        together = split_rhats(whole.to(torch.float64) / (self.table.n - 1.0), n_chains)
        if n_chains == 1 or bool(together.isnan().all()):
            return numbers(together)
        every = length * (length - 1) // 2
        ties_x, ties_y = t.chain_ties[self.first], t.chain_ties[self.second]
        rhats = np.empty(len(self))
        for part in self.parts(len(self), 10):
            counts = own[part].unflatten(1, (n_chains, length)).to(torch.float64)
            values = self._chain_values(counts, ties_x[part], ties_y[part], part, every)
            mean = values.flatten(1).mean(dim=1)
            pooling = (self.device.tensor(self.taus[part]) - mean).square()
            within = values.var(dim=2, correction=1).mean(dim=1)
            apart = (1.0 + pooling / within).sqrt().where(within > 0.0, within.new_ones(()))
            each = split_rhats(values.flatten(1), n_chains)
            rhats[part] = numbers(torch.stack([together[part], each, apart]).amax(dim=0))
        return rhats

    def _chain_values(self, counts: Any, ties_x: Any, ties_y: Any, part: slice, every: int) -> Any:
        """The tau of each chain plus the influence of its draws on it, (pair, chain, draw); 0 where nothing varies."""
        length = counts.shape[2]
        free_x, free_y = (every - self.device.tensor(ties).to(counts.dtype) for ties in (ties_x, ties_y))
        totals = counts.sum(dim=2) / 2.0
        taus = totals / free_x.where(free_x == free_y, (free_x * free_y).sqrt())
        concordance = counts / (length - 1.0)
        mean = concordance.mean(dim=2, keepdim=True)
        influence = 2.0 * (concordance - mean)
        if ties_x.any() or ties_y.any():
            less = 0.0
            for side, free in enumerate((free_x, free_y)):
                share = (free / every)[..., None]
                sizes = self.table.chain_sizes[self._variables(side, part)].double()
                less = less + mean / share * (1.0 - (sizes - 1.0) / (length - 1.0) - share)
            tied = self.device.tensor((ties_x + ties_y) > 0)[..., None]
            root = (free_x * free_y).sqrt()[..., None] / every
            influence = ((influence - less) / root).where(tied, influence)
        influence = influence.masked_fill((taus.abs() == 1.0)[..., None], 0.0)
        still = self.device.tensor((ties_x == every) | (ties_y == every))[..., None]
        return (taus[..., None] + influence).masked_fill(still, 0.0)

    # ---- what the fits say -------------------------------------------------------------------------------------------

    def add_scores(
        self, chosen: Places, template: Copula, thetas: FloatArray, tau_slopes: FloatArray, tau_errors: FloatArray
    ) -> None:
        """Add regular likelihood fits of a family: their scores, and the derivatives of tau with respect to theta."""
        tables, ready = self.table.tables(template), template._on_tensors(thetas)
        if tables is None:
            ready = np.zeros(chosen.size, bool)
        for k, theta, slope in zip(chosen[~ready].tolist(), thetas[~ready].tolist(), tau_slopes[~ready].tolist(), strict=True):
            self.add_score(k, theta_score(self.pair(k), template.with_theta(theta)), slope)
        inside = np.flatnonzero(ready)
        for part in self.parts(inside.size, 24):
            at = inside[part]
            members = chosen[at]
            assert tables is not None
            coordinates = [self._looked_up(table, end % 2, members) for end, table in enumerate(tables)]
            score, curvature, *slopes = template._tensor_scores(self.device.tensor(thetas[at])[:, None], *coordinates)
            self._add(members, score, slopes, curvature, tau_slopes[at])

    def add_score(self, k: int, score: Score, tau_slope: float, tau_error: float = 0.0) -> None:
        """Add a fit whose scores are known."""
        rows = [self.device.tensor(np.asarray(part, np.float64))[None] for part in score[:3]]
        curvature = self.device.tensor(np.array([score.curvature]))
        self._add(np.array([k]), rows[0], rows[1:], curvature, np.array([tau_slope]))

    def _add(self, members: Places, score: Any, slopes: Sequence[Any], curvature: Any, tau_slopes: FloatArray) -> None:
        """Influence values of fitted taus, from scores and their derivatives in u and v; see `kernels.score_influence`."""
        n = self.table.n
        above = [sums_above(slope, self._ranks(side, members)) for side, slope in enumerate(slopes)]
        found = score + (above[0] + above[1]) / (n + 1.0)
        found -= found.mean(dim=1, keepdim=True)
        found *= (self.device.tensor(tau_slopes) / (-curvature / n))[:, None]
        self._fitted[self.device.tensor(members)] = found
        self.scored[members] = True

    def _ranks(self, side: int, chosen: Any) -> PairRanks:
        return PairRanks.of(self.table.columns, self._variables(side, chosen))

    def score_pair(self, k: int) -> RankedPair:
        """The pair whose scores standard errors are computed from."""
        return self.pair(k)

    # ---- standard errors -------------------------------------------------------------------------------------------

    def finish(self, *, keep: bool = False) -> "DeviceBlock":
        """Compute all standard errors, and free the device's memory of influence values."""
        m = len(self)
        self.errors = [StandardError.unknown(m) for _ in range(FIRST_CORNER + len(CORNERS))]
        self.joint_shares = np.full((m, len(CORNERS)), math.nan)
        self._fill_spreads(TAU, np.arange(m), lambda some: self._influence[some])
        scored = np.flatnonzero(self.scored)
        self._fill_spreads(FITTED, scored, lambda some: self._fitted[some])
        self._fill_spreads(SHAPE, scored, lambda some: self._fitted[some] - self._influence[some])
        flags = tail_flags(self.table.columns.doubled, self.tail, edge_width(self.table.n, self.tail))
        for end, (high_u, high_v) in enumerate(HIGHS.tolist()):
            chosen = np.flatnonzero(self.wanted[:, end])
            slopes = self.device.tensor(self.expected_slope[:, end])

            def influence(some: Any, end: int = end, highs: tuple[bool, bool] = (high_u, high_v), slopes: Any = slopes) -> Any:
                places = numbers(some)
                sides = flags[self._variables(0, places)], flags[self._variables(1, places)]
                corner = CornerTensors.of(sides, highs)
                self.joint_shares[places, end] = numbers(corner.joint)
                return corner.influence(self._influence[some], slopes[some])

            self._fill_spreads(FIRST_CORNER + end, chosen, influence)
        self._moments = self._all_moments()
        if self.order:
            self.finish_form()
        del self._influence, self._fitted
        return self

    def _fill_spreads(self, row: int, chosen: Places, values: Any) -> None:
        """Standard errors of one kind of estimate of some pairs, from their influence values, part by part."""
        found = self.errors[row]
        for part in self.parts(chosen.size):
            errors = mean_errors(values(self.device.tensor(chosen[part])), self.chains)
            for column, error in zip((found.se, found.df, found.n_eff), stacked_numbers(errors), strict=True):
                column[chosen[part]] = error

    def _all_moments(self) -> tuple[FloatArray, FloatArray]:
        """Sums of squares and of fourth powers of the influence values on tau."""
        found = np.empty((2, len(self)))
        for part in self.parts(len(self), 3):
            squares = self._influence[part].square()
            found[:, part] = stacked_numbers((squares.sum(dim=1), squares.square().sum(dim=1)))
        return found[0], found[1]

    def finish_form(self) -> None:
        """The coefficients of form, with the errors that a block jackknife widens where the margins mix slowly."""
        t, n = self.table, self.table.n
        n_chains = 1 if self.iid else t.n_chains
        n_batches = batches_per_chain(n, n_chains)
        mixes = self.mixes(n_batches)
        sums = FormSums.empty(len(self), self.order, 2 * n_chains)
        fitted = self._fitted if self.form_slope.any() else None
        noisy = n <= MANY_DRAWS
        tensors = 2.5 if self._fused else 5.5  # (pair, draw) for each cell
        for part in self.parts(len(self), tensors * self.order**2):
            slow = None if self.iid else ~mixes[part]
            variables = self._variables(0, part), self._variables(1, part)
            sides = self._ranks(0, part), self._ranks(1, part)
            pairs = FormPairs(t.small, sides, (t.places[variables[0]], t.places[variables[1]]), variables, t.doubled)
            taken = None if fitted is None else (fitted[part], self.device.tensor(self.form_slope[part]))
            untied = (t.ties[self.first[part]] + t.ties[self.second[part]] == 0) & noisy
            batches = n_chains, n_batches
            sums.fill(part, form_sums(self.device, pairs, self.order, taken, batches, slow, untied))
        n_all = n_chains * n_batches
        spread = CellSpread.of_batches(sums.squares, sums.fourths, sums.long_run, n, n_all, iid=self.iid)
        if not self.iid:
            for k in np.flatnonzero(~mixes).tolist():
                spread.variance[k], spread.n_eff[k], spread.df[k] = sums.by_chains[:, k]
        used = usable_cells(t.host.distinct, self.first, self.second, n, self.order)
        se, df, n_eff = spread.without(sums.noise, n)
        self.form = FormSide(self.order, sums.means, se, df, n_eff, sums.correlations, sums.halves, used, n, n_all)
        self.leave_out_blocks()

    @property
    def _fused(self) -> bool:
        return fused(self.table.columns.rank) and not self.table.doubled
