"""The sums that the coefficients of form of many pairs and their errors are made from, on a device; see `kernels.form`."""

import math
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.tensors.chains import long_runs
from copula_discrepancy._core.tensors.device import Device, numbers, stacked_numbers
from copula_discrepancy._core.tensors.launching import fused
from copula_discrepancy._core.tensors.sums import PairRanks, batch_sums, sums_above
from copula_discrepancy.estimate.basis import basis_table

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FormSums:
    """What `kernels.form_pairs` returns; `by_chains`, (3, pair, cell), has variances, effective sizes and df of slow pairs."""

    means: Array
    squares: Array
    fourths: Array
    noise: Array
    long_run: Array
    correlations: Array
    halves: Array
    by_chains: Array

    @classmethod
    def empty(cls, count: int, order: int, halves: int) -> "FormSums":
        """Room for so many pairs, of chains cut in so many halves."""
        cells = order * order
        shapes = {"correlations": (count, cells, cells), "halves": (count, halves, cells), "by_chains": (3, count, cells)}
        return cls(**{field.name: np.empty(shapes.get(field.name, (count, cells))) for field in fields(cls)})

    def fill(self, part: slice, found: dict[str, Any]) -> None:
        """Fill in the numbers of some pairs."""
        for field in fields(self):
            if found.get(field.name) is not None:
                array = getattr(self, field.name)
                (array if array.shape[0] != 3 or field.name != "by_chains" else array.swapaxes(0, 1))[part] = found[field.name]


class FormPairs(NamedTuple):
    """Pairs of variables whose form is computed.

    Attributes
    ----------
    columns : two tensors (variable, draw)
        Order and ranks of all variables, in 32 bits.
    ranks : two PairRanks
        Both variables of each pair.
    places : two tensors (pair, draw)
        Where their ranks are in the table of polynomials.
    variables : two tensors (pair,)
        Both variables of each pair, by their number.
    doubled : bool
        Whether places are those of mid-ranks.
    """

    columns: tuple[Any, Any]
    ranks: tuple[PairRanks, PairRanks]
    places: tuple[Any, Any]
    variables: tuple[Any, Any]
    doubled: bool


def form_sums(
    device: Device,
    pairs: FormPairs,
    order: int,
    fitted: tuple[Any, Any] | None,
    batches: tuple[int, int],
    slow: NDArray[np.bool_] | None,
    noisy: NDArray[np.bool_],
) -> dict[str, Any]:
    """The sums of some pairs, by name, in the processor's memory.

    Parameters
    ----------
    device : Device
        The device.
    pairs : FormPairs
        The pairs.
    order : int
        The order of the polynomials.
    fitted : two tensors, optional
        Influence values of fitted taus, (pair, draw), and how many times of them are taken off, (pair, cell).
    batches : (int, int)
        The number of chains, and of batches of each.
    slow : array of bool, optional
        Pairs whose errors come from all autocovariances; None for independent draws.
    noisy : array of bool
        Pairs for which the variance that chance adds is computed.
    """
    n, (n_chains, n_batches) = int(pairs.columns[1].shape[1]), batches
    basis = device.tensor(basis_table(n, order, pairs.doubled))
    if fused(basis) and not pairs.doubled:
        from copula_discrepancy._core.tensors.form_triton import form_values

        values, means, squares, fourths = form_values(pairs.columns, *pairs.variables, basis, fitted)
    else:
        values, means, squares, fourths = _values(pairs, basis, fitted)
    sums = batch_sums(values, n_chains, n_batches)
    size, total = n // n_chains // n_batches, n_chains * n_batches
    scale = sums.square().sum(dim=-1)
    covariance = sums @ sums.transpose(1, 2)
    roots = scale.sqrt()
    correlations = covariance / (roots[:, :, None] * roots[:, None])
    correlations = correlations.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    correlations.diagonal(dim1=1, dim2=2).fill_(1.0)
    halves = sums.unflatten(-1, (2 * n_chains, n_batches // 2)).sum(dim=-1) / (n_batches // 2 * size)
    long_run = scale / (size * (total - 1.0))
    found: dict[str, Any] = dict(
        zip(("means", "squares", "fourths", "long_run"), stacked_numbers((means, squares, fourths, long_run)), strict=True)
    )
    found |= {
        "noise": _noise(pairs, basis, noisy),
        "correlations": numbers(correlations),
        "halves": numbers(halves.transpose(1, 2)),
        "by_chains": None,
    }
    if slow is not None and slow.any():
        found["by_chains"] = _by_chains(values[device.tensor(slow)], n_chains, slow)
    return found


def _values(pairs: FormPairs, basis: Any, fitted: tuple[Any, Any] | None) -> tuple[Any, Any, Any, Any]:
    """What `form_triton.form_values` returns, for any ranks."""
    n = pairs.columns[1].shape[1]
    of_u, of_v = (basis[0][:, at].transpose(0, 1) for at in pairs.places)  # (pair, order, draw)
    steep_u, steep_v = (basis[1][:, at].transpose(0, 1) for at in pairs.places)
    products = of_u[:, :, None] * of_v[:, None]
    means = products.mean(dim=-1).flatten(1)
    effects = sums_above(steep_u[:, :, None] * of_v[:, None], pairs.ranks[0])
    effects += sums_above(of_u[:, :, None] * steep_v[:, None], pairs.ranks[1])
    values = (products + effects / n).flatten(1, 2)  # (pair, cell, draw)
    del products, effects
    if fitted is not None:
        values -= fitted[1][:, :, None] * fitted[0][:, None]
    values -= values.mean(dim=-1, keepdim=True)
    squared = values.square()
    return values, means, squared.sum(dim=-1), squared.square().sum(dim=-1)


def _by_chains(values: Any, n_chains: int, slow: NDArray[np.bool_]) -> Array:
    """Long-run variances, effective sizes and df, (pair, 3, cell), of slow pairs, as in `CellSpread.use_chains`; else NaN."""
    found = np.full((slow.size, 3, values.shape[1]), math.nan)
    _, variance, n_eff, df = long_runs(values, n_chains)
    squares = values.square()
    kurtosis = squares.square().mean(dim=-1) / squares.mean(dim=-1).square().clamp(min=1e-300)
    df = df.minimum(2.0 * n_eff / (kurtosis - 1.0).clamp(min=1.0))
    found[slow] = np.stack([numbers(part) for part in (variance, n_eff, df)], axis=1)
    return found


def _noise(pairs: FormPairs, basis: Any, noisy: NDArray[np.bool_]) -> Array:
    """The variance that chance in the effects of ranks adds, (pair, cell); see `kernels.form.chance_in_effects`."""
    order, n = basis.shape[1], pairs.columns[1].shape[1]
    count = pairs.variables[0].numel()
    found = np.zeros((count, order * order))
    if not noisy.any():
        return found
    values, steep = ([rows[:, at].transpose(0, 1) for at in pairs.places] for rows in basis)  # (pair, order, draw)
    share = (basis.new_tensor(np.arange(n)) + 0.5) / n
    weight = 0.5 * share * (1.0 - share) / n**2
    total: Any = 0.0
    for side, (own, slopes, other) in enumerate(zip(pairs.ranks, steep, values[::-1], strict=True)):
        index = own.order[:, None].expand(count, order, n)
        ordered, slope = other.gather(2, index), slopes.gather(2, index)
        apart = ordered.clone()
        apart[..., 1:] -= ordered[..., :-1]
        apart[..., 0] -= ordered[..., min(1, n - 1)]
        chance = (weight * slope.square()) @ apart.square().transpose(1, 2)  # (pair, of the slope, of the other)
        total = total + (chance if side == 0 else chance.transpose(1, 2))
    found[noisy] = numbers(total.flatten(1))[noisy]
    return found
