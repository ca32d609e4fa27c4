"""Form of pairs in which a column has levels: categories without an order, flags, and ordered columns of few values.

Ranks of such a column are not uniform, and categories without an order have none. A pair is a table of counts instead, level by
level or level by bin of ranks, and its coefficients are a_jk = E[f_j(X) g_k(Y)] with functions that are orthonormal at the
shares of the levels:

- categories without an order: f_c = (1{X = c} - p_c)/sqrt(p_c), one for each level. For two such columns the squares of all
  coefficients add up to Pearson's phi^2, the chi-square statistic over n.
- ordered levels: polynomials of the mid-distribution P(X < x) + P(X = x)/2, made orthonormal (LP moments of Mukhopadhyay and
  Parzen, 2020); a column of m levels has m - 1 of them.
- columns of many values: Legendre's polynomials of ranks, as in `form`.

**Common shares.** Coefficients depend on how common the levels are: of two tables with the same dependence, the one with rarer
levels has other coefficients. Both samples are therefore brought to the same shares p, the mean of their own. A table of two
columns with levels is raked (Deming and Stephan, 1940), which keeps all odds ratios; in a table of a column with levels and one
of ranks, each level keeps its distribution of the other column and gets the weight p_c / p_c(own), and ranks are taken in the
weighted sample. So the basis is the same in both samples, and its error cancels in the difference to first order: influence
values are those at known shares. Raking leaves them as the residual of f_j g_k from its best additive approximation, times the
ratio of raked and observed frequency; for ranks, they are centred within each level.

Where a rule binds the columns (every city has one country), other shares of one column are other shares of the other, and a
table that breaks the rule would be raked to one that does, or the other way round. If raking fills places that a sample has
hardly any rows in, both are compared at their own shares.

Deming, W. E. and Stephan, F. F. (1940). On a least squares adjustment of a sampled frequency table when the expected marginal
totals are known. Annals of Mathematical Statistics 11, 427-444.

Mukhopadhyay, S. and Parzen, E. (2020). Nonparametric universal copula modeling. Applied Stochastic Models in Business and
Industry 36, 77-94.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from copula_discrepancy.estimate.basis import polynomials, slopes

Array = NDArray[np.float64]

_ROUNDS, _CLOSE = 200, 1e-9  # of raking: each costs a few microseconds, and most tables need a dozen
# Raking a table with empty cells may not converge. A millionth of a row in each cell makes it do so, and moves no coefficient
# by more than its rounding to six digits.
_PSEUDOCOUNT = 1e-6
# Rows that a table with empty places gets, spread as if the columns were independent. Where one column nearly determines the
# other, the common shares of both samples may ask for rows in places that one sample has empty: without any there, raking
# fills them from the pseudocount, and their error is 0.
_SPREAD = 0.5
# a place with fewer rows that raking gives many times as many, and the share of such places from which shares are not common
_FORCED, _FORCED_ROWS, _FORCED_SHARE = 20.0, 10.0, 0.003
_TINY = 1e-300


class Influence(NamedTuple):
    """Coefficients of one table, (cell,), and influence values in each place of it, (first level, second level, cell).

    `frequency` is the share of rows in each place that influence values are averaged with.
    """

    coefficients: Array
    values: Array
    frequency: Array

    @property
    def covariance(self) -> Array:
        """The covariance of the coefficients times the number of rows, (cell, cell)."""
        flat, weight = self.values.reshape(-1, self.coefficients.size), self.frequency.reshape(-1)
        inside = weight > 0.0
        kept = flat[inside]
        found: Array = kept.T @ (kept * weight[inside, None])
        return found

    @property
    def kurtosis(self) -> Array:
        """The fourth moment of the influence values of each cell over the square of the second."""
        squares = self.values * self.values
        second = np.tensordot(self.frequency, squares, axes=2)
        fourth = np.tensordot(self.frequency, squares * squares, axes=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(second > 0.0, fourth / second**2, math.inf))


def with_boundaries(found: Influence, strata: Sequence[NDArray[np.int64]]) -> Influence:
    """Influence values of levels of which some are divided by rank within a stratum, such as the rows above a spike at 0.

    A row in such a stratum moves the boundaries between its levels by (1{row below} - t), t the share of the stratum below the
    boundary: rows there change from the level below to the one above. What the second column is at a boundary is taken as the
    mean of the two levels.

    Parameters
    ----------
    found : Influence
        With fixed levels.
    strata : two arrays of int
        The stratum of each level of either column; levels of one stratum are consecutive and divided by rank.
    """
    values = np.array(found.values)
    for axis, groups in enumerate(strata):
        frequency = found.frequency if axis == 0 else found.frequency.T
        fixed = found.values if axis == 0 else found.values.transpose(1, 0, 2)
        moved = np.zeros((groups.size, found.coefficients.size))
        share = frequency.sum(axis=1)
        within = frequency / np.maximum(share, _TINY)[:, None]
        for stratum in np.unique(groups):
            (levels,) = np.nonzero(groups == stratum)
            below = np.cumsum(share[levels]) / max(float(share[levels].sum()), _TINY)
            for k, level in enumerate(levels[:-1].tolist()):
                there = _between(within[level], within[level + 1])
                shift = there @ (fixed[level + 1] - fixed[level])
                moved[levels] += ((np.arange(levels.size) <= k) - below[k])[:, None] * shift
        values += moved[:, None] if axis == 0 else moved[None]
    return found._replace(values=values)


def _between(below: Array, above: Array) -> Array:
    """The distribution half way between those of two levels: of two normal ones with the same spread, that of the mean."""
    both = np.sqrt(below * above)
    total = float(both.sum())
    return both / total if total > 0.0 else 0.5 * (below + above)


def contrasts(shares: Array) -> Array:
    """The functions of categories without an order, (level, function): one for each level, or one for both of two."""
    if shares.size == 2:
        return ordered_functions(shares, 1)
    return np.asarray((np.eye(shares.size) - shares) / np.sqrt(shares), np.float64)


def ordered_functions(shares: Array, order: int) -> Array:
    """Orthonormal polynomials of the mid-distribution of ordered levels, (level, function), at most one less than levels."""
    count = min(order, shares.size - 1)
    middle = np.cumsum(shares) - 0.5 * shares
    powers = legendre.legvander(2.0 * middle - 1.0, count)
    root = np.sqrt(shares)[:, None]
    q, r = np.linalg.qr(powers * root)
    functions = q / root * np.sign(np.diag(r))
    return np.ascontiguousarray(functions[:, 1:])


def raked(table: Array, rows: Array, columns: Array) -> Array:
    """A table of frequencies with the given margins and the odds ratios of `table` (iterative proportional fitting)."""
    total = table.sum()
    found: Array = (table + _PSEUDOCOUNT) / (total + _PSEUDOCOUNT * table.size)
    for _ in range(_ROUNDS):
        found = found * (rows / found.sum(axis=1))[:, None]
        found = found * (columns / found.sum(axis=0))
        if np.abs(found.sum(axis=1) - rows).max() < _CLOSE:
            break
    return found


def additive_residuals(joint: Array, first: Array, second: Array) -> Array:
    """f_j(x) g_k(y) less its best approximation by a function of x and one of y under `joint`: (level, level, cell)."""
    c, d = joint.shape
    products = (first[:, None, :, None] * second[None, :, None, :]).reshape(c, d, -1)
    weighted = joint[:, :, None] * products
    normal = np.block([[np.diag(joint.sum(axis=1)), joint], [joint.T, np.diag(joint.sum(axis=0))]])
    right = np.concatenate([weighted.sum(axis=1), weighted.sum(axis=0)])
    solved = np.linalg.pinv(normal, hermitian=True) @ right  # a constant may be in either function
    found: Array = products - solved[:c, None] - solved[None, c:]
    return found


def _spread(table: Array) -> Array:
    """A table without empty places: with a part of a row more, which has the table's margins and no dependence."""
    rows, columns, total = table.sum(axis=1), table.sum(axis=0), table.sum()
    found: Array = table + _SPREAD * np.outer(rows, columns) / total**2
    return found


def _is_forced(table: Array, joint: Array) -> bool:
    """Whether raking puts much of a table into places that it has hardly any rows in.

    A rule, such as that all Swiss prices are in francs, leaves no other shares of currencies than those of countries. A table
    that breaks the rule has other shares, and raked to the same ones, both would break it.
    """
    frequency = table / table.sum()
    return float(joint[(joint > _FORCED * frequency) & (table < _FORCED_ROWS)].sum()) > _FORCED_SHARE


def _at_own_shares(tables: Sequence[Array], functions: Sequence[Array]) -> tuple[list[Influence], list[Influence]]:
    """The influence on covariances of the functions at each sample's own shares, and at the frequencies of both together."""
    pooled = np.sum(tables, axis=0) / np.sum([table.sum() for table in tables])
    found = []
    for frequency in (*(table / table.sum() for table in tables), pooled):
        centred = [part - margin @ part for part, margin in zip(functions, _margins(frequency), strict=True)]
        products = (centred[0][:, None, :, None] * centred[1][None, :, None, :]).reshape(*frequency.shape, -1)
        covariances = np.tensordot(frequency, products, axes=2)
        found.append(Influence(covariances, products - covariances, frequency))
    *own, both = found
    return own, [both._replace(coefficients=one.coefficients) for one in own]


def _margins(frequency: Array) -> tuple[Array, Array]:
    return frequency.sum(axis=1), frequency.sum(axis=0)


def both_levels(
    tables: Sequence[Array], functions: Sequence[Array], shares: Sequence[Array]
) -> tuple[list[Influence], list[Influence]]:
    """The influence of two columns with levels in one or two samples: at each one's frequencies, and at their mean.

    Parameters
    ----------
    tables : sequence of array (level, level)
        Counts of each sample.
    functions : two arrays (level, function)
        Orthonormal functions of the two columns at the common shares.
    shares : two arrays (level,)
        The common shares.

    Returns
    -------
    two lists of Influence
        For sizes and their errors; and for tests, with the frequencies that both samples have if they do not differ: a place
        that is empty in one sample by chance has no variance of its own.
    """
    counted = tables
    if min(float(table.min()) for table in tables) <= 0.0:
        tables = [_spread(table) for table in tables]
    joints = [raked(table, *shares) for table in tables]
    if any(_is_forced(table, joint) for table, joint in zip(counted, joints, strict=True)):
        return _at_own_shares(counted, functions)
    average = np.mean(joints, axis=0)
    own: list[Influence] = []
    null: list[Influence] = []
    for table, joint in zip(tables, joints, strict=True):
        observed = table / table.sum()
        coefficients = np.einsum("xy,xj,yk->jk", joint, *functions).ravel()
        for at, found in ((joint, own), (average, null)):
            frequency = observed if at is joint else raked(at, observed.sum(axis=1), observed.sum(axis=0))
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.where(frequency > 0.0, at / frequency, 0.0)
            residuals = additive_residuals(at, *functions) * ratio[:, :, None]
            found.append(Influence(coefficients, residuals, frequency))
    return own, null


def levels_and_ranks(table: Array, functions: Array, shares: Array, order: int) -> Influence:
    """The influence of a column with levels and one of ranks: (level, bin of ranks) in one sample.

    Parameters
    ----------
    table : array (level, bin)
        Counts; bins are in the order of the ranks.
    functions : array (level, function)
        Orthonormal functions of the levels at the common shares.
    shares : array (level,)
        The common shares.
    order : int
        The number of polynomials of ranks.
    """
    counts = table.sum(axis=1, keepdims=True)
    within = table / counts  # the distribution of the bins in each level
    weight = shares * counts.sum() / counts[:, 0]
    joint = within * shares[:, None]
    margin = joint.sum(axis=0)
    ranks = np.cumsum(margin) - 0.5 * margin
    phi, slope = polynomials(ranks, order), slopes(ranks, order)  # (polynomial, bin)
    sums = functions.T @ joint  # (function, bin)
    coefficients = sums @ phi.T  # (function, polynomial)
    means = within @ phi.T  # (level, polynomial)
    centred = phi.T[None] - means[:, None]  # (level, bin, polynomial)
    direct = functions[:, None, :, None] * centred[:, :, None, :]
    # a row moves the ranks above it: sum over bins b' of (1{b < b'} + 1{b = b'}/2 - F_e(b')) slope(b') sums(b')
    terms = sums[:, None, :] * slope[None]  # (function, polynomial, bin)
    above = np.cumsum(terms[..., ::-1], axis=2)[..., ::-1] - 0.5 * terms
    below = np.cumsum(within, axis=1) - 0.5 * within
    expected = np.einsum("eb,ckb->eck", below, terms)
    moved = above.transpose(2, 0, 1)[None] - expected[:, None]
    few = np.sqrt(counts[:, 0] / np.maximum(counts[:, 0] - 1.0, 1.0))  # means are those of the level's own rows
    values = ((weight * few)[:, None, None, None] * (direct + moved)).reshape(*table.shape, -1)
    return Influence(coefficients.ravel(), values, table / counts.sum())


def together(tables: Sequence[Array], shares: Array) -> list[Array]:
    """Tables (level, bin of ranks) of each sample as they are expected if both have the same distribution in each level.

    Bins of a sample are those of its own ranks; they are brought to ranks at the common shares, which both samples have.
    """
    bins = tables[0].shape[1]
    counts = [table.sum(axis=1, keepdims=True) for table in tables]
    pooled = np.zeros_like(tables[0])
    for table, count in zip(tables, counts, strict=True):
        margin = shares @ (table / count)
        ranks = np.cumsum(margin) - 0.5 * margin
        np.add.at(pooled.T, np.minimum((ranks * bins).astype(np.int64), bins - 1), table.T)
    within = pooled / pooled.sum(axis=1, keepdims=True)
    return [count * within for count in counts]
