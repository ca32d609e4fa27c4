"""What a ranking of pairs says, in sentences and as a table of text."""

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy import words
from copula_discrepancy.draws import Draws
from copula_discrepancy.multiplicity import in_words

if TYPE_CHECKING:
    from copula_discrepancy.pairwise_result import PairGap, Pairwise

_OFTEN = 3  # flagged pairs and variables named from which on it is worth telling where they gather


def verdict(result: "Pairwise") -> str:
    """The answer in a few words."""
    if not result.tested.any():
        return f"no {result.unit} could be tested"
    stuck = f"{words.some_of(result.stuck)} stuck, " if result.stuck else ""
    pairs = _counted(result, len(result))
    return stuck + (f"gaps in {result.n_flagged:,} of {pairs}" if result.n_flagged else f"no gap found in {pairs}")


def title(result: "Pairwise") -> str:
    """What was compared with what."""
    aims = {
        "reference": f"a reference of {_shape(result.samples[1])} draws",
        "copulas": _copulas(result),
        "correlations": "a correlation matrix",
        "nothing": f"family {result.family}" if result.family else "the best family of each pair",
    }
    variables = f"{_shape(result.samples[0])} draws of {len(result.names)} variables"
    return f"{variables}, {_counted(result, len(result))}, against {aims[result.kind]}"


def sentences(result: "Pairwise") -> dict[str, str]:
    """The answer in words, by topic."""
    found = {"Answer": _answer(result)}
    found["Worst" if result.n_flagged else "Largest"] = _about(result, result.worst)
    often = _often(result)
    if often is not None:
        found["Where"] = often
    size = result.aggregate()
    if math.isfinite(size["max"]):
        name, strength = ("|shape|", "|tau|") if result.kind == "nothing" else ("CD", "the target's |tau|")
        by = "the weights given" if result.own_weights else strength
        weighted = f", weighted by {by} {size['weighted']:.3f}" if math.isfinite(size["weighted"]) else ""
        found["Size"] = f"{name} at most {size['max']:.3f}, on average {size['mean']:.3f}{weighted}."
    found["Draws"] = _enough(result, result.samples[0], "")
    if result.samples[1] is not None:
        found["Reference"] = _enough(result, result.samples[1], "_target")
    return found


def pair_verdict(result: "Pairwise", row: Any) -> str:
    """What is off in one pair, in a few words."""
    if row["flagged"]:
        return ", ".join(_faults(result, row))
    if math.isnan(row["level_pvalue"]) and math.isnan(row["shape_pvalue"]):
        return "not tested"
    return "no gap found"


def table_rows(result: "Pairwise", limit: int | None) -> list[list[str]]:
    """The ranking as text, with a heading; the columns that this comparison has."""
    against, shaped = result.kind != "nothing", result.method != "moment"
    # where there is no target, the family is an answer, and so is whether chains agree, if there are chains
    compared = not against and any(math.isfinite(row["rhat"]) for row in result.rows)
    head = [
        result.unit,
        "tau",
        *([] if against or result.family else ["family"]),
        *(["target", "level", "se"] if against else []),
        *(["shape", "se"] if shaped else []),
        "p",
        "n_eff",
    ]
    lines = [[*head, *(["R-hat"] if compared else []), "verdict"]]
    for row in result.rows[: len(result) if limit is None else limit]:
        cells = [result.label(row), f"{row['tau']:.2f}", *([] if against or result.family else [_family(row)])]
        if against:
            cells += [f"{row['tau_target']:.2f}", *_gap(row["level"], row["level_se"])]
        cells += _gap(row["shape"], row["shape_se"]) if shaped else ()
        cells.append(words.short_pvalue(smaller_pvalue(row["level_adjusted"], row["shape_adjusted"])))
        n_eff = float(np.fmin(row["n_eff"], row["n_eff_target"]))
        cells.append(f"{n_eff:,.0f}" if math.isfinite(n_eff) else "-")
        cells += [f"{row['rhat']:.3f}" if math.isfinite(row["rhat"]) else "-"] if compared else []
        lines.append([*cells, pair_verdict(result, row)])
    return lines


def _family(row: Any) -> str:
    return str(row["family"]) or "-"


def smaller_pvalue(a: float, b: float) -> float:
    """The smaller of two p-values, of which one or both may be missing."""
    return float(np.fmin(a, b))


def _answer(result: "Pairwise") -> str:
    level, pairs = in_words(result.adjust, 1.0 - result.confidence), _counted(result, len(result))
    untested = len(result) - int(np.sum(result.tested))
    rest = f" {_counted(result, untested)} could not be tested." if untested else ""
    if result.stuck:
        never = "never varies" if len(result.stuck) == 1 else "never vary"
        rest += f" {words.some_of(result.stuck)} {never} in the draws, though it should: those {result.unit}s are lost."
    if untested == len(result):
        return f"no {result.unit} could be tested: perfect dependence, too few values, or a family on its bound."
    if not result.n_flagged:
        return f"no gap found in {pairs} ({level}).{rest}"
    kinds = Counter(part for row in result.rows[: result.n_flagged] for part in _faults(result, row))
    told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    return f"a gap beyond chance in {result.n_flagged:,} of {pairs}: {told} ({level}).{rest}"


def _faults(result: "Pairwise", row: Any) -> list[str]:
    alpha, found = 1.0 - result.confidence, []
    if row["level_adjusted"] < alpha:
        found.append(words.direction(row["tau"], row["tau_target"], row["level_se"]))
    if row["shape_adjusted"] < alpha:
        found.append("family does not fit" if result.kind == "nothing" else "wrong shape")
    return found


def _about(result: "Pairwise", gap: "PairGap") -> str:
    """A pair in a sentence."""
    pair = gap.short_label
    if result.kind == "nothing":
        if not math.isfinite(gap.shape_se):
            return f"{pair}: Kendall's tau {gap.tau:.2f}, {gap.verdict}."
        off = f"a tau {gap.shape:+.3f} off the draws' {gap.tau:.2f} (se {gap.shape_se:.2g})"
        return f"{pair}: {gap.family} fitted has {off}."
    where = "the reference" if result.kind == "reference" else "the target"
    chance = f", {words.chance(gap.pvalue)}" if math.isfinite(gap.pvalue) else ""
    shape = f", shape {gap.shape:+.3f}" if math.isfinite(gap.shape) and result.method != "moment" else ""
    text = f"{pair}: Kendall's tau {gap.tau:.2f}, {gap.tau_target:.2f} in {where}, {gap.verdict}"
    return f"{text} (level {gap.level:+.3f}{shape}{chance})."


def _often(result: "Pairwise") -> str | None:
    """The variables that most flagged pairs share, where there are enough pairs to tell."""
    if len(result.names) <= _OFTEN or result.n_flagged < _OFTEN:
        return None
    flagged, rows = result.rows[: result.n_flagged], result.rows
    counts = Counter([*flagged["first"].tolist(), *flagged["second"].tolist()])
    of = Counter([*rows["first"].tolist(), *rows["second"].tolist()])
    if len({counts[k] for k in of}) == 1:
        return None  # everywhere alike
    told = [f"{result.names[k]} in {count} of its {of[k]}" for k, count in counts.most_common(_OFTEN)]
    return f"most often {', '.join(told)} pairs."


def _enough(result: "Pairwise", sample: Draws, end: str) -> str:
    """How many draws there are, what they are worth, and whether chains agree."""
    n = f"{sample.n_chains * sample.n_draws:,}"
    if result.iid:
        return f"{n}, taken as independent."
    n_eff, rhat = result.rows["n_eff" + end], result.rows["rhat" + end]
    known = n_eff[np.isfinite(n_eff)]
    if known.size:
        least, most = f"{known.min():,.0f}", f"{known.max():,.0f}"
        n += f", worth {least if least == most else f'{least} to {most}'} independent ones"
    if np.isnan(rhat).all():
        return f"{n}."
    parts = f"{sample.n_chains} chains" if sample.n_chains > 1 else "the chain's halves"
    largest = float(np.nanmax(rhat))
    agree = "agree" if largest <= words.RHAT_LIMIT else "do not agree yet"
    return f"{n}; {parts} {agree} about Kendall's tau (R-hat at most {largest:.3f})."


def _copulas(result: "Pairwise") -> str:
    different = list(dict.fromkeys((result.targets or {}).values()))
    return repr(different[0]) if len(different) == 1 else f"{len(different)} copulas"


def _counted(result: "Pairwise", count: int) -> str:
    return f"1 {result.unit}" if count == 1 else f"{count:,} {result.unit}s"


def _shape(sample: Draws | None) -> str:
    if sample is None:
        return "no"
    return f"{sample.n_chains} x {sample.n_draws}" if sample.n_chains > 1 else f"{sample.n_draws}"


def _gap(value: float, se: float) -> tuple[str, str]:
    return f"{value:+.3f}" if math.isfinite(value) else "-", f"{se:.3f}" if math.isfinite(se) else "-"
