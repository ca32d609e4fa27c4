"""Formulas that hold for arrays of NumPy and for tensors of PyTorch: the functions of whichever they are given."""

from contextlib import nullcontext
from importlib import import_module
from typing import Any

import numpy as np


def namespace(values: Any) -> Any:
    """NumPy for its arrays and for numbers; the same names for tensors."""
    if isinstance(values, np.ndarray | float | int | np.generic):
        return np
    return _tensor_functions()


class _TensorFunctions:
    """PyTorch's functions under NumPy's names; a number may stand for a tensor where NumPy allows that."""

    def __init__(self) -> None:
        self._torch = torch = import_module("torch")
        for name in ("exp", "expm1", "log", "log1p", "sqrt", "abs", "tanh", "sinh", "cosh", "sign", "logaddexp", "where"):
            setattr(self, name, getattr(torch, name))
        for name in ("amax", "copysign", "einsum", "matmul", "stack"):
            setattr(self, name, getattr(torch, name))
        self.arcsinh, self.hypot, self.expit = torch.asinh, torch.hypot, torch.sigmoid
        self.permute_dims, self.concat = torch.permute, torch.cat

    def maximum(self, x: Any, y: Any) -> Any:
        return x.clamp(min=y) if isinstance(y, float) else self._torch.maximum(x, y)

    def minimum(self, x: Any, y: Any) -> Any:
        return x.clamp(max=y) if isinstance(y, float) else self._torch.minimum(x, y)

    @staticmethod
    def ascontiguousarray(x: Any) -> Any:
        return x.contiguous()

    @staticmethod
    def errstate(**kinds: str) -> Any:
        """Tensors do not warn."""
        return nullcontext()


_FUNCTIONS: list[_TensorFunctions] = []


def _tensor_functions() -> _TensorFunctions:
    if not _FUNCTIONS:
        _FUNCTIONS.append(_TensorFunctions())
    return _FUNCTIONS[0]


def in_double_precision(values: Any) -> Any:
    """An array or tensor as float64."""
    return values.astype(np.float64) if isinstance(values, np.ndarray) else values.double()


def in_single_precision(values: Any) -> Any:
    """An array or tensor as float32."""
    return np.asarray(values, np.float32) if isinstance(values, np.ndarray) else values.float()
