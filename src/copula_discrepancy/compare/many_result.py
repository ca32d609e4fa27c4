"""Result of `pairwise`: a ranked table, aggregates and sentences."""

import math
import warnings as python_warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.checks import one_of, true_or_false
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy._core.tensors.device import AUTO, CPU, checked_device
from copula_discrepancy._core.warn import warn
from copula_discrepancy.compare import divergences, one_of_many, over_time_wording, ranking_wording, wording
from copula_discrepancy.compare.adjusted_rows import RANKED, ranked_rows
from copula_discrepancy.compare.counted_draws import CountedDraws, rows_of
from copula_discrepancy.compare.divergences import Divergences
from copula_discrepancy.compare.interactions_result import Interactions
from copula_discrepancy.compare.level_gaps import LevelGaps
from copula_discrepancy.compare.margins import Margins
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.compare.pair_gap import NUMBERS, OLD_TAILS, PairGap
from copula_discrepancy.compare.ranking import SHOWN, Ranking
from copula_discrepancy.compare.rows import BLOCKS, TESTED
from copula_discrepancy.compare.verdict import smallest_pvalue
from copula_discrepancy.compare.worst_result import WorstConsequences
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import is_ordered
from copula_discrepancy.data.lagging import Lagging
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.batches import FEWEST_DRAWS, left_out_columns
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.joint import Joint, joint
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import TAIL_SHARE
from copula_discrepancy.estimate.tails import CORNERS
from copula_discrepancy.families import Copula

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SEVERAL = 3  # variables, or pairs, that have a joint answer beside their own


def _require_section(value: Any, name: str, kind: type, function: str) -> None:
    """Raise unless a section of a page is what the function for it returns, or None."""
    if value is not None and not isinstance(value, kind):
        raise InputError(f"{name} must be the result of {function}(draws, reference), got {type(value).__name__}")


@dataclass(frozen=True, eq=False, repr=False)
class Pairwise(Ranking):
    """Every pair of variables compared with its target, worst first.

    Result of `pairwise`; print it for a summary in words. Pairs with a significant gap come first, then the others, each sorted
    by the largest of |level|, |shape| and, if they are significant, the gaps of tails and form. Iterating yields a `PairGap`
    for every pair, ``result[0]`` is the worst one, and ``result["mu", "tau"]`` that of two variables. Pairs with categories
    without order have form only, and `levels` shows them level by level; `pair` is for two columns with an order.

    Attributes
    ----------
    rows : structured array
        One row per pair, in that order; `to_dataframe` has the same numbers with names.
    blocks : array
        What leaving out blocks of draws said of every pair's fits, in the same order; NaN where margins mix well.
    names : tuple of str
        The variables, after them the indicators of missing values, such as ``"income is missing"``.
    kind : {"reference", "copulas", "correlations", "nothing"}
        The kind of target.
    family : str or None
        The family used for all pairs; None if each pair has its own.
    method, iid, confidence, adjust
        As passed to `pairwise`.
    weights, own_weights
        The weight of each row in `weighted`, and whether the user passed the weights.
    samples : (Draws, Draws or None)
        The draws, and the reference sample.
    targets : mapping or None
        The target copulas by the numbers of their variables.
    template : Copula or None
        A member of the family used for all pairs.
    tail : float
        The fraction of each variable that counts as its tail.
    order : int
        The order of form.
    exact : bool
        Whether functions of families were computed exactly, and all families compared, as in `discrepancy`.
    stuck : tuple of str
        Variables that are constant in the draws but not in the target: the dependence of their pairs is lost, and they have no
        rows.
    left_out : mapping from str to str
        Variables that are in no pair, with the reason.
    caveats : tuple of Caveat
        Limitations to keep in mind when interpreting the numbers; `warnings` holds their sentences.
    notes : tuple of str
        Notes on how the draws and the reference were read.
    version : str
        The library's version.
    margins : Margins or None
        The variables one by one, compared with those of a reference sample; they do not enter the verdict.
    lagging : Lagging or None
        With `lags`, the columns made from the variables and their past; `names` has the names of these columns.
    device, device_name : str
        Where pairs were compared, such as "cuda:0", and its name; "cpu" for the processor.
    unfinished : bool
        Whether this is a look of `watch` at a run that goes on: rows may be of fewer draws (column ``n``), or of none so far.

    See Also
    --------
    pairwise : The function that returns it.
    plot_tau_forest : The worst pairs, chain by chain.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], 500)
    >>> result = cd.pairwise(rng.standard_normal((500, 3)), reference, iid=True)
    >>> result.verdict, len(result), result["x0", "x1"].verdict
    ('gaps in 1 of 3 pairs', 3, 'too weak')
    >>> round(result.max, 2), round(result.mean, 2), round(result.weighted, 2)
    (0.54, 0.19, 0.51)
    """

    unit: ClassVar[str] = "pair"
    _subject: ClassVar[str] = "Copula discrepancy"
    _made_by: ClassVar[str] = "pairwise"

    rows: NDArray[Any] = field(repr=False)
    blocks: NDArray[np.float64] = field(repr=False)
    names: tuple[str, ...]
    kind: str
    method: str
    family: str | None
    iid: bool | str
    confidence: float
    adjust: str
    weights: NDArray[np.float64] = field(repr=False)
    own_weights: bool
    samples: tuple[Draws, Draws | None] = field(repr=False)
    targets: Mapping[tuple[int, int], Copula] | None = field(repr=False)
    template: Copula | None = field(repr=False)
    tail: float
    order: int
    exact: bool
    stuck: tuple[str, ...]
    left_out: Mapping[str, str]
    caveats: tuple[Caveat, ...]
    notes: tuple[str, ...]
    version: str
    margins: Margins | None = field(default=None, repr=False, kw_only=True)
    lagging: Lagging | None = field(default=None, repr=False, kw_only=True)
    device: str = field(default="cpu", kw_only=True)
    device_name: str = field(default="", kw_only=True)
    unfinished: bool = field(default=False, kw_only=True)

    @classmethod
    def of(
        cls,
        rows: NDArray[Any],
        *,
        weights: NDArray[np.float64] | None,
        confidence: float,
        adjust: str,
        unfinished: bool = False,
        **kept: Any,
    ) -> Self:
        """Adjust the p-values of all tests together and sort the rows, worst first.

        Parameters
        ----------
        rows : structured array
            One row per pair, in any order.
        weights : array or None
            One per row; None for the target's |tau|.
        confidence : float
            Adjusted p-values below 1 - confidence count as a gap.
        adjust : {"bh", "by", "holm", "bonferroni", "none"}
            See `adjust_pvalues`.
        unfinished : bool
            Whether rows of no draws are of pairs that a look at an unfinished run has not compared yet.
        **kept : object
            All other attributes.

        Returns
        -------
        Pairwise
            The ranked result.
        """
        strength = _strength(rows) if weights is None else weights
        table, order = ranked_rows(rows, adjust, 1.0 - confidence, waiting=rows["n"] == 0 if unfinished else None)
        return cls(
            rows=table[order],
            blocks=rows[BLOCKS][order],
            weights=strength[order],
            own_weights=weights is not None,
            confidence=confidence,
            adjust=adjust,
            unfinished=unfinished,
            **kept,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[PairGap]:
        return (self._gap(row) for row in self.rows)

    def __getitem__(self, key: Any) -> PairGap:
        """The pair at a position of the ranking, or of two variables: ``result[0]``, ``result["mu", "tau"]``."""
        if isinstance(key, tuple) and len(key) == 2:
            return self._gap(self.rows[one_of_many.place_of(self, *key)])
        return self._gap(self.rows[self._checked_place(key, " or by two names")])

    @property
    def worst(self) -> PairGap:
        """The first pair of the ranking."""
        return self[0]

    @property
    def n_flagged(self) -> int:
        """Number of pairs with a significant gap."""
        return int(np.sum(self.rows["flagged"]))

    @property
    def lags(self) -> tuple[int, ...]:
        """The numbers of steps between the variables and their past; () if dependence over time was not compared."""
        return () if self.lagging is None else self.lagging.lags

    @property
    def counted(self) -> bool:
        """Whether rows were counted in bins instead of ranked, as tables that do not fit into memory are."""
        return isinstance(self.samples[0], CountedDraws)

    @property
    def waiting(self) -> int:
        """Number of pairs that a look at an unfinished run has not compared yet."""
        return int(np.sum(self.rows["n"] == 0)) if self.unfinished else 0

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Whether anything could be tested, by pair."""
        return np.any([np.isfinite(self.rows[f"{name}_pvalue"]) for name in TESTED], axis=0)

    @property
    def cd(self) -> NDArray[np.float64]:
        """The paper's CD of every pair, |total|; |level| if no family was fitted, |shape| without a target."""
        if self.kind == "nothing":
            return np.abs(self.rows["shape"])
        return np.abs(np.where(np.isnan(self.rows["total"]), self.rows["level"], self.rows["total"]))

    @property
    def max(self) -> float:
        """The largest CD of all pairs."""
        return self.aggregate()["max"]

    @property
    def mean(self) -> float:
        """The mean CD of all pairs."""
        return self.aggregate()["mean"]

    @property
    def weighted(self) -> float:
        """The weighted mean CD, with the weights passed or the target's |tau| (without a target, the draws')."""
        return self.aggregate()["weighted"]

    def aggregate(self, number: str = "cd") -> dict[str, float]:
        """Maximum, mean and weighted mean over all pairs of the absolute value of a number, such as "level"; NaN are ignored.

        The paper's aggregates of pairwise discrepancies (Aich and Aich, 2025, section 7.5).

        Parameters
        ----------
        number : str
            "cd", or a column of `to_dataframe`, such as "level" or "ckl".

        Returns
        -------
        dict
            "max", "mean" and "weighted"; NaN if no pair has the number.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
        >>> {name: round(value, 3) for name, value in result.aggregate("shape").items()}
        {'max': 0.107, 'mean': 0.107, 'weighted': 0.107}
        """
        values = np.abs(self._numbers(number))
        known = ~np.isnan(values)
        if not known.any():
            return {"max": math.nan, "mean": math.nan, "weighted": math.nan}
        weights = self.weights[known]
        if weights.any():
            weights = weights / weights.max()  # the sum of very large weights would overflow
        weighted = float(np.sum(weights * values[known]) / np.sum(weights)) if weights.any() else math.nan
        return {"max": float(values[known].max()), "mean": float(values[known].mean()), "weighted": weighted}

    def matrix(self, number: str = "level") -> NDArray[np.float64]:
        """A number of all pairs as a symmetric (d, d) matrix in the order of `names`; NaN on the diagonal and if not available.

        Parameters
        ----------
        number : str
            "cd", or a column of `to_dataframe`, such as "level" or "tau".

        Returns
        -------
        array (d, d)
            The matrix, in the order of the variables.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
        >>> result.matrix("shape").round(2)
        array([[  nan, -0.11],
               [-0.11,   nan]])
        """
        matrix = np.full((len(self.names), len(self.names)), math.nan)
        i, j = self.rows["first"], self.rows["second"]
        matrix[i, j] = matrix[j, i] = self._numbers(number)
        return matrix

    def pair(self, first: str, second: str) -> Discrepancy:
        """All results for one pair: `discrepancy` of its draws, with the same family and the same target.

        Its numbers are those of the row: nothing is fitted again. Its tests use the p-values of the row, adjusted for all
        pairs, so that the verdict is the same.

        Parameters
        ----------
        first, second : str
            The two variables, in any order.

        Returns
        -------
        Discrepancy
            The result with intervals, sentences and plots.

        Raises
        ------
        InputError
            For an unknown name, a pair that was not compared, or a comparison without a target.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
        >>> result.pair("x0", "x1").verdict == result["x0", "x1"].verdict
        True
        """
        return one_of_many.pair_of(self, first, second)

    def levels(self, first: str, second: str) -> LevelGaps:
        """A pair in which a column has levels, level by level: where its dependence differs, in shares and percentiles.

        Parameters
        ----------
        first, second : str
            The two variables. If both have levels, shares of the second one's are given within each of the first one's;
            otherwise in any order.

        Returns
        -------
        LevelGaps
            The levels, the largest difference first.

        Raises
        ------
        InputError
            For an unknown name, a pair that was not compared, columns of many values, or without a reference sample.
        """
        return one_of_many.levels_of(self, first, second)

    def fitted(self, first: str, second: str) -> Fit:
        """The family used for a pair, fitted to its draws.

        Parameters
        ----------
        first, second : str
            The two variables, in any order.

        Returns
        -------
        Fit
            The fit, by the method of the comparison.

        Raises
        ------
        InputError
            For an unknown name, a pair that was not compared, or one that ran out of memory.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
        >>> result.fitted("x0", "x1").family
        'Gumbel'
        """
        return one_of_many.fitted_of(self, first, second)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per pair, worst first, with both names, every number and the verdict.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
        >>> result.to_dataframe()[["first", "second", "verdict"]].values.tolist()
        [['x0', 'x1', 'wrong shape, low-low tail too thick, high-high tail too thin']]
        """
        import pandas as pd

        table = pd.DataFrame({name: self.rows[name] for name in RANKED.names or ()})
        labels = np.array(self.names, dtype=object)
        table["first"], table["second"] = labels[self.rows["first"]], labels[self.rows["second"]]
        table["pattern"] = [self.pattern(row) for row in self.rows]
        table.insert(2, "verdict", [ranking_wording.pair_verdict(self, row) for row in self.rows])
        table.insert(3, "pvalue", [smallest_pvalue(*(row[f"{name}_adjusted"] for name in TESTED)) for row in self.rows])
        return table

    def by_lag(self) -> "pd.DataFrame":
        """Gaps over time, one row per kind of pair and lag: how many of the pairs are flagged, and the worst of them.

        Returns
        -------
        DataFrame
            Columns kind ("same time", "own past", "others' past", "volatility clustering", "volatility spillover",
            "leverage"), lag, pairs, flagged, worst, verdict (that of the worst pair) and largest_level, the largest
            absolute level.

        Raises
        ------
        InputError
            Without `lags`.

        Examples
        --------
        >>> import numpy as np
        >>> import copula_discrepancy as cd
        >>> history = np.zeros((1000, 1))
        >>> for t, shock in enumerate(np.random.default_rng(1).standard_normal(999), start=1):
        ...     history[t] = 0.6 * history[t - 1] + shock
        >>> draws = np.random.default_rng(2).standard_normal((50, 100, 1))
        >>> result = cd.pairwise(draws, history, lags=1)
        >>> result.by_lag()[["kind", "lag", "flagged"]].values.tolist()[0]
        ['own past', 1, 1]
        """
        import pandas as pd

        if not self.lags:
            raise InputError("by_lag requires dependence over time; call pairwise(draws, reference, lags=5) first")
        return pd.DataFrame(over_time_wording.by_lag(self))

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for Python's json (infinite and missing numbers included)."""
        return self.overview() | {"pairs": [pair.to_dict() for pair in self]}

    def overview(self) -> dict[str, Any]:
        """Every number and text except those of single pairs."""
        draws, reference = self.samples
        plain: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "kind",
                "method",
                "family",
                "iid",
                "confidence",
                "adjust",
                "tail",
                "order",
                "exact",
                "device",
                "device_name",
                "version",
                "n_flagged",
            )
        }
        plain |= {"names": list(self.names), "n_pairs": len(self), "cd": self.aggregate()}
        plain |= {number: self.aggregate(number) for number in ("level", "shape", "total", "form", "ckl")}
        plain["draws"] = {"n_chains": draws.n_chains, "n_draws": draws.n_draws}
        plain["reference"] = None if reference is None else {"n_chains": reference.n_chains, "n_draws": reference.n_draws}
        return (
            plain
            | {
                "stuck": list(self.stuck),
                "left_out": dict(self.left_out),
                **({"lags": list(self.lags), "by_lag": over_time_wording.by_lag(self)} if self.lags else {}),
                "notes": list(self.notes),
                "margins": None if self.margins is None else self.margins.to_dict(),
                "joint": None if self.joint is None else self.joint.to_dict(),
                "divergences": None if self.divergences is None else self.divergences.to_dict(),
                "words": self.sentences(),
            }
            | self._recorded()
        )

    def plot(self, number: str = "level", *, ax: Any = None) -> "Axes":
        """Draw a number of all pairs as a heat map: every pair above the diagonal, significant ones below it.

        Parameters
        ----------
        number : str
            "level", "shape", "total", "form", "kept", "low_low", "high_high", "low_high", "high_low", "tau", "tau_target", "cd"
            or "ckl". Blue is below zero, orange above, on a symmetric scale; "kept" is coloured by its distance from 1. With up
            to twelve variables, the numbers are written into the cells.
            Pairs with a variable that has no order have no level; a map of levels shows the share of dependence they keep.
        ax : Axes, optional
            Axes to draw into; by default a new figure.

        Returns
        -------
        Axes
            The axes drawn into.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> import copula_discrepancy as cd
        >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
        >>> ax = result.plot("shape", ax=Figure().subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['x0', 'x1']
        """
        from copula_discrepancy.report.plots.maps import plot_map

        return plot_map(self, number, ax=ax)

    def to_html(
        self,
        path: Any,
        *,
        force: bool = False,
        command: str | None = None,
        all_pairs: bool = False,
        interactions: Interactions | None = None,
        consequences: WorstConsequences | None = None,
    ) -> Path:
        """Write a self-contained HTML page and, next to it, a .json file with its numbers; return the page's path.

        The page has the answer in words, maps of level and shape, the ranked table, plots of the worst pairs, and explanations
        of the numbers. It needs no network access and stays below 3 MB for any number of variables and draws.

        Parameters
        ----------
        path : path
            Path of the page, ending in .html, in an existing folder.
        force : bool
            Overwrite existing files.
        command : str, optional
            The command that the page shows as its origin; by default the call in Python.
        all_pairs : bool
            Write every pair to the .json file. By default it has the 10,000 worst, with a note if there are more.
        interactions : Interactions, optional
            What `interactions` returned for the same samples, for a section on three variables at a time.
        consequences : WorstConsequences, optional
            What `worst_consequences` returned for the same samples, for a section on what the worst pairs do to sums,
            differences and joint extremes.

        Returns
        -------
        Path
            Path of the page.

        Raises
        ------
        InputError
            If the page cannot be written, if files exist already, or if `interactions` or `consequences` is something else.
        """
        from copula_discrepancy.report.page import content, writing

        checked, every = writing.page_path(path, force), true_or_false(all_pairs, "all_pairs")
        _require_section(interactions, "interactions", Interactions, "interactions")
        _require_section(consequences, "consequences", WorstConsequences, "worst_consequences")
        made = content.of_pairs(
            self, command or self._call(checked, interactions, consequences), all_pairs=every, triples=interactions,
            consequences=consequences,
        )  # fmt: skip
        return writing.write_page(checked, *made, force=force)

    @lazy
    def joint(self) -> Joint | None:
        """All pairs together: whether the joint dependence differs from the reference's, and how much of it is kept.

        One test of all coefficients of form, valid on chains; computed on first use. None without a reference, with a single
        pair, with `lags`, if draws are the reference's rows, with fewer than 20 draws or three variables that can be compared,
        or at a look at an unfinished run.
        """
        draws, reference = (rows_of(sample) for sample in self.samples)
        if (
            draws is None
            or reference is None
            or self.unfinished
            or self.lags
            or self.unit != "pair"
            or self.void
            or len(self) < _SEVERAL
        ):
            return None
        if min(sample.n_chains * sample.n_draws for sample in (draws, reference)) < FEWEST_DRAWS:
            return None
        ordered = [name for k, name in enumerate(draws.names) if is_ordered(draws.kind(k))]
        if len(ordered) < _SEVERAL:
            return None
        tables = RankedTable.of(draws.select(ordered)), RankedTable.of(reference.select(ordered))
        if len(ordered) - len(left_out_columns(tables)) < _SEVERAL:
            return None
        place = None if self.device == CPU else checked_device(self.device if checked_device(AUTO)[0] else CPU)[0]
        return joint(*tables, iid=self.independent, order=self.order, confidence=self.confidence, device=place)

    @lazy
    def divergences(self) -> Divergences | None:
        """Where divergent draws are: whether they gather where pairs have gaps; None if the sampler says nothing.

        For each pair with a gap, worst first, up to 100, ``divergences.places`` has the share of divergent draws in the quarter
        of the draws where the smoothed density of their ranks differs most from the target's, and in each corner with a gap,
        next to the share of all draws. Their p-values compare with all rotations of the divergences along their chains.
        Computed on first use; None also with `lags`, for the edges of a vine, and at a look at an unfinished run.
        """
        return None if self.unfinished else divergences.of_ranking(self)

    @property
    def joint_differs(self) -> bool:
        """Whether the test of all pairs together finds a difference, which may be too small to be found in any of them."""
        return self.joint is not None and self.joint.pvalue < 1.0 - self.confidence

    # ---- words -----------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """The answer in a few words."""
        return ranking_wording.verdict(self) + (over_time_wording.time_verdict(self) if self.lags else "")

    @property
    def outcome(self) -> str:
        """The verdict as one of four words: "gap", "no gap", "not tested" or "void"; a stuck variable is a gap."""
        if self.void:
            return "void"
        if self.n_flagged or self.stuck:
            return "gap"
        return "no gap" if self.tested.any() else "not tested"

    @property
    def title(self) -> str:
        """What was compared, in one line."""
        return over_time_wording.time_title(self) if self.lags else ranking_wording.title(self)

    def sentences(self) -> dict[str, str]:
        """The answer in words, by topic: Answer, Joint, Margins, Worst, Form, Tails, Where, Size, Draws, Reference, Judged.

        Where no gap was found, the topic Tested after Answer says what was tested, and what is not seen. With `lags`, the topic
        Time says which kinds of pairs have gaps. The topic Device names a device other than the processor.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
        >>> print(result.sentences()["Answer"].partition(":")[0])
        significant gaps in 1 of 1 pair
        """
        texts = ranking_wording.sentences(self)
        if not self.lags:
            return texts
        answer = texts.pop("Answer")
        return {"Answer": answer, "Time": over_time_wording.time_sentence(self), **texts}

    def table_rows(self, limit: int | None = SHOWN) -> list[list[str]]:
        """The ranking as text, with a heading; only the columns that apply.

        Parameters
        ----------
        limit : int or None
            Largest number of rows; None for all.

        Returns
        -------
        list of list of str
            The heading, then the rows.
        """
        return ranking_wording.table_rows(self, limit)

    def _second_table(self) -> list[list[str]]:
        return over_time_wording.time_rows(self) if self.lags else []

    # ---- parts -----------------------------------------------------------------------------------------------------

    def label(self, row: Any) -> str:
        """A row's pair as text.

        Parameters
        ----------
        row : structured scalar
            One of `rows`.

        Returns
        -------
        str
            Such as ``mu ~ tau``.
        """
        return wording.pair_label(self.names[row["first"]], self.names[row["second"]])

    def ordered(self, row: Any) -> bool:
        """Whether both variables of a row have an order; if not, it has form only.

        Parameters
        ----------
        row : structured scalar
            One of `rows`.

        Returns
        -------
        bool
            False if one of them is nominal.
        """
        return all(is_ordered(self.samples[0].kind(int(row[end]))) for end in ("first", "second"))

    def pattern(self, row: Any) -> str:
        """The kind of dependence that differs in a row beyond strength, in words; empty if there is none.

        Parameters
        ----------
        row : structured scalar
            One of `rows`.

        Returns
        -------
        str
            Such as "the spread of b follows a in the reference, not in the draws".
        """
        whose = {"reference": "the reference", "nothing": None}.get(self.kind, "the target")
        names = self.names[row["first"]], self.names[row["second"]]
        return wording.pattern_words(str(row["pattern"]), names, whose, self.things)

    def _call(self, path: Path, triples: Interactions | None, consequences: WorstConsequences | None) -> str:
        """The Python call that returns this result and writes its page."""
        from copula_discrepancy.report.page.methods import call

        given = ["draws", *({"nothing": [], "copulas": ["targets"]}.get(self.kind, [self.kind]))]
        sections = {}
        for name, function, other in (
            ("interactions", "interactions", triples),
            ("consequences", "worst_consequences", consequences),
        ):
            if other is not None:
                options = {"iid": other.iid, "confidence": other.confidence, "adjust": other.adjust}
                options |= {"tail": other.tail} if isinstance(other, WorstConsequences) and other.tail != TAIL_SHARE else {}
                words = [*given, *(f"{key}={value!r}" for key, value in options.items())]
                sections[name] = f"cd.{function}({', '.join(words)})"
        return call(self._made_by, given, {"family": self.family, **self._choices()}, path, sections=sections)

    def _choices(self) -> dict[str, Any]:
        tail: dict[str, Any] = {} if self.tail == TAIL_SHARE else {"tail": self.tail}
        tail |= {} if self.order == ORDER else {"order": self.order}
        if self.lags:
            longest = self.lags[-1]
            tail["lags"] = longest if len(self.lags) == longest else list(self.lags)
        return {"method": self.method, "iid": self.iid, "confidence": self.confidence, "adjust": self.adjust} | tail

    def _gap(self, row: Any) -> PairGap:
        values = dict(zip(row.dtype.names, row.item(), strict=True))  # all at once: access by field name is ten times slower
        numbers = {name: float(values[name]) for name in NUMBERS}
        names = self.names[row["first"]], self.names[row["second"]]
        verdict, pattern = ranking_wording.pair_verdict(self, row), self.pattern(row)
        return PairGap(names, verdict, bool(row["flagged"]), numbers, str(row["family"]), pattern)

    def _numbers(self, name: str) -> NDArray[np.float64]:
        if isinstance(name, str) and name in OLD_TAILS:
            warn(f"{name} is deprecated; use one of {', '.join(CORNERS)}", DeprecationWarning)
            with python_warnings.catch_warnings():
                python_warnings.simplefilter("ignore", DeprecationWarning)
                return np.array([getattr(gap, name) for gap in self])
        one_of(name, "number", ("cd", *NUMBERS))
        return self.cd if name == "cd" else self.rows[name]


def _strength(rows: NDArray[Any]) -> NDArray[np.float64]:
    return np.abs(np.where(np.isfinite(rows["tau_target"]), rows["tau_target"], rows["tau"]))
