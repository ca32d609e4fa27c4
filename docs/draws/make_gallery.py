"""Five problems, each sampled in eight ways by BlackJAX, for the gallery: python docs/draws/make_gallery.py.

A problem is a log density in the coordinates in which one would write the model down, `direct`, with scales as logarithms.
`spread` maps coordinates that are easier to sample to these: standardised effects instead of effects. The reference is drawn
there, exactly if the density is then a product of normal densities, and by a long run of NUTS if not. All others but `again`,
a second reference, use the direct coordinates.
"""

from collections.abc import Callable
from typing import NamedTuple

import arviz_base as az
import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import gammaln
from jax.scipy.stats import norm
from keep import keep

jax.config.update("jax_enable_x64", True)
CHAINS, DRAWS = 4, 500


class Problem(NamedTuple):
    """Log prior and log likelihood of a vector, the vector from easy coordinates, and which of its elements are kept."""

    dim: int
    prior: Callable
    terms: Callable  # one per observation, for minibatches
    spread: Callable  # easy coordinates -> (vector, log determinant)
    kept: Callable  # vector -> {name: value}
    exact: bool = False  # is the density normal in easy coordinates?
    sgld_step: float = 1e-3

    def direct(self, q):
        """Log density of the vector."""
        return self.prior(q) + jnp.sum(self.terms(q))

    def easy(self, z):
        """Log density of the easy coordinates."""
        q, log_determinant = self.spread(z)
        return self.direct(q) + log_determinant


def half_normal(log_scale, width):
    """Log density of the logarithm of a scale."""
    return norm.logpdf(jnp.exp(log_scale), 0.0, width) + log_scale


def half_cauchy(log_scale, width):
    return -jnp.log1p((jnp.exp(log_scale) / width) ** 2) + log_scale


def nothing(q):
    return jnp.zeros(1)


# ---- Neal's funnel in ten dimensions ---------------------------------------------------------------------------------
def funnel():
    def prior(q):
        return norm.logpdf(q[0], 0.0, 3.0) + jnp.sum(norm.logpdf(q[1:], 0.0, jnp.exp(q[0] / 2)))

    def spread(z):
        v = 3.0 * z[0]
        return jnp.concatenate([v[None], jnp.exp(v / 2) * z[1:]]), 9 * v / 2

    return Problem(10, prior, nothing, spread, lambda q: {"v": q[0], "x": q[1:]}, exact=True, sgld_step=0.02)


# ---- a banana --------------------------------------------------------------------------------------------------------
def banana():
    def prior(q):
        return norm.logpdf(q[0]) + norm.logpdf(q[1], q[0] ** 2, 0.5)

    def spread(z):
        return jnp.stack([z[0], z[0] ** 2 + 0.5 * z[1]]), 0.0

    return Problem(2, prior, nothing, spread, lambda q: {"x": q[0], "y": q[1]}, exact=True, sgld_step=0.01)


# ---- a regression with an intercept for each of ten groups, most of them small -------------------------------------------
def hierarchical():
    rng = np.random.default_rng(11)
    group = np.repeat(np.arange(10), [2, 2, 3, 3, 4, 5, 6, 8, 12, 20])
    x = rng.normal(size=group.size)
    y = 1.0 + 0.3 * rng.normal(size=10)[group] - 0.6 * x + rng.normal(size=group.size)

    def prior(q):  # mean, slope, log tau, log sigma, intercepts
        fixed = norm.logpdf(q[0], 0.0, 5.0) + norm.logpdf(q[1], 0.0, 5.0) + half_normal(q[2], 1.0) + half_normal(q[3], 2.0)
        return fixed + jnp.sum(norm.logpdf(q[4:], q[0], jnp.exp(q[2])))

    def terms(q):
        return norm.logpdf(y, q[4:][group] + q[1] * x, jnp.exp(q[3]))

    def spread(z):
        return jnp.concatenate([z[:4], z[0] + jnp.exp(z[2]) * z[4:]]), 10 * z[2]

    def kept(q):
        return {"mean": q[0], "slope": q[1], "log_tau": q[2], "log_sigma": q[3], "intercept": q[4 + np.array([0, 2, 5, 9])]}

    return Problem(14, prior, terms, spread, kept, sgld_step=0.004)


# ---- a sparse regression with the horseshoe prior (Carvalho, Polson and Scott, 2010) -----------------------------------
def horseshoe():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(50, 8))
    X[:, 1] = 0.9 * X[:, 0] + 0.44 * X[:, 1]  # two predictors that can stand for each other
    y = X @ np.array([1.0, 0.0, -1.5, 0.3, 0.0, 0.0, 0.0, 0.0]) + rng.normal(size=50)

    def prior(q):  # log tau, log sigma, log lambda, beta
        scales = half_cauchy(q[0], 0.3) + half_normal(q[1], 2.0) + jnp.sum(half_cauchy(q[2:10], 1.0))
        return scales + jnp.sum(norm.logpdf(q[10:], 0.0, jnp.exp(q[0] + q[2:10])))

    def terms(q):
        return norm.logpdf(y, X @ q[10:], jnp.exp(q[1]))

    def spread(z):
        log_scale = z[0] + z[2:10]
        return jnp.concatenate([z[:10], jnp.exp(log_scale) * z[10:]]), jnp.sum(log_scale)

    def kept(q):
        some = np.array([0, 1, 3])
        return {"log_tau": q[0], "log_sigma": q[1], "log_lambda": q[2 + some], "beta": q[10 + some]}

    return Problem(18, prior, terms, spread, kept, sgld_step=0.002)


# ---- a stochastic volatility model (Kim, Shephard and Chib, 1998) ---------------------------------------------------------
def volatility():
    rng, n = np.random.default_rng(13), 60
    h = [0.0]
    for _ in range(n - 1):
        h.append(0.95 * h[-1] + 0.3 * rng.normal())
    y = np.exp(np.array(h) / 2) * rng.normal(size=n)

    def persistence(q):
        return jnp.tanh(q / 2)  # q is the log odds of (1 + phi) / 2

    def prior(q):  # mean of log variances, log odds of persistence, log s, log variances
        phi, s = persistence(q[1]), jnp.exp(q[2])
        share = (1 + phi) / 2  # Beta(20, 1.5), with the Jacobian of the log odds
        beta = 20 * jnp.log(share) + 1.5 * jnp.log1p(-share) + gammaln(21.5) - gammaln(20.0) - gammaln(1.5)
        deviation = q[3:] - q[0]
        first = norm.logpdf(deviation[0], 0.0, s / jnp.sqrt(1 - phi**2))
        steps = norm.logpdf(deviation[1:], phi * deviation[:-1], s)
        return norm.logpdf(q[0], 0.0, 2.0) + beta + half_normal(q[2], 0.5) + first + jnp.sum(steps)

    def terms(q):
        return norm.logpdf(y, 0.0, jnp.exp(q[3:] / 2))

    def spread(z):
        phi, s = persistence(z[1]), jnp.exp(z[2])
        first = s / jnp.sqrt(1 - phi**2) * z[3]

        def move(before, noise):
            now = phi * before + s * noise
            return now, now

        later = jax.lax.scan(move, first, z[4:])[1]
        return jnp.concatenate([z[:3], z[0] + first[None], z[0] + later]), n * z[2] - 0.5 * jnp.log(1 - phi**2)

    def kept(q):
        days = np.array([0, 29, 30, 44, 59])
        return {"mean": q[0], "persistence": q[1], "log_s": q[2], "h": q[3 + days]}

    return Problem(n + 3, prior, terms, spread, kept, sgld_step=0.01)


# ---- samplers: each returns an array (chain, draw, dim), and how many draws were divergent --------------------------------
def nuts(density, dim, key, *, warmup, draws, thin=1, accept=0.9):
    def chain(key):
        begin, adapt, run = jax.random.split(key, 3)
        warm = blackjax.window_adaptation(blackjax.nuts, density, target_acceptance_rate=accept)
        (state, parameters), _ = warm.run(adapt, 0.5 * jax.random.normal(begin, (dim,)), num_steps=warmup)
        sampler = blackjax.nuts(density, **parameters)

        def move(state, key):
            state, info = sampler.step(key, state)
            return state, (state.position, info.is_divergent)

        return jax.lax.scan(move, state, jax.random.split(run, draws * thin))[1]

    draws, diverging = jax.jit(lambda keys: jax.lax.map(chain, keys))(jax.random.split(key, CHAINS))
    return draws[:, ::thin], int(diverging.sum())


def variational(algorithm, problem, key, steps=20_000):
    fit = algorithm(problem.direct, optax.adam(optax.cosine_decay_schedule(0.01, steps)), 20)
    run, draw = jax.random.split(key)

    def move(state, key):
        return fit.step(key, state)[0], None

    state = jax.jit(lambda keys: jax.lax.scan(move, fit.init(jnp.zeros(problem.dim)), keys)[0])(jax.random.split(run, steps))
    return fit.sample(draw, state, CHAINS * DRAWS).reshape(CHAINS, DRAWS, -1), 0


def pathfinder(problem, key):
    begin, run, draw = jax.random.split(key, 3)
    start = 0.5 * jax.random.normal(begin, (problem.dim,))
    state, _ = blackjax.pathfinder.approximate(run, problem.direct, start, ftol=1e-6, maxiter=100)
    return blackjax.pathfinder.sample(draw, state, CHAINS * DRAWS)[0].reshape(CHAINS, DRAWS, -1), 0


def sgld(problem, key, thin=40, burn_in=200):
    """With a fifth of the observations in each step; without observations, Langevin dynamics that are not adjusted."""
    size = problem.terms(jnp.zeros(problem.dim)).size

    def gradient(q, weights):
        return jax.grad(lambda q: problem.prior(q) + weights @ problem.terms(q))(q)

    sampler = blackjax.sgld(gradient)

    def chain(key):
        begin, run = jax.random.split(key)

        def move(q, key):
            pick, noise = jax.random.split(key)
            weights = 5.0 * (jax.random.permutation(pick, size) < size / 5) if size > 1 else jnp.ones(size)
            return sampler.step(noise, q, weights, problem.sgld_step), None

        def thinned(q, key):
            q = jax.lax.scan(move, q, jax.random.split(key, thin))[0]
            return q, q

        start = sampler.init(0.5 * jax.random.normal(begin, (problem.dim,)))
        return jax.lax.scan(thinned, start, jax.random.split(run, burn_in + DRAWS))[1][burn_in:]

    return jax.jit(lambda keys: jax.lax.map(chain, keys))(jax.random.split(key, CHAINS)), 0


def metropolis(problem, sd, key, thin=20, burn_in=200):
    """Random walk with steps of 2.4 / sqrt(dim) standard deviations, each coordinate by itself."""
    sampler = blackjax.additive_step_random_walk.normal_random_walk(problem.direct, 2.4 / np.sqrt(problem.dim) * sd)

    def chain(key):
        begin, run = jax.random.split(key)

        def thinned(state, key):
            def move(state, key):
                return sampler.step(key, state)[0], None

            state = jax.lax.scan(move, state, jax.random.split(key, thin))[0]
            return state, state.position

        start = sampler.init(0.5 * jax.random.normal(begin, (problem.dim,)))
        return jax.lax.scan(thinned, start, jax.random.split(run, burn_in + DRAWS))[1][burn_in:]

    return jax.jit(lambda keys: jax.lax.map(chain, keys))(jax.random.split(key, CHAINS)), 0


def vectors(problem, easy):
    """Draws in easy coordinates as vectors of the model."""
    return jax.jit(jax.vmap(jax.vmap(lambda z: problem.spread(z)[0])))(easy)


def all_runs(problem, key):
    keys = jax.random.split(key, 9)
    if problem.exact:
        easy, failed = jax.random.normal(keys[0], (CHAINS, 1000, problem.dim)), 0
        again, failed_again = jax.random.normal(keys[1], (CHAINS, DRAWS, problem.dim)), 0
    else:
        easy, failed = nuts(problem.easy, problem.dim, keys[0], warmup=2000, draws=1000, thin=5, accept=0.99)
        again, failed_again = nuts(problem.easy, problem.dim, keys[1], warmup=1000, draws=DRAWS, thin=2, accept=0.99)
    reference = vectors(problem, easy)
    yield "posterior", (reference, failed)
    yield "again", (vectors(problem, again), failed_again)
    yield "nuts", nuts(problem.direct, problem.dim, keys[2], warmup=1000, draws=DRAWS)
    yield "short_nuts", nuts(problem.direct, problem.dim, keys[3], warmup=100, draws=100, accept=0.8)
    yield "mean_field", variational(blackjax.meanfield_vi, problem, keys[4])
    yield "full_rank", variational(blackjax.fullrank_vi, problem, keys[5])
    yield "pathfinder", pathfinder(problem, keys[6])
    yield "sgld", sgld(problem, keys[7])
    yield "metropolis", metropolis(problem, reference.std(axis=(0, 1)), keys[8])


PROBLEMS = {"funnel": funnel, "banana": banana, "hierarchical": hierarchical, "horseshoe": horseshoe, "volatility": volatility}
for k, (name, make) in enumerate(PROBLEMS.items()):
    problem, groups = make(), {}
    for run, (draws, diverging) in all_runs(problem, jax.random.key(k)):
        kept = jax.vmap(jax.vmap(problem.kept))(draws)
        groups[run] = az.convert_to_dataset({variable: np.asarray(values) for variable, values in kept.items()})
        groups[run].attrs["kept"] = {"diverging": diverging}
    keep(f"gallery_{name}", groups, __file__, ["blackjax", "jax", "optax", "numpy"])
