"""Results as sentences: strength, shape, form and tails, and whether there are enough draws."""

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from copula_discrepancy._core.caveats import reserved
from copula_discrepancy._core.tensors.device import CPU
from copula_discrepancy.estimate.agreement import RHAT_LIMIT, Agreement
from copula_discrepancy.estimate.pattern import CHANGES, KINDS, Pattern
from copula_discrepancy.estimate.uncertainty import Estimate

if TYPE_CHECKING:
    from copula_discrepancy.compare.consequence_result import Consequence
    from copula_discrepancy.compare.interactions_result import Interactions
    from copula_discrepancy.compare.many_result import Pairwise
    from copula_discrepancy.compare.one_result import Discrepancy
    from copula_discrepancy.compare.ranking import Ranking
    from copula_discrepancy.compare.screen_result import Screening
    from copula_discrepancy.data.draws import Draws

FEW_DRAWS = 100  # effective draws per chain below which long-run variances are not to be trusted (Vehtari et al., 2021)
_CUT = "\N{HORIZONTAL ELLIPSIS}"
_LARGEST_RHAT = 1000
_BEGINNING = 3  # letters, at least, of what similar names have in common
_MANY_CHAINS = 4
WIDTH = 100  # characters per line of printed results
_NAMED = 8  # chains whose own taus are listed
NO_GAP, NOT_TESTED, VOID = "no gap found", "not tested", "void"


def few_draws(n_chains: int, iid: bool) -> int:
    """Effective draws below which an answer has reservations: 100 per chain, or 100 in all if they are independent.

    Not more than for four chains: with many chains, the variance is also known from their means.
    """
    return FEW_DRAWS if iid else FEW_DRAWS * min(n_chains, _MANY_CHAINS)


def per_chain(n_chains: int, iid: bool) -> str:
    """How the limit of `few_draws` is derived, if there are several chains."""
    return f" ({FEW_DRAWS} for each of {n_chains} chains)" if 1 < n_chains <= _MANY_CHAINS and not iid else ""


def halves(things: str) -> str:
    """What R-hat compares if there is one sequence only."""
    return "the chain's halves" if things == "draws" else "its halves"


def direction(tau: float, tau_target: float, se: float, se_target: float) -> str:
    """The direction of a gap in strength; the sign is wrong if both taus are more than two standard errors from 0."""
    beyond = not (abs(tau) <= 2.0 * se or abs(tau_target) <= 2.0 * se_target)
    if tau * tau_target < 0 and beyond:
        return "of the wrong sign"
    return "too strong" if abs(tau) > abs(tau_target) else "too weak"


def wrong_shape(against: bool) -> str:
    """The phrase for a significant gap in shape, with and without a target."""
    return "wrong shape" if against else "family does not fit"


def tail_fault(label: str, gap: float, against: bool) -> str:
    """The phrase for a significant gap in a corner."""
    if against:
        return f"{label} tail too {'thick' if gap > 0 else 'thin'}"
    return f"{label} tail {'thicker' if gap > 0 else 'thinner'} than the family's"


# one or two words for each kind of pattern, and for each change
_NOUNS = {
    "bend first": "bend", "bend second": "bend", "spread first": "funnel", "spread second": "funnel",
    "together": "joint extremes", "apart": "separate extremes", "curve": "S-curve", "levels": "association",
}  # fmt: skip
_CHANGED = {
    "lost": "lost", "weaker": "too weak", "stronger": "too strong", "added": "added", "reversed": "reversed",
    "other": "different",
}  # fmt: skip
WRONG_FORM = "wrong form"
_NO_NAME = ("the spread", "extremes")  # starts of patterns that are not names of variables, whose letters stay as they are
_NONE = 0.1  # share of the target's dependence below which, if it may be 0, none of it is said to be kept


def form_fault(code: str, against: bool, automatic: bool) -> str:
    """The phrase for a significant gap in form, from the code of its pattern, which may be empty."""
    pattern = Pattern.known(code)
    fine = pattern is None or pattern.kind == "fine"
    noun = None if pattern is None or fine else _NOUNS.get(pattern.kind, "asymmetry")
    if not against:
        fits = "no family fits" if automatic else "family does not fit"
        return f"{fits}: {noun}" if noun else fits
    return WRONG_FORM if pattern is None or noun is None else f"{noun} {_CHANGED[pattern.change]}"


def pattern_words(code: str, names: tuple[str, str], against: str | None, things: str) -> str:
    """A pattern as a sentence without its full stop, such as "the spread of b follows a in the target, not in the draws".

    `against` is the noun for the target; None without one.
    """
    pattern = Pattern.known(code)
    if pattern is None:
        return ""
    said = KINDS[pattern.kind].format(a=names[0], b=names[1])
    if against is None:
        return said
    change = CHANGES[pattern.change].replace("the target", against).replace("the draws", f"the {things}")
    return f"{said}{' ' if pattern.change in ('lost', 'added') else ', '}{change}"


def percentage(share: float) -> str:
    """A share as a whole percentage, without a negative zero."""
    return f"{round(100.0 * share) + 0:d}%"


def kept_share(kept: float, interval: tuple[float, float], confidence: float, of_what: str) -> str:
    """The share of a dependence that the draws keep, with its interval: "43% of it (95%: 38 to 48%)", "none of it"."""
    low, high = (percentage(end) if math.isfinite(end) else "" for end in interval)
    known = f" ({100.0 * confidence:g}%: {low[:-1]} to {high})" if low else ""
    share = "none" if interval[0] <= 0.0 and kept < _NONE else percentage(kept)
    return f"{share} of {of_what}{known}"


def kept_words(kept: float, interval: tuple[float, float], confidence: float, whose: str, things: str) -> str:
    """The share of the target's dependence that the draws keep, as a sentence; empty if it is not known."""
    if math.isnan(kept):
        return ""
    return f" The {things} keep {kept_share(kept, interval, confidence, f'{whose} dependence')}."


def form(gap: Estimate, adjusted: float, pattern: str, kept: str, *, order: int, explained: bool) -> str:
    """Whether the form of dependence is right; `pattern` and `kept` are sentences.

    `explained` tells that other tests found a gap, and that nothing is left beyond what strength explains.
    """
    if math.isnan(gap.pvalue):
        return "cannot be tested: too few values or draws, or the dependence is perfect."
    if not adjusted < 1.0 - gap.confidence:
        seen = (
            f"No difference of any kind is detectable in polynomials of the ranks up to order {order}; finer ones are not seen."
        )
        return f"{NO_GAP} ({chance(gap.pvalue, adjusted)}). {seen}{kept}"
    if pattern:
        said = f" {pattern[0].upper() if pattern.startswith(_NO_NAME) else pattern[0]}{pattern[1:]}."
    elif explained:
        said = " The gap in strength explains it."
    else:
        said = " It has no simple name."
    return f"wrong ({chance(gap.pvalue, adjusted)}).{said}{kept}"


def strength(
    level: Estimate, tau: float, tau_target: float, ses: tuple[float, float], *, whose: str, adjusted: float, too_rare: str
) -> str:
    """Whether the strength of dependence is right. `ses` are the standard errors of the two taus."""
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
    """Whether the shape of dependence is right."""
    if by_moments:
        return f"not tested: {family} was fitted by Kendall's tau alone; use method='mle'."
    if math.isnan(gap.pvalue):
        return f"cannot be tested: {family} is at a parameter bound, nothing varies, or there are too few values."
    significant, pvalue = adjusted < 1.0 - gap.confidence, chance(gap.pvalue, adjusted)
    if against_sample:
        if significant:
            return (
                f"wrong ({pvalue}). With {family} fits to both, {things} and reference differ by {abs(gap.value):.2g} in tau."
            )
        return f"{NO_GAP} ({pvalue}). With {family} fits to both, no difference between {things} and reference is detectable."
    if significant:
        side = "above" if gap.value > 0 else "below"
        return f"wrong ({pvalue}). The {family} copula fitted to these {things} has a tau {abs(gap.value):.2g} {side} theirs."
    return f"{NO_GAP} ({pvalue}). No misfit of {family} is detectable with these {things}."


def tail_sentence(where: tuple[str, str], shares: tuple[float, float], whose: str) -> str:
    """A corner in one sentence, such as "of 100 draws in the lowest tenth of a, 31 are in that of b; the target has 4"."""
    begin, there = where
    mine, aim = (f"{per_hundred(share)}" for share in shares)
    return f"{begin}, {mine} are {there}; {whose} has {aim}"


def tails(gaps: Sequence[str], pvalue: float, adjusted: float, part: str, tested: int) -> str:
    """Which corners have a gap? `gaps` has a sentence for each of them."""
    if math.isnan(pvalue):
        return f"cannot be tested: too few values are in the lowest and highest {part}, or the corners cannot be compared."
    if not gaps:
        where = "the four corners" if tested == 4 else f"{tested} of the four corners, all that could be compared"
        return f"{NO_GAP} in {where} ({chance(pvalue, adjusted)}), beyond the effect of the strength."
    return f"wrong ({chance(pvalue, adjusted)}): {'; '.join(gaps)}."


def enough(n: int, n_eff: float, agreement: Agreement, *, iid: bool, things: str) -> str:
    """Whether there are enough effective draws and the chains agree; chains that disagree are listed with their taus."""
    if math.isnan(n_eff):
        return f"{n:,}; no standard error can be computed."
    n_chains = len(agreement.taus)
    trust = "too few to trust these tests" if n_eff < few_draws(n_chains, iid) else "enough for these tests"
    size = f"{n:,}, treated as independent: {trust}" if iid else f"{n:,}, n_eff {n_eff:,.0f}: {trust}"
    if math.isnan(agreement.rhat):
        return size + ("; the chains are too short to compare." if n_chains > 1 else ".")
    parts, own = "the chains" if n_chains > 1 else halves(things), ""
    if not agreement.rhat > RHAT_LIMIT:
        return f"{size}; {parts} agree on tau (R-hat {rhat_text(agreement.rhat)})."
    if 1 < n_chains <= _NAMED:
        own = f"; by chain {', '.join(map(_own_tau, agreement.taus))}"
    return f"{size}; {parts} disagree on tau (R-hat {visibly_above(agreement.rhat, RHAT_LIMIT)}{own})."


def _own_tau(tau: Estimate) -> str:
    return f"{tau.value:.2f} (se {tau.se:.2f})" if math.isfinite(tau.value) else "none (constant)"


def per_hundred(share: float) -> str:
    """A share as a percentage without its sign, to a tenth if it is small."""
    count = abs(100.0 * share)
    return f"{count:.0f}" if count >= 9.5 or count == 0.0 else f"{count:.1f}"


def called(draws: "Draws", iid: bool) -> str:
    """The noun for the observations of a sample: "rows" of a table, "draws" of a sampler."""
    return "rows" if not draws.chained and (draws.named or iid) else "draws"


def counted(count: int, noun: str) -> str:
    """A number with its noun: "1 pair", "1,200 pairs"."""
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def pair_label(first: str, second: str) -> str:
    """Two variables as one name."""
    return f"{first} ~ {second}"


def shortened(text: str, limit: int) -> str:
    """A name in at most `limit` characters, on one line: its start and its end, with an ellipsis between them.

    Invisible characters, and those that change the direction of the text, are replaced by a visible sign.
    """
    line = " ".join(text.split()) or "(blank)"
    if not line.isprintable():
        line = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)
    if len(line) <= limit:
        return line
    end = (limit - 1) // 2
    return f"{line[: limit - 1 - end]}…{line[len(line) - end :]}"


def short_names(names: Sequence[str], limit: int) -> list[str]:
    """All names in at most `limit` characters; of those that would look the same, the part in which they differ is kept.

    If that is too long for all, they are followed by their numbers among all names.
    """
    short = [shortened(name, limit) for name in names]
    for text, count in Counter(short).items():
        if count == 1:
            continue
        alike = [k for k, other in enumerate(short) if other == text]
        for k, own in zip(alike, _by_what_differs([names[k] for k in alike], limit), strict=True):
            short[k] = own
    taken = Counter(short)
    return [
        text if taken[text] == 1 else f"{shortened(name, max(limit - 7, 8))} #{k}"
        for k, (name, text) in enumerate(zip(names, short, strict=True))
    ]


def _alike(texts: Sequence[str]) -> int:
    """How many characters are the same at the beginning of all texts."""
    return next((k for k, here in enumerate(zip(*texts, strict=False)) if len(set(here)) > 1), min(map(len, texts)))


def _by_what_differs(names: Sequence[str], limit: int) -> list[str]:
    """Names that begin and end alike as their beginning and the part in which they differ."""
    begin = _alike(names)
    rest = [name[begin:] for name in names]
    end = _alike([part[::-1] for part in rest])
    parts = [part[: len(part) - end] for part in rest]
    room = limit - max(map(len, parts)) - (end > 0)
    if room < _BEGINNING:
        return [shortened(name, limit) for name in names]
    start = shortened(names[0][:begin], room) if begin else ""
    return [f"{start}{part}{_CUT * (end > 0)}" for part in parts]


def wrapped(text: str, indent: str = "") -> list[str]:
    """Lines of at most WIDTH characters."""
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def paragraphs(sentences: dict[str, str]) -> list[str]:
    """Lines with the topics in a separate column."""
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


def answer_line(result: "Discrepancy | Ranking | Consequence", *, capital: bool = True) -> str:
    """The answer of a comparison in one line, the same wherever it is printed.

    If no gap was found but there are reservations, the line says so. No verdict starts with a variable's name, so its first
    letter can be a `capital`.
    """
    line = result.verdict
    if result.outcome == "void":
        line = f"{VOID}: the reference contains the same rows"
    elif result.outcome == "no gap" and reserved(result.caveats):
        line += ", with reservations"
    return line[0].upper() + line[1:] if capital else line


def computed_on(result: "Pairwise | Interactions | Screening") -> dict[str, str]:
    """The device that a result was computed on, by topic; nothing if that is the processor."""
    return {} if result.device == CPU else {"Device": f"computed on {result.device_name} ({result.device})."}


def text_table(rows: list[list[str]]) -> list[str]:
    """Aligned lines; the first column is flushed left, numbers are flushed right."""
    widths = [max(len(line[k]) for line in rows) for k in range(len(rows[0]))]
    names = [line[0].ljust(widths[0]) for line in rows]
    numbers = ["  ".join(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)) for line in rows]
    return [f"  {name}  {text}" for name, text in zip(names, numbers, strict=True)]


def told_once(notes: Sequence[str], prefixes: tuple[str, str] = ("", "reference: "), both: str = "both: ") -> list[str]:
    """Notes in which one that is the same for both samples, apart from the prefixes that name them, is told once."""
    own, other = prefixes
    given, told = {*notes}, []
    for note in dict.fromkeys(notes):
        text = note.removeprefix(other)
        if text != note and f"{own}{text}" in given:
            continue  # told where the first sample's is
        text = note.removeprefix(own)
        shared = note.startswith(own) and f"{other}{text}" in given
        told.append(f"{both}{text}" if shared else note)
    return told


def noted(notes: Sequence[str]) -> list[str]:
    """Lines below a table, one paragraph per note."""
    return [line for note in told_once(notes) for line in wrapped(f"  note: {note}", " " * 8)]


def html(
    title: str,
    summary: str,
    said: dict[str, str],
    rows: list[list[str]],
    notes: Sequence[str],
    second: list[list[str]] | None = None,
) -> str:
    """A result for a notebook: title, sentences by topic, a table or two whose first row is its heading, and notes."""
    from html import escape

    paragraphs_ = "".join(f"<p><b>{escape(topic)}:</b> {escape(text)}</p>" for topic, text in said.items())
    remarks = "".join(f"<p>Note: {escape(note)}</p>" for note in told_once(notes))
    top = f"<p><b>{escape(title)}</b><br>{escape(summary)}</p>"
    return f"{top}{paragraphs_}{_html_table(rows)}{_html_table(second) if second else ''}{remarks}"


def _html_table(rows: list[list[str]]) -> str:
    from html import escape

    head, *lines = rows
    header = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th scope='row'>{escape(line[0])}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in line[1:]) + "</tr>"
        for line in lines
    )
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:+.4f}"


def _plain(value: float) -> str:
    if not math.isfinite(value):
        return "-" if math.isnan(value) else f"{value}"
    return f"{value:.4f}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"


def rhat_text(value: float) -> str:
    """An R-hat; chains that stand still at different places have an arbitrarily large one."""
    return f"{value:.3f}" if value < _LARGEST_RHAT else f"{_LARGEST_RHAT:,} or more"


def visibly_above(value: float, limit: float) -> str:
    """An R-hat above a limit, with three decimals or as many as show that it is."""
    if not value < _LARGEST_RHAT:
        return rhat_text(value)
    digits = next((k for k in range(3, 9) if round(float(value), k) > limit), 9)
    return f"{value:.{digits}f}"


def rhat_against(value: float, limit: float) -> str:
    """An R-hat, with as many decimals as show whether it is above a limit."""
    return visibly_above(value, limit) if value > limit else rhat_text(value)


def about(count: float) -> str:
    """An estimated number of draws, rounded up to two digits."""
    unit = 10 ** max(math.floor(math.log10(max(count, 1.0))) - 1, 0)
    return f"{math.ceil(count / unit) * unit:,}"


def short_pvalue(pvalue: float) -> str:
    """A p-value in a table of many."""
    return "-" if math.isnan(pvalue) else "<0.001" if pvalue < 0.001 else f"{pvalue:.3f}"


def chance(pvalue: float, adjusted: float | None = None) -> str:
    """A p-value in a sentence, with the adjusted one if it differs."""
    if adjusted is None or math.isnan(adjusted) or max(pvalue, adjusted) < 0.001 or pvalue > 0.2:
        return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.2g}"
    shown = "< 0.001" if adjusted < 0.001 else f"{adjusted:.2g}"
    plain = "< 0.001" if pvalue < 0.001 else f"{pvalue:.2g}"
    return chance(pvalue) if shown == plain else f"{chance(pvalue)}, adjusted {shown}"
