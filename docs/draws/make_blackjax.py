"""Stochastic gradient Langevin dynamics with three step sizes, and NUTS, by BlackJAX: python docs/draws/make_blackjax.py.

The model is the mixture of Welling and Teh (2011): a hundred numbers from 1/2 N(a, 2) + 1/2 N(a + b, 2).
"""

import arviz_base as az
import blackjax
import jax
import jax.numpy as jnp
from blackjax.sgmcmc.gradients import grad_estimator
from keep import keep

import copula_discrepancy as cd

DATA = jnp.asarray(cd.WellingTeh().data)
CHAINS, WARMUP, DRAWS, THIN = 4, 500, 1000, 20


def log_prior(state):
    return -(state["a"] ** 2) / 20.0 - state["b"] ** 2 / 2.0


def log_likelihood(state, x):
    return jnp.logaddexp(-((x - state["a"]) ** 2) / 4.0, -((x - state["a"] - state["b"]) ** 2) / 4.0)


def log_posterior(state):
    return log_prior(state) + jnp.sum(jax.vmap(log_likelihood, in_axes=(None, 0))(state, DATA))


def sgld(key, start, step):
    """States of one chain with minibatches of ten of the hundred data points."""
    sampler = blackjax.sgld(grad_estimator(log_prior, log_likelihood, len(DATA)))

    def move(state, key):
        pick, noise = jax.random.split(key)
        minibatch = DATA[jax.random.randint(pick, (10,), 0, len(DATA))]
        state = sampler.step(noise, state, minibatch, step)
        return state, state

    states = jax.lax.scan(move, sampler.init(start), jax.random.split(key, THIN * (WARMUP + DRAWS)))[1]
    return jax.tree.map(lambda values: values[THIN * WARMUP :: THIN], states)


def nuts(key, start):
    """States of one chain of NUTS, after window adaptation."""
    adapt, run = jax.random.split(key)
    (state, parameters), _ = blackjax.window_adaptation(blackjax.nuts, log_posterior).run(adapt, start, num_steps=WARMUP)
    sampler = blackjax.nuts(log_posterior, **parameters)

    def move(state, key):
        state, info = sampler.step(key, state)
        return state, (state.position, info.is_divergent)

    return jax.lax.scan(move, state, jax.random.split(run, DRAWS))[1]


keys = jax.random.split(jax.random.key(1), CHAINS)
starts = {"a": jnp.array([0.0, 0.0, 1.0, 1.0]), "b": jnp.array([1.0, 1.0, -1.0, -1.0])}  # two chains in either mode

for name, step in {"small": 0.0002, "medium": 0.001, "large": 0.01}.items():
    states = jax.jit(jax.vmap(lambda key, start, step=step: sgld(key, start, step)))(keys, starts)
    posterior = az.convert_to_dataset(states)
    keep(f"blackjax_sgld_{name}", {"posterior": posterior}, __file__, ["blackjax", "jax", "numpy"])

states, diverging = jax.jit(jax.vmap(nuts))(keys, starts)
posterior = az.convert_to_dataset(states)
stats = az.convert_to_dataset({"diverging": diverging})
keep("blackjax_nuts", {"posterior": posterior, "sample_stats": stats}, __file__, ["blackjax", "jax", "numpy"])
