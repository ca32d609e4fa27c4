"""A summary of a function in two samples, and in the two other combinations of their margins and their dependence.

By Sklar's theorem a distribution is its margins and its copula. Two samples thus have four combinations: the draws, the draws'
margins with the reference's dependence, the reference's margins with the draws' dependence, and the reference. Differences
between them say what is due to dependence and what to margins.

Their uncertainty comes from resampling blocks of both samples. Ranks are computed again in every resample, so the cost of
estimating margins by ranks is included: the bootstrap of the empirical copula process is consistent, for independent draws
(Fermanian, Radulovic and Wegkamp, 2004) and for blocks of dependent ones (Bucher and Ruppert, 2013), and with it that of
every smooth function of margins and copula.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import spawned
from copula_discrepancy._core.workers import blas_threads
from copula_discrepancy.estimate.coupling import FEW_TIES, Rows, SortedSample, joined, tied_share, ways
from copula_discrepancy.estimate.resampling import BlockResampling
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.summaries import Summary
from copula_discrepancy.estimate.uncertainty import Estimate

COMBINATIONS = ("draws", "repaired", "swapped", "reference")  # in the order of all arrays below
OWN, REPAIRED, SWAPPED, OTHER = range(4)
CHUNK = 20  # resamples per task: each task has its own random numbers, so that results do not depend on the number of threads
NONE_SEEN = 1.5  # of n p: an event that was never seen in n draws has, with 95% confidence, a probability below 3/n

Function = Callable[[NDArray[np.float64], str], NDArray[np.float64]]
Floats = NDArray[np.float64]
Resampling = tuple[BlockResampling, BlockResampling]

# what is due to dependence, by which of the two is exchanged first; the rest of the difference is due to margins
SPLITS: dict[str, tuple[float, float, float, float]] = {
    "dependence": (1.0, -1.0, 0.0, 0.0),
    "margins": (0.0, 0.0, 1.0, -1.0),
    "average": (0.5, -0.5, 0.5, -0.5),
}


@dataclass(frozen=True, eq=False)
class Combinations:
    """The values of a function in the four combinations, their summaries, and these in every resample.

    Attributes
    ----------
    values : tuple of array (row,)
        The function's values in the draws, in the draws' margins with the reference's dependence, in the reference's margins
        with the draws' dependence, and in the reference.
    points : array (summary, 4)
        Summaries of these; with ties, means over several random orders of tied values.
    replicates : array (resample, summary, 4)
        The same in resamples.
    """

    values: tuple[Floats, Floats, Floats, Floats]
    points: Floats
    replicates: Floats


def combine(
    own: SortedSample,
    other: SortedSample,
    function: Function,
    summaries: Sequence[Summary],
    blocks: Callable[[tuple[Floats, Floats, Floats, Floats]], Resampling],
    *,
    additive: bool = False,
    n_resamples: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    tick: Callable[[int], None],
) -> tuple[Combinations, Resampling]:
    """Compute the four combinations, and again in resamples of both samples.

    Parameters
    ----------
    own, other : SortedSample
        Draws and reference, with the variables of the function.
    function : callable
        Values (row,) of columns (variable, row); the text says which combination these are.
    summaries : sequence of Summary
        What is computed from the values.
    blocks : callable
        How rows of the two samples are resampled, from the function's values in the four combinations.
    additive : bool
        Whether the function is a sum of functions of one variable each. Its mean is then a matter of margins alone, which those
        of samples of different sizes would show only approximately.
    n_resamples : int
        Number of resamples.
    rng : Generator
        Source of the resamples.
    n_jobs : int or None
        Threads.
    tick : callable
        Called with the number of resamples made since its last call.

    Returns
    -------
    Combinations
        The summaries and their replicates.
    (BlockResampling, BlockResampling)
        How rows were resampled.
    """
    first = function(own.columns, "the draws"), function(other.columns, "the reference")

    def mixed(
        rows: tuple[Rows, Rows] | None, breaking: int, source: np.random.Generator, out: Any = (None, None)
    ) -> tuple[Floats, Floats]:
        repaired = joined(own, other, source, rows, breaking, out[0])
        swapped = joined(other, own, source, None if rows is None else rows[::-1], breaking, out[1])
        return (
            function(repaired, "the draws' margins with the reference's dependence"),
            function(swapped, "the reference's margins with the draws' dependence"),
        )

    def summarised(*four: Floats) -> list[list[float]]:
        found = []
        for summary in summaries:
            alone = additive and summary.kind == "mean"
            found.append([summary(values) for values in ((four[0], four[0], four[3], four[3]) if alone else four)])
        return found

    mixes = [mixed(None, breaking, rng) for breaking in range(ways(own, other))]
    points = np.mean([summarised(first[0], *mix, first[1]) for mix in mixes], axis=0)

    values = first[0], *mixes[0], first[1]
    resampling = blocks(values)

    def resampled(task: tuple[int, int, np.random.Generator]) -> Floats:
        begin, end, source = task
        found = np.empty((end - begin, len(summaries), 4))
        out = np.empty((len(own.columns), other.n)), np.empty((len(own.columns), own.n))
        for k in range(begin, end):
            rows = Rows.of(resampling[0].rows(source), own.n), Rows.of(resampling[1].rows(source), other.n)
            found[k - begin] = summarised(first[0][rows[0].rows], *mixed(rows, k, source, out), first[1][rows[1].rows])
        tick(end - begin)
        return found

    begins = range(0, n_resamples, CHUNK)
    tasks = [
        (begin, min(begin + CHUNK, n_resamples), source)
        for begin, source in zip(begins, spawned(rng, len(begins)), strict=True)
    ]
    replicates = np.concatenate(blas_threads(resampled, tasks, n_jobs))
    return Combinations(values, points, replicates), resampling


def estimates(
    points: Floats,
    replicates: Floats,
    summary: Summary,
    resampling: tuple[BlockResampling, BlockResampling],
    *,
    split: str,
    confidence: float,
) -> dict[str, Estimate]:
    """The four values and their differences, with standard errors from resamples.

    Parameters
    ----------
    points : array (4,)
        A summary in the four combinations.
    replicates : array (resample, 4)
        The same in resamples.
    summary : Summary
        What it is.
    resampling : (BlockResampling, BlockResampling)
        How rows were resampled.
    split : {"dependence", "margins", "average"}
        Which of the two is exchanged first.
    confidence : float
        Confidence level of the intervals.

    Returns
    -------
    dict from str to Estimate
        "draws", "repaired", "swapped", "reference", "difference", "dependence" and "margins"; the last two add up to
        the difference.
    """
    low, high = summary.limits
    apart = (low - high, high - low)
    one, dependence = np.eye(4), np.array(SPLITS[split])
    difference = one[OWN] - one[OTHER]
    parts: dict[str, tuple[Floats, tuple[float, float], bool]] = {
        "draws": (one[OWN], summary.limits, False),
        "repaired": (one[REPAIRED], summary.limits, False),
        "swapped": (one[SWAPPED], summary.limits, False),
        "reference": (one[OTHER], summary.limits, False),
        "difference": (difference, apart, True),
        "dependence": (dependence, apart, True),
        "margins": (difference - dependence, apart, True),
    }
    return {
        name: _estimate(points, replicates, weights, summary, resampling, limits=limits, tested=tested, confidence=confidence)
        for name, (weights, limits, tested) in parts.items()
    }


def _estimate(
    points: Floats,
    replicates: Floats,
    weights: Floats,
    summary: Summary,
    resampling: tuple[BlockResampling, BlockResampling],
    *,
    tested: bool,
    confidence: float,
    limits: tuple[float, float],
) -> Estimate:
    # draws enter all but the reference's own value, and the reference all but that of the draws
    alone = {OWN: (0,), OTHER: (1,)}.get(int(np.argmax(weights)), (0, 1)) if np.count_nonzero(weights) == 1 else (0, 1)
    sides = [resampling[k] for k in alone]
    n_eff, df = min(side.n_eff for side in sides), freedom(sides)
    value, repeated = float(weights @ points), replicates @ weights
    spread = float(np.std(repeated, ddof=1))
    if spread == 0.0 and tested and np.ptp(replicates[:, OWN]) > 0.0 and value == 0.0:
        # equal in every resample: the mean of a sum does not depend on dependence
        return Estimate(0.0, 0.0, (0.0, 0.0), 1.0, n_eff, 0.0, df, confidence)
    # Ranks that are known with an error only join values that do not belong together, which adds to spreads and takes from
    # joint extremes. A resample has this error once more, and so shows how large it is. What is subtracted is uncertain too.
    mixes = weights[REPAIRED] != 0.0 or weights[SWAPPED] != 0.0
    bias = float(np.mean(repeated)) - value if mixes else 0.0
    variance = spread**2 * max(side.inflation for side in sides) + bias**2
    variance += float(contradiction(points)) ** 2 if mixes else 0.0
    if summary.kind == "probability":
        variance += sum((w * NONE_SEEN / n_eff) ** 2 for w, p in zip(weights, points, strict=True) if p in (0.0, 1.0))
    if variance == 0.0:  # all resamples agree, as on a quantile of counts: this says nothing about other samples
        return Estimate.unknown(value, confidence=confidence)
    error = StandardError(variance**0.5, df, n_eff)
    # quantiles of resamples, which have ties, are off in ways of their own
    shift = 0.0 if summary.kind in ("quantile", "shortfall") else bias
    return Estimate.of(value, error, bias=shift, tested=tested, limits=limits, confidence=confidence)


def contradiction(points: Floats) -> Floats:
    """How much the effects of dependence at the margins of the two samples contradict each other, from values (..., 4).

    Values joined through ranks that are known with an error are off in the same direction in both exchanged combinations. If
    draws and reference agree, and exchanging dependence seems to raise the one as much as it lowers the other, then it is this
    error that is seen, as in variables that add up to a constant. It is 0 in all other cases.
    """
    own, repaired, swapped, other = np.moveaxis(points, -1, 0)
    first, second = own - repaired, swapped - other
    half = 0.5 * np.abs(first - second)
    found: Floats = np.where((first * second < 0.0) & (np.abs(own - other) <= half), half, 0.0)
    return found


def freedom(sides: Sequence[BlockResampling]) -> float:
    """Degrees of freedom of a variance that both samples contribute to, in proportion to 1/n_eff (Welch, 1947)."""
    shares = [1.0 / side.n_eff for side in sides]
    return sum(shares) ** 2 / sum(share**2 / side.df for share, side in zip(shares, sides, strict=True))


def few_events(points: Floats, summary: Summary, resampling: tuple[BlockResampling, BlockResampling]) -> float:
    """The smallest number of effective draws that decide about a probability, a quantile or a shortfall; otherwise inf."""
    sizes = [resampling[k].n_eff for k in (0, 1, 0, 1)]
    if summary.kind == "probability":
        return min(size * min(p, 1.0 - p) for size, p in zip(sizes, points.tolist(), strict=True))
    return summary.tail * min(sizes) if summary.kind in ("quantile", "shortfall") else np.inf


def tied(*samples: SortedSample) -> NDArray[Any]:
    """Which variables have more than a few ties in any of the samples."""
    return np.any([tied_share(sample.values) > FEW_TIES for sample in samples], axis=0)
