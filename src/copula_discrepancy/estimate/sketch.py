"""A sketch of a table of any length: counts of every pair of columns, which any number of workers can add up."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import is_whole
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.workers import thread_count, threads
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.naming import errors_about
from copula_discrepancy.estimate.bins import UNSEEN
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.encoding import Codes, encoded
from copula_discrepancy.estimate.serial import SerialCounts
from copula_discrepancy.estimate.sketch_plan import SketchPlan
from copula_discrepancy.estimate.sketch_reading import blocks_to_merge, pair_counts, serial_counts
from copula_discrepancy.estimate.triple_counts import TripleCounts

_ROWS = 1 << 18  # counted at once: a table of counts is added to that of all rows after each
_WIDEST = 2**32 - 1  # rows whose counts fit into four bytes
_FEWEST_BLOCKS = 8  # of rows whose order matters: fewer do not determine a variance
_FIRST_BLOCK = 16  # rows of a block if nothing is known about how many there will be
_OUTGROWN, _TIMES = 0.03, 4.0  # a bin with a larger share of the rows, and of its share in the pilot, has outgrown it
_WORTH_THREADS = 4_000_000  # rows times pairs, some ten milliseconds: starting threads takes two


@dataclass(eq=False, repr=False)
class DependenceSketch:
    """Counts of every pair of columns of a table of any length: what a comparison needs of one sample.

    Make an empty one with `plan`, which fixes the columns and their bins from a sample of the rows; `update` it with blocks of
    rows, `merge` it with sketches of other rows, in any order, on any machine; and pass it to `pairwise`, `discrepancy` or
    `interactions` in place of the rows. `save` writes it to a file, and `load` reads it.

    Attributes
    ----------
    plan_ : SketchPlan
        The columns and their bins.
    n : int
        Rows counted so far.
    counts : array
        Counts of all pairs of columns, one table after another.
    margins : tuple of array
        For each column, the rows in each bin, and at the end those without a value.
    blocks : dict
        By chain and number, consecutive blocks of rows: counts of groups of bins; empty for independent rows.
    block_rows : int
        Rows of a block.
    chain_rows : dict
        Rows of each chain.
    source : str
        What was read.
    triples : TripleCounts or None
        Counts of triples of columns.

    See Also
    --------
    pairwise : Compares two sketches, and makes them from tables that do not fit into memory.

    Notes
    -----
    Counts are whole numbers, so that the order in which sketches are merged changes nothing. A sketch contains no rows: it has
    counts of pairs of intervals of values, and the edges of the intervals, which are values of the data. Where a count is 1 or
    2, it tells that a row, or two, have values in these intervals.

    Numbers are extrapolated to bins of no width (Richardson, 1911), and every standard error includes what the bins may hide.
    Values that many rows share have bins of their own: ties are ties. Missing values, NaN, are counted apart.

    References
    ----------
    Richardson, L. F. (1911). The approximate arithmetical solution by finite differences of physical problems involving
    differential equations. Philosophical Transactions of the Royal Society A 210, 307-357.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 20_000)
    >>> sketch = cd.DependenceSketch.plan(rows[:5000], iid=True)
    >>> for block in np.split(rows, 4):
    ...     sketch = sketch.update(block)
    >>> result = cd.pairwise(sketch, cd.Gaussian(0.8))
    >>> sketch.n, result.verdict, bool(abs(result.worst.tau - cd.kendall_tau(*rows.T)) < 1e-4)
    (20000, 'no gap found in 1 pair', True)
    """

    counts_only: ClassVar[bool] = True  # `as_draws` refuses it: there are no rows to read

    plan_: SketchPlan
    n: int = 0
    counts: NDArray[np.unsignedinteger] = field(default_factory=lambda: np.zeros(0, np.uint32))
    margins: tuple[NDArray[np.int64], ...] = ()
    blocks: dict[tuple[int, int], NDArray[np.unsignedinteger]] = field(default_factory=dict)
    block_rows: int = _FIRST_BLOCK
    chain_rows: dict[int, int] = field(default_factory=dict)
    source: str = "blocks"
    triples: TripleCounts | None = None

    @classmethod
    def plan(
        cls, given: Any, *, iid: bool = False, var_names: Any = None, exclude: Any = None, kinds: Any = None,
        chains: int | str | None = None, missing: str | None = None, group: str = "posterior", resolution: int | None = None,
        memory: float | str = "2GB", triples: bool = False,
    ) -> "DependenceSketch":  # fmt: skip
        """An empty sketch: columns and bins from a sample of the rows, which is not counted.

        Parameters
        ----------
        given : anything `pairwise` accepts as draws
            Rows like those that will be counted: a sample of them in memory, or a source, of which some rows from all its
            parts are read. Kinds, levels and the edges of bins come from them.
        iid : bool
            Whether rows are independent; otherwise consecutive ones are also counted in blocks, for standard errors that
            account for serial dependence.
        var_names, exclude, kinds, chains, missing, group : object
            See `pairwise`.
        resolution : int, optional
            The largest number of bins of a column, from 16 to 240; by default as many as fit into the memory, and fewer for
            many columns, so that files stay small.
        memory : float or str
            Bytes that counts of two samples may take, such as ``"2GB"``.
        triples : bool
            Count every triple of columns with many different values as well, for `interactions`; for independent rows only.
            Each takes 16 kB, and a few nanoseconds per row.

        Returns
        -------
        DependenceSketch
            To be updated.
        """
        from copula_discrepancy.estimate.scanning import planned

        selection = {"var_names": var_names, "exclude": exclude, "kinds": kinds, "missing": missing}
        return cls.empty(planned(given, iid, selection, chains, group, resolution, memory, triples))

    @classmethod
    def of(
        cls, given: Any, *, iid: bool = False, var_names: Any = None, exclude: Any = None, kinds: Any = None,
        chains: int | str | None = None, missing: str | None = None, group: str = "posterior", resolution: int | None = None,
        memory: float | str = "2GB", triples: bool = False, n_jobs: int | None = -1, checkpoint: Any = None,
        progress: bool | None = None,
    ) -> "DependenceSketch":  # fmt: skip
        """The sketch of a whole table, which is read once, in pieces.

        Parameters
        ----------
        given : anything `pairwise` accepts as draws
            The table: rows in memory, or a source that does not fit into it.
        iid, var_names, exclude, kinds, chains, missing, group, resolution, memory, triples : object
            See `plan`.
        n_jobs, checkpoint, progress : object
            See `pairwise`.

        Returns
        -------
        DependenceSketch
            The counts of all rows.
        """
        from copula_discrepancy.estimate.scanning import scanned

        selection = {"var_names": var_names, "exclude": exclude, "kinds": kinds, "missing": missing}
        return scanned(given, iid, selection, chains, group, resolution, memory, n_jobs, checkpoint, progress, triples)

    @classmethod
    def empty(cls, plan: SketchPlan, source: str = "blocks", chain_length: int = 0, n_chains: int = 1) -> "DependenceSketch":
        """A sketch of no rows, by a plan that another sketch has: one for each worker, to be merged.

        Parameters
        ----------
        plan : SketchPlan
            The columns and their bins, the `plan_` of a sketch.
        source : str
            What will be counted, in words.
        chain_length, n_chains : int
            How many rows there will be, if that is known: blocks of rows then have their final length at once.

        Returns
        -------
        DependenceSketch
            To be updated.
        """
        counts = np.zeros(int(plan.offsets[-1]), np.uint32)
        margins = tuple(np.zeros(width, np.int64) for width in plan.widths.tolist())
        rows = plan.block_rows(_FIRST_BLOCK, chain_length, n_chains) if plan.serial else _FIRST_BLOCK
        triples = TripleCounts.empty(plan.columns) if plan.triples else None
        return cls(plan, 0, counts, margins, block_rows=rows, source=source, triples=triples)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.plan_.names

    @property
    def resolution(self) -> int:
        """The largest number of bins of a column."""
        return self.plan_.resolution

    @property
    def n_chains(self) -> int:
        """The number of chains that the rows form."""
        return max(len(self.chain_rows), 1)

    @property
    def nbytes(self) -> int:
        """The memory that the counts take."""
        triples = 0 if self.triples is None else self.triples.nbytes
        return self.counts.nbytes + triples + sum(block.nbytes for block in self.blocks.values())

    # ---- counting --------------------------------------------------------------------------------------------------

    def update(
        self, block: Any, *, start: int | None = None, chain: int | None = None, label: str = "", n_jobs: int | None = None
    ) -> "DependenceSketch":
        """Count a block of consecutive rows, and return the sketch.

        Parameters
        ----------
        block : anything `as_draws` accepts, an Arrow batch, or a dictionary of columns
            The rows, with the columns of the plan; others are ignored. Nothing is counted if a value cannot be read.
        start : int, optional
            The number of its first row, within its chain if it has one; by default it follows the rows counted before. The
            order of the rows matters only for serial dependence.
        chain : int, optional
            The number of the chain that the rows belong to.
        label : str
            What the rows are called in errors.
        n_jobs : int, optional
            Threads; None is one, -1 one per core.

        Returns
        -------
        DependenceSketch
            This sketch.

        Raises
        ------
        InputError
            For rows without a column of the plan, and values that are infinite, not numbers or, unless the plan allows it,
            missing.
        """
        rows, chains = self._rows(block)
        with errors_about(label) if label else nullcontext():
            codes = encoded(self.plan_.columns, rows, missing_ok=self.plan_.missing_ok)
        if chains is not None and chain is None:
            for number, part in chains:
                self._count(np.ascontiguousarray(codes[:, part]), self._start(number, start), number, n_jobs)
        else:
            number = 0 if chain is None else int(chain)
            self._count(codes, self._start(number, start), number, n_jobs)
        return self

    def _rows(self, block: Any) -> tuple[Any, list[tuple[int, slice]] | None]:
        """A block by columns, and the rows of each chain if it has several."""
        if isinstance(block, dict) or type(block).__module__.partition(".")[0] in ("pyarrow", "pandas"):
            return block, None
        given = block if isinstance(block, Draws) else as_draws(block, missing="pairs" if self.plan_.missing_ok else "raise")
        if not self.plan_.named and len(given.names) != len(self.names):
            raise InputError(f"the rows have {given.n_variables} columns, and the plan {len(self.names)}", "names-differ")
        names = given.names if self.plan_.named or given.named else self.names
        rows: dict[str, Any] = {}
        for k, name in enumerate(names):
            values, labels = given.column(k), given.labels(k)
            if labels:
                table = np.array([*labels, None], dtype=object)
                values = table[np.where(np.isnan(values), len(labels), values).astype(np.int64)]
            rows[name] = values
        if given.n_chains == 1:
            return rows, None
        length = given.n_draws
        return rows, [(c, slice(c * length, (c + 1) * length)) for c in range(given.n_chains)]

    def _start(self, chain: int, start: int | None) -> int:
        if start is None:
            return self.chain_rows.get(chain, 0)
        if not is_whole(start) or start < 0:
            raise InputError(f"start must be the number of the first row, 0 or more, got {start!r}")
        return int(start)

    def _count(self, codes: Codes, start: int, chain: int, n_jobs: int | None) -> None:
        """Add coded rows; blocks of rows are divided where a block of the whole table ends."""
        n = codes.shape[1]
        if self.n + n > _WIDEST:
            self._widen()
        if self.triples is not None:
            self.triples.add(codes, self.n, n_jobs)
        for k, margin in enumerate(self.margins):
            margin += np.bincount(codes[k], minlength=margin.size)
        self.chain_rows[chain] = self.chain_rows.get(chain, 0) + n
        if self.plan_.serial:
            self._lengthen_blocks()
        first = 0
        while first < n:
            stop, block = min(first + _ROWS, n), None
            if self.plan_.serial:
                place = (start + first) // self.block_rows
                stop = min(stop, (place + 1) * self.block_rows - start)
                if (chain, place) not in self.blocks:
                    self.blocks[chain, place] = np.zeros(int(self.plan_.coarse_offsets[-1]), np.uint32)
                block = self.blocks[chain, place]
            self._count_rows(codes, first, stop, block, n_jobs)
            first = stop
        self.n += n

    def _count_rows(self, codes: Codes, first: int, stop: int, block: Any, n_jobs: int | None) -> None:
        plan = self.plan_
        places = np.array(plan.pairs, np.int64).reshape(-1, 2)
        work = (stop - first) * len(places)
        parts = _parts(len(places), 1 if n_jobs is None or work < _WORTH_THREADS else n_jobs)
        coarse_counts = np.zeros(0, np.uint32) if block is None else block
        largest = int(np.sort(plan.widths)[-2:].prod()) if len(plan.widths) > 1 else 1

        def count(part: slice) -> None:
            kernels.count_pairs(
                codes, places[part, 0].copy(), places[part, 1].copy(), plan.offsets[:-1][part].copy(), plan.widths, first, stop,
                np.empty(largest, np.uint32), self.counts, plan.coarse, plan.coarse_offsets[:-1][part].copy(), coarse_counts,
            )  # fmt: skip

        if len(parts) == 1:
            count(parts[0])
        else:
            threads(count, parts, n_jobs)

    def _widen(self) -> None:
        """Count in eight bytes from here on."""
        if self.counts.dtype != np.uint64:
            self.counts = self.counts.astype(np.uint64)

    def _lengthen_blocks(self) -> None:
        """Merge neighbouring blocks, two and two, until the longest chain has few enough.

        How long they are in the end follows from the rows of the chains alone, in whatever order they are counted.
        """
        rows = self.plan_.block_rows(self.block_rows, max(self.chain_rows.values(), default=0), len(self.chain_rows))
        while self.block_rows < rows:
            self.block_rows *= 2
            self.blocks = _halved(self.blocks)

    def merge(self, other: "DependenceSketch") -> "DependenceSketch":
        """Add the counts of other rows, and return the sketch.

        Parameters
        ----------
        other : DependenceSketch
            A sketch of other rows, with the same columns and bins; it is not changed.

        Returns
        -------
        DependenceSketch
            This sketch, as if it had counted the rows of both.

        Raises
        ------
        InputError
            If the sketches have different columns or bins; neither is changed.
        """
        if not isinstance(other, DependenceSketch):
            raise InputError(f"only a DependenceSketch can be merged with one, got {type(other).__name__}")
        differs = self.plan_.same_as(other.plan_)
        if (
            differs is None
            and self.triples is not None
            and other.triples is not None
            and not self.triples.same_as(other.triples)
        ):
            differs = "the groups of bins of triples"
        if differs is not None:
            raise InputError(
                f"the sketches differ in {differs}, so their counts cannot be added; plan once, and use copies of that plan",
                "names-differ",
            )
        if self.triples is not None and other.triples is not None:
            self.triples.merge(other.triples, self.n + other.n)
        if self.n + other.n > _WIDEST:
            self._widen()
        self.counts += other.counts.astype(self.counts.dtype, copy=False)
        for margin, more in zip(self.margins, other.margins, strict=True):
            margin += more
        theirs, rows = other.blocks, other.block_rows
        while rows < self.block_rows:
            theirs, rows = _halved(theirs), rows * 2
        while self.block_rows < rows:
            self.blocks, self.block_rows = _halved(self.blocks), self.block_rows * 2
        for key, block in theirs.items():
            mine = self.blocks.get(key)
            self.blocks[key] = block.copy() if mine is None else mine + block
        for chain, count in other.chain_rows.items():
            self.chain_rows[chain] = self.chain_rows.get(chain, 0) + count
        self.n += other.n
        if self.plan_.serial:
            self._lengthen_blocks()
        return self

    # ---- files -----------------------------------------------------------------------------------------------------

    def save(self, path: Any, *, force: bool = False) -> Path:
        """Write the sketch to a file.

        Parameters
        ----------
        path : str or path
            The file, by convention with the ending .sketch.
        force : bool
            Overwrite an existing file.

        Returns
        -------
        Path
            The file, which is complete whenever it exists.

        Raises
        ------
        InputError
            For a file that exists or cannot be written, and a sketch with more counts than a file can hold.

        Notes
        -----
        The file is a ZIP archive with a header in JSON and compressed counts. It contains no code and no rows; see Notes of the
        class for what counts tell about rows.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import copula_discrepancy as cd
        >>> rows = np.random.default_rng(1).normal(size=(10_000, 3))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = cd.DependenceSketch.of(rows, iid=True).save(f"{folder}/rows.sketch")
        ...     sketch = cd.DependenceSketch.load(path)
        >>> sketch.n, sketch.names
        (10000, ('x0', 'x1', 'x2'))
        """
        from copula_discrepancy.estimate.sketch_file import save

        return save(self, path, force=force)

    @classmethod
    def load(cls, path: Any) -> "DependenceSketch":
        """The sketch in a file that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        DependenceSketch
            As it was when it was saved.

        Raises
        ------
        InputError
            For a file that cannot be read, is not a sketch, is damaged or contradicts itself, or comes from a newer version.
            Nothing in it is executed.
        """
        from copula_discrepancy.estimate.sketch_file import load

        return load(path)

    # ---- what was counted ------------------------------------------------------------------------------------------

    def finish(self) -> CountedTable:
        """What the counts say: the variables as a table of grids, from which all numbers of a comparison follow.

        Returns
        -------
        CountedTable
            The sample, in the form that comparisons use.

        Raises
        ------
        InputError
            If nothing was counted.
        """
        if self.n < 2:
            raise InputError(
                f"the sketch must have counted at least 2 rows, got {self.n}; update it with some", "too-few-draws"
            )
        single = tuple(column.single for column in self.plan_.columns)
        blocks = None
        if self.plan_.serial:
            if len(self.blocks) < _FEWEST_BLOCKS:
                raise InputError(
                    f"{self.n} rows whose order matters are too few to count: at least {_FEWEST_BLOCKS * _FIRST_BLOCK} are "
                    "needed for standard errors; use engine='exact', or iid=True if the rows are independent",
                    "too-few-draws",
                )
            factor, _ = blocks_to_merge(self)

            def blocks(first: int, second: int) -> SerialCounts:
                return serial_counts(self, first, second).merged(factor)

        return CountedTable(self.names, self.n, self.n_chains, single, self.margins, partial(pair_counts, self), blocks)

    @property
    def outgrown(self) -> tuple[str, ...]:
        """Columns whose values are other than those of the pilot sample, so that many of them share a bin."""
        found = []
        for column, margin in zip(self.plan_.columns, self.margins, strict=True):
            total = int(margin[:-1].sum())
            if total == 0 or column.labels:
                continue
            shares = margin[:-1] / total
            if bool((~column.single & (shares > _OUTGROWN) & (shares > _TIMES * column.shares)).any()):
                found.append(column.name)
        return tuple(found)

    @property
    def unseen(self) -> Mapping[str, int]:
        """Rows with a level that the pilot sample does not have, by column."""
        rows = {
            column.name: int(margin[column.labels.index(UNSEEN)])
            for column, margin in zip(self.plan_.columns, self.margins, strict=True)
            if UNSEEN in column.labels
        }
        return {name: count for name, count in rows.items() if count}

    def __repr__(self) -> str:
        order = f"in {len(self.blocks)} blocks of {self.block_rows:,}" if self.plan_.serial else "independent"
        return (
            f"DependenceSketch of {self.n:,} rows ({order}), {len(self.names)} columns in up to {self.resolution} bins, "
            f"{len(self.plan_.pairs):,} {'pair' if len(self.plan_.pairs) == 1 else 'pairs'}, {self.nbytes / 1e6:.3g} MB"
        )


def _parts(count: int, jobs: int) -> list[slice]:
    """Consecutive parts of all pairs, a few for each thread."""
    wanted = min(2 * thread_count(jobs), count)
    if jobs == 1 or wanted < 2:
        return [slice(0, count)]
    edges = np.linspace(0, count, wanted + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def _halved(blocks: Mapping[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
    """Neighbouring blocks of a chain added up, two and two."""
    found: dict[tuple[int, int], Any] = {}
    for (chain, place), counts in sorted(blocks.items(), key=lambda item: item[0]):
        key = chain, place // 2
        found[key] = found[key] + counts if key in found else counts
    return found
