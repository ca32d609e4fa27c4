"""The score of a synthetic table: how much of each pair's dependence is kept, with an interval, and what a loss means."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.data.kinds import MISSING

_CHANCE = 0.05  # adjusted p-value below which a difference counts
_REACH = NormalDist().inv_cdf(0.975)
_CLEAR = 3.0  # standard errors of the squared dependence of independent columns, below which a pair has no weight
_LITTLE = 0.25  # share of a dependence below which none, or nothing but, is left
_ALIKE = 0.7  # cosine between the coefficients of both tables below which the dependence is of another kind

NUMBERS = (
    "level", "level_se", "shape", "shape_se", "form", "form_se", "kept", "kept_se", "pvalue",
)  # fmt: skip


@dataclass(frozen=True)
class PairScore:
    """The score of one pair of columns.

    Attributes
    ----------
    pair : PairGap
        The comparison of the pair.
    score, low, high : float
        How much of its dependence is kept, from 0 to 1, and the ends of a 95% interval.
    plain : float
        The score if differences that are not significant count as well.
    weight : float
        The strength of its dependence, in the table that has more of it, beyond chance.
    change : str
        "" if there is no significant difference, otherwise "lost", "weaker", "stronger", "added", "reversed" or "other".
    """

    pair: PairGap
    score: float
    low: float
    high: float
    weight: float
    change: str
    plain: float

    @classmethod
    def of(cls, pair: PairGap) -> "PairScore":
        """From the numbers of a comparison in which the synthetic table is the draws and the real one the reference."""
        synthetic, real = pair.dependence, pair.dependence_target
        both, largest = synthetic**2 + real**2, max(synthetic, real) ** 2
        squared, error = pair.form**2, _REACH * _squared_error(pair.form, pair.form_se)
        noise = max(_squared_error(size, getattr(pair, f"{name}_se")) for name, size in _sizes(pair).items())
        weight = math.sqrt(max(largest - _CLEAR * noise, 0.0))

        def kept(difference: float) -> float:
            return min(max(0.5 * (both - difference) / largest, 0.0), 1.0) if largest > 0.0 else 1.0

        if not min(_or_one(pair.form_adjusted), _or_one(pair.level_adjusted)) < _CHANCE:
            return cls(pair, 1.0, kept(squared + error), 1.0, weight, "", kept(squared))
        change = _change(synthetic, real, squared, ordered=math.isfinite(pair.tau))
        score, low, high = kept(squared), kept(squared + error), kept(max(squared - error, 0.0))
        weaker = min(_sizes(pair).items(), key=lambda size: size[1])
        if weaker[1] ** 2 <= _CLEAR * _squared_error(weaker[1], getattr(pair, f"{weaker[0]}_se")):
            # chance remains of a dependence that is lost, or was not there, are not kept
            score, low, change = 0.0, 0.0, "lost" if weaker[0] == "dependence" else "added"
        return cls(pair, score, low, high, weight, change, score)

    def numbers(self, kinds: tuple[str, str], total: float) -> dict[str, Any]:
        """Everything about the pair by name; `total` is the sum of all weights."""
        pair = self.pair
        return {
            "score": self.score,
            "interval": (self.low, self.high),
            "weight": self.weight / total if total > 0.0 else 0.0,
            "kinds": kinds,
            "verdict": pair.verdict,
            "meaning": meaning(self.change, pair.names, kinds),
            "dependence_real": pair.dependence_target,
            "dependence_synthetic": pair.dependence,
            "tau_real": pair.tau_target,
            "tau_synthetic": pair.tau,
            **{name: getattr(pair, name) for name in NUMBERS},
        }


def is_judged(pair: PairGap) -> bool:
    """Whether a pair has a score: one that ran out of memory, or has too few rows, has none; perfect dependence may be kept."""
    tested = math.isfinite(pair.form_pvalue) or math.isfinite(pair.level_pvalue) or pair.level == 0.0
    return tested and math.isfinite(pair.form)


def _sizes(pair: PairGap) -> dict[str, float]:
    return {"dependence": pair.dependence, "dependence_target": pair.dependence_target}


def _squared_error(size: float, se: float) -> float:
    """The standard error of a squared size, which is close to normal where the size itself is not."""
    return 2.0 * se * max(size, se)


def _or_one(pvalue: float) -> float:
    return 1.0 if math.isnan(pvalue) else pvalue


def _change(synthetic: float, real: float, squared: float, *, ordered: bool = True) -> str:
    """How the dependence of a pair changed, from its size in both tables and the squared difference."""
    if synthetic == real == 0.0:
        return ""  # beyond chance neither table has any: a false alarm
    if synthetic < _LITTLE * real:
        return "lost"
    if real < _LITTLE * synthetic:
        return "added"
    product = 0.5 * (synthetic**2 + real**2 - squared)
    cosine = product / (synthetic * real)
    if cosine < -_LITTLE and ordered:
        return "reversed"
    if cosine < _ALIKE:
        return "other"
    return "weaker" if synthetic < real else "stronger"


def table_score(pairs: Sequence[PairScore]) -> tuple[float, tuple[float, float]]:
    """The mean of the pairs' scores by weight, and its interval; (1, NaN) if no pair has dependence in either table.

    Small losses in many pairs may be significant in none of them: the lower end is below the score that counts them all.
    Errors of pairs that have a column in common may all have the same sign, and are added; those of others are independent.
    """
    total = sum(pair.weight for pair in pairs)
    if not pairs:
        return math.nan, (math.nan, math.nan)
    if total <= 0.0:
        return 1.0, (math.nan, math.nan)
    score = sum(pair.weight * pair.score for pair in pairs) / total
    reach = []
    for end in ("low", "high"):
        by_column: dict[str, float] = {}
        alone = 0.0
        for pair in pairs:
            centre = pair.plain if end == "low" else pair.score
            part = pair.weight * abs(getattr(pair, end) - centre) / total
            alone += part**2
            for name in pair.pair.names:
                by_column[name] = by_column.get(name, 0.0) + part
        # each product of two pairs with a common column is in the square of that column's sum once, each square twice
        reach.append(math.sqrt(max(sum(part**2 for part in by_column.values()) - alone, 0.0)))
    plain = sum(pair.weight * pair.plain for pair in pairs) / total
    return min(score, 1.0), (max(min(score, plain) - reach[0], 0.0), min(score + reach[1], 1.0))


_MEANINGS: Mapping[str, str] = {
    "lost": "a model trained on this table cannot learn that {a} and {b} depend on each other",
    "weaker": "a model trained on this table will underestimate how much {a} and {b} depend on each other",
    "stronger": "a model trained on this table will overestimate how much {a} and {b} depend on each other",
    "added": "a model trained on this table will find a dependence between {a} and {b} that the real table does not have",
    "reversed": "a model trained on this table will learn the opposite of how {a} and {b} go together",
    "other": "a model trained on this table will learn another relation between {a} and {b} than the real one",
}
_MISSING: Mapping[str, str] = {
    "lost": "who fills in or drops missing values here will not see that {what} more often for some values of {other}",
    "added": "here {what} more often for some values of {other}; in the real table it is not so",
}


def meaning(change: str, names: tuple[str, str], kinds: tuple[str, str]) -> str:
    """What a difference means for who will use the table; empty if there is none."""
    if not change:
        return ""
    indicators = [k for k, kind in enumerate(kinds) if kind == MISSING]
    if len(indicators) == 1 and change in _MISSING:
        return _MISSING[change].format(what=names[indicators[0]], other=names[1 - indicators[0]])
    return _MEANINGS[change].format(a=names[0], b=names[1])
