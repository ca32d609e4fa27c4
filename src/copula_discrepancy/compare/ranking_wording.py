"""A ranking of pairs as sentences and as a text table."""

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy.compare import wording
from copula_discrepancy.compare.joint_wording import joint_words
from copula_discrepancy.compare.rows import TESTED
from copula_discrepancy.compare.tested_wording import fewest_for_form, tested, tested_order
from copula_discrepancy.compare.verdict import PairTests, smallest_pvalue
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.agreement import RHAT_LIMIT
from copula_discrepancy.estimate.multiplicity import in_words
from copula_discrepancy.estimate.tails import CORNERS, part_name, reachable, share_beside

if TYPE_CHECKING:
    from copula_discrepancy.compare.many_result import Pairwise
    from copula_discrepancy.compare.pair_gap import PairGap

_KINDS = 5  # combinations of gaps that are counted one by one
_OFTEN = 3  # fewest flagged pairs for naming the variables they share, and number of variables named


def verdict(result: "Pairwise") -> str:
    """The answer in a few words."""
    if result.void:
        return wording.VOID
    if not result.tested.any():
        return f"no {result.unit} could be tested"
    stuck = ""
    if result.stuck:
        are, what = "is" if len(result.stuck) == 1 else "are", "stuck" if result.things == "draws" else "constant"
        stuck = f"{wording.counted(len(result.stuck), 'variable')} {are} {what} ({listed(result.stuck, BRIEF)}); "
    if result.n_flagged:
        return f"{stuck}gaps in {result.n_flagged:,} of {_so_far(result)}"
    found = f"{stuck}{wording.NO_GAP}{' so far' * (result.unfinished and not result.waiting)} in {_tested(result)}"
    return f"{found}; the joint dependence differs" if result.joint_differs else found


def title(result: "Pairwise") -> str:
    """What was compared, in one line."""
    aims = {
        "reference": f"a reference of {_shape(result.samples[1])} {_things_of_reference(result)}",
        "copulas": _copulas(result),
        "correlations": "a correlation matrix",
        "nothing": f"family {result.family}" if result.family else "the best family of each pair",
    }
    variables = f"{_shape(result.samples[0])} {result.things} of {len(result.names)} {_called(result)}"
    return f"{variables}, {_counted(result, len(result))}, against {aims[result.kind]}"


def _called(result: "Pairwise") -> str:
    """The noun for the variables: "columns" of a table, as its users say."""
    return "columns" if result.things == "rows" else "variables"


def _things_of_reference(result: "Pairwise") -> str:
    reference = result.samples[1]
    return result.things if reference is None else wording.called(reference, result.independent[1])


def sentences(result: "Pairwise") -> dict[str, str]:
    """The answer in words, by topic; where no gap was found, with what was tested."""
    texts = {"Answer": _answer(result)}
    if result.outcome == "no gap":
        texts["Tested"] = tested(result)
    if result.joint is not None:
        # categories, missing values and few values have no part in the joint test
        among = f" in {result.joint.n_pairs:,} of {_counted(result, len(result))}" if result.joint.n_pairs < len(result) else ""
        texts["Joint"] = f"{joint_words(result.joint, result.confidence, result.things)}{among}."
    if result.margins is not None:
        same = f"not tested: the {result.things} and the reference are the same."
        texts["Margins"] = same if result.void else f"{result.margins.line}."
    texts["Worst" if result.n_flagged else "Largest"] = about(result, result.worst)
    form = " ".join(filter(None, [_form(result), _low_order(result)]))
    if form:
        texts["Form"] = form
    tails = _tails(result)
    if tails is not None:
        texts["Tails"] = tails
    often = _often(result)
    if often is not None:
        texts["Where"] = often
    located = "" if result.divergences is None else result.divergences.sentence(_target(result))
    if located:
        texts["Divergent"] = located
    size = result.aggregate()
    if math.isfinite(size["max"]):
        name, strength = ("|shape|", "|tau|") if result.kind == "nothing" else ("CD", "the target's |tau|")
        by = "the weights passed" if result.own_weights else strength
        weighted = f", weighted by {by} {size['weighted']:.3f}" if math.isfinite(size["weighted"]) else ""
        beyond = result.rows["form"][result.rows["form_adjusted"] < 1.0 - result.confidence]
        form = f"; form at most {beyond.max():.2f}" if beyond.size else ""
        texts["Size"] = (
            f"{name} at most {size['max']:.3f}, on average {size['mean']:.3f}{weighted}{form}{_corner_size(result)}."
        )
    texts[result.things.capitalize()] = _enough(result, result.samples[0], "")
    if result.samples[1] is not None:
        texts["Reference"] = _enough(result, result.samples[1], "_target")
    judged = _judged(result)
    if judged is not None:
        texts["Judged"] = judged
    return texts | wording.computed_on(result)


def _target(result: "Pairwise") -> str:
    """The noun for the target."""
    return {"reference": "the reference", "nothing": "its family"}.get(result.kind, "the target")


def pair_tests(result: "Pairwise", row: Any) -> PairTests:
    """The tests of one pair."""
    return PairTests(
        (float(row["tau"]), float(row["tau_target"])),
        (float(row["tau_se"]), float(row["tau_target_se"])),
        {name: float(row[f"{name}_adjusted"]) for name in TESTED},
        {name: (float(row[name]), float(row[f"{name}_pvalue"])) for name in CORNERS},
        result.kind != "nothing",
        1.0 - result.confidence,
        result.void,
        str(row["pattern"]),
        result.family is None,
        result.ordered(row),
    )


def pair_verdict(result: "Pairwise", row: Any) -> str:
    """The significant gaps of one pair, in a few words."""
    return pair_tests(result, row).verdict


def table_rows(result: "Pairwise", limit: int | None) -> list[list[str]]:
    """The ranking as text, with a heading; only the columns that apply."""
    against, shaped = result.kind != "nothing", result.method != "moment"
    # without a target, the family is a result, and so is the agreement of chains, if there are several
    autocorrelated = not all(result.independent)
    compared = not against and any(math.isfinite(row["rhat"]) for row in result.rows)
    head = [
        result.unit,
        "tau",
        *([] if against or result.family else ["family"]),
        *(["target", "level", "se"] if against else []),
        *(["shape", "se"] if shaped else []),
        "form",
        *(["kept"] if against else []),
        "p",
        *(["n_eff"] if autocorrelated else []),
    ]
    lines = [[*head, *(["R-hat"] if compared else []), "verdict"]]
    for row in result.rows[: len(result) if limit is None else limit]:
        cells = [result.label(row), _number(row["tau"]), *([] if against or result.family else [_family(row)])]
        if against:
            cells += [_number(row["tau_target"]), *_gap(row["level"], row["level_se"])]
        cells += _gap(row["shape"], row["shape_se"]) if shaped else ()
        cells.append(f"{row['form']:.2f}" if math.isfinite(row["form"]) else "-")
        cells += [wording.percentage(float(row["kept"])) if math.isfinite(row["kept"]) else "-"] if against else []
        cells.append(wording.short_pvalue(smallest_pvalue(*(row[f"{name}_adjusted"] for name in TESTED))))
        n_eff = float(np.fmin(row["n_eff"], row["n_eff_target"]))
        cells += [f"{n_eff:,.0f}" if math.isfinite(n_eff) else "-"] if autocorrelated else []
        cells += [wording.rhat_text(row["rhat"]) if math.isfinite(row["rhat"]) else "-"] if compared else []
        lines.append([*cells, pair_verdict(result, row)])
    return lines


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _family(row: Any) -> str:
    return str(row["family"]) or "-"


def _answer(result: "Pairwise") -> str:
    level, pairs = in_words(result.adjust, 1.0 - result.confidence), _so_far(result)
    waiting = result.waiting
    untested = len(result) - int(np.sum(result.tested)) - waiting
    lost = _lost(result)
    if result.void:
        return f"the {result.things} and the reference are the same, so no test is valid; use an independent reference."
    if untested + waiting == len(result):
        return f"no {result.unit} could be tested (perfect dependence, too few values, or a fit at a parameter bound).{lost}"
    rest = (f" {_counted(result, untested)} could not be tested." if untested else "") + lost
    rest += f" {_counted(result, waiting)} {'is' if waiting == 1 else 'are'} not compared yet." if waiting else ""
    if not result.n_flagged:
        return f"no gap found{' so far' * (result.unfinished and not result.waiting)} in {_tested(result)} ({level}).{rest}"
    return f"significant gaps in {result.n_flagged:,} of {pairs}: {_kinds(result)} ({level}).{rest}"


def _kinds(result: "Pairwise") -> str:
    """The number of flagged pairs with each combination of gaps; every pair counts once, so the numbers add up."""
    kinds = Counter(pair_tests(result, row).kinds for row in result.rows[: result.n_flagged])
    shown = kinds.most_common(_KINDS if len(kinds) > _KINDS + 1 else None)
    counts = [f"{count:,} {' and '.join(parts)}" for parts, count in shown]
    others = result.n_flagged - sum(count for _, count in shown)
    return ", ".join([*counts, *([f"{others:,} other combinations"] if others else [])])


def _so_far(result: "Pairwise") -> str:
    """The number of pairs, but for those that a look at an unfinished run left for later."""
    return _counted(result, len(result) - result.waiting) + (" compared so far" if result.waiting else "")


def _tested(result: "Pairwise") -> str:
    """The number of pairs tested; of how many, if some were not."""
    tested, pairs = int(np.sum(result.tested)), _so_far(result)
    return pairs if tested == len(result) - result.waiting else f"{tested:,} of {pairs}"


def _lost(result: "Pairwise") -> str:
    """Which variables are constant in the draws only."""
    if not result.stuck:
        return ""
    one = len(result.stuck) == 1
    should = f"although {'it' if one else 'they'} should vary, so " if result.things == "draws" else "so "
    never = "is constant" if one else "are constant"
    names = listed(result.stuck, BRIEF)
    return f" {names} {never} in the {result.things}, {should}the dependence in those {result.unit}s is lost."


def _tails(result: "Pairwise") -> str | None:
    """The corner with the most significant gap, as a sentence."""
    rows = result.rows[result.rows["tails_adjusted"] < 1.0 - result.confidence]
    if not rows.size and len(result) == 1:
        only = result.rows[0]
        pvalues = float(only["tails_pvalue"]), float(only["tails_adjusted"])
        return wording.tails([], *pvalues, part_name(result.tail), pair_tests(result, only).n_corners)
    if not rows.size:
        return None
    row = rows[np.argmin(rows["tails_pvalue"])]
    name = min(CORNERS, key=lambda name: np.inf if np.isnan(row[f"{name}_pvalue"]) else row[f"{name}_pvalue"])
    names = result.names[row["first"]], result.names[row["second"]]
    where = CORNERS[name].words(names, result.tail, result.things)
    share = float(row[f"{name}_share"])
    aim, moved = share_beside(float(row[name]), share, float(row[f"{name}_share_target"]))
    whose = {"reference": "the reference", "nothing": str(row["family"])}.get(result.kind, "the target")
    known = (result.targets or {}).get((int(row["first"]), int(row["second"])))
    # the reference's own share, or that of a target whose family does not reach the draws' tau
    as_it_is = not reachable(known, float(row["tau"])) if known is not None else result.kind == "reference" and not moved
    at_tau = whose if as_it_is else f"{whose} at the same tau"
    more = f" {_counted(result, rows.size)} with such a gap." if rows.size > 1 else ""
    sentence = wording.tail_sentence(where, (share, aim), at_tau)
    sentence = f"{result.label(row)}: {sentence}" if result.unit == "edge" else sentence
    return f"{sentence} ({wording.chance(float(row['tails_adjusted']))}).{more}"


def _low_order(result: "Pairwise") -> str | None:
    """The order of form, where few draws allow less than was asked for."""
    fewest, allowed = fewest_for_form(result), tested_order(result)
    return f"tested up to order {allowed}; {fewest} {result.things} allow no more." if allowed < result.order else None


def _form(result: "Pairwise") -> str | None:
    """The pair whose form is most significantly wrong beyond strength, as a sentence."""
    alpha = 1.0 - result.confidence
    beyond = result.rows[result.rows["form_adjusted"] < alpha]
    rows = beyond[[pair_tests(result, row).form_counts for row in beyond]] if beyond.size else beyond
    if not rows.size:
        return None
    row = max(rows, key=lambda row: (bool(row["pattern"]), float(row["form"])))
    names = result.names[row["first"]], result.names[row["second"]]
    whose = {"reference": "the reference", "nothing": None}.get(result.kind, "the target")
    said = wording.pattern_words(str(row["pattern"]), names, whose, result.things)
    if not said:
        said = f"{wording.pair_label(*names)} differ in a way that has no simple name"
    if result.kind == "nothing":
        said += f", which {row['family']} cannot describe"
    reach = 1.96 * float(row["kept_se"])
    kept = float(row["kept"])
    share = wording.kept_words(kept, (kept - reach, kept + reach), 0.95, f"{whose}'s", result.things)
    more = f" {_counted(result, rows.size)} with a gap in form." if rows.size > 1 else ""
    return f"{said} ({wording.chance(float(row['form_adjusted']))}).{share}{more}"


def _corner_size(result: "Pairwise") -> str:
    """The size of significant corner gaps, which are not on the scale of tau."""
    rows = result.rows[result.rows["tails_adjusted"] < 1.0 - result.confidence]
    if not rows.size:
        return ""
    largest = max(float(np.nanmax(np.abs(rows[name]))) for name in CORNERS if np.isfinite(rows[name]).any())
    return f"; tail shares differ by up to {100.0 * largest:.0f} percentage points"


def _judged(result: "Pairwise") -> str | None:
    """How many of all pairs were tested, if columns or pairs were omitted."""
    tested = int(np.sum(result.tested))
    # pairs of columns that are compared may be left out on purpose, such as a column and where it is missing
    d, lost = len(result.names), len(result.left_out)
    every = result.unit == "pair" and result.kind != "copulas" and not result.lags
    possible = len(result) + (math.comb(d + lost, 2) - math.comb(d, 2) if every else 0)
    possible -= result.waiting
    if tested == possible and not (result.lags and result.left_out):
        return None
    omitted = [f"{name} ({reason})" for name, reason in result.left_out.items()]
    untested = len(result) - tested - result.waiting
    if untested:
        omitted.append(_counted(result, untested) + " that could not be tested")
    return f"{tested:,} of {_counted(result, possible)} were tested; omitted: {listed(omitted, BRIEF)}."


def about(result: "Pairwise", gap: "PairGap") -> str:
    """A pair in a sentence."""
    pair = gap.short_label
    if result.kind == "nothing":
        if not math.isfinite(gap.shape_se):
            return f"{pair}: Kendall's tau {gap.tau:.2f}, {gap.verdict}."
        difference = f"a tau that differs by {gap.shape:+.3f} from the {result.things}' {gap.tau:.2f} (se {gap.shape_se:.2g})"
        verdict = f", {gap.verdict}" if gap.flagged else ""
        return f"{pair}: the fitted {gap.family} copula has {difference}{verdict}."
    where = "the reference" if result.kind == "reference" else "the target"
    chance = f", {wording.chance(gap.pvalue)}" if math.isfinite(gap.pvalue) else ""
    if math.isnan(gap.tau):
        kept = f", {wording.percentage(gap.kept)} of its dependence kept" if math.isfinite(gap.kept) else ""
        size = f" (form {gap.form:.2f}{kept}{chance})" if math.isfinite(gap.form) else ""
        return f"{pair}: {gap.verdict}{size}."
    shape = f", shape {gap.shape:+.3f}" if math.isfinite(gap.shape) and result.method != "moment" else ""
    text = f"{pair}: Kendall's tau {gap.tau:.2f}, {gap.tau_target:.2f} in {where}, {gap.verdict}"
    return f"{text} (level {gap.level:+.3f}{shape}{chance})."


def _often(result: "Pairwise") -> str | None:
    """The variables that most flagged pairs share, if there are enough pairs."""
    if len(result.names) <= _OFTEN or result.n_flagged < _OFTEN or result.lags:  # kinds of pairs say more than columns
        return None
    flagged, rows = result.rows[: result.n_flagged], result.rows
    counts = Counter([*flagged["first"].tolist(), *flagged["second"].tolist()])
    of = Counter([*rows["first"].tolist(), *rows["second"].tolist()])
    if len({counts[k] for k in of}) == 1:
        return None  # evenly spread
    variables = [f"{result.names[k]} ({count} of {of[k]})" for k, count in counts.most_common(_OFTEN)]
    return f"the {_called(result)} with the most flagged pairs are {', '.join(variables[:-1])} and {variables[-1]}."


def _enough(result: "Pairwise", sample: Draws, end: str) -> str:
    """The number of draws, the effective sample size, and whether the chains agree."""
    n = f"{sample.n_chains * sample.n_draws:,}"
    if result.independent[1 if end else 0]:
        return f"{_per_pair(result, end) or n}, treated as independent."
    n_eff, rhat = result.rows["n_eff" + end], result.rows["rhat" + end]
    known = n_eff[np.isfinite(n_eff)]
    if known.size:
        least, most = f"{known.min():,.0f}", f"{known.max():,.0f}"
        n += f", n_eff {least if least == most else f'{least} to {most}'}"
    if np.isnan(rhat).all():
        return f"{n}."
    parts = f"{sample.n_chains} chains" if sample.n_chains > 1 else wording.halves(result.things)
    largest = float(np.nanmax(rhat))
    if largest <= RHAT_LIMIT:
        return f"{n}; {parts} agree on Kendall's tau (R-hat at most {wording.rhat_text(largest)})."
    return f"{n}; {parts} disagree on Kendall's tau (R-hat up to {wording.visibly_above(largest, RHAT_LIMIT)})."


def _per_pair(result: "Pairwise", end: str) -> str | None:
    """The number of rows of the pairs, if missing values make it differ."""
    counts = result.rows["n" + end]
    counts = counts[np.isfinite(counts)]
    if not counts.size or counts.min() == counts.max():
        return f"{counts[0]:,.0f}" if counts.size else None
    return f"{counts.min():,.0f} to {counts.max():,.0f} with both values, depending on the {result.unit}"


def _copulas(result: "Pairwise") -> str:
    different = list(dict.fromkeys((result.targets or {}).values()))
    return repr(different[0]) if len(different) == 1 else f"{len(different)} copulas"


def _counted(result: "Pairwise", count: int) -> str:
    return wording.counted(count, result.unit)


def _shape(sample: Draws | None) -> str:
    if sample is None:
        return "no"
    return f"{sample.n_chains} x {sample.n_draws}" if sample.n_chains > 1 else f"{sample.n_draws}"


def _gap(value: float, se: float) -> tuple[str, str]:
    return f"{value:+.3f}" if math.isfinite(value) else "-", f"{se:.3f}" if math.isfinite(se) else "-"
