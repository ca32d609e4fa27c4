"""The margins of one sample joined with the dependence of another, through ranks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.lazy import lazy

TIE_BREAKINGS = 8  # random orders of tied values, and places within ranks, that results are averaged over


FEW_TIES = 0.01  # the share of tied rows below which their order does not matter


def tied_share(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of rows whose value is that of the one before, for sorted variables (variable, row)."""
    return np.mean(np.diff(values, axis=1) == 0.0, axis=1)


def random_order(column: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """The positions that sort a column, equal values in random order.

    Ties have no order of their own. If they were broken by row, equal values of two columns would be ordered alike, and
    independent columns of few values would become dependent.

    Parameters
    ----------
    column : array (n,)
        Finite values.
    rng : Generator
        Called once, whether there are ties or not.

    Returns
    -------
    array (n,)
        ``column[order]`` is sorted.
    """
    shuffled = rng.permutation(column.size)
    order: NDArray[np.intp] = shuffled[np.argsort(column[shuffled], kind="stable")]
    return order


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a sample, with repetitions: a resample, or the sample itself.

    Attributes
    ----------
    rows : array (m,)
        The rows, in any order.
    copies : array (m,)
        How many equal ones come before each.
    counts : array (n,)
        How often each row of the sample occurs.
    """

    rows: NDArray[np.int32]
    copies: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, rows: NDArray[np.intp], n: int) -> "Rows":
        """These rows of a sample that has n."""
        some = rows.astype(np.int32)  # half the memory of the default: caches hold it
        counts, copies = np.empty(n, np.int32), np.empty(some.size, np.int32)
        kernels.count_copies(some, counts, copies)
        return cls(some, copies, counts)

    @classmethod
    def all(cls, n: int) -> "Rows":
        """Every row once."""
        return cls(np.arange(n, dtype=np.int32), np.zeros(n, np.int32), np.ones(n, np.int32))


@dataclass(frozen=True, eq=False)
class SortedSample:
    """The variables of a sample with the order of their values: whose margins or whose dependence others can take.

    Attributes
    ----------
    columns : array (variable, row)
        The values.
    values : array (variable, row)
        The values of each variable, sorted.
    orders : array (breaking, variable, row)
        The rows that sort each variable. If there are more than a few ties, in several ways, each with ties in another random
        order.
    """

    columns: NDArray[np.float64]
    values: NDArray[np.float64]
    orders: NDArray[np.int32]

    @classmethod
    def of(cls, columns: NDArray[np.float64], rng: np.random.Generator) -> "SortedSample":
        """Sort every variable (variable, row); ties are broken at random, several times."""
        first = _orders(columns, rng)
        values = np.take_along_axis(columns, first, axis=1)
        orders = [first]
        if tied_share(values).max() > FEW_TIES:
            orders += [_orders(columns, rng) for _ in range(TIE_BREAKINGS - 1)]
        return cls(columns, values, np.stack(orders))

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.columns.shape[1]

    @lazy
    def signs(self) -> NDArray[np.float64]:
        """Whether each variable rises or falls with the first, by Spearman's rho."""
        ranks = np.empty(self.columns.shape)
        np.put_along_axis(ranks, self.orders[0].astype(np.intp), np.arange(self.n, dtype=np.float64)[None], axis=1)
        centred = ranks - ranks.mean(axis=1, keepdims=True)
        return np.sign(centred @ centred[0])

    @property
    def breakings(self) -> int:
        """In how many ways ties are broken; 1 without ties."""
        return len(self.orders)


def ways(own: SortedSample, other: SortedSample) -> int:
    """How many random combinations of two samples results are averaged over: 1 if nothing is random."""
    return TIE_BREAKINGS if own.n != other.n else max(own.breakings, other.breakings)


def _orders(columns: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int32]:
    return np.stack([random_order(column, rng).astype(np.int32) for column in columns])


def joined(
    margins: SortedSample,
    dependence: SortedSample,
    rng: np.random.Generator,
    rows: tuple[Rows, Rows] | None = None,
    breaking: int = 0,
    out: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Rows with the margins of one sample and the dependence of another, (variable, row).

    Every row of the second sample is replaced by the values that have its ranks in the first: F^-1((R - 1 + t)/m) for rank R
    of m, with t uniform between 0 and 1 (1 - t in variables that fall as the first one rises). By Sklar's theorem this has the
    margins of the first sample and the copula of the second. If m is a multiple of the first sample's size, t does not matter,
    and the margins are exact. Otherwise they are right on average: with 1/2 instead of t, values next to each other would be
    taken unequally often, in every resample alike, and the mean of a sum would seem to depend on dependence.

    Parameters
    ----------
    margins : SortedSample
        The sample whose values are taken.
    dependence : SortedSample
        The sample whose ranks are taken.
    rng : Generator
        Source of t, one for each row; not called if the (resampled) samples have the same size.
    rows : (Rows, Rows), optional
        Resamples of both; by default every row once.
    breaking : int
        Which of the orders of tied values is taken, counted round.
    out : array (variable, row), optional
        Where to write them: memory that was used before takes a third of the time of fresh memory.

    Returns
    -------
    array (variable, row)
        As many rows as the (resampled) second sample has, in their order.
    """
    donor, host = rows or (Rows.all(margins.n), Rows.all(dependence.n))
    out = np.empty((len(margins.columns), host.rows.size)) if out is None else out
    scratch = np.empty(donor.rows.size + kernels.SPARE), np.empty(dependence.n, np.int32)
    rising = np.empty(0) if donor.rows.size == host.rows.size else rng.random(host.rows.size)
    falling = 1.0 - rising
    orders = dependence.orders[breaking % dependence.breakings]
    for k, column in enumerate(out):
        within = rising if not rising.size or dependence.signs[k] >= 0.0 else falling
        donated = margins.values[k], margins.orders[0, k], donor.counts
        kernels.transplant(*donated, host.rows, host.copies, orders[k], host.counts, within, *scratch, column)
    return out
