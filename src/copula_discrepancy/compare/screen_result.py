"""Result of `screen`: arrays of all pairs, worst first, and one joint answer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.checks import is_whole
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare import wording
from copula_discrepancy.compare.joint_wording import joint_words
from copula_discrepancy.compare.ranking import SHOWN, Ranking
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.all_pairs import Levels
from copula_discrepancy.estimate.joint import Joint
from copula_discrepancy.estimate.multiplicity import in_words

if TYPE_CHECKING:
    import pandas as pd


_LEVEL_COLUMNS = ("tau", "tau_target", "tau_se", "tau_pvalue")
_PLAIN = ("iid", "confidence", "adjust", "version", "n_flagged", "device", "device_name")


@dataclass(frozen=True, eq=False, repr=False)
class Screening(Ranking):
    """The form of all pairs of variables compared with a reference, worst first.

    Result of `screen`; print it for a summary in words. Pairs with a significant gap come first, then the others, each sorted
    by distance. All arrays are in this order.

    Attributes
    ----------
    names : tuple of str
        The variables.
    places : array (pair, 2)
        The two variables of each pair, by their place among `names`.
    distance : array (pair,)
        Root mean square difference between the densities of draws and reference, smoothed to this order, less what chance
        contributes; 1 means that the density is off, at a random place, by as much as independence has.
    kept : array (pair,)
        The share of the reference's dependence that the draws keep: 1 for all, 0 for none, negative if it is reversed; NaN if
        the reference has no dependence to speak of.
    pvalue, adjusted : array (pair,)
        P-values of no difference in form, with ``level=True`` in form and level, and the same adjusted for all pairs.
    coefficients, target : array (pair, order, order)
        E[phi_j(U) phi_k(V)] of the draws and of the reference.
    se : array (pair, order, order)
        Standard errors of their differences.
    joint : Joint
        The answer for all pairs together: `pvalue`, and `kept` with its interval.
    iid, confidence, adjust
        As passed to `screen`.
    samples, stuck, left_out, caveats, notes, version
        As in `Pairwise`.
    levels : Levels or None
        With ``level=True``, Kendall's taus: arrays (pair,) `own`, `other`, `se` (of their difference) and `pvalue`.
    device, device_name : str
        As in `Pairwise`.

    See Also
    --------
    screen : The function that returns it.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], 1000)
    >>> result = cd.screen(rng.standard_normal((1000, 3)), reference, iid=True)
    >>> result.verdict, abs(round(float(result.kept[0]), 1))
    ('gaps in 1 of 3 pairs; the joint dependence differs', 0.0)
    """

    unit: ClassVar[str] = "pair"
    _subject: ClassVar[str] = "Form of all pairs"

    names: tuple[str, ...]
    places: NDArray[np.intp] = field(repr=False)
    distance: NDArray[np.float64] = field(repr=False)
    kept: NDArray[np.float64] = field(repr=False)
    pvalue: NDArray[np.float64] = field(repr=False)
    adjusted: NDArray[np.float64] = field(repr=False)
    coefficients: NDArray[Any] = field(repr=False)
    target: NDArray[Any] = field(repr=False)
    se: NDArray[Any] = field(repr=False)
    joint: Joint
    iid: bool | str
    confidence: float
    adjust: str
    samples: tuple[Draws, Draws | None] = field(repr=False)
    stuck: tuple[str, ...]
    left_out: Mapping[str, str]
    caveats: tuple[Caveat, ...]
    notes: tuple[str, ...]
    version: str
    levels: Levels | None = field(default=None, repr=False, kw_only=True)
    device: str = field(default="cpu", kw_only=True)
    device_name: str = field(default="", kw_only=True)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def flagged(self) -> NDArray[np.bool_]:
        """Whether each pair has a significant gap."""
        return np.asarray(self.adjusted < 1.0 - self.confidence)

    @property
    def n_flagged(self) -> int:
        """Number of pairs with a significant gap."""
        return int(np.sum(self.flagged))

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
        if not is_whole(rank) or not -len(self) <= rank < len(self):
            raise InputError(f"rank must be the position of one of {wording.counted(len(self), 'pair')}, got {rank!r:.60}")
        first, second = self.places[rank]
        return self.names[first], self.names[second]

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per pair, worst first: both names, distance, kept, p-values and the largest difference's cell.

        With ``level=True`` also Kendall's taus: `tau`, `tau_target`, the standard error of their difference and its p-value.

        Examples
        --------
        >>> import numpy as np
        >>> import copula_discrepancy as cd
        >>> draws, reference = np.random.default_rng(1).standard_normal((2, 500, 3))
        >>> cd.screen(draws, reference, iid=True).to_dataframe().columns.tolist()
        ['first', 'second', 'distance', 'kept', 'pvalue', 'adjusted', 'flagged', 'cell', 'value', 'target', 'se']
        """
        import pandas as pd

        labels, cells = np.array(self.names, dtype=object), self._largest()
        rows = np.arange(len(self)), *cells
        levels = {} if self.levels is None else dict(zip(_LEVEL_COLUMNS, self.levels, strict=True))
        return pd.DataFrame(
            {
                "first": labels[self.places[:, 0]],
                "second": labels[self.places[:, 1]],
                "distance": self.distance,
                "kept": self.kept,
                "pvalue": self.pvalue,
                "adjusted": self.adjusted,
                "flagged": self.flagged,
                "cell": [f"{j + 1},{k + 1}" for j, k in zip(*cells, strict=True)],
                "value": self.coefficients[rows].astype(float),
                "target": self.target[rows].astype(float),
                "se": self.se[rows].astype(float),
            }
            | levels
        )

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for Python's json (infinite and missing numbers included)."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        plain |= {"names": list(self.names), "n_pairs": len(self), "joint": self.joint.to_dict()}
        plain |= {"stuck": list(self.stuck), "left_out": dict(self.left_out), "notes": list(self.notes)}
        return plain | {"words": self.sentences(), "pairs": self.to_dataframe().to_dict("records")} | self._recorded()

    # ---- words -----------------------------------------------------------------------------------------------------

    @property
    def outcome(self) -> str:
        """The verdict as one of three words: "gap", "no gap" or "void"; a stuck variable is a gap."""
        if self.void:
            return "void"
        return "gap" if self.n_flagged or self.stuck or self._differs else "no gap"

    @property
    def verdict(self) -> str:
        """The answer in a few words."""
        if self.void:
            return wording.VOID
        pairs = wording.counted(len(self), "pair")
        found = f"gaps in {self.n_flagged:,} of {pairs}" if self.n_flagged else f"{wording.NO_GAP} in {pairs}"
        stuck = f"constant in the {self.things}: {listed(self.stuck, BRIEF)}; " if self.stuck else ""
        return f"{stuck}{found}; {'the joint dependence differs' if self._differs else 'no joint difference found'}"

    @property
    def title(self) -> str:
        """What was compared, in one line."""
        own, other = self.samples
        assert other is not None
        count = f"{own.n_chains * own.n_draws:,} {self.things} of {len(self.names):,} variables"
        return f"{count}, {wording.counted(len(self), 'pair')}, against {other.n_chains * other.n_draws:,} of a reference"

    def sentences(self) -> dict[str, str]:
        """The answer in words, by topic: Answer, Tested (if no gap was found), Joint, Worst and, if there was one, Device."""
        if self.void:
            return {"Answer": f"the {self.things} and the reference are the same, so no test is valid; use an independent one."}
        level, pairs = in_words(self.adjust, 1.0 - self.confidence), wording.counted(len(self), "pair")
        if self.n_flagged:
            what = "form of dependence" if self.levels is None else "level or the form of dependence"
            answer = f"the {what} differs in {self.n_flagged:,} of {pairs} ({level})."
        else:
            answer = f"{wording.NO_GAP} in {pairs} ({level})."
        kept = (
            f", {wording.percentage(float(self.kept[0]))} of the reference's dependence kept"
            if math.isfinite(self.kept[0])
            else ""
        )
        taus = "" if self.levels is None else f", tau {self.levels.own[0]:.2f} instead of {self.levels.other[0]:.2f}"
        label, chance = wording.pair_label(*self.pair(0)), wording.chance(self.pvalue[0])
        worst = f"{label}: distance {self.distance[0]:.2f}{kept}{taus}, {chance}."
        texts = {"Answer": answer}
        if self.outcome == "no gap":
            texts["Tested"] = self._tested()
        texts["Joint"] = f"{joint_words(self.joint, self.confidence, self.things)}."
        texts["Worst" if self.n_flagged else "Largest"] = worst
        return texts | wording.computed_on(self)

    def _tested(self) -> str:
        """What the tests behind "no gap found" looked at, and what they cannot see."""
        strength = "" if self.levels is None else "strength and "
        return (
            f"{strength}form up to order {self.se.shape[1]}, in every pair. Not tested: shape and the corners, for which use "
            "pairwise. Not seen: patterns finer than form, and interactions of three or more variables."
        )

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
        taus = ["tau", "reference"] if self.levels is not None else []
        lines = [["pair", *taus, "distance", "kept", "p", "adjusted", "verdict"]]
        for k in range(len(self) if limit is None else min(limit, len(self))):
            kept = wording.percentage(float(self.kept[k])) if math.isfinite(self.kept[k]) else "-"
            said = wording.VOID if self.void else "gap" if self.flagged[k] else wording.NO_GAP
            pvalues = [wording.short_pvalue(values[k]) for values in (self.pvalue, self.adjusted)]
            taus = [] if self.levels is None else [f"{values[k]:.3f}" for values in self.levels[:2]]
            lines.append([wording.pair_label(*self.pair(k)), *taus, f"{self.distance[k]:.3f}", kept, *pvalues, said])
        return lines

    @property
    def _differs(self) -> bool:
        return self.joint.pvalue < 1.0 - self.confidence

    def _largest(self) -> tuple[NDArray[np.intp], ...]:
        """The cell of each pair whose difference is largest in standard errors."""
        with np.errstate(invalid="ignore", divide="ignore"):
            sizes = np.nan_to_num(np.abs(self.coefficients - self.target) / self.se)
        flat = sizes.reshape(len(self), -1).argmax(axis=1)
        return np.unravel_index(flat, sizes.shape[1:])
