"""Draws with their own margins and the dependence of a reference: the same values, in another order."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.checks import RandomSource, is_whole, one_of, spawned
from copula_discrepancy._core.errors import DependenceWarning, InputError, enough_memory
from copula_discrepancy._core.warn import warn
from copula_discrepancy.compare.repair_plan import Plan, Rows, complete_rows, planned, varies
from copula_discrepancy.compare.repair_result import Repair
from copula_discrepancy.compare.repair_targets import Template, template_of
from copula_discrepancy.compare.wording import called, counted
from copula_discrepancy.data.draws import Draws, numeric_draws
from copula_discrepancy.data.naming import listed
from copula_discrepancy.data.rearranging import Movable, brief_record, movable, rebuildable
from copula_discrepancy.estimate.fit_result import library_version
from copula_discrepancy.estimate.ranks import kendall_matrix
from copula_discrepancy.estimate.rearrangement import rearranged, rearranged_beside, template_rows
from copula_discrepancy.estimate.repeated_chains import repeated_chains_caveats
from copula_discrepancy.estimate.resampling import longest_time

_VARIABLES = 30  # among which tau is measured: 435 pairs take a fraction of a second, all pairs of a thousand take minutes
_ENOUGH = 0.25  # effective rows of the reference, as a share of the draws: autocorrelation is known roughly only
_SEVERAL = 500  # rows from which it is known at all
_LOOKED_AT = 4000  # rows from which tau before and after is measured: its standard error is then at most 0.011


@enough_memory
def repair(
    draws: Any,
    target: Any,
    *,
    only: str | Sequence[str] | None = None,
    anchor: str | None = None,
    rng: RandomSource = 1,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
    chains: int | str | None = None,
    delimiter: str | None = None,
    exclude: str | Sequence[str] | None = None,
    missing: str = "raise",
) -> Repair:
    """Give draws the dependence of a reference, a copula or a vine by reordering them: every value is kept, none is invented.

    Within each variable, the r-th smallest value goes to the row in which the reference has its r-th smallest value (the
    Schaake shuffle of Clark et al., 2004; ensemble copula coupling of Schefzik et al., 2013). One variable, the anchor, stays
    where it is, and the others move to it. Chains, names, types and container are kept.

    Only dependence within rows is mended. Margins stay as they are, and the serial order of what moves is lost: its
    autocorrelation, effective draws and R-hat mean nothing any more.

    Parameters
    ----------
    draws : anything `as_draws` accepts, with two variables or more
        The result is a container of the same kind, and its other columns, groups and attributes stay in place. Tables of other
        libraries come back as pandas frames or Arrow tables, other arrays as NumPy's, with a note. Of a file, the result has
        the draws, and ``save`` writes the file.
    target : reference sample, Copula, correlation matrix, VineGaps, or a Vinecop or Bicop of pyvinecopulib
        - A sample of the same variables, matched by name, read with the same options. Of a longer one, evenly spaced rows are
          used; the rows of a shorter one are used several times, equally often as far as possible.
        - A copula with its parameter, for two variables; a correlation matrix as in `pairwise`, for a Gaussian copula; the
          result of `vine`; a fitted vine, whose variables are those of the draws in their order. As many rows as the draws
          have are simulated from it.
    only : str or list of str, optional
        The variables that may move; all others stay in place. If more than one stays, the dependence among these is left as it
        is, and the others follow them as closely as the reference allows: each row takes the ranks of a reference row that
        is close to it in the variables that stay.
    anchor : str, optional
        The variable that stays in place if all may move; by default the first one that is not constant.
    rng : int or Generator, optional
        Breaks ties, chooses among near rows and simulates. A fixed seed by default, so that a repair can be repeated; None
        for a different one every time.
    var_names, filter_vars, group, coords, chains, delimiter, exclude : optional
        See `as_draws`; they apply to the reference as well, except a number of chains. Variables that are not selected stay in
        place, and lose whatever dependence they had with those that move.
    missing : {"raise", "listwise"}
        Rows with NaN in one of the variables are an error, or stay as they are while the other rows are repaired. Rows of
        the reference with NaN are an error, or omitted.

    Returns
    -------
    Repair
        `draws`, the repaired container, what moved, and what is not mended. Functions that take draws accept it.

    Raises
    ------
    InputError
        For draws that `as_draws` rejects, a target of another kind or with other variables, a variable that is constant in
        the reference but not in the draws, unknown names, and fewer than two variables that vary.

    See Also
    --------
    pairwise : Finds the pairs that need it, and shows whether they still do.

    Notes
    -----
    Ties, in the draws and in the reference, are broken at random, independently in each variable: equal values of two
    variables ordered by row would become dependent. Constant variables stay, with a caveat.

    The repaired draws have the ranks of the reference, so that comparing them with the same reference is no evidence. Compare
    them with rows that the repair did not use. With fewer reference rows than draws, their dependence is known from those
    rows only, and tests that count the draws as independent are too sure.

    References
    ----------
    Clark, M., Gangopadhyay, S., Hay, L., Rajagopalan, B. and Wilby, R. (2004). The Schaake shuffle: a method for
    reconstructing space-time variability in forecasted precipitation and temperature fields. Journal of Hydrometeorology 5,
    243-262.

    Iman, R. L. and Conover, W. J. (1982). A distribution-free approach to inducing rank correlation among input variables.
    Communications in Statistics - Simulation and Computation 11, 311-334.

    Schefzik, R., Thorarinsdottir, T. L. and Gneiting, T. (2013). Uncertainty quantification in complex simulation models
    using ensemble copula coupling. Statistical Science 28, 616-640.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.standard_normal((1000, 2))
    >>> reference[:, 1] += reference[:, 0] ** 2  # a banana
    >>> independent = rng.standard_normal((1000, 2))
    >>> result = cd.repair(independent, reference)
    >>> np.array_equal(np.sort(result.draws, axis=0), np.sort(independent, axis=0))
    True
    >>> fresh = rng.standard_normal((1000, 2))
    >>> fresh[:, 1] += fresh[:, 0] ** 2
    >>> cd.pairwise(independent, fresh, iid=True).n_flagged, cd.pairwise(result, fresh, iid=True).n_flagged
    (1, 0)
    """
    one_of(missing, "missing", ("raise", "listwise"))
    options: dict[str, Any] = {
        "var_names": var_names, "filter_vars": filter_vars, "group": group, "coords": coords, "delimiter": delimiter,
        "exclude": exclude,
    }  # fmt: skip
    reading = options | {"chains": chains, "missing": "pairs"}  # rows with missing values are found, and refused, below
    files = _names_files(draws)
    container, converted = (draws, ()) if files else rebuildable(draws)
    own = numeric_draws(container, **reading)
    if files:
        from copula_discrepancy.data.rearranging_files import movable_files  # not needed for arrays, the most common input

        store: Movable = movable_files(draws, reading)
    else:
        store = movable(container, reading, converted)
    result = mended(
        own, target, store, reading, only=only, anchor=anchor, rng=rng, missing=missing, keep_container=not files,
        reference_options=options | {"missing": "pairs", "delimiter": delimiter if _names_files(target) else None},
    )  # fmt: skip
    for caveat in result.caveats:
        warn(DependenceWarning(caveat))
    return result


class _Moves(NamedTuple):
    """For every row and variable of the draws, the row of its value; for every row, the row of the template with its ranks."""

    positions: NDArray[np.intp]
    used: NDArray[np.intp]
    taus: tuple[float, float]


def mended(
    own: Draws,
    target: Any,
    store: Movable,
    reading: Mapping[str, Any],
    *,
    only: Any = None,
    anchor: Any = None,
    rng: RandomSource = 1,
    missing: str = "raise",
    reference_options: Mapping[str, Any] | None = None,
    keep_container: bool = True,
) -> Repair:
    """`repair` of draws that were read already, without issuing its warnings; so is a reference without `reference_options`."""
    if own.n_variables < 2:
        raise InputError(f"a repair needs at least two variables, got {own.n_variables} ({own.names[0]})", "shape")
    *generators, chance = spawned(rng, own.n_variables + 2)
    template = template_of(own, target, reference_options, chance)
    names, values = template.names, own.values.reshape(-1, own.n_variables)
    complete = complete_rows(values[:, list(template.own)], names, missing, "draws")
    known = complete_rows(template.rows, names, missing, "reference")
    if len(known) < len(template.rows):
        note = f"reference: rows with a missing value left out: {len(template.rows) - len(known):,} of {len(template.rows):,}"
        template = replace(template, rows=template.rows[known], notes=(*template.notes, note))
    plan = planned(template, values[complete], only, anchor)
    moves = _moves(values, complete, template, plan, generators)
    after = np.take_along_axis(values, moves.positions, axis=0).reshape(own.values.shape)
    after.flags.writeable = False
    notes = (*own.notes, *template.notes, *store.notes, *_notes(values, template, plan, len(values) - len(complete)))
    record = _record(own, template, plan, moves, len(values) - len(complete))
    record |= {"only": None if only is None else [only] if isinstance(only, str) else list(only)}
    record |= {"seed": rng if rng is None or is_whole(rng) else type(rng).__name__}
    if isinstance(target, str | os.PathLike):
        record["reference"] = os.fsdecode(target)
    places = store.places(own.names, reading)
    sample = replace(own, values=after, notes=notes, diverging=None)  # a row has the values of several draws
    return Repair(
        draws=store.rebuilt(places, moves.positions, brief_record(record)) if keep_container else sample,
        names=names,
        moved={names[k]: _share_changed(own.values, after, template.own[k]) for k in plan.moving},
        in_place=tuple(names[k] for k in plan.staying),
        n=len(complete),
        positions=moves.positions[:, list(template.own)],
        target=template.kind,
        reference_rows=known[moves.used],
        before=moves.taus[0],
        after=moves.taus[1],
        provenance=record,
        sample=sample,
        notes=notes,
        # every row has its place, so that none is left out; ties are broken at random, and nobody can tell copies afterwards
        caveats=(
            *plan.caveats,
            *repeated_chains_caveats(own, iid=False),
            *template.caveats,
            *_short_reference(own, template, record, len(complete)),
        ),
        version=library_version(),
        _files=None if keep_container else (store, places, moves.positions),
    )


def _moves(
    values: Rows, complete: NDArray[np.intp], template: Template, plan: Plan, generators: Sequence[np.random.Generator]
) -> _Moves:
    """Where values go, in the complete rows of the variables that take part."""
    columns = [template.own[k] for k in plan.active]
    ours, theirs = values[complete][:, columns], template.rows[:, plan.active]
    fixed = [plan.active.index(k) for k in plan.staying]
    if len(fixed) == 1:
        chosen = template_rows(len(theirs), len(ours))
        found, layout = rearranged(ours, theirs[chosen], fixed[0], generators)
        used = chosen[layout]
    else:
        found, used = rearranged_beside(ours, theirs, fixed, [*generators[: len(columns)], generators[-1]])
    positions = np.empty(values.shape, np.intp, order="F")
    positions[:] = np.arange(len(values))[:, None]
    for place, k in enumerate(columns):
        positions[complete, k] = complete[found[:, place]]
    return _Moves(positions, used, _taus(ours, np.take_along_axis(ours, found, axis=0), theirs, used, fixed))


def _record(own: Draws, template: Template, plan: Plan, moves: _Moves, incomplete: int) -> dict[str, Any]:
    """What was done, ready for JSON."""
    uses = np.bincount(moves.used, minlength=len(template.rows))
    return {
        "library": f"copula-discrepancy {library_version()}",
        "function": "repair",
        "target": template.kind,
        "target_words": template.words,
        "shape": list(own.values.shape),
        "variables": list(template.names),
        "moved": [template.names[k] for k in plan.moving],
        "in_place": [template.names[k] for k in plan.staying],
        "rows_left_as_they_were": incomplete,
        "reference_rows": len(template.rows) if template.kind == "reference" else None,
        "reference_rows_used": int(np.count_nonzero(uses)),
        "most_uses_of_a_row": int(uses.max()),
    }


def _short_reference(own: Draws, template: Template, record: Mapping[str, Any], n: int) -> tuple[Caveat, ...]:
    """A caveat if there are fewer rows in the reference than in the draws, or far fewer effective ones."""
    m = record["reference_rows"]
    if m is None:
        return ()
    if m >= n:
        if m < _SEVERAL:
            return ()
        effective = m / longest_time(np.ascontiguousarray(template.rows[:, :_VARIABLES].T), 1)
        if effective >= _ENOUGH * n:
            return ()
        sentence = f"successive reference rows are correlated: {m:,} of them count as {effective:,.0f}, for {n:,} draws"
        return (caveat_of("few-reference-rows", sentence),)
    sizes = f"{counted(m, 'reference row')} for {counted(n, called(own, False)[:-1])}"
    often = counted(record["most_uses_of_a_row"], "time")
    return (caveat_of("few-reference-rows", f"{sizes}: a row is used up to {often}"),)


def _names_files(given: Any) -> bool:
    """Whether draws are a path or a list of paths; a list that mixes them with arrays is left to `as_draws`."""
    if isinstance(given, list | tuple):
        return bool(given) and all(isinstance(item, str | os.PathLike) for item in given)
    return isinstance(given, str | os.PathLike)


def _notes(values: Rows, template: Template, plan: Plan, incomplete: int) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if incomplete:
        notes += (f"rows with a missing value left as they were: {incomplete:,}",)
    names = template.names
    if len(plan.staying) > 1:
        staying = listed([names[k] for k in plan.staying], 8)
        notes += (f"the dependence among the variables that stay is left as it was: {staying}",)
    own = values[:, list(template.own)]
    if own.shape == template.rows.shape and np.array_equal(own, template.rows):
        notes += ("the reference has the same rows as the draws, so that their dependence does not change",)
    return notes


def _share_changed(before: Rows, after: Rows, column: int) -> float:
    """The share of rows whose value of a variable is another one."""
    a, b = before[..., column], after[..., column]
    return float(np.mean((a != b) & ~np.isnan(a)))


def _spread(items: Sequence[int], most: int) -> list[int]:
    """At most this many of the items, evenly spaced."""
    return [items[k] for k in template_rows(len(items), min(len(items), most))]


def _taus(before: Rows, after: Rows, reference: Rows, used: NDArray[np.intp], fixed: list[int]) -> tuple[float, float]:
    """The largest difference in Kendall's tau from the target, before and after, over the pairs that can change.

    From at most some thousand rows and some dozen variables, evenly spaced; a variable that is constant in them is left out.
    NaN without any pair.
    """
    places = template_rows(len(before), min(len(before), _LOOKED_AT))
    # the rows that the repaired ones have their ranks from: with others, chance would add to the difference
    rows = used[places] if len(fixed) == 1 else template_rows(len(reference), min(len(reference), _LOOKED_AT))
    wanted = reference[rows]
    samples = [wanted, before[places], after[places]]
    moved = [k for k in range(before.shape[1]) if k not in set(fixed)]
    half = max(_VARIABLES - len(fixed), _VARIABLES // 2)
    few = [*_spread(moved, half), *_spread(fixed, _VARIABLES - min(half, len(moved)))]
    kept = sorted(k for k in few if all(varies(sample[:, k]) for sample in samples))
    if len(kept) < 2 or len(wanted) < 2 or all(k in fixed for k in kept):
        return math.nan, math.nan
    taus = [kendall_matrix(sample[:, kept]) for sample in samples]
    stays = np.array([k in fixed for k in kept]) if len(fixed) > 1 else np.zeros(len(kept), bool)
    changes = ~(stays[:, None] & stays[None, :]) & ~np.eye(len(kept), dtype=bool)
    first, second = (float(np.abs(tau - taus[0])[changes].max()) for tau in taus[1:])
    return first, second
