"""A user's log density or gradient as one validated function of all chains."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from copula_discrepancy._core.checks import FloatArray, real_array
from copula_discrepancy._core.errors import InputError

Evaluation = Callable[[FloatArray], FloatArray]


def required_arguments(function: Any) -> int:
    """Number of required positional arguments; 1 if the signature cannot be read."""
    if not callable(function):
        rule = "target must be a function or a target such as GaussianTarget(mean, covariance)"
        raise InputError(f"{rule}, got {function!r:.60}")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some compiled functions have no signature
        return 1
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    named = [p.name for p in required if p.kind is p.KEYWORD_ONLY]
    if named:
        raise InputError(f"target must be callable with positional arguments alone, but it requires {', '.join(named)}")
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return 1 if takes_any and not required else len(required)


def user_log_density(function: Any, *, vectorized: bool) -> Evaluation:
    """Log densities (chains,) at points (chains, d)."""
    if required_arguments(function) != 1:
        raise InputError("target of metropolis must be a log density f(x) of one argument; set a default for the others")

    def call(x: FloatArray) -> FloatArray:
        return _shaped(function(x.copy()), "log density", x.shape[:-1], vectorized)

    return call if vectorized else lambda x: np.array([call(point) for point in x])


def user_gradient(
    function: Any, streams: list[np.random.Generator], shared: np.random.Generator, *, vectorized: bool
) -> Evaluation:
    """Gradients (chains, d) at points (chains, d); a stochastic one draws from its chain's stream, or from the shared one."""
    count = required_arguments(function)
    if count not in (1, 2):
        found = f"it requires {count} arguments; set a default for the others"
        raise InputError(f"target must be a gradient g(x) or g(x, rng), but {found}")

    def call(x: FloatArray, rng: np.random.Generator) -> FloatArray:
        value = function(x.copy()) if count == 1 else function(x.copy(), rng)
        return _shaped(value, "gradient", x.shape, vectorized)

    if vectorized:
        return lambda x: call(x, shared)
    return lambda x: np.stack([call(point, rng) for point, rng in zip(x, streams, strict=True)])


def _shaped(value: Any, what: str, shape: tuple[int, ...], vectorized: bool) -> FloatArray:
    array = real_array(value, f"the {what}")
    if array.shape != shape:
        advice = "" if vectorized else "; with vectorized=True it is called with all chains at once"
        raise InputError(f"the {what} must have shape {shape} like its point, got {array.shape}{advice}", "shape")
    return array.astype(np.float64)
