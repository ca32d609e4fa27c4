"""Targets of all pairs of variables: a reference sample, copulas pair by pair, a correlation matrix, or none."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.checks import is_whole
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.correlations import correlation_matrix, square_values
from copula_discrepancy.compare.counted_draws import CountedDraws, chains_once, with_indicators
from copula_discrepancy.compare.wording import called
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.kinds import is_ordered
from copula_discrepancy.data.matching import excluded_if_there, is_bare_word, matched, read_reference
from copula_discrepancy.data.missingness import with_missingness
from copula_discrepancy.data.naming import BRIEF, errors_about, listed, unknown_name
from copula_discrepancy.estimate.sketch import DependenceSketch
from copula_discrepancy.families import Copula, Gaussian

Place = tuple[int, int]
UNORDERED = "without order"


class AllPairs(Sequence[Place]):
    """All pairs (i, j), i < j, of so many variables, row by row: there may be millions, which are made when used."""

    def __init__(self, variables: int) -> None:
        self.variables = variables

    def __len__(self) -> int:
        return self.variables * (self.variables - 1) // 2

    def __iter__(self) -> Iterator[Place]:
        return combinations(range(self.variables), 2)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self[k] for k in range(*place.indices(len(self))))
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        after = len(self) - 1 - place % len(self)  # pairs that come later: rows grow by one from the last one on
        row = (math.isqrt(8 * after + 1) - 1) // 2
        return self.variables - 2 - row, self.variables - 1 - (after - row * (row + 1) // 2)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.stack(np.triu_indices(self.variables, 1), axis=1).astype(dtype or np.int64)


@dataclass(frozen=True, eq=False)
class PairTargets:
    """The variables of the draws, the pairs to compare, and their targets.

    `kind` is "reference", "copulas", "correlations" or "nothing"; `notes` are about how the draws were read, `caveats` about
    what could not be compared; `stuck` are the variables that are constant in the draws although they should vary, and
    `left_out` maps variables that are in no pair to the reason; `margins` holds both samples with all variables that they
    share, constant ones included, if there is a reference.
    """

    kind: str
    draws: Draws
    pairs: Sequence[Place]
    reference: Draws | None = None
    targets: Mapping[Place, Copula] | None = None
    notes: tuple[str, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    stuck: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    margins: tuple[Draws, Draws] | None = None


def resolve_pair_targets(
    draws: Draws,
    target: Any,
    options: Mapping[str, Any],
    iid: tuple[bool, bool],
    *,
    every_kind: bool = False,
    indicators: bool = False,
    fewest: int = 2,
) -> PairTargets:
    """Match a target to the variables of the draws; constant variables are omitted with a note, and `fewest` must vary.

    A chain that repeats another counts once, unless rows are independent, as `iid` says of draws and reference. Without
    `every_kind`, a reference must have numbers or ordered levels. With `indicators`, whether values are missing is compared
    with a reference as well.
    """
    aims = _resolved(draws, target, options, called(draws, iid[0]), every_kind, indicators, fewest)
    draws, reference = chains_once((aims.draws, aims.reference), iid)
    margins = None if aims.margins is None else chains_once(aims.margins, iid)
    automatic = dict(draws.left_out) | (dict(reference.left_out) if reference is not None else {})
    aims = replace(aims, draws=draws, reference=reference, margins=margins)
    return replace(aims, left_out=aims.left_out | {k: why for k, why in automatic.items() if k not in aims.draws.names})


def _resolved(
    draws: Draws, target: Any, options: Mapping[str, Any], things: str, every_kind: bool, indicators: bool, fewest: int
) -> PairTargets:
    if target is None:
        return replace(_aims("nothing", draws, things), stuck=())  # without a target, a constant variable is no fault
    if isinstance(target, Copula):
        aims = _aims("copulas", draws, things)
        return replace(aims, targets=dict.fromkeys(aims.pairs, target))
    if is_pair_mapping(target):
        return _copulas(draws, target, things)
    matrix = correlation_matrix(target, draws)
    if matrix is not None:
        aims = _aims("correlations", draws, things)
        place = [draws.names.index(name) for name in aims.draws.names]
        return replace(aims, targets={(i, j): Gaussian(float(matrix[place[i], place[j]])) for i, j in aims.pairs})
    if isinstance(target, type | int | float | complex) or is_bare_word(target):
        raise InputError(
            "target must be a reference sample, a copula with its parameter, a dictionary from pairs to copulas, a "
            f"correlation matrix or None, got {target!r}",
            "no-target",
        )
    if not isinstance(target, CountedDraws):
        target = read_reference(target, draws, options, every_kind=every_kind)
    draws, reference = matched(draws, target)
    if not indicators:
        return _aims("reference", draws, things, reference, fewest)
    given = draws
    if isinstance(draws, CountedDraws) and isinstance(reference, CountedDraws):
        draws, other, skipped = with_indicators(draws, reference)
    else:
        draws, other, skipped = with_missingness(draws, reference)
    assert other is not None
    meaningless = {(draws.names[i], draws.names[j]) for i, j in skipped}
    draws, reference, told = _missing_in_both(draws, other, given.names)
    aims = _aims("reference", draws, things, reference, fewest)
    names = aims.draws.names
    pairs = aims.pairs
    if meaningless:
        pairs = tuple((i, j) for i, j in aims.pairs if (names[i], names[j]) not in meaningless)
    return replace(aims, pairs=pairs, caveats=(*aims.caveats, *told))


def _missing_in_both(draws: Draws, reference: Draws, columns: tuple[str, ...]) -> tuple[Draws, Draws, list[Caveat]]:
    """Both samples without indicators of values that only one of them lacks: the other has nothing to compare."""
    indicators = [name for name in draws.names if name not in columns]
    alone = {}
    for name in indicators:
        for sample, where in ((draws, "reference"), (reference, "draws")):
            if _constant(sample.select([name])):
                alone[name] = where
    if not alone:
        return draws, reference, []
    kept = [name for name in draws.names if name not in alone]
    which = [f"{name} in the {where} only" for name, where in alone.items()]
    sentence = f"{listed(which, BRIEF)}: what missing values depend on was not compared there"
    return draws.select(kept), reference.select(kept), [caveat_of("missing-in-one", sentence)]


def _aims(kind: str, draws: Draws, things: str, reference: Draws | None = None, fewest: int = 2) -> PairTargets:
    """All pairs of variables that vary in both samples; caveats about the others, and those constant in the draws only."""
    here, there = _constant(draws), [] if reference is None else _constant(reference)
    both = [name for name in here if name in there or reference is None]
    caveats = [caveat_of("constant", f"omitted because constant: {listed(both)}")] if both else []
    sides = (("constant-in-draws", things, here, "reference"), ("constant-in-reference", "reference", there, things))
    for code, whose, names, other in sides:
        alone = [name for name in names if name not in both]
        if alone:
            sentence = f"omitted because constant in the {whose} but not in the {other}: {listed(alone)}"
            caveats.append(caveat_of(code, sentence))
    constant = {name: "constant" for name in draws.names if name in here or name in there}
    if reference is None:  # neither copulas nor families describe levels without an order
        constant |= {name: UNORDERED for k, name in enumerate(draws.names) if not is_ordered(draws.kind(k))}
        without = [name for name, why in constant.items() if why == UNORDERED]
        if without:
            sentence = f"omitted because their values have no order: {listed(without)}"
            caveats.append(caveat_of("variables-left-out", sentence))
    names = [name for name in draws.names if name not in constant]
    if len(names) < fewest <= draws.n_variables:
        check = "check the sampler" if things == "draws" else "select other columns"
        need = "pairs need at least two variables that vary" if fewest > 1 else "lags need at least one variable that varies"
        raise InputError(f"{need}, got {len(names)}; {_omitted(constant)}; {check}", "constant")
    notes = draws.notes
    margins = None if reference is None else (draws, reference)
    if reference is not None:
        notes += tuple(f"reference: {note}" for note in reference.notes)
        reference = reference.select(names)
    kept = draws if len(names) == draws.n_variables else draws.select(names)
    stuck = tuple(name for name in here if name not in there)
    pairs = AllPairs(kept.n_variables)
    return PairTargets(kind, kept, pairs, reference, None, notes, tuple(caveats), stuck, constant, margins)


def _omitted(reasons: Mapping[str, str]) -> str:
    """Variables that are in no pair, by reason."""
    kinds = dict.fromkeys(reasons.values())
    return "; ".join(f"{why}: {listed([name for name, given in reasons.items() if given == why])}" for why in kinds)


def _constant(draws: Draws) -> list[str]:
    return [name for k, name in enumerate(draws.names) if never_varies(draws.values[:, :, k])]


def never_varies(values: NDArray[np.float64]) -> bool:
    """Whether all values that are not missing are equal."""
    if np.isnan(values[0, 0]) or np.isnan(values[-1, -1]):
        known = values[~np.isnan(values)]
        return bool(np.all(known == known[:1]))
    return bool(values[0, 0] == values[-1, -1] and np.all((values == values[0, 0]) | np.isnan(values)))


def read_once(target: Any, options: Mapping[str, Any]) -> Any:
    """A target for many comparisons of the same variables: a reference sample is read now, anything else is kept."""
    known = target is None or isinstance(target, Copula | CountedDraws | DependenceSketch) or is_pair_mapping(target)
    if (
        known
        or isinstance(target, type | int | float | complex)
        or is_bare_word(target)
        or square_values(target)[0] is not None
    ):
        return target
    with errors_about("reference"):
        return as_draws(target, **excluded_if_there(options))


def is_pair_mapping(target: Any) -> bool:
    """Whether a target is a dictionary with pairs as keys or copulas as values; one from names to arrays is a sample."""
    if not isinstance(target, Mapping):
        return False
    if not target:
        raise InputError("target is an empty dictionary; pass a copula for every pair to compare")
    return any(isinstance(key, tuple) for key in target) or any(isinstance(value, Copula) for value in target.values())


def _copulas(draws: Draws, target: Mapping[Any, Any], things: str) -> PairTargets:
    """A copula for each pair in the dictionary, in either order; other pairs are not compared."""
    copulas: dict[tuple[str, str], Copula] = {}
    for key, copula in target.items():
        if not (isinstance(key, tuple) and len(key) == 2):
            raise InputError(f"a target dictionary maps pairs of variables to copulas, such as ('a', 'b'), got the key {key!r}")
        if not isinstance(copula, Copula):
            raise InputError(
                f"the target of {key[0]!r} and {key[1]!r} must be a copula such as Gumbel(2.5), got {copula!r:.60}"
            )
        first, second = (_name(draws, part) for part in key)
        if first == second:
            raise InputError(f"a pair must have two different variables, got {key!r}")
        if draws.names.index(first) > draws.names.index(second):
            first, second, copula = second, first, copula._swapped()
        if (first, second) in copulas:
            raise InputError(f"the pair {first!r}, {second!r} has two targets; pass only one of them")
        copulas[first, second] = copula
    used = {name for pair in copulas for name in pair}
    aims = _aims("copulas", draws.select([name for name in draws.names if name in used]), things)
    place = {name: k for k, name in enumerate(aims.draws.names)}
    targets = {(place[a], place[b]): copula for (a, b), copula in copulas.items() if a in place and b in place}
    if not targets:
        raise InputError(f"no pair is left to compare; {'; '.join(map(str, aims.caveats))}", "constant")
    return replace(aims, pairs=tuple(sorted(targets)), targets=targets, left_out={})


def _name(draws: Draws, given: Any) -> str:
    """The variable with this name or, if the draws have no names of their own, at this position."""
    if str(given) in draws.names:
        return str(given)
    if draws.named or not is_whole(given) or not 0 <= given < draws.n_variables:
        raise InputError(unknown_name(str(given), draws.names), "unknown-name")
    return draws.names[int(given)]
