"""Caveats as data: a code for programs, a sentence for people, and advice on what to do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

NOTE, RESERVATION, VOID = "note", "reservation", "void"

# Every kind of caveat: its severity, and what to do about it. A note does not affect the validity of the tests; a reservation
# limits it; a void one means that no test is valid.
KINDS: dict[str, tuple[str, str]] = {
    "same-rows": (VOID, "A sample compared with itself has no gap by construction. Compare with an independent reference."),
    "copied-rows": (RESERVATION, "Rows that both samples share make the samples look more alike than they are. Compare with "
        "rows that were not copied."),
    "repeated-rows": (RESERVATION, "Copies of a row add no information, but the tests count them as independent rows. Remove "
        "the copies."),
    "stuck-chain": (RESERVATION, "A chain that stops moving adds ties but no information, and biases every estimate. Find out "
        "why it stopped, or omit it."),
    "few-effective-draws": (RESERVATION, "With so few effective draws, a gap may be due to chance, and finding none is weak "
        "evidence. Use more draws."),
    "tied-values": (RESERVATION, "Of equal values nobody knows which is larger, so the repaired draws are independent within "
        "ties, and part of an effect may be due to that. Compare samples with the same values, or rely on functions that do "
        "not tell tied values apart."),
    "few-events": (RESERVATION, "Few draws are in the tail, or satisfy the condition, that this number is about. Use more "
        "draws, or a quantile or condition less far out."),
    "chains-disagree": (RESERVATION, "Longer runs may change these numbers. Look at the chains one by one: a chain that "
        "differs from the others may be in another mode, or still be warming up."),
    "chains-disagree-form": (RESERVATION, "Chains may have explored different parts of the distribution, such as the arms of "
        "a banana, with the same Kendall's tau in each. Look at a scatter plot of each chain, and run longer chains."),
    "one-chain": (RESERVATION, "Run several chains from different starting points; they would show whether this chain has "
        "explored the whole distribution."),
    "divergent-draws": (RESERVATION, "Where trajectories diverge, the sampler may have missed a part of the distribution, so "
        "that every estimate may be biased. Look where these draws lie; take smaller steps (a larger target_accept or "
        "adapt_delta), or change the parametrisation."),
    "divergences-unknown": (RESERVATION, "The sampler reported divergences, or their absence, but not in a way that tells "
        "which of these draws they are. Select draws and statistics alike, and look at all divergences of the run."),
    "swapped-axes": (RESERVATION, "If the axes are swapped, every standard error here is wrong. Check the shape of the array."),
    "rare-values": (RESERVATION, "If nearly all values are equal, a handful of rows carries all the information about "
        "the dependence. Collect more rows in which the variable has another value."),
    "few-values": (RESERVATION, "A copula describes continuous variables. With few values, only the strength of "
        "dependence can be compared, and even that depends on how often each value occurs."),
    "rounded-values": (RESERVATION, "Rounding looks like a change of family. Compare samples that are rounded in the same "
        "way, or rely on level alone."),
    "strong-dependence": (RESERVATION, "Use more draws, or rely on level and tails: ranks of so few draws cannot distinguish "
        "such strong dependence from even stronger dependence."),
    "perfect-dependence": (RESERVATION, "Check whether one variable is computed from the other. No copula with a density "
        "describes perfect dependence, so numbers that depend on the fit have no standard error."),
    "family-bound": (RESERVATION, "Choose a family that allows weaker or negative dependence, such as Frank, Gaussian or a "
        "rotation. At a bound, numbers that depend on the fit have no standard error."),
    "df-bound": (RESERVATION, "At the upper end use the Gaussian family, whose numbers are the same; at the lower end a "
        "family with heavier tails."),
    "unconverged": (RESERVATION, "Numbers that depend on the fit are unreliable. Try another family, or method='moment'."),
    "no-variation": (RESERVATION, "Look at the edges of the earlier trees instead, where the dependence is nearly perfect."),
    "memory": (RESERVATION, "These pairs have no results. Thin the chains, or use fewer workers."),
    "constant": (NOTE, "A variable that does not vary has no dependence to compare. If it should vary, check how the samples "
        "were generated."),
    "constant-in-draws": (RESERVATION, "The draws have lost all dependence of this variable. Check the sampler or "
        "generator."),
    "constant-in-reference": (RESERVATION, "Nothing is known about the dependence that this variable should have. Check the "
        "reference."),
    "few-reference-rows": (RESERVATION, "The dependence of the repaired draws is known from these rows only, however many "
        "draws there are: tests that count the draws as independent are too sure. Use a longer reference, or fewer draws."),
    "missing-in-one": (RESERVATION, "Only one of the samples lacks these values, so nothing is known about where the other "
        "would lack them. If missing values carry information, generate them too."),
    "levels-differ": (RESERVATION, "The answer says nothing about these rows. Check whether labels are spelled alike in both "
        "samples; levels that one of them lacks are a difference of margins."),
    "rare-levels": (NOTE, "Levels with few rows are compared together, in a few groups, or not at all. Use more rows to "
        "compare them one by one."),
    "pairs-untested": (RESERVATION, "The score says nothing about these pairs: too few rows have both values, or too few rows "
        "are in levels that both tables have."),
    "outgrown-bins": (RESERVATION, "Counts know the order of values up to a bin. Pass a sample of all rows to "
        "DependenceSketch.plan, or a source that can be read twice."),
    "unseen-levels": (NOTE, "These levels are rare: a sample of the rows did not show them. Name all levels of a column, such "
        "as kinds={'town': [...]}, to count them one by one."),
    "short-blocks": (RESERVATION, "Rows are dependent over longer stretches than the blocks in which they were counted, so "
        "standard errors may be too small. Compare longer tables, or read the rows into memory, engine='exact'."),
    "variables-left-out": (RESERVATION, "The answer says nothing about these variables. Use pairwise, which compares pairs of "
        "them, or missing='listwise' for rows without missing values."),
    "chains-left-out": (RESERVATION, "A chain that is slow, or was stopped, may be the one that disagrees with the others. "
        "Find out why it is short, or compare the draws that all chains have."),
    "unfinished-run": (RESERVATION, "If you look often, you will see a gap by chance, and a run that is stopped when its "
        "numbers look good is biased. Let it run to the end that was planned, and rely on the answer there."),
    "unread-at-end": (RESERVATION, "The answer is about the draws that were read while they were written. Find out what "
        "changed their source, and compare it again."),
    "repeated-chains": (RESERVATION, "Chains that repeat each other have the information of one of them: counted twice, "
        "they make errors too small, and R-hat says nothing. Read each chain once, and give each a seed of its own."),
    "end-unknown": (RESERVATION, "The sampler may have been stopped, or may go on. Compare the draws again when you know that "
        "they are all."),
    "groups-left-out": (RESERVATION, "The answer says nothing about the dependence within these groups; their rows count among "
        "all rows. Use larger groups, or collect more rows."),
    "pairs-left-out": (NOTE, "The score does not include these columns. Describe them in the metadata, or convert them to "
        "numbers."),
    "quadrature": (NOTE, "This concerns the Shannon scores only; the gaps and their tests are not affected."),
    "not-a-discrepancy": (NOTE, "Use space='normal' for a number that is 0 on draws from the target."),
}  # fmt: skip


@dataclass(frozen=True)
class Caveat:
    """A reservation about a result: `code` for programs, `sentence` for people, `advice` on what to do.

    The ``caveats`` of every result contain them; its ``warnings`` are their sentences.

    Parameters
    ----------
    code : str
        A stable identifier, such as ``"few-effective-draws"``.
    sentence : str
        What was observed, with its numbers.
    advice : str
        What to do about it; empty if the sentence includes it.

    See Also
    --------
    DependenceWarning : The warning issued for each of them.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> caveat = cd.Caveat("one-chain", "there is one chain only, so R-hat compares its halves", "Run several chains.")
    >>> caveat.code, caveat.severity, str(caveat)
    ('one-chain', 'reservation', 'there is one chain only, so R-hat compares its halves')
    """

    code: str
    sentence: str
    advice: str = ""

    @property
    def severity(self) -> str:
        """Its weight: "note", "reservation" (tests may be biased), or "void" (no test is valid)."""
        return KINDS.get(self.code, (RESERVATION, ""))[0]

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, str]:
        """Code, sentence and advice, ready for JSON."""
        return {"code": self.code, "sentence": self.sentence, "advice": self.advice}


def caveat_of(code: str, sentence: str) -> Caveat:
    """A caveat of a known kind, with the advice of that kind."""
    return Caveat(code, sentence, KINDS[code][1])


class WithCaveats:
    """Base class of results that record caveats."""

    caveats: tuple[Caveat, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The sentences of the caveats."""
        return tuple(caveat.sentence for caveat in self.caveats)

    @property
    def void(self) -> bool:
        """Whether draws and reference are the same rows, in any order, so that no test is valid."""
        return any(caveat.severity == VOID for caveat in self.caveats)

    def _recorded(self) -> dict[str, Any]:
        """Sentences and caveats, ready for JSON."""
        return {"warnings": list(self.warnings), "caveats": [caveat.to_dict() for caveat in self.caveats]}


def reserved(caveats: Iterable[Caveat]) -> bool:
    """Whether finding no gap may only mean that none could be detected."""
    return any(caveat.severity != NOTE for caveat in caveats)
