"""Dependence over time in words: the answer by kind of pair and by lag."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy.compare import ranking_wording, wording
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.lagging import CLUSTERING, KINDS, SAME_TIME, SPILLOVER

if TYPE_CHECKING:
    from copula_discrepancy.compare.many_result import Pairwise

_COLUMNS = 6  # lags that the printed table has a column for


def by_lag(result: "Pairwise") -> list[dict[str, Any]]:
    """One entry for each kind of pair and each lag: the number of pairs, how many are flagged, and the worst of them.

    Pairs that `explained_by_volatility` counts are in an entry's `explained`, not in its `flagged`.
    """
    lagging = result.lagging
    if lagging is None:
        return []
    groups: dict[tuple[str, int], list[Any]] = {}
    for row in result.rows:  # worst first
        first, second = int(row["first"]), int(row["second"])
        groups.setdefault((lagging.kind(first, second), lagging.columns[second].lag), []).append(row)
    explained, entries = explained_by_volatility(result), []
    for kind, lag in ((kind, lag) for kind in KINDS for lag in (0, *lagging.lags) if (kind, lag) in groups):
        rows = groups[kind, lag]
        others = [row for row in rows if _pair(row) not in explained]
        worst = (others or rows)[0]
        levels = np.array([abs(float(row["level"])) for row in rows])
        entries.append({
            "kind": kind, "lag": lag, "pairs": len(rows), "flagged": sum(bool(row["flagged"]) for row in others),
            "explained": len(rows) - len(others), "worst": result.label(worst),
            "verdict": ranking_wording.pair_verdict(result, worst),
            "largest_level": float(np.nanmax(levels)) if np.isfinite(levels).any() else math.nan,
        })  # fmt: skip
    return entries


def explained_by_volatility(result: "Pairwise") -> set[tuple[int, int]]:
    """Flagged pairs with the past that are about volatility: strength is right, and the variables' volatility is flagged.

    Volatile steps that follow each other are extremes of the values that follow each other, whatever their signs: the form and
    the tails of x and its past differ where only the clusters of |x| are wrong.
    """
    lagging = result.lagging
    if lagging is None:
        return set()
    alpha, flagged = 1.0 - result.confidence, result.rows[result.rows["flagged"]]
    wrong, candidates = set[frozenset[int]](), []
    for row in flagged:
        kind = lagging.kind(*_pair(row))
        variables = frozenset(lagging.columns[k].variable for k in _pair(row))
        if kind in (CLUSTERING, SPILLOVER):
            wrong.add(variables)
        elif kind != SAME_TIME and not row["level_adjusted"] < alpha:
            candidates.append((_pair(row), variables))
    return {pair for pair, both in candidates if both in wrong or any(frozenset([variable]) in wrong for variable in both)}


def _pair(row: Any) -> tuple[int, int]:
    return int(row["first"]), int(row["second"])


def time_title(result: "Pairwise") -> str:
    """What was compared, in one line: paths and steps before any were left out."""
    draws, reference = (_paths(sample, result.lags[-1]) for sample in result.samples)
    assert result.lagging is not None
    d = wording.counted(len(result.lagging.variables), "variable")
    past = "its past" if len(result.lagging.variables) == 1 else "their past"
    return f"{draws} of {d} and {past}, {wording.counted(len(result), result.unit)}, against a reference of {reference}"


def _paths(sample: Draws | None, longest: int) -> str:
    assert sample is not None
    steps = wording.counted(sample.n_draws + longest, "step")
    return f"{sample.n_chains:,} paths of {steps}" if sample.n_chains > 1 else f"one path of {steps}"


def time_verdict(result: "Pairwise") -> str:
    """The kinds of pairs with a gap, to follow a verdict; empty without any."""
    off = [] if result.void else kinds_off(result)
    return f" ({', '.join(off)})" if off else ""


def _by_kind(result: "Pairwise") -> dict[str, list[dict[str, Any]]]:
    kinds: dict[str, list[dict[str, Any]]] = {}
    for entry in by_lag(result):
        kinds.setdefault(entry["kind"], []).append(entry)
    return kinds


def kinds_off(result: "Pairwise") -> list[str]:
    """The kinds of pairs with a gap, those with the largest share of gaps first."""
    shares = {
        kind: sum(entry["flagged"] for entry in entries) / sum(entry["pairs"] for entry in entries)
        for kind, entries in _by_kind(result).items()
    }
    return [kind for kind in sorted(shares, key=lambda kind: -shares[kind]) if shares[kind] > 0.0]


def time_sentence(result: "Pairwise") -> str:
    """What was compared over time, and which kinds of pairs have gaps."""
    lags, kinds = result.lags, _by_kind(result)
    said = f"{dependence_over_time(lags)}."
    if result.void:
        return said
    explained = sum(entry["explained"] for entries in kinds.values() for entry in entries)
    off = [f"{kind} ({_counts(kinds[kind])})" for kind in kinds_off(result)]
    fine = [kind for kind, entries in kinds.items() if not any(entry["flagged"] for entry in entries)]
    said += f" Gaps in {_and(off)}." if off else ""
    if explained:
        pairs, have, their = ("pair", "has", "its") if explained == 1 else ("pairs", "have", "their")
        said += f" {explained:,} more flagged {pairs} {have} the right strength: wrong volatility shows in {their} extremes."
    if not fine:
        return said
    return f"{said} No {'other ' if off else ''}gap found in {_and(fine)}."


def dependence_over_time(lags: Sequence[int]) -> str:
    """What was compared, in a few words: "dependence over time, up to 5 steps"."""
    if len(lags) == lags[-1]:
        return "dependence over time, " + (f"up to {lags[-1]} steps" if lags[-1] > 1 else "one step")
    return f"dependence over time, {_and([str(lag) for lag in lags])} step{'s' * (lags[-1] > 1)}"


def _counts(entries: Sequence[Mapping[str, Any]]) -> str:
    flagged, pairs = (sum(entry[name] for entry in entries) for name in ("flagged", "pairs"))
    at = [entry["lag"] for entry in entries if entry["flagged"] and entry["lag"]]
    where = f", at lag{'s' * (len(at) > 1)} {_ranges(at, [entry['lag'] for entry in entries])}" if at else ""
    return f"{flagged:,} of {pairs:,} pair{'s' * (pairs != 1)}{where}"


def _ranges(some: Sequence[int], every: Sequence[int]) -> str:
    """Lags in words: those that are next to each other among all lags as a range, "1 to 3 and 20"."""
    runs: list[list[int]] = []
    for lag in some:
        if runs and every.index(lag) == every.index(runs[-1][-1]) + 1:
            runs[-1].append(lag)
        else:
            runs.append([lag])
    words = [f"{run[0]} to {run[-1]}" if len(run) > 2 else _and([*map(str, run)]) for run in runs]
    return _and(words) if all(len(run) != 2 for run in runs) or len(runs) == 1 else ", ".join(words)


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""


def time_rows(result: "Pairwise") -> list[list[str]]:
    """The answer by kind and lag as text, with a heading: flagged pairs of all, and the worst pair of each kind."""
    each = (0, *result.lags) if len(result.lags) <= _COLUMNS else ()
    lines = []
    for kind, entries in _by_kind(result).items():
        found = {entry["lag"]: f"{entry['flagged']} of {entry['pairs']}" for entry in entries}
        flagged, pairs = (sum(entry[name] for entry in entries) for name in ("flagged", "pairs"))
        worst = _first_of(result, entries)
        cells = [found.get(lag, "-") for lag in each] or [f"{flagged} of {pairs}"]
        lines.append([kind, *cells, worst["worst"], worst["verdict"]])
    return [["kind", *([f"lag {lag}" for lag in each] or ["flagged"]), "worst", "verdict"], *lines]


def _first_of(result: "Pairwise", entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The entry whose worst pair is first in the ranking."""
    places = {result.label(row): place for place, row in reversed([*enumerate(result.rows)])}
    return min(entries, key=lambda entry: places[entry["worst"]])
