"""Whether a variable whose levels have no order has the same distribution in two samples: the shares of its levels, one by one.

The components are the indicators of the levels, f_c = (1{X = c} - p_c)/sqrt(p_c) with p_c the share in both samples together,
and the differences of their means are compared, as the polynomials of `margins` are for ordered variables. The squares of the
differences, times n m/(n + m), add up to Pearson's chi-square statistic of independent rows.

The variance of a share is p_c (1 - p_c) over the effective number of rows, with the share that both samples have if they do not
differ: a level without rows in one sample has no variance of its own there. The autocorrelation of its indicator gives the
effective number, so that the test holds on Markov chains. Indicators are correlated, as their sum is constant; the correlation
matrix takes this into account.
"""

import math

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.coded_columns import MOST_LEVELS
from copula_discrepancy.estimate.combination import combined_pvalue, normal_scores, trace_of_squares
from copula_discrepancy.estimate.margins import (
    FEWEST_EFFECTIVE,
    LevelShare,
    MarginSide,
    MarginTest,
    constants_test,
    counts_of_constants,
)

REST = -1  # in place of a level: all levels that are not compared on their own
# Effective rows that a level, and all others together, should have in the smaller sample if the shares do not differ: in two
# samples of equal size, 10 in both together. Scores of rarer levels are far from normal; they are compared together.
_FEWEST_ROWS = 5.0
# On chains, the effective number of rows is estimated from the same few rows
_FEWEST_ROWS_OF_CHAINS = 10.0

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


def level_test(draws: Array, reference: Array, *, iid: tuple[bool, bool] = (False, False)) -> MarginTest:
    """Test whether two samples of a variable with unordered levels, codes (chain, draw) each, have the same distribution.

    The most frequent levels have one component each, at most 12; those that are rarer, and those with fewer than 5 expected
    rows in the smaller sample, or 10 effective ones on chains, are compared together. If these have too few rows, too, they
    have no component. Two levels have one component. A variable that is constant in a sample is treated as in `margin_test`.
    """
    samples = [values.astype(np.intp) for values in (draws, reference)]
    n = [codes.size for codes in samples]
    if min(n) == 0:
        return MarginTest((), (), (), math.nan, n[0], n[1], untested="few-effective-draws")
    if any(np.ptp(codes) == 0 for codes in samples):
        chains = samples[0].shape[0], samples[1].shape[0]
        return constants_test((samples[0].reshape(-1), samples[1].reshape(-1)), chains, iid)
    if min(n) < FEWEST_EFFECTIVE:
        return MarginTest((), (), (), math.nan, n[0], n[1], untested="few-effective-draws")
    size = int(max(codes.max() for codes in samples)) + 1
    counts = np.stack([np.bincount(codes.reshape(-1), minlength=size) for codes in samples])
    return _tested(samples, counts, iid)


def level_test_of_counts(counts: NDArray[np.intp]) -> MarginTest:
    """The same for independent rows, from the counts of the levels, (sample, level)."""
    n = counts.sum(axis=1).astype(np.float64)
    if n.min() < FEWEST_EFFECTIVE:
        return MarginTest((), (), (), math.nan, float(n[0]), float(n[1]), untested="few-effective-draws")
    constant = np.count_nonzero(counts, axis=1) == 1
    if constant.any():
        shares = counts / n[:, None]
        return counts_of_constants((shares[0], shares[1]), (float(n[0]), float(n[1])), (bool(constant[0]), bool(constant[1])))
    return _tested([np.empty((1, 0), np.intp)] * 2, counts, (True, True))


def _tested(samples: list[Codes], counts: NDArray[np.intp], iid: tuple[bool, bool]) -> MarginTest:
    needed = np.where(iid, _FEWEST_ROWS, _FEWEST_ROWS_OF_CHAINS)
    levels = _frequent(counts, needed)
    groups = _Groups(samples, counts, levels, iid)
    enough = groups.enough(needed)[: levels.size]
    if enough.any() and not enough.all():  # a level that lasts long when it occurs has few independent rows
        groups = _Groups(samples, counts, levels[enough], iid)
    return groups.test(needed)


def _frequent(counts: NDArray[np.intp], needed: Array) -> Codes:
    """The levels that are compared on their own, the most frequent first."""
    n = counts.sum(axis=1)
    shares = counts.sum(axis=0) / n.sum()
    order = np.argsort(-shares, kind="stable")
    order = order[shares[order] > 0]
    kept = order[: MOST_LEVELS if order.size <= MOST_LEVELS else MOST_LEVELS - 1]
    return kept[np.all(shares[kept] * n[:, None] >= needed[:, None], axis=0)]


class _Groups:
    """The shares of some levels, and of all others together, in two samples, with the errors of their differences."""

    def __init__(self, samples: list[Codes], counts: NDArray[np.intp], levels: Codes, iid: tuple[bool, bool]) -> None:
        n = counts.sum(axis=1)
        rest = n - counts[:, levels].sum(axis=1)
        others = np.setdiff1d(np.flatnonzero(counts.sum(axis=0)), levels)
        # one rare level needs no other name
        self.levels = [*levels.tolist(), *(others.tolist() if others.size == 1 else [REST] if others.size else [])]
        shares = np.column_stack([counts[:, levels], rest])[:, : len(self.levels)] / n[:, None]
        place = np.full(counts.shape[1], levels.size)
        place[levels] = np.arange(levels.size)
        self.sides = [
            _independent(own, size) if alone else _of_chains(place[codes], own)
            for codes, own, size, alone in zip(samples, shares, n.tolist(), iid, strict=True)
        ]
        self.shares = shares
        self.n_eff = np.stack([side.n_eff for side in self.sides])
        # the sample that knows a share better has the larger weight
        self.common = np.sum(self.n_eff * shares, axis=0) / np.sum(self.n_eff, axis=0)

    def enough(self, needed: Array) -> NDArray[np.bool_]:
        """Whether a group, and all others together, have enough effective rows."""
        fewest = np.minimum(self.common, 1.0 - self.common) * self.n_eff
        return np.asarray(np.all(fewest >= needed[:, None], axis=0))

    def test(self, needed: Array) -> MarginTest:
        """All groups with enough rows, in one test."""
        usable = np.flatnonzero(self.enough(needed))
        chosen = usable[:1] if len(self.levels) == 2 else usable  # the shares of two levels differ by the same
        tested = usable if usable.size else slice(None)
        n_eff = float(self.n_eff[0, tested].min()), float(self.n_eff[1, tested].min())
        if not usable.size or min(n_eff) < FEWEST_EFFECTIVE:
            why = "few-effective-draws" if min(n_eff) < FEWEST_EFFECTIVE else "rare-levels"
            return MarginTest((), (), (), math.nan, *n_eff, few_values=True, untested=why, levels=self._described({}))
        common = self.common[chosen]
        squares = common * (1.0 - common) / self.n_eff[:, chosen]
        variance = squares.sum(axis=0)
        df = variance**2 / np.sum(
            [square**2 / side.df[chosen] for square, side in zip(squares, self.sides, strict=True)], axis=0
        )
        differences, se = self.shares[0, chosen] - self.shares[1, chosen], np.sqrt(variance)
        scores = normal_scores(differences / se, df)
        expected = _multinomial(common)
        correlation = np.zeros((chosen.size, chosen.size))
        for side, square in zip(self.sides, squares, strict=True):
            own = side.correlation[np.ix_(chosen, chosen)]
            own = np.where(np.isnan(own), expected, own)
            np.fill_diagonal(own, 1.0)  # also of a group whose batches have equal means
            correlation += own * np.sqrt(np.outer(square, square))
        batches = sum(side.batches for side in self.sides) - 2.0
        trace = trace_of_squares(correlation / np.outer(se, se), batches)
        pvalue = float(combined_pvalue(scores, trace))
        root = np.sqrt(common)
        found = dict(zip(chosen.tolist(), scores.tolist(), strict=True))
        if len(self.levels) == 2:
            found = {int(chosen[0]): float(scores[0]), 1 - int(chosen[0]): -float(scores[0])}
        values, ses = (tuple((numbers / root).tolist()) for numbers in (differences, se))
        return MarginTest(
            values, ses, tuple(scores.tolist()), pvalue, *n_eff, few_values=True, levels=self._described(found)
        )  # fmt: skip

    def _described(self, scores: dict[int, float]) -> tuple[LevelShare, ...]:
        return tuple(
            LevelShare(level, float(self.shares[0, k]), float(self.shares[1, k]), scores.get(k, math.nan))
            for k, level in enumerate(self.levels)
        )


def _multinomial(shares: Array) -> Array:
    """Correlations of the indicators of levels in independent rows."""
    odds = np.sqrt(shares / (1.0 - shares))
    found: Array = -np.outer(odds, odds)
    np.fill_diagonal(found, 1.0)
    return found


def _independent(shares: Array, n: int) -> MarginSide:
    """Independent rows: correlations are those of the common shares, NaN here, and known exactly."""
    same = np.ones(shares.size)
    return MarginSide(
        shares, math.nan * same, (n - 1.0) * same, n * same, np.full((shares.size, shares.size), math.nan), math.inf
    )


def _of_chains(places: Codes, shares: Array) -> MarginSide:
    """Draws of chains; a group without draws, or with all of them, has the smallest effective number of the others."""
    indicators = np.stack([(places == k).astype(np.float64).reshape(-1) for k in range(shares.size)])
    side = MarginSide.of(indicators, places.shape[0], iid=False)
    still = (shares == 0.0) | (shares == 1.0)
    fewest, df = (float(np.nanmin(numbers, initial=places.size, where=~still)) for numbers in (side.n_eff, side.df))
    n_eff = np.where(still, fewest, side.n_eff)
    # The effective number of a rare level is known from few visits to it; where it is too large by chance, a usual difference
    # looks significant. What exceeds that of all levels together is therefore halved, in logarithms: with 8 levels on 4 chains
    # of 500 with an autocorrelation time of 9, tests at 5% rejected in 8.6% of cases without this, and in 4.9% with it.
    spread = shares * (1.0 - shares)
    if spread.any():
        n_eff = np.minimum(n_eff, np.sqrt(n_eff * spread.sum() / np.sum(spread / n_eff)))
    correlation = np.where(still | still[:, None], math.nan, side.correlation)
    return MarginSide(side.means, side.se, np.where(still, df, side.df), n_eff, correlation, side.batches)
