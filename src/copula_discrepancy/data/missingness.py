"""Indicators of missing values as variables: whether a value is missing may depend on other variables too."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import MISSING, PRESENCE
from copula_discrepancy.data.naming import listed
from copula_discrepancy.data.readers.table import kind_fields

FEWEST = 5  # rows with and rows without a value: fewer tell nothing about what missing values depend on
_NAMED = 3  # columns in the name of an indicator that they share


def with_missingness(draws: Draws, reference: Draws | None) -> tuple[Draws, Draws | None, frozenset[tuple[int, int]]]:
    """Both samples with an indicator for each column that has missing values, and the pairs that mean nothing.

    An indicator is 1 where the value is missing and 0 where it is present, of kind "missing". A column gets one if at least
    five of its values are missing and five are present in either sample. Columns that are missing in the same rows of both
    samples share one. Chains get none, because missing values are errors there.

    Parameters
    ----------
    draws, reference : Draws
        Samples with the same variables in the same order, see `matched`; the reference may be None.

    Returns
    -------
    (Draws, Draws or None, frozenset of (int, int))
        The samples with the indicators after their variables, named "a is missing" or "a, b are missing"; and the pairs, by
        position, of a column with its own indicator, which is constant where the column has values.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> income = np.where(np.arange(20) % 3, np.arange(20.0), np.nan)
    >>> draws = cd.as_draws({"age": np.arange(20.0) ** 2, "income": income}, missing="pairs")
    >>> found, _, skipped = with_missingness(draws, None)
    >>> found.names, found.kind(2), skipped
    (('age', 'income', 'income is missing'), 'missing', frozenset({(1, 2)}))
    """
    samples = [draws] if reference is None else [draws, reference]
    if any(sample.chained for sample in samples) or not any(sample.incomplete for sample in samples):
        return draws, reference, frozenset()
    groups: dict[bytes, list[int]] = {}
    for k in range(draws.n_variables):
        absent = [np.isnan(sample.values[0, :, k]) for sample in samples]
        if any(FEWEST <= int(missing.sum()) <= missing.size - FEWEST for missing in absent):
            groups.setdefault(b"".join(np.packbits(missing).tobytes() for missing in absent), []).append(k)
    if not groups:
        return draws, reference, frozenset()
    names = list(draws.names)
    skipped: set[tuple[int, int]] = set()
    for columns in groups.values():
        skipped.update((k, len(names)) for k in columns)
        names.append(_name([draws.names[k] for k in columns], names))
    firsts = [columns[0] for columns in groups.values()]
    extended = [_extended(sample, firsts, tuple(names)) for sample in samples]
    return extended[0], None if reference is None else extended[1], frozenset(skipped)


def _name(columns: list[str], taken: list[str]) -> str:
    """The name of an indicator, different from all others."""
    name = f"{columns[0]} is missing" if len(columns) == 1 else f"{listed(columns, _NAMED)} are missing"
    while name in taken:
        name += " (indicator)"
    return name


def _extended(sample: Draws, columns: list[int], names: tuple[str, ...]) -> Draws:
    """A sample with the indicators of these columns after its variables."""
    d = sample.n_variables
    values: NDArray[np.float64] = np.empty((len(names), *sample.values.shape[:2]))
    values[:d] = sample.values.transpose(2, 0, 1)
    for place, k in enumerate(columns, d):
        values[place] = np.isnan(sample.values[:, :, k])
    values.flags.writeable = False
    kinds = [*map(sample.kind, range(d)), *[MISSING] * len(columns)]
    levels = [*map(sample.labels, range(d)), *[PRESENCE] * len(columns)]
    about = kind_fields(kinds, levels, sample.chosen)
    return replace(sample, values=values.transpose(1, 2, 0), names=names, **about)
