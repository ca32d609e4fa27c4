"""Choose the step size of BlackJAX's SGLD by the dependence of its draws: `make examples`, or python examples/blackjax_sgld.py.

The model is the two-parameter mixture of Welling and Teh (2011) with minibatches of ten of its hundred data points; its two
parameters are strongly, and not linearly, dependent. BlackJAX samples; the library only judges the draws. BlackJAX's step is
half of `cd.sgld`'s: x + step grad log p + sqrt(2 step) noise.
"""

import sys

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.sgmcmc.gradients import grad_estimator

import copula_discrepancy as cd

MODEL = cd.WellingTeh()  # for its data, and for independent draws from the exact posterior
DATA = jnp.asarray(MODEL.data)
BATCH, CHAINS, BURN_IN, DRAWS = 10, 4, 500, 2000


def log_prior(theta):
    return -(theta[0] ** 2) / 20.0 - theta[1] ** 2 / 2.0


def log_likelihood(theta, x):
    """Of one data point, 1/2 N(theta1, 2) + 1/2 N(theta1 + theta2, 2), up to a constant."""
    return jnp.logaddexp(-((x - theta[0]) ** 2) / 4.0, -((x - theta[0] - theta[1]) ** 2) / 4.0)


SGLD = blackjax.sgld(grad_estimator(log_prior, log_likelihood, len(DATA)))


@jax.jit
def chain(key, start, step):
    """All states of one chain."""

    def move(theta, key):
        pick, noise = jax.random.split(key)
        minibatch = DATA[jax.random.randint(pick, (BATCH,), 0, len(DATA))]
        theta = SGLD.step(noise, theta, minibatch, step)
        return theta, theta

    return jax.lax.scan(move, SGLD.init(start), jax.random.split(key, BURN_IN + DRAWS))[1]


def sampler(step, rng):
    """Four chains started in the posterior, (chain, draw, parameter)."""
    keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), CHAINS)
    starts = jnp.asarray(MODEL.sample(CHAINS, rng=rng))
    states = jax.vmap(chain, in_axes=(0, 0, None))(keys, starts, step)
    return np.asarray(states, dtype=float)[:, BURN_IN:]


def main() -> None:
    reference = MODEL.sample(20_000, rng=1)
    study = cd.tune(
        sampler, [3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.05, 0.5], reference, score=MODEL.gradient, name="step size", rng=1
    )
    print(study)
    print()
    print(cd.discrepancy(sampler(study.best.setting, np.random.default_rng(2)), reference))
    if len(sys.argv) > 1:
        study.plot()[0].figure.savefig(sys.argv[1])


if __name__ == "__main__":
    main()
