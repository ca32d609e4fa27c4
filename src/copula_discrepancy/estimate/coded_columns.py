"""Columns as codes: levels of categories, flags and few values, or bins of ranks of a column of many values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from copula_discrepancy.data.kinds import hash_group
from copula_discrepancy.estimate.basis import centred_ranks
from copula_discrepancy.estimate.ranks import rank_column

Codes = NDArray[np.int32]

MOST_LEVELS = 12  # of a column; rarer ones are pooled: a pair of such columns has 144 coefficients
FEWEST_ROWS = 20  # in a level, in either sample: below, the means of a level are not close to normal
OTHER = "other"
_BINS = 128  # of ranks: coefficients of polynomials up to order 4 are off by less than 1e-3 of a standard error of 1e5 rows
_SPIKE = 0.6  # share of one value above which ranks say too little (see `form.can_be_tested`)
_HEAVY = 0.1  # share above which a value of a column with a spike is a level of its own
_DISTINCT = 0.95  # share of different values below which the values beside a spike have ties
_HASHED = 8  # levels that rare ones are pooled into by a hash of their labels, if most rows are in rare ones
_OTHER_SHARES = 0.01  # p-value below which pooled levels have other shares among themselves
_PIECES = 4  # levels of ranks beside the heavy values of a column with a spike


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """One column of one sample as codes; two samples have the same levels.

    Attributes
    ----------
    codes : array of int
        The level, or bin of ranks, of each row; -1 if the value is missing.
    labels : tuple of str
        One for each level; empty for bins of ranks.
    size : int
        The number of levels or bins.
    ordered : bool
        Whether codes have an order.
    pooled : tuple of str
        Levels that were too rare and are in the level "other".
    strata : tuple of int
        Levels with the same number are divided by rank; empty if none are.
    alike : bool
        Whether the pooled levels have the same shares among themselves in both samples. If not, what they depend on as one
        level differs with their shares, and they are not compared.
    n_pooled : int
        How many of the levels, the last ones, are made of pooled levels.
    """

    codes: Codes
    labels: tuple[str, ...]
    size: int
    ordered: bool
    pooled: tuple[str, ...] = ()
    strata: tuple[int, ...] = ()
    alike: bool = True
    n_pooled: int = 0

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """Which levels are not compared, because what they are made of differs between the samples."""
        return np.arange(self.size) >= (self.size if self.alike else self.size - self.n_pooled)

    @property
    def has_levels(self) -> bool:
        """Whether the codes are levels, not bins of ranks."""
        return bool(self.labels)


def coded(samples: Sequence[NDArray[np.float64]], labels: tuple[str, ...], *, ordered: bool) -> list[CodedColumn]:
    """One column of one or two samples as codes.

    Parameters
    ----------
    samples : one or two arrays
        Its values; the codes of its levels if it has labels; NaN where they are missing.
    labels : tuple of str
        Names of the levels, in their order if they have one; empty for numbers.
    ordered : bool
        Whether the values have an order.

    Returns
    -------
    list of CodedColumn
        One for each sample, with the same levels. Levels without an order that are rare are pooled; ordered columns of many
        values are binned by rank, apart from a value that most rows share and others that many do.
    """
    if not ordered:
        return _nominal(samples, labels)
    values = np.unique(np.concatenate([_known(sample) for sample in samples]))
    if values.size <= MOST_LEVELS:
        names = tuple(labels[int(value)] if labels else f"{value:g}" for value in values)
        found = [np.searchsorted(values, sample) for sample in samples]
        return [
            CodedColumn(_masked(codes, sample), names, values.size, True) for codes, sample in zip(found, samples, strict=True)
        ]
    heavy = _heavy_values(samples)
    if heavy.size:
        return _with_spike(samples, heavy)
    return [CodedColumn(*_bins(sample), True) for sample in samples]


def _known(sample: NDArray[np.float64]) -> NDArray[np.float64]:
    return sample[~np.isnan(sample)]


def _masked(codes: NDArray[np.integer], sample: NDArray[np.float64]) -> Codes:
    return np.where(np.isnan(sample), -1, codes).astype(np.int32)


def _nominal(samples: Sequence[NDArray[np.float64]], labels: tuple[str, ...]) -> list[CodedColumn]:
    counts = np.array([np.bincount(_known(sample).astype(np.int64), minlength=len(labels)) for sample in samples])
    least = counts.min(axis=0)
    kept = np.flatnonzero(least >= FEWEST_ROWS)
    rest = np.flatnonzero((counts.sum(axis=0) > 0) & (least < FEWEST_ROWS))
    if len(kept) + bool(rest.size) > MOST_LEVELS:
        shares = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
        frequent = kept[np.argsort(-shares[kept], kind="stable")[: MOST_LEVELS - 1]]
        rest, kept = np.sort(np.concatenate([rest, np.setdiff1d(kept, frequent)])), np.sort(frequent)
    if rest.size == 1:  # one rare level needs no other name; too rare to compare, it is left out pair by pair
        kept, rest = np.sort(np.concatenate([kept, rest])), rest[:0]
    place = np.zeros(len(labels), np.int64)
    place[kept] = np.arange(len(kept))
    groups = _groups(counts, kept, rest) if rest.size else 0
    if groups > 1:
        place[rest] = len(kept) + np.array([hash_group(labels[k], groups) for k in rest])
    elif groups:
        place[rest] = len(kept)
    pooled_names = (OTHER,) if groups == 1 else tuple(f"{OTHER}, hash {k}" for k in range(groups))
    names = *(labels[k] for k in kept), *pooled_names
    pooled = tuple(labels[k] for k in rest)
    alike = len(counts) == 1 or _same_shares(counts[:, rest])
    found = []
    for sample in samples:
        missing = np.isnan(sample)
        codes = place[np.where(missing, 0, sample).astype(np.int64)]
        found.append(CodedColumn(_masked(codes, sample), names, len(names), False, pooled, (), alike, groups))
    return found


def _groups(counts: NDArray[np.integer], kept: NDArray[np.intp], rest: NDArray[np.intp]) -> int:
    """The number of levels that rare ones are pooled into: several, by a hash of their labels, if most rows are in them."""
    if counts[:, rest].sum() <= 0.5 * counts.sum():
        return 1
    most = int(counts[:, rest].sum(axis=1).min()) // (2 * FEWEST_ROWS)
    return max(min(_HASHED, MOST_LEVELS - len(kept), rest.size, most), 1)


def _same_shares(counts: NDArray[np.integer]) -> bool:
    """Whether levels may have the same shares in two samples, by a chi-square test of their counts (sample, level)."""
    inside = counts[:, counts.sum(axis=0) > 0].astype(np.float64)
    if inside.shape[1] < 2 or not inside.sum(axis=1).all():
        return True
    expected = np.outer(inside.sum(axis=1), inside.sum(axis=0)) / inside.sum()
    statistic = float(np.sum((inside - expected) ** 2 / expected))
    return bool(chdtrc(inside.shape[1] - 1.0, statistic) > _OTHER_SHARES)


def _heavy_values(samples: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The values that many rows share, if one of them is a spike in either sample."""
    heavy: set[float] = set()
    spike = False
    for sample in samples:
        values, counts = np.unique(_known(sample), return_counts=True)
        shares = counts / counts.sum()
        spike |= bool(shares.max() > _SPIKE)
        heavy.update(values[shares > _HEAVY].tolist())
    return np.array(sorted(heavy)) if spike else np.empty(0)


def _with_spike(samples: Sequence[NDArray[np.float64]], heavy: NDArray[np.float64]) -> list[CodedColumn]:
    """Heavy values as levels of their own, and the rows between them in a few levels by their ranks in each sample.

    If the values between have ties, a group of equal ones could be in other levels of the two samples by chance: these are
    divided at the same values in both.
    """
    gaps = len(heavy) + 1
    rest = np.zeros((len(samples), gaps))
    for k, sample in enumerate(samples):
        known = _known(sample)
        light = known[~np.isin(known, heavy)]
        rest[k] = np.bincount(np.searchsorted(heavy, light), minlength=gaps)
    shares = (rest / np.maximum(rest.sum(axis=1, keepdims=True), 1.0)).mean(axis=0)
    wanted = np.minimum(np.round(_PIECES * shares), rest.min(axis=0) // (2 * FEWEST_ROWS))
    pieces = np.where(shares > 0.0, np.maximum(wanted, 1.0), 0.0).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(pieces + 1)])  # each gap is followed by a heavy value, except the last
    tied = any(_has_ties(_known(sample)[~np.isin(_known(sample), heavy)]) for sample in samples)
    names: list[str] = []
    strata: list[int] = []
    for gap, count in enumerate(pieces.tolist()):
        names += [_between(heavy, gap, piece, count) for piece in range(count)]
        names += [f"{heavy[gap]:g}"] if gap < len(heavy) else []
        strata += [2 * gap] * count + ([2 * gap + 1] if gap < len(heavy) else [])
    cuts = [_common_cuts(samples, heavy, gap, count) if tied else None for gap, count in enumerate(pieces.tolist())]
    found = []
    for sample in samples:
        codes = np.full(sample.size, -1, np.int64)
        known = ~np.isnan(sample)
        at = np.searchsorted(heavy, sample[known])
        is_heavy = np.isin(sample[known], heavy)
        placed = np.where(is_heavy, starts[at] + pieces[at], 0)
        for gap, count in enumerate(pieces.tolist()):
            inside = np.flatnonzero(~is_heavy & (at == gap))
            values, edges = sample[known][inside], cuts[gap]
            if inside.size and edges is not None:
                placed[inside] = starts[gap] + np.searchsorted(edges, values, side="right")
            elif inside.size:
                placed[inside] = starts[gap] + np.minimum((_ranks(values) * count).astype(np.int64), count - 1)
        codes[known] = placed
        found.append(CodedColumn(codes.astype(np.int32), tuple(names), len(names), True, (), () if tied else tuple(strata)))
    return found


def _has_ties(values: NDArray[np.float64]) -> bool:
    return bool(values.size and np.unique(values).size < _DISTINCT * values.size)


def _common_cuts(
    samples: Sequence[NDArray[np.float64]], heavy: NDArray[np.float64], gap: int, count: int
) -> NDArray[np.float64]:
    """Values at which a gap between heavy values is divided in all samples: quantiles of each, in the middle."""
    low, high = (-np.inf if gap == 0 else heavy[gap - 1]), (np.inf if gap == len(heavy) else heavy[gap])
    shares = np.arange(1, count) / count
    quantiles = [np.quantile(inside, shares) for sample in samples if (inside := sample[(sample > low) & (sample < high)]).size]
    return np.asarray(np.mean(quantiles, axis=0) if quantiles else np.empty(0), np.float64)


def _between(heavy: NDArray[np.float64], gap: int, piece: int, count: int) -> str:
    """The name of a level between two heavy values."""
    below = f"below {heavy[0]:g}" if gap == 0 else f"above {heavy[gap - 1]:g}"
    return below if count == 1 else f"{below}, part {piece + 1} of {count}"


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return centred_ranks(rank_column(values))


def _bins(sample: NDArray[np.float64]) -> tuple[Codes, tuple[str, ...], int]:
    known = ~np.isnan(sample)
    codes = np.full(sample.size, -1, np.int32)
    ranks = _ranks(sample[known])
    codes[known] = np.minimum((ranks * _BINS).astype(np.int32), _BINS - 1)
    return codes, (), _BINS
