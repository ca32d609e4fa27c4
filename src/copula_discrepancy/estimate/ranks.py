"""Pseudo-observations, Kendall's tau and the concordance of each draw, all from ranks."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import one_of
from copula_discrepancy._core.errors import DependenceWarning, InputError, enough_memory
from copula_discrepancy._core.lazy import lazy
from copula_discrepancy._core.tensors.device import Device, checked_device
from copula_discrepancy._core.warn import warn
from copula_discrepancy._core.workers import checked_jobs, threads
from copula_discrepancy.data.draws import Draws, as_column, numeric_draws, require_varying
from copula_discrepancy.data.precision import Precision
from copula_discrepancy.data.resident import brought_home

BINS = 16  # bins of a variable's ranks, for a first comparison of families
VARIANTS = ("b", "a")
TAIL_SHARE = 0.1  # by default a tail is the lowest or highest tenth: at n = 500 about 25 joint draws


def edge_width(n: int, tail: float) -> float:
    """The distance from the edge of a tail within which draws count as next to it, as a share of all."""
    return min(1.0 / math.sqrt(n), 0.5 * tail)


@dataclass(frozen=True, eq=False)
class RankedColumn:
    """A column's order, its ranks (how many draws are smaller) and its number of tied pairs."""

    order: NDArray[np.int32]
    rank: NDArray[np.int32]
    tied_pairs: int

    @property
    def n(self) -> int:
        """Number of draws."""
        return self.rank.size

    @property
    def varies(self) -> bool:
        """Whether not all draws are equal."""
        return self.tied_pairs < self.n * (self.n - 1) // 2

    @lazy
    def doubled_mid_ranks(self) -> NDArray[np.int64]:
        """Twice the mid-rank, an integer between 2 and 2n; without ties 2, 4, ..., 2n."""
        doubled = 2 * (self.rank.astype(np.int64) + 1)
        if self.tied_pairs:
            doubled += self.group_sizes() - 1
        return doubled

    def tail_share(self, high: bool, tail: float) -> float:
        """The share of draws in the low or the high tail."""
        whole = 2 * (self.n + 1)
        depth = whole - self.doubled_mid_ranks if high else self.doubled_mid_ranks
        return float(np.mean(depth <= tail * whole))

    @property
    def bins(self) -> NDArray[np.uint8]:
        """The bin of every draw, out of `BINS` equal ones, by its mid-rank."""
        return ((self.doubled_mid_ranks - 1) * BINS // (2 * self.n)).astype(np.uint8)

    @property
    def largest_group(self) -> int:
        """Number of draws that share the most frequent value."""
        return int(np.bincount(self.rank).max()) if self.tied_pairs else 1

    def group_sizes(self) -> NDArray[np.int64]:
        """Number of draws that share each draw's value, itself included."""
        return np.bincount(self.rank, minlength=self.n)[self.rank]


def rank_column(column: NDArray[np.float64]) -> RankedColumn:
    """Rank a finite, contiguous float64 vector."""
    if not column.flags.writeable:  # read-only arrays are a different type in numba: a copy is cheaper than compiling again
        column = column.copy()
    order, rank, tied_pairs = kernels.rank_column(column)
    return RankedColumn(order, rank, int(tied_pairs))


def pseudo_observations(draws: Any) -> NDArray[np.float64]:
    """Mid-ranks divided by n + 1, column by column: draws mapped to the open unit square, with the same dependence.

    Parameters
    ----------
    draws : array (n, d) or (chain, draw, d), or anything `as_draws` accepts
        Chains are ranked together.

    Returns
    -------
    array
        An array with the shape of the input and values strictly between 0 and 1.

    Raises
    ------
    InputError
        For draws that `as_draws` rejects: NaN and infinite values are counted and located, never dropped.

    See Also
    --------
    kendall_tau : The strength of dependence of these ranks.
    fit : Fit a copula family to them.

    Notes
    -----
    u_i = R_i / (n + 1) with R_i the rank of draw i (Genest, Ghoudi and Rivest, 1995): n + 1 instead of n keeps the largest draw
    away from the edge, where densities may be infinite. Ties share the mean of their ranks; a constant column is 0.5
    throughout. Increasing transforms of a column change nothing.

    References
    ----------
    Genest, C., Ghoudi, K. and Rivest, L.-P. (1995). A semiparametric estimation procedure of dependence parameters in
    multivariate families of distributions. Biometrika 82, 543-552.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.pseudo_observations([[3.0, 10.0], [1.0, 30.0], [3.0, 20.0]])
    array([[0.625, 0.25 ],
           [0.25 , 0.75 ],
           [0.625, 0.5  ]])
    """
    given = numeric_draws(draws)
    n = given.n_chains * given.n_draws
    columns = [rank_column(given.column(k)).doubled_mid_ranks / (2.0 * (n + 1)) for k in range(given.n_variables)]
    result = np.stack(columns, axis=-1) if columns else np.empty((n, 0))
    in_chains = given.chained or isinstance(draws, Draws)
    return result.reshape(given.values.shape if in_chains else (n, given.n_variables))


def kendall_tau(x: Any, y: Any, *, variant: str = "b") -> float:
    """Kendall's rank correlation of two samples, in O(n log n) and exact with ties.

    tau-b = (P - Q) / sqrt((N - X)(N - Y)) with P concordant and Q discordant pairs, N = n(n-1)/2 pairs in all, X and Y of them
    tied in x and in y (Kendall, 1945); tau-a divides by N instead. Without ties both agree.

    Parameters
    ----------
    x, y : array of n numbers
        Two variables, draw by draw.
    variant : {"b", "a"}
        The variant of tau.

    Returns
    -------
    float
        A number between -1 and 1. It is 1 if every pair is concordant; with ties tau-a cannot reach 1, and tau-b can only if
        the same pairs are tied in both variables.

    Raises
    ------
    InputError
        For NaN, infinite values, a constant variable, or unequal lengths.

    See Also
    --------
    kendall_matrix : Every pair of variables at once.
    concordance : The contribution of each draw to tau.
    summary : Tau with its standard error, also for Markov chains.

    References
    ----------
    Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika 33, 239-251.

    Knight, W. R. (1966). A computer method for calculating Kendall's tau with ungrouped data. Journal of the American
    Statistical Association 61, 436-439.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666666666666666
    >>> cd.kendall_tau([1, 1, 2, 3], [1, 2, 2, 3])
    0.8
    """
    a, b = _paired_columns(x, y)
    return tau_from_ranks(a, b, variant=variant)


def tau_from_ranks(a: RankedColumn, b: RankedColumn, *, variant: str = "b") -> float:
    """Kendall's tau of two ranked columns."""
    one_of(variant, "variant", VARIANTS)
    total = kernels.concordance_total(a.order, a.rank, a.tied_pairs, b.order, b.rank, b.tied_pairs)
    return float(tau_from_total(int(total), a.n, a.tied_pairs, b.tied_pairs, variant))


def concordance(x: Any, y: Any) -> NDArray[np.float64]:
    """Mean concordance of each draw with all others, h_i = sum over j of sign((x_i-x_j)(y_i-y_j)) / (n-1), in O(n log n).

    The mean of the h_i is Kendall's tau-a; 2 (h_i - tau) is the influence of draw i on it.

    Parameters
    ----------
    x, y : array of n numbers
        Two variables, draw by draw.

    Returns
    -------
    array (n,)
        One number between -1 and 1 per draw. A pair that is tied in x or in y counts as 0.

    Raises
    ------
    InputError
        For NaN, infinite values, a constant variable, or unequal lengths.

    See Also
    --------
    kendall_tau : Their mean, without ties.
    tau_influence_bound : The largest possible influence of a draw.
    long_run_variance : Standard errors from influence values.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.concordance([1, 2, 3], [1, 3, 2])
    array([1., 0., 0.])
    """
    a, b = _paired_columns(x, y)
    counts = kernels.concordance_counts(a.order, a.rank, a.tied_pairs, b.order, b.rank, b.tied_pairs)
    return np.asarray(counts / (a.n - 1), dtype=np.float64)


@enough_memory
def kendall_matrix(draws: Any, *, variant: str = "b", n_jobs: int | None = -1, device: Any = "cpu") -> NDArray[np.float64]:
    """Kendall's tau of every pair of variables, a symmetric (d, d) matrix with ones on the diagonal.

    Each variable is ranked once; the pairs run in parallel.

    Parameters
    ----------
    draws : array (n, d) or (chain, draw, d), or anything `as_draws` accepts
        Chains are pooled.
    variant : {"b", "a"}
        The variant of tau; the diagonal of tau-a is below one if a variable has ties.
    n_jobs : int, optional
        Number of joblib workers, threads unless a backend is configured; -1 uses every core, None the setting of
        `joblib.parallel_config`.
    device : {"cpu", "cuda", "auto"}, "cuda:1", or torch.device
        Where pairs are counted, see `pairwise`; "auto" warns if it finds no graphics processor.

    Returns
    -------
    array (d, d)
        The matrix in the order of the variables; the same numbers as from `kendall_tau` pair by pair, on every device.

    Raises
    ------
    InputError
        For draws that `as_draws` rejects, including NaN and infinite values, and for a constant variable, with its name; for a
        device that is not there, or another than the one that holds the draws.

    See Also
    --------
    kendall_tau : One pair, and the formula.
    summary : The same taus with standard errors, effective draws and R-hat.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.kendall_matrix([[1, 1, 3], [2, 3, 2], [3, 2, 1]])[0]
    array([ 1.        ,  0.33333333, -1.        ])
    """
    one_of(variant, "variant", VARIANTS)
    place, notes = checked_device(device)
    for note in notes:
        warn(note)
    precision = Precision.of(draws)
    given = numeric_draws(brought_home(draws, place, "draws"))
    d, n = given.n_variables, given.n_chains * given.n_draws
    first, second = np.triu_indices(d, 1)
    totals, ties = _totals(given, n_jobs) if place is None else _totals_on(place, given)
    for remark in precision.remarks(ties, lambda k: rank_column(given.column(k)).group_sizes(), given.names, "draws"):
        for sentence in remark:
            warn(DependenceWarning(sentence))
    matrix = np.empty((d, d))
    matrix[first, second] = matrix[second, first] = tau_from_total(totals, n, ties[first], ties[second], variant)
    np.fill_diagonal(matrix, 1.0 if variant == "b" else 1.0 - ties / (n * (n - 1) // 2))
    return matrix


def _totals(given: Draws, n_jobs: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Concordant minus discordant pairs of draws of every pair of variables, and tied pairs of every variable."""
    d, n = given.n_variables, given.n_chains * given.n_draws
    orders, ranks, ties = np.empty((d, n), np.int32), np.empty((d, n), np.int32), np.empty(d, np.int64)
    for k in range(d):
        column = given.column(k)
        require_varying(column, given.names[k])
        ranked = rank_column(column)
        orders[k], ranks[k], ties[k] = ranked.order, ranked.rank, ranked.tied_pairs
    first, second = np.triu_indices(d, 1)
    totals = np.empty(first.size, np.int64)
    _fill_totals(orders, ranks, ties, first, second, totals, n_jobs)
    return totals, ties


def _totals_on(device: Device, given: Draws) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """`_totals`, counted on a device."""
    from copula_discrepancy.estimate.device_table import DeviceColumns  # which imports PyTorch

    with device.turn():
        columns = DeviceColumns.of(given, device)
        n = columns.n
        for k in np.flatnonzero(columns.ties == n * (n - 1) // 2)[:1].tolist():
            require_varying(given.column(k), given.names[k])
        return columns.totals(), columns.ties


def _fill_totals(
    orders: NDArray[np.int32],
    ranks: NDArray[np.int32],
    ties: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    totals: NDArray[np.int64],
    n_jobs: int | None,
) -> None:
    def fill(part: slice) -> NDArray[np.int64]:
        out = np.empty(first[part].size, np.int64)
        kernels.concordance_totals(orders, ranks, ties, first[part], second[part], out)
        return out

    jobs = checked_jobs(n_jobs)
    if first.size * orders.shape[1] < 200_000:  # about a millisecond of work; starting threads takes longer
        totals[:] = fill(slice(None))
        return
    import joblib

    # kernels release the interpreter lock, so threads share the ranks without copying them
    workers = joblib.effective_n_jobs(jobs)
    edges = np.linspace(0, first.size, 4 * workers + 1).astype(int)
    parts = [slice(start, stop) for start, stop in pairwise(edges) if stop > start]
    for part, result in zip(parts, threads(fill, parts, jobs), strict=True):
        totals[part] = result


def _paired_columns(x: Any, y: Any) -> tuple[RankedColumn, RankedColumn]:
    a, b = as_column(x, "x"), as_column(y, "y")
    if a.size != b.size:
        raise InputError(f"x and y must have the same length, got {a.size} and {b.size}")
    return rank_column(a), rank_column(b)


def tau_from_total(total: Any, n: int, ties_x: Any, ties_y: Any, variant: str = "b") -> Any:
    """Tau from concordant minus discordant pairs; all counts are below 2**53, so floats represent them exactly."""
    pairs = n * (n - 1) // 2
    if variant == "a":
        return total / pairs
    a, b = np.subtract(pairs, ties_x, dtype=np.float64), np.subtract(pairs, ties_y, dtype=np.float64)
    # a * b exceeds 2**64 from n = 10**5 on, so the product is a float; if a = b the root is exact
    return total / np.where(a == b, a, np.sqrt(a * b))
