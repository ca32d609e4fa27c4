"""What the numbers say, in sentences: is the strength right, is the shape, which tail, how sure, and are there enough draws?"""

import math
import textwrap
from collections import Counter
from collections.abc import Sequence

from copula_discrepancy.inference import Estimate

FEW_DRAWS = 100  # effective draws below which normal limits and long-run variances are not to be trusted
RHAT_LIMIT = 1.01  # Vehtari, Gelman, Simpson, Carpenter and Burkner (2021)
WIDTH = 100  # characters per line of printed results


def significant(gap: Estimate) -> bool:
    """Whether a test at 1 - confidence rejects that the gap is 0."""
    return gap.pvalue < 1.0 - gap.confidence


def tail_is_off(tail: Estimate) -> bool:
    """Whether a tail stands out; two are looked at, so each gets half of the level."""
    return tail.pvalue < 0.5 * (1.0 - tail.confidence)


def verdict(level: Estimate, shape: Estimate, tails: Sequence[Estimate]) -> str:
    """The answer in a few words."""
    gaps = {"strength": level, "shape": shape}
    off = [name for name, gap in gaps.items() if significant(gap)]
    if "shape" not in off and any(tail_is_off(tail) for tail in tails):
        off.append("a tail")
    untested = [name for name, gap in gaps.items() if math.isnan(gap.pvalue)]
    parts = [f"{' and '.join(off)} off"] if off else []
    if not off and len(untested) < len(gaps):
        parts.append("no gap found")
    if untested:
        parts.append(f"{' and '.join(untested)} not tested")
    return ", ".join(parts)


def strength(level: Estimate, tau: float, tau_target: float, *, whose: str) -> str:
    """Is the strength of dependence right?"""
    if math.isnan(level.pvalue):
        return "cannot be tested: every draw says the same."
    low, high = level.ci
    sure = f"{100 * level.confidence:g}%"
    if not significant(level):
        within = max(abs(low), abs(high))
        return (
            f"no gap found ({chance(level.pvalue)}). Kendall's tau is within {within:.2g} of {whose}, with {sure} confidence."
        )
    how = direction(tau, tau_target, level.se)
    side = "above" if level.value > 0 else "below"
    interval = f"{sure} interval of the gap {low:+.2g} to {high:+.2g}"
    return f"{how}. Kendall's tau is {abs(level.value):.2g} {side} {whose} ({interval}, {chance(level.pvalue)})."


def direction(tau: float, tau_target: float, se: float) -> str:
    """In which way a strength is wrong; a sign is wrong only where both are beyond two standard errors from 0."""
    if tau * tau_target < 0 and not min(abs(tau), abs(tau_target)) <= 2.0 * se:
        return "of the wrong sign"
    return "too strong" if abs(tau) > abs(tau_target) else "too weak"


def shape(gap: Estimate, family: str, *, against_sample: bool, by_moments: bool) -> str:
    """Is the shape of dependence right?"""
    if by_moments:
        return f"not tested: {family} was fitted by Kendall's tau alone; use method='mle'."
    if math.isnan(gap.pvalue):
        return f"cannot be tested: {family} sits on a bound of its family, has nothing that varies, or too few values."
    if against_sample:
        if significant(gap):
            apart = f"draws and reference differ by {abs(gap.value):.2g} in tau"
            return f"wrong ({chance(gap.pvalue)}). Seen through {family}, {apart}."
        return f"no gap found ({chance(gap.pvalue)}). Seen through {family}, draws and reference look alike."
    if significant(gap):
        side = "above" if gap.value > 0 else "below"
        return f"wrong ({chance(gap.pvalue)}). {family} fitted to these draws has a tau {abs(gap.value):.2g} {side} theirs."
    return f"no gap found ({chance(gap.pvalue)}). {family} fits these draws as far as they can tell."


def tails(told: Sequence[tuple[str, Estimate]], than: str) -> str:
    """Which tail is off?"""
    off = [f"{text} (se {per_hundred(tail.se)})" for text, tail in told if tail_is_off(tail)]
    if not off:
        return f"neither stands out against {than} at the same tau."
    return f"compared with {than} at the same tau, {'; '.join(off)}."


def enough(n: int, n_eff: float, rhat: float, *, iid: bool, n_chains: int) -> str:
    """Are there enough effective draws to say so?"""
    if math.isnan(n_eff):
        return f"{n:,}, from which no standard error can be had."
    trust = "too few to trust these tests" if n_eff < FEW_DRAWS else "enough for these tests"
    said = f"{n:,}, taken as independent: {trust}" if iid else f"{n:,}, worth {n_eff:,.0f} independent ones: {trust}"
    if math.isnan(rhat):
        return said + (", chains too short to be compared." if n_chains > 1 else ".")
    parts = "chains" if n_chains > 1 else "the chain's halves"
    agree = "agree" if rhat <= RHAT_LIMIT else "do not agree yet"
    return f"{said}; {parts} {agree} about tau (R-hat {rhat:.3f})."


def per_hundred(share: float) -> str:
    """A share as a number of draws in a hundred, to a tenth where it is small."""
    count = abs(100.0 * share)
    return f"{count:.0f}" if count >= 9.5 else f"{count:.1f}"


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
    return f"{some_of(names)} {take} so few values that no copula's likelihood holds: only level is tested with {them}"


def some_of(names: Sequence[str], limit: int = 8) -> str:
    """The first names with commas between, and how many more there are."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


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
    interval = f"{show(estimate.ci[0])} to {show(estimate.ci[1])}" if known else "-"
    pvalue = "-" if math.isnan(estimate.pvalue) else "< 0.001" if estimate.pvalue < 0.001 else f"{estimate.pvalue:.3f}"
    n_eff = f"{estimate.n_eff:,.0f}" if math.isfinite(estimate.n_eff) else "-"
    return [name, show(estimate.value), _plain(estimate.se) if known else "-", interval, pvalue, n_eff]


def heading(confidence: float) -> list[str]:
    """The table's first line."""
    return ["", "value", "se", f"{100 * confidence:g}% interval", "p", "n_eff"]


def answer_line(verdict: str, reserved: bool) -> str:
    """The answer; one that found nothing, but may have been unable to, says so at once."""
    found_nothing = verdict.startswith("no gap found")
    return verdict[0].upper() + verdict[1:] + (", with reservations" if reserved and found_nothing else "")


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


def chance(pvalue: float) -> str:
    """A p-value in a sentence."""
    return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.2g}"
