"""Duplicate rows within a sample or between two samples: they are not independent, and tests that assume so are invalid."""

import math
from dataclasses import replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import BRIEF, listed

_SHARE, _FEWEST = 0.01, 5  # repeats of fewer rows are harmless
_CHANCE = 3.0  # repeats must exceed those that rounding explains by this factor: the estimate is accurate to a factor of 2
_USUAL = 0.5  # a row that makes up more than this share is the usual case, not a copy
_SURPLUS = 0.1  # of the repeats: the share of different rows with a common value allowed in a column that counts as continuous
_DISTINCT = 20  # this many different rows do not occur equally often by chance
_NOISE = 1e-9  # gaps between values, relative to their range, that are rounding errors
_MIXER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two columns' bits become one; the golden ratio of 2^64
_SHIFT = np.uint64(32)

_DEPENDENT = "so they are not independent and no test is valid"

_NO_CHANCE = 10  # different draws that two chains do not have in common by chance, nor because both stand still
LEFT_OUT_ONCE = ", and is left out"  # ends the note on a chain that repeats another

Labels = NDArray[np.intp]


def repeated_chains(draws: Draws) -> dict[int, int]:
    """Chains with the same draws as an earlier one, such as a file that was read twice, or two chains with one seed."""
    if draws.n_chains < 2:  # hashing takes a while, and a single chain has none to repeat
        return {}
    seen: dict[bytes, int] = {}  # there may be thousands, as of paths
    # -0.0 is 0.0
    firsts = [seen.setdefault(sha256((chain + 0.0).tobytes()).digest(), k) for k, chain in enumerate(draws.values)]
    return {
        k: first
        for k, first in enumerate(firsts)
        if first < k and len(np.unique(draws.values[k], axis=0)) >= _NO_CHANCE
    }  # fmt: skip


def without_repeated_chains(draws: Draws) -> Draws:
    """The draws without chains that repeat others, which have no information of their own; a note on each."""
    found = repeated_chains(draws)
    if not found:
        return draws
    kept = [k for k in range(draws.n_chains) if k not in found]
    values = draws.values[kept]
    values.flags.writeable = False
    called = draws.chain_name
    notes = [f"{called(k)} has the same draws as {called(first)}{LEFT_OUT_ONCE}" for k, first in found.items()]
    names = tuple(called(k) for k in kept)
    diverging = None if draws.diverging is None else draws.diverging[kept]
    return replace(draws, values=values, notes=(*draws.notes, *notes), chain_names=names, diverging=diverging)


def repeated_rows(draws: Draws, reference: Draws | None, iid: tuple[bool, bool]) -> tuple[Caveat, ...]:
    """Caveats about rows that repeat others, in each sample and between the two; in chains only the latter.

    A Markov chain may repeat a state, and its long-run variance accounts for that. Unless a sample is independent, as `iid`
    gives for each, rows that repeat the one before count once, and repeats within chains passed by the user are not reported.
    """
    # rows with a missing value are in few pairs, and share the missing value
    samples = [_complete(sample) for sample in ([draws] if reference is None else [draws, reference])]
    if any(sample.n_draws < 2 for sample in samples):
        return ()
    labels = _labelled(samples)
    if labels is None:
        return ()
    caveats: list[Caveat] = []
    # `iid` of the reference is not needed if there is none
    tables = [independent or not sample.chained for independent, sample in zip(iid, samples, strict=False)]
    steps = [label if free else label[np.append(True, np.diff(label) != 0)] for free, label in zip(iid, labels, strict=False)]
    for whose, sample, label, rows, is_table in zip(("", "reference: "), samples, labels, steps, tables, strict=False):
        if is_table:
            caveats += [caveat_of("repeated-rows", whose + sentence) for sentence in _within(sample, label, rows)]
    if len(samples) > 1:
        caveats += _between(samples[0], samples[1], labels, steps if all(tables) else None)
    return tuple(caveats)


def _complete(sample: Draws) -> Draws:
    if not sample.incomplete:
        return sample
    whole = ~np.isnan(sample.values[0]).any(axis=1)
    return replace(sample, values=sample.values[:, whole], incomplete=False)


def _within(sample: Draws, labels: Labels, rows: Labels) -> list[str]:
    """Rows of one table that occur several times, unless few values or rounding explain it; `rows` omits repeated states."""
    counts = np.bincount(rows)
    usual = int(np.argmax(counts))
    if counts[usual] > _USUAL * rows.size:  # most rows are equal, for example if most values are 0
        others = labels != usual
        if others.sum() < 2:
            return []
        flat = sample.values.reshape(1, -1, sample.n_variables)[:, others]
        return _within(replace(sample, values=flat), labels[others], rows[rows != usual])
    counts = counts[counts > 0]
    n, different = rows.size, counts.size
    cost = "which makes p-values too small; remove the copies"
    times = int(np.gcd.reduce(counts))
    if times > 1 and different >= _DISTINCT and not _is_design(sample, labels, different):
        equal = "times" if (counts == times).all() else "times or a multiple of that"
        return [f"every row occurs {times} {equal}, and each copy counts as an independent row, {cost}"]
    if _many(n - different, n) and _no_chance([sample], [labels], n, different):
        return [f"{_percent(n - different, n)} of the rows repeat others, and each copy counts as an independent row, {cost}"]
    return []


def _between(draws: Draws, reference: Draws, labels: list[Labels], steps: list[Labels] | None) -> list[Caveat]:
    """The same rows in both samples; in tables (`steps`), also copies of some rows."""
    own, other = labels
    if own.size == other.size:
        if np.array_equal(own, other):
            return [caveat_of("same-rows", f"draws and reference are the same sample, {_DEPENDENT}")]
        different = np.unique(own).size
        if different >= min(own.size, _DISTINCT) and np.array_equal(np.sort(own), np.sort(other)):
            return [caveat_of("same-rows", f"draws and reference have the same rows in different order, {_DEPENDENT}")]
    if steps is None:
        return []
    here, there = (np.unique(rows) for rows in steps)
    shared = np.intersect1d(here, there, assume_unique=True)
    copies = [np.isin(rows, shared) for rows in steps]
    if not any(_many(int(copied.sum()), copied.size) for copied in copies):
        return []
    n = here.size + there.size
    if not _no_chance([draws, reference], labels, n, n - shared.size):
        return []
    mine, theirs = copies
    if mine.mean() >= theirs.mean():
        which = f"{_percent(int(mine.sum()), mine.size)} of the rows are exact copies of rows of the reference"
    else:
        which = f"{_percent(int(theirs.sum()), theirs.size)} of the reference's rows are exact copies of rows of the draws"
    sentence = f"{which}: the samples are not independent, and gaps look smaller than they are; compare with independent rows"
    return [caveat_of("copied-rows", sentence)]


def _labelled(samples: list[Draws]) -> list[Labels] | None:
    """A label for every row, sample by sample, equal exactly for equal rows; None if no two rows are equal."""
    hashes = np.concatenate([_hashes(sample) for sample in samples])
    ordered = np.sort(hashes)
    if (ordered[1:] != ordered[:-1]).all():
        return None
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    alike = np.flatnonzero(ordered[1:] == ordered[:-1])
    rows = [sample.values.reshape(-1, sample.n_variables) for sample in samples]
    table = rows[0] if len(rows) == 1 else np.concatenate(rows)
    if not _equal(table[order[alike]], table[order[alike + 1]]):  # two different rows with the same hash
        labels: Labels = np.unique(table + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
    else:
        labels = np.empty(hashes.size, np.intp)
        labels[order] = np.cumsum(np.append(False, ordered[1:] != ordered[:-1]))
    return np.split(labels, np.cumsum([len(part) for part in rows])[:-1])


def _equal(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    return bool(((first == second) | (np.isnan(first) & np.isnan(second))).all())


def _hashes(sample: Draws) -> NDArray[np.uint64]:
    """64 bits per row, from all bits of its values, so that equal rows have equal hashes."""
    hashes = np.zeros(sample.n_chains * sample.n_draws, np.uint64)
    for k in range(sample.n_variables):
        hashes ^= (sample.column(k) + 0.0).view(np.uint64)  # -0.0 is 0.0
        hashes *= _MIXER
        hashes ^= hashes >> _SHIFT
    return hashes


def _no_chance(samples: list[Draws], labels: list[Labels], n: int, different: int) -> bool:
    """Whether n rows with so few different ones are too unlikely by chance, judged by the columns that distinguish rows.

    A column may show this alone, or together with the one that has the most values; if more columns are needed, values are few,
    and rows may be equal by chance. The values of a column may also lie on so coarse a grid, as rounded ones do, that as many
    rows coincide, and other columns may depend on it.
    """
    firsts = np.unique(np.concatenate(labels), return_index=True)[1]
    columns = [np.concatenate([sample.column(k) for sample in samples])[firsts] for k in range(samples[0].n_variables)]
    repeats = n - different
    surplus = _SURPLUS * min(repeats, different)
    counts = [np.unique(column, return_counts=True)[1] for column in columns]
    finest = int(np.argmax([count.size for count in counts]))
    if different - counts[finest].size <= surplus:
        telling = [column for column, count in zip(columns, counts, strict=True) if different - count.size <= surplus]
        points = [_grid_points(column, _half_spread(column)) for column in telling]
    else:
        order = np.lexsort((np.arange(different), columns[finest]))
        # tied pairs of different rows give the effective number of equally likely values
        tied = float((0.5 * counts[finest] * (counts[finest] - 1.0)).sum())
        first = 0.5 * different * (different - 1.0) / tied
        points = []
        for k, column in enumerate(columns):
            both = np.stack([columns[finest], column], axis=1)
            if k != finest and different - len(np.unique(both, axis=0)) <= surplus:
                # the other column at (nearly) equal values of the first: the median of |a - b| is IQR / sqrt(2) if normal
                nearby = math.sqrt(2.0) * float(np.median(np.abs(np.diff(column[order]))))
                values = min(_grid_points(column, nearby), float(counts[k].size))
                # of the pairs tied in the first, one in `values` is tied in both, and is not a pair of different rows
                points.append(first * max(values - 1.0, 0.0) or 1.0)
    # the expected number of different rows among n draws from that many equally likely points
    expected = [-count * math.expm1(-n / count) for count in points]
    fine = [repeats > _CHANCE * (n - rows) or different < rows / _CHANCE for rows in expected]
    return 2 * sum(fine) > len(fine)


def _half_spread(values: NDArray[np.float64]) -> float:
    """The interquartile range, or the range if that is 0."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high - low) or float(np.ptp(values))


def _grid_points(values: NDArray[np.float64], spread: float) -> float:
    """The effective number of equally likely points of a column's grid: a density f has sum f^2 near 1 / (2 IQR)."""
    gaps = np.diff(np.unique(values))
    apart = gaps[gaps > _NOISE * spread]
    return 2.0 * spread / float(apart.min()) if apart.size and spread > 0.0 else 1.0


def _is_design(sample: Draws, labels: Labels, different: int) -> bool:
    """Whether the rows are all combinations of the columns' values, as in a designed experiment."""
    firsts = np.unique(labels, return_index=True)[1]
    combinations = 1
    for k in range(sample.n_variables):
        combinations *= np.unique(sample.column(k)[firsts]).size
        if combinations > different:
            return False
    return combinations == different


def _many(count: int, n: int) -> bool:
    return count >= max(_FEWEST, _SHARE * n)


def _percent(count: int, n: int) -> str:
    share = 100.0 * count / n
    if 99.5 <= share < 100.0:
        return "more than 99%"
    return f"{share:.0f}%" if share >= 9.5 else f"{share:.1f}%"


_LAGS = 10
_FEWEST_ROWS = 100  # with fewer, sums of autocorrelations are mostly noise


def in_a_row(draws: Draws) -> tuple[str, ...]:
    """A note if rows treated as independent are serially correlated, in rank or in distance from the median."""
    if draws.chained or draws.n_draws < _FEWEST_ROWS:
        return ()
    names = [name for k, name in enumerate(draws.names) if _follows(draws.values[0, :, k])]
    if not names:
        return ()
    advice = "if the rows are a time series rather than a sorted table, omit iid=True (--iid)"
    return (f"successive rows are correlated in {listed(names, BRIEF)}, but were treated as independent; {advice}",)


def _follows(values: NDArray[np.float64]) -> bool:
    """Whether autocorrelations of ranks, or of their distance from the median, halve the effective number of rows."""
    known = values[~np.isnan(values)]
    _, places, counts = np.unique(known, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * counts)[places] / max(known.size, 1) - 0.5  # ties share one rank, in any order
    for signal in (ranks, ranks**2):
        centred = signal - signal.mean()
        variance = float(centred @ centred)
        if variance > 0.0 and known.size > _LAGS:
            lagged = sum(float(centred[:-lag] @ centred[lag:]) for lag in range(1, _LAGS + 1))
            if 2.0 * lagged / variance > 1.0:
                return True
    return False
