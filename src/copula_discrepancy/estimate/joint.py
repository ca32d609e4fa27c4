"""One answer for all pairs together: whether the joint dependence of two samples differs, and how much of it is kept.

Many small differences, none of them significant by itself, are found by the sum of all squared normal scores. There are far
more of them than batches, but the sum's distribution needs two numbers only, its mean and tr(R^2) of all scores, and both come
from the products of batch sums with each other, one number for every two batches.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.tensors.device import Device
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.all_pairs import PairForms, compare_all
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.batches import BatchedRanks, left_out_columns
from copula_discrepancy.estimate.combination import cauchy, largest_pvalues, sum_pvalues
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.triples import TripleForms
from copula_discrepancy.estimate.uncertainty import Estimate

# Standard errors from batches are accurate to this many parts in n_eff (measured: mean squares of scores are within 0.985 and
# 1.015 at n = 200, within 0.995 and 1.005 at n = 2000). A sum over millions of scores would take that for a difference.
_INACCURACY = 4.0
_DISTINCT = 4.0  # standard errors of the reference's dependence below which `kept` has no value


@dataclass(frozen=True, eq=False)
class Joint:
    """All pairs of variables compared together.

    Attributes
    ----------
    value : float
        Root mean square, over pairs, of the difference between the two densities smoothed to order 4; in units of the density
        of independence.
    pvalue : float
        P-value of no pair differing.
    sum_pvalue, largest_pvalue : float
        The two p-values it combines: of all squared scores together, and of the pair that differs most.
    kept : Estimate
        The share of the reference's dependence that the draws keep: 1 for all of it, 0 for none; NaN if the reference has none.
    n_pairs : int
        Number of pairs.
    left_out : dict
        Variables that are in no pair, with the reason.
    n_triples : int
        Number of triples that were compared too; they contribute to the p-values.
    """

    value: float
    pvalue: float
    sum_pvalue: float
    largest_pvalue: float
    kept: Estimate
    n_pairs: int
    left_out: dict[str, str]
    n_triples: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Every number by name, ready for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {"kept": self.kept.to_dict(), "left_out": dict(self.left_out)}


def prepared(
    own: RankedTable, other: RankedTable | None, iid: tuple[bool, bool], fewest: int = 2, device: Device | None = None
) -> tuple[list[int], BatchedRanks, BatchedRanks | None, dict[str, str]]:
    """The variables to compare, both samples in batches, here or on a device, and the variables left out with the reason."""
    tables = [own] if other is None else [own, other]
    reasons = left_out_columns(tables)
    columns = [k for k in range(len(own.names)) if k not in reasons]
    left_out = {own.names[k]: reason for k, reason in reasons.items()}
    require_variables(len(columns), left_out, fewest)
    batched = [batches_of(table, columns, alone, device) for table, alone in zip(tables, iid, strict=False)]
    return columns, batched[0], batched[1] if len(batched) > 1 else None, left_out


def batches_of(table: RankedTable, columns: list[int], iid: bool, device: Device | None) -> BatchedRanks:
    """Some variables of a sample in batches, here or on a device."""
    if device is None:
        return BatchedRanks.of(table, columns, iid=iid)
    from copula_discrepancy.estimate.device_batches import DeviceBatches  # which imports PyTorch

    with device.turn():
        return DeviceBatches.of_table(table, columns, device, iid=iid)


def require_variables(count: int, left_out: dict[str, str], fewest: int) -> None:
    """Raise if too few variables can be compared."""
    if count < fewest:
        omitted = "; omitted: " + listed([f"{name} ({why})" for name, why in left_out.items()], BRIEF) if left_out else ""
        raise InputError(
            f"at least {fewest} variables that vary and have no missing values are needed, got {count}{omitted}", "shape"
        )


def joint(
    own: RankedTable,
    other: RankedTable | None,
    *,
    iid: tuple[bool, bool] = (False, False),
    order: int = ORDER,
    confidence: float = 0.95,
    n_jobs: int | None = -1,
    tick: Callable[[int], None] = lambda _: None,
    device: Device | None = None,
) -> Joint:
    """Compare the dependence of all pairs of variables together.

    Parameters
    ----------
    own, other : RankedTable
        The draws, and the reference; None compares with independence.
    iid : (bool, bool)
        Whether the draws of each are independent.
    order : int
        Polynomials of each variable.
    confidence : float
        Confidence level of the interval of `kept`.
    n_jobs, tick
        See `compare_all`.
    device : Device, optional
        Where to compute.

    Returns
    -------
    Joint
        Few-valued and constant variables, and those with missing values, are left out; `left_out` lists them.
    """
    _, draws, reference, left_out = prepared(own, other, iid, device=device)
    forms = compare_all(draws, reference, order=order, gram=True, n_jobs=n_jobs, tick=tick)
    return judged(forms, draws, reference, left_out, confidence=confidence)


def judged(
    forms: PairForms,
    own: BatchedRanks,
    other: BatchedRanks | None,
    left_out: dict[str, str],
    *,
    confidence: float,
    triples: TripleForms | None = None,
) -> Joint:
    """The joint answer from all pairs and, if they were compared with the same batches, all triples.

    `forms` has products of batches.
    """
    samples = [own] if other is None else [own, other]
    parts: list[PairForms | TripleForms] = [forms] if triples is None else [forms, triples]
    cells = float(sum(part.z.size for part in parts))
    total = float(np.sum(forms.scores)) + (0.0 if triples is None else float(np.sum(triples.z.astype(np.float64) ** 2)))
    mean, trace = _moments(sum((part.gram for part in parts[1:]), forms.gram), samples, cells)
    by_sum = float(sum_pvalues(np.array(total), mean, np.array(trace)))
    by_largest = float(largest_pvalues(np.array(max(max(part.z.max(), -part.z.min()) for part in parts)), cells))
    return Joint(
        math.sqrt(max(float(np.sum(forms.excess)), 0.0) / forms.first.size),
        float(cauchy([np.array(by_sum), np.array(by_largest)])),
        by_sum,
        by_largest,
        _kept(forms, samples, confidence),
        forms.first.size,
        left_out,
        0 if triples is None else len(triples.pvalue),
    )


def _moments(gram: NDArray[np.float64], samples: list[BatchedRanks], cells: float) -> tuple[float, float]:
    """Mean of the sum of squared scores, and tr(R^2), from the products of batch sums.

    Neighbouring batches are slightly correlated, which the standard errors miss: added up over all scores this matters, and is
    known well. Products of different batches are free of the noise that far more scores than batches would add to tr(R^2).
    """
    mean, trace, start, blocks = cells, 0.0, 0, []
    for sample in samples:
        stop = start + sample.count
        block = gram[start:stop, start:stop]
        g, at = sample.count, sample.neighbours
        by_chance = -np.trace(block) / (g * (g - 1.0))  # sums about their mean are negatively correlated
        mean += 2.0 * float(np.sum(block[at, at + 1] - by_chance))
        trace += max((g - 1.0) ** 2 * _squared_covariance(block), float(np.trace(block)) ** 2 / cells)
        blocks.append(slice(start, stop))
        start = stop
    if len(blocks) > 1:
        trace += 2.0 * float(np.sum(_centred(gram[blocks[0], blocks[1]]) ** 2))
    fewest = min(sample.count for sample in samples)
    inaccuracy = _INACCURACY * max(sample.time / sample.n for sample in samples)
    trace = max(trace, cells) * (1.0 + 2.0 / fewest)  # the mean is estimated too
    return mean, trace + 0.5 * (inaccuracy * cells) ** 2


def _centred(products: NDArray[np.float64]) -> NDArray[np.float64]:
    rows, columns = products.mean(axis=1, keepdims=True), products.mean(axis=0, keepdims=True)
    centred: NDArray[np.float64] = products - rows - columns + products.mean()
    return centred


def _squared_covariance(products: NDArray[np.float64]) -> float:
    """tr(C^2) of the covariance C of vectors with these inner products, without bias, whatever their dimension.

    The unbiased HSIC of the vectors with themselves (Song et al., 2012, Journal of Machine Learning Research 13, 1393-1434).
    """
    g = len(products)
    off = products - np.diag(np.diag(products))
    sums = off.sum(axis=1)
    whole = np.sum(off**2) + sums.sum() ** 2 / ((g - 1.0) * (g - 2.0)) - 2.0 / (g - 2.0) * np.sum(sums**2)
    return float(whole / (g * (g - 3.0)))


def _kept(forms: PairForms, samples: list[BatchedRanks], confidence: float) -> Estimate:
    """<A, B>/(<B, B> - noise) over all pairs, with an interval from batch means."""
    strength = float(np.sum(forms.squares)) - float(np.sum(forms.noise))
    error = 2.0 * math.sqrt(float(np.sum(forms.strength**2)))
    # the ratio to a dependence that is hardly distinguishable from none says nothing
    if not strength > _DISTINCT * error:
        return Estimate.unknown(math.nan, confidence=confidence)
    kept = float(np.sum(forms.common)) / strength
    shares = (forms.inner - 2.0 * kept * forms.strength) / strength
    spread: StandardError | None = None
    for sample, part in zip(samples, np.split(shares, [samples[0].count]), strict=False):
        se = math.sqrt(float(np.sum((part - part.mean()) ** 2)))
        spread = StandardError(se, sample.df, sample.n / sample.time).plus(spread)
    assert spread is not None
    return Estimate.of(kept, spread, tested=False, confidence=confidence)
