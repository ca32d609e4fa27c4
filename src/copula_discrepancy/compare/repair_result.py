"""Result of `repair`: the repaired draws, what moved, and what is not mended."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, WithCaveats
from copula_discrepancy._core.checks import true_or_false
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.wording import called, counted
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import BRIEF, listed

if TYPE_CHECKING:
    from os import PathLike

_SERIAL = (
    "values have the order of the repair: autocorrelation, effective draws and R-hat mean nothing any more, and tests on chains "
    "that rely on them are too sure"
)
_OTHERS = "columns, groups and variables that were not repaired stay where they were: their dependence on what moved is lost"


@dataclass(frozen=True, eq=False, repr=False)
class Repair(WithCaveats):
    """Draws reordered to the dependence of a target, with a record of what was done and of what is not mended.

    Result of `repair`; print it for a summary in words. Functions that take draws accept it.

    Attributes
    ----------
    draws : as passed
        A container of the same kind with the repaired values; for files a `Draws`, see `save`.
    names : tuple of str
        The variables that were repaired, or left in place, as one row.
    moved : dict
        For every variable that moved, the share of rows whose value is another one.
    in_place : tuple of str
        The variables that stay: the anchor, or those that `only` does not name.
    n : int
        Number of rows, or draws, that were repaired.
    positions : array (n, variable)
        For every row, chain after chain, and every variable, the row whose value it has now.
    target : str
        "reference", "copula", "correlations" or "vine".
    reference_rows : array (n,)
        The row of the reference, or of the simulated sample, that each row has its ranks from.
    before, after : float
        The largest difference in Kendall's tau from the target over the pairs that could change, measured on at most 4,000
        rows of 30 variables, evenly spaced; NaN if no pair could be measured.
    provenance : dict
        What produced the result: library, target, choices, seed, variables, rows of the reference and how often they are used.
    sample : Draws
        The repaired draws as they were read, with all variables that were read.
    notes : tuple of str
        Sentences about what was omitted or decided.
    caveats : tuple of Caveat
        Reservations about the result.
    version : str
        The version of the library.

    See Also
    --------
    repair : The function that returns it.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> result = cd.repair(rng.standard_normal((500, 2)), cd.Clayton.from_tau(0.6))
    >>> result.draws.shape, result.in_place, list(result.moved), round(result.before, 1), result.after < 0.01
    ((500, 2), ('x0',), ['x1'], 0.6, True)
    """

    draws: Any = field(repr=False)
    names: tuple[str, ...]
    moved: Mapping[str, float]
    in_place: tuple[str, ...]
    n: int
    positions: NDArray[np.intp] = field(repr=False)
    target: str
    reference_rows: NDArray[np.intp] = field(repr=False)
    before: float
    after: float
    provenance: Mapping[str, Any]
    sample: Draws = field(repr=False)
    notes: tuple[str, ...]
    caveats: tuple[Caveat, ...]
    version: str
    _files: Any = field(default=None, repr=False)

    def __draws__(self) -> Draws:
        shared = f"repaired: these draws have the ranks of {self.provenance['target_words']}"
        warning = "; comparing them with the same sample is no evidence" if self.target == "reference" else ""
        return replace(self.sample, notes=(*self.sample.notes, shared + warning))

    def save(self, path: "str | PathLike[str]", *, force: bool = False, record: bool = False) -> Path:
        """Write the repaired files: everything but the values that moved is as in the original files.

        Parameters
        ----------
        path : str or path
            The file to write, with the ending of the original; for several files, a folder, in which they keep their names.
        force : bool
            Overwrite existing files. The original files are never overwritten.
        record : bool
            Also write `provenance` as JSON: fixed.repair.json beside fixed.csv, or repair.json in the folder.

        Returns
        -------
        Path
            The file or folder written.

        Raises
        ------
        InputError
            If the draws did not come from files, for an ending that is not the original's, and for files that exist.
        """
        if self._files is None:
            way_out = "write the result's draws with their own library"
            raise InputError(
                f"save is for draws read from a file, but these came from a {type(self.draws).__name__}; {way_out}"
            )
        store, places, positions = self._files
        overwrite, recorded = true_or_false(force, "force"), true_or_false(record, "record")
        written: Path = store.save(places, positions, self.provenance, path, overwrite, record=recorded)
        return written

    def to_dict(self) -> dict[str, Any]:
        """Every number and text except the draws themselves, ready for Python's json."""
        plain = {name: getattr(self, name) for name in ("n", "target", "before", "after", "version")}
        plain |= {"names": list(self.names), "moved": dict(self.moved), "in_place": list(self.in_place)}
        plain |= {"provenance": dict(self.provenance), "notes": list(self.notes), "words": self.sentences()}
        return plain | {"not_mended": self.not_mended()} | self._recorded()

    # ---- words -----------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What was done, in one line."""
        thing = called(self.sample, False)[:-1]
        size = f"{counted(self.n, thing)} of {counted(len(self.names), 'variable')}"
        return f"{size}, reordered to the dependence of {self.provenance['target_words']}"

    def sentences(self) -> dict[str, str]:
        """What moved, what stayed and how the dependence changed, each with its topic."""
        thing = called(self.sample, False)
        shares = [f"{name} ({_share(share)})" for name, share in self.moved.items()]
        told = {
            "Moved": f"{listed(shares, BRIEF)}, as shares of {thing} with another value; every variable keeps its values",
            "In place": listed(self.in_place, BRIEF),
        }
        if not math.isnan(self.after):
            which = " with a variable that moved" if len(self.in_place) > 1 else ""
            which += " of 30 variables" if len(self.names) > 30 else ""
            told["Dependence"] = (
                f"the largest difference in Kendall's tau from the target, over all pairs{which}, is {self.after:.3f}; it was "
                f"{self.before:.3f}"
            )
        return told

    def not_mended(self) -> dict[str, str]:
        """What the repair leaves as it was, or makes meaningless, each with its topic."""
        told = {"margins": "every variable has the distribution it had, right or wrong", "serial order": self._serial()}
        if len(self.in_place) > 1:
            told["variables in place"] = f"the dependence among {listed(self.in_place, BRIEF)} is left as it was"
        told["other columns"] = _OTHERS
        if self.target == "reference":
            told["evidence"] = (
                "the draws now have the ranks of this reference; comparing them with it proves nothing: use rows that the "
                "repair did not use"
            )
        m = self.provenance["reference_rows"]
        if m is not None and m < self.n:
            told["sample size"] = f"the dependence is known from {m:,} rows, however many draws there are"
        return told

    def _serial(self) -> str:
        return f"of {listed(list(self.moved), BRIEF)}: {_SERIAL}"

    def __repr__(self) -> str:
        lines = [f"Repair: {self.title}"]
        lines += [f"{topic}: {sentence}" for topic, sentence in self.sentences().items()]
        lines += ["Not mended:", *(f"- {topic}: {sentence}" for topic, sentence in self.not_mended().items())]
        return "\n".join(lines + [f"note: {note}" for note in (*self.notes, *self.warnings)])

    def _repr_html_(self) -> str:
        def items(told: Mapping[str, str]) -> str:
            return "".join(f"<li>{escape(topic)}: {escape(sentence)}</li>" for topic, sentence in told.items())

        notes = "".join(f"<p>note: {escape(note)}</p>" for note in (*self.notes, *self.warnings))
        body = f"<ul>{items(self.sentences())}</ul><p>Not mended:</p><ul>{items(self.not_mended())}</ul>{notes}"
        return f"<div><p><b>Repair</b>: {escape(self.title)}</p>{body}</div>"


def _share(share: float) -> str:
    """A share in percent: "all", or "12.3%"; what rounds to all or none but is not is told from it."""
    if share in (0.0, 1.0):
        return "none" if share == 0.0 else "all"
    return f"{min(max(100 * share, 0.1), 99.9):.1f}%"
