"""Polynomials of ranks, and Kendall's tau, summed over batches of consecutive draws, on a device."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.lazy import lazy
from copula_discrepancy._core.tensors.chains import long_runs, split_rhats
from copula_discrepancy._core.tensors.device import Device, numbers
from copula_discrepancy._core.tensors.ranks import RankTensors, concordance_batches
from copula_discrepancy.estimate.basis import HIGHEST_ORDER
from copula_discrepancy.estimate.batches import BATCHES, BatchedRanks, batch_edges, rank_terms
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import tau_from_total

_COPIES = 8.0  # of the batch sums of a tile, for both samples, that are needed at a time
_MOST_ROWS = 256  # variables that are compared with all others at a time: more are not faster
_SIGNS = 0.2  # of the memory that may be used, for the signs of differences between draws
_KEPT = 0.1  # of the memory that may be used, for the polynomials of all variables
_ROWS = 64  # variables whose polynomials are summed at a time


@dataclass(frozen=True, eq=False)
class DeviceBatches(BatchedRanks):
    """Some variables of a sample on a device; see `BatchedRanks`, whose `ranks` and results are tensors here, in float64.

    Attributes
    ----------
    device : Device
        The device.
    tensors : RankTensors
        The variables.
    """

    device: Device = field(kw_only=True)
    tensors: RankTensors = field(kw_only=True, repr=False)

    @classmethod
    def of_table(
        cls, table: RankedTable, columns: Sequence[int], device: Device, *, iid: bool, batches: int = BATCHES
    ) -> "DeviceBatches":
        """The polynomials of some variables without missing values; `iid` if draws are independent."""
        tensors = RankTensors.of(device.tensor(table.ranks[list(columns)]))
        ranks, n_chains = tensors.doubled, 1 if iid else table.n_chains
        times = np.ones(len(columns))
        if not iid:
            u = ranks.double() / (2.0 * table.n) - 0.5
            for values in (u, u * u):
                variance, long_run, _, _ = (numbers(part) for part in long_runs(values, n_chains))
                np.maximum(times, np.nan_to_num(long_run / variance, nan=1.0), out=times)
        edges = batch_edges(table.n, n_chains, float(times.max()), batches)
        return cls(ranks, edges, n_chains, times, np.float64, device=device, tensors=tensors)

    # ---- where it is -------------------------------------------------------------------------------------------------

    def tile(self, order: int) -> tuple[int, int]:
        """How many variables are compared, with how many others, at a time: all others if that fits into the memory."""
        pairs = 0.5 * self.device.planned_bytes() / (2.0 * _COPIES * 8.0 * order * order * self.count)
        d = len(self.ranks)
        if pairs < d:
            return 1, max(int(pairs), 1)
        return min(int(pairs / d), _MOST_ROWS), d

    @property
    def level_rows(self) -> int:
        """How many variables' taus with all later ones are computed at a time: as many as fit into the memory."""
        return int(max(0.5 * self.device.planned_bytes() / (2.0 * _COPIES * 8.0 * len(self.ranks) * self.count), 1.0))

    def turn(self) -> AbstractContextManager[None]:
        """A turn on the device."""
        return self.device.turn()

    def there(self, array: NDArray[Any]) -> Any:
        """An array on the device."""
        return self.device.tensor(array)

    def home(self, array: Any) -> NDArray[Any]:
        """An array in the processor's memory."""
        return numbers(array)

    def rhats(self, n_chains: int) -> NDArray[np.float64]:
        """See `BatchedRanks.rhats`."""
        u = self.tensors.doubled.double() / (2.0 * self.n) - 0.5
        return np.maximum(*(numbers(split_rhats(values, n_chains)) for values in (u, u.abs())))

    # ---- sums --------------------------------------------------------------------------------------------------------

    def levels(self, rows: slice, columns: slice, chosen: NDArray[np.intp]) -> tuple[Any, Any]:
        """See `BatchedRanks.levels`; for ties see `kernels.tau_and_influence`."""
        n, every = self.n, self.n * (self.n - 1) // 2
        ranks, ties, lengths = self.tensors.rank, self._ties, self.there(self.lengths.astype(np.float64))
        budget = _SIGNS * self.device.planned_bytes()
        counts = concordance_batches(ranks[rows], ranks[columns], self.edges.tolist(), budget).permute(1, 2, 0)
        total = counts.sum(dim=2, keepdim=True)
        taus = np.asarray(tau_from_total(numbers(total[..., 0]) / 2.0, n, ties[rows][:, None], ties[columns]), np.float64)
        mean = total / (n * (n - 1.0))
        sums = 2.0 * (counts / (n - 1.0) - mean * lengths)
        if ties[rows].any() or ties[columns].any():
            share_x, share_y = (self.there(1.0 - ties[part] / every) for part in (rows, columns))
            for share, part, shape in ((share_x, rows, (-1, 1, 1)), (share_y, columns, (1, -1, 1))):
                along = (*shape[:2], self.count)
                untied = (lengths - self._tied_batches[part]).reshape(along)
                sums -= mean / share.reshape(shape) * (untied - share.reshape(shape) * lengths)
            sums /= (share_x[:, None] * share_y)[..., None].sqrt()
        sums[self.there(np.abs(taus) == 1.0)] = 0.0
        places = self.there(chosen)
        return self.there(taus.reshape(-1))[places], sums.flatten(0, 1)[places]

    @lazy
    def _ties(self) -> NDArray[np.int64]:
        return np.asarray(numbers(self.tensors.ties), np.int64)

    @lazy
    def _tied_batches(self) -> Any:
        """Shares of other draws that each draw is tied with, summed over batches, (variable, batch)."""
        return ((self.tensors.size.double() - 1.0) / (self.n - 1.0)) @ self._batches

    @lazy
    def _batches(self) -> Any:
        """Which draws are in which batch, (draw, batch)."""
        found = np.zeros((self.n, self.count))
        found[np.arange(self.n), np.repeat(np.arange(self.count), self.lengths)] = 1.0
        return self.there(found)

    def products(self, left: Any, right: Any) -> Any:
        """See `BatchedRanks.products`."""
        return self.device.torch.bmm(self._in_batches(left), self._in_batches(right).transpose(1, 2))

    def _in_batches(self, values: Any) -> Any:
        """Rows (row, draw) as (batch, row, draw of it); shorter batches are filled up with zeros."""
        lengths = self.lengths
        if (lengths == lengths[0]).all():
            return values.unflatten(1, (self.count, int(lengths[0]))).transpose(0, 1)
        filled = self.device.torch.cat([values, values.new_zeros((len(values), 1))], dim=1)
        return filled[:, self._draws_of_batches].transpose(0, 1)

    @lazy
    def _draws_of_batches(self) -> Any:
        """The draws of each batch, (batch, draw of it), and n where it has fewer than others."""
        places = self.edges[:-1, None] + np.arange(int(self.lengths.max()))
        return self.there(np.where(places < self.edges[1:, None], places, self.n))

    def values(self, rows: slice, order: int) -> Any:
        """phi_1, ..., phi_order of some variables, (order, variable, draw), about their means."""
        if self._every is not None:
            return self._every[:order, rows]
        return self._values(rows, order)

    def _values(self, rows: slice, order: int) -> Any:
        found = self._tensor_polynomials[:order, self.ranks[rows]]
        return found - found.mean(dim=2, keepdim=True) if self._ties[rows].any() else found

    @lazy
    def _every(self) -> Any:
        """The polynomials of all variables, if they take a small part of the memory."""
        needed = 8.0 * HIGHEST_ORDER * len(self.ranks) * self.n
        return self._values(slice(None), HIGHEST_ORDER) if needed < _KEPT * self.device.planned_bytes() else None

    def batch_terms(self, order: int) -> Any:
        """Sums of B_jl over batches, (variable, l, j, batch), from those of the polynomials it consists of."""
        terms = self.there(np.array(rank_terms(order)))
        size, batches = terms.shape[2], self._batches
        sums = terms.new_empty((len(self.ranks), size, self.count))
        for start in range(0, len(self.ranks), _ROWS):
            values = self._tensor_polynomials[:size, self.ranks[start : start + _ROWS]]
            sums[start : start + _ROWS] = (values @ batches).transpose(0, 1)
        found = self.device.torch.einsum("jlr,xrt->xljt", terms, sums)
        return found - found.mean(dim=3, keepdim=True)

    @lazy
    def _tensor_polynomials(self) -> Any:
        return self.there(self._polynomials)
