"""A ranked sample on a device: its columns as tensors, beside the ranks in the processor's memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.lazy import lazy
from copula_discrepancy._core.tensors.device import Device, numbers
from copula_discrepancy._core.tensors.ranks import RankTensors, concordance_totals
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.estimate.pair import Margins, rank_grid
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import BINS
from copula_discrepancy.families import Copula
from copula_discrepancy.families.formulas import PairTables


def on_device(draws: Draws, device: Device) -> Any:
    """The values of draws on a device, (variable, chain, draw); those that are on it already do not leave it."""
    given = draws.values if draws.resident is None else draws.resident
    values = device.tensor(given).to(device.torch.float64)
    return values.permute(2, 0, 1).contiguous() + 0.0  # minus zero equals zero


class DeviceColumns:
    """Variables as ranks on a device.

    Parameters
    ----------
    device : Device
        The device.
    columns : RankTensors
        The variables, (variable, draw).
    """

    def __init__(self, device: Device, columns: RankTensors) -> None:
        self.device, self.columns = device, columns
        self._tables: dict[Any, PairTables | None] = {}

    @classmethod
    def of(cls, draws: Draws, device: Device) -> "DeviceColumns":
        """Rank draws without missing values on a device, chains pooled."""
        return DeviceColumns(device, RankTensors.of(on_device(draws, device).flatten(1)))

    def totals(self) -> NDArray[Any]:
        """Concordant minus discordant pairs of draws of every pair of variables, row by row."""
        first, second = self.device.torch.triu_indices(len(self.ties), len(self.ties), 1, device=self.columns.rank.device)
        rank = self.columns.rank
        return numbers(concordance_totals(rank, rank, 0.5 * self.device.planned_bytes())[first, second])

    @property
    def n(self) -> int:
        """Number of draws."""
        return int(self.columns.rank.shape[1])

    @lazy
    def ties(self) -> NDArray[np.int64]:
        """Number of tied pairs of draws of each variable."""
        return np.asarray(numbers(self.columns.ties), np.int64)

    @lazy
    def small(self) -> tuple[Any, Any]:
        """Order and ranks of all variables in 32 bits."""
        return self.columns.order.int(), self.columns.rank.int()

    @property
    def doubled(self) -> bool:
        """Whether there are ties, so that `places` count in steps of half a rank."""
        return bool(self.ties.any())

    @lazy
    def places(self) -> Any:
        """Where the rank of every draw is in tables of all ranks or, if there are ties, of all mid-ranks."""
        return self.columns.doubled - 2 if self.doubled else self.columns.rank

    def tables(self, template: Copula) -> PairTables | None:
        """A family's coordinates of all ranks, and their slopes, as tensors; None for families without formulas for them."""
        margins = Margins(template._margin_key, template)
        if margins not in self._tables:
            found = template._pair_tables(rank_grid(self.n, self.doubled))
            self._tables[margins] = None if found is None else PairTables(*(self.device.tensor(part) for part in found))
        return self._tables[margins]

    def without(self, variables: NDArray[np.intp], start: int, stop: int) -> "DeviceColumns":
        """Some of the variables, without the draws from `start` to `stop`."""
        return DeviceColumns(self.device, self.columns.at(self.device.tensor(variables)).without(start, stop))


class DeviceTable(DeviceColumns):
    """All variables of a sample as ranks on a device.

    `host` has the same in the processor's memory; `chain_sizes`, (variable, chain, draw), how many draws of a chain share each
    value.
    """

    def __init__(self, device: Device, columns: RankTensors, host: RankedTable, chain_sizes: Any) -> None:
        super().__init__(device, columns)
        self.host, self.chain_sizes = host, chain_sizes

    @classmethod
    def of(cls, draws: Draws, device: Device) -> "DeviceTable":
        """Rank draws on a device; those that are on it already do not leave it."""
        torch = device.torch
        by_chain = on_device(draws, device)
        if draws.incomplete:  # pairs of variables with missing values are ranked again, one by one, on the processor
            by_chain = by_chain.nan_to_num(nan=0.0)
        d, n_chains, n_draws = by_chain.shape
        columns = RankTensors.of(by_chain.reshape(d, n_chains * n_draws))
        chains = columns if n_chains == 1 else RankTensors.of(by_chain)
        arrays = [numbers(part.to(torch.int32)) for part in (columns.order, columns.rank)]
        of_chains = [numbers(part.to(torch.int32)).reshape(d, n_chains, n_draws) for part in (chains.order, chains.rank)]
        ties, chain_ties = (numbers(part.ties).astype(np.int64) for part in (columns, chains))
        modes = numbers(columns.size.amax(dim=-1)).astype(np.int64)
        bins = numbers(((columns.doubled - 1) * BINS // (2 * n_chains * n_draws)).to(torch.uint8))
        host = RankedTable(
            arrays[0], arrays[1], ties, modes, of_chains[0], of_chains[1], chain_ties.reshape(d, n_chains), bins,
            np.zeros(d, bool), draws.names,
        )  # fmt: skip
        host = RankedTable.of(draws) if draws.incomplete else host
        return cls(device, columns, host, chains.size.reshape(d, n_chains, n_draws))

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.host.n_chains
