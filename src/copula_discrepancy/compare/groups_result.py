"""Result of `pairwise` with `by`: a comparison within every group, one of all rows, and reversals between the two."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.compare import groups_wording
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.compare.ranking import SHOWN, Ranking
from copula_discrepancy.compare.reversals import Reversal
from copula_discrepancy.compare.sizes import gap_sizes
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import unknown_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class GroupedPairwise(Ranking):
    """Every pair of variables compared with the reference within groups of rows, and over all rows.

    Result of `pairwise` with `by`; print it for a summary in words. The p-values of all tests, of all groups and of all rows,
    are adjusted together, and every `Pairwise` in it is flagged and ranked by these. Iterating yields the labels of the groups,
    and ``result["Adelie"]`` is the comparison within one of them.

    Attributes
    ----------
    by : tuple of str
        The columns that define the groups.
    overall : Pairwise
        The comparison of all rows; it includes the columns in `by` if they are variables.
    groups : mapping from str to Pairwise
        The comparison within every group, in the order of the columns' values; the label of a group of several columns has
        their values, separated by slashes: "Adelie / male".
    reversals : tuple of Reversal
        Pairs whose dependence has the wrong sign within groups, Simpson's reversals first.
    paradoxes : tuple of Reversal
        Pairs with a Simpson's paradox that the draws keep: not a gap.
    left_out : mapping from str to str
        Groups that were not compared, with the reason: too small, in one sample only, nothing to test. Rows without a value of
        the column are counted under "(no group)".
    named : mapping from str to str
        What every group is called in a sentence.
    caveats : tuple of Caveat
        Those of all rows, and those that only groups have; `warnings` holds their sentences.
    notes, samples, iid, confidence, adjust, version
        As in `Pairwise`, of all rows.

    See Also
    --------
    pairwise : The function that returns it.
    Reversal : One of its reversals.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> group = np.repeat([0, 1, 2], 200)
    >>> def table(slope):
    ...     x = rng.standard_normal(600)
    ...     return {"group": group, "x": x + 3 * group, "y": slope * x + rng.standard_normal(600) - 3 * group}
    >>> result = cd.pairwise(table(-1), table(1), by="group", iid=True)
    >>> result.flagged, result.worst[1].verdict
    (('1', '0', '2'), 'of the wrong sign')
    >>> print(result.reversals[0].sentence.partition(":")[0])
    Simpson's reversal
    """

    unit: ClassVar[str] = "group"
    _subject: ClassVar[str] = "Copula discrepancy by group"

    by: tuple[str, ...]
    overall: Pairwise = field(repr=False)
    groups: Mapping[str, Pairwise] = field(repr=False)
    reversals: tuple[Reversal, ...]
    paradoxes: tuple[Reversal, ...]
    left_out: Mapping[str, str]
    named: Mapping[str, str]
    caveats: tuple[Caveat, ...]
    notes: tuple[str, ...]
    samples: tuple[Draws, Draws | None] = field(repr=False)
    iid: bool | str
    confidence: float
    adjust: str
    version: str

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __getitem__(self, label: Any) -> Pairwise:
        """The comparison within a group, by its label."""
        if not isinstance(label, str) or label not in self.groups:
            if isinstance(label, str) and label in self.left_out:
                raise InputError(f"the group {label!r} was left out: {self.left_out[label]}", "unknown-name")
            raise InputError(unknown_name(str(label), [*self.groups], "group"), "unknown-name")
        return self.groups[label]

    @lazy
    def ranked(self) -> tuple[str, ...]:
        """The labels of the groups, worst first: those with a significant gap, then the others, each by the largest gap."""
        sizes = {}
        for label, group in self.groups.items():
            size = gap_sizes(group.rows[:1], ("level", "shape"), 1.0 - self.confidence)[0]
            sizes[label] = (group.outcome == "gap", float(np.nan_to_num(size, nan=-1.0)))
        return tuple(sorted(self.groups, key=lambda label: sizes[label], reverse=True))

    @property
    def worst(self) -> tuple[str, PairGap]:
        """The group with the worst pair, and that pair."""
        label = self.ranked[0]
        return label, self.groups[label].worst

    @property
    def flagged(self) -> tuple[str, ...]:
        """The labels of the groups with a significant gap, worst first."""
        return tuple(label for label in self.ranked if self.groups[label].outcome == "gap")

    @property
    def n_flagged(self) -> int:
        """Number of groups with a significant gap."""
        return len(self.flagged)

    def sizes(self, label: str) -> tuple[int, int]:
        """The number of rows of a group in the draws and in the reference.

        Parameters
        ----------
        label : str
            The group.

        Returns
        -------
        (int, int)
            Both numbers.
        """
        draws, reference = self[label].samples
        return draws.n_draws, 0 if reference is None else reference.n_draws

    @property
    def verdict(self) -> str:
        """The answer in a few words."""
        return groups_wording.verdict(self)

    @property
    def outcome(self) -> str:
        """The verdict as one of three words: "gap" (within a group or over all rows), "no gap" or "void"."""
        if self.void:
            return "void"
        return "gap" if self.flagged or self.overall.outcome == "gap" else "no gap"

    @property
    def title(self) -> str:
        """What was compared, in one line."""
        return groups_wording.title(self)

    def sentences(self) -> dict[str, str]:
        """The answer in words, by topic: Answer, Reversals, Worst, Overall, Groups, Left out."""
        return groups_wording.sentences(self)

    def table_rows(self, limit: int | None = SHOWN) -> list[list[str]]:
        """All rows and every group as text, worst first, with a heading.

        Parameters
        ----------
        limit : int or None
            Largest number of groups; None for all.

        Returns
        -------
        list of list of str
            The heading, then a row for all rows, then one for each group.
        """
        return groups_wording.table_rows(self, limit)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per pair and group, with the columns of `Pairwise.to_dataframe` after `group`, which is "all rows" first.

        Examples
        --------
        >>> import numpy as np
        >>> import copula_discrepancy as cd
        >>> draws, reference = np.random.default_rng(1).standard_normal((2, 200, 2))
        >>> group = np.repeat(["old", "young"], 100)
        >>> tables = [{"group": group, "x": x, "y": y} for x, y in (draws.T, reference.T)]
        >>> result = cd.pairwise(*tables, by="group", var_names=["x", "y"], iid=True)
        >>> result.to_dataframe()["group"].tolist()
        ['all rows', 'old', 'young']
        """
        import pandas as pd

        tables = {groups_wording.ALL_ROWS: self.overall, **self.groups}
        parts = []
        for label, result in tables.items():
            part = result.to_dataframe()
            part.insert(0, "group", label)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for JSON: `overall` and every one of `groups` as `Pairwise.to_dict` has them."""
        within = {label: group.to_dict() for label, group in self.groups.items()}
        return self.overview() | {"overall": self.overall.to_dict(), "groups": within}

    def overview(self) -> dict[str, Any]:
        """Every number and text except those of the comparisons."""
        label, gap = self.worst
        return {
            "by": list(self.by),
            "verdict": self.verdict,
            "outcome": self.outcome,
            "n_groups": len(self),
            "flagged": list(self.flagged),
            "worst": {"group": label} | gap.to_dict(),
            "reversals": [found.to_dict() for found in self.reversals],
            "paradoxes": [found.to_dict() for found in self.paradoxes],
            "left_out": dict(self.left_out),
            "iid": self.iid,
            "confidence": self.confidence,
            "adjust": self.adjust,
            "version": self.version,
            "notes": list(self.notes),
            "words": self.sentences(),
        } | self._recorded()

    def plot(self, first: str | None = None, second: str | None = None, *, ax: Any = None) -> "Axes":
        """Draw Kendall's tau of one pair in every group and over all rows, with intervals, beside that of the reference.

        Parameters
        ----------
        first, second : str, optional
            The two variables; by default the worst pair of the worst group.
        ax : Axes, optional
            Axes to draw into; by default a new figure.

        Returns
        -------
        Axes
            The axes drawn into.

        Raises
        ------
        InputError
            For a name that does not exist, or a pair that was compared in no group.

        Examples
        --------
        >>> import numpy as np
        >>> from matplotlib.figure import Figure
        >>> import copula_discrepancy as cd
        >>> draws, reference = np.random.default_rng(1).standard_normal((2, 200, 2))
        >>> group = np.repeat(["old", "young"], 100)
        >>> tables = [{"group": group, "x": x, "y": y} for x, y in (draws.T, reference.T)]
        >>> result = cd.pairwise(*tables, by="group", var_names=["x", "y"], iid=True)
        >>> ax = result.plot("x", "y", ax=Figure().subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['all rows', 'old', 'young']
        """
        from copula_discrepancy.report.plots.group_forest import plot_groups

        return plot_groups(self, first, second, ax=ax)

    def to_html(self, path: Any, *, force: bool = False, command: str | None = None) -> Path:
        """Write a self-contained HTML page and, next to it, a .json file with its numbers; return the page's path.

        The page has the answer in words, the table of groups, the pairs over all rows as `Pairwise.to_html` has them, and plots
        of the worst pairs of the worst groups.

        Parameters
        ----------
        path : path
            Path of the page, ending in .html, in an existing folder.
        force : bool
            Overwrite existing files.
        command : str, optional
            The command that the page shows as its origin; by default the call in Python.

        Returns
        -------
        Path
            Path of the page.

        Raises
        ------
        InputError
            If the page cannot be written, or if files exist already.
        """
        from copula_discrepancy.report.page import groups, writing

        checked = writing.page_path(path, force)
        return writing.write_page(checked, *groups.of_groups(self, command, checked), force=force)
