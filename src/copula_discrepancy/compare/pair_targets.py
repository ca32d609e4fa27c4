"""What all pairs of variables are compared with: a reference sample, copulas pair by pair, a correlation matrix, or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.checks import real_array
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.target import names_no_file, without_left_out
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.naming import listed, unknown_name
from copula_discrepancy.data.readers.request import IfThere
from copula_discrepancy.families import Copula, Gaussian

Place = tuple[int, int]
_SYMMETRY = 1e-8  # relative to correlations of 1: what printing and reading eight digits leaves


@dataclass(frozen=True, eq=False)
class PairAims:
    """The draws' variables, the pairs to look at, and what they are compared with.

    `kind` is "reference", "copulas", "correlations" or "nothing"; `notes` say how the draws were read, `caveats` what could
    not be compared, `stuck` which variables are constant in the draws though they should not be, `left_out` which variables no
    pair was made of, and why.
    """

    kind: str
    draws: Draws
    pairs: tuple[Place, ...]
    reference: Draws | None = None
    targets: Mapping[Place, Copula] | None = None
    notes: tuple[str, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    stuck: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)


def resolve_pair_targets(draws: Draws, target: Any, options: Mapping[str, Any], things: str = "draws") -> PairAims:
    """Match a target to the draws' variables; constant variables are left out and noted."""
    found = _resolved(draws, target, options, things)
    named = dict(found.draws.left_out) | (dict(found.reference.left_out) if found.reference is not None else {})
    return replace(found, left_out=found.left_out | {name: why for name, why in named.items() if name not in found.draws.names})


def _resolved(draws: Draws, target: Any, options: Mapping[str, Any], things: str) -> PairAims:
    if target is None:
        kept, caveats, _ = _varying(draws, None, things)  # without a target, a constant may be meant
        return PairAims("nothing", kept, _all_pairs(kept), notes=draws.notes, caveats=caveats, left_out=_constants(draws, kept))
    if isinstance(target, Copula):
        kept, caveats, stuck = _varying(draws, None, things)
        pairs = _all_pairs(kept)
        return PairAims(
            "copulas", kept, pairs, targets=dict.fromkeys(pairs, target), notes=draws.notes, caveats=caveats, stuck=stuck,
            left_out=_constants(draws, kept),
        )  # fmt: skip
    if _is_pair_mapping(target):
        return _copulas(draws, target, things)
    matrix = _correlations(draws, target)
    if matrix is not None:
        kept, caveats, stuck = _varying(draws, None, things)
        place = [draws.names.index(name) for name in kept.names]
        pairs = _all_pairs(kept)
        targets = {(i, j): Gaussian(float(matrix[place[i], place[j]])) for i, j in pairs}
        return PairAims(
            "correlations", kept, pairs, targets=targets, notes=draws.notes, caveats=caveats, stuck=stuck,
            left_out=_constants(draws, kept),
        )  # fmt: skip
    if isinstance(target, type | int | float | complex) or names_no_file(target):
        raise InputError(
            "target must be a reference sample, a copula with its parameter, a dictionary from pairs to copulas, a "
            f"correlation matrix or None, got {target!r}"
        )
    try:
        reference = as_draws(target, **_chains_alike(draws), **options)
    except InputError as error:
        raise InputError(f"reference: {error}") from None
    given, matched = matching(draws, reference)
    kept, caveats, stuck = _varying(given, matched, things)
    read = (*given.notes, *(f"reference: {note}" for note in matched.notes))
    if draws.named != reference.named:
        read += ("only one side has names for its variables, so they are matched by their order",)
    selected = matched.select(kept.names)
    return PairAims(
        "reference", kept, _all_pairs(kept), reference=selected, notes=read, caveats=caveats, stuck=stuck,
        left_out=_constants(given, kept),
    )  # fmt: skip


def _constants(given: Draws, kept: Draws) -> dict[str, str]:
    """Variables that were not kept, because they never vary."""
    return {name: "constant" for name in given.names if name not in kept.names}


def _chains_alike(draws: Draws) -> dict[str, Any]:
    """The column that tells the draws' chains apart tells the reference's, where that has it."""
    return {} if draws.chain_column is None else {"chains": IfThere(draws.chain_column)}


def matching(draws: Draws, reference: Draws) -> tuple[Draws, Draws]:
    """Draws and reference with the same variables in the same order; by name where both have names.

    What one side left out when it was read, as dates or an identifier, is left out of the other, too.
    """
    if draws.named and reference.named:
        draws, reference = without_left_out(draws, reference, "reference"), without_left_out(reference, draws, "draws")
    if not (draws.named and reference.named):
        if draws.n_variables != reference.n_variables:
            raise InputError(
                f"draws and reference must have the same variables, got {draws.n_variables} ({listed(draws.names)}) and "
                f"{reference.n_variables} ({listed(reference.names)}){_also_left_out(draws, reference)}"
            )
        names = draws.names if draws.named or not reference.named else reference.names
        return replace(draws, names=names), replace(reference, names=names)
    here = [name for name in draws.names if name not in set(reference.names)]
    there = [name for name in reference.names if name not in set(draws.names)]
    if here or there:
        only = [f"only in the {whose}: {listed(names)}" for whose, names in (("draws", here), ("reference", there)) if names]
        common = [name for name in draws.names if name not in set(here)]
        alike = {name.strip().casefold() for name in here} & {name.strip().casefold() for name in there}
        if alike:
            way_out = "names must agree in capitals too"
        elif len(common) > 1:
            way_out = f"select what both have: {listed(common)} (--columns, or var_names)"
        else:
            way_out = "they have no two variables in common"
        raise InputError(f"draws and reference must have the same variables; {'; '.join(only)}; {way_out}")
    return draws, reference.select(draws.names)


def _also_left_out(*samples: Draws) -> str:
    left_out = [f"{name} ({reason})" for sample in samples for name, reason in sample.left_out]
    return f"; left out when they were read: {listed(left_out)}" if left_out else ""


def _all_pairs(draws: Draws) -> tuple[Place, ...]:
    return tuple(combinations(range(draws.n_variables), 2))


def _varying(draws: Draws, reference: Draws | None, things: str) -> tuple[Draws, tuple[Caveat, ...], tuple[str, ...]]:
    """The variables that vary in both samples, caveats about the others, and those constant in the draws alone."""
    still = _constant(draws)
    there = _constant(reference) if reference is not None else []
    caveats = []
    both = [name for name in still if name in there or reference is None]
    if both:
        sentence = f"{_counted(both)} constant, so without dependence, and left out: {listed(both)}"
        caveats.append(caveat_of("constant", sentence))
    sides = (("constant-in-draws", things, still, "reference"), ("constant-in-reference", "reference", there, things))
    for code, whose, names, other in sides:
        alone = [name for name in names if name not in both]
        if alone:
            sentence = f"{_counted(alone)} constant in the {whose} but not in the {other}, and left out: {listed(alone)}"
            caveats.append(caveat_of(code, sentence))
    kept = [name for name in draws.names if name not in still and name not in there]
    if len(kept) < 2 <= draws.n_variables:
        raise InputError(
            f"pairs need at least two variables that vary, got {len(kept)}: {listed([*dict.fromkeys([*still, *there])])} "
            f"never vary; {'check the sampler' if things == 'draws' else 'give columns that do'}"
        )
    stuck = tuple(name for name in still if name not in there)
    return (draws if len(kept) == draws.n_variables else draws.select(kept)), tuple(caveats), stuck


def _constant(draws: Draws) -> list[str]:
    return [name for k, name in enumerate(draws.names) if _never_varies(draws.values[:, :, k])]


def _never_varies(values: NDArray[np.float64]) -> bool:
    """Whether all values that are there are equal."""
    if np.isnan(values[0, 0]) or np.isnan(values[-1, -1]):
        known = values[~np.isnan(values)]
        return bool(np.all(known == known[0]))
    return bool(values[0, 0] == values[-1, -1] and np.all((values == values[0, 0]) | np.isnan(values)))


def _counted(names: list[str]) -> str:
    return "1 variable is" if len(names) == 1 else f"{len(names)} variables are"


def _is_pair_mapping(target: Any) -> bool:
    """A dictionary whose keys are pairs or whose values are copulas; one from names to arrays is a sample."""
    if not isinstance(target, Mapping):
        return False
    if not target:
        raise InputError("target is an empty dictionary; give a copula for every pair that is to be compared")
    return any(isinstance(key, tuple) for key in target) or any(isinstance(value, Copula) for value in target.values())


def _copulas(draws: Draws, target: Mapping[Any, Any], things: str) -> PairAims:
    """A copula for each pair named, in either order; pairs that are not named are not compared."""
    found: dict[tuple[str, str], Copula] = {}
    for key, copula in target.items():
        if not (isinstance(key, tuple) and len(key) == 2):
            raise InputError(f"a target dictionary maps pairs of variables to copulas, such as ('a', 'b'), got the key {key!r}")
        if not isinstance(copula, Copula):
            raise InputError(
                f"the target of {key[0]!r} and {key[1]!r} must be a copula such as Gumbel(2.5), got {copula!r:.60}"
            )
        first, second = (_name(draws, part) for part in key)
        if first == second:
            raise InputError(f"a pair has two different variables, got {key!r}")
        if draws.names.index(first) > draws.names.index(second):
            first, second, copula = second, first, copula._swapped()
        if (first, second) in found:
            raise InputError(f"the pair {first!r}, {second!r} has two targets; give one of them")
        found[first, second] = copula
    used = {name for pair in found for name in pair}
    chosen = draws.select([name for name in draws.names if name in used])
    kept, caveats, stuck = _varying(chosen, None, things)
    place = {name: k for k, name in enumerate(kept.names)}
    targets = {(place[a], place[b]): copula for (a, b), copula in found.items() if a in place and b in place}
    if not targets:
        raise InputError(f"no pair is left to compare; {'; '.join(map(str, caveats))}")
    return PairAims("copulas", kept, tuple(sorted(targets)), targets=targets, notes=draws.notes, caveats=caveats, stuck=stuck)


def _name(draws: Draws, given: Any) -> str:
    if str(given) in draws.names:
        return str(given)
    position = isinstance(given, int | np.integer) and not isinstance(given, bool) and not draws.named
    if not (position and 0 <= given < draws.n_variables):
        raise InputError(unknown_name(str(given), draws.names))
    return draws.names[int(given)]


def _correlations(draws: Draws, target: Any) -> NDArray[np.float64] | None:
    """A correlation matrix in the order of the draws' variables; None where the target is none."""
    values, labels = square_values(target)
    if values is None or (labels is None and len(values) != draws.n_variables):
        return None
    try:
        matrix = real_array(values, "target").astype(np.float64)
    except InputError:
        return None  # a frame of text, say: whoever reads it as draws has more to say
    diagonal, wrong = np.diag(matrix), ~np.isfinite(matrix)
    if wrong.any() and np.allclose(diagonal[~np.diag(wrong)], 1.0):
        told = "NaN" if np.isnan(matrix).any() else "infinite values"
        raise InputError(f"target looks like a correlation matrix but has {int(wrong.sum())} {told}; no copula has those")
    if wrong.any():
        return None  # draws, which are refused with a count
    ones = np.allclose(diagonal, 1.0, rtol=0, atol=_SYMMETRY)
    apart = np.abs(matrix - matrix.T)
    if not apart.max() <= _SYMMETRY:
        if not ones:
            return None
        i, j = np.unravel_index(np.argmax(apart), apart.shape)
        raise InputError(
            f"target looks like a correlation matrix but is not symmetric: {matrix[i, j]:g} in row {i}, column {j}, and "
            f"{matrix[j, i]:g} in row {j}, column {i}; average the two, (C + C.T) / 2, if they are rounding"
        )
    if not ones:
        if (diagonal > 0).all():
            raise InputError(
                f"target is a symmetric {len(matrix)} x {len(matrix)} matrix whose diagonal is not 1; divide a covariance "
                "matrix by the standard deviations, C / outer(s, s)"
            )
        return None
    inside = np.abs(matrix - np.eye(len(matrix))) < 1.0
    if not inside.all():
        i, j = np.argwhere(~inside)[0]
        raise InputError(f"correlations must lie strictly between -1 and 1, got {matrix[i, j]:g} in row {i}, column {j}")
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -1e-8 * len(matrix):
        raise InputError(
            f"target is no correlation matrix: its smallest eigenvalue is {smallest:.3g}, below 0, as no sample's can be"
        )
    return matrix if labels is None else in_order(matrix, labels, draws.names, "correlation matrix")


def square_values(given: Any) -> tuple[Any, tuple[str, ...] | None]:
    """A square array, or a frame's values with its labels, rows in the order of the columns; None for anything else."""
    labels: tuple[str, ...] | None = None
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):  # pandas and polars
        labels = tuple(str(name) for name in given.columns)
        rows = tuple(str(name) for name in given.index) if hasattr(given, "index") else labels
        given = given.to_numpy()
        if len(rows) == len(labels) and rows != labels and sorted(rows) == sorted(labels):
            given = given[[rows.index(name) for name in labels]]
    if not isinstance(given, np.ndarray | list | tuple):
        return None, None
    try:
        shape = np.shape(given)
    except ValueError:  # ragged: no matrix
        return None, None
    return (given, labels) if len(shape) == 2 and shape[0] == shape[1] else (None, None)


def in_order(matrix: NDArray[np.float64], labels: tuple[str, ...], names: tuple[str, ...], what: str) -> NDArray[np.float64]:
    """A labelled matrix in the order of the draws' variables."""
    if sorted(labels) != sorted(names):
        here = [name for name in names if name not in labels]
        there = [name for name in labels if name not in names]
        raise InputError(
            f"draws and {what} must have the same variables; only in the draws: {listed(here)}; only in the {what}: "
            f"{listed(there)}"
        )
    order = [labels.index(name) for name in names]
    return matrix[np.ix_(order, order)]
