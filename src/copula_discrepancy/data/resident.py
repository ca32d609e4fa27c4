"""Arrays that are on a device: taken over by DLPack, and copied for what the processor does with them."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.tensors.device import Device, numbers
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.naming import errors_about

_CPU = 1  # DLPack's numbers of devices; 3 is memory of the processor that a device can read
_OF_THE_PROCESSOR = (_CPU, 3)
_TENSORS = ("torch", "jax", "jaxlib", "cupy")


def brought_home(given: Any, device: Device | None, whose: str, *, missing: str | None = None) -> Any:
    """Draws whose values are on a device, with a copy in the processor's memory; anything else is returned as it is.

    Parameters
    ----------
    given : object
        What a user passed as draws, or a dictionary with arrays as values.
    device : Device or None
        The device that was asked for.
    whose : str
        "draws" or "reference", for messages.
    missing : str, optional
        See `as_draws`.

    Raises
    ------
    InputError
        For an array on a device if none was asked for, or on another one.
    """
    if isinstance(given, Mapping) and any(is_resident(part) or _is_tensor(part) for part in given.values()):
        # variables of different shapes are put together by their reader, here
        return {name: at_home(part, device, whose) for name, part in given.items()}
    if not is_resident(given):
        return _readable(given)
    tensor = _taken(given, device, whose)
    with errors_about("reference") if whose == "reference" else nullcontext():
        found = as_draws(numbers(tensor), missing=missing)
    if found.incomplete:
        return found
    return replace(found, residence=(found.values, tensor.reshape(found.values.shape)))


def at_home(given: Any, device: Device | None, whose: str) -> Any:
    """An array in the processor's memory, copied if it is on a device; anything else is returned as it is."""
    if is_resident(given):
        return numbers(_taken(given, device, whose))
    return _readable(given)


def _readable(given: Any) -> Any:
    """A tensor in the processor's memory that NumPy can read; anything else as it is."""
    if not _is_tensor(given):
        return given
    plain = given.detach()
    return plain.float() if str(plain.dtype) == "torch.bfloat16" else plain  # whose values are exact in single precision


def is_resident(given: Any) -> bool:
    """Whether an object is an array on a device other than the processor."""
    place = getattr(type(given), "__dlpack_device__", None)
    if isinstance(given, Draws) or not callable(place):
        return False
    return int(given.__dlpack_device__()[0]) not in _OF_THE_PROCESSOR


def is_tensor(given: Any) -> bool:
    """Whether an object is an array of another library than NumPy, wherever it is, that has the values themselves."""
    return type(given).__module__.partition(".")[0] in _TENSORS and hasattr(given, "__dlpack__") and hasattr(given, "reshape")


def _is_tensor(given: Any) -> bool:
    return type(given).__module__.partition(".")[0] == "torch" and hasattr(given, "requires_grad")


def _taken(given: Any, device: Device | None, whose: str) -> Any:
    """An array as a tensor where it is, without a copy."""
    where = getattr(given, "device", "a device")
    if device is None:
        raise InputError(
            f"the {whose} are on {where}, and the comparison is on the processor; use device='cuda', or copy them first",
            "device",
        )
    tensor = given.detach() if _is_tensor(given) else device.torch.from_dlpack(given)
    if tensor.device != device.place:
        raise InputError(
            f"the {whose} are on {tensor.device}, and the comparison is on {device.place}; use device='{tensor.device}', or "
            "move one sample to the device of the other",
            "device",
        )
    # half precision has no NumPy type of its own in every case; its values are exact in single precision
    return tensor.float() if tensor.dtype == device.torch.bfloat16 else tensor
