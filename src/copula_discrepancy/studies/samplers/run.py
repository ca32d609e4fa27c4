"""Metropolis, SGLD and SGHMC over several chains.

Every chain has two random streams: one of normal noise, one of choices (acceptances or minibatches). Noise is drawn in blocks
and passed to a mover, which returns the states after each step; compiled and plain movers do the same arithmetic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from copula_discrepancy._core.checks import FloatArray, RandomSource, real_array, spawned, true_or_false, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.kernels import samplers as kernels
from copula_discrepancy.studies.samplers.callables import Evaluation, required_arguments, user_gradient, user_log_density
from copula_discrepancy.studies.samplers.chains import Chains
from copula_discrepancy.studies.samplers.targets import Compiled, Target, positive_number

_BLOCK_STEPS = 4096
_BLOCK_NUMBERS = 2**20  # numbers of noise or indices at a time: eight megabytes

Mover = Callable[[FloatArray, int], FloatArray]  # noise (chain, step, d) and steps done before -> states (chain, step, d)


class DivergenceError(InputError):
    """A chain diverged: its state, log density or gradient is no longer finite.

    Parameters
    ----------
    message : str
        The error message.
    chain : int
        The chain, counted from 0.
    step_number : int
        The step, counted from 1, burn-in included.

    See Also
    --------
    tune : Reports a divergence for its setting and continues with the others.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> try:
    ...     cd.sgld(cd.GaussianTarget([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]), [1.0, 1.0], step=1000.0, n_draws=2000, rng=0)
    ... except cd.DivergenceError as error:
    ...     print(error.chain, error.step_number > 1)
    0 True
    """

    def __init__(self, message: str, chain: int, step_number: int) -> None:
        super().__init__(message, "infinite")
        self.chain = chain
        self.step_number = step_number

    def __reduce__(self) -> tuple[Any, ...]:  # by default an exception is unpickled from its message only
        return type(self), (str(self), self.chain, self.step_number)


def metropolis(
    target: Any,
    start: ArrayLike,
    *,
    scale: ArrayLike,
    n_draws: int = 1000,
    burn_in: int = 500,
    thin: int = 1,
    rng: RandomSource = None,
    vectorized: bool = False,
) -> Chains:
    """Chains of random-walk Metropolis: x' = x + scale N(0, I), accepted with probability min(1, p(x')/p(x)).

    The sampler of Metropolis et al. (1953), for studies: the scale is not adapted.

    Parameters
    ----------
    target : Target or callable
        A built-in target, or a log density f(x), up to a constant; -inf outside the support, NaN and +inf are errors.
    start : array (chains, d) or (d,)
        Initial states.
    scale : float or array (d,)
        Standard deviation of the proposals.
    n_draws, burn_in, thin : int
        Draws kept per chain, steps discarded before the first of them, steps per draw: every thin-th step is kept.
    rng : int, Generator, SeedSequence or None
        Seed or source of randomness. A chain depends on the seed and on its index only.
    vectorized : bool
        Whether a user's function accepts all chains at once, (chains, d) -> (chains,), instead of (d,) -> float.

    Returns
    -------
    Chains
        The states kept, and the share of proposals accepted. A rejected proposal repeats the state, so draws have ties.

    Raises
    ------
    DivergenceError
        If the log density of a proposal is NaN or +inf.

    See Also
    --------
    sgld, sghmc : Gradient-based samplers, with a bias.
    tune : Find the scale that keeps the dependence.

    References
    ----------
    Metropolis, N., Rosenbluth, A. W., Rosenbluth, M. N., Teller, A. H. and Teller, E. (1953). Equation of state calculations by
    fast computing machines. Journal of Chemical Physics 21, 1087-1092.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.metropolis(lambda x: -0.5 * x @ x, [0.0, 0.0], scale=1.5, n_draws=200, rng=0).values.shape
    (1, 200, 2)
    """
    run = _prepared("metropolis", target, start, n_draws, burn_in, thin, rng, vectorized)
    x, compiled, settings = run.x, run.compiled, run.settings
    spread = _checked_scale(scale, x.shape[1])
    settings["scale"] = float(spread[0]) if np.ndim(scale) == 0 else spread.tolist()
    builtin = isinstance(target, Target)
    evaluate: Evaluation = target.log_density if builtin else user_log_density(target, vectorized=vectorized)
    current = evaluate(x) if compiled is None else kernels.log_densities(*compiled, x)
    for chain, value in enumerate(current):
        if not np.isfinite(value):
            rule = f"the log density at the start of chain {chain} must be finite, got {value:g} at {x[chain].tolist()}"
            raise InputError(f"{rule}; start inside the support", "infinite")
    accepted_after = np.zeros(len(x))

    def move(noise: FloatArray, before: int) -> FloatArray:
        threshold = np.stack([stream.standard_exponential(noise.shape[1]) for stream in run.choices])
        path, accepted = np.empty_like(noise), np.zeros(noise.shape[:2], np.bool_)
        if compiled is not None:
            chain, step = kernels.metropolis_path(*compiled, x, current, spread, noise, threshold, path, accepted)
            if chain >= 0:
                raise _wrong_density(chain, before + step + 1, "NaN or +inf")
        else:  # the same for a log density in Python
            for t in range(noise.shape[1]):
                proposal = x + spread * noise[:, t]
                value = evaluate(proposal)
                wrong = ~(value < np.inf)
                if wrong.any():
                    chain = int(np.argmax(wrong))
                    raise _wrong_density(chain, before + t + 1, f"{value[chain]:g} at {proposal[chain].tolist()}")
                # the negative log of a uniform number is exponential
                now = accepted[:, t] = value > current - threshold[:, t]
                x[now], current[now] = proposal[now], value[now]
                path[:, t] = x
        accepted_after[:] += accepted[:, max(settings["burn_in"] - before, 0) :].sum(axis=1)
        return path

    values = run.collected(move)
    return Chains(values, run.sampler, settings, accepted_after / (settings["n_draws"] * settings["thin"]))


def _wrong_density(chain: int, step: int, found: str) -> InputError:
    where = f"for a proposal of metropolis in chain {chain} at step {step}; return -inf outside the support"
    return DivergenceError(f"the log density must be a number or -inf, got {found} {where}", chain, step)


def sgld(
    target: Any,
    start: ArrayLike,
    *,
    step: float,
    n_draws: int = 1000,
    burn_in: int = 500,
    thin: int = 1,
    rng: RandomSource = None,
    vectorized: bool = False,
) -> Chains:
    """Chains of stochastic gradient Langevin dynamics: x <- x + step/2 grad log p(x) + sqrt(step) N(0, I).

    The step size is constant, so the chains keep a bias of order `step`, and with minibatches also that of their noise (Welling
    and Teh, 2011).

    Parameters
    ----------
    target : Target or callable
        A built-in target, or a gradient of the log density. A function with one required positional argument is g(x); with two
        it is a stochastic gradient g(x, rng), and `rng` is its chain's own Generator.
    start : array (chains, d) or (d,)
        Initial states.
    step : float
        Step size > 0.
    n_draws, burn_in, thin : int
        Draws kept per chain, steps discarded before the first of them, steps per draw: every thin-th step is kept.
    rng : int, Generator, SeedSequence or None
        Seed or source of randomness. A chain depends on the seed and on its index only.
    vectorized : bool
        Whether a user's function takes all chains at once, (chains, d) -> (chains, d), instead of (d,) -> (d,); a stochastic
        gradient then gets one Generator for all chains.

    Returns
    -------
    Chains
        The states kept.

    Raises
    ------
    DivergenceError
        If a state or a gradient is NaN or infinite.

    See Also
    --------
    sghmc : The same with momentum.
    metropolis : Unbiased, and needs no gradient.
    tune : Find the step that keeps the dependence.

    References
    ----------
    Welling, M. and Teh, Y. W. (2011). Bayesian learning via stochastic gradient Langevin dynamics. Proceedings of the 28th
    International Conference on Machine Learning, 681-688.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.sgld(cd.BimodalMixture(), [[1.5, 1.5], [-1.5, -1.5]], step=0.01, n_draws=200, rng=0).values.shape
    (2, 200, 2)
    """
    run = _prepared("sgld", target, start, n_draws, burn_in, thin, rng, vectorized)
    x, size = run.x, positive_number(step, "step")
    run.settings["step"] = size
    gradient = run.gradient(vectorized)

    def advance(noise: FloatArray) -> int:
        x[:] = x + 0.5 * size * gradient(x) + np.sqrt(size) * noise
        return _first_not_finite(x)

    return run.gradient_chains(kernels.sgld_path, (x, size), advance)


def sghmc(
    target: Any,
    start: ArrayLike,
    *,
    step: float,
    friction: float,
    n_draws: int = 1000,
    burn_in: int = 500,
    thin: int = 1,
    rng: RandomSource = None,
    vectorized: bool = False,
) -> Chains:
    """Chains of stochastic gradient Hamiltonian Monte Carlo with friction (Chen, Fox and Guestrin, 2014, equation 13).

    x <- x + step v, then v <- v + step grad log p(x) - step friction v + sqrt(2 friction step) N(0, I); v starts as N(0, I).
    The noise of minibatches is not estimated, so `friction` should outweigh it.

    Parameters
    ----------
    target : Target or callable
        As for `sgld`.
    start : array (chains, d) or (d,)
        Initial states.
    step : float
        Step size > 0.
    friction : float
        Friction > 0.
    n_draws, burn_in, thin : int
        Draws kept per chain, steps discarded before the first of them, steps per draw.
    rng : int, Generator, SeedSequence or None
        Seed or source of randomness.
    vectorized : bool
        Whether a user's function takes all chains at once; see `sgld`.

    Returns
    -------
    Chains
        The states kept, without velocities.

    Raises
    ------
    DivergenceError
        If a state, a velocity or a gradient is NaN or infinite.

    See Also
    --------
    sgld : The same without momentum.
    tune : Find the step or the friction that keeps the dependence.

    References
    ----------
    Chen, T., Fox, E. B. and Guestrin, C. (2014). Stochastic gradient Hamiltonian Monte Carlo. Proceedings of the 31st
    International Conference on Machine Learning, 1683-1691.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.sghmc(cd.WellingTeh(batch=10), [0.0, 1.0], step=0.01, friction=5.0, n_draws=200, rng=0).values.shape
    (1, 200, 2)
    """
    run = _prepared("sghmc", target, start, n_draws, burn_in, thin, rng, vectorized)
    x, size, drag = run.x, positive_number(step, "step"), positive_number(friction, "friction")
    run.settings.update(step=size, friction=drag)
    gradient = run.gradient(vectorized)
    v = np.stack([stream.standard_normal(x.shape[1]) for stream in run.noise])

    def advance(noise: FloatArray) -> int:
        x[:] = x + size * v
        failed = _first_not_finite(x)
        if failed >= 0:  # do not evaluate a user's gradient there
            return failed
        v[:] = v + size * gradient(x) - size * drag * v + np.sqrt(2.0 * drag * size) * noise
        return _first_not_finite(v)

    return run.gradient_chains(kernels.sghmc_path, (x, v, size, drag), advance)


# ---- shared parts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Run:
    """A validated run: its target, its states (changed in place), its streams and its settings."""

    sampler: str
    target: Any
    compiled: Compiled | None
    x: FloatArray
    noise: list[np.random.Generator]
    choices: list[np.random.Generator]
    shared: np.random.Generator
    settings: dict[str, Any]

    @property
    def batch(self) -> int:
        """Size of a minibatch, 0 for none."""
        return (self.target.batch or 0) if isinstance(self.target, Target) else 0

    def gradient(self, vectorized: bool) -> Evaluation:
        """The gradient of the log density at the states of all chains."""
        if isinstance(self.target, Target):
            return self.target.gradient
        return user_gradient(self.target, self.choices, self.shared, vectorized=vectorized)

    def gradient_chains(self, kernel: Any, state: tuple[Any, ...], advance: Callable[[FloatArray], int]) -> Chains:
        """Chains moved by a compiled loop from `state`, or step by step by `advance`, which returns a chain that diverged."""

        def move(noise: FloatArray, before: int) -> FloatArray:
            path = np.empty_like(noise)
            if self.compiled is not None:
                chain, step = kernel(*self.compiled, *state, noise, self._batches(noise.shape[1]), path)
                self._require_finite(chain, before + step + 1)
                return path
            for t in range(noise.shape[1]):
                self._require_finite(advance(noise[:, t]), before + t + 1)
                path[:, t] = self.x
            return path

        return Chains(self.collected(move), self.sampler, self.settings)

    def collected(self, move: Mover) -> FloatArray:
        """All states kept, on the scale of the draws."""
        chains, d = self.x.shape
        n_draws, burn_in, thin = (self.settings[name] for name in ("n_draws", "burn_in", "thin"))
        values = np.empty((chains, n_draws, d))
        total = burn_in + n_draws * thin
        longest = max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // (chains * max(d, self.batch))))
        for before in range(0, total, longest):
            steps = min(longest, total - before)
            noise = np.stack([stream.standard_normal((steps, d)) for stream in self.noise])
            with np.errstate(over="ignore", invalid="ignore"):  # a divergence is reported, with its chain and step
                path = move(noise, before)
            # state t of this block follows step before + t + 1; draw k is the state after step burn_in + (k + 1) thin
            first = max(-(-(before + 1 - burn_in) // thin), 1)
            kept = path[:, burn_in + first * thin - before - 1 :: thin]
            values[:, first - 1 : first - 1 + kept.shape[1]] = kept
        values = self.target._draw_points(values) if isinstance(self.target, Target) else values
        values.flags.writeable = False
        return values

    def _batches(self, steps: int) -> NDArray[np.int64]:
        """Indices of the minibatches of a block of steps, (chain, step, batch)."""
        if self.batch == 0 or self.compiled is None:
            return np.empty((len(self.x), steps, 0), np.int64)
        size = self.compiled.data.size
        return np.stack([stream.integers(size, size=(steps, self.batch)) for stream in self.choices])

    def _require_finite(self, chain: int, step: int) -> None:
        if chain >= 0:
            choices = " and ".join(f"{key}={self.settings[key]:g}" for key in ("step", "friction") if key in self.settings)
            reason = "the state or the gradient of the log density is not finite"
            found = f"{self.sampler} with {choices} diverged in chain {chain} at step {step}: {reason}"
            advice = "use a smaller step, or start closer to the bulk of the target"
            raise DivergenceError(f"{found}; {advice}", chain, step)


def _prepared(
    sampler: str, target: Any, start: Any, n_draws: Any, burn_in: Any, thin: Any, rng: RandomSource, vectorized: Any
) -> _Run:
    true_or_false(vectorized, "vectorized")
    builtin = isinstance(target, Target)
    if not builtin:
        required_arguments(target)
    name = repr(target) if builtin else getattr(target, "__name__", type(target).__name__)
    counts = ("n_draws", n_draws, 1), ("burn_in", burn_in, 0), ("thin", thin, 1)
    settings = {"target": name} | {count: whole_number(value, count, least) for count, value, least in counts}
    x = _checked_start(start, target)
    # the first child serves all chains, so that the streams of chain k do not depend on the number of chains
    shared, *chains = spawned(rng, 1 + len(x))
    noise, choices = map(list, zip(*(chain.spawn(2) for chain in chains), strict=True))
    return _Run(sampler, target, target._compiled() if builtin else None, x, noise, choices, shared, settings)


def _checked_start(start: Any, target: Any) -> FloatArray:
    """The initial states, (chains, d), on the scale on which the chains move."""
    given = real_array(start, "start")
    if given.ndim not in (1, 2) or given.size == 0:
        raise InputError(f"start must have shape (chains, d), or (d,) for one chain, got {given.shape}", "shape")
    x = np.array(np.atleast_2d(given), dtype=np.float64, order="C")
    if not np.isfinite(x).all():
        raise InputError(f"start must be finite, got {x[~np.isfinite(x)][0]:g}", "infinite")
    if not isinstance(target, Target):
        return x
    if x.shape[1] != target.d:
        raise InputError(f"start must have {target.d} columns for {target!r}, got shape {given.shape}", "shape")
    return np.array(target._chain_points(x), order="C")


def _checked_scale(scale: Any, d: int) -> FloatArray:
    array = real_array(scale, "scale")
    if array.ndim == 0:
        return np.full(d, positive_number(scale, "scale"))
    if array.shape != (d,) or array.dtype.kind == "b":
        raise InputError(f"scale must be a number or have shape ({d},), one per variable, got shape {array.shape}", "shape")
    if not ((array > 0) & np.isfinite(array)).all():
        raise InputError(f"scale must be > 0 and finite, got {array.tolist()}")
    return array.astype(np.float64)


def _first_not_finite(x: FloatArray) -> int:
    """The first chain with a value that is not finite, or -1."""
    finite = np.isfinite(x).all(axis=1)
    return -1 if finite.all() else int(np.argmin(finite))
