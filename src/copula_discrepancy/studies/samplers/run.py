"""Metropolis, SGLD and SGHMC over several chains.

Every chain has two streams of its own: one of normal noise, one of choices (acceptances or minibatches). Noise is drawn in
blocks and handed to a mover, which returns the states after each step; compiled and plain movers do the same arithmetic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from copula_discrepancy._core.checks import FloatArray, RandomSource, random_generator, real_array, true_or_false, whole_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.kernels import samplers as kernels
from copula_discrepancy.studies.samplers.callables import Evaluation, required_arguments, user_gradient, user_log_density
from copula_discrepancy.studies.samplers.chains import Chains
from copula_discrepancy.studies.samplers.targets import Compiled, Target, positive_number

_BLOCK_STEPS = 4096
_BLOCK_NUMBERS = 2**20  # of noise or of indices at a time: eight megabytes

Mover = Callable[[FloatArray, int], FloatArray]  # noise (chain, step, d) and steps done before -> states (chain, step, d)


class DivergenceError(InputError):
    """A chain left the finite numbers; `chain` and `step_number` (from 1, burn-in included) say where.

    Parameters
    ----------
    message : str
        What to say.
    chain : int
        The chain, counted from 0.
    step_number : int
        Its step, counted from 1.

    See Also
    --------
    tune : Reports it for a setting and goes on with the others.

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
        super().__init__(message)
        self.chain = chain
        self.step_number = step_number

    def __reduce__(self) -> tuple[Any, ...]:  # an exception is rebuilt from its message alone otherwise
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

    The sampler of Metropolis et al. (1953), for studies: it has no adaptation.

    Parameters
    ----------
    target : Target or callable
        A built-in target, or a log density f(x), up to a constant: -inf outside the support; NaN and +inf are errors.
    start : array (chains, d) or (d,)
        Where the chains begin.
    scale : float or array (d,)
        Standard deviation of the proposals.
    n_draws, burn_in, thin : int
        Draws kept per chain, steps before the first one counts, steps per draw: every thin-th step is kept.
    rng : int, Generator, SeedSequence or None
        Seed or source of randomness. The numbers of a chain depend on the seed and on its place only.
    vectorized : bool
        Whether a user's function takes all chains at once, (chains, d) -> (chains,), instead of (d,) -> float.

    Returns
    -------
    Chains
        The kept states and the share of accepted proposals. A rejected proposal repeats the state: such ties are part of the
        sample.

    Raises
    ------
    DivergenceError
        When the log density of a proposal is NaN or +inf.

    See Also
    --------
    sgld, sghmc : Samplers that follow the gradient, with a bias.
    tune : Which scale keeps the dependence.

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
    plan = _plan("metropolis", target, start, n_draws, burn_in, thin, rng, vectorized)
    spread = _checked_scale(scale, plan.x.shape[1])
    plan.settings["scale"] = float(spread[0]) if np.ndim(scale) == 0 else spread.tolist()
    log_density = plan.target.log_density if isinstance(plan.target, Target) else None
    evaluate: Evaluation = log_density or user_log_density(target, vectorized=vectorized)
    compiled = plan.compiled
    x = plan.x
    current = evaluate(x) if compiled is None else kernels.log_densities(*compiled, x)
    for chain, value in enumerate(current):
        if not np.isfinite(value):
            raise InputError(
                f"the log density at the start of chain {chain} must be finite, got {value:g} at {x[chain].tolist()}; "
                "start inside the support"
            )
    accepted_after = np.zeros(len(x))

    def move(noise: FloatArray, before: int) -> FloatArray:
        threshold = np.stack([stream.standard_exponential(noise.shape[1]) for stream in plan.choices])
        path, accepted = np.empty_like(noise), np.zeros(noise.shape[:2], np.bool_)
        if compiled is not None:
            chain, step = kernels.metropolis_path(*compiled, x, current, spread, noise, threshold, path, accepted)
            if chain >= 0:
                raise _wrong_density(chain, before + step + 1, "NaN or +inf")
        else:
            _metropolis_steps(evaluate, x, current, spread, noise, threshold, path, accepted, before)
        accepted_after[:] += accepted[:, max(plan.settings["burn_in"] - before, 0) :].sum(axis=1)
        return path

    values = _collect(plan, move)
    return Chains(values, plan.sampler, plan.settings, accepted_after / (plan.settings["n_draws"] * plan.settings["thin"]))


def _metropolis_steps(
    evaluate: Evaluation,
    x: FloatArray,
    current: FloatArray,
    scale: FloatArray,
    noise: FloatArray,
    threshold: FloatArray,
    path: FloatArray,
    accepted: NDArray[np.bool_],
    before: int,
) -> None:
    for t in range(noise.shape[1]):
        proposal = x + scale * noise[:, t]
        value = evaluate(proposal)
        wrong = ~(value < np.inf)
        if wrong.any():
            chain = int(np.argmax(wrong))
            raise _wrong_density(chain, before + t + 1, f"{value[chain]:g} at {proposal[chain].tolist()}")
        # minus the log of a uniform number is exponential
        accepted[:, t] = value > current - threshold[:, t]
        x[accepted[:, t]] = proposal[accepted[:, t]]
        current[accepted[:, t]] = value[accepted[:, t]]
        path[:, t] = x


def _wrong_density(chain: int, step: int, found: str) -> InputError:
    return DivergenceError(
        f"the log density must be a number or -inf, got {found} for a proposal of metropolis in chain {chain} at step {step}; "
        "return -inf outside the support",
        chain,
        step,
    )


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

    The step stays as it is, so the chains keep a bias of order `step`, and with minibatches also that of their noise (Welling
    and Teh, 2011).

    Parameters
    ----------
    target : Target or callable
        A built-in target, or a gradient of the log density. A function with one required positional argument is g(x); with two
        it is a stochastic gradient g(x, rng), and `rng` is its chain's own Generator.
    start : array (chains, d) or (d,)
        Where the chains begin.
    step : float
        Step size > 0.
    n_draws, burn_in, thin : int
        Draws kept per chain, steps before the first one counts, steps per draw: every thin-th step is kept.
    rng : int, Generator, SeedSequence or None
        Seed or source of randomness. The numbers of a chain depend on the seed and on its place only.
    vectorized : bool
        Whether a user's function takes all chains at once, (chains, d) -> (chains, d), instead of (d,) -> (d,); a stochastic
        gradient then gets one Generator for all chains.

    Returns
    -------
    Chains
        The kept states.

    Raises
    ------
    DivergenceError
        When a state or a gradient is NaN or infinite.

    See Also
    --------
    sghmc : The same with momentum.
    metropolis : Without a bias, and without a gradient.
    tune : Which step keeps the dependence.

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
    plan = _plan("sgld", target, start, n_draws, burn_in, thin, rng, vectorized)
    size = plan.settings["step"] = positive_number(step, "step")
    evaluate = _gradient_of(plan, vectorized)
    x = plan.x

    def move(noise: FloatArray, before: int) -> FloatArray:
        path = np.empty_like(noise)
        if plan.compiled is not None:
            chain, step_failed = kernels.sgld_path(*plan.compiled, x, size, noise, _batches(plan, noise.shape[1]), path)
            _require_finite(plan, chain, step_failed, before)
            return path
        for t in range(noise.shape[1]):
            x[:] = x + 0.5 * size * evaluate(x) + np.sqrt(size) * noise[:, t]
            _require_finite(plan, _first_not_finite(x), t, before)
            path[:, t] = x
        return path

    return Chains(_collect(plan, move), plan.sampler, plan.settings)


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
        As for `sgld`, and so are `start`, `step` and all that follow `friction`.
    start : array (chains, d) or (d,)
        Where the chains begin.
    step : float
        Step size > 0.
    friction : float
        Friction > 0.
    n_draws, burn_in, thin : int
        Draws kept per chain, steps before the first one counts, steps per draw.
    rng : int, Generator, SeedSequence or None
        Seed or source of randomness.
    vectorized : bool
        Whether a user's function takes all chains at once.

    Returns
    -------
    Chains
        The kept states, without velocities.

    Raises
    ------
    DivergenceError
        When a state, a velocity or a gradient is NaN or infinite.

    See Also
    --------
    sgld : The same without momentum.
    tune : Which step, or which friction, keeps the dependence.

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
    plan = _plan("sghmc", target, start, n_draws, burn_in, thin, rng, vectorized)
    size = plan.settings["step"] = positive_number(step, "step")
    drag = plan.settings["friction"] = positive_number(friction, "friction")
    evaluate = _gradient_of(plan, vectorized)
    x = plan.x
    v = np.stack([stream.standard_normal(x.shape[1]) for stream in plan.noise])

    def move(noise: FloatArray, before: int) -> FloatArray:
        path = np.empty_like(noise)
        if plan.compiled is not None:
            chain, step_failed = kernels.sghmc_path(
                *plan.compiled, x, v, size, drag, noise, _batches(plan, noise.shape[1]), path
            )
            _require_finite(plan, chain, step_failed, before)
            return path
        for t in range(noise.shape[1]):
            x[:] = x + size * v
            _require_finite(plan, _first_not_finite(x), t, before)
            v[:] = v + size * evaluate(x) - size * drag * v + np.sqrt(2.0 * drag * size) * noise[:, t]
            _require_finite(plan, _first_not_finite(v), t, before)
            path[:, t] = x
        return path

    return Chains(_collect(plan, move), plan.sampler, plan.settings)


# ---- what the three share -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Plan:
    """A checked run: its target, its states (changed in place), its streams and its settings."""

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


def _plan(
    sampler: str, target: Any, start: Any, n_draws: Any, burn_in: Any, thin: Any, rng: RandomSource, vectorized: Any
) -> _Plan:
    true_or_false(vectorized, "vectorized")
    if not isinstance(target, Target):
        required_arguments(target)
    settings = {
        "target": repr(target) if isinstance(target, Target) else getattr(target, "__name__", type(target).__name__),
        "n_draws": whole_number(n_draws, "n_draws", 1),
        "burn_in": whole_number(burn_in, "burn_in", 0),
        "thin": whole_number(thin, "thin", 1),
    }
    x = _checked_start(start, target)
    source = random_generator(rng)
    try:
        # the first child serves all chains, so that the streams of chain k don't depend on the number of chains
        shared, *chains = source.spawn(1 + len(x))
    except TypeError:
        raise InputError(
            f"rng must be a seed or a Generator that can spawn others, got {rng!r}; use default_rng(seed)"
        ) from None
    noise, choices = map(list, zip(*(chain.spawn(2) for chain in chains), strict=True))
    compiled = target._compiled() if isinstance(target, Target) else None
    return _Plan(sampler, target, compiled, x, noise, choices, shared, settings)


def _checked_start(start: Any, target: Any) -> FloatArray:
    """The chains' first states, (chains, d), on the scale on which they move."""
    given = real_array(start, "start")
    if given.ndim not in (1, 2) or given.size == 0:
        raise InputError(f"start must have shape (chains, d), or (d,) for one chain, got {given.shape}")
    x = np.array(np.atleast_2d(given), dtype=np.float64, order="C")
    if not np.isfinite(x).all():
        raise InputError(f"start must be finite, got {x[~np.isfinite(x)][0]:g}")
    if not isinstance(target, Target):
        return x
    if x.shape[1] != target.d:
        raise InputError(f"start must have {target.d} columns for {target!r}, got shape {given.shape}")
    return np.array(target._chain_points(x), order="C")


def _checked_scale(scale: Any, d: int) -> FloatArray:
    array = real_array(scale, "scale")
    if array.ndim == 0:
        return np.full(d, positive_number(scale, "scale"))
    if array.shape != (d,) or array.dtype.kind == "b":
        raise InputError(f"scale must be a number or have shape ({d},), one per variable, got shape {array.shape}")
    if not ((array > 0) & np.isfinite(array)).all():
        raise InputError(f"scale must be > 0 and finite, got {array.tolist()}")
    return array.astype(np.float64)


def _gradient_of(plan: _Plan, vectorized: bool) -> Evaluation:
    if isinstance(plan.target, Target):
        return plan.target.gradient
    return user_gradient(plan.target, plan.choices, plan.shared, vectorized=vectorized)


def _batches(plan: _Plan, steps: int) -> NDArray[np.int64]:
    """Indices of the minibatches of a block of steps, (chain, step, batch)."""
    if plan.batch == 0 or plan.compiled is None:
        return np.empty((len(plan.x), steps, 0), np.int64)
    size = plan.compiled.data.size
    return np.stack([stream.integers(size, size=(steps, plan.batch)) for stream in plan.choices])


def _collect(plan: _Plan, move: Mover) -> FloatArray:
    """All kept states, on the scale of the draws."""
    chains, d = plan.x.shape
    n_draws, burn_in, thin = (plan.settings[name] for name in ("n_draws", "burn_in", "thin"))
    values = np.empty((chains, n_draws, d))
    total = burn_in + n_draws * thin
    longest = max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // (chains * max(d, plan.batch))))
    for before in range(0, total, longest):
        steps = min(longest, total - before)
        noise = np.stack([stream.standard_normal((steps, d)) for stream in plan.noise])
        with np.errstate(over="ignore", invalid="ignore"):  # a chain that diverges is reported, with its place
            path = move(noise, before)
        # state t of this block follows step before + t + 1; draw k is the state after step burn_in + (k + 1) thin
        first = max(-(-(before + 1 - burn_in) // thin), 1)
        kept = path[:, burn_in + first * thin - before - 1 :: thin]
        values[:, first - 1 : first - 1 + kept.shape[1]] = kept
    values = plan.target._draw_points(values) if isinstance(plan.target, Target) else values
    values.flags.writeable = False
    return values


def _first_not_finite(x: FloatArray) -> int:
    """The first chain with a value that is not finite, or -1."""
    finite = np.isfinite(x).all(axis=1)
    return -1 if finite.all() else int(np.argmin(finite))


def _require_finite(plan: _Plan, chain: int, step: int, before: int) -> None:
    if chain < 0:
        return
    number = before + step + 1
    told = " and ".join(f"{name}={plan.settings[name]:g}" for name in ("step", "friction") if name in plan.settings)
    raise DivergenceError(
        f"{plan.sampler} with {told} left the finite numbers in chain {chain} at step {number} (the state or the gradient of "
        "the log density is not finite there); use a smaller step, or start nearer to the bulk of the target",
        chain,
        number,
    )
