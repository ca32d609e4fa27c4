"""The device that a computation runs on: the processor, or one that PyTorch reaches."""

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError

CPU, CUDA, AUTO = "cpu", "cuda", "auto"
INSTALL = 'pip install "copula-discrepancy[gpu]"'
_ELSEWHERE = "use device='cpu', or device='auto' to use a GPU where there is one"
_MEMORY_SHARE = 0.6  # of the free memory that is planned with: sorting, FFTs and fragments need the rest
_LEAST_MEMORY = 2**28  # bytes to plan with where nothing is free: tiles are as small as they get
_STAGED = 2**20  # bytes: smaller arrays are copied through memory that a device reads by itself, so that nothing waits for it
_HOST_MEMORY = 2**31  # bytes to plan with on a processor that stands in for a device
_TURNS = 3  # parts on the device at a time: one computes while the processor looks at the numbers of others


@dataclass(frozen=True, eq=False)
class Device:
    """A device that PyTorch reaches.

    Attributes
    ----------
    torch : module
        PyTorch.
    place : torch.device
        Where tensors are.
    name : str
        The name of the device, such as "NVIDIA H200".
    """

    torch: Any
    place: Any
    name: str
    _turns: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(_TURNS), repr=False)

    @property
    def is_cuda(self) -> bool:
        """Whether it is a graphics processor."""
        return bool(self.place.type == CUDA)

    def tensor(self, array: Any, dtype: Any = None) -> Any:
        """An array, or a tensor, on the device."""
        if isinstance(array, np.ndarray):
            array = np.ascontiguousarray(array)
            if not array.flags.writeable:  # which PyTorch warns of: a copy to another device changes nothing
                array = np.asarray(_Writeable(array)) if self.is_cuda else array.copy()
        tensor = self.torch.as_tensor(array, dtype=dtype)
        if self.is_cuda and not tensor.is_cuda and tensor.nbytes <= _STAGED:
            return tensor.pin_memory().to(self.place, non_blocking=True)
        return tensor.to(self.place)

    @property
    def workers(self) -> int:
        """How many threads keep it busy: more would only take the interpreter from each other."""
        return _TURNS + 2

    def planned_bytes(self) -> float:
        """Bytes of memory that one part of a computation may take."""
        if not self.is_cuda:
            return _HOST_MEMORY / _TURNS
        free, _ = self.torch.cuda.mem_get_info(self.place)
        held = self.torch.cuda.memory_reserved(self.place) - self.torch.cuda.memory_allocated(self.place)
        return max(_MEMORY_SHARE * (free + held), _LEAST_MEMORY) / _TURNS

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A context in which a part of a computation may use the device's memory; running out of it is a MemoryError."""
        with self._turns:
            try:
                yield
            except self.torch.OutOfMemoryError as error:
                raise MemoryError(f"{self.name}: {error!s:.200}") from None
            finally:
                if self.is_cuda:
                    self.torch.cuda.synchronize(self.place)

    def give_back(self) -> None:
        """Hand unused memory back, after running out of it."""
        if self.is_cuda:
            self.torch.cuda.empty_cache()


class _Writeable:
    """The memory of an array that must not be changed, for a reader that does not."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}


def numbers(tensor: Any) -> NDArray[Any]:
    """A tensor as an array in the processor's memory."""
    found: NDArray[Any] = tensor.detach().cpu().numpy()
    return found


def stacked_numbers(tensors: Sequence[Any]) -> NDArray[Any]:
    """Tensors of one shape as one array, (tensor, ...), in the processor's memory, copied at once."""
    torch = import_module("torch")
    return numbers(torch.stack(list(tensors)))


def named_device(device: Device | None) -> dict[str, Any]:
    """What results say of where they were computed: "cpu" or such as "cuda:0", and the name of a device that is not."""
    return {"device": CPU if device is None else str(device.place), "device_name": "" if device is None else device.name}


def checked_device(device: Any) -> tuple[Device | None, tuple[str, ...]]:
    """The device asked for, None for the processor, and a note if "auto" found no other.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"}, "cuda:1", or torch.device
        A torch.device is used as it is: that of the processor runs the same operations there, which is slower than "cpu".

    Raises
    ------
    InputError
        For anything else, without PyTorch, and for a device that is not there.
    """
    if isinstance(device, str):
        if device == CPU:
            return None, ()
        if device == AUTO:
            missing = _missing()
            if missing is None:
                return _found(CUDA), ()
            logging.getLogger("copula_discrepancy").info("device='auto' uses the processor: %s", missing)
            return None, (f"device='auto' used the processor: {missing}",)
        if device != CUDA and not device.startswith(f"{CUDA}:"):
            raise InputError(
                f"device must be 'cpu', 'cuda', one of several such as 'cuda:1', or 'auto', got {device!r}", "unknown-name"
            )
        missing = _missing()
        if missing is not None:
            raise InputError(f"device={device!r} cannot be used: {missing}; {_ELSEWHERE}", "dependency")
        return _found(device), ()
    if type(device).__module__ == "torch" and type(device).__name__ == "device":
        if device.type == CUDA and _missing() is not None:
            raise InputError(f"device={device!r} cannot be used: {_missing()}; {_ELSEWHERE}", "dependency")
        return _found(device), ()
    raise InputError(f"device must be 'cpu', 'cuda', 'auto' or a torch.device, got {device!r:.60}", "argument")


def _missing() -> str | None:
    """Why no graphics processor can be used, or None."""
    if find_spec("torch") is None:
        return f"PyTorch is not installed ({INSTALL})"
    torch = import_module("torch")
    if not torch.cuda.is_available():
        if torch.version.cuda is None:
            return f"this build of PyTorch, {torch.__version__}, has no CUDA (see pytorch.org for one that has)"
        return f"PyTorch {torch.__version__} finds no CUDA device"
    return None


def _found(device: Any) -> Device:
    """The device of a name, which PyTorch knows."""
    torch = import_module("torch")
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise InputError(
            f"device={device!r} is none that PyTorch knows ({error!s:.80}); {_ELSEWHERE}", "unknown-name"
        ) from None
    if place.type == CUDA:
        count = torch.cuda.device_count()
        index = torch.cuda.current_device() if place.index is None else place.index
        if not 0 <= index < count:
            raise InputError(f"device={device!r} is not there; there are {count}, from 'cuda:0' on; {_ELSEWHERE}", "argument")
        return _kept(torch, torch.device(CUDA, index), torch.cuda.get_device_name(index))
    if place.type != CPU:
        raise InputError(f"device={device!r} has no float64, which rank statistics need; {_ELSEWHERE}", "argument")
    return _kept(torch, place, f"processor, through PyTorch ({os.cpu_count()} cores)")


_DEVICES: dict[str, Device] = {}


def _kept(torch: Any, place: Any, name: str) -> Device:
    """One object for each device, whose turns all calls share."""
    return _DEVICES.setdefault(str(place), Device(torch, place, name))
