"""Whether Triton's kernels can be used, and where they run."""

from contextlib import nullcontext
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import torch


@lru_cache(maxsize=1)
def _has_triton() -> bool:
    return find_spec("triton") is not None


def fused(tensor: Any) -> bool:
    """Whether a tensor is on a graphics processor for which Triton is there."""
    return bool(tensor.is_cuda) and _has_triton()


def beside(tensor: Any) -> Any:
    """A context in which kernels run where a tensor is; Triton's interpreter has no devices."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()
