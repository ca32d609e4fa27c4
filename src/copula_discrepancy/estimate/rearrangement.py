"""Values of one sample in the order that gives them the dependence of another: which value goes to which row."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.workers import threads
from copula_discrepancy.estimate.basis import polynomials
from copula_discrepancy.estimate.coupling import random_order

Order = NDArray[np.intp]
Scores = NDArray[np.float64]

NEIGHBOURS = 3  # rows to choose from: fewer repeat the same rows, more blur the dependence; the errors of 1 to 10 hardly differ
_POLYNOMIALS = 3  # of each variable, to see how much the moved variables depend on a fixed one, monotone or not
_LEAST_WEIGHT = 0.1  # of a fixed variable without dependence of its own: it may matter together with another one
# Rows that a search in this many dimensions compares with; a tree of more dimensions looks at nearly all of them.
_SEARCHED = {3: 100_000, 5: 20_000, 8: 5_000}
_SEARCHED_BEYOND = 2_000


def template_rows(available: int, needed: int) -> Order:
    """Which of the available rows to use, ascending: evenly spaced if they are more, equally often, or once more, if fewer.

    Parameters
    ----------
    available, needed : int
        Rows of the reference, and of the draws.

    Returns
    -------
    array (needed,)
        Row numbers. Rows used once more than others are evenly spaced too.
    """
    rows: Order = np.arange(needed, dtype=np.intp) * available // needed
    return rows


def rearranged(
    values: NDArray[np.float64], template: NDArray[np.float64], anchor: int, generators: Sequence[np.random.Generator]
) -> tuple[Order, Order]:
    """Positions that give every column the ranks of the template, with the anchor's values where they are.

    The r-th smallest value of a column goes to the row in which the template has its r-th smallest value (the Schaake shuffle
    of Clark et al., 2004). The template's rows are then put in the order of the anchor's values, so that these stay.

    Parameters
    ----------
    values, template : array (n, d)
        Finite. Ties, in either of them, are broken at random, independently in every column.
    anchor : int
        The column that does not move.
    generators : sequence of Generator
        One per column.

    Returns
    -------
    positions : array (n, d)
        The row of `values` whose value goes to each row; every column is a permutation.
    layout : array (n,)
        The row of the template that each row has the ranks of.
    """
    n, d = values.shape

    def sources(k: int) -> Order:
        """For every row of the template, the row of the values with the same rank."""
        rng = generators[k]
        found = np.empty(n, np.intp)
        found[random_order(template[:, k], rng)] = random_order(values[:, k], rng)
        return found

    columns = threads(sources, range(d), -1)
    layout = np.empty(n, np.intp)
    layout[columns[anchor]] = np.arange(n)
    positions = np.empty((n, d), np.intp, order="F")
    for k, column in enumerate(columns):
        positions[:, k] = column[layout]
    return positions, layout


def rearranged_beside(
    values: NDArray[np.float64],
    reference: NDArray[np.float64],
    fixed: Sequence[int],
    generators: Sequence[np.random.Generator],
) -> tuple[Order, Order]:
    """Positions that move some columns only, so that they depend on each other and on the fixed ones as in the reference.

    Every row looks for rows of the reference that are close to it in the normal scores of the fixed columns, takes one of the
    nearest, and gets the ranks that the moved columns have there, shifted along the reference's linear regression by what
    still separates the two rows. Fixed columns that the moved ones do not depend on count less for the distance. Ranks are
    then taken again, which keeps every value. How the fixed columns depend on each other does not change.

    Parameters
    ----------
    values : array (n, d)
        Finite. Ties, here and in the reference, are broken at random, independently in every column.
    reference : array (m, d)
        The same columns.
    fixed : sequence of int
        Columns that stay, at least two.
    generators : sequence of Generator
        One per column, and one more.

    Returns
    -------
    positions : array (n, d)
        As in `rearranged`.
    rows : array (n,)
        The row of the reference that each row took its ranks from.
    """
    n, d = values.shape
    moved = [k for k in range(d) if k not in set(fixed)]
    limit = next((rows for width, rows in _SEARCHED.items() if len(fixed) <= width), _SEARCHED_BEYOND)
    searched = template_rows(len(reference), min(len(reference), limit))
    ours = _scores(values[:, fixed], [generators[k] for k in fixed])
    theirs = _scores(reference[searched], generators[:d])
    beside, given = theirs[:, fixed], theirs[:, moved]
    chosen = _neighbours(ours, beside, _weights(beside, given), generators[d])
    # ridge: with as many fixed columns as rows, least squares would fit chance; with few columns the penalty is negligible
    slopes = np.linalg.solve(beside.T @ beside + len(fixed) * np.eye(len(fixed)), beside.T @ given)
    wanted = given[chosen] + (ours - beside[chosen]) @ slopes
    positions = np.empty((n, d), np.intp, order="F")
    positions[:] = np.arange(n)[:, None]
    for place, k in enumerate(moved):
        rng = generators[k]
        positions[random_order(wanted[:, place], rng), k] = random_order(values[:, k], rng)
    return positions, searched[chosen]


def _scores(values: NDArray[np.float64], generators: Sequence[np.random.Generator]) -> Scores:
    """Normal scores of every column, equal values in random order: in ranks, tails would be too close to each other."""
    from scipy.special import ndtri

    n, d = values.shape
    grid = ndtri((np.arange(n) + 0.5) / n)

    def column(k: int) -> Scores:
        scores = np.empty(n)
        scores[random_order(values[:, k], generators[k])] = grid
        return scores

    return np.stack(threads(column, range(d), -1), axis=1)


def _weights(fixed: Scores, moved: Scores) -> Scores:
    """How much the moved variables depend on each fixed one, from products of polynomials of ranks, relative to the largest."""
    m = len(fixed)
    products = (_polynomials(fixed).T @ _polynomials(moved)) / m
    strength = (products**2 - 1.0 / m).sum(axis=1).reshape(-1, _POLYNOMIALS).sum(axis=1)  # chance alone gives 1/m
    if strength.max() <= 0.0:
        return np.ones(len(strength))
    weights: Scores = np.maximum(np.sqrt(np.maximum(strength / strength.max(), 0.0)), _LEAST_WEIGHT)
    return weights


def _polynomials(scores: Scores) -> Scores:
    """Orthonormal polynomials of the ranks behind normal scores; those of a variable stand side by side."""
    from scipy.special import ndtr

    return np.concatenate([polynomials(ndtr(column), _POLYNOMIALS) for column in scores.T]).T


def _neighbours(ours: Scores, theirs: Scores, weights: Scores, rng: np.random.Generator) -> Order:
    """For each of our rows, one of the nearest of theirs."""
    from scipy.spatial import cKDTree

    count = min(NEIGHBOURS, len(theirs))
    nearest = cKDTree(theirs * weights).query(ours * weights, k=count, workers=-1)[1].reshape(len(ours), count)
    return nearest[np.arange(len(ours)), rng.integers(0, count, len(ours))]
