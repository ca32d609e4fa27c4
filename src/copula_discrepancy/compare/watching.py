"""A run of a sampler watched: looks at its draws, as often as a share of one core allows, and the last answer at its end."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.workers import one_blas_thread
from copula_discrepancy.compare.incremental import KnownRows
from copula_discrepancy.compare.many import Choices, rank_pairs
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.pacing import Budget, Pace
from copula_discrepancy.compare.ranking import SHOWN
from copula_discrepancy.compare.watch_result import LEFT_OUT, QUIET, WatchUpdate
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.following.progress import UNFINISHED, UNREAD, Follower, Progress
from copula_discrepancy.data.naming import listed
from copula_discrepancy.estimate.agreement import RHAT_LIMIT
from copula_discrepancy.estimate.ranks import concordance
from copula_discrepancy.families import resolve_family

_TOLD = {LEFT_OUT: "chains-left-out", UNREAD: "unread-at-end"}  # beginnings of notes that are caveats at the end
_FIRST = 50  # draws per chain before the first look: standard errors of chains need some 20, and fewer than 50 tell nothing
_FEWEST = 4  # draws per chain of a run that is over: the answer says how little they tell
_CATCHING_UP = 0.1  # seconds between readings of draws that are there already, which settle meanwhile
_POLL = 1.0  # seconds between two readings: a sampler writes thousands of draws in one, or a few
_SOON = 0.01  # seconds before a look is due, when it may begin: a sleep may end a little early
_POLITE = 0.2  # of the time that may be used, for reading
_CHEAP = 0.1  # of what is earned between two looks: a reading that takes less comes before every look
_FAR_BEHIND = 0.5  # of the longest chain: one that is not so short is never left out, since slow chains may be stuck ones
_EVEN = 1.1  # ratio of lengths that needs no note
_SEVERAL = 3  # chains, of which one can differ from the others
_ODD = 2.0  # times as far from the others as these are from each other
_RATE = 0.3  # weight of the latest reading in the rate of draws


class Watching:
    """The state of a watch: iterate over `updates`, which ends when the run does; then `final` has the last answer.

    Parameters
    ----------
    follower : Follower
        The source.
    reference : object
        What the draws are compared with; see `pairwise`.
    pace : Pace
        How often to look.
    error : float
        The standard error of Kendall's tau that is wanted.
    n_jobs : int or None
        Threads of the last answer; the looks before use one.
    clock, sleep : callable
        Time in seconds, and how to let it pass.
    processor : callable
        Processor time of this thread, in seconds.
    **choices : object
        Options of `pairwise`.
    """

    def __init__(
        self,
        follower: Follower,
        reference: Any,
        *,
        pace: Pace,
        error: float,
        n_jobs: int | None = -1,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        processor: Callable[[], float] = time.thread_time,
        **choices: Any,
    ) -> None:
        self._follower, self._reference, self._pace, self._error = follower, reference, pace, error
        self._n_jobs, self._choices = n_jobs, choices
        options = {name: value for name, value in choices.items() if name in Choices._fields}
        self._checked = Choices.checked(n_jobs=n_jobs, **options)  # before a run is waited for
        if choices.get("family") not in (None, "auto"):
            resolve_family(choices["family"], None)
        self._clock, self._sleep = clock, sleep
        self.budget = Budget(pace, clock, processor)
        self._known = self._no_rows()
        self._start = self._grew = clock()
        self._looked, self._as_of = -math.inf, math.nan
        self._used: tuple[Any, ...] | None = None
        self._readings = [0.0, 0.0]
        self._latest: Progress = Progress()
        self._rate = self._polled = math.nan
        self._read = self._start
        self._result: Pairwise | None = None
        self._odd_chain = ""
        self._over = False  # no more draws will come, or none came for so long that the watch has ended
        self._update: WatchUpdate | None = None

    @property
    def latest(self) -> WatchUpdate:
        """What is known now: the answer of the latest look, with the draws so far."""
        if self._update is not None and self._update.final:
            return self._update
        return self._state(self._result, final=False)

    @property
    def ending(self) -> WatchUpdate:
        """The state while the last answer is computed."""
        return replace(self.latest, ending=True)

    @property
    def comparable(self) -> bool:
        """Whether there are draws enough for an answer: few are if no more will come."""
        return max(self._latest.lengths, default=0) >= self._fewest

    @property
    def _fewest(self) -> int:
        """The draws per chain that an answer takes."""
        return _FEWEST if self._over else _FIRST

    def updates(self) -> Iterator[WatchUpdate]:
        """An update whenever something is new: draws, an answer, or what is waited for."""
        while True:
            self._poll()
            self._over = self._ended()
            if self._over:
                return
            next_reading = self._clock() + self._pause
            self._look_if_due()
            yield self.latest
            if self._follower.pulls:
                continue
            self._wait(next_reading)
            # a look that is due comes after a reading, unless reading costs so much that both cannot be paid
            while self._reading > _CHEAP * self.budget.earned and self._clock() < next_reading:
                if self._look_if_due():
                    yield self.latest
                self._wait(next_reading)

    def final(self, *, interrupted: bool = False) -> WatchUpdate:
        """All pairs of all draws compared, none kept from before; `interrupted` if the watch ended before the run."""
        if self._update is not None and self._update.final:
            return self._update
        if interrupted and not self._follower.pulls:
            self._poll()
            while self._latest.behind and self._clock() - self._grew < QUIET:
                self._sleep(_CATCHING_UP)
                self._poll()
        draws = self._whole()
        if draws is None:
            lengths = self._latest.lengths
            few = f"{self._fewest} draws of every chain are needed, got {' + '.join(map(str, lengths)) or 0}"
            failed = f"the sampler failed ({self._latest.failed})" if self._latest.failed else ""
            raise InputError(f"there was nothing to compare: {failed or self._latest.waiting_for or few}", "too-few-draws")
        if draws.n_draws > max(self._latest.lengths):  # by last lines without an end, which readers count
            notes = tuple(note for note in self._latest.notes if not note.endswith(UNFINISHED))
            self._latest = replace(self._latest, chains=tuple(draws.values), notes=notes)
        result = rank_pairs(draws, self._reference, n_jobs=self._n_jobs, **self._choices)
        found = {note: code for note in result.notes for start, code in _TOLD.items() if note.startswith(start)}
        early = self._ended_early(interrupted)
        if early is not None and early.code == "unfinished-run":  # then what is left of the source is no surprise
            found = {note: code for note, code in found.items() if code != "unread-at-end"}
        caveats = [*([] if early is None else [early]), *(caveat_of(code, note) for note, code in found.items())]
        restarts = (note for note in self._latest.restarts if note not in result.notes)
        notes = (*restarts, *(note for note in result.notes if note not in found))
        self._result = replace(result, caveats=(*caveats, *result.caveats), notes=notes)
        self._odd_chain = _odd_chain(self._result)
        self._update = self._state(self._result, final=True)
        return self._update

    def _ended_early(self, interrupted: bool) -> Caveat | None:
        """That more draws were to come, or may have been."""
        latest = self._latest
        least, most = min(latest.lengths), max(latest.lengths)
        so_far = f"{least:,}{f' to {most:,}' if most > least else ''} of {latest.expected or 0:,} draws"
        if latest.failed:
            return caveat_of("unfinished-run", f"the sampler failed ({latest.failed}): the answer is about the draws before")
        chains = f"{len(latest.labels)} of {len(latest.labels) + latest.missing_chains} chains"
        whole = latest.expected is None or least >= latest.expected
        ended = latest.finished is True and whole
        if (ended or (latest.complete and not interrupted)) and not latest.missing_chains:
            return None
        if interrupted:
            before = "another chain could begin" if latest.complete else "the run"
            return caveat_of("unfinished-run", f"the watch was ended before {before}: the answer is about the draws so far")
        if latest.finished is True:  # by nutpie's abort(), for example
            return caveat_of("unfinished-run", f"the run ended with {chains if whole else so_far}")
        quiet = f"no new draws came for {self._clock() - self._grew:.0f} s, so the watch ended"
        if latest.expected is not None and least < latest.expected:
            return caveat_of("unfinished-run", f"{quiet}, with {so_far}")
        if latest.missing_chains:
            return caveat_of("unfinished-run", f"{quiet}, with {chains}")
        if latest.waiting_for:
            return caveat_of("unfinished-run", f"{quiet}: {latest.waiting_for}")
        return caveat_of("end-unknown", f"{quiet}; whether the run was complete is not known")

    # ---- reading ---------------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        begin = self._clock()
        if self._follower.pulls:  # what is drawn meanwhile is the sampler's
            progress = self._follower.poll()
        else:
            with self.budget.spending(own_threads=self._follower.own_threads) as used:
                progress = self._follower.poll()
            self._readings = [self._readings[-1], used()]
            if not any(self._latest.lengths):  # what there was before the watch, and what is loaded to read it
                self.budget.caught_up()
        now = self._clock()
        # the first draws come after a warm-up, which is no part of their time; how long those took that were there is not known
        since = self._grew if any(self._latest.lengths) else self._polled
        if progress.generation != self._latest.generation:
            self._known, self._result, self._used, self._odd_chain = self._no_rows(), None, None, ""
            self._rate, self._grew, since = math.nan, now, math.nan
        if progress.new:
            if now > since and not (progress.behind or self._latest.behind):  # what was there already came at any speed
                rate = progress.new / (now - since)
                self._rate = rate if math.isnan(self._rate) else (1.0 - _RATE) * self._rate + _RATE * rate
            self._grew = now
        self._latest, self._read, self._polled = progress, begin, now

    @property
    def _rest(self) -> float:
        """Seconds until the next look."""
        return max(self._looked + self._pace.every - self._clock(), self.budget.rest)

    @property
    def _reading(self) -> float:
        """What a reading costs: the cheaper one of the last two, since a dear one may have caught up."""
        return min(self._readings)

    @property
    def _pause(self) -> float:
        """Seconds until the next reading: reading takes a small part of the share."""
        return max(_POLL, self._reading / (_POLITE * self._pace.share))

    def _wait(self, until: float) -> None:
        """Sleep until this time, or until a look is due."""
        left, rest = max(until - self._clock(), 0.0), self._rest
        self._sleep(min(left, rest) if rest > _SOON else left)

    def _ended(self) -> bool:
        """Whether the run is over, or nothing came for so long that it must be."""
        if self._latest.finished is True:
            return True
        silent = self._clock() - self._grew
        if self._latest.behind or self._latest.settling:  # there are draws that were not read yet
            return False
        if any(self._latest.lengths):
            return silent > self._pace.patience
        # a file without draws is that of a sampler that warms up, which may take hours
        return not self._there and silent > self._pace.wait

    @property
    def _there(self) -> bool:
        """Whether the source is there, with draws or without."""
        return self._latest.exists or bool(self._latest.labels)

    # ---- looking ---------------------------------------------------------------------------------------------------

    def _look_if_due(self) -> bool:
        """Look at draws that are new, if it is time for it; whether it was."""
        used = _used_draws(self._latest)
        if used is None:
            return False
        if (used.labels, used.lengths) == self._used:
            self._as_of = self._read
            return False
        if self._rest > _SOON:
            return False
        self._look(used)
        return True

    def _no_rows(self) -> KnownRows:
        """What is known before the first look."""
        return KnownRows(SHOWN, adjust=self._checked.adjust, alpha=1.0 - self._checked.confidence)

    def _look(self, used: Progress) -> None:
        first, self._looked, self._as_of = math.isinf(self._looked), self._clock(), self._read
        if self._used is not None and self._used[0] != used.labels:
            self._known = self._no_rows()  # of other chains
        fresh = self._known.freshness
        self._known.seconds = self.budget.of_rows(all_known=fresh.pairs > 0 and not fresh.missing)
        begin = time.monotonic()
        with one_blas_thread(), self.budget.spending():
            result = rank_pairs(
                _as_draws(used), self._reference, n_jobs=1, engine="exact", computed_by=self._known.rows,
                margins_by=self._known.margins, progress=False, unfinished=True, **self._choices,
            )  # fmt: skip
            result = _unfinished(result, self._stand(result))
        self._result, self._used = result, (used.labels, used.lengths)
        self._odd_chain = _odd_chain(result)
        rows = self._known.spent
        self.budget.looked(rows, time.monotonic() - begin - rows, first=first)

    def _stand(self, result: Pairwise) -> str:
        """How far the run was at a look, and of how many draws its rows are."""
        sample, fresh = result.samples[0], self._known.freshness
        # as the line about the run counts them
        of_each = " of each chain" if sample.n_chains > 1 else ""
        said = f"the run goes on: a look at its first {sample.n_draws:,} draws{of_each}"
        if fresh.missing:
            said += f"; {fresh.missing:,} of {fresh.pairs:,} pairs are not compared yet"
        if fresh.current + fresh.missing < fresh.pairs:
            said += (
                f"; {fresh.pairs - fresh.current - fresh.missing:,} pairs, which changed least since, have numbers of earlier "
                f"looks, at {fresh.oldest // sample.n_chains:,} draws or more (column n has those of all chains)"
            )
        if 0 < fresh.margins < sample.n_chains * sample.n_draws:
            said += f"; the variables one by one are as they were at {fresh.margins // sample.n_chains:,} draws"
        return said

    def _whole(self) -> Draws | None:
        """All draws, as they are read at rest; those of the chains that have most, if their lengths differ."""
        if not self.comparable:
            return None
        if len(set(self._latest.lengths)) == 1:
            whole: Draws = self._follower.whole()
            return whole
        used = _used_draws(self._latest, at_end=True, fewest=self._fewest)
        return None if used is None else _as_draws(used)

    def _state(self, result: Pairwise | None, *, final: bool) -> WatchUpdate:
        latest, now = self._latest, self._clock()
        silent, notes = now - self._grew, (*latest.restarts, *latest.notes)
        if final and latest.waiting_for and not latest.complete:
            notes = (*notes, f"at the end: {latest.waiting_for}")
        if not final and self._there and latest.finished is not True and silent > QUIET:
            if any(latest.lengths):
                quiet = "no new draws: the sampler may be slow, or may have been stopped"
                notes = (*notes, f"{quiet}; the watch ends after {self._pace.patience:.0f} s without any")
            else:
                quiet = f"no draws for {silent:.0f} s: the sampler is warming up, or was stopped before its first draw"
                notes = (*notes, f"{quiet}; the watch goes on until there are some, or until it is interrupted")
        return WatchUpdate(
            result=result,
            lengths=latest.lengths,
            labels=latest.labels,
            expected=latest.expected,
            rate=self._rate,
            seconds=now - self._start,
            silent=math.nan if final else silent,
            odd_chain=self._odd_chain,
            age=math.nan if result is None or final else now - self._as_of,
            freshness=None if result is None or final else self._known.freshness,
            error=self._error,
            waiting_for=latest.waiting_for,
            notes=notes,
            final=final,
        )


def _used_draws(progress: Progress, *, at_end: bool = False, fewest: int = _FIRST) -> Progress | None:
    """The chains that are compared, cut to one length; None if there are fewer draws than these of each.

    Chains may have different lengths so far. Of all ways to take the longest chains, each cut to the shortest of them, the one
    that keeps most draws is used, but none with half of the longest chain's draws is left out: a chain that was killed early
    is, one that is behind is not, since a slow chain may be the one that disagrees.
    """
    lengths = np.array(progress.lengths, int)
    if not lengths.size:
        return None
    longest = np.argsort(-lengths, kind="stable")
    kept = lengths[longest] * np.arange(1, lengths.size + 1)
    count = max(int(np.argmax(kept)) + 1, int(np.sum(lengths >= _FAR_BEHIND * lengths.max())))
    common = int(lengths[longest[count - 1]])
    if common < fewest:
        return None
    chosen = sorted(longest[:count].tolist())
    notes = progress.notes
    if count < lengths.size:
        left = [f"{progress.labels[k]} ({lengths[k]:,} draws)" for k in sorted(longest[count:].tolist())]
        notes = (*notes, f"{LEFT_OUT}, with less than half of the draws of the longest chain: {listed(left)}")
    if lengths[chosen].max() > (common if at_end else _EVEN * common):  # chains are never equally long while they run
        other = " other" * (count < lengths.size)
        notes = (
            *notes,
            f"every{other} chain is cut to {common:,} draws, the length of the shortest{' of these' * bool(other)}",
        )
    divergent = progress.divergent
    return replace(
        progress,
        chains=tuple(progress.chains[k][:common] for k in chosen),
        labels=tuple(progress.labels[k] for k in chosen),
        notes=notes,
        divergent=None if divergent is None else tuple(divergent[k][:common] for k in chosen),
    )


def _odd_chain(result: Pairwise) -> str:
    """The chain that differs from the others on Kendall's tau, where chains disagree on it most; empty if none stands out."""
    draws, rhats = result.samples[0], result.rows["rhat"]
    if draws.n_chains < _SEVERAL or np.isnan(rhats).all() or not np.nanmax(rhats) > RHAT_LIMIT:
        return ""
    row = result.rows[int(np.nanargmax(rhats))]
    x, y = (draws.column(int(row[end])) for end in ("first", "second"))
    means = concordance(x, y).reshape(draws.n_chains, -1).mean(axis=1)
    others = [np.delete(means, k) for k in range(len(means))]
    apart = [abs(mean - np.median(rest)) - _ODD * np.ptp(rest) for mean, rest in zip(means, others, strict=True)]
    return draws.chain_name(int(np.argmax(apart))) if max(apart) > 0.0 else ""


def _unfinished(result: Pairwise, sentence: str) -> Pairwise:
    """A result with the caveat that more draws are to come, or may have been."""
    return replace(result, caveats=(caveat_of("unfinished-run", sentence), *result.caveats))


def _as_draws(used: Progress) -> Draws:
    """Chains of one length as draws, checked like any others."""
    values = np.stack(used.chains)
    made = as_draws({name: values[:, :, k] for k, name in enumerate(used.names)})
    diverging = None if used.divergent is None else np.stack(used.divergent)
    notes = (*used.notes, *made.notes)
    return replace(made, notes=notes, diverging=diverging, chain_names=used.labels, named=used.named)
