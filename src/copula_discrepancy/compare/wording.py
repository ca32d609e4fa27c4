"""What the numbers say, in sentences: is the strength right, is the shape, which tail, how sure, and are there enough draws?"""

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.agreement import RHAT_LIMIT, halves
from copula_discrepancy.estimate.uncertainty import Estimate

if TYPE_CHECKING:
    from copula_discrepancy.data.draws import Draws

FEW_DRAWS = 100  # effective draws per chain below which long-run variances are not to be trusted (Vehtari et al., 2021)
_MANY_CHAINS = 4
WIDTH = 100  # characters per line of printed results
# what an answer begins with, if not with a variable's name
_OPENINGS = {"no", "gaps", "not", "too", "of", "wrong", "family", "low-low", "high-high", "low-high", "high-low", "void"}
NO_GAP, NOT_TESTED = "no gap found", "not tested"


def few_draws(n_chains: int, iid: bool) -> int:
    """Effective draws below which an answer comes with reservations: 100 per chain, of independent ones 100 in all.

    Beyond four chains no more are asked for: what many chains say is known from their means.
    """
    return FEW_DRAWS if iid else FEW_DRAWS * min(n_chains, _MANY_CHAINS)


def direction(tau: float, tau_target: float, se: float, se_target: float) -> str:
    """In which way a strength is wrong; a sign is wrong where both are beyond two of their own standard errors from 0."""
    beyond = not (abs(tau) <= 2.0 * se or abs(tau_target) <= 2.0 * se_target)
    if tau * tau_target < 0 and beyond:
        return "of the wrong sign"
    return "too strong" if abs(tau) > abs(tau_target) else "too weak"


def wrong_shape(against: bool) -> str:
    """What a shape beyond chance is called, with and without a target."""
    return "wrong shape" if against else "family does not fit"


def tail_fault(label: str, gap: float, against: bool) -> str:
    """What a corner beyond chance is called."""
    if against:
        return f"{label} tail too {'thick' if gap > 0 else 'thin'}"
    return f"{label} tail {'thicker' if gap > 0 else 'thinner'} than the family's"


def strength(
    level: Estimate, tau: float, tau_target: float, ses: tuple[float, float], *, whose: str, adjusted: float, too_rare: str
) -> str:
    """Is the strength of dependence right? `ses` are the standard errors of the two taus."""
    if math.isnan(level.pvalue):
        return f"cannot be tested: {too_rare or 'the dependence is perfect, so tau has no sampling error'}."
    low, high = level.ci
    sure = f"{100 * level.confidence:g}%"
    if not adjusted < 1.0 - level.confidence:
        within = max(abs(low), abs(high))
        known = f" Kendall's tau is within {within:.2g} of {whose}, with {sure} confidence." if math.isfinite(within) else ""
        return f"{NO_GAP} ({chance(level.pvalue, adjusted)}).{known}"
    how = direction(tau, tau_target, *ses)
    side = "above" if level.value > 0 else "below"
    interval = f"{sure} interval of the gap {low:+.2g} to {high:+.2g}, " if math.isfinite(low) else ""
    return f"{how}. Kendall's tau is {abs(level.value):.2g} {side} {whose} ({interval}{chance(level.pvalue, adjusted)})."


def shape(gap: Estimate, family: str, *, adjusted: float, against_sample: bool, by_moments: bool, things: str) -> str:
    """Is the shape of dependence right?"""
    if by_moments:
        return f"not tested: {family} was fitted by Kendall's tau alone; use method='mle'."
    if math.isnan(gap.pvalue):
        return f"cannot be tested: {family} sits on a bound of its family, has nothing that varies, or too few values."
    found, told = adjusted < 1.0 - gap.confidence, chance(gap.pvalue, adjusted)
    if against_sample:
        if found:
            return f"wrong ({told}). Seen through {family}, {things} and reference differ by {abs(gap.value):.2g} in tau."
        return f"{NO_GAP} ({told}). Seen through {family}, {things} and reference look alike."
    if found:
        side = "above" if gap.value > 0 else "below"
        return f"wrong ({told}). {family} fitted to these {things} has a tau {abs(gap.value):.2g} {side} theirs."
    return f"{NO_GAP} ({told}). {family} fits these {things} as far as they can tell."


def tail_sentence(where: tuple[str, str], shares: tuple[float, float], whose: str) -> str:
    """A corner as a person says it, such as "of 100 draws in the lowest tenth of a, 31 are in that of b; the target has 4"."""
    begin, there = where
    mine, aim = (f"{per_hundred(share)}" for share in shares)
    return f"{begin}, {mine} are {there}; {whose} has {aim}"


def tails(told: Sequence[str], pvalue: float, adjusted: float, part: str, tested: int) -> str:
    """Which corners are off? `told` has a sentence for each of them."""
    if math.isnan(pvalue):
        return f"cannot be tested: too few are in the lowest and highest {part}, or no two of these can be compared."
    if not told:
        where = "the four corners" if tested == 4 else f"{tested} of the four corners, all that could be compared"
        return f"{NO_GAP} in {where} ({chance(pvalue, adjusted)}), beyond what the strength explains."
    return f"off ({chance(pvalue, adjusted)}): {'; '.join(told)}."


def enough(n: int, n_eff: float, rhat: float, *, iid: bool, n_chains: int, things: str) -> str:
    """Are there enough effective draws to say so?"""
    if math.isnan(n_eff):
        return f"{n:,}, from which no standard error can be had."
    trust = "too few to trust these tests" if n_eff < few_draws(n_chains, iid) else "enough for these tests"
    said = f"{n:,}, taken as independent: {trust}" if iid else f"{n:,}, worth {n_eff:,.0f} independent ones: {trust}"
    if math.isnan(rhat):
        return said + (", chains too short to be compared." if n_chains > 1 else ".")
    parts = "chains" if n_chains > 1 else halves(things)
    agree = "agree" if rhat <= RHAT_LIMIT else "do not agree yet"
    return f"{said}; {parts} {agree} about tau (R-hat {rhat:.3f})."


def per_hundred(share: float) -> str:
    """A share as a number in a hundred, to a tenth where it is small."""
    count = abs(100.0 * share)
    return f"{count:.0f}" if count >= 9.5 or count == 0.0 else f"{count:.1f}"


def called(given: "Draws", iid: bool) -> str:
    """What the lines of a sample are called: a table has rows, a sampler draws."""
    return "rows" if not given.chained and (given.named or iid) else "draws"


def pair_label(first: str, second: str) -> str:
    """Two variables as one name."""
    return f"{first} ~ {second}"


def shortened(text: str, limit: int) -> str:
    """A name in at most `limit` characters, on one line: what it begins and ends with, and an ellipsis for what is left out.

    Signs that cannot be seen, or that turn the text around them, have a sign in their place.
    """
    line = " ".join(text.split()) or "(blank)"
    if not line.isprintable():
        line = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)
    if len(line) <= limit:
        return line
    end = (limit - 1) // 2
    return f"{line[: limit - 1 - end]}…{line[len(line) - end :]}"


def short_names(names: Sequence[str], limit: int) -> list[str]:
    """All names in at most `limit` characters; those that would look alike have their number behind them."""
    short = [shortened(name, limit) for name in names]
    alike = Counter(short)
    return [
        text if alike[text] == 1 else f"{shortened(name, max(limit - 7, 8))} #{k}"
        for k, (name, text) in enumerate(zip(names, short, strict=True))
    ]


def so_few_values(names: Sequence[str]) -> str:
    """What is not tested of discrete variables."""
    take, them = ("takes", "it") if len(names) == 1 else ("take", "them")
    return f"{listed(names, BRIEF)} {take} so few values that no copula's likelihood holds: shape is not tested with {them}"


def wrapped(text: str, indent: str = "") -> list[str]:
    """Lines of at most WIDTH characters."""
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def paragraphs(sentences: dict[str, str]) -> list[str]:
    """Lines with the topics in a column of their own."""
    lines = []
    for topic, text in sentences.items():
        lines += wrapped(f"{topic + ':':<11}{text}", " " * 11)
    return lines


def row(name: str, estimate: Estimate, *, is_gap: bool) -> list[str]:
    """A table row: name, value, standard error, interval, p-value, effective draws."""
    show = _signed if is_gap else _plain
    known = math.isfinite(estimate.se)
    interval = f"{show(estimate.ci[0])} to {show(estimate.ci[1])}" if math.isfinite(estimate.ci[0]) else "-"
    pvalue = "-" if math.isnan(estimate.pvalue) else "< 0.001" if estimate.pvalue < 0.001 else f"{estimate.pvalue:.3f}"
    n_eff = f"{estimate.n_eff:,.0f}" if math.isfinite(estimate.n_eff) else "-"
    return [name, show(estimate.value), _plain(estimate.se) if known else "-", interval, pvalue, n_eff]


def heading(confidence: float) -> list[str]:
    """The table's first line."""
    return ["", "value", "se", f"{100 * confidence:g}% interval", "p", "n_eff"]


def too_few(what: str, limit: int, n_chains: int, iid: bool, things: str) -> str:
    """So few effective draws that tests are rough; `what` says how many."""
    per_chain = f", {FEW_DRAWS} for each of {n_chains} chains" if 1 < n_chains <= _MANY_CHAINS and not iid else ""
    more = "; draw more" if things == "draws" else ""
    return f"{what}, below {limit}{per_chain}: standard errors and tests are rough{more}"


def too_rare(names: Sequence[str], things: str) -> str:
    """Why a pair of rare values is not tested."""
    take = "takes" if len(names) == 1 else "take"
    return f"{listed(names, BRIEF)} {take} another value than the most frequent one in too few {things} to test anything"


def answer_line(verdict: str, reserved: bool, *, capital: bool = True) -> str:
    """The answer; one that found nothing, but may have been unable to, says so at once.

    The first letter is a `capital`, unless it is that of a variable's name.
    """
    found_nothing = verdict.startswith(NO_GAP)
    told = verdict + (", with reservations" if reserved and found_nothing else "")
    return told[0].upper() + told[1:] if capital and told.split()[0].strip(",:") in _OPENINGS else told


def text_table(rows: list[list[str]]) -> list[str]:
    """Aligned lines; the first column to the left, numbers to the right."""
    widths = [max(len(line[k]) for line in rows) for k in range(len(rows[0]))]
    names = [line[0].ljust(widths[0]) for line in rows]
    numbers = ["  ".join(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)) for line in rows]
    return [f"  {name}  {text}" for name, text in zip(names, numbers, strict=True)]


def noted(notes: Sequence[str]) -> list[str]:
    """Lines below a table, one paragraph per note."""
    return [line for note in notes for line in wrapped(f"  note: {note}", " " * 8)]


def html(title: str, summary: str, said: dict[str, str], rows: list[list[str]], notes: Sequence[str]) -> str:
    """A result for a notebook: title, sentences by topic, a table whose first row is its heading, and notes."""
    from html import escape

    head, *lines = rows
    header = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th scope='row'>{escape(line[0])}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in line[1:]) + "</tr>"
        for line in lines
    )
    paragraphs_ = "".join(f"<p><b>{escape(topic)}:</b> {escape(text)}</p>" for topic, text in said.items())
    remarks = "".join(f"<p>Note: {escape(note)}</p>" for note in notes)
    top = f"<p><b>{escape(title)}</b><br>{escape(summary)}</p>"
    return f"{top}{paragraphs_}<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>{remarks}"


def _signed(value: float) -> str:
    return f"{value:+.4f}"


def _plain(value: float) -> str:
    if not math.isfinite(value):
        return f"{value}"
    return f"{value:.4f}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"


def short_pvalue(pvalue: float) -> str:
    """A p-value in a table of many."""
    return "-" if math.isnan(pvalue) else "<0.001" if pvalue < 0.001 else f"{pvalue:.3f}"


def chance(pvalue: float, adjusted: float | None = None) -> str:
    """A p-value in a sentence, with what it is adjusted for other tests where that may change its meaning."""
    if adjusted is None or math.isnan(adjusted) or max(pvalue, adjusted) < 0.001 or pvalue > 0.2:
        return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.2g}"
    told = "< 0.001" if adjusted < 0.001 else f"{adjusted:.2g}"
    plain = "< 0.001" if pvalue < 0.001 else f"{pvalue:.2g}"
    return chance(pvalue) if told == plain else f"{chance(pvalue)}, adjusted {told}"
