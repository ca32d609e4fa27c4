"""Two samples whose values are combined row by row: complete rows, of the variables that a function uses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.checks import LARGEST
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.caveats import ComparedSample, sample_caveats, sides_of
from copula_discrepancy.compare.counted_draws import chains_once
from copula_discrepancy.compare.wording import called, halves
from copula_discrepancy.data.draws import Draws, numeric_draws, require_varying
from copula_discrepancy.data.matching import is_bare_word, matched, read_reference
from copula_discrepancy.data.naming import errors_about, unknown_name
from copula_discrepancy.data.repeats import in_a_row
from copula_discrepancy.data.row_function import RowFunction, read_used, row_function
from copula_discrepancy.estimate.agreement import RHAT_LIMIT, comparable
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.resampling import BlockResampling, additive_part
from copula_discrepancy.estimate.standard_error import require_chain_length
from copula_discrepancy.estimate.uncertainty import split_rhat
from copula_discrepancy.families import Copula

FEWEST_ROWS = 20  # with fewer, resamples have too few different rows
_MISSING_NOTE = "missing values in"


def require_sample(reference: Any) -> None:
    """Raise if a reference cannot be a sample."""
    if isinstance(reference, Copula | type | int | float | complex) or reference is None or is_bare_word(reference):
        raise InputError(
            f"reference must be a sample with the right dependence, got {reference!r:.60}; for a known copula, pass a "
            "sample of it with the right margins",
            "no-target",
        )


def require_values(sample: Draws, independent: bool, whose: str) -> None:
    """Raise unless a sample has its values, not only ranks, and enough of them."""
    if sample.ranked:
        found = "some are too large to be distinguished as float64"
        raise InputError(f"the values of the {whose} are needed, but {found}; subtract an offset or rescale them first")
    largest = float(np.abs(sample.values).max())
    if largest > LARGEST:
        raise InputError(
            f"values of the {whose} must be at most {LARGEST:g} in size, got {largest:g}; rescale them", "infinite"
        )
    n = sample.n_chains * sample.n_draws
    if n < FEWEST_ROWS:
        raise InputError(f"the {whose} must contain at least {FEWEST_ROWS} draws, got {n}", "too-few-draws")
    if not independent:
        require_chain_length(sample.n_draws)


def complete(sample: Draws, whose: str) -> Draws:
    """The rows that have values of all variables, with a note on how many were left out."""
    notes = tuple(note for note in sample.notes if not note.startswith(_MISSING_NOTE))  # counted again, as rows
    if not sample.incomplete:
        return replace(sample, notes=notes)
    with errors_about(whose):
        found = numeric_draws(sample, missing="listwise")
    return replace(found, notes=(*notes, found.notes[-1]))


@dataclass(frozen=True, eq=False)
class FunctionSamples:
    """Draws and reference with the variables of a function, complete rows only.

    Attributes
    ----------
    function : RowFunction
        The function, with its variables.
    samples : (Draws, Draws)
        Both samples with these variables, in this order.
    columns : (array, array)
        Their values, (variable, row), chain after chain.
    iid : (bool, bool)
        Whether the draws of each are independent.
    notes : tuple of str
        What was decided or left out when they were read.
    """

    function: RowFunction
    samples: tuple[Draws, Draws]
    columns: tuple[Any, Any]
    iid: tuple[bool, bool]
    notes: tuple[str, ...]

    @classmethod
    def read(
        cls,
        draws: Any,
        reference: Any,
        function: Any,
        iid: tuple[bool, bool],
        chains: int | str | None,
        missing: str | None,
        selection: Mapping[str, Any],
    ) -> "FunctionSamples":
        """Read both samples and match the function's variables."""
        require_sample(reference)
        if selection["var_names"] is None:
            given = read_used(partial(_read, draws, chains=chains, missing=missing, **selection), function)
            other = read_used(partial(_read_other, reference, given, missing=missing, **selection), function)
        else:
            given = numeric_draws(draws, **selection, chains=chains, missing=missing)
            other = read_reference(reference, given, {**selection, "missing": missing})
        if given.named and other.named:
            used = row_function(function, given.names)
            for name in used.names:
                if name not in other.names:
                    raise InputError(f"reference: {unknown_name(name, other.names)}", "unknown-name")
        else:
            given, other = matched(given, other)
            used = row_function(function, given.names)
        samples = complete(given.select(used.names), "draws"), complete(other.select(used.names), "reference")
        notes = (*samples[0].notes, *(f"reference: {note}" for note in samples[1].notes))
        notes += in_a_row(samples[0]) if iid[0] else ()
        samples = chains_once(samples, iid)
        columns = []
        for sample, independent, whose in zip(samples, iid, ("draws", "reference"), strict=True):
            require_values(sample, independent, whose)
            values = np.stack([sample.column(k) for k in range(sample.n_variables)])
            with errors_about("reference") if whose == "reference" else errors_about("draws"):
                for name, column in zip(sample.names, values, strict=True):
                    require_varying(column, name)
            columns.append(values)
        return cls(used.settled(columns[0]), samples, (columns[0], columns[1]), iid, notes)

    @property
    def things(self) -> str:
        """The noun for the observations."""
        return called(self.samples[0], self.iid[0])

    def resampling(self, values: tuple[Any, Any, Any, Any]) -> tuple[BlockResampling, BlockResampling]:
        """How the rows of both samples are resampled, from the function's values in the four combinations.

        Blocks are made for what the results depend on: the function in each sample's own rows, with its own and with the
        other's margins, the part of it through which margins enter, and the rest, through which dependence does. A variable
        that hardly matters to it may mix slowly.
        """
        blocks = []
        sides = zip(self.columns, self.samples, self.iid, ((0, 2), (3, 1)), strict=True)
        for columns, sample, independent, own in sides:
            series = [values[k] for k in own]
            if not independent:
                parts = [additive_part(one, columns) for one in series]
                series += [*parts, *(one - part for one, part in zip(series, parts, strict=True))]
            blocks.append(BlockResampling.of(np.stack(series), sample.n_chains, iid=independent))
        return blocks[0], blocks[1]

    def caveats(self, resampling: Sequence[BlockResampling], *values: Any) -> list[Caveat]:
        """What is said of any two samples, and too few effective draws and chains that disagree on the function."""
        tables = RankedTable.of(self.samples[0]), RankedTable.of(self.samples[1])
        compared = sides_of(self.samples, tables, self.iid)
        caveats = sample_caveats(compared)
        for side, blocks, own in zip(compared, resampling, values, strict=True):
            if blocks.n_eff < side.few:
                caveats.append(side.caveat("few-effective-draws", side.too_few(blocks.n_eff)))
            caveats += _agreement(side, own)
        return caveats


def _agreement(side: ComparedSample, values: Any) -> list[Caveat]:
    """Chains, or halves of one chain, that disagree on the function."""
    if not comparable(side.draws, side.iid):
        return []
    rhat = split_rhat(values.reshape(side.draws.n_chains, -1))
    if not rhat > RHAT_LIMIT:
        return []
    parts = "the chains" if side.draws.n_chains > 1 else halves(side.things)
    return [side.caveat("chains-disagree", f"R-hat of the function is {rhat:.3f}, above {RHAT_LIMIT}: {parts} disagree on it")]


def _read(draws: Any, names: list[str] | None, **options: Any) -> Draws:
    return numeric_draws(draws, **options | _only(names))


def _read_other(reference: Any, draws: Draws, names: list[str] | None, **options: Any) -> Draws:
    return read_reference(reference, draws, options | _only(names))


def _only(names: list[str] | None) -> dict[str, Any]:
    """Options that select exactly these variables."""
    return {} if names is None else {"var_names": names, "filter_vars": None, "exclude": None}
