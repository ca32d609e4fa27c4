"""Draws and a reference that were counted, for comparisons of all triples."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.workers import blas_threads
from copula_discrepancy.compare.counted_draws import CountedDraws
from copula_discrepancy.compare.engine import Counted
from copula_discrepancy.compare.two_samples import left_out_caveats, matched_samples
from copula_discrepancy.compare.wording import called
from copula_discrepancy.data.draws import Draws, ordered_only
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.batches import left_out_columns
from copula_discrepancy.estimate.counted_block import CountedBlock
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.counted_triples import CountedTriples
from copula_discrepancy.estimate.form import form_gaps
from copula_discrepancy.estimate.joint import require_variables

_PART = 16  # pairs of a task
NO_JOINT = "rows that were counted have no answer for all pairs and triples together"


@dataclass(frozen=True, eq=False)
class TwoCounted:
    """The draws and, if there is one, the reference, counted, with the variables that are compared; see `TwoSamples`.

    Attributes
    ----------
    names : tuple of str
        The variables compared.
    own, other : CountedTriples
        Their triples; `other` is None without a reference.
    tables : tuple of CountedTable
        Their pairs.
    places : list of int
        The variables compared, by their place in the tables.
    samples, iid, caveats, notes, stuck, left_out
        As in `TwoSamples`.
    """

    names: tuple[str, ...]
    own: CountedTriples
    other: CountedTriples | None
    tables: tuple[CountedTable, ...]
    places: list[int]
    samples: tuple[Draws, Draws | None]
    iid: tuple[bool, bool]
    caveats: tuple[Caveat, ...]
    notes: tuple[str, ...]
    stuck: tuple[str, ...]
    left_out: Mapping[str, str]

    @classmethod
    def read(cls, counted: Counted, *, fewest: int, most: int) -> "TwoCounted":
        """Both samples with the variables that can be compared.

        Parameters
        ----------
        counted : Counted
            The samples.
        fewest, most : int
            The number of variables that the comparison needs, and can take.

        Returns
        -------
        TwoCounted
            Constant and few-valued variables, and those with missing values, are left out, with a caveat.
        """
        given: list[Any] = [counted.draws, counted.target]
        for k, whose in enumerate(("draws", "reference")):
            if isinstance(given[k], CountedDraws):
                _require_triples(given[k], whose)
                given[k] = ordered_only(given[k])
        aims = matched_samples(*given, sides=(True, True), chains=None, fewest=fewest, most=None)
        samples = [sample for sample in (aims.draws, aims.reference) if isinstance(sample, CountedDraws)]
        tables = tuple(sample.counted() for sample in samples)
        reasons = _left_out(samples, tables)
        places = [k for k in range(aims.draws.n_variables) if k not in reasons]
        if len(places) > most:
            raise InputError(
                f"at most {most} variables can be compared three at a time, got {len(places)}; select some of them with "
                "var_names (--columns), such as those of the worst pairs",
                "shape",
            )
        left_out = {aims.draws.names[k]: reason for k, reason in reasons.items()}
        require_variables(len(places), left_out, fewest)
        sides = [CountedTriples(sample.sketch, [sample.origins[k][0] for k in places]) for sample in samples]
        caveats = [*counted.caveats, *aims.caveats, *left_out_caveats(left_out)]
        if len(samples) > 1 and samples[0].same_counts(samples[1]):
            sentence = f"the {called(aims.draws, True)} and the reference have the same counts, as if they were the same rows"
            caveats.insert(0, caveat_of("same-rows", sentence))
        return cls(
            tuple(aims.draws.names[k] for k in places),
            sides[0],
            sides[1] if len(sides) > 1 else None,
            tables,
            places,
            (aims.draws, aims.reference),
            (True, True),
            tuple(caveats),
            (*aims.notes, NO_JOINT),
            aims.stuck,
            {**aims.left_out, **left_out},
        )

    def pair_pvalues(self, n_jobs: int | None) -> NDArray[np.float64]:
        """P-values of the form of all pairs of the variables, in order, as `pairwise` finds them."""
        pairs = list(combinations(self.places, 2))

        def pvalues(start: int) -> NDArray[np.float64]:
            part = pairs[start : start + _PART]
            own, other = (CountedBlock(table, part, compare=False, iid=True, order=ORDER).finish() for table in self.tables)
            return np.asarray(form_gaps(own.form, other.form, None, np.ones(len(part), bool)).pvalue)

        return np.concatenate(blas_threads(pvalues, range(0, len(pairs), _PART), n_jobs))


def _require_triples(sample: CountedDraws, whose: str) -> None:
    """Raise if a sketch has no counts of triples."""
    if sample.sketch.triples is not None:
        return
    way_out = (
        "its rows have an order, and triples are counted without it: if they are independent, plan it with iid=True and "
        "triples=True; otherwise compare the rows with engine='exact'"
        if sample.sketch.plan_.serial
        else "plan it with triples=True, or pass the rows"
    )
    raise InputError(f"{whose}: the sketch has no counts of triples; {way_out}", "argument")


def _left_out(samples: list[CountedDraws], tables: tuple[CountedTable, ...]) -> dict[int, str]:
    """The variables that are not compared, with the reason, as for rows in memory."""
    reasons = left_out_columns(tables)
    for sample in samples:
        counted = set(sample.sketch.triples.columns.tolist())
        for k in range(sample.n_variables):
            if sample.rows_of(k)[-1] > 0:
                reasons[k] = "missing values"
            elif sample.origins[k][0] not in counted:
                reasons.setdefault(k, "levels" if sample.labels(k) else "too few different values")
    return dict(sorted(reasons.items()))
