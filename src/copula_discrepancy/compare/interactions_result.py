"""Result of `interactions`: a ranked table of triples and sentences."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare import interactions_wording, wording
from copula_discrepancy.compare.ranking import SHOWN, Ranking
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import unknown_name
from copula_discrepancy.estimate.joint import Joint
from copula_discrepancy.estimate.triples import CELLS

if TYPE_CHECKING:
    import pandas as pd

TRIPLE = np.dtype(
    [
        ("first", np.int32), ("second", np.int32), ("third", np.int32), ("cell", np.int8),
        *((name, float) for name in ("value", "value_se", "target", "target_se", "difference", "se", "pvalue", "adjusted")),
        ("in_pairs", bool), ("flagged", bool),
    ]
)  # fmt: skip
_NUMBERS = ("value", "value_se", "target", "target_se", "difference", "se", "pvalue", "adjusted")


@dataclass(frozen=True)
class Interaction:
    """One triple of variables: its row of the table as attributes.

    Returned by indexing an `Interactions` and by iterating over it.

    Attributes
    ----------
    names : (str, str, str)
        The three variables.
    cell : (int, int, int)
        The effect reported, by the polynomials multiplied: (1, 1, 1) is the change of a correlation with the third variable, a
        2 stands for the ends of a variable against its middle.
    value, value_se : float
        E[phi_j(U) phi_k(V) phi_m(W)] of the draws, with its standard error.
    target, target_se : float
        The same of the reference; NaN without one.
    difference, se : float
        Their difference, with its standard error; without a reference the value itself.
    pvalue, adjusted : float
        P-value of the whole triple, and the same adjusted for all triples.
    in_pairs : bool
        Whether a pair of these variables differs too.
    flagged : bool
        Whether the adjusted p-value is below 1 - confidence.
    verdict : str
        The effect in words, or that none was found.

    See Also
    --------
    Interactions : All triples.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.standard_normal((1000, 3))
    >>> reference[:, 2] = np.abs(reference[:, 2]) * np.sign(reference[:, 0] * reference[:, 1])
    >>> worst = cd.interactions(rng.standard_normal((1000, 3)), reference, iid=True)[0]
    >>> worst.label, worst.cell, worst.flagged
    ('x0 ~ x1 ~ x2', (1, 1, 1), True)
    """

    names: tuple[str, str, str]
    cell: tuple[int, int, int]
    value: float
    value_se: float
    target: float
    target_se: float
    difference: float
    se: float
    pvalue: float
    adjusted: float
    in_pairs: bool
    flagged: bool
    verdict: str = ""

    @property
    def label(self) -> str:
        """The triple as text, ``a ~ b ~ c``."""
        return interactions_wording.label(self.names)

    def to_dict(self) -> dict[str, Any]:
        """Every number and text by name, ready for JSON."""
        first, second, third = self.names
        words = {"first": first, "second": second, "third": third, "verdict": self.verdict, "flagged": self.flagged}
        return words | {"cell": list(self.cell), "in_pairs": self.in_pairs} | {name: getattr(self, name) for name in _NUMBERS}


_PLAIN = ("iid", "confidence", "adjust", "version", "n_flagged", "device", "device_name")


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Ranking):
    """Every triple of variables compared with the reference, worst first.

    Result of `interactions`; print it for a summary in words. Triples with a significant gap come first, then the others, each
    sorted by the size of the difference. Iterating yields an `Interaction` for every triple, ``result[0]`` is the worst one,
    and ``result["a", "b", "c"]`` that of three variables.

    Attributes
    ----------
    rows : structured array
        One row per triple, in that order; `to_dataframe` has the same numbers with names.
    coefficients, targets : array (triple, 8)
        All coefficients E[phi_j(U) phi_k(V) phi_m(W)], j, k, m = 1 or 2 (111, 112, 121, 122, 211, ...), of the draws and of the
        reference, in the order of the rows.
    names : tuple of str
        The variables.
    against : bool
        Whether there is a reference; without one, triples are tested against an elliptical copula.
    joint : Joint or None
        The answer for all pairs and all triples together, if there is a reference.
    iid, confidence, adjust
        As passed to `interactions`.
    samples, stuck, left_out, caveats, notes, version, device, device_name
        As in `Pairwise`.

    See Also
    --------
    interactions : The function that returns it, with the properties of its numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.standard_normal((1000, 3))
    >>> reference[:, 2] = np.abs(reference[:, 2]) * np.sign(reference[:, 0] * reference[:, 1])
    >>> result = cd.interactions(rng.standard_normal((1000, 3)), reference, iid=True)
    >>> result.verdict, result.outcome
    ('gaps in 1 of 1 triple', 'gap')
    """

    unit: ClassVar[str] = "triple"
    _subject: ClassVar[str] = "Three variables at a time"

    rows: NDArray[Any] = field(repr=False)
    coefficients: NDArray[Any] = field(repr=False)
    targets: NDArray[Any] = field(repr=False)
    names: tuple[str, ...]
    against: bool
    joint: Joint | None
    iid: bool | str
    confidence: float
    adjust: str
    samples: tuple[Draws, Draws | None] = field(repr=False)
    stuck: tuple[str, ...]
    left_out: Mapping[str, str]
    caveats: tuple[Caveat, ...]
    notes: tuple[str, ...]
    version: str
    device: str = field(default="cpu", kw_only=True)
    device_name: str = field(default="", kw_only=True)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Interaction]:
        return (self._gap(row) for row in self.rows)

    def __getitem__(self, key: Any) -> Interaction:
        """The triple at a position of the ranking, or of three variables: ``result[0]``, ``result["a", "b", "c"]``."""
        if isinstance(key, tuple) and len(key) == 3:
            return self._gap(self.rows[self._place(key)])
        return self._gap(self.rows[self._checked_place(key, " or by three names")])

    @property
    def worst(self) -> Interaction:
        """The first triple of the ranking."""
        return self[0]

    @property
    def flagged(self) -> NDArray[np.bool_]:
        """Whether each triple has a significant gap."""
        found: NDArray[np.bool_] = self.rows["flagged"]
        return found

    @property
    def n_flagged(self) -> int:
        """Number of triples with a significant gap."""
        return int(np.sum(self.flagged))

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per triple, worst first, with the three names, every number and the verdict.

        Examples
        --------
        >>> import numpy as np
        >>> import copula_discrepancy as cd
        >>> draws, reference = np.random.default_rng(1).standard_normal((2, 500, 4))
        >>> cd.interactions(draws, reference, iid=True).to_dataframe()["verdict"].tolist()
        ['no gap found', 'no gap found', 'no gap found', 'no gap found']
        """
        import pandas as pd

        table = pd.DataFrame({name: self.rows[name] for name in TRIPLE.names or ()})
        labels = np.array(self.names, dtype=object)
        for end in ("first", "second", "third"):
            table[end] = labels[self.rows[end]]
        table["cell"] = [",".join(map(str, CELLS[k])) for k in self.rows["cell"].tolist()]
        table.insert(3, "verdict", [gap.verdict for gap in self])
        return table

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for Python's json (infinite and missing numbers included)."""
        return self.overview() | {"triples": [gap.to_dict() for gap in self]}

    def overview(self) -> dict[str, Any]:
        """Every number and text except those of single triples."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        plain |= {"names": list(self.names), "n_triples": len(self), "outcome": self.outcome, "verdict": self.verdict}
        plain["joint"] = None if self.joint is None else self.joint.to_dict()
        plain |= {"stuck": list(self.stuck), "left_out": dict(self.left_out), "notes": list(self.notes)}
        return plain | {"words": self.sentences()} | self._recorded()

    # ---- words -----------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """The answer in a few words."""
        return interactions_wording.verdict(self)

    @property
    def outcome(self) -> str:
        """The verdict as one of three words: "gap", "no gap" or "void"; a stuck variable is a gap."""
        if self.void:
            return "void"
        return "gap" if self.n_flagged or self.stuck else "no gap"

    @property
    def title(self) -> str:
        """What was compared, in one line."""
        own, other = self.samples
        count = f"{own.n_chains * own.n_draws:,} {self.things} of {len(self.names)} variables"
        aim = "an elliptical copula" if other is None else f"{other.n_chains * other.n_draws:,} of a reference"
        return f"{count}, {wording.counted(len(self), self.unit)}, against {aim}"

    def sentences(self) -> dict[str, str]:
        """The answer in words, by topic: Answer, Tested (if nothing was found), Null, Worst, Pairs, Joint, Where, Judged."""
        return interactions_wording.sentences(self)

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
        return interactions_wording.table_rows(self, limit)

    def _printed_rows(self) -> list[list[str]]:
        return [row[:-1] for row in self.table_rows()]  # verdicts are as long as a line

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _gap(self, row: Any) -> Interaction:
        values = dict(zip(row.dtype.names, row.item(), strict=True))
        names = tuple(self.names[values[end]] for end in ("first", "second", "third"))
        numbers = {name: values[name] for name in _NUMBERS}
        gap = Interaction(
            cast(tuple[str, str, str], names), CELLS[values["cell"]], **numbers, in_pairs=values["in_pairs"],
            flagged=values["flagged"],
        )  # fmt: skip
        if self.void:
            said = wording.VOID
        elif gap.flagged:
            said = interactions_wording.effect(gap, self.things)
        elif math.isnan(gap.pvalue):
            said = wording.NOT_TESTED
        else:
            said = wording.NO_GAP if self.against else "no effect found"
        return Interaction(gap.names, gap.cell, **numbers, in_pairs=gap.in_pairs, flagged=gap.flagged, verdict=said)

    def _place(self, key: tuple[Any, ...]) -> int:
        for name in key:
            if not isinstance(name, str) or name not in self.names:
                raise InputError(unknown_name(str(name), self.names), "unknown-name")
        first, second, third = sorted(self.names.index(name) for name in key)
        rows = self.rows
        found = np.flatnonzero((rows["first"] == first) & (rows["second"] == second) & (rows["third"] == third))
        if not found.size:
            raise InputError(f"a triple must have three different variables, got {key!r:.80}", "unknown-name")
        return int(found[0])
