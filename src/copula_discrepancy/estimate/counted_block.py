"""A block of variable pairs of one sample that was counted in grids: the same interface as `block.Block`, which ranks draws."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.counted_pair import CountedPair, different_values
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.form import CellSpread, FormSide, usable_cells
from copula_discrepancy.estimate.grid import Grid, score_influence
from copula_discrepancy.estimate.influence import Score, theta_score
from copula_discrepancy.estimate.likelihood import Maxima, maximise
from copula_discrepancy.estimate.ranked_pairs import Places
from copula_discrepancy.estimate.ranks import BINS, TAIL_SHARE, edge_width
from copula_discrepancy.estimate.serial import SerialCounts, rhat_of_halves
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.strength import TauSide
from copula_discrepancy.estimate.tails import CORNERS, HIGHS, Corner, CornerCount, is_tail
from copula_discrepancy.families import Copula

Array = NDArray[np.float64]

# Bins of the grid that standard errors are computed on: their error, a few hundredths of a percent, does not matter, and a
# quarter of the cells takes a quarter of the time.
_ERROR_BINS = 128
_FORM_BINS = 64  # the same for the sixteen coefficients of form, which are smooth
_NO_VARIANCE = 1e-14


class CountedBlock:
    """Pairs of one sample that was counted; see `block.Block`.

    Parameters
    ----------
    table : CountedTable
        The sample.
    pairs : sequence of (int, int)
        The pairs, by the numbers of their variables.
    compare : bool
        Whether to compute R-hat.
    iid : bool
        Whether rows are independent.
    tail : float
        The fraction of a variable that counts as its tail.
    order : int
        The order of the polynomials of form; 0 to omit form.
    """

    def __init__(
        self,
        table: CountedTable,
        pairs: Sequence[tuple[int, int]],
        *,
        compare: bool,
        iid: bool,
        tail: float = TAIL_SHARE,
        order: int = 0,
    ) -> None:
        self.table, self.iid, self.tail, self.order, self._compare = table, iid, tail, order, compare
        self._members = [_Member.of(table, pair, serial=not iid) for pair in pairs]
        self.taus = np.array([member.pair.tau for member in self._members])
        self.rhats = np.full(len(pairs), math.nan)
        if compare:
            self.rhats[:] = [member.rhat(member.tau_influence) for member in self._members]

    @classmethod
    def of_one(cls, pair: CountedPair, *, iid: bool) -> "CountedBlock":
        """A block of one pair, of whose rows nothing but the grid is known: they are treated as independent."""
        table = CountedTable.of_grid(pair.grid, pair.names, pair.n_chains)
        return cls(table, [(0, 1)], compare=False, iid=iid)

    @property
    def uniform(self) -> bool:
        """Whether values have known uniform margins: counts are of ranks."""
        return False

    @property
    def n(self) -> Array:
        """The number of rows of every pair."""
        return np.array([float(member.pair.n) for member in self._members])

    @property
    def tied_share(self) -> Array:
        """The share of pairs of rows that are tied, in the variable of each pair with more ties."""
        return np.array([member.pair.tied_share for member in self._members])

    @property
    def largest_group(self) -> NDArray[np.int64]:
        """The number of rows that share one value, in the variable of each pair with more of them."""
        return np.array([member.pair.largest_group for member in self._members], np.int64)

    @lazy
    def tie_weights(self) -> Array:
        """How much ties that are not of repeated points matter to each pair; see `ties`."""
        found = np.zeros(len(self._members))
        for k, member in enumerate(self._members):
            grid, every = member.pair.grid, 0.5 * member.pair.n * (member.pair.n - 1.0)
            tied = np.array(grid.tied_pairs) / every
            alike = max(tied) - member.pair.discrete_share()
            found[k] = ties.weights(np.array(grid.largest_groups) / member.pair.n, tied, tied - alike).sum()
        return found

    def tie_maps(self, chosen: Places, order: int) -> tuple[Array, Array]:
        """What ties make of polynomials of either variable of some pairs, (pair, degree, degree); see `ties.tie_map`."""
        maps = np.empty((2, chosen.size, order, ties.WIDE + 1))
        for place, k in enumerate(chosen.tolist()):
            grid = self._members[k].pair.grid
            for side, (edges, single) in enumerate(zip(grid.edges, grid.single, strict=True)):
                maps[side, place] = ties.tie_map(edges[:-1][single], edges[1:][single], order)
        return maps[0], maps[1]

    def pair(self, k: int) -> CountedPair:
        """The pair that a fit starts from."""
        return self._members[k].pair

    def discrete_shares(self, chosen: Places) -> Array:
        """The shares of pairs of rows that are tied in one variable without being the same point, of some pairs."""
        return np.array([self._members[k].pair.discrete_share() for k in chosen.tolist()])

    def squares(self, chosen: Places) -> Array:
        """Rows of some pairs in each of `BINS` x `BINS` squares of equal shares of both variables, (pair, square)."""
        return np.array([self._members[k].pair.grid.squares(BINS).ravel() for k in chosen.tolist()]).reshape(-1, BINS * BINS)

    def maxima(self, chosen: Places, template: Copula, starts: Array | None = None) -> Maxima:
        """The maxima of a family's likelihood for some of the pairs."""
        starting = [None] * len(chosen) if starts is None else starts.tolist()
        return Maxima.of([maximise(self.pair(k), template, start) for k, start in zip(chosen.tolist(), starting, strict=True)])

    def score_pair(self, k: int) -> CountedPair:
        """The pair whose scores standard errors are computed from: on a grid that is fine enough for them."""
        return self.pair(k).at_most(_ERROR_BINS)

    def add_scores(self, chosen: Places, template: Copula, thetas: Array, tau_slopes: Array, tau_errors: Array) -> None:
        """Add regular likelihood fits of a family: their scores, and the derivatives of tau with respect to theta."""
        numbers = zip(chosen.tolist(), thetas.tolist(), tau_slopes.tolist(), tau_errors.tolist(), strict=True)
        for k, theta, slope, error in numbers:
            self.add_score(k, theta_score(self.score_pair(k), template.with_theta(theta)), slope, error)

    def add_score(self, k: int, score: Score, tau_slope: float, tau_error: float = 0.0) -> None:
        """Add a regular likelihood fit: its scores in the cells of `score_pair`, and the derivative of its tau."""
        self._members[k].add_score(score, tau_slope, tau_error)

    @lazy
    def tail_shares(self) -> Array:
        """The shares of both variables inside their tails, (pair, corner, 2)."""
        shares = np.empty((len(self._members), len(CORNERS), 2))
        for row, member in zip(shares, self._members, strict=True):
            low, high = ([member.pair.grid.tail_share(side, high, self.tail) for side in (0, 1)] for high in (False, True))
            row[:] = np.where(HIGHS, high, low)
        return shares

    def has_corners(self) -> NDArray[np.bool_]:
        """Whether both variables of a pair have a tail of about the requested size, (pair, corner)."""
        found: NDArray[np.bool_] = is_tail(self.tail_shares, self.tail).all(axis=2)
        return found

    def expect(self, wanted: NDArray[np.bool_], expected: Array, slopes: Array) -> None:
        """Add the expected shares in the corners, and their derivatives in tau: (pair, corner)."""
        for k, member in enumerate(self._members):
            for end, (name, corner) in enumerate(CORNERS.items()):
                if wanted[k, end]:
                    u, v = self.tail_shares[k, end].tolist()
                    member.corners[name] = _Expected(corner, u, v, float(expected[k, end]), float(slopes[k, end]))

    def expect_form(self, chosen: Places, slopes: Array) -> None:
        """Add the derivatives, in tau, of the coefficients of fits that those of the rows are compared with."""
        for k, steep in zip(chosen.tolist(), slopes, strict=True):
            self._members[k].form_slope = steep

    def finish(self, *, keep: bool = False) -> "CountedBlock":
        """Compute all standard errors; rows that were counted have no influence values of their own to `keep`."""
        for member in self._members:
            member.finish(self.tail)
        if self.order:
            self.form = self._form()
        return self

    def _form(self) -> FormSide:
        parts = [member.form(self.order, iid=self.iid, compare=self._compare) for member in self._members]
        means, se, df, n_eff, correlations, used = (np.stack([part[k] for part in parts]) for k in (0, 1, 2, 3, 4, 6))
        most = max(len(part[5]) for part in parts)
        halves = np.stack([np.pad(part[5], ((0, most - len(part[5])), (0, 0))) for part in parts])
        n, batches = max(member.pair.n for member in self._members), min(part[7] for part in parts)
        return FormSide(self.order, means, se, df, n_eff, correlations, halves, used, n, batches)

    @property
    def spreads(self) -> dict[str, StandardError]:
        """Standard errors of "tau", "tau_fitted" and "shape"; NaN if no fit was added."""
        return {name: _stacked([member.spreads[name] for member in self._members]) for name in ("tau", "tau_fitted", "shape")}

    def influences(self, k: int) -> Mapping[str, Array]:
        """Influence values of single rows, which counts do not have: none of each."""
        return dict.fromkeys(("tau", "tau_fitted", *CORNERS), np.empty((1, 0)))

    def tau_side(self) -> TauSide:
        """The input of the test of level."""

        def moments(chosen: Places) -> tuple[Array, Array]:
            found = []
            for member in (self._members[k] for k in chosen.tolist()):
                squares, counts = member.tau_influence**2, member.errors.counts
                found.append((float(np.vdot(counts, squares)), float(np.vdot(counts, squares**2))))
            second, fourth = np.array(found).T
            return second, fourth

        def rank_sizes(chosen: Places) -> Array:
            sizes = []
            for member in (self._members[k] for k in chosen.tolist()):
                middles = np.broadcast_to(member.errors.middles[0][:, None], member.errors.counts.shape)
                sizes.append(member.spread_of(middles - 0.5).n_eff)
            return np.array(sizes, np.float64)

        groups = np.array([int(max(member.errors.largest_groups)) for member in self._members])
        return TauSide.of(self.taus, self.spreads["tau"], self.n, groups, moments, rank_sizes)

    def corners(self) -> dict[str, CornerCount]:
        """The corners; NaN for pairs in which one cannot be evaluated."""
        found = {}
        for name in CORNERS:
            counts = [member.counts.get(name, _NO_CORNER) for member in self._members]
            numbers = {part: np.array([getattr(count, part) for count in counts], np.float64) for part in _CORNER_PARTS}
            found[name] = CornerCount(**numbers, spread=_stacked([count.spread for count in counts]))
        return found


_UNKNOWN = StandardError.unknown()
_CORNER_PARTS = ("n", "first", "second", "joint", "expected")
_NO_CORNER = CornerCount(math.nan, math.nan, math.nan, math.nan, math.nan, _UNKNOWN)


def _stacked(spreads: Sequence[StandardError]) -> StandardError:
    """Standard errors of several estimates as one record of arrays."""
    parts = ([getattr(one, name) for one in spreads] for name in ("se", "df", "n_eff"))
    return StandardError(*(np.array(part, np.float64) for part in parts))


class _Expected:
    """A corner with the shares of both variables in it, and what is expected there."""

    def __init__(self, corner: Corner, u: float, v: float, expected: float, slope: float) -> None:
        self.corner, self.u, self.v, self.expected, self.slope = corner, u, v, expected, slope


class _Member:
    """One pair of a block."""

    def __init__(self, pair: CountedPair, serial: SerialCounts | None) -> None:
        """`serial` has the groups of the bins of the grid that errors are computed on."""
        self.pair, self.serial = pair, serial
        self.errors: Grid = pair.grid.at_most(_ERROR_BINS)
        self.tau_influence = self.errors.tau_influence
        self.fitted_influence: Array | None = None
        self.form_slope: Array | None = None
        self.corners: dict[str, _Expected] = {}
        self.counts: dict[str, CornerCount] = {}
        self._tau_error = 0.0

    @classmethod
    def of(cls, table: CountedTable, place: tuple[int, int], *, serial: bool) -> "_Member":
        """The pair at two places of a table."""
        pair, blocks = table.pair(*place), None
        if serial and table.blocks is not None:
            blocks = table.blocks(*place)
            blocks = replace(blocks, groups=_groups_of(pair.grid, pair.grid.at_most(_ERROR_BINS), blocks, table, place))
        return cls(pair, blocks)

    def add_score(self, score: Score, tau_slope: float, tau_error: float) -> None:
        """The influence of the rows in each cell on the fitted tau, from scores in the cells that have rows."""
        cells = np.flatnonzero(self.errors.counts)
        parts = []
        for values in score[:3]:
            full = np.zeros(self.errors.counts.size)
            full[cells] = values
            parts.append(full.reshape(self.errors.counts.shape))
        factor = tau_slope / (-score.curvature / self.errors.n)
        self.fitted_influence = score_influence(self.errors, parts[0], parts[1], parts[2], factor)
        self._tau_error = tau_error

    # ---- standard errors -------------------------------------------------------------------------------------------

    def spread_of(self, values: Array, error: float = 0.0) -> StandardError:
        """The standard error of a mean of influence values (bin, bin); `error` is what the grid may be off by."""
        grid, n = self.errors, self.errors.n
        mean = float(np.vdot(grid.counts, values)) / n
        variance = float(np.vdot(grid.counts, (values - mean) ** 2)) / (n - 1.0)
        if not variance > _NO_VARIANCE**2:
            return _UNKNOWN if error == 0.0 else StandardError(error, n - 1.0, math.nan)
        ratio, df = 1.0, n - 1.0
        if self.serial is not None:
            ratios, dfs = self.serial.ratios(self._grouped(values))
            ratio, df = float(ratios[0]), float(dfs[0])
            ratio = max(ratio, 1.0 / math.log10(max(n, 10.0)))
        return _with_error(math.sqrt(variance * ratio / n), df, n / ratio, error)

    def _grouped(self, values: Array) -> Array:
        assert self.serial is not None
        return self.serial.group_means(self.errors.counts, values)

    def rhat(self, values: Array) -> float:
        """Split R-hat of influence values (bin, bin), from blocks of rows; NaN for rows that have none."""
        if self.serial is None:
            return math.nan
        halves, sizes = self.serial.halves(self._grouped(values))
        variance = float(np.vdot(self.errors.counts, values**2)) / self.errors.n
        return float(rhat_of_halves(halves, sizes, np.array([variance]))[0])

    def finish(self, tail: float) -> None:
        """Standard errors of both taus, of shape and of the corners."""
        tau_error = self.pair.tau_error
        self.spreads = {"tau": self.spread_of(self.tau_influence, tau_error), "tau_fitted": _UNKNOWN, "shape": _UNKNOWN}
        if self.fitted_influence is not None:
            self.spreads["tau_fitted"] = self.spread_of(self.fitted_influence, self._tau_error)
            shape = self.fitted_influence - self.tau_influence
            self.spreads["shape"] = self.spread_of(shape, math.hypot(self._tau_error, tau_error))
        self.counts = {name: self._corner(expected, tail) for name, expected in self.corners.items()}

    # ---- corners ---------------------------------------------------------------------------------------------------

    def _corner(self, found: _Expected, tail: float) -> CornerCount:
        """The rows in a corner, with the standard error of their gap."""
        u, v, highs = found.u, found.v, (found.corner.u_high, found.corner.v_high)
        joint, slopes = self.pair.grid.corner((u, v), highs, edge_width(self.pair.n, tail))
        at = [1.0 - x if high else x for x, high in zip((u, v), highs, strict=True)]
        errors = self.errors
        inside = [_membership(edges, x, high) for edges, x, high in zip(errors.edges, at, highs, strict=True)]
        flat = np.outer(inside[0], inside[1]) - joint - slopes[0] * (inside[0] - u)[:, None] - slopes[1] * (inside[1] - v)
        values = (flat - found.slope * self.tau_influence) / u
        return CornerCount(self.pair.n, u, v, joint, found.expected, self.spread_of(values, self.pair.grid.hidden / u))

    # ---- form ------------------------------------------------------------------------------------------------------

    def form(self, order: int, *, iid: bool, compare: bool) -> tuple[Array, Array, Array, Array, Array, Array, Array, int]:
        """Coefficients, standard errors, df, n_eff, correlations, means of halves, usable cells, and batches behind them."""
        means, grid_errors = self.pair.grid.coefficients_and_errors(order)
        fitted = self.form_slope is not None and self.fitted_influence is not None
        # blocks, and the scores of a fit, are on the grid of all other errors
        grid = self.errors if fitted or self.serial is not None else self.errors.at_most(_FORM_BINS)
        n = grid.n
        values = grid.form_influence(order)
        if self.form_slope is not None and self.fitted_influence is not None:
            values = values - self.form_slope * self.fitted_influence[:, :, None]
            values -= np.tensordot(grid.counts, values, axes=2) / n
        flat, weight = values.reshape(grid.counts.size, -1), grid.counts.ravel()
        kept = weight > 0.0
        flat, weight = flat[kept], weight[kept]
        covariance = flat.T @ (flat * weight[:, None])
        squares = np.diagonal(covariance).copy()
        squared = flat * flat
        fourths = weight @ (squared * squared)
        halves = np.zeros((2, order * order))
        batches = int(n)
        long_run = squares / n
        dfs: Array | None = None
        if self.serial is not None and not iid:
            grouped = self._grouped(values)
            serial = self.serial
            ratio, dfs = serial.ratios(grouped)
            long_run = squares / n * np.maximum(ratio, 1.0 / math.log10(max(n, 10.0)))
            sums = serial.block_sums(grouped)
            covariance, batches = sums.T @ sums, len(sums)
            if compare:
                halves, _ = serial.halves(grouped)
        spread = CellSpread.of_batches(
            squares[None], fourths[None], long_run[None], int(n), batches, iid=iid or self.serial is None
        )
        se, df, n_eff = (part[0] for part in spread.without(np.zeros((1, order * order)), int(n)))
        df = df if dfs is None else dfs
        total = np.hypot(se, grid_errors)
        with np.errstate(invalid="ignore", divide="ignore"):
            n_eff = np.where(total > 0.0, n_eff * (se / total) ** 2, n_eff)
            scale = np.sqrt(np.diagonal(covariance))
            correlations = np.where(np.outer(scale, scale) > 0.0, covariance / np.outer(scale, scale), 0.0)
        np.fill_diagonal(correlations, 1.0)
        distinct = np.array([different_values(single, int(n)) for single in self.pair.grid.single])
        used = usable_cells(distinct, np.array([0]), np.array([1]), int(n), order)[0]
        return means, total, df, n_eff, correlations, halves, used, batches


def _with_error(se: float, df: float, n_eff: float, error: float) -> StandardError:
    """A standard error with that of the grid; n_eff is the number of independent rows that have it."""
    total = math.hypot(se, error)
    return StandardError(total, df, n_eff * (se / total) ** 2)


def _membership(edges: Array, at: float, high: bool) -> Array:
    """The share of each bin that is inside a tail which begins at a share of the rows."""
    inside = np.clip((at - edges[:-1]) / np.diff(edges), 0.0, 1.0)
    return 1.0 - inside if high else inside


def _groups_of(
    fine: Grid, grid: Grid, serial: SerialCounts, table: CountedTable, place: tuple[int, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The group of every bin of a coarser grid: that of the first of its bins that has rows of this pair."""
    found = []
    counts = table.tables(*place)[:-1, :-1]
    for side, groups in enumerate(serial.groups):
        own = groups[np.flatnonzero(counts.sum(axis=1 - side) > 0)]
        # edges of the coarser grid are edges of the fine one
        starts = np.searchsorted(fine.edges[side][:-1], grid.edges[side][:-1] - 0.25 / fine.n)
        found.append(own[starts])
    return found[0], found[1]
