"""What is known of a run while it goes on: its draws so far, the latest answer, and how sure it is."""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy.compare import wording
from copula_discrepancy.compare.incremental import Freshness
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.data.following.progress import UNEQUAL
from copula_discrepancy.data.naming import listed
from copula_discrepancy.estimate.agreement import RHAT_LIMIT
from copula_discrepancy.estimate.form import FORM_RHAT_LIMIT

# why a look is no reason to stop: said wherever a look is shown
LOOKS = (
    "this run goes on. If you look often, you will see a gap by chance, and a run that is stopped when its numbers look good "
    "is biased: the answer at the end counts."
)
LEFT_OUT = "chains left out"  # begins the note that some are
_RHATS = (("rhat", "", RHAT_LIMIT), ("form_rhat", " of form", FORM_RHAT_LIMIT))
_ABOUT_CHAINS = ("stuck-chain", "repeated-chains")
QUIET = 30.0  # seconds without new draws that are told
_LONG, _CLEAR = 1000, 1.1  # draws per chain from which on R-hat is seldom above its limits by chance, and never above this
_CLEAR_OF_FORM = 1.2  # as far beyond, since its limit is twice as far from 1
_FEWEST_EFFECTIVE = 20  # draws of a pair, below which its standard error is no number to count on
_PAIRS = 4  # named in a sentence
ENDING = "the watch is over, and all draws are being compared"


@dataclass(frozen=True, eq=False, repr=False)
class WatchUpdate:
    """A run of a sampler at one moment: the draws so far, and the answer of the latest look.

    `watch` passes one to ``on_update`` whenever something is new, and returns the last; print it for a summary in words.

    Attributes
    ----------
    result : Pairwise or None
        The comparison of the latest look; None before the first. Unless `final`, some of its rows may be of fewer draws: the
        column ``n`` says of how many, and `freshness` how many rows are of all draws.
    lengths : tuple of int
        Draws of each chain so far.
    labels : tuple of str
        The chains.
    expected : int or None
        Draws of a finished chain, if known.
    rate : float
        Draws per second, of all chains together.
    seconds : float
        Since the watch began.
    silent : float
        Seconds without new draws; NaN at the end.
    odd_chain : str
        The chain that differs from the others on Kendall's tau, in the pair on which the chains disagree most; empty if none
        stands out.
    age : float
        Seconds since `result` was of all draws that there were; NaN without a result, and at the end.
    freshness : Freshness or None
        How recent the rows of `result` are; None at the end, when all are of all draws.
    error : float
        The standard error of Kendall's tau that is wanted; of its gap, if the reference has an error too.
    waiting_for : str
        What is missing, in words; empty if nothing is.
    notes : tuple of str
        What was left out or has happened.
    final : bool
        Whether the run is over, so that the answer is that of `pairwise` for all its draws.
    ending : bool
        Whether the watch is over and all draws are being compared, for the last answer.

    See Also
    --------
    watch : The function that returns it.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> blocks = (cd.Clayton(3.0).sample(200, rng=k).reshape(2, 100, 2) for k in range(5))
    >>> update = cd.watch(blocks, cd.Gumbel(2.5), progress=False)
    >>> update.final, update.lengths, update.result.outcome
    (True, (500, 500), 'gap')
    """

    result: Pairwise | None
    lengths: tuple[int, ...]
    labels: tuple[str, ...]
    expected: int | None
    rate: float
    seconds: float
    silent: float
    odd_chain: str
    age: float
    freshness: Freshness | None
    error: float
    waiting_for: str
    notes: tuple[str, ...]
    final: bool
    ending: bool = False

    @property
    def disagreeing(self) -> tuple[tuple[str, str], ...]:
        """Pairs in which the chains disagree, worst first: R-hat of Kendall's tau above 1.01, or of form above 1.02."""
        if self.result is None:
            return ()
        rows = self.result.rows
        excess = np.fmax(rows["rhat"] - RHAT_LIMIT, rows["form_rhat"] - FORM_RHAT_LIMIT)
        apart = np.flatnonzero(excess > 0.0)
        apart = apart[np.argsort(-excess[apart], kind="stable")]
        names = self.result.names
        return tuple((names[rows["first"][k]], names[rows["second"][k]]) for k in apart.tolist())

    @property
    def seconds_to_error(self) -> float:
        """Seconds until all gaps in level have the wanted standard error at the present rate; see `draws_to_error`.

        NaN if that cannot be estimated, also where no draws come any more.
        """
        draws = self.draws_to_error
        if draws == 0.0 or not math.isfinite(draws):
            return draws
        if not self.rate > 0.0 or self.silent > QUIET:
            return math.nan
        assert self.result is not None
        compared = self.result.samples[0]
        # the rate is that of chains that are left out as well if they go on, as copies of others do
        going_on = sum(length >= compared.n_draws for length in self.lengths)
        return draws / compared.n_chains * going_on / self.rate

    @property
    def _clearly_apart(self) -> bool:
        """Whether the chains disagree so much that effective draws count modes, and do not grow with the run."""
        if self.result is None:
            return False
        rows = self.result.rows
        return bool(np.any((rows["rhat"] > _CLEAR) | (rows["form_rhat"] > _CLEAR_OF_FORM)))

    @property
    def _no_estimate(self) -> str:
        """Why standard errors do not tell how the errors are, in words; empty if they do.

        A chain that stands still has no spread of its own, so that standard errors are too small by any factor.
        """
        if self.result is None:
            return ""
        if any(caveat.code == "stuck-chain" for caveat in self._own_caveats):
            return "while a chain stands still"
        if self._clearly_apart:
            return "while the chains disagree"
        if np.any(self.result.rows["n_eff"] < _FEWEST_EFFECTIVE):
            return f"while a pair has fewer than {_FEWEST_EFFECTIVE} effective draws"
        return ""

    @property
    def _own_caveats(self) -> list[Caveat]:
        """The caveats that are not about the reference."""
        assert self.result is not None
        return [caveat for caveat in self.result.caveats if not caveat.sentence.startswith("reference: ")]

    @property
    def draws_to_error(self) -> float:
        """Draws of all chains that are compared, together, until all gaps in level have the wanted standard error.

        0 if they have it, infinity if they never will because the reference is too short; NaN if it cannot be estimated, as
        where the chains disagree or one stands still.
        """
        if self.result is None or self._no_estimate:
            return math.nan
        rows = self.result.rows
        own, other = rows["tau_se"] ** 2, np.nan_to_num(rows["tau_target_se"]) ** 2
        known = np.isfinite(own) & (own > 0.0)
        if not known.any():
            return math.nan
        room = self.error**2 - other[known]
        if (room <= 0.0).any():
            return math.inf
        needed = float(np.max(rows["n"][known] * own[known] / room))
        compared = self.result.samples[0]  # chains that are left out add nothing to what rows are of
        return max(needed - compared.n_chains * compared.n_draws, 0.0)

    def sentences(self) -> dict[str, str]:
        """The state in words, by topic: Run, then the topics of `Pairwise.sentences`, Chains and Error, and at looks Looks."""
        texts = {"Run": self._run()}
        if self.result is not None:
            texts |= self.result.sentences()
            texts |= {"Chains": self._chains(), "Error": self._time_to_error()}
            if not (self.final or self.ending):
                texts["Looks"] = LOOKS
        return {topic: text for topic, text in texts.items() if text}

    @property
    def run_so_far(self) -> str:
        """How many draws there are."""
        return f"{self._draws()}."

    def _draws(self) -> str:
        least, most = min(self.lengths, default=0), max(self.lengths, default=0)
        each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        of = f" of {self.expected:,}" if self.expected else ""
        return f"{each}{of} draws in {wording.counted(len(self.lengths), 'chain')}"

    def _run(self) -> str:
        """How far the run is."""
        if not self.labels:
            return f"waiting: {self.waiting_for or 'there are no draws yet'}."
        parts = [self._draws()]
        if self.final:
            parts.append(f"after {duration(self.seconds)}")
        elif self.silent > QUIET:
            parts.append(f"no new ones for {duration(self.silent)}")
        elif self.rate > 0.0:
            each_rate, per = self.rate / len(self.lengths), " each" if len(self.lengths) > 1 else ""
            parts.append(f"{each_rate:,.0f} a second{per}" if each_rate >= 1.0 else f"one every {1.0 / each_rate:.0f} s{per}")
        if self.result is None and not self.final:
            parts.append("the first answer comes with 50 draws per chain")
        elif math.isfinite(self.age):
            parts.append(f"answer {self.age:.0f} s old")
        if self.freshness is not None and self.freshness.current < self.freshness.pairs:
            fresh = self.freshness
            missing = f", {fresh.missing:,} not yet" if fresh.missing else ""
            assert self.result is not None
            oldest = fresh.oldest // self.result.samples[0].n_chains
            parts.append(
                f"{fresh.current:,} of {fresh.pairs:,} pairs with all draws, the others with {oldest:,} or more{missing}"
            )
        rest = f" Waiting: {self.waiting_for}." if self.waiting_for and not self.final else ""
        if self.ending:
            rest = f" {ENDING[0].upper()}{ENDING[1:]}."
        return f"{', '.join(parts)}.{rest}"

    def _chains(self) -> str:
        """In which pairs the chains disagree."""
        result = self.result
        assert result is not None
        apart = self.disagreeing
        several = result.samples[0].n_chains > 1
        told = self._told_of_chains()
        rhats = [
            f"{wording.rhat_against(float(np.nanmax(result.rows[name])), limit)}{of}"
            for name, of, limit in _RHATS
            if not np.isnan(result.rows[name]).all()
        ]
        if not rhats:
            return f"{told.removeprefix('; ')}." if told else ""
        compared = f"pairs{' compared so far' * (result.waiting > 0)}"
        if not apart:
            agree = "they agree" if several else "there is one, whose halves agree"
            return f"{agree} in all {compared} (R-hat at most {', '.join(rhats)}){told}."
        shown = listed([wording.pair_label(*pair) for pair in apart], _PAIRS)
        which = f"{len(apart):,} of {len(result) - result.waiting:,} {compared}"
        odd = f"; most unlike the others: {self.odd_chain}" if self.odd_chain else ""
        excused = self.final or max(self.lengths) >= _LONG or self._clearly_apart
        chance = "" if excused else f" With fewer than {_LONG:,} draws, that may be chance."
        disagree = "they disagree" if several else "there is one, whose halves disagree"
        return f"{disagree} in {which} (R-hat up to {', '.join(rhats)}): {shown}{odd}{told}.{chance}"

    def _told_of_chains(self) -> str:
        """Chains that are left out, or should not count: those that stand still, and those that repeat another."""
        assert self.result is not None
        said = (*self.result.notes, *self.result.warnings)
        left_out = next((f"; left out: {note.partition(': ')[2]}" for note in said if note.startswith(LEFT_OUT)), "")
        some = [caveat.sentence for caveat in self._own_caveats if caveat.code in _ABOUT_CHAINS]
        more = f" (and {len(some) - 1} more, in the notes)" if len(some) > 1 else ""
        return f"{left_out}{f'; {some[0]}{more}' if some else ''}"

    def _time_to_error(self) -> str:
        """How long until numbers are as exact as wanted."""
        draws, of = self.draws_to_error, self._of_what
        wanted = f"a standard error of {self.error:g} for {of}"
        if math.isnan(draws):
            return f"how long {wanted} takes cannot be estimated {self._no_estimate}." if self._no_estimate else ""
        every = "every pair compared so far" if self.freshness is not None and self.freshness.missing else "every pair"
        if draws == 0.0:
            return f"the standard error of {of} is at most {self.error:g} in {every}."
        assert self.result is not None
        if math.isinf(draws):
            largest = float(np.nanmax(self.result.rows["tau_target_se"]))
            return f"{wanted} cannot be reached: the reference's own is up to {largest:.2g}. Use a longer reference."
        compared = self.result.samples[0]
        further = draws / compared.n_chains
        more = f"{wording.about(further)} more draws{' of each chain' if len(self.lengths) > 1 else ''}"
        if self.final:
            return f"{wanted} in {every} would take about {more}."
        seconds = self.seconds_to_error
        when = f" in about {duration(max(seconds, 1.0))}" if math.isfinite(seconds) else ""
        ends = self.expected is not None and compared.n_draws + further > self.expected
        before = f"; the run ends before, at {self.expected:,}" if ends else ""
        return f"{wanted} in {every}{'' if ends else when}, with about {more}{before}."

    @property
    def _of_what(self) -> str:
        """What has the error: a gap has that of the reference too, which no further draw makes smaller."""
        assert self.result is not None
        return "the gap in Kendall's tau" if np.any(self.result.rows["tau_target_se"] > 0.0) else "Kendall's tau"

    def to_dict(self) -> dict[str, Any]:
        """The state ready for JSON, with the result's."""
        names = (
            "lengths", "labels", "expected", "rate", "seconds", "silent", "odd_chain", "age", "error", "waiting_for", "notes",
            "final", "ending",
        )  # fmt: skip
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        found |= {name: list(found[name]) for name in ("lengths", "labels", "notes")}
        found["freshness"] = None if self.freshness is None else vars(self.freshness)
        found["disagreeing"] = [list(pair) for pair in self.disagreeing]
        found["seconds_to_error"] = self.seconds_to_error
        return found | {"words": self.sentences(), "result": None if self.result is None else self.result.to_dict()}

    @property
    def headline(self) -> str:
        """The answer in one line."""
        if self.result is None:
            return "Watching: no answer yet"
        unfinished = any(caveat.code in ("unfinished-run", "end-unknown") for caveat in self.result.caveats)
        state = "Watching" if not self.final else "Watch ended" if unfinished else "Run finished"
        return f"{state}: {wording.answer_line(self.result, capital=False)}"

    def __repr__(self) -> str:
        lines = [self.headline, *wording.paragraphs(self.sentences())]
        lines += [] if self.result is None else wording.text_table(self.result.table_rows())
        return "\n".join(lines + wording.noted(self.all_notes))

    def _repr_html_(self) -> str:
        if self.result is None:
            return wording.html(self.headline, "", self.sentences(), [["waiting"]], self.all_notes)
        return wording.html(self.headline, self.result.title, self.sentences(), self.result.table_rows(), self.all_notes)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes on the run and on its comparison, and the sentences of caveats, each once."""
        others = () if self.result is None else (*self.result.notes, *self.result.warnings)
        # a note on the draws of the look is older than the same note on the draws so far
        newer = {kind_of(note) for note in self.notes}
        return tuple(dict.fromkeys((*self.notes, *(note for note in others if kind_of(note) not in newer))))


def kind_of(line: str) -> str:
    """A line without its numbers, which change all the time; names do not."""
    about = line.partition(":")[0] if line.startswith(UNEQUAL) else line  # chains take turns in being the shortest
    return re.sub(r"(?<![\w.])[0-9.,]+(?![\w.])", "", about)


def duration(seconds: float) -> str:
    """A time in words, as exact as anybody needs it."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"
