"""Sums and quadratic forms of Stein kernels on a device."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.tensors.device import Device, numbers
from copula_discrepancy._core.tensors.stein import SteinPoints, in_single_precision, quadratic_forms, row_sums
from copula_discrepancy.studies.baselines.imq import Kernel, Points

_SMALLER = 4.0  # when the memory that was free has been taken by others, tiles shrink by this factor, twice


class DeviceSums:
    """Sums on a device; see `imq.SteinSums`."""

    def __init__(self, device: Device) -> None:
        self.device, self.single = device, False

    def row_sums(self, points: Points, kernel: Kernel) -> NDArray[np.float64]:
        """See `SteinSums`."""

        def sums(budget: float) -> Any:
            there = self._points(points, kernel)
            self.single = in_single_precision(there)
            return row_sums(there, budget)

        return self._with_memory(sums)

    def quadratic_forms(self, points: Points, kernel: Kernel, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `SteinSums`."""
        return self._with_memory(
            lambda budget: quadratic_forms(self._points(points, kernel), self.device.tensor(weights), budget)
        )

    def _points(self, points: Points, kernel: Kernel) -> SteinPoints:
        # rows of the transposed arrays are adjacent in memory if they are draws; they are turned there
        x, score = (self.device.tensor(part.T).T.contiguous() for part in points)
        return SteinPoints.of(x, score, kernel.c, kernel.beta)

    def _with_memory(self, compute: Any) -> NDArray[np.float64]:
        """The result of a computation within a budget of memory, which is reduced if it is exceeded."""
        for attempt in range(3):
            try:
                with self.device.turn():
                    return numbers(compute(self.device.planned_bytes() / _SMALLER**attempt))
            except MemoryError as error:
                message = str(error)
            self.device.give_back()
        raise InputError(
            f"the device ran out of memory ({message}), even with small tiles; free some of it, or use device='cpu'", "memory"
        )
