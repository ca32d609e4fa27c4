"""One pair of a ranking on its own: all results, its levels, and the family fitted to it, with the numbers of its row."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare import ranking_wording
from copula_discrepancy.compare.caveats import ABOUT_ROWS
from copula_discrepancy.compare.counted_draws import CountedDraws, as_pictured, rows_of
from copula_discrepancy.compare.fitting import Found
from copula_discrepancy.compare.level_gaps import LevelGaps, level_gaps
from copula_discrepancy.compare.one import comparison_of, detailed
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.compare.over_time import without_chains
from copula_discrepancy.compare.row_family import family_of
from copula_discrepancy.compare.rows import TESTED
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.kinds import is_ordered
from copula_discrepancy.data.naming import listed, unknown_name
from copula_discrepancy.estimate.family_curves import EXACT, TABULATED
from copula_discrepancy.estimate.fit import fit_at, fit_pair
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.jackknife import LeftOut
from copula_discrepancy.estimate.pair import RankedPair

if TYPE_CHECKING:
    from copula_discrepancy.compare.many_result import Pairwise

_STAND_INS = 200_000  # rows that stand for those of a pair that was counted, where it is described level by level


def place_of(result: "Pairwise", first: Any, second: Any) -> int:
    """The number of the row of two variables."""
    for name in (first, second):
        if not isinstance(name, str) or name not in result.names:
            raise InputError(unknown_name(str(name), result.names), "unknown-name")
    i, j = sorted((result.names.index(first), result.names.index(second)))
    found = np.flatnonzero((result.rows["first"] == i) & (result.rows["second"] == j))
    if not found.size:
        raise InputError(f"the pair {first!r}, {second!r} was not compared", "unknown-name")
    return int(found[0])


def pair_of(result: "Pairwise", first: str, second: str) -> Discrepancy:
    """All results for one pair, as `discrepancy` gives them, without fitting anything again."""
    place = place_of(result, first, second)
    row = result.rows[place]
    _require_ordered(result, row)
    i, j = int(row["first"]), int(row["second"])
    if result.kind == "nothing":
        raise InputError(
            "without a target a pair cannot be compared; use select_family for its best family, or fit",
            "no-target",
        )
    exact = _is_exact(result, row)
    own, note = compared_draws(result, row)
    draws, reference = (
        None if sample is None else _columns(sample, result.names[i], result.names[j], exact=exact)
        for sample in (own, result.samples[1])
    )
    assert draws is not None
    found = _found(result, place) if exact and not np.isnan(row["theta"]) else None  # counts are fitted in milliseconds
    comparison = comparison_of(
        (draws, reference), result.independent, targets={(0, 1): result.targets[i, j]} if result.targets else {},
        template=family_of(result, row), estimate_df=False, method=result.method, tail=result.tail, order=result.order,
        curves=EXACT if result.exact else TABULATED, found=found,
    )  # fmt: skip
    if result.lags:  # as in the ranking
        comparison = replace(comparison, compared=(False, False))
    details = detailed(comparison, (draws, reference), confidence=result.confidence)
    # keep the ranking's caveats about whole rows: two columns alone may miss them
    caveats = [caveat for caveat in result.caveats if caveat.code in ABOUT_ROWS]
    caveats += [caveat for caveat in details.caveats if caveat.code not in ABOUT_ROWS]
    caveats = without_chains(caveats) if result.lags else caveats
    located = result.divergences
    return replace(
        details,
        in_ranking={name: float(row[f"{name}_adjusted"]) for name in TESTED},
        divergences_in_ranking=None if located is None else located.of_pair((result.names[i], result.names[j])),
        caveats=tuple(caveats),
        notes=tuple(dict.fromkeys((*note, *result.notes, *details.notes))),
    )


def levels_of(result: "Pairwise", first: str, second: str) -> LevelGaps:
    """A pair in which a column has levels, level by level."""
    row = result.rows[place_of(result, first, second)]
    draws, reference = result.samples
    if reference is None:
        raise InputError("levels are compared with those of a reference sample, and there is none", "no-target")
    verdict = ranking_wording.pair_verdict(result, row)
    own, other = (as_pictured(sample, first, second, _STAND_INS) for sample in (draws, reference))
    return level_gaps(own, other, verdict, result.things, as_given=True)


def fitted_of(result: "Pairwise", first: str, second: str) -> Fit:
    """The family used for a pair, fitted to its draws."""
    place = place_of(result, first, second)
    row = result.rows[place]
    _require_ordered(result, row)
    template = (result.targets or {}).get((int(row["first"]), int(row["second"]))) or family_of(result, row)
    if template is None:
        raise InputError(f"out of memory for {result.label(row)}, so no family was chosen; use fit() with a family", "memory")
    names = [result.names[int(row["first"])], result.names[int(row["second"])]]
    complete = _columns(compared_draws(result, row)[0], names[0], names[1], exact=_is_exact(result, row))
    method, iid = result.method, result.independent[0]
    if isinstance(complete, CountedDraws):
        return fit_pair(complete.counted().pair(0, 1), template, method=method, iid=iid)
    pair = RankedPair.from_draws(complete)
    return fit_at(pair, template, float(row["theta"]), LeftOut.known(result.blocks[place, 0]), method=method, iid=iid)


def compared_draws(result: "Pairwise", row: Any) -> tuple[Draws, tuple[str, ...]]:
    """The draws that a row is of, and a note if these are not all: a look at a run that goes on keeps rows of earlier looks."""
    draws = result.samples[0]
    if not result.unfinished or np.isnan(row["n"]):  # a pair for which memory was short has no number of draws
        return draws, ()
    n = int(row["n"]) // draws.n_chains
    if not n:
        raise InputError(f"{result.label(row)} is not compared yet: the run goes on, and its turn comes", "unknown-name")
    if n == draws.n_draws:
        return draws, ()
    marked = draws.diverging
    cut = replace(draws, values=draws.values[:, :n], diverging=None if marked is None else marked[:, :n])
    of_each = " of each chain" if draws.n_chains > 1 else ""
    return cut, (f"{result.label(row)} is of the first {n:,} draws{of_each}, as it was compared at an earlier look",)


def _is_exact(result: "Pairwise", row: Any) -> bool:
    """Whether a row is that of ranks: a pair that counts of rows in memory would blur has no error of the bins."""
    if not result.counted:
        return True
    return rows_of(result.samples[0]) is not None and bool(row["n_eff"] == row["n"])


def _require_ordered(result: "Pairwise", row: Any) -> None:
    """Raise for a pair with categories without an order, which no copula describes."""
    if not result.ordered(row):
        names = [result.names[int(row[end])] for end in ("first", "second")]
        unordered = [name for name in names if not is_ordered(result.samples[0].kind(result.names.index(name)))]
        raise InputError(
            f"{listed(unordered)} has categories without order, so no copula describes {result.label(row)}; use "
            f"result.levels({names[0]!r}, {names[1]!r}), or give its order, kinds={{{unordered[0]!r}: [lowest, ...]}}",
            "not-numeric",
        )


def _found(result: "Pairwise", place: int) -> Found:
    """What is known of a pair."""
    return Found(result.rows[place], result.blocks[place], any(caveat.code == "df-bound" for caveat in result.caveats))


def _columns(sample: Draws, first: str, second: str, *, exact: bool) -> Draws:
    """Two variables of a sample, without rows that lack a value; counts are of complete rows in any case."""
    chosen = sample.select([first, second])
    if isinstance(chosen, CountedDraws) and not (exact and chosen.kept is not None):
        return chosen
    rows = rows_of(chosen)
    assert rows is not None
    return as_draws(rows, missing="drop")
