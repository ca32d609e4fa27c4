"""Pairs whose dependence has the opposite sign within groups: Simpson's reversals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from copula_discrepancy.compare import wording
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.tested_wording import enumerated
from copula_discrepancy.data.naming import BRIEF
from copula_discrepancy.estimate.multiplicity import adjust_pvalues

Pair = tuple[str, str]


@dataclass(frozen=True)
class Reversal:
    """A pair of variables whose dependence has the wrong sign within some groups.

    `GroupedPairwise.reversals` contains them. In each of the groups, Kendall's tau of the draws and that of the reference are
    significantly different from 0, on opposite sides, and from each other.

    Attributes
    ----------
    names : (str, str)
        The two variables.
    groups : tuple of str
        The groups in which the sign is wrong.
    sign : int
        The sign of the reference's dependence within these groups, 1 or -1.
    overall : int
        The sign of its dependence over all rows; 0 if it is not significant.
    simpson : bool
        Whether this is Simpson's paradox: the reference has one sign over all rows and the other within groups, and the draws
        have the sign of all rows within groups as well.
    sentence : str
        The same in words.

    See Also
    --------
    pairwise : Finds them, with `by`.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> group = np.repeat([0, 1, 2], 200)
    >>> def table(slope):
    ...     x = rng.standard_normal(600)
    ...     return {"group": group, "x": x + 3 * group, "y": slope * x + rng.standard_normal(600) - 3 * group}
    >>> found = cd.pairwise(table(-1), table(1), by="group", iid=True).reversals[0]
    >>> found.label, found.groups, found.sign, found.overall, found.simpson
    ('x ~ y', ('0', '1', '2'), 1, -1, True)
    """

    names: Pair
    groups: tuple[str, ...]
    sign: int
    overall: int
    simpson: bool
    sentence: str = ""

    @property
    def label(self) -> str:
        """The pair as text, ``a ~ b``."""
        return wording.pair_label(*self.names)

    def to_dict(self) -> dict[str, Any]:
        """Every part by name, ready for JSON."""
        first, second = self.names
        words = {"first": first, "second": second, "groups": list(self.groups), "sentence": self.sentence}
        return words | {"sign": self.sign, "overall": self.overall, "simpson": self.simpson}


@dataclass(frozen=True)
class _Signs:
    """Significant signs of a pair's dependence in one comparison, 0 if not significant; and whether the taus differ."""

    draws: int
    reference: int
    differ: bool


def find_reversals(
    overall: Pairwise, groups: Mapping[str, Pairwise], named: Mapping[str, str]
) -> tuple[tuple[Reversal, ...], tuple[Reversal, ...]]:
    """The pairs with the wrong sign within groups, worst first; and those with a Simpson's paradox that the draws keep.

    Parameters
    ----------
    overall : Pairwise
        The comparison of all rows.
    groups : mapping from str to Pairwise
        Those within groups, with p-values adjusted for all of them together.
    named : mapping from str to str
        What each group is called in a sentence.
    """
    everywhere, *within = _signs([overall, *groups.values()])
    by_group = dict(zip(groups, within, strict=True))
    pairs = dict.fromkeys(pair for signs in within for pair in signs)
    wrong, kept = [], []
    for pair in pairs:
        own = {label: signs[pair] for label, signs in by_group.items() if pair in signs}
        whole = everywhere.get(pair, _Signs(0, 0, False))
        for sign in (1, -1):
            against = tuple(g for g, s in own.items() if s.reference == sign and s.draws == -sign and s.differ)
            # a paradox: the sign over all rows is that of no group
            paradox = whole.reference == -sign and not any(s.reference == -sign for s in own.values())
            same = tuple(g for g, s in own.items() if s.reference == sign and s.draws == sign)
            if against:
                found = Reversal(pair, against, sign, whole.reference, paradox)
                said = _sentence(found, [named[label] for label in against], overall.things, whole.draws == -sign)
                wrong.append(replace(found, sentence=said))
            elif paradox and same:
                found = Reversal(pair, same, sign, whole.reference, simpson=True)
                kept.append(replace(found, sentence=_kept(found, [named[label] for label in same])))
    wrong.sort(key=lambda found: (not found.simpson, -len(found.groups)))
    return tuple(wrong), tuple(kept)


def _signs(results: Sequence[Pairwise]) -> list[dict[Pair, _Signs]]:
    """The signs of every pair in every comparison, by tests that are adjusted together."""
    pvalues = [np.stack([_sign_pvalues(result.rows, end) for end in ("", "_target")]) for result in results]
    adjusted = adjust_pvalues(np.concatenate(pvalues, axis=1), results[0].adjust)
    ends = np.cumsum([len(result) for result in results])[:-1]
    alpha, found = 1.0 - results[0].confidence, []
    for result, own in zip(results, np.split(adjusted, ends, axis=1), strict=True):
        rows = result.rows
        signs = np.sign(np.stack([rows["tau"], rows["tau_target"]])) * (own < alpha)
        whole = np.nan_to_num(signs).astype(int)
        differ = rows["level_adjusted"] < alpha
        pairs = [(result.names[i], result.names[j]) for i, j in zip(rows["first"], rows["second"], strict=True)]
        found.append({pair: _Signs(int(whole[0, k]), int(whole[1, k]), bool(differ[k])) for k, pair in enumerate(pairs)})
    return found


def _sign_pvalues(rows: NDArray[Any], end: str) -> NDArray[np.float64]:
    """Two-sided p-values of tau = 0 in one sample; perfect dependence has no standard error, and no test."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(rows[f"tau{end}"]) / rows[f"tau{end}_se"]
    return np.where(rows[f"tau{end}_se"] > 0.0, 2.0 * ndtr(-ratios), np.nan)


def _sentence(found: Reversal, named: Sequence[str], things: str, draws_too: bool) -> str:
    """A reversal in words, without its full stop."""
    first, second = found.names
    ways = f"{first} and {second} rise together", f"{first} falls as {second} rises"
    inside, instead = ways[0], f"in the {things} one falls as the other rises"
    if found.sign < 0:
        inside, instead = ways[1], f"in the {things} they rise together"
    why = f", as over all groups together{'' if draws_too else ' in the reference'}" if found.simpson else ""
    kind = "Simpson's reversal" if found.simpson else "reversed"
    return f"{kind}: within {in_a_list(named)}, {inside} in the reference; {instead}{why}"


def _kept(found: Reversal, named: Sequence[str]) -> str:
    first, second = found.names
    ways = f"{first} and {second} rise together", f"{first} falls as {second} rises"
    inside, outside = ways if found.sign > 0 else ways[::-1]
    within = f"within {in_a_list(named)}, {inside}, in both samples"
    return f"Simpson's paradox that is kept: over all groups together {outside}; {within}"


def in_a_list(words: Sequence[str], limit: int = BRIEF) -> str:
    """Words as a sentence lists them: "a, b and c"; of very many, the first ones and the number of others."""
    if len(words) > limit:
        return f"{', '.join(words[:limit])} and {len(words) - limit} more"
    return enumerated(words)
