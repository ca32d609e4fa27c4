"""What the numbers say, in sentences: is the strength right, is the shape, which tail, how sure, and are there enough draws?"""

import math
import textwrap

from copula_discrepancy.inference import Estimate

FEW_DRAWS = 100  # effective draws below which normal limits and long-run variances are not to be trusted
WIDTH = 100  # characters per line of printed results


def significant(gap: Estimate) -> bool:
    """Whether a test at 1 - confidence rejects that the gap is 0."""
    return gap.pvalue < 1.0 - gap.confidence


def verdict(level: Estimate, shape: Estimate) -> str:
    """The answer in a few words."""
    off = [name for name, gap in (("strength", level), ("shape", shape)) if significant(gap)]
    untested = [name for name, gap in (("strength", level), ("shape", shape)) if math.isnan(gap.pvalue)]
    found = f"{' and '.join(off)} off" if off else "no gap found"
    return found + (f", {' and '.join(untested)} not tested" if untested else "")


def strength(level: Estimate, tau: float, tau_target: float, *, whose: str) -> str:
    """Is the strength of dependence right?"""
    if math.isnan(level.pvalue):
        return "cannot be tested: every draw says the same."
    low, high = level.ci
    if not significant(level):
        return f"no gap found ({_p(level.pvalue)}). Kendall's tau is within {max(abs(low), abs(high)):.2g} of {whose}."
    how = "of the wrong sign" if tau * tau_target < 0 else "too strong" if abs(tau) > abs(tau_target) else "too weak"
    near, far = sorted((abs(low), abs(high)))
    return (
        f"{how}. Kendall's tau is {abs(level.value):.2g} {'above' if level.value > 0 else 'below'} {whose} "
        f"({100 * level.confidence:g}% interval {near:.2g} to {far:.2g}, {_p(level.pvalue)})."
    )


def shape(gap: Estimate, tails: list[tuple[str, Estimate]], family: str, *, against_sample: bool) -> str:
    """Is the shape of dependence right, and if not, which tail is off?"""
    if math.isnan(gap.pvalue):
        return f"cannot be tested: {family} was fitted on a bound, or by its tau alone."
    than = "the reference" if against_sample else family
    side = "above" if gap.value > 0 else "below"
    if significant(gap):
        how = f"{abs(gap.value):.2g} {side} theirs"
        if against_sample:
            how = f"off by {abs(gap.value):.2g} more than in the reference"
        text = f"wrong ({_p(gap.pvalue)}). {family} fitted to these draws has a tau {how}."
    elif against_sample:
        text = f"no gap found ({_p(gap.pvalue)}). Seen through {family}, draws and reference look alike."
    else:
        text = f"no gap found ({_p(gap.pvalue)}). {family} fits these draws as far as they can tell."
    # two tails are looked at, so each gets half of the level
    off = [(where, tail) for where, tail in tails if tail.pvalue < 0.5 * (1.0 - tail.confidence)]
    if off:
        told = [
            f"{'more' if tail.value > 0 else 'fewer'} draws where {where} (tail share {tail.value:+.2f}, se {tail.se:.2f})"
            for where, tail in off
        ]
        lead = "Compared" if significant(gap) else "Yet compared"
        text += f" {lead} with {than} at the same tau, {' and '.join(told)}."
    elif significant(gap) and tails:
        text += " Neither tail stands out on its own."
    return text


def enough(n: int, n_eff: float, rhat: float, *, iid: bool, n_chains: int) -> str:
    """Are there enough effective draws to say so?"""
    if math.isnan(n_eff):
        return f"{n:,}, from which no standard error can be had."
    trust = "too few to trust these tests" if n_eff < FEW_DRAWS else "enough for these tests"
    if iid:
        return f"{n:,}, taken as independent: {trust}."
    parts = "chains" if n_chains > 1 else "the chain's halves"
    agree = "agree" if rhat <= 1.01 else "do not agree"
    return f"worth {n_eff:,.0f} independent ones: {trust}; {parts} {agree} about tau (R-hat {rhat:.3f})."


def wrapped(text: str, indent: str = "") -> list[str]:
    """Lines of at most WIDTH characters."""
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def paragraphs(sentences: dict[str, str]) -> list[str]:
    """Lines with the topics in a column of their own."""
    lines = []
    for topic, text in sentences.items():
        lines += wrapped(f"{topic + ':':<10}{text}", " " * 10)
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


def text_table(rows: list[list[str]]) -> list[str]:
    """Aligned lines; the first column to the left, numbers to the right."""
    widths = [max(len(line[k]) for line in rows) for k in range(len(rows[0]))]
    names = [line[0].ljust(widths[0]) for line in rows]
    numbers = ["  ".join(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)) for line in rows]
    return [f"  {name}  {text}" for name, text in zip(names, numbers, strict=True)]


def _signed(value: float) -> str:
    return f"{value:+.4f}"


def _plain(value: float) -> str:
    if not math.isfinite(value):
        return f"{value}"
    return f"{value:.4f}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"


def _p(pvalue: float) -> str:
    return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.2g}"
