"""Square matrices with a row and a column per variable: correlation matrices as targets, and labelled matrices in order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import real_array
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import require_same_names
from copula_discrepancy.data.readers.frames import is_frame

_SYMMETRY = 1e-8  # relative to correlations of 1: the error of printing and reading eight digits


def correlation_matrix(target: Any, draws: Draws) -> NDArray[np.float64] | None:
    """The target as a correlation matrix in the order of the draws' variables; None if it is something else, such as draws."""
    values, labels = square_values(target)
    if values is None or (labels is None and len(values) != draws.n_variables):
        return None
    try:
        matrix = real_array(values, "target").astype(np.float64)
    except InputError:
        return None  # for example a frame of text: reading it as draws gives a better message
    diagonal, not_finite = np.diag(matrix), ~np.isfinite(matrix)
    if not_finite.any():
        if not np.allclose(diagonal[~np.diag(not_finite)], 1.0):
            return None  # draws: `as_draws` rejects them with counts
        has_nan = bool(np.isnan(matrix).any())
        raise InputError(
            f"target looks like a correlation matrix but has {int(not_finite.sum())} {'NaN' if has_nan else 'infinite values'}",
            "nan" if has_nan else "infinite",
        )
    unit_diagonal = np.allclose(diagonal, 1.0, rtol=0, atol=_SYMMETRY)
    asymmetry = np.abs(matrix - matrix.T)
    if not asymmetry.max() <= _SYMMETRY:
        if not unit_diagonal:
            return None
        i, j = np.unravel_index(np.argmax(asymmetry), asymmetry.shape)
        raise InputError(
            f"target looks like a correlation matrix but is not symmetric: {matrix[i, j]:g} in row {i}, column {j}, and "
            f"{matrix[j, i]:g} in row {j}, column {i}; if these differ by rounding, average them: (C + C.T) / 2"
        )
    if not unit_diagonal:
        if (diagonal > 0).all():
            raise InputError(
                f"target is a symmetric {len(matrix)} x {len(matrix)} matrix whose diagonal is not 1; divide a covariance "
                "matrix by the standard deviations, C / outer(s, s)"
            )
        return None
    _require_valid_correlations(matrix)
    return matrix if labels is None else in_order(matrix, labels, draws.names, "the correlation matrix")


def _require_valid_correlations(matrix: NDArray[np.float64]) -> None:
    inside = np.abs(matrix - np.eye(len(matrix))) < 1.0
    if not inside.all():
        i, j = np.argwhere(~inside)[0]
        raise InputError(f"correlations must lie strictly between -1 and 1, got {matrix[i, j]:g} in row {i}, column {j}")
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -1e-8 * len(matrix):
        raise InputError(
            f"target is not a correlation matrix: it is not positive semidefinite (smallest eigenvalue {smallest:.3g})"
        )


def square_values(given: Any) -> tuple[Any, tuple[str, ...] | None]:
    """A square array, or a frame's values with its labels, rows in the order of the columns; None for anything else."""
    labels: tuple[str, ...] | None = None
    if is_frame(given):
        labels = tuple(str(name) for name in given.columns)
        rows = tuple(str(name) for name in given.index) if hasattr(given, "index") else labels
        given = given.to_numpy()
        if len(rows) == len(labels) and rows != labels and sorted(rows) == sorted(labels):
            given = given[[rows.index(name) for name in labels]]
    if not isinstance(given, np.ndarray | list | tuple):
        return None, None
    try:
        shape = np.shape(given)
    except (ValueError, TypeError):  # ragged, or of objects that are no arrays, such as DataTree
        return None, None
    return (given, labels) if len(shape) == 2 and shape[0] == shape[1] else (None, None)


def in_order(matrix: NDArray[np.float64], labels: tuple[str, ...], names: tuple[str, ...], what: str) -> NDArray[np.float64]:
    """A labelled matrix in the order of the draws' variables."""
    require_same_names(names, labels, "the draws", what)
    order = [labels.index(name) for name in names]
    return matrix[np.ix_(order, order)]
