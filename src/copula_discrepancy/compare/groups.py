"""Every pair of variables compared with a reference sample within groups of rows, and over all rows."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from copula_discrepancy._core.errors import InputError, enough_memory
from copula_discrepancy._core.progress import progress_bar
from copula_discrepancy.compare.adjusted_rows import adjusted_together
from copula_discrepancy.compare.correlations import correlation_matrix
from copula_discrepancy.compare.group_samples import (
    NOTHING_TO_COMPARE,
    NOTHING_VARIES,
    caveats_within,
    omitted,
    one_sided,
    require_shared,
    too_small,
    with_values,
    without_group,
)
from copula_discrepancy.compare.groups_result import GroupedPairwise
from copula_discrepancy.compare.groups_wording import group_names, left_out_words
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.pair_targets import is_pair_mapping
from copula_discrepancy.compare.reversals import find_reversals
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.matching import is_bare_word, matched, read_reference
from copula_discrepancy.data.naming import errors_about, listed
from copula_discrepancy.data.row_groups import checked_by, group_labels, rows_of, with_group_columns
from copula_discrepancy.families import Copula

_WHOSE = "the draws", "the reference"


@enough_memory
def rank_groups(
    draws: Any,
    target: Any,
    *,
    by: str | Sequence[str],
    chains: int | str | None = None,
    missing: str | None = None,
    **options: Any,
) -> GroupedPairwise:
    """`pairwise` with `by`, without issuing its warnings; `options` are those of `as_draws` and of `rank_pairs`."""
    names = checked_by(by)
    if chains is not None:
        raise InputError(f"by is for tables without chains, got chains={chains!r:.60}; omit one of the two", "shape")
    keys = ("var_names", "filter_vars", "group", "coords", "exclude", "kinds")
    selection = {key: options.pop(key) for key in keys if key in options}
    # rows are matched to their groups before rows with missing values are dropped
    reading = selection | {"missing": "pairs" if missing in ("listwise", "drop") else missing}
    given = as_draws(draws, **reading)
    _require_sample(target, given)
    other = read_reference(target, given, reading, every_kind=True)
    coords: dict[str, Any] = {key: value for key, value in selection.items() if key in ("group", "coords", "kinds")}
    samples = []
    for sample, source in ((given, draws), (other, target)):
        samples.append(with_group_columns(sample, names, partial(_read_columns, source, coords)))
    added = {name for _, names_added in samples for name in names_added}
    return compare_groups(samples[0][0], samples[1][0], names, added=added, missing=missing, **options)


def _read_columns(source: Any, coords: Mapping[str, Any], names: list[str]) -> Draws:
    return as_draws(source, var_names=names, missing="pairs", **coords)


def _require_sample(target: Any, draws: Draws) -> None:
    """Raise unless the target is a reference sample: only rows have groups."""
    known = target is None or isinstance(target, Copula | type | int | float | complex) or is_bare_word(target)
    if known or is_pair_mapping(target) or correlation_matrix(target, draws) is not None:
        raise InputError(
            "by needs a reference sample, whose rows have groups too, as the second argument, got "
            f"{target!r:.60}; for another target, split the draws and compare each part on its own",
            "no-target",
        )


def compare_groups(
    draws: Draws,
    reference: Draws,
    by: Sequence[str],
    *,
    added: set[str] | None = None,
    missing: str | None = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    weights: Any = None,
    **choices: Any,
) -> GroupedPairwise:
    """Compare two samples within the groups of the columns `by` and over all rows; `choices` are those of `rank_pairs`.

    Parameters
    ----------
    draws, reference : Draws
        Both samples, with the columns.
    by : sequence of str
        The columns.
    added : set of str, optional
        Those of them that define groups but are not variables.
    missing, checkpoint, progress, weights, **choices
        As in `pairwise`; every group has a folder of its own in `checkpoint`.
    """
    for sample, whose in ((draws, "the draws"), (reference, "the reference")):
        if sample.chained:
            raise InputError(
                f"by is for tables without chains, but {whose} have chains: a group has another number of draws in each; "
                "split the draws yourself and compare each part on its own",
                "shape",
            )
    draws, reference = matched(draws, reference)
    if missing in ("listwise", "drop"):  # once, so that every group and all rows have the same rows
        draws, reference = (as_draws(sample, missing="drop") for sample in (draws, reference))
        missing = None
    groups = []
    for sample, whose in ((draws, "draws"), (reference, "reference")):
        with errors_about(whose):
            groups.append(group_labels(sample, by))
    shared = require_shared(groups[0], groups[1], by, _WHOSE)
    folder = None if checkpoint is None else _folder(checkpoint)
    choices = choices | {"missing": missing}
    variables = [name for name in draws.names if name not in (added or ())]
    overall = rank_pairs(
        draws.select(variables), reference.select(variables), weights=weights, progress=progress,
        checkpoint=None if folder is None else folder / "all_rows", **choices,
    )  # fmt: skip
    inner = [name for name in variables if name not in by]
    own_weights = _weights(overall, inner)
    left_out = one_sided(groups[0], groups[1], _WHOSE)
    found: dict[str, Pairwise] = {}
    with progress_bar(progress, "groups", len(shared)) as tick:
        for k, label in enumerate(shared):
            places = groups[0].rows[label], groups[1].rows[label]
            reason: str | Pairwise = too_small([len(rows) for rows in places], _WHOSE[1])
            if not reason:
                samples = with_values((rows_of(draws, places[0], inner), rows_of(reference, places[1], inner)))
                path = None if folder is None else folder / f"group_{k + 1}"
                reason = _compared(*samples, weights=own_weights, progress=False, checkpoint=path, **choices)
            if isinstance(reason, Pairwise):
                found[label] = reason
            else:
                left_out[label] = reason
            tick(k + 1)
    left_out |= without_group(groups[0], groups[1], _WHOSE[1])
    if not found:
        raise InputError(
            f"no group of {listed(by)} can be compared: {left_out_words(left_out)}; use a column with larger groups",
            "too-small",
        )
    overall, *within = adjusted_together([overall, *found.values()])
    found = dict(zip(found, within, strict=True))
    named = group_names(by, [*found, *left_out])
    reversals, paradoxes = find_reversals(overall, found, named)
    return GroupedPairwise(
        by=tuple(by),
        overall=overall,
        groups=found,
        reversals=reversals,
        paradoxes=paradoxes,
        left_out=left_out,
        named=named,
        caveats=(*overall.caveats, *caveats_within(found, named, overall), *omitted(left_out)),
        notes=overall.notes,
        samples=overall.samples,
        iid=overall.iid,
        confidence=overall.confidence,
        adjust=overall.adjust,
        version=overall.version,
    )


def _folder(checkpoint: Any) -> Path:
    try:
        return Path(checkpoint)
    except TypeError:
        raise InputError(f"checkpoint must be the path of a folder, got {checkpoint!r:.60}") from None


def _compared(draws: Draws, reference: Draws, **choices: Any) -> Pairwise | str:
    """The comparison within a group, or why there is none."""
    try:
        result = rank_pairs(draws, reference, **choices)
    except InputError as error:
        if error.code not in NOTHING_TO_COMPARE:
            raise
        return NOTHING_VARIES
    if result.void:
        return "the same rows in both samples, so no test is valid"
    return result if result.tested.any() or result.stuck else "no pair could be tested"


def _weights(overall: Pairwise, names: Sequence[str]) -> dict[tuple[str, str], float] | None:
    """The user's weights of the pairs within groups."""
    if not overall.own_weights:
        return None
    pairs = [(overall.names[row["first"]], overall.names[row["second"]]) for row in overall.rows]
    found = {pair: float(weight) for pair, weight in zip(pairs, overall.weights, strict=True) if {*pair} <= {*names}}
    return found if any(found.values()) else None
