"""What draws are repaired to: rows with the right dependence, from a reference sample, a copula, correlations or a vine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.correlations import correlation_matrix
from copula_discrepancy.compare.pair_targets import is_pair_mapping
from copula_discrepancy.compare.wording import counted
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.matching import is_bare_word, matched, read_reference
from copula_discrepancy.data.naming import errors_about, listed, require_same_names
from copula_discrepancy.estimate.repeated_chains import repeated_chains_caveats
from copula_discrepancy.families import Copula

KINDS = (
    "a reference sample, a copula with its parameter for two variables, a correlation matrix, the result of vine(), or a "
    "Vinecop or Bicop of pyvinecopulib"
)


@dataclass(frozen=True, eq=False)
class Template:
    """Rows with the dependence that the draws should have, one column per variable of the draws.

    `kind` is "reference", "copula", "correlations" or "vine"; `words` name it in a sentence; `own` are the positions of its
    variables among those of the draws.
    """

    kind: str
    words: str
    rows: NDArray[np.float64]
    own: tuple[int, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    caveats: tuple[Caveat, ...] = ()


def template_of(draws: Draws, target: Any, options: Mapping[str, Any] | None, rng: np.random.Generator) -> Template:
    """The target as rows; as many as the draws have if they are simulated. Without options, a sample was read already."""
    n = draws.n_chains * draws.n_draws
    if isinstance(target, Copula):
        if draws.n_variables != 2:
            found = f"{target} describes two variables, but the draws have {draws.n_variables} ({listed(draws.names, 8)})"
            raise InputError(
                f"{found}; select two with var_names, or pass a correlation matrix, a vine or a reference", "shape"
            )
        return _simulated("copula", str(target), target.sample(n, rng=rng), draws)
    model = getattr(target, "model", target)
    if callable(getattr(model, "simulate", None)) and not isinstance(model, type):
        return _from_vine(draws, target, model, rng)
    if isinstance(target, Mapping) and is_pair_mapping(target):
        raise InputError(f"copulas of pairs do not determine how all variables depend on each other; target must be {KINDS}")
    matrix = None if isinstance(target, Draws) else correlation_matrix(target, draws)
    if matrix is not None:
        return _simulated("correlations", "a Gaussian copula with these correlations", _gaussian(matrix, n, rng), draws)
    if target is None or isinstance(target, type | int | float | complex) or is_bare_word(target):
        raise InputError(f"target must be {KINDS}, got {target!r:.80}", "no-target")
    reference = target if options is None and isinstance(target, Draws) else read_reference(target, draws, options or {})
    own, other = matched(draws, reference)
    by_name = draws.named and reference.named
    places = tuple(draws.names.index(name) for name in own.names) if by_name else tuple(range(draws.n_variables))
    rows = other.values.reshape(-1, other.n_variables)
    notes = (*own.notes[len(draws.notes) :], *(f"reference: {note}" for note in other.notes))
    caveats = tuple(repeated_chains_caveats(other, iid=False, whose="reference: "))
    return Template("reference", f"a reference sample of {counted(len(rows), 'row')}", rows, places, own.names, notes, caveats)


def _simulated(kind: str, words: str, rows: NDArray[np.float64], draws: Draws, note: str = "") -> Template:
    return Template(kind, words, rows, tuple(range(draws.n_variables)), draws.names, (note,) if note else ())


def _gaussian(matrix: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Normal rows with these correlations, which may be singular."""
    variances, directions = np.linalg.eigh(matrix)
    root = directions * np.sqrt(np.maximum(variances, 0.0))
    rows: NDArray[np.float64] = rng.standard_normal((n, len(matrix))) @ root.T
    return rows


def _from_vine(draws: Draws, target: Any, model: Any, rng: np.random.Generator) -> Template:
    """Rows simulated from a fitted vine; the variables of `vine()` are matched by name, those of a bare model by position."""
    n, d = draws.n_chains * draws.n_draws, draws.n_variables
    names = getattr(target, "names", None) if target is not model else None
    seeds = [int(seed) for seed in rng.integers(0, 2**31 - 1, 5)]
    simulate = getattr(model, "sample", None) or model.simulate  # pyvinecopulib's newer name for it
    with errors_about("target"):
        try:
            rows = np.asarray(simulate(n, seeds=seeds), dtype=np.float64)
        except Exception as error:  # any exception of another library
            reason = (str(error).strip().splitlines() or [""])[0][:200]
            raise InputError(f"a {type(model).__name__} cannot be simulated: {type(error).__name__} {reason}") from None
    if names is not None:
        require_same_names(draws.names, names, "the draws", "the vine")
        rows = rows[:, [list(names).index(name) for name in draws.names]]
    if rows.ndim != 2 or rows.shape != (n, d) or not np.isfinite(rows).all():
        found = f"the target's simulate(n) returned shape {rows.shape}, but the draws have {n} rows of {d} variables"
        raise InputError(f"{found}; select with var_names the variables that the model describes, in its order", "shape")
    note = "" if names is not None else f"the variables of the model are matched by position: {listed(draws.names, 8)}"
    return _simulated("vine", f"a {type(model).__name__}", rows, draws, note)
