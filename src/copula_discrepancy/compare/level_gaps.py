"""A pair with categories level by level: where the dependence differs, in shares and percentiles that need no statistics."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare import wording
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import MISSING, NOMINAL, NUMERIC, PRESENCE, is_ordered
from copula_discrepancy.estimate.basis import centred_ranks
from copula_discrepancy.estimate.coded_columns import coded
from copula_discrepancy.estimate.ranks import rank_column

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 12  # lines of a printed table
_NAME = 32  # characters of a level


@dataclass(frozen=True)
class LevelDifference:
    """One level, or one combination of levels, in both samples.

    Attributes
    ----------
    level, other : str
        The level of the first column and, if the second one has levels too, the level of that; else empty.
    value, reference : float
        The share of the level's rows that have the other level; or the mean percentile of the second column in the level.
    se : float
        Standard error of their difference, for independent rows.
    n, n_reference : int
        Rows with the level.

    See Also
    --------
    LevelGaps : All levels of a pair.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> gap = cd.LevelDifference("Gentoo", "", value=50.0, reference=75.0, se=2.5, n=120, n_reference=120)
    >>> gap.difference, gap.score
    (-25.0, -10.0)
    """

    level: str
    other: str
    value: float
    reference: float
    se: float
    n: int
    n_reference: int

    @property
    def difference(self) -> float:
        """The value less that of the reference."""
        return self.value - self.reference

    @property
    def score(self) -> float:
        """The difference in standard errors; 0 if it has none."""
        return self.difference / self.se if self.se > 0.0 else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class LevelGaps:
    """A pair of columns level by level, the largest difference first.

    Result of `Pairwise.levels`; print it for a table. The differences describe what the test of form found: they have standard
    errors of their own but are not tested one by one.

    Attributes
    ----------
    names : (str, str)
        The column with levels, and the other one.
    verdict : str
        That of the pair in the comparison.
    differences : tuple of LevelDifference
        The levels, or combinations of levels, by the size of their score.
    percentiles : bool
        Whether the second column is described by its mean percentile; otherwise by the shares of its levels.
    things : str
        The noun for the observations.
    whose : str
        What the reference is called.
    kinds : tuple of str
        The kinds of both columns.

    See Also
    --------
    Pairwise.levels : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> species = np.repeat(["Adelie", "Gentoo"], 200)
    >>> real = {"species": species, "mass": rng.normal(np.where(species == "Gentoo", 5.0, 3.7), 0.5)}
    >>> shuffled = {"species": species, "mass": rng.permutation(real["mass"])}
    >>> gaps = cd.pairwise(shuffled, real, iid=True).levels("species", "mass")
    >>> [(gap.level, round(gap.value), round(gap.reference)) for gap in gaps.differences]
    [('Adelie', 48, 26), ('Gentoo', 52, 74)]
    """

    names: tuple[str, str]
    verdict: str
    differences: tuple[LevelDifference, ...] = field(repr=False)
    percentiles: bool
    things: str
    whose: str = "the reference"
    kinds: tuple[str, str] = (NOMINAL, NUMERIC)

    @property
    def sentence(self) -> str:
        """The largest difference in words."""
        worst = self.differences[0]
        where = _state(self.names[0], self.kinds[0], worst.level)
        if self.percentiles:
            return (
                f"where {where}, {self.names[1]} is at percentile {worst.value:.0f} on average, "
                f"{worst.reference:.0f} in {self.whose}"
            )
        shares = [wording.per_hundred(share) for share in (worst.value, worst.reference)]
        with_level = f"where {where}" if self.kinds[0] == MISSING else f"with {self.names[0]} {worst.level}"
        if self.kinds[1] == MISSING:
            said = f"{_state(self.names[1], MISSING, worst.other)} in {shares[0]}"
        else:
            said = f"{shares[0]} have {self.names[1]} {worst.other}"
        return f"of 100 {self.things} {with_level}, {said}; {shares[1]} in {self.whose}"

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per level, or combination of levels, the largest difference first."""
        import pandas as pd

        return pd.DataFrame([vars(gap) | {"difference": gap.difference, "score": gap.score} for gap in self.differences])

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for JSON."""
        return {
            "names": list(self.names), "verdict": self.verdict, "percentiles": self.percentiles, "sentence": self.sentence,
            "differences": [vars(gap) | {"difference": gap.difference, "score": gap.score} for gap in self.differences],
        }  # fmt: skip

    def __repr__(self) -> str:
        what = f"mean percentile of {self.names[1]}" if self.percentiles else f"share with {self.names[1]}"
        head = [
            self.names[0],
            *([] if self.percentiles else [self.names[1]]),
            self.things,
            *(["here", "reference"] if self.percentiles else ["here, %", "reference, %"]),
            "difference",
            "se",
        ]
        lines = [head]
        for gap in self.differences[:_SHOWN]:
            scale, digits = (1.0, 0) if self.percentiles else (100.0, 1)
            numbers = [f"{scale * value:.{digits}f}" for value in (gap.value, gap.reference)]
            numbers += [f"{scale * gap.difference:+.{digits}f}", f"{scale * gap.se:.1f}"]
            levels = [wording.shortened(gap.level, _NAME), *([] if self.percentiles else [wording.shortened(gap.other, _NAME)])]
            lines.append([*levels, f"{gap.n:,}", *numbers])
        more = len(self.differences) - _SHOWN
        text = [f"{wording.pair_label(*self.names)}: {self.verdict}", f"  {what}, level by level", *wording.text_table(lines)]
        return "\n".join([*text, *([f"  ... and {more} more; see to_dataframe()"] if more > 0 else [])])


def level_gaps(
    draws: Draws, reference: Draws, verdict: str, things: str, whose: str = "the reference", *, as_given: bool = False
) -> LevelGaps:
    """Two columns of two samples level by level; at least one of them must have levels.

    Parameters
    ----------
    draws, reference : Draws
        The two columns in both samples.
    verdict : str
        That of the comparison.
    things : str
        The noun for the observations.
    whose : str
        What the reference is called.
    as_given : bool
        Keep the order of two columns with levels; by default a category without an order comes first.
    """
    columns = [
        coded([draws.column(k), reference.column(k)], draws.labels(k), ordered=is_ordered(draws.kind(k))) for k in (0, 1)
    ]
    if not columns[0][0].has_levels and not columns[1][0].has_levels:
        raise InputError(
            f"neither {draws.names[0]} nor {draws.names[1]} has levels; use result.pair for two columns of many values"
        )
    first = 0 if columns[0][0].has_levels else 1
    both = columns[0][0].has_levels and columns[1][0].has_levels
    if both and not as_given and columns[0][0].ordered and not columns[1][0].ordered:
        first = 1  # shares of an ordered column's levels among those of a category read more easily
    names = draws.names[first], draws.names[1 - first]
    rows, other = columns[first], columns[1 - first]
    percentiles = not other[0].has_levels
    samples = [
        (levels.codes, _percentiles(sample.column(1 - first)) if percentiles else second.codes)
        for levels, second, sample in zip(rows, other, (draws, reference), strict=True)
    ]
    found = []
    for k, level in enumerate(rows[0].labels):
        inside = [values[(codes == k) & (values >= 0)] for codes, values in samples]
        if min(values.size for values in inside) < 2:
            continue
        if percentiles:
            found.append(_difference(level, "", [100.0 * values for values in inside]))
            continue
        # of two levels, the second one says all
        shown = other[0].labels if other[0].size > 2 else other[0].labels[1:]
        for m, label in enumerate(shown, other[0].size - len(shown)):
            found.append(_difference(level, label, [(values == m).astype(np.float64) for values in inside]))
    found.sort(key=lambda gap: -abs(gap.score))
    if not found:
        raise InputError(f"no level of {names[0]} has two rows with both values in both samples, so nothing can be shown")
    kinds = draws.kind(first), draws.kind(1 - first)
    return LevelGaps(names, verdict, tuple(found), percentiles, things, whose, kinds)


def _state(name: str, kind: str, level: str) -> str:
    """That a column has a level; an indicator of missing values is named as a sentence already."""
    if kind != MISSING:
        return f"{name} is {level}"
    if level == PRESENCE[1]:
        return name
    return name.replace(" is missing", " is not missing").replace(" are missing", " are not missing")


def _difference(level: str, other: str, values: list[NDArray[np.float64]]) -> LevelDifference:
    means = [float(part.mean()) for part in values]
    se = math.sqrt(sum(float(part.var(ddof=1)) / part.size for part in values))
    return LevelDifference(level, other, means[0], means[1], se, values[0].size, values[1].size)


def _percentiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mid-ranks divided by the number of values; -1 if missing."""
    known = ~np.isnan(values)
    found = np.full(values.size, -1.0)
    if known.any():
        found[known] = centred_ranks(rank_column(values[known]))
    return found
