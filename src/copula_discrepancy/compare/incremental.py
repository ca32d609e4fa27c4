"""Rows of the pairs of a sample that grows: most are kept from an earlier look, those that changed most are computed anew.

A look at a sample costs one pass over all pairs, however few draws are new. While a sampler runs, most pairs change little
between two looks. So each look computes a few coefficients of every pair, which matrix products do at a hundredth of the cost
of its row, and spends the rest of its time on the pairs that moved or are old. Pairs without a row come in the order in which
these coefficients differ from the target's, so that a pair that is wrong does not wait for its turn among thousands that are
right. Every row says of how many draws it is. The variables one by one are compared at a look if that takes a small part of it,
or once in a few looks.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare.adjusted_rows import ranked_rows
from copula_discrepancy.compare.comparison import PairComparison
from copula_discrepancy.compare.jobs import Pairs, compute
from copula_discrepancy.compare.margins import Margins, compare_margins
from copula_discrepancy.compare.rows import empty_rows
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.estimate.all_pairs import compare_all
from copula_discrepancy.estimate.batches import BatchedRanks, left_out_columns
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.rank_table import RankedTable

_MOST = 64  # pairs between two looks at the clock: a few tenths of a second
_LEAST = 8  # pairs besides the top of the ranking that are computed whatever the time is, so that each one's turn comes
_PER_PAIR = 0.005  # seconds, before it is known
# Of the coefficients of form, the first four: strength, both bends or spreads, and extremes. They need to tell which pairs to
# compute anew, not what is wrong with them.
_ORDER = 2
_KNOWN = 200  # copulas whose coefficients are integrated, a millisecond each; of others the strength is used alone
_TYPICAL = 1.5  # standard errors that the largest of four coefficients moves by if each moves by one
_SCREENING = 0.3  # of the time of a look, at most, for the coefficients of all pairs
_UNTIL_SEEN = 0.1  # the same, while there are pairs without a row, which come before those that moved
_MARGINS = 0.15  # of the time of a look, at most, for the variables one by one
_PATIENCE = 0.7  # where these take longer, the next ones come after log(too long) / log(1 / 0.7) looks
# Rows of fewer draws vary more, so that those at the top of a ranking are old ones more often than not. Those that others
# leave above them are computed anew in turn: so many times at least, and for this part of the time of a look.
_ROUNDS, _TOP = 2, 0.25
_ADVICE = "the draws are read again at the next look"


@dataclass(frozen=True)
class Freshness:
    """How recent the rows of a look are.

    Attributes
    ----------
    pairs : int
        All pairs.
    current : int
        Pairs whose row is of all draws.
    missing : int
        Pairs without a row so far.
    oldest : int
        The draws, of all chains together, that the oldest row is of.
    margins : int
        The draws that the comparison of the variables one by one is of; 0 if there is none.
    """

    pairs: int
    current: int
    missing: int
    oldest: int
    margins: int = 0


class _Occasional:
    """When to compute what all pairs or variables need, so that it takes a part of every look, or comes less often."""

    def __init__(self) -> None:
        self._cost = 0.0

    def due(self, limit: float) -> bool:
        """Whether it takes so many seconds at most, or has been left out for long enough."""
        if self._cost <= limit:
            return True
        self._cost *= _PATIENCE
        return False

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure what it takes."""
        begin = time.monotonic()
        yield
        self._cost = time.monotonic() - begin


class KnownRows:
    """The rows of all pairs at the last look, and how to choose those that are computed anew; and the margins.

    Parameters
    ----------
    first : int
        Pairs at the top of the ranking that every look computes anew.
    adjust, alpha : str, float
        How the rows are ranked; see `ranked_rows`.

    Attributes
    ----------
    seconds, spent : float
        Time that a look may take, and that the last one took. It is not that of the processor: on a machine that is busy, a
        look is short all the same, and uses less.
    freshness : Freshness
        How recent the rows are.
    """

    def __init__(self, first: int, *, adjust: str = "bh", alpha: float = 0.05) -> None:
        self._first, self._adjust, self._alpha = first, adjust, alpha
        self._of: Any = None
        self._n = 0
        self._screening, self._comparing = _Occasional(), _Occasional()
        self._margins: tuple[Margins, int] | None = None
        self._target: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._per_pair = _PER_PAIR
        self.seconds, self.spent = np.inf, 0.0
        self.freshness = Freshness(0, 0, 0, 0)

    def rows(
        self, comparison: PairComparison, pairs: Pairs, n_jobs: int | None, tick: Callable[[int], None], checkpoint: Any = None
    ) -> NDArray[Any]:
        """Rows of all pairs, in order, as `jobs.run` computes them: anew those that moved most, as far as `seconds` allow."""
        table = comparison.draws
        assert isinstance(table, RankedTable)
        begin = time.monotonic()
        # other variables, other chains, or fewer draws: what is known is of another sample
        of = table.names, table.n_chains, len(pairs)
        if of != self._of or table.n < self._n:
            self._forget(of, pairs)
        self._n = table.n
        if self._screening.due((_SCREENING if self._at.all() else _UNTIL_SEEN) * self.seconds):
            with self._screening.measured():
                self._coefficients, self._errors = _screened(table, comparison.iid[0], pairs)
            if self._target is None:
                self._target = _expected(comparison, pairs)
        order, done = self._most_moved(table.n), 0
        until, end = (begin + part * self.seconds for part in (1.0 - _MARGINS - _TOP, 1.0 - _MARGINS))
        end -= self._first * self._per_pair

        def anew(chosen: NDArray[np.intp]) -> None:
            self._rows[chosen] = compute(comparison, [pairs[k] for k in chosen.tolist()], n_jobs, tick, _ADVICE)
            self._at[chosen] = table.n
            self._then[chosen] = self._coefficients[chosen]

        while done < order.size:
            start = time.monotonic()
            affordable = int(min((until - start) / self._per_pair, _MOST))
            if done and affordable < _LEAST:  # a few pairs at a time take longer each
                break
            chosen = order[done : done + (affordable if done else max(affordable, self._first + _LEAST))]
            anew(chosen)
            self._per_pair = (time.monotonic() - start) / chosen.size
            done += chosen.size
        rounds = 0
        while (old := self._worst_of_earlier_looks(table.n)).size and (rounds < _ROUNDS or time.monotonic() < end):
            anew(old)
            rounds += 1
        seen = self._at[self._at > 0]
        self.freshness = Freshness(
            len(pairs), int(np.sum(self._at == table.n)), int(np.sum(self._at == 0)), int(seen.min(initial=table.n))
        )
        self.spent = time.monotonic() - begin
        return self._rows.copy()

    def margins(self, samples: tuple[Draws, Draws], iid: tuple[bool, bool], **choices: Any) -> Margins:
        """The variables one by one, as `compare_margins` compares them: anew if that takes a small part of a look."""
        draws, begin = samples[0], time.monotonic()
        of = None if self._margins is None else sorted(self._margins[0].names)
        if of != sorted(draws.names) or self._comparing.due(_MARGINS * self.seconds):
            with self._comparing.measured():
                self._margins = compare_margins(samples, iid, **choices), draws.n_chains * draws.n_draws
        assert self._margins is not None
        known, n = self._margins
        self.freshness = replace(self.freshness, margins=n)
        self.spent += time.monotonic() - begin
        return known

    def _worst_of_earlier_looks(self, n: int) -> NDArray[np.intp]:
        """The pairs at the top of the ranking, of the rows as they are now, that are of fewer draws than n."""
        unseen = self._at == 0
        worst = ranked_rows(self._rows, self._adjust, self._alpha, waiting=unseen if unseen.any() else None)[1]
        top = worst[: self._first]
        return top[(self._at[top] > 0) & (self._at[top] < n)]

    def _forget(self, of: Any, pairs: Pairs) -> None:
        self._of, self._n, count = of, 0, len(pairs)
        self._rows, self._at = empty_rows(count), np.zeros(count, np.int64)
        self._rows["first"], self._rows["second"] = np.array(pairs, np.int32).reshape(-1, 2).T
        self._rows["n"] = 0.0  # compared with no draws so far; rows without a number have failed
        shape = count, _ORDER * _ORDER
        self._coefficients, self._errors, self._then = (np.full(shape, np.nan) for _ in range(3))
        self._target = None
        self._screening, self._comparing, self._margins = _Occasional(), _Occasional(), None

    def _most_moved(self, n: int) -> NDArray[np.intp]:
        """The pairs that are not of all draws: the top of the ranking, those never seen, then the others, most moved first.

        A row is expected to move by sqrt(n / n_then - 1) of its present standard errors; its coefficients tell whether it moved
        by more. Those never seen come by the difference of their coefficients from the target's.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.abs(self._coefficients - self._then) / self._errors / _TYPICAL
            expected = np.sqrt(n / self._at - 1.0)
        score = np.fmax(np.nan_to_num(moved, nan=0.0).max(axis=1, initial=0.0), expected)
        due, differing = np.flatnonzero(self._at < n), np.zeros(len(self._at))
        if self._target is not None:
            target, errors = self._target
            with np.errstate(invalid="ignore"):
                apart = np.abs(self._coefficients - target) / np.hypot(self._errors, errors)
            differing = np.nan_to_num(apart, nan=0.0, posinf=0.0).max(axis=1, initial=0.0)
        unseen = self._at == 0
        # the last key counts most
        ordered = due[np.lexsort((-np.where(unseen, differing, score)[due], ~unseen[due]))]
        top = np.isin(ordered, self._worst_of_earlier_looks(n))
        return np.concatenate([ordered[top], ordered[~top]])


def _screened(table: RankedTable, iid: bool, pairs: Pairs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first coefficients of form of each pair, and their standard errors; NaN for columns that have none."""
    columns = [k for k in range(len(table.names)) if k not in left_out_columns([table])]
    found = np.full((2, len(pairs), _ORDER * _ORDER), np.nan)
    if len(columns) < 2:
        return found[0], found[1]
    forms = compare_all(BatchedRanks.of(table, columns, iid=iid), None, order=_ORDER, n_jobs=1)
    place = np.full((len(table.names), len(table.names)), -1)
    used = np.array(columns)
    place[used[forms.first], used[forms.second]] = np.arange(forms.first.size)
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    at = place[first, second]
    known = at >= 0
    for values, cells in zip(found, (forms.own, forms.se), strict=True):
        values[known] = cells[at[known]].reshape(-1, _ORDER * _ORDER)
    return found[0], found[1]


def _expected(comparison: PairComparison, pairs: Pairs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first coefficients that each pair should have, and their standard errors; NaN where that is not known.

    Without a target the question is whether a family fits. Those of most families are near the Gaussian copula's of the same
    strength, whose third coefficient of four is zero as the second is: only the strength is not compared.
    """
    shape = len(pairs), _ORDER * _ORDER
    target, errors = np.full(shape, np.nan), np.zeros(shape)
    if isinstance(comparison.reference, RankedTable):
        return _screened(comparison.reference, comparison.iid[1], pairs)
    if comparison.reference is not None:
        return target, errors
    if not comparison.targets:
        target[:, 1:3] = 0.0
        return target, errors
    known: dict[Any, NDArray[np.float64]] = {}
    for k, pair in enumerate(pairs):
        copula = comparison.targets.get(pair)
        if copula is None:
            continue
        if copula not in known and len(known) < _KNOWN:
            known[copula] = copula_coefficients(copula, _ORDER).ravel()
        if copula in known:
            target[k] = known[copula]
        else:  # Spearman's rho of the Gaussian copula with this tau
            target[k, 0] = 6.0 / np.pi * np.arcsin(0.5 * np.sin(0.5 * np.pi * copula.tau))
    return target, errors
