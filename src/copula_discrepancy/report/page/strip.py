"""The columns of two tables one by one: kind, values, missing share, and a small picture of both distributions."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare.wording import counted, per_hundred, percentage, shortened
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import DATE, DURATION, is_ordered
from copula_discrepancy.report.plots.columns import column_of, day

SHOWN = 200  # columns on a page; the JSON next to it has all
_NAME = 40  # characters of a name
_LABEL = 24  # characters of a level
_LEVELS = 3  # levels that are named
_BARS = 16  # bars of a small picture; more levels are not drawn
_WIDTH, _HEIGHT = 150.0, 36.0  # of a small picture, in its own units
_OUTER = 0.005  # quantile at which a histogram ends: one far value must not squeeze all others into a bar


def strip(real: Draws, synthetic: Draws, scores: dict[str, float], left_out: dict[str, str]) -> list[dict[str, Any]]:
    """A row for each column that both tables have, in the order of the real one, and for those that were left out."""
    shown = [name for name in real.names if name in synthetic.names]
    if len(shown) > SHOWN:  # those that lost most
        kept = set(sorted(shown, key=lambda name: _rank(scores.get(name)))[:SHOWN])
        shown = [name for name in shown if name in kept]
    rows = [_row(real, synthetic, name) | {"kept": _kept(scores.get(name)), "why": left_out.get(name, "")} for name in shown]
    empty = {"kind": "", "holds": "", "missing": ("", ""), "bars": None, "alt": "", "kept": "-"}
    rows += [{"name": shortened(name, _NAME), "why": why, **empty} for name, why in left_out.items() if name not in real.names]
    return rows[: 2 * SHOWN]


def _rank(score: float | None) -> float:
    """For sorting: columns without a score, or without dependence, come last."""
    return 2.0 if score is None or math.isnan(score) else score


def _kept(score: float | None) -> str:
    """How much of a column's dependence is kept; a column without any has nothing to keep."""
    if score is None:
        return "-"
    return "none to keep" if math.isnan(score) else percentage(score)


def _row(real: Draws, synthetic: Draws, name: str) -> dict[str, Any]:
    column, (own, other) = column_of([real, synthetic], name)
    missing = tuple(float(np.mean(np.isnan(values))) for values in (own, other))
    own, other = own[~np.isnan(own)], other[~np.isnan(other)]
    if column.by_level:
        counts = [np.bincount(values.astype(int), minlength=len(column.levels)) for values in (own, other)]
        shares = [count / max(count.sum(), 1) for count in counts]
        frequent = np.argsort(-shares[0], kind="stable")
        said = _levels_said(column.levels, shares, frequent)
        order = frequent[:_BARS] if not is_ordered(column.kind) else np.arange(len(column.levels))
        bars = [share[order] for share in shares]
    else:
        said = _range_said(own, column.kind)
        bars = _histograms(own, other)
    kind = column.kind if column.kind != DURATION else "duration, days"
    return {
        "name": shortened(name, _NAME),
        "kind": kind,
        "holds": said,
        "missing": tuple(f"{per_hundred(share)}%" for share in missing),
        "bars": _drawn(bars),
        "alt": f"{name}: {said}",
    }


def _levels_said(levels: tuple[str, ...], shares: list[NDArray[np.float64]], order: NDArray[np.int64]) -> str:
    named = [
        f"{shortened(levels[k], _LABEL)} {per_hundred(shares[0][k])}/{per_hundred(shares[1][k])}%" for k in order[:_LEVELS]
    ]
    more = f", {len(levels) - _LEVELS} more" if len(levels) > _LEVELS else ""
    return f"{counted(len(levels), 'level')}: {', '.join(named)}{more}"


def _range_said(values: NDArray[np.float64], kind: str) -> str:
    if not values.size:
        return "no values"
    low, middle, high = (float(end) for end in (values.min(), np.median(values), values.max()))
    if kind == DATE:
        return f"{day(low)} to {day(high)}, median {day(middle)}"
    return f"{low:.4g} to {high:.4g}, median {middle:.4g}"


def _histograms(own: NDArray[np.float64], other: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Shares of both tables in the same bins; values beyond the ends are in the outer ones."""
    if not own.size or not other.size:
        return [np.zeros(1), np.zeros(1)]
    ends = np.quantile(own, (_OUTER, 1.0 - _OUTER))
    low, high = float(ends[0]), float(ends[1])
    edges = np.linspace(low, high if high > low else low + 1.0, _BARS + 1)[1:-1]
    return [np.bincount(np.searchsorted(edges, values), minlength=_BARS) / values.size for values in (own, other)]


def _drawn(bars: list[NDArray[np.float64]]) -> list[dict[str, str]]:
    """Rectangles of a small picture: the real table upwards, the synthetic one downwards, on one scale."""
    highest = max(float(one.max()) for one in bars) or 1.0
    width = min(_WIDTH / max(bars[0].size, 1), 30.0)
    drawn = []
    for color, one, up in (("orange", bars[0], True), ("blue", bars[1], False)):
        for k, share in enumerate(one):
            height = 0.5 * _HEIGHT * float(share) / highest
            y = 0.5 * _HEIGHT - height if up else 0.5 * _HEIGHT
            place = {"x": k * width, "y": y, "width": 0.86 * width, "height": height}
            drawn.append({"color": color} | {key: f"{value:.1f}" for key, value in place.items()})
    return drawn
