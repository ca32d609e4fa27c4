"""Result of `vine`: a ranked table of edges, trees and sentences."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy.compare import wording
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.data.naming import BRIEF, listed

if TYPE_CHECKING:
    import pandas as pd

_NAMED = 4  # conditioning variables in a printed line


@dataclass(frozen=True)
class Edge:
    """The position of an edge in a vine: variables by number, `first` before `second`.

    `turned` is True if the vine has them in the opposite order.
    """

    tree: int
    first: int
    second: int
    given: tuple[int, ...]
    turned: bool

    @property
    def variables(self) -> frozenset[int]:
        """All variables of the edge, including those it is conditioned on."""
        return frozenset((self.first, self.second, *self.given))


@dataclass(frozen=True, eq=False)
class EdgeGap(PairGap):
    """One edge of a vine: two variables, those they are conditioned on, and the numbers of a `PairGap`.

    Attributes
    ----------
    names : (str, str)
        The two variables.
    given : tuple of str
        The variables they are conditioned on; none in tree 1.
    tree : int
        The tree the edge belongs to, 1 being the first.
    echo : bool
        Whether the edge has a gap that may only reflect one at least as large on an edge beneath it, among the same variables.
    verdict, flagged, numbers, family, pattern
        As in `PairGap`, like all numbers by name; NaN if a number is not available.

    See Also
    --------
    VineGaps : All edges.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> edge = cd.EdgeGap(("a", "b"), "too weak", True, {"tau": 0.1, "tau_target": 0.3}, tree=2, given=("c",))
    >>> edge.label, edge.tau
    ('a ~ b | c', 0.1)
    """

    tree: int = 1
    given: tuple[str, ...] = ()
    echo: bool = False

    @property
    def label(self) -> str:
        """The edge as text: ``theta[0] ~ theta[1] | mu, tau``."""
        return edge_label(self.names, self.given, len(self.given))

    @property
    def short_label(self) -> str:
        """The same with only a few of the conditioning variables."""
        return edge_label(self.names, self.given)

    def to_dict(self) -> dict[str, Any]:
        """Every number and text by name, ready for JSON."""
        return {"edge": self.label, "tree": self.tree, "given": [*self.given], "echo": self.echo, **super().to_dict()}


@dataclass(frozen=True, eq=False, repr=False)
class VineGaps(Pairwise):
    """Every edge of a vine fitted to the reference, compared between draws and reference, worst first.

    Result of `vine`; print it for a summary in words. Edges with a significant gap come first, then the others, each sorted by
    the largest of |level|, |shape| and, if tails are significant, their gap. Iterating yields an `EdgeGap` for every edge. Two
    variables meet on at most one edge of a vine, so ``result["a", "b"]`` and ``result.matrix()`` work as in `Pairwise`, with
    conditional numbers from tree 2 on.

    Attributes
    ----------
    rows, blocks, names, kind, method, family, iid, confidence, adjust, weights, own_weights
        As in `Pairwise`, with a row for every edge.
    samples, targets, template, stuck, left_out, tail, order, exact, caveats, notes, version, margins, lagging
        As in `Pairwise`, with a row for every edge.
    device, device_name : str
        As in `Pairwise`; edges are compared on the processor.
    unfinished : bool
        As in `Pairwise`; vines are not watched.
    edges : mapping from pairs of variables' numbers to Edge
        The position of each edge in the vine.
    model : pyvinecopulib.Vinecop
        The vine fitted to the reference.

    See Also
    --------
    vine : The function that returns it, with the properties of its numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0.8], [0.8, 1, 0.8], [0.8, 0.8, 1]], 100)
    >>> result = cd.vine(rng.standard_normal((100, 3)), reference, iid=True)
    >>> len(result), result.n_trees, [tree["n_edges"] for tree in result.trees()], result.worst.tree
    (3, 2, [2, 1], 1)
    """

    unit: ClassVar[str] = "edge"
    _made_by: ClassVar[str] = "vine"

    edges: Mapping[tuple[int, int], Edge] = field(repr=False)
    model: Any = field(repr=False)

    def __iter__(self) -> Iterator[EdgeGap]:
        return (self._gap(row) for row in self.rows)

    def __getitem__(self, key: Any) -> EdgeGap:
        """The edge at a position of the ranking, or of two variables: ``result[0]``, ``result["mu", "tau"]``."""
        found = super().__getitem__(key)
        assert isinstance(found, EdgeGap)
        return found

    @property
    def worst(self) -> EdgeGap:
        """The first edge of the ranking."""
        return self[0]

    @property
    def n_trees(self) -> int:
        """Number of trees compared."""
        return max(edge.tree for edge in self.edges.values())

    def trees(self) -> list[dict[str, Any]]:
        """For every tree, its number of edges, the number flagged, and its largest |level|, |shape| and CD."""
        place = np.array([self._edge(row).tree for row in self.rows])
        trees = []
        for tree in range(1, self.n_trees + 1):
            rows = self.rows[place == tree]
            largest = {name: _largest(rows[name]) for name in ("level", "shape")} | {"cd": _largest(rows["total"])}
            trees.append({"tree": tree, "n_edges": len(rows), "n_flagged": int(np.sum(rows["flagged"])), "largest": largest})
        return trees

    def pair(self, first: str, second: str) -> Discrepancy:
        """All results for an edge of tree 1, as in `Pairwise.pair`; edges of later trees have no draws of their own.

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
            For an edge of a later tree, an unknown name, or two variables that meet on no edge.
        """
        edge = self[first, second]
        if edge.tree > 1:
            raise InputError(f"{edge.label} is conditional and has no draws of its own; see result[{first!r}, {second!r}]")
        return super().pair(first, second)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per edge, worst first, with its tree, the names, every number and the verdict."""
        table = super().to_dataframe()
        gaps = list(self)
        table.insert(2, "given", [", ".join(gap.given) for gap in gaps])
        table.insert(3, "tree", [gap.tree for gap in gaps])
        table["echo"] = [gap.echo for gap in gaps]
        return table

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for Python's json (infinite and missing numbers included)."""
        plain = super().to_dict()
        return plain | {"edges": plain.pop("pairs")}

    def overview(self) -> dict[str, Any]:
        """Every number and text except those of single edges."""
        plain = super().overview()
        plain["n_edges"] = plain.pop("n_pairs")
        return plain | {"n_trees": self.n_trees, "trees": self.trees()}

    # ---- words -----------------------------------------------------------------------------------------------------

    def sentences(self) -> dict[str, str]:
        """The answer in words, by topic: Answer, Tested (if no gap was found), Worst, Where, Trees, Size, Draws, Reference."""
        plain = super().sentences()
        first = ["Answer", "Tested", "Worst", "Largest"]
        texts = {topic: plain.pop(topic) for topic in first if topic in plain}
        plain.pop("Where", None)  # the number of edges of a variable is a property of the vine
        where = self._where()
        if where is not None:
            texts["Where"] = where
        counts = [
            f"{tree['n_flagged']} of {tree['n_edges']} in tree {tree['tree']}" for tree in self.trees() if tree["n_flagged"]
        ]
        none = self.n_trees - len(counts)
        if counts and self.n_trees > 1:
            others = f"; none in {none} other tree{'s' if none > 1 else ''}" if none else ""
            texts["Trees"] = f"edges with a gap: {listed(counts, BRIEF)}{others}."
        return texts | plain

    @property
    def title(self) -> str:
        """What was compared, in one line."""
        draws, reference = (f"{s.n_chains} x {s.n_draws}" if s.n_chains > 1 else f"{s.n_draws}" for s in self.samples if s)
        edges = f"{len(self)} edges in {self.n_trees} trees" if len(self) > 1 else "1 edge"
        return f"{draws} draws of {len(self.names)} variables, against a vine of {edges}, fitted to {reference} reference draws"

    def label(self, row: Any) -> str:
        """A row's edge as text.

        Parameters
        ----------
        row : structured scalar
            One of `rows`.

        Returns
        -------
        str
            Such as ``a ~ b | cause``.
        """
        edge = self._edge(row)
        return edge_label([self.names[row["first"]], self.names[row["second"]]], [self.names[k] for k in edge.given])

    def _where(self) -> str | None:
        """Which flagged edges follow a flagged edge in a lower tree, and which do not."""
        flagged = [self._gap(row) for row in self.rows[: self.n_flagged]]
        echoes = sum(gap.echo for gap in flagged)
        if not echoes:
            return None
        start = listed([gap.short_label for gap in flagged if not gap.echo], _NAMED)
        stand = "1 edge has" if echoes == 1 else f"{echoes} edges have"
        return f"start with {start}; {stand} a larger gap beneath in an earlier tree, and may only reflect it."

    def _gap(self, row: Any) -> EdgeGap:
        plain, edge = super()._gap(row), self._edge(row)
        given, echo = tuple(self.names[k] for k in edge.given), plain.flagged and _size(row) <= self._beneath[edge.variables]
        return EdgeGap(
            plain.names, plain.verdict, plain.flagged, plain.numbers, plain.family, plain.pattern, edge.tree, given, echo
        )

    def _edge(self, row: Any) -> Edge:
        return self.edges[int(row["first"]), int(row["second"])]

    @lazy
    def _beneath(self) -> dict[frozenset[int], float]:
        """The largest flagged gap beneath every edge, by its variables: on the two edges it joins, and beneath those."""
        sizes = {self._edge(row).variables: _size(row) for row in self.rows[: self.n_flagged]}
        largest: dict[frozenset[int], float] = {}
        for edge in sorted(self.edges.values(), key=lambda edge: edge.tree):
            joined = [edge.variables - {end} for end in (edge.first, edge.second)]  # single variables in tree 1
            largest[edge.variables] = max(max(sizes.get(below, -1.0), largest.get(below, -1.0)) for below in joined)
        return largest


def edge_label(pair: Sequence[str], given: Sequence[str], limit: int = _NAMED) -> str:
    """An edge as text, with a few of the variables it is conditioned on."""
    return wording.pair_label(*pair) + (f" | {listed(given, limit)}" if given else "")


def _size(row: Any) -> float:
    return float(np.fmax(abs(row["level"]), abs(row["shape"])))


def _largest(values: NDArray[np.float64]) -> float:
    sizes = np.abs(values[np.isfinite(values)])
    return float(sizes.max()) if sizes.size else math.nan
