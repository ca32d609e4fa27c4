"""Two tables, read once, and their fidelity score: over all rows and within groups of rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.errors import DependenceWarning, InputError
from copula_discrepancy._core.warn import warn
from copula_discrepancy.compare import group_samples
from copula_discrepancy.compare.fidelity_score import PairScore, is_judged, table_score
from copula_discrepancy.compare.groups_wording import group_names, left_out_words
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.wording import answer_line, counted
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.kinds import ChosenKinds, is_ordered
from copula_discrepancy.data.matching import matched
from copula_discrepancy.data.naming import BRIEF, errors_about, listed
from copula_discrepancy.data.row_groups import checked_by, group_labels, rows_of, with_group_columns
from copula_discrepancy.estimate.coded_columns import FEWEST_ROWS
from copula_discrepancy.estimate.strength import FEWEST_CARRIERS
from copula_discrepancy.families import Copula

# options of `as_draws`; the other choices belong to the comparison
_READING = ("var_names", "filter_vars", "group", "coords", "delimiter", "missing", "exclude", "kinds")
_WHOSE = "the real table", "the synthetic table"


@dataclass(frozen=True, eq=False)
class Tables:
    """The two tables of a fidelity score.

    Attributes
    ----------
    real, synthetic : Draws
        The tables with the same columns in the same order, those that define groups included.
    left_out : dict
        Columns that were not read, with the reason.
    by : tuple of str
        Columns that define groups.
    added : tuple of str
        Those of them that are not variables.
    """

    real: Draws
    synthetic: Draws
    left_out: dict[str, str]
    by: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[Draws, Draws]:
        """The real and the synthetic table without columns that only define groups."""
        names = [name for name in self.real.names if name not in self.added]
        return self.real.select(names), self.synthetic.select(names)

    def complete(self) -> "Tables":
        """The tables without rows in which a value is missing."""
        return replace(self, real=as_draws(self.real, missing="drop"), synthetic=as_draws(self.synthetic, missing="drop"))


def read_tables(
    real_data: Any, synthetic_data: Any, metadata: Any, by: Any, choices: Mapping[str, Any]
) -> tuple[Tables, dict[str, Any]]:
    """Both tables, and the choices that belong to the comparison."""
    if real_data is None or isinstance(real_data, Copula):
        raise InputError(f"real_data must be a table, got {real_data!r:.60}")
    columns = () if by is None else checked_by(by)
    choices = dict(choices)
    if metadata is not None:
        if choices.get("kinds") is not None:
            raise InputError("metadata and kinds both give the kinds of columns; pass one of them")
        choices["kinds"] = ChosenKinds.of(metadata, "metadata")
    selection = {"missing": None} | {name: choices.pop(name) for name in _READING if name in choices}
    listwise = bool(columns) and selection["missing"] in ("listwise", "drop")
    if listwise:  # rows are matched to their groups before rows with missing values are dropped
        selection["missing"] = "pairs"
    synthetic, real = as_draws(synthetic_data, **selection), as_draws(real_data, **selection)
    around = {key: selection[key] for key in ("group", "coords", "delimiter") if key in selection}
    read = [partial(_read_columns, data, around) for data in (real_data, synthetic_data)]
    tables = join_tables(real, synthetic, columns, read)
    if listwise:
        tables = tables.complete()
    if metadata is not None and len(tables.real.names) - len(tables.added) < 2:
        left_out = tables.left_out
        why = "; omitted: " + listed([f"{name} ({reason})" for name, reason in left_out.items()]) if left_out else ""
        found = f"got {listed(tables.variables[0].names)}{why}"
        raise InputError(f"metadata must describe at least two columns that can be compared, {found}")
    return tables, choices


def _read_columns(source: Any, around: Mapping[str, Any], names: list[str]) -> Draws:
    return as_draws(source, var_names=names, missing="pairs", **around)


def join_tables(real: Draws, synthetic: Draws, by: Sequence[str], read: Sequence[Callable[[list[str]], Draws]]) -> Tables:
    """Two tables with the same columns in the same order, and with the columns that define groups.

    Parameters
    ----------
    real, synthetic : Draws
        The two tables.
    by : sequence of str
        Columns that define groups.
    read : sequence of callable
        What reads named columns of the real and of the synthetic table, if they are not among the variables.
    """
    left_out: dict[str, str] = {}
    for draws in (real, synthetic):
        left_out |= {name: reason for name, reason in draws.left_out if name not in left_out}
    added: set[str] = set()
    extended = []
    for sample, whose, columns in zip((real, synthetic), _WHOSE, read, strict=True):
        if by and sample.chained:
            raise InputError(f"by is for tables without chains, but {whose} has chains; split it and score each part", "shape")
        joined, own = with_group_columns(sample, by, columns)
        extended.append(joined)
        added |= {*own}
    other, own_table = matched(extended[1], extended[0])
    # a column that is a variable of one table only is none of their pairs
    return Tables(own_table, other, left_out, tuple(by), tuple(name for name in by if name in added))


def score_tables(tables: Tables, *, checkpoint: Any = None, **choices: Any) -> dict[str, Any]:
    """What `DependenceFidelity.compute_breakdown` returns for these tables; `choices` are those of `rank_pairs`."""
    real, synthetic = tables.variables
    folder = Path(checkpoint) if tables.by and isinstance(checkpoint, str | Path) else None
    choices = {"iid": True, "missing": "pairs", **choices}
    left_out = tables.left_out | {name: "constant in the real table" for name in real.names if not _varies(real, name)}
    stuck = _stuck(synthetic, real)
    synthetic, never = _with_random_holes(synthetic, real)
    whole = checkpoint if folder is None else folder / "all_rows"
    result = rank_pairs(_independent(synthetic, real, stuck), real, checkpoint=whole, **choices)
    notes, caveats = [_of_tables(note, synthetic) for note in result.notes], [*result.caveats]
    if stuck:
        told = (
            "constant in the synthetic table, or with other levels than the real one, so treated as independent of all others"
        )
        caveats.insert(0, caveat_of("constant-in-draws", f"{told}: {listed(stuck)}"))
    if never:
        told = f"values are never missing in the synthetic table, so treated as missing at random: {listed(never)}"
        caveats.insert(0, caveat_of("missing-in-one", told))
    untested = [pair.label for pair in result if not is_judged(pair)]
    if untested:
        sentence = (
            f"{counted(len(untested), 'pair')} could not be tested and {'has' if len(untested) == 1 else 'have'} no score"
        )
        caveats.insert(0, caveat_of("pairs-untested", f"{sentence}: {listed(untested, BRIEF)}"))
    if result.void:
        says_nothing = "the synthetic table contains the same rows as the real one, so its score is meaningless"
        warn(DependenceWarning(caveat_of("same-rows", says_nothing)))
    scores, score, interval = _scored(result)
    total = sum(pair.weight for pair in scores)
    kinds = {name: result.samples[0].kind(k) for k, name in enumerate(result.names)}
    pairs = {
        pair.pair.names: pair.numbers((kinds[pair.pair.names[0]], kinds[pair.pair.names[1]]), total)
        for pair in sorted(scores, key=lambda pair: (pair.score, -pair.weight))
    }
    possible = math.comb(len({*real.names, *left_out}), 2)
    possible += sum(not {*pair.names} <= {*real.names} for pair in result)  # those with an indicator of missing values
    breakdown: dict[str, Any] = {"score": score, "interval": interval, "pairs": pairs, "answer": answer_line(result)}
    breakdown |= {"n_pairs": len(pairs), "n_possible_pairs": possible, "left_out": left_out, "kinds": kinds}
    if left_out:
        which = listed([f"{name} ({reason})" for name, reason in left_out.items()], BRIEF)
        caveats.insert(0, caveat_of("pairs-left-out", f"omitted: {which}"))
    if tables.by:
        groups, skipped, told_within = _within_groups(tables, result, folder, choices)
        breakdown |= {"by": list(tables.by), "groups": groups, "groups_left_out": skipped}
        caveats += told_within
    breakdown["caveats"] = [caveat.to_dict() for caveat in caveats]
    return breakdown | {"warnings": [*notes, *map(str, caveats)]}


def numbered(breakdown: Mapping[str, Any]) -> dict[str, Any]:
    """A breakdown for JSON: pairs as an iterator of entries that have the names of their columns."""
    pairs = ({"first": first, "second": second, **entry} for (first, second), entry in breakdown["pairs"].items())
    return {key: value for key, value in breakdown.items() if key != "pairs"} | {"pairs": pairs}


def _scored(result: Pairwise) -> tuple[list[PairScore], float, tuple[float, float]]:
    scores = [PairScore.of(pair) for pair in result if is_judged(pair)]
    return scores, *table_score(scores)


def _within_groups(
    tables: Tables, overall: Pairwise, folder: Path | None, choices: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str], list[Caveat]]:
    """The score within each group, worst first; groups that were left out, and caveats of both."""
    rows = []
    for table, whose in ((tables.real, "real_data"), (tables.synthetic, "synthetic_data")):
        with errors_about(whose):
            rows.append(group_labels(table, tables.by))
    shared = group_samples.require_shared(rows[0], rows[1], tables.by, _WHOSE)
    inner = [name for name in tables.real.names if name not in tables.by]
    left_out = group_samples.one_sided(rows[0], rows[1], _WHOSE)
    own = {key: value for key, value in choices.items() if key != "weights"}  # they name pairs of all columns
    results: dict[str, Pairwise] = {}
    found: dict[str, dict[str, Any]] = {}
    for k, label in enumerate(shared):
        sizes = [len(groups.rows[label]) for groups in rows]
        why = group_samples.too_small(sizes, _WHOSE[1])
        if not why:
            real, synthetic = group_samples.with_values(
                (rows_of(tables.real, rows[0].rows[label], inner), rows_of(tables.synthetic, rows[1].rows[label], inner))
            )
            path = None if folder is None else folder / f"group_{k + 1}"
            compared = _compared(real, synthetic, checkpoint=path, **own)
            if isinstance(compared, Pairwise):
                _, score, interval = _scored(compared)
                found[label] = {"score": score, "interval": interval, "n_real": sizes[0], "n_synthetic": sizes[1]}
                found[label]["answer"] = answer_line(compared)
                results[label] = compared
                continue
            why = compared
        left_out[label] = why
    left_out |= group_samples.without_group(rows[0], rows[1], _WHOSE[1])
    if not found:
        raise InputError(
            f"no group of {listed(tables.by)} can be compared: {left_out_words(left_out)}; use a column with larger groups",
            "too-small",
        )
    named = group_names(tables.by, [*found, *left_out])
    caveats = [*group_samples.caveats_within(results, named, overall), *group_samples.omitted(left_out)]
    return dict(sorted(found.items(), key=lambda item: item[1]["score"])), left_out, caveats


def _compared(real: Draws, synthetic: Draws, **choices: Any) -> Pairwise | str:
    """The comparison within a group, or why there is none."""
    try:
        result = rank_pairs(_independent(synthetic, real, _stuck(synthetic, real)), real, **choices)
    except InputError as error:
        if error.code not in group_samples.NOTHING_TO_COMPARE:
            raise
        return group_samples.NOTHING_VARIES
    if result.void:
        return "the same rows in both tables, so its score is meaningless"
    return result if math.isfinite(_scored(result)[1]) else "no pair could be tested"


def _of_tables(note: str, synthetic: Draws) -> str:
    """A note on reading, with the sample named as in the arguments."""
    if note.startswith("reference: "):
        return "real table: " + note.removeprefix("reference: ")
    return f"synthetic table: {note}" if note in synthetic.notes else note


def _varies(sample: Draws, name: str) -> bool:
    values = sample.values[:, :, sample.names.index(name)]
    return bool(np.nanmax(values) > np.nanmin(values))


def _with_random_holes(synthetic: Draws, real: Draws) -> tuple[Draws, list[str]]:
    """The synthetic table with missing values at random where only the real one lacks some: what they depend on is lost."""
    if not real.incomplete or synthetic.chained or real.chained:
        return synthetic, []
    never, values, rng = [], np.array(synthetic.values), np.random.default_rng(0)
    for k, name in enumerate(real.names):
        share = float(np.isnan(real.values[0, :, k]).mean())
        place = synthetic.names.index(name)
        if share * real.n_draws >= FEWEST_ROWS and not np.isnan(values[0, :, place]).any():
            values[0, rng.random(synthetic.n_draws) < share, place] = np.nan
            never.append(name)
    values.flags.writeable = False
    return (replace(synthetic, values=values, incomplete=True), never) if never else (synthetic, [])


def _other_levels(synthetic: Draws, real: Draws, name: str) -> bool:
    """Whether most rows of one table are in levels that the other does not have: its dependence is lost with its labels."""
    k = real.names.index(name)
    if is_ordered(real.kind(k)):
        return False
    counts = []
    for sample in (synthetic, real):
        known = sample.column(sample.names.index(name))
        counts.append(np.bincount(known[~np.isnan(known)].astype(np.int64), minlength=len(real.labels(k))))
    common = np.minimum(*counts) > 0
    return any(count[common].sum() < 0.5 * count.sum() for count in counts)


def _stuck(synthetic: Draws, real: Draws) -> list[str]:
    """Columns that are constant in the synthetic table only, although the real one has many other values, or relabelled."""
    # a flag set in a handful of rows may be missing from a faithful copy by chance
    return [
        name
        for name in real.names
        if _varies(real, name)
        and (
            (not _varies(synthetic, name) and _carriers(real, name) >= FEWEST_CARRIERS) or _other_levels(synthetic, real, name)
        )
    ]


def _independent(synthetic: Draws, real: Draws, stuck: Sequence[str]) -> Draws:
    """The synthetic table with random values of the real one in the columns that are constant: independent of all others."""
    if not stuck:
        return synthetic
    values, rng = np.array(synthetic.values), np.random.default_rng(0)
    for name in stuck:
        k = synthetic.names.index(name)
        known = real.column(real.names.index(name))
        values[0, :, k] = rng.choice(known[~np.isnan(known)], synthetic.n_draws)
    values.flags.writeable = False
    return replace(synthetic, values=values)


def _carriers(sample: Draws, name: str) -> int:
    """Number of rows that differ from the most frequent value."""
    values = sample.column(sample.names.index(name))
    counts = np.unique(values[~np.isnan(values)], return_counts=True)[1]
    return int(counts.sum() - counts.max())
