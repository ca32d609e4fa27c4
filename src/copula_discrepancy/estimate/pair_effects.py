"""What dependence does to sums, differences and joint extremes of all pairs, with standard errors from resamples."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core import kernels
from copula_discrepancy._core.checks import spawned
from copula_discrepancy._core.workers import threads
from copula_discrepancy.estimate.coupling import Rows, SortedSample, joined, ways
from copula_discrepancy.estimate.decomposition import CHUNK, NONE_SEEN, OWN, REPAIRED, contradiction
from copula_discrepancy.estimate.resampling import BlockResampling

# What is looked at in every pair, in the order of the kernel's numbers, and whether it is a probability
EFFECTS: dict[str, bool] = {
    "sum spread": False,
    "difference spread": False,
    "sum low": True,
    "sum high": True,
    "difference low": True,
    "difference high": True,
    "both low": True,
    "both high": True,
    "low high": True,
    "high low": True,
}
_AT_ONCE = 2**22  # values of sums that are held to find their quantiles

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairEffects:
    """Ten numbers of every pair in the four combinations of margins and dependence.

    Attributes
    ----------
    points : array (pair, effect, 4)
        Their values: in the draws, the draws' margins with the reference's dependence, the reference's margins with the draws'
        dependence, and the reference.
    se : array (pair, effect)
        Standard errors of what is due to dependence, the first value minus the second; NaN for pairs that were not resampled.
    bias : array (pair, effect)
        By how much these are off on average, as in `decomposition`; p-values subtract it, and standard errors include it.
    lines : array (pair, 4)
        The reference's quantiles of sum (low, high) and difference (low, high).
    tail : float
        The share of the reference below "low", and above "high".
    """

    points: Floats
    se: Floats
    bias: Floats
    lines: Floats
    tail: float

    @property
    def dependence(self) -> Floats:
        """What is due to dependence, at the margins of the draws, (pair, effect)."""
        return self.points[:, :, OWN] - self.points[:, :, REPAIRED]

    @property
    def sizes(self) -> Floats:
        """The same relative to the value with the right dependence, of probabilities relative to the tail's share.

        A probability of 1.7% that should be 0.1% is a large ratio but a small effect.
        """
        units = np.where([*EFFECTS.values()], self.tail, self.points[:, :, REPAIRED])
        return np.divide(self.dependence, units, out=np.zeros_like(units), where=units > 0.0)


def compare_pairs(
    own: SortedSample,
    other: SortedSample,
    pairs: NDArray[np.intp],
    resampling: tuple[BlockResampling, BlockResampling],
    *,
    tail: float,
    most: int,
    n_resamples: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    tick: Callable[[int], None],
) -> PairEffects:
    """Compare pairs of variables of two samples, whose values are in comparable units.

    Parameters
    ----------
    own, other : SortedSample
        Draws and reference.
    pairs : array (pair, 2)
        The variables of each pair.
    resampling : (BlockResampling, BlockResampling)
        How rows are resampled.
    tail : float
        The share of the reference below "low", and above "high".
    most : int
        If there are more pairs, only so many, those with the largest effects, are resampled.
    n_resamples, rng, n_jobs, tick
        As in `decomposition.combine`.

    Returns
    -------
    PairEffects
        For all pairs, in their order.
    """
    low, high = np.quantile(other.columns, [tail, 1.0 - tail], axis=1)
    lines = _lines(other.columns, pairs, tail)

    def computed(some: NDArray[np.intp], rows: tuple[Rows, Rows] | None, breaking: int, source: np.random.Generator) -> Floats:
        """The numbers of some pairs in the four combinations, (pair, effect, 4)."""
        four = (
            own.columns if rows is None else np.ascontiguousarray(own.columns[:, rows[0].rows]),
            joined(own, other, source, rows, breaking),
            joined(other, own, source, None if rows is None else rows[::-1], breaking),
            other.columns if rows is None else np.ascontiguousarray(other.columns[:, rows[1].rows]),
        )
        found = np.empty((4, some.size, len(EFFECTS)))
        first, second = np.ascontiguousarray(pairs[some].T)
        for columns, out in zip(four, found, strict=True):
            kernels.pair_effects(columns, first, second, low, high, lines[some], out)
        return found.transpose(1, 2, 0)

    every = np.arange(len(pairs))
    points = np.mean([computed(every, None, k, rng) for k in range(ways(own, other))], axis=0)
    found = PairEffects(points, np.full(points.shape[:2], np.nan), np.zeros(points.shape[:2]), lines, tail)
    chosen = every
    if len(pairs) > most:
        chosen = np.sort(np.argsort(-np.abs(found.sizes).max(axis=1), kind="stable")[:most])

    def resampled(task: tuple[int, int, np.random.Generator]) -> Floats:
        """Sums of the deviations of resamples from the estimate, and of their squares, (2, pair, effect)."""
        begin, end, source = task
        sums = np.zeros((2, chosen.size, len(EFFECTS)))
        for k in range(begin, end):
            rows = Rows.of(resampling[0].rows(source), own.n), Rows.of(resampling[1].rows(source), other.n)
            values = computed(chosen, rows, k, source)
            deviations = values[:, :, OWN] - values[:, :, REPAIRED] - found.dependence[chosen]
            sums += np.stack([deviations, deviations**2])
            tick(1)
        return sums

    begins = range(0, n_resamples, CHUNK)
    sources = spawned(rng, len(begins))
    tasks = [(begin, min(begin + CHUNK, n_resamples), source) for begin, source in zip(begins, sources, strict=True)]
    first, second = np.sum(threads(resampled, tasks, n_jobs), axis=0)
    found.bias[chosen] = first / n_resamples
    variance = np.maximum(second - first**2 / n_resamples, 0.0) / (n_resamples - 1.0)
    variance = variance * max(side.inflation for side in resampling) + found.bias[chosen] ** 2
    variance += contradiction(found.points[chosen]) ** 2
    # an event that was never seen has a probability nevertheless
    never = (found.points[chosen][:, :, (OWN, REPAIRED)] == 0.0) & np.array([*EFFECTS.values()])[:, None]
    variance += never.sum(axis=2) * (NONE_SEEN / min(side.n_eff for side in resampling)) ** 2
    found.se[chosen] = np.sqrt(variance)
    return found


def _lines(columns: Floats, pairs: NDArray[np.intp], tail: float) -> Floats:
    """Quantiles of the sum (low, high) and the difference (low, high) of every pair, (pair, 4)."""
    lines = np.empty((len(pairs), 4))
    step = max(_AT_ONCE // columns.shape[1], 1)
    for begin in range(0, len(pairs), step):
        a, b = (columns[some] for some in pairs[begin : begin + step].T)
        lines[begin : begin + step, :2] = np.quantile(a + b, [tail, 1.0 - tail], axis=1).T
        lines[begin : begin + step, 2:] = np.quantile(a - b, [tail, 1.0 - tail], axis=1).T
    return lines
