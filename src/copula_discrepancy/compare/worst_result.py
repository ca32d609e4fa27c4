"""Result of `worst_consequences`: what dependence does to sums, differences and joint extremes of all pairs."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy.compare import wording
from copula_discrepancy.compare.ranking import SHOWN, Ranking
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.decomposition import COMBINATIONS
from copula_discrepancy.estimate.multiplicity import in_words
from copula_discrepancy.estimate.pair_effects import EFFECTS
from copula_discrepancy.estimate.tails import part_name

if TYPE_CHECKING:
    import pandas as pd

EFFECT_ROW = np.dtype(
    [
        ("first", np.int32), ("second", np.int32), ("effect", np.int8),
        *((name, float) for name in (*COMBINATIONS, "dependence", "se", "bias", "df", "size", "pvalue", "adjusted")),
        ("flagged", bool),
    ]
)  # fmt: skip
_NAME = 30  # characters of a name in a sentence
_PART = 1000  # records made at a time


@dataclass(frozen=True, eq=False, repr=False)
class WorstConsequences(Ranking):
    """What dependence does to sums, differences and joint extremes of all pairs, worst first.

    Result of `worst_consequences`; print it for a summary in words. A pair is shown by the largest of its effects.

    Attributes
    ----------
    names : tuple of str
        The variables.
    rows : structured array (pair, effect)
        Pairs with a significant effect first, then by p-value; of each pair the worst effect first. Fields: the places of both
        variables among `names`, the effect, its value in the four combinations of margins and dependence (see `Effect`), what
        is due to dependence with its standard error, bias (which interval and p-value subtract) and degrees of freedom, its
        size (relative to the value with the right dependence for a spread, to `tail` for a probability), p-value, adjusted
        p-value, and whether it is significant.
    tail : float
        The share of the reference that counts as low, and as high.
    standardize, iid, confidence, adjust, n_resamples
        As passed to `worst_consequences`.
    blocks : (int, int)
        Draws per resampled block in the two samples; 1 for single rows.
    samples, stuck, left_out, caveats, notes, version
        As in `Pairwise`.

    See Also
    --------
    worst_consequences : The function that returns it.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 1000)
    >>> result = cd.worst_consequences(rng.standard_normal((1000, 2)), reference, iid=True)
    >>> len(result), result.n_flagged, result.outcome
    (1, 1, 'gap')
    """

    unit: ClassVar[str] = "pair"
    _subject: ClassVar[str] = "Consequences"

    names: tuple[str, ...]
    rows: NDArray[Any] = field(repr=False)
    tail: float
    standardize: bool
    iid: bool | str
    confidence: float
    adjust: str
    n_resamples: int
    blocks: tuple[int, int]
    samples: tuple[Draws, Draws | None] = field(repr=False)
    stuck: tuple[str, ...]
    left_out: Mapping[str, str]
    caveats: tuple[Caveat, ...]
    notes: tuple[str, ...]
    version: str

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_flagged(self) -> int:
        """Number of pairs in which dependence has a significant effect."""
        return int(self.rows["flagged"].any(axis=1).sum())

    def pair(self, rank: int) -> tuple[str, str]:
        """The names of the pair at a position of the ranking.

        Parameters
        ----------
        rank : int
            Its position; 0 is the worst.

        Returns
        -------
        (str, str)
            Its two variables.

        Raises
        ------
        InputError
            For a position that does not exist.
        """
        row = self.rows[self._checked_place(rank, ""), 0]
        return self.names[row["first"]], self.names[row["second"]]

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per pair and effect: names, effect, the four values, what is due to dependence with interval and p-values.

        Examples
        --------
        >>> import numpy as np
        >>> import copula_discrepancy as cd
        >>> a, b = np.random.default_rng(1).standard_normal((2, 500, 2))
        >>> frame = cd.worst_consequences(a, b, iid=True).to_dataframe()
        >>> len(frame), frame.columns[:5].tolist()
        (10, ['first', 'second', 'effect', 'draws', 'repaired'])
        """
        import pandas as pd

        flat, labels = self.rows.reshape(-1), np.array(self.names, dtype=object)
        reach = stdtrit(flat["df"], 0.5 + 0.5 * self.confidence) * flat["se"]
        columns = {"first": labels[flat["first"]], "second": labels[flat["second"]]}
        columns |= {"effect": np.array([*EFFECTS], dtype=object)[flat["effect"]]}
        columns |= {name: flat[name] for name in (*COMBINATIONS, "dependence", "se")}
        centre = flat["dependence"] - flat["bias"]
        columns |= {"ci_low": centre - reach, "ci_high": centre + reach}
        return pd.DataFrame(columns | {name: flat[name] for name in ("size", "pvalue", "adjusted", "flagged")})

    def overview(self) -> dict[str, Any]:
        """Every number and text but the pairs, ready for Python's json."""
        names = (
            "tail",
            "standardize",
            "iid",
            "confidence",
            "adjust",
            "n_resamples",
            "version",
            "n_flagged",
            "outcome",
            "verdict",
        )
        plain = {name: getattr(self, name) for name in names}
        plain |= {"names": list(self.names), "n_pairs": len(self), "blocks": list(self.blocks), "stuck": list(self.stuck)}
        plain |= {"left_out": dict(self.left_out), "notes": list(self.notes), "words": self.sentences()}
        return plain | self._recorded()

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for Python's json (infinite and missing numbers included)."""
        return self.overview() | {"effects": [*effect_records(self)]}

    # ---- words -----------------------------------------------------------------------------------------------------

    @property
    def outcome(self) -> str:
        """The verdict as one of three words: "gap", "no gap" or "void"; a stuck variable is a gap."""
        if self.void:
            return "void"
        return "gap" if self.n_flagged or self.stuck else "no gap"

    @property
    def verdict(self) -> str:
        """The answer in a few words."""
        if self.void:
            return wording.VOID
        stuck = f"constant in the {self.things}: {listed(self.stuck, BRIEF)}; " if self.stuck else ""
        pairs = wording.counted(len(self), "pair")
        if self.n_flagged:
            return f"{stuck}dependence changes {self.n_flagged:,} of {pairs}"
        return f"{stuck}no effect of dependence found in {pairs}"

    @property
    def title(self) -> str:
        """What was compared, in one line."""
        own, other = self.samples
        assert other is not None
        counts = (
            f"{own.n_chains * own.n_draws:,} {self.things} of {len(self.names):,} variables, {other.n_chains * other.n_draws:,}"
        )
        return f"{counts} of a reference; sums, differences and joint extremes of {wording.counted(len(self), 'pair')}"

    def sentences(self) -> dict[str, str]:
        """The answer in words, by topic: Answer, Worst or Largest, Units and, if nothing was found, Tested."""
        if self.void:
            return {"Answer": f"the {self.things} and the reference are the same, so no test is valid; use an independent one."}
        level, pairs = in_words(self.adjust, 1.0 - self.confidence), wording.counted(len(self), "pair")
        if self.n_flagged:
            answer = f"wrong dependence changes sums, differences or joint extremes in {self.n_flagged:,} of {pairs} ({level})."
        else:
            answer = f"no effect of dependence on sums, differences or joint extremes found in {pairs} ({level})."
        texts = {"Answer": answer, "Worst" if self.n_flagged else "Largest": f"{self.described(0)}."}
        if self.standardize:
            texts["Units"] = "variables are divided by their standard deviation in the reference."
        if self.outcome == "no gap":
            texts["Tested"] = (
                "ten numbers of every pair. Other functions of the variables may be affected: consequence tests one of yours, "
                "pairwise (compare) the dependence itself."
            )
        return texts

    def described(self, rank: int) -> str:
        """The largest effect of the pair at a position of the ranking, in words, without a full stop.

        Parameters
        ----------
        rank : int
            Its position; 0 is the worst.

        Returns
        -------
        str
            Both values: in the draws, and with the reference's dependence.
        """
        row = self.rows[self._checked_place(rank, ""), 0]
        a, b = (wording.shortened(name, _NAME) for name in self.pair(rank))
        name = [*EFFECTS][row["effect"]]
        own, repaired = (_number(row[key], name) for key in ("draws", "repaired"))
        what = _subjects(a, b, part_name(self.tail))[name]
        is_in = f"is {own}" if not EFFECTS[name] else f"in {own}"
        would = "it would be" if not EFFECTS[name] else "that would be"
        chance = "not tested" if math.isnan(row["pvalue"]) else wording.chance(row["pvalue"], row["adjusted"])
        of = f"in the {self.things}" if not EFFECTS[name] else f"of the {self.things}"
        return f"{what} {is_in} {of}; with the reference's dependence and the same margins {would} {repaired} ({chance})"

    def table_rows(self, limit: int | None = SHOWN) -> list[list[str]]:
        """The ranking as text, with a heading.

        Parameters
        ----------
        limit : int or None
            Largest number of rows; None for all.

        Returns
        -------
        list of list of str
            The heading, then the rows.
        """
        lines = [["pair", "largest effect on", self.things, "repaired", "reference", "p", "due to dependence"]]
        for k in range(len(self) if limit is None else min(limit, len(self))):
            row, (a, b) = self.rows[k, 0], self.pair(k)
            name = [*EFFECTS][row["effect"]]
            values = [_number(row[key], name) for key in ("draws", "repaired", "reference")]
            lines.append(
                [wording.pair_label(a, b), _SHORT[name], *values, wording.short_pvalue(row["adjusted"]), self._said(row)]
            )
        return lines

    def _said(self, row: Any) -> str:
        if self.void:
            return wording.VOID
        if not row["flagged"]:
            return wording.NOT_TESTED if math.isnan(row["pvalue"]) else "no effect found"
        name, more = [*EFFECTS][row["effect"]], row["dependence"] > 0.0
        if EFFECTS[name]:
            return "more often" if more else "less often"
        return "wider" if more else "narrower"


def effect_records(result: WorstConsequences, pairs: int | None = None) -> Iterator[dict[str, Any]]:
    """The rows of the data frame as dictionaries, of so many pairs, one after another: there may be millions."""
    table = result.to_dataframe()
    end = len(table) if pairs is None else min(pairs, len(result)) * len(EFFECTS)
    for start in range(0, end, _PART):
        yield from table[start : min(start + _PART, end)].to_dict("records")


_SHORT = {
    "sum spread": "spread of sum",
    "difference spread": "spread of difference",
    "sum low": "low sum",
    "sum high": "high sum",
    "difference low": "low difference",
    "difference high": "high difference",
    "both low": "both low",
    "both high": "both high",
    "low high": "first low, second high",
    "high low": "first high, second low",
}


def _subjects(a: str, b: str, part: str) -> dict[str, str]:
    """What each number is, at the start of a sentence; `part` is a word such as "tenth"."""
    return {
        "sum spread": f"the standard deviation of {a} + {b}",
        "difference spread": f"the standard deviation of {a} - {b}",
        "sum low": f"{a} + {b} is in the reference's lowest {part}",
        "sum high": f"{a} + {b} is in the reference's highest {part}",
        "difference low": f"{a} - {b} is in the reference's lowest {part}",
        "difference high": f"{a} - {b} is in the reference's highest {part}",
        "both low": f"{a} and {b} are both in the reference's lowest {part}",
        "both high": f"{a} and {b} are both in the reference's highest {part}",
        "low high": f"{a} is in the reference's lowest {part} and {b} in its highest",
        "high low": f"{a} is in the reference's highest {part} and {b} in its lowest",
    }


def _number(value: float, effect: str) -> str:
    """A spread to three digits, a probability as a percentage."""
    return f"{100.0 * value:.3g}%" if EFFECTS[effect] else f"{value:.3g}"
